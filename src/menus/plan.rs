//! Compares an agent's folder of menu entries with the entries that should be in it.

use super::existing::{EntryNames, Existing, entry_names, names_in, read_entry};
use super::left_alone::{LeftAlone, WhyLeft, warnings};
use super::selection::MenuPrompt;
use super::text::{NamedPrompt, entry_text, is_safe_in_body};
use crate::agents::{Agent, Menu, System};
use crate::prompt::{Diagnostic, MenuMark, fold_name, skill_names};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What to write and to remove so that an agent's menu has exactly the entries that it should have.
#[derive(Debug)]
pub struct MenuPlan {
    /// The agent.
    pub agent: &'static Agent,
    /// The folder of the entries. It may not exist.
    pub folder: PathBuf,
    pub(super) menu: &'static Menu,
    pub(super) writes: Vec<EntryWrite>,
    pub(super) removals: Vec<EntryRemoval>,
    /// The names for which nothing is written or removed.
    pub(super) left_alone: Vec<LeftAlone>,
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
    pub(super) old_text: String,
}

impl MenuPlan {
    /// Compares the folder with entries for `prompts`, which are sorted by name. `library`
    /// [identifies](super::library_id) where they come from. Returns `None` for an agent without a
    /// menu, or if the home directory is unknown.
    ///
    /// # Errors
    /// Fails if the folder is a symlink or no folder, or can't be read.
    pub fn new(
        agent: &'static Agent,
        prompts: &[MenuPrompt],
        system: &System,
        library: &str,
    ) -> Option<Result<MenuPlan, Diagnostic>> {
        let menu = agent.menu.as_ref()?;
        let folder = agent.menu_folder(system)?;
        let names = match entry_names(menu, &folder) {
            Ok(names) => names,
            Err(error) => return Some(Err(error)),
        };
        let mut plan = MenuPlan {
            agent,
            folder,
            menu,
            writes: Vec::new(),
            removals: Vec::new(),
            left_alone: Vec::new(),
        };
        let shown: Vec<MenuPrompt> = plan.without_own_files(prompts);
        let mut wanted = named(&shown, menu);
        plan.leave_out_refused(&mut wanted, system);
        for entry in &wanted {
            plan.compare(entry, &names, library);
        }
        plan.remove_unwanted(&wanted, &names.all, library);
        Some(Ok(plan))
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
        warnings(&self.left_alone, self.agent)
    }

    /// Returns whether the menu is as it should be.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removals.is_empty()
    }

    /// Returns whether the agent's settings folder exists. If it was deleted, the agent is gone.
    pub fn is_agent_here(&self) -> bool {
        self.folder.parent().is_some_and(Path::is_dir)
    }

    /// Leaves out the prompts in the agent's own folders, which it shows itself.
    fn without_own_files(&self, prompts: &[MenuPrompt]) -> Vec<MenuPrompt> {
        let settings_folder = self.folder.parent().unwrap_or(&self.folder);
        let mut others = prompts.to_vec();
        others.retain(|prompt| {
            let file = prompt.file.as_deref();
            !file.is_some_and(|file| file.starts_with(settings_folder))
        });
        others
    }

    /// Leaves out the entries that would hide a command of the agent or a file of the user's, or
    /// whose text the agent would change.
    fn leave_out_refused(&mut self, wanted: &mut Vec<NamedPrompt<'_>>, system: &System) {
        let users_names = names_in(&self.agent.other_menu_folders(system));
        wanted.retain(|entry| {
            let folded = fold_name(&entry.name);
            let users_file = users_names.get(&folded);
            let why = if self.menu.is_builtin(&entry.name) {
                WhyLeft::BuiltIn
            } else if let Some(file) = users_file {
                WhyLeft::UsersFile(file.clone())
            } else if !is_safe_in_body(&entry.prompt.name) {
                WhyLeft::UnsafeName
            } else {
                return true;
            };
            self.left_alone
                .push(left_alone(self.menu, &self.folder, &entry.name, why));
            false
        });
    }

    /// Compares an entry that should be there with what is there. `names` are those of all entries.
    fn compare(&mut self, entry: &NamedPrompt<'_>, names: &EntryNames, library: &str) {
        let new_text = entry_text(self.menu, entry, library);
        let name = &entry.name;
        if let Some(why) = self.other_spelling(name, names, library) {
            self.leave_alone(name, why);
            return;
        }
        let old_text = match read_entry(self.menu, &self.folder, name, library) {
            Existing::Nothing => None,
            Existing::Ours(ours) => {
                // Only the version of this program may differ: the entry does the same.
                let is_same = MenuMark::parse(&new_text).is_some_and(|mark| {
                    mark.hash == ours.mark.hash && mark.prompt == ours.mark.prompt
                });
                if is_same && ours.is_complete {
                    return;
                }
                Some(ours.text)
            }
            Existing::Kept(why) => {
                self.leave_alone(name, why);
                return;
            }
        };
        self.writes.push(EntryWrite {
            name: name.clone(),
            old_text,
            new_text,
        });
    }

    /// Returns what is left alone if its name differs from `name` only in letter case or accents,
    /// and it is not an entry that will be removed.
    fn other_spelling(&self, name: &str, names: &EntryNames, library: &str) -> Option<WhyLeft> {
        for other in names.folded.other_spellings(name) {
            if let Existing::Kept(why) = read_entry(self.menu, &self.folder, other, library) {
                return Some(why);
            }
        }
        None
    }

    /// Plans to remove the entries that should not be there.
    fn remove_unwanted(&mut self, wanted: &[NamedPrompt<'_>], names: &[String], library: &str) {
        let wanted: HashSet<&str> = wanted.iter().map(|entry| entry.name.as_str()).collect();
        for name in names {
            if wanted.contains(&**name) {
                continue;
            }
            match read_entry(self.menu, &self.folder, name, library) {
                Existing::Ours(ours) => self.removals.push(EntryRemoval {
                    name: name.clone(),
                    old_text: ours.text,
                }),
                Existing::Kept(why) if why.has_mark() => self.leave_alone(name, why),
                Existing::Kept(_) | Existing::Nothing => {}
            }
        }
    }

    fn leave_alone(&mut self, name: &str, why: WhyLeft) {
        let left = left_alone(self.menu, &self.folder, name, why);
        self.left_alone.push(left);
    }
}

/// Returns the prompts with the names of their entries. A prompt without a name of its own is left
/// out, which takes two with the same hash.
fn named<'p>(prompts: &'p [MenuPrompt], menu: &Menu) -> Vec<NamedPrompt<'p>> {
    let mut names = skill_names(prompts.iter().map(|prompt| &prompt.name), menu.takes_name);
    let mut named = Vec::new();
    for prompt in prompts {
        if let Some(name) = names.remove(&prompt.name) {
            named.push(NamedPrompt { name, prompt });
        }
    }
    named
}

fn left_alone(menu: &Menu, folder: &Path, name: &str, why: WhyLeft) -> LeftAlone {
    LeftAlone {
        name: name.to_owned(),
        path: menu.entry_path(folder, name),
        why,
    }
}
