//! The state of a file, by which a change of it shows without opening it; and which file systems
//! can be relied on.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a file or a folder, symlinks followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    /// In bytes.
    size: u64,
    /// `None` where the file system does not say.
    pub(crate) modified: Option<SystemTime>,
    /// Device, inode and mode, which std does not offer on Windows.
    #[cfg(unix)]
    identity: (u64, u64, u32),
    /// The time of the last change of content or metadata: seconds and nanoseconds.
    #[cfg(unix)]
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file or folder at a path; `None` if there is none.
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

    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: (metadata.dev(), metadata.ino(), metadata.mode()),
            #[cfg(unix)]
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the next change of the file at this path is sure to show another stamp: the last one
    /// was at least so long ago.
    pub(crate) fn is_reliable(&self, path: &Path, settling: Duration) -> bool {
        #[cfg(unix)]
        let changed = u64::try_from(self.changed.0).ok().map(|seconds| {
            SystemTime::UNIX_EPOCH
                + Duration::from_secs(seconds)
                + Duration::from_nanos(self.changed.1.unsigned_abs())
        });
        #[cfg(not(unix))]
        let changed = self.modified;
        // A time in the future is not reliable.
        changed.is_some_and(|time| time.elapsed().is_ok_and(|age| age >= settling))
            && is_local(path)
    }
}

/// The type of the file system at a path, as in statfs(2) and the kernel's linux/magic.h.
#[cfg(target_os = "linux")]
fn file_system(path: &Path) -> Option<u32> {
    // Wider on some platforms; the numbers have 32 bits.
    rustix::fs::statfs(path).ok().map(|stat| stat.f_type as u32)
}

/// Whether the file at a path is on a file system that shows each change in the stamp at once.
/// Unknown ones are not listed; nor is FAT: it stores no times of its root, and no time that
/// programs cannot set.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    file_system(path).is_some_and(is_local_type)
}

/// Other systems are not asked: there, every file is read at each request.
#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}

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

/// Whether other machines may change the files of this folder without an event on this one: they
/// may if the file system is not known.
#[cfg(target_os = "linux")]
pub(crate) fn is_on_network(path: &Path) -> bool {
    file_system(path).is_some_and(|number| !is_local_type(number))
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_on_network(_: &Path) -> bool {
    false
}
