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
use crate::wording::{named, named_path};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File, Metadata, OpenOptions, TryLockError};
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

/// The suffixes of a text and of its record.
const TEXT: &str = "md";
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

/// A version of a prompt. Its record is read as one, and what the server of a team says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Of its text; of a delete, that of the text that was deleted.
    #[serde(default)]
    pub revision: Revision,
    /// When it was written; of one that was made by hand, when its file was last modified.
    #[serde(default)]
    pub at: Timestamp,
    /// How it came about; by hand if it has no record, or a damaged one.
    pub operation: Operation,
    /// Who wrote it, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Why, in the author's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether it is what the prompt's file holds.
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
    /// The revision that the file has after it.
    pub(crate) fn after(&self) -> Option<Revision> {
        (self.operation != Operation::Delete).then_some(self.revision)
    }

    fn file(&self, suffix: &str) -> String {
        format!("{}-{}.{suffix}", self.at.strftime(TIME), self.revision)
    }
}

/// The history of one folder of prompts. What changes it is called while the lock is held.
#[derive(Debug)]
pub(crate) struct History {
    /// The folder of prompts.
    pub(crate) root: PathBuf,
}

impl History {
    fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The folder of one prompt, which may be missing. No symlink on the way to it is followed.
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
        let ignored = history.join(".gitignore");
        if !ignored.exists() {
            // Git ignores the history.
            _ = PendingFile::write(&ignored, b"*\n", FileAccess::Shared)
                .and_then(PendingFile::create);
        }
        let path = history.join(LOCK);
        if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_file()) {
            return Err(obstacle(&path));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = file.map_err(|error| failed(&path, &error))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if started.elapsed() < MAX_WAIT => {
                    thread::sleep(RETRY)
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "another process has been writing for a long time, and holds {}; nothing is written",
                        named_path(&path)
                    );
                    return Err(Diagnostic::new(Kind::Busy, message, "try again"));
                }
                Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
            }
        }
    }

    /// All versions of a prompt, the newest first. Only regular files count: a folder with the name
    /// of a version may belong to a prompt below this one, and a symlink may lead anywhere.
    pub(crate) fn versions(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let folder = self.folder_of(name)?;
        let files: Vec<DirEntry> =
            match fs::read_dir(&folder).and_then(|files| files.take(MAX_ENTRIES).collect()) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                files => files.map_err(|error| failed(&folder, &error))?,
            };
        let known: BTreeSet<_> = files
            .iter()
            .filter_map(|file| parse_file(file.file_name().to_str()?))
            .collect();
        let versions = known.into_iter().rev().map(|(at, revision)| {
            let by_hand = Version {
                revision,
                at,
                ..Version::default()
            };
            let record = read_regular(&folder.join(by_hand.file(RECORD)), MAX_RECORD);
            let record = record.and_then(|json| Ok(serde_json::from_slice::<Version>(&json)?));
            record.map_or(by_hand, |record| Version {
                revision,
                at,
                is_current: false,
                ..record
            })
        });
        let has_text = |version: &Version| {
            fs::symlink_metadata(folder.join(version.file(TEXT))).is_ok_and(|text| text.is_file())
        };
        Ok(versions
            .filter(|version| version.after().is_none() || has_text(version))
            .collect())
    }

    /// The metadata of the file with the text of a version.
    pub(crate) fn metadata(&self, name: &Name, version: &Version) -> Option<Metadata> {
        fs::symlink_metadata(self.folder_of(name).ok()?.join(version.file(TEXT))).ok()
    }

    /// The text of a version; `None` if it is not in the history.
    ///
    /// # Errors
    /// It cannot be read, or was changed there.
    pub(crate) fn text(
        &self,
        name: &Name,
        revision: Revision,
    ) -> Result<Option<Vec<u8>>, Diagnostic> {
        let versions = self.versions(name)?;
        let Some(version) = versions
            .iter()
            .find(|version| version.after() == Some(revision))
        else {
            return Ok(None);
        };
        let path = self.folder_of(name)?.join(version.file(TEXT));
        let text = read_regular(&path, MAX_FILE).map_err(|error| failed(&path, &error))?;
        if Revision::of(&text) != revision {
            let message = format!(
                "the text of version {revision} of {} was changed in the history",
                named(name)
            );
            return Err(Diagnostic::new(
                Kind::NoVersion,
                message,
                "choose another version",
            ));
        }
        Ok(Some(text))
    }

    /// Adds the text of a version, if one is given, and its record, unless it was made by hand.
    /// Each file is complete, or missing. Both get the owner and the permissions of `like`, the
    /// prompt's file.
    pub(crate) fn add(
        &self,
        name: &Name,
        version: &Version,
        text: Option<&[u8]>,
        like: Option<&Metadata>,
    ) -> Result<(), Diagnostic> {
        let folder = self.folder_of(name)?;
        let Version {
            operation,
            author,
            note,
            path,
            ..
        } = version;
        let record =
            json!({ "operation": operation, "author": author, "note": note, "path": path });
        let record =
            (*operation != Operation::ByHand).then(|| format!("{record:#}\n").into_bytes());
        for (suffix, bytes) in [(TEXT, text), (RECORD, record.as_deref())] {
            let Some(bytes) = bytes else { continue };
            let path = folder.join(version.file(suffix));
            PendingFile::write(&path, bytes, FileAccess::same_as(like))
                .and_then(PendingFile::replace)
                .map_err(|error| failed(&path, &error))?;
        }
        Ok(())
    }

    /// Removes a version. If that is interrupted, it counts as made by hand.
    pub(crate) fn remove(&self, name: &Name, version: &Version) {
        if let Ok(folder) = self.folder_of(name) {
            for suffix in [RECORD, TEXT] {
                _ = fs::remove_file(folder.join(version.file(suffix)));
            }
        }
    }

    /// Moves all versions of one prompt to another, which keeps its own.
    pub(crate) fn rename(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        let (old, new) = (self.folder_of(from)?, self.folder_of(to)?);
        create_folders(&new).map_err(|error| failed(&new, &error))?;
        for version in self.versions(from)? {
            for file in [version.file(TEXT), version.file(RECORD)] {
                match fs::rename(old.join(&file), new.join(&file)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        return Err(failed(&old.join(file), &error));
                    }
                    _ => {}
                }
            }
        }
        _ = fs::remove_dir(old); // unless it has the versions of prompts below this one
        sync_folder(&new).map_err(|error| failed(&new, &error))
    }
}

/// The diagnostic for an error of the system.
pub(crate) fn failed(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("{}: {error}", named_path(path));
    Diagnostic::new(
        Kind::Unreadable,
        message,
        "correct that, or the permissions, and try again",
    )
}

fn obstacle(path: &Path) -> Diagnostic {
    let path = named_path(path);
    let message = format!(
        "{path} is a symlink or a file, and the history needs a folder there; nothing is written"
    );
    Diagnostic::new(Kind::Unreadable, message, "move it away")
}

/// Refuses a file, and a symlink: writing through one would change what is not part of the prompts.
fn check_folder(path: &Path) -> Result<(), Diagnostic> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(obstacle(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path, &error)),
    }
}

/// The time and the revision in the name of a file.
fn parse_file(name: &str) -> Option<(Timestamp, Revision)> {
    let (time, revision) = name.rsplit_once('.')?.0.split_once('-')?;
    let time = DateTime::strptime("%Y%m%dT%H%M%S%.f", time.strip_suffix('Z')?).ok()?;
    Some((
        time.to_zoned(TimeZone::UTC).ok()?.timestamp(),
        revision.parse().ok()?,
    ))
}
