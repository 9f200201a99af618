//! The types of the MCP schema that this server writes, spelled as the schema spells them. They have no behavior.
//!
//! Field order is the order on the wire. An optional field is left out, never `null`.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Result of `initialize` (all legacy revisions).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeResult {
    /// The revision that the rest of the conversation follows.
    pub(crate) protocol_version: &'static str,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) server_info: Implementation,
    /// What a model should know of it.
    pub(crate) instructions: &'static str,
    /// The client's own words, as received. The schema has no such field; clients may rely on it as an echo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_info: Option<Value>,
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
#[derive(Debug, Default, Serialize)]
pub(crate) struct ServerCapabilities {
    /// It has tools, and does not say when their list changes.
    pub(crate) tools: Empty,
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

/// Result of `tools/call`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult {
    /// What a model reads.
    pub(crate) content: [TextContent; 1],
    /// What a program reads (2025-06-18); left out of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured_content: Option<Box<RawValue>>,
    /// Left out of a success.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_error: bool,
}

/// A text block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "text")]
pub(crate) struct TextContent {
    pub(crate) text: String,
}

/// Result of `prompts/list`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ListPromptsResult {
    /// None so far.
    pub(crate) prompts: [Empty; 0],
}

/// Result of `resources/list`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ListResourcesResult {
    /// None so far.
    pub(crate) resources: [Empty; 0],
}

/// Result of `resources/templates/list`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResourceTemplatesResult {
    /// None so far.
    pub(crate) resource_templates: [Empty; 0],
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
