//! `prompt-expander doctor`: finds out why `:research` does not work in the agents on this machine.

use super::agent::{agent_parser, system};
use super::output::{self, ERROR, NAME, Styled, WARNING};
use super::source::PromptSource;
use crate::agents::{Agent, Finding};
use crate::doctor::{Diagnosis, Examination};
use crate::prompt::{Diagnostic, Severity};
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
  prompt-expander doctor codex -v   check only Codex, and print all findings";

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Check only this agent
    #[arg(value_parser = agent_parser())]
    agent: Option<&'static Agent>,
    /// How long each server or hook may take
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Call the services that render prompts (see --openapi), too
    #[arg(long)]
    online: bool,
    /// Print all findings, not only the worst one of each agent
    #[arg(long, short)]
    verbose: bool,
    /// Print one JSON object: all `findings` with severity, message and, where they apply, client,
    /// remedy, file, line and column
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| *seconds > 0.0 && *seconds <= 3600.0);
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "it must be a number greater than 0 and at most 3600".to_owned())
}

/// A finding; what does not apply is left out.
fn json(Finding { agent, diagnostic }: &Finding) -> Value {
    let mut json = json!({
        "client": agent,
        "severity": level(diagnostic).0,
        "message": diagnostic.message,
        "remedy": Some(&diagnostic.fix).filter(|fix| !fix.is_empty()),
        "file": diagnostic.file.as_ref().map(|file| file.display().to_string()),
        "line": diagnostic.position.map(|position| position.line),
        "column": diagnostic.position.map(|position| position.column),
    });
    json.as_object_mut()
        .into_iter()
        .for_each(|json| json.retain(|_, value| !value.is_null()));
    json
}

/// The name and the style of a finding's severity.
fn level(diagnostic: &Diagnostic) -> (&'static str, Style) {
    match diagnostic.severity() {
        Severity::Error => ("broken", ERROR),
        Severity::Warning => ("warning", WARNING),
        Severity::Hint => ("fine", NAME),
    }
}

impl Doctor {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let examination = Examination {
            system: system()?,
            program: std::env::current_exe().context("the file of this program cannot be found")?,
            timeout: self.timeout,
            online: self.online,
        };
        let Diagnosis {
            mut findings,
            is_registered,
        } = examination.diagnosis(self.agent, &source.library());
        #[cfg(feature = "openapi")]
        findings.extend(source.settings.team.as_ref().map(|team| Finding {
            agent: None,
            diagnostic: team.diagnose(),
        }));
        let settings = source.settings.problems.iter().cloned();
        findings.extend(settings.map(|diagnostic| Finding {
            agent: None,
            diagnostic,
        }));
        let is_broken = |finding: &Finding| finding.diagnostic.severity() == Severity::Error;
        let is_broken = findings.iter().any(is_broken);
        if self.json {
            let findings: Vec<Value> = findings.iter().map(json).collect();
            output::print_json(&json!({ "findings": findings }))?;
        } else {
            let is_same_group =
                |a: &Finding, b: &Finding| !self.verbose && a.agent.is_some() && a.agent == b.agent;
            for line in findings.chunk_by(is_same_group).filter_map(shown) {
                output::print_lines(&line)?;
            }
        }
        Ok(if is_broken || !is_registered {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// The first of some findings about an agent, which is the worst, as a line: `codex: broken: …`.
fn shown(findings: &[Finding]) -> Option<Styled> {
    let Finding { agent, diagnostic } = findings.first()?;
    let is_worth_showing = |finding: &&Finding| finding.diagnostic.severity() != Severity::Hint;
    let label = agent.map(|agent| format!("{agent}: ")).unwrap_or_default();
    let more = match (agent, findings[1..].iter().filter(is_worth_showing).count()) {
        (None, _) | (_, 0) => String::new(),
        (Some(agent), more) => format!("; `prompt-expander doctor {agent} -v` shows {more} more"),
    };
    let (level, style) = level(diagnostic);
    let diagnostic = Diagnostic {
        message: printable(&diagnostic.message),
        ..diagnostic.clone()
    };
    let line = Styled::from(label).with(style, level);
    Some(line.plain(format!(": {diagnostic}{more}\n")))
}
