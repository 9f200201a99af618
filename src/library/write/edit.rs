//! Edits prompts on behalf of a caller.
//!
//! An [`Editor`] checks whether the caller may write a prompt and whether the new text is valid.
//! Then it passes the write to a [`Store`], which fails if the prompt has changed since the caller
//! read it, and which records every version in the history.

mod references;

use super::diff::unified_diff;
use super::history::{Operation, Version};
use crate::library::caller::Caller;
use crate::library::disk::watched::Change;
use crate::library::source::{
    Authorship, Found, Layer, Store, TestFile, WriteAction, WriteRequest,
};
use crate::library::view::{Library, View};
use crate::prompt::{Diagnostic, Kind, Name, Revision, Severity, possible_names};
use crate::wording::{in_backticks, path_in_backticks, quoted};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The expected revision for a write that fails if the prompt exists.
const MUST_NOT_EXIST: Option<Revision> = None;

/// The maximum number of diff lines in a message.
const MAX_DIFF_LINES: usize = 40;

/// The result of a successful write.
#[derive(Debug, Clone, Serialize)]
pub struct CompletedWrite {
    /// The name of the prompt.
    #[serde(rename = "command")]
    pub name: Name,
    /// The prompt's new revision or, for a deletion, the revision of the deleted text.
    pub revision: Revision,
    /// Likely mistakes in the text, and whether another prompt overrides this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
}

/// The contents of a prompt's file when it was read.
#[derive(Debug, Clone)]
pub struct CurrentPrompt {
    /// The name of the prompt.
    pub name: Name,
    /// The revision of `file`.
    pub revision: Revision,
    /// The whole text, including the frontmatter.
    pub file: String,
    /// Who wrote the prompt.
    pub layer: Layer,
}

/// The text of one version of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionText {
    /// The revision of `text`.
    pub revision: Revision,
    /// The whole text, including the frontmatter.
    pub text: String,
}

/// Edits the prompts of one layer on behalf of one caller. Each request creates its own editor.
#[derive(Debug)]
pub struct Editor<'l> {
    /// Notifies its watchers of every change.
    library: &'l Library,
    /// The layer whose prompts can be edited.
    layer: Layer,
    /// Writes the prompts of `layer`.
    store: Arc<dyn Store>,
    /// The library as the caller sees it.
    view: View,
    caller: Caller,
}

impl Library {
    /// Returns an editor of the user's own prompts. It writes to the first of the user's folders
    /// that doesn't belong to another program.
    ///
    /// # Errors
    /// Fails if there is no such folder.
    pub fn editor(&self, caller: &Caller) -> Result<Editor<'_>, Diagnostic> {
        self.editor_for_layer(Layer::USER, caller)
    }

    /// Returns an editor of the prompts of the user, the project or the team.
    ///
    /// # Errors
    /// Fails if the layer has nowhere to write prompts to.
    pub fn editor_for_layer(
        &self,
        layer: Layer,
        caller: &Caller,
    ) -> Result<Editor<'_>, Diagnostic> {
        let store = self.store(layer).ok_or_else(|| no_store_error(layer))??;
        let may_edit = true;
        Ok(Editor {
            library: self,
            layer,
            store,
            view: self.view_for(caller).for_editing(may_edit),
            caller: caller.clone(),
        })
    }
}

/// Returns the error for a layer that has no folder or server to write prompts to.
fn no_store_error(layer: Layer) -> Diagnostic {
    if layer == Layer::TEAM {
        let fix = "join one with `prompt-expander team join URL`";
        return Diagnostic::new(Kind::NotWritable, "there is no team", fix);
    }
    let message = "there is no folder of prompts to write to";
    let fix = "write `prompts = [\"DIR\"]` into config.toml";
    Diagnostic::new(Kind::NotWritable, message, fix)
}

