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
//! The service is called for an expansion only. Everything else that is shown of a prompt comes
//! from the document.

mod address;
mod answer;
mod document;
mod operation;
mod request;
mod schema;
mod send;

use crate::library::{
    About, BoundCall, Cache, Found, Handle, Info, Join, Layer, Library, Listing, Place, SETTLING,
    ServiceRequest, Source, Trace, Watched, read,
};
pub use operation::Options;
pub(crate) use operation::{HeaderValue, SecretHeader, check_header_name};

use crate::prompt::{Binding, Diagnostic, Format, Kind, Message, Messages, Name, Piece, Prompt};
use address::Base;
pub(crate) use address::check_base;
pub(super) use answer::Answer;
use document::{Document, MAX_DOCUMENT};
use request::request;
pub(super) use send::{bundle, exchange, no_answer, secrets, settings as client_settings};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A document.
#[derive(Debug)]
struct OpenApi {
    about: About,
    path: PathBuf,
    options: Arc<Options>,
    read: Cache<Arc<Read>>,
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
    found: document::Found,
    info: Info,
}

impl OpenApi {
    fn new(path: PathBuf, options: Arc<Options>) -> OpenApi {
        let about = About {
            calls_services: true,
            ..About::new(Layer::SERVICE, Format::OPENAPI, Some(path.clone()))
        };
        OpenApi {
            about,
            path,
            options,
            read: Cache::new(1, SETTLING),
        }
    }

    fn read(&self) -> Arc<Read> {
        self.read.get("", |trace| Arc::new(self.read_now(trace)))
    }

    fn read_now(&self, trace: &mut Trace) -> Read {
        let stamp = trace.look(&self.path);
        let bytes = read(&self.path, MAX_DOCUMENT);
        let parsed = bytes.and_then(|bytes| document::parse(&bytes, &self.options));
        let Document {
            found,
            mut problems,
        } = match parsed {
            Ok(document) => document,
            Err(diagnostic) => Document {
                problems: vec![diagnostic],
                ..Document::default()
            },
        };
        problems.extend(
            found
                .values()
                .next()
                .and_then(|found| Base::of(&found.operation, &self.options).err()),
        );
        let remote = |(name, found): (Name, document::Found)| {
            // There is no file of its own that could be edited.
            let modified = stamp.and_then(|stamp| stamp.modified);
            let info = Info {
                revision: None,
                ..Info::of(found.text.as_bytes(), modified, Ok(&found.prompt))
            };
            let (document, options) = (self.path.clone(), Arc::clone(&self.options));
            (
                name,
                Arc::new(Remote {
                    document,
                    options,
                    found,
                    info,
                }),
            )
        };
        let problems = problems
            .into_iter()
            .map(|problem| problem.in_file(&*self.path))
            .collect();
        Read {
            prompts: found.into_iter().map(remote).collect(),
            problems,
        }
    }

    fn found(&self, remote: &Arc<Remote>) -> Found {
        Found::new(
            remote.found.prompt.name.clone(),
            &self.about,
            Arc::clone(remote),
        )
    }
}

impl Library {
    /// Adds the prompts that services render: operations of these documents.
    #[must_use]
    pub fn with_openapi(self, documents: Vec<PathBuf>, options: Options) -> Library {
        let options = Arc::new(options);
        documents.into_iter().fold(self, |library, path| {
            library.with(OpenApi::new(path, Arc::clone(&options)))
        })
    }
}

impl Source for OpenApi {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.read()
            .prompts
            .get(name)
            .map(|remote| self.found(remote))
    }

    fn list(&self) -> Listing {
        let read = self.read();
        let found = read
            .prompts
            .values()
            .map(|remote| self.found(remote))
            .collect();
        Listing {
            found,
            problems: read.problems.clone(),
            ..Listing::default()
        }
    }

    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.read().problems.clone();
        problems.retain(|problem| matches!(problem.kind, Kind::Missing | Kind::Unreadable));
        problems
    }

    fn probe(&self) -> Option<Diagnostic> {
        let read = self.read();
        let first = read.prompts.values().next()?;
        let finding = match send::reach(&first.found.operation, &self.options) {
            Ok(status) => Diagnostic::new(
                Kind::Hint,
                format!("the service answers with the status {status}"),
                "",
            ),
            Err(error) => error,
        };
        Some(finding.in_file(&*self.path))
    }

    fn watch(&self, watched: &mut Watched) {
        watched.add_path(&self.path);
    }
}

impl document::Found {
    /// The request that a call sends, without secret headers.
    fn request(
        &self,
        binding: &Binding<'_>,
        options: &Options,
    ) -> Result<ServiceRequest, Diagnostic> {
        if let Some(error) = &binding.error {
            return Err(error.clone());
        }
        request(&self.operation, &binding.arguments, options)
    }
}

impl Handle for Arc<Remote> {
    fn place(&self) -> Place {
        Place {
            shown: self.document.display().to_string(),
            file: Some(self.document.clone()),
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        self.info.clone()
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Ok(self.found.text.clone())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        Ok(Arc::clone(&self.found.prompt))
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let request = self.found.request(&bound.binding, &self.options)?;
        let Messages {
            messages,
            attachments,
        } = send::send(&self.found.operation, &request, &self.options)?;
        // The text of a service counts as a value, not as text of the prompt.
        let joined = |Message { role, text }| Message {
            role,
            text: join(&mut [Piece::Value(&text)].into_iter()),
        };
        Ok(Messages {
            messages: messages.into_iter().map(joined).collect(),
            attachments,
        })
    }

    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        Some(
            self.found
                .request(&bound.binding, &self.options)
                .map(|mut request| {
                    request.headers.extend(
                        self.options
                            .headers
                            .iter()
                            .map(|header| (header.name.clone(), header.shown_value())),
                    );
                    request
                }),
        )
    }
}
