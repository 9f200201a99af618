//! Tells when a library changes: a thread that waits for news of the file system and, once a burst of it is over, says
//! what has changed. The only file that names notify.
//!
//! Nothing that is served depends on it. News only makes the thread look; what it tells comes of two looks at the
//! files. Where the system gives no news, the thread looks at the times of the files again and again.

use super::Library;
use super::cache::is_remote;
use super::places::Places;
use super::snapshot::{Changes, Snapshot};
use notify::event::{AccessKind, AccessMode, Event, EventKind, ModifyKind};
use notify::{Error, ErrorKind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A burst is over when nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(100);

/// or when it has lasted this long.
const LONGEST_BURST: Duration = Duration::from_millis(600);

/// How often the files are looked at where the system gives no news.
pub const POLL: Duration = Duration::from_millis(700);

/// How often the folders are gone through again because others have come meanwhile.
const MAX_ROUNDS: usize = 5;

/// What the thread calls.
pub struct Hooks {
    /// There are changes to be taken.
    pub wake: Box<dyn Fn() + Send>,
    /// What a person should know, said once.
    pub warn: fn(&str),
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// A library that is watched, as long as the process lives.
#[derive(Debug)]
pub struct Watch(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether every change from now on will be told.
    is_ready: bool,
    /// What has not been taken yet.
    changes: Changes,
    /// Whether news is received.
    is_listening: bool,
    /// Whether there was any.
    has_news: bool,
    /// Whether something was served before the watch was ready.
    has_served: bool,
    /// Whether that was before news was received.
    has_served_unheard: bool,
}

impl State {
    /// What is served before the first look may be something else by then.
    fn serve(&mut self) {
        if !self.is_ready {
            self.has_served = true;
            self.has_served_unheard |= !self.is_listening;
        }
    }

    /// The first look is over.
    fn begin(&mut self) -> Changes {
        self.is_ready = true;
        let unsure = self.has_served_unheard || (self.has_served && self.has_news);
        Changes { begun: true, unsure, ..Changes::default() }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, changes: Changes, hooks: &Hooks) {
        if !changes.is_empty() {
            self.lock().changes.add(changes);
            (hooks.wake)();
        }
    }

    fn become_ready(&self) {
        self.lock().is_ready = true;
        self.ready.notify_all();
    }
}

impl Watch {
    /// Begins to watch, in a thread. The hook `wake` is called once when the watch is ready, and after each burst of
    /// changes. `has_served`: somebody who will be told of changes has been served before.
    pub fn start(library: Arc<Library>, hooks: Hooks, has_served: bool) -> Watch {
        let shared = Arc::new(Shared::default());
        if has_served {
            shared.lock().serve();
        }
        let (of_thread, warn) = (Arc::clone(&shared), hooks.warn);
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let _ready = ReadyAtTheEnd(&of_thread, &hooks);
            run(&library, &of_thread, &hooks);
        });
        if let Err(error) = thread {
            warn(&format!("clients are not told of changed prompt files: no thread could be started ({error})"));
            shared.become_ready();
        }
        Watch(shared)
    }

    /// To be called before something is read that a client compares with what it is told.
    pub fn will_serve(&self) {
        self.0.lock().serve();
    }

    /// Waits, but not longer than this, until every change from now on will be told.
    pub fn wait_until_ready(&self, patience: Duration) {
        let waiting = self.0.ready.wait_timeout_while(self.0.lock(), patience, |state| !state.is_ready);
        drop(waiting.unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether every change from now on will be told.
    pub fn is_ready(&self) -> bool {
        self.0.lock().is_ready
    }

    /// What has changed since this was asked last.
    pub fn take_changes(&self) -> Changes {
        std::mem::take(&mut self.0.lock().changes)
    }
}

/// Nobody waits for a thread that has come to grief.
struct ReadyAtTheEnd<'s>(&'s Shared, &'s Hooks);

impl Drop for ReadyAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.become_ready();
        (self.1.wake)();
    }
}

fn run(library: &Library, shared: &Arc<Shared>, hooks: &Hooks) {
    let (sender, burst) = sync_channel(1);
    let mut observer = Observer::new(library, shared, sender, hooks.warn);
    shared.lock().is_listening = true;
    let mut before = Snapshot::of(&library.view());
    let begun = shared.lock().begin();
    shared.ready.notify_all();
    shared.tell(begun, hooks);
    loop {
        observer.wait_for_a_burst(library, &burst);
        observer.renew(library);
        let now = Snapshot::of(&library.view());
        let changes = before.changes(&now);
        before = now;
        shared.tell(changes, hooks);
    }
}

/// Where news comes from.
struct Observer {
    kind: Kind,
    shared: Arc<Shared>,
    sender: SyncSender<()>,
    warn: fn(&str),
}

enum Kind {
    /// The system gives it.
    Watcher {
        /// Gives it as long as it lives.
        _watcher: RecommendedWatcher,
        places: Arc<Places>,
        /// Whether what is watched under a path may be something else now, or could not be watched.
        is_outdated: Arc<AtomicBool>,
    },
    /// We look ourselves; this is what we saw last.
    Poll(u64),
}

impl Observer {
    fn new(library: &Library, shared: &Arc<Shared>, sender: SyncSender<()>, warn: fn(&str)) -> Observer {
        let mut observer = Observer { kind: Kind::Poll(0), shared: Arc::clone(shared), sender, warn };
        observer.kind = observer.watcher_or_poll(library);
        observer
    }

