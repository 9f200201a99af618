//! A source that reports the problems of the settings file in every list.
//!
//! If the file cannot be read at all, its folders of prompts are unknown, and another prompt with
//! the same name could be served by mistake. So every name is then found here, with an error
//! instead of a prompt.

use crate::library::{About, Found, Handle, Info, Layer, Listing, Location, Source};
use crate::prompt::{Diagnostic, Format, Name, Prompt};
use std::path::Path;
use std::sync::Arc;

/// Reports the problems of the settings file.
#[derive(Debug)]
pub(crate) struct SettingsProblems {
    about: About,
    problems: Vec<Diagnostic>,
    /// Why the file cannot be read, or `None` if it can. Looking up any name then returns this
    /// error, because the name may be that of a prompt in a folder that the file configures.
    read_error: Option<Diagnostic>,
}

impl SettingsProblems {
    /// Returns a source without prompts, whose list reports the problems of the settings file. The
    /// file was read, but e.g. contains an unknown key.
    pub(crate) fn in_readable_file(problems: Vec<Diagnostic>) -> SettingsProblems {
        SettingsProblems {
            about: About::new(Layer::SETTINGS, Format::OWN, None),
            problems,
            read_error: None,
        }
    }

    /// Returns a source that reports why the settings file cannot be read. It finds a prompt for
    /// every name, and reading that prompt fails with the first problem.
    pub(crate) fn in_unreadable_file(problems: Vec<Diagnostic>) -> SettingsProblems {
        SettingsProblems {
            read_error: problems.first().cloned(),
            ..SettingsProblems::in_readable_file(problems)
        }
    }
}

impl Source for SettingsProblems {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let error = self.read_error.clone()?;
        Some(Found::new(
            name.clone(),
            &self.about,
            UnreadablePrompt(error),
        ))
    }

    fn list(&self) -> Listing {
        Listing {
            problems: self.problems.clone(),
            ..Listing::default()
        }
    }

    fn problems(&self) -> Vec<Diagnostic> {
        self.problems.clone()
    }
}

/// Stands for a prompt that cannot be read, and contains the error: any prompt while the settings
/// file cannot be read, or a prompt of a pack whose file is missing.
#[derive(Debug)]
pub(super) struct UnreadablePrompt(pub(super) Diagnostic);

impl Handle for UnreadablePrompt {
    fn location(&self) -> Location {
        let file = self.0.file.as_deref();
        Location {
            display: file.map_or_else(String::new, |file| file.display().to_string()),
            file: file.map(Path::to_owned),
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        Info::unreadable(self.0.clone())
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Err(self.0.clone())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        Err(self.0.clone())
    }
}
