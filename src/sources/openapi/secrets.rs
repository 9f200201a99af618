//! The values of secret headers: they are read for each request, and are in no message.

use super::operation::{HeaderValue, SecretHeader};
use crate::library::read;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{in_backticks, printable};
use std::env;
use ureq::http;

/// The longest value of a secret header, in bytes.
const MAX_SECRET: usize = 16 * 1024;

/// Why a text cannot be the value of a header.
const UNUSABLE: &str = "it is empty, or has a line break or another control character";

/// A secret header, as it is sent.
pub(in crate::sources) struct Secret {
    pub(super) name: String,
    /// The whole value: `Bearer …`.
    pub(super) value: http::HeaderValue,
    /// The value without the word before it.
    pub(in crate::sources) text: String,
}

/// Reads the values of secret headers.
///
/// # Errors
/// A value cannot be read, or cannot be the value of a header.
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

/// Reads the value of one header.
///
/// # Errors
/// The reason why it cannot be sent, without the value.
fn read_secret(header: &SecretHeader) -> Result<Secret, String> {
    let content = read_content(&header.value)?;
    let text = content.trim();
    if text.is_empty() {
        return Err(UNUSABLE.to_owned());
    }
    let Ok(mut value) = http::HeaderValue::try_from(header.with_scheme(text)) else {
        return Err(UNUSABLE.to_owned());
    };
    value.set_sensitive(true);
    Ok(Secret {
        name: header.name.clone(),
        value,
        text: text.to_owned(),
    })
}

/// Returns the content of a file or an environment variable.
fn read_content(value: &HeaderValue) -> Result<String, String> {
    match value {
        HeaderValue::Variable(name) => env::var(name).map_err(|error| error.to_string()),
        HeaderValue::File(path) => {
            let bytes = read(path, MAX_SECRET).map_err(|error| error.message)?;
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
        }
    }
}

/// Returns the error for a secret header that cannot be sent, as a clause about the server.
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

/// Masks the secrets that were sent to a service in a text that the service returned. The last word
/// of a header is masked by itself, too, because it is the secret of `Bearer TOKEN`.
pub(super) fn conceal(text: &str, secrets: &[Secret]) -> String {
    let mut concealed = text.to_owned();
    for secret in secrets {
        let last_word = secret.text.rsplit(' ').next().unwrap_or_default();
        concealed = concealed.replace(&secret.text, "…").replace(last_word, "…");
    }
    concealed
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
            (Some(&b""[..]), UNUSABLE),
            (Some(b"s3cret\r\nX-Evil: 1"), UNUSABLE),
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
