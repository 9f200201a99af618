//! Any bytes are the input of a session, and each of its lines gets what its text says: one answer,
//! or none. Frames have a property of their own.
//!
//! What a text says is read here a second time, as JSON-RPC and MCP have it. To which line an
//! answer belongs, a ping behind every line tells; without these pings the session must be the
//! same.

use super::stdio::served;
use prompt_expander::jsonrpc::MAX_BATCH;
use prompt_expander::library::Library;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

const PING: &str = r#"{"jsonrpc":"2.0","id":"so far","method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":"so far","result":{}}"#;

/// The text of `plain.md` before its `{{input}}`.
const PLAIN: &str = "# Plain\n\nSay this again, and no more:\n\n";

/// Serves the session to a library of the built-in prompts and those in a directory.
pub(super) fn check(session: &[u8], prompts: &Path) {
    let library = Arc::new(Library::named([prompts.to_owned()]).with_builtin());
    assert_eq!(library.view().problems(), []);
    let lines: Vec<&[u8]> = session.split(|&byte| byte == b'\n').collect();
    let begins_frame = |line: &&[u8]| {
        // Also after spaces, and after a byte order mark.
        let name = line
            .split(|byte| *byte == b':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        name.ends_with(b"content-length") || name.ends_with(b"content-type")
    };
    if lines.iter().any(begins_frame) {
        return;
    }
    let with_pings: Vec<u8> = lines
        .iter()
        .flat_map(|line| [*line, b"\n", PING.as_bytes(), b"\n"].concat())
        .collect();
    let written = served(&library, &with_pings);
    assert!(written.ends_with('\n'));

    let mut written = written.split_terminator('\n');
    let mut answers = Vec::new();
    let mut has_batches = false;
    for (index, line) in lines.into_iter().enumerate() {
        // Spaces around a line are none of it, and neither is a byte order mark before the first.
        let line = if index == 0 {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
        } else {
            line
        };
        let expected = Expected::of(line.trim_ascii(), has_batches);
        let mut answer = written
            .next()
            .expect("the ping is answered, whatever was before it");
        let is_answered = match expected {
            Expected::Nothing => false,
            Expected::Answer(_) | Expected::Answers(_) => true,
            Expected::Unknown => answer != PONG,
        };
        if is_answered {
            has_batches = expected
                .holds(&json(answer))
                .map_or(has_batches, |version| version == "2025-03-26");
            answers.push(answer);
            answer = written
                .next()
                .expect("the ping is answered, whatever was before it");
        }
        assert_eq!(answer, PONG, "behind {:?}", String::from_utf8_lossy(line));
    }
    assert_eq!(written.next(), None);

    // A last line is served without a line end too.
    let without_pings = served(&library, &[session, b"\n", PING.as_bytes()].concat());
    assert_eq!(
        Vec::from_iter(without_pings.split_terminator('\n')),
        [answers, vec![PONG]].concat()
    );
}

/// What must come of a line.
enum Expected {
    Nothing,
    Answer(Said),
    /// An array, an answer for each.
    Answers(Vec<Said>),
    /// An object has a member twice, which JSON leaves open: an answer, or none.
    Unknown,
}

/// What a message says that wants an answer.
struct Said {
    /// `null` where there is none to read.
    id: Value,
    /// `None`: it is no request.
    method: Option<String>,
    params: Value,
}

impl Expected {
    fn of(line: &[u8], has_batches: bool) -> Expected {
        let refused = |id| {
            Expected::Answer(Said {
                id,
                method: None,
                params: Value::Null,
            })
        };
        if line.is_empty() {
            return Expected::Nothing;
        }
        let Ok(line) = str::from_utf8(line) else {
            return refused(Value::Null);
        };
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        match serde_json::from_str(line) {
            // It may hold half of a character, which is repaired.
            Err(_) if is_well_formed(line) && line.to_ascii_lowercase().contains("\\ud") => {
                Expected::Unknown
            }
            // It may be well formed all the same, and hold a number that is too large.
            Err(_)
                if is_well_formed(line) && line.starts_with('{') && Members::of(line).is_none() =>
            {
                Expected::Unknown
            }
            Err(_) => match Members::of(line).map(|members| (members.message(), members.id())) {
                // The value that cannot be read is in a member that JSON-RPC does not have.
                Some((Some(message), _)) => {
                    Said::of(&message).map_or(Expected::Nothing, Expected::Answer)
                }
                members => refused(members.and_then(|(_, id)| id).unwrap_or_default()),
            },
            Ok(_) if !is_unambiguous(line) => Expected::Unknown,
            Ok(Value::Array(messages))
                if has_batches && (1..=MAX_BATCH).contains(&messages.len()) =>
            {
                let answers: Vec<Said> = messages.iter().filter_map(Said::of).collect();
                if answers.is_empty() {
                    Expected::Nothing
                } else {
                    Expected::Answers(answers)
                }
            }
            Ok(message) => Said::of(&message).map_or(Expected::Nothing, Expected::Answer),
        }
    }

    /// The answer is one; the revision that it settles, if it does.
    fn holds<'a>(&self, answer: &'a Value) -> Option<&'a str> {
        match self {
            Expected::Answer(said) => said.is_answered_by(answer),
            Expected::Answers(all) => {
                let answers = answer.as_array().expect("the answer to a batch is one");
                assert_eq!(answers.len(), all.len(), "{answer}");
                all.iter()
                    .zip(answers)
                    .for_each(|(said, answer)| said.is_answered_by(answer));
            }
            Expected::Nothing | Expected::Unknown => {}
        }
        answer["result"]["protocolVersion"].as_str()
    }
}

