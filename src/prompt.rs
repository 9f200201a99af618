//! Prompts: from the bytes of a file to a [`Prompt`], and from a prompt and a [`Call`] to [`Messages`].
//!
//! Pure: no I/O, no clock, no environment, no protocol.
//!
//! | | |
//! |---|---|
//! | a file becomes a prompt | [`Format::parse`], in `format/` |
//! | a call becomes values | [`Prompt::bind`], in `binding.rs` |
//! | values become a text | [`Prompt::expand`], in `template.rs` |
//! | a test file is read, and a case of it compared | [`Tests::parse`], [`Case::run`], in `golden.rs` |
//! | files become one text | [`Format::parse_with`], in `include.rs` |
//! | a template decides | `engine: jinja`, in `jinja.rs` |
//! | parts of a file are changed | [`edit`], in `format/markdown_editor.rs` |
//! | a prompt is written in another format | [`import`], [`export`], in `conversion.rs` |
//! | what `check` warns of | [`Prompt::warnings`], in `lint.rs` and `foreign_marks.rs` |
//! | whose files are prompts | [`System`], in `system.rs` |
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod attachment;
mod binding;
mod conversion;
mod diagnostic;
mod foreign_marks;
mod format;
mod golden;
mod include;
mod jinja;
mod limits;
mod lint;
mod message;
mod name;
mod outline;
pub(crate) mod suggestion;
mod system;
mod template;
mod unexpanded;

pub use attachment::{Attachment, AttachmentPath, Content, Media};
pub use binding::{Binding, Bound, Call, NotAChoice, Origin, join_piped};
pub use conversion::{Conversion, ExportFormat, export, import};
#[cfg(feature = "openapi")]
pub(crate) use diagnostic::Positions;
pub use diagnostic::{Diagnostic, Position, Severity};
pub use format::draft::{DraftError, draft, draft_around};
pub use format::markdown_editor::{Body, EDIT_THE_FILE, Parts, edit};
#[cfg(feature = "openapi")]
pub(crate) use format::yaml;
pub use format::{Format, hexai_prompts, not_utf8, too_large};
pub use golden::{Case, Failure, Outcome, TEST_SUFFIX, Tests, draft_tests, tests_too_large};
use include::Origins;
pub use include::{IncludeReader, IncludedFile};
use jinja::{Rendered, Renderer};
pub use limits::{
    LONG, MAX_ARGUMENTS, MAX_ATTACHED, MAX_ATTACHMENT, MAX_ATTACHMENTS, MAX_CASES, MAX_DEPTH, MAX_EXPANSION, MAX_FILE,
    MAX_FILTERED, MAX_FRONTMATTER, MAX_ICON, MAX_ICONS, MAX_INCLUDE_DEPTH, MAX_INCLUDES, MAX_MESSAGES, MAX_NAME,
    MAX_READ, MAX_SEARCHES, MAX_STEPS, MAX_TEMPLATE_NESTING, MAX_TEMPLATE_TOKENS, MAX_WEIGHT,
};
pub use message::{Message, Messages, Piece, Role};
use name::half_width;
pub(crate) use name::{COLONS, fold, not_a_command, spelled_as_typed, spellings, strip};
pub use name::{InvalidName, Name};
pub use system::{FileName, System, is_partial};
use template::Syntax;
pub use template::{INPUT, MessageTemplate, Placeholder};
pub use unexpanded::{Reason, Unexpanded};

use crate::wording::{all_of, named, quoted};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use unicode_normalization::UnicodeNormalization;

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// How its file is written.
    pub format: Format,
    /// Its name.
    pub name: Name,
    /// The title of the frontmatter, else the first heading of the body.
    pub title: Option<String>,
    /// The description of the frontmatter, else the first paragraph of the body as plain text, cut after a word at 160
    /// characters. A body without a paragraph gives its first other text, else its heading, cut in the same way.
    pub description: Option<String>,
    /// The arguments that it declares.
    pub arguments: Vec<Argument>,
    /// Words by which a list can be filtered.
    pub tags: Vec<String>,
    /// What else the frontmatter says about the file.
    pub metadata: Metadata,
    /// What it expands to.
    pub messages: Vec<MessageTemplate>,
    /// What follows the messages. The library reads it at each request.
    pub attachments: Vec<AttachmentPath>,
    /// What was read leniently in the frontmatter.
    lenient: Vec<Diagnostic>,
    /// The keys of the file that mean something to another program only, and where they are.
    unread_keys: Vec<(String, Position)>,
    /// Whether the frontmatter says that each argument gets one word of the text, and the input is the whole text.
    has_words: bool,
    /// Where the lines of the messages come from, if it includes files.
    origins: Origins,
}

