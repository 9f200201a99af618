//! What is cached of prompt files, and when it is still valid.
//!
//! A [`Stamp`] (device, inode, mode, size, both times) distinguishes one state of a file from another without opening it.
//! The time of the last change (ctime) is set by the system: no program can set it back, as `cp -p` and `rsync -t` do with
//! the modification time. Still, two changes within one tick of the file system's clock show the same times, and a network
//! file system may show outdated ones. So a stamp is reliable only if the last change is more than two seconds ago and the
//! file is on a file system known to be local. Everything else is read again at each request.
//!
//! The rule for everything that is cached: take the stamp, then read; cache the result if the stamp is reliable; use it while
//! the file has that stamp. One change goes unnoticed: that of a program that has mapped a file into memory and writes
//! to the same page again.
//!
//! A stamp says nothing about which file a name refers to. Names are therefore resolved again at each request, and a list is
//! cached with the stamps of all folders it came from (`walk.rs`).

use super::folder::PromptFile;
use super::{FileInfo, Problem, Revision};
use crate::prompt::{Prompt, Summary};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How many bytes of prompt files are cached as parsed prompts, in all.
const MAX_PROMPT_BYTES: u64 = 8 * 1024 * 1024;

/// How long ago the last change of a file must be, so that the next one shows another time. The clocks of file systems
/// tick every few milliseconds; the coarsest known, FAT's, every two seconds.
const SETTLED: Duration = Duration::from_secs(2);

/// Locks data that is never left half changed, so that a panic of another holder does not matter.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is cached of the files of a library, shared by all threads. Nothing is read while it is locked.
#[derive(Default)]
pub(super) struct Cache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    /// One map for each [`FolderCache`]: a file that is in two folders of the library has a name in each. The entries are
    /// boxed, because a table of large entries takes twice the memory.
    folders: Vec<HashMap<Arc<Path>, Box<Entry>>>,
    /// The total size of the prompts that are cached.
    prompt_bytes: u64,
}

struct Entry {
    stamp: Stamp,
    included: IncludedStamps,
    info: FileInfo,
    /// With its size.
    prompt: Option<(Arc<Prompt>, u64)>,
}

/// The files that a prompt includes, each with its stamp.
pub(super) type IncludedStamps = Box<[(PathBuf, Stamp)]>;

/// The part of a [`Cache`] that belongs to one folder.
#[derive(Debug)]
pub(super) struct FolderCache {
    cache: Arc<Cache>,
    index: usize,
}

/// Distinguishes one content of a prompt from another. Only comparable within one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// A hash of what lists show: title, description, arguments, tags and metadata. `None` for a broken file and for a
    /// [template](Summary::is_template), which they do not show.
    pub(crate) summary: Option<u64>,
    /// A hash of the whole file, or of the reason why it cannot be read.
    pub(crate) content: u64,
}

impl Cache {
    pub(super) fn for_folder(self: &Arc<Self>) -> FolderCache {
        let mut entries = lock(&self.0);
        entries.folders.push(HashMap::new());
        FolderCache { cache: Arc::clone(self), index: entries.folders.len() - 1 }
    }
}

impl FolderCache {
    /// What was cached of the file at a path under this stamp. The prompt may have been dropped meanwhile.
    pub(super) fn get(&self, path: &Path, stamp: &Stamp) -> Option<(FileInfo, Option<Arc<Prompt>>)> {
        let (included, info, prompt) = {
            let entries = lock(&self.cache.0);
            let entry = entries.folders[self.index].get(path).filter(|entry| entry.stamp == *stamp)?;
            let prompt = entry.prompt.as_ref().map(|(prompt, _)| Arc::clone(prompt));
            (entry.included.clone(), entry.info.clone(), prompt)
        };
        included.iter().all(|(path, stamp)| Stamp::at(path) == Some(*stamp)).then_some((info, prompt))
    }

