//! JSON-RPC 2.0: bytes to a [`Message`], a [`Response`] or a [`Notification`] to JSON. Knows nothing of MCP.
//!
//! Where MCP is stricter than JSON-RPC, the stricter rule holds: an id is a string or an integer and never null, `params` is
//! an object.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod object;

pub use object::{MAX_NESTING, MAX_VALUES, Mismatch, Object};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::{Debug, Display};
use std::io::{self, Write};
use std::sync::Arc;

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

impl Id {
    /// `None`: the JSON is not a valid id.
    pub fn from_json(json: &RawValue) -> Option<Id> {
        serde_json::from_str(json.get()).ok()
    }
}

/// One line of input, or one element of a batch. It borrows from the line.
#[derive(Debug, Clone)]
pub enum Message<'l> {
    /// Must be answered.
    Request(Request<'l>),
    /// Must not be answered, even if it is invalid.
    Notification {
        /// What has happened.
        method: Cow<'l, str>,
        /// Empty if there are none, or if they are not an object.
        params: Object<'l>,
    },
    /// An answer to a request of the server, which sends none.
    Response,
    /// Messages to be read one by one with [`Message::from_json`].
    Batch(Vec<&'l RawValue>),
}

/// A well-formed request.
#[derive(Debug, Clone)]
pub struct Request<'l> {
    /// For the response.
    pub id: Id,
    /// The method to call.
    pub method: Cow<'l, str>,
    /// Empty if the request has none.
    pub params: Object<'l>,
}

impl<'l> Message<'l> {
    /// Reads one line, without its line ending.
    ///
    /// # Errors
    /// The response to an invalid line: `-32700` if it is not JSON in UTF-8, or exceeds [`MAX_VALUES`] or [`MAX_NESTING`];
    /// `-32600` if it is not a message; `-32602` if `params` are not an object.
    pub fn parse(line: &'l [u8]) -> Result<Message<'l>, Response> {
        let text = str::from_utf8(line).map_err(|error| {
            let reason = format!("not UTF-8 from byte {} of the line on", error.valid_up_to() + 1);
            Response::error(None, Error::parse_error(reason))
        })?;
        object::check(text).map_err(|error| {
            // The line may be well formed and still be refused, because of half a surrogate pair, for example.
            let id = Object::parse(text).and_then(|message| Id::from_json(message.get("id")?));
            Response::error(id, Error::parse_error(error))
        })?;
        if !text.trim_ascii_start().starts_with('[') {
            return Message::from_json(text);
        }
        let messages: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|error| Response::error(None, Error::parse_error(error)))?;
        if !(1..=MAX_BATCH).contains(&messages.len()) {
            let message = format!("a batch must hold 1 to {MAX_BATCH} messages, and holds {}", messages.len());
            return Err(Response::error(None, Error::invalid_request(message)));
        }
        Ok(Message::Batch(messages))
    }

