//! `prompt-expander list`: all prompts or those that match, as a table, as lines for scripts, or as JSON.

use super::completions;
use super::output::{self, FAINT, NAME};
use super::prompts::{OnServer, Prompts};
use super::source::PromptSource;
use crate::prompt::System;
use crate::report::{self, BUILT_IN, Filter, Listed};
use crate::wording::{all_of, quoted};
use anstyle::Style;
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander list reserch         prompts that match, best match first
  prompt-expander list :re             prompts whose names begin with `re`
  prompt-expander list --tag work      prompts with this tag
  prompt-expander list --mine --long   your own prompts, with their files
  prompt-expander list | cut -f 1      only the names";

/// The prompts of each layer, the user's own first.
const HEADINGS: [(&str, &str); 4] = [
    ("project", "Prompts of the project"),
    ("user", "Your prompts"),
    ("remote", "Prompts that a service renders"),
    (BUILT_IN, "Built-in prompts"),
];

#[derive(Debug, Args)]
pub(super) struct List {
    /// List only prompts whose name, title, tags or description contain these words, best match first; a spelling mistake
    /// is tolerated. A word that begins with a colon matches the beginning of a name: `:re`. Without a query, all prompts are
    /// listed, sorted by name
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// List only prompts with this tag
    #[arg(long, add = ArgValueCompleter::new(completions::tags))]
    tag: Option<String>,
    /// Leave out the built-in prompts that you have not overridden
    #[arg(long)]
    mine: bool,
    /// Also show the file of each prompt
    #[arg(long, short)]
    long: bool,
    /// Print one JSON object: `prompts` with name, title, description, layer (`project`, `user`, `remote` or `built-in`), format of another
    /// program (such as `claude`), source, tags, usage, arguments and revision, and `problems` if there are any
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) server: OnServer,
}

/// If fewer columns than this remain for the text of a prompt, it is printed below the name.
const LEAST_TEXT: usize = 24;

/// Spaces between two columns of the table.
const GAP: usize = 2;

/// A prompt, each field in one line.
struct Row {
    name: String,
    layer: String,
    format: Option<String>,
    title: String,
    description: String,
    tags: Vec<String>,
    usage: String,
    /// Its path, or `built-in`; only with --long.
    source: Option<String>,
}

