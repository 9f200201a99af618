//! Detects how this program was installed, for `--version`. Looks at its path, and at files next to
//! its folder.

use crate::cli::user_folders;
use crate::whole_file::{self, FileAccess, is_same_file};
use anyhow::Context;
use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How to recognize a package manager.
struct PackageManager {
    marker: InstallMarker,
    name: &'static str,
    /// The command of the package manager that runs a package from a cache without installing it.
    runner: &'static str,
}

/// What a package manager leaves around the programs that it installs.
enum InstallMarker {
    /// A folder with this name is in the path of the program.
    Folder(&'static str),
    /// A file with this name is next to the folder of the program.
    File(&'static str),
}

/// The package managers, of which the first with a matching marker counts. uv and pipx come before
/// pip, whose marker is in their environments, too.
const PACKAGE_MANAGERS: [PackageManager; 5] = [
    PackageManager {
        marker: InstallMarker::Folder("node_modules"),
        name: "npm",
        runner: "npx",
    },
    PackageManager {
        marker: InstallMarker::File("uv-receipt.toml"),
        name: "uv",
        runner: "uvx",
    },
    PackageManager {
        marker: InstallMarker::File("pipx_metadata.json"),
        name: "pipx",
        runner: "pipx",
    },
    PackageManager {
        marker: InstallMarker::File("pyvenv.cfg"),
        name: "pip",
        runner: "uvx",
    },
    PackageManager {
        marker: InstallMarker::File(".crates.toml"),
        name: "cargo",
        runner: "cargo",
    },
];

/// A file that a packager can install next to the folder of the program. Its first line is the name
/// of the package manager.
const RECEIPT: &str = "share/prompt-expander/installed-by";

/// The names of cache folders, and of folders such as `.pnpm` whose subfolders depend on the
/// version.
const CACHE_NAMES: [&str; 5] = ["_npx", ".pnpm", ".cache", "Caches", "Cache"];

/// Returns how this program was installed, e.g. `installed with npm`. If this program is the copy
/// that `install` made, returns how the original was installed.
pub(super) fn of_this_program() -> anyhow::Result<String> {
    let program = env::current_exe().context("the file of this program cannot be found")?;
    match CopyRecord::read() {
        Some(record) if is_same_file(&record.copy, &program) => Ok(record.origin),
        _ => Ok(install_method(&program)),
    }
}

/// Returns how a program was installed: `installed with npm`, or `installed at
/// /opt/prompt-expander` if no package manager is recognized by its [marker](PACKAGE_MANAGERS) or
/// its [receipt](RECEIPT).
pub(super) fn install_method(program: &Path) -> String {
    let program = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    match package_manager(&program) {
        Some(name) => format!("installed with {name}"),
        None => format!("installed at {}", program.display()),
    }
}

/// Returns the name of the package manager that installed a program.
fn package_manager(program: &Path) -> Option<String> {
    for manager in &PACKAGE_MANAGERS {
        if manager.has_installed(program) {
            // E.g. `npx` runs the program from a cache, whereas `npm` installs it.
            let is_run_from_cache = is_in_cache(program);
            let name = if is_run_from_cache {
                manager.runner
            } else {
                manager.name
            };
            return Some(name.to_owned());
        }
    }
    let receipt = whole_file::read_text(&above_folder_of(program).join(RECEIPT)).ok()?;
    receipt.lines().next().map(str::to_owned)
}

impl PackageManager {
    /// Returns whether the package manager's marker is in the path of a program, or next to its
    /// folder.
    fn has_installed(&self, program: &Path) -> bool {
        match self.marker {
            InstallMarker::File(name) => above_folder_of(program).join(name).is_file(),
            InstallMarker::Folder(name) => {
                program.components().any(|part| part.as_os_str() == name)
            }
        }
    }
}

/// Returns the parent of a program's folder, e.g. `/usr` for `/usr/bin/prompt-expander`.
fn above_folder_of(program: &Path) -> &Path {
    program.ancestors().nth(2).unwrap_or(program)
}

/// Returns whether the path of a program is temporary: the program is in a cache or build folder,
/// which can be emptied at any time, or the path contains the version, as with pnpm.
///
/// Recognizes a cache by its name, or by the file `CACHEDIR.TAG` in it.
pub(super) fn is_in_cache(program: &Path) -> bool {
    let has_cache_name = program
        .components()
        .any(|part| CACHE_NAMES.iter().any(|name| part.as_os_str() == *name));
    has_cache_name || program.ancestors().skip(1).any(is_marked_as_cache)
}

/// Returns whether a folder is marked as a cache by `CACHEDIR.TAG`. Ignores virtual environments,
/// which aren't caches, although uv marks them, too.
fn is_marked_as_cache(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").is_file() && !folder.join("pyvenv.cfg").is_file()
}

/// The record of the copy that `install` makes of a program with a temporary path.
pub(super) struct CopyRecord {
    pub(super) copy: PathBuf,
    /// How the original was installed, e.g. `installed with npm`.
    pub(super) origin: String,
}

impl CopyRecord {
    /// Reads the record. Its first line is the path of the copy, and its second line the origin.
    /// Returns `None` if there is no record.
    pub(super) fn read() -> Option<CopyRecord> {
        let text = whole_file::read_text(&CopyRecord::path().ok()?).ok()?;
        let (copy, origin) = text.split_once('\n')?;
        Some(CopyRecord {
            copy: PathBuf::from(copy),
            origin: origin.lines().next()?.to_owned(),
        })
    }

    /// Replaces the record with a file that only the user can read.
    pub(super) fn write(&self) -> io::Result<()> {
        let text = format!("{}\n{}\n", self.copy.display(), self.origin);
        whole_file::write(&CopyRecord::path()?, text.as_bytes(), FileAccess::Private)
    }

    pub(super) fn remove() -> io::Result<()> {
        fs::remove_file(CopyRecord::path()?)
    }

    /// Returns the path of the record.
    ///
    /// # Errors
    /// Fails if the home directory is unknown.
    fn path() -> io::Result<PathBuf> {
        match user_folders::state() {
            Some(folder) => Ok(folder.join("copied-program")),
            None => Err(io::Error::new(
                ErrorKind::NotFound,
                "the home directory is unknown",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_the_files_beside_it_say_how_a_program_was_installed() {
        let venv = "../pyvenv.cfg ../CACHEDIR.TAG";
        let uv = format!("../uv-receipt.toml {venv}");
        let pipx = format!("../pipx_metadata.json {venv}");
        for (folder, files, name) in [
            ("lib/node_modules/@prompt-expander/linux-x64/bin", "", "npm"),
            (
                ".npm/_npx/1a/node_modules/@prompt-expander/linux-x64/bin",
                "",
                "npx",
            ),
            (".local/share/uv/tools/prompt-expander/bin", &uv, "uv"),
            (".cache/uv/archive-v0/Ab/bin", venv, "uvx"),
            (
                "cache/archive-v0/Ab/bin",
                "../pyvenv.cfg ../../../CACHEDIR.TAG",
                "uvx",
            ),
            (".local/share/pipx/venvs/prompt-expander/bin", &pipx, "pipx"),
            ("venv/bin", venv, "pip"),
            (".cargo/bin", "../.crates.toml", "cargo"),
            (
                "usr/bin",
                "../share/prompt-expander/installed-by",
                "Homebrew",
            ),
        ] {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            for file in files.split_whitespace().chain(["prompt-expander"]) {
                fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
                fs::write(folder.join(file), "Homebrew\n").unwrap();
            }
            let method = install_method(&folder.join("prompt-expander"));
            assert_eq!(
                method,
                format!("installed with {name}"),
                "{}",
                folder.display()
            );
        }
    }

    #[test]
    fn without_a_sign_the_path_of_the_program_is_shown() {
        let program = Path::new("/nowhere/bin/prompt-expander");
        assert_eq!(
            install_method(program),
            "installed at /nowhere/bin/prompt-expander"
        );
    }
}
