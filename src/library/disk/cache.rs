//! A cache for values that are computed from files, which never serves an outdated value.
//!
//! Before a file or folder is read, its [`Stamp`] is recorded in the [`Trace`] of the value. A
//! value is cached only if all its stamps were reliable when they were taken, and reused only while
//! all of them are unchanged.
//!
//! Stamps rely on the ctime, which the system sets: unlike the modification time, no program can
//! set it back. Still, two changes within one tick of the file system's clock get the same time,
//! and a network file system may report an outdated one. So a stamp is reliable only if the last
//! change is at least two seconds old and the file system is known to be local. Renames, new or
//! removed files and replaced symlinks change the stamp of a folder, or the inode that a path leads
//! to. The only change that goes unnoticed is a write to a page that a program has mapped into
//! memory and already modified.
//!
//! Values that depend on anything else are never cached: errors other than "not found", and, in a
//! project, anything reached through a symlink, whose target decides whether it may be read.

use super::memory_files::{MemoryFileState, MemoryFiles};
use super::stamp::Stamp;
use crate::lock::lock;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// How old the last change of a file must be so that the next change is certain to get a different
/// time. Most file system clocks tick every few milliseconds; the coarsest known one, FAT's, ticks
/// every two seconds.
pub(crate) const MIN_STAMP_AGE: Duration = Duration::from_secs(2);

/// The key of the value in a cache that has only one.
pub(crate) const ONLY_KEY: &str = "";

/// The files and folders that a value was computed from, each with its state from before it was
/// read.
#[derive(Debug)]
pub(crate) struct Trace {
    paths: Vec<SeenPath>,
    pub(super) memory_files: Vec<SeenMemoryFile>,
    /// False if the recorded states might not reveal every change.
    is_cacheable: bool,
    /// The minimum age of a reliable stamp.
    min_age: Duration,
}

/// A path and its state before it was read.
#[derive(Debug)]
struct SeenPath {
    path: PathBuf,
    stamp: Option<Stamp>,
}

/// An in-memory file and its state before it was read.
#[derive(Debug)]
pub(super) struct SeenMemoryFile {
    pub(super) memory_files: Arc<MemoryFiles>,
    pub(super) path: Box<str>,
    state: MemoryFileState,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::new(MIN_STAMP_AGE)
    }
}

impl Trace {
    /// Creates an empty trace. Files that changed less than `min_age` ago make it uncacheable.
    fn new(min_age: Duration) -> Trace {
        Trace {
            paths: Vec::new(),
            memory_files: Vec::new(),
            is_cacheable: true,
            min_age,
        }
    }

    /// Records the current state of a file or folder and returns it, or `None` if the path doesn't
    /// exist. Follows symlinks.
    ///
    /// Call this **before** reading the file. Otherwise, a change in between goes unnoticed.
    pub(crate) fn record(&mut self, path: &Path) -> Option<Stamp> {
        let stamp = match Stamp::read(path) {
            Ok(stamp) => stamp,
            Err(_) => {
                self.mark_uncacheable(); // no stamp would reveal that the error is gone
                None
            }
        };
        if stamp.is_some_and(|stamp| !stamp.is_reliable(path, self.min_age)) {
            self.mark_uncacheable();
        }
        let path = path.to_owned();
        self.paths.push(SeenPath { path, stamp });
        stamp
    }

    /// Records the current state of an in-memory file and returns the time of its last write, or
    /// `None` if it doesn't exist. Call this **before** reading the file.
    pub(crate) fn record_memory_file(
        &mut self,
        memory_files: &Arc<MemoryFiles>,
        path: &str,
    ) -> Option<SystemTime> {
        self.memory_files.push(SeenMemoryFile {
            memory_files: Arc::clone(memory_files),
            path: path.into(),
            state: memory_files.state(path),
        });
        Some(memory_files.get(path)?.written_at)
    }

    /// Keeps the value out of the cache, because it depends on something that no stamp reveals.
    pub(crate) fn mark_uncacheable(&mut self) {
        self.is_cacheable = false;
    }

