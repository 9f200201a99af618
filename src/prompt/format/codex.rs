//! Prompts of Codex: Markdown in which `$1` to `$9` are words of the text and `$ARGUMENTS` is all
//! of it, or `$NAME` is the value that is given as `NAME=…`. And those of pi, in which `$@` is all
//! of the text, too.
//!
//! Codex takes every `$NAME` for an argument, `$PATH` in an example too, and then refuses any other
//! text. Here only those that the `argument-hint` mentions are arguments; the others are text.

use super::frontmatter::Dialect;
use super::markdown;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::include::IncludeReader;
use crate::prompt::marks::NONE;
use crate::prompt::model::{Argument, OtherKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{ARGUMENTS, Escape, Mark, Names, Syntax};

const SYNTAX: Syntax = Syntax {
    marks: &[Mark {
        names: Names::Declared,
        ..ARGUMENTS
    }],
    fallback: None,
    ..Syntax::OWN
};

const ALL: Mark = Mark {
    open: "$@",
    input: Some(""),
    ..ARGUMENTS
};
const PI_SYNTAX: Syntax = Syntax {
    marks: &[
        ALL,
        Mark {
            names: Names::Declared,
            ..ARGUMENTS
        },
    ],
    fallback: None,
    escape: Escape::None,
};

/// Reads the text of a prompt.
///
/// # Errors
/// Those of the frontmatter.
pub(crate) fn parse(
    name: &Name,
    text: &str,
    _: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // not a key of Codex
    let is_hint =
        |other: &&OtherKey| matches!(other.key.as_str(), "argument-hint" | "argument_hint");
    let hint = source
        .frontmatter
        .other_keys
        .iter()
        .find(is_hint)
        .map(|hint| hint.value.clone())
        .unwrap_or_default();
    let is_name = |word: &&str| {
        let is_letter =
            |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_';
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.bytes().all(is_letter)
            && *word != "ARGUMENTS"
    };
    let words = hint
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(is_name);
    let named = words.map(|name| Argument {
        name: name.to_owned(),
        required: true,
        ..Argument::default()
    });
    source.declare(&SYNTAX, named.collect())?;
    if source.frontmatter.arguments.is_empty() {
        declare_words(&mut source, &SYNTAX)?;
    }
    let has_words = source
        .frontmatter
        .arguments
        .iter()
        .all(|argument| !argument.required);
    let prompt = source.into_prompt(name, &SYNTAX);
    Ok(Prompt {
        has_words,
        marks: &NONE,
        ..prompt
    })
}

/// Reads the text of a template of pi.
///
/// # Errors
/// Those of the frontmatter.
pub(crate) fn pi(
    name: &Name,
    text: &str,
    _: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // not a key of pi
    declare_words(&mut source, &PI_SYNTAX)?;
    Ok(Prompt {
        has_words: true,
        marks: &NONE,
        ..source.into_prompt(name, &PI_SYNTAX)
    })
}

/// Declares `$1` to `$9`, as far as the body has them.
///
/// # Errors
/// There would be too many arguments.
fn declare_words(source: &mut markdown::Source, syntax: &Syntax) -> Result<(), Diagnostic> {
    let argument = |number: u32| Argument {
        name: number.to_string(),
        ..Argument::default()
    };
    source.declare(syntax, (1..=9).map(argument).collect())?;
    // The second word goes to `$2`, whether there is a `$1` or not.
    let last = source
        .frontmatter
        .arguments
        .last()
        .and_then(|last| last.name.parse().ok())
        .unwrap_or(0);
    source.frontmatter.arguments = (1..=last).map(argument).collect();
    Ok(())
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
        let want = "the prompt has no place for the text from `c` on, which is left out";
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
            super::pi,
            "Create $1 with: $@",
            "Button \"a b\" c",
            "Create Button with: Button \"a b\" c",
        );
        check(super::pi, "Fix $ARGUMENTS", "a  b", "Fix a  b");
        check(super::pi, "Look, $@x", "", "Look, x");
        check(super::pi, "Look.", "a", "Look.\n\na");
    }
}
