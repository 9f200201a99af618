//! The sources of prompts. Each is implemented in a file or a folder here, using only what
//! `library.rs` exports for sources.

mod builtin;
#[cfg(feature = "openapi")]
mod openapi;
pub(crate) mod pack;
mod plugins;
#[cfg(feature = "store")]
mod postgres;
mod project;
mod settings_problems;
mod shown;
#[cfg(feature = "openapi")]
mod team;
mod trust;

#[cfg(feature = "openapi")]
pub use openapi::OpenApiOptions;
#[cfg(feature = "openapi")]
pub(crate) use openapi::{HeaderValue, SecretHeader, check_header_name, normalize_base_url};
#[cfg(feature = "store")]
pub(crate) use postgres::push::{FolderTexts, StoredTexts, read_local_text};
#[cfg(feature = "store")]
pub use postgres::{Address, Postgres};
pub(crate) use project::{Project, project_texts};
pub(crate) use settings_problems::SettingsProblems;
#[cfg(feature = "openapi")]
pub(crate) use team::{Team, TeamMember};
pub use trust::Trust;
pub(crate) use trust::main_repository;

use crate::library::{Folder, Layer, Library, PROJECT_FOLDER, Reach, Root};
use crate::prompt::Format;
use builtin::Builtin;
use pack::Packs;
use plugins::Plugins;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Library {
    /// Returns a library of folders that the user named, in order of precedence. Nothing is read
    /// yet.
    ///
    /// The format of each folder is inferred from its path. If a folder doesn't exist, the library
    /// reports that as a problem.
    pub fn named(folders: impl IntoIterator<Item = PathBuf>) -> Library {
        let mut library = Library::default();
        for path in folders {
            library = library.with_named(None, path);
        }
        library
    }

    /// Adds a folder that the user named, which must exist. If `format` is `None`, it is inferred
    /// from the path.
    #[must_use]
    pub fn with_named(self, format: Option<&'static Format>, path: PathBuf) -> Library {
        let format = format.unwrap_or_else(|| Format::for_folder(&path));
        self.with_required(Root::new(path, format, Reach::Unrestricted))
    }

    /// Returns a library of a single folder, which must exist. If `format` is `None`, it is
    /// inferred from the path. `reach` limits where symlinks in the folder may point.
    pub(crate) fn of_folder(
        format: Option<&'static Format>,
        path: PathBuf,
        reach: Reach,
    ) -> Library {
        let format = format.unwrap_or_else(|| Format::for_folder(&path));
        Library::default().with_required(Root::new(path, format, reach))
    }

    /// Adds a folder that is reported as a problem if it doesn't exist.
    fn with_required(self, mut root: Root) -> Library {
        root.is_required = true;
        self.with_root(root, Layer::USER, env::current_dir().ok())
    }

    /// Adds the user's own folder at its usual place, which may not exist.
    pub(crate) fn with_own_folder(self, path: PathBuf) -> Library {
        let root = Root::new(path, Format::OWN, Reach::Unrestricted);
        self.with(Folder::new(root, Layer::USER))
    }

    /// Adds a folder of an agent, which may not exist. Plugins for one project are served only if
    /// `working_folder` is in that project.
    pub(crate) fn with_agent_folder(
        self,
        path: PathBuf,
        format: &'static Format,
        working_folder: Option<&Path>,
    ) -> Library {
        let root = Root::new(path, format, Reach::Unrestricted);
        self.with_root(root, Layer::AGENT, working_folder.map(Path::to_owned))
    }

    /// Adds a folder of prompts, or a folder of plugins if its format is one of plugins.
    fn with_root(self, root: Root, layer: Layer, working_folder: Option<PathBuf>) -> Library {
        let is_folder_of_plugins = !root.format.plugin.is_empty();
        if is_folder_of_plugins {
            self.with(Plugins::new(root, layer, working_folder))
        } else {
            self.with(Folder::new(root, layer))
        }
    }

    /// Adds the prompts of the project that contains the folder `start`. They are in the nearest
    /// `.prompts` folder, searched for from `start` up to the root of its repository, but not above
    /// the user's home directory, `home`. The search is repeated for every message, so the folder
    /// may be created later.
    ///
    /// Only prompts that the user trusts are served. If `trust` is `None`, every project is
    /// trusted.
    #[must_use]
    pub fn with_project(
        self,
        start: &Path,
        home: Option<&Path>,
        trust: Option<Arc<Trust>>,
    ) -> Library {
        let project = Project::new(start, home, PROJECT_FOLDER, Format::OWN, trust);
        self.with_project_prompts(Arc::new(project))
    }

    /// Adds the packs that the user's lock file at `lock` lists, and those of the project. Their
    /// files are read from copies in the folder `data`.
    #[must_use]
    pub(crate) fn with_packs(self, lock: PathBuf, data: PathBuf) -> Library {
        let project = self.project().cloned();
        self.with(Packs::new(lock, project, data))
    }

    /// Adds the built-in prompts.
    #[must_use]
    pub fn with_builtin(self) -> Library {
        self.with(Builtin::for_everybody())
            .with(Builtin::for_editors())
    }
}
