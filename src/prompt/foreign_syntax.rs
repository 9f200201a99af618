//! Constructs of other programs that have no effect here: for example, Claude Code runs `` !`git
//! status` ``, but we leave it in the text. `check` warns about them. Constructs in code blocks and
//! code spans are treated as examples and ignored.

use super::diagnostic::Diagnostic;
use super::file_text::truncate_at_boundary;
use super::template::MessageTemplate;
use crate::wording::quoted;
use std::ops::Range;

/// The constructs of one program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForeignSyntax {
    /// The program's name, as shown in messages.
    pub(super) title: &'static str,
    pub(super) constructs: &'static [ForeignConstruct],
}

/// A kind of construct, e.g. `` !`command` ``. Each message of a prompt gets at most one warning
/// per kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForeignConstruct {
    /// The opening delimiter, e.g. `` !` ``.
    pub(super) open: &'static str,
    /// The closing delimiter on the same line, e.g. `` ` ``. If empty, the construct ends with the
    /// word.
    close: &'static str,
    condition: StartCondition,
    consequence: Consequence,
    /// What to write instead. `…` is replaced with the contents of the construct.
    fix: &'static str,
}

/// When an opening delimiter starts a construct. Delimiters that are common in ordinary text, such
/// as `@`, need a closer look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartCondition {
    /// Always.
    Always,
    /// At the start of a word: in `` Use !`ls` ``, but not in `` Great!`ls` ``.
    AtWordStart,
    /// At the start of a word, if a file path follows: `@src/main.rs`, but not `@someone`.
    BeforePath,
    /// If the number of a word of the input follows: `$1`, but not `$1.50`.
    BeforeWordNumber,
    /// If text follows that is no further delimiter: `{{> header}}`, but not `{{>}}`.
    BeforeText,
    /// If a template tag follows: `{% include "x" %}`, but not `100{% of it %}`.
    BeforeTag,
}

