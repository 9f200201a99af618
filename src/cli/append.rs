//! Files that the server appends to: its log, and the record of a conversation. A file that fails
//! causes a warning; the server goes on. If `doctor` has started the server, files are only tested:
//! none is created, and nothing is appended.

use super::source_options::absolute;
use crate::doctor::EXAMINED_VARIABLE;
use crate::wording::path_in_backticks;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for appending; a new one can be read by its owner only. Returns `None` if `doctor`
/// has started the server: then, the file is only tested.
///
/// # Errors
/// Why the file cannot be opened, and what to do.
pub(super) fn open(path: &Path) -> Result<Option<File>, String> {
    let absolute_path = absolute(path); // a settings file may have `~/`
    let is_examined = std::env::var_os(EXAMINED_VARIABLE).is_some();
    let result = if is_examined {
        test(&absolute_path).map(|()| None)
    } else {
        create(&absolute_path).map(Some)
    };
    result.map_err(|error| {
        format!(
            "{} cannot be written to: {error}; choose a file in a folder of yours",
            path_in_backticks(path)
        )
    })
}

/// Tests whether a file could be opened for appending, and changes nothing. If the file does not
/// exist, tries whether a temporary file can be created in its folder.
///
/// # Errors
/// Returns why the file could not be opened.
fn test(path: &Path) -> io::Result<()> {
    match append_options(path)?.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            // Only the kind: the error itself has the name of the temporary file.
            tempfile::tempfile_in(folder).map_err(|error| error.kind())?;
            Ok(())
        }
        result => result.map(drop),
    }
}

/// Opens a file for appending, or creates it so that only its owner can read it.
fn create(path: &Path) -> io::Result<File> {
    append_options(path)?.create(true).open(path)
}

/// Returns the options to open this file for appending, with the permissions of a new file.
///
/// # Errors
/// The file is a pipe, whose opening would wait for a reader.
fn append_options(path: &Path) -> io::Result<OpenOptions> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo()) {
            return Err(io::Error::other("it is a pipe, which may block"));
        }
        const OWNER_ONLY: u32 = 0o600;
        options.mode(OWNER_ONLY);
    }
    options.append(true);
    Ok(options)
}
