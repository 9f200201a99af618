//! What looks like a placeholder and is not one, and why: for `explain`.

use super::diagnostic::{Position, serialize_displayed_path};
use super::file_text::truncate_at_boundary;
use super::lint;
use super::model::Prompt;
use super::template::{MessageTemplate, Opening, openings};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// The longest text in braces, in bytes. If the closing braces come later, they probably do not
/// belong to the opening ones.
const MAX_LENGTH: usize = 200;

/// A text in double braces or angle brackets that is not a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unexpanded {
    /// As it is in the expansion.
    #[serde(rename = "text")]
    pub written: String,
    /// The included file that it is in; `None` for the prompt's own.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_displayed_path"
    )]
    pub file: Option<PathBuf>,
    /// Where it is in the file.
    #[serde(flatten)]
    pub position: Position,
    /// Why it is not expanded.
    pub reason: Reason,
}

/// Why a text in braces is not expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// There is a backslash before it.
    Escaped,
    /// It does not look like the name of an argument: it is another program's.
    Foreign,
    /// It looks like the name of an argument, but no argument has that name; probably a mistake.
    Unknown,
}

impl Prompt {
    /// Returns the texts in `{{…}}` or `<<…>>` that stay unexpanded, in order. Messages that are
    /// Jinja templates are skipped.
    pub fn unexpanded(&self) -> Vec<Unexpanded> {
        let mut all = Vec::new();
        for message in &self.messages {
            if message.jinja().is_none() {
                add_unexpanded(self, message, &mut all);
            }
        }
        all
    }
}

/// Adds the texts of a message that look like placeholders and are none, in their order, each with
/// the reason: `\{{topic}}` is `Escaped`, `{{topc}}` is `Unknown`, and `{{ .Values.x }}`, which
/// cannot be the name of an argument, is `Foreign`.
///
/// The lookalikes of `check` are `Unknown`. They include other texts than those in braces, such as
/// `$ARGUMENTS`, but of several equal texts only the first.
fn add_unexpanded(prompt: &Prompt, message: &MessageTemplate, all: &mut Vec<Unexpanded>) {
    let lookalikes = lint::lookalikes(prompt, message);
    let mut unknown_texts = HashSet::new();
    for lookalike in &lookalikes {
        unknown_texts.insert(lookalike.source.clone());
    }
    let escaped_starts: HashSet<usize> = message.escaped_offsets().into_iter().collect();
    // By the first byte of each text, so that the texts are in the order of the message, and a
    // lookalike in braces is there once.
    let mut by_start: BTreeMap<usize, (String, Reason)> = BTreeMap::new();
    for (start, written) in texts_in_braces(message) {
        let reason = if escaped_starts.contains(&start) {
            Reason::Escaped
        } else if unknown_texts.contains(written) {
            Reason::Unknown
        } else {
            Reason::Foreign
        };
        by_start.insert(start, (written.to_owned(), reason));
    }
    for lookalike in lookalikes {
        by_start.insert(lookalike.offset, (lookalike.source, Reason::Unknown));
    }
    let mut positions = message.position_cursor();
    for (start, (written, reason)) in by_start {
        let origin = prompt.origins.line_origin(positions.advance_to(start));
        all.push(Unexpanded {
            written,
            file: origin.file.map(|file| file.path.clone()),
            position: origin.position,
            reason,
        });
    }
}

/// Returns the texts in braces or angle brackets that are not placeholders, by their first byte: 4
/// and `{{ .x }}` for `See {{ .x }}`. Their ends are in the same line.
fn texts_in_braces(message: &MessageTemplate) -> BTreeMap<usize, &str> {
    let body = message.body();
    let mut placeholder_starts = HashSet::new();
    for placeholder in message.placeholders() {
        placeholder_starts.insert(placeholder.range.start);
    }
    let mut texts = BTreeMap::new();
    for Opening { range, close } in openings(body) {
        let after_opening = truncate_at_boundary(&body[range.end..], MAX_LENGTH);
        let rest_of_line = after_opening.lines().next().unwrap_or_default();
        if let Some(length) = rest_of_line.find(close)
            && !placeholder_starts.contains(&range.start)
        {
            let end = range.end + length + close.len();
            texts.insert(range.start, &body[range.start..end]);
        }
    }
    texts
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
            .map(|found| (found.written, found.position.line, found.reason))
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
            want.map(|(written, line, reason)| (written.to_owned(), line, reason))
        );
    }
}
