//! Finds the user's folders for config, data, state and caches, and the prompts folders that the
//! environment names.
//!
//! Environment variables can't always be trusted: an agent may load them from the `.env` file of a
//! cloned repository. A variable that points into the current repository is therefore ignored in
//! favor of its default until the user trusts that repository. Outside a repository, the working
//! directory is treated as one.

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

/// Environment variables that name a folder, with their defaults relative to the home directory.
const VARIABLES: [(&str, &str); 10] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CODEX_HOME", ".codex"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("GEMINI_CLI_HOME", ""), // the home directory itself
    ("QWEN_HOME", ".qwen"),
    ("COPILOT_HOME", ".copilot"),
    ("PI_CODING_AGENT_DIR", ".pi/agent"),
];

/// The key in `config.toml` that lists the trusted repositories.
pub(super) const TRUSTED: &str = "trusted";

/// Returns the folder that contains `config.toml` and the user's own prompts.
pub(super) fn config() -> Option<PathBuf> {
    Some(system_config()?.join("prompt-expander"))
}

/// Returns the config folder that all programs share: `~/.config` on Linux.
pub(super) fn system_config() -> Option<PathBuf> {
    folder_or_default("XDG_CONFIG_HOME", dirs::config_dir()?)
}

/// Returns this program's data folder: `~/.local/share/prompt-expander` on Linux.
pub(super) fn data() -> Option<PathBuf> {
    let folder = folder_or_default("XDG_DATA_HOME", dirs::data_local_dir()?)?;
    Some(folder.join("prompt-expander"))
}

/// Returns this program's state folder, for keys and the like: `~/.local/state/prompt-expander` on
/// Linux. Falls back to [`data`] on systems without state folders.
pub(super) fn state() -> Option<PathBuf> {
    let Some(folder) = dirs::state_dir() else {
        return data();
    };
    Some(folder_or_default("XDG_STATE_HOME", folder)?.join("prompt-expander"))
}

/// Returns this program's cache folder: `~/.cache/prompt-expander` on Linux.
pub(super) fn cache() -> Option<PathBuf> {
    Some(system_cache()?.join("prompt-expander"))
}

/// Returns the cache folder that all programs share: `~/.cache` on Linux.
pub(super) fn system_cache() -> Option<PathBuf> {
    folder_or_default("XDG_CACHE_HOME", dirs::cache_dir()?)
}

/// Returns the prompts folders listed in [`PROMPTS_VARIABLE`], as absolute paths. Skips folders in
/// an untrusted repository.
pub(super) fn prompts() -> Vec<PathBuf> {
    let mut folders = listed_prompts_folders();
    folders.retain(|folder| !is_in_untrusted_repository(folder));
    folders
}

/// Returns all prompts folders listed in [`PROMPTS_VARIABLE`], as absolute paths, including those
/// in an untrusted repository.
fn listed_prompts_folders() -> Vec<PathBuf> {
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

/// Returns an error for each environment variable that is ignored because it points into an
/// untrusted repository.
pub(super) fn ignored_variable_errors() -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for folder in listed_prompts_folders() {
        if is_in_untrusted_repository(&folder) {
            errors.push(ignored_variable_error(PROMPTS_VARIABLE, &folder));
        }
    }
    for (variable, _) in VARIABLES {
        if let Some(folder) = ignored_folder(variable) {
            errors.push(ignored_variable_error(variable, &folder));
        }
    }
    // A home directory that a login may have set is always used, even in the current repository.
    let home = dirs::home_dir().unwrap_or_default();
    if !is_usual_home(&home) && is_in_untrusted_repository(&home) {
        errors.push(ignored_variable_error("HOME", &home));
    }
    errors
}

/// Returns the error for a variable that is ignored because it names `folder`.
fn ignored_variable_error(variable: &str, folder: &Path) -> Diagnostic {
    let message = format!(
        "the variable {} is ignored, because it names {}, which is in the repository or folder that you are in",
        in_backticks(variable),
        path_in_backticks(folder)
    );
    let fix = "unset it or, if the repository is yours, run `prompt-expander trust` in it";
    Diagnostic::invalid(message, fix)
}

/// Returns `folder`, which the `dirs` crate derived from `variable`, or the variable's default if
/// the variable is ignored.
///
/// Returns `None` if the folder comes from a home directory that can't be trusted (see
/// [`usual_home`]) and is in an untrusted repository.
fn folder_or_default(variable: &str, folder: PathBuf) -> Option<PathBuf> {
    if is_ignored(variable) {
        return Some(usual_home()?.join(default_of(variable)?));
    }
    // `dirs` ignores relative paths, as the XDG specification requires.
    let is_from_variable =
        env::var_os(variable).is_some_and(|value| Path::new(&value).is_absolute());
    let is_in_unusual_home = !is_from_variable && usual_home().is_none();
    if is_in_unusual_home && is_in_untrusted_repository(&folder) {
        return None;
    }
    Some(folder)
}

/// Returns whether a variable is ignored because it points into an untrusted repository.
pub(super) fn is_ignored(variable: &str) -> bool {
    ignored_folder(variable).is_some()
}

