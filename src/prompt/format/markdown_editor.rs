//! Changes parts of a Markdown file: keys of its frontmatter, or its body. Every other byte stays: comments, the order and the
//! quoting of the other keys, line endings, a byte order mark.
//!
//! The result is read again before it is returned, and has to say what was asked for, and nothing else that is new. What cannot
//! be changed like this is refused, for example a frontmatter that is only read leniently.

use super::frontmatter::{self, Split, distinct, is_argument_name};
use super::markdown::{self, without_empty_ends};
use super::markdown_writer::{arguments, list, messages, scalar};
use super::yaml::{self, Field, Node, Value};
use super::{Format, text_of};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_WEIGHT;
use crate::prompt::{Argument, Role};
use crate::wording::{named, quoted};
use std::ops::Range;

/// What to change in the file of a prompt. What is `None` stays; a key that is `Some(None)`, or empty, is removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// What follows the frontmatter.
    pub body: Option<Body>,
    /// The key `title`.
    pub title: Option<Option<String>>,
    /// The key `description`.
    pub description: Option<Option<String>>,
    /// The key `arguments`: all of them.
    pub arguments: Option<Option<Vec<Argument>>>,
    /// The key `tags`.
    pub tags: Option<Option<Vec<String>>>,
}

/// The body of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The text as it is written in a file, with its placeholders.
    Text(String),
    /// The same for each of several messages. The key `messages` is set, or removed if there is only one, of the user.
    Messages(Vec<(Role, String)>),
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        Body::Text(text)
    }
}

/// The order in which keys are written.
const ORDER: [&str; 13] = [
    "title",
    "description",
    "author",
    "version",
    "category",
    "arguments",
    "tags",
    "include",
    "engine",
    "words",
    "attachments",
    "icons",
    "messages",
];

/// What to do where parts of a file cannot be changed.
pub const EDIT_THE_FILE: &str = "edit the file itself";

/// The text of a file after a change of some of its parts. An empty text is that of a new file.
///
/// # Errors
/// The frontmatter is not one that can be changed without the risk of changing anything else, or no file says what is asked for.
pub fn edit(text: &str, parts: &Parts) -> Result<String, Diagnostic> {
    let (mark, without_mark) = text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest));
    let (body, has_messages) = match &parts.body {
        None => (None, None),
        Some(Body::Text(text)) => (Some(text.clone()), None),
        Some(Body::Messages(texts)) => {
            let (text, are_several) = messages(texts);
            (Some(text), Some(are_several.then(|| "true".to_owned())))
        }
    };
    let mut changes: Vec<(&str, Option<New>)> = Vec::new();
    let texts = [("title", &parts.title), ("description", &parts.description)];
    for (key, text) in texts {
        let value = |text: &Option<String>| {
            text.as_ref().filter(|text| !text.trim().is_empty()).map(|text| New::Value(scalar(text.trim())))
        };
        changes.extend(text.as_ref().map(|text| (key, value(text))));
    }
    if let Some(declared) = &parts.arguments {
        let unusable = declared.iter().flatten().find(|argument| !is_argument_name(&argument.name));
        if let Some(Argument { name, .. }) = unusable {
            let why = format!("{} cannot be the name of an argument", quoted(name));
            let fix = "a name has at least one character, and no spaces, control characters, `{`, `}`, `<` or `>`";
            return Err(Diagnostic::error(None, why, fix));
        }
        let declared: Vec<Argument> = declared.iter().flatten().map(as_read).collect();
        let declared = Some(&declared).filter(|declared| !declared.is_empty());
        changes.push(("arguments", declared.map(|declared| New::Lines(arguments(declared)))));
    }
    if let Some(tags) = &parts.tags {
        let tags = distinct(tags.clone().unwrap_or_default());
        changes.push(("tags", (!tags.is_empty()).then(|| New::Value(list(&tags)))));
    }
    changes.extend(has_messages.map(|value| ("messages", value.map(New::Value))));

    let before = File::read(without_mark)?;
    let edited = format!("{mark}{}", before.with(&changes, body.as_deref())?);
    let after = File::read(text_of(edited.as_bytes())?)?;
    before.check_other_keys(&after, &changes)?;
    before.check_other_values(&after, parts)?;
    after.check(parts)?;
    let body = body.map_or_else(
        || before.body_as_read(),
        |body| Ok(without_empty_ends(&body.replace("\r\n", "\n")).0.to_owned()),
    )?;
    if after.body_as_read()? != body {
        return Err(refused(None, "the text would be read as something else in this file"));
    }
    Ok(edited)
}

