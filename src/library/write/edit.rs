//! Changes prompts for a caller: in one store, only as they were read, and never without a trace in
//! the history.
//!
//! [`Editor`] checks what a caller may write, and that it is a prompt; a [`Store`] writes it.

mod references;

use super::diff::difference;
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

/// The most lines of a diff that a message has.
const MAX_DIFF_LINES: usize = 40;

/// A write that was carried out.
#[derive(Debug, Clone, Serialize)]
pub struct CompletedWrite {
    /// The name of the prompt.
    #[serde(rename = "command")]
    pub name: Name,
    /// The revision that the prompt has now; after a deletion, the one that it had.
    pub revision: Revision,
    /// What the author probably did not intend, and whether another prompt overrides this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
}

/// A prompt's file at one moment.
#[derive(Debug, Clone)]
pub struct CurrentPrompt {
    /// The name of the prompt.
    pub name: Name,
    /// The revision of its text.
    pub revision: Revision,
    /// Its text, with the frontmatter.
    pub file: String,
    /// Who wrote it.
    pub layer: Layer,
}

/// The text of a version of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionText {
    /// The revision of the text.
    pub revision: Revision,
    /// The text, with the frontmatter.
    pub text: String,
}

/// Changes the prompts of one layer for one caller. An editor lives as long as a request.
#[derive(Debug)]
pub struct Editor<'l> {
    /// The library, whose watchers are told of each change.
    library: &'l Library,
    /// The layer whose prompts are changed.
    layer: Layer,
    /// Where the prompts of the layer are written.
    store: Arc<dyn Store>,
    /// The library as the caller sees it.
    view: View,
    /// Who changes prompts.
    caller: Caller,
}

impl Library {
    /// Returns an editor of the user's own prompts. It writes to the first folder of the user that
    /// is not one of another program.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn editor(&self, caller: &Caller) -> Result<Editor<'_>, Diagnostic> {
        self.editor_for_layer(Layer::USER, caller)
    }

    /// Returns an editor of the prompts of a layer: the user's, the project's or the team's.
    ///
    /// # Errors
    /// The layer has no folder to write to, or there is no team.
    pub fn editor_for_layer(
        &self,
        layer: Layer,
        caller: &Caller,
    ) -> Result<Editor<'_>, Diagnostic> {
        let store = self.store(layer).ok_or_else(|| no_store(layer))??;
        Ok(Editor {
            library: self,
            layer,
            store,
            view: self.view_for(caller).for_editing(true),
            caller: caller.clone(),
        })
    }
}

