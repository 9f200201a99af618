//! Markdown files: a YAML frontmatter, if there is one, and a body that becomes one message.

use super::frontmatter::{self, Frontmatter, Split};
use super::messages;
use crate::prompt::outline::outline;
use crate::prompt::template::Place;
use crate::prompt::{
    Argument, Diagnostic, Format, MAX_ARGUMENTS, MessageTemplate, Name, Position, Prompt, foreign_marks,
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
    let mut source = read(format, text)?;
    let sections = match format {
        Format::Markdown => messages::divide(&mut source)?,
        _ => None,
    };
    let mut prompt = source.into_prompt(format, name);
    if let Some(mut messages) = sections {
        let names = prompt.arguments.iter().map(|argument| argument.name.as_str());
        MessageTemplate::find_placeholders(format, &mut messages, names);
        prompt.messages = messages;
    }
    Ok(prompt)
}

/// What a file says, before its body is searched for placeholders.
pub(super) struct Source<'t> {
    pub(super) frontmatter: Frontmatter,
    /// See [`MessageTemplate::body`].
    pub(super) body: Cow<'t, str>,
    pub(super) place: Place,
    /// What was read leniently.
    pub(super) lenient: Vec<Diagnostic>,
}

/// Reads the frontmatter, and finds the body.
///
/// # Errors
/// Those of the frontmatter.
pub(super) fn read(format: Format, text: &str) -> Result<Source<'_>, Diagnostic> {
    let mut lenient = Vec::new();
    let (frontmatter, body, body_line) = parts(format, text, &mut lenient)?;
    if !matches!(format, Format::Markdown | Format::VsCodePrompt) {
        lenient.clear(); // the other programs read their files as leniently, and the file is right for them
    }
    let source = Source { lenient, ..Source::new(frontmatter, body, body_line) };
    match foreign_marks::template_tag(&source.body).filter(|_| source.frontmatter.has_parameters) {
        Some(tag) => Err(source.needs_engine("Liquid", tag)),
        None => Ok(source),
    }
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
    pub(super) fn first_line(&self) -> usize {
        self.place.positions(&self.body).at(0).line
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
        let messages = vec![MessageTemplate::parse(format, body, 1, names).with_place(place)];
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
        }
    }
}

/// The frontmatter, the body, and the line of the file in which the body begins.
fn parts<'t>(
    format: Format,
    text: &'t str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Frontmatter, &'t str, usize), Diagnostic> {
    let Split { yaml, body, body_line } = match frontmatter::split(text) {
        // The other programs take all of it for the body.
        Err(_) if !matches!(format, Format::Markdown | Format::VsCodePrompt) && !frontmatter::is_closed(text) => {
            Split { yaml: None, body: text, body_line: 1 }
        }
        split => split?,
    };
    let Some(yaml) = yaml else {
        warnings.extend(frontmatter::misplaced(text));
        return Ok((Frontmatter::default(), text, 1));
    };
    if let Some(frontmatter) = frontmatter::read(yaml, format, warnings)? {
        return Ok((frontmatter, body, body_line));
    }
    warnings.push(Diagnostic::warning(
        Some(Position::START),
        "the lines between the first two `---` have no key such as `description:`; they are part of the prompt's text",
        "write rules as `***`, or give the frontmatter a `description: …`",
    ));
    Ok((Frontmatter::default(), text, 1))
}

/// The body without the empty lines at its two ends, and how many were dropped at the beginning.
pub(super) fn without_empty_ends(body: &str) -> (&str, usize) {
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