    /// Waits for the end of a burst.
    fn wait_for_a_burst(&mut self, library: &Library, burst: &Receiver<()>) {
        match &mut self.kind {
            Kind::Watcher { .. } => {
                _ = burst.recv(); // it cannot fail: we hold a sender
                let end = Instant::now() + LONGEST_BURST;
                while Instant::now() < end && burst.recv_timeout(QUIET).is_ok() {}
            }
            Kind::Poll(seen) => loop {
                std::thread::sleep(POLL);
                let now = library.view().hash_stamps();
                if now != Some(*seen) {
                    *seen = now.unwrap_or_default();
                    return;
                }
            },
        }
    }

    /// Watches other places, if there are others, or others may be there under the same paths.
    fn renew(&mut self, library: &Library) {
        if let Kind::Watcher { is_outdated, places, .. } = &self.kind
            && (is_outdated.load(Ordering::Acquire) || **places != places_of(library))
        {
            self.kind = self.watcher_or_poll(library);
        }
    }

    fn watcher_or_poll(&self, library: &Library) -> Kind {
        self.watcher(library).unwrap_or_else(|reason| {
            (self.warn)(&format!(
                "the system does not tell of changed prompt files ({reason}); they are looked at every {} milliseconds",
                POLL.as_millis()
            ));
            Kind::Poll(library.view().hash_stamps().unwrap_or_default())
        })
    }

    /// A watcher of every place of the library, as it is after the watcher has begun.
    fn watcher(&self, library: &Library) -> Result<Kind, String> {
        let mut rounds = 1;
        loop {
            let places = Arc::new(places_of(library));
            let is_outdated = Arc::new(AtomicBool::new(false));
            let watcher = self.watcher_of(&places, &is_outdated)?;
            let is_current = *places == places_of(library);
            if !is_current && rounds < MAX_ROUNDS {
                rounds += 1;
                continue;
            }
            if !is_current {
                // The folders change faster than they can be watched: the next look, which is due at once, tries again.
                is_outdated.store(true, Ordering::Release);
                _ = self.sender.try_send(());
            }
            return Ok(Kind::Watcher { _watcher: watcher, places, is_outdated });
        }
    }

    fn watcher_of(&self, places: &Arc<Places>, is_outdated: &Arc<AtomicBool>) -> Result<RecommendedWatcher, String> {
        if let Some(folder) = places.sources().find(|folder| is_remote(folder)) {
            return Err(format!("{} is on a network file system", folder.display()));
        }
        let (of_handler, outdated) = (Arc::clone(places), Arc::clone(is_outdated));
        let (sender, shared) = (self.sender.clone(), Arc::clone(&self.shared));
        let handler = move |news: notify::Result<Event>| {
            // An error is news too: something was lost.
            let (matters, moves) = news.map_or((true, true), |news| (matters(&news, &of_handler), moves(&news)));
            if matters {
                outdated.fetch_or(moves, Ordering::Release);
                shared.lock().has_news = true;
                _ = sender.try_send(()); // one is enough
            }
        };
        // Not that files are opened and read: we do so ourselves.
        let kinds = EventKindMask::CORE | EventKindMask::ACCESS_CLOSE;
        let config = notify::Config::default().with_event_kinds(kinds);
        let mut watcher = RecommendedWatcher::new(handler, config).map_err(|error| error.to_string())?;
        for place in places.all() {
            match watcher.watch(place, RecursiveMode::NonRecursive) {
                Ok(()) => {}
                Err(error) if is_of_the_place(&error.kind) => is_outdated.store(true, Ordering::Release),
                // Its own thread could not be started. It cannot be dropped either: it would want to tell that thread.
                Err(Error { kind: ErrorKind::Generic(_), .. }) if cfg!(target_os = "linux") => {
                    std::mem::forget(watcher);
                    return Err("no thread could be started".to_owned());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(watcher)
    }
}

fn places_of(library: &Library) -> Places {
    Places::of(library.view().folders(), library.watch_paths())
}

/// Whether news can change what the library shows. That a file was read cannot: we do so ourselves.
fn matters(news: &Event, places: &Places) -> bool {
    let written = AccessKind::Close(AccessMode::Write);
    let is_reading = matches!(news.kind, EventKind::Access(access) if access != written);
    !is_reading && (news.paths.is_empty() || news.paths.iter().any(|path| places.matter(path)))
}

/// Whether something has come, gone or moved.
fn moves(news: &Event) -> bool {
    !matches!(news.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)))
        || news.need_rescan()
}

/// Whether a folder cannot be watched because it has gone, or may not be read (nor may we look into it then).
fn is_of_the_place(error: &ErrorKind) -> bool {
    let is_of_the_place = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => is_of_the_place(error.kind()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_before_the_first_look_is_over_is_told_of_only_if_there_was_news_or_nobody_listened() {
        for (served, is_listening, has_news, unsure) in [
            (false, true, true, false),
            (true, true, false, false),
            (true, true, true, true),
            (true, false, false, true),
        ] {
            let mut state = State { is_listening, ..State::default() };
            if served {
                state.serve();
            }
            (state.is_listening, state.has_news) = (true, has_news);
            let begun = state.begin();
            assert_eq!((begun.begun, begun.unsure), (true, unsure), "{served} {is_listening} {has_news}");
        }
    }
}
