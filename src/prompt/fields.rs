//! Edits Markdown prompt files field by field, for clients that don't handle the file itself: the
//! frontmatter keys and the messages.

use super::format::fences::{Split, split};
use super::format::frontmatter::{Dialect, is_argument_name};
use super::serialize::{arguments_key, join_file, join_messages, list_key, string_key};
use crate::input::without_bom;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::Role;
use crate::prompt::model::Argument;
use crate::wording::quoted;

/// The fields to change. For each field, `None` keeps it, and `Some(None)` or an empty value
/// removes the key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The `title` key.
    pub title: Option<Option<String>>,
    /// The `description` key.
    pub description: Option<Option<String>>,
    /// The `arguments` key, with all arguments.
    pub arguments: Option<Option<Vec<Argument>>>,
    /// The `tags` key.
    pub tags: Option<Option<Vec<String>>>,
    /// The message templates.
    pub messages: Option<Vec<(Role, String)>>,
}

/// An edited file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    /// The new contents.
    pub text: String,
    /// Whether the edit removed comments.
    pub loses_comments: bool,
}

/// A frontmatter key and its new lines.
struct KeyLines {
    key: &'static str,
    /// The lines of the key, or an empty string to remove it.
    lines: String,
}

/// Returns a file with some of its fields changed. All other keys are kept as they are. For a new
/// file, `text` is empty.
///
/// # Errors
/// Fails if the frontmatter isn't closed or an argument has an invalid name.
pub fn with_fields(text: &str, fields: &Fields) -> Result<EditedFile, Diagnostic> {
    let text = without_bom(text);
    let Split { yaml, body, .. } = split(text, Dialect::Own)?;
    if let Some(Some(arguments)) = &fields.arguments {
        check_argument_names(arguments)?;
    }
    let mut new_keys = changed_keys(fields);
    let mut new_body = None;
    if let Some(texts) = &fields.messages {
        let joined = join_messages(texts);
        let lines = if joined.has_markers {
            "messages: true\n"
        } else {
            ""
        };
        new_keys.push(KeyLines {
            key: "messages",
            lines: lines.to_owned(),
        });
        new_body = Some(joined.body);
    }
    let ReplacedKeys {
        lines,
        replaced_lines,
    } = replace_keys(yaml.unwrap_or_default(), new_keys);
    let new_text = match new_body {
        Some(new_body) => join_file(&lines, &new_body),
        // If the body starts with `---`, an empty frontmatter keeps it from being parsed as one.
        None if lines.is_empty() && !body.starts_with("---") => body.to_owned(),
        None => format!("---\n{lines}---\n{body}"),
    };
    Ok(EditedFile {
        text: new_text,
        loses_comments: replaced_lines.contains(" #"),
    })
}

/// Fails if an argument has a name that can't be used in a placeholder.
fn check_argument_names(arguments: &[Argument]) -> Result<(), Diagnostic> {
    for Argument { name, .. } in arguments {
        if !is_argument_name(name) {
            return Err(Diagnostic::invalid(
                format!("{} cannot be the name of an argument", quoted(name)),
                "choose a name without spaces, braces and angle brackets",
            ));
        }
    }
    Ok(())
}

/// Returns the new lines of all changed keys except `messages`.
fn changed_keys(fields: &Fields) -> Vec<KeyLines> {
    let mut keys = Vec::new();
    if let Some(title) = &fields.title {
        keys.push(KeyLines {
            key: "title",
            lines: string_key("title", title.as_deref()),
        });
    }
    if let Some(description) = &fields.description {
        keys.push(KeyLines {
            key: "description",
            lines: string_key("description", description.as_deref()),
        });
    }
    if let Some(declared) = &fields.arguments {
        keys.push(KeyLines {
            key: "arguments",
            lines: arguments_key(declared.as_deref().unwrap_or_default()),
        });
    }
    if let Some(tags) = &fields.tags {
        keys.push(KeyLines {
            key: "tags",
            lines: list_key("tags", tags.as_deref().unwrap_or_default()),
        });
    }
    keys
}

/// The result of replacing keys in a frontmatter.
struct ReplacedKeys {
    /// The lines of the new frontmatter.
    lines: String,
    /// The previous lines of the replaced keys.
    replaced_lines: String,
}

