//! Builds lists and files of prompts.

use super::types::{
    AnnotatedFile, FormFields, IncludedText, ListFilter, ListRow, ShownFile, Utf16Range,
};
use crate::library::{Found, Layer, Selection, View};
use crate::prompt::{Diagnostic, Format, Included, Prompt, Revision, with_only_include_key};
use serde::Serializer;
use std::ops;

/// The `source` of a built-in prompt. That of any other prompt is a path or a URL.
pub const BUILT_IN: &str = Layer::BUILTIN.name;

/// The number of bytes to reserve for each prompt in a JSON list. Most need less.
const BYTES_PER_PROMPT: usize = 512;

/// Returns the prompts that match a filter. A blank query matches every prompt.
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

/// Returns the rows of a list, in order. Each prompt's file is read when its row is requested.
pub fn list_rows(selection: &mut Selection) -> impl Iterator<Item = ListRow> {
    selection.read().map(|(found, prompt, info)| ListRow {
        name: found.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer: found.layer,
        pack: found.pack_version(),
        format: foreign_format(found),
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

/// Returns a list as JSON: `{"prompts": […], "problems": […]}`, without `problems` if there are
/// none.
///
/// # Errors
/// Fails if a prompt cannot be serialized, which isn't known to happen.
pub fn list_json(selection: &mut Selection) -> serde_json::Result<Vec<u8>> {
    // Reserving memory for the whole list avoids copies while it grows. Unused memory costs
    // nothing, because the system provides it only when it is written to.
    let mut json = Vec::with_capacity(BYTES_PER_PROMPT * selection.found.len());
    json.extend(br#"{"prompts":"#);
    serde_json::Serializer::new(&mut json).collect_seq(list_rows(selection))?;
    if !selection.problems.is_empty() {
        json.extend(br#","problems":"#);
        serde_json::to_writer(&mut json, &selection.problems)?;
    }
    json.push(b'}');
    Ok(json)
}

/// Returns the format of a prompt in the format of another program, e.g. `claude`. Returns `None`
/// for this program's own format.
pub(super) fn foreign_format(found: &Found) -> Option<&'static str> {
    if found.format == Format::OWN {
        return None;
    }
    Some(found.format.name)
}

/// Returns the file of a prompt, even if it is broken.
///
/// # Errors
/// Fails if no prompt has this name, or if its file cannot be read as UTF-8.
pub fn show(view: &View, command: &str) -> Result<ShownFile, Diagnostic> {
    shown_file(&view.find(command)?)
}

/// Reads the file of a prompt.
///
/// # Errors
/// Fails if the file cannot be read as UTF-8.
fn shown_file(found: &Found) -> Result<ShownFile, Diagnostic> {
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

/// Returns the file of a prompt with everything that the web page shows: where its placeholders
/// are, the files that it includes, and the fields of its form. For a broken file, returns only its
/// text.
///
/// # Errors
/// Fails if no prompt has this name, or if its file cannot be read as UTF-8.
pub fn file(view: &View, command: &str) -> Result<AnnotatedFile, Diagnostic> {
    let found = view.find(command)?;
    let mut file = AnnotatedFile {
        shown: shown_file(&found)?,
        fields: None,
        placeholder_ranges: Vec::new(),
        includes: Vec::new(),
    };
    if let Ok(prompt) = found.prompt() {
        let text = &file.shown.text;
        let template = prompt.parse_template(text);
        let byte_ranges = template
            .placeholders()
            .map(|placeholder| placeholder.range.clone());
        file.placeholder_ranges = utf16_ranges(text, byte_ranges);
        for included in prompt.included() {
            file.includes.push(included_text(view, included));
        }
        file.fields = Some(form_fields(&prompt));
    }
    Ok(file)
}

/// Returns an included file as the caller may see it. If the caller may not see the file itself,
/// its frontmatter is omitted except for its own includes, because the rest of the frontmatter
/// doesn't become part of the prompt.
fn included_text(view: &View, included: &Included) -> IncludedText {
    let text = if is_visible_to_caller(view, included) {
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

/// Returns whether the caller may see an included file itself, and not only as part of a prompt.
pub(super) fn is_visible_to_caller(view: &View, included: &Included) -> bool {
    view.prefix()
        .is_none_or(|prefix| prefix.contains(&included.file.name))
}

/// Returns the fields of the form for calling a prompt.
pub(super) fn form_fields(prompt: &Prompt) -> FormFields {
    FormFields {
        arguments: prompt.arguments.clone(),
        takes_input: prompt.takes_input(),
    }
}

/// Converts sorted byte ranges of a text into ranges of UTF-16 code units, which JavaScript counts:
/// the range of `x` in `éx` is 2 to 3 in bytes, and 1 to 2 in UTF-16.
pub(super) fn utf16_ranges(
    text: &str,
    byte_ranges: impl IntoIterator<Item = ops::Range<usize>>,
) -> Vec<Utf16Range> {
    let mut counter = Utf16Counter {
        text,
        byte_offset: 0,
        utf16_offset: 0,
    };
    let mut utf16_ranges = Vec::new();
    for range in byte_ranges {
        let start = counter.advance_to(range.start);
        let end = counter.advance_to(range.end);
        utf16_ranges.push((start, end));
    }
    utf16_ranges
}

/// Converts ascending byte offsets into UTF-16 offsets. Each one is counted from the previous one,
/// so that the text is traversed only once.
struct Utf16Counter<'t> {
    text: &'t str,
    byte_offset: usize,
    utf16_offset: usize,
}

impl Utf16Counter<'_> {
    /// Moves forward to a byte offset, which may not be less than the previous one, and returns its
    /// UTF-16 offset.
    fn advance_to(&mut self, byte_offset: usize) -> usize {
        let skipped = &self.text[self.byte_offset..byte_offset];
        self.utf16_offset += skipped.encode_utf16().count();
        self.byte_offset = byte_offset;
        self.utf16_offset
    }
}
