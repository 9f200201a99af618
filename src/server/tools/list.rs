//! The tool `list_prompts`: every prompt with its description, and the files that are broken; or those that match a query
//! and a tag, up to a limit.

use super::super::context::{Answer, Context, Failure};
use super::super::resources::MAX_LISTED_DESCRIPTION;
use super::parts::{ListPart, part_of_list};
use crate::jsonrpc::{Json, Object, count, read};
use crate::wording::shortened;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

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
    let problems = selection.problems;
    let more = |number: usize| NonZeroUsize::new(number.saturating_sub(limit));
    let rest = Rest { omitted: more(listed.len()), omitted_problems: more(problems.len()), ..Rest::default() };
    let prompts = listed.iter().take(limit).map(|(found, summary)| {
        let description = shortened(summary.description.as_deref().unwrap_or_default(), MAX_LISTED_DESCRIPTION);
        let description = match found.layer.mark {
            "" => description,
            mark => format!("{mark}{description}").into(),
        };
        let usage = summary.usage.as_deref();
        let members = [("name", &*found.name), ("description", &description), ("usage", usage.unwrap_or_default())];
        Json::object(&members[..if usage.is_some() { 3 } else { 2 }])
    });
    let problems = problems.into_iter().take(limit).map(|problem| {
        let position = problem.position.map(|at| format!("{at}: "));
        let message = position.unwrap_or_default() + &problem.text();
        // Without the whole path, which expand_prompt gives.
        let file = problem.file.map(|file| view.below(&file)).unwrap_or_default();
        Json::object(&[("file", &*file), ("message", &message)])
    });
    let (prompts, problems): (Vec<Json>, Vec<Json>) = (prompts.collect(), problems.collect());
    let items: Vec<&str> = prompts.iter().chain(&problems).map(Json::as_str).collect();
    let (prompts, problems) = items.split_at(prompts.len());
    let whole = output(prompts, problems, &rest)?;
    let Some(limit) = context.part_limit() else { return Ok(Answer::Now(whole)) };
    let requested = part.unwrap_or_default();
    let ListPart { items, says, next } = part_of_list(whole.as_str(), &items, limit, &requested).map_err(|why| {
        let fix = "Ignore the parts that you have, and begin again: call list_prompts without `part`.";
        Failure::for_model(format!("{why}. {fix}"))
    })?;
    let (first, last) = (items.start.min(prompts.len()), items.end.min(prompts.len()));
    let problems = &problems[items.start - first..items.end - last];
    Ok(Answer::Now(output(&prompts[first..last], problems, &Rest { part: says, next, ..rest })?))
}

fn output(prompts: &[&str], problems: &[&str], rest: &Rest) -> serde_json::Result<Json> {
    let mut output = Json::written(format!(r#"{{"prompts":[{}]}}"#, prompts.join(",")));
    if !problems.is_empty() {
        output = output.with_members(&format!(r#""problems":[{}]"#, problems.join(",")));
    }
    Ok(output.with_members(Json::of(rest)?.members()))
}

/// An argument that consists of spaces is the same as none.
fn present(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}
