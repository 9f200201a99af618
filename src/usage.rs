//! Counts how often prompts are used, on this machine and for its user only.
//!
//! [`UsageLog`] appends a line to a file for each expansion that was delivered, and [`UsageCounts`]
//! reads these files. A line has the day of the month, the layer and the name of the prompt, and
//! the [way](Way) in which it was used. Inputs, values, paths, sessions and persons are never
//! written.
//!
//! Each month has a file, such as `2026-11.log`. The current month and the
//! [13 before it](months::KEPT_MONTHS) are kept. Days are those of UTC.
//!
//! ```text
//!
//! 28 user research hook
//! 29 project git/commit command-line
//! ```
//!
//! A line is appended with a single write. So processes that write at the same time lose nothing,
//! and one that is killed loses at most the use in progress. A full disk may cut off the end of a
//! line. That line is then not counted. The next one is still read, because a line *begins* with
//! its line break.

mod counts;
mod log;
mod months;
mod usage_line;

pub use counts::{PromptUses, UsageCounts};
pub use log::UsageLog;
pub use months::{KEPT_DAYS, days_ago};
pub use usage_line::Way;

#[cfg(test)]
mod tests {
    use super::months::first_kept_day;
    use super::*;
    use crate::library::Library;
    use jiff::civil::Date;
    use std::fs;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn this_month_and_the_13_before_it_are_kept() {
        assert_eq!(first_kept_day(day("2026-11-29")), day("2025-10-01"));
        assert_eq!(first_kept_day(day("2027-01-31")), day("2025-12-01"));
    }

    #[test]
    fn lines_are_counted_by_layer_and_name_since_a_day_and_those_that_were_cut_off_are_skipped() {
        let prompts = tempfile::tempdir().unwrap();
        for file in ["review.md", "my hook.md"] {
            fs::write(prompts.path().join(file), "Text.").unwrap();
        }
        let library = Library::named([prompts.path().to_owned()]).with_builtin();
        let found = |name| library.view().find(name).unwrap();
        let log = tempfile::tempdir().unwrap();
        let october = "\n3 user review hook\n31 user review hook";
        let november = "\n2 user review command-line\n2 user my hook tool\n9 user review ho\n9 user review\n30 project review hook\n31 user review hook\n\n5 user review menu\n";
        fs::write(log.path().join("2026-10.log"), october).unwrap();
        fs::write(log.path().join("2026-11.log"), november).unwrap();
        fs::write(log.path().join("notes.log"), october).unwrap();
        for (since, name, count, last_day) in [
            ("2026-10-01", "review", 4, Some("2026-11-05")),
            ("2026-10-31", "review", 3, Some("2026-11-05")),
            ("2026-11-01", "review", 2, Some("2026-11-05")),
            ("2026-11-06", "review", 0, None),
            ("2026-11-01", "my hook", 1, Some("2026-11-02")),
            ("2026-10-01", "research", 0, None),
        ] {
            let counts = UsageCounts::read(log.path(), day(since)).unwrap();
            let last_day = last_day.map(day);
            let found = found(name);
            assert_eq!(
                counts.of(found.layer, name),
                PromptUses { count, last_day },
                "{name} {since}"
            );
            assert_eq!(counts.first_counted_day(), Some(day("2026-10-03")));
        }
        let missing = UsageCounts::read(&log.path().join("missing"), day("2026-11-01")).unwrap();
        assert_eq!(missing.first_counted_day(), None);
    }
}
