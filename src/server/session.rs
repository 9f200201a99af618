//! What the server knows of one conversation.

use super::notifier::Change;
use super::subscriptions::{Lists, Subscriptions};
use crate::jsonrpc::Notification;
use std::time::Instant;

/// One conversation: that of a pipe.
#[derive(Debug, Default)]
pub struct Session {
    /// What the last `initialize` negotiated. Modern requests carry their version themselves, and never use this.
    pub(super) protocol_version: Option<&'static str>,
    pub(super) subscriptions: Subscriptions,
    /// When the client was last shown a file, or a list of which there is no hash.
    pub(super) shown: Option<Instant>,
    pub(super) lists: ShownLists,
}

/// A hash of each list that the client was last shown; `None` if that is unknown.
#[derive(Debug, Default)]
pub(super) struct ShownLists {
    pub(super) tools: Option<u64>,
    pub(super) prompts: Option<u64>,
    pub(super) resources: Option<u64>,
}

impl Session {
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
        let since = change.since(self.shown);
        // A legacy client that has not finished its handshake is not notified yet.
        let is_notified = self.protocol_version.is_none() || self.subscriptions.is_initialized();
        let has_changed = |shown: &mut Option<u64>, now: u64, otherwise: bool| {
            let has_changed = shown.map_or(otherwise, |shown| shown != now);
            *shown = shown.map(|shown| if is_notified { now } else { shown });
            has_changed
        };
        let changed = Lists {
            tools: has_changed(&mut self.lists.tools, change.lists.tools, since.names()),
            prompts: has_changed(&mut self.lists.prompts, change.lists.prompts, since.prompts()),
            resources: has_changed(&mut self.lists.resources, change.lists.resources, since.resources()),
        };
        self.subscriptions.notifications(changed, |uri| since.updates(uri))
    }
}
