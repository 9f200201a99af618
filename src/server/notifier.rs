//! Notifies clients of changes: a single thread watches the library and calls the listeners.
//!
//! Watching starts when a client first needs it. [`Notifier::start`] registers for file system
//! events before it returns, so that no change to a list read afterwards is missed. Changes are not
//! compared with previous contents: a client is notified of every change it might see, rather once
//! too often than too late.

use crate::library::{Change, Library, Watch};
use crate::lock::lock;
use std::sync::{Arc, Mutex, Once, Weak};
use std::thread;

/// A conversation that is notified of changes: a pipe, WebSocket or HTTP stream.
pub trait Listener: Send + Sync {
    /// Sends the notifications that [`Session::notifications`](super::Session::notifications)
    /// returns. Blocks while the client at the other end of a pipe doesn't read.
    fn notify(&self, change: &Change);
}

type Listeners = Mutex<Vec<Weak<dyn Listener>>>;

/// Notifies listeners of changes, on a thread that is started when first needed.
pub(super) struct Notifier {
    library: Arc<Library>,
    listeners: Arc<Listeners>,
    start: Once,
    /// Shows a warning to the user. Called at most once.
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

    /// Registers a listener, which is notified of changes until it is dropped.
    pub(super) fn add(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = lock(&self.listeners);
        // There may be thousands of listeners, so remove dropped ones only when the vector would
        // have to grow.
        if listeners.len() == listeners.capacity() {
            listeners.retain(|listener| listener.strong_count() > 0);
        }
        listeners.push(Arc::downgrade(listener));
    }

    /// Starts notifying listeners of changes, unless this has already been done.
    pub(super) fn start(&self) {
        self.start.call_once(|| {
            // Watch before the thread exists, so that no change after `start` is missed.
            let watch = self.library.watch(self.warn);
            let listeners = Arc::downgrade(&self.listeners);
            let started = thread::Builder::new()
                .name("notifier".to_owned())
                .spawn(|| notify_listeners(watch, listeners));
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
        // Drop the list of listeners, then wake the thread so that it notices and exits.
        self.listeners = Arc::default();
        self.library.notify_changed(&Change::anything());
    }
}

/// Notifies the listeners of every change, until the notifier is dropped.
fn notify_listeners(mut watch: Watch, listeners: Weak<Listeners>) {
    loop {
        let change = watch.wait();
        let Some(listeners) = listeners.upgrade() else {
            return;
        };
        // Collect them first, because notifying can block on a client that doesn't read. The list
        // must be neither locked nor kept alive meanwhile.
        let alive: Vec<_> = lock(&listeners).iter().filter_map(Weak::upgrade).collect();
        drop(listeners);
        for listener in alive {
            listener.notify(&change);
        }
    }
}
