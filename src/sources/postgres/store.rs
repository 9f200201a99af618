//! Writes prompts to the database, and reads their versions.

use super::transaction::{CurrentTexts, FileChange};
use super::{Postgres, check_text};
use crate::library::{
    Authorship, Caller, Found, Operation, PromptFile, Source, Store, Trace, Version, WriteAction,
    WriteRequest, already_exists_error, conflict_error,
};
use crate::prompt::{Diagnostic, FileSuffix, Name, Revision, Severity, TEST_SUFFIX};
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// A version of a prompt, as the table `history` has it.
struct StoredVersion {
    version: Version,
    /// `None` if the prompt was deleted.
    text: Option<String>,
}

impl StoredVersion {
    /// Converts a row of `history`. `earlier` are the versions before it, oldest first, which
    /// decide what kind of write it was.
    fn from_row(row: &Row, earlier: &[StoredVersion]) -> StoredVersion {
        let text: Option<String> = row.get("text");
        let written_at: SystemTime = row.get("at");
        let revision = match (&text, earlier.last()) {
            (Some(text), _) => Revision::of_contents(text.as_bytes()),
            // A deletion has the revision of the text that was deleted.
            (None, Some(deleted)) => deleted.version.revision,
            (None, None) => Revision::default(), // only a text can be deleted
        };
        let version = Version {
            revision,
            at: Timestamp::try_from(written_at).unwrap_or_default(),
            operation: infer_operation(text.as_deref(), earlier),
            author: row.get("author"),
            note: row.get("note"),
            ..Version::default()
        };
        StoredVersion { version, text }
    }
}

/// Infers which operation wrote `text` after the `earlier` versions, which are sorted oldest first.
/// The table `history` doesn't record it.
///
/// - No text: the prompt was deleted.
/// - The text of an earlier version, but not of the last one: the version was restored.
/// - Another text: the prompt was updated, or created if there is no earlier text. A rename counts
///   as an update: it writes the last text again.
fn infer_operation(text: Option<&str>, earlier: &[StoredVersion]) -> Operation {
    if text.is_none() {
        return Operation::Delete;
    }
    let last_text = earlier.last().and_then(|last| last.text.as_deref());
    let existed_before = earlier
        .iter()
        .any(|version| version.text.as_deref() == text);
    if existed_before && last_text != text {
        return Operation::Restore;
    }
    if last_text.is_some() {
        Operation::Update
    } else {
        Operation::Create
    }
}

/// Returns the current revision of a file, or `None` if it doesn't exist.
fn current_revision(texts: &CurrentTexts, path: &str) -> Option<Revision> {
    let text = texts.get(path)?;
    Some(Revision::of_contents(text.as_bytes()))
}

impl Postgres {
    /// Returns the path of a prompt in the store. If there is no such prompt, returns the path that
    /// it would be created at.
    fn path_of(&self, name: &Name) -> String {
        let files = &self.shared.folder.files;
        let mut unused_trace = Trace::default(); // only needed for caching
        match files.resolve(name, &mut unused_trace) {
            Some(file) => files.root.relative_path(&file.path),
            None => format!("{name}.md"),
        }
    }

    /// Reads the versions of a prompt, newest first.
    fn versions(&self, name: &Name) -> Result<Vec<StoredVersion>, Diagnostic> {
        let files = &self.shared.folder.files;
        let paths = files.possible_paths(name);
        let query = "select text, author, note, at from history where path = any($1) order by seq";
        let rows = self.query(query, &[(&paths, Type::TEXT_ARRAY)])?;
        let mut versions = Vec::new();
        for row in rows {
            // The rows are sorted oldest first, so `versions` are the ones before this row.
            let version = StoredVersion::from_row(&row, &versions);
            versions.push(version);
        }
        // The newest version is the current one, unless the prompt was deleted.
        if let Some(last) = versions.last_mut() {
            last.version.is_current = last.text.is_some();
        }
        versions.reverse();
        Ok(versions)
    }

    /// Writes the text of a prompt, and returns its new revision. Writing the current text again
    /// succeeds even if the expected revision differs, so that a client may retry a write whose
    /// response was lost.
    fn set_text(&self, request: &WriteRequest<'_>, text: &str) -> Result<Revision, Diagnostic> {
        let path = self.path_of(request.name);
        let file = self.shared.folder.files.root.path.join(&path);
        check_text(text).map_err(|error| error.in_file(file))?;
        // An old version may be restored even if it has errors.
        if !request.action.is_restore() {
            self.check_draft(request, text)?;
        }
        let revision = Revision::of_contents(text.as_bytes());
        self.transact(std::slice::from_ref(&path), request.by, |texts| {
            let current = current_revision(texts, &path);
            if current == Some(revision) {
                return Ok(Vec::new()); // no changes
            }
            if current != request.expected {
                return Err(conflict_error(request.name, current));
            }
            Ok(vec![FileChange::write(&path, text)])
        })?;
        Ok(revision)
    }

    /// Fails if the prompt would have errors with this text.
    fn check_draft(&self, request: &WriteRequest<'_>, text: &str) -> Result<(), Diagnostic> {
        let draft = self.draft_of(request.name, text, request.caller);
        for problem in draft.check() {
            if problem.severity() == Severity::Error {
                return Err(problem);
            }
        }
        Ok(())
    }

