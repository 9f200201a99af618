//! Finds out why `:research` does not work: reads the configuration of each agent, starts what it
//! registers as the agent would, asks it for its prompts, and ends it.
//!
//! Nothing but the cache of a team's prompts is written, not even by the server that is started
//! ([`EXAMINED_VARIABLE`]). What a project registers may be untrusted, so it is started only if it
//! is this program and nothing else; the same goes for what a relative path finds in the working
//! directory. Of the hooks, only a command that `install` could have written is run, and without a
//! shell.

mod client;
mod examination;
mod hook;
mod registration;
#[cfg(test)]
mod tests;

pub use examination::{EXAMINED_VARIABLE, Examination};

use crate::agents::{AGENTS, Agent, AgentFiles, DraftEditor, EditorProblem, Finding};
use crate::library::{Layer, Library, View};
use crate::prompt::{Diagnostic, Kind, Severity};
use crate::wording::{and_list, count, in_backticks, or_list};
use examination::{fine, of_agent, unreadable};
use std::collections::HashSet;

/// The name of this program.
const NAME: &str = env!("CARGO_PKG_NAME");

/// What `doctor` finds.
#[derive(Debug)]
pub struct Diagnosis {
    /// The findings. Those about one agent follow each other, sorted by severity; those about no
    /// agent come last.
    pub findings: Vec<Finding>,
    /// Whether this program is registered with one of the agents that were examined.
    pub is_registered: bool,
}

/// What is found about one agent.
struct AgentReport {
    agent: &'static Agent,
    /// Sorted by severity.
    findings: Vec<Finding>,
    is_registered: bool,
    /// Whether the agent is on this machine, or this program is registered with it.
    is_in_use: bool,
}

impl AgentReport {
    /// Returns whether the user should register this program. An error that keeps the registration
    /// from being read must be corrected first.
    fn lacks_registration(&self) -> bool {
        let has_error = self
            .findings
            .iter()
            .any(|finding| finding.diagnostic.severity() == Severity::Error);
        !self.is_registered && !has_error
    }
}

impl Examination {
    /// Examines the agent `only`, or all agents that are in use; then the library.
    pub fn diagnosis(&self, only: Option<&'static Agent>, library: &Library) -> Diagnosis {
        let view = library.view();
        let prompt = builtin_prompt(&view);
        let mut reports = Vec::new();
        for agent in AGENTS {
            if only.is_some_and(|only| only != agent) {
                continue;
            }
            let report = self.examine_agent(agent, prompt.as_deref());
            if report.is_in_use || only.is_some() {
                reports.push(report);
            }
        }
        let is_registered = reports.iter().any(|report| report.is_registered);
        let missing = missing_registrations(&reports, only);
        let mut findings: Vec<Finding> = reports
            .into_iter()
            .flat_map(|report| report.findings)
            .collect();
        findings.extend(missing);
        for diagnostic in self.examine_library(&view) {
            findings.push(Finding {
                agent: None,
                diagnostic,
            });
        }
        Diagnosis {
            findings,
            is_registered,
        }
    }

