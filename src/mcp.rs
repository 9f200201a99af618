//! The types of the MCP schema that this server writes, spelled as the schema spells them. They have no behavior.
//!
//! Field order is the order on the wire. An optional field is left out, never `null`.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use serde::Serialize;
use serde_json::{Map, Value};

/// Result of `initialize` (all legacy revisions).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeResult<'l> {
    /// The revision that the rest of the conversation follows.
    pub(crate) protocol_version: &'static str,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) server_info: Implementation,
    /// What a model should know of it.
    pub(crate) instructions: &'static str,
    /// The client's own words, as received. The schema has no such field; clients may rely on it as an echo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_info: Option<crate::json::Value<'l>>,
}

/// Result of `server/discover` (2026-07-28).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiscoverResult {
    /// The revisions that a request's `_meta` may name.
    pub(crate) supported_versions: &'static [&'static str],
    pub(crate) capabilities: ServerCapabilities,
    /// What a model should know of it.
    pub(crate) instructions: &'static str,
}

/// What the server offers.
#[derive(Debug, Serialize)]
pub(crate) struct ServerCapabilities {
    pub(crate) tools: ListChanged,
    pub(crate) prompts: ListChanged,
    pub(crate) resources: ResourcesCapability,
    /// It completes (2025-03-26).
    pub(crate) completions: Empty,
    /// It takes `logging/setLevel`, which 2026-07-28 has no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) logging: Option<Empty>,
}

/// Of a feature whose list may change.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListChanged {
    /// It tells when the list does.
    pub(crate) list_changed: bool,
}

/// Of resources.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourcesCapability {
    /// It tells when one changes.
    pub(crate) subscribe: bool,
    /// It tells when the list does.
    pub(crate) list_changed: bool,
}

/// `{}`
#[derive(Debug, Default, Serialize)]
pub(crate) struct Empty {}

/// Name and version of a program.
#[derive(Debug, Serialize)]
pub(crate) struct Implementation {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Result of `tools/list`.
#[derive(Debug, Serialize)]
pub(crate) struct ListToolsResult {
    /// All of them: there is one page.
    pub(crate) tools: Vec<Tool>,
}

/// A tool as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// For people (2025-06-18).
    pub(crate) title: &'static str,
    /// For models.
    pub(crate) description: String,
    /// A JSON Schema, an object at its root.
    pub(crate) input_schema: Value,
    /// A JSON Schema, an object at its root (2025-06-18).
    pub(crate) output_schema: Value,
    /// Hints (2025-03-26).
    pub(crate) annotations: ToolAnnotations,
    /// Hints for particular clients (2025-06-18).
    #[serde(rename = "_meta")]
    pub(crate) meta: Map<String, Value>,
}

/// Hints about a tool's behavior.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolAnnotations {
    /// It changes nothing.
    pub(crate) read_only_hint: bool,
    /// It may destroy something.
    pub(crate) destructive_hint: bool,
    /// Calling it twice equals calling it once.
    pub(crate) idempotent_hint: bool,
    /// It reaches beyond this machine.
    pub(crate) open_world_hint: bool,
}

/// Result of `tools/call` where it failed. One that went well has `structuredContent` (2025-06-18) behind `content` and
/// no `isError`; `server/tools.rs` writes it by hand.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult {
    /// What a model reads.
    pub(crate) content: [TextContent; 1],
    pub(crate) is_error: bool,
}

/// A text block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "text")]
pub(crate) struct TextContent {
    pub(crate) text: String,
}

/// Result of `prompts/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListPromptsResult {
    /// One page of them.
    pub(crate) prompts: Vec<Prompt>,
    /// Asks for the next page; left out of the last one.
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
}

/// An argument of a prompt; its value is a string.
#[derive(Debug, Serialize)]
pub(crate) struct PromptArgument {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) required: bool,
}

/// Result of `prompts/get`.
#[derive(Debug, Serialize)]
pub(crate) struct GetPromptResult {
    pub(crate) description: String,
    pub(crate) messages: [PromptMessage; 1],
}

/// What the user is to have said.
#[derive(Debug, Serialize)]
pub(crate) struct PromptMessage {
    pub(crate) role: Role,
    pub(crate) content: TextContent,
}

/// Who speaks.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    User,
}

/// Result of `resources/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResourcesResult {
    /// One page of them.
    pub(crate) resources: Vec<Resource>,
    /// Asks for the next page; left out of the last one.
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
}

/// Hints about a resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Annotations {
    /// ISO 8601, in UTC (2025-06-18).
    pub(crate) last_modified: String,
}

/// Result of `resources/templates/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResourceTemplatesResult {
    pub(crate) resource_templates: [ResourceTemplate; 1],
}

/// A kind of resource, by the form of its URI.
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
}

/// Result of `completion/complete`.
#[derive(Debug, Serialize)]
pub(crate) struct CompleteResult {
    pub(crate) completion: Completion,
}

/// What a value may become.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completion {
    /// At most 100, the best first.
    pub(crate) values: Vec<String>,
    /// How many there are.
    pub(crate) total: usize,
    /// Whether there are more than `values` holds.
    pub(crate) has_more: bool,
}

/// How long, and for whom, a client may keep a result (2026-07-28).
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cacheable {
    /// Milliseconds.
    pub(crate) ttl_ms: u64,
    /// Who may see it.
    pub(crate) cache_scope: CacheScope,
}

/// Who may see a kept result.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CacheScope {
    Public,
    /// Only the client that asked.
    Private,
}
