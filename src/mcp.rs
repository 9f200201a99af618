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
pub struct InitializeResult {
    /// The revision that the rest of the conversation follows.
    pub protocol_version: &'static str,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// Who it is.
    pub server_info: Implementation,
    /// What a model should know of it.
    pub instructions: &'static str,
    /// The client's own words, as received: no part of the schema, but of our contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_info: Option<Value>,
}

/// Result of `server/discover` (2026-07-28).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// The revisions that a request's `_meta` may name.
    pub supported_versions: &'static [&'static str],
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// What a model should know of it.
    pub instructions: &'static str,
}

/// What the server offers.
#[derive(Debug, Default, Serialize)]
pub struct ServerCapabilities {
    /// It has tools, and does not say when their list changes.
    pub tools: Empty,
}

/// `{}`
#[derive(Debug, Default, Serialize)]
pub struct Empty {}

/// Name and version of a program.
#[derive(Debug, Serialize)]
pub struct Implementation {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Result of `tools/list`.
#[derive(Debug, Serialize)]
pub struct ListToolsResult {
    /// All of them: there is one page.
    pub tools: Vec<Tool>,
}

/// A tool as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// For `tools/call`.
    pub name: &'static str,
    /// For people (2025-06-18).
    pub title: &'static str,
    /// For models.
    pub description: String,
    /// A JSON Schema, an object at its root.
    pub input_schema: Value,
    /// A JSON Schema, an object at its root (2025-06-18).
    pub output_schema: Value,
    /// Hints (2025-03-26).
    pub annotations: ToolAnnotations,
    /// For certain clients (2025-06-18).
    #[serde(rename = "_meta")]
    pub meta: Map<String, Value>,
}

/// Hints about a tool's behavior.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    pub destructive_hint: bool,
    /// Twice is as once.
    pub idempotent_hint: bool,
    /// It reaches beyond this machine.
    pub open_world_hint: bool,
}

/// Result of `tools/call`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// What a model reads.
    pub content: [TextContent; 1],
    /// What a program reads (2025-06-18); left out of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// Left out of a success.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A text block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "text")]
pub struct TextContent {
    /// The text.
    pub text: String,
}

/// Result of `prompts/list`.
#[derive(Debug, Default, Serialize)]
pub struct ListPromptsResult {
    /// None so far.
    pub prompts: [Empty; 0],
}

/// Result of `resources/list`.
#[derive(Debug, Default, Serialize)]
pub struct ListResourcesResult {
    /// None so far.
    pub resources: [Empty; 0],
}

/// Result of `resources/templates/list`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourceTemplatesResult {
    /// None so far.
    pub resource_templates: [Empty; 0],
}

/// How long, and for whom, a client may keep a result (2026-07-28).
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cacheable {
    /// Milliseconds.
    pub ttl_ms: u64,
    /// Who may see it.
    pub cache_scope: CacheScope,
}

/// Who may see a kept result.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Everybody.
    Public,
    /// Only who asked.
    Private,
}
