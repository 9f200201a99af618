//! The MCP server: takes a message and returns at most one reply, for any number of conversations.
//! It does no I/O with clients and never blocks; both are up to the transports.
//!
//! [`Server::handle`] answers a message, and each [`Listener`] is notified of changes. `METHODS` is
//! the table of methods. Everything that methods have in common (protocol era, permissions, panics,
//! errors) is handled here, so that a handler is a plain function that can't forget to answer.
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
mod skills;
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

/// The size in bytes of the responses to a batch after which its remaining requests are rejected.
pub const MAX_BATCH_RESPONSE: usize = 64 * 1024 * 1024;

/// How long to keep handling the requests of a batch. A batch occupies its thread even if its
/// client has disconnected.
const BATCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers the requests of all conversations. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// Creates a server for a library.
    pub fn new(library: Arc<Library>, settings: Settings) -> Server {
        Server {
            shared: Arc::new(Shared::new(library, settings)),
        }
    }

    /// Returns the library.
    pub fn library(&self) -> &Library {
        &self.shared.library
    }

    /// Returns whether a caller may edit prompts.
    pub fn may_edit(&self, caller: &Caller) -> bool {
        self.shared.may_edit(caller)
    }

    /// Returns the current contents of the library, limited to what a caller may see.
    pub fn view(&self, caller: &Caller) -> View {
        self.shared.view(caller)
    }

    /// Registers a listener, which is notified of changes until it is dropped.
    pub fn add_listener(&self, listener: &Arc<dyn Listener>) {
        if let Some(notifier) = &self.shared.notifier {
            notifier.add(listener);
        }
    }

    /// Starts watching the library for changes now. Otherwise, watching starts when a client first
    /// needs it.
    pub fn start_watching(&self) {
        self.shared.watch();
    }

    /// Handles a message of a conversation. Notifications and responses get no reply.
    pub fn handle(&self, session: &mut Session, message: Message) -> Reply {
        match message {
            Message::Request(request) => self.handle_request(session, request),
            Message::Notification { method, params } => {
                self.handle_notification(session, &method, &params)
            }
            Message::Response => Reply::None,
            Message::Batch(messages) => self.handle_batch(session, messages),
        }
    }

    /// Handles a notification. Ignores unknown ones, because they can't be answered with an error.
    fn handle_notification(&self, session: &mut Session, method: &str, params: &Object) -> Reply {
        match method {
            "notifications/initialized" => {
                self.finish_handshake(session);
                Reply::None
            }
            "notifications/cancelled" => cancel(session, params),
            _ => Reply::None,
        }
    }

    /// Finishes the handshake of a legacy client. From now on, it is notified of changes. If it may
    /// already have cached results, it is told that they may be outdated.
    fn finish_handshake(&self, session: &mut Session) {
        if session.version.is_none() {
            return; // there was no `initialize`
        }
        session.subscriptions.is_initialized = true;
        if session.has_cacheable_results {
            self.shared.watch();
            // Those results may have changed since, and the client wasn't notified yet.
            self.library().notify_changed(&Change::anything());
        }
    }

    /// Handles the messages of a batch in order. Jobs are run at once rather than deferred.
    fn handle_batch(&self, session: &mut Session, messages: Vec<Value>) -> Reply {
        if session.version != Some(VERSION_WITH_BATCHES) {
            let message = format!(
                "only protocol version {VERSION_WITH_BATCHES}, once negotiated, supports batches"
            );
            return Reply::Response(Response::error_without_id(Error::invalid_request(message)));
        }
        let started = Instant::now();
        let mut response_bytes = 0;
        let mut responses = Vec::new();
        for message in messages {
            let response = match Message::from_value(message) {
                Ok(Message::Request(request)) => {
                    match exceeded_batch_limit(response_bytes, started) {
                        Some(reason) => batch_limit_response(&request.id, &reason),
                        None => self.handle_batched_request(session, request),
                    }
                }
                Ok(other) => {
                    self.handle(session, other);
                    continue; // no response; a request that this cancels still gets its own
                }
                Err(error_response) => error_response,
            };
            response_bytes += response.as_json().len();
            responses.push(response);
        }
        if responses.is_empty() {
            Reply::None
        } else {
            Reply::Response(Response::batch(&responses))
        }
    }

    /// Handles a request in a batch. Rejects `initialize` and modern requests.
    fn handle_batched_request(&self, session: &mut Session, request: Request) -> Response {
        let is_modern = Era::of_request(&request.method, &request.params) == Era::Modern;
        if is_modern || request.method == "initialize" {
            let message = format!("{} cannot be part of a batch", quoted(&request.method));
            return Response::error(Some(&request.id), Error::invalid_request(message));
        }
        self.handle_request(session, request).into_response()
    }

    /// Handles a request, or returns a job that does. Finds the method, checks that the caller may
    /// use it, and runs its handler.
    fn handle_request(&self, session: &mut Session, request: Request) -> Reply {
        let Request {
            id,
            method: method_name,
            params,
        } = request;
        tracing::trace!(
            id = %to_log_json(&id),
            method = ?method_name,
            params = %to_log_json(&params),
            "request"
        );
        let pending = PendingRequest {
            id,
            era: Era::of_request(&method_name, &params),
            method: method_name,
            started: Instant::now(),
        };
        let method = match self.resolve_method(&pending, &params) {
            Ok(method) => method,
            Err(failure) => return pending.fail(failure),
        };
        // Recorded for `finish_handshake`, which tells the client if these results are outdated.
        if pending.era == Era::Legacy && method.has_cacheable_result() {
            session.has_cacheable_results = true;
        }
        let context = self.create_context(session, pending.era, method, &params);
        let is_edit = method.role > Role::Read;
        if is_edit && !context.may_edit() {
            let text = format!("{}; {}", method.name, context.how_to_edit());
            return pending.fail(Failure::new(FailureKind::MethodNotFound, text));
        }
        match method.handler {
            // A panic can't leave the session inconsistent, because these handlers change it only
            // at the end, in a single step.
            MethodHandler::Session(handler) => {
                pending.reply(|| handler(session, &context, &params).map(Outcome::Now))
            }
            MethodHandler::Listen => self.listen(session, pending, &params),
            MethodHandler::Library(handler) => self.run_or_defer(Job {
                longest_wait: method.longest_wait,
                request: pending,
                handler: Box::new(move || {
                    if context.relies_on_notifications {
                        // Start watching before reading what the client will cache, so that no
                        // change is missed in between.
                        context.shared.watch();
                    }
                    handler(&context, &params)
                }),
            }),
            MethodHandler::Tool => self.call_tool(pending, context, params),
        }
    }

    /// Checks the metadata of a request and finds its method.
    ///
    /// # Errors
    /// Fails if the metadata is invalid, or if the method doesn't exist in the request's [`Era`],
    /// i.e. in the legacy or the modern versions of the protocol, or with the server's settings.
    fn resolve_method(
        &self,
        request: &PendingRequest,
        params: &Object,
    ) -> Result<&'static Method, Failure> {
        request.era.check_metadata(params)?;
        match find_method(&request.method) {
            Some(method) if method.exists(request.era, &self.shared.settings) => Ok(method),
            _ => Err(Failure::new(
                FailureKind::MethodNotFound,
                quoted(&request.method),
            )),
        }
    }

    /// Opens a subscription (`subscriptions/listen`).
    fn listen(&self, session: &mut Session, request: PendingRequest, params: &Object) -> Reply {
        let subscriptions = &mut session.subscriptions;
        match subscriptions.listen(&self.shared, &request.id, params) {
            Ok(acknowledgement) => Reply::Stream(acknowledgement),
            Err(failure) => request.fail(failure),
        }
    }

    /// Calls the tool of a `tools/call`.
    fn call_tool(&self, request: PendingRequest, context: Context, params: Object) -> Reply {
        let tool = match tools::find(&context, &params) {
            Ok(tool) => tool,
            Err(failure) => return request.fail(failure),
        };
        self.run_or_defer(Job {
            longest_wait: tool.longest_wait,
            request,
            handler: Box::new(move || tools::call(tool, &context, &params)),
        })
    }

    /// Creates the context for the handler of a method.
    ///
    /// A modern client says in each request which agent it is. A legacy client says it once, in
    /// `initialize`, so the session has its name and the protocol version.
    fn create_context(
        &self,
        session: &Session,
        era: Era,
        method: &Method,
        params: &Object,
    ) -> Context {
        let version = match era {
            Era::Legacy => session.version,
            Era::Modern => None, // the version of the session doesn't apply to modern requests
        };
        Context {
            shared: Arc::clone(&self.shared),
            caller: Arc::clone(&session.caller),
            agent: era.agent(params).or(session.agent),
            era,
            version,
            relies_on_notifications: is_cached_until_notified(session, era, method),
        }
    }

    /// Runs a job now, or returns it to the transport if it may block for too long.
    fn run_or_defer(&self, job: Job) -> Reply {
        if self.shared.must_defer(job.longest_wait) {
            Reply::Deferred(job)
        } else {
            job.run()
        }
    }
}

