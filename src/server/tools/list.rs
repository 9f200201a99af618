//! The tool `list_prompts`: every prompt with its description, and the files that are broken; or
//! those that match a query and a tag, up to a limit.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::reply::Outcome;
use super::super::resources::MAX_LISTED_DESCRIPTION;
use super::parts::{ListPart, part_of_list};
use crate::jsonrpc::{Json, Object, count, read, write_object};
use crate::wording::shortened;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::ops::Range;

#[derive(Deserialize)]
struct Arguments<'l> {
    query: Option<&'l str>,
    tag: Option<&'l str>,
    #[serde(default, deserialize_with = "count")]
    limit: Option<NonZeroUsize>,
    part: Option<String>,
}

/// What the tool returns besides the prompts and problems.
#[derive(Default, Serialize)]
struct Rest {
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<NonZeroUsize>,
    #[serde(rename = "omittedProblems", skip_serializing_if = "Option::is_none")]
    omitted_problems: Option<NonZeroUsize>,
    /// Which part of a long list it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) fn run(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let Arguments {
        query,
        tag,
        limit,
        part,
    } = read(arguments).map_err(|mismatch| {
        Failure::for_model(format!(
            "{mismatch}. Call list_prompts again with one, or without it."
        ))
    })?;
    let (query, tag) = (query.and_then(present), tag.and_then(present));
    let limit = limit.map_or(usize::MAX, NonZeroUsize::get);
    let view = context.view();
    let mut selection = view.select(query, tag);
    let (mut prompts, mut omitted) = (Items::default(), 0);
    for (found, summary, _) in selection
        .read()
        .filter(|(_, summary, _)| !summary.is_unedited_draft)
    {
        if prompts.ends.len() == limit {
            omitted += 1;
            continue;
        }
        let description = shortened(
            summary.description.as_deref().unwrap_or_default(),
            MAX_LISTED_DESCRIPTION,
        );
        let description = match found.layer.mark {
            "" => description,
            mark => format!("{mark}{description}").into(),
        };
        let usage = summary.usage.as_deref();
        let members = [
            ("name", &*found.name),
            ("description", &description),
            ("usage", usage.unwrap_or_default()),
        ];
        prompts.add(&members[..if usage.is_some() { 3 } else { 2 }]);
    }
    let mut problems = Items::default();
    let omitted_problems = NonZeroUsize::new(selection.problems.len().saturating_sub(limit));
    for problem in selection.problems.into_iter().take(limit) {
        let position = problem.position.map(|at| format!("{at}: "));
        let message = position.unwrap_or_default() + &problem.text();
        // Without the whole path, which expand_prompt gives.
        let file = problem
            .file
            .map(|file| view.below(&file))
            .unwrap_or_default();
        problems.add(&[("file", &file), ("message", &message)]);
    }
    let rest = Rest {
        omitted: NonZeroUsize::new(omitted),
        omitted_problems,
        ..Rest::default()
    };
    let count = prompts.ends.len();
    let whole = output(
        prompts.get(0..count),
        problems.get(0..problems.ends.len()),
        &rest,
    )?;
    let Some(limit) = context.part_limit() else {
        return Ok(Outcome::Now(whole));
    };
    let items: Vec<&str> = prompts.each().chain(problems.each()).collect();
    let requested = part.unwrap_or_default();
    let ListPart { items, says, next } = part_of_list(whole.as_str(), &items, limit, &requested).map_err(|why| {
        let fix = "Ignore the parts that you have, and begin again: call list_prompts without `part`.";
        Failure::for_model(format!("{why}. {fix}"))
    })?;
    let (first, last) = (items.start.min(count), items.end.min(count));
    let problems = problems.get(items.start - first..items.end - last);
    Ok(Outcome::Now(output(
        prompts.get(first..last),
        problems,
        &Rest {
            part: says,
            next,
            ..rest
        },
    )?))
}

/// Objects as JSON, in one text: very many small ones would leave holes in the memory of a server.
#[derive(Default)]
struct Items {
    /// With a comma after each.
    json: String,
    /// Where each of them ends, before its comma.
    ends: Vec<usize>,
}

impl Items {
    fn add(&mut self, members: &[(&str, &str)]) {
        write_object(&mut self.json, members);
        self.ends.push(self.json.len());
        self.json.push(',');
    }

    /// Some of them, with commas between them.
    fn get(&self, items: Range<usize>) -> &str {
        let start = items
            .start
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] + 1);
        if items.is_empty() {
            ""
        } else {
            &self.json[start..self.ends[items.end - 1]]
        }
    }

    fn each(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|at| self.get(at..at + 1))
    }
}

fn output(prompts: &str, problems: &str, rest: &Rest) -> serde_json::Result<Json> {
    let problems = if problems.is_empty() {
        String::new()
    } else {
        format!(r#","problems":[{problems}]"#)
    };
    let output = Json::written(format!(r#"{{"prompts":[{prompts}]{problems}}}"#));
    Ok(output.with_members(Json::of(rest)?.members()))
}

/// An argument that consists of spaces is the same as none.
fn present(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}
