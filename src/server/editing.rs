//! A conversation that may edit prompts: what it has seen, and what its methods (`editing_methods.rs`) and its tools
//! (`tools/editing_tools.rs`) have in common.

use super::Server;
use super::lifecycle::{Failure, FailureKind};
use crate::agents::PartLimit;
use crate::jsonrpc::{Mismatch, Object, read};
use crate::library::{About, Caller, Edit, EditError, Editor, Revision, Version, Written};
use crate::mcp;
use crate::prompt::{Argument, COLONS, EDIT_THE_FILE, Name, Parts, spellings, strip};
use crate::wording::{named, quoted};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a conversation has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The revision of each prompt that it was last shown, or wrote. `None`: nothing is remembered.
    revisions: Option<BTreeMap<Name, Revision>>,
    /// The id of the last operation that did not say what it expected, the prompt, and what that was: it may be sent again.
    operation: Option<(String, String, Option<Revision>)>,
}

impl Seen {
    /// Remembers from now on what is recorded; before, nothing is.
    pub(super) fn remember(&mut self) {
        self.revisions.get_or_insert_default();
    }

    /// The client is about to be shown this revision of a prompt.
    pub(super) fn record(&mut self, name: &Name, revision: Option<Revision>) {
        if let (Some(seen), Some(revision)) = (&mut self.revisions, revision) {
            seen.insert(name.clone(), revision);
        }
    }

    fn revision(&self, typed: &str) -> Option<Revision> {
        let seen = self.revisions.as_ref()?;
        spellings(typed).iter().find_map(|name| seen.get(&Name::new(name).ok()?).copied())
    }
}

/// A caller who may edit prompts, in a conversation.
#[derive(Debug)]
pub(super) struct Editing<'s> {
    pub(super) server: &'s Server,
    pub(super) caller: &'s Caller,
    /// Who edits, for the history.
    pub(super) author: Option<Arc<str>>,
    pub(super) seen: &'s mut Seen,
    /// The longest result that the agent shows its model; `None` if it is not known.
    pub(super) limit: Option<PartLimit>,
}

/// A prompt as its file has it, and its versions.
#[derive(Debug, Serialize)]
pub(super) struct Reading {
    command: String,
    /// `None` if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    /// Of the version that was asked for, or the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    versions: Vec<Version>,
}

/// Why nothing was written, or read.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A parameter has another type, or is missing.
    Mismatch(String),
    /// What the caller asks for cannot be done.
    Invalid(String),
    /// The name is that of a prompt that is not to be created, or not to be changed.
    Taken(String),
    /// Only the whole file can be changed, and not parts of it.
    NotInParts(String),
    /// The prompt is not the one that the caller has seen.
    Conflict { current: Option<Revision>, text: String },
    /// The caller does not say which revision of this prompt they have seen, and the conversation has seen none.
    NotSeen(String),
    /// The system refuses; the text says what to do.
    Unavailable(String),
}

