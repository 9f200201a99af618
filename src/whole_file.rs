//! Reads and writes files as a whole. Every file that the program creates or replaces is written
//! here.
//!
//! | what | what holds |
//! |---|---|
//! | a reader | sees the old file or the complete new one |
//! | a new secret (a config, its backup, a token, a key, a cache, a record) | has the mode 0600 from its first moment, even under its temporary name |
//! | another new file (a prompt, its tests, `packs.lock`) | has the mode 0666 less the umask |
//! | a file that is replaced | keeps its owner, its mode and its access control list; the temporary file has them before its first byte |
//! | after a crash of the system | an acknowledged file is there: it was synced, renamed, and its folder synced |
//! | after the program was killed | the next write in the folder removes the temporary file |
//! | a symlink | [`target`] follows it; one that leads to nothing is an error |
//!
//! A temporary file is locked while its writer runs. One that nobody has locked is a leftover.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// What the name of a temporary file begins and ends with. It is hidden.
const PREFIX: &str = ".prompt-expander-";
const SUFFIX: &str = ".tmp";

/// The attribute of a file that has its access control list.
#[cfg(target_os = "linux")]
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Who may read and change a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileAccess<'f> {
    /// Only its owner.
    Private,
    /// Everyone whom the umask allows.
    Shared,
    /// The same as `Shared`, and the file is executable.
    Program,
    /// Its owner and mode are those of this file.
    SameAs(&'f Metadata),
}

impl<'f> FileAccess<'f> {
    /// Returns the access of a file, or that of a new shared one if there is no such file.
    pub(crate) fn same_as(file: Option<&'f Metadata>) -> FileAccess<'f> {
        file.map_or(FileAccess::Shared, FileAccess::SameAs)
    }

    /// Returns the mode with which the temporary file is created, before the umask.
    #[cfg(unix)]
    fn first_mode(self) -> u32 {
        match self {
            FileAccess::Private | FileAccess::SameAs(_) => 0o600,
            FileAccess::Shared => 0o666,
            FileAccess::Program => 0o777,
        }
    }
}

/// A complete and synced file with a temporary name. It is deleted when it is dropped.
#[derive(Debug)]
pub(crate) struct PendingFile {
    path: TempPath,
    target: PathBuf,
    /// Keeps other processes from taking it for a leftover.
    locked: File,
}

impl PendingFile {
    /// Writes a file next to `target`, and creates the folders that are missing. Removes what
    /// killed runs have left there.
    ///
    /// # Errors
    /// It cannot be written, and nothing is left of it.
    pub(crate) fn write(
        target: &Path,
        bytes: &[u8],
        access: FileAccess<'_>,
    ) -> io::Result<PendingFile> {
        let folder = folder_of(target);
        create_folders(folder)?;
        remove_leftovers(folder);
        let mut file = create_locked(folder, access)?;
        match access {
            FileAccess::SameAs(other) => copy_access(file.as_file(), other, target)?,
            _ => give_to_owner_of(folder, file.as_file()),
        }
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        let (locked, path) = file.into_parts();
        Ok(PendingFile {
            path,
            target: target.to_owned(),
            locked,
        })
    }

    /// Takes the place of the target, which need not exist.
    ///
    /// # Errors
    /// The target is as it was; or only its folder cannot be synced, which the error says.
    pub(crate) fn replace(self) -> io::Result<()> {
        self.path
            .persist(&self.target)
            .map_err(|error| error.error)?;
        sync_folder_of_new(folder_of(&self.target))
    }

    /// Takes the name of the target, which must not exist.
    ///
    /// # Errors
    /// There is such a file (`AlreadyExists`), also if it is a broken symlink; or those of
    /// [`PendingFile::replace`].
    pub(crate) fn create(self) -> io::Result<()> {
        self.create_locked().map(drop)
    }

    /// Does the same, and returns the file, which stays locked until it is closed.
    pub(crate) fn create_locked(self) -> io::Result<File> {
        rename_to_new(&self.path, &self.target)?;
        _ = self.path.keep(); // nothing has this name any more
        sync_folder_of_new(folder_of(&self.target))?;
        Ok(self.locked)
    }
}

/// Returns the file that a path leads to. A path without a file leads to itself.
///
/// # Errors
/// It is a symlink that leads to nothing, or cannot be followed.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(_) if fs::symlink_metadata(path).is_err() => Ok(path.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(io::Error::new(ErrorKind::NotFound, "the link is broken"))
        }
        target => target,
    }
}

