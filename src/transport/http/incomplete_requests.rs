//! Limits how many connections of one network may wait for the rest of a request.

use crate::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How many incomplete requests a network may have. If there are more, its oldest connections are
/// closed, so that a new connection can always send its request.
const MAX_PER_NETWORK: usize = 256;

/// The minimum age of a connection that is closed. After a restart of the server, many clients may
/// connect from one address at once, and their TLS handshakes take a while.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// How many incomplete requests a network may have within the [`GRACE_PERIOD`].
const MAX_PER_NETWORK_IN_GRACE: usize = 4_096;

/// The connections whose request is incomplete, oldest first, by the
/// [`network_key`](super::proxy::network_key) of their client.
#[derive(Debug, Default)]
pub(super) struct IncompleteRequests(Mutex<HashMap<u128, VecDeque<WaitingConnection>>>);

#[derive(Debug)]
struct WaitingConnection {
    /// The number of the connection.
    connection: u64,
    since: Instant,
    /// Closes the connection when it is notified.
    close: Arc<Notify>,
}

/// A request that counts as incomplete until this is dropped.
#[derive(Debug)]
pub(super) struct IncompleteRequest {
    all: Arc<IncompleteRequests>,
    network_key: u128,
    connection: u64,
}

impl IncompleteRequests {
    /// Adds a request that has begun to arrive on a connection. If its network has too many, closes
    /// the oldest connections by notifying their `close`.
    pub(super) fn add(
        self: &Arc<Self>,
        network_key: u128,
        connection: u64,
        close: &Arc<Notify>,
    ) -> IncompleteRequest {
        let mut networks = lock(&self.0);
        let waiting = networks.entry(network_key).or_default();
        waiting.push_back(WaitingConnection {
            connection,
            since: Instant::now(),
            close: Arc::clone(close),
        });
        close_excess(waiting);
        IncompleteRequest {
            all: Arc::clone(self),
            network_key,
            connection,
        }
    }

    /// Closes the connections whose grace period has ended, if their network has too many, and
    /// forgets networks without any. Call this every second.
    pub(super) fn clean_up(&self) {
        lock(&self.0).retain(|_, waiting| {
            close_excess(waiting);
            !waiting.is_empty()
        });
    }
}

/// Closes the oldest connections of a network until it has no more than it may have.
fn close_excess(waiting: &mut VecDeque<WaitingConnection>) {
    while let Some(oldest) = waiting.front()
        && waiting.len() > max_waiting(oldest.since.elapsed())
    {
        oldest.close.notify_one();
        waiting.pop_front();
    }
}

/// Returns how many incomplete requests a network may have, given the age of the oldest one.
fn max_waiting(oldest_age: Duration) -> usize {
    if oldest_age > GRACE_PERIOD {
        MAX_PER_NETWORK
    } else {
        MAX_PER_NETWORK_IN_GRACE
    }
}

impl Drop for IncompleteRequest {
    fn drop(&mut self) {
        if let Some(waiting) = lock(&self.all.0).get_mut(&self.network_key) {
            waiting.retain(|waiting| waiting.connection != self.connection);
        }
    }
}
