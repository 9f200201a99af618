//! The notifier: one thread that watches the library, and tells each listener of changes.
//!
//! Nothing is watched before a client needs it. [`Notifier::start`] registers for events before it returns, so that a list that is made
//! after it misses no change. Nothing is compared: a client hears of each change that it could see, rather once too often than late.

use crate::library::{Change, Library, Watch};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;

/// A conversation that is told of changes: a pipe, or a stream over HTTP.
pub trait Listener: Send + Sync {
    /// Sends the notifications that [`Session::notifications`](super::Session::notifications) selects. It blocks
    /// while the client of a pipe does not read.
    fn tell(&self, change: &Change);
}

/// Starts the thread once it is needed, and ends it when it is dropped.
#[derive(Debug)]
pub(super) struct Notifier {
    library: Arc<Library>,
    listeners: Arc<Listeners>,
    is_stopped: Arc<AtomicBool>,
    is_started: Mutex<bool>,
    /// Receives a warning for a person, once.
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
    pub(super) fn new(library: Arc<Library>, warn: fn(&str)) -> Notifier {
        let (listeners, is_stopped, is_started) = Default::default();
        Notifier { library, listeners, is_stopped, is_started, warn }
    }

    /// Adds a listener, which is told of changes until it is dropped.
    pub(super) fn add(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = lock(&self.listeners.0);
        // Thousands may be added one after the other: those that were dropped are removed only when it would have to grow.
        if listeners.len() == listeners.capacity() {
            listeners.retain(|listener| listener.strong_count() > 0);
        }
        listeners.push(Arc::downgrade(listener));
    }

    /// Listeners are told of every change from now on.
    pub(super) fn start(&self) {
        let mut is_started = lock(&self.is_started);
        if std::mem::replace(&mut *is_started, true) {
            return;
        }
        let listeners = Arc::clone(&self.listeners);
        let is_stopped = Arc::clone(&self.is_stopped);
        // The thread first: without it, events would be of no use.
        let (sender, receiver) = mpsc::sync_channel(1);
        let run = move || {
            if let Ok(watch) = receiver.recv() {
                run(watch, &listeners, &is_stopped);
            }
        };
        match thread::Builder::new().name("notifier".to_owned()).spawn(run) {
            Ok(_) => _ = sender.send(self.library.watch(self.warn)),
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
        self.is_stopped.store(true, Ordering::Release);
        self.library.changed(&Change::Anything);
    }
}

/// Runs until the notifier is dropped.
fn run(mut watch: Watch, listeners: &Listeners, is_stopped: &AtomicBool) {
    loop {
        let change = watch.wait();
        if is_stopped.load(Ordering::Acquire) {
            return;
        }
        let listeners: Vec<_> = lock(&listeners.0).iter().filter_map(Weak::upgrade).collect();
        listeners.iter().for_each(|listener| listener.tell(&change));
    }
}

/// A panic cannot leave this data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
