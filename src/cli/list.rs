//! `prompt-expander list`: lists prompts as a table for people, or as lines or JSON for scripts.

mod listed_uses;

use super::output::{
    self, FAINT, LabeledRow, NAME, Progress, Reporter, Styled, WARNING, one_line, styled,
};
use super::source_options::{PromptSource, RECENT_DAYS};
use crate::api::{self, BUILT_IN, ListFilter, ListRow};
use crate::library::{Found, Library, Selection};
use crate::prompt::Diagnostic;
use crate::usage::PromptUses;
use crate::wording::printable_text;
use anstyle::Style;
use clap::Args;
use listed_uses::{ListedUses, describe, parse_days};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander list reserch         prompts that match, best match first
  prompt-expander list :re             prompts whose names begin with `re`
  prompt-expander list --tag work      prompts with this tag
  prompt-expander list --mine --long   your own prompts, with their files
  prompt-expander list --by-use        the prompts that you use most come first
  prompt-expander list --unused 90d    prompts that you have not used for 90 days
  prompt-expander list | cut -f 1      only the names";

/// The layers in the order in which they are listed, and their headings.
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
    /// List only prompts with these words in their name, title, tags or description, best match
    /// first
    ///
    /// A spelling mistake is tolerated. A word that begins with a colon matches the beginning of a
    /// name: `:re` finds `research`. Without a query, lists all prompts, sorted by name.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// List only prompts with this tag
    #[arg(long)]
    tag: Option<String>,
    /// List only prompts that are not built in
    #[arg(long)]
    mine: bool,
    /// Put the prompts that were used most in the last 90 days first
    ///
    /// Shows how often each prompt was used, and the day of the last use. In a pipe, these are two
    /// columns after the usage. To turn the counts off, write `usage = false` into config.toml.
    #[arg(long, conflicts_with = "unused")]
    by_use: bool,
    /// List only prompts that were not used within this number of days, such as `90d`
    #[arg(long, value_name = "DAYS", value_parser = parse_days)]
    unused: Option<i32>,
    /// Also show the file of each prompt
    #[arg(long, short)]
    long: bool,
    /// Print one JSON object: `prompts` contains all details of each prompt, and `problems` the
    /// broken prompt files, if there are any
    #[arg(long)]
    json: bool,
}

