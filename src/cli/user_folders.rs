//! The user's folders, some of which variables may name.
//!
//! An agent may pass on the variables of a cloned repository, such as those of its `.env`. So a
//! variable is ignored, and its default used, if it names a folder in the repository of the working
//! directory, until the user trusts the repository. Without a repository, the same holds for the
//! working directory itself.

use crate::agents::PROMPTS_VARIABLE;
use crate::library::{leads_through, repository_of};
use crate::prompt::Diagnostic;
use crate::whole_file;
use crate::wording::{named, named_path};
use std::env;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use toml_edit::{DocumentMut, Item};

/// The variables that name folders, each with the default below the home directory.
const VARIABLES: [(&str, &str); 7] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CODEX_HOME", ".codex"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("GEMINI_CLI_HOME", ""),
];

/// The key of the settings file with the repositories that the user trusts.
pub(super) const TRUSTED: &str = "trusted";

/// The folder that has the settings file and the user's own prompts.
pub(super) fn config() -> Option<PathBuf> {
    Some(system_config()?.join("prompt-expander"))
}

/// The configuration folder of the system.
pub(super) fn system_config() -> Option<PathBuf> {
    own_folder("XDG_CONFIG_HOME", dirs::config_dir()?)
}

/// The folder for data, in that of the system.
pub(super) fn data() -> Option<PathBuf> {
    Some(own_folder("XDG_DATA_HOME", dirs::data_local_dir()?)?.join("prompt-expander"))
}

/// The folder for what the program itself keeps.
pub(super) fn state() -> Option<PathBuf> {
    match dirs::state_dir() {
        Some(folder) => Some(own_folder("XDG_STATE_HOME", folder)?.join("prompt-expander")),
        None => data(),
    }
}

/// The folder for caches of the system.
#[cfg(feature = "openapi")]
pub(super) fn system_cache() -> Option<PathBuf> {
    own_folder("XDG_CACHE_HOME", dirs::cache_dir()?)
}

/// The folders of prompts that a variable names, as absolute paths.
pub(super) fn prompts() -> Vec<PathBuf> {
    let mut folders = listed_prompts();
    folders.retain(|folder| !is_in_clone(folder));
    folders
}

fn listed_prompts() -> Vec<PathBuf> {
    let value = env::var_os(PROMPTS_VARIABLE).unwrap_or_default();
    env::split_paths(&value)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| absolute(&folder))
        .collect()
}

/// Returns whether a variable is ignored because of the folder that it names.
pub(super) fn is_refused(variable: &str) -> bool {
    refused_folder(variable).is_some()
}

/// Returns an error for each variable that is ignored.
pub(super) fn problems() -> Vec<Diagnostic> {
    let of_prompts = listed_prompts()
        .into_iter()
        .filter(|folder| is_in_clone(folder))
        .map(|folder| (PROMPTS_VARIABLE, folder));
    let others = VARIABLES
        .iter()
        .filter_map(|(variable, _)| Some((*variable, refused_folder(variable)?)));
    let of_home = Some(("HOME", dirs::home_dir().unwrap_or_default()))
        .filter(|(_, home)| !is_usual_home(home) && is_in_clone(home));
    let mut problems = Vec::new();
    for (variable, folder) in of_prompts.chain(others).chain(of_home) {
        let message = format!(
            "the variable {} is ignored, because it names {}, which is in the repository or folder that you are in",
            named(variable),
            named_path(&folder)
        );
        let fix = "unset it or, if the repository is yours, run `prompt-expander trust` in it";
        problems.push(Diagnostic::error(None, message, fix));
    }
    problems
}

/// Returns `folder`, which `variable` may have named, or the default if the variable is ignored.
fn own_folder(variable: &str, folder: PathBuf) -> Option<PathBuf> {
    if refused_folder(variable).is_some() {
        let (_, default) = VARIABLES.iter().find(|(known, _)| *known == variable)?;
        return Some(usual_home()?.join(default));
    }
    let is_named = env::var_os(variable).is_some_and(|value| Path::new(&value).is_absolute());
    if !is_named && usual_home().is_none() && is_in_clone(&folder) {
        return None;
    }
    Some(folder)
}

/// Returns the folder that a variable names, if the variable is ignored.
fn refused_folder(variable: &str) -> Option<PathBuf> {
    let (_, default) = VARIABLES.iter().find(|(known, _)| *known == variable)?;
    let folder = PathBuf::from(env::var_os(variable).filter(|value| !value.is_empty())?);
    let is_default = usual_home().is_some_and(|home| home.join(default) == folder);
    (!is_default && is_in_clone(&folder)).then_some(folder)
}

