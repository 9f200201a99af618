//! What the keys of a frontmatter say.
//!
//! It is read as strict YAML first ([`yaml`]). What a strict reader refuses is read again, key by
//! key ([`lenient`]), so that a mistake in one key costs no other. A mistake is not an error; it
//! becomes a warning with its fix.

use super::yaml::{self, Field, Node, Value, YamlError};
use super::{lenient, swallowed};
use crate::prompt::attachment::AttachmentPath;
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::{MAX_ARGUMENTS, MAX_ATTACHMENTS, MAX_YAML_SIZE};
use crate::prompt::model::{Argument, IgnoredKey, Metadata};
use crate::prompt::similar::edit_distance;
use crate::wording::{or_list, quoted};
use std::collections::BTreeSet;

/// What the frontmatter says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frontmatter {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Metadata,
    pub(crate) ignored_keys: Vec<IgnoredKey>,
    pub(crate) one_word_per_argument: bool,
    /// Whether it says `mention: false`.
    pub(crate) forbids_mentions: bool,
    pub(crate) attachments: Vec<AttachmentPath>,
    /// Whether markers divide the body into messages.
    pub(crate) has_messages: bool,
    /// Whether lines of the body include other files.
    pub(crate) has_includes: bool,
    /// Where `engine: jinja` is written.
    pub(crate) jinja: Option<Position>,
}

impl Frontmatter {
    /// Returns the names of the arguments.
    pub(crate) fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().map(|argument| argument.name.as_str())
    }
}

/// The program that a file is written for. The same frontmatter means different things to them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// This program. Mistakes are warnings.
    Own,
    /// Claude Code, to which a text in `arguments` is a list of names, too.
    Claude,
    /// Cursor, which has no frontmatter: lines between two rules are text.
    Cursor,
    Other,
}

/// The line of the file in which a frontmatter begins.
const FIRST_LINE: usize = 2;

/// The known keys of a frontmatter.
pub(super) const KEYS: [&str; 10] = [
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

/// Reads frontmatter, and adds the warnings about its mistakes to `warnings`.
///
/// Returns `None` if no line has a key of one word, because then the lines are text between two
/// rules.
///
/// # Errors
/// Fails if YAML aliases make the frontmatter larger than [`MAX_YAML_SIZE`], if it has more than
/// [`MAX_ARGUMENTS`] or [`MAX_ATTACHMENTS`], or if it contains the body of the prompt
/// ([`swallowed::refuse_body`]).
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
    map.warn_of_keys(&KEYS);
    let is_own = dialect == Dialect::Own;
    Ok(Some(Frontmatter {
        title: map.text("title"),
        description: map.text("description"),
        jinja: map.jinja(),
        has_includes: is_own && map.is_true("include"),
        arguments: map.arguments()?,
        tags: map.texts("tags"),
        metadata: Metadata {
            author: map.text("author"),
            version: map.text("version"),
            category: map.text("category"),
        },
        attachments: if is_own {
            map.attachments()?
        } else {
            Vec::new()
        },
        has_messages: is_own && map.is_true("messages"),
        one_word_per_argument: is_own && map.is_true("words"),
        forbids_mentions: map.position("mention").is_some() && !map.is_true("mention"),
        // These are the keys that nothing above has taken.
        ignored_keys: map.into_other_keys(),
    }))
}

