//! The program that is registered: where it is, and a copy of it where it stays.

use crate::cli::install_method::{InstallMethod, copy_record, is_in_cache};
use crate::cli::output;
use crate::cli::source::absolute;
use crate::cli::user_folders;
use crate::whole_file::{self, FileAccess, PendingFile};
use crate::wording::named;
use anyhow::{Context, bail};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The absolute path of this program that stays the same after an update: if a symlink on `PATH`
/// leads here, the symlink, because its target may be renamed.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    let this = env::current_exe().context("the file of this program cannot be found")?;
    let real = fs::canonicalize(&this).unwrap_or_else(|_| this.clone());
    let is_this = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|path| path == real);
    let name = file_name();
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name));
    let as_called = env::args_os()
        .next()
        .map(PathBuf::from)
        .filter(|called| called.components().count() > 1);
    let mut paths = on_path
        .chain(as_called.map(|called| absolute(&called)))
        .chain([this.clone()]);
    let program = paths.find(is_this).unwrap_or(this);
    if program
        .file_name()
        .is_none_or(|known| !known.eq_ignore_ascii_case(&name))
    {
        bail!(
            "this program is called `{}`, and would not be recognized later; rename it to {}",
            output::shown(&program),
            named(&name)
        );
    }
    Ok(program)
}

fn file_name() -> String {
    format!("{}{}", env!("CARGO_PKG_NAME"), env::consts::EXE_SUFFIX)
}

/// Where a program is put that would not stay where it is; `None` if it stays.
pub(super) fn better_place(program: &Path) -> Option<PathBuf> {
    let folder = match cfg!(windows) {
        true => user_folders::data()?,
        false => dirs::home_dir()?.join(".local").join("bin"),
    };
    Some(folder.join(file_name())).filter(|_| is_in_cache(program))
}

/// The copy of the program that `install` makes, or `uninstall` removes.
pub(super) struct Copied {
    pub(super) path: PathBuf,
    /// The program to be copied. `None`: the copy is to be removed.
    pub(super) from: Option<PathBuf>,
}

impl Copied {
    /// The copy that `install` made, if it is still there.
    pub(super) fn known() -> Option<Copied> {
        let path = PathBuf::from(
            whole_file::read_text(&copy_record()?)
                .ok()?
                .lines()
                .next()?,
        );
        path.is_file().then_some(Copied { path, from: None })
    }

    /// Copies the program, and remembers the copy for [`Copied::known`]; or removes it.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        let run = || {
            let record = copy_record().unwrap_or_default();
            let Some(from) = &self.from else {
                fs::remove_file(&self.path)?;
                return fs::remove_file(record);
            };
            PendingFile::write(&self.path, &fs::read(from)?, FileAccess::Program)?.replace()?;
            let method = InstallMethod::of(from).of_copy(&self.path);
            PendingFile::write(&record, method.as_bytes(), FileAccess::Private)?.replace()
        };
        run().with_context(|| {
            format!(
                "the copy of the program, {}, cannot be changed",
                output::full_path(&self.path)
            )
        })
    }
}
