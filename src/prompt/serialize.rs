//! Writes Markdown files in this program's own format: an existing prompt, such that parsing the
//! file returns the same prompt, or the draft of a new one.

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

/// The description in a draft, to be replaced by the author.
const DRAFT_DESCRIPTION: &str =
    "One line that says what this prompt is for; agents and lists show it";

/// Returns whether the author of a draft has not replaced its description yet.
pub(super) fn is_draft_description(description: &str) -> bool {
    description == DRAFT_DESCRIPTION
}

/// Returns the contents of a new prompt file, to be completed by its author.
pub fn draft(name: &Name, description: Option<&str>) -> String {
    let title = yaml_string(&title_from_name(name));
    let description = yaml_string(description.unwrap_or(DRAFT_DESCRIPTION));
    format!("---\ntitle: {title}\ndescription: {description}\n---\n{DRAFT_BODY}")
}

/// Returns the contents of a new prompt file with this text, which may have frontmatter already.
///
/// A text without frontmatter gets a `title` made from `name` if it has no heading, and the
/// `description` if there is one. If neither is needed, no frontmatter is added.
///
/// # Errors
/// Fails if the text isn't a valid prompt, or if it already has frontmatter and a `description` is
/// passed.
pub fn draft_around(
    name: &Name,
    text: &str,
    description: Option<&str>,
) -> Result<String, Diagnostic> {
    let text = without_bom(text);
    let prompt = Prompt::parse(name.clone(), text.as_bytes())?;
    let has_frontmatter = split(text, Dialect::Own)?.yaml.is_some();
    if has_frontmatter && description.is_some() {
        return Err(Diagnostic::invalid(
            "it has frontmatter already",
            "write the description there",
        ));
    }
    let new_frontmatter = if has_frontmatter {
        String::new()
    } else {
        missing_frontmatter(&prompt, description)
    };
    let final_newline = if text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{new_frontmatter}{text}{final_newline}"))
}

/// Returns the frontmatter to add to a text that has none, with its `---` lines. `prompt` is what
/// the text is parsed as, so it has a title if the text has a heading.
///
/// Returns an empty string if no key is needed.
fn missing_frontmatter(prompt: &Prompt, description: Option<&str>) -> String {
    let mut keys = String::new();
    if prompt.title.is_none() {
        keys += &string_key("title", Some(&title_from_name(&prompt.name)));
    }
    keys += &string_key("description", description);
    if keys.is_empty() {
        return String::new();
    }
    format!("---\n{keys}---\n")
}

/// Makes a title from the last part of a name: `git/commit-message` becomes `Commit message`.
fn title_from_name(name: &str) -> String {
    let last_part = name.rsplit('/').next().unwrap_or(name);
    let words: Vec<&str> = last_part
        .split(['-', '_'])
        .filter(|word| !word.is_empty())
        .collect();
    let title = words.join(" ");
    let mut letters = title.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => last_part.to_owned(), // nothing but hyphens and underscores
    }
}

/// Returns the Markdown file of a prompt. Its include lines have already been expanded.
pub(super) fn to_markdown(prompt: &Prompt) -> String {
    join_file(&frontmatter_lines(prompt), &markdown_body(prompt))
}

/// Returns the frontmatter of a prompt, without the `---` lines.
fn frontmatter_lines(prompt: &Prompt) -> String {
    let metadata = &prompt.metadata;
    let mut lines = String::new();
    for (key, value) in [
        ("title", &prompt.title),
        ("description", &prompt.description),
        ("author", &metadata.author),
        ("version", &metadata.version),
        ("category", &metadata.category),
    ] {
        lines += &string_key(key, value.as_deref());
    }
    lines += &arguments_key(&prompt.arguments);
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

/// Returns the line `key: value`, or an empty string if there is no value.
pub(super) fn string_key(key: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{key}: {}\n", yaml_string(value)),
        None => String::new(),
    }
}

/// Returns the line `key: [a, b]`, or an empty string if the list is empty.
pub(super) fn list_key(key: &str, texts: &[String]) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let mut items = Vec::new();
    for text in texts {
        items.push(if text.contains([',', ' ']) {
            in_double_quotes(text)
        } else {
            yaml_string(text)
        });
    }
    format!("{key}: [{}]\n", items.join(", "))
}

/// Joins frontmatter and body into a Markdown file.
///
/// Empty frontmatter is omitted, unless the body begins with `---`, which would then be read as
/// frontmatter.
pub(super) fn join_file(frontmatter: &str, body: &str) -> String {
    if frontmatter.is_empty() && !body.starts_with("---") {
        return format!("{body}\n");
    }
    format!("---\n{frontmatter}---\n{body}\n")
}

