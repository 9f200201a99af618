//! Prompts, their arguments, and the summaries that lists show.

use super::attachment::AttachmentPath;
use super::diagnostic::{Diagnostic, Position};
use super::foreign_syntax::{self, ForeignSyntax};
use super::include::{Included, LineOrigins};
use super::name::Name;
use super::placeholder::Extent;
use super::template::{INPUT, MessageTemplate, Placeholder, PlaceholderSyntax};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The placeholder body that `new` writes until the author replaces it.
pub(super) const DRAFT_BODY: &str = "\
Say here what the agent is to do with the text below, step by step, and what it is to answer with.

Text:
{{input}}
";

/// A parsed prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The name by which the prompt is called.
    pub name: Name,
    /// The `title` in the frontmatter, or, if the frontmatter has no description either, the first
    /// heading of the body.
    pub title: Option<String>,
    /// The `description` in the frontmatter, or the first paragraph of the body as plain text,
    /// truncated to 160 characters at a word boundary.
    ///
    /// If the body has no paragraph, its first other text is used, and if it has none, its heading.
    pub description: Option<String>,
    /// The declared arguments, in order.
    pub arguments: Vec<Argument>,
    /// The tags by which lists can be filtered.
    pub tags: Vec<String>,
    /// Information for people and clients, e.g. the author.
    pub metadata: Metadata,
    /// The message templates, in order.
    pub messages: Vec<MessageTemplate>,
    /// The files and URLs to attach after the messages. Files are read anew for each request.
    pub attachments: Vec<AttachmentPath>,
    /// Warnings about errors in the file that didn't prevent parsing: in the frontmatter, or in a
    /// file that is imported.
    pub(super) lenient_warnings: Vec<Diagnostic>,
    /// The keys in the file that have no effect.
    pub(super) ignored_keys: Vec<IgnoredKey>,
    /// The notation of the placeholders.
    pub(super) syntax: &'static PlaceholderSyntax,
    /// Whether the description was derived from the body, because the file has none.
    pub(super) is_description_derived: bool,
    /// When the input is appended to the body.
    pub(super) append_input: AppendInput,
    /// Whether the frontmatter forbids invoking the prompt by a mention within a message.
    pub(super) forbids_mentions: bool,
    /// Whether the frontmatter keeps the prompt out of agents' own menus.
    pub(super) forbids_menu: bool,
    /// Whether each argument gets one word of the text, and the input is the whole text. Has no
    /// effect if the body contains no placeholders.
    pub(super) one_word_per_argument: bool,
    /// Whether the text starts with a line that names the folder of its file, as skills do.
    pub(super) has_base_directory_line: bool,
    /// The constructs that the file's original program handles, but we don't.
    pub(super) foreign_syntax: &'static ForeignSyntax,
    /// The source of each line of the messages, if the prompt includes files.
    pub(super) origins: LineOrigins,
}

/// When the input is appended to the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendInput {
    /// Never, because a remote service renders the prompt.
    Never,
    /// After a blank line, if the body contains no placeholder at all.
    Paragraph,
    /// On the next line, if the body contains no placeholder for the input.
    Line,
}

/// A key in a prompt file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IgnoredKey {
    pub(super) key: String,
    pub(super) position: Position,
    /// The value as single-line YAML.
    pub(super) value: String,
}

/// Frontmatter for people and clients that doesn't affect the expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Metadata {
    /// The author of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The version of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The category by which lists can be filtered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// A declared argument of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Argument {
    /// The name used in placeholders, e.g. `name` for `{{name}}`.
    pub name: String,
    /// The name that clients display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the argument is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call must provide a value. Always false for an argument with a default.
    pub required: bool,
    /// The value to use if the call provides none or an empty one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The suggested values. Any other value causes a warning, or an error if the argument is
    /// `strict`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether values other than the choices are errors.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

impl Argument {
    /// Returns whether a value is empty or one of the choices, or there are no choices.
    ///
    /// Ignores surrounding whitespace and differences in Unicode normalization.
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

/// What lists show of a prompt: everything but its messages.
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
    /// The names of the required arguments that the body doesn't use, so that a call needs no value
    /// for them. Unknown for the prompts of a team's server.
    #[serde(skip)]
    unused_required: Vec<String>,
    /// Whether the frontmatter keeps the prompt out of agents' own menus.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forbids_menu: bool,
}

impl Summary {
    /// Returns whether a call needs a value for one of the arguments.
    pub fn is_required(&self, argument: &Argument) -> bool {
        argument.required && !self.unused_required.contains(&argument.name)
    }

