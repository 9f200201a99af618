//! `prompt-expander list`: all prompts, for a person, for a script, or as JSON.

use super::output::{self, FAINT, NAME};
use crate::library::{Library, Problem, Source};
use crate::prompt::Summary;
use clap::Args;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct List {
    /// One JSON object: `prompts` with name, title, description and source, and `problems` if there are any
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    prompts: Vec<JsonPrompt>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<output::JsonProblem>,
}

#[derive(Serialize)]
struct JsonPrompt {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    /// A path, or `built-in`.
    source: String,
}

impl List {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let index = library.index();
        let mut problems = [index.unseen, index.problems].concat();
        let mut rows = Vec::new();
        for entry in index.entries {
            match entry.listed() {
                Ok(listed) => rows.push(row(&entry.name, &listed.summary, entry.source())),
                Err(problem) => problems.push(problem),
            }
        }
        if self.json {
            output::print_json(&json(rows, problems))?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<(String, String)> =
            rows.into_iter().map(|row| (row.name, output::one_line(&row.description))).collect();
        let mut table = Vec::new();
        match output::terminal_width() {
            None => {
                for (name, description) in &rows {
                    writeln!(table, "{name}\t{description}")?;
                }
            }
            Some(columns) => {
                // A name that would take half of the width has its description behind it, out of the column.
                let widths = rows.iter().map(|(name, _)| output::width(name));
                let column = widths.filter(|width| 2 * width < columns).max().unwrap_or(0);
                for (name, description) in &rows {
                    let width = output::width(name);
                    let gap = " ".repeat(column.saturating_sub(width) + 2);
                    let description = output::fit(description, columns.saturating_sub(1 + width + gap.len()));
                    writeln!(table, "{FAINT}:{FAINT:#}{NAME}{name}{NAME:#}{gap}{description}")?;
                }
            }
        }
        output::print(&table)?;
        for problem in &problems {
            output::warning(&problem.to_string());
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(name: &str, prompt: &Summary, source: Source) -> JsonPrompt {
    JsonPrompt {
        name: name.to_owned(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        source: match source {
            Source::File(path) => path.display().to_string(),
            Source::Builtin => "built-in".to_owned(),
        },
    }
}

fn json(prompts: Vec<JsonPrompt>, problems: Vec<Problem>) -> Json {
    Json { prompts, problems: problems.into_iter().map(Into::into).collect() }
}
