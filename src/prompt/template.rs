//! One message of a prompt as text and placeholders: parsed once, expanded many times.
//!
//! - A placeholder stands for the input or for a declared argument. How it is written is data of
//!   the format, a [`PlaceholderSyntax`]: `{{name}}`, `{{{name}}}`, `<<name>>` and `$ARGUMENTS` in this
//!   program's own. Everything else is text, `<<<input>>>` too.
//! - A backslash before a placeholder makes it text; the backslash is dropped.
//! - There is one pass. A value is never scanned; nothing is escaped, trimmed or executed.

use super::diagnostic::{Position, Positions};
use super::jinja::{Mistake, ParsedTemplate, Template};
use super::message::{Piece, Role};
pub use super::placeholder::{INPUT, Placeholder};
use std::collections::BTreeSet;
use std::ops::Range;

/// One message, split at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTemplate {
    /// Who it is from.
    pub role: Role,
    /// A text before the body, which is not in the file.
    preamble: String,
    body: String,
    place: BodyPosition,
    segments: Vec<Segment>,
    jinja: Option<Template>,
}

/// Where a body is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyPosition {
    /// The position of its first character.
    start: Position,
    /// Whether the file has it as it is. If not, only `start` is known.
    is_verbatim: bool,
}

impl BodyPosition {
    /// Returns the place of a body that begins in this line.
    pub(super) fn at_line(line: usize) -> BodyPosition {
        BodyPosition {
            start: Position::at_line(line),
            is_verbatim: true,
        }
    }

    /// Returns the place of a body that is the value of a key. The value begins at the byte
    /// `value_start` of the file. If the body is not in the file as it is, because the value has
    /// escapes, the place is the beginning of the value.
    pub(super) fn in_value(file_text: &str, value_start: usize, body: &str) -> BodyPosition {
        let offset = file_text[value_start..].find(body);
        BodyPosition {
            start: Position::in_text(file_text, value_start + offset.unwrap_or(0), 1),
            is_verbatim: offset.is_some(),
        }
    }

    /// Returns the place of a body that was derived from the file and begins in this line. Columns
    /// and later lines of such a body do not match the file.
    pub(super) fn derived_at_line(line: usize) -> BodyPosition {
        BodyPosition {
            is_verbatim: false,
            ..BodyPosition::at_line(line)
        }
    }

    /// Returns a finder of the positions in the file that bytes of the body have.
    pub(super) fn positions(self, body: &str) -> Positions<'_> {
        let known_text = if self.is_verbatim { body } else { "" };
        Positions::from(known_text, self.start)
    }
}

/// A range of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Text(Range<usize>),
    Placeholder(Placeholder),
}

/// How the placeholders of a format are written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlaceholderSyntax {
    /// The one to write comes last.
    pub(super) marks: &'static [Mark],
    /// A mark for the input that counts only in a body in which no other one stands for it.
    pub(super) fallback: Option<Mark>,
    /// What makes a placeholder after it text.
    pub(super) escape: Escape,
}

/// One way to write a placeholder: `open`, a name, `close`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) open: &'static str,
    /// If it is empty, the name ends where no letter of a name follows.
    pub(super) close: &'static str,
    /// The name that stands for the input. An empty one has no end: `$@`.
    pub(super) input: Option<&'static str>,
    pub(super) names: Names,
}

/// Which names stand for an argument in a [`Mark`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Names {
    None,
    Declared,
    /// With or without spaces around the name.
    Spaced,
    /// A colon and a text for people may follow the name, or `|` and a default.
    WithHint,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Escape {
    None,
    Backslash,
    /// As `Backslash`, and before `$1` too, which Claude Code would replace.
    BackslashAndDigit,
    /// `$$` is `$`.
    Dollar,
}

pub(super) const TWO_BRACES: Mark = Mark {
    open: "{{",
    close: "}}",
    input: Some(INPUT),
    names: Names::Spaced,
};
pub(super) const THREE_BRACES: Mark = Mark {
    open: "{{{",
    close: "}}}",
    ..TWO_BRACES
};
pub(super) const TWO_ANGLES: Mark = Mark {
    open: "<<",
    close: ">>",
    ..TWO_BRACES
};
pub(super) const ARGUMENTS: Mark = Mark {
    open: "$",
    close: "",
    input: Some("ARGUMENTS"),
    names: Names::None,
};

impl PlaceholderSyntax {
    /// The syntax of this program.
    pub(super) const OWN: PlaceholderSyntax = PlaceholderSyntax {
        marks: &[TWO_ANGLES, THREE_BRACES, TWO_BRACES],
        fallback: Some(ARGUMENTS),
        escape: Escape::Backslash,
    };

