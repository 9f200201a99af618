//! The history of the prompts in a folder: `.history/NAME/`, next to the prompts and hidden like every folder whose name begins
//! with a dot.
//!
//! A version is a file that begins with the time in UTC, such as `20261122T191012.123456789Z-REVISION.md`: the text, for a person to
//! copy back. The file of the same name that ends in `.json` is its [record]: who wrote it, how, and over what. A version that a
//! person has made by hand has none; it is saved when it is replaced or removed. A record without a text is that of a delete.
//!
//! A version is in the history before it is in the prompt's file, with a record that ends in `.pending` until it is. So whatever is
//! acknowledged can be restored, and after a crash the record tells what was about to be written. That of a write that never happened
//! is removed by the next one.
//!
//! [record]: Record

use super::Revision;
use super::editor::EditError;
use super::read::read_regular;
use super::walk::MAX_ENTRIES;
use super::write::sync_folder;
use crate::prompt::{MAX_FILE, Name};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

/// The folder below a folder of prompts that has their history.
pub(super) const FOLDER: &str = ".history";

/// How many versions of a prompt are kept besides the current one, unless the user says otherwise.
pub const VERSIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(49);

/// The file that is locked, which holds the path of the temporary file below the folder of prompts. No prompt's name begins with a dot.
const LOCK: &str = ".lock";

/// The longest record, and the longest path in the lock, in bytes.
const MAX_RECORD: usize = 64 * 1024;

/// What the name of a temporary file begins with. It is hidden.
const TEMPORARY: &str = ".prompt-expander-";

/// How long to wait for another process that writes.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How often the lock is tried meanwhile.
const RETRY: Duration = Duration::from_millis(5);

/// The suffixes of a text, of its record, and of that while the prompt's file is being written.
const TEXT: &str = "md";
const RECORD: &str = "json";
const PENDING: &str = "pending";

/// The time at the beginning of a file's name.
const TIME: &str = "%Y%m%dT%H%M%S%.9fZ";

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    ByHand,
}

/// A version of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    /// Of its text; of a delete, that of the text that was deleted.
    pub revision: Revision,
    /// When it was written; of one that was made by hand, when its file was last modified.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// How it came about.
    pub operation: Operation,
    /// Who wrote it, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Why, in the author's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether it is what the prompt's file holds.
    #[serde(rename = "current", skip_serializing_if = "std::ops::Not::not")]
    pub is_current: bool,
}

/// What is recorded of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) operation: Operation,
    /// The revision that the file had; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<String>,
    /// The path of the prompt's file below the folder, `/`-separated.
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) operation_id: Option<String>,
}

/// What the history has of one moment.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The name of its files, without their suffix.
    stem: String,
    pub(super) at: Timestamp,
    pub(super) revision: Revision,
    /// `None` if it was made by hand, or if the record is damaged.
    pub(super) record: Option<Record>,
    /// What is wrong with the record.
    damage: Option<String>,
    /// Whether it has a text, or needs none.
    pub(super) is_complete: bool,
    /// Whether its write may not have come to its end.
    pub(super) is_pending: bool,
}

impl Entry {
    fn is_delete(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.operation == Operation::Delete)
    }

    /// The revision that the file has after it.
    pub(super) fn after(&self) -> Option<Revision> {
        (!self.is_delete()).then_some(self.revision)
    }

    /// Whether it was recorded and, because of a crash, not carried out: the file is still what it was to replace.
    pub(super) fn is_undone(&self, current: Option<Revision>) -> bool {
        let replaces_current = |record: &Record| record.replaced == current.map(|revision| revision.to_string());
        self.is_pending && self.after() != current && self.record.as_ref().is_some_and(replaces_current)
    }

    pub(super) fn version(&self) -> Version {
        let record = self.record.as_ref();
        Version {
            revision: self.revision,
            at: self.at,
            operation: record.map_or(Operation::ByHand, |record| record.operation),
            author: record.and_then(|record| record.author.clone()),
            note: record.and_then(|record| record.note.clone()).or_else(|| self.damage.clone()),
            is_current: false,
        }
    }
}

/// The history of one folder of prompts.
#[derive(Debug)]
pub(super) struct History {
    /// The folder of prompts.
    root: PathBuf,
}