/// Renames a file, and stores the new name.
///
/// # Errors
/// There is a file of the new name (`AlreadyExists`), or it cannot be renamed.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    rename_to_new(from, to)?;
    sync_folder_of_new(folder_of(to))
}

/// Creates a folder and the missing ones above it, so that they survive a crash.
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    fs::create_dir_all(folder)?;
    for created in missing {
        sync_folder(folder_of(created))?;
    }
    Ok(())
}

/// Waits until the names in a folder are stored, so that they survive a crash. Does nothing where
/// the system cannot do this.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        let is_possible = !matches!(
            error.kind(),
            ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::PermissionDenied
        );
        if is_possible {
            return Err(error);
        }
    }
    _ = folder;
    Ok(())
}

/// Opens a regular file for reading. Anything else, such as a FIFO, is an error and never blocks.
///
/// # Errors
/// It cannot be opened, or is not a regular file (`InvalidInput`).
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = open_without_blocking(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        let message = "it is not a regular file";
        Err(io::Error::new(ErrorKind::InvalidInput, message))
    }
}

/// Reads a regular file.
///
/// # Errors
/// Those of [`open_regular`], or it cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a regular file.
///
/// # Errors
/// Those of [`read`], or it is not UTF-8 (`InvalidData`).
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    io::read_to_string(open_regular(path)?)
}

/// Opens a file for reading. What would block (a FIFO, or a file of `/proc` that waits for data)
/// fails instead, where the platform supports it.
pub(crate) fn open_without_blocking(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    options.read(true).open(path)
}

/// Returns the folder that a file is in. A relative path without a folder is in the working
/// directory.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn sync_folder_of_new(folder: &Path) -> io::Result<()> {
    sync_folder(folder).map_err(|error| {
        let message =
            format!("the text may have been written, but its folder cannot be synced: {error}");
        io::Error::other(message)
    })
}

