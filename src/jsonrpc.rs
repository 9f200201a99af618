//! JSON-RPC 2.0: bytes to a [`Message`], a [`Response`] or a [`Notification`] to JSON. Knows
//! nothing of MCP.
//!
//! Where MCP is stricter than JSON-RPC, the stricter rule holds: an id is a string or an integer
//! and never null, `params` is an object.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use crate::wording::{quoted, thousands};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::fmt::{self, Display};
use std::num::NonZeroUsize;

const VERSION: &str = "2.0";

/// How many values a line may hold: its objects and arrays, their members and their elements,
/// together.
pub const MAX_VALUES: usize = 100_000;

/// How deeply arrays and objects may be nested; serde_json enforces it.
pub const MAX_NESTING: usize = 127;

/// How many messages a batch may hold.
pub const MAX_BATCH: usize = 1_000;

/// The id of a request, which its response repeats exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer from 0 to 2⁶⁴-1.
    Unsigned(u64),
    /// An integer from -2⁶³ to -1.
    Negative(i64),
    /// Any string, even an empty one.
    String(String),
}

/// The id as JSON.
impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Unsigned(number) => number.fmt(f),
            Id::Negative(number) => number.fmt(f),
            Id::String(text) => Value::from(text.as_str()).fmt(f),
        }
    }
}

/// The members of a JSON object.
pub type Object = Map<String, Value>;

/// One line of input, or one element of a batch.
#[derive(Debug, Clone)]
pub enum Message {
    /// Must be answered.
    Request(Request),
    /// Must not be answered, even if it is invalid.
    Notification {
        /// What has happened.
        method: String,
        /// Empty if there are none, or if they are not an object.
        params: Object,
    },
    /// An answer to a request of the server, which sends none.
    Response,
    /// Messages to be read one by one with [`Message::from_value`].
    Batch(Vec<Value>),
}

/// A well-formed request.
#[derive(Debug, Clone)]
pub struct Request {
    /// For the response.
    pub id: Id,
    /// The method to call.
    pub method: String,
    /// Empty if the request has none.
    pub params: Object,
}

impl Message {
    /// Reads one line, without its line ending.
    ///
    /// # Errors
    /// The response to an invalid line: `-32700` if it is not JSON in UTF-8, or exceeds
    /// [`MAX_VALUES`] or [`MAX_NESTING`]; `-32600` if it is not a message; `-32602` if `params` are
    /// not an object.
    pub fn parse(line: &[u8]) -> Result<Message, Response> {
        let text = str::from_utf8(line).map_err(|error| {
            let reason = format!(
                "not UTF-8 from byte {} of the line on",
                error.valid_up_to() + 1
            );
            Response::error(None, Error::parse_error(reason))
        })?;
        if text.starts_with('{')
            && let Ok(members) = parse_json::<Members>(text)
        {
            return members.into_message();
        }
        // A batch, an error, or two members of one name.
        match parse_json(text).map_err(|error| {
            Response::error(id_of_refused(text).as_ref(), Error::parse_error(error))
        })? {
            Value::Array(messages) if (1..=MAX_BATCH).contains(&messages.len()) => {
                Ok(Message::Batch(messages))
            }
            Value::Array(messages) => {
                let message = format!(
                    "a batch must hold 1 to {MAX_BATCH} messages, and holds {}",
                    messages.len()
                );
                Err(Response::error(None, Error::invalid_request(message)))
            }
            message => Message::from_value(message),
        }
    }

    /// Reads a message of a batch.
    ///
    /// # Errors
    /// Those of [`Message::parse`].
    pub fn from_value(message: Value) -> Result<Message, Response> {
        let members = Some(message)
            .filter(Value::is_object)
            .and_then(|message| Members::deserialize(message).ok());
        let error = || {
            Response::error(
                None,
                Error::invalid_request("a message must be a JSON object"),
            )
        };
        members.ok_or_else(error)?.into_message()
    }

    /// The id of a request; other messages have none.
    pub fn id(&self) -> Option<Id> {
        if let Message::Request(request) = self {
            Some(request.id.clone())
        } else {
            None
        }
    }
}

