//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls. Those
//! that edit prompts are only for callers who may do so.
//!
//! There are two kinds of errors, never mixed: a request that violates the protocol is a JSON-RPC
//! error; what a model or a person can correct is a result with `isError`.

mod edit;
mod expand;
mod list;
mod parts;

pub use parts::LEAST_LIMIT;

use super::context::Context;
use super::era::Era;
use super::failure::{Failure, FailureKind};
use super::pagination;
use super::reply::{MayWait, Outcome};
use crate::jsonrpc::{Json, Object, read, write_text};
use crate::library::{Role, View};
use crate::mcp::{CallToolParams, PaginatedParams};
use crate::prompt::Name;
use crate::wording::quoted;
use serde_json::{Value, json};

/// A row of the table of tools.
pub(super) struct Tool {
    name: &'static str,
    /// As clients see it, in JSON.
    definition: &'static str,
    pub(super) may_wait: MayWait,
    /// Who may call it.
    role: Role,
    run: fn(&Context, &Object) -> Result<Outcome, Failure>,
}

macro_rules! tools {
    ($($name:literal $work:ident $role:ident $run:path;)*) => {
        /// The tools, in the order of the listing. The first one works without arguments, as some
        /// clients try it.
        static TOOLS: &[Tool] = &[$(Tool {
            name: $name,
            definition: include_str!(concat!("tools/", $name, ".json")),
            may_wait: MayWait::$work,
            role: Role::$role,
            run: $run,
        }),*];
    };
}

tools! {
    "list_prompts"   Folders Read  list::run;
    "expand_prompt"  Files   Read  expand::run;
    "create_prompt"  Write   Write edit::create;
    "update_prompt"  Write   Write edit::update;
    "delete_prompt"  Write   Write edit::delete;
    "prompt_history" Folders Write edit::history;
    "restore_prompt" Write   Write edit::restore;
}

impl Tool {
    fn is_for(&self, context: &Context) -> bool {
        self.role <= Role::Read || context.may_edit()
    }

    fn definition(&self, names: &[Name], view: &View) -> serde_json::Result<Object> {
        let mut definition: Object = serde_json::from_str(self.definition)?;
        if self.name == "expand_prompt" {
            // No file is read for it, so the name of a template that nobody has changed yet may be
            // in it.
            let commands = expand::commands(names, expand::NAMES_BUDGET);
            let description = definition["description"].as_str().unwrap_or_default();
            let mentions = if view.takes_mentions() {
                expand::MENTIONS
            } else {
                ""
            };
            definition["description"] = format!("{description}{mentions}{commands}").into();
            definition["annotations"]["openWorldHint"] = view.calls_services().into();
        }
        Ok(definition)
    }
}

/// `tools/list`. With prompts that services render, an expansion depends on more than the files of
/// this machine.
///
/// # Errors
/// There is a cursor.
pub(super) fn list(context: &Context, params: PaginatedParams<'_>) -> Result<Value, Failure> {
    pagination::only_page(params)?;
    let view = context.view();
    let names = view.list().names();
    let tools = TOOLS
        .iter()
        .filter(|tool| tool.is_for(context))
        .map(|tool| tool.definition(&names, &view));
    Ok(json!({ "tools": tools.collect::<Result<Vec<_>, _>>()? }))
}

/// The tool that a request calls.
///
/// # Errors
/// Invalid params; there is no such tool, or not for this caller.
pub(super) fn find(context: &Context, params: &Object) -> Result<&'static Tool, Failure> {
    let CallToolParams { name } = read(params)?;
    let found = TOOLS.iter().find(|tool| tool.name == name);
    found.filter(|tool| tool.is_for(context)).ok_or_else(|| {
        let names: Vec<&str> = TOOLS
            .iter()
            .filter(|tool| tool.is_for(context))
            .map(|tool| tool.name)
            .collect();
        let how = found
            .map(|_| format!("; {}", context.how_to_edit()))
            .unwrap_or_default();
        let text = format!(
            "unknown tool {}; the tools are {}{how}",
            quoted(name),
            names.join(", ")
        );
        Failure::new(FailureKind::UnknownTool, text)
    })
}

/// `tools/call`.
///
/// # Errors
/// Invalid params; in the legacy era also arguments that do not match the input schema.
pub(super) fn call(
    tool: &'static Tool,
    context: &Context,
    params: &Object,
) -> Result<Outcome, Failure> {
    let none = Object::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Failure::invalid_params("`arguments` must be an object")),
    };
    let era = context.era;
    match (tool.run)(context, arguments) {
        Ok(Outcome::Later(work)) => Ok(Outcome::Later(Box::new(move || result(tool, era, work())))),
        Ok(Outcome::Now(structured)) => result(tool, era, Ok(structured)).map(Outcome::Now),
        Err(failure) => result(tool, era, Err(failure)).map(Outcome::Now),
    }
}

/// The result of a call, a `CallToolResult`. The structured content (2025-06-18) is serialized
/// once: its JSON is also the text of `content`. Arguments that do not fit the schema are for the
/// model since the modern era.
fn result(tool: &Tool, era: Era, outcome: Result<Json, Failure>) -> Result<Json, Failure> {
    let (text, member) = match &outcome {
        Ok(structured) => (
            structured.as_str(),
            [r#","structuredContent":"#, structured.as_str()],
        ),
        Err(Failure { kind, text, .. })
            if *kind == FailureKind::ForModel
                || (*kind, era) == (FailureKind::InvalidParams, Era::Modern) =>
        {
            tracing::info!(tool = tool.name, reason = text, "the tool refused");
            (text.as_str(), [r#","isError":"#, "true"])
        }
        Err(_) => return outcome,
    };
    let mut json = String::with_capacity(5 * text.len() / 2 + 256); // most texts, and what goes around them
    json.push_str(r#"{"content":[{"type":"text","text":"#);
    write_text(&mut json, text);
    json.push_str("}]");
    json.extend(member);
    json.push('}');
    Ok(era.result(Json::written(json), None))
}
