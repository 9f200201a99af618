//! Markdown files: a YAML frontmatter, if there is one, and a body that becomes one message; or, in
//! this program's own format and with `messages: true`, several: the lines `<!-- user -->` and
//! `<!-- assistant -->`, which Markdown does not show, say whose words follow. They are found in
//! the file only, never in a value.

use super::fences::{self, Split};
use super::frontmatter::{self, Dialect, Frontmatter};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::file_text::trim_blank_lines;
use crate::prompt::include::{self, IncludeReader, IncludedPart, LineOrigins};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_MESSAGES};
use crate::prompt::message::Role;
use crate::prompt::model::{Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::outline::{Code, outline};
use crate::prompt::template::{BodyPosition, MessageTemplate, PlaceholderSyntax};
use crate::wording::quoted;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Reads a file of this program's own format. Lines that include a file stay as written.
///
/// # Errors
/// Fails if the frontmatter or a message is invalid, as when an argument or a message is one too
/// many.
pub(crate) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let source = read(Dialect::Own, text)?;
    source.into_own_prompt(name, LineOrigins::default())
}

/// Reads a file of this program's own format with the files that it includes.
///
/// # Errors
/// Fails if the frontmatter or a message is invalid, or if a file cannot be included.
pub(super) fn parse_with_includes(
    name: &Name,
    text: &str,
    reader: &mut dyn IncludeReader,
) -> Result<Prompt, Diagnostic> {
    let mut source = read(Dialect::Own, text)?;
    let mut origins = LineOrigins::default();
    if source.frontmatter.has_includes {
        (source.body, origins) = include::assemble(&source.take_part(), reader, read_part)?;
    }
    source.into_own_prompt(name, origins)
}

/// Parses each message as a Jinja template.
///
/// # Errors
/// The templates have mistakes. The error is the first of them, and has the others as further
/// diagnostics.
fn parse_jinja(
    messages: &mut [MessageTemplate],
    names: &[&str],
    origins: &LineOrigins,
) -> Result<(), Diagnostic> {
    let mut errors = Vec::new();
    for message in messages {
        let Err(mistakes) = message.set_jinja(names) else {
            continue;
        };
        for mistake in mistakes {
            let position = message.position_cursor().advance_to(mistake.at);
            errors.push(origins.locate(mistake.diagnostic.with_position(position)));
        }
    }
    Diagnostic::first_of(errors)
}

/// Returns the text of a file with `include` as the only key of its frontmatter, which is all that
/// matters to a prompt that includes the file: a `title` is gone, and `include: false` is added.
///
/// The result is empty if the file cannot be included.
pub fn with_only_include_key(text: &str) -> String {
    match read_part(text) {
        Ok(IncludedPart { body, includes, .. }) => format!("---\ninclude: {includes}\n---\n{body}"),
        Err(_) => String::new(),
    }
}

/// Returns the part of a file of this program that a prompt includes.
fn read_part(text: &str) -> Result<IncludedPart, Diagnostic> {
    let mut source = read(Dialect::Own, text)?;
    Ok(source.take_part())
}