/// What a frontmatter says about its file, for clients and people; it has no effect on the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// Who wrote it.
    pub author: Option<String>,
    /// The version of the text.
    pub version: Option<String>,
    /// A word by which a list can be filtered.
    pub category: Option<String>,
    /// What clients may show next to its name.
    pub icons: Vec<Icon>,
}

/// An icon, as the protocol has it (2025-11-25, "Icons").
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Icon {
    /// The address of an image: `https://…`, or `data:image/…`.
    pub src: String,
    /// Its MIME type.
    pub mime_type: Option<String>,
    /// The sizes that it is meant for: `48x48`, or `any`.
    pub sizes: Vec<String>,
    /// The background that it is meant for: `light` or `dark`.
    pub theme: Option<String>,
}

/// An argument that a prompt declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// The name in `{{name}}`.
    pub name: String,
    /// The name that clients show.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether a call must give it, unless it has a default.
    pub required: bool,
    /// Its value if a call does not give it, or gives an empty text.
    pub default: Option<String>,
    /// The values that it is meant for, which a client may propose. Another one is a warning; see `strict`.
    pub choices: Vec<String>,
    /// Whether a value that is not among the choices is an error.
    pub strict: bool,
}

impl Argument {
    /// Whether a call without it is an error.
    pub fn is_needed(&self) -> bool {
        self.required && self.default.is_none()
    }

    /// Whether a value is empty or among the choices, or there are none. Spaces around it make no difference, and neither do
    /// composed or separate accents.
    pub fn allows(&self, value: &str) -> bool {
        let value = value.trim();
        let is_same = |choice: &String| choice.trim().nfc().eq(value.nfc());
        self.choices.is_empty() || value.is_empty() || self.choices.iter().any(is_same)
    }
}

/// A prompt without its text, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// See [`Prompt::title`].
    pub title: Option<String>,
    /// See [`Prompt::description`].
    pub description: Option<String>,
    /// See [`Prompt::usage`].
    pub usage: Option<String>,
    /// See [`Prompt::arguments`].
    pub arguments: Vec<Argument>,
    /// See [`Prompt::tags`].
    pub tags: Vec<String>,
    /// See [`Prompt::metadata`].
    pub metadata: Metadata,
    /// See [`Prompt::takes_input`].
    pub takes_input: bool,
    /// See [`Prompt::is_template`].
    pub is_template: bool,
}

impl Summary {
    /// See [`Prompt::value_names`].
    pub fn value_names(&self) -> Vec<&str> {
        value_names(&self.arguments, self.takes_input)
    }
}

