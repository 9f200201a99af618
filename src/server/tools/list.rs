//! The tool `list_prompts`: every prompt with its description, and the files that are broken; or those that match a query
//! and a tag, up to a limit.

use super::super::context::{Answer, Context, Failure};
use super::super::resources::MAX_LISTED_DESCRIPTION;
use super::parts::{ListPart, part_of_list};
use crate::jsonrpc::{Object, count, read};
use crate::wording::shortened;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::num::NonZeroUsize;

#[derive(Deserialize)]
struct Arguments<'l> {
    query: Option<&'l str>,
    tag: Option<&'l str>,
    #[serde(default, deserialize_with = "count")]
    limit: Option<NonZeroUsize>,
    part: Option<String>,
}

#[derive(Serialize)]
struct Output<'o, P> {
    prompts: &'o [P],
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<NonZeroUsize>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'o [Box<RawValue>],
    #[serde(rename = "omittedProblems", skip_serializing_if = "Option::is_none")]
    omitted_problems: Option<NonZeroUsize>,
    /// Which part of a long list it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
struct ListedPrompt<'o> {
    name: &'o str,
    description: Cow<'o, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'o str>,
}

pub(super) fn run(context: &Context, arguments: &Object) -> Result<Answer, Failure> {
    let Arguments { query, tag, limit, part } = read(arguments).map_err(|mismatch| {
        Failure::for_model(format!("{mismatch}. Call list_prompts again with one, or without it."))
    })?;
    let (query, tag) = (query.and_then(present), tag.and_then(present));
    let limit = limit.map_or(usize::MAX, NonZeroUsize::get);
    let view = context.view();
    let mut selection = view.select(query, tag);
    let listed = selection.read().filter(|(_, summary, _)| !summary.is_template);
    let listed: Vec<_> = listed.map(|(found, summary, _)| (found.clone(), summary)).collect();
    let prompts = listed.iter().map(|(found, summary)| {
        let description = shortened(summary.description.as_deref().unwrap_or_default(), MAX_LISTED_DESCRIPTION);
        let description = match found.layer.mark {
            "" => description,
            mark => format!("{mark}{description}").into(),
        };
        ListedPrompt { name: &found.name, description, usage: summary.usage.as_deref() }
    });
    let prompts: Vec<_> = prompts.take(limit).collect();
    let problems = selection.problems;
    let more = |number: usize| NonZeroUsize::new(number.saturating_sub(limit));
    let (omitted, omitted_problems) = (more(listed.len()), more(problems.len()));
    let problems = problems.into_iter().take(limit).map(|problem| {
        let position = problem.position.map(|at| format!("{at}: "));
        let message = position.unwrap_or_default() + &problem.text();
        // Without the whole path, which expand_prompt gives.
        let file = problem.file.map(|file| view.below(&file)).unwrap_or_default();
        to_raw_value(&json!({ "file": file, "message": message }))
    });
    let problems = &*problems.collect::<Result<Vec<_>, _>>()?;
    let Some(limit) = context.part_limit() else {
        let whole = Output { prompts: &prompts, omitted, problems, omitted_problems, part: None, next: None };
        return Ok(Answer::Now(to_raw_value(&whole)?));
    };
    let prompts = &*prompts.iter().map(to_raw_value).collect::<Result<Vec<_>, _>>()?;
    let whole = Output { prompts, omitted, problems, omitted_problems, part: None, next: None };
    let json = to_raw_value(&whole)?;
    let items: Vec<&str> = prompts.iter().chain(problems).map(|item| item.get()).collect();
    let requested = part.unwrap_or_default();
    let ListPart { items, says, next } = part_of_list(json.get(), &items, limit, &requested).map_err(|why| {
        let fix = "Ignore the parts that you have, and begin again: call list_prompts without `part`.";
        Failure::for_model(format!("{why}. {fix}"))
    })?;
    let (first, last) = (items.start.min(prompts.len()), items.end.min(prompts.len()));
    let problems = &problems[items.start - first..items.end - last];
    let part = Output { prompts: &prompts[first..last], problems, part: says, next, ..whole };
    Ok(Answer::Now(to_raw_value(&part)?))
}

/// An argument that consists of spaces is the same as none.
fn present(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}
