//! The prompts of a project.
//!
//! They are in the nearest `.prompts` folder, searched for upwards from the working directory to
//! the root of its repository. The prompts of an agent, e.g. in `.claude/commands`, are found in
//! the same way. Outside of a repository, only the working directory itself is searched. The search
//! is repeated for every message, because the folder may be created or deleted at any time.
//!
//! Some folders are never searched, because another user could put a `.prompts` there or turn them
//! into a repository: the parents of the user's home directory, the root of the file system, and a
//! sticky folder that everyone can write to (e.g. `/tmp`) together with its parents.
//!
//! A cloned repository is less trusted than the user's own folders. Its prompts can only read files
//! of the repository: `.prompts` may be a symlink to another folder in it, and no symlink in
//! `.prompts` may point outside of that folder. Agents share files by symlinks between their
//! folders (`.claude/skills/x` to `.agents/skills/x`), so those in their folders may point to any
//! file of the repository (see `reach.rs`).

use super::shown::{ShownTextsGuard, path_in_record};
use super::trust::{Trust, TrustLevel};
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

/// The source of a project's prompts.
#[derive(Debug)]
pub(crate) struct Project {
    about: About,
    /// The folder where the search starts.
    start: PathBuf,
    /// The folders that may be searched: `start` and its parents, in this order.
    candidates: Vec<CandidateFolder>,
    /// What the user trusts, or `None` if `--project` was passed, which trusts this project.
    trust: Option<Arc<Trust>>,
}

/// A folder that may contain a folder of prompts.
#[derive(Debug)]
struct CandidateFolder {
    folder: PathBuf,
    /// Its `.git`, which exists only in the root of a repository.
    git: PathBuf,
    /// Its folder of prompts, which may not exist.
    prompts: PathBuf,
    /// Whether `prompts` would belong to the project, and not to the user.
    is_of_project: bool,
    /// `prompts`, opened to serve all texts.
    unguarded: OnceLock<Arc<Folder>>,
    /// `prompts`, opened to serve only texts that the user was shown.
    guarded: OnceLock<Arc<Folder>>,
}

/// The folder of prompts that is served at present.
struct ServedPrompts<'p> {
    folder: &'p Arc<Folder>,
    /// The parent of the folder of prompts: `/repo` for `/repo/.prompts`.
    root: &'p Path,
    /// Whether only texts that the user was shown are served, because this is a linked worktree of
    /// a trusted repository.
    is_worktree: bool,
}

impl Source for Project {
    fn about(&self) -> &About {
        &self.about
    }

    /// Returns the prompt with this name, unless the user must be shown its text first.
    fn find(&self, name: &Name) -> Option<Found> {
        let served = self.served_prompts()?.ok()?;
        let found = served.folder.find(name)?;
        if served.is_withheld(&found) {
            None
        } else {
            Some(found)
        }
    }

    /// Lists the served prompts of the project. Leaves out those whose text the user must be shown
    /// first.
    fn list(&self) -> Listing {
        match self.served_prompts() {
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

    /// Returns the prompt in a file, if the file is in the served folder of prompts.
    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.served_prompts()?.ok()?.folder.find_by_path(path)
    }

    /// Returns why the folder of prompts can't be read. There are no problems without such a
    /// folder.
    fn problems(&self) -> Vec<Diagnostic> {
        match self.served_prompts() {
            Some(Ok(served)) => served.folder.problems(),
            Some(Err(problem)) => vec![problem],
            None => Vec::new(),
        }
    }

    /// Watches the served folder of prompts, and every path that the search looks at.
    fn watch(&self, watched: &mut Watched) {
        if !self.may_be_trusted() {
            return;
        }
        // If one of these paths is created or deleted, another folder may become the project's.
        for candidate in &self.candidates {
            watched.add_path(&candidate.prompts);
            watched.add_path(&candidate.git);
        }
        if let Some(Ok(served)) = self.served_prompts() {
            served.folder.watch(watched);
        }
    }

    /// Returns the store for new prompts, but only if `--project` was passed. A missing `.prompts`
    /// will be created in the root of the repository or, outside of one, in the working directory.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        if self.about.format != Format::OWN || self.trust.is_some() {
            return None;
        }
        match self.served_prompts() {
            Some(Ok(served)) => return served.folder.store(),
            Some(Err(problem)) => return Some(Err(problem)),
            None => {}
        }
        let Some(root) = self.repository_root().or(self.candidates.first()) else {
            return Some(Err(Diagnostic::new(
                Kind::NotWritable,
                self.missing_hint()?,
                "",
            )));
        };
        let new = self.open(root, &root.folder, TrustLevel::Everything);
        new.folder.store()
    }
}

