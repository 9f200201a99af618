//! Runs git with files for its input and its output, within bounds.

use super::bounds::{GitTask, Meter, PACKETS, failed};
use crate::prompt::{Diagnostic, Kind};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command};

/// The file for the standard output of git, in the folder of the meter.
pub(super) const STDOUT: &str = "stdout";

/// The file for the errors of git.
const STDERR: &str = "stderr";

/// Runs git with its output in a file of the folder of the meter, and returns that file.
///
/// # Errors
/// Git cannot be started, fails, or exceeds a bound.
pub(crate) fn run_git(
    mut git: Command,
    stdin: &str,
    meter: &Meter<'_>,
    task: GitTask,
) -> Result<BufReader<File>, Diagnostic> {
    let mut child = start(&mut git, stdin, meter.folder).map_err(failed)?;
    if !meter.wait(&mut child, task)?.success() {
        return Err(git_error(&meter.folder.join(STDERR)));
    }
    let stdout = File::open(meter.folder.join(STDOUT));
    stdout.map(BufReader::new).map_err(failed)
}

/// Starts git with its standard streams redirected to files in the folder.
fn start(git: &mut Command, stdin: &str, folder: &Path) -> io::Result<Child> {
    let input = folder.join("stdin");
    fs::write(&input, stdin)?;
    fs::write(folder.join(PACKETS), "")?;
    git.stdin(File::open(input)?)
        .stdout(File::create(folder.join(STDOUT))?)
        .stderr(File::create(folder.join(STDERR))?)
        .spawn()
}

/// Returns the error for a git that has failed, with what it has written to a file.
fn git_error(stderr: &Path) -> Diagnostic {
    let end = read_end(stderr).unwrap_or_default();
    let text = String::from_utf8_lossy(&end);
    let mut lines = Vec::new();
    for line in text.lines() {
        // A line of progress replaces the one before it.
        let line = line.rsplit('\r').next().unwrap_or(line).trim();
        if !line.is_empty() {
            lines.push(line);
        }
    }
    refused(format!("git has failed: {}", lines.join("; ")), "")
}

/// Reads the last 2,000 bytes of a file.
fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    const KEPT: u64 = 2_000;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut end = Vec::new();
    file.take(KEPT).read_to_end(&mut end)?;
    Ok(end)
}

/// Returns the error for a pack that cannot be fetched.
pub(super) fn refused(message: String, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::Invalid, message, fix)
}
