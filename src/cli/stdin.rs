//! Text that a command reads from standard input.

use super::output::{self, Reporter};
use crate::input::without_bom;
use crate::wording::format_size;
use anyhow::{Context, anyhow, bail};
use std::io::{self, BufRead, ErrorKind, Read, StdinLock};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// If nothing arrives for this long, a note says that the program reads standard input, because the
/// user may not expect it.
const SILENCE: Duration = Duration::from_secs(1);

/// Returns all of standard input. `limit` is the maximum number of bytes, and `purpose` names in an
/// error what has this limit: `a prompt`. A person gets a note if nothing arrives for a second.
///
/// # Errors
/// The input cannot be read, is longer than the limit, or is not UTF-8.
pub(super) fn text(limit: usize, purpose: &str, reporter: &Reporter) -> anyhow::Result<String> {
    let silence = if reporter.is_for_people() {
        Some(note_silence())
    } else {
        None
    };
    let bytes = read_bytes(limit, silence).context("standard input cannot be read")?;
    if bytes.len() > limit {
        let limit = format_size(limit);
        bail!("standard input is longer than {limit}, the limit for {purpose}");
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        anyhow!(
            "standard input is not UTF-8 at byte {position}; convert it first, for example with `iconv`"
        )
    })?;
    Ok(without_bom(&text).to_owned())
}

/// Prints a note that the program reads standard input, unless the returned sender is dropped
/// within a second.
fn note_silence() -> Sender<()> {
    let (silence, end_of_silence) = mpsc::channel::<()>();
    // If the thread cannot be started, there is no note.
    let _ = thread::Builder::new().spawn(move || {
        // Nothing is ever sent: a dropped sender ends the wait with another error.
        if end_of_silence.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            output::print_note("reading standard input; end it, or add `< /dev/null`");
        }
    });
    silence
}

/// Reads standard input up to its end, but at most one byte more than `limit`, by which the caller
/// sees that the input is too long. Drops `silence`, which stops the note, when the first bytes or
/// the end have arrived.
fn read_bytes(limit: usize, silence: Option<Sender<()>>) -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock().take(limit as u64 + 1);
    while let Err(error) = stdin.fill_buf() {
        wait_if_non_blocking(stdin.get_ref(), error)?;
    }
    drop(silence);
    let mut bytes = Vec::new();
    while let Err(error) = stdin.read_to_end(&mut bytes) {
        wait_if_non_blocking(stdin.get_ref(), error)?;
    }
    Ok(bytes)
}

/// Waits until something can be read, after a read has failed only because standard input is
/// non-blocking. The process that started this one may have made it so.
///
/// # Errors
/// Returns the error of the read if it has another reason.
#[cfg(unix)]
fn wait_if_non_blocking(stdin: &StdinLock<'_>, error: io::Error) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    if error.kind() != ErrorKind::WouldBlock {
        return Err(error);
    }
    poll(&mut [PollFd::new(stdin, PollFlags::IN)], None)?;
    Ok(())
}

#[cfg(not(unix))]
fn wait_if_non_blocking(_: &StdinLock<'_>, error: io::Error) -> io::Result<()> {
    Err(error)
}
