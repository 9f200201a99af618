//! A long expansion in parts, for a client that shows its model only so much of a result.
//!
//! Each part ends in a line that says which part it is; without these lines, the parts together are
//! the expansion. Nothing is kept between two calls: each divides the expansion anew, and the name
//! of a part has a checksum of the whole, so that no model puts together the parts of two different
//! texts.

use crate::agents::PartLimit;
use crate::jsonrpc::{Json, write_object};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// The room that a part needs besides its text: for the object around it, and for its last line.
const AROUND: usize = 200;

/// The room that a part of a list needs besides its items.
const AROUND_LIST: usize = 3 * AROUND / 2;

/// The least limit of a part; about a third of such a part is its last line.
pub const MIN_PART_LIMIT: usize = 3 * AROUND;

/// Why a part cannot be given.
const INVALID: &str = "`part` must be the `next` of the part before";
const CHANGED: &str = "The text has changed since you were given the part before";

/// What `expand_prompt` returns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'t> {
    pub(super) prompt: Cow<'t, str>,
    /// The name of the part after this one.
    pub(super) next: Option<String>,
}

impl<'t> Part<'t> {
    /// Returns a text as the only part.
    pub(super) fn whole(text: impl Into<Cow<'t, str>>) -> Part<'t> {
        Part {
            prompt: text.into(),
            next: None,
        }
    }

    pub(super) fn to_json(&self) -> Json {
        // Most of what is escaped is a line break, which becomes two characters.
        let capacity = self.prompt.len() + self.prompt.len() / 8 + 64;
        let mut json = String::with_capacity(capacity);
        match &self.next {
            Some(next) => write_object(&mut json, &[("prompt", &self.prompt), ("next", next)]),
            None => write_object(&mut json, &[("prompt", &self.prompt)]),
        }
        Json::from_text(json)
    }
}

/// Returns the requested part of a text, or the whole text if it is within the limit. `requested`
/// is the name of the part, and empty for the first one.
///
/// # Errors
/// The text has no part of this name: the name belongs to another text, or is none.
pub(super) fn part<'t>(
    text: &'t str,
    limit: PartLimit,
    requested: &str,
) -> Result<Part<'t>, &'static str> {
    let parts = divided(text, limit);
    let selected = select(requested, parts.len(), &checksum(text, limit))?;
    if selected.count == 1 {
        return Ok(Part::whole(text));
    }
    let what_next = match &selected.next {
        Some(next) => {
            format!(
                "call expand_prompt again with the same arguments and \"part\": \"{next}\", before you act"
            )
        }
        None => "this is the last; now do what all parts together say".to_owned(),
    };
    let SelectedPart { number, count, .. } = selected;
    let text = parts[number - 1];
    Ok(Part {
        prompt: format!("{text}\n[part {number} of {count}: {what_next}]").into(),
        next: selected.next,
    })
}

/// A part that was requested.
struct SelectedPart {
    /// Which part it is, from 1.
    number: usize,
    /// How many parts there are.
    count: usize,
    /// The name of the part after this one.
    next: Option<String>,
}

/// Returns which of `count` parts is requested. The name of a part is its number and a checksum of
/// the whole, such as `2-0a1b2c3d`. The first part has no name, and a text that is not divided is
/// given for any text that is not the name of a part.
///
/// # Errors
/// It is the name of a part of another text, or no name.
fn select(requested: &str, count: usize, checksum: &str) -> Result<SelectedPart, &'static str> {
    let requested = requested.trim();
    let number = match parse_part_name(requested) {
        Some((number, whole)) if whole == checksum && (1..=count).contains(&number) => number,
        Some(_) => return Err(CHANGED),
        None if count == 1 || matches!(requested, "" | "1") => 1,
        None => return Err(INVALID),
    };
    let next = if number < count {
        Some(format!("{}-{checksum}", number + 1))
    } else {
        None
    };
    Ok(SelectedPart {
        number,
        count,
        next,
    })
}

