//! JSON-RPC 2.0: bytes to a [`Message`], an [`Outgoing`] to one line. Knows nothing of MCP, and does no input.
//!
//! Where MCP narrows JSON-RPC, the narrower rule holds: an id is a string or an integer and never null, `params` is an
//! object.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use crate::json::{Json, Object, Value};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

/// How many messages a batch may hold.
pub const MAX_BATCH: usize = 1_000;

/// The id of a request, echoed as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer from -2⁶³ to 2⁶⁴-1.
    Number(Number),
    /// Any string, the empty one too.
    String(String),
}

/// What came in one line, or in one element of a batch. It borrows from the line.
#[derive(Debug, Clone)]
pub enum Message<'l> {
    /// It wants an answer.
    Request(Request<'l>),
    /// It wants none, whatever is wrong with it.
    Notification {
        /// What has happened.
        method: Cow<'l, str>,
        /// The details; empty where there are none, and where they are no object: nobody could be told.
        params: Object<'l>,
    },
    /// A response; we send no requests, so it answers none.
    Response,
    /// An array of messages, for [`Message::from_value`] one by one.
    Batch(Vec<Value<'l>>),
}

/// A well-formed request.
#[derive(Debug, Clone)]
pub struct Request<'l> {
    /// Goes into the answer.
    pub id: Id,
    /// What to do.
    pub method: Cow<'l, str>,
    /// With what; empty where the request has none.
    pub params: Object<'l>,
}

/// What goes out: one line, once it is written.
#[derive(Debug)]
pub enum Outgoing {
    /// The answer to a request, or to a batch.
    Response(Response),
    /// News.
    Notification(Notification),
}

/// An answer.
#[derive(Debug)]
pub struct Response(Answer);

#[derive(Debug)]
enum Answer {
    Result {
        id: Id,
        result: Json,
    },
    /// The id is `null` where there was none to read.
    Error {
        id: Option<Id>,
        error: Error,
    },
    Batch(Vec<Response>),
}

/// News for a client.
#[derive(Debug, Clone, Serialize)]
pub struct Notification {
    jsonrpc: Version,
    /// What has happened.
    pub method: String,
    /// The details; empty where there are none.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, Copy, Serialize)]
enum Version {
    #[serde(rename = "2.0")]
    V2,
}

/// A protocol error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Error {
    /// One of the codes of JSON-RPC 2.0 or of MCP.
    pub code: i64,
    /// One line.
    pub message: String,
    /// More, for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl Error {
    /// `-32700`: not JSON.
    pub fn parse_error(message: impl fmt::Display) -> Error {
        Error::new(-32700, format!("parse error: {message}"))
    }

    /// `-32600`: JSON, but no request.
    pub fn invalid_request(message: impl fmt::Display) -> Error {
        Error::new(-32600, format!("invalid request: {message}"))
    }

    /// `-32601`: nothing of that name here.
    pub fn method_not_found(message: impl fmt::Display) -> Error {
        Error::new(-32601, format!("method not found: {message}"))
    }

    /// `-32602`: the params do not fit.
    pub fn invalid_params(message: impl fmt::Display) -> Error {
        Error::new(-32602, format!("invalid params: {message}"))
    }

    /// `-32603`: a fault of ours.
    pub fn internal(message: impl fmt::Display) -> Error {
        Error::new(-32603, format!("internal error: {message}"))
    }

    /// `-32603` as well: a file cannot be read; the message says why, and what to do.
    pub fn unreadable(message: impl fmt::Display) -> Error {
        Error::new(-32603, message.to_string())
    }

    /// A code of the protocol above.
    pub fn new(code: i64, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), data: None }
    }

    /// The same with `data`.
    pub fn with_data(self, data: serde_json::Value) -> Error {
        Error { data: Some(data), ..self }
    }
}

