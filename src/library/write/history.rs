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
pub const VERSIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(49);

/// The file that is locked. No prompt's name begins with a dot.
const LOCK: &str = ".lock";

/// The longest record, in bytes.
const MAX_RECORD: usize = 64 * 1024;

/// How long to wait for another process that writes.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How often the lock is tried meanwhile.
const RETRY: Duration = Duration::from_millis(5);

/// The suffix of a file with the text of a version.
const TEXT: &str = "md";

/// The suffix of a file with the record of a version.
const RECORD: &str = "json";

/// The time at the beginning of a file's name.
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

    /// Returns the name of its file with this suffix: `20261122T191012.123456789Z-REVISION.md`.
    fn file(&self, suffix: &str) -> String {
        format!("{}-{}.{suffix}", self.at.strftime(TIME), self.revision)
    }
}

/// What the name of a version's files says. The order is that of the time.
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

    /// Returns the folder of one prompt, which may be missing.
    ///
    /// # Errors
    /// It, or a folder above it in the history, is a symlink or a file.
    fn folder_of(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        let mut folder = self.folder();
        check_folder(&folder)?;
        for step in name.split('/') {
            folder.push(step);
            check_folder(&folder)?;
        }
        Ok(folder)
    }

    /// Waits until no other process writes, and locks the folder of prompts until the returned file
    /// is dropped.
    pub(crate) fn lock(&self) -> Result<File, Diagnostic> {
        let history = self.folder();
        check_folder(&history)?;
        create_folders(&history).map_err(|error| failed(&history, &error))?;
        hide_from_git(&history);
        let path = history.join(LOCK);
        let file = open_lock(&path)?;
        wait_for_lock(&file, &path)?;
        Ok(file)
    }

    /// Returns all versions of a prompt, the newest first.
    ///
    /// Only regular files count: a folder with the name of a version may belong to a prompt below
    /// this one, and a symlink may lead anywhere.
    pub(crate) fn versions(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let folder = self.folder_of(name)?;
        let ids = version_ids(&folder).map_err(|error| failed(&folder, &error))?;
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

    /// Returns the text of a version; `None` if it is not in the history.
    ///
    /// # Errors
    /// It cannot be read, or was changed there.
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
        let text = read_regular(&path, MAX_FILE).map_err(|error| failed(&path, &error))?;
        if Revision::of(&text) != revision {
            let message = format!(
                "the text of version {revision} of {} was changed in the history",
                in_backticks(name)
            );
            let fix = "choose another version";
            return Err(Diagnostic::new(Kind::NoVersion, message, fix));
        }
        Ok(Some(text))
    }

    /// Adds the text of a version. Until it gets a record, it counts as made by hand.
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

    /// Adds the record of a version, whose text is there unless it is a deletion.
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

    /// Removes a version. If that is interrupted, the version counts as made by hand.
    pub(crate) fn remove(&self, name: &Name, version: &Version) {
        let Ok(folder) = self.folder_of(name) else {
            return;
        };
        _ = fs::remove_file(folder.join(version.file(RECORD)));
        _ = fs::remove_file(folder.join(version.file(TEXT)));
    }

    /// Moves all versions of one prompt to another, which keeps its own.
    pub(crate) fn rename(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        let old = self.folder_of(from)?;
        let new = self.folder_of(to)?;
        create_folders(&new).map_err(|error| failed(&new, &error))?;
        for version in self.versions(from)? {
            for file in [version.file(TEXT), version.file(RECORD)] {
                let moved = fs::rename(old.join(&file), new.join(&file));
                if let Err(error) = moved
                    && error.kind() != ErrorKind::NotFound
                {
                    return Err(failed(&old.join(file), &error));
                }
            }
        }
        _ = fs::remove_dir(old); // unless it has the versions of prompts below this one
        sync_folder(&new).map_err(|error| failed(&new, &error))
    }
}

/// Makes git ignore the history, unless a person has decided otherwise.
fn hide_from_git(history: &Path) {
    let ignored = history.join(".gitignore");
    if ignored.exists() {
        return;
    }
    if let Ok(pending) = PendingFile::write(&ignored, b"*\n", FileAccess::Shared) {
        _ = pending.create();
    }
}

/// Opens the file that is locked, and creates it if it is missing.
fn open_lock(path: &Path) -> Result<File, Diagnostic> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(obstacle(path));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| failed(path, &error))
}

/// Locks a file as soon as no other process holds it.
///
/// # Errors
/// Another process holds it for a long time, or it cannot be locked.
fn wait_for_lock(file: &File, path: &Path) -> Result<(), Diagnostic> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(failed(path, &error)),
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

/// Returns the ids of the versions in a folder, read from the names of the files, the oldest first;
/// none if the folder is missing.
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

/// Reads the record of a version. Without one, or with a damaged one, it was made by hand.
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

/// Returns whether there is a regular file, and no symlink, at a path.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Writes a file of the history, which is complete or missing.
fn write_file(path: &Path, bytes: &[u8], access: FileAccess<'_>) -> Result<(), Diagnostic> {
    PendingFile::write(path, bytes, access)
        .and_then(PendingFile::replace)
        .map_err(|error| failed(path, &error))
}

/// Returns the diagnostic for an error of the system.
pub(crate) fn failed(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("{}: {error}", path_in_backticks(path));
    let fix = "correct that, or the permissions, and try again";
    Diagnostic::new(Kind::Unreadable, message, fix)
}

/// Returns the error for something that is where the history needs a folder or a file of its own.
fn obstacle(path: &Path) -> Diagnostic {
    let path = path_in_backticks(path);
    let message = format!(
        "{path} is a symlink or a file, and the history needs a folder there; nothing is written"
    );
    Diagnostic::new(Kind::Unreadable, message, "move it away")
}

/// Checks that a path is a folder, or missing. A symlink is refused, since writing through it would
/// change what is not part of the prompts.
fn check_folder(path: &Path) -> Result<(), Diagnostic> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(obstacle(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path, &error)),
    }
}
