//! Reads the messages in the reply of a service.

use crate::prompt::{Diagnostic, Kind, MAX_MESSAGES, Message, Messages, Role};
use crate::wording::{printable, quoted, truncate_at_word, with_commas};
use serde::Deserialize;
use serde_json::Value;
use ureq::http::StatusCode;

/// The maximum number of characters to quote from a service's error message.
const MAX_REASON_CHARS: usize = 200;

/// The fix for a reply that is not a prompt.
const ASK_FOR_A_PROMPT: &str =
    "ask those who operate the service to answer with JSON that has `messages`, or with text";

/// The HTTP response of a server.
#[derive(Default)]
pub(in crate::sources) struct ServiceReply {
    pub(in crate::sources) status: StatusCode,
    /// The header `Content-Type`, or an empty string.
    pub(in crate::sources) content_type: String,
    /// The header `ETag`, or an empty string.
    pub(in crate::sources) tag: String,
    pub(in crate::sources) body: Vec<u8>,
}

/// The format of a reply's body, according to its `Content-Type`.
enum BodyFormat {
    Json,
    Text,
    Other,
}

/// A JSON reply: a text, or an object with messages.
#[derive(Deserialize)]
#[serde(untagged)]
enum JsonPrompt {
    Text(String),
    Object { messages: Vec<JsonMessage> },
}

#[derive(Deserialize)]
struct JsonMessage {
    role: JsonRole,
    content: JsonContent,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum JsonRole {
    User,
    Assistant,
    System,
}

/// The text of a message, in one of the three forms that services use.
#[derive(Deserialize)]
#[serde(untagged)]
enum JsonContent {
    Text(String),
    Block(TextBlock),
    /// As in the APIs of language models.
    OneBlock([TextBlock; 1]),
}

/// A content block of MCP with `"type": "text"`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum TextBlock {
    Text { text: String },
}

impl ServiceReply {
    /// Returns the messages in the reply. `mask` masks the secrets in a text of the service, before
    /// an error quotes it.
    ///
    /// # Errors
    /// The status is not 200, or the body is not a prompt.
    pub(super) fn messages(&self, mask: impl Fn(&str) -> String) -> Result<Messages, Diagnostic> {
        if self.status != StatusCode::OK {
            return Err(self.status_error(mask));
        }
        match self.parse_body(mask) {
            Ok(messages) => Ok(Messages {
                messages,
                attachments: Vec::new(),
            }),
            Err(content) => Err(Diagnostic::new(
                Kind::Service,
                format!(
                    "{}: not a prompt, but {content}",
                    status_clause(self.status)
                ),
                ASK_FOR_A_PROMPT,
            )),
        }
    }

    /// Parses the messages in the body.
    ///
    /// # Errors
    /// Returns what the body is instead, such as "a text that is not UTF-8".
    fn parse_body(&self, mask: impl Fn(&str) -> String) -> Result<Vec<Message>, String> {
        let Ok(text) = str::from_utf8(&self.body) else {
            return Err("a text that is not UTF-8".to_owned());
        };
        let json_messages = match self.body_format() {
            BodyFormat::Text => vec![user_message(text.to_owned())],
            BodyFormat::Json => parse_json_messages(text)?,
            BodyFormat::Other => {
                let content_type = quoted(&mask(&self.content_type));
                return Err(format!("content of the type {content_type}"));
            }
        };
        let messages = to_prompt_messages(json_messages);
        match messages.len() {
            0 => Err("an answer without text".to_owned()),
            1..=MAX_MESSAGES => Ok(messages),
            count => Err(format!(
                "{} messages, the limit is {}",
                with_commas(count),
                with_commas(MAX_MESSAGES)
            )),
        }
    }

    /// Returns the format of the body, judging by its content type alone.
    fn body_format(&self) -> BodyFormat {
        let content_type = self.content_type.to_ascii_lowercase();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if media_type == "text/plain" || media_type == "text/markdown" {
            BodyFormat::Text
        } else if media_type == "application/json" || media_type.ends_with("+json") {
            BodyFormat::Json
        } else {
            BodyFormat::Other
        }
    }

