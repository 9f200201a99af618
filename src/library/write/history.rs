//! The history of the prompts in a folder.
//!
//! The versions of the prompt `git/commit` are in `.history/git/commit/` next to the prompts. Each
//! version has up to two files, which differ only in their suffix:
//!
//! | file | contents |
//! |---|---|
//! | `20261122T191012.123456789Z-REVISION.md` | the text of the prompt; a deletion has no such file |
//! | `20261122T191012.123456789Z-REVISION.json` | the record: what was done, by whom, why, and to which file |
//!
//! A version without a record was made by hand, e.g. in a text editor. It is added to the history
//! when a write is about to replace it. A write adds its own text before it changes the prompt's
//! file, and its record afterwards. If it is killed in between, its text counts as made by hand.

use crate::library::disk::open::read_regular;
use crate::library::disk::root::MAX_ENTRIES;
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, Revision};
use crate::whole_file::{self, FileAccess, PendingFile, create_folders, sync_folder};
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

/// The subfolder of a folder of prompts that contains their history.
pub(crate) const HISTORY_FOLDER: &str = ".history";

/// The default maximum number of versions to keep of each prompt, not counting the current one.
pub const DEFAULT_MAX_VERSIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(49);

/// The lock file in the history. It cannot be mistaken for a prompt, because no prompt's name
/// begins with a dot.
const LOCK_FILE: &str = ".lock";

/// The maximum size of a record, in bytes.
const MAX_RECORD: usize = 64 * 1024;

/// How long to wait for another process to release the lock.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often to retry while another process holds the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// The suffix of a file that contains the text of a version.
const TEXT_SUFFIX: &str = "md";

/// The suffix of a file that contains the record of a version.
const RECORD_SUFFIX: &str = "json";

/// The format of the time at the beginning of a file name, e.g. `20261122T191012.123456789Z`.
const TIME_FORMAT: &str = "%Y%m%dT%H%M%S%.9fZ";

/// How a version came about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The prompt was created.
    Create,
    /// The text was changed.
    Update,
    /// The prompt was deleted.
    Delete,
    /// An earlier version was restored.
    Restore,
    /// Somebody edited the file without this program.
    #[default]
    ByHand,
}

/// A version of a prompt. It is parsed from a record, or from the response of a team's server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The revision of the text or, for a deletion, of the deleted text.
    #[serde(default)]
    pub revision: Revision,
    /// When the version was written or, if it was made by hand, when its file was last modified.
    #[serde(default)]
    pub at: Timestamp,
    /// How the version came about.
    pub operation: Operation,
    /// Who wrote the version, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Why the version was written, in the author's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the prompt's file contains this version.
    #[serde(
        rename = "current",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_current: bool,
    /// The path of the prompt's file, relative to the folder of prompts and `/`-separated.
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

    /// Returns the revision of the text of this version, or `None` for a deletion, which has no
    /// text: its `revision` is that of the deleted text.
    pub(crate) fn text_revision(&self) -> Option<Revision> {
        (self.operation != Operation::Delete).then_some(self.revision)
    }

    /// Returns the name of the version's file with the given suffix, e.g.
    /// `20261122T191012.123456789Z-REVISION.md`.
    fn file_name(&self, suffix: &str) -> String {
        let time = self.at.strftime(TIME_FORMAT);
        format!("{time}-{}.{suffix}", self.revision)
    }
}

/// Returns the version that the prompt's file contains, or `None` if the prompt was deleted.
/// `versions` are sorted, newest first.
pub fn current_version(versions: &[Version]) -> Option<&Version> {
    let newest = versions.first()?;
    if newest.is_current {
        Some(newest)
    } else {
        None
    }
}

/// Finds the newest version whose text has this revision. `versions` are sorted, newest first.
pub(crate) fn find_version_of_text(versions: &[Version], revision: Revision) -> Option<&Version> {
    versions
        .iter()
        .find(|version| version.text_revision() == Some(revision))
}

/// What the name of a version's files contains. Ordered by time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VersionId {
    // The derived order compares the time first.
    at: Timestamp,
    revision: Revision,
}

impl VersionId {
    /// Parses a file name such as `20261122T191012.123456789Z-REVISION.md`. Returns `None` for
    /// files that aren't versions.
    fn parse(file_name: &str) -> Option<VersionId> {
        let (stem, _suffix) = file_name.rsplit_once('.')?;
        let (time, revision) = stem.split_once('-')?;
        let time = DateTime::strptime("%Y%m%dT%H%M%S%.f", time.strip_suffix('Z')?).ok()?;
        let at = time.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let revision = revision.parse().ok()?;
        Some(VersionId { at, revision })
    }
}

