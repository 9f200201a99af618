//! Prompts that a service renders. They are operations of an OpenAPI document.
//!
//! | step | files |
//! |---|---|
//! | parse the text of a document into a JSON value | `openapi/syntax.rs` |
//! | read the operations and their prompts | `openapi/{document,inputs,schema}.rs` |
//! | represent an operation | `openapi/operation.rs` |
//! | build the request for a call | `openapi/request.rs` |
//! | decide which addresses may be called | `openapi/address.rs` |
//! | send the request | `openapi/send.rs`, `openapi/secrets.rs` |
//! | read the messages in the response | `openapi/response.rs` |
//!
//! The service is called only to expand a prompt. All other information about a prompt comes from
//! the document.

mod address;
mod document;
mod inputs;
mod operation;
mod request;
mod response;
mod schema;
mod secrets;
mod send;
mod syntax;

use crate::library::{
    About, BoundCall, Cache, Found, Handle, Info, Join, Layer, Library, Listing, Location,
    MIN_STAMP_AGE, ONLY_KEY, ServiceRequest, Source, Trace, Watched, read_file,
};
use crate::prompt::{
    Binding, Diagnostic, Format, Kind, Messages, Name, Piece, Prompt, decode_utf8_owned,
};
use address::BaseUrl;
pub(crate) use address::normalize_base_url;
use document::{Document, DocumentPrompt};
pub use operation::OpenApiOptions;
pub(crate) use operation::{HeaderValue, SecretHeader, check_header_name};
use request::build_request;
pub(super) use response::ServiceReply;
pub(super) use secrets::read_secrets;
use send::Service;
pub(super) use send::{ReplyLimits, bundled_certificates, client_config, exchange, exchange_error};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use syntax::MAX_DOCUMENT;

/// The source of the prompts in an OpenAPI document.
#[derive(Debug)]
struct OpenApi {
    about: About,
    path: PathBuf,
    options: Arc<OpenApiOptions>,
    /// The contents of the document when it was last read.
    content: Cache<Arc<DocumentContent>>,
}

/// The contents of a document.
#[derive(Debug, Default)]
struct DocumentContent {
    prompts: BTreeMap<Name, Arc<ServicePrompt>>,
    /// The errors and warnings about the document.
    problems: Vec<Diagnostic>,
}

/// A prompt that a service renders.
#[derive(Debug)]
struct ServicePrompt {
    /// The path of the document.
    document: PathBuf,
    options: Arc<OpenApiOptions>,
    /// The prompt and its operation, as the document describes them.
    described: DocumentPrompt,
    info: Info,
}

impl OpenApi {
    /// Creates a source for the document at `path`, without reading it.
    fn new(path: PathBuf, options: Arc<OpenApiOptions>) -> OpenApi {
        let about = About {
            calls_services: true,
            ..About::new(Layer::SERVICE, Format::OPENAPI, Some(path.clone()))
        };
        OpenApi {
            about,
            path,
            options,
            content: Cache::new(1, MIN_STAMP_AGE),
        }
    }

    /// Returns the contents of the document. It is read again only after a change.
    fn content(&self) -> Arc<DocumentContent> {
        self.content
            .get(ONLY_KEY, |trace| Arc::new(self.read_content(trace)))
    }

    /// Reads the document, and records in `trace` the file that the result depends on.
    fn read_content(&self, trace: &mut Trace) -> DocumentContent {
        // Record the file before it is read, so that no change is missed.
        let modified = trace.record(&self.path).and_then(|stamp| stamp.modified);
        let document = match self.read_document() {
            Ok(document) => document,
            Err(error) => Document {
                problems: vec![error],
                ..Document::default()
            },
        };
        let mut problems = document.problems;
        // All operations have the same base address, so it's enough to check it once.
        if let Some(first) = document.prompts.values().next()
            && let Err(error) = BaseUrl::for_operation(&first.operation, &self.options)
        {
            problems.push(error);
        }
        let mut content = DocumentContent::default();
        for problem in problems {
            content.problems.push(problem.in_file(&*self.path));
        }
        for (name, described) in document.prompts {
            let prompt = self.service_prompt(described, modified);
            content.prompts.insert(name, Arc::new(prompt));
        }
        content
    }

    /// Reads and parses the document.
    ///
    /// # Errors
    /// It is missing, too large, or not an OpenAPI document.
    fn read_document(&self) -> Result<Document, Diagnostic> {
        let bytes = read_file(&self.path, MAX_DOCUMENT)?;
        document::parse(&decode_utf8_owned(bytes)?, &self.options)
    }