    /// Returns a placeholder for an argument, or for the [input](INPUT), as a person would write
    /// it.
    ///
    /// The last mark of this syntax that can have the name is used, since it is the easiest to
    /// read. If no mark can, returns `{{name}}`.
    pub(super) fn write(&self, name: &str) -> String {
        for mark in self.marks.iter().rev() {
            if name != INPUT && mark.names != Names::None {
                return mark.write(name);
            }
            if name == INPUT
                && let Some(input) = mark.input
            {
                return mark.write(input);
            }
        }
        TWO_BRACES.write(name)
    }
}

impl MessageTemplate {
    /// Parses a message of the user. `body` begins in the line `first_line` of the file; `names`
    /// are those of the declared arguments, which have no spaces, braces or angle brackets.
    pub(super) fn parse<'n>(
        syntax: &PlaceholderSyntax,
        body: impl Into<String>,
        first_line: usize,
        names: impl IntoIterator<Item = &'n str>,
    ) -> MessageTemplate {
        let mut template =
            MessageTemplate::new(Role::User, body.into(), BodyPosition::at_line(first_line));
        MessageTemplate::find_placeholders(syntax, std::slice::from_mut(&mut template), names);
        template
    }

    /// Returns a message without placeholders. [`MessageTemplate::find_placeholders`] finds them.
    pub(super) fn new(role: Role, body: String, place: BodyPosition) -> MessageTemplate {
        MessageTemplate {
            role,
            preamble: String::new(),
            body,
            place,
            segments: Vec::new(),
            jinja: None,
        }
    }

    /// Finds the placeholders in all messages of a prompt. `names` are those of the arguments.
    ///
    /// The fallback of the syntax, such as `$ARGUMENTS`, counts only if no message has another
    /// placeholder for the input.
    pub(super) fn find_placeholders<'n>(
        syntax: &PlaceholderSyntax,
        messages: &mut [MessageTemplate],
        names: impl IntoIterator<Item = &'n str>,
    ) {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut has_input = false;
        for message in &mut *messages {
            message.segments = split(&message.body, &names, syntax, None);
            has_input |= message
                .placeholders()
                .any(|placeholder| placeholder.name == INPUT);
        }
        if !has_input && syntax.fallback.is_some() {
            for message in messages {
                message.segments = split(&message.body, &names, syntax, syntax.fallback.as_ref());
            }
        }
    }

    /// Makes the body a Jinja template. The names in its tags are its placeholders, and replace
    /// those that were found before.
    ///
    /// # Errors
    /// The mistakes in the template; see [`Template::parse`].
    pub(super) fn set_jinja(&mut self, names: &[&str]) -> Result<(), Vec<Mistake>> {
        let ParsedTemplate {
            template,
            placeholders,
        } = Template::parse(&self.body, names)?;
        self.segments = placeholders.into_iter().map(Segment::Placeholder).collect();
        self.jinja = Some(template);
        Ok(())
    }

    /// Returns the Jinja template, if the body is one.
    pub(super) fn jinja(&self) -> Option<&Template> {
        self.jinja.as_ref()
    }

    /// Puts a text before the body.
    pub(super) fn set_preamble(&mut self, text: String) {
        self.preamble = text;
    }

    /// Returns the text as written in the file, but with `\n` line endings and without empty lines
    /// at its start and end.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the line of the file in which the body begins.
    pub fn first_line(&self) -> usize {
        self.place.start.line
    }

    /// Returns a finder of the positions in the file that bytes of the body have.
    pub(super) fn positions(&self) -> Positions<'_> {
        self.place.positions(&self.body)
    }

    /// Returns the placeholders, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder(placeholder) => Some(placeholder),
            Segment::Text(_) => None,
        })
    }

    /// Returns a placeholder as the file writes it, such as `{{ name }}`.
    pub fn written(&self, placeholder: &Placeholder) -> &str {
        &self.body[placeholder.range.clone()]
    }

    /// Returns the offsets of escaped placeholders, in the order of the text: 1 for `\{{x}}`, and
    /// also for `$$1`.
    pub(super) fn escaped(&self) -> Vec<usize> {
        let mut escaped = Vec::new();
        if self.jinja.is_some() {
            return escaped;
        }
        // Between two segments, only the character that escapes the second one was dropped.
        let mut end = 0;
        for segment in &self.segments {
            let (Segment::Text(range) | Segment::Placeholder(Placeholder { range, .. })) = segment;
            if range.start > end {
                escaped.push(range.start);
            }
            end = range.end;
        }
        escaped
    }

    /// Returns the preamble and the body in pieces, which make the whole text in their order.
    /// `value` returns the piece for the name of a placeholder.
    pub(super) fn pieces<'t>(
        &'t self,
        value: impl Fn(&'t str) -> Piece<'t>,
    ) -> impl Iterator<Item = Piece<'t>> {
        let segments = self.segments.iter().map(move |segment| match segment {
            Segment::Text(range) => Piece::Text(&self.body[range.clone()]),
            Segment::Placeholder(placeholder) => value(&placeholder.name),
        });
        std::iter::once(Piece::Text(&self.preamble)).chain(segments)
    }
}