/// Returns the lines of the key `arguments`, or an empty string if there are no arguments.
pub(super) fn arguments_key(arguments: &[Argument]) -> String {
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
    let mut lines = format!("  - name: {}\n", yaml_string(&argument.name));
    for (key, value) in [
        ("    title", &argument.title),
        ("    description", &argument.description),
        ("    default", &argument.default),
    ] {
        lines += &string_key(key, value.as_deref());
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

/// Returns whether the file needs markers: it has several messages, or one of the assistant.
fn needs_markers(roles: impl IntoIterator<Item = Role>) -> bool {
    let roles: Vec<Role> = roles.into_iter().collect();
    roles.len() > 1 || roles.contains(&Role::Assistant)
}

/// The body that several messages make up.
pub(super) struct JoinedMessages {
    pub(super) body: String,
    /// Whether the body has markers, so that the frontmatter needs `messages: true`.
    pub(super) has_markers: bool,
}

/// Joins messages into a body. Lines of the messages that look like markers are escaped.
/// Placeholders are not.
pub(super) fn join_messages(texts: &[(Role, String)]) -> JoinedMessages {
    let has_markers = needs_markers(texts.iter().map(|(role, _)| *role));
    let mut body = BodyWriter::new(has_markers);
    for (index, (role, text)) in texts.iter().enumerate() {
        body.begin_message(index, *role);
        body.text += text;
    }
    let escape_offsets = body.false_marker_offsets();
    JoinedMessages {
        body: body.escape_and_finish(escape_offsets),
        has_markers,
    }
}

/// Returns the body of a prompt. Placeholders are written in this program's syntax, and text that
/// would be read as a placeholder or a marker is escaped.
fn markdown_body(prompt: &Prompt) -> String {
    let writes_markers = needs_markers(prompt.messages.iter().map(|message| message.role));
    let mut body = BodyWriter::new(writes_markers);
    for (index, message) in prompt.messages.iter().enumerate() {
        body.begin_message(index, message.role);
        // Instead of a value, each placeholder yields its own name.
        for piece in message.pieces(|placeholder| Piece::Value(&placeholder.name)) {
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
    let names = prompt
        .arguments
        .iter()
        .map(|argument| argument.name.as_str());
    // Escape everything that would be parsed as a placeholder but was not written as one above.
    let mut escape_offsets =
        escaped_or_placeholder_offsets(&body.text, names, body.has_input_placeholder);
    escape_offsets.retain(|start| !body.placeholder_offsets.contains(start));
    escape_offsets.extend(body.false_marker_offsets());
    body.escape_and_finish(escape_offsets)
}

/// Builds a body, and records where its markers and placeholders are.
struct BodyWriter {
    text: String,
    writes_markers: bool,
    has_input_placeholder: bool,
    /// The byte offsets of the markers that were written.
    marker_offsets: Vec<usize>,
    /// The byte offsets of the placeholders that were written.
    placeholder_offsets: BTreeSet<usize>,
}

impl BodyWriter {
    fn new(writes_markers: bool) -> BodyWriter {
        BodyWriter {
            text: String::new(),
            writes_markers,
            has_input_placeholder: false,
            marker_offsets: Vec::new(),
            placeholder_offsets: BTreeSet::new(),
        }
    }

    /// Appends the separator from the message before, and the marker of the message at `index`. A
    /// first message of the user has no marker, because that is the default.
    fn begin_message(&mut self, index: usize, role: Role) {
        if index > 0 {
            self.text += "\n\n";
        }
        if self.writes_markers && (index > 0 || role == Role::Assistant) {
            self.marker_offsets.push(self.text.len());
            self.text += Marker::text_for(role);
            self.text.push('\n');
        }
    }

    /// Appends a placeholder and records its offset, so that it isn't escaped later.
    fn push_placeholder(&mut self, name: &str) {
        self.has_input_placeholder |= name == INPUT;
        self.placeholder_offsets.insert(self.text.len());
        // After a `{`, `{{name}}` would not be recognized as a placeholder.
        let placeholder = if self.text.ends_with('{') {
            format!("<<{name}>>")
        } else {
            format!("{{{{{name}}}}}")
        };
        self.text += &placeholder;
    }

    /// Returns the byte offsets of text that would be parsed as a marker but was not written as
    /// one.
    fn false_marker_offsets(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        if self.writes_markers {
            for marker in find_markers(&self.text) {
                if !self.marker_offsets.contains(&marker.line.start) {
                    starts.push(marker.comment_start(&self.text));
                }
            }
        }
        starts
    }

    /// Returns the body with a backslash inserted at each of these byte offsets.
    fn escape_and_finish(self, mut escape_offsets: Vec<usize>) -> String {
        let mut text = self.text;
        escape_offsets.sort_unstable();
        // From the end, so that the offsets that are left remain valid.
        for start in escape_offsets.into_iter().rev() {
            text.insert(start, '\\');
        }
        text
    }
}

/// Formats a text as a YAML string. It is quoted unless it is certain to be read as a string.
fn yaml_string(text: &str) -> String {
    if is_plain_word(text) || is_plain_phrase(text) {
        text.to_owned()
    } else {
        in_double_quotes(text)
    }
}

/// Returns whether a string can be written in YAML without quotes: it is one word of ASCII letters,
/// and not one that YAML reads as another type, such as `yes` or `null`.
fn is_plain_word(text: &str) -> bool {
    const NON_STRINGS: [&str; 10] = [
        "", "y", "n", "yes", "no", "on", "off", "true", "false", "null",
    ];
    text.chars().all(|letter| letter.is_ascii_alphabetic())
        && !NON_STRINGS.contains(&text.to_lowercase().as_str())
}

/// Returns whether a text is several words with nothing but common punctuation.
fn is_plain_phrase(text: &str) -> bool {
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
            prop_assert_eq!(prompt.title, Some(title_from_name(&name)));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&prompt.description.unwrap_or_default()), words(&description));
            prop_assert!(prompt.lenient_warnings.is_empty(), "{:?}", prompt.lenient_warnings);
        }
    }
}