/// Returns whether the client may keep the result of a method, e.g. a list of prompts, until it is
/// notified of a change.
fn is_cached_until_notified(session: &Session, era: Era, method: &Method) -> bool {
    match era {
        // The result itself says how long it may be kept.
        Era::Modern => false,
        // A client is notified only after it has finished the handshake.
        Era::Legacy => method.has_cacheable_result() && session.subscriptions.is_initialized,
    }
}

/// Closes the subscription with the id in `params`. If there is none, returns the id as
/// [`Reply::Cancelled`], so that the transport cancels the request with this id.
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

/// Describes the limit that a batch has exceeded, if any.
///
/// `response_bytes` is the size of its responses so far, which are kept in memory because they are
/// sent as a single line.
fn exceeded_batch_limit(response_bytes: usize, started: Instant) -> Option<String> {
    if response_bytes > MAX_BATCH_RESPONSE {
        let limit = format_size(MAX_BATCH_RESPONSE);
        return Some(format!(
            "the responses to this batch are longer than {limit}"
        ));
    }
    if started.elapsed() > BATCH_TIMEOUT {
        let limit = BATCH_TIMEOUT.as_secs();
        return Some(format!("this batch has taken longer than {limit} seconds"));
    }
    None
}

/// Creates the response to a request that isn't handled because its batch has exceeded a limit.
fn batch_limit_response(id: &Id, reason: &str) -> Response {
    let message = format!("{reason}; send this request alone");
    let failure = Failure::new(FailureKind::Internal, message);
    Response::error(Some(id), Era::Legacy.error(failure))
}

