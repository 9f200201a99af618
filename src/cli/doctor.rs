//! `prompt-expander doctor`: diagnoses why prompts don't work in the agents on this machine.

use super::agent_names::{AgentParser, system};
use super::config;
use super::output::{self, ERROR, NAME, Styled, WARNING};
use super::source_options::PromptSource;
use crate::agents::{Agent, Finding};
use crate::doctor::{Diagnosis, Examination};
use crate::menus::library_id;
use crate::prompt::{Diagnostic, Kind, Severity};
use crate::wording::printable;
use anstyle::Style;
use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander doctor            check every agent that is on this machine
  prompt-expander doctor codex      check only Codex, and print all its problems
  prompt-expander doctor codex -v   also print what works";

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Check only this agent
    #[arg(value_parser = AgentParser)]
    agent: Option<&'static Agent>,
    /// How long to wait for each server and each hook
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    timeout: Duration,
    /// Also call the services that render prompts (see --openapi)
    #[arg(long)]
    online: bool,
    /// Print all findings
    ///
    /// By default, `doctor AGENT` prints only the problems of this agent, and `doctor` prints only
    /// the most severe finding for each agent.
    #[arg(long, short)]
    verbose: bool,
    /// Print one JSON object with all `findings`, each with severity, message and, if they apply,
    /// client, remedy, file, line and column
    #[arg(long)]
    json: bool,
}

/// Parses a number of seconds, e.g. `10` or `0.5`. It must be positive, and at most one hour.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("it must be a number greater than 0 and at most 3600".to_owned()),
    }
}

impl Doctor {
    /// Prints the findings. Exits with 1 if something is broken, or if this program isn't
    /// registered with any agent.
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let Diagnosis {
            findings,
            is_registered,
        } = self.diagnose(source)?;
        if self.json {
            let findings: Vec<Value> = findings.iter().map(finding_to_json).collect();
            output::print_json(&json!({ "findings": findings }))?;
        } else {
            self.print(&findings)?;
        }
        let is_broken = findings
            .iter()
            .any(|finding| finding.diagnostic.severity() == Severity::Error);
        Ok(if is_broken || !is_registered {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    /// Examines the agents (or only `agent`), the library, the team's server and the settings file.
    fn diagnose(&self, source: &PromptSource) -> anyhow::Result<Diagnosis> {
        let settings = &source.settings;
        let has_menus_error = settings.is_unusable || settings.menus_error.is_some();
        let examination = Examination {
            system: system()?,
            program: std::env::current_exe().context("the file of this program cannot be found")?,
            timeout: self.timeout,
            online: self.online,
            menus: source.settings.menus.clone(),
            library_id: match config::path(&source.config) {
                Some(path) if !has_menus_error => library_id(&path),
                _ => String::new(), // then no entry belongs to the library, and none is to go
            },
        };
        let mut diagnosis = examination.diagnose(self.agent, &source.library());
        let mut diagnostics = Vec::new();
        #[cfg(feature = "openapi")]
        if let Some(team) = &source.settings.team {
            diagnostics.push(team.diagnose());
        }
        diagnostics.extend(source.settings.problems.iter().cloned());
        diagnostics.extend(usage_problem(source));
        for diagnostic in diagnostics {
            diagnosis.findings.push(Finding {
                agent: None,
                diagnostic,
            });
        }
        Ok(diagnosis)
    }

    /// Prints a line per finding. Without `--verbose`, prints only the problems of the agent that
    /// the user named, or one line per agent. Findings about the same agent must be consecutive,
    /// the most severe first.
    fn print(&self, findings: &[Finding]) -> anyhow::Result<()> {
        if self.verbose {
            return print_findings(findings);
        }
        for group in findings.chunk_by(are_about_same_agent) {
            let problems = problems_of(group);
            if self.agent.is_some() && !problems.is_empty() {
                print_findings(problems)?;
            } else {
                output::print_lines(&group_line(group).plain("\n"))?;
            }
        }
        Ok(())
    }
}

/// Returns a warning if uses of prompts should be counted, but the file can't be written.
fn usage_problem(source: &PromptSource) -> Option<Diagnostic> {
    let log = source.usage_log()?;
    let error = log.check().err()?;
    let message = format!(
        "uses of prompts cannot be counted: {} cannot be written to: {error}",
        output::full_path(log.folder())
    );
    let fix = "make it a folder that you can write to, or write `usage = false` into config.toml";
    Some(Diagnostic::new(Kind::Warning, message, fix))
}

/// Prints a line for each finding.
fn print_findings(findings: &[Finding]) -> anyhow::Result<()> {
    for finding in findings {
        output::print_lines(&finding_line(finding).plain("\n"))?;
    }
    Ok(())
}

/// Returns the errors and warnings among findings that are sorted by severity. The others say that
/// something works.
fn problems_of(findings: &[Finding]) -> &[Finding] {
    let count = findings.partition_point(|finding| finding.diagnostic.severity() != Severity::Hint);
    &findings[..count]
}

/// Returns whether two findings are about the same agent. Findings that aren't about an agent, e.g.
/// those about the library, aren't grouped.
fn are_about_same_agent(left: &Finding, right: &Finding) -> bool {
    left.agent.is_some() && left.agent == right.agent
}

/// Returns one line for all findings about an agent: the most severe one, which must be the first,
/// and the number of other problems: `… (2 more: …)`.
fn group_line(group: &[Finding]) -> Styled {
    let [worst, others @ ..] = group else {
        return Styled::default(); // `chunk_by` returns no empty groups
    };
    let line = finding_line(worst);
    let other_problems = problems_of(others).len();
    match worst.agent {
        Some(agent) if other_problems > 0 => line.plain(format!(
            " ({other_problems} more: `prompt-expander doctor {agent}`)"
        )),
        _ => line,
    }
}

/// Formats a finding: `warning: codex: ~/.codex/config.toml:2:1: message; fix`.
fn finding_line(Finding { agent, diagnostic }: &Finding) -> Styled {
    let Level { name, style } = level(diagnostic);
    let mut line = Styled::default().with(style, format!("{name}:"));
    if let Some(agent) = agent {
        line.push(format!(" {agent}:"));
    }
    if let Some(file) = &diagnostic.file {
        let file = output::display_path(file);
        let location = match diagnostic.position {
            Some(position) => format!("{file}:{position}:"),
            None => format!("{file}:"),
        };
        line = line.plain(" ").with(NAME, location);
    }
    line.plain(format!(" {}", printable(&diagnostic.text())))
}

/// Converts a finding to JSON, without the fields that don't apply.
fn finding_to_json(Finding { agent, diagnostic }: &Finding) -> Value {
    let mut json = json!({ "severity": level(diagnostic).name, "message": diagnostic.message });
    if let Some(agent) = agent {
        json["client"] = json!(agent);
    }
    if !diagnostic.fix.is_empty() {
        json["remedy"] = json!(diagnostic.fix);
    }
    if let Some(file) = &diagnostic.file {
        json["file"] = json!(file.display().to_string());
    }
    if let Some(position) = diagnostic.position {
        json["line"] = json!(position.line);
        json["column"] = json!(position.column);
    }
    json
}

/// How `doctor` presents the severity of a finding.
struct Level {
    name: &'static str,
    style: Style,
}

fn level(diagnostic: &Diagnostic) -> Level {
    let (name, style) = match diagnostic.severity() {
        Severity::Error => ("broken", ERROR),
        Severity::Warning => ("warning", WARNING),
        Severity::Hint => ("fine", NAME),
    };
    Level { name, style }
}
