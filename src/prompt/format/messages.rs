//! The messages of a body with `messages: true`: the lines `<!-- user -->` and `<!-- assistant -->`, which Markdown does not show, say
//! whose words follow. They are found in the file only, never in a value.

use super::markdown::{Source, without_empty_ends};
use crate::prompt::include::Origins;
use crate::prompt::template::Place;
use crate::prompt::{Diagnostic, MAX_MESSAGES, MessageTemplate, Position, Role, outline};
use crate::wording::quoted;

/// Whose words follow a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    /// Not a role of a message; the text becomes the beginning of the first message of the user.
    System,
}

const SPEAKERS: [(Speaker, &str); 3] = [
    (Speaker::User, "<!-- user -->"),
    (Speaker::Assistant, "<!-- assistant -->"),
    (Speaker::System, "<!-- system -->"),
];

/// A line that is a marker, or looks like one.
pub(super) struct Line {
    /// Of its first character.
    start: usize,
    end: usize,
    kind: Kind,
}

enum Kind {
    Marker(Speaker),
    /// A marker after a backslash, which is dropped.
    Escaped,
    /// Almost the marker that it should be.
    Misspelled(&'static str),
}

/// The messages that these [lines] divide the body into, in which no placeholder has been found yet; `None` if the
/// frontmatter does not ask for several. What looks like a mistake is added to the warnings of the source.
///
/// # Errors
/// There would be more than [`MAX_MESSAGES`].
pub(super) fn divide(source: &mut Source<'_>, lines: &[Line]) -> Result<Option<Vec<MessageTemplate>>, Diagnostic> {
    let body = &*source.body;
    let mut positions = source.place.positions(body);
    if !source.frontmatter.has_messages {
        let marker = lines.iter().find(|line| matches!(line.kind, Kind::Marker(Speaker::User | Speaker::Assistant)));
        source.lenient.extend(marker.map(|line| {
            Diagnostic::warning(
                Some(positions.at(line.start)),
                format!(
                    "{} is text, because the frontmatter has no `messages: true`",
                    quoted(body[line.start..line.end].trim())
                ),
                "write `messages: true` if it is meant to begin a message, or a backslash before it",
            )
        }));
        return Ok(None);
    }
    let (mut messages, mut of_system) = (Vec::new(), Vec::new());
    let (mut speaker, mut start) = (Speaker::User, 0);
    let mut text = String::new();
    let mut first_line = source.first_line();
    let mut finish = |speaker: Speaker, text: &mut String, first_line: usize| {
        let (body, dropped) = without_empty_ends(text);
        if !body.is_empty() {
            let role = if speaker == Speaker::Assistant { Role::Assistant } else { Role::User };
            let message = MessageTemplate::new(role, body.to_owned(), Place::at_line(first_line + dropped));
            if speaker == Speaker::System { &mut of_system } else { &mut messages }.push(message);
        }
        text.clear();
        of_system.len() + messages.len()
    };
    for line in lines {
        let position = positions.at(line.start);
        match line.kind {
            Kind::Marker(next) => {
                text += &body[start..line.start];
                if finish(speaker, &mut text, first_line) >= MAX_MESSAGES {
                    let message = format!("the prompt has more than {MAX_MESSAGES} messages");
                    return Err(Diagnostic::error(Some(position), message, "divide it among several files"));
                }
                (speaker, start, first_line) = (next, line.end, position.line + 1);
                if next == Speaker::System {
                    source.lenient.push(Diagnostic::warning(
                        Some(position),
                        "a prompt has no system messages; this text becomes the beginning of the first message of the user",
                        "write it before the first marker",
                    ));
                }
            }
            Kind::Escaped => {
                let backslash = line.start + body[line.start..].find('\\').unwrap_or_default();
                text += &body[start..backslash];
                start = backslash + 1;
            }
            Kind::Misspelled(marker) => source.lenient.push(Diagnostic::warning(
                Some(position),
                format!("{} begins no message, and is text", quoted(body[line.start..line.end].trim())),
                format!("write `{marker}` if it is meant to, or a backslash before it"),
            )),
        }
    }
    text += &body[start..];
    finish(speaker, &mut text, first_line);
    if !lines.iter().any(|line| matches!(line.kind, Kind::Marker(_))) {
        source.lenient.push(Diagnostic::warning(
            None,
            "`messages: true` has no effect, because no line of the body begins a message",
            "write `<!-- user -->` or `<!-- assistant -->` alone in a line before each message, or delete the key",
        ));
    }
    Ok(Some(with_system(messages, of_system, source.first_line())))
}

/// The marker that begins a message of this role.
pub(super) fn marker(role: Role) -> &'static str {
    let speaker = if role == Role::Assistant { Speaker::Assistant } else { Speaker::User };
    SPEAKERS.iter().find(|(other, _)| *other == speaker).map_or("", |(_, marker)| marker)
}

