//! What the server knows of one conversation.

use super::editing::Seen;
use super::lifecycle;
use super::notifier::{Change, ListHashes};
use super::subscriptions::{Lists, Subscriptions};
use crate::agents::Agent;
use crate::jsonrpc::Notification;
use crate::library::Caller;
use std::time::Instant;

/// One conversation: that of a pipe. Over HTTP, each request is a conversation of its own.
///
/// Whose it is must be said:
///
/// ```compile_fail,E0599
/// prompt_expander::server::Session::default();
/// ```
#[derive(Debug)]
pub struct Session {
    /// What the last `initialize` negotiated. Modern requests carry their version themselves, and never use this.
    pub(super) protocol_version: Option<&'static str>,
    /// The agent that the last `initialize` came from, if it is a known one.
    pub(super) agent: Option<&'static Agent>,
    /// Who the client works for.
    pub(super) caller: Caller,
    pub(super) subscriptions: Subscriptions,
    /// Whether nothing of it is remembered after one request: what the client was shown is not recorded, and a legacy client
    /// cannot subscribe to resources.
    pub(super) is_one_request: bool,
    /// When the client was last shown a page of a list of which there is no hash.
    pub(super) shown: Option<Instant>,
    pub(super) lists: ShownLists,
    /// The prompts that the client has seen, if it may edit prompts.
    pub(super) seen: Seen,
}

/// A hash of each list that the client was last shown; `None` if that is unknown.
#[derive(Debug, Default)]
pub(super) struct ShownLists {
    pub(super) tools: Option<u64>,
    pub(super) prompts: Option<u64>,
    pub(super) resources: Option<u64>,
}

impl Session {
    /// The conversation of a pipe or a WebSocket.
    pub fn new(caller: Caller) -> Session {
        Session {
            protocol_version: None,
            agent: None,
            caller,
            subscriptions: Subscriptions::default(),
            is_one_request: false,
            shown: None,
            lists: ShownLists::default(),
            seen: Seen::default(),
        }
    }

    /// The conversation of one request over HTTP. `protocol_version` and `agent` are those of an earlier `initialize`, if the
    /// client still says so; unknown ones are ignored.
    pub fn of_request(caller: Caller, protocol_version: Option<&str>, agent: Option<&str>) -> Session {
        Session {
            protocol_version: protocol_version.and_then(lifecycle::legacy_version),
            agent: agent.and_then(Agent::named),
            is_one_request: true,
            ..Session::new(caller)
        }
    }

    /// The conversation of a stream on which legacy clients are notified of changes of all lists.
    pub fn of_notifications(caller: Caller) -> Session {
        let mut session = Session::of_request(caller, Some(lifecycle::WITH_BATCHES), None);
        session.subscriptions.initialized();
        session
    }

    /// Who the client works for.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The version that `initialize` negotiated.
    pub fn protocol_version(&self) -> Option<&'static str> {
        self.protocol_version
    }

    /// The name of the agent that the client is, if it is a known one.
    pub fn agent(&self) -> Option<&'static str> {
        self.agent.map(|agent| agent.name)
    }

    /// The client is about to be shown a list, of which this is the hash.
    pub(super) fn shown_list(&mut self, list: fn(&mut ShownLists) -> &mut Option<u64>, hash: Option<u64>) {
        *list(&mut self.lists) = hash;
        if hash.is_none() {
            self.shown = Some(Instant::now());
        }
    }

    /// Whether the client was shown something that it may cache until it is notified of a change.
    pub(super) fn was_shown_something(&self) -> bool {
        let ShownLists { tools, prompts, resources } = self.lists;
        self.shown.is_some() || tools.or(prompts).or(resources).is_some()
    }

    /// The notifications of a change for the client.
    pub fn notifications(&mut self, change: &Change) -> Vec<Notification> {
        // A legacy client that has not finished its handshake is not notified yet.
        let is_notified = self.protocol_version.is_none() || self.subscriptions.is_initialized();
        let now = change.now(&self.caller);
        let before = change.before(&self.caller, self.shown);
        let before = before.as_ref().map(|before| &before.lists);
        let has_changed = |shown: &mut Option<u64>, list: fn(&ListHashes) -> u64| {
            let now = list(&now.lists);
            let has_changed = match (&*shown, before) {
                (Some(shown), _) => *shown != now,
                (None, Some(before)) => list(before) != now,
                (None, None) => true,
            };
            *shown = shown.map(|shown| if is_notified { now } else { shown });
            has_changed
        };
        let changed = Lists {
            tools: has_changed(&mut self.lists.tools, |lists| lists.tools),
            prompts: has_changed(&mut self.lists.prompts, |lists| lists.prompts),
            resources: has_changed(&mut self.lists.resources, |lists| lists.resources),
        };
        self.subscriptions.notifications(changed, &now.snapshot)
    }
}