/// An argument without what is dropped when a file is read: spaces around a title or description, and empty texts.
fn as_read(argument: &Argument) -> Argument {
    let trimmed =
        |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    Argument {
        title: trimmed(&argument.title),
        description: trimmed(&argument.description),
        default: argument.default.clone().filter(|default| !default.is_empty()),
        ..argument.clone()
    }
}

/// The new value of a key.
enum New {
    /// In the line of the key.
    Value(String),
    /// In the lines below the key, each with its line ending.
    Lines(String),
}

fn refused(position: Option<Position>, why: &str) -> Diagnostic {
    Diagnostic::error(position, why, EDIT_THE_FILE)
}

fn changes_another_key() -> Diagnostic {
    refused(Some(Position::START), "changing this key would change another key of the frontmatter")
}

/// A file's text without its byte order mark, and where its parts are.
struct File<'t> {
    text: &'t str,
    /// The lines between the fences; `None` without frontmatter.
    yaml: Option<Range<usize>>,
    /// Where the body begins.
    body: usize,
    /// The keys, in the order of their lines.
    fields: Vec<Field>,
    ending: &'static str,
}

impl<'t> File<'t> {
    fn read(text: &'t str) -> Result<File<'t>, Diagnostic> {
        let ending =
            if text.lines().next().is_some_and(|line| text[line.len()..].starts_with("\r\n")) { "\r\n" } else { "\n" };
        let without = File { text, yaml: None, body: 0, fields: Vec::new(), ending };
        let Split { yaml: Some(yaml), body, .. } = frontmatter::split(text)? else { return Ok(without) };
        if frontmatter::read(yaml, Format::Markdown, &mut Vec::new())?.is_none() {
            return Ok(without); // a text between two rules
        }
        if yaml.replace("\r\n", "").contains('\r') {
            return Err(refused(Some(Position::START), "the frontmatter has line endings of different kinds"));
        }
        let start = text.find('\n').map_or(text.len(), |newline| newline + 1);
        let mut budget = MAX_WEIGHT;
        let fields = match yaml::parse(yaml, 2, &mut budget) {
            Ok(Node { value: Value::Map(fields), .. }) => fields,
            Ok(Node { value: Value::Null(text), .. }) if text.is_empty() => Vec::new(),
            Ok(_) => return Err(refused(Some(Position::START), "the frontmatter is not a list of keys")),
            Err(yaml::Refusal::TooLarge(error)) => return Err(error),
            Err(yaml::Refusal::Syntax(why)) => {
                let message = format!(
                    "the frontmatter is not valid YAML ({}), and its keys cannot be changed one by one",
                    why.message
                );
                return Err(refused(why.position, &message));
            }
        };
        let file = File { yaml: Some(start..start + yaml.len()), body: text.len() - body.len(), fields, ..without };
        if let Some(field) = file.fields.iter().find(|field| field.position.column != 1) {
            return Err(refused(Some(field.position), "the keys of the frontmatter do not each begin a line"));
        }
        Ok(file)
    }

    /// The bytes of each line of the frontmatter, with its ending.
    fn lines(&self) -> Vec<Range<usize>> {
        let yaml = self.yaml.clone().unwrap_or_default();
        let mut start = yaml.start;
        let lines = self.text[yaml].split_inclusive('\n').map(|line| {
            let line = start..start + line.len();
            start = line.end;
            line
        });
        lines.collect()
    }

    /// The bytes of the lines of a key: up to the last that is not empty and not a comment.
    fn extent(&self, index: usize, lines: &[Range<usize>]) -> Range<usize> {
        let first = self.fields[index].position.line - 2;
        let next = self.fields.get(index + 1).map_or(lines.len(), |next| next.position.line - 2);
        if let Some(end) = self.end_of_quoted(index, lines) {
            return lines[first].start..end;
        }
        let (_, value) = self.text[lines[first].clone()].split_once(':').unwrap_or_default();
        // An indented line of a text in several lines may begin with `#`.
        let is_text = value.trim_start().starts_with(['|', '>']);
        let is_own = |line: &&Range<usize>| {
            let line = &self.text[(*line).clone()];
            let is_comment = if is_text { line.starts_with('#') } else { line.trim_start().starts_with('#') };
            !line.trim().is_empty() && !is_comment
        };
        let end = lines[first..next].iter().rfind(is_own).unwrap_or(&lines[first]).end;
        lines[first].start..end
    }

    /// Where the last line ends of a value that is a text in quotes.
    fn end_of_quoted(&self, index: usize, lines: &[Range<usize>]) -> Option<usize> {
        let node = &self.fields[index].node;
        let Value::Text { is_quoted: true, .. } = node.value else { return None };
        let line = lines.get(node.position.line - 2)?;
        let start = line.start + byte_of(&self.text[line.clone()], node.position.column);
        let end = start + end_of_quotes(&self.text[start..])?;
        lines.iter().map(|line| line.end).find(|line| end <= *line)
    }

    /// The text with other values of keys, and another body.
    fn with(&self, changes: &[(&str, Option<New>)], body: Option<&str>) -> Result<String, Diagnostic> {
        let lines = self.lines();
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for (key, new) in changes {
            let at = self.fields.iter().position(|field| field.key == *key);
            match (at, new) {
                (None, None) => {}
                (Some(at), None) => edits.push((self.extent(at, &lines), String::new())),
                (Some(at), Some(new)) => edits.push(self.replacement(at, new, &lines)),
                (None, Some(new)) => {
                    let at = self.place(key, &lines);
                    let text = match new {
                        New::Value(value) => format!("{key}: {value}{}", self.ending),
                        New::Lines(below) => format!("{key}:{}{}", self.ending, self.with_ending(below)),
                    };
                    // Of several in one place, the later ones follow.
                    match edits.iter_mut().find(|(range, text)| *range == (at..at) && !text.is_empty()) {
                        Some((_, texts)) => *texts += &text,
                        None => edits.push((at..at, text)),
                    }
                }
            }
        }
        // An insertion after a key comes after the change of that key.
        edits.sort_by_key(|(range, _)| (range.end, range.start));
        let (head, rest) = self.text.split_at(self.body);
        let mut edited = head.to_owned();
        for (range, text) in edits.iter().rev() {
            edited.replace_range(range.clone(), text);
        }
        if self.yaml.is_none() && !edited.is_empty() {
            edited = format!("---{0}{edited}---{0}", self.ending);
        }
        let Some(body) = body else { return Ok(edited + rest) };
        // Empty lines at the start are no part of the text; those between the frontmatter and the text stay.
        let is_empty = |line: &&str| line.trim().is_empty();
        let body: String = body.split_inclusive('\n').skip_while(is_empty).collect();
        let body = self.with_ending(&body.replace("\r\n", "\n"));
        let end = if body.is_empty() || body.ends_with('\n') { "" } else { self.ending };
        if edited.is_empty() {
            let is_read_as_body = File::read(&body).is_ok_and(|file| file.yaml.is_none());
            let fences = if is_read_as_body { String::new() } else { format!("---{0}---{0}", self.ending) };
            return Ok(format!("{fences}{body}{end}"));
        }
        if !edited.ends_with('\n') {
            edited += self.ending;
        }
        let empty: String =
            rest.split_inclusive('\n').take_while(|line| is_empty(line) && line.ends_with('\n')).collect();
        Ok(format!("{edited}{empty}{body}{end}"))
    }

    fn with_ending(&self, text: &str) -> String {
        if self.ending == "\n" { text.to_owned() } else { text.replace('\n', self.ending) }
    }

    /// The bytes that hold the value of a key, and what replaces them.
    fn replacement(&self, index: usize, new: &New, lines: &[Range<usize>]) -> (Range<usize>, String) {
        let Field { key, node, position } = &self.fields[index];
        let extent = self.extent(index, lines);
        let first = lines[position.line - 2].clone();
        let line = self.text[first.clone()].trim_end_matches(['\n', '\r']);
        let is_one_line = extent.end == first.end;
        let value = value_in(line, key, node, position.line);
        match (new, value) {
            (New::Value(text), Some(value)) if is_one_line => {
                let space = if line[..value.start].ends_with([' ', '\t']) { "" } else { " " };
                (first.start + value.start..first.start + value.end, format!("{space}{text}"))
            }
            (New::Value(text), _) => (extent, format!("{key}: {text}{}", self.ending)),
            // The line of the key may have a comment.
            (New::Lines(below), Some(value)) if value.is_empty() => (first.end..extent.end, self.with_ending(below)),
            (New::Lines(below), _) => (extent, format!("{key}:{}{}", self.ending, self.with_ending(below))),
        }
    }

    /// Where a new key belongs: after the last of those before it in the [order](ORDER), else before all others.
    fn place(&self, key: &str, lines: &[Range<usize>]) -> usize {
        let rank = |key: &str| ORDER.iter().position(|known| *known == key);
        let is_before = |field: &Field| rank(&field.key).is_some_and(|other| Some(other) < rank(key));
        let after = self.fields.iter().rposition(is_before).map(|index| self.extent(index, lines).end);
        after.unwrap_or_else(|| self.yaml.as_ref().map_or(0, |yaml| yaml.start))
    }

    fn check_other_keys(&self, after: &File<'_>, changes: &[(&str, Option<New>)]) -> Result<(), Diagnostic> {
        let others = |file: &File<'_>| {
            let is_other = |field: &&Field| changes.iter().all(|(key, _)| *key != field.key);
            let value = |field: &Field| (field.key.clone(), without_positions(&field.node));
            file.fields.iter().filter(is_other).map(value).collect::<Vec<_>>()
        };
        if others(self) == others(after) {
            return Ok(());
        }
        Err(changes_another_key())
    }

