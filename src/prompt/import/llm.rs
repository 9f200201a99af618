//! Templates of llm: a YAML file with a `prompt`, a `system` prompt, or both. `$input` is the
//! input; every other `$name` is an argument, with a default if `defaults` has one. A file that is
//! a text is the `prompt`.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::format::frontmatter::Frontmatter;
use crate::prompt::format::markdown::Source;
use crate::prompt::format::yaml::{self, Field, Node, Refusal, Value};
use crate::prompt::include::IncludeReader;
use crate::prompt::limits::MAX_FILE;
use crate::prompt::model::{Argument, OtherKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::INPUT;
use crate::prompt::template::{Escape, Mark, Names, Place, Syntax};
use crate::wording::quoted;
use std::collections::HashMap;

const BRACED: Mark = Mark {
    open: "${",
    close: "}",
    input: Some(INPUT),
    names: Names::Declared,
};
const BARE: Mark = Mark {
    open: "$",
    close: "",
    ..BRACED
};
const SYNTAX: Syntax = Syntax {
    marks: &[BRACED, BARE],
    fallback: None,
    escape: Escape::Dollar,
};

/// Keys whose value llm would put into the prompt, or run.
const WITH_EFFECT: [&str; 5] = [
    "attachments",
    "fragments",
    "system_fragments",
    "functions",
    "tools",
];

/// Reads the text of a template.
///
/// # Errors
/// It is not YAML, or has no text.
pub(super) fn parse(
    name: &Name,
    text: &str,
    _: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let Node { position, value } =
        yaml::parse(text, 1, &mut MAX_FILE.clone()).map_err(|refusal| {
            let (Refusal::Syntax(why) | Refusal::TooLarge(why)) = refusal;
            // The parser may find the end of the file in a line after the last.
            let end = Position::in_text(text, text.len(), 1);
            Diagnostic::error(
                why.position.map(|position| position.min(end)),
                why.message,
                why.fix,
            )
        })?;
    let fields = match value {
        Value::Map(fields) => fields,
        value => vec![Field {
            key: "prompt".to_owned(),
            position,
            node: Node { position, value },
        }],
    };
    let (mut system, mut prompt, mut line) = (None, None, usize::MAX);
    let mut defaults = HashMap::new();
    let mut frontmatter = Frontmatter::default();
    let mut lenient = Vec::new();
    for Field {
        key,
        position,
        node,
    } in fields
    {
        match (key.as_str(), node.value) {
            ("system" | "prompt", Value::Text { text, .. }) => {
                line = line.min(node.position.line);
                *(if key == "system" {
                    &mut system
                } else {
                    &mut prompt
                }) = Some(text.trim_end().to_owned());
            }
            ("defaults", Value::Map(fields)) => {
                defaults.extend(fields.into_iter().filter_map(|Field { key, node, .. }| {
                    match node.value {
                        Value::Text { text, .. } => Some((key, text)),
                        _ => None,
                    }
                }));
            }
            ("name", _) => {}
            (_, value) => {
                if WITH_EFFECT.contains(&key.as_str()) {
                    let message = format!("{} has no effect here", quoted(&key));
                    let fix = "nothing is read or run; tell the agent in the text what to do";
                    lenient.push(Diagnostic::warning(Some(position), message, fix));
                }
                let value = yaml::in_one_line(&Node { value, ..node });
                frontmatter.other_keys.push(OtherKey {
                    key,
                    position,
                    value,
                });
            }
        }
    }
    // To a template with a `system` prompt alone, the input is the whole prompt.
    let is_system = prompt.is_none();
    let texts: Vec<String> = system
        .into_iter()
        .chain(prompt)
        .filter(|text| !text.trim().is_empty())
        .collect();
    if texts.is_empty() {
        let fix = "write `prompt: …` with the instructions";
        return Err(Diagnostic::error(
            None,
            "the template has neither `prompt` nor `system` as a text",
            fix,
        ));
    }
    let mut body = texts.join("\n\n");
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let names = body.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let name = &rest[..rest
            .find(|letter: char| !is_letter(letter))
            .unwrap_or(rest.len())];
        let is_name = !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit());
        is_name.then_some(name)
    });
    let names: Vec<&str> = names.collect();
    let arguments = names.iter().filter(|name| **name != INPUT).map(|name| {
        let default = defaults.get(*name).cloned();
        Argument {
            name: (*name).to_owned(),
            required: default.is_none(),
            default,
            ..Argument::default()
        }
    });
    let arguments: Vec<Argument> = arguments.collect();
    if is_system && !arguments.is_empty() && !names.contains(&INPUT) {
        body += "\n\n$input";
    }
    let mut source = Source {
        lenient,
        ..Source::new(frontmatter, &body, line)
    };
    source.place = Place::made_at_line(line);
    source.declare(&SYNTAX, arguments)?;
    Ok(source.into_prompt(name, &SYNTAX))
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
        let without = "the template has neither `prompt` nor `system` as a text; write `prompt: …` with the instructions";
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
        assert!(parse(&crate::prompt::Name::new("p").unwrap(), &bomb, None).is_err());
        let want = "2:1: `functions` has no effect here; nothing is read or run; tell the agent in the text what to do";
        warned(
            parse,
            "prompt: $input\nfunctions: |\n  def f(): pass\n",
            &[want],
        );
    }
}
