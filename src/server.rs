//! The server: a message in, at most one out; and news, when the library has changed. It holds a library and does no
//! input or output of its own.
//!
//! [`Server::handle`] and [`Server::library_changed`] are the whole interface. Below them, [`Server::dispatch`] is the
//! one table of methods; what every method would repeat (the era, a panic, an error) is settled there, so that a handler
//! is a plain function that cannot forget to answer.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod completion;
mod lifecycle;
mod page;
mod prompts;
mod resources;
mod subscriptions;
mod tools;

pub use page::PAGE_SIZE;
pub use subscriptions::{MAX_LISTENS, MAX_SUBSCRIBED};

use crate::jsonrpc::{Error, Id, Message, Notification, Outgoing, Request, Response};
use crate::library::{Hooks, Library, Watch};
use crate::mcp;
use crate::wording::quoted;
use lifecycle::Era;
use page::{Kind, Page};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use subscriptions::{Lists, Subscriptions};
use tools::ServerTool;

/// How long the answers to a batch may become, in bytes, before the rest of it is refused.
pub const MAX_BATCH_ANSWER: usize = 64 * 1024 * 1024;

/// Answers the requests of one pipe.
#[derive(Debug)]
pub struct Server {
    library: Library,
    tools: &'static [ServerTool],
    page_size: NonZeroUsize,
    /// What the last `initialize` settled. Requests of the modern era never ask.
    negotiated: Option<&'static str>,
    subscriptions: Subscriptions,
    /// For the watch, until there is one.
    hooks: Option<Hooks>,
    /// Set when somebody first wants to hear of changes.
    watch: Option<Watch>,
    /// What the descriptions of the tools said when somebody who hears of changes last asked, or was told.
    described: Option<Vec<String>>,
}

/// What comes of a request that went well.
enum Reply {
    Result(Box<RawValue>),
    /// It stays open. It is acknowledged at once, or by [`Server::library_changed`] as soon as the watch is ready.
    Open(Option<Notification>),
}

impl Server {
    /// A server of this library. It is watched, from when somebody wants to hear of changes, if there are hooks.
    pub fn new(library: Library, hooks: Option<Hooks>) -> Server {
        Server {
            library,
            tools: tools::TOOLS,
            page_size: PAGE_SIZE,
            negotiated: None,
            subscriptions: Subscriptions::default(),
            hooks,
            watch: None,
            described: None,
        }
    }

    /// The same with this many prompts, or resources, in one page of a list.
    pub fn with_page_size(self, page_size: NonZeroUsize) -> Server {
        Server { page_size, ..self }
    }

    /// Answers a message; a notification and a response get no answer.
    ///
    /// A request that makes us panic is answered with `-32603`.
    pub fn handle(&mut self, message: Message) -> Option<Outgoing> {
        match message {
            Message::Request(request) => self.answer(request),
            Message::Notification(notification) => {
                self.hear(&notification);
                None
            }
            Message::Response => None,
            Message::Batch(elements) => self.batch(elements).map(Outgoing::Response),
        }
    }

    /// Whether there may be news: the hooks may have been called, or be called from now on.
    pub fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// What everybody is to be told, now that a hook has said that there is news: that their changes will be told from
    /// now on, and what has changed.
    pub fn library_changed(&mut self) -> Vec<Notification> {
        let mut notifications = if self.is_ready() { self.subscriptions.acknowledge() } else { Vec::new() };
        let Some(changes) = self.watch.as_ref().map(Watch::take_changes) else { return notifications };
        let mut lists = Lists { tools: false, prompts: changes.listing, resources: changes.listed_contents };
        if changes.names || (changes.begun && self.described.is_some()) {
            let now = Some(tools::descriptions(self.tools, &self.library));
            lists.tools = self.described != now;
            self.described = now;
        }
        notifications.extend(self.subscriptions.tell(lists, &changes.contents));
        notifications
    }

    /// Whether every change from now on will be told.
    fn is_ready(&self) -> bool {
        match &self.watch {
            Some(watch) => watch.is_ready(),
            None => self.hooks.is_none(),
        }
    }

    fn hear(&mut self, Notification { method, params, .. }: &Notification) {
        match method.as_str() {
            // Only a conversation that was opened can have been.
            "notifications/initialized" if self.negotiated.is_some() => {
                self.subscriptions.initialized();
                self.watch();
            }
            "notifications/cancelled" => self.subscriptions.cancelled(params),
            _ => {}
        }
    }

    /// Sees to it that changes will be told.
    fn watch(&mut self) {
        if let Some(hooks) = self.hooks.take() {
            self.watch = Some(Watch::start(self.library.clone(), hooks));
        }
    }

    /// Waits, if the library is watched, until every change from now on will be told: what is read next is compared
    /// with what comes later.
    fn wait_for_the_watch(&self) {
        if let Some(watch) = &self.watch {
            watch.wait_until_ready();
        }
    }

