//! The history of the prompts in a folder: `.history/NAME/`, next to the prompts and hidden like every folder whose name begins
//! with a dot.
//!
//! A version is a file that begins with the time in UTC, such as `20261122T191012.123456789Z-REVISION.md`: the text, for a person to
//! copy back. The file of the same name that ends in `.json` is its [record]: who wrote it, how, and over what. A version that a
//! person has made by hand has none; it is saved when it is replaced or removed. A record without a text is that of a delete.
//!
//! What a write replaces is in the history before it is replaced, so that nothing that anybody wrote is ever lost; what it has written is
//! added after it. After a crash between the two, the text in the prompt's file is one that was made by hand.
//!
//! [record]: Record

use super::read::read_regular;
use super::root::MAX_ENTRIES;
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, Revision};
use crate::wording::named;
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

/// The suffixes of a text, of its record, and of a record of earlier versions of this program.
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
    /// The path of the prompt's file below the folder, `/`-separated.
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
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
}

impl Entry {
    /// Whether the prompt was deleted then.
    pub(super) fn is_delete(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.operation == Operation::Delete)
    }

    /// The revision that the file has after it.
    pub(super) fn after(&self) -> Option<Revision> {
        (!self.is_delete()).then_some(self.revision)
    }

    pub(super) fn version(&self) -> Version {
        let record = self.record.as_ref();
        Version {
            revision: self.revision,
            at: self.at,
            operation: record.map_or(Operation::ByHand, |record| record.operation),
            author: record.and_then(|record| record.author.clone()),
            note: record.and_then(|record| record.note.clone()),
            is_current: false,
        }
    }
}

/// The history of one folder of prompts.
#[derive(Debug)]
pub(super) struct History {
    /// The folder of prompts.
    pub(super) root: PathBuf,
    /// Whether git is told to ignore it.
    pub(super) is_ignored: bool,
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

    /// Waits until no other process writes, and removes what one has left that was killed.
    pub(super) fn lock(&self) -> Result<Lock<'_>, Diagnostic> {
        let history = self.folder();
        check_folder(&history)?;
        create_folders(&history).map_err(|error| failed(&history, &error))?;
        if self.is_ignored {
            // In a repository, the history is nobody else's.
            _ = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(history.join(".gitignore"))
                .map(|mut file| file.write_all(b"*\n"));
        }
        let path = history.join(LOCK);
        if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_file()) {
            return Err(obstacle(&path));
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| failed(&path, &error))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if started.elapsed() < MAX_WAIT => thread::sleep(RETRY),
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "another process has been writing for a long time, and holds {}; nothing is written",
                        named(&path.display().to_string())
                    );
                    return Err(Diagnostic::new(Kind::Busy, message, "try again"));
                }
                Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
            }
        }
        let mut lock = Lock { history: self, file, temporary: None };
        lock.temporary = lock.left_temporary_file();
        lock.remove_temporary_file();
        Ok(lock)
    }

    /// All versions of a prompt, the newest first.
    pub(super) fn entries(&self, name: &Name) -> Result<Vec<Entry>, Diagnostic> {
        let folder = self.folder_of(name)?;
        // By the names of the files without their suffixes: whether there is a text, and whether there is a record.
        let mut stems: BTreeMap<String, (bool, bool)> = BTreeMap::new();
        for (stem, suffix) in self.files_of(name)? {
            let (has_text, has_record) = stems.entry(stem).or_default();
            *has_text |= suffix == TEXT;
            *has_record |= suffix == RECORD;
        }
        let mut entries = Vec::new();
        for (stem, (has_text, has_record)) in stems.into_iter().rev() {
            let Some((at, revision)) = parse_stem(&stem) else { continue };
            let path = folder.join(format!("{stem}.{RECORD}"));
            let record = has_record.then(|| Ok(serde_json::from_slice(&read_regular(&path, MAX_RECORD)?)?)).transpose();
            let record = record.unwrap_or_else(|error: io::Error| {
                tracing::warn!(record = %path.display(), %error, "the record of a version cannot be read");
                None
            });
            let entry = Entry { stem, at, revision, record };
            entries.extend((has_text || entry.is_delete()).then_some(entry));
        }
        Ok(entries)
    }

    /// The files of the versions of a prompt: their names without the suffix, and the suffix.
    fn files_of(&self, name: &Name) -> Result<Vec<(String, String)>, Diagnostic> {
        let folder = self.folder_of(name)?;
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&folder, &error)),
        };
        let mut found = Vec::new();
        for file in files.take(MAX_ENTRIES) {
            let file = file.map_err(|error| failed(&folder, &error))?;
            let name = file.file_name();
            // A prompt below this one may have the name of a version. A symlink may lead anywhere.
            let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
            if let (Some((stem, suffix)), true) = (name.to_str().and_then(|name| name.rsplit_once('.')), is_file) {
                found.push((stem.to_owned(), suffix.to_owned()));
            }
        }
        Ok(found)
    }

    /// What the system says of the text of a version.
    pub(super) fn metadata(&self, name: &Name, entry: &Entry) -> Option<Metadata> {
        let path = self.folder_of(name).ok()?.join(format!("{}.{TEXT}", entry.stem));
        fs::symlink_metadata(path).ok().filter(Metadata::is_file)
    }

    /// The text of a version; `None` if it is not in the history.
    ///
    /// # Errors
    /// It cannot be read, or was changed there.
    pub(super) fn text(&self, name: &Name, revision: Revision) -> Result<Option<Vec<u8>>, Diagnostic> {
        let folder = self.folder_of(name)?;
        let mut is_changed = false;
        for entry in self.entries(name)?.iter().filter(|entry| entry.after() == Some(revision)) {
            let path = folder.join(format!("{}.{TEXT}", entry.stem));
            let text = read_regular(&path, MAX_FILE).map_err(|error| failed(&path, &error))?;
            if Revision::of(&text) == revision {
                return Ok(Some(text));
            }
            is_changed = true;
        }
        let message = || format!("the text of version {revision} of {} was changed in the history", named(name));
        if is_changed { Err(Diagnostic::new(Kind::NoVersion, message(), "choose another version")) } else { Ok(None) }
    }
}

