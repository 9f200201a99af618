//! Reads the frontmatter of a Markdown file into a [`Frontmatter`].
//!
//! The frontmatter is first parsed as strict YAML ([`yaml`]). If that fails, it is parsed again key
//! by key ([`lenient`]), so that a mistake in one key doesn't affect the others. Mistakes are
//! reported as warnings with a fix, not as errors.

use super::value_line::{QUOTE_VALUE, key_fix};
use super::yaml::{self, Field, Node, Value, YamlError};
use super::{lenient, swallowed};
use crate::prompt::attachment::AttachmentPath;
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_ATTACHMENTS, MAX_YAML_SIZE};
use crate::prompt::model::{Argument, IgnoredKey, Metadata};
use crate::prompt::similar::edit_distance;
use crate::wording::{or_list, quoted};
use std::collections::BTreeSet;

/// The keys of a frontmatter. A missing key has its default value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frontmatter {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<Argument>,
    /// Whether there is a key `arguments`, even if it declares nothing.
    pub(crate) has_arguments_key: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Metadata,
    /// The unknown keys, in the order of the file.
    pub(crate) ignored_keys: Vec<IgnoredKey>,
    /// `words: true`: each argument is one word of the text.
    pub(crate) one_word_per_argument: bool,
    /// `mention: false`: naming the prompt in the middle of a message does not invoke it.
    pub(crate) forbids_mentions: bool,
    /// `menu: false`: agents' menus get no entry for the prompt.
    pub(crate) forbids_menu: bool,
    pub(crate) attachments: Vec<AttachmentPath>,
    /// `messages: true`: markers divide the body into messages.
    pub(crate) has_messages: bool,
    /// `include: true`: lines of the body include other files.
    pub(crate) has_includes: bool,
    /// The position of `engine: jinja`, if the body is a Jinja template.
    pub(crate) jinja_position: Option<Position>,
}

impl Frontmatter {
    pub(crate) fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().map(|argument| argument.name.as_str())
    }
}

/// The program that a file is written for, which determines how its frontmatter is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// This program, the only one that supports includes, messages, attachments and Jinja.
    Own,
    /// Claude Code, which also accepts a string of names as `arguments`: `arguments: issue branch`.
    Claude,
    /// Cursor, which treats lines between two `---` as text if none of them has a key.
    Cursor,
    /// Any other program.
    Other,
}

/// The line of the file in which the keys begin, below the opening `---`.
pub(super) const FIRST_KEY_LINE: usize = 2;

/// The known keys of a frontmatter, except for those of [`Metadata`].
pub(super) const KEYS: [&str; 11] = [
    "title",
    "description",
    "arguments",
    "tags",
    "mention",
    "menu",
    "messages",
    "attachments",
    "include",
    "engine",
    "words",
];

/// The known keys of an argument.
const ARGUMENT_KEYS: [&str; 7] = [
    "name",
    "title",
    "description",
    "required",
    "default",
    "choices",
    "strict",
];

