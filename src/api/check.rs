//! The errors, the warnings and the preview of a text that is not saved.

use super::build::fields;
use super::explain::preview;
use super::types::{CallRequest, Draft, DraftReport};
use crate::library::{View, hunks};
use crate::prompt::{Diagnostic, Kind, Name, Prompt};
use crate::wording::quoted;

/// Checks a text that is not saved: returns its errors and warnings, a preview of its expansion,
/// and how it differs from the current file.
///
/// # Errors
/// The caller cannot have a prompt of this name, or there is no folder that it can be written to.
pub fn check<'d>(view: &View, draft: &'d Draft) -> Result<DraftReport<'d>, Diagnostic> {
    let name = new_name(view, &draft.command)?;
    let found = view.draft(&name, &draft.file).ok_or_else(|| {
        Diagnostic::new(
            Kind::NotWritable,
            "there is no folder that prompts can be written to",
            "write `prompts = [\"DIR\"]` into the server's config.toml",
        )
    })?;
    let mut checked = DraftReport {
        path: found.location().display,
        problems: found.check(),
        fields: None,
        preview: None,
        changes: None,
    };
    if let Ok(prompt) = found.prompt() {
        checked.fields = Some(fields(&prompt));
        checked.preview = Some(preview(view, &found, &draft_call(draft, &name, &prompt))?);
    }
    if let Some(current) = &draft.current {
        checked.changes = Some(hunks(current, &draft.file));
    }
    Ok(checked)
}

/// Parses the name of a new prompt of the caller.
///
/// # Errors
/// No file can have this name, or the name does not begin with the prefix of the caller.
fn new_name(view: &View, name: &str) -> Result<Name, Diagnostic> {
    let name =
        Name::for_new_file(name).map_err(|problem| Diagnostic::new(Kind::BadName, problem, ""))?;
    if let Some(prefix) = view.prefix()
        && !prefix.contains(&name)
    {
        let prefix = quoted(&prefix.to_string());
        let message = format!("the name must begin with {prefix}");
        return Err(Diagnostic::new(Kind::BadName, message, ""));
    }
    Ok(name)
}

/// Returns the call whose expansion the preview of a draft shows. Values are left out if the draft
/// does not have their arguments any more, because a person may just have renamed or removed them.
fn draft_call(draft: &Draft, name: &Name, prompt: &Prompt) -> CallRequest {
    let names = prompt.value_names();
    let mut arguments = draft.arguments.clone();
    arguments.retain(|name, _| names.contains(&name.as_str()));
    CallRequest {
        command: name.to_string(),
        arguments,
        ..CallRequest::default()
    }
}
