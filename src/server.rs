//! The server: a message in, at most one reply out, for any number of conversations. It moves no
//! bytes, and never waits: a transport does both.
//!
//! [`Server::handle`] answers a message, and each [`Listener`] gets the notifications of changes.
//! `METHODS` is the table of methods. What every method would repeat (the era, who may call it, a
//! panic, an error) is done here, so that a handler is a plain function that cannot forget to
//! answer.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod completion;
mod context;
mod era;
mod failure;
mod notifier;
mod pagination;
mod prompt_edits;
mod prompts;
mod reply;
mod resources;
mod session;
mod subscriptions;
mod tools;

pub use crate::library::Change;
pub use context::{PAGE_SIZE, Settings};
pub use era::{Era, check_modern_version, legacy_version, modern_version};
pub use notifier::Listener;
pub use reply::{Job, LongestWait, Reply};
pub use session::Session;
pub use subscriptions::{MAX_LISTENS, MAX_SUBSCRIBED, all_lists_changed, listen_result};
pub use tools::MIN_PART_LIMIT;

use crate::jsonrpc::{Error, Id, Json, Message, Object, Request, Response, read_object};
use crate::library::{Caller, Library, Role, View};
use crate::mcp::CancelledParams;
use crate::wording::{format_size, quoted};
use context::{Context, Shared, to_log_json};
use era::{CachePolicy, VERSION_WITH_BATCHES, VOLATILE};
use failure::{Failure, FailureKind};
use reply::{Outcome, PendingRequest};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum total length of the results of a batch, in bytes; the rest of the batch is refused.
pub const MAX_BATCH_RESPONSE: usize = 64 * 1024 * 1024;

/// For how long the requests of a batch are handled: the batch keeps its thread, also when its
/// client is gone.
const BATCH_WITHIN: Duration = Duration::from_secs(30);

