//! What the server knows of one conversation.

use super::era;
use super::subscriptions::Subscriptions;
use crate::agents::Agent;
use crate::jsonrpc::Notification;
use crate::library::{Caller, Change};
use std::sync::Arc;

/// One conversation: that of a pipe. Over HTTP, each request is a conversation of its own.
#[derive(Debug)]
pub struct Session {
    /// What the last `initialize` negotiated. Modern requests carry their version themselves, and never use this.
    pub(super) version: Option<&'static str>,
    /// The agent that the last `initialize` came from, if it is a known one.
    pub(super) agent: Option<&'static Agent>,
    /// Who the client works for.
    pub(super) caller: Arc<Caller>,
    pub(super) subscriptions: Subscriptions,
    is_one_request: bool,
    /// Whether the client was shown something that it may cache until it is notified of a change.
    pub(super) was_shown_something: bool,
}

impl Session {
    /// The conversation of a pipe or a WebSocket.
    pub fn new(caller: impl Into<Arc<Caller>>) -> Session {
        Session {
            version: None,
            agent: None,
            caller: caller.into(),
            subscriptions: Subscriptions::default(),
            is_one_request: false,
            was_shown_something: false,
        }
    }

    /// One request of a conversation that is not remembered: a legacy client cannot subscribe to resources in it. `version` is what
    /// the conversation has negotiated, and `agent` the name of its agent.
    pub fn of_request(caller: impl Into<Arc<Caller>>, version: Option<&str>, agent: Option<&str>) -> Session {
        let (version, agent) = (version.and_then(era::legacy_version), agent.and_then(Agent::named));
        Session { version, agent, is_one_request: true, ..Session::new(caller) }
    }

    /// The conversation of a stream on which legacy clients are notified of changes of all lists.
    pub fn of_notifications(caller: impl Into<Arc<Caller>>) -> Session {
        let mut session = Session::of_request(caller, Some(era::WITH_BATCHES), None);
        session.subscriptions.is_initialized = true;
        session
    }

    /// `initialize`: begins, possibly for the second time.
    pub(super) fn begin(&mut self, version: &'static str, agent: Option<&'static Agent>) {
        (self.version, self.agent, self.was_shown_something) = (Some(version), agent, false);
        self.subscriptions.begin();
    }

    pub(super) fn is_one_request(&self) -> bool {
        self.is_one_request
    }

    /// Who the client works for.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The version that `initialize` negotiated.
    pub fn protocol_version(&self) -> Option<&'static str> {
        self.version
    }

    /// The name of the agent that the client is, if it is a known one.
    pub fn agent(&self) -> Option<&'static str> {
        self.agent.map(|agent| agent.name)
    }

    /// The notifications of a change for the client.
    pub fn notifications(&self, change: &Change) -> Vec<Notification> {
        self.subscriptions.notifications(change, self.caller.prefix.as_ref())
    }
}
