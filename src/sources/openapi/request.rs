//! From an operation and the values of a call to the request.

use super::address::Base;
use super::operation::{Kind, Operation, Options, Parameter, Place, fill};
use crate::library::ServiceRequest;
use crate::prompt::{self, Bound, Diagnostic};
use crate::wording::{in_bytes, named, quoted};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The longest address, in bytes: most servers refuse longer ones.
const MAX_ADDRESS: usize = 16 * 1024;

/// What is encoded in a value: all but what RFC 3986 calls unreserved.
const VALUE: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The request for the values of a call, one for each parameter, in their order; without secret
/// headers. A blank value is left out of the query and the body.
///
/// # Errors
/// A value is not what its parameter takes, or there is no usable address.
pub(super) fn request(
    operation: &Operation,
    values: &[Bound<'_>],
    options: &Options,
) -> Result<ServiceRequest, Diagnostic> {
    let mut url = Base::of(operation, options)?.url + &path(operation, values)?;
    let (mut query, mut members, mut body) = (Vec::new(), Vec::new(), None);
    for (Parameter { name, place, kind }, bound) in operation.parameters.iter().zip(values) {
        if bound.value.trim().is_empty() {
            continue;
        }
        match place {
            Place::Path => {}
            Place::Query { is_joined } => {
                let texts = encoded_texts(*kind, bound)?;
                let texts = if *is_joined && !texts.is_empty() {
                    vec![texts.join(",")]
                } else {
                    texts
                };
                query.extend(
                    texts
                        .into_iter()
                        .map(|text| format!("{}={text}", encoded(name))),
                );
            }
            Place::Body => members.push(format!("{}:{}", quoted_json(name), json(*kind, bound)?)),
            Place::WholeBody => body = Some(json(*kind, bound)?),
        }
    }
    if !query.is_empty() {
        url = format!("{url}?{}", query.join("&"));
    }
    if url.len() > MAX_ADDRESS {
        let message = format!(
            "the address of the request is longer than {}, the limit",
            in_bytes(MAX_ADDRESS)
        );
        return Err(Diagnostic::new(
            prompt::Kind::TooLong,
            message,
            "shorten the values that are part of it",
        ));
    }
    if operation.has_object {
        body = Some(format!("{{{}}}", members.join(",")));
    }
    let accept = (
        "Accept".to_owned(),
        "application/json, text/markdown, text/plain".to_owned(),
    );
    let mut headers = BTreeMap::from([accept]);
    if body.is_some() {
        headers.insert("Content-Type".to_owned(), "application/json".to_owned());
    }
    Ok(ServiceRequest {
        method: operation.method.to_owned(),
        url,
        headers,
        body,
    })
}

/// The path with its values. A value never changes which segments there are.
fn path(operation: &Operation, values: &[Bound<'_>]) -> Result<String, Diagnostic> {
    let all = operation.parameters.iter().zip(values);
    let mut in_path = all.filter(|(parameter, _)| parameter.place == Place::Path);
    fill(&operation.path, |_| {
        // The path has a parameter for each name.
        let Some((parameter, bound)) = in_path.next() else {
            return Ok(String::new());
        };
        let text = encoded_texts(parameter.kind, bound)?.join(",");
        // Some servers decode `%2F` before they split a path.
        let decoded = percent_decode_str(&text).decode_utf8_lossy();
        if text.is_empty()
            || decoded
                .split(['/', '\\', ','])
                .any(|part| matches!(part, "." | ".."))
        {
            return Err(not_of_type(
                bound,
                "a part of a path: not empty, and without `.` or `..` between slashes",
            ));
        }
        Ok(text)
    })
}

/// A value as texts for an address, percent-encoded: the elements of a list, and one of any other
/// value. When texts are joined, the comma between them is not encoded, unlike a comma within one.
fn encoded_texts(kind: Kind, bound: &Bound<'_>) -> Result<Vec<String>, Diagnostic> {
    if kind == Kind::Text {
        return Ok(vec![encoded(&bound.value)]);
    }
    let json = json(kind, bound)?;
    Ok(match serde_json::from_str::<Vec<&RawValue>>(&json) {
        Ok(elements) => elements
            .into_iter()
            .map(|element| encoded(&json_text(element.get())))
            .collect(),
        Err(_) => vec![encoded(&json_text(&json))],
    })
}

/// A string of JSON without its quotes; any other value as it is.
fn json_text(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_else(|_| json.to_owned())
}

/// A value as JSON. A number stays as it is written, however many digits it has.
fn json(kind: Kind, bound: &Bound<'_>) -> Result<String, Diagnostic> {
    to_json(kind, &bound.value).map_err(|takes| not_of_type(bound, takes))
}

/// The text of a value as JSON.
///
/// # Errors
/// What a value of this kind looks like.
pub(super) fn to_json(kind: Kind, text: &str) -> Result<String, &'static str> {
    if kind == Kind::Text {
        return Ok(quoted_json(text));
    }
    let text = text.trim();
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let (is_of_kind, takes) = match kind {
        Kind::Integer => (
            is_number && !text.contains(['.', 'e', 'E']),
            "an integer, such as `3`",
        ),
        Kind::Number => (is_number, "a number, such as `0.5`"),
        Kind::Boolean => (matches!(text, "true" | "false"), "`true` or `false`"),
        Kind::Json | Kind::Text => (
            true,
            "JSON, such as `[\"a\", \"b\"]`, which is written in single quotes in a chat",
        ),
    };
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) if is_of_kind => Ok(json.get().to_owned()),
        _ => Err(takes),
    }
}

