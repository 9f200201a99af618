//! What looks like a placeholder and stays as it is, and why: for `explain`.

use super::diagnostic::{Position, Positions};
use super::{Prompt, lint};
use std::collections::{BTreeMap, HashSet};

/// How long a text in braces may be, in bytes. What closes only later was not opened there.
const MAX_INSIDE: usize = 200;

/// A text in double braces or angle brackets that is no placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// As it stands in the expansion.
    pub written: String,
    /// Where it stands in the file.
    pub position: Position,
    /// Why it is left.
    pub reason: Reason,
}

/// Why a text in braces is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A backslash before it says so.
    Escaped,
    /// It is no name of an argument, and does not look like one: another program's.
    Foreign,
    /// It looks like the name of an argument that there is not; perhaps a slip.
    Unknown,
}

/// Everything that is left, in the order of the text.
pub(super) fn left(prompt: &Prompt) -> Vec<Left> {
    let body = prompt.template.body();
    let placeholders = prompt.template.placeholders().map(|placeholder| placeholder.range.start);
    let mut found: BTreeMap<usize, Option<(String, Reason)>> = placeholders.map(|at| (at, None)).collect();
    let lookalikes = lint::lookalikes(prompt);
    // The same again is the same slip.
    let unknown: HashSet<&str> = lookalikes.iter().map(|lookalike| &*lookalike.written).collect();
    let escaped: HashSet<usize> = prompt.template.escaped().collect();
    for (at, opening) in body.match_indices("{{").chain(body.match_indices("<<")) {
        let close = if opening == "{{" { "}}" } else { ">>" };
        let near = &body.as_bytes()[at..body.len().min(at + MAX_INSIDE)];
        let end = near.windows(close.len()).position(|bytes| bytes == close.as_bytes() || bytes[0] == b'\n');
        let Some(end) = end.filter(|end| near[*end] != b'\n').map(|end| at + end + close.len()) else { continue };
        let written = &body[at..end];
        if found.range(at..end).any(|(_, found)| found.is_none()) {
            continue; // `{{{input}}}` holds a placeholder
        }
        let reason = match written {
            _ if escaped.contains(&at) => Reason::Escaped,
            _ if unknown.contains(written) => Reason::Unknown,
            // The last opening before a closing is the one that it closes.
            _ if written[2..].contains(opening) => continue,
            _ => Reason::Foreign,
        };
        found.entry(at).or_insert_with(|| Some((written.to_owned(), reason)));
    }
    for lookalike in &lookalikes {
        // Some have a brace too few, or none that are double.
        found.insert(lookalike.at, Some((lookalike.written.clone(), Reason::Unknown)));
    }
    let mut positions = Positions::new(body, prompt.body_line);
    let left = found.into_iter().filter_map(|(at, left)| Some((at, left?)));
    left.map(|(at, (written, reason))| Left { written, position: positions.at(at), reason }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_left_says_why() {
        let file = "---\narguments: [topic]\n---\n{{input}} \\{{topic}} {{ .Values.x }} ${{ github.ref }}\n\
                    {{topc}} {{topic}} {{other}} {{topc}} <<T as X>> <<EOF {input}}\n`{{code}}` {{\n}} {{{input}}}";
        let prompt = Prompt::parse("p", file.as_bytes()).unwrap();
        let left: Vec<(String, usize, Reason)> =
            prompt.left().into_iter().map(|left| (left.written, left.position.line, left.reason)).collect();
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
        ];
        assert_eq!(left, want.map(|(written, line, reason)| (written.to_owned(), line, reason)));
    }
    proptest! {
        #[test]
        fn whatever_is_left_stands_where_it_is_said_to_stand_and_in_the_expansion(
            pieces in prop::collection::vec(
                prop_oneof![
                    8 => prop::sample::select(vec![
                        "{{", "}}", "<<", ">>", "{", "}", "\\", "input", "topic", "topc", "other", "{{input}}", " ", "\n", "é",
                    ]).prop_map(str::to_owned),
                    1 => ".{0,3}",
                ],
                0..24,
            ),
        ) {
            let body = pieces.concat();
            let file = format!("---\narguments: [topic]\n---\n{body}");
            let Ok(prompt) = Prompt::parse("p", file.as_bytes()) else { return Ok(()) };
            let expansion = prompt.expand("").unwrap();
            for Left { written, position, reason } in prompt.left() {
                let line = file.replace("\r\n", "\n").split('\n').nth(position.line - 1).unwrap().to_owned();
                let at: String = line.chars().skip(position.column - 1).collect();
                prop_assert!(at.starts_with(&written), "{:?} at {:?} in {:?}", written, position, file);
                prop_assert!(reason != Reason::Escaped || expansion.contains(&written), "{:?} in {:?}", written, expansion);
            }
        }
    }
}
