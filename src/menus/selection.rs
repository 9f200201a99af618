//! Selects the prompts that get an entry in agents' menus.

use crate::agents::Agent;
use crate::library::{Layer, View};
use crate::prompt::{Name, Summary};
use crate::wording::{one_line, truncate_at_word};
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

/// The prompts that get an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MenuPrompts {
    /// The prompts, sorted by name.
    pub prompts: Vec<MenuPrompt>,
    /// Whether every source could be read, so that no prompt is missing.
    pub is_complete: bool,
}

impl MenuSettings {
    /// Returns the prompts that get an entry.
    ///
    /// Without [`all`](MenuSettings::all), these are the user's own and the built-in ones. A
    /// project's prompts never get one, because the menus are the same in all projects; neither do
    /// those in agents' folders, which an agent shows itself, nor broken files and unedited drafts.
    pub fn prompts(&self, view: &View) -> MenuPrompts {
        let mut selection = view.clone().without_project().select(None, None);
        let mut prompts = Vec::new();
        for (found, summary, _) in selection.read() {
            let is_hidden = summary.is_unedited_draft || summary.forbids_menu;
            if is_hidden || !self.selects(found.layer, &found.name) {
                continue;
            }
            prompts.push(MenuPrompt {
                name: found.name.clone(),
                description: description(&found.name, found.layer, &summary),
                argument_hint: argument_hint(&summary),
                file: found.location().file,
            });
        }
        MenuPrompts {
            prompts,
            is_complete: view.problems().is_empty(),
        }
    }

    /// Returns whether a prompt of this layer and name may get an entry.
    fn selects(&self, layer: Layer, name: &str) -> bool {
        let is_in_layer = match layer {
            Layer::USER | Layer::BUILTIN => true,
            Layer::TEAM | Layer::PACK | Layer::SERVICE => self.all,
            _ => false,
        };
        is_in_layer && self.only.as_deref().is_none_or(|only| matches(only, name))
    }
}

/// Returns whether the whole name matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let start = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(end) = parts.pop() else {
        return rest.is_empty(); // there is no `*`
    };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(end)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_pattern_stands_for_any_text() {
        for (pattern, name, want) in [
            ("git/*", "git/commit", true),
            ("git/*", "github", false),
            ("*", "a/b", true),
            ("*commit", "git/commit", true),
            ("g*t/*m*t", "git/commit", true),
            ("a*a", "a", false),
            ("a*b*b", "ab", false),
            ("research", "research", true),
            ("research", "research2", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }
}