/// Answers the requests of all conversations.
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// Creates a server of a library.
    pub fn new(library: Arc<Library>, settings: Settings) -> Server {
        Server {
            shared: Arc::new(Shared::new(library, settings)),
        }
    }

    /// Returns the library that is served.
    pub fn library(&self) -> &Library {
        &self.shared.library
    }

    /// Returns whether a caller may edit prompts.
    pub fn may_edit(&self, caller: &Caller) -> bool {
        self.shared.may_edit(caller)
    }

    /// Returns the library at this moment, as a caller may see it.
    pub fn view(&self, caller: &Caller) -> View {
        self.shared.view(caller)
    }

    /// Adds a conversation, which is notified of changes until it is dropped.
    pub fn add_listener(&self, listener: &Arc<dyn Listener>) {
        if let Some(notifier) = &self.shared.notifier {
            notifier.add(listener);
        }
    }

    /// Watches the library from now on, instead of from when a client first needs it.
    pub fn start_watching(&self) {
        self.shared.watch();
    }

    /// Answers a message of a conversation; a notification and a response get no answer.
    pub fn handle(&self, session: &mut Session, message: Message) -> Reply {
        match message {
            Message::Request(request) => self.request(session, request),
            Message::Notification { method, params } => {
                self.notification(session, &method, &params)
            }
            Message::Response => Reply::None,
            Message::Batch(messages) => self.batch(session, messages),
        }
    }

    fn notification(&self, session: &mut Session, method: &str, params: &Object) -> Reply {
        match method {
            "notifications/initialized" => {
                self.initialized(session);
                Reply::None
            }
            "notifications/cancelled" => cancel(session, params),
            _ => Reply::None,
        }
    }

    /// Ends the handshake of a legacy client, which is notified of changes from now on.
    fn initialized(&self, session: &mut Session) {
        if session.version.is_none() {
            return;
        }
        session.subscriptions.is_initialized = true;
        if session.has_cacheable_results {
            self.shared.watch();
            // What the client was shown may have changed since.
            self.library().notify_changed(&Change::anything());
        }
    }

    /// Answers the messages of a batch one after the other; their jobs are run in place.
    fn batch(&self, session: &mut Session, messages: Vec<Value>) -> Reply {
        if session.version != Some(VERSION_WITH_BATCHES) {
            let message = format!(
                "only protocol version {VERSION_WITH_BATCHES}, once negotiated, has batches"
            );
            return Reply::Response(Response::error(None, Error::invalid_request(message)));
        }
        let started = Instant::now();
        let mut length = 0;
        let mut responses = Vec::new();
        for message in messages {
            let response = match Message::from_value(message) {
                Ok(Message::Request(request)) => match exceeded_batch_limit(length, started) {
                    Some(reason) => left_out_of_batch(&request.id, &reason),
                    None => self.request_of_batch(session, request),
                },
                Ok(other) => {
                    self.handle(session, other);
                    continue; // it gets no response
                }
                Err(refusal) => refusal,
            };
            length += response.as_json().len();
            responses.push(response);
        }
        if responses.is_empty() {
            Reply::None
        } else {
            Reply::Response(Response::batch(&responses))
        }
    }

    /// Answers a request of a batch. `initialize` and modern requests cannot be part of one.
    fn request_of_batch(&self, session: &mut Session, request: Request) -> Response {
        let is_modern = Era::of_request(&request.method, &request.params) == Era::Modern;
        if is_modern || request.method == "initialize" {
            let message = format!("{} cannot be part of a batch", quoted(&request.method));
            return Response::error(Some(&request.id), Error::invalid_request(message));
        }
        self.request(session, request).into_response()
    }

    /// Answers a request, or returns the job that answers it.
    fn request(&self, session: &mut Session, request: Request) -> Reply {
        let Request { id, method, params } = request;
        tracing::trace!(id = %to_log_json(&id), ?method, params = %to_log_json(&params), "request");
        let request = PendingRequest {
            id,
            era: Era::of_request(&method, &params),
            method,
            started: Instant::now(),
        };
        let method = match check_request(&request, &params) {
            Ok(method) => method,
            Err(failure) => return request.refuse(failure),
        };
        let context = self.context(session, request.era, method, &params);
        if method.role > Role::Read && !context.may_edit() {
            let text = format!("{}; {}", method.name, context.how_to_edit());
            return request.refuse(Failure::new(FailureKind::MethodNotFound, text));
        }
        match method.handler {
            // A handler that panics leaves the session consistent: it changes the session last, and
            // in one step.
            MethodHandler::Session(handler) => {
                request.reply(|| handler(session, &context, &params).map(Outcome::Now))
            }
            MethodHandler::Listen => self.listen(session, request, &params),
            MethodHandler::Library(handler) => self.run_or_defer(Job {
                longest_wait: method.longest_wait,
                request,
                handler: Box::new(move || {
                    if context.relies_on_notifications {
                        context.shared.watch(); // before it reads what the client may keep
                    }
                    handler(&context, &params)
                }),
            }),
            MethodHandler::Tool => self.call_tool(request, context, params),
        }
    }

    /// Opens the subscription of a `subscriptions/listen`.
    fn listen(&self, session: &mut Session, request: PendingRequest, params: &Object) -> Reply {
        let subscriptions = &mut session.subscriptions;
        match subscriptions.listen(&self.shared, &request.id, params) {
            Ok(acknowledgement) => Reply::Stream(acknowledgement),
            Err(failure) => request.refuse(failure),
        }
    }

    /// Calls the tool of a `tools/call`.
    fn call_tool(&self, request: PendingRequest, context: Context, params: Object) -> Reply {
        let tool = match tools::find(&context, &params) {
            Ok(tool) => tool,
            Err(failure) => return request.refuse(failure),
        };
        self.run_or_defer(Job {
            longest_wait: tool.longest_wait,
            request,
            handler: Box::new(move || tools::call(tool, &context, &params)),
        })
    }

    /// Returns what the handler of a method is called with, and records in the session whether the
    /// client may keep the result.
    fn context(
        &self,
        session: &mut Session,
        era: Era,
        method: &Method,
        params: &Object,
    ) -> Context {
        let mut context = Context {
            shared: Arc::clone(&self.shared),
            caller: Arc::clone(&session.caller),
            agent: era.agent(params).or(session.agent),
            era,
            version: None,
            relies_on_notifications: false,
        };
        if era == Era::Legacy {
            let is_cacheable = method.cache_policy.is_some();
            session.has_cacheable_results |= is_cacheable;
            context.version = session.version;
            context.relies_on_notifications = is_cacheable && session.subscriptions.is_initialized;
        }
        context
    }

    /// Runs a job now, unless it may wait so long that a transport must run it.
    fn run_or_defer(&self, job: Job) -> Reply {
        if self.shared.needs_job(job.longest_wait) {
            Reply::Deferred(job)
        } else {
            job.run()
        }
    }
}

/// Ends the subscription, or the request, that the client no longer wants.
fn cancel(session: &mut Session, params: &Object) -> Reply {
    let Ok(CancelledParams { request_id }) = read_object(params) else {
        return Reply::None;
    };
    if session.subscriptions.cancel(&request_id) {
        Reply::None
    } else {
        Reply::Cancelled(request_id)
    }
}

/// Returns which limit a batch has exceeded, if it has exceeded one. `length` is that of its
/// responses so far: they go into one line, and are held in memory until the line is complete.
fn exceeded_batch_limit(length: usize, started: Instant) -> Option<String> {
    if length > MAX_BATCH_RESPONSE {
        let limit = format_size(MAX_BATCH_RESPONSE);
        return Some(format!(
            "the responses to this batch are longer than {limit}"
        ));
    }
    if started.elapsed() > BATCH_WITHIN {
        let limit = BATCH_WITHIN.as_secs();
        return Some(format!("this batch has taken longer than {limit} seconds"));
    }
    None
}

/// Returns the response to a request of a batch that has exceeded a limit.
fn left_out_of_batch(id: &Id, reason: &str) -> Response {
    let message = format!("{reason}; send this request alone");
    let failure = Failure::new(FailureKind::Internal, message);
    Response::error(Some(id), Era::Legacy.error(failure))
}

