//! `completion/complete`: suggests values while the user types: the choices of a prompt's argument,
//! or prompt names for the resource template.

use super::context::Context;
use super::failure::Failure;
use super::{prompts, resources};
use crate::library::View;
use crate::mcp::{CompleteParams, CompletionArgument};
use crate::prompt::{MAX_TYPED_BYTES, fold_name};
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

/// The maximum number of values in a result (all versions, "Completion").
const MAX_VALUES: usize = 100;

/// Handles `completion/complete`: suggests the choices of a prompt's argument, or prompt names for
/// the resource template. Returns no values for an argument that doesn't exist or has no choices.
///
/// # Errors
/// Fails if the request refers to neither an existing prompt nor a resource.
pub(super) fn complete(context: &Context, params: CompleteParams<'_>) -> Result<Value, Failure> {
    let CompleteParams {
        reference,
        argument,
    } = params;
    let view = context.view();
    let completion = match (reference.kind, reference.name, reference.uri) {
        ("ref/prompt", Some(name), _) => {
            let choices = argument_choices(&view, name, argument.name)?;
            completion_of(choices, argument.value, normalize_choice)
        }
        ("ref/resource", _, Some(uri)) if is_template_or_prompt_uri(uri) => {
            let names = template_values(&view, uri, &argument);
            completion_of(names, argument.value, fold_name)
        }
        _ => {
            return Err(Failure::invalid_params(format!(
                "`ref` must have the `type` ref/prompt and the `name` of a prompt, or ref/resource and the `uri` {}",
                resources::URI_TEMPLATE
            )));
        }
    };
    Ok(json!({ "completion": completion }))
}

/// Returns whether a URI is the resource template or the URI of a prompt, which needs no completion
/// but isn't an error.
fn is_template_or_prompt_uri(uri: &str) -> bool {
    uri == resources::URI_TEMPLATE || !resources::names_from_uri(uri).is_empty()
}

/// Returns the choices of a prompt's argument.
///
/// # Errors
/// Fails if the prompt doesn't exist or is broken.
fn argument_choices(view: &View, prompt: &str, argument: &str) -> Result<Vec<String>, Failure> {
    let found = view
        .find_known(prompt)
        .map_err(|error| prompts::unknown_prompt(view, prompt, error))?;
    let info = found.info();
    let summary = info.summary.map_err(Failure::unavailable)?;
    for declared in &summary.arguments {
        if declared.name == argument {
            return Ok(declared.choices.clone());
        }
    }
    Ok(Vec::new())
}

/// Returns the values for the variable of the resource template: the names of all prompts except
/// unedited drafts. Returns none if `uri` isn't the template.
fn template_values(view: &View, uri: &str, argument: &CompletionArgument<'_>) -> Vec<String> {
    let is_variable =
        uri == resources::URI_TEMPLATE && argument.name == resources::TEMPLATE_VARIABLE;
    // `fold_name` returns an empty string for overlong input, which would match every name.
    let is_too_long = argument.value.len() > MAX_TYPED_BYTES;
    if !is_variable || is_too_long {
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

/// Normalizes a choice for comparison: ignores case and differences in Unicode normalization.
fn normalize_choice(text: &str) -> String {
    text.to_lowercase().nfc().collect()
}

/// Returns the completion for typed text: the candidates that start with it, then those that
/// contain it. `normalize` is applied to both before comparing.
fn completion_of(candidates: Vec<String>, typed: &str, normalize: fn(&str) -> String) -> Value {
    let typed = normalize(typed);
    let mut values = Vec::new();
    let mut containing = Vec::new();
    for candidate in candidates {
        let normalized = normalize(&candidate);
        if normalized.starts_with(&typed) {
            values.push(candidate);
        } else if normalized.contains(&typed) {
            containing.push(candidate);
        }
    }
    values.append(&mut containing);
    let total = values.len();
    values.truncate(MAX_VALUES);
    json!({ "values": values, "total": total, "hasMore": total > MAX_VALUES })
}
