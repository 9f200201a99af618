//! Text that a command reads from standard input.

use anyhow::{Context, anyhow, bail};
use std::io::{self, Read};

/// All of standard input, if it is UTF-8 and at most `limit` bytes; `what` is what the limit is for.
pub(super) fn text(limit: usize, what: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(limit as u64 + 1);
    stdin.read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.len() > limit {
        bail!("standard input is longer than {limit} bytes, the limit for {what}");
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("standard input is not UTF-8 at byte {at}; convert it first, for example with `iconv`")
    })
}
