//! The tools for editors: create, update, delete, read and restore prompts.

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

/// Appended to errors that a model could work around by writing text that the user hasn't seen.
const ASK_AGAIN: &str =
    "Tell the user this, and write nothing else before they have seen it and said yes.";

/// The warning in a result that is too long for the client to show to its model in full. If the
/// model wrote the file back, it would lose the hidden part.
const MAY_BE_CUT: &str = "this answer is longer than what you are shown: if a part of `file` is missing, do not write it, but ask the \
                          user to edit the file";

/// The arguments of all these tools. Each tool uses only some of them.
#[derive(Deserialize)]
struct EditArguments<'l> {
    command: &'l str,
    file: Option<&'l str>,
    /// The prompt's current revision, as far as the caller knows.
    expected: Option<Revision>,
    /// The version to read or restore.
    revision: Option<Revision>,
    /// The reason for the change, recorded in the history.
    note: Option<String>,
}

/// Runs `create_prompt`.
pub(super) fn create(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    let file = arguments.required_file()?;
    write(context, &arguments, |editor, author| {
        editor.create(arguments.command, file, author)
    })
}

/// Runs `update_prompt`.
pub(super) fn update(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    let file = arguments.required_file()?;
    write(context, &arguments, |editor, author| {
        let expected = arguments.required_expected(editor)?;
        editor.update(arguments.command, expected, file, author)
    })
}

/// Runs `delete_prompt`.
pub(super) fn delete(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    write(context, &arguments, |editor, author| {
        let expected = arguments.required_expected(editor)?;
        editor.delete(arguments.command, expected, author)
    })
}

/// Runs `restore_prompt`: writes an earlier version of a prompt, which may have been deleted.
pub(super) fn restore(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: EditArguments<'_> = read_object(arguments)?;
    write(context, &arguments, |editor, author| {
        let name = editor.resolve_name(arguments.command)?;
        // `expected` is required unless the prompt is deleted and so has no revision.
        let expected = match editor.find_in_store(&name) {
            Some(_) => Some(arguments.required_expected(editor)?),
            None => arguments.expected,
        };
        editor.restore(arguments.command, expected, arguments.revision, author)
    })
}

/// Runs `prompt_history`: returns the versions of a prompt, and its current file or that of a
/// version.
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

/// The result of `prompt_history`.
#[derive(Serialize)]
struct PromptHistory {
    /// Set by [`history`] if the client cuts off the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    command: String,
    /// The current revision, or `None` if the prompt was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    /// The contents of the current file or of the requested version.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    versions: Vec<Version>,
}

/// Reads the history of a prompt, and the requested version if there is one.
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
        // Prompts of other layers, e.g. of a project, have no history.
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
    // There is none if the prompt was deleted.
    if let Some(current) = current {
        history.command = current.name.to_string();
        history.revision = Some(current.revision);
        history.file = Some(current.file);
    }
    if let Some(requested) = arguments.revision {
        history.file = Some(editor.version(command, requested)?);
    }
    Ok(history)
}

impl EditArguments<'_> {
    /// Returns the `file` argument.
    ///
    /// # Errors
    /// Fails if it is missing.
    fn required_file(&self) -> Result<&str, Failure> {
        self.file
            .ok_or_else(|| Failure::invalid_params("`file` is missing"))
    }

    /// Returns the `expected` revision.
    ///
    /// # Errors
    /// Fails if it is missing, or if the user has no such prompt.
    fn required_expected(&self, editor: &Editor<'_>) -> Result<Revision, Diagnostic> {
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

/// Makes a change on behalf of the caller. Returns the name and new revision of the prompt.
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

/// Converts an error from an edit to a failure for the model. Omits the file's path, because models
/// know prompts by name.
fn for_model(mut error: Diagnostic) -> Failure {
    error.file = None;
    match &error.kind {
        Kind::AlreadyExists | Kind::NotWritable => {
            Failure::for_model(format!("{error}. {ASK_AGAIN}"))
        }
        Kind::Conflict { diff, .. } => Failure::for_model(format!("{error}. {ASK_AGAIN}\n{diff}")),
        _ => Failure::for_model(error),
    }
}