/// Why an expansion failed. Its `Display` is a clause about "it", the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpandError {
    /// Required arguments were not given.
    Missing {
        /// All of them, in the order of their declaration.
        names: Vec<String>,
        /// How to call the prompt.
        usage: String,
    },
    /// A value was given by a name that the prompt does not have.
    Unknown {
        /// The name.
        name: String,
        /// The name to suggest instead.
        closest: Option<String>,
        /// All names that the prompt has.
        known: Vec<String>,
    },
    /// There is an input next to values by name, and the expansion would not contain it.
    UnusedInput {
        /// The input.
        text: String,
    },
    /// Values are not among the choices of arguments that are [strict](Argument::strict).
    NotAChoice {
        /// All of them, in the order of the declaration of their arguments.
        values: Vec<NotAChoice>,
        /// How to call the prompt.
        usage: String,
    },
    /// A part of the text belongs to no argument.
    ExtraText {
        /// The part.
        text: String,
        /// How to call the prompt.
        usage: String,
    },
    /// An attachment cannot be read, or used.
    Attachment(Box<Diagnostic>),
    /// A value is not what the service that renders the prompt takes.
    NotOfType {
        /// The argument.
        argument: String,
        /// The value.
        value: String,
        /// What the argument takes: `an integer`.
        takes: String,
    },
    /// A service renders the prompt, and did not: what it answered, or why it was not asked, and what to do.
    Service(String),
    /// A template exceeds a limit.
    Template {
        /// The included file that the line is in; `None` for the prompt's own.
        file: Option<PathBuf>,
        /// The line in that file.
        line: usize,
        /// Which limit.
        message: String,
    },
    /// The expansion would be longer than [`MAX_EXPANSION`].
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpandError::Missing { names, usage } => {
                write!(f, "it needs a value for {}; write {}", all_of(names), named(usage))
            }
            ExpandError::Unknown { name, closest, known } => {
                write!(f, "it has no argument {}", quoted(name))?;
                if let Some(closest) = closest {
                    write!(f, " (did you mean {}?)", named(closest))?;
                }
                write!(f, "; it takes {}", all_of(known))
            }
            ExpandError::UnusedInput { text } => write!(
                f,
                "it was given values by name, and has no placeholder for the text {}; give everything by name, or nothing",
                quoted(text)
            ),
            ExpandError::NotAChoice { values, usage } => {
                let values: Vec<String> = values.iter().map(NotAChoice::to_string).collect();
                write!(f, "{}; write {}", values.join(", and "), named(usage))
            }
            ExpandError::ExtraText { text, usage } => write!(
                f,
                "{} belongs to none of its arguments; write {}, with quotes around a value of several words",
                quoted(text),
                named(usage)
            ),
            ExpandError::Attachment(diagnostic) => diagnostic.fmt(f),
            ExpandError::NotOfType { argument, value, takes } => {
                write!(f, "{} takes {takes}, not {}", named(argument), quoted(value))
            }
            ExpandError::Service(message) => f.write_str(message),
            ExpandError::Template { file, line, message } => {
                let of_file = file.as_ref().map(|file| format!(" of {}", quoted(&file.display().to_string())));
                write!(f, "its template fails in line {line}{}: {message}", of_file.unwrap_or_default())
            }
            ExpandError::TooLong { length } => {
                write!(f, "it would become {length} bytes long, the limit is {MAX_EXPANSION}; shorten the input")
            }
        }
    }
}

impl std::error::Error for ExpandError {}

impl Prompt {
    /// A prompt that a service renders, so that it has no messages before that.
    #[cfg(feature = "openapi")]
    pub(crate) fn of_service(
        name: Name,
        title: Option<String>,
        description: Option<String>,
        arguments: Vec<Argument>,
    ) -> Prompt {
        Prompt {
            format: Format::OpenApiOperation,
            name,
            title,
            description,
            arguments,
            tags: Vec::new(),
            metadata: Metadata::default(),
            messages: Vec::new(),
            attachments: Vec::new(),
            lenient: Vec::new(),
            unread_keys: Vec::new(),
            has_words: false,
            origins: Origins::default(),
        }
    }

    /// Whether a service renders it, which only the library calls.
    pub fn is_remote(&self) -> bool {
        self.format == Format::OpenApiOperation
    }

    /// The prompt, with the line before its text by which a skill's scripts and references are found, as in Claude Code.
    /// `folder` is the path of the skill's folder; it is never searched for placeholders. Other prompts stay as they are.
    #[must_use]
    pub fn with_base_directory(mut self, folder: &str) -> Prompt {
        if self.format == Format::Skill
            && let Some(first) = self.messages.first_mut()
        {
            first.set_preamble(format!("Base directory for this skill: {folder}\n\n"));
        }
        self
    }

    /// The messages that a model gets for a call, without the attachments.
    ///
    /// A prompt without any placeholder is followed by an empty line and the input, unless the input is empty; an empty
    /// prompt is the input alone, and after a message of the assistant the input is a message of its own. Of several messages, those
    /// that are empty are left out. A prompt of fabric or of llm is followed by the input if it has no placeholder for that.
    ///
    /// # Errors
    /// See [`ExpandError`]. An expansion that is too long is refused before it is allocated. A [remote](Prompt::is_remote)
    /// prompt always is an error.
    pub fn expand(&self, call: Call<'_>) -> Result<Messages, ExpandError> {
        self.expand_with(call, |pieces| pieces.map(Piece::as_str).collect())
    }

