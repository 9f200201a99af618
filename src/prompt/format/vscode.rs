//! Prompt files of VS Code: Markdown in which `${input:name:hint}` asks for a value. VS Code leaves
//! that to the model; here it is an optional argument, and stays as written without a value;
//! `${input:name|default}` has one. `${file}`, `${selection}` and the like always stay.

use super::frontmatter::Dialect;
use super::markdown;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::include::IncludeReader;
use crate::prompt::marks::VS_CODE;
use crate::prompt::model::{Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{HINTS, Mark, Names, Syntax, THREE_BRACES, TWO_ANGLES, TWO_BRACES};

const INPUT: Mark = Mark {
    open: "${input:",
    close: "}",
    input: None,
    names: Names::WithHint,
};
const SYNTAX: Syntax = Syntax {
    marks: &[TWO_ANGLES, THREE_BRACES, TWO_BRACES, INPUT],
    ..Syntax::OWN
};

/// Reads the text of a prompt file.
///
/// # Errors
/// Those of the frontmatter.
pub(crate) fn parse(
    name: &Name,
    text: &str,
    _: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    let arguments = source.body.split("${input:").skip(1).filter_map(|rest| {
        let inside = rest.split_once('}')?.0;
        let (name, after) = inside.split_at(inside.find(HINTS).unwrap_or(inside.len()));
        let of = |mark: char| {
            after
                .strip_prefix(mark)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        let description = of(':').map(str::to_owned);
        let default = Some(of('|').map_or_else(|| format!("${{input:{inside}}}"), str::to_owned));
        (!name.is_empty()).then(|| Argument {
            name: name.to_owned(),
            description,
            default,
            ..Argument::default()
        })
    });
    let arguments = arguments.collect();
    source.declare(&SYNTAX, arguments)?;
    Ok(Prompt {
        marks: &VS_CODE,
        ..source.into_prompt(name, &SYNTAX)
    })
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
