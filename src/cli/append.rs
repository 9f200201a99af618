//! Opens the files that the server appends to: its log, and the record of all messages.

use super::source_options::absolute;
use crate::doctor::EXAMINED_VARIABLE;
use crate::lock::lock;
use crate::wording::path_in_backticks;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A file that the server appends to. The signal HUP opens the file again, so that a new file is
/// created after the old one has been renamed. Clones share the file.
#[derive(Clone)]
pub(super) struct AppendedFile(Arc<Mutex<File>>);

impl Write for AppendedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.0).flush()
    }
}

/// Opens a file for appending. A new file is readable by its owner only.
///
/// Returns `None` without opening it if `doctor` has started the server.
///
/// # Errors
/// Fails with a message for the user if the file can't be opened.
pub(super) fn open(path: &Path) -> Result<Option<AppendedFile>, String> {
    let is_examined = std::env::var_os(EXAMINED_VARIABLE).is_some();
    if is_examined {
        return Ok(None);
    }
    let absolute_path = absolute(path); // expands `~`, which may be in a settings file
    let file = open_or_create(&absolute_path).map_err(|error| open_error(path, &error))?;
    let file = AppendedFile(Arc::new(Mutex::new(file)));
    #[cfg(unix)]
    reopen_on_hangup(file.clone(), absolute_path);
    Ok(Some(file))
}

/// Returns the message for a file that can't be opened. `path` is as the user wrote it.
fn open_error(path: &Path, error: &io::Error) -> String {
    format!(
        "{} cannot be written to: {error}; choose a file in a folder of yours",
        path_in_backticks(path)
    )
}

/// Makes the signal HUP no longer end the process, whether there is a file to open again or not.
pub(super) fn ignore_hangups() {
    #[cfg(unix)]
    {
        let ignored_flag = Arc::default(); // set by the handler, read by nobody
        // If this fails, the signal still ends the process.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGHUP, ignored_flag);
    }
}

/// Starts a thread that opens `path` again whenever the process gets the signal HUP, so that `file`
/// and its clones write there from then on. If `path` can't be opened, they keep the old file, and
/// a warning is printed.
#[cfg(unix)]
fn reopen_on_hangup(file: AppendedFile, path: std::path::PathBuf) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGHUP]) else {
        return;
    };
    // If the thread can't be started, the file stays open.
    let _ = std::thread::Builder::new().spawn(move || {
        for _ in signals.forever() {
            match open_or_create(&path) {
                Ok(new_file) => *lock(&file.0) = new_file,
                Err(error) => super::output::print_warning(&format!(
                    "{} cannot be opened again: {error}; the old file is still used",
                    path_in_backticks(&path)
                )),
            }
        }
    });
}

/// Opens a file for appending, and creates it if it doesn't exist.
fn open_or_create(path: &Path) -> io::Result<File> {
    append_options(path)?.create(true).open(path)
}

/// Returns the options for opening this file, including the permissions of a new file.
///
/// # Errors
/// Fails if the file is a pipe, because opening it would block until there is a reader.
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
