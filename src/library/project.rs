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

use super::folder::Folder;
use super::reach::{REPOSITORY, Reach, is_for_everybody};
use super::read::BROKEN_LINK;
use super::shown::{Worktree, path_below};
use super::source::{About, Found, Layer, Listing, Source, Store};
use super::trust::{ProjectText, Trust, Trusted};
use super::watched::Watched;
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::wording::full_path;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The folder of a project that holds its prompts.
pub const FOLDER: &str = ".prompts";

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
    /// The same folder in a linked worktree, which serves only what was shown.
    shown: OnceLock<Arc<Folder>>,
    /// Whether its folder of prompts counts.
    has_prompts: bool,
}

impl Source for Project {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let folder = self.prompts()?.ok()?;
        let found = folder.find(name)?;
        (!is_withheld(folder, &found)).then_some(found)
    }

    fn list(&self) -> Listing {
        match self.prompts() {
            Some(Ok(folder)) => {
                let mut listing = folder.list();
                listing.found.retain(|found| !is_withheld(folder, found));
                listing
            }
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
                Some(root) => self
                    .folder_of(root, &root.folder, &Trusted::Everything)
                    .store(),
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
                shown: OnceLock::new(),
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
        let from = full_path(&self.from);
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

    /// The nearest folder with prompts that are not served, because it is not trusted.
    pub(super) fn untrusted(&self) -> Option<PathBuf> {
        let candidate = self.in_repository().iter().find(|it| it.exists())?;
        let trusted = self.trusted(&candidate.folder);
        (trusted == Trusted::Nothing).then(|| candidate.folder.clone())
    }

    /// How many prompts of a linked worktree are not served, because their texts were not shown;
    /// and its root.
    pub(super) fn withheld(&self) -> Option<(usize, PathBuf)> {
        let folder = self.prompts()?.ok()?;
        let worktree = folder.files.root.worktree.as_ref()?;
        let found = folder.list().found;
        let count = found
            .iter()
            .filter(|found| is_withheld(folder, found))
            .count();
        Some((count, worktree.root.clone()))
    }

    /// The root of the linked worktree that has a prompt of this name, whose text was not shown.
    pub(super) fn withholds(&self, name: &Name) -> Option<&Path> {
        let folder = self.prompts()?.ok()?;
        let worktree = folder.files.root.worktree.as_ref()?;
        let found = folder.find(name)?;
        is_withheld(folder, &found).then_some(&worktree.root)
    }

    /// The nearest folder whose prompts are all trusted.
    pub(super) fn trusted_root(&self) -> Option<(&Arc<Trust>, &Path)> {
        let trust = self.trust.as_ref().filter(|_| self.may_be_trusted())?;
        let candidates = self.in_repository();
        let trusted = candidates
            .iter()
            .find(|candidate| trust.of(&candidate.folder) == Trusted::Everything)?;
        Some((trust, &trusted.folder))
    }

    /// Returns whether the folder is in a trusted repository, or in a linked worktree, as far as
    /// paths say. Most are not, and nothing is searched for then.
    fn may_be_trusted(&self) -> bool {
        let Some(trust) = &self.trust else {
            return true;
        };
        let roots = trust.roots();
        if roots.iter().any(|root| self.from.starts_with(root)) {
            return true;
        }
        let root = if roots.is_empty() { None } else { self.root() };
        root.is_some_and(|root| root.repository.is_file())
    }

    fn trusted(&self, folder: &Path) -> Trusted {
        match &self.trust {
            Some(trust) => trust.of(folder),
            None => Trusted::Everything,
        }
    }

    /// The root of the repository.
    fn root(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.is_root())
    }

    /// The candidates up to the root of the repository, which is the last; without a repository,
    /// only the folder itself.
    fn in_repository(&self) -> &[Candidate] {
        let root = self.candidates.iter().position(Candidate::is_root);
        let count = root.map_or(1, |root| root + 1);
        &self.candidates[..count.min(self.candidates.len())]
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
        let candidates = self.in_repository();
        let root = &candidates.last()?.folder;
        for candidate in candidates.iter().filter(|candidate| candidate.exists()) {
            let trusted = self.trusted(&candidate.folder);
            if trusted == Trusted::Nothing {
                continue; // an unpacked archive in a trusted repository, for example
            }
            return Some(match candidate.problem_with_symlink(root) {
                Some(problem) => Err(problem),
                None => Ok(self.folder_of(candidate, root, &trusted)),
            });
        }
        None
    }

    /// The folder of prompts of a candidate, confined to itself and to the root of the repository.
    fn folder_of<'c>(
        &self,
        candidate: &'c Candidate,
        root: &Path,
        trusted: &Trusted,
    ) -> &'c Arc<Folder> {
        let main = match trusted {
            Trusted::ShownOf(main) => Some(main.clone()),
            Trusted::Nothing | Trusted::Everything => None,
        };
        let worktree = self.trust.clone().zip(main).map(|(trust, main)| Worktree {
            records: Arc::clone(&trust.records),
            main,
            root: candidate.folder.clone(),
        });
        let folder = if worktree.is_some() {
            &candidate.shown
        } else {
            &candidate.prompts
        };
        folder.get_or_init(|| {
            let About { layer, format, .. } = self.about;
            let path = candidate.path.clone();
            let reach = Reach::Confined {
                folder: path.clone(),
                repository: root.to_owned(),
            };
            Arc::new(Folder::of_project(path, format, layer, reach, worktree))
        })
    }
}

/// Returns whether a prompt of a linked worktree, or a file that it includes, was not shown.
fn is_withheld(folder: &Folder, found: &Found) -> bool {
    folder.files.root.worktree.is_some()
        && found.prompt().is_err_and(|why| why.kind == Kind::Differs)
}

/// Returns the texts that an agent may get of the prompts of a project with this root: their files,
/// and those that they include and attach.
pub(crate) fn texts_of(root: &Path, prompts: &[Found]) -> Vec<ProjectText> {
    let mut texts = BTreeMap::new();
    for found in prompts {
        let Some(file) = found.place().file else {
            continue;
        };
        let Ok(text) = found.text() else {
            continue;
        };
        if let Ok(prompt) = found.prompt() {
            let files = prompt.included().iter();
            // The others are built-in prompts.
            for included in files.filter(|included| included.file.path.starts_with(root)) {
                let path = path_below(root, &included.file.path);
                texts
                    .entry(path)
                    .or_insert((included.text.as_bytes().to_vec(), None));
            }
            for (path, bytes) in found.attached_files(&prompt) {
                let path = path_below(root, &path);
                texts.entry(path).or_insert((bytes, None));
            }
        }
        let text = (text.into_bytes(), Some(found.clone()));
        texts.insert(path_below(root, &file), text);
    }
    texts
        .into_iter()
        .map(|(path, (bytes, prompt))| ProjectText {
            path,
            bytes,
            prompt,
        })
        .collect()
}

impl Candidate {
    fn is_root(&self) -> bool {
        fs::symlink_metadata(&self.repository).is_ok()
    }

    /// Returns whether it has a folder of prompts that is served.
    fn exists(&self) -> bool {
        self.has_prompts && fs::symlink_metadata(&self.path).is_ok()
    }

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
                let target = full_path(&target);
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
