//! From a prompt of any format to a Markdown file of this program, and from any prompt to a file of another system.
//!
//! Both are checked before they are returned: the Markdown is read again and says the same, and so does what is imported from an
//! exported file. What cannot be said is a [note](Conversion::notes), never dropped in silence.
//!
//! An exported file says in the other system's own words what that system can do. What it cannot say is in keys that it ignores:
//! `frontmatter`, the lines of ours but the description, and, only if the text of the file cannot be translated back, `body`.

use super::attachment::AttachmentPath;
use super::format::{Format, claude_command, gemini_toml, hexai_jsonl, markdown_writer};
use super::outline::outline;
use super::{
    Argument, Diagnostic, INPUT, Metadata, Name, Placeholder, Position, Prompt, Role, foreign_marks, template,
};
use crate::wording::{all_of, named, quoted};
use std::collections::{BTreeMap, HashSet};

/// A prompt in another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// The text of the file, or of the line.
    pub text: String,
    /// What is different there; the positions are in the original if it was imported, and in the new file if it was exported.
    pub notes: Vec<Diagnostic>,
    /// The keys of the original that have no meaning here, and where they are.
    pub unread_keys: Vec<(String, Position)>,
}

/// A format that prompts are exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A Markdown command of Claude Code.
    Claude,
    /// A TOML command of Gemini CLI.
    Gemini,
    /// A line of hexai's JSONL.
    Jsonl,
}

impl ExportFormat {
    /// The format of its files.
    pub fn format(self) -> Format {
        match self {
            ExportFormat::Claude => Format::ClaudeCommand,
            ExportFormat::Gemini => Format::GeminiToml,
            ExportFormat::Jsonl => Format::HexaiPrompt,
        }
    }
}

/// What a prompt says, apart from how its file says it, as far as Markdown can say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) arguments: Vec<Argument>,
    pub(super) tags: Vec<String>,
    pub(super) metadata: Metadata,
    pub(super) attachments: Vec<String>,
    /// See [`Prompt::takes_words`].
    pub(super) has_words: bool,
    /// Whether the messages are templates of Jinja, each of which is one text here.
    pub(super) is_jinja: bool,
    pub(super) messages: Vec<Section>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) role: Role,
    /// Without two texts in a row, or an empty one.
    pub(super) segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Text(String),
    /// Its name.
    Placeholder(String),
}

impl Segment {
    pub(super) fn len(&self) -> usize {
        let (Segment::Text(text) | Segment::Placeholder(text)) = self;
        text.len()
    }
}

/// What an exported file says in the keys that its system ignores.
pub(super) struct Kept {
    pub(super) frontmatter: String,
    pub(super) body: Option<String>,
}

/// Writes a prompt as a Markdown file of this program that expands to the same. `file` is the text that the prompt was read from.
///
/// # Errors
/// No Markdown file says what the prompt says.
pub fn import(prompt: &Prompt, file: &str) -> Result<Conversion, Diagnostic> {
    refuse_remote(prompt)?;
    let mut notes = Vec::new();
    if let Some((content, is_edited)) = restored(prompt, file) {
        if is_edited {
            let message = "the file was edited after it was exported, and its text is read as it is now";
            let fix = "compare the imported prompt with it: a text that looks like a placeholder may have become one";
            notes.push(Diagnostic::warning(None, message, fix));
        }
        notes.extend(attachments_to_copy(&content));
        let text = markdown_writer::write(&prompt.name, &content)?;
        return Ok(Conversion { text, notes, unread_keys: Vec::new() });
    }
    let mut content = Content::of(prompt, &mut notes);
    if let [message] = &*prompt.messages
        && !matches!(prompt.format, Format::Markdown | Format::Skill | Format::HexaiPrompt)
    {
        // What is derived from the text is derived from the imported text.
        let outline = outline(message.body());
        content.title = content.title.filter(|title| outline.heading.as_ref() != Some(title));
        let derived = outline.description();
        content.description = content.description.filter(|description| derived.as_ref() != Some(description));
    }
    let own = file.strip_prefix('\u{feff}').unwrap_or(file);
    let text = match prompt.format {
        Format::Markdown if content.is_said_by(&prompt.name, own) => file.to_owned(),
        _ => markdown_writer::write(&prompt.name, &content)?,
    };
    let mut unread_keys = Vec::new();
    if prompt.format != Format::Markdown {
        notes.extend(prompt.messages.iter().flat_map(|message| foreign_marks::warnings(prompt, message)));
        notes.extend(prompt.lenient.iter().cloned());
        unread_keys.clone_from(&prompt.unread_keys);
        unread_keys.retain(|(key, _)| key != "name" && key != KEPT);
    }
    if !prompt.included().is_empty() {
        let message = "the text of the files that it includes is part of the imported prompt";
        notes.push(Diagnostic::warning(None, message, "no action is needed unless several prompts share these files"));
    }
    if prompt.format == Format::Skill {
        let message = "the text begins with the path of the skill's folder; the other files there are not imported";
        let fix = "keep that folder, or copy it and change the path in the first line of the imported prompt";
        notes.push(Diagnostic::warning(None, message, fix));
    }
    notes.extend(attachments_to_copy(&content));
    notes.sort_by_key(|note| note.position);
    Ok(Conversion { text, notes, unread_keys })
}

