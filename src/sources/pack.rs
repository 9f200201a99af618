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

pub(crate) mod bounds;
pub(crate) mod git;
pub(crate) mod lock;
mod processes;
pub(crate) mod run;

use crate::library::{
    About, Cache, Folder, Found, Layer, Listing, PROJECT_FOLDER, ProjectPrompts, Reach, Root,
    SETTLING, Source, TextGuard, Trace, Watched, below, create_with_folders, failed, read, replace,
};
use crate::prompt::{Diagnostic, Format, Kind, MAX_FILE, Name};
use crate::whole_file::FileAccess;
use crate::wording::named;
use lock::{LOCK, Pack, hash_of};
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The packs of the user, and those of a project. Of two with one name, that of the user is served.
#[derive(Debug)]
pub(crate) struct Packs {
    about: About,
    /// The `packs.lock` of the user.
    lock: PathBuf,
    project: Option<Arc<dyn ProjectPrompts>>,
    /// The folder of all copies.
    data: PathBuf,
    folders: Cache<Folders>,
}

/// A pack, and the folder of its copies.
type Copied = (Arc<Pack>, Arc<Folder>);

/// The packs of a lock, or what is wrong with it.
type Folders = Arc<Result<Vec<Copied>, Diagnostic>>;

impl Packs {
    /// `lock`: the one of the user. `data`: the folder of all copies.
    pub(crate) fn new(
        lock: PathBuf,
        project: Option<Arc<dyn ProjectPrompts>>,
        data: PathBuf,
    ) -> Packs {
        let about = About::new(Layer::PACK, Format::OWN, None);
        Packs {
            about,
            lock,
            project,
            data,
            folders: Cache::new(2, SETTLING),
        }
    }

    /// The locks that count: that of a project only if it is trusted.
    fn locks(&self) -> impl Iterator<Item = PathBuf> {
        let of_project = self.project.as_ref().and_then(|project| project.folder());
        std::iter::once(self.lock.clone()).chain(of_project.map(|folder| folder.join(LOCK)))
    }

    /// The first pack of each name; and what is wrong with the others, and with the locks.
    fn served(&self) -> (BTreeMap<String, Copied>, Vec<Diagnostic>) {
        let (mut served, mut problems) = (BTreeMap::new(), Vec::new());
        for lock in self.locks() {
            let folders = self.folders.get(&lock, |trace| self.read(&lock, trace));
            problems.extend(folders.as_ref().as_ref().err().cloned());
            for (pack, folder) in folders.iter().flatten() {
                let Entry::Occupied(_) = served.entry(pack.name.clone()) else {
                    served.insert(pack.name.clone(), (Arc::clone(pack), Arc::clone(folder)));
                    continue;
                };
                let message = format!(
                    "the project's pack {} is not served: you have one of this name",
                    named(&pack.name)
                );
                let fix = "remove yours, and add it again with another name (`--as`)";
                problems.push(Diagnostic::new(Kind::Clash, message, fix).in_file(&*lock));
            }
        }
        (served, problems)
    }

    fn read(&self, lock: &Path, trace: &mut Trace) -> Folders {
        trace.look(lock);
        let copies = Copies::of(&self.data, lock);
        let folder = |pack: Pack| {
            let pack = Arc::new(pack);
            (
                Arc::clone(&pack),
                Arc::new(folder_of_copies(copies.folder_of(&pack), pack)),
            )
        };
        let packs = load(lock).inspect_err(|_| trace.distrust());
        Arc::new(packs.map(|(packs, _)| packs.into_iter().map(folder).collect()))
    }
}

impl Source for Packs {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let (pack, _) = name.split_once('/')?;
        self.served().0.get(pack)?.1.find(name)
    }

    fn list(&self) -> Listing {
        let (served, problems) = self.served();
        let mut all = Listing {
            problems,
            ..Listing::default()
        };
        for (pack, folder) in served.values() {
            let Listing {
                found, problems, ..
            } = folder.list();
            if found.len() < pack.files.len() {
                let root = &folder.files.root.path;
                all.problems.extend(differing(pack, root, false));
            }
            all.problems.extend(problems);
            all.found.extend(found);
        }
        all.found.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn at(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.served()
            .0
            .values()
            .find_map(|(_, folder)| folder.at(path))
    }

    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.served().1;
        problems.retain(|problem| problem.kind != Kind::Clash); // lists say this
        problems
    }

    fn watch(&self, watched: &mut Watched) {
        self.locks().for_each(|lock| watched.add_path(&lock));
        self.served()
            .0
            .values()
            .for_each(|(_, folder)| folder.watch(watched));
    }
}

/// Serves only the files of a pack.
#[derive(Debug)]
struct PackGuard {
    folder: PathBuf,
    pack: Arc<Pack>,
}

impl TextGuard for PackGuard {
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.pack.check(&below(&self.folder, path), bytes)
    }
}

/// Returns the source of the copies of a pack. Each file must have its hash.
fn folder_of_copies(folder: PathBuf, pack: Arc<Pack>) -> Folder {
    // It is in the data folder, which is the user's own.
    let mut root = Root::new(folder.clone(), pack.format(), Reach::Own);
    root.prefix = format!("{}/", pack.name);
    let version = pack.version();
    root.guard = Some(Arc::new(PackGuard { folder, pack }));
    Folder::of_pack(root, &version)
}

/// What is wrong with the files of a pack in a folder: they are missing, or, if they are read, are
/// not those of the pack.
pub(crate) fn differing(pack: &Pack, folder: &Path, are_read: bool) -> Vec<Diagnostic> {
    if !folder.exists() {
        return vec![pack.differs("all are missing").in_file(folder)];
    }
    let is_wrong = |file: &&String| {
        !folder.join(file).exists() || (are_read && text_of(pack, folder, file).is_none())
    };
    let wrong = pack.files.keys().filter(is_wrong);
    wrong
        .map(|file| {
            pack.differs("it is missing, or has another text")
                .in_file(folder.join(file))
        })
        .collect()
}

