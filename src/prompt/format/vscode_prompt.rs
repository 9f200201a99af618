//! Prompt files of VS Code: Markdown in which `${input:name:hint}` asks for a value. VS Code leaves that to the model; here it is
//! an optional argument, and stays as written without a value. `${file}`, `${selection}` and the like always stay.

use super::markdown;
use crate::prompt::{Argument, Diagnostic, Format, Name, Prompt};
use crate::wording::quoted;

/// Reads the text of a prompt file.
///
/// # Errors
/// Those of the frontmatter.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let format = Format::VsCodePrompt;
    let mut source = markdown::read(format, text)?;
    let arguments = source.body.split("${input:").skip(1).filter_map(|rest| {
        let (name, hint) = match rest.split_once('}')?.0.split_once(':') {
            Some((name, hint)) => (name, Some(hint)),
            None => (rest.split_once('}')?.0, None),
        };
        let description = hint.map(str::trim).filter(|hint| !hint.is_empty()).map(str::to_owned);
        (!name.is_empty()).then(|| Argument { name: name.to_owned(), description, ..Argument::default() })
    });
    let arguments = arguments.collect();
    source.declare(format, arguments)?;
    let spaced = source.body.match_indices("${input:").filter_map(|(at, open)| {
        let name = source.body[at + open.len()..].split(['}', ':', '{', '\n']).next()?;
        let is_closed = source.body[at + open.len() + name.len()..].starts_with(['}', ':']);
        let is_name = is_closed && name.contains(' ') && !name.trim().is_empty();
        is_name.then(|| (at, format!("${{input:{name}")))
    });
    let mut positions = source.place.positions(&source.body);
    let spaced = spaced.map(|(at, written)| {
        let message = format!("{} stays as written, because the name of an argument has no spaces", quoted(&written));
        let hyphenated = written.split_whitespace().collect::<Vec<_>>().join("-");
        Diagnostic::warning(Some(positions.at(at)), message, format!("write {} to declare one", quoted(&hyphenated)))
    });
    let spaced: Vec<Diagnostic> = spaced.collect();
    source.lenient.extend(spaced);
    Ok(source.into_prompt(format, name))
}

#[cfg(test)]
mod tests {
    use crate::prompt::Format;
    use crate::prompt::format::testing::{check, parsed, warned};

    const VSCODE: Format = Format::VsCodePrompt;

    #[test]
    fn an_input_is_an_optional_argument_that_stays_as_written_without_a_value() {
        let file =
            "Test ${input:file:which file?} with ${input:tool} in ${workspaceFolder}, ${selection} ${input:file}.";
        let stays =
            "Test ${input:file:which file?} with ${input:tool} in ${workspaceFolder}, ${selection} ${input:file}.";
        check(VSCODE, file, "", stays);
        check(
            VSCODE,
            file,
            "file=a.rs",
            &stays.replace("${input:file:which file?}", "a.rs").replace("${input:file}", "a.rs"),
        );
        check(
            VSCODE,
            file,
            "file=${input:tool} tool=x",
            "Test ${input:tool} with x in ${workspaceFolder}, ${selection} ${input:tool}.",
        );
        let prompt = parsed(VSCODE, file);
        let arguments: Vec<_> =
            prompt.arguments.iter().map(|argument| (argument.name.as_str(), argument.description.as_deref())).collect();
        assert_eq!(arguments, [("file", Some("which file?")), ("tool", None)]);
        assert!(prompt.arguments.iter().all(|argument| !argument.required));
    }

    #[test]
    fn all_else_is_as_in_markdown() {
        check(VSCODE, "---\nmode: agent\n---\nWrite tests.", "for a.ts", "Write tests.\n\nfor a.ts");
        check(VSCODE, "Do {{input}}", "x", "Do x");
        check(VSCODE, "Do $ARGUMENTS", "x", "Do x");
        for text in ["${input}", "${input:}", "${input:a b}", "${input:a", "${input:a:b\n}", "${input:{a}}"] {
            check(VSCODE, text, "", text);
            assert_eq!(parsed(VSCODE, text).arguments, [], "{text}");
        }
    }

    #[test]
    fn marks_that_are_no_arguments_stay_and_check_says_so() {
        let fix = "the agent gets the text, and decides what to do with it";
        warned(
            VSCODE,
            "Do ${input:a b:which?} with #file:src/a.rs,\n#tool:search and ${selection} ${input: } ${input:a b",
            &[
                "1:4: `${input:a b` stays as written, because the name of an argument has no spaces; write `${input:a-b` to declare one",
                &format!("1:29: `#file:src/a.rs` stays as written: VS Code would attach it; {fix}"),
                &format!("2:1: `#tool:search` stays as written: VS Code would enable it; {fix}"),
            ],
        );
    }
}
