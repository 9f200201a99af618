//! The filters of templates, and how many bytes they may make.

use crate::prompt::limits::{MAX_FILTERED, MAX_READ, MAX_STEPS};
use crate::wording::in_bytes;
use minijinja::{Error, ErrorKind, Value};
use std::borrow::Cow;

/// Returns a new value for a value and the arguments of the filter.
pub(super) type Filter = fn(&mut FilterBudget, &Value, &[Value]) -> Result<Value, Error>;

/// The filters of templates.
pub(super) const FILTERS: [(&str, Filter); 8] = [
    ("capitalize", capitalize),
    ("default", default_to),
    ("join", join_lines),
    ("length", length),
    ("lower", lower),
    ("replace", replace),
    ("trim", trim),
    ("upper", upper),
];

/// The filters that `Template::parse` adds: one after each value, which counts it, and one after
/// the list of a loop.
pub(super) const ADDED_FILTERS: [(&str, Filter); 2] =
    [("read", read_value), ("lines", split_lines)];

/// What the filters of a prompt's templates have used of their limits.
#[derive(Debug, Default)]
pub(super) struct FilterBudget {
    /// How many bytes the filters made.
    made: usize,
    /// How many bytes the values have that were used.
    read: usize,
}

impl FilterBudget {
    /// # Errors
    /// The filters would have made too much.
    fn count_made(&mut self, length: usize) -> Result<(), Error> {
        self.made = self.made.saturating_add(length);
        check_total(self.made, MAX_FILTERED, "its filters make texts")
    }

    /// # Errors
    /// The template would have read too much.
    fn count_read(&mut self, length: usize) -> Result<(), Error> {
        self.read = self.read.saturating_add(length);
        check_total(self.read, MAX_READ, "it uses values")
    }
}

fn check_total(total: usize, max: usize, what: &str) -> Result<(), Error> {
    if total <= max {
        return Ok(());
    }
    let message = format!("{what} of more than {} in all", in_bytes(max));
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Returns a value as text.
pub(super) fn text_of_value(value: &Value) -> Cow<'_, str> {
    match value.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(value.to_string()),
    }
}

/// Returns the text of a value, counted for a filter whose result is about as long: a change of
/// case makes a text at most three times as long.
fn counted<'v>(budget: &mut FilterBudget, value: &'v Value) -> Result<Cow<'v, str>, Error> {
    let text = text_of_value(value);
    budget.count_made(text.len())?;
    Ok(text)
}

/// Returns the lines of a text without the empty ones.
fn filled_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

fn capitalize(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    let text = counted(budget, value)?;
    let mut letters = text.chars();
    let mut capitalized = String::with_capacity(text.len());
    if let Some(first) = letters.next() {
        capitalized.extend(first.to_uppercase());
    }
    capitalized += &letters.as_str().to_lowercase();
    Ok(Value::from(capitalized))
}

/// The filter `default`: returns the argument instead of an empty value.
fn default_to(
    budget: &mut FilterBudget,
    value: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    let value = match arguments.first() {
        Some(default) if text_of_value(value).is_empty() => default,
        _ => value,
    };
    Ok(Value::from(&*counted(budget, value)?))
}

fn join_lines(
    budget: &mut FilterBudget,
    value: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    let separator = arguments.first().map(text_of_value).unwrap_or_default();
    let text = counted(budget, value)?;
    let lines: Vec<&str> = filled_lines(&text).collect();
    budget.count_made(lines.len().saturating_mul(separator.len()))?;
    Ok(Value::from(lines.join(&separator)))
}

fn length(_: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(text_of_value(value).chars().count()))
}

fn lower(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(counted(budget, value)?.to_lowercase()))
}

fn replace(budget: &mut FilterBudget, value: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let [from, to] = arguments else {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "`replace` takes two texts",
        ));
    };
    let text = text_of_value(value);
    let from = text_of_value(from);
    let to = text_of_value(to);
    let count = text.matches(&*from).count();
    let kept = text.len() - count * from.len();
    budget.count_made(kept.saturating_add(count.saturating_mul(to.len())))?;
    Ok(Value::from(text.replace(&*from, &to)))
}

fn trim(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(counted(budget, value)?.trim()))
}

fn upper(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(counted(budget, value)?.to_uppercase()))
}

fn read_value(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    budget.count_read(value.as_str().map_or(0, str::len))?;
    Ok(value.clone())
}

fn split_lines(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    let text = counted(budget, value)?;
    // A loop over more lines exceeds the steps.
    let lines = filled_lines(&text).take(MAX_STEPS as usize);
    Ok(lines.map(Value::from).collect())
}