/// Creates an empty temporary file, and locks it.
fn create_locked(folder: &Path, access: FileAccess<'_>) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, access.first_mode());
    _ = access;
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    loop {
        // Unlike `tempfile_in`, it adds no temporary name to the system's error.
        let file = builder.make_in(folder, |path| options.open(path))?;
        // Another process may take it for a leftover before it is locked. On a file system without
        // locks, nobody can lock a leftover either, and none is removed.
        let is_taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !is_taken && file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the temporary files that killed processes have left in a folder.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_temporary = name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes());
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_temporary || !is_file {
            continue;
        }
        // The lock is held until the file is removed.
        if let Ok(leftover) = open_regular(&entry.path())
            && leftover.try_lock().is_ok()
        {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Gives an empty file the owner and the mode of another one, and the access control list of the
/// file that it will replace, as far as the system allows it.
fn copy_access(file: &File, other: &Metadata, target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        _ = fchown(file, None, Some(other.gid()));
        _ = fchown(file, Some(other.uid()), None);
        let mut mode = other.mode() & 0o777;
        let has_list = copy_access_list(file, target);
        if !has_list || file.metadata()?.gid() != other.gid() {
            // What that group may do, this one may not: it gets what everyone has.
            mode = (mode & 0o707) | ((mode & 0o007) << 3);
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        _ = target;
        file.set_permissions(other.permissions())
    }
}

/// Gives a file the access control list of another one. Returns whether it has the same one now, or
/// both have none.
///
/// With a list, the mode of a file does not say what its group may do, but what any entry of the
/// list allows.
#[cfg(unix)]
fn copy_access_list(file: &File, other: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{XattrFlags, fsetxattr, getxattr};
        let mut list = [0; 4096];
        match getxattr(other, ACCESS_LIST, &mut list[..]) {
            Ok(length) => {
                fsetxattr(file, ACCESS_LIST, &list[..length], XattrFlags::empty()).is_ok()
            }
            Err(error) => error != rustix::io::Errno::RANGE, // else there is none
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = (file, other);
        true
    }
}

/// Gives a new file to the owner of its folder, as when root installs for a user.
fn give_to_owner_of(folder: &Path, file: &File) {
    #[cfg(unix)]
    if let (Ok(folder), Ok(metadata)) = (fs::metadata(folder), file.metadata()) {
        use std::os::unix::fs::{MetadataExt, fchown};
        if folder.uid() != metadata.uid() {
            _ = fchown(file, Some(folder.uid()), Some(folder.gid())); // only root may
        }
    }
    _ = (folder, file);
}

/// Renames a file, and fails if there is one at the new path.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {} // some network file systems
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    rename_over_empty(from, to)
}

/// Does the same in two steps, where the system has no such operation: creates an empty file, and
/// replaces it.
fn rename_over_empty(from: &Path, to: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(to)?;
    fs::rename(from, to).inspect_err(|_| _ = fs::remove_file(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|file| folder.path().join(file));
        for rename in [rename_to_new, rename_over_empty] {
            fs::write(&a, "A").unwrap();
            fs::write(&b, "B").unwrap();
            assert_eq!(rename(&a, &b).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(
                (fs::read(&a).unwrap(), fs::read(&b).unwrap()),
                (b"A".to_vec(), b"B".to_vec())
            );
            rename(&a, &c).unwrap();
            assert_eq!(fs::read(&c).unwrap(), b"A");
            fs::remove_file(&c).unwrap();
            assert_eq!(rename(&a, &c).unwrap_err().kind(), ErrorKind::NotFound);
            assert!(!c.exists());
        }
    }

    #[test]
    fn only_temporary_files_that_nobody_has_locked_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at(".prompt-expander-old.tmp"), "Left by a killed run.").unwrap();
        fs::write(at(".prompt-expander-notes"), "A user's own.").unwrap();
        let pending = PendingFile::write(&at("a"), b"A", FileAccess::Private).unwrap();
        let other = PendingFile::write(&at("b"), b"B", FileAccess::Private).unwrap();
        assert!(!at(".prompt-expander-old.tmp").exists());
        assert!(at(".prompt-expander-notes").exists());
        pending.replace().unwrap();
        other.create().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_its_owner_and_mode_before_its_first_byte() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o640)).unwrap();
        let is_root = chown(&other, Some(65534), Some(65534)).is_ok();
        let other = fs::metadata(other).unwrap();
        for (access, mode) in [
            (FileAccess::Private, 0o600),
            (FileAccess::SameAs(&other), 0o640),
        ] {
            let pending = PendingFile::write(&folder.path().join("new"), b"new", access).unwrap();
            let metadata = fs::metadata(&pending.path).unwrap();
            assert_eq!(metadata.mode() & 0o777, mode);
            if is_root && mode == 0o640 {
                assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_replaced_keeps_its_access_control_list() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        // `user::rw-`, `user:1234:r--`, `group::---`, `mask::r--` and `other::---`.
        let mut list = vec![2, 0, 0, 0];
        for (tag, permissions, user) in [
            (1, 6, u32::MAX),
            (2, 4, 1234),
            (4, 0, u32::MAX),
            (16, 4, u32::MAX),
            (32, 0, u32::MAX),
        ] {
            list.extend([tag, 0, permissions, 0]);
            list.extend(user.to_le_bytes());
        }
        if setxattr(&path, ACCESS_LIST, &list, XattrFlags::empty()).is_err() {
            return; // the file system has no lists
        }
        let access = fs::metadata(&path).unwrap();
        let pending = PendingFile::write(&path, b"new", FileAccess::SameAs(&access)).unwrap();
        pending.replace().unwrap();
        let mut kept = [0; 4096];
        let length = getxattr(&path, ACCESS_LIST, &mut kept[..]).unwrap();
        assert_eq!(kept[..length], list);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_a_broken_one_is_an_error() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(&folder).unwrap().join(name);
        fs::write(at("file"), "").unwrap();
        for (to, link) in [("file", "link"), ("nothing", "broken")] {
            symlink(to, at(link)).unwrap();
        }
        assert_eq!(target(&at("link")).unwrap(), at("file"));
        assert_eq!(target(&at("new")).unwrap(), at("new"));
        assert_eq!(
            target(&at("broken")).unwrap_err().to_string(),
            "the link is broken"
        );
    }
}
