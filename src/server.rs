//! The server: a message in, at most one out; and news, when the library has changed. It holds a library, and moves no
//! bytes: a transport does.
//!
//! [`Server::handle`] and [`Server::library_changed`] are the whole interface. Below them, [`Server::dispatch`] is the
//! one table of methods; what every method would repeat (the era, a panic, an error) is settled there, so that a handler
//! is a plain function that cannot forget to answer.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod completion;
mod lifecycle;
mod news;
mod page;
mod prompts;
mod resources;
mod subscriptions;
mod tools;

pub use page::PAGE_SIZE;
pub use subscriptions::{MAX_LISTENS, MAX_SUBSCRIBED};

use crate::json::{Json, Object, Value};
use crate::jsonrpc::{Error, Id, Message, Notification, Outgoing, Request, Response};
use crate::library::{Hooks, Library};
use crate::mcp;
use crate::wording::quoted;
use lifecycle::Era;
use news::News;
use page::{Kind, Page};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tools::ServerTool;

/// How long the answers to a batch may become, in bytes, before the rest of it is refused.
pub const MAX_BATCH_ANSWER: usize = 64 * 1024 * 1024;

/// Answers the requests of one pipe.
#[derive(Debug)]
pub struct Server {
    library: Arc<Library>,
    tools: &'static [ServerTool],
    page_size: NonZeroUsize,
    /// What the last `initialize` settled. Requests of the modern era never ask.
    negotiated: Option<&'static str>,
    news: News,
}

/// What comes of a request that went well.
enum Reply {
    Result(Json),
    /// It stays open. It is acknowledged at once, or later by [`Server::library_changed`].
    Open(Option<Notification>),
}

impl Server {
    /// A server of this library. It is watched, from when somebody wants to hear of changes, if there are hooks.
    pub fn new(library: impl Into<Arc<Library>>, hooks: Option<Hooks>) -> Server {
        let library = library.into();
        Server { library, tools: tools::TOOLS, page_size: PAGE_SIZE, negotiated: None, news: News::new(hooks) }
    }

    /// The same with this many prompts, or resources, in one page of a list.
    pub fn with_page_size(self, page_size: NonZeroUsize) -> Server {
        Server { page_size, ..self }
    }

    /// Answers a message; a notification and a response get no answer.
    ///
    /// A request that makes us panic is answered with `-32603`.
    pub fn handle(&mut self, message: Message<'_>) -> Option<Outgoing> {
        match message {
            Message::Request(request) => self.answer(request),
            Message::Notification { method, params } => {
                // Whoever sent it is told nothing, not even that we failed.
                let heard = catch_unwind(AssertUnwindSafe(|| self.hear(&method, &params)));
                heard.ok().and(None)
            }
            Message::Response => None,
            Message::Batch(elements) => self.batch(elements).map(Outgoing::Response),
        }
    }

    /// Whether the answer may take long, since the whole library is looked at, so that nobody else should wait for it.
    pub fn may_take_long(message: &Message<'_>) -> bool {
        match message {
            Message::Request(Request { method, params, .. }) => {
                let is_expansion = *method == "tools/call" && params.text("name") == Ok(Some(tools::EXPAND_PROMPT));
                !is_expansion && *method != "ping"
            }
            Message::Batch(_) => true,
            Message::Notification { .. } | Message::Response => false,
        }
    }

    /// Whether there may be news: the hooks may have been called, or be called from now on.
    pub fn is_watching(&self) -> bool {
        self.news.is_watching()
    }

    /// After how much quiet [`Server::library_changed`] is to be called, although no hook was: a watch is due then.
    pub fn quiet(&self) -> Option<Duration> {
        self.news.quiet()
    }

    /// What everybody is to be told, now that a hook has said that there is news, or that it was quiet.
    pub fn library_changed(&mut self) -> Vec<Notification> {
        let told = catch_unwind(AssertUnwindSafe(|| self.news.library_changed(self.tools, &self.library)));
        let told = told.unwrap_or_default(); // standard error has the reason
        for notification in &told {
            tracing::info!(method = notification.method, "told the client");
        }
        told
    }

    fn hear(&mut self, method: &str, params: &Object<'_>) {
        match method {
            // Only a conversation that was opened can have been.
            "notifications/initialized" if self.negotiated.is_some() => self.news.initialized(&self.library),
            "notifications/cancelled" => self.news.cancelled(params),
            _ => {}
        }
    }

