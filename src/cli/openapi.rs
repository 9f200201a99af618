//! The options that add operations of OpenAPI documents as prompts.

use super::redacting_parser::RedactingParser;
use super::user_folders::absolute;
use crate::library::Library;
use crate::sources::{
    HeaderValue, OpenApiOptions, SecretHeader, check_header_name, normalize_base_url,
};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Clone, Args)]
pub(super) struct OpenApiArgs {
    /// Add prompts that a service renders: operations of an OpenAPI document; can be repeated
    ///
    /// The document is YAML or JSON, and its version is 3.0, 3.1 or 3.2. An operation with the
    /// extension `x-mcp-prompt` is a prompt, and so are the prompts of a Zuplo gateway. The service
    /// is called only when such a prompt is expanded, not when prompts are listed. Your own prompts
    /// override a service's prompts of the same name.
    #[arg(long = "openapi", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) openapi: Vec<PathBuf>,
    /// Also use the operation with this `operationId` as a prompt; can be repeated
    #[arg(long, value_name = "ID", requires = "openapi")]
    pub(super) openapi_operation: Vec<String>,
    /// The address of the service; by default, the first server in the document
    #[arg(long, value_name = "URL", requires = "openapi", value_parser = RedactingParser(parse_base_url))]
    pub(super) openapi_base: Option<String>,
    /// Send the service a header whose value is in a file or an environment variable; can be
    /// repeated
    ///
    /// The value is read at each call, is sent only to the service's own address, and is never
    /// shown. Quote the option for the shell: `--openapi-header 'Authorization: Bearer $TOKEN'`.
    /// The word before the variable or file, here `Bearer`, is sent as it is. You can leave it out.
    #[arg(long, value_name = "NAME: @FILE|$VARIABLE", requires = "openapi", value_parser = RedactingParser(parse_header))]
    pub(super) openapi_header: Vec<SecretHeader>,
    /// Call the service even if its address is in a private network
    #[arg(long, requires = "openapi", overrides_with = "openapi_allow_private")]
    pub(super) openapi_allow_private: bool,
}

impl OpenApiArgs {
    /// Adds the operations of the documents to the library. The options for the service apply to
    /// all documents.
    pub(super) fn add_to(&self, library: Library) -> Library {
        let options = OpenApiOptions {
            operations: self.openapi_operation.clone(),
            base: self.openapi_base.clone(),
            headers: self.openapi_header.clone(),
            allow_private: self.openapi_allow_private,
            are_shared: self.openapi.len() > 1,
        };
        let documents = self.openapi.iter().map(|path| absolute(path));
        library.with_openapi(documents.collect(), options)
    }
}

/// Checks a value of `--openapi-base`, e.g. `https://prompts.example.com`, and returns it
/// unchanged.
///
/// # Errors
/// Fails if it isn't a usable URL.
pub(super) fn parse_base_url(url: &str) -> Result<String, String> {
    normalize_base_url(url)?;
    Ok(url.to_owned())
}

const HEADER_FORM: &str =
    "write NAME: @FILE or NAME: $VARIABLE, as in 'Authorization: Bearer $TOKEN'";

/// Parses a value of `--openapi-header`, e.g. `Authorization: Bearer $TOKEN`: the name of the
/// header, its scheme, and the environment variable that contains the secret.
///
/// # Errors
/// Fails if the option has another form. The error doesn't repeat it, because the user may have
/// written the secret itself.
pub(super) fn parse_header(option: &str) -> Result<SecretHeader, String> {
    let (name, value) = option.split_once(':').ok_or(HEADER_FORM)?;
    let name = name.trim();
    check_header_name(name).map_err(|problem| format!("the text before the colon {problem}"))?;
    let (scheme, reference) = split_scheme(value.trim());
    Ok(SecretHeader {
        name: name.to_owned(),
        scheme: scheme.map(str::to_owned),
        value: parse_reference(reference)?,
    })
}

/// Splits the value of a header into its scheme, if there is one, and the reference to its secret:
/// `Bearer $TOKEN` into `Bearer` and `$TOKEN`.
fn split_scheme(value: &str) -> (Option<&str>, &str) {
    match value.split_once(' ') {
        Some((scheme, reference)) if is_scheme(scheme) => (Some(scheme), reference.trim_start()),
        _ => (None, value),
    }
}

fn is_scheme(word: &str) -> bool {
    word.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Parses the reference to a secret: a file (`@FILE`), or an environment variable (`$NAME` or
/// `${NAME}`).
fn parse_reference(reference: &str) -> Result<HeaderValue, String> {
    if let Some(path) = reference.strip_prefix('@')
        && !path.is_empty()
    {
        return Ok(HeaderValue::File(absolute(Path::new(path))));
    }
    let Some(variable) = reference.strip_prefix('$') else {
        return Err(format!(
            "its value must not be in the option, where others can see it; {HEADER_FORM}"
        ));
    };
    let name_in_braces = variable
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'));
    let name = name_in_braces.unwrap_or(variable);
    if !is_variable_name(name) {
        return Err(format!(
            "`$` must be followed by the name of an environment variable; {HEADER_FORM}"
        ));
    }
    Ok(HeaderValue::Variable(name.to_owned()))
}

fn is_variable_name(text: &str) -> bool {
    let is_word = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && !text.is_empty()
}