    /// Examines the registrations of an agent: its servers, its plugin and its hooks. Each hook is
    /// tried with `prompt`, the name of a prompt.
    fn examine_agent(&self, agent: &'static Agent, prompt: Option<&str>) -> AgentReport {
        let files = agent.read_files(&self.system);
        let servers = registration::examine(self, agent, &files);
        let plugin = agent.plugin(&files, &self.system);
        let has_hook = !agent.hooks(&files).is_empty();
        let is_registered = servers.is_registered || plugin.is_some();

        let mut findings = servers.findings;
        for error in files.errors() {
            let finding = unreadable(agent, error);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        if let Some(plugin) = &plugin {
            let finding = if servers.is_registered || has_hook {
                plugin_and_registration(agent, plugin)
            } else {
                self.examine_plugin(agent, plugin)
            };
            findings.push(finding);
        }
        findings.extend(hook::examine(self, agent, &files, prompt));
        if is_registered {
            findings.extend(self.examine_draft_editor(agent, &files));
        }
        findings.sort_by_key(|finding| finding.diagnostic.severity());
        AgentReport {
            agent,
            findings,
            is_registered,
            is_in_use: agent.is_found(&self.system) || servers.has_this_program || has_hook,
        }
    }

    /// Returns the finding about the plugin of this program: that it works, or that the program
    /// that it starts, `prompt-expander`, is not on `PATH`.
    fn examine_plugin(&self, agent: &'static Agent, plugin: &str) -> Finding {
        let name = in_backticks(plugin);
        let environment = &self.system.environment;
        match environment.find_program(NAME, &self.system.project) {
            Ok(_) => fine(
                agent,
                format!("the plugin {name} has the server and the hook"),
            ),
            Err(problem) => {
                let message = format!("the plugin {name} starts `{NAME}`, which {problem}");
                let fix = format!("put it there, or run `claude plugin disable {plugin}`");
                of_agent(agent, Diagnostic::new(Kind::NotFound, message, fix))
            }
        }
    }

    /// Returns what opens the draft of a message, and why that is probably not what the user wants.
    /// Returns `None` if the user has not made this program the editor.
    fn examine_draft_editor(&self, agent: &'static Agent, files: &AgentFiles) -> Option<Finding> {
        let drafts = agent.drafts.as_ref()?;
        let DraftEditor {
            description,
            problem,
        } = drafts.find_editor(agent.title, files, &self.system.environment)?;
        Some(match problem {
            None => fine(agent, description),
            Some(EditorProblem { message, fix }) => {
                of_agent(agent, Diagnostic::new(Kind::Warning, message, fix))
            }
        })
    }

    /// Returns what keeps prompts of the library from being served: missing trust, services that do
    /// not answer, changed packs, and the number of problems in files.
    fn examine_library(&self, view: &View) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for hint in [view.untrusted_hint(), view.changed_hint()]
            .into_iter()
            .flatten()
        {
            diagnostics.push(Diagnostic::new(Kind::Warning, hint, ""));
        }
        if self.online {
            let mut problems = view.problems();
            problems.retain(|problem| problem.kind == Kind::Service);
            diagnostics.extend(problems);
            diagnostics.extend(view.probe());
        }
        let (differing, problems): (Vec<_>, Vec<_>) = view
            .check(None)
            .problems
            .into_iter()
            .partition(|problem| problem.kind == Kind::LockMismatch);
        diagnostics.extend(differing);
        diagnostics.extend(number_of_problems(&problems));
        diagnostics
    }
}

/// Warns that both the plugin of this program and `install` have registered it with an agent.
fn plugin_and_registration(agent: &'static Agent, plugin: &str) -> Finding {
    let message = format!(
        "the plugin {} has the server and the hook, too, so the model sees each tool twice",
        in_backticks(plugin)
    );
    let fix = format!(
        "run `claude plugin disable {plugin}` or `prompt-expander uninstall {}`",
        agent.name
    );
    of_agent(agent, Diagnostic::new(Kind::Warning, message, fix))
}

/// Returns the name of a built-in prompt, which every hook can expand; `None` if built-in prompts
/// are switched off.
fn builtin_prompt(view: &View) -> Option<String> {
    let list = view.list();
    let prompt = list
        .found
        .iter()
        .find(|found| found.layer == Layer::BUILTIN)?;
    Some(prompt.name.to_string())
}

/// Returns one finding that names all agents with which this program is not registered, or says
/// that there is no agent.
fn missing_registrations(reports: &[AgentReport], only: Option<&'static Agent>) -> Option<Finding> {
    let mut names = Vec::new();
    for report in reports {
        if report.lacks_registration() {
            names.push(report.agent.name);
        }
    }
    let diagnostic = if reports.is_empty() {
        let known = or_list(&AGENTS.map(|agent| agent.name));
        let message = format!("this machine has none of the agents {known}");
        let fix = "install one, then run `prompt-expander install`";
        Diagnostic::new(Kind::NotFound, message, fix)
    } else if names.is_empty() {
        return None;
    } else {
        let message = format!(
            "this program is not registered with {} yet",
            and_list(&names)
        );
        let fix = format!("run `prompt-expander install {}`", names.join(" "));
        Diagnostic::new(Kind::Warning, message, fix)
    };
    Some(Finding {
        agent: only.map(|agent| agent.name),
        diagnostic,
    })
}

/// Returns one finding with the number of broken files and of warnings: `prompts: 2 broken files, 1
/// warning`.
fn number_of_problems(problems: &[Diagnostic]) -> Option<Diagnostic> {
    let mut broken_files = HashSet::new();
    for problem in problems {
        if problem.severity() == Severity::Error {
            broken_files.insert(&problem.file);
        }
    }
    let warnings = Severity::Warning.count_in(problems);
    let mut counts = Vec::new();
    if !broken_files.is_empty() {
        counts.push(count(broken_files.len(), "broken file"));
    }
    if warnings > 0 {
        counts.push(count(warnings, "warning"));
    }
    if counts.is_empty() {
        return None;
    }
    let kind = if broken_files.is_empty() {
        Kind::Warning
    } else {
        Kind::Invalid
    };
    let message = format!("prompts: {}", counts.join(", "));
    Some(Diagnostic::new(
        kind,
        message,
        "run `prompt-expander check`",
    ))
}
