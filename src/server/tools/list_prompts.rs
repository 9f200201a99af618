//! The tool `list_prompts`: every prompt with its description, and the files that are broken; or those that match a query
//! and a tag, up to a limit.

use super::super::prompts::MAX_LISTED_DESCRIPTION;
use super::{Handler, READ_ONLY, ServerTool, ToolCall, ToolError, Work};
use crate::jsonrpc::{count, read};
use crate::library::{Revision, Selection};
use crate::prompt::Summary;
use crate::wording::shortened;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::num::NonZeroUsize;

pub(super) const TOOL: ServerTool = ServerTool {
    name: "list_prompts",
    title: "List prompts",
    description: |_| include_str!("list_prompts.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema,
    annotations: READ_ONLY,
    is_always_loaded: true,
    work: Work::List,
    shown_by_claude_code: None,
    handler: Handler::Read(call),
};

#[derive(Deserialize)]
struct Arguments<'l> {
    query: Option<&'l str>,
    tag: Option<&'l str>,
    #[serde(default, deserialize_with = "count")]
    limit: Option<NonZeroUsize>,
}

#[derive(Serialize)]
struct Output<'o> {
    prompts: Vec<ListedPrompt<'o>>,
    #[serde(skip_serializing_if = "is_zero")]
    omitted: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
    #[serde(rename = "omittedProblems", skip_serializing_if = "is_zero")]
    omitted_problems: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize)]
struct ListedPrompt<'o> {
    name: &'o str,
    description: Cow<'o, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'o str>,
    /// Only for who may edit prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
}

/// Without the whole path, which expand_prompt gives.
#[derive(Serialize)]
struct Problem {
    file: String,
    message: String,
}

fn input_schema() -> Value {
    json!({
        "properties": {
            "limit": { "description": "The maximum number of prompts; `omitted` is the number of further matches", "type": "integer" },
            "query": {
                "description": "Only prompts whose name, title, tags or description match these words, best match \
                                first; a missing letter is tolerated. By default all, sorted by name",
                "type": "string"
            },
            "tag": { "description": "Only prompts with this tag", "type": "string" }
        },
        "type": "object"
    })
}

fn output_schema() -> Value {
    json!({
        "properties": {
            "omitted": { "description": "Number of further matches, beyond `limit`", "type": "integer" },
            "omittedProblems": { "description": "Number of further problems, beyond `limit`", "type": "integer" },
            "problems": {
                "description": "Broken prompt files, for the user to fix: line, column, reason, fix",
                "items": {
                    "properties": { "file": { "type": "string" }, "message": { "type": "string" } },
                    "required": ["file", "message"],
                    "type": "object"
                },
                "type": "array"
            },
            "prompts": {
                "items": {
                    "properties": {
                        "description": { "type": "string" },
                        "name": { "description": "What the user types after the colon", "type": "string" },
                        "usage": {
                            "description": "How to type a prompt with arguments; those in [] may be left out",
                            "type": "string"
                        }
                    },
                    "required": ["name", "description"],
                    "type": "object"
                },
                "type": "array"
            }
        },
        "required": ["prompts"],
        "type": "object"
    })
}

fn call(call: &mut ToolCall<'_>) -> Result<Box<RawValue>, ToolError> {
    let Arguments { query, tag, limit } = read(call.arguments).map_err(|mismatch| {
        ToolError::Execution(format!("{mismatch}. Call list_prompts again with one, or without it."))
    })?;
    let (query, tag) = (query.and_then(present), tag.and_then(present));
    let limit = limit.map_or(usize::MAX, NonZeroUsize::get);
    let Selection { mut found, problems } = call.view.select(query, tag);
    found.retain(|(_, summary)| !summary.is_template);
    let (omitted, omitted_problems) = (found.len().saturating_sub(limit), problems.len().saturating_sub(limit));
    found.truncate(limit);
    let mut seen = call.seen.as_deref_mut();
    let prompts = found.iter().map(|(entry, summary)| {
        let Summary { description, usage, .. } = &**summary;
        let description = shortened(description.as_deref().unwrap_or_default(), MAX_LISTED_DESCRIPTION);
        let revision = seen.as_mut().and_then(|seen| {
            let revision = entry.info().revision;
            seen.record(entry.name(), revision);
            revision
        });
        let description = match entry.layer().mark() {
            "" => description,
            mark => format!("{mark}{description}").into(),
        };
        ListedPrompt { name: entry.name(), description, usage: usage.as_deref(), revision }
    });
    let problems = problems.into_iter().take(limit).map(|problem| {
        let position = problem.diagnostic.position.map(|at| format!("{}:{}: ", at.line, at.column));
        Problem { message: format!("{}{}", position.unwrap_or_default(), problem.diagnostic), file: problem.file }
    });
    let (prompts, problems) = (prompts.collect(), problems.collect());
    Ok(to_raw_value(&Output { prompts, omitted, problems, omitted_problems })?)
}

/// An argument that consists of spaces is the same as none.
fn present(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}
