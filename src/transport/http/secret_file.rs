//! Files with secrets: tokens, and the keys of sessions and of TLS. Some are read again while they
//! are used.

use crate::lock::lock;
use crate::whole_file::open_regular;
use crate::wording::format_size;
use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The longest file, in bytes.
const MAX_FILE: usize = 1024 * 1024;

/// A file to read, with the words for it in errors: `cannot read the TITLE PATH: …; REPAIR`.
pub struct GuardedFile<'f> {
    /// The path of the file.
    pub path: &'f Path,
    /// What the file is, such as `token file`.
    pub title: &'f str,
    /// What must be in the file, or what to do: `--key needs a file with a key`.
    pub repair: &'f str,
}

impl GuardedFile<'_> {
    /// Reads a secret, which other users of this machine can neither read nor change.
    ///
    /// # Errors
    /// The path, why the file cannot be used, and what to do.
    pub fn read_secret(&self) -> Result<Vec<u8>, String> {
        self.read_with(|_| true)
    }

    /// Reads a public file, which other users of this machine cannot change.
    ///
    /// # Errors
    /// The path, why the file cannot be used, and what to do.
    pub(super) fn read_public(&self) -> Result<Vec<u8>, String> {
        self.read_with(|_| false)
    }

    /// Reads a file that other users of this machine cannot change. If `has_secrets` returns `true`
    /// for its bytes, they cannot read it either.
    ///
    /// # Errors
    /// The path, why the file cannot be used, and what to do.
    pub(super) fn read_with(&self, has_secrets: fn(&[u8]) -> bool) -> Result<Vec<u8>, String> {
        let GuardedFile { title, repair, .. } = self;
        let path = self.path.display();
        let mut bytes = Vec::new();
        let metadata = match read_regular(self.path, &mut bytes) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(format!("{path} is not a file; {repair}"));
            }
            Err(error) => return Err(format!("cannot read the {title} {path}: {error}; {repair}")),
        };
        if bytes.len() > MAX_FILE {
            let max = format_size(MAX_FILE);
            return Err(format!("the {title} {path} is longer than {max}; {repair}"));
        }
        if others_have_access(&metadata, has_secrets(&bytes)) {
            let command = shlex::try_join(["chmod", "600", &path.to_string()])
                .unwrap_or_else(|_| "chmod 600".to_owned());
            return Err(format!(
                "others can read or change the {title} {path}: run `{command}`"
            ));
        }
        Ok(bytes)
    }
}

/// Reads a file into `bytes`, at most [`MAX_FILE`] bytes and one more, by which the caller notices
/// that the file is too long.
///
/// # Errors
/// `InvalidInput`: the path is not that of a file.
fn read_regular(path: &Path, bytes: &mut Vec<u8>) -> io::Result<Metadata> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    file.take(MAX_FILE as u64 + 1).read_to_end(bytes)?;
    Ok(metadata)
}

/// Returns whether other users of this machine can change a file or, if it has secrets, read it.
#[cfg(unix)]
fn others_have_access(metadata: &Metadata, has_secrets: bool) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    // Only root can have given a file of root to a group, such as that of this service. systemd's
    // credentials look the same.
    let is_given_by_root = metadata.uid() == 0 && !rustix::process::geteuid().is_root();
    let forbidden_bits = if !has_secrets {
        0o002 // others may not write
    } else if is_given_by_root {
        0o006 // others may not read or write
    } else {
        0o046 // others may not read or write, and the group may not read
    };
    metadata.permissions().mode() & forbidden_bits != 0
}

/// Outside of Unix, the rights of a file are not checked.
#[cfg(not(unix))]
fn others_have_access(_: &Metadata, _: bool) -> bool {
    false
}

/// Returns `N` random bytes, which nobody can predict.
///
/// # Errors
/// The system gives no random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(format!("the system gives no random bytes: {error}")),
    }
}

/// A value that is made from files, which may change.
pub(super) struct WatchedValue<T> {
    load: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    current: Mutex<Arc<T>>,
    /// Why the files cannot be used now; empty if they can.
    failure: Mutex<String>,
    /// Receives the message of each failure once, however often it is repeated.
    warn: fn(&str),
}

impl<T> WatchedValue<T> {
    /// Returns the value that `load` makes from the files now. `warn` receives why they cannot be
    /// used later, after [`WatchedValue::refresh`].
    ///
    /// # Errors
    /// The error of `load`, which says what to do.
    pub(super) fn new(
        load: impl Fn() -> Result<T, String> + Send + Sync + 'static,
        warn: fn(&str),
    ) -> Result<WatchedValue<T>, String> {
        let current = Mutex::new(Arc::new(load()?));
        Ok(WatchedValue {
            load: Box::new(load),
            current,
            failure: Mutex::default(),
            warn,
        })
    }

    /// Returns the value of the files, as they were when they could last be used.
    pub(super) fn current(&self) -> Arc<T> {
        Arc::clone(&lock(&self.current))
    }

    /// Reads the files again. If they cannot be used, the value stays as it was. Call this each
    /// second, on a thread that may wait.
    pub(super) fn refresh(&self) {
        let mut last_failure = lock(&self.failure);
        match (self.load)() {
            Ok(value) => {
                *lock(&self.current) = Arc::new(value);
                last_failure.clear();
            }
            Err(failure) => {
                if failure != *last_failure {
                    let message = format!("{failure}; until then, what was read before is used");
                    (self.warn)(&message);
                }
                *last_failure = failure;
            }
        }
    }
}
