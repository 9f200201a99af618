//! The frontmatter of a Markdown file: where it ends, and what its keys say.
//!
//! It is read as strict YAML first ([`yaml`]). What a strict reader refuses is read again, key by
//! key ([`lenient`]), so that a mistake in one key costs no other. Nothing here fails on a mistake;
//! it becomes a warning with its fix.

use super::lenient;
use super::yaml::{self, Field, Node, Refusal, Value};
use crate::prompt::attachment::AttachmentPath;
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_ATTACHMENTS, MAX_FRONTMATTER, MAX_WEIGHT};
use crate::prompt::model::{Argument, Metadata, OtherKey};
use crate::prompt::similar::distance;
use crate::wording::{alternatives, quoted, too_long};
use std::collections::BTreeSet;

/// A file's text, cut at its two `---` lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'t> {
    /// The text between the lines, which begins in line 2; `None` if line 1 is not `---`.
    pub(crate) yaml: Option<&'t str>,
    /// The text after them.
    pub(crate) body: &'t str,
    /// The line that the body begins in, from 1.
    pub(crate) body_line: usize,
    /// A warning about a closing line that is not `---`.
    pub(crate) warning: Option<Diagnostic>,
}

impl Split<'_> {
    /// A text without frontmatter.
    pub(crate) fn body(text: &str) -> Split<'_> {
        Split {
            yaml: None,
            body: text,
            body_line: 1,
            warning: None,
        }
    }
}

/// What the frontmatter says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frontmatter {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Metadata,
    pub(crate) other_keys: Vec<OtherKey>,
    pub(crate) has_words: bool,
    /// Whether it says `mention: false`.
    pub(crate) is_no_mention: bool,
    pub(crate) attachments: Vec<AttachmentPath>,
    /// Whether markers divide the body into messages.
    pub(crate) has_messages: bool,
    /// Whether lines of the body include other files.
    pub(crate) include: bool,
    /// Where `engine: jinja` is written.
    pub(crate) jinja: Option<Position>,
}

/// What the same frontmatter means in the files of different programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// This one. Mistakes are warnings.
    Own,
    /// Claude Code, to which a text in `arguments` is a list of names too.
    Claude,
    /// Cursor, which reads none, so that lines between two rules are text.
    Cursor,
    Other,
}

/// Finds the frontmatter: the lines between a first line `---` and the next line `---`, with or
/// without spaces after them. In this program's own files, other lines close it, too, if a key is
/// above them ([`is_similar_to_fence`]).
///
/// # Errors
/// The frontmatter is never closed, or it is longer than [`MAX_FRONTMATTER`].
pub(crate) fn split(text: &str, dialect: Dialect) -> Result<Split<'_>, Diagnostic> {
    let mut lines = text.split_inclusive('\n');
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else {
        return Ok(Split::body(text));
    };
    let (mut end, mut has_key) = (opening.len(), false);
    for (count, line) in lines.enumerate() {
        let is_similar = dialect == Dialect::Own && has_key && is_similar_to_fence(line);
        if is_fence(line) || is_similar {
            let yaml = &text[opening.len()..end];
            if yaml.len() > MAX_FRONTMATTER {
                let message = format!(
                    "the frontmatter is {}",
                    too_long(yaml.len(), MAX_FRONTMATTER)
                );
                let fix =
                    "move what is not `title`, `description`, `arguments` or `tags` into the body";
                return Err(Diagnostic::error(Some(Position::START), message, fix));
            }
            return Ok(Split {
                yaml: Some(yaml),
                body: &text[end + line.len()..],
                body_line: count + 3,
                warning: is_similar.then(|| not_a_fence(line, count + 2)),
            });
        }
        end += line.len();
        has_key |= lenient::has_key(line);
    }
    Err(Diagnostic::error(
        Some(Position::START),
        "the frontmatter that line 1 opens with `---` is never closed",
        "add a line `---` after its last key, or write the rule in line 1 as `***` if no frontmatter is meant",
    ))
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|after| after.trim_end().is_empty())
}

