//! Message templates: message bodies parsed into text and placeholders, once, so that they can be
//! expanded many times.
//!
//! - A placeholder refers to the input or to a declared argument. Each file format defines its own
//!   notation in a [`PlaceholderSyntax`]. Our own format accepts `{{name}}`, `{{{name}}}`,
//!   `<<name>>` and `$ARGUMENTS`. Everything else is plain text, including `<<<input>>>`.
//! - A backslash before a placeholder escapes it; the backslash is removed.
//! - Expansion is a single pass: inserted values are never scanned for placeholders, escaped,
//!   trimmed or executed.

use super::diagnostic::{Position, PositionCursor};
use super::jinja::{ParsedTemplate, Template, TemplateError};
use super::message::{Piece, Role};
use super::placeholder::{DeclaredNames, FoundName};
pub use super::placeholder::{INPUT, Placeholder};
use super::shell_parameter;
use std::ops::Range;

/// A message of a prompt, parsed into text and placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTemplate {
    /// The author of the message.
    pub role: Role,
    /// Text that is inserted before the body and isn't part of the file; usually empty.
    preamble: String,
    body: String,
    position: BodyPosition,
    /// The body's text and placeholders, in order. For a Jinja template, only the placeholders.
    segments: Vec<Segment>,
    /// The compiled template if the body uses Jinja; it is rendered instead of the segments.
    jinja: Option<Template>,
}

/// The location of a message body in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyPosition {
    /// The position of the body's first character.
    start: Position,
    /// Whether the file contains the body verbatim. If not, every offset maps to `start`.
    is_verbatim: bool,
}

impl BodyPosition {
    /// Returns the position of a verbatim body whose first line is `line`.
    pub(super) fn at_line(line: usize) -> BodyPosition {
        BodyPosition {
            start: Position::at_line(line),
            is_verbatim: true,
        }
    }

    /// Locates a body inside the value that starts at byte `value_start` of the file.
    ///
    /// If escape sequences in the value prevent a verbatim match, the whole body maps to the start
    /// of the value.
    pub(super) fn in_value(file_text: &str, value_start: usize, body: &str) -> BodyPosition {
        let offset = file_text[value_start..].find(body);
        BodyPosition {
            start: Position::in_file_text(file_text, value_start + offset.unwrap_or(0)),
            is_verbatim: offset.is_some(),
        }
    }

    /// Returns the position of a body that was generated from the file, starting at `line`. Since
    /// its columns and later lines don't match the file, the whole body maps to the start of
    /// `line`.
    pub(super) fn derived_at_line(line: usize) -> BodyPosition {
        BodyPosition {
            is_verbatim: false,
            ..BodyPosition::at_line(line)
        }
    }

    /// Returns a cursor that converts byte offsets in `body` to positions in the file.
    pub(super) fn position_cursor(self, body: &str) -> PositionCursor<'_> {
        // With no text to count in, the cursor reports `start` for every offset.
        let text = if self.is_verbatim { body } else { "" };
        PositionCursor::starting_at(text, self.start)
    }
}

/// A piece of a body: a byte range of text, or a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Text(Range<usize>),
    Placeholder(Placeholder),
}

/// The placeholder notation of a file format.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlaceholderSyntax {
    /// The accepted forms; the first match wins. The preferred form for new placeholders is last.
    pub(super) forms: &'static [PlaceholderForm],
    /// A form for the input that is recognized only if no message refers to the input in another
    /// form.
    pub(super) fallback: Option<PlaceholderForm>,
    /// How a placeholder is escaped.
    pub(super) escape: Escape,
}

/// One way to write a placeholder: `open`, then a name, then `close`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlaceholderForm {
    /// The opening delimiter, e.g. `{{` or `$`.
    pub(super) open: &'static str,
    /// The closing delimiter. If empty, the name extends to the first character that can't be part
    /// of a name.
    pub(super) close: &'static str,
    /// The name that refers to the input: `input` in `{{input}}`. It is `None` if this form can't
    /// refer to the input.
    pub(super) input_name: Option<&'static str>,
    /// How an argument may be named in this form.
    pub(super) arguments: ArgumentNames,
    /// Whether a longer run of braces may contain `open`. If so, the placeholder in `{{{name}}}`
    /// starts at the second brace, because the format's own program replaces `{{name}}` wherever it
    /// occurs. Otherwise, the run must be exactly as long as `open`.
    pub(super) matches_in_longer_run: bool,
}

