//! Packs: prompts from git repositories, each pinned to a commit.
//!
//! What is served are copies, which only a person who was shown the texts has made
//! ([`Copies::write`]). They are read as any folder is read; in addition, each file must have the
//! hash that `packs.lock` says. Nothing here connects to anything: `pack/git.rs` does, and only for
//! the command `pack`.
//!
//! An update writes the new copies into a folder of their own, and then replaces the lock in one
//! step. So readers find the old pack or the new one, also while an update runs, or after one was
//! killed.

mod copies;
pub(crate) mod git;
pub(crate) mod git_limits;
pub(crate) mod pack_lock;
mod processes;
pub(crate) mod run;

pub(crate) use copies::{Copies, NewCopies, differing_files, text_of};

use crate::library::{
    About, Cache, Folder, Found, Layer, Listing, MIN_STAMP_AGE, ProjectPrompts, Source, Trace,
    Watched,
};
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::wording::in_backticks;
use copies::{folder_of_copies, missing_files};
use pack_lock::{LOCK, Pack, PackLock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The source of the user's packs and of those of a project.
#[derive(Debug)]
pub(crate) struct Packs {
    about: About,
    /// The `packs.lock` of the user.
    user_lock: PathBuf,
    project: Option<Arc<dyn ProjectPrompts>>,
    /// The folder of all copies.
    data: PathBuf,
    /// The packs of each lock, by the path of the lock.
    packs: Cache<Arc<LockedPacks>>,
}

/// The packs of a lock, or what is wrong with it.
type LockedPacks = Result<Vec<Arc<CopiedPack>>, Diagnostic>;

/// A pack with the folder of its copies.
#[derive(Debug)]
struct CopiedPack {
    pack: Arc<Pack>,
    folder: Folder,
}

/// The packs that are served at this moment.
#[derive(Default)]
struct ServedPacks {
    by_name: BTreeMap<String, Arc<CopiedPack>>,
    /// What is wrong with the locks, and an error for each pack that is not served.
    problems: Vec<Diagnostic>,
}

impl Packs {
    /// Returns the source of the packs of a user and, if there is one, of a project. `data` is the
    /// folder of all copies.
    pub(crate) fn new(
        user_lock: PathBuf,
        project: Option<Arc<dyn ProjectPrompts>>,
        data: PathBuf,
    ) -> Packs {
        Packs {
            about: About::new(Layer::PACK, Format::OWN, None),
            user_lock,
            project,
            data,
            packs: Cache::new(2, MIN_STAMP_AGE),
        }
    }

    /// Returns the paths of the locks whose packs are served: the user's, and that of the project
    /// if the user trusts it.
    fn locks(&self) -> Vec<PathBuf> {
        let mut locks = vec![self.user_lock.clone()];
        if let Some(project) = &self.project
            && let Some(folder) = project.folder()
        {
            locks.push(folder.join(LOCK));
        }
        locks
    }

    /// Returns the packs that are served. If the user and the project have packs of one name, the
    /// user's is served.
    fn served(&self) -> ServedPacks {
        let mut served = ServedPacks::default();
        for lock in self.locks() {
            let packs = self.packs.get(&lock, |trace| self.read(&lock, trace));
            match &*packs {
                Ok(packs) => served.add(packs, &lock),
                Err(problem) => served.problems.push(problem.clone()),
            }
        }
        served
    }

    /// Reads the packs of a lock.
    fn read(&self, lock: &Path, trace: &mut Trace) -> Arc<LockedPacks> {
        trace.record(lock);
        let packs = match PackLock::read(lock) {
            Ok(lock) => lock.packs,
            Err(problem) => {
                trace.mark_uncacheable();
                return Arc::new(Err(problem));
            }
        };
        let copies = Copies::of(&self.data, lock);
        let mut copied = Vec::new();
        for pack in packs {
            let pack = Arc::new(pack);
            let folder = folder_of_copies(copies.folder_of(&pack), Arc::clone(&pack));
            copied.push(Arc::new(CopiedPack { pack, folder }));
        }
        Arc::new(Ok(copied))
    }
}

impl ServedPacks {
    /// Adds the packs of a lock whose names no earlier lock has.
    fn add(&mut self, packs: &[Arc<CopiedPack>], lock: &Path) {
        for copied in packs {
            let name = &copied.pack.name;
            if self.by_name.contains_key(name) {
                self.problems.push(overridden_pack(name, lock));
            } else {
                self.by_name.insert(name.clone(), Arc::clone(copied));
            }
        }
    }
}

/// Returns the error for a pack of the project if the user has one of the same name.
fn overridden_pack(name: &str, lock: &Path) -> Diagnostic {
    let name = in_backticks(name);
    let message = format!("the project's pack {name} is not served: you have one of this name");
    let fix = "remove yours, and add it again with another name (`--as`)";
    Diagnostic::new(Kind::NameCollision, message, fix).in_file(lock)
}

impl Source for Packs {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let (pack, _) = name.split_once('/')?;
        let served = self.served();
        served.by_name.get(pack)?.folder.find(name)
    }

    /// Returns the prompts of all packs that are served, sorted by name, with an error for each
    /// file of a pack that is missing.
    fn list(&self) -> Listing {
        let served = self.served();
        let mut all = Listing {
            problems: served.problems,
            ..Listing::default()
        };
        for copied in served.by_name.values() {
            let listing = copied.folder.list();
            if listing.found.len() < copied.pack.files.len() {
                let folder = &copied.folder.files.root.path;
                all.problems.extend(missing_files(&copied.pack, folder));
            }
            all.problems.extend(listing.problems);
            all.found.extend(listing.found);
        }
        all.found.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        let served = self.served();
        let mut packs = served.by_name.values();
        packs.find_map(|copied| copied.folder.find_by_path(path))
    }

    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.served().problems;
        problems.retain(|problem| problem.kind != Kind::NameCollision); // only lists name these
        problems
    }

    fn watch(&self, watched: &mut Watched) {
        for lock in self.locks() {
            watched.add_path(&lock);
        }
        for copied in self.served().by_name.values() {
            copied.folder.watch(watched);
        }
    }
}
