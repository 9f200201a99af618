//! The JSONL files of hexai: a JSON object in each line, with the keys `name`, `title`, `description`, `arguments`, `messages` and
//! `tags`. In its texts, exactly `{{name}}` of a declared argument is a placeholder.

use super::{Format, not_utf8, too_large};
use crate::prompt::conversion::{Content, KEPT, Kept, Section, Segment};
use crate::prompt::include::Origins;
use crate::prompt::template::Place;
use crate::prompt::{
    Argument, Diagnostic, INPUT, MAX_ARGUMENTS, MAX_FILE, MAX_MESSAGES, MessageTemplate, Metadata, Name, Position,
    Prompt, Role,
};
use crate::wording::{all_of, quoted};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Deserialize)]
struct Line {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    arguments: Option<Vec<LineArgument>>,
    messages: Vec<LineMessage>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// All other keys.
    #[serde(skip)]
    unread: Vec<String>,
}

/// The keys that are read, and the one of exported lines.
const KEYS: [&str; 7] = ["name", "title", "description", "arguments", "messages", "tags", "meta"];

#[derive(Deserialize)]
struct LineArgument {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

#[derive(Deserialize)]
struct LineMessage {
    role: String,
    content: LineContent,
}

#[derive(Deserialize)]
struct LineContent {
    text: String,
}

/// The prompts of a file of hexai, such as `user.jsonl`. A line that is none is an error with the number of the line, and the
/// others are read all the same. Of two lines with one name, the first is the prompt. Empty lines are skipped.
pub fn hexai_prompts(bytes: &[u8]) -> Vec<Result<Prompt, Diagnostic>> {
    if bytes.len() > MAX_FILE {
        return vec![Err(too_large(bytes.len() as u64))];
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut first_lines: HashMap<Name, usize> = HashMap::new();
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |(index, line): (usize, &[u8])| {
        let number = index + 1;
        let at = |column: usize| Some(Position { line: number, column });
        let text = str::from_utf8(line).map_err(|error| {
            let diagnostic = not_utf8(line, error.valid_up_to());
            Diagnostic { position: at(diagnostic.position.map_or(1, |position| position.column)), ..diagnostic }
        })?;
        let line = json(text, number)?;
        let name = Name::new(&line.name).map_err(|why| {
            let message = format!("{} cannot be the name of a prompt: {why}", quoted(&line.name));
            Diagnostic::error(at(1), message, "give it another name")
        })?;
        if let Some(first) = first_lines.get(&name) {
            let message = format!("line {first} has the same name, {}, and comes first", quoted(&name));
            return Err(Diagnostic::error(at(1), message, "rename one of the two"));
        }
        first_lines.insert(name.clone(), number);
        prompt(name, line, number, text)
    };
    lines.map(read).collect()
}

/// Reads one line; see [`hexai_prompts`].
///
/// # Errors
/// It is not such a JSON object.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    prompt(name, json(text, 1)?, 1, text)
}

fn json(text: &str, number: usize) -> Result<Line, Diagnostic> {
    let line: Line = serde_json::from_str(text).map_err(|error| {
        // The column of serde_json counts bytes.
        let before = text.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or_default();
        let column = String::from_utf8_lossy(before).chars().count() + 1;
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        let position = Some(Position { line: number, column });
        Diagnostic::error(position, format!("not a prompt of hexai: {message}"), "correct the line, or delete it")
    })?;
    let keys: BTreeMap<String, IgnoredAny> = serde_json::from_str(text).unwrap_or_default();
    let unread = keys.into_keys().filter(|key| !KEYS.contains(&key.as_str())).collect();
    Ok(Line { unread, ..line })
}

/// `written` is the line as it is in the file.
fn prompt(name: Name, line: Line, number: usize, written: &str) -> Result<Prompt, Diagnostic> {
    let refused =
        |message: String, fix: &str| Err(Diagnostic::error(Some(Position { line: number, column: 1 }), message, fix));
    let arguments: Vec<Argument> =
        line.arguments.unwrap_or_default().into_iter().map(LineArgument::into_argument).collect();
    if arguments.len() > MAX_ARGUMENTS {
        return refused(format!("more than {MAX_ARGUMENTS} arguments are declared"), "declare fewer");
    }
    if let Some(message) = line.messages.iter().find(|message| message.role != "user" && message.role != "assistant") {
        return refused(format!("unknown role {}", quoted(&message.role)), "write `user` or `assistant`");
    }
    if line.messages.len() > MAX_MESSAGES {
        return refused(format!("the prompt has more than {MAX_MESSAGES} messages"), "divide it among several prompts");
    }
    if line.messages.iter().all(|message| message.content.text.trim().is_empty()) {
        return refused("the prompt has no text".to_owned(), "write it in `messages`");
    }
    let message = |LineMessage { role, content }: LineMessage| {
        let role = if role == "assistant" { Role::Assistant } else { Role::User };
        let place = place(&content.text, number, written);
        MessageTemplate::new(role, content.text, place)
    };
    let mut messages: Vec<MessageTemplate> = line.messages.into_iter().map(message).collect();
    let format = Format::HexaiPrompt;
    MessageTemplate::find_placeholders(format, &mut messages, arguments.iter().map(|argument| argument.name.as_str()));
    // Only an argument that is left out stays as written, and a required one cannot be left out.
    let is_required = |name: &str| arguments.iter().any(|argument| argument.name == name && argument.required);
    messages.iter_mut().for_each(|message| message.replace_always(is_required));
    let text = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(Prompt {
        format,
        name,
        title: text(line.title),
        description: text(line.description),
        arguments,
        tags: line.tags.unwrap_or_default(),
        messages,
        attachments: Vec::new(),
        lenient: Vec::new(),
        unread_keys: line.unread.into_iter().map(|key| (key, Position { line: number, column: 1 })).collect(),
        has_words: false,
        metadata: Metadata::default(),
        origins: Origins::default(),
    })
}

/// Where a text is in its line: of one that is there as it is, once and without escapes, each character is known.
fn place(text: &str, number: usize, written: &str) -> Place {
    let quoted = format!("\"{text}\"");
    let mut found = written.match_indices(&quoted);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Place::in_line(number, written[..=at].chars().count() + 1),
        _ => Place::made_at_line(number),
    }
}

