//! One message of a prompt as text and placeholders: parsed once, expanded many times.
//!
//! - A placeholder stands for the input or for a declared argument. How it is written is data of
//!   the format, a [`Syntax`]: `{{name}}`, `{{{name}}}`, `<<name>>` and `$ARGUMENTS` in this
//!   program's own. Everything else is text, `<<<input>>>` too.
//! - A backslash before a placeholder makes it text; the backslash is dropped.
//! - There is one pass. A value is never scanned; nothing is escaped, trimmed or executed.

use super::diagnostic::{Position, Positions};
use super::jinja::{Mistake, Template};
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
    place: Place,
    parts: Vec<Part>,
    jinja: Option<Template>,
}

/// Where a body is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Of its first character.
    start: Position,
    /// Whether the file has it as it is. If not, only `start` is known of it.
    is_verbatim: bool,
}

impl Place {
    /// A body that begins in this line.
    pub(super) fn at_line(line: usize) -> Place {
        Place {
            start: Position { line, column: 1 },
            is_verbatim: true,
        }
    }

    /// A body that was read from a value, which begins at the byte `value` of `file`.
    pub(super) fn in_value(file: &str, value: usize, body: &str) -> Place {
        let found = file[value..].find(body);
        let start = Position::in_text(file, value + found.unwrap_or(0), 1);
        Place {
            start,
            is_verbatim: found.is_some(),
        }
    }

    /// A body that is not in the file as it is; it begins in this line.
    pub(super) fn made_at_line(line: usize) -> Place {
        Place {
            is_verbatim: false,
            ..Place::at_line(line)
        }
    }

    pub(super) fn positions(self, body: &str) -> Positions<'_> {
        Positions::from(if self.is_verbatim { body } else { "" }, self.start)
    }
}

/// A range of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Range<usize>),
    Placeholder(Placeholder),
}

/// How the placeholders of a format are written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Syntax {
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

impl Syntax {
    /// The syntax of this program.
    pub(super) const OWN: Syntax = Syntax {
        marks: &[TWO_ANGLES, THREE_BRACES, TWO_BRACES],
        fallback: Some(ARGUMENTS),
        escape: Escape::Backslash,
    };

    /// The placeholder of this name, as a person may write it.
    pub(super) fn write(&self, name: &str) -> String {
        let is_input = name == INPUT;
        let fits = |mark: &&Mark| {
            if is_input {
                mark.input.is_some()
            } else {
                mark.names != Names::None
            }
        };
        let mark = self.marks.iter().rfind(fits).unwrap_or(&TWO_BRACES);
        format!(
            "{}{}{}",
            mark.open,
            mark.input.filter(|_| is_input).unwrap_or(name),
            mark.close
        )
    }
}

