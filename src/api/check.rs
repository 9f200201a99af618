//! Checks and previews drafts, which are texts that aren't saved.

use super::build::form_fields;
use super::explain::preview;
use super::types::{CallRequest, Draft, DraftReport};
use crate::library::{View, hunks};
use crate::prompt::{Diagnostic, Kind, Name, Prompt};
use crate::wording::quoted;

/// Checks a draft. Returns its problems, a preview of its expansion, and a diff from the current
/// file.
///
/// # Errors
/// Fails if the caller may not write a prompt with this name, or if there is no folder to write it
/// to.
pub fn check<'d>(view: &View, draft: &'d Draft) -> Result<DraftReport<'d>, Diagnostic> {
    let name = parse_draft_name(view, &draft.command)?;
    let found = view.draft(&name, &draft.file).ok_or_else(|| {
        Diagnostic::new(
            Kind::NotWritable,
            "there is no folder that prompts can be written to",
            "write `prompts = [\"DIR\"]` into the server's config.toml",
        )
    })?;
    let mut report = DraftReport {
        path: found.location().display,
        problems: found.check(),
        fields: None,
        preview: None,
        changes: None,
    };
    if let Ok(prompt) = found.prompt() {
        report.fields = Some(form_fields(&prompt));
        report.preview = Some(preview(view, &found, &draft_call(draft, &name, &prompt))?);
    }
    if let Some(current) = &draft.current {
        report.changes = Some(hunks(current, &draft.file));
    }
    Ok(report)
}

/// Parses the name of a draft.
///
/// # Errors
/// Fails if no prompt file can have this name, or if it doesn't begin with the caller's prefix.
fn parse_draft_name(view: &View, name: &str) -> Result<Name, Diagnostic> {
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

/// Returns the call to preview. Values of unknown arguments are dropped: the user may just have
/// renamed or removed an argument in the draft.
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
