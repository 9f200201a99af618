//! The prompts of a project: the nearest folder `.prompts`, from a folder up to the root of its repository; and in the same way
//! the nearest folder of an agent, such as `.claude/commands`.
//!
//! It is looked for once for each message that needs it, since it may come and go. Without a repository, only the folder
//! itself is searched. Never searched are the folders above the user's home directory, the root of the file system, and a
//! sticky folder that everybody may write to (such as `/tmp`) with those above it: others could put a `.prompts` there, or
//! turn it into a repository.
//!
//! A cloned repository is not trusted like the user's own folders. What it holds is read, and nothing more: `.prompts` may
//! be a symlink to elsewhere in the repository, and no symlink in it may point outside it (`folder.rs`).

use super::cache::Cache;
use super::folder::Folder;
use super::read::BROKEN_LINK;
use super::{FileInfo, Layer, Listing, Location, Problem, Source, SourceView};
use crate::prompt::{Diagnostic, Name, Prompt, System};
use crate::wording::printable;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of a project that holds its prompts.
pub const FOLDER: &str = ".prompts";

/// The folder, or the file (in a worktree or a submodule), that the root of a repository has.
const REPOSITORY: &str = ".git";

/// Where the prompts of a project may be.
#[derive(Debug)]
pub(super) struct Project {
    from: PathBuf,
    /// Which system its folder is of.
    system: System,
    /// From the folder itself upwards.
    candidates: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    folder: PathBuf,
    /// What this folder contains if it is the root of a repository.
    repository: PathBuf,
    /// The prompts in this folder.
    prompts: Arc<Folder>,
    /// Whether its folder of prompts counts.
    has_prompts: bool,
}

/// The view of a project without prompts; if its folder was refused, with the reason.
#[derive(Debug)]
struct Unavailable(Option<Problem>);

impl Source for Project {
    fn view(self: Arc<Self>) -> Arc<dyn SourceView> {
        match self.prompts() {
            Some(Ok(folder)) => Arc::clone(folder).view(),
            Some(Err(problem)) => Arc::new(Unavailable(Some(problem))),
            None => Arc::new(Unavailable(None)),
        }
    }

    fn absence(&self) -> Option<String> {
        if self.system != System::PromptExpander || self.prompts().is_some() {
            return None;
        }
        let shown = |path: &Path| printable(&path.display().to_string());
        let from = shown(&self.from);
        if self.candidates.is_empty() {
            return Some(format!("no project prompts: everyone can write to {from}; change to a folder of your own"));
        }
        Some(match self.root() {
            Some(root) if root.folder == self.from => {
                format!("no project prompts: there is no folder {FOLDER} in {from}, the root of its repository")
            }
            Some(root) => {
                let root = shown(&root.folder);
                format!(
                    "no project prompts: there is no folder {FOLDER} from {from} up to {root}, the root of its repository"
                )
            }
            None => format!(
                "no project prompts: there is no folder {FOLDER} in {from}; folders above it are not searched because \
                 it is not in a repository"
            ),
        })
    }

    /// If there is no folder of prompts yet, it belongs at the root of the repository or, outside a repository, in the folder
    /// itself.
    fn folder_for_new_prompts(&self) -> Option<Result<PathBuf, String>> {
        if self.system != System::PromptExpander {
            return None;
        }
        Some(match self.prompts() {
            Some(found) => found.map(|folder| folder.path.clone()).map_err(|problem| problem.to_string()),
            None => match self.root().or(self.candidates.first()) {
                Some(root) => Ok(root.prompts.path.clone()),
                None => Err(self.absence().unwrap_or_default()),
            },
        })
    }

    fn watch_paths(&self) -> Vec<&Path> {
        self.candidates.iter().flat_map(|candidate| [&*candidate.prompts.path, &*candidate.repository]).collect()
    }
}

impl SourceView for Unavailable {
    fn layer(&self) -> Layer {
        Layer::Project
    }

    fn get(&self, _: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        None
    }

    fn raw(&self, _: &Name) -> Option<Result<String, Problem>> {
        None
    }

    fn locate(&self, _: &Name) -> Option<Location> {
        None
    }

