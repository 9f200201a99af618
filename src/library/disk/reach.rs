//! Where the symlinks in a folder of prompts may lead.
//!
//! That depends on whether the folder is certain to be the user's own. These are: folders listed in
//! `config.toml` or passed with `--prompts`; the user's config, data and state directories; and the
//! folders of agents in the home directory. Somebody else may have written anything else, so it is
//! confined: projects, packs, plugins in a repository, and whatever is passed to `check`, `test` or
//! `import`.

use crate::prompt::{Diagnostic, FORMATS, Format, IMPORTED, Kind};
use crate::wording::{full_path, path_in_backticks};
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

/// The entry that marks the root of a Git repository: a folder or, in a worktree or submodule, a
/// file.
pub(crate) const REPOSITORY: &str = ".git";

/// Where the symlinks in a folder of prompts may lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Anywhere. The folder is the user's own.
    Unrestricted,
    /// Only into `folder`, and only while `folder` itself resolves to a path in `repository`. Never
    /// to files of the system, or into `.git`. Somebody else may have written the links.
    Confined {
        folder: PathBuf,
        repository: PathBuf,
    },
}

impl Reach {
    /// Returns the reach for a path that the user typed: unrestricted for the folders of agents in
    /// the home directory, such as `~/.claude/commands`. Otherwise, confined to the path's
    /// repository or, outside a repository, to its folder.
    pub(crate) fn for_typed_path(path: &Path) -> Reach {
        if is_in_users_agent_folder(path) {
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

    /// Returns whether symlinks may lead only to some folders.
    pub(crate) fn is_confined(&self) -> bool {
        *self != Reach::Unrestricted
    }

    /// Returns an error if `path` leads out of the readable folders. Missing files pass: reading
    /// them reports a better error.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Diagnostic> {
        if !self.is_confined() {
            return Ok(());
        }
        match fs::canonicalize(path) {
            Ok(target) => self.check_target(&target),
            Err(_) => Ok(()),
        }
    }

    /// Returns an error if an open file is outside the readable folders. Unlike
    /// [`check`](Reach::check), this is race-free: a symlink can't replace a file that is already
    /// open.
    ///
    /// Only works on Linux. Other systems don't reveal the path of an open file, so every file
    /// passes.
    pub(crate) fn check_open_file(&self, file: &File) -> Result<(), Diagnostic> {
        if !self.is_confined() {
            return Ok(());
        }
        match path_of_open_file(file) {
            Some(target) => self.check_target(&target),
            None => Ok(()),
        }
    }

    /// Returns an error if `path` may not be read as a prompt: it leads out of the readable
    /// folders, or to a file without the name of a prompt file, such as `.env`. In an unrestricted
    /// folder, every file passes.
    ///
    /// A confined folder may be in a repository that somebody else wrote, whose symlinks could
    /// otherwise turn the user's secrets into prompts.
    pub(crate) fn check_prompt_file(&self, path: &Path) -> Result<(), Diagnostic> {
        self.check(path)?;
        if !self.is_confined() {
            return Ok(());
        }
        let Ok(target) = fs::canonicalize(path) else {
            return Ok(()); // reading a missing file reports a better error
        };
        // A file such as `x.yaml`, which can only be imported, may point to another `.yaml`.
        let has_same_extension = target.extension() == path.extension();
        if has_same_extension || has_prompt_extension(&target) {
            return Ok(());
        }
        let reason = "which is not named like a prompt file";
        Err(unsuitable_target_error(&target, reason))
    }

    /// Checks the path of a file, with all symlinks resolved.
    ///
    /// If the confined folder is itself a symlink out of its repository, no target passes.
    fn check_target(&self, target: &Path) -> Result<(), Diagnostic> {
        let Reach::Confined { folder, repository } = self else {
            return Ok(());
        };
        if is_system_file(target) {
            return Err(unsuitable_target_error(target, "a system file"));
        }
        if is_in_git_folder(target, repository) {
            return Err(unsuitable_target_error(target, "which belongs to Git"));
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

/// Returns the error for a symlink to a file that is never read, wherever it is. `reason` says why,
/// e.g. `a system file`.
fn unsuitable_target_error(target: &Path, reason: &str) -> Diagnostic {
    let target = full_path(target);
    let message = format!("the symlink points to {target}, {reason}, and is not followed");
    Diagnostic::new(Kind::OutsideFolder, message, "delete it")
}

/// Returns whether `target` is the `.git` of the repository, of a repository inside it, or anything
/// in such a folder. Its files may contain access tokens.
fn is_in_git_folder(target: &Path, repository: &Path) -> bool {
    let Ok(relative_path) = target.strip_prefix(repository) else {
        return false;
    };
    relative_path
        .components()
        .any(|component| component.as_os_str().eq_ignore_ascii_case(REPOSITORY))
}

/// Returns whether the name of a file ends like those of prompts, in `.md` or `.toml`.
fn has_prompt_extension(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("toml")
}

/// Returns the error for a symlink that leads out of a confined folder.
fn outside_error(folder: &Path, repository: &Path, target: &Path) -> Diagnostic {
    let target = full_path(target);
    // These are the same for a path that the user typed. For a project, `folder` is its prompts
    // folder.
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

/// Returns `path` relative to `folder`, `/`-separated: `git/x.md`. A path outside the folder is
/// returned whole.
pub(crate) fn relative_path(folder: &Path, path: &Path) -> String {
    let relative_path = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
    if cfg!(windows) {
        relative_path.replace('\\', "/")
    } else {
        relative_path.into_owned()
    }
}

/// Returns the path of an open file, or `None` if the system can't tell.
pub(crate) fn path_of_open_file(file: &File) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        let number = std::os::fd::AsRawFd::as_raw_fd(file);
        // If /proc isn't mounted, rely on the check before the file was opened.
        fs::read_link(format!("/proc/self/fd/{number}")).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = file;
        None
    }
}

/// Returns the folder that an absolute path is confined to: its repository or, outside a
/// repository, the path itself.
///
/// Symlinks inside a repository are not followed out of it, because somebody else may have created
/// them. Those outside a repository are the user's own, so they are followed first.
fn outermost_folder(path: &Path, home: Option<&Path>) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        let next = real.join(component);
        if !next.is_symlink() {
            real = next;
            continue;
        }
        if let Some(repository) = repository_of(&real, home) {
            return repository;
        }
        real = fs::canonicalize(&next).unwrap_or(next);
    }
    // On Windows, this adds the prefix `\\?\` that the repository's path has.
    let real = fs::canonicalize(&real).unwrap_or(real);
    repository_of(&real, home).unwrap_or(real)
}

/// Returns whether an absolute path passes through `folder`, even via a symlink or `..`: if
/// `/home/me/link` points to `/clone/prompts`, then `/home/me/link/x` passes through `/clone`.
///
/// `folder` must not contain symlinks. The last segments of `path` may not exist.
pub(crate) fn leads_through(path: &Path, folder: &Path) -> bool {
    let mut real = PathBuf::new();
    for component in path.components() {
        real.push(component);
        if real.is_symlink() || component == Component::ParentDir {
            real = fs::canonicalize(&real).unwrap_or(real);
        }
        if real.starts_with(folder) {
            return true;
        }
    }
    false
}

/// Returns the root of the repository that contains `folder`: the nearest parent with a `.git`,
/// with all symlinks resolved.
///
/// The home directory never counts, even if it is under version control. Neither does a
/// world-writable folder such as `/tmp`, where anybody may create a `.git`.
pub(crate) fn repository_of(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let root = folder
        .ancestors()
        .take_while(|above| home.as_deref() != Some(above) && !is_for_everybody(above))
        .find(|above| fs::symlink_metadata(above.join(REPOSITORY)).is_ok());
    root.map(Path::to_owned)
}

/// Returns whether a path is in an agent's folder in the home directory, such as
/// `~/.claude/commands`. False for any path with `..`, since that may lead out again.
fn is_in_users_agent_folder(path: &Path) -> bool {
    let Some(home) = std::env::home_dir() else {
        return false;
    };
    if path
        .components()
        .any(|component| component == Component::ParentDir)
    {
        return false;
    }
    is_in_folder_of_agent(path, &home) || is_in_known_agent_folder(path, &home)
}

/// Returns whether a path is in a folder such as `~/.kiro/skills`, two levels below `home`, whose
/// name alone shows that it belongs to an agent.
fn is_in_folder_of_agent(path: &Path, home: &Path) -> bool {
    path.ancestors().any(|folder| {
        let is_two_levels_below = folder.parent().and_then(Path::parent) == Some(home);
        is_two_levels_below && !Format::for_folder(folder).is_own()
    })
}

/// Returns whether a path is in one of the folders that the formats list, such as
/// `.claude/commands`, in `home` or where the system keeps settings.
fn is_in_known_agent_folder(path: &Path, home: &Path) -> bool {
    for format in FORMATS.iter().chain(&IMPORTED) {
        for folder in format.folders {
            for parent in ["", ".config", "Library/Application Support"] {
                if path.starts_with(home.join(parent).join(folder)) {
                    return true;
                }
            }
        }
    }
    false
}

/// Returns whether a file belongs to the system, e.g. `/proc/self/environ`, which may contain this
/// program's secrets. `/dev/shm` contains ordinary files.
fn is_system_file(path: &Path) -> bool {
    if !cfg!(unix) || path.starts_with("/dev/shm") {
        return false;
    }
    let mut folders = ["/proc", "/dev", "/sys"].into_iter();
    folders.any(|folder| path.starts_with(folder))
}

/// Returns whether a folder is writable for everybody, like `/tmp`.
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
            (&of_clone, &clone.join(".git/config"), false),
            (&of_clone, &clone.join("module/.git"), false),
            (&of_clone, &clone.join(".github/x.md"), true),
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
