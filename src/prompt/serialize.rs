//! The text of a Markdown file of this program: of a prompt, so that reading the file gives the
//! same, or of a new one to be filled in.

use super::format::fences::split;
use super::format::frontmatter::Dialect;
use super::format::markdown::{Marker, find_markers};
use super::format::yaml::{as_key, in_double_quotes};
use super::model::DRAFT_BODY;
use super::template::escaped_or_placeholder_offsets;
use crate::input::without_bom;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::{Piece, Role};
use crate::prompt::model::{AppendInput, Argument, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::INPUT;
use std::collections::BTreeSet;

const DESCRIPTION: &str = "One line that says what this prompt is for; agents and lists show it";

/// Returns whether this is the description that [`draft`] writes if none is given.
pub(super) fn is_draft_description(description: &str) -> bool {
    description == DESCRIPTION
}

/// Returns the text of a new file to be filled in.
pub fn draft(name: &Name, description: Option<&str>) -> String {
    let title = scalar(&title(name));
    let description = scalar(description.unwrap_or(DESCRIPTION));
    format!("---\ntitle: {title}\ndescription: {description}\n---\n{DRAFT_BODY}")
}

/// Returns the text of a new file with this body, which gets frontmatter if it has none.
///
/// The frontmatter has a title unless the body has a heading. It has a description only if one is
/// given, because the first paragraph of the body is one.
///
/// # Errors
/// The file would not be a prompt; or the body has frontmatter, and a description is given.
pub fn draft_around(
    name: &Name,
    body: &str,
    description: Option<&str>,
) -> Result<String, Diagnostic> {
    let body = without_bom(body);
    let prompt = Prompt::parse(name.clone(), body.as_bytes())?;
    let has_frontmatter = split(body, Dialect::Own)?.yaml.is_some();
    let mut keys = String::new();
    if has_frontmatter {
        if description.is_some() {
            return Err(Diagnostic::error(
                None,
                "it has frontmatter already",
                "write the description there",
            ));
        }
    } else {
        if prompt.title.is_none() {
            keys += &text_key("title", Some(&title(name)));
        }
        keys += &text_key("description", description);
    }
    let fences = if keys.is_empty() { "" } else { "---\n" };
    let end = if body.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{fences}{keys}{fences}{body}{end}"))
}

/// Returns the last part of a name as a title: `git/commit-message` is "Commit message".
fn title(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let words: Vec<&str> = last
        .split(['-', '_'])
        .filter(|word| !word.is_empty())
        .collect();
    let words = words.join(" ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => last.to_owned(),
    }
}

/// Returns a prompt as Markdown.
pub(super) fn markdown(prompt: &Prompt) -> String {
    file(&frontmatter(prompt), &body(prompt))
}

/// Returns the lines of the frontmatter of a prompt.
fn frontmatter(prompt: &Prompt) -> String {
    let metadata = &prompt.metadata;
    let mut lines = String::new();
    for (key, value) in [
        ("title", &prompt.title),
        ("description", &prompt.description),
        ("author", &metadata.author),
        ("version", &metadata.version),
        ("category", &metadata.category),
    ] {
        lines += &text_key(key, value.as_deref());
    }
    lines += &arguments(&prompt.arguments);
    lines += &list_key("tags", &prompt.tags);
    if prompt.gives_one_word_per_argument() && !prompt.arguments.is_empty() {
        lines += "words: true\n";
    }
    let mut paths = Vec::new();
    for attachment in &prompt.attachments {
        paths.push(attachment.path.clone());
    }
    lines += &list_key("attachments", &paths);
    for other in &prompt.ignored_keys {
        lines += &format!("{}: {}\n", as_key(&other.key), other.value);
    }
    if needs_markers(prompt.messages.iter().map(|message| message.role)) {
        lines += "messages: true\n";
    }
    lines
}

/// Returns the line of a key, if it has a value.
pub(super) fn text_key(key: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{key}: {}\n", scalar(value)),
        None => String::new(),
    }
}

/// Returns the line of a key, if its list is not empty.
pub(super) fn list_key(key: &str, texts: &[String]) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let mut items = Vec::new();
    for text in texts {
        items.push(if text.contains([',', ' ']) {
            in_double_quotes(text)
        } else {
            scalar(text)
        });
    }
    format!("{key}: [{}]\n", items.join(", "))
}

/// Joins a frontmatter and a body to the text of a Markdown file.
///
/// A body that begins with `---` gets a frontmatter, even an empty one. Otherwise, its beginning
/// would be read as the frontmatter.
pub(super) fn file(frontmatter: &str, body: &str) -> String {
    if frontmatter.is_empty() && !body.starts_with("---") {
        return format!("{body}\n");
    }
    format!("---\n{frontmatter}---\n{body}\n")
}

/// Returns the lines of the key `arguments`, if there are any.
pub(super) fn arguments(arguments: &[Argument]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let mut lines = "arguments:\n".to_owned();
    for argument in arguments {
        lines += &argument_lines(argument);
    }
    lines
}

fn argument_lines(argument: &Argument) -> String {
    let mut lines = format!("  - name: {}\n", scalar(&argument.name));
    for (key, value) in [
        ("    title", &argument.title),
        ("    description", &argument.description),
        ("    default", &argument.default),
    ] {
        lines += &text_key(key, value.as_deref());
    }
    lines += &list_key("    choices", &argument.choices);
    if argument.required {
        lines += "    required: true\n";
    }
    if argument.strict {
        lines += "    strict: true\n";
    }
    lines
}

