//! The frontmatter of a Markdown file: where it ends, and what its keys say.
//!
//! It is read as strict YAML first ([`yaml`]). What a strict reader refuses is read again, entry by entry ([`lenient`]), so
//! that a mistake in one entry costs no other. Nothing here fails on a mistake; it becomes a warning with its fix.

mod icons;
mod lenient;

use super::yaml::{self, Field, Node, Refusal, Value};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_ATTACHMENTS, MAX_FRONTMATTER, MAX_WEIGHT};
use crate::prompt::suggestion::closest;
use crate::prompt::{Argument, AttachmentPath, Format, Metadata};
use crate::wording::{alternatives, quoted};
use lenient::{Entries, Entry};
use std::collections::{HashMap, HashSet};

/// A file's text, cut at its two `---` lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split<'t> {
    /// The text between the lines, which begins in line 2; `None` if line 1 is not `---`.
    pub(super) yaml: Option<&'t str>,
    /// The text after them.
    pub(super) body: &'t str,
    /// The line that the body begins in, from 1.
    pub(super) body_line: usize,
}

/// What the frontmatter says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::prompt) struct Frontmatter {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) arguments: Vec<Argument>,
    pub(super) tags: Vec<String>,
    pub(super) metadata: Metadata,
    /// See [`Prompt`](crate::prompt::Prompt).
    pub(super) unread_keys: Vec<(String, Position)>,
    pub(super) has_words: bool,
    pub(super) attachments: Vec<AttachmentPath>,
    /// Whether markers divide the body into messages.
    pub(super) has_messages: bool,
    /// Whether lines of the body include other files.
    pub(in crate::prompt) include: bool,
    /// Where `engine: jinja` is written.
    pub(in crate::prompt) jinja: Option<Position>,
    /// Whether the arguments are the `parameters` of swissarmyhammer.
    pub(super) has_parameters: bool,
}

/// Finds the frontmatter: the lines between a first line `---` and the next line `---`, with or without spaces after them.
///
/// # Errors
/// The frontmatter is never closed, or it is longer than [`MAX_FRONTMATTER`].
pub(super) fn split(text: &str) -> Result<Split<'_>, Diagnostic> {
    let mut lines = text.split_inclusive('\n');
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else {
        return Ok(Split { yaml: None, body: text, body_line: 1 });
    };
    let mut end = opening.len();
    for (count, line) in lines.enumerate() {
        if is_fence(line) {
            let yaml = &text[opening.len()..end];
            if yaml.len() > MAX_FRONTMATTER {
                return Err(Diagnostic::error(
                    Some(Position::START),
                    format!("the frontmatter is {} bytes long, the limit is {MAX_FRONTMATTER}", yaml.len()),
                    "move what is not `title`, `description`, `arguments` or `tags` into the body",
                ));
            }
            return Ok(Split { yaml: Some(yaml), body: &text[end + line.len()..], body_line: count + 3 });
        }
        end += line.len();
    }
    let rest = &text[opening.len()..];
    let almost_closing = rest.lines().position(is_almost_fence).map(|count| count + 2);
    let last = lenient::last_line(rest, FIRST_LINE).unwrap_or(1);
    let close = match almost_closing {
        Some(line) => format!("write line {line} as `---`"),
        None => format!("add a line `---` after line {last}"),
    };
    Err(Diagnostic::error(
        Some(Position::START),
        "the frontmatter that line 1 opens with `---` is never closed",
        format!("{close}, or write the rule in line 1 as `***` if no frontmatter is meant"),
    ))
}

/// Whether a frontmatter that the first line opens is closed.
pub(super) fn is_closed(text: &str) -> bool {
    text.lines().skip(1).any(is_fence)
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|after| after.trim_end().is_empty())
}

/// Whether a line looks like a mistyped fence: indented, too long or too short, of other dashes or dots.
fn is_almost_fence(line: &str) -> bool {
    let mark = line.trim();
    let letters = mark.chars().count();
    !is_fence(line) && (letters >= 2 || mark == "—") && (mark == "..." || mark.chars().all(|dash| "-–—".contains(dash)))
}

