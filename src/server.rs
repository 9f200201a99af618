//! The server: a message in, at most one reply out, for any number of conversations. It moves no bytes: a transport does.
//!
//! [`Server::handle`] is the whole interface; notifications of changes go to each [`Listener`]. Below `handle`,
//! [`Server::dispatch`] is the one table of methods. What every method would repeat (the era, a panic, an error) is
//! handled there, so that a handler is a plain function that cannot forget to answer.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod completion;
mod editing;
mod editing_methods;
mod lifecycle;
mod notifier;
mod opencode;
mod page;
mod prompts;
mod resources;
mod session;
mod status;
mod subscriptions;
mod tools;

pub use lifecycle::{check_modern_version, legacy_version, modern_version};
pub use notifier::{Change, Listener};
pub use page::PAGE_SIZE;
pub use session::Session;
pub use subscriptions::{MAX_LISTENS, MAX_SUBSCRIBED, all_lists_changed, end_of_listen};
pub use tools::LEAST_LIMIT;

use crate::agents::{Agent, PartLimit, Unit};
use crate::jsonrpc::{Error, Id, Message, Notification, Object, Outgoing, Request, Response, read};
use crate::library::{Caller, Library, Role, Snapshot, View};
use crate::mcp;
use crate::wording::quoted;
use editing::Editing;
use lifecycle::{Era, Failure, FailureKind};
use notifier::Notifier;
use page::{Kind, Page};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tools::ServerTool;

/// The maximum total length of the responses to a batch, in bytes; the rest of the batch is refused.
pub const MAX_BATCH_RESPONSE: usize = 64 * 1024 * 1024;

/// The methods of all requests, of both eras, and how long each may take. For `tools/call`, the tool says it.
const METHODS: [(&str, Work); 18] = [
    ("completion/complete", Work::Blocking),
    ("initialize", Work::Quick),
    ("logging/setLevel", Work::Quick),
    ("ping", Work::Quick),
    ("prompts/create", Work::Edit),
    ("prompts/delete", Work::Edit),
    ("prompts/get", Work::Quick),
    ("prompts/list", Work::List),
    ("prompts/update", Work::Edit),
    ("resources/list", Work::List),
    ("resources/read", Work::Quick),
    ("resources/subscribe", Work::Quick),
    ("resources/templates/list", Work::Quick),
    ("resources/unsubscribe", Work::Quick),
    ("server/discover", Work::Quick),
    ("subscriptions/listen", Work::Blocking),
    ("tools/call", Work::Quick),
    ("tools/list", Work::List),
];

/// The names of all methods of requests.
pub fn methods() -> [&'static str; 18] {
    METHODS.map(|(name, _)| name)
}

/// Answers the requests of all conversations.
#[derive(Debug)]
pub struct Server {
    library: Arc<Library>,
    /// Those for editing included, which not every caller may call.
    tools: &'static [ServerTool],
    /// Whether the user of this machine may edit prompts.
    edit: bool,
    page_size: NonZeroUsize,
    /// For all clients; `None`: that of the agent, if it is known.
    result_limit: Option<PartLimit>,
    notifier: Option<Notifier>,
    /// Whether a folder of the library is on a network file system.
    is_on_network: OnceLock<bool>,
}

/// How long a message may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// It opens a few files at most. On a network file system, that is blocking.
    Quick,
    /// It scans folders, or waits for a network.
    Blocking,
    /// The same, and the answer to all equal requests is the same.
    List,
    /// It may wait several seconds for another process that writes to the folder of prompts.
    Edit,
    /// It may wait several seconds for the service that renders a prompt.
    Remote,
}

/// The reply to a message.
#[derive(Debug)]
pub enum Reply {
    /// Nothing: it was a notification, or a response.
    None,
    /// The response to a request, or to a batch.
    Response(Response),
    /// The acknowledgement of a request that stays open. What follows goes to the [`Listener`].
    Stream(Notification),
}

