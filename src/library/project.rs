//! The prompts of a project: the nearest folder `.prompts`, from a folder up to the root of its repository.
//!
//! Where it lies is looked for at each request, since it may come and go; without a repository only the folder itself counts.
//! Nothing is looked for above the user's home directory, at the top of the file system, or in and above a sticky folder
//! that anybody may write to (such as `/tmp`), where others could put a `.prompts`, or make a repository of it.
//!
//! A cloned repository is not the user's word. So what it holds is read, and never more: `.prompts` may be a link to
//! elsewhere in the repository, and no link in it may lead out of it (`dir.rs`).

use super::Problem;
use super::dir::{Dir, LEADS_NOWHERE};
use crate::prompt::Diagnostic;
use crate::wording::printable;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a project that holds its prompts.
pub const FOLDER: &str = ".prompts";

/// The folder, or the file, that the root of a repository has (a file in a worktree, or a submodule).
const REPOSITORY: &str = ".git";

/// Where the prompts of a project may be.
#[derive(Debug, Clone)]
pub(super) struct Project {
    from: PathBuf,
    /// From the folder itself upwards.
    candidates: Vec<Candidate>,
}

#[derive(Debug, Clone)]
struct Candidate {
    folder: PathBuf,
    /// What a repository has in this folder.
    repository: PathBuf,
    /// The prompts in this folder.
    dir: Dir,
}

impl Project {
    /// The project that a folder belongs to. `home` is the user's home directory.
    pub(super) fn new(from: &Path, home: Option<&Path>) -> Project {
        let from = real(from);
        let home = home.map(real).filter(|home| from.starts_with(home));
        let above = |folder: &&Path| home.as_ref().map_or(folder.parent().is_some(), |home| folder.starts_with(home));
        let folders = from.ancestors().take(1).chain(from.ancestors().skip(1).take_while(above));
        let candidates = folders.take_while(|folder| !is_for_everybody(folder)).map(|folder| Candidate {
            folder: folder.to_owned(),
            repository: folder.join(REPOSITORY),
            dir: Dir::of_project(folder.join(FOLDER)),
        });
        Project { candidates: candidates.collect(), from }
    }

    /// Its directory of prompts, if there is one now.
    ///
    /// # Errors
    /// It is a link that leads out of the repository.
    pub(super) fn dir(&self) -> Option<Result<&Dir, Problem>> {
        let mut nearest = None;
        let mut root = None;
        for candidate in &self.candidates {
            if nearest.is_none()
                && let Ok(found) = fs::symlink_metadata(&candidate.dir.path)
            {
                nearest = Some((candidate, found.is_symlink()));
            }
            if let Some((own, false)) = nearest
                && own.folder == self.from
            {
                return Some(Ok(&own.dir)); // whatever the repository
            }
            if fs::symlink_metadata(&candidate.repository).is_ok() {
                root = Some(candidate.folder.as_path());
                break;
            }
        }
        let (nearest, is_link) = nearest?;
        let root = root.or((nearest.folder == self.from).then_some(&*self.from))?;
        Some(if is_link { leads_within(&nearest.dir, root) } else { Ok(&nearest.dir) })
    }

    /// Where its prompts were looked for, and not found; `None`, if they are there.
    pub(super) fn absence(&self) -> Option<String> {
        if self.dir().is_some() {
            return None;
        }
        let shown = |path: &Path| printable(&path.display().to_string());
        let from = shown(&self.from);
        if self.candidates.is_empty() {
            return Some(format!("no prompts of a project: anybody may write to {from}; go to a folder of your own"));
        }
        let is_root = |candidate: &&Candidate| fs::symlink_metadata(&candidate.repository).is_ok();
        Some(match self.candidates.iter().find(is_root) {
            Some(root) if root.folder == self.from => {
                format!("no prompts of a project: there is no folder {FOLDER} in {from}, the root of its repository")
            }
            Some(root) => {
                let root = shown(&root.folder);
                format!(
                    "no prompts of a project: there is no folder {FOLDER} from {from} up to {root}, the root of its repository"
                )
            }
            None => format!(
                "no prompts of a project: there is no folder {FOLDER} in {from}, which is in no repository, so that no \
                 folder above it is looked at"
            ),
        })
    }

    /// What may make another directory the right one, by coming or going.
    pub(super) fn ways(&self) -> impl Iterator<Item = &Path> {
        self.candidates.iter().flat_map(|candidate| [&*candidate.dir.path, &*candidate.repository])
    }
}

fn leads_within<'d>(dir: &'d Dir, root: &Path) -> Result<&'d Dir, Problem> {
    let refuse = |message: String, repair: &str| Err(dir.problem(&dir.path, Diagnostic::error(None, message, repair)));
    match (fs::canonicalize(&dir.path), fs::canonicalize(root)) {
        (Ok(target), Ok(root)) if target.starts_with(&root) => Ok(dir),
        (Ok(target), _) => {
            let target = printable(&target.display().to_string());
            let message = format!("the link leads out of the project, to {target}, and is not followed");
            refuse(message, "put the prompts into the project, or name their folder with --prompts")
        }
        (Err(_), _) => refuse(LEADS_NOWHERE.0.to_owned(), "point it at a folder of the project, or delete it"),
    }
}

/// A folder without links on the way to it, as the system names the working directory.
fn real(path: &Path) -> PathBuf {
    let real = if cfg!(windows) { std::path::absolute(path) } else { fs::canonicalize(path) };
    real.unwrap_or_else(|_| path.to_owned())
}

/// Whether it is a folder such as `/tmp`, in which everybody may make files that nobody else may delete.
fn is_for_everybody(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        const WRITABLE_AND_STICKY: u32 = 0o1002;
        fs::metadata(folder).is_ok_and(|folder| folder.mode() & WRITABLE_AND_STICKY == WRITABLE_AND_STICKY)
    }
    #[cfg(not(unix))]
    {
        _ = folder;
        false
    }
}
