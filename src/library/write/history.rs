//! The history of the prompts in a folder: `.history/NAME/`, next to the prompts and hidden like
//! every folder whose name begins with a dot.
//!
//! A version is a file that begins with the time in UTC, such as
//! `20261122T191012.123456789Z-REVISION.md`: the text, for a person to copy back. The file of the
//! same name that ends in `.json` is its record: what was done, who did it, why, and in which file.
//! A version that a person made by hand has no record; it is saved when it is replaced or removed.
//! A record without a text is that of a delete.
//!
//! What a write replaces is in the history before it is replaced, so that nothing that anybody
//! wrote is ever lost; what it has written is added after it. After a crash between the two, the
//! text in the prompt's file is one that was made by hand.

use crate::library::disk::open::read_regular;
use crate::library::disk::root::MAX_ENTRIES;
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, Revision};
use crate::whole_file::{FileAccess, PendingFile, create_folders, sync_folder};
use crate::wording::{in_backticks, path_in_backticks};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The folder below a folder of prompts that has their history.
pub(crate) const FOLDER: &str = ".history";

/// How many versions of a prompt a server keeps besides the current one, unless the user says
/// otherwise.
pub const DEFAULT_MAX_VERSIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(49);

/// The file that is locked. No prompt's name begins with a dot.
const LOCK: &str = ".lock";

/// The longest record, in bytes.
const MAX_RECORD: usize = 64 * 1024;

/// How long a process waits for another one that writes.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How often a process that waits tries to take the lock.
const RETRY: Duration = Duration::from_millis(5);

/// The suffix of a file with the text of a version.
const TEXT: &str = "md";

/// The suffix of a file with the record of a version.
const RECORD: &str = "json";

/// The format of the time at the beginning of a file's name, such as `20261122T191012.123456789Z`.
const TIME: &str = "%Y%m%dT%H%M%S%.9fZ";

/// What a write did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// There was no such prompt.
    Create,
    /// The text was changed.
    Update,
    /// The prompt was removed. The revision is that of the text that it had.
    Delete,
    /// An earlier text was written again.
    Restore,
    /// A person, or another program, has changed the file.
    #[default]
    ByHand,
}

/// A version of a prompt. It is read from a record, and from what the server of a team answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The revision of its text; of a deletion, that of the text that was deleted.
    #[serde(default)]
    pub revision: Revision,
    /// When it was written; of a version that was made by hand, when its file was last modified.
    #[serde(default)]
    pub at: Timestamp,
    /// How it came about. Without a record, or with a damaged one, it was made by hand.
    pub operation: Operation,
    /// Who wrote it, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Why it was written, in the author's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the prompt's file holds this version.
    #[serde(
        rename = "current",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_current: bool,
    /// The path of the prompt's file below the folder, `/`-separated.
    #[serde(skip_serializing)]
    pub(crate) path: Option<String>,
}

impl Version {
    /// Returns a version that has no record, and so counts as made by hand.
    pub(crate) fn by_hand(revision: Revision, at: Timestamp) -> Version {
        Version {
            revision,
            at,
            ..Version::default()
        }
    }

    /// Returns the revision that the prompt has after this version; `None` after a deletion.
    pub(crate) fn revision_after(&self) -> Option<Revision> {
        (self.operation != Operation::Delete).then_some(self.revision)
    }

    /// Returns the name of the version's file with this suffix, such as
    /// `20261122T191012.123456789Z-REVISION.md`.
    fn file(&self, suffix: &str) -> String {
        format!("{}-{}.{suffix}", self.at.strftime(TIME), self.revision)
    }
}

/// What the name of a version's files says. Versions are ordered by their time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VersionId {
    at: Timestamp,
    revision: Revision,
}

impl VersionId {
    /// Parses the name of a file, such as `20261122T191012.123456789Z-REVISION.md`. Returns `None`
    /// for any other name.
    fn parse(file: &str) -> Option<VersionId> {
        let (stem, _suffix) = file.rsplit_once('.')?;
        let (time, revision) = stem.split_once('-')?;
        let time = DateTime::strptime("%Y%m%dT%H%M%S%.f", time.strip_suffix('Z')?).ok()?;
        let at = time.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let revision = revision.parse().ok()?;
        Some(VersionId { at, revision })
    }
}

/// The history of one folder of prompts. Its lock is held while anything in it is changed.
#[derive(Debug)]
pub(crate) struct History {
    /// The folder of prompts.
    pub(crate) root: PathBuf,
}

