//! What is wrong with the settings file, as a source: every list names it. If the file cannot be
//! read at all, nobody knows which prompts its user means, so each name gives the error instead of
//! a prompt.

use crate::library::{About, Found, Handle, Info, Layer, Listing, Location, Source};
use crate::prompt::{Diagnostic, Format, Name, Prompt};
use std::path::Path;
use std::sync::Arc;

/// The source of what is wrong with the settings file.
#[derive(Debug)]
pub(crate) struct SettingsProblems {
    about: About,
    problems: Vec<Diagnostic>,
    /// The error that every name gives instead of a prompt, if the file cannot be read at all.
    error_for_names: Option<Diagnostic>,
}

impl SettingsProblems {
    /// Returns the source for a settings file that can be used in spite of these problems. It has
    /// no prompts.
    pub(crate) fn of_usable_file(problems: Vec<Diagnostic>) -> SettingsProblems {
        SettingsProblems {
            about: About::new(Layer::SETTINGS, Format::OWN, None),
            problems,
            error_for_names: None,
        }
    }

    /// Returns the source for a settings file that cannot be read. It has a prompt of every name,
    /// which is an error: the first problem.
    pub(crate) fn of_unusable_file(problems: Vec<Diagnostic>) -> SettingsProblems {
        SettingsProblems {
            error_for_names: problems.first().cloned(),
            ..SettingsProblems::of_usable_file(problems)
        }
    }
}

impl Source for SettingsProblems {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let error = self.error_for_names.clone()?;
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

/// Any prompt while the settings file cannot be read, with the error.
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
