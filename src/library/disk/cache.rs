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

use super::rows::Rows;
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
pub(crate) const SETTLING: Duration = Duration::from_secs(2);

/// What a value was made from.
#[derive(Debug)]
pub(crate) struct Trace {
    seen: Vec<(PathBuf, Option<Stamp>)>,
    /// The same of files in memory, with the number of each: that changes whenever the file does.
    pub(crate) rows: Vec<(Arc<Rows>, Box<str>, i64)>,
    is_trusted: bool,
    settling: Duration,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::new(SETTLING)
    }
}

impl Trace {
    pub(crate) fn new(settling: Duration) -> Trace {
        Trace {
            seen: Vec::new(),
            rows: Vec::new(),
            is_trusted: true,
            settling,
        }
    }

    /// Records the state of a path, symlinks followed. To be called before it is read.
    pub(crate) fn look(&mut self, path: &Path) -> Option<Stamp> {
        let stamp = Stamp::at(path);
        self.is_trusted &= match &stamp {
            Ok(Some(stamp)) => stamp.is_reliable(path, self.settling),
            Ok(None) => true,
            Err(_) => false,
        };
        let stamp = stamp.ok().flatten();
        self.seen.push((path.to_owned(), stamp));
        stamp
    }

    /// Records the state of a file in memory. To be called before it is read. Returns when it was
    /// written.
    pub(crate) fn look_at(&mut self, rows: &Arc<Rows>, path: &str) -> Option<SystemTime> {
        self.rows
            .push((Arc::clone(rows), path.into(), rows.number(path)));
        rows.get(path).map(|row| row.at)
    }

    /// The value depends on something that no stamp shows.
    pub(crate) fn distrust(&mut self) {
        self.is_trusted = false;
    }

    /// Whether every stamp is still the same.
    fn is_current(&self) -> bool {
        self.rows
            .iter()
            .all(|(rows, path, number)| rows.number(path) == *number)
            && self
                .seen
                .iter()
                .all(|(path, stamp)| Stamp::at(path).is_ok_and(|now| now == *stamp))
    }

    /// The paths that were looked at.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.seen.iter().map(|(path, _)| &**path)
    }
}

/// Values that are made from files, each with its trace. Shared by all threads; nothing is read
/// while it is locked.
pub(crate) struct Cache<V> {
    kept: Mutex<Kept<V>>,
    settling: Duration,
    /// The most weight of all values; beyond it, all are dropped.
    limit: usize,
    weigh: fn(&V) -> usize,
}

struct Kept<V> {
    values: HashMap<OsString, Arc<(Trace, V)>>,
    weight: usize,
}

impl<V: Clone> Cache<V> {
    /// A cache of so many values.
    pub(crate) fn new(limit: usize, settling: Duration) -> Cache<V> {
        Cache::weighed(limit, |_| 1, settling)
    }

    /// A cache of values whose weights are at most so much in all.
    pub(crate) fn weighed(limit: usize, weigh: fn(&V) -> usize, settling: Duration) -> Cache<V> {
        Cache {
            kept: Mutex::new(Kept {
                values: HashMap::new(),
                weight: 0,
            }),
            settling,
            limit,
            weigh,
        }
    }

    /// The value of a key, such as a path, which is made now unless one is kept that is still
    /// valid.
    pub(crate) fn get(&self, key: impl AsRef<OsStr>, make: impl FnOnce(&mut Trace) -> V) -> V {
        self.with_trace(key.as_ref(), make).1.clone()
    }

    /// The same with its trace.
    pub(crate) fn with_trace(
        &self,
        key: &OsStr,
        make: impl FnOnce(&mut Trace) -> V,
    ) -> Arc<(Trace, V)> {
        let kept = lock(&self.kept).values.get(key).cloned();
        if let Some(kept) = kept.filter(|kept| kept.0.is_current()) {
            return kept;
        }
        let mut trace = Trace::new(self.settling);
        let value = make(&mut trace);
        let (is_trusted, weight) = (trace.is_trusted, (self.weigh)(&value));
        trace.seen.shrink_to_fit();
        trace.rows.shrink_to_fit();
        let made = Arc::new((trace, value));
        let mut kept = lock(&self.kept);
        if let Some(old) = kept.values.remove(key) {
            kept.weight -= (self.weigh)(&old.1);
        }
        if is_trusted {
            if kept.weight + weight > self.limit {
                kept.values.clear();
                kept.weight = 0;
            }
            kept.weight += weight;
            kept.values.insert(key.to_owned(), Arc::clone(&made));
        }
        made
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
    use std::cell::Cell;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Reads a file through a cache, and says whether it was read.
    fn read(cache: &Cache<Option<String>>, path: &Path) -> (Option<String>, bool) {
        let is_read = Cell::new(false);
        let text = cache.get("", |trace| {
            is_read.set(true);
            trace.look(path);
            fs::read_to_string(path).ok()
        });
        (text, is_read.get())
    }

    #[test]
    fn a_value_is_used_until_a_path_that_it_was_made_from_is_another_file_or_holds_another_text() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other, link, middle] =
            ["file", "other", "link", "middle"].map(|name| folder.path().join(name));
        fs::write(&other, "other").unwrap();
        symlink(&file, &middle).unwrap();
        symlink(&middle, &link).unwrap();
        let swap = |link: &Path, target: &Path| {
            fs::remove_file(link).unwrap();
            symlink(target, link).unwrap();
        };
        let (by_path, by_link) = (
            Cache::new(10, Duration::ZERO),
            Cache::new(10, Duration::ZERO),
        );
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
                swap(&middle, &other);
            }),
        ];
        for (what, change) in changes {
            change();
            for (cache, path) in [(&by_path, &file), (&by_link, &link)] {
                let now = fs::read_to_string(path).ok();
                assert_eq!(read(cache, path).0, now, "{what}");
                assert_eq!(read(cache, path), (now, false), "{what}");
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
            assert!(read(&young, &file).1);
        }
        let distrusted = Cache::new(10, Duration::ZERO);
        let made = Cell::new(0);
        for _ in 0..2 {
            distrusted.get("", |trace| {
                trace.look(&file);
                trace.distrust();
                made.set(made.get() + 1);
            });
        }
        assert_eq!(made.get(), 2);
        // Something that is being made while it changes is not kept as it was before.
        let cache = Cache::new(10, Duration::ZERO);
        cache.get("", |trace| {
            trace.look(&file);
            fs::write(&file, "longer text").unwrap();
            Some("text".to_owned())
        });
        assert!(read(&cache, &file).1);
    }

    #[test]
    fn beyond_its_limit_a_cache_begins_anew() {
        let made = Cell::new(0);
        let cache: Cache<usize> = Cache::weighed(10, |weight| *weight, Duration::ZERO);
        let get = |key: usize, weight: usize| {
            cache.get(key.to_string(), |_| {
                made.set(made.get() + 1);
                weight
            })
        };
        for (key, weight, want) in [
            (1, 5, 1),
            (2, 5, 2),
            (1, 5, 2),
            (2, 5, 2),
            (3, 1, 3),
            (1, 5, 4),
            (3, 1, 4),
        ] {
            get(key, weight);
            assert_eq!(made.get(), want, "{key}");
        }
    }
}
