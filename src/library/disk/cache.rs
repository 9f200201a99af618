//! What is made from files, and when it is still valid.
//!
//! The rule for everything that is kept: look at each file and folder before it is read, which
//! records its [stamp](Stamp) in the [`Trace`] of the value; keep the value only if every stamp was
//! reliable when it was taken; use it again only while every stamp is still the same. Everything
//! else is made again each time.
//!
//! The time of the last change (ctime) is set by the system: no program can set it back, as `cp -p`
//! and `rsync -t` do with the modification time. Still, two changes within one tick of the file
//! system's clock show the same times, and a network file system may show outdated ones. So a stamp
//! is reliable only if the last change is more than two seconds ago, and the file is on a file
//! system known to be local. A later write gets a later time then, and shows. A rename, a new or a
//! removed file, another suffix and a swapped symlink change the stamp of a folder, or the inode
//! behind a path. One change goes unnoticed: that of a program that has mapped a file into memory
//! and writes to the same page again.
//!
//! What a stamp does not show is never kept: an error of the system other than "not found", and in
//! a project, where the target of a symlink decides what may be read, whatever was reached through
//! one.

use super::memory_files::{MemoryFileState, MemoryFiles};
use super::stamp::Stamp;
use crate::lock::lock;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// How long ago the last change of a file must be, so that the next one shows another time. The
/// clocks of file systems tick every few milliseconds; the coarsest known, FAT's, every two
/// seconds.
pub(crate) const MIN_STAMP_AGE: Duration = Duration::from_secs(2);

/// The files and folders that a value was made from, each with the state that it had before it was
/// read.
#[derive(Debug)]
pub(crate) struct Trace {
    paths: Vec<SeenPath>,
    pub(super) rows: Vec<SeenMemoryFile>,
    /// Whether every change of the value shows in these states. If not, the value is not kept.
    is_cacheable: bool,
    /// How long ago the last change of a file must be, so that the next one shows.
    min_age: Duration,
}

/// A path with the state that it had before it was read.
#[derive(Debug)]
struct SeenPath {
    path: PathBuf,
    stamp: Option<Stamp>,
}

/// A file in memory with the state that it had before it was read.
#[derive(Debug)]
pub(super) struct SeenMemoryFile {
    pub(super) rows: Arc<MemoryFiles>,
    pub(super) path: Box<str>,
    state: MemoryFileState,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::new(MIN_STAMP_AGE)
    }
}

impl Trace {
    /// Returns an empty trace, which does not trust the stamp of a file that has changed within the
    /// last `min_age`: a second change at almost the same time may show the same stamp.
    fn new(min_age: Duration) -> Trace {
        Trace {
            paths: Vec::new(),
            rows: Vec::new(),
            is_cacheable: true,
            min_age,
        }
    }

