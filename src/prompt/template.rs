//! The body of a prompt as text and placeholders: parsed once, expanded many times.
//!
//! 1. `{{input}}` and `<<input>>`, spaces inside allowed, are placeholders; every one is replaced by the input.
//! 2. So are `{{name}}` and `<<name>>` of a declared argument, by its value. All else in braces or angle brackets stays
//!    as it is. A backslash before a placeholder makes it text, and is dropped.
//! 3. There is one pass. A value is never looked at; nothing is escaped, trimmed or executed.
//! 4. A body without a placeholder is followed by two newlines and the input, unless the input is empty.

use super::ExpandError;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// The name of the placeholder that every template may use.
pub const INPUT: &str = "input";

/// The longest text that an expansion may become, in bytes: 64 MiB, twice the longest line that the server takes.
pub const MAX_EXPANSION: usize = 64 * 1024 * 1024;

/// A body split at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    body: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// A range of the body that stays as it is.
    Text(Range<usize>),
    /// `{{name}}` or `<<name>>`.
    Placeholder(Placeholder),
}

/// One `{{name}}` or `<<name>>` of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// The name inside, without spaces.
    pub name: String,
    /// Its bytes in the body, braces included.
    pub range: Range<usize>,
}

/// The texts of one call: the input, and a value for each declared argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values<'v> {
    /// What replaces `{{input}}`, or follows a body that has no placeholder.
    pub input: &'v str,
    /// Declared names and their texts; a name `input` here goes before the field above.
    pub arguments: Vec<(&'v str, Cow<'v, str>)>,
}

impl Template {
    /// Splits `body` at `{{input}}`, `<<input>>` and, in the same two forms, each of the `arguments`' names.
    ///
    /// A name has no spaces, braces or angle brackets.
    pub fn parse<'n>(body: impl Into<String>, arguments: impl IntoIterator<Item = &'n str>) -> Template {
        let body = body.into();
        let names: BTreeSet<&str> = std::iter::once(INPUT).chain(arguments).collect();
        let mut parts = Vec::new();
        let mut text_start = 0; // of the text that is not in `parts` yet
        let mut from = 0; // where to look for the next opening
        while let Some(open) = next_opening(&body, from) {
            let Some((name, length)) = placeholder_at(&body[open..], &names) else {
                from = open + 1;
                continue;
            };
            let end = open + length;
            let escaped = open > text_start && body.as_bytes()[open - 1] == b'\\';
            let text_end = if escaped { open - 1 } else { open };
            if text_start < text_end {
                parts.push(Part::Text(text_start..text_end));
            }
            if escaped {
                text_start = open; // the braces are text now
            } else {
                parts.push(Part::Placeholder(Placeholder { name: name.to_owned(), range: open..end }));
                text_start = end;
            }
            from = end;
        }
        if text_start < body.len() {
            parts.push(Part::Text(text_start..body.len()));
        }
        Template { body, parts }
    }

    /// The body as it stands in the file, with `\n` line ends and without blank lines at its two ends.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The placeholders, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }

    /// The places of what a backslash makes text, in the order of the text; each from its first brace on.
    pub(super) fn escaped(&self) -> impl Iterator<Item = usize> {
        // Behind a backslash that was dropped; nothing else ends there.
        self.parts.iter().filter_map(|part| match part {
            Part::Text(range) if range.start > 0 && self.body.as_bytes()[range.start - 1] == b'\\' => Some(range.start),
            _ => None,
        })
    }

    /// Puts the values in place of the placeholders, in one pass: a value is never scanned.
    ///
    /// A placeholder whose name has no value gets the empty text.
    ///
    /// # Errors
    /// [`ExpandError::TooLong`], before anything is allocated.
    pub fn expand<'t>(&'t self, values: Values<'t>) -> Result<Expansion<'t>, ExpandError> {
        let mut expansion = Expansion { template: self, values, length: 0 };
        expansion.length = expansion.pieces().map(str::len).fold(0, usize::saturating_add);
        let Expansion { length, .. } = expansion;
        if length > MAX_EXPANSION { Err(ExpandError::TooLong { length }) } else { Ok(expansion) }
    }
}

/// A template with its values: the text that a model gets, in pieces. Who wants it in one makes a `String` of it.
#[derive(Debug, Clone)]
pub struct Expansion<'t> {
    template: &'t Template,
    values: Values<'t>,
    /// How many bytes its pieces have.
    length: usize,
}

impl Expansion<'_> {
    /// The pieces, which follow each other without anything between them.
    pub fn pieces(&self) -> impl Iterator<Item = &str> + Clone {
        let Expansion { template, values, .. } = self;
        let appended = if template.placeholders().next().is_none() && !values.input.is_empty() {
            ["\n\n", values.input]
        } else {
            ["", ""]
        };
        template.parts.iter().map(|part| self.piece(part)).chain(appended)
    }

    fn piece<'e>(&'e self, part: &'e Part) -> &'e str {
        match part {
            Part::Text(range) => &self.template.body[range.clone()],
            Part::Placeholder(Placeholder { name, .. }) => {
                let argument = self.values.arguments.iter().find(|(argument, _)| argument == name);
                match argument {
                    Some((_, value)) => value,
                    None if name == INPUT => self.values.input,
                    None => "",
                }
            }
        }
    }
}

impl From<Expansion<'_>> for String {
    fn from(expansion: Expansion<'_>) -> String {
        let mut text = String::with_capacity(expansion.length);
        expansion.pieces().for_each(|piece| text.push_str(piece));
        text
    }
}

