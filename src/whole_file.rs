//! Reads and writes whole files, and opens files to append to. Every file that the program creates
//! or replaces is written here.
//!
//! | subject | guarantee |
//! |---|---|
//! | readers | see either the old file or the complete new one |
//! | a new private file (a config, a backup, a token, a key, a cache, a record) | has mode 0600 from the start, even under its temporary name |
//! | another new file (a prompt, a test file, `packs.lock`) | has mode 0666 minus the umask |
//! | a replaced file | keeps its owner, mode and access control list; the temporary file gets them before its first byte is written |
//! | a system crash | doesn't lose a file once its write has returned: the file is synced and renamed, and then its folder is synced |
//! | a killed process | may leave a temporary file, which the next write in the folder deletes; Ctrl-C deletes it at once where progress is shown |
//! | symlinks | are resolved by [`follow_symlinks`], which rejects broken ones |
//!
//! A process keeps its temporary files locked, so that an unlocked one is known to be a leftover.

use crate::lock::lock;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, DirEntry, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::{NamedTempFile, TempPath};

/// The beginning of the name of a temporary file, which is hidden.
const TEMPORARY_PREFIX: &str = ".prompt-expander-";
/// The end of the name of a temporary file.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// The extended attribute that contains a file's access control list.
#[cfg(target_os = "linux")]
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Who may read and write a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileAccess<'f> {
    /// Only its owner.
    Private,
    /// Everyone whom the umask allows.
    Shared,
    /// Everyone whom the umask allows. They may also execute it.
    Program,
    /// The file has the owner and the mode of this one.
    SameAs(&'f Metadata),
}

impl<'f> FileAccess<'f> {
    /// Returns the access of the `replaced` file, or shared access if there is no such file.
    pub(crate) fn same_as(replaced: Option<&'f Metadata>) -> FileAccess<'f> {
        match replaced {
            Some(metadata) => FileAccess::SameAs(metadata),
            None => FileAccess::Shared,
        }
    }

    /// Returns the mode for creating the temporary file, before the umask is applied.
    #[cfg(unix)]
    fn initial_mode(self) -> u32 {
        match self {
            // `copy_access` sets the final mode of a file that is the same as another one.
            FileAccess::Private | FileAccess::SameAs(_) => 0o600,
            FileAccess::Shared => 0o666,
            FileAccess::Program => 0o777,
        }
    }
}

/// The temporary files of this process, and some that no longer exist.
static TEMPORARY_FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Deletes the temporary files of this process, which is about to end. Any thread that wants to
/// create another one waits for the end.
#[cfg(unix)]
pub(crate) fn remove_temporary_files() {
    let files = lock(&TEMPORARY_FILES);
    for file in files.iter() {
        _ = fs::remove_file(file);
    }
    std::mem::forget(files); // never unlocked
}

/// A complete and synced temporary file, ready to be renamed to its target. Deleted on drop.
#[derive(Debug)]
pub(crate) struct PendingFile {
    path: TempPath,
    target: PathBuf,
    /// The file itself. It is locked, so that no other process takes it for a leftover.
    locked: File,
}

impl PendingFile {
    /// Writes a temporary file next to `target`. Creates missing folders, and deletes temporary
    /// files that killed processes left there.
    ///
    /// # Errors
    /// Fails if the file cannot be written. No temporary file is left then.
    pub(crate) fn write(
        target: &Path,
        bytes: &[u8],
        access: FileAccess<'_>,
    ) -> io::Result<PendingFile> {
        let folder = folder_of(target);
        create_folders(folder)?;
        remove_leftovers(folder);
        let mut file = create_temporary(folder, access)?;
        // The owner and the mode must be right before the file contains anything.
        match access {
            FileAccess::SameAs(other) => copy_access(file.as_file(), other, target)?,
            FileAccess::Private | FileAccess::Shared | FileAccess::Program => {
                give_to_folder_owner(file.as_file(), folder);
            }
        }
        // Unlike the temporary file, the file adds no temporary name to the system's error.
        file.as_file_mut().write_all(bytes)?;
        file.as_file().sync_all()?;
        let (locked, path) = file.into_parts();
        Ok(PendingFile {
            path,
            target: target.to_owned(),
            locked,
        })
    }

    /// Renames the file to the target, replacing any existing file.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed; then the target is unchanged. Also fails if the target
    /// was replaced but its folder cannot be synced, which the message says.
    pub(crate) fn replace(self) -> io::Result<()> {
        self.path
            .persist(&self.target)
            .map_err(|error| error.error)?;
        sync_renamed(folder_of(&self.target))
    }

    /// Renames the file to the target, which must not exist.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if the target exists, even as a broken symlink. Otherwise, fails
    /// like [`PendingFile::replace`].
    pub(crate) fn create(self) -> io::Result<()> {
        self.create_locked()?;
        Ok(())
    }

