//! `prompt-expander doctor`: finds out why `:research` does not work in the agents on this machine.

use super::agent::{agent_parser, system};
use super::output::{self, ERROR, NAME, WARNING};
use super::source::PromptSource;
use crate::agents::{Agent, Finding};
use crate::doctor::{Diagnosis, Examination};
use crate::prompt::{Diagnostic, Severity};
use crate::wording::{count, printable};
use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander doctor            check every agent that is on this machine
  prompt-expander doctor codex -v   check only Codex, and print all findings";

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Check only this agent
    #[arg(value_parser = agent_parser())]
    agent: Option<&'static Agent>,
    /// How long to wait for each answer of a server or a hook
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Call the services that render prompts (see --openapi), too
    #[arg(long)]
    online: bool,
    /// Print all findings, not only the worst one of each agent
    #[arg(long, short)]
    verbose: bool,
    /// Print one JSON object: all `findings` with severity, message and, where they apply, client, remedy, file, line and column
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 3600.0);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "it must be a number greater than 0 and at most 3600".to_owned())
}

/// A finding; what does not apply is left out.
fn json(Finding { agent, diagnostic }: &Finding) -> Value {
    let mut json = json!({
        "client": agent,
        "severity": level(diagnostic),
        "message": diagnostic.message,
        "remedy": Some(&diagnostic.fix).filter(|fix| !fix.is_empty()),
        "file": diagnostic.file.as_ref().map(|file| file.display().to_string()),
        "line": diagnostic.position.map(|position| position.line),
        "column": diagnostic.position.map(|position| position.column),
    });
    json.as_object_mut().into_iter().for_each(|json| json.retain(|_, value| !value.is_null()));
    json
}

/// How the severity of a finding is called.
fn level(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity() {
        Severity::Error => "broken",
        Severity::Warning => "warning",
        Severity::Hint => "fine",
    }
}

impl Doctor {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let examination = Examination {
            system: system()?,
            program: std::env::current_exe().context("the file of this program cannot be found")?,
            timeout: self.timeout,
            check: format!("prompt-expander check{}", options(source)),
            online: self.online,
        };
        let Diagnosis { mut findings, library, is_registered } = examination.diagnosis(self.agent, &source.library());
        let settings = source.settings.problems.iter().cloned();
        findings.extend(settings.map(|diagnostic| Finding { agent: None, diagnostic }));
        let is_broken = |finding: &Finding| finding.diagnostic.severity() == Severity::Error;
        let is_broken = findings.iter().chain(&library).any(is_broken);
        if self.json {
            let findings: Vec<Value> = findings.iter().chain(&library).map(json).collect();
            output::print_json(&json!({ "findings": findings }))?;
        } else {
            let mut lines: Vec<Line> =
                if self.verbose { findings.iter().map(Line::of).collect() } else { summary(&findings) };
            lines.extend(library.as_ref().map(Line::of));
            for Line { label, severity, level, message } in lines {
                let style = match severity {
                    Severity::Error => ERROR,
                    Severity::Warning => WARNING,
                    Severity::Hint => NAME,
                };
                output::print_lines(&format!("{label}{style}{level}{style:#}: {message}"))?;
            }
        }
        Ok(if is_broken || !is_registered { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The options that select the same prompts for another command.
fn options(source: &PromptSource) -> String {
    let mut words = source.words.clone();
    words.extend(source.project.then(|| "--project".to_owned()));
    let quoted = words.iter().map(|word| shlex::try_quote(word).map_or(word.clone(), Into::into));
    quoted.map(|word| format!(" {word}")).collect()
}

/// One line of the output: `codex: broken: …`.
struct Line {
    /// The agent and a colon, if the line is about an agent.
    label: String,
    severity: Severity,
    /// How the severity is shown: `2 warnings`.
    level: String,
    message: String,
}

impl Line {
    fn of(finding: &Finding) -> Line {
        let label = finding.agent.map(|agent| format!("{agent}: ")).unwrap_or_default();
        let Diagnostic { message, .. } = &finding.diagnostic;
        let shown = Diagnostic { message: printable(message), ..finding.diagnostic.clone() };
        let severity = finding.diagnostic.severity();
        Line { label, severity, level: level(&shown).to_owned(), message: shown.to_string() }
    }

    /// One line for all findings about an agent, sorted by severity: if all is fine, all of them; otherwise the worst, and how
    /// many more there are.
    fn of_agent(agent: &str, findings: &[Finding]) -> Option<Line> {
        let number = |severity| findings.iter().filter(|finding| finding.diagnostic.severity() == severity).count();
        let (broken, warnings) = (number(Severity::Error), number(Severity::Warning));
        let mut line = Line::of(findings.first()?);
        match broken + warnings {
            0 => line.message = findings.iter().map(|finding| Line::of(finding).message).collect::<Vec<_>>().join("; "),
            1 => {}
            all => line.message += &format!("; `prompt-expander doctor {agent} -v` shows {} more", all - 1),
        }
        if line.severity == Severity::Warning {
            line.level = count(warnings, "warning");
        }
        Some(line)
    }
}

/// One line for each agent, and one for each finding that is about none.
fn summary(findings: &[Finding]) -> Vec<Line> {
    let groups = findings.chunk_by(|a, b| a.agent.is_some() && a.agent == b.agent);
    let line = |group: &[Finding]| match group.first()?.agent {
        None => group.first().map(Line::of),
        Some(agent) => Line::of_agent(agent, group),
    };
    groups.filter_map(line).collect()
}
