//! Parses commands and skills of Claude Code, and the similar files of other programs: commands of
//! opencode and Cursor, and workflows of Antigravity and Windsurf.
//!
//! In Claude Code's files, `$ARGUMENTS` is the whole text that follows the command, and `$name` is
//! one word of it, if `name` is listed under `arguments` in the frontmatter. `$ARGUMENTS[1]` and
//! `$1` are words, too, counted from 0.
//!
//! Claude Code replaces `$1` in every file, even in a price such as `$5/month`. Here, it is text
//! unless the file shows that it takes words: with `argument-hint`, `arguments` or `$ARGUMENTS[1]`.

use super::frontmatter::{Dialect, Frontmatter};
use super::markdown::{self, MarkdownSource};
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::foreign_syntax::{CLAUDE_CODE, CURSOR, NONE, OPENCODE};
use crate::prompt::model::Prompt;
use crate::prompt::name::Name;
use crate::prompt::template::{
    ARGUMENTS, ArgumentNames, Escape, MessageTemplate, PlaceholderForm, PlaceholderSyntax,
    THREE_BRACES, TWO_ANGLES, TWO_BRACES,
};

/// `$ARGUMENTS`, or the name of a declared argument.
const WHOLE_TEXT_OR_NAME: PlaceholderForm = PlaceholderForm {
    arguments: ArgumentNames::Exact,
    ..ARGUMENTS
};

/// `$1`.
const WORD: PlaceholderForm = PlaceholderForm {
    input_name: None,
    arguments: ArgumentNames::Index,
    ..ARGUMENTS
};

/// `$ARGUMENTS[1]`.
const INDEXED_WORD: PlaceholderForm = PlaceholderForm {
    open: "$ARGUMENTS[",
    close: "]",
    ..WORD
};

/// The syntax of a file that does not take single words. `$1` is text.
const CLAUDE_SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[
        TWO_ANGLES,
        THREE_BRACES,
        TWO_BRACES,
        INDEXED_WORD,
        WHOLE_TEXT_OR_NAME,
    ],
    fallback: None,
    escape: Escape::BackslashAndDigit,
};

/// The syntax of a file that takes single words.
const CLAUDE_WORDS_SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[
        TWO_ANGLES,
        THREE_BRACES,
        TWO_BRACES,
        INDEXED_WORD,
        WORD,
        WHOLE_TEXT_OR_NAME,
    ],
    ..CLAUDE_SYNTAX
};

/// The number of the first word.
const FIRST_WORD_NUMBER: usize = 0;

/// The placeholders that show that a file takes single words.
const INDEXED_WORDS: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[INDEXED_WORD],
    ..CLAUDE_SYNTAX
};

/// All placeholders for single words by their number.
const NUMBERED_WORDS: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[INDEXED_WORD, WORD],
    ..CLAUDE_SYNTAX
};

const OPENCODE_SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[TWO_ANGLES, THREE_BRACES, TWO_BRACES, ARGUMENTS],
    fallback: None,
    ..PlaceholderSyntax::OWN
};

/// If the frontmatter isn't valid YAML, Claude Code quotes every value that contains one of these
/// characters, and tries again.
const CHARACTERS_THAT_CLAUDE_CODE_QUOTES: [char; 13] = [
    '{', '}', '[', ']', '*', '&', '#', '!', '|', '>', '%', '@', '`',
];

/// Parses a command of Claude Code.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_command(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Claude, text)?;
    source
        .warnings
        .retain(|warning| !is_repaired_by_claude_code(warning, text));
    Ok(into_claude_prompt(source, name))
}

/// Returns whether a warning is about a line that Claude Code itself repairs. For example, it reads
/// the invalid `argument-hint: [file] [options]` as `argument-hint: "[file] [options]"`.
fn is_repaired_by_claude_code(warning: &Diagnostic, file_text: &str) -> bool {
    let Some(position) = warning.position else {
        return false;
    };
    let line = file_text.lines().nth(position.line - 1).unwrap_or_default();
    let Some((_, value)) = line.split_once(':') else {
        return false;
    };
    value.contains(CHARACTERS_THAT_CLAUDE_CODE_QUOTES)
}

