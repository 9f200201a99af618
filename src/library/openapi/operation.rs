//! An operation of an OpenAPI document, as far as it is needed to call it, and the options of the calls.

use std::path::PathBuf;
use ureq::http::{HeaderName, Method, header};

/// An operation that renders a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// The address that the path follows: that of the [options](Options::base), else `servers[0].url` of the document with the
    /// defaults of its variables. As written; `None` if the document has no absolute one.
    pub(crate) base: Option<String>,
    /// The template of the path: `/triage/{service}`. It begins with `/`.
    pub(crate) path: String,
    /// One for each argument of the prompt, in the same order.
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the operation has a body of `application/json`. If so, one is sent even if it is `{}`.
    pub(crate) has_body: bool,
}

/// Where the value of an argument goes in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// The name of the prompt's argument, which is that of the parameter or the property.
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// The part of a request that a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `{name}` in the path. The elements of a list in JSON are joined with commas.
    Path,
    /// `?name=value`.
    Query(List),
    /// A property of the JSON object that is the body.
    Body,
    /// The body itself, which is no object with properties: JSON. There is no other parameter for the body then.
    WholeBody,
}

/// How a list in JSON is written in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// `name=a&name=b`.
    Repeated,
    /// `name=a,b`.
    Joined,
}

/// What the text of a value is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Text,
    Integer,
    Number,
    /// `true` or `false`.
    Boolean,
    /// A text that is JSON: a list, an object, or one of several types. In an address, a list is divided, and a string has no quotes.
    Json,
}

/// The options of the documents: what they have, and how their services are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The `operationId`s of operations that render prompts although no extension says so (`--openapi-operation`).
    pub(crate) operations: Vec<String>,
    /// The address that replaces that of each document (`--openapi-base`).
    pub(crate) base: Option<String>,
    /// Sent with each request (`--openapi-header`).
    pub(crate) headers: Vec<SecretHeader>,
    /// Whether addresses of private networks may be called (`--openapi-allow-private`).
    pub(crate) allow_private: bool,
}

/// The headers that this program sets: they say where a message ends, to whom it goes, and what may answer it.
const RESERVED: [HeaderName; 12] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A header whose value is a secret, which is read at each call and never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretHeader {
    /// One that [`check_header_name`] accepts.
    pub(crate) name: String,
    /// The word before the secret, which is none itself: `Bearer`.
    pub(crate) scheme: Option<String>,
    pub(crate) value: HeaderValue,
}

/// Where the value of a header is. Its `Display` says that, in place of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeaderValue {
    /// In this file, without the line ending at the end. An absolute path.
    File(PathBuf),
    /// In this environment variable.
    Variable(String),
}

/// Whether a header of this name can be sent with each request; or why not, as a clause.
pub(crate) fn check_header_name(name: &str) -> Result<(), &'static str> {
    match HeaderName::try_from(name) {
        Err(_) => Err("cannot be the name of a header"),
        Ok(name) if RESERVED.contains(&name) => Err("is a header that this program sets; leave it out"),
        Ok(_) => Ok(()),
    }
}

impl HeaderValue {
    /// What it is, for a person.
    pub(super) fn named(&self) -> String {
        match self {
            HeaderValue::File(path) => format!("the content of {}", path.display()),
            HeaderValue::Variable(name) => format!("the value of ${name}"),
        }
    }
}

impl SecretHeader {
    /// Its value for a person, without the secret.
    pub(super) fn shown_value(&self) -> String {
        let value = format!("(secret: {})", self.value.named());
        self.scheme.as_ref().map_or(value.clone(), |scheme| format!("{scheme} {value}"))
    }
}
