//! Files that the server appends to: its log, and the record of a conversation. A file that fails
//! causes a warning; the server goes on. If `doctor` has started the server, files are only tested:
//! none is created, and nothing is appended.

use super::source::absolute;
use crate::doctor::EXAMINED_VARIABLE;
use crate::wording::named_path;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for appending; a new one can be read by its owner only. `None`: `doctor` has
/// started the server, and the file was only tested.
///
/// # Errors
/// Why it cannot be opened, and what to do.
pub(super) fn open(path: &Path) -> Result<Option<File>, String> {
    let is_examined = std::env::var_os(EXAMINED_VARIABLE).is_some();
    // A settings file may have `~/`.
    match open_or_test(&absolute(path), is_examined) {
        Ok(_) if is_examined => Ok(None),
        Ok(file) => Ok(Some(file)),
        Err(error) => {
            let path = named_path(path);
            Err(format!(
                "{path} cannot be written to: {error}; choose a file in a folder of yours"
            ))
        }
    }
}

/// Opens a file for appending. If it does not exist and is only tested, a temporary file in its
/// folder is opened in its place.
fn open_or_test(path: &Path, is_tested: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo()) {
            return Err(io::Error::other("it is a pipe, which may block")); // even while it is opened
        }
        options.mode(0o600);
    }
    match options.append(true).create(!is_tested).open(path) {
        Err(error) if is_tested && error.kind() == io::ErrorKind::NotFound => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            tempfile::tempfile_in(folder).map_err(|error| error.kind().into()) // without the temporary name
        }
        opened => opened,
    }
}