/// Writes a line: the input is an argument too, since hexai has nothing else to fill in.
pub(in crate::prompt) fn write(name: &Name, content: &Content, kept: Option<&Kept>) -> (String, Vec<Diagnostic>) {
    let mut arguments: Vec<Value> = Vec::new();
    for argument in &content.arguments {
        let Argument { name, description, .. } = argument;
        let line = json!({ "name": name, "description": description, "required": argument.is_needed() });
        arguments.push(without_null(line));
    }
    let is_declared = |name: &str| content.arguments.iter().any(|argument| argument.name == name);
    let is_empty = content.messages.iter().all(|message| message.segments.is_empty());
    if (content.uses(INPUT) || is_empty) && !is_declared(INPUT) {
        arguments.push(json!({ "name": INPUT, "description": "The whole text", "required": false }));
    }
    let mut texts = BTreeSet::new();
    let text = |Section { role, segments }: &Section| {
        // hexai has no prompt without text.
        let mut text = String::from(if is_empty { "{{input}}" } else { "" });
        for segment in segments {
            match segment {
                Segment::Text(part) => {
                    let marks = content.arguments.iter().map(|argument| format!("{{{{{}}}}}", argument.name));
                    texts.extend(marks.filter(|mark| part.contains(mark.as_str())));
                    text += part;
                }
                Segment::Placeholder(name) => text.extend(["{{", name, "}}"]),
            }
        }
        json!({ "role": role.name(), "content": { "type": "text", "text": text } })
    };
    let messages: Vec<Value> = content.messages.iter().map(text).collect();
    let mut line = without_null(json!({
        "name": name.as_str(),
        "title": content.title,
        "description": content.description,
        "arguments": arguments,
        "messages": messages,
        "tags": content.tags,
    }));
    if let Some(Kept { frontmatter, body }) = kept {
        line["meta"] = json!({ KEPT: without_null(json!({ "frontmatter": frontmatter, "body": body })) });
    }
    let notes = (!texts.is_empty()).then(|| {
        let texts: Vec<&String> = texts.iter().collect();
        let message = format!("hexai will fill in {}, which is text in the prompt", all_of(&texts));
        Diagnostic::warning(None, message, "write it in another way, with a space between the braces")
    });
    (format!("{line}\n"), notes.into_iter().collect())
}

fn without_null(mut object: Value) -> Value {
    if let Value::Object(keys) = &mut object {
        keys.retain(|_, value| !value.is_null());
    }
    object
}

/// What an exported line has for this program; `None` if it was not exported.
pub(in crate::prompt) fn kept(line: &str) -> Option<Kept> {
    let line: Value = serde_json::from_str(line).ok()?;
    let kept = line.get("meta")?.get(KEPT)?;
    let text = |key: &str| kept.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Kept { frontmatter: text("frontmatter").unwrap_or_default(), body: text("body") })
}

