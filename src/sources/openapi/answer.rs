//! From the answer of a service to messages.

use crate::prompt::{Diagnostic, Kind, MAX_MESSAGES, Message, Messages, Role};
use crate::wording::{printable, quoted, shortened, thousands};
use serde::Deserialize;
use serde_json::Value;
use ureq::http::StatusCode;

/// How much of what a service says about an error is shown, in characters.
const MAX_REASON: usize = 200;

/// What a service answers.
#[derive(Default)]
pub(in crate::sources) struct Answer {
    pub(in crate::sources) status: StatusCode,
    /// The header `Content-Type`; empty if there is none.
    pub(in crate::sources) content_type: String,
    /// The same of `ETag`.
    pub(in crate::sources) tag: String,
    pub(in crate::sources) body: Vec<u8>,
}

/// A text, or an object that has messages.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answered {
    Text(String),
    Object { messages: Vec<AnsweredMessage> },
}

#[derive(Deserialize)]
struct AnsweredMessage {
    role: AnsweredRole,
    content: AnsweredContent,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AnsweredRole {
    User,
    Assistant,
    System,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnsweredContent {
    Text(String),
    Block(Block),
    /// As in the APIs of models.
    OneBlock([Block; 1]),
}

/// A content block, as the protocol has it.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Block {
    Text { text: String },
}

const ASK_FOR_A_PROMPT: &str =
    "ask those who operate the service to answer with JSON that has `messages`, or with text";

impl Answer {
    /// The messages of an answer: those of a JSON object, or one with a text. `conceal` removes
    /// what is secret from a text of the service.
    ///
    /// # Errors
    /// It is not a prompt.
    pub(super) fn messages(
        &self,
        conceal: impl Fn(&str) -> String,
    ) -> Result<Messages, Diagnostic> {
        if self.status != StatusCode::OK {
            return Err(self.refusal(conceal));
        }
        let one = |text| {
            vec![AnsweredMessage {
                role: AnsweredRole::User,
                content: AnsweredContent::Text(text),
            }]
        };
        let messages = match str::from_utf8(&self.body) {
            Err(_) => Err("a text that is not UTF-8".to_owned()),
            Ok(text) => match self.is_json() {
                None => Err(format!(
                    "content of the type {}",
                    quoted(&conceal(&self.content_type))
                )),
                Some(false) => Ok(one(text.to_owned())),
                Some(true) => match serde_json::from_str(text) {
                    Ok(Answered::Text(text)) => Ok(one(text)),
                    Ok(Answered::Object { messages }) => Ok(messages),
                    Err(_) => Err(
                        "JSON without `messages` that have a `role` and a `content` of one text"
                            .to_owned(),
                    ),
                },
            },
        };
        let messages = messages
            .map(messages_of)
            .and_then(|messages| match messages.len() {
                0 => Err("an answer without text".to_owned()),
                1..=MAX_MESSAGES => Ok(Messages {
                    messages,
                    attachments: Vec::new(),
                }),
                number => Err(format!(
                    "{} messages, the limit is {}",
                    thousands(number),
                    thousands(MAX_MESSAGES)
                )),
            });
        messages.map_err(|why| {
            let message = format!("{}: not a prompt, but {why}", answered(self.status));
            Diagnostic::new(Kind::Service, message, ASK_FOR_A_PROMPT)
        })
    }

    /// Whether the body is JSON (`true`) or text (`false`); `None` if it is neither.
    fn is_json(&self) -> Option<bool> {
        let media_type = self
            .content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match media_type.as_str() {
            "text/plain" | "text/markdown" => Some(false),
            other if other == "application/json" || other.ends_with("+json") => Some(true),
            _ => None,
        }
    }

