//! Editing over HTTP: creates, changes, deletes and restores prompts, and shows their history.
//!
//! Only JSON is taken, which no form of another web page can send.

use super::{HISTORY, PROMPT, error_json, name_in, read};
use crate::library::{About, Caller, Edit, EditError, Editor, Revision, Version, Written};
use crate::report::Problem;
use crate::wording::quoted;
use axum::body::{Body, Bytes};
use axum::http::{self, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Carries out a request of a caller who may edit, and answers in JSON.
pub(super) type Handler = fn(&Editor<'_>, &Caller, &Uri, &[u8]) -> Result<Bytes, Refused>;

/// Why nothing was done.
pub(super) enum Refused {
    InRequest(String),
    Edit(EditError),
}

impl From<String> for Refused {
    fn from(why: String) -> Refused {
        Refused::InRequest(why)
    }
}

impl From<EditError> for Refused {
    fn from(error: EditError) -> Refused {
        Refused::Edit(error)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    file: String,
    note: Option<String>,
    operation_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    file: String,
    expected: Option<String>,
    note: Option<String>,
    operation_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    expected: Option<String>,
    note: Option<String>,
    operation_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    command: String,
    /// `None`: the version before the current one, or the one that was deleted.
    revision: Option<String>,
    /// `None`: the prompt was deleted.
    expected: Option<String>,
    note: Option<String>,
    operation_id: Option<String>,
}

/// What a write answers.
#[derive(Serialize)]
struct Done {
    command: String,
    revision: Revision,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Problem>,
}

/// A prompt's versions, and the text of one of them.
#[derive(Serialize)]
struct History {
    /// Of the text; absent if the prompt was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The newest first.
    versions: Vec<Version>,
}

pub(super) fn create(editor: &Editor<'_>, caller: &Caller, uri: &Uri, body: &[u8]) -> Result<Bytes, Refused> {
    let Create { file, note, operation_id } = read(body)?;
    done(editor.create(&name_in(uri, PROMPT)?, &Edit::File(file), &about(caller, note, operation_id)?)?)
}

pub(super) fn update(editor: &Editor<'_>, caller: &Caller, uri: &Uri, body: &[u8]) -> Result<Bytes, Refused> {
    let Update { file, expected, note, operation_id } = read(body)?;
    let (name, expected) = (name_in(uri, PROMPT)?, required(expected)?);
    done(editor.update(&name, expected, &Edit::File(file), &about(caller, note, operation_id)?)?)
}

pub(super) fn delete(editor: &Editor<'_>, caller: &Caller, uri: &Uri, body: &[u8]) -> Result<Bytes, Refused> {
    let Delete { expected, note, operation_id } = read(body)?;
    let (name, expected) = (name_in(uri, PROMPT)?, required(expected)?);
    done(editor.delete(&name, expected, &about(caller, note, operation_id)?)?)
}

pub(super) fn restore(editor: &Editor<'_>, caller: &Caller, _: &Uri, body: &[u8]) -> Result<Bytes, Refused> {
    let Restore { command, revision: to, expected, note, operation_id } = read(body)?;
    let is_deleted = editor.path(&editor.name(&command)?).is_none();
    let expected = match expected {
        // Without it, the same write may be sent again.
        None if is_deleted || operation_id.is_some() => None,
        expected => Some(required(expected)?),
    };
    let to = to.map(|to| revision("revision", &to)).transpose()?;
    done(editor.restore(&command, expected, to, &about(caller, note, operation_id)?)?)
}

pub(super) fn history(editor: &Editor<'_>, _: &Caller, uri: &Uri, _: &[u8]) -> Result<Bytes, Refused> {
    let mut wanted = None;
    for (key, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match &*key {
            "revision" => wanted = Some(revision("revision", &value)?),
            _ => {
                let message = format!("unknown parameter {}; a history takes `revision`", quoted(&key));
                return Err(Refused::InRequest(message));
            }
        }
    }
    let name = name_in(uri, HISTORY)?;
    let versions = editor.history(&name)?;
    let current = versions.iter().find(|version| version.is_current).map(|version| version.revision);
    let revision = wanted.or(current);
    let file = revision.map(|revision| editor.version(&name, revision)).transpose()?;
    to_json(&History { revision, file, versions })
}

fn about(caller: &Caller, note: Option<String>, operation_id: Option<String>) -> Result<About, EditError> {
    let author = caller.token.as_ref().map(|token| Arc::clone(&token.name));
    About::new(author, note, operation_id)
}

/// The revision that an existing prompt must still have.
fn required(expected: Option<String>) -> Result<Revision, Refused> {
    let missing = "`expected` is missing: the `revision` in the answer of GET /api/history/NAME";
    revision("expected", &expected.ok_or_else(|| missing.to_owned())?)
}

fn revision(key: &str, text: &str) -> Result<Revision, Refused> {
    text.parse().map_err(|error| Refused::InRequest(format!("`{key}`: {error}")))
}

fn done(Written { name, revision, warnings }: Written) -> Result<Bytes, Refused> {
    tracing::debug!(%name, %revision, "a prompt was changed");
    let warnings = warnings.into_iter().map(Into::into).collect();
    to_json(&Done { command: name.to_string(), revision, warnings })
}

fn to_json(answer: &impl Serialize) -> Result<Bytes, Refused> {
    serde_json::to_vec(answer).map(Bytes::from).map_err(|error| Refused::InRequest(error.to_string()))
}

/// The response to a request for which nothing was done.
pub(super) fn refused(why: Refused) -> http::Response<Body> {
    let error = match why {
        Refused::InRequest(why) => return error_json(StatusCode::BAD_REQUEST, &json!({ "message": why })),
        Refused::Edit(error) => error,
    };
    let status = status_of(&error);
    let mut body = json!({ "message": error.to_string() });
    match error {
        EditError::Conflict { current, diff, .. } => {
            body["current"] = current.map_or(Value::Null, |current| current.to_string().into());
            body["diff"] = diff.into();
        }
        EditError::Invalid(problem) => body["problem"] = json!(Problem::from(*problem)),
        _ => {}
    }
    error_json(status, &body)
}

/// The status of a response that says why nothing was done.
pub(in super::super) fn status_of(error: &EditError) -> StatusCode {
    match error {
        EditError::Unknown(_) | EditError::NoVersion(..) | EditError::VersionChanged(..) => StatusCode::NOT_FOUND,
        EditError::Conflict { .. } | EditError::Exists(_) | EditError::OtherOperation(_) => StatusCode::CONFLICT,
        error if error.is_io() => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
