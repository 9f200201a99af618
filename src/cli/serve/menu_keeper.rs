//! Adds and updates entries in agents' menus while the server runs.

use crate::agents::System;
use crate::cli::agent_names::system;
use crate::cli::config;
use crate::cli::source_options::PromptSource;
use crate::doctor::EXAMINED_VARIABLE;
use crate::library::Library;
use crate::lock::lock;
use crate::menus::{MenuPlan, MenuPrompt, MenuSettings, library_id};
use crate::server::{Change, Listener, Server};
use std::env;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;

/// Adds and updates the entries of the agents in `menus` of the settings file. Never removes one,
/// and writes nothing while a source can't be read.
pub(super) struct MenuKeeper {
    library: Arc<Library>,
    settings: MenuSettings,
    library_id: String,
    system: System,
    /// The prompts of the last update.
    last_prompts: Mutex<Option<Vec<MenuPrompt>>>,
}

impl MenuKeeper {
    /// Returns `None` if no menu is to be kept, or if `doctor` has started this server only to
    /// examine it.
    pub(super) fn new(source: &PromptSource, library: &Arc<Library>) -> Option<MenuKeeper> {
        let is_examined = env::var_os(EXAMINED_VARIABLE).is_some();
        if is_examined || source.settings.menus.agents.is_empty() {
            return None;
        }
        Some(MenuKeeper {
            library: Arc::clone(library),
            settings: source.settings.menus.clone(),
            library_id: library_id(&config::path(&source.config)?),
            system: system().ok()?,
            last_prompts: Mutex::new(None),
        })
    }

    /// Adds and updates entries, if any prompt has changed since the last update.
    fn update(&self) {
        let view = self.library.view();
        if !view.problems().is_empty() {
            return;
        }
        let prompts = self.settings.prompts(&view);
        let mut last_prompts = lock(&self.last_prompts);
        if last_prompts.as_ref() == Some(&prompts) {
            return;
        }
        for agent in &self.settings.agents {
            let plan = MenuPlan::new(agent, &prompts, &self.system, &self.library_id);
            if let Some(Ok(plan)) = plan
                && plan.is_agent_here()
            {
                let result = plan.without_removals().apply();
                tracing::info!(
                    agent = agent.name,
                    written = result.written,
                    "updated the menu"
                );
                for error in result.errors {
                    tracing::warn!("{error}");
                }
            }
        }
        *last_prompts = Some(prompts);
    }
}

impl Listener for MenuKeeper {
    fn notify(&self, _: &Change) {
        self.update();
    }
}

/// Standard output that starts a [`MenuKeeper`] as soon as something is written, so that no answer
/// before has to wait.
pub(super) struct OutputWithKeeper<W> {
    output: W,
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
                server.start_watching(); // first, so that no later change is missed
                keeper.update();
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