/// A file whose body has not been searched for placeholders yet.
pub(crate) struct MarkdownSource {
    pub(crate) frontmatter: Frontmatter,
    /// The text without the frontmatter; see [`MessageTemplate::body`].
    pub(crate) body: String,
    pub(crate) place: BodyPosition,
    /// The warnings about mistakes that were read leniently.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Reads the frontmatter of a file, and finds its body.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits), if a file of this program
/// does not close it, or if a file of another program says `engine: jinja`.
pub(crate) fn read(dialect: Dialect, text: &str) -> Result<MarkdownSource, Diagnostic> {
    let split = match fences::split(text, dialect) {
        // Other programs treat a frontmatter that is never closed as text.
        Err(_) if dialect != Dialect::Own => Split::body_only(text),
        result => result?,
    };
    let Some(yaml) = split.yaml else {
        let mut source = MarkdownSource::new(Frontmatter::default(), split.body, split.body_line);
        if dialect == Dialect::Own {
            source.warnings.extend(fences::misplaced(text));
        }
        return Ok(source);
    };
    let mut warnings = Vec::new();
    let Some(frontmatter) = frontmatter::read(yaml, dialect, &mut warnings)? else {
        return Ok(read_without_keys(dialect, text, &split));
    };
    if let Some(position) = frontmatter.jinja_position
        && dialect != Dialect::Own
    {
        return Err(Diagnostic::error(
            Some(position),
            "`engine: jinja` is only for Markdown prompts in a folder of your own",
            "put the prompt into such a folder, or delete the key",
        ));
    }
    if !matches!(dialect, Dialect::Own | Dialect::Claude) {
        // The other programs are just as lenient, so the file is valid for them.
        warnings.clear();
    }
    warnings.extend(split.warning);
    Ok(MarkdownSource {
        warnings,
        ..MarkdownSource::new(frontmatter, split.body, split.body_line)
    })
}

/// Returns the source of a file whose frontmatter has no key at all, such as text between two rules
/// `---`. This program and Cursor treat these lines as text; other programs drop them.
fn read_without_keys(dialect: Dialect, file_text: &str, split: &Split) -> MarkdownSource {
    let is_text = matches!(dialect, Dialect::Own | Dialect::Cursor);
    let mut source = if is_text {
        MarkdownSource::new(Frontmatter::default(), file_text, 1)
    } else {
        MarkdownSource::new(Frontmatter::default(), split.body, split.body_line)
    };
    let consequence = if is_text {
        "part of the prompt's text"
    } else {
        "left out"
    };
    source.warnings.push(Diagnostic::warning(
        Some(Position::START),
        format!("the lines between the first two `---` have no key such as `description:`; they are {consequence}"),
        "write rules as `***`, or give the frontmatter a `description: …`",
    ));
    source
}

impl MarkdownSource {
    /// Returns a source with the `text` as its body, which begins in this line of the file. Empty
    /// lines at both ends are dropped, and each `\r\n` becomes `\n`.
    pub(crate) fn new(frontmatter: Frontmatter, text: &str, line: usize) -> MarkdownSource {
        let text = if text.contains('\r') {
            Cow::Owned(text.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(text)
        };
        let body = trim_blank_lines(&text);
        MarkdownSource {
            frontmatter,
            body: body.text.to_owned(),
            place: BodyPosition::at_line(line + body.dropped),
            warnings: Vec::new(),
        }
    }

    /// Moves the body out, as a part that can be included in a prompt.
    fn take_part(&mut self) -> IncludedPart {
        let first_line = self.place.position_cursor(&self.body).advance_to(0).line;
        IncludedPart {
            body: std::mem::take(&mut self.body),
            first_line,
            includes: self.frontmatter.has_includes,
        }
    }

    /// Declares the arguments that have a placeholder in the body and are not declared yet. The
    /// others are ignored.
    ///
    /// # Errors
    /// Fails if the prompt would have more than [`MAX_ARGUMENTS`].
    pub(crate) fn declare_used(
        &mut self,
        syntax: &PlaceholderSyntax,
        arguments: Vec<Argument>,
    ) -> Result<(), Diagnostic> {
        let names = arguments.iter().map(|argument| argument.name.as_str());
        let first_line = 1; // any, because no position is read from this template
        let template = MessageTemplate::parse(syntax, &*self.body, first_line, names);
        let placeholder_names: HashSet<&str> = template
            .placeholders()
            .map(|placeholder| placeholder.name.as_str())
            .collect();
        let mut declared_names: HashSet<String> = self
            .frontmatter
            .argument_names()
            .map(str::to_owned)
            .collect();
        for argument in arguments {
            let name = argument.name.as_str();
            let has_placeholder = placeholder_names.contains(name);
            if has_placeholder && declared_names.insert(name.to_owned()) {
                self.frontmatter.arguments.push(argument);
            }
        }
        if declared_names.len() > MAX_ARGUMENTS {
            let message =
                format!("the text has placeholders for more than {MAX_ARGUMENTS} arguments");
            return Err(Diagnostic::error(None, message, "use fewer names"));
        }
        Ok(())
    }

    /// Takes the messages of the body, whose placeholders are not found yet. The body is empty
    /// afterwards.
    ///
    /// If the frontmatter says `messages: true`, markers such as `<!-- user -->` divide the body.
    /// If it does not, a warning says that the first marker is text.
    ///
    /// # Errors
    /// Fails if there would be more than [`MAX_MESSAGES`].
    fn take_messages(&mut self, origins: &LineOrigins) -> Result<Vec<MessageTemplate>, Diagnostic> {
        let body = std::mem::take(&mut self.body);
        let mut markers = markers(&body);
        let mut positions = self.place.position_cursor(&body);
        // A line of an included file is text, even if it looks like a marker.
        markers.retain(|marker| {
            origins
                .line_origin(positions.advance_to(marker.line.start))
                .file
                .is_none()
        });
        if self.frontmatter.has_messages {
            return divide(&body, markers, self.place);
        }
        if let Some(marker) = markers.iter().find(|marker| !marker.is_escaped) {
            let line = quoted(body[marker.line.clone()].trim());
            let position = self
                .place
                .position_cursor(&body)
                .advance_to(marker.line.start);
            self.warnings.push(Diagnostic::warning(
                Some(position),
                format!("{line} is text, because the frontmatter has no `messages: true`"),
                "write `messages: true` if it is meant to begin a message, or a backslash before it",
            ));
        }
        Ok(vec![MessageTemplate::new(Role::User, body, self.place)])
    }

    /// Returns the prompt of a file in the format of this program. `origins` says which files the
    /// lines of its body come from.
    fn into_own_prompt(mut self, name: &Name, origins: LineOrigins) -> Result<Prompt, Diagnostic> {
        let mut messages = self
            .take_messages(&origins)
            .map_err(|error| origins.locate(error))?;
        let names = self.frontmatter.argument_names();
        if self.frontmatter.jinja_position.is_some() {
            parse_jinja(&mut messages, &names.collect::<Vec<_>>(), &origins)?;
        } else {
            MessageTemplate::parse_placeholders(&PlaceholderSyntax::OWN, &mut messages, names);
        }
        let mut prompt = self.into_prompt_with(messages, name, &PlaceholderSyntax::OWN);
        prompt.origins = origins;
        Ok(prompt)
    }

    /// Returns the prompt, whose only message is the body.
    pub(crate) fn into_prompt(mut self, name: &Name, syntax: &'static PlaceholderSyntax) -> Prompt {
        let body = std::mem::take(&mut self.body);
        let mut messages = [MessageTemplate::new(Role::User, body, self.place)];
        MessageTemplate::parse_placeholders(
            syntax,
            &mut messages,
            self.frontmatter.argument_names(),
        );
        self.into_prompt_with(messages.into(), name, syntax)
    }

    /// Returns the prompt with these messages. If the frontmatter has no title or description, they
    /// are derived from the first message.
    fn into_prompt_with(
        self,
        messages: Vec<MessageTemplate>,
        name: &Name,
        syntax: &'static PlaceholderSyntax,
    ) -> Prompt {
        let frontmatter = self.frontmatter;
        let mut prompt = Prompt {
            title: frontmatter.title,
            description: frontmatter.description,
            arguments: frontmatter.arguments,
            tags: frontmatter.tags,
            metadata: frontmatter.metadata,
            messages,
            attachments: frontmatter.attachments,
            ignored_keys: frontmatter.ignored_keys,
            one_word_per_argument: frontmatter.one_word_per_argument,
            forbids_mentions: frontmatter.forbids_mentions,
            lenient_warnings: self.warnings,
            ..Prompt::new(name.clone(), syntax)
        };
        if prompt.title.is_none() || prompt.description.is_none() {
            add_outline(&mut prompt);
        }
        prompt
    }
}

/// Derives the title and the description of a prompt from its first message, if they are missing.
fn add_outline(prompt: &mut Prompt) {
    let Some(first) = prompt.messages.first() else {
        return;
    };
    let outline = outline(first.body());
    if prompt.title.is_none()
        && let Some(heading) = &outline.heading
        && !has_placeholder(prompt, heading)
    {
        prompt.title = Some(heading.clone());
    }
    if prompt.description.is_none() {
        prompt.description = outline.description();
    }
}

/// Returns whether a heading contains a placeholder, which no title can show.
fn has_placeholder(prompt: &Prompt, heading: &str) -> bool {
    if prompt.is_jinja() && heading.contains("{{") {
        return true;
    }
    let template = prompt.parse_template(heading);
    template.placeholders().next().is_some()
}

/// Divides a body into messages at its markers. The text before the first marker is from the user.
///
/// `Hi`, a line `<!-- assistant -->` and `Hello` are the message `Hi` of the user and the message
/// `Hello` of the assistant. An escaped marker, `\<!-- user -->`, stays as text without its
/// backslash. Messages without text are left out, but there is always one.
///
/// # Errors
/// Fails if there would be more than [`MAX_MESSAGES`].
fn divide(
    body: &str,
    markers: Vec<Marker>,
    place: BodyPosition,
) -> Result<Vec<MessageTemplate>, Diagnostic> {
    let mut positions = place.position_cursor(body);
    let mut messages = Vec::new();
    let mut open = OpenMessage::new(Role::User, positions.advance_to(0).line);
    let mut text_start = 0; // what precedes this byte is in the messages
    for marker in markers {
        if marker.is_escaped {
            let backslash = marker.text_start(body);
            open.text += &body[text_start..backslash];
            text_start = backslash + r"\".len();
            continue;
        }
        open.text += &body[text_start..marker.line.start];
        messages.extend(open.finish());
        let position = positions.advance_to(marker.line.start);
        if messages.len() >= MAX_MESSAGES {
            return Err(Diagnostic::error(
                Some(position),
                format!("the prompt has more than {MAX_MESSAGES} messages"),
                "divide it among several files",
            ));
        }
        open = OpenMessage::new(marker.role, position.line + 1);
        text_start = marker.line.end;
    }
    open.text += &body[text_start..];
    messages.extend(open.finish());
    if messages.is_empty() {
        messages.push(MessageTemplate::new(Role::User, String::new(), place));
    }
    Ok(messages)
}

/// A message whose end has not been found yet.
struct OpenMessage {
    role: Role,
    /// The line of the file in which the message begins.
    first_line: usize,
    text: String,
}

impl OpenMessage {
    fn new(role: Role, first_line: usize) -> OpenMessage {
        OpenMessage {
            role,
            first_line,
            text: String::new(),
        }
    }

