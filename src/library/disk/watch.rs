//! Notices that files of a library change: by events of the system, or else by polling. The only
//! file that names notify.
//!
//! Nothing that is served depends on it: it only tells clients to ask again.

use super::watched::{Change, PathEvent, Watched};
use crate::lock::lock;
use notify::event::{AccessKind, AccessMode, CreateKind, Event, EventKind, ModifyKind, RemoveKind};
use notify::{
    Config, ErrorKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher, WatcherKind,
};
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How often files are polled where the system sends no events.
pub const POLL_INTERVAL: Duration = Duration::from_millis(700);

/// A burst of changes is over after this long without one.
const QUIET: Duration = Duration::from_millis(100);

/// A burst is over after this long even if changes keep coming.
const LONGEST: Duration = Duration::from_millis(600);

/// How often the folders are registered again because others were added meanwhile.
const MAX_ROUNDS: usize = 5;

/// One change, or a burst of changes, of the files of a library.
#[derive(Debug)]
struct Signal {
    /// The prompts that may have changed.
    change: Change,
    /// Whether a file or folder may have been added, removed or renamed.
    moves: bool,
}

impl Signal {
    /// Returns the signal that anything may have changed, for when events may be missing.
    fn anything() -> Signal {
        Signal {
            change: Change::anything(),
            moves: true,
        }
    }

    /// Adds another change to the burst.
    fn add(&mut self, other: Signal) {
        self.change.add(other.change);
        self.moves |= other.moves;
    }
}

/// The watches of a library, which are told of the changes that the program makes itself.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// One sender for each watch.
    senders: Mutex<Vec<Sender<Signal>>>,
}

impl Changes {
    pub(crate) fn are_watched(&self) -> bool {
        !lock(&self.senders).is_empty()
    }

    /// Tells all watches of a change. A watch that was dropped is removed.
    pub(crate) fn tell(&self, change: &Change) {
        lock(&self.senders).retain(|sender| {
            let signal = Signal {
                change: change.clone(),
                moves: false,
            };
            sender.send(signal).is_ok()
        });
    }
}

/// Waits for changes of a library.
pub struct Watch {
    /// Adds the files and folders to watch, as the library has them now.
    add_paths: Box<dyn Fn(&mut Watched) + Send>,
    /// Gets the warning that files have to be polled, at most once.
    warn: fn(&str),
    has_warned: bool,
    sender: Sender<Signal>,
    receiver: Receiver<Signal>,
    /// What the watcher watches.
    watched: Arc<Watched>,
    /// Sends signals until it is dropped.
    watcher: Option<Box<dyn Watcher + Send>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Starts to watch the files of a library. No change after the return is missed.
    ///
    /// `add_paths` adds the files and folders to watch. `changes` tells this watch of changes that
    /// the program makes itself. `warn` gets a warning, at most once, if files have to be polled.
    pub(crate) fn start(
        add_paths: Box<dyn Fn(&mut Watched) + Send>,
        changes: &Changes,
        warn: fn(&str),
    ) -> Watch {
        let (sender, receiver) = channel();
        lock(&changes.senders).push(sender.clone());
        let mut watch = Watch {
            add_paths,
            warn,
            has_warned: false,
            sender,
            receiver,
            watched: Arc::default(),
            watcher: None,
        };
        watch.register();
        watch
    }

    /// Waits for a burst of changes and its end, and returns what may have changed.
    ///
    /// If the changes have added or removed paths, the paths of the library are watched anew before
    /// this returns.
    pub fn wait(&mut self) -> Change {
        let first_signal = self.receiver.recv();
        // It cannot fail, because `self.sender` is one of the senders.
        let mut burst = first_signal.unwrap_or_else(|_| Signal::anything());
        let started = Instant::now();
        // The old watcher is kept until the burst is over: it still reports events from before the
        // new one was started.
        let mut _old_watcher = None;
        loop {
            while started.elapsed() < LONGEST
                && let Ok(signal) = self.receiver.recv_timeout(QUIET)
            {
                burst.add(signal);
            }
            if !self.is_outdated_after(&burst) {
                return burst.change;
            }
            burst.moves = false;
            _old_watcher = self.watcher.take();
            self.register();
        }
    }

    /// Returns whether the watcher may have to watch other paths after these changes. If a folder
    /// has changed, another one may have taken its path, which has to be watched anew.
    fn is_outdated_after(&self, burst: &Signal) -> bool {
        if !burst.moves {
            return false;
        }
        !burst.change.folders.is_empty() || *self.watched != self.paths_to_watch()
    }

    /// Returns the files and folders to watch, as the library has them now.
    fn paths_to_watch(&self) -> Watched {
        let mut watched = Watched::default();
        (self.add_paths)(&mut watched);
        watched
    }