    /// Reads a message of a batch.
    ///
    /// # Errors
    /// Those of [`Message::parse`].
    pub fn from_json(json: &'l str) -> Result<Message<'l>, Response> {
        let Some(message) = Object::parse(json) else {
            return Err(Response::error(None, Error::invalid_request("a message must be a JSON object")));
        };
        let method = message.get("method").map(object::string);
        if method.is_none() && (message.get("result").is_some() || message.get("error").is_some()) {
            return Ok(Message::Response);
        }
        let method = method.flatten();
        let id = match (message.get("id"), method) {
            (None, Some(method)) => {
                let params = message.object("params").ok().flatten().unwrap_or_default();
                return Ok(Message::Notification { method, params });
            }
            (id, method) => id.and_then(Id::from_json).map(|id| (id, method)),
        };
        let Some((id, method)) = id else {
            return Err(Response::error(None, Error::invalid_request("`id` must be a string or an integer")));
        };
        match method_and_params(method, &message) {
            Ok((method, params)) => Ok(Message::Request(Request { id, method, params })),
            Err(error) => Err(Response::error(Some(id), error)),
        }
    }
}

/// What a request needs besides its id.
fn method_and_params<'l>(
    method: Option<Cow<'l, str>>,
    message: &Object<'l>,
) -> Result<(Cow<'l, str>, Object<'l>), Error> {
    if message.get("jsonrpc").and_then(object::string).as_deref() != Some("2.0") {
        return Err(Error::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    let method = method.ok_or_else(|| Error::invalid_request("`method` must be a string"))?;
    let params = message.object("params").map_err(Error::invalid_params)?;
    Ok((method, params.unwrap_or_default()))
}

/// The version of JSON-RPC in every message.
#[derive(Debug, Clone, Copy, Serialize)]
enum Version {
    #[serde(rename = "2.0")]
    V2,
}

#[derive(Debug, Serialize)]
struct Success<R> {
    jsonrpc: Version,
    id: Id,
    result: R,
}

#[derive(Debug, Serialize)]
struct ErrorResponse {
    jsonrpc: Version,
    /// `null` if the request's id could not be read.
    id: Option<Id>,
    error: Error,
}

#[derive(Debug, Serialize)]
struct NotificationMessage<P> {
    jsonrpc: Version,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
}

/// A message whose type is known only where it is made. It is serialized directly into the output, so that a large result is
/// never held as text as well.
trait Body: Debug + Send + Sync {
    fn write(&self, output: &mut dyn Write) -> serde_json::Result<()>;
}

impl<T: Serialize + Debug + Send + Sync> Body for T {
    fn write(&self, output: &mut dyn Write) -> serde_json::Result<()> {
        serde_json::to_writer(output, self)
    }
}

/// The response to a request, or to a batch.
#[derive(Debug)]
pub struct Response(Box<dyn Body>);

impl Response {
    /// A response with a result.
    pub fn result(id: Id, result: impl Serialize + Debug + Send + Sync + 'static) -> Response {
        Response(Box::new(Success { jsonrpc: Version::V2, id, result }))
    }

    /// A response with an error. The id is that of the request, if it could be read.
    pub fn error(id: Option<Id>, error: Error) -> Response {
        Response(Box::new(ErrorResponse { jsonrpc: Version::V2, id, error }))
    }

    /// The responses to a batch, in order.
    pub fn batch(responses: Vec<Box<RawValue>>) -> Response {
        Response(Box::new(responses))
    }

    /// Writes the response as compact JSON, which has no line break.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        Ok(self.0.write(output)?)
    }

    /// The response as JSON.
    ///
    /// # Errors
    /// Those of the result's `Serialize`.
    pub fn to_json(&self) -> serde_json::Result<Box<RawValue>> {
        let mut json = Vec::new();
        self.0.write(&mut json)?;
        serde_json::from_slice(&json)
    }
}

/// A notification to the client.
#[derive(Debug, Clone)]
pub struct Notification {
    /// What has happened.
    pub method: &'static str,
    message: Arc<dyn Body>,
}

impl Notification {
    /// A notification; `params` are left out if there are none.
    pub fn new(method: &'static str, params: Option<impl Serialize + Debug + Send + Sync + 'static>) -> Notification {
        Notification { method, message: Arc::new(NotificationMessage { jsonrpc: Version::V2, method, params }) }
    }

    /// Writes the notification as compact JSON, which has no line break.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        Ok(self.message.write(output)?)
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
        Error { code: -32700, message: format!("parse error: {message}"), data: None }
    }

    /// `-32600`: JSON, but not a request.
    pub fn invalid_request(message: impl Display) -> Error {
        Error { code: -32600, message: format!("invalid request: {message}"), data: None }
    }

    fn invalid_params(message: impl Display) -> Error {
        Error { code: -32602, message: format!("invalid params: {message}"), data: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The line is refused with this answer.
    #[track_caller]
    fn refused(line: impl AsRef<[u8]>, code: i64, id: Value) {
        let line = line.as_ref();
        let shown = String::from_utf8_lossy(line);
        let mut answer = Vec::new();
        Message::parse(line).expect_err(&shown).write(&mut answer).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&code.into(), &id), "{shown}");
    }

    fn parse(line: &str) -> Message<'_> {
        Message::parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn invalid_json_is_a_parse_error_with_null_id() {
        for line in ["{oops", "", "{\"id\":1}}", "42 oops", "[1", "{\"id\":1,\"params\":{\"x\":tru}}"] {
            refused(line, -32700, Value::Null);
        }
        refused([0xff, 0xfe], -32700, Value::Null);
        refused(r#"{"jsonrpc":"2.0","method":"\ud800"}"#, -32700, Value::Null);
        refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, Value::Null);
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
        for line in ["42", "\"x\"", "null", "true", "[]", "{}", r#"{"id":null,"method":"ping","jsonrpc":"2.0"}"#] {
            refused(line, -32600, Value::Null);
        }
        refused(r#"{"jsonrpc":"2.0","id":7}"#, -32600, 7.into());
        refused(r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, 7.into());
        refused(r#"{"jsonrpc":"2.0","method":5}"#, -32600, Value::Null);
        refused(r#"{"id":"a","method":"ping"}"#, -32600, "a".into());
        refused(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, "a".into());
        for id in ["1.5", "true", "{}", "[]", "null", "99999999999999999999"] {
            refused(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#), -32600, Value::Null);
        }
    }

    #[test]
    fn the_last_of_two_members_with_the_same_name_counts() {
        let single = [r#""jsonrpc":"2.0""#, r#""id":7"#, r#""method":"ping""#, r#""params":{"a":2}"#];
        let wrong = [r#""jsonrpc":"1.0""#, r#""id":null"#, r#""method":5"#, r#""params":{"a":1}"#];
        for doubled in 0..4 {
            for last in 0..4 {
                for first in 0..=last {
                    let mut members: Vec<&str> =
                        single.into_iter().filter(|member| *member != single[doubled]).collect();
                    members.insert(last.min(members.len()), single[doubled]);
                    members.insert(first.min(last), wrong[doubled]);
                    let line = format!("{{{}}}", members.join(","));
                    let Message::Request(Request { id, method, params }) = parse(&line) else { panic!("{line}") };
                    assert_eq!((id, &*method), (Id::Unsigned(7), "ping"), "{line}");
                    assert_eq!(params.get("a").map(RawValue::get), Some("2"), "{line}");
                }
            }
        }
    }

    #[test]
    fn params_are_an_object_or_absent() {
        for params in ["[]", "[1]", "\"x\"", "5", "true"] {
            refused(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#), -32602, 1.into());
        }
        for params in [r#","params":null"#, r#","params":{}"#, ""] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}"#);
            let message = parse(&line);
            assert!(matches!(message, Message::Request(request) if request.params.text().len() <= 2));
        }
    }

    #[test]
    fn an_id_is_repeated_exactly() {
        for id in ["0", "\"\"", "\"7\"", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Request(request) = parse(&line) else {
                panic!("{id}");
            };
            let mut line = Vec::new();
            Response::result(request.id, ()).write(&mut line).unwrap();
            assert_eq!(
                String::from_utf8(line).unwrap(),
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":null}}")
            );
        }
    }

    #[test]
    fn a_message_without_id_is_a_notification_whatever_else_is_wrong() {
        for line in [
            r#"{"jsonrpc":"2.0","method":"nope"}"#,
            r#"{"method":"nope"}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":5}"#,
        ] {
            assert!(matches!(parse(line), Message::Notification { .. }), "{line}");
        }
    }

    #[test]
    fn a_response_is_recognized() {
        for line in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#] {
            assert!(matches!(parse(line), Message::Response), "{line}");
        }
    }

    #[test]
    fn a_batch_has_at_least_one_and_at_most_1000_messages() {
        let batch = |elements: usize| format!("[{}]", vec!["5"; elements].join(","));
        refused(batch(0), -32600, Value::Null);
        assert!(matches!(parse(&batch(MAX_BATCH)), Message::Batch(elements) if elements.len() == MAX_BATCH));
        refused(batch(MAX_BATCH + 1), -32600, Value::Null);
        refused(batch(MAX_BATCH + 5).replace(']', ""), -32700, Value::Null);
    }

    #[test]
    fn a_response_is_one_line_and_leaves_out_what_it_does_not_have() {
        let mut line = Vec::new();
        Response::error(None, Error::invalid_request("a\nb\u{2028}")).write(&mut line).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"invalid request: a\\nb\u{2028}\"}}"
        );
    }
}
