//! JSON-RPC 2.0: bytes become a [`Message`]; a [`Response`] or a [`Notification`] becomes JSON.
//! Nothing here knows of MCP.
//!
//! Where MCP is stricter than JSON-RPC, the stricter rule holds: an id is a string or an integer
//! and never null, `params` is an object.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use crate::input;
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

/// Writes the id as JSON.
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
    /// Parses one line, without its line ending.
    ///
    /// # Errors
    /// The response to an invalid line: `-32700` if it is not JSON in UTF-8, or exceeds
    /// [`MAX_VALUES`] or [`MAX_NESTING`]; `-32600` if it is not a message; `-32602` if `params` are
    /// not an object.
    pub fn parse(line: &[u8]) -> Result<Message, Response> {
        let text = parse_utf8(line)?;
        // Most lines are one object, which needs no `Value` around it.
        if text.starts_with('{')
            && let Ok(members) = parse_json::<Members>(text)
        {
            return members.into_message();
        }
        // The others are a batch, an object with two members of one name, or invalid.
        match parse_json(text) {
            Ok(Value::Array(messages)) => Message::batch(messages),
            Ok(message) => Message::from_value(message),
            Err(error) => {
                let id = id_of_refused_line(text);
                Err(Response::error(id.as_ref(), Error::parse_error(error)))
            }
        }
    }

    /// Reads a message of a batch.
    ///
    /// # Errors
    /// Those of [`Message::parse`].
    pub fn from_value(message: Value) -> Result<Message, Response> {
        // serde would read the elements of an array as the members.
        if message.is_object()
            && let Ok(members) = Members::deserialize(message)
        {
            return members.into_message();
        }
        let error = Error::invalid_request("a message must be a JSON object");
        Err(Response::error(None, error))
    }

    /// Returns a batch of these messages.
    ///
    /// # Errors
    /// The response to an empty batch, or to one of more than [`MAX_BATCH`] messages.
    fn batch(messages: Vec<Value>) -> Result<Message, Response> {
        let count = messages.len();
        if (1..=MAX_BATCH).contains(&count) {
            return Ok(Message::Batch(messages));
        }
        let message = format!("a batch must hold 1 to {MAX_BATCH} messages, and holds {count}");
        Err(Response::error(None, Error::invalid_request(message)))
    }

    /// Returns the id of a request; other messages have none.
    pub fn id(&self) -> Option<Id> {
        match self {
            Message::Request(request) => Some(request.id.clone()),
            _ => None,
        }
    }
}

/// Returns the text of a line, or the response that says from which byte on the line is not UTF-8.
fn parse_utf8(line: &[u8]) -> Result<&str, Response> {
    str::from_utf8(line).map_err(|error| {
        let byte = error.valid_up_to() + 1;
        let message = format!("not UTF-8 from byte {byte} of the line on");
        Response::error(None, Error::parse_error(message))
    })
}

/// The members that tell which message an object is, each with any value.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    #[serde(deserialize_with = "read_even_if_null")]
    jsonrpc: Option<Value>,
    #[serde(deserialize_with = "read_even_if_null")]
    id: Option<Value>,
    #[serde(deserialize_with = "read_even_if_null")]
    method: Option<Value>,
    params: Option<Value>,
    #[serde(deserialize_with = "read_even_if_null")]
    result: Option<Value>,
    #[serde(deserialize_with = "read_even_if_null")]
    error: Option<Value>,
}

/// Reads a member for which `null` differs from a missing member: `"id": null` is `Some(Null)`.
pub(crate) fn read_even_if_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Members {
    /// Returns the message with these members.
    ///
    /// It is a response if it has a `result` or an `error` and no `method`, a notification if it
    /// has a `method` and no `id`, and otherwise a request.
    ///
    /// # Errors
    /// Those of [`Members::into_request`].
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

    /// Returns the request with these members.
    ///
    /// # Errors
    /// The response that says which member is missing or wrong.
    fn into_request(self) -> Result<Request, Response> {
        let Some(Ok(id)) = self.id.map(Id::deserialize) else {
            let error = Error::invalid_request("`id` must be a string or an integer");
            return Err(Response::error(None, error));
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

/// Returns the params of a message: an empty object if it has none, and `None` if they are not an
/// object.
fn params_object(params: Option<Value>) -> Option<Object> {
    match params {
        None => Some(Object::new()),
        Some(Value::Object(params)) => Some(params),
        Some(_) => None,
    }
}

/// Returns the id of a line that is refused although its syntax is valid, for example because it
/// has too many values.
fn id_of_refused_line(text: &str) -> Option<Id> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: Id,
    }
    let members: OnlyId = serde_json::from_str(text).ok()?;
    Some(members.id)
}

/// Parses JSON with at most [`MAX_VALUES`] values.
pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if has_too_many_values(text) {
        let limit = thousands(MAX_VALUES);
        let message = format!("more than {limit} values in one message; send several requests");
        return Err(serde::de::Error::custom(message));
    }
    input::parse_json(text)
}

