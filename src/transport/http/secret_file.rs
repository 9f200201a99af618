//! Files with secrets: tokens, and the keys of sessions and of TLS.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::Path;

/// The longest file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Reads a file. `what` it is and `needs`, what must be in it, are for the errors.
///
/// # Errors
/// Its path, and why it cannot be read.
pub(super) fn read(path: &Path, what: &str, needs: &str) -> Result<(Vec<u8>, Metadata), String> {
    let shown = path.display();
    let failed = |error| format!("cannot read the {what} {shown}: {error}");
    // Opening a FIFO would wait.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("{shown} is not a file; {needs}"));
    }
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("the {what} {shown} is longer than {MAX_FILE} bytes; {needs}"));
    }
    Ok((bytes, metadata))
}

/// Reads a file with a key, as [`read`].
///
/// # Errors
/// Those of [`read`]; others can read it, or put a key of their own into it.
pub fn read_key(path: &Path, what: &str, needs: &str) -> Result<Vec<u8>, String> {
    let (bytes, metadata) = read(path, what, needs)?;
    check_mode(path, &metadata, "the key", true)?;
    Ok(bytes)
}

/// Checks that no other user of this machine can read a file, if it `is_secret`, or change it. `what` it holds is for the error.
///
/// # Errors
/// Others can; with the command that prevents it.
#[cfg(unix)]
pub(super) fn check_mode(path: &Path, metadata: &Metadata, what: &str, is_secret: bool) -> Result<(), String> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = metadata.permissions().mode();
    // Only root can have given a file of root to a group, such as that of this service. systemd's credentials look the same.
    let is_given_by_root = metadata.uid() == 0 && !rustix::process::geteuid().is_root();
    let readers = if is_given_by_root { 0o004 } else { 0o044 };
    let can = match (mode & readers != 0 && is_secret, mode & 0o002 != 0) {
        (true, _) => "read",
        (false, true) => "change",
        (false, false) => return Ok(()),
    };
    let path = path.display().to_string();
    let command = shlex::try_join(["chmod", "600", &path]).unwrap_or_else(|_| "chmod 600".to_owned());
    Err(format!("others can {can} {what} in {path}: run `{command}`"))
}

/// Other systems have other permissions.
#[cfg(not(unix))]
pub(super) fn check_mode(_: &Path, _: &Metadata, _: &str, _: bool) -> Result<(), String> {
    Ok(())
}
