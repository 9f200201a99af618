//! The tool `list_prompts`: every prompt with its description, and what should be one but is not; or those that a
//! query, a tag and a limit leave.

use super::super::prompts::OF_PROJECT;
use super::{Called, Piece, ServerTool, Structured, ToolError, result};
use crate::json::{Json, Object, Value};
use crate::library::{Layer, Selection, View};
use crate::prompt::{Name, Summary};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

pub(super) const TOOL: ServerTool = ServerTool {
    name: "list_prompts",
    title: "List prompts",
    description: |_| include_str!("list_prompts.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema,
    call,
};

/// What follows the prompts, if there is any.
#[derive(Serialize)]
struct Rest {
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

/// Without the whole path, which expand_prompt tells.
#[derive(Serialize)]
struct Problem {
    file: String,
    message: String,
}

fn input_schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "Only prompts that match these words, the best first: in name, title, tags or \
                                description, a missing letter allowed. By default all, sorted by name"
            },
            "tag": { "type": "string", "description": "Only prompts with this tag" },
            "limit": { "type": "integer", "description": "At most this many; `omitted` says how many more match" }
        }
    })
}

fn output_schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "prompts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "description": "What stands behind the colon" },
                        "description": { "type": "string" },
                        "usage": {
                            "type": "string",
                            "description": "How to type a prompt with arguments; those in [] may be left out"
                        }
                    },
                    "required": ["name", "description"]
                }
            },
            "omitted": { "type": "integer", "description": "How many more there are than `limit`" },
            "problems": {
                "type": "array",
                "description": "Files that should be prompts but cannot be read as such, for the user to repair: \
                                line, column, reason, repair",
                "items": {
                    "type": "object",
                    "properties": { "file": { "type": "string" }, "message": { "type": "string" } },
                    "required": ["file", "message"]
                }
            },
            "omittedProblems": { "type": "integer", "description": "How many more problems there are than `limit`" }
        },
        "required": ["prompts"]
    })
}

fn call(library: &View, arguments: &Object<'_>) -> Called {
    let (query, tag) = (text(arguments, "query")?, text(arguments, "tag")?);
    let limit = limit(arguments)?;
    let Selection { found, problems } = library.select(query, tag);
    let (omitted, omitted_problems) = (found.len().saturating_sub(limit), problems.len().saturating_sub(limit));
    let problems = problems.into_iter().take(limit).map(|problem| {
        let place = problem.diagnostic.position.map(|at| format!("{}:{}: ", at.line, at.column));
        Problem { message: format!("{}{}", place.unwrap_or_default(), problem.diagnostic), file: problem.file }
    });
    let rest = Json::of(&Rest { omitted, problems: problems.collect(), omitted_problems })?.into_text();
    let end = match rest.trim_start_matches('{') {
        "}" => "]}".to_owned(),
        rest => format!("],{rest}"),
    };
    let prompts = found.into_iter().take(limit).map(|(entry, summary)| (entry.layer(), entry.name().clone(), summary));
    Ok(result(List { prompts: prompts.collect(), end }))
}

/// The prompts, and how the object goes on behind the last of them.
struct List {
    prompts: Vec<(Layer, Name, Arc<Summary>)>,
    end: String,
}

/// In pieces, so that its texts are written from where they are and nowhere else: to list again costs a fifth fewer
/// instructions than by way of serde, and the memory of one answer less.
impl Structured for List {
    fn pieces<'p>(&'p self, mut each: impl FnMut(Piece<'p>)) {
        each(Piece::Fixed { json: r#"{"prompts":["#, escaped: r#"{\"prompts\":["# });
        for (index, (layer, name, summary)) in self.prompts.iter().enumerate() {
            let Summary { description, usage, .. } = &**summary;
            each(match index {
                0 => Piece::Fixed { json: r#"{"name":""#, escaped: r#"{\"name\":\""# },
                _ => Piece::Fixed { json: r#",{"name":""#, escaped: r#",{\"name\":\""# },
            });
            each(Piece::Text(name));
            each(Piece::Fixed { json: r#"","description":""#, escaped: r#"\",\"description\":\""# });
            if *layer == Layer::Project {
                each(Piece::Text(OF_PROJECT));
            }
            each(Piece::Text(description.as_deref().unwrap_or_default()));
            if let Some(usage) = usage {
                each(Piece::Fixed { json: r#"","usage":""#, escaped: r#"\",\"usage\":\""# });
                each(Piece::Text(usage));
            }
            each(Piece::Fixed { json: r#""}"#, escaped: r#"\"}"# });
        }
        each(Piece::Json(&self.end));
    }

    fn length(&self) -> usize {
        self.prompts.len() * 160 + self.end.len() // what a short description takes
    }
}

/// An optional text; one of spaces is none.
fn text<'a>(arguments: &'a Object<'_>, key: &str) -> Result<Option<&'a str>, ToolError> {
    let refuse = |unfit| ToolError::Execution(format!("`{key}` {unfit}. Call list_prompts again with one."));
    Ok(arguments.text(key).map_err(refuse)?.filter(|text| !text.trim().is_empty()))
}

/// How many at most.
fn limit(arguments: &Object<'_>) -> Result<usize, ToolError> {
    let number = match arguments.get("limit") {
        None | Some(Value::Null) => return Ok(usize::MAX),
        // Some clients write every number as a float.
        Some(Value::Number(number)) => {
            number.as_u64().or(number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as u64))
        }
        Some(_) => None,
    };
    match number.and_then(|number| usize::try_from(number).ok()) {
        Some(limit @ 1..) => Ok(limit),
        _ => {
            let message = "`limit` must be a whole number, 1 or more. Call list_prompts again with one, or without it.";
            Err(ToolError::Execution(message.to_owned()))
        }
    }
}