    /// Returns the same as [`Prompt::value_names`].
    pub fn value_names(&self) -> Vec<&str> {
        value_names(&self.arguments, self.takes_input)
    }

    /// Returns the values of a call as agents' menus show them: `<options> [criteria]`. Those in
    /// brackets can be left out.
    pub fn argument_hint(&self) -> String {
        let mut hints = Vec::new();
        for name in self.value_names() {
            let mut arguments = self.arguments.iter();
            let is_required =
                arguments.any(|argument| argument.name == name && self.is_required(argument));
            hints.push(if is_required {
                format!("<{name}>")
            } else {
                format!("[{name}]")
            });
        }
        hints.join(" ")
    }
}

impl Prompt {
    /// Creates a prompt that a remote service renders. It has no messages of its own.
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

    /// Returns the value of the key `name` in the frontmatter, which some programs use instead of
    /// the name of the file. Returns `None` if there is no such key.
    pub(crate) fn name_in_file(&self) -> Option<&str> {
        let mut keys = self.ignored_keys.iter();
        let name_key = keys.find(|ignored| ignored.key == "name")?;
        Some(&name_key.value)
    }

    /// Creates a prompt without messages.
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
            is_description_derived: false,
            append_input: AppendInput::Paragraph,
            forbids_mentions: false,
            forbids_menu: false,
            one_word_per_argument: false,
            has_base_directory_line: false,
            foreign_syntax: &foreign_syntax::OWN,
            origins: LineOrigins::default(),
        }
    }

    /// Returns whether the prompt can be invoked by a mention of its name within a message. It
    /// can't if it has required arguments, or if its file says `mention: false`.
    pub fn may_be_mentioned(&self) -> bool {
        !self.forbids_mentions && !self.arguments.iter().any(|argument| argument.required)
    }

    /// Returns whether a remote service renders the prompt. Only the library calls services.
    pub fn is_rendered_by_service(&self) -> bool {
        self.append_input == AppendInput::Never
    }

    /// Inserts a line with the skill's folder before its text, as Claude Code does, so that the
    /// agent finds its scripts and references. Prompts that aren't skills are returned unchanged.
    ///
    /// The path is not searched for placeholders.
    #[must_use]
    pub fn with_base_directory(mut self, folder: &str) -> Prompt {
        if self.has_base_directory_line
            && let Some(first) = self.messages.first_mut()
        {
            first.set_preamble(format!("Base directory for this skill: {folder}\n\n"));
        }
        self
    }

    /// Returns the placeholder for an argument, or for the input if `name` is [`INPUT`], in the
    /// notation of the prompt's file, e.g. `{{name}}` or `$NAME`.
    pub fn placeholder(&self, name: &str) -> String {
        self.syntax.format_placeholder(name)
    }

    /// Parses text, such as the whole file, with this prompt's placeholder syntax and arguments.
    pub fn parse_template(&self, text: &str) -> MessageTemplate {
        let names = self.arguments.iter().map(|argument| argument.name.as_str());
        let first_line = 1; // positions are relative to the text
        MessageTemplate::parse(self.syntax, text, first_line, names)
    }

    /// Returns all placeholders, message by message.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.messages.iter().flat_map(MessageTemplate::placeholders)
    }

    /// Returns whether the expansion contains the input, either in a placeholder or appended to the
    /// body.
    pub fn takes_input(&self) -> bool {
        self.appends_input() || self.has_input_placeholder()
    }

    /// Returns whether the input is appended to the body.
    pub fn appends_input(&self) -> bool {
        match self.append_input {
            AppendInput::Never => false,
            // An author who wrote any placeholder has decided where each value goes.
            AppendInput::Paragraph => !self.has_placeholders(),
            AppendInput::Line => !self.has_input_placeholder(),
        }
    }

    /// Returns the separator between the body and the appended input: a blank line, or a line break
    /// for fabric prompts.
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

    /// Returns the names by which a call can pass values: the arguments, and `input` if the prompt
    /// uses it.
    pub fn value_names(&self) -> Vec<&str> {
        value_names(&self.arguments, self.takes_input())
    }

    /// Returns the summary to show in lists.
    pub fn summary(&self) -> Summary {
        let mut unused_required = Vec::new();
        for argument in &self.arguments {
            if argument.required && !self.uses_argument(argument) {
                unused_required.push(argument.name.clone());
            }
        }
        Summary {
            title: self.title.clone(),
            description: self.description.clone(),
            usage: self.usage(),
            arguments: self.arguments.clone(),
            tags: self.tags.clone(),
            metadata: self.metadata.clone(),
            takes_input: self.takes_input(),
            is_unedited_draft: self.is_unedited_draft(),
            unused_required,
            forbids_menu: self.forbids_menu,
        }
    }

    /// Returns the included files, in order of first appearance.
    pub fn included(&self) -> &[Included] {
        &self.origins.files
    }

    /// Returns whether the prompt uses Jinja templates.
    pub fn is_jinja(&self) -> bool {
        self.messages
            .iter()
            .any(|message| message.jinja().is_some())
    }

    pub(super) fn has_placeholders(&self) -> bool {
        self.placeholders().next().is_some()
    }

    /// Returns whether the body contains a placeholder for an argument. Always true if a service
    /// renders the prompt.
    pub(super) fn uses_argument(&self, argument: &Argument) -> bool {
        self.is_rendered_by_service() || self.has_placeholder(&argument.name)
    }

    /// Returns whether the input receives a share when text is divided among arguments and input.
    /// Otherwise, the input is the whole text or isn't used.
    pub(super) fn has_input_slot(&self) -> bool {
        // Only a pattern of fabric can have placeholders, and append its input as well.
        let appends_share = self.has_placeholders() && self.appends_input();
        self.has_input_placeholder() || appends_share
    }

    /// Returns whether each argument gets one word of the text, and the input is the whole text.
    ///
    /// This is how Claude Code and Codex handle `$name` and `$1`; our own prompts can opt in with
    /// `words: true`.
    pub(crate) fn gives_one_word_per_argument(&self) -> bool {
        self.one_word_per_argument && self.has_placeholders()
    }

    /// Returns whether the input is the whole text, including pairs and the words assigned to
    /// arguments.
    pub(crate) fn input_is_whole_text(&self) -> bool {
        self.takes_input() && (self.gives_one_word_per_argument() || !self.has_input_slot())
    }

    /// Describes the word of the text that belongs to the argument at an index, e.g. `the first
    /// word in Claude Code`, for a prompt whose arguments get one word each.
    pub(crate) fn describe_word(&self, argument_index: usize) -> String {
        let word = match argument_index {
            0 => "the first word".to_owned(),
            1 => "the second word".to_owned(),
            2 => "the third word".to_owned(),
            _ => format!("word number {}", argument_index + 1),
        };
        let program = self.foreign_syntax.title;
        if program.is_empty() {
            word
        } else {
            format!("{word} in {program}")
        }
    }

    /// Returns whether the body contains a placeholder for the input. If an argument is named
    /// `input`, `{{input}}` refers to the argument instead.
    pub(super) fn has_input_placeholder(&self) -> bool {
        let is_argument = self.arguments.iter().any(|argument| argument.name == INPUT);
        !is_argument && self.has_placeholder(INPUT)
    }

    /// Returns whether a placeholder stands for the argument or the input with this name.
    pub(crate) fn has_placeholder(&self, name: &str) -> bool {
        self.placeholders()
            .any(|placeholder| placeholder.name == name || self.slice_includes(placeholder, name))
    }

    /// Returns whether a placeholder such as `${@:2}` stands for several arguments, and `name` is
    /// one of them.
    fn slice_includes(&self, placeholder: &Placeholder, name: &str) -> bool {
        if placeholder.extent == Extent::One {
            return false;
        }
        let first = self.argument_index(&placeholder.name);
        let (Some(first), Some(index)) = (first, self.argument_index(name)) else {
            return false;
        };
        let indexes = placeholder
            .extent
            .argument_indexes(first, self.arguments.len());
        indexes.contains(&index)
    }

    /// Returns the index of a declared argument.
    fn argument_index(&self, name: &str) -> Option<usize> {
        self.arguments
            .iter()
            .position(|argument| argument.name == name)
    }

    /// Returns whether the last argument gets all words that are left when each argument has one,
    /// because the prompt has a placeholder such as `${@:2}`.
    pub(super) fn last_argument_takes_rest(&self) -> bool {
        self.placeholders()
            .any(|placeholder| placeholder.extent == Extent::Rest)
    }
}

/// Returns the names of the arguments, and `input` if `takes_input`.
fn value_names(arguments: &[Argument], takes_input: bool) -> Vec<&str> {
    if takes_input {
        names_with_input(arguments)
    } else {
        arguments.iter().map(|argument| &*argument.name).collect()
    }
}

/// Returns the names of the arguments and `input`, which may be one of them.
pub(super) fn names_with_input(arguments: &[Argument]) -> Vec<&str> {
    let mut names = Vec::with_capacity(arguments.len() + 1);
    for argument in arguments {
        names.push(argument.name.as_str());
    }
    if !names.contains(&INPUT) {
        names.push(INPUT);
    }
    names
}
