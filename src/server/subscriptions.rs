//! Which changes a conversation is notified of.
//!
//! A legacy client is notified of all lists once it has sent `notifications/initialized`, and of the resources that it
//! subscribed to. A modern one asks with `subscriptions/listen`, a request that stays open: its notifications carry the
//! id of the request, so that several may share a pipe (2026-07-28, "Subscriptions").

use super::lifecycle::Era;
use super::notifier::Change;
use super::resources;
use crate::json::{Json, Object, Value};
use crate::jsonrpc::{Error, Id, Notification};
use crate::library::Library;
use crate::wording::quoted;
use serde_json::{Map, json};
use std::collections::BTreeSet;

/// How many `subscriptions/listen` may be open at once.
pub const MAX_LISTENS: usize = 1_000;

/// How many resources may be subscribed to at once, in all.
pub const MAX_SUBSCRIBED: usize = 10_000;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The subscriptions of one conversation.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether a legacy client has finished its handshake.
    is_initialized: bool,
    /// The URIs that it subscribed to, as it wrote them.
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
}

/// The lists of the protocol: those that somebody subscribed to, or those that changed.
#[derive(Debug, Clone, Copy, Default)]
struct Lists {
    tools: bool,
    prompts: bool,
    resources: bool,
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
    pub(super) fn subscribe(&mut self, library: &Library, params: &Object<'_>) -> Result<(), Error> {
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

    /// `subscriptions/listen`: opens it; gives its acknowledgement.
    ///
    /// # Errors
    /// `-32602` for invalid params; `-32600` for the id of one that is open, and for too many.
    pub(super) fn listen(&mut self, id: &Id, params: &Object<'_>) -> Result<Notification, Error> {
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
        let listen = Listen { id: id.clone(), lists, resources: resources.unwrap_or_default() };
        let params = Map::from_iter([("notifications".to_owned(), serde_json::Value::Object(honored))]);
        let acknowledgement = listen.notification("notifications/subscriptions/acknowledged", params);
        self.listens.push(listen);
        Ok(acknowledgement)
    }

    /// `notifications/cancelled`: ends the listen that it names, if there is one.
    pub(super) fn cancelled(&mut self, params: &Object<'_>) {
        let id = params.get("requestId").and_then(Id::from_value);
        self.listens.retain(|listen| Some(&listen.id) != id.as_ref());
    }

    /// The notifications of a change; `tools`: whether the list of tools changed for this conversation.
    pub(super) fn notifications(&self, change: &Change, tools: bool) -> Vec<Notification> {
        let changed = Lists { tools, prompts: change.prompts(), resources: change.resources() };
        let is_updated = |uri: &&String| change.updates(uri);
        let mut notifications = Vec::new();
        if self.is_initialized {
            notifications.extend(Lists::ALL.methods(changed).map(|method| Notification::new(method, Map::new())));
            let updated = self.resources.iter().filter(is_updated);
            notifications.extend(updated.map(|uri| Notification::new(UPDATED, of_resource(uri))));
        }
        for listen in &self.listens {
            notifications.extend(listen.lists.methods(changed).map(|method| listen.notification(method, Map::new())));
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

/// The resources of a listen: the URIs that can be prompts, now or later.
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
    /// A notification, tagged with the id of the request.
    fn notification(&self, method: &str, mut params: Map<String, serde_json::Value>) -> Notification {
        params.insert("_meta".to_owned(), json!({ SUBSCRIPTION_ID: self.id }));
        Notification::new(method, params)
    }
}
