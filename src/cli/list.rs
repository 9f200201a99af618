//! `prompt-expander list`: all prompts or those that match, as a table, as lines for scripts, or as
//! JSON.

use super::output::{self, FAINT, NAME, Reporter, Row, Styled, WARNING, one_line};
use super::source::PromptSource;
use crate::api::{self, BUILT_IN, Filter, Listed};
use crate::prompt::Diagnostic;
use crate::wording::visible;
use anstyle::Style;
use clap::Args;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander list reserch         prompts that match, best match first
  prompt-expander list :re             prompts whose names begin with `re`
  prompt-expander list --tag work      prompts with this tag
  prompt-expander list --mine --long   your own prompts, with their files
  prompt-expander list | cut -f 1      only the names";

/// The prompts of each layer, the user's own first.
const HEADINGS: [(&str, &str); 6] = [
    ("project", "Prompts of the project"),
    ("user", "Your prompts"),
    ("team", "Prompts of the team"),
    ("pack", "Prompts of a pack"),
    ("remote", "Prompts that a service renders"),
    (BUILT_IN, "Built-in prompts"),
];

#[derive(Debug, Args)]
pub(super) struct List {
    /// List only prompts whose name, title, tags or description contain these words, best match
    /// first; a spelling mistake is tolerated. A word that begins with a colon matches the
    /// beginning of a name: `:re`. Without a query, all prompts are listed, sorted by name
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// List only prompts with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Leave out the built-in prompts that you have not overridden
    #[arg(long)]
    mine: bool,
    /// Also show the file of each prompt
    #[arg(long, short)]
    long: bool,
    /// Print one JSON object: `prompts` with name, title, description, layer (`project`, `user`,
    /// `team`, `pack`, `remote` or `built-in`), pack with its commit, format of another program
    /// (such as `claude`), source, tags, usage, arguments, revision, size, takes_input, author,
    /// version and category, and `problems` if there are any
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        let view = library.view();
        let query = Some(self.query.join(" ")).filter(|query| !query.trim().is_empty());
        let is_filtered = query.is_some() || self.tag.is_some();
        let mut list = api::list(
            &view,
            &Filter {
                query,
                tag: self.tag.clone(),
                mine: self.mine,
            },
        );
        if self.json {
            return output::print_json(&RawValue::from_string(String::from_utf8(
                api::list_json(&mut list)?,
            )?)?);
        }
        let prompts: Vec<Listed> = api::listed(&mut list).collect();
        let problems = list.problems;
        match output::terminal_width() {
            None => {
                output::print_verbatim(self.lines(&prompts).as_bytes())?;
                reporter.warn_all(&problems);
            }
            Some(columns) => {
                output::print(&self.page(&prompts, &problems, columns))?;
                #[cfg(feature = "openapi")]
                if let Some(team) = &source.settings.team {
                    reporter.note_if_any(team.why_absent());
                }
            }
        }
        if prompts.is_empty() && problems.is_empty() {
            let whose = if self.mine { " of your own" } else { "" };
            let folder = source
                .folder_of_new(&library)
                .map(|folder| format!(" in {}", output::full_path(&folder)));
            reporter.warn(&match is_filtered {
                true => format!("no prompt{whose} matches; `prompt-expander list` shows all"),
                false => format!(
                    "there are no prompts{whose}; `prompt-expander new NAME --edit` makes one{}",
                    folder.unwrap_or_default()
                ),
            });
        }
        reporter.note_if_any(view.untrusted_hint());
        reporter.note_if_any(view.changed_hint());
        Ok(())
    }

    /// For scripts: one line for each prompt, with tabs between name, description, layer, tags,
    /// usage and, with --long, the file.
    fn lines(&self, prompts: &[Listed]) -> String {
        let mut text = String::new();
        for prompt in prompts {
            let Listed {
                name,
                layer,
                description,
                tags,
                usage,
                source,
                ..
            } = prompt;
            let format = group(prompt);
            let layer = layer.name;
            let tags: Vec<String> = tags.iter().map(|tag| one_line(tag)).collect();
            let [description, usage] =
                [description, usage.as_deref().unwrap_or_default()].map(one_line);
            let source = if self.long {
                format!("\t{}", output::shown(Path::new(source)))
            } else {
                String::new()
            };
            text += &format!(
                "{name}\t{description}\t{layer}{format}\t{}\t{usage}{source}\n",
                tags.join(",")
            );
        }
        text
    }

    /// For people: the prompts of each layer and format, the user's own first, and below them the
    /// problems. Nothing is cut off.
    fn page(&self, prompts: &[Listed], problems: &[Diagnostic], columns: usize) -> Styled {
        let mut text = Styled::default();
        for (layer, heading) in HEADINGS {
            let below = || prompts.iter().filter(|prompt| prompt.layer.name == layer);
            let formats: BTreeSet<String> = below().map(group).collect();
            for format in formats {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push(format!("{gap}{heading}{format}\n"));
                let rows = below()
                    .filter(|prompt| group(prompt) == format)
                    .map(|prompt| self.row(prompt));
                text.append(output::in_columns(&rows.collect::<Vec<_>>(), columns));
            }
        }
        if !prompts.is_empty() && !problems.is_empty() {
            text.push("\n");
        }
        for problem in problems {
            let file = problem
                .file
                .as_ref()
                .map(|file| Path::new(&output::shown(file)).into());
            let problem = Diagnostic {
                file,
                ..problem.clone()
            };
            let line = output::wrapped(
                &format!("warning: {}", visible(&problem.to_string())),
                columns,
            );
            let rest = line.trim_start_matches("warning:");
            text = text.with(WARNING, "warning:").plain(format!("{rest}\n"));
        }
        text
    }

    /// The name; title and description, usage, tags and file.
    fn row(&self, prompt: &Listed) -> Row {
        let texts = [
            prompt.title.as_deref().unwrap_or_default(),
            &prompt.description,
        ]
        .map(one_line);
        let is_said =
            |text: &String| !text.is_empty() && text.to_lowercase() != prompt.name.to_lowercase();
        let about: Vec<String> = texts.into_iter().filter(is_said).collect();
        let tags: Vec<String> = prompt
            .tags
            .iter()
            .map(|tag| format!("#{}", one_line(tag)))
            .collect();
        let source = if self.long {
            output::shown(Path::new(&prompt.source))
        } else {
            String::new()
        };
        let texts = vec![
            (Style::new(), about.join(" — ")),
            (FAINT, one_line(prompt.usage.as_deref().unwrap_or_default())),
            (FAINT, tags.join(" ")),
            (FAINT, source),
        ];
        Row {
            label: format!(":{}", prompt.name),
            style: NAME,
            texts,
        }
    }
}

/// The pack and the format of a prompt, after its layer.
fn group(prompt: &Listed) -> String {
    let of: Vec<&str> = prompt
        .pack
        .as_deref()
        .into_iter()
        .chain(prompt.format)
        .collect();
    if of.is_empty() {
        String::new()
    } else {
        format!(" ({})", of.join(", "))
    }
}
