//! Finds the attachments and includes that a rename would break.

use super::Editor;
use crate::library::source::{Found, Layer};
use crate::prompt::{Diagnostic, Kind, Name, Prompt, Severity};
use std::fs;
use std::path::Path;

impl Editor<'_> {
    /// Returns what a rename of a prompt would break: paths in the prompt itself, which are
    /// relative to its file, and paths in other prompts that lead to its file. Nothing is known of
    /// a prompt of the team.
    pub fn broken_by_rename(&self, from: &Found, to: &Name) -> Vec<Diagnostic> {
        if self.layer == Layer::TEAM {
            return Vec::new();
        }
        let Some(file) = from.place().file else {
            return Vec::new();
        };
        let mut broken = self.broken_in_itself(from, &file, to);
        for other in self.view.list().found {
            let Some(path) = other.place().file else {
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

    /// Returns the errors that a prompt would have with another name, and does not have now.
    fn broken_in_itself(&self, from: &Found, file: &Path, to: &Name) -> Vec<Diagnostic> {
        let is_markdown = file
            .extension()
            .is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
        let Ok(text) = from.text() else {
            return Vec::new();
        };
        if !is_markdown {
            return Vec::new(); // other formats name no files
        }
        let draft = self.store.draft(to, &text, &self.caller);
        Editor::new_errors(&from.check(), draft.check())
    }

    /// Returns the errors among the problems of a prompt that it did not have before.
    pub fn new_errors(before: &[Diagnostic], now: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut errors = now;
        errors.retain(|problem| {
            let is_known = before.iter().any(|other| other.message == problem.message);
            problem.severity() == Severity::Error && !is_known
        });
        errors
    }
}

/// Returns what would be broken in a prompt if a file had another name.
fn broken_in_other(prompt: &Prompt, path: &Path, file: &Path) -> Option<Diagnostic> {
    let folder = path.parent()?;
    let includes = prompt
        .included()
        .iter()
        .any(|included| is_same_file(&included.file.path, file));
    let attaches = prompt
        .attachments
        .iter()
        .any(|attachment| is_same_file(&folder.join(&attachment.path), file));
    let verb = match (includes, attaches) {
        (true, _) => "includes",
        (_, true) => "attaches",
        _ => return None,
    };
    let message = format!("it {verb} the renamed prompt by its old path");
    Some(Diagnostic::new(Kind::Missing, message, "correct the path"))
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    path == other
        || fs::canonicalize(path)
            .is_ok_and(|path| fs::canonicalize(other).is_ok_and(|other| path == other))
}
