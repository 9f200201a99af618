//! Watches the files of a library for changes, with system events or by polling. No other module
//! uses notify.
//!
//! Only notifications to clients depend on it. What is served never does.

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

/// How often files are polled if the system reports no events.
pub const POLL_INTERVAL: Duration = Duration::from_millis(700);

/// A burst of changes ends after this long without another one.
const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// A burst of changes ends after this long even if they continue.
const MAX_BURST: Duration = Duration::from_millis(600);

/// How often to restart the watcher because new folders appeared while it was starting.
const MAX_RESTARTS: usize = 5;

/// A change, or a burst of changes, to the files of a library.
#[derive(Debug)]
struct Signal {
    /// What may have changed.
    change: Change,
    /// Whether a file or folder may have been added, removed or renamed.
    may_move: bool,
}

impl Signal {
    /// Returns a signal that anything may have changed, for when events may have been lost.
    fn anything() -> Signal {
        Signal {
            change: Change::anything(),
            may_move: true,
        }
    }

    /// Merges another change into the burst.
    fn add(&mut self, other: Signal) {
        self.change.add(other.change);
        self.may_move |= other.may_move;
    }
}

/// Forwards the program's own writes to every [`Watch`] of a library.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// One sender per watch.
    senders: Mutex<Vec<Sender<Signal>>>,
}

impl Changes {
    pub(crate) fn are_watched(&self) -> bool {
        !lock(&self.senders).is_empty()
    }

    /// Sends a change to all watches, and forgets those that were dropped.
    pub(crate) fn tell(&self, change: &Change) {
        lock(&self.senders).retain(|sender| {
            let signal = Signal {
                change: change.clone(),
                may_move: false,
            };
            sender.send(signal).is_ok()
        });
    }
}

/// Waits for changes to a library.
pub struct Watch {
    /// Adds the paths to watch, as of now.
    add_paths: Box<dyn Fn(&mut Watched) + Send>,
    /// Called at most once, with a warning that files have to be polled.
    warn: fn(&str),
    has_warned: bool,
    /// Never dropped before `receiver`, so that receiving can't fail.
    sender: Sender<Signal>,
    receiver: Receiver<Signal>,
    /// The paths that `watcher` watches.
    watched: Arc<Watched>,
    /// Sends signals until it is dropped. `None` if no watcher could be started.
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
    /// Starts to watch a library. Every change after this returns will be reported.
    ///
    /// - `add_paths` adds the paths to watch.
    /// - `changes` forwards the program's own writes.
    /// - `warn` is called at most once, with a warning that files have to be polled.
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
        watch.restart_watcher();
        watch
    }

    /// Blocks until a burst of changes is over, and returns what may have changed.
    ///
    /// If paths were added or removed, the watcher is restarted before this returns.
    pub fn wait(&mut self) -> Change {
        let first_signal = self.receiver.recv();
        // Can't fail, because `self.sender` still exists.
        let mut burst = first_signal.unwrap_or_else(|_| Signal::anything());
        let started = Instant::now();
        // Keep the old watcher until the burst is over, because it may still report events from
        // before the new one started.
        let mut _old_watcher = None;
        loop {
            while started.elapsed() < MAX_BURST
                && let Ok(signal) = self.receiver.recv_timeout(QUIET_PERIOD)
            {
                burst.add(signal);
            }
            if !self.needs_restart_after(&burst) {
                return burst.change;
            }
            burst.may_move = false; // handled by restarting the watcher
            _old_watcher = self.watcher.take();
            self.restart_watcher();
        }
    }

    /// Returns whether the watcher must be restarted after this burst, because the paths to watch
    /// may have changed. A changed folder always counts: it may have been replaced by another one
    /// at the same path.
    fn needs_restart_after(&self, burst: &Signal) -> bool {
        if !burst.may_move {
            return false;
        }
        !burst.change.folders.is_empty() || *self.watched != self.paths_to_watch()
    }

    /// Returns the paths to watch, as of now.
    fn paths_to_watch(&self) -> Watched {
        let mut watched = Watched::default();
        (self.add_paths)(&mut watched);
        watched
    }

    /// Restarts the watcher with the current paths. Repeats that while new paths appear, at most
    /// [`MAX_RESTARTS`] times.
    fn restart_watcher(&mut self) {
        for _ in 0..MAX_RESTARTS {
            self.watched = Arc::new(self.paths_to_watch()); // `start_watcher` watches these
            self.watcher = self.start_watcher();
            // Compare after the start: a path that appeared before it is not watched yet.
            if *self.watched == self.paths_to_watch() {
                return;
            }
        }
        // Paths appear faster than they can be watched. This signal makes `wait` try again. Sending
        // can't fail, because `self.receiver` still exists.
        _ = self.sender.send(Signal::anything());
    }

    /// Starts a watcher that uses system events or, if there are none, one that polls and a
    /// warning. Returns `None` if neither can be started.
    fn start_watcher(&mut self) -> Option<Box<dyn Watcher + Send>> {
        let reason = match self.watch_with_system_events() {
            Ok(watcher) => return Some(watcher),
            Err(reason) => reason,
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

    /// Starts a watcher that uses system events.
    ///
    /// # Errors
    /// Fails if the system has no events for these paths. The error is a clause for a message.
    fn watch_with_system_events(&self) -> Result<Box<dyn Watcher + Send>, String> {
        if self.watched.is_on_network {
            let reason = "some are on a network file system, or on an unknown one";
            return Err(reason.to_owned());
        }
        self.watch_with::<RecommendedWatcher>(Config::default())
    }

    /// Starts a watcher of type `W` that sends a signal for each relevant event.
    ///
    /// # Errors
    /// Fails if a path can't be watched. The error is a clause for a message.
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
                    // The path could not be read, but the next poll will retry it.
                    Err(_) if W::kind() == WatcherKind::PollWatcher => None,
                    Err(_) => Some(Signal::anything()), // events may have been lost
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

/// Returns an error if threads can't be started. notify 8 would panic in that case.
///
/// The error is a clause for a message.
fn check_that_threads_start() -> Result<(), String> {
    let test_thread = thread::Builder::new()
        .spawn(|| {})
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    test_thread.join().map_err(|_| "a thread failed".to_owned())
}

/// Translates a system event. Returns `None` if it is irrelevant. An event without paths may
/// concern anything.
fn signal_of(event: &Event, watched: &Watched) -> Option<Signal> {
    if is_read(event.kind) {
        return None;
    }
    let may_move = !is_change_of_content(event.kind) || event.need_rescan();
    if event.paths.is_empty() {
        let change = Change::anything();
        return Some(Signal { change, may_move });
    }
    let mut change: Option<Change> = None;
    for path in &event.paths {
        let path_event = PathEvent {
            path,
            may_move,
            may_be_folder: !is_about_file(event.kind),
        };
        if let Some(more) = watched.change(path_event) {
            change.get_or_insert_default().add(more);
        }
    }
    Some(Signal {
        change: change?,
        may_move,
    })
}

/// Returns whether an event means that a file was only opened or read. These must be ignored,
/// because the program itself reads files after each change, which would go on forever.
fn is_read(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// Returns whether an event means that only the contents of a file changed. Changed permissions
/// don't count, because they may make a folder readable that must now be watched.
fn is_change_of_content(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_))
    )
}

/// Returns whether the path of an event is certain to be a file, not a folder.
fn is_about_file(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File)
            | EventKind::Modify(ModifyKind::Data(_))
            | EventKind::Access(_)
    )
}

/// Returns whether a path can't be watched because it is missing or unreadable. It can be skipped,
/// because its prompts can't be read either.
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
