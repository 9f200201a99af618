//! What a view asks the prompts of a project, which are served only if the user trusts the project.

use super::source::Found;
use crate::prompt::Name;
use crate::wording::{count, full_path};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The folder of a project that holds its prompts.
pub const PROJECT_FOLDER: &str = ".prompts";

/// The prompts of the project that the user works on.
pub(crate) trait ProjectPrompts: Debug + Send + Sync {
    /// Returns the folder of the prompts that are served, if there is one now.
    fn folder(&self) -> Option<PathBuf>;

    /// Returns a line for a person who asked for the prompts of the project, if there are none.
    fn absence(&self) -> Option<String>;

    /// Returns a line for a person who misses prompts that are not served: those of an untrusted
    /// repository, or those of a linked worktree whose texts were not shown.
    fn untrusted_hint(&self) -> Option<String>;

    /// Returns a line for a person who calls a prompt of a linked worktree that is not served,
    /// because its text was not shown.
    fn withheld_hint(&self, name: &Name) -> Option<String>;

    /// Returns the texts of the project's prompts that differ from those that were shown, if any
    /// do. `list` returns the prompts; it is called only if the project is trusted.
    fn changed_texts(&self, list: &dyn Fn() -> Vec<Found>) -> Option<ChangedTexts>;
}

/// A text of a project that an agent may get.
#[derive(Debug)]
pub(crate) struct ProjectText {
    /// Its path below the root, `/`-separated.
    pub(crate) path: String,
    /// What the file holds.
    pub(crate) bytes: Vec<u8>,
    /// The prompt, unless the text is only there to be included or attached.
    pub(crate) prompt: Option<Found>,
}

/// The texts of a trusted repository that have changed since they were shown.
#[derive(Debug)]
pub(crate) struct ChangedTexts {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// The texts that have changed, or were never shown.
    pub(crate) texts: Vec<ProjectText>,
    /// Whether any text was ever shown. An older version of this program trusted a repository
    /// without showing its texts.
    pub(crate) was_ever_shown: bool,
}

impl ChangedTexts {
    /// Returns a line for a person: how many texts have changed, and the command that shows them.
    pub(crate) fn hint(&self) -> String {
        let root = full_path(&self.root);
        let command = trust_command(&self.root);
        if !self.was_ever_shown {
            return format!("you were never shown the texts of {root}; {command} shows them");
        }
        let texts = count(self.texts.len(), "text");
        format!(
            "{root} serves {texts} in a version that you were not shown; {command} shows the differences"
        )
    }
}

/// Returns the command that shows the texts of a repository, in backquotes and quoted for a shell:
/// `prompt-expander trust '/my work/repo'`.
pub(crate) fn trust_command(root: &Path) -> String {
    let shown = full_path(root);
    // Quoting fails only for a NUL, which no path has.
    let argument = shlex::try_quote(&shown).unwrap_or_default();
    format!("`prompt-expander trust {argument}`")
}
