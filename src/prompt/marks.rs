//! Marks at which other programs do something: run a command, read a file, put in a word. Nothing of that happens here; `check`
//! and `explain` say so, and what the program for which the file is written would do.

use super::diagnostic::Diagnostic;
use super::outline::Code;
use super::template::MessageTemplate;
use crate::wording::quoted;
use std::collections::HashSet;
use std::ops::Range;

/// At which marks a program does something.
#[derive(Debug)]
pub(super) struct Marks {
    /// What the program is called.
    title: &'static str,
    kinds: &'static [Kind],
    /// Whether `$1` is a word of the input.
    has_positional: bool,
}

impl PartialEq for Marks {
    fn eq(&self, other: &Marks) -> bool {
        self.title == other.title
    }
}

impl Eq for Marks {}

/// Marks of one kind, of which each message gets one warning.
#[derive(Debug)]
struct Kind {
    find: fn(&str) -> Vec<Range<usize>>,
    /// What the program does with it: the words before and after "it".
    action: (&'static str, &'static str),
    /// Whether it does that in code too.
    is_in_code: bool,
}

const fn kind(find: fn(&str) -> Vec<Range<usize>>, verb: &'static str) -> Kind {
    Kind { find, action: (verb, ""), is_in_code: true }
}

const FILES: Kind = Kind { is_in_code: false, ..kind(files, "attach") };
const POSITIONAL: Kind = Kind { find: positional, action: ("replace", " by a word of the input"), is_in_code: false };

const fn marks_of(title: &'static str, kinds: &'static [Kind]) -> Marks {
    Marks { title, kinds, has_positional: false }
}

const CLAUDE_KINDS: [Kind; 5] = [
    kind(own_commands, "run"),
    kind(command_blocks, "run"),
    FILES,
    Kind { find: indexed, action: ("replace", " by a word of the input"), is_in_code: true },
    kind(claude_variables, "replace"),
];

/// Those of this program, which does nothing.
pub(super) static OWN: Marks = marks_of("prompt-expander", &[]);
pub(super) static CLAUDE_CODE: Marks = Marks { has_positional: true, ..marks_of("Claude Code", &CLAUDE_KINDS) };
pub(super) static OPENCODE: Marks =
    Marks { has_positional: true, ..marks_of("opencode", &[kind(commands_anywhere, "run"), FILES]) };
pub(super) static CODEX: Marks = marks_of(
    "Codex",
    &[Kind { find: upper_names, action: ("replace", " by a value given as `NAME=…`"), is_in_code: true }],
);
pub(super) static GEMINI: Marks = marks_of("Gemini CLI", &[kind(braced_commands, "run"), kind(braced_files, "read")]);
pub(super) static VS_CODE: Marks = marks_of("VS Code", &[kind(references, "attach"), kind(tools, "enable")]);
pub(super) static CURSOR: Marks = marks_of("Cursor", &[FILES]);
pub(super) static FABRIC: Marks =
    marks_of("fabric", &[kind(plugins, "run"), kind(variables, "refuse the pattern without a value for")]);
pub(super) static CONTINUE: Marks = marks_of("Continue", &[kind(providers, "replace"), FILES]);

/// The warnings about a message of a file. `in_commands`: the file has keys that only command files of other programs have, in
/// which `$1` is an argument.
pub(super) fn warnings(
    marks: &Marks,
    all: &[MessageTemplate],
    message: &MessageTemplate,
    in_commands: bool,
) -> Vec<Diagnostic> {
    let are_arguments = |found: &[Range<usize>]| in_commands || are_arguments(all, message, found);
    if *marks == OWN {
        return in_own_file(message, are_arguments);
    }
    let Marks { title, kinds, has_positional } = marks;
    let has_positional = *has_positional && are_arguments(&positional(message.body()));
    let kinds = kinds.iter().chain(has_positional.then_some(&POSITIONAL));
    let warning_of = |(Kind { action: (verb, how), .. }, found): (&Kind, Vec<Range<usize>>)| {
        let it = if found.len() > 1 { "them" } else { "it" };
        let consequence = format!("{title} would {verb} {it}{how}");
        warning(message, &found, &consequence, "the agent gets the text, and decides what to do with it")
    };
    found(message, kinds).into_iter().filter_map(warning_of).collect()
}

