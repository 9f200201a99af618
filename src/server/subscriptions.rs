//! Which changes a conversation is notified of.

use super::context::Shared;
use super::failure::{Failure, FailureKind};
use super::resources;
use crate::jsonrpc::{Id, Json, Notification, Object, Response, read_object};
use crate::library::{Change, Prefix};
use crate::mcp::{ListenParams, SubscriptionFilter};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many `subscriptions/listen` may be open at once.
pub const MAX_LISTENS: usize = 1_000;

/// How many resources may be subscribed to at once, in all.
pub const MAX_SUBSCRIBED: usize = 10_000;

/// The notifications of changed lists: of tools, prompts and resources.
const LISTS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

/// The subscriptions of one conversation. A legacy client is notified of all lists once it has sent
/// `notifications/initialized`, and of the resources that it subscribed to. A modern one asks with
/// `subscriptions/listen`, a request that stays open: its notifications carry the id of the
/// request, so that several may share a pipe (2026-07-28, "Subscriptions").
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether a legacy client has finished its handshake.
    pub(super) is_initialized: bool,
    /// The URIs that a legacy client subscribed to, as it wrote them.
    resources: BTreeSet<String>,
    listens: Vec<Listen>,
}

/// An open `subscriptions/listen`.
#[derive(Debug)]
struct Listen {
    id: Id,
    /// What the client is notified of.
    filter: SubscriptionFilter,
}

impl Listen {
    /// Returns which of the [`LISTS`] the client wants to be notified of.
    fn wants_lists(&self) -> [bool; 3] {
        [
            self.filter.tools_list_changed,
            self.filter.prompts_list_changed,
            self.filter.resources_list_changed,
        ]
    }
}

impl Subscriptions {
    /// Begins a legacy conversation, possibly for the second time.
    pub(super) fn begin(&mut self) {
        self.is_initialized = false;
        self.resources.clear();
    }

    /// `resources/subscribe`. The prompt may be created later.
    ///
    /// # Errors
    /// No prompt can have this URI; there are too many subscriptions.
    pub(super) fn subscribe(&mut self, uri: &str) -> Result<(), Failure> {
        if resources::names_from_uri(uri).is_empty() {
            return Err(resources::not_found(uri));
        }
        if !self.resources.contains(uri) {
            self.check_limit(1)?;
            self.resources.insert(uri.to_owned());
        }
        Ok(())
    }

    /// `resources/unsubscribe`. The client need not have subscribed to the resource.
    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.resources.remove(uri);
    }

    /// Checks that `more` resources can be subscribed to.
    fn check_limit(&self, more: usize) -> Result<(), Failure> {
        let mut count = self.resources.len() + more;
        for listen in &self.listens {
            count += count_resources(&listen.filter);
        }
        if count <= MAX_SUBSCRIBED {
            return Ok(());
        }
        let text = format!("more than {MAX_SUBSCRIBED} subscriptions to resources; end some");
        Err(Failure::new(FailureKind::InvalidRequest, text))
    }

    /// `subscriptions/listen`: opens a subscription, and returns its acknowledgement.
    ///
    /// # Errors
    /// The params are invalid; one with this id is open; too many are open.
    pub(super) fn listen(
        &mut self,
        shared: &Shared,
        id: &Id,
        params: &Object,
    ) -> Result<Notification, Failure> {
        let ListenParams {
            notifications: mut filter,
        } = read_object(params)?;
        // Only URIs that can be prompts, now or later.
        if let Some(uris) = &mut filter.resource_subscriptions {
            uris.retain(|uri| !resources::names_from_uri(uri).is_empty());
        }
        if self.listens.iter().any(|listen| listen.id == *id) {
            let text = "a subscriptions/listen with this id is open; cancel it, or use another id";
            return Err(Failure::new(FailureKind::InvalidRequest, text));
        }
        if self.listens.len() == MAX_LISTENS {
            let text = format!("more than {MAX_LISTENS} subscriptions/listen; cancel some");
            return Err(Failure::new(FailureKind::InvalidRequest, text));
        }
        self.check_limit(count_resources(&filter))?;
        shared.watch();
        let params = json!({ "_meta": meta(id), "notifications": filter });
        self.listens.push(Listen {
            id: id.clone(),
            filter,
        });
        let method = "notifications/subscriptions/acknowledged";
        Ok(Notification::new(method, Some(params)))
    }

    /// Ends the `subscriptions/listen` with this id, and returns whether there was one.
    pub(super) fn cancel(&mut self, id: &Id) -> bool {
        let count = self.listens.len();
        self.listens.retain(|listen| listen.id != *id);
        self.listens.len() < count
    }

    /// Returns the notifications of a change, for a client for whom only the prompts with this
    /// prefix exist.
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
            for uri in &self.resources {
                if may_concern(change, uri, prefix) {
                    notifications.push(resource_updated(json!({ "uri": uri })));
                }
            }
        }
        for listen in &self.listens {
            let meta = meta(&listen.id);
            for (list, is_wanted) in LISTS.into_iter().zip(listen.wants_lists()) {
                if is_wanted {
                    notifications.push(Notification::new(list, Some(json!({ "_meta": meta }))));
                }
            }
            for uri in listen.filter.resource_subscriptions.iter().flatten() {
                if may_concern(change, uri, prefix) {
                    notifications.push(resource_updated(json!({ "_meta": meta, "uri": uri })));
                }
            }
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

/// Returns whether a prompt that has this URI exists for the client, and may have changed.
fn may_concern(change: &Change, uri: &str, prefix: Option<&Prefix>) -> bool {
    let names = resources::names_from_uri(uri);
    names.iter().any(|name| change.may_affect(name, prefix))
}

fn resource_updated(params: Value) -> Notification {
    Notification::new("notifications/resources/updated", Some(params))
}

/// Returns the `_meta` of a notification: the `subscriptions/listen` to which it belongs.
fn meta(id: &Id) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

/// Returns the notifications for a legacy client that may have missed some.
pub fn all_lists_changed() -> Vec<Notification> {
    LISTS.map(|method| Notification::new(method, None)).to_vec()
}

/// Returns the message with which the server ends a `subscriptions/listen`: the result of that
/// request.
pub fn listen_result(id: &Id) -> Response {
    let result = json!({ "resultType": "complete", "_meta": meta(id) });
    Response::result(id, Json::from_text(result.to_string()))
}
