//! Lists and files of prompts, made from a view of the library.

use super::types::{Fields, File, Filter, IncludedText, Listed, Range, Shown};
use crate::library::{Found, Layer, Selection, View};
use crate::prompt::{Diagnostic, Format, Included, Prompt, Revision, with_only_include_key};
use serde::Serializer;
use std::ops;

/// The source of a prompt that is part of the program; that of any other is an absolute path.
pub const BUILT_IN: &str = Layer::BUILTIN.name;

/// Returns the prompts that match a filter.
pub fn list(view: &View, filter: &Filter) -> Selection {
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

/// Returns the rows of a list. The prompts are read meanwhile.
pub fn listed(selection: &mut Selection) -> impl Iterator<Item = Listed> {
    selection.read().map(|(found, prompt, info)| Listed {
        name: found.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer: found.layer,
        pack: found.pack_version(),
        format: format(found),
        source: found.place().shown,
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
    // More than it takes, so that it does not grow among what stays in memory; what is not written
    // takes none.
    let mut json = Vec::with_capacity(512 * selection.found.len());
    json.extend(br#"{"prompts":"#);
    serde_json::Serializer::new(&mut json).collect_seq(listed(selection))?;
    if !selection.problems.is_empty() {
        json.extend(br#","problems":"#);
        serde_json::to_writer(&mut json, &selection.problems)?;
    }
    json.push(b'}');
    Ok(json)
}

/// Returns the format of another program's prompt, such as `claude`; `None` for an own one.
pub(super) fn format(found: &Found) -> Option<&'static str> {
    if found.format == Format::OWN {
        return None;
    }
    Some(found.format.name)
}

/// Returns the file of a prompt, which may be broken.
///
/// # Errors
/// There is no prompt of this name, or its file is no text.
pub fn show(view: &View, command: &str) -> Result<Shown, Diagnostic> {
    shown(&view.find(command)?)
}

/// Returns the file of a found prompt.
///
/// # Errors
/// The file is no text.
fn shown(found: &Found) -> Result<Shown, Diagnostic> {
    let text = found.text()?;
    let path = found.place().file.map(|file| file.display().to_string());
    Ok(Shown {
        name: found.name.to_string(),
        layer: found.layer,
        path,
        revision: Revision::of(text.as_bytes()),
        text,
    })
}

/// Returns the file of a prompt, with what the page shows besides: the places of the placeholders,
/// the included files, and the fields of its form.
///
/// # Errors
/// Those of [`show`].
pub fn file(view: &View, command: &str) -> Result<File, Diagnostic> {
    let found = view.find(command)?;
    let mut file = File {
        shown: shown(&found)?,
        fields: None,
        marks: Vec::new(),
        includes: Vec::new(),
    };
    if let Ok(prompt) = found.prompt() {
        let text = &file.shown.text;
        let template = prompt.template_of(text);
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

/// Returns what a caller gets of an included file. The frontmatter of a file that they may not see
/// is no part of the prompt.
fn included_text(view: &View, included: &Included) -> IncludedText {
    let text = if is_seen(view, included) {
        included.text.to_string()
    } else {
        with_only_include_key(&included.text)
    };
    IncludedText {
        path: included.file.name.clone(),
        revision: Revision::of(text.as_bytes()),
        text,
    }
}

/// Returns whether a caller may see an included file by itself.
pub(super) fn is_seen(view: &View, included: &Included) -> bool {
    view.prefix()
        .is_none_or(|prefix| prefix.contains(&included.file.name))
}

/// Returns what the form for a call of a prompt shows.
pub(super) fn fields(prompt: &Prompt) -> Fields {
    Fields {
        arguments: prompt.arguments.clone(),
        takes_input: prompt.takes_input(),
    }
}

/// Returns ranges of bytes, which are in their order, as ranges of UTF-16 units.
pub(super) fn units(text: &str, ranges: impl IntoIterator<Item = ops::Range<usize>>) -> Vec<Range> {
    let mut counter = UnitCounter {
        text,
        bytes: 0,
        units: 0,
    };
    let mut in_units = Vec::new();
    for range in ranges {
        in_units.push((
            counter.advance_to(range.start),
            counter.advance_to(range.end),
        ));
    }
    in_units
}

/// Counts the UTF-16 units up to a place in a text, from the place before.
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
