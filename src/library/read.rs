//! Reads one prompt file. No other file opens any.
//!
//! Nothing but a regular file is ever opened, so that a FIFO or a device never blocks.

use super::cache::Stamp;
use super::folder::Folder;
use crate::prompt::{Diagnostic, MAX_FILE, too_large};
use crate::wording::quoted;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Message and fix for a symlink whose target does not exist.
pub(super) const BROKEN_LINK: (&str, &str) = ("the link is broken", "point it at a file that exists, or delete it");

/// What a file holds.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// Its stamp before it was read.
    pub(super) stamp: Stamp,
    /// See [`Stamp::is_reliable`].
    pub(super) is_stamp_reliable: bool,
}

/// Reads a regular file of at most [`MAX_FILE`] bytes. `check` may refuse the file once it is open.
///
/// # Errors
/// The file cannot be read, is not a regular file, is too long, or was refused.
pub(super) fn read(path: &Path, check: impl FnOnce(&File) -> Result<(), Diagnostic>) -> Result<Content, Diagnostic> {
    read_up_to(path, MAX_FILE, too_large, check)
}

/// The same with another limit, and the diagnostic for a file of more bytes.
pub(super) fn read_up_to(
    path: &Path,
    max: usize,
    too_large: fn(u64) -> Diagnostic,
    check: impl FnOnce(&File) -> Result<(), Diagnostic>,
) -> Result<Content, Diagnostic> {
    let unreadable = |error: io::Error| {
        if is_broken_link(&error) && fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink()) {
            let (message, fix) = BROKEN_LINK;
            Diagnostic::error(None, message, fix)
        } else if error.kind() == ErrorKind::PermissionDenied {
            Diagnostic::error(None, "the file cannot be read: permission denied", "correct its permissions")
        } else {
            let message = format!("the file cannot be read: {error}");
            Diagnostic::error(None, message, "check that it exists and is readable")
        }
    };
    let irregular = || {
        let message = format!("{} is not a regular file", quoted(&path.display().to_string()));
        Diagnostic::error(None, message, "put a regular file in its place, or rename it")
    };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(irregular()); // opening a FIFO would wait for its writer
    }
    let file = open_without_blocking(path).map_err(unreadable)?;
    check(&file)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(irregular()); // replaced a moment ago
    }
    if metadata.len() > max as u64 {
        return Err(too_large(metadata.len()));
    }
    let stamp = Stamp::of(&metadata);
    let is_stamp_reliable = stamp.is_reliable(path);
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    // One byte more than allowed, for the parser to refuse, if the file has grown meanwhile.
    file.take(max as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Content { bytes, stamp, is_stamp_reliable })
}

/// Why an attachment cannot be read: a clause about the file, and the fix.
pub(super) type Refusal = (String, &'static str);

/// Reads an attachment: a regular file of at most `max` bytes. `check` may refuse the file once it is open.
///
/// # Errors
/// The file cannot be read, is not a regular file, is too long, or was refused.
pub(super) fn read_attachment(
    path: &Path,
    max: usize,
    check: impl FnOnce(&File) -> Result<(), Refusal>,
) -> Result<Vec<u8>, Refusal> {
    let irregular = || ("is not a regular file".to_owned(), "attach a file");
    let too_large = |length: u64| {
        let fix = "make it smaller, or write its path into the prompt for the agent to read";
        (format!("is {length} bytes long, the limit is {max}"), fix)
    };
    if !fs::metadata(path).map_err(attachment_refusal)?.is_file() {
        return Err(irregular()); // opening a FIFO would wait for its writer
    }
    let file = open_without_blocking(path).map_err(attachment_refusal)?;
    check(&file)?;
    let metadata = file.metadata().map_err(attachment_refusal)?;
    if !metadata.is_file() {
        return Err(irregular()); // replaced a moment ago
    }
    if metadata.len() > max as u64 {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(max as u64 + 1).read_to_end(&mut bytes).map_err(attachment_refusal)?;
    if bytes.len() > max {
        return Err(too_large(bytes.len() as u64)); // it has grown meanwhile
    }
    Ok(bytes)
}

/// The refusal of an attachment that the system does not read.
pub(super) fn attachment_refusal(error: io::Error) -> Refusal {
    match error.kind() {
        _ if is_broken_link(&error) => {
            ("does not exist".to_owned(), "correct its path, which is relative to the file of the prompt, or create it")
        }
        ErrorKind::PermissionDenied => ("cannot be read: permission denied".to_owned(), "correct its permissions"),
        _ => (format!("cannot be read: {error}"), "check that it exists and is readable"),
    }
}

/// Reads a regular file of any length, for a person.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_without_blocking(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of at most so many bytes. A symlink is not followed.
///
/// # Errors
/// The file cannot be read, is not a regular file, or is too long.
pub(super) fn read_regular(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let is_regular =
        |file: &fs::Metadata| if file.is_file() { Ok(()) } else { Err(io::Error::other("not a regular file")) };
    is_regular(&fs::symlink_metadata(path)?)?;
    let file = open_without_blocking(path)?;
    is_regular(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {max} bytes")));
    }
    Ok(bytes)
}

/// Whether a file at this path has the name of a prompt, as far as the path alone says.
pub fn is_prompt_file(path: &Path) -> bool {
    Folder::around(path).name_of(path).is_some()
}

/// Opens a file for reading. What would block (a FIFO, or a file of `/proc` that waits for data) fails instead, where
/// the platform supports it.
fn open_without_blocking(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options.read(true).open(path)
}

/// Whether following a symlink failed because its target does not exist.
pub(super) fn is_broken_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true; // a symlink to itself
    }
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
