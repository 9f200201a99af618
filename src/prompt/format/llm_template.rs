//! Templates of llm: a YAML file with a `prompt`, a `system` prompt, or both. `$input` is the input; every other `$name` is an
//! argument, with a default if `defaults` has one. A file that is a text is the `prompt`.

use super::frontmatter::Frontmatter;
use super::markdown::Source;
use super::yaml::{self, Field, Node, Refusal, Value};
use crate::prompt::suggestion::closest;
use crate::prompt::template::Place;
use crate::prompt::{Argument, Diagnostic, Format, INPUT, MAX_FILE, Name, Position, Prompt, Severity};
use crate::wording::{alternatives, quoted};
use std::collections::HashMap;

/// The keys of llm, which refuses a file with any other.
const KEYS: [&str; 15] = [
    "name",
    "prompt",
    "system",
    "attachments",
    "attachment_types",
    "model",
    "defaults",
    "options",
    "extract",
    "extract_last",
    "schema_object",
    "fragments",
    "system_fragments",
    "tools",
    "functions",
];

/// Keys whose value llm would put into the prompt, or run; and what it would do.
const UNREAD: [(&str, &str); 5] = [
    ("attachments", "attach the files"),
    ("fragments", "read the fragments"),
    ("system_fragments", "read the fragments"),
    ("functions", "run the functions"),
    ("tools", "give the model the tools"),
];

/// Reads the text of a template.
///
/// # Errors
/// It is not YAML, a list, or a map with an unknown key or without text.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    // The parser may find the end of the file, or an empty key there, in a line after the last.
    let end = Position::in_text(text, text.len(), 1);
    let within = |at: Diagnostic| {
        let position = at.position.map(|position| position.min(end));
        Diagnostic { severity: Severity::Error, position, ..at }
    };
    let refused = |refusal| match refusal {
        Refusal::TooLarge(at) => {
            let message = format!("the YAML aliases (`*name`) of the template make it larger than {MAX_FILE} bytes");
            Diagnostic { message, ..within(at) }
        }
        Refusal::Syntax(at) => within(at),
    };
    let Node { position, value, .. } = yaml::parse(text, 1, &mut MAX_FILE.clone()).map_err(refused)?;
    let fields = match value {
        Value::Map(fields) => fields,
        Value::Text { text, .. } => {
            return prompt(name, text, position.line, HashMap::new(), Vec::new(), Frontmatter::default());
        }
        Value::List(_) => {
            let message = "the template is a list; llm reads a map with `prompt` or `system`, or a text";
            return Err(Diagnostic::error(Some(position), message, "write `prompt: …`"));
        }
        Value::Null(_) => return Err(without_text()),
    };
    if let Some(unknown) = fields.iter().find(|field| !KEYS.contains(&field.key.as_str())) {
        let message = format!("unknown key {}; llm refuses the template", quoted(&unknown.key));
        let fix = match closest(&unknown.key, KEYS) {
            Some(known) => format!("write `{known}:` if that is meant"),
            None => format!("delete it; llm knows {}", alternatives(&KEYS)),
        };
        return Err(Diagnostic::error(Some(unknown.position.min(end)), message, fix));
    }
    let mut texts = Vec::new();
    let mut line = 1;
    for key in ["system", "prompt"] {
        match fields.iter().find(|field| field.key == key).map(|field| &field.node) {
            Some(Node { value: Value::Text { text, .. }, position, .. }) => {
                line = if texts.is_empty() { position.line } else { line };
                texts.push(text.trim_end());
            }
            Some(Node { value: Value::List(_) | Value::Map(_), position, .. }) => {
                let message = format!("{} is not a text", quoted(key));
                return Err(Diagnostic::error(Some(*position), message, format!("write `{key}: …` as text")));
            }
            _ => {}
        }
    }
    if texts.is_empty() {
        return Err(without_text());
    }
    let unread = fields.iter().filter_map(|field| {
        let (key, action) = UNREAD.iter().find(|(key, _)| field.key == *key)?;
        let message = format!("`{key}` is not read: llm would {action}");
        Some(Diagnostic::warning(
            Some(field.position),
            message,
            "nothing is read or run here; the text alone is served",
        ))
    });
    let is_unread = |field: &&Field| {
        let key = field.key.as_str();
        !["name", "prompt", "system", "defaults"].contains(&key) && UNREAD.iter().all(|(unread, _)| key != *unread)
    };
    let unread_keys = fields.iter().filter(is_unread).map(|field| (field.key.clone(), field.position)).collect();
    let frontmatter = Frontmatter { unread_keys, ..Frontmatter::default() };
    prompt(name, texts.join("\n\n"), line, defaults(&fields), unread.collect(), frontmatter)
}

fn without_text() -> Diagnostic {
    Diagnostic::error(None, "the template has neither `prompt` nor `system`", "write `prompt: …` with the instructions")
}

