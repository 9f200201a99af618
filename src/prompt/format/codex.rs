//! Parses Markdown prompts of Codex and prompt templates of pi.
//!
//! In Codex, `$1` to `$9` are words of the text that follows the command, and `$ARGUMENTS` is all
//! of it; or `$NAME` is the value that is passed as `NAME=…`. In pi, `$@` is the whole text, too,
//! and there are defaults and slices, as in `${1:-HEAD}` and `${@:2}`.
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

const WORD: PlaceholderForm = PlaceholderForm {
    arguments: ArgumentNames::Digit,
    input_name: None,
    ..ARGUMENTS
};

const WHOLE_TEXT_OR_NAME: PlaceholderForm = PlaceholderForm {
    arguments: ArgumentNames::Exact,
    ..ARGUMENTS
};

const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[WORD, WHOLE_TEXT_OR_NAME],
    fallback: None,
    ..PlaceholderSyntax::OWN
};

const PI_SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[PlaceholderForm {
        arguments: ArgumentNames::Shell,
        input_name: Some("@"),
        ..ARGUMENTS
    }],
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
        source.declare_numbered_arguments(&SYNTAX, 1);
    }
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.one_word_per_argument = !has_names;
    prompt.foreign_syntax = &foreign_syntax::NONE;
    Ok(prompt)
}

/// Parses a prompt template of pi. Its arguments are the words that the body uses, as `$1` or in a
/// slice such as `${@:2}`. The values of a slice are joined by spaces, without quotes, as pi does
/// it.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_pi(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // pi has no such key.
    source.declare_numbered_arguments(&PI_SYNTAX, 1);
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
        check(super::parse_pi, "$12 of $ARGUMENTS", "a b", " of a b");
    }

    #[test]
    fn in_pi_a_word_has_a_default_and_words_are_sliced() {
        for (body, text, want) in [
            // Outputs of pi 1.6.0.
            (
                "Review $1. Also: ${@:2}",
                "a \"b c\" it's",
                "Review a. Also: b c it's",
            ),
            ("Review $1. Also: ${@:2}", "a", "Review a. Also: "),
            ("Check ${1:-HEAD}", "", "Check HEAD"),
            ("Check ${1:-HEAD}", "main", "Check main"),
            ("${ARGUMENTS:-x} ${@:-$1}", "", "x $1"),
            ("${ARGUMENTS:-x} ${@:-$1}", "a b", "a b a b"),
            (
                "${@:2:1}|${@:1:2}|${@:2:0}|${@:3:9}",
                "a b c d",
                "b|a b||c d",
            ),
            ("$1 ${1:-x} ${1:-}", "", " x "),
            (
                "$2 of ${@:0}, ${@:2} and ${@:4}",
                "a b c d e",
                "b of a b c d e, b c d e and d e",
            ),
            (
                "${@:2:-1} ${x:-y} ${1} ${@:a} ${1:-a",
                "b",
                "${@:2:-1} ${x:-y} ${1} ${@:a} ${1:-a\n\nb",
            ),
            ("${1:-${2:-x}}", "", "${2:-x}"),
            ("Review ${@:2:0}.", "a b", "Review ."),
            ("$0, ${0:-x}, ${@:00:1} and $01", "a b", ", x, a and a"),
            ("$21 ${21:-x} ${@:21} $99999999999999999999", "a", " x  "),
            ("${@:1:+1} ${+1:-x}", "a", "${@:1:+1} ${+1:-x}\n\na"),
        ] {
            check(super::parse_pi, body, text, want);
        }
        let prompt = parsed(super::parse_pi, "$1 and ${@:2}");
        let binding = prompt.bind(Call::Text("a b c"));
        assert_eq!(prompt.value_names(), ["1", "2"]);
        assert_eq!(binding.arguments[1].value, "b c");
        assert!(binding.warnings.is_empty(), "{:?}", binding.warnings);
    }
}
