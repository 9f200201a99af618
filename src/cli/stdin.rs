//! What a command reads from standard input.

use anyhow::{Context, anyhow, bail};
use std::io::{self, Read};

/// All of standard input, as text of so many bytes at most, which is the limit of `what`.
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
