//! The program that is registered: where it is, and a copy of it if it would not stay there.

use crate::agents::is_same_file;
use crate::cli::install_method::{CopyRecord, install_method, is_in_cache};
use crate::cli::output;
use crate::cli::source_options::absolute;
use crate::cli::user_folders;
use crate::whole_file::{FileAccess, PendingFile};
use crate::wording::in_backticks;
use anyhow::{Context, bail};
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns an absolute path of this program that is still right after an update: the path of a
/// symlink on `PATH` that leads to this program, if there is one, because an update may rename the
/// target; else the path of the file.
///
/// # Errors
/// The program has another file name than `prompt-expander`, so that `uninstall` and `doctor` would
/// not recognize its registration.
pub(super) fn lasting_path() -> anyhow::Result<PathBuf> {
    let executable = env::current_exe().context("the file of this program cannot be found")?;
    let mut paths = possible_paths().into_iter();
    let program = paths
        .find(|path| is_same_file(path, &executable))
        .unwrap_or(executable);
    let has_our_name = program
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(file_name()));
    if !has_our_name {
        bail!(
            "rename `{}` to {}; otherwise, `doctor` and `uninstall` would not recognize it",
            output::display_path(&program),
            in_backticks(&file_name())
        );
    }
    Ok(program)
}

/// Returns the paths at which this program may be, the most lasting one first: its name in each
/// folder of `PATH`, then the path with which it was called, as in `./prompt-expander`.
fn possible_paths() -> Vec<PathBuf> {
    let path_variable = env::var_os("PATH").unwrap_or_default();
    let mut paths: Vec<PathBuf> = env::split_paths(&path_variable)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(file_name()))
        .collect();
    let program_word = PathBuf::from(env::args_os().next().unwrap_or_default());
    let is_path = program_word.components().count() > 1;
    if is_path {
        paths.push(absolute(&program_word));
    }
    paths
}

/// Returns the usual name of this program's file: `prompt-expander`, on Windows with `.exe`.
fn file_name() -> String {
    format!("{}{}", env!("CARGO_PKG_NAME"), env::consts::EXE_SUFFIX)
}

/// What `install` or `uninstall` does with the copy of the program.
pub(super) enum CopyChange {
    /// Copies a program that would not stay where it is.
    Make { program: PathBuf, copy: PathBuf },
    /// Removes the copy that `install` made.
    Remove { copy: PathBuf },
}

impl CopyChange {
    /// Returns the copy to make of a program in a cache or a build folder, from which it may
    /// disappear: `~/.local/bin/prompt-expander`. `None` if the program stays where it is, or the
    /// home directory is unknown.
    pub(super) fn of_program(program: &Path) -> Option<CopyChange> {
        if !is_in_cache(program) {
            return None;
        }
        let folder = if cfg!(windows) {
            user_folders::data()?
        } else {
            dirs::home_dir()?.join(".local").join("bin")
        };
        let copy = folder.join(file_name());
        if copy == program {
            return None;
        }
        Some(CopyChange::Make {
            program: program.to_owned(),
            copy,
        })
    }

    /// Returns the removal of the copy that `install` made, if it still exists.
    pub(super) fn removal() -> Option<CopyChange> {
        let copy = CopyRecord::read()?.copy;
        if !copy.is_file() {
            return None;
        }
        Some(CopyChange::Remove { copy })
    }

    /// Returns the path of the copy.
    pub(super) fn copy(&self) -> &Path {
        match self {
            CopyChange::Make { copy, .. } | CopyChange::Remove { copy } => copy,
        }
    }

    /// Makes or removes the copy, and the record that says where the copy is.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub(super) fn carry_out(&self) -> anyhow::Result<()> {
        let result = match self {
            CopyChange::Make { program, copy } => make_copy(program, copy),
            CopyChange::Remove { copy } => {
                fs::remove_file(copy).and_then(|()| CopyRecord::remove())
            }
        };
        result.with_context(|| {
            format!(
                "the copy of the program, {}, cannot be changed",
                output::full_path(self.copy())
            )
        })
    }
}

/// Copies a program, in place of an earlier copy, and records where the copy is and how the program
/// was installed.
fn make_copy(program: &Path, copy: &Path) -> io::Result<()> {
    PendingFile::write(copy, &fs::read(program)?, FileAccess::Program)?.replace()?;
    let record = CopyRecord {
        copy: copy.to_owned(),
        origin: install_method(program),
    };
    record.write()
}
