//! Who wants to hear of changes, and what each of them is told.
//!
//! A legacy client hears of all lists once it has sent `notifications/initialized`, and of the resources that it
//! subscribed to. A modern one asks with `subscriptions/listen`, a request that stays open: what it hears carries the
//! request's id, so that several may share a pipe (2026-07-28, "Subscriptions").

use super::lifecycle::Era;
use super::resources;
use crate::json::{Json, Object, Value};
use crate::jsonrpc::{Error, Id, Notification};
use crate::library::View;
use crate::wording::quoted;
use serde_json::{Map, json};
use std::collections::BTreeSet;

/// How many `subscriptions/listen` may be open at once.
pub const MAX_LISTENS: usize = 1_000;

/// How many resources may be subscribed to at once, in all.
pub const MAX_SUBSCRIBED: usize = 10_000;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

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
    to_acknowledge: Option<Map<String, serde_json::Value>>,
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
    /// `-32602` for a `uri` that is no string, `-32002` for one that names nothing, `-32600` for too many.
    pub(super) fn subscribe(&mut self, library: &View, params: &Object<'_>) -> Result<(), Error> {
        let uri = resources::uri_of(params)?;
        if resources::name_of(library, uri).is_none() {
            return Err(resources::not_found(Era::Legacy, uri));
        }
        if !self.resources.contains(uri) {
            self.room_for(1)?;
            self.resources.insert(uri.to_owned());
        }
        Ok(())
    }

    fn room_for(&self, more: usize) -> Result<(), Error> {
        let subscribed = self.resources.len() + self.listens.iter().map(|listen| listen.resources.len()).sum::<usize>();
        if subscribed + more > MAX_SUBSCRIBED {
            let message = format!("more than {MAX_SUBSCRIBED} subscriptions to resources; end some");
            return Err(Error::invalid_request(message));
        }
        Ok(())
    }

    /// `resources/unsubscribe`; of what was never subscribed too.
    ///
    /// # Errors
    /// `-32602` for a `uri` that is no string.
    pub(super) fn unsubscribe(&mut self, params: &Object<'_>) -> Result<(), Error> {
        self.resources.remove(resources::uri_of(params)?);
        Ok(())
    }

    /// `subscriptions/listen`; whether it wants to hear of anything. [`Subscriptions::acknowledge`] gives its
    /// acknowledgement.
    ///
    /// # Errors
    /// `-32602` for params that do not fit; `-32600` for the id of an open one, and for too many.
    pub(super) fn listen(&mut self, id: &Id, params: &Object<'_>) -> Result<bool, Error> {
        let Ok(Some(wanted)) = params.object("notifications") else {
            return Err(Error::invalid_params("`notifications` must be an object"));
        };
        let wants = |key: &str| match wanted.get(key) {
            None => Ok(false),
            Some(Value::Bool(wants)) => Ok(*wants),
            Some(_) => Err(Error::invalid_params(format!("`notifications.{key}` must be true or false"))),
        };
        let lists = Lists {
            tools: wants("toolsListChanged")?,
            prompts: wants("promptsListChanged")?,
            resources: wants("resourcesListChanged")?,
        };
        let resources = subscribed(wanted)?;
        if self.listens.iter().any(|listen| listen.id == *id) {
            let message = "a subscriptions/listen with this id is open; cancel it, or use another id";
            return Err(Error::invalid_request(message));
        }
        if self.listens.len() == MAX_LISTENS {
            let message = format!("more than {MAX_LISTENS} subscriptions/listen; cancel some");
            return Err(Error::invalid_request(message));
        }
        self.room_for(resources.as_ref().map_or(0, BTreeSet::len))?;
        let mut honored = Map::new();
        for (is_wanted, key) in [
            (lists.tools, "toolsListChanged"),
            (lists.prompts, "promptsListChanged"),
            (lists.resources, "resourcesListChanged"),
        ] {
            honored.extend(is_wanted.then(|| (key.to_owned(), json!(true))));
        }
        if let Some(resources) = &resources {
            honored.insert("resourceSubscriptions".to_owned(), json!(resources));
        }
        let to_acknowledge = Some(Map::from_iter([("notifications".to_owned(), serde_json::Value::Object(honored))]));
        let resources = resources.unwrap_or_default();
        let wants_any = lists.methods(Lists::ALL).next().is_some() || !resources.is_empty();
        self.listens.push(Listen { id: id.clone(), lists, resources, to_acknowledge });
        Ok(wants_any)
    }

    /// The acknowledgements that are still due: of one listen, or of all.
    pub(super) fn acknowledge(&mut self, id: Option<&Id>) -> Vec<Notification> {
        let listens = self.listens.iter_mut().filter(|listen| id.is_none_or(|id| listen.id == *id));
        listens.filter_map(Listen::acknowledge).collect()
    }

    /// `notifications/cancelled`: ends the listen that it names, if there is one.
    pub(super) fn cancelled(&mut self, params: &Object<'_>) {
        let id = params.get("requestId").and_then(Id::from_value);
        self.listens.retain(|listen| Some(&listen.id) != id.as_ref());
    }

    /// What everybody is told of lists, and of files, that have changed.
    pub(super) fn tell(&self, library: &View, lists: Lists, contents: Contents<'_>) -> Vec<Notification> {
        let mut notifications = Vec::new();
        let is_updated = |uri: &&String| contents.has(library, uri);
        if self.is_initialized {
            notifications.extend(Lists::ALL.methods(lists).map(|method| Notification::new(method, Map::new())));
            let updated = self.resources.iter().filter(is_updated);
            notifications.extend(updated.map(|uri| Notification::new(UPDATED, of_resource(uri))));
        }
        for listen in self.listens.iter().filter(|listen| listen.to_acknowledge.is_none()) {
            notifications.extend(listen.lists.methods(lists).map(|method| listen.notification(method, Map::new())));
            let updated = listen.resources.iter().filter(is_updated);
            notifications.extend(updated.map(|uri| listen.notification(UPDATED, of_resource(uri))));
        }
        notifications
    }
}

