//! Changes prompts for a caller: in the user's own folder, only as they were read, and never
//! without a trace in the history.
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
use crate::prompt::{Diagnostic, Kind, Name, Revision, Severity, spellings};
use crate::wording::{named, named_path, quoted};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many lines of a diff a message has.
const MAX_DIFF_LINES: usize = 40;

/// A write that was carried out.
#[derive(Debug, Clone, Serialize)]
pub struct Written {
    /// The name of the prompt.
    #[serde(rename = "command")]
    pub name: Name,
    /// What its file holds now; after a deletion, what it held.
    pub revision: Revision,
    /// What is probably not as the author intends; and that another prompt overrides it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
}

/// A prompt's file at one moment.
#[derive(Debug, Clone)]
pub struct Current {
    /// The name of the prompt.
    pub name: Name,
    /// Its revision.
    pub revision: Revision,
    /// Its text, with the frontmatter.
    pub file: String,
    /// Who wrote it.
    pub layer: Layer,
}

/// Changes prompts for one caller. It is made for one message.
#[derive(Debug)]
pub struct Editor<'l> {
    library: &'l Library,
    layer: Layer,
    store: Arc<dyn Store>,
    view: View,
    caller: Caller,
}

impl Library {
    /// What changes prompts for a caller: in the first folder of the user that is not another
    /// program's.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn editor(&self, caller: &Caller) -> Result<Editor<'_>, Diagnostic> {
        self.editor_of(Layer::USER, caller)
    }

    /// The same in this layer: that of the user, of the project or of the team.
    ///
    /// # Errors
    /// There is no such folder, or no team.
    pub fn editor_of(&self, layer: Layer, caller: &Caller) -> Result<Editor<'_>, Diagnostic> {
        let no_folder = || {
            if layer == Layer::TEAM {
                let fix = "write `team = \"https://…\"`, the address of its server, into the settings file";
                return Diagnostic::new(Kind::NotWritable, "there is no team", fix);
            }
            let message = "there is no folder of prompts to write to";
            Diagnostic::new(
                Kind::NotWritable,
                message,
                "start the program with --prompts DIR",
            )
        };
        let store = self.store(layer).ok_or_else(no_folder)??;
        let view = self.view_for(caller).for_editing(true);
        Ok(Editor {
            library: self,
            layer,
            store,
            view,
            caller: caller.clone(),
        })
    }
}