    /// Returns the prompt as it would be with `text`, without writing it.
    fn draft_of(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        let files = &self.shared.folder.files;
        let file = PromptFile {
            path: files.root.path.join(self.path_of(name)).into(),
            kind: FileSuffix::OWN,
            may_be_linked: false,
        };
        files.draft(name.clone(), file, text, caller.prefix.clone())
    }

    /// Deletes a prompt, and returns the revision that it had. Deleting it again succeeds, too, so
    /// that a client may retry a deletion whose response was lost.
    ///
    /// # Errors
    /// Fails if the prompt's revision isn't the expected one or, if it was deleted before, wasn't.
    fn delete(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let path = self.path_of(request.name);
        let mut existed = false; // set below, while other writers are locked out
        self.transact(std::slice::from_ref(&path), request.by, |texts| {
            let Some(current) = current_revision(texts, &path) else {
                return Ok(Vec::new()); // no changes
            };
            existed = true;
            if Some(current) != request.expected {
                return Err(conflict_error(request.name, Some(current)));
            }
            Ok(vec![FileChange::delete(&path)])
        })?;
        let Some(expected) = request.expected else {
            return Err(conflict_error(request.name, None));
        };
        // If this is a retry, the last version is the one that the caller expects. Otherwise,
        // somebody else has changed and then deleted the prompt.
        if !existed && self.last_revision(request.name)? != Some(expected) {
            return Err(conflict_error(request.name, None));
        }
        Ok(expected)
    }

    /// Returns the revision of the newest version of a prompt, even if it was deleted.
    fn last_revision(&self, name: &Name) -> Result<Option<Revision>, Diagnostic> {
        let versions = self.versions(name)?;
        Ok(versions.first().map(|last| last.version.revision))
    }

    /// Renames a prompt, its test file and their versions.
    fn rename(&self, from: &Name, to: &Name, by: &Authorship) -> Result<(), Diagnostic> {
        if let Some(other) = self.shared.folder.find(to) {
            return Err(already_exists_error(&other.location().path()));
        }
        let prompt_path = self.path_of(from);
        let test_path = format!("{from}{TEST_SUFFIX}");
        let moves = [prompt_path, test_path].map(|old_path| FileMove {
            new_path: path_after_rename(&old_path, from, to),
            old_path,
        });
        let mut paths = Vec::new();
        for file_move in &moves {
            paths.push(file_move.old_path.clone());
            paths.push(file_move.new_path.clone());
        }
        self.transact(&paths, by, |texts| self.changes_for_moves(moves, texts))
    }

    /// Returns the changes that move those of the files that exist.
    ///
    /// # Errors
    /// Fails if a file exists at a new path.
    fn changes_for_moves(
        &self,
        moves: impl IntoIterator<Item = FileMove>,
        texts: &CurrentTexts,
    ) -> Result<Vec<FileChange>, Diagnostic> {
        let mut changes = Vec::new();
        for FileMove { old_path, new_path } in moves {
            let Some(text) = texts.get(&old_path) else {
                continue; // e.g. a prompt without tests
            };
            if texts.contains_key(&new_path) {
                let root = &self.shared.folder.files.root;
                return Err(already_exists_error(&root.path.join(new_path)));
            }
            changes.push(FileChange::delete(&old_path));
            changes.push(FileChange::move_here(new_path, text, old_path));
        }
        Ok(changes)
    }
}

/// A file that a rename moves.
struct FileMove {
    old_path: String,
    new_path: String,
}

/// Returns the path of a prompt's file after the prompt is renamed: `new/SKILL.md` for
/// `old/SKILL.md`.
fn path_after_rename(old_path: &str, from: &Name, to: &Name) -> String {
    // Every path of a prompt's file starts with the prompt's name.
    let suffix = old_path.strip_prefix(&**from).unwrap_or_default();
    format!("{to}{suffix}")
}

impl Store for Arc<Postgres> {
    /// Returns the prompt as it would be with `text`, without writing it.
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        self.draft_of(name, text, caller)
    }

    /// Carries out a request, and returns the revision of the prompt afterwards. Renaming a prompt
    /// or deleting its tests doesn't change its text, and thus keeps the expected revision.
    fn write(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        match request.action {
            WriteAction::SetText(text) | WriteAction::Restore(text) => self.set_text(request, text),
            WriteAction::Delete => self.delete(request),
            WriteAction::Rename(to) => {
                self.rename(request.name, to, request.by)?;
                Ok(request.expected.unwrap_or_default())
            }
            WriteAction::DeleteTests(tests) => {
                let deletion = FileChange::delete(&tests.relative_path);
                self.transact(&[], request.by, |_| Ok(vec![deletion]))?;
                Ok(request.expected.unwrap_or_default())
            }
        }
    }

    /// Returns the versions of a prompt, newest first. Empty if there never was such a prompt.
    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let versions = self.versions(name)?.into_iter();
        Ok(versions.map(|stored| stored.version).collect())
    }

    /// Returns the text of the version with this revision, or `None` if there is no such version.
    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        for stored in self.versions(name)? {
            if stored.text.is_some() && stored.version.revision == revision {
                return Ok(stored.text);
            }
        }
        Ok(None)
    }

    fn folder(&self) -> &Path {
        &self.shared.folder.files.root.path
    }
}
