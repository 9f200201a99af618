//! Finds text that looks like a placeholder but isn't expanded, for `explain`.

use super::diagnostic::{Position, serialize_displayed_path};
use super::file_text::truncate_at_boundary;
use super::lint;
use super::model::Prompt;
use super::template::{MessageTemplate, Opening, openings};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// The maximum length of a text between delimiters, in bytes. Closing braces that come later
/// probably don't belong to the opening ones.
const MAX_DELIMITED_BYTES: usize = 200;

/// A text that looks like a placeholder but isn't expanded, e.g. `{{topc}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unexpanded {
    /// The text with its delimiters, as it appears in the expansion.
    #[serde(rename = "text")]
    pub source: String,
    /// The included file that contains it, or `None` for the prompt's own file.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_displayed_path"
    )]
    pub file: Option<PathBuf>,
    /// Its position in that file.
    #[serde(flatten)]
    pub position: Position,
    /// The reason why it isn't expanded.
    pub reason: Reason,
}

/// The reason why a text that looks like a placeholder isn't expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// It is escaped with a backslash, as in `\{{topic}}`.
    Escaped,
    /// It can't be the name of an argument, as in `{{ .Values.x }}`. Probably it is meant for
    /// another program.
    Foreign,
    /// No argument has this name, as in `{{topc}}`. Probably it is a mistake.
    Unknown,
}

impl Prompt {
    /// Returns the texts that look like placeholders but aren't expanded, in order. Jinja templates
    /// are skipped.
    pub fn unexpanded(&self) -> Vec<Unexpanded> {
        let mut all = Vec::new();
        for message in &self.messages {
            if message.jinja().is_none() {
                add_unexpanded_in(self, message, &mut all);
            }
        }
        all
    }
}

/// Adds the unexpanded texts of one message to `all`, in order.
///
/// Candidates are all texts in braces or angle brackets, plus the lookalikes that `check` warns
/// about. These include texts without braces, e.g. `$ARGUMENTS`, but only the first of equal texts.
fn add_unexpanded_in(prompt: &Prompt, message: &MessageTemplate, all: &mut Vec<Unexpanded>) {
    let lookalikes = lint::lookalikes(prompt, message);
    let mut lookalike_sources = HashSet::new();
    for lookalike in &lookalikes {
        lookalike_sources.insert(lookalike.source.clone());
    }
    let escaped_offsets: HashSet<usize> = message.escaped_offsets().into_iter().collect();
    // Keyed by byte offset, to sort the texts, and to merge lookalikes that are in braces.
    let mut by_offset: BTreeMap<usize, (String, Reason)> = BTreeMap::new();
    for (offset, source) in find_delimited_texts(message) {
        let reason = if escaped_offsets.contains(&offset) {
            Reason::Escaped
        } else if lookalike_sources.contains(source) {
            Reason::Unknown
        } else {
            Reason::Foreign
        };
        by_offset.insert(offset, (source.to_owned(), reason));
    }
    for lookalike in lookalikes {
        by_offset.insert(lookalike.offset, (lookalike.source, Reason::Unknown));
    }
    let mut positions = message.position_cursor();
    for (offset, (source, reason)) in by_offset {
        let origin = prompt.origins.line_origin(positions.advance_to(offset));
        all.push(Unexpanded {
            source,
            file: origin.file.map(|file| file.path.clone()),
            position: origin.position,
            reason,
        });
    }
}

/// Finds the strings in braces or angle brackets that aren't placeholders, such as `{{ .x }}`. The
/// result maps the byte offset of each one to the string with its delimiters. A string whose
/// closing delimiter isn't on the same line is skipped.
fn find_delimited_texts(message: &MessageTemplate) -> BTreeMap<usize, &str> {
    let body = message.body();
    let mut placeholder_offsets = HashSet::new();
    for placeholder in message.placeholders() {
        placeholder_offsets.insert(placeholder.range.start);
    }
    let mut delimited_texts = BTreeMap::new();
    for Opening { range, close } in openings(body) {
        if placeholder_offsets.contains(&range.start) {
            continue;
        }
        let after_opening = truncate_at_boundary(&body[range.end..], MAX_DELIMITED_BYTES);
        let rest_of_line = after_opening.lines().next().unwrap_or_default();
        if let Some(inside_length) = rest_of_line.find(close) {
            let end = range.end + inside_length + close.len();
            delimited_texts.insert(range.start, &body[range.start..end]);
        }
    }
    delimited_texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Name;

    #[test]
    fn what_is_not_expanded_says_why() {
        let file = "---\narguments: [topic]\n---\n{{input}} \\{{topic}} {{ .Values.x }} ${{ github.ref }}\n\
                    {{topc}} {{topic}} {{other}} {{topc}} <<T as X>> <<EOF \n`{{code}}` {{\n}} {{{input}}} {{{else}}} <<<input>>>";
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        let found: Vec<(String, usize, Reason)> = prompt
            .unexpanded()
            .into_iter()
            .map(|found| (found.source, found.position.line, found.reason))
            .collect();
        let want = [
            ("{{topic}}", 4, Reason::Escaped),
            ("{{ .Values.x }}", 4, Reason::Foreign),
            ("{{ github.ref }}", 4, Reason::Foreign),
            ("{{topc}}", 5, Reason::Unknown),
            ("{{other}}", 5, Reason::Unknown),
            ("{{topc}}", 5, Reason::Unknown),
            ("<<T as X>>", 5, Reason::Foreign),
            ("{{code}}", 6, Reason::Foreign),
            ("{{{else}}}", 7, Reason::Unknown),
        ];
        assert_eq!(
            found,
            want.map(|(source, line, reason)| (source.to_owned(), line, reason))
        );
    }
}
