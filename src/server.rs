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
mod cursor;
mod notifier;
mod opencode;
mod prompt_edits;
mod prompts;
mod resources;
mod session;
mod subscriptions;
mod tools;

pub use crate::library::Change;
pub use context::{
    PAGE_SIZE, Settings, Work, check_modern_version, legacy_version, modern_version,
};
pub use notifier::Listener;
pub use session::Session;
pub use subscriptions::{MAX_LISTENS, MAX_SUBSCRIBED, all_lists_changed, end_of_listen};
pub use tools::LEAST_LIMIT;

use crate::jsonrpc::{Error, Id, Json, Message, Notification, Object, Request, Response, read};
use crate::library::{Caller, Library, Role, View};
use crate::mcp::CancelledParams;
use crate::wording::{in_bytes, quoted};
use context::{Answer, Cacheable, Context, Era, FRESH, Failure, FailureKind, Shared};
use notifier::Notifier;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
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

/// The reply to a message.
pub enum Reply {
    /// Nothing: it was a notification, or a response.
    None,
    /// The response to a request, or to a batch.
    Response(Response),
    /// The rest of a request, which may wait and then gives the reply.
    Later(Job),
    /// The acknowledgement of a request that stays open. What follows goes to the [`Listener`].
    Stream(Notification),
    /// The client no longer wants the response to this request.
    Cancelled(Id),
}

type Handler = Box<dyn FnOnce() -> Result<Answer, Failure> + Send>;

/// The rest of a request, which may wait.
pub struct Job {
    /// Of the request.
    pub id: Id,
    /// For what it may wait.
    pub work: Work,
    request: PendingRequest,
    run: Handler,
}

impl Job {
    /// Runs the job, and returns the response, or a further job that waits for something else.
    pub fn run(self) -> Reply {
        let Job {
            id, request, run, ..
        } = self;
        request.reply(id, run)
    }

    /// Runs the job and those that follow it, and returns the response.
    pub fn finish(self) -> Response {
        match self.run() {
            Reply::Later(next) => next.finish(),
            Reply::Response(response) => response,
            _ => Response::error(None, Error::invalid_request("not a request")), // a job gives nothing else
        }
    }
}

/// A request that is to be answered.
struct PendingRequest {
    era: Era,
    method: String,
    started: Instant,
}

impl PendingRequest {
    /// Runs a handler, and makes the reply of what it gives. If it panics, that is the error
    /// `-32603`.
    fn reply(self, id: Id, handle: impl FnOnce() -> Result<Answer, Failure>) -> Reply {
        let outcome = catch_unwind(AssertUnwindSafe(handle)).unwrap_or_else(|_| {
            tracing::error!(method = self.method, "the request failed because of a bug");
            let message = format!(
                "{} failed; the reason is on the server's standard error",
                quoted(&self.method)
            );
            Err(Failure::new(FailureKind::Internal, message))
        });
        let (response, error) = match outcome {
            Ok(Answer::Now(result)) => (Response::result(&id, result), None),
            Ok(Answer::Later(work)) => {
                let run = Box::new(|| work().map(Answer::Now));
                return Reply::Later(Job {
                    id,
                    work: Work::Service,
                    request: self,
                    run,
                });
            }
            Err(failure) => {
                let error = self.era.error(failure);
                let message = error.message.clone();
                (Response::error(Some(&id), error), Some(message))
            }
        };
        tracing::debug!(%id, method = self.method, took = ?self.started.elapsed(), error, "answered");
        Reply::Response(response)
    }
}

impl Server {
    /// A server of this library.
    pub fn new(library: Arc<Library>, settings: Settings) -> Server {
        let notifier = settings
            .notifier_warns
            .map(|warn| Notifier::new(Arc::clone(&library), warn));
        Server {
            shared: Arc::new(Shared {
                library,
                notifier,
                settings,
                is_on_network: OnceLock::new(),
            }),
        }
    }

    /// The library that it serves.
    pub fn library(&self) -> &Library {
        &self.shared.library
    }

    /// Whether a caller may edit prompts.
    pub fn may_edit(&self, caller: &Caller) -> bool {
        self.shared.may_edit(caller)
    }

