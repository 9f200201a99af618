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
    /// The error to return for every name, if the file cannot be read at all.
    error_for_all_names: Option<Diagnostic>,
}

impl SettingsProblems {
    /// Returns a source that reports the problems of a settings file that can still be used. It has
    /// no prompts.
    pub(crate) fn of_usable_file(problems: Vec<Diagnostic>) -> SettingsProblems {
        SettingsProblems {
            about: About::new(Layer::SETTINGS, Format::OWN, None),
            problems,
            error_for_all_names: None,
        }
    }

    /// Returns a source that reports the problems of a settings file that cannot be read. It finds
    /// every name, with the first problem as the error.
    pub(crate) fn of_unusable_file(problems: Vec<Diagnostic>) -> SettingsProblems {
        SettingsProblems {
            error_for_all_names: problems.first().cloned(),
            ..SettingsProblems::of_usable_file(problems)
        }
    }
}

impl Source for SettingsProblems {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let error = self.error_for_all_names.clone()?;
        Some(Found::new(name.clone(), &self.about, UnusablePrompt(error)))
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

/// Stands for any prompt while the settings file cannot be read. Contains the error.
#[derive(Debug)]
struct UnusablePrompt(Diagnostic);

impl Handle for UnusablePrompt {
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
