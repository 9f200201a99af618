//! The tool `list_prompts`: every prompt with its description, and what should be one but is not.

use super::{Called, ServerTool};
use crate::library::Library;
use serde::Serialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

pub(super) const TOOL: ServerTool = ServerTool {
    name: "list_prompts",
    title: "List prompts",
    description: |_| include_str!("list_prompts.md").trim_ascii_end().to_owned(),
    input_schema: || json!({ "type": "object", "properties": {} }),
    output_schema,
    call,
};

#[derive(Serialize)]
struct Output {
    prompts: Vec<Listed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
}

#[derive(Serialize)]
struct Problem {
    file: String,
    message: String,
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "prompts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "description": "What stands behind the colon" },
                        "description": { "type": "string" }
                    },
                    "required": ["name", "description"]
                }
            },
            "problems": {
                "type": "array",
                "description": "Files that should be prompts but cannot be read as such, for the user to repair",
                "items": {
                    "type": "object",
                    "properties": { "file": { "type": "string" }, "message": { "type": "string" } },
                    "required": ["file", "message"]
                }
            }
        },
        "required": ["prompts"]
    })
}

fn call(library: &Library, _arguments: Map<String, Value>) -> Called {
    let listing = library.list();
    let listed = listing.prompts.into_iter().map(|(prompt, _)| {
        let description = prompt.description().unwrap_or_default();
        Listed { name: prompt.name, description }
    });
    let problems = listing.problems.into_iter().map(|problem| {
        let message = problem.to_string();
        Problem { file: problem.file, message }
    });
    Ok(to_raw_value(&Output { prompts: listed.collect(), problems: problems.collect() })?)
}
