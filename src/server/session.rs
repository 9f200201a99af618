//! What the server knows of one conversation.

use super::notifier::Change;
use super::subscriptions::Subscriptions;
use crate::jsonrpc::Notification;
use crate::mcp::ListToolsResult;

/// One conversation: that of a pipe.
#[derive(Debug, Default)]
pub struct Session {
    /// What the last `initialize` negotiated. Modern requests carry their version themselves, and never use this.
    pub(super) protocol_version: Option<&'static str>,
    pub(super) subscriptions: Subscriptions,
    /// Whether a legacy client was shown lists or files before it finished its handshake.
    pub(super) was_shown_lists: bool,
    /// The descriptions of the tools, as this conversation was shown them last. They name the commands.
    pub(super) tool_descriptions: Option<Vec<String>>,
}

impl Session {
    /// The tools were listed. While the library is watched, what differs from an earlier list was or will be notified.
    pub(super) fn tools_listed(&mut self, listed: &ListToolsResult, is_watched: bool) {
        if self.tool_descriptions.is_none() || !is_watched {
            self.tool_descriptions = Some(listed.tools.iter().map(|tool| tool.description.clone()).collect());
        }
    }

    /// What this conversation is notified of a change.
    pub fn notifications(&mut self, change: &Change) -> Vec<Notification> {
        let tools = change.tool_descriptions.as_ref().is_some_and(|now| self.tool_descriptions.as_ref() != Some(now));
        if tools {
            self.tool_descriptions.clone_from(&change.tool_descriptions);
        }
        self.subscriptions.notifications(change, tools)
    }
}
