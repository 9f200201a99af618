//! The tool `list_prompts`: every prompt with its description, and the files that are broken; or
//! those that match a query and a tag, up to a limit.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::reply::Outcome;
use super::super::resources::MAX_LISTED_DESCRIPTION;
use super::parts::part_of_list;
use crate::agents::PartLimit;
use crate::jsonrpc::{Json, Object, deserialize_count, read_object, write_object};
use crate::library::{Selection, View};
use crate::prompt::Diagnostic;
use crate::wording::truncate_at_word;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::ops::Range;

/// The arguments of the tool.
#[derive(Deserialize)]
struct ListArguments<'l> {
    query: Option<&'l str>,
    tag: Option<&'l str>,
    /// The most prompts, and the most problems, of the result.
    #[serde(default, deserialize_with = "deserialize_count")]
    limit: Option<NonZeroUsize>,
    /// The name of a part of a long list.
    part: Option<&'l str>,
}

/// Calls `list_prompts`: returns the prompts and problems that match the arguments, or the
/// requested part of them if the agent shows its model only short results.
///
/// # Errors
/// An argument has the wrong type; the list has no such part.
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
    let prompts = prompt_items(&mut selection, limit);
    let list = PromptList {
        prompts,
        problems: problem_items(&selection.problems, &view, limit),
    };
    let json = match context.part_limit() {
        Some(part_limit) => list.part(part_limit, arguments.part.unwrap_or_default())?,
        None => list.whole()?,
    };
    Ok(Outcome::Now(json))
}

/// Returns at most `limit` of the selected prompts as JSON objects, such as
/// `{"name":"git/fix","description":"Fixes a bug","usage":"<issue>"}`, and counts the others. Drafts
/// that nobody has edited are neither returned nor counted. Broken prompts become problems of the
/// selection.
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
        let description = summary.description.as_deref().unwrap_or_default();
        let mut description = truncate_at_word(description, MAX_LISTED_DESCRIPTION);
        if !found.layer.list_label.is_empty() {
            description.to_mut().insert_str(0, found.layer.list_label);
        }
        let name = ("name", &*found.name);
        let description = ("description", &*description);
        match &summary.usage {
            Some(usage) => items.add(&[name, description, ("usage", usage)]),
            None => items.add(&[name, description]),
        }
    }
    items
}

/// Returns at most `limit` problems as JSON objects, such as
/// `{"file":"git/fix.md","message":"line 3: …"}`, and counts the others. The paths begin below the
/// folder of prompts; the errors of `expand_prompt` have the whole paths.
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
        items.add(&[("file", &file), ("message", &message)]);
    }
    items
}

/// What the tool returns.
struct PromptList {
    prompts: Items,
    problems: Items,
}

/// How much a result leaves out, and how to get it.
#[derive(Default, Serialize)]
struct Omissions {
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<NonZeroUsize>,
    #[serde(rename = "omittedProblems", skip_serializing_if = "Option::is_none")]
    omitted_problems: Option<NonZeroUsize>,
    /// Which part of a long list it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// The name of the part after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl PromptList {
    /// Returns the whole list as JSON.
    fn whole(&self) -> serde_json::Result<Json> {
        let prompts = self.prompts.slice(0..self.prompts.count());
        let problems = self.problems.slice(0..self.problems.count());
        result_json(prompts, problems, &self.omissions())
    }

    /// Returns the requested part of the list as JSON, or the whole list if it is within the limit.
    ///
    /// # Errors
    /// The list has no such part.
    fn part(&self, limit: PartLimit, requested: &str) -> Result<Json, Failure> {
        let whole = self.whole()?;
        let items: Vec<&str> = self.prompts.each().chain(self.problems.each()).collect();
        let part = part_of_list(whole.as_str(), &items, limit, requested).map_err(|reason| {
            Failure::for_model(format!(
                "{reason}. Ignore the parts that you have, and begin again: call list_prompts without `part`."
            ))
        })?;
        if part.label.is_none() {
            return Ok(whole);
        }
        // The problems come after the prompts: with 3 prompts, the items 2 to 4 are the last prompt
        // and the first two problems.
        let prompt_count = self.prompts.count();
        let Range { start, end } = part.items;
        let prompts = start.min(prompt_count)..end.min(prompt_count);
        let problems = start.saturating_sub(prompt_count)..end.saturating_sub(prompt_count);
        let omissions = Omissions {
            part: part.label,
            next: part.next,
            ..self.omissions()
        };
        let prompts = self.prompts.slice(prompts);
        let problems = self.problems.slice(problems);
        Ok(result_json(prompts, problems, &omissions)?)
    }

    /// Returns how much the limit of the call left out.
    fn omissions(&self) -> Omissions {
        Omissions {
            omitted: NonZeroUsize::new(self.prompts.omitted),
            omitted_problems: NonZeroUsize::new(self.problems.omitted),
            ..Omissions::default()
        }
    }
}

/// Returns the result of `list_prompts` as JSON:
/// `{"prompts":[{"name":"a"}],"problems":[{"file":"b.md"}],"omitted":3,"next":"2-0a1b2c3d"}`.
///
/// `prompts` and `problems` are JSON objects with commas between them. Without problems, the result
/// has no member `problems`. The last members are those of `omissions`, if there are any.
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

/// Objects as JSON, in one text: very many small ones would leave holes in the memory of a server.
#[derive(Default)]
struct Items {
    /// The objects, with a comma after each.
    json: String,
    /// Where each object ends, before its comma.
    ends: Vec<usize>,
    /// How many objects were left out because of the limit of the call.
    omitted: usize,
}

impl Items {
    /// Appends an object with these members, which are names and texts.
    fn add(&mut self, members: &[(&str, &str)]) {
        write_object(&mut self.json, members);
        self.ends.push(self.json.len());
        self.json.push(',');
    }

    fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the objects with these indexes, with commas between them: of `{…},{…},{…},`, the
    /// range
    /// `1..3` selects the second and the third, `{…},{…}`.
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

    /// Returns each object by itself, without commas.
    fn each(&self) -> impl Iterator<Item = &str> {
        (0..self.count()).map(|index| self.slice(index..index + 1))
    }
}