impl List {
    /// Prints the prompts that match the filters: as JSON, in lines for scripts or, on a terminal,
    /// as a page for people. Warns if there are none.
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        #[cfg(feature = "openapi")]
        if let Some(team) = &source.settings.team {
            team.refresh_for_printing();
        }
        let view = library.view();
        let progress = Progress::start("reading prompts", "Nothing was changed.");
        let mut selection = api::list(&view, &self.filter());
        let uses = self.read_uses(source)?;
        if let Some(uses) = &uses {
            self.apply_uses(uses, &mut selection.found);
        }
        if self.json {
            let json = selection_as_json(&mut selection, uses.as_ref())?;
            drop(progress); // erases its line before the list is printed
            return output::print_json(&json);
        }
        let prompts = read_rows(&mut selection, progress);
        let problems = selection.problems;
        self.print(&prompts, &problems, uses.as_ref(), reporter)?;
        #[cfg(feature = "openapi")]
        note_absent_team(source, reporter);
        if prompts.is_empty() && problems.is_empty() {
            self.warn_of_empty_list(source, &library, reporter);
        }
        if let Some(uses) = uses {
            reporter.note_if_any(uses.note());
        }
        reporter.note_if_any(view.untrusted_hint());
        reporter.note_if_any(view.changed_hint());
        Ok(())
    }

    /// Reads how often the prompts were used, if the list depends on that.
    fn read_uses(&self, source: &PromptSource) -> anyhow::Result<Option<ListedUses>> {
        match self.days_of_use() {
            Some(days) => Ok(Some(ListedUses::read(source, days)?)),
            None => Ok(None),
        }
    }

    /// Returns the number of days whose uses the list depends on, if it does.
    fn days_of_use(&self) -> Option<i32> {
        if self.by_use {
            Some(RECENT_DAYS)
        } else {
            self.unused
        }
    }

    /// Sorts the prompts by their uses or, with `--unused`, removes those that were used.
    fn apply_uses(&self, uses: &ListedUses, prompts: &mut Vec<Found>) {
        if self.by_use {
            uses.sort(prompts);
        } else {
            prompts.retain(|found| uses.is_unused(found));
        }
    }

    fn filter(&self) -> ListFilter {
        let query = self.query.join(" ");
        ListFilter {
            query: (!query.trim().is_empty()).then_some(query),
            tag: self.tag.clone(),
            mine: self.mine,
        }
    }

    /// Prints the list in lines for scripts or, on a terminal, as a page for people.
    fn print(
        &self,
        prompts: &[ListRow],
        problems: &[Diagnostic],
        uses: Option<&ListedUses>,
        reporter: &Reporter,
    ) -> anyhow::Result<()> {
        // The other option that reads uses, `--unused`, only selects prompts by them.
        let shown_uses = if self.by_use { uses } else { None };
        let Some(columns) = output::terminal_width() else {
            output::print_verbatim(self.lines(prompts, shown_uses).as_bytes())?;
            reporter.warn_all(problems);
            return Ok(());
        };
        let page = match shown_uses {
            Some(uses) => self.page_by_use(prompts, uses, columns),
            None => self.page(prompts, columns),
        };
        output::print(&with_problems(page, problems, columns))
    }

    /// Warns that the list is empty, and suggests what to do.
    fn warn_of_empty_list(&self, source: &PromptSource, library: &Library, reporter: &Reporter) {
        let of_own = if self.mine { " of your own" } else { "" };
        let filter = self.filter();
        if filter.query.is_some() || filter.tag.is_some() || self.unused.is_some() {
            reporter.warn(&format!(
                "no prompt{of_own} matches; `prompt-expander list` shows all"
            ));
            return;
        }
        let folder = match source.new_prompts_folder(library) {
            Ok(folder) => format!(" in {}", output::full_path(&folder)),
            Err(_) => String::new(),
        };
        reporter.warn(&format!(
            "there are no prompts{of_own}; `prompt-expander new NAME --edit` makes one{folder}"
        ));
    }

    /// Formats the prompts for scripts: one line each, with the tab-separated name, description,
    /// layer, tags, usage, with `--by-use` the number of uses and the day of the last one, and with
    /// `--long` the file.
    fn lines(&self, prompts: &[ListRow], uses: Option<&ListedUses>) -> String {
        let mut text = String::new();
        for prompt in prompts {
            let tags: Vec<String> = prompt.tags.iter().map(|tag| one_line(tag)).collect();
            text += &format!(
                "{}\t{}\t{}{}\t{}\t{}",
                prompt.name,
                one_line(&prompt.description),
                prompt.layer.name,
                group(prompt),
                tags.join(","),
                one_line(prompt.usage.as_deref().unwrap_or_default())
            );
            if let Some(uses) = uses {
                let PromptUses { count, last_day } = uses.of(prompt);
                let last_day = last_day.map(|day| day.to_string());
                text += &format!("\t{count}\t{}", last_day.unwrap_or_default());
            }
            if self.long {
                text.push('\t');
                text += &output::display_path(Path::new(&prompt.source));
            }
            text.push('\n');
        }
        text
    }

    /// Formats the prompts for people: in one group, each with its uses.
    fn page_by_use(&self, prompts: &[ListRow], uses: &ListedUses, columns: usize) -> Styled {
        let mut rows = Vec::new();
        for prompt in prompts {
            let mut row = self.row(prompt);
            row.texts.insert(0, (NAME, describe(uses.of(prompt))));
            rows.push(row);
        }
        let mut page = Styled::default();
        if !rows.is_empty() {
            page.push(format!("{}\n", uses.heading()));
            page.append(output::in_columns(&rows, columns));
        }
        page
    }

    /// Formats the prompts for people: grouped by layer, and within a layer by pack and format.
    fn page(&self, prompts: &[ListRow], columns: usize) -> Styled {
        let mut page = Styled::default();
        for (layer, heading) in HEADINGS {
            let mut groups: BTreeMap<String, Vec<LabeledRow>> = BTreeMap::new();
            for prompt in prompts {
                if prompt.layer.name == layer {
                    let rows = groups.entry(group(prompt)).or_default();
                    rows.push(self.row(prompt));
                }
            }
            for (group, rows) in groups {
                let gap = if page.is_empty() { "" } else { "\n" };
                page.push(format!("{gap}{heading}{group}\n"));
                page.append(output::in_columns(&rows, columns));
            }
        }
        page
    }

    /// Returns the row of a prompt. Its label is the name; its texts are the title and description,
    /// the usage, the tags and the file.
    fn row(&self, prompt: &ListRow) -> LabeledRow {
        let title = prompt.title.as_deref();
        let description = without_name(&prompt.name, [title, Some(&*prompt.description)]);
        let mut tags = Vec::new();
        for tag in &prompt.tags {
            tags.push(format!("#{}", one_line(tag)));
        }
        let mut file = String::new();
        if self.long {
            file = output::display_path(Path::new(&prompt.source));
        }
        LabeledRow {
            label: format!(":{}", prompt.name),
            label_style: NAME,
            texts: vec![
                (Style::new(), one_line(&description)),
                (FAINT, one_line(prompt.usage.as_deref().unwrap_or_default())),
                (FAINT, tags.join(" ")),
                (FAINT, file),
            ],
        }
    }
}

