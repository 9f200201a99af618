//! Reads how often prompts were used.

use super::months::first_day_in;
use super::usage_line::{UsedPrompt, parse_line, prompt_key};
use crate::library::{Found, Layer};
use crate::whole_file;
use jiff::civil::Date;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How often each prompt was used in a period.
#[derive(Debug, Default)]
pub struct UsageCounts {
    /// The uses of each prompt, by [`prompt_key`].
    by_prompt: HashMap<String, PromptUses>,
    /// The day of the earliest use that is kept, even if it is before the period. `None` if there
    /// is no use.
    first_counted_day: Option<Date>,
}

/// The uses of one prompt in a period.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PromptUses {
    /// How often it was used.
    pub count: usize,
    /// The day of the last use, or `None` if there was no use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_day: Option<Date>,
}

/// The file of a month.
struct MonthFile {
    first_day: Date,
    path: PathBuf,
}

impl UsageCounts {
    /// Counts the uses since a day, from the files in a folder.
    ///
    /// # Errors
    /// Fails if the folder or a file can't be read. A missing folder has no uses.
    pub fn read(folder: &Path, since: Date) -> io::Result<UsageCounts> {
        let mut counts = UsageCounts::default();
        for file in month_files(folder)? {
            let is_before_period = file.first_day.last_of_month() < since;
            if is_before_period && counts.first_counted_day.is_some() {
                continue;
            }
            let bytes = whole_file::read(&file.path)?;
            for line in String::from_utf8_lossy(&bytes).lines() {
                if let Some(used) = parse_line(line, file.first_day) {
                    counts.add(&used, since);
                }
            }
        }
        Ok(counts)
    }

    fn add(&mut self, used: &UsedPrompt<'_>, since: Date) {
        self.first_counted_day.get_or_insert(used.day);
        if used.day < since {
            return;
        }
        let uses = self.by_prompt.entry(used.key.to_owned()).or_default();
        uses.count += 1;
        uses.last_day = uses.last_day.max(Some(used.day));
    }

    /// Returns the uses of a prompt in the period.
    pub fn of(&self, layer: Layer, name: &str) -> PromptUses {
        let uses = self.by_prompt.get(&prompt_key(layer, name));
        uses.copied().unwrap_or_default()
    }

    /// Sorts prompts by how often they were used in the period, the most used first. Prompts that
    /// were used equally often keep their order.
    pub fn sort(&self, prompts: &mut [Found]) {
        prompts.sort_by_cached_key(|found| Reverse(self.of(found.layer, &found.name).count));
    }

    /// Returns the day of the earliest use that is kept, even if it is before the period.
    pub fn first_counted_day(&self) -> Option<Date> {
        self.first_counted_day
    }
}

/// Returns the files in a folder, the oldest month first.
fn month_files(folder: &Path) -> io::Result<Vec<MonthFile>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        result => result?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(first_day) = entry.file_name().to_str().and_then(first_day_in) {
            files.push(MonthFile {
                first_day,
                path: entry.path(),
            });
        }
    }
    files.sort_by_key(|file| file.first_day);
    Ok(files)
}
