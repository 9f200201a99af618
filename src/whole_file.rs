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
//! | a symlink | [`follow_symlinks`] follows it; one that leads to nothing is an error |
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
    /// Returns the access for a file that replaces the one with this metadata. Without such a file,
    /// the new one is shared.
    pub(crate) fn same_as(replaced: Option<&'f Metadata>) -> FileAccess<'f> {
        match replaced {
            Some(metadata) => FileAccess::SameAs(metadata),
            None => FileAccess::Shared,
        }
    }

    /// Returns the mode with which the temporary file is created, before the umask. Until it gets
    /// the mode of another file, only its owner may read it.
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
    /// The same file, open and locked, so that no other process takes it for a leftover.
    locked: File,
}

impl PendingFile {
    /// Writes a temporary file next to `target`, and creates missing folders. Also removes the
    /// temporary files that killed processes have left there.
    ///
    /// # Errors
    /// The file cannot be written, and does not exist.
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

    /// Renames the file to the target, and replaces a file with this name.
    ///
    /// # Errors
    /// The file cannot be renamed, and the target is unchanged; or the target is replaced, but its
    /// folder cannot be synced, which the message says.
    pub(crate) fn replace(self) -> io::Result<()> {
        self.path
            .persist(&self.target)
            .map_err(|error| error.error)?;
        sync_folder_of_new(folder_of(&self.target))
    }

    /// Renames the file to the target, which must not exist.
    ///
    /// # Errors
    /// A file or a broken symlink has the name of the target (`AlreadyExists`); or those of
    /// [`PendingFile::replace`].
    pub(crate) fn create(self) -> io::Result<()> {
        self.create_locked()?;
        Ok(())
    }

    /// Renames the file as [`PendingFile::create`] does, and returns it. It stays locked until it
    /// is closed.
    pub(crate) fn create_locked(self) -> io::Result<File> {
        rename_to_new(&self.path, &self.target)?;
        // No file has the temporary name any more, so there is nothing to delete.
        _ = self.path.keep();
        sync_folder_of_new(folder_of(&self.target))?;
        Ok(self.locked)
    }
}

/// Returns the path of a file with all symlinks followed. If there is no file at `path`, returns
/// `path` itself.
///
/// # Errors
/// `path` is a symlink that leads to no file, or cannot be followed.
pub(crate) fn follow_symlinks(path: &Path) -> io::Result<PathBuf> {
    let result = fs::canonicalize(path);
    match result {
        // Nothing has this name, not even a broken symlink.
        Err(_) if fs::symlink_metadata(path).is_err() => Ok(path.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(io::Error::new(ErrorKind::NotFound, "the link is broken"))
        }
        _ => result,
    }
}

/// Renames a file, and syncs its folder, so that the new name survives a crash.
///
/// # Errors
/// A file has the new name already (`AlreadyExists`), or the file cannot be renamed.
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

/// Waits until the names in a folder are stored, so that they survive a crash. Does nothing on a
/// system or a file system that cannot sync folders, or does not permit it.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        let is_unsupported = matches!(
            error.kind(),
            ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::PermissionDenied
        );
        if !is_unsupported {
            return Err(error);
        }
    }
    _ = folder; // it is unused on other systems
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

/// Returns the bytes of a regular file.
///
/// # Errors
/// Those of [`open_regular`], or the file cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the text of a regular file.
///
/// # Errors
/// Those of [`read`], or the file is not UTF-8 (`InvalidData`).
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    io::read_to_string(open_regular(path)?)
}

/// Opens a file for reading. On Unix, opening or reading a file that would block, such as a FIFO or
/// a file of `/proc` that waits for data, fails instead.
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

/// Syncs a folder as [`sync_folder`] does, after a file in it was renamed. The error says that the
/// file may have its new text in spite of the error.
fn sync_folder_of_new(folder: &Path) -> io::Result<()> {
    sync_folder(folder).map_err(|error| {
        let message =
            format!("the text may have been written, but its folder cannot be synced: {error}");
        io::Error::other(message)
    })
}

/// Creates an empty temporary file, and locks it. If another process removes it as a leftover
/// before it is locked, creates another one.
fn create_locked(folder: &Path, access: FileAccess<'_>) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, access.first_mode());
    _ = access; // it is unused on other systems
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    loop {
        // Unlike `tempfile_in`, `make_in` adds no temporary name to the system's error.
        let file = builder.make_in(folder, |path| options.open(path))?;
        // On a file system without locks, nobody can lock a leftover either, and none is removed.
        let lock = file.as_file().try_lock();
        let is_locked_by_other = matches!(lock, Err(TryLockError::WouldBlock));
        if !is_locked_by_other && file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the temporary files that killed processes have left in a folder. Those that cannot be
/// removed stay for the next write.
fn remove_leftovers(folder: &Path) {
    // Errors do no harm: a leftover is hidden, and nobody reads it.
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

/// Gives an empty file the owner and the mode of the file with the metadata `other`, and the access
/// control list of the file `target`, as far as the system permits it.
///
/// If the group or the list cannot be copied, the group of the new file may do only what everyone
/// may do.
fn copy_access(file: &File, other: &Metadata, target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        // Most users may change neither. The group is compared below.
        _ = fchown(file, None, Some(other.gid()));
        _ = fchown(file, Some(other.uid()), None);
        let mut mode = other.mode() & 0o777;
        let has_list = copy_access_list(file, target);
        if !has_list || file.metadata()?.gid() != other.gid() {
            let everyone = mode & 0o007;
            mode = (mode & 0o707) | (everyone << 3);
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        _ = target;
        file.set_permissions(other.permissions())
    }
}

/// Gives a file the access control list of another one. Returns whether both files have equal lists
/// afterwards, or no list.
///
/// If a file has a list, its mode does not say what its group may do, but what any entry of the
/// list permits.
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
            // The list is longer than the buffer. Any other error means that there is none.
            Err(error) => error != rustix::io::Errno::RANGE,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = (file, other);
        true
    }
}

/// Gives a new file to the owner of its folder, if root writes it for another user.
fn give_to_owner_of(folder: &Path, file: &File) {
    #[cfg(unix)]
    if let (Ok(folder), Ok(metadata)) = (fs::metadata(folder), file.metadata()) {
        use std::os::unix::fs::{MetadataExt, fchown};
        if folder.uid() != metadata.uid() {
            // Only root may do this. For others, the file stays their own.
            _ = fchown(file, Some(folder.uid()), Some(folder.gid()));
        }
    }
    _ = (folder, file); // they are unused on other systems
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

/// Renames a file in two steps, and fails if there is one at the new path: creates an empty file,
/// and replaces it. This is for systems that cannot do both at once.
fn rename_over_empty(from: &Path, to: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(to)?;
    fs::rename(from, to).inspect_err(|_| {
        // The error of the rename counts, not that of the cleanup.
        _ = fs::remove_file(to);
    })
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
        assert_eq!(follow_symlinks(&at("link")).unwrap(), at("file"));
        assert_eq!(follow_symlinks(&at("new")).unwrap(), at("new"));
        assert_eq!(
            follow_symlinks(&at("broken")).unwrap_err().to_string(),
            "the link is broken"
        );
    }
}
