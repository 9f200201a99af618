//! Subscriptions: the changes of which a client wants to be notified.

use super::context::Shared;
use super::failure::{Failure, FailureKind};
use super::resources;
use crate::jsonrpc::{Id, Json, Notification, Object, Response, read_object};
use crate::library::{Change, Prefix};
use crate::mcp::{ListenParams, SubscriptionFilter};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The maximum number of open `subscriptions/listen` requests per conversation.
pub const MAX_LISTENS: usize = 1_000;

/// The maximum number of resource subscriptions per conversation.
pub const MAX_SUBSCRIBED: usize = 10_000;

/// The notifications of changed lists, in the order of [`Listen::wanted_lists`].
const LIST_NOTIFICATIONS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

/// The subscriptions of one conversation.
///
/// Legacy clients are notified of changes to all lists after they send `notifications/initialized`,
/// and of the resources to which they subscribe.
///
/// Modern clients send `subscriptions/listen`, a request that stays open. Notifications contain the
/// id of that request, so that several can share a pipe (2026-07-28, "Subscriptions").
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether a legacy client has finished the handshake.
    pub(super) is_initialized: bool,
    /// The URIs to which a legacy client subscribed, as it wrote them.
    legacy_uris: BTreeSet<String>,
    /// The open `subscriptions/listen` requests of modern clients.
    listens: Vec<Listen>,
}

/// An open `subscriptions/listen` request.
#[derive(Debug)]
struct Listen {
    id: Id,
    /// The notifications that the client wants.
    filter: SubscriptionFilter,
}

impl Listen {
    /// Returns which of the [`LIST_NOTIFICATIONS`] the client wants.
    fn wanted_lists(&self) -> [bool; 3] {
        [
            self.filter.tools_list_changed,
            self.filter.prompts_list_changed,
            self.filter.resources_list_changed,
        ]
    }

    /// Returns the notifications to send for this request after a change that affects the client.
    fn notifications(&self, change: &Change, prefix: Option<&Prefix>) -> Vec<Notification> {
        let meta = meta(&self.id);
        let mut notifications = Vec::new();
        for (list, is_wanted) in LIST_NOTIFICATIONS.into_iter().zip(self.wanted_lists()) {
            if is_wanted {
                notifications.push(Notification::new(list, Some(json!({ "_meta": meta }))));
            }
        }
        for uri in self.filter.resource_subscriptions.iter().flatten() {
            if may_affect_uri(change, uri, prefix) {
                notifications.push(resource_updated(json!({ "_meta": meta, "uri": uri })));
            }
        }
        notifications
    }
}

impl Subscriptions {
    /// Removes the subscriptions of a legacy client that starts a new handshake.
    pub(super) fn reset_legacy(&mut self) {
        self.is_initialized = false;
        self.legacy_uris.clear();
    }

    /// Adds a legacy subscription. The prompt need not exist yet.
    ///
    /// # Errors
    /// Fails if the URI can't belong to a prompt, or if there are too many subscriptions.
    pub(super) fn subscribe(&mut self, uri: &str) -> Result<(), Failure> {
        if resources::names_from_uri(uri).is_empty() {
            return Err(resources::not_found(uri));
        }
        if !self.legacy_uris.contains(uri) {
            let added_count = 1;
            self.check_limit(added_count)?;
            self.legacy_uris.insert(uri.to_owned());
        }
        Ok(())
    }

