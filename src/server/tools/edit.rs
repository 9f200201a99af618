//! The five tools for editors: they create, change, delete, read and restore prompts.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::prompt_edits::{warnings, with_warnings};
use super::super::reply::Outcome;
use crate::jsonrpc::{Json, Object, read_object};
use crate::library::{Authorship, CompletedWrite, Editor, Version};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::wording::in_backticks;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Follows an error that a model could "fix" by writing a text that the user has not seen.
const ASK_AGAIN: &str =
    "Tell the user this, and write nothing else before they have seen it and said yes.";

/// The warning for an agent that shows its model only a part of a long result. What is not shown
/// would be lost if the model wrote the whole file.
const MAY_BE_CUT: &str = "this answer is longer than what you are shown: if a part of `file` is missing, do not write it, but ask the \
                          user to edit the file";

/// The arguments of the tools. Each tool takes some of them.
#[derive(Deserialize)]
struct EditArguments<'l> {
    command: &'l str,
    file: Option<&'l str>,
    /// The revision that the caller expects the prompt to have.
    expected: Option<Revision>,
    /// The version to read or to restore.
    revision: Option<Revision>,
    /// Why the prompt is changed, for its history.
    note: Option<String>,
}

pub(super) fn create(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    let file = arguments.file()?;
    write(context, &arguments, |editor, author| {
        editor.create(arguments.command, file, author)
    })
}

pub(super) fn update(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    let file = arguments.file()?;
    write(context, &arguments, |editor, author| {
        let expected = arguments.expected(editor)?;
        editor.update(arguments.command, expected, file, author)
    })
}

pub(super) fn delete(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    write(context, &arguments, |editor, author| {
        let expected = arguments.expected(editor)?;
        editor.delete(arguments.command, expected, author)
    })
}

pub(super) fn restore(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    write(context, &arguments, |editor, author| {
        let name = editor.resolve_name(arguments.command)?;
        // A deleted prompt has no revision to expect.
        let expected = match editor.find_in_store(&name) {
            Some(_) => Some(arguments.expected(editor)?),
            None => arguments.expected,
        };
        editor.restore(arguments.command, expected, arguments.revision, author)
    })
}

/// The tool `prompt_history`: gives the file of a prompt, or of a version of it, and its versions.
pub(super) fn history(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let mut history = prompt_history(context, &read_object(arguments)?).map_err(for_model)?;
    let json = Json::serialize(&history)?;
    match context.part_limit() {
        Some(limit) if limit.unit.count(json.as_str()) > limit.max => {
            history.warning = Some(MAY_BE_CUT);
            Ok(Outcome::Now(Json::serialize(&history)?))
        }
        _ => Ok(Outcome::Now(json)),
    }
}

/// What the tool `prompt_history` returns.
#[derive(Serialize)]
struct PromptHistory {
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    command: String,
    /// The revision of the prompt; `None` if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    /// The file of the prompt, or that of the requested version.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    versions: Vec<Version>,
}

fn prompt_history(
    context: &Context,
    arguments: &EditArguments<'_>,
) -> Result<PromptHistory, Diagnostic> {
    let command = arguments.command;
    let editor = context.editor()?;
    let current = match editor.current(command) {
        Ok(current) => Some(current),
        Err(error) if matches!(error.kind, Kind::NoSuchPrompt { .. }) => None,
        Err(error) => return Err(error),
    };
    let versions = match editor.history(command) {
        Ok(versions) => versions,
        // A prompt of another layer has no history.
        Err(error) if error.kind == Kind::NotWritable && current.is_some() => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut history = PromptHistory {
        warning: None,
        command: command.to_owned(),
        revision: None,
        file: None,
        versions,
    };
    if let Some(current) = current {
        history.command = current.name.to_string();
        history.revision = Some(current.revision);
        history.file = Some(current.file);
    }
    if let Some(version) = arguments.revision {
        history.file = Some(editor.version(command, version)?);
    }
    Ok(history)
}

impl EditArguments<'_> {
    fn file(&self) -> Result<&str, Failure> {
        self.file
            .ok_or_else(|| Failure::invalid_params("`file` is missing"))
    }

    /// Returns the revision that the caller expects the prompt to have.
    ///
    /// # Errors
    /// There is no such prompt of the user; or the caller has named no revision.
    fn expected(&self, editor: &Editor<'_>) -> Result<Revision, Diagnostic> {
        if let Some(expected) = self.expected {
            return Ok(expected);
        }
        editor.resolve_name(self.command)?;
        let command = in_backticks(self.command);
        let fix =
            format!("read {command} with prompt_history, and give its `revision` as `expected`");
        Err(Diagnostic::new(
            Kind::BadValue,
            "`expected` is missing",
            fix,
        ))
    }
}

/// Makes a change as the caller, and returns the name and the revision of the changed prompt.
fn write(
    context: &Context,
    arguments: &EditArguments<'_>,
    change: impl Fn(&Editor<'_>, &Authorship) -> Result<CompletedWrite, Diagnostic>,
) -> Result<Outcome, Failure> {
    let author = context
        .authorship(arguments.note.clone())
        .map_err(for_model)?;
    let editor = context.editor().map_err(for_model)?;
    let written = change(&editor, &author).map_err(for_model)?;
    let result = json!({ "command": written.name, "revision": written.revision });
    let result = with_warnings(result, warnings(&written));
    Ok(Outcome::Now(Json::serialize(&result)?))
}

/// Returns the failure for a change that cannot be made. The path of the file is left out: a model
/// knows only the name of the prompt.
fn for_model(mut error: Diagnostic) -> Failure {
    error.file = None;
    match error.kind {
        Kind::AlreadyExists | Kind::NotWritable | Kind::Conflict { .. } => {
            Failure::for_model(format!("{error}. {ASK_AGAIN}"))
        }
        _ => Failure::for_model(error),
    }
}
