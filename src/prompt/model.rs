//! A prompt, its arguments, and its summary for lists.

use super::attachment::AttachmentPath;
use super::diagnostic::{Diagnostic, Position};
use super::foreign_syntax::{self, ForeignSyntax};
use super::include::{Included, LineOrigins};
use super::name::Name;
use super::template::{INPUT, MessageTemplate, Placeholder, PlaceholderSyntax};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The body that a new file has until somebody writes the prompt.
pub(super) const DRAFT_BODY: &str = "\
Say here what the agent is to do with the text below, step by step, and what it is to answer with.

Text:
{{input}}
";

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its name.
    pub name: Name,
    /// The title of the frontmatter, else the first heading of the body.
    pub title: Option<String>,
    /// The description of the frontmatter, else the first paragraph of the body as plain text, cut
    /// after a word at 160 characters. A body without a paragraph gives its first other text, else
    /// its heading, cut in the same way.
    pub description: Option<String>,
    /// The arguments that it declares.
    pub arguments: Vec<Argument>,
    /// Words by which a list can be filtered.
    pub tags: Vec<String>,
    /// Who wrote the file, and the like.
    pub metadata: Metadata,
    /// The messages that an expansion fills in.
    pub messages: Vec<MessageTemplate>,
    /// The files and addresses that follow the messages. The library reads them at each request.
    pub attachments: Vec<AttachmentPath>,
    /// Warnings about mistakes in the frontmatter that were read leniently.
    pub(super) lenient_warnings: Vec<Diagnostic>,
    /// The keys of the file that have no meaning here.
    pub(super) ignored_keys: Vec<IgnoredKey>,
    /// How its placeholders are written.
    pub(super) syntax: &'static PlaceholderSyntax,
    /// When the input follows the text.
    pub(super) append_input: AppendInput,
    /// Whether the frontmatter says that only a command invokes the prompt.
    pub(super) forbids_mentions: bool,
    /// Whether each argument gets one word of the text, and the input is the whole text, if there
    /// are placeholders.
    pub(super) one_word_per_argument: bool,
    /// Whether the text begins with the path of the folder that its file is in.
    pub(super) has_base_directory_line: bool,
    /// The marks at which the program that the file is written for does something.
    pub(super) foreign_syntax: &'static ForeignSyntax,
    /// Where the lines of the messages come from, if it includes files.
    pub(super) origins: LineOrigins,
}

/// When the input follows a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendInput {
    /// Never: a service renders the text.
    Never,
    /// After an empty line, if the text has no placeholder.
    Paragraph,
    /// In the next line, if the text has no placeholder for the input.
    Line,
}

/// A key of a file that has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IgnoredKey {
    pub(super) key: String,
    pub(super) position: Position,
    /// Its value, as YAML in one line.
    pub(super) value: String,
}

/// The keys of the frontmatter that are for clients and people, and have no effect on the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Metadata {
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The version of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A word by which a list can be filtered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// An argument that a prompt declares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Argument {
    /// The name in `{{name}}`.
    pub name: String,
    /// The name that clients show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the argument is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call without it is an error. An argument with a default is not required.
    pub required: bool,
    /// Its value if a call does not give it, or gives an empty text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The values that it is meant for, which a client may propose. Any other value is a warning,
    /// or an error if the argument is `strict`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether a value that is not among the choices is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

impl Argument {
    /// Returns whether a value is empty or among the choices, or there are no choices. Spaces
    /// around it make no difference, and neither do composed or separate accents.
    pub fn allows(&self, value: &str) -> bool {
        let value = value.trim();
        if value.is_empty() || self.choices.is_empty() {
            return true;
        }
        self.choices
            .iter()
            .any(|choice| choice.trim().nfc().eq(value.nfc()))
    }
}

/// A prompt without its text, as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// See [`Prompt::title`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// See [`Prompt::description`].
    pub description: Option<String>,
    /// See [`Prompt::usage`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// See [`Prompt::arguments`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// See [`Prompt::tags`].
    pub tags: Vec<String>,
    /// See [`Prompt::metadata`].
    #[serde(flatten)]
    pub metadata: Metadata,
    /// See [`Prompt::takes_input`].
    pub takes_input: bool,
    /// See [`Prompt::is_unedited_draft`].
    #[serde(rename = "is_template", skip_serializing_if = "std::ops::Not::not")]
    pub is_unedited_draft: bool,
}

impl Summary {
    /// See [`Prompt::value_names`].
    pub fn value_names(&self) -> Vec<&str> {
        value_names(&self.arguments, self.takes_input)
    }
}

impl Prompt {
    /// Creates a prompt that a service renders, so that it has no messages of its own.
    #[cfg(feature = "openapi")]
    pub(crate) fn for_service(
        name: Name,
        title: Option<String>,
        description: Option<String>,
        arguments: Vec<Argument>,
    ) -> Prompt {
        Prompt {
            title,
            description,
            arguments,
            append_input: AppendInput::Never,
            ..Prompt::new(name, &PlaceholderSyntax::OWN)
        }
    }

    /// Creates an empty prompt.
    pub(super) fn new(name: Name, syntax: &'static PlaceholderSyntax) -> Prompt {
        Prompt {
            name,
            title: None,
            description: None,
            arguments: Vec::new(),
            tags: Vec::new(),
            metadata: Metadata::default(),
            messages: Vec::new(),
            attachments: Vec::new(),
            lenient_warnings: Vec::new(),
            ignored_keys: Vec::new(),
            syntax,
            append_input: AppendInput::Paragraph,
            forbids_mentions: false,
            one_word_per_argument: false,
            has_base_directory_line: false,
            foreign_syntax: &foreign_syntax::OWN,
            origins: LineOrigins::default(),
        }
    }