    /// The same, with a text of each message that `join` makes from its pieces, which it may change.
    ///
    /// # Errors
    /// Those of [`Prompt::expand`].
    pub fn expand_with(
        &self,
        call: Call<'_>,
        join: impl Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> Result<Messages, ExpandError> {
        let binding = self.bind(call);
        if let Some(error) = binding.error {
            return Err(error);
        }
        if self.is_remote() {
            return Err(ExpandError::Service("a service renders it, which is not called here".to_owned()));
        }
        let appended = match &binding.input {
            Some(input) if self.appends_input() => input,
            _ => "",
        };
        let rendered = self.render(&binding)?;
        let is_empty = |index: usize| match rendered.get(index) {
            Some(rendered) => rendered.is_empty(),
            None => self.messages[index].body().is_empty(),
        };
        let groups: Vec<Range<usize>> = self.groups().collect();
        let last = self.messages.len().checked_sub(1);
        // Nobody's text becomes that of the model.
        let is_appended = last.is_some_and(|last| self.messages[last].role == Role::User);
        let pieces = |index: usize| {
            let is_last = is_appended && index + 1 == groups.len();
            let appended = if is_last { appended } else { "" };
            let is_alone = appended.is_empty() || last.is_none_or(is_empty);
            let separator = if is_alone { "" } else { self.separator() };
            let first = groups[index].clone().find(|index| !is_empty(*index));
            let (rendered, binding) = (&rendered, &binding);
            let parts = groups[index].clone().flat_map(move |index| {
                let is_first = first.is_none_or(|first| index <= first);
                let gap = if is_first || is_empty(index) { "" } else { "\n\n" };
                let of_template = rendered.get(index).map(Rendered::pieces);
                let plain = of_template.is_none().then(|| self.messages[index].pieces(|name| binding.value(name)));
                let pieces = of_template.into_iter().flatten().chain(plain.into_iter().flatten());
                std::iter::once(Piece::Text(gap)).chain(pieces)
            });
            parts.chain([Piece::Text(separator), Piece::Value(appended)])
        };
        let lengths = (0..groups.len()).flat_map(&pieces).map(|piece| piece.as_str().len());
        let length = lengths.fold(if is_appended { 0 } else { appended.len() }, usize::saturating_add);
        if length > MAX_EXPANSION {
            return Err(ExpandError::TooLong { length });
        }
        let role = |index: usize| self.messages[groups[index].start].role;
        let message = |index: usize| Message { role: role(index), text: join(&mut pieces(index)) };
        let mut messages: Vec<Message> = (0..groups.len()).map(message).collect();
        if !is_appended && !appended.is_empty() {
            messages.push(Message { role: Role::User, text: join(&mut [Piece::Value(appended)].into_iter()) });
        }
        Ok(Messages::new(messages))
    }

    /// Its messages in the [text form](Messages::to_text), with all placeholders as written.
    pub fn template_text(&self) -> String {
        let message = |group: Range<usize>| {
            let bodies: Vec<&str> = self.messages[group.clone()].iter().map(MessageTemplate::body).collect();
            Message { role: self.messages[group.start].role, text: bodies.join("\n\n") }
        };
        Messages::new(self.groups().map(message).collect()).into_text()
    }

    /// Who its messages are from, in their order.
    pub fn roles(&self) -> Vec<Role> {
        self.groups().map(|group| self.messages[group.start].role).collect()
    }

    /// The indices of the templates of each message.
    fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let mut end = 0;
        self.messages.split_inclusive(|message| !message.is_continued()).map(move |group| {
            let start = end;
            end += group.len();
            start..end
        })
    }

    /// How its file writes the placeholder of an argument, or of the [input](INPUT): `{{name}}`, `$NAME`.
    pub fn placeholder(&self, name: &str) -> String {
        Syntax::of(self.format).write(name)
    }

