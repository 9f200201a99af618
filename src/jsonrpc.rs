//! JSON-RPC 2.0: bytes to a [`Message`], a [`Response`] to one line. Knows nothing of MCP, and does no input.
//!
//! Where MCP narrows JSON-RPC, the narrower rule holds: an id is a string or an integer and never null, `params` is an
//! object.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
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

/// What came in one line, or in one element of a batch.
#[derive(Debug, Clone)]
pub enum Message {
    /// It wants an answer.
    Request(Request),
    /// It wants none, whatever is wrong with it.
    Notification {
        /// What happened.
        method: String,
    },
    /// An answer to us, who never ask.
    Response,
    /// An array of messages, for [`Message::from_value`] one by one.
    Batch(Vec<Value>),
}

/// A well-formed request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Goes into the answer.
    pub id: Id,
    /// What to do.
    pub method: String,
    /// With what; empty where the request has none.
    pub params: Map<String, Value>,
}

/// An answer: one line, once it is written.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Response {
    /// It went well.
    Result {
        /// Always `2.0`.
        jsonrpc: Two,
        /// The request's.
        id: Id,
        /// What the method answers, as JSON.
        result: Box<RawValue>,
    },
    /// It did not.
    Error {
        /// Always `2.0`.
        jsonrpc: Two,
        /// The request's; `null` where there was none to read.
        id: Option<Id>,
        /// Why.
        error: Error,
    },
    /// The answers to a batch, in order.
    Batch(Vec<Response>),
}

/// The version of JSON-RPC.
#[derive(Debug, Clone, Copy, Serialize)]
pub enum Two {
    /// The only one.
    #[serde(rename = "2.0")]
    Two,
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
    pub data: Option<Value>,
}

impl Error {
    /// `-32700`: not JSON.
    pub fn parse_error(message: impl Into<String>) -> Error {
        Error::new(-32700, message)
    }

    /// `-32600`: JSON, but no request.
    pub fn invalid_request(message: impl Into<String>) -> Error {
        Error::new(-32600, message)
    }

    /// `-32601`: nothing of that name here.
    pub fn method_not_found(message: impl Into<String>) -> Error {
        Error::new(-32601, message)
    }

    /// `-32602`: the params do not fit.
    pub fn invalid_params(message: impl Into<String>) -> Error {
        Error::new(-32602, message)
    }

    /// `-32603`: a fault of ours.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(-32603, message)
    }

    /// A code of the protocol above.
    pub fn new(code: i64, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), data: None }
    }

    /// The same with `data`.
    pub fn with_data(self, data: Value) -> Error {
        Error { data: Some(data), ..self }
    }
}

impl Message {
    /// Reads one line, without its line end.
    ///
    /// # Errors
    /// What it cannot be is already an answer: `-32700` for what is no JSON in UTF-8 (or nests deeper than 128
    /// levels), `-32600` for what is no message, `-32602` for `params` that are no object.
    pub fn parse(line: &[u8]) -> Result<Message, Response> {
        let no_json =
            |error: serde_json::Error| Response::error(None, Error::parse_error(format!("parse error: {error}")));
        if line.trim_ascii_start().first() != Some(&b'[') {
            return Message::from_value(serde_json::from_slice(line).map_err(no_json)?);
        }
        let Elements(elements) = serde_json::from_slice(line).map_err(no_json)?;
        let refuse = |message: String| Err(Response::error(None, Error::invalid_request(message)));
        match elements.len() {
            0 => refuse("invalid request: a batch holds at least one message".to_owned()),
            1..=MAX_BATCH => Ok(Message::Batch(elements)),
            _ => refuse(format!("invalid request: a batch holds at most {MAX_BATCH} messages")),
        }
    }

