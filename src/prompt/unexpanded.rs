//! What looks like a placeholder and is not one, and why: for `explain`.

use super::diagnostic::{Position, shown_path};
use super::lint;
use super::model::Prompt;
use super::template::{MessageTemplate, Opening, openings};
use super::text::beginning;
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
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shown_path")]
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
    /// What in double braces or angle brackets is not a placeholder, in the order of the text.
    pub fn unexpanded(&self) -> Vec<Unexpanded> {
        let plain = self
            .messages
            .iter()
            .filter(|message| message.jinja().is_none());
        plain
            .flat_map(|message| in_message(self, message))
            .collect()
    }
}

fn in_message(prompt: &Prompt, message: &MessageTemplate) -> Vec<Unexpanded> {
    let body = message.body();
    let placeholders: HashSet<usize> = message
        .placeholders()
        .map(|placeholder| placeholder.range.start)
        .collect();
    let escaped: HashSet<usize> = message.escaped().collect();
    let lookalikes = lint::lookalikes(prompt, message);
    // Only the first of several is among the lookalikes.
    let unknown: HashSet<&str> = lookalikes
        .iter()
        .map(|lookalike| &*lookalike.written)
        .collect();
    let mut found: BTreeMap<usize, (String, Reason)> = BTreeMap::new();
    for Opening { range, close } in
        openings(body).filter(|opening| !placeholders.contains(&opening.range.start))
    {
        let line = beginning(&body[range.end..], MAX_LENGTH)
            .lines()
            .next()
            .unwrap_or_default();
        let Some(length) = line.find(close) else {
            continue;
        };
        let written = &body[range.start..range.end + length + close.len()];
        let reason = match written {
            _ if escaped.contains(&range.start) => Reason::Escaped,
            _ if unknown.contains(written) => Reason::Unknown,
            _ => Reason::Foreign,
        };
        found.insert(range.start, (written.to_owned(), reason));
    }
    for lookalike in lookalikes {
        found.insert(lookalike.at, (lookalike.written, Reason::Unknown));
    }
    let mut positions = message.positions();
    let unexpanded = |(at, (written, reason))| {
        let (file, position) = prompt.origins.of(positions.at(at));
        Unexpanded {
            written,
            file: file.map(|file| file.path.clone()),
            position,
            reason,
        }
    };
    found.into_iter().map(unexpanded).collect()
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
