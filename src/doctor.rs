//! Finds out why `:research` does not work: reads the configuration of each agent, starts what it registers as the agent would,
//! asks it for its prompts, and ends it.
//!
//! Nothing is written, not even by the server that is started ([`EXAMINED_VARIABLE`]). What a project registers may be
//! untrusted, so it is started only if it is this program with options that name prompts; the same goes for what a relative
//! path finds in the working directory. Of the hooks, only a command that `install` could have written is run, and without a
//! shell.

mod conversation;
mod hook;
mod process;
mod server;

pub use crate::agents::{Finding, Severity};

use crate::agents::{AGENTS, Agent, AgentFiles, ConfigError, Scope, System, is_same_file};
use crate::library::{Library, ReachedService, Report, system_of};
use crate::prompt;
use crate::wording::{all_of, alternatives, count};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable that is set for the servers started here. With it, this program still reports a file of `--tap` or
/// `--log-file` that cannot be written, but neither creates it nor appends anything to it.
pub const EXAMINED_VARIABLE: &str = "PROMPT_EXPANDER_EXAMINED";

/// What is examined.
#[derive(Debug)]
pub struct Examination {
    /// The user's folders, environment and project.
    pub system: System,
    /// This program.
    pub program: PathBuf,
    /// How long a server or a hook may take to answer, and to end.
    pub timeout: Duration,
    /// The command that checks the files of the library.
    pub check: String,
    /// Whether to call the services that render prompts.
    pub online: bool,
}

/// What is found.
#[derive(Debug)]
pub struct Diagnosis {
    /// The findings about agents; those about one agent are sorted by severity.
    pub findings: Vec<Finding>,
    /// The problems of the library, if it has any. The message begins with `prompts: `.
    pub library: Option<Finding>,
    /// Whether this program is registered with one of the agents that were examined.
    pub is_registered: bool,
}

/// A folder of prompts that a server or a hook reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PromptsFolder {
    /// The one that is named before it, as in `claude:DIR`.
    format: Option<prompt::System>,
    path: PathBuf,
}

impl PromptsFolder {
    /// Whether another one has the same prompts.
    fn is_same(&self, other: &PromptsFolder) -> bool {
        let format = |folder: &PromptsFolder| folder.format.unwrap_or_else(|| system_of(&folder.path));
        is_same_file(&self.path, &other.path) && format(self) == format(other)
    }

    /// The value of `--prompts`.
    fn option(&self) -> String {
        let path = self.path.display();
        self.format.map_or_else(|| path.to_string(), |format| format!("{}:{path}", format.name()))
    }
}

/// The option that adds the prompts of the agents.
const FROM_AGENTS: &str = "--from-agents";

impl Examination {
    /// Examines this agent, or all that are on the machine or have this program registered; then the library.
    pub fn diagnosis(&self, only: Option<&'static Agent>, library: &Library) -> Diagnosis {
        let report = library.view().check();
        let agents = AGENTS.into_iter().filter(|agent| only.is_none_or(|only| only == *agent));
        let mut files: Vec<AgentFiles> = agents.map(|agent| agent.read_files(&self.system)).collect();
        if only.is_none() {
            files.retain(|files| files.agent.is_found(&self.system) || self.is_registered(files));
        }
        let servers: Vec<_> = files.iter().map(|files| (files, self.servers(files, library, &report))).collect();
        let is_registered = servers.iter().any(|(_, (_, registered))| !registered.is_empty());
        let is_missing = |(found, registered): &(Vec<Finding>, Vec<_>)| found.is_empty() && registered.is_empty();
        let missing: Vec<_> =
            servers.iter().filter(|(_, servers)| is_missing(servers)).map(|(files, _)| files.agent).collect();
        let not_registered = self.not_registered(&missing);
        let mut findings = Vec::new();
        if self.system.home.is_none() {
            let message = "the environment names no home directory, so most files of the agents cannot be found";
            findings.push(Finding::new(None, Severity::Broken, message).fix("set HOME"));
        }
        for (files, (mut found, registered)) in servers {
            found.extend(not_registered.clone().filter(|finding| finding.agent == Some(files.agent)));
            found.extend(self.hooks(files, &registered, library));
            found.sort_by_key(|finding| finding.severity);
            findings.extend(found);
        }
        findings.extend(not_registered.filter(|finding| finding.agent.is_none()));
        if files.is_empty() {
            let names = AGENTS.map(|agent| agent.name);
            let message = format!("no agent was found on this machine; looked for {}", alternatives(&names));
            let fix = "install one of them, and run `prompt-expander install`; or register the command `prompt-expander` \
                       as a stdio server with another agent";
            findings.push(Finding::new(None, Severity::Broken, message).fix(fix));
        }
        if self.online {
            findings.extend(self.services(library));
        }
        Diagnosis { findings, library: self.library(&report), is_registered }
    }

