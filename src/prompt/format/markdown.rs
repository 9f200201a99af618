//! Parses Markdown files: optional YAML frontmatter and a body.
//!
//! The body is one message. In this program's own format, `messages: true` in the frontmatter
//! splits it into several, at marker lines such as `<!-- user -->` and `<!-- assistant -->`.
//! Markers are comments, so Markdown viewers hide them. They are searched for in the file only, not
//! in values that are filled in later.

use super::dropped_text::dropped_text_warnings;
use super::fences::{self, Split};
use super::frontmatter::{self, Dialect, FIRST_KEY_LINE, Frontmatter, is_typo_of};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::file_text::trim_blank_lines;
use crate::prompt::include::{self, IncludeReader, IncludedPart, LineOrigins};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_MESSAGES};
use crate::prompt::message::Role;
use crate::prompt::model::{Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::outline::{Code, parse_outline};
use crate::prompt::placeholder::Extent;
use crate::prompt::template::{BodyPosition, MessageTemplate, PlaceholderSyntax};
use crate::wording::quoted;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Parses a file of this program's own format. Include lines are left unexpanded.
///
/// # Errors
/// Fails if the frontmatter or a Jinja template is invalid, or if there are too many messages.
pub(crate) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let source = read(Dialect::Own, text)?;
    source.into_own_prompt(name, LineOrigins::default())
}

/// Parses a file of this program's own format, and expands its include lines with `reader`.
///
/// # Errors
/// The same as for [`parse`]; also fails if a file can't be included.
pub(super) fn parse_with_includes(
    name: &Name,
    text: &str,
    reader: &mut dyn IncludeReader,
) -> Result<Prompt, Diagnostic> {
    let mut source = read(Dialect::Own, text)?;
    let mut origins = LineOrigins::default();
    if source.frontmatter.has_includes {
        let own_part = source.take_included_part();
        let assembled = include::assemble(&own_part, reader, read_included_part)?;
        source.body = assembled.text;
        origins = assembled.origins;
    }
    source.into_own_prompt(name, origins)
}

/// Parses each message as a Jinja template with the arguments `names`.
///
/// # Errors
/// Fails if a template is invalid. The errors of all messages are combined into one.
fn parse_jinja_messages(
    messages: &mut [MessageTemplate],
    names: &[&str],
    origins: &LineOrigins,
) -> Result<(), Diagnostic> {
    let mut errors = Vec::new();
    for message in messages {
        let Err(template_errors) = message.set_jinja(names) else {
            continue;
        };
        for error in template_errors {
            let position = message.position_cursor().advance_to(error.offset);
            errors.push(origins.locate(error.diagnostic.with_position(position)));
        }
    }
    Diagnostic::combine(errors)
}

/// Drops everything from the frontmatter of a file that has no effect when the file is included in
/// a prompt. Only the key `include` is left, and it is added if it was missing.
///
/// Returns an empty string if the file can't be included.
pub fn with_only_include_key(text: &str) -> String {
    match read_included_part(text) {
        Ok(IncludedPart {
            body,
            expands_includes,
            ..
        }) => format!("---\ninclude: {expands_includes}\n---\n{body}"),
        Err(_) => String::new(),
    }
}

/// Parses a file and returns what a prompt that includes it needs.
fn read_included_part(text: &str) -> Result<IncludedPart, Diagnostic> {
    let mut source = read(Dialect::Own, text)?;
    Ok(source.take_included_part())
}

/// The highest number of a word that a placeholder can refer to. Higher numbers are no arguments,
/// because they are prices rather than words: `$20`.
const MAX_WORD_NUMBER: usize = 9;

/// A Markdown file whose frontmatter is parsed, but whose body is not.
pub(crate) struct MarkdownSource {
    pub(crate) frontmatter: Frontmatter,
    /// The text below the frontmatter, without blank lines at both ends and with `\n` line endings.
    pub(crate) body: String,
    pub(crate) body_position: BodyPosition,
    /// The warnings about the frontmatter that the file's own program would give, too.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The warnings about values that YAML cuts, in whatever program reads them.
    dropped_text_warnings: Vec<Diagnostic>,
}

