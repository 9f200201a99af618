//! Restricts what a caller with a prefix learns about a prompt: errors in files outside the prefix
//! reveal nothing about those files.

use super::call::{BoundCall, Join};
use super::caller::Prefix;
use super::source::{Found, Handle, Info, Location, ServiceRequest};
use crate::library::disk::include::NeighborFile;
use crate::prompt::{Diagnostic, Messages, Prompt};
use crate::wording::quoted;
use std::path::Path;
use std::sync::Arc;

/// A prompt whose errors are restricted to a prefix.
#[derive(Debug)]
struct RestrictedHandle {
    /// The original prompt.
    found: Found,
    /// The prefix of the caller.
    prefix: Prefix,
}

/// Returns `found` with its errors restricted to `prefix`.
pub(crate) fn restrict(prefix: &Prefix, found: Found) -> Found {
    found.with_handle(RestrictedHandle {
        found: found.clone(),
        prefix: prefix.clone(),
    })
}

impl RestrictedHandle {
    /// Keeps an error in a file that the caller may see. Replaces any other error with one about
    /// the prompt's own file, which only says that an included file is broken.
    fn restrict_error(&self, error: Diagnostic) -> Diagnostic {
        let prompt_file = self.found.location().path();
        let is_visible = match &error.file {
            Some(file) => self.is_visible(file, &prompt_file),
            None => true,
        };
        if is_visible {
            let mut further = Vec::with_capacity(error.further.len());
            for other in error.further {
                further.push(self.restrict_error(other));
            }
            return Diagnostic { further, ..error };
        }
        let prefix = quoted(&self.prefix.to_string());
        let message = format!("a file that it includes from outside {prefix} is broken");
        let fix = "ask somebody who may see that file to run `prompt-expander check`";
        Diagnostic::new(error.kind, message, fix).in_file(prompt_file)
    }

    /// Returns whether the caller may see a file: it is the prompt's own file, or is in the
    /// prefix's folder that contains the prompt.
    fn is_visible(&self, file: &Path, prompt_file: &Path) -> bool {
        if file == prompt_file {
            return true;
        }
        let mut folders = prompt_file.ancestors();
        match folders.find(|folder| folder.ends_with(self.prefix.folder())) {
            Some(prefix_folder) => file.starts_with(prefix_folder),
            None => false,
        }
    }
}

impl Handle for RestrictedHandle {
    fn location(&self) -> Location {
        self.found.location()
    }

    fn info(&self) -> Info {
        let info = self.found.info();
        let summary = info
            .summary
            .map_err(|error| Box::new(self.restrict_error(*error)));
        Info { summary, ..info }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        self.found.text()
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        self.found
            .prompt()
            .map_err(|error| self.restrict_error(error))
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let messages = self.found.messages(bound, join);
        messages.map_err(|error| self.restrict_error(error))
    }

    fn attached_files(&self, prompt: &Prompt) -> Vec<NeighborFile> {
        self.found.attached_files(prompt)
    }

    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        self.found.request(bound)
    }

    /// Returns the problems of the prompt. Those in files outside the prefix don't say what they
    /// are.
    fn check(&self) -> Vec<Diagnostic> {
        let problems = self.found.check().into_iter();
        problems
            .map(|problem| self.restrict_error(problem))
            .collect()
    }
}
