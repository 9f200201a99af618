//! Imports templates of llm: YAML files with a `prompt`, a `system` prompt, or both.
//!
//! `$input` is the input. Every other `$name` is an argument, whose default may be set in
//! `defaults`. If the file is just a string, that is the `prompt`.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::format::frontmatter::Frontmatter;
use crate::prompt::format::markdown::MarkdownSource;
use crate::prompt::format::yaml::{self, Field, Value, YamlError};
use crate::prompt::limits::MAX_FILE;
use crate::prompt::model::{Argument, IgnoredKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::INPUT;
use crate::prompt::template::{
    ArgumentNames, BodyPosition, Escape, PlaceholderForm, PlaceholderSyntax,
};
use crate::wording::quoted;
use std::collections::HashMap;

const BRACED: PlaceholderForm = PlaceholderForm {
    open: "${",
    close: "}",
    input_name: Some(INPUT),
    arguments: ArgumentNames::Exact,
    matches_in_longer_run: false,
};
const BARE: PlaceholderForm = PlaceholderForm {
    open: "$",
    close: "",
    ..BRACED
};
const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[BRACED, BARE],
    fallback: None,
    escape: Escape::Dollar,
};

/// The keys whose values llm adds to the prompt or runs. Here they have no effect.
const EFFECTIVE_IN_LLM: [&str; 5] = [
    "attachments",
    "fragments",
    "system_fragments",
    "functions",
    "tools",
];

/// Parses a template of the command-line program `llm`.
///
/// # Errors
/// Fails if the file isn't valid YAML, or if it has no text or too many arguments.
pub(super) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut keys = TemplateKeys::default();
    for field in read_fields(text)? {
        keys.add(field);
    }
    let mut body = keys.body()?;
    let names = dollar_names(&body);
    let arguments = keys.arguments(&names);
    // With only a `system` prompt, llm sends the input as the user's prompt. Without arguments,
    // that need not be written: the input is appended anyway.
    let has_only_system = keys.prompt.is_none();
    let appends_input_anyway = arguments.is_empty();
    if has_only_system && !appends_input_anyway && !names.contains(&INPUT) {
        body += "\n\n$input";
    }
    let first_line = keys.first_text_line.unwrap_or(1); // always set, since there is a body
    let mut source = MarkdownSource::new(keys.frontmatter, &body, first_line);
    // Replaces the position that `new` set, because the file doesn't contain the body verbatim.
    source.body_position = BodyPosition::derived_at_line(first_line);
    source.warnings = keys.warnings;
    source.declare_used(&SYNTAX, arguments)?;
    Ok(source.into_prompt(name, &SYNTAX))
}

/// Parses the keys of a template. A file that isn't a map is the value of `prompt`: `Say $input` is
/// read as `prompt: Say $input`.
///
/// # Errors
/// Fails if the file isn't valid YAML, or is too large with its aliases expanded.
fn read_fields(text: &str) -> Result<Vec<Field>, Diagnostic> {
    let mut budget = MAX_FILE;
    let first_line = 1; // the whole file is YAML
    let node = yaml::parse(text, first_line, &mut budget).map_err(|yaml_error| {
        let (YamlError::Syntax(error) | YamlError::TooLarge(error)) = yaml_error;
        // The YAML parser sometimes reports a line beyond the end of the file.
        let end = Position::in_file_text(text, text.len());
        let position = error.position.map(|position| position.min(end));
        Diagnostic::error(position, error.message, error.fix)
    })?;
    match node.value {
        Value::Map(fields) => Ok(fields),
        _ => Ok(vec![Field {
            key: "prompt".to_owned(),
            position: node.position,
            node,
        }]),
    }
}

/// The values of the keys of a template.
#[derive(Default)]
struct TemplateKeys {
    system: Option<String>,
    prompt: Option<String>,
    /// The first line of `system` or `prompt`, whichever comes first.
    first_text_line: Option<usize>,
    defaults: HashMap<String, String>,
    /// All other keys.
    frontmatter: Frontmatter,
    warnings: Vec<Diagnostic>,
}

impl TemplateKeys {
    /// Adds a key of the template. `name` is skipped, because the prompt is named after its file.
    fn add(&mut self, field: Field) {
        let line = field.node.position.line;
        match (field.key.as_str(), &field.node.value) {
            ("system", Value::Scalar { text, .. }) => {
                self.record_text_line(line);
                self.system = Some(text.trim_end().to_owned());
            }
            ("prompt", Value::Scalar { text, .. }) => {
                self.record_text_line(line);
                self.prompt = Some(text.trim_end().to_owned());
            }
            ("defaults", Value::Map(fields)) => self.add_defaults(fields),
            ("name", _) => {}
            _ => self.add_ignored_key(field),
        }
    }

    /// Updates `first_text_line` for a `system` or `prompt` that begins on `line`.
    fn record_text_line(&mut self, line: usize) {
        let first_line = match self.first_text_line {
            Some(earlier) => earlier.min(line),
            None => line,
        };
        self.first_text_line = Some(first_line);
    }

    /// Adds the defaults that are strings. Others, e.g. lists, are ignored.
    fn add_defaults(&mut self, fields: &[Field]) {
        for field in fields {
            if let Value::Scalar { text, .. } = &field.node.value {
                self.defaults.insert(field.key.clone(), text.clone());
            }
        }
    }