/// Warnings about the files that a prompt attaches, which are to be copied by hand.
fn attachments_to_copy(content: &Content) -> impl Iterator<Item = Diagnostic> {
    content.attachments.iter().filter(|path| !path.starts_with("https://")).map(|path| {
        let message = format!("the attachment {} is not imported with the prompt", quoted(path));
        Diagnostic::warning(None, message, "copy the file to the same place next to the imported prompt")
    })
}

fn refuse_remote(prompt: &Prompt) -> Result<(), Diagnostic> {
    let refusal = || {
        let message = format!("{} has no text of its own: a service renders it", named(&prompt.name));
        Diagnostic::error(None, message, "save what `prompt-expander expand` prints if you want the text")
    };
    if prompt.is_remote() { Err(refusal()) } else { Ok(()) }
}

/// The key of an exported file that its system ignores.
pub(super) const KEPT: &str = "prompt-expander";

/// Writes a prompt for another system. Importing it gives a prompt that says the same.
///
/// # Errors
/// What the prompt says does not fit into such a file.
pub fn export(prompt: &Prompt, to: ExportFormat) -> Result<Conversion, Diagnostic> {
    refuse_remote(prompt)?;
    if prompt.is_jinja() {
        let message =
            format!("{} is a template (`engine: jinja`), which no other program can fill in", named(&prompt.name));
        return Err(Diagnostic::error(
            None,
            message,
            "write the text for each case into a prompt of its own, and export those",
        ));
    }
    let mut notes = Vec::new();
    let content = Content::of(prompt, &mut notes);
    let name = &prompt.name;
    let frontmatter = || markdown_writer::frontmatter_without_description(name, &content);
    let kept = [
        None,
        Some(Kept { frontmatter: frontmatter(), body: None }),
        Some(Kept { frontmatter: frontmatter(), body: Some(markdown_writer::body(&content)) }),
    ];
    for kept in &kept {
        let (text, of_format) = write(to, name, &content, kept.as_ref());
        let Ok(exported) = to.format().parse(name.clone(), text.as_bytes()) else { continue };
        let Ok(imported) = import(&exported, &text) else { continue };
        if content.is_said_by(name, &imported.text) {
            notes.extend(of_format);
            notes.extend(exported.messages.iter().flat_map(|message| foreign_marks::effects(&exported, message)));
            return Ok(Conversion { text, notes, unread_keys: Vec::new() });
        }
    }
    let system = to.format().system().title();
    let is_empty = content.messages.iter().all(|message| message.segments.is_empty());
    let (message, fix) = if is_empty {
        (format!("{} has no text, which a file of {system} needs", named(name)), "write its text")
    } else {
        let message = format!("{} does not fit into a file of {system}", named(name));
        (message, "shorten its text, description and arguments")
    };
    Err(Diagnostic::error(None, message, fix))
}

