//! Files that the server appends to: its log, and the record of a conversation. A file that fails causes a warning; the server
//! goes on. If `doctor` has started the server, files are only tested: none is created, and nothing is appended.

use super::source::absolute;
use crate::doctor::EXAMINED_VARIABLE;
use crate::wording::named;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for appending; a new one can be read by its owner only. Warns and returns `None` if that fails; returns `None`,
/// too, if `doctor` has started the server.
pub(super) fn open(path: &Path, warn: fn(&str)) -> Option<File> {
    let refuse = |why: &str| {
        warn(&format!("{} cannot be written to: {why}", named(&path.display().to_string())));
        None
    };
    let path = &absolute(path); // a settings file may have `~/`
    let is_examined = std::env::var_os(EXAMINED_VARIABLE).is_some();
    let file = match open_without_waiting(path, is_examined) {
        Ok(file) => file,
        Err(error) => return refuse(&format!("{error}; choose a file in a folder of yours")),
    };
    if is_of_the_protocol(&file) {
        return refuse("it is the server's standard input or output, which carries the protocol; choose another file");
    }
    Some(file).filter(|_| !is_examined)
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
fn is_of_the_protocol(file: &File) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{FileType, fstat};
        let identity = |stat: &rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let is_terminal = |stat: &rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
        let file = fstat(file).ok().filter(|file| !is_terminal(file)).as_ref().map(identity);
        let streams = [fstat(io::stdin()), fstat(io::stdout())];
        file.is_some() && streams.iter().any(|stream| stream.as_ref().ok().map(identity) == file)
    }
    #[cfg(not(unix))]
    {
        _ = file;
        false
    }
}