/// Returns the error for a layer without a folder or a server to which its prompts can be written.
fn no_store(layer: Layer) -> Diagnostic {
    if layer == Layer::TEAM {
        let fix = "write `team = \"https://…\"`, the address of its server, into the settings file";
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

    /// Creates a prompt. A prompt of another layer may have the same name.
    ///
    /// # Errors
    /// The name is invalid or taken, the text is not a prompt, or the file cannot be written.
    pub fn create(
        &self,
        name: &str,
        text: &str,
        by: &Authorship,
    ) -> Result<CompletedWrite, Diagnostic> {
        let name = Name::for_new_file(name)
            .map_err(|message| Diagnostic::new(Kind::BadName, message, ""))?;
        self.check_prefix(&name)?;
        // The name may be that of a prompt in another spelling.
        let existing_name = self.view.stored_spelling(name.clone());
        if existing_name != name && self.find_in_store(&existing_name).is_some() {
            return Err(name_is_taken(&existing_name));
        }
        let warnings = self.check(&name, text)?;
        self.write_text(&name, None, WriteAction::SetText(text), by, warnings)
    }

    /// Changes the text of a prompt whose revision is still `expected`.
    ///
    /// # Errors
    /// The store has no such prompt, it has changed, the text is not a prompt, or the file cannot
    /// be written.
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

    /// Deletes the file of a prompt whose revision is still `expected`. Its text stays in the
    /// history.
    ///
    /// # Errors
    /// The store has no such prompt, it has changed, or the file cannot be deleted.
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

    /// Writes the text of an earlier version again: the version with the revision `to`; or, without
    /// it, the version before the current one. The last version of a deleted prompt is the one from
    /// before the deletion.
    ///
    /// `expected` is the revision that the prompt must still have; `None` if it was deleted. A text
    /// that is not a valid prompt is written with a warning, except for a caller with a prefix.
    ///
    /// # Errors
    /// There is no such version, the prompt has changed, the file cannot be written; or the caller
    /// has a prefix, and the text is not a valid prompt.
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
                let current = match expected {
                    Some(expected) => Some(expected),
                    None => self.current_revision(&name),
                };
                self.version_before(&name, current)?.text
            }
        };
        let warnings = match self.check(&name, &text) {
            Ok(warnings) => warnings,
            Err(error) if self.caller.prefix.is_none() => vec![error],
            // The text may attach or include files that the caller may not read.
            Err(error) => return Err(error),
        };
        self.write_text(&name, expected, WriteAction::Restore(&text), by, warnings)
    }

    /// Returns a prompt's file, in any layer.
    ///
    /// # Errors
    /// There is no such prompt, or its file cannot be read.
    pub fn current(&self, name: &str) -> Result<CurrentPrompt, Diagnostic> {
        let Some(found) = self.view.find_exactly(name) else {
            return Err(self.no_such_prompt(name));
        };
        let file = found.text()?;
        Ok(CurrentPrompt {
            name: found.name.clone(),
            revision: Revision::of_contents(file.as_bytes()),
            file,
            layer: found.layer,
        })
    }

    /// Returns the revision of the prompt with this name, if the store has one.
    fn current_revision(&self, name: &Name) -> Option<Revision> {
        self.find_in_store(name)?.info().revision
    }

    /// Returns the prompt with this name, if the store has one.
    pub fn find_in_store(&self, name: &Name) -> Option<Found> {
        let mut prompts = self.view.all(name).into_iter();
        prompts.find(|found| self.is_in_store(found))
    }

    /// Returns whether this editor can write a prompt. A layer may have several folders, but only
    /// the prompts in one of them are written.
    fn is_in_store(&self, found: &Found) -> bool {
        if found.layer != self.layer {
            return false;
        }
        match found.location().file {
            Some(file) => file.starts_with(self.store.folder()),
            None => true,
        }
    }

    /// Returns the versions of a prompt, the newest first. The first one is the current one, unless
    /// the prompt was deleted.
    ///
    /// # Errors
    /// Neither the store nor its history has such a prompt, or they cannot be read.
    pub fn history(&self, name: &str) -> Result<Vec<Version>, Diagnostic> {
        self.store.history(&self.resolve_name(name)?)
    }

    /// Returns the text of the version of a prompt that has this revision. It may be the current
    /// one.
    ///
    /// # Errors
    /// There is no such version, or it cannot be read.
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

    /// Returns the newest version whose revision is not `current`. If there is no current revision,
    /// because the prompt was deleted, this is the version from before the deletion.
    ///
    /// A version whose text cannot be read, or was changed in the history, is skipped.
    ///
    /// # Errors
    /// There is no such prompt or no such version, or they cannot be read.
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

    /// Adds the current text of a prompt to its history, unless it is there already. Call this
    /// before a person changes the file.
    ///
    /// # Errors
    /// It cannot be read, or the history cannot be written.
    pub fn record_current_text(&self, found: &Found) -> Result<(), Diagnostic> {
        let text = found.text()?;
        let revision = Revision::of_contents(text.as_bytes());
        // A store that is given the same text again only adds it to the history.
        let action = WriteAction::SetText(&text);
        self.write(&found.name, Some(revision), action, &Authorship::default())?;
        Ok(())
    }

    /// Renames a prompt, with its versions and its test file, and returns the renamed prompt.
    ///
    /// The versions of a prompt of the team keep the old name. `restore` can bring the prompt back
    /// under that name.
    ///
    /// # Errors
    /// There is a prompt with the new name already, or the prompt cannot be renamed.
    pub fn rename(&self, from: &Found, to: &Name) -> Result<Found, Diagnostic> {
        let by = Authorship {
            author: None,
            note: Some(format!("renamed from {} to {to}", from.name)),
        };
        let revision = from.info().revision;
        self.write(&from.name, revision, WriteAction::Rename(to), &by)?;
        self.find_in_store(to)
            .ok_or_else(|| self.no_such_prompt(to))
    }

    /// Deletes the test file of a prompt that was deleted.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub fn delete_tests(&self, name: &Name, tests: &TestFile) -> Result<(), Diagnostic> {
        let action = WriteAction::DeleteTests(tests);
        self.write(name, None, action, &Authorship::default())?;
        Ok(())
    }

    /// Checks that a text may become the file of the prompt with this name, and returns its
    /// warnings.
    ///
    /// # Errors
    /// The text is not a prompt; or the caller has a prefix, and the text attaches a file that the
    /// caller may not read.
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

    /// Writes the text of a prompt. The result has the `warnings` about the text, and another one
    /// if a prompt with the same name is used instead of this one.
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
            // Only the team's server can check the text, and it has done so now.
            warnings = prompt.as_ref().map_or(Vec::new(), |prompt| prompt.check());
        }
        warnings.extend(prompt.and_then(|prompt| self.overridden_warning(&prompt)));
        Ok(CompletedWrite {
            name: name.clone(),
            revision,
            warnings,
        })
    }

    /// Writes a prompt, and tells the watches of the library. Returns the revision that the prompt
    /// has now or, after a deletion, the one that it had.
    ///
    /// # Errors
    /// The prompt does not have the `expected` revision, or it cannot be written.
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
        let change = Change::of_prompts(BTreeSet::from([name.clone()]));
        self.library.changed(&change);
        let revision = outcome.map_err(|error| self.explain_conflict(&request, error))?;
        tracing::debug!(%name, %revision, "wrote a prompt");
        Ok(revision)
    }

    /// Refuses a name that does not begin with the prefix of the caller, if the caller has one.
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

    /// Returns the name of the prompt that a user has typed, as the store spells it. The prompt may
    /// have been deleted, if its history is left.
    ///
    /// # Errors
    /// Neither the store nor its history has such a prompt.
    pub fn resolve_name(&self, typed: &str) -> Result<Name, Diagnostic> {
        let mut names = Vec::new();
        for spelling in possible_names(typed) {
            if let Ok(name) = Name::new(&spelling)
                && self.check_prefix(&name).is_ok()
            {
                names.push(name);
            }
        }
        if let Some(name) = names.iter().find(|name| self.find_in_store(name).is_some()) {
            return Ok(name.clone());
        }
        for name in &names {
            if !self.store.history(name)?.is_empty() {
                return Ok(name.clone());
            }
        }
        match names.iter().find_map(|name| self.view.get(name)) {
            Some(found) => Err(not_writable(&found)),
            None => Err(self.no_such_prompt(typed)),
        }
    }

    /// Returns the error for a name that no prompt has exactly as it was typed. The error proposes
    /// a similar name.
    fn no_such_prompt(&self, typed: &str) -> Diagnostic {
        let similar = match self.view.find(typed) {
            Ok(found) => found.name.clone(),
            Err(error) => return error,
        };
        let message = format!("no prompt is named exactly {}", quoted(typed));
        let fix = format!("did you mean {}?", in_backticks(&similar));
        let closest = vec![similar];
        Diagnostic::new(Kind::NoSuchPrompt { closest }, message, fix)
    }

    /// Returns the error of a store. If it is a conflict, the message says what has happened to the
    /// prompt, and what the caller can do.
    fn explain_conflict(&self, request: &WriteRequest<'_>, error: Diagnostic) -> Diagnostic {
        let Kind::Conflict { current, .. } = error.kind else {
            return error;
        };
        match (request.expected, current) {
            (Some(expected), Some(current)) => self.changed_meanwhile(request, expected, current),
            (Some(_), None) => deleted_meanwhile(request.name),
            (None, Some(_)) => name_is_taken(request.name),
            (None, None) => error,
        }
    }

    /// Returns the error for a prompt that was changed after the caller had read it. The fix has a
    /// diff of the change.
    fn changed_meanwhile(
        &self,
        request: &WriteRequest<'_>,
        expected: Revision,
        current: Revision,
    ) -> Diagnostic {
        let diff = shortened(self.conflict_diff(request, expected));
        let message = format!(
            "{} has changed since you read it, and nothing is written; its revision is now {current}",
            in_backticks(request.name)
        );
        let mut fix = "read it again, and make your change to the text as it is now".to_owned();
        if !diff.is_empty() {
            fix = format!("{fix}:\n{}", diff.trim_end());
        }
        let kind = Kind::Conflict {
            current: Some(current),
            diff,
        };
        Diagnostic::new(kind, message, fix)
    }

    /// Returns a diff from the text that the caller has read to the current one. If the history no
    /// longer has the text that the caller has read, the diff is from the current text to the one
    /// that the caller would write.
    fn conflict_diff(&self, request: &WriteRequest<'_>, expected: Revision) -> String {
        let prompt = self.find_in_store(request.name);
        let current = prompt.and_then(|found| found.text().ok());
        let current = current.unwrap_or_default();
        if let Ok(Some(original)) = self.store.version(request.name, expected) {
            return difference(("as you read it", &original), ("as it is now", &current));
        }
        match request.action.text() {
            Some(text) => difference(("as it is now", &current), ("as you would write it", text)),
            None => String::new(),
        }
    }

    /// Returns a warning if another prompt of the same name is used instead of this one.
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