    /// The same for what a prompt has of the keys: of some frontmatter, valid YAML is read leniently all the same.
    fn check_other_values(&self, after: &File<'_>, parts: &Parts) -> Result<(), Diagnostic> {
        let Ok(read) = markdown::read(Format::Markdown, self.text) else { return Ok(()) };
        let (old, new) = (read.frontmatter, markdown::read(Format::Markdown, after.text)?.frontmatter);
        let are_equal = (parts.title.is_some() || old.title == new.title)
            && (parts.description.is_some() || old.description == new.description)
            && (parts.arguments.is_some() || old.arguments == new.arguments)
            && (parts.tags.is_some() || old.tags == new.tags);
        if are_equal { Ok(()) } else { Err(changes_another_key()) }
    }

    /// Checks that it says what is asked for.
    fn check(&self, parts: &Parts) -> Result<(), Diagnostic> {
        let says = |key: &str| {
            let why = format!("the value of {} cannot be written in the frontmatter", quoted(key));
            Diagnostic::error(Some(Position::START), why, "give another value")
        };
        let read = markdown::read(Format::Markdown, self.text)?.frontmatter;
        let text = |asked: &Option<Option<String>>, read: &Option<String>| {
            asked
                .as_ref()
                .is_none_or(|asked| asked.as_deref().unwrap_or_default().trim() == read.as_deref().unwrap_or_default())
        };
        if !text(&parts.title, &read.title) {
            return Err(says("title"));
        }
        if !text(&parts.description, &read.description) {
            return Err(says("description"));
        }
        if let Some(asked) = &parts.arguments {
            let asked: Vec<Argument> = asked.iter().flatten().map(as_read).collect();
            if let Some(other) = asked.iter().find(|asked| !read.arguments.contains(asked)) {
                let why = format!("the argument {} cannot be written in the frontmatter", named(&other.name));
                return Err(Diagnostic::error(Some(Position::START), why, "give other values"));
            }
            if asked != read.arguments {
                return Err(says("arguments"));
            }
        }
        if parts.tags.clone().is_some_and(|asked| distinct(asked.unwrap_or_default()) != read.tags) {
            return Err(says("tags"));
        }
        Ok(())
    }

