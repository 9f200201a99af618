//! What the checks of servers and hooks have in common.

use crate::agents::{Agent, Finding, System};
use crate::prompt::Diagnostic;
use std::path::Path;
use std::time::Duration;

/// The environment variable that is set for the servers started here. With it, this program still reports a file of `--tap` or
/// `--log-file` that cannot be written, but neither creates it nor appends anything to it.
pub const EXAMINED_VARIABLE: &str = "PROMPT_EXPANDER_EXAMINED";

/// What the checks of servers and hooks need.
pub(super) struct Tried<'e> {
    pub(super) system: &'e System,
    pub(super) program: &'e Path,
    pub(super) timeout: Duration,
    /// The name of a prompt that every server and hook has.
    pub(super) prompt: Option<String>,
}

/// The finding that a file cannot be read.
pub(super) fn unreadable(agent: &'static Agent, error: &Diagnostic) -> Finding {
    let fix = format!("{}; until then {} may ignore the whole file", error.fix, agent.title);
    Finding { agent: Some(agent.name), diagnostic: Diagnostic { fix, ..error.clone() } }
}

/// A time for people: `0.8 ms`, `12 ms`.
pub(super) fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 9.95 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}