/// Splits a file into frontmatter and body, and parses the frontmatter.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits), or, in a file of another
/// program, has the key `engine: jinja`. In a file of this program, also fails if the closing `---`
/// is missing.
pub(crate) fn read(dialect: Dialect, text: &str) -> Result<MarkdownSource, Diagnostic> {
    let split = match fences::split(text, dialect) {
        // To other programs, frontmatter that is never closed is part of the body.
        Err(_) if dialect != Dialect::Own => Split::body_only(text),
        result => result?,
    };
    let Some(yaml) = split.yaml else {
        let mut source = MarkdownSource::new(Frontmatter::default(), split.body, split.body_line);
        if dialect == Dialect::Own {
            source
                .warnings
                .extend(fences::misplaced_frontmatter_warning(text));
        }
        return Ok(source);
    };
    let mut warnings = Vec::new();
    let Some(frontmatter) = frontmatter::read(yaml, dialect, &mut warnings)? else {
        return Ok(source_without_keys(dialect, text, &split));
    };
    if dialect != Dialect::Own {
        reject_jinja(&frontmatter)?;
    }
    if !matches!(dialect, Dialect::Own | Dialect::Claude) {
        // These programs are just as lenient, so the author need not fix anything.
        warnings.clear();
    }
    warnings.extend(split.warning);
    Ok(MarkdownSource {
        warnings,
        dropped_text_warnings: dropped_text_warnings(yaml, FIRST_KEY_LINE),
        ..MarkdownSource::new(frontmatter, split.body, split.body_line)
    })
}

/// Fails if the frontmatter, of a file of another program, has the key `engine: jinja`.
fn reject_jinja(frontmatter: &Frontmatter) -> Result<(), Diagnostic> {
    let Some(position) = frontmatter.jinja_position else {
        return Ok(());
    };
    Err(Diagnostic::error(
        Some(position),
        "`engine: jinja` is only for Markdown prompts in a folder of your own",
        "put the prompt into such a folder, or delete the key",
    ))
}

