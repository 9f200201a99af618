//! The environment of a process, how programs are found in it, and the user's folders.

pub(super) use crate::whole_file::is_same_file;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment variables of a process.
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
    /// Iterates over names and values.
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

    /// Returns the value of a variable as a string. Replaces invalid Unicode.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        Some(value.to_string_lossy().into_owned())
    }

    /// Sets a variable, and overwrites its previous value.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.0.retain(|(other, _)| !is_same_name(other, name));
        self.0.push((name.into(), value.as_ref().to_owned()));
    }

    /// Returns the path of the executable that a command would start, with `folder` as the working
    /// directory. Looks up a plain name on `PATH`.
    ///
    /// # Errors
    /// Fails with a phrase that follows the command in a sentence, e.g. "is not executable".
    pub fn find_program(&self, command: &str, folder: &Path) -> Result<PathBuf, String> {
        if command.is_empty() {
            return Err("is empty".to_owned());
        }
        if !has_separator(command) {
            return self.find_on_path(command, folder);
        }
        let path = folder.join(command);
        if let Some(program) = self.executable_at(&path) {
            return Ok(program);
        }
        check_executable(&path)?;
        Ok(path)
    }

    /// Returns the path of the executable that a plain name would start. Relative folders in `PATH`
    /// are relative to `folder`.
    fn find_on_path(&self, name: &str, folder: &Path) -> Result<PathBuf, String> {
        let Some(path_variable) = self.get("PATH") else {
            return Err("is not found: there is no PATH".to_owned());
        };
        for entry in std::env::split_paths(path_variable) {
            if entry.as_os_str().is_empty() {
                continue; // some shells would search the working directory
            }
            if let Some(program) = self.executable_at(&folder.join(entry).join(name)) {
                return Ok(program);
            }
        }
        Err("is in no folder of PATH".to_owned())
    }

    /// Returns the executable file at a path. On Windows, also tries the path with each of the
    /// extensions in `PATHEXT`.
    fn executable_at(&self, path: &Path) -> Option<PathBuf> {
        let extensions = program_extensions(self.text("PATHEXT").as_deref(), cfg!(windows));
        for extension in extensions {
            let mut file = path.as_os_str().to_owned();
            file.push(extension);
            let file = PathBuf::from(file);
            if check_executable(&file).is_ok() {
                return Some(file);
            }
        }
        None
    }

    /// Returns whether [`find_program`](Self::find_program) depends on `folder` to find this
    /// program: the command is a relative path, or `PATH` contains a relative path such as `./bin`.
    pub fn is_found_relative_to(&self, folder: &Path, command: &str, program: &Path) -> bool {
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

/// Where a registration is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In all projects of the user.
    #[default]
    User,
    /// In one project, for everyone who works on it. The file is in the project.
    Project,
    /// In one project, for the user only. The file is the user's. Only Claude Code has this scope.
    Local,
}

/// The system on which an agent runs: its environment, the user's folders, and the project.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// The home directory, if known.
    pub home: Option<PathBuf>,
    /// The system's configuration directory, if known: `~/.config`, `~/Library/Application Support`
    /// or `%APPDATA%`.
    pub config: Option<PathBuf>,
    /// The root of the file system, `/` or `C:\`. The settings of administrators are below it.
    pub root: PathBuf,
    /// The environment in which an agent would be started.
    pub environment: Environment,
    /// The working directory, which agents treat as the project.
    pub project: PathBuf,
}

impl System {
    /// Returns the folder in an environment variable, or `None` if it is unset or empty.
    pub(super) fn folder_from_variable(&self, variable: &str) -> Option<PathBuf> {
        let value = self.environment.get(variable)?;
        if value.is_empty() {
            return None;
        }
        Some(PathBuf::from(value))
    }

    /// Returns a path relative to the home directory.
    pub(super) fn join_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(name))
    }

    /// Returns `XDG_CONFIG_HOME`, or `~/.config` if it is unset or relative. Unlike
    /// [`config`](Self::config), it does so on macOS and Windows, too.
    pub(super) fn dot_config(&self) -> Option<PathBuf> {
        match self.folder_from_variable("XDG_CONFIG_HOME") {
            Some(folder) if folder.is_absolute() => Some(folder),
            _ => self.join_home(".config"),
        }
    }
}

/// Returns whether two names denote the same variable. Windows ignores case.
fn is_same_name(a: &OsStr, b: &str) -> bool {
    if cfg!(windows) {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

/// Returns the extensions to try after the name of a program: an empty one, and on Windows first
/// those in `PATHEXT`.
///
/// The empty one comes last because next to e.g. `npx.cmd` there is often a shell script `npx`,
/// which Windows can't run.
fn program_extensions(pathext: Option<&str>, is_windows: bool) -> Vec<String> {
    let mut extensions = Vec::new();
    if is_windows {
        let pathext = pathext.unwrap_or(".COM;.EXE;.BAT;.CMD");
        extensions.extend(pathext.split_terminator(';').map(str::to_owned));
    }
    extensions.push(String::new());
    extensions
}

/// Returns whether a command is a path, rather than a name to look up on `PATH`.
fn has_separator(command: &str) -> bool {
    command.contains(std::path::is_separator)
}

/// Checks that a file can be run as a program.
///
/// # Errors
/// Fails with a phrase that follows the path in a sentence, e.g. "is a directory".
fn check_executable(path: &Path) -> Result<(), &'static str> {
    let Ok(metadata) = path.metadata() else {
        return Err(if path.is_symlink() {
            "is a broken link"
        } else {
            "does not exist"
        });
    };
    if metadata.is_dir() {
        return Err("is a directory");
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 == 0 {
        return Err("is not executable");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::program_extensions;

    #[test]
    fn a_program_with_a_suffix_of_windows_comes_before_a_script_without_one() {
        assert_eq!(
            program_extensions(Some(".EXE;.CMD;"), true),
            [".EXE", ".CMD", ""]
        );
        assert_eq!(program_extensions(None, true).last().unwrap(), "");
        assert_eq!(program_extensions(Some(".EXE"), false), [""]);
    }
}
