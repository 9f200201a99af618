//! The prompts of a project: the nearest folder `.prompts`, from a folder up to the root of its
//! repository; and in the same way the nearest folder of an agent, such as `.claude/commands`.
//!
//! It is looked for once for each message that needs it, since it may come and go. Without a
//! repository, only the folder itself is searched. Never searched are the folders above the user's
//! home directory, the root of the file system, and a sticky folder that everybody may write to
//! (such as `/tmp`) with those above it: others could put a `.prompts` there, or turn it into a
//! repository.
//!
//! A cloned repository is not trusted like the user's own folders. What it holds is read, and
//! nothing more: `.prompts` may be a symlink to elsewhere in the repository, and no symlink in it
//! may point outside it (`root.rs`).

use super::cache::{Cache, SETTLING};
use super::folder::Folder;
use super::reach::{REPOSITORY, Reach, is_for_everybody};
use super::read::BROKEN_LINK;
use super::source::{About, Found, Layer, Listing, Source, Store};
use super::watched::Watched;
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::wording::printable;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The folder of a project that holds its prompts.
pub const FOLDER: &str = ".prompts";

/// Which repositories the user trusts, as a file of theirs says.
#[derive(Debug)]
pub struct Trust {
    file: PathBuf,
    read: fn(&Path) -> Vec<String>,
    roots: Cache<Arc<[PathBuf]>>,
}

impl Trust {
    /// `read` returns their roots, as canonical paths.
    pub(crate) fn new(file: PathBuf, read: fn(&Path) -> Vec<String>) -> Arc<Trust> {
        Arc::new(Trust {
            file,
            read,
            roots: Cache::new(1, SETTLING),
        })
    }

    /// Asked for each message.
    fn roots(&self) -> Arc<[PathBuf]> {
        self.roots.get("", |trace| {
            trace.look(&self.file);
            (self.read)(&self.file)
                .into_iter()
                .map(PathBuf::from)
                .collect()
        })
    }
}

/// Where the prompts of a project may be.
#[derive(Debug)]
pub(crate) struct Project {
    about: About,
    from: PathBuf,
    /// From the folder itself upwards.
    candidates: Vec<Candidate>,
    /// `None`: the user asked for this project's prompts.
    trust: Option<Arc<Trust>>,
}

#[derive(Debug)]
struct Candidate {
    folder: PathBuf,
    /// What this folder contains if it is the root of a repository.
    repository: PathBuf,
    /// Where its folder of prompts is.
    path: PathBuf,
    /// That folder, once it was found in a repository.
    prompts: OnceLock<Arc<Folder>>,
    /// Whether its folder of prompts counts.
    has_prompts: bool,
}

impl Source for Project {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.prompts()?.ok()?.find(name)
    }

    fn list(&self) -> Listing {
        match self.prompts() {
            Some(Ok(folder)) => folder.list(),
            Some(Err(problem)) => Listing {
                problems: vec![problem],
                ..Listing::default()
            },
            None => Listing::default(),
        }
    }

    fn at(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.prompts()?.ok()?.at(path)
    }

    fn health(&self, deep: bool) -> Vec<Diagnostic> {
        match self.prompts() {
            Some(Ok(folder)) => folder.health(deep),
            Some(Err(problem)) => vec![problem],
            None => Vec::new(),
        }
    }

    fn watch(&self, watched: &mut Watched) {
        if !self.may_be_trusted() {
            return;
        }
        // Those that would make another folder the project's.
        for candidate in &self.candidates {
            watched.add_path(&candidate.path);
            watched.add_path(&candidate.repository);
        }
        if let Some(Ok(folder)) = self.prompts() {
            folder.watch(watched);
        }
    }

    /// If there is no folder of prompts yet, it belongs at the root of the repository or, outside a
    /// repository, in the folder itself.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        if self.about.format != Format::OWN || self.trust.is_some() {
            return None;
        }
        match self.prompts() {
            Some(Ok(folder)) => folder.store(),
            Some(Err(problem)) => Some(Err(problem)),
            None => match self.root().or(self.candidates.first()) {
                Some(root) => self.folder_of(root, &root.folder).store(),
                None => Some(Err(Diagnostic::new(Kind::NotWritable, self.absence()?, ""))),
            },
        }
    }
}

