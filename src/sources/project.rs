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

use super::shown::{Worktree, path_below};
use super::trust::{Trust, Trusted};
use crate::library::{
    About, BROKEN_LINK, ChangedTexts, Folder, Found, Layer, Listing, PROJECT_FOLDER,
    ProjectPrompts, ProjectText, REPOSITORY, Reach, Root, Source, Store, TextGuard, Watched,
    is_for_everybody, repository_of, trust_command,
};
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::wording::{count, full_path, in_backticks};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where the prompts of a project may be.
#[derive(Debug)]
pub(crate) struct Project {
    about: About,
    /// The folder in which the search begins.
    from: PathBuf,
    /// The folders that are searched: `from`, and those above it.
    candidates: Vec<Candidate>,
    /// `None`: the user asked for this project's prompts.
    trust: Option<Arc<Trust>>,
}

/// A folder that may have the folder of prompts of a project.
#[derive(Debug)]
struct Candidate {
    folder: PathBuf,
    /// The path of its `.git`, which exists if it is the root of a repository.
    repository: PathBuf,
    /// The path of its folder of prompts, which may be missing.
    path: PathBuf,
    /// The folder of prompts, once all of it was served.
    prompts: OnceLock<Arc<Folder>>,
    /// The folder of prompts, once it was served as that of a linked worktree: only what was shown.
    shown: OnceLock<Arc<Folder>>,
    /// Whether its folder of prompts counts.
    has_prompts: bool,
}

/// The prompts of a project that are served at this moment.
struct ServedPrompts<'p> {
    folder: &'p Arc<Folder>,
    /// The folder that has the folder of prompts.
    root: &'p Path,
    /// Whether this is a linked worktree, of which only the texts are served that the user was
    /// shown.
    is_worktree: bool,
}

impl Source for Project {
    fn about(&self) -> &About {
        &self.about
    }

    /// Returns the prompt of this name, unless its text must be shown to the user first.
    fn find(&self, name: &Name) -> Option<Found> {
        let served = self.prompts()?.ok()?;
        let found = served.folder.find(name)?;
        if served.is_withheld(&found) {
            None
        } else {
            Some(found)
        }
    }

    /// Returns the prompts that are served. If the folder of prompts is a symlink that is not
    /// followed, the list has this problem instead.
    fn list(&self) -> Listing {
        match self.prompts() {
            Some(Ok(served)) => {
                let mut listing = served.folder.list();
                listing.found.retain(|found| !served.is_withheld(found));
                listing
            }
            Some(Err(problem)) => Listing {
                problems: vec![problem],
                ..Listing::default()
            },
            None => Listing::default(),
        }
    }

    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.prompts()?.ok()?.folder.find_by_path(path)
    }

    fn problems(&self) -> Vec<Diagnostic> {
        match self.prompts() {
            Some(Ok(served)) => served.folder.problems(),
            Some(Err(problem)) => vec![problem],
            None => Vec::new(),
        }
    }

    /// Adds the folder of prompts that is served, and all paths at which the search looks for one
    /// or for the root of the repository.
    fn watch(&self, watched: &mut Watched) {
        if !self.may_be_trusted() {
            return;
        }
        // What is created or deleted at these paths may make another folder the project's.
        for candidate in &self.candidates {
            watched.add_path(&candidate.path);
            watched.add_path(&candidate.repository);
        }
        if let Some(Ok(served)) = self.prompts() {
            served.folder.watch(watched);
        }
    }

    /// Returns the store to which new prompts of the project are written. If the project has no
    /// folder of prompts yet, it is created at the root of the repository or, outside of a
    /// repository, in the working directory.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        if self.about.format != Format::OWN || self.trust.is_some() {
            return None;
        }
        match self.prompts() {
            Some(Ok(served)) => return served.folder.store(),
            Some(Err(problem)) => return Some(Err(problem)),
            None => {}
        }
        let Some(root) = self.root().or(self.candidates.first()) else {
            return Some(Err(Diagnostic::new(Kind::NotWritable, self.absence()?, "")));
        };
        self.served(root, &root.folder, Trusted::Everything)
            .folder
            .store()
    }
}