impl Project {
    /// Returns the source of the project that contains the folder `start`. Its prompts have the
    /// given format and are in folders named `prompts_folder`, e.g. `.prompts`.
    ///
    /// `home` is the user's home directory. If `trust` is `None`, the project is trusted.
    pub(crate) fn new(
        start: &Path,
        home: Option<&Path>,
        prompts_folder: impl AsRef<Path>,
        format: &'static Format,
        trust: Option<Arc<Trust>>,
    ) -> Project {
        let is_own_format = format == Format::OWN;
        let start = without_symlinks(start);
        let home_above_start = home
            .map(without_symlinks)
            .filter(|home| start.starts_with(home));
        let mut candidates = Vec::new();
        for folder in start.ancestors() {
            if !is_searched(folder, &start, home_above_start.as_deref()) {
                break;
            }
            // `~/.claude/commands` has the user's own prompts, although `.claude/commands` in any
            // other folder has those of a project.
            let is_home = home_above_start.as_deref() == Some(folder);
            candidates.push(CandidateFolder {
                folder: folder.to_owned(),
                git: folder.join(REPOSITORY),
                prompts: folder.join(&prompts_folder),
                is_of_project: is_own_format || !is_home,
                unguarded: OnceLock::new(),
                guarded: OnceLock::new(),
            });
        }
        let layer = if is_own_format {
            Layer::PROJECT
        } else {
            Layer::PROJECT_AGENT
        };
        Project {
            about: About::new(layer, format, None),
            candidates,
            start,
            trust,
        }
    }

    /// Returns the parent of the nearest folder of prompts, if the user doesn't trust it.
    fn nearest_untrusted(&self) -> Option<&Path> {
        let candidates = self.candidates_in_repository();
        let nearest = candidates
            .iter()
            .find(|candidate| candidate.has_prompts())?;
        if self.trust_level(&nearest.folder) == TrustLevel::Nothing {
            Some(&nearest.folder)
        } else {
            None
        }
    }