    /// A batch. What opens a conversation, or is modern, cannot be part of it.
    fn batch(&mut self, elements: Vec<Value<'_>>) -> Option<Response> {
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
                    let (answer, length) = answer.written();
                    written += length;
                    Some(answer)
                }
                Outgoing::Notification(_) => None, // only of what is modern
            },
            Err(refusal) => Some(refusal),
        });
        let answers: Vec<Response> = answers.collect();
        (!answers.is_empty()).then_some(Response::batch(answers))
    }

    fn answer(&mut self, request: Request<'_>) -> Option<Outgoing> {
        let Request { id, method, params } = request;
        tracing::trace!(id = %lifecycle::wire(&id), ?method, params = %lifecycle::wire(&params), "asked");
        let start = tracing::enabled!(tracing::Level::DEBUG).then(Instant::now);
        // What a panic leaves behind is whole: what a request changes of ours, it changes last, and at once.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch(&id, &method, &params))).unwrap_or_else(|_| {
            tracing::error!(?method, "the request failed through a fault of ours");
            Err(Error::internal(format!("{} failed; the reason is on the server's standard error", quoted(&method))))
        });
        if let Some(start) = start {
            let error = outcome.as_ref().err().map(|error| error.message.as_str());
            tracing::debug!(id = %lifecycle::wire(&id), ?method, took = ?start.elapsed(), error, "answered");
        }
        match outcome {
            Ok(Reply::Result(result)) => Some(Response::result(id, result).into()),
            Ok(Reply::Open(acknowledgement)) => acknowledgement.map(Outgoing::Notification),
            Err(error) => Some(Response::error(Some(id), error).into()),
        }
    }

    /// The table of methods.
    fn dispatch(&mut self, id: &Id, method: &str, params: &Object<'_>) -> Result<Reply, Error> {
        use lifecycle::{CONSTANT, FRESH};
        let era = lifecycle::era(method, params)?;
        let page = |kind| Page::requested(kind, self.page_size, params);
        let library = &self.library;
        let result = match (method, era) {
            ("initialize", Era::Legacy) => {
                let result = lifecycle::initialize(&mut self.negotiated, params)?;
                self.news.initialize();
                era.result(&result, None)
            }
            ("ping", Era::Legacy) => era.result(&mcp::Empty {}, None),
            ("logging/setLevel", Era::Legacy) => era.result(&lifecycle::set_level(params)?, None),
            ("server/discover", Era::Modern) => era.result(&lifecycle::discover(), Some(CONSTANT)),
            ("tools/list", _) => {
                page::only_page(params)?;
                self.news.will_serve_tools(library);
                let listed = tools::list(self.tools, &library.view());
                self.news.tools_listed(&listed);
                era.result(&listed, Some(FRESH))
            }
            ("tools/call", _) => era.envelop(tools::call(self.tools, &library.view(), era, params)?, None),
            ("prompts/list", _) => {
                self.news.will_serve(library);
                era.result(&prompts::list(&library.view(), &page(Kind::Prompts)?), Some(FRESH))
            }
            ("prompts/get", _) => era.result(&prompts::get(&library.view(), params)?, None),
            ("resources/list", _) => {
                self.news.will_serve(library);
                era.result(&resources::list(&library.view(), &page(Kind::Resources)?), Some(FRESH))
            }
            ("resources/templates/list", _) => {
                page::only_page(params)?;
                era.result(&resources::templates(), Some(FRESH))
            }
            ("resources/read", _) => {
                self.news.will_serve(library);
                era.result(&resources::read(&library.view(), era, params)?, Some(FRESH))
            }
            ("resources/subscribe", Era::Legacy) => era.result(&self.news.subscribe(library, params)?, None),
            ("resources/unsubscribe", Era::Legacy) => era.result(&self.news.unsubscribe(params)?, None),
            ("subscriptions/listen", Era::Modern) => return self.news.listen(library, id, params).map(Reply::Open),
            ("completion/complete", _) => era.result(&completion::complete(&library.view(), params)?, None),
            _ => Err(Error::method_not_found(quoted(method))),
        };
        result.map(Reply::Result)
    }
}

#[cfg(test)]
mod tests;
