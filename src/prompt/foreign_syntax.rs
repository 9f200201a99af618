//! Marks at which other programs do something: run a command, read a file, replace a word. This
//! program does nothing there; `check` says so, and what the program for which the file is written
//! would do. Marks in code are examples.

use super::diagnostic::Diagnostic;
use super::file_text::truncate_at_boundary;
use super::template::MessageTemplate;
use crate::wording::quoted;
use std::ops::Range;

/// The marks that one program knows in a prompt file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForeignSyntax {
    /// The name of the program in a message.
    title: &'static str,
    pub(super) constructs: &'static [ForeignConstruct],
}

/// One kind of mark, such as `` !`git status` ``. Each message of a prompt gets one warning for
/// each kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForeignConstruct {
    /// What begins the mark: `` !` ``.
    pub(super) open: &'static str,
    /// What ends the mark in the same line: `` ` ``. If this is empty, the mark ends with its word.
    close: &'static str,
    consequence: Consequence,
    /// What to write instead. `…` stands for the text within the mark.
    fix: &'static str,
}

/// What a warning about a mark says.
#[derive(Debug, PartialEq, Eq)]
enum Consequence {
    /// The program for which the file is written would do this with the mark: `run`.
    ProgramWould(&'static str),
    /// This program does not do what the author may expect: `no command is run`.
    NotDone(&'static str),
}

use Consequence::{NotDone, ProgramWould};

/// Returns a kind of mark with which another program does something.
const fn construct(
    open: &'static str,
    close: &'static str,
    verb: &'static str,
    fix: &'static str,
) -> ForeignConstruct {
    ForeignConstruct {
        open,
        close,
        consequence: ProgramWould(verb),
        fix,
    }
}

const RUN: &str = "write 'Run …' instead";
const READ: &str = "write 'Read …' instead";

const COMMAND: ForeignConstruct = construct("!`", "`", "run", RUN);
const FILE: ForeignConstruct = construct("@", "", "attach", READ);
const WORD: ForeignConstruct =
    construct("$", "", "replace", "write `$ARGUMENTS` for the whole text");

/// The marks in files of this program, which were perhaps written for another one.
pub(super) static OWN: ForeignSyntax = ForeignSyntax {
    title: "prompt-expander",
    constructs: &[
        ForeignConstruct {
            consequence: NotDone("only names in braces are replaced"),
            fix: "declare an argument and write `{{name}}`, or write `{{input}}` for the whole text",
            ..WORD
        },
        ForeignConstruct {
            consequence: NotDone("no command is run"),
            ..COMMAND
        },
        ForeignConstruct {
            consequence: NotDone("no file is included"),
            ..FILE
        },
        ForeignConstruct {
            open: "{{>",
            close: "}}",
            consequence: NotDone("no file is included"),
            fix: "write it alone in its line, and `include: true` in the frontmatter, or put it in backticks if it is an example",
        },
        ForeignConstruct {
            open: "{%",
            close: "%}",
            consequence: NotDone("no template engine processes it"),
            fix: "write `engine: jinja` in the frontmatter, or put it in a code block if it is an example",
        },
    ],
};
pub(super) static CLAUDE_CODE: ForeignSyntax = ForeignSyntax {
    title: "Claude Code",
    constructs: &[
        COMMAND,
        FILE,
        WORD,
        construct("${CLAUDE_", "}", "replace", "write its value instead"),
    ],
};
pub(super) static OPENCODE: ForeignSyntax = ForeignSyntax {
    title: "opencode",
    constructs: &[COMMAND, FILE, WORD],
};
pub(super) static CURSOR: ForeignSyntax = ForeignSyntax {
    title: "Cursor",
    constructs: &[FILE],
};
pub(super) static CONTINUE: ForeignSyntax = ForeignSyntax {
    title: "Continue",
    constructs: &[FILE],
};
pub(super) static GEMINI: ForeignSyntax = ForeignSyntax {
    title: "Gemini CLI",
    constructs: &[
        construct("!{", "}", "run", RUN),
        construct("@{", "}", "read", READ),
    ],
};
pub(super) static VS_CODE: ForeignSyntax = ForeignSyntax {
    title: "VS Code",
    constructs: &[
        construct("#file:", "", "attach", READ),
        construct("#tool:", "", "enable", "write 'Use the tool …' instead"),
    ],
};
/// For a program that only replaces placeholders.
pub(super) static NONE: ForeignSyntax = ForeignSyntax {
    title: "",
    constructs: &[],
};

/// The longest text within a mark, in bytes.
const MAX_MARK: usize = 200;

impl ForeignSyntax {
    /// Returns the warning about a mark in this range of a message.
    pub(super) fn warning(
        &self,
        mark: &ForeignConstruct,
        message: &MessageTemplate,
        range: &Range<usize>,
    ) -> Diagnostic {
        let consequence = match mark.consequence {
            NotDone(clause) => clause.to_owned(),
            ProgramWould(verb) => format!("{} would {verb} it", self.title),
        };
        let written = &message.body()[range.clone()];
        let text_end = written.len() - mark.close.len();
        let inside = &written[mark.open.len()..text_end];
        Diagnostic::warning(
            Some(message.position_cursor().advance_to(range.start)),
            format!("{} stays as written: {consequence}", quoted(written)),
            mark.fix.replace('…', &quoted(inside)),
        )
    }
}

impl ForeignConstruct {
    /// Returns whether this is the mark for a word of the input, such as `$1`, which may also be a
    /// price.
    pub(super) fn is_dollar_word(&self) -> bool {
        self.open == WORD.open
    }

    /// Returns the ranges of a body that have such a mark, from its opening to its end: 4 to 17 for
    /// `` Use !`git status` ``.
    pub(super) fn find_all(&self, body: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        for (start, _) in body.match_indices(self.open) {
            if let Some(end) = self.end(body, start) {
                ranges.push(start..end);
            }
        }
        ranges
    }

    /// Returns the byte after the mark whose opening is at the byte `start`: 13 for
    /// `` !`git status` `` at the byte 0. Returns `None` if the text there only looks like the
    /// opening of a mark, as the `@` of `me@example.com` does.
    fn end(&self, body: &str, start: usize) -> Option<usize> {
        let text_start = start + self.open.len();
        let rest_of_line = truncate_at_boundary(&body[text_start..], MAX_MARK)
            .lines()
            .next()?;
        let text = self.text_within(rest_of_line)?;
        if text.is_empty() || !self.is_mark(&body[..start], text) {
            return None;
        }
        let end = text_start + text.len() + self.close.len();
        if self.close.ends_with('}') {
            // Of several braces, the last one closes the mark: `!{git diff {{args}}}`.
            let further_braces = body[end..].bytes().take_while(|byte| *byte == b'}').count();
            return Some(end + further_braces);
        }
        Some(end)
    }

    /// Returns the text between the opening and the end of a mark: `git status`. `rest_of_line` is
    /// what follows the opening in its line.
    fn text_within<'l>(&self, rest_of_line: &'l str) -> Option<&'l str> {
        if self.close.is_empty() {
            let word = rest_of_line.split(is_end_of_word).next()?;
            return Some(word.trim_end_matches('.')); // a full stop ends the sentence
        }
        let (text, _) = rest_of_line.split_once(self.close)?;
        Some(text)
    }

