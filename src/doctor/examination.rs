//! The input of `doctor`, and helpers that the checks share.

use crate::agents::{Agent, Finding, System};
use crate::menus::MenuSettings;
use crate::prompt::{Diagnostic, Kind};
use crate::whole_file::is_same_file;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable that is set for the programs that `doctor` starts.
///
/// If it is set, this program doesn't write to the files of `--tap` and `--log-file`. It still
/// reports if they aren't writable.
pub const EXAMINED_VARIABLE: &str = "PROMPT_EXPANDER_EXAMINED";

/// The system that `doctor` examines, and how.
#[derive(Debug)]
pub struct Examination {
    /// The user's folders, environment and project.
    pub system: System,
    /// The path of this program.
    pub program: PathBuf,
    /// The time limit for a server or a hook.
    pub timeout: Duration,
    /// Whether to call the services that render prompts.
    pub online: bool,
    /// Which agents' menus get entries for prompts.
    pub menus: MenuSettings,
    /// [Identifies](crate::menus::library_id) the library in entries of menus.
    pub library_id: String,
}

impl Examination {
    /// Returns whether `path` is this program, or a symlink to it.
    pub(super) fn is_this_program(&self, path: &Path) -> bool {
        is_same_file(path, &self.program)
    }
}

pub(super) fn agent_finding(agent: &'static Agent, diagnostic: Diagnostic) -> Finding {
    Finding {
        agent: Some(agent.name),
        diagnostic,
    }
}

/// Reports that a config file of an agent cannot be read.
pub(super) fn unreadable_file_finding(agent: &'static Agent, error: &Diagnostic) -> Finding {
    let mut diagnostic = error.clone();
    diagnostic.fix += &format!("; until then {} may ignore the whole file", agent.title);
    agent_finding(agent, diagnostic)
}

/// Reports that something works.
pub(super) fn success_finding(agent: &'static Agent, message: String) -> Finding {
    agent_finding(agent, Diagnostic::new(Kind::Hint, message, ""))
}

/// Formats a duration, e.g. `0.8 ms`.
pub(super) fn in_milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
