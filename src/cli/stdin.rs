//! Text that a command reads from standard input.

use super::output::{self, Reporter};
use crate::wording::in_bytes;
use anyhow::{Context, anyhow, bail};
use std::io::{self, BufRead, ErrorKind, Read, StdinLock};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// If nothing arrives for this long, a note says what the program is waiting for: the user may not
/// expect it to read standard input.
const SILENCE: Duration = Duration::from_secs(1);

/// All of standard input, if it is UTF-8 and at most `limit` bytes; `what` is what the limit is
/// for.
pub(super) fn text(limit: usize, what: &str, reporter: &Reporter) -> anyhow::Result<String> {
    let (silent, arrival) = mpsc::channel::<()>();
    if reporter.is_for_people() {
        // If the thread cannot be started, there is no note, but the text is read.
        let _ = thread::Builder::new().spawn(move || {
            if arrival.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                output::print_note("reading standard input; end it, or add `< /dev/null`");
            }
        });
    }
    let (mut bytes, mut silent) = (Vec::new(), Some(silent));
    let mut stdin = io::stdin().lock().take(limit as u64 + 1);
    // Dropping `silent` says that the first bytes or the end have arrived.
    while let Err(error) = stdin
        .fill_buf()
        .map(|_| silent = None)
        .and_then(|()| stdin.read_to_end(&mut bytes))
    {
        wait(stdin.get_ref(), error).context("standard input cannot be read")?;
    }
    if bytes.len() > limit {
        bail!(
            "standard input is longer than {}, the limit for {what}",
            in_bytes(limit)
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!(
            "standard input is not UTF-8 at byte {at}; convert it first, for example with `iconv`"
        )
    })
}

/// Waits until something can be read, if the process that started this one has made standard input
/// non-blocking.
///
/// # Errors
/// The error, if it is another one.
#[cfg(unix)]
fn wait(stdin: &StdinLock<'_>, error: io::Error) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    if error.kind() != ErrorKind::WouldBlock {
        return Err(error);
    }
    poll(&mut [PollFd::new(stdin, PollFlags::IN)], None)?;
    Ok(())
}

#[cfg(not(unix))]
fn wait(_: &StdinLock<'_>, error: io::Error) -> io::Result<()> {
    Err(error)
}
