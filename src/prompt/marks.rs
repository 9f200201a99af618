//! Marks at which other programs do something: run a command, read a file, put in a word. Nothing
//! of that happens here; `check` and `explain` say so, and what the program for which the file is
//! written would do. Marks in code are examples.

use super::diagnostic::Diagnostic;
use super::outline::Code;
use super::template::MessageTemplate;
use super::text::beginning;
use crate::wording::quoted;
use std::collections::HashSet;
use std::ops::Range;

/// At which marks a program does something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// What the program is called.
    title: &'static str,
    marks: &'static [Mark],
}

/// Marks of one kind, of which each message gets one warning.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    open: &'static str,
    /// What ends it, in the same line; empty: the end of a word.
    close: &'static str,
    /// What the program does with "it".
    does: &'static str,
    fix: &'static str,
}

const fn mark(open: &'static str, close: &'static str, does: &'static str) -> Mark {
    Mark {
        open,
        close,
        does,
        fix: "the agent gets the text, and decides what to do with it",
    }
}

const COMMAND: Mark = mark("!`", "`", "run");
const FILE: Mark = mark("@", "", "attach");
const WORD: Mark = mark("$", "", "replace");

/// Those of this program, which does nothing. Its files were perhaps written for another one.
pub(super) static OWN: Marks = Marks {
    title: "prompt-expander",
    marks: &[
        Mark {
            does: "only names in braces are replaced",
            fix: "declare an argument and write `{{name}}`, or write `{{input}}` for the whole text",
            ..WORD
        },
        Mark {
            does: "no command is run",
            fix: "tell the agent to run the command, and leave out the `!`",
            ..COMMAND
        },
        Mark {
            does: "no file is included",
            fix: "tell the agent to read the file, or put the name in backticks",
            ..FILE
        },
        Mark {
            fix: "write it alone in its line, and `include: true` in the frontmatter, or put it in backticks if it is an example",
            ..mark("{{>", "}}", "no file is included")
        },
        Mark {
            fix: "write `engine: jinja` in the frontmatter, or put it in a code block if it is an example",
            ..mark("{%", "%}", "no template engine processes it")
        },
    ],
};
pub(super) static CLAUDE_CODE: Marks = Marks {
    title: "Claude Code",
    marks: &[COMMAND, FILE, WORD, mark("${CLAUDE_", "}", "replace")],
};
pub(super) static OPENCODE: Marks = Marks {
    title: "opencode",
    marks: &[COMMAND, FILE, WORD],
};
pub(super) static CURSOR: Marks = Marks {
    title: "Cursor",
    marks: &[FILE],
};
pub(super) static CONTINUE: Marks = Marks {
    title: "Continue",
    marks: &[FILE],
};
pub(super) static GEMINI: Marks = Marks {
    title: "Gemini CLI",
    marks: &[mark("!{", "}", "run"), mark("@{", "}", "read")],
};
pub(super) static VS_CODE: Marks = Marks {
    title: "VS Code",
    marks: &[mark("#file:", "", "attach"), mark("#tool:", "", "enable")],
};
/// Those of a program that does nothing else than replace placeholders.
pub(super) static NONE: Marks = Marks {
    title: "",
    marks: &[],
};

/// The warnings about a message of a file. `in_commands`: the file has a key that only command
/// files of other programs have, in which `$1` is an argument.
pub(super) fn warnings(
    marks: &Marks,
    all: &[MessageTemplate],
    message: &MessageTemplate,
    in_commands: bool,
) -> Vec<Diagnostic> {
    let body = message.body();
    let placeholders: HashSet<usize> = message
        .placeholders()
        .map(|placeholder| placeholder.range.start)
        .collect();
    let mut code = None;
    let warning = |mark: &Mark| {
        // Every tag of a template was understood, and what looks like one is in `{% raw %}`.
        let is_understood = message.jinja().is_some() && mark.open.starts_with('{');
        let mut found = if is_understood {
            Vec::new()
        } else {
            mark.find(body)
        };
        if !found.is_empty() {
            let code = code.get_or_insert_with(|| Code::of(body));
            found.retain(|range| {
                !code.contains(range.start) && !placeholders.contains(&range.start)
            });
        }
        let is_price =
            mark.open == WORD.open && !in_commands && !are_arguments(all, message, &found);
        let first = found.first().filter(|_| !is_price)?;
        let consequence = match *marks == OWN {
            true => mark.does.to_owned(),
            false => format!("{} would {} it", marks.title, mark.does),
        };
        let text = format!(
            "{} stays as written: {consequence}",
            quoted(&body[first.clone()])
        );
        Some(Diagnostic::warning(
            Some(message.positions().at(first.start)),
            text,
            mark.fix,
        ))
    };
    marks.marks.iter().filter_map(warning).collect()
}