impl History {
    /// Returns the folder of the history.
    fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// Returns the folder with the versions of a prompt: `.history/git/commit` for `git/commit`.
    /// The folder may be missing.
    ///
    /// # Errors
    /// The folder, or one above it in the history, is a symlink or a file.
    fn folder_of(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        let mut folder = self.folder();
        check_folder(&folder)?;
        for step in name.split('/') {
            folder.push(step);
            check_folder(&folder)?;
        }
        Ok(folder)
    }

    /// Waits until no other process writes, and locks the history until the returned file is
    /// dropped.
    ///
    /// # Errors
    /// Another process writes for a long time, or the history cannot be created.
    pub(crate) fn lock(&self) -> Result<File, Diagnostic> {
        let history = self.folder();
        check_folder(&history)?;
        create_folders(&history).map_err(|error| file_error(&history, &error))?;
        hide_from_git(&history);
        let path = history.join(LOCK);
        let file = open_lock(&path)?;
        wait_for_lock(&file, &path)?;
        Ok(file)
    }

    /// Returns all versions of a prompt in the history, the newest first.
    ///
    /// A version counts only if its text is a regular file, or if it is a deletion, which has no
    /// text. A symlink may lead anywhere, and a folder may belong to another prompt.
    pub(crate) fn versions(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let folder = self.folder_of(name)?;
        let ids = version_ids(&folder).map_err(|error| file_error(&folder, &error))?;
        let mut versions = Vec::new();
        for id in ids.into_iter().rev() {
            let version = read_version(&folder, id);
            let is_deletion = version.operation == Operation::Delete;
            if is_deletion || is_file(&folder.join(version.file(TEXT))) {
                versions.push(version);
            }
        }
        Ok(versions)
    }

    /// Returns the metadata of the file with the text of a version.
    pub(crate) fn text_metadata(&self, name: &Name, version: &Version) -> Option<Metadata> {
        let folder = self.folder_of(name).ok()?;
        fs::symlink_metadata(folder.join(version.file(TEXT))).ok()
    }

    /// Returns the text of the version of a prompt that has this revision; `None` if the history
    /// has no such version.
    ///
    /// # Errors
    /// The text cannot be read, or somebody has changed it in the history.
    pub(crate) fn text(
        &self,
        name: &Name,
        revision: Revision,
    ) -> Result<Option<Vec<u8>>, Diagnostic> {
        let versions = self.versions(name)?;
        let mut versions = versions.iter();
        let Some(version) = versions.find(|version| version.revision_after() == Some(revision))
        else {
            return Ok(None);
        };
        let path = self.folder_of(name)?.join(version.file(TEXT));
        let text = read_regular(&path, MAX_FILE).map_err(|error| file_error(&path, &error))?;
        if Revision::of_contents(&text) != revision {
            let message = format!(
                "the text of version {revision} of {} was changed in the history",
                in_backticks(name)
            );
            let fix = "choose another version";
            return Err(Diagnostic::new(Kind::NoSuchVersion, message, fix));
        }
        Ok(Some(text))
    }

    /// Adds the text of a version. Until the version gets a record, it counts as one that a person
    /// made by hand.
    pub(crate) fn add_text(
        &self,
        name: &Name,
        version: &Version,
        text: &[u8],
        access: FileAccess<'_>,
    ) -> Result<(), Diagnostic> {
        let path = self.folder_of(name)?.join(version.file(TEXT));
        write_file(&path, text, access)
    }

    /// Adds the record of a version. Its text must be in the history already, unless it is a
    /// deletion.
    pub(crate) fn add_record(
        &self,
        name: &Name,
        version: &Version,
        access: FileAccess<'_>,
    ) -> Result<(), Diagnostic> {
        let path = self.folder_of(name)?.join(version.file(RECORD));
        let record = json!({
            "operation": version.operation,
            "author": version.author,
            "note": version.note,
            "path": version.path,
        });
        write_file(&path, format!("{record:#}\n").as_bytes(), access)
    }

    /// Removes a version, as far as that is possible.
    ///
    /// The record is removed first. After a crash, the version counts as one that was made by hand.
    pub(crate) fn remove(&self, name: &Name, version: &Version) {
        let Ok(folder) = self.folder_of(name) else {
            return;
        };
        // A file may be missing. One that cannot be removed is an old version too many.
        _ = fs::remove_file(folder.join(version.file(RECORD)));
        _ = fs::remove_file(folder.join(version.file(TEXT)));
    }

