//! Builds a Markdown file from fields, for clients that have no file: keys of its frontmatter, and
//! messages.

use super::format::fences::{Split, split};
use super::format::frontmatter::{Dialect, is_argument_name};
use super::serialize::{arguments, file, list_key, messages, text_key};
use crate::input::without_bom;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::Role;
use crate::prompt::model::Argument;
use crate::wording::quoted;

/// What a file is to have. What is `None` stays as it is; a key that is `Some(None)`, or empty, is
/// removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The key `title`.
    pub title: Option<Option<String>>,
    /// The key `description`.
    pub description: Option<Option<String>>,
    /// The key `arguments`: all of them.
    pub arguments: Option<Option<Vec<Argument>>>,
    /// The key `tags`.
    pub tags: Option<Option<Vec<String>>>,
    /// The messages, whose texts are templates.
    pub messages: Option<Vec<(Role, String)>>,
}

/// A file with changed fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    /// Its text.
    pub text: String,
    /// Whether it has lost comments.
    pub loses_comments: bool,
}

/// The new lines of a key of the frontmatter.
struct KeyLines {
    key: &'static str,
    /// Empty if the key is removed.
    lines: String,
}

/// Returns the text of a file with these fields replaced. All other keys stay as they are. `text`
/// is empty for a new file.
///
/// # Errors
/// Fails if the frontmatter is never closed, or if an argument has no valid name.
pub fn with_fields(text: &str, fields: &Fields) -> Result<EditedFile, Diagnostic> {
    let text = without_bom(text);
    let Split { yaml, body, .. } = split(text, Dialect::Own)?;
    if let Some(Some(arguments)) = &fields.arguments {
        check_argument_names(arguments)?;
    }
    let mut new_keys = new_keys(fields);
    let mut new_body = None;
    if let Some(texts) = &fields.messages {
        let (body, are_several) = messages(texts);
        let lines = if are_several { "messages: true\n" } else { "" };
        new_keys.push(KeyLines {
            key: "messages",
            lines: lines.to_owned(),
        });
        new_body = Some(body);
    }
    let ReplacedKeys { lines, old_lines } = replace_keys(yaml.unwrap_or_default(), new_keys);
    let new_text = match new_body {
        Some(body) => file(&lines, &body),
        // A body that begins with `---` would be read as frontmatter.
        None if lines.is_empty() && !body.starts_with("---") => body.to_owned(),
        None => format!("---\n{lines}---\n{body}"),
    };
    Ok(EditedFile {
        text: new_text,
        loses_comments: old_lines.contains(" #"),
    })
}

/// Refuses arguments with a name that no placeholder can have.
fn check_argument_names(arguments: &[Argument]) -> Result<(), Diagnostic> {
    for Argument { name, .. } in arguments {
        if !is_argument_name(name) {
            return Err(Diagnostic::error(
                None,
                format!("{} cannot be the name of an argument", quoted(name)),
                "choose a name without spaces, braces and angle brackets",
            ));
        }
    }
    Ok(())
}

/// Returns the lines of the keys that change, without `messages`.
fn new_keys(fields: &Fields) -> Vec<KeyLines> {
    let mut keys = Vec::new();
    if let Some(title) = &fields.title {
        keys.push(KeyLines {
            key: "title",
            lines: text_key("title", title.as_deref()),
        });
    }
    if let Some(description) = &fields.description {
        keys.push(KeyLines {
            key: "description",
            lines: text_key("description", description.as_deref()),
        });
    }
    if let Some(declared) = &fields.arguments {
        keys.push(KeyLines {
            key: "arguments",
            lines: arguments(declared.as_deref().unwrap_or_default()),
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

/// A frontmatter whose keys were replaced.
struct ReplacedKeys {
    /// The new lines of the frontmatter.
    lines: String,
    /// The old lines of the replaced keys.
    old_lines: String,
}

/// Replaces the lines of keys in a frontmatter, and adds the keys that it does not have at its end.
///
/// `title: x` and `tags: [a]`, with the new lines `title: y` and `description: z`, become
/// `title: y`, `tags: [a]` and `description: z`.
fn replace_keys(yaml: &str, mut new_keys: Vec<KeyLines>) -> ReplacedKeys {
    let mut lines = String::new();
    let mut old_lines = String::new();
    // Whether the key that the line belongs to is replaced. Lines before any key stay.
    let mut is_replaced = false;
    for line in yaml.split_inclusive('\n') {
        if let Some(key) = top_level_key(line) {
            let new_key = new_keys.iter_mut().find(|new_key| new_key.key == key);
            is_replaced = new_key.is_some();
            if let Some(new_key) = new_key {
                // Taken, so that the lines of a key that occurs twice are written once.
                lines += &std::mem::take(&mut new_key.lines);
            }
        }
        if is_replaced {
            old_lines += line;
        } else {
            lines += line;
        }
    }
    for new_key in new_keys {
        lines += &new_key.lines; // empty if they are in their place already
    }
    ReplacedKeys { lines, old_lines }
}

/// Returns the key that begins in a line of the frontmatter: `title` for `title: x`. A line that
/// continues a value, such as `  - a`, has none.
fn top_level_key(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return Some(""); // a comment belongs to no key, so it stays
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
