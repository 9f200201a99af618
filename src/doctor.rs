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
mod server;

pub use examination::{EXAMINED_VARIABLE, Examination};

use crate::agents::{
    AGENTS, Agent, AgentFiles, DraftEditor, EditorDoubt, Finding, SERVER, System, is_same_file,
};
use crate::library::{Layer, Library, Report};
use crate::prompt::{Diagnostic, Kind, Severity};
use crate::wording::{all_of, alternatives, count, named, named_path, quoted};
use client::Start;
use examination::{fine, unreadable};
use server::Servers;

/// The name of this program.
const NAME: &str = env!("CARGO_PKG_NAME");

/// What is found.
#[derive(Debug)]
pub struct Diagnosis {
    /// Those about one agent are sorted by severity; those about none follow.
    pub findings: Vec<Finding>,
    /// Whether this program is registered with one of the agents that were examined.
    pub is_registered: bool,
}

impl Examination {
    /// Examines this agent, or all that are on the machine or have this program registered; then
    /// the library.
    pub fn diagnosis(&self, only: Option<&'static Agent>, library: &Library) -> Diagnosis {
        let view = library.view();
        let report = view.check(None);
        let list = view.list();
        let builtin = list
            .found
            .iter()
            .find(|found| found.layer == Layer::BUILTIN);
        let prompt = builtin.map(|found| found.name.to_string());
        let mut findings = Vec::new();
        let (mut missing, mut is_registered, mut is_any_found) = (Vec::new(), false, false);
        for agent in AGENTS
            .into_iter()
            .filter(|agent| only.is_none_or(|only| only == *agent))
        {
            let files = agent.read_files(&self.system);
            let Servers {
                findings: mut found,
                is_registered: mut has_server,
                is_this,
            } = server::examine(self, agent, &files);
            let is_found = agent.is_found(&self.system);
            if let Some(plugin) = agent.plugin(&files, &self.system) {
                found.push(self.plugin(
                    agent,
                    &plugin,
                    has_server || !agent.hooks(&files).is_empty(),
                ));
                has_server = true;
            }
            if only.is_none() && !is_found && !is_this && agent.hooks(&files).is_empty() {
                continue; // an agent that is not used
            }
            is_any_found = true;
            is_registered |= has_server;
            if !has_server && found.is_empty() {
                missing.push(agent);
            }
            let unreadable = files.errors().map(|error| unreadable(agent, error));
            let unreadable: Vec<Finding> = unreadable
                .filter(|finding| !found.contains(finding))
                .collect();
            found.extend(unreadable);
            found.extend(hook::findings(self, agent, &files, prompt.as_deref()));
            found.extend(self.draft_editor(agent, &files));
            found.sort_by_key(|finding| finding.diagnostic.severity());
            findings.extend(found);
        }
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|agent| agent.name).collect();
            let message = format!("this program is not registered with {} yet", all_of(&names));
            let finding = general(
                Kind::Warning,
                message,
                format!("run `prompt-expander install {}`", names.join(" ")),
            );
            findings.push(Finding {
                agent: only.map(|agent| agent.name),
                ..finding
            });
        } else if !is_any_found {
            let message = format!(
                "no agent was found on this machine; looked for {}",
                alternatives(&AGENTS.map(|agent| agent.name))
            );
            let fix = "install one of them, and run `prompt-expander install`";
            findings.push(general(Kind::Missing, message, fix));
        }
        findings.extend(self.first_in_path());
        findings.extend(
            view.untrusted_hint()
                .into_iter()
                .chain(view.changed_hint())
                .map(|hint| general(Kind::Warning, hint, "")),
        );
        if self.online {
            let mut of_services = view.problems();
            of_services.retain(|problem| problem.kind == Kind::Service);
            of_services.extend(view.probe());
            for diagnostic in of_services {
                findings.push(Finding {
                    agent: None,
                    diagnostic,
                });
            }
        }
        let differing = report
            .problems
            .iter()
            .filter(|problem| problem.kind == Kind::Differs)
            .cloned();
        findings.extend(differing.map(|diagnostic| Finding {
            agent: None,
            diagnostic,
        }));
        findings.extend(problems_in(&report));
        Diagnosis {
            findings,
            is_registered,
        }
    }

    /// Whether the plugin of this program can be started, and is the only one that gives the agent
    /// its prompts.
    fn plugin(&self, agent: &'static Agent, plugin: &str, is_twice: bool) -> Finding {
        let (shown, disable) = (named(plugin), format!("`claude plugin disable {plugin}`"));
        let (kind, message, fix) = match self
            .system
            .environment
            .find_program(NAME, &self.system.project)
        {
            _ if is_twice => {
                let tool = format!("`mcp__plugin_{NAME}_{SERVER}__expand_prompt`");
                let message = format!(
                    "the plugin {shown} has the server and the hook, too: the model sees each tool twice, also as {tool}, and gets each \
                     text twice if there are two hooks"
                );
                (
                    Kind::Warning,
                    message,
                    format!(
                        "run {disable} or `prompt-expander uninstall {}`",
                        agent.name
                    ),
                )
            }
            Err(why) => (
                Kind::Missing,
                format!("the plugin {shown} starts `{NAME}`, which {why}"),
                format!("put it there, or run {disable}"),
            ),
            Ok(_) => {
                return fine(
                    agent,
                    format!("the plugin {shown} has the server and the hook"),
                );
            }
        };
        Finding {
            agent: Some(agent.name),
            ..general(kind, message, fix)
        }
    }

    /// Which version of this program its name starts, if that is another one.
    fn first_in_path(&self) -> Option<Finding> {
        let System {
            environment,
            project,
            ..
        } = self.system.clone();
        let program = environment.find_program(NAME, &project).ok()?;
        if is_same_file(&program, &self.program)
            || environment.is_found_in(&project, NAME, &program)
        {
            return None;
        }
        let [first, own] = [&program, &self.program].map(|path| named_path(path));
        let (command, arguments) = (NAME.to_owned(), vec!["--version".to_owned()]);
        let start = Start {
            command,
            arguments,
            environment,
            folder: project,
            program,
            timeout: self.timeout,
        };
        let said = client::run(&start, String::new()).ok()?.stdout;
        let (version, this) = (
            said.strip_prefix(NAME)?.split_whitespace().next()?,
            env!("CARGO_PKG_VERSION"),
        );
        let message = format!(
            "`{NAME}` in PATH is version {}, in {first}; this program is `{this}`, in {own}",
            quoted(version)
        );
        (version != this).then(|| {
            general(
                Kind::Warning,
                message,
                "remove one of them, or change their order in PATH",
            )
        })
    }

    /// What opens the draft of a message.
    fn draft_editor(&self, agent: &'static Agent, files: &AgentFiles) -> Option<Finding> {
        let DraftEditor { what, doubt } =
            agent
                .drafts
                .as_ref()?
                .editor(agent.title, files, &self.system.environment)?;
        Some(match doubt {
            None => fine(agent, what),
            Some(EditorDoubt { message, fix }) => Finding {
                agent: Some(agent.name),
                ..general(Kind::Warning, message, fix)
            },
        })
    }
}

/// The number of problems and warnings of the prompt files.
fn problems_in(report: &Report) -> Option<Finding> {
    let [errors, warnings] =
        [Severity::Error, Severity::Warning].map(|severity| severity.count_in(&report.problems));
    let kind = match (errors, warnings) {
        (0, 0) => return None,
        (0, _) => Kind::Warning,
        _ => Kind::Invalid,
    };
    let counts = [(errors, "error"), (warnings, "warning")]
        .into_iter()
        .filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts.map(|(number, what)| count(number, what)).collect();
    Some(general(
        kind,
        format!("prompts: {}", counts.join(", ")),
        "run `prompt-expander check` with the same options",
    ))
}

/// A finding about no agent.
fn general(kind: Kind, message: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        agent: None,
        diagnostic: Diagnostic::new(kind, message, fix),
    }
}
