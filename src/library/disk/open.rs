//! Opens and reads files: each file that is served is opened here, and nowhere else.
//!
//! Only regular files are opened, so that a FIFO or a device never blocks.

use super::reach::Reach;
use crate::prompt::{Diagnostic, Kind, MAX_FILE};
use crate::whole_file::open_without_blocking;
use crate::wording::too_long;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The message for a symlink whose target does not exist.
pub(crate) const BROKEN_LINK: &str = "the link is broken";

/// The fix for a symlink to a file that does not exist.
pub(super) const BROKEN_LINK_FIX: &str = "point it at a file that exists, or delete it";

/// Returns the bytes of a regular file.
///
/// # Errors
/// The file cannot be read, is not a regular file, or is longer than `limit` bytes. The message
/// calls it "the file", so the caller adds its path.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    read_opened(open(path)?, path, limit)
}

/// Returns the bytes of a regular file of at most [`MAX_FILE`] bytes, which is in a folder of
/// prompts, or which a person has named.
///
/// # Errors
/// Those of [`read`]; or a symlink in the path leads out of the folders of `reach`.
pub(crate) fn read_confined(path: &Path, reach: &Reach) -> Result<Vec<u8>, Diagnostic> {
    let file = open(path)?;
    reach.check_open_file(&file)?;
    read_opened(file, path, MAX_FILE)
}

/// Returns the bytes of a regular file, like [`read`], but does not follow a symlink.
///
/// # Errors
/// There is no such file (`NotFound`); or it cannot be read, is a symlink or no regular file, or is
/// longer than `limit` bytes.
pub(crate) fn read_regular(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    read(path, limit).map_err(|diagnostic| match diagnostic.kind {
        Kind::NotFound => ErrorKind::NotFound.into(),
        _ => io::Error::other(diagnostic.message),
    })
}

/// Opens a regular file. A FIFO or a device is not even opened, because that may block or have
/// effects.
pub(super) fn open(path: &Path) -> Result<File, Diagnostic> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    check_regular(&metadata)?;
    let file = open_without_blocking(path).map_err(|error| unreadable(path, &error))?;
    // Another file may have taken its place after the first check.
    check_regular(&metadata_of(&file, path)?)?;
    Ok(file)
}

/// Returns the bytes of an open file. `path` is only for the message of an error.
///
/// # Errors
/// The file cannot be read, or is longer than `limit` bytes.
pub(super) fn read_opened(file: File, path: &Path, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    let length = metadata_of(&file, path)?.len() as usize;
    check_length(length, limit)?;
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    // It may have grown meanwhile.
    check_length(bytes.len(), limit)?;
    Ok(bytes)
}

fn metadata_of(file: &File, path: &Path) -> Result<Metadata, Diagnostic> {
    file.metadata().map_err(|error| unreadable(path, &error))
}

/// Returns the diagnostic for a file that cannot be opened or read because of `error`. Its fix fits
/// the reason: a broken symlink, a missing file, or missing permissions.
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

/// Returns whether an error means that nothing is at the end of a path. If the path is a symlink,
/// it is broken.
pub(super) fn is_broken_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true; // a symlink to itself
    }
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Refuses a folder, a device, and anything else that is not a regular file.
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

/// Refuses a file whose length is more than `limit` bytes.
fn check_length(length: usize, limit: usize) -> Result<(), Diagnostic> {
    if length <= limit {
        return Ok(());
    }
    Err(Diagnostic::new(
        Kind::TooLong,
        format!("the file is {}", too_long(length, limit)),
        "make it smaller, or give the path of the material for the agent to read",
    ))
}
