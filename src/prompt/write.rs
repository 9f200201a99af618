//! The text of a Markdown file of this program: of a prompt, so that reading the file gives the
//! same, or of a new one to be filled in.

use super::format::frontmatter::{self, Dialect};
use super::format::markdown::{Marker, markers};
use super::format::yaml::{as_key, in_double_quotes};
use super::model::TEMPLATE_BODY;
use super::template::marks_in;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::{Piece, Role};
use crate::prompt::model::{Append, Argument, Metadata, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::INPUT;
use std::collections::BTreeSet;

const DESCRIPTION: &str = "One line that says what this prompt is for; agents and lists show it";

/// Whether this is the description that [`draft`] writes if none is given.
pub(super) fn is_template_description(description: &str) -> bool {
    description == DESCRIPTION
}

/// The text of a file that is to be filled in.
pub fn draft(name: &Name, description: Option<&str>) -> String {
    let title = scalar(&title(name));
    let description = scalar(description.unwrap_or(DESCRIPTION));
    format!("---\ntitle: {title}\ndescription: {description}\n---\n{TEMPLATE_BODY}")
}

/// The text of a file with this body, which gets frontmatter if it has none. A title is left out if
/// the body has a heading, and a description if none is given, since the first paragraph is one.
///
/// # Errors
/// It would not be a prompt, or has frontmatter, where a description would belong.
pub fn draft_around(
    name: &Name,
    body: &str,
    description: Option<&str>,
) -> Result<String, Diagnostic> {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let prompt = Prompt::parse(name.clone(), body.as_bytes())?;
    let end = if body.ends_with('\n') { "" } else { "\n" };
    if frontmatter::split(body, Dialect::Own)?.yaml.is_some() {
        return match description {
            None => Ok(format!("{body}{end}")),
            Some(_) => Err(Diagnostic::error(
                None,
                "it has frontmatter already",
                "write the description there",
            )),
        };
    }
    let title = prompt.title.is_none().then(|| title(name));
    let keys = text_key("title", title.as_deref()) + &text_key("description", description);
    Ok(if keys.is_empty() {
        format!("{body}{end}")
    } else {
        format!("---\n{keys}---\n{body}{end}")
    })
}

/// The last part of a name as a title: `git/commit-message` is "Commit message".
fn title(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let words: Vec<&str> = last
        .split(['-', '_'])
        .filter(|word| !word.is_empty())
        .collect();
    let words = if words.is_empty() {
        last.to_owned()
    } else {
        words.join(" ")
    };
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// A prompt as Markdown, in which `derived` has what the body says of itself.
pub(super) fn markdown(prompt: &Prompt, derived: Option<&Prompt>) -> String {
    let Prompt {
        title,
        description,
        arguments: declared,
        tags,
        metadata,
        attachments,
        other_keys,
        ..
    } = prompt;
    let Metadata {
        author,
        version,
        category,
    } = metadata;
    let is_derived = |of: fn(&Prompt) -> &Option<String>| {
        derived.is_none_or(|derived| of(derived) == of(prompt))
    };
    let mut lines = String::new();
    lines += &text_key(
        "title",
        title
            .as_deref()
            .filter(|_| !is_derived(|prompt| &prompt.title)),
    );
    lines += &text_key(
        "description",
        description
            .as_deref()
            .filter(|_| !is_derived(|prompt| &prompt.description)),
    );
    for (key, value) in [
        ("author", author),
        ("version", version),
        ("category", category),
    ] {
        lines += &text_key(key, value.as_deref());
    }
    lines += &arguments(declared);
    lines += &list_key("tags", tags);
    if prompt.takes_words() && !declared.is_empty() {
        lines += "words: true\n";
    }
    let paths: Vec<String> = attachments
        .iter()
        .map(|attachment| attachment.path.clone())
        .collect();
    lines += &list_key("attachments", &paths);
    lines.extend(
        other_keys
            .iter()
            .map(|other| format!("{}: {}\n", as_key(&other.key), other.value)),
    );
    let roles: Vec<Role> = prompt.messages.iter().map(|message| message.role).collect();
    if are_several(&roles) {
        lines += "messages: true\n";
    }
    let body = body(prompt);
    file(&lines, &body, body.starts_with("---"))
}

/// The line of a key, if it has a value.
pub(super) fn text_key(key: &str, value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!("{key}: {}\n", scalar(value)))
}

/// A file of a frontmatter and a body; without lines, there is a frontmatter only if it
/// `is_forced`.
pub(super) fn file(frontmatter: &str, body: &str, is_forced: bool) -> String {
    let fences = if frontmatter.is_empty() && !is_forced {
        ""
    } else {
        "---\n"
    };
    format!("{fences}{frontmatter}{fences}{body}\n")
}

/// The line of a key, if its list is not empty.
pub(super) fn list_key(key: &str, texts: &[String]) -> String {
    if texts.is_empty() {
        String::new()
    } else {
        format!("{key}: {}\n", list(texts))
    }
}

/// The lines of the key `arguments`, if there are any.
pub(super) fn arguments(arguments: &[Argument]) -> String {
    let key = if arguments.is_empty() {
        ""
    } else {
        "arguments:\n"
    };
    std::iter::once(key.to_owned())
        .chain(arguments.iter().map(argument))
        .collect()
}

fn argument(argument: &Argument) -> String {
    let Argument {
        name,
        title,
        description,
        required,
        default,
        choices,
        strict,
    } = argument;
    let mut lines = format!("  - name: {}\n", scalar(name));
    for (key, value) in [
        ("title", title),
        ("description", description),
        ("default", default),
    ] {
        lines.extend(
            value
                .iter()
                .map(|value| format!("    {key}: {}\n", scalar(value))),
        );
    }
    if !choices.is_empty() {
        lines += &format!("    choices: {}\n", list(choices));
    }
    for (key, value) in [("required", required), ("strict", strict)] {
        lines.extend(value.then(|| format!("    {key}: true\n")));
    }
    lines
}

/// A list of texts as a YAML value, in one line.
fn list(texts: &[String]) -> String {
    let item = |text: &String| {
        if text.contains([',', ' ']) {
            in_double_quotes(text)
        } else {
            scalar(text)
        }
    };
    format!(
        "[{}]",
        texts.iter().map(item).collect::<Vec<_>>().join(", ")
    )
}

/// Whether markers are needed.
fn are_several(roles: &[Role]) -> bool {
    roles.len() > 1 || roles.contains(&Role::Assistant)
}

/// All messages in one text, with a marker before each but a first one of the user; and where the
/// markers are. `write` appends the text of a message.
fn with_markers(roles: &[Role], mut write: impl FnMut(&mut String, usize)) -> (String, Vec<usize>) {
    let (mut body, mut markers) = (String::new(), Vec::new());
    for (index, role) in roles.iter().enumerate() {
        if index > 0 {
            body += "\n\n";
        }
        if are_several(roles) && (index > 0 || *role == Role::Assistant) {
            markers.push(body.len());
            body += Marker::of(*role);
            body.push('\n');
        }
        write(&mut body, index);
    }
    (body, markers)
}

/// The body with these messages, and whether they are several. A line that is a marker gets a
/// backslash; all else stays.
pub(super) fn messages(texts: &[(Role, String)]) -> (String, bool) {
    let roles: Vec<Role> = texts.iter().map(|(role, _)| *role).collect();
    let (mut body, own) = with_markers(&roles, |body, index| body.push_str(&texts[index].1));
    let escapes = if are_several(&roles) {
        markers_to_escape(&body, &own)
    } else {
        Vec::new()
    };
    insert_backslashes(&mut body, escapes);
    (body, are_several(&roles))
}

/// The bytes before which a backslash is needed, so that a line is no marker, except for these.
fn markers_to_escape(body: &str, own: &[usize]) -> Vec<usize> {
    let lines = markers(body).into_iter().map(|marker| marker.line.start);
    let start = |at: usize| at + body[at..].len() - body[at..].trim_start().len();
    lines.filter(|at| !own.contains(at)).map(start).collect()
}

fn insert_backslashes(body: &mut String, mut at: Vec<usize>) {
    at.sort_unstable();
    at.into_iter().rev().for_each(|at| body.insert(at, '\\'));
}

/// The body of a prompt: placeholders in braces, and a backslash before each text that would be
/// read as a placeholder or a marker.
fn body(prompt: &Prompt) -> String {
    let names: BTreeSet<&str> = prompt
        .arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .collect();
    let mut placeholders = BTreeSet::new();
    let mut has_input = false;
    let mut place = |body: &mut String, name: &str| {
        has_input |= name == INPUT;
        let (open, close) = if body.ends_with('{') {
            ("<<", ">>")
        } else {
            ("{{", "}}")
        };
        placeholders.insert(body.len());
        body.extend([open, name, close]);
    };
    let roles: Vec<Role> = prompt.messages.iter().map(|message| message.role).collect();
    let (mut body, own) = with_markers(&roles, |body, index| {
        for piece in prompt.messages[index].pieces(Piece::Value) {
            match piece {
                Piece::Text(text) => body.push_str(text),
                Piece::Value(name) => place(body, name),
            }
        }
        if index + 1 == roles.len() && prompt.append == Append::Line && prompt.appends_input() {
            body.push('\n');
            place(body, INPUT);
        }
    });
    let mut escapes: Vec<usize> = marks_in(&body, &names, has_input);
    escapes.retain(|at| !placeholders.contains(at));
    if are_several(&roles) {
        escapes.extend(markers_to_escape(&body, &own));
    }
    insert_backslashes(&mut body, escapes);
    body
}

/// A text as a YAML value: in quotes, unless YAML can only read it as a text.
fn scalar(text: &str) -> String {
    let is_word = |word: &str| {
        word.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-,;.'".contains(letter))
    };
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.contains(' ')
        && text.split(' ').all(is_word);
    let is_one_word = text.chars().all(|letter| letter.is_ascii_alphabetic())
        && ![
            "", "y", "n", "yes", "no", "on", "off", "true", "false", "null",
        ]
        .contains(&text.to_lowercase().as_str());
    if is_plain || is_one_word {
        text.to_owned()
    } else {
        in_double_quotes(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_gets_a_frontmatter_unless_it_has_one() {
        let check = |body: &str, description: Option<&str>, want: &str| {
            let name = Name::new("git/a-b").unwrap();
            assert_eq!(
                draft_around(&name, body, description).unwrap(),
                want,
                "{body:?}"
            );
        };
        check("Do it.", None, "---\ntitle: A b\n---\nDo it.\n");
        check("# Do it\n", None, "# Do it\n");
        check(
            "# Do it\n",
            Some("D"),
            "---\ndescription: D\n---\n# Do it\n",
        );
        check(
            "---\ntitle: T\n---\nDo it.\n",
            None,
            "---\ntitle: T\n---\nDo it.\n",
        );
        // Rules are not frontmatter.
        check(
            "------\r\nSome text\r\n",
            Some("D"),
            "---\ntitle: A b\ndescription: D\n---\n------\r\nSome text\r\n",
        );
        let name = Name::new("a").unwrap();
        let refused = draft_around(&name, "---\ntitle: T\n---\nDo it.\n", Some("D"));
        assert!(refused.is_err());
        assert!(draft_around(&name, "---\ntitle: T\n", None).is_err());
    }

    #[test]
    fn a_template_is_one_until_its_body_is_changed() {
        let name = Name::new("a").unwrap();
        let text = draft(&name, None);
        let body = text.find(TEMPLATE_BODY).unwrap();
        for (text, is_template, warnings) in [
            (text.clone(), true, 2),
            (draft(&name, Some("Says it")), true, 1),
            (text.replace('\n', "\r\n") + "\r\n \r\n", true, 2),
            (text[body..].to_owned(), true, 1),
            (text.replace("step by step", "at once"), false, 1),
            (draft_around(&name, "Do it.", None).unwrap(), false, 0),
        ] {
            let prompt = Prompt::parse(name.clone(), text.as_bytes()).unwrap();
            let (in_prompt, in_summary) = (prompt.is_template(), prompt.summary().is_template);
            assert_eq!(
                (in_prompt, in_summary),
                (is_template, is_template),
                "{text}"
            );
            let about_template = prompt
                .warnings()
                .into_iter()
                .filter(|warning| warning.message.contains("`new` wrote"));
            assert_eq!(about_template.count(), warnings, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(name in "[a-z][a-z0-9_.-]{0,9}", description in "\\PC{1,40}") {
            prop_assume!(!description.trim().is_empty()); // like none
            let name = Name::new(&name).unwrap();
            let prompt = Prompt::parse(name.clone(), draft(&name, Some(&description)).as_bytes()).unwrap();
            prop_assert_eq!(prompt.title, Some(title(&name)));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&prompt.description.unwrap_or_default()), words(&description));
            prop_assert!(prompt.lenient.is_empty(), "{:?}", prompt.lenient);
        }
    }
}