/// The marks of each kind in a message.
fn found<'k>(message: &MessageTemplate, kinds: impl Iterator<Item = &'k Kind>) -> Vec<(&'k Kind, Vec<Range<usize>>)> {
    let body = message.body();
    let placeholders: HashSet<usize> = message.placeholders().map(|placeholder| placeholder.range.start).collect();
    let mut code = None;
    let in_body = |kind: &'k Kind| {
        let mut found = (kind.find)(body);
        found.retain(|range| !placeholders.contains(&range.start));
        if !kind.is_in_code && !found.is_empty() {
            let code = code.get_or_insert_with(|| Code::of(body));
            found.retain(|range| !code.contains(range.start));
        }
        (kind, found)
    };
    kinds.map(in_body).collect()
}

/// The warning about marks of one kind.
fn warning(message: &MessageTemplate, found: &[Range<usize>], consequence: &str, fix: &str) -> Option<Diagnostic> {
    let body = message.body();
    let first = found.first()?;
    let more = match found.len() - 1 {
        0 => " stays".to_owned(),
        more => format!(" and {more} more like it stay"),
    };
    let position = message.positions().at(first.start);
    let text = format!("{}{more} as written: {consequence}", quoted(&body[first.clone()]));
    Some(Diagnostic::warning(Some(position), text, fix))
}

/// Marks in a file of this program, which was perhaps written for another one. Only where they are hardly ordinary text.
fn in_own_file(message: &MessageTemplate, are_arguments: impl Fn(&[Range<usize>]) -> bool) -> Vec<Diagnostic> {
    let body = message.body();
    let mut kinds = [
        (
            positional(body),
            "only names in braces are replaced",
            "declare an argument and write `{{name}}`, or write `{{input}}` for the whole text",
        ),
        (commands(body), "no command is run", "tell the agent to run the command, and leave out the `!`"),
        (files(body), "no file is included", "tell the agent to read the file, or put the name in backticks"),
        (
            partials(body),
            "no file is included",
            "write it alone in its line, and `include: true` in the frontmatter, or put it in backticks if it is an example",
        ),
        (
            template_tags(body),
            "no template engine processes it",
            "write `engine: jinja` in the frontmatter, or put it in a code block if it is an example",
        ),
    ];
    if message.jinja().is_some() {
        // Every tag was understood, and what looks like one is in `{% raw %}`.
        kinds[3..].iter_mut().for_each(|(found, ..)| found.clear());
    }
    if kinds.iter().all(|(found, ..)| found.is_empty()) {
        return Vec::new();
    }
    let code = Code::of(body);
    for (found, ..) in &mut kinds {
        found.retain(|range| !code.contains(range.start));
    }
    let [(positional, ..), _, _, _, (tags, ..)] = &mut kinds;
    if !are_arguments(positional) {
        positional.clear();
    }
    if !are_of_a_template(body, tags) {
        tags.clear();
    }
    kinds.into_iter().filter_map(|(found, consequence, fix)| warning(message, &found, consequence, fix)).collect()
}

/// The longest text within a mark, in bytes.
const MAX_MARK: usize = 200;

/// The ranges that begin with `start`. `end` gets the text before it and the text after it in its line, and says where the range
/// ends in the latter, if it is a mark.
fn marks(body: &str, start: &str, end: impl Fn(&str, &str) -> Option<usize>) -> Vec<Range<usize>> {
    let found = body.match_indices(start).filter_map(|(at, _)| {
        let inside = at + start.len();
        let mut limit = body.len().min(inside + MAX_MARK);
        while !body.is_char_boundary(limit) {
            limit -= 1;
        }
        let line = body[inside..limit].split('\n').next().unwrap_or_default();
        Some(at..inside + end(&body[..at], line)?)
    });
    found.collect()
}

/// Whether a mark after this text begins a word.
fn begins_a_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|letter| letter.is_whitespace() || letter == '(')
}

/// `$1` to `$9`, but not `$1.50`, `$10` or `${1}`.
fn positional(body: &str) -> Vec<Range<usize>> {
    marks(body, "$", |before, inside| {
        let mut letters = inside.chars();
        let is_digit = matches!(letters.next(), Some('1'..='9'));
        let (next, after) = (letters.next(), letters.next());
        let is_amount = next.is_some_and(char::is_alphanumeric)
            || (matches!(next, Some('.' | ',')) && after.is_some_and(|letter| letter.is_ascii_digit()));
        let is_part = before.ends_with(|letter: char| letter.is_alphanumeric() || "$\\".contains(letter));
        (is_digit && !is_amount && !is_part).then_some(1)
    })
}

