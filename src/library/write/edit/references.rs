//! Finds the attachments and includes that a rename would break.

use super::Editor;
use crate::library::source::{Found, Layer};
use crate::prompt::{Diagnostic, Kind, Name, Prompt, Severity};
use std::fs;
use std::path::Path;

impl Editor<'_> {
    /// Returns the errors that a rename of a prompt would cause: in the prompt itself, whose paths
    /// are relative to its file, and in other prompts that include or attach its file.
    ///
    /// For a prompt of the team, the result is empty, because only its server knows the other
    /// prompts.
    pub fn broken_by_rename(&self, from: &Found, to: &Name) -> Vec<Diagnostic> {
        if self.layer == Layer::TEAM {
            return Vec::new();
        }
        let Some(file) = from.location().file else {
            return Vec::new();
        };
        let mut broken = self.broken_in_itself(from, &file, to);
        for other in self.view.list().found {
            let Some(path) = other.location().file else {
                continue;
            };
            if path == file || !path.starts_with(self.store.folder()) {
                continue;
            }
            if let Ok(prompt) = other.prompt()
                && let Some(problem) = broken_in_other(&prompt, &path, &file)
            {
                broken.push(problem.in_file(path));
            }
        }
        broken
    }

    /// Returns the errors that a prompt would have with the name `to`, and does not have now.
    fn broken_in_itself(&self, from: &Found, file: &Path, to: &Name) -> Vec<Diagnostic> {
        let is_markdown = file
            .extension()
            .is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
        if !is_markdown {
            return Vec::new(); // other formats name no files
        }
        let Ok(text) = from.text() else {
            return Vec::new();
        };
        let draft = self.store.draft(to, &text, &self.caller);
        Editor::new_errors(&from.check(), draft.check())
    }

    /// Returns the errors that a prompt has after a change, and did not have before. `before` and
    /// `after` are all its problems, of which the warnings are left out.
    pub fn new_errors(before: &[Diagnostic], after: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut errors = after;
        errors.retain(|problem| {
            let is_known = before.iter().any(|other| other.message == problem.message);
            problem.severity() == Severity::Error && !is_known
        });
        errors
    }
}

/// Returns the error that the prompt at `path` includes or attaches the `renamed` file; `None` if
/// it does neither.
fn broken_in_other(prompt: &Prompt, path: &Path, renamed: &Path) -> Option<Diagnostic> {
    let verb = if includes(prompt, renamed) {
        "includes"
    } else if attaches(prompt, path, renamed) {
        "attaches"
    } else {
        return None;
    };
    let message = format!("it {verb} the renamed prompt by its old path");
    Some(Diagnostic::new(Kind::NotFound, message, "correct the path"))
}

/// Returns whether a prompt includes a file.
fn includes(prompt: &Prompt, file: &Path) -> bool {
    let mut included = prompt.included().iter();
    included.any(|included| is_same_file(&included.file.path, file))
}

/// Returns whether the prompt at `path` attaches a file.
fn attaches(prompt: &Prompt, path: &Path, file: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let mut attachments = prompt.attachments.iter();
    attachments.any(|attachment| is_same_file(&folder.join(&attachment.path), file))
}

/// Returns whether two paths lead to the same file, also through symlinks.
fn is_same_file(path: &Path, other: &Path) -> bool {
    if path == other {
        return true;
    }
    match (fs::canonicalize(path), fs::canonicalize(other)) {
        (Ok(path), Ok(other)) => path == other,
        _ => false,
    }
}
