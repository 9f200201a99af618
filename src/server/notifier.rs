//! The notifier: one thread that watches the library, and tells each listener of changes.
//!
//! Nothing is watched before a client needs it. [`Notifier::start`] registers for events before it
//! returns, so that a list that is made after it misses no change. Nothing is compared: a client is
//! notified of each change that it could see, rather once too often than late.

use crate::library::{Change, Library, Watch};
use crate::lock::lock;
use std::sync::{Arc, Mutex, Once, Weak};
use std::thread;

/// A conversation that is notified of changes: a pipe, or a stream over HTTP.
pub trait Listener: Send + Sync {
    /// Sends the notifications that [`Session::notifications`](super::Session::notifications)
    /// selects. It blocks while the client of a pipe does not read.
    fn notify(&self, change: &Change);
}

type Listeners = Mutex<Vec<Weak<dyn Listener>>>;

/// Tells listeners of changes, on a thread that starts when it is first needed.
pub(super) struct Notifier {
    library: Arc<Library>,
    listeners: Arc<Listeners>,
    start: Once,
    /// Receives a warning for a person, once.
    warn: fn(&str),
}

impl Notifier {
    pub(super) fn new(library: Arc<Library>, warn: fn(&str)) -> Notifier {
        Notifier {
            library,
            listeners: Arc::default(),
            start: Once::new(),
            warn,
        }
    }

    /// Adds a listener, which is notified of changes until it is dropped.
    pub(super) fn add(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = lock(&self.listeners);
        // Thousands may be added one after the other: those that were dropped are removed only when
        // it would have to grow.
        if listeners.len() == listeners.capacity() {
            listeners.retain(|listener| listener.strong_count() > 0);
        }
        listeners.push(Arc::downgrade(listener));
    }

    /// Notifies listeners of every change from now on.
    pub(super) fn start(&self) {
        self.start.call_once(|| {
            let watch = self.library.watch(self.warn);
            let listeners = Arc::downgrade(&self.listeners);
            let started = thread::Builder::new()
                .name("notifier".to_owned())
                .spawn(|| tell_listeners(watch, listeners));
            if let Err(error) = started {
                let warning =
                    "clients are not notified of changed prompt files: cannot start a thread";
                (self.warn)(&format!("{warning} ({error})"));
            }
        });
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.listeners = Arc::default();
        self.library.notify_changed(&Change::anything()); // the thread sees that its listeners are gone
    }
}

/// Tells the listeners of each change, until the notifier is dropped.
fn tell_listeners(mut watch: Watch, listeners: Weak<Listeners>) {
    loop {
        let change = watch.wait();
        let Some(listeners) = listeners.upgrade() else {
            return;
        };
        // They are told without the lock: a client that does not read would keep it.
        let alive: Vec<_> = lock(&listeners).iter().filter_map(Weak::upgrade).collect();
        drop(listeners);
        for listener in alive {
            listener.notify(&change);
        }
    }
}