/// Returns whether JSON has more than [`MAX_VALUES`] values.
///
/// A `[`, a `{` or a `,` precedes each value but the first, so these are counted: at first quickly,
/// and only if that gives too many, again without those in strings.
fn has_too_many_values(text: &str) -> bool {
    let mut count = 0;
    for byte in [b'[', b'{', b','] {
        count += memchr::memchr_iter(byte, text.as_bytes()).count();
    }
    count > MAX_VALUES && count_outside_strings(text) > MAX_VALUES
}

/// Counts the `[`, `{` and `,` of JSON that are not in strings. JSON has at most one value more
/// than these: `[1,{"a":2}]` has three of them and four values.
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

/// Reads an object as the type `T`. Members that `T` does not have are ignored.
///
/// # Errors
/// A message about the first wrong member: "`list[1]` must be a string", "`text` is missing".
pub(crate) fn read<'o, T: Deserialize<'o>>(object: &'o Object) -> Result<T, String> {
    // Only an error needs the path of the member, and tracking it takes longer than the rest.
    match T::deserialize(object) {
        Ok(value) => Ok(value),
        Err(_) => serde_path_to_error::deserialize(object).map_err(mismatch_message),
    }
}

/// Returns a message about the member that has another type or is missing: "`arguments.name` must
/// be a string", "`ref.type` is missing".
fn mismatch_message(error: serde_path_to_error::Error<serde_json::Error>) -> String {
    let mut path = error.path().to_string();
    if error.path().iter().len() == 0 {
        path.clear(); // it is `.` for the whole object
    }
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

/// Returns the name of a type in JSON for its name in a message of serde: `an object` for `a map`.
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

/// Reads a whole number, 1 or more; `None` for `null`. It may be written as `5.0`, since some
/// clients write every number as a float.
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
    /// Returns the JSON of a value, written by serde_json.
    ///
    /// # Errors
    /// The value cannot be serialized.
    pub(crate) fn serialize(value: &impl Serialize) -> serde_json::Result<Json> {
        serde_json::to_string(value).map(Json)
    }

    /// Wraps a text that is the JSON of one value already.
    pub(crate) fn from_text(json: String) -> Json {
        Json(json)
    }

    /// Returns this object with further members at its end. `members` is JSON without the braces,
    /// such as `"a":1,"b":2`.
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

    /// Returns the JSON as a text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the members of this object as JSON without the braces, such as `"a":1,"b":2`.
    pub(crate) fn members(&self) -> &str {
        let without_start = self.0.strip_prefix('{').unwrap_or_default();
        without_start.strip_suffix('}').unwrap_or_default()
    }
}

/// Appends an object whose members are texts: `{"type":"text","text":"a"}`.
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

/// Appends a text as a JSON string, with the escapes of serde_json: `"a\nb"` for a text of two
/// lines.
///
/// serde_json escapes one byte after the other, which took most of the time of a list, and a tenth
/// of the time of an expansion. This function searches eight bytes at once.
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

/// Appends the escape for a character that a JSON string cannot contain as it is: `\"` for a quote.
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

/// Returns the position of the first byte that a JSON string cannot contain as it is: a quote, a
/// backslash or a control character.
fn find_byte_to_escape(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let marks = mark_bytes_to_escape(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(8 * index + marks.trailing_zeros() as usize / 8);
        }
    }
    let position = rest.iter().position(|byte| must_be_escaped(*byte))?;
    Some(text.len() - rest.len() + position)
}

fn must_be_escaped(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\')
}

/// A word in which each of the eight bytes is 1.
const EACH_BYTE: u64 = u64::from_le_bytes([1; 8]);

/// Returns a word in which the highest bit of the first byte that must be escaped is set, and no
/// bit before it. The bits after it mean nothing; see [`mark_bytes_below`].
fn mark_bytes_to_escape(word: u64) -> u64 {
    // In these, a byte is 0 where the word has a quote or a backslash.
    let quotes_as_zero = word ^ (EACH_BYTE * u64::from(b'"'));
    let backslashes_as_zero = word ^ (EACH_BYTE * u64::from(b'\\'));
    mark_bytes_below(0x20, word)
        | mark_bytes_below(1, quotes_as_zero)
        | mark_bytes_below(1, backslashes_as_zero)
}

/// Returns a word in which the highest bit of the first byte less than `limit` is set, and no bit
/// before it. `limit` is at most 128.
///
/// Subtracting `limit` sets the highest bit of a smaller byte, because it borrows from the next
/// byte. `!word` excludes bytes whose highest bit was set before. The borrow may also mark later
/// bytes falsely, so only the first mark counts.
fn mark_bytes_below(limit: u64, word: u64) -> u64 {
    word.wrapping_sub(EACH_BYTE * limit) & !word & (EACH_BYTE << 7)
}

