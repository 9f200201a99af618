//! Commands and skills of Claude Code: Markdown in which `$ARGUMENTS` is the whole text, and `$name` is a word of it if the
//! frontmatter names it in `arguments`.

use super::markdown_writer::{quoted, scalar, with_markers};
use super::yaml::{self, Value};
use super::{frontmatter, markdown};
use crate::prompt::conversion::{Content, KEPT, Kept, Segment};
use crate::prompt::{Argument, Diagnostic, Format, INPUT, MAX_FILE, Name, Prompt};
use crate::wording::all_of;
use std::collections::BTreeSet;

/// Reads the text of a command, or of a skill.
///
/// # Errors
/// Those of the frontmatter; or it is a skill without text.
pub(super) fn parse(format: Format, name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let source = markdown::read(format, text)?;
    if format == Format::Skill && source.body.is_empty() {
        return Err(Diagnostic::error(None, "the skill has no text", "write its instructions below the frontmatter"));
    }
    Ok(source.into_prompt(format, name))
}

/// Writes a command: the input is `$ARGUMENTS`, and so is an only argument; others are `$name`, one word each.
pub(in crate::prompt) fn write(content: &Content, kept: Option<&Kept>) -> (String, Vec<Diagnostic>) {
    let only = content.only_argument();
    let names: Vec<&str> = match only {
        Some(_) => Vec::new(),
        None => content.arguments.iter().map(|argument| argument.name.as_str()).collect(),
    };
    let mut unfilled = BTreeSet::new();
    let (body, _) = with_markers(&content.messages, |body, segments, at| match &segments[at] {
        Segment::Text(text) => body.push_str(&escaped(text, &names)),
        Segment::Placeholder(name) if Some(name.as_str()) == only => body.push_str("$ARGUMENTS"),
        Segment::Placeholder(name) if name == INPUT && !names.contains(&INPUT) => body.push_str("$ARGUMENTS"),
        Segment::Placeholder(name) => {
            let is_joined = |next: char| next.is_alphanumeric() || "_[-".contains(next);
            let next = segments.get(at + 1);
            let ends = !matches!(next, Some(Segment::Text(text)) if text.starts_with(is_joined));
            if is_name(name) && ends {
                body.extend(["$", name]);
            } else {
                unfilled.insert(format!("{{{{{name}}}}}"));
                body.extend(["{{", name, "}}"]);
            }
        }
    });
    let mut lines = String::new();
    if let Some(description) = &content.description {
        lines += &format!("description: {}\n", scalar(description));
    }
    if !content.arguments.is_empty() {
        let hint = |argument: &Argument| match argument.is_needed() {
            true => format!("<{}>", argument.name),
            false => format!("[{}]", argument.name),
        };
        let hints: Vec<String> = content.arguments.iter().map(hint).collect();
        lines += &format!("argument-hint: {}\n", quoted(&hints.join(" ")));
    }
    if !names.is_empty() {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        lines += &format!("arguments: [{}]\n", names.join(", "));
    }
    if let Some(Kept { frontmatter, body }) = kept {
        lines += &format!("{KEPT}:\n{}", if frontmatter.is_empty() { "" } else { "  frontmatter: |\n" });
        lines.extend(frontmatter.lines().map(|line| format!("    {line}\n")));
        lines.extend(body.iter().map(|body| format!("  body: {}\n", quoted(body))));
    }
    let fences = if lines.is_empty() && !body.starts_with("---") { "" } else { "---\n" };
    let notes = (!unfilled.is_empty()).then(|| {
        let unfilled: Vec<&String> = unfilled.iter().collect();
        let message = format!("Claude Code does not fill in {}", all_of(&unfilled));
        let fix = "use names that begin with a letter, and a space or a punctuation mark after the placeholder";
        Diagnostic::warning(None, message, fix)
    });
    (format!("{fences}{lines}{fences}{body}\n"), notes.into_iter().collect())
}

/// Whether Claude Code fills in `$name`.
fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    name != "ARGUMENTS" && name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(is_letter)
}

/// A text in which Claude Code replaces nothing: a backslash is before each `$` that it would take for a placeholder.
fn escaped(text: &str, names: &[&str]) -> String {
    let mut escaped = String::new();
    let mut parts = text.split('$');
    escaped += parts.next().unwrap_or_default();
    for part in parts {
        let is_mark = part.starts_with(|first: char| first.is_ascii_digit())
            || part.starts_with("ARGUMENTS")
            || names.iter().any(|name| {
                let rest = part.strip_prefix(name);
                rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
            });
        escaped.extend([if is_mark { "\\$" } else { "$" }, part]);
    }
    escaped
}

