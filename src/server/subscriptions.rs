//! Who wants to hear of changes, and what each of them is told.
//!
//! A legacy client hears of all lists once it has sent `notifications/initialized`, and of the resources that it
//! subscribed to. A modern one asks with `subscriptions/listen`, a request that stays open: what it hears carries the
//! request's id, so that several may share a pipe (2026-07-28, "Subscriptions").

use super::lifecycle::{Failure, FailureKind};
use super::resources;
use crate::jsonrpc::{Id, Notification, Object};
use crate::library::Library;
use crate::mcp::{
    CancelledParams, ListChangedParams, ListenParams, ResourceParams, ResourceUpdatedParams, SubscriptionFilter,
    SubscriptionMeta, SubscriptionsAcknowledgedParams,
};
use std::collections::BTreeSet;

/// How many `subscriptions/listen` may be open at once.
pub const MAX_LISTENS: usize = 1_000;

/// How many resources may be subscribed to at once, in all.
pub const MAX_SUBSCRIBED: usize = 10_000;

/// The subscriptions of everybody on one pipe.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether a legacy client has finished its handshake.
    is_initialized: bool,
    /// What it has subscribed to.
    resources: BTreeSet<String>,
    listens: Vec<Listen>,
}

/// An open `subscriptions/listen`.
#[derive(Debug)]
struct Listen {
    id: Id,
    lists: Lists,
    /// URIs, as the client wrote them.
    resources: BTreeSet<String>,
    /// What the client is told that it will hear of; `None` once it has been told.
    to_acknowledge: Option<SubscriptionFilter>,
}

/// The lists that may change: what somebody wants to hear of, or what has changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lists {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Lists {
    const ALL: Lists = Lists { tools: true, prompts: true, resources: true };

    /// The methods that tell of the lists that are in both.
    fn methods(self, other: Lists) -> impl Iterator<Item = &'static str> {
        let methods = [
            (self.tools && other.tools, "notifications/tools/list_changed"),
            (self.prompts && other.prompts, "notifications/prompts/list_changed"),
            (self.resources && other.resources, "notifications/resources/list_changed"),
        ];
        methods.into_iter().filter_map(|(both, method)| both.then_some(method))
    }
}

impl Subscriptions {
    /// A legacy conversation begins, perhaps again.
    pub(super) fn initialize(&mut self) {
        self.is_initialized = false;
        self.resources.clear();
    }

    /// `notifications/initialized`.
    pub(super) fn initialized(&mut self) {
        self.is_initialized = true;
    }

    /// Whether a legacy client has finished its handshake.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    /// `resources/subscribe`.
    ///
    /// # Errors
    /// The `uri` names nothing; too many subscriptions.
    pub(super) fn subscribe(&mut self, library: &Library, params: ResourceParams<'_>) -> Result<(), Failure> {
        let uri = &*params.uri;
        if resources::name_of(library, uri).is_none() {
            return Err(resources::not_found(uri));
        }
        if !self.resources.contains(uri) {
            self.room_for(1)?;
            self.resources.insert(uri.to_owned());
        }
        Ok(())
    }

    fn room_for(&self, more: usize) -> Result<(), Failure> {
        let subscribed = self.resources.len() + self.listens.iter().map(|listen| listen.resources.len()).sum::<usize>();
        if subscribed + more > MAX_SUBSCRIBED {
            let message = format!("more than {MAX_SUBSCRIBED} subscriptions to resources; end some");
            return Err(Failure::new(FailureKind::InvalidRequest, message));
        }
        Ok(())
    }

    /// `resources/unsubscribe`; of what was never subscribed too.
    pub(super) fn unsubscribe(&mut self, params: ResourceParams<'_>) {
        self.resources.remove(&*params.uri);
    }