/// Parses the name of a part: `2-0a1b2c3d` → 2 and `0a1b2c3d`.
fn parse_part_name(name: &str) -> Option<(usize, &str)> {
    let (number, checksum) = name.split_once('-')?;
    Some((number.parse().ok()?, checksum))
}

/// A part of a list. If the list is within the limit, it has neither label nor next part.
pub(super) struct ListPart {
    /// Which items are in it.
    pub(super) items: Range<usize>,
    /// Which part it is, and what to do next, for a model.
    pub(super) label: Option<String>,
    /// The name of the part after this one.
    pub(super) next: Option<String>,
}

/// Returns the requested part of a list. `whole` is the list, and `items` are its items, as JSON.
///
/// # Errors
/// The list has no part of this name: the name belongs to another list, or is none.
pub(super) fn part_of_list(
    whole: &str,
    items: &[&str],
    limit: PartLimit,
    requested: &str,
) -> Result<ListPart, &'static str> {
    let starts = starts_of_parts(whole, items, limit);
    let selected = select(requested, starts.len(), &checksum(whole, limit))?;
    let SelectedPart { number, count, .. } = selected;
    let start = starts[number - 1];
    let end = starts.get(number).copied().unwrap_or(items.len());
    let what_next = match &selected.next {
        Some(next) => {
            format!("call list_prompts again with the same arguments and part {next} for the rest")
        }
        None => "this is the last".to_owned(),
    };
    let label = if count > 1 {
        Some(format!("{number} of {count}: {what_next}"))
    } else {
        None
    };
    Ok(ListPart {
        items: start..end,
        label,
        next: selected.next,
    })
}

/// Returns the index of the first item of each part. A part has as many items as fit, and at least
/// one.
fn starts_of_parts(whole: &str, items: &[&str], limit: PartLimit) -> Vec<usize> {
    let mut starts = vec![0];
    if limit.json_length(whole) <= limit.max {
        return starts;
    }
    let max = limit.max.saturating_sub(AROUND_LIST);
    let mut length = 0;
    for (index, item) in items.iter().enumerate() {
        let item_length = limit.json_length(item) + 1; // with its comma
        if index > 0 && length + item_length > max {
            starts.push(index);
            length = 0;
        }
        length += item_length;
    }
    starts
}

/// Divides a text into parts: each ends after an empty line, else after a line, else after a
/// character, and is at least half as long as the limit allows.
fn divided(text: &str, limit: PartLimit) -> Vec<&str> {
    if limit.length(text) <= limit.max {
        return vec![text];
    }
    let max = limit.max.saturating_sub(AROUND);
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let fitting = limit.prefix_within(rest, max);
        if fitting.len() == rest.len() {
            parts.push(rest);
            return parts;
        }
        // At least one character, or there would be no end.
        let first_character = rest.chars().next().map_or(0, char::len_utf8);
        let fitting = &rest[..fitting.len().max(first_character)];
        let end = end_after(fitting, "\n\n").or_else(|| end_after(fitting, "\n"));
        let (part, following) = rest.split_at(end.unwrap_or(fitting.len()));
        parts.push(part);
        rest = following;
    }
}

/// Returns the end of the last separator in a text, if it is in the second half.
fn end_after(text: &str, separator: &str) -> Option<usize> {
    let end = text.rfind(separator)? + separator.len();
    (end >= text.len() / 2).then_some(end)
}