    /// Returns whether the prompt's name in the middle of a message invokes it: it needs no
    /// arguments, and its file does not say `mention: false`.
    pub fn may_be_mentioned(&self) -> bool {
        !self.forbids_mentions && !self.arguments.iter().any(|argument| argument.required)
    }

    /// Returns whether a service renders the prompt. Only the library calls services.
    pub fn is_rendered_by_service(&self) -> bool {
        self.append_input == AppendInput::Never
    }

    /// Returns a skill with a line before its text that names its folder, as in Claude Code, so
    /// that its scripts and references are found. The path is never searched for placeholders.
    /// Other prompts stay as they are.
    #[must_use]
    pub fn with_base_directory(mut self, folder: &str) -> Prompt {
        if self.has_base_directory_line
            && let Some(first) = self.messages.first_mut()
        {
            first.set_preamble(format!("Base directory for this skill: {folder}\n\n"));
        }
        self
    }

    /// Returns the placeholder of an argument, or of the [input](INPUT), as its file writes it:
    /// `{{name}}`, `$NAME`.
    pub fn placeholder(&self, name: &str) -> String {
        self.syntax.format_placeholder(name)
    }

    /// Splits a text, such as the whole file, at the placeholders of the prompt.
    pub fn parse_template(&self, text: &str) -> MessageTemplate {
        let names = self.arguments.iter().map(|argument| argument.name.as_str());
        MessageTemplate::parse(self.syntax, text, 1, names)
    }

    /// Returns all placeholders, in the order of the messages.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.messages.iter().flat_map(MessageTemplate::placeholders)
    }

    /// Returns whether the expansion contains the input: as `{{input}}`, or after the body.
    pub fn takes_input(&self) -> bool {
        self.appends_input() || self.has_input_placeholder()
    }

    /// Returns whether the input follows the body, because the body has no place for it.
    pub fn appends_input(&self) -> bool {
        match self.append_input {
            AppendInput::Never => false,
            // In a file of this program, any placeholder shows that the author placed all values.
            AppendInput::Paragraph => !self.has_placeholders(),
            AppendInput::Line => !self.has_input_placeholder(),
        }
    }

    /// Returns the text between the body and an input that follows it: an empty line, and for
    /// fabric the end of the line.
    pub fn input_separator(&self) -> &'static str {
        if self.append_input == AppendInput::Line {
            "\n"
        } else {
            "\n\n"
        }
    }

    /// Returns whether the body is still the one that [`draft`](super::draft) writes.
    pub fn is_unedited_draft(&self) -> bool {
        match self.messages.as_slice() {
            [only] => only.body().trim() == DRAFT_BODY.trim(),
            _ => false,
        }
    }

    /// Returns the names by which a call may give values: the arguments, and `input` if the
    /// expansion contains it.
    pub fn value_names(&self) -> Vec<&str> {
        value_names(&self.arguments, self.takes_input())
    }

    /// Returns everything but the text.
    pub fn summary(&self) -> Summary {
        Summary {
            title: self.title.clone(),
            description: self.description.clone(),
            usage: self.usage(),
            arguments: self.arguments.clone(),
            tags: self.tags.clone(),
            metadata: self.metadata.clone(),
            takes_input: self.takes_input(),
            is_unedited_draft: self.is_unedited_draft(),
        }
    }

    /// Returns the files that the prompt includes, in the order in which they first appear.
    pub fn included(&self) -> &[Included] {
        &self.origins.files
    }

    /// Returns whether the prompt is a template of Jinja.
    pub fn is_jinja(&self) -> bool {
        self.messages
            .iter()
            .any(|message| message.jinja().is_some())
    }

    pub(super) fn has_placeholders(&self) -> bool {
        self.placeholders().next().is_some()
    }

    /// Returns whether the body has a placeholder for this argument, or a service gets its value.
    pub(super) fn uses_argument(&self, argument: &Argument) -> bool {
        self.is_rendered_by_service() || self.has_placeholder(&argument.name)
    }

    /// Returns whether the input is one of the parts of a text that is divided.
    pub(super) fn has_input_slot(&self) -> bool {
        self.has_input_placeholder() || (self.has_placeholders() && self.appends_input())
    }

    /// Returns whether each argument gets one word of the text, and the input is the whole text.
    ///
    /// Claude Code and Codex divide it so for `$name` and `$1`, and this program if the frontmatter
    /// has `words: true`.
    pub(crate) fn gives_one_word_per_argument(&self) -> bool {
        self.one_word_per_argument && self.has_placeholders()
    }

    /// Returns whether a placeholder stands for the input. If an argument is called `input`, its
    /// placeholder stands for that argument.
    pub(super) fn has_input_placeholder(&self) -> bool {
        let is_argument = self.arguments.iter().any(|argument| argument.name == INPUT);
        !is_argument && self.has_placeholder(INPUT)
    }

    fn has_placeholder(&self, name: &str) -> bool {
        self.placeholders()
            .any(|placeholder| placeholder.name == name)
    }
}

fn value_names(arguments: &[Argument], takes_input: bool) -> Vec<&str> {
    let mut names = Vec::with_capacity(arguments.len() + 1);
    for argument in arguments {
        names.push(argument.name.as_str());
    }
    if takes_input && !names.contains(&INPUT) {
        names.push(INPUT);
    }
    names
}
