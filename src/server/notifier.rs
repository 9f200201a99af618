//! The notifier: one thread that turns changes of the library into notifications for each listener.
//!
//! Nothing is watched before somebody needs it. [`Notifier::start`] registers for events before it returns, so that a list
//! that is made after it misses no change. Its thread then takes a first snapshot of the library, the baseline, and after
//! each burst of events another one; what differs is passed to the listeners. An example:
//!
//! | time | client and files | notifier |
//! |---|---|---|
//! | 0 ms | `prompts/list` | registers for events, starts its thread; the list is made and answered |
//! | 1 ms | | takes the baseline |
//! | 5 s | an editor writes a temporary file, then renames it to `a.md`: three events | the generation is 3; it waits for 100 ms without an event |
//! | 5.1 s | | takes a snapshot; the description of `a` differs: `prompts/list_changed` |
//!
//! A file that changes while the baseline is taken may be in it or not. So an event before the baseline is complete, or
//! within one [`QUIET`] after it (events arrive late), counts as a change of everything. That may announce a change that
//! was none, once, at the start; it never misses one.

use super::resources;
use super::tools::{self, ServerTool};
use crate::library::{Changes, Difference, Library, Snapshot, Watch};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// A burst of events is over after this long without one,
const QUIET: Duration = Duration::from_millis(100);

/// or when it has lasted this long.
const LONGEST_BURST: Duration = Duration::from_millis(600);

/// A conversation that is notified of changes: a pipe.
pub trait Listener: Send + Sync {
    /// Sends the notifications that [`Session::notifications`](super::Session::notifications) selects. It may block, as
    /// long as the client does not read.
    fn notify(&self, change: &Change);
}

/// What has changed in the library.
#[derive(Debug)]
pub struct Change {
    /// `None`: anything may have changed.
    difference: Option<Difference>,
    /// The library after the change.
    snapshot: Arc<Snapshot>,
    /// What the descriptions of the tools say now, where that may have changed.
    pub(super) tool_descriptions: Option<Vec<String>>,
}

impl Change {
    /// Whether `prompts/list` shows something else.
    pub(super) fn prompts(&self) -> bool {
        self.difference.as_ref().is_none_or(|difference| difference.listing)
    }

    /// Whether `resources/list` shows something else: a name, a size, a time.
    pub(super) fn resources(&self) -> bool {
        self.difference.as_ref().is_none_or(|difference| difference.listed_contents)
    }

    /// Whether the file that a URI stands for was edited, added or removed.
    pub(super) fn updates(&self, uri: &str) -> bool {
        let Some(difference) = &self.difference else { return true };
        let names = resources::names(uri);
        let is_edited = |name: &String| difference.contents.contains(name.as_str());
        match names.iter().position(|name| self.snapshot.has(name)) {
            // Until now the URI may have stood for an earlier one of its names, which was removed.
            Some(current) => names[..=current].iter().any(is_edited),
            None => names.iter().any(is_edited),
        }
    }
}

/// Starts the thread once it is needed, and ends it when it is dropped.
#[derive(Debug)]
pub(super) struct Notifier {
    library: Arc<Library>,
    tools: &'static [ServerTool],
    listeners: Arc<Listeners>,
    changes: Arc<Changes>,
    /// Whether the next look counts as a change of everything.
    is_unsure: Arc<AtomicBool>,
    is_started: Mutex<bool>,
    /// Receives what a person should know, once.
    warn: fn(&str),
}

#[derive(Default)]
struct Listeners(Mutex<Vec<Weak<dyn Listener>>>);

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listeners").field(&lock(&self.0).len()).finish()
    }
}

impl Notifier {
    pub(super) fn new(library: Arc<Library>, tools: &'static [ServerTool], warn: fn(&str)) -> Notifier {
        Notifier {
            library,
            tools,
            listeners: Arc::default(),
            changes: Arc::default(),
            is_unsure: Arc::default(),
            is_started: Mutex::new(false),
            warn,
        }
    }

    /// Adds a listener, which is notified as long as it exists.
    pub(super) fn add(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = lock(&self.listeners.0);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    pub(super) fn is_started(&self) -> bool {
        *lock(&self.is_started)
    }

    /// The same for a client that was shown lists before: anything may have changed since.
    pub(super) fn start_unsure(&self) {
        self.start();
        self.is_unsure.store(true, Ordering::Release);
        self.changes.advance();
    }

    /// Listeners are notified of every change from now on.
    pub(super) fn start(&self) {
        let mut is_started = lock(&self.is_started);
        if std::mem::replace(&mut *is_started, true) {
            return;
        }
        let (library, listeners, tools) = (Arc::clone(&self.library), Arc::clone(&self.listeners), self.tools);
        let is_unsure = Arc::clone(&self.is_unsure);
        // The thread first: without it, events would be of no use.
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let run = move || {
            if let Ok(watch) = receiver.recv() {
                run(watch, &library, tools, &listeners, &is_unsure);
            }
        };
        match thread::Builder::new().name("notifier".to_owned()).spawn(run) {
            Ok(_) => _ = sender.send(Watch::start(&self.library, &self.changes, self.warn)),
            Err(error) => {
                (self.warn)(&format!(
                    "clients are not notified of changed prompt files: cannot start a thread ({error})"
                ));
            }
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.changes.close();
    }
}

/// Runs until the notifier is dropped.
fn run(mut watch: Watch, library: &Library, tools: &[ServerTool], listeners: &Listeners, is_unsure: &AtomicBool) {
    let mut before = Arc::new(Snapshot::of(&library.view()));
    let baseline = Instant::now();
    while watch.wait_for_burst(library, QUIET, LONGEST_BURST) {
        let is_unsure = is_unsure.swap(false, Ordering::AcqRel) || watch.burst_started() < baseline + QUIET;
        watch.renew(library);
        let now = Arc::new(Snapshot::of(&library.view()));
        let difference = before.difference(&now);
        before = Arc::clone(&now);
        if !is_unsure && difference.is_empty() {
            continue;
        }
        let tool_descriptions = (is_unsure || difference.names).then(|| tools::descriptions(tools, &library.view()));
        let difference = Some(difference).filter(|_| !is_unsure);
        let change = Change { difference, snapshot: now, tool_descriptions };
        let current: Vec<_> = lock(&listeners.0).iter().filter_map(Weak::upgrade).collect();
        for listener in current {
            listener.notify(&change);
        }
    }
}

/// Nothing here is left half changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
