//! From the answer of a service to messages.

use crate::prompt::{Attachment, Content, MAX_MESSAGES, Message, Messages, Role};
use crate::wording::{count, printable, quoted, shortened, thousands};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use ureq::http::StatusCode;

/// How much of what a service says about an error is shown, in characters.
pub(super) const MAX_REASON: usize = 200;

/// What a service answers.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// The header `Content-Type`; empty if there is none.
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// Why there is no prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoPrompt {
    /// What the service did: a clause without its subject.
    pub(super) what: String,
    /// More about it, which may be a text of the service.
    pub(super) details: Option<String>,
    /// What to do, in the imperative.
    pub(super) fix: &'static str,
}

/// The media types that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MediaType {
    Json,
    Text,
}

/// An object that has messages.
#[derive(Deserialize)]
struct Answered {
    messages: Vec<AnsweredMessage>,
}

#[derive(Deserialize)]
struct AnsweredMessage {
    role: String,
    content: AnsweredContent,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnsweredContent {
    Text(String),
    Block(Block),
    /// As in the APIs of models.
    OneBlock([Block; 1]),
    /// Which is refused.
    List(Vec<IgnoredAny>),
}

/// A content block, as the protocol has it.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    resource: Option<Resource>,
    uri: Option<String>,
}

#[derive(Deserialize)]
struct Resource {
    uri: String,
    text: Option<String>,
}

const ASK_FOR_A_PROMPT: &str =
    "ask those who operate the service to answer with JSON that has `messages`, or with text";

impl Answer {
    /// The messages of an answer: those of a JSON object, or one with a text. `conceal` removes what is secret from a text of the
    /// service.
    ///
    /// # Errors
    /// It is not a prompt.
    pub(super) fn messages(&self, conceal: impl Fn(&str) -> String) -> Result<Messages, NoPrompt> {
        if self.status != StatusCode::OK {
            return Err(self.refusal(conceal));
        }
        let no_prompt = |details: String| self.no_prompt(details);
        let media_type = self.media_type().ok_or_else(|| match self.content_type.as_str() {
            "" => no_prompt("without the header `Content-Type`".to_owned()),
            other => no_prompt(format!("with the type {}", quoted(&conceal(other)))),
        })?;
        let text = str::from_utf8(&self.body).map_err(|_| no_prompt("with a text that is not UTF-8".to_owned()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if media_type == MediaType::Text {
            return one_text(text).ok_or_else(|| no_prompt("with an empty text".to_owned()));
        }
        match serde_json::from_str(text) {
            Ok(Value::String(text)) => one_text(&text).ok_or_else(|| no_prompt("with an empty text".to_owned())),
            Ok(Value::Object(object)) if object.contains_key("messages") => {
                let answered = serde_json::from_str::<Answered>(text).map_err(|error| invalid(&error).to_string());
                answered.and_then(|answered| messages(answered.messages, &conceal)).map_err(no_prompt)
            }
            Ok(_) => Err(no_prompt("with JSON that has no `messages`".to_owned())),
            Err(error) => Err(no_prompt(format!("with JSON that is invalid: {}", invalid(&error)))),
        }
    }

    /// What is read of the type; `None` if that is another one, or a text of another encoding than UTF-8.
    fn media_type(&self) -> Option<MediaType> {
        let mut parts = self.content_type.split(';').map(|part| part.trim().to_ascii_lowercase());
        let media_type = parts.next().unwrap_or_default();
        let is_utf8 = |part: String| match part.strip_prefix("charset=") {
            Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8" | "us-ascii"),
            None => true,
        };
        let media_type = match media_type.as_str() {
            "application/json" => MediaType::Json,
            "text/plain" | "text/markdown" | "text/x-markdown" => MediaType::Text,
            other if other.starts_with("application/") && other.ends_with("+json") => MediaType::Json,
            _ => return None,
        };
        parts.all(is_utf8).then_some(media_type)
    }

    /// The status is not that of a prompt.
    fn refusal(&self, conceal: impl Fn(&str) -> String) -> NoPrompt {
        let fix = match self.status.as_u16() {
            200..300 => ASK_FOR_A_PROMPT,
            401 | 403 => "check --openapi-header, and that what it names is still valid",
            404 | 405 => "check that the document is of this version of the service, and its address",
            400 | 409 | 413..=415 | 422 => "correct the values of the arguments",
            429 | 500..600 => "try again later, and if it stays like this, ask those who operate the service",
            _ => "ask those who operate the service",
        };
        let reason = || {
            let value = serde_json::from_slice::<Value>(&self.body).ok()?;
            let reason = conceal(reason(&value)?.trim());
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(printable(&shortened(&reason, MAX_REASON))).filter(|reason| !reason.is_empty())
        };
        let is_json = self.media_type() == Some(MediaType::Json);
        NoPrompt { what: answered(self.status), details: is_json.then(reason).flatten(), fix }
    }

    fn no_prompt(&self, details: String) -> NoPrompt {
        NoPrompt {
            what: answered(self.status),
            details: Some(format!("not a prompt, but {details}")),
            fix: ASK_FOR_A_PROMPT,
        }
    }
}

/// What a service did that answered with a status.
pub(super) fn answered(status: StatusCode) -> String {
    let name = status.canonical_reason().map(|name| format!(" {name}")).unwrap_or_default();
    format!("answered {}{name}", status.as_u16())
}

/// What is wrong with JSON, without any of its text.
fn invalid(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => match error.to_string().strip_prefix("duplicate field `") {
            Some(rest) => format!("with a key twice: `{}`", rest.split('`').next().unwrap_or_default()),
            None => "with `messages` that have no `role` and `content` with `type`".to_owned(),
        },
        _ => format!("line {}, column {}", error.line(), error.column()),
    }
}

/// The text in which a service says why it refuses: of the common keys the first (RFC 9457 has `detail` and `title`).
fn reason(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(object) => {
            ["detail", "message", "error", "title"].into_iter().find_map(|key| match object.get(key)? {
                Value::String(text) => Some(text.as_str()),
                Value::Object(inner) => inner.get("message")?.as_str(),
                _ => None,
            })
        }
        _ => None,
    }
}