/// Returns the folder that a variable names if that folder is why the variable is ignored: it is in
/// an untrusted repository, and isn't the default.
///
/// Returns `None` if the variable is used, empty or unset, or not one of [`VARIABLES`].
fn ignored_folder(variable: &str) -> Option<PathBuf> {
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

/// Returns the default of a variable, relative to the home directory: `.config` for
/// `XDG_CONFIG_HOME`. Returns `None` if the variable is not one of [`VARIABLES`].
fn default_of(variable: &str) -> Option<&'static str> {
    let (_, default) = VARIABLES.iter().find(|(name, _)| *name == variable)?;
    Some(default)
}

/// Returns whether a folder, or a symlink on its path, is in the current repository, and the user
/// hasn't trusted that repository. Outside a repository, the working directory counts as one.
fn is_in_untrusted_repository(folder: &Path) -> bool {
    let Some(repository) = current_repository() else {
        return false;
    };
    let folder = path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    leads_through(&folder, &repository) && !is_trusted(&repository)
}

/// Returns the root of the current repository or, outside a repository, the working directory.
///
/// Returns `None` if the home directory is inside it: people keep their dotfiles in a repository,
/// and their own folders must keep working.
fn current_repository() -> Option<PathBuf> {
    let working = fs::canonicalize(env::current_dir().ok()?).ok()?;
    let home = usual_home().and_then(|home| fs::canonicalize(home).ok());
    let repository = repository_of(&working, home.as_deref()).unwrap_or(working);
    match home {
        Some(home) if home.starts_with(&repository) => None,
        _ => Some(repository),
    }
}

/// Returns whether the `trusted` list in the default `config.toml` contains this repository.
///
/// Always reads the default path: `XDG_CONFIG_HOME` can't be used here, because the answer decides
/// whether such variables are used at all.
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

/// Returns the home directory. Returns `None` if it is unknown, or if `HOME` has a value that no
/// login sets, such as `.` or `/proc/self/cwd`.
pub(super) fn usual_home() -> Option<PathBuf> {
    let home = dirs::home_dir()?;
    if is_usual_home(&home) {
        Some(home)
    } else {
        None
    }
}

/// Returns whether a login may have set this home directory: it is absolute and doesn't depend on
/// the working directory, as `/proc/self/cwd` does.
fn is_usual_home(home: &Path) -> bool {
    let is_in_proc_or_dev = home.starts_with("/proc") || home.starts_with("/dev");
    home.is_absolute() && !is_in_proc_or_dev && !has_parent_component(home)
}

/// Returns whether a path contains `..`.
pub(super) fn has_parent_component(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Returns whether a settings file was written by the user, not by the author of a cloned
/// repository: it is in the default config folder, or outside any project.
///
/// An agent's config in a cloned repository can pass any file as --config, and any folder as
/// `XDG_CONFIG_HOME`. Neither may make that file count as the user's.
pub(super) fn is_users_own(file: &Path) -> bool {
    is_in_default_config(file) || !is_in_project(file)
}

/// Returns whether a file is in the config folder that is the default without `XDG_CONFIG_HOME`.
/// Paths with `..` never are, because they can leave that folder again.
fn is_in_default_config(file: &Path) -> bool {
    if has_parent_component(file) {
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

/// Returns whether a file is anywhere inside a project: a git repository or the working directory,
/// but never the home directory.
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

/// Resolves the symlinks in a path. Returns the path unchanged if the file doesn't exist.
fn canonical(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}

/// Returns the `trusted` list of a settings file: the roots of trusted repositories. Returns an
/// empty list if the file isn't the user's own, or can't be read or parsed.
pub(super) fn trusted(settings: &Path) -> Vec<String> {
    if !is_users_own(settings) {
        return Vec::new();
    }
    let Ok(text) = read_text(settings) else {
        return Vec::new();
    };
    let Ok(document) = text.parse::<DocumentMut>() else {
        return Vec::new();
    };
    document.get(TRUSTED).and_then(strings).unwrap_or_default()
}

/// Returns the value of a key as a list of strings: `"a"` is `["a"]`. Returns `None` if the value
/// is neither a string nor an array of strings.
pub(super) fn strings(item: &Item) -> Option<Vec<String>> {
    if let Some(string) = item.as_str() {
        return Some(vec![string.to_owned()]);
    }
    let mut strings = Vec::new();
    for value in item.as_array()? {
        strings.push(value.as_str()?.to_owned());
    }
    Some(strings)
}

/// Makes a path absolute, and replaces a leading `~` with the home directory, because no shell does
/// that in an agent's config: `~/prompts` is `/home/ann/prompts`.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let mut expanded = path.to_owned();
    if let Ok(path_in_home) = path.strip_prefix("~")
        && let Some(home) = dirs::home_dir()
    {
        expanded = home.join(path_in_home);
    }
    path::absolute(&expanded).unwrap_or(expanded)
}

/// Reads a settings file, which may also be `/dev/null` or a pipe, as in `--config <(…)`.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    if path.starts_with("/dev") || path.starts_with("/proc/self/fd") {
        return fs::read_to_string(path);
    }
    whole_file::read_text(path)
}
