//! What looks like a placeholder and is not one, and why: for `explain`.

use super::diagnostic::Position;
use super::lint;
use super::model::Prompt;
use super::template::{MessageTemplate, openings};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

impl Prompt {
    /// What in double braces or angle brackets is not a placeholder, in the order of the text.
    pub fn unexpanded(&self) -> Vec<Unexpanded> {
        unexpanded(self)
    }
}

/// The longest text in braces, in bytes. If the closing braces come later, they probably do not belong to the opening ones.
const MAX_LENGTH: usize = 200;

/// A text in double braces or angle brackets that is not a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexpanded {
    /// As it is in the expansion.
    pub written: String,
    /// The included file that it is in; `None` for the prompt's own.
    pub file: Option<PathBuf>,
    /// Where it is in the file.
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

/// All of them, in the order of the text.
pub(super) fn unexpanded(prompt: &Prompt) -> Vec<Unexpanded> {
    prompt.messages.iter().flat_map(|message| in_message(prompt, message)).collect()
}

fn in_message(prompt: &Prompt, message: &MessageTemplate) -> Vec<Unexpanded> {
    if message.jinja().is_some() {
        return Vec::new();
    }
    let body = message.body();
    let placeholders: HashSet<usize> = message.placeholders().map(|placeholder| placeholder.range.start).collect();
    let escaped: HashSet<usize> = message.escaped().collect();
    let lookalikes = lint::lookalikes(prompt, message);
    // Only the first of several is among the lookalikes.
    let unknown: HashSet<&str> = lookalikes.iter().map(|lookalike| &*lookalike.written).collect();
    let mut found: BTreeMap<usize, (String, Reason)> = BTreeMap::new();
    let mut openings = openings(body).peekable();
    while let Some(opening) = openings.next() {
        let at = opening.range.start;
        let rest = &body.as_bytes()[opening.range.end..body.len().min(at + MAX_LENGTH)];
        let is_end = |bytes: &[u8]| bytes == opening.close.as_bytes() || bytes[0] == b'\n';
        let end = rest.windows(opening.close.len()).position(is_end).filter(|end| rest[*end] != b'\n');
        let Some(end) = end.map(|end| opening.range.end + end + opening.close.len()) else { continue };
        // The last opening before a closing is the one that it closes.
        let is_innermost = openings.peek().is_none_or(|next| next.range.start >= end);
        let written = &body[at..end];
        let reason = match written {
            _ if placeholders.contains(&at) => continue,
            _ if escaped.contains(&at) => Reason::Escaped,
            _ if unknown.contains(written) => Reason::Unknown,
            _ if is_innermost => Reason::Foreign,
            _ => continue,
        };
        found.insert(at, (written.to_owned(), reason));
    }
    for at in escaped.into_iter().filter(|at| body[*at..].starts_with('$')) {
        let is_mark = |letter: char| letter.is_alphanumeric() || "_{".contains(letter);
        let end = body[at + 1..].find(|letter: char| !is_mark(letter)).map_or(body.len(), |end| at + 1 + end);
        found.insert(at, (body[at..end].to_owned(), Reason::Escaped));
    }
    for lookalike in lookalikes {
        found.insert(lookalike.at, (lookalike.written, Reason::Unknown));
    }
    let mut positions = message.positions();
    let unexpanded = |(at, (written, reason))| {
        let (file, position) = prompt.origins.of(positions.at(at));
        Unexpanded { written, file: file.map(|file| file.path.clone()), position, reason }
    };
    found.into_iter().map(unexpanded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::format::{claude, markdown};
    use crate::prompt::{Name, Parse};

    #[test]
    fn what_is_not_expanded_says_why() {
        let file = "---\narguments: [topic]\n---\n{{input}} \\{{topic}} {{ .Values.x }} ${{ github.ref }}\n\
                    {{topc}} {{topic}} {{other}} {{topc}} <<T as X>> <<EOF {input}}\n`{{code}}` {{\n}} {{{input}}} {{{else}}} <<<input>>>";
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        let found: Vec<(String, usize, Reason)> =
            prompt.unexpanded().into_iter().map(|found| (found.written, found.position.line, found.reason)).collect();
        let want = [
            ("{{topic}}", 4, Reason::Escaped),
            ("{{ .Values.x }}", 4, Reason::Foreign),
            ("{{ github.ref }}", 4, Reason::Foreign),
            ("{{topc}}", 5, Reason::Unknown),
            ("{{other}}", 5, Reason::Unknown),
            ("{{topc}}", 5, Reason::Unknown),
            ("<<T as X>>", 5, Reason::Foreign),
            ("{input}}", 5, Reason::Unknown),
            ("{{code}}", 6, Reason::Foreign),
            ("{{{else}}}", 7, Reason::Unknown),
        ];
        assert_eq!(found, want.map(|(written, line, reason)| (written.to_owned(), line, reason)));
    }

    #[test]
    fn an_escaped_mark_with_a_dollar_is_not_expanded_either() {
        let found = |parse: Parse, file: &str| {
            let prompt = parse(&Name::new("p").unwrap(), file, None).unwrap();
            let found = prompt.unexpanded().into_iter();
            found.map(|found| (found.written, found.position.column, found.reason)).collect::<Vec<_>>()
        };
        let escaped = |written: &str, column| (written.to_owned(), column, Reason::Escaped);
        assert_eq!(found(markdown::parse, "\\$ARGUMENTS, $ARGUMENTS"), [escaped("$ARGUMENTS", 2)]);
        assert_eq!(found(claude::command, "é \\$1 $1"), [escaped("$1", 4)]);
    }
}
