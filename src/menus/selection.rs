//! Selects the prompts that get an entry in agents' menus.

use super::left_alone::Kept;
use crate::agents::Agent;
use crate::library::{Layer, View};
use crate::prompt::{Diagnostic, Kind, Name, Summary};
use crate::wording::{matches_pattern, one_line, truncate_at_word};
use std::collections::HashSet;
use std::path::PathBuf;

/// The maximum length of a description, in characters. Codex sends it to the model with each use.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// The maximum length of the values in a menu, in characters. A menu shows less.
const MAX_HINT_CHARS: usize = 200;

/// What the settings file says about menus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MenuSettings {
    /// The agents whose menus get entries.
    pub agents: Vec<&'static Agent>,
    /// Whether the prompts of the team, of packs and of services get entries, too.
    pub all: bool,
    /// A pattern that the names of the prompts must match, e.g. `git/*`.
    pub only: Option<String>,
}

/// A prompt that gets an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuPrompt {
    /// The name of the prompt.
    pub name: Name,
    /// Its description on one line. It is never empty, because Codex ignores a skill without one.
    pub description: String,
    /// Its values, e.g. `<options> [criteria]`.
    pub argument_hint: String,
    /// Its file, if it has one.
    pub file: Option<PathBuf>,
}

/// The prompts that get an entry, and what is known of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MenuPrompts {
    /// The prompts, sorted by name.
    pub prompts: Vec<MenuPrompt>,
    /// Why prompts may be missing. If there is a problem, no entry is to be removed.
    pub problems: Vec<Diagnostic>,
    /// The names of all prompts that could be read, also of those without an entry.
    readable: HashSet<String>,
    /// The names of the prompts that could not be read.
    broken: HashSet<String>,
    /// Whether a folder of the user's prompts does not exist, e.g. because a disk is not there.
    lacks_folder: bool,
}

impl MenuPrompts {
    /// Returns why an entry for the prompt of this name stays, although it is not to be written.
    pub(super) fn why_kept(&self, name: &str) -> Option<Kept> {
        if self.broken.contains(name) {
            return Some(Kept::Broken);
        }
        let may_be_missing = self.lacks_folder && !self.readable.contains(name);
        may_be_missing.then_some(Kept::NoFolder)
    }
}

impl MenuSettings {
    /// Returns the prompts that get an entry.
    ///
    /// Without [`all`](MenuSettings::all), these are the user's own and the built-in ones. A
    /// project's prompts never get one, because the menus are the same in all projects; neither do
    /// those in agents' folders, which an agent shows itself, nor broken files and unedited drafts.
    pub fn prompts(&self, view: &View) -> MenuPrompts {
        let view = view.clone().without_project();
        let mut menu_prompts = MenuPrompts {
            problems: problems_that_hide_prompts(&view),
            lacks_folder: view.lacks_own_folder(),
            ..MenuPrompts::default()
        };
        let mut selection = view.select(None, None);
        for (found, summary, _) in selection.read() {
            menu_prompts.readable.insert(found.name.to_string());
            let is_hidden = summary.is_unedited_draft || summary.forbids_menu;
            if is_hidden || !self.selects(found.layer, &found.name) {
                continue;
            }
            menu_prompts.prompts.push(MenuPrompt {
                name: found.name.clone(),
                description: description(&found.name, found.layer, &summary),
                argument_hint: argument_hint(&summary),
                file: found.location().file,
            });
        }
        let broken = selection
            .problems
            .into_iter()
            .filter_map(|problem| problem.name);
        menu_prompts.broken = broken.map(|name| name.to_string()).collect();
        menu_prompts
    }

    /// Returns whether a prompt of this layer and name may get an entry.
    fn selects(&self, layer: Layer, name: &str) -> bool {
        let is_in_layer = match layer {
            Layer::USER | Layer::BUILTIN => true,
            Layer::TEAM | Layer::PACK | Layer::SERVICE => self.all,
            _ => false,
        };
        let is_wanted = match &self.only {
            Some(pattern) => matches_pattern(pattern, name),
            None => true,
        };
        is_in_layer && is_wanted
    }
}

/// Returns the problems of the list that may hide prompts, such as a folder that can't be read.
fn problems_that_hide_prompts(view: &View) -> Vec<Diagnostic> {
    let mut problems = view.list().problems;
    problems.retain(|problem| may_hide_prompts(&problem.kind));
    problems
}

/// Returns whether a problem of this kind may hide a prompt that was there before. A file whose
/// name is invalid or taken never was a prompt, and a symlink in a circle leads to nothing new.
fn may_hide_prompts(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::Hint | Kind::Warning | Kind::BadName | Kind::NameCollision
    )
}

/// Returns the description for a menu, on one line and without invisible characters.
fn description(name: &str, layer: Layer, summary: &Summary) -> String {
    let own = one_line(summary.description.as_deref().unwrap_or_default());
    if own.is_empty() {
        return format!("{}The prompt {name}", layer.list_label);
    }
    let own = truncate_at_word(&own, MAX_DESCRIPTION_CHARS);
    format!("{}{own}", layer.list_label)
}

fn argument_hint(summary: &Summary) -> String {
    let hint = one_line(&summary.argument_hint());
    truncate_at_word(&hint, MAX_HINT_CHARS).into_owned()
}