    /// The body as a prompt has it.
    fn body_as_read(&self) -> Result<String, Diagnostic> {
        Ok(markdown::read(Format::Markdown, self.text)?.body.into_owned())
    }
}

/// The bytes of a value in the line of its key, which are none if it has no value there; `None` if its end is not known.
fn value_in(line: &str, key: &str, node: &Node, number: usize) -> Option<Range<usize>> {
    let byte = |column| byte_of(line, column);
    let is_null = matches!(node.value, Value::Null(_));
    if node.position.line != number || is_null {
        // The key, with or without quotes, and its colon.
        let colon = line.find(key)? + key.len() + line[line.find(key)? + key.len()..].find(':')? + 1;
        let raw = line[colon..].trim_start();
        let written = matches!(&node.value, Value::Null(text) if !text.is_empty() && raw.starts_with(text.as_str()));
        return (raw.is_empty() || raw.starts_with('#')).then_some(colon..colon).filter(|_| !written);
    }
    let start = byte(node.position.column);
    let raw = &line[start..];
    let length = match raw.chars().next()? {
        '"' | '\'' => end_of_quotes(raw)?,
        '[' | '{' if node.end.line == number => byte(node.end.column + 1) - start,
        '[' | '{' | '|' | '>' => return None,
        _ => raw.find(" #").or_else(|| raw.find("\t#")).map_or(raw, |comment| &raw[..comment]).trim_end().len(),
    };
    Some(start..start + length)
}

