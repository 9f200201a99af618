//! Which changes a conversation is notified of.

use super::context::Shared;
use super::failure::{Failure, FailureKind};
use super::resources;
use crate::jsonrpc::{Id, Json, Notification, Object, Response, read};
use crate::library::{Change, Prefix};
use crate::mcp::{ListenParams, SubscriptionFilter};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many `subscriptions/listen` may be open at once.
pub const MAX_LISTENS: usize = 1_000;

/// How many resources may be subscribed to at once, in all.
pub const MAX_SUBSCRIBED: usize = 10_000;

/// The notifications of lists.
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
    listens: Vec<(Id, SubscriptionFilter)>,
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
    /// No prompt can have this URI; too many subscriptions.
    pub(super) fn subscribe(&mut self, uri: &str) -> Result<(), Failure> {
        if resources::names(uri).is_empty() {
            return Err(resources::not_found(uri));
        }
        if !self.resources.contains(uri) {
            self.check_limit(1)?;
            self.resources.insert(uri.to_owned());
        }
        Ok(())
    }

    /// `resources/unsubscribe`, even from a resource that was never subscribed to.
    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.resources.remove(uri);
    }

    fn check_limit(&self, more: usize) -> Result<(), Failure> {
        let of_listens = self
            .listens
            .iter()
            .filter_map(|(_, filter)| filter.resource_subscriptions.as_ref());
        if self.resources.len() + of_listens.map(BTreeSet::len).sum::<usize>() + more
            > MAX_SUBSCRIBED
        {
            let message =
                format!("more than {MAX_SUBSCRIBED} subscriptions to resources; end some");
            return Err(Failure::new(FailureKind::InvalidRequest, message));
        }
        Ok(())
    }

    /// `subscriptions/listen`: opens a subscription, and returns its acknowledgement.
    ///
    /// # Errors
    /// Invalid params; one with this id is open; too many are open.
    pub(super) fn listen(
        &mut self,
        shared: &Shared,
        id: &Id,
        params: &Object,
    ) -> Result<Notification, Failure> {
        let ListenParams {
            notifications: mut honored,
        } = read(params)?;
        // Only URIs that can be prompts, now or later.
        if let Some(uris) = &mut honored.resource_subscriptions {
            uris.retain(|uri| !resources::names(uri).is_empty());
        }
        let refused = |message: &str| Err(Failure::new(FailureKind::InvalidRequest, message));
        if self.listens.iter().any(|(listen, _)| listen == id) {
            return refused(
                "a subscriptions/listen with this id is open; cancel it, or use another id",
            );
        }
        if self.listens.len() == MAX_LISTENS {
            return refused(&format!(
                "more than {MAX_LISTENS} subscriptions/listen; cancel some"
            ));
        }
        self.check_limit(
            honored
                .resource_subscriptions
                .as_ref()
                .map_or(0, BTreeSet::len),
        )?;
        shared.watch();
        self.listens.push((id.clone(), honored.clone()));
        let params = json!({ "_meta": meta(id), "notifications": honored });
        Ok(Notification::new(
            "notifications/subscriptions/acknowledged",
            Some(params),
        ))
    }

    /// Ends the listen with this id; returns `false` if there is none.
    pub(super) fn cancel(&mut self, id: &Id) -> bool {
        let before = self.listens.len();
        self.listens.retain(|(listen, _)| listen != id);
        self.listens.len() < before
    }

    /// The notifications of a change, for a client that sees only what has this prefix.
    pub(super) fn notifications(
        &self,
        change: &Change,
        prefix: Option<&Prefix>,
    ) -> Vec<Notification> {
        if !change.concerns(prefix) {
            return Vec::new();
        }
        let updated =
            |params: Value| Notification::new("notifications/resources/updated", Some(params));
        let mut notifications = if self.is_initialized {
            all_lists_changed()
        } else {
            Vec::new()
        };
        let subscribed = self
            .resources
            .iter()
            .filter(|uri| self.is_initialized && may_be_of(change, uri, prefix));
        notifications.extend(subscribed.map(|uri| updated(json!({ "uri": uri }))));
        for (id, filter) in &self.listens {
            let wanted = [
                filter.tools_list_changed,
                filter.prompts_list_changed,
                filter.resources_list_changed,
            ];
            let lists = LISTS.iter().zip(wanted).filter(|(_, is_wanted)| *is_wanted);
            notifications.extend(
                lists.map(|(list, _)| Notification::new(list, Some(json!({ "_meta": meta(id) })))),
            );
            let uris = filter
                .resource_subscriptions
                .iter()
                .flatten()
                .filter(|uri| may_be_of(change, uri, prefix));
            notifications.extend(uris.map(|uri| updated(json!({ "_meta": meta(id), "uri": uri }))));
        }
        notifications
    }
}

/// Returns whether a prompt that has this URI exists for the client, and may have changed.
fn may_be_of(change: &Change, uri: &str, prefix: Option<&Prefix>) -> bool {
    let names = resources::names(uri);
    names.iter().any(|name| change.may_be_of(name, prefix))
}

/// `_meta` of a notification: the `subscriptions/listen` to which it belongs.
fn meta(id: &Id) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

/// The notifications for a legacy client that may have missed some.
pub fn all_lists_changed() -> Vec<Notification> {
    LISTS.map(|method| Notification::new(method, None)).to_vec()
}

/// The end of a `subscriptions/listen` by the server: the result of its request.
pub fn end_of_listen(id: &Id) -> Response {
    let result = json!({ "resultType": "complete", "_meta": meta(id) });
    Response::result(id, Json::written(result.to_string()))
}
