//! The types of the MCP schema that this server reads and writes, spelled as the schema spells them. They have no behavior.
//!
//! In what is written, the order of the fields is the order on the wire, and an optional field is left out, never `null`.
//! In what is read, `null` is the same as a missing optional field, and an error for a required one.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use crate::jsonrpc::{Id, count, object, object_or_none};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// Params of `initialize` (all legacy versions), as far as they are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeParams<'l> {
    pub(crate) protocol_version: &'l str,
    pub(crate) client_info: Option<Value>,
}

/// Result of `initialize` (all legacy versions).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeResult {
    /// The protocol version that the rest of the conversation follows.
    pub(crate) protocol_version: &'static str,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) server_info: Implementation,
    /// What a model should know about the server.
    pub(crate) instructions: &'static str,
    /// As received. The schema has no such field, but clients may rely on this echo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_info: Option<Value>,
}

/// Params of every modern request (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct ModernParams<'l> {
    #[serde(rename = "_meta", borrow, deserialize_with = "object")]
    pub(crate) meta: RequestMeta<'l>,
}

/// `params._meta` of a modern request (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct RequestMeta<'l> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) protocol_version: &'l str,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", deserialize_with = "object")]
    pub(crate) client_capabilities: Empty,
    #[serde(rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<Value>,
}

/// What the modern era adds to a result (2026-07-28).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModernResult<R> {
    #[serde(flatten)]
    pub(crate) result: R,
    pub(crate) result_type: &'static str,
    #[serde(flatten)]
    pub(crate) cacheable: Option<Cacheable>,
    #[serde(rename = "_meta")]
    pub(crate) meta: ResultMeta,
}

/// `_meta` of a modern result (2026-07-28).
#[derive(Debug, Serialize)]
pub(crate) struct ResultMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    pub(crate) server_info: Implementation,
}

/// Params of `logging/setLevel`.
#[derive(Debug, Deserialize)]
pub(crate) struct SetLevelParams<'l> {
    pub(crate) level: &'l str,
}

/// Result of `server/discover` (2026-07-28).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiscoverResult {
    /// The protocol versions that a request's `_meta` may name.
    pub(crate) supported_versions: &'static [&'static str],
    pub(crate) capabilities: ServerCapabilities,
    /// What a model should know about the server.
    pub(crate) instructions: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerCapabilities {
    pub(crate) tools: Capability,
    pub(crate) prompts: Capability,
    pub(crate) resources: Capability,
    /// Since 2025-03-26.
    pub(crate) completions: Empty,
    /// Means that `logging/setLevel` is accepted, which 2026-07-28 no longer has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) logging: Option<Empty>,
}

/// The capability of a feature that has a list.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capability {
    /// Whether clients are notified of changes.
    pub(crate) list_changed: bool,
    /// Whether the client may call `prompts/create`, `prompts/update` and `prompts/delete`, which are not in the schema.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) mutable: bool,
    /// Whether the client may subscribe to resources.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) subscribe: bool,
}

/// `{}`; any object where it is read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Empty {}

/// The name and version of a program.
#[derive(Debug, Serialize)]
pub(crate) struct Implementation {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// (2025-11-25)
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
}

/// An image that a client may show (2025-11-25).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Icon {
    /// A `data:` URI.
    pub(crate) src: String,
    pub(crate) mime_type: &'static str,
    pub(crate) sizes: [&'static str; 1],
}

/// Params of the methods that list something.
#[derive(Debug, Deserialize)]
pub(crate) struct PaginatedParams<'l> {
    pub(crate) cursor: Option<&'l str>,
}

/// Params of `prompts/list`. All but `cursor` are not in the schema, but in the document of another server.
#[derive(Debug, Deserialize)]
pub(crate) struct ListPromptsParams<'l> {
    pub(crate) cursor: Option<&'l str>,
    #[serde(borrow, default, deserialize_with = "object_or_none")]
    pub(crate) filter: Option<PromptFilter<'l>>,
    /// The maximum number of prompts in the page.
    #[serde(default, deserialize_with = "count")]
    pub(crate) limit: Option<NonZeroUsize>,
}

/// Which prompts to list: those that match all members.
#[derive(Debug, Hash, Deserialize)]
pub(crate) struct PromptFilter<'l> {
    pub(crate) category: Option<&'l str>,
    /// The prompt has each of them.
    pub(crate) tags: Option<Vec<&'l str>>,
    /// As the `query` of `list_prompts`.
    pub(crate) query: Option<&'l str>,
}

/// Result of `tools/list`.
#[derive(Debug, Serialize)]
pub(crate) struct ListToolsResult {
    /// All of them, in one page, as their files say.
    pub(crate) tools: Vec<Map<String, Value>>,
}

/// Params of `tools/call`, except `arguments`, which each tool reads.
#[derive(Debug, Deserialize)]
pub(crate) struct CallToolParams<'l> {
    pub(crate) name: &'l str,
}

/// Result of `tools/call`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult<'r> {
    /// What a model reads: the structured content as text, or what went wrong.
    pub(crate) content: [TextContent<'r>; 1],
    /// By the tool's output schema (2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured_content: Option<&'r RawValue>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_error: bool,
}

/// A text block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "text")]
pub(crate) struct TextContent<'r> {
    pub(crate) text: &'r str,
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
    /// For people (2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Never empty.
    pub(crate) description: String,
    /// In the order in which a client asks for them.
    pub(crate) arguments: Vec<PromptArgument>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<PromptMeta>,
}