/// Parses the lines between the two `---`, and adds a warning to `warnings` for each error.
///
/// Returns `None` if the lines aren't frontmatter but text between two Markdown rules: none of them
/// has a key such as `title:`.
///
/// # Errors
/// Fails if the YAML is larger than [`MAX_YAML_SIZE`], if there are more than [`MAX_ARGUMENTS`] or
/// [`MAX_ATTACHMENTS`], or, in this program's own dialect, if the closing `---` was forgotten
/// ([`swallowed::reject_swallowed_body`]).
pub(crate) fn read(
    yaml: &str,
    dialect: Dialect,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Frontmatter>, Diagnostic> {
    let Some(fields) = read_fields(yaml, dialect, warnings)? else {
        return Ok(None);
    };
    let mut map = MapReader {
        fields,
        dialect,
        warnings,
    };
    map.warn_about_keys(&KEYS);
    let is_own = dialect == Dialect::Own;
    Ok(Some(Frontmatter {
        title: map.take_string("title"),
        description: map.take_string("description"),
        jinja_position: map.take_jinja_position(),
        has_includes: is_own && map.take_bool("include"),
        has_arguments_key: map.key_position("arguments").is_some(),
        arguments: map.take_arguments()?,
        tags: map.take_strings("tags"),
        metadata: Metadata {
            author: map.take_string("author"),
            version: map.take_string("version"),
            category: map.take_string("category"),
        },
        attachments: if is_own {
            map.take_attachments()?
        } else {
            Vec::new()
        },
        has_messages: is_own && map.take_bool("messages"),
        one_word_per_argument: is_own && map.take_bool("words"),
        forbids_mentions: map.takes_false("mention"),
        forbids_menu: map.takes_false("menu"),
        // Must come last: these are the keys that were not taken above.
        ignored_keys: map.into_ignored_keys(),
    }))
}

/// Parses the lines as YAML, falling back to lenient parsing if they are not a valid map.
///
/// Returns `None` if the lines are text, not frontmatter. Blank lines and comments alone are
/// frontmatter without keys.
///
/// # Errors
/// The same as for [`read`], except for too many arguments and attachments.
fn read_fields(
    yaml: &str,
    dialect: Dialect,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Vec<Field>>, Diagnostic> {
    let has_keys = lenient::has_any_key(yaml);
    let mut budget = MAX_YAML_SIZE;
    let parsed = yaml::parse(yaml, FIRST_KEY_LINE, &mut budget);
    if let Err(YamlError::TooLarge(error)) = parsed {
        return Err(error);
    }
    // A swallowed body may be valid YAML, so this is checked even if parsing succeeded.
    if has_keys && dialect == Dialect::Own {
        swallowed::reject_swallowed_body(yaml, FIRST_KEY_LINE)?;
    }
    if yaml.lines().all(lenient::is_empty_or_comment) {
        return Ok(Some(Vec::new()));
    }
    if let Ok(Node {
        value: Value::Map(fields),
        ..
    }) = parsed
        && (has_keys || fields.iter().any(is_known))
    {
        return Ok(Some(fields));
    }
    if !has_keys {
        return Ok(None);
    }
    // A failed parse doesn't count, so the keys get the whole budget.
    let mut lenient_budget = MAX_YAML_SIZE;
    let fields = lenient::parse_fields(yaml, FIRST_KEY_LINE, &mut lenient_budget, warnings)?;
    Ok(Some(fields))
}

fn is_known(field: &Field) -> bool {
    KEYS.contains(&field.key.as_str())
}

/// Reads the values of the frontmatter map, or of the map of one argument.
///
/// Each key is removed when it is read, so that the unknown keys remain in the end. If a key
/// appears twice, the last one is used.
struct MapReader<'w> {
    fields: Vec<Field>,
    dialect: Dialect,
    warnings: &'w mut Vec<Diagnostic>,
}

impl MapReader<'_> {
    /// Removes the last field with this key.
    fn take(&mut self, key: &str) -> Option<Field> {
        let index = self.fields.iter().rposition(|field| field.key == key)?;
        Some(self.fields.remove(index))
    }

    /// Returns the position of a key. Must be called before the key is taken.
    fn key_position(&self, key: &str) -> Option<Position> {
        let field = self.fields.iter().rfind(|field| field.key == key)?;
        Some(field.position)
    }

    fn warn(&mut self, position: Position, message: impl Into<String>, fix: impl Into<String>) {
        self.warnings
            .push(Diagnostic::warning(Some(position), message, fix));
    }

    /// Warns about keys that appear twice, and about unknown keys that may be misspelled or
    /// misplaced. Files of other programs get no such warnings.
    fn warn_about_keys(&mut self, known_keys: &[&str]) {
        if self.dialect != Dialect::Own {
            return;
        }
        let mut seen = BTreeSet::new();
        for field in &self.fields {
            let key = field.key.as_str();
            if !seen.insert(key) {
                self.warnings.push(repeated_key_warning(field));
            }
            if !known_keys.contains(&key) {
                self.warnings
                    .extend(misspelled_key_warning(field, known_keys));
            }
        }
    }

    /// Takes a key and returns its value as a trimmed string, or `None` if it is missing or empty.
    ///
    /// A list or a map is converted to YAML on one line, with a warning. A quoted `default` keeps
    /// its surrounding spaces.
    fn take_string(&mut self, key: &str) -> Option<String> {
        let field = self.take(key)?;
        let text = match &field.node.value {
            Value::Null(_) => return None,
            Value::Scalar {
                text,
                is_quoted: true,
            } if key == "default" => text.clone(),
            Value::Scalar { text, .. } => text.trim().to_owned(),
            Value::List(_) | Value::Map(_) => self.collection_text(&field),
        };
        (!text.is_empty()).then_some(text)
    }

    /// Converts a list or a map to YAML on one line, with a warning.
    fn collection_text(&mut self, field: &Field) -> String {
        let text = yaml::to_flow_style(&field.node);
        let message = format!(
            "{} is a list or a map to YAML; it is read as text",
            quoted(&field.key)
        );
        let position = field.node.position;
        let is_block = position.line > field.position.line;
        let fix = if is_block {
            QUOTE_VALUE.to_owned() // a comment in the block may be meant as text
        } else {
            key_fix(&field.key, &text)
        };
        self.warn(position, message, fix);
        text
    }

    /// Takes a key and returns its value as a boolean. Defaults to `false` if the key is missing or
    /// empty, and also, with a warning, if the value is not a boolean.
    fn take_bool(&mut self, key: &str) -> bool {
        let Some(field) = self.take(key) else {
            return false;
        };
        let value = match &field.node.value {
            Value::Null(_) => Some(false),
            Value::Scalar { text, .. } => parse_bool(text),
            Value::List(_) | Value::Map(_) => None,
        };
        if let Some(value) = value {
            return value;
        }
        let message = format!(
            "{} is neither `true` nor `false`, and is read as `false`",
            quoted(key)
        );
        let fix = format!("write `{key}: true` or `{key}: false`");
        self.warn(field.node.position, message, fix);
        false
    }

    /// Takes a boolean and returns whether it is given and false. Other booleans default to
    /// `false`.
    fn takes_false(&mut self, key: &str) -> bool {
        let is_given = self.key_position(key).is_some();
        is_given && !self.take_bool(key)
    }

    /// Takes a key and returns its list of strings, without empty ones and duplicates. An unquoted
    /// string is split at its commas: `tags: a, b`.
    fn take_strings(&mut self, key: &str) -> Vec<String> {
        let Some(field) = self.take(key) else {
            return Vec::new();
        };
        let mut strings = Vec::new();
        if let Value::Scalar {
            text,
            is_quoted: false,
        } = &field.node.value
        {
            for part in text.split(',') {
                // The brackets and quotes of an invalid list, such as `[a, "b`.
                let part = part.trim().trim_matches(['"', '\'', '[', ']']);
                strings.push(part.to_owned());
            }
        } else {
            for item in self.strings_in(field) {
                strings.push(item.text);
            }
        }
        without_duplicates(strings)
    }

    /// Returns the strings of a list. A single string is a list of one. Items that are lists or
    /// maps are skipped with a warning.
    fn strings_in(&mut self, field: Field) -> Vec<StringItem> {
        let nodes = match field.node.value {
            Value::Null(_) => return Vec::new(),
            Value::List(nodes) => nodes,
            Value::Scalar { .. } | Value::Map(_) => vec![field.node],
        };
        let mut items = Vec::new();
        for Node { position, value } in nodes {
            match value {
                Value::Scalar { text, .. } | Value::Null(text) => {
                    items.push(StringItem { text, position });
                }
                Value::List(_) | Value::Map(_) => {
                    let key = quoted(&field.key);
                    let message = format!("an item of {key} is not a string, and is ignored");
                    let fix = "write it as a string, in quotes if it begins with `[` or `{`";
                    self.warn(position, message, fix);
                }
            }
        }
        items
    }

    /// Takes `attachments` and returns its paths and URLs.
    ///
    /// # Errors
    /// Fails if there are more than [`MAX_ATTACHMENTS`].
    fn take_attachments(&mut self) -> Result<Vec<AttachmentPath>, Diagnostic> {
        let Some(field) = self.take("attachments") else {
            return Ok(Vec::new());
        };
        let key_position = field.position;
        let items = self.strings_in(field);
        if items.len() > MAX_ATTACHMENTS {
            let count = items.len();
            return Err(Diagnostic::error(
                Some(key_position),
                format!("the prompt has {count} attachments, the limit is {MAX_ATTACHMENTS}"),
                "attach fewer, or write their paths for the agent to read",
            ));
        }
        let mut attachments = Vec::new();
        for StringItem { text, position } in items {
            let path = text.trim().to_owned();
            if !path.is_empty() {
                attachments.push(AttachmentPath { path, position });
            }
        }
        Ok(attachments)
    }

    /// Takes `engine` and returns its position, if the value is `jinja`. Other values are ignored.
    fn take_jinja_position(&mut self) -> Option<Position> {
        let field = self.take("engine")?;
        let is_jinja =
            matches!(&field.node.value, Value::Scalar { text, .. } if text.trim() == "jinja");
        is_jinja.then_some(field.position)
    }

    /// Takes `arguments` and returns the declared arguments. One with an invalid name, or with the
    /// name of an earlier one, is skipped with a warning.
    ///
    /// # Errors
    /// Fails if there are more than [`MAX_ARGUMENTS`].
    fn take_arguments(&mut self) -> Result<Vec<Argument>, Diagnostic> {
        let mut arguments: Vec<Argument> = Vec::new();
        for (index, node) in self.take_argument_nodes().into_iter().enumerate() {
            let position = node.position;
            let Some(argument) = self.argument_from(node) else {
                self.warn_about_unusable_name(position, index + 1);
                continue;
            };
            let name = &argument.name;
            if self.dialect == Dialect::Claude && is_ignored_by_claude_code(name) {
                continue;
            }
            let is_repeated = arguments.iter().any(|earlier| earlier.name == *name);
            if is_repeated {
                self.warn_about_repeated_argument(position, name);
                continue;
            }
            if arguments.len() == MAX_ARGUMENTS {
                return Err(Diagnostic::error(
                    Some(position),
                    format!("more than {MAX_ARGUMENTS} arguments are declared"),
                    "declare fewer, or take them all as `{{input}}`",
                ));
            }
            arguments.push(argument);
        }
        Ok(arguments)
    }

    /// Warns about the item of `arguments` with this number, the first one being 1. Claude Code
    /// ignores such an item, too, so its files get no warning.
    fn warn_about_unusable_name(&mut self, position: Position, number: usize) {
        if self.dialect == Dialect::Claude {
            return;
        }
        let message = format!("argument {number} has no usable name, and is ignored");
        let fix = "write `- name: …`, with a name without spaces or braces";
        self.warn(position, message, fix);
    }

    fn warn_about_repeated_argument(&mut self, position: Position, name: &str) {
        let name = quoted(name);
        let message = format!("the argument {name} is declared twice; the first is used");
        let fix = "give one of the two another name, or delete it";
        self.warn(position, message, fix);
    }

    /// Takes `arguments` and returns its items, each of which is a name or a map.
    ///
    /// Falls back to a list `parameters`, the key that the program swissarmyhammer uses.
    fn take_argument_nodes(&mut self) -> Vec<Node> {
        let parameters = self
            .take("parameters")
            .filter(|field| matches!(field.node.value, Value::List(_)));
        let Some(field) = self.take("arguments").or(parameters) else {
            return Vec::new();
        };
        let position = field.node.position;
        match field.node.value {
            Value::Null(_) => Vec::new(),
            Value::List(nodes) => nodes,
            Value::Scalar { text, .. } if self.dialect == Dialect::Claude => {
                split_names(&text, position)
            }
            Value::Scalar { .. } | Value::Map(_) => {
                let message = "`arguments` is not a list, and declares nothing";
                let fix = "write one line `  - name: …` for each argument below `arguments:`, or delete the key";
                self.warn(position, message, fix);
                Vec::new()
            }
        }
    }

    /// Converts an item of `arguments`. Returns `None` if the declared name is missing or invalid.
    fn argument_from(&mut self, node: Node) -> Option<Argument> {
        let argument = match node.value {
            Value::Scalar { text, .. } => Argument {
                name: text.trim().to_owned(),
                ..Argument::default()
            },
            Value::Map(fields) => MapReader {
                fields,
                dialect: self.dialect,
                warnings: self.warnings,
            }
            .into_argument(),
            Value::Null(_) | Value::List(_) => return None,
        };
        is_argument_name(&argument.name).then_some(argument)
    }

    /// Converts the map of one argument. Its name is not validated.
    fn into_argument(mut self) -> Argument {
        self.warn_about_keys(&ARGUMENT_KEYS);
        let default_position = self.key_position("default");
        let default = self.take_string("default");
        let argument = Argument {
            name: self.take_string("name").unwrap_or_default(),
            title: self.take_string("title"),
            description: self.take_string("description"),
            required: self.take_bool("required") && default.is_none(),
            default,
            choices: self.take_strings("choices"),
            strict: self.take_bool("strict"),
        };
        if let Some(position) = default_position
            && let Some(default) = &argument.default
            && !argument.allows(default)
        {
            let value = quoted(default);
            let choices = or_list(&argument.choices);
            let message = format!("the default {value} is not among the choices, {choices}");
            let fix = "add it to `choices`, or write one of them as `default`";
            self.warn(position, message, fix);
        }
        argument
    }

    /// Returns the unknown keys that are left, in the order of the file.
    fn into_ignored_keys(mut self) -> Vec<IgnoredKey> {
        // Known keys can be left, too: the first of two equal keys, or a key that is read only in
        // this program's own dialect, such as `include`.
        self.fields.retain(|field| !is_known(field));
        self.fields.sort_by_key(|field| field.position);
        self.fields
            .into_iter()
            .map(|field| IgnoredKey {
                value: yaml::to_flow_style(&field.node),
                key: field.key,
                position: field.position,
            })
            .collect()
    }
}

