//! An operation of an OpenAPI document, as far as a call needs it, and the options of the calls.

use std::path::PathBuf;
use ureq::http::HeaderName;

/// An operation that renders a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// In uppercase.
    pub(crate) method: &'static str,
    /// The address that the path follows: that of the [options](OpenApiOptions::base), else
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
    pub(crate) location: ParameterLocation,
    pub(crate) value_type: ValueType,
}

/// The part of a request that a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    /// `{name}` in the path. The elements of a list in JSON are joined with commas.
    Path,
    /// `?name=value`. A list in JSON becomes `name=a&name=b`.
    Query,
    /// `?name=value`. A list in JSON becomes `name=a,b`.
    JoinedQuery,
    /// A property of the JSON object that is the body.
    Body,
    /// The body itself, as JSON, if it is not an object with properties. No other parameter is for
    /// the body then.
    WholeBody,
}

/// The JSON type that the text of a value is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    Integer,
    Number,
    /// `true` or `false`.
    Boolean,
    /// A text that is JSON: a list, an object, or one of several types. In an address, a list is
    /// divided, and a string has no quotes.
    Json,
}

/// Returns a template such as `/triage/{service}` in which each `{name}` is replaced with the text
/// that `text_for` returns for the name.
///
/// # Errors
/// The first error of `text_for`.
pub(super) fn fill<E>(
    template: &str,
    mut text_for: impl FnMut(&str) -> Result<String, E>,
) -> Result<String, E> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, placeholder)) = rest.split_once('{')
        && let Some((name, after)) = placeholder.split_once('}')
    {
        filled += before;
        filled += &text_for(name)?;
        rest = after;
    }
    filled += rest;
    Ok(filled)
}

/// How documents are read, and how their services are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenApiOptions {
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
const RESERVED: &str = "accept accept-encoding connection content-encoding content-length \
                        content-type expect host te trailer transfer-encoding upgrade";

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

/// Checks that a header of this name can be sent with each request.
///
/// # Errors
/// The reason, as a clause that follows the name.
pub(crate) fn check_header_name(name: &str) -> Result<(), &'static str> {
    let Ok(name) = HeaderName::try_from(name) else {
        return Err("cannot be the name of a header");
    };
    if RESERVED.split(' ').any(|reserved| name == reserved) {
        return Err("is a header that this program sets; leave it out");
    }
    Ok(())
}

impl HeaderValue {
    /// Describes the value without showing it: `the value of $DESK_TOKEN`.
    pub(super) fn description(&self) -> String {
        match self {
            HeaderValue::File(path) => format!("the content of {}", path.display()),
            HeaderValue::Variable(name) => format!("the value of ${name}"),
        }
    }
}

impl SecretHeader {
    /// Returns the whole value of the header for a secret, with the scheme if there is one: `Bearer
    /// …`.
    pub(super) fn with_scheme(&self, secret: &str) -> String {
        match &self.scheme {
            Some(scheme) => format!("{scheme} {secret}"),
            None => secret.to_owned(),
        }
    }

    /// Returns the value of the header for a person, without the secret.
    pub(super) fn shown_value(&self) -> String {
        self.with_scheme(&format!("(secret: {})", self.value.description()))
    }
}
