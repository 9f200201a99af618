//! The server: a message in, at most one response out. It holds a library and does no input or output of its own.
//!
//! [`Server::handle`] is the whole interface. Below it, [`Server::dispatch`] is the one table of methods; what every
//! method would repeat (the era, a panic, an error) is settled there, so that a handler is a plain function that
//! cannot forget to answer.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod lifecycle;
mod tools;

use crate::jsonrpc::{Error, Message, Request, Response};
use crate::library::Library;
use crate::mcp;
use crate::wording::quoted;
use lifecycle::Era;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tools::ServerTool;

/// How long the answers to a batch may become, in bytes, before the rest of it is refused.
pub const MAX_BATCH_ANSWER: usize = 64 * 1024 * 1024;

/// Answers the requests of one client.
#[derive(Debug)]
pub struct Server {
    library: Library,
    tools: &'static [ServerTool],
    /// What the last `initialize` settled. Requests of the modern era never ask.
    negotiated: Option<&'static str>,
}

impl Server {
    /// A server of this library.
    pub fn new(library: Library) -> Server {
        Server { library, tools: tools::TOOLS, negotiated: None }
    }

    /// Answers a message; a notification and a response get no answer.
    ///
    /// A request that makes us panic is answered with `-32603`.
    pub fn handle(&mut self, message: Message) -> Option<Response> {
        match message {
            Message::Request(request) => Some(self.answer(request)),
            Message::Notification | Message::Response => None,
            Message::Batch(elements) => self.batch(elements),
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
            Ok(message) => self.handle(message).inspect(|answer| written += answer.length()),
            Err(refusal) => Some(refusal),
        });
        let answers: Vec<Response> = answers.collect();
        (!answers.is_empty()).then_some(Response::batch(answers))
    }

    fn answer(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        // What a panic leaves behind is whole: a request changes nothing but `negotiated`, and that at once.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch(&method, params))).unwrap_or_else(|_| {
            Err(Error::internal(format!("{} failed; the reason is on the server's standard error", quoted(&method))))
        });
        match outcome {
            Ok(result) => Response::result(id, result),
            Err(error) => Response::error(Some(id), error),
        }
    }

    /// The table of methods.
    fn dispatch(&mut self, method: &str, params: Map<String, Value>) -> Result<Box<RawValue>, Error> {
        let era = lifecycle::era(method, &params)?;
        if LISTS.contains(&method) {
            only_page(&params)?;
        }
        match (method, era) {
            ("initialize", Era::Legacy) => era.result(&lifecycle::initialize(&mut self.negotiated, params)?, None),
            ("ping", Era::Legacy) => era.result(&mcp::Empty {}, None),
            ("server/discover", Era::Modern) => era.result(&lifecycle::discover(), Some(lifecycle::CONSTANT)),
            ("tools/list", _) => era.result(&tools::list(self.tools, &self.library), Some(lifecycle::FRESH)),
            ("tools/call", _) => era.result(&tools::call(self.tools, &self.library, era, params)?, None),
            // Clients ask for these whatever is declared.
            ("prompts/list", _) => era.result(&mcp::ListPromptsResult::default(), Some(lifecycle::FRESH)),
            ("resources/list", _) => era.result(&mcp::ListResourcesResult::default(), Some(lifecycle::FRESH)),
            ("resources/templates/list", _) => {
                era.result(&mcp::ListResourceTemplatesResult::default(), Some(lifecycle::FRESH))
            }
            _ => Err(Error::method_not_found(quoted(method))),
        }
    }
}

const LISTS: [&str; 4] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/// Every list has one page, so every cursor is one that we never gave out.
fn only_page(params: &Map<String, Value>) -> Result<(), Error> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(Error::invalid_params("`cursor` is unknown; this list has one page")),
    }
}

#[cfg(test)]
mod tests;
