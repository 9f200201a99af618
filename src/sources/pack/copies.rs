//! The copies of the files of packs, which are what is served. They are in the data folder, in a
//! folder for each lock, and in that in a folder for each pack.

use super::pack_lock::Pack;
use crate::library::{Folder, Reach, Root, TextGuard, file_error, read, relative_path};
use crate::prompt::{Diagnostic, MAX_FILE, sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What the name of a temporary folder begins with.
const TEMPORARY: &str = ".new-";

/// How many digits of a SHA-256 the name of a folder has.
const HASH_IN_NAME: usize = 16;

/// The copies of the packs of one lock.
#[derive(Debug)]
pub(crate) struct Copies {
    /// The folder that has a folder for each pack.
    folder: PathBuf,
}

/// Copies of the files of a pack that are not served yet.
pub(crate) struct NewCopies {
    /// The folder that they are in. It is deleted when this is dropped.
    pub(crate) temporary: TempDir,
    /// The same folder as prompts.
    pub(crate) prompts: Folder,
}

impl Copies {
    /// Returns the copies of the packs of a lock. `data` is the folder of all copies.
    pub(crate) fn of(data: &Path, lock: &Path) -> Copies {
        let hash = sha256(lock.as_os_str().as_encoded_bytes());
        Copies {
            folder: data.join(&hash[..HASH_IN_NAME]),
        }
    }

    /// Returns the folder of a pack. With another commit, path or selection of files, a pack has
    /// another folder.
    pub(crate) fn folder_of(&self, pack: &Pack) -> PathBuf {
        let hash = sha256(&serde_json::to_vec(pack).unwrap_or_default());
        let name = format!("{}-{}", pack.version(), &hash[..HASH_IN_NAME]);
        self.folder.join(name)
    }

    /// Makes a new folder for what is not served yet. It is deleted when it is dropped, or else by
    /// [`Copies::remove_leftovers`].
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn temporary(&self) -> Result<TempDir, Diagnostic> {
        temporary_folder_in(&self.folder).map_err(|error| file_error(&self.folder, &error))
    }

    /// Writes the files of a pack into a new temporary folder, and opens it as a folder of prompts.
    ///
    /// # Errors
    /// The files cannot be written.
    pub(crate) fn write(
        &self,
        pack: &Pack,
        texts: &BTreeMap<String, String>,
    ) -> Result<NewCopies, Diagnostic> {
        let temporary = self.temporary()?;
        let folder = temporary.path();
        for (file, text) in texts {
            write_read_only(folder, file, text).map_err(|error| file_error(folder, &error))?;
        }
        let prompts = folder_of_copies(folder.to_owned(), Arc::new(pack.clone()));
        Ok(NewCopies { temporary, prompts })
    }

    /// Moves the files that [`Copies::write`] has written to where they are served from.
    ///
    /// # Errors
    /// The folder cannot be renamed.
    pub(crate) fn put_in_place(&self, pack: &Pack, new: TempDir) -> Result<(), Diagnostic> {
        let folder = self.folder_of(pack);
        _ = fs::remove_dir_all(&folder); // copies of the same texts, of which some differ
        fs::rename(new.keep(), &folder).map_err(|error| file_error(&folder, &error))
    }

    /// Deletes the folders that [`Copies::temporary`] has made for processes that were killed.
    pub(crate) fn remove_leftovers(&self) {
        for path in self.folders() {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if name.starts_with(TEMPORARY.as_bytes()) {
                _ = fs::remove_dir_all(path);
            }
        }
    }

    /// Deletes what no pack of the lock needs any more.
    pub(crate) fn clean(&self, packs: &[Pack]) {
        let needed: BTreeSet<PathBuf> = packs.iter().map(|pack| self.folder_of(pack)).collect();
        for path in self.folders() {
            if !needed.contains(&path) {
                _ = fs::remove_dir_all(path);
            }
        }
    }

    /// Returns the folders of packs, and temporary ones.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    }
}

/// Makes a temporary folder in a folder, which may be missing.
fn temporary_folder_in(folder: &Path) -> io::Result<TempDir> {
    fs::create_dir_all(folder)?;
    tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempdir_in(folder)
}

/// Writes a read-only file, whose path `file` is relative to the folder, and creates the folders
/// above it.
fn write_read_only(folder: &Path, file: &str, text: &str) -> io::Result<()> {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(&path, text)?;
    let mut permissions = fs::metadata(&path)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions)
}

/// Serves only the files of a pack, and each only with the text that its hash says.
#[derive(Debug)]
struct PackGuard {
    folder: PathBuf,
    pack: Arc<Pack>,
}

impl TextGuard for PackGuard {
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.pack.check(&relative_path(&self.folder, path), bytes)
    }
}

/// Returns the source of the prompts in a folder with the files of a pack.
pub(super) fn folder_of_copies(folder: PathBuf, pack: Arc<Pack>) -> Folder {
    // It is in the data folder, which is the user's own.
    let mut root = Root::new(folder.clone(), pack.format(), Reach::Unrestricted);
    root.prefix = format!("{}/", pack.name);
    let version = pack.version();
    root.guard = Some(Arc::new(PackGuard { folder, pack }));
    Folder::of_pack(root, &version)
}

/// Returns an error for each file of a pack that a folder does not have.
pub(super) fn missing_files(pack: &Pack, folder: &Path) -> Vec<Diagnostic> {
    errors_of_files(pack, folder, |file| folder.join(file).exists())
}

/// Returns an error for each file of a pack that a folder does not have, or has with another text.
pub(crate) fn differing_files(pack: &Pack, folder: &Path) -> Vec<Diagnostic> {
    errors_of_files(pack, folder, |file| text_of(pack, folder, file).is_some())
}

/// Returns an error for each file of a pack that is missing or was modified, or one error if the
/// whole folder is missing.
fn errors_of_files(
    pack: &Pack,
    folder: &Path,
    is_as_it_should_be: impl Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    if !folder.exists() {
        return vec![pack.differs("all are missing").in_file(folder)];
    }
    let mut errors = Vec::new();
    for file in pack.files.keys() {
        if !is_as_it_should_be(file) {
            let error = pack.differs("it is missing, or has another text");
            errors.push(error.in_file(folder.join(file)));
        }
    }
    errors
}

/// Returns the text of a file in a folder, if it is the one of the pack.
pub(crate) fn text_of(pack: &Pack, folder: &Path, file: &str) -> Option<String> {
    let bytes = read(&folder.join(file), MAX_FILE).ok()?;
    pack.check(file, &bytes).ok()?;
    String::from_utf8(bytes).ok()
}