    /// Returns whether an opening begins a mark, judging by the text before it and the text within
    /// the mark: `@` does in `see @src/main.rs`, and not in `see @someone`.
    fn is_mark(&self, before: &str, text: &str) -> bool {
        match self.open {
            "!`" | "#file:" | "#tool:" => may_precede_word(before),
            "@" => may_precede_word(before) && is_path(text),
            "$" => is_word_number(before, text),
            "{{>" => !text.contains(['{', '>']) && !text.trim().is_empty(),
            "{%" => is_tag(text),
            _ => true,
        }
    }
}

/// Returns whether `$` and a text stand for a word: `$1` to `$9`, but not `$1.50`, `$10` or `US$1`.
fn is_word_number(before: &str, text: &str) -> bool {
    let continues_word = before.ends_with(char::is_alphanumeric) || before.ends_with(['$', '\\']);
    !continues_word && matches!(text.as_bytes(), [b'1'..=b'9'])
}

/// Returns whether a character ends a mark without a closing, such as `@src/main.rs`.
fn is_end_of_word(letter: char) -> bool {
    letter.is_whitespace() || "\"'`()<>[]{},;:!?@*|".contains(letter)
}

/// Returns whether a word may begin after this text: at the beginning, after a blank or after `(`.
fn may_precede_word(before: &str) -> bool {
    before.is_empty() || before.ends_with(char::is_whitespace) || before.ends_with('(')
}

/// The ends of the names of files that prompts attach.
const SUFFIXES: [&str; 32] = [
    "c", "cpp", "css", "csv", "go", "h", "html", "ini", "java", "js", "json", "jsonc", "jsx", "kt",
    "lock", "log", "md", "mdx", "php", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts", "tsx",
    "txt", "xml", "yaml", "yml",
];

/// Returns whether a word looks like the path of a file: `src/main.rs` and `./notes`, but not
/// `someone`, `types/node` or `example.com`.
fn is_path(word: &str) -> bool {
    for root in ["./", "../", "~/", "/"] {
        if word.starts_with(root) && word.len() > root.len() {
            return true;
        }
    }
    let file = word.rsplit('/').next().unwrap_or(word);
    match file.rsplit_once('.') {
        Some((_, suffix)) => SUFFIXES.contains(&suffix),
        None => false,
    }
}

/// The names of tags that include or set something, or begin a block.
const TAGS: [&str; 15] = [
    "include", "extends", "import", "from", "render", "set", "assign", "if", "for", "block",
    "macro", "unless", "case", "with", "capture",
];

/// Returns whether the text within `{%` and `%}` is a tag of a template engine with an operand,
/// such as `include "x"` or `if y`.
fn is_tag(tag: &str) -> bool {
    let mut words = tag.trim_matches(['-', '+', '~']).split_whitespace();
    let Some(name) = words.next() else {
        return false;
    };
    TAGS.contains(&name) && words.next().is_some()
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
