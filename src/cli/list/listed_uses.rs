//! How often the prompts of a list were used, for `list --by-use` and `list --unused`.

use crate::api::{self, ListRow};
use crate::cli::output;
use crate::cli::source_options::PromptSource;
use crate::library::{Found, Selection};
use crate::prompt::Diagnostic;
use crate::usage::{KEPT_DAYS, PromptUses, UsageCounts, days_ago};
use crate::wording::count;
use anyhow::{Context, bail};
use jiff::civil::Date;
use serde::Serialize;

/// The uses of prompts in a period.
pub(super) struct ListedUses {
    /// The first day of the period.
    since: Date,
    counts: UsageCounts,
}

/// A list as JSON.
#[derive(Serialize)]
struct ListWithUses<'l> {
    since: Date,
    #[serde(skip_serializing_if = "Option::is_none")]
    counting_began: Option<Date>,
    prompts: Vec<RowWithUses>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'l [Diagnostic],
}

/// A prompt of a list as JSON.
#[derive(Serialize)]
struct RowWithUses {
    #[serde(flatten)]
    row: ListRow,
    uses: PromptUses,
}

/// Parses a number of days, e.g. `90d`.
pub(super) fn parse_days(text: &str) -> Result<i32, String> {
    match text.strip_suffix('d').map(str::parse) {
        Some(Ok(days)) if (1..=KEPT_DAYS).contains(&days) => Ok(days),
        _ => Err(format!(
            "write days as in `90d`, and at most `{KEPT_DAYS}d`, because counts are kept for 13 months"
        )),
    }
}

impl ListedUses {
    /// Reads the uses in the last `days` days.
    ///
    /// # Errors
    /// Fails if uses are not counted, or if they can't be read.
    pub(super) fn read(source: &PromptSource, days: i32) -> anyhow::Result<ListedUses> {
        let Some(log) = source.usage_log() else {
            bail!(source.uncounted_message());
        };
        let since = days_ago(days);
        let counts = UsageCounts::read(log.folder(), since).with_context(|| {
            format!(
                "the uses in {} cannot be read",
                output::full_path(log.folder())
            )
        })?;
        Ok(ListedUses { since, counts })
    }

    /// Sorts prompts by their uses, the most used first.
    pub(super) fn sort(&self, prompts: &mut [Found]) {
        self.counts.sort(prompts);
    }

    /// Returns whether a prompt was not used in the period.
    pub(super) fn is_unused(&self, found: &Found) -> bool {
        self.counts.of(found.layer, &found.name).count == 0
    }

    /// Returns the uses of a listed prompt.
    pub(super) fn of(&self, prompt: &ListRow) -> PromptUses {
        self.counts.of(prompt.layer, &prompt.name)
    }

    /// Returns a heading for prompts that are sorted by their uses.
    pub(super) fn heading(&self) -> String {
        format!("Prompts by their uses since {}", self.since)
    }

    /// Returns a note if not all days of the period were counted.
    pub(super) fn note(&self) -> Option<String> {
        match self.counts.first_counted_day() {
            None => Some("no use of a prompt has been counted yet".to_owned()),
            Some(day) if day > self.since => Some(format!(
                "counting began on {day}; earlier uses are not known"
            )),
            Some(_) => None,
        }
    }

    /// Returns a list as JSON, in which each prompt has its uses.
    pub(super) fn list_json(&self, selection: &mut Selection) -> serde_json::Result<Vec<u8>> {
        let mut prompts = Vec::new();
        for row in api::list_rows(selection) {
            let uses = self.of(&row);
            prompts.push(RowWithUses { row, uses });
        }
        serde_json::to_vec(&ListWithUses {
            since: self.since,
            counting_began: self.counts.first_counted_day(),
            prompts,
            problems: &selection.problems,
        })
    }
}

/// Describes the uses of a prompt for people, e.g. `14 times, last on 2026-11-28`.
pub(super) fn describe(uses: PromptUses) -> String {
    match uses.last_day {
        Some(day) => format!("{}, last on {day}", count(uses.count, "time")),
        None => "not used".to_owned(),
    }
}