/// The consequence that a warning describes.
#[derive(Debug, PartialEq, Eq)]
enum Consequence {
    /// The program that the file is written for would do this to the construct, e.g. `run`.
    ProgramWould(&'static str),
    /// We don't do what the author may expect, e.g. `no command is run`.
    NotDone(&'static str),
}

use Consequence::{NotDone, ProgramWould};

/// Creates a construct that another program handles: it would `verb` it. The opening delimiter
/// always starts one.
const fn construct(
    open: &'static str,
    close: &'static str,
    verb: &'static str,
    fix: &'static str,
) -> ForeignConstruct {
    ForeignConstruct {
        open,
        close,
        condition: StartCondition::Always,
        consequence: ProgramWould(verb),
        fix,
    }
}

const RUN: &str = "write 'Run …' instead";
const READ: &str = "write 'Read …' instead";

const COMMAND: ForeignConstruct = ForeignConstruct {
    condition: StartCondition::AtWordStart,
    ..construct("!`", "`", "run", RUN)
};
const FILE: ForeignConstruct = ForeignConstruct {
    condition: StartCondition::BeforePath,
    ..construct("@", "", "attach", READ)
};
const WORD: ForeignConstruct = ForeignConstruct {
    condition: StartCondition::BeforeWordNumber,
    ..construct("$", "", "replace", "write `$ARGUMENTS` for the whole text")
};

/// The constructs in our own files, which may have been written for another program.
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
            condition: StartCondition::BeforeText,
            consequence: NotDone("no file is included"),
            fix: "write it alone in its line, and `include: true` in the frontmatter, or put it in backticks if it is an example",
        },
        ForeignConstruct {
            open: "{%",
            close: "%}",
            condition: StartCondition::BeforeTag,
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
        ForeignConstruct {
            fix: "write `$ARGUMENTS` for the whole text, or the key `argument-hint` into the frontmatter \
                  if it is a word of the text, and count the words from `$0`",
            ..WORD
        },
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
pub(super) static QWEN_CODE: ForeignSyntax = ForeignSyntax {
    title: "Qwen Code",
    constructs: GEMINI.constructs,
};
pub(super) static VS_CODE: ForeignSyntax = ForeignSyntax {
    title: "VS Code",
    constructs: &[
        ForeignConstruct {
            condition: StartCondition::AtWordStart,
            ..construct("#file:", "", "attach", READ)
        },
        ForeignConstruct {
            condition: StartCondition::AtWordStart,
            ..construct("#tool:", "", "enable", "write 'Use the tool …' instead")
        },
    ],
};
/// For programs that only replace placeholders.
pub(super) static NONE: ForeignSyntax = ForeignSyntax {
    title: "",
    constructs: &[],
};

/// The maximum length of the contents of a construct.
const MAX_CONTENTS_BYTES: usize = 200;

impl ForeignSyntax {
    /// Creates a warning about the construct at a byte range of a message.
    pub(super) fn warning(
        &self,
        construct: &ForeignConstruct,
        message: &MessageTemplate,
        range: &Range<usize>,
    ) -> Diagnostic {
        let consequence = match construct.consequence {
            NotDone(clause) => clause.to_owned(),
            ProgramWould(verb) => format!("{} would {verb} it", self.title),
        };
        let source = &message.body()[range.clone()];
        let contents_end = source.len() - construct.close.len();
        let contents = &source[construct.open.len()..contents_end];
        Diagnostic::warning(
            Some(message.position_cursor().advance_to(range.start)),
            format!("{} stays as written: {consequence}", quoted(source)),
            construct.fix.replace('…', &quoted(contents)),
        )
    }
}

impl ForeignConstruct {
    /// Returns whether this is the construct for a word of the input, such as `$1`, which could
    /// also be a price.
    pub(super) fn is_dollar_word(&self) -> bool {
        self.open == WORD.open
    }

    /// Returns the byte ranges of all such constructs in a body, including delimiters: `4..17` for
    /// `` Use !`git status` ``.
    pub(super) fn find_all(&self, body: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        for (start, _) in body.match_indices(self.open) {
            if let Some(end) = self.find_end(body, start) {
                ranges.push(start..end);
            }
        }
        ranges
    }

    /// Returns the end of the construct whose opening delimiter is at `start`, or `None` if the
    /// text there isn't a construct, like the `@` in `me@example.com`.
    fn find_end(&self, body: &str, start: usize) -> Option<usize> {
        let contents_start = start + self.open.len();
        let rest_of_line = truncate_at_boundary(&body[contents_start..], MAX_CONTENTS_BYTES)
            .lines()
            .next()?;
        let contents = self.parse_contents(rest_of_line)?;
        if contents.is_empty() || !self.condition.is_met(&body[..start], contents) {
            return None;
        }
        let end = contents_start + contents.len() + self.close.len();
        if self.close.ends_with('}') {
            // In `!{git diff {{args}}}`, the last of the adjacent braces closes the construct.
            let extra_braces = body[end..].bytes().take_while(|byte| *byte == b'}').count();
            return Some(end + extra_braces);
        }
        Some(end)
    }

    /// Returns the contents of the construct whose opening delimiter precedes `rest_of_line`.
    fn parse_contents<'l>(&self, rest_of_line: &'l str) -> Option<&'l str> {
        if self.close.is_empty() {
            let word = rest_of_line.split(is_end_of_word).next()?;
            return Some(word.trim_end_matches('.')); // the period ends the sentence
        }
        let (contents, _) = rest_of_line.split_once(self.close)?;
        Some(contents)
    }
}

impl StartCondition {
    /// Returns whether an opening delimiter starts a construct, given the text before it and the
    /// contents that the construct would have: in `see @src/main.rs`, `see ` and `src/main.rs`.
    fn is_met(self, before: &str, contents: &str) -> bool {
        match self {
            StartCondition::Always => true,
            StartCondition::AtWordStart => may_precede_word(before),
            StartCondition::BeforePath => may_precede_word(before) && is_path(contents),
            StartCondition::BeforeWordNumber => is_word_number(before, contents),
            StartCondition::BeforeText => {
                !contents.contains(['{', '>']) && !contents.trim().is_empty()
            }
            StartCondition::BeforeTag => is_tag(contents),
        }
    }
}

