//! Lists and files of prompts, made from a view of the library.

use super::types::{
    AnnotatedFile, FormFields, IncludedText, ListFilter, ListRow, Range, ShownFile,
};
use crate::library::{Found, Layer, Selection, View};
use crate::prompt::{Diagnostic, Format, Included, Prompt, Revision, with_only_include_key};
use serde::Serializer;
use std::ops;

/// The source of a prompt that is part of the program; that of any other is an absolute path.
pub const BUILT_IN: &str = Layer::BUILTIN.name;

/// How many bytes of memory a list reserves for each prompt as JSON: most take less.
const RESERVED_PER_PROMPT: usize = 512;

/// Returns the prompts that match a filter. A blank query counts as none.
pub fn list(view: &View, filter: &ListFilter) -> Selection {
    let mut query = filter.query.as_deref();
    if query.is_some_and(|query| query.trim().is_empty()) {
        query = None;
    }
    let mut selection = view.select(query, filter.tag.as_deref());
    if filter.mine {
        selection
            .found
            .retain(|found| found.layer != Layer::BUILTIN);
    }
    selection
}

/// Returns the rows of a list, in their order. Each prompt is read when its row is asked for.
pub fn list_rows(selection: &mut Selection) -> impl Iterator<Item = ListRow> {
    selection.read().map(|(found, prompt, info)| ListRow {
        name: found.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer: found.layer,
        pack: found.pack_version(),
        format: format(found),
        source: found.location().display,
        tags: prompt.tags.clone(),
        usage: prompt.usage.clone(),
        arguments: prompt.arguments.clone(),
        revision: info.revision,
        size: info.size,
        takes_input: prompt.takes_input,
        metadata: prompt.metadata.clone(),
    })
}

/// Returns a list as JSON: an object with `prompts`, and with `problems` if there are any. The
/// prompts are read while it is written.
///
/// # Errors
/// A prompt cannot be written as JSON, which no prompt is known to cause.
pub fn list_json(selection: &mut Selection) -> serde_json::Result<Vec<u8>> {
    // The list is written into memory that is reserved at once, so that it is never copied while it
    // grows. Reserved memory that stays unused costs nothing.
    let mut json = Vec::with_capacity(RESERVED_PER_PROMPT * selection.found.len());
    json.extend(br#"{"prompts":"#);
    serde_json::Serializer::new(&mut json).collect_seq(list_rows(selection))?;
    if !selection.problems.is_empty() {
        json.extend(br#","problems":"#);
        serde_json::to_writer(&mut json, &selection.problems)?;
    }
    json.push(b'}');
    Ok(json)
}

/// Returns the format of a prompt of another program, such as `claude`; `None` for the format of
/// this program.
pub(super) fn format(found: &Found) -> Option<&'static str> {
    if found.format == Format::OWN {
        return None;
    }
    Some(found.format.name)
}

/// Returns the file of the prompt that a command names. The file may be broken.
///
/// # Errors
/// No prompt has this name, or its file cannot be read as text.
pub fn show(view: &View, command: &str) -> Result<ShownFile, Diagnostic> {
    shown(&view.find(command)?)
}

/// Returns the name, the place, the revision and the text of a prompt file.
///
/// # Errors
/// The file cannot be read as text.
fn shown(found: &Found) -> Result<ShownFile, Diagnostic> {
    let text = found.text()?;
    let path = found.location().file.map(|file| file.display().to_string());
    Ok(ShownFile {
        name: found.name.to_string(),
        layer: found.layer,
        path,
        revision: Revision::of_contents(text.as_bytes()),
        text,
    })
}

/// Returns the file of a prompt as the web page shows it: with the places of its placeholders, the
/// files that it includes, and the fields of its form. A broken file has only its text.
///
/// # Errors
/// Those of [`show`].
pub fn file(view: &View, command: &str) -> Result<AnnotatedFile, Diagnostic> {
    let found = view.find(command)?;
    let mut file = AnnotatedFile {
        shown: shown(&found)?,
        fields: None,
        marks: Vec::new(),
        includes: Vec::new(),
    };
    if let Ok(prompt) = found.prompt() {
        let text = &file.shown.text;
        let template = prompt.parse_template(text);
        let placeholders = template.placeholders();
        file.marks = units(
            text,
            placeholders.map(|placeholder| placeholder.range.clone()),
        );
        for included in prompt.included() {
            file.includes.push(included_text(view, included));
        }
        file.fields = Some(fields(&prompt));
    }
    Ok(file)
}

/// Returns the text of an included file for a caller. If the caller may not see that file by
/// itself, its frontmatter is left out, except for its includes, because it is no part of the
/// prompt.
fn included_text(view: &View, included: &Included) -> IncludedText {
    let text = if is_seen(view, included) {
        included.text.to_string()
    } else {
        with_only_include_key(&included.text)
    };
    IncludedText {
        path: included.file.name.clone(),
        revision: Revision::of_contents(text.as_bytes()),
        text,
    }
}

/// Returns whether a caller may see an included file by itself.
pub(super) fn is_seen(view: &View, included: &Included) -> bool {
    view.prefix()
        .is_none_or(|prefix| prefix.contains(&included.file.name))
}

/// Returns the fields of the form with which a person calls a prompt.
pub(super) fn fields(prompt: &Prompt) -> FormFields {
    FormFields {
        arguments: prompt.arguments.clone(),
        takes_input: prompt.takes_input(),
    }
}

/// Converts ranges of bytes of a text into ranges of UTF-16 units, which scripts in a browser
/// count: the range of `x` in `éx` is 2 to 3 in bytes, and 1 to 2 in units. The ranges are sorted.
pub(super) fn units(text: &str, ranges: impl IntoIterator<Item = ops::Range<usize>>) -> Vec<Range> {
    let mut counter = UnitCounter {
        text,
        bytes: 0,
        units: 0,
    };
    let mut unit_ranges = Vec::new();
    for range in ranges {
        let start = counter.advance_to(range.start);
        let end = counter.advance_to(range.end);
        unit_ranges.push((start, end));
    }
    unit_ranges
}

/// Counts the UTF-16 units before places in a text. Each place is counted from the one before, so
/// that the text is read once.
struct UnitCounter<'t> {
    text: &'t str,
    bytes: usize,
    units: usize,
}

impl UnitCounter<'_> {
    /// Moves to a later byte, and returns the number of units before it.
    fn advance_to(&mut self, byte: usize) -> usize {
        self.units += self.text[self.bytes..byte].encode_utf16().count();
        self.bytes = byte;
        self.units
    }
}