impl Said {
    /// `None`: the message wants no answer.
    fn of(message: &Value) -> Option<Said> {
        let has = |key| message.get(key).is_some();
        let is_notification = message["method"].is_string() && !has("id");
        let is_response = !has("method") && (has("result") || has("error"));
        if is_notification || is_response {
            return None;
        }
        let id = message.get("id").filter(|id| is_id(id)).cloned();
        let fits = message["jsonrpc"] == "2.0"
            && (message["params"].is_null() || message["params"].is_object());
        let method = message["method"]
            .as_str()
            .filter(|_| fits && id.is_some())
            .map(str::to_owned);
        Some(Said {
            id: id.unwrap_or(Value::Null),
            method,
            params: message["params"].clone(),
        })
    }

    /// The input, where it asks for nothing but the expansion of `plain.md`.
    fn input_of_plain(&self) -> Option<&str> {
        let arguments = &self.params["arguments"];
        let is_plain = self.params["name"] == "expand_prompt" && arguments["command"] == "plain";
        arguments["input"]
            .as_str()
            .filter(|_| is_plain && arguments.get("arguments").is_none())
    }

    fn is_answered_by(&self, answer: &Value) {
        let mut members: Vec<&str> = answer
            .as_object()
            .expect("an answer is an object")
            .keys()
            .map(String::as_str)
            .collect();
        members.sort_unstable();
        assert_eq!(answer["jsonrpc"], "2.0");
        match members.as_slice() {
            // What stays open is only acknowledged.
            ["jsonrpc", "method", "params"] => {
                assert_eq!(self.method.as_deref(), Some("subscriptions/listen"));
                assert_eq!(answer["method"], "notifications/subscriptions/acknowledged");
                assert_eq!(
                    answer["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
                    self.id
                );
            }
            ["id", "jsonrpc", "result"] => {
                assert!(
                    answer["result"].is_object() && self.method.is_some(),
                    "{answer}"
                );
                assert_ne!(self.method.as_deref(), Some("subscriptions/listen"));
                assert_eq!(answer["id"], self.id);
                // What a tool gives is there twice, once as a text.
                if let Some(structured) = answer["result"].get("structuredContent") {
                    let text = answer["result"]["content"][0]["text"]
                        .as_str()
                        .expect("a tool gives text");
                    assert_eq!(json(text), *structured);
                    if let Some(input) = self.input_of_plain() {
                        assert_eq!(structured["prompt"], [PLAIN, input].concat());
                    }
                }
            }
            ["error", "id", "jsonrpc"] => {
                assert_eq!(answer["id"], self.id);
                let (code, message) = (
                    answer["error"]["code"].as_i64(),
                    answer["error"]["message"].as_str(),
                );
                let message = message.expect("an error has a message");
                assert!(
                    !message.is_empty() && !message.contains('\n'),
                    "{message:?}"
                );
                assert!(
                    !message.starts_with("internal error"),
                    "a fault of ours: {message}"
                );
                let is_refused = code.is_some_and(|code| [-32700, -32600, -32602].contains(&code));
                assert!(
                    if self.method.is_some() {
                        code.is_some()
                    } else {
                        is_refused
                    },
                    "{answer}"
                );
            }
            other => panic!("an answer has the members {other:?}"),
        }
    }
}

/// What is written is one JSON value, in which nothing is said twice, without spaces between its
/// parts.
fn json(text: &str) -> Value {
    let mut in_string = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' => _ = bytes.next(),
            _ => assert!(
                in_string || !byte.is_ascii_whitespace(),
                "not compact: {text}"
            ),
        }
    }
    assert!(is_unambiguous(text), "{text}");
    serde_json::from_str(text).unwrap()
}

/// Whether it is JSON by its grammar alone.
fn is_well_formed(json: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(json).is_ok()
}

fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

/// Whether no object in this JSON has a member twice.
fn is_unambiguous(json: &str) -> bool {
    let is_unambiguous = |json: &&RawValue| is_unambiguous(json.get());
    match json.trim_ascii_start().as_bytes() {
        [b'{', ..] => {
            Members::of(json).is_some_and(|members| members.0.values().all(is_unambiguous))
        }
        [b'[', ..] => serde_json::from_str(json)
            .is_ok_and(|list: Vec<&RawValue>| list.iter().all(is_unambiguous)),
        _ => true,
    }
}

/// The members of an object, as they are written.
struct Members<'j>(HashMap<String, &'j RawValue>);

impl<'j> Members<'j> {
    /// `None` where it is no object, or has a member twice.
    fn of(json: &'j str) -> Option<Members<'j>> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let members = deserializer.deserialize_map(Members(HashMap::new())).ok()?;
        deserializer.end().is_ok().then_some(members)
    }

    fn id(&self) -> Option<Value> {
        serde_json::from_str(self.0.get("id")?.get())
            .ok()
            .filter(is_id)
    }

    /// The members that JSON-RPC has; `None` if one of them cannot be read.
    fn message(&self) -> Option<Value> {
        let known = ["jsonrpc", "id", "method", "params", "result", "error"];
        let members = known
            .iter()
            .filter_map(|name| Some(format!("{name:?}:{}", self.0.get(*name)?)));
        serde_json::from_str(&format!("{{{}}}", Vec::from_iter(members).join(","))).ok()
    }
}

impl<'j> Visitor<'j> for Members<'j> {
    type Value = Members<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(mut self, mut members: A) -> Result<Members<'j>, A::Error> {
        while let Some((name, value)) = members.next_entry()? {
            if self.0.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is there twice"));
            }
        }
        Ok(self)
    }
}