/// How a [`PlaceholderForm`] may name an argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ArgumentNames {
    /// Not at all: the form is only for the input.
    None,
    /// By the exact name of a declared argument.
    Exact,
    /// By the name of a declared argument, optionally surrounded by spaces.
    Spaced,
    /// By the name of a declared argument, optionally followed by `:hint` or `|default`.
    WithHint,
    /// By a name of one digit, as in `$1`: in `$12`, the `2` is text.
    Digit,
    /// By its number among the declared arguments, counted from 0: `$1` and `$ARGUMENTS[1]` are the
    /// second one.
    Index,
    /// As pi does it: by its number, counted from 1, with a default or as a slice. Examples are
    /// `$1`, `${1:-default}`, `${@:2}` and `${@:2:3}`.
    Shell,
}

/// How a file format escapes placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// Placeholders can't be escaped.
    None,
    /// A backslash before a placeholder, as in `\{{name}}`.
    Backslash,
    /// A backslash before a placeholder, or before `$1` or `$ARGUMENTS[1]`, which Claude Code would
    /// replace even where they are text here.
    BackslashAndDigit,
    /// `$$` stands for `$`.
    Dollar,
}

pub(super) const TWO_BRACES: PlaceholderForm = PlaceholderForm {
    open: "{{",
    close: "}}",
    input_name: Some(INPUT),
    arguments: ArgumentNames::Spaced,
    matches_in_longer_run: false,
};
pub(super) const THREE_BRACES: PlaceholderForm = PlaceholderForm {
    open: "{{{",
    close: "}}}",
    ..TWO_BRACES
};
pub(super) const TWO_ANGLES: PlaceholderForm = PlaceholderForm {
    open: "<<",
    close: ">>",
    ..TWO_BRACES
};
pub(super) const ARGUMENTS: PlaceholderForm = PlaceholderForm {
    open: "$",
    close: "",
    input_name: Some("ARGUMENTS"),
    arguments: ArgumentNames::None,
    matches_in_longer_run: false,
};

impl PlaceholderSyntax {
    /// The placeholder syntax of our own file format.
    pub(super) const OWN: PlaceholderSyntax = PlaceholderSyntax {
        forms: &[TWO_ANGLES, THREE_BRACES, TWO_BRACES],
        fallback: Some(ARGUMENTS),
        escape: Escape::Backslash,
    };

    /// Returns a placeholder for an argument, or for the input if `name` is [`INPUT`].
    ///
    /// Uses the preferred form that can express it, or `{{name}}` if no form can.
    pub(super) fn format_placeholder(&self, name: &str) -> String {
        // The last form is the preferred one.
        for form in self.forms.iter().rev() {
            if name == INPUT {
                if let Some(input) = form.input_name {
                    return form.format_placeholder(input);
                }
            } else if form.arguments != ArgumentNames::None {
                return form.format_placeholder(name);
            }
        }
        TWO_BRACES.format_placeholder(name)
    }
}