/// Whether these are arguments and not prices: the frontmatter or the body has other signs of a file for another program, or
/// there is `$1` and a further number, or a character before them that no price has. A prompt with placeholders has them
/// where it means them.
fn are_arguments(all: &[MessageTemplate], message: &MessageTemplate, found: &[Range<usize>]) -> bool {
    let body = message.body();
    let has = |mark: &str| found.iter().any(|range| &body[range.clone()] == mark);
    let is_after = |range: &Range<usize>| body[..range.start].ends_with(['#', '"', '\'', '<', '@', '/', '=']);
    let has_own = all.iter().any(|message| message.placeholders().any(|it| !message.written(it).starts_with('$')));
    !has_own
        && (body.contains("$ARGUMENTS")
            || (has("$1") && !found.iter().all(|range| &body[range.clone()] == "$1"))
            || found.iter().any(is_after))
}

/// `` !`git status` ``
fn commands(body: &str) -> Vec<Range<usize>> {
    marks(body, "!`", |before, inside| {
        let end = inside.find('`').filter(|end| *end > 0 && begins_a_word(before))?;
        Some(end + 1)
    })
}

/// As Claude Code finds them: after a space or at the beginning of a line, and in several lines.
fn own_commands(body: &str) -> Vec<Range<usize>> {
    let mut found = commands_anywhere(body);
    found.retain(|range| range.start == 0 || body[..range.start].ends_with(char::is_whitespace));
    found
}

/// As opencode finds them: wherever they stand, and in several lines.
fn commands_anywhere(body: &str) -> Vec<Range<usize>> {
    let found = body.match_indices("!`").filter_map(|(at, open)| {
        let inside = &body[at + open.len()..];
        let end = inside.find('`').filter(|end| *end > 0)?;
        Some(at..at + open.len() + end + 1)
    });
    found.collect()
}

/// The first line of a block of code whose language is `!`.
fn command_blocks(body: &str) -> Vec<Range<usize>> {
    marks(body, "```!", |before, _| (before.is_empty() || before.ends_with(char::is_whitespace)).then_some(0))
}

/// `!{git log {{args}}}`
fn braced_commands(body: &str) -> Vec<Range<usize>> {
    braced(body, "!{")
}

/// `@{src/main.rs}`
fn braced_files(body: &str) -> Vec<Range<usize>> {
    braced(body, "@{")
}

/// As Gemini CLI finds them: up to the brace that closes the first one, in several lines too. One that is never closed, which
/// Gemini CLI refuses, ends with its line.
fn braced(body: &str, open: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = body[from..].find(open).map(|at| from + at) {
        let mut depth = 0_usize;
        let end = body.bytes().enumerate().skip(start + open.len() - 1).find_map(|(at, byte)| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        });
        let Some(end) = end else {
            found.push(start..start + body[start..].find('\n').unwrap_or(body.len() - start));
            break;
        };
        found.push(start..end);
        from = end;
    }
    found
}

/// `$ARGUMENTS[0]`
fn indexed(body: &str) -> Vec<Range<usize>> {
    marks(body, "$ARGUMENTS[", |before, inside| {
        let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && inside[digits..].starts_with(']') && !before.ends_with('\\')).then_some(digits + 1)
    })
}

/// `${CLAUDE_PLUGIN_ROOT}`
fn claude_variables(body: &str) -> Vec<Range<usize>> {
    marks(body, "${CLAUDE_", |_, inside| {
        let end = inside.find(|letter: char| !is_of_upper_name(letter)).filter(|end| *end > 0)?;
        inside[end..].starts_with('}').then_some(end + 1)
    })
}

/// `$NAME`, but not `$$NAME` or `$ARGUMENTS`.
fn upper_names(body: &str) -> Vec<Range<usize>> {
    marks(body, "$", |before, inside| {
        let name = &inside[..inside.find(|letter: char| !is_of_upper_name(letter)).unwrap_or(inside.len())];
        let is_name = name.starts_with(|first: char| first.is_ascii_uppercase()) && name != "ARGUMENTS";
        (is_name && !before.ends_with('$')).then_some(name.len())
    })
}

fn is_of_upper_name(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'
}

/// `#file:src/main.rs`
fn references(body: &str) -> Vec<Range<usize>> {
    after_hash(body, "#file:")
}

/// `#tool:search`
fn tools(body: &str) -> Vec<Range<usize>> {
    after_hash(body, "#tool:")
}

