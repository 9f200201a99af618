//! Chooses the path of the program to register, and copies the program if that path is temporary.

use crate::cli::install_method::{CopyRecord, install_method, is_in_cache};
use crate::cli::output;
use crate::cli::source_options::{absolute, without_parents};
use crate::cli::user_folders;
use crate::whole_file::{self, FileAccess, is_same_file};
use crate::wording::in_backticks;
use anyhow::{Context, bail};
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns an absolute path of this program that stays valid after an update. Prefers a symlink on
/// `PATH` to its target, because an update may change the name of the target.
///
/// # Errors
/// Fails if the file isn't named `prompt-expander`: `uninstall` and `doctor` wouldn't recognize the
/// registration.
fn stable_path() -> anyhow::Result<PathBuf> {
    let executable = env::current_exe().context("the file of this program cannot be found")?;
    let mut candidates = candidate_paths().into_iter();
    let program = candidates
        .find(|path| is_same_file(path, &executable))
        .unwrap_or(executable);
    let has_expected_name = program
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(expected_file_name()));
    if !has_expected_name {
        bail!(
            "rename `{}` to {}, so that `doctor` and `uninstall` recognize it",
            output::display_path(&program),
            in_backticks(&expected_file_name())
        );
    }
    Ok(program)
}

/// Returns the paths that may lead to this program, most stable first: in each folder of `PATH`,
/// then the path with which it was started, e.g. `./prompt-expander`. They may not exist.
fn candidate_paths() -> Vec<PathBuf> {
    let mut paths = paths_on_path_variable();
    let first_argument = PathBuf::from(env::args_os().next().unwrap_or_default());
    // A plain name was looked up on `PATH`.
    let is_path = first_argument.components().count() > 1;
    if is_path {
        paths.push(without_parents(absolute(&first_argument)));
    }
    paths
}

/// Returns the paths at which `PATH` may have this program, e.g. `/usr/bin/prompt-expander`, in the
/// order of `PATH`. They may not exist.
fn paths_on_path_variable() -> Vec<PathBuf> {
    let path_variable = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path_variable)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(expected_file_name()))
        .collect()
}

/// Returns `prompt-expander`, or `prompt-expander.exe` on Windows.
fn expected_file_name() -> String {
    format!("{}{}", env!("CARGO_PKG_NAME"), env::consts::EXE_SUFFIX)
}

/// The program that the plain name `prompt-expander` starts.
#[derive(PartialEq, Eq)]
pub(super) enum FirstOnPath {
    ThisProgram,
    /// Another file of that name, e.g. another version.
    Other(PathBuf),
    /// No folder of `PATH` has such a program.
    None,
}

/// The program to register with agents.
pub(super) struct RegisteredProgram {
    /// The absolute path that agents start.
    pub(super) path: PathBuf,
    /// The copy to make at that path before anything is registered, if it is needed.
    pub(super) copy_change: Option<CopyChange>,
}

impl RegisteredProgram {
    /// Returns this program. If its path is temporary, returns a copy of it instead, which outlives
    /// the original and has to be made first, unless it is there already.
    pub(super) fn find() -> anyhow::Result<RegisteredProgram> {
        let program = stable_path()?;
        let Some(copy) = copy_path_for(&program) else {
            return Ok(RegisteredProgram {
                path: program,
                copy_change: None,
            });
        };
        if is_copy_of(&copy, &program) {
            return Ok(RegisteredProgram {
                path: copy,
                copy_change: None,
            });
        }
        Ok(RegisteredProgram {
            path: copy.clone(),
            copy_change: Some(CopyChange::Make { program, copy }),
        })
    }

    /// Returns which program the plain name `prompt-expander` starts: the first of that name on
    /// `PATH`.
    ///
    /// Skips caches, which are on `PATH` only while e.g. `npx` runs this program.
    pub(super) fn first_on_path(&self) -> FirstOnPath {
        for candidate in paths_on_path_variable() {
            // The copy may not have been made yet.
            let is_program = candidate == self.path || candidate.is_file();
            if !is_program || is_in_cache(&candidate) {
                continue;
            }
            if is_same_file(&candidate, &self.path) {
                return FirstOnPath::ThisProgram;
            }
            return FirstOnPath::Other(candidate);
        }
        FirstOnPath::None
    }
}

/// Returns the path for a copy of a program if the program is in a cache or a build folder, from
/// which it may be deleted: `~/.local/bin/prompt-expander`. Returns `None` if the program can stay
/// where it is, or the home directory is unknown.
fn copy_path_for(program: &Path) -> Option<PathBuf> {
    if !is_in_cache(program) {
        return None;
    }
    let folder = if cfg!(windows) {
        user_folders::data()?
    } else {
        dirs::home_dir()?.join(".local").join("bin")
    };
    let copy = folder.join(expected_file_name());
    if copy == program { None } else { Some(copy) }
}

/// Returns whether a file is an identical copy of a program. A symlink to the program is not: it
/// would break with the program.
fn is_copy_of(copy: &Path, program: &Path) -> bool {
    if copy.is_symlink() {
        return false;
    }
    match (fs::read(copy), fs::read(program)) {
        (Ok(copy), Ok(program)) => copy == program,
        _ => false,
    }
}

/// What to do with the copy of the program.
pub(super) enum CopyChange {
    /// Copy the program, because its own path is temporary.
    Make { program: PathBuf, copy: PathBuf },
    /// Delete the copy that an earlier `install` made.
    Remove { copy: PathBuf },
}

impl CopyChange {
    /// Plans to delete the copy that an earlier `install` made, if it still exists. Returns
    /// `None` if there is nothing to delete.
    pub(super) fn plan_removal() -> Option<CopyChange> {
        let copy = CopyRecord::read()?.copy;
        if !copy.is_file() {
            return None;
        }
        Some(CopyChange::Remove { copy })
    }

    /// Returns the path of the copy.
    pub(super) fn copy_path(&self) -> &Path {
        match self {
            CopyChange::Make { copy, .. } | CopyChange::Remove { copy } => copy,
        }
    }

    /// Makes or deletes the copy, and updates the record of its path.
    ///
    /// # Errors
    /// Fails if a file can't be written or deleted.
    pub(super) fn apply(&self) -> anyhow::Result<()> {
        let result = match self {
            CopyChange::Make { program, copy } => make_copy(program, copy),
            CopyChange::Remove { copy } => {
                fs::remove_file(copy).and_then(|()| CopyRecord::remove())
            }
        };
        result.with_context(|| {
            format!(
                "the copy of the program, {}, cannot be changed",
                output::full_path(self.copy_path())
            )
        })
    }
}

/// Copies a program, overwriting an earlier copy, and records the path of the copy and how the
/// original was installed.
fn make_copy(program: &Path, copy: &Path) -> io::Result<()> {
    whole_file::write(copy, &fs::read(program)?, FileAccess::Program)?;
    let record = CopyRecord {
        copy: copy.to_owned(),
        origin: install_method(program),
    };
    record.write()
}