    /// Records the state of the file or folder at a path, and returns it; `None` if nothing is
    /// there. Symlinks are followed.
    ///
    /// Call this before you read the file, so that a change while it is read shows.
    pub(crate) fn record(&mut self, path: &Path) -> Option<Stamp> {
        let stamp = match Stamp::at(path) {
            Ok(stamp) => stamp,
            Err(_) => {
                self.mark_uncacheable();
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

    /// Records the state of a file in memory, and returns when it was written; `None` if there is
    /// no such file.
    ///
    /// Call this before you read the file, so that a change while it is read shows.
    pub(crate) fn record_memory_file(
        &mut self,
        rows: &Arc<MemoryFiles>,
        path: &str,
    ) -> Option<SystemTime> {
        self.rows.push(SeenMemoryFile {
            rows: Arc::clone(rows),
            path: path.into(),
            state: rows.state(path),
        });
        Some(rows.get(path)?.at)
    }

    /// Prevents that the value is kept, because it depends on something that no stamp shows.
    pub(crate) fn mark_uncacheable(&mut self) {
        self.is_cacheable = false;
    }

    /// Returns whether each file and folder still has the state that was recorded, so that the
    /// value can be used again.
    fn is_current(&self) -> bool {
        self.rows.iter().all(SeenMemoryFile::is_current)
            && self.paths.iter().all(SeenPath::is_current)
    }

    /// Returns the paths of the files and folders that were recorded.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(|seen| &*seen.path)
    }
}

impl SeenPath {
    fn is_current(&self) -> bool {
        Stamp::at(&self.path).is_ok_and(|stamp| stamp == self.stamp)
    }
}

impl SeenMemoryFile {
    fn is_current(&self) -> bool {
        self.rows.state(&self.path) == self.state
    }
}

/// Values that are made from files, each with its trace. Shared by all threads; no file is read
/// while it is locked.
pub(crate) struct Cache<V> {
    contents: Mutex<CacheContents<V>>,
    min_age: Duration,
    /// The most that all values together may weigh. If a new value does not fit, all others are
    /// dropped.
    limit: usize,
    /// Returns how much a value weighs, such as its length in bytes.
    weigh: fn(&V) -> usize,
}

/// The values of a cache by their keys.
struct CacheContents<V> {
    values: HashMap<OsString, Arc<Traced<V>>>,
    /// How much all values together weigh.
    weight: usize,
}

/// A value with the files that it was made from.
pub(crate) struct Traced<V> {
    pub(crate) value: V,
    pub(crate) trace: Trace,
}

impl<V: Clone> Cache<V> {
    /// Returns an empty cache for at most `limit` values.
    pub(crate) fn new(limit: usize, min_age: Duration) -> Cache<V> {
        Cache::weighed(limit, |_| 1, min_age)
    }

    /// Returns an empty cache for values that together weigh at most `limit`. `weigh` returns how
    /// much a value weighs, such as its length in bytes.
    pub(crate) fn weighed(limit: usize, weigh: fn(&V) -> usize, min_age: Duration) -> Cache<V> {
        Cache {
            contents: Mutex::new(CacheContents {
                values: HashMap::new(),
                weight: 0,
            }),
            min_age,
            limit,
            weigh,
        }
    }

    /// Returns the value of a key, such as a path. If the cache has no value for the key, or a file
    /// that it was made from has changed, `make` makes a new one.
    ///
    /// `make` records each file in the trace before it reads the file.
    pub(crate) fn get(&self, key: impl AsRef<OsStr>, make: impl FnOnce(&mut Trace) -> V) -> V {
        self.get_traced(key.as_ref(), make).value.clone()
    }

    /// Returns the value of a key like [`Cache::get`], with its trace.
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
        trace.rows.shrink_to_fit();
        let traced = Arc::new(Traced { value, trace });
        self.replace(key, &traced);
        traced
    }

    /// Replaces the value of a key. If the new value cannot be trusted, the old one is dropped, and
    /// the new one is not kept. If the new value does not fit, all others are dropped.
    fn replace(&self, key: &OsStr, new: &Arc<Traced<V>>) {
        let weight = (self.weigh)(&new.value);
        let mut contents = lock(&self.contents);
        if let Some(old) = contents.values.remove(key) {
            contents.weight -= (self.weigh)(&old.value);
        }
        if !new.trace.is_cacheable {
            return;
        }
        if contents.weight + weight > self.limit {
            contents.values.clear();
            contents.weight = 0;
        }
        contents.weight += weight;
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

    /// The text of a file, and whether the file was read for it.
    struct CachedText {
        text: Option<String>,
        is_read: bool,
    }

    /// Returns the text of a file through a cache.
    fn read(cache: &Cache<Option<String>>, path: &Path) -> CachedText {
        let mut is_read = false;
        let text = cache.get("", |trace| {
            is_read = true;
            trace.record(path);
            fs::read_to_string(path).ok()
        });
        CachedText { text, is_read }
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
                assert!(!again.is_read, "{what}");
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
            assert!(read(&young, &file).is_read);
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
        assert!(read(&cache, &file).is_read);
    }

    #[test]
    fn beyond_its_limit_a_cache_begins_anew() {
        let cache: Cache<usize> = Cache::weighed(10, |weight| *weight, Duration::ZERO);
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