/// The members of a message, whatever they are. What other members of the line hold is not checked
/// beyond its syntax.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    #[serde(deserialize_with = "some")]
    jsonrpc: Option<Value>,
    #[serde(deserialize_with = "some")]
    id: Option<Value>,
    #[serde(deserialize_with = "some")]
    method: Option<Value>,
    params: Option<Value>,
    #[serde(deserialize_with = "some")]
    result: Option<Value>,
    #[serde(deserialize_with = "some")]
    error: Option<Value>,
}

/// A member that is `null` is not missing.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Members {
    fn into_message(self) -> Result<Message, Response> {
        let method = match self.method {
            Some(Value::String(method)) => Some(method),
            None if self.result.is_some() || self.error.is_some() => return Ok(Message::Response),
            _ => None,
        };
        let params = match self.params {
            None | Some(Value::Null) => Some(Object::new()),
            Some(Value::Object(params)) => Some(params),
            Some(_) => None,
        };
        let (id, method) = match (self.id, method) {
            (None, Some(method)) => {
                return Ok(Message::Notification {
                    method,
                    params: params.unwrap_or_default(),
                });
            }
            (id, method) => (id.and_then(|id| Id::deserialize(id).ok()), method),
        };
        let Some(id) = id else {
            return Err(Response::error(
                None,
                Error::invalid_request("`id` must be a string or an integer"),
            ));
        };
        let error = match (method, params) {
            _ if self.jsonrpc.as_ref().and_then(Value::as_str) != Some(VERSION) => {
                Error::invalid_request("`jsonrpc` must be \"2.0\"")
            }
            (None, _) => Error::invalid_request("`method` must be a string"),
            (_, None) => Error::invalid_params("`params` must be an object"),
            (Some(method), Some(params)) => {
                return Ok(Message::Request(Request { id, method, params }));
            }
        };
        Err(Response::error(Some(&id), error))
    }
}

/// The id of a line that is refused although its syntax is valid: it may have too many values, or
/// half of a surrogate pair.
fn id_of_refused(text: &str) -> Option<Id> {
    #[derive(Deserialize)]
    struct Refused {
        id: Id,
    }
    serde_json::from_str(text).ok().map(|Refused { id }| id)
}

/// Reads JSON with at most [`MAX_VALUES`] values.
pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if values(text) > MAX_VALUES {
        let message = format!(
            "more than {} values in one message; send several requests",
            thousands(MAX_VALUES)
        );
        return Err(serde::de::Error::custom(message));
    }
    serde_json::from_str(text)
}

/// How many values JSON has at most: before each but the first is a bracket, a brace or a comma.
/// Those in strings are counted only if there are few.
fn values(text: &str) -> usize {
    let in_all =
        [b'[', b'{', b','].map(|before| memchr::memchr_iter(before, text.as_bytes()).count());
    let in_all = in_all.into_iter().sum();
    if in_all <= MAX_VALUES {
        return in_all;
    }
    let (mut in_string, mut is_escaped) = (false, false);
    let is_before_value = |byte: &u8| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            _ => {}
        }
        !in_string && b"[{,".contains(byte)
    };
    text.bytes().filter(is_before_value).count()
}

/// Reads the members that `T` has; others are ignored.
///
/// # Errors
/// The first member that is missing or has another type: which one, and what it should be.
pub(crate) fn read<'o, T: Deserialize<'o>>(object: &'o Object) -> Result<T, String> {
    // The path is tracked only for an error: that takes longer than the rest.
    T::deserialize(object)
        .or_else(|_| serde_path_to_error::deserialize(object))
        .map_err(|error| {
            let path = if error.path().iter().len() == 0 {
                String::new()
            } else {
                error.path().to_string()
            };
            let message = error.into_inner().to_string();
            if let Some(member) = message.strip_prefix("missing field ") {
                let separator = if path.is_empty() { "" } else { "." };
                format!(
                    "{} is missing",
                    quoted(&format!("{path}{separator}{}", member.trim_matches('`')))
                )
            } else if let Some((_, expected)) = message.rsplit_once(", expected ") {
                let expected = match expected {
                    "a map" => "an object",
                    expected if expected.starts_with("struct ") => "an object",
                    "a sequence" => "an array",
                    "a borrowed string" => "a string",
                    other => other,
                };
                format!("{} must be {expected}", quoted(&path))
            } else {
                format!("{} {message}", quoted(&path))
            }
        })
}