impl MessageTemplate {
    /// Parses a user message.
    ///
    /// `first_line` is the line of the file where the body starts. `names` are the declared
    /// arguments; they contain no spaces, braces or angle brackets.
    pub(super) fn parse<'n>(
        syntax: &PlaceholderSyntax,
        body: impl Into<String>,
        first_line: usize,
        names: impl IntoIterator<Item = &'n str>,
    ) -> MessageTemplate {
        let mut template =
            MessageTemplate::new(Role::User, body.into(), BodyPosition::at_line(first_line));
        MessageTemplate::parse_placeholders(syntax, std::slice::from_mut(&mut template), names);
        template
    }

    /// Creates a message whose placeholders haven't been parsed;
    /// [`MessageTemplate::parse_placeholders`] does that.
    pub(super) fn new(role: Role, body: String, position: BodyPosition) -> MessageTemplate {
        MessageTemplate {
            role,
            preamble: String::new(),
            body,
            position,
            segments: Vec::new(),
            jinja: None,
        }
    }

    /// Parses the placeholders in all messages of a prompt. `names` are the declared arguments.
    ///
    /// The fallback form, such as `$ARGUMENTS`, is recognized only if no message has another
    /// placeholder for the input. That is why the messages are parsed together.
    pub(super) fn parse_placeholders<'n>(
        syntax: &PlaceholderSyntax,
        messages: &mut [MessageTemplate],
        names: impl IntoIterator<Item = &'n str>,
    ) {
        let names: DeclaredNames = names.into_iter().collect();
        let mut has_input = false;
        for message in &mut *messages {
            message.segments = split(&message.body, &names, syntax, NO_FALLBACK);
            has_input |= message
                .placeholders()
                .any(|placeholder| placeholder.name == INPUT);
        }
        if !has_input && syntax.fallback.is_some() {
            // Split everything again, because the fallback can also occur in what was text before.
            for message in messages {
                message.segments = split(&message.body, &names, syntax, syntax.fallback.as_ref());
            }
        }
    }

    /// Treats the body as a Jinja template. The names used in its tags replace the placeholders
    /// parsed so far.
    ///
    /// # Errors
    /// Returns the errors that [`Template::parse`] finds.
    pub(super) fn set_jinja(&mut self, names: &[&str]) -> Result<(), Vec<TemplateError>> {
        let ParsedTemplate {
            template,
            placeholders,
        } = Template::parse(&self.body, names)?;
        self.segments = placeholders.into_iter().map(Segment::Placeholder).collect();
        self.jinja = Some(template);
        Ok(())
    }

    /// Returns the compiled template if the body uses Jinja.
    pub(super) fn jinja(&self) -> Option<&Template> {
        self.jinja.as_ref()
    }

    /// Sets the text to insert before the body.
    pub(super) fn set_preamble(&mut self, text: String) {
        self.preamble = text;
    }

    /// Returns the body as written in the file, except that line endings are `\n` and blank lines
    /// at the start and end are removed.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the line of the file where the body starts.
    pub fn first_line(&self) -> usize {
        self.position.start.line
    }

    /// Returns a cursor that converts byte offsets in the body to positions in the file.
    pub(super) fn position_cursor(&self) -> PositionCursor<'_> {
        self.position.position_cursor(&self.body)
    }

    /// Returns the placeholders in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder(placeholder) => Some(placeholder),
            Segment::Text(_) => None,
        })
    }

    /// Returns a placeholder as written in the file, e.g. `{{ name }}`.
    pub fn source_text(&self, placeholder: &Placeholder) -> &str {
        &self.body[placeholder.range.clone()]
    }

    /// Returns the byte offsets of escaped placeholders in order, not counting the escape
    /// character: 1 for `\{{x}}` and for `$$1`.
    pub(super) fn escaped_offsets(&self) -> Vec<usize> {
        let mut escaped_offsets = Vec::new();
        if self.jinja.is_some() {
            return escaped_offsets;
        }
        // Segments are contiguous except that the escape character before an escaped placeholder
        // belongs to none, so every gap marks one.
        let mut end = 0;
        for segment in &self.segments {
            let (Segment::Text(range) | Segment::Placeholder(Placeholder { range, .. })) = segment;
            if range.start > end {
                escaped_offsets.push(range.start);
            }
            end = range.end;
        }
        escaped_offsets
    }

    /// Returns the preamble and the body as pieces, in order. `value_of` returns the value of a
    /// placeholder. If it is empty, the placeholder's own default replaces it.
    pub(super) fn pieces<'t>(
        &'t self,
        value_of: impl Fn(&'t Placeholder) -> Piece<'t>,
    ) -> impl Iterator<Item = Piece<'t>> {
        let segments = self.segments.iter().map(move |segment| match segment {
            Segment::Text(range) => Piece::Text(&self.body[range.clone()]),
            Segment::Placeholder(placeholder) => {
                let value = value_of(placeholder);
                match &placeholder.default {
                    Some(default) if value.as_str().is_empty() => {
                        Piece::Text(&self.body[default.clone()])
                    }
                    _ => value,
                }
            }
        });
        std::iter::once(Piece::Text(&self.preamble)).chain(segments)
    }
}