/// Checks the metadata of a request, and returns its method.
///
/// # Errors
/// The metadata is wrong; the method does not exist in the era of the request.
fn check_request(request: &PendingRequest, params: &Object) -> Result<&'static Method, Failure> {
    request.era.check_metadata(params)?;
    match find_method(&request.method) {
        Some(method) if method.only_in.is_none_or(|era| era == request.era) => Ok(method),
        _ => Err(Failure::new(
            FailureKind::MethodNotFound,
            quoted(&request.method),
        )),
    }
}

/// A row of the table of methods.
pub struct Method {
    /// The name in a request.
    pub name: &'static str,
    /// The only era that has the method; `None`: both have it.
    only_in: Option<Era>,
    /// What a request may wait for.
    longest_wait: LongestWait,
    /// Who may call it.
    role: Role,
    /// The member of the params that the header `Mcp-Name` repeats.
    pub name_param: Option<&'static str>,
    /// How long a client may cache the result; `None`: not at all.
    cache_policy: Option<CachePolicy>,
    handler: MethodHandler,
}

/// The handler of a method.
#[derive(Clone, Copy)]
enum MethodHandler {
    /// A function that reads and changes the session, and nothing else.
    Session(fn(&mut Session, &Context, &Object) -> Result<Json, Failure>),
    /// A function that reads or changes the library.
    Library(fn(&Context, &Object) -> Result<Outcome, Failure>),
    /// `tools/call`: the table of tools has the rest of the row.
    Tool,
    /// `subscriptions/listen`, which stays open.
    Listen,
}

/// Returns the method with this name.
pub fn find_method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Returns the names of all methods of requests.
pub fn method_names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// Makes the table from its rows: the name, the only era that has it, what it may wait for, who may
/// call it, the param in `Mcp-Name`, whether its result may be cached, and its handler.
///
/// The result of a `session` or a `plain` handler is written here. A `slow` handler gives an
/// [`Outcome`].
macro_rules! methods {
    ($($name:literal $only_in:expr, $longest_wait:ident $role:ident $name_param:expr, $cache_policy:expr, $kind:ident $(($handler:path))?;)*) => {
        static METHODS: &[Method] = &[$(Method {
            name: $name,
            only_in: $only_in,
            longest_wait: LongestWait::$longest_wait,
            role: Role::$role,
            name_param: $name_param,
            cache_policy: $cache_policy,
            handler: methods!(@ $cache_policy, $kind $(($handler))?),
        }),*];
    };
    (@ $cache_policy:expr, session($handler:path)) => {
        MethodHandler::Session(|session, context, params| {
            let result = $handler(session, context, read_object(params)?)?;
            Ok(context.era.result(Json::serialize(&result)?, $cache_policy))
        })
    };
    (@ $cache_policy:expr, plain($handler:path)) => {
        MethodHandler::Library(|context, params| {
            let result = $handler(context, read_object(params)?)?;
            Ok(Outcome::Now(context.era.result(Json::serialize(&result)?, $cache_policy)))
        })
    };
    (@ $cache_policy:expr, slow($handler:path)) => {
        MethodHandler::Library(|context, params| $handler(context, read_object(params)?))
    };
    (@ $cache_policy:expr, tool) => { MethodHandler::Tool };
    (@ $cache_policy:expr, listen) => { MethodHandler::Listen };
}

const LEGACY: Option<Era> = Some(Era::Legacy);
const MODERN: Option<Era> = Some(Era::Modern);

methods! {
    "completion/complete"      None,   Folders Read  None,         None,        plain(completion::complete);
    "initialize"               LEGACY, Nothing Read  None,         None,        session(session::initialize);
    "logging/setLevel"         LEGACY, Nothing Read  None,         None,        plain(session::set_level);
    "ping"                     LEGACY, Nothing Read  None,         None,        plain(session::ping);
    "prompts/create"           None,   Write   Write None,         None,        plain(prompt_edits::create);
    "prompts/delete"           None,   Write   Write None,         None,        plain(prompt_edits::delete);
    "prompts/get"              None,   Files   Read  Some("name"), None,        slow(prompts::get);
    "prompts/list"             None,   Folders Read  None,         Some(VOLATILE), plain(prompts::list);
    "prompts/update"           None,   Write   Write None,         None,        plain(prompt_edits::update);
    "resources/list"           None,   Folders Read  None,         Some(VOLATILE), plain(resources::list);
    "resources/read"           None,   Files   Read  Some("uri"),  Some(VOLATILE), slow(resources::read);
    "resources/subscribe"      LEGACY, Nothing Read  None,         None,        session(session::subscribe);
    "resources/templates/list" None,   Nothing Read  None,         Some(VOLATILE), plain(resources::templates);
    "resources/unsubscribe"    LEGACY, Nothing Read  None,         None,        session(session::unsubscribe);
    "server/discover"          MODERN, Nothing Read  None,         None,        slow(session::discover);
    "subscriptions/listen"     MODERN, Nothing Read  None,         None,        listen;
    "tools/call"               None,   Files   Read  Some("name"), None,        tool;
    "tools/list"               None,   Folders Read  None,         Some(VOLATILE), plain(tools::list);
}

#[cfg(test)]
mod tests;
