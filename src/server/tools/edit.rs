//! The five tools for editors: they create, change, delete, read and restore prompts.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::prompt_edits::{warnings, with_warnings};
use super::super::reply::Outcome;
use crate::jsonrpc::{Json, Object, read};
use crate::library::{Authorship, Editor, Version, Written};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::wording::named;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// After an error whose remedy is to write something else than what the user has seen.
const ASK_AGAIN: &str =
    "Tell the user this, and write nothing else before they have seen it and said yes.";

/// For an agent that shows its model only a part: what is not shown would be lost if the model
/// wrote the whole file.
const MAY_BE_CUT: &str = "this answer is longer than what you are shown: if a part of `file` is missing, do not write it, but ask the \
                          user to edit the file";

/// What the tools take, as far as each of them does.
#[derive(Deserialize)]
struct Arguments<'l> {
    command: &'l str,
    file: Option<&'l str>,
    /// The revision that the prompt must still have.
    expected: Option<Revision>,
    /// The version that is wanted.
    revision: Option<Revision>,
    note: Option<String>,
}

pub(super) fn create(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: Arguments<'_> = read(arguments)?;
    let file = arguments.file()?;
    write(context, &arguments, |editor, by| {
        editor.create(arguments.command, file, by)
    })
}

pub(super) fn update(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: Arguments<'_> = read(arguments)?;
    let file = arguments.file()?;
    write(context, &arguments, |editor, by| {
        editor.update(arguments.command, arguments.expected(editor)?, file, by)
    })
}

pub(super) fn delete(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: Arguments<'_> = read(arguments)?;
    write(context, &arguments, |editor, by| {
        editor.delete(arguments.command, arguments.expected(editor)?, by)
    })
}

pub(super) fn restore(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: Arguments<'_> = read(arguments)?;
    write(context, &arguments, |editor, by| {
        let is_there = editor
            .in_store(&editor.resolve(arguments.command)?)
            .is_some();
        let expected = if is_there {
            Some(arguments.expected(editor)?)
        } else {
            arguments.expected
        };
        editor.restore(arguments.command, expected, arguments.revision, by)
    })
}

/// The source of a prompt, or of a version of it, and its versions.
pub(super) fn history(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let mut reading = reading(context, &read(arguments)?).map_err(for_model)?;
    let json = Json::of(&reading)?;
    if context
        .part_limit()
        .is_none_or(|limit| limit.unit.count(json.as_str()) <= limit.max)
    {
        return Ok(Outcome::Now(json));
    }
    reading.warning = Some(MAY_BE_CUT);
    Ok(Outcome::Now(Json::of(&reading)?))
}

#[derive(Serialize)]
struct Reading {
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    command: String,
    /// `None` if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    versions: Vec<Version>,
}

fn reading(context: &Context, arguments: &Arguments<'_>) -> Result<Reading, Diagnostic> {
    let command = arguments.command;
    let editor = context.editor()?;
    let current = editor.current(command);
    // A prompt of another layer has no history, and a deleted one has nothing else.
    let versions = match (editor.history(command), &current) {
        (Err(why), Ok(_)) if why.kind == Kind::NotWritable => Vec::new(),
        (versions, _) => versions?,
    };
    let current = match current {
        Err(why) if matches!(why.kind, Kind::NoSuchPrompt { .. }) => None,
        current => Some(current?),
    };
    let name = current
        .as_ref()
        .map_or(command, |current| &current.name)
        .to_owned();
    let revision = current.as_ref().map(|current| current.revision);
    let file = match arguments.revision {
        Some(version) => Some(editor.version(command, version)?),
        None => current.map(|current| current.file),
    };
    Ok(Reading {
        warning: None,
        command: name,
        revision,
        file,
        versions,
    })
}

impl Arguments<'_> {
    fn file(&self) -> Result<&str, Failure> {
        self.file
            .ok_or_else(|| Failure::invalid_params("`file` is missing"))
    }

    /// The revision that a prompt must still have which is to be changed. If there is no such
    /// prompt of the user, the error says that instead.
    fn expected(&self, editor: &Editor<'_>) -> Result<Revision, Diagnostic> {
        if let Some(expected) = self.expected {
            return Ok(expected);
        }
        editor.resolve(self.command)?;
        let fix = format!(
            "read {} with prompt_history, and give its `revision` as `expected`",
            named(self.command)
        );
        Err(Diagnostic::new(
            Kind::BadValue,
            "`expected` is missing",
            fix,
        ))
    }
}

/// Writes as the caller, and says what was written.
fn write(
    context: &Context,
    arguments: &Arguments<'_>,
    change: impl Fn(&Editor<'_>, &Authorship) -> Result<Written, Diagnostic>,
) -> Result<Outcome, Failure> {
    let by = context
        .authorship(arguments.note.clone())
        .map_err(for_model)?;
    let written = context
        .editor()
        .and_then(|editor| change(&editor, &by))
        .map_err(for_model)?;
    let done = json!({ "command": written.name, "revision": written.revision });
    Ok(Outcome::Now(Json::of(&with_warnings(
        done,
        warnings(&written),
    ))?))
}

fn for_model(error: Diagnostic) -> Failure {
    let asks = matches!(
        error.kind,
        Kind::Exists | Kind::NotWritable | Kind::Conflict { .. }
    );
    let text = Diagnostic {
        file: None,
        ..error
    }
    .to_string();
    Failure::for_model(if asks {
        format!("{text}. {ASK_AGAIN}")
    } else {
        text
    })
}
