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

/// What is known of a burst of changes, or of one of them.
#[derive(Debug)]
struct Signal {
    change: Change,
    /// Whether something may have been added, removed or renamed.
    moves: bool,
}

/// What is known if events may be missing.
fn unknown() -> Signal {
    Signal {
        change: Change::anything(),
        moves: true,
    }
}

/// The watchers to which changes are sent.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Vec<Sender<Signal>>>);

impl Changes {
    pub(crate) fn are_watched(&self) -> bool {
        !lock(&self.0).is_empty()
    }

    pub(crate) fn tell(&self, change: &Change) {
        lock(&self.0).retain(|sender| {
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
    /// Adds what the library is made from now.
    look: Box<dyn Fn(&mut Watched) + Send>,
    warn: fn(&str),
    has_warned: bool,
    sender: Sender<Signal>,
    receiver: Receiver<Signal>,
    watched: Arc<Watched>,
    /// Sends events until it is dropped.
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
    /// Watches from when this returns. `warn` receives, once, why the system gives no events.
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

    /// Waits for a burst of changes, and for its end.
    pub fn wait(&mut self) -> Change {
        let mut burst = self.receiver.recv().unwrap_or_else(|_| unknown()); // it has a sender itself
        let started = Instant::now();
        let mut _replaced = None;
        loop {
            while started.elapsed() < LONGEST
                && let Ok(more) = self.receiver.recv_timeout(QUIET)
            {
                burst.change.add(more.change);
                burst.moves |= more.moves;
            }
            // The same path may be another folder now.
            let may_be_outdated =
                burst.moves && (!burst.change.folders.is_empty() || *self.watched != self.look());
            if !may_be_outdated {
                return burst.change;
            }
            burst.moves = false;
            // Until this burst is over, it tells what happened before there was another one.
            _replaced = self.watcher.take();
            self.register();
        }
    }

    fn look(&self) -> Watched {
        let mut watched = Watched::default();
        (self.look)(&mut watched);
        watched
    }

    /// Registers every path of the library, as it is once they are registered.
    fn register(&mut self) {
        for _ in 0..MAX_ROUNDS {
            self.watched = Arc::new(self.look());
            let watcher = match self.watched.is_on_network {
                true => {
                    Err("some are on a network file system, or on one that is not known".to_owned())
                }
                false => self.watch_with::<RecommendedWatcher>(Config::default()),
            };
            self.watcher = match watcher {
                Ok(watcher) => Some(watcher),
                Err(reason) => {
                    if !std::mem::replace(&mut self.has_warned, true) {
                        (self.warn)(&format!(
                            "the system does not report changed prompt files ({reason}); they are checked every {} milliseconds",
                            POLL.as_millis()
                        ));
                    }
                    self.watch_with::<PollWatcher>(Config::default().with_poll_interval(POLL))
                        .ok()
                }
            };
            if *self.watched == self.look() {
                return;
            }
        }
        // They change faster than they can be registered: try again, at once.
        _ = self.sender.send(unknown());
    }

    /// A watcher of every path, by events of the system or by polling.
    fn watch_with<W: Watcher + Send + 'static>(
        &self,
        config: Config,
    ) -> Result<Box<dyn Watcher + Send>, String> {
        // notify 8 panics if it cannot start its own thread.
        let trial = thread::Builder::new()
            .spawn(|| {})
            .map(thread::JoinHandle::join);
        trial
            .map_err(|error| format!("cannot start a thread: {error}"))?
            .map_err(|_| "a thread failed")?;
        let (watched, sender) = (Arc::clone(&self.watched), self.sender.clone());
        let handler = move |event: notify::Result<Event>| {
            let signal = match event {
                Ok(event) => signal(&event, &watched),
                // What cannot be polled now is looked at by the next poll. Otherwise, events may be
                // missing.
                Err(_) => (W::kind() != WatcherKind::PollWatcher).then(unknown),
            };
            _ = signal.map(|signal| sender.send(signal));
        };
        let mut watcher = W::new(handler, config).map_err(|error| error.to_string())?;
        for path in self.watched.paths() {
            match watcher.watch(path, RecursiveMode::NonRecursive) {
                Err(error) if !is_of_the_path(&error.kind) => return Err(error.to_string()),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(Box::new(watcher))
    }
}

/// What an event may mean; `None` if nothing. That a file was opened or read means nothing: this
/// program does so itself, and would never stop.
fn signal(event: &Event, watched: &Watched) -> Option<Signal> {
    if matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
    {
        return None;
    }
    // With other permissions, a folder that could not be read may have to be watched.
    let is_content = matches!(
        event.kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_))
    );
    let moves = !is_content || event.need_rescan();
    let is_file = matches!(
        event.kind,
        EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File)
            | EventKind::Modify(ModifyKind::Data(_))
            | EventKind::Access(_)
    );
    if event.paths.is_empty() {
        let change = Change::anything();
        return Some(Signal { change, moves });
    }
    let mut change: Option<Change> = None;
    for path in &event.paths {
        let event = PathEvent {
            path,
            moves,
            may_be_folder: !is_file,
        };
        if let Some(more) = watched.change(event) {
            change.get_or_insert_default().add(more);
        }
    }
    Some(Signal {
        change: change?,
        moves,
    })
}

/// Whether a path cannot be watched because it was removed, or may not be read (its prompts cannot
/// be read either then).
fn is_of_the_path(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        ),
        _ => false,
    }
}
