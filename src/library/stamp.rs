//! What tells one state of a file from another without opening it, and when that can be relied on.
//!
//! A stamp is device, inode, mode, size and both times of a file. The time of the last change (ctime) is the system's own:
//! no program can set it back, as `cp -p` and `rsync -t` do with the other. Yet two changes within one tick of the file
//! clock show the same times, and a network file system shows times of a while ago. So a stamp is relied on only if the
//! file has been left alone for a while, and lies on a file system that we know as local; any other file is read again.
//!
//! The rule, whatever is kept: take the stamp, decide whether it can be relied on, and only then look. One change stays
//! unseen: a program that keeps a file mapped into its memory and writes to the same page again.

use super::kept::lock;
use std::fs::{self, Metadata};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// How long ago the last change of a file must be, so that the next one shows another time. The clocks of file systems tick
/// every few milliseconds; the coarsest that is known, FAT's, every two seconds.
const SETTLED: Duration = Duration::from_secs(2);

/// The state of a file or a folder, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    length: u64,
    /// Device, inode and mode; what std does not tell of Windows.
    #[cfg(unix)]
    identity: (u64, u64, u32),
    /// Seconds and nanoseconds.
    #[cfg(unix)]
    modified: (i64, i64),
    #[cfg(unix)]
    changed: (i64, i64),
    #[cfg(not(unix))]
    modified: Option<SystemTime>,
}

impl Stamp {
    /// The stamp of what is at a path; `None`, if nothing can be seen there.
    ///
    /// On Linux by stat(2): std asks for more, in a way that costs a twentieth more of a repeated list.
    #[allow(clippy::unnecessary_cast, reason = "the types are not the same on each processor")]
    pub(super) fn at(path: &Path) -> Option<Stamp> {
        #[cfg(target_os = "linux")]
        return rustix::fs::stat(path).ok().map(|stat| Stamp {
            length: stat.st_size as u64,
            identity: (stat.st_dev as u64, stat.st_ino as u64, stat.st_mode as u32),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        });
        #[cfg(not(target_os = "linux"))]
        fs::metadata(path).ok().as_ref().map(Stamp::of)
    }

    pub(super) fn of(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            length: metadata.len(),
            #[cfg(unix)]
            identity: (metadata.dev(), metadata.ino(), metadata.mode()),
            #[cfg(unix)]
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            #[cfg(unix)]
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            #[cfg(not(unix))]
            modified: metadata.modified().ok(),
        }
    }

    /// The stamp of what is at a path, if the next change of it is sure to show another one. To be taken before one looks
    /// at it.
    pub(super) fn reliable_at(path: &Path, local: &LocalDevice) -> Option<Stamp> {
        Stamp::reliable(path, &fs::metadata(path).ok()?, local)
    }

    /// The same of what the system says of it now.
    pub(super) fn reliable(path: &Path, metadata: &Metadata, local: &LocalDevice) -> Option<Stamp> {
        let stamp = Stamp::of(metadata);
        (stamp.is_settled() && local.has(path, metadata)).then_some(stamp)
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

/// The device that was last found to be local, for as long as one look at a library takes: nearly all of its files lie on
/// one, and to ask for each is to pay for a seventh of its reading. The number of a device that is unmounted may be another's
/// tomorrow.
#[derive(Debug, Default)]
pub(super) struct LocalDevice(Mutex<Option<u64>>);

impl LocalDevice {
    /// Before another look.
    pub(super) fn forget(&self) {
        self.set(None);
    }

    fn has(&self, path: &Path, metadata: &Metadata) -> bool {
        #[cfg(unix)]
        let device = Some(std::os::unix::fs::MetadataExt::dev(metadata));
        #[cfg(not(unix))]
        let device = None;
        if device.is_some() && device == *lock(&self.0) {
            return true;
        }
        let is_local = is_local(path);
        self.set(device.filter(|_| is_local));
        is_local
    }

    fn set(&self, device: Option<u64>) {
        *lock(&self.0) = device;
    }
}

/// The number of the file system at a path, as statfs(2) and the kernel's linux/magic.h have it.
#[cfg(target_os = "linux")]
fn file_system(path: &Path) -> Option<u32> {
    // The type is wider on some platforms; the numbers are of 32 bits.
    rustix::fs::statfs(path).ok().map(|stat| stat.f_type as u32)
}

/// Whether a file lies where each change of it shows in its stamp at once. Where we cannot tell, it does not; and FAT keeps
/// no times of its root, and for others no time that programs cannot set.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    file_system(path).is_some_and(is_local_type)
}

/// Other systems are not asked; there, every file is read again.
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
            | 0x794c_7630 // overlay, as of a container: who changes what lies below it is on his own (kernel, overlayfs)
    )
}

/// Whether other machines may change the files of this folder, of which our system hears nothing.
#[cfg(target_os = "linux")]
pub(super) fn is_remote(path: &Path) -> bool {
    file_system(path).is_some_and(is_remote_type)
}

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

/// Other systems are not asked; a file system that tells nothing looks there like one that has nothing to tell.
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
            assert!(is_local_type(local) && !is_remote_type(local), "{local:x}");
        }
        assert!(!is_local_type(0x6969));
        assert!(!is_remote(Path::new("/proc")) && !is_local(Path::new("/proc")), "neither");
        assert!(!is_local(Path::new("/nowhere")));
    }

    #[test]
    fn a_file_that_changed_a_moment_ago_or_in_time_to_come_is_not_relied_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.md");
        fs::write(&file, "x").unwrap();
        let young = Stamp::at(&file).unwrap();
        assert!(!young.is_settled() && Stamp::reliable_at(&file, &LocalDevice::default()).is_none());
        let aged = |seconds: i64| Stamp { changed: (young.changed.0 - seconds, young.changed.1), ..young };
        assert!(aged(3).is_settled());
        assert!(!aged(-3600).is_settled());
        assert!(!Stamp { changed: (-1, 0), ..young }.is_settled());
    }

    #[test]
    fn a_stamp_is_the_same_whichever_way_it_was_taken() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.md");
        fs::write(&file, "x").unwrap();
        for path in [&*file, dir.path(), Path::new("/"), Path::new("/proc/self"), Path::new("/dev/null")] {
            assert_eq!(Stamp::at(path), Some(Stamp::of(&fs::metadata(path).unwrap())), "{}", path.display());
        }
        assert_eq!(Stamp::at(Path::new("/nowhere")), None);
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