impl Editor<'_> {
    /// The library as the caller sees it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Creates a prompt. A prompt of another layer may have the name.
    ///
    /// # Errors
    /// The name is invalid or taken, the text is not a prompt, or the file cannot be written.
    pub fn create(&self, name: &str, text: &str, by: &Authorship) -> Result<Written, Diagnostic> {
        let name =
            Name::for_new_file(name).map_err(|why| Diagnostic::new(Kind::BadName, why, ""))?;
        self.check_prefix(&name)?;
        let stored = self.view.stored_spelling(name.clone());
        if stored != name && self.in_store(&stored).is_some() {
            return Err(exists(&stored));
        }
        let warnings = self.check(&name, text)?;
        self.write(&name, None, WriteAction::SetText(text), by, false, warnings)
    }

    /// Changes a prompt that still is as expected.
    ///
    /// # Errors
    /// There is no such prompt in the folder, it has changed, the text is not a prompt, or the file
    /// cannot be written.
    pub fn update(
        &self,
        name: &str,
        expected: Revision,
        text: &str,
        by: &Authorship,
    ) -> Result<Written, Diagnostic> {
        let name = self.resolve(name)?;
        let warnings = self.check(&name, text)?;
        self.write(
            &name,
            Some(expected),
            WriteAction::SetText(text),
            by,
            false,
            warnings,
        )
    }

    /// Deletes the file of a prompt that still is as expected. Its text stays in the history.
    ///
    /// # Errors
    /// There is no such prompt in the folder, it has changed, or the file cannot be deleted.
    pub fn delete(
        &self,
        name: &str,
        expected: Revision,
        by: &Authorship,
    ) -> Result<Written, Diagnostic> {
        let name = self.resolve(name)?;
        self.write(
            &name,
            Some(expected),
            WriteAction::Delete,
            by,
            false,
            Vec::new(),
        )
    }

    /// Writes an earlier version again: the one with the revision `to`, else the one before the
    /// current one, or the one that was deleted. `expected` is `None` if there is no such file now.
    /// What is wrong with the text is in the warnings, unless the caller has a prefix.
    ///
    /// # Errors
    /// There is no such version, the prompt has changed, or the file cannot be written.
    pub fn restore(
        &self,
        name: &str,
        expected: Option<Revision>,
        to: Option<Revision>,
        by: &Authorship,
    ) -> Result<Written, Diagnostic> {
        let name = self.resolve(name)?;
        let text = match to {
            Some(to) => self.version(&name, to)?,
            None => {
                self.version_before(
                    &name,
                    expected.or_else(|| self.in_store(&name)?.info().revision),
                )?
                .1
            }
        };
        let warnings = match self.check(&name, &text) {
            // With a prefix, it may be invalid because of what it would reach.
            Err(why) if self.caller.prefix.is_none() => vec![why],
            checked => checked?,
        };
        self.write(
            &name,
            expected,
            WriteAction::SetText(&text),
            by,
            true,
            warnings,
        )
    }

    /// A prompt's file, in any layer.
    ///
    /// # Errors
    /// There is no such prompt, or its file cannot be read.
    pub fn current(&self, name: &str) -> Result<Current, Diagnostic> {
        let found = self
            .view
            .find_exactly(name)
            .map_or_else(|| Err(self.unknown(name)), Ok)?;
        let file = found.text()?;
        let revision = Revision::of(file.as_bytes());
        Ok(Current {
            name: found.name.clone(),
            revision,
            file,
            layer: found.layer,
        })
    }

    /// Returns the prompt of this name in the store that is written to.
    pub fn in_store(&self, name: &Name) -> Option<Found> {
        let is_own = |found: &Found| {
            found.layer == self.layer
                && found
                    .place()
                    .file
                    .is_none_or(|file| file.starts_with(self.store.folder()))
        };
        self.view.all(name).into_iter().find(is_own)
    }

    /// The versions of a prompt, which may have been deleted; the newest first, which is the
    /// current one unless it was.
    ///
    /// # Errors
    /// There is no such prompt in the folder and in its history, or they cannot be read.
    pub fn history(&self, name: &str) -> Result<Vec<Version>, Diagnostic> {
        self.store.history(&self.resolve(name)?)
    }

    /// The text of a version, which may be the current one.
    ///
    /// # Errors
    /// There is no such version, or it cannot be read.
    pub fn version(&self, name: &str, revision: Revision) -> Result<String, Diagnostic> {
        let name = self.resolve(name)?;
        self.store.version(&name, revision)?.ok_or_else(|| {
            let message = format!("the history of {} has no version {revision}", named(&name));
            Diagnostic::new(Kind::NoVersion, message, "choose one from its history")
        })
    }

    /// The newest version with another text than the current one; with `None`, the one that was
    /// deleted. A version whose text was changed in the history is skipped.
    ///
    /// # Errors
    /// There is no such prompt, or no such version, or they cannot be read.
    pub fn version_before(
        &self,
        name: &str,
        current: Option<Revision>,
    ) -> Result<(Revision, String), Diagnostic> {
        let name = self.resolve(name)?;
        for version in self.store.history(&name)? {
            let is_other =
                version.operation != Operation::Delete && Some(version.revision) != current;
            if is_other && let Ok(Some(text)) = self.store.version(&name, version.revision) {
                return Ok((version.revision, text));
            }
        }
        let kept = "one is kept when an agent, the web page, `edit` or `restore` changes it";
        let message = format!("{} has no earlier version: {kept}", named(&name));
        Err(Diagnostic::new(
            Kind::NoVersion,
            message,
            "look for the text in git or in a backup",
        ))
    }

    /// Adds what a prompt holds to its history, before a person changes it.
    ///
    /// # Errors
    /// It cannot be read, or the history cannot be written.
    pub fn record_current(&self, found: &Found) -> Result<(), Diagnostic> {
        let text = found.text()?;
        let revision = Revision::of(text.as_bytes());
        self.write(
            &found.name,
            Some(revision),
            WriteAction::SetText(&text),
            &Authorship::default(),
            false,
            Vec::new(),
        )
        .map(|_| ())
    }

    /// Renames a prompt, with its versions and its test file, and returns it. The versions of a
    /// prompt of the team stay with the old name, which `restore` brings back.
    ///
    /// # Errors
    /// There is a prompt of that name, or it cannot be renamed.
    pub fn rename(&self, from: &Found, to: &Name) -> Result<Found, Diagnostic> {
        let by = Authorship {
            note: Some(format!("renamed from {} to {to}", from.name)),
            ..Authorship::default()
        };
        self.write(
            &from.name,
            from.info().revision,
            WriteAction::Rename(to),
            &by,
            false,
            Vec::new(),
        )?;
        self.in_store(to).ok_or_else(|| self.unknown(to))
    }

    /// Deletes the test file of a prompt that was deleted.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub fn delete_tests(&self, name: &Name, tests: &TestFile) -> Result<(), Diagnostic> {
        self.write(
            name,
            None,
            WriteAction::DeleteTests(tests),
            &Authorship::default(),
            false,
            Vec::new(),
        )
        .map(drop)
    }

    /// The warnings of a text that is to be the file of this name.
    fn check(&self, name: &Name, text: &str) -> Result<Vec<Diagnostic>, Diagnostic> {
        let draft = self.store.draft(name, text, &self.caller);
        draft.prompt()?;
        let problems = draft.check();
        // With a prefix, it may be the file of somebody else that cannot be attached.
        let is_refused = |problem: &&Diagnostic| {
            self.caller.prefix.is_some() && problem.severity() == Severity::Error
        };
        match problems.iter().find(is_refused) {
            Some(refused) => Err(refused.clone()),
            None => Ok(problems),
        }
    }

    fn write(
        &self,
        name: &Name,
        expected: Option<Revision>,
        action: WriteAction<'_>,
        by: &Authorship,
        is_restored: bool,
        mut warnings: Vec<Diagnostic>,
    ) -> Result<Written, Diagnostic> {
        let (text, caller, versions) = (action.text(), &self.caller, self.library.versions);
        let write = WriteRequest {
            name,
            expected,
            action,
            by,
            is_restored,
            caller,
            versions,
        };
        let written = self.store.write(&write);
        self.library
            .changed(&Change::of_prompts(BTreeSet::from([name.clone()])));
        let revision = written.map_err(|error| match (error.kind, expected) {
            (
                Kind::Conflict {
                    current: Some(_), ..
                },
                None,
            ) => exists(name),
            (Kind::Conflict { current, .. }, Some(expected)) => {
                self.conflict(name, expected, current, text)
            }
            (kind, _) => Diagnostic { kind, ..error },
        })?;
        tracing::debug!(%name, %revision, "wrote a prompt");
        if self.layer == Layer::TEAM {
            warnings = text
                .and_then(|_| self.in_store(name))
                .map(|own| own.check())
                .unwrap_or_default();
        }
        warnings.extend(text.and_then(|_| self.overridden(name)));
        Ok(Written {
            name: name.clone(),
            revision,
            warnings,
        })
    }

    fn check_prefix(&self, name: &Name) -> Result<(), Diagnostic> {
        match &self.caller.prefix {
            Some(prefix) if !prefix.contains(name) => {
                let prefix = named(&prefix.to_string());
                let message = format!("you can only write prompts whose names begin with {prefix}");
                Err(Diagnostic::new(
                    Kind::NotWritable,
                    message,
                    "choose such a name",
                ))
            }
            _ => Ok(()),
        }
    }

    /// The name of a prompt that may be written, or that was deleted, from what was typed.
    ///
    /// # Errors
    /// There is no such prompt in the folder and in its history.
    pub fn resolve(&self, typed: &str) -> Result<Name, Diagnostic> {
        let names = spellings(typed)
            .into_iter()
            .filter_map(|name| Name::new(&name).ok());
        let names: Vec<Name> = names
            .filter(|name| self.check_prefix(name).is_ok())
            .collect();
        if let Some(name) = names.iter().find(|name| self.in_store(name).is_some()) {
            return Ok(name.clone());
        }
        for name in &names {
            if !self.store.history(name)?.is_empty() {
                return Ok(name.clone());
            }
        }
        match names.iter().find_map(|name| self.view.get(name)) {
            Some(found) => Err(not_yours(&found)),
            None => Err(self.unknown(typed)),
        }
    }

    fn unknown(&self, typed: &str) -> Diagnostic {
        match self.view.find(typed) {
            Err(unknown) => unknown,
            Ok(found) => {
                let message = format!("no prompt is named exactly {}", quoted(typed));
                let fix = format!("did you mean {}?", named(&found.name));
                Diagnostic::new(
                    Kind::NoSuchPrompt {
                        closest: vec![found.name.clone()],
                    },
                    message,
                    fix,
                )
            }
        }
    }

    /// The error for a prompt that is not as expected, with what has changed since; or, if that is
    /// not known, with what the write would change now.
    fn conflict(
        &self,
        name: &Name,
        expected: Revision,
        now: Option<Revision>,
        text: Option<&str>,
    ) -> Diagnostic {
        let shown = named(name);
        let Some(revision) = &now else {
            let kind = Kind::Conflict {
                current: None,
                diff: String::new(),
            };
            return Diagnostic::new(
                kind,
                format!("{shown} was deleted; nothing is written"),
                "restore it, or create it again",
            );
        };
        let current = self
            .in_store(name)
            .and_then(|found| found.text().ok())
            .unwrap_or_default();
        let diff = match (self.store.version(name, expected), text) {
            (Ok(Some(then)), _) => {
                difference(("as you read it", &then), ("as it is now", &current))
            }
            (_, Some(text)) => {
                difference(("as it is now", &current), ("as you would write it", text))
            }
            _ => String::new(),
        };
        let diff = shortened(diff);
        let message = format!(
            "{shown} has changed since you read it, and nothing is written; its revision is now {revision}"
        );
        let of_diff = if diff.is_empty() {
            String::new()
        } else {
            format!(":\n{}", diff.trim_end())
        };
        let fix = format!("read it again, and make your change to the text as it is now{of_diff}");
        Diagnostic::new(Kind::Conflict { current: now, diff }, message, fix)
    }

    /// A warning if another prompt of the name is used.
    fn overridden(&self, name: &Name) -> Option<Diagnostic> {
        let own = self.in_store(name)?;
        let winner = self
            .view
            .get(name)
            .filter(|winner| winner.place() != own.place())?;
        let whose = if winner.layer.is_project() {
            "the project's"
        } else {
            "another"
        };
        let message = format!("{whose} prompt of this name overrides this one");
        let warning = Diagnostic::new(
            Kind::Warning,
            message,
            "choose another name, or delete that prompt",
        );
        Some(
            own.place()
                .file
                .map_or(warning.clone(), |file| warning.in_file(file)),
        )
    }
}

