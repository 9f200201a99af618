//! What is found in a text that is not saved.

use super::build::fields;
use super::explain::preview;
use super::types::{CallRequest, Checked, Draft};
use crate::library::{View, hunks};
use crate::prompt::{Diagnostic, Kind, Name, Prompt};
use crate::wording::quoted;

/// Returns what `check` says of a text that is not saved, what it would expand to, and what it
/// changes.
///
/// # Errors
/// A prompt cannot have this name; there is no folder that it could be written to.
pub fn check<'d>(view: &View, draft: &'d Draft) -> Result<Checked<'d>, Diagnostic> {
    let name = new_name(view, &draft.command)?;
    let found = view.draft(&name, &draft.file).ok_or_else(|| {
        Diagnostic::new(
            Kind::NotWritable,
            "there is no folder that prompts can be written to",
            "write `prompts = [\"DIR\"]` into the server's config.toml",
        )
    })?;
    let mut checked = Checked {
        path: found.place().shown,
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

/// Checks that the caller may have a prompt of this name.
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

/// Returns the call that previews a draft. Values of arguments that the draft does not have are
/// left out, since they may be those of the text as it was.
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
