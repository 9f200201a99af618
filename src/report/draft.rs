//! A text that is not saved yet: what is wrong with it, and what it would expand to.

use super::call::{Call, Found, expand};
use super::{Failure, Problem};
use crate::library::{self, View};
use crate::prompt::Name;
use crate::wording::quoted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text that is not saved, and the values to expand it with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The name that the prompt has, or is to have.
    pub command: String,
    /// The whole file.
    pub file: String,
    /// Values by name; `input` is what replaces `{{input}}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
}

/// What [`check`] finds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checked {
    /// What `check` would say of the file.
    pub problems: Vec<Problem>,
    /// The expansion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Why there is no expansion of a file that is not broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What works, but is probably not what the caller intends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A text that is not saved, as a file.
#[derive(Debug)]
pub struct DraftFile {
    /// The path that the file has, or would have.
    pub path: String,
    /// The prompt; `None` if the file would be broken.
    pub found: Option<Found>,
    /// What `check` would say of it.
    pub problems: Vec<Problem>,
}

impl DraftFile {
    /// What a text would be as the file of this name.
    ///
    /// # Errors
    /// A prompt cannot have this name; there is no folder that it could be written to.
    pub fn new(view: &View, command: &str, text: &str) -> Result<DraftFile, Failure> {
        let name = Name::for_new_file(command).map_err(Failure::new)?;
        if let Some(prefix) = view.prefix().filter(|prefix| !prefix.contains(&name)) {
            return Err(Failure::new(format!("the name must begin with {}", quoted(&prefix.to_string()))));
        }
        let no_folder =
            || Failure::new("there is no folder that prompts can be written to; start the server with `--prompts DIR`");
        let library::Draft { path, prompt, problems } = view.draft(&name, text).ok_or_else(no_folder)?;
        let of_file = |prompt| Found { prompt: Arc::new(prompt), file: Some(path.clone()), skipped: Vec::new() };
        Ok(DraftFile {
            found: prompt.map(of_file),
            path: path.display().to_string(),
            problems: problems.into_iter().map(Into::into).collect(),
        })
    }
}

/// The name of a new prompt, from what a person typed.
///
/// # Errors
/// It cannot be one, in a line for a person.
pub fn name_of_new(typed: &str) -> Result<String, String> {
    Name::for_new_file(typed).map(|name| name.to_string())
}

/// What `check` says of a text that is not saved, and its expansion.
///
/// # Errors
/// Those of [`DraftFile::new`].
pub fn check(view: &View, draft: &Draft) -> Result<Checked, Failure> {
    let DraftFile { found, problems, .. } = DraftFile::new(view, &draft.command, &draft.file)?;
    let call = Call { command: draft.command.clone(), arguments: draft.arguments.clone(), ..Call::default() };
    let (prompt, error, warnings) = match found.map(|found| expand(view, &found, &call)) {
        None => (None, None, Vec::new()),
        Some(Ok(expansion)) => (Some(expansion.prompt), None, expansion.warnings),
        Some(Err(failure)) => (None, Some(failure.message), failure.warnings),
    };
    Ok(Checked { problems, prompt, error, warnings })
}