/// Builds the prompt of a command or skill of Claude Code. As in Claude Code, each argument
/// receives one word of the text if the file contains placeholders such as `$name` or `$1`.
fn into_claude_prompt(mut source: MarkdownSource, name: &Name) -> Prompt {
    let mut syntax = &CLAUDE_SYNTAX;
    source.declare_numbered_arguments(&INDEXED_WORDS, FIRST_WORD_NUMBER);
    // `$1` may be a price. So it is an argument only if something else shows that the file takes
    // single words, which includes `$ARGUMENTS[1]`.
    if takes_single_words(&source.frontmatter) {
        syntax = &CLAUDE_WORDS_SYNTAX;
        source.declare_numbered_arguments(&NUMBERED_WORDS, FIRST_WORD_NUMBER);
    }
    let mut prompt = source.into_prompt(name, syntax);
    prompt.one_word_per_argument = prompt.messages.iter().any(has_dollar_placeholder);
    prompt.foreign_syntax = &CLAUDE_CODE;
    prompt
}

/// Returns whether a file takes single words of the text: it has an argument, or the key `arguments`
/// or `argument-hint`.
fn takes_single_words(frontmatter: &Frontmatter) -> bool {
    let has_hint = frontmatter
        .ignored_keys
        .iter()
        .any(|ignored| ignored.key == "argument-hint");
    has_hint || frontmatter.has_arguments_key || !frontmatter.arguments.is_empty()
}

/// Returns whether a message has a placeholder such as `$ARGUMENTS` or `$name`, not just
/// `{{name}}`.
fn has_dollar_placeholder(message: &MessageTemplate) -> bool {
    message
        .placeholders()
        .any(|placeholder| message.source_text(placeholder).starts_with('$'))
}

/// Parses a skill. Unlike [`parse_command`], it keeps the warnings about lines that Claude Code
/// would repair, because skills are shared with programs that don't.
///
/// # Errors
/// Fails if the skill has no text, or if the frontmatter exceeds a [limit](crate::prompt::limits)
/// or has `engine: jinja`.
pub(crate) fn parse_skill(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let source = markdown::read(Dialect::Claude, text)?;
    let mut prompt = into_claude_prompt(source, name);
    let has_text = prompt
        .messages
        .iter()
        .any(|message| !message.body().is_empty());
    if !has_text {
        return Err(Diagnostic::invalid(
            "the skill has no text",
            "write its instructions below the frontmatter",
        ));
    }
    prompt.has_base_directory_line = true;
    Ok(prompt)
}

/// Parses a command of opencode.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_opencode(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut prompt = markdown::read(Dialect::Other, text)?.into_prompt(name, &OPENCODE_SYNTAX);
    prompt.foreign_syntax = &OPENCODE;
    Ok(prompt)
}

/// Parses a command of Cursor.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_cursor(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut prompt =
        markdown::read(Dialect::Cursor, text)?.into_prompt(name, &PlaceholderSyntax::OWN);
    prompt.foreign_syntax = &CURSOR;
    Ok(prompt)
}

