//! The environment of a program, the programs that are found with it, and the user's folders.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables of a program, by name.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        let variables = variables.into_iter();
        Environment(
            variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

impl Environment {
    /// Returns all names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        for (other, value) in self.iter() {
            if is_same_name(other, name) {
                return Some(value);
            }
        }
        None
    }

    /// Returns the value of a variable as text.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        Some(value.to_string_lossy().into_owned())
    }

    /// Sets a variable, also one that has another value already.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.0.retain(|(other, _)| !is_same_name(other, name));
        self.0.push((name.into(), value.as_ref().to_owned()));
    }

    /// Returns the file of a command that is started in `folder` with this environment.
    ///
    /// # Errors
    /// Why it cannot be started, worded to follow the command in a sentence, as in "is not
    /// executable".
    pub fn find_program(&self, command: &str, folder: &Path) -> Result<PathBuf, String> {
        if command.is_empty() {
            return Err("is empty".to_owned());
        }
        if has_separator(command) {
            let path = folder.join(command);
            return match self.program_at(&path) {
                Some(program) => Ok(program),
                // `program_at` tried this path, too, so there is an error.
                None => Err(program_error(&path).unwrap_or_default().to_owned()),
            };
        }
        let Some(path_variable) = self.get("PATH") else {
            return Err("is not found: there is no PATH".to_owned());
        };
        for entry in std::env::split_paths(path_variable) {
            if entry.as_os_str().is_empty() {
                continue;
            }
            if let Some(program) = self.program_at(&folder.join(entry).join(command)) {
                return Ok(program);
            }
        }
        Err("is in no folder of PATH".to_owned())
    }

    /// Returns the first file that can be started among this path and, on Windows, this path with
    /// each extension of a program.
    fn program_at(&self, path: &Path) -> Option<PathBuf> {
        let extensions = extensions(self.text("PATHEXT").as_deref(), cfg!(windows));
        for extension in extensions {
            let mut name = path.as_os_str().to_owned();
            name.push(extension);
            let program = PathBuf::from(name);
            if program_error(&program).is_none() {
                return Some(program);
            }
        }
        None
    }

    /// Returns whether [`find_program`](Self::find_program) found a program through a path relative
    /// to `folder`: the command is a relative path, or the entry of `PATH` is, as in `PATH=./bin`.
    pub fn is_found_in(&self, folder: &Path, command: &str, program: &Path) -> bool {
        if has_separator(command) {
            return Path::new(command).is_relative();
        }
        let (Some(path_variable), Some(parent)) = (self.get("PATH"), program.parent()) else {
            return false;
        };
        for entry in std::env::split_paths(path_variable) {
            if entry.is_relative() && folder.join(entry).components().eq(parent.components()) {
                return true;
            }
        }
        false
    }
}

/// For whom an agent reads a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For the user, in every project.
    #[default]
    User,
    /// For everybody in one project; the file is in the project.
    Project,
    /// For the user in one project (Claude Code only); it is in the user's file.
    Local,
}

/// The user's folders, environment and project.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// The home directory, if it is known.
    pub home: Option<PathBuf>,
    /// The configuration directory of the system: `~/.config`, `~/Library/Application Support` or
    /// `%APPDATA%`.
    pub config: Option<PathBuf>,
    /// The environment in which an agent would be started.
    pub environment: Environment,
    /// The project: the working directory.
    pub project: PathBuf,
}

impl System {
    /// Returns the folder that a variable names. An empty variable names none.
    pub(super) fn folder(&self, variable: &str) -> Option<PathBuf> {
        let value = self.environment.get(variable)?;
        if value.is_empty() {
            return None;
        }
        Some(PathBuf::from(value))
    }

    /// Returns the path of this name in the home directory.
    pub(super) fn below_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(name))
    }

    /// Returns `~/.config`, on every system, or the folder that XDG_CONFIG_HOME names.
    pub(super) fn dot_config(&self) -> Option<PathBuf> {
        match self.folder("XDG_CONFIG_HOME") {
            Some(folder) if folder.is_absolute() => Some(folder),
            _ => self.below_home(".config"),
        }
    }
}

/// Returns whether two paths name the same file, directly or through symlinks.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    if a == b {
        return true;
    }
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Returns whether two names are those of the same variable. On Windows, letter case does not
/// count.
fn is_same_name(a: &OsStr, b: &str) -> bool {
    if cfg!(windows) {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

/// Returns the extensions to try after the name of a program: on Windows those of PATHEXT, such as
/// `.COM;.EXE`, and at last none.
///
/// None comes last because Windows cannot start the script without an extension that is beside
/// `code.cmd` and `npx.cmd`, for other shells.
fn extensions(listed: Option<&str>, is_windows: bool) -> Vec<String> {
    let mut extensions = Vec::new();
    if is_windows {
        let listed = listed.unwrap_or(".COM;.EXE;.BAT;.CMD");
        extensions.extend(listed.split_terminator(';').map(str::to_owned));
    }
    extensions.push(String::new());
    extensions
}

/// Returns whether a command is a path, not a name that is looked up on `PATH`.
fn has_separator(command: &str) -> bool {
    command.contains(std::path::is_separator)
}

/// Returns why a file cannot be started as a program, as a phrase that follows its name. `None`: it
/// can be started.
fn program_error(path: &Path) -> Option<&'static str> {
    let Ok(metadata) = path.metadata() else {
        return Some(if path.is_symlink() {
            "is a broken link"
        } else {
            "does not exist"
        });
    };
    if metadata.is_dir() {
        return Some("is a directory");
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 == 0 {
        return Some("is not executable");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::extensions;

    #[test]
    fn a_program_with_a_suffix_of_windows_comes_before_a_script_without_one() {
        assert_eq!(extensions(Some(".EXE;.CMD;"), true), [".EXE", ".CMD", ""]);
        assert_eq!(extensions(None, true).last().unwrap(), "");
        assert_eq!(extensions(Some(".EXE"), false), [""]);
    }
}