/// The response to a request, or to a batch.
#[derive(Debug)]
pub struct Response {
    json: String,
    error_code: Option<i64>,
}

impl Response {
    /// Creates a response with a result.
    pub fn result(id: &Id, result: Json) -> Response {
        let start = format!("{{\"jsonrpc\":\"{VERSION}\",\"id\":{id},\"result\":");
        // A result may be long, so it is not copied into another text.
        let mut json = result.0;
        json.insert_str(0, &start);
        json.push('}');
        Response {
            json,
            error_code: None,
        }
    }

    /// Creates a response with an error. `id` is the id of the request, or `None` if it cannot be
    /// read.
    pub fn error(id: Option<&Id>, error: Error) -> Response {
        let json = json!({ "jsonrpc": VERSION, "id": id, "error": error }).to_string();
        Response {
            json,
            error_code: Some(error.code),
        }
    }

    /// Creates the response to a batch from the responses to its messages, in their order.
    pub fn batch(responses: &[Response]) -> Response {
        let responses: Vec<&str> = responses.iter().map(Response::as_json).collect();
        Response {
            json: format!("[{}]", responses.join(",")),
            error_code: None,
        }
    }

    /// Returns the code of the error, if this is a response with an error.
    pub fn error_code(&self) -> Option<i64> {
        self.error_code
    }

    /// Returns the whole response as JSON.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Returns the whole response as JSON.
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
    /// Creates a notification; `params` are left out if there are none.
    pub fn new(method: &'static str, params: Option<Value>) -> Notification {
        Notification {
            jsonrpc: VERSION,
            method,
            params,
        }
    }

    /// Returns the whole notification as JSON.
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
    fn new(code: i64, message: String) -> Error {
        Error {
            code,
            message,
            data: None,
        }
    }

    /// Creates the error `-32700`: not JSON.
    pub fn parse_error(message: impl Display) -> Error {
        Error::new(-32700, format!("parse error: {message}"))
    }

    /// Creates the error `-32600`: JSON, but not a request.
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

    /// Asserts that a line is refused with this code, in a response to this id.
    #[track_caller]
    fn assert_refused(line: impl AsRef<[u8]>, code: i64, id: impl Into<Value>) {
        let line = line.as_ref();
        let shown = String::from_utf8_lossy(line);
        let response = Message::parse(line).expect_err(&shown).into_json();
        let response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!(response["error"]["code"], code, "{shown}");
        assert_eq!(response["id"], id.into(), "{shown}");
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
            assert_refused(line, -32700, Value::Null);
        }
        assert_refused([0xff, 0xfe], -32700, Value::Null);
        assert_refused(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
            Value::Null,
        );
        assert_refused("[".repeat(200), -32700, Value::Null);
    }

    #[test]
    fn a_number_that_no_float_can_hold_is_a_parse_error_with_the_id() {
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1e999}}"#;
        assert_refused(line, -32700, 7);
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
            assert_refused(line, -32600, Value::Null);
        }
        assert_refused(r#"{"jsonrpc":"2.0","id":7}"#, -32600, 7);
        assert_refused(r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, 7);
        assert_refused(r#"{"jsonrpc":"2.0","method":5}"#, -32600, Value::Null);
        assert_refused(r#"{"id":"a","method":"ping"}"#, -32600, "a");
        assert_refused(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, "a");
        for id in ["1.5", "true", "{}", "[]", "null", "99999999999999999999"] {
            assert_refused(
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
            assert_refused(
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
        assert_refused(array_of("5", 0), -32600, Value::Null);
        let Message::Batch(messages) = parse(&array_of("5", MAX_BATCH)) else {
            panic!("not a batch")
        };
        assert_eq!(messages.len(), MAX_BATCH);
        let too_long = array_of("5", MAX_BATCH + 1);
        assert_refused(&too_long, -32600, Value::Null);
        let response = Message::parse(too_long.as_bytes()).unwrap_err();
        let message = "a batch must hold 1 to 1000 messages, and holds 1001";
        assert!(response.into_json().contains(message));
        assert_refused(too_long.replace(']', ""), -32700, Value::Null);
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
            assert_refused(line, -32700, 7);
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
        read::<Sample<'_>>(&parse_object(text)).err().unwrap()
    }

    #[test]
    fn a_type_gets_the_last_member_of_each_name_at_every_depth_and_ignores_the_rest() {
        let object = parse_object(
            r#" {"text": 5, "unknown": [{}], "list": ["a"], "nested": {"number": "x", "number": -7, "number": 2},
                "map": {"a": 1, "b": "2", "c": null, "b": null, "a": "3"}, "te\u0078t": "last", "list": ["b", "c"]} "#,
        );
        let sample: Sample<'_> = read(&object).unwrap();
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
        let sample: Sample<'_> = read(&object).unwrap();
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
