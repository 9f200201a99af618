//! How many connections one address may keep open without a complete request.

use crate::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How many connections of an IPv4 address, or of an IPv6 network (/64), may have an incomplete
/// request. If there are more, the oldest one is closed, so that a new one can always send its
/// request.
const MAX_HALF_REQUESTS: usize = 256;

/// How old a connection must be to be closed. When a server starts again, many clients with one
/// address connect at once, and their handshakes of TLS take a while.
const GRACE: Duration = Duration::from_secs(5);

/// How many connections may have an incomplete request, however new they are.
const MAX_WITH_NEW: usize = 4_096;

/// The connections whose request is not complete, the oldest first, by network.
#[derive(Debug, Default)]
pub(super) struct HalfRequests(Mutex<HashMap<u128, VecDeque<Waiting>>>);

#[derive(Debug)]
struct Waiting {
    connection: u64,
    since: Instant,
    /// Ends the connection.
    end: Arc<Notify>,
}

/// A request that counts as not complete until this is dropped.
#[derive(Debug)]
pub(super) struct HalfRequest {
    all: Arc<HalfRequests>,
    network: u128,
    connection: u64,
}

impl HalfRequests {
    /// Counts the request that has begun on a connection. Notifies the `end` of the oldest
    /// connections if the network has too many.
    pub(super) fn begin(
        self: &Arc<Self>,
        network: u128,
        connection: u64,
        end: &Arc<Notify>,
    ) -> HalfRequest {
        let mut networks = lock(&self.0);
        let waiting = networks.entry(network).or_default();
        waiting.push_back(Waiting {
            connection,
            since: Instant::now(),
            end: Arc::clone(end),
        });
        end_oldest(waiting);
        HalfRequest {
            all: Arc::clone(self),
            network,
            connection,
        }
    }

    /// Ends the oldest connections of networks that have too many, and forgets the networks that
    /// have none. To be called each second.
    pub(super) fn forget(&self) {
        lock(&self.0).retain(|_, waiting| {
            end_oldest(waiting);
            !waiting.is_empty()
        });
    }
}

/// Notifies the `end` of the oldest connections of a network that has too many.
fn end_oldest(waiting: &mut VecDeque<Waiting>) {
    while waiting.len() > MAX_HALF_REQUESTS
        && let Some(oldest) = waiting.front()
        && (waiting.len() > MAX_WITH_NEW || oldest.since.elapsed() > GRACE)
    {
        oldest.end.notify_one();
        waiting.pop_front();
    }
}

impl Drop for HalfRequest {
    fn drop(&mut self) {
        if let Some(waiting) = lock(&self.all.0).get_mut(&self.network) {
            waiting.retain(|waiting| waiting.connection != self.connection);
        }
    }
}
