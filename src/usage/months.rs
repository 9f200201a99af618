//! The files of the months, and the days that they are for.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// How many months are kept besides the current one.
pub(super) const KEPT_MONTHS: i32 = 13;

/// For how many days every use is kept: 13 months have at least 393 days.
pub const KEPT_DAYS: i32 = 393;

/// The suffix of the files' names.
const SUFFIX: &str = ".log";

/// Returns the day that was `days` days ago, in UTC.
pub fn days_ago(days: i32) -> Date {
    today().saturating_sub(days.days())
}

/// Returns the current day in UTC.
pub(super) fn today() -> Date {
    TimeZone::UTC.to_datetime(Timestamp::now()).date()
}

/// Returns the first day of the oldest month that is kept.
pub(super) fn first_kept_day(today: Date) -> Date {
    let month = today.first_of_month();
    month.saturating_sub(KEPT_MONTHS.months())
}

/// Returns the name of the file for the month of a day, e.g. `2026-11.log`.
pub(super) fn file_name(day: Date) -> String {
    format!("{:04}-{:02}{SUFFIX}", day.year(), day.month())
}

/// Returns the first day of the month that a file is for, or `None` if it has another name.
pub(super) fn first_day_in(file_name: &str) -> Option<Date> {
    let month = file_name.strip_suffix(SUFFIX)?;
    format!("{month}-01").parse().ok()
}
