//! Parses patterns of fabric: a `system.md` without frontmatter. The input replaces `{{input}}`; if
//! there is no such placeholder, it is appended on a new line.
//!
//! fabric treats every `{{name}}` as a variable, and fails if it has no value. That breaks patterns
//! that contain other template languages, so here a variable without a value is left as it is.

use super::frontmatter::Frontmatter;
use super::markdown::MarkdownSource;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::foreign_syntax::NONE;
use crate::prompt::model::{AppendInput, Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::outline::Code;
use crate::prompt::template::{
    ArgumentNames, Escape, PlaceholderForm, PlaceholderSyntax, TWO_BRACES,
};

const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[PlaceholderForm {
        arguments: ArgumentNames::Exact,
        matches_in_longer_run: true,
        ..TWO_BRACES
    }],
    fallback: None,
    escape: Escape::None,
};

/// Parses a pattern of fabric.
///
/// # Errors
/// Fails if the pattern has too many variables.
pub(crate) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let first_line = 1; // the whole file is the body
    let mut source = MarkdownSource::new(Frontmatter::default(), text, first_line);
    let variables = variables_in(&source.body);
    source.declare_used(&SYNTAX, variables)?;
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.append_input = AppendInput::Line;
    prompt.foreign_syntax = &NONE;
    Ok(prompt)
}

/// Returns an argument for each `{{variable}}` outside of code, except `{{input}}`. It defaults to
/// its own placeholder, so that without a value the text is unchanged.
fn variables_in(body: &str) -> Vec<Argument> {
    let code = Code::find_in(body);
    let mut variables = Vec::new();
    for (start, open) in body.match_indices("{{") {
        let rest = &body[start + open.len()..];
        let name = leading_name(rest);
        let is_closed = rest[name.len()..].starts_with("}}");
        if is_closed && !name.is_empty() && name != "input" && !code.contains(start) {
            variables.push(Argument {
                name: name.to_owned(),
                default: Some(format!("{{{{{name}}}}}")),
                ..Argument::default()
            });
        }
    }
    variables
}

/// Returns the variable name at the start of a text: `lang_1` for `lang_1}} …`. May be empty.
fn leading_name(text: &str) -> &str {
    let end = text.find(|letter: char| {
        !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use crate::prompt::Parse;
    use crate::prompt::format::testing::{check, parsed, warned};

    const FABRIC: Parse = super::parse;

    #[test]
    fn the_input_is_in_the_next_line_unless_it_has_a_placeholder() {
        check(
            FABRIC,
            "# INPUT:\n\nINPUT:",
            "hello",
            "# INPUT:\n\nINPUT:\nhello",
        );
        check(
            FABRIC,
            "# INPUT:\n\nINPUT:\n",
            "hello",
            "# INPUT:\n\nINPUT:\nhello",
        );
        check(FABRIC, "# INPUT", "", "# INPUT");
        check(
            FABRIC,
            "A {{input}} B",
            "{{input}} $ARGUMENTS",
            "A {{input}} $ARGUMENTS B",
        );
        check(FABRIC, "A {{{input}}} B", "x", "A {x} B");
        check(
            FABRIC,
            "A {{ input }} $ARGUMENTS <<input>>",
            "x",
            "A {{ input }} $ARGUMENTS <<input>>\nx",
        );
        warned(
            FABRIC,
            "",
            &["the prompt has no body: it expands to its input only; write the instructions"],
        );
        check(
            FABRIC,
            "---\ntitle: T\n---\nB",
            "x",
            "---\ntitle: T\n---\nB\nx",
        );
    }

    #[test]
    fn a_variable_is_filled_if_it_is_given_and_else_stays() {
        check(
            FABRIC,
            "Translate to {{lang}}: {{input}}",
            "lang=German hi",
            "Translate to German: hi",
        );
        check(
            FABRIC,
            "Translate to {{lang}}: {{input}}",
            "hi",
            "Translate to {{lang}}: hi",
        );
        check(
            FABRIC,
            "Translate to {{lang_code}}.",
            "lang_code=de hi there",
            "Translate to de.\nhi there",
        );
        check(
            FABRIC,
            "Translate to {{lang_code}}.",
            "hi there",
            "Translate to {{lang_code}}.\nhi there",
        );
        let code = "Write `{{code}}` for {{Hostname}} and {{BaseURL}}.";
        check(FABRIC, code, "x", &format!("{code}\nx"));
        assert_eq!(parsed(FABRIC, code).arguments, []);
        warned(FABRIC, "Translate to {{lang}}: {{input}}", &[]);
    }
}
