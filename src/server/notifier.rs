//! The notifier: one thread that turns changes of the library into notifications for each listener.
//!
//! Nothing is watched before a client needs it. [`Notifier::start`] registers for events before it returns, so that a list
//! that is made after it misses no change. Its thread then takes a first snapshot of the library, the baseline, and after
//! each burst of events another one; the differences are passed to the listeners. An example:
//!
//! | time | client and files | notifier |
//! |---|---|---|
//! | 0 ms | `prompts/list` | registers for events, starts its thread; the list is made and answered |
//! | 1 ms | | takes the baseline |
//! | 5 s | an editor writes a temporary file, then renames it to `a.md`: three events | the generation is 3; it waits for 100 ms without an event |
//! | 5.1 s | | takes a snapshot; the hash of the list of prompts differs from the one that the client was shown: `prompts/list_changed` |
//!
//! A session remembers a hash of each list that its client was shown, and of each file that it subscribed to, and is notified
//! when the snapshot has another one. That is exact, whatever happened in between. A list that was not shown, or only a page
//! of it, is compared with the last snapshot instead. Two things that this comparison cannot show count as a change of that
//! list, which may announce a change that was none, but never misses one:
//! - an event before the baseline is complete, or within one [`QUIET`] after it, because events arrive late: the file may
//!   have changed before or after it was read for the baseline;
//! - an event of a burst during which the client was shown a page: it may be of a state between the snapshots.

use super::{may_edit, tools};
use crate::library::{Caller, Library, Prefix, Snapshot, Watch};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A burst of events is over after this long without one.
const QUIET: Duration = Duration::from_millis(100);

/// A burst is over after this long even if events keep coming.
const LONGEST_BURST: Duration = Duration::from_millis(600);

/// A conversation that is notified of changes: a pipe, or a stream over HTTP.
pub trait Listener: Send + Sync {
    /// Sends the notifications that [`Session::notifications`](super::Session::notifications) selects. It blocks
    /// while the client of a pipe does not read.
    fn notify(&self, change: &Change);
}

/// What a burst of events has changed in the library.
#[derive(Debug, Clone)]
pub struct Change {
    /// `None` if anything may have changed since.
    before: Option<Arc<Look>>,
    now: Arc<Look>,
    burst_started: Instant,
}

/// What the library shows at one moment.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) lists: ListHashes,
    pub(super) snapshot: Snapshot,
    /// Whether the user of this machine may edit prompts.
    edit: bool,
    /// The same for those who see only a part of it, by their prefix and whether they may edit prompts; made when the first of
    /// them needs it.
    restricted: Mutex<RestrictedLooks>,
}

type RestrictedLooks = BTreeMap<(Option<Prefix>, bool), Arc<Look>>;

/// A hash of each list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListHashes {
    /// Of the tools' descriptions, which name the commands.
    pub(super) tools: u64,
    pub(super) prompts: u64,
    pub(super) resources: u64,
}

impl Change {
    /// What the caller sees now.
    pub(super) fn now(&self, caller: &Caller) -> Arc<Look> {
        self.now.restricted_to(caller)
    }

    /// What the caller saw before it, for a client that was last shown a page of a list at this time; `None` if unknown.
    pub(super) fn before(&self, caller: &Caller, shown: Option<Instant>) -> Option<Arc<Look>> {
        let was_shown_meanwhile = shown.is_some_and(|shown| shown + QUIET >= self.burst_started);
        self.before.as_ref().filter(|_| !was_shown_meanwhile).map(|before| before.restricted_to(caller))
    }
}

impl Look {
    fn new(snapshot: Snapshot, edit: bool) -> Look {
        let lists = ListHashes {
            tools: tools::descriptions_hash(&snapshot.names()),
            prompts: snapshot.listing_hash(),
            resources: snapshot.contents_hash(),
        };
        Look { lists, snapshot, edit, restricted: Mutex::default() }
    }

