//! The prompts of a database as a store: their texts are written, and their versions are read.

use super::transaction::{FileChange, PresentTexts};
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

/// A version of a prompt, with its text; without one, a deletion.
struct StoredVersion {
    version: Version,
    text: Option<String>,
}

impl StoredVersion {
    /// Converts a row of the history into a version. `earlier` are the versions before it, the
    /// oldest first.
    fn read(row: &Row, earlier: &[StoredVersion]) -> StoredVersion {
        let text: Option<String> = row.get(0);
        let mut revision = Revision::default();
        if let Some(text) = &text {
            revision = Revision::of_contents(text.as_bytes());
        } else if let Some(deleted) = earlier.last() {
            revision = deleted.version.revision;
        }
        let version = Version {
            revision,
            at: Timestamp::try_from(row.get::<_, SystemTime>(3)).unwrap_or_default(),
            operation: operation(text.as_deref(), earlier),
            author: row.get(1),
            note: row.get(2),
            ..Version::default()
        };
        StoredVersion { version, text }
    }
}

/// Infers the operation that produced a version from its text and the earlier versions, the oldest
/// first.
///
/// A version without a text is a deletion. A text that an earlier version had, but not the last
/// one, is restored. Any other text updates the prompt (a rename writes the last text again) or,
/// after a deletion and as the first version, creates it.
fn operation(text: Option<&str>, earlier: &[StoredVersion]) -> Operation {
    if text.is_none() {
        return Operation::Delete;
    }
    let last_text = earlier.last().and_then(|last| last.text.as_deref());
    let is_known = earlier
        .iter()
        .any(|version| version.text.as_deref() == text);
    if is_known && last_text != text {
        return Operation::Restore;
    }
    if last_text.is_some() {
        Operation::Update
    } else {
        Operation::Create
    }
}

/// Returns the revision of the text that a file has at the beginning of a transaction; `None` if
/// the file is missing.
fn present_revision(present: &PresentTexts, path: &str) -> Option<Revision> {
    let text = present.get(path)?;
    Some(Revision::of_contents(text.as_bytes()))
}

impl Postgres {
    /// Returns the path of the prompt of this name, relative to the folder; if there is no such
    /// prompt, the path that a new one would get.
    fn path_of(&self, name: &Name) -> String {
        let files = &self.shared.folder.files;
        match files.resolve(name, &mut Trace::default()) {
            Some(file) => files.root.relative_path(&file.path),
            None => format!("{name}.md"),
        }
    }

    /// Returns the versions of a prompt, the newest first.
    fn versions(&self, name: &Name) -> Result<Vec<StoredVersion>, Diagnostic> {
        let files = &self.shared.folder.files;
        let paths = files.paths_of(name);
        let query = "select text, author, note, at from history where path = any($1) order by seq";
        let rows = self.query(query, &[(&paths, Type::TEXT_ARRAY)])?;
        let mut versions = Vec::new();
        for row in rows {
            // A version is compared with those before it: whether it restores one of them.
            let version = StoredVersion::read(&row, &versions);
            versions.push(version);
        }
        // The prompt has the text of its newest version, unless that is a deletion.
        if let Some(last) = versions.last_mut() {
            last.version.is_current = last.text.is_some();
        }
        versions.reverse();
        Ok(versions)
    }

    /// Writes the text of a prompt, and returns its new revision.
    fn set_text(&self, request: &WriteRequest<'_>, text: &str) -> Result<Revision, Diagnostic> {
        let path = self.path_of(request.name);
        let file = self.shared.folder.files.root.path.join(&path);
        check_text(text).map_err(|error| error.in_file(file))?;
        // What was in the history once may come back as it was.
        if !request.action.is_restore() {
            self.check_draft(request, text)?;
        }
        let revision = Revision::of_contents(text.as_bytes());
        self.transact(std::slice::from_ref(&path), request.by, |present| {
            let current = present_revision(present, &path);
            if current == Some(revision) {
                return Ok(Vec::new());
            }
            if current != request.expected {
                return Err(conflict_error(request.name, current));
            }
            Ok(vec![FileChange::write(&path, text)])
        })?;
        Ok(revision)
    }

    /// Checks that a text would not be a broken prompt.
    fn check_draft(&self, request: &WriteRequest<'_>, text: &str) -> Result<(), Diagnostic> {
        let draft = self.draft_of(request.name, text, request.caller);
        for problem in draft.check() {
            if problem.severity() == Severity::Error {
                return Err(problem);
            }
        }
        Ok(())
    }

    /// Returns an unsaved text as if it were the prompt of this name.
    fn draft_of(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        let files = &self.shared.folder.files;
        let file = PromptFile {
            path: files.root.path.join(self.path_of(name)).into(),
            kind: FileSuffix::OWN,
            is_linked: false,
        };
        files.draft(name.clone(), file, text, caller.prefix.clone())
    }

    /// Deletes a prompt, and returns the revision that it had. To repeat a deletion is no error.
    fn delete(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let path = self.path_of(request.name);
        let mut was_there = false;
        self.transact(std::slice::from_ref(&path), request.by, |present| {
            let Some(current) = present_revision(present, &path) else {
                return Ok(Vec::new());
            };
            was_there = true;
            if Some(current) != request.expected {
                return Err(conflict_error(request.name, Some(current)));
            }
            Ok(vec![FileChange::delete(&path)])
        })?;
        let Some(expected) = request.expected else {
            return Err(conflict_error(request.name, None));
        };
        // A prompt that was gone already may have been deleted by this caller, whose answer was
        // lost. Then its last text is the expected one.
        if !was_there && self.last_revision(request.name)? != Some(expected) {
            return Err(conflict_error(request.name, None));
        }
        Ok(expected)
    }

    /// Returns the revision of the last version of a prompt.
    fn last_revision(&self, name: &Name) -> Result<Option<Revision>, Diagnostic> {
        let versions = self.versions(name)?;
        Ok(versions.first().map(|last| last.version.revision))
    }

    /// Gives a prompt, its test file and its versions another name. A file that is written with an
    /// `old_path` takes over the versions of that path.
    fn rename(&self, from: &Name, to: &Name, by: &Authorship) -> Result<(), Diagnostic> {
        if let Some(other) = self.shared.folder.find(to) {
            return Err(already_exists_error(&other.location().path()));
        }
        let old_paths = [self.path_of(from), format!("{from}{TEST_SUFFIX}")];
        let new_paths = old_paths.clone().map(|path| path.replacen(&**from, to, 1));
        let paths = [&old_paths[..], &new_paths[..]].concat();
        self.transact(&paths, by, |present| {
            let mut changes = Vec::new();
            for (old_path, new_path) in old_paths.into_iter().zip(new_paths) {
                let Some(text) = present.get(&old_path) else {
                    continue;
                };
                if present.contains_key(&new_path) {
                    return Err(already_exists_error(
                        &self.shared.folder.files.root.path.join(new_path),
                    ));
                }
                changes.push(FileChange::delete(&old_path));
                changes.push(FileChange {
                    old_path: Some(old_path),
                    ..FileChange::write(new_path, text)
                });
            }
            Ok(changes)
        })
    }
}

impl Store for Arc<Postgres> {
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        self.draft_of(name, text, caller)
    }

    /// Writes a prompt, and returns the revision that it has afterwards. To rename a prompt or
    /// delete its tests leaves its text alone, so its revision stays the expected one.
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

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let versions = self.versions(name)?.into_iter();
        Ok(versions.map(|stored| stored.version).collect())
    }

    /// Returns the text of the version with this revision; `None` if there is none.
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