impl<'l> Message<'l> {
    /// Reads one line, without its line end.
    ///
    /// # Errors
    /// What it cannot be is already an answer: `-32700` for what is no JSON in UTF-8 (or too much of it, see
    /// [`Value::parse`]), `-32600` for what is no message, `-32602` for `params` that are no object.
    pub fn parse(line: &'l [u8]) -> Result<Message<'l>, Response> {
        let text = simdutf8::compat::from_utf8(line).map_err(|error| {
            let reason = format!("not UTF-8 from byte {} of the line on", error.valid_up_to() + 1);
            Response::error(None, Error::parse_error(reason))
        })?;
        match Value::parse(text).map_err(|error| Response::error(id_of(text), Error::parse_error(error)))? {
            Value::List(messages) if (1..=MAX_BATCH).contains(&messages.len()) => Ok(Message::Batch(messages)),
            Value::List(messages) => {
                let length = messages.len();
                let message = format!("a batch must hold 1 to {MAX_BATCH} messages, and holds {length}");
                Err(Response::error(None, Error::invalid_request(message)))
            }
            message => Message::from_value(message),
        }
    }

    /// Reads a message that is no batch.
    ///
    /// # Errors
    /// Those of [`Message::parse`].
    pub fn from_value(message: Value<'l>) -> Result<Message<'l>, Response> {
        let Value::Object(mut message) = message else {
            return Err(Response::error(None, Error::invalid_request("a message must be a JSON object")));
        };
        let method = message.remove("method");
        if method.is_none() && (message.get("result").is_some() || message.get("error").is_some()) {
            return Ok(Message::Response);
        }
        let id = match message.remove("id") {
            Some(id) => Id::from_value(&id),
            None => match method {
                Some(Value::Text(method)) => {
                    let params = params(&mut message).unwrap_or_default();
                    return Ok(Message::Notification { method, params });
                }
                _ => None,
            },
        };
        let Some(id) = id else {
            return Err(Response::error(None, Error::invalid_request("`id` must be a string or an integer")));
        };
        match method_and_params(method, message) {
            Ok((method, params)) => Ok(Message::Request(Request { id, method, params })),
            Err(error) => Err(Response::error(Some(id), error)),
        }
    }
}

/// The id of a message that is well formed and cannot be read all the same: it holds half of a character (a lone
/// surrogate), a number beyond all floats, too much. Somebody waits for its answer.
fn id_of(text: &str) -> Option<Id> {
    #[derive(Deserialize)]
    struct WithId<'l> {
        #[serde(borrow)]
        id: &'l RawValue,
    }
    let WithId { id } = serde_json::from_str(text).ok()?;
    Value::parse(id.get()).ok().and_then(|id| Id::from_value(&id))
}

/// The rest of a request, once its id is known.
fn method_and_params<'l>(
    method: Option<Value<'l>>,
    mut message: Object<'l>,
) -> Result<(Cow<'l, str>, Object<'l>), Error> {
    if message.text("jsonrpc") != Ok(Some("2.0")) {
        return Err(Error::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    let Some(Value::Text(method)) = method else {
        return Err(Error::invalid_request("`method` must be a string"));
    };
    Ok((method, params(&mut message)?))
}

fn params<'l>(message: &mut Object<'l>) -> Result<Object<'l>, Error> {
    match message.remove("params") {
        None | Some(Value::Null) => Ok(Object::default()),
        Some(Value::Object(params)) => Ok(params),
        Some(_) => Err(Error::invalid_params("`params` must be an object")),
    }
}

impl Id {
    /// An id as JSON; `None` for what can be none.
    pub fn from_value(value: &Value<'_>) -> Option<Id> {
        match value {
            Value::Text(id) => Some(Id::String(id.to_string())),
            // What fits neither i64 nor u64 was read as a float, and could not be echoed exactly.
            Value::Number(id) if id.is_i64() || id.is_u64() => Some(Id::Number(id.clone())),
            _ => None,
        }
    }
}

impl Response {
    /// An answer with a result.
    pub fn result(id: Id, result: Json) -> Response {
        Response(Answer::Result { id, result })
    }

    /// An answer with an error.
    pub fn error(id: Option<Id>, error: Error) -> Response {
        Response(Answer::Error { id, error })
    }

    /// The answers to a batch, in order.
    pub fn batch(answers: Vec<Response>) -> Response {
        Response(Answer::Batch(answers))
    }

