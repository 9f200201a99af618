//! Files that a server adds lines to: its log, and the record of a conversation. What is wrong with them is said, and keeps
//! nothing from being served.

use super::output;
use crate::library::Library;
use crate::wording::named;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Opens a file to be added to, that nobody else may read if it is new. `None`: it cannot be; that is said.
pub(super) fn open(path: &Path, library: &Library) -> Option<File> {
    let refuse = |why: &str| {
        output::warning(&format!("{} cannot be written to: {why}", named(&path.display().to_string())));
        None
    };
    if library.view().would_hold(path) {
        return refuse("there it would be a prompt; name a file in another folder, or one that ends in `.log`");
    }
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if has_no_reader(&error) => return refuse("nobody reads this pipe; start its reader first"),
        Err(error) => return refuse(&format!("{error}; name a file in a folder that is yours")),
    };
    match is_of_the_protocol(&file) {
        Ok(false) => Some(file),
        Ok(true) => refuse("it carries the protocol, as the server's standard input or output; name another file"),
        Err(error) => refuse(&format!("{error}; name another file")),
    }
}

/// Opens a file to be added to. To open a pipe that nobody reads is to wait for a reader, and so is to write to one that is
/// full; here both are errors.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.append(true).create(true).open(path)?;
    #[cfg(unix)]
    if !std::os::unix::fs::FileTypeExt::is_fifo(&file.metadata()?.file_type()) {
        // A terminal that is slow, say, is waited for.
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok(file)
}

fn has_no_reader(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
    #[cfg(not(unix))]
    {
        _ = error;
        false
    }
}

/// Whether it is what standard input or output is, such as `/dev/stdout`. A terminal may be all of them.
fn is_of_the_protocol(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let file = file.metadata()?;
        let is_same = |other: io::Result<std::os::fd::OwnedFd>| {
            let other = other.and_then(|other| File::from(other).metadata());
            other.is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
        };
        let [input, output] = [io::stdin().as_fd().try_clone_to_owned(), io::stdout().as_fd().try_clone_to_owned()];
        Ok(!file.file_type().is_char_device() && (is_same(input) || is_same(output)))
    }
    #[cfg(not(unix))]
    {
        _ = file;
        Ok(false)
    }
}

/// A log. Once it cannot be written, that is said once, and nothing is logged any more.
pub(super) struct Log {
    file: File,
    is_broken: AtomicBool,
}

impl Log {
    pub(super) fn new(file: File) -> Log {
        Log { file, is_broken: AtomicBool::new(false) }
    }
}

impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Ok(bytes.len());
        }
        match (&self.file).write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                if !self.is_broken.swap(true, Ordering::Relaxed) {
                    output::warning(&format!("nothing is logged any more: {error}"));
                }
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.file).flush()
    }
}