/// Returns the source of a file whose lines between the first two `---` have no keys, e.g. because
/// the `---` were meant as rules. This program and Cursor keep these lines as text; others drop
/// them.
fn source_without_keys(dialect: Dialect, file_text: &str, split: &Split) -> MarkdownSource {
    let is_text = matches!(dialect, Dialect::Own | Dialect::Cursor);
    let mut source = if is_text {
        // The whole file is the body, so it begins on line 1.
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

/// The arguments that the placeholders of a body stand for.
struct UsedArguments {
    /// How many arguments receive one word each: 2 if `$2` is the last one. Those before the last
    /// count even if the body doesn't use them.
    single_count: usize,
    /// Whether a placeholder such as `${@:2}` stands for all words from some word on.
    has_rest: bool,
}

impl MarkdownSource {
    /// Creates a source without warnings. `text` is the body, and begins on `line` of the file.
    pub(crate) fn new(frontmatter: Frontmatter, text: &str, line: usize) -> MarkdownSource {
        let with_lf = if text.contains('\r') {
            Cow::Owned(text.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(text)
        };
        let body = trim_blank_lines(&with_lf);
        MarkdownSource {
            frontmatter,
            body: body.text.to_owned(),
            body_position: BodyPosition::at_line(line + body.leading_blank_lines),
            warnings: Vec::new(),
            dropped_text_warnings: Vec::new(),
        }
    }

    /// Moves the body out of the source, which is left with an empty one, and returns what a prompt
    /// that includes this file needs.
    fn take_included_part(&mut self) -> IncludedPart {
        let first_line = self
            .body_position
            .position_cursor(&self.body)
            .advance_to(0)
            .line;
        IncludedPart {
            body: std::mem::take(&mut self.body),
            first_line,
            expands_includes: self.frontmatter.has_includes,
        }
    }

    /// Declares those `arguments` that have a placeholder in the body, unless the frontmatter
    /// already declares an argument with the same name.
    ///
    /// # Errors
    /// Fails if the prompt would have more than [`MAX_ARGUMENTS`].
    pub(crate) fn declare_used(
        &mut self,
        syntax: &PlaceholderSyntax,
        arguments: Vec<Argument>,
    ) -> Result<(), Diagnostic> {
        let names = arguments.iter().map(|argument| argument.name.as_str());
        let first_line = 1; // arbitrary, because the template's positions are not used
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
            return Err(Diagnostic::invalid(message, "use fewer names"));
        }
        Ok(())
    }

    /// Declares an optional argument for each word of the text that the body refers to by number.
    /// The first word has the number `first_number`: if that is 1, `Translate $2` declares `1` and
    /// `2`.
    ///
    /// There are no gaps, so that `$2` is the second word even if the body doesn't use `$1`. The
    /// first words belong to the arguments that the frontmatter declares. If a placeholder such as
    /// `${@:2}` stands for the rest of the words, one more argument is declared for the rest.
    pub(crate) fn declare_numbered_arguments(
        &mut self,
        syntax: &PlaceholderSyntax,
        first_number: usize,
    ) {
        let declared_count = self.frontmatter.arguments.len();
        // Only declared names are parsed as placeholders. So declare all words that are possible,
        // parse the body, and drop the words after the last one that it uses.
        for number in first_number + declared_count..=MAX_WORD_NUMBER {
            self.frontmatter.arguments.push(Argument {
                name: number.to_string(),
                ..Argument::default()
            });
        }
        let used = self.used_arguments(syntax);
        let mut kept_count = declared_count.max(used.single_count);
        if used.has_rest {
            kept_count += 1;
        }
        self.frontmatter.arguments.truncate(kept_count);
    }

    /// Returns which of the declared arguments the placeholders of the body stand for.
    fn used_arguments(&self, syntax: &PlaceholderSyntax) -> UsedArguments {
        let names: Vec<&str> = self.frontmatter.argument_names().collect();
        let first_line = 1; // arbitrary, because the template's positions are not used
        let template =
            MessageTemplate::parse(syntax, &*self.body, first_line, names.iter().copied());
        let mut used = UsedArguments {
            single_count: 0,
            has_rest: false,
        };
        for placeholder in template.placeholders() {
            let Some(first) = names.iter().position(|name| *name == placeholder.name) else {
                continue; // the placeholder of the input
            };
            let single_count = if placeholder.extent == Extent::Rest {
                used.has_rest = true;
                first // the arguments before the rest
            } else {
                placeholder.extent.argument_indexes(first, names.len()).end
            };
            used.single_count = used.single_count.max(single_count);
        }
        used
    }

    /// Moves the body out of the source, and splits it at its markers if the frontmatter has
    /// `messages: true`. Otherwise, the body is one message, and a marker gets a warning.
    ///
    /// The placeholders of the messages are not parsed yet.
    ///
    /// # Errors
    /// Fails if there are more than [`MAX_MESSAGES`].
    fn split_messages(
        &mut self,
        origins: &LineOrigins,
    ) -> Result<Vec<MessageTemplate>, Diagnostic> {
        let body = std::mem::take(&mut self.body);
        let mut markers = find_markers(&body);
        let mut positions = self.body_position.position_cursor(&body);
        // Included files cannot contain markers. What looks like one there is text.
        markers.retain(|marker| {
            origins
                .line_origin(positions.advance_to(marker.line.start))
                .file
                .is_none()
        });
        if self.frontmatter.has_messages {
            let misspelled_warnings = self.misspelled_marker_warnings(&body, origins);
            if markers.is_empty() && misspelled_warnings.is_empty() {
                self.warnings.push(no_marker_warning());
            }
            self.warnings.extend(misspelled_warnings);
            return split_at_markers(&body, markers, self.body_position);
        }
        let marker_warning = self.ineffective_marker_warning(&body, &markers);
        self.warnings.extend(marker_warning);
        Ok(vec![MessageTemplate::new(
            Role::User,
            body,
            self.body_position,
        )])
    }

    /// Returns a warning about the first marker of a body without `messages: true`, unless all
    /// markers are escaped.
    fn ineffective_marker_warning(&self, body: &str, markers: &[Marker]) -> Option<Diagnostic> {
        let marker = markers.iter().find(|marker| !marker.is_escaped)?;
        let line = quoted(body[marker.line.clone()].trim());
        let position = self
            .body_position
            .position_cursor(body)
            .advance_to(marker.line.start);
        Some(Diagnostic::warning(
            Some(position),
            format!("{line} is text, because the frontmatter has no `messages: true`"),
            "write `messages: true` if it is meant to begin a message, or a backslash before it",
        ))
    }

    /// Returns a warning about each line of a body with `messages: true` that looks like a marker
    /// but is text. Code and the lines of included files are skipped.
    fn misspelled_marker_warnings(&self, body: &str, origins: &LineOrigins) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        let mut positions = self.body_position.position_cursor(body);
        let code = Code::find_in(body);
        let mut next_line_start = 0;
        for line in body.split_inclusive('\n') {
            let line_start = next_line_start;
            next_line_start += line.len();
            let Some(role) = role_of_misspelled_marker(line) else {
                continue;
            };
            let position = positions.advance_to(line_start);
            let is_included = origins.line_origin(position).file.is_some();
            if is_included || code.contains(line_start) {
                continue;
            }
            let message = format!("{} is text, not a marker", quoted(line.trim()));
            let fix = format!(
                "write `{}` alone in a line if it is meant to begin a message",
                Marker::text_for(role)
            );
            warnings.push(Diagnostic::warning(Some(position), message, fix));
        }
        warnings
    }

    /// Builds the prompt of a file in this program's own format. `origins` maps the lines of the
    /// body to the files that they were included from.
    fn into_own_prompt(mut self, name: &Name, origins: LineOrigins) -> Result<Prompt, Diagnostic> {
        let mut messages = self
            .split_messages(&origins)
            .map_err(|error| origins.locate(error))?;
        let names = self.frontmatter.argument_names();
        if self.frontmatter.jinja_position.is_some() {
            parse_jinja_messages(&mut messages, &names.collect::<Vec<_>>(), &origins)?;
        } else {
            MessageTemplate::parse_placeholders(&PlaceholderSyntax::OWN, &mut messages, names);
        }
        let mut prompt = self.into_prompt_with(messages, name, &PlaceholderSyntax::OWN);
        prompt.origins = origins;
        Ok(prompt)
    }

    /// Builds a prompt with the body as its only message.
    pub(crate) fn into_prompt(mut self, name: &Name, syntax: &'static PlaceholderSyntax) -> Prompt {
        let body = std::mem::take(&mut self.body);
        let mut messages = [MessageTemplate::new(Role::User, body, self.body_position)];
        MessageTemplate::parse_placeholders(
            syntax,
            &mut messages,
            self.frontmatter.argument_names(),
        );
        self.into_prompt_with(messages.into(), name, syntax)
    }

    /// Builds a prompt with these messages. Without a description, the description and a missing
    /// title are derived from the first one.
    fn into_prompt_with(
        mut self,
        messages: Vec<MessageTemplate>,
        name: &Name,
        syntax: &'static PlaceholderSyntax,
    ) -> Prompt {
        self.warnings.append(&mut self.dropped_text_warnings);
        let frontmatter = self.frontmatter;
        let mut prompt = Prompt {
            is_description_derived: frontmatter.description.is_none(),
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
            forbids_menu: frontmatter.forbids_menu,
            lenient_warnings: self.warnings,
            ..Prompt::new(name.clone(), syntax)
        };
        if prompt.description.is_none() {
            fill_from_outline(&mut prompt);
        }
        prompt
    }
}

/// Returns the warning that `messages: true` has no effect.
fn no_marker_warning() -> Diagnostic {
    Diagnostic::warning(
        None,
        "`messages: true` has no effect, because the body has no marker",
        "write `<!-- assistant -->` or `<!-- user -->` alone in the line above each message, or delete the key",
    )
}

/// Derives the description of a prompt without one from the first paragraph, and a missing title
/// from the first heading.
fn fill_from_outline(prompt: &mut Prompt) {
    let Some(first) = prompt.messages.first() else {
        return;
    };
    let outline = parse_outline(first.body());
    if prompt.title.is_none()
        && let Some(heading) = &outline.heading
        && !has_placeholder(prompt, heading)
    {
        prompt.title = Some(heading.clone());
    }
    prompt.description = outline.description();
}

/// Returns whether a heading contains a placeholder. Such a heading makes no useful title.
fn has_placeholder(prompt: &Prompt, heading: &str) -> bool {
    if prompt.is_jinja() && heading.contains("{{") {
        return true;
    }
    let template = prompt.parse_template(heading);
    template.placeholders().next().is_some()
}

/// Splits a body into messages. `Hi\n<!-- assistant -->\nHello` is a user message `Hi` and an
/// assistant message `Hello`.
///
/// Text before the first marker is a user message. An escaped marker, `\<!-- user -->`, becomes
/// text without its backslash. Empty messages are dropped, but the result has at least one message.
///
/// # Errors
/// Fails if there are more than [`MAX_MESSAGES`].
fn split_at_markers(
    body: &str,
    markers: Vec<Marker>,
    body_position: BodyPosition,
) -> Result<Vec<MessageTemplate>, Diagnostic> {
    let mut positions = body_position.position_cursor(body);
    let mut messages = Vec::new();
    let mut current = MessageBuilder::new(Role::User, positions.advance_to(0).line);
    let mut copied_end = 0; // the offset up to which the body has been copied into messages
    for marker in markers {
        if marker.is_escaped {
            let backslash = marker.comment_start(body);
            current.text += &body[copied_end..backslash];
            copied_end = backslash + r"\".len();
            continue;
        }
        current.text += &body[copied_end..marker.line.start];
        messages.extend(current.finish());
        let position = positions.advance_to(marker.line.start);
        if messages.len() >= MAX_MESSAGES {
            return Err(Diagnostic::error(
                Some(position),
                format!("the prompt has more than {MAX_MESSAGES} messages"),
                "divide it among several files",
            ));
        }
        current = MessageBuilder::new(marker.role, position.line + 1);
        copied_end = marker.line.end;
    }
    current.text += &body[copied_end..];
    messages.extend(current.finish());
    if messages.is_empty() {
        messages.push(MessageTemplate::new(
            Role::User,
            String::new(),
            body_position,
        ));
    }
    Ok(messages)
}

/// A message that is still being read.
struct MessageBuilder {
    role: Role,
    /// The line of the file in which the text begins.
    first_line: usize,
    text: String,
}

impl MessageBuilder {
    fn new(role: Role, first_line: usize) -> MessageBuilder {
        MessageBuilder {
            role,
            first_line,
            text: String::new(),
        }
    }

    /// Returns the message, or `None` if it is blank.
    fn finish(self) -> Option<MessageTemplate> {
        let body = trim_blank_lines(&self.text);
        if body.text.is_empty() {
            return None;
        }
        let position = BodyPosition::at_line(self.first_line + body.leading_blank_lines);
        Some(MessageTemplate::new(
            self.role,
            body.text.to_owned(),
            position,
        ))
    }
}

/// A line such as `<!-- user -->`, which starts a message unless it is escaped.
pub(crate) struct Marker {
    /// The byte range of the line in the body, including its indentation and line ending.
    pub(crate) line: Range<usize>,
    role: Role,
    /// Whether a backslash precedes the comment, so that the line is text.
    is_escaped: bool,
}

impl Marker {
    /// Returns the text of the marker for a role.
    pub(crate) fn text_for(role: Role) -> &'static str {
        match role {
            Role::User => "<!-- user -->",
            Role::Assistant => "<!-- assistant -->",
        }
    }

    /// Returns the offset of the comment, or of the backslash before it. `body` must be the text in
    /// which the marker was found.
    pub(crate) fn comment_start(&self, body: &str) -> usize {
        let text = body[self.line.clone()].trim_start();
        self.line.end - text.len()
    }
}