/// Returns the list as a JSON object, in which each prompt has its uses if they are given.
fn selection_as_json(
    selection: &mut Selection,
    uses: Option<&ListedUses>,
) -> anyhow::Result<Box<RawValue>> {
    let json = match uses {
        Some(uses) => uses.list_json(selection)?,
        None => api::list_json(selection)?,
    };
    Ok(RawValue::from_string(String::from_utf8(json)?)?)
}

/// Reads the rows of the list, and shows the progress until all are read. Adds the broken files
/// that it finds to the problems of the selection.
fn read_rows(selection: &mut Selection, progress: Progress) -> Vec<ListRow> {
    progress.set_total(selection.found.len());
    let mut rows = Vec::new();
    for row in api::list_rows(selection) {
        rows.push(row);
        progress.advance();
    }
    rows
}

/// Returns a page with the problems at its end.
fn with_problems(mut page: Styled, problems: &[Diagnostic], columns: usize) -> Styled {
    if !page.is_empty() && !problems.is_empty() {
        page.push("\n");
    }
    for problem in problems {
        page.append(problem_line(problem, columns));
    }
    page
}

/// If the team's server doesn't answer, prints a note that says how old its prompts are.
#[cfg(feature = "openapi")]
fn note_absent_team(source: &PromptSource, reporter: &Reporter) {
    if let Some(team) = &source.settings.team {
        reporter.note_if_any(team.outage_message());
    }
}

/// Formats a problem as a warning, wrapped to `columns`.
fn problem_line(problem: &Diagnostic, columns: usize) -> Styled {
    let mut problem = problem.clone();
    if let Some(file) = &problem.file {
        problem.file = Some(Path::new(&output::display_path(file)).into());
    }
    // The label takes part in the wrapping, and is then replaced by a styled one.
    const LABEL: &str = "warning:";
    let message = format!("{LABEL} {}", printable_text(&problem.to_string()));
    let lines = output::wrap_with_indent(&message, columns);
    let text = lines.strip_prefix(LABEL).unwrap_or(&lines);
    styled(WARNING, LABEL).plain(format!("{text}\n"))
}

/// Joins the title and the description of a prompt. Omits those that only repeat the name.
pub(super) fn without_name(name: &str, texts: [Option<&str>; 2]) -> String {
    let name = name.to_lowercase();
    let mut parts = Vec::new();
    for text in texts.into_iter().flatten() {
        let text = text.trim();
        if !text.is_empty() && text.to_lowercase() != name {
            parts.push(text);
        }
    }
    parts.join(" — ")
}

/// Returns the pack and the format of a prompt, to be appended to its layer, e.g. ` (claude)`.
/// Returns an empty string if it has neither.
fn group(prompt: &ListRow) -> String {
    let mut parts = Vec::new();
    parts.extend(prompt.pack.as_deref());
    parts.extend(prompt.format);
    if parts.is_empty() {
        return String::new();
    }
    format!(" ({})", parts.join(", "))
}