/// Returns whether a line closes frontmatter for other programs, or was meant to: `...`, `----` or
/// `--- # a comment`.
fn is_similar_to_fence(line: &str) -> bool {
    let line = line.trim_end();
    let is_rule = line.len() > 3 && line.bytes().all(|byte| byte == b'-');
    let has_comment = line
        .strip_prefix("---")
        .is_some_and(|after| after.starts_with([' ', '\t']) && after.trim_start().starts_with('#'));
    line == "..." || is_rule || has_comment
}

fn not_a_fence(line: &str, number: usize) -> Diagnostic {
    let message = format!("{} closes the frontmatter here", quoted(line.trim_end()));
    let fix = "write `---` instead, or, if the frontmatter goes on below it, delete the line";
    Diagnostic::warning(
        Some(Position {
            line: number,
            column: 1,
        }),
        message,
        fix,
    )
}

/// A warning about a text without frontmatter, if it has what looks like one but does not begin in
/// line 1, or not with `---`.
pub(super) fn misplaced(text: &str) -> Option<Diagnostic> {
    if is_unopened(text) {
        return Some(Diagnostic::warning(
            Some(Position::START),
            "the keys above the first `---` are part of the prompt's text",
            "write `---` alone in a line before them, too, if they are meant as frontmatter",
        ));
    }
    let late = text.trim_start();
    let first = late.lines().next()?;
    (["--", "+++", "—", "–"].iter().any(|start| first.starts_with(start))).then(|| {
        Diagnostic::warning(
            Some(Position::in_text(text, text.len() - late.len(), 1)),
            format!("the line {} does not open frontmatter, and is part of the prompt's text", quoted(first)),
            "write `---` alone in line 1, and once more after the last key; or write a rule as `***`",
        )
    })
}

/// Returns whether a text begins with a known key, and a line closes the frontmatter that no line
/// has opened.
fn is_unopened(text: &str) -> bool {
    let first = text.lines().next().and_then(lenient::key_of);
    if !first.is_some_and(|(key, _)| KEYS.contains(&key)) {
        return false;
    }
    for line in text.lines() {
        if is_fence(line) || is_similar_to_fence(line) {
            return true;
        }
        if !lenient::belongs_to_keys(line) {
            return false;
        }
    }
    false
}

/// The line of the file in which a frontmatter begins.
const FIRST_LINE: usize = 2;

/// The known keys, and those of an argument.
const KEYS: [&str; 10] = [
    "title",
    "description",
    "arguments",
    "tags",
    "mention",
    "messages",
    "attachments",
    "include",
    "engine",
    "words",
];
const ARGUMENT_KEYS: [&str; 7] = [
    "name",
    "title",
    "description",
    "required",
    "default",
    "choices",
    "strict",
];

