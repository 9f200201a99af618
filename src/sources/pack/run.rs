//! Runs git with its standard streams redirected to files.

use super::git_limits::{GitTask, GitWatchdog, PACKET_LOG, git_io_error};
use crate::prompt::{Diagnostic, Kind};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

/// The file for git's standard output, in [`GitWatchdog::folder`].
pub(super) const STDOUT: &str = "stdout";

/// The file for git's standard error, in [`GitWatchdog::folder`].
const STDERR: &str = "stderr";

/// Runs git and returns its standard output, which is a file in [`GitWatchdog::folder`].
///
/// # Errors
/// Git cannot be started, fails, or exceeds a limit.
pub(crate) fn run_git(
    mut git: Command,
    stdin: &str,
    watchdog: &GitWatchdog<'_>,
    task: GitTask,
) -> Result<BufReader<File>, Diagnostic> {
    let folder = watchdog.folder;
    let mut child = start(&mut git, stdin, folder).map_err(git_io_error)?;
    let status = watchdog.wait(&mut child, task)?;
    if !status.success() {
        return Err(git_failure(status, &folder.join(STDERR)));
    }
    let stdout = File::open(folder.join(STDOUT)).map_err(git_io_error)?;
    Ok(BufReader::new(stdout))
}

/// Starts git with its standard streams redirected to files in `folder`.
fn start(git: &mut Command, stdin: &str, folder: &Path) -> io::Result<Child> {
    let stdin_path = folder.join("stdin");
    fs::write(&stdin_path, stdin)?;
    fs::write(folder.join(PACKET_LOG), "")?; // deletes the log of the previous command
    git.stdin(File::open(stdin_path)?)
        .stdout(File::create(folder.join(STDOUT))?)
        .stderr(File::create(folder.join(STDERR))?)
        .spawn()
}

/// Returns the error for a git command that failed with `status`. The message quotes what git wrote
/// to the file `stderr` or, if git wrote nothing, says how it ended: `signal: 9 (SIGKILL)`.
fn git_failure(status: ExitStatus, stderr: &Path) -> Diagnostic {
    let tail = read_tail(stderr).unwrap_or_default();
    let text = String::from_utf8_lossy(&tail);
    let mut lines = Vec::new();
    for line in text.lines() {
        // Git overwrites progress lines in place, so only the part after the last `\r` counts.
        let line = line.rsplit('\r').next().unwrap_or(line).trim();
        if !line.is_empty() {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return fetch_error(format!("git failed: {status}"), "");
    }
    fetch_error(format!("git failed: {}", lines.join("; ")), "")
}

/// Reads the last 2,000 bytes of a file.
fn read_tail(path: &Path) -> io::Result<Vec<u8>> {
    const MAX_BYTES: u64 = 2_000;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES)))?;
    let mut tail = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut tail)?;
    Ok(tail)
}

/// Returns the error for a pack that cannot be fetched.
pub(super) fn fetch_error(message: String, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::Invalid, message, fix)
}