impl Editor<'_> {
    /// Returns the library as the caller sees it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Creates a prompt. Prompts in other layers may have the same name.
    ///
    /// # Errors
    /// Fails if the name is invalid or taken, if the text isn't a valid prompt, or if the prompt
    /// cannot be written.
    pub fn create(
        &self,
        name: &str,
        text: &str,
        by: &Authorship,
    ) -> Result<CompletedWrite, Diagnostic> {
        let name = Name::for_new_file(name)
            .map_err(|message| Diagnostic::new(Kind::BadName, message, ""))?;
        self.check_prefix(&name)?;
        // A prompt may exist under another spelling of the name. The store itself only detects
        // identical names.
        let existing_name = self.view.existing_lookalike_or(name.clone());
        if existing_name != name && self.find_in_store(&existing_name).is_some() {
            return Err(name_taken_error(&existing_name));
        }
        let warnings = self.check(&name, text)?;
        let action = WriteAction::SetText(text);
        self.write_text(&name, MUST_NOT_EXIST, action, by, warnings)
    }

    /// Changes the text of a prompt.
    ///
    /// # Errors
    /// Fails if the store has no such prompt, if its revision is no longer `expected`, if the text
    /// isn't a valid prompt, or if the prompt cannot be written.
    pub fn update(
        &self,
        name: &str,
        expected: Revision,
        text: &str,
        by: &Authorship,
    ) -> Result<CompletedWrite, Diagnostic> {
        let name = self.resolve_name(name)?;
        let warnings = self.check(&name, text)?;
        let action = WriteAction::SetText(text);
        self.write_text(&name, Some(expected), action, by, warnings)
    }

    /// Deletes a prompt. The history keeps its text.
    ///
    /// # Errors
    /// Fails if the store has no such prompt, if its revision is no longer `expected`, or if the
    /// prompt cannot be deleted.
    pub fn delete(
        &self,
        name: &str,
        expected: Revision,
        by: &Authorship,
    ) -> Result<CompletedWrite, Diagnostic> {
        let name = self.resolve_name(name)?;
        let revision = self.write(&name, Some(expected), WriteAction::Delete, by)?;
        Ok(CompletedWrite {
            name,
            revision,
            warnings: Vec::new(),
        })
    }

    /// Restores the version of a prompt with the revision `to`, or the [version
    /// before](Editor::version_before) the current one if `to` is `None`.
    ///
    /// `expected` is the revision that the prompt must still have, or `None` if it must be deleted.
    /// If the restored text isn't a valid prompt, it is written with a warning.
    ///
    /// # Errors
    /// Fails if there is no such version, if the prompt has changed, or if it cannot be written.
    /// For a caller with a prefix, also fails if the text isn't a valid prompt.
    pub fn restore(
        &self,
        name: &str,
        expected: Option<Revision>,
        to: Option<Revision>,
        by: &Authorship,
    ) -> Result<CompletedWrite, Diagnostic> {
        let name = self.resolve_name(name)?;
        let text = match to {
            Some(revision) => self.version(&name, revision)?,
            None => {
                // If the prompt exists although it should be deleted, the write below fails.
                let current = expected.or_else(|| self.current_revision(&name));
                self.version_before(&name, current)?.text
            }
        };
        let warnings = match self.check(&name, &text) {
            Ok(warnings) => warnings,
            Err(error) if self.caller.prefix.is_none() => vec![error],
            // The text may attach or include files that this caller may not read.
            Err(error) => return Err(error),
        };
        self.write_text(&name, expected, WriteAction::Restore(&text), by, warnings)
    }

    /// Reads a prompt's file, in any layer. If no such prompt is known, asks the team's server for
    /// new ones.
    ///
    /// # Errors
    /// Fails if there is no such prompt, or if its file cannot be read.
    pub fn current(&self, name: &str) -> Result<CurrentPrompt, Diagnostic> {
        let mut found = self.view.find_exactly(name);
        if found.is_none() && self.view.refresh_for(name) {
            found = self.view.find_exactly(name);
        }
        let Some(found) = found else {
            return Err(self.no_such_prompt_error(name));
        };
        let file = found.text()?;
        Ok(CurrentPrompt {
            name: found.name.clone(),
            revision: Revision::of_contents(file.as_bytes()),
            file,
            layer: found.layer,
        })
    }

    /// Returns the revision of a prompt in the store, or `None` if the store doesn't have it.
    fn current_revision(&self, name: &Name) -> Option<Revision> {
        self.find_in_store(name)?.info().revision
    }

    /// Returns the prompt with this name in the store, even if a prompt of another layer overrides
    /// it.
    pub fn find_in_store(&self, name: &Name) -> Option<Found> {
        let mut prompts = self.view.get_all(name).into_iter();
        prompts.find(|found| self.is_in_store(found))
    }

    /// Returns whether a prompt is in the store of this editor. A layer may have several folders,
    /// of which only one is the store.
    fn is_in_store(&self, found: &Found) -> bool {
        if found.layer != self.layer {
            return false;
        }
        match found.location().file {
            Some(file) => file.starts_with(self.store.folder()),
            None => true, // a team's server has no files
        }
    }

    /// Returns the versions of a prompt, newest first. The first one is the current version, unless
    /// the prompt was deleted.
    ///
    /// # Errors
    /// Fails if the prompt is neither in the store nor in its history, or if the history cannot be
    /// read.
    pub fn history(&self, name: &str) -> Result<Vec<Version>, Diagnostic> {
        self.store.history(&self.resolve_name(name)?)
    }

    /// Returns the text of a version, which may be the current one.
    ///
    /// # Errors
    /// Fails if the prompt has no version with this revision, or if the text cannot be read.
    pub fn version(&self, name: &str, revision: Revision) -> Result<String, Diagnostic> {
        let name = self.resolve_name(name)?;
        self.store.version(&name, revision)?.ok_or_else(|| {
            let message = format!(
                "the history of {} has no version {revision}",
                in_backticks(&name)
            );
            Diagnostic::new(Kind::NoSuchVersion, message, "choose one from its history")
        })
    }

    /// Returns the newest version whose text differs from the `current` one. If `current` is
    /// `None`, because the prompt was deleted, this is the version before the deletion.
    ///
    /// Versions whose text cannot be read, or was tampered with, are skipped.
    ///
    /// # Errors
    /// Fails if there is no such prompt, if it has no earlier version, or if the history cannot be
    /// read.
    pub fn version_before(
        &self,
        name: &str,
        current: Option<Revision>,
    ) -> Result<VersionText, Diagnostic> {
        let name = self.resolve_name(name)?;
        for version in self.store.history(&name)? {
            let revision = version.revision;
            if version.operation == Operation::Delete || Some(revision) == current {
                continue;
            }
            if let Ok(Some(text)) = self.store.version(&name, revision) {
                return Ok(VersionText { revision, text });
            }
        }
        let message = format!(
            "{} has no earlier version: one is kept when an agent, the web page, `edit` or `restore` changes it",
            in_backticks(&name)
        );
        let fix = "look for the text in git or in a backup";
        Err(Diagnostic::new(Kind::NoSuchVersion, message, fix))
    }

    /// Adds the current text of a prompt to its history. Call this before the user edits the file
    /// by hand, so that the text can be restored.
    ///
    /// # Errors
    /// Fails if the prompt cannot be read, or if the history cannot be written.
    pub fn record_current_text(&self, found: &Found) -> Result<(), Diagnostic> {
        let text = found.text()?;
        let revision = Revision::of_contents(text.as_bytes());
        // Writing the same text again doesn't change the file, but completes its history.
        let action = WriteAction::SetText(&text);
        self.write(&found.name, Some(revision), action, &Authorship::default())?;
        Ok(())
    }

    /// Renames a prompt together with its history and its test file, and returns the renamed
    /// prompt.
    ///
    /// The history of a team's prompt keeps the old name, so that `restore` can bring the prompt
    /// back under that name.
    ///
    /// # Errors
    /// Fails if a prompt has the new name, or if the prompt cannot be renamed.
    pub fn rename(&self, from: &Found, to: &Name) -> Result<Found, Diagnostic> {
        let by = Authorship {
            author: None,
            note: Some(format!("renamed from {} to {to}", from.name)),
        };
        let revision = from.info().revision;
        self.write(&from.name, revision, WriteAction::Rename(to), &by)?;
        self.find_in_store(to)
            .ok_or_else(|| self.no_such_prompt_error(to))
    }

    /// Deletes the test file that a deleted prompt left behind.
    ///
    /// # Errors
    /// Fails if the file cannot be deleted.
    pub fn delete_tests(&self, name: &Name, tests: &TestFile) -> Result<(), Diagnostic> {
        let action = WriteAction::DeleteTests(tests);
        self.write(name, MUST_NOT_EXIST, action, &Authorship::default())?;
        Ok(())
    }

    /// Checks whether a text is a valid prompt that the caller may write. Returns its warnings.
    ///
    /// # Errors
    /// Fails if the text isn't a valid prompt. For a caller with a prefix, also fails on any other
    /// error in the text, e.g. an attachment that the caller may not read.
    fn check(&self, name: &Name, text: &str) -> Result<Vec<Diagnostic>, Diagnostic> {
        let draft = self.store.draft(name, text, &self.caller);
        draft.prompt()?;
        let problems = draft.check();
        if self.caller.prefix.is_some() {
            let mut errors = problems.iter();
            if let Some(error) = errors.find(|problem| problem.severity() == Severity::Error) {
                return Err(error.clone());
            }
        }
        Ok(problems)
    }

    /// Writes the text of a prompt. `warnings` are those about the text; the result adds one if
    /// another prompt overrides this one.
    fn write_text(
        &self,
        name: &Name,
        expected: Option<Revision>,
        action: WriteAction<'_>,
        by: &Authorship,
        mut warnings: Vec<Diagnostic>,
    ) -> Result<CompletedWrite, Diagnostic> {
        let revision = self.write(name, expected, action, by)?;
        let prompt = self.find_in_store(name);
        if self.layer == Layer::TEAM {
            // Only the team's server could check the text, and it did so during the write.
            warnings = prompt.as_ref().map_or(Vec::new(), |prompt| prompt.check());
        }
        warnings.extend(prompt.and_then(|prompt| self.overridden_warning(&prompt)));
        Ok(CompletedWrite {
            name: name.clone(),
            revision,
            warnings,
        })
    }

    /// Passes a write to the store, and notifies the library's watchers. Returns the prompt's new
    /// revision or, for a deletion, the revision of the deleted text.
    ///
    /// # Errors
    /// Fails if the prompt's revision isn't `expected`, or if the prompt cannot be written.
    fn write(
        &self,
        name: &Name,
        expected: Option<Revision>,
        action: WriteAction<'_>,
        by: &Authorship,
    ) -> Result<Revision, Diagnostic> {
        let request = WriteRequest {
            name,
            expected,
            action,
            by,
            caller: &self.caller,
            versions: self.library.versions,
        };
        let outcome = self.store.write(&request);
        // Even a failed write may have changed something, so watchers are always notified.
        let change = Change::of_prompts(BTreeSet::from([name.clone()]));
        self.library.notify_changed(&change);
        let revision = outcome.map_err(|error| self.explain_conflict(&request, error))?;
        tracing::debug!(%name, %revision, "wrote a prompt");
        Ok(revision)
    }

    /// Checks that a name begins with the caller's prefix, if the caller has one.
    fn check_prefix(&self, name: &Name) -> Result<(), Diagnostic> {
        let Some(prefix) = &self.caller.prefix else {
            return Ok(());
        };
        if prefix.contains(name) {
            return Ok(());
        }
        let prefix = in_backticks(&prefix.to_string());
        let message = format!("you can only write prompts whose names begin with {prefix}");
        Err(Diagnostic::new(
            Kind::NotWritable,
            message,
            "choose such a name",
        ))
    }

    /// Returns the name of an existing prompt as the store spells it, given the spelling that the
    /// user typed. Also finds deleted prompts that still have a history.
    ///
    /// # Errors
    /// Fails if the prompt is neither in the store nor in its history.
    pub fn resolve_name(&self, typed: &str) -> Result<Name, Diagnostic> {
        let mut candidates = Vec::new();
        for spelling in possible_names(typed) {
            if let Ok(name) = Name::new(&spelling)
                && self.check_prefix(&name).is_ok()
            {
                candidates.push(name);
            }
        }
        let mut existing = self.first_in_store(&candidates);
        let is_unknown = existing.is_none() && self.view.find_exactly(typed).is_none();
        if is_unknown && self.view.refresh_for(typed) {
            existing = self.first_in_store(&candidates);
        }
        if let Some(name) = existing {
            return Ok(name.clone());
        }
        // Existing prompts take precedence over deleted ones with another spelling.
        for name in &candidates {
            if !self.store.history(name)?.is_empty() {
                return Ok(name.clone());
            }
        }
        match candidates.iter().find_map(|name| self.view.get(name)) {
            Some(found) => Err(not_writable_error(&found)),
            None => Err(self.no_such_prompt_error(typed)),
        }
    }

    /// Returns the first of the names that a prompt in the store has.
    fn first_in_store<'n>(&self, names: &'n [Name]) -> Option<&'n Name> {
        names.iter().find(|name| self.find_in_store(name).is_some())
    }

    /// Returns the error for a name that no prompt has exactly. It suggests similar names.
    fn no_such_prompt_error(&self, typed: &str) -> Diagnostic {
        // Unlike an edit, `find_known` accepts other letter case, e.g. `Plan` for `plan`.
        let similar = match self.view.find_known(typed) {
            Ok(found) => found.name.clone(),
            Err(error) => return error, // it already suggests similar names
        };
        let message = format!("no prompt is named exactly {}", quoted(typed));
        let fix = format!("did you mean {}?", in_backticks(&similar));
        let closest = vec![similar];
        Diagnostic::new(Kind::NoSuchPrompt { closest }, message, fix)
    }

    /// Replaces a conflict that the store reports by an error that says what happened to the prompt
    /// and what the caller can do. Returns any other error unchanged.
    fn explain_conflict(&self, request: &WriteRequest<'_>, error: Diagnostic) -> Diagnostic {
        let Kind::Conflict { current, .. } = error.kind else {
            return error;
        };
        match (request.expected, current) {
            (Some(expected), Some(current)) => self.changed_error(request, expected, current),
            (Some(_), None) => deleted_error(request.name),
            (None, Some(_)) => name_taken_error(request.name),
            (None, None) => error,
        }
    }

    /// Returns the error for a prompt that has changed since the caller read it.
    fn changed_error(
        &self,
        request: &WriteRequest<'_>,
        expected: Revision,
        current: Revision,
    ) -> Diagnostic {
        let diff = truncate_diff(self.conflict_diff(request, expected));
        let message = format!(
            "{} has changed since you read it, and nothing is written; its revision is now {current}",
            in_backticks(request.name)
        );
        let fix = "read it again, and make your change to the text as it is now";
        let kind = Kind::Conflict {
            current: Some(current),
            diff,
        };
        Diagnostic::new(kind, message, fix)
    }

    /// Returns a diff from the text that the caller read to the current text. If the history no
    /// longer has the text that the caller read, returns a diff from the current text to the text
    /// that the caller wants to write.
    fn conflict_diff(&self, request: &WriteRequest<'_>, expected: Revision) -> String {
        let prompt = self.find_in_store(request.name);
        let current = prompt.and_then(|found| found.text().ok());
        let current = current.unwrap_or_default();
        if let Ok(Some(original)) = self.store.version(request.name, expected) {
            return unified_diff(("as you read it", &original), ("as it is now", &current));
        }
        match request.action.text() {
            Some(text) => unified_diff(("as it is now", &current), ("as you would write it", text)),
            None => String::new(), // a deletion
        }
    }

    /// Returns a warning if callers get another prompt with the same name instead of this one.
    fn overridden_warning(&self, prompt: &Found) -> Option<Diagnostic> {
        let place = prompt.location();
        let winner = self.view.get(&prompt.name)?;
        if winner.location() == place {
            return None;
        }
        let message = if winner.layer.is_project() {
            "the project's prompt of this name overrides this one"
        } else {
            "another prompt of this name overrides this one"
        };
        let fix = "choose another name, or delete that prompt";
        let warning = Diagnostic::new(Kind::Warning, message, fix);
        Some(match place.file {
            Some(file) => warning.in_file(file),
            None => warning,
        })
    }
}

