//! What tells one state of a file from another without opening it, and when that can be relied on.
//!
//! A stamp is device, inode, size and both times of a file. The time of the last change (ctime) is the system's own: no
//! program can set it back, as `cp -p` and `rsync -t` do with the other. Yet two changes within one tick of the file
//! clock show the same times, and a network file system shows times of a while ago. So a stamp is relied on only if the
//! file has been left alone for a while, and lies on a local disk; any other file is read again.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long ago the last change of a file must be, so that the next one shows another time. The clock of FAT ticks every
/// two seconds, those of other file systems every few milliseconds.
const SETTLED: Duration = Duration::from_secs(2);

/// The state of a file or a folder, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, inode and mode; what Windows does not tell.
    #[cfg(unix)]
    identity: (u64, u64, u32),
    /// Seconds and nanoseconds.
    #[cfg(unix)]
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of what is at a path; `None`, if nothing can be seen there.
    pub(super) fn at(path: &Path) -> Option<Stamp> {
        fs::metadata(path).ok().as_ref().map(Stamp::of)
    }

    pub(super) fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: (metadata.dev(), metadata.ino(), metadata.mode()),
            #[cfg(unix)]
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the next change of the file at `path`, whose stamp was taken just now, is sure to show another stamp. Only
    /// Linux tells enough to be sure.
    pub(super) fn is_reliable(&self, path: &Path) -> bool {
        cfg!(target_os = "linux") && self.is_settled() && !is_remote(path)
    }

    /// Whether the last change was so long ago that the next one shows another time.
    pub(super) fn is_settled(&self) -> bool {
        #[cfg(unix)]
        let changed = u64::try_from(self.changed.0).ok().map(|seconds| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(self.changed.1.unsigned_abs())
        });
        #[cfg(not(unix))]
        let changed = self.modified;
        // A time to come is no time to rely on.
        changed.is_some_and(|time| time.elapsed().is_ok_and(|age| age > SETTLED))
    }
}

/// Whether other machines may change the files of this folder, or this file, of which our system hears nothing.
#[cfg(target_os = "linux")]
pub(super) fn is_remote(path: &Path) -> bool {
    // The type is wider on some platforms; the numbers are of 32 bits.
    rustix::fs::statfs(path).is_ok_and(|stat| is_remote_type(stat.f_type as u32))
}

/// By the numbers of statfs(2) and the kernel's linux/magic.h.
#[cfg(target_os = "linux")]
fn is_remote_type(number: u32) -> bool {
    matches!(
        number,
        0x6969 // NFS
            | 0x517b // SMB
            | 0xff53_4d42 // CIFS
            | 0xfe53_4d42 // SMB 2
            | 0x0102_1997 // 9P, as of a virtual machine
            | 0x6573_5546 // FUSE
            | 0x5346_414f // AFS
            | 0x7375_7245 // Coda
            | 0x00c3_6400 // Ceph
            | 0x786f_4256 // VirtualBox
            | 0x7c7c_6673 // Parallels
    )
}

/// Elsewhere a file system that tells nothing cannot be told from one that has nothing to tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_remote(_: &Path) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_network_file_system_is_remote_and_a_local_one_is_not() {
        assert!(is_remote_type(0x6969) && is_remote_type(0xfe53_4d42));
        // ext, btrfs, xfs, tmpfs, overlayfs, zfs
        for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert!(!is_remote_type(local), "{local:x}");
        }
        assert!(!is_remote(Path::new("/proc")));
    }

    #[test]
    fn a_file_that_changed_a_moment_ago_or_in_time_to_come_is_not_relied_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.md");
        fs::write(&file, "x").unwrap();
        let young = Stamp::at(&file).unwrap();
        assert!(!young.is_settled() && !young.is_reliable(&file));
        let aged = |seconds: i64| Stamp { changed: (young.changed.0 - seconds, young.changed.1), ..young };
        assert!(aged(3).is_settled() && aged(3).is_reliable(&file));
        assert!(!aged(-3600).is_settled());
        assert!(!Stamp { changed: (-1, 0), ..young }.is_settled());
    }

    #[test]
    fn another_file_under_the_same_path_has_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a.md"), "same").unwrap();
        fs::write(at("b.md"), "same").unwrap();
        symlink(at("a.md"), at("link.md")).unwrap();
        let before = Stamp::at(&at("link.md"));
        assert_eq!(before, Stamp::at(&at("a.md")));
        fs::remove_file(at("link.md")).unwrap();
        symlink(at("b.md"), at("link.md")).unwrap();
        assert_ne!(before, Stamp::at(&at("link.md")));
        fs::rename(at("b.md"), at("a.md")).unwrap();
        assert_ne!(before, Stamp::at(&at("a.md")));
        assert_eq!(Stamp::at(&at("link.md")), None);
    }
}
