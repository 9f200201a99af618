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

    /// If the settings file cannot be read, returns a prompt for every name. Reading that prompt
    /// fails with the error of the settings file. So no other source answers for a prompt that may
    /// be in a folder that the file configures.
    ///
    /// If the settings file can be read, returns `None`, so that the other sources are asked.
    fn find(&self, name: &Name) -> Option<Found> {
        let error = self.read_error.clone()?;
        let unreadable = UnreadablePrompt { error };
        Some(Found::new(name.clone(), &self.about, unreadable))
    }

    /// Returns a list with the problems of the settings file, and without prompts.
    fn list(&self) -> Listing {
        Listing {
            problems: self.problems.clone(),
            ..Listing::default()
        }
    }

    /// Returns the problems of the settings file.
    fn problems(&self) -> Vec<Diagnostic> {
        self.problems.clone()
    }
}

/// Stands for a prompt that cannot be read, and contains the error: any prompt while the settings
/// file cannot be read, or a prompt of a pack whose file is missing.
#[derive(Debug)]
pub(super) struct UnreadablePrompt {
    /// What every read returns. It names the file.
    pub(super) error: Diagnostic,
}

impl Handle for UnreadablePrompt {
    /// Returns the file that the error is about.
    fn location(&self) -> Location {
        let file = self.error.file.as_deref();
        Location {
            display: file.map_or_else(String::new, |file| file.display().to_string()),
            file: file.map(Path::to_owned),
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        Info::unreadable(self.error.clone())
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Err(self.error.clone())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        Err(self.error.clone())
    }
}
