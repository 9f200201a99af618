//! Divides long results into parts, for clients that show their model only so much of a result.
//!
//! Each part of an expansion ends with a line that tells the model which part it is; without these
//! lines, the parts add up to the expansion.
//!
//! No state is kept between calls: each call divides the text again. The name of a part contains a
//! checksum of the whole text, so that a model can't combine parts of different texts.

use crate::agents::PartLimit;
use crate::jsonrpc::{Json, write_object};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// The space that a part needs in addition to its text, for the enclosing object and the last line.
const PART_OVERHEAD: usize = 200;

/// The space that a part of a list needs in addition to its items.
const LIST_PART_OVERHEAD: usize = 3 * PART_OVERHEAD / 2;

/// The minimum limit on the size of a part. The last line takes up about a third of such a part.
pub const MIN_PART_LIMIT: usize = 3 * PART_OVERHEAD;

/// The name of the first part, which a client needs no name to request.
pub(super) const FIRST_PART: &str = "";

/// The key of the note for the user.
const NOTE: &str = "note";

/// The error for an invalid part name.
const INVALID_NAME: &str = "`part` must be the `next` value of the previous part";

/// The error for the name of a part of another text.
const TEXT_CHANGED: &str = "The text has changed since the previous part";

/// The result of `expand_prompt`: a part of an expansion, or all of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'t> {
    pub(super) prompt: Cow<'t, str>,
    /// The name of the next part.
    pub(super) next: Option<String>,
}

impl<'t> Part<'t> {
    /// Creates the only part of a text that isn't divided.
    pub(super) fn whole(text: impl Into<Cow<'t, str>>) -> Part<'t> {
        Part {
            prompt: text.into(),
            next: None,
        }
    }

    /// Serializes the part as a result of the tool. The last part also has the note for the user,
    /// unless that is empty.
    pub(super) fn to_json(&self, note: &str) -> Json {
        // Leave some space for escapes, most of which are line breaks.
        let capacity = self.prompt.len() + self.prompt.len() / 8 + 64;
        let mut json = String::with_capacity(capacity);
        let mut members: Vec<(&str, &str)> = vec![("prompt", &self.prompt)];
        match &self.next {
            Some(next) => members.push(("next", next)),
            None if !note.is_empty() => members.push((NOTE, note)),
            None => {}
        }
        write_object(&mut json, &members);
        Json::from_text(json)
    }
}

/// Returns a limit for the text of a result that has this note, too.
pub(super) fn with_room_for(note: &str, limit: PartLimit) -> PartLimit {
    if note.is_empty() {
        return limit;
    }
    let mut member = String::new();
    write_object(&mut member, &[(NOTE, note)]);
    let max = limit.max.saturating_sub(limit.json_length(&member));
    PartLimit {
        max: max.max(MIN_PART_LIMIT),
        ..limit
    }
}

/// Returns the requested part of a text, or the whole text if it is within the limit. `requested`
/// is the name of the part, or [`FIRST_PART`].
///
/// # Errors
/// Fails if the name is invalid or belongs to a part of another text.
pub(super) fn select_part<'t>(
    text: &'t str,
    limit: PartLimit,
    requested: &str,
) -> Result<Part<'t>, &'static str> {
    let parts = divide(text, limit);
    let selected = parse_request(requested, parts.len(), &checksum(text, limit))?;
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
    let part_text = parts[number - 1];
    Ok(Part {
        prompt: format!("{part_text}\n[part {number} of {count}: {what_next}]").into(),
        next: selected.next,
    })
}

/// The part that a client requests.
struct SelectedPart {
    /// The number of the part, starting at 1.
    number: usize,
    /// The total number of parts.
    count: usize,
    /// The name of the next part.
    next: Option<String>,
}

