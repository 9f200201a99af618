//! One message of a prompt as text and placeholders: parsed once, expanded many times.
//!
//! - `{{name}}`, `{{{name}}}` and `<<name>>`, with or without spaces inside, are placeholders of a declared argument, and of
//!   `input`. Everything else in braces or angle brackets is text, `<<<input>>>` too.
//! - A backslash before a placeholder makes it text; the backslash is dropped.
//! - There is one pass. A value is never scanned; nothing is escaped, trimmed or executed.

use super::message::{Piece, Role};
use std::collections::BTreeSet;
use std::ops::Range;

/// The name of the placeholder that every prompt may use.
pub const INPUT: &str = "input";

/// One message, split at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTemplate {
    /// Who it is from.
    pub role: Role,
    body: String,
    /// The line of the file in which the body begins.
    first_line: usize,
    parts: Vec<Part>,
}

/// A range of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Range<usize>),
    Placeholder(Placeholder),
}

/// One placeholder of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// The name inside, without spaces.
    pub name: String,
    /// Its bytes in the body, braces included.
    pub range: Range<usize>,
}

impl MessageTemplate {
    /// A message of the user. `body` begins in the line `first_line` of the file; `names` are those of the declared
    /// arguments, which have no spaces, braces or angle brackets.
    pub fn parse<'n>(
        body: impl Into<String>,
        first_line: usize,
        names: impl IntoIterator<Item = &'n str>,
    ) -> MessageTemplate {
        let body = body.into();
        let names: BTreeSet<&str> = std::iter::once(INPUT).chain(names).collect();
        let mut parts = Vec::new();
        let mut text_start = 0; // of the text that is not in `parts` yet
        for opening in openings(&body) {
            let Some((name, end)) = opening.placeholder(&body, &names) else { continue };
            let open = opening.range.start;
            let is_escaped = open > text_start && body.as_bytes()[open - 1] == b'\\';
            let text_end = if is_escaped { open - 1 } else { open };
            if text_start < text_end {
                parts.push(Part::Text(text_start..text_end));
            }
            if is_escaped {
                text_start = open;
            } else {
                parts.push(Part::Placeholder(Placeholder { name: name.to_owned(), range: open..end }));
                text_start = end;
            }
        }
        if text_start < body.len() {
            parts.push(Part::Text(text_start..body.len()));
        }
        MessageTemplate { role: Role::User, body, first_line, parts }
    }

    /// The text as written in the file, but with `\n` line endings and without empty lines at its two ends.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The line of the file in which the body begins.
    pub fn first_line(&self) -> usize {
        self.first_line
    }

    /// The placeholders, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }

    /// Where a backslash has made a placeholder text: the byte of each first brace, in the order of the text.
    pub(super) fn escaped(&self) -> impl Iterator<Item = usize> {
        // Only after a dropped backslash does a text begin next to a backslash.
        self.parts.iter().filter_map(|part| match part {
            Part::Text(range) if range.start > 0 && self.body.as_bytes()[range.start - 1] == b'\\' => Some(range.start),
            _ => None,
        })
    }

    /// The expansion in pieces, which follow each other without anything between them. `value` gives the value of each
    /// placeholder's name.
    pub(super) fn pieces<'t>(&'t self, value: impl Fn(&str) -> &'t str) -> impl Iterator<Item = Piece<'t>> {
        self.parts.iter().map(move |part| match part {
            Part::Text(range) => Piece::Text(&self.body[range.clone()]),
            Part::Placeholder(Placeholder { name, .. }) => Piece::Value(value(name)),
        })
    }
}

/// A run of `{` or `<` that a placeholder may begin with.
pub(super) struct Opening {
    /// The whole run.
    pub(super) range: Range<usize>,
    /// What closes it: as many `}` or `>`.
    pub(super) close: &'static str,
}

/// The openings of a body that a placeholder may begin with, in their order: `{{`, `{{{` and `<<`. Longer runs are text, so
/// nothing is ever replaced within them.
pub(super) fn openings(body: &str) -> impl Iterator<Item = Opening> {
    let bytes = body.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + memchr::memchr2(b'{', b'<', &bytes[from..])?;
            let length = bytes[start..].iter().take_while(|byte| **byte == bytes[start]).count();
            from = start + length;
            let close = match (bytes[start], length) {
                (b'{', 2) => "}}",
                (b'{', 3) => "}}}",
                (b'<', 2) => ">>",
                _ => continue,
            };
            return Some(Opening { range: start..from, close });
        }
    })
}

/// What may be between the braces and the name.
pub(super) const SPACES: [char; 2] = [' ', '\t'];

