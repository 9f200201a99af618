//! Detects that a file has changed without opening it, and knows which file systems make that
//! reliable.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The metadata of a file or folder that changes whenever its contents do. Symlinks are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    /// In bytes.
    size: u64,
    /// `None` if the file system does not record it.
    pub(crate) modified: Option<SystemTime>,
    /// What std does not offer on Windows.
    #[cfg(unix)]
    unix: UnixState,
}

/// Metadata that the standard library only offers on Unix. The `changed_*` fields are the ctime,
/// which changes with the contents and with the metadata.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct UnixState {
    device: u64,
    inode: u64,
    mode: u32,
    changed_seconds: i64,
    changed_nanoseconds: i64,
}

impl Stamp {
    /// Reads the stamp of a file or folder. Returns `None` if the path doesn't exist.
    ///
    /// # Errors
    /// Fails if the metadata can't be read, e.g. without permission for a parent folder.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Stamp>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Stamp::from_metadata(&metadata))),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the stamp of a file with this metadata. On Unix, it includes the inode and the
    /// ctime, which reveal changes that leave the size and the modification time alone.
    fn from_metadata(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            unix: UnixState {
                device: metadata.dev(),
                inode: metadata.ino(),
                mode: metadata.mode(),
                changed_seconds: metadata.ctime(),
                changed_nanoseconds: metadata.ctime_nsec(),
            },
        }
    }

    /// Returns whether the next change of the file at `path` is certain to change the stamp.
    ///
    /// This requires that the file system is known to be local, and that the last change is at
    /// least `min_age` old. A change time in the future is never reliable.
    pub(crate) fn is_reliable(&self, path: &Path, min_age: Duration) -> bool {
        let Some(changed_at) = self.changed_at() else {
            return false;
        };
        changed_at.elapsed().is_ok_and(|age| age >= min_age) && is_local(path)
    }

    /// Returns the ctime.
    #[cfg(unix)]
    fn changed_at(&self) -> Option<SystemTime> {
        let seconds = u64::try_from(self.unix.changed_seconds).ok()?;
        let nanoseconds = self.unix.changed_nanoseconds.unsigned_abs();
        let since_epoch = Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds);
        Some(SystemTime::UNIX_EPOCH + since_epoch)
    }

    /// Returns the modification time, for lack of a ctime.
    #[cfg(not(unix))]
    fn changed_at(&self) -> Option<SystemTime> {
        self.modified
    }
}

/// Returns the type of the file system at `path`: a number from statfs(2), as listed in the
/// kernel's linux/magic.h.
#[cfg(target_os = "linux")]
fn file_system_type(path: &Path) -> Option<u32> {
    // `f_type` is wider on some platforms, but every type fits into 32 bits.
    rustix::fs::statfs(path).ok().map(|stat| stat.f_type as u32)
}

/// Returns whether stamps on this file system immediately reflect every change.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    file_system_type(path).is_some_and(is_local_type)
}

/// Always false: on systems other than Linux, nothing is cached.
#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}

/// Returns whether a type of file system is known to be local, so that stamps immediately reflect
/// every change. FAT is not listed: it stores no time for its root folder, and programs can set all
/// others.
#[cfg(target_os = "linux")]
fn is_local_type(number: u32) -> bool {
    matches!(
        number,
        0xef53 // ext2 to ext4
            | 0x9123_683e // Btrfs
            | 0x5846_5342 // XFS
            | 0x2fc1_2fc1 // ZFS
            | 0xf2f5_2010 // F2FS
            | 0xca45_1a4e // Bcachefs
            | 0x0102_1994 // tmpfs
            | 0x8584_58f6 // ramfs
            | 0x794c_7630 // overlay, as in containers; the kernel forbids changing its lower layers
            | 0x3153_464a // JFS
            | 0x5265_4973 // ReiserFS
            | 0x7371_7368 // SquashFS
            | 0xe0f5_e1e2 // EROFS
    )
}

/// Returns whether other machines may change files without an event on this one. True for unknown
/// file systems.
#[cfg(target_os = "linux")]
pub(crate) fn is_on_network(path: &Path) -> bool {
    file_system_type(path).is_some_and(|number| !is_local_type(number))
}

/// Always false: the type of a file system is only detected on Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_on_network(_: &Path) -> bool {
    false
}