    /// Renames the file to the target, which must not exist, and keeps it locked until the returned
    /// handle is dropped. There is no moment when the file exists without being locked, because it
    /// is locked before it gets its name.
    pub(crate) fn create_locked(self) -> io::Result<File> {
        rename_without_replacing(&self.path, &self.target)?;
        // Nothing has the temporary name anymore, so there is nothing to delete on drop.
        _ = self.path.keep();
        sync_renamed(folder_of(&self.target))?;
        Ok(self.locked)
    }
}

/// Creates or replaces a file atomically. Creates missing folders.
///
/// # Errors
/// Fails if the file cannot be written, like [`PendingFile::write`] and [`PendingFile::replace`].
pub(crate) fn write(path: &Path, bytes: &[u8], access: FileAccess<'_>) -> io::Result<()> {
    PendingFile::write(path, bytes, access)?.replace()
}

/// Resolves all symlinks in a path. Returns the path unchanged if it doesn't exist.
///
/// # Errors
/// Fails if the path is a broken symlink, or if its symlinks cannot be followed.
pub(crate) fn follow_symlinks(path: &Path) -> io::Result<PathBuf> {
    let result = fs::canonicalize(path);
    match result {
        // Nothing is at the path, not even a broken symlink.
        Err(_) if fs::symlink_metadata(path).is_err() => Ok(path.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(io::Error::new(ErrorKind::NotFound, "the link is broken"))
        }
        _ => result,
    }
}

/// Renames a file, and syncs its folder so that the new name survives a crash.
///
/// # Errors
/// Returns `AlreadyExists` if the new path exists, or another error if the file cannot be renamed.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    rename_without_replacing(from, to)?;
    sync_renamed(folder_of(to))
}

/// Creates a folder and its missing parents so that they survive a crash.
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    // Before they are created, because only new names need a sync.
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

/// Syncs a folder to disk so that the names of its files survive a crash. Does nothing if the
/// system or the file system doesn't support or permit it.
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
    _ = folder; // unused on other systems
    Ok(())
}

/// Opens a regular file for reading. Rejects anything else, such as a FIFO, without blocking.
///
/// # Errors
/// Returns `InvalidInput` if it isn't a regular file, or another error if it cannot be opened.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = open_without_blocking(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        let message = "it is not a regular file";
        Err(io::Error::new(ErrorKind::InvalidInput, message))
    }
}

/// Reads a regular file as bytes.
///
/// # Errors
/// Fails like [`open_regular`], or if the file cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file as a string.
///
/// # Errors
/// Returns `InvalidData` if the file isn't UTF-8. Otherwise, fails like [`read`].
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    io::read_to_string(open_regular(path)?)
}

/// Opens a file for reading. On Unix, opening a FIFO, or reading a file in `/proc` that has no data
/// yet, fails instead of blocking.
pub(crate) fn open_without_blocking(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    options.read(true).open(path)
}

/// Opens an existing file for appending. On Unix, opening a FIFO that nobody reads fails instead of
/// blocking.
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    append_options().open(path)
}

/// Creates a private file for appending, with missing folders that only its owner can enter. Opens
/// the file if another process has just created it.
pub(crate) fn create_to_append(path: &Path) -> io::Result<File> {
    let folder = folder_of(path);
    let mut folder_options = DirBuilder::new();
    let mut options = append_options();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder_options.mode(0o700);
        options.mode(FileAccess::Private.initial_mode());
    }
    folder_options.recursive(true).create(folder)?;
    let file = options.create(true).open(path)?;
    give_to_folder_owner(&file, folder);
    Ok(file)
}

/// Returns the options for opening a file for appending, without blocking.
fn append_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    options.append(true);
    options
}

/// Returns the folder that contains a file. For a bare file name, that is the working directory.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Syncs a folder after a file in it was renamed. If that fails, the error says that the file may
/// have been written nevertheless.
fn sync_renamed(folder: &Path) -> io::Result<()> {
    sync_folder(folder).map_err(|error| {
        let message =
            format!("the text may have been written, but its folder cannot be synced: {error}");
        io::Error::other(message)
    })
}

/// Creates and locks an empty temporary file, and adds it to the [`TEMPORARY_FILES`].
fn create_temporary(folder: &Path, access: FileAccess<'_>) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, access.initial_mode());
    _ = access; // unused on other systems
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
    let mut files = lock(&TEMPORARY_FILES);
    files.retain(|file| file.exists());
    loop {
        // Unlike `tempfile_in`, `make_in` adds no temporary name to the system's error.
        let file = builder.make_in(folder, |path| options.open(path))?;
        // Between its creation and this lock, another process may delete the file as a leftover.
        // Then try again. If the file system doesn't support locks, nobody can delete leftovers.
        let lock = file.as_file().try_lock();
        let is_locked_by_other = matches!(lock, Err(TryLockError::WouldBlock));
        if !is_locked_by_other && file.path().exists() {
            files.push(file.path().to_owned());
            return Ok(file);
        }
    }
}

