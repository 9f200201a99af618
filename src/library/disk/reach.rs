//! How far the links in a folder of prompts may lead.
//!
//! A folder is the user's own, or it is confined. Own are the folders that `config.toml` or
//! `--prompts` names, the user's folders for config, data and state, and the folders of agents in
//! the home directory. Everything else may have been written by somebody else: a project, a pack,
//! a plugin of a repository, and a folder or a file that `check`, `test` or `import` names.

use crate::prompt::{Diagnostic, FORMATS, IMPORTED, Kind};
use crate::wording::{full_path, path_in_backticks};
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

/// The folder, or the file (in a worktree or a submodule), that the root of a repository has.
pub(crate) const REPOSITORY: &str = ".git";

/// How far the symlinks in a folder of prompts may lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The folder is the user's own: links are followed wherever they lead.
    Unrestricted,
    /// Somebody else may have written its files: only files in `folder` are read, and only while
    /// `folder` itself is in `repository`, all links resolved. Files of the system are never read.
    Confined {
        folder: PathBuf,
        repository: PathBuf,
    },
}

impl Reach {
    /// Returns the reach of a file or folder whose path a person has typed. Symlinks may lead
    /// within its repository or, outside of a repository, within its folder.
    ///
    /// The folders of agents in the home directory, such as `~/.claude/commands`, are the user's
    /// own, so symlinks in them may lead everywhere.
    pub(crate) fn for_typed_path(path: &Path) -> Reach {
        if is_of_agent_at_home(path) {
            return Reach::Unrestricted;
        }
        let folder = if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(path)
        };
        let outermost = outermost_folder(folder, std::env::home_dir().as_deref());
        Reach::Confined {
            folder: outermost.clone(),
            repository: outermost,
        }
    }

    pub(crate) fn is_confined(&self) -> bool {
        *self != Reach::Unrestricted
    }

    /// Refuses a path that leads out of the folders that may be read. A missing file is not
    /// refused, because it is reported when it is read.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Diagnostic> {
        if !self.is_confined() {
            return Ok(());
        }
        match fs::canonicalize(path) {
            Ok(target) => self.check_target(&target),
            Err(_) => Ok(()),
        }
    }

    /// Refuses an open file that is outside of the folders that may be read. Even if its path was
    /// checked before, a symlink may have taken its place since.
    ///
    /// Only Linux says where an open file is. On other systems, no open file is refused.
    pub(crate) fn check_open_file(&self, file: &File) -> Result<(), Diagnostic> {
        if !self.is_confined() {
            return Ok(());
        }
        match path_of_open_file(file) {
            Some(target) => self.check_target(&target),
            None => Ok(()),
        }
    }

    /// Refuses the target of a symlink, which is a path without symlinks, if it may not be read
    /// from a confined folder: a file of the system, or one outside of the folder.
    ///
    /// If the folder itself is a symlink that leads out of its repository, every target is refused.
    fn check_target(&self, target: &Path) -> Result<(), Diagnostic> {
        let Reach::Confined { folder, repository } = self else {
            return Ok(());
        };
        if is_of_system(target) {
            let message = format!(
                "the symlink points to {}, a file of the system, and is not followed",
                full_path(target)
            );
            return Err(Diagnostic::new(Kind::OutsideFolder, message, "delete it"));
        }
        if let Ok(real_folder) = fs::canonicalize(folder)
            && real_folder.starts_with(repository)
            && target.starts_with(real_folder)
        {
            return Ok(());
        }
        Err(outside_error(folder, repository, target))
    }
}

/// Returns the error for a symlink whose target is outside of a confined folder.
fn outside_error(folder: &Path, repository: &Path, target: &Path) -> Diagnostic {
    let target = full_path(target);
    // A path that a person has typed is confined to its whole repository, a project to its prompts.
    if folder == repository {
        let folder = path_in_backticks(folder);
        let message =
            format!("the symlink points outside {folder}, to {target}, and is not followed");
        let fix = "delete it, or replace it with a copy";
        return Diagnostic::new(Kind::OutsideFolder, message, fix);
    }
    let message = format!(
        "the symlink points outside the project's prompts, to {target}, and is not followed"
    );
    let fix = "delete it, replace it with a copy, or name the folder that it points to in `prompts` of config.toml";
    Diagnostic::new(Kind::OutsideFolder, message, fix)
}

/// Returns the part of a path that is below a folder, `/`-separated: `git/x.md`. Returns the whole
/// path if it is not below the folder.
pub(crate) fn relative_path(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
    if cfg!(windows) {
        below.replace('\\', "/")
    } else {
        below.into_owned()
    }
}

/// Returns the path of an open file. Returns `None` on systems that do not say it.
pub(crate) fn path_of_open_file(file: &File) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        let number = std::os::fd::AsRawFd::as_raw_fd(file);
        // Without /proc, the path was at least checked before it was opened.
        fs::read_link(format!("/proc/self/fd/{number}")).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = file;
        None
    }
}