/// The right to write to a folder of prompts, which one process has at a time. It ends with the value.
#[derive(Debug)]
pub(super) struct Lock<'h> {
    history: &'h History,
    file: File,
    /// The temporary file that was written last.
    temporary: Option<PathBuf>,
}

impl History {
    pub(super) fn of(root: &Path) -> History {
        History { root: root.to_owned() }
    }

    fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The folder of one prompt, which may be missing. No symlink on the way to it is followed.
    fn folder_of(&self, name: &Name) -> Result<PathBuf, EditError> {
        let mut folder = self.folder();
        check_folder(&folder)?;
        for step in name.split('/') {
            folder.push(step);
            check_folder(&folder)?;
        }
        Ok(folder)
    }

    /// Waits until no other process writes, and removes what one has left that was killed.
    pub(super) fn lock(&self) -> Result<Lock<'_>, EditError> {
        let history = self.folder();
        check_folder(&history)?;
        create_folders(&history).map_err(|error| EditError::Io(history.clone(), error))?;
        let path = history.join(LOCK);
        if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_file()) {
            return Err(EditError::Obstacle(path));
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| EditError::Io(path.clone(), error))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if started.elapsed() < MAX_WAIT => thread::sleep(RETRY),
                Err(TryLockError::WouldBlock) => return Err(EditError::Locked(path)),
                Err(TryLockError::Error(error)) => return Err(EditError::Io(path, error)),
            }
        }
        let mut lock = Lock { history: self, file, temporary: None };
        lock.temporary = lock.left_temporary_file();
        lock.remove_temporary_file();
        Ok(lock)
    }

    /// All versions of a prompt, the newest first.
    pub(super) fn entries(&self, name: &Name) -> Result<Vec<Entry>, EditError> {
        let mut entries = self.all_entries(name)?;
        entries.retain(|entry| entry.is_complete);
        Ok(entries)
    }

    /// The same with those whose write has ended before it was recorded.
    pub(super) fn all_entries(&self, name: &Name) -> Result<Vec<Entry>, EditError> {
        let folder = self.folder_of(name)?;
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(EditError::Io(folder, error)),
        };
        // By the names of the files without their suffixes: whether there is a text, and the suffix of the record.
        let mut found: BTreeMap<String, (bool, Option<&str>)> = BTreeMap::new();
        for file in files {
            let file = file.map_err(|error| EditError::Io(folder.clone(), error))?;
            let name = file.file_name();
            let Some((stem, suffix)) = name.to_str().and_then(|name| name.rsplit_once('.')) else { continue };
            // A prompt below this one may have the name of a version. A symlink may lead anywhere.
            if !file.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            if found.len() >= MAX_ENTRIES {
                let error = io::Error::other(format!("it has more than {MAX_ENTRIES} versions"));
                return Err(EditError::Io(folder, error));
            }
            match suffix {
                TEXT => found.entry(stem.to_owned()).or_default().0 = true,
                PENDING => _ = found.entry(stem.to_owned()).or_default().1.get_or_insert(PENDING),
                RECORD => found.entry(stem.to_owned()).or_default().1 = Some(RECORD),
                _ => {}
            }
        }
        let mut entries = Vec::new();
        for (stem, (has_text, suffix)) in found.into_iter().rev() {
            let Some((at, revision)) = parse_stem(&stem) else { continue };
            let (record, damage) = match suffix.map(|suffix| read_record(&folder, &stem, suffix)).transpose() {
                Ok(record) => (record, None),
                Err(error) if error.kind() == ErrorKind::NotFound => continue, // removed just now
                Err(error) => {
                    tracing::warn!(record = %folder.join(&stem).display(), %error, "the record of a version cannot be read");
                    (None, Some(format!("its record cannot be read: {error}")))
                }
            };
            let is_delete = record.as_ref().is_some_and(|record| record.operation == Operation::Delete);
            let (is_complete, is_pending) = (has_text || is_delete, suffix == Some(PENDING));
            entries.push(Entry { stem, at, revision, record, damage, is_complete, is_pending });
        }
        Ok(entries)
    }

    /// What the system says of the text of a version.
    pub(super) fn metadata(&self, name: &Name, entry: &Entry) -> Option<Metadata> {
        let path = self.folder_of(name).ok()?.join(format!("{}.{TEXT}", entry.stem));
        fs::symlink_metadata(path).ok().filter(Metadata::is_file)
    }

    /// The text of a version; `None` if it is not in the history, or was changed there.
    pub(super) fn text(&self, name: &Name, revision: Revision) -> Result<Option<Vec<u8>>, EditError> {
        let folder = self.folder_of(name)?;
        for entry in self.entries(name)?.iter().filter(|entry| entry.after() == Some(revision)) {
            let path = folder.join(format!("{}.{TEXT}", entry.stem));
            let text = read_regular(&path, MAX_FILE).map_err(|error| EditError::Io(path, error))?;
            if Revision::of(&text) == revision {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

impl Lock<'_> {
    pub(super) fn history(&self) -> &History {
        self.history
    }

    /// Adds a version: its record, which is pending, then its text, each complete or not there at all. Both are as private as the
    /// prompt's file, which they are `like`.
    pub(super) fn add(
        &mut self,
        name: &Name,
        (at, revision): (Timestamp, Revision),
        record: Option<&Record>,
        text: Option<&[u8]>,
        like: Option<&Metadata>,
    ) -> Result<Entry, EditError> {
        let folder = self.history.folder_of(name)?;
        create_folders(&folder).map_err(|error| EditError::Io(folder.clone(), error))?;
        let stem = format!("{}-{revision}", at.strftime(TIME));
        let path = |suffix: &str| folder.join(format!("{stem}.{suffix}"));
        if let Some(record) = record {
            let json = serde_json::to_string_pretty(record).map_err(io::Error::from);
            let json = json.map_err(|error| EditError::Io(path(PENDING), error))?;
            self.put(&path(PENDING), format!("{json}\n").as_bytes(), like)?;
        }
        if let Some(text) = text {
            self.put(&path(TEXT), text, like).inspect_err(|_| _ = fs::remove_file(path(PENDING)))?;
        }
        sync_folder(&folder).map_err(|error| EditError::Io(folder.clone(), error))?;
        let (record, is_pending) = (record.cloned(), record.is_some());
        Ok(Entry { stem, at, revision, record, damage: None, is_complete: true, is_pending })
    }

    /// Records that the write of a version has come to its end.
    pub(super) fn finish(&mut self, name: &Name, entry: &Entry) -> Result<(), EditError> {
        let folder = self.history.folder_of(name)?;
        let path = |suffix: &str| folder.join(format!("{}.{suffix}", entry.stem));
        let renamed = fs::rename(path(PENDING), path(RECORD)).and_then(|()| sync_folder(&folder));
        renamed.map_err(|error| EditError::NotStored(path(RECORD), error))
    }

    /// Writes a file of the history.
    fn put(&mut self, path: &Path, bytes: &[u8], like: Option<&Metadata>) -> Result<(), EditError> {
        let written = self.write_temporary_file(&self.history.folder(), bytes, like);
        let written = written.and_then(|temporary| fs::rename(temporary, path));
        written.map_err(|error| {
            self.remove_temporary_file();
            EditError::Io(path.to_owned(), error)
        })
    }

    /// Writes a temporary file into a folder, and returns its path. If this process is killed, the next write removes the file, unless
    /// that is outside of the folder of prompts, where only a symlink leads.
    pub(super) fn write_temporary_file(
        &mut self,
        folder: &Path,
        bytes: &[u8],
        like: Option<&Metadata>,
    ) -> io::Result<PathBuf> {
        let unique = format!("{TEMPORARY}{}-{}", process::id(), Timestamp::now().as_nanosecond());
        let path = folder.join(&unique);
        let below = path_below(&self.history.root, folder)?.map(|folder| folder.join(&unique));
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(below.as_deref().and_then(Path::to_str).unwrap_or_default().as_bytes())?;
        self.temporary = Some(path.clone());
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        if let Some(like) = like {
            // Before there is anything to read. Only root can give a file to another user.
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt, fchown};
                _ = fchown(&file, Some(like.uid()), Some(like.gid()));
            }
            file.set_permissions(like.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(path)
    }

    /// Removes the temporary file that was written last, if it is still there.
    pub(super) fn remove_temporary_file(&mut self) {
        if let Some(path) = self.temporary.take() {
            _ = fs::remove_file(path); // it is hidden, and the next write tries again
        }
    }

    /// The temporary file that a process has left which was killed. Anybody may have written to the lock, so it is only one of our
    /// names, and no symlink on the way to it is followed.
    fn left_temporary_file(&mut self) -> Option<PathBuf> {
        let mut below = String::new();
        self.file.rewind().ok()?;
        (&self.file).take(MAX_RECORD as u64).read_to_string(&mut below).ok()?;
        let below = Path::new(&below);
        let mut path = self.history.root.clone();
        for step in below.components() {
            let Component::Normal(step) = step else { return None };
            let is_below = path != self.history.root;
            if is_below && !fs::symlink_metadata(&path).is_ok_and(|folder| folder.is_dir()) {
                return None;
            }
            path.push(step);
        }
        below.file_name()?.to_str().filter(|name| name.starts_with(TEMPORARY))?;
        Some(path)
    }

    /// Gives all versions of one prompt to another. Returns `false` if that has versions of its own, and leaves both as they are.
    pub(super) fn rename(&mut self, from: &Name, to: &Name) -> Result<bool, EditError> {
        let (old, new) = (self.history.folder_of(from)?, self.history.folder_of(to)?);
        // Where letter case makes no difference, the two may be one.
        if fs::canonicalize(&old).ok() == fs::canonicalize(&new).ok() {
            return Ok(true);
        }
        if !self.history.all_entries(to)?.is_empty() {
            return Ok(false);
        }
        create_folders(&new).map_err(|error| EditError::Io(new.clone(), error))?;
        for entry in self.history.all_entries(from)? {
            // The text last: a record without a text counts for nothing.
            for suffix in [PENDING, RECORD, TEXT] {
                let file = format!("{}.{suffix}", entry.stem);
                let path = old.join(&file);
                if !fs::symlink_metadata(&path).is_ok_and(|file| file.is_file()) {
                    continue;
                }
                fs::rename(&path, new.join(file)).map_err(|error| EditError::Io(path, error))?;
            }
        }
        [&new, &old]
            .into_iter()
            .try_for_each(|folder| sync_folder(folder).map_err(|error| EditError::NotStored(folder.clone(), error)))?;
        _ = fs::remove_dir(old); // unless it has the versions of prompts below this one
        Ok(true)
    }

    /// Removes a version, or what there is of it.
    pub(super) fn remove(&mut self, name: &Name, entry: &Entry) -> Result<(), EditError> {
        let folder = self.history.folder_of(name)?;
        // The text first: a record without a text counts for nothing.
        for suffix in [TEXT, PENDING, RECORD] {
            let path = folder.join(format!("{}.{suffix}", entry.stem));
            if fs::symlink_metadata(&path).is_ok_and(|file| file.is_dir()) {
                continue; // that of a prompt below this one
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(EditError::Io(path, error)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a record.
fn read_record(folder: &Path, stem: &str, suffix: &str) -> io::Result<Record> {
    let read = |suffix: &str| read_regular(&folder.join(format!("{stem}.{suffix}")), MAX_RECORD);
    let record = match read(suffix) {
        Err(error) if error.kind() == ErrorKind::NotFound && suffix == PENDING => read(RECORD), // its write has ended just now
        record => record,
    };
    Ok(serde_json::from_slice(&record?)?)
}

/// The path of a folder below another one; `None` if it is elsewhere.
fn path_below(root: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
    let (root, folder) = (fs::canonicalize(root)?, fs::canonicalize(folder)?);
    Ok(folder.strip_prefix(root).ok().map(Path::to_owned))
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Refuses what is no folder, or one elsewhere: writing through a symlink would change what is not part of the prompts.
fn check_folder(path: &Path) -> Result<(), EditError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(EditError::Obstacle(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(EditError::Io(path.to_owned(), error)),
    }
}

/// Creates a folder and those above it that are missing, so that they are there after a crash, too.
pub(super) fn create_folders(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(folder)?;
    let parents = missing.into_iter().filter_map(Path::parent);
    parents.filter(|parent| !parent.as_os_str().is_empty()).try_for_each(sync_folder)
}

/// The time and the revision in the name of a file.
fn parse_stem(stem: &str) -> Option<(Timestamp, Revision)> {
    let (time, revision) = stem.split_once('-')?;
    let time = DateTime::strptime("%Y%m%dT%H%M%S%.f", time.strip_suffix('Z')?).ok()?;
    Some((time.to_zoned(TimeZone::UTC).ok()?.timestamp(), revision.parse().ok()?))
}