fn exists(name: &Name) -> Diagnostic {
    let message = format!("there is already a prompt named {}", named(name));
    Diagnostic::new(
        Kind::Exists,
        message,
        "choose another name, or read that prompt and update it",
    )
}

fn not_yours(found: &Found) -> Diagnostic {
    let name = named(&found.name);
    let message = match found.place().file {
        None if found.layer == Layer::TEAM => format!("{name} is a prompt of the team"),
        Some(file) => format!(
            "{name} is in {}, where nothing is written",
            named_path(&file)
        ),
        None => format!(
            "{name} is a {} prompt, which cannot be changed, and has no history",
            found.layer.name
        ),
    };
    let fix = match found.layer.is_project() || found.pack_version().is_some() {
        true => "change it in its repository, or create a prompt with another name".to_owned(),
        false if found.layer == Layer::TEAM => {
            format!(
                "`prompt-expander edit {}` changes it on the team's server",
                found.name
            )
        }
        false => format!("create a prompt named {name}, which overrides it"),
    };
    Diagnostic::new(Kind::NotWritable, message, fix)
}

/// The first lines of a diff.
fn shortened(diff: String) -> String {
    let Some((end, _)) = diff.match_indices('\n').nth(MAX_DIFF_LINES - 1) else {
        return diff;
    };
    match diff[end + 1..].lines().count() {
        0 => diff,
        more => format!("{}… {more} more lines\n", &diff[..=end]),
    }
}

#[cfg(test)]
mod tests;
