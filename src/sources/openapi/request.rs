//! Builds the request for a call of an operation.

use super::address::BaseUrl;
use super::operation::{
    OpenApiOptions, Operation, Parameter, ParameterLocation, ValueType, fill_template,
};
use crate::library::ServiceRequest;
use crate::prompt::{BoundArgument, Diagnostic, Kind};
use crate::wording::{format_size, in_backticks, quoted};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The maximum length of an address, in bytes. Most servers reject longer ones.
const MAX_ADDRESS: usize = 16 * 1024;

/// The characters to percent-encode in a value: all except those that RFC 3986 calls unreserved.
const ENCODED_CHARACTERS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A parameter and its value in a call.
struct ParameterValue<'a> {
    parameter: &'a Parameter,
    bound: &'a BoundArgument<'a>,
}

/// Builds the request for a call, without the secret headers. `values` has a value for each
/// parameter, in order. Blank values are left out of the query and the body.
///
/// # Errors
/// A value has the wrong type, or the address of the service is invalid.
pub(super) fn build_request(
    operation: &Operation,
    values: &[BoundArgument<'_>],
    options: &OpenApiOptions,
) -> Result<ServiceRequest, Diagnostic> {
    let base = BaseUrl::for_operation(operation, options)?;
    let values = pair_with_parameters(operation, values);
    let path = build_path(operation, &values)?;
    let query = build_query(&values)?;
    let url = format!("{}{path}{query}", base.url);
    check_length(&url)?;
    let body = build_body(operation, &values)?;
    Ok(ServiceRequest {
        method: operation.method.to_owned(),
        url,
        headers: build_headers(body.as_deref()),
        body,
    })
}

/// Pairs each parameter of an operation with its value.
fn pair_with_parameters<'a>(
    operation: &'a Operation,
    values: &'a [BoundArgument<'a>],
) -> Vec<ParameterValue<'a>> {
    let pairs = operation.parameters.iter().zip(values);
    pairs
        .map(|(parameter, bound)| ParameterValue { parameter, bound })
        .collect()
}

