//! The filters of templates, and how many bytes they may make.

use crate::prompt::limits::{MAX_FILTER_OUTPUT, MAX_STEPS, MAX_VALUES_READ};
use crate::wording::format_size;
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
    /// How many bytes the filters have returned.
    output_bytes: usize,
    /// How many bytes the values have that the templates use, each counted at every use.
    value_bytes: usize,
}

impl FilterBudget {
    /// Counts the bytes of a text before a filter makes it.
    ///
    /// # Errors
    /// Fails if all filters together would make more than [`MAX_FILTER_OUTPUT`].
    fn count_output(&mut self, length: usize) -> Result<(), Error> {
        self.output_bytes = self.output_bytes.saturating_add(length);
        check_total(
            self.output_bytes,
            MAX_FILTER_OUTPUT,
            "its filters make texts",
        )
    }

    /// Counts the bytes of a value that a template uses.
    ///
    /// # Errors
    /// Fails if all values together have more than [`MAX_VALUES_READ`].
    fn count_value(&mut self, length: usize) -> Result<(), Error> {
        self.value_bytes = self.value_bytes.saturating_add(length);
        check_total(self.value_bytes, MAX_VALUES_READ, "it uses values")
    }
}

/// Refuses a total above its limit: `its filters make texts of more than 4 MiB in all`, in which
/// `clause` is `its filters make texts`.
fn check_total(total: usize, max: usize, clause: &str) -> Result<(), Error> {
    if total <= max {
        return Ok(());
    }
    let message = format!("{clause} of more than {} in all", format_size(max));
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Returns a value as text.
pub(super) fn text_of_value(value: &Value) -> Cow<'_, str> {
    match value.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(value.to_string()),
    }
}

/// Returns the text of a value, and counts its bytes as those of the filter's result.
///
/// This is for filters whose result is about as long as the value: a change of case makes a text at
/// most three times as long.
fn counted_text<'v>(budget: &mut FilterBudget, value: &'v Value) -> Result<Cow<'v, str>, Error> {
    let text = text_of_value(value);
    budget.count_output(text.len())?;
    Ok(text)
}

/// Returns the lines of a text without the empty ones.
fn filled_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// The filter `capitalize`: `rust OR go` becomes `Rust or go`.
fn capitalize(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    let text = counted_text(budget, value)?;
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
    Ok(Value::from(&*counted_text(budget, value)?))
}

/// The filter `join`: puts the argument, such as `, `, between the lines of a text, in place of their
/// line breaks. Empty lines are left out.
fn join_lines(
    budget: &mut FilterBudget,
    value: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    let separator = arguments.first().map(text_of_value).unwrap_or_default();
    let text = counted_text(budget, value)?;
    let lines: Vec<&str> = filled_lines(&text).collect();
    budget.count_output(lines.len().saturating_mul(separator.len()))?;
    Ok(Value::from(lines.join(&separator)))
}

/// The filter `length`: returns how many characters a text has.
fn length(_: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(text_of_value(value).chars().count()))
}

fn lower(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(counted_text(budget, value)?.to_lowercase()))
}

/// The filter `replace`: `x|replace("a", "b")` is `x` with `b` in place of each `a`.
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
    let unchanged_length = text.len() - count * from.len();
    let added_length = count.saturating_mul(to.len());
    // The length is counted before the text is made, because it may be huge.
    budget.count_output(unchanged_length.saturating_add(added_length))?;
    Ok(Value::from(text.replace(&*from, &to)))
}

fn trim(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(counted_text(budget, value)?.trim()))
}

fn upper(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(counted_text(budget, value)?.to_uppercase()))
}

/// The filter `read`, which follows each value of a template: counts its bytes, and returns it as
/// it is. A value that is not a text, such as `loop.index`, is not counted.
fn read_value(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        budget.count_value(text.len())?;
    }
    Ok(value.clone())
}

/// The filter `lines`, which follows the value of a loop: returns the lines of a text, without the
/// empty ones.
fn split_lines(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    let text = counted_text(budget, value)?;
    // A loop over more lines than steps fails anyway.
    let lines = filled_lines(&text).take(MAX_STEPS as usize);
    Ok(lines.map(Value::from).collect())
}