fn write(to: ExportFormat, name: &Name, content: &Content, kept: Option<&Kept>) -> (String, Vec<Diagnostic>) {
    let (text, mut notes) = match to {
        ExportFormat::Claude => claude_command::write(content, kept),
        ExportFormat::Gemini => gemini_toml::write(content, kept),
        ExportFormat::Jsonl => hexai_jsonl::write(name, content, kept),
    };
    let system = to.format().system().title();
    let mut note = |message: String, fix: &str| notes.push(Diagnostic::warning(None, message, fix));
    if !content.attachments.is_empty() {
        let message = format!("{} cannot attach {}", system, all_of(&content.attachments));
        note(message, "tell the agent in the text to read the files");
    }
    if markdown_writer::are_several(&content.messages) && to != ExportFormat::Jsonl {
        let message = format!(
            "a prompt of {system} is one message: `<!-- user -->` and `<!-- assistant -->` are part of its text"
        );
        note(message, "no action is needed if the model understands them");
    }
    let is_lost = |argument: &&Argument| argument.default.is_some() || !argument.choices.is_empty();
    let lost: Vec<&str> = content.arguments.iter().filter(is_lost).map(|argument| argument.name.as_str()).collect();
    if !lost.is_empty() {
        note(
            format!("{system} has neither defaults nor choices: those of {} have no effect there", all_of(&lost)),
            "say in the text what to do without a value",
        );
    }
    (text, notes)
}

/// What the keys of an exported file say together with its text, and whether the text was edited after the export; `None` if the file
/// was not exported.
fn restored(prompt: &Prompt, file: &str) -> Option<(Content, bool)> {
    let (kept, to) = match prompt.format {
        Format::ClaudeCommand => (claude_command::kept(file)?, ExportFormat::Claude),
        Format::GeminiToml => (gemini_toml::kept(file)?, ExportFormat::Gemini),
        Format::HexaiPrompt => (hexai_jsonl::kept(file)?, ExportFormat::Jsonl),
        _ => return None,
    };
    let read = |body: &str| {
        let text = markdown_writer::file(&kept.frontmatter, body, true);
        let own = Format::Markdown.parse(prompt.name.clone(), text.as_bytes()).ok()?;
        let content = Content::of(&own, &mut Vec::new());
        Some(Content { description: prompt.description.clone().or(content.description), ..content })
    };
    if let Some(body) = &kept.body
        && let Some(content) = read(body)
        && write(to, &prompt.name, &content, Some(&kept)).0 == file
    {
        return Some((content, false));
    }
    let mut content = read(&markdown_writer::body(&Content::of(prompt, &mut Vec::new())))?;
    if let [Argument { name, .. }] = &*content.arguments
        && content.uses(INPUT)
        && !content.uses(name)
    {
        let name = name.clone();
        content.rename(INPUT, &name);
    }
    Some((content, kept.body.is_some()))
}

