//! The state of a file, by which a change of it shows without opening it; and which file systems
//! can be relied on.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a file or a folder, as the file system shows it. Symlinks are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    /// In bytes.
    size: u64,
    /// `None` where the file system does not say.
    pub(crate) modified: Option<SystemTime>,
    /// What std does not offer on Windows.
    #[cfg(unix)]
    unix: UnixState,
}

/// The part of the state that only Unix shows. The last change (ctime) is one of the content or of
/// the metadata.
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
    /// Returns the stamp of the file or folder at a path; `None` if nothing is there.
    ///
    /// # Errors
    /// The system cannot say it, such as without a permission for a folder in the path.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Stamp>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Stamp::of(&metadata))),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the stamp of a file or folder with this metadata.
    fn of(metadata: &Metadata) -> Stamp {
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

    /// Returns whether the next change of the file at this path is sure to show another stamp.
    ///
    /// It is if the last change was at least `min_age` ago, and the file system is known to be
    /// local. If the time of the last change is in the future, it is not.
    pub(crate) fn is_reliable(&self, path: &Path, min_age: Duration) -> bool {
        let Some(changed) = self.changed() else {
            return false;
        };
        changed.elapsed().is_ok_and(|age| age >= min_age) && is_local(path)
    }

    /// Returns the time of the last change.
    #[cfg(unix)]
    fn changed(&self) -> Option<SystemTime> {
        let seconds = u64::try_from(self.unix.changed_seconds).ok()?;
        let nanoseconds = self.unix.changed_nanoseconds.unsigned_abs();
        let age = Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds);
        Some(SystemTime::UNIX_EPOCH + age)
    }

    /// Returns the time of the last change.
    #[cfg(not(unix))]
    fn changed(&self) -> Option<SystemTime> {
        self.modified
    }
}

/// Returns the number of the type of the file system at a path, as in statfs(2) and in the kernel's
/// linux/magic.h.
#[cfg(target_os = "linux")]
fn file_system(path: &Path) -> Option<u32> {
    // Wider on some platforms; the numbers have 32 bits.
    rustix::fs::statfs(path).ok().map(|stat| stat.f_type as u32)
}

/// Returns whether a path is on a file system that shows each change of a file in its stamp at
/// once.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    file_system(path).is_some_and(is_local_type)
}

/// Returns false: on systems other than Linux, every file is read at each request.
#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}

/// Returns whether a type of file system is known to show each change of a file at once. FAT does
/// not: it stores no time of its root folder, and programs can set all other times.
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
            | 0x794c_7630 // overlay, as in a container; changing its lower layers is undefined (kernel, overlayfs)
            | 0x3153_464a // JFS
            | 0x5265_4973 // ReiserFS
            | 0x7371_7368 // SquashFS
            | 0xe0f5_e1e2 // EROFS
    )
}

/// Returns whether other machines may change the files of a folder, so that this one gets no event.
/// If the type of the file system is not known, they may.
#[cfg(target_os = "linux")]
pub(crate) fn is_on_network(path: &Path) -> bool {
    file_system(path).is_some_and(|number| !is_local_type(number))
}

/// Returns false: only Linux is asked for the type of a file system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_on_network(_: &Path) -> bool {
    false
}