/// Returns the offsets at which a body in the format of this program has placeholders, escaped or
/// not: 3 and 12 for `Do {{a}} or \{{a}}` and the name `a`.
///
/// `has_input` says whether the prompt has `{{input}}` anywhere. If not, `$ARGUMENTS` counts.
pub(super) fn placeholder_offsets(
    body: &str,
    names: &BTreeSet<&str>,
    has_input: bool,
) -> Vec<usize> {
    let syntax = &PlaceholderSyntax::OWN;
    let fallback = if has_input {
        None
    } else {
        syntax.fallback.as_ref()
    };
    let mut template = MessageTemplate::new(Role::User, body.to_owned(), BodyPosition::at_line(1));
    template.segments = split(body, names, syntax, fallback);
    let mut marks = template.escaped();
    for placeholder in template.placeholders() {
        marks.push(placeholder.range.start);
    }
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// Divides a body into texts and placeholders: `Do {{input}}.` is the text `Do `, the placeholder
/// `input`, and the text `.`.
///
/// What looks like a placeholder within another one, as in `${input:a:{{b}}`, does not count.
/// `fallback` is a way to write placeholders that counts besides those of the syntax.
fn split(
    body: &str,
    names: &BTreeSet<&str>,
    syntax: &PlaceholderSyntax,
    fallback: Option<&Mark>,
) -> Vec<Segment> {
    let mut splitter = Splitter {
        body,
        names,
        syntax,
        fallback,
        segments: Vec::new(),
        text_start: 0,
        last_escaped: None,
    };
    for opening in openings_and_dollars(body) {
        let is_in_placeholder = opening.range.start < splitter.text_start;
        if !is_in_placeholder {
            splitter.add_opening(&opening.range);
        }
    }
    splitter.add_text(body.len());
    splitter.segments
}

/// Divides one body into segments, from its beginning to its end.
struct Splitter<'s> {
    body: &'s str,
    /// The names of the declared arguments.
    names: &'s BTreeSet<&'s str>,
    syntax: &'s PlaceholderSyntax,
    fallback: Option<&'s Mark>,
    segments: Vec<Segment>,
    /// Where the text begins that is not in `segments` yet.
    text_start: usize,
    /// The byte of the last opening that an escape made text.
    last_escaped: Option<usize>,
}

