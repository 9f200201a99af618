//! `completion/complete`: what a value may become while somebody types it. The choices of a prompt's argument, and the
//! names of prompts for the resource template.

use super::{prompts, resources};
use crate::json::{Object, Value};
use crate::jsonrpc::Error;
use crate::library::View;
use crate::mcp::{CompleteResult, Completion};
use crate::wording::quoted;

/// How many values one answer holds (all revisions, "Completion").
const MAX_VALUES: usize = 100;

/// `completion/complete`. An argument without choices, or an unknown one, has no values.
///
/// # Errors
/// `-32602` for a `ref` or an `argument` that does not fit, an unknown prompt, an unknown template.
pub(super) fn complete(library: &View, params: &Object<'_>) -> Result<CompleteResult, Error> {
    let text = |object: &str, key: &str| {
        let text = params.object(object).ok().flatten().and_then(|object| object.get(key)).and_then(Value::as_text);
        text.ok_or_else(|| Error::invalid_params(format!("`{object}.{key}` must be a string")))
    };
    let (kind, argument, value) = (text("ref", "type")?, text("argument", "name")?, text("argument", "value")?);
    let candidates = match kind {
        "ref/prompt" => {
            let prompt = prompts::find(library, text("ref", "name")?)?;
            let argument = prompt.arguments.iter().find(|declared| declared.name == argument);
            argument.map(|argument| argument.choices.clone()).unwrap_or_default()
        }
        "ref/resource" => match text("ref", "uri")? {
            resources::TEMPLATE if argument == resources::VARIABLE => {
                library.list().entries.into_iter().map(|entry| entry.name().to_string()).collect()
            }
            resources::TEMPLATE => Vec::new(),
            uri if !uri.contains('{') && !resources::names(uri).is_empty() => Vec::new(), // it has no variables
            uri => {
                let message = format!("no resource template {}; the one is {}", quoted(uri), resources::TEMPLATE);
                return Err(Error::invalid_params(message));
            }
        },
        kind => {
            let message = format!("`ref.type` must be ref/prompt or ref/resource, not {}", quoted(kind));
            return Err(Error::invalid_params(message));
        }
    };
    Ok(CompleteResult { completion: matching(candidates, value) })
}

/// The candidates that begin with what was typed, then those that hold it elsewhere, in whatever letter case.
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
