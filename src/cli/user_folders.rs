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
use crate::wording::{in_backticks, path_in_backticks};
use std::env;
use std::fs;
use std::io;
use std::path::{self, Component, Path, PathBuf};
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

/// Returns the folder that has the settings file and the user's own prompts.
pub(super) fn config() -> Option<PathBuf> {
    Some(system_config()?.join("prompt-expander"))
}

/// Returns the user's configuration folder, which all programs share: `~/.config` on Linux.
pub(super) fn system_config() -> Option<PathBuf> {
    unless_refused("XDG_CONFIG_HOME", dirs::config_dir()?)
}

/// Returns this program's folder for data: `~/.local/share/prompt-expander` on Linux.
pub(super) fn data() -> Option<PathBuf> {
    let folder = unless_refused("XDG_DATA_HOME", dirs::data_local_dir()?)?;
    Some(folder.join("prompt-expander"))
}

/// Returns the folder for what the program itself stores, such as keys:
/// `~/.local/state/prompt-expander` on Linux. A system without such folders has it in [`data`].
pub(super) fn state() -> Option<PathBuf> {
    let Some(folder) = dirs::state_dir() else {
        return data();
    };
    Some(unless_refused("XDG_STATE_HOME", folder)?.join("prompt-expander"))
}

/// Returns the user's folder for caches, which all programs share: `~/.cache` on Linux.
#[cfg(feature = "openapi")]
pub(super) fn system_cache() -> Option<PathBuf> {
    unless_refused("XDG_CACHE_HOME", dirs::cache_dir()?)
}

/// Returns the folders of prompts that the environment variable names, as absolute paths, without
/// those in a repository that the user does not trust.
pub(super) fn prompts() -> Vec<PathBuf> {
    let mut folders = listed_prompts();
    folders.retain(|folder| !is_in_untrusted_repository(folder));
    folders
}

/// Returns the folders of prompts that the environment variable names, as absolute paths, even
/// those in a repository that the user does not trust.
fn listed_prompts() -> Vec<PathBuf> {
    let Some(value) = env::var_os(PROMPTS_VARIABLE) else {
        return Vec::new();
    };
    let mut folders = Vec::new();
    for folder in env::split_paths(&value) {
        if !folder.as_os_str().is_empty() {
            folders.push(absolute(&folder));
        }
    }
    folders
}

/// Returns an error for each environment variable that is ignored because of the folder that it
/// names.
pub(super) fn problems() -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for folder in listed_prompts() {
        if is_in_untrusted_repository(&folder) {
            problems.push(refusal(PROMPTS_VARIABLE, &folder));
        }
    }
    for (variable, _) in VARIABLES {
        if let Some(folder) = refused_folder(variable) {
            problems.push(refusal(variable, &folder));
        }
    }
    let home = dirs::home_dir().unwrap_or_default();
    if !is_usual_home(&home) && is_in_untrusted_repository(&home) {
        problems.push(refusal("HOME", &home));
    }
    problems
}

/// Returns the error that a variable is ignored because it names this folder.
fn refusal(variable: &str, folder: &Path) -> Diagnostic {
    let message = format!(
        "the variable {} is ignored, because it names {}, which is in the repository or folder that you are in",
        in_backticks(variable),
        path_in_backticks(folder)
    );
    let fix = "unset it or, if the repository is yours, run `prompt-expander trust` in it";
    Diagnostic::error(None, message, fix)
}

/// Returns `folder`, which the system has found by this variable, unless the folder is in a
/// repository that the user does not trust.
///
/// If the variable is ignored, returns its default: `~/.config` for `XDG_CONFIG_HOME`. `None` if
/// the home directory, where the default would be, is unknown or in such a repository.
fn unless_refused(variable: &str, folder: PathBuf) -> Option<PathBuf> {
    if is_refused(variable) {
        return Some(usual_home()?.join(default_of(variable)?));
    }
    // A relative path in the variable does not count.
    let is_from_variable =
        env::var_os(variable).is_some_and(|value| Path::new(&value).is_absolute());
    let is_below_unusual_home = !is_from_variable && usual_home().is_none();
    if is_below_unusual_home && is_in_untrusted_repository(&folder) {
        return None;
    }
    Some(folder)
}

/// Returns whether a variable is ignored because it names a folder in a repository that the user
/// does not trust.
pub(super) fn is_refused(variable: &str) -> bool {
    refused_folder(variable).is_some()
}

/// Returns the folder that a variable names, if the variable is ignored because of that folder: it
/// is in a repository that the user does not trust, and is not the default.
///
/// `None` if the variable is used, has no value, or is none of [`VARIABLES`].
fn refused_folder(variable: &str) -> Option<PathBuf> {
    let default = default_of(variable)?;
    let value = env::var_os(variable)?;
    if value.is_empty() {
        return None;
    }
    let folder = PathBuf::from(value);
    let is_default = usual_home().is_some_and(|home| home.join(default) == folder);
    if is_default || !is_in_untrusted_repository(&folder) {
        return None;
    }
    Some(folder)
}

/// Returns the default folder of a variable, as a path below the home directory: `.config` for
/// `XDG_CONFIG_HOME`. `None` if the variable is none of [`VARIABLES`].
fn default_of(variable: &str) -> Option<&'static str> {
    let (_, default) = VARIABLES.iter().find(|(name, _)| *name == variable)?;
    Some(default)
}

