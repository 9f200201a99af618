//! Prompts that a service renders: operations of an OpenAPI document, which the user named.
//!
//! | | |
//! |---|---|
//! | a document becomes operations and prompts | `openapi/document.rs`, `openapi/schema.rs` |
//! | what is known of an operation | `openapi/operation.rs` |
//! | an operation and the values of a call become a request | `openapi/request.rs` |
//! | which addresses may be called | `openapi/address.rs` |
//! | a request is sent | `openapi/send.rs` |
//! | the answer becomes messages | `openapi/answer.rs` |
//!
//! The service is called for an expansion only. Everything else that is shown of a prompt comes from the document.

mod address;
mod answer;
mod document;
mod operation;
mod request;
mod schema;
mod send;

pub(crate) use operation::{HeaderValue, Options, SecretHeader, check_header_name};

use super::cache::{Cache, SETTLING, Trace};
use super::read;
use super::source::{About, Found, Handle, Info, Join, Layer, Listing, Place, ServiceRequest, Source};
use super::watched::Watched;
use crate::prompt::{Call, Diagnostic, Format, Kind, Message, Messages, Name, Piece, Prompt};
use crate::wording::quoted;
use address::Base;
pub(crate) use address::check_base;
use document::{Document, MAX_DOCUMENT};
use operation::Operation;
use request::{Request, request};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A document.
#[derive(Debug)]
pub(super) struct OpenApi {
    about: About,
    path: PathBuf,
    options: Arc<Options>,
    /// Whether it is not clear which service the headers are for.
    is_unclear: bool,
    read: Cache<(), Arc<Read>>,
}

/// What the document held when it was read.
#[derive(Debug, Default)]
struct Read {
    prompts: BTreeMap<Name, Arc<Remote>>,
    /// What is wrong in the document.
    problems: Vec<Diagnostic>,
}

/// A prompt that a service renders.
#[derive(Debug)]
struct Remote {
    document: PathBuf,
    options: Arc<Options>,
    is_unclear: bool,
    operation: Operation,
    prompt: Arc<Prompt>,
    text: String,
    info: Info,
}

impl OpenApi {
    pub(super) fn new(path: PathBuf, options: Arc<Options>, is_unclear: bool) -> OpenApi {
        let about = About { calls_services: true, ..About::new(Layer::SERVICE, Format::OPENAPI, Some(path.clone())) };
        OpenApi { about, path, options, is_unclear, read: Cache::new(1, SETTLING) }
    }

    fn read(&self) -> Arc<Read> {
        self.read.get(&(), |trace| Arc::new(self.read_now(trace)))
    }

    fn read_now(&self, trace: &mut Trace) -> Read {
        let stamp = trace.look(&self.path);
        let bytes = read::read(&self.path, MAX_DOCUMENT, |_| Ok(()));
        let parsed =
            bytes.and_then(|bytes| document::parse(&bytes, &self.options.operations, self.options.base.as_deref()));
        let Document { operations, problems, ids } = match parsed {
            Ok(document) => document,
            Err(diagnostic) => return Read { problems: vec![diagnostic.in_file(&*self.path)], ..Read::default() },
        };
        let mut read = Read { problems, ..Read::default() };
        for document::Found { operation, prompt, text, position } in operations {
            if let Some(first) = read.prompts.get(&prompt.name) {
                let shown = |operation: &Operation| quoted(&format!("{} {}", operation.method, operation.path));
                let (second, first) = (shown(&operation), shown(&first.operation));
                let message = format!("{second} is no prompt: {first} has the same name, and comes first");
                let fix = "give one of the two another `operationId`, or a `name` in its extension";
                read.problems.push(Diagnostic::error(position, message, fix));
                continue;
            }
            // There is no file of its own that could be edited.
            let modified = stamp.and_then(|stamp| stamp.modified);
            let info = Info { revision: None, ..Info::of(text.as_bytes(), modified, Ok(&prompt)) };
            let (document, options) = (self.path.clone(), Arc::clone(&self.options));
            let is_unclear = self.is_unclear;
            let remote = Remote { document, options, is_unclear, operation, prompt: Arc::new(prompt), text, info };
            read.prompts.insert(remote.prompt.name.clone(), Arc::new(remote));
        }
        read.problems.extend(self.is_unclear.then(unclear));
        for id in self.options.operations.iter().filter(|id| !ids.contains(id)) {
            let message = format!("no operation has the `operationId` {}", quoted(id));
            read.problems.push(Diagnostic::error(None, message, "correct `operations`, or `--openapi-operation`"));
        }
        if let Some(remote) = read.prompts.values().next() {
            let base = Base::of(&remote.operation, &self.options).err();
            read.problems.extend(base);
        }
        read.problems = read.problems.into_iter().map(|problem| problem.in_file(&*self.path)).collect();
        read
    }