    /// The same, its result written already; and how many bytes that has.
    pub fn written(self) -> (Response, usize) {
        match self.0 {
            Answer::Result { id, result } => {
                let text = result.into_text();
                let length = text.len();
                (Response::result(id, Json::written(text)), length)
            }
            answer => (Response(answer), 0),
        }
    }

    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        match &self.0 {
            Answer::Result { id, result } => {
                output.write_all(br#"{"jsonrpc":"2.0","id":"#)?;
                serde_json::to_writer(&mut *output, id)?;
                output.write_all(br#","result":"#)?;
                result.write(output)?;
                output.write_all(b"}")
            }
            Answer::Error { id, error } => {
                output.write_all(br#"{"jsonrpc":"2.0","id":"#)?;
                serde_json::to_writer(&mut *output, id)?;
                output.write_all(br#","error":"#)?;
                serde_json::to_writer(&mut *output, error)?;
                output.write_all(b"}")
            }
            Answer::Batch(answers) => {
                for (index, answer) in answers.iter().enumerate() {
                    output.write_all(if index == 0 { b"[" } else { b"," })?;
                    answer.write(output)?;
                }
                output.write_all(b"]")
            }
        }
    }
}

impl Notification {
    /// News for a client.
    pub fn new(method: impl Into<String>, params: Map<String, serde_json::Value>) -> Notification {
        Notification { jsonrpc: Version::V2, method: method.into(), params }
    }
}

impl Outgoing {
    /// Writes it as one line of compact JSON, in several pieces; flushes nothing.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn write(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Outgoing::Response(response) => response.write(output)?,
            Outgoing::Notification(notification) => serde_json::to_writer(&mut *output, notification)?,
        }
        output.write_all(b"\n")
    }
}

impl Serialize for Response {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = Vec::new();
        self.write(&mut text).map_err(serde::ser::Error::custom)?;
        let text = String::from_utf8(text).map_err(serde::ser::Error::custom)?;
        RawValue::from_string(text).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl Response {
    /// How long its result is, in bytes.
    pub fn result_length(&self) -> usize {
        match &self.0 {
            Answer::Result { result, .. } => result.length(),
            _ => 0,
        }
    }
}

impl From<Response> for Outgoing {
    fn from(response: Response) -> Self {
        Outgoing::Response(response)
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
        Outgoing::from(Message::parse(line).expect_err(&shown)).write(&mut answer).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&code.into(), &id), "{shown}");
    }

    fn parse(line: &str) -> Message<'_> {
        Message::parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_with_null_id() {
        for line in ["{oops", "", "{\"id\":1}}", "42 oops", "[1", "{\"id\":1,\"params\":{\"x\":tru}}"] {
            refused(line, -32700, Value::Null);
        }
        refused([0xff, 0xfe], -32700, Value::Null);
        refused(r#"{"jsonrpc":"2.0","method":"\ud800"}"#, -32700, Value::Null);
        refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, Value::Null);
        refused("[".repeat(200), -32700, Value::Null);
    }

    #[test]
    fn half_a_character_and_a_number_beyond_all_floats_are_a_parse_error_that_has_the_id() {
        for unreadable in [r#""\ud83d""#, "1e999", r#"{"\udc00":1}"#] {
            refused(
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{unreadable}}}}}"#),
                -32700,
                7.into(),
            );
        }
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
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
    fn of_a_doubled_member_the_last_counts_wherever_it_stands() {
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
                    assert_eq!((id, &*method), (Id::Number(7.into()), "ping"), "{line}");
                    assert_eq!(params.get("a"), Some(&crate::json::Value::Number(2.into())), "{line}");
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
            assert!(matches!(message, Message::Request(request) if request.params.is_empty()));
        }
    }

    #[test]
    fn an_id_is_kept_exactly() {
        for id in ["0", "\"\"", "\"7\"", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Request(request) = parse(&line) else {
                panic!("{id}");
            };
            let mut line = Vec::new();
            Outgoing::from(Response::result(request.id, Json::written("null".to_owned()))).write(&mut line).unwrap();
            assert_eq!(
                String::from_utf8(line).unwrap(),
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":null}}\n")
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
    fn a_response_to_us_is_recognized() {
        for line in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#] {
            assert!(matches!(parse(line), Message::Response), "{line}");
        }
    }

    #[test]
    fn a_batch_is_neither_empty_nor_longer_than_its_limit() {
        let batch = |elements: usize| format!("[{}]", vec!["5"; elements].join(","));
        refused(batch(0), -32600, Value::Null);
        assert!(matches!(parse(&batch(MAX_BATCH)), Message::Batch(elements) if elements.len() == MAX_BATCH));
        refused(batch(MAX_BATCH + 1), -32600, Value::Null);
        refused(batch(MAX_BATCH + 5).replace(']', ""), -32700, Value::Null);
    }

    #[test]
    fn an_answer_is_one_line_without_null_members() {
        let mut line = Vec::new();
        Outgoing::from(Response::error(None, Error::internal("a\nb\u{2028}"))).write(&mut line).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"internal error: a\\nb\u{2028}\"}}\n"
        );
    }
}
