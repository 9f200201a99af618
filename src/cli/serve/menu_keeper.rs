//! Adds and updates entries in agents' menus while the server runs.

use crate::agents::{MenuLocation, System};
use crate::cli::agent_names::system;
use crate::cli::config;
use crate::cli::source_options::{ConfigOptions, PromptSource};
use crate::doctor::EXAMINED_VARIABLE;
use crate::library::Library;
use crate::lock::lock;
use crate::menus::{MenuPrompts, MenuSettings, library_id};
use crate::server::{Change, Listener, Server};
use std::env;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;

/// Adds and updates the entries of the agents in `menus` of the settings file. Never removes one,
/// and writes nothing while prompts may be missing.
pub(super) struct MenuKeeper {
    library: Arc<Library>,
    /// Selects the settings file, which is read again before each update: `uninstall` and `sync`
    /// may have changed it.
    config: ConfigOptions,
    library_id: String,
    system: System,
    /// The entries of the last update without errors, so that a change of something else, such as
    /// the text of a prompt, doesn't read all menus again.
    last_entries: Mutex<Option<Entries>>,
}

/// The entries that menus should have.
#[derive(PartialEq)]
struct Entries {
    settings: MenuSettings,
    prompts: MenuPrompts,
}

impl MenuKeeper {
    /// Returns `None` if menus are not for the prompts of this server, or are invalid, or if
    /// `doctor` has started this server only to examine it. Menus that are added to the settings
    /// later are kept, too.
    pub(super) fn new(source: &PromptSource, library: &Arc<Library>) -> Option<MenuKeeper> {
        let is_examined = env::var_os(EXAMINED_VARIABLE).is_some();
        if is_examined || source.settings.menus_error.is_some() {
            return None;
        }
        Some(MenuKeeper {
            library: Arc::clone(library),
            config: source.config.clone(),
            library_id: library_id(&config::path(&source.config)?),
            system: system().ok()?,
            last_entries: Mutex::new(None),
        })
    }

    /// Returns what the settings file says about menus now, or `None` if no menu is to be kept, or
    /// if the settings have an error.
    fn settings(&self) -> Option<MenuSettings> {
        let settings = config::menus(&self.config)?;
        (!settings.agents.is_empty()).then_some(settings)
    }

    /// Adds and updates entries, if any prompt or setting has changed since the last update. Writes
    /// nothing if the settings have an error.
    fn update(&self) {
        // The lock comes first: of two threads, the later one must not have the older view.
        let mut last_entries = lock(&self.last_entries);
        let Some(settings) = self.settings() else {
            return;
        };
        let prompts = settings.prompts(&self.library.view());
        let entries = Entries { settings, prompts };
        if !entries.prompts.problems.is_empty() || last_entries.as_ref() == Some(&entries) {
            return;
        }
        let mut is_done = true;
        for agent in &entries.settings.agents {
            if let Some(location) = MenuLocation::of(agent, &self.system) {
                is_done &= self.update_menu(location, &entries);
            }
        }
        *last_entries = is_done.then_some(entries);
    }

    /// Adds and updates the entries of an agent, unless the agent is gone. Returns whether there
    /// were no errors.
    fn update_menu(&self, location: MenuLocation, entries: &Entries) -> bool {
        if !location.is_agent_here() {
            return true;
        }
        let agent = location.agent.name;
        let plan = entries
            .settings
            .plan(location, &entries.prompts, &self.library_id);
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                tracing::warn!("{error}");
                return false;
            }
        };
        let result = plan.without_removals().apply();
        if result.written > 0 {
            tracing::info!(agent, written = result.written, "updated the menu");
        }
        for error in &result.errors {
            tracing::warn!("{error}");
        }
        result.errors.is_empty()
    }
}

impl Listener for MenuKeeper {
    fn notify(&self, _: &Change) {
        self.update();
    }
}

/// Standard output that starts a [`MenuKeeper`] after the first answer. The first answer is sent
/// before the keeper starts, so it never waits for it.
pub(super) struct OutputWithKeeper<W> {
    output: W,
    /// Keeps the listener alive: the server has only a weak reference to it.
    keeper: Option<Arc<MenuKeeper>>,
    /// The server that notifies the keeper, until the keeper is started.
    waiting_server: Option<Server>,
}

impl<W> OutputWithKeeper<W> {
    pub(super) fn new(output: W, keeper: Option<MenuKeeper>, server: &Server) -> Self {
        OutputWithKeeper {
            output,
            keeper: keeper.map(Arc::new),
            waiting_server: Some(server.clone()),
        }
    }

    /// Starts the keeper on a thread of its own. If there is no thread, the menus stay as they are.
    fn start_keeper(&mut self) {
        let Some(server) = self.waiting_server.take() else {
            return;
        };
        let Some(keeper) = self.keeper.clone() else {
            return;
        };
        let listener: Arc<dyn Listener> = Arc::clone(&keeper) as _;
        server.add_listener(&listener);
        _ = thread::Builder::new()
            .name("menus".to_owned())
            .spawn(move || {
                // Without a menu, nothing is watched only for the keeper.
                if keeper.settings().is_some() {
                    server.start_watching(); // first, so that no later change is missed
                    keeper.update();
                }
            });
    }
}

impl<W: Write> Write for OutputWithKeeper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.start_keeper();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// The home directory of a user with prompts, and with Codex.
    struct Home(TempDir);

    impl Home {
        fn new(config: &str) -> Home {
            let home = Home(tempfile::tempdir().unwrap());
            fs::create_dir_all(home.at(".codex")).unwrap();
            home.write("prompts/first.md", "First.");
            home.write("config.toml", config);
            home
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn keeper(&self) -> MenuKeeper {
            let mut source = PromptSource::default();
            source.config.config = Some(self.at("config.toml"));
            config::load(&mut source);
            MenuKeeper {
                system: System {
                    home: Some(self.0.path().to_owned()),
                    ..System::default()
                },
                ..MenuKeeper::new(&source, &Arc::new(source.library())).unwrap()
            }
        }

        /// Returns the names of the entries in the menu of Codex.
        fn entries(&self) -> Vec<String> {
            let Ok(files) = fs::read_dir(self.at(".codex/skills")) else {
                return Vec::new();
            };
            let mut names = Vec::new();
            for file in files {
                names.push(file.unwrap().file_name().into_string().unwrap());
            }
            names.sort();
            names
        }
    }

    const CONFIG: &str = "prompts = [\"prompts\"]\nbuiltin = false\nmenus = [\"codex\"]\n";

    #[test]
    fn nothing_is_written_or_removed_while_a_source_is_broken() {
        let home = Home::new(CONFIG);
        let keeper = home.keeper();
        keeper.update();
        assert_eq!(home.entries(), ["first"]);
        home.write("packs.lock", "no lock");
        home.write("prompts/second.md", "Second.");
        fs::remove_file(home.at("prompts/first.md")).unwrap();
        keeper.update();
        assert_eq!(home.entries(), ["first"]);
        fs::remove_file(home.at("packs.lock")).unwrap();
        keeper.update();
        assert_eq!(home.entries(), ["first", "second"]);
    }

    #[test]
    fn a_menu_that_is_added_to_the_settings_later_is_kept() {
        let home = Home::new(&CONFIG.replace("menus", "# menus"));
        let keeper = home.keeper();
        keeper.update();
        assert_eq!(home.entries(), [""; 0]);
        home.write("config.toml", CONFIG);
        keeper.update();
        assert_eq!(home.entries(), ["first"]);
    }
}