impl Splitter<'_> {
    /// Adds the placeholder that begins at an opening such as `{{`, and the text before it. An
    /// opening without a placeholder stays in the text.
    fn add_opening(&mut self, opening: &Range<usize>) {
        let placeholder = self.find_placeholder(opening);
        if self.is_escaped(opening.start, placeholder.is_some()) {
            self.add_escaped(opening.start);
        } else if let Some(placeholder) = placeholder {
            self.add_text(placeholder.range.start);
            self.text_start = placeholder.range.end;
            self.segments.push(Segment::Placeholder(placeholder));
        }
    }

    /// Returns whether the character before an opening makes it text, as in `\{{x}}`, `\$1` or
    /// `$$`. A backslash counts only before something that would be replaced.
    fn is_escaped(&self, open: usize, is_placeholder: bool) -> bool {
        match self.syntax.escape {
            Escape::None => false,
            Escape::Backslash => is_placeholder && self.is_after(open, b'\\'),
            Escape::BackslashAndDigit => {
                (is_placeholder || self.is_parameter(open)) && self.is_after(open, b'\\')
            }
            Escape::Dollar => self.is_second_dollar(open),
        }
    }

    /// Adds the text before an escaped opening, without the character that escapes it. The opening
    /// begins the next text.
    fn add_escaped(&mut self, open: usize) {
        let escape_length = 1;
        self.add_text(open - escape_length);
        self.text_start = open;
        self.last_escaped = Some(open);
    }

    /// Returns whether an opening is a `$` before a digit, such as `$1`.
    fn is_parameter(&self, open: usize) -> bool {
        let bytes = self.body.as_bytes();
        bytes[open] == b'$' && bytes.get(open + 1).is_some_and(u8::is_ascii_digit)
    }

    /// Returns whether an opening is the second `$` of `$$`, which begins no placeholder.
    fn is_second_dollar(&self, open: usize) -> bool {
        self.body.as_bytes()[open] == b'$' && self.is_after(open, b'$')
    }

    /// Returns whether `byte` precedes an opening in the same text, and is not escaped itself: the
    /// second `$` of `$$$` is after a `$`, and the third is not.
    fn is_after(&self, open: usize, byte: u8) -> bool {
        open > self.text_start
            && self.body.as_bytes()[open - 1] == byte
            && self.last_escaped != Some(open - 1)
    }

    /// Returns the placeholder that begins at an opening. The first mark of the syntax that fits
    /// decides.
    fn find_placeholder(&self, opening: &Range<usize>) -> Option<Placeholder> {
        if self.is_second_dollar(opening.start) {
            return None;
        }
        let mut marks = self.syntax.marks.iter().chain(self.fallback);
        marks.find_map(|mark| mark.placeholder(self.body, opening, self.names))
    }

    /// Adds the text up to the byte `end`, unless it is empty.
    fn add_text(&mut self, end: usize) {
        if self.text_start < end {
            self.segments.push(Segment::Text(self.text_start..end));
        }
    }
}

/// A sequence of `{` or of `<`, or a `$`, with which a placeholder may begin.
pub(super) struct Opening {
    /// The whole sequence.
    pub(super) range: Range<usize>,
    /// What closes `{{`, `{{{` or `<<`: as many `}` or `>`. Empty for other sequences, and for `$`.
    pub(super) close: &'static str,
}

/// Returns the openings `{{`, `{{{` and `<<` of a body, in their order. Longer sequences are text,
/// so nothing is ever replaced within them in a file of this program.
pub(super) fn openings(body: &str) -> impl Iterator<Item = Opening> {
    openings_and_dollars(body).filter(|opening| !opening.close.is_empty())
}

/// Returns the sequences of `{` and of `<` in a body, of any length, and each `$`, in their order.
fn openings_and_dollars(body: &str) -> impl Iterator<Item = Opening> {
    let bytes = body.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + memchr::memchr3(b'{', b'<', b'$', &bytes[from..])?;
        let length = match bytes[start] {
            b'$' => 1,
            first => bytes[start..]
                .iter()
                .take_while(|byte| **byte == first)
                .count(),
        };
        from = start + length;
        let close = match (bytes[start], length) {
            (b'{', 2) => "}}",
            (b'{', 3) => "}}}",
            (b'<', 2) => ">>",
            _ => "",
        };
        Some(Opening {
            range: start..from,
            close,
        })
    })
}

/// What may follow the name in `${input:name:hint}` and `${input:name|default}`.
pub(super) const HINTS: [char; 2] = [':', '|'];

/// What may be between the braces and the name.
pub(super) const SPACES: [char; 2] = [' ', '\t'];

/// The name of a placeholder, and the text after the placeholder.
struct FoundName<'b> {
    /// The name of the argument, or [`INPUT`].
    name: &'b str,
    /// The text after the placeholder.
    after: &'b str,
}

impl Mark {
    /// Returns a placeholder in this mark: `{{name}}`.
    fn write(&self, name: &str) -> String {
        format!("{}{name}{}", self.open, self.close)
    }

    /// Returns the placeholder of this mark that begins at an [`Opening`] of the body.
    fn placeholder(
        &self,
        body: &str,
        opening: &Range<usize>,
        names: &BTreeSet<&str>,
    ) -> Option<Placeholder> {
        let start = self.start_in(opening)?;
        let rest = body[start..].strip_prefix(self.open)?;
        let FoundName { name, after } = if self.close.is_empty() {
            self.find_bare_name(rest, names)?
        } else {
            self.find_closed_name(rest, names)?
        };
        Some(Placeholder {
            name: name.to_owned(),
            range: start..body.len() - after.len(),
        })
    }

