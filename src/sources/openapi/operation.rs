//! An operation of an OpenAPI document, as far as it is needed to call it, and the options of the
//! calls.

use std::path::PathBuf;
use ureq::http::HeaderName;

/// An operation that renders a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// In uppercase.
    pub(crate) method: &'static str,
    /// The address that the path follows: that of the [options](Options::base), else
    /// `servers[0].url` of the document with the defaults of its variables. As written; empty if
    /// there is none.
    pub(crate) base: String,
    /// The template of the path: `/triage/{service}`. It begins with `/`.
    pub(crate) path: String,
    /// One for each argument of the prompt, in the same order.
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the body is an object in JSON. It is sent even if it is `{}`.
    pub(crate) has_object: bool,
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
    /// `?name=value`. A list in JSON is `name=a&name=b`, or joined `name=a,b`.
    Query { is_joined: bool },
    /// A property of the JSON object that is the body.
    Body,
    /// The body itself, as JSON, if it is not an object with properties. No other parameter is for
    /// the body then.
    WholeBody,
}

/// What the text of a value is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    /// `true` or `false`.
    Boolean,
    /// A text that is JSON: a list, an object, or one of several types. In an address, a list is
    /// divided, and a string has no quotes.
    Json,
}

/// Replaces each `{name}` of a template with what `value_of` returns for it.
///
/// # Errors
/// The first error of `value_of`.
pub(super) fn fill<E>(
    template: &str,
    mut value_of: impl FnMut(&str) -> Result<String, E>,
) -> Result<String, E> {
    let (mut filled, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{')
        && let Some((name, after)) = after.split_once('}')
    {
        filled += before;
        filled += &value_of(name)?;
        rest = after;
    }
    Ok(filled + rest)
}

/// How documents are read, and how their services are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The `operationId`s of operations that render prompts although no extension says so
    /// (`--openapi-operation`).
    pub operations: Vec<String>,
    /// The address that replaces that of each document (`--openapi-base`).
    pub base: Option<String>,
    /// Sent with each request (`--openapi-header`).
    pub(crate) headers: Vec<SecretHeader>,
    /// Whether addresses of private networks may be called (`--openapi-allow-private`).
    pub(crate) allow_private: bool,
    /// Whether several documents have these options.
    pub(crate) are_shared: bool,
}

/// The headers that this program sets: they say where a message ends, to whom it goes, and what may
/// answer it.
const RESERVED: &str = "accept accept-encoding connection content-encoding content-length content-type expect host te trailer \
                        transfer-encoding upgrade";

/// A header whose value is a secret, which is read at each call and never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretHeader {
    /// One that [`check_header_name`] accepts.
    pub(crate) name: String,
    /// The word before the secret, which is not secret itself: `Bearer`.
    pub(crate) scheme: Option<String>,
    pub(crate) value: HeaderValue,
}

/// Where the value of a header is.
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
        Ok(name) if RESERVED.split(' ').any(|reserved| name == reserved) => {
            Err("is a header that this program sets; leave it out")
        }
        Ok(_) => Ok(()),
    }
}

impl HeaderValue {
    /// Describes the value without showing it.
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
        self.scheme
            .as_ref()
            .map_or(value.clone(), |scheme| format!("{scheme} {value}"))
    }
}
