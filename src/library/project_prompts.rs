//! The interface of a project's prompts, which are served only if the user trusts the project.

use super::source::Found;
use crate::prompt::Name;
use crate::wording::{count, full_path};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The folder of a project that contains its prompts.
pub const PROJECT_FOLDER: &str = ".prompts";

/// The prompts of the current project.
pub(crate) trait ProjectPrompts: Debug + Send + Sync {
    /// Returns the folder whose prompts are served, if any.
    fn folder(&self) -> Option<PathBuf>;

    /// Returns a line that explains why there are no project prompts, for a user who asked for
    /// them.
    fn missing_hint(&self) -> Option<String>;

    /// Returns a line that explains why some project prompts are not served: the repository is
    /// untrusted, or it is a linked worktree with texts that were not shown to the user yet.
    fn untrusted_hint(&self) -> Option<String>;

    /// Returns a line that explains why a prompt in a linked worktree is not served: its text was
    /// not shown to the user yet.
    fn withheld_hint(&self, name: &Name) -> Option<String>;

    /// Returns the texts that have changed since they were shown to the user, if any. `list`
    /// returns the project's prompts. It is only called if the project is trusted.
    fn changed_texts(&self, list: &dyn Fn() -> Vec<Found>) -> Option<ChangedTexts>;
}

/// A text of a project that may reach an agent.
#[derive(Debug)]
pub(crate) struct ProjectText {
    /// The path relative to the project's root, `/`-separated.
    pub(crate) path: String,
    /// The contents of the file.
    pub(crate) bytes: Vec<u8>,
    /// The prompt in the file. `None` if the file is only included or attached.
    pub(crate) prompt: Option<Found>,
}

/// The texts of a trusted repository that have changed since they were shown to the user.
#[derive(Debug)]
pub(crate) struct ChangedTexts {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Texts that have changed, or were never shown.
    pub(crate) texts: Vec<ProjectText>,
}

impl ChangedTexts {
    /// Returns a line with the number of changed texts and the command that shows them.
    pub(crate) fn hint(&self) -> String {
        let root = full_path(&self.root);
        let command = trust_command(&self.root);
        let texts = count(self.texts.len(), "text");
        format!(
            "{root} serves {texts} in a version that you were not shown; {command} shows the differences"
        )
    }
}

/// Returns the command that shows the texts of a repository, in backticks and quoted for a shell:
/// `prompt-expander trust '/my work/repo'`.
pub(crate) fn trust_command(root: &Path) -> String {
    let root = full_path(root);
    // Quoting only fails for a NUL, which no path contains.
    let argument = shlex::try_quote(&root).unwrap_or_default();
    format!("`prompt-expander trust {argument}`")
}
