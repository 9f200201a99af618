//! A file of a client as it is to be: with us in it, or without.

use super::ConfigError;
use super::config::{BOM, read_text};
use super::edit::{self, Entry};
use super::file::{Change, backups};
use super::hook::{handlers, is_our_program, is_replaceable};
use super::syntax::{Fault, Syntax};
use serde_json::Value;
use std::path::PathBuf;

/// A file, and what it is to say.
pub(super) struct Draft {
    pub(super) path: PathBuf,
    syntax: Syntax,
    /// What a new file of its kind begins with.
    new: &'static str,
    before: Option<String>,
    /// Without a byte order mark.
    text: String,
    /// Whether only the user may read it, if it is not there yet.
    pub(super) is_private: bool,
    /// What was installed in it, and is taken out.
    taken: Vec<Part>,
}

/// A thing that is installed in a file.
pub(super) enum Part {
    Server {
        keys: Vec<String>,
        entry: Entry,
        /// Whether nothing stays of an entry that is there.
        is_replaced: bool,
    },
    Hook {
        event: &'static str,
        line: String,
        timeout: u32,
    },
}

impl Part {
    /// A text with it.
    fn put_into(&self, text: &str, syntax: Syntax) -> Result<String, Fault> {
        match self {
            Part::Server { keys, entry, is_replaced } => edit::set(syntax, text, keys, entry, *is_replaced),
            Part::Hook { event, line, timeout } => edit::set_hook(syntax, text, event, line, *timeout, &is_replaceable),
        }
    }

    /// A text without it.
    fn taken_out_of(&self, text: &str, syntax: Syntax) -> Result<String, Fault> {
        match self {
            Part::Server { keys, .. } => edit::remove(syntax, text, keys),
            Part::Hook { event, .. } => edit::remove_hook(syntax, text, event, &is_replaceable),
        }
    }

    /// Whether one of ours is in what a file says.
    fn is_in(&self, value: &Value) -> bool {
        match self {
            Part::Server { keys, .. } => {
                let entry = keys.iter().fold(value, |value, key| &value[key]);
                let command = entry["command"].as_str().or_else(|| entry["command"][0].as_str());
                command.is_some_and(is_our_program)
            }
            Part::Hook { event, .. } => lines_in(value, event).iter().any(|line| is_replaceable(line)),
        }
    }
}

impl Draft {
    /// The file as it is, or as a new one begins.
    pub(super) fn of(path: PathBuf, syntax: Syntax, new: &'static str) -> Result<Draft, ConfigError> {
        let before = read_text(&path)?;
        let text = before.as_deref().map_or(new, without_bom).to_owned();
        Ok(Draft { path, syntax, new, before, text, is_private: false, taken: Vec::new() })
    }

    /// What it says; null, if it cannot be parsed.
    pub(super) fn value(&self) -> Value {
        self.syntax.parse(&self.text).unwrap_or_default()
    }

    /// The commands that it runs at an event.
    pub(super) fn hook_lines(&self, event: &str) -> Vec<String> {
        lines_in(&self.value(), event)
    }

    /// An error if it says anything but an object.
    pub(super) fn check_object(&self) -> Result<(), ConfigError> {
        let value = self.syntax.parse(&self.text).map_err(|fault| ConfigError::of(&self.path, fault))?;
        if value.is_object() {
            return Ok(());
        }
        Err(ConfigError::without_position(&self.path, "it must be an object, and is not"))
    }

    /// Puts a part into it.
    pub(super) fn put(&mut self, part: &Part) -> Result<(), ConfigError> {
        self.edit(|text, syntax| part.put_into(text, syntax))
    }

    /// Takes a part out of it.
    pub(super) fn take_out(&mut self, part: Part) -> Result<(), ConfigError> {
        self.edit(|text, syntax| part.taken_out_of(text, syntax))?;
        self.taken.push(part);
        Ok(())
    }

    fn edit(&mut self, change: impl Fn(&str, Syntax) -> Result<String, Fault>) -> Result<(), ConfigError> {
        self.text = change(&self.text, self.syntax).map_err(|fault| {
            // Its place is to be that in the file, not in what we have made of it.
            let known = self.before.as_deref().map(without_bom);
            let fault = known.and_then(|known| change(known, self.syntax).err()).unwrap_or(fault);
            ConfigError::of(&self.path, fault)
        })?;
        Ok(())
    }

    /// The change, if it is one.
    pub(super) fn change(self) -> Option<Change> {
        let mut after = self.text;
        if self.before.as_ref().is_some_and(|before| before.starts_with(BOM)) {
            after.insert(0, BOM);
        }
        let is_changed = self.before.as_ref() != Some(&after);
        let Draft { path, before, is_private, .. } = self;
        is_changed.then_some(Change {
            path,
            before,
            after: Some(after),
            is_private,
            folder: None,
            redundant: Vec::new(),
        })
    }

    /// The change that takes out what was installed. If that is all that happened to the file since a backup of it, it becomes
    /// what it was, to the last blank; and if it was not there before, it goes.
    pub(super) fn undone(self) -> Option<Change> {
        let before = self.before.clone()?;
        let backups = backups(&self.path);
        let is_all = |text: &str| self.with_taken(text).as_ref() == Some(&before);
        let (restored, redundant): (Vec<_>, Vec<_>) =
            (backups.iter().filter(|(_, text)| is_all(text)).cloned()).partition(|(_, text)| self.is_free(text));
        let is_new = is_all(self.new);
        let mut change = self.change()?;
        if let Some((_, text)) = restored.first() {
            change.after = Some(text.clone());
        } else if is_new {
            change.after = None;
        } else {
            return Some(change);
        }
        change.redundant = restored.into_iter().chain(redundant).map(|(backup, _)| backup).collect();
        Some(change)
    }

    /// A text with what was taken out put in again.
    fn with_taken(&self, text: &str) -> Option<String> {
        let bom = text.starts_with(BOM);
        let mut text = without_bom(text).to_owned();
        for part in &self.taken {
            text = part.put_into(&text, self.syntax).ok()?;
        }
        if bom {
            text.insert(0, BOM);
        }
        Some(text)
    }

    /// Whether nothing of ours is in a text of this file.
    fn is_free(&self, text: &str) -> bool {
        let value = self.syntax.parse(without_bom(text)).unwrap_or_default();
        !self.taken.iter().any(|part| part.is_in(&value))
    }
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// The commands that are run at an event, as a file of hooks says.
fn lines_in(value: &Value, event: &str) -> Vec<String> {
    handlers(value, event).filter_map(|(_, _, handler)| handler["command"].as_str().map(str::to_owned)).collect()
}