    /// Returns the message, or `None` if it has no text.
    fn finish(self) -> Option<MessageTemplate> {
        let body = trim_blank_lines(&self.text);
        if body.text.is_empty() {
            return None;
        }
        let place = BodyPosition::at_line(self.first_line + body.dropped);
        Some(MessageTemplate::new(self.role, body.text.to_owned(), place))
    }
}

/// A line that begins a message, unless a backslash is before it.
pub(crate) struct Marker {
    /// The whole line, as a range of the body.
    pub(crate) line: Range<usize>,
    role: Role,
    /// Whether the line is text, because a backslash precedes the comment. The backslash is
    /// dropped.
    is_escaped: bool,
}

impl Marker {
    /// Returns the line that begins a message of this role.
    pub(crate) fn line_for(role: Role) -> &'static str {
        match role {
            Role::User => "<!-- user -->",
            Role::Assistant => "<!-- assistant -->",
        }
    }

    /// Returns the offset in the body at which the line begins, after the spaces of its
    /// indentation.
    pub(crate) fn text_start(&self, body: &str) -> usize {
        let text = body[self.line.clone()].trim_start();
        self.line.end - text.len()
    }
}

/// Returns the markers of a body, except those in code blocks: the lines `<!-- user -->`,
/// `<!-- system -->` and `<!-- assistant -->`, also with a backslash before the comment.
pub(crate) fn markers(body: &str) -> Vec<Marker> {
    // Most bodies have no comment at all, so their lines and their code need not be found.
    if memchr::memmem::find(body.as_bytes(), b"<!--").is_none() {
        return Vec::new();
    }
    let mut markers = Vec::new();
    let mut line_start = 0;
    for line in body.split_inclusive('\n') {
        let line_end = line_start + line.len();
        let text = line.trim();
        let comment = text.strip_prefix('\\').unwrap_or(text);
        if let Some(role) = role_of_comment(comment) {
            markers.push(Marker {
                line: line_start..line_end,
                role,
                is_escaped: text.starts_with('\\'),
            });
        }
        line_start = line_end;
    }
    if !markers.is_empty() {
        let code = Code::of(body);
        // The range of an indented block begins after the spaces of its first line.
        markers.retain(|marker| !code.contains(marker.text_start(body)));
    }
    markers
}

/// Returns whose message begins after a comment. MCP has no role for the system, so its texts are
/// the user's.
fn role_of_comment(comment: &str) -> Option<Role> {
    match comment {
        "<!-- user -->" | "<!-- system -->" => Some(Role::User),
        "<!-- assistant -->" => Some(Role::Assistant),
        _ => None,
    }
}