/// Returns the byte offsets of all placeholders in a body in our own format, whether escaped or
/// not: 3 and 12 for `Do {{a}} or \{{a}}` and the argument `a`.
///
/// If `has_input` is false, that is, if no message of the prompt contains `{{input}}`, `$ARGUMENTS`
/// counts as a placeholder too.
pub(super) fn escaped_or_placeholder_offsets<'n>(
    body: &str,
    names: impl IntoIterator<Item = &'n str>,
    has_input: bool,
) -> Vec<usize> {
    let names: DeclaredNames = names.into_iter().collect();
    let syntax = &PlaceholderSyntax::OWN;
    let fallback = if has_input {
        NO_FALLBACK
    } else {
        syntax.fallback.as_ref()
    };
    let mut template = MessageTemplate::new(Role::User, body.to_owned(), BodyPosition::at_line(1));
    template.segments = split(body, &names, syntax, fallback);
    let mut offsets = template.escaped_offsets();
    for placeholder in template.placeholders() {
        offsets.push(placeholder.range.start);
    }
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Makes [`split`] recognize only the main forms.
const NO_FALLBACK: Option<&PlaceholderForm> = None;

/// Splits a body into text and placeholders: `Do {{input}}.` becomes the text `Do `, the
/// placeholder `input`, and the text `.`.
///
/// `fallback` is an additional form to recognize, tried after the others. Placeholders don't nest:
/// in `${input:a:{{b}}`, `{{b}}` isn't a placeholder of its own.
fn split(
    body: &str,
    names: &DeclaredNames,
    syntax: &PlaceholderSyntax,
    fallback: Option<&PlaceholderForm>,
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
    for opening in delimiter_runs(body) {
        let is_inside_placeholder = opening.start < splitter.text_start;
        if !is_inside_placeholder {
            splitter.add_opening(&opening);
        }
    }
    splitter.end_text(body.len(), body.len());
    splitter.segments
}

/// Splits a body into segments, from start to end.
struct Splitter<'s> {
    body: &'s str,
    /// The names of the declared arguments.
    names: &'s DeclaredNames<'s>,
    syntax: &'s PlaceholderSyntax,
    /// An additional form to recognize.
    fallback: Option<&'s PlaceholderForm>,
    segments: Vec<Segment>,
    /// The offset where the current text starts: after the last placeholder or removed escape
    /// character. `segments` covers everything before it.
    text_start: usize,
    /// The offset of the most recent escaped opening.
    last_escaped: Option<usize>,
}

/// What an opening delimiter in a body means.
enum OpeningMeaning {
    /// It is plain text, and the character before it is removed.
    Escaped,
    /// It starts this placeholder.
    Placeholder(Placeholder),
    /// It is plain text.
    Text,
}

