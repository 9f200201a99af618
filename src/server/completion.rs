//! `completion/complete`: suggestions while a user types a value. They are the choices of a
//! prompt's argument, or the names of prompts for the resource template.

use super::context::Context;
use super::failure::Failure;
use super::{prompts, resources};
use crate::library::View;
use crate::mcp::{CompleteParams, CompletionArgument};
use crate::prompt::{MAX_NAME, fold_name};
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

/// How many values a result may have (all versions, "Completion").
const MAX_VALUES: usize = 100;

/// `completion/complete`. An argument that does not exist, or has no choices, has no values.
///
/// # Errors
/// The prompt or the template does not exist, or neither is named.
pub(super) fn complete(context: &Context, params: CompleteParams<'_>) -> Result<Value, Failure> {
    let CompleteParams {
        reference,
        argument,
    } = params;
    let view = context.view();
    let completion = match (reference.kind, reference.name, reference.uri) {
        ("ref/prompt", Some(name), _) => {
            let choices = choices(&view, name, argument.name)?;
            matching(choices, argument.value, folded_choice)
        }
        ("ref/resource", _, Some(uri))
            if uri == resources::URI_TEMPLATE || !resources::names_from_uri(uri).is_empty() =>
        {
            let names = template_values(&view, uri, &argument);
            matching(names, argument.value, fold_name)
        }
        _ => {
            let text = "`ref` must have the `type` ref/prompt and the `name` of a prompt, or ref/resource and the `uri`";
            let template = resources::URI_TEMPLATE;
            return Err(Failure::invalid_params(format!("{text} {template}")));
        }
    };
    Ok(json!({ "completion": completion }))
}

/// Returns the choices of an argument of a prompt.
///
/// # Errors
/// The prompt does not exist, or is broken.
fn choices(view: &View, prompt: &str, argument: &str) -> Result<Vec<String>, Failure> {
    let info = prompts::find(view, prompt)?.info();
    let summary = info.summary.map_err(Failure::unavailable)?;
    for declared in &summary.arguments {
        if declared.name == argument {
            return Ok(declared.choices.clone());
        }
    }
    Ok(Vec::new())
}

/// Returns the values for the variable of the resource template: the names of all prompts, without
/// drafts that nobody has edited. A URI without a variable has none.
fn template_values(view: &View, uri: &str, argument: &CompletionArgument<'_>) -> Vec<String> {
    let is_variable =
        uri == resources::URI_TEMPLATE && argument.name == resources::TEMPLATE_VARIABLE;
    // `fold_name` makes a text that is too long for a name empty, and every name begins with that.
    if !is_variable || argument.value.len() > 4 * MAX_NAME {
        return Vec::new();
    }
    let mut names = Vec::new();
    for found in view.list().found {
        if !found.is_unedited_draft() {
            names.push(found.name.to_string());
        }
    }
    names
}

/// Returns the form in which choices are compared: letter case, and composed or separate accents,
/// make no difference.
fn folded_choice(text: &str) -> String {
    text.to_lowercase().nfc().collect()
}

/// Returns the completion of a typed text: the candidates that begin with it, then those that
/// contain it. They are compared in the form that `folded` gives them.
fn matching(candidates: Vec<String>, typed: &str, folded: fn(&str) -> String) -> Value {
    let typed = folded(typed);
    let mut values = Vec::new();
    let mut containing = Vec::new();
    for candidate in candidates {
        let form = folded(&candidate);
        if form.starts_with(&typed) {
            values.push(candidate);
        } else if form.contains(&typed) {
            containing.push(candidate);
        }
    }
    values.append(&mut containing);
    let total = values.len();
    values.truncate(MAX_VALUES);
    json!({ "values": values, "total": total, "hasMore": total > MAX_VALUES })
}
