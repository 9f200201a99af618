//! Reads text from standard input.

use super::output::{self, Reporter};
use crate::input::without_bom;
use crate::wording::format_size;
use anyhow::{Context, anyhow, bail};
use std::io::{self, BufRead, ErrorKind, Read, StdinLock};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// If nothing arrives for this long, a note tells the user that the program is waiting for input.
const NOTE_DELAY: Duration = Duration::from_secs(1);

/// Reads standard input to its end. `limit` is the maximum number of bytes, and `purpose` says in
/// errors what the limit applies to, e.g. `a prompt`. For a person, prints a note if nothing
/// arrives for [`NOTE_DELAY`].
///
/// # Errors
/// Fails if standard input can't be read, exceeds the limit, or isn't UTF-8.
pub(super) fn text(limit: usize, purpose: &str, reporter: &Reporter) -> anyhow::Result<String> {
    let pending_note = if reporter.is_for_people() {
        Some(schedule_note())
    } else {
        None
    };
    let bytes = read_bytes(limit, pending_note).context("standard input cannot be read")?;
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

/// Prints a note after [`NOTE_DELAY`], unless the returned sender is dropped before.
fn schedule_note() -> Sender<()> {
    let (pending_note, cancellation) = mpsc::channel::<()>();
    // If the thread can't be started, there is no note.
    let _ = thread::Builder::new().spawn(move || {
        // Nothing is ever sent. Dropping the sender causes a different error than the timeout.
        if cancellation.recv_timeout(NOTE_DELAY) == Err(RecvTimeoutError::Timeout) {
            output::print_note("reading standard input; end it, or add `< /dev/null`");
        }
    });
    pending_note
}

/// Reads standard input to its end, or until it exceeds `limit` by one byte. Drops `pending_note`,
/// which cancels the note, as soon as the first bytes or the end have arrived.
fn read_bytes(limit: usize, pending_note: Option<Sender<()>>) -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock().take(limit as u64 + 1);
    while let Err(error) = stdin.fill_buf() {
        wait_if_non_blocking(stdin.get_ref(), error)?;
    }
    drop(pending_note);
    let mut bytes = Vec::new();
    while let Err(error) = stdin.read_to_end(&mut bytes) {
        wait_if_non_blocking(stdin.get_ref(), error)?;
    }
    Ok(bytes)
}

/// Waits until there is something to read, after a read from standard input has failed with `error`
/// only because it is non-blocking. The parent process may have made it so.
///
/// # Errors
/// Returns `error` if the read has failed for another reason.
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
