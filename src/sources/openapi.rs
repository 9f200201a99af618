//! Prompts that a service renders: operations of an OpenAPI document, which the user named.
//!
//! | | |
//! |---|---|
//! | the text of a document becomes a value | `openapi/syntax.rs` |
//! | the value becomes operations and prompts | `openapi/{document,inputs,schema}.rs` |
//! | what is known of an operation | `openapi/operation.rs` |
//! | an operation and the values of a call become a request | `openapi/request.rs` |
//! | which addresses may be called | `openapi/address.rs` |
//! | a request is sent | `openapi/send.rs`, `openapi/secrets.rs` |
//! | the reply becomes messages | `openapi/reply.rs` |
//!
//! The service is called for an expansion only. Everything else that is shown of a prompt comes
//! from the document.

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
    MIN_STAMP_AGE, ServiceRequest, Source, Trace, Watched, read,
};
use crate::prompt::{
    Binding, Diagnostic, Format, Kind, Messages, Name, Piece, Prompt, decode_utf8_owned,
};
use address::BaseUrl;
pub(crate) use address::check_base;
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

/// A document that the user named.
#[derive(Debug)]
struct OpenApi {
    about: About,
    path: PathBuf,
    options: Arc<OpenApiOptions>,
    /// What the document held when it was last read.
    content: Cache<Arc<DocumentContent>>,
}

/// What the document held when it was read.
#[derive(Debug, Default)]
struct DocumentContent {
    prompts: BTreeMap<Name, Arc<ServicePrompt>>,
    /// What is wrong in the document.
    problems: Vec<Diagnostic>,
}

/// A prompt that a service renders.
#[derive(Debug)]
struct ServicePrompt {
    /// The path of the document.
    document: PathBuf,
    options: Arc<OpenApiOptions>,
    /// What the document says of the prompt and its operation.
    described: DocumentPrompt,
    info: Info,
}

impl OpenApi {
    /// Creates the source of a document, which is not read yet.
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

    /// Returns what the document holds. It is read again only if it has changed.
    fn content(&self) -> Arc<DocumentContent> {
        self.content
            .get("", |trace| Arc::new(self.read_content(trace)))
    }

    /// Reads the document. `trace` gets its state from before that.
    fn read_content(&self, trace: &mut Trace) -> DocumentContent {
        let modified = trace.record(&self.path).and_then(|stamp| stamp.modified);
        let document = match self.read_document() {
            Ok(document) => document,
            Err(error) => Document {
                problems: vec![error],
                ..Document::default()
            },
        };
        let mut problems = document.problems;
        // All operations have the same base address.
        if let Some(first) = document.prompts.values().next()
            && let Err(error) = BaseUrl::of_operation(&first.operation, &self.options)
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
    /// The file cannot be read, or is not an OpenAPI document.
    fn read_document(&self) -> Result<Document, Diagnostic> {
        let bytes = read(&self.path, MAX_DOCUMENT)?;
        document::parse(&decode_utf8_owned(bytes)?, &self.options)
    }

    /// Returns a prompt of the document, which was last changed at the time `modified`.
    fn service_prompt(
        &self,
        described: DocumentPrompt,
        modified: Option<SystemTime>,
    ) -> ServicePrompt {
        let info = Info {
            // There is no file of its own that could be edited.
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

    /// Returns a prompt of the document as one that was found.
    fn found(&self, prompt: &Arc<ServicePrompt>) -> Found {
        let name = prompt.described.prompt.name.clone();
        Found::new(name, &self.about, Arc::clone(prompt))
    }
}

impl Library {
    /// Adds the prompts that services render, which these OpenAPI documents describe.
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

    fn find(&self, name: &Name) -> Option<Found> {
        let content = self.content();
        let prompt = content.prompts.get(name)?;
        Some(self.found(prompt))
    }

    fn list(&self) -> Listing {
        let content = self.content();
        let prompts = content.prompts.values();
        Listing {
            found: prompts.map(|prompt| self.found(prompt)).collect(),
            problems: content.problems.clone(),
            ..Listing::default()
        }
    }

    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.content().problems.clone();
        problems.retain(|problem| matches!(problem.kind, Kind::NotFound | Kind::Unreadable));
        problems
    }

    /// Calls the service, and returns what it answers: a hint with the status, or an error; `None`
    /// if the document has no prompts.
    fn probe(&self) -> Option<Diagnostic> {
        let content = self.content();
        // All operations have the same service.
        let first = content.prompts.values().next()?;
        let finding = match first.service().and_then(|service| service.reach()) {
            Ok(status) => {
                let message = format!("the service answers with the status {status}");
                Diagnostic::new(Kind::Hint, message, "")
            }
            Err(error) => error,
        };
        Some(finding.in_file(&*self.path))
    }

    fn watch(&self, watched: &mut Watched) {
        watched.add_path(&self.path);
    }
}

impl ServicePrompt {
    /// Prepares to call the service that renders the prompt.
    fn service(&self) -> Result<Service<'_>, Diagnostic> {
        Service::new(&self.described.operation, &self.options)
    }

    /// Returns the request that a call sends, without secret headers.
    fn build_request(&self, binding: &Binding<'_>) -> Result<ServiceRequest, Diagnostic> {
        if let Some(error) = &binding.error {
            return Err(error.clone());
        }
        build_request(&self.described.operation, &binding.arguments, &self.options)
    }

    /// Returns the request that a call sends, with descriptions in place of the secrets.
    fn shown_request(&self, binding: &Binding<'_>) -> Result<ServiceRequest, Diagnostic> {
        let mut request = self.build_request(binding)?;
        for header in &self.options.headers {
            let value = header.shown_value();
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

    /// Calls the service. `join` gets each text as a value, because it is no text of the prompt.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let request = self.build_request(&bound.binding)?;
        let mut reply = self.service()?.send(&request)?;
        for message in &mut reply.messages {
            // The text of a service counts as a value, not as text of the prompt.
            let text = std::mem::take(&mut message.text);
            message.text = join(&mut [Piece::Value(&text)].into_iter());
        }
        Ok(reply)
    }

    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        Some(self.shown_request(&bound.binding))
    }
}
