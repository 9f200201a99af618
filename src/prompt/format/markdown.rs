//! Markdown files: a YAML frontmatter, if there is one, and a body that becomes one message.

use super::frontmatter::{self, Frontmatter, Split};
use super::messages;
use crate::prompt::include::{self, IncludeReader, Origins};
use crate::prompt::jinja::Mistake;
use crate::prompt::outline::outline;
use crate::prompt::template::Place;
use crate::prompt::{
    Argument, Diagnostic, Format, MAX_ARGUMENTS, MessageTemplate, Name, Position, Prompt, Role, foreign_marks,
};
use crate::wording::quoted;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Reads the text of a file, without its byte order mark.
///
/// # Errors
/// Those of the frontmatter.
pub(super) fn parse(format: Format, name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    Ok(read(format, text)?.into_prompt(format, name))
}

/// Reads a file of this program's own format with the files that it includes; see [`Format::parse_with`].
///
/// # Errors
/// Those of the frontmatter, of the includes and of the messages.
pub(super) fn parse_with(
    name: Name,
    text: &str,
    includes: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let mut source = read(Format::Markdown, text)?;
    let mut lines = messages::lines(&source.body);
    let mut origins = Origins::default();
    if let Some(reader) = includes.filter(|_| source.frontmatter.include) {
        let (body, from) = include::assemble(&source, reader)?;
        lines = messages::moved(lines, &source, &body, &from);
        (source.body, origins) = (Cow::Owned(body), from);
    }
    if source.frontmatter.jinja.is_none() {
        source.refuse_liquid().map_err(|error| origins.locate(error))?;
    }
    let mut messages = messages::divide(&mut source, &lines).map_err(|error| origins.locate(error))?;
    let names: Vec<&str> = source.frontmatter.arguments.iter().map(|argument| argument.name.as_str()).collect();
    if source.frontmatter.jinja.is_some() {
        let whole = || vec![MessageTemplate::new(Role::User, source.body.to_string(), source.place)];
        for message in messages.get_or_insert_with(whole) {
            message.set_jinja(&names).map_err(|Mistake { at, message: what, fix }| {
                origins.locate(Diagnostic::error(Some(message.positions().at(at)), what, fix))
            })?;
        }
    } else if let Some(messages) = &mut messages {
        MessageTemplate::find_placeholders(Format::Markdown, messages, names);
    }
    Ok(Prompt { origins, ..source.into_prompt_of(messages, Format::Markdown, name) })
}

/// What a file says, before its body is searched for placeholders.
pub(in crate::prompt) struct Source<'t> {
    pub(in crate::prompt) frontmatter: Frontmatter,
    /// See [`MessageTemplate::body`].
    pub(in crate::prompt) body: Cow<'t, str>,
    pub(super) place: Place,
    /// What was read leniently.
    pub(super) lenient: Vec<Diagnostic>,
}

/// Reads the frontmatter, and finds the body.
///
/// # Errors
/// Those of the frontmatter.
pub(in crate::prompt) fn read(format: Format, text: &str) -> Result<Source<'_>, Diagnostic> {
    let mut lenient = Vec::new();
    let (frontmatter, body, body_line) = parts(format, text, &mut lenient)?;
    if frontmatter.jinja.is_some() && format != Format::Markdown {
        let message = "`engine: jinja` is only for Markdown prompts in a folder of your own";
        let fix = "put the prompt into such a folder, or delete the key";
        return Err(Diagnostic::error(frontmatter.jinja, message, fix));
    }
    let source = Source { lenient, ..Source::new(frontmatter, body, body_line) };
    if format != Format::Markdown {
        source.refuse_liquid()?;
    }
    Ok(source)
}