/// A warning about a text without frontmatter, if it has what looks like one but does not begin in line 1, or not with
/// `---`.
pub(super) fn misplaced(text: &str) -> Option<Diagnostic> {
    let late = text.trim_start();
    let position = Some(Position::in_text(text, text.len() - late.len(), 1));
    let is_frontmatter = || match split(late) {
        Ok(Split { yaml: Some(yaml), .. }) => {
            read(yaml, Format::Markdown, &mut Vec::new()).is_ok_and(|read| read.is_some())
        }
        Ok(_) => false,
        Err(_) => true,
    };
    if late.len() < text.len() && is_frontmatter() {
        return Some(Diagnostic::warning(
            position,
            "frontmatter that does not begin in line 1 is part of the prompt's text",
            "delete the spaces and empty lines before the first `---`",
        ));
    }
    let first = late.lines().next()?;
    (is_almost_fence(first) || first.starts_with("---") || first.trim() == "+++").then(|| {
        Diagnostic::warning(
            position,
            format!("the line {} does not open frontmatter, and is part of the prompt's text", quoted(first)),
            "write `---` alone in line 1, and once more after the last key; or write a rule as `***`",
        )
    })
}

/// The line of the file in which a frontmatter begins.
const FIRST_LINE: usize = 2;

/// The known keys, and those of an argument.
const KEYS: [&str; 10] =
    ["title", "description", "arguments", "tags", "messages", "attachments", "icons", "include", "engine", "words"];
const ARGUMENT_KEYS: [&str; 7] = ["name", "title", "description", "required", "default", "choices", "strict"];

/// Keys whose value may be text, no part of which may be dropped without a warning.
const TEXTS: [&str; 5] = ["title", "description", "default", "choices", "tags"];

/// Keys of other programs that look like a misspelled [key](KEYS).
const FOREIGN_KEYS: [&str; 2] = ["agents", "icon"];