impl Splitter<'_> {
    /// Handles an opening delimiter such as `{{`: adds the placeholder that starts there and the
    /// text before it, or removes the character that escapes the opening.
    fn add_opening(&mut self, opening: &Range<usize>) {
        match self.meaning_of(opening) {
            OpeningMeaning::Escaped => {
                // Both escape characters, `\` and `$`, are one byte long.
                self.end_text(opening.start - 1, opening.start);
                self.last_escaped = Some(opening.start);
            }
            OpeningMeaning::Placeholder(placeholder) => {
                self.end_text(placeholder.range.start, placeholder.range.end);
                self.segments.push(Segment::Placeholder(placeholder));
            }
            // The current text continues, and includes the opening.
            OpeningMeaning::Text => {}
        }
    }

    /// Determines what an opening means. The character before it may escape it, as in `\{{x}}`,
    /// `\$1` or `$$`; a backslash that doesn't precede a placeholder is an ordinary character.
    fn meaning_of(&self, opening: &Range<usize>) -> OpeningMeaning {
        let placeholder = self.placeholder_at(opening);
        let follows_backslash = self.is_preceded_by(b'\\', opening.start);
        let is_escaped = match self.syntax.escape {
            Escape::None => false,
            Escape::Backslash => follows_backslash && placeholder.is_some(),
            Escape::BackslashAndDigit => {
                follows_backslash && (placeholder.is_some() || self.is_word_or_input(opening.start))
            }
            Escape::Dollar => self.is_end_of_double_dollar(opening.start),
        };
        if is_escaped {
            return OpeningMeaning::Escaped;
        }
        match placeholder {
            Some(placeholder) => OpeningMeaning::Placeholder(placeholder),
            None => OpeningMeaning::Text,
        }
    }

    /// Returns whether an opening is the `$` of `$1` or `$ARGUMENTS`. Claude Code replaces these in
    /// every file, but here they can be text.
    fn is_word_or_input(&self, opening_start: usize) -> bool {
        let Some(after) = self.body[opening_start..].strip_prefix('$') else {
            return false;
        };
        after.starts_with(|first: char| first.is_ascii_digit()) || after.starts_with("ARGUMENTS")
    }

    /// Returns whether an opening is the second `$` of `$$`, which never starts a placeholder.
    fn is_end_of_double_dollar(&self, opening_start: usize) -> bool {
        self.body.as_bytes()[opening_start] == b'$' && self.is_preceded_by(b'$', opening_start)
    }

    /// Returns whether `byte` directly precedes the offset `opening_start`. A byte that belongs to
    /// a placeholder or is itself escaped doesn't count: in `$$$`, the second `$` is preceded by a
    /// `$`, but the third isn't.
    fn is_preceded_by(&self, byte: u8, opening_start: usize) -> bool {
        opening_start > self.text_start
            && self.body.as_bytes()[opening_start - 1] == byte
            && self.last_escaped != Some(opening_start - 1)
    }

    /// Returns the placeholder that starts at an opening, in the first form that matches.
    fn placeholder_at(&self, opening: &Range<usize>) -> Option<Placeholder> {
        // Checked in every format: `$$1` is plain text even where `$$` isn't an escape.
        if self.is_end_of_double_dollar(opening.start) {
            return None;
        }
        let mut forms = self.syntax.forms.iter().chain(self.fallback);
        forms.find_map(|form| form.placeholder_at(self.body, opening, self.names))
    }

    /// Adds the text from `text_start` up to the offset `end`, unless it is empty. The next text
    /// starts at `next_start`; what lies in between is a placeholder or a removed escape character.
    fn end_text(&mut self, end: usize, next_start: usize) {
        if self.text_start < end {
            self.segments.push(Segment::Text(self.text_start..end));
        }
        self.text_start = next_start;
    }
}

/// A `{{`, `{{{` or `<<` in a body.
pub(super) struct Opening {
    /// The whole opening.
    pub(super) range: Range<usize>,
    /// The matching closing delimiter, e.g. `}}`.
    pub(super) close: &'static str,
}

/// Returns the openings `{{`, `{{{` and `<<` in a body, in order. Other runs are skipped, because
/// in our own format nothing is ever replaced inside them.
pub(super) fn openings(body: &str) -> impl Iterator<Item = Opening> {
    delimiter_runs(body).filter_map(|range| {
        let close = match &body[range.clone()] {
            "{{" => "}}",
            "{{{" => "}}}",
            "<<" => ">>",
            _ => return None,
        };
        Some(Opening { range, close })
    })
}

/// Returns the byte ranges where a placeholder may start, in order: each whole run of `{` or `<`,
/// such as `{{`, and each `$`.
fn delimiter_runs(body: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = body.as_bytes();
    let mut search_start = 0;
    std::iter::from_fn(move || {
        let start = search_start + memchr::memchr3(b'{', b'<', b'$', &bytes[search_start..])?;
        let length = match bytes[start] {
            b'$' => 1,
            first => bytes[start..]
                .iter()
                .take_while(|byte| **byte == first)
                .count(),
        };
        search_start = start + length;
        Some(start..search_start)
    })
}

