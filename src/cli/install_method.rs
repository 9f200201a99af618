//! How this program was installed, for `--version`. Its path says it, or a file beside its folder.

use crate::agents::is_same_file;
use crate::cli::user_folders;
use crate::whole_file::{self, FileAccess, PendingFile};
use anyhow::Context;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a package manager leaves.
struct PackageManager {
    /// A folder in the path of the program or, after `../`, a file beside its folder.
    sign: &'static str,
    name: &'static str,
    /// Its command that runs a package from a cache, without installing it.
    runner: &'static str,
}

const PACKAGE_MANAGERS: [PackageManager; 5] = [
    PackageManager {
        sign: "node_modules",
        name: "npm",
        runner: "npx",
    },
    PackageManager {
        sign: "../uv-receipt.toml",
        name: "uv",
        runner: "uvx",
    },
    PackageManager {
        sign: "../pipx_metadata.json",
        name: "pipx",
        runner: "pipx",
    },
    PackageManager {
        sign: "../pyvenv.cfg",
        name: "pip",
        runner: "uvx",
    },
    PackageManager {
        sign: "../.crates.toml",
        name: "cargo",
        runner: "cargo",
    },
];

/// What a packager can put beside the folder of the program. Its first line is the name of the
/// package manager.
const RECEIPT: &str = "share/prompt-expander/installed-by";

/// The names of folders that are caches, or, as `.pnpm`, have folders with versions.
const CACHE_NAMES: [&str; 5] = ["_npx", ".pnpm", ".cache", "Caches", "Cache"];

/// Returns how this program was installed, such as `installed with npm`. For the copy that
/// `install` made, this is how the copied program was installed.
pub(super) fn of_this_program() -> anyhow::Result<String> {
    let program = env::current_exe().context("the file of this program cannot be found")?;
    match CopyRecord::read() {
        Some(record) if is_same_file(&record.copy, &program) => Ok(record.origin),
        _ => Ok(install_method(&program)),
    }
}

/// Returns how a program was installed: `installed with npm`, or `installed at
/// /opt/prompt-expander` if no package manager has left a sign.
///
/// The signs are a folder in the path of the program, or a file beside its folder; see
/// [`PACKAGE_MANAGERS`] and [`RECEIPT`].
pub(super) fn install_method(program: &Path) -> String {
    let program = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    for manager in &PACKAGE_MANAGERS {
        if !manager.has_installed(&program) {
            continue;
        }
        // `npx` has run the program from a cache, `npm` has installed it.
        let name = if is_in_cache(&program) {
            manager.runner
        } else {
            manager.name
        };
        return format!("installed with {name}");
    }
    let receipt = above_folder_of(&program).join(RECEIPT);
    let receipt = whole_file::read_text(&receipt).unwrap_or_default();
    match receipt.lines().next() {
        Some(name) => format!("installed with {name}"),
        None => format!("installed at {}", program.display()),
    }
}

impl PackageManager {
    /// Returns whether the package manager has left its sign in the path of a program or beside its
    /// folder.
    fn has_installed(&self, program: &Path) -> bool {
        match self.sign.strip_prefix("../") {
            Some(file) => above_folder_of(program).join(file).is_file(),
            None => program
                .components()
                .any(|part| part.as_os_str() == self.sign),
        }
    }
}

/// Returns the folder above that of a program: `/usr` for `/usr/bin/prompt-expander`.
fn above_folder_of(program: &Path) -> &Path {
    program.ancestors().nth(2).unwrap_or(program)
}

/// Returns whether the path of a program will not last: the program is in a cache or a build
/// folder, which can be emptied at any time, or its version is in the path, as with pnpm.
///
/// A folder is known as a cache by its name, or by the file `CACHEDIR.TAG` in it.
pub(super) fn is_in_cache(program: &Path) -> bool {
    let has_cache_name = program
        .components()
        .any(|part| CACHE_NAMES.iter().any(|name| part.as_os_str() == *name));
    has_cache_name || program.ancestors().skip(1).any(is_marked_as_cache)
}

/// Returns whether a folder is marked as a cache with the file `CACHEDIR.TAG`. uv marks virtual
/// environments like that, too, which are no caches.
fn is_marked_as_cache(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").is_file() && !folder.join("pyvenv.cfg").is_file()
}

/// The record of the copy that `install` made of a program that would not stay where it was.
pub(super) struct CopyRecord {
    pub(super) copy: PathBuf,
    /// How the copied program was installed, as a phrase.
    pub(super) origin: String,
}

impl CopyRecord {
    /// Reads the record from its file, which has the path of the copy in its first line, and the
    /// origin in its second. `None` if there is no record.
    pub(super) fn read() -> Option<CopyRecord> {
        let text = whole_file::read_text(&CopyRecord::path()?).ok()?;
        let (copy, origin) = text.split_once('\n')?;
        Some(CopyRecord {
            copy: PathBuf::from(copy),
            origin: origin.lines().next()?.to_owned(),
        })
    }

    /// Writes the record, in place of an earlier one, so that only the user can read it.
    pub(super) fn write(&self) -> io::Result<()> {
        let text = format!("{}\n{}\n", self.copy.display(), self.origin);
        let path = CopyRecord::path().unwrap_or_default();
        PendingFile::write(&path, text.as_bytes(), FileAccess::Private)?.replace()
    }

    /// Removes the record.
    pub(super) fn remove() -> io::Result<()> {
        fs::remove_file(CopyRecord::path().unwrap_or_default())
    }

    /// Returns the file of the record; `None` if the home directory is unknown.
    fn path() -> Option<PathBuf> {
        Some(user_folders::state()?.join("copied-program"))
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