fn not_of_type(bound: &Bound<'_>, takes: &str) -> Diagnostic {
    let message = format!(
        "{} is not what {} takes",
        quoted(&bound.value),
        named(bound.name)
    );
    Diagnostic::new(prompt::Kind::BadValue, message, format!("give {takes}"))
}

fn quoted_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &VALUE).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Origin;
    const QUERY: Place = Place::Query { is_joined: false };

    /// An operation of a service at `https://example.com/v1`.
    fn operation(path: &str, parameters: &[(&str, Place, Kind)]) -> Operation {
        let parameter = |(name, place, kind): &(&str, Place, Kind)| Parameter {
            name: (*name).to_owned(),
            place: *place,
            kind: *kind,
        };
        Operation {
            method: "POST",
            base: "https://example.com/v1/".to_owned(),
            path: path.to_owned(),
            parameters: parameters.iter().map(parameter).collect(),
            has_object: parameters
                .iter()
                .all(|(_, place, _)| *place != Place::WholeBody),
        }
    }

    fn of(operation: &Operation, values: &[&str]) -> Result<ServiceRequest, Diagnostic> {
        let bound = |(parameter, value): (&'_ Parameter, &&str)| {
            (parameter.name.clone(), (*value).to_owned())
        };
        let pairs: Vec<(String, String)> =
            operation.parameters.iter().zip(values).map(bound).collect();
        let bound: Vec<Bound<'_>> = pairs
            .iter()
            .map(|(name, value)| Bound {
                name,
                value: value.as_str().into(),
                origin: Origin::Named,
            })
            .collect();
        request(operation, &bound, &Options::default())
    }

    /// The path and query, or the body, that one value makes.
    fn sent(place: Place, kind: Kind, value: &str) -> Result<String, Diagnostic> {
        let path = if place == Place::Path {
            "/p/{a}/end"
        } else {
            "/p"
        };
        let ServiceRequest { url, body, .. } =
            of(&operation(path, &[("a", place, kind)]), &[value])?;
        Ok(match place {
            Place::Body => body.unwrap(),
            _ => url
                .strip_prefix("https://example.com/v1/p")
                .unwrap()
                .to_owned(),
        })
    }

    #[test]
    fn values_go_to_the_path_the_query_and_the_body() {
        let operation = operation(
            "/triage/{service}",
            &[
                ("service", Place::Path, Kind::Text),
                ("lang", QUERY, Kind::Text),
                ("symptom", Place::Body, Kind::Text),
                ("severity", Place::Body, Kind::Integer),
            ],
        );
        let request = of(&operation, &["billing", "en", "no invoices", "2"]).unwrap();
        assert_eq!(request.method, "POST");
        assert_eq!(request.url, "https://example.com/v1/triage/billing?lang=en");
        assert_eq!(
            request.body.as_deref(),
            Some(r#"{"symptom":"no invoices","severity":2}"#)
        );
        assert_eq!(request.headers["Content-Type"], "application/json");
        let empty = of(&operation, &["billing", "", "", " "]).unwrap();
        assert_eq!(
            (empty.url.as_str(), empty.body.as_deref()),
            ("https://example.com/v1/triage/billing", Some("{}"))
        );
        let without_body = of(
            &Operation {
                has_object: false,
                ..operation
            },
            &["billing", "", "", ""],
        )
        .unwrap();
        assert_eq!((without_body.body, without_body.headers.len()), (None, 1));
    }

    #[test]
    fn a_value_is_encoded_for_its_place() {
        for (place, value, want) in [
            (
                Place::Path,
                "a b/c?d#e%2F&é",
                "/a%20b%2Fc%3Fd%23e%252F%26%C3%A9/end",
            ),
            (Place::Path, "~a-b_c.d", "/~a-b_c.d/end"),
            (Place::Path, "...", "/.../end"),
            (Place::Path, "{b}", "/%7Bb%7D/end"),
            (
                QUERY,
                "a b+c&d=e#f%\r\n",
                "?a=a%20b%2Bc%26d%3De%23f%25%0D%0A",
            ),
            (
                Place::Body,
                "\"\\\n\u{1}é\u{2028}",
                "{\"a\":\"\\\"\\\\\\n\\u0001é\u{2028}\"}",
            ),
        ] {
            assert_eq!(sent(place, Kind::Text, value).unwrap(), want, "{value}");
        }
        let names = operation(
            "/p",
            &[("a b&", QUERY, Kind::Text), ("\"", Place::Body, Kind::Text)],
        );
        let request = of(&names, &["1", "2"]).unwrap();
        assert_eq!(request.url, "https://example.com/v1/p?a%20b%26=1");
        assert_eq!(request.body.as_deref(), Some(r#"{"\"":"2"}"#));
        let path = operation("/%41/{x}.json", &[("x", Place::Path, Kind::Text)]);
        assert_eq!(
            of(&path, &["y"]).unwrap().url,
            "https://example.com/v1/%41/y.json"
        );
    }

    #[test]
    fn a_value_never_changes_the_segments_of_a_path() {
        for value in [
            "",
            ".",
            "..",
            "../admin",
            "a/../b",
            "a/..",
            "..\\admin",
            "./a",
        ] {
            let error = sent(Place::Path, Kind::Text, value).unwrap_err();
            assert_eq!(error.kind, prompt::Kind::BadValue, "{value}: {error}");
        }
        let two = operation(
            "/{a}{b}",
            &[
                ("a", Place::Path, Kind::Text),
                ("b", Place::Path, Kind::Integer),
            ],
        );
        assert_eq!(
            of(&two, &["x", "1"]).unwrap().url,
            "https://example.com/v1/x1"
        );
        let dots = operation("/.{a}", &[("a", Place::Path, Kind::Json)]);
        assert!(of(&dots, &["\".\""]).is_err() && of(&dots, &["[]"]).is_err());
    }

    #[test]
    fn a_value_is_of_the_type_that_its_parameter_takes() {
        use Kind::{Boolean, Integer, Json, Number};
        for (kind, value, want) in [
            (Integer, "2", "2"),
            (Integer, " -12\n", "-12"),
            (
                Integer,
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            (Number, "0.1234567890123456789", "0.1234567890123456789"),
            (Number, "1e400", "1e400"),
            (Number, "3", "3"),
            (Boolean, "true", "true"),
            (Json, r#"[1, {"a": null}]"#, r#"[1, {"a": null}]"#),
            (Json, "\"a\"", "\"a\""),
        ] {
            assert_eq!(
                sent(Place::Body, kind, value).unwrap(),
                format!("{{\"a\":{want}}}"),
                "{value}"
            );
        }
        for (kind, values) in [
            (
                Integer,
                &[
                    "two",
                    "2.0",
                    "1e3",
                    "+2",
                    "0x10",
                    "02",
                    "-",
                    "1,\"b\":2",
                    "true",
                ][..],
            ),
            (Number, &["NaN", "1.", "\"1\""]),
            (Boolean, &["yes", "True", "1"]),
            (Json, &["a", "{", "1}"]),
        ] {
            for value in values {
                for place in [Place::Path, QUERY, Place::Body] {
                    let error = sent(place, kind, value).unwrap_err();
                    assert_eq!(error.kind, prompt::Kind::BadValue, "{value}: {error}");
                    assert!(
                        error.message.ends_with("is not what `a` takes"),
                        "{value}: {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_list_becomes_several_parameters_of_the_query() {
        for (value, want) in [
            (r#"["a b", "c"]"#, "?a=a%20b&a=c"),
            ("[1, true]", "?a=1&a=true"),
            ("[]", ""),
            ("\"a\"", "?a=a"),
            (r#"{"b":1}"#, "?a=%7B%22b%22%3A1%7D"),
        ] {
            assert_eq!(sent(QUERY, Kind::Json, value).unwrap(), want, "{value}");
        }
        assert_eq!(
            sent(Place::Path, Kind::Json, r#"["a,", "b"]"#).unwrap(),
            "/a%2C,b/end"
        );
    }

    #[test]
    fn the_elements_of_a_list_in_the_query_may_be_joined() {
        for (value, want) in [
            (r#"["a,b", "c d"]"#, "?a=a%2Cb,c%20d"),
            ("[]", ""),
            (r#"{"b":1}"#, "?a=%7B%22b%22%3A1%7D"),
        ] {
            assert_eq!(
                sent(Place::Query { is_joined: true }, Kind::Json, value).unwrap(),
                want,
                "{value}"
            );
        }
    }

    #[test]
    fn a_value_may_be_the_whole_body() {
        for (value, body) in [
            ("[1, 2]", Some("[1, 2]")),
            ("\"a\"", Some("\"a\"")),
            ("", None),
        ] {
            let operation = operation("/p", &[("body", Place::WholeBody, Kind::Json)]);
            let request = of(&operation, &[value]).unwrap();
            assert_eq!(
                (request.body.as_deref(), request.headers.len()),
                (body, 1 + usize::from(body.is_some())),
                "{value}"
            );
        }
        assert!(
            of(
                &operation("/p", &[("body", Place::WholeBody, Kind::Json)]),
                &["a"]
            )
            .is_err()
        );
    }

    #[test]
    fn an_address_has_a_limit() {
        let error = sent(QUERY, Kind::Text, &"x".repeat(20_000))
            .unwrap_err()
            .to_string();
        assert!(error.contains("16 KiB, the limit"), "{error}");
        assert!(sent(Place::Body, Kind::Text, &"x".repeat(1_000_000)).is_ok());
    }

    #[test]
    fn without_a_usable_address_there_is_no_request() {
        let of = |base: &str| {
            let operation = Operation {
                base: base.to_owned(),
                ..operation("/p", &[])
            };
            request(&operation, &[], &Options::default())
                .unwrap_err()
                .to_string()
        };
        assert!(of("").contains("--openapi-base") && of("/v1").contains("--openapi-base"));
        assert!(!of("https://a:secret@b").contains("secret"));
    }
}