/// The characters that separate the name from a hint or default in `${input:name:hint}` and
/// `${input:name|default}`.
pub(super) const HINT_SEPARATORS: [char; 2] = [':', '|'];

/// The whitespace allowed between a delimiter and the name.
pub(super) const INNER_SPACES: [char; 2] = [' ', '\t'];

impl PlaceholderForm {
    /// Returns a placeholder in this form, e.g. `{{name}}`.
    fn format_placeholder(&self, name: &str) -> String {
        format!("{}{name}{}", self.open, self.close)
    }

    /// Returns the placeholder in this form that starts at an opening of the body.
    fn placeholder_at<'b>(
        &self,
        body: &'b str,
        opening: &Range<usize>,
        names: &DeclaredNames<'b>,
    ) -> Option<Placeholder> {
        let start = self.start_within(opening)?;
        let rest = body[start..].strip_prefix(self.open)?;
        let found = match self.arguments {
            ArgumentNames::Digit => parse_digit(rest, names)?,
            ArgumentNames::Index => self.parse_index(rest, names)?,
            ArgumentNames::Shell => shell_parameter::parse(rest, names)?,
            ArgumentNames::None
            | ArgumentNames::Exact
            | ArgumentNames::Spaced
            | ArgumentNames::WithHint => self.parse_name(rest, names)?,
        };
        let end = body.len() - found.after.len();
        let default = found.default.map(|default| {
            // It ends before the closing brace, as in `${1:-HEAD}`.
            let default_end = end - "}".len();
            default_end - default.len()..default_end
        });
        Some(Placeholder {
            extent: found.extent,
            default,
            ..Placeholder::new(found.name, start..end)
        })
    }

    /// Returns the offset at which a placeholder in this form can start within an opening, which is
    /// a run of braces or angle brackets, or the single character `$`. Returns `None` if the run is
    /// too short or too long for this form.
    fn start_within(&self, opening: &Range<usize>) -> Option<usize> {
        if self.matches_in_longer_run {
            if opening.len() < self.open.len() {
                return None;
            }
            // The last braces of the run belong to the placeholder.
            return Some(opening.end - self.open.len());
        }
        // Of a delimiter such as `${input:`, the opening covers only the `$`.
        let can_match = self.open.starts_with('$') || opening.len() == self.open.len();
        can_match.then_some(opening.start)
    }

    /// Resolves a name in a placeholder: returns the name itself if it is a declared argument,
    /// [`INPUT`] if it refers to the input, and `None` otherwise.
    ///
    /// A declared argument takes precedence over the input.
    fn resolve<'b>(&self, name: &'b str, names: &DeclaredNames) -> Option<&'b str> {
        if self.is_argument(name, names) {
            Some(name)
        } else if self.input_name == Some(name) {
            Some(INPUT)
        } else {
            None
        }
    }

    /// Returns whether this form can refer to an argument and `name` is a declared one.
    fn is_argument(&self, name: &str, names: &DeclaredNames) -> bool {
        self.arguments != ArgumentNames::None && names.sorted.contains(name)
    }

    /// Parses the name of an argument or of the input at the start of `rest`, and the closing
    /// delimiter if the form has one.
    fn parse_name<'b>(&self, rest: &'b str, names: &DeclaredNames) -> Option<FoundName<'b>> {
        if self.close.is_empty() {
            self.parse_unclosed_name(rest, names)
        } else {
            self.parse_closed_name(rest, names)
        }
    }

    /// Parses a name and the closing delimiter, e.g. `name}}` or `name:hint}}`, at the start of
    /// `rest`.
    fn parse_closed_name<'b>(&self, rest: &'b str, names: &DeclaredNames) -> Option<FoundName<'b>> {
        let rest = self.skip_spaces(rest);
        let name_end = rest.find(|letter| self.ends_closed_name(letter))?;
        let (name, mut after_name) = rest.split_at(name_end);
        if self.arguments == ArgumentNames::WithHint && after_name.starts_with(HINT_SEPARATORS) {
            let hint_end = after_name.find(['{', '}', '\n'])?;
            after_name = &after_name[hint_end..];
        }
        let after = self.skip_spaces(after_name).strip_prefix(self.close)?;
        let name = self.resolve(name, names)?;
        Some(FoundName::new(name, after))
    }

    /// Skips leading spaces if the form allows them around a name.
    fn skip_spaces<'b>(&self, text: &'b str) -> &'b str {
        if self.arguments == ArgumentNames::Spaced {
            text.trim_start_matches(INNER_SPACES)
        } else {
            text
        }
    }

    /// Returns whether a name in delimiters ends before this character.
    fn ends_closed_name(&self, letter: char) -> bool {
        letter.is_whitespace()
            || "{}<>".contains(letter)
            || (self.arguments == ArgumentNames::WithHint && HINT_SEPARATORS.contains(&letter))
    }

    /// Parses the name after a `$`, without a closing delimiter: the longest one that resolves.
    ///
    /// - `name-x` is the argument `name-x` if declared, otherwise `name` followed by the text `-x`.
    /// - `ARGUMENTS[0]` is plain text, because other programs replace it with a single word.
    fn parse_unclosed_name<'b>(
        &self,
        rest: &'b str,
        names: &DeclaredNames,
    ) -> Option<FoundName<'b>> {
        if rest.starts_with(|first: char| first.is_ascii_digit()) {
            return None; // Words such as `$1` have forms of their own.
        }
        let mut candidate = &rest[..rest.find(ends_unclosed_name).unwrap_or(rest.len())];
        while !candidate.is_empty() {
            let after = &rest[candidate.len()..];
            if let Some(name) = self.resolve(candidate, names)
                && !starts_with_index(after)
            {
                return Some(FoundName::new(name, after));
            }
            // Try again without the part after the last hyphen.
            candidate = match candidate.rsplit_once('-') {
                Some((shorter, _)) => shorter,
                None => "",
            };
        }
        self.parse_arguments_prefix(rest)
    }

    /// Parses `ARGUMENTS` at the start of a longer word such as `ARGUMENTS_notes`, because other
    /// programs replace it wherever it occurs.
    fn parse_arguments_prefix<'b>(&self, rest: &'b str) -> Option<FoundName<'b>> {
        let after = rest.strip_prefix("ARGUMENTS")?;
        let is_input = self.input_name == Some("ARGUMENTS") && !starts_with_index(after);
        is_input.then_some(FoundName::new(INPUT, after))
    }

    /// Parses the number of a declared argument, counted from 0, and the closing delimiter: `1` of
    /// `$1`, or `1]` of `$ARGUMENTS[1]`.
    ///
    /// Without a closing delimiter, no letter may follow: `$1st` is text.
    fn parse_index<'b>(&self, rest: &'b str, names: &DeclaredNames<'b>) -> Option<FoundName<'b>> {
        let after_number = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let number = &rest[..rest.len() - after_number.len()];
        let after = after_number.strip_prefix(self.close)?;
        if self.close.is_empty() && after.starts_with(is_word_character) {
            return None;
        }
        let index: usize = number.parse().ok()?;
        let name = names.in_order.get(index)?;
        Some(FoundName::new(name, after))
    }
}

/// Parses a name of one digit: `1` at the start of `12`.
fn parse_digit<'b>(rest: &'b str, names: &DeclaredNames) -> Option<FoundName<'b>> {
    let (name, after) = rest.split_at_checked(1)?;
    let is_digit = name.starts_with(|first: char| first.is_ascii_digit());
    (is_digit && names.sorted.contains(name)).then_some(FoundName::new(name, after))
}

/// Returns whether Claude Code takes this character for a part of the word before it.
fn is_word_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns whether a name after a `$` ends before this character.
fn ends_unclosed_name(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_' && letter != '-'
}

/// Returns whether `text` starts with an index, such as `[0]`.
fn starts_with_index(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[') else {
        return false;
    };
    let after = inside.trim_start_matches(|letter: char| letter.is_ascii_digit());
    after.len() < inside.len() && after.starts_with(']')
}
