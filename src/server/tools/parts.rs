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

/// What a part needs besides its text: the object around it, and its last line.
const AROUND: usize = 200;

/// The least limit of a part; about a third of such a part is its last line.
pub const LEAST_LIMIT: usize = 3 * AROUND;

/// What `expand_prompt` returns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'t> {
    pub(super) prompt: Cow<'t, str>,
    /// The name of the part after this one.
    pub(super) next: Option<String>,
}

impl Part<'_> {
    pub(super) fn to_json(&self) -> Json {
        let members = [
            ("prompt", &*self.prompt),
            ("next", self.next.as_deref().unwrap_or_default()),
        ];
        let mut json = String::with_capacity(self.prompt.len() + self.prompt.len() / 8 + 64); // a line break becomes two characters
        write_object(
            &mut json,
            &members[..if self.next.is_some() { 2 } else { 1 }],
        );
        Json::written(json)
    }
}

/// Of a list, also the words around its items.
const AROUND_LIST: usize = 3 * AROUND / 2;

/// Why a part cannot be given.
const INVALID: &str = "`part` must be the `next` of the part before";
const CHANGED: &str = "The text has changed since you were given the part before";

/// The requested part of a text, the first if `requested` names none. A text within the limit is
/// whole, whatever is requested.
///
/// # Errors
/// It is not the name of a part, or that of a part of another text.
pub(super) fn part<'t>(
    text: &'t str,
    limit: PartLimit,
    requested: &str,
) -> Result<Part<'t>, &'static str> {
    let parts = divided(text, limit);
    let (number, next) = number(requested.trim(), parts.len(), &checksum(text, limit))?;
    if parts.len() == 1 {
        return Ok(Part {
            prompt: text.into(),
            next,
        });
    }
    let (text, of) = (parts[number - 1], parts.len());
    let what_next = match &next {
        Some(next) => {
            format!(
                "call expand_prompt again with the same arguments and \"part\": \"{next}\", before you act"
            )
        }
        None => "this is the last; now do what all parts together say".to_owned(),
    };
    Ok(Part {
        prompt: format!("{text}\n[part {number} of {of}: {what_next}]").into(),
        next,
    })
}

/// The number of a part, from 1, and the name of the part after it.
fn number(
    requested: &str,
    count: usize,
    checksum: &str,
) -> Result<(usize, Option<String>), &'static str> {
    let number = requested
        .split_once('-')
        .and_then(|(number, of)| Some((number.parse::<usize>().ok()?, of)));
    let number = match (requested, number) {
        ("" | "1", _) => 1,
        (_, Some((number, of))) if of == checksum && (1..=count).contains(&number) => number,
        (_, Some(_)) => return Err(CHANGED),
        _ if count == 1 => 1,
        _ => return Err(INVALID),
    };
    Ok((
        number,
        (number < count).then(|| format!("{}-{checksum}", number + 1)),
    ))
}

/// A part of a list. A list within the limit has no `says` and no `next`.
pub(super) struct ListPart {
    /// Which items are in it.
    pub(super) items: Range<usize>,
    /// Which part it is.
    pub(super) says: Option<String>,
    /// The name of the part after this one.
    pub(super) next: Option<String>,
}

/// The requested part of a list. `whole` is the list, and `items` are its items, as JSON.
///
/// # Errors
/// Those of [`part`].
pub(super) fn part_of_list(
    whole: &str,
    items: &[&str],
    limit: PartLimit,
    requested: &str,
) -> Result<ListPart, &'static str> {
    let (mut starts, mut length) = (vec![0], 0);
    if limit.json_length(whole) > limit.max {
        for (index, item) in items.iter().enumerate() {
            let more = limit.json_length(item) + 1;
            if index > 0 && length + more > limit.max.saturating_sub(AROUND_LIST) {
                starts.push(index);
                length = 0;
            }
            length += more;
        }
    }
    let count = starts.len();
    let (number, next) = number(requested.trim(), count, &checksum(whole, limit))?;
    let items = starts[number - 1]..starts.get(number).copied().unwrap_or(items.len());
    let what_next = match &next {
        Some(next) => {
            format!("call list_prompts again with the same arguments and part {next} for the rest")
        }
        None => "this is the last".to_owned(),
    };
    let says = (count > 1).then(|| format!("{number} of {count}: {what_next}"));
    Ok(ListPart { items, says, next })
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
        let fitting = limit.beginning_within(rest, max);
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

/// A checksum of the text and of how it is divided.
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

    /// All parts of a text as they are returned.
    fn all(text: &str, limit: PartLimit) -> Vec<Part<'_>> {
        let mut parts = vec![part(text, limit, "").unwrap()];
        while let Some(next) = &parts.last().unwrap().next {
            parts.push(part(text, limit, next).unwrap());
        }
        parts
    }

    /// The parts without their last lines.
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
            max in LEAST_LIMIT..3_000,
            unit in prop::sample::select(&[Unit::Bytes, Unit::Characters, Unit::Utf16][..]),
            is_printed in any::<bool>(),
        ) {
            let text = pieces.join("\n");
            let limit = PartLimit { max, unit, is_printed };
            let length = |json: &str| match is_printed {
                true => (unit.count(json) + unit.count(&serde_json::to_string(json).unwrap()) - 2).div_ceil(2),
                false => unit.count(json),
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
        let limit = limit(LEAST_LIMIT, Unit::Bytes);
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