/// Determines which of `count` parts is requested.
///
/// The name of a part consists of its number and a checksum of the whole text, e.g. `2-0a1b2c3d`.
/// The first part can also be requested as `1` or without a name. If there is only one part, any
/// string that isn't a part name selects it.
///
/// # Errors
/// Fails if the name is invalid or belongs to a part of another text.
fn parse_request(
    requested: &str,
    count: usize,
    checksum: &str,
) -> Result<SelectedPart, &'static str> {
    let requested = requested.trim();
    let number = match parse_part_name(requested) {
        Some((number, part_checksum)) => {
            let exists = part_checksum == checksum && (1..=count).contains(&number);
            if !exists {
                return Err(TEXT_CHANGED);
            }
            number
        }
        None => {
            let is_first = count == 1 || matches!(requested, FIRST_PART | "1");
            if !is_first {
                return Err(INVALID_NAME);
            }
            1
        }
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

/// Parses the name of a part: `2-0a1b2c3d` is 2 and `0a1b2c3d`. Returns `None` if it has another
/// form.
fn parse_part_name(name: &str) -> Option<(usize, &str)> {
    let (number, checksum) = name.split_once('-')?;
    Some((number.parse().ok()?, checksum))
}

/// A part of a list.
pub(super) struct ListPart {
    /// The indices of its items.
    pub(super) items: Range<usize>,
    /// Tells the model which part this is and what to do next. `None` if the list isn't divided.
    pub(super) label: Option<String>,
    /// The name of the next part.
    pub(super) next: Option<String>,
}

/// Returns the requested part of a list. `whole` is the JSON of the list, and `items` contains that
/// of its items. `requested` is the name of the part, or [`FIRST_PART`].
///
/// # Errors
/// Fails if the name is invalid or belongs to a part of another list.
pub(super) fn select_list_part(
    whole: &str,
    items: &[&str],
    limit: PartLimit,
    requested: &str,
) -> Result<ListPart, &'static str> {
    let starts = part_starts(whole, items, limit);
    let selected = parse_request(requested, starts.len(), &checksum(whole, limit))?;
    let SelectedPart { number, count, .. } = selected;
    let start = starts[number - 1];
    // The next part is at the index `number`, because numbers start at 1.
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

/// Divides a list into parts, and returns the index of the first item of each. A part contains as
/// many items as fit, but at least one.
fn part_starts(whole: &str, items: &[&str], limit: PartLimit) -> Vec<usize> {
    let mut starts = vec![0];
    if limit.json_length(whole) <= limit.max {
        return starts;
    }
    let max = limit.max.saturating_sub(LIST_PART_OVERHEAD);
    let mut length = 0;
    for (index, item) in items.iter().enumerate() {
        let item_length = limit.json_length(item) + 1; // including a comma
        if index > 0 && length + item_length > max {
            starts.push(index);
            length = 0;
        }
        length += item_length;
    }
    starts
}

/// Divides a text into parts within the limit.
///
/// A part ends after a blank line if there is one in its second half, otherwise after a line break
/// in its second half, otherwise at the last character that fits.
fn divide(text: &str, limit: PartLimit) -> Vec<&str> {
    if limit.length(text) <= limit.max {
        return vec![text];
    }
    let max = limit.max.saturating_sub(PART_OVERHEAD);
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let fitting = limit.prefix_within(rest, max);
        if fitting.len() == rest.len() {
            parts.push(rest);
            return parts;
        }
        // Take at least one character, so that the loop ends.
        let first_character = rest.chars().next().map_or(0, char::len_utf8);
        let fitting = &rest[..fitting.len().max(first_character)];
        let end = end_after(fitting, "\n\n").or_else(|| end_after(fitting, "\n"));
        let (part, following) = rest.split_at(end.unwrap_or(fitting.len()));
        parts.push(part);
        rest = following;
    }
}

/// Returns the end of the last separator, unless it is in the first half of the text.
fn end_after(text: &str, separator: &str) -> Option<usize> {
    let end = text.rfind(separator)? + separator.len();
    (end >= text.len() / 2).then_some(end)
}