impl LineArgument {
    fn into_argument(self) -> Argument {
        let LineArgument { name, description, required } = self;
        Argument { name, description, required, ..Argument::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Call;
    use crate::prompt::format::testing::shown;

    fn line(name: &str, text: &str) -> String {
        format!(
            r#"{{"name":"{name}","title":"T","arguments":[{{"name":"a","required":true}},{{"name":"b"}}],"messages":[{{"role":"user","content":{{"type":"text","text":"{text}"}}}}],"tags":["t"],"created":"2025"}}"#
        )
    }

    #[test]
    fn exactly_a_declared_name_in_two_braces_is_a_placeholder() {
        let prompts = hexai_prompts(line("t", "A {{a}} {{ a }} {{input}} {{b}} $ARGUMENTS {{{a}}}").as_bytes());
        let prompt = prompts[0].as_ref().unwrap();
        assert_eq!((&*prompt.name, prompt.title.as_deref(), &*prompt.tags), ("t", Some("T"), &["t".to_owned()][..]));
        let expanded = prompt.expand(Call::Text("a={{input}}{{b}}")).unwrap().into_text();
        assert_eq!(expanded, "A {{input}}{{b}} {{ a }} {{input}} {{b}} $ARGUMENTS {{{input}}{{b}}}");
    }

    #[test]
    fn an_optional_argument_without_a_value_stays_as_written() {
        let prompts = hexai_prompts(line("t", "Review {{a}} in {{b}}.").as_bytes());
        let expanded =
            |text| prompts[0].as_ref().unwrap().expand(Call::Text(text)).map(|messages| messages.into_text());
        assert_eq!(expanded("a=x").unwrap(), "Review x in {{b}}.");
        assert_eq!(expanded("a=x b=Go").unwrap(), "Review x in Go.");
        assert!(expanded("").is_err());
        let values = [("a".to_owned(), String::new())].into();
        let call = Call::Named { values: &values, input: "", is_strict: false };
        let expanded = prompts[0].as_ref().unwrap().expand(call).unwrap().into_text();
        assert_eq!(expanded, "Review  in {{b}}.", "an empty value is one for a required argument");
    }

    #[test]
    fn a_broken_line_is_named_and_the_others_are_prompts() {
        let file =
            format!("\u{feff}{}\r\n\n{{\"name\": é}}\n{}\n{}\n[1]\n", line("a", "A"), line("b", "B"), line("a", "C"));
        let mut bytes = file.into_bytes();
        bytes.extend(b"\xff\n");
        let shown = hexai_prompts(&bytes).into_iter().map(|read| match read {
            Ok(prompt) => prompt.name.to_string(),
            Err(error) => shown(&error),
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "a",
                "3:10: not a prompt of hexai: expected value; correct the line, or delete it",
                "b",
                "5:1: line 1 has the same name, `a`, and comes first; rename one of the two",
                "6:2: not a prompt of hexai: invalid type: integer `1`, expected a string; correct the line, or delete it",
                "7:1: the file is not UTF-8 from here on; save it with the encoding UTF-8",
            ]
        );
    }

    #[test]
    fn a_warning_has_the_line_of_its_prompt_and_the_column_if_the_text_is_written_as_it_is() {
        let file = format!("\n{}\n{}\n", line("é", "A {{a}} \\u0000"), line("b", "B {{a}}"));
        let warnings = |index: usize| {
            let prompt = hexai_prompts(file.as_bytes()).swap_remove(index).unwrap();
            prompt.warnings().iter().map(shown).collect::<Vec<_>>()
        };
        let unused =
            "declared but not used in the body: `b`; write `{{b}}` where the text belongs, or delete the declaration";
        let nul = "a NUL character, as in a file that was saved as UTF-16; save it with the encoding UTF-8";
        assert_eq!(warnings(0), [format!("2:1: {nul}"), format!("2:1: {unused}")]);
        assert_eq!(warnings(1), [format!("3:1: {unused}")]);
        let prompt = hexai_prompts(br#"{"name":"\u00e9 x","messages":[{"role":"user","content":{"text":"Do it"}}]}"#);
        let prompt = prompt[0].as_ref().unwrap();
        assert_eq!(prompt.messages[0].positions().at(3), Position { line: 1, column: 69 });
    }

    #[test]
    fn messages_keep_their_roles_and_their_order() {
        let message = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":{{"text":"{text}"}}}}"#);
        let file = |role: &str| {
            format!(r#"{{"name":"m","messages":[{},{}]}}"#, message("user", "Ask."), message(role, "Say more."))
        };
        let expanded = |file: &str| hexai_prompts(file.as_bytes()).remove(0).map_err(|error| shown(&error));
        let prompt = expanded(&file("assistant")).unwrap();
        assert_eq!(
            prompt.expand(Call::Text("x")).unwrap().into_text(),
            "User:\nAsk.\n\nAssistant:\nSay more.\n\nUser:\nx"
        );
        let prompt = expanded(&file("user")).unwrap();
        assert_eq!(prompt.roles(), [Role::User, Role::User]);
        assert_eq!(prompt.expand(Call::Text("x")).unwrap().into_text(), "Ask.\n\nSay more.\n\nx");
        assert_eq!(expanded(&file("system")).unwrap_err(), "1:1: unknown role `system`; write `user` or `assistant`");
        let warnings = expanded(&file("user").replace("Ask.", "")).unwrap().warnings();
        let want = "1:1: an empty message, which is left out; write its text, or delete it";
        assert_eq!(warnings.iter().map(shown).collect::<Vec<_>>(), [want]);
        let empty = r#"{"name":"m","messages":[]}"#;
        assert_eq!(expanded(empty).unwrap_err(), "1:1: the prompt has no text; write it in `messages`");
    }
}
