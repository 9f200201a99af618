//! Which prompts a command, the server or a hook has: the options and variables that name them, as a library.

use super::output;
use crate::library::Library;
use clap::Args;
use std::path::{Path, PathBuf};

/// A list of directories, separated as in `PATH`; `--prompts` goes before it.
pub(super) const PROMPTS_VARIABLE: &str = "PROMPT_EXPANDER_PROMPTS";

/// The option that adds a project's prompts.
pub(super) const PROJECT: &str = "--project";

// All options that name prompts. (What stands here with three strokes, clap would print.)
#[derive(Debug, Default, Args)]
pub(super) struct PromptSource {
    #[command(flatten)]
    pub(super) folders: Folders,
    /// Add the prompts of the project, before all others: the nearest folder `.prompts`, from the working directory up to
    /// the root of its repository
    ///
    /// Only ask for it where you trust the repository: its prompts go before yours of the same name. Without a repository
    /// the folder is looked for in the working directory alone. Links that lead out of it are not followed.
    #[arg(long, overrides_with = "project")]
    pub(super) project: bool,
}

// Those that a registration with a client has.
#[derive(Debug, Default, Args)]
pub(super) struct Folders {
    /// A folder of prompt files; may be repeated, the first that has a name wins
    ///
    /// Without it, the folders in the environment variable PROMPT_EXPANDER_PROMPTS (separated as in PATH), and without
    /// that the folder `prompt-expander/prompts` of your configuration directory.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(super) prompts: Vec<PathBuf>,
    /// Leave out the built-in prompts
    #[arg(long, overrides_with = "no_builtin")]
    pub(super) no_builtin: bool,
}

impl PromptSource {
    /// Both: the directories of `self` go before those of `later`.
    pub(super) fn merged_with(self, later: PromptSource) -> PromptSource {
        PromptSource { folders: self.folders.merged_with(later.folders), project: self.project || later.project }
    }

    /// The library that they name, for a person, who hears that there is no project where one was asked for.
    pub(super) fn library_for_people(&self) -> Library {
        let library = self.library();
        if let Some(absence) = library.absent_project() {
            output::warning(&absence);
        } else if self.project && std::env::current_dir().is_err() {
            output::warning("no project prompts: the working directory cannot be found; go to one that is there");
        }
        library
    }

    /// The library that the options, or else the environment, name, for somebody in the working directory.
    pub(super) fn library(&self) -> Library {
        self.library_at(None)
    }

    /// The same for somebody in this directory, if it is known.
    pub(super) fn library_at(&self, folder: Option<&Path>) -> Library {
        let library = self.folders.library();
        if !self.project {
            return library;
        }
        match folder.map(Path::to_owned).or_else(|| std::env::current_dir().ok()) {
            Some(folder) => library.with_project(&folder, home_dir().as_deref()),
            None => library, // the folder that we are in is no more
        }
    }
}

impl Folders {
    /// Both: the directories of `self` go before those of `later`.
    pub(super) fn merged_with(self, later: Folders) -> Folders {
        Folders { prompts: [self.prompts, later.prompts].concat(), no_builtin: self.no_builtin || later.no_builtin }
    }

    /// Whether there is any such option.
    pub(super) fn is_given(&self) -> bool {
        self.no_builtin || !self.prompts.is_empty()
    }

    /// The library that the options, or else the environment, name; without a project.
    pub(super) fn library(&self) -> Library {
        let listed = std::env::var_os(PROMPTS_VARIABLE).unwrap_or_default();
        let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
        let named: Vec<PathBuf> = if self.prompts.is_empty() { listed.collect() } else { self.prompts.clone() };
        let library = if named.is_empty() {
            Library::own(config_dir().map(|config| config.join("prompt-expander").join("prompts")))
        } else {
            Library::named(named.iter().map(|path| absolute(path)))
        };
        if self.no_builtin { library } else { library.with_builtin() }
    }
}

/// The path from the root. `~/` is the home directory also where no shell has said so, as in a client's settings.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = match path.strip_prefix("~").map(|below| (below, home_dir())) {
        Ok((below, Some(home))) => home.join(below),
        _ => path.to_owned(),
    };
    std::path::absolute(&path).unwrap_or(path)
}

/// The user's home directory, if the environment names it.
///
/// Elsewhere than on Linux the system is asked as well. There, to ask is to load the libraries that know of users (NSS),
/// which ends a program that is linked statically with a segmentation fault.
pub(super) fn home_dir() -> Option<PathBuf> {
    (!cfg!(target_os = "linux") || is_absolute("HOME")).then(dirs::home_dir).flatten()
}

/// The user's configuration directory, found in the same way.
pub(super) fn config_dir() -> Option<PathBuf> {
    let is_named = is_absolute("XDG_CONFIG_HOME") || is_absolute("HOME");
    (!cfg!(target_os = "linux") || is_named).then(dirs::config_dir).flatten()
}

fn is_absolute(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|path| Path::new(&path).is_absolute())
}