impl Content {
    /// What a prompt says. What Markdown cannot say is said in another way, with a note about the difference.
    pub(super) fn of(prompt: &Prompt, notes: &mut Vec<Diagnostic>) -> Content {
        let mut forms: Forms<'_> = BTreeMap::new();
        let mut messages = Vec::new();
        for group in prompt.groups().map(|group| &prompt.messages[group]) {
            let mut section = Section { role: group[0].role, segments: Vec::new() };
            for (index, message) in group.iter().enumerate() {
                section.push_text(if index == 0 { "" } else { "\n\n" });
                if message.jinja().is_some() {
                    section.push_text(message.body());
                    continue;
                }
                let mut positions = message.positions();
                for segment in message.segments() {
                    match segment {
                        template::Segment::Text(text) => section.push_text(text),
                        template::Segment::Placeholder(placeholder) => {
                            let position = positions.at(placeholder.range.start);
                            let written = message.written(placeholder);
                            forms.entry(&placeholder.name).or_default().push((written, placeholder.stays, position));
                            section.push_placeholder(placeholder, position, notes);
                        }
                    }
                }
            }
            let changed = section.trim();
            if let Some(first) = group.first().filter(|_| changed) {
                let position = Some(Position { line: first.first_line(), column: 1 });
                let message = "empty lines at the start and end of a message, and carriage returns, are not imported";
                notes.push(Diagnostic::warning(position, message, "no action is needed unless a program counts lines"));
            }
            messages.push(section);
        }
        if messages.iter().any(|section| !section.segments.is_empty()) {
            messages.retain(|section| !section.segments.is_empty());
        } else {
            messages = vec![Section { role: Role::User, segments: Vec::new() }];
        }
        append_input(prompt, &mut messages, notes);
        let mut content = Content {
            title: trimmed(prompt.title.as_ref()),
            description: trimmed(prompt.description.as_ref()),
            arguments: prompt.arguments.clone(),
            tags: distinct(&prompt.tags),
            metadata: prompt.metadata.clone(),
            attachments: prompt.attachments.iter().map(|AttachmentPath { path, .. }| path.clone()).collect(),
            has_words: prompt.takes_words() && !prompt.arguments.is_empty(),
            is_jinja: prompt.is_jinja(),
            messages,
        };
        if prompt.format == Format::CodexPrompt && prompt.takes_words() && content.uses(INPUT) {
            let message = "Codex takes the quotes off the words of `$ARGUMENTS`; in the imported prompt they stay";
            notes.push(Diagnostic::warning(None, message, "no action is needed unless words are typed in quotes"));
        }
        content.normalize_arguments(notes);
        content.keep_what_stays(&forms, notes);
        content
    }

    /// Whether a Markdown file says the same. What is `None` here, the file may derive from its body.
    pub(super) fn is_said_by(&self, name: &Name, text: &str) -> bool {
        let Ok(prompt) = Format::Markdown.parse(name.clone(), text.as_bytes()) else { return false };
        let mut other = Content::of(&prompt, &mut Vec::new());
        if self.title.is_none() {
            other.title = None;
        }
        if self.description.is_none() {
            other.description = None;
        }
        *self == other
    }

    fn placeholders(&mut self) -> impl Iterator<Item = &mut String> {
        self.messages.iter_mut().flat_map(|message| &mut message.segments).filter_map(|segment| match segment {
            Segment::Placeholder(name) => Some(name),
            Segment::Text(_) => None,
        })
    }

    /// Whether there is a placeholder of this name.
    pub(super) fn uses(&self, name: &str) -> bool {
        let is_it = |segment: &Segment| matches!(segment, Segment::Placeholder(other) if other == name);
        self.messages.iter().any(|message| message.segments.iter().any(is_it))
    }

    fn rename(&mut self, old: &str, new: &str) {
        self.placeholders().filter(|name| *name == old).for_each(|name| new.clone_into(name));
    }

    /// The only argument if it takes the whole text: where a system has no names, it is the input.
    pub(super) fn only_argument(&self) -> Option<&str> {
        match &*self.arguments {
            [argument] if !self.has_words && !self.uses(INPUT) => Some(&argument.name),
            _ => None,
        }
    }

    /// Writes arguments as a frontmatter can have them.
    fn normalize_arguments(&mut self, notes: &mut Vec<Diagnostic>) {
        let is_usable = |name: &str| {
            let is_forbidden = |letter: char| letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter);
            !name.is_empty() && !name.contains(is_forbidden)
        };
        let mut known = HashSet::new();
        self.arguments.retain(|argument| {
            let is_kept = is_usable(&argument.name) && known.insert(argument.name.clone());
            if !is_kept {
                let message =
                    format!("the argument {} is not imported: its name cannot be used", quoted(&argument.name));
                notes.push(Diagnostic::warning(None, message, "give it a name of its own, without spaces and braces"));
            }
            is_kept
        });
        for argument in &mut self.arguments {
            argument.title = trimmed(argument.title.as_ref());
            argument.description = trimmed(argument.description.as_ref());
            argument.choices = distinct(&argument.choices);
            if argument.default.as_deref() == Some("") {
                (argument.default, argument.required) = (None, false);
            }
        }
    }

    /// Makes what stays as written without a value the default of its argument.
    fn keep_what_stays(&mut self, forms: &Forms<'_>, notes: &mut Vec<Diagnostic>) {
        for argument in &mut self.arguments {
            let Some(forms) = forms.get(argument.name.as_str()) else { continue };
            let Some((first, ..)) = forms.iter().find(|(_, stays, _)| *stays) else { continue };
            argument.default = Some((*first).to_owned());
            if let Some((other, _, position)) = forms.iter().find(|(other, ..)| other != first) {
                let message = format!("without a value, {} becomes {}", quoted(other), quoted(first));
                let fix = "declare a second argument if both texts are needed";
                notes.push(Diagnostic::warning(Some(*position), message, fix));
            }
        }
    }
}