/// The longest text within a mark, in bytes.
const MAX_MARK: usize = 200;

impl Mark {
    fn find(&self, body: &str) -> Vec<Range<usize>> {
        let found = body.match_indices(self.open).filter_map(|(at, open)| {
            let inside = at + open.len();
            let line = beginning(&body[inside..], MAX_MARK).lines().next()?;
            let is_end =
                |letter: char| letter.is_whitespace() || "\"'`()<>[]{},;:!?@*|".contains(letter);
            let text = match self.close {
                "" => line[..line.find(is_end).unwrap_or(line.len())].trim_end_matches('.'),
                close => line.split_once(close)?.0,
            };
            let end = inside + text.len() + self.close.len();
            // Of several braces, the last one closes: `!{git diff {{args}}}`.
            let braces = body[end..]
                .bytes()
                .take_while(|byte| self.close.ends_with('}') && *byte == b'}')
                .count();
            (!text.is_empty() && self.fits(&body[..at], text)).then_some(at..end + braces)
        });
        found.collect()
    }

    /// Whether it is a mark, by the text before it and that within it. All else is ordinary text.
    fn fits(&self, before: &str, text: &str) -> bool {
        match self.open {
            "!`" | "#file:" | "#tool:" => begins_a_word(before),
            "@" => begins_a_word(before) && is_path(text),
            // `$1` to `$9`, but not `$1.50` or `$10`
            "$" => {
                !before.ends_with(|letter: char| letter.is_alphanumeric() || "$\\".contains(letter))
                    && matches!(text.as_bytes(), [b'1'..=b'9'])
            }
            "{{>" => !text.contains(['{', '>']) && !text.trim().is_empty(),
            "{%" => is_tag(text),
            _ => true,
        }
    }
}

/// Whether a mark after this text begins a word.
fn begins_a_word(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|letter| letter.is_whitespace() || letter == '(')
}

/// Whether these are arguments and not prices: there is `$1`, and no placeholder and no `$10`; or
/// besides `$ARGUMENTS` a further number. A prompt with other placeholders has them where it means
/// them.
fn are_arguments(
    all: &[MessageTemplate],
    message: &MessageTemplate,
    found: &[Range<usize>],
) -> bool {
    let is_first = |range: &Range<usize>| &message.body()[range.clone()] == "$1";
    let mut written = all
        .iter()
        .flat_map(|message| message.placeholders().map(|it| message.written(it)));
    let has_input = all
        .iter()
        .any(|message| message.placeholders().next().is_some());
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let is_price = |after: &str| match after.as_bytes() {
        [first, b'.' | b',', rest @ ..] | [first, rest @ ..] => {
            is_digit(Some(first)) && is_digit(rest.first())
        }
        [] => false,
    };
    let has_price = || message.body().split('$').skip(1).any(is_price);
    let is_several = !found.iter().all(is_first);
    let has_own = written.any(|it| !it.starts_with('$'));
    !has_own && found.iter().any(is_first) && (is_several || !(has_input || has_price()))
}

/// `src/main.rs` and `./notes`, but not `someone`, `types/node` or `example.com`.
fn is_path(word: &str) -> bool {
    const SUFFIXES: &str = " c cpp css csv go h html ini java js json jsonc jsx kt lock log md mdx php py rb rs sh sql swift toml \
                            ts tsx txt xml yaml yml ";
    let is_rooted = ["./", "../", "~/", "/"]
        .iter()
        .any(|root| word.len() > root.len() && word.starts_with(root));
    let suffix = word
        .rsplit('/')
        .next()
        .and_then(|file| file.rsplit_once('.'));
    is_rooted || suffix.is_some_and(|(_, suffix)| SUFFIXES.contains(&format!(" {suffix} ")))
}