/// Returns whether a folder, or a link on the way to it, is in the repository of the working
/// directory, else in that directory, and the user does not trust it.
fn is_in_clone(folder: &Path) -> bool {
    let Some(clone) = working_repository() else {
        return false;
    };
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    leads_through(&folder, &clone) && !is_trusted(&clone)
}

/// The repository of the working directory, else that directory; `None` if the home directory is
/// in it.
fn working_repository() -> Option<PathBuf> {
    let working = fs::canonicalize(env::current_dir().ok()?).ok()?;
    let home = usual_home().and_then(|home| fs::canonicalize(home).ok());
    let repository = repository_of(&working, home.as_deref()).unwrap_or(working);
    let has_home = home.is_some_and(|home| home.starts_with(&repository));
    (!has_home).then_some(repository)
}

fn is_trusted(repository: &Path) -> bool {
    let Some(home) = usual_home() else {
        return false;
    };
    // Where the file is without the variable.
    let config = if cfg!(target_os = "linux") {
        home.join(".config")
    } else {
        dirs::config_dir().unwrap_or_default()
    };
    let settings = config.join("prompt-expander").join("config.toml");
    trusted(&settings)
        .iter()
        .any(|root| Path::new(root) == repository)
}

/// Returns the home directory, unless `HOME` has a value that no login sets.
pub(super) fn usual_home() -> Option<PathBuf> {
    // It is asked for often, does not change, and costs ten system calls.
    static USUAL_HOME: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| dirs::home_dir().filter(|home| is_usual_home(home)));
    USUAL_HOME.clone()
}

/// A path through `/proc` or `/dev` can name the working directory, whichever that is.
fn is_usual_home(home: &Path) -> bool {
    let leads_through_system = |folder: &str| leads_through(home, Path::new(folder));
    home.is_absolute() && !["/proc", "/dev"].into_iter().any(leads_through_system)
}

/// Returns whether only the user can have written the file: it is in their configuration folder, or
/// in no project. An agent's config in a project may name another file, or another configuration
/// folder.
pub(super) fn is_own(path: &Path) -> bool {
    let home = dirs::home_dir().unwrap_or_default();
    let default = if cfg!(unix) {
        std::env::var_os("XDG_CONFIG_HOME").is_none()
    } else {
        true
    };
    let is_named = (default && dirs::config_dir().is_some_and(|folder| path.starts_with(folder)))
        || path.starts_with(home.join(".config"));
    // With `..`, a path need not end where it begins.
    let is_in_config = is_named && path.components().all(|step| step != Component::ParentDir);
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let working = std::env::current_dir()
        .and_then(fs::canonicalize)
        .unwrap_or_default();
    let home = fs::canonicalize(&home).unwrap_or(home);
    let is_project =
        |folder: &&Path| **folder != home && (**folder == working || folder.join(".git").exists());
    is_in_config
        || !canonical
            .ancestors()
            .skip(1)
            .any(|folder| is_project(&folder))
}

/// The roots of the repositories that a settings file of the user trusts.
pub(super) fn trusted(path: &Path) -> Vec<String> {
    let text = read_text(path).ok().filter(|_| is_own(path));
    let document = text
        .and_then(|text| text.parse::<DocumentMut>().ok())
        .unwrap_or_default();
    document.get(TRUSTED).and_then(texts).unwrap_or_default()
}

/// The texts of a key with one, or a list of them.
pub(super) fn texts(item: &Item) -> Option<Vec<String>> {
    if let Some(text) = item.as_str() {
        return Some(vec![text.to_owned()]);
    }
    item.as_array()?
        .iter()
        .map(|text| text.as_str().map(str::to_owned))
        .collect()
}

/// The absolute path. `~/` is the home directory even where no shell has expanded it, as in an
/// agent's config.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = match path
        .strip_prefix("~")
        .map(|below| (below, dirs::home_dir()))
    {
        Ok((below, Some(home))) => home.join(below),
        _ => path.to_owned(),
    };
    std::path::absolute(&path).unwrap_or(path)
}

/// Reads the text of a settings file: a regular file, a pipe of the shell as in `--config <(…)`, or
/// `/dev/null`.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    if path.starts_with("/dev") || path.starts_with("/proc/self/fd") {
        return fs::read_to_string(path);
    }
    whole_file::read_text(path)
}