/// Returns whether this is the name of a temporary file of this program.
pub(crate) fn is_temporary(file_name: &OsStr) -> bool {
    let name = file_name.as_encoded_bytes();
    name.starts_with(TEMPORARY_PREFIX.as_bytes()) && name.ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Returns the entries of a folder. There are none if it can't be read.
pub(crate) fn entries_of(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    // Each of the two has errors to skip: the folder, and an entry.
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Deletes the temporary files that killed processes left in a folder. Errors are ignored, because
/// leftovers are hidden and do no harm.
pub(crate) fn remove_leftovers(folder: &Path) {
    for entry in entries_of(folder) {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !is_temporary(&entry.file_name()) {
            continue;
        }
        // The process that writes the file holds its lock. If there is none, this lock is held
        // until the file is deleted, so that no two processes delete it.
        if let Ok(leftover) = open_regular(&entry.path())
            && leftover.try_lock().is_ok()
        {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Copies the owner and mode in `metadata`, and the access control list of the file at `path`, to
/// an empty file, as far as the system permits.
///
/// If the group or the list cannot be copied, the group gets only the permissions that everyone
/// has.
fn copy_access(file: &File, metadata: &Metadata, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        // Most users may not change the owner, and only some groups. So errors are ignored, and the
        // resulting group is compared below.
        _ = fchown(file, None, Some(metadata.gid()));
        _ = fchown(file, Some(metadata.uid()), None);
        let mut mode = metadata.mode() & 0o777;
        let is_list_same = copy_access_list(file, path);
        let is_group_same = file.metadata()?.gid() == metadata.gid();
        if !is_list_same || !is_group_same {
            let everyone = mode & 0o007;
            mode = (mode & 0o707) | (everyone << 3);
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        _ = path;
        file.set_permissions(metadata.permissions())
    }
}

/// Copies the access control list of the file at `path`, if it has one. Returns whether `file` has
/// the same list afterwards, or neither file has one.
///
/// For a file with a list, the group bits of the mode are the maximum of what any entry of the list
/// permits, so without the list they would give the group too many permissions.
#[cfg(unix)]
fn copy_access_list(file: &File, path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{XattrFlags, fsetxattr, getxattr};
        let mut list = [0; 4096];
        match getxattr(path, ACCESS_LIST, &mut list[..]) {
            Ok(length) => {
                fsetxattr(file, ACCESS_LIST, &list[..length], XattrFlags::empty()).is_ok()
            }
            // The list is longer than the buffer.
            Err(rustix::io::Errno::RANGE) => false,
            // There is no list.
            Err(_) => true,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = (file, path);
        true
    }
}

/// When root creates a file in another user's folder, makes that user the owner of the file.
fn give_to_folder_owner(file: &File, folder: &Path) {
    #[cfg(unix)]
    if let (Ok(folder), Ok(metadata)) = (fs::metadata(folder), file.metadata()) {
        use std::os::unix::fs::{MetadataExt, fchown};
        if folder.uid() != metadata.uid() {
            // This fails for anyone but root, and then the file keeps its owner.
            _ = fchown(file, Some(folder.uid()), Some(folder.gid()));
        }
    }
    _ = (folder, file); // unused on other systems
}

/// Atomically renames a file, unless the new path exists.
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some network file systems don't support this flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    rename_over_placeholder(from, to)
}

/// Renames a file, unless the new path exists. For systems that cannot check this atomically, it
/// reserves the path with an empty file and then replaces that file.
fn rename_over_placeholder(from: &Path, to: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(to)?;
    fs::rename(from, to).inspect_err(|_| {
        // Report the error of the rename, not one of this cleanup.
        _ = fs::remove_file(to);
    })
}

/// Returns whether two paths lead to the same file, after following symlinks. Paths that don't
/// exist are the same only if they are equal.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    if a == b {
        return true;
    }
    let Ok(real_a) = a.canonicalize() else {
        return false;
    };
    b.canonicalize().is_ok_and(|real_b| real_a == real_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|file| folder.path().join(file));
        for rename in [rename_without_replacing, rename_over_placeholder] {
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

    #[test]
    fn a_temporary_file_is_known_as_long_as_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let write = || PendingFile::write(&folder.path().join("a"), b"A", FileAccess::Private);
        let is_known = |path: &PathBuf| lock(&TEMPORARY_FILES).contains(path);
        let pending = write().unwrap();
        let path = pending.path.to_path_buf();
        assert!(is_known(&path));
        pending.replace().unwrap();
        write().unwrap();
        assert!(!is_known(&path));
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