impl Server {
    /// A server of this library that sends no notifications of changes.
    pub fn new(library: Arc<Library>) -> Server {
        Server {
            library,
            tools: tools::TOOLS,
            edit: false,
            page_size: PAGE_SIZE,
            result_limit: None,
            notifier: None,
            is_on_network: OnceLock::new(),
        }
    }

    /// The library that it serves.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The same where the user of this machine may edit prompts. A token may in any case, if its role is [`Role::Write`] or more. To be
    /// called before [`with_notifications`](Server::with_notifications).
    pub fn with_editing(self, edit: bool) -> Server {
        Server { edit, ..self }
    }

    /// The same with this many prompts, or resources, in one page of a list.
    pub fn with_page_size(self, page_size: NonZeroUsize) -> Server {
        Server { page_size, ..self }
    }

    /// The same with results of `expand_prompt` that have at most so many characters in one part, [`LEAST_LIMIT`] at least, for
    /// all clients.
    pub fn with_result_limit(self, characters: Option<usize>) -> Server {
        let limit =
            characters.map(|max| PartLimit { max: max.max(LEAST_LIMIT), unit: Unit::Characters, is_printed: false });
        Server { result_limit: limit, ..self }
    }

    /// The same with notifications of changes. `warn` receives, once, the reason why they are delayed.
    pub fn with_notifications(self, warn: fn(&str)) -> Server {
        let notifier = Notifier::new(Arc::clone(&self.library), self.edit, warn);
        Server { notifier: Some(notifier), ..self }
    }

    /// Whether a caller may edit prompts.
    pub fn may_edit(&self, caller: &Caller) -> bool {
        may_edit(self.edit, caller)
    }

    /// The library at this moment, as a caller may see it.
    pub fn view(&self, caller: &Caller) -> View {
        self.library.view_for(caller).for_editing(self.may_edit(caller))
    }

    /// Adds a conversation, which is notified of changes until it is dropped.
    pub fn add_listener(&self, listener: &Arc<dyn Listener>) {
        if let Some(notifier) = &self.notifier {
            notifier.add(listener);
        }
    }

    /// Watches the library from now on, instead of from when a client first needs it.
    pub fn start_watching(&self) {
        self.watch();
    }

    /// How long the answer to a message of this caller may take.
    pub fn work(&self, caller: &Caller, message: &Message) -> Work {
        match message {
            Message::Request(request) => self.work_of_request(caller, request),
            Message::Notification { .. } | Message::Response => self.quick_unless_on_network(),
            Message::Batch(_) if self.library.view().has_remote() => Work::Remote,
            Message::Batch(_) => Work::Edit, // it may have an edit
        }
    }

    /// The name of the prompt that a request expands, as it is written; `None` for any other message.
    pub fn expanded_prompt(message: &Message) -> Option<&str> {
        let Message::Request(Request { method, params, .. }) = message else { return None };
        let params = match method.as_str() {
            "tools/call" => params.get("arguments")?.get("command"),
            _ => params.get("name"),
        };
        params.and_then(Value::as_str)
    }

    /// Whether a request is for a list, the answer to which is the same for all equal requests.
    pub fn is_for_list(&self, request: &Request) -> bool {
        self.work_in_table(request) == Some(Work::List)
    }