/// Reads a whole number, 1 or more, or `null`. Some clients write every number as a float.
pub(crate) fn count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NonZeroUsize>, D::Error> {
    match Option::<f64>::deserialize(deserializer) {
        Ok(None) => Ok(None),
        Ok(Some(count)) if count >= 1.0 && count.fract() == 0.0 => {
            Ok(NonZeroUsize::new(count as usize))
        }
        _ => Err(serde::de::Error::custom(
            "must be a whole number, 1 or more",
        )),
    }
}

/// A whole value as compact JSON, without a line break.
#[derive(Debug, Clone)]
pub struct Json(String);

impl Json {
    /// A value that serde_json writes.
    ///
    /// # Errors
    /// Those of serializing it.
    pub(crate) fn of(value: &impl Serialize) -> serde_json::Result<Json> {
        serde_json::to_string(value).map(Json)
    }

    /// A text that is the JSON of one value.
    pub(crate) fn written(json: String) -> Json {
        Json(json)
    }

    /// This object with further members, which are JSON, such as `"a":1,"b":2`.
    pub(crate) fn with_members(mut self, members: &str) -> Json {
        if !members.is_empty() {
            self.0.pop();
            self.0.push_str(if self.0.len() > 1 { "," } else { "" });
            self.0.push_str(members);
            self.0.push('}');
        }
        self
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What is between the braces of this object.
    pub(crate) fn members(&self) -> &str {
        self.0
            .strip_prefix('{')
            .and_then(|json| json.strip_suffix('}'))
            .unwrap_or_default()
    }
}

/// Writes an object whose members are texts.
pub(crate) fn write_object(json: &mut String, members: &[(&str, &str)]) {
    for (at, (name, text)) in members.iter().enumerate() {
        json.push(if at == 0 { '{' } else { ',' });
        write_text(json, name);
        json.push(':');
        write_text(json, text);
    }
    json.push('}');
}

/// Writes a text as a JSON string, with the same escapes as serde_json. That looks at one byte
/// after the other, which took most of the time of a list, and a tenth of that of an expansion.
pub(crate) fn write_text(json: &mut String, text: &str) {
    json.reserve(text.len() + 2);
    json.push('"');
    let mut rest = text;
    while let Some(at) = first_to_escape(rest.as_bytes()) {
        json.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0c => json.push_str("\\f"),
            control => json.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    json.push_str(rest);
    json.push('"');
}

/// Where the first byte is that a JSON string cannot contain as it is. It looks at eight bytes at a
/// time: `below` marks each byte that is less than `than` with its highest bit. A byte after a
/// marked one may be marked wrongly, so only the first mark counts.
fn first_to_escape(text: &[u8]) -> Option<usize> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let below = |word: u64, than: u64| word.wrapping_sub(EACH * than) & !word;
    let (words, rest) = text.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let (quote, backslash) = (
            word ^ (EACH * u64::from(b'"')),
            word ^ (EACH * u64::from(b'\\')),
        );
        let marks = (below(word, 0x20) | below(quote, 1) | below(backslash, 1)) & (EACH << 7);
        if marks != 0 {
            return Some(8 * index + marks.trailing_zeros() as usize / 8);
        }
    }
    let at = rest
        .iter()
        .position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'))?;
    Some(text.len() - rest.len() + at)
}

/// The response to a request, or to a batch.
#[derive(Debug)]
pub struct Response {
    json: String,
    error_code: Option<i64>,
}

impl Response {
    /// A response with a result.
    pub fn result(id: &Id, Json(mut result): Json) -> Response {
        result.insert_str(
            0,
            &format!("{{\"jsonrpc\":\"{VERSION}\",\"id\":{id},\"result\":"),
        );
        result.push('}');
        Response {
            json: result,
            error_code: None,
        }
    }

