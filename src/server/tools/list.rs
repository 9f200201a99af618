//! The tool `list_prompts`: lists all prompts with their descriptions, and broken files. Can be
//! limited to those that match a query or tag.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::reply::Outcome;
use super::super::resources::MAX_LISTED_DESCRIPTION;
use super::parts::{FIRST_PART, select_list_part};
use crate::agents::PartLimit;
use crate::jsonrpc::{Json, Object, deserialize_count, read_object, write_object};
use crate::library::{Found, Selection, View};
use crate::prompt::{Diagnostic, Summary};
use crate::wording::truncate_at_word;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::ops::Range;

/// The tool's arguments.
#[derive(Deserialize)]
struct ListArguments<'l> {
    query: Option<&'l str>,
    tag: Option<&'l str>,
    /// The maximum number of prompts, and also of problems.
    #[serde(default, deserialize_with = "deserialize_count")]
    limit: Option<NonZeroUsize>,
    /// The name of the requested part of a long list.
    part: Option<&'l str>,
}

/// Runs `list_prompts`: returns the prompts and problems that match the arguments, or the requested
/// part of them if the client shows its model only short results.
///
/// # Errors
/// Fails if an argument has the wrong type, or if the list has no such part.
pub(super) fn run(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let arguments: ListArguments<'_> = read_object(arguments).map_err(|mismatch| {
        Failure::for_model(format!(
            "{mismatch}. Call list_prompts again with one, or without it."
        ))
    })?;
    let limit = arguments.limit.map_or(usize::MAX, NonZeroUsize::get);
    let view = context.view();
    let mut selection = view.select(
        arguments.query.filter(|query| !query.trim().is_empty()),
        arguments.tag.filter(|tag| !tag.trim().is_empty()),
    );
    // Before the problems: reading a broken prompt adds it to `selection.problems`.
    let prompts = prompt_items(&mut selection, limit);
    let list = PromptList {
        prompts,
        problems: problem_items(&selection.problems, &view, limit),
    };
    let json = match context.part_limit() {
        Some(part_limit) => list.part_to_json(part_limit, arguments.part.unwrap_or(FIRST_PART))?,
        None => list.to_json()?,
    };
    Ok(Outcome::Now(json))
}

/// Returns at most `limit` of the selected prompts as JSON objects, e.g.
/// `{"name":"git/fix","description":"Fixes a bug","usage":"<issue>"}`, and counts the rest.
///
/// Skips unedited drafts. Reading the prompts adds those that are broken to the selection's
/// problems, so call this before [`problem_items`].
fn prompt_items(selection: &mut Selection, limit: usize) -> Items {
    let mut items = Items::default();
    for (found, summary, _) in selection.read() {
        if summary.is_unedited_draft {
            continue;
        }
        if items.count() == limit {
            items.omitted += 1;
            continue;
        }
        let description = labeled_description(found, &summary);
        let mut members = vec![("name", &*found.name), ("description", &*description)];
        if let Some(usage) = &summary.usage {
            members.push(("usage", usage));
        }
        items.push(&members);
    }
    items
}

/// Returns the description of a prompt, shortened, after the label of its layer: `(team) …`.
fn labeled_description<'s>(found: &Found, summary: &'s Summary) -> Cow<'s, str> {
    let description = summary.description.as_deref().unwrap_or_default();
    let shortened = truncate_at_word(description, MAX_LISTED_DESCRIPTION);
    if found.layer.list_label.is_empty() {
        return shortened;
    }
    format!("{}{shortened}", found.layer.list_label).into()
}

/// Returns at most `limit` problems as JSON objects, e.g.
/// `{"file":"git/fix.md","message":"line 3: …"}`, and counts the rest.
///
/// To keep the list short, paths are relative to the prompts folder. The errors of `expand_prompt`
/// contain full paths.
fn problem_items(problems: &[Diagnostic], view: &View, limit: usize) -> Items {
    let mut items = Items::default();
    for problem in problems {
        if items.count() == limit {
            items.omitted += 1;
            continue;
        }
        let file = match &problem.file {
            Some(file) => view.relative_path(file),
            None => String::new(),
        };
        let message = match problem.position {
            Some(position) => format!("{position}: {}", problem.text()),
            None => problem.text(),
        };
        items.push(&[("file", &file), ("message", &message)]);
    }
    items
}

