//! `prompt-expander list`: all prompts or those that match, as a table, as lines for scripts, or as JSON.

use super::completions;
use super::output::{self, FAINT, NAME};
use crate::library::{Entry, Library, Problem, Selection, View};
use crate::prompt::{Argument, Summary};
use crate::wording::{all_of, quoted};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander list reserch         prompts that match, best match first
  prompt-expander list --tag work      prompts with this tag
  prompt-expander list | cut -f 1      only the names";

#[derive(Debug, Args)]
pub(super) struct List {
    /// List only prompts whose name, title, tags or description match these words, best match first; a missing letter is
    /// tolerated. Without a query, all prompts are listed, sorted by name
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// List only prompts with this tag
    #[arg(long, add = ArgValueCompleter::new(completions::tags))]
    tag: Option<String>,
    /// Print one JSON object: `prompts` with name, title, description, layer (`project`, `user` or `built-in`), source, tags,
    /// usage and arguments, and `problems` if there are any
    #[arg(long)]
    json: bool,
}

/// If fewer columns than this remain for the text of a prompt, it is printed below the name.
const LEAST_TEXT: usize = 24;

/// Spaces between two columns of the table.
const GAP: usize = 2;

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
    layer: &'static str,
    /// A path, or `built-in`.
    source: String,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<JsonArgument>,
}

#[derive(Serialize)]
struct JsonArgument {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<String>,
}

/// A prompt, each field in one line.
struct Row {
    name: String,
    layer: &'static str,
    description: String,
    tags: Vec<String>,
    usage: String,
}

impl List {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let query = self.query.join(" ");
        let query = Some(query.as_str()).filter(|query| !query.trim().is_empty());
        let view = library.view();
        let Selection { found, problems } = view.select(query, self.tag.as_deref());
        if self.json {
            let prompts = found.iter().map(|(entry, summary)| JsonPrompt::of(entry, summary)).collect();
            let problems = problems.into_iter().map(Into::into).collect();
            output::print_json(&Json { prompts, problems })?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<Row> = found.iter().map(|(entry, summary)| Row::of(entry, summary)).collect();
        match output::terminal_width() {
            None => {
                output::print(&lines(&rows)?)?;
                for problem in &problems {
                    output::warning(&problem.to_string());
                }
            }
            Some(columns) => output::print(&table(&rows, &problems, columns)?)?,
        }
        if rows.is_empty() && problems.is_empty() {
            output::warning(&nothing(&view, query, self.tag.as_deref()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Why the list is empty.
fn nothing(view: &View, query: Option<&str>, tag: Option<&str>) -> String {
    let all = view.select(None, None).found;
    let tags: BTreeSet<&str> = all.iter().flat_map(|(_, summary)| &summary.tags).map(String::as_str).collect();
    let tags: Vec<&str> = tags.into_iter().collect();
    match (query, tag) {
        (None, None) => "there are no prompts; `prompt-expander --help` says where to put them".to_owned(),
        (Some(query), None) => {
            format!("no prompt matches {}; `prompt-expander list` shows all", quoted(query))
        }
        (None, Some(tag)) if tags.is_empty() => {
            format!("no prompt has the tag {}; no prompt has any tags", quoted(tag))
        }
        (None, Some(tag)) => format!("no prompt has the tag {}; the tags are {}", quoted(tag), all_of(&tags)),
        (Some(query), Some(tag)) => {
            format!("no prompt with the tag {} matches {}", quoted(tag), quoted(query))
        }
    }
}

/// For scripts: one line for each prompt, with tabs between name, description, layer, tags and usage.
fn lines(rows: &[Row]) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    for Row { name, layer, description, tags, usage } in rows {
        writeln!(text, "{name}\t{description}\t{layer}\t{}\t{usage}", tags.join(","))?;
    }
    Ok(text)
}

/// For people: name, layer and description in columns; usage and tags below the description. Nothing is cut off.
fn table(rows: &[Row], problems: &[Problem], columns: usize) -> anyhow::Result<Vec<u8>> {
    // A name that would take a third of the width gets a line of its own.
    let names = rows.iter().map(|row| 1 + output::width(&row.name)).filter(|width| 3 * width < columns);
    let names = names.max().unwrap_or(0);
    let layers = rows.iter().map(|row| row.layer.len()).max().unwrap_or(0);
    let indent = names + GAP + layers + GAP;
    let is_narrow = columns < indent + LEAST_TEXT;
    let indent = if is_narrow { GAP } else { indent };
    let mut text = Vec::new();
    for row in rows {
        let name_width = 1 + output::width(&row.name);
        let mut description = output::in_lines(&row.description, columns.saturating_sub(indent)).into_iter();
        let name = output::in_lines(&format!(":{}", row.name), columns);
        let [name, last] = [&name[..name.len() - 1], &name[name.len() - 1..]].map(|lines| lines.join("\n"));
        if !name.is_empty() {
            writeln!(text, "{NAME}{name}{NAME:#}")?; // longer than a line
        }
        if is_narrow {
            writeln!(text, "{NAME}{last}{NAME:#}")?;
        } else {
            let gap =
                if name_width > names { format!("\n{}", " ".repeat(names)) } else { " ".repeat(names - name_width) };
            let (layer, first) = (row.layer, description.next().unwrap_or_default());
            let line = format!("{NAME}{last}{NAME:#}{gap}  {FAINT}{layer:layers$}{FAINT:#}  {first}");
            writeln!(text, "{}", line.trim_end())?;
        }
        for line in description.filter(|line| !line.is_empty()) {
            writeln!(text, "{:indent$}{line}", "")?;
        }
        let layer = if is_narrow { row.layer } else { "" };
        let tags = row.tags.iter().map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" ");
        for detail in [layer, &row.usage, &tags].into_iter().filter(|detail| !detail.is_empty()) {
            for line in output::in_lines(detail, columns.saturating_sub(indent)) {
                writeln!(text, "{:indent$}{FAINT}{line}{FAINT:#}", "")?;
            }
        }
    }
    if !rows.is_empty() && !problems.is_empty() {
        writeln!(text)?;
    }
    for problem in problems {
        writeln!(text, "{}", output::problem_in_a_paragraph(problem, columns))?;
    }
    Ok(text)
}

impl Row {
    fn of(entry: &Entry<'_>, prompt: &Summary) -> Row {
        let one_line = |text: &Option<String>| output::one_line(text.as_deref().unwrap_or_default());
        Row {
            name: entry.name().to_string(),
            layer: output::layer(entry.layer()),
            description: one_line(&prompt.description),
            tags: prompt.tags.iter().map(|tag| output::one_line(tag)).collect(),
            usage: one_line(&prompt.usage),
        }
    }
}

impl JsonPrompt {
    fn of(entry: &Entry<'_>, prompt: &Summary) -> JsonPrompt {
        JsonPrompt {
            name: entry.name().to_string(),
            title: prompt.title.clone(),
            description: prompt.description.clone().unwrap_or_default(),
            layer: output::layer(entry.layer()),
            source: entry.location().map(output::source).unwrap_or_default(),
            tags: prompt.tags.clone(),
            usage: prompt.usage.clone(),
            arguments: prompt.arguments.iter().map(JsonArgument::of).collect(),
        }
    }
}

impl JsonArgument {
    fn of(argument: &Argument) -> JsonArgument {
        JsonArgument {
            name: argument.name.clone(),
            description: argument.description.clone(),
            required: argument.is_needed(),
            default: argument.default.clone(),
            choices: argument.choices.clone(),
        }
    }
}
