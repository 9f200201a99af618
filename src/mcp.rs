//! Types from the MCP schema, under the same names as there. Results without optional members are
//! written as JSON directly and have no type here.
//!
//! Fields are serialized in the order of their declaration, and optional fields are omitted rather
//! than `null`. When deserializing, `null` counts as a missing optional field, and is an error for
//! a required one.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use crate::jsonrpc::{Id, deserialize_count};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// Parameters of `initialize` (all legacy versions), as far as this server uses them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeParams<'l> {
    pub(crate) protocol_version: &'l str,
    pub(crate) client_info: Option<Value>,
}

/// Parameters common to all modern requests (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct ModernParams<'l> {
    #[serde(rename = "_meta", borrow)]
    pub(crate) meta: RequestMeta<'l>,
}

/// `params._meta` of a modern request (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct RequestMeta<'l> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) protocol_version: &'l str,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) client_capabilities: Empty,
    #[serde(rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<Value>,
}

/// Parameters of `logging/setLevel`.
#[derive(Debug, Deserialize)]
pub(crate) struct SetLevelParams<'l> {
    pub(crate) level: &'l str,
}

/// An empty object. Deserializes from any object.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Empty {}

/// Parameters of list methods.
#[derive(Debug, Deserialize)]
pub(crate) struct PaginatedParams<'l> {
    pub(crate) cursor: Option<&'l str>,
}

/// Parameters of `prompts/list`. All but `cursor` are extensions that another server has
/// documented.
#[derive(Debug, Deserialize)]
pub(crate) struct ListPromptsParams<'l> {
    pub(crate) cursor: Option<&'l str>,
    #[serde(borrow)]
    pub(crate) filter: Option<PromptFilter<'l>>,
    /// The maximum number of prompts on a page.
    #[serde(default, deserialize_with = "deserialize_count")]
    pub(crate) limit: Option<NonZeroUsize>,
}

/// Selects prompts that match all of the given criteria.
#[derive(Debug, Hash, Deserialize)]
pub(crate) struct PromptFilter<'l> {
    pub(crate) category: Option<&'l str>,
    /// Tags that a prompt must all have.
    pub(crate) tags: Option<Vec<&'l str>>,
    /// A search query, as in the tool `list_prompts`.
    pub(crate) query: Option<&'l str>,
}

/// Parameters of `tools/call`, except `arguments`, which each tool reads itself.
#[derive(Debug, Deserialize)]
pub(crate) struct CallToolParams<'l> {
    pub(crate) name: &'l str,
}

/// Result of `prompts/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListPromptsResult {
    pub(crate) prompts: Vec<Prompt>,
    /// The cursor of the next page; omitted on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A prompt in `prompts/list`.
#[derive(Debug, Serialize)]
pub(crate) struct Prompt {
    pub(crate) name: String,
    /// For people, since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Never empty.
    pub(crate) description: String,
    /// In the order in which a client should ask for them.
    pub(crate) arguments: Vec<PromptArgument>,
    /// Since 2025-06-18.
    #[serde(rename = "_meta", skip_serializing_if = "PromptMeta::is_empty")]
    pub(crate) meta: PromptMeta,
}

/// The metadata in a prompt's frontmatter, and the revision of its file.
///
/// This is a struct because building a map for each prompt took a third of the time of a list.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct PromptMeta {
    #[serde(
        rename = "io.github.prompt-expander/tags",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) tags: Vec<String>,
    #[serde(
        rename = "io.github.prompt-expander/category",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) category: Option<String>,
    #[serde(
        rename = "io.github.prompt-expander/author",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) author: Option<String>,
    #[serde(
        rename = "io.github.prompt-expander/version",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) version: Option<String>,
    #[serde(
        rename = "io.github.prompt-expander/revision",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) revision: Option<String>,
}

impl PromptMeta {
    fn is_empty(&self) -> bool {
        *self == PromptMeta::default()
    }
}

/// An argument of a prompt. Its value is always a string.
#[derive(Debug, Serialize)]
pub(crate) struct PromptArgument {
    pub(crate) name: String,
    /// For people, since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Omitted if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) required: bool,
}

/// Parameters of `prompts/get`.
#[derive(Debug, Deserialize)]
pub(crate) struct GetPromptParams<'l> {
    pub(crate) name: &'l str,
    /// A `null` value counts as missing.
    pub(crate) arguments: Option<BTreeMap<String, Option<ArgumentText>>>,
}

