//! `completion/complete`: suggestions while a user types a value. They are the choices of a prompt's argument, or the names
//! of prompts for the resource template.

use super::context::{Context, Failure};
use super::{prompts, resources, uri};
use crate::mcp::{CompleteParams, CompleteResult, Completion};
use crate::prompt::{MAX_NAME, fold};
use crate::wording::quoted;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// How many values a result may have (all versions, "Completion").
const MAX_VALUES: usize = 100;

/// `completion/complete`. An argument that is unknown or has no choices has no values.
///
/// # Errors
/// The prompt or the template is unknown, or neither is named.
pub(super) fn complete(context: &Context, params: CompleteParams<'_>) -> Result<CompleteResult, Failure> {
    let CompleteParams { reference, argument } = params;
    let view = context.view();
    // A member that the kind of reference does not have is ignored, whatever it is.
    let required = |member: &Option<Value>, name: &str| match member {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Failure::invalid_params(format!("`ref.{name}` must be a string"))),
        None => Err(Failure::invalid_params(format!("`ref.{name}` is missing"))),
    };
    // The form in which texts are compared: for names, all that may be typed are equal; for choices, letter case and composed
    // or separate accents make no difference.
    let mut compared: fn(&str) -> String = |text| text.to_lowercase().nfc().collect();
    let candidates = match reference.kind {
        "ref/prompt" => {
            let (_, prompt) = prompts::find(&view, &required(&reference.name, "name")?)?;
            let declared = prompt.arguments.iter().find(|declared| declared.name == argument.name);
            declared.map(|declared| declared.choices.clone()).unwrap_or_default()
        }
        "ref/resource" => match required(&reference.uri, "uri")?.as_str() {
            resources::TEMPLATE if argument.name == resources::VARIABLE && argument.value.len() <= 4 * MAX_NAME => {
                compared = fold;
                let found = view.list().found.into_iter().filter(|found| !found.is_template());
                found.map(|found| found.name.to_string()).collect()
            }
            resources::TEMPLATE => Vec::new(),
            uri if !uri.contains('{') && !uri::names(uri).is_empty() => Vec::new(), // a URI without variables
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
    Ok(CompleteResult { completion: matching(candidates, argument.value, compared) })
}

/// The candidates that begin with the typed text, then those that contain it, in the form in which they are `compared`.
fn matching(candidates: Vec<String>, typed: &str, compared: fn(&str) -> String) -> Completion {
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
    Completion { values, total, has_more: total > MAX_VALUES }
}