    /// Moves all versions of the prompt `from` to the prompt `to`, which keeps those that it has.
    pub(crate) fn rename(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        let old = self.folder_of(from)?;
        let new = self.folder_of(to)?;
        create_folders(&new).map_err(|error| file_error(&new, &error))?;
        for version in self.versions(from)? {
            for file in [version.file(TEXT), version.file(RECORD)] {
                match fs::rename(old.join(&file), new.join(&file)) {
                    Ok(()) => {}
                    // A version may have no record, and a deletion has no text.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(file_error(&old.join(file), &error)),
                }
            }
        }
        // The folder stays if it has the versions of other prompts, such as `a/b` for `a`.
        _ = fs::remove_dir(old);
        sync_folder(&new).map_err(|error| file_error(&new, &error))
    }
}

/// Makes git ignore the history, unless a person has written another `.gitignore` there. If that
/// fails, the history shows in git, but is complete.
fn hide_from_git(history: &Path) {
    let gitignore = history.join(".gitignore");
    if gitignore.exists() {
        return;
    }
    if let Ok(pending) = PendingFile::write(&gitignore, b"*\n", FileAccess::Shared) {
        _ = pending.create(); // fails if another process has created it meanwhile
    }
}

/// Opens the file for the lock, and creates it if it is missing.
///
/// # Errors
/// Something else, such as a symlink, is at the path, or the file cannot be opened.
fn open_lock(path: &Path) -> Result<File, Diagnostic> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(obstacle(path));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| file_error(path, &error))
}

/// Locks a file as soon as no other process holds the lock. `path` is for the message of an error.
///
/// # Errors
/// Another process holds the lock for longer than [`MAX_WAIT`], or the file cannot be locked.
fn wait_for_lock(file: &File, path: &Path) -> Result<(), Diagnostic> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(file_error(path, &error)),
            Err(TryLockError::WouldBlock) if started.elapsed() < MAX_WAIT => thread::sleep(RETRY),
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "another process has been writing for a long time, and holds {}; nothing is written",
                    path_in_backticks(path)
                );
                return Err(Diagnostic::new(Kind::Busy, message, "try again"));
            }
        }
    }
}

/// Returns the ids of the versions in a folder, the oldest first. They are read from the names of
/// the files. A folder that is missing has none.
fn version_ids(folder: &Path) -> io::Result<BTreeSet<VersionId>> {
    let mut ids = BTreeSet::new();
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ids),
        Err(error) => return Err(error),
    };
    for file in files.take(MAX_ENTRIES) {
        let name = file?.file_name();
        if let Some(id) = name.to_str().and_then(VersionId::parse) {
            ids.insert(id);
        }
    }
    Ok(ids)
}

/// Reads a version from its record. If the record is missing or damaged, the version counts as one
/// that was made by hand.
fn read_version(folder: &Path, id: VersionId) -> Version {
    let by_hand = Version::by_hand(id.revision, id.at);
    let Ok(json) = read_regular(&folder.join(by_hand.file(RECORD)), MAX_RECORD) else {
        return by_hand;
    };
    match serde_json::from_slice::<Version>(&json) {
        Ok(record) => Version {
            revision: id.revision,
            at: id.at,
            is_current: false,
            ..record
        },
        Err(_) => by_hand,
    }
}

/// Returns whether there is a regular file at a path. A symlink is none, wherever it leads.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Writes a file of the history. After a crash, the file is complete or missing.
fn write_file(path: &Path, bytes: &[u8], access: FileAccess<'_>) -> Result<(), Diagnostic> {
    PendingFile::write(path, bytes, access)
        .and_then(PendingFile::replace)
        .map_err(|error| file_error(path, &error))
}

/// Returns the diagnostic for an error of the system about the file or folder at a path.
pub(crate) fn file_error(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("{}: {error}", path_in_backticks(path));
    let fix = "correct that, or the permissions, and try again";
    Diagnostic::new(Kind::Unreadable, message, fix)
}

/// Returns the error for a symlink or a file that is at the path of a folder or a file of the
/// history.
fn obstacle(path: &Path) -> Diagnostic {
    let path = path_in_backticks(path);
    let message = format!(
        "{path} is a symlink or a file, and the history needs a folder there; nothing is written"
    );
    Diagnostic::new(Kind::Unreadable, message, "move it away")
}

/// Checks that there is a folder at a path, or nothing. A symlink is refused: a write through it
/// would change files outside of the history.
fn check_folder(path: &Path) -> Result<(), Diagnostic> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(obstacle(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(file_error(path, &error)),
    }
}