/// Returns whether a folder, or a link on the way to the folder, is in the repository of the
/// working directory, and the user does not trust this repository. Without a repository, the
/// working directory counts as one.
fn is_in_untrusted_repository(folder: &Path) -> bool {
    let Some(repository) = working_repository() else {
        return false;
    };
    let folder = path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    leads_through(&folder, &repository) && !is_trusted(&repository)
}

/// Returns the root of the repository that the working directory is in; without a repository, the
/// working directory itself. `None` if the home directory is below that root, because then the
/// user's own folders are there, too.
fn working_repository() -> Option<PathBuf> {
    let working = fs::canonicalize(env::current_dir().ok()?).ok()?;
    let home = usual_home().and_then(|home| fs::canonicalize(home).ok());
    let repository = repository_of(&working, home.as_deref()).unwrap_or(working);
    match home {
        Some(home) if home.starts_with(&repository) => None,
        _ => Some(repository),
    }
}

/// Returns whether the settings file in its usual place has this repository in its list `trusted`.
///
/// Reads no variable such as `XDG_CONFIG_HOME` for the place, because the answer decides which
/// variables count.
fn is_trusted(repository: &Path) -> bool {
    let Some(home) = usual_home() else {
        return false;
    };
    let config = if cfg!(target_os = "linux") {
        home.join(".config")
    } else {
        dirs::config_dir().unwrap_or_default()
    };
    let settings = config.join("prompt-expander").join("config.toml");
    let roots = trusted(&settings);
    roots.iter().any(|root| Path::new(root) == repository)
}

/// Returns the home directory; `None` if it is unknown, or `HOME` has a value that no login sets,
/// such as `.` or `/proc/self/cwd`.
pub(super) fn usual_home() -> Option<PathBuf> {
    let home = dirs::home_dir()?;
    if is_usual_home(&home) {
        Some(home)
    } else {
        None
    }
}

/// Returns whether a home directory is one that a login may have set: an absolute path that cannot
/// depend on the working directory, as `/proc/self/cwd` and paths with `..` can.
fn is_usual_home(home: &Path) -> bool {
    let is_in_system = home.starts_with("/proc") || home.starts_with("/dev");
    home.is_absolute() && !is_in_system && !has_parents(home)
}

/// Returns whether a path has a part `..`.
fn has_parents(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Returns whether a settings file is the user's own, which no author of a repository can have
/// written: the file is in the user's configuration folder, or in no project.
///
/// The path alone does not say it, because an agent's config in a cloned repository can name any
/// file with --config, or a configuration folder with `XDG_CONFIG_HOME`.
pub(super) fn is_own(file: &Path) -> bool {
    is_in_usual_config(file) || !is_in_project(file)
}

/// Returns whether a file is in the configuration folder that is used without the variable
/// `XDG_CONFIG_HOME`. A path with `..` is not, because it can leave that folder again.
fn is_in_usual_config(file: &Path) -> bool {
    if has_parents(file) {
        return false;
    }
    let home = dirs::home_dir().unwrap_or_default();
    if file.starts_with(home.join(".config")) {
        return true;
    }
    let is_folder_from_variable = cfg!(unix) && env::var_os("XDG_CONFIG_HOME").is_some();
    if is_folder_from_variable {
        return false;
    }
    dirs::config_dir().is_some_and(|folder| file.starts_with(folder))
}

/// Returns whether a file is in a project, at any depth. A project is a git repository or the
/// working directory, but never the home directory.
fn is_in_project(file: &Path) -> bool {
    let file = canonical(file.to_owned());
    let home = canonical(dirs::home_dir().unwrap_or_default());
    let working = canonical(env::current_dir().unwrap_or_default());
    for folder in file.ancestors().skip(1) {
        let is_project = folder == working || folder.join(".git").exists();
        if folder != home && is_project {
            return true;
        }
    }
    false
}

/// Returns the absolute path without links; the same path if there is no such file.
fn canonical(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}

/// Returns the list `trusted` of a settings file: the roots of the repositories that the user
/// trusts. It is empty if the file is not the user's own, or cannot be read or parsed.
pub(super) fn trusted(settings: &Path) -> Vec<String> {
    if !is_own(settings) {
        return Vec::new();
    }
    let Ok(text) = read_text(settings) else {
        return Vec::new();
    };
    let Ok(document) = text.parse::<DocumentMut>() else {
        return Vec::new();
    };
    document.get(TRUSTED).and_then(texts).unwrap_or_default()
}

/// Returns the texts that are the value of a key: `"a"` → `a`, and `["a", "b"]` → `a`, `b`. `None`
/// for any other value, such as `["a", 1]`.
pub(super) fn texts(item: &Item) -> Option<Vec<String>> {
    if let Some(text) = item.as_str() {
        return Some(vec![text.to_owned()]);
    }
    let mut texts = Vec::new();
    for value in item.as_array()? {
        texts.push(value.as_str()?.to_owned());
    }
    Some(texts)
}

/// Returns the absolute path of `path`: `~/prompts` → `/home/ann/prompts`. `~` is the home
/// directory, because no shell expands it in an agent's config.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let mut expanded = path.to_owned();
    if let Ok(path_in_home) = path.strip_prefix("~")
        && let Some(home) = dirs::home_dir()
    {
        expanded = home.join(path_in_home);
    }
    path::absolute(&expanded).unwrap_or(expanded)
}

/// Reads the text of a settings file: a regular file, a pipe of the shell as in `--config <(…)`, or
/// `/dev/null`.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    if path.starts_with("/dev") || path.starts_with("/proc/self/fd") {
        return fs::read_to_string(path);
    }
    whole_file::read_text(path)
}
