//! `prompt-expander check`: all errors and warnings in prompt files.

use super::output;
use crate::library::Library;
use crate::prompt::Severity;
use crate::wording::count;
use clap::Args;
use serde::Serialize;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander check                            check your own files
  prompt-expander --prompts . --no-builtin check   check this folder, as in CI";

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Print one JSON object: `files`, the number of files checked, and `problems` with severity, file, line, column, message
    /// and repair
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    files: usize,
    problems: Vec<output::JsonProblem>,
}

impl Check {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let report = library.view().check();
        let errors = report.problems.iter().filter(|problem| problem.diagnostic.severity == Severity::Error).count();
        let warnings = report.problems.len() - errors;
        if self.json {
            let problems = report.problems.into_iter().map(Into::into).collect();
            output::print_json(&Json { files: report.files, problems })?;
        } else {
            let problems: String = report.problems.iter().map(output::problem_in_two_lines).collect();
            let files = count(report.files, "file");
            let counts = format!("{files} checked: {}, {}\n", count(errors, "error"), count(warnings, "warning"));
            output::print((problems + &counts).as_bytes())?;
        }
        Ok(if errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
