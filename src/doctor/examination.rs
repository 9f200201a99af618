//! What the checks of servers and hooks have in common.

use crate::agents::{Agent, Finding, System, is_same_file};
use crate::prompt::{Diagnostic, Kind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable that is set for the servers started here. With it, this program still
/// reports a file of `--tap` or `--log-file` that cannot be written, but neither creates it nor
/// appends anything to it.
pub const EXAMINED_VARIABLE: &str = "PROMPT_EXPANDER_EXAMINED";

/// What is examined.
#[derive(Debug)]
pub struct Examination {
    /// The user's folders, environment and project.
    pub system: System,
    /// This program.
    pub program: PathBuf,
    /// How long a server or a hook may take.
    pub timeout: Duration,
    /// Whether to call the services that render prompts.
    pub online: bool,
}

impl Examination {
    /// Returns whether a path leads to this program, directly or through symlinks.
    pub(super) fn is_this_program(&self, path: &Path) -> bool {
        is_same_file(path, &self.program)
    }
}

/// Returns a finding about an agent.
pub(super) fn of_agent(agent: &'static Agent, diagnostic: Diagnostic) -> Finding {
    Finding {
        agent: Some(agent.name),
        diagnostic,
    }
}

/// Returns the finding that a file of an agent cannot be read.
pub(super) fn unreadable(agent: &'static Agent, error: &Diagnostic) -> Finding {
    let mut diagnostic = error.clone();
    diagnostic.fix += &format!("; until then {} may ignore the whole file", agent.title);
    of_agent(agent, diagnostic)
}

/// Returns the finding that something works.
pub(super) fn fine(agent: &'static Agent, message: String) -> Finding {
    of_agent(agent, Diagnostic::new(Kind::Hint, message, ""))
}

/// Returns a time for people: `0.8 ms`.
pub(super) fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