impl Project {
    /// The project that a folder belongs to, and the prompts of a format in its folder `name`.
    /// `home` is the user's home directory. With `trust`, they count only in a repository that is
    /// trusted.
    pub(crate) fn new(
        from: &Path,
        home: Option<&Path>,
        (name, format): (&str, &'static Format),
        trust: Option<Arc<Trust>>,
    ) -> Project {
        let is_own = format == Format::OWN;
        let from = without_symlinks(from);
        let home = home
            .map(without_symlinks)
            .filter(|home| from.starts_with(home));
        let is_searched = |folder: &&Path| {
            home.as_ref()
                .map_or(folder.parent().is_some(), |home| folder.starts_with(home))
        };
        let folders = from
            .ancestors()
            .take(1)
            .chain(from.ancestors().skip(1).take_while(is_searched));
        let candidates = folders
            .take_while(|folder| !is_for_everybody(folder))
            .map(|folder| Candidate {
                folder: folder.to_owned(),
                repository: folder.join(REPOSITORY),
                path: folder.join(name),
                prompts: OnceLock::new(),
                // Those of another program in the home directory are the user's, not a project's.
                has_prompts: is_own || home.as_deref() != Some(folder),
            });
        let layer = if is_own {
            Layer::PROJECT
        } else {
            Layer::PROJECT_AGENT
        };
        Project {
            about: About::new(layer, format, None),
            candidates: candidates.collect(),
            from,
            trust,
        }
    }

    /// Where its folder was looked for, if that is not another program's; for a person who asked
    /// for it.
    pub(super) fn absence(&self) -> Option<String> {
        if self.trust.is_some() || self.prompts().is_some() {
            return None;
        }
        let from = printable(&self.from.display().to_string());
        Some(match self.candidates.is_empty() {
            true => format!(
                "no project prompts: everyone can write to {from}; change to a folder of your own"
            ),
            false => {
                format!(
                    "no project prompts: there is no folder {FOLDER} in {from}, or above it in its repository"
                )
            }
        })
    }

    /// The root of its repository if it has a folder of prompts that does not count, because it is
    /// not trusted.
    pub(super) fn untrusted(&self) -> Option<PathBuf> {
        let (_, root) = self.nearest()?;
        (!self.is_trusted(&root)).then_some(root)
    }

    /// Whether the folder is in a trusted repository, as far as paths say. Most are not, and
    /// nothing is searched for then.
    fn may_be_trusted(&self) -> bool {
        self.trust
            .as_ref()
            .is_none_or(|trust| trust.roots().iter().any(|root| self.from.starts_with(root)))
    }

    fn is_trusted(&self, root: &Path) -> bool {
        self.trust
            .as_ref()
            .is_none_or(|trust| trust.roots().iter().any(|trusted| trusted == root))
    }

    /// The root of the repository.
    fn root(&self) -> Option<&Candidate> {
        self.candidates
            .iter()
            .find(|candidate| fs::symlink_metadata(&candidate.repository).is_ok())
    }

    /// The nearest folder of prompts, and the root of the project that it is in.
    fn nearest(&self) -> Option<(&Candidate, PathBuf)> {
        let exists = |path: &Path| fs::symlink_metadata(path).is_ok();
        let nearest = self
            .candidates
            .iter()
            .position(|it| it.has_prompts && exists(&it.path));
        let root = self.candidates.iter().position(|it| exists(&it.repository));
        let candidate =
            &self.candidates[nearest.filter(|nearest| root.is_none_or(|root| *nearest <= root))?];
        let root = root.map(|root| self.candidates[root].folder.clone());
        Some((
            candidate,
            root.or_else(|| (candidate.folder == self.from).then(|| self.from.clone()))?,
        ))
    }

    /// The path of its folder of prompts, if there is one now that counts.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        Some(self.prompts()?.ok()?.files.root.path.clone())
    }

    /// Its folder of prompts, if there is one now that counts.
    ///
    /// # Errors
    /// It is a symlink that points outside the repository.
    fn prompts(&self) -> Option<Result<&Arc<Folder>, Diagnostic>> {
        if !self.may_be_trusted() {
            return None;
        }
        let (nearest, root) = self.nearest().filter(|(_, root)| self.is_trusted(root))?;
        Some(match nearest.problem_with_symlink(&root) {
            Some(problem) => Err(problem),
            None => Ok(self.folder_of(nearest, &root)),
        })
    }

    /// The folder of prompts of a candidate, confined to itself and to the root of the repository.
    fn folder_of<'c>(&self, candidate: &'c Candidate, root: &Path) -> &'c Arc<Folder> {
        candidate.prompts.get_or_init(|| {
            let About { layer, format, .. } = self.about;
            let reach = Reach::Confined {
                folder: candidate.path.clone(),
                repository: root.to_owned(),
            };
            Arc::new(Folder::new(
                candidate.path.clone(),
                format,
                layer,
                false,
                reach,
            ))
        })
    }
}

impl Candidate {
    /// What is wrong with its folder of prompts if that, or one between it and this folder, is a
    /// symlink: it is broken, or points outside its project.
    fn problem_with_symlink(&self, root: &Path) -> Option<Diagnostic> {
        let path = &self.path;
        let mut steps = path.ancestors().take_while(|step| **step != *self.folder);
        if !steps.any(|step| fs::symlink_metadata(step).is_ok_and(|step| step.is_symlink())) {
            return None;
        }
        let (message, fix) = match (fs::canonicalize(path), fs::canonicalize(root)) {
            (Ok(target), Ok(root)) if target.starts_with(&root) => return None,
            (Ok(target), _) => {
                let target = printable(&target.display().to_string());
                let message = format!(
                    "the symlink points outside the project, to {target}, and is not followed"
                );
                (
                    message,
                    "put the prompts into the project, or name their folder with --prompts",
                )
            }
            (Err(_), _) => (
                BROKEN_LINK.0.to_owned(),
                "point it at a folder of the project, or delete it",
            ),
        };
        Some(Diagnostic::new(Kind::Escapes, message, fix).in_file(&**path))
    }
}

/// The path of a folder with all symlinks resolved, as the system names the working directory.
fn without_symlinks(path: &Path) -> PathBuf {
    let resolved = if cfg!(windows) {
        std::path::absolute(path)
    } else {
        fs::canonicalize(path)
    };
    resolved.unwrap_or_else(|_| path.to_owned())
}
