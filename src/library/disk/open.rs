//! Reads one file: each that is served is opened here, and nowhere else.
//!
//! Nothing but a regular file is ever opened, so that a FIFO or a device never blocks.

use super::reach::Reach;
use super::root::Root;
use crate::prompt::{Diagnostic, Kind, MAX_FILE, owned_text};
use crate::whole_file::open_without_blocking;
use crate::wording::too_long;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Message and fix for a symlink whose target does not exist.
pub(crate) const BROKEN_LINK: (&str, &str) = (
    "the link is broken",
    "point it at a file that exists, or delete it",
);

/// Reads a regular file of at most `max` bytes. `check` may refuse the file once it is open.
///
/// # Errors
/// The file cannot be read, is not a regular file, is too long, or was refused. The message is
/// about "the file".
pub(crate) fn read(
    path: &Path,
    max: usize,
    check: impl FnOnce(&File) -> Result<(), Diagnostic>,
) -> Result<Vec<u8>, Diagnostic> {
    let failed = |error: io::Error| unreadable(path, &error);
    check_regular(&fs::metadata(path).map_err(failed)?)?; // opening a FIFO would wait for its writer
    let file = open_without_blocking(path).map_err(failed)?;
    check(&file)?;
    let metadata = file.metadata().map_err(failed)?;
    check_regular(&metadata)?; // it may have been replaced a moment ago
    check_length(metadata.len(), max)?;
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    check_length(bytes.len() as u64, max)?; // it may have grown meanwhile
    Ok(bytes)
}

/// Why the system does not read a file.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
    match error.kind() {
        _ if is_broken_link(error) && is_link() => {
            Diagnostic::new(Kind::Missing, BROKEN_LINK.0, BROKEN_LINK.1)
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => Diagnostic::new(
            Kind::Missing,
            "there is no such file",
            "correct the path, or create it",
        ),
        ErrorKind::PermissionDenied => {
            let message = "the file cannot be read: permission denied";
            Diagnostic::new(Kind::Unreadable, message, "correct its permissions")
        }
        _ => {
            let message = format!("the file cannot be read: {error}");
            Diagnostic::new(
                Kind::Unreadable,
                message,
                "check that it exists and is readable",
            )
        }
    }
}

fn check_regular(file: &Metadata) -> Result<(), Diagnostic> {
    if file.is_file() {
        return Ok(());
    }
    Err(Diagnostic::new(
        Kind::Unreadable,
        "it is not a regular file",
        "put a regular file in its place, or rename it",
    ))
}

fn check_length(length: u64, max: usize) -> Result<(), Diagnostic> {
    let fix = "make it smaller, or give the path of the material for the agent to read";
    let why = || {
        Diagnostic::new(
            Kind::TooLong,
            format!("the file is {}", too_long(length as usize, max)),
            fix,
        )
    };
    if length <= max as u64 {
        Ok(())
    } else {
        Err(why())
    }
}

/// Reads a file of any length, which a person has named.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_without_blocking(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a file that a command has found in what it names.
///
/// # Errors
/// The file leads outside, cannot be read, is too long, or is not UTF-8.
pub(crate) fn read_confined_text(path: &Path, reach: &Reach) -> Result<String, Diagnostic> {
    read_confined(path, reach)
        .and_then(owned_text)
        .map_err(|problem| problem.in_file(path))
}

/// Reads a file that need not be a text, if it is within reach.
pub(crate) fn read_confined(path: &Path, reach: &Reach) -> Result<Vec<u8>, Diagnostic> {
    read(path, MAX_FILE, |open| reach.check_open_file(open))
}

/// Reads a regular file of at most so many bytes. A symlink is not followed.
///
/// # Errors
/// The file cannot be read, is not a regular file, or is too long.
pub(crate) fn read_regular(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    read(path, max, |_| Ok(())).map_err(|why| match why.kind {
        Kind::Missing => ErrorKind::NotFound.into(),
        _ => io::Error::other(why.message),
    })
}

/// Whether a file at this path has the name of a prompt, as far as the path alone says.
pub fn is_prompt_file(path: &Path) -> bool {
    Root::around(path).name_of(path).is_some()
}

/// Whether following a symlink failed because its target does not exist.
pub(crate) fn is_broken_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true; // a symlink to itself
    }
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