    /// Reads a message that is no batch.
    ///
    /// # Errors
    /// Those of [`Message::parse`].
    pub fn from_value(value: Value) -> Result<Message, Response> {
        let Value::Object(mut object) = value else {
            let error = Error::invalid_request("invalid request: a message is a JSON object");
            return Err(Response::error(None, error));
        };
        let method = object.remove("method");
        let id = match (object.remove("id"), &method) {
            (None, Some(Value::String(method))) => return Ok(Message::Notification { method: method.clone() }),
            (id, None) if object.contains_key("result") || object.contains_key("error") => {
                let _ = id;
                return Ok(Message::Response);
            }
            (Some(id), _) => Id::from_value(id),
            (None, _) => None,
        };
        let refuse = |error: Error| Err(Response::error(id.clone(), error));
        let Some(id) = id.clone() else {
            return refuse(Error::invalid_request("invalid request: `id` is a string or an integer"));
        };
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refuse(Error::invalid_request("invalid request: `jsonrpc` is \"2.0\""));
        }
        let Some(Value::String(method)) = method else {
            return refuse(Error::invalid_request("invalid request: `method` is a string"));
        };
        let params = match object.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return refuse(Error::invalid_params("invalid params: `params` is an object")),
        };
        Ok(Message::Request(Request { id, method, params }))
    }
}

/// The elements of an array; of more than [`MAX_BATCH`], one more than that, so that the rest takes no memory.
struct Elements(Vec<Value>);

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UpToLimit;
        impl<'de> Visitor<'de> for UpToLimit {
            type Value = Elements;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Elements, A::Error> {
                let mut elements = Vec::new();
                while elements.len() <= MAX_BATCH {
                    match array.next_element()? {
                        Some(element) => elements.push(element),
                        None => return Ok(Elements(elements)),
                    }
                }
                while array.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Elements(elements))
            }
        }
        deserializer.deserialize_seq(UpToLimit)
    }
}

impl Id {
    fn from_value(value: Value) -> Option<Id> {
        match value {
            Value::String(id) => Some(Id::String(id)),
            // What fits neither i64 nor u64 was read as a float, and could not be echoed exactly.
            Value::Number(id) if id.is_i64() || id.is_u64() => Some(Id::Number(id)),
            _ => None,
        }
    }
}

impl Response {
    /// An answer with a result.
    pub fn result(id: Id, result: Box<RawValue>) -> Response {
        Response::Result { jsonrpc: Two::Two, id, result }
    }

    /// An answer with an error.
    pub fn error(id: Option<Id>, error: Error) -> Response {
        Response::Error { jsonrpc: Two::Two, id, error }
    }

    /// Writes it as one line of compact JSON, in one piece, and flushes.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line is refused with this answer.
    #[track_caller]
    fn refused(line: impl AsRef<[u8]>, code: i64, id: Value) {
        let line = line.as_ref();
        let shown = String::from_utf8_lossy(line);
        let answer = Message::parse(line).expect_err(&shown);
        let answer = serde_json::to_value(answer).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&code.into(), &id), "{shown}");
    }

    fn parse(line: &str) -> Message {
        Message::parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_with_null_id() {
        for line in ["{oops", "", "{\"id\":1}}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}"] {
            refused(line, -32700, Value::Null);
        }
        refused([0xff, 0xfe], -32700, Value::Null);
        refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, Value::Null);
        refused("[".repeat(200), -32700, Value::Null);
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
    fn params_are_an_object_or_absent() {
        for params in ["[]", "[1]", "\"x\"", "5", "true"] {
            refused(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#), -32602, 1.into());
        }
        for params in [r#","params":null"#, r#","params":{}"#, ""] {
            let message = parse(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}"#));
            assert!(matches!(message, Message::Request(request) if request.params.is_empty()));
        }
    }

    #[test]
    fn an_id_is_kept_exactly() {
        for id in ["0", "\"\"", "\"7\"", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808"] {
            let Message::Request(request) = parse(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)) else {
                panic!("{id}");
            };
            let mut line = Vec::new();
            Response::result(request.id, RawValue::NULL.to_owned()).write(&mut line).unwrap();
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
        Response::error(None, Error::internal("a\nb\u{2028}")).write(&mut line).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"a\\nb\u{2028}\"}}\n"
        );
    }
}