const UPDATED: &str = "notifications/resources/updated";

fn of_resource(uri: &str) -> Map<String, serde_json::Value> {
    Map::from_iter([("uri".to_owned(), json!(uri))])
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
    fn has(self, library: &View, uri: &str) -> bool {
        match self {
            Contents::Any => true,
            Contents::Of(changed) if changed.is_empty() => false,
            Contents::Of(changed) => match resources::names(uri).iter().position(|name| changed.contains(name)) {
                None => false,
                Some(0) => true,
                // It may mean this one only where there is none of the name before.
                Some(_) => resources::name_of(library, uri).is_none_or(|name| changed.contains(name.as_str())),
            },
        }
    }
}

/// The resources that a listen wants to hear of: those that may be ours, there now or later.
fn subscribed(wanted: &Object<'_>) -> Result<Option<BTreeSet<String>>, Error> {
    let uris = match wanted.get("resourceSubscriptions") {
        None => return Ok(None),
        Some(Value::List(uris)) => uris,
        Some(_) => return Err(Error::invalid_params("`notifications.resourceSubscriptions` must be an array")),
    };
    let mut known = BTreeSet::new();
    for uri in uris {
        let Some(uri) = uri.as_text() else {
            let shown = quoted(&Json::of(uri).map_err(Error::internal)?.into_text());
            let message = format!("{shown} in `notifications.resourceSubscriptions` is no string");
            return Err(Error::invalid_params(message));
        };
        if !resources::names(uri).is_empty() {
            known.insert(uri.to_owned());
        }
    }
    Ok(Some(known))
}

impl Listen {
    /// Says what the listener will hear of, once.
    fn acknowledge(&mut self) -> Option<Notification> {
        let params = self.to_acknowledge.take()?;
        Some(self.notification("notifications/subscriptions/acknowledged", params))
    }

    /// News for this listener, tagged with the id of its request.
    fn notification(&self, method: &str, mut params: Map<String, serde_json::Value>) -> Notification {
        params.insert("_meta".to_owned(), json!({ SUBSCRIPTION_ID: self.id }));
        Notification::new(method, params)
    }
}
