//! Parses prompt files of VS Code: Markdown in which `${input:name:hint}` asks for a value.
//!
//! VS Code leaves the asking to the model. Here, it is an optional argument. Without a value, the
//! placeholder is replaced by the default in `${input:name|default}`, or else left as it is.
//! `${file}`, `${selection}` and the like are always left as they are.

use super::frontmatter::Dialect;
use super::markdown;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::foreign_syntax::VS_CODE;
use crate::prompt::model::{Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{
    ArgumentNames, HINT_SEPARATORS, PlaceholderForm, PlaceholderSyntax, THREE_BRACES, TWO_ANGLES,
    TWO_BRACES,
};

const OPEN: &str = "${input:";

const INPUT: PlaceholderForm = PlaceholderForm {
    open: OPEN,
    close: "}",
    input_name: None,
    arguments: ArgumentNames::WithHint,
    matches_in_longer_run: false,
};

const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[TWO_ANGLES, THREE_BRACES, TWO_BRACES, INPUT],
    ..PlaceholderSyntax::OWN
};

/// Parses a prompt file of VS Code.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`, or if
/// the body has too many inputs.
pub(crate) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    let arguments = arguments_in(&source.body);
    source.declare_used(&SYNTAX, arguments)?;
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.foreign_syntax = &VS_CODE;
    Ok(prompt)
}

/// Returns an argument for each `${input:…}`: `lang` for `Say it in ${input:lang:German?}`.
fn arguments_in(body: &str) -> Vec<Argument> {
    let mut arguments = Vec::new();
    for after_open in body.split(OPEN).skip(1) {
        let Some((input, _)) = after_open.split_once('}') else {
            continue;
        };
        let argument = parse_input(input);
        if !argument.name.is_empty() {
            arguments.push(argument);
        }
    }
    arguments
}

/// Parses what follows `${input:`, i.e. `name`, `name:hint` or `name|default`. The hint becomes the
/// description.
///
/// Without a default, the argument defaults to its own placeholder, so that it is left in the text.
fn parse_input(input: &str) -> Argument {
    let name_end = input.find(HINT_SEPARATORS).unwrap_or(input.len());
    let (name, after_name) = input.split_at(name_end);
    let default = match non_empty_after(after_name, '|') {
        Some(default) => default,
        None => format!("{OPEN}{input}}}"),
    };
    Argument {
        name: name.to_owned(),
        description: non_empty_after(after_name, ':'),
        default: Some(default),
        ..Argument::default()
    }
}

/// Returns the trimmed text after `separator`: `hint` for `: hint` and `:`. Returns `None` if the
/// text doesn't begin with the separator, or if nothing follows it.
fn non_empty_after(text: &str, separator: char) -> Option<String> {
    let after = text.strip_prefix(separator)?.trim();
    (!after.is_empty()).then(|| after.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::prompt::Parse;
    use crate::prompt::format::testing::{check, parsed};

    const VSCODE: Parse = super::parse;

    #[test]
    fn an_input_is_an_optional_argument_that_stays_as_written_without_a_value() {
        let file = "Test ${input:file:which file?} with ${input:tool} in ${workspaceFolder}, ${selection} ${input:file}.";
        let stays = file.replace("${input:file}", "${input:file:which file?}");
        check(VSCODE, file, "", &stays);
        check(
            VSCODE,
            file,
            "file=a.rs",
            &stays.replace("${input:file:which file?}", "a.rs"),
        );
        check(
            VSCODE,
            file,
            "file=${input:tool} tool=x",
            "Test ${input:tool} with x in ${workspaceFolder}, ${selection} ${input:tool}.",
        );
        let prompt = parsed(VSCODE, file);
        let arguments: Vec<_> = prompt
            .arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.description.as_deref()))
            .collect();
        assert_eq!(arguments, [("file", Some("which file?")), ("tool", None)]);
        assert!(prompt.arguments.iter().all(|argument| !argument.required));
    }

    #[test]
    fn an_input_may_have_a_default() {
        let file = "In ${input:Lang|plain English} and ${input:Lang}, ${input:empty|}.";
        check(
            VSCODE,
            file,
            "",
            "In plain English and plain English, ${input:empty|}.",
        );
        check(
            VSCODE,
            file,
            "Lang=German",
            "In German and German, ${input:empty|}.",
        );
        assert_eq!(
            parsed(VSCODE, file).arguments[0].default.as_deref(),
            Some("plain English")
        );
    }

    #[test]
    fn all_else_is_as_in_markdown() {
        check(
            VSCODE,
            "---\nmode: agent\n---\nWrite tests.",
            "for a.ts",
            "Write tests.\n\nfor a.ts",
        );
        check(VSCODE, "Do {{input}}", "x", "Do x");
        check(VSCODE, "Do $ARGUMENTS", "x", "Do x");
        for text in [
            "${input}",
            "${input:}",
            "${input:a b}",
            "${input:a",
            "${input:a:b\n}",
            "${input:{a}}",
        ] {
            check(VSCODE, text, "", text);
            assert_eq!(parsed(VSCODE, text).arguments, [], "{text}");
        }
    }
}
