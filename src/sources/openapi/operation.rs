//! The parts of an OpenAPI operation that a call needs, and the options for calls.

use std::fmt;
use std::path::PathBuf;
use ureq::http::HeaderName;

/// An operation that renders a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// In uppercase.
    pub(crate) method: &'static str,
    /// The base address, not validated yet: the one in the [options](OpenApiOptions::base), or else
    /// `servers[0].url` with the defaults of its variables. Empty if there is none.
    pub(crate) base: String,
    /// The path template, such as `/triage/{service}`. Starts with `/`.
    pub(crate) path: String,
    /// Has the parameter of each argument of the prompt, in the same order.
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the body is a JSON object. It is sent even if it has no properties.
    pub(crate) has_object_body: bool,
}

/// The part of a request that an argument is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// The name of the parameter or property, which is also the name of the argument.
    pub(crate) name: String,
    pub(crate) location: ParameterLocation,
    pub(crate) value_type: ValueType,
}

/// Where a parameter is in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    /// `{name}` in the path. The elements of a JSON array are joined with commas.
    Path,
    /// `?name=value`. A JSON array becomes `name=a&name=b`.
    Query,
    /// `?name=value`. A JSON array becomes `name=a,b`.
    JoinedQuery,
    /// A property of the body, which is a JSON object.
    Body,
    /// The whole body, as JSON. There is no other parameter for the body then.
    WholeBody,
}

/// The JSON type that the text of an argument is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    Integer,
    Number,
    /// `true` or `false`.
    Boolean,
    /// The text is itself JSON: an array, an object, or a value of one of several types. In an
    /// address, an array is split into its elements, and strings are written without quotes.
    Json,
}

/// Replaces each placeholder of a template such as `/triage/{service}` with the text that
/// `text_for` returns for its name.
pub(super) fn fill_template<E>(
    template: &str,
    mut text_for: impl FnMut(&str) -> Result<String, E>,
) -> Result<String, E> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after_brace)) = rest.split_once('{')
        && let Some((name, after)) = after_brace.split_once('}')
    {
        filled += before;
        filled += &text_for(name)?;
        rest = after;
    }
    filled += rest;
    Ok(filled)
}

/// Returns the names of the placeholders in a template, in order.
pub(super) fn placeholder_names(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after_brace)) = rest.split_once('{')
        && let Some((name, after)) = after_brace.split_once('}')
    {
        names.push(name);
        rest = after;
    }
    names
}

/// Options for reading documents and calling their services.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenApiOptions {
    /// The `operationId`s of operations that render prompts even without an extension
    /// (`--openapi-operation`).
    pub operations: Vec<String>,
    /// Overrides the base address in each document (`--openapi-base`).
    pub base: Option<String>,
    /// Sent with each request (`--openapi-header`).
    pub(crate) headers: Vec<SecretHeader>,
    /// Whether addresses of private networks may be called (`--openapi-allow-private`).
    pub(crate) allow_private: bool,
    /// Whether these options are for more than one document.
    pub(crate) are_shared: bool,
}

/// The headers that only this program sets, separated by spaces. They control the framing, the
/// routing and the content negotiation of a request.
const RESERVED_HEADERS: &str = "accept accept-encoding connection content-encoding content-length \
                        content-type expect host te trailer transfer-encoding upgrade";

/// A header with a secret value. The value is read for each call, and never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretHeader {
    /// A name that [`check_header_name`] accepts.
    pub(crate) name: String,
    /// The word before the secret, e.g. `Bearer`. It is not secret.
    pub(crate) scheme: Option<String>,
    pub(crate) value: HeaderValue,
}

/// Where the value of a secret header is stored.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum HeaderValue {
    /// In a file, given by its absolute path. A line ending at its end is ignored.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
    /// Nowhere yet: this is the value, which the user has just typed.
    Typed(String),
}

/// Shows no secret.
impl fmt::Debug for HeaderValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.description())
    }
}

/// Checks that requests can have a secret header with this name.
///
/// # Errors
/// Returns the reason why not, as a clause that follows the name.
pub(crate) fn check_header_name(name: &str) -> Result<(), &'static str> {
    let Ok(name) = HeaderName::try_from(name) else {
        return Err("cannot be the name of a header");
    };
    if RESERVED_HEADERS.split(' ').any(|reserved| name == reserved) {
        return Err("is a header that this program sets; leave it out");
    }
    Ok(())
}

impl HeaderValue {
    /// Describes the value without showing it, e.g. `the value of $DESK_TOKEN`.
    pub(super) fn description(&self) -> String {
        match self {
            HeaderValue::File(path) => format!("the content of {}", path.display()),
            HeaderValue::Variable(name) => format!("the value of ${name}"),
            HeaderValue::Typed(_) => "the typed value".to_owned(),
        }
    }
}

impl SecretHeader {
    /// Returns the value to send: the scheme, if there is one, and the secret.
    pub(super) fn with_scheme(&self, secret: &str) -> String {
        match &self.scheme {
            Some(scheme) => format!("{scheme} {secret}"),
            None => secret.to_owned(),
        }
    }

    /// Returns the value to show, with a description in place of the secret.
    pub(super) fn redacted_value(&self) -> String {
        self.with_scheme(&format!("(secret: {})", self.value.description()))
    }
}