impl Opening {
    /// The name and the end of the placeholder that begins here.
    fn placeholder<'b>(&self, body: &'b str, names: &BTreeSet<&str>) -> Option<(&'b str, usize)> {
        let inside = body[self.range.end..].trim_start_matches(SPACES);
        let length = inside.find(|letter: char| letter.is_whitespace() || "{}<>".contains(letter))?;
        let (name, rest) = inside.split_at(length);
        let rest = rest.trim_start_matches(SPACES).strip_prefix(self.close)?;
        names.contains(name).then(|| (name, body.len() - rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(body: &str, input: &str, want: &str) {
        check_with(body, &[], input, want);
    }

    #[track_caller]
    fn check_with(body: &str, arguments: &[(&str, &str)], input: &str, want: &str) {
        assert_eq!(expanded(body, arguments, input), want, "{body:?}");
    }

    fn expanded(body: &str, arguments: &[(&str, &str)], input: &str) -> String {
        let template = MessageTemplate::parse(body, 1, arguments.iter().map(|&(name, _)| name));
        let value = |name: &str| arguments.iter().find(|(known, _)| *known == name).map_or(input, |(_, value)| value);
        template.pieces(value).map(Piece::as_str).collect()
    }

    #[test]
    fn every_occurrence_of_input_is_replaced() {
        check("{{input}} and <<input>>, {{ input }}, <<\tinput >>", "x", "x and x, x, x");
        check("{{input}}{{input}}", "x", "xx");
        check("{{input}}", "", "");
        check("${{input}} {\"a\":{{input}}} <<input>>>", "x", "$x {\"a\":x} x>");
    }

    #[test]
    fn three_braces_are_one_placeholder_and_three_angle_brackets_are_text() {
        check("{{{input}}} {{{ input }}} {{{a}}}}", "x", "x x {{{a}}}}");
        check_with("{{{a}}} {{{ a }}}}", &[("a", "1")], "x", "1 1}");
        check("\\{{{input}}} \\{{{ input }}}", "x", "{{{input}}} {{{ input }}}");
        for text in ["<<<input>>>", "<<< input >>>", "<<<input>>", "{{{input}}", "{{{{input}}}}", "\\<<<input>>>"] {
            check(text, "x", text);
        }
    }

    #[test]
    fn a_declared_name_is_a_placeholder_too() {
        check_with("{{a}} <<b>> {{ab}} {{c}}", &[("a", "1"), ("ab", "3"), ("b", "2")], "in", "1 2 3 {{c}}");
        check_with("{{a}} {{input}}", &[("a", "1")], "in", "1 in");
        check_with("{{input}}", &[("input", "default")], "", "default");
    }

    #[test]
    fn all_else_in_braces_or_angle_brackets_stays() {
        for foreign in [
            "{{ .Values.x }}",
            "${{ github.ref }}",
            "{% if %}",
            "#{x}",
            "Vec<<T as Trait>::Out>",
            "{{input>>",
            "<<input}}",
            "{{in put}}",
            "{{inputs}}",
            "{{Input}}",
            "{{input",
            "{{",
            "<<",
            "{ {input} }",
            "{{\ninput\n}}",
            "\\{{other}}",
            "\\",
            "<<-EOF",
        ] {
            check(foreign, "x", foreign);
            check(&format!("{foreign} {{{{input}}}}"), "x", &format!("{foreign} x"));
        }
    }

    #[test]
    fn a_backslash_makes_a_placeholder_text_and_is_dropped() {
        check("\\{{input}} {{input}}", "x", "{{input}} x");
        check("{{input}}\\<< input >>", "x", "x<< input >>");
        check("\\\\{{input}} {{input}}", "x", "\\{{input}} x");
        check("\\{{input}}\\{{input}}", "x", "{{input}}{{input}}");
    }

    /// Texts in which braces, backslashes and names are frequent.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("{{".to_owned()),
            Just("}}".to_owned()),
            Just("<<".to_owned()),
            Just(">>".to_owned()),
            Just("\\".to_owned()),
            Just("input".to_owned()),
            Just("{{input}}".to_owned()),
            Just("<< topic >>".to_owned()),
            Just("topic".to_owned()),
            Just(" ".to_owned()),
            ".{0,3}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_value_is_never_scanned_again(body in text(), input in text(), topic in text()) {
            // Private-use characters cannot form a placeholder. Marking where a value goes and putting the value
            // there afterwards must give the same as expanding with the value itself.
            let marked = expanded(&body, &[("topic", "\u{e001}")], "\u{e000}");
            prop_assume!(!body.contains(['\u{e000}', '\u{e001}']));
            prop_assume!(!input.contains('\u{e001}'));
            let want = marked.replace('\u{e000}', &input).replace('\u{e001}', &topic);
            prop_assert_eq!(expanded(&body, &[("topic", &topic)], &input), want);
        }

        #[test]
        fn a_template_without_placeholders_is_kept_byte_for_byte(body in ".*", input in ".*") {
            prop_assume!(!body.contains("input"));
            prop_assert_eq!(expanded(&body, &[], &input), body);
        }
    }
}