/// Finds all markers of a body, in order and including escaped ones: the lines `<!-- user -->`,
/// `<!-- system -->` and `<!-- assistant -->`, in any case and with any blanks. Code blocks are
/// skipped.
pub(crate) fn find_markers(body: &str) -> Vec<Marker> {
    // A shortcut for the many bodies without comments.
    if memchr::memmem::find(body.as_bytes(), b"<!--").is_none() {
        return Vec::new();
    }
    let mut markers = Vec::new();
    let mut line_start = 0;
    for line in body.split_inclusive('\n') {
        let line_end = line_start + line.len();
        let text = line.trim();
        let comment = text.strip_prefix('\\').unwrap_or(text);
        if let Some(role) = role_of_marker(comment) {
            markers.push(Marker {
                line: line_start..line_end,
                role,
                is_escaped: text.starts_with('\\'),
            });
        }
        line_start = line_end;
    }
    if !markers.is_empty() {
        let code = Code::find_in(body);
        // The range of an indented code block excludes the indentation of its first line, so the
        // start of the marker's line would be outside of it.
        markers.retain(|marker| !code.contains(marker.comment_start(body)));
    }
    markers
}

/// Returns the role that a marker starts. Case and blanks don't matter: `<!--Assistant-->`. MCP has
/// no system role, so `system` is the user's.
fn role_of_marker(comment: &str) -> Option<Role> {
    let word = comment.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    ROLE_WORDS
        .into_iter()
        .find(|role_word| role_word.eq_ignore_ascii_case(word))
        .map(role_of_word)
}