/// Returns a checksum of a text and of the limit by which it is divided.
fn checksum(text: &str, limit: PartLimit) -> String {
    let mut hasher = DefaultHasher::new();
    (
        text,
        limit.max,
        limit.unit.name(),
        limit.is_sent_in_two_forms,
    )
        .hash(&mut hasher);
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
            is_sent_in_two_forms: false,
        }
    }

    /// Returns all parts of a text as the tool returns them.
    fn all(text: &str, limit: PartLimit) -> Vec<Part<'_>> {
        let mut parts = vec![select_part(text, limit, "").unwrap()];
        while let Some(next) = &parts.last().unwrap().next {
            parts.push(select_part(text, limit, next).unwrap());
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
            is_sent_in_two_forms in any::<bool>(),
        ) {
            let text = pieces.join("\n");
            let limit = PartLimit { max, unit, is_sent_in_two_forms };
            let length = |json: &str| {
                if is_sent_in_two_forms {
                    (unit.count(json) + unit.count(&serde_json::to_string(json).unwrap()) - 2).div_ceil(2)
                } else {
                    unit.count(json)
                }
            };
            let parts = all(&text, limit);
            prop_assert_eq!(joined(&parts), &*text);
            for part in &parts {
                let json = part.to_json("");
                prop_assert!(length(json.as_str()) <= max, "{} > {max}: {json:?}", length(json.as_str()));
            }
            let whole = length(&serde_json::json!({ "prompt": text }).to_string());
            prop_assert_eq!((limit.length(&text), parts.len() == 1), (whole, whole <= max));
        }
    }

    #[test]
    fn a_part_ends_after_an_empty_line_else_a_line_else_a_character() {
        let limit = limit(PART_OVERHEAD + 100, Unit::Characters);
        let cut = |text: &str| divide(text, limit)[0].len();
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
    fn the_last_part_has_the_note_and_room_for_it() {
        let note = "n\"".repeat(100);
        for is_sent_in_two_forms in [false, true] {
            let limit = PartLimit {
                is_sent_in_two_forms,
                ..limit(2_000, Unit::Bytes)
            };
            for length in (1_000..3_000).step_by(7) {
                let text = "x".repeat(length);
                let parts = all(&text, with_room_for(&note, limit));
                for (index, part) in parts.iter().enumerate() {
                    let json = part.to_json(&note);
                    assert!(limit.json_length(json.as_str()) <= limit.max, "{length}");
                    let is_last = index + 1 == parts.len();
                    assert_eq!(json.as_str().contains("\"note\":"), is_last);
                }
            }
        }
    }

    #[test]
    fn the_name_of_a_part_belongs_to_one_text() {
        let limit = limit(MIN_PART_LIMIT, Unit::Bytes);
        let (old, new) = ("x".repeat(1_000), "y".repeat(1_000));
        let next = select_part(&old, limit, "").unwrap().next.unwrap();
        assert!(
            next.starts_with("2-") && select_part(&old, limit, &format!(" {next} ")).is_ok(),
            "{next}"
        );
        assert_eq!(select_part(&new, limit, &next), Err(TEXT_CHANGED));
        assert_eq!(select_part("short", limit, &next), Err(TEXT_CHANGED));
        assert_eq!(
            select_part(&old, limit, &next.replace('2', "9")),
            Err(TEXT_CHANGED)
        );
        for other in ["2", "last", "x-y", "-", "0"] {
            assert_eq!(
                select_part(&old, limit, other),
                Err(INVALID_NAME),
                "{other}"
            );
            assert_eq!(select_part("short", limit, other).unwrap().prompt, "short");
        }
        for none in ["", "1", " "] {
            assert_eq!(
                select_part(&old, limit, none).unwrap().next.as_ref(),
                Some(&next)
            );
        }
    }
}