/// The next byte from `from` on at which `{{` or `<<` stands.
fn next_opening(body: &str, from: usize) -> Option<usize> {
    let bytes = body.as_bytes();
    let opens = |&at: &usize| bytes.get(at + 1) == Some(&bytes[at]);
    memchr::memchr2_iter(b'{', b'<', &bytes[from..]).map(|at| from + at).find(opens)
}

/// The name and the length of the placeholder that `text` begins with. No byte is looked at twice for two openings.
fn placeholder_at<'t>(text: &'t str, names: &BTreeSet<&str>) -> Option<(&'t str, usize)> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let close = if text.starts_with("{{") { "}}" } else { ">>" };
    let inside = text[2..].trim_start_matches(BLANKS);
    let length = inside.find(|letter: char| letter.is_whitespace() || "{}<>".contains(letter))?;
    let (name, rest) = inside.split_at(length);
    let rest = rest.trim_start_matches(BLANKS).strip_prefix(close)?;
    names.contains(name).then(|| (name, text.len() - rest.len()))
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
        let template = Template::parse(body, arguments.iter().map(|&(name, _)| name));
        let arguments = arguments.iter().map(|&(name, value)| (name, value.into())).collect();
        let values = Values { input, arguments };
        assert_eq!(expanded(&template, values), want, "{body:?}");
    }

    #[test]
    fn every_occurrence_of_input_is_replaced() {
        check("{{input}} and <<input>>, {{ input }}, <<\tinput >>", "x", "x and x, x, x");
        check("{{input}}{{input}}", "x", "xx");
        check("{{input}}", "", "");
        check("{{{input}}} <<<input>>> ${{input}}", "x", "{x} <x> $x");
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
            check(foreign, "", foreign);
            check(&format!("{foreign} {{{{input}}}}"), "x", &format!("{foreign} x"));
        }
    }

    #[test]
    fn a_backslash_makes_a_placeholder_text_and_is_dropped() {
        check("\\{{input}} {{input}}", "x", "{{input}} x");
        check("{{input}}\\<< input >>", "x", "x<< input >>");
        check("\\\\{{input}} {{input}}", "x", "\\{{input}} x");
        check("\\{{input}}\\{{input}}", "x", "{{input}}{{input}}\n\nx");
    }

    #[test]
    fn input_follows_a_body_without_placeholder_and_empty_input_adds_nothing() {
        check("Review this.", "x = 1", "Review this.\n\nx = 1");
        check("Review this.", "", "Review this.");
        check("Review this.", " ", "Review this.\n\n ");
        check("", "x", "\n\nx");
    }

    #[test]
    fn an_expansion_beyond_the_limit_is_refused_before_it_is_made() {
        let template = Template::parse("{{input}}".repeat(1000), []);
        let input = "x".repeat(1024 * 1024);
        let error = template.expand(Values { input: &input, arguments: vec![] }).unwrap_err();
        assert_eq!(error, ExpandError::TooLong { length: 1000 * 1024 * 1024 });
    }

    fn expanded(template: &Template, values: Values<'_>) -> String {
        template.expand(values).unwrap().into()
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
            let template = Template::parse(body, ["topic"]);
            let marked = Values { input: "\u{e000}", arguments: vec![("topic", "\u{e001}".into())] };
            let marked = expanded(&template, marked);
            prop_assume!(!template.body().contains(['\u{e000}', '\u{e001}']));
            prop_assume!(!input.contains('\u{e001}') && !input.is_empty());
            let want = marked.replace('\u{e000}', &input).replace('\u{e001}', &topic);
            let values = Values { input: &input, arguments: vec![("topic", topic.as_str().into())] };
            let got = expanded(&template, values);
            prop_assert_eq!(got, want);
        }

        #[test]
        fn a_template_without_placeholders_is_kept_byte_for_byte(body in ".*", input in ".*") {
            prop_assume!(!body.contains("input"));
            let template = Template::parse(body.clone(), []);
            let got = expanded(&template, Values { input: &input, arguments: vec![] });
            let want = if input.is_empty() { body } else { format!("{body}\n\n{input}") };
            prop_assert_eq!(got, want);
        }

        #[test]
        fn nothing_but_a_placeholder_is_touched(body in text(), input in text()) {
            // An independent reading of the rules, character by character.
            let mut want = String::new();
            let mut rest = body.as_str();
            let mut placeholders = 0;
            'text: while let Some(character) = rest.chars().next() {
                for spelled in ["{{input}}", "<<input>>", "{{topic}}", "<< topic >>"] {
                    let value = if spelled.contains("input") { input.as_str() } else { "T" };
                    if let Some(after) = rest.strip_prefix(spelled) {
                        want.push_str(value);
                        (rest, placeholders) = (after, placeholders + 1);
                        continue 'text;
                    }
                    if let Some(after) = rest.strip_prefix('\\').and_then(|rest| rest.strip_prefix(spelled)) {
                        want.push_str(spelled);
                        rest = after;
                        continue 'text;
                    }
                }
                want.push(character);
                rest = &rest[character.len_utf8()..];
            }
            if placeholders == 0 && !input.is_empty() {
                want = format!("{want}\n\n{input}");
            }
            // The independent reading knows four spellings only.
            let others = ["{{ input", "<< input", "input }}", "input >>", "{{ topic", "topic }}", "<<topic", "topic>>",
                "\t", "  "];
            prop_assume!(!others.iter().any(|other| body.contains(other)));
            let template = Template::parse(body, ["topic"]);
            let got = expanded(&template, Values { input: &input, arguments: vec![("topic", "T".into())] });
            prop_assert_eq!(got, want);
        }
    }
}