/// Returns whether markers are needed to tell these messages apart.
fn needs_markers(roles: impl IntoIterator<Item = Role>) -> bool {
    let roles: Vec<Role> = roles.into_iter().collect();
    roles.len() > 1 || roles.contains(&Role::Assistant)
}

/// Returns the body with these messages, and whether the frontmatter has to say `messages: true`.
///
/// A line that is a marker gets a backslash. All else stays, so placeholders remain placeholders.
pub(super) fn messages(texts: &[(Role, String)]) -> (String, bool) {
    let has_markers = needs_markers(texts.iter().map(|(role, _)| *role));
    let mut body = BodyWriter::new(has_markers);
    for (index, (role, text)) in texts.iter().enumerate() {
        body.begin_message(index, *role);
        body.text += text;
    }
    let escapes = body.markers_to_escape();
    (body.finish(escapes), has_markers)
}

/// Returns the body of a prompt: placeholders in braces, and a backslash before each text that
/// would be read as a placeholder or a marker.
fn body(prompt: &Prompt) -> String {
    let has_markers = needs_markers(prompt.messages.iter().map(|message| message.role));
    let mut body = BodyWriter::new(has_markers);
    for (index, message) in prompt.messages.iter().enumerate() {
        body.begin_message(index, message.role);
        // Each placeholder gives its own name as its value.
        for piece in message.pieces(Piece::Value) {
            match piece {
                Piece::Text(text) => body.text += text,
                Piece::Value(name) => body.push_placeholder(name),
            }
        }
    }
    if prompt.append_input == AppendInput::Line && prompt.appends_input() {
        body.text.push('\n');
        body.push_placeholder(INPUT);
    }
    let names: BTreeSet<&str> = prompt
        .arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .collect();
    // Whatever looks like a placeholder and was not written as one above.
    let mut escapes = escaped_or_placeholder_offsets(&body.text, &names, body.has_input);
    escapes.retain(|start| !body.placeholders.contains(start));
    escapes.extend(body.markers_to_escape());
    body.finish(escapes)
}

/// A body to which message after message is added, and what in it is no text.
struct BodyWriter {
    text: String,
    has_markers: bool,
    has_input: bool,
    /// The bytes at which the markers begin.
    markers: Vec<usize>,
    /// The bytes at which the placeholders begin.
    placeholders: BTreeSet<usize>,
}

impl BodyWriter {
    fn new(has_markers: bool) -> BodyWriter {
        BodyWriter {
            text: String::new(),
            has_markers,
            has_input: false,
            markers: Vec::new(),
            placeholders: BTreeSet::new(),
        }
    }

    /// Adds the marker of a message. A first message of the user needs none.
    fn begin_message(&mut self, index: usize, role: Role) {
        if index > 0 {
            self.text += "\n\n";
        }
        if self.has_markers && (index > 0 || role == Role::Assistant) {
            self.markers.push(self.text.len());
            self.text += Marker::text_for(role);
            self.text.push('\n');
        }
    }

    fn push_placeholder(&mut self, name: &str) {
        self.has_input |= name == INPUT;
        self.placeholders.insert(self.text.len());
        // After a brace, `{{` would not begin a placeholder.
        let placeholder = if self.text.ends_with('{') {
            format!("<<{name}>>")
        } else {
            format!("{{{{{name}}}}}")
        };
        self.text += &placeholder;
    }

    /// Returns the offsets of lines that would be mistaken for markers, because they look like one
    /// and were not written as one.
    fn markers_to_escape(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        if self.has_markers {
            for marker in find_markers(&self.text) {
                if !self.markers.contains(&marker.line.start) {
                    starts.push(marker.comment_start(&self.text));
                }
            }
        }
        starts
    }

    /// Returns the body with a backslash before each of these bytes.
    fn finish(self, mut escapes: Vec<usize>) -> String {
        let mut text = self.text;
        escapes.sort_unstable();
        // From the end, so that the other bytes stay where they are.
        for start in escapes.into_iter().rev() {
            text.insert(start, '\\');
        }
        text
    }
}

/// Returns a text as a YAML value: in quotes, unless YAML can only read it as a text.
fn scalar(text: &str) -> String {
    if is_plain_word(text) || is_plain_sentence(text) {
        text.to_owned()
    } else {
        in_double_quotes(text)
    }
}

/// Returns whether a text is one word that YAML reads as a text, unlike `yes` or `null`.
fn is_plain_word(text: &str) -> bool {
    const VALUES: [&str; 10] = [
        "", "y", "n", "yes", "no", "on", "off", "true", "false", "null",
    ];
    text.chars().all(|letter| letter.is_ascii_alphabetic())
        && !VALUES.contains(&text.to_lowercase().as_str())
}

/// Returns whether a text is several words with usual punctuation.
fn is_plain_sentence(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.contains(' ')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || " -,;.'".contains(letter))
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
        let body = text.find(DRAFT_BODY).unwrap();
        for (text, is_template, warnings) in [
            (text.clone(), true, 2),
            (draft(&name, Some("Says it")), true, 1),
            (text.replace('\n', "\r\n") + "\r\n \r\n", true, 2),
            (text[body..].to_owned(), true, 1),
            (text.replace("step by step", "at once"), false, 1),
            (draft_around(&name, "Do it.", None).unwrap(), false, 0),
        ] {
            let prompt = Prompt::parse(name.clone(), text.as_bytes()).unwrap();
            let (in_prompt, in_summary) = (
                prompt.is_unedited_draft(),
                prompt.summary().is_unedited_draft,
            );
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
            prop_assert!(prompt.lenient_warnings.is_empty(), "{:?}", prompt.lenient_warnings);
        }
    }
}