    /// Starts a watcher of every path of the library. Meanwhile, paths may have been added, so this
    /// is repeated until all are watched, up to [`MAX_ROUNDS`] times.
    fn register(&mut self) {
        for _ in 0..MAX_ROUNDS {
            self.watched = Arc::new(self.paths_to_watch());
            self.watcher = self.start_watcher();
            if *self.watched == self.paths_to_watch() {
                return;
            }
        }
        // Paths are added faster than they can be watched. This signal makes `wait` register again.
        // It cannot fail, because `self` has the receiver.
        _ = self.sender.send(Signal::anything());
    }

    /// Starts a watcher of every path that gets events of the system. If there are no such events,
    /// it warns, once, and starts a watcher that polls the paths. Returns `None` if that fails,
    /// too.
    fn start_watcher(&mut self) -> Option<Box<dyn Watcher + Send>> {
        let reason = if self.watched.is_on_network {
            "some are on a network file system, or on one that is not known".to_owned()
        } else {
            match self.watch_with::<RecommendedWatcher>(Config::default()) {
                Ok(watcher) => return Some(watcher),
                Err(reason) => reason,
            }
        };
        if !self.has_warned {
            self.has_warned = true;
            (self.warn)(&format!(
                "the system does not report changed prompt files ({reason}); they are checked every {} milliseconds",
                POLL_INTERVAL.as_millis()
            ));
        }
        self.watch_with::<PollWatcher>(Config::default().with_poll_interval(POLL_INTERVAL))
            .ok()
    }

    /// Starts a watcher of the type `W` of every path. It sends a signal for each change.
    ///
    /// # Errors
    /// The system cannot watch a path. The error is the reason, as a clause for a message.
    fn watch_with<W: Watcher + Send + 'static>(
        &self,
        config: Config,
    ) -> Result<Box<dyn Watcher + Send>, String> {
        check_that_threads_start()?;
        let watched = Arc::clone(&self.watched);
        let sender = self.sender.clone();
        let started = W::new(
            move |event: notify::Result<Event>| {
                let signal = match event {
                    Ok(event) => signal_of(&event, &watched),
                    // The next poll tries again to read what could not be read.
                    Err(_) if W::kind() == WatcherKind::PollWatcher => None,
                    Err(_) => Some(Signal::anything()), // events may be missing
                };
                if let Some(signal) = signal {
                    _ = sender.send(signal); // fails if the watch was dropped
                }
            },
            config,
        );
        let mut watcher = started.map_err(|error| error.to_string())?;
        for path in self.watched.paths() {
            if let Err(error) = watcher.watch(path, RecursiveMode::NonRecursive)
                && !is_missing_or_forbidden(&error.kind)
            {
                return Err(error.to_string());
            }
        }
        Ok(Box::new(watcher))
    }
}

/// Checks that a thread can be started, because notify 8 panics if it cannot start its own.
///
/// # Errors
/// The reason, as a clause for a message.
fn check_that_threads_start() -> Result<(), String> {
    let thread = thread::Builder::new()
        .spawn(|| {})
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    thread.join().map_err(|_| "a thread failed".to_owned())
}

/// Returns what may have changed after an event of the system; `None` if nothing has changed. An
/// event without a path may concern anything.
fn signal_of(event: &Event, watched: &Watched) -> Option<Signal> {
    if is_read(event.kind) {
        return None;
    }
    let moves = !is_change_of_content(event.kind) || event.need_rescan();
    if event.paths.is_empty() {
        let change = Change::anything();
        return Some(Signal { change, moves });
    }
    let mut change: Option<Change> = None;
    for path in &event.paths {
        let path_event = PathEvent {
            path,
            moves,
            may_be_folder: !is_about_file(event.kind),
        };
        if let Some(more) = watched.change(path_event) {
            change.get_or_insert_default().add(more);
        }
    }
    Some(Signal {
        change: change?,
        moves,
    })
}

/// Returns whether an event means that a file was only opened or read. If that counted as a change,
/// this program, which reads the files after each change, would cause one change after the other.
fn is_read(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// Returns whether an event means that only the content of a file has changed. A change of
/// permissions is more than that: a folder that could not be read may have to be watched now.
fn is_change_of_content(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_))
    )
}

/// Returns whether an event is certainly about a file, and not about a folder.
fn is_about_file(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File)
            | EventKind::Modify(ModifyKind::Data(_))
            | EventKind::Access(_)
    )
}

/// Returns whether a path cannot be watched because it was removed, or may not be read. Such a path
/// can be left out, because its prompts cannot be read either.
fn is_missing_or_forbidden(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        ),
        _ => false,
    }
}
