//! The JSON objects that `--json` prints, the HTTP API returns, and the web page shows.
//!
//! Fields with `#[serde(skip)]` are only for the text that the command line prints.
#![allow(missing_docs)] // docs/reference.md documents the JSON keys

use crate::library::{Hunk, Layer, ServiceRequest, Version};
use crate::prompt::{Argument, Diagnostic, Metadata, Origin, Revision, Unexpanded};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Which prompts to list. By default, all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListFilter {
    /// Words to search for in the name, title, tags and description.
    pub query: Option<String>,
    pub tag: Option<String>,
    /// Whether to exclude built-in prompts.
    pub mine: bool,
}

/// A call of a prompt.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallRequest {
    /// The name of the prompt.
    pub command: String,
    /// Words, already split by a shell. A single word is treated like text that was typed in a
    /// chat. In JSON, it may be a string instead of a list.
    #[serde(deserialize_with = "deserialize_input")]
    pub input: Vec<String>,
    /// Named values. If there are any, `input` isn't divided among the arguments, but replaces
    /// `{{input}}`.
    pub arguments: BTreeMap<String, String>,
    /// The text from standard input.
    #[serde(skip)]
    pub piped: String,
    /// The index of the word before which `piped` is inserted. If `None`, it is appended.
    #[serde(skip)]
    pub pipe_index: Option<usize>,
}

/// Deserializes a list of strings or a single string: `"a b"` is the same as `["a b"]`.
fn deserialize_input<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "invalid type, expected a string or a list of strings"
    )]
    enum Input {
        Text(String),
        Words(Vec<String>),
    }
    Ok(match Input::deserialize(deserializer)? {
        Input::Text(text) => vec![text],
        Input::Words(words) => words,
    })
}

/// An unsaved text, and the values to preview it with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The name of the prompt, which may not exist yet.
    pub command: String,
    /// The whole text, including the frontmatter.
    pub file: String,
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    /// The current text of the file, to return a diff from.
    pub current: Option<String>,
}

/// A prompt in a list.
#[derive(Debug, Clone, Serialize)]
pub struct ListRow {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub layer: Layer,
    /// The pack that contains it, and the beginning of its commit, e.g. `acme@0123456789ab`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// The format, if it is another program's, as in `--prompts FORMAT:DIR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    /// A path, a URL or `built-in`.
    pub source: String,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The size of the file, in bytes.
    pub size: u64,
    /// Whether the expansion contains the input.
    pub takes_input: bool,
    #[serde(flatten)]
    pub metadata: Metadata,
}

/// The file of a prompt.
#[derive(Debug, Clone, Serialize)]
pub struct ShownFile {
    pub name: String,
    pub layer: Layer,
    /// Absent if the prompt has no file, e.g. because it is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub revision: Revision,
    pub text: String,
}

/// The expansion of a call.
#[derive(Debug, Clone, Serialize)]
pub struct ExpandedPrompt {
    /// The text that an agent gets.
    pub prompt: String,
    /// Likely mistakes of the caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An explanation of a call: the prompt, the values that the call gives it, and the outcome.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    #[serde(flatten)]
    pub prompt: ExplainedPrompt,
    #[serde(flatten)]
    pub values: CallValues,
    #[serde(flatten)]
    pub placeholders: PlaceholderSummary,
    #[serde(flatten)]
    pub outcome: CallOutcome,
    /// Likely mistakes in the call.
    #[serde(rename = "warnings", skip_serializing_if = "Vec::is_empty")]
    pub call_warnings: Vec<String>,
    /// Likely mistakes in the prompt's file, as `check` reports them.
    #[serde(rename = "problems", skip_serializing_if = "Vec::is_empty")]
    pub file_warnings: Vec<Diagnostic>,
}

/// What an explanation says about the prompt, whatever the call is.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedPrompt {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    #[serde(flatten)]
    pub origin: PromptOrigin,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// The roles of the messages, if there is more than one.
    #[serde(rename = "messages", skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
}

/// Where a prompt comes from.
#[derive(Debug, Clone, Serialize)]
pub struct PromptOrigin {
    /// `None` if the prompt is a file outside of the folders of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// The name and version of the pack that contains the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// The name of the file's format, if it isn't our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    /// The path of the prompt's file, or where else its text is.
    pub source: String,
    /// The paths of the included files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<String>,
    /// The prompts with the same name that this one overrides.
    pub shadows: Vec<ShadowedPrompt>,
}

/// The values that a call gives to a prompt.
#[derive(Debug, Clone, Serialize)]
pub struct CallValues {
    pub arguments: Vec<ArgumentValue>,
    /// The text that replaces `{{input}}` or is appended to the body. `None` if the prompt takes no
    /// input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether the input is only what the arguments leave of the call's text.
    #[serde(skip)]
    pub is_input_rest: bool,
}