/// Where a column begins, which counts characters from 1.
fn byte_of(line: &str, column: usize) -> usize {
    line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at)
}

/// The length of a text in quotes of either kind; `None` if they are not closed.
fn end_of_quotes(raw: &str) -> Option<usize> {
    let (quote, escape) = if raw.starts_with('"') { ('"', "\\") } else { ('\'', "''") };
    let mut rest = raw.strip_prefix(quote)?;
    loop {
        let next = rest.chars().next()?;
        if rest.starts_with(escape) {
            rest = &rest[1..]; // the next character is part of the text
        } else if next == quote {
            return Some(raw.len() - rest.len() + 1);
        }
        rest = &rest[rest.chars().next()?.len_utf8()..];
    }
}

fn without_positions(node: &Node) -> Node {
    let position = Position::START;
    let value = match &node.value {
        Value::List(nodes) => Value::List(nodes.iter().map(without_positions).collect()),
        Value::Map(fields) => Value::Map(
            fields
                .iter()
                .map(|field| Field { key: field.key.clone(), position, node: without_positions(&field.node) })
                .collect(),
        ),
        other => other.clone(),
    };
    Node { position, end: position, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, parts: Parts, after: &str) {
        assert_eq!(edit(before, &parts).map_err(|error| error.to_string()).as_deref(), Ok(after), "{before:?}");
    }

    fn title(title: &str) -> Parts {
        Parts { title: Some(Some(title.to_owned())), ..Parts::default() }
    }

    #[test]
    fn a_key_is_changed_in_its_line_and_every_other_byte_stays() {
        check("Text.\n", title("T"), "---\ntitle: T\n---\nText.\n");
        check("", title("T"), "---\ntitle: T\n---\n");
        check(
            "\u{feff}---\r\n# c\r\ntitle:  'Old'  # why\r\n\r\ntags: [a]\r\n---\r\n\r\nText.",
            title("New one"),
            "\u{feff}---\r\n# c\r\ntitle:  New one  # why\r\n\r\ntags: [a]\r\n---\r\n\r\nText.",
        );
    }

    /// The file in which a key has each kind of value.
    const ALL: &str = "---\n# first\ndescription: >-\n  folded\n  # text\ntitle: \"It's \\\"T\\\"\"  # why\n\
                       arguments: # all\n  - name: x\n    # about x\n    required: true\n\n# about tags\ntags:\n- a\n- b\nunknown: {a: [1]}\n---\n\n\nText {{x}}\n";

    fn removed(key: &str) -> Parts {
        match key {
            "title" => Parts { title: Some(None), ..Parts::default() },
            "description" => Parts { description: Some(None), ..Parts::default() },
            "arguments" => Parts { arguments: Some(None), ..Parts::default() },
            _ => Parts { tags: Some(None), ..Parts::default() },
        }
    }

    #[test]
    fn only_the_lines_of_a_key_change_however_its_value_is_written() {
        let description = Parts { description: Some(Some("D: d".to_owned())), ..Parts::default() };
        let argument = Argument { name: "z".to_owned(), default: Some("1".to_owned()), ..Argument::default() };
        let arguments = Parts { arguments: Some(Some(vec![argument])), ..Parts::default() };
        let tags = Parts { tags: Some(Some(vec!["c".to_owned(), "d e".to_owned()])), ..Parts::default() };
        let folded = "description: >-\n  folded\n  # text\n";
        let declared = "  - name: x\n    # about x\n    required: true\n";
        for (parts, old, new) in [
            (title("T"), "\"It's \\\"T\\\"\"", "T"),
            (description, folded, "description: \"D: d\"\n"),
            (arguments, declared, "  - name: z\n    default: \"1\"\n"),
            (tags, "tags:\n- a\n- b\n", "tags: [c, \"d e\"]\n"),
            (removed("title"), "title: \"It's \\\"T\\\"\"  # why\n", ""),
            (removed("description"), folded, ""),
            (removed("arguments"), &format!("arguments: # all\n{declared}"), ""),
            (removed("tags"), "tags:\n- a\n- b\n", ""),
            (Parts { body: Some("New {{x}}".to_owned().into()), ..Parts::default() }, "Text {{x}}\n", "New {{x}}\n"),
        ] {
            assert_eq!(ALL.matches(old).count(), 1, "{old}");
            check(ALL, parts.clone(), &ALL.replace(old, new));
            let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
            check(&windows(ALL), parts, &windows(&ALL.replace(old, new)));
        }
        check(ALL, Parts::default(), ALL);
    }

    #[test]
    fn empty_texts_of_an_argument_and_spaces_around_them_are_dropped_and_tags_are_distinct() {
        let argument = Argument {
            name: "a".to_owned(),
            title: Some(" ".to_owned()),
            description: Some(" What\n".to_owned()),
            default: Some(String::new()),
            ..Argument::default()
        };
        let parts = Parts { arguments: Some(Some(vec![argument])), ..Parts::default() };
        check("B\n", parts, "---\narguments:\n  - name: a\n    description: What\n---\nB\n");
        let tags = |tags: [&str; 3]| Parts { tags: Some(Some(tags.map(str::to_owned).to_vec())), ..Parts::default() };
        check("B\n", tags(["a", "", "a"]), "---\ntags: [a]\n---\nB\n");
        check("B\n", tags([""; 3]), "B\n");
    }

    #[test]
    fn comments_after_a_text_in_quotes_stay() {
        for (old, new) in [
            ("title: \"one\n  # two\"\n  # about the next\n", "title: T\n  # about the next\n"),
            ("title: 'it''s\n\n  # two'\n  # about the next\n", "title: T\n  # about the next\n"),
            ("title:\n  # before\n  \"one\n  # two\"\n  # next\n", "title: T\n  # next\n"),
            ("title:\n  \"one\" # two\n  # next\n", "title: T\n  # next\n"),
        ] {
            let around = |title: &str| format!("---\n{title}description: D\n---\nB\n");
            check(&around(old), title("T"), &around(new));
        }
    }

    #[test]
    fn a_new_key_is_put_where_it_is_usually_written() {
        let tags = Parts { tags: Some(Some(vec!["a".to_owned()])), ..Parts::default() };
        check(
            "---\n# c\nauthor: A\nother: x\n---\nB\n",
            title("T"),
            "---\ntitle: T\n# c\nauthor: A\nother: x\n---\nB\n",
        );
        check(
            "---\nother: x\ntitle: T\n\n# w\nwords: true\n---\nB\n",
            tags.clone(),
            "---\nother: x\ntitle: T\ntags: [a]\n\n# w\nwords: true\n---\nB\n",
        );
        let both = Parts { description: Some(Some("D".to_owned())), ..title("T") };
        check(
            "B\r\n",
            Parts { tags: tags.tags, ..both },
            "---\r\ntitle: T\r\ndescription: D\r\ntags: [a]\r\n---\r\nB\r\n",
        );
    }

    #[test]
    fn a_body_that_looks_like_frontmatter_or_messages_is_a_body() {
        let body = |text: &str| Parts { body: Some(text.to_owned().into()), ..Parts::default() };
        check("Old\n", body("---\ntitle: T\n---\nB"), "---\n---\n---\ntitle: T\n---\nB\n");
        check("---\ntitle: T\n---", body("B"), "---\ntitle: T\n---\nB\n");
        check("", body("A rule:\n\n---\n"), "A rule:\n\n---\n");
        let messages = |texts: &[(Role, &str)]| {
            let texts = texts.iter().map(|(role, text)| (*role, (*text).to_owned())).collect();
            Parts { body: Some(Body::Messages(texts)), ..Parts::default() }
        };
        let several = "---\nmessages: true\n---\nQ\n\n<!-- assistant -->\n\\<!-- user -->\n";
        check("Old\n", messages(&[(Role::User, "Q"), (Role::Assistant, "<!-- user -->")]), several);
        check(several, messages(&[(Role::User, "One")]), "---\n---\nOne\n");
    }

    #[test]
    fn what_cannot_be_changed_safely_is_refused() {
        for before in [
            "---\n{title: T, other: x}\n---\nB\n",
            "---\ntitle: &t T\nother: *t\n---\nB\n",
            "---\ntitle: a: b\nother: x\n---\nB\n",
            "---\ntitle: T\ntitle: U\n---\nB\n",
            "---\n? title\n: T\n---\nB\n",
            "---\ntitle: T\rother: x\n---\nB\n",
            "---\ntitle:: x\ntags: [&t T\nde] # c: {[:a 0, 2]}\n---\nB\n",
            "---\ntitle: T\n",
        ] {
            let refused = edit(before, &title("New")).unwrap_err();
            assert!(refused.fix == EDIT_THE_FILE || before.ends_with("T\n"), "{before:?}: {refused}");
        }
        let declared = |names: &[&str]| {
            let argument = |name: &&str| Argument { name: (*name).to_owned(), ..Argument::default() };
            let arguments = Some(Some(names.iter().map(argument).collect()));
            edit("B", &Parts { arguments, ..Parts::default() }).unwrap_err()
        };
        assert_eq!(declared(&["a", "a"]).message, "the value of `arguments` cannot be written in the frontmatter");
        for name in ["a b", "", "{a}"] {
            let refused = declared(&["a", name]);
            assert_eq!(refused.message, format!("{} cannot be the name of an argument", quoted(name)));
            assert!(refused.fix.contains("no spaces"), "{refused}");
        }
    }
}
