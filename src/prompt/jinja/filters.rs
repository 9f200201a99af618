//! The filters of Jinja templates, and the limits on what they produce.

use crate::prompt::limits::{MAX_FILTER_OUTPUT, MAX_STEPS, MAX_VALUES_READ};
use crate::wording::format_size;
use minijinja::{Error, ErrorKind, Value};
use std::borrow::Cow;

/// A filter function: takes the filtered value and the filter's arguments.
pub(super) type Filter = fn(&mut FilterBudget, &Value, &[Value]) -> Result<Value, Error>;

/// The filters that templates can use.
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

/// The filters that `Template::parse` inserts: `read` after every value, and `lines` after the
/// operand of every loop.
pub(super) const INTERNAL_FILTERS: [(&str, Filter); 2] =
    [("read", read_value), ("lines", split_lines)];

/// How much of their limits the filters of a prompt's templates have used.
#[derive(Debug, Default)]
pub(super) struct FilterBudget {
    /// The number of bytes that filters have produced.
    output_bytes: usize,
    /// The number of bytes that templates have read. A value counts each time it is read.
    value_bytes: usize,
}

impl FilterBudget {
    /// Counts the output of a filter. Call this before producing it.
    ///
    /// # Errors
    /// Fails if the total output of all filters would exceed [`MAX_FILTER_OUTPUT`].
    fn count_output(&mut self, length: usize) -> Result<(), Error> {
        self.output_bytes = self.output_bytes.saturating_add(length);
        if self.output_bytes <= MAX_FILTER_OUTPUT {
            return Ok(());
        }
        let max = format_size(MAX_FILTER_OUTPUT);
        Err(limit_error(format!(
            "its filters produce more than {max} of text"
        )))
    }

    /// Counts a value that a template reads.
    ///
    /// # Errors
    /// Fails if the total size of the values read exceeds [`MAX_VALUES_READ`].
    fn count_value(&mut self, length: usize) -> Result<(), Error> {
        self.value_bytes = self.value_bytes.saturating_add(length);
        if self.value_bytes <= MAX_VALUES_READ {
            return Ok(());
        }
        let max = format_size(MAX_VALUES_READ);
        Err(limit_error(format!("it reads more than {max} of values")))
    }
}

fn limit_error(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Converts a value to a string.
pub(super) fn value_to_string(value: &Value) -> Cow<'_, str> {
    match value.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(value.to_string()),
    }
}

/// Converts a value to a string, and counts its length as output of the filter that calls this. The
/// budget limits how much all filters produce together.
///
/// For filters whose output is about as long as their input: changing the case makes a string at
/// most three times as long.
fn string_counted_as_output<'v>(
    budget: &mut FilterBudget,
    value: &'v Value,
) -> Result<Cow<'v, str>, Error> {
    let text = value_to_string(value);
    budget.count_output(text.len())?;
    Ok(text)
}

/// Returns the lines that are not blank.
fn non_blank_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// `capitalize`: `rust OR go` becomes `Rust or go`.
fn capitalize(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    let text = string_counted_as_output(budget, value)?;
    let mut letters = text.chars();
    let mut capitalized = String::with_capacity(text.len());
    if let Some(first) = letters.next() {
        capitalized.extend(first.to_uppercase());
    }
    capitalized += &letters.as_str().to_lowercase();
    Ok(Value::from(capitalized))
}

/// `default`: returns the value as a string, or the argument instead if the value is empty.
fn default_to(
    budget: &mut FilterBudget,
    value: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    let result = match arguments.first() {
        Some(default) if value_to_string(value).is_empty() => default,
        _ => value,
    };
    let text = string_counted_as_output(budget, result)?;
    Ok(Value::from(text))
}

/// `join`: joins the non-blank lines of the value with the argument, e.g. `, `, as the separator.
fn join_lines(
    budget: &mut FilterBudget,
    value: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    let separator = arguments.first().map(value_to_string).unwrap_or_default();
    let text = string_counted_as_output(budget, value)?;
    let lines: Vec<&str> = non_blank_lines(&text).collect();
    budget.count_output(lines.len().saturating_mul(separator.len()))?;
    Ok(Value::from(lines.join(&separator)))
}

/// `length`: returns the number of characters.
fn length(_: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(value_to_string(value).chars().count()))
}

fn lower(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(
        string_counted_as_output(budget, value)?.to_lowercase(),
    ))
}

/// `replace`: `x|replace("a", "b")` replaces every `a` in `x` with `b`.
fn replace(budget: &mut FilterBudget, value: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let [from, to] = arguments else {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "`replace` takes two strings",
        ));
    };
    let text = value_to_string(value);
    let from = value_to_string(from);
    let to = value_to_string(to);
    let count = text.matches(&*from).count();
    let unchanged_length = text.len() - count * from.len();
    let added_length = count.saturating_mul(to.len());
    // Compute the length before allocating the result, which may be huge.
    budget.count_output(unchanged_length.saturating_add(added_length))?;
    Ok(Value::from(text.replace(&*from, &to)))
}

fn trim(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(string_counted_as_output(budget, value)?.trim()))
}

fn upper(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::from(
        string_counted_as_output(budget, value)?.to_uppercase(),
    ))
}

/// `read`, inserted after every value: counts its bytes and returns it unchanged. Values that
/// aren't strings, such as `loop.index`, are not counted.
fn read_value(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        budget.count_value(text.len())?;
    }
    Ok(value.clone())
}

/// `lines`, inserted after the operand of every loop: returns the non-blank lines of the value.
fn split_lines(budget: &mut FilterBudget, value: &Value, _: &[Value]) -> Result<Value, Error> {
    let text = string_counted_as_output(budget, value)?;
    // A loop takes at least one step per line, so more lines than this would exceed the limit on
    // steps anyway.
    let lines = non_blank_lines(&text).take(MAX_STEPS as usize);
    Ok(lines.map(Value::from).collect())
}