    /// The diagnostic for a status other than 200.
    fn refusal(&self, conceal: impl Fn(&str) -> String) -> Diagnostic {
        let fix = match self.status.as_u16() {
            200..300 => ASK_FOR_A_PROMPT,
            300..400 => "correct the address of the service: no redirect is followed",
            401 | 403 => "check --openapi-header, and that what it names is still valid",
            404 | 405 => {
                "check that the document is of this version of the service, and its address"
            }
            400 | 409 | 413..=415 | 422 => "correct the values of the arguments",
            429 | 500..600 => {
                "try again later, and if it stays like this, ask those who operate the service"
            }
            _ => "ask those who operate the service",
        };
        let value = || {
            serde_json::from_slice::<Value>(&self.body)
                .ok()
                .filter(|_| self.is_json() == Some(true))
        };
        let reason = value()
            .as_ref()
            .and_then(reason)
            .map(|reason| conceal(reason.trim()))
            .unwrap_or_default();
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let separator = if reason.is_empty() { "" } else { ": " };
        let reason = printable(&shortened(&reason, MAX_REASON));
        Diagnostic::new(
            Kind::Service,
            format!("{}{separator}{reason}", answered(self.status)),
            fix,
        )
    }
}

/// What the service did, as a clause: `answered 404 Not Found`.
pub(super) fn answered(status: StatusCode) -> String {
    let name = status
        .canonical_reason()
        .map(|name| format!(" {name}"))
        .unwrap_or_default();
    format!("answered {}{name}", status.as_u16())
}

/// The text in which a service says why it refuses: of the common keys the first (RFC 9457 has
/// `detail` and `title`).
fn reason(value: &Value) -> Option<&str> {
    let of_key = |key: &str| match value.get(key)? {
        Value::Object(inner) => inner.get("message")?.as_str(),
        text => text.as_str(),
    };
    value.as_str().or_else(|| {
        ["detail", "message", "error", "title"]
            .into_iter()
            .find_map(of_key)
    })
}

/// The messages as they are, without empty ones. Messages of the system become the beginning of the
/// first message of the user.
fn messages_of(answered: Vec<AnsweredMessage>) -> Vec<Message> {
    let (mut messages, mut of_system) = (Vec::new(), Vec::new());
    for AnsweredMessage { role, content } in answered {
        let text = match content {
            AnsweredContent::Text(text)
            | AnsweredContent::Block(Block::Text { text })
            | AnsweredContent::OneBlock([Block::Text { text }]) => text,
        };
        match role {
            _ if text.trim().is_empty() => {}
            AnsweredRole::User => messages.push(Message {
                role: Role::User,
                text,
            }),
            AnsweredRole::Assistant => messages.push(Message {
                role: Role::Assistant,
                text,
            }),
            AnsweredRole::System => of_system.push(text),
        }
    }
    if !of_system.is_empty() {
        match messages
            .iter_mut()
            .find(|message| message.role == Role::User)
        {
            Some(first) => {
                of_system.push(std::mem::take(&mut first.text));
                first.text = of_system.join("\n\n");
            }
            None => messages.insert(
                0,
                Message {
                    role: Role::User,
                    text: of_system.join("\n\n"),
                },
            ),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(status: u16, content_type: &str, body: &[u8]) -> Result<Messages, String> {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer {
            status,
            content_type: content_type.to_owned(),
            body: body.to_vec(),
            ..Answer::default()
        };
        let messages = answer.messages(|text| text.replace("s3cret", "…"));
        messages.map_err(|why| why.to_string())
    }

    fn json(body: &Value) -> Result<Messages, String> {
        answer(200, "application/json", body.to_string().as_bytes())
    }

    /// The messages of an answer as pairs.
    fn pairs(messages: Result<Messages, String>) -> Vec<(&'static str, String)> {
        let messages = messages.unwrap().messages;
        messages
            .into_iter()
            .map(|message| (message.role.name(), message.text))
            .collect()
    }

    fn text(role: &str, text: &str) -> Value {
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
            assert_eq!(
                pairs(answer(200, content_type, body.as_bytes())),
                [("user", "# A\nb\n".to_owned())],
                "{content_type}"
            );
        }
    }

    #[test]
    fn messages_keep_their_roles_and_their_order() {
        let body = json!({ "description": "d", "messages": [
            text("user", "Ask."), text("assistant", ""), text("assistant", "Answer."),
            { "role": "user", "content": "More.", "name": "n" },
            { "role": "user", "content": [{ "type": "text", "text": "End." }] },
        ]});
        let want = [
            ("user", "Ask."),
            ("assistant", "Answer."),
            ("user", "More."),
            ("user", "End."),
        ];
        assert_eq!(
            pairs(json(&body)),
            want.map(|(role, text)| (role, text.to_owned()))
        );
    }

    #[test]
    fn what_the_system_says_goes_to_the_front_of_the_first_message_of_the_user() {
        for (messages, want) in [
            (
                vec![text("system", "S."), text("user", "U.")],
                vec![("user", "S.\n\nU.")],
            ),
            (
                vec![
                    text("assistant", "A."),
                    text("user", "U."),
                    text("system", "S."),
                    text("system", "T."),
                    text("user", "V."),
                ],
                vec![
                    ("assistant", "A."),
                    ("user", "S.\n\nT.\n\nU."),
                    ("user", "V."),
                ],
            ),
            (
                vec![text("assistant", "A."), text("system", "S.")],
                vec![("user", "S."), ("assistant", "A.")],
            ),
            (vec![text("system", "S.")], vec![("user", "S.")]),
        ] {
            let want: Vec<(&str, String)> = want
                .into_iter()
                .map(|(role, text)| (role, text.to_owned()))
                .collect();
            assert_eq!(pairs(json(&json!({ "messages": messages }))), want);
        }
    }

    #[test]
    fn what_is_no_prompt_is_refused_with_a_reason() {
        let messages =
            |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
        let text_block = json!({ "type": "text", "text": "A" });
        for (body, why) in [
            (json!({ "prompt": "A" }), "JSON without `messages`"),
            (json!("  "), "without text"),
            (
                json!({ "messages": [text("user", ""), text("system", " ")] }),
                "without text",
            ),
            (
                json!({ "messages": [{ "content": "A" }] }),
                "JSON without `messages`",
            ),
            (
                messages(json!([text_block, text_block])),
                "a `content` of one text",
            ),
            (
                messages(json!({ "type": "image", "data": "", "mimeType": "image/png" })),
                "a `content` of one text",
            ),
            (
                json!({ "messages": [text("tool", "A")] }),
                "JSON without `messages`",
            ),
        ] {
            let error = json(&body).unwrap_err();
            assert!(
                error.starts_with("answered 200 OK: not a prompt, but "),
                "{body}: {error}"
            );
            assert!(
                error.contains(why) && error.ends_with(ASK_FOR_A_PROMPT),
                "{body}: {error}"
            );
        }
        for (content_type, body, why) in [
            (
                "text/html; charset=utf-8",
                "<html>",
                "the type `text/html; charset=utf-8`",
            ),
            ("", "A", "content of the type"),
            (
                "application/octet-stream",
                "A",
                "the type `application/octet-stream`",
            ),
            ("text/plain", " \n", "without text"),
            (
                "application/json",
                "{\"messages\":[",
                "JSON without `messages`",
            ),
            ("text/s3cret\u{1b}", "", "the type `text/…\\u{1b}`"),
        ] {
            let error = answer(200, content_type, body.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{content_type}: {error}");
        }
        assert!(
            answer(200, "text/plain", b"\xff")
                .unwrap_err()
                .contains("not UTF-8")
        );
    }

    #[test]
    fn the_number_of_messages_is_limited() {
        let of = |number: usize| json(&json!({ "messages": vec![text("user", "A"); number] }));
        assert_eq!(of(1000).unwrap().messages.len(), 1000);
        assert!(
            of(1001)
                .unwrap_err()
                .contains("1,001 messages, the limit is 1,000")
        );
    }

    #[test]
    fn another_status_is_an_error_with_what_the_service_says() {
        for (status, body, want) in [
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
                "answered 401 Unauthorized: bad …; check --openapi-header",
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
                json!({ "messages": [text("user", "A")] }),
                "answered 201 Created; ask",
            ),
            (599, json!("why"), "answered 599: why; try again later"),
            (
                304,
                json!(null),
                "answered 304 Not Modified; correct the address",
            ),
        ] {
            let error = answer(
                status,
                "application/problem+json",
                body.to_string().as_bytes(),
            )
            .unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
        let html = answer(502, "text/html", b"{\"error\":\"<h1>\"}").unwrap_err();
        assert!(html.starts_with("answered 502 Bad Gateway; try"), "{html}");
        let long = json!({ "error": "x ".repeat(5000) }).to_string();
        assert!(
            answer(500, "application/json", long.as_bytes())
                .unwrap_err()
                .len()
                < 400
        );
    }
}