impl MessageTemplate {
    /// A message of the user. `body` begins in the line `first_line` of the file; `names` are those
    /// of the declared arguments, which have no spaces, braces or angle brackets.
    pub(super) fn parse<'n>(
        syntax: &Syntax,
        body: impl Into<String>,
        first_line: usize,
        names: impl IntoIterator<Item = &'n str>,
    ) -> MessageTemplate {
        let mut template =
            MessageTemplate::new(Role::User, body.into(), Place::at_line(first_line));
        MessageTemplate::find_placeholders(syntax, std::slice::from_mut(&mut template), names);
        template
    }

    /// A message in which no placeholder has been found yet.
    pub(super) fn new(role: Role, body: String, place: Place) -> MessageTemplate {
        MessageTemplate {
            role,
            preamble: String::new(),
            body,
            place,
            parts: Vec::new(),
            jinja: None,
        }
    }

    /// Finds the placeholders in all messages of a prompt; see [`MessageTemplate::parse`].
    pub(super) fn find_placeholders<'n>(
        syntax: &Syntax,
        messages: &mut [MessageTemplate],
        names: impl IntoIterator<Item = &'n str>,
    ) {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut find = |more: Option<&Mark>| {
            for message in &mut *messages {
                message.parts = split(&message.body, &names, syntax, more);
            }
            messages
                .iter()
                .flat_map(MessageTemplate::placeholders)
                .any(|placeholder| placeholder.name == INPUT)
        };
        if !find(None) && syntax.fallback.is_some() {
            find(syntax.fallback.as_ref());
        }
    }

    /// Makes the body a template of Jinja, whose placeholders are the names in its tags.
    ///
    /// # Errors
    /// See [`Template::parse`].
    pub(super) fn set_jinja(&mut self, names: &[&str]) -> Result<(), Vec<Mistake>> {
        let (template, placeholders) = Template::parse(&self.body, names)?;
        self.parts = placeholders.into_iter().map(Part::Placeholder).collect();
        self.jinja = Some(template);
        Ok(())
    }

    /// The template of Jinja, if it is one.
    pub(super) fn jinja(&self) -> Option<&Template> {
        self.jinja.as_ref()
    }

    /// Puts a text before the body.
    pub(super) fn set_preamble(&mut self, text: String) {
        self.preamble = text;
    }

    /// The text as written in the file, but with `\n` line endings and without empty lines at its
    /// start and end.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The line of the file in which the body begins.
    pub fn first_line(&self) -> usize {
        self.place.start.line
    }

    /// The positions in the file of bytes of the body.
    pub(super) fn positions(&self) -> Positions<'_> {
        self.place.positions(&self.body)
    }

    /// The placeholders, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }

    /// A placeholder as written.
    pub fn written(&self, placeholder: &Placeholder) -> &str {
        &self.body[placeholder.range.clone()]
    }

    /// Where a backslash, or a `$` before another, has made a placeholder text: the byte of its
    /// first character, in the order of the text.
    pub(super) fn escaped(&self) -> impl Iterator<Item = usize> {
        // Nothing but what was dropped is between two parts.
        let mut end = 0;
        let parts = if self.jinja.is_some() {
            &[]
        } else {
            self.parts.as_slice()
        };
        parts.iter().filter_map(move |part| {
            let (Part::Text(range) | Part::Placeholder(Placeholder { range, .. })) = part;
            let is_after_dropped = range.start > end;
            end = range.end;
            is_after_dropped.then_some(range.start)
        })
    }

    /// The text before the body, and the body, in pieces that follow each other without anything
    /// between them. `value` gives the value of each placeholder's name.
    pub(super) fn pieces<'t>(
        &'t self,
        value: impl Fn(&'t str) -> Piece<'t>,
    ) -> impl Iterator<Item = Piece<'t>> {
        let parts = self.parts.iter().map(move |part| match part {
            Part::Text(range) => Piece::Text(&self.body[range.clone()]),
            Part::Placeholder(placeholder) => value(&placeholder.name),
        });
        std::iter::once(Piece::Text(&self.preamble)).chain(parts)
    }
}