    /// A batch. What opens a conversation, or is modern, cannot be part of it.
    fn batch(&mut self, elements: Vec<Value>) -> Option<Response> {
        if self.negotiated != Some(lifecycle::WITH_BATCHES) {
            let message = format!("only revision {}, once negotiated, has batches", lifecycle::WITH_BATCHES);
            return Some(Response::error(None, Error::invalid_request(message)));
        }
        let mut written = 0;
        let answers = elements.into_iter().filter_map(|element| match Message::from_value(element) {
            // All answers go into one line, and are held until it is complete.
            Ok(Message::Request(request)) if written > MAX_BATCH_ANSWER => {
                let message =
                    format!("the answers to this batch are longer than {MAX_BATCH_ANSWER} bytes; ask again alone");
                Some(Response::error(Some(request.id), Error::internal(message)))
            }
            Ok(Message::Request(request))
                if request.method == "initialize" || lifecycle::is_modern(&request.method, &request.params) =>
            {
                let message = format!("{} cannot be part of a batch", quoted(&request.method));
                Some(Response::error(Some(request.id), Error::invalid_request(message)))
            }
            Ok(message) => match self.handle(message)? {
                Outgoing::Response(answer) => {
                    written += answer.length();
                    Some(answer)
                }
                Outgoing::Notification(_) => None, // only of what is modern
            },
            Err(refusal) => Some(refusal),
        });
        let answers: Vec<Response> = answers.collect();
        (!answers.is_empty()).then_some(Response::batch(answers))
    }

    fn answer(&mut self, request: Request) -> Option<Outgoing> {
        let Request { id, method, params } = request;
        // What a panic leaves behind is whole: each request changes one thing of ours at most, and that at once.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch(&id, &method, params))).unwrap_or_else(|_| {
            Err(Error::internal(format!("{} failed; the reason is on the server's standard error", quoted(&method))))
        });
        match outcome {
            Ok(Reply::Result(result)) => Some(Response::result(id, result).into()),
            Ok(Reply::Open(acknowledgement)) => acknowledgement.map(Outgoing::Notification),
            Err(error) => Some(Response::error(Some(id), error).into()),
        }
    }

    /// The table of methods.
    fn dispatch(&mut self, id: &Id, method: &str, params: Map<String, Value>) -> Result<Reply, Error> {
        use lifecycle::{CONSTANT, FRESH};
        let era = lifecycle::era(method, &params)?;
        let page = |kind| Page::requested(kind, self.page_size, &params);
        let library = &self.library;
        let result = match (method, era) {
            ("initialize", Era::Legacy) => {
                let result = lifecycle::initialize(&mut self.negotiated, params)?;
                self.subscriptions.initialize();
                era.result(&result, None)
            }
            ("ping", Era::Legacy) => era.result(&mcp::Empty {}, None),
            ("logging/setLevel", Era::Legacy) => era.result(&lifecycle::set_level(&params)?, None),
            ("server/discover", Era::Modern) => era.result(&lifecycle::discover(), Some(CONSTANT)),
            ("tools/list", _) => {
                page::only_page(&params)?;
                if self.described.is_none() && self.subscriptions.are_any() {
                    self.described = Some(tools::descriptions(self.tools, library));
                }
                era.result(&tools::list(self.tools, library), Some(FRESH))
            }
            ("tools/call", _) => era.result(&tools::call(self.tools, library, era, params)?, None),
            ("prompts/list", _) => {
                self.wait_for_the_watch();
                era.result(&prompts::list(library, &page(Kind::Prompts)?), Some(FRESH))
            }
            ("prompts/get", _) => era.result(&prompts::get(library, params)?, None),
            ("resources/list", _) => {
                self.wait_for_the_watch();
                era.result(&resources::list(library, &page(Kind::Resources)?), Some(FRESH))
            }
            ("resources/templates/list", _) => {
                page::only_page(&params)?;
                era.result(&resources::templates(), Some(FRESH))
            }
            ("resources/read", _) => era.result(&resources::read(library, era, &params)?, Some(FRESH)),
            ("resources/subscribe", Era::Legacy) => {
                let result = self.subscriptions.subscribe(library, &params)?;
                self.watch();
                self.wait_for_the_watch();
                era.result(&result, None)
            }
            ("resources/unsubscribe", Era::Legacy) => era.result(&self.subscriptions.unsubscribe(&params)?, None),
            ("subscriptions/listen", Era::Modern) => {
                let acknowledgement = self.subscriptions.listen(id, &params, self.is_ready())?;
                self.watch();
                return Ok(Reply::Open(acknowledgement));
            }
            ("completion/complete", _) => era.result(&completion::complete(library, &params)?, None),
            _ => Err(Error::method_not_found(quoted(method))),
        };
        result.map(Reply::Result)
    }
}

#[cfg(test)]
mod tests;
