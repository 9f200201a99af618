//! What the user's processes know about the team's server: when they got the list of prompts from
//! it, when it failed, and which names it didn't know.

use crate::prompt::{Diagnostic, Revision};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// For how long the server isn't asked again for a name that it doesn't know, in seconds.
const UNKNOWN_NAME_SECONDS: u64 = 5;

/// The maximum number of names that are remembered as unknown. A person or an agent calls fewer in
/// [`UNKNOWN_NAME_SECONDS`].
const MAX_UNKNOWN_NAMES: usize = 100;

/// What the user's processes know about the server. Times are in seconds since the Unix epoch, and
/// 0 stands for "never", as in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ServerState {
    /// When the list was last up to date. Use [`ServerState::has_cached_list`] to test for 0.
    #[serde(rename = "listed")]
    listed_at: u64,
    /// When the server last failed, or 0 if it has replied since. Use [`ServerState::has_failed`]
    /// to test for 0.
    #[serde(rename = "failed")]
    failed_at: u64,
    /// For how many seconds nobody asks the server after the last failure.
    #[serde(rename = "pause")]
    backoff_seconds: u64,
    /// The message of the last failure.
    #[serde(rename = "why")]
    failure: String,
    /// The hash of the token that the server last accepted.
    #[serde(rename = "token")]
    pub(super) accepted_token: Option<Revision>,
    /// The names that the server didn't know, and when it was asked for them.
    #[serde(rename = "unknown")]
    unknown_names: BTreeMap<String, u64>,
}

// What is known.
impl ServerState {
    /// Returns whether a list is cached.
    pub(super) fn has_cached_list(&self) -> bool {
        self.listed_at > 0
    }

    /// Returns whether the cached list is at least this old, or missing.
    pub(super) fn is_list_older_than(&self, seconds: u64) -> bool {
        // A missing list counts as one of 1970.
        seconds_since(self.listed_at) >= seconds
    }

    /// Returns whether the server failed, and hasn't replied since.
    pub(super) fn has_failed(&self) -> bool {
        self.failed_at > 0
    }

    /// If the server failed so recently that it shouldn't be asked again, returns its failure, e.g.
    /// "the team's server did not answer in time (12 s ago)".
    pub(super) fn recent_failure(&self) -> Option<String> {
        let seconds = seconds_since(self.failed_at);
        if self.has_failed() && seconds < self.backoff_seconds {
            Some(format!("{} ({seconds} s ago)", self.failure))
        } else {
            None
        }
    }

    /// Returns a message that says why the server doesn't reply and how old the cached list is.
    /// Returns `None` if the server replies, or if there is no list.
    pub(super) fn outage_message(&self) -> Option<String> {
        if !self.has_failed() || !self.has_cached_list() {
            return None;
        }
        let listed_at = Timestamp::from_second(self.listed_at.try_into().ok()?).ok()?;
        let date = listed_at.strftime("%Y-%m-%d %H:%M UTC");
        let failure = &self.failure;
        Some(format!("{failure}; the team's prompts are those of {date}"))
    }
}

// What a process has learned.
impl ServerState {
    /// Records that the list is up to date now.
    pub(super) fn record_list(&mut self) {
        self.listed_at = now();
    }

    /// Records that the server replies. Returns whether that is news.
    pub(super) fn record_reply(&mut self, accepted_token: Option<Revision>) -> bool {
        if !self.has_failed() && self.accepted_token == accepted_token {
            return false;
        }
        self.failed_at = 0;
        self.failure.clear();
        self.accepted_token = accepted_token;
        true
    }

    /// Records that the server just failed, why, and for how long it shouldn't be asked again.
    pub(super) fn record_failure(&mut self, error: &Diagnostic, backoff_seconds: u64) {
        self.failed_at = now();
        self.backoff_seconds = backoff_seconds;
        self.failure = error.text();
    }

    /// Records that the server is asked for a name that isn't in the list. Returns false if it was
    /// asked for this name, or for many names, in the last [`UNKNOWN_NAME_SECONDS`].
    pub(super) fn record_unknown_name(&mut self, name: &str) -> bool {
        let names = &mut self.unknown_names;
        names.retain(|_, asked_at| seconds_since(*asked_at) < UNKNOWN_NAME_SECONDS);
        if names.contains_key(name) || names.len() == MAX_UNKNOWN_NAMES {
            return false;
        }
        names.insert(name.to_owned(), now());
        true
    }
}

/// Returns the current time in seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs())
}

/// Returns the number of seconds between a recorded time and now. A recorded time is in the future
/// if the clock was set back, and then counts as equally long ago.
fn seconds_since(time: u64) -> u64 {
    now().abs_diff(time)
}