    /// A response with an error. The id is that of the request, if it could be read.
    pub fn error(id: Option<&Id>, error: Error) -> Response {
        let json = json!({ "jsonrpc": VERSION, "id": id, "error": error }).to_string();
        Response {
            json,
            error_code: Some(error.code),
        }
    }

    /// The responses to a batch, in order.
    pub fn batch(responses: &[Response]) -> Response {
        let responses: Vec<&str> = responses.iter().map(Response::as_json).collect();
        Response {
            json: format!("[{}]", responses.join(",")),
            error_code: None,
        }
    }

    /// The code of its error, if it is one.
    pub fn error_code(&self) -> Option<i64> {
        self.error_code
    }

    /// It as JSON.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// It as JSON.
    pub fn into_json(self) -> String {
        self.json
    }
}

/// A notification to the client.
#[derive(Debug, Clone, Serialize)]
pub struct Notification {
    jsonrpc: &'static str,
    /// What has happened.
    pub method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
}

impl Notification {
    /// A notification; `params` are left out if there are none.
    pub fn new(method: &'static str, params: Option<Value>) -> Notification {
        Notification {
            jsonrpc: VERSION,
            method,
            params,
        }
    }

    /// It as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // texts and JSON cannot fail
    }
}

/// A protocol error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Error {
    /// A code of JSON-RPC 2.0 or of MCP.
    pub code: i64,
    /// One line.
    pub message: String,
    /// Details for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl Error {
    /// `-32700`: not JSON.
    pub fn parse_error(message: impl Display) -> Error {
        Error {
            code: -32700,
            message: format!("parse error: {message}"),
            data: None,
        }
    }

    /// `-32600`: JSON, but not a request.
    pub fn invalid_request(message: impl Display) -> Error {
        Error {
            code: -32600,
            message: format!("invalid request: {message}"),
            data: None,
        }
    }

    /// `-32602`: the params of a request are invalid.
    pub fn invalid_params(message: impl Display) -> Error {
        Error {
            code: -32602,
            message: format!("invalid params: {message}"),
            data: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The line is refused with this answer.
    #[track_caller]
    fn refused(line: impl AsRef<[u8]>, code: i64, id: Value) {
        let line = line.as_ref();
        let shown = String::from_utf8_lossy(line);
        let answer = Message::parse(line).expect_err(&shown).into_json();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&code.into(), &id),
            "{shown}"
        );
    }

    fn parse(line: &str) -> Message {
        Message::parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn invalid_json_is_a_parse_error_with_null_id() {
        for line in [
            "{oops",
            "",
            "{\"id\":1}}",
            "42 oops",
            "[1",
            "{\"id\":1,\"params\":{\"x\":tru}}",
        ] {
            refused(line, -32700, Value::Null);
        }
        refused([0xff, 0xfe], -32700, Value::Null);
        refused(
            r#"{"jsonrpc":"2.0","method":"\ud800"}"#,
            -32700,
            Value::Null,
        );
        refused(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
            Value::Null,
        );
        refused("[".repeat(200), -32700, Value::Null);
    }

    #[test]
    fn half_a_surrogate_pair_or_a_number_that_no_float_can_hold_is_a_parse_error_with_the_id() {
        for unreadable in [r#""\ud83d""#, "1e999", r#"{"\udc00":1}"#] {
            refused(
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{unreadable}}}}}"#),
                -32700,
                7.into(),
            );
        }
    }

    #[test]
    fn json_that_is_not_a_message_is_an_invalid_request() {
        for line in [
            "42",
            "\"x\"",
            "null",
            "true",
            "[]",
            "{}",
            r#"{"id":null,"method":"ping","jsonrpc":"2.0"}"#,
        ] {
            refused(line, -32600, Value::Null);
        }
        refused(r#"{"jsonrpc":"2.0","id":7}"#, -32600, 7.into());
        refused(r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, 7.into());
        refused(r#"{"jsonrpc":"2.0","method":5}"#, -32600, Value::Null);
        refused(r#"{"id":"a","method":"ping"}"#, -32600, "a".into());
        refused(
            r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
            -32600,
            "a".into(),
        );
        for id in ["1.5", "true", "{}", "[]", "null", "99999999999999999999"] {
            refused(
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
                -32600,
                Value::Null,
            );
        }
    }

    #[test]
    fn the_last_of_two_members_with_the_same_name_counts() {
        let single = [
            r#""jsonrpc":"2.0""#,
            r#""id":7"#,
            r#""method":"ping""#,
            r#""params":{"a":2}"#,
        ];
        let wrong = [
            r#""jsonrpc":"1.0""#,
            r#""id":null"#,
            r#""method":5"#,
            r#""params":{"a":1}"#,
        ];
        for doubled in 0..4 {
            for last in 0..4 {
                for first in 0..=last {
                    let mut members: Vec<&str> = single
                        .into_iter()
                        .filter(|member| *member != single[doubled])
                        .collect();
                    members.insert(last.min(members.len()), single[doubled]);
                    members.insert(first.min(last), wrong[doubled]);
                    let line = format!("{{{}}}", members.join(","));
                    let Message::Request(Request { id, method, params }) = parse(&line) else {
                        panic!("{line}")
                    };
                    assert_eq!(
                        (id, &*method, &params["a"]),
                        (Id::Unsigned(7), "ping", &Value::from(2)),
                        "{line}"
                    );
                }
            }
        }
    }

    #[test]
    fn params_are_an_object_or_absent() {
        for params in ["[]", "[1]", "\"x\"", "5", "true"] {
            refused(
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#),
                -32602,
                1.into(),
            );
        }
        for params in [r#","params":null"#, r#","params":{}"#, ""] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}"#);
            let message = parse(&line);
            assert!(matches!(message, Message::Request(request) if request.params.is_empty()));
        }
    }

    #[test]
    fn an_id_is_repeated_exactly() {
        for id in [
            "0",
            "\"\"",
            "\"7\"",
            "-1",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Request(request) = parse(&line) else {
                panic!("{id}");
            };
            let line = Response::result(&request.id, Json::of(&()).unwrap()).into_json();
            assert_eq!(
                line,
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":null}}")
            );
        }
    }

    proptest! {
        #[test]
        fn a_text_is_written_as_serde_json_writes_it(text in "([a-zé \"\\\\\\x00-\\x1f\\x7f]|.){0,40}") {
            let mut json = String::from("x");
            write_text(&mut json, &text);
            prop_assert_eq!(&json[1..], serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn a_message_without_id_is_a_notification_whatever_else_is_wrong() {
        for line in [
            r#"{"jsonrpc":"2.0","method":"nope"}"#,
            r#"{"method":"nope"}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":5}"#,
        ] {
            assert!(
                matches!(parse(line), Message::Notification { .. }),
                "{line}"
            );
        }
    }

    #[test]
    fn a_response_is_recognized() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
        ] {
            assert!(matches!(parse(line), Message::Response), "{line}");
        }
    }

    #[test]
    fn a_batch_has_at_least_one_and_at_most_1000_messages() {
        let batch = |elements: usize| format!("[{}]", vec!["5"; elements].join(","));
        refused(batch(0), -32600, Value::Null);
        assert!(
            matches!(parse(&batch(MAX_BATCH)), Message::Batch(elements) if elements.len() == MAX_BATCH)
        );
        refused(batch(MAX_BATCH + 1), -32600, Value::Null);
        let too_long = Message::parse(batch(MAX_BATCH + 1).as_bytes()).unwrap_err();
        let message = "a batch must hold 1 to 1000 messages, and holds 1001";
        assert!(too_long.into_json().contains(message));
        refused(batch(MAX_BATCH + 5).replace(']', ""), -32700, Value::Null);
    }

    #[test]
    fn a_response_is_one_line_and_leaves_out_what_it_does_not_have() {
        let line = Response::error(None, Error::invalid_request("a\nb\u{2028}")).into_json();
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"invalid request: a\\nb\u{2028}\"}}"
        );
    }

    #[test]
    fn a_line_is_nested_and_holds_values_up_to_the_limits() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_json::<Value>(&nested(MAX_NESTING)).is_ok());
        assert!(parse_json::<Value>(&nested(MAX_NESTING + 1)).is_err());
        assert!(parse_json::<Value>(&nested(1_000_000)).is_err());
        for (member, [first, last], at_most) in [
            ("0", ["[", "]"], MAX_VALUES),
            ("[]", ["[", "]"], MAX_VALUES / 2),
            ("\"a\":0", ["{", "}"], MAX_VALUES),
            (r#"",[{\",""#, ["[", "]"], MAX_VALUES),
        ] {
            let long = |values: usize| {
                format!(
                    "{first}{}{member}{last}",
                    format!("{member},").repeat(values - 1)
                )
            };
            assert!(parse_json::<Value>(&long(at_most - 1)).is_ok());
            let line = format!("{{\"id\":7,\"x\":{}}}", long(at_most + 1));
            let error = parse_json::<Value>(&line).unwrap_err().to_string();
            assert!(
                error.starts_with("more than 100,000 values in one message"),
                "{error}"
            );
            refused(line, -32700, 7.into());
        }
    }

    #[derive(Deserialize)]
    struct Sample<'l> {
        text: &'l str,
        optional: Option<&'l str>,
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        list: Vec<String>,
        #[serde(default)]
        nested: Nested,
        map: Option<BTreeMap<String, Option<String>>>,
    }

    #[derive(Default, Deserialize)]
    struct Nested {
        number: f64,
    }

    fn parse_object(text: &str) -> Object {
        parse_json(text).unwrap()
    }

    #[test]
    fn a_type_gets_the_last_member_of_each_name_at_every_depth_and_ignores_the_rest() {
        let object = parse_object(
            r#" {"text": 5, "unknown": [{}], "list": ["a"], "nested": {"number": "x", "number": -7, "number": 2},
                "map": {"a": 1, "b": "2", "c": null, "b": null, "a": "3"}, "te\u0078t": "last", "list": ["b", "c"]} "#,
        );
        let sample: Sample<'_> = read(&object).unwrap();
        assert_eq!(
            (sample.text, sample.list),
            ("last", vec!["b".to_owned(), "c".to_owned()])
        );
        assert_eq!(sample.nested.number, 2.0);
        let map = [("a", Some("3")), ("b", None), ("c", None)];
        assert_eq!(
            sample.map,
            Some(
                map.map(|(name, text)| (name.to_owned(), text.map(str::to_owned)))
                    .into()
            )
        );
    }

    #[test]
    fn null_is_the_same_as_a_missing_optional_member_and_no_value_for_a_required_one() {
        let object = parse_object(r#"{"text": "", "optional": null, "map": null}"#);
        let sample: Sample<'_> = read(&object).unwrap();
        assert!(sample.optional.is_none() && sample.map.is_none());
        assert!(!sample.flag && sample.list.is_empty());
    }

    #[test]
    fn an_error_says_which_member_is_wrong_and_what_it_should_be() {
        let error = |text: &str| {
            read::<Sample<'_>>(&parse_object(text))
                .err()
                .unwrap()
                .to_string()
        };
        for (text, message) in [
            ("{}", "`text` is missing"),
            (r#"{"text": null}"#, "`text` must be a string"),
            (r#"{"text": ["x"]}"#, "`text` must be a string"),
            (
                r#"{"text": "", "optional": 5}"#,
                "`optional` must be a string",
            ),
            (
                r#"{"text": "", "flag": "true, expected text"}"#,
                "`flag` must be a boolean",
            ),
            (r#"{"text": "", "list": "x"}"#, "`list` must be an array"),
            (
                r#"{"text": "", "list": ["x", 5]}"#,
                "`list[1]` must be a string",
            ),
            (r#"{"text": "", "nested": 2}"#, "`nested` must be an object"),
            (
                r#"{"text": "", "nested": {}}"#,
                "`nested.number` is missing",
            ),
            (
                r#"{"text": "", "nested": {"number": "5"}}"#,
                "`nested.number` must be f64",
            ),
            (r#"{"text": "", "map": [1]}"#, "`map` must be an object"),
            (
                r#"{"text": "", "map": {"a\n`": 1}}"#,
                "`` map.a\\n` `` must be a string",
            ),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
        assert!(
            error(&format!(
                r#"{{"text": "", "map": {{"{}": 1}}}}"#,
                "x".repeat(100_000)
            ))
            .len()
                < 100
        );
    }
}
