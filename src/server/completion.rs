//! `completion/complete`: suggestions while a user types a value. They are the choices of a
//! prompt's argument, or the names of prompts for the resource template.

use super::context::Context;
use super::failure::Failure;
use super::{prompts, resources};
use crate::mcp::CompleteParams;
use crate::prompt::{MAX_NAME, fold};
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

/// How many values a result may have (all versions, "Completion").
const MAX_VALUES: usize = 100;

/// `completion/complete`. An argument that is unknown or has no choices has no values.
///
/// # Errors
/// The prompt or the template is unknown, or neither is named.
pub(super) fn complete(context: &Context, params: CompleteParams<'_>) -> Result<Value, Failure> {
    let CompleteParams {
        reference,
        argument,
    } = params;
    let view = context.view();
    // The form in which texts are compared: for names, all that may be typed are equal; for
    // choices, letter case and composed or separate accents make no difference.
    let mut compared: fn(&str) -> String = |text| text.to_lowercase().nfc().collect();
    let candidates = match (reference.kind, reference.name, reference.uri) {
        ("ref/prompt", Some(name), _) => {
            let summary = prompts::find(&view, name)?.info().summary;
            let summary = summary.map_err(|broken| Failure::unavailable(broken))?;
            let declared = summary
                .arguments
                .iter()
                .find(|declared| declared.name == argument.name);
            declared
                .map(|declared| declared.choices.clone())
                .unwrap_or_default()
        }
        ("ref/resource", _, Some(resources::TEMPLATE))
            if argument.name == resources::VARIABLE && argument.value.len() <= 4 * MAX_NAME =>
        {
            compared = fold;
            let found = view
                .list()
                .found
                .into_iter()
                .filter(|found| !found.is_unedited_draft());
            found.map(|found| found.name.to_string()).collect()
        }
        ("ref/resource", _, Some(uri))
            if uri == resources::TEMPLATE || !resources::names(uri).is_empty() =>
        {
            Vec::new()
        }
        _ => {
            let text = "`ref` must have the `type` ref/prompt and the `name` of a prompt, or ref/resource and the `uri`";
            return Err(Failure::invalid_params(format!(
                "{text} {}",
                resources::TEMPLATE
            )));
        }
    };
    Ok(json!({ "completion": matching(candidates, argument.value, compared) }))
}

/// The candidates that begin with the typed text, then those that contain it, in the form in which
/// they are `compared`.
fn matching(candidates: Vec<String>, typed: &str, compared: fn(&str) -> String) -> Value {
    let typed = compared(typed);
    let (mut beginning, mut containing) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let candidate_compared = compared(&candidate);
        if candidate_compared.starts_with(&typed) {
            beginning.push(candidate);
        } else if candidate_compared.contains(&typed) {
            containing.push(candidate);
        }
    }
    let mut values = [beginning, containing].concat();
    let total = values.len();
    values.truncate(MAX_VALUES);
    json!({ "values": values, "total": total, "hasMore": total > MAX_VALUES })
}