/// An entry of the table of methods.
pub struct Method {
    /// The name used in requests.
    pub name: &'static str,
    /// The only era in which the method exists, or `None` if it exists in both.
    only_in: Option<Era>,
    /// The longest that a request may block.
    longest_wait: LongestWait,
    /// The role that a caller needs.
    role: Role,
    /// The parameter that the HTTP header `Mcp-Name` repeats.
    pub name_param: Option<&'static str>,
    /// How long clients may cache the result, or `None` if they must not cache it.
    cache_policy: Option<CachePolicy>,
    handler: MethodHandler,
}

impl Method {
    /// Returns whether the protocol versions of this era have the method, and the server offers it.
    fn exists(&self, era: Era, settings: &Settings) -> bool {
        let is_offered = settings.skills || !self.name.starts_with("skills/");
        is_offered && self.only_in.is_none_or(|only_era| only_era == era)
    }

    /// Returns whether clients may cache the results of this method.
    fn has_cacheable_result(&self) -> bool {
        self.cache_policy.is_some()
    }
}

/// The handler of a method.
#[derive(Clone, Copy)]
enum MethodHandler {
    /// A function that uses only the session.
    Session(fn(&mut Session, &Context, &Object) -> Result<Json, Failure>),
    /// A function that uses the library, and may block.
    Library(fn(&Context, &Object) -> Result<Outcome, Failure>),
    /// `tools/call`, which has a table of tools with properties of their own.
    Tool,
    /// `subscriptions/listen`, which keeps its request open.
    Listen,
}

/// Looks up a method by name.
pub fn find_method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Returns the names of all request methods.
pub fn method_names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// Defines `METHODS`. The columns are those of [`Method`]: name, `only_in`, `longest_wait`, `role`,
/// `name_param`, `cache_policy` and handler.
///
/// `session` and `plain` handlers return a value, which is serialized here. `slow` handlers return
/// an [`Outcome`] themselves.
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
    "completion/complete"      None,   Folders Read  None,         None,           plain(completion::complete);
    "initialize"               LEGACY, Nothing Read  None,         None,           session(session::initialize);
    "logging/setLevel"         LEGACY, Nothing Read  None,         None,           plain(session::set_level);
    "ping"                     LEGACY, Nothing Read  None,         None,           plain(session::ping);
    "prompts/create"           None,   Write   Write None,         None,           plain(prompt_edits::create);
    "prompts/delete"           None,   Write   Write None,         None,           plain(prompt_edits::delete);
    "prompts/get"              None,   Files   Read  Some("name"), None,           slow(prompts::get);
    "prompts/list"             None,   Folders Read  None,         Some(VOLATILE), plain(prompts::list);
    "prompts/update"           None,   Write   Write None,         None,           plain(prompt_edits::update);
    "resources/list"           None,   Folders Read  None,         Some(VOLATILE), plain(resources::list);
    "resources/read"           None,   Files   Read  Some("uri"),  Some(VOLATILE), slow(skills::read);
    "resources/subscribe"      LEGACY, Nothing Read  None,         None,           session(session::subscribe);
    "resources/templates/list" None,   Nothing Read  None,         Some(VOLATILE), plain(resources::templates);
    "resources/unsubscribe"    LEGACY, Nothing Read  None,         None,           session(session::unsubscribe);
    "server/discover"          MODERN, Nothing Read  None,         None,           slow(session::discover);
    "skills/get"               None,   Folders Read  None,         Some(VOLATILE), plain(skills::get);
    "skills/list"              None,   Folders Read  None,         Some(VOLATILE), plain(skills::list);
    "subscriptions/listen"     MODERN, Nothing Read  None,         None,           listen;
    "tools/call"               None,   Files   Read  Some("name"), None,           tool;
    "tools/list"               None,   Folders Read  None,         Some(VOLATILE), plain(tools::list);
}

#[cfg(test)]
mod tests;