/// The value of an argument. It should be a string according to the schema, but some clients send
/// numbers or booleans, which are converted to strings: `3` to `"3"`. A number that has lost
/// digits, such as `12345678901234567890123`, is an error.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct ArgumentText(pub(crate) String);

impl TryFrom<Value> for ArgumentText {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<ArgumentText, &'static str> {
        match value {
            Value::String(text) => Ok(ArgumentText(text)),
            Value::Number(number) if has_lost_digits(&number) => Err(
                "is too large for a number, which would lose digits: it must be a string in quotes",
            ),
            Value::Number(_) | Value::Bool(_) => Ok(ArgumentText(value.to_string())),
            _ => Err("must be a string"),
        }
    }
}

/// Returns whether a number may have had more digits than were stored. serde_json stores it as a
/// float if it is not a 64-bit integer, and a float does not have every integer above 2⁵³.
fn has_lost_digits(number: &Number) -> bool {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0; // 2⁵³
    let float = number.as_f64().unwrap_or_default();
    number.is_f64() && float.abs() > MAX_EXACT
}

/// Result of `resources/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResourcesResult {
    pub(crate) resources: Vec<Resource>,
    /// The cursor of the next page; omitted on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A resource in `resources/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    pub(crate) uri: String,
    pub(crate) name: String,
    /// For people, since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Never empty.
    pub(crate) description: String,
    pub(crate) mime_type: &'static str,
    /// The size in bytes.
    pub(crate) size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Value>,
}

/// Parameters of `resources/read`, `resources/subscribe`, `resources/unsubscribe` and `skills/get`.
#[derive(Debug, Deserialize)]
pub(crate) struct ResourceParams<'l> {
    pub(crate) uri: &'l str,
}

/// Result of `skills/list` (SEP-2640).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListSkillsResult {
    pub(crate) skills: Vec<Skill>,
    /// The cursor of the next page; omitted on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A skill in `skills/list` and `skills/get` (SEP-2640).
#[derive(Debug, Serialize)]
pub(crate) struct Skill {
    /// The URI of its `SKILL.md`.
    pub(crate) uri: String,
    pub(crate) frontmatter: SkillFrontmatter,
    /// All files of the skill. Ours have only the `SKILL.md`.
    pub(crate) resources: [SkillFile; 1],
}

/// The frontmatter of a `SKILL.md`, with the same keys and values as in the file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SkillFrontmatter {
    pub(crate) name: String,
    /// Never empty.
    pub(crate) description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) argument_hint: String,
    /// The arguments that get one word each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) arguments: Vec<String>,
    /// Whether only the user can use the skill.
    pub(crate) disable_model_invocation: bool,
}

/// A file of a skill (SEP-2640).
#[derive(Debug, Serialize)]
pub(crate) struct SkillFile {
    pub(crate) uri: String,
    /// `sha256:` and the hash of the file in hexadecimal digits.
    pub(crate) digest: String,
    /// The size in bytes.
    pub(crate) size: usize,
}

/// Parameters of `completion/complete`.
#[derive(Debug, Deserialize)]
pub(crate) struct CompleteParams<'l> {
    #[serde(rename = "ref", borrow)]
    pub(crate) reference: CompletionReference<'l>,
    #[serde(borrow)]
    pub(crate) argument: CompletionArgument<'l>,
}

/// The prompt (by name) or resource template (by URI) to which an argument belongs.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionReference<'l> {
    #[serde(rename = "type")]
    pub(crate) kind: &'l str,
    pub(crate) name: Option<&'l str>,
    pub(crate) uri: Option<&'l str>,
}

/// An argument, and the part of its value that the user has typed.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionArgument<'l> {
    pub(crate) name: &'l str,
    pub(crate) value: &'l str,
}

/// Parameters of `subscriptions/listen` (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct ListenParams {
    pub(crate) notifications: SubscriptionFilter,
}

/// The notifications that a client requests, or that the server agrees to send (2026-07-28).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SubscriptionFilter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) prompts_list_changed: bool,
    /// The URIs of resources, as the client wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_subscriptions: Option<BTreeSet<String>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) resources_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tools_list_changed: bool,
}

/// Parameters of `notifications/cancelled`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelledParams {
    pub(crate) request_id: Id,
}
