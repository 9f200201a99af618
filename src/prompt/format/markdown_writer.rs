//! Writes what a prompt says as a Markdown file of this program, so that reading the file gives the same.

use super::Format;
use super::messages::{marker, markers_in};
use crate::prompt::conversion::{Content, Section, Segment};
use crate::prompt::template::marks_in;
use crate::prompt::{Argument, Diagnostic, INPUT, Icon, MAX_FILE, Metadata, Name, Role};
use std::collections::BTreeSet;

/// Keys that are written only if they are needed.
#[derive(Clone, Copy, Default)]
struct Keys {
    title: bool,
    description: bool,
    /// Whether there is a frontmatter even without keys: a body that begins like one needs it.
    frontmatter: bool,
}

/// The text of a file that says this. A title and a description that the body gives anyway are left out.
///
/// # Errors
/// No file says it.
pub(in crate::prompt) fn write(name: &Name, content: &Content) -> Result<String, Diagnostic> {
    if content.is_jinja {
        let message = "a template (`engine: jinja`) that includes files cannot be written as one file";
        return Err(Diagnostic::error(None, message, "copy it by hand, with the files that it includes"));
    }
    let needed = needed(name, content);
    let all = Keys { title: true, description: true, frontmatter: true };
    for keys in [needed, Keys { frontmatter: true, ..needed }, all] {
        let text = file(&frontmatter(content, keys), &body(content), keys.frontmatter);
        if content.is_said_by(name, &text) {
            return Ok(text);
        }
    }
    Err(refusal(content))
}

/// The lines of the frontmatter without the description.
pub(in crate::prompt) fn frontmatter_without_description(name: &Name, content: &Content) -> String {
    frontmatter(content, Keys { description: false, ..needed(name, content) })
}

/// A file of a frontmatter and a body; without lines, there is a frontmatter only if it `is_forced`.
pub(in crate::prompt) fn file(frontmatter: &str, body: &str, is_forced: bool) -> String {
    let fences = if frontmatter.is_empty() && !is_forced { "" } else { "---\n" };
    format!("{fences}{frontmatter}{fences}{body}\n")
}

/// Which keys the body does not make unnecessary.
fn needed(name: &Name, content: &Content) -> Keys {
    let bare = Keys { frontmatter: true, ..Keys::default() };
    let text = file(&frontmatter(content, bare), &body(content), true);
    let Ok(prompt) = Format::Markdown.parse(name.clone(), text.as_bytes()) else {
        return Keys { title: true, description: true, frontmatter: false };
    };
    Keys {
        title: prompt.title != content.title,
        description: prompt.description != content.description,
        frontmatter: false,
    }
}

fn frontmatter(content: &Content, keys: Keys) -> String {
    let Content { title, description, arguments, tags, metadata, attachments, messages, has_words, is_jinja: _ } =
        content;
    let Metadata { author, version, category, icons } = metadata;
    let mut lines = String::new();
    let mut text = |key: &str, value: Option<&String>| {
        if let Some(value) = value {
            lines += &format!("{key}: {}\n", scalar(value));
        }
    };
    text("title", title.as_ref().filter(|_| keys.title));
    text("description", description.as_ref().filter(|_| keys.description));
    text("author", author.as_ref());
    text("version", version.as_ref());
    text("category", category.as_ref());
    if !arguments.is_empty() {
        lines += "arguments:\n";
        lines += &self::arguments(arguments);
    }
    if !tags.is_empty() {
        lines += &format!("tags: {}\n", list(tags));
    }
    if *has_words {
        lines += "words: true\n";
    }
    if !attachments.is_empty() {
        lines += "attachments:\n";
        lines.extend(attachments.iter().map(|path| format!("  - {}\n", scalar(path))));
    }
    if !icons.is_empty() {
        lines += "icons:\n";
        lines.extend(icons.iter().map(icon));
    }
    if are_several(messages) {
        lines += "messages: true\n";
    }
    lines
}

/// The lines below the key `arguments`.
pub(super) fn arguments(arguments: &[Argument]) -> String {
    arguments.iter().map(argument).collect()
}

fn argument(argument: &Argument) -> String {
    let Argument { name, title, description, required, default, choices, strict } = argument;
    let mut lines = format!("  - name: {}\n", scalar(name));
    for (key, value) in [("title", title), ("description", description), ("default", default)] {
        if let Some(value) = value {
            lines += &format!("    {key}: {}\n", scalar(value));
        }
    }
    if !choices.is_empty() {
        lines += &format!("    choices: {}\n", list(choices));
    }
    for (key, value) in [("required", required), ("strict", strict)] {
        if *value {
            lines += &format!("    {key}: true\n");
        }
    }
    lines
}

fn icon(icon: &Icon) -> String {
    let Icon { src, mime_type, sizes, theme } = icon;
    let mut lines = format!("  - src: {}\n", scalar(src));
    for (key, value) in [("mimeType", mime_type), ("theme", theme)] {
        if let Some(value) = value {
            lines += &format!("    {key}: {}\n", scalar(value));
        }
    }
    if !sizes.is_empty() {
        lines += &format!("    sizes: {}\n", list(sizes));
    }
    lines
}