    /// Returns the error for a status other than 200. It quotes the service's own error message,
    /// with its secrets masked by `mask`.
    fn status_error(&self, mask: impl Fn(&str) -> String) -> Diagnostic {
        let mut message = status_clause(self.status);
        let reason = mask(self.error_message().unwrap_or_default().trim());
        let words: Vec<&str> = reason.split_whitespace().collect();
        if !words.is_empty() {
            message += ": ";
            message += &printable(&truncate_at_word(&words.join(" "), MAX_REASON_CHARS));
        }
        Diagnostic::new(Kind::Service, message, fix_for(self.status))
    }

    /// Returns the error message in a JSON body. It is looked for under several common keys; RFC
    /// 9457 defines `detail` and `title`.
    fn error_message(&self) -> Option<String> {
        let BodyFormat::Json = self.body_format() else {
            return None;
        };
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        if let Value::String(text) = body {
            return Some(text);
        }
        for key in ["detail", "message", "error", "title"] {
            let value = &body[key];
            if let Some(text) = value.as_str().or(value["message"].as_str()) {
                return Some(text.to_owned());
            }
        }
        None
    }
}

/// Returns the fix for a status other than 200.
fn fix_for(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..300 => ASK_FOR_A_PROMPT,
        300..400 => "correct the address of the service: no redirect is followed",
        401 | 403 => {
            "check the `headers` of the document in config.toml, and that what they name is still valid"
        }
        404 | 405 => "check that the document is of this version of the service, and its address",
        400 | 409 | 413..=415 | 422 => "correct the values of the arguments",
        429 | 500..600 => {
            "try again later, and if it stays like this, ask those who operate the service"
        }
        _ => "ask those who operate the service",
    }
}

/// Returns a clause such as `answered 404 Not Found`.
fn status_clause(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(name) => format!("answered {} {name}", status.as_u16()),
        None => format!("answered {}", status.as_u16()),
    }
}

fn user_message(text: String) -> JsonMessage {
    JsonMessage {
        role: JsonRole::User,
        content: JsonContent::Text(text),
    }
}

/// Parses a JSON body. A JSON string is a single message of the user.
fn parse_json_messages(json: &str) -> Result<Vec<JsonMessage>, String> {
    match serde_json::from_str(json) {
        Ok(JsonPrompt::Text(text)) => Ok(vec![user_message(text)]),
        Ok(JsonPrompt::Object { messages }) => Ok(messages),
        Err(_) => {
            Err("JSON without `messages` that have a `role` and a `content` of one text".to_owned())
        }
    }
}

impl JsonContent {
    fn into_text(self) -> String {
        match self {
            JsonContent::Text(text)
            | JsonContent::Block(TextBlock::Text { text })
            | JsonContent::OneBlock([TextBlock::Text { text }]) => text,
        }
    }
}

/// Converts messages of a service, and skips blank ones.
///
/// A prompt has no system messages, so their texts are prepended to the first user message. E.g.,
/// `system: Be short.` and `user: Ask.` become `user: Be short.\n\nAsk.`
fn to_prompt_messages(json_messages: Vec<JsonMessage>) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut system_texts = Vec::new();
    for message in json_messages {
        let text = message.content.into_text();
        if text.trim().is_empty() {
            continue;
        }
        match message.role {
            JsonRole::System => system_texts.push(text),
            JsonRole::User => messages.push(Message {
                role: Role::User,
                text,
            }),
            JsonRole::Assistant => messages.push(Message {
                role: Role::Assistant,
                text,
            }),
        }
    }
    if !system_texts.is_empty() {
        prepend_to_first_user_message(&mut messages, &system_texts.join("\n\n"));
    }
    messages
}