impl Lock<'_> {
    /// Adds a version: its text, then its record, each complete or not there at all. Both are as private as the prompt's file, which they
    /// are `like`.
    pub(super) fn add(
        &mut self,
        name: &Name,
        (at, revision): (Timestamp, Revision),
        record: Option<&Record>,
        text: Option<&[u8]>,
        like: Option<&Metadata>,
    ) -> Result<(), Diagnostic> {
        let folder = self.history.folder_of(name)?;
        create_folders(&folder).map_err(|error| failed(&folder, &error))?;
        let stem = format!("{}-{revision}", at.strftime(TIME));
        let path = |suffix: &str| folder.join(format!("{stem}.{suffix}"));
        if let Some(text) = text {
            self.put(&path(TEXT), text, like)?;
        }
        if let Some(record) = record {
            let json = serde_json::to_string_pretty(record).map_err(|error| failed(&path(RECORD), &error.into()))?;
            self.put(&path(RECORD), format!("{json}\n").as_bytes(), like)?;
        }
        sync_folder(&folder).map_err(|error| failed(&folder, &error))
    }

    /// Removes a version that did not come about.
    pub(super) fn remove(&mut self, name: &Name, at: Timestamp, revision: Revision) {
        if let Ok(folder) = self.history.folder_of(name) {
            _ = fs::remove_file(folder.join(format!("{}-{revision}.{TEXT}", at.strftime(TIME))));
        }
    }

    /// Removes the versions of a prompt but so many, and what earlier versions of this program have left.
    pub(super) fn prune(&mut self, name: &Name, kept: usize) {
        let (Ok(folder), Ok(entries), Ok(files)) =
            (self.history.folder_of(name), self.history.entries(name), self.history.files_of(name))
        else {
            return; // the next write tries again
        };
        let old: Vec<&str> = entries.iter().skip(kept).map(|entry| &*entry.stem).collect();
        for (stem, suffix) in &files {
            if suffix == PENDING || (old.contains(&&**stem) && (suffix == TEXT || suffix == RECORD)) {
                _ = fs::remove_file(folder.join(format!("{stem}.{suffix}")));
            }
        }
    }

    /// Writes a file of the history.
    fn put(&mut self, path: &Path, bytes: &[u8], like: Option<&Metadata>) -> Result<(), Diagnostic> {
        let written = self.write_temporary_file(&self.history.folder(), bytes, like);
        let written = written.and_then(|temporary| fs::rename(temporary, path));
        written.map_err(|error| {
            self.remove_temporary_file();
            failed(path, &error)
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
    pub(super) fn rename(&mut self, from: &Name, to: &Name) -> Result<bool, Diagnostic> {
        let (old, new) = (self.history.folder_of(from)?, self.history.folder_of(to)?);
        // Where letter case makes no difference, the two may be one.
        if fs::canonicalize(&old).ok() == fs::canonicalize(&new).ok() {
            return Ok(true);
        }
        if !self.history.entries(to)?.is_empty() {
            return Ok(false);
        }
        create_folders(&new).map_err(|error| failed(&new, &error))?;
        for (stem, suffix) in self.history.files_of(from)? {
            let file = format!("{stem}.{suffix}");
            if parse_stem(&stem).is_some() {
                fs::rename(old.join(&file), new.join(&file)).map_err(|error| failed(&old.join(&file), &error))?;
            }
        }
        [&new, &old].into_iter().try_for_each(|folder| sync_folder(folder).map_err(|error| failed(folder, &error)))?;
        _ = fs::remove_dir(old); // unless it has the versions of prompts below this one
        Ok(true)
    }
}

/// The path of a folder below another one; `None` if it is elsewhere.
fn path_below(root: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
    let (root, folder) = (fs::canonicalize(root)?, fs::canonicalize(folder)?);
    Ok(folder.strip_prefix(root).ok().map(Path::to_owned))
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// The error of the system.
pub(super) fn failed(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("{}: {error}", named(&path.display().to_string()));
    Diagnostic::new(Kind::Unreadable, message, "fix that, and try again")
}

fn obstacle(path: &Path) -> Diagnostic {
    let path = named(&path.display().to_string());
    let message = format!("{path} is a symlink or a file, and the history needs a folder there; nothing is written");
    Diagnostic::new(Kind::Unreadable, message, "move it away")
}

/// Waits until the names in a folder are stored, so that they are there after a crash. Only Unix can.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    _ = folder;
    Ok(())
}

/// Refuses what is no folder, or one elsewhere: writing through a symlink would change what is not part of the prompts.
fn check_folder(path: &Path) -> Result<(), Diagnostic> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(obstacle(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path, &error)),
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
