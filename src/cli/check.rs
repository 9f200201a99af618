//! `prompt-expander check`: everything that is wrong with the prompt files, or looks wrong.

use super::output::{self, ERROR, FAINT, WARNING};
use crate::library::{Library, Problem};
use crate::prompt::{Diagnostic, Severity};
use crate::wording::count;
use clap::Args;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Check {
    /// One JSON object: `files`, how many were read, and `problems` with severity, file, line, column, message and
    /// repair
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    files: usize,
    problems: Vec<JsonProblem>,
}

/// A problem as scripts see it.
#[derive(Debug, Serialize)]
pub(super) struct JsonProblem {
    severity: Severity,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    message: String,
    repair: String,
}

impl From<Problem> for JsonProblem {
    fn from(Problem { path, diagnostic, .. }: Problem) -> Self {
        JsonProblem {
            severity: diagnostic.severity,
            file: path.display().to_string(),
            line: diagnostic.position.map(|position| position.line),
            column: diagnostic.position.map(|position| position.column),
            message: diagnostic.message,
            repair: diagnostic.repair,
        }
    }
}

impl Check {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let report = library.check();
        let errors = report.problems.iter().filter(|problem| problem.diagnostic.severity == Severity::Error).count();
        let warnings = report.problems.len() - errors;
        let mut text = Vec::new();
        if self.json {
            let json = Json { files: report.files, problems: report.problems.into_iter().map(Into::into).collect() };
            serde_json::to_writer(&mut text, &json)?;
            text.push(b'\n');
        } else {
            for problem in &report.problems {
                let Diagnostic { severity, message, repair, .. } = &problem.diagnostic;
                let style = if *severity == Severity::Error { ERROR } else { WARNING };
                writeln!(text, "{}: {style}{severity}:{style:#} {message}", problem.place())?;
                writeln!(text, "    {FAINT}repair:{FAINT:#} {repair}")?;
            }
            let files = count(report.files, "file");
            writeln!(text, "{files} checked: {}, {}", count(errors, "error"), count(warnings, "warning"))?;
        }
        output::print(&text)?;
        Ok(if errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