/// How the placeholders of each name are written, whether they stay so without a value, and where they are.
type Forms<'p> = BTreeMap<&'p str, Vec<(&'p str, bool, Position)>>;

/// Puts a placeholder where a prompt of fabric or of llm has its input, if Markdown would have it elsewhere.
fn append_input(prompt: &Prompt, messages: &mut [Section], notes: &mut Vec<Diagnostic>) {
    let is_elsewhere = prompt.separator() == "\n" || prompt.placeholders().next().is_some();
    let Some(last) = messages.last_mut() else { return };
    if !prompt.appends_input() || !is_elsewhere || last.segments.is_empty() {
        return;
    }
    last.push_text(prompt.separator());
    last.segments.push(Segment::Placeholder(INPUT.to_owned()));
    let system = prompt.format.system().title();
    let message = format!("without an input, the text ends with an empty line; that of {system} does not");
    notes.push(Diagnostic::warning(None, message, "no action is needed if the prompt is used with an input"));
}

impl Section {
    fn push_text(&mut self, text: &str) {
        match self.segments.last_mut() {
            _ if text.is_empty() => {}
            Some(Segment::Text(last)) => last.push_str(text),
            _ => self.segments.push(Segment::Text(text.to_owned())),
        }
    }

    fn push_placeholder(&mut self, placeholder: &Placeholder, position: Position, notes: &mut Vec<Diagnostic>) {
        let is_escape = matches!(self.segments.last(), Some(Segment::Text(text)) if text.ends_with('\\'));
        if is_escape {
            self.push_text(" ");
            let message = format!(
                "a space is put between the backslash and the placeholder of {}: in Markdown, the backslash would make it text",
                named(&placeholder.name)
            );
            let fix = "declare an argument with the default `\\`, and write its placeholder in place of the backslash";
            notes.push(Diagnostic::warning(Some(position), message, fix));
        }
        self.segments.push(Segment::Placeholder(placeholder.name.clone()));
    }

    /// Drops what reading a file drops: carriage returns before the end of a line, and empty lines at the start and end. Returns whether there
    /// were any.
    fn trim(&mut self) -> bool {
        let length = |segments: &[Segment]| segments.iter().map(Segment::len).sum::<usize>();
        let before = length(&self.segments);
        for segment in &mut self.segments {
            if let Segment::Text(text) = segment
                && text.contains('\r')
            {
                *text = text.replace("\r\n", "\n");
            }
        }
        if let Some(Segment::Text(text)) = self.segments.first_mut() {
            let mut start = 0;
            while let Some(end) = text[start..].find('\n').filter(|end| text[start..start + end].trim().is_empty()) {
                start += end + 1;
            }
            text.replace_range(..start, "");
        }
        if let Some(Segment::Text(text)) = self.segments.last_mut() {
            let end = text.trim_end().len();
            let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline);
            text.truncate(end);
        }
        let is_blank = matches!(&*self.segments, [Segment::Text(text)] if text.trim().is_empty());
        self.segments.retain(|segment| segment.len() > 0 && !is_blank);
        length(&self.segments) < before
    }
}

fn trimmed(text: Option<&String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn distinct(texts: &[String]) -> Vec<String> {
    let mut known = HashSet::new();
    texts.iter().filter(|text| !text.is_empty() && known.insert(*text)).cloned().collect()
}
