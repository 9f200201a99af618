//! JSON-RPC 2.0: parses bytes into a [`Message`], and serializes a [`Response`] or a
//! [`Notification`]. This module knows nothing about MCP methods.
//!
//! Where MCP is stricter than JSON-RPC, its rules apply: an id is a string or an integer but never
//! null, and `params` must be an object.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod member;

use crate::input;
use crate::wording::{quoted, with_commas};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::fmt::{self, Display};
use std::num::NonZeroUsize;

const VERSION: &str = "2.0";

/// The maximum number of values in a line. Counts objects, arrays, and all of their members and
/// elements.
pub const MAX_VALUES: usize = 100_000;

/// The maximum nesting depth of arrays and objects, which serde_json enforces.
pub const MAX_NESTING: usize = 127;

/// The maximum number of messages in a batch.
pub const MAX_BATCH: usize = 1_000;

/// The id of a request. The response must repeat it exactly.
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

/// Formats the id as JSON.
impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Unsigned(number) => number.fmt(f),
            Id::Negative(number) => number.fmt(f),
            Id::String(text) => Value::from(text.as_str()).fmt(f),
        }
    }
}

/// A JSON object.
pub type Object = Map<String, Value>;

/// A line of input, or an element of a batch.
#[derive(Debug, Clone)]
pub enum Message {
    /// Requires a response.
    Request(Request),
    /// Must not be answered, even if it is invalid.
    Notification {
        /// The name of the event.
        method: String,
        /// Empty if they are missing or not an object.
        params: Object,
    },
    /// A response to a request from the server. The server never sends any, so this is ignored.
    Response,
    /// Elements to parse with [`Message::from_value`].
    Batch(Vec<Value>),
}

/// A valid request.
#[derive(Debug, Clone)]
pub struct Request {
    /// To be repeated in the response.
    pub id: Id,
    /// The method to call.
    pub method: String,
    /// Empty if they are missing.
    pub params: Object,
}

impl Message {
    /// Parses a line, without its line ending.
    ///
    /// # Errors
    /// Returns the response to an invalid line. Its code is:
    ///
    /// - `-32700` if the line isn't JSON in UTF-8, or exceeds [`MAX_VALUES`] or [`MAX_NESTING`].
    /// - `-32600` if it isn't a message.
    /// - `-32602` if `params` isn't an object.
    pub fn parse(line: &[u8]) -> Result<Message, Response> {
        let text = parse_utf8(line)?;
        // Fast path: most lines are a single object, which can skip the conversion to a `Value`.
        if text.starts_with('{')
            && let Ok(members) = parse_json::<Members>(text)
        {
            return members.into_message();
        }
        // The line is a batch, an object with duplicate members, or invalid.
        match parse_json(text) {
            Ok(Value::Array(messages)) => Message::batch(messages),
            Ok(message) => Message::from_value(message),
            Err(error) => {
                let id = id_of_rejected_line(text);
                Err(Response::error(id.as_ref(), Error::parse_error(error)))
            }
        }
    }

    /// Parses an element of a batch.
    ///
    /// # Errors
    /// Returns the same responses as [`Message::parse`].
    pub fn from_value(message: Value) -> Result<Message, Response> {
        // Check this first, because serde also accepts an array of the members' values.
        if message.is_object()
            && let Ok(members) = Members::deserialize(message)
        {
            return members.into_message();
        }
        let error = Error::invalid_request("a message must be a JSON object");
        Err(Response::error_without_id(error))
    }

    /// Returns a batch of these messages, which are not parsed yet.
    ///
    /// # Errors
    /// Returns the response to a batch that is empty, or longer than [`MAX_BATCH`].
    fn batch(messages: Vec<Value>) -> Result<Message, Response> {
        let count = messages.len();
        if (1..=MAX_BATCH).contains(&count) {
            return Ok(Message::Batch(messages));
        }
        let message =
            format!("a batch must contain 1 to {MAX_BATCH} messages, but contains {count}");
        Err(Response::error_without_id(Error::invalid_request(message)))
    }

    /// Returns the id of a request. Other messages have none.
    pub fn id(&self) -> Option<Id> {
        match self {
            Message::Request(request) => Some(request.id.clone()),
            _ => None,
        }
    }
}

