//! Local copies of the packs' files. Prompts are served from these copies.
//!
//! They are in the data folder, at `LOCK-FILE-HASH/NAME@COMMIT-PACK-HASH/`.

use super::pack_lock::{CopyProblem, Pack};
use crate::library::{Folder, Reach, Root, TextGuard, file_error, read_file, relative_path};
use crate::prompt::{Diagnostic, MAX_FILE, sha256};
use crate::whole_file;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use walkdir::WalkDir;

/// The prefix of temporary folders.
const TEMPORARY_PREFIX: &str = ".new-";

/// How many hexadecimal digits of a SHA-256 a folder's name contains. 64 bits are enough to tell
/// the folders of one user apart.
const HASH_DIGITS: usize = 16;

/// The local copies of the packs that one `packs.lock` lists.
#[derive(Debug)]
pub(crate) struct PackCopies {
    /// Contains a folder for each pack.
    folder: PathBuf,
}

/// Copies of a pack's files that the user has not accepted yet, so they are not served.
pub(crate) struct NewCopies {
    /// The folder with the copies. It is deleted on drop.
    pub(crate) temporary: TempDir,
    /// The prompts in that folder.
    pub(crate) prompts: Folder,
}

impl PackCopies {
    /// Returns the local copies of the packs in the `packs.lock` at `lock_path`, without reading
    /// it. `data_folder` contains the copies for all such files.
    ///
    /// Every `packs.lock` has a folder of its own, named after a hash of its path. So the user and
    /// a project can have different commits of the same pack, and [`PackCopies::remove_unused`]
    /// deletes nothing that another `packs.lock` needs.
    pub(crate) fn for_lock_file(data_folder: &Path, lock_path: &Path) -> PackCopies {
        let path_hash = sha256(lock_path.as_os_str().as_encoded_bytes());
        PackCopies {
            folder: data_folder.join(&path_hash[..HASH_DIGITS]),
        }
    }

    /// Returns the folder for the copies of a pack. It is a different one after every change of the
    /// pack's entry in the lock, e.g. for another commit or selection of files.
    pub(crate) fn folder_of(&self, pack: &Pack) -> PathBuf {
        // Serializing a pack, which consists of strings and maps of strings, cannot fail.
        let entry_hash = sha256(&serde_json::to_vec(pack).unwrap_or_default());
        let name = format!("{}-{}", pack.version(), &entry_hash[..HASH_DIGITS]);
        self.folder.join(name)
    }

    /// Creates a temporary folder next to the folders of packs. It is deleted on drop, or by
    /// [`PackCopies::remove_leftovers`] if the process was killed.
    pub(crate) fn create_temporary_folder(&self) -> Result<TempDir, Diagnostic> {
        create_temporary_folder_in(&self.folder).map_err(|error| file_error(&self.folder, &error))
    }

    /// Writes the files of a pack, given as path → contents, to a new temporary folder.
    pub(crate) fn write(
        &self,
        pack: &Pack,
        files: &BTreeMap<String, String>,
    ) -> Result<NewCopies, Diagnostic> {
        let temporary = self.create_temporary_folder()?;
        let folder = temporary.path();
        for (path, contents) in files {
            write_read_only(folder, path, contents).map_err(|error| file_error(folder, &error))?;
        }
        let prompts = prompts_of_copies(folder.to_owned(), Arc::new(pack.clone()));
        Ok(NewCopies { temporary, prompts })
    }

    /// Moves the files that [`PackCopies::write`] wrote to the folder that prompts are served from.
    pub(crate) fn install(&self, pack: &Pack, new: TempDir) -> Result<(), Diagnostic> {
        let folder = self.folder_of(pack);
        // If the folder exists, some of its files were changed or deleted. Delete it first, because
        // a folder cannot be renamed over one that isn't empty.
        _ = fs::remove_dir_all(&folder);
        fs::rename(new.keep(), &folder).map_err(|error| file_error(&folder, &error))
    }

    /// Deletes the temporary folders of processes that were killed.
    pub(crate) fn remove_leftovers(&self) {
        for path in self.folders() {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if name.starts_with(TEMPORARY_PREFIX.as_bytes()) {
                _ = fs::remove_dir_all(path);
            }
        }
    }

    /// Deletes the folders that belong to none of `packs`, the packs that are now in the lock file.
    /// Also deletes all temporary folders, so call it after [`PackCopies::install`].
    pub(crate) fn remove_unused(&self, packs: &[Pack]) {
        let needed: BTreeSet<PathBuf> = packs.iter().map(|pack| self.folder_of(pack)).collect();
        for path in self.folders() {
            if !needed.contains(&path) {
                _ = fs::remove_dir_all(path);
            }
        }
    }

