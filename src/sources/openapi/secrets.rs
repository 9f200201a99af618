//! Reads the values of secret headers for each request, and masks them in messages.

use super::operation::{HeaderValue, SecretHeader};
use crate::library::read_file;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{in_backticks, printable};
use std::env;
use ureq::http;

/// The maximum length of a secret, in bytes.
const MAX_SECRET: usize = 16 * 1024;

/// The reason why a text cannot be the value of a header.
const INVALID_VALUE: &str = "it is empty, or has a line break or another control character";

/// A secret header, ready to be sent.
pub(in crate::sources) struct Secret {
    pub(super) name: String,
    /// The whole value, including a scheme such as `Bearer`.
    pub(super) value: http::HeaderValue,
    /// The value without the scheme.
    pub(in crate::sources) text: String,
}

/// Reads the values of secret headers.
///
/// # Errors
/// A value cannot be read, or is not valid for a header.
pub(in crate::sources) fn read_secrets(
    headers: &[SecretHeader],
) -> Result<Vec<Secret>, Diagnostic> {
    let mut secrets = Vec::new();
    for header in headers {
        let secret = read_secret(header).map_err(|reason| secret_error(header, &reason))?;
        secrets.push(secret);
    }
    Ok(secrets)
}

/// Reads the value of a secret header.
///
/// # Errors
/// Returns the reason why it cannot be sent. It doesn't quote the value.
fn read_secret(header: &SecretHeader) -> Result<Secret, String> {
    let content = read_content(&header.value)?;
    let text = content.trim();
    if text.is_empty() {
        return Err(INVALID_VALUE.to_owned());
    }
    let Ok(mut value) = http::HeaderValue::try_from(header.with_scheme(text)) else {
        return Err(INVALID_VALUE.to_owned());
    };
    value.set_sensitive(true);
    Ok(Secret {
        name: header.name.clone(),
        value,
        text: text.to_owned(),
    })
}

/// Reads the file or environment variable.
fn read_content(value: &HeaderValue) -> Result<String, String> {
    match value {
        HeaderValue::Variable(name) => env::var(name).map_err(|error| error.to_string()),
        HeaderValue::File(path) => {
            let bytes = read_file(path, MAX_SECRET).map_err(|error| error.message)?;
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
        }
        HeaderValue::Typed(text) => Ok(text.clone()),
    }
}

/// Returns the error for a secret header that cannot be sent. Its message is a clause about the
/// server.
fn secret_error(header: &SecretHeader, reason: &str) -> Diagnostic {
    let value = header.value.description();
    let name = in_backticks(&header.name);
    let reason = printable(reason);
    Diagnostic::new(
        Kind::Service,
        format!("is not called: {value} of the header {name} cannot be used: {reason}"),
        "correct it, or the settings",
    )
}

/// Masks the secrets in a text that a service returned.
pub(super) fn mask_secrets(text: &str, secrets: &[Secret]) -> String {
    let mut masked = text.to_owned();
    for secret in secrets {
        masked = masked.replace(&secret.text, "…");
        // If a file contains `Bearer TOKEN`, mask the token on its own, too.
        let last_word = secret.text.rsplit(' ').next().unwrap_or_default();
        masked = masked.replace(last_word, "…");
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_cannot_be_sent_is_an_error_that_does_not_repeat_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let header = SecretHeader {
            name: "X-Key".to_owned(),
            scheme: Some("Bearer".to_owned()),
            value: HeaderValue::File(path.clone()),
        };
        for (content, reason) in [
            (None, "there is no such file"),
            (Some(&b""[..]), INVALID_VALUE),
            (Some(b"s3cret\r\nX-Evil: 1"), INVALID_VALUE),
            (Some(b"s3cret\xff"), "it is not UTF-8"),
        ] {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            let error = read_secrets(std::slice::from_ref(&header)).err().unwrap();
            let path = path.display();
            let message = format!(
                "is not called: the content of {path} of the header `X-Key` cannot be used: {reason}"
            );
            assert_eq!(error.message, message);
        }
    }
}