/// The bytes at which the lines begin that are markers, with or without a backslash.
pub(super) fn markers_in(body: &str) -> Vec<usize> {
    let is_marker = |line: &Line| matches!(line.kind, Kind::Marker(_) | Kind::Escaped);
    lines(body).into_iter().filter(is_marker).map(|line| line.start).collect()
}

/// The messages, of which the first of the user begins with the texts of the system. There is always one.
fn with_system(
    mut messages: Vec<MessageTemplate>,
    of_system: Vec<MessageTemplate>,
    first_line: usize,
) -> Vec<MessageTemplate> {
    if messages.is_empty() && of_system.is_empty() {
        return vec![MessageTemplate::new(Role::User, String::new(), Place::at_line(first_line))];
    }
    let first_of_user = messages.iter().position(|message| message.role == Role::User);
    let last = of_system.len().saturating_sub(1);
    let is_continued = |index: usize| index < last || first_of_user.is_some();
    let continued = of_system
        .into_iter()
        .enumerate()
        .map(|(index, message)| if is_continued(index) { message.continued() } else { message });
    let at = first_of_user.unwrap_or(0);
    messages.splice(at..at, continued);
    messages
}

/// The lines that are markers or look like one, except in code blocks.
pub(super) fn lines(body: &str) -> Vec<Line> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in body.split_inclusive('\n') {
        let end = start + line.len();
        lines.extend(kind(line.trim()).map(|kind| Line { start, end, kind }));
        start = end;
    }
    if !lines.is_empty() {
        let blocks = outline::code_blocks(body);
        lines.retain(|line| {
            // The range of an indented block begins after the spaces of its first line.
            let at = line.end - body[line.start..line.end].trim_start().len();
            let before = &blocks[..blocks.partition_point(|range| range.start <= at)];
            before.last().is_none_or(|range| at >= range.end)
        });
    }
    lines
}

/// The same lines of the prompt's own file in a body with all that it includes: no line of another file is a marker.
pub(super) fn moved(lines: Vec<Line>, source: &Source<'_>, body: &str, origins: &Origins) -> Vec<Line> {
    let mut positions = source.place.positions(&source.body);
    let mut lines = lines.into_iter().map(|line| (positions.at(line.start).line, line.kind)).peekable();
    let mut start = 0;
    let mut moved = Vec::new();
    for (number, line) in (source.first_line()..).zip(body.split_inclusive('\n')) {
        let end = start + line.len();
        if let (None, Position { line, .. }) = origins.of(Position { line: number, column: 1 }) {
            moved.extend(lines.next_if(|(own, _)| *own == line).map(|(_, kind)| Line { start, end, kind }));
        }
        start = end;
    }
    moved
}

fn kind(line: &str) -> Option<Kind> {
    let (is_escaped, comment) = line.strip_prefix('\\').map_or((false, line), |line| (true, line));
    let word = comment.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    let named = |(_, marker): &&(Speaker, &str)| {
        let name = marker.trim_matches(['<', '!', '-', ' ', '>']);
        name.eq_ignore_ascii_case(word.trim_end_matches(':'))
    };
    let (speaker, marker) = SPEAKERS.iter().find(named)?;
    match (comment == *marker, is_escaped) {
        (true, true) => Some(Kind::Escaped),
        (true, false) => Some(Kind::Marker(*speaker)),
        (false, true) => None,
        (false, false) => Some(Kind::Misspelled(marker)),
    }
}
