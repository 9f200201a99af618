//! A row of the table of tools, and the JSON Schema of its properties.

use crate::jsonrpc::{Mismatch, Object};
use crate::library::Role;
use crate::mcp::ToolAnnotations;
use crate::prompt::Name;
use crate::server::context::{Context, Work};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Codex refuses to call, or asks before it calls, a tool that is not annotated as read-only.
pub(super) const READ_ONLY: ToolAnnotations =
    ToolAnnotations { read_only_hint: true, destructive_hint: false, idempotent_hint: true, open_world_hint: false };

/// Agents ask their user before they call such a tool.
pub(super) const REPLACES: ToolAnnotations =
    ToolAnnotations { read_only_hint: false, destructive_hint: true, idempotent_hint: true, open_world_hint: false };

/// A tool as clients see it, and its handler.
pub(in crate::server) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// For a model; made for each listing.
    pub(super) description: fn(&[Name]) -> String,
    /// The properties of its arguments, and of its structured content.
    pub(super) takes: &'static [Row],
    pub(super) gives: &'static [Row],
    pub(super) annotations: ToolAnnotations,
    /// Whether Claude Code should show the tool to its model before any search.
    pub(super) is_always_loaded: bool,
    pub(in crate::server) work: Work,
    /// Who may call it.
    pub(super) role: Role,
    /// How many characters of a result Claude Code should show its model; `None`: its default, 50,000.
    pub(super) shown_by_claude_code: Option<u32>,
    pub(super) run: fn(&Context, &Object) -> Result<Content, ToolError>,
}

/// The structured content of a result, by the output schema.
pub(super) enum Content {
    Now(Box<RawValue>),
    /// What waits for a service.
    Later(Box<dyn FnOnce() -> Result<Box<RawValue>, ToolError> + Send>),
}

/// A property of a schema: its name, type and description, and whether it is always there.
pub(super) type Row = (&'static str, Type, &'static str, Given);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Always,
    Optional,
}

/// The type of a property.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    Integer,
    Truth,
    Texts,
    /// An object whose members are texts.
    TextMembers,
    /// A list of objects.
    List(&'static [Row]),
}

/// The JSON Schema of an object with these properties.
pub(super) fn schema(rows: &[Row]) -> Value {
    let property = |(name, kind, description, _): &Row| {
        let mut schema = match kind {
            Type::Text => json!({ "type": "string" }),
            Type::Integer => json!({ "type": "integer" }),
            Type::Truth => json!({ "type": "boolean" }),
            Type::Texts => json!({ "items": { "type": "string" }, "type": "array" }),
            Type::TextMembers => json!({ "additionalProperties": { "type": "string" }, "type": "object" }),
            Type::List(rows) => json!({ "items": schema(rows), "type": "array" }),
        };
        if !description.is_empty() {
            schema["description"] = (*description).into();
        }
        ((*name).to_owned(), schema)
    };
    let mut schema = json!({ "properties": rows.iter().map(property).collect::<Object>(), "type": "object" });
    let required: Vec<&str> = rows.iter().filter(|row| row.3 == Given::Always).map(|row| row.0).collect();
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// Why a call failed.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The arguments do not match the input schema.
    Arguments(String),
    /// A mistake that a model or a person can correct.
    Execution(String),
    /// A bug in this program.
    Internal(String),
}

impl From<Mismatch> for ToolError {
    fn from(mismatch: Mismatch) -> Self {
        ToolError::Arguments(mismatch.to_string())
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        ToolError::Internal(error.to_string())
    }
}

impl Tool {
    pub(super) fn is_for(&self, context: &Context) -> bool {
        self.role <= Role::Read || context.may_edit()
    }
}
