//! Where an agent's own menu is on this machine.

use super::agent::Agent;
use super::environment::System;
use super::menu::Menu;
use std::path::PathBuf;

/// Where an agent's menu is.
#[derive(Debug, Clone)]
pub struct MenuLocation {
    /// The agent.
    pub agent: &'static Agent,
    /// Its menu.
    pub menu: &'static Menu,
    /// The folder of the entries, which is in `settings_folder`. It may not exist.
    pub folder: PathBuf,
    /// The agent's settings folder.
    pub settings_folder: PathBuf,
    /// Other folders from which the agent reads names for its menu. They may not exist.
    pub other_folders: Vec<PathBuf>,
}

impl MenuLocation {
    /// Returns where the menu is, or `None` if the agent has none, or the home directory is
    /// unknown.
    pub fn of(agent: &'static Agent, system: &System) -> Option<MenuLocation> {
        let menu = agent.menu.as_ref()?;
        let settings_folder = (agent.settings_folder)(system)?;
        Some(MenuLocation {
            agent,
            menu,
            folder: settings_folder.join(menu.folder),
            settings_folder,
            other_folders: (menu.other_folders)(system),
        })
    }

    /// Returns the path of the Markdown file of an entry.
    pub fn entry_path(&self, name: &str) -> PathBuf {
        self.menu.entry_path(&self.folder, name)
    }

    /// Returns whether the agent's settings folder exists. If it was deleted, the agent is gone.
    pub fn is_agent_here(&self) -> bool {
        self.settings_folder.is_dir()
    }
}
