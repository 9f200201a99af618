//! A prompt as a caller with a prefix sees it: what is wrong in a file that they may not see says
//! nothing of that file.

use super::call::{BoundCall, Join};
use super::caller::Prefix;
use super::source::{Found, Handle, Info, Place, ServiceRequest};
use crate::prompt::{Diagnostic, Messages, Prompt};
use crate::wording::quoted;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A prompt as a caller with a prefix sees it.
#[derive(Debug)]
struct SeenWithPrefix {
    /// The prompt as its source has it.
    found: Found,
    /// The prefix of the caller.
    prefix: Prefix,
}

/// Returns a prompt as a caller with this prefix sees it.
pub(crate) fn seen_with(prefix: &Prefix, found: Found) -> Found {
    let seen = SeenWithPrefix {
        found: found.clone(),
        prefix: prefix.clone(),
    };
    found.with_handle(seen)
}

impl SeenWithPrefix {
    /// Returns the same error, unless it is in a file that the caller may not see.
    fn shown(&self, error: Diagnostic) -> Diagnostic {
        let own = self.found.place().path();
        let is_shown = match &error.file {
            Some(file) => self.is_visible(file, &own),
            None => true,
        };
        if is_shown {
            let further = error.further.into_iter();
            let further = further.map(|error| self.shown(error)).collect();
            return Diagnostic { further, ..error };
        }
        let prefix = quoted(&self.prefix.to_string());
        let message = format!("something is wrong in a file that it includes, outside of {prefix}");
        let fix = "ask somebody who may see that file to run `prompt-expander check`";
        Diagnostic::new(error.kind, message, fix).in_file(own)
    }

    /// Returns whether the caller may see a file: it is the prompt's `own`, or in the folder of the
    /// prefix above that.
    fn is_visible(&self, file: &Path, own: &Path) -> bool {
        let mut above = own.ancestors();
        let folder = above.find(|folder| folder.ends_with(self.prefix.folder()));
        file == own || folder.is_some_and(|folder| file.starts_with(folder))
    }
}

impl Handle for SeenWithPrefix {
    fn place(&self) -> Place {
        self.found.place()
    }

    fn info(&self) -> Info {
        let info = self.found.info();
        let summary = info.summary.map_err(|error| Box::new(self.shown(*error)));
        Info { summary, ..info }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        self.found.text()
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        self.found.prompt().map_err(|error| self.shown(error))
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let messages = self.found.messages(bound, join);
        messages.map_err(|error| self.shown(error))
    }

    fn attached_files(&self, prompt: &Prompt) -> Vec<(PathBuf, Vec<u8>)> {
        self.found.attached_files(prompt)
    }

    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        self.found.request(bound)
    }

    fn check(&self) -> Vec<Diagnostic> {
        let problems = self.found.check().into_iter();
        problems.map(|problem| self.shown(problem)).collect()
    }
}
