//! What is wrong with the settings file, as a source: every list names it. If the file cannot be
//! read at all, nobody knows which prompts its user means, so each name gives the error instead of
//! a prompt.

use crate::library::{About, Found, Handle, Info, Layer, Listing, Place, Source};
use crate::prompt::{Diagnostic, Format, Name, Prompt};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct SettingsProblems {
    about: About,
    problems: Vec<Diagnostic>,
    is_unusable: bool,
}

impl SettingsProblems {
    /// What is wrong with the file. If it is unusable, its first error stands for every prompt.
    pub(crate) fn new(problems: Vec<Diagnostic>, is_unusable: bool) -> SettingsProblems {
        SettingsProblems {
            about: About::new(Layer::SETTINGS, Format::OWN, None),
            problems,
            is_unusable,
        }
    }
}

impl Source for SettingsProblems {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let why = self.problems.first().filter(|_| self.is_unusable)?;
        Some(Found::new(name.clone(), &self.about, Unusable(why.clone())))
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

/// Any prompt, while the settings file cannot be read.
#[derive(Debug)]
struct Unusable(Diagnostic);

impl Handle for Unusable {
    fn place(&self) -> Place {
        let file = self.0.file.as_ref().map(|file| file.to_path_buf());
        let shown = file
            .as_ref()
            .map(|file| file.display().to_string())
            .unwrap_or_default();
        Place {
            shown,
            file,
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