    fn list(&self) -> Listing<'_> {
        Listing { skipped: self.missing(), ..Listing::default() }
    }

    fn info(&self, _: &Name) -> Option<FileInfo> {
        None
    }

    fn missing(&self) -> Vec<Problem> {
        self.0.iter().cloned().collect()
    }
}

impl Project {
    /// The project that a folder belongs to, and the prompts of a system in its folder `name`. `home` is the user's home
    /// directory.
    pub(super) fn new(from: &Path, home: Option<&Path>, name: &str, system: System, cache: &Arc<Cache>) -> Project {
        let from = without_symlinks(from);
        let home = home.map(without_symlinks).filter(|home| from.starts_with(home));
        let is_searched =
            |folder: &&Path| home.as_ref().map_or(folder.parent().is_some(), |home| folder.starts_with(home));
        let folders = from.ancestors().take(1).chain(from.ancestors().skip(1).take_while(is_searched));
        let candidates = folders.take_while(|folder| !is_for_everybody(folder)).map(|folder| Candidate {
            folder: folder.to_owned(),
            repository: folder.join(REPOSITORY),
            prompts: Arc::new(Folder::of_project(folder.join(name), system, cache)),
            // Those of another program in the home directory are the user's, not a project's.
            has_prompts: system == System::PromptExpander || home.as_deref() != Some(folder),
        });
        Project { candidates: candidates.collect(), from, system }
    }

    /// The root of the repository.
    fn root(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| fs::symlink_metadata(&candidate.repository).is_ok())
    }

    /// Its folder of prompts, if there is one now.
    ///
    /// # Errors
    /// It is a symlink that points outside the repository.
    fn prompts(&self) -> Option<Result<&Arc<Folder>, Problem>> {
        let mut nearest = None;
        let mut root = None;
        for candidate in &self.candidates {
            if nearest.is_none() && candidate.has_prompts && fs::symlink_metadata(&candidate.prompts.path).is_ok() {
                nearest = Some((candidate, candidate.has_symlink()));
            }
            if let Some((own, false)) = nearest
                && own.folder == self.from
            {
                return Some(Ok(&own.prompts)); // no matter what the repository is
            }
            if fs::symlink_metadata(&candidate.repository).is_ok() {
                root = Some(candidate.folder.as_path());
                break;
            }
        }
        let (nearest, is_symlink) = nearest?;
        let root = root.or((nearest.folder == self.from).then_some(&*self.from))?;
        let escape = if is_symlink { problem_with_symlink(&nearest.prompts, root) } else { None };
        Some(escape.map_or(Ok(&nearest.prompts), Err))
    }
}

impl Candidate {
    /// Whether the folder of prompts, or one between it and this folder, is a symlink.
    fn has_symlink(&self) -> bool {
        let mut steps = self.prompts.path.ancestors().take_while(|step| **step != *self.folder);
        steps.any(|step| fs::symlink_metadata(step).is_ok_and(|step| step.is_symlink()))
    }
}

/// What is wrong with a folder of prompts that is a symlink: it is broken, or points outside its project.
fn problem_with_symlink(folder: &Folder, root: &Path) -> Option<Problem> {
    let (message, fix) = match (fs::canonicalize(&folder.path), fs::canonicalize(root)) {
        (Ok(target), Ok(root)) if target.starts_with(&root) => return None,
        (Ok(target), _) => {
            let target = printable(&target.display().to_string());
            let message = format!("the symlink points outside the project, to {target}, and is not followed");
            (message, "put the prompts into the project, or name their folder with --prompts")
        }
        (Err(_), _) => (BROKEN_LINK.0.to_owned(), "point it at a folder of the project, or delete it"),
    };
    Some(folder.problem(&folder.path, Diagnostic::error(None, message, fix)))
}

/// The path of a folder with all symlinks resolved, as the system names the working directory.
fn without_symlinks(path: &Path) -> PathBuf {
    let resolved = if cfg!(windows) { std::path::absolute(path) } else { fs::canonicalize(path) };
    resolved.unwrap_or_else(|_| path.to_owned())
}

/// Whether it is a folder such as `/tmp`, in which everybody may create files, and delete only their own.
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
