//! Every JSON object that `--json` prints, the API over HTTP answers, and the web page shows.
//!
//! A value that a program compares is an enum. What is only for the text form of the command line
//! is left out of the JSON.
#![allow(missing_docs)] // the names are those of the JSON, which docs/reference.md explains

use crate::library::{Hunk, Layer, ServiceRequest, Version};
use crate::prompt::{Argument, Diagnostic, Metadata, Origin, Revision, Unexpanded};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Which prompts to list: by default, all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListFilter {
    /// Words in the name, title, tags or description.
    pub query: Option<String>,
    pub tag: Option<String>,
    /// Whether to leave out built-in prompts.
    pub mine: bool,
}

/// A prompt's name, and what is passed to it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallRequest {
    pub command: String,
    /// Words that a shell has divided. A single one is read like text typed in a chat, and may be a
    /// JSON string instead of a list.
    #[serde(deserialize_with = "text_or_words")]
    pub input: Vec<String>,
    /// Values by name. With them, the input is what replaces `{{input}}`.
    pub arguments: BTreeMap<String, String>,
    /// A text from a pipe.
    #[serde(skip)]
    pub piped: String,
    /// The index of the word before which that text belongs; `None`: after all words.
    #[serde(skip)]
    pub at: Option<usize>,
}

/// Reads a list of words, or a text, which counts as one word: `"a b"` is like `["a b"]`.
fn text_or_words<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<String>, D::Error> {
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

/// A text that is not saved, and the values to expand it with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The name that the prompt has, or is to have.
    pub command: String,
    pub file: String,
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    /// The file as it is now, to be compared.
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
    /// The pack that it is of, and the beginning of its commit: `acme@0123456789ab`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// For a prompt of another program, as in `--prompts FORMAT:DIR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    /// A path, or `built-in`.
    pub source: String,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// Of the file, in bytes.
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
    /// Absent for a built-in prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub revision: Revision,
    pub text: String,
}

/// The text that an agent gets.
#[derive(Debug, Clone, Serialize)]
pub struct ExpandedPrompt {
    pub prompt: String,
    /// What works, but is probably not what the caller intends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// All facts about a prompt and what it is called with.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    /// `None` if it is a file in no folder of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    pub source: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<String>,
    pub shadows: Vec<ShadowedPrompt>,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// The roles, if there are several messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    pub arguments: Vec<ArgumentValue>,
    /// The value of `{{input}}`, or what follows the body; `None` if the prompt takes no input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    pub placeholders: Vec<PlaceholderCount>,
    /// What looks like a placeholder and is not one.
    #[serde(rename = "left")]
    pub unexpanded: Vec<Unexpanded>,
    /// What a service would be asked, if one renders the prompt; it is not called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ServiceRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionLength>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The warnings of `check`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Diagnostic>,
    /// Whether the input is what remains of the text.
    #[serde(skip)]
    pub is_input_rest: bool,
    /// Where the input goes if there are no placeholders, in words.
    #[serde(skip)]
    pub input_place: Option<&'static str>,
}

/// A prompt that is overridden by another one of the same name.
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

/// The placeholders of one name.
#[derive(Debug, Clone, Serialize)]
pub struct PlaceholderCount {
    pub name: String,
    pub count: usize,
    /// Whether the value is empty.
    pub is_empty: bool,
    /// The first of them, as it is written.
    #[serde(skip)]
    pub written: String,
}

/// The length of an expansion.
#[derive(Debug, Clone, Serialize)]
pub struct ExpansionLength {
    pub bytes: usize,
    pub characters: usize,
    pub limits: Vec<MeasuredLimit>,
}

/// The length of an expansion, compared with an agent's limit.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredLimit {
    #[serde(rename = "client")]
    pub agent: &'static str,
    /// How the text gets to the model: `tool` or `hook`.
    #[serde(rename = "way")]
    pub delivery: &'static str,
    pub length: usize,
    /// The longest text that is shown in full.
    pub limit: usize,
    pub unit: String,
    pub is_whole: bool,
    /// What happens to a longer text, in words.
    pub when_exceeded: &'static str,
}

/// What a call of a prompt needs.
#[derive(Debug, Clone, Serialize)]
pub struct FormFields {
    pub arguments: Vec<Argument>,
    pub takes_input: bool,
}

/// The file of a prompt with its placeholders marked, and what a call needs, unless it is broken.
#[derive(Debug, Clone, Serialize)]
pub struct AnnotatedFile {
    #[serde(flatten)]
    pub shown: ShownFile,
    #[serde(flatten)]
    pub fields: Option<FormFields>,
    pub marks: Vec<Range>,
    /// What the file includes, so that it can be expanded elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<IncludedText>,
}

/// A file that is included.
#[derive(Debug, Clone, Serialize)]
pub struct IncludedText {
    /// Below the folder of the prompts; or `builtin:NAME`.
    pub path: String,
    pub text: String,
    pub revision: Revision,
}

/// From where to where in a text, in UTF-16 units, as scripts count.
pub type Range = (usize, usize);

/// An explanation, with the texts that it explains.
#[derive(Debug, Clone, Serialize)]
pub struct Preview {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// What a person types for this call in a chat; `None` if nothing gives these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// The expansion; `None` if there is none, or a service has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Without an expansion, the text with the values that are known, and with the placeholders of
    /// those that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Where values are in that text, or in the expansion.
    pub marks: Vec<Range>,
    /// Where values are missing.
    pub gaps: Vec<Range>,
}

/// What is found in a [`Draft`].
#[derive(Debug, Clone, Serialize)]
pub struct DraftReport<'d> {
    /// The path that the file has, or would have.
    pub path: String,
    pub problems: Vec<Diagnostic>,
    /// `None` if the file would be broken, as is `preview`.
    #[serde(flatten)]
    pub fields: Option<FormFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// From the current file to the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Hunk<'d>>>,
}

/// A prompt's versions, and the text of one of them.
#[derive(Debug, Serialize)]
pub struct HistoryAnswer<'t> {
    /// Of the text; absent if the prompt was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'t str>,
    /// The newest first.
    pub versions: Vec<Version>,
    /// From the current text to that of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Hunk<'t>>>,
}

/// Who asks.
#[derive(Debug, Serialize)]
pub struct Me<'c> {
    pub name: Option<&'c str>,
    pub role: &'static str,
    pub prefix: Option<String>,
    pub may_edit: bool,
    pub version: &'static str,
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