    /// Removes a legacy subscription. Does nothing if it doesn't exist.
    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.legacy_uris.remove(uri);
    }

    /// Checks that this many resource subscriptions can be added.
    ///
    /// # Errors
    /// Fails if there would be more than [`MAX_SUBSCRIBED`].
    fn check_limit(&self, added_count: usize) -> Result<(), Failure> {
        let mut count = self.legacy_uris.len() + added_count;
        for listen in &self.listens {
            count += count_resources(&listen.filter);
        }
        if count <= MAX_SUBSCRIBED {
            return Ok(());
        }
        let text = format!("more than {MAX_SUBSCRIBED} subscriptions to resources; end some");
        Err(Failure::new(FailureKind::InvalidRequest, text))
    }

    /// Opens a modern subscription and returns its acknowledgement.
    ///
    /// # Errors
    /// Fails if the parameters are invalid, if a subscription with this id is already open, or if
    /// there are too many.
    pub(super) fn listen(
        &mut self,
        shared: &Shared,
        id: &Id,
        params: &Object,
    ) -> Result<Notification, Failure> {
        let ListenParams {
            notifications: mut filter,
        } = read_object(params)?;
        // Ignore URIs that can never belong to a prompt. The acknowledgement tells the client.
        if let Some(uris) = &mut filter.resource_subscriptions {
            uris.retain(|uri| !resources::names_from_uri(uri).is_empty());
        }
        if self.listens.iter().any(|listen| listen.id == *id) {
            let text =
                "a subscriptions/listen with this id is already open; cancel it, or use another id";
            return Err(Failure::new(FailureKind::InvalidRequest, text));
        }
        if self.listens.len() == MAX_LISTENS {
            let text = format!("more than {MAX_LISTENS} subscriptions/listen; cancel some");
            return Err(Failure::new(FailureKind::InvalidRequest, text));
        }
        self.check_limit(count_resources(&filter))?;
        shared.watch(); // before the acknowledgement, after which the client relies on notifications
        let params = json!({ "_meta": meta(id), "notifications": filter });
        self.listens.push(Listen {
            id: id.clone(),
            filter,
        });
        let method = "notifications/subscriptions/acknowledged";
        Ok(Notification::new(method, Some(params)))
    }

    /// Closes the modern subscription with this id. Returns `false` if there is none.
    pub(super) fn cancel(&mut self, id: &Id) -> bool {
        let count_before = self.listens.len();
        self.listens.retain(|listen| listen.id != *id);
        self.listens.len() < count_before
    }

    /// Returns the notifications to send after a change. If the client may see only some prompts,
    /// `prefix` limits what it learns of.
    pub(super) fn notifications(
        &self,
        change: &Change,
        prefix: Option<&Prefix>,
    ) -> Vec<Notification> {
        let mut notifications = Vec::new();
        if !change.affects(prefix) {
            return notifications;
        }
        if self.is_initialized {
            notifications = all_lists_changed();
            for uri in &self.legacy_uris {
                if may_affect_uri(change, uri, prefix) {
                    notifications.push(resource_updated(json!({ "uri": uri })));
                }
            }
        }
        for listen in &self.listens {
            notifications.extend(listen.notifications(change, prefix));
        }
        notifications
    }
}

fn count_resources(filter: &SubscriptionFilter) -> usize {
    filter
        .resource_subscriptions
        .as_ref()
        .map_or(0, BTreeSet::len)
}

/// Returns whether a change may affect the prompt with this URI, as far as the client may see it.
fn may_affect_uri(change: &Change, uri: &str, prefix: Option<&Prefix>) -> bool {
    let names = resources::names_from_uri(uri);
    names.iter().any(|name| change.may_affect(name, prefix))
}

fn resource_updated(params: Value) -> Notification {
    Notification::new("notifications/resources/updated", Some(params))
}

/// Returns the `_meta` that identifies the `subscriptions/listen` request of a notification.
fn meta(id: &Id) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

/// Returns the notifications that every list has changed, for a legacy client that may have missed
/// some.
pub fn all_lists_changed() -> Vec<Notification> {
    LIST_NOTIFICATIONS
        .map(|method| {
            let no_params = None;
            Notification::new(method, no_params)
        })
        .to_vec()
}

/// Returns the message with which the server closes a `subscriptions/listen`: the result of that
/// request.
pub fn listen_result(id: &Id) -> Response {
    let result = json!({ "resultType": "complete", "_meta": meta(id) });
    Response::result(id, Json::from_text(result.to_string()))
}
