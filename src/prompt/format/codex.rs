//! Parses Markdown prompts of Codex and prompt templates of pi.
//!
//! In Codex, `$1` to `$9` are words of the text that follows the command, and `$ARGUMENTS` is all
//! of it; or `$NAME` is the value that is passed as `NAME=…`. In pi, `$@` is the whole text, too.
//!
//! Codex treats every `$NAME` as an argument, even `$PATH` in an example, and then rejects calls
//! that don't set it. Here, only names that appear in the `argument-hint` are arguments.

use super::frontmatter::{Dialect, Frontmatter};
use super::markdown;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::foreign_syntax;
use crate::prompt::model::{Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{
    ARGUMENTS, ArgumentNames, Escape, PlaceholderForm, PlaceholderSyntax,
};

const WHOLE_TEXT_OR_NAME: PlaceholderForm = PlaceholderForm {
    arguments: ArgumentNames::Exact,
    matches_in_longer_run: false,
    ..ARGUMENTS
};

const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[WHOLE_TEXT_OR_NAME],
    fallback: None,
    ..PlaceholderSyntax::OWN
};

const PI_WHOLE_TEXT: PlaceholderForm = PlaceholderForm {
    open: "$@",
    input_name: Some(""),
    ..ARGUMENTS
};

const PI_SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[PI_WHOLE_TEXT, WHOLE_TEXT_OR_NAME],
    fallback: None,
    escape: Escape::None,
};

/// Parses a prompt of Codex. Its arguments are the names in `argument-hint` that the body uses as
/// `$NAME`. If there are none, they are the words `$1` to `$9`.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`, or if
/// there are too many arguments.
pub(crate) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // Codex has no such key.
    let arguments = hinted_arguments(&source.frontmatter);
    source.declare_used(&SYNTAX, arguments)?;
    let has_names = !source.frontmatter.arguments.is_empty();
    if !has_names {
        declare_numbered_arguments(&mut source, &SYNTAX)?;
    }
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.one_word_per_argument = !has_names;
    prompt.foreign_syntax = &foreign_syntax::NONE;
    Ok(prompt)
}

/// Parses a prompt template of pi. Its arguments are the words `$1` to `$9`.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_pi(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // pi has no such key.
    declare_numbered_arguments(&mut source, &PI_SYNTAX)?;
    let mut prompt = source.into_prompt(name, &PI_SYNTAX);
    prompt.one_word_per_argument = true;
    prompt.foreign_syntax = &foreign_syntax::NONE;
    Ok(prompt)
}

/// Returns a required argument for each uppercase name in the `argument-hint`: `USER` and `ID` for
/// `USER=<name> [ID]`.
fn hinted_arguments(frontmatter: &Frontmatter) -> Vec<Argument> {
    let Some(hint) = frontmatter
        .ignored_keys
        .iter()
        .find(|other| matches!(other.key.as_str(), "argument-hint" | "argument_hint"))
    else {
        return Vec::new();
    };
    let mut arguments = Vec::new();
    for word in hint.value.split(|letter: char| !is_name_character(letter)) {
        if is_argument_name(word) {
            arguments.push(Argument {
                name: word.to_owned(),
                required: true,
                ..Argument::default()
            });
        }
    }
    arguments
}

fn is_name_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns whether Codex accepts a word as the name of an argument: it begins with an uppercase
/// letter and contains no lowercase ones. `ARGUMENTS` is reserved for the whole text.
fn is_argument_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && !word.contains(|letter: char| letter.is_ascii_lowercase())
        && word != "ARGUMENTS"
}