/// Returns the folder in which all files must be that are read from an absolute path: its
/// repository or, outside of a repository, the path itself.
///
/// A symlink in a repository may have been made by somebody else, so it is not followed out of the
/// repository. Other symlinks were made by the user, and are followed.
fn outermost_folder(path: &Path, home: Option<&Path>) -> PathBuf {
    let mut real = PathBuf::new();
    for step in path.components() {
        let next = real.join(step);
        if !next.is_symlink() {
            real = next;
            continue;
        }
        if let Some(repository) = repository_of(&real, home) {
            return repository;
        }
        real = fs::canonicalize(&next).unwrap_or(next);
    }
    let real = fs::canonicalize(&real).unwrap_or(real); // on Windows, it has a prefix then
    repository_of(&real, home).unwrap_or(real)
}

/// Returns whether an absolute path passes through a folder, also if it does so by a symlink or
/// `..`:
/// `/home/me/link/x` passes through `/clone` if `link` points to `/clone/prompts`.
///
/// `folder` has no symlinks in its path. The end of `path` may be missing.
pub(crate) fn leads_through(path: &Path, folder: &Path) -> bool {
    let mut real = PathBuf::new();
    for step in path.components() {
        real.push(step);
        if real.is_symlink() || step == Component::ParentDir {
            real = fs::canonicalize(&real).unwrap_or(real);
        }
        if real.starts_with(folder) {
            return true;
        }
    }
    false
}

/// Returns the root of the repository that a folder is in: the nearest folder with a `.git`,
/// without symlinks in its path.
///
/// The home directory is not taken for a repository, even if it has a `.git`, and neither is a
/// folder such as `/tmp`, where anybody may create a `.git`.
pub(crate) fn repository_of(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let root = folder
        .ancestors()
        .take_while(|above| home.as_deref() != Some(above) && !is_for_everybody(above))
        .find(|above| fs::symlink_metadata(above.join(REPOSITORY)).is_ok());
    root.map(Path::to_owned)
}

/// Returns whether a path is in a folder that an agent has in the home directory, such as
/// `~/.claude/commands`. Returns false for a path with `..`, because it may lead elsewhere.
fn is_of_agent_at_home(path: &Path) -> bool {
    let Some(home) = std::env::home_dir() else {
        return false;
    };
    if path.components().any(|step| step == Component::ParentDir) {
        return false;
    }
    for format in FORMATS.iter().chain(&IMPORTED) {
        for folder in format.folders {
            for place in ["", ".config", "Library/Application Support"] {
                if path.starts_with(home.join(place).join(folder)) {
                    return true;
                }
            }
        }
    }
    false
}

/// Returns whether a file belongs to the system, such as `/proc/self/environ`, which may have the
/// secrets of this program. The files in `/dev/shm` are ordinary ones.
fn is_of_system(path: &Path) -> bool {
    if !cfg!(unix) || path.starts_with("/dev/shm") {
        return false;
    }
    let mut folders = ["/proc", "/dev", "/sys"].into_iter();
    folders.any(|folder| path.starts_with(folder))
}

/// Returns whether everybody may create files in a folder, as in `/tmp`, and delete only their own.
pub(crate) fn is_for_everybody(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        const WRITABLE_AND_STICKY: u32 = 0o1002;
        fs::metadata(folder)
            .is_ok_and(|folder| folder.mode() & WRITABLE_AND_STICKY == WRITABLE_AND_STICKY)
    }
    #[cfg(not(unix))]
    {
        _ = folder;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_confined_folder_reads_its_repository_and_an_own_one_everything() {
        use std::os::unix::fs::symlink;
        let outer = tempfile::tempdir().unwrap();
        let outer = fs::canonicalize(outer.path()).unwrap();
        let clone = outer.join("clone");
        let archive = outer.join("archive");
        for folder in [&clone.join("prompts"), &clone.join(".git"), &archive] {
            fs::create_dir_all(folder).unwrap();
        }
        let of_clone = Reach::for_typed_path(&clone.join("prompts"));
        let of_archive = Reach::for_typed_path(&archive);
        let environ = Path::new("/proc/self/environ");
        for (reach, target, is_read) in [
            (&Reach::Unrestricted, environ, true),
            (&of_clone, environ, false),
            (&of_clone, &clone.join("AGENTS.md"), true),
            (&of_clone, &archive.join("x.md"), false),
            (&of_archive, &archive.join("x.md"), true),
            (&of_archive, &clone.join("AGENTS.md"), false),
        ] {
            let is_refused = reach.check_target(target).is_err();
            assert_eq!(!is_refused, is_read, "{reach:?} {target:?}");
        }
        // A home directory under version control is not one repository with what is unpacked in it.
        fs::create_dir(outer.join(".git")).unwrap();
        assert_eq!(outermost_folder(&archive, None), outer);
        assert_eq!(outermost_folder(&archive, Some(&outer)), archive);
        // A link in a clone is the clone's, wherever it leads; one outside of it is the user's.
        symlink(&archive, clone.join("linked")).unwrap();
        symlink(&archive, outer.join("linked")).unwrap();
        assert_eq!(outermost_folder(&clone.join("linked"), Some(&outer)), clone);
        assert_eq!(
            outermost_folder(&outer.join("linked"), Some(&outer)),
            archive
        );
    }
}
