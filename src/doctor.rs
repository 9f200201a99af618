//! `doctor`: finds out why `:research` doesn't work. It reads the configuration of each agent,
//! starts the registered server in the same way as the agent, and asks it for its prompts.
//!
//! **Nothing is written**, not even by the started server ([`EXAMINED_VARIABLE`]), except for the
//! cache of a team's prompts.
//!
//! **Untrusted programs are not run.** If a server is registered by the project, or is found in the
//! working directory, it is started only if it is exactly this program. A hook is run only if
//! `install` could have written its command, and without a shell.

mod client;
mod examination;
mod hook;
mod menu;
mod registration;
#[cfg(test)]
mod tests;

pub use examination::{EXAMINED_VARIABLE, Examination};

use crate::agents::{AGENTS, Agent, AgentFiles, DraftEditor, EditorProblem, Finding};
use crate::library::{Layer, Library, View};
use crate::menus::MenuPrompts;
use crate::prompt::{Diagnostic, Kind, Severity};
use crate::wording::{and_list, count, in_backticks, or_list};
use examination::{agent_finding, success_finding, unreadable_file_finding};
use std::collections::HashSet;

/// The name of this program.
const NAME: &str = env!("CARGO_PKG_NAME");

/// The result of `doctor`.
#[derive(Debug)]
pub struct Diagnosis {
    /// The findings, grouped by agent and sorted by severity within an agent. Findings without an
    /// agent come last.
    pub findings: Vec<Finding>,
    /// Whether this program is registered with at least one of the examined agents.
    pub is_registered: bool,
}

/// The result of examining one agent.
struct AgentReport {
    agent: &'static Agent,
    /// Sorted by severity.
    findings: Vec<Finding>,
    is_registered: bool,
    /// Whether the agent is installed, or this program is registered with it.
    is_in_use: bool,
}

impl AgentReport {
    /// Returns whether to suggest that the user registers this program. If there is an error, e.g.
    /// a config file that cannot be read, it has to be fixed first.
    fn needs_registration(&self) -> bool {
        let has_error = self
            .findings
            .iter()
            .any(|finding| finding.diagnostic.severity() == Severity::Error);
        !self.is_registered && !has_error
    }
}