/// Reads frontmatter. Warnings about mistakes are added to `warnings`.
///
/// `None`: no line of it has a key of one word, so it is not a frontmatter but text between two rules.
///
/// # Errors
/// Its YAML aliases make it larger than [`MAX_WEIGHT`], or there are more than [`MAX_ARGUMENTS`].
pub(super) fn read(
    yaml: &str,
    format: Format,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Frontmatter>, Diagnostic> {
    let mut reader = Reader { yaml, format, lines: yaml.split('\n').collect(), warnings, budget: MAX_WEIGHT };
    let fields = match yaml::parse(yaml, FIRST_LINE, &mut reader.budget) {
        Err(Refusal::TooLarge(error)) => return Err(error),
        Ok(_) if reader.lines.iter().all(|line| lenient::is_empty_or_comment(line)) => {
            if yaml.contains('#') {
                let message = "the lines between the first two `---` are comments to YAML, and not part of the prompt";
                reader.warn(Some(Position::START), message, "write rules as `***` if they are text of the prompt");
            }
            return Ok(Some(Frontmatter::default()));
        }
        Ok(Node { value: Value::Map(fields), .. }) if !has_glued_key(&fields) => {
            let is_known = fields.iter().any(|field| KEYS.contains(&field.key.as_str()));
            if !is_known && !lenient::entries(yaml, FIRST_LINE).have_keys() {
                return Ok(None);
            }
            fields
        }
        refused => {
            let entries = lenient::entries(yaml, FIRST_LINE);
            if !entries.have_keys() {
                return Ok(None);
            }
            reader.budget = MAX_WEIGHT;
            let whole = match refused {
                Err(Refusal::Syntax(whole)) => Some(whole),
                _ => None,
            };
            reader.lenient(&entries, whole)?
        }
    };
    reader.lint(&fields, &KEYS);
    let mut fields = Fields(fields);
    let arguments = fields.take("arguments");
    let parameters = fields.take("parameters").filter(|field| arguments.is_none() && are_parameters(&field.node));
    let is_own = format == Format::Markdown;
    let mut frontmatter = Frontmatter {
        title: reader.text(fields.take("title")),
        description: reader.text(fields.take("description")),
        jinja: reader.jinja(fields.take("engine")),
        include: reader.truth(fields.take("include")),
        has_parameters: parameters.is_some(),
        arguments: reader.arguments(arguments.or(parameters))?,
        tags: reader.texts(fields.take("tags")),
        metadata: Metadata {
            author: plain_text(fields.take("author")),
            version: plain_text(fields.take("version")),
            category: plain_text(fields.take("category")),
            icons: if is_own { reader.icons(fields.take("icons")) } else { Vec::new() },
        },
        attachments: if is_own { reader.attachments(fields.take("attachments"))? } else { Vec::new() },
        has_messages: is_own && reader.truth(fields.take("messages")),
        has_words: is_own && reader.truth(fields.take("words")),
        unread_keys: Vec::new(),
    };
    frontmatter.unread_keys = fields.0.into_iter().map(|field| (field.key, field.position)).collect();
    frontmatter.unread_keys.sort_by_key(|(_, position)| *position);
    Ok(Some(frontmatter))
}

/// Whether a value is what swissarmyhammer writes as `parameters`: the arguments, as a list of maps.
fn are_parameters(node: &Node) -> bool {
    let has_name =
        |node: &Node| matches!(&node.value, Value::Map(fields) if fields.iter().any(|field| field.key == "name"));
    matches!(&node.value, Value::List(nodes) if nodes.iter().all(has_name))
}

/// Whether a known key is lost in a longer one: `description:Review: the code` is the key `description:Review` to YAML.
fn has_glued_key(fields: &[Field]) -> bool {
    let has = |key: &str| fields.iter().any(|field| field.key == key);
    let is_glued = |field: &Field| field.key.split_once(':').is_some_and(|(key, _)| KEYS.contains(&key) && !has(key));
    fields.iter().any(is_glued)
}

/// A value that is text. Files for other programs may have another kind of value for the same key, which is ignored like their
/// other keys.
fn plain_text(field: Option<Field>) -> Option<String> {
    match field?.node.value {
        Value::Text { text, .. } => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// The fields of a map, of which each is read once.
struct Fields(Vec<Field>);

impl Fields {
    /// The field of a key; of several, the last.
    fn take(&mut self, key: &str) -> Option<Field> {
        let at = self.0.iter().rposition(|field| field.key == key)?;
        Some(self.0.swap_remove(at))
    }
}

/// A value in the line of its key, as written.
struct Written<'y> {
    /// What follows the colon, without the spaces around it.
    raw: &'y str,
    /// The line up to `raw`.
    before: &'y str,
}

/// Reads one frontmatter.
struct Reader<'y, 'w> {
    yaml: &'y str,
    format: Format,
    lines: Vec<&'y str>,
    warnings: &'w mut Vec<Diagnostic>,
    /// What remains of [`MAX_WEIGHT`].
    budget: usize,
}

impl<'y> Reader<'y, '_> {
    fn warn(&mut self, position: Option<Position>, message: impl Into<String>, fix: impl Into<String>) {
        self.warnings.push(Diagnostic::warning(position, message, fix));
    }

    /// Reads entry by entry what YAML refused as a whole; `whole` is why.
    fn lenient(&mut self, entries: &Entries<'_>, whole: Option<Diagnostic>) -> Result<Vec<Field>, Diagnostic> {
        let before = self.warnings.len();
        for (position, line) in &entries.strays {
            let message = format!("the line {} is not a `key: value`, and is ignored", quoted(line));
            self.warn(Some(*position), message, "give it a key, or delete it");
        }
        let mut fields = Vec::new();
        let mut first_lines = HashMap::new();
        for entry in &entries.entries {
            let node = match yaml::parse(entry.block, entry.line, &mut self.budget) {
                Ok(Node { value: Value::Map(mut map), .. }) if map.len() == 1 && map[0].key == entry.key => {
                    map.swap_remove(0).node
                }
                Ok(_) => self.lenient_value(entry, None)?,
                Err(Refusal::Syntax(at)) => self.lenient_value(entry, Some(at))?,
                Err(Refusal::TooLarge(error)) => return Err(error),
            };
            fields.push(Field { key: entry.key.to_owned(), position: entry.position(), node });
            if let Some(first) = first_lines.insert(entry.key, entry.line) {
                let message = format!("{} appears twice, first in line {first}; the last is used", quoted(entry.key));
                self.warn(Some(entry.position()), message, "keep one of the two");
            }
        }
        if let Some(whole) = whole.filter(|_| self.warnings.len() == before) {
            self.warnings.push(whole);
        }
        Ok(fields)
    }

    /// Reads an entry that YAML refuses; `at` is why.
    fn lenient_value(&mut self, entry: &Entry<'_>, at: Option<Diagnostic>) -> Result<Node, Diagnostic> {
        let node = |value: Value| Node { position: entry.value_position(), end: entry.value_position(), value };
        let items = if entry.key == "arguments" { entry.items() } else { Vec::new() };
        if items.is_empty() {
            self.warnings.push(entry.mistake(at));
            let text = entry.text();
            let is_list = entry.key == "arguments" && text.starts_with(['[', '{']);
            return Ok(node(if is_list {
                names(&text, entry.value_position())
            } else {
                Value::Text { text, is_quoted: false }
            }));
        }
        let before = self.warnings.len();
        let mut nodes = Vec::new();
        for item in items {
            let value = match yaml::parse(&item.block, item.position.line, &mut self.budget) {
                Ok(node) => node.value,
                Err(Refusal::TooLarge(error)) => return Err(error),
                Err(Refusal::Syntax(whole)) if item.block.trim_start().starts_with('{') => {
                    self.warnings.push(whole);
                    match names(&item.block, item.position) {
                        Value::List(names) if !names.is_empty() => names[0].value.clone(),
                        _ => Value::Null(String::new()),
                    }
                }
                Err(Refusal::Syntax(whole)) => {
                    Value::Map(self.lenient(&lenient::entries(&item.block, item.position.line), Some(whole))?)
                }
            };
            nodes.push(Node { position: item.position, end: item.position, value });
        }
        self.warnings.extend(at.filter(|_| self.warnings.len() == before));
        Ok(node(Value::List(nodes)))
    }

    /// Warns of unknown keys that look like a known one, and of what YAML drops from a text.
    fn lint(&mut self, fields: &[Field], keys: &[&str]) {
        for field in fields {
            let key = field.key.as_str();
            if !keys.contains(&key) {
                if let Some(known) = closest(key, keys.iter().copied()).filter(|_| !FOREIGN_KEYS.contains(&key)) {
                    let message = format!("unknown key {}", quoted(key));
                    self.warn(Some(field.position), message, format!("write `{known}:` if that is meant"));
                }
                continue;
            }
            let is_lenient = |warning: &Diagnostic| warning.position.is_some_and(|at| at.line == field.position.line);
            if !TEXTS.contains(&key) || self.warnings.iter().any(is_lenient) {
                continue; // read leniently, and nothing was dropped
            }
            let Some(written) = self.written(field) else { continue };
            let Some((kind, range)) = self.dropped(written.raw) else { continue };
            let column = written.before.chars().count() + written.raw[..range.start].chars().count() + 1;
            let message =
                format!("{} is {kind} to YAML, and not part of {}", quoted(&written.raw[range.clone()]), quoted(key));
            // A value that continues in further lines cannot be repeated in the fix.
            let is_one_line = match &field.node.value {
                Value::Text { text, .. } => written.raw.contains(text.as_str()),
                _ => true,
            };
            let fix = lenient::quote_it(key, if is_one_line { written.raw } else { "" });
            self.warn(Some(Position { column, ..field.position }), message, fix);
        }
    }

    /// The value in the line of its key; `None` if anything but a dash is before the key.
    fn written(&self, field: &Field) -> Option<Written<'y>> {
        let line = *self.lines.get(field.position.line.checked_sub(FIRST_LINE)?)?;
        let (at, _) = line.char_indices().nth(field.position.column - 1)?;
        let (before, rest) = line.split_at(at);
        let (key, raw) = lenient::key_value(rest)?;
        let is_first = before.chars().all(|character| " -\t".contains(character));
        let before = &line[..line.trim_end().len() - raw.len()];
        (is_first && key == field.key).then_some(Written { raw, before })
    }

    /// What YAML leaves out of a value: what it is to YAML, and its bytes.
    fn dropped(&self, raw: &str) -> Option<(&'static str, std::ops::Range<usize>)> {
        let word = 0..raw.find([' ', '\t']).unwrap_or(raw.len());
        match raw.chars().next()? {
            '"' | '\'' | '|' | '>' | '[' | '{' | '*' => None,
            '&' if self.yaml.contains(&format!("*{}", &raw[1..word.end])) => None, // an alias uses it
            '&' => Some(("an anchor", word)),
            '!' => Some(("a tag", word)),
            _ => lenient::comment_at(raw).map(|at| ("a comment", at..raw.len())),
        }
    }

    /// A value that should be text.
    fn text(&mut self, field: Option<Field>) -> Option<String> {
        let Field { key, node, .. } = field?;
        let text = match node.value {
            Value::Null(_) => return None,
            // A default in quotes is verbatim.
            Value::Text { text, is_quoted: true } if key == "default" => text,
            Value::Text { text, .. } => text.trim().to_owned(),
            Value::List(_) | Value::Map(_) => match self.flow(&node) {
                Some(text) => {
                    let message = format!("{} is a list or a map to YAML; it is read as text", quoted(&key));
                    self.warn(Some(node.position), message, lenient::quote_it(&key, &text));
                    text
                }
                None => {
                    let message = format!("{} is not text, and is ignored", quoted(&key));
                    self.warn(Some(node.position), message, "write it as text");
                    return None;
                }
            },
        };
        (!text.is_empty()).then_some(text)
    }

    /// A list in brackets or a map in braces as written, in one line.
    fn flow(&self, Node { position, end, .. }: &Node) -> Option<String> {
        let line = |line: usize| self.lines.get(line.checked_sub(FIRST_LINE)?).copied();
        let rest: String = line(position.line)?.chars().skip(position.column - 1).collect();
        if !rest.starts_with(['[', '{']) {
            return None;
        }
        if position.line == end.line {
            return Some(rest.chars().take((end.column + 1).saturating_sub(position.column)).collect());
        }
        let last: String = line(end.line)?.chars().take(end.column).collect();
        let between = (position.line + 1..end.line).filter_map(line);
        let lines: Vec<&str> = [rest.trim()].into_iter().chain(between.map(str::trim)).chain([last.trim()]).collect();
        Some(lines.join(" "))
    }

    /// `arguments` as a list of maps, or, in short form, of names.
    fn arguments(&mut self, field: Option<Field>) -> Result<Vec<Argument>, Diagnostic> {
        let Some(Field { node, .. }) = field else { return Ok(Vec::new()) };
        let nodes = match node.value {
            Value::Null(_) => return Ok(Vec::new()),
            Value::List(nodes) => nodes,
            Value::Text { text, .. } if self.is_claude() => match names(&text, node.position) {
                Value::List(nodes) => nodes,
                _ => Vec::new(),
            },
            Value::Text { .. } | Value::Map(_) => {
                let message = "`arguments` is not a list, and declares nothing";
                let fix = "write one line `  - name: …` for each argument below `arguments:`, or delete the key";
                self.warn(Some(node.position), message, fix);
                return Ok(Vec::new());
            }
        };
        let mut arguments: Vec<Argument> = Vec::new();
        for (index, node) in nodes.into_iter().enumerate() {
            let position = Some(self.item_position(&node));
            let argument = self.argument(node);
            if self.is_claude() && argument.name.bytes().all(|byte| byte.is_ascii_digit()) {
                continue; // Claude Code drops such names: `$1` is a word of the text there
            }
            if argument.name.is_empty() {
                let message = format!("argument {} has no usable name, and is ignored", index + 1);
                self.warn(position, message, "write `- name: …`, with a name without spaces or braces");
            } else if arguments.iter().any(|earlier| earlier.name == argument.name) {
                let message = format!("the argument {} is declared twice; the first is used", quoted(&argument.name));
                self.warn(position, message, "give one of the two another name, or delete it");
            } else if arguments.len() == MAX_ARGUMENTS {
                let message = format!("more than {MAX_ARGUMENTS} arguments are declared");
                return Err(Diagnostic::error(position, message, "declare fewer, or take them all as `{{input}}`"));
            } else {
                arguments.push(argument);
            }
        }
        Ok(arguments)
    }

    /// Whether Claude Code reads the file, to which a text in `arguments` is a list of names too.
    fn is_claude(&self) -> bool {
        matches!(self.format, Format::ClaudeCommand | Format::Skill)
    }

    /// Where an item of a list begins: at its dash, if it has one.
    fn item_position(&self, node: &Node) -> Position {
        let Position { line, column } = node.position;
        let before = line.checked_sub(FIRST_LINE).and_then(|line| self.lines.get(line)).copied().unwrap_or_default();
        let before: String = before.chars().take(column - 1).collect();
        let before = before.trim_end_matches([' ', '\t']);
        let column = before.strip_suffix('-').map_or(column, |indent| indent.chars().count() + 1);
        Position { line, column }
    }

    /// One argument; its name is empty if the declared one is missing or invalid.
    fn argument(&mut self, node: Node) -> Argument {
        match node.value {
            Value::Text { text, .. } => {
                let name = Some(text.trim().to_owned()).filter(|name| is_argument_name(name)).unwrap_or_default();
                Argument { name, ..Argument::default() }
            }
            Value::Map(fields) => {
                self.lint(&fields, &ARGUMENT_KEYS);
                let position = |key: &str| fields.iter().rfind(|field| field.key == key).map(|field| field.position);
                let (default, strict) = (position("default"), position("strict"));
                let mut fields = Fields(fields);
                let argument = Argument {
                    name: self.text(fields.take("name")).filter(|name| is_argument_name(name)).unwrap_or_default(),
                    title: self.text(fields.take("title")),
                    description: self.text(fields.take("description")),
                    required: self.truth(fields.take("required")),
                    default: self.text(fields.take("default")),
                    choices: self.texts(fields.take("choices")),
                    strict: self.truth(fields.take("strict")),
                };
                if let Some(value) = argument.default.as_ref().filter(|value| !argument.allows(value)) {
                    let choices = alternatives(&argument.choices);
                    let message = format!("the default {} is not among the choices, {choices}", quoted(value));
                    self.warn(default, message, "add it to `choices`, or write one of them as `default`");
                }
                if argument.strict && argument.choices.is_empty() {
                    let message = "`strict` has no effect without `choices`: every value is accepted";
                    self.warn(strict, message, "write `choices: [one, another]`, or delete `strict`");
                }
                argument
            }
            Value::Null(_) | Value::List(_) => Argument::default(),
        }
    }

    /// A value that should be a list of texts; a text is one of them, or several between commas.
    fn texts(&mut self, field: Option<Field>) -> Vec<String> {
        let Some(Field { key, node, .. }) = field else { return Vec::new() };
        let nodes = match node.value {
            Value::Null(_) => return Vec::new(),
            Value::List(nodes) => nodes,
            Value::Text { text, is_quoted: false } => return self.between_commas(&key, &text, node.position),
            _ => vec![node],
        };
        let mut texts = Vec::new();
        for (index, node) in nodes.into_iter().enumerate() {
            match node.value {
                Value::Text { text, .. } | Value::Null(text) => texts.push(text),
                Value::List(_) | Value::Map(_) => {
                    let position = Some(self.item_position(&node));
                    let message = format!("part {} of {} is not text, and is ignored", index + 1, quoted(&key));
                    self.warn(position, message, "write it as text, in quotes if it begins with `[` or `{`");
                }
            }
        }
        distinct(texts)
    }

    /// The paths and addresses in a list of them, or the one that is given.
    ///
    /// # Errors
    /// There are more than [`MAX_ATTACHMENTS`].
    fn attachments(&mut self, field: Option<Field>) -> Result<Vec<AttachmentPath>, Diagnostic> {
        let Some(Field { node, position, .. }) = field else { return Ok(Vec::new()) };
        let nodes = match node.value {
            Value::List(nodes) => nodes,
            _ => vec![node],
        };
        if nodes.len() > MAX_ATTACHMENTS {
            let message = format!("the prompt has {} attachments, the limit is {MAX_ATTACHMENTS}", nodes.len());
            return Err(Diagnostic::error(
                Some(position),
                message,
                "attach fewer, or write their paths for the agent to read",
            ));
        }
        let mut attachments = Vec::new();
        for node in nodes {
            let position = self.item_position(&node);
            match node.value {
                Value::Text { text, .. } if !text.trim().is_empty() => {
                    attachments.push(AttachmentPath { path: text.trim().to_owned(), position: node.position });
                }
                Value::Text { .. } | Value::Null(_) => {}
                Value::List(_) | Value::Map(_) => {
                    let fix = "write the path of a file, in quotes if it begins with `[` or `{`";
                    self.warn(Some(position), "an attachment that is not text is ignored", fix);
                }
            }
        }
        Ok(attachments)
    }

    fn between_commas(&mut self, key: &str, text: &str, position: Position) -> Vec<String> {
        let unclosed = text.trim().strip_prefix('['); // there is already a warning about that
        if text.contains(',') && key != "tags" && unclosed.is_none() {
            let message = format!("{} is not a list, and is split at its commas", quoted(key));
            let fix = format!("write `{key}: [{}]`", text.trim().replace(char::is_control, " "));
            self.warn(Some(position), message, fix);
        }
        let texts = unclosed.unwrap_or(text).split(',').map(|text| text.trim().trim_matches(['"', '\'', ']']));
        distinct(texts.map(str::to_owned).collect())
    }

    /// Where `engine` says `jinja`.
    fn jinja(&mut self, field: Option<Field>) -> Option<Position> {
        let Field { position, node, .. } = field?;
        let is_jinja = matches!(&node.value, Value::Text { text, .. } if text.trim() == "jinja");
        if !is_jinja && self.format == Format::Markdown {
            let message = "unknown `engine`, which is ignored; tags stay text";
            self.warn(Some(node.position), message, "write `engine: jinja`, or delete the key");
        }
        is_jinja.then_some(position)
    }

    /// A value that should be `true` or `false`; without one it is `false`.
    fn truth(&mut self, field: Option<Field>) -> bool {
        let Some(Field { key, node, .. }) = field else { return false };
        let text = match node.value {
            Value::Null(_) => return false,
            Value::Text { text, .. } => Some(text.to_lowercase()),
            Value::List(_) | Value::Map(_) => None,
        };
        match text.as_deref() {
            Some("true" | "yes" | "on") => true,
            Some("" | "false" | "no" | "off") => false,
            _ => {
                let message = format!("{} is neither `true` nor `false`, and is read as `false`", quoted(&key));
                self.warn(Some(node.position), message, format!("write `{key}: true` or `{key}: false`"));
                false
            }
        }
    }
}

/// Whether a placeholder can have this name.
pub(super) fn is_argument_name(name: &str) -> bool {
    let is_forbidden = |letter: char| letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter);
    !name.is_empty() && !name.contains(is_forbidden)
}

/// The names in a text that should be a list of arguments.
fn names(text: &str, position: Position) -> Value {
    let node = |name: &str| {
        let value = Value::Text { text: name.to_owned(), is_quoted: false };
        Node { position, end: position, value }
    };
    Value::List(lenient::names_in(text).map(node).collect())
}

/// Each text that is not empty, once.
pub(super) fn distinct(mut texts: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    texts.retain(|text| !text.is_empty() && known.insert(text.clone()));
    texts
}