/// Reads frontmatter. Warnings about mistakes are added to `warnings`.
///
/// `None`: no line of it has a key of one word, so it is not a frontmatter but text between two
/// rules.
///
/// # Errors
/// Its YAML aliases make it larger than [`MAX_WEIGHT`], there are more than [`MAX_ARGUMENTS`], or
/// the body is in it ([`lenient::refuse_body`]).
pub(crate) fn read(
    yaml: &str,
    dialect: Dialect,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Frontmatter>, Diagnostic> {
    let mut budget = MAX_WEIGHT;
    let parsed = yaml::parse(yaml, FIRST_LINE, &mut budget);
    let is_known = |field: &Field| KEYS.contains(&field.key.as_str());
    let fields = match parsed {
        Err(Refusal::TooLarge(error)) => return Err(error),
        Ok(_) if yaml.lines().all(lenient::is_empty_or_comment) => {
            return Ok(Some(Frontmatter::default()));
        }
        Ok(Node {
            value: Value::Map(fields),
            ..
        }) if fields.iter().any(is_known) || lenient::has_keys(yaml) => fields,
        _ if lenient::has_keys(yaml) => {
            if dialect == Dialect::Own {
                lenient::refuse_body(yaml, FIRST_LINE)?;
            }
            lenient::fields(yaml, FIRST_LINE, &mut MAX_WEIGHT.clone(), warnings)?
        }
        _ => return Ok(None),
    };
    let mut reader = Reader { dialect, warnings };
    reader.lint(&fields, &KEYS);
    let mut fields = fields;
    let mut take = |key: &str| take(&mut fields, key);
    let arguments = take("arguments");
    // As swissarmyhammer calls them.
    let parameters = take("parameters").filter(|field| matches!(field.node.value, Value::List(_)));
    let is_own = dialect == Dialect::Own;
    let mut frontmatter = Frontmatter {
        title: reader.text(take("title")),
        description: reader.text(take("description")),
        jinja: jinja(take("engine")),
        include: is_own && reader.truth(take("include")),
        arguments: reader.arguments(arguments.or(parameters))?,
        tags: reader.texts(take("tags")),
        metadata: Metadata {
            author: reader.text(take("author")),
            version: reader.text(take("version")),
            category: reader.text(take("category")),
        },
        attachments: if is_own {
            reader.attachments(take("attachments"))?
        } else {
            Vec::new()
        },
        has_messages: is_own && reader.truth(take("messages")),
        has_words: is_own && reader.truth(take("words")),
        is_no_mention: take("mention").is_some_and(|field| !reader.truth(Some(field))),
        other_keys: Vec::new(),
    };
    fields.retain(|field| !KEYS.contains(&field.key.as_str())); // those that mean something here only
    fields.sort_by_key(|field| field.position);
    let other = |Field {
                     key,
                     position,
                     node,
                 }: Field| OtherKey {
        key,
        position,
        value: yaml::in_one_line(&node),
    };
    frontmatter.other_keys = fields.into_iter().map(other).collect();
    Ok(Some(frontmatter))
}

/// The field of a key, which is read once; of several, the last.
fn take(fields: &mut Vec<Field>, key: &str) -> Option<Field> {
    let at = fields.iter().rposition(|field| field.key == key)?;
    Some(fields.swap_remove(at))
}

/// Where `engine` says `jinja`.
fn jinja(field: Option<Field>) -> Option<Position> {
    let Field { position, node, .. } = field?;
    matches!(&node.value, Value::Text { text, .. } if text.trim() == "jinja").then_some(position)
}

/// Reads one frontmatter.
struct Reader<'w> {
    dialect: Dialect,
    warnings: &'w mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn warn(
        &mut self,
        position: Option<Position>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.warnings
            .push(Diagnostic::warning(position, message, fix));
    }

    /// Warns of unknown keys that are one letter away from a known one, of keys that appear twice,
    /// and of those of an argument that are in none.
    fn lint(&mut self, fields: &[Field], keys: &[&str]) {
        let mut known = BTreeSet::new();
        let fields = if self.dialect == Dialect::Own {
            fields
        } else {
            &[]
        }; // the warnings about others are dropped
        for Field { key, position, .. } in fields {
            if !known.insert(key) {
                let message = format!("{} appears twice; the last is used", quoted(key));
                self.warn(Some(*position), message, "keep one of the two");
            }
            if keys.contains(&key.as_str()) {
                continue;
            }
            let of_argument = ARGUMENT_KEYS
                .iter()
                .filter(|of| !keys.contains(of) && **of != "name");
            let length = key.chars().count();
            let is_near = |near: &&&str| {
                near.len().abs_diff(length) <= 1 && matches!(distance(key, near), Some(0 | 1))
            };
            let Some(near) = keys.iter().chain(of_argument).find(is_near) else {
                continue;
            };
            if keys.contains(near) {
                let message = format!("unknown key {}", quoted(key));
                self.warn(
                    Some(*position),
                    message,
                    format!("write `{near}:` if that is meant"),
                );
            } else {
                let message = format!(
                    "{} has no effect here, because it is a key of an argument",
                    quoted(key)
                );
                self.warn(
                    Some(*position),
                    message,
                    format!("write `{near}:` below `- name: …`, in `arguments`"),
                );
            }
        }
    }

    /// A value that should be text.
    fn text(&mut self, field: Option<Field>) -> Option<String> {
        let Field { key, node, .. } = field?;
        let text = match node.value {
            Value::Null(_) => return None,
            // A default in quotes is verbatim.
            Value::Text {
                text,
                is_quoted: true,
            } if key == "default" => text,
            Value::Text { text, .. } => text.trim().to_owned(),
            Value::List(_) | Value::Map(_) => {
                let text = yaml::in_one_line(&node);
                let message = format!(
                    "{} is a list or a map to YAML; it is read as text",
                    quoted(&key)
                );
                self.warn(Some(node.position), message, lenient::quote_it(&key, &text));
                text
            }
        };
        (!text.is_empty()).then_some(text)
    }

    /// `arguments` as a list of maps, or, in short form, of names.
    fn arguments(&mut self, field: Option<Field>) -> Result<Vec<Argument>, Diagnostic> {
        let Some(Field { node, .. }) = field else {
            return Ok(Vec::new());
        };
        let nodes = match node.value {
            Value::Null(_) => return Ok(Vec::new()),
            Value::List(nodes) => nodes,
            Value::Text { text, .. } if self.dialect == Dialect::Claude => {
                let names = text
                    .split([' ', ',', '\n', '[', ']', '"'])
                    .filter(|name| !name.is_empty());
                let value = |name: &str| Value::Text {
                    text: name.to_owned(),
                    is_quoted: false,
                };
                names
                    .map(|name| Node {
                        position: node.position,
                        value: value(name),
                    })
                    .collect()
            }
            Value::Text { .. } | Value::Map(_) => {
                let message = "`arguments` is not a list, and declares nothing";
                let fix = "write one line `  - name: …` for each argument below `arguments:`, or delete the key";
                self.warn(Some(node.position), message, fix);
                return Ok(Vec::new());
            }
        };
        let mut arguments: Vec<Argument> = Vec::new();
        for (index, node) in nodes.into_iter().enumerate() {
            let position = Some(node.position);
            let argument = self.argument(node);
            let is_position = argument.name.bytes().all(|byte| byte.is_ascii_digit());
            if self.dialect == Dialect::Claude && (is_position || argument.name.starts_with('$')) {
                continue; // Claude Code drops such names: `$1` is a word of the text there
            }
            if argument.name.is_empty() {
                let message = format!("argument {} has no usable name, and is ignored", index + 1);
                self.warn(
                    position,
                    message,
                    "write `- name: …`, with a name without spaces or braces",
                );
            } else if arguments
                .iter()
                .any(|earlier| earlier.name == argument.name)
            {
                let message = format!(
                    "the argument {} is declared twice; the first is used",
                    quoted(&argument.name)
                );
                self.warn(
                    position,
                    message,
                    "give one of the two another name, or delete it",
                );
            } else if arguments.len() == MAX_ARGUMENTS {
                let message = format!("more than {MAX_ARGUMENTS} arguments are declared");
                return Err(Diagnostic::error(
                    position,
                    message,
                    "declare fewer, or take them all as `{{input}}`",
                ));
            } else {
                arguments.push(argument);
            }
        }
        Ok(arguments)
    }

    /// One argument; its name is empty if the declared one is missing or invalid.
    fn argument(&mut self, node: Node) -> Argument {
        match node.value {
            Value::Text { text, .. } => {
                let name = Some(text.trim().to_owned())
                    .filter(|name| is_argument_name(name))
                    .unwrap_or_default();
                Argument {
                    name,
                    ..Argument::default()
                }
            }
            Value::Map(fields) => {
                self.lint(&fields, &ARGUMENT_KEYS);
                let default = fields
                    .iter()
                    .rfind(|field| field.key == "default")
                    .map(|field| field.position);
                let mut fields = fields;
                let mut take = |key: &str| take(&mut fields, key);
                let value = self.text(take("default"));
                let argument = Argument {
                    name: self
                        .text(take("name"))
                        .filter(|name| is_argument_name(name))
                        .unwrap_or_default(),
                    title: self.text(take("title")),
                    description: self.text(take("description")),
                    required: self.truth(take("required")) && value.is_none(),
                    default: value,
                    choices: self.texts(take("choices")),
                    strict: self.truth(take("strict")),
                };
                if let Some(value) = argument
                    .default
                    .as_ref()
                    .filter(|value| !argument.allows(value))
                {
                    let choices = alternatives(&argument.choices);
                    let message = format!(
                        "the default {} is not among the choices, {choices}",
                        quoted(value)
                    );
                    self.warn(
                        default,
                        message,
                        "add it to `choices`, or write one of them as `default`",
                    );
                }
                argument
            }
            Value::Null(_) | Value::List(_) => Argument::default(),
        }
    }

    /// A value that should be a list of texts; a text is one of them, or several between commas.
    fn texts(&mut self, field: Option<Field>) -> Vec<String> {
        let Some(field) = field else {
            return Vec::new();
        };
        let texts = match &field.node.value {
            Value::Text {
                text,
                is_quoted: false,
            } => {
                let texts = text
                    .split(',')
                    .map(|text| text.trim().trim_matches(['"', '\'', '[', ']']));
                texts.map(str::to_owned).collect()
            }
            _ => self
                .items(field)
                .into_iter()
                .map(|(text, _)| text)
                .collect(),
        };
        distinct(texts)
    }

    /// The texts in a list, or the one that is given.
    fn items(&mut self, Field { key, node, .. }: Field) -> Vec<(String, Position)> {
        let nodes = match node.value {
            Value::Null(_) => return Vec::new(),
            Value::List(nodes) => nodes,
            _ => vec![node],
        };
        let mut items = Vec::new();
        for Node {
            value, position, ..
        } in nodes
        {
            match value {
                Value::Text { text, .. } | Value::Null(text) => items.push((text, position)),
                Value::List(_) | Value::Map(_) => {
                    let message = format!("a part of {} is not text, and is ignored", quoted(&key));
                    self.warn(
                        Some(position),
                        message,
                        "write it as text, in quotes if it begins with `[` or `{`",
                    );
                }
            }
        }
        items
    }

    /// The paths and addresses in a list of them, or the one that is given.
    ///
    /// # Errors
    /// There are more than [`MAX_ATTACHMENTS`].
    fn attachments(&mut self, field: Option<Field>) -> Result<Vec<AttachmentPath>, Diagnostic> {
        let Some(field) = field else {
            return Ok(Vec::new());
        };
        let position = Some(field.position);
        let items = self.items(field);
        if items.len() > MAX_ATTACHMENTS {
            let message = format!(
                "the prompt has {} attachments, the limit is {MAX_ATTACHMENTS}",
                items.len()
            );
            let fix = "attach fewer, or write their paths for the agent to read";
            return Err(Diagnostic::error(position, message, fix));
        }
        let items = items
            .into_iter()
            .filter(|(path, _)| !path.trim().is_empty());
        Ok(items
            .map(|(path, position)| AttachmentPath {
                path: path.trim().to_owned(),
                position,
            })
            .collect())
    }

    /// A value that should be `true` or `false`; without one it is `false`.
    fn truth(&mut self, field: Option<Field>) -> bool {
        let Some(Field { key, node, .. }) = field else {
            return false;
        };
        let text = match &node.value {
            Value::Null(_) => String::new(),
            Value::Text { text, .. } => text.to_lowercase(),
            Value::List(_) | Value::Map(_) => yaml::in_one_line(&node),
        };
        match text.as_str() {
            "true" | "yes" | "on" => true,
            "" | "false" | "no" | "off" => false,
            _ => {
                let message = format!(
                    "{} is neither `true` nor `false`, and is read as `false`",
                    quoted(&key)
                );
                self.warn(
                    Some(node.position),
                    message,
                    format!("write `{key}: true` or `{key}: false`"),
                );
                false
            }
        }
    }
}

/// Whether a placeholder can have this name.
pub(crate) fn is_argument_name(name: &str) -> bool {
    let is_forbidden =
        |letter: char| letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter);
    !name.is_empty() && !name.contains(is_forbidden)
}

/// Each text that is not empty, once.
pub(crate) fn distinct(mut texts: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    texts.retain(|text| !text.is_empty() && known.insert(text.clone()));
    texts
}