/// The words that stand for a role in a marker.
const ROLE_WORDS: [&str; 3] = ["user", "system", "assistant"];

/// Returns the role that one of [`ROLE_WORDS`] stands for.
fn role_of_word(role_word: &str) -> Role {
    if role_word == "assistant" {
        Role::Assistant
    } else {
        Role::User
    }
}

/// Returns the role that other programs call by this word: `model` is the assistant in Gemini's
/// API, and `human` the user in LangChain. Returns `None` for any other word.
fn role_in_other_programs(word: &str) -> Option<Role> {
    match word.to_lowercase().as_str() {
        "model" | "ai" | "bot" => Some(Role::Assistant),
        "human" => Some(Role::User),
        _ => None,
    }
}

/// The most words in a comment that may be a misspelled marker. Longer comments are notes.
const MAX_WORDS_IN_MARKER: usize = 3;

/// Returns the role of a line that looks like a marker but isn't one, such as `<!-- assistant:
/// -->`, `<!-- asistant -->` or `<!-- user --> Hello`. Returns `None` for any other line.
fn role_of_misspelled_marker(line: &str) -> Option<Role> {
    let text = line.trim();
    let is_comment = text.starts_with("<!") || text.starts_with("<-");
    if !is_comment || role_of_marker(text).is_some() {
        return None;
    }
    let (comment, text_after) = text.split_once("-->").unwrap_or((text, ""));
    let words: Vec<&str> = comment
        .split(|letter: char| !letter.is_alphabetic())
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS_IN_MARKER + 1)
        .collect();
    if words.len() > MAX_WORDS_IN_MARKER {
        return None;
    }
    if let [only] = words[..]
        && text_after.is_empty()
        && let Some(role) = role_in_other_programs(only)
    {
        return Some(role);
    }
    ROLE_WORDS
        .into_iter()
        .find(|role_word| words.iter().any(|word| is_typo_of(word, role_word)))
        .map(role_of_word)
}