    /// Returns the served prompts if they are those of a linked worktree.
    fn served_worktree(&self) -> Option<ServedPrompts<'_>> {
        let served = self.served_prompts()?.ok()?;
        if served.is_worktree {
            Some(served)
        } else {
            None
        }
    }

    /// Returns `false` if the paths alone show that nothing here is trusted, which spares the
    /// search in most folders: `start` is neither in a trusted repository nor in any linked
    /// worktree.
    fn may_be_trusted(&self) -> bool {
        let Some(trust) = &self.trust else {
            return true;
        };
        let roots = trust.roots();
        if roots.is_empty() {
            return false;
        }
        if roots.iter().any(|root| self.start.starts_with(root)) {
            return true;
        }
        // In a linked worktree, `.git` is a file.
        self.repository_root()
            .is_some_and(|root| root.git.is_file())
    }

    /// Returns how far the user trusts the prompts in a folder. A project that the user named is
    /// trusted, because it has no trust settings.
    fn trust_level(&self, folder: &Path) -> TrustLevel {
        match &self.trust {
            Some(trust) => trust.level(folder),
            None => TrustLevel::Everything,
        }
    }

    /// Returns the root of the innermost repository, or `None` outside of a repository.
    fn repository_root(&self) -> Option<&CandidateFolder> {
        let mut candidates = self.candidates.iter();
        candidates.find(|candidate| candidate.is_repository_root())
    }

    /// Returns the candidates up to and including the root of the repository. Outside of a
    /// repository, returns only the first candidate, if there is one.
    fn candidates_in_repository(&self) -> &[CandidateFolder] {
        let mut candidates = self.candidates.iter();
        match candidates.position(CandidateFolder::is_repository_root) {
            Some(root_index) => &self.candidates[..=root_index],
            // Outside of a repository, no folder above marks where the project ends.
            None => self.candidates.get(..1).unwrap_or_default(),
        }
    }

    /// Returns the nearest trusted folder of prompts, or `None` if there is none.
    ///
    /// # Errors
    /// Fails if that folder is a broken symlink, or one that points outside of the repository.
    fn served_prompts(&self) -> Option<Result<ServedPrompts<'_>, Diagnostic>> {
        if !self.may_be_trusted() {
            return None;
        }
        let candidates = self.candidates_in_repository();
        let root = &candidates.last()?.folder;
        for candidate in candidates {
            if !candidate.has_prompts() {
                continue;
            }
            let level = self.trust_level(&candidate.folder);
            if level == TrustLevel::Nothing {
                continue; // e.g. an unpacked archive in a trusted repository
            }
            return Some(match candidate.symlink_problem(root) {
                Some(problem) => Err(problem),
                None => Ok(self.open(candidate, root, level)),
            });
        }
        None
    }

    /// Opens the folder of prompts of a candidate. Its symlinks are confined to the repository or,
    /// for `.prompts`, to the folder itself.
    fn open<'c>(
        &self,
        candidate: &'c CandidateFolder,
        repository: &Path,
        level: TrustLevel,
    ) -> ServedPrompts<'c> {
        let guard = self.worktree_guard(candidate, level);
        let is_worktree = guard.is_some();
        // A candidate can turn from a repository into a worktree, so it keeps both folders.
        let opened = if is_worktree {
            &candidate.guarded
        } else {
            &candidate.unguarded
        };
        let folder = opened.get_or_init(|| {
            let path = candidate.prompts.clone();
            let is_own_format = self.about.format == Format::OWN;
            let linkable_folder = if is_own_format { &path } else { repository };
            let reach = Reach::Confined {
                folder: linkable_folder.to_owned(),
                repository: repository.to_owned(),
            };
            let mut root = Root::new(path, self.about.format, reach);
            root.guard = guard.map(|guard| Arc::new(guard) as Arc<dyn TextGuard>);
            Arc::new(Folder::new(root, self.about.layer))
        });
        ServedPrompts {
            folder,
            root: &candidate.folder,
            is_worktree,
        }
    }

    /// Returns a guard that lets only texts through that the user was shown, or `None` if all texts
    /// of the candidate are served.
    fn worktree_guard(
        &self,
        candidate: &CandidateFolder,
        level: TrustLevel,
    ) -> Option<ShownTextsGuard> {
        let TrustLevel::ShownTexts { repository } = level else {
            return None;
        };
        let trust = self.trust.as_ref()?;
        Some(ShownTextsGuard {
            records: Arc::clone(&trust.records),
            repository,
            worktree: candidate.folder.clone(),
        })
    }
}

impl ProjectPrompts for Project {
    /// Returns the served folder of prompts, e.g. `/repo/.prompts`.
    fn folder(&self) -> Option<PathBuf> {
        let served = self.served_prompts()?.ok()?;
        Some(served.folder.files.root.path.clone())
    }

    /// Explains why there are no project prompts, if the user asked for them. Returns `None` if
    /// there are some.
    fn missing_hint(&self) -> Option<String> {
        let is_asked_for = self.trust.is_none(); // the user named the project
        if !is_asked_for || self.served_prompts().is_some() {
            return None;
        }
        let start = full_path(&self.start);
        Some(if self.candidates.is_empty() {
            format!(
                "no project prompts: everyone can write to {start}; change to a folder of your own"
            )
        } else {
            format!(
                "no project prompts: there is no folder {PROJECT_FOLDER} in {start}, or above it in its repository"
            )
        })
    }

    /// Explains why prompts of the nearest folder are not served, or returns `None` if all are: the
    /// user doesn't trust the folder, or it is in a linked worktree with texts that the user was
    /// not shown.
    fn untrusted_hint(&self) -> Option<String> {
        let Some(root) = self.nearest_untrusted() else {
            return self.served_worktree()?.withheld_hint();
        };
        let fix = if repository_of(root, None).is_some() {
            format!("To use them: {}", trust_command(root))
        } else {
            // Only repositories can be trusted.
            format!(
                "To use them, run `git init` there, and then {}",
                trust_command(root)
            )
        };
        Some(format!(
            "the prompts in {PROJECT_FOLDER} of {} are not used yet. {fix}",
            full_path(root)
        ))
    }