    /// Records a key that is not used here. Adds a warning if it has an effect in llm.
    fn add_ignored_key(&mut self, field: Field) {
        if EFFECTIVE_IN_LLM.contains(&field.key.as_str()) {
            self.warnings.push(Diagnostic::warning(
                Some(field.position),
                format!("{} has no effect here", quoted(&field.key)),
                "nothing is read or run; tell the agent in the text what to do",
            ));
        }
        self.frontmatter.ignored_keys.push(IgnoredKey {
            value: yaml::to_flow_style(&field.node),
            key: field.key,
            position: field.position,
        });
    }

    /// Joins `system` and `prompt` with a blank line between them. Drops a byte order mark before a
    /// text, which a Markdown file could not keep.
    ///
    /// # Errors
    /// Fails if both are missing or blank.
    fn body(&self) -> Result<String, Diagnostic> {
        let mut texts = Vec::new();
        for text in [&self.system, &self.prompt].into_iter().flatten() {
            let text = text.trim_start_matches('\u{feff}');
            if !text.trim().is_empty() {
                texts.push(text);
            }
        }
        if texts.is_empty() {
            return Err(Diagnostic::invalid(
                "the template has neither a `prompt` nor a `system` string",
                "write `prompt: …` with the instructions",
            ));
        }
        Ok(texts.join("\n\n"))
    }

    /// Returns an argument for each name except `input`. Those without a default are required.
    fn arguments(&self, names: &[&str]) -> Vec<Argument> {
        let mut arguments = Vec::new();
        for name in names {
            if *name == INPUT {
                continue;
            }
            let default = self.defaults.get(*name).cloned();
            arguments.push(Argument {
                name: (*name).to_owned(),
                required: default.is_none(),
                default,
                ..Argument::default()
            });
        }
        arguments
    }
}

/// Returns the name after each `$` or `${`, in order and including repeated ones: `lang` and
/// `input` for `$lang: ${input}, $5`. A name can't begin with a digit.
fn dollar_names(body: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for after_dollar in body.split('$').skip(1) {
        let text = after_dollar.strip_prefix('{').unwrap_or(after_dollar);
        let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &text[..end.unwrap_or(text.len())];
        if !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::prompt::format::testing::{check, parsed, refused, warned};
    use crate::prompt::{Call, import};

    #[test]
    fn the_input_and_every_other_name_after_a_dollar_are_placeholders() {
        for (file, text, want) in [
            (
                "prompt: \"To $lang: $input\"\ndefaults: {lang: English}",
                "hello",
                "To English: hello",
            ),
            (
                "prompt: \"To $lang: $input\"\ndefaults: {lang: English}",
                "lang=$input hello",
                "To $input: hello",
            ),
            ("prompt: \"Costs $$5: ${input}s\"", "x", "Costs $5: xs"),
            (
                "prompt: '$$$input $$input $ $5 $inputs ${x y}'\ndefaults: {inputs: d}",
                "x",
                "$x $input $ $5 d ${x y}",
            ),
            ("system: Be brief.", "hello", "Be brief.\n\nhello"),
            ("system: \"\\uFEFFBe brief.\"", "", "Be brief."),
            (
                "system: Be brief.\nprompt: 'Say: $input'",
                "hello",
                "Be brief.\n\nSay: hello",
            ),
            (
                "system: In $lang.\ndefaults: {lang: English}",
                "lang=German hi",
                "In German.\n\nhi",
            ),
            ("Just a text, $input", "x", "Just a text, x"),
            (
                "prompt: |\n  One\n\n  Two $input\nmodel: gpt-4o\n",
                "x",
                "One\n\nTwo x",
            ),
        ] {
            check(parse, file, text, want);
        }
        let needs = parsed(parse, "prompt: $input in $lang").expand(Call::Text(""));
        assert_eq!(
            needs.unwrap_err().text(),
            "it needs a value for `lang`; write `:p lang=…`"
        );
    }

    #[test]
    fn a_template_becomes_markdown_with_its_arguments_and_its_other_keys() {
        let file = "prompt: '$input in $lang, $tone'\ndefaults: {lang: English}\nmodel: gpt-4o\noptions: {temperature: 0.5}";
        let want = "---\narguments:\n  - name: lang\n    default: English\n  - name: tone\n    required: true\n\
                    model: gpt-4o\noptions: {temperature: 0.5}\n---\n{{input}} in {{lang}}, {{tone}}\n";
        assert_eq!(import(&parsed(parse, file)).unwrap().text, want);
    }

    #[test]
    fn a_file_without_a_text_is_refused_and_what_would_be_run_has_no_effect() {
        let without = "the template has neither a `prompt` nor a `system` string; write `prompt: …` with the instructions";
        for file in ["- a\n- b", "prompt: [x]", "model: x", ""] {
            refused(parse, file, without);
        }
        refused(
            parse,
            "prompt: a: b",
            "1:10: mapping values are not allowed in this context; put the value in quotes if it is text",
        );
        let bomb = format!(
            "prompt: x\nmodel: &a {}\noptions: [{}]",
            "x".repeat(4_000),
            "*a, ".repeat(1_100)
        );
        assert!(parse(&crate::prompt::Name::new("p").unwrap(), &bomb).is_err());
        let want = "2:1: `functions` has no effect here; nothing is read or run; tell the agent in the text what to do";
        warned(
            parse,
            "prompt: $input\nfunctions: |\n  def f(): pass\n",
            &[want],
        );
    }
}
