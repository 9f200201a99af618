//! Reads files that must be protected from other users: tokens, session keys, and the certificate
//! and key of TLS. Values made from them can be reloaded while the server is running.

use crate::lock::lock;
use crate::whole_file::open_regular;
use crate::wording::format_size;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

const MAX_FILE_BYTES: usize = 1024 * 1024;

/// A file to read, and how to describe it in errors: `cannot read the TITLE PATH: …; REPAIR`.
pub struct GuardedFile<'f> {
    /// Where the file is.
    pub path: &'f Path,
    /// What the file is, e.g. `token file`.
    pub title: &'f str,
    /// What the user has to provide or do, e.g. `--key needs a file with a key`.
    pub repair: &'f str,
}

/// Who may read a file besides its owner.
pub(super) enum Secrecy {
    /// Anyone may read it, but only the owner may change it.
    Public,
    /// Only the owner may read or change it.
    Secret,
}

impl GuardedFile<'_> {
    /// Reads a secret file.
    ///
    /// # Errors
    /// Fails if the file can't be read or is too long, or if other users can read or change it. The
    /// error names the path and says what to do.
    pub fn read_secret(&self) -> Result<Vec<u8>, String> {
        self.read_with(|_| Secrecy::Secret)
    }

    /// Reads a public file.
    ///
    /// # Errors
    /// Fails if the file can't be read or is too long, or if other users can change it. The error
    /// names the path and says what to do.
    pub(super) fn read_public(&self) -> Result<Vec<u8>, String> {
        self.read_with(|_| Secrecy::Public)
    }

    /// Reads a file whose contents determine its secrecy.
    ///
    /// # Errors
    /// Fails if the file can't be read or is too long, or if other users have too much access. The
    /// error names the path and says what to do.
    pub(super) fn read_with(&self, secrecy: fn(&[u8]) -> Secrecy) -> Result<Vec<u8>, String> {
        let GuardedFile { title, repair, .. } = self;
        let path = self.path.display();
        let (bytes, metadata) = match read_regular(self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(format!("{path} is not a file; {repair}"));
            }
            Err(error) => return Err(format!("cannot read the {title} {path}: {error}; {repair}")),
        };
        if bytes.len() > MAX_FILE_BYTES {
            let max = format_size(MAX_FILE_BYTES);
            return Err(format!("the {title} {path} is longer than {max}; {repair}"));
        }
        if is_exposed(&metadata, &secrecy(&bytes)) {
            let command = shlex::try_join(["chmod", "600", &path.to_string()])
                .unwrap_or_else(|_| "chmod 600".to_owned()); // the path has a null byte
            return Err(format!(
                "others can read or change the {title} {path}: run `{command}`"
            ));
        }
        Ok(bytes)
    }
}

/// Reads a regular file. If it is too long, returns its first `MAX_FILE_BYTES + 1` bytes.
///
/// # Errors
/// Fails with `InvalidInput` if the path isn't a regular file.
fn read_regular(path: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok((bytes, metadata))
}

/// Returns `true` if other users can change a file, or read a secret one.
#[cfg(unix)]
fn is_exposed(metadata: &Metadata, secrecy: &Secrecy) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    // If root owns the file and this process isn't root, then root has granted this process access
    // through the group. systemd does that with credentials.
    let is_granted_by_root = metadata.uid() == 0 && !rustix::process::geteuid().is_root();
    let forbidden_bits = match secrecy {
        Secrecy::Public => 0o002,                       // others may not write
        Secrecy::Secret if is_granted_by_root => 0o006, // others may not read or write
        Secrecy::Secret => 0o046,                       // nor may the group read
    };
    metadata.permissions().mode() & forbidden_bits != 0
}

/// Only Unix permissions are checked.
#[cfg(not(unix))]
fn is_exposed(_: &Metadata, _: &Secrecy) -> bool {
    false
}

/// Returns 256 random bits as text that fits into a header and a URL.
///
/// # Errors
/// Fails if the system has no secure random number generator.
pub(super) fn random_text() -> Result<String, String> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))
}

/// Returns `N` bytes from the system's secure random number generator.
///
/// # Errors
/// Fails if the system has no such generator.
pub(super) fn random_bytes<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(format!("cannot get random bytes from the system: {error}")),
    }
}

/// A value made from files, with [`reload`](Self::reload) for when they have changed.
pub(super) struct ReloadedValue<T> {
    load: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    current: Mutex<Arc<T>>,
    /// The error of the last load, or `None` if it succeeded.
    last_error: Mutex<Option<String>>,
    warn: fn(&str),
}

impl<T> ReloadedValue<T> {
    /// Loads the value for the first time. `warn` is called with a message if it can't be reloaded
    /// later.
    ///
    /// # Errors
    /// Returns the error of `load`.
    pub(super) fn new(
        load: impl Fn() -> Result<T, String> + Send + Sync + 'static,
        warn: fn(&str),
    ) -> Result<ReloadedValue<T>, String> {
        let current = Mutex::new(Arc::new(load()?));
        Ok(ReloadedValue {
            load: Box::new(load),
            current,
            last_error: Mutex::default(),
            warn,
        })
    }

    /// Returns the value as of the last successful load.
    pub(super) fn current(&self) -> Arc<T> {
        Arc::clone(&lock(&self.current))
    }

    /// Loads the value again. If that fails, keeps the old value, and warns unless the error is the
    /// same as the last time. Call this every second, on a thread that may block.
    pub(super) fn reload(&self) {
        let mut last_error = lock(&self.last_error);
        match (self.load)() {
            Ok(value) => {
                *lock(&self.current) = Arc::new(value);
                *last_error = None;
            }
            Err(error) => {
                if last_error.as_ref() != Some(&error) {
                    let warning = format!("{error}; until then, the previous version is used");
                    (self.warn)(&warning);
                }
                *last_error = Some(error);
            }
        }
    }
}
