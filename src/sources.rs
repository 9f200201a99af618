//! The sources of prompts, each a file or a folder here. What they need of the library is in
//! `library.rs`, in one list.

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
pub(crate) use openapi::{HeaderValue, SecretHeader, check_base, check_header_name};
#[cfg(feature = "store")]
pub(crate) use postgres::push::{FolderTexts, StoredTexts, read_local_text};
#[cfg(feature = "store")]
pub use postgres::{Address, Postgres};
pub(crate) use project::{Project, project_texts};
pub(crate) use settings_problems::SettingsProblems;
#[cfg(feature = "openapi")]
pub(crate) use team::Team;
pub use trust::Trust;
pub(crate) use trust::main_repository;

use crate::library::{Folder, Layer, Library, PROJECT_FOLDER, Reach, Root};
use crate::prompt::Format;
use builtin::Builtin;
use pack::Packs;
use plugins::Plugins;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Library {
    /// Returns a library of folders that the user named, in this order. A missing folder is
    /// reported as a problem. The format of a folder is inferred from its path. Nothing is read
    /// yet.
    pub fn named(folders: impl IntoIterator<Item = PathBuf>) -> Library {
        let mut library = Library::default();
        for path in folders {
            library = library.with_named(None, path);
        }
        library
    }

    /// Adds a folder that the user named. `format` is `None` where its path says it.
    #[must_use]
    pub fn with_named(self, format: Option<&'static Format>, path: PathBuf) -> Library {
        let format = format.unwrap_or_else(|| Format::for_folder(&path));
        self.with_required(Root::new(path, format, Reach::Unrestricted))
    }

    /// Returns a library of one folder, which must exist. If `format` is `None`, the path says
    /// which format the folder has.
    pub(crate) fn of_folder(
        format: Option<&'static Format>,
        path: PathBuf,
        reach: Reach,
    ) -> Library {
        let format = format.unwrap_or_else(|| Format::for_folder(&path));
        Library::default().with_required(Root::new(path, format, reach))
    }

    /// Adds a folder that was named. It is a problem if it is missing.
    fn with_required(self, mut root: Root) -> Library {
        root.is_required = true;
        self.with_root(root, Layer::USER)
    }

    /// Adds a folder of the user's own, which may be missing.
    pub(crate) fn with_folder(
        self,
        path: PathBuf,
        format: &'static Format,
        layer: Layer,
    ) -> Library {
        self.with_root(Root::new(path, format, Reach::Unrestricted), layer)
    }

    /// Adds a folder of prompts, or of plugins that have such folders.
    fn with_root(self, root: Root, layer: Layer) -> Library {
        if root.format.plugin.is_empty() {
            self.with(Folder::new(root, layer))
        } else {
            self.with(Plugins::new(root, layer))
        }
    }

    /// Adds the prompts of the project that the folder `from` belongs to. They are in the nearest
    /// folder `.prompts`, from `from` up to the root of its repository, but not above the user's
    /// home directory, `home`. That folder is searched for anew each time, so it may be created
    /// later. With `trust`, prompts of a repository that is not trusted are not served.
    #[must_use]
    pub fn with_project(
        self,
        from: &Path,
        home: Option<&Path>,
        trust: Option<Arc<Trust>>,
    ) -> Library {
        let project = Project::new(from, home, PROJECT_FOLDER, Format::OWN, trust);
        self.with_project_prompts(Arc::new(project))
    }

    /// Adds the packs of the user, whose lock this is, and those of the project. `data` has the
    /// copies.
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
