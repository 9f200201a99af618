//! Opens and reads every file that is served.
//!
//! Only regular files are opened: opening a FIFO could block forever, and opening a device can have
//! side effects.

use super::reach::Reach;
use crate::prompt::{Diagnostic, Kind, MAX_FILE};
use crate::whole_file::open_without_blocking;
use crate::wording::size_and_limit;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The message for a symlink to a missing file.
pub(crate) const BROKEN_LINK: &str = "the link is broken";

/// The fix for a symlink to a missing file.
pub(super) const BROKEN_LINK_FIX: &str = "point it at a file that exists, or delete it";

/// Reads a regular file.
///
/// # Errors
/// Fails if the file can't be read, isn't a regular file, or is longer than `limit` bytes. The
/// message refers to "the file" without its path, which the caller must add.
pub(crate) fn read_file(path: &Path, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    read_opened(open(path)?, path, limit)
}

/// Reads a prompt file, or a file that the user typed: a regular file of at most [`MAX_FILE`] bytes
/// that is inside `reach`.
///
/// # Errors
/// In addition to the errors of [`read_file`], fails if a symlink leads out of `reach`.
pub(crate) fn read_confined(path: &Path, reach: &Reach) -> Result<Vec<u8>, Diagnostic> {
    let file = open(path)?;
    reach.check_open_file(&file)?;
    read_opened(file, path, MAX_FILE)
}

/// Reads a regular file, like [`read_file`], but refuses a symlink.
///
/// # Errors
/// Returns `NotFound` if the file doesn't exist. Also fails if it can't be read, isn't a regular
/// file, or is longer than `limit` bytes.
pub(crate) fn read_regular(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    read_file(path, limit).map_err(|diagnostic| match diagnostic.kind {
        Kind::NotFound => ErrorKind::NotFound.into(),
        _ => io::Error::other(diagnostic.message),
    })
}

/// Opens a regular file. Checks its type before opening it, because opening a FIFO may block, and
/// opening a device may have side effects.
pub(super) fn open(path: &Path) -> Result<File, Diagnostic> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    check_regular(&metadata)?;
    let file = open_without_blocking(path).map_err(|error| unreadable(path, &error))?;
    // Check again, in case the file was replaced in between.
    check_regular(&metadata_of(&file, path)?)?;
    Ok(file)
}

/// Reads an open file. `path` only matters for error messages.
///
/// # Errors
/// Fails if the file can't be read, or is longer than `limit` bytes.
pub(super) fn read_opened(file: File, path: &Path, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    let length = metadata_of(&file, path)?.len() as usize;
    check_length(length, limit)?;
    let mut bytes = Vec::with_capacity(length + 1); // `read_to_end` needs one byte to see the end
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    // Check again, in case the file has grown.
    check_length(bytes.len(), limit)?;
    Ok(bytes)
}

fn metadata_of(file: &File, path: &Path) -> Result<Metadata, Diagnostic> {
    file.metadata().map_err(|error| unreadable(path, &error))
}

/// Describes why a file can't be opened or read, with a fix that fits: for a broken symlink, a
/// missing file, or missing permissions.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    if is_broken_link(error) && path.is_symlink() {
        return Diagnostic::new(Kind::NotFound, BROKEN_LINK, BROKEN_LINK_FIX);
    }
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Diagnostic::new(
            Kind::NotFound,
            "there is no such file",
            "correct the path, or create it",
        ),
        ErrorKind::PermissionDenied => Diagnostic::new(
            Kind::Unreadable,
            "the file cannot be read: permission denied",
            "correct its permissions",
        ),
        _ => Diagnostic::new(
            Kind::Unreadable,
            format!("the file cannot be read: {error}"),
            "check that it exists and is readable",
        ),
    }
}

/// Returns whether an error means that the path leads nowhere, so that a symlink at that path is
/// broken.
pub(super) fn is_broken_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true; // a cycle of symlinks
    }
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns an error unless this is a regular file.
fn check_regular(metadata: &Metadata) -> Result<(), Diagnostic> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(Diagnostic::new(
        Kind::Unreadable,
        "it is not a regular file",
        "put a regular file in its place, or rename it",
    ))
}

/// Returns an error if a file is longer than `limit` bytes.
fn check_length(length: usize, limit: usize) -> Result<(), Diagnostic> {
    if length <= limit {
        return Ok(());
    }
    Err(Diagnostic::new(
        Kind::TooLong,
        format!("the file is {}", size_and_limit(length, limit)),
        "make it smaller, or give the path of the material for the agent to read",
    ))
}
