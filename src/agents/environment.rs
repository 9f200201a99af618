//! The environment of a program, the programs that are found with it, and the user's folders.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables of a program, by name.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        Environment(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

impl Environment {
    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.iter()
            .find(|(known, _)| is_name(known, name))
            .map(|(_, value)| value)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)
            .map(|value| value.to_string_lossy().into_owned())
    }

    /// Sets a variable, whether it is set already or not.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.0.retain(|(known, _)| !is_name(known, name));
        self.0.push((name.into(), value.as_ref().to_owned()));
    }

    /// The file of a command that is started in `folder` with this environment.
    ///
    /// # Errors
    /// Why it cannot be started, worded to follow the command in a sentence.
    pub fn find_program(&self, command: &str, folder: &Path) -> Result<PathBuf, String> {
        if command.is_empty() {
            return Err("is empty".to_owned());
        }
        let extensions = extensions(self.text("PATHEXT").as_deref(), cfg!(windows));
        let with_extensions = |path: PathBuf| {
            extensions.iter().map(move |extension| {
                let mut path = path.clone().into_os_string();
                path.push(extension);
                PathBuf::from(path)
            })
        };
        let is_program = |path: &PathBuf| why_not_a_program(path).is_none();
        if has_separator(command) {
            let path = folder.join(command);
            let why = || why_not_a_program(&path).unwrap_or_default().to_owned();
            return with_extensions(path.clone())
                .find(is_program)
                .ok_or_else(why);
        }
        let Some(listed) = self.get("PATH") else {
            return Err("is not found: there is no PATH".to_owned());
        };
        let folders = std::env::split_paths(listed).filter(|listed| !listed.as_os_str().is_empty());
        let mut candidates =
            folders.flat_map(|listed| with_extensions(folder.join(listed).join(command)));
        candidates
            .find(is_program)
            .ok_or_else(|| "is in no folder of PATH".to_owned())
    }

    /// Whether a program was found because it is in `folder`: its command or the entry of `PATH` is
    /// relative.
    pub fn is_found_in(&self, folder: &Path, command: &str, program: &Path) -> bool {
        if has_separator(command) {
            return Path::new(command).is_relative();
        }
        let Some(listed) = self.get("PATH") else {
            return false;
        };
        let is_parent = |listed: PathBuf| {
            program
                .parent()
                .is_some_and(|parent| parent.components().eq(folder.join(listed).components()))
        };
        std::env::split_paths(listed).any(|listed| listed.is_relative() && is_parent(listed))
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
    /// The folder that a variable names, if it is not empty.
    pub(super) fn folder(&self, variable: &str) -> Option<PathBuf> {
        self.environment
            .get(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }

    pub(super) fn below_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// `~/.config`, on every system, or where XDG_CONFIG_HOME says that it is.
    pub(super) fn dot_config(&self) -> Option<PathBuf> {
        let xdg = self
            .folder("XDG_CONFIG_HOME")
            .filter(|folder| folder.is_absolute());
        xdg.or_else(|| self.below_home(".config"))
    }
}

/// Whether two paths name the same file, directly or through symlinks.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b
        || a.canonicalize()
            .is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn is_name(known: &OsStr, name: &str) -> bool {
    if cfg!(windows) {
        known.eq_ignore_ascii_case(name)
    } else {
        known == name
    }
}

/// The suffixes to try after the name of a program: on Windows, those of PATHEXT, and none last:
/// beside `code.cmd` and `npx.cmd` is a script for other shells, without a suffix, which Windows
/// cannot start.
fn extensions(listed: Option<&str>, is_windows: bool) -> Vec<String> {
    let listed = if is_windows {
        listed.unwrap_or(".COM;.EXE;.BAT;.CMD")
    } else {
        ""
    };
    listed
        .split_terminator(';')
        .chain([""])
        .map(str::to_owned)
        .collect()
}

/// Whether a command is a path, not a name that is looked up on `PATH`.
fn has_separator(command: &str) -> bool {
    command.contains(std::path::is_separator)
}

fn why_not_a_program(path: &Path) -> Option<&'static str> {
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