fn after_hash(body: &str, start: &str) -> Vec<Range<usize>> {
    marks(body, start, |before, inside| {
        let end = inside.find(|letter: char| letter.is_whitespace() || "\"'`()<>,;".contains(letter));
        let name = inside[..end.unwrap_or(inside.len())].trim_end_matches(['.', ':']);
        (begins_a_word(before) && !name.is_empty()).then_some(name.len())
    })
}

/// `{{Name}}`, for which fabric needs a value.
fn variables(body: &str) -> Vec<Range<usize>> {
    marks(body, "{{", |before, inside| {
        let end = inside.find("}}")?;
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let is_variable = end > 0 && inside[..end].chars().all(is_name) && !before.ends_with('{');
        is_variable.then_some(end + 2)
    })
}

/// `{{plugin:file:read:notes.md}}` and `{{ext:name:operation:value}}`
fn plugins(body: &str) -> Vec<Range<usize>> {
    let end = |_: &str, inside: &str| inside.find("}}").map(|end| end + 2);
    let mut found = [marks(body, "{{plugin:", end), marks(body, "{{ext:", end)].concat();
    found.sort_by_key(|range| range.start);
    found
}

/// `{{{ diff }}}`, `{{{ src/main.rs }}}`, but not `{{{ input }}}`
fn providers(body: &str) -> Vec<Range<usize>> {
    marks(body, "{{{", |_, inside| {
        let end = inside.find("}}}").filter(|end| !inside[..*end].contains('{'))?;
        (!matches!(inside[..end].trim(), "" | "input")).then_some(end + 3)
    })
}

/// `@src/main.rs`, `@./notes`, but not `@someone`, `@types/node` or `@example.com`.
fn files(body: &str) -> Vec<Range<usize>> {
    const SUFFIXES: &str = " c cpp css csv go h html ini java js json jsonc jsx kt lock log md mdx php py rb rs sh sql swift toml \
                            ts tsx txt xml yaml yml ";
    marks(body, "@", |before, inside| {
        let end = inside.find(|letter: char| letter.is_whitespace() || "\"'`()<>[]{},;:!?@*|".contains(letter));
        let path = inside[..end.unwrap_or(inside.len())].trim_end_matches('.');
        let is_rooted = ["./", "../", "~/", "/"].iter().any(|root| path.len() > root.len() && path.starts_with(root));
        let suffix = path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, suffix)| suffix);
        let has_suffix = suffix.is_some_and(|suffix| SUFFIXES.contains(&format!(" {suffix} ")));
        (begins_a_word(before) && (is_rooted || has_suffix)).then_some(path.len())
    })
}

/// `{{> header}}`
fn partials(body: &str) -> Vec<Range<usize>> {
    marks(body, "{{>", |_, inside| {
        let end = inside.find(['}', '{', '>']).filter(|end| inside[*end..].starts_with("}}"))?;
        (!inside[..end].trim().is_empty()).then_some(end + 2)
    })
}

/// `{% … %}` in one line.
fn template_tags(body: &str) -> Vec<Range<usize>> {
    marks(body, "{%", |_, inside| {
        let end = inside.find("%}").filter(|end| !inside[..*end].contains('{'))?;
        Some(end + 2)
    })
}

/// The first tag of a template engine that does something and is not in code.
pub(super) fn template_tag(body: &str) -> Option<Range<usize>> {
    let mut tags = template_tags(body);
    if !are_of_a_template(body, &tags) {
        return None;
    }
    let code = Code::of(body);
    tags.retain(|tag| !code.contains(tag.start));
    are_of_a_template(body, &tags).then(|| tags.swap_remove(0))
}

/// Whether the tags do something: one that includes or sets something, or one that begins a block, and one that ends it.
fn are_of_a_template(body: &str, tags: &[Range<usize>]) -> bool {
    let words = |tag: &Range<usize>| {
        let inside = body[tag.start + 2..tag.end - 2].trim_matches(['-', '+', '~', ' ', '\t']);
        inside.split_once(' ').unwrap_or((inside, ""))
    };
    let has =
        |names: &[&str]| tags.iter().map(words).any(|(name, rest)| names.contains(&name) && !rest.trim().is_empty());
    let has_end = tags.iter().map(words).any(|(name, _)| name.starts_with("end"));
    has(&["include", "extends", "import", "from", "render", "set", "assign"])
        || (has_end && has(&["if", "for", "block", "macro", "unless", "case", "with", "capture"]))
}