    /// Returns whether each file and folder still has the state that was recorded, so that the
    /// value can be used again.
    fn is_current(&self) -> bool {
        self.memory_files.iter().all(SeenMemoryFile::is_current)
            && self.paths.iter().all(SeenPath::is_current)
    }

    /// Returns the recorded paths, without those of in-memory files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(|seen| &*seen.path)
    }
}

impl SeenPath {
    fn is_current(&self) -> bool {
        Stamp::read(&self.path).is_ok_and(|stamp| stamp == self.stamp)
    }
}

impl SeenMemoryFile {
    fn is_current(&self) -> bool {
        self.memory_files.state(&self.path) == self.state
    }
}

/// A thread-safe cache for values computed from files. The lock is never held while a file is read.
pub(crate) struct Cache<V> {
    contents: Mutex<CacheContents<V>>,
    min_age: Duration,
    /// The maximum total size. The whole cache is cleared when a new value would exceed it.
    max_size: usize,
    /// Returns the size of a value, in the unit of `max_size`.
    size_of: fn(&V) -> usize,
}

struct CacheContents<V> {
    values: HashMap<OsString, Arc<Traced<V>>>,
    /// The total size of all values.
    total_size: usize,
}

/// A value and the files that it was computed from.
pub(crate) struct Traced<V> {
    pub(crate) value: V,
    pub(crate) trace: Trace,
}

impl<V: Clone> Cache<V> {
    /// Creates a cache for at most `max_values` values.
    pub(crate) fn new(max_values: usize, min_age: Duration) -> Cache<V> {
        Cache::with_max_size(max_values, |_| 1, min_age)
    }

    /// Creates a cache whose values have a total size of at most `max_size`. `size_of` returns the
    /// size of one value, e.g. in bytes.
    pub(crate) fn with_max_size(
        max_size: usize,
        size_of: fn(&V) -> usize,
        min_age: Duration,
    ) -> Cache<V> {
        Cache {
            contents: Mutex::new(CacheContents {
                values: HashMap::new(),
                total_size: 0,
            }),
            min_age,
            max_size,
            size_of,
        }
    }

    /// Returns the value for `key`, computing it with `make` if it isn't cached or one of its files
    /// changed.
    ///
    /// `make` must record each file in the trace before reading it.
    pub(crate) fn get(&self, key: impl AsRef<OsStr>, make: impl FnOnce(&mut Trace) -> V) -> V {
        self.get_traced(key.as_ref(), make).value.clone()
    }

    /// Returns the value for `key` as [`Cache::get`] does, together with its trace.
    pub(crate) fn get_traced(
        &self,
        key: &OsStr,
        make: impl FnOnce(&mut Trace) -> V,
    ) -> Arc<Traced<V>> {
        let cached = lock(&self.contents).values.get(key).cloned();
        if let Some(cached) = cached
            && cached.trace.is_current()
        {
            return cached;
        }
        let mut trace = Trace::new(self.min_age);
        let value = make(&mut trace);
        trace.paths.shrink_to_fit();
        trace.memory_files.shrink_to_fit();
        let traced = Arc::new(Traced { value, trace });
        self.replace(key, &traced);
        traced
    }

    /// Stores a new value, unless it is uncacheable. Either way, drops the old value.
    ///
    /// If the total size would exceed `max_size`, drops all other values first. A single value that
    /// is larger than `max_size` is stored all the same.
    fn replace(&self, key: &OsStr, new: &Arc<Traced<V>>) {
        let new_size = (self.size_of)(&new.value);
        let mut contents = lock(&self.contents);
        if let Some(old) = contents.values.remove(key) {
            contents.total_size -= (self.size_of)(&old.value);
        }
        if !new.trace.is_cacheable {
            return;
        }
        if contents.total_size + new_size > self.max_size {
            contents.values.clear();
            contents.total_size = 0;
        }
        contents.total_size += new_size;
        contents.values.insert(key.to_owned(), Arc::clone(new));
    }
}

