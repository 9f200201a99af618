//! Notices that files of a library change: by events of the system, or else by polling the stamps of the files. The only
//! file that names notify.
//!
//! Nothing that is served depends on it. It only advances a generation, which makes the notifier compare.

use super::Library;
use super::cache::is_remote;
use super::watch_paths::WatchPaths;
use notify::event::{AccessKind, AccessMode, Event, EventKind, ModifyKind};
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the stamps are polled where the system sends no events.
pub const POLL: Duration = Duration::from_millis(700);

/// How often the folders are registered again because others were added meanwhile.
const MAX_ROUNDS: usize = 5;

/// A counter of changes, the *generation*, that a thread can wait for. It says that something may have changed, never
/// what, and never that a cached value is fresh.
#[derive(Debug, Default)]
pub struct Changes {
    generation: Mutex<u64>,
    advanced: Condvar,
}

impl Changes {
    /// Counts a change.
    pub fn advance(&self) {
        *self.lock() += 1;
        self.advanced.notify_all();
    }

    /// Waits until the generation is not `seen`, and returns the new one. `None` after `timeout`.
    fn wait(&self, seen: u64, timeout: Option<Duration>) -> Option<u64> {
        let is_seen = |generation: &mut u64| *generation == seen;
        let generation = match timeout {
            Some(timeout) => {
                let waited = self.advanced.wait_timeout_while(self.lock(), timeout, is_seen);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => *self.advanced.wait_while(self.lock(), is_seen).unwrap_or_else(PoisonError::into_inner),
        };
        Some(generation).filter(|generation| *generation != seen)
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Advances the generation of a library whenever its files may have changed.
pub struct Watch {
    kind: Kind,
    changes: Arc<Changes>,
    /// The generation that was waited for last.
    seen: u64,
    warn: fn(&str),
}

enum Kind {
    /// The system sends events.
    Events {
        /// Sends them until it is dropped.
        _watcher: RecommendedWatcher,
        paths: Arc<WatchPaths>,
        /// Whether a watched path may be another file now, or could not be watched.
        is_stale: Arc<AtomicBool>,
    },
    /// The stamps are polled; this is the last hash of them, `None` if it cannot be relied on.
    Poll(Option<u64>),
}

impl Watch {
    /// Watches a library: from when this returns, every change advances the generation. `warn` receives, once, why the
    /// system gives no events.
    pub fn start(library: &Library, warn: fn(&str)) -> Watch {
        let changes = Arc::clone(library.changes());
        Watch { kind: Kind::start(library, &changes, warn), changes, seen: 0, warn }
    }

    /// Waits for a burst of changes, and for its end: `quiet` without a change, or `longest` in all. Returns when the
    /// burst began; what was changed before this is no part of it.
    pub fn wait_for_burst(&mut self, library: &Library, quiet: Duration, longest: Duration) -> Instant {
        let started = self.wait(library);
        while started.elapsed() < longest
            && let Some(generation) = self.changes.wait(self.seen, Some(quiet))
        {
            self.seen = generation;
        }
        started
    }

    /// Waits for a change; returns the time before it was noticed.
    fn wait(&mut self, library: &Library) -> Instant {
        loop {
            let started = Instant::now();
            let generation = match &mut self.kind {
                Kind::Events { .. } => self.changes.wait(self.seen, None),
                Kind::Poll(stamps) => {
                    let now = library.view().stamps_hash();
                    if now.is_none() || now != *stamps {
                        *stamps = now;
                        self.changes.advance();
                    }
                    self.changes.wait(self.seen, Some(POLL))
                }
            };
            if let Some(generation) = generation {
                self.seen = generation;
                return if matches!(self.kind, Kind::Poll(_)) { started } else { Instant::now() };
            }
        }
    }

    /// Watches other paths, if others belong to the library now, or the same paths may be other files.
    pub fn renew(&mut self, library: &Library) {
        if let Kind::Events { is_stale, paths, .. } = &self.kind
            && (is_stale.load(Ordering::Acquire) || **paths != watch_paths(library))
        {
            self.kind = Kind::start(library, &self.changes, self.warn);
        }
    }
}

impl Kind {
    fn start(library: &Library, changes: &Arc<Changes>, warn: fn(&str)) -> Kind {
        Kind::events(library, changes).unwrap_or_else(|reason| {
            warn(&format!(
                "the system does not report changed prompt files ({reason}); they are checked every {} milliseconds",
                POLL.as_millis()
            ));
            Kind::Poll(library.view().stamps_hash())
        })
    }

    /// Events of every path of the library, as it is once they are registered.
    fn events(library: &Library, changes: &Arc<Changes>) -> Result<Kind, String> {
        for round in 1.. {
            let paths = Arc::new(watch_paths(library));
            let is_stale = Arc::new(AtomicBool::new(false));
            let watcher = watcher(&paths, &is_stale, changes)?;
            let is_current = *paths == watch_paths(library);
            if is_current || round == MAX_ROUNDS {
                if !is_current {
                    // The folders change faster than they can be registered: look, and try again, at once.
                    is_stale.store(true, Ordering::Release);
                    changes.advance();
                }
                return Ok(Kind::Events { _watcher: watcher, paths, is_stale });
            }
        }
        unreachable!("the last round returns")
    }
}

fn watch_paths(library: &Library) -> WatchPaths {
    let mut paths = WatchPaths::default();
    // Those that would make another folder the project's.
    library.watch_paths().for_each(|path| paths.add_path(path));
    library.view().add_watch_paths(&mut paths);
    paths
}

/// Whether a folder of the library is on a network file system.
pub(super) fn is_on_network(library: &Library) -> bool {
    watch_paths(library).sources().any(|folder| is_remote(folder))
}

fn watcher(
    paths: &Arc<WatchPaths>,
    is_stale: &Arc<AtomicBool>,
    changes: &Arc<Changes>,
) -> Result<RecommendedWatcher, String> {
    if let Some(folder) = paths.sources().find(|folder| is_remote(folder)) {
        return Err(format!("{} is on a network file system", folder.display()));
    }
    // notify 8 panics if it cannot start its own thread.
    let trial = thread::Builder::new().spawn(|| {}).map(thread::JoinHandle::join);
    trial.map_err(|error| format!("cannot start a thread: {error}"))?.map_err(|_| "a thread failed")?;
    let (watched, stale, changes) = (Arc::clone(paths), Arc::clone(is_stale), Arc::clone(changes));
    let handler = move |event: notify::Result<Event>| {
        // After an error, events may be missing.
        let (is_relevant, moves) = event.map_or((true, true), |event| (is_relevant(&event, &watched), moves(&event)));
        if is_relevant {
            stale.fetch_or(moves, Ordering::Release);
            changes.advance();
        }
    };
    let mut watcher = notify::recommended_watcher(handler).map_err(|error| error.to_string())?;
    for path in paths.all() {
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => {}
            Err(error) if is_of_the_path(&error.kind) => is_stale.store(true, Ordering::Release),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(watcher)
}

/// Whether an event can mean a change of the library. That a file was opened or read cannot: the
/// notifier does so itself, and would wake itself forever.
fn is_relevant(event: &Event, paths: &WatchPaths) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return false,
        _ => {}
    }
    event.paths.is_empty() || event.paths.iter().any(|path| paths.is_relevant(path, may_be_folder(event.kind)))
}

/// Whether what an event is about may be a folder.
fn may_be_folder(kind: EventKind) -> bool {
    use notify::event::{CreateKind, RemoveKind};
    !matches!(
        kind,
        EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File)
            | EventKind::Modify(ModifyKind::Data(_))
            | EventKind::Access(_)
    )
}

/// Whether something was added, removed or moved.
fn moves(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)))
        || event.need_rescan()
}

/// Whether a path cannot be watched because it was removed, or may not be read (its prompts cannot be read either then).
fn is_of_the_path(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_before_the_wait_ends_it() {
        let changes = Changes::default();
        assert_eq!(changes.wait(0, Some(Duration::ZERO)), None);
        changes.advance();
        assert_eq!(changes.wait(0, None), Some(1));
        assert_eq!(changes.wait(1, Some(Duration::ZERO)), None);
    }
}