/// The history of one folder of prompts. Lock it before changing anything in it.
#[derive(Debug)]
pub(crate) struct History {
    /// The folder of prompts.
    pub(crate) root: PathBuf,
}

impl History {
    /// Returns the folder that contains the history.
    fn folder(&self) -> PathBuf {
        self.root.join(HISTORY_FOLDER)
    }

    /// Returns the folder for the versions of a prompt, e.g. `.history/git/commit`. It may not
    /// exist yet.
    ///
    /// # Errors
    /// Fails if the folder, or a parent of it in the history, is a symlink or a file.
    fn versions_folder(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        let mut folder = self.folder();
        check_no_symlink_or_file(&folder)?;
        for part in name.split('/') {
            folder.push(part);
            check_no_symlink_or_file(&folder)?;
        }
        Ok(folder)
    }

    /// Locks the history, waiting for other processes to finish their writes. The lock is released
    /// when the returned file is dropped.
    ///
    /// # Errors
    /// Fails if another process holds the lock for longer than [`MAX_LOCK_WAIT`], or if the history
    /// cannot be created.
    pub(crate) fn lock(&self) -> Result<File, Diagnostic> {
        let history = self.folder();
        check_no_symlink_or_file(&history)?;
        create_folders(&history).map_err(|error| file_error(&history, &error))?;
        hide_from_git(&history);
        let path = history.join(LOCK_FILE);
        let file = open_lock_file(&path)?;
        wait_for_lock(&file, &path)?;
        Ok(file)
    }

    /// Returns the versions of a prompt in the history, newest first.
    ///
    /// Ignores versions whose text is missing or isn't a regular file: a symlink could point
    /// anywhere, and a folder could belong to another prompt. Only deletions have no text.
    pub(crate) fn versions(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let folder = self.versions_folder(name)?;
        let ids = version_ids(&folder).map_err(|error| file_error(&folder, &error))?;
        let mut versions = Vec::new();
        for id in ids.into_iter().rev() {
            let version = read_version(&folder, id);
            let is_deletion = version.operation == Operation::Delete;
            if is_deletion || is_regular_file(&folder.join(version.file_name(TEXT_SUFFIX))) {
                versions.push(version);
            }
        }
        Ok(versions)
    }

    /// Returns the metadata of the file that contains the text of a version.
    pub(crate) fn text_metadata(&self, name: &Name, version: &Version) -> Option<Metadata> {
        let folder = self.versions_folder(name).ok()?;
        fs::symlink_metadata(folder.join(version.file_name(TEXT_SUFFIX))).ok()
    }

    /// Returns the text of a version, or `None` if the history has no such version.
    ///
    /// # Errors
    /// Fails if the text cannot be read, or no longer matches its revision.
    pub(crate) fn text(
        &self,
        name: &Name,
        revision: Revision,
    ) -> Result<Option<Vec<u8>>, Diagnostic> {
        let versions = self.versions(name)?;
        let Some(version) = find_version_of_text(&versions, revision) else {
            return Ok(None);
        };
        let path = self
            .versions_folder(name)?
            .join(version.file_name(TEXT_SUFFIX));
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

    /// Adds the text of a version. The version counts as made by hand until its record is added.
    pub(crate) fn add_text(
        &self,
        name: &Name,
        version: &Version,
        text: &[u8],
        access: FileAccess<'_>,
    ) -> Result<(), Diagnostic> {
        let path = self
            .versions_folder(name)?
            .join(version.file_name(TEXT_SUFFIX));
        write_file(&path, text, access)
    }

    /// Adds the record of a version. Add its text first, unless it is a deletion; otherwise, the
    /// version is ignored.
    pub(crate) fn add_record(
        &self,
        name: &Name,
        version: &Version,
        access: FileAccess<'_>,
    ) -> Result<(), Diagnostic> {
        let path = self
            .versions_folder(name)?
            .join(version.file_name(RECORD_SUFFIX));
        let record = json!({
            "operation": version.operation,
            "author": version.author,
            "note": version.note,
            "path": version.path,
        });
        write_file(&path, format!("{record:#}\n").as_bytes(), access)
    }

    /// Removes a version. Errors are ignored, because an outdated version does no harm.
    pub(crate) fn remove(&self, name: &Name, version: &Version) {
        let Ok(folder) = self.versions_folder(name) else {
            return;
        };
        // The record goes first: a text without a record is a valid version, made by hand.
        _ = fs::remove_file(folder.join(version.file_name(RECORD_SUFFIX)));
        _ = fs::remove_file(folder.join(version.file_name(TEXT_SUFFIX)));
    }

    /// Moves all versions of the prompt `from` to the prompt `to`, in addition to the versions that
    /// `to` already has.
    pub(crate) fn rename(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        let old_folder = self.versions_folder(from)?;
        let new_folder = self.versions_folder(to)?;
        create_folders(&new_folder).map_err(|error| file_error(&new_folder, &error))?;
        for version in self.versions(from)? {
            for suffix in [TEXT_SUFFIX, RECORD_SUFFIX] {
                let file_name = version.file_name(suffix);
                let old_path = old_folder.join(&file_name);
                match fs::rename(&old_path, new_folder.join(&file_name)) {
                    Ok(()) => {}
                    // A version may have no record, and a deletion has no text.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(file_error(&old_path, &error)),
                }
            }
        }
        // This fails if the folder contains the versions of other prompts, e.g. those of `a/b` in
        // the folder of `a`. Then it must be kept.
        _ = fs::remove_dir(old_folder);
        sync_folder(&new_folder).map_err(|error| file_error(&new_folder, &error))
    }
}

/// Makes git ignore the history, unless it already has a `.gitignore`. Errors are ignored: at
/// worst, the history shows up in `git status`.
fn hide_from_git(history: &Path) {
    let gitignore = history.join(".gitignore");
    if gitignore.exists() {
        return;
    }
    if let Ok(pending) = PendingFile::write(&gitignore, b"*\n", FileAccess::Shared) {
        _ = pending.create(); // fails if another process has created it in the meantime
    }
}

/// Opens the lock file, and creates it if it doesn't exist.
///
/// # Errors
/// Fails if the path isn't a regular file, e.g. if it is a symlink, or if the file cannot be
/// opened.
fn open_lock_file(path: &Path) -> Result<File, Diagnostic> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(obstacle_error(path));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| file_error(path, &error))
}