/// What the file of a prompt says about itself (2025-06-18), and which content it has.
#[derive(Debug, Serialize)]
pub(crate) struct PromptMeta {
    #[serde(rename = "io.github.prompt-expander/tags", skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    #[serde(rename = "io.github.prompt-expander/category", skip_serializing_if = "Option::is_none")]
    pub(crate) category: Option<String>,
    #[serde(rename = "io.github.prompt-expander/author", skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<String>,
    #[serde(rename = "io.github.prompt-expander/version", skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(rename = "io.github.prompt-expander/revision", skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<String>,
}

/// An argument of a prompt. Its value is a string.
#[derive(Debug, Serialize)]
pub(crate) struct PromptArgument {
    pub(crate) name: String,
    /// For people (2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) required: bool,
}

/// Params of `prompts/get`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetPromptParams<'l> {
    /// Required by the schema.
    pub(crate) name: Option<&'l str>,
    /// Not in the schema: some clients send it instead of `name`.
    pub(crate) prompt_id: Option<IgnoredAny>,
    /// A value that is `null` is not given.
    pub(crate) arguments: Option<BTreeMap<String, Option<String>>>,
}

/// Result of `prompts/get`.
#[derive(Debug, Serialize)]
pub(crate) struct GetPromptResult {
    pub(crate) description: String,
    pub(crate) messages: Vec<PromptMessage>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PromptMessage {
    pub(crate) role: Role,
    pub(crate) content: PromptContent,
}

/// A block of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PromptContent {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        /// Base64.
        data: String,
        mime_type: &'static str,
    },
    /// (2025-03-26)
    #[serde(rename_all = "camelCase")]
    Audio {
        /// Base64.
        data: String,
        mime_type: &'static str,
    },
    Resource {
        resource: TextResourceContents,
    },
    /// (2025-06-18)
    ResourceLink {
        uri: String,
        name: String,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    User,
    Assistant,
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
    /// For people (2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Never empty.
    pub(crate) description: String,
    pub(crate) mime_type: &'static str,
    /// Bytes.
    pub(crate) size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<Annotations>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<RevisionMeta>,
}

/// Which content the file of a prompt has (2025-06-18).
#[derive(Debug, Serialize)]
pub(crate) struct RevisionMeta {
    #[serde(rename = "io.github.prompt-expander/revision")]
    pub(crate) revision: String,
}

/// Hints about a resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Annotations {
    /// ISO 8601, in UTC (2025-06-18).
    pub(crate) last_modified: String,
}

/// Params of the methods that name one resource: `resources/read`, `resources/subscribe`, `resources/unsubscribe`.
#[derive(Debug, Deserialize)]
pub(crate) struct ResourceParams<'l> {
    pub(crate) uri: &'l str,
}

/// Result of `resources/templates/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResourceTemplatesResult {
    pub(crate) resource_templates: [ResourceTemplate; 1],
}

/// A kind of resource, described by the form of its URI.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceTemplate {
    /// RFC 6570.
    pub(crate) uri_template: &'static str,
    pub(crate) name: &'static str,
    /// For people (2025-06-18).
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) mime_type: &'static str,
}

/// Result of `resources/read`.
#[derive(Debug, Serialize)]
pub(crate) struct ReadResourceResult {
    pub(crate) contents: [TextResourceContents; 1],
}

/// The text of a resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextResourceContents {
    /// As the client wrote it.
    pub(crate) uri: String,
    pub(crate) mime_type: &'static str,
    pub(crate) text: String,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<RevisionMeta>,
}

/// Params of `completion/complete`.
#[derive(Debug, Deserialize)]
pub(crate) struct CompleteParams<'l> {
    #[serde(rename = "ref", borrow, deserialize_with = "object")]
    pub(crate) reference: CompletionReference<'l>,
    #[serde(borrow, deserialize_with = "object")]
    pub(crate) argument: CompletionArgument<'l>,
}

/// What has the argument: a prompt by its name, or a resource template by its URI.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionReference<'l> {
    #[serde(rename = "type")]
    pub(crate) kind: &'l str,
    pub(crate) name: Option<Value>,
    pub(crate) uri: Option<Value>,
}

/// An argument, and what has been typed of its value.
#[derive(Debug, Deserialize)]
pub(crate) struct CompletionArgument<'l> {
    pub(crate) name: &'l str,
    pub(crate) value: &'l str,
}

/// Result of `completion/complete`.
#[derive(Debug, Serialize)]
pub(crate) struct CompleteResult {
    pub(crate) completion: Completion,
}

/// The values that begin with, or contain, what has been typed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completion {
    /// At most 100, the best first.
    pub(crate) values: Vec<String>,
    /// The number of values, those that are not in `values` included.
    pub(crate) total: usize,
    /// Whether there are more than `values` holds.
    pub(crate) has_more: bool,
}

/// Params of `subscriptions/listen` (2026-07-28).
#[derive(Debug, Deserialize)]
pub(crate) struct ListenParams {
    #[serde(deserialize_with = "object")]
    pub(crate) notifications: SubscriptionFilter,
}

/// Which notifications a client wants, or will get (2026-07-28).
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

/// How long a client may cache a result, and for whom (2026-07-28).
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cacheable {
    /// Milliseconds.
    pub(crate) ttl_ms: u64,
    /// Who may see a cached result: everybody (`public`), or only the client that sent the request (`private`).
    pub(crate) cache_scope: &'static str,
}