    /// Returns the byte at which a placeholder of this mark may begin in an [`Opening`]: its start,
    /// if it is as long as `open`. So `{{` does not fit `{{{name}}}`.
    ///
    /// But some programs search `{{name}}` anywhere. In their files, the placeholder of
    /// `{{{name}}}` begins at the second brace.
    fn start_in(&self, opening: &Range<usize>) -> Option<usize> {
        let is_found_anywhere = matches!(self.names, Names::None | Names::Declared);
        if self.open == "{{" && is_found_anywhere {
            return (opening.len() >= 2).then(|| opening.end - 2);
        }
        // Before a `$`, only its first byte was found: the mark may be longer, such as `${input:`.
        let fits = self.open.starts_with('$') || opening.len() == self.open.len();
        fits.then_some(opening.start)
    }

    /// Returns the argument that a name in a placeholder stands for, or [`INPUT`] if it stands for
    /// the input; `None` if it stands for nothing. A declared argument comes first.
    fn meaning<'b>(&self, name: &'b str, names: &BTreeSet<&str>) -> Option<&'b str> {
        if self.is_argument(name, names) {
            Some(name)
        } else if self.input == Some(name) {
            Some(INPUT)
        } else {
            None
        }
    }

    /// Returns whether a name in a placeholder stands for a declared argument.
    fn is_argument(&self, name: &str, names: &BTreeSet<&str>) -> bool {
        self.names != Names::None && names.contains(name)
    }

    /// Finds a name that is followed by what closes a placeholder: `name}}`, or `name:hint}}`.
    fn find_closed_name<'b>(&self, rest: &'b str, names: &BTreeSet<&str>) -> Option<FoundName<'b>> {
        let rest = self.skip_spaces(rest);
        let name_end = rest.find(|letter| self.ends_name(letter))?;
        let (name, mut after) = rest.split_at(name_end);
        if self.names == Names::WithHint && after.starts_with(HINTS) {
            let hint_end = after.find(['{', '}', '\n'])?;
            after = &after[hint_end..];
        }
        let after = self.skip_spaces(after).strip_prefix(self.close)?;
        let name = self.meaning(name, names)?;
        Some(FoundName { name, after })
    }

    /// Returns a text without the spaces at its beginning, if spaces may surround a name.
    fn skip_spaces<'b>(&self, text: &'b str) -> &'b str {
        if self.names == Names::Spaced {
            text.trim_start_matches(SPACES)
        } else {
            text
        }
    }

    /// Returns whether a name that something closes ends before this character.
    fn ends_name(&self, letter: char) -> bool {
        letter.is_whitespace()
            || "{}<>".contains(letter)
            || (self.names == Names::WithHint && HINTS.contains(&letter))
    }

    /// Finds the name after a `$`, which nothing closes: the longest one that has a meaning.
    ///
    /// - `name-x` is the argument `name-x` or, if there is none, `name` with the text `-x`.
    /// - `12` is the argument `1` with the text `2`, because such names have one digit.
    /// - `ARGUMENTS[0]` is text, because other programs replace it with a single word.
    fn find_bare_name<'b>(&self, rest: &'b str, names: &BTreeSet<&str>) -> Option<FoundName<'b>> {
        if self.input == Some("") {
            return Some(FoundName {
                name: INPUT,
                after: rest,
            });
        }
        if rest.starts_with(|first: char| first.is_ascii_digit()) {
            let (name, after) = rest.split_at(1);
            return self
                .is_argument(name, names)
                .then_some(FoundName { name, after });
        }
        let mut candidate = &rest[..rest.find(ends_word).unwrap_or(rest.len())];
        while !candidate.is_empty() {
            let after = &rest[candidate.len()..];
            if let Some(name) = self.meaning(candidate, names)
                && !begins_with_index(after)
            {
                return Some(FoundName { name, after });
            }
            candidate = match candidate.rsplit_once('-') {
                Some((shorter, _)) => shorter,
                None => "",
            };
        }
        self.find_arguments_prefix(rest)
    }

    /// Finds `ARGUMENTS` at the beginning of a longer word, such as `ARGUMENTS_notes`: other
    /// systems replace it wherever it stands.
    fn find_arguments_prefix<'b>(&self, rest: &'b str) -> Option<FoundName<'b>> {
        let after = rest.strip_prefix("ARGUMENTS")?;
        let is_input = self.input == Some("ARGUMENTS") && !begins_with_index(after);
        is_input.then_some(FoundName { name: INPUT, after })
    }
}

/// Returns whether a name after a `$` ends before this character.
fn ends_word(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_' && letter != '-'
}

/// Returns whether a text begins with an index, such as `[0]`.
fn begins_with_index(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[') else {
        return false;
    };
    let after = inside.trim_start_matches(|letter: char| letter.is_ascii_digit());
    after.len() < inside.len() && after.starts_with(']')
}