/// Locks a file, waiting until no other process holds the lock. `path` is only used in error
/// messages.
///
/// # Errors
/// Fails if another process holds the lock for longer than [`MAX_LOCK_WAIT`], or if the file cannot
/// be locked.
fn wait_for_lock(file: &File, path: &Path) -> Result<(), Diagnostic> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(file_error(path, &error)),
            Err(TryLockError::WouldBlock) if started.elapsed() < MAX_LOCK_WAIT => {
                thread::sleep(LOCK_RETRY_INTERVAL);
            }
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

/// Returns the ids of the versions in a folder, oldest first, parsed from the file names. A missing
/// folder has no versions.
fn version_ids(folder: &Path) -> io::Result<BTreeSet<VersionId>> {
    let mut ids = BTreeSet::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ids),
        Err(error) => return Err(error),
    };
    for entry in entries.take(MAX_ENTRIES) {
        let file_name = entry?.file_name();
        // The two files of a version have the same id, which the set contains once.
        if let Some(id) = file_name.to_str().and_then(VersionId::parse) {
            ids.insert(id);
        }
    }
    Ok(ids)
}

/// Reads the record of a version. If it is missing or invalid, the version counts as made by hand.
fn read_version(folder: &Path, id: VersionId) -> Version {
    let by_hand = Version::by_hand(id.revision, id.at);
    let record_path = folder.join(by_hand.file_name(RECORD_SUFFIX));
    let Ok(json) = read_regular(&record_path, MAX_RECORD) else {
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

/// Returns whether a path is a regular file, and not a symlink to one.
fn is_regular_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Writes a file of the history. After a crash, the file is either complete or missing.
fn write_file(path: &Path, bytes: &[u8], access: FileAccess<'_>) -> Result<(), Diagnostic> {
    whole_file::write(path, bytes, access).map_err(|error| file_error(path, &error))
}

/// Converts an I/O error for a file or a folder into a diagnostic.
pub(crate) fn file_error(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("{}: {error}", path_in_backticks(path));
    let fix = "correct that, or the permissions, and try again";
    Diagnostic::new(Kind::Unreadable, message, fix)
}

/// Returns the error for a symlink or a file where the history needs a folder.
fn obstacle_error(path: &Path) -> Diagnostic {
    let path = path_in_backticks(path);
    let message = format!(
        "{path} is a symlink or a file, and the history needs a folder there; nothing is written"
    );
    Diagnostic::new(Kind::Unreadable, message, "move it away")
}

/// Checks that a path is a folder or doesn't exist. Writing through a symlink could change files
/// outside of the history.
fn check_no_symlink_or_file(path: &Path) -> Result<(), Diagnostic> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(obstacle_error(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(file_error(path, &error)),
    }
}