/// Replaces keys in a frontmatter, and appends those that it doesn't contain.
///
/// For example, replacing `title: x` and `tags: [a]` with `title: y` and `description: z` gives
/// `title: y`, `tags: [a]` and `description: z`.
fn replace_keys(yaml: &str, mut new_keys: Vec<KeyLines>) -> ReplacedKeys {
    let mut lines = String::new();
    let mut replaced_lines = String::new();
    // Whether the current line belongs to a replaced key. Lines before the first key don't.
    let mut is_replaced = false;
    for line in yaml.split_inclusive('\n') {
        if let Some(key) = top_level_key(line) {
            let new_key = new_keys.iter_mut().find(|new_key| new_key.key == key);
            is_replaced = new_key.is_some();
            if let Some(new_key) = new_key {
                // Take the lines, so that they are written only once if the key occurs twice.
                lines += &std::mem::take(&mut new_key.lines);
            }
        }
        if is_replaced {
            replaced_lines += line;
        } else {
            lines += line;
        }
    }
    for new_key in new_keys {
        lines += &new_key.lines; // empty if already written above
    }
    ReplacedKeys {
        lines,
        replaced_lines,
    }
}

/// The key that [`top_level_key`] returns for comments. It never equals a key to replace.
const COMMENT_KEY: &str = "";

/// Returns the key that starts on a line, e.g. `title` for `title: x`, or `None` if the line
/// continues the value of the key above. Comments count as a key of their own, so that they are
/// kept.
fn top_level_key(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return Some(COMMENT_KEY);
    }
    if line.starts_with(|first: char| first.is_whitespace() || "-}]".contains(first)) {
        return None;
    }
    let (key, _) = line.split_once(':')?;
    Some(key.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_fields_replace_keys_and_all_others_stay() {
        let file = "---\n# mine\ntitle: 'T'   # lost\nx-own: 1 # kept\ntags:\n- a\n- b\n---\n\nBody {{input}}\n";
        let title = |title: Option<&str>| Fields {
            title: Some(title.map(str::to_owned)),
            ..Fields::default()
        };
        let texts = |texts: &[(Role, &str)]| Fields {
            messages: Some(
                texts
                    .iter()
                    .map(|(role, text)| (*role, (*text).to_owned()))
                    .collect(),
            ),
            ..Fields::default()
        };
        let tags = Fields {
            tags: Some(Some(vec!["c".to_owned()])),
            ..Fields::default()
        };
        for (before, fields, after, is_lost) in [
            (file, Fields::default(), file.to_owned(), false),
            (
                file,
                title(Some("New: one")),
                file.replace("'T'   # lost", "\"New: one\""),
                true,
            ),
            (
                file,
                title(None),
                file.replace("title: 'T'   # lost\n", ""),
                true,
            ),
            (
                file,
                tags.clone(),
                file.replace("tags:\n- a\n- b\n", "tags: [c]\n"),
                false,
            ),
            ("B", tags, "---\ntags: [c]\n---\nB".to_owned(), false),
            ("---\ntitle: T\n---\nB", title(None), "B".to_owned(), false),
            (
                "---\ntitle: T\n---\n---\n",
                title(None),
                "---\n---\n---\n".to_owned(),
                false,
            ),
            (
                "",
                texts(&[(Role::User, "Say {{x}}")]),
                "Say {{x}}\n".to_owned(),
                false,
            ),
            (
                "",
                texts(&[(Role::User, "---\nx\n---")]),
                "---\n---\n---\nx\n---\n".to_owned(),
                false,
            ),
            (
                "---\ntitle: T\n---\nB",
                texts(&[(Role::User, "A\n<!-- user -->"), (Role::Assistant, "B")]),
                "---\ntitle: T\nmessages: true\n---\nA\n\\<!-- user -->\n\n<!-- assistant -->\nB\n"
                    .to_owned(),
                false,
            ),
            (
                "---\nmessages: true\n---\nA\n<!-- assistant -->\nB\n",
                texts(&[(Role::User, "C")]),
                "C\n".to_owned(),
                false,
            ),
        ] {
            let edited = with_fields(before, &fields).unwrap();
            assert_eq!(edited.text, after, "{before:?} {fields:?}");
            assert_eq!(edited.loses_comments, is_lost, "{before:?} {fields:?}");
        }
        let named = Argument {
            name: "a b".to_owned(),
            ..Argument::default()
        };
        let refused = with_fields(
            "",
            &Fields {
                arguments: Some(Some(vec![named])),
                ..Fields::default()
            },
        )
        .unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("`a b` cannot be the name of an argument"),
            "{refused}"
        );
        with_fields("---\ntitle: x\n", &title(None)).unwrap_err();
    }
}