/// Returns a checksum of a text and of how it is divided.
fn checksum(text: &str, limit: PartLimit) -> String {
    let mut hasher = DefaultHasher::new();
    (text, limit.max, limit.unit.name(), limit.is_printed).hash(&mut hasher);
    format!("{:08x}", hasher.finish() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Unit;
    use proptest::prelude::*;

    fn limit(max: usize, unit: Unit) -> PartLimit {
        PartLimit {
            max,
            unit,
            is_printed: false,
        }
    }

    /// Returns all parts of a text as the tool returns them.
    fn all(text: &str, limit: PartLimit) -> Vec<Part<'_>> {
        let mut parts = vec![part(text, limit, "").unwrap()];
        while let Some(next) = &parts.last().unwrap().next {
            parts.push(part(text, limit, next).unwrap());
        }
        parts
    }

    /// Returns the parts without their last lines, as one text.
    fn joined(parts: &[Part<'_>]) -> String {
        match parts {
            [whole] => whole.prompt.to_string(),
            parts => parts
                .iter()
                .map(|part| part.prompt.rsplit_once('\n').unwrap().0)
                .collect(),
        }
    }

    proptest! {
        #[test]
        fn the_parts_together_are_the_text_and_none_is_longer_than_the_limit(
            pieces in prop::collection::vec(
                prop_oneof!["[a-z ]{0,90}", ".{0,30}", Just("\n".to_owned()), "[\"\\\\\\x00-\\x1f]{0,9}"], 0..120,
            ),
            max in MIN_PART_LIMIT..3_000,
            unit in prop::sample::select(&[Unit::Bytes, Unit::Characters, Unit::Utf16][..]),
            is_printed in any::<bool>(),
        ) {
            let text = pieces.join("\n");
            let limit = PartLimit { max, unit, is_printed };
            let length = |json: &str| {
                if is_printed {
                    (unit.count(json) + unit.count(&serde_json::to_string(json).unwrap()) - 2).div_ceil(2)
                } else {
                    unit.count(json)
                }
            };
            let parts = all(&text, limit);
            prop_assert_eq!(joined(&parts), &*text);
            for part in &parts {
                let json = part.to_json();
                prop_assert!(length(json.as_str()) <= max, "{} > {max}: {json:?}", length(json.as_str()));
            }
            let whole = length(&serde_json::json!({ "prompt": text }).to_string());
            prop_assert_eq!((limit.length(&text), parts.len() == 1), (whole, whole <= max));
        }
    }

    #[test]
    fn a_part_ends_after_an_empty_line_else_a_line_else_a_character() {
        let limit = limit(AROUND + 100, Unit::Characters);
        let cut = |text: &str| divided(text, limit)[0].len();
        let long = "x".repeat(300);
        assert_eq!(
            cut(&format!("{}\n\n{}\n{long}", "x".repeat(60), "y".repeat(20))),
            62
        );
        assert_eq!(cut(&format!("{}\n{long}", "x".repeat(60))), 61);
        assert_eq!(cut(&long), 100);
        assert_eq!(
            cut(&format!("{}\n\n{long}", "x".repeat(20))),
            98,
            "a part is not shorter than half of what is allowed"
        );
        assert_eq!(
            cut(&"é\"".repeat(300)),
            101,
            "34 é of two bytes and 33 quotes, which are two characters in JSON"
        );
    }

    #[test]
    fn the_name_of_a_part_belongs_to_one_text() {
        let limit = limit(MIN_PART_LIMIT, Unit::Bytes);
        let (old, new) = ("x".repeat(1_000), "y".repeat(1_000));
        let next = part(&old, limit, "").unwrap().next.unwrap();
        assert!(
            next.starts_with("2-") && part(&old, limit, &format!(" {next} ")).is_ok(),
            "{next}"
        );
        assert_eq!(part(&new, limit, &next), Err(CHANGED));
        assert_eq!(part("short", limit, &next), Err(CHANGED));
        assert_eq!(part(&old, limit, &next.replace('2', "9")), Err(CHANGED));
        for other in ["2", "last", "x-y", "-", "0"] {
            assert_eq!(part(&old, limit, other), Err(INVALID), "{other}");
            assert_eq!(part("short", limit, other).unwrap().prompt, "short");
        }
        for none in ["", "1", " "] {
            assert_eq!(part(&old, limit, none).unwrap().next.as_ref(), Some(&next));
        }
    }
}
