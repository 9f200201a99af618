//! Finds the attachments and includes that renaming a prompt would break.

use super::Editor;
use crate::library::source::{Found, Layer};
use crate::prompt::{Diagnostic, Kind, Name, Prompt, Severity};
use crate::whole_file::is_same_file;
use std::path::Path;

impl Editor<'_> {
    /// Returns the errors that renaming a prompt would cause: in the prompt itself, whose includes
    /// and attachments are relative to its own path, and in prompts that include or attach it.
    ///
    /// Returns nothing for a team's prompt, because only the server knows all of the team's files.
    pub fn broken_by_rename(&self, from: &Found, to: &Name) -> Vec<Diagnostic> {
        if self.layer == Layer::TEAM {
            return Vec::new();
        }
        let Some(file) = from.location().file else {
            return Vec::new();
        };
        let mut errors = self.errors_in_renamed(from, &file, to);
        for other in self.view.list().found {
            let Some(other_file) = other.location().file else {
                continue;
            };
            if other_file == file || !other_file.starts_with(self.store.folder()) {
                continue;
            }
            if let Ok(prompt) = other.prompt()
                && let Some(error) = broken_reference(&prompt, &other_file, &file)
            {
                errors.push(error.in_file(other_file));
            }
        }
        errors
    }

    /// Returns the errors that a prompt would have under the name `to`, but doesn't have now.
    fn errors_in_renamed(&self, from: &Found, file: &Path, to: &Name) -> Vec<Diagnostic> {
        let is_markdown = file
            .extension()
            .is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
        if !is_markdown {
            return Vec::new(); // other formats have no includes or attachments
        }
        let Ok(text) = from.text() else {
            return Vec::new();
        };
        let draft = self.store.draft(to, &text, &self.caller);
        Editor::new_errors(&from.check(), draft.check())
    }

    /// Returns the errors in `after` that aren't in `before`. Warnings are ignored.
    pub fn new_errors(before: &[Diagnostic], after: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut errors = after;
        errors.retain(|problem| {
            let existed = before.iter().any(|old| old.message == problem.message);
            problem.severity() == Severity::Error && !existed
        });
        errors
    }
}

/// Returns an error if `prompt`, whose own file is `prompt_file`, includes or attaches the
/// `renamed` file.
fn broken_reference(prompt: &Prompt, prompt_file: &Path, renamed: &Path) -> Option<Diagnostic> {
    let verb = if includes(prompt, renamed) {
        "includes"
    } else if attaches(prompt, prompt_file, renamed) {
        "attaches"
    } else {
        return None;
    };
    let message = format!("it {verb} the renamed prompt by its old path");
    Some(Diagnostic::new(Kind::NotFound, message, "correct the path"))
}

fn includes(prompt: &Prompt, file: &Path) -> bool {
    let mut included = prompt.included().iter();
    included.any(|included| is_same_file(&included.file.path, file))
}

/// Returns whether `prompt` attaches `file`. The paths of attachments are relative to
/// `prompt_file`.
fn attaches(prompt: &Prompt, prompt_file: &Path, file: &Path) -> bool {
    let folder = prompt_file.parent().unwrap_or(prompt_file);
    let mut attachments = prompt.attachments.iter();
    attachments.any(|attachment| is_same_file(&folder.join(&attachment.path), file))
}