/// Parses a workflow of Antigravity or Windsurf. These programs have no placeholders of their own,
/// so this program's are used.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_workflow(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut prompt =
        markdown::read(Dialect::Other, text)?.into_prompt(name, &PlaceholderSyntax::OWN);
    prompt.foreign_syntax = &NONE;
    Ok(prompt)
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::testing::{check, parsed, refused, shown, warned};
    use crate::prompt::{Call, Parse};
    use std::collections::BTreeMap;

    const COMMAND: Parse = super::parse_command;

    #[test]
    fn arguments_is_the_text_exactly_as_typed() {
        check(
            COMMAND,
            "Fix issue $ARGUMENTS now.",
            "12 \"high prio\"",
            "Fix issue 12 \"high prio\" now.",
        );
        check(COMMAND, "Review.", "a b", "Review.\n\na b");
        check(
            COMMAND,
            "$ARGUMENTS",
            "costs $& $$ $1 $ARGUMENTS",
            "costs $& $$ $1 $ARGUMENTS",
        );
        check(
            COMMAND,
            "Fix \\$ARGUMENTS: [$ARGUMENTS]",
            "",
            "Fix $ARGUMENTS: []",
        );
        check(
            COMMAND,
            "docs/$ARGUMENTS_notes.md $ARGUMENTS-1 $ARGUMENTS[] $ARGUMENTS[a]",
            "x",
            "docs/x_notes.md x-1 x[] x[a]",
        );
        check(COMMAND, "```\n$ARGUMENTS\n```", "x", "```\nx\n```");
        // Next to `{{input}}` too, unlike in a file of this program.
        check(COMMAND, "$ARGUMENTS {{input}}", "x", "x x");
        check(
            COMMAND,
            "awk '{print $1}' $0 $3.5M $10",
            "",
            "awk '{print $1}' $0 $3.5M $10",
        );
    }

    #[test]
    fn lines_between_two_rules_at_the_start_are_no_text_whatever_they_say() {
        let file = "---\nFor tickets, or other lists of tasks.\n---\n\nDivide $ARGUMENTS.";
        for format in [
            COMMAND,
            super::parse_skill,
            super::super::codex::parse,
            super::parse_opencode,
            super::super::vscode::parse,
        ] {
            let prompt = parsed(format, file);
            assert!(
                !prompt
                    .expand(Call::Text("x"))
                    .unwrap()
                    .into_text()
                    .contains("tickets"),
                "{format:?}"
            );
            let warnings = prompt.warnings();
            let has_warning = warnings
                .iter()
                .any(|warning| warning.message.contains("they are left out"));
            assert!(has_warning, "{warnings:?}");
        }
        check(COMMAND, file, "x", "Divide x.");
        check(COMMAND, "---\n---\nA", "", "A");
        check(COMMAND, "---\nnever closed", "", "---\nnever closed");
    }

    #[test]
    fn text_that_yaml_drops_is_a_warning_in_every_format() {
        for format in [
            COMMAND,
            super::parse_skill,
            super::parse_opencode,
            super::parse_cursor,
            super::super::codex::parse,
            super::super::vscode::parse,
            super::super::markdown::parse,
        ] {
            let file = "---\ndescription: Post in the #deploys channel\nname: p\n---\nText.";
            let want = "2:14: `#deploys channel` is not part of `description`, because YAML reads it as a comment; \
                        write `description: \"Post in the #deploys channel\"` if it is text";
            warned(format, file, &[want]);
        }
    }

    #[test]
    fn broken_frontmatter_is_a_warning_and_a_placeholder_in_arguments_declares_nothing() {
        for (value, want) in [
            ("$QUERY", vec![]),
            ("[$1, issue]", vec!["issue"]),
            ("issue $2", vec!["issue"]),
        ] {
            let prompt = parsed(COMMAND, &format!("---\narguments: {value}\n---\nFind it."));
            assert_eq!(
                prompt
                    .value_names()
                    .iter()
                    .filter(|name| **name != "input")
                    .copied()
                    .collect::<Vec<_>>(),
                want
            );
        }
        warned(
            COMMAND,
            "---\nargument-hint: [file] [options]\n---\nDo $ARGUMENTS",
            &[],
        );
        for format in [COMMAND, super::parse_skill] {
            let file = "---\ndescription: \"a \"b\" c\"\nname: p\n---\nText.";
            assert_eq!(
                parsed(format, file).description.as_deref(),
                Some("a \"b\" c")
            );
            let want = "2:14: the value of `description` is not valid YAML without quotes, and is read as text; write \
                        `description: 'a \"b\" c'`";
            assert_eq!(shown(&parsed(format, file).warnings()[0]), want);
        }
        warned(
            super::parse_opencode,
            "---\ndescription: a: b\n---\nText.",
            &[],
        );
    }

    #[test]
    fn a_name_in_arguments_is_a_word_of_the_text() {
        let file = "---\narguments: [issue, branch]\n---\nCost \\$1 for $issue on $branch$x.";
        check(COMMAND, file, "12 main", "Cost $1 for 12 on main$x.");
        check(COMMAND, file, "12", "Cost $1 for 12 on $x.");
        check(COMMAND, file, "'1 2' main", "Cost $1 for 1 2 on main$x.");
        check(COMMAND, file, "branch=main 12", "Cost $1 for 12 on main$x.");
        check(COMMAND, file, "$branch b", "Cost $1 for $branch on b$x.");
        let text = "---\narguments: issue branch 1\n---\n$issue/$branch $issues $issue[0] \\$issue: $ARGUMENTS";
        check(
            COMMAND,
            text,
            "12 main \"and more\"",
            "12/main $issues $issue[0] $issue: 12 main \"and more\"",
        );
        assert_eq!(
            parsed(COMMAND, text).value_names(),
            ["issue", "branch", "input"]
        );
        let longest = "---\narguments: [a, a-b]\n---\n$a-b $a-c";
        check(COMMAND, longest, "1 2", "2 1-c");
    }

    #[test]
    fn a_file_that_takes_words_counts_them_from_0() {
        for (keys, body, text, want) in [
            // Outputs of Claude Code 2.1.197.
            (
                "argument-hint: [issue] [priority]",
                "Fix #$1 with priority $2",
                "one two three",
                "Fix #two with priority three",
            ),
            (
                "argument-hint: x",
                "Fix #$1 at $5/month",
                "a",
                "Fix # at /month",
            ),
            (
                "arguments: issue priority",
                "$issue is $0, $1, $2",
                "a 'b c' d",
                "a is a, b c, d",
            ),
            ("", "$ARGUMENTS[1] of $ARGUMENTS, $0", "a b", "b of a b, a"),
            // The word ends with the number.
            (
                "argument-hint: x",
                "$0. $1st $0-a $10 $0x",
                "a b",
                "a. $1st a-a $10 $0x",
            ),
            (
                "argument-hint: x",
                "\\$0 \\$ARGUMENTS[0] $21 $100",
                "a",
                "$0 $ARGUMENTS[0] $21 $100\n\na",
            ),
            ("arguments: $1", "Do $1", "a b", "Do b"),
            // Without a sign of words, it is a price or code.
            (
                "description: D",
                "It costs $5/month. $ARGUMENTS",
                "a",
                "It costs $5/month. a",
            ),
            (
                "description: D",
                "\\$ARGUMENTS[0] is $0",
                "a",
                "$ARGUMENTS[0] is $0\n\na",
            ),
        ] {
            let file = format!("---\n{keys}\n---\n{body}");
            check(COMMAND, &file, text, want);
            check(super::parse_skill, &file, text, want);
        }
    }

    #[test]
    fn a_number_above_9_is_a_price_and_no_argument() {
        let hint = "argument-hint: x";
        for (body, names) in [
            ("cheap at $20", &["input"][..]),
            ("$1 at $10 or $ARGUMENTS[12]", &["0", "1"]),
            (
                "$9 at $19",
                &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            ),
        ] {
            let prompt = parsed(COMMAND, &format!("---\n{hint}\n---\n{body}"));
            assert_eq!(prompt.value_names(), names, "{body}");
        }
        let prompt = parsed(super::super::codex::parse_pi, "$1, cheap at $20");
        assert_eq!(prompt.value_names(), ["1"]);
    }

    #[test]
    fn words_without_a_place_are_left_out_with_a_warning() {
        let prompt = parsed(COMMAND, "---\narguments: [issue]\n---\nFix $issue.");
        check(
            COMMAND,
            "---\narguments: [issue]\n---\nFix $issue.",
            "12 now please",
            "Fix 12.",
        );
        let want = "the text from `now` on is dropped, because no argument is left to take it";
        assert_eq!(prompt.bind(Call::Text("12 now please")).warnings, [want]);
        assert!(prompt.bind(Call::Text("12")).warnings.is_empty());
        let words = ["12".to_owned(), "now".to_owned()];
        assert_eq!(
            prompt
                .bind(Call::Shell {
                    words: &words,
                    piped: "",
                    pipe_index: 0
                })
                .warnings,
            [want]
        );
    }

    #[test]
    fn a_1_without_a_0_is_a_warning_because_words_are_counted_from_0() {
        for (body, want) in [
            (
                "Review $1",
                &[
                    "4:8: `$1` is the second word in Claude Code, and no placeholder takes the first; count the words from `$0` if \
                      the first word is meant",
                ][..],
            ),
            ("$0 and $1", &[]),
            ("Do $ARGUMENTS with $1", &[]),
            ("Do {{input}} with $1", &[]),
        ] {
            let file = format!("---\nargument-hint: x\n---\n{body}");
            warned(COMMAND, &file, want);
        }
        warned(COMMAND, "---\narguments: [a]\n---\nDo $1", &[]);
    }

    #[test]
    fn words_of_a_shell_and_values_by_name_are_divided_like_a_text() {
        let prompt = parsed(COMMAND, "---\narguments: [a, b]\n---\n[$a][$b] $ARGUMENTS");
        let words = ["x y".to_owned(), "z".to_owned(), "w".to_owned()];
        let expanded = |call| prompt.expand(call).unwrap().into_text();
        assert_eq!(
            expanded(Call::Shell {
                words: &words,
                piped: "",
                pipe_index: 0
            }),
            "[x y][z] x y z w"
        );
        assert_eq!(
            expanded(Call::Shell {
                words: &words[..1],
                piped: "p\n",
                pipe_index: 1
            }),
            "[x y][p\n] x y\n\np\n"
        );
        let [first, piped] = ["[$a][$b]", "$a"]
            .map(|body| parsed(COMMAND, &format!("---\narguments: [a, b]\n---\n{body}")));
        let error = first
            .bind(Call::Shell {
                words: &words[..2],
                piped: "p",
                pipe_index: 2,
            })
            .error
            .unwrap()
            .to_string();
        assert_eq!(
            error,
            "no argument can take `p`; write `:p [a=…] [b=…]`, with quotes around a value of several words"
        );
        let text = "piped, in several words";
        assert_eq!(
            piped
                .expand(Call::Shell {
                    words: &[],
                    piped: text,
                    pipe_index: 0
                })
                .unwrap()
                .into_text(),
            text
        );
        let values = BTreeMap::from([("b".to_owned(), "$a".to_owned())]);
        assert_eq!(
            expanded(Call::Named {
                values: &values,
                input: "in",
                is_strict: true
            }),
            "[][$a] in"
        );
    }

    #[test]
    fn a_frontmatter_that_yaml_refuses_or_that_is_never_closed_costs_nothing() {
        let file = "---\nargument-hint: [file] [options]\ndescription: Do: it\n---\nDo $ARGUMENTS";
        check(COMMAND, file, "x", "Do x");
        assert_eq!(parsed(COMMAND, file).description.as_deref(), Some("Do: it"));
        check(COMMAND, "---\nDo $ARGUMENTS", "x", "---\nDo x");
    }

    #[test]
    fn a_skill_begins_with_its_base_directory_which_is_never_searched_for_placeholders() {
        let skill = |file: &str| {
            parsed(super::parse_skill, file).with_base_directory("/h/$ARGUMENTS/{{input}}/pdf")
        };
        let expanded =
            |file: &str, text: &str| skill(file).expand(Call::Text(text)).unwrap().into_text();
        let base = "Base directory for this skill: /h/$ARGUMENTS/{{input}}/pdf\n\n";
        let file = "---\nname: pdf\ndescription: D\n---\nUse scripts/fill.py.\n";
        assert_eq!(expanded(file, ""), format!("{base}Use scripts/fill.py."));
        assert_eq!(
            expanded(file, "a.pdf"),
            format!("{base}Use scripts/fill.py.\n\na.pdf")
        );
        assert_eq!(
            expanded("Fill $ARGUMENTS", "a.pdf"),
            format!("{base}Fill a.pdf")
        );
        let command = parsed(COMMAND, "Do").with_base_directory("/h");
        assert_eq!(command.expand(Call::Text("")).unwrap().into_text(), "Do");
    }

    #[test]
    fn a_skill_without_text_is_a_problem() {
        let want = "the skill has no text; write its instructions below the frontmatter";
        refused(super::parse_skill, "---\nname: pdf\n---\n\n", want);
        refused(super::parse_skill, "", want);
    }

    #[test]
    fn what_is_typed_follows_the_text_of_a_workflow() {
        let file = "---\ndescription: How to deploy\nauto_execution_mode: 3\n---\n// turbo\n1. Run `make`, see @README.md.";
        check(
            super::parse_workflow,
            file,
            "staging",
            "// turbo\n1. Run `make`, see @README.md.\n\nstaging",
        );
        assert_eq!(
            parsed(super::parse_workflow, file).description.as_deref(),
            Some("How to deploy")
        );
        warned(super::parse_workflow, file, &[]);
    }
}