/// Returns the error for a new prompt whose name another prompt already has.
fn name_is_taken(name: &Name) -> Diagnostic {
    let message = format!("there is already a prompt named {}", in_backticks(name));
    let fix = "choose another name, or read that prompt and update it";
    Diagnostic::new(Kind::AlreadyExists, message, fix)
}

/// Returns the error for a prompt that was deleted after the caller had read it.
fn deleted_meanwhile(name: &Name) -> Diagnostic {
    let kind = Kind::Conflict {
        current: None,
        diff: String::new(),
    };
    let message = format!("{} was deleted; nothing is written", in_backticks(name));
    Diagnostic::new(kind, message, "restore it, or create it again")
}

/// Returns the error for a prompt that the editor cannot write, because it is in another layer or
/// folder. The fix says where it can be changed.
fn not_writable(found: &Found) -> Diagnostic {
    let name = in_backticks(&found.name);
    let message = match found.location().file {
        Some(file) => format!(
            "{name} is in {}, where nothing is written",
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

/// Returns the first [`MAX_DIFF_LINES`] lines of a diff. If it has more, a line such as
/// `… 12 more lines` follows.
fn shortened(diff: String) -> String {
    let excess = diff.lines().count().saturating_sub(MAX_DIFF_LINES);
    if excess == 0 {
        return diff;
    }
    let mut start: String = diff.split_inclusive('\n').take(MAX_DIFF_LINES).collect();
    start += &format!("… {excess} more lines\n");
    start
}

#[cfg(test)]
mod tests;
