//! Prompts that a service renders: operations of OpenAPI documents, which the user named.
//!
//! | | |
//! |---|---|
//! | a document becomes operations and prompts | [`document::parse`], in `openapi/document.rs` and `openapi/schema.rs` |
//! | what is known of an operation | [`Operation`], in `openapi/operation.rs` |
//! | an operation and the values of a call become a request | [`request()`], in `openapi/request.rs` |
//! | which addresses may be called | `openapi/address.rs` |
//! | a request is sent | [`send()`], in `openapi/send.rs` |
//! | the answer becomes messages | `openapi/answer.rs` |
//!
//! The service is called for an expansion only. Everything else that is shown of a prompt comes from the document, which is read
//! again when its stamp has changed, or cannot be relied on.

mod address;
mod answer;
mod document;
mod operation;
mod request;
mod schema;
mod send;

use address::{Base, NamedBy};
pub(crate) use operation::{HeaderValue, Options, SecretHeader, check_header_name};
use operation::{Kind, List, Operation, Parameter, Place};
use request::{Request, request, to_json};
use send::{reach, send};

use super::cache::{Stamp, lock};
use super::read::{self, Content};
use super::watch_paths::WatchPaths;
use super::{
    Entry, FileInfo, Join, Layer, Listing, Location, Problem, ReachedService, Report, ServiceRequest, Source,
    SourceView,
};
use crate::prompt::{Call, Diagnostic, ExpandError, Message, Messages, Name, Piece, Prompt, Severity, System};
use crate::wording::quoted;
use document::{Document, MAX_DOCUMENT};
use std::collections::{BTreeMap, btree_map};
use std::fs;
use std::hash::{DefaultHasher, Hash};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The documents of `--openapi`.
#[derive(Debug)]
pub(super) struct OpenApi {
    documents: Vec<PathBuf>,
    options: Arc<Options>,
    /// What was read last, if the stamps of all documents were reliable.
    read: Mutex<Option<(Vec<Stamp>, Arc<OpenApiView>)>>,
}

/// What the documents held when they were read.
#[derive(Debug, Default)]
struct OpenApiView {
    documents: Vec<PathBuf>,
    options: Arc<Options>,
    prompts: BTreeMap<Name, Remote>,
    /// What is wrong in the documents.
    problems: Vec<Problem>,
    /// The documents that cannot be read.
    skipped: Vec<Problem>,
}

/// A prompt that a service renders.
#[derive(Debug)]
struct Remote {
    document: PathBuf,
    operation: Operation,
    prompt: Arc<Prompt>,
    text: String,
    info: FileInfo,
}

impl OpenApi {
    pub(super) fn new(documents: Vec<PathBuf>, options: Options) -> OpenApi {
        OpenApi { documents, options: Arc::new(options), read: Mutex::default() }
    }
}

impl Source for OpenApi {
    fn view(self: Arc<Self>) -> Arc<dyn SourceView> {
        let stamps: Option<Vec<Stamp>> = self.documents.iter().map(|path| Stamp::at(path)).collect();
        let cached = lock(&self.read)
            .as_ref()
            .filter(|(then, _)| stamps.as_ref() == Some(then))
            .map(|(_, view)| Arc::clone(view));
        if let Some(cached) = cached {
            return cached;
        }
        let mut view = OpenApiView {
            documents: self.documents.clone(),
            options: Arc::clone(&self.options),
            ..OpenApiView::default()
        };
        let mut known_ids = Vec::new();
        let mut reliable = Vec::new();
        for path in &self.documents {
            let document = read::read_up_to(path, MAX_DOCUMENT, document::too_large, |_| Ok(())).and_then(|content| {
                let Content { bytes, stamp, is_stamp_reliable } = content;
                reliable.extend(Some(stamp).filter(|_| is_stamp_reliable));
                Ok((document::parse(&bytes, &self.options.operations, self.options.base.as_deref())?, stamp))
            });
            match document {
                Ok((document, stamp)) => {
                    known_ids.extend(document.ids.iter().cloned());
                    view.add(path, document, &stamp);
                }
                Err(diagnostic) => view.skipped.push(problem(path, diagnostic)),
            }
        }
        view.add_unusable_base();
        if view.skipped.is_empty() {
            view.add_unknown(self.options.operations.iter().filter(|id| !known_ids.contains(id)));
        }
        let view = Arc::new(view);
        if reliable.len() == self.documents.len() {
            *lock(&self.read) = Some((reliable, Arc::clone(&view)));
        }
        view
    }

    fn is_remote(&self) -> bool {
        true
    }
}

