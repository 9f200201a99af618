//! A prompt, its arguments, and what lists show of it.

use super::attachment::AttachmentPath;
use super::diagnostic::{Diagnostic, Position};
use super::include::{Included, Origins};
use super::marks::{self, Marks};
use super::name::Name;
use super::template::{INPUT, MessageTemplate, Placeholder, Syntax};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The body of a file that is to be filled in.
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
    /// What else the frontmatter says about the file.
    pub metadata: Metadata,
    /// What it expands to.
    pub messages: Vec<MessageTemplate>,
    /// What follows the messages. The library reads it at each request.
    pub attachments: Vec<AttachmentPath>,
    /// What was read leniently in the frontmatter.
    pub(super) lenient: Vec<Diagnostic>,
    /// The keys of the file that have no meaning here.
    pub(super) other_keys: Vec<OtherKey>,
    /// How its placeholders are written.
    pub(super) syntax: &'static Syntax,
    /// When the input follows the text.
    pub(super) append: Append,
    /// Whether the frontmatter says that only a command invokes it.
    pub(super) forbids_mentions: bool,
    /// Whether the frontmatter says that each argument gets one word of the text, and the input is
    /// the whole text.
    pub(super) has_words: bool,
    /// Whether the text begins with the path of the folder that its file is in.
    pub(super) names_its_folder: bool,
    /// At which marks the program that its file is written for does something.
    pub(super) marks: &'static Marks,
    /// Where the lines of the messages come from, if it includes files.
    pub(super) origins: Origins,
}

/// When the input follows a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Append {
    /// Never: a service renders the text.
    Never,
    /// After an empty line, if the text has no placeholder.
    Paragraph,
    /// In the next line, if the text has no placeholder for the input.
    Line,
}

/// A key of a file that has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OtherKey {
    pub(super) key: String,
    pub(super) position: Position,
    /// Its value, as YAML in one line.
    pub(super) value: String,
}

/// What a frontmatter says about its file, for clients and people; it has no effect on the prompt.
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
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call without it is an error. One with a default is not required.
    pub required: bool,
    /// Its value if a call does not give it, or gives an empty text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The values that it is meant for, which a client may propose. Another one is a warning; see
    /// `strict`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether a value that is not among the choices is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

impl Argument {
    /// Whether a value is empty or among the choices, or there are none. Spaces around it make no
    /// difference, and neither do composed or separate accents.
    pub fn allows(&self, value: &str) -> bool {
        let value = value.trim();
        let is_same = |choice: &String| choice.trim().nfc().eq(value.nfc());
        self.choices.is_empty() || value.is_empty() || self.choices.iter().any(is_same)
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
    /// A prompt that a service renders, so that it has no messages before that.
    #[cfg(feature = "openapi")]
    pub(crate) fn of_service(
        name: Name,
        title: Option<String>,
        description: Option<String>,
        arguments: Vec<Argument>,
    ) -> Prompt {
        Prompt {
            title,
            description,
            arguments,
            append: Append::Never,
            ..Prompt::new(name, &Syntax::OWN)
        }
    }

    /// An empty prompt.
    pub(super) fn new(name: Name, syntax: &'static Syntax) -> Prompt {
        Prompt {
            name,
            title: None,
            description: None,
            arguments: Vec::new(),
            tags: Vec::new(),
            metadata: Metadata::default(),
            messages: Vec::new(),
            attachments: Vec::new(),
            lenient: Vec::new(),
            other_keys: Vec::new(),
            syntax,
            append: Append::Paragraph,
            forbids_mentions: false,
            has_words: false,
            names_its_folder: false,
            marks: &marks::OWN,
            origins: Origins::default(),
        }
    }

    /// Whether its name in the middle of a message stands for it: it needs no arguments, and its
    /// file does not say `mention: false`.
    pub fn may_be_mentioned(&self) -> bool {
        !self.forbids_mentions && !self.arguments.iter().any(|argument| argument.required)
    }

    /// Whether a service renders it, which only the library calls.
    pub fn is_rendered_by_service(&self) -> bool {
        self.append == Append::Never
    }

    /// The prompt, with the line before its text by which a skill's scripts and references are
    /// found, as in Claude Code. `folder` is the path of the skill's folder; it is never searched
    /// for placeholders. Other prompts stay as they are.
    #[must_use]
    pub fn with_base_directory(mut self, folder: &str) -> Prompt {
        if self.names_its_folder
            && let Some(first) = self.messages.first_mut()
        {
            first.set_preamble(format!("Base directory for this skill: {folder}\n\n"));
        }
        self
    }

    /// How its file writes the placeholder of an argument, or of the [input](INPUT): `{{name}}`,
    /// `$NAME`.
    pub fn placeholder(&self, name: &str) -> String {
        self.syntax.write(name)
    }

    /// A text, such as the whole file, split at the placeholders of the prompt.
    pub fn template_of(&self, text: &str) -> MessageTemplate {
        MessageTemplate::parse(
            self.syntax,
            text,
            1,
            self.arguments.iter().map(|argument| argument.name.as_str()),
        )
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
        match self.append {
            Append::Never => false,
            Append::Paragraph => !self.has_placeholders(),
            Append::Line => !self.has_input_placeholder(),
        }
    }

    /// What is between the body and an input that follows it: an empty line, and in fabric the end
    /// of the line.
    pub fn separator(&self) -> &'static str {
        if self.append == Append::Line {
            "\n"
        } else {
            "\n\n"
        }
    }