/// The text of a file in a folder, if it is the one of the pack.
pub(crate) fn text_of(pack: &Pack, folder: &Path, file: &str) -> Option<String> {
    let bytes = read(&folder.join(file), MAX_FILE).ok()?;
    pack.check(file, &bytes)
        .ok()
        .and_then(|()| String::from_utf8(bytes).ok())
}

/// The packs of a lock, and its text; `None` if there is no lock.
///
/// # Errors
/// It cannot be read, or was edited into something else.
pub(crate) fn load(path: &Path) -> Result<(Vec<Pack>, Option<String>), Diagnostic> {
    // A link in a clone could name any file, whose lines the error would show.
    if path.is_symlink()
        && path
            .parent()
            .is_some_and(|folder| folder.ends_with(PROJECT_FOLDER))
    {
        let message = "a symlink is not read as the lock of a project";
        return Err(
            Diagnostic::new(Kind::Escapes, message, "replace it with a file").in_file(path),
        );
    }
    let bytes = match read(path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind == Kind::Missing => return Ok((Vec::new(), None)),
        Err(error) => return Err(error.in_file(path)),
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((
        lock::parse(&text).map_err(|error| error.in_file(path))?,
        Some(text),
    ))
}

/// Writes a lock in one step, unless it is no longer as it was read.
///
/// # Errors
/// It was changed meanwhile, or cannot be written.
pub(crate) fn save(
    path: &Path,
    original: Option<&str>,
    packs: &mut [Pack],
) -> Result<String, Diagnostic> {
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    let text = serde_json::to_string_pretty(packs).unwrap_or_default() + "\n";
    match original {
        None => create_with_folders(path, &text, FileAccess::Shared)?,
        Some(original)
            if replace(path, original.as_bytes(), &text)
                .map_err(|error| failed(path, &error))? => {}
        Some(_) => {
            let message = "another program has changed it meanwhile, and nothing is written";
            return Err(Diagnostic::new(Kind::Busy, message, "try again").in_file(path));
        }
    }
    Ok(text)
}

/// What the name of a temporary folder begins with.
const NEW: &str = ".new-";

/// The copies of the packs of one lock.
#[derive(Debug)]
pub(crate) struct Copies {
    folder: PathBuf,
}

impl Copies {
    /// The copies of the packs of a lock. `data`: the folder of all copies.
    pub(crate) fn of(data: &Path, lock: &Path) -> Copies {
        let hash = hash_of(lock.as_os_str().as_encoded_bytes());
        Copies {
            folder: data.join(&hash[..16]),
        }
    }

    /// The folder of a pack; another commit, path or selection of files has another one.
    pub(crate) fn folder_of(&self, pack: &Pack) -> PathBuf {
        let hash = hash_of(&serde_json::to_vec(pack).unwrap_or_default());
        self.folder
            .join(format!("{}-{}", pack.version(), &hash[..16]))
    }

    /// A new folder for what is not served yet. It is deleted when it is dropped, or else by
    /// [`Copies::remove_leftovers`].
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn temporary(&self) -> Result<TempDir, Diagnostic> {
        let make = || {
            tempfile::Builder::new()
                .prefix(NEW)
                .tempdir_in(&self.folder)
        };
        fs::create_dir_all(&self.folder)
            .and_then(|()| make())
            .map_err(|error| failed(&self.folder, &error))
    }

    /// Writes the files of a pack into a new folder, from which they can be read as prompts.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn write(
        &self,
        pack: &Pack,
        texts: &BTreeMap<String, String>,
    ) -> Result<(TempDir, Folder), Diagnostic> {
        let new = self.temporary()?;
        let write = |(file, text)| {
            let path = new.path().join(file);
            fs::create_dir_all(path.parent().unwrap_or(new.path()))?;
            fs::write(&path, text)?;
            let mut permissions = fs::metadata(&path)?.permissions();
            permissions.set_readonly(true);
            fs::set_permissions(&path, permissions)
        };
        texts
            .iter()
            .try_for_each(write)
            .map_err(|error: std::io::Error| failed(new.path(), &error))?;
        let folder = folder_of_copies(new.path().to_owned(), Arc::new(pack.clone()));
        Ok((new, folder))
    }

    /// Moves the files that [`Copies::write`] has written to where they are served from.
    ///
    /// # Errors
    /// The folder cannot be renamed.
    pub(crate) fn put_in_place(&self, pack: &Pack, new: TempDir) -> Result<(), Diagnostic> {
        let folder = self.folder_of(pack);
        _ = fs::remove_dir_all(&folder); // copies of the same texts, of which some differ
        fs::rename(new.keep(), &folder).map_err(|error| failed(&folder, &error))
    }

    /// Deletes what [`Copies::temporary`] has made for a process that was killed.
    pub(crate) fn remove_leftovers(&self) {
        for path in self.entries() {
            let name = path.file_name().unwrap_or_default();
            if name.as_encoded_bytes().starts_with(NEW.as_bytes()) {
                _ = fs::remove_dir_all(path);
            }
        }
    }

    /// Deletes what no pack of the lock needs any more.
    pub(crate) fn clean(&self, packs: &[Pack]) {
        let needed: BTreeSet<PathBuf> = packs.iter().map(|pack| self.folder_of(pack)).collect();
        self.entries()
            .filter(|path| !needed.contains(path))
            .for_each(|path| _ = fs::remove_dir_all(path));
    }

    fn entries(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    }
}
