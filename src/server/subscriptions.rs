//! Which changes a conversation is notified of.
//!
//! A legacy client is notified of all lists once it has sent `notifications/initialized`, and of the resources that it
//! subscribed to. A modern one asks with `subscriptions/listen`, a request that stays open: its notifications carry the
//! id of the request, so that several may share a pipe (2026-07-28, "Subscriptions").

use super::lifecycle::{Failure, FailureKind};
use super::resources;
use crate::jsonrpc::{Id, Notification, Object, Response, read};
use crate::library::{Snapshot, View};
use crate::mcp::{
    CancelledParams, ListChangedParams, ListenParams, ListenResult, ResourceParams, ResourceUpdatedParams,
    SubscriptionMeta, SubscriptionsAcknowledgedParams,
};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// How many `subscriptions/listen` may be open at once.
pub const MAX_LISTENS: usize = 1_000;

/// How many resources may be subscribed to at once, in all.
pub const MAX_SUBSCRIBED: usize = 10_000;

/// The URIs that a client subscribed to, as it wrote them, each with a hash of the content that the client knows; `None` if
/// there was no file.
type Contents = BTreeMap<String, Option<u64>>;

/// The subscriptions of one conversation.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether a legacy client has finished its handshake.
    is_initialized: bool,
    resources: Contents,
    listens: Vec<Listen>,
}

/// An open `subscriptions/listen`.
#[derive(Debug)]
struct Listen {
    id: Id,
    lists: Lists,
    resources: Contents,
}

/// Lists of the protocol: those that a client subscribed to, or those that changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lists {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Lists {
    const ALL: Lists = Lists { tools: true, prompts: true, resources: true };

    /// The notifications of the lists that are in both.
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
    /// Begins a legacy conversation, possibly for the second time.
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
    pub(super) fn subscribe(&mut self, view: &View, params: ResourceParams<'_>) -> Result<(), Failure> {
        let uri = params.uri;
        if resources::name_of(view, uri).is_none() {
            return Err(resources::not_found(uri));
        }
        if !self.resources.contains_key(uri) {
            self.check_limit(1)?;
            self.resources.insert(uri.to_owned(), resources::content_hash(&view.list(), uri));
        }
        Ok(())
    }

    /// `resources/read`: the client is about to be shown a resource.
    pub(super) fn shown(&mut self, view: &View, uri: &str) {
        let listens = self.listens.iter_mut().map(|listen| &mut listen.resources);
        let known = listens.chain([&mut self.resources]).filter_map(|resources| resources.get_mut(uri));
        let mut known = known.peekable();
        if known.peek().is_some() {
            let content = resources::content_hash(&view.list(), uri);
            known.for_each(|known| *known = content);
        }
    }

    fn check_limit(&self, more: usize) -> Result<(), Failure> {
        let subscribed = self.resources.len() + self.listens.iter().map(|listen| listen.resources.len()).sum::<usize>();
        if subscribed + more > MAX_SUBSCRIBED {
            let message = format!("more than {MAX_SUBSCRIBED} subscriptions to resources; end some");
            return Err(Failure::new(FailureKind::InvalidRequest, message));
        }
        Ok(())
    }

    /// `resources/unsubscribe`, even from a resource that was never subscribed to.
    pub(super) fn unsubscribe(&mut self, params: ResourceParams<'_>) {
        self.resources.remove(params.uri);
    }

    /// `subscriptions/listen`: opens it, and returns its acknowledgement.
    ///
    /// # Errors
    /// One with this id is open; too many.
    pub(super) fn listen(&mut self, view: &View, id: &Id, params: ListenParams) -> Result<Notification, Failure> {
        let mut honored = params.notifications;
        let lists = Lists {
            tools: honored.tools_list_changed,
            prompts: honored.prompts_list_changed,
            resources: honored.resources_list_changed,
        };
        // Only URIs that can be prompts, now or later.
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
        let uris = honored.resource_subscriptions.iter().flatten();
        self.check_limit(uris.clone().count())?;
        let listing = OnceCell::new(); // most clients listen to lists only
        let content = |uri: &String| resources::content_hash(listing.get_or_init(|| view.list()), uri);
        let resources = uris.map(|uri| (uri.clone(), content(uri))).collect();
        let listen = Listen { id: id.clone(), lists, resources };
        let params = SubscriptionsAcknowledgedParams { notifications: honored, meta: listen.meta() };
        self.listens.push(listen);
        Ok(Notification::new("notifications/subscriptions/acknowledged", Some(params)))
    }

    /// `notifications/cancelled`: ends the listen that it names, if there is one.
    pub(super) fn cancelled(&mut self, params: &Object) {
        let id = read(params).ok().map(|CancelledParams { request_id }| request_id);
        self.listens.retain(|listen| Some(&listen.id) != id.as_ref());
    }

    /// The notifications of a change of these lists, and of the resources whose content is another one in the snapshot.
    pub(super) fn notifications(&mut self, changed: Lists, snapshot: &Snapshot) -> Vec<Notification> {
        let mut notifications = Vec::new();
        if self.is_initialized {
            let methods = Lists::ALL.methods(changed);
            notifications.extend(methods.map(|method| Notification::new(method, None::<ListChangedParams>)));
            notifications.extend(changed_contents(&mut self.resources, snapshot).map(|uri| updated(uri, None)));
        }
        for listen in &mut self.listens {
            let meta = listen.meta();
            let list_changed = |method| Notification::new(method, Some(ListChangedParams { meta: meta.clone() }));
            notifications.extend(listen.lists.methods(changed).map(list_changed));
            let uris = changed_contents(&mut listen.resources, snapshot);
            notifications.extend(uris.map(|uri| updated(uri, Some(meta.clone()))));
        }
        notifications
    }
}

/// The notifications of all lists, for a legacy client that may have missed some.
pub fn all_lists_changed() -> Vec<Notification> {
    let methods = Lists::ALL.methods(Lists::ALL);
    methods.map(|method| Notification::new(method, None::<ListChangedParams>)).collect()
}

/// The response to a `subscriptions/listen` with this id that the server ends.
pub fn end_of_listen(id: &Id) -> Response {
    Response::result(
        id.clone(),
        ListenResult { result_type: "complete", meta: SubscriptionMeta { subscription_id: id.clone() } },
    )
}

/// The URIs whose content is another one in the snapshot, which the client knows from now on.
fn changed_contents<'c>(known: &'c mut Contents, snapshot: &Snapshot) -> impl Iterator<Item = &'c String> {
    known.iter_mut().filter_map(|(uri, known)| {
        let now = resources::names(uri).iter().find_map(|name| snapshot.content(name));
        (std::mem::replace(known, now) != now).then_some(uri)
    })
}

fn updated(uri: &str, meta: Option<SubscriptionMeta>) -> Notification {
    let params = ResourceUpdatedParams { meta, uri: uri.to_owned() };
    Notification::new("notifications/resources/updated", Some(params))
}

impl Listen {
    /// The `_meta` of its notifications.
    fn meta(&self) -> SubscriptionMeta {
        SubscriptionMeta { subscription_id: self.id.clone() }
    }
}