impl OpenApiView {
    /// Adds what a document has. Of two operations of one name, the first is used.
    fn add(&mut self, path: &Path, document: Document, stamp: &Stamp) {
        self.problems.extend(document.problems.into_iter().map(|diagnostic| problem(path, diagnostic)));
        for found in document.operations {
            let document::Found { operation, prompt, text, position } = found;
            let shown = format!("{} {}", operation.method, operation.path);
            match self.prompts.entry(prompt.name.clone()) {
                btree_map::Entry::Vacant(vacant) => {
                    // There is no file of its own that could be edited.
                    let info =
                        FileInfo { revision: None, ..FileInfo::of(text.as_bytes(), stamp.modified, Ok(&prompt)) };
                    let document = path.to_owned();
                    vacant.insert(Remote { document, operation, prompt: Arc::new(prompt), text, info });
                }
                btree_map::Entry::Occupied(first) => {
                    let Remote { document, operation, .. } = first.get();
                    let of = Some(document).filter(|document| *document != path);
                    let of = of.map(|document| format!(" of {}", document.display())).unwrap_or_default();
                    let first = quoted(&format!("{} {}", operation.method, operation.path));
                    let message =
                        format!("{} is no prompt: {first}{of} has the same name, and comes first", quoted(&shown));
                    let fix = "give one of the two another `operationId`, or a `name` in its extension";
                    self.problems.push(problem(path, Diagnostic::error(position, message, fix)));
                }
            }
        }
    }

    /// Adds a problem for each document whose service cannot be called.
    fn add_unusable_base(&mut self) {
        let mut problems = Vec::new();
        for document in &self.documents {
            let mut prompts = self.prompts.values().filter(|remote| remote.document == *document);
            let Some(first) = prompts.next() else { continue };
            let why = Base::of(&first.operation, &self.options).err();
            if let Some(why) = self.whose_headers().map(str::to_owned).or(why) {
                let (message, fix) = why.rsplit_once("; ").unwrap_or((&why, "correct the address"));
                problems.push(problem(document, Diagnostic::error(None, message, fix)));
            }
        }
        self.problems.extend(problems);
    }

    /// The operation of a prompt, and the request for a call.
    fn request_of(&self, prompt: &Prompt, call: Call<'_>) -> Result<(&Operation, Request), ExpandError> {
        let binding = prompt.bind(call);
        if let Some(error) = binding.error {
            return Err(error);
        }
        if let Some(why) = self.whose_headers() {
            return Err(ExpandError::Service(why.to_owned()));
        }
        let deleted = || ExpandError::Service("its operation was deleted just now; list the prompts again".to_owned());
        let Remote { operation, .. } = self.prompts.get(&prompt.name).ok_or_else(deleted)?;
        Ok((operation, request(operation, &binding.arguments, &self.options)?))
    }

    /// Why no request is sent if it is not clear which service the headers are for.
    fn whose_headers(&self) -> Option<&'static str> {
        let is_unclear = self.documents.len() > 1 && !self.options.headers.is_empty() && self.options.base.is_none();
        is_unclear.then_some(
            "several documents are given, and --openapi-header does not say whose service gets the header; give its address \
             with --openapi-base, or start a server for each document",
        )
    }

    /// Adds a problem for each operation that the options name and no document has.
    fn add_unknown<'i>(&mut self, ids: impl Iterator<Item = &'i String>) {
        let Some(path) = self.documents.first() else { return };
        let unknown = ids.map(|id| {
            let message = format!("no operation has the `operationId` {}", quoted(id));
            problem(path, Diagnostic::error(None, message, "correct `--openapi-operation`"))
        });
        let unknown: Vec<Problem> = unknown.collect();
        self.problems.extend(unknown);
    }
}

/// Whether a text can be the address of a service that the user names; or why not, without the text, which may have a password.
pub(crate) fn check_base(text: &str) -> Result<(), String> {
    Base::new(text, NamedBy::User, true).map(|_| ()).map_err(|why| format!("it {why}"))
}

/// What [`openapi_requests`] finds in a document.
#[derive(Debug, PartialEq)]
pub struct OpenApiRequests {
    /// The prompts, each with the request of the call.
    pub requests: Vec<(Prompt, Result<ServiceRequest, ExpandError>)>,
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

impl Request {
    /// Without the values of secret headers.
    fn shown(self, options: &Options) -> ServiceRequest {
        let Request { method, url, mut headers, body } = self;
        headers.extend(options.headers.iter().map(|header| (header.name.clone(), header.shown_value())));
        ServiceRequest { method: method.to_string(), url, headers, body }
    }
}

fn problem(path: &Path, diagnostic: Diagnostic) -> Problem {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Problem { file, path: path.to_owned(), diagnostic }
}

impl SourceView for OpenApiView {
    fn layer(&self) -> Layer {
        Layer::Remote
    }