/// The bytes of a body for this program at which a placeholder begins, with or without a backslash
/// before it. `has_input` is whether a placeholder such as `{{input}}` stands for the input
/// somewhere in the prompt.
pub(super) fn marks_in(body: &str, names: &BTreeSet<&str>, has_input: bool) -> Vec<usize> {
    let mut template = MessageTemplate::new(Role::User, body.to_owned(), Place::at_line(1));
    template.parts = split(
        body,
        names,
        &Syntax::OWN,
        Syntax::OWN.fallback.as_ref().filter(|_| !has_input),
    );
    let mut marks: Vec<usize> = template
        .placeholders()
        .map(|placeholder| placeholder.range.start)
        .collect();
    marks.extend(template.escaped());
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// The parts of a body. `more` is a mark besides those of the syntax.
fn split(body: &str, names: &BTreeSet<&str>, syntax: &Syntax, more: Option<&Mark>) -> Vec<Part> {
    let bytes = body.as_bytes();
    let mut parts = Vec::new();
    let mut text_start = 0; // of the text that is not in `parts` yet
    let mut escaped = None;
    for Opening { range, .. } in runs(body) {
        let open = range.start;
        if open < text_start {
            continue; // inside a placeholder
        }
        let is_after =
            |byte: u8| open > text_start && bytes[open - 1] == byte && escaped != Some(open - 1);
        let is_second_dollar = bytes[open] == b'$' && is_after(b'$');
        let mut marks = syntax
            .marks
            .iter()
            .chain(more)
            .filter(|_| !is_second_dollar);
        let found = marks.find_map(|mark| mark.placeholder(body, &range, names));
        let is_digit = bytes[open] == b'$' && bytes.get(open + 1).is_some_and(u8::is_ascii_digit);
        let is_escaped = match syntax.escape {
            Escape::None => false,
            Escape::Backslash => found.is_some() && is_after(b'\\'),
            Escape::BackslashAndDigit => (found.is_some() || is_digit) && is_after(b'\\'),
            Escape::Dollar => is_second_dollar,
        };
        let start = found
            .as_ref()
            .map_or(open, |placeholder| placeholder.range.start);
        let text_end = if is_escaped { open - 1 } else { start };
        if is_escaped || found.is_some() {
            if text_start < text_end {
                parts.push(Part::Text(text_start..text_end));
            }
            text_start = open;
        }
        escaped = is_escaped.then_some(open).or(escaped);
        if let Some(placeholder) = found.filter(|_| !is_escaped) {
            text_start = placeholder.range.end;
            parts.push(Part::Placeholder(placeholder));
        }
    }
    if text_start < body.len() {
        parts.push(Part::Text(text_start..body.len()));
    }
    parts
}

/// A run of `{` or `<`, or a `$`, with which a placeholder may begin.
pub(super) struct Opening {
    /// The whole run.
    pub(super) range: Range<usize>,
    /// What closes a run of braces or angle brackets: as many `}` or `>`.
    pub(super) close: &'static str,
}

/// The openings of a body in braces or angle brackets, in their order: `{{`, `{{{` and `<<`. Longer
/// runs are text, so nothing is ever replaced within them in a file of this program.
pub(super) fn openings(body: &str) -> impl Iterator<Item = Opening> {
    runs(body).filter(|opening| !opening.close.is_empty())
}

fn runs(body: &str) -> impl Iterator<Item = Opening> {
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

impl Mark {
    /// The placeholder that begins with this run.
    fn placeholder(
        &self,
        body: &str,
        run: &Range<usize>,
        names: &BTreeSet<&str>,
    ) -> Option<Placeholder> {
        let start = match self.names {
            // The other programs look for this text anywhere: in `{{{args}}}` too.
            Names::None | Names::Declared if self.open == "{{" => {
                run.end.checked_sub(2)?.max(run.start)
            }
            _ if self.open.starts_with('$') || run.len() == self.open.len() => run.start,
            _ => return None,
        };
        let rest = body[start..].strip_prefix(self.open)?;
        let (is_input, name, rest) = if self.close.is_empty() {
            self.bare(rest, names)?
        } else {
            self.closed(rest, names)?
        };
        Some(Placeholder {
            name: if is_input { INPUT } else { name }.to_owned(),
            range: start..body.len() - rest.len(),
        })
    }

    /// Whether a name stands for the input; `None` if it stands for nothing. A declared name comes
    /// first.
    fn meaning(&self, name: &str, names: &BTreeSet<&str>) -> Option<bool> {
        let is_argument = self.names != Names::None && names.contains(name);
        (is_argument || self.input == Some(name)).then_some(!is_argument)
    }

    /// A name that `close` follows, and what follows that.
    fn closed<'b>(
        &self,
        rest: &'b str,
        names: &BTreeSet<&str>,
    ) -> Option<(bool, &'b str, &'b str)> {
        let spaces = |rest: &'b str| {
            if self.names == Names::Spaced {
                rest.trim_start_matches(SPACES)
            } else {
                rest
            }
        };
        let rest = spaces(rest);
        let is_hinted = self.names == Names::WithHint;
        let is_end = |letter: char| {
            letter.is_whitespace()
                || "{}<>".contains(letter)
                || (is_hinted && HINTS.contains(&letter))
        };
        let (name, mut after) = rest.split_at(rest.find(is_end)?);
        if is_hinted && after.starts_with(HINTS) {
            after = &after[after.find(['{', '}', '\n'])?..];
        }
        let after = spaces(after).strip_prefix(self.close)?;
        Some((self.meaning(name, names)?, name, after))
    }

    /// A name without anything that closes it, and what follows it: the longest that has a meaning.
    fn bare<'b>(&self, rest: &'b str, names: &BTreeSet<&str>) -> Option<(bool, &'b str, &'b str)> {
        if self.input == Some("") {
            return Some((true, INPUT, rest));
        }
        let is_index = |rest: &str| {
            let index = rest.strip_prefix('[').unwrap_or_default();
            let after = index.trim_start_matches(|letter: char| letter.is_ascii_digit());
            after.len() < index.len() && after.starts_with(']')
        };
        if let Some(digit) = rest
            .get(..1)
            .filter(|first| first.as_bytes()[0].is_ascii_digit())
        {
            return Some((
                self.meaning(digit, names).filter(|is_input| !is_input)?,
                digit,
                &rest[1..],
            ));
        }
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        let mut name = &rest[..rest
            .find(|letter: char| !is_word(letter))
            .unwrap_or(rest.len())];
        while !name.is_empty() {
            let after = &rest[name.len()..];
            if let Some(is_input) = self.meaning(name, names).filter(|_| !is_index(after)) {
                return Some((is_input, name, after));
            }
            name = name.rsplit_once('-').map_or("", |(shorter, _)| shorter);
        }
        // Other systems replace `$ARGUMENTS` wherever it stands, in `$ARGUMENTS_notes` too.
        let after = rest
            .strip_prefix("ARGUMENTS")
            .filter(|after| !is_index(after))?;
        (self.input == Some("ARGUMENTS")).then_some((true, INPUT, after))
    }
}
