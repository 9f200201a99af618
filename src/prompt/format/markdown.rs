//! Markdown files: a YAML frontmatter, if there is one, and a body that becomes one message; or, in
//! this program's own format and with `messages: true`, several: the lines `<!-- user -->` and
//! `<!-- assistant -->`, which Markdown does not show, say whose words follow. They are found in
//! the file only, never in a value.

use super::frontmatter::{self, Dialect, Frontmatter, Split};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::include::{self, IncludeReader, Origins, Part};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_MESSAGES};
use crate::prompt::message::Role;
use crate::prompt::model::{Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::outline::{Code, outline};
use crate::prompt::template::MessageTemplate;
use crate::prompt::template::{Place, Syntax};
use crate::prompt::text::without_empty_ends;
use crate::wording::quoted;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Reads a file of this program's own format with the files that it includes.
///
/// # Errors
/// Those of the frontmatter, of the includes and of the messages.
pub(crate) fn parse(
    name: &Name,
    text: &str,
    includes: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let mut source = read(Dialect::Own, text)?;
    let mut origins = Origins::default();
    if let Some(reader) = includes.filter(|_| source.frontmatter.include) {
        let part = |text: &str| Ok(read(Dialect::Own, text)?.part());
        (source.body, origins) = include::assemble(&source.part(), reader, part)?;
    }
    let mut messages = source
        .divide(&origins)
        .map_err(|error| origins.locate(error))?;
    let names: Vec<&str> = source
        .frontmatter
        .arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .collect();
    if source.frontmatter.jinja.is_some() {
        let mistakes = messages.iter_mut().flat_map(|message| {
            let found = message
                .set_jinja(&names)
                .err()
                .unwrap_or_default()
                .into_iter();
            found
                .map(|(at, error)| origins.locate(error.at(message.positions().at(at))))
                .collect::<Vec<_>>()
        });
        Diagnostic::first_of(mistakes)?;
    } else {
        MessageTemplate::find_placeholders(&Syntax::OWN, &mut messages, names);
    }
    Ok(Prompt {
        origins,
        ..source.into_prompt_of(messages, name, &Syntax::OWN)
    })
}

/// What a file says, before its body is searched for placeholders.
pub(crate) struct Source {
    pub(crate) frontmatter: Frontmatter,
    /// See [`MessageTemplate::body`].
    pub(crate) body: String,
    pub(crate) place: Place,
    /// What was read leniently.
    pub(crate) lenient: Vec<Diagnostic>,
}

/// Returns a text that gives the same as this one when a prompt includes it, without what else its
/// frontmatter says; nothing if it cannot be included.
pub fn without_frontmatter(text: &str) -> String {
    let Ok(mut source) = read(Dialect::Own, text) else {
        return String::new();
    };
    let Part { body, includes, .. } = source.part();
    format!("---\ninclude: {includes}\n---\n{body}")
}

/// Reads the frontmatter, and finds the body.
///
/// # Errors
/// Those of the frontmatter.
pub(crate) fn read(dialect: Dialect, text: &str) -> Result<Source, Diagnostic> {
    let is_own = dialect == Dialect::Own;
    let mut lenient = Vec::new();
    let Split {
        yaml,
        body,
        body_line,
        warning,
    } = match frontmatter::split(text, dialect) {
        // The other programs take all of it for the body.
        Err(_) if !is_own => Split::body(text),
        split => split?,
    };
    let Some(yaml) = yaml else {
        lenient.extend(frontmatter::misplaced(text).filter(|_| is_own));
        return Ok(Source {
            lenient,
            ..Source::new(Frontmatter::default(), body, body_line)
        });
    };
    let read = frontmatter::read(yaml, dialect, &mut lenient)?;
    if !is_own && dialect != Dialect::Claude {
        lenient.clear(); // the other programs read their files as leniently, and the file is right for them
    }
    let source = match read {
        Some(frontmatter) => {
            lenient.extend(warning);
            Source::new(frontmatter, body, body_line)
        }
        None => {
            let is_text = matches!(dialect, Dialect::Own | Dialect::Cursor);
            let (what, body, line) = match is_text {
                true => ("part of the prompt's text", text, 1),
                false => ("left out", body, body_line),
            };
            let message = format!(
                "the lines between the first two `---` have no key such as `description:`; they are {what}"
            );
            let fix = "write rules as `***`, or give the frontmatter a `description: …`";
            lenient.push(Diagnostic::warning(Some(Position::START), message, fix));
            Source::new(Frontmatter::default(), body, line)
        }
    };
    if source.frontmatter.jinja.is_some() && !is_own {
        let message = "`engine: jinja` is only for Markdown prompts in a folder of your own";
        let fix = "put the prompt into such a folder, or delete the key";
        return Err(Diagnostic::error(source.frontmatter.jinja, message, fix));
    }
    Ok(Source { lenient, ..source })
}

impl Source {
    pub(crate) fn new(frontmatter: Frontmatter, text: &str, line: usize) -> Source {
        let text = if text.contains('\r') {
            Cow::Owned(text.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(text)
        };
        let (body, dropped) = without_empty_ends(&text);
        Source {
            frontmatter,
            body: body.to_owned(),
            place: Place::at_line(line + dropped),
            lenient: Vec::new(),
        }
    }

    fn part(&mut self) -> Part {
        let first_line = self.place.positions(&self.body).at(0).line;
        Part {
            body: std::mem::take(&mut self.body),
            first_line,
            includes: self.frontmatter.include,
        }
    }

    /// Declares those of the arguments that the body has a placeholder for, and that are not
    /// declared yet.
    ///
    /// # Errors
    /// There would be more than [`MAX_ARGUMENTS`].
    pub(crate) fn declare(
        &mut self,
        syntax: &Syntax,
        arguments: Vec<Argument>,
    ) -> Result<(), Diagnostic> {
        let names = arguments.iter().map(|argument| argument.name.as_str());
        let template = MessageTemplate::parse(syntax, &*self.body, 1, names);
        let used: HashSet<&str> = template
            .placeholders()
            .map(|placeholder| placeholder.name.as_str())
            .collect();
        let declared = &mut self.frontmatter.arguments;
        let mut known: HashSet<String> = declared
            .iter()
            .map(|argument| argument.name.clone())
            .collect();
        let is_new = |argument: &Argument| {
            used.contains(argument.name.as_str()) && known.insert(argument.name.clone())
        };
        declared.extend(arguments.into_iter().filter(is_new));
        if declared.len() > MAX_ARGUMENTS {
            let message =
                format!("the text has placeholders for more than {MAX_ARGUMENTS} arguments");
            return Err(Diagnostic::error(None, message, "use fewer names"));
        }
        Ok(())
    }

    /// The messages that the markers divide the body into, in which no placeholder has been found
    /// yet; one, if the frontmatter does not ask for several. What looks like a mistake is added to
    /// what was read leniently.
    ///
    /// # Errors
    /// There would be more than [`MAX_MESSAGES`].
    fn divide(&mut self, origins: &Origins) -> Result<Vec<MessageTemplate>, Diagnostic> {
        let body = std::mem::take(&mut self.body);
        let mut positions = self.place.positions(&body);
        let mut markers = markers(&body);
        // No line of another file is a marker.
        markers.retain(|marker| origins.of(positions.at(marker.line.start)).0.is_none());
        let mut positions = self.place.positions(&body);
        if !self.frontmatter.has_messages {
            let first = markers.iter().find(|marker| marker.role.is_some());
            self.lenient.extend(first.map(|marker| {
                let written = quoted(body[marker.line.clone()].trim());
                let message = format!("{written} is text, because the frontmatter has no `messages: true`");
                let fix = "write `messages: true` if it is meant to begin a message, or a backslash before it";
                Diagnostic::warning(Some(positions.at(marker.line.start)), message, fix)
            }));
            return Ok(vec![MessageTemplate::new(Role::User, body, self.place)]);
        }
        let mut messages = Vec::new();
        let (mut role, mut start, mut first_line) = (Role::User, 0, positions.at(0).line);
        let mut text = String::new();
        let mut finish = |role: Role, text: &mut String, first_line: usize| {
            let (body, dropped) = without_empty_ends(text);
            if !body.is_empty() {
                messages.push(MessageTemplate::new(
                    role,
                    body.to_owned(),
                    Place::at_line(first_line + dropped),
                ));
            }
            text.clear();
            messages.len()
        };
        for Marker {
            line: Range { start: at, end },
            role: next,
        } in markers
        {
            let Some(next) = next else {
                let backslash = at + body[at..].find('\\').unwrap_or_default();
                text += &body[start..backslash];
                start = backslash + 1;
                continue;
            };
            text += &body[start..at];
            let position = positions.at(at);
            if finish(role, &mut text, first_line) >= MAX_MESSAGES {
                let message = format!("the prompt has more than {MAX_MESSAGES} messages");
                return Err(Diagnostic::error(
                    Some(position),
                    message,
                    "divide it among several files",
                ));
            }
            (role, start, first_line) = (next, end, position.line + 1);
        }
        text += &body[start..];
        finish(role, &mut text, first_line);
        if messages.is_empty() {
            messages.push(MessageTemplate::new(Role::User, String::new(), self.place));
        }
        Ok(messages)
    }

    /// The prompt whose one message is the body.
    pub(crate) fn into_prompt(mut self, name: &Name, syntax: &'static Syntax) -> Prompt {
        let mut messages = [MessageTemplate::new(
            Role::User,
            std::mem::take(&mut self.body),
            self.place,
        )];
        let names = self
            .frontmatter
            .arguments
            .iter()
            .map(|argument| argument.name.as_str());
        MessageTemplate::find_placeholders(syntax, &mut messages, names);
        self.into_prompt_of(messages.into(), name, syntax)
    }

    fn into_prompt_of(
        self,
        messages: Vec<MessageTemplate>,
        name: &Name,
        syntax: &'static Syntax,
    ) -> Prompt {
        let Frontmatter {
            title,
            description,
            arguments,
            tags,
            metadata,
            attachments,
            other_keys,
            ..
        } = self.frontmatter;
        let (has_words, is_no_mention) =
            (self.frontmatter.has_words, self.frontmatter.is_no_mention);
        let mut prompt = Prompt {
            title,
            description,
            arguments,
            tags,
            metadata,
            messages,
            attachments,
            other_keys,
            has_words,
            is_no_mention,
            lenient: self.lenient,
            ..Prompt::new(name.clone(), syntax)
        };
        if let Some(first) = prompt
            .messages
            .first()
            .filter(|_| prompt.title.is_none() || prompt.description.is_none())
        {
            let outline = outline(first.body());
            let has_placeholder = |heading: &String| {
                prompt.is_jinja() && heading.contains("{{")
                    || prompt.template_of(heading).placeholders().next().is_some()
            };
            let title = outline
                .heading
                .clone()
                .filter(|heading| !has_placeholder(heading));
            prompt.title = prompt.title.or(title);
            prompt.description = prompt.description.or_else(|| outline.description());
        }
        prompt
    }
}

/// A line that begins a message, or looks as if it did.
pub(crate) struct Marker {
    pub(crate) line: Range<usize>,
    /// `None` after a backslash, which is dropped.
    role: Option<Role>,
}

impl Marker {
    /// The first word of the line that begins a message of this role.
    pub(crate) fn of(role: Role) -> &'static str {
        if role == Role::Assistant {
            "<!-- assistant -->"
        } else {
            "<!-- user -->"
        }
    }
}

/// The markers of a body, except in code blocks.
pub(crate) fn markers(body: &str) -> Vec<Marker> {
    if memchr::memmem::find(body.as_bytes(), b"<!--").is_none() {
        return Vec::new(); // as in most bodies
    }
    let mut start = 0;
    let mut markers = Vec::new();
    for line in body.split_inclusive('\n') {
        let end = start + line.len();
        markers.extend(role(line.trim()).map(|role| Marker {
            line: start..end,
            role,
        }));
        start = end;
    }
    if !markers.is_empty() {
        let code = Code::of(body);
        // The range of an indented block begins after the spaces of its first line.
        markers.retain(|Marker { line, .. }| {
            !code.contains(line.end - body[line.clone()].trim_start().len())
        });
    }
    markers
}

fn role(line: &str) -> Option<Option<Role>> {
    let comment = line.strip_prefix('\\').unwrap_or(line);
    let role = match comment {
        "<!-- user -->" | "<!-- system -->" => Role::User,
        "<!-- assistant -->" => Role::Assistant,
        _ => return None,
    };
    Some((comment == line).then_some(role))
}