    fn restricted_to(self: &Arc<Self>, caller: &Caller) -> Arc<Look> {
        let (prefix, may_edit) = (caller.prefix.as_ref(), may_edit(self.edit, caller));
        if prefix.is_none() && may_edit {
            return Arc::clone(self);
        }
        let mut restricted = lock(&self.restricted);
        let look = || Arc::new(Look::new(self.snapshot.restricted_to(prefix, may_edit), self.edit));
        Arc::clone(restricted.entry((prefix.cloned(), may_edit)).or_insert_with(look))
    }
}

/// Starts the thread once it is needed, and ends it when it is dropped.
#[derive(Debug)]
pub(super) struct Notifier {
    library: Arc<Library>,
    /// Whether the user of this machine may edit prompts.
    edit: bool,
    shared: Arc<Shared>,
    is_started: Mutex<bool>,
    /// Receives a warning for a person, once.
    warn: fn(&str),
}

/// What the thread shares with the notifier.
#[derive(Debug, Default)]
struct Shared {
    listeners: Listeners,
    /// The next snapshot counts as a change of everything.
    announce_everything: AtomicBool,
    is_stopped: AtomicBool,
}

#[derive(Default)]
struct Listeners(Mutex<Vec<Weak<dyn Listener>>>);

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listeners").field(&lock(&self.0).len()).finish()
    }
}

impl Notifier {
    pub(super) fn new(library: Arc<Library>, edit: bool, warn: fn(&str)) -> Notifier {
        Notifier { library, edit, shared: Arc::default(), is_started: Mutex::new(false), warn }
    }

    /// Adds a listener, which is notified until it is dropped.
    pub(super) fn add(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = lock(&self.shared.listeners.0);
        // Thousands may be added one after the other: those that were dropped are removed only when it would have to grow.
        if listeners.len() == listeners.capacity() {
            listeners.retain(|listener| listener.strong_count() > 0);
        }
        listeners.push(Arc::downgrade(listener));
    }

    /// The same as [`Notifier::start`] for a client that was shown lists before: anything may have changed since.
    pub(super) fn start_and_announce_everything(&self) {
        self.start();
        self.shared.announce_everything.store(true, Ordering::Release);
        self.library.changes().advance();
    }

    /// Listeners are notified of every change from now on.
    pub(super) fn start(&self) {
        let mut is_started = lock(&self.is_started);
        if *is_started {
            return;
        }
        let (library, shared, edit) = (Arc::clone(&self.library), Arc::clone(&self.shared), self.edit);
        // The thread first: without it, events would be of no use.
        let (sender, receiver) = mpsc::sync_channel(1);
        let run = move || {
            if let Ok(watch) = receiver.recv() {
                run(watch, &library, edit, &shared);
            }
        };
        match thread::Builder::new().name("notifier".to_owned()).spawn(run) {
            Ok(_) => _ = sender.send(Watch::start(&self.library, self.warn)),
            Err(error) => {
                (self.warn)(&format!(
                    "clients are not notified of changed prompt files: cannot start a thread ({error})"
                ));
            }
        }
        *is_started = true;
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Release);
        self.library.changes().advance();
    }
}

/// Runs until the notifier is dropped.
fn run(mut watch: Watch, library: &Library, edit: bool, shared: &Shared) {
    let look = || Arc::new(Look::new(Snapshot::of(&library.view().for_editing(true)), edit));
    // A bug must not end the notifications: after a panic, anything may have changed.
    let mut before = catch_unwind(AssertUnwindSafe(look)).ok();
    let baseline = Instant::now();
    loop {
        let burst_started = watch.wait_for_burst(library, QUIET, LONGEST_BURST);
        if shared.is_stopped.load(Ordering::Acquire) {
            return;
        }
        if shared.announce_everything.swap(false, Ordering::AcqRel) || burst_started < baseline + QUIET {
            before = None;
        }
        let renew_and_look = AssertUnwindSafe(|| {
            watch.renew(library);
            look()
        });
        let Ok(now) = catch_unwind(renew_and_look) else {
            tracing::error!("looking for changed prompt files failed because of a bug");
            before = None;
            continue;
        };
        let change = Change { before: before.replace(Arc::clone(&now)), now, burst_started };
        let listeners: Vec<_> = lock(&shared.listeners.0).iter().filter_map(Weak::upgrade).collect();
        for listener in listeners {
            listener.notify(&change);
        }
    }
}

/// A panic cannot leave this data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