/// Whether a tag of a template engine includes or sets something, or begins a block.
fn is_tag(tag: &str) -> bool {
    const NAMES: [&str; 15] = [
        "include", "extends", "import", "from", "render", "set", "assign", "if", "for", "block",
        "macro", "unless", "case", "with", "capture",
    ];
    let mut words = tag.trim_matches(['-', '+', '~']).split_whitespace();
    words.next().is_some_and(|name| NAMES.contains(&name)) && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::{claude, codex, gemini, markdown, testing, vscode};
    use crate::prompt::import::continue_dev;

    #[test]
    fn marks_of_other_programs_get_one_warning_for_each_kind() {
        let own = "Issue #$1, priority $2.\n\n- status: !`git status`\n- log: !`git log`\n\nSee @src/main.rs (@./notes)\n\
                   {{> header}}\n{% include \"x\" %} {%- if y -%} {{> footer}}\n";
        for (parse, file, want) in [
            (
                markdown::parse as crate::prompt::Parse,
                own,
                &[
                    "1:8: `$1` stays as written: only names in braces are replaced",
                    "3:11: `` !`git status` `` stays as written: no command is run",
                    "6:5: `@src/main.rs` stays as written: no file is included",
                    "7:1: `{{> header}}` stays as written: no file is included",
                    "8:1: `{% include \"x\" %}` stays as written: no template engine processes it",
                ][..],
            ),
            (
                markdown::parse,
                "---\nargument-hint: \"[file]\"\n---\nRead $1",
                &["4:6: `$1` stays as written: only names in braces are replaced"],
            ),
            (
                claude::command,
                "---\nargument-hint: issue\n---\nStatus: !`git status` @src/main.rs and $2, ${CLAUDE_PLUGIN_ROOT}/x\n\
                 Fix ${CLAUDE_",
                &[
                    "4:9: `` !`git status` `` stays as written: Claude Code would run it",
                    "4:23: `@src/main.rs` stays as written: Claude Code would attach it",
                    "4:40: `$2` stays as written: Claude Code would replace it",
                    "4:44: `${CLAUDE_PLUGIN_ROOT}` stays as written: Claude Code would replace it",
                ],
            ),
            (
                claude::command,
                "{{args}} {{name}} {input} {% if x %} costs $1.50 $ARGUMENTS",
                &[],
            ),
            // `allowed-tools` is a key of skills, too, and says nothing of arguments.
            (
                claude::command,
                "---\nallowed-tools: Bash\n---\nA kit for $5 and $9",
                &[],
            ),
            (
                claude::command,
                "Review PR $1. `$2`",
                &["1:11: `$1` stays as written: Claude Code would replace it"],
            ),
            (
                markdown::parse,
                "Review $1",
                &["1:8: `$1` stays as written: only names in braces are replaced"],
            ),
            (
                claude::opencode,
                "!`git log` $ARGUMENTS",
                &["1:1: `` !`git log` `` stays as written: opencode would run it"],
            ),
            (codex::parse, "Do $1 with $PATH and !`ls`", &[]),
            (
                gemini::parse,
                "prompt = '''\nDiff: !{git diff {{args}}}\nNotes: @{notes.md}\n'''",
                &[
                    "2:7: `!{git diff {{args}}}` stays as written: Gemini CLI would run it",
                    "3:8: `@{notes.md}` stays as written: Gemini CLI would read it",
                ],
            ),
            (
                vscode::parse,
                "Do ${input:a b:which?} with #file:src/a.rs,\n#tool:search and ${selection}",
                &[
                    "1:29: `#file:src/a.rs` stays as written: VS Code would attach it",
                    "2:1: `#tool:search` stays as written: VS Code would enable it",
                ],
            ),
            (
                continue_dev::parse,
                "Review @src/main.rs {{{ input }}}",
                &["1:8: `@src/main.rs` stays as written: Continue would attach it"],
            ),
        ] {
            let mut warnings = testing::parsed(parse, file).warnings();
            warnings.retain(|warning| warning.message.contains(" as written: "));
            let shown: Vec<String> = warnings
                .iter()
                .map(|warning| format!("{}: {}", warning.position.unwrap(), warning.message))
                .collect();
            assert_eq!(shown, want, "{file}");
        }
    }

    #[test]
    fn ordinary_text_and_code_have_no_marks() {
        for fine in [
            "It costs $1: {{input}}",
            "Fix $ARGUMENTS for $1.",
            "From $1 to $10, $1.50 or $1,000.",
            "US$1, $5 and $9: prices.",
            "It costs $2.",
            "Replace {{input}} by $2-$1.",
            "Ask @someone, @rust-lang/core or me@example.com; use @types/node and @example.com.",
            "@Override and @app.route('/') are decorators.",
            "Write `@src/main.rs`, `$1 $2`, `{{> x}}` and `{% include \"x\" %}`.",
            "Great!`x` is code, and so is `!`.",
            "```sh\necho $1 $2 @a.md !`x`\n{{> x}} {% set x = 1 %}\n```",
            "    echo $1 $2 > @a.md",
            "Close {% if %} by {% endif %}. Use 100{% of it %}.",
            "{{ x > y }} {{>}}",
        ] {
            testing::warned(markdown::parse, fine, &[]);
        }
    }
}