/// Decodes a line.
///
/// # Errors
/// Returns a response that says where its first invalid byte is.
fn parse_utf8(line: &[u8]) -> Result<&str, Response> {
    str::from_utf8(line).map_err(|error| {
        let byte = error.valid_up_to() + 1;
        let message = format!("the line is not valid UTF-8 at byte {byte}");
        Response::error_without_id(Error::parse_error(message))
    })
}

/// The members that determine the kind of a message. They can still have any type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    #[serde(deserialize_with = "deserialize_nullable")]
    jsonrpc: Option<Value>,
    #[serde(deserialize_with = "deserialize_nullable")]
    id: Option<Value>,
    #[serde(deserialize_with = "deserialize_nullable")]
    method: Option<Value>,
    /// Unlike for the other members, `null` counts as missing: some clients send it.
    params: Option<Value>,
    #[serde(deserialize_with = "deserialize_nullable")]
    result: Option<Value>,
    #[serde(deserialize_with = "deserialize_nullable")]
    error: Option<Value>,
}

/// Deserializes a member so that `null` differs from a missing member: `"id": null` becomes
/// `Some(Null)`.
pub(crate) fn deserialize_nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Members {
    /// Turns the members into a message: a response if there is a `result` or `error` but no
    /// `method`, a notification if there is a `method` but no `id`, and a request otherwise.
    ///
    /// # Errors
    /// Returns the same responses as [`Members::into_request`].
    fn into_message(self) -> Result<Message, Response> {
        if self.method.is_none() && (self.result.is_some() || self.error.is_some()) {
            return Ok(Message::Response);
        }
        if self.id.is_none()
            && let Some(Value::String(method)) = self.method
        {
            let params = params_object(self.params).unwrap_or_default();
            return Ok(Message::Notification { method, params });
        }
        self.into_request().map(Message::Request)
    }

    /// Turns the members into a request.
    ///
    /// # Errors
    /// Returns a response that names the missing or invalid member.
    fn into_request(self) -> Result<Request, Response> {
        let Some(Ok(id)) = self.id.map(Id::deserialize) else {
            let error = Error::invalid_request("`id` must be a string or an integer");
            return Err(Response::error_without_id(error));
        };
        if self.jsonrpc.is_none_or(|version| version != VERSION) {
            let error = Error::invalid_request("`jsonrpc` must be \"2.0\"");
            return Err(Response::error(Some(&id), error));
        }
        let Some(Value::String(method)) = self.method else {
            let error = Error::invalid_request("`method` must be a string");
            return Err(Response::error(Some(&id), error));
        };
        let Some(params) = params_object(self.params) else {
            let error = Error::invalid_params("`params` must be an object");
            return Err(Response::error(Some(&id), error));
        };
        Ok(Request { id, method, params })
    }
}

/// Returns the params of a message. Missing params become an empty object. Returns `None` if they
/// have another type.
fn params_object(params: Option<Value>) -> Option<Object> {
    match params {
        None => Some(Object::new()),
        Some(Value::Object(params)) => Some(params),
        Some(_) => None,
    }
}

/// Extracts the id from a line whose syntax is valid but that is rejected, e.g. because it contains
/// too many values or an unpaired surrogate.
fn id_of_rejected_line(text: &str) -> Option<Id> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: Id,
    }
    let members: OnlyId = serde_json::from_str(text).ok()?;
    Some(members.id)
}

/// Parses JSON. Rejects more than [`MAX_VALUES`] values before storing any of them.
pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if has_too_many_values(text) {
        let limit = with_commas(MAX_VALUES);
        let message = format!("more than {limit} values in one message; send several requests");
        return Err(serde::de::Error::custom(message));
    }
    input::parse_json(text)
}

/// Returns whether JSON contains more than [`MAX_VALUES`] values.
///
/// Counts `[`, `{` and `,`, because one of them precedes every value except the first. A fast count
/// that includes strings comes first. Only if that is too high, they are counted exactly.
fn has_too_many_values(text: &str) -> bool {
    let mut count = 0;
    for byte in [b'[', b'{', b','] {
        count += memchr::memchr_iter(byte, text.as_bytes()).count();
    }
    count > MAX_VALUES && count_outside_strings(text) > MAX_VALUES
}