    /// `subscriptions/listen`; whether it wants to hear of anything. [`Subscriptions::acknowledge`] gives its
    /// acknowledgement.
    ///
    /// # Errors
    /// The id of an open one; too many.
    pub(super) fn listen(&mut self, id: &Id, params: ListenParams) -> Result<bool, Failure> {
        let mut honored = params.notifications;
        let lists = Lists {
            tools: honored.tools_list_changed,
            prompts: honored.prompts_list_changed,
            resources: honored.resources_list_changed,
        };
        // Those that may be ours, there now or later.
        if let Some(uris) = &mut honored.resource_subscriptions {
            uris.retain(|uri| !resources::names(uri).is_empty());
        }
        if self.listens.iter().any(|listen| listen.id == *id) {
            let message = "a subscriptions/listen with this id is open; cancel it, or use another id";
            return Err(Failure::new(FailureKind::InvalidRequest, message));
        }
        if self.listens.len() == MAX_LISTENS {
            let message = format!("more than {MAX_LISTENS} subscriptions/listen; cancel some");
            return Err(Failure::new(FailureKind::InvalidRequest, message));
        }
        let resources = honored.resource_subscriptions.clone().unwrap_or_default();
        self.room_for(resources.len())?;
        let wants_any = lists.methods(Lists::ALL).next().is_some() || !resources.is_empty();
        self.listens.push(Listen { id: id.clone(), lists, resources, to_acknowledge: Some(honored) });
        Ok(wants_any)
    }

    /// The acknowledgements that are still due: of one listen, or of all.
    pub(super) fn acknowledge(&mut self, id: Option<&Id>) -> Vec<Notification> {
        let listens = self.listens.iter_mut().filter(|listen| id.is_none_or(|id| listen.id == *id));
        listens.filter_map(Listen::acknowledge).collect()
    }

    /// `notifications/cancelled`: ends the listen that it names, if there is one.
    pub(super) fn cancelled(&mut self, params: &Object<'_>) {
        let id = params.read().ok().and_then(|CancelledParams { request_id }| Id::from_json(request_id));
        self.listens.retain(|listen| Some(&listen.id) != id.as_ref());
    }

    /// What everybody is told of lists, and of files, that have changed.
    pub(super) fn tell(&self, library: &Library, lists: Lists, contents: Contents<'_>) -> Vec<Notification> {
        let mut notifications = Vec::new();
        let is_updated = |uri: &&String| contents.has(library, uri);
        if self.is_initialized {
            notifications
                .extend(Lists::ALL.methods(lists).map(|method| Notification::new(method, None::<ListChangedParams>)));
            notifications.extend(self.resources.iter().filter(is_updated).map(|uri| updated(uri, None)));
        }
        for listen in self.listens.iter().filter(|listen| listen.to_acknowledge.is_none()) {
            let list_changed = |method| Notification::new(method, Some(ListChangedParams { meta: listen.meta() }));
            notifications.extend(listen.lists.methods(lists).map(list_changed));
            let uris = listen.resources.iter().filter(is_updated);
            notifications.extend(uris.map(|uri| updated(uri, Some(listen.meta()))));
        }
        notifications
    }
}

fn updated(uri: &str, meta: Option<SubscriptionMeta>) -> Notification {
    let params = ResourceUpdatedParams { meta, uri: uri.to_owned() };
    Notification::new("notifications/resources/updated", Some(params))
}

/// The files that have changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Contents<'c> {
    /// Those with these names.
    Of(&'c BTreeSet<String>),
    /// Perhaps any.
    Any,
}

impl Contents<'_> {
    /// Whether the file that a URI means is among them, be it that it has come or gone.
    fn has(self, library: &Library, uri: &str) -> bool {
        match self {
            Contents::Any => true,
            Contents::Of(changed) if changed.is_empty() => false,
            Contents::Of(changed) => match resources::names(uri).iter().position(|name| changed.contains(name)) {
                None => false,
                Some(0) => true,
                // It may mean this one only where there is none of the name before.
                Some(_) => resources::name_of(library, uri).is_none_or(|name| changed.contains(&name)),
            },
        }
    }
}

impl Listen {
    /// Says what the listener will hear of, once.
    fn acknowledge(&mut self) -> Option<Notification> {
        let params = SubscriptionsAcknowledgedParams { notifications: self.to_acknowledge.take()?, meta: self.meta() };
        Some(Notification::new("notifications/subscriptions/acknowledged", Some(params)))
    }

    /// The tag of what this listener hears.
    fn meta(&self) -> SubscriptionMeta {
        SubscriptionMeta { subscription_id: self.id.clone() }
    }
}