    /// Whether the services that render prompts can be called.
    fn services(&self, library: &Library) -> Vec<Finding> {
        let services = library.view().reach_services();
        if services.is_empty() {
            let message = "no service was called, because none renders any of the prompts";
            return vec![Finding::new(None, Severity::Warning, message).fix("name its document with `--openapi FILE`")];
        }
        let finding = |ReachedService { document, url, status }: ReachedService| match status {
            Ok(status) => Finding::new(None, Severity::Fine, format!("the service {url} answers (status {status})")),
            Err(why) => {
                let (why, fix) = why.rsplit_once("; ").unwrap_or((&why, "correct the address"));
                let message = match url.as_str() {
                    _ if why.starts_with("the service ") => why.to_owned(),
                    "" => format!("a service cannot be called: {why}"),
                    _ => format!("the service {url} cannot be called: {why}"),
                };
                Finding::new(None, Severity::Broken, message).fix(fix).at(&document, None)
            }
        };
        services.into_iter().map(finding).collect()
    }

    /// Whether this program is registered with an agent, as a server or as a hook.
    fn is_registered(&self, files: &AgentFiles) -> bool {
        let (servers, _) = files.registrations([Scope::Local, Scope::Project, Scope::User]);
        servers.iter().any(|server| self.is_prompt_expander(files.agent, server))
            || files.settings().flatten().any(|file| !files.hooks_in(file).is_empty())
    }

    /// A finding about these agents, which have no registration: an agent that is not used needs none.
    fn not_registered(&self, agents: &[&'static Agent]) -> Option<Finding> {
        let warning = |agent, message, fix: &str| Finding::new(agent, Severity::Warning, message).fix(fix);
        let register = |agent: &Agent| {
            let hook = if agent.hook.is_some() { " --hook" } else { "" };
            format!("run `prompt-expander install {}{hook}`", agent.name)
        };
        match agents {
            [] => None,
            [agent] if agent.is_found(&self.system) => {
                let message = format!("this program is not registered with {} yet", agent.title);
                Some(warning(Some(*agent), message, &register(agent)))
            }
            [agent] => {
                let title = agent.title;
                let message =
                    format!("{title} is not found on this machine, and this program is not registered with it");
                Some(warning(Some(*agent), message, &register(agent)))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|agent| agent.name).collect();
                let message = format!("this program is not registered with {} yet", all_of(&names));
                Some(warning(None, message, "run `prompt-expander install --all --hook`"))
            }
        }
    }

    /// The folder that `--prompts` names for a program that works in another.
    fn prompts_folder(&self, written: &str, working: &Path) -> PromptsFolder {
        let (format, written) = prompt::System::of_option(written);
        let path = match (Path::new(written).strip_prefix("~"), &self.system.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => working.join(written),
        };
        PromptsFolder { format, path }
    }

    /// The number of problems and warnings of the prompt files.
    fn library(&self, report: &Report) -> Option<Finding> {
        let of =
            |severity| report.problems.iter().filter(move |problem| problem.diagnostic.severity == severity).count();
        let (errors, warnings) = (of(prompt::Severity::Error), of(prompt::Severity::Warning));
        let severity = match (errors, warnings) {
            (0, 0) => return None,
            (0, _) => Severity::Warning,
            _ => Severity::Broken,
        };
        let counts = [(errors, "error"), (warnings, "warning")].into_iter().filter(|(number, _)| *number > 0);
        let counts: Vec<String> = counts.map(|(number, what)| count(number, what)).collect();
        let message = format!("prompts: {}", counts.join(", "));
        Some(Finding::new(None, severity, message).fix(format!("run `{}`", self.check)))
    }
}

fn unreadable(agent: &'static Agent, error: &ConfigError) -> Finding {
    let fix = format!("correct it; until then {} may ignore the whole file", agent.title);
    Finding::new(Some(agent), Severity::Broken, &error.message).fix(fix).at(&error.path, error.position)
}

/// A time for people: `0.8 ms`, `12 ms`.
fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 9.95 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}