    /// As the tables of methods and tools have it; `None` for what is unknown.
    fn work_in_table(&self, Request { method, params, .. }: &Request) -> Option<Work> {
        match params.get("name").filter(|_| method == "tools/call").and_then(Value::as_str) {
            Some(name) => self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.work),
            None => METHODS.iter().find(|(name, _)| name == method).map(|(_, work)| *work),
        }
    }

    fn work_of_request(&self, caller: &Caller, request: &Request) -> Work {
        let Request { method, params, .. } = request;
        let work = self.work_in_table(request);
        let tool = params.get("name").and_then(Value::as_str);
        if let Some(work @ (Work::List | Work::Edit)) = work {
            return work;
        }
        let is_quick = match (method.as_str(), tool) {
            _ if self.quick_unless_on_network() == Work::Blocking => false,
            // The content of resources is compared with that in the list.
            ("subscriptions/listen", _) => listens_to_lists(params),
            // For an unknown name, all names are compared.
            ("tools/call", Some("expand_prompt")) => {
                self.is_known(caller, params.get("arguments").and_then(|arguments| arguments.get("command")))
            }
            ("prompts/get", _) => self.is_known(caller, params.get("name")),
            _ => work.is_none_or(|work| work == Work::Quick), // what is unknown is refused
        };
        let may_call = matches!((method.as_str(), tool), ("tools/call", Some("expand_prompt")) | ("prompts/get", _));
        match is_quick {
            true => Work::Quick,
            false if may_call && self.library.view().has_remote() => Work::Remote,
            false => Work::Blocking,
        }
    }

    /// Whether the prompt of this name was found before, and so will be again without a scan; without a name, the request is
    /// refused.
    fn is_known(&self, caller: &Caller, name: Option<&Value>) -> bool {
        name.and_then(Value::as_str).is_none_or(|name| self.view(caller).was_found(name))
    }

    fn quick_unless_on_network(&self) -> Work {
        let is_on_network = *self.is_on_network.get_or_init(|| self.library.is_on_network());
        if is_on_network { Work::Blocking } else { Work::Quick }
    }

    /// Answers a message of a conversation; a notification and a response get no answer.
    ///
    /// A request whose handler panics is answered with `-32603`.
    pub fn handle(&self, session: &mut Session, message: Message) -> Reply {
        match message {
            Message::Request(request) => self.request(session, request),
            Message::Notification { method, params } => {
                // Its sender gets no answer, not even after a panic.
                let _ = catch_unwind(AssertUnwindSafe(|| self.notification(session, &method, &params)));
                Reply::None
            }
            Message::Response => Reply::None,
            Message::Batch(messages) => self.batch(session, messages),
        }
    }

    fn notification(&self, session: &mut Session, method: &str, params: &Object) {
        match method {
            "notifications/initialized" if session.protocol_version.is_some() => {
                session.subscriptions.initialized();
                if let Some(notifier) = self.notifier.as_ref().filter(|_| session.was_shown_something()) {
                    notifier.start_and_announce_everything();
                }
            }
            "notifications/cancelled" => session.subscriptions.cancelled(params),
            _ => {}
        }
    }

    /// A batch. `initialize` and modern requests cannot be part of it.
    fn batch(&self, session: &mut Session, messages: Vec<Value>) -> Reply {
        if session.protocol_version != Some(lifecycle::WITH_BATCHES) {
            let message = format!("only protocol version {}, once negotiated, has batches", lifecycle::WITH_BATCHES);
            return Reply::Response(Response::error(None, Error::invalid_request(message)));
        }
        let mut length = 0;
        let responses = messages.into_iter().filter_map(|message| {
            let response = match Message::from_value(message) {
                // All responses go into one line, and are held until it is complete.
                Ok(Message::Request(request)) if length > MAX_BATCH_RESPONSE => {
                    let message = format!(
                        "the responses to this batch are longer than {MAX_BATCH_RESPONSE} bytes; send this request alone"
                    );
                    Response::error(Some(request.id), Era::Legacy.error(Failure::new(FailureKind::Internal, message)))
                }
                Ok(Message::Request(request))
                    if request.method == "initialize" || Era::of(&request.method, &request.params) == Era::Modern =>
                {
                    let message = format!("{} cannot be part of a batch", quoted(&request.method));
                    Response::error(Some(request.id), Error::invalid_request(message))
                }
                Ok(message) => match self.handle(session, message) {
                    Reply::Response(response) => response,
                    Reply::None | Reply::Stream(_) => return None, // only a modern request opens a stream
                },
                Err(refusal) => refusal,
            };
            let json = response.to_json().ok()?;
            length += json.get().len();
            Some(json)
        });
        let responses: Vec<_> = responses.collect();
        if responses.is_empty() { Reply::None } else { Reply::Response(Response::batch(responses)) }
    }

    fn request(&self, session: &mut Session, request: Request) -> Reply {
        let Request { id, method, params } = request;
        tracing::trace!(id = %lifecycle::logged(&id), ?method, params = %lifecycle::logged(&params), "request");
        let start = tracing::enabled!(tracing::Level::DEBUG).then(Instant::now);
        let era = Era::of(&method, &params);
        // A handler that panics leaves the session consistent: it changes the session last, and in one step.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch(session, era, &id, &method, &params)));
        let outcome = outcome.unwrap_or_else(|_| {
            tracing::error!(?method, "the request failed because of a bug");
            let message = format!("{} failed; the reason is on the server's standard error", quoted(&method));
            Err(Failure::new(FailureKind::Internal, message))
        });
        let outcome = outcome.map_err(|failure| era.error(failure));
        if let Some(start) = start {
            let error = outcome.as_ref().err().map(|error| error.message.as_str());
            tracing::debug!(id = %lifecycle::logged(&id), ?method, took = ?start.elapsed(), error, "answered");
        }
        outcome.unwrap_or_else(|error| Reply::Response(Response::error(Some(id), error)))
    }

    /// Called before a legacy client is shown something that it may cache until it is notified of a change.
    fn watch_for(&self, session: &Session) {
        if session.subscriptions.is_initialized() {
            self.watch();
        }
    }

    /// A snapshot of the library for a legacy client that is shown all of it in one page; more would delay the page. It is
    /// taken before the page is made, so that a change between the two may be announced twice, but is not missed.
    fn snapshot_of_one_page(&self, session: &Session, view: &View, size: NonZeroUsize) -> Option<Snapshot> {
        let is_wanted = self.notifier.is_some() && session.protocol_version.is_some() && !session.is_one_request;
        (is_wanted && view.list().entries.len() <= size.get()).then(|| Snapshot::of(view))
    }

    fn watch(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.start();
        }
    }

    /// What a caller who may edit prompts can do in their conversation; `Err` says what others need.
    fn editing<'s>(&'s self, session: &'s mut Session, agent: Option<&Agent>) -> Result<Editing<'s>, String> {
        let Session { caller, seen, .. } = session;
        if !self.may_edit(caller) {
            return Err(how_to_edit(caller));
        }
        let author = caller.token.as_ref().map(|token| Arc::clone(&token.name)).or_else(|| Some(agent?.name.into()));
        let limit = self.result_limit.or_else(|| agent?.part);
        Ok(Editing { server: self, caller, author, seen, limit })
    }

    /// The table of methods.
    fn dispatch(
        &self,
        session: &mut Session,
        era: Era,
        id: &Id,
        method: &str,
        params: &Object,
    ) -> Result<Reply, Failure> {
        use lifecycle::FRESH;
        era.check(params)?;
        let page = |kind, size| Page::requested(kind, size, read(params)?);
        let agent = era.agent(params).or(session.agent);
        let needed = |to_edit: String| Failure::new(FailureKind::MethodNotFound, format!("{method}; {to_edit}"));
        let version = session.protocol_version.filter(|_| era == Era::Legacy);
        let may_edit = self.may_edit(&session.caller);
        if may_edit && !session.is_one_request {
            session.seen.remember();
        }
        let view = &self.view(&session.caller);
        let response = match (method, era) {
            ("initialize", Era::Legacy) => {
                let result =
                    lifecycle::initialize(&mut session.protocol_version, params, !session.is_one_request, may_edit)?;
                session.agent = lifecycle::agent(result.client_info.as_ref());
                session.subscriptions.initialize();
                (session.shown, session.lists, session.seen) = Default::default();
                era.response(id, result, None)
            }
            ("ping", Era::Legacy) => era.response(id, mcp::Empty {}, None),
            ("logging/setLevel", Era::Legacy) => era.response(id, lifecycle::set_level(read(params)?)?, None),
            ("server/discover", Era::Modern) => lifecycle::discover(id),
            ("tools/list", _) => {
                page::only_page(read(params)?)?;
                self.watch_for(session);
                let names = view.names();
                if !session.is_one_request {
                    session.shown_list(|lists| &mut lists.tools, Some(tools::descriptions_hash(&names)));
                }
                era.response(
                    id,
                    tools::list(self.tools, &names, may_edit, self.library.view().has_remote()),
                    Some(FRESH),
                )
            }
            ("tools/call", _) => {
                let limit = self.result_limit.or_else(|| agent?.part);
                let editing = self.editing(session, agent);
                era.response(id, tools::call(self.tools, view, era, limit, editing, params)?, None)
            }
            ("prompts/list", _) => {
                let list: mcp::ListPromptsParams<'_> = read(params)?;
                let page =
                    page(prompts::kind(&list), list.limit.map_or(self.page_size, |limit| self.page_size.min(limit)))?;
                self.watch_for(session);
                let snapshot = self.snapshot_of_one_page(session, view, page.size);
                session.shown_list(|lists| &mut lists.prompts, snapshot.map(|snapshot| snapshot.listing_hash()));
                era.response(
                    id,
                    prompts::list(view, &page, list.filter.as_ref(), version, &mut session.seen),
                    Some(FRESH),
                )
            }
            ("prompts/get", _) => era.response(id, prompts::get(view, agent, version, read(params)?)?, None),
            ("resources/list", _) => {
                let page = page(Kind::Resources, self.page_size)?;
                self.watch_for(session);
                let snapshot = self.snapshot_of_one_page(session, view, page.size);
                session.shown_list(|lists| &mut lists.resources, snapshot.map(|snapshot| snapshot.contents_hash()));
                era.response(id, resources::list(view, &page, &mut session.seen), Some(FRESH))
            }
            ("resources/templates/list", _) => {
                page::only_page(read(params)?)?;
                era.response(id, resources::templates(), Some(FRESH))
            }
            ("resources/read", _) => {
                self.watch_for(session);
                let params: mcp::ResourceParams<'_> = read(params)?;
                session.subscriptions.shown(view, params.uri);
                era.response(id, resources::read(view, params, &mut session.seen)?, Some(FRESH))
            }
            ("resources/subscribe", Era::Legacy) if !session.is_one_request => {
                self.watch_for(session);
                session.subscriptions.subscribe(view, read(params)?)?;
                era.response(id, mcp::Empty {}, None)
            }
            ("resources/unsubscribe", Era::Legacy) if !session.is_one_request => {
                session.subscriptions.unsubscribe(read(params)?);
                era.response(id, mcp::Empty {}, None)
            }
            ("subscriptions/listen", Era::Modern) => {
                self.watch();
                let acknowledgement = session.subscriptions.listen(view, id, read(params)?)?;
                return Ok(Reply::Stream(acknowledgement));
            }
            ("prompts/create", _) => {
                let mut editing = self.editing(session, agent).map_err(needed)?;
                era.response(id, editing_methods::create(&mut editing, params)?, None)
            }
            ("prompts/update", _) => {
                let mut editing = self.editing(session, agent).map_err(needed)?;
                era.response(id, editing_methods::update(&mut editing, params)?, None)
            }
            ("prompts/delete", _) => {
                let mut editing = self.editing(session, agent).map_err(needed)?;
                era.response(id, editing_methods::delete(&mut editing, params)?, None)
            }
            ("completion/complete", _) => era.response(id, completion::complete(view, read(params)?)?, None),
            _ => return Err(Failure::new(FailureKind::MethodNotFound, quoted(method))),
        };
        Ok(Reply::Response(response))
    }
}

/// Whether a caller may edit prompts, on a server where the user of this machine may, or may not.
fn may_edit(edit: bool, caller: &Caller) -> bool {
    caller.role >= Role::Write && (edit || caller.token.is_some())
}

/// What is needed for a caller to edit prompts, who may not.
fn how_to_edit(caller: &Caller) -> String {
    let role = caller.role.as_str();
    match caller.token {
        None => "start the server with --edit".to_owned(),
        Some(_) => format!("to edit prompts, a token needs the role `write`, and yours has `{role}`"),
    }
}

/// Whether a `subscriptions/listen` is for lists only.
fn listens_to_lists(params: &Object) -> bool {
    params.get("notifications").is_none_or(|notifications| notifications.get("resourceSubscriptions").is_none())
}

#[cfg(test)]
mod tests;
