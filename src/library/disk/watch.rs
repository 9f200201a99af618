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
pub const POLL: Duration = Duration::from_millis(700);

/// A burst of changes is over after this long without one.
const QUIET: Duration = Duration::from_millis(100);

/// A burst is over after this long even if changes keep coming.
const LONGEST: Duration = Duration::from_millis(600);

/// How often the folders are registered again because others were added meanwhile.
const MAX_ROUNDS: usize = 5;

/// What is known of one change, or of a burst of changes.
#[derive(Debug)]
struct Signal {
    /// The prompts that may have changed.
    change: Change,
    /// Whether a file or folder may have been added, removed or renamed.
    moves: bool,
}

impl Signal {
    /// Returns the signal for when events may be missing: anything may have changed.
    fn anything() -> Signal {
        Signal {
            change: Change::anything(),
            moves: true,
        }
    }

    fn add(&mut self, other: Signal) {
        self.change.add(other.change);
        self.moves |= other.moves;
    }
}

/// The watches of a library, which are told of changes that the program makes itself.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Vec<Sender<Signal>>>);

impl Changes {
    pub(crate) fn are_watched(&self) -> bool {
        !lock(&self.0).is_empty()
    }

    /// Tells all watches of a change.
    pub(crate) fn tell(&self, change: &Change) {
        lock(&self.0).retain(|sender| {
            let signal = Signal {
                change: change.clone(),
                moves: false,
            };
            sender.send(signal).is_ok() // a watch that was dropped is forgotten
        });
    }
}

/// Waits for changes of a library.
pub struct Watch {
    /// Adds the files and folders that the library is made from now.
    look: Box<dyn Fn(&mut Watched) + Send>,
    /// Receives, once, why the system sends no events.
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
    /// Starts to watch: no change after the return is missed. `look` adds the files and folders to
    /// watch, `changes` will tell this watch of changes that the program makes itself, and `warn`
    /// is called at most once, if files have to be polled.
    pub(crate) fn start(
        look: Box<dyn Fn(&mut Watched) + Send>,
        changes: &Changes,
        warn: fn(&str),
    ) -> Watch {
        let (sender, receiver) = channel();
        lock(&changes.0).push(sender.clone());
        let mut watch = Watch {
            look,
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
    pub fn wait(&mut self) -> Change {
        // It cannot fail, because `self.sender` is one of the senders.
        let first = self.receiver.recv();
        let mut burst = first.unwrap_or_else(|_| Signal::anything());
        let started = Instant::now();
        // The old watcher is kept until the burst is over: it still reports events from before the
        // new one was started.
        let mut _old_watcher = None;
        loop {
            while started.elapsed() < LONGEST
                && let Ok(more) = self.receiver.recv_timeout(QUIET)
            {
                burst.add(more);
            }
            if !self.is_outdated_after(&burst) {
                return burst.change;
            }
            burst.moves = false;
            _old_watcher = self.watcher.take();
            self.register();
        }
    }

    /// Returns whether other paths may have to be watched after these changes. A path that was
    /// watched may be another folder now.
    fn is_outdated_after(&self, burst: &Signal) -> bool {
        burst.moves && (!burst.change.folders.is_empty() || *self.watched != self.look())
    }

    fn look(&self) -> Watched {
        let mut watched = Watched::default();
        (self.look)(&mut watched);
        watched
    }

    /// Starts a watcher of every path of the library. While that takes place, paths may be added,
    /// so it is repeated until all are watched.
    fn register(&mut self) {
        for _ in 0..MAX_ROUNDS {
            self.watched = Arc::new(self.look());
            self.watcher = self.start_watcher();
            if *self.watched == self.look() {
                return;
            }
        }
        // Paths are added faster than they can be watched. Try again at once.
        _ = self.sender.send(Signal::anything());
    }

    /// Returns a watcher by events of the system, or else, after a warning, one that polls.
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
                POLL.as_millis()
            ));
        }
        self.watch_with::<PollWatcher>(Config::default().with_poll_interval(POLL))
            .ok()
    }

    /// Starts a watcher of every path.
    ///
    /// # Errors
    /// The reason why the system cannot watch them.
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
                    Ok(event) => signal(&event, &watched),
                    // The next poll looks again at what could not be polled.
                    Err(_) if W::kind() == WatcherKind::PollWatcher => None,
                    Err(_) => Some(Signal::anything()), // events may be missing
                };
                if let Some(signal) = signal {
                    _ = sender.send(signal);
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
fn check_that_threads_start() -> Result<(), String> {
    let thread = thread::Builder::new()
        .spawn(|| {})
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    thread.join().map_err(|_| "a thread failed".to_owned())
}

/// Returns what an event may mean, or `None` if nothing has changed.
fn signal(event: &Event, watched: &Watched) -> Option<Signal> {
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

/// Returns whether a file was opened or read. This program does so itself when it looks for
/// changes, and would never stop if that counted as a change.
fn is_read(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// Returns whether only the content of a file changed. Other permissions are more than that: a
/// folder that could not be read may have to be watched now.
fn is_change_of_content(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_))
    )
}

/// Returns whether an event is about a file, not about a folder.
fn is_about_file(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File)
            | EventKind::Modify(ModifyKind::Data(_))
            | EventKind::Access(_)
    )
}

/// Returns whether a path cannot be watched because it was removed, or may not be read. Its prompts
/// cannot be read either then.
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
