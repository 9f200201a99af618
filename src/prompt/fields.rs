//! Builds a Markdown file from fields, for clients that have no file: keys of its frontmatter, and
//! messages.

use super::format::fences::{Split, split};
use super::format::frontmatter::{Dialect, is_argument_name};
use super::write::{arguments, file, list_key, messages, text_key};
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

/// The text of a file with these fields, and whether it has lost comments. An empty text is that of
/// a new file. All other keys stay.
///
/// # Errors
/// The frontmatter is never closed; an argument has no valid name.
pub fn with_fields(text: &str, fields: &Fields) -> Result<(String, bool), Diagnostic> {
    let Split { yaml, body, .. } =
        split(text.strip_prefix('\u{feff}').unwrap_or(text), Dialect::Own)?;
    let Fields {
        title,
        description,
        arguments: declared,
        tags,
        messages: texts,
    } = fields;
    if let Some(other) = declared
        .iter()
        .flatten()
        .flatten()
        .find(|argument| !is_argument_name(&argument.name))
    {
        let message = format!("{} cannot be the name of an argument", quoted(&other.name));
        return Err(Diagnostic::error(
            None,
            message,
            "choose a name without spaces, braces and angle brackets",
        ));
    }
    let texts = texts.as_deref().map(messages);
    let of_messages = |several: bool| {
        if several {
            "messages: true\n".to_owned()
        } else {
            String::new()
        }
    };
    // The lines of each key that is given.
    let mut given = [
        (
            "title",
            title
                .as_ref()
                .map(|title| text_key("title", title.as_deref())),
        ),
        (
            "description",
            description
                .as_ref()
                .map(|text| text_key("description", text.as_deref())),
        ),
        (
            "arguments",
            declared
                .as_ref()
                .map(|all| arguments(all.as_deref().unwrap_or_default())),
        ),
        (
            "tags",
            tags.as_ref()
                .map(|tags| list_key("tags", tags.as_deref().unwrap_or_default())),
        ),
        (
            "messages",
            texts.as_ref().map(|(_, several)| of_messages(*several)),
        ),
    ];
    let (mut frontmatter, mut dropped, mut is_dropped) = (String::new(), String::new(), false);
    for line in yaml.unwrap_or_default().split_inclusive('\n') {
        if let Some(key) = top_level(line) {
            let lines = given
                .iter_mut()
                .find(|(name, _)| *name == key)
                .and_then(|(_, lines)| lines.as_mut());
            is_dropped = lines.is_some();
            frontmatter += &lines.map(std::mem::take).unwrap_or_default();
        }
        let kept = if is_dropped {
            &mut dropped
        } else {
            &mut frontmatter
        };
        kept.push_str(line);
    }
    frontmatter.extend(given.into_iter().filter_map(|(_, lines)| lines));
    let text = match &texts {
        Some((body, _)) => file(&frontmatter, body),
        None if frontmatter.is_empty() && !body.starts_with("---") => body.to_owned(),
        None => format!("---\n{frontmatter}---\n{body}"),
    };
    Ok((text, dropped.contains(" #")))
}

/// The key that begins in a line of the frontmatter; empty for a comment between keys.
fn top_level(line: &str) -> Option<&str> {
    match line.chars().next() {
        Some('#') => Some(""),
        Some(first) if first.is_whitespace() || "-}]".contains(first) => None,
        _ => line
            .split_once(':')
            .map(|(key, _)| key.trim().trim_matches(['"', '\''])),
    }
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
            assert_eq!(
                with_fields(before, &fields).unwrap(),
                (after, is_lost),
                "{before:?} {fields:?}"
            );
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