    /// Whether the body is still the one that [`draft`](super::draft) writes, to be filled in.
    pub fn is_unedited_draft(&self) -> bool {
        matches!(self.messages.as_slice(), [message] if message.body().trim() == DRAFT_BODY.trim())
    }

    /// The names by which a call may give values: the arguments, and `input` if the expansion
    /// contains it.
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
            is_unedited_draft: self.is_unedited_draft(),
        }
    }

    /// The files that it includes, in the order in which they first appear.
    pub fn included(&self) -> &[Included] {
        &self.origins.files
    }

    /// Whether it is a template of Jinja.
    pub fn is_jinja(&self) -> bool {
        self.messages
            .iter()
            .any(|message| message.jinja().is_some())
    }

    /// The warnings about what other programs would do at marks in a message.
    pub(super) fn foreign_marks(&self, message: &MessageTemplate) -> Vec<Diagnostic> {
        let is_of_commands = |other: &OtherKey| other.key == "argument-hint";
        marks::warnings(
            self.marks,
            &self.messages,
            message,
            self.other_keys.iter().any(is_of_commands),
        )
    }

    pub(super) fn has_placeholders(&self) -> bool {
        self.placeholders().next().is_some()
    }

    /// Whether the body has a placeholder for this argument, or the service gets it.
    pub(super) fn uses(&self, argument: &Argument) -> bool {
        self.is_rendered_by_service()
            || self
                .placeholders()
                .any(|placeholder| placeholder.name == argument.name)
    }

    /// Whether the input is one of the parts of a text that is divided.
    pub(super) fn input_is_slot(&self) -> bool {
        self.has_input_placeholder() || (self.has_placeholders() && self.appends_input())
    }

    /// Whether each argument gets one word of the text, and the input is the whole text. So Claude
    /// Code and Codex divide it for `$name` and `$1`, and this program if the frontmatter has
    /// `words: true`.
    pub(crate) fn takes_words(&self) -> bool {
        self.has_words && self.has_placeholders()
    }

    /// Whether a placeholder stands for the whole input; an argument may have the name `input` too.
    pub(super) fn has_input_placeholder(&self) -> bool {
        let is_argument = self.arguments.iter().any(|argument| argument.name == INPUT);
        !is_argument
            && self
                .placeholders()
                .any(|placeholder| placeholder.name == INPUT)
    }
}

fn value_names(arguments: &[Argument], takes_input: bool) -> Vec<&str> {
    let takes_input = takes_input && arguments.iter().all(|argument| argument.name != INPUT);
    arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .chain(takes_input.then_some(INPUT))
        .collect()
}