/// Declares the arguments `1` up to the highest number in the body: `1` and `2` for `Translate $2`.
/// There are no gaps, so that `$2` is the second word even if the body doesn't use `$1`.
///
/// # Errors
/// Fails if the prompt would have too many arguments.
fn declare_numbered_arguments(
    source: &mut markdown::MarkdownSource,
    syntax: &PlaceholderSyntax,
) -> Result<(), Diagnostic> {
    // First declares only the numbers that the body uses, to find the highest one.
    source.declare_used(syntax, numbered_arguments(MAX_WORD_NUMBER))?;
    let mut highest = 0;
    for name in source.frontmatter.argument_names() {
        if let Ok(number) = name.parse() {
            highest = highest.max(number);
        }
    }
    source.frontmatter.arguments = numbered_arguments(highest);
    Ok(())
}

/// The highest number that a placeholder can have: `$9`.
const MAX_WORD_NUMBER: usize = 9;

/// Creates optional arguments named `1` to `count`.
fn numbered_arguments(count: usize) -> Vec<Argument> {
    let mut arguments = Vec::new();
    for number in 1..=count {
        arguments.push(Argument {
            name: number.to_string(),
            ..Argument::default()
        });
    }
    arguments
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::testing::{check, parsed, warned};
    use crate::prompt::{Call, Parse};

    const CODEX: Parse = super::parse;

    #[test]
    fn digits_are_words_of_the_text_and_arguments_is_all_of_it() {
        check(CODEX, "Do $1, then $2.", "a \"b c\" d", "Do a, then b c.");
        check(CODEX, "Do $1, then $2.", "a", "Do a, then .");
        check(CODEX, "Only $2.", "a b", "Only b.");
        check(CODEX, "Fix $ARGUMENTS", "a   \"b c\"", "Fix a   \"b c\"");
        check(
            CODEX,
            "$10 $$1 $$ARGUMENTS $0 $9",
            "x",
            "x0 $$1 $$ARGUMENTS $0 ",
        );
        check(CODEX, "$1 of $ARGUMENTS", "$2 $1", "$2 of $2 $1");
        check(CODEX, "{{input}} $1", "x", "{{input}} x");
        check(CODEX, "No mark.", "a \"b\"", "No mark.\n\na \"b\"");
        let prompt = parsed(CODEX, "Only $2.");
        let want = "the text from `c` on is dropped, because no argument is left to take it";
        assert_eq!(prompt.bind(Call::Text("a b c d")).warnings, [want]);
        warned(CODEX, "Only $2. !`git status`", &[]);
    }

    #[test]
    fn names_of_the_hint_are_required_by_name_and_other_names_are_text() {
        for key in ["argument-hint", "argument_hint"] {
            let file = format!(
                "---\n{key}: [USER=<name>] [BRANCH=…]\n---\nReview $USER changes on $BRANCH"
            );
            check(
                CODEX,
                &file,
                "USER=Alice BRANCH=main",
                "Review Alice changes on main",
            );
            check(
                CODEX,
                &file,
                "BRANCH=\"a b\" USER=$BRANCH",
                "Review $BRANCH changes on a b",
            );
            let missing = parsed(CODEX, &file)
                .expand(Call::Text("USER=Alice"))
                .unwrap_err()
                .to_string();
            assert_eq!(
                missing,
                "it needs a value for `BRANCH`; write `:p USER=… BRANCH=…`"
            );
        }
        check(
            CODEX,
            "literal $$USER $PATH $1",
            "x",
            "literal $$USER $PATH x",
        );
        check(
            CODEX,
            "---\nargument-hint: USER=\n---\n$USER $USERS $PATH $1 $$USER",
            "USER=x",
            "x $USERS $PATH $1 $$USER",
        );
    }

    #[test]
    fn in_pi_digits_are_words_and_an_at_sign_is_the_whole_text() {
        check(
            super::parse_pi,
            "Create $1 with: $@",
            "Button \"a b\" c",
            "Create Button with: Button \"a b\" c",
        );
        check(super::parse_pi, "Fix $ARGUMENTS", "a  b", "Fix a  b");
        check(super::parse_pi, "Look, $@x", "", "Look, x");
        check(super::parse_pi, "Look.", "a", "Look.\n\na");
    }
}