    fn found(&self, remote: &Arc<Remote>) -> Found {
        Found::new(remote.prompt.name.clone(), &self.about, Arc::clone(remote) as _)
    }
}

impl Source for OpenApi {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.read().prompts.get(name).map(|remote| self.found(remote))
    }

    fn list(&self) -> Listing {
        let read = self.read();
        let found = read.prompts.values().map(|remote| self.found(remote)).collect();
        Listing { found, problems: read.problems.clone(), ..Listing::default() }
    }

    fn health(&self, deep: bool) -> Vec<Diagnostic> {
        let read = self.read();
        let unreadable =
            read.problems.iter().filter(|problem| matches!(problem.kind, Kind::Missing | Kind::Unreadable));
        let mut health: Vec<Diagnostic> = unreadable.cloned().collect();
        if let Some(remote) = read.prompts.values().next().filter(|_| deep) {
            let health_of_service = match send::reach(&remote.operation, &self.options) {
                Ok(status) => Diagnostic::new(Kind::Hint, format!("the service answers with the status {status}"), ""),
                Err(why) => why,
            };
            health.push(health_of_service.in_file(&*self.path));
        }
        health
    }

    fn watch(&self, watched: &mut Watched) {
        watched.add_path(&self.path);
    }
}

impl Remote {
    fn request_of(&self, prompt: &Prompt, call: Call<'_>) -> Result<Request, Diagnostic> {
        if self.is_unclear {
            return Err(unclear());
        }
        let binding = prompt.bind(call);
        match binding.error {
            Some(error) => Err(error),
            None => request(&self.operation, &binding.arguments, &self.options),
        }
    }
}

impl Handle for Remote {
    fn place(&self) -> Place {
        Place { shown: self.document.display().to_string(), file: Some(self.document.clone()), is_editable: false }
    }

    fn info(&self) -> Info {
        self.info.clone()
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Ok(self.text.clone())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        Ok(Arc::clone(&self.prompt))
    }

    fn expand(&self, prompt: &Prompt, call: Call<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let request = self.request_of(prompt, call)?;
        let Messages { messages, attachments } = send::send(&self.operation, &request, &self.options)?;
        // A service's text is no text of the user's.
        let joined = |Message { role, text }| Message { role, text: join(&mut [Piece::Value(&text)].into_iter()) };
        Ok(Messages { messages: messages.into_iter().map(joined).collect(), attachments })
    }

    fn request(&self, prompt: &Prompt, call: Call<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        Some(self.request_of(prompt, call).map(|request| request.shown(&self.options)))
    }
}

/// Why no request is sent if it is not clear which service the headers are for.
fn unclear() -> Diagnostic {
    let message = "several documents are given, and --openapi-header does not say whose service gets the header";
    let fix = "give its address with --openapi-base, or start a server for each document";
    Diagnostic::new(Kind::Service, message, fix)
}

impl Request {
    /// Without the values of secret headers.
    fn shown(self, options: &Options) -> ServiceRequest {
        let Request { method, url, mut headers, body } = self;
        headers.extend(options.headers.iter().map(|header| (header.name.clone(), header.shown_value())));
        ServiceRequest { method: method.to_string(), url, headers, body }
    }
}

/// What [`openapi_requests`] finds in a document.
#[derive(Debug, PartialEq)]
pub struct OpenApiRequests {
    /// The prompts, each with the request of the call.
    pub requests: Vec<(Prompt, Result<ServiceRequest, Diagnostic>)>,
    /// What is wrong with operations.
    pub problems: Vec<Diagnostic>,
}

/// The prompts of a document, each with the request that a call with one value for all its arguments would send to the service at
/// `base`. Nothing is sent. `operations` are those that are prompts although they do not say so, by their `operationId`.
///
/// # Errors
/// It is not an OpenAPI document that can be read.
pub fn openapi_requests(
    document: &[u8],
    operations: &[String],
    base: &str,
    value: &str,
) -> Result<OpenApiRequests, Diagnostic> {
    let Document { operations, problems, .. } = document::parse(document, operations, Some(base))?;
    let options = Options { base: Some(base.to_owned()), ..Options::default() };
    let request_of = |document::Found { operation, prompt, .. }: document::Found| {
        let values = prompt.arguments.iter().map(|argument| (argument.name.clone(), value.to_owned())).collect();
        let binding = prompt.bind(Call::Named { values: &values, input: "", is_strict: true });
        let request = match binding.error {
            Some(error) => Err(error),
            None => request(&operation, &binding.arguments, &options),
        };
        let request = request.map(|request| request.shown(&options));
        (prompt, request)
    };
    Ok(OpenApiRequests { requests: operations.into_iter().map(request_of).collect(), problems })
}
