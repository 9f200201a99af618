//! What keeps `:research` from working: each client's configuration is read, and what it registers is started as the client
//! would, asked, and ended.
//!
//! Nothing is written. What a project says, which may be a stranger's word, is started only if it is this very program with
//! nothing but folders of prompts named to it; so is what a relative path finds in the folder. Of a hook, only a line that is
//! this program and nothing else is run.

mod allowed;
mod answers;
mod hook;
mod launch;
mod probe;
mod process;
mod remedy;
mod server;
mod start;

pub use start::Environment;

use crate::client::{Client, ConfigError, Files, Position, Scope, Surroundings};
use crate::library::Library;
use crate::prompt;
use crate::wording::{alternatives, count};
use remedy::install;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where to look, and as whom.
#[derive(Debug)]
pub struct Examination {
    /// Where the clients keep what is the user's.
    pub surroundings: Surroundings,
    /// The environment that a client would be started in.
    pub environment: Environment,
    /// This program.
    pub program: PathBuf,
    /// How long a server or a hook may take for an answer, and for its end.
    pub patience: Duration,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does not work.
    Broken,
    /// It works, but perhaps not always, or not as one would think.
    Warning,
    /// It works.
    Fine,
}

/// Something that was found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whom it is about. `None`: every client.
    pub client: Option<Client>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub message: String,
    /// What to do; `None` where there is nothing to be done.
    pub remedy: Option<String>,
    /// The file where it was found, or that is to be changed.
    pub file: Option<PathBuf>,
    /// Where in that file.
    pub position: Option<Position>,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Broken => "broken",
            Severity::Warning => "warning",
            Severity::Fine => "fine",
        })
    }
}

impl Finding {
    fn new(client: Option<Client>, severity: Severity, message: impl Into<String>) -> Finding {
        Finding { client, severity, message: message.into(), remedy: None, file: None, position: None }
    }

    fn remedy(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: Some(remedy.into()), ..self }
    }

    fn at(self, file: &Path, position: Option<Position>) -> Finding {
        Finding { file: Some(file.to_owned()), position, ..self }
    }
}

impl Examination {
    /// What there is to say of this client, or of all that are found on the machine; then of the library.
    pub fn findings(&self, only: Option<Client>, library: &Library) -> Vec<Finding> {
        let is_found = |client: &Client| client.is_found(&self.surroundings);
        let clients: Vec<Client> = match only {
            Some(client) => vec![client],
            None => Client::ALL.into_iter().filter(is_found).collect(),
        };
        let files: Vec<Files> = clients.iter().map(|client| client.read_files(&self.surroundings)).collect();
        let servers: Vec<_> = files.iter().map(|files| (files, self.servers(files))).collect();
        // A client that one does not use is no harm; but one of them should know us.
        let severity = match servers.iter().any(|(_, (_, settled))| !settled.is_empty()) {
            true => Severity::Warning,
            false => Severity::Broken,
        };
        let mut findings = Vec::new();
        if self.surroundings.home.is_none() {
            let message = "the environment names no home directory, so that most files of the clients cannot be found";
            findings.push(Finding::new(None, Severity::Broken, message).remedy("set HOME"));
        }
        for (files, (mut found, settled)) in servers {
            if settled.is_empty() && found.is_empty() {
                found.push(self.unacquainted(files.client, severity));
            }
            found.extend(self.hooks(files, &settled, library));
            found.sort_by_key(|finding| finding.severity);
            findings.extend(found);
        }
        if clients.is_empty() {
            let names: Vec<&str> = Client::ALL.into_iter().map(Client::name).collect();
            let message = format!("no client is found on this machine; looked for {}", alternatives(&names));
            let remedy = "install one of them, or give another client the command `prompt-expander` as a stdio server";
            findings.push(Finding::new(None, Severity::Broken, message).remedy(remedy));
        }
        findings.extend(self.library(library));
        findings
    }

    /// That a client does not know us.
    fn unacquainted(&self, client: Client, severity: Severity) -> Finding {
        let title = client.title();
        let message = if client.is_found(&self.surroundings) {
            format!("{title} does not know this program yet")
        } else {
            format!("{title} is not found on this machine, and does not know this program")
        };
        let remedy = format!("run {}", install(client, Scope::User));
        Finding::new(Some(client), severity, message).remedy(remedy)
    }

    /// The folder that `--prompts` names so, for a program that works in another.
    fn folder(&self, written: &str, working: &Path) -> PathBuf {
        match (Path::new(written).strip_prefix("~"), &self.surroundings.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => working.join(written),
        }
    }

    /// What is wrong with the files.
    fn library(&self, library: &Library) -> Option<Finding> {
        let report = library.view().check();
        let of =
            |severity| report.problems.iter().filter(move |problem| problem.diagnostic.severity == severity).count();
        let (errors, warnings) = (of(prompt::Severity::Error), of(prompt::Severity::Warning));
        let severity = match (errors, warnings) {
            (0, 0) => return None,
            (0, _) => Severity::Warning,
            _ => Severity::Broken,
        };
        let said = [(errors, "error"), (warnings, "warning")].into_iter().filter(|(number, _)| *number > 0);
        let said: Vec<String> = said.map(|(number, what)| count(number, what)).collect();
        let message = format!("the prompt files have {}", said.join(" and "));
        Some(
            Finding::new(None, severity, message)
                .remedy("run `prompt-expander check`, which names each with its repair"),
        )
    }
}

fn unreadable(client: Client, error: &ConfigError) -> Finding {
    let remedy = format!("correct it; until then {} may read nothing of it", client.title());
    Finding::new(Some(client), Severity::Broken, &error.message).remedy(remedy).at(&error.path, error.position)
}

/// A time as one reads it: `0.8 ms`, `12 ms`.
fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 9.95 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}