/// What an exported command has for this program; `None` if it was not exported.
pub(in crate::prompt) fn kept(file: &str) -> Option<Kept> {
    let yaml = frontmatter::split(file).ok()?.yaml?;
    let Value::Map(fields) = yaml::parse(yaml, 2, &mut MAX_FILE.clone()).ok()?.value else { return None };
    let Value::Map(fields) = fields.into_iter().find(|field| field.key == KEPT)?.node.value else { return None };
    let text = |key: &str| {
        fields.iter().find(|field| field.key == key).and_then(|field| match &field.node.value {
            Value::Text { text, .. } => Some(text.clone()),
            _ => None,
        })
    };
    Some(Kept { frontmatter: text("frontmatter").unwrap_or_default(), body: text("body") })
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::testing::{check, parsed, refused, warned};
    use crate::prompt::{Call, Format};
    use std::collections::BTreeMap;

    const COMMAND: Format = Format::ClaudeCommand;

    #[test]
    fn arguments_is_the_text_exactly_as_typed() {
        check(COMMAND, "Fix issue $ARGUMENTS now.", "12 \"high prio\"", "Fix issue 12 \"high prio\" now.");
        check(COMMAND, "Review.", "a b", "Review.\n\na b");
        check(COMMAND, "$ARGUMENTS", "costs $& $$ $1 $ARGUMENTS", "costs $& $$ $1 $ARGUMENTS");
        check(COMMAND, "Fix \\$ARGUMENTS: [$ARGUMENTS]", "", "Fix $ARGUMENTS: []");
        check(COMMAND, "docs/$ARGUMENTS_notes.md $ARGUMENTS-1 $ARGUMENTS[0]", "x", "docs/x_notes.md x-1 $ARGUMENTS[0]");
        check(COMMAND, "```\n$ARGUMENTS\n```", "x", "```\nx\n```");
        // Next to `{{input}}` too, unlike in a file of this program.
        check(COMMAND, "$ARGUMENTS {{input}}", "x", "x x");
        check(COMMAND, "awk '{print $1}' $0 $3.5M $10", "", "awk '{print $1}' $0 $3.5M $10");
    }

    #[test]
    fn lines_between_two_rules_at_the_start_are_no_text_whatever_they_say() {
        let file = "---\nFor tickets, or other lists of tasks.\n---\n\nDivide $ARGUMENTS.";
        for format in [COMMAND, Format::Skill, Format::CodexPrompt, Format::OpenCodeCommand, Format::VsCodePrompt] {
            let prompt = parsed(format, file);
            assert!(!prompt.expand(Call::Text("x")).unwrap().into_text().contains("tickets"), "{format:?}");
            assert!(prompt.warnings()[0].message.contains("they are left out, as in "), "{:?}", prompt.warnings());
        }
        check(COMMAND, file, "x", "Divide x.");
        check(COMMAND, "---\n---\nA", "", "A");
        check(COMMAND, "---\nnever closed", "", "---\nnever closed");
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
        check(COMMAND, text, "12 main \"and more\"", "12/main $issues $issue[0] $issue: 12 main \"and more\"");
        assert_eq!(parsed(COMMAND, text).value_names(), ["issue", "branch", "input"]);
        let longest = "---\narguments: [a, a-b]\n---\n$a-b $a-c";
        check(COMMAND, longest, "1 2", "2 1-c");
    }

    #[test]
    fn words_without_a_place_are_left_out_with_a_warning() {
        let prompt = parsed(COMMAND, "---\narguments: [issue]\n---\nFix $issue.");
        check(COMMAND, "---\narguments: [issue]\n---\nFix $issue.", "12 now please", "Fix 12.");
        let want = "the prompt has no place for the text from `now` on, which is left out, as in Claude Code";
        assert_eq!(prompt.bind(Call::Text("12 now please")).warnings, [want]);
        assert!(prompt.bind(Call::Text("12")).warnings.is_empty());
        let words = ["12".to_owned(), "now".to_owned()];
        assert_eq!(prompt.bind(Call::Words(&words)).warnings, [want]);
    }

    #[test]
    fn words_of_a_shell_and_values_by_name_are_divided_like_a_text() {
        let prompt = parsed(COMMAND, "---\narguments: [a, b]\n---\n[$a][$b] $ARGUMENTS");
        let words = ["x y".to_owned(), "z".to_owned(), "w".to_owned()];
        let expanded = |call| prompt.expand(call).unwrap().into_text();
        assert_eq!(expanded(Call::Words(&words)), "[x y][z] x y z w");
        assert_eq!(expanded(Call::Piped { words: &words[..1], text: "p\n", at: 1 }), "[x y][p\n] x y\n\np\n");
        let [first, piped] =
            ["[$a][$b]", "$a"].map(|body| parsed(COMMAND, &format!("---\narguments: [a, b]\n---\n{body}")));
        let error = first.bind(Call::Piped { words: &words[..2], text: "p", at: 2 }).error.unwrap().to_string();
        assert_eq!(
            error,
            "`p` belongs to none of its arguments; write `:p [a=…] [b=…]`, with quotes around a value of several words"
        );
        let text = "piped, in several words";
        assert_eq!(piped.expand(Call::Piped { words: &[], text, at: 0 }).unwrap().into_text(), text);
        let values = BTreeMap::from([("b".to_owned(), "$a".to_owned())]);
        assert_eq!(expanded(Call::Named { values: &values, input: "in", is_strict: true }), "[][$a] in");
    }

    #[test]
    fn a_frontmatter_that_yaml_refuses_or_that_is_never_closed_costs_nothing() {
        let file = "---\nargument-hint: [file] [options]\ndescription: Do: it\n---\nDo $ARGUMENTS";
        check(COMMAND, file, "x", "Do x");
        assert_eq!(parsed(COMMAND, file).description.as_deref(), Some("Do: it"));
        warned(COMMAND, file, &[]);
        check(COMMAND, "---\nDo $ARGUMENTS", "x", "---\nDo x");
    }

    #[test]
    fn what_claude_code_would_run_or_attach_stays_and_check_says_so() {
        let file = "---\nallowed-tools: Bash(git:*)\n---\nStatus: !`git status`\n!`git\nlog` @src/main.rs and $2\n```!\nls\n```\n";
        check(COMMAND, file, "", file.split_once("---\n").unwrap().1.split_once("---\n").unwrap().1.trim_end());
        let fix = "the agent gets the text, and decides what to do with it";
        warned(
            COMMAND,
            file,
            &[
                &format!(
                    "4:9: `` !`git status` `` and 1 more like it stay as written: Claude Code would run them; {fix}"
                ),
                &format!("6:6: `@src/main.rs` stays as written: Claude Code would attach it; {fix}"),
                &format!("6:23: `$2` stays as written: Claude Code would replace it by a word of the input; {fix}"),
                &format!("7:1: `` ```! `` stays as written: Claude Code would run it; {fix}"),
            ],
        );
        warned(
            COMMAND,
            "Fix $ARGUMENTS[0] in ${CLAUDE_PLUGIN_ROOT}/x, $ARGUMENTS, \\$ARGUMENTS[1] $ARGUMENTS[x] ${CLAUDE_",
            &[
                &format!(
                    "1:5: `$ARGUMENTS[0]` stays as written: Claude Code would replace it by a word of the input; {fix}"
                ),
                &format!("1:22: `${{CLAUDE_PLUGIN_ROOT}}` stays as written: Claude Code would replace it; {fix}"),
            ],
        );
        warned(COMMAND, "{{args}} {{name}} {input} {% if x %} costs $1.50 $ARGUMENTS", &[]);
    }

    #[test]
    fn a_skill_begins_with_its_base_directory_which_is_never_searched_for_placeholders() {
        let skill = |file: &str| parsed(Format::Skill, file).with_base_directory("/h/$ARGUMENTS/{{input}}/pdf");
        let expanded = |file: &str, text: &str| skill(file).expand(Call::Text(text)).unwrap().into_text();
        let base = "Base directory for this skill: /h/$ARGUMENTS/{{input}}/pdf\n\n";
        let file = "---\nname: pdf\ndescription: D\n---\nUse scripts/fill.py.\n";
        assert_eq!(expanded(file, ""), format!("{base}Use scripts/fill.py."));
        assert_eq!(expanded(file, "a.pdf"), format!("{base}Use scripts/fill.py.\n\na.pdf"));
        assert_eq!(expanded("Fill $ARGUMENTS", "a.pdf"), format!("{base}Fill a.pdf"));
        let command = parsed(COMMAND, "Do").with_base_directory("/h");
        assert_eq!(command.expand(Call::Text("")).unwrap().into_text(), "Do");
    }

    #[test]
    fn a_skill_without_text_is_a_problem() {
        let want = "the skill has no text; write its instructions below the frontmatter";
        refused(Format::Skill, "---\nname: pdf\n---\n\n", want);
        refused(Format::Skill, "", want);
    }
}