    /// Creates a prompt. `modified` is when the document was last changed.
    fn service_prompt(
        &self,
        described: DocumentPrompt,
        modified: Option<SystemTime>,
    ) -> ServicePrompt {
        let info = Info {
            // Without a revision, because the prompt cannot be edited.
            revision: None,
            ..Info::new(described.text.as_bytes(), modified, Ok(&described.prompt))
        };
        ServicePrompt {
            document: self.path.clone(),
            options: Arc::clone(&self.options),
            described,
            info,
        }
    }

    /// Wraps a prompt as the result of a search.
    fn to_found(&self, prompt: &Arc<ServicePrompt>) -> Found {
        let name = prompt.described.prompt.name.clone();
        Found::new(name, &self.about, Arc::clone(prompt))
    }
}

impl Library {
    /// Adds the prompts that these OpenAPI documents describe, and that services render.
    #[must_use]
    pub fn with_openapi(self, documents: Vec<PathBuf>, options: OpenApiOptions) -> Library {
        let options = Arc::new(options);
        let mut library = self;
        for path in documents {
            library = library.with(OpenApi::new(path, Arc::clone(&options)));
        }
        library
    }
}

impl Source for OpenApi {
    fn about(&self) -> &About {
        &self.about
    }

    /// Finds the prompt of the operation with this name. Does not call the service.
    fn find(&self, name: &Name) -> Option<Found> {
        let content = self.content();
        let prompt = content.prompts.get(name)?;
        Some(self.to_found(prompt))
    }

    /// Lists the prompts that the document describes, with all problems of the document.
    fn list(&self) -> Listing {
        let content = self.content();
        let prompts = content.prompts.values();
        Listing {
            found: prompts.map(|prompt| self.to_found(prompt)).collect(),
            problems: content.problems.clone(),
            ..Listing::default()
        }
    }

    /// Returns an error if the document can't be read. Errors about its contents are only in the
    /// list.
    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.content().problems.clone();
        problems.retain(|problem| matches!(problem.kind, Kind::NotFound | Kind::Unreadable));
        problems
    }

    /// Calls the service, and returns a hint with the status of its response, or an error if it
    /// cannot be reached. Returns `None` if the document has no prompts.
    fn probe(&self) -> Option<Diagnostic> {
        let content = self.content();
        // All operations are of the same service.
        let first = content.prompts.values().next()?;
        let finding = match first.service().and_then(|service| service.fetch_status()) {
            Ok(status) => {
                let message = format!("the service answers with the status {status}");
                Diagnostic::new(Kind::Hint, message, "")
            }
            Err(error) => error,
        };
        Some(finding.in_file(&*self.path))
    }

    /// Watches the document.
    fn watch(&self, watched: &mut Watched) {
        watched.add_path(&self.path);
    }
}

impl ServicePrompt {
    /// Returns the service that renders the prompt, without calling it.
    fn service(&self) -> Result<Service<'_>, Diagnostic> {
        Service::new(&self.described.operation, &self.options)
    }

    /// Builds the request for a call, without the secret headers.
    fn build_request(&self, binding: &Binding<'_>) -> Result<ServiceRequest, Diagnostic> {
        if let Some(error) = &binding.error {
            return Err(error.clone());
        }
        build_request(&self.described.operation, &binding.arguments, &self.options)
    }

    /// Builds the request for a call, with descriptions in place of the secret headers.
    fn build_redacted_request(&self, binding: &Binding<'_>) -> Result<ServiceRequest, Diagnostic> {
        let mut request = self.build_request(binding)?;
        for header in &self.options.headers {
            let value = header.redacted_value();
            request.headers.insert(header.name.clone(), value);
        }
        Ok(request)
    }
}

impl Handle for Arc<ServicePrompt> {
    fn location(&self) -> Location {
        Location {
            display: self.document.display().to_string(),
            file: Some(self.document.clone()),
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        self.info.clone()
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Ok(self.described.text.clone())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        Ok(Arc::clone(&self.described.prompt))
    }

    /// Calls the service.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let request = self.build_request(&bound.binding)?;
        let mut reply = self.service()?.send(&request)?;
        for message in &mut reply.messages {
            // Pass the text as a value, because it is not part of the prompt file.
            let text = std::mem::take(&mut message.text);
            message.text = join(&mut [Piece::Value(&text)].into_iter());
        }
        Ok(reply)
    }

    /// Returns the request that [`messages`](Handle::messages) sends, without its secrets.
    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        Some(self.build_redacted_request(&bound.binding))
    }
}