/// Fills in the path template. A value cannot add or remove a segment of the path.
fn build_path(operation: &Operation, values: &[ParameterValue<'_>]) -> Result<String, Diagnostic> {
    // There is one such parameter for each placeholder, in the same order. So their names aren't
    // needed, and `next` never returns `None`.
    let mut path_values = values
        .iter()
        .filter(|value| value.parameter.location == ParameterLocation::Path);
    fill_template(&operation.path, |_| match path_values.next() {
        Some(value) => value.path_text(),
        None => Ok(String::new()),
    })
}

/// Builds the query, including the `?`. Returns an empty string if there are no query parameters.
fn build_query(values: &[ParameterValue<'_>]) -> Result<String, Diagnostic> {
    let mut query = String::new();
    for value in values.iter().filter(|value| !value.is_blank()) {
        for text in value.query_texts()? {
            query.push(if query.is_empty() { '?' } else { '&' });
            query += &encode(&value.parameter.name);
            query.push('=');
            query += &text;
        }
    }
    Ok(query)
}

/// Fails if the address of a request is longer than [`MAX_ADDRESS`].
fn check_length(url: &str) -> Result<(), Diagnostic> {
    if url.len() <= MAX_ADDRESS {
        return Ok(());
    }
    let limit = format_size(MAX_ADDRESS);
    Err(Diagnostic::new(
        Kind::TooLong,
        format!("the address of the request is longer than {limit}, the limit"),
        "shorten the values that are part of it",
    ))
}

/// Builds the body, which is JSON: either the value of the `WholeBody` parameter, or an object with
/// all `Body` parameters. Returns `None` if the request has no body.
fn build_body(
    operation: &Operation,
    values: &[ParameterValue<'_>],
) -> Result<Option<String>, Diagnostic> {
    let mut members = Vec::new();
    for value in values.iter().filter(|value| !value.is_blank()) {
        match value.parameter.location {
            ParameterLocation::WholeBody => return Ok(Some(value.to_json()?)),
            ParameterLocation::Body => {
                let name = json_string(&value.parameter.name);
                members.push(format!("{name}:{}", value.to_json()?));
            }
            _ => {}
        }
    }
    if !operation.has_object_body {
        return Ok(None);
    }
    Ok(Some(format!("{{{}}}", members.join(","))))
}

/// Returns the headers of a request, without the secret ones.
fn build_headers(body: Option<&str>) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    headers.insert(
        "Accept".to_owned(),
        "application/json, text/markdown, text/plain".to_owned(),
    );
    if body.is_some() {
        headers.insert("Content-Type".to_owned(), "application/json".to_owned());
    }
    headers
}

impl ParameterValue<'_> {
    fn is_blank(&self) -> bool {
        self.bound.value.trim().is_empty()
    }

    /// Returns the value, percent-encoded for the path.
    ///
    /// # Errors
    /// The value is empty, or a server could interpret it as `.` or `..` segments.
    fn path_text(&self) -> Result<String, Diagnostic> {
        let text = self.encoded_texts()?.join(",");
        // Some servers decode `%2F` before they split a path.
        let decoded = percent_decode_str(&text).decode_utf8_lossy();
        let mut segments = decoded.split(['/', '\\', ',']);
        if text.is_empty() || segments.any(|segment| segment == "." || segment == "..") {
            return Err(self.type_error(
                "a part of a path: not empty, and without `.` or `..` between slashes",
            ));
        }
        Ok(text)
    }

    /// Returns the values of the parameter in the query, percent-encoded. There are several if the
    /// query repeats the parameter, and none if it is not a query parameter.
    fn query_texts(&self) -> Result<Vec<String>, Diagnostic> {
        match self.parameter.location {
            ParameterLocation::Query => self.encoded_texts(),
            ParameterLocation::JoinedQuery => {
                let texts = self.encoded_texts()?;
                if texts.is_empty() {
                    return Ok(texts);
                }
                Ok(vec![texts.join(",")])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the elements of a JSON array, or a single element for any other value. They are
    /// percent-encoded one by one, so that they can be joined with commas.
    fn encoded_texts(&self) -> Result<Vec<String>, Diagnostic> {
        if self.parameter.value_type == ValueType::Text {
            return Ok(vec![encode(&self.bound.value)]);
        }
        let json = self.to_json()?;
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(&json) else {
            return Ok(vec![encode_json(&json)]);
        };
        let texts = elements.iter().map(|element| encode_json(element.get()));
        Ok(texts.collect())
    }

    /// Returns the value as JSON. The digits of a number are kept as they are.
    fn to_json(&self) -> Result<String, Diagnostic> {
        to_json(self.parameter.value_type, &self.bound.value)
            .map_err(|expected| self.type_error(expected))
    }

    /// Returns the error for a value of the wrong type. `expected` describes valid values.
    fn type_error(&self, expected: &str) -> Diagnostic {
        let value = quoted(&self.bound.value);
        let name = in_backticks(self.bound.name);
        Diagnostic::new(
            Kind::BadValue,
            format!("{value} is not a valid value of {name}"),
            format!("give {expected}"),
        )
    }
}

/// Converts the text of a value to JSON.
///
/// # Errors
/// The text is not of this type. Returns a description of valid values, such as "an integer, such
/// as `3`".
pub(super) fn to_json(value_type: ValueType, text: &str) -> Result<String, &'static str> {
    if value_type == ValueType::Text {
        return Ok(json_string(text));
    }
    let text = text.trim();
    let looks_like_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let looks_valid = match value_type {
        ValueType::Integer => looks_like_number && !text.contains(['.', 'e', 'E']),
        ValueType::Number => looks_like_number,
        ValueType::Boolean => text == "true" || text == "false",
        ValueType::Json | ValueType::Text => true,
    };
    // It must also be valid JSON, which `02` and `1,2` are not.
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) if looks_valid => Ok(json.get().to_owned()),
        _ => Err(describe_valid_values(value_type)),
    }
}

/// Describes the valid values of a type.
fn describe_valid_values(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Text => "a string",
        ValueType::Integer => "an integer, such as `3`",
        ValueType::Number => "a number, such as `0.5`",
        ValueType::Boolean => "`true` or `false`",
        ValueType::Json => {
            "JSON, such as `[\"a\", \"b\"]`, which is written in single quotes in a chat"
        }
    }
}