impl Editing<'_> {
    /// What reads and writes prompts.
    ///
    /// # Errors
    /// There is no folder that prompts are written to.
    pub(super) fn editor(&self) -> Result<Editor<'_>, Refusal> {
        Ok(self.server.library.editor(self.caller)?)
    }

    /// Creates a prompt. `params` are those of the request, of which the note and the id of the operation are read.
    ///
    /// # Errors
    /// Those of [`Editor::create`].
    pub(super) fn create(&mut self, name: &str, edit: &Edit, params: &Object) -> Result<Written, Refusal> {
        self.write(params, |editor, about| editor.create(name, edit, about))
    }

    /// Changes a prompt. Of `params`, also the expected revision is read.
    ///
    /// # Errors
    /// Those of [`Editor::update`]; no revision is expected.
    pub(super) fn update(&mut self, name: &str, edit: &Edit, params: &Object) -> Result<Written, Refusal> {
        let expected = self.expected_of_existing(name, params)?;
        self.write(params, |editor, about| editor.update(name, expected, edit, about))
    }

    /// The same for a prompt to delete.
    pub(super) fn delete(&mut self, name: &str, params: &Object) -> Result<Written, Refusal> {
        let expected = self.expected_of_existing(name, params)?;
        self.write(params, |editor, about| editor.delete(name, expected, about))
    }

    /// The same for an earlier version, or a deleted prompt, of which no revision can be expected.
    pub(super) fn restore(&mut self, name: &str, to: Option<&str>, params: &Object) -> Result<Written, Refusal> {
        let to = to.map(|to| revision("revision", to)).transpose()?;
        let editor = self.editor()?;
        let is_there = editor.path(&editor.name(name)?).is_some();
        let expected = match self.expected(name, params, is_there) {
            // It may be there because this very request was carried out before.
            Err(Refusal::NotSeen(_)) if params.get("operation_id").is_some_and(Value::is_string) => None,
            expected => expected?,
        };
        self.write(params, |editor, about| editor.restore(name, expected, to, about))
    }

    /// The source of a prompt, or of a version, and all versions.
    ///
    /// # Errors
    /// There is no such prompt, or no such version.
    pub(super) fn read(&mut self, name: &str, version: Option<&str>) -> Result<Reading, Refusal> {
        let version = version.map(|version| revision("revision", version)).transpose()?;
        let editor = self.editor()?;
        let current = editor.current(name);
        // A prompt of another layer has no history, and a deleted one has nothing else.
        let versions = match (editor.history(name), &current) {
            (Ok(versions), _) => versions,
            (Err(EditError::NoHistory(..)), Ok(_)) => Vec::new(),
            (Err(error), _) => return Err(error.into()),
        };
        let current = match current {
            Ok(current) => Some(current),
            Err(EditError::Unknown(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let file = match version {
            Some(version) => Some(editor.version(name, version)?),
            None => current.as_ref().map(|current| current.file.clone()),
        };
        let revision = current.as_ref().map(|current| current.revision);
        if let Some(current) = &current {
            self.seen.record(&current.name, revision);
        }
        let command = current.map_or_else(|| name.to_owned(), |current| current.name.to_string());
        Ok(Reading { command, revision, file, versions })
    }

    fn write(
        &mut self,
        params: &Object,
        write: impl FnOnce(&Editor<'_>, &About) -> Result<Written, EditError>,
    ) -> Result<Written, Refusal> {
        let mcp::ChangeParams { note, operation_id, expected: _ } = read(params)?;
        let about = About::new(self.author.clone(), note, operation_id)?;
        // Whoever has seen a list is notified, this client too.
        self.server.watch();
        let written = write(&self.editor()?, &about)?;
        tracing::debug!(name = %written.name, revision = %written.revision, "wrote a prompt");
        self.seen.record(&written.name, Some(written.revision));
        Ok(written)
    }

    /// The revision that a prompt must still have which is to be changed or deleted.
    ///
    /// # Errors
    /// It is not known; or there is no such prompt, or it is not the user's, which is then said instead.
    fn expected_of_existing(&mut self, name: &str, params: &Object) -> Result<Revision, Refusal> {
        match self.expected(name, params, true) {
            Ok(Some(expected)) => Ok(expected),
            Ok(None) | Err(Refusal::NotSeen(_)) => {
                let editor = self.editor()?;
                let own = editor.name(name)?;
                match editor.path(&own) {
                    Some(_) => Err(Refusal::NotSeen(name.to_owned())),
                    None => Err(EditError::Conflict { name: own, current: None, diff: String::new() }.into()),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The revision that a prompt must still have: the one in the params, else the one that the conversation has seen last; `None` for a
    /// prompt that is not there.
    fn expected(&mut self, name: &str, params: &Object, is_there: bool) -> Result<Option<Revision>, Refusal> {
        let mcp::ChangeParams { expected, operation_id, .. } = read(params)?;
        if let Some(expected) = expected {
            return revision("expected", expected).map(Some);
        }
        if let Some((last, of, expected)) = &self.seen.operation
            && operation_id.as_ref() == Some(last)
        {
            if !spellings(name).contains(of) {
                let text = "another change was made with this `operation_id`; use a new one for each change";
                return Err(Refusal::Invalid(text.to_owned()));
            }
            return Ok(*expected);
        }
        let expected = self.seen.revision(name).filter(|_| is_there);
        if is_there && expected.is_none() {
            return Err(Refusal::NotSeen(name.to_owned()));
        }
        let of = strip(name).replace(COLONS, "/");
        self.seen.operation = operation_id.map(|id| (id, of, expected));
        Ok(expected)
    }
}

/// A revision in a parameter.
///
/// # Errors
/// It is none.
pub(super) fn revision(parameter: &str, text: &str) -> Result<Revision, Refusal> {
    text.parse().map_err(|error| Refusal::Invalid(format!("`{parameter}` is {}: {error}", quoted(text))))
}

/// The parts of a prompt's frontmatter that a request gives.
///
/// # Errors
/// One has another type.
pub(super) fn frontmatter(params: &Object) -> Result<Parts, Mismatch> {
    let mcp::PromptParts { title, description, arguments, tags } = read(params)?;
    let argument = |argument: mcp::DeclaredArgument| {
        let mcp::DeclaredArgument { name, title, description, required, default, choices, strict } = argument;
        Argument {
            name,
            title,
            description,
            required: required.unwrap_or_default(),
            default,
            choices: choices.unwrap_or_default(),
            strict: strict.unwrap_or_default(),
        }
    };
    let arguments = arguments.map(|all| all.map(|all| all.into_iter().map(argument).collect()));
    Ok(Parts { body: None, title, description, arguments, tags })
}

/// What is probably not as the author intends, each with its position.
pub(super) fn warnings(written: &Written) -> Vec<String> {
    written.warnings.iter().map(|problem| problem.diagnostic.with_position()).collect()
}

impl From<EditError> for Refusal {
    fn from(error: EditError) -> Refusal {
        let text = error.to_string();
        match error {
            EditError::Conflict { current, .. } => Refusal::Conflict { current, text },
            EditError::Exists(_) | EditError::NotYours(..) => Refusal::Taken(text),
            EditError::Refused(_, diagnostic) if diagnostic.fix == EDIT_THE_FILE => Refusal::NotInParts(text),
            error if error.is_io() => Refusal::Unavailable(text),
            _ => Refusal::Invalid(text),
        }
    }
}

impl From<Mismatch> for Refusal {
    fn from(mismatch: Mismatch) -> Refusal {
        Refusal::Mismatch(mismatch.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Mismatch(text) | Refusal::Invalid(text) | Refusal::Taken(text) | Refusal::NotInParts(text) => {
                Failure::invalid_params(text)
            }
            Refusal::Conflict { current: None, text } => Failure::invalid_params(text),
            Refusal::Conflict { current: Some(current), text } => {
                Failure::invalid_params(text).with_data(json!({ "revision": current }))
            }
            Refusal::NotSeen(name) => Failure::invalid_params(format!(
                "`expected` is missing: the revision of {} that you have read, which is in `_meta` in the answers to \
                 resources/read, resources/list and prompts/list",
                named(&name)
            )),
            Refusal::Unavailable(text) => Failure::new(FailureKind::Unavailable, text),
        }
    }
}