    /// All placeholders, in the order of the messages.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.messages.iter().flat_map(MessageTemplate::placeholders)
    }

    /// Whether the expansion contains the input: as `{{input}}`, or after the body.
    pub fn takes_input(&self) -> bool {
        self.appends_input() || self.has_input_placeholder()
    }

    /// Whether the input follows the body.
    pub fn appends_input(&self) -> bool {
        match self.format {
            Format::OpenApiOperation => false,
            Format::FabricPattern | Format::LlmTemplate => !self.has_input_placeholder(),
            _ => !self.has_placeholders(),
        }
    }

    /// What is between the body and an input that follows it: an empty line, and in fabric the end of the line.
    pub fn separator(&self) -> &'static str {
        if self.format == Format::FabricPattern { "\n" } else { "\n\n" }
    }

    /// Whether the body is still the one that [`draft`] writes, to be filled in.
    pub fn is_template(&self) -> bool {
        matches!(self.messages.as_slice(), [message] if format::draft::is_template_body(message.body()))
    }

    /// The names by which a call may give values: the arguments, and `input` if the expansion contains it.
    pub fn value_names(&self) -> Vec<&str> {
        value_names(&self.arguments, self.takes_input())
    }

    /// Everything but the text.
    pub fn summary(&self) -> Summary {
        Summary {
            title: self.title.clone(),
            description: self.description.clone(),
            usage: self.usage(),
            arguments: self.arguments.clone(),
            tags: self.tags.clone(),
            metadata: self.metadata.clone(),
            takes_input: self.takes_input(),
            is_template: self.is_template(),
        }
    }

    /// What in double braces or angle brackets is not a placeholder, in the order of the text.
    pub fn unexpanded(&self) -> Vec<Unexpanded> {
        unexpanded::unexpanded(self)
    }

    /// Everything about the file that works, but perhaps not as its author expects: what was read leniently, and what is
    /// probably a mistake, in the order of the file.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.lenient.clone();
        warnings.extend(lint::lint(self));
        if self.format == Format::HexaiPrompt {
            // The file has a prompt in each line.
            let line = self.messages.first().map_or(1, MessageTemplate::first_line);
            let of_line = |warning: &mut Diagnostic| {
                warning.position.get_or_insert(Position { line, column: 1 });
            };
            warnings.iter_mut().for_each(of_line);
        }
        warnings.sort_by_key(|warning| warning.position);
        warnings.into_iter().map(|warning| self.origins.locate(warning)).collect()
    }

    /// The files that it includes, in the order in which they first appear.
    pub fn included(&self) -> &[IncludedFile] {
        &self.origins.files
    }

    /// Whether it is a template of Jinja.
    pub fn is_jinja(&self) -> bool {
        self.messages.iter().any(|message| message.jinja().is_some())
    }

    /// The texts of the messages, if they are templates of Jinja.
    fn render(&self, binding: &Binding<'_>) -> Result<Vec<Rendered>, ExpandError> {
        if !self.is_jinja() {
            return Ok(Vec::new());
        }
        let names = self.arguments.iter().map(|argument| argument.name.as_str());
        let is_declared = self.arguments.iter().any(|argument| argument.name == INPUT);
        let names = names.chain((!is_declared).then_some(INPUT));
        let mut renderer = Renderer::new(names.map(|name| (name, binding.value(name))));
        let render = |message: &MessageTemplate| match message.jinja() {
            None => Ok(Rendered::default()),
            Some(template) => renderer.render(template).map_err(|failure| {
                let line = message.first_line() + failure.line.saturating_sub(1);
                let (file, Position { line, .. }) = self.origins.of(Position { line, column: 1 });
                ExpandError::Template { file: file.map(|file| file.path.clone()), line, message: failure.message }
            }),
        };
        self.messages.iter().map(render).collect()
    }

    fn has_placeholders(&self) -> bool {
        self.placeholders().next().is_some()
    }

    /// Whether the body has a placeholder for this argument, or the service gets it.
    fn uses(&self, argument: &Argument) -> bool {
        self.is_remote() || self.placeholders().any(|placeholder| placeholder.name == argument.name)
    }

    /// Whether the input is one of the parts of a text that is divided.
    fn input_is_slot(&self) -> bool {
        self.has_input_placeholder() || (self.has_placeholders() && self.appends_input())
    }

    /// Whether each argument gets one word of the text, and the input is the whole text. So Claude Code and Codex divide it
    /// for `$name` and `$1`, and this program if the frontmatter has `words: true`.
    pub(crate) fn takes_words(&self) -> bool {
        match self.format {
            Format::ClaudeCommand | Format::Skill => {
                let is_bare =
                    |message: &MessageTemplate| message.placeholders().any(|it| message.written(it).starts_with('$'));
                self.messages.iter().any(is_bare)
            }
            Format::CodexPrompt => self.has_placeholders() && self.arguments.iter().all(|argument| !argument.required),
            _ => self.has_words && self.has_placeholders(),
        }
    }

    /// Whether a placeholder stands for the whole input; an argument may have the name `input` too.
    fn has_input_placeholder(&self) -> bool {
        let is_argument = self.arguments.iter().any(|argument| argument.name == INPUT);
        !is_argument && self.placeholders().any(|placeholder| placeholder.name == INPUT)
    }
}

fn value_names(arguments: &[Argument], takes_input: bool) -> Vec<&str> {
    let takes_input = takes_input && arguments.iter().all(|argument| argument.name != INPUT);
    arguments.iter().map(|argument| argument.name.as_str()).chain(takes_input.then_some(INPUT)).collect()
}
