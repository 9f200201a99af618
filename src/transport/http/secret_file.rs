//! Files with secrets: tokens, and the keys of sessions and of TLS. Some are read again while they
//! are used.

use crate::lock::lock;
use crate::whole_file::open_regular;
use crate::wording::in_bytes;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The longest file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Reads a file that no other user of this machine can change nor, if it `is_secret`, read. In
/// errors, `what` names the file, and `needs` says what must be in it.
///
/// # Errors
/// Its path, why it cannot be used, and what to do.
pub fn read(
    path: &Path,
    what: &str,
    needs: &str,
    is_secret: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let failed = |error| format!("cannot read the {what} {shown}: {error}; {needs}");
    let file = open_regular(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => format!("{shown} is not a file; {needs}"),
        _ => failed(error),
    })?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!(
            "the {what} {shown} is longer than {}; {needs}",
            in_bytes(MAX_FILE as usize)
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        // Only root can have given a file of root to a group, such as that of this service.
        // systemd's credentials look the same.
        let is_given_by_root = metadata.uid() == 0 && !rustix::process::geteuid().is_root();
        let readers = if is_given_by_root { 0o004 } else { 0o044 };
        let forbidden = if is_secret(&bytes) {
            readers | 0o002
        } else {
            0o002
        };
        if metadata.permissions().mode() & forbidden != 0 {
            let command = shlex::try_join(["chmod", "600", &shown.to_string()])
                .unwrap_or_else(|_| "chmod 600".to_owned());
            return Err(format!(
                "others can read or change the {what} {shown}: run `{command}`"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (metadata, is_secret);
    Ok(bytes)
}

/// Random bytes of the system.
///
/// # Errors
/// The system has none.
pub(super) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(bytes)
}

/// What was made from files that may change.
pub(super) struct Watched<T> {
    load: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    current: Mutex<Arc<T>>,
    /// Why the files cannot be used now; empty if they can.
    failure: Mutex<String>,
    /// Receives each reason once.
    warn: fn(&str),
}

impl<T> Watched<T> {
    /// # Errors
    /// The error of `load`, which says what to do.
    pub(super) fn new(
        load: impl Fn() -> Result<T, String> + Send + Sync + 'static,
        warn: fn(&str),
    ) -> Result<Watched<T>, String> {
        let current = Mutex::new(Arc::new(load()?));
        Ok(Watched {
            load: Box::new(load),
            current,
            failure: Mutex::default(),
            warn,
        })
    }

    /// What was made of the files, as they were when they could last be used.
    pub(super) fn current(&self) -> Arc<T> {
        Arc::clone(&lock(&self.current))
    }

    /// Reads the files again; to be called each second, where waiting is allowed.
    pub(super) fn refresh(&self) {
        let failure = match (self.load)() {
            Ok(new) => {
                *lock(&self.current) = Arc::new(new);
                String::new()
            }
            Err(reason) => reason,
        };
        let is_new = failure != std::mem::replace(&mut *lock(&self.failure), failure.clone());
        if is_new && !failure.is_empty() {
            (self.warn)(&format!(
                "{failure}; until then, what was read before is used"
            ));
        }
    }
}