/// A string in a list.
struct StringItem {
    text: String,
    position: Position,
}

fn repeated_key_warning(field: &Field) -> Diagnostic {
    Diagnostic::warning(
        Some(field.position),
        format!("{} appears twice; the last is used", quoted(&field.key)),
        "keep one of the two",
    )
}

/// Returns a warning if an unknown key looks like a typo of a known one, or like a key of an
/// argument that was written at the top level.
fn misspelled_key_warning(field: &Field, known_keys: &[&str]) -> Option<Diagnostic> {
    let key = quoted(&field.key);
    if let Some(known) = known_keys
        .iter()
        .find(|known| is_typo_of(&field.key, known))
    {
        return Some(Diagnostic::warning(
            Some(field.position),
            format!("unknown key {key}"),
            format!("write `{known}:` if that is meant"),
        ));
    }
    // A top-level `name` is no mistake: other programs have it in their frontmatter.
    let argument_key = ARGUMENT_KEYS
        .iter()
        .find(|known| **known != "name" && is_typo_of(&field.key, known))?;
    Some(Diagnostic::warning(
        Some(field.position),
        format!("{key} has no effect here, because it is a key of an argument"),
        format!("write `{argument_key}:` below `- name: …`, in `arguments`"),
    ))
}

/// Returns whether a key equals a known key, or is one edit away from it. Case is ignored.
pub(super) fn is_typo_of(key: &str, known: &str) -> bool {
    // Comparing the lengths first rules out most keys cheaply.
    key.chars().count().abs_diff(known.len()) <= 1
        && matches!(edit_distance(key, known), Some(0 | 1))
}

/// Parses a boolean of YAML 1.1, e.g. `yes` or `Off`. An empty string is `false`.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Splits a string such as `issue, branch` or `[issue branch]` into nodes, one for each name.
fn split_names(text: &str, position: Position) -> Vec<Node> {
    let mut nodes = Vec::new();
    for name in text.split([' ', ',', '\n', '[', ']', '"']) {
        if !name.is_empty() {
            let value = Value::Scalar {
                text: name.to_owned(),
                is_quoted: false,
            };
            nodes.push(Node { position, value });
        }
    }
    nodes
}

/// Returns whether Claude Code ignores an argument of this name, because in the body `$1` is a word
/// of the text.
fn is_ignored_by_claude_code(name: &str) -> bool {
    name.starts_with('$') || name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether this is a valid argument name, i.e. one that a placeholder can contain.
pub(crate) fn is_argument_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(is_forbidden_in_name)
}

/// Returns whether the character would end a placeholder.
fn is_forbidden_in_name(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter)
}

/// Removes empty strings, and all but the first of equal strings.
fn without_duplicates(mut strings: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    strings.retain(|string| !string.is_empty() && seen.insert(string.clone()));
    strings
}