/// Counts the `[`, `{` and `,` outside strings. JSON contains at most one more value than that:
/// `[1,{"a":2}]` has three of them and four values.
fn count_outside_strings(text: &str) -> usize {
    let mut count = 0;
    let mut in_string = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match byte {
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' | b',' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Deserializes an object. Ignores unknown members. A struct within it must be an object, too.
///
/// # Errors
/// Returns a message about the first invalid member, e.g. "`list[1]` must be a string" or "`text`
/// is missing".
pub(crate) fn read_object<'o, T: Deserialize<'o>>(object: &'o Object) -> Result<T, String> {
    // Tracking the path of each member is slow and only needed for errors, so deserialize twice.
    match T::deserialize(member::deserializer(object)) {
        Ok(value) => Ok(value),
        Err(_) => {
            serde_path_to_error::deserialize(member::deserializer(object)).map_err(mismatch_message)
        }
    }
}

/// Returns a message about a member that is missing or has the wrong type, e.g. "`ref.type` is
/// missing" or "`arguments.name` must be a string".
fn mismatch_message(error: serde_path_to_error::Error<serde_json::Error>) -> String {
    let mut path = error.path().to_string();
    if error.path().iter().len() == 0 {
        path.clear(); // the path of the whole object is displayed as `.`
    }
    // serde's errors have no fields, so this parses their messages.
    let message = error.into_inner().to_string();
    if let Some(member) = message.strip_prefix("missing field ") {
        let separator = if path.is_empty() { "" } else { "." };
        let member = format!("{path}{separator}{}", member.trim_matches('`'));
        return format!("{} is missing", quoted(&member));
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("{} must be {}", quoted(&path), json_type(expected)),
        None => format!("{} {message}", quoted(&path)),
    }
}

/// Translates a type in serde's error messages to JSON terms: `an object` for `a map`.
fn json_type(expected: &str) -> &str {
    if expected.starts_with("struct ") {
        return "an object";
    }
    match expected {
        "a map" => "an object",
        "a sequence" => "an array",
        "a borrowed string" => "a string",
        other => other,
    }
}

/// Deserializes an integer of at least 1, or `null` as `None`. Also accepts `5.0`, because some
/// clients write every number as a float.
pub(crate) fn deserialize_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NonZeroUsize>, D::Error> {
    match Option::<f64>::deserialize(deserializer) {
        Ok(None) => Ok(None),
        Ok(Some(count)) if count >= 1.0 && count.fract() == 0.0 => {
            Ok(NonZeroUsize::new(count as usize)) // a huge number becomes `usize::MAX`
        }
        _ => Err(serde::de::Error::custom(
            "must be a whole number, 1 or more",
        )),
    }
}

/// A value serialized as compact JSON, without line breaks.
#[derive(Debug, Clone)]
pub struct Json(String);

impl Json {
    /// Serializes a value with serde_json.
    ///
    /// # Errors
    /// Fails if the value can't be serialized.
    pub(crate) fn serialize(value: &impl Serialize) -> serde_json::Result<Json> {
        serde_json::to_string(value).map(Json)
    }

    /// Wraps a string that is already compact JSON.
    pub(crate) fn from_text(json: String) -> Json {
        Json(json)
    }

    /// Appends members to this object. `members` is JSON without the braces: `"a":1,"b":2`.
    pub(crate) fn with_members(mut self, members: &str) -> Json {
        if members.is_empty() {
            return self;
        }
        self.0.pop(); // the closing brace
        if self.0 != "{" {
            self.0.push(',');
        }
        self.0.push_str(members);
        self.0.push('}');
        self
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the members of this object without the braces: `"a":1,"b":2`.
    pub(crate) fn members(&self) -> &str {
        let without_start = self.0.strip_prefix('{').unwrap_or_default();
        without_start.strip_suffix('}').unwrap_or_default()
    }
}

/// Appends an object whose values are strings: `{"type":"text","text":"a"}`.
pub(crate) fn write_object(json: &mut String, members: &[(&str, &str)]) {
    json.push('{');
    for (index, (name, text)) in members.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write_string(json, name);
        json.push(':');
        write_string(json, text);
    }
    json.push('}');
}

/// Appends a JSON string, escaped exactly like serde_json does: `"a\nb"` for two lines.
///
/// serde_json looks at one byte at a time, which took most of the time of a list, and a tenth of
/// that of an expansion. This looks at eight bytes at a time.
pub(crate) fn write_string(json: &mut String, text: &str) {
    json.reserve(text.len() + 2);
    json.push('"');
    let mut rest = text;
    while let Some(position) = find_byte_to_escape(rest.as_bytes()) {
        json.push_str(&rest[..position]);
        write_escaped(json, rest.as_bytes()[position]);
        rest = &rest[position + 1..];
    }
    json.push_str(rest);
    json.push('"');
}

/// Appends the escape sequence for a byte that JSON strings can't contain: `\"` for a quote.
fn write_escaped(json: &mut String, byte: u8) {
    match byte {
        b'"' => json.push_str("\\\""),
        b'\\' => json.push_str("\\\\"),
        b'\n' => json.push_str("\\n"),
        b'\r' => json.push_str("\\r"),
        b'\t' => json.push_str("\\t"),
        0x08 => json.push_str("\\b"),
        0x0c => json.push_str("\\f"),
        control => json.push_str(&format!("\\u{control:04x}")),
    }
}

/// Returns the offset of the first byte that JSON strings can't contain: a quote, a backslash or a
/// control character.
fn find_byte_to_escape(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let marks = mark_bytes_to_escape(u64::from_le_bytes(*word));
        if marks != 0 {
            // The lowest bit that is set is in the first such byte.
            let offset_in_word = marks.trailing_zeros() as usize / 8;
            return Some(8 * index + offset_in_word);
        }
    }
    let offset_in_rest = rest.iter().position(|byte| must_be_escaped(*byte))?;
    Some(text.len() - rest.len() + offset_in_rest)
}

fn must_be_escaped(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\')
}

/// Each of the eight bytes is 1. Multiply by a byte to repeat it eight times.
const EACH_BYTE: u64 = u64::from_le_bytes([1; 8]);

/// Finds the first of eight bytes, in little-endian order, that must be escaped in a JSON string.
/// The lowest bit that is set in the result is the highest bit of that byte. The bits above it are
/// meaningless: see [`mark_bytes_below`].
fn mark_bytes_to_escape(word: u64) -> u64 {
    // XOR turns a quote or a backslash into a zero byte, the only one that is less than 1.
    let quotes_as_zero = word ^ (EACH_BYTE * u64::from(b'"'));
    let backslashes_as_zero = word ^ (EACH_BYTE * u64::from(b'\\'));
    mark_bytes_below(0x20, word)
        | mark_bytes_below(1, quotes_as_zero)
        | mark_bytes_below(1, backslashes_as_zero)
}

/// Finds the first of eight bytes, in little-endian order, that is less than `limit`, which must be
/// at most 128. The lowest bit that is set in the result is the highest bit of that byte.
///
/// Subtracting `limit` sets the highest bit of a smaller byte, because it borrows from the next
/// byte. `& !word` excludes bytes whose highest bit was already set. The borrow can also set the
/// highest bit of a later byte that isn't smaller, so only the lowest bit is reliable.
fn mark_bytes_below(limit: u64, word: u64) -> u64 {
    word.wrapping_sub(EACH_BYTE * limit) & !word & (EACH_BYTE << 7)
}

/// The response to a request or a batch.
#[derive(Debug)]
pub struct Response {
    json: String,
    error_code: Option<i64>,
}

impl Response {
    /// Creates a successful response.
    pub fn result(id: &Id, result: Json) -> Response {
        let start = format!("{{\"jsonrpc\":\"{VERSION}\",\"id\":{id},\"result\":");
        // Extend the result in place, because it may be long.
        let mut json = result.0;
        json.insert_str(0, &start);
        json.push('}');
        Response {
            json,
            error_code: None,
        }
    }

    /// Creates the error response to something whose id can't be determined. The response has the
    /// id `null`.
    pub fn error_without_id(error: Error) -> Response {
        Response::error(None, error)
    }

    /// Creates an error response. `id` is `None` if the id of the request can't be determined.
    pub fn error(id: Option<&Id>, error: Error) -> Response {
        let json = json!({ "jsonrpc": VERSION, "id": id, "error": error }).to_string();
        Response {
            json,
            error_code: Some(error.code),
        }
    }

    /// Creates the response to a batch. `responses` are in the order of its requests.
    pub fn batch(responses: &[Response]) -> Response {
        let responses: Vec<&str> = responses.iter().map(Response::as_json).collect();
        Response {
            json: format!("[{}]", responses.join(",")),
            error_code: None,
        }
    }

    /// Returns the error code, if this is an error response.
    pub fn error_code(&self) -> Option<i64> {
        self.error_code
    }

    /// Returns the response as JSON.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Returns the response as JSON.
    pub fn into_json(self) -> String {
        self.json
    }
}

/// A notification to the client.
#[derive(Debug, Clone, Serialize)]
pub struct Notification {
    jsonrpc: &'static str,
    /// The name of the event.
    pub method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
}

impl Notification {
    /// Creates a notification, optionally with `params`.
    pub fn new(method: &'static str, params: Option<Value>) -> Notification {
        Notification {
            jsonrpc: VERSION,
            method,
            params,
        }
    }

    /// Returns the notification as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // strings and JSON values can't fail
    }
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Error {
    /// An error code of JSON-RPC 2.0 or MCP.
    pub code: i64,
    /// A single line.
    pub message: String,
    /// Machine-readable details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl Error {
    fn new(code: i64, message: String) -> Error {
        Error {
            code,
            message,
            data: None,
        }
    }

    /// Creates the error `-32700`: the input isn't JSON.
    pub fn parse_error(message: impl Display) -> Error {
        Error::new(-32700, format!("parse error: {message}"))
    }

    /// Creates the error `-32600`: the JSON isn't a request.
    pub fn invalid_request(message: impl Display) -> Error {
        Error::new(-32600, format!("invalid request: {message}"))
    }

    /// Creates the error `-32602`: the params of a request are invalid.
    pub fn invalid_params(message: impl Display) -> Error {
        Error::new(-32602, format!("invalid params: {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Asserts that a line is rejected with this code, in a response to this id.
    #[track_caller]
    fn assert_rejected(line: impl AsRef<[u8]>, code: i64, id: impl Into<Value>) {
        let line = line.as_ref();
        let line_text = String::from_utf8_lossy(line);
        let response = Message::parse(line).expect_err(&line_text).into_json();
        let response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!(response["error"]["code"], code, "{line_text}");
        assert_eq!(response["id"], id.into(), "{line_text}");
    }

    fn parse(line: &str) -> Message {
        Message::parse(line.as_bytes()).unwrap()
    }

    fn array_of(element: &str, count: usize) -> String {
        format!("[{}]", vec![element; count].join(","))
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
            assert_rejected(line, -32700, Value::Null);
        }
        assert_rejected(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
            Value::Null,
        );
        assert_rejected("[".repeat(200), -32700, Value::Null);
    }

    #[test]
    fn a_number_that_no_float_can_hold_is_a_parse_error_with_the_id() {
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1e999}}"#;
        assert_rejected(line, -32700, 7);
    }

    #[test]
    fn a_byte_order_mark_is_ignored_and_half_an_emoji_is_the_replacement_character() {
        let line = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"\\udc00\":\"\\ud83d b\"}}";
        let Ok(Message::Request(request)) = Message::parse(line.as_bytes()) else {
            panic!("{line}");
        };
        assert_eq!(
            Value::Object(request.params),
            json!({"\u{fffd}": "\u{fffd} b"})
        );
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
            assert_rejected(line, -32600, Value::Null);
        }
        assert_rejected(r#"{"jsonrpc":"2.0","id":7}"#, -32600, 7);
        assert_rejected(r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, 7);
        assert_rejected(r#"{"jsonrpc":"2.0","method":5}"#, -32600, Value::Null);
        assert_rejected(r#"{"id":"a","method":"ping"}"#, -32600, "a");
        assert_rejected(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, "a");
        for id in ["1.5", "true", "{}", "[]", "null", "99999999999999999999"] {
            assert_rejected(
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
        for (right_member, wrong_member) in single.into_iter().zip(wrong) {
            for right_position in 0..4 {
                for wrong_position in 0..=right_position {
                    let mut members = single.to_vec();
                    members.retain(|member| *member != right_member);
                    members.insert(right_position, right_member);
                    members.insert(wrong_position, wrong_member);
                    let line = format!("{{{}}}", members.join(","));
                    let Message::Request(Request { id, method, params }) = parse(&line) else {
                        panic!("{line}")
                    };
                    assert_eq!(id, Id::Unsigned(7), "{line}");
                    assert_eq!(method, "ping", "{line}");
                    assert_eq!(params["a"], 2, "{line}");
                }
            }
        }
    }

    #[test]
    fn params_are_an_object_or_absent() {
        for params in ["[]", "[1]", "\"x\"", "5", "true"] {
            assert_rejected(
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#),
                -32602,
                1,
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
            let line = Response::result(&request.id, Json::serialize(&()).unwrap()).into_json();
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
            write_string(&mut json, &text);
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
        assert_rejected(array_of("5", 0), -32600, Value::Null);
        let Message::Batch(messages) = parse(&array_of("5", MAX_BATCH)) else {
            panic!("not a batch")
        };
        assert_eq!(messages.len(), MAX_BATCH);
        let too_long = array_of("5", MAX_BATCH + 1);
        assert_rejected(&too_long, -32600, Value::Null);
        let response = Message::parse(too_long.as_bytes()).unwrap_err();
        let message = "a batch must contain 1 to 1000 messages, but contains 1001";
        assert!(response.into_json().contains(message));
        assert_rejected(too_long.replace(']', ""), -32700, Value::Null);
    }

    #[test]
    fn a_response_is_one_line_and_leaves_out_what_it_does_not_have() {
        let line = Response::error_without_id(Error::invalid_request("a\nb\u{2028}")).into_json();
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"invalid request: a\\nb\u{2028}\"}}"
        );
    }

    #[test]
    fn a_line_is_nested_up_to_the_limit() {
        for (levels, is_valid) in [
            (MAX_NESTING, true),
            (MAX_NESTING + 1, false),
            (1_000_000, false),
        ] {
            let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            assert_eq!(parse_json::<Value>(&nested).is_ok(), is_valid, "{levels}");
        }
    }

    #[test]
    fn a_line_holds_values_up_to_the_limit() {
        for (element, most) in [
            ("0", MAX_VALUES),
            ("[]", MAX_VALUES / 2),
            (r#"{"a":0}"#, MAX_VALUES / 2),
            (r#"",[{\",""#, MAX_VALUES),
        ] {
            assert!(parse_json::<Value>(&array_of(element, most - 1)).is_ok());
            let line = format!(r#"{{"id":7,"x":{}}}"#, array_of(element, most + 1));
            let error = parse_json::<Value>(&line).unwrap_err().to_string();
            let message = "more than 100,000 values in one message";
            assert!(error.starts_with(message), "{error}");
            assert_rejected(line, -32700, 7);
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

    fn error_of_sample(text: &str) -> String {
        read_object::<Sample<'_>>(&parse_object(text))
            .err()
            .unwrap()
    }

    #[test]
    fn a_type_gets_the_last_member_of_each_name_at_every_depth_and_ignores_the_rest() {
        let object = parse_object(
            r#" {"text": 5, "unknown": [{}], "list": ["a"], "nested": {"number": "x", "number": -7, "number": 2},
                "map": {"a": 1, "b": "2", "c": null, "b": null, "a": "3"}, "te\u0078t": "last", "list": ["b", "c"]} "#,
        );
        let sample: Sample<'_> = read_object(&object).unwrap();
        assert_eq!(sample.text, "last");
        assert_eq!(sample.list, ["b", "c"]);
        assert_eq!(sample.nested.number, 2.0);
        let map = sample.map.unwrap();
        assert_eq!(map.len(), 3);
        assert_eq!(map["a"].as_deref(), Some("3"));
        assert_eq!(map["b"], None);
        assert_eq!(map["c"], None);
    }

    #[test]
    fn null_is_the_same_as_a_missing_optional_member_and_no_value_for_a_required_one() {
        let object = parse_object(r#"{"text": "", "optional": null, "map": null}"#);
        let sample: Sample<'_> = read_object(&object).unwrap();
        assert!(sample.optional.is_none() && sample.map.is_none());
        assert!(!sample.flag && sample.list.is_empty());
    }

    #[test]
    fn an_error_says_which_member_is_wrong_and_what_it_should_be() {
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
                r#"{"text": "", "nested": [1]}"#,
                "`nested` must be an object",
            ),
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
            assert_eq!(error_of_sample(text), message, "{text}");
        }
        let long_name = "x".repeat(100_000);
        let error = error_of_sample(&format!(r#"{{"text": "", "map": {{"{long_name}": 1}}}}"#));
        assert!(error.len() < 100, "{error}");
    }
}
