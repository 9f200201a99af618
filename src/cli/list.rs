//! `prompt-expander list`: all prompts, for a person, for a script, or as JSON.

use super::output::{self, FAINT, NAME};
use crate::library::{Library, Listing, Source};
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
        let listing = library.list();
        if self.json {
            output::print_json(&json(listing))?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<(String, String)> = listing
            .prompts
            .iter()
            .map(|(prompt, _)| (prompt.name.clone(), output::one_line(&prompt.description().unwrap_or_default())))
            .collect();
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
        for problem in &listing.problems {
            output::warning(&problem.to_string());
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn json(listing: Listing) -> Json {
    let prompts = listing.prompts.into_iter().map(|(prompt, source)| JsonPrompt {
        title: prompt.title(),
        description: prompt.description().unwrap_or_default(),
        source: match source {
            Source::File(path) => path.display().to_string(),
            Source::Builtin => "built-in".to_owned(),
        },
        name: prompt.name,
    });
    Json { prompts: prompts.collect(), problems: listing.problems.into_iter().map(Into::into).collect() }
}
