//! Compares an agent's folder of menu entries with the entries that should be in it.

use super::existing::{Existing, ExistingEntries, users_names};
use super::left_alone::{LeftAlone, Refused, WhyLeft, warnings};
use super::selection::{MenuPrompt, MenuPrompts, MenuSettings};
use super::text::{NamedPrompt, entry_text, is_safe_in_body};
use crate::agents::{Menu, MenuLocation};
use crate::prompt::{Diagnostic, fold_name, skill_names};
use std::collections::HashSet;
use std::mem;

/// What to write and to remove so that an agent's menu has exactly the entries that it should have.
#[derive(Debug)]
pub struct MenuPlan {
    /// Where the menu is.
    pub location: MenuLocation,
    pub(super) writes: Vec<EntryWrite>,
    pub(super) removals: Vec<EntryRemoval>,
    /// The names for which nothing is written or removed.
    pub(super) left_alone: Vec<LeftAlone>,
    /// How many entries are as they should be.
    unchanged: usize,
    /// Whether prompts may be missing, so that nothing is removed.
    may_miss_prompts: bool,
}

/// How a menu differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuState {
    /// There are entries to write or to remove.
    Outdated,
    /// There is nothing to write. There may be entries to remove, which is unknown until all
    /// prompts can be read.
    Incomplete,
    /// The menu has no entry, and gets none.
    WithoutEntries,
    /// The menu has all entries that it can have, and no others.
    UpToDate,
}

/// An entry to create or to update.
#[derive(Debug)]
pub(super) struct EntryWrite {
    pub(super) name: String,
    /// The text that is there now, or `None` to create the entry.
    pub(super) old_text: Option<String>,
    pub(super) new_text: String,
}

/// An entry to remove.
#[derive(Debug)]
pub(super) struct EntryRemoval {
    pub(super) name: String,
    /// The name of the prompt that the entry was written for. `None` if the Markdown file is gone,
    /// and only further files are left.
    prompt: Option<String>,
    /// The text of the Markdown file, or `None` if it is gone.
    pub(super) old_text: Option<String>,
}

impl MenuSettings {
    /// Plans the entries of a menu. If its agent is not in the settings, it should have none.
    /// Nothing is removed while prompts of a selected agent may be missing.
    ///
    /// # Errors
    /// Fails like [`MenuPlan::new`].
    pub fn plan(
        &self,
        location: MenuLocation,
        prompts: &MenuPrompts,
        library: &str,
    ) -> Result<MenuPlan, Diagnostic> {
        if !self.agents.contains(&location.agent) {
            return MenuPlan::new(location, &[], library);
        }
        let mut plan = MenuPlan::new(location, &prompts.prompts, library)?;
        if prompts.problems.is_empty() {
            plan.keep_uncertain(prompts);
            return Ok(plan);
        }
        Ok(MenuPlan {
            may_miss_prompts: true,
            ..plan.without_removals()
        })
    }
}

impl MenuPlan {
    /// Compares the folder with entries for `prompts`, which are sorted by name. `library`
    /// [identifies](super::library_id) where they come from.
    ///
    /// # Errors
    /// Fails if the folder is a symlink or no folder, or can't be read.
    pub fn new(
        location: MenuLocation,
        prompts: &[MenuPrompt],
        library: &str,
    ) -> Result<MenuPlan, Diagnostic> {
        let existing = ExistingEntries::read(&location, library)?;
        let mut plan = MenuPlan {
            location: location.clone(),
            writes: Vec::new(),
            removals: Vec::new(),
            left_alone: Vec::new(),
            unchanged: 0,
            may_miss_prompts: false,
        };
        let prompts = without_own_files(prompts, &location);
        let entries = plan.without_refused(with_entry_names(&prompts, location.menu));
        for entry in &entries {
            plan.plan_write(entry, &existing, library);
        }
        plan.remove_unwanted(&entries, &existing);
        Ok(plan)
    }

    /// Returns the plan without removals, for when prompts may only be missing now.
    #[must_use]
    pub fn without_removals(self) -> MenuPlan {
        MenuPlan {
            removals: Vec::new(),
            ..self
        }
    }

    /// Returns the names of the entries to create.
    pub fn created(&self) -> Vec<&str> {
        let created = self.writes.iter().filter(|write| write.old_text.is_none());
        created.map(|write| write.name.as_str()).collect()
    }

    /// Returns the names of the entries to update.
    pub fn updated(&self) -> Vec<&str> {
        let updated = self.writes.iter().filter(|write| write.old_text.is_some());
        updated.map(|write| write.name.as_str()).collect()
    }

    /// Returns the names of the entries to remove.
    pub fn removed(&self) -> Vec<&str> {
        self.removals
            .iter()
            .map(|removal| removal.name.as_str())
            .collect()
    }