impl<V> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The result of a lookup, and whether it read the file.
    struct CachedText {
        text: Option<String>,
        was_read: bool,
    }

    /// Reads a file through a cache.
    fn read(cache: &Cache<Option<String>>, path: &Path) -> CachedText {
        let mut was_read = false;
        let text = cache.get("", |trace| {
            was_read = true;
            trace.record(path);
            fs::read_to_string(path).ok()
        });
        CachedText { text, was_read }
    }

    #[test]
    fn a_value_is_used_until_a_path_that_it_was_made_from_is_another_file_or_holds_another_text() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other, link, middle] =
            ["file", "other", "link", "middle"].map(|name| folder.path().join(name));
        fs::write(&other, "other").unwrap();
        symlink(&file, &middle).unwrap();
        symlink(&middle, &link).unwrap();
        let by_path = Cache::new(10, Duration::ZERO);
        let by_link = Cache::new(10, Duration::ZERO);
        let changes: [(&str, &dyn Fn()); 8] = [
            ("it is created", &|| fs::write(&file, "1").unwrap()),
            ("it is written with the same length", &|| {
                fs::write(&file, "2").unwrap()
            }),
            ("its time is set back", &|| {
                let time = fs::metadata(&file).unwrap().modified().unwrap();
                fs::write(&file, "3").unwrap();
                fs::File::options()
                    .write(true)
                    .open(&file)
                    .unwrap()
                    .set_modified(time)
                    .unwrap();
            }),
            ("another file is renamed to it", &|| {
                fs::rename(folder.path().join("other"), &file).unwrap()
            }),
            ("it is removed", &|| fs::remove_file(&file).unwrap()),
            ("it is a folder", &|| fs::create_dir(&file).unwrap()),
            ("it is a file again", &|| {
                fs::remove_dir(&file).unwrap();
                fs::write(&file, "4").unwrap();
            }),
            ("a symlink on the way leads elsewhere", &|| {
                fs::write(&other, "5").unwrap();
                fs::remove_file(&middle).unwrap();
                symlink(&other, &middle).unwrap();
            }),
        ];
        for (what, change) in changes {
            change();
            for (cache, path) in [(&by_path, &file), (&by_link, &link)] {
                let text = fs::read_to_string(path).ok();
                assert_eq!(read(cache, path).text, text, "{what}");
                let again = read(cache, path);
                assert_eq!(again.text, text, "{what}");
                assert!(!again.was_read, "{what}");
            }
        }
    }

    #[test]
    fn what_changed_a_moment_ago_or_shows_in_no_stamp_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "text").unwrap();
        let young = Cache::new(10, Duration::from_secs(3_600));
        for _ in 0..2 {
            assert!(read(&young, &file).was_read);
        }
        let distrusted = Cache::new(10, Duration::ZERO);
        let mut calls = 0;
        for _ in 0..2 {
            distrusted.get("", |trace| {
                trace.record(&file);
                trace.mark_uncacheable();
                calls += 1;
            });
        }
        assert_eq!(calls, 2);
        // Something that is being made while it changes is not kept as it was before.
        let cache = Cache::new(10, Duration::ZERO);
        cache.get("", |trace| {
            trace.record(&file);
            fs::write(&file, "longer text").unwrap();
            Some("text".to_owned())
        });
        assert!(read(&cache, &file).was_read);
    }

    #[test]
    fn beyond_its_limit_a_cache_begins_anew() {
        let cache: Cache<usize> = Cache::with_max_size(10, |weight| *weight, Duration::ZERO);
        let mut calls = 0;
        for (key, weight, calls_so_far) in [
            ("1", 5, 1),
            ("2", 5, 2),
            ("1", 5, 2),
            ("2", 5, 2),
            ("3", 1, 3),
            ("1", 5, 4),
            ("3", 1, 4),
        ] {
            cache.get(key, |_| {
                calls += 1;
                weight
            });
            assert_eq!(calls, calls_so_far, "{key}");
        }
    }
}