/// Returns the text as a JSON string, in quotes.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Percent-encodes a JSON value. Strings are written without quotes and escapes.
fn encode_json(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => encode(&text),
        Err(_) => encode(json),
    }
}

/// Percent-encodes a text. The result can be used in any part of an address.
fn encode(text: &str) -> String {
    utf8_percent_encode(text, &ENCODED_CHARACTERS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Origin;
    use ParameterLocation::{Body, JoinedQuery, Path, Query, WholeBody};
    use ValueType::{Boolean, Integer, Json, Number, Text};

    fn parameter(name: &str, location: ParameterLocation, value_type: ValueType) -> Parameter {
        Parameter {
            name: name.to_owned(),
            location,
            value_type,
        }
    }

    /// Returns an operation of a service at `https://example.com/v1`.
    fn operation(path: &str, parameters: Vec<Parameter>) -> Operation {
        let has_object = parameters
            .iter()
            .all(|parameter| parameter.location != WholeBody);
        Operation {
            method: "POST",
            base: "https://example.com/v1/".to_owned(),
            path: path.to_owned(),
            parameters,
            has_object_body: has_object,
        }
    }

    /// Returns the request of an operation for the values of its parameters.
    fn request(operation: &Operation, values: &[&str]) -> Result<ServiceRequest, Diagnostic> {
        let mut bound = Vec::new();
        for (parameter, value) in operation.parameters.iter().zip(values) {
            bound.push(BoundArgument {
                name: &parameter.name,
                value: (*value).into(),
                origin: Origin::Named,
            });
        }
        build_request(operation, &bound, &OpenApiOptions::default())
    }

    /// Returns what a request has after `/p` in its address, or its body, for one value.
    fn sent_part(
        location: ParameterLocation,
        value_type: ValueType,
        value: &str,
    ) -> Result<String, Diagnostic> {
        let path = if location == Path { "/p/{a}/end" } else { "/p" };
        let operation = operation(path, vec![parameter("a", location, value_type)]);
        let request = request(&operation, &[value])?;
        if location == Body {
            return Ok(request.body.unwrap());
        }
        Ok(request.url.replace("https://example.com/v1/p", ""))
    }

    #[test]
    fn values_go_to_the_path_the_query_and_the_body() {
        let operation = operation(
            "/triage/{service}",
            vec![
                parameter("service", Path, Text),
                parameter("lang", Query, Text),
                parameter("symptom", Body, Text),
                parameter("severity", Body, Integer),
            ],
        );
        let full = request(&operation, &["billing", "en", "no invoices", "2"]).unwrap();
        assert_eq!(full.method, "POST");
        assert_eq!(full.url, "https://example.com/v1/triage/billing?lang=en");
        let body = r#"{"symptom":"no invoices","severity":2}"#;
        assert_eq!(full.body.as_deref(), Some(body));
        assert_eq!(full.headers["Content-Type"], "application/json");

        let blank = request(&operation, &["billing", "", "", " "]).unwrap();
        assert_eq!(blank.url, "https://example.com/v1/triage/billing");
        assert_eq!(blank.body.as_deref(), Some("{}"));

        let without_object = Operation {
            has_object_body: false,
            ..operation
        };
        let without_body = request(&without_object, &["billing", "", "", ""]).unwrap();
        assert_eq!(without_body.body, None);
        assert_eq!(without_body.headers.len(), 1);
    }

    #[test]
    fn a_value_is_encoded_for_its_location() {
        for (location, value, sent) in [
            (
                Path,
                "a b/c?d#e%2F&é",
                "/a%20b%2Fc%3Fd%23e%252F%26%C3%A9/end",
            ),
            (Path, "~a-b_c.d", "/~a-b_c.d/end"),
            (Path, "...", "/.../end"),
            (Path, "{b}", "/%7Bb%7D/end"),
            (
                Query,
                "a b+c&d=e#f%\r\n",
                "?a=a%20b%2Bc%26d%3De%23f%25%0D%0A",
            ),
            (
                Body,
                "\"\\\n\u{1}é\u{2028}",
                "{\"a\":\"\\\"\\\\\\n\\u0001é\u{2028}\"}",
            ),
        ] {
            assert_eq!(sent_part(location, Text, value).unwrap(), sent, "{value}");
        }
    }

    #[test]
    fn names_are_encoded_and_the_path_of_the_document_is_not() {
        let parameters = vec![parameter("a b&", Query, Text), parameter("\"", Body, Text)];
        let named = request(&operation("/p", parameters), &["1", "2"]).unwrap();
        assert_eq!(named.url, "https://example.com/v1/p?a%20b%26=1");
        assert_eq!(named.body.as_deref(), Some(r#"{"\"":"2"}"#));
        let operation = operation("/%41/{x}.json", vec![parameter("x", Path, Text)]);
        let url = request(&operation, &["y"]).unwrap().url;
        assert_eq!(url, "https://example.com/v1/%41/y.json");
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
            let error = sent_part(Path, Text, value).unwrap_err();
            assert_eq!(error.kind, Kind::BadValue, "{value}: {error}");
        }
        let two_values = operation(
            "/{a}{b}",
            vec![parameter("a", Path, Text), parameter("b", Path, Integer)],
        );
        let url = request(&two_values, &["x", "1"]).unwrap().url;
        assert_eq!(url, "https://example.com/v1/x1");
        let after_dot = operation("/.{a}", vec![parameter("a", Path, Json)]);
        assert!(request(&after_dot, &["\".\""]).is_err());
        assert!(request(&after_dot, &["[]"]).is_err());
    }

    #[test]
    fn a_value_of_its_type_is_sent_as_it_is_written() {
        for (value_type, value, json) in [
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
            let body = sent_part(Body, value_type, value).unwrap();
            assert_eq!(body, format!("{{\"a\":{json}}}"), "{value}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for (value_type, values) in [
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
                for location in [Path, Query, Body] {
                    let error = sent_part(location, value_type, value).unwrap_err();
                    assert_eq!(error.kind, Kind::BadValue, "{value}: {error}");
                    let message = error.message;
                    assert!(
                        message.ends_with("is not a valid value of `a`"),
                        "{message}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_list_in_an_address_is_divided() {
        let object_sent = "?a=%7B%22b%22%3A1%7D";
        for (location, value, sent) in [
            (Query, r#"["a b", "c"]"#, "?a=a%20b&a=c"),
            (Query, "[1, true]", "?a=1&a=true"),
            (Query, "[]", ""),
            (Query, "\"a\"", "?a=a"),
            (Query, r#"{"b":1}"#, object_sent),
            (JoinedQuery, r#"["a,b", "c d"]"#, "?a=a%2Cb,c%20d"),
            (JoinedQuery, "[]", ""),
            (JoinedQuery, r#"{"b":1}"#, object_sent),
            (Path, r#"["a,", "b"]"#, "/a%2C,b/end"),
        ] {
            let part = sent_part(location, Json, value).unwrap();
            assert_eq!(part, sent, "{location:?} {value}");
        }
    }

    #[test]
    fn a_value_may_be_the_whole_body() {
        let operation = operation("/p", vec![parameter("body", WholeBody, Json)]);
        for (value, body) in [
            ("[1, 2]", Some("[1, 2]")),
            ("\"a\"", Some("\"a\"")),
            ("", None),
        ] {
            let request = request(&operation, &[value]).unwrap();
            assert_eq!(request.body.as_deref(), body, "{value}");
            let has_type = request.headers.contains_key("Content-Type");
            assert_eq!(has_type, body.is_some(), "{value}");
        }
        assert!(request(&operation, &["a"]).is_err());
    }

    #[test]
    fn an_address_has_a_limit() {
        let error = sent_part(Query, Text, &"x".repeat(20_000)).unwrap_err();
        assert!(error.message.contains("16 KiB, the limit"), "{error}");
        assert!(sent_part(Body, Text, &"x".repeat(1_000_000)).is_ok());
    }

    #[test]
    fn without_a_usable_address_there_is_no_request() {
        for base in ["", "/v1", "https://a:secret@b"] {
            let operation = Operation {
                base: base.to_owned(),
                ..operation("/p", Vec::new())
            };
            let error = request(&operation, &[]).unwrap_err().to_string();
            assert!(error.contains("`base`"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
