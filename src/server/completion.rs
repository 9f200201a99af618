//! `completion/complete`: suggestions while a user types a value. They are the choices of a prompt's argument, or the names
//! of prompts for the resource template.

use super::lifecycle::Failure;
use super::{prompts, resources};
use crate::library::View;
use crate::mcp::{CompleteParams, CompleteResult, Completion};
use crate::wording::quoted;
use serde_json::Value;

/// How many values a result may have (all versions, "Completion").
const MAX_VALUES: usize = 100;

/// `completion/complete`. An argument that is unknown or has no choices has no values.
///
/// # Errors
/// The prompt or the template is unknown, or neither is named.
pub(super) fn complete(view: &View, params: CompleteParams<'_>) -> Result<CompleteResult, Failure> {
    let CompleteParams { reference, argument } = params;
    // A member that the kind of reference does not have is ignored, whatever it is.
    let required = |member: &Option<Value>, name: &str| match member {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Failure::invalid_params(format!("`ref.{name}` must be a string"))),
        None => Err(Failure::invalid_params(format!("`ref.{name}` is missing"))),
    };
    let candidates = match reference.kind {
        "ref/prompt" => {
            let prompt = prompts::find(view, &required(&reference.name, "name")?)?;
            let declared = prompt.arguments.iter().find(|declared| declared.name == argument.name);
            declared.map(|declared| declared.choices.clone()).unwrap_or_default()
        }
        "ref/resource" => match required(&reference.uri, "uri")?.as_str() {
            resources::TEMPLATE if argument.name == resources::VARIABLE => {
                view.list().entries.into_iter().map(|entry| entry.name().to_string()).collect()
            }
            resources::TEMPLATE => Vec::new(),
            uri if !uri.contains('{') && !resources::names(uri).is_empty() => Vec::new(), // a URI without variables
            uri => {
                let text = format!("no resource template {}; the only one is {}", quoted(uri), resources::TEMPLATE);
                return Err(Failure::invalid_params(text));
            }
        },
        kind => {
            let text = format!("`ref.type` must be ref/prompt or ref/resource, not {}", quoted(kind));
            return Err(Failure::invalid_params(text));
        }
    };
    Ok(CompleteResult { completion: matching(candidates, argument.value) })
}

/// The candidates that begin with the typed text, then those that contain it; letter case does not matter.
fn matching(candidates: Vec<String>, typed: &str) -> Completion {
    let typed = typed.to_lowercase();
    let (mut beginning, mut containing) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let lower = candidate.to_lowercase();
        if lower.starts_with(&typed) {
            beginning.push(candidate);
        } else if lower.contains(&typed) {
            containing.push(candidate);
        }
    }
    let mut values = [beginning, containing].concat();
    let total = values.len();
    values.truncate(MAX_VALUES);
    Completion { values, total, has_more: total > MAX_VALUES }
}