impl<'t> Source<'t> {
    pub(super) fn new(frontmatter: Frontmatter, text: &'t str, line: usize) -> Source<'t> {
        let (body, dropped) = match text.contains('\r') {
            true => {
                let text = text.replace("\r\n", "\n");
                let (body, dropped) = without_empty_ends(&text);
                (Cow::Owned(body.to_owned()), dropped)
            }
            false => {
                let (body, dropped) = without_empty_ends(text);
                (Cow::Borrowed(body), dropped)
            }
        };
        Source { frontmatter, body, place: Place::at_line(line + dropped), lenient: Vec::new() }
    }

    /// The line of the file in which the body begins.
    pub(in crate::prompt) fn first_line(&self) -> usize {
        self.place.positions(&self.body).at(0).line
    }

    /// # Errors
    /// It is a file of swissarmyhammer, and has tags of Liquid.
    fn refuse_liquid(&self) -> Result<(), Diagnostic> {
        match foreign_marks::template_tag(&self.body).filter(|_| self.frontmatter.has_parameters) {
            Some(tag) => Err(self.needs_engine("Liquid", tag)),
            None => Ok(()),
        }
    }

    /// The error for a file whose text at `tag` only the engine of another program can fill in.
    pub(super) fn needs_engine(&self, engine: &str, tag: Range<usize>) -> Diagnostic {
        Diagnostic::error(
            Some(self.place.positions(&self.body).at(tag.start)),
            format!("{} needs the template engine {engine}, which is not built in", quoted(&self.body[tag])),
            "write the text for each case into a file of its own, with placeholders such as `{{name}}`",
        )
    }

    /// Declares those of the arguments that the body has a placeholder for, and that are not declared yet.
    ///
    /// # Errors
    /// There would be more than [`MAX_ARGUMENTS`].
    pub(super) fn declare(&mut self, format: Format, arguments: Vec<Argument>) -> Result<(), Diagnostic> {
        let names = arguments.iter().map(|argument| argument.name.as_str());
        let template = MessageTemplate::parse(format, &*self.body, 1, names);
        let used: HashSet<&str> = template.placeholders().map(|placeholder| placeholder.name.as_str()).collect();
        let declared = &mut self.frontmatter.arguments;
        let mut known: HashSet<String> = declared.iter().map(|argument| argument.name.clone()).collect();
        let is_new = |argument: &Argument| used.contains(argument.name.as_str()) && known.insert(argument.name.clone());
        declared.extend(arguments.into_iter().filter(is_new));
        if declared.len() > MAX_ARGUMENTS {
            let message = format!("the text has placeholders for more than {MAX_ARGUMENTS} arguments");
            return Err(Diagnostic::error(None, message, "use fewer names"));
        }
        Ok(())
    }

    pub(super) fn into_prompt(self, format: Format, name: Name) -> Prompt {
        self.into_prompt_of(None, format, name)
    }

    /// The prompt with these messages; `None` for one message that is the body.
    fn into_prompt_of(self, messages: Option<Vec<MessageTemplate>>, format: Format, name: Name) -> Prompt {
        let Source { frontmatter, body, place, lenient } = self;
        let Frontmatter {
            mut title,
            mut description,
            arguments,
            tags,
            metadata,
            attachments,
            unread_keys,
            has_words,
            ..
        } = frontmatter;
        if title.is_none() || description.is_none() {
            let outline = outline(&body);
            title = title.or_else(|| outline.heading.clone());
            description = description.or_else(|| outline.description());
        }
        let names = arguments.iter().map(|argument| argument.name.as_str());
        let messages =
            messages.unwrap_or_else(|| vec![MessageTemplate::parse(format, body, 1, names).with_place(place)]);
        Prompt {
            format,
            name,
            title,
            description,
            messages,
            attachments,
            arguments,
            tags,
            metadata,
            lenient,
            unread_keys,
            has_words,
            origins: Origins::default(),
        }
    }
}

/// The frontmatter, the body, and the line of the file in which the body begins.
fn parts<'t>(
    format: Format,
    text: &'t str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Frontmatter, &'t str, usize), Diagnostic> {
    let is_strict = matches!(format, Format::Markdown | Format::VsCodePrompt);
    let Split { yaml, body, body_line } = match frontmatter::split(text) {
        // The other programs take all of it for the body.
        Err(_) if !is_strict && !frontmatter::is_closed(text) => Split { yaml: None, body: text, body_line: 1 },
        split => split?,
    };
    let Some(yaml) = yaml else {
        warnings.extend(frontmatter::misplaced(text).filter(|_| is_strict));
        return Ok((Frontmatter::default(), text, 1));
    };
    let frontmatter = frontmatter::read(yaml, format, warnings)?;
    if !is_strict {
        warnings.clear(); // the other programs read their files as leniently, and the file is right for them
    }
    if let Some(frontmatter) = frontmatter {
        return Ok((frontmatter, body, body_line));
    }
    if !matches!(format, Format::Markdown | Format::CursorCommand) {
        warnings.push(Diagnostic::warning(
            Some(Position::START),
            format!(
                "the lines between the first two `---` have no key such as `description:`; they are left out, as in {}",
                format.system().title()
            ),
            "write them below the second `---` if they are part of the text",
        ));
        return Ok((Frontmatter::default(), body, body_line));
    }
    warnings.push(Diagnostic::warning(
        Some(Position::START),
        "the lines between the first two `---` have no key such as `description:`; they are part of the prompt's text",
        "write rules as `***`, or give the frontmatter a `description: …`",
    ));
    Ok((Frontmatter::default(), text, 1))
}

/// The body without the empty lines at its start and end, and how many were dropped at the beginning.
pub(in crate::prompt) fn without_empty_ends(body: &str) -> (&str, usize) {
    let mut rest = body;
    let mut dropped = 0;
    while let Some((_, after)) = rest.split_once('\n').filter(|(line, _)| line.trim().is_empty()) {
        rest = after;
        dropped += 1;
    }
    if rest.trim().is_empty() {
        return ("", dropped);
    }
    let end = rest.trim_end().len();
    // The last line keeps the spaces at its end.
    let line_end = rest[end..].find('\n').map_or(rest.len(), |newline| end + newline);
    (&rest[..line_end], dropped)
}