impl Examination {
    /// Examines the agents, and then the library. `only` restricts this to one agent; otherwise,
    /// all agents that are in use are examined.
    pub fn diagnose(&self, only: Option<&'static Agent>, library: &Library) -> Diagnosis {
        let view = library.view();
        let prompt = find_builtin_prompt(&view);
        let menu_prompts = self.menus.prompts(&view);
        let mut reports = Vec::new();
        for agent in AGENTS {
            if only.is_some_and(|only| only != agent) {
                continue;
            }
            let report = self.examine_agent(agent, prompt.as_deref(), &menu_prompts);
            if report.is_in_use || only.is_some() {
                reports.push(report);
            }
        }
        let is_registered = reports.iter().any(|report| report.is_registered);
        let registration_finding = missing_registration_finding(&reports, only);
        let mut findings: Vec<Finding> = reports
            .into_iter()
            .flat_map(|report| report.findings)
            .collect();
        findings.extend(registration_finding);
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

    /// Examines the servers, the plugin, the hooks and the menu of an agent. The hooks are run with
    /// `prompt`, the name of a prompt; with `None`, they are not run. The menu should have
    /// `menu_prompts`.
    fn examine_agent(
        &self,
        agent: &'static Agent,
        prompt: Option<&str>,
        menu_prompts: &MenuPrompts,
    ) -> AgentReport {
        let files = agent.read_files(&self.system);
        let servers = registration::examine(self, agent, &files);
        let plugin = agent.plugin(&files, &self.system);
        let has_hook = !agent.hooks(&files).is_empty();
        let is_registered = servers.is_registered || plugin.is_some();

        let mut findings = servers.findings;
        for error in files.errors() {
            // The servers may have reported the same file.
            let finding = unreadable_file_finding(agent, error);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        if let Some(plugin) = &plugin {
            let finding = if servers.is_registered || has_hook {
                double_registration_finding(agent, plugin)
            } else {
                self.examine_plugin(agent, plugin)
            };
            findings.push(finding);
        }
        findings.extend(hook::examine(self, agent, &files, prompt));
        findings.extend(menu::examine(self, agent, menu_prompts));
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

    /// Checks that the plugin can start `prompt-expander`, which must be on `PATH`.
    fn examine_plugin(&self, agent: &'static Agent, plugin: &str) -> Finding {
        let name = in_backticks(plugin);
        let environment = &self.system.environment;
        match environment.find_program(NAME, &self.system.project) {
            Ok(_) => success_finding(
                agent,
                format!("the plugin {name} has the server and the hook"),
            ),
            Err(problem) => {
                let message = format!("the plugin {name} starts `{NAME}`, which {problem}");
                let fix = format!("put it there, or run `claude plugin disable {plugin}`");
                agent_finding(agent, Diagnostic::new(Kind::NotFound, message, fix))
            }
        }
    }

    /// Checks the editor for drafts of messages. Returns `None` if it isn't this program.
    fn examine_draft_editor(&self, agent: &'static Agent, files: &AgentFiles) -> Option<Finding> {
        let drafts = agent.drafts.as_ref()?;
        let DraftEditor {
            description,
            problem,
        } = drafts.find_editor(agent.title, files, &self.system.environment)?;
        Some(match problem {
            None => success_finding(agent, description),
            Some(EditorProblem { message, fix }) => {
                agent_finding(agent, Diagnostic::new(Kind::Warning, message, fix))
            }
        })
    }

    /// Reports why prompts of the library may not be served: missing trust, unreachable services,
    /// changed packs, and the number of broken files.
    fn examine_library(&self, view: &View) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        let trust_hints = [view.untrusted_hint(), view.changed_hint()];
        for hint in trust_hints.into_iter().flatten() {
            let no_fix = ""; // the hint also says what to do
            diagnostics.push(Diagnostic::new(Kind::Warning, hint, no_fix));
        }
        if self.online {
            let mut problems = view.problems();
            problems.retain(|problem| problem.kind == Kind::Service);
            diagnostics.extend(problems);
            diagnostics.extend(view.probe());
        }
        let every_prompt = None;
        let problems = view.check(every_prompt).problems;
        let (lock_mismatches, file_problems): (Vec<_>, Vec<_>) = problems
            .into_iter()
            .partition(|problem| problem.kind == Kind::LockMismatch);
        diagnostics.extend(lock_mismatches);
        diagnostics.extend(summarize_problems(&file_problems));
        diagnostics
    }
}

/// Warns that this program is registered with an agent twice, by its plugin and by `install`.
fn double_registration_finding(agent: &'static Agent, plugin: &str) -> Finding {
    let message = format!(
        "the plugin {} has the server and the hook, too, so the model sees each tool twice",
        in_backticks(plugin)
    );
    let fix = format!(
        "run `claude plugin disable {plugin}` or `prompt-expander uninstall {}`",
        agent.name
    );
    agent_finding(agent, Diagnostic::new(Kind::Warning, message, fix))
}

/// Returns the name of a built-in prompt, because every hook can expand it. Returns `None` if
/// built-in prompts are turned off.
fn find_builtin_prompt(view: &View) -> Option<String> {
    let list = view.list();
    let prompt = list
        .found
        .iter()
        .find(|found| found.layer == Layer::BUILTIN)?;
    Some(prompt.name.to_string())
}

/// Returns a finding if this program is not registered with some of the agents, or if there are no
/// agents. `only` is the single agent that was examined, if there is one.
fn missing_registration_finding(
    reports: &[AgentReport],
    only: Option<&'static Agent>,
) -> Option<Finding> {
    let diagnostic = if reports.is_empty() {
        no_agents_error()
    } else {
        unregistered_agents_warning(reports)?
    };
    Some(Finding {
        agent: only.map(|agent| agent.name),
        diagnostic,
    })
}

fn no_agents_error() -> Diagnostic {
    let known_agents = or_list(&AGENTS.map(|agent| agent.name));
    let message = format!("this machine has none of the agents {known_agents}");
    let fix = "install one, then run `prompt-expander install`";
    Diagnostic::new(Kind::NotFound, message, fix)
}

/// Returns a warning that lists all agents with which this program is not registered, if there are
/// any.
fn unregistered_agents_warning(reports: &[AgentReport]) -> Option<Diagnostic> {
    let mut unregistered = Vec::new();
    for report in reports {
        if report.needs_registration() {
            unregistered.push(report.agent.name);
        }
    }
    if unregistered.is_empty() {
        return None;
    }
    let message = format!(
        "this program is not registered with {} yet",
        and_list(&unregistered)
    );
    let fix = format!("run `prompt-expander install {}`", unregistered.join(" "));
    Some(Diagnostic::new(Kind::Warning, message, fix))
}

/// Summarizes the problems in files, e.g. `prompts: 2 broken files, 1 warning`. Returns `None` if
/// there are neither errors nor warnings.
fn summarize_problems(problems: &[Diagnostic]) -> Option<Diagnostic> {
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