    /// Returns the folders of packs and the temporary folders. There are none if nothing was copied
    /// yet.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        whole_file::entries_of(&self.folder).map(|entry| entry.path())
    }
}

/// Creates a temporary folder in `folder`, which may not exist yet.
fn create_temporary_folder_in(folder: &Path) -> io::Result<TempDir> {
    fs::create_dir_all(folder)?;
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempdir_in(folder)
}

/// Creates a read-only file at `folder/path`, and the parent folders that don't exist yet.
fn write_read_only(folder: &Path, path: &str, contents: &str) -> io::Result<()> {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(&path, contents)?;
    let mut permissions = fs::metadata(&path)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions)
}

/// Rejects files that aren't listed in the lock, or whose contents don't match their hash there.
#[derive(Debug)]
struct PackGuard {
    folder: PathBuf,
    pack: Arc<Pack>,
}

impl TextGuard for PackGuard {
    /// Rejects a file whose contents aren't exactly those that the lock lists for its path.
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.pack
            .verify_file(&relative_path(&self.folder, path), bytes)
    }
}

/// Returns the prompts of `pack` in `folder`, which has copies of its files.
pub(super) fn prompts_of_copies(folder: PathBuf, pack: Arc<Pack>) -> Folder {
    // `Reach::Unrestricted`, because the data folder belongs to the user.
    let mut root = Root::new(folder.clone(), pack.format(), Reach::Unrestricted);
    root.prefix = format!("{}/", pack.name);
    let version = pack.version();
    root.guard = Some(Arc::new(PackGuard { folder, pack }));
    Folder::of_pack(root, &version)
}

/// Returns an error for each file of a pack that doesn't exist in `folder`, or a single error if
/// the folder doesn't exist.
pub(super) fn missing_file_errors(pack: &Pack, folder: &Path) -> Vec<Diagnostic> {
    if !folder.exists() {
        let error = pack.copy_error(CopyProblem::AllMissing);
        return vec![error.in_file(folder)];
    }
    let mut errors = Vec::new();
    for path in pack.files.keys() {
        let copy = folder.join(path);
        if !copy.exists() {
            errors.push(pack.copy_error(CopyProblem::Missing).in_file(copy));
        }
    }
    errors
}

/// Returns an error for each file of a pack that is missing in `folder` or was changed there.
pub(crate) fn damaged_file_errors(pack: &Pack, folder: &Path) -> Vec<Diagnostic> {
    let mut errors = missing_file_errors(pack, folder);
    for path in pack.files.keys() {
        let copy = folder.join(path);
        if copy.exists() && read_unchanged(pack, folder, path).is_none() {
            errors.push(pack.copy_error(CopyProblem::Changed).in_file(copy));
        }
    }
    errors
}

/// Returns the paths of the files in `folder` that the pack does not have, and that would be used
/// if they were allowed: a prompt or partial that somebody added by hand, and any symlink, which
/// may lead to a folder with prompts. Other files, e.g. `.DS_Store`, are ignored.
pub(crate) fn stray_files(pack: &Pack, folder: &Path) -> Vec<PathBuf> {
    let mut stray_files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let Ok(entry) = entry else {
            continue; // the folder doesn't exist, or a file was deleted in the meantime
        };
        let path = relative_path(folder, entry.path());
        if entry.file_type().is_dir() || pack.files.contains_key(&*path) {
            continue;
        }
        if entry.path_is_symlink() || pack.is_prompt_or_partial(&path) {
            stray_files.push(entry.into_path());
        }
    }
    stray_files
}

/// Returns an error for each file in `folder` that differs from the lock: it is missing, was
/// changed, or the pack does not have it.
pub(crate) fn copy_errors(pack: &Pack, folder: &Path) -> Vec<Diagnostic> {
    let mut errors = damaged_file_errors(pack, folder);
    for file in stray_files(pack, folder) {
        errors.push(pack.copy_error(CopyProblem::Stray).in_file(file));
    }
    errors
}

/// Reads the file of a pack at `folder/path`. Returns `None` if it is missing or was changed.
pub(crate) fn read_unchanged(pack: &Pack, folder: &Path, path: &str) -> Option<String> {
    let bytes = read_file(&folder.join(path), MAX_FILE).ok()?;
    pack.verify_file(path, &bytes).ok()?;
    String::from_utf8(bytes).ok()
}