/// The tool's result.
struct PromptList {
    prompts: Items,
    problems: Items,
}

/// What a result omits, and how to request it.
#[derive(Default, Serialize)]
struct Omissions {
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<NonZeroUsize>,
    #[serde(rename = "omittedProblems", skip_serializing_if = "Option::is_none")]
    omitted_problems: Option<NonZeroUsize>,
    /// Describes which part of a long list this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// The name of the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl PromptList {
    /// Returns the whole list as JSON.
    fn to_json(&self) -> serde_json::Result<Json> {
        let prompts = self.prompts.slice(0..self.prompts.count());
        let problems = self.problems.slice(0..self.problems.count());
        result_json(prompts, problems, &self.omissions())
    }

    /// Returns the requested part of the list as JSON, or the whole list if it is within the limit.
    ///
    /// # Errors
    /// Fails if the list has no such part.
    fn part_to_json(&self, limit: PartLimit, requested: &str) -> Result<Json, Failure> {
        let whole = self.to_json()?;
        let items: Vec<&str> = self.prompts.iter().chain(self.problems.iter()).collect();
        let part = select_list_part(whole.as_str(), &items, limit, requested).map_err(|reason| {
            Failure::for_model(format!(
                "{reason}. Ignore the parts that you have, and begin again: call list_prompts without `part`."
            ))
        })?;
        if part.label.is_none() {
            return Ok(whole);
        }
        // The problems follow the prompts: with 3 prompts, the items 2..5 are the last prompt and
        // the first two problems.
        let prompt_count = self.prompts.count();
        let Range { start, end } = part.items;
        let prompt_range = start.min(prompt_count)..end.min(prompt_count);
        let problem_range = start.saturating_sub(prompt_count)..end.saturating_sub(prompt_count);
        let omissions = Omissions {
            part: part.label,
            next: part.next,
            ..self.omissions()
        };
        let prompts = self.prompts.slice(prompt_range);
        let problems = self.problems.slice(problem_range);
        Ok(result_json(prompts, problems, &omissions)?)
    }

    /// Returns what is omitted because of the call's `limit`.
    fn omissions(&self) -> Omissions {
        Omissions {
            omitted: NonZeroUsize::new(self.prompts.omitted),
            omitted_problems: NonZeroUsize::new(self.problems.omitted),
            ..Omissions::default()
        }
    }
}

/// Assembles the result of `list_prompts`, e.g.
/// `{"prompts":[{"name":"a"}],"problems":[{"file":"b.md"}],"omitted":3,"next":"2-0a1b2c3d"}`.
///
/// `prompts` and `problems` are comma-separated JSON objects. The member `problems` is omitted if
/// there are none.
fn result_json(prompts: &str, problems: &str, omissions: &Omissions) -> serde_json::Result<Json> {
    let mut lists = String::from("{\"prompts\":[");
    lists += prompts;
    lists.push(']');
    if !problems.is_empty() {
        lists += ",\"problems\":[";
        lists += problems;
        lists.push(']');
    }
    lists.push('}');
    let omissions = Json::serialize(omissions)?;
    Ok(Json::from_text(lists).with_members(omissions.members()))
}

/// A list of JSON objects, stored in a single string. Allocating thousands of small strings for
/// every call would fragment the server's memory.
#[derive(Default)]
struct Items {
    /// The objects, each followed by a comma.
    json: String,
    /// The offset of each object's end, before the comma.
    ends: Vec<usize>,
    /// The number of objects omitted because of the call's `limit`.
    omitted: usize,
}

impl Items {
    /// Appends an object with the given names and string values.
    fn push(&mut self, members: &[(&str, &str)]) {
        write_object(&mut self.json, members);
        self.ends.push(self.json.len());
        self.json.push(',');
    }

    fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the objects at a range of indices, separated by commas. For example, `1..3` selects
    /// the second and third object.
    fn slice(&self, objects: Range<usize>) -> &str {
        if objects.is_empty() {
            return "";
        }
        let start = match objects.start {
            0 => 0,
            first => self.ends[first - 1] + 1, // after the comma
        };
        &self.json[start..self.ends[objects.end - 1]]
    }

    /// Returns the individual objects.
    fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.count()).map(|index| self.slice(index..index + 1))
    }
}