/// A list of texts as a YAML value, in one line.
pub(super) fn list(texts: &[String]) -> String {
    let items = texts.iter().map(|text| if text.contains([',', ' ']) { quoted(text) } else { scalar(text) });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Whether markers are needed.
pub(in crate::prompt) fn are_several(messages: &[Section]) -> bool {
    messages.len() > 1 || messages.iter().any(|message| message.role == Role::Assistant)
}

/// All messages in one text, with a marker before each but a first one of the user. `write` appends a segment.
pub(in crate::prompt) fn with_markers(
    messages: &[Section],
    mut write: impl FnMut(&mut String, &[Segment], usize),
) -> (String, Vec<usize>) {
    let (mut body, mut markers) = (String::new(), Vec::new());
    for (index, Section { role, segments }) in messages.iter().enumerate() {
        if index > 0 {
            body += "\n\n";
        }
        if are_several(messages) && (index > 0 || *role == Role::Assistant) {
            markers.push(body.len());
            body += marker(*role);
            body.push('\n');
        }
        for at in 0..segments.len() {
            write(&mut body, segments, at);
        }
    }
    (body, markers)
}

/// The body with these messages, and whether they are several. A line that is a marker gets a backslash; all else stays.
pub(super) fn messages(texts: &[(Role, String)]) -> (String, bool) {
    let section = |(role, text): &(Role, String)| Section { role: *role, segments: vec![Segment::Text(text.clone())] };
    let sections: Vec<Section> = texts.iter().map(section).collect();
    let (mut body, markers) = with_markers(&sections, |body, segments, at| {
        if let Segment::Text(text) = &segments[at] {
            body.push_str(text);
        }
    });
    if are_several(&sections) {
        let escapes = markers_to_escape(&body, &markers);
        insert_backslashes(&mut body, escapes);
    }
    (body, are_several(&sections))
}

/// The bytes before which a backslash is needed, so that a line is no marker, except for these.
fn markers_to_escape(body: &str, own: &[usize]) -> Vec<usize> {
    let start = |at: usize| at + body[at..].len() - body[at..].trim_start().len();
    markers_in(body).into_iter().filter(|at| !own.contains(at)).map(start).collect()
}

fn insert_backslashes(body: &mut String, mut at: Vec<usize>) {
    at.sort_unstable();
    at.into_iter().rev().for_each(|at| body.insert(at, '\\'));
}

/// The body: placeholders in braces, and a backslash before each text that would be read as a placeholder or a marker.
pub(in crate::prompt) fn body(content: &Content) -> String {
    let names: BTreeSet<&str> = content.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let mut placeholders = BTreeSet::new();
    let mut has_input = false;
    let (mut body, markers) = with_markers(&content.messages, |body, segments, at| match &segments[at] {
        Segment::Text(text) => body.push_str(text),
        Segment::Placeholder(name) => {
            has_input |= name == INPUT;
            let (open, close) = if body.ends_with('{') { ("<<", ">>") } else { ("{{", "}}") };
            placeholders.insert(body.len());
            body.extend([open, name, close]);
        }
    });
    let mut escapes: Vec<usize> = marks_in(&body, &names, has_input);
    escapes.retain(|at| !placeholders.contains(at));
    if are_several(&content.messages) {
        escapes.extend(markers_to_escape(&body, &markers));
    }
    insert_backslashes(&mut body, escapes);
    body
}

/// Why no file says this.
fn refusal(content: &Content) -> Diagnostic {
    let text: usize = content.messages.iter().flat_map(|message| &message.segments).map(Segment::len).sum();
    let (message, fix) = if text > MAX_FILE - MAX_FILE / 8 {
        ("the prompt would be too long as Markdown", "shorten it")
    } else if are_several(&content.messages) {
        (
            "its messages cannot be divided by markers, because of a block of code that is never closed, or of a marker after a backslash",
            "close each block with ``` in the original, and delete the backslash",
        )
    } else {
        ("what it says cannot be written as Markdown with a frontmatter", "shorten its description, arguments and tags")
    };
    Diagnostic::error(None, message, fix)
}

/// A text as a YAML value: in quotes, unless YAML can only read it as a text.
pub(in crate::prompt) fn scalar(text: &str) -> String {
    let is_word = |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-,;.'".contains(letter));
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && !text.contains("---")
        && text.contains(' ')
        && text.split(' ').all(is_word);
    let is_one_word = text.chars().all(|letter| letter.is_ascii_alphabetic())
        && !["", "y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_lowercase().as_str());
    if is_plain || is_one_word { text.to_owned() } else { quoted(text) }
}

/// A text as a YAML value in double quotes, in one line.
pub(in crate::prompt) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            // Claude Code ends a frontmatter at `---`, wherever that is.
            '-' if quoted.ends_with("--") => quoted += "\\x2d",
            '\u{feff}' | '\u{2028}' | '\u{2029}' => quoted += &format!("\\u{:04x}", u32::from(character)),
            other if other.is_control() => quoted += &format!("\\u{:04x}", u32::from(other)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
