//! Types of the MCP schema, spelled as the schema spells them. The results
//! that have no optional members are written without a type.
//!
//! When a type is written, the order of its fields is the order on the wire, and an optional field
//! is left out, never `null`. When it is read, `null` is the same as a missing optional field, and
//! an error for a required one.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use crate::jsonrpc::{Id, deserialize_count};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// The params of `initialize` (all legacy versions) that this server reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeParams<'l> {
    pub(crate) protocol_version: &'l str,
    pub(crate) client_info: Option<Value>,
}

/// Params of every modern request (2026-07-28).
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

/// Params of `logging/setLevel`.
#[derive(Debug, Deserialize)]
pub(crate) struct SetLevelParams<'l> {
    pub(crate) level: &'l str,
}

/// An empty object. When it is read, any object counts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Empty {}

/// Params of the methods that list something.
#[derive(Debug, Deserialize)]
pub(crate) struct PaginatedParams<'l> {
    pub(crate) cursor: Option<&'l str>,
}

/// Params of `prompts/list`. Only `cursor` is in the schema; the others are extensions that another
/// server has documented.
#[derive(Debug, Deserialize)]
pub(crate) struct ListPromptsParams<'l> {
    pub(crate) cursor: Option<&'l str>,
    #[serde(borrow)]
    pub(crate) filter: Option<PromptFilter<'l>>,
    /// The maximum number of prompts in the page.
    #[serde(default, deserialize_with = "deserialize_count")]
    pub(crate) limit: Option<NonZeroUsize>,
}

/// Selects the prompts that match all of its members.
#[derive(Debug, Hash, Deserialize)]
pub(crate) struct PromptFilter<'l> {
    pub(crate) category: Option<&'l str>,
    /// A prompt must have all of them.
    pub(crate) tags: Option<Vec<&'l str>>,
    /// Searches like the `query` of the tool `list_prompts`.
    pub(crate) query: Option<&'l str>,
}

/// Params of `tools/call`, except `arguments`, which each tool reads.
#[derive(Debug, Deserialize)]
pub(crate) struct CallToolParams<'l> {
    pub(crate) name: &'l str,
}

/// Result of `prompts/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListPromptsResult {
    pub(crate) prompts: Vec<Prompt>,
    /// For the next page; left out of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A prompt as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct Prompt {
    pub(crate) name: String,
    /// For people, since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Never empty.
    pub(crate) description: String,
    /// In the order in which a client asks for them.
    pub(crate) arguments: Vec<PromptArgument>,
    /// Since 2025-06-18.
    #[serde(rename = "_meta", skip_serializing_if = "PromptMeta::is_empty")]
    pub(crate) meta: PromptMeta,
}

/// The metadata of a prompt's file, and the revision of its content.
///
/// It is a struct because a map for each prompt took a third of a list's time.
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

/// An argument of a prompt. Its value is a string.
#[derive(Debug, Serialize)]
pub(crate) struct PromptArgument {
    pub(crate) name: String,
    /// For people, since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Left out if it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) required: bool,
}

/// Params of `prompts/get`.
#[derive(Debug, Deserialize)]
pub(crate) struct GetPromptParams<'l> {
    pub(crate) name: &'l str,
    /// A value that is `null` counts as missing.
    pub(crate) arguments: Option<BTreeMap<String, Option<ArgumentText>>>,
}

/// The value of an argument. The schema says that it is a string. Some clients send a number or a
/// boolean, which counts as its JSON text: `3` as `"3"`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct ArgumentText(pub(crate) String);

impl TryFrom<Value> for ArgumentText {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<ArgumentText, &'static str> {
        match value {
            Value::String(text) => Ok(ArgumentText(text)),
            Value::Number(_) | Value::Bool(_) => Ok(ArgumentText(value.to_string())),
            _ => Err("must be a string"),
        }
    }
}

/// Result of `resources/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResourcesResult {
    pub(crate) resources: Vec<Resource>,
    /// For the next page; left out of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A resource as clients see it.
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
    /// Bytes.
    pub(crate) size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Value>,
}

/// Params of `resources/read`, `resources/subscribe` and `resources/unsubscribe`.
#[derive(Debug, Deserialize)]
pub(crate) struct ResourceParams<'l> {
    pub(crate) uri: &'l str,
}

/// Params of `completion/complete`.
#[derive(Debug, Deserialize)]
pub(crate) struct CompleteParams<'l> {
    #[serde(rename = "ref", borrow)]
    pub(crate) reference: CompletionReference<'l>,
    #[serde(borrow)]
    pub(crate) argument: CompletionArgument<'l>,
}

/// The prompt or the resource template that has the argument, by its name or by its URI.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionReference<'l> {
    #[serde(rename = "type")]
    pub(crate) kind: &'l str,
    pub(crate) name: Option<&'l str>,
    pub(crate) uri: Option<&'l str>,
}

/// An argument, and the beginning of its value that the user has typed.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionArgument<'l> {
    pub(crate) name: &'l str,
    pub(crate) value: &'l str,
}

/// Params of `subscriptions/listen` (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct ListenParams {
    pub(crate) notifications: SubscriptionFilter,
}

/// The notifications that a client wants, or will get (2026-07-28).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SubscriptionFilter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) prompts_list_changed: bool,
    /// URIs, as the client wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_subscriptions: Option<BTreeSet<String>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) resources_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tools_list_changed: bool,
}

/// Params of `notifications/cancelled`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelledParams {
    pub(crate) request_id: Id,
}