impl List {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let prompts = self.server.prompts(source)?;
        let query = self.query.join(" ");
        let query = Some(query).filter(|query| !query.trim().is_empty());
        let filter = Filter { query: query.clone(), tag: self.tag.clone(), mine: self.mine };
        let list = prompts.list(&filter)?;
        if self.json {
            output::print_json(&list)?;
            return Ok(ExitCode::SUCCESS);
        }
        let report::List { prompts: listed, problems } = list;
        let rows: Vec<Row> = listed.into_iter().map(|prompt| Row::of(prompt, self.long)).collect();
        match output::terminal_width() {
            None => {
                output::print(&lines(&rows)?)?;
                for problem in &problems {
                    output::warning(&problem.to_string());
                }
            }
            Some(columns) => output::print_paged(&page(&rows, &problems, columns)?)?,
        }
        if rows.is_empty() && problems.is_empty() {
            let all = prompts.list(&Filter::default())?;
            output::warning(&self.nothing(&prompts, &all, query.as_deref()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Why the list is empty.
    fn nothing(&self, prompts: &Prompts, all: &report::List, query: Option<&str>) -> String {
        let tags: BTreeSet<&str> = all.prompts.iter().flat_map(|prompt| &prompt.tags).map(String::as_str).collect();
        let tags: Vec<&str> = tags.into_iter().collect();
        let whose = if self.mine { " of your own" } else { "" };
        match (query, self.tag.as_deref()) {
            (None, None) => match prompts {
                Prompts::Local(library) => {
                    let folder = library.folder_for_new_prompts().and_then(Result::ok);
                    let folder = folder.map(|folder| format!(" in {}", output::full_path(&folder))).unwrap_or_default();
                    format!("there are no prompts{whose}; `prompt-expander new NAME --edit` makes one{folder}")
                }
                #[cfg(feature = "http")]
                Prompts::Remote(_) => format!("there are no prompts{whose} on the server"),
            },
            (Some(query), None) => {
                format!("no prompt{whose} matches {}; `prompt-expander list` shows all", quoted(query))
            }
            (None, Some(tag)) if tags.is_empty() => {
                format!("no prompt{whose} has the tag {}; no prompt has any tags", quoted(tag))
            }
            (None, Some(tag)) => {
                format!("no prompt{whose} has the tag {}; the tags are {}", quoted(tag), all_of(&tags))
            }
            (Some(query), Some(tag)) => {
                format!("no prompt{whose} with the tag {} matches {}", quoted(tag), quoted(query))
            }
        }
    }
}

/// For scripts: one line for each prompt, with tabs between name, description, layer, tags, usage and, with --long, the file.
fn lines(rows: &[Row]) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    for Row { name, layer, format, description, tags, usage, source, .. } in rows {
        let source = source.as_ref().map(|source| format!("\t{source}")).unwrap_or_default();
        let format = format.as_ref().map(|format| format!(" ({format})")).unwrap_or_default();
        let tags = tags.join(",");
        writeln!(text, "{name}\t{description}\t{layer}{format}\t{tags}\t{usage}{source}")?;
    }
    Ok(text)
}

/// For people: the prompts of each layer and system, the user's own first, and below them the problems. Nothing is cut off.
fn page(rows: &[Row], problems: &[report::Problem], columns: usize) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    // A name that would take a third of the width gets a line of its own.
    let widths = rows.iter().map(|row| 1 + output::width(&row.name)).filter(|width| 3 * width < columns);
    let names = widths.max().unwrap_or(0);
    for (layer, heading) in HEADINGS {
        for system in System::ALL.into_iter().chain([System::OpenApi]) {
            let is_there = |row: &&Row| row.is_below(layer) && row.system() == system;
            let rows: Vec<&Row> = rows.iter().filter(is_there).collect();
            if !rows.is_empty() {
                let gap = if text.is_empty() { "" } else { "\n" };
                let of_system = report::format(system).map(|_| format!(" ({})", system.title())).unwrap_or_default();
                writeln!(text, "{gap}{heading}{of_system}")?;
                write_table(&mut text, &rows, names, columns)?;
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

/// Names in a column of this width; title, description, usage, tags and file in another.
fn write_table(text: &mut Vec<u8>, rows: &[&Row], names: usize, columns: usize) -> anyhow::Result<()> {
    let is_narrow = columns < GAP + names + GAP + LEAST_TEXT;
    let indent = if is_narrow { 2 * GAP } else { GAP + names + GAP };
    for row in rows {
        let details = row.details(columns.saturating_sub(indent));
        let mut details = details.iter();
        write!(text, "{:GAP$}{NAME}:{}{NAME:#}", "", row.name)?;
        let width = 1 + output::width(&row.name);
        if !is_narrow
            && width <= names
            && let Some((style, line)) = details.next()
        {
            write!(text, "{:gap$}{style}{line}{style:#}", "", gap = names - width + GAP)?;
        }
        writeln!(text)?;
        for (style, line) in details {
            writeln!(text, "{:indent$}{style}{line}{style:#}", "")?;
        }
    }
    Ok(())
}

impl Row {
    fn of(prompt: Listed, is_long: bool) -> Row {
        let one_line = |text: Option<String>| output::one_line(text.as_deref().unwrap_or_default());
        Row {
            // One of a server may have any characters, also those that a terminal acts on.
            name: output::without_control_characters(prompt.name),
            layer: output::without_control_characters(prompt.layer),
            format: prompt.format.map(output::without_control_characters),
            title: one_line(prompt.title),
            description: output::one_line(&prompt.description),
            tags: prompt.tags.iter().map(|tag| output::one_line(tag)).collect(),
            usage: one_line(prompt.usage),
            source: is_long.then(|| output::shown(Path::new(&prompt.source))),
        }
    }

    /// Whether it is listed below the heading of a layer. One that only a newer server has is the user's.
    fn is_below(&self, layer: &str) -> bool {
        let is_known = HEADINGS.iter().any(|(known, _)| *known == self.layer);
        layer == if is_known { self.layer.as_str() } else { "user" }
    }

    /// The program that its file is written for.
    fn system(&self) -> System {
        self.format.as_deref().and_then(System::named).unwrap_or(System::PromptExpander)
    }

    /// All but the name, in lines of this many columns.
    fn details(&self, columns: usize) -> Vec<(Style, String)> {
        let tags: Vec<String> = self.tags.iter().map(|tag| format!("#{tag}")).collect();
        let texts = [&self.title, &self.description].map(String::as_str);
        let is_said = |text: &&str| !text.is_empty() && text.to_lowercase() != self.name.to_lowercase();
        let about: Vec<&str> = texts.into_iter().filter(is_said).collect();
        let details = [
            (Style::new(), about.join(" — ")),
            (FAINT, self.usage.clone()),
            (FAINT, tags.join(" ")),
            (FAINT, self.source.clone().unwrap_or_default()),
        ];
        let in_lines = |(style, text): (Style, String)| {
            let lines = output::in_lines(&text, columns).into_iter().filter(|line| !line.is_empty());
            lines.map(move |line| (style, line)).collect::<Vec<_>>()
        };
        details.into_iter().flat_map(in_lines).collect()
    }
}