    fn system(&self) -> System {
        System::OpenApi
    }

    fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        self.prompts.get(name).map(|remote| Ok(Arc::clone(&remote.prompt)))
    }

    fn raw(&self, name: &Name) -> Option<Result<String, Problem>> {
        self.prompts.get(name).map(|remote| Ok(remote.text.clone()))
    }

    fn locate(&self, name: &Name) -> Option<Location> {
        self.prompts.get(name).map(|remote| Location::Document(remote.document.clone()))
    }

    fn list(&self) -> Listing<'_> {
        let is_error = |problem: &&Problem| problem.diagnostic.severity == Severity::Error;
        Listing {
            entries: self.prompts.keys().map(|name| Entry { name, view: self }).collect(),
            skipped: self.skipped.clone(),
            problems: self.problems.iter().filter(is_error).cloned().collect(),
        }
    }

    fn info(&self, name: &Name) -> Option<FileInfo> {
        self.prompts.get(name).map(|remote| remote.info.clone())
    }

    fn expand(&self, prompt: &Prompt, call: Call<'_>, join: Join<'_>) -> Result<Messages, ExpandError> {
        if !prompt.is_remote() {
            return prompt.expand_with(call, join); // its own file was deleted just now
        }
        let (operation, request) = self.request_of(prompt, call)?;
        let Messages { messages, attachments } = send(operation, &request, &self.options)?;
        // A service's text is no text of the user's.
        let joined = |Message { role, text }| Message { role, text: join(&mut [Piece::Value(&text)].into_iter()) };
        Ok(Messages { messages: messages.into_iter().map(joined).collect(), attachments })
    }

    fn request(&self, prompt: &Prompt, call: Call<'_>) -> Option<Result<ServiceRequest, ExpandError>> {
        Some(self.request_of(prompt, call).map(|(_, request)| request.shown(&self.options)))
    }

    fn reach_services(&self) -> Vec<ReachedService> {
        let mut services: Vec<ReachedService> = Vec::new();
        for document in &self.documents {
            let Some(remote) = self.prompts.values().find(|remote| remote.document == *document) else { continue };
            let url = Base::of(&remote.operation, &self.options).map(|base| base.url().to_owned()).unwrap_or_default();
            if services.iter().any(|known| known.url == url) {
                continue;
            }
            let status = match self.whose_headers() {
                Some(why) => Err(why.to_owned()),
                None => reach(&remote.operation, &self.options),
            };
            services.push(ReachedService { document: document.clone(), url, status });
        }
        services
    }

    fn missing(&self) -> Vec<Problem> {
        self.skipped.clone()
    }

    fn check(&self, folder: Option<&Path>) -> Report {
        let is_below = |path: &Path| folder.is_none_or(|folder| path.starts_with(folder));
        let problems = self.skipped.iter().chain(&self.problems).filter(|problem| is_below(&problem.path));
        let mut problems: Vec<Problem> = problems.cloned().collect();
        for remote in self.prompts.values().filter(|remote| is_below(&remote.document)) {
            problems.extend(remote.prompt.warnings().into_iter().map(|warning| problem(&remote.document, warning)));
        }
        problems.sort_by(|a, b| (&a.path, a.diagnostic.position).cmp(&(&b.path, b.diagnostic.position)));
        Report { files: self.documents.iter().filter(|path| is_below(path)).count(), problems }
    }

    fn check_file(&self, path: &Path) -> Option<Vec<Problem>> {
        let is_here = self.documents.iter().any(|document| document == path);
        is_here.then(|| self.check(None).problems.into_iter().filter(|problem| problem.path == path).collect())
    }

    fn attached_files(&self) -> Vec<PathBuf> {
        self.documents.iter().filter_map(|document| fs::canonicalize(document).ok()).collect()
    }

    fn is_prompt_path(&self, path: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        self.documents.iter().any(|own| own == path || (real(own).is_some() && real(own) == real(path)))
    }

    fn hash_stamps(&self, hasher: &mut DefaultHasher) -> bool {
        let stamps: Vec<Option<Stamp>> = self.documents.iter().map(|path| Stamp::at(path)).collect();
        stamps.hash(hasher);
        stamps.iter().flatten().all(Stamp::is_settled)
    }

    fn add_watch_paths(&self, paths: &mut WatchPaths) {
        self.documents.iter().for_each(|path| paths.add_path(path));
    }
}
