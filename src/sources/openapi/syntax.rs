//! Parses the text of a document, which is JSON or YAML.

use crate::input::without_bom;
use crate::prompt::{Diagnostic, Position, yaml};
use crate::wording::format_size;
use serde_json::Value;

/// The fix for most errors in a document.
pub(super) const CORRECT_DOCUMENT: &str = "correct the document";

/// The maximum size of a document, in bytes.
///
/// Also the maximum for its approximate size in memory: the length of all keys and scalars plus
/// [`VALUE_OVERHEAD`] for each value, with YAML aliases expanded.
pub(super) const MAX_DOCUMENT: usize = 16 * 1024 * 1024;

/// The bytes to add for each value when the size in memory is estimated.
const VALUE_OVERHEAD: usize = 16;

/// The maximum nesting depth of YAML. (For JSON, serde_json has a limit of 127.)
const MAX_NESTING: usize = 64;

/// Parses the text of a document, as JSON if it starts with `{`, and as YAML otherwise.
///
/// # Errors
/// The text is invalid or too large.
pub(super) fn parse_value(text: &str) -> Result<Value, Diagnostic> {
    let text = without_bom(text);
    if text.trim_start().starts_with('{') {
        parse_json(text)
    } else {
        parse_yaml(text)
    }
}

/// Parses JSON. Estimates the number of values first, so that a huge document is rejected before it
/// uses memory.
fn parse_json(text: &str) -> Result<Value, Diagnostic> {
    // Every value except the first follows one of these characters. Those within strings are
    // counted, too, so this is an upper bound.
    let value_count = text.bytes().filter(|byte| b"[{,:".contains(byte)).count();
    if value_count > MAX_DOCUMENT / VALUE_OVERHEAD {
        return Err(too_large_error());
    }
    serde_json::from_str(text).map_err(|error| {
        let position = Position {
            line: error.line().max(1),
            column: error.column().max(1),
        };
        Diagnostic::error(
            Some(position),
            format!("it is not JSON: {error}"),
            CORRECT_DOCUMENT,
        )
    })
}

/// Parses a document in YAML.
///
/// # Errors
/// Fails if it isn't valid YAML, or if its values would need more than [`MAX_DOCUMENT`] bytes.
fn parse_yaml(text: &str) -> Result<Value, Diagnostic> {
    let limits = yaml::NodeLimits {
        max_nesting: MAX_NESTING,
        node_overhead: VALUE_OVERHEAD,
    };
    let first_line = 1;
    let mut remaining_bytes = MAX_DOCUMENT;
    match yaml::parse_within(text, first_line, limits, &mut remaining_bytes) {
        Ok(node) => Ok(to_json_value(node)),
        // `yaml` reports this as a warning, because prompt files tolerate it. Here it is an error.
        Err(yaml::YamlError::Syntax(warning)) => Err(Diagnostic::error(
            warning.position,
            warning.message,
            warning.fix,
        )),
        Err(yaml::YamlError::TooLarge(_)) => Err(too_large_error()),
    }
}

/// Returns the error for a document whose values would need too much memory.
fn too_large_error() -> Diagnostic {
    let limit = format_size(MAX_DOCUMENT);
    let message = format!(
        "the document is too large: with {VALUE_OVERHEAD} bytes for each value, and the YAML aliases \
         (`*name`) written out, the limit is {limit}"
    );
    let fix = "name a document with the operations that render prompts alone";
    Diagnostic::invalid(message, fix)
}

/// Converts a YAML node to JSON. Only scalars without quotes can become booleans or numbers.
fn to_json_value(node: yaml::Node) -> Value {
    match node.value {
        yaml::Value::Null(_) => Value::Null,
        yaml::Value::Scalar { text, is_quoted } => {
            if is_quoted {
                Value::String(text)
            } else {
                parse_plain_scalar(text)
            }
        }
        yaml::Value::List(nodes) => Value::Array(nodes.into_iter().map(to_json_value).collect()),
        yaml::Value::Map(fields) => fields
            .into_iter()
            .map(|field| (field.key, to_json_value(field.node)))
            .collect(),
    }
}

/// Converts a YAML scalar without quotes to a boolean, a number or a string. Numbers that would be
/// printed differently, such as `1.10`, remain strings.
fn parse_plain_scalar(text: String) -> Value {
    if let Ok(value) = serde_json::from_str::<Value>(&text)
        && (value.is_boolean() || value.is_number())
        && format!("{value}") == text
    {
        return value;
    }
    Value::String(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOO_LARGE: &str = "the document is too large: with 16 bytes for each value, and the YAML \
                             aliases (`*name`) written out, the limit is 16 MiB";

    #[test]
    fn a_text_that_is_no_document_is_an_error_at_its_position() {
        for (text, line, start) in [
            (
                "{\"openapi\": \"3.1.0\", \n \"paths\": x}",
                Some(2),
                "it is not JSON: expected value",
            ),
            ("openapi: 3.1.0\na: [\n", Some(3), ""),
            ("\0", Some(1), ""),
        ] {
            let error = parse_value(text).unwrap_err();
            assert_eq!(error.position.map(|at| at.line), line, "{error}");
            assert!(error.message.starts_with(start), "{error}");
        }
    }

    #[test]
    fn a_document_of_many_values_is_refused_however_short_they_are() {
        let million = ["1"; 1_100_000].join(",");
        let thousand = ["1"; 1_000].join(",");
        let aliases = ["*a"; 2_000].join(",");
        let mut nested = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (name, inner) in ["b", "c", "d", "e", "f", "g", "h"]
            .iter()
            .zip("abcdefg".chars())
        {
            let list = vec![format!("*{inner}"); 9].join(",");
            nested += &format!("{name}: &{name} [{list}]\n");
        }
        for text in [
            format!(r#"{{"openapi": "3.1.0", "x-a": [{million}]}}"#),
            format!("openapi: 3.1.0\nx-a: &a [{thousand}]\nx-b: [{aliases}]\n"),
            nested,
        ] {
            assert_eq!(parse_value(&text).unwrap_err().message, TOO_LARGE);
        }
        // Punctuation within a text of YAML is no value.
        let text = format!("openapi: 3.1.0\nx-a: '{}'\n", ",".repeat(1_100_000));
        assert!(parse_value(&text).is_ok());
    }
}