/// The placeholders of a prompt, and where the input goes if there are none.
#[derive(Debug, Clone, Serialize)]
pub struct PlaceholderSummary {
    #[serde(rename = "placeholders")]
    pub counts: Vec<PlaceholderCount>,
    /// Text that looks like a placeholder, but isn't one, so that the expansion still contains it.
    #[serde(rename = "left")]
    pub unexpanded: Vec<Unexpanded>,
    /// Where the input is appended if there are no placeholders: a predicate for the subject "the
    /// input".
    #[serde(skip)]
    pub appended_input: Option<&'static str>,
}

/// What comes of a call. In JSON, this is one field with the name of the variant.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// A service renders the prompt, and would get this request. It isn't sent.
    Request(ServiceRequest),
    /// Why the call cannot be expanded.
    Error(String),
    /// How long the expansion is.
    #[serde(rename = "expansion")]
    Expanded(ExpansionLength),
}

/// A prompt that is overridden by another one with the same name.
#[derive(Debug, Clone, Serialize)]
pub struct ShadowedPrompt {
    pub layer: Layer,
    pub source: String,
}

/// The value of an argument.
#[derive(Debug, Clone, Serialize)]
pub struct ArgumentValue {
    pub name: String,
    pub value: String,
    pub from: Origin,
}

/// How often a placeholder occurs.
#[derive(Debug, Clone, Serialize)]
pub struct PlaceholderCount {
    pub name: String,
    pub count: usize,
    /// Whether its value is empty.
    pub is_empty: bool,
    /// Its first occurrence as spelled in the file, e.g. `{{ name }}`.
    #[serde(skip)]
    pub source_text: String,
}

/// The length of an expansion, and how it compares with the agents' limits.
#[derive(Debug, Clone, Serialize)]
pub struct ExpansionLength {
    pub bytes: usize,
    pub characters: usize,
    pub limits: Vec<MeasuredLimit>,
}

/// A limit of an agent, compared with the length of an expansion.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredLimit {
    #[serde(rename = "client")]
    pub agent: &'static str,
    /// How the model gets the text: by `tool` or by `hook`.
    #[serde(rename = "way")]
    pub delivery: &'static str,
    /// The length of the text, in units of `unit`.
    pub length: usize,
    /// The maximum length of a text that the model gets as a whole.
    pub limit: usize,
    pub unit: String,
    /// Whether the text is within the limit.
    pub is_whole: bool,
    /// What happens to a text over the limit, as a clause.
    pub when_exceeded: &'static str,
}

/// The fields of a form for calling a prompt.
#[derive(Debug, Clone, Serialize)]
pub struct FormFields {
    pub arguments: Vec<Argument>,
    pub takes_input: bool,
}

/// The file of a prompt with everything that the web page shows. A broken file has only `shown`.
#[derive(Debug, Clone, Serialize)]
pub struct AnnotatedFile {
    #[serde(flatten)]
    pub shown: ShownFile,
    #[serde(flatten)]
    pub fields: Option<FormFields>,
    #[serde(rename = "marks")]
    pub placeholder_ranges: Vec<Utf16Range>,
    /// The included files, so that the client can expand the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<IncludedText>,
}

/// An included file.
#[derive(Debug, Clone, Serialize)]
pub struct IncludedText {
    /// The path relative to the folder of prompts, or `builtin:NAME`.
    pub path: String,
    pub text: String,
    pub revision: Revision,
}

/// The start and end of a range in a text, in UTF-16 code units, as JavaScript counts.
pub type Utf16Range = (usize, usize);

/// An explanation of a call, with the expansion.
#[derive(Debug, Clone, Serialize)]
pub struct Preview {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The message to type in a chat for the same call. `None` if no message gives these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// The expansion. `None` if the call cannot be expanded, or a service renders the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// If there is no expansion, the text with the known values and with the placeholders of those
    /// that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Where values are in `text` or `partial`.
    #[serde(rename = "marks")]
    pub value_ranges: Vec<Utf16Range>,
    /// Where placeholders of missing values are in `partial`.
    #[serde(rename = "gaps")]
    pub missing_ranges: Vec<Utf16Range>,
}

/// The result of checking a [`Draft`].
#[derive(Debug, Clone, Serialize)]
pub struct DraftReport<'d> {
    /// The path of the file, which may not exist yet.
    pub path: String,
    pub problems: Vec<Diagnostic>,
    /// `None`, like `preview`, if the text isn't a valid prompt.
    #[serde(flatten)]
    pub fields: Option<FormFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// A diff from the current file to the draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Hunk<'d>>>,
}

/// The history of a prompt, and the text of one version.
#[derive(Debug, Serialize)]
pub struct HistoryResponse<'t> {
    /// The revision of `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The text of the requested version or, by default, of the current one. Absent, like
    /// `revision`, if the prompt was deleted and no version was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'t str>,
    /// Newest first.
    pub versions: Vec<Version>,
    /// A diff from the current text to `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Hunk<'t>>>,
}

/// The caller and what they may do.
#[derive(Debug, Serialize)]
pub struct Me<'c> {
    pub name: Option<&'c str>,
    pub role: &'static str,
    pub prefix: Option<String>,
    pub may_edit: bool,
    /// The file whose first word is the token for edits, if the caller needs it and is on the same
    /// machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    pub version: &'static str,
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