impl Project {
    /// Returns the project that the folder `from` belongs to, whose prompts in the format `format`
    /// are in its folder `name`.
    ///
    /// `home` is the home directory of the user. With `trust`, only prompts of trusted repositories
    /// are served.
    pub(crate) fn new(
        from: &Path,
        home: Option<&Path>,
        name: &str,
        format: &'static Format,
        trust: Option<Arc<Trust>>,
    ) -> Project {
        let is_own = format == Format::OWN;
        let from = without_symlinks(from);
        let home = home
            .map(without_symlinks)
            .filter(|home| from.starts_with(home));
        let mut candidates = Vec::new();
        for folder in from.ancestors() {
            if !is_searched(folder, &from, home.as_deref()) {
                break;
            }
            // Prompts of another program in the home directory are the user's, not a project's.
            let is_of_user = !is_own && home.as_deref() == Some(folder);
            candidates.push(Candidate {
                folder: folder.to_owned(),
                repository: folder.join(REPOSITORY),
                path: folder.join(name),
                prompts: OnceLock::new(),
                shown: OnceLock::new(),
                has_prompts: !is_of_user,
            });
        }
        let layer = if is_own {
            Layer::PROJECT
        } else {
            Layer::PROJECT_AGENT
        };
        Project {
            about: About::new(layer, format, None),
            candidates,
            from,
            trust,
        }
    }

    /// Returns the nearest folder with prompts that are not served, because it is not trusted.
    fn untrusted(&self) -> Option<&Path> {
        let candidates = self.in_repository();
        let nearest = candidates.iter().find(|candidate| candidate.exists())?;
        if self.trusted(&nearest.folder) == Trusted::Nothing {
            Some(&nearest.folder)
        } else {
            None
        }
    }

    /// Returns the prompts of a linked worktree, if those are the prompts of the project.
    fn worktree(&self) -> Option<ServedPrompts<'_>> {
        let served = self.prompts()?.ok()?;
        if served.is_worktree {
            Some(served)
        } else {
            None
        }
    }

    /// Returns whether, judging by paths alone, the folder can be in a trusted repository or in a
    /// linked worktree of one. Most folders cannot, and then nothing is searched. Always true if no
    /// trust is needed.
    fn may_be_trusted(&self) -> bool {
        let Some(trust) = &self.trust else {
            return true;
        };
        let roots = trust.roots();
        if roots.is_empty() {
            return false;
        }
        if roots.iter().any(|root| self.from.starts_with(root)) {
            return true;
        }
        // In a linked worktree, `.git` is a file.
        self.root().is_some_and(|root| root.repository.is_file())
    }

    /// Returns what the user trusts of a folder; everything if the user asked for its prompts.
    fn trusted(&self, folder: &Path) -> Trusted {
        match &self.trust {
            Some(trust) => trust.of(folder),
            None => Trusted::Everything,
        }
    }

    /// Returns the candidate that is the root of the repository; `None` outside of a repository.
    fn root(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.is_root())
    }

    /// Returns the candidates up to the root of the repository, which is the last one. Outside of a
    /// repository, it is only the first candidate, if there is one.
    fn in_repository(&self) -> &[Candidate] {
        let root = self.candidates.iter().position(Candidate::is_root);
        let last = root.unwrap_or(0);
        self.candidates.get(..=last).unwrap_or_default()
    }

    /// Returns the prompts that are served from the nearest folder of prompts that is trusted;
    /// `None` if there is no such folder.
    ///
    /// # Errors
    /// The folder is a symlink that points outside of the repository.
    fn prompts(&self) -> Option<Result<ServedPrompts<'_>, Diagnostic>> {
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
                None => Ok(self.served(candidate, root, trusted)),
            });
        }
        None
    }

    /// Opens the folder of prompts of a candidate. Its symlinks may lead only to the folder itself
    /// or the repository.
    fn served<'c>(
        &self,
        candidate: &'c Candidate,
        repository: &Path,
        trusted: Trusted,
    ) -> ServedPrompts<'c> {
        let guard = self.guard(candidate, trusted);
        let is_worktree = guard.is_some();
        let opened = if is_worktree {
            &candidate.shown
        } else {
            &candidate.prompts
        };
        let folder = opened.get_or_init(|| {
            let path = candidate.path.clone();
            let reach = Reach::Confined {
                folder: path.clone(),
                repository: repository.to_owned(),
            };
            let mut root = Root::new(path, self.about.format, reach);
            root.guard = guard.map(|worktree| Arc::new(worktree) as Arc<dyn TextGuard>);
            Arc::new(Folder::new(root, self.about.layer))
        });
        ServedPrompts {
            folder,
            root: &candidate.folder,
            is_worktree,
        }
    }

    /// Returns the guard that decides which texts of a candidate are served; `None` if all of them
    /// are.
    fn guard(&self, candidate: &Candidate, trusted: Trusted) -> Option<Worktree> {
        let Trusted::ShownOf(main) = trusted else {
            return None;
        };
        let trust = self.trust.as_ref()?;
        Some(Worktree {
            records: Arc::clone(&trust.records),
            main,
            root: candidate.folder.clone(),
        })
    }
}