    /// Caches a file under the reliable stamps that it and the files that it includes had before they were read. When the prompts of
    /// all folders become too large, the others are dropped.
    pub(super) fn insert(
        &self,
        path: &Arc<Path>,
        (stamp, included): (Stamp, IncludedStamps),
        info: FileInfo,
        prompt: Option<Arc<Prompt>>,
    ) {
        let prompt = prompt.map(|prompt| {
            let texts = prompt.messages.iter().map(|message| message.body().len() as u64);
            let size = stamp.size.max(texts.sum()); // with what it includes
            (prompt, size)
        });
        let mut entries = lock(&self.cache.0);
        entries.remove(self.index, path);
        if let Some((_, size)) = prompt {
            if entries.prompt_bytes + size > MAX_PROMPT_BYTES {
                entries.folders.iter_mut().flat_map(HashMap::values_mut).for_each(|entry| entry.prompt = None);
                entries.prompt_bytes = 0;
            }
            entries.prompt_bytes += size;
        }
        entries.folders[self.index].insert(Arc::clone(path), Box::new(Entry { stamp, included, info, prompt }));
    }

    /// Removes all files of the folder except these.
    pub(super) fn retain(&self, files: &[PromptFile]) {
        let mut entries = lock(&self.cache.0);
        if entries.folders[self.index].is_empty() {
            return;
        }
        let files: HashSet<&Path> = files.iter().map(|file| &*file.path).collect();
        let gone = |path: &&Arc<Path>| !files.contains(&***path);
        let gone: Vec<Arc<Path>> = entries.folders[self.index].keys().filter(gone).cloned().collect();
        gone.iter().for_each(|path| entries.remove(self.index, path));
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Entries {
    fn remove(&mut self, folder: usize, path: &Path) {
        if let Some(entry) = self.folders[folder].remove(path)
            && let Some((_, size)) = entry.prompt
        {
            self.prompt_bytes -= size;
        }
    }
}

impl FileInfo {
    /// The information about a file that holds these bytes.
    pub(super) fn of(bytes: &[u8], modified: Option<SystemTime>, prompt: Result<&Prompt, &Problem>) -> FileInfo {
        let summary = match prompt {
            Ok(prompt) => Ok(Arc::new(prompt.summary())),
            Err(problem) => Err(Arc::new(problem.clone())),
        };
        let revision = Revision::of(bytes);
        let fingerprint = Fingerprint::of(revision, summary.as_deref().ok());
        FileInfo { summary, revision: Some(revision), fingerprint, size: bytes.len() as u64, modified }
    }

    /// The same with what it includes, which has this hash.
    pub(super) fn with_included(mut self, hash_of_included: Option<u64>) -> FileInfo {
        if let Some(included) = hash_of_included {
            self.fingerprint.content = hash(&(self.fingerprint.content, included));
        }
        self
    }

    /// The information about a file that cannot be read.
    pub(super) fn unreadable(problem: Problem) -> FileInfo {
        let fingerprint = Fingerprint { summary: None, content: hash(&problem.to_string()) };
        FileInfo { summary: Err(Arc::new(problem)), revision: None, fingerprint, size: 0, modified: None }
    }
}

impl Fingerprint {
    /// The fingerprint of a file of this revision, with the summary of its prompt unless it is broken.
    pub(super) fn of(revision: Revision, summary: Option<&Summary>) -> Fingerprint {
        let listed = summary.filter(|summary| !summary.is_template);
        Fingerprint { summary: listed.map(|summary| hash(&shown(summary))), content: revision.hash() }
    }
}

/// What a list of prompts shows.
fn shown(summary: &Summary) -> impl Hash {
    let arguments = summary.arguments.iter();
    let arguments =
        arguments.map(|argument| (&argument.name, &argument.title, &argument.description, argument.is_needed()));
    let about = (&summary.title, &summary.description, &summary.tags, &summary.metadata);
    (about, arguments.collect::<Vec<_>>(), summary.takes_input)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The state of a file or a folder, symlinks followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    /// In bytes.
    size: u64,
    /// `None` where the file system does not say.
    pub(super) modified: Option<SystemTime>,
    /// Device, inode and mode, which std does not offer on Windows.
    #[cfg(unix)]
    identity: (u64, u64, u32),
    /// The time of the last change of content or metadata: seconds and nanoseconds.
    #[cfg(unix)]
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file or folder at a path; `None` if there is none, or the system does not say.
    pub(super) fn at(path: &Path) -> Option<Stamp> {
        fs::metadata(path).ok().as_ref().map(Stamp::of)
    }

    pub(super) fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: (metadata.dev(), metadata.ino(), metadata.mode()),
            #[cfg(unix)]
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the next change of the file at this path is sure to show another stamp.
    pub(super) fn is_reliable(&self, path: &Path) -> bool {
        self.is_settled() && is_local(path)
    }

    /// Whether the last change is so long ago that the next one shows another time.
    pub(super) fn is_settled(&self) -> bool {
        #[cfg(unix)]
        let changed = u64::try_from(self.changed.0).ok().map(|seconds| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(self.changed.1.unsigned_abs())
        });
        #[cfg(not(unix))]
        let changed = self.modified;
        // A time in the future is not reliable.
        changed.is_some_and(|time| time.elapsed().is_ok_and(|age| age > SETTLED))
    }
}

/// The type of the file system at a path, as in statfs(2) and the kernel's linux/magic.h.
#[cfg(target_os = "linux")]
fn file_system(path: &Path) -> Option<u32> {
    // Wider on some platforms; the numbers have 32 bits.
    rustix::fs::statfs(path).ok().map(|stat| stat.f_type as u32)
}

/// Whether the file at a path is on a file system that shows each change in the stamp at once. Unknown ones are not listed;
/// nor is FAT: it stores no times of its root, and no time that programs cannot set.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    file_system(path).is_some_and(is_local_type)
}