/// Returns whether a `$` refers to a word of the input: `$1` to `$9`, but not `$1.50`, `$10` or
/// `US$1`.
fn is_word_number(before: &str, text: &str) -> bool {
    let continues_word = before.ends_with(char::is_alphanumeric) || before.ends_with(['$', '\\']);
    !continues_word && matches!(text.as_bytes(), [b'1'..=b'9'])
}

/// Returns whether a character ends a construct without a closing delimiter, such as
/// `@src/main.rs`.
fn is_end_of_word(letter: char) -> bool {
    letter.is_whitespace() || "\"'`()<>[]{},;:!?@*|".contains(letter)
}

/// Returns whether a word can start after this text: at the start of the body, after whitespace, or
/// after `(`.
fn may_precede_word(before: &str) -> bool {
    before.is_empty() || before.ends_with(char::is_whitespace) || before.ends_with('(')
}

/// The extensions of files that prompts typically attach.
const PATH_EXTENSIONS: [&str; 32] = [
    "c", "cpp", "css", "csv", "go", "h", "html", "ini", "java", "js", "json", "jsonc", "jsx", "kt",
    "lock", "log", "md", "mdx", "php", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts", "tsx",
    "txt", "xml", "yaml", "yml",
];

/// Returns whether a word looks like a file path: `src/main.rs` and `./notes` do; `someone`,
/// `types/node` and `example.com` don't.
fn is_path(word: &str) -> bool {
    for root in ["./", "../", "~/", "/"] {
        if word.starts_with(root) && word.len() > root.len() {
            return true;
        }
    }
    let file = word.rsplit('/').next().unwrap_or(word);
    match file.rsplit_once('.') {
        Some((_, suffix)) => PATH_EXTENSIONS.contains(&suffix),
        None => false,
    }
}

/// The template tags that include or set something, or start a block.
const TEMPLATE_TAGS: [&str; 15] = [
    "include", "extends", "import", "from", "render", "set", "assign", "if", "for", "block",
    "macro", "unless", "case", "with", "capture",
];

/// Returns whether the text between `{%` and `%}` is a template tag with an operand, such as
/// `include "x"` or `if y`.
fn is_tag(tag: &str) -> bool {
    let mut words = tag.trim_matches(['-', '+', '~']).split_whitespace();
    let Some(name) = words.next() else {
        return false;
    };
    TEMPLATE_TAGS.contains(&name) && words.next().is_some()
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
                claude::parse_command,
                "---\nargument-hint: issue\n---\nStatus: !`git status` @src/main.rs and $2, ${CLAUDE_PLUGIN_ROOT}/x\n\
                 Fix ${CLAUDE_",
                &[
                    "4:9: `` !`git status` `` stays as written: Claude Code would run it",
                    "4:23: `@src/main.rs` stays as written: Claude Code would attach it",
                    "4:44: `${CLAUDE_PLUGIN_ROOT}` stays as written: Claude Code would replace it",
                ],
            ),
            (
                claude::parse_command,
                "{{args}} {{name}} {input} {% if x %} costs $1.50 $ARGUMENTS",
                &[],
            ),
            // `allowed-tools` is a key of skills, too, and says nothing of arguments.
            (
                claude::parse_command,
                "---\nallowed-tools: Bash\n---\nA kit for $5 and $9",
                &[],
            ),
            (
                claude::parse_command,
                "Review PR $1. `$2`",
                &["1:11: `$1` stays as written: Claude Code would replace it"],
            ),
            (
                markdown::parse,
                "Review $1",
                &["1:8: `$1` stays as written: only names in braces are replaced"],
            ),
            (
                claude::parse_opencode,
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