    /// Explains why the prompt with this name is not served: it is in a linked worktree, and the
    /// user was not shown its text. `None` if it is served, or doesn't exist.
    fn withheld_hint(&self, name: &Name) -> Option<String> {
        let worktree = self.served_worktree()?;
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

    /// Returns the texts in the trusted repository that differ from those that the user was shown,
    /// or `None` if there are none. `list` is slow, so it is only called if the project is trusted.
    fn changed_texts(&self, list: &dyn Fn() -> Vec<Found>) -> Option<ChangedTexts> {
        let trust = self.trust.as_ref()?;
        if !self.may_be_trusted() {
            return None;
        }
        let mut candidates = self.candidates_in_repository().iter();
        let trusted = candidates
            .find(|candidate| trust.level(&candidate.folder) == TrustLevel::Everything)?;
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
        })
    }
}

impl ServedPrompts<'_> {
    /// Returns whether a prompt of a linked worktree is withheld, because the user was never shown
    /// its text, or the text of a file that it includes.
    fn is_withheld(&self, found: &Found) -> bool {
        if !self.is_worktree {
            return false;
        }
        match found.prompt() {
            Ok(_) => false,
            Err(diagnostic) => diagnostic.kind == Kind::LockMismatch,
        }
    }

    /// Returns a hint with the number of withheld prompts, if there are any.
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

/// Returns whether `folder`, which is `start` or one of its parents, is searched for prompts. If it
/// isn't, neither are its parents.
///
/// `home` is the user's home directory if `start` is in it, and then nothing above it is searched.
fn is_searched(folder: &Path, start: &Path, home: Option<&Path>) -> bool {
    if is_for_everybody(folder) {
        return false; // e.g. `/tmp`
    }
    if folder == start {
        return true;
    }
    match home {
        Some(home) => folder.starts_with(home),
        None => folder.parent().is_some(), // anything but the root of the file system
    }
}

/// Returns the texts that agents may get from the given prompts of the project at `root`: their
/// files, and the files that they include or attach. Sorted by path.
pub(crate) fn project_texts(root: &Path, prompts: &[Found]) -> Vec<ProjectText> {
    let mut texts_by_path = BTreeMap::new();
    for found in prompts {
        let Some(file) = found.location().file else {
            continue;
        };
        let Ok(text) = found.text() else {
            continue;
        };
        for used in used_texts(root, found) {
            texts_by_path.entry(used.path.clone()).or_insert(used);
        }
        let path = path_in_record(root, &file);
        let text = ProjectText {
            path: path.clone(),
            bytes: text.into_bytes(),
            prompt: Some(found.clone()),
        };
        // Replaces the text if another prompt includes this one, because this one has `prompt` set.
        texts_by_path.insert(path, text);
    }
    texts_by_path.into_values().collect()
}

/// Returns the texts of the files that a prompt includes or attaches.
fn used_texts(root: &Path, found: &Found) -> Vec<ProjectText> {
    let Ok(prompt) = found.prompt() else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    for included in prompt.included() {
        // A project can only include its own files and built-in prompts, which need no trust.
        if included.file.path.starts_with(root) {
            texts.push(ProjectText {
                path: path_in_record(root, &included.file.path),
                bytes: included.text.as_bytes().to_vec(),
                prompt: None,
            });
        }
    }
    for attached in found.attached_files(&prompt) {
        texts.push(ProjectText {
            path: path_in_record(root, &attached.path),
            bytes: attached.bytes,
            prompt: None,
        });
    }
    texts
}

impl CandidateFolder {
    /// Returns whether this folder is the root of a repository.
    fn is_repository_root(&self) -> bool {
        fs::symlink_metadata(&self.git).is_ok()
    }

    /// Returns whether this folder contains a project's folder of prompts, or a symlink in its
    /// place, even a broken one.
    fn has_prompts(&self) -> bool {
        self.is_of_project && fs::symlink_metadata(&self.prompts).is_ok()
    }

    /// Returns an error if the folder of prompts is, or is in, a symlink that is broken or points
    /// outside of the repository at `root`.
    fn symlink_problem(&self, root: &Path) -> Option<Diagnostic> {
        let path = &self.prompts;
        // For `.claude/commands`, either of the two folders may be a symlink.
        let mut parts = path.ancestors().take_while(|part| **part != *self.folder);
        if !parts.any(Path::is_symlink) {
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

/// Resolves the symlinks in a path, like the working directory that the system reports. Returns the
/// path unchanged if it doesn't exist.
fn without_symlinks(path: &Path) -> PathBuf {
    let resolved = if cfg!(windows) {
        // `canonicalize` would return a verbatim path there, such as `\\?\C:\repo`.
        std::path::absolute(path)
    } else {
        fs::canonicalize(path)
    };
    resolved.unwrap_or_else(|_| path.to_owned())
}