/// Other systems are not asked: there, every file is read at each request.
#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_local_type(number: u32) -> bool {
    matches!(
        number,
        0xef53 // ext2 to ext4
            | 0x9123_683e // Btrfs
            | 0x5846_5342 // XFS
            | 0x2fc1_2fc1 // ZFS
            | 0xf2f5_2010 // F2FS
            | 0xca45_1a4e // Bcachefs
            | 0x0102_1994 // tmpfs
            | 0x8584_58f6 // ramfs
            | 0x794c_7630 // overlay, as in a container; changing its lower layers is undefined (kernel, overlayfs)
    )
}

/// Whether other machines may change the files of this folder without an event on this one.
#[cfg(target_os = "linux")]
pub(super) fn is_remote(path: &Path) -> bool {
    file_system(path).is_some_and(is_remote_type)
}

#[cfg(target_os = "linux")]
fn is_remote_type(number: u32) -> bool {
    matches!(
        number,
        0x6969 // NFS
            | 0x517b // SMB
            | 0xff53_4d42 // CIFS
            | 0xfe53_4d42 // SMB 2
            | 0x0102_1997 // 9P, as in a virtual machine
            | 0x6573_5546 // FUSE
            | 0x5346_414f // AFS
            | 0x7375_7245 // Coda
            | 0x00c3_6400 // Ceph
            | 0x786f_4256 // VirtualBox
            | 0x7c7c_6673 // Parallels
    )
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_remote(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Format, Name};

    fn prompt(size: usize) -> (Stamp, FileInfo, Option<Arc<Prompt>>) {
        let bytes = vec![b'x'; size];
        let prompt = Format::Markdown.parse(Name::new("x").unwrap(), &bytes).unwrap();
        let stamp = Stamp { size: size as u64, ..Stamp::at(Path::new("/")).unwrap() };
        (stamp, FileInfo::of(&bytes, stamp.modified, Ok(&prompt)), Some(Arc::new(prompt)))
    }

    #[test]
    fn the_prompts_of_all_folders_are_cached_up_to_8_mib_and_the_information_about_all_files() {
        let cache = Arc::new(Cache::default());
        let (folder, other) = (cache.for_folder(), cache.for_folder());
        let paths: Vec<Arc<Path>> = (0..9).map(|number| Path::new(&format!("/p/{number}")).into()).collect();
        let (stamp, info, prompt) = prompt(1024 * 1024);
        let has_prompt =
            |folder: &FolderCache, path| folder.get(path, &stamp).is_some_and(|(_, prompt)| prompt.is_some());
        let cached = || paths.iter().filter(|path| has_prompt(&folder, path)).count();
        for (path, want) in paths.iter().zip([1, 2, 3, 4, 5, 6, 7, 8, 1]) {
            folder.insert(path, (stamp, IncludedStamps::default()), info.clone(), prompt.clone());
            assert_eq!(cached(), want);
        }
        assert!(paths.iter().all(|path| folder.get(path, &stamp).is_some()));
        for _ in 0..20 {
            folder.insert(&paths[8], (stamp, IncludedStamps::default()), info.clone(), prompt.clone()); // counts once
        }
        folder.insert(&paths[0], (stamp, IncludedStamps::default()), info.clone(), prompt.clone());
        assert_eq!(cached(), 2);
        for path in &paths[..7] {
            other.insert(path, (stamp, IncludedStamps::default()), info.clone(), prompt.clone());
        }
        assert_eq!(cached(), 0);
    }

    #[test]
    fn an_entry_is_valid_for_its_stamp_and_its_folder_only_and_goes_with_its_file() {
        let cache = Arc::new(Cache::default());
        let (folder, other) = (cache.for_folder(), cache.for_folder());
        let path: Arc<Path> = Path::new("/p/a.md").into();
        let (stamp, info, prompt) = prompt(1);
        folder.insert(&path, (stamp, IncludedStamps::default()), info.clone(), prompt.clone());
        assert!(other.get(&path, &stamp).is_none());
        other.insert(&path, (stamp, IncludedStamps::default()), info, prompt);
        assert!(folder.get(&path, &Stamp { size: 2, ..stamp }).is_none());
        folder.retain(&[]);
        assert!(folder.get(&path, &stamp).is_none() && other.get(&path, &stamp).is_some());
        assert_eq!(lock(&cache.0).prompt_bytes, 1);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod stamp_tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_network_file_system_is_remote_and_a_local_one_is_not() {
        assert!(is_remote_type(0x6969) && is_remote_type(0xfe53_4d42));
        // ext, btrfs, xfs, tmpfs, overlayfs, zfs
        for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert!(is_local_type(local) && !is_remote_type(local), "{local:x}");
        }
        assert!(!is_local_type(0x6969));
        assert!(!is_remote(Path::new("/proc")) && !is_local(Path::new("/proc")), "neither");
        assert!(!is_local(Path::new("/nowhere")));
    }

    #[test]
    fn the_stamp_of_a_file_that_changed_less_than_two_seconds_ago_or_in_the_future_is_not_reliable() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.md");
        fs::write(&file, "x").unwrap();
        let young = Stamp::at(&file).unwrap();
        assert!(!young.is_settled() && !young.is_reliable(&file));
        let aged = |seconds: i64| Stamp { changed: (young.changed.0 - seconds, young.changed.1), ..young };
        assert!(aged(3).is_settled());
        assert!(!aged(-3600).is_settled());
        assert!(!Stamp { changed: (-1, 0), ..young }.is_settled());
    }

    #[test]
    fn another_file_under_the_same_path_has_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a.md"), "same").unwrap();
        fs::write(at("b.md"), "same").unwrap();
        symlink(at("a.md"), at("link.md")).unwrap();
        let before = Stamp::at(&at("link.md"));
        assert_eq!(before, Stamp::at(&at("a.md")));
        fs::remove_file(at("link.md")).unwrap();
        symlink(at("b.md"), at("link.md")).unwrap();
        assert_ne!(before, Stamp::at(&at("link.md")));
        fs::rename(at("b.md"), at("a.md")).unwrap();
        assert_ne!(before, Stamp::at(&at("a.md")));
        assert_eq!(Stamp::at(&at("link.md")), None);
    }
}
