//! Packs: prompts from git repositories, each pinned to a commit.
//!
//! Prompts are served from local copies, which are made only after a user has seen and accepted the
//! texts ([`PackCopies::write`]). They are read like any other folder, except that each file must
//! match its hash in `packs.lock`. Serving never uses the network; only the command `pack` does, in
//! `pack/git.rs`.
//!
//! An update writes its copies to a new folder, and then replaces the lock atomically. Readers
//! therefore see either the old pack or the new one, even if the update is killed.

mod copies;
pub(crate) mod git;
pub(crate) mod git_limits;
pub(crate) mod pack_lock;
mod processes;
pub(crate) mod run;

pub(crate) use copies::{
    NewCopies, PackCopies, copy_errors, damaged_file_errors, read_unchanged, stray_files,
};

use super::settings_problems::UnreadablePrompt;
use crate::library::{
    About, Cache, FileName, Folder, Found, Layer, Listing, MIN_STAMP_AGE, ProjectPrompts, Source,
    Trace, Watched,
};
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::wording::in_backticks;
use copies::{missing_file_errors, prompts_of_copies};
use pack_lock::{CopyProblem, LOCK, Pack, PackLock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of locks: the user's and the project's.
const LOCK_COUNT: usize = 2;

/// The packs of the user and of the current project, as a source of prompts.
#[derive(Debug)]
pub(crate) struct Packs {
    about: About,
    /// The path of the user's `packs.lock`.
    user_lock: PathBuf,
    project: Option<Arc<dyn ProjectPrompts>>,
    /// The folder with the copies of all packs.
    copies_folder: PathBuf,
    /// The packs by the path of their lock file.
    packs_by_lock: Cache<Arc<LockedPacks>>,
}

/// The packs in a lock file, or the error if the file cannot be read.
type LockedPacks = Result<Vec<Arc<CopiedPack>>, Diagnostic>;

#[derive(Debug)]
struct CopiedPack {
    pack: Arc<Pack>,
    /// The local copies of its files.
    folder: Folder,
}

/// The packs that are currently served.
#[derive(Default)]
struct ServedPacks {
    by_name: BTreeMap<String, Arc<CopiedPack>>,
    /// Errors of the locks, and of packs that are not served.
    problems: Vec<Diagnostic>,
}

impl Packs {
    /// Creates a source for the packs in the lock file `user_lock` and, if there is a `project`, in
    /// that of the project. `copies_folder` contains the copies of all packs.
    pub(crate) fn new(
        user_lock: PathBuf,
        project: Option<Arc<dyn ProjectPrompts>>,
        copies_folder: PathBuf,
    ) -> Packs {
        Packs {
            about: About::new(Layer::PACK, Format::OWN, None),
            user_lock,
            project,
            copies_folder,
            packs_by_lock: Cache::new(LOCK_COUNT, MIN_STAMP_AGE),
        }
    }

    /// Returns the paths of the lock files: first the user's, whose packs win, and then, if the
    /// user trusts the project, the project's.
    fn lock_paths(&self) -> Vec<PathBuf> {
        let mut locks = vec![self.user_lock.clone()];
        if let Some(project) = &self.project
            && let Some(folder) = project.folder()
        {
            locks.push(folder.join(LOCK));
        }
        locks
    }

    /// Returns the packs that are currently served. If the user and the project have packs with the
    /// same name, only the user's is served.
    fn served_packs(&self) -> ServedPacks {
        let mut served = ServedPacks::default();
        for lock in self.lock_paths() {
            let packs = self
                .packs_by_lock
                .get(&lock, |trace| self.read_packs(&lock, trace));
            match &*packs {
                Ok(packs) => served.add(packs, &lock),
                Err(problem) => served.problems.push(problem.clone()),
            }
        }
        served
    }

    /// Reads the packs in a lock file, whose state is recorded in `trace`. An error is returned,
    /// but not cached.
    fn read_packs(&self, lock_file: &Path, trace: &mut Trace) -> Arc<LockedPacks> {
        trace.record(lock_file); // before the file is read, so that no change is missed
        let packs = match PackLock::read(lock_file) {
            Ok(pack_lock) => pack_lock.packs,
            Err(problem) => {
                trace.mark_uncacheable(); // no stamp reveals that the error is gone
                return Arc::new(Err(problem));
            }
        };
        let copies = PackCopies::for_lock_file(&self.copies_folder, lock_file);
        let mut copied = Vec::new();
        for pack in packs {
            let pack = Arc::new(pack);
            let folder = prompts_of_copies(copies.folder_of(&pack), Arc::clone(&pack));
            copied.push(Arc::new(CopiedPack { pack, folder }));
        }
        Arc::new(Ok(copied))
    }
}

impl CopiedPack {
    /// Returns the prompt with this name if the lock lists its file, but the copies lack it.
    /// Reading that prompt fails with an error that names the file.
    fn find_missing(&self, name: &Name) -> Option<Found> {
        let root = &self.folder.files.root;
        for path in self.pack.files.keys() {
            let copy = root.path.join(path);
            if let FileName::Prompt(named) = root.name_of(&copy)
                && named.name == *name
                && !copy.exists()
            {
                let error = self.pack.copy_error(CopyProblem::Missing).in_file(copy);
                let about = self.folder.about();
                return Some(Found::new(name.clone(), about, UnreadablePrompt { error }));
            }
        }
        None
    }
}

impl ServedPacks {
    /// Adds the packs of a lock file. Adds a problem instead for each pack whose name is already
    /// taken by a pack of an earlier lock file.
    fn add(&mut self, packs: &[Arc<CopiedPack>], lock_file: &Path) {
        for copied in packs {
            let name = &copied.pack.name;
            if self.by_name.contains_key(name) {
                self.problems.push(overridden_error(name, lock_file));
            } else {
                self.by_name.insert(name.clone(), Arc::clone(copied));
            }
        }
    }
}

/// Returns the error for a pack of the project that has the same name as a pack of the user.
fn overridden_error(name: &str, lock_file: &Path) -> Diagnostic {
    let name = in_backticks(name);
    let message =
        format!("the project's pack {name} is not served: you have one with the same name");
    let fix = "remove yours, and add it again with another name (`--as`)";
    Diagnostic::new(Kind::NameCollision, message, fix).in_file(lock_file)
}

impl Source for Packs {
    fn about(&self) -> &About {
        &self.about
    }

    /// Finds `acme/review` in the pack `acme`. Also finds a prompt whose file the lock lists, but
    /// that is missing: reading it fails. Returns `None` if no served pack has such a prompt.
    fn find(&self, name: &Name) -> Option<Found> {
        let (pack, _) = name.split_once('/')?;
        let served = self.served_packs();
        let copied = served.by_name.get(pack)?;
        if let Some(found) = copied.folder.find(name) {
            return Some(found);
        }
        copied.find_missing(name)
    }

    /// Lists the prompts of all served packs by name. Also reports missing files.
    fn list(&self) -> Listing {
        let served = self.served_packs();
        let mut all = Listing {
            problems: served.problems,
            ..Listing::default()
        };
        for copied in served.by_name.values() {
            let listing = copied.folder.list();
            let folder = &copied.folder.files.root.path;
            all.problems
                .extend(missing_file_errors(&copied.pack, folder));
            all.problems.extend(listing.problems);
            all.found.extend(listing.found);
        }
        all.found.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Returns the prompt in a file, if the file is in the folder of a served pack.
    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        let served = self.served_packs();
        let mut packs = served.by_name.values();
        packs.find_map(|copied| copied.folder.find_by_path(path))
    }

    /// Returns the problems of the lock files.
    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.served_packs().problems;
        // An overridden pack is reported only by `list`.
        problems.retain(|problem| problem.kind != Kind::NameCollision);
        problems
    }

    /// Watches the lock files, because they decide which packs are served, and the folders of the
    /// packs.
    fn watch(&self, watched: &mut Watched) {
        for lock in self.lock_paths() {
            watched.add_path(&lock);
        }
        for copied in self.served_packs().by_name.values() {
            copied.folder.watch(watched);
        }
    }
}