    /// The library at this moment, as a caller may see it.
    pub fn view(&self, caller: &Caller) -> View {
        self.library()
            .view_for(caller)
            .for_editing(self.may_edit(caller))
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
            "notifications/initialized" if session.version.is_some() => {
                session.subscriptions.is_initialized = true;
                if session.was_shown_something {
                    self.shared.watch();
                    self.library().changed(&Change::anything()); // it may have changed since
                }
            }
            "notifications/cancelled" => {
                if let Ok(CancelledParams { request_id }) = read(params)
                    && !session.subscriptions.cancel(&request_id)
                {
                    return Reply::Cancelled(request_id);
                }
            }
            _ => {}
        }
        Reply::None
    }

    /// A batch, whose jobs are run in place. `initialize` and modern requests cannot be part of it.
    fn batch(&self, session: &mut Session, messages: Vec<Value>) -> Reply {
        if session.version != Some(context::WITH_BATCHES) {
            let message = format!(
                "only protocol version {}, once negotiated, has batches",
                context::WITH_BATCHES
            );
            return Reply::Response(Response::error(None, Error::invalid_request(message)));
        }
        let started = Instant::now();
        let mut length = 0;
        let mut responses = Vec::new();
        for message in messages {
            let response = match Message::from_value(message) {
                // All responses go into one line, and are held until it is complete.
                Ok(Message::Request(request)) if length > MAX_BATCH_RESPONSE => {
                    let limit = in_bytes(MAX_BATCH_RESPONSE);
                    let reason = format!("the responses to this batch are longer than {limit}");
                    left_out_of_batch(&request.id, &reason)
                }
                Ok(Message::Request(request)) if started.elapsed() > BATCH_WITHIN => {
                    let limit = BATCH_WITHIN.as_secs();
                    let reason = format!("this batch has taken longer than {limit} seconds");
                    left_out_of_batch(&request.id, &reason)
                }
                Ok(Message::Request(request))
                    if request.method == "initialize"
                        || Era::of(&request.method, &request.params) == Era::Modern =>
                {
                    let message = format!("{} cannot be part of a batch", quoted(&request.method));
                    Response::error(Some(&request.id), Error::invalid_request(message))
                }
                Ok(message) => match self.handle(session, message) {
                    Reply::Response(response) => response,
                    Reply::Later(job) => job.finish(),
                    Reply::None | Reply::Stream(_) | Reply::Cancelled(_) => continue, // only a modern request opens a stream
                },
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

    fn request(&self, session: &mut Session, request: Request) -> Reply {
        let Request { id, method, params } = request;
        tracing::trace!(id = %context::logged(&id), ?method, params = %context::logged(&params), "request");
        let era = Era::of(&method, &params);
        let pending = PendingRequest {
            era,
            method,
            started: Instant::now(),
        };
        let (context, method) = match self.prepare(session, era, &pending.method, &params) {
            Ok(prepared) => prepared,
            Err(failure) => return pending.reply(id, || Err(failure)),
        };
        let (work, run): (Work, Handler) = match method.run {
            // A handler that panics leaves the session consistent: it changes the session last, and
            // in one step.
            Run::Session(run) => {
                return pending.reply(id, || run(session, &context, &params).map(Answer::Now));
            }
            Run::Listen => match session.subscriptions.listen(&self.shared, &id, &params) {
                Ok(acknowledgement) => return Reply::Stream(acknowledgement),
                Err(failure) => return pending.reply(id, || Err(failure)),
            },
            Run::Library(run) => {
                let run = move || {
                    if context.is_notified {
                        context.shared.watch(); // before it reads what the client may keep
                    }
                    run(&context, &params)
                };
                (method.work, Box::new(run))
            }
            Run::Tool => match tools::find(&context, &params) {
                Ok(tool) => (
                    tool.work,
                    Box::new(move || tools::call(tool, &context, &params)),
                ),
                Err(failure) => return pending.reply(id, || Err(failure)),
            },
        };
        let job = Job {
            id,
            work,
            request: pending,
            run,
        };
        let may_wait =
            work >= self.shared.settings.jobs_from || (work >= Work::Files && self.is_on_network());
        if may_wait {
            Reply::Later(job)
        } else {
            job.run()
        }
    }

    /// What a request is handled with, and by which method.
    ///
    /// # Errors
    /// The metadata of a modern request is wrong; there is no such method in this era, or not for
    /// this caller.
    fn prepare(
        &self,
        session: &mut Session,
        era: Era,
        method: &str,
        params: &Object,
    ) -> Result<(Context, &'static Method), Failure> {
        era.check(params)?;
        let found = self::method(method).filter(|found| found.only.is_none_or(|only| only == era));
        let found =
            found.ok_or_else(|| Failure::new(FailureKind::MethodNotFound, quoted(method)))?;
        let is_legacy = era == Era::Legacy;
        session.was_shown_something |= is_legacy && found.cacheable.is_some();
        let context = Context {
            shared: Arc::clone(&self.shared),
            caller: Arc::clone(&session.caller),
            agent: era.agent(params).or(session.agent),
            era,
            version: session.version.filter(|_| is_legacy),
            is_notified: session.subscriptions.is_initialized
                && is_legacy
                && found.cacheable.is_some(),
        };
        if found.role > Role::Read && !context.may_edit() {
            let text = format!("{method}; {}", context.how_to_edit());
            return Err(Failure::new(FailureKind::MethodNotFound, text));
        }
        Ok((context, found))
    }

    /// Whether a folder of the library is on a network file system.
    fn is_on_network(&self) -> bool {
        *self
            .shared
            .is_on_network
            .get_or_init(|| self.library().is_on_network())
    }
}

/// The response to a request of a batch that has used up what a batch may use.
fn left_out_of_batch(id: &Id, reason: &str) -> Response {
    let message = format!("{reason}; send this request alone");
    let failure = Failure::new(FailureKind::Internal, message);
    Response::error(Some(id), Era::Legacy.error(failure))
}

/// A row of the table of methods.
pub struct Method {
    /// The name in a request.
    pub name: &'static str,
    /// The only era that has it.
    only: Option<Era>,
    work: Work,
    role: Role,
    /// The member of the params that the header `Mcp-Name` repeats.
    pub named: Option<&'static str>,
    /// For how long a client may keep the result.
    cacheable: Option<Cacheable>,
    run: Run,
}

/// The handler of a method.
#[derive(Clone, Copy)]
enum Run {
    /// It reads and changes the session, and nothing else.
    Session(fn(&mut Session, &Context, &Object) -> Result<Json, Failure>),
    Library(fn(&Context, &Object) -> Result<Answer, Failure>),
    /// `tools/call`: the table of tools has the rest of the row.
    Tool,
    /// `subscriptions/listen`, which stays open.
    Listen,
}

/// The method of this name.
pub fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// The names of all methods of requests.
pub fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// `session` handlers change the session; `plain` ones give a result, and `slow` ones an
/// [`Answer`].
macro_rules! methods {
    ($($name:literal $only:expr, $work:ident $role:ident $named:expr, $cacheable:expr, $kind:ident $(($handler:path))?;)*) => {
        static METHODS: &[Method] = &[$(Method {
            name: $name, only: $only, work: Work::$work, role: Role::$role, named: $named, cacheable: $cacheable,
            run: methods!(@ $cacheable, $kind $(($handler))?),
        }),*];
    };
    (@ $cacheable:expr, session($handler:path)) => {
        Run::Session(|session, context, params| Ok(context.era.result(Json::of(&$handler(session, context, read(params)?)?)?, $cacheable)))
    };
    (@ $cacheable:expr, plain($handler:path)) => {
        Run::Library(|context, params| Ok(Answer::Now(context.era.result(Json::of(&$handler(context, read(params)?)?)?, $cacheable))))
    };
    (@ $cacheable:expr, slow($handler:path)) => { Run::Library(|context, params| $handler(context, read(params)?)) };
    (@ $cacheable:expr, tool) => { Run::Tool };
    (@ $cacheable:expr, listen) => { Run::Listen };
}

const LEGACY: Option<Era> = Some(Era::Legacy);
const MODERN: Option<Era> = Some(Era::Modern);

methods! {
    "completion/complete"      None,   Folders Read  None,         None,        plain(completion::complete);
    "initialize"               LEGACY, Memory  Read  None,         None,        session(session::initialize);
    "logging/setLevel"         LEGACY, Memory  Read  None,         None,        plain(session::set_level);
    "ping"                     LEGACY, Memory  Read  None,         None,        plain(session::ping);
    "prompts/create"           None,   Write   Write None,         None,        plain(prompt_edits::create);
    "prompts/delete"           None,   Write   Write None,         None,        plain(prompt_edits::delete);
    "prompts/get"              None,   Files   Read  Some("name"), None,        slow(prompts::get);
    "prompts/list"             None,   Folders Read  None,         Some(FRESH), plain(prompts::list);
    "prompts/update"           None,   Write   Write None,         None,        plain(prompt_edits::update);
    "resources/list"           None,   Folders Read  None,         Some(FRESH), plain(resources::list);
    "resources/read"           None,   Files   Read  Some("uri"),  Some(FRESH), slow(resources::read);
    "resources/subscribe"      LEGACY, Memory  Read  None,         None,        session(session::subscribe);
    "resources/templates/list" None,   Memory  Read  None,         Some(FRESH), plain(resources::templates);
    "resources/unsubscribe"    LEGACY, Memory  Read  None,         None,        session(session::unsubscribe);
    "server/discover"          MODERN, Memory  Read  None,         None,        slow(session::discover);
    "subscriptions/listen"     MODERN, Memory  Read  None,         None,        listen;
    "tools/call"               None,   Files   Read  Some("name"), None,        tool;
    "tools/list"               None,   Folders Read  None,         Some(FRESH), plain(tools::list);
}

#[cfg(test)]
mod tests;