/// Returns the error for a new prompt whose name is taken.
fn name_taken_error(name: &Name) -> Diagnostic {
    let message = format!("there is already a prompt named {}", in_backticks(name));
    let fix = "choose another name, or read that prompt and update it";
    Diagnostic::new(Kind::AlreadyExists, message, fix)
}

/// Returns the error for a prompt that was deleted since the caller read it.
fn deleted_error(name: &Name) -> Diagnostic {
    let kind = Kind::Conflict {
        current: None,
        diff: String::new(),
    };
    let message = format!("{} was deleted; nothing is written", in_backticks(name));
    Diagnostic::new(kind, message, "restore it, or create it again")
}

/// Returns the error for a prompt in another layer or folder, which this editor cannot write. The
/// fix says where to change it.
fn not_writable_error(found: &Found) -> Diagnostic {
    let name = in_backticks(&found.name);
    let message = match found.location().file {
        Some(file) => format!(
            "{name} is in {}, which prompt-expander does not write to",
            path_in_backticks(&file)
        ),
        None if found.layer == Layer::TEAM => format!("{name} is a prompt of the team"),
        None => format!(
            "{name} is a {} prompt, which cannot be changed, and has no history",
            found.layer.name
        ),
    };
    let fix = if found.layer.is_project() || found.pack_version().is_some() {
        "change it in its repository, or create a prompt with another name".to_owned()
    } else if found.layer == Layer::TEAM {
        format!(
            "`prompt-expander edit {}` changes it on the team's server",
            found.name
        )
    } else {
        format!("create a prompt named {name}, which overrides it")
    };
    Diagnostic::new(Kind::NotWritable, message, fix)
}

/// Truncates a diff to [`MAX_DIFF_LINES`], followed by a line such as `… 12 more lines`.
fn truncate_diff(diff: String) -> String {
    let omitted_count = diff.lines().count().saturating_sub(MAX_DIFF_LINES);
    if omitted_count == 0 {
        return diff;
    }
    let mut truncated: String = diff.split_inclusive('\n').take(MAX_DIFF_LINES).collect();
    truncated += &format!("… {omitted_count} more lines\n");
    truncated
}

#[cfg(test)]
mod tests;
