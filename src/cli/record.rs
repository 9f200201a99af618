//! Files that the server appends to: its log, and the record of a conversation. A file that fails causes a warning; the server
//! goes on. If `doctor` has started the server, files are only tested: none is created, and nothing is appended.

use super::source::absolute;
use crate::doctor::EXAMINED_VARIABLE;
use crate::library::Library;
use crate::wording::named;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for appending; a new one can be read by its owner only. Warns and returns `None` if that fails; returns `None`,
/// too, if `doctor` has started the server.
pub(super) fn open(path: &Path, library: &Library, warn: fn(&str)) -> Option<File> {
    let refuse = |why: &str| {
        warn(&format!("{} cannot be written to: {why}", named(&path.display().to_string())));
        None
    };
    let path = &absolute(path); // a settings file may have `~/`
    if library.view().is_prompt_path(path) {
        return refuse("it would become a prompt there; choose another folder, or a name that ends in `.log`");
    }
    let is_examined = std::env::var_os(EXAMINED_VARIABLE).is_some();
    let file = match open_without_waiting(path, is_examined) {
        Ok(file) => file,
        Err(error) => return refuse(&format!("{error}; choose a file in a folder of yours")),
    };
    match is_of_the_protocol(&file) {
        Ok(false) => Some(file).filter(|_| !is_examined),
        Ok(true) => {
            refuse("it is the server's standard input or output, which carries the protocol; choose another file")
        }
        Err(error) => refuse(&format!("{error}; choose another file")),
    }
}

/// Opens a file for appending. Opening a pipe without a reader, and writing to a full one, would block; here both are errors. If
/// the file does not exist and is only tested, a temporary file in its folder is opened in its place.
fn open_without_waiting(path: &Path, is_tested: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = match options.append(true).create(!is_tested).open(path) {
        Err(error) if is_tested && error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            return tempfile::tempfile_in(folder).map_err(|error| error.kind().into()); // without the temporary name
        }
        opened => opened?,
    };
    #[cfg(unix)]
    if !std::os::unix::fs::FileTypeExt::is_fifo(&file.metadata()?.file_type()) {
        // Writing to a slow terminal, for example, may block.
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// Whether the file is the server's standard input or output, such as `/dev/stdout`. A terminal may be the input, the output and the file.
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