impl ProjectPrompts for Project {
    fn folder(&self) -> Option<PathBuf> {
        Some(self.prompts()?.ok()?.folder.files.root.path.clone())
    }

    /// Returns why there are no prompts of a project that the user asked for, that is, without
    /// `trust`.
    fn absence(&self) -> Option<String> {
        if self.trust.is_some() || self.prompts().is_some() {
            return None;
        }
        let from = full_path(&self.from);
        Some(if self.candidates.is_empty() {
            format!(
                "no project prompts: everyone can write to {from}; change to a folder of your own"
            )
        } else {
            format!(
                "no project prompts: there is no folder {PROJECT_FOLDER} in {from}, or above it in its repository"
            )
        })
    }

    /// Returns a hint if the project has prompts that are not served, because the user does not
    /// trust them, or was not shown the texts of this worktree.
    fn untrusted_hint(&self) -> Option<String> {
        let Some(root) = self.untrusted() else {
            return self.worktree()?.withheld_hint();
        };
        let repair = if repository_of(root, None).is_some() {
            format!("To use them: {}", trust_command(root))
        } else {
            format!(
                "To use them, run `git init` there, and then {}",
                trust_command(root)
            )
        };
        Some(format!(
            "the prompts in {PROJECT_FOLDER} of {} are not used yet. {repair}",
            full_path(root)
        ))
    }

    /// Returns a hint if the prompt exists and is withheld, because the user was not shown its
    /// text.
    fn withheld_hint(&self, name: &Name) -> Option<String> {
        let worktree = self.worktree()?;
        let found = worktree.folder.find(name)?;
        if !worktree.is_withheld(&found) {
            return None;
        }
        Some(format!(
            "the prompt {} of this worktree is not served, because you were not shown its text here; {} shows it",
            in_backticks(name),
            trust_command(worktree.root)
        ))
    }

    /// Returns the texts of the trusted repository that differ from those that the user was shown
    /// last.
    fn changed_texts(&self, list: &dyn Fn() -> Vec<Found>) -> Option<ChangedTexts> {
        let trust = self.trust.as_ref()?;
        if !self.may_be_trusted() {
            return None;
        }
        let mut candidates = self.in_repository().iter();
        let trusted =
            candidates.find(|candidate| trust.of(&candidate.folder) == Trusted::Everything)?;
        let root = &trusted.folder;
        let shown = trust.shown_texts(root);
        let mut texts = project_texts(root, &list());
        texts.retain(|text| !text.is_in(&shown));
        if texts.is_empty() {
            return None;
        }
        Some(ChangedTexts {
            root: root.clone(),
            texts,
            was_ever_shown: shown.was_recorded,
        })
    }
}

impl ServedPrompts<'_> {
    /// Returns whether a prompt of a linked worktree is withheld because its text, or that of a
    /// file that it includes, was never shown to the user.
    fn is_withheld(&self, found: &Found) -> bool {
        if !self.is_worktree {
            return false;
        }
        match found.prompt() {
            Ok(_) => false,
            Err(diagnostic) => diagnostic.kind == Kind::LockMismatch,
        }
    }

    /// Returns a line that counts the prompts that were not shown, if there are any.
    fn withheld_hint(&self) -> Option<String> {
        let mut prompts = self.folder.list().found;
        prompts.retain(|found| self.is_withheld(found));
        if prompts.is_empty() {
            return None;
        }
        let prompts = count(prompts.len(), "prompt");
        let command = trust_command(self.root);
        Some(format!(
            "this worktree has {prompts} with texts that you were not shown, and does not serve them; {command} shows them"
        ))
    }
}