fn defaults(fields: &[Field]) -> HashMap<&str, &str> {
    let Some(Value::Map(defaults)) = fields.iter().find(|field| field.key == "defaults").map(|field| &field.node.value)
    else {
        return HashMap::new();
    };
    defaults
        .iter()
        .filter_map(|field| match &field.node.value {
            Value::Text { text, .. } => Some((field.key.as_str(), text.as_str())),
            _ => None,
        })
        .collect()
}

fn prompt(
    name: Name,
    body: String,
    line: usize,
    defaults: HashMap<&str, &str>,
    lenient: Vec<Diagnostic>,
    frontmatter: Frontmatter,
) -> Result<Prompt, Diagnostic> {
    let format = Format::LlmTemplate;
    let mut source = Source { lenient, ..Source::new(frontmatter, &body, line) };
    source.place = Place::made_at_line(line);
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let arguments = source.body.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let name = &rest[..rest.find(|letter: char| !is_letter(letter)).unwrap_or(rest.len())];
        let is_name = !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name != INPUT;
        let default = defaults.get(name).map(|default| (*default).to_owned());
        is_name.then(|| Argument { name: name.to_owned(), required: true, default, ..Argument::default() })
    });
    let arguments = arguments.collect();
    source.declare(format, arguments)?;
    Ok(source.into_prompt(format, name))
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::testing::{check, parsed, refused, warned};
    use crate::prompt::{Call, Format};

    const LLM: Format = Format::LlmTemplate;

    #[test]
    fn names_after_a_dollar_are_arguments_and_two_dollars_are_one() {
        let file = "prompt: \"Summarize: $input in $lang\"\ndefaults: {lang: English}";
        check(LLM, file, "hello", "Summarize: hello in English");
        check(LLM, file, "lang=$input hello", "Summarize: hello in $input");
        check(LLM, "prompt: \"Costs $$5: ${input}s\"", "x", "Costs $5: xs");
        check(
            LLM,
            "prompt: '$$$input $$input $ $5 $inputs ${x y}'\ndefaults: {inputs: d}",
            "x",
            "$x $input $ $5 d ${x y}",
        );
        let needs = parsed(LLM, "prompt: $input in $lang").expand(Call::Text(""));
        assert_eq!(needs.unwrap_err().to_string(), "it needs a value for `lang`; write `:p lang=…`");
    }

    #[test]
    fn a_system_prompt_comes_first_and_a_text_without_a_placeholder_follows() {
        check(LLM, "system: Be brief.", "hello", "Be brief.\n\nhello");
        check(LLM, "system: Be brief.\nprompt: 'Say: $input'", "hello", "Be brief.\n\nSay: hello");
        check(LLM, "prompt: no var", "hi", "no var\n\nhi");
        check(LLM, "prompt: in $lang\ndefaults: {lang: English}", "lang=German hi", "in German\n\nhi");
        check(LLM, "Just a text, $input", "x", "Just a text, x");
        check(LLM, "'Just a text: $input'", "x", "Just a text: x");
        check(LLM, "prompt: |\n  One\n\n  Two $input\nmodel: gpt-4o\n", "x", "One\n\nTwo x");
    }

    #[test]
    fn a_file_that_llm_would_refuse_is_a_problem_with_its_place() {
        refused(
            LLM,
            "- a\n- b",
            "1:1: the template is a list; llm reads a map with `prompt` or `system`, or a text; write `prompt: …`",
        );
        refused(
            LLM,
            "prompt: x\nsytem: y",
            "2:1: unknown key `sytem`; llm refuses the template; write `system:` if that is meant",
        );
        let error = LLM.parse(crate::prompt::Name::new("p").unwrap(), b"? ").unwrap_err();
        assert_eq!(error.position.map(|position| position.line), Some(1), "{error}");
        refused(LLM, "prompt: [x]", "1:9: `prompt` is not a text; write `prompt: …` as text");
        let empty = "the template has neither `prompt` nor `system`; write `prompt: …` with the instructions";
        refused(LLM, "model: x", empty);
        refused(LLM, "", empty);
        refused(
            LLM,
            "prompt: x\n---\nprompt: y",
            "2:1: a second YAML document; keep one, and delete what is not part of it",
        );
        let bomb = format!("prompt: x\nmodel: &a {}\noptions: [{}]", "x".repeat(4_000), "*a, ".repeat(1_100));
        let want = "the YAML aliases (`*name`) of the template make it larger than 4194304 bytes";
        let error = LLM.parse(crate::prompt::Name::new("p").unwrap(), bomb.as_bytes()).unwrap_err();
        assert_eq!(error.message, want);
        refused(LLM, "prompt: a: b", "1:10: `: ` inside a value that is not in quotes; put the value in quotes");
    }

    #[test]
    fn functions_and_fragments_are_not_read_and_check_says_so() {
        let want = "2:1: `functions` is not read: llm would run the functions; nothing is read or run here; the text alone is served";
        warned(LLM, "prompt: $input\nfunctions: |\n  def f(): pass\n", &[want]);
    }
}
