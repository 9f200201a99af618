//! Text that a command reads from standard input.

use super::output;
use anyhow::{Context, anyhow, bail};
use std::io::{self, BufRead, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// If nothing arrives for this long, a note says what the program is waiting for: a person may have expected that it does not
/// read.
const SILENCE: Duration = Duration::from_secs(1);

/// All of standard input, if it is UTF-8 and at most `limit` bytes; `what` is what the limit is for.
pub(super) fn text(limit: usize, what: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(limit as u64 + 1);
    let (arrived, arrival) = mpsc::channel::<()>();
    // Without the thread there is no note, but the text.
    let _ = thread::Builder::new().spawn(move || {
        if arrival.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            output::note("reading standard input; end it, or add `< /dev/null`");
        }
    });
    let _ = stdin.fill_buf(); // waits for the first bytes or the end; an error is the next call's
    drop(arrived);
    stdin.read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.len() > limit {
        bail!("standard input is longer than {limit} bytes, the limit for {what}");
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("standard input is not UTF-8 at byte {at}; convert it first, for example with `iconv`")
    })
}