/// Returns whether the search for prompts, which goes up from the folder `from`, looks into a
/// folder.
///
/// It looks into `from`, and into the folders above it up to the home directory if `from` is in
/// that, else up to the root of the file system, which is left out. It ends below a folder such as
/// `/tmp`, in which everybody may create files.
fn is_searched(folder: &Path, from: &Path, home: Option<&Path>) -> bool {
    if is_for_everybody(folder) {
        return false;
    }
    if folder == from {
        return true;
    }
    match home {
        Some(home) => folder.starts_with(home),
        None => folder.parent().is_some(),
    }
}

/// Returns the texts that an agent may get of the prompts of a project with this root: their files,
/// and those that they include and attach. Sorted by path.
pub(crate) fn project_texts(root: &Path, prompts: &[Found]) -> Vec<ProjectText> {
    let mut texts = BTreeMap::new();
    for found in prompts {
        let Some(file) = found.location().file else {
            continue;
        };
        let Ok(text) = found.text() else {
            continue;
        };
        for part in parts_of(root, found) {
            texts.entry(part.path.clone()).or_insert(part);
        }
        let path = path_below(root, &file);
        let text = ProjectText {
            path: path.clone(),
            bytes: text.into_bytes(),
            prompt: Some(found.clone()),
        };
        texts.insert(path, text);
    }
    texts.into_values().collect()
}

/// Returns the files of the project at `root` that a prompt includes or attaches.
fn parts_of(root: &Path, found: &Found) -> Vec<ProjectText> {
    let Ok(prompt) = found.prompt() else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    for included in prompt.included() {
        // Included files outside of the project are built-in prompts.
        if included.file.path.starts_with(root) {
            parts.push(ProjectText {
                path: path_below(root, &included.file.path),
                bytes: included.text.as_bytes().to_vec(),
                prompt: None,
            });
        }
    }
    for (path, bytes) in found.attached_files(&prompt) {
        parts.push(ProjectText {
            path: path_below(root, &path),
            bytes,
            prompt: None,
        });
    }
    parts
}

impl Candidate {
    /// Returns whether this folder is the root of a repository.
    fn is_root(&self) -> bool {
        fs::symlink_metadata(&self.repository).is_ok()
    }

    /// Returns whether this folder has a folder of prompts that counts, or a symlink in its place.
    fn exists(&self) -> bool {
        self.has_prompts && fs::symlink_metadata(&self.path).is_ok()
    }

    /// Returns an error if the path of the folder of prompts has a symlink below this folder, and
    /// the symlink is broken or leads out of the project at `root`.
    fn problem_with_symlink(&self, root: &Path) -> Option<Diagnostic> {
        let path = &self.path;
        let mut steps = path.ancestors().take_while(|step| **step != *self.folder);
        if !steps.any(Path::is_symlink) {
            return None;
        }
        let Ok(target) = fs::canonicalize(path) else {
            let fix = "point it at a folder of the project, or delete it";
            return Some(Diagnostic::new(Kind::OutsideFolder, BROKEN_LINK, fix).in_file(&**path));
        };
        if fs::canonicalize(root).is_ok_and(|root| target.starts_with(root)) {
            return None;
        }
        let target = full_path(&target);
        let message =
            format!("the symlink points outside the project, to {target}, and is not followed");
        let fix =
            "put the prompts into the project, or name their folder in `prompts` of config.toml";
        Some(Diagnostic::new(Kind::OutsideFolder, message, fix).in_file(&**path))
    }
}

/// Returns the path of a folder with all symlinks resolved, as the system reports the working
/// directory.
fn without_symlinks(path: &Path) -> PathBuf {
    let resolved = if cfg!(windows) {
        std::path::absolute(path)
    } else {
        fs::canonicalize(path)
    };
    resolved.unwrap_or_else(|_| path.to_owned())
}