/// Prepends a text to the first user message. If there is none, inserts a user message at the
/// start.
fn prepend_to_first_user_message(messages: &mut Vec<Message>, text: &str) {
    for message in messages.iter_mut() {
        if message.role == Role::User {
            message.text = format!("{text}\n\n{}", message.text);
            return;
        }
    }
    let message = Message {
        role: Role::User,
        text: text.to_owned(),
    };
    messages.insert(0, message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the messages of a reply as lines such as `user: Ask.`, or the error.
    fn read_reply(status: u16, content_type: &str, body: &[u8]) -> Result<Vec<String>, String> {
        let reply = ServiceReply {
            status: StatusCode::from_u16(status).unwrap(),
            content_type: content_type.to_owned(),
            body: body.to_vec(),
            ..ServiceReply::default()
        };
        let messages = reply
            .messages(|text| text.replace("s3cret", "…"))
            .map_err(|error| error.to_string())?
            .messages;
        let lines = messages
            .iter()
            .map(|message| format!("{}: {}", message.role.name(), message.text));
        Ok(lines.collect())
    }

    fn read_json(body: &Value) -> Result<Vec<String>, String> {
        read_reply(200, "application/json", body.to_string().as_bytes())
    }

    fn message(role: &str, text: &str) -> Value {
        json!({ "role": role, "content": { "type": "text", "text": text } })
    }

    #[test]
    fn a_text_is_one_message_of_the_user() {
        for (content_type, body) in [
            ("text/plain", "# A\nb\n"),
            ("text/markdown; charset=UTF-8", "# A\nb\n"),
            ("TEXT/PLAIN;charset=\"utf-8\"", "# A\nb\n"),
            ("application/json", "\"# A\\nb\\n\""),
            ("application/json; charset=utf-8", " \"# A\\nb\\n\" "),
        ] {
            let messages = read_reply(200, content_type, body.as_bytes()).unwrap();
            assert_eq!(messages, ["user: # A\nb\n"], "{content_type}");
        }
    }

    #[test]
    fn messages_keep_their_roles_and_their_order() {
        let body = json!({ "description": "d", "messages": [
            message("user", "Ask."), message("assistant", ""), message("assistant", "Answer."),
            { "role": "user", "content": "More.", "name": "n" },
            { "role": "user", "content": [{ "type": "text", "text": "End." }] },
        ]});
        let messages = read_json(&body).unwrap();
        assert_eq!(
            messages,
            [
                "user: Ask.",
                "assistant: Answer.",
                "user: More.",
                "user: End."
            ]
        );
    }

    #[test]
    fn what_the_system_says_goes_to_the_front_of_the_first_message_of_the_user() {
        for (messages, merged) in [
            (
                vec![message("system", "S."), message("user", "U.")],
                vec!["user: S.\n\nU."],
            ),
            (
                vec![
                    message("assistant", "A."),
                    message("user", "U."),
                    message("system", "S."),
                    message("system", "T."),
                    message("user", "V."),
                ],
                vec!["assistant: A.", "user: S.\n\nT.\n\nU.", "user: V."],
            ),
            (
                vec![message("assistant", "A."), message("system", "S.")],
                vec!["user: S.", "assistant: A."],
            ),
            (vec![message("system", "S.")], vec!["user: S."]),
        ] {
            let body = json!({ "messages": messages });
            assert_eq!(read_json(&body).unwrap(), merged);
        }
    }

    #[test]
    fn json_that_is_no_prompt_is_refused_with_a_reason() {
        let block = json!({ "type": "text", "text": "A" });
        let two_blocks = json!({ "role": "user", "content": [block, block] });
        let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
        let no_messages = "JSON without `messages`";
        for (body, reason) in [
            (json!({ "prompt": "A" }), no_messages),
            (json!("  "), "without text"),
            (
                json!({ "messages": [message("user", ""), message("system", " ")] }),
                "without text",
            ),
            (json!({ "messages": [{ "content": "A" }] }), no_messages),
            (
                json!({ "messages": [two_blocks] }),
                "a `content` of one text",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": image }] }),
                "a `content` of one text",
            ),
            (json!({ "messages": [message("tool", "A")] }), no_messages),
        ] {
            let error = read_json(&body).unwrap_err();
            assert!(
                error.starts_with("answered 200 OK: not a prompt, but "),
                "{body}: {error}"
            );
            assert!(error.contains(reason), "{body}: {error}");
            assert!(error.ends_with(ASK_FOR_A_PROMPT), "{body}: {error}");
        }
    }

    #[test]
    fn a_body_that_is_neither_json_nor_text_is_refused_with_a_reason() {
        for (content_type, body, reason) in [
            (
                "text/html; charset=utf-8",
                &b"<html>"[..],
                "the type `text/html; charset=utf-8`",
            ),
            ("", b"A", "content of the type"),
            (
                "application/octet-stream",
                b"A",
                "the type `application/octet-stream`",
            ),
            ("text/plain", b" \n", "without text"),
            (
                "application/json",
                b"{\"messages\":[",
                "JSON without `messages`",
            ),
            ("text/s3cret\u{1b}", b"", "the type `text/…\\u{1b}`"),
            ("text/plain", b"\xff", "not UTF-8"),
        ] {
            let error = read_reply(200, content_type, body).unwrap_err();
            assert!(error.contains(reason), "{content_type}: {error}");
        }
    }

    #[test]
    fn the_number_of_messages_is_limited() {
        let most = json!({ "messages": vec![message("user", "A"); 1000] });
        assert_eq!(read_json(&most).unwrap().len(), 1000);
        let more = json!({ "messages": vec![message("user", "A"); 1001] });
        let error = read_json(&more).unwrap_err();
        assert!(
            error.contains("1,001 messages, the limit is 1,000"),
            "{error}"
        );
    }

    #[test]
    fn another_status_is_an_error_with_what_the_service_says() {
        for (status, body, start) in [
            (
                503,
                json!({ "error": "overloaded" }),
                "answered 503 Service Unavailable: overloaded; try again later",
            ),
            (
                404,
                json!({ "error": { "code": 1, "message": "gone" } }),
                "answered 404 Not Found: gone; check that",
            ),
            (
                422,
                json!({ "detail": "a\n\n b", "title": "t" }),
                "answered 422 Unprocessable Entity: a b; correct",
            ),
            (
                401,
                json!({ "message": "bad s3cret" }),
                "answered 401 Unauthorized: bad …; check the `headers` of the document in config.toml",
            ),
            (
                500,
                json!("\u{1b}[2J\u{202e}a"),
                "answered 500 Internal Server Error: \\u{1b}[2J\\u{202e}a; try",
            ),
            (
                400,
                json!({ "error": true, "message": "m" }),
                "answered 400 Bad Request: m; correct the values",
            ),
            (418, json!([1]), "answered 418 I'm a teapot; ask"),
            (
                201,
                json!({ "messages": [message("user", "A")] }),
                "answered 201 Created; ask",
            ),
            (599, json!("why"), "answered 599: why; try again later"),
            (
                304,
                json!(null),
                "answered 304 Not Modified; correct the address",
            ),
        ] {
            let body = body.to_string();
            let error =
                read_reply(status, "application/problem+json", body.as_bytes()).unwrap_err();
            assert!(error.starts_with(start), "{error}");
        }
    }

    #[test]
    fn only_a_short_reason_in_json_is_shown() {
        let html = read_reply(502, "text/html", b"{\"error\":\"<h1>\"}").unwrap_err();
        assert!(html.starts_with("answered 502 Bad Gateway; try"), "{html}");
        let long = json!({ "error": "x ".repeat(5000) }).to_string();
        let error = read_reply(500, "application/json", long.as_bytes()).unwrap_err();
        assert!(error.len() < 400, "{error}");
    }
}