    /// Returns a warning or a hint for each reason for which names are left alone.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        warnings(&self.left_alone, &self.location)
    }

    /// Returns whether there is nothing to write or to remove.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removals.is_empty()
    }

    /// Returns how the menu differs from what it should be.
    pub fn state(&self) -> MenuState {
        if !self.is_empty() {
            MenuState::Outdated
        } else if self.may_miss_prompts {
            MenuState::Incomplete
        } else if self.unchanged == 0 {
            MenuState::WithoutEntries
        } else {
            MenuState::UpToDate
        }
    }

    /// Returns the entries without those that are refused, which are left alone.
    fn without_refused<'p>(&mut self, entries: Vec<NamedPrompt<'p>>) -> Vec<NamedPrompt<'p>> {
        let users_names = users_names(&self.location);
        let mut allowed = Vec::new();
        for entry in entries {
            let refused = if self.location.menu.is_builtin(&entry.name) {
                Refused::BuiltIn
            } else if let Some(file) = users_names.get(&fold_name(&entry.name)) {
                Refused::UsersFile(file.clone())
            } else if !is_safe_in_body(&entry.prompt.name) {
                Refused::UnsafeName
            } else {
                allowed.push(entry);
                continue;
            };
            self.leave_alone(&entry.prompt.name, WhyLeft::Refused(refused));
        }
        allowed
    }

    /// Plans to write an entry, unless it is there already or something else is in its place.
    fn plan_write(
        &mut self,
        entry: &NamedPrompt<'_>,
        existing: &ExistingEntries<'_>,
        library: &str,
    ) {
        let name = &entry.name;
        if let Some(why) = existing.obstacle_with_other_spelling(name) {
            self.report_obstacle(entry, why);
            return;
        }
        let new = entry_text(self.location.menu, entry, library);
        let old_text = match existing.entry(name) {
            Existing::Nothing | Existing::Remains => None,
            // Only the version of this program may differ: the entry does the same.
            Existing::Ours(ours) if ours.is_complete && ours.mark.is_same_entry(&new.mark) => {
                self.unchanged += 1;
                return;
            }
            Existing::Ours(ours) => Some(ours.text),
            Existing::Obstacle(why) => {
                self.report_obstacle(entry, why);
                return;
            }
        };
        self.writes.push(EntryWrite {
            name: name.clone(),
            old_text,
            new_text: new.text,
        });
    }

    /// Plans to remove the entries that should not be there.
    fn remove_unwanted(&mut self, wanted: &[NamedPrompt<'_>], existing: &ExistingEntries<'_>) {
        let wanted: HashSet<&str> = wanted.iter().map(|entry| entry.name.as_str()).collect();
        for name in &existing.names {
            if wanted.contains(&**name) {
                continue;
            }
            match existing.entry(name) {
                Existing::Ours(ours) => self.removals.push(EntryRemoval {
                    name: name.clone(),
                    prompt: Some(ours.mark.prompt),
                    old_text: Some(ours.text),
                }),
                Existing::Remains => self.removals.push(EntryRemoval {
                    name: name.clone(),
                    prompt: None,
                    old_text: None,
                }),
                Existing::Obstacle(why @ WhyLeft::Kept(_)) => self.leave_alone(name, why),
                // It is the user's.
                Existing::Obstacle(WhyLeft::Refused(_)) | Existing::Nothing => {}
            }
        }
    }

    /// Leaves alone the entries to remove whose prompts may only be missing now.
    fn keep_uncertain(&mut self, prompts: &MenuPrompts) {
        for removal in mem::take(&mut self.removals) {
            let prompt = removal.prompt.as_deref();
            match prompt.and_then(|prompt| prompts.why_kept(prompt)) {
                Some(why) => self.leave_alone(&removal.name, WhyLeft::Kept(why)),
                None => self.removals.push(removal),
            }
        }
    }

    /// Leaves alone what is in the place of an entry.
    fn report_obstacle(&mut self, entry: &NamedPrompt<'_>, why: WhyLeft) {
        match why {
            WhyLeft::Refused(_) => self.leave_alone(&entry.prompt.name, why),
            WhyLeft::Kept(_) => self.leave_alone(&entry.name, why),
        }
    }

    /// Leaves alone the prompt or the entry with this name: see [`LeftAlone::name`].
    fn leave_alone(&mut self, name: &str, why: WhyLeft) {
        self.left_alone.push(LeftAlone {
            name: name.to_owned(),
            why,
        });
    }
}

/// Returns the prompts without those in the agent's own folders, which it shows itself.
fn without_own_files(prompts: &[MenuPrompt], location: &MenuLocation) -> Vec<MenuPrompt> {
    let mut others = prompts.to_vec();
    others.retain(|prompt| {
        let file = prompt.file.as_deref();
        !file.is_some_and(|file| file.starts_with(&location.settings_folder))
    });
    others
}

/// Returns the prompts with the names of their entries. Leaves out a prompt if even its name with a
/// hash is taken.
fn with_entry_names<'p>(prompts: &'p [MenuPrompt], menu: &Menu) -> Vec<NamedPrompt<'p>> {
    let mut names = skill_names(prompts.iter().map(|prompt| &prompt.name), menu.takes_name);
    let mut entries = Vec::new();
    for prompt in prompts {
        if let Some(name) = names.remove(&prompt.name) {
            entries.push(NamedPrompt { name, prompt });
        }
    }
    entries
}