/// Returns the keys of a frontmatter with their values. If YAML refuses the lines, they are read
/// one by one, with a warning about each mistake.
///
/// Returns `None` if the lines between the two `---` are text, because none of them begins with a
/// key such as `title:`. Lines that are empty or comments are a frontmatter without keys.
///
/// # Errors
/// Fails if the values weigh more than [`MAX_YAML_SIZE`], or if the lines contain the body of a prompt
/// of this program.
fn read_fields(
    yaml: &str,
    dialect: Dialect,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Vec<Field>>, Diagnostic> {
    let has_keys = lenient::has_keys(yaml);
    let mut budget = MAX_YAML_SIZE;
    let parsed = yaml::parse(yaml, FIRST_LINE, &mut budget);
    if let Err(YamlError::TooLarge(error)) = parsed {
        return Err(error);
    }
    if has_keys && dialect == Dialect::Own {
        swallowed::refuse_body(yaml, FIRST_LINE)?;
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
    let mut lenient_budget = MAX_YAML_SIZE; // what the first reading used does not count
    let fields = lenient::fields(yaml, FIRST_LINE, &mut lenient_budget, warnings)?;
    Ok(Some(fields))
}

/// Returns whether a key has a meaning in a frontmatter of this program.
fn is_known(field: &Field) -> bool {
    KEYS.contains(&field.key.as_str())
}

/// Reads the values of one map: of the frontmatter, or of an argument in it.
///
/// Each key is taken out of the map when it is read. If a key appears twice, the last one counts.
struct MapReader<'w> {
    fields: Vec<Field>,
    dialect: Dialect,
    warnings: &'w mut Vec<Diagnostic>,
}

impl MapReader<'_> {
    /// Takes a key and its value out of the map: those that come last, if the key appears twice.
    fn take(&mut self, key: &str) -> Option<Field> {
        let index = self.fields.iter().rposition(|field| field.key == key)?;
        Some(self.fields.swap_remove(index))
    }

    /// Returns the position of a key, which stays in the map. Must be called before the value is
    /// taken.
    fn position(&self, key: &str) -> Option<Position> {
        let field = self.fields.iter().rfind(|field| field.key == key)?;
        Some(field.position)
    }

    /// Adds a warning.
    fn warn(&mut self, position: Position, message: impl Into<String>, fix: impl Into<String>) {
        self.warnings
            .push(Diagnostic::warning(Some(position), message, fix));
    }

    /// Warns of keys that appear twice, and of unknown keys that may be misspelled or misplaced.
    fn warn_of_keys(&mut self, known: &[&str]) {
        if self.dialect != Dialect::Own {
            return;
        }
        let mut seen = BTreeSet::new();
        for field in &self.fields {
            if !seen.insert(field.key.as_str()) {
                self.warnings.push(repeated_key(field));
            }
            if !known.contains(&field.key.as_str()) {
                self.warnings.extend(misspelled_key(field, known));
            }
        }
    }

    /// Returns the value of a key as a text that is not empty.
    ///
    /// A list or a map is read as its YAML in one line, with a warning.
    fn text(&mut self, key: &str) -> Option<String> {
        let node = self.take(key)?.node;
        let text = match node.value {
            Value::Null(_) => return None,
            Value::Text {
                text,
                is_quoted: true,
            } if key == "default" => text, // The quotes are there to keep its spaces.
            Value::Text { text, .. } => text.trim().to_owned(),
            Value::List(_) | Value::Map(_) => {
                let text = yaml::in_one_line(&node);
                let message = format!(
                    "{} is a list or a map to YAML; it is read as text",
                    quoted(key)
                );
                self.warn(node.position, message, lenient::quoting_fix(key, &text));
                text
            }
        };
        (!text.is_empty()).then_some(text)
    }

    /// Returns whether the value of a key is `true`. Any other text than `true` and `false` gets a
    /// warning, and counts as `false`.
    fn is_true(&mut self, key: &str) -> bool {
        let Some(field) = self.take(key) else {
            return false;
        };
        let value = match &field.node.value {
            Value::Null(_) => Some(false),
            Value::Text { text, .. } => truth(text),
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

    /// Returns the distinct texts in the list of a key. Instead of a list, a text without quotes
    /// may have commas between its parts.
    fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(field) = self.take(key) else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        if let Value::Text {
            text,
            is_quoted: false,
        } = &field.node.value
        {
            for part in text.split(',') {
                let part = part.trim().trim_matches(['"', '\'', '[', ']']);
                texts.push(part.to_owned());
            }
        } else {
            for item in self.items(field) {
                texts.push(item.text);
            }
        }
        distinct(texts)
    }

    /// Returns the texts in a list, or the one text that is there instead of a list. An item that
    /// is not text is left out, with a warning.
    fn items(&mut self, field: Field) -> Vec<ListItem> {
        let nodes = match field.node.value {
            Value::Null(_) => return Vec::new(),
            Value::List(nodes) => nodes,
            Value::Text { .. } | Value::Map(_) => vec![field.node],
        };
        let mut items = Vec::new();
        for Node { position, value } in nodes {
            match value {
                Value::Text { text, .. } | Value::Null(text) => {
                    items.push(ListItem { text, position });
                }
                Value::List(_) | Value::Map(_) => {
                    let key = quoted(&field.key);
                    let message = format!("a part of {key} is not text, and is ignored");
                    let fix = "write it as text, in quotes if it begins with `[` or `{`";
                    self.warn(position, message, fix);
                }
            }
        }
        items
    }

    /// Returns the paths and addresses in `attachments`.
    ///
    /// # Errors
    /// Fails if there are more than [`MAX_ATTACHMENTS`].
    fn attachments(&mut self) -> Result<Vec<AttachmentPath>, Diagnostic> {
        let Some(field) = self.take("attachments") else {
            return Ok(Vec::new());
        };
        let key_position = field.position;
        let items = self.items(field);
        if items.len() > MAX_ATTACHMENTS {
            let count = items.len();
            return Err(Diagnostic::error(
                Some(key_position),
                format!("the prompt has {count} attachments, the limit is {MAX_ATTACHMENTS}"),
                "attach fewer, or write their paths for the agent to read",
            ));
        }
        let mut attachments = Vec::new();
        for ListItem { text, position } in items {
            let path = text.trim().to_owned();
            if !path.is_empty() {
                attachments.push(AttachmentPath { path, position });
            }
        }
        Ok(attachments)
    }

    /// Returns the position of `engine: jinja`, if the frontmatter has it.
    fn jinja(&mut self) -> Option<Position> {
        let field = self.take("engine")?;
        let is_jinja =
            matches!(&field.node.value, Value::Text { text, .. } if text.trim() == "jinja");
        is_jinja.then_some(field.position)
    }

    /// Returns the declared arguments. Those without a valid name of their own are left out, with a
    /// warning.
    ///
    /// # Errors
    /// Fails if there are more than [`MAX_ARGUMENTS`].
    fn arguments(&mut self) -> Result<Vec<Argument>, Diagnostic> {
        let mut arguments: Vec<Argument> = Vec::new();
        for (index, node) in self.argument_nodes().into_iter().enumerate() {
            let position = node.position;
            let argument = self.argument(node);
            let name = &argument.name;
            if self.dialect == Dialect::Claude && is_ignored_by_claude_code(name) {
                continue;
            }
            if name.is_empty() {
                let message = format!("argument {} has no usable name, and is ignored", index + 1);
                let fix = "write `- name: …`, with a name without spaces or braces";
                self.warn(position, message, fix);
            } else if arguments.iter().any(|earlier| earlier.name == *name) {
                let quoted_name = quoted(name);
                let message =
                    format!("the argument {quoted_name} is declared twice; the first is used");
                let fix = "give one of the two another name, or delete it";
                self.warn(position, message, fix);
            } else if arguments.len() == MAX_ARGUMENTS {
                return Err(Diagnostic::error(
                    Some(position),
                    format!("more than {MAX_ARGUMENTS} arguments are declared"),
                    "declare fewer, or take them all as `{{input}}`",
                ));
            } else {
                arguments.push(argument);
            }
        }
        Ok(arguments)
    }

    /// Returns the items of the key `arguments`. Each is the name of an argument, or a map.
    ///
    /// Without `arguments`, a list `parameters` is used, which is the key of the program
    /// swissarmyhammer.
    fn argument_nodes(&mut self) -> Vec<Node> {
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
            Value::Text { text, .. } if self.dialect == Dialect::Claude => {
                name_nodes(&text, position)
            }
            Value::Text { .. } | Value::Map(_) => {
                let message = "`arguments` is not a list, and declares nothing";
                let fix = "write one line `  - name: …` for each argument below `arguments:`, or delete the key";
                self.warn(position, message, fix);
                Vec::new()
            }
        }
    }

    /// Returns one argument. Its name is empty if the declared name is missing or invalid.
    fn argument(&mut self, node: Node) -> Argument {
        let mut argument = match node.value {
            Value::Text { text, .. } => Argument {
                name: text.trim().to_owned(),
                ..Argument::default()
            },
            Value::Map(fields) => MapReader {
                fields,
                dialect: self.dialect,
                warnings: self.warnings,
            }
            .into_argument(),
            Value::Null(_) | Value::List(_) => Argument::default(),
        };
        if !is_argument_name(&argument.name) {
            argument.name.clear();
        }
        argument
    }

    /// Returns the argument that this map declares, with its name as written.
    fn into_argument(mut self) -> Argument {
        self.warn_of_keys(&ARGUMENT_KEYS);
        let default_position = self.position("default");
        let default = self.text("default");
        let argument = Argument {
            name: self.text("name").unwrap_or_default(),
            title: self.text("title"),
            description: self.text("description"),
            required: self.is_true("required") && default.is_none(),
            default,
            choices: self.texts("choices"),
            strict: self.is_true("strict"),
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

    /// Returns the keys that this program does not know, in the order of the file.
    fn into_other_keys(mut self) -> Vec<IgnoredKey> {
        // Some known keys remain in the fields: the first of two equal keys, and a key such as
        // `include` in a file of another program, which ignores it.
        self.fields.retain(|field| !is_known(field));
        self.fields.sort_by_key(|field| field.position);
        self.fields
            .into_iter()
            .map(|field| IgnoredKey {
                value: yaml::in_one_line(&field.node),
                key: field.key,
                position: field.position,
            })
            .collect()
    }
}

/// A text in a list.
struct ListItem {
    text: String,
    position: Position,
}

/// Returns the warning about the second of two equal keys.
fn repeated_key(field: &Field) -> Diagnostic {
    Diagnostic::warning(
        Some(field.position),
        format!("{} appears twice; the last is used", quoted(&field.key)),
        "keep one of the two",
    )
}

/// Returns a warning about an unknown key that is one letter away from a known one, or from a key
/// of an argument.
fn misspelled_key(field: &Field, known: &[&str]) -> Option<Diagnostic> {
    if let Some(near) = known.iter().find(|near| is_near(&field.key, near)) {
        return Some(Diagnostic::warning(
            Some(field.position),
            format!("unknown key {}", quoted(&field.key)),
            format!("write `{near}:` if that is meant"),
        ));
    }
    // A frontmatter with a `name` is usual in other programs.
    let near = ARGUMENT_KEYS
        .iter()
        .find(|near| **near != "name" && is_near(&field.key, near))?;
    let key = quoted(&field.key);
    Some(Diagnostic::warning(
        Some(field.position),
        format!("{key} has no effect here, because it is a key of an argument"),
        format!("write `{near}:` below `- name: …`, in `arguments`"),
    ))
}

/// Returns whether at most one letter of a key differs from a known key.
fn is_near(key: &str, known: &str) -> bool {
    // Most keys differ in length, which costs less to find out than the distance.
    key.chars().count().abs_diff(known.len()) <= 1
        && matches!(edit_distance(key, known), Some(0 | 1))
}

/// Returns the truth value that a text has in YAML 1.1: `true` for `yes`, `false` for `Off` and for
/// an empty text, `None` for `maybe`.
fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Returns each name in a text such as `issue, branch`, as if the text were a list.
fn name_nodes(text: &str, position: Position) -> Vec<Node> {
    let mut nodes = Vec::new();
    for name in text.split([' ', ',', '\n', '[', ']', '"']) {
        if !name.is_empty() {
            let value = Value::Text {
                text: name.to_owned(),
                is_quoted: false,
            };
            nodes.push(Node { position, value });
        }
    }
    nodes
}

/// Returns whether Claude Code declares no argument of this name. `$1` is a word of the text there.
fn is_ignored_by_claude_code(name: &str) -> bool {
    name.starts_with('$') || name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a placeholder can have this name.
pub(crate) fn is_argument_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(is_forbidden_in_name)
}

/// Returns whether no name of an argument has this character, because it would end a placeholder.
fn is_forbidden_in_name(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter)
}

/// Returns each text that is not empty, once.
fn distinct(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.retain(|text| !text.is_empty() && seen.insert(text.clone()));
    texts
}