fn one_text(text: &str) -> Option<Messages> {
    let is_empty = text.trim().is_empty();
    let message = Message { role: Role::User, text: text.to_owned() };
    (!is_empty).then(|| Messages { messages: vec![message], attachments: Vec::new() })
}

/// The messages as they are, without empty ones. What the system says goes to the front of the first message of the user.
fn messages(answered: Vec<AnsweredMessage>, conceal: &impl Fn(&str) -> String) -> Result<Messages, String> {
    if answered.len() > MAX_MESSAGES {
        let number = thousands(answered.len());
        return Err(format!("with {number} messages, the limit is {}", thousands(MAX_MESSAGES)));
    }
    let (mut messages, mut of_system, mut attachments) = (Vec::new(), Vec::new(), Vec::new());
    for (index, AnsweredMessage { role, content }) in answered.into_iter().enumerate() {
        let at = format!("in message {}", index + 1);
        let role = match role.as_str() {
            "user" => Some(Role::User),
            "assistant" => Some(Role::Assistant),
            "system" => None,
            other => return Err(format!("with the unknown role {} {at}", quoted(&conceal(other)))),
        };
        let block = match content {
            AnsweredContent::Text(text) => {
                Block { kind: "text".to_owned(), text: Some(text), resource: None, uri: None }
            }
            AnsweredContent::Block(block) | AnsweredContent::OneBlock([block]) => block,
            AnsweredContent::List(list) => {
                return Err(format!(
                    "with a list of {} as `content` {at}, and only a text, a block or a list of one block is accepted",
                    count(list.len(), "element")
                ));
            }
        };
        let Block { kind, text, resource, uri } = block;
        let attachment = match (kind.as_str(), text, resource, uri) {
            ("text", Some(text), ..) => {
                match role {
                    _ if text.trim().is_empty() => {}
                    Some(role) => messages.push(Message { role, text }),
                    None => of_system.push(text),
                }
                continue;
            }
            ("resource", _, Some(Resource { uri, text: Some(text) }), _) => {
                Attachment { name: uri, content: Content::Text(text) }
            }
            ("resource_link", _, _, Some(uri)) if uri.starts_with("https://") => {
                Attachment { name: uri, content: Content::Address }
            }
            ("text", ..) => return Err(format!("without a text {at}")),
            (other, ..) => {
                return Err(format!(
                    "with content of the type {} {at}, which is not supported",
                    quoted(&conceal(other))
                ));
            }
        };
        if attachment.name.chars().any(crate::wording::is_control) {
            return Err(format!("with an address that has control characters {at}"));
        }
        if role != Some(Role::User) {
            return Err(format!(
                "with content that is not a text of the {} {at}",
                if role.is_some() { "assistant" } else { "system" }
            ));
        }
        attachments.push(attachment);
    }
    if !of_system.is_empty() {
        let first = match messages.iter().position(|message| message.role == Role::User) {
            Some(first) => first,
            None => {
                messages.insert(0, Message { role: Role::User, text: String::new() });
                0
            }
        };
        let text = std::mem::take(&mut messages[first].text);
        of_system.extend((!text.is_empty()).then_some(text));
        messages[first].text = of_system.join("\n\n");
    }
    if messages.is_empty() {
        return Err("with no message that has a text".to_owned());
    }
    Ok(Messages { messages, attachments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(status: u16, content_type: &str, body: &[u8]) -> Result<Messages, String> {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, content_type: content_type.to_owned(), body: body.to_vec() };
        let shown = |NoPrompt { what, details, fix }: NoPrompt| match details {
            Some(details) => format!("{what}: {details}; {fix}"),
            None => format!("{what}; {fix}"),
        };
        answer.messages(|text| text.replace("s3cret", "…")).map_err(shown)
    }

    fn json(body: &Value) -> Result<Messages, String> {
        answer(200, "application/json", body.to_string().as_bytes())
    }

    /// The messages of an answer as pairs.
    fn pairs(messages: Result<Messages, String>) -> Vec<(&'static str, String)> {
        let messages = messages.unwrap().messages;
        messages.into_iter().map(|message| (message.role.name(), message.text)).collect()
    }

    fn text(role: &str, text: &str) -> Value {
        json!({ "role": role, "content": { "type": "text", "text": text } })
    }

    #[test]
    fn a_text_is_one_message_of_the_user() {
        for (content_type, body) in [
            ("text/plain", "# A\nb\n"),
            ("text/markdown; charset=UTF-8", "# A\nb\n"),
            ("TEXT/PLAIN;charset=\"utf-8\"", "\u{feff}# A\nb\n"),
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
        ]});
        let want = [("user", "Ask."), ("assistant", "Answer."), ("user", "More.")];
        assert_eq!(pairs(json(&body)), want.map(|(role, text)| (role, text.to_owned())));
    }

    #[test]
    fn what_the_system_says_goes_to_the_front_of_the_first_message_of_the_user() {
        for (messages, want) in [
            (vec![text("system", "S."), text("user", "U.")], vec![("user", "S.\n\nU.")]),
            (
                vec![
                    text("assistant", "A."),
                    text("user", "U."),
                    text("system", "S."),
                    text("system", "T."),
                    text("user", "V."),
                ],
                vec![("assistant", "A."), ("user", "S.\n\nT.\n\nU."), ("user", "V.")],
            ),
            (vec![text("assistant", "A."), text("system", "S.")], vec![("user", "S."), ("assistant", "A.")]),
            (vec![text("system", "S.")], vec![("user", "S.")]),
        ] {
            let want: Vec<(&str, String)> = want.into_iter().map(|(role, text)| (role, text.to_owned())).collect();
            assert_eq!(pairs(json(&json!({ "messages": messages }))), want);
        }
    }

    #[test]
    fn texts_of_resources_and_links_are_attached() {
        let body = json!({ "messages": [
            text("user", "Read."),
            { "role": "user", "content": { "type": "resource", "resource": { "uri": "file:///a.md", "mimeType": "text/markdown", "text": "A" } } },
            { "role": "user", "content": { "type": "resource_link", "uri": "https://example.com/b", "name": "b" } },
        ]});
        let attachment = |name: &str, content: Content| Attachment { name: name.to_owned(), content };
        let want = [
            attachment("file:///a.md", Content::Text("A".to_owned())),
            attachment("https://example.com/b", Content::Address),
        ];
        assert_eq!(json(&body).unwrap().attachments, want);
    }

    #[test]
    fn a_list_of_one_block_is_that_block() {
        let message = |block: Value| json!({ "role": "user", "content": [block] });
        let link = json!({ "type": "resource_link", "uri": "https://example.com/b" });
        let body = json!({ "messages": [message(json!({ "type": "text", "text": "A" })), message(link)] });
        let answered = json(&body).unwrap();
        assert_eq!((answered.messages.len(), answered.attachments.len()), (1, 1));
        assert_eq!(pairs(Ok(answered)), [("user", "A".to_owned())]);
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_by_its_name() {
        for (body, key) in [
            (r#"{"messages":[{"role":"user","content":"A"}],"messages":[]}"#, "messages"),
            (r#"{"messages":[{"role":"user","role":"user","content":"A"}]}"#, "role"),
        ] {
            let error = answer(200, "application/json", body.as_bytes()).unwrap_err();
            let want = format!("answered 200 OK: not a prompt, but with a key twice: `{key}`; {ASK_FOR_A_PROMPT}");
            assert_eq!(error, want);
        }
    }

    #[test]
    fn what_is_no_prompt_is_refused_with_a_reason() {
        let messages = |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
        for (body, why) in [
            (json!({ "prompt": "A" }), "JSON that has no `messages`"),
            (json!(["A"]), "JSON that has no `messages`"),
            (Value::Null, "JSON that has no `messages`"),
            (json!("  "), "an empty text"),
            (json!({ "messages": [] }), "no message that has a text"),
            (json!({ "messages": [text("user", ""), text("system", " ")] }), "no message that has a text"),
            (json!({ "messages": "A" }), "`messages` that have no `role`"),
            (json!({ "messages": ["A"] }), "`messages` that have no `role`"),
            (json!({ "messages": [{ "content": "A" }] }), "`messages` that have no `role`"),
            (
                messages(json!(["A"])),
                "a list of 1 element as `content` in message 1, and only a text, a block or a list of one block is accepted",
            ),
            (messages(json!([])), "a list of 0 elements as `content`"),
            (
                messages(json!([{ "type": "text", "text": "A" }, { "type": "text", "text": "B" }])),
                "a list of 2 elements as `content`",
            ),
            (messages(json!(3)), "`messages` that have no `role`"),
            (messages(json!({ "type": "text" })), "without a text in message 1"),
            (
                messages(json!({ "type": "image", "data": "", "mimeType": "image/png" })),
                "the type `image` in message 1",
            ),
            (
                messages(json!({ "type": "resource", "resource": { "uri": "a", "blob": "" } })),
                "the type `resource` in message 1",
            ),
            (
                messages(json!({ "type": "resource_link", "uri": "file:///etc" })),
                "the type `resource_link` in message 1",
            ),
            (json!({ "messages": [text("tool", "A")] }), "the unknown role `tool` in message 1"),
            (json!({ "messages": [text("User", "A")] }), "the unknown role `User` in message 1"),
            (
                json!({ "messages": [{ "role": "assistant", "content": { "type": "resource_link", "uri": "https://a" } }] }),
                "not a text of the assistant",
            ),
            (
                messages(json!({ "type": "resource_link", "uri": "https://a\u{1b}[2J" })),
                "control characters in message 1",
            ),
        ] {
            let error = json(&body).unwrap_err();
            assert!(error.starts_with("answered 200 OK: not a prompt, but with"), "{body}: {error}");
            assert!(error.contains(why) && error.ends_with(ASK_FOR_A_PROMPT), "{body}: {error}");
        }
        for (content_type, body, why) in [
            ("text/html; charset=utf-8", "<html>", "the type `text/html; charset=utf-8`"),
            ("", "A", "without the header `Content-Type`"),
            ("application/octet-stream", "A", "the type `application/octet-stream`"),
            ("text/plain; charset=iso-8859-1", "A", "the type `text/plain; charset=iso-8859-1`"),
            ("text/plain", "", "an empty text"),
            ("text/plain", " \n", "an empty text"),
            ("application/json", "", "JSON that is invalid: line 1, column 0"),
            ("application/json", "{\"messages\":[", "JSON that is invalid: line 1, column 13"),
            ("text/s3cret\u{1b}", "", "the type `text/…\\u{1b}`"),
        ] {
            let error = answer(200, content_type, body.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{content_type}: {error}");
        }
        assert!(answer(200, "text/plain", b"\xff").unwrap_err().contains("not UTF-8"));
    }

    #[test]
    fn the_number_of_messages_is_limited() {
        let of = |number: usize| json(&json!({ "messages": vec![text("user", "A"); number] }));
        assert_eq!(of(1000).unwrap().messages.len(), 1000);
        assert!(of(1001).unwrap_err().contains("with 1,001 messages, the limit is 1,000"));
    }

    #[test]
    fn another_status_is_an_error_with_what_the_service_says() {
        for (status, body, want) in [
            (503, json!({ "error": "overloaded" }), "answered 503 Service Unavailable: overloaded; try again later"),
            (404, json!({ "error": { "code": 1, "message": "gone" } }), "answered 404 Not Found: gone; check that"),
            (
                422,
                json!({ "detail": "a is\n\n wrong", "title": "t" }),
                "answered 422 Unprocessable Entity: a is wrong; correct",
            ),
            (
                401,
                json!({ "message": "bad token s3cret" }),
                "answered 401 Unauthorized: bad token …; check --openapi-header",
            ),
            (
                500,
                json!({ "error": "\u{1b}[2J\u{202e}a" }),
                "answered 500 Internal Server Error: \\u{1b}[2J\\u{202e}a; try",
            ),
            (400, json!({ "error": true, "message": "m" }), "answered 400 Bad Request: m; correct the values"),
            (400, json!({ "error": 1 }), "answered 400 Bad Request; correct the values"),
            (418, json!([1]), "answered 418 I'm a teapot; ask"),
            (204, json!(""), "answered 204 No Content; ask"),
            (201, json!({ "messages": [text("user", "A")] }), "answered 201 Created; ask"),
            (599, json!("why"), "answered 599: why; try again later"),
            (304, json!(null), "answered 304 Not Modified; ask"),
        ] {
            let error = answer(status, "application/problem+json", body.to_string().as_bytes()).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
        let html = answer(502, "text/html", b"{\"error\":\"<h1>\"}").unwrap_err();
        assert!(html.starts_with("answered 502 Bad Gateway; try"), "{html}");
        let long = json!({ "error": "x ".repeat(5000) }).to_string();
        assert!(answer(500, "application/json", long.as_bytes()).unwrap_err().len() < 400);
    }
}
