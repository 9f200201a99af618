//! The options for all commands, the environment variables that select prompts, and the library
//! that they select.

#[cfg(feature = "openapi")]
use super::openapi::OpenApiArgs;
use super::output::Reporter;
use super::serve::options::Serve;
pub(super) use super::user_folders::absolute;
use super::{agent_names, user_folders};
use crate::library::{Layer, Library, Reach};
use crate::prompt::{Diagnostic, Format};
#[cfg(feature = "store")]
use crate::sources::Postgres;
#[cfg(feature = "openapi")]
use crate::sources::Team;
use crate::sources::{Project, SettingsProblems, Trust};
use anyhow::bail;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

// All options that select prompts. (Not a doc comment: clap would print it.)
#[derive(Debug, Default, Args)]
pub(super) struct PromptSource {
    #[command(flatten)]
    pub(super) folders: Folders,
    // The user's prompts are in a database.
    #[arg(skip)]
    pub(super) has_store: bool,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub(super) store: super::database::StoreOptions,
    #[cfg(feature = "store")]
    #[arg(skip)]
    pub(super) opened: Option<Arc<Postgres>>,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[arg(skip)]
    pub(super) settings: LoadedSettings,
    /// Add the project's prompts, which override all others: those in the nearest folder
    /// `.prompts`, from the working directory up to the root of the repository
    ///
    /// Use it only if you trust the repository, because its prompts override yours of the same
    /// name. Outside a repository, only the working directory is searched. Symlinks that point
    /// outside the folder are not followed.
    #[arg(long, overrides_with = "project")]
    pub(super) project: bool,
}

// Which settings file is read.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct ConfigOptions {
    /// Read this settings file instead of `prompt-expander/config.toml` in your configuration
    /// directory
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, overrides_with = "config")]
    pub(super) config: Option<PathBuf>,
    /// Read no settings file
    #[arg(long, conflicts_with = "config", overrides_with = "no_config")]
    pub(super) no_config: bool,
}

/// What the settings file says, besides what it adds to the options.
#[derive(Debug, Default)]
pub(super) struct LoadedSettings {
    #[cfg(feature = "openapi")]
    pub(super) openapi: Vec<OpenApiArgs>,
    #[cfg(feature = "openapi")]
    pub(super) team: Option<Arc<Team>>,
    pub(super) serve: Serve,
    /// What the user trusts; `None` if no settings file is read, which could say it.
    pub(super) trust: Option<Arc<Trust>>,
    /// The lock of the user's packs, beside the file; `None` if no settings file is read.
    pub(super) packs: Option<PathBuf>,
    pub(super) problems: Vec<Diagnostic>,
    /// What the file says is unknown.
    pub(super) is_unusable: bool,
}

/// What the keys of the team say.
#[cfg_attr(not(feature = "openapi"), allow(dead_code))]
#[derive(Debug, Default)]
pub(super) struct TeamKeys {
    pub(super) url: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) token_variable: Option<String>,
}

// The options that the settings file has, too.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct Folders {
    /// A folder of prompt files; can be repeated, and earlier folders override later ones
    ///
    /// The default is the folders in the environment variable PROMPT_EXPANDER_PROMPTS (separated as
    /// in PATH) or, if it is not set, the folder `prompt-expander/prompts` in your configuration
    /// directory.
    ///
    /// The folders of other programs, such as `.claude/commands`, are known by their paths, read as
    /// those programs read them, and never written to. For a folder elsewhere, put the format
    /// before it, as in `claude:DIR`; docs/other-formats.md has them all.
    #[arg(long, value_name = "[FORMAT:]DIR", value_hint = clap::ValueHint::DirPath)]
    pub(super) prompts: Vec<PathBuf>,
    /// Add the commands, prompts and skills of the agents on this machine, such as Codex, Claude
    /// Code and opencode, which your own prompts override; with --project also those in the project
    #[arg(long, overrides_with = "from_agents")]
    pub(super) from_agents: bool,
    /// Leave out the built-in prompts
    #[arg(long, overrides_with = "no_builtin")]
    pub(super) no_builtin: bool,
    /// Take only commands at the start of a line: no stacks (`:review :security the parser`), and
    /// no mentions in a sentence
    #[arg(long, overrides_with = "no_mentions")]
    pub(super) no_mentions: bool,
    #[cfg(feature = "openapi")]
    #[command(flatten)]
    pub(super) openapi: OpenApiArgs,
}

/// Returns what a line gives to its command, or to the action of the command, such as `pack add`.
pub(super) fn innermost(line: &ArgMatches) -> &ArgMatches {
    match line.subcommand() {
        Some((_, command)) => innermost(command),
        None => line,
    }
}

/// Returns whether a command was described with the options for all commands. A flag has a value
/// even if it is not given.
fn has_common_options(command: &ArgMatches) -> bool {
    matches!(command.try_contains_id("no_builtin"), Ok(true))
}

impl Folders {
    /// Completes the options with the settings file. The environment variable with folders of
    /// prompts counts more than that file, and less than --prompts.
    pub(super) fn complete_with(&mut self, settings: Folders) {
        if self.prompts.is_empty() {
            self.prompts = user_folders::prompts();
        }
        if self.prompts.is_empty() {
            self.prompts = settings.prompts;
        }
        self.from_agents |= settings.from_agents;
        self.no_builtin |= settings.no_builtin;
        self.no_mentions |= settings.no_mentions;
    }

    /// Returns the folders of prompts, each with the format that is named before it.
    fn named(&self) -> Vec<(Option<&'static Format>, PathBuf)> {
        self.prompts.iter().map(|option| folder(option)).collect()
    }
}

/// Returns the options for all commands, as a command has them. Its help leaves them out.
pub(super) fn hidden_options() -> Vec<Arg> {
    let options = PromptSource::augment_args(Command::new(""));
    let options = options.get_arguments();
    options.map(|option| option.clone().hide(true)).collect()
}

impl PromptSource {
    /// Returns the options for all commands that a line gives to its command.
    pub(super) fn of(line: &ArgMatches) -> Result<PromptSource, clap::Error> {
        let command = innermost(line);
        if has_common_options(command) {
            PromptSource::from_arg_matches(command)
        } else {
            Ok(PromptSource::default())
        }
    }

    /// Opens the database of --store, and waits for the first attempt to read it. Returns whether
    /// a database is chosen. A problem is added to those of the settings.
    #[cfg(feature = "store")]
    pub(super) fn open_store(&mut self) -> bool {
        let has_folders = !self.folders.prompts.is_empty();
        let address = match self.store.address(has_folders) {
            Ok(Some(address)) => address,
            Ok(None) => return false,
            Err(message) => {
                self.settings = LoadedSettings::with_problem_of_store(message);
                return true;
            }
        };
        match Postgres::open(address) {
            Ok(store) => {
                _ = store.wait();
                self.opened = Some(Arc::new(store));
                self.has_store = !self.project;
            }
            Err(error) => self.settings = LoadedSettings::with_problem_of_store(error.to_string()),
        }
        true
    }

    /// Returns an error if the options that choose a database are not valid.
    pub(super) fn check_store_options(&self) -> anyhow::Result<()> {
        #[cfg(feature = "store")]
        {
            let has_folders = !self.folders.prompts.is_empty();
            self.store
                .address(has_folders)
                .map_err(anyhow::Error::msg)?;
        }
        Ok(())
    }

    /// Returns the library for the working directory. Prints a warning if --project is given and
    /// there is no project.
    pub(super) fn library_with_warnings(&self, reporter: &Reporter) -> Library {
        let library = self.library();
        if let Some(absence) = library.absent_project() {
            reporter.warn(&absence);
        }
        library
    }

    /// Returns the library for the working directory.
    pub(super) fn library(&self) -> Library {
        self.library_at(None)
    }

    /// Returns the library for a folder; `None` is the working directory.
    pub(super) fn library_at(&self, folder: Option<&Path>) -> Library {
        let problems = &self.settings.problems;
        if self.settings.is_unusable {
            let problems = SettingsProblems::of_unusable_file(problems.clone());
            return Library::default().with_builtin().with(problems);
        }
        let project = self.project_folder(folder);
        let trust = self.trust_for_project();
        let mut library = self.library_without_project(project.as_deref(), trust.clone());
        if let Some(folder) = project {
            library = library.with_project(&folder, dirs::home_dir().as_deref(), trust);
        }
        if let (Some(lock), Some(copies)) = (&self.settings.packs, folder_of_packs()) {
            library = library.with_packs(lock.clone(), copies);
        }
        if !problems.is_empty() {
            library = library.with(SettingsProblems::of_usable_file(problems.clone()));
        }
        library
    }

    /// Returns what decides which prompts of a project are read; `None` with --project, which reads
    /// all of them.
    fn trust_for_project(&self) -> Option<Arc<Trust>> {
        if self.project {
            None
        } else {
            self.settings.trust.clone()
        }
    }

    /// Returns the folder whose project may have prompts: this one, else the working directory,
    /// which may have been deleted. `None` if no project can be trusted.
    fn project_folder(&self, folder: Option<&Path>) -> Option<PathBuf> {
        if !self.project && self.settings.trust.is_none() {
            return None;
        }
        match folder {
            Some(folder) => Some(folder.to_owned()),
            None => env::current_dir().ok(),
        }
    }

    /// Returns the library without the prompts of the project, but with those of agents in it.
    fn library_without_project(
        &self,
        project: Option<&Path>,
        trust: Option<Arc<Trust>>,
    ) -> Library {
        #[cfg(feature = "store")]
        if let Some(store) = &self.opened {
            return self.add_builtin(Library::default().with_store(Arc::clone(store)));
        }
        let mut library = self.add_folders(Library::default());
        if self.folders.from_agents {
            library = self.add_agents(library, project, trust);
        }
        #[cfg(feature = "openapi")]
        {
            library = self.add_services(library);
        }
        self.add_builtin(library)
    }

    /// Adds the folders that are named or, if there are none, the user's own folder.
    fn add_folders(&self, mut library: Library) -> Library {
        for (format, path) in self.folders.named() {
            library = library.with_named(format, path);
        }
        if self.folders.prompts.is_empty()
            && let Some(config) = user_folders::config()
        {
            library = library.with_folder(config.join("prompts"), Format::OWN, Layer::USER);
        }
        library
    }

    /// Adds the prompts of agents: those in the project, and those in the user's folders that are
    /// not named.
    fn add_agents(
        &self,
        mut library: Library,
        project: Option<&Path>,
        trust: Option<Arc<Trust>>,
    ) -> Library {
        if let Some(project) = project {
            let home = dirs::home_dir();
            let home = home.as_deref();
            for (format, name) in Format::agent_folders() {
                if format.plugin.is_empty() {
                    library =
                        library.with(Project::new(project, home, name, format, trust.clone()));
                }
            }
        }
        let named = self.folders.named();
        for (format, path) in agent_names::prompt_folders() {
            if named.iter().all(|(_, folder)| *folder != path) {
                library = library.with_folder(path, format, Layer::AGENT);
            }
        }
        library
    }

    /// Adds the prompts that services render, and those of the team.
    #[cfg(feature = "openapi")]
    fn add_services(&self, mut library: Library) -> Library {
        let options = &self.folders.openapi;
        if options.openapi.is_empty() {
            for document in &self.settings.openapi {
                library = document.add_to(library);
            }
        } else {
            library = options.add_to(library);
        }
        match &self.settings.team {
            Some(team) => library.with_team(Arc::clone(team)),
            None => library,
        }
    }

    fn add_builtin(&self, library: Library) -> Library {
        let library = library.with_mentions(!self.folders.no_mentions);
        if self.folders.no_builtin {
            library
        } else {
            library.with_builtin()
        }
    }

    /// Returns the folder that new prompts are written to, which may be missing.
    pub(super) fn folder_of_new(&self, library: &Library) -> anyhow::Result<PathBuf> {
        let layer = if self.project {
            Layer::PROJECT
        } else {
            Layer::USER
        };
        let Some(store) = library.store(layer) else {
            bail!(
                "there is no folder of your own prompts to write to; choose one with --prompts DIR"
            );
        };
        if self.has_store {
            bail!(
                "the prompts are in a store, and in no folder; choose one with --prompts DIR instead"
            );
        }
        Ok(store?.folder().to_owned())
    }

    /// Returns whether the prompts of agents are read, including those in the project.
    pub(super) fn has_agents(&self) -> bool {
        self.project && self.folders.from_agents
    }

    /// Returns the option that a suggested command needs to be about the same prompts.
    pub(super) fn project_option(&self) -> &'static str {
        if self.project { " --project" } else { "" }
    }

    /// Returns how to trust the prompts of the project, if they are read only because of
    /// --project.
    pub(super) fn untrusted_hint(&self) -> Option<String> {
        let trust = self.settings.trust.clone()?;
        let folder = env::current_dir().ok()?;
        let home = dirs::home_dir();
        let library = Library::default().with_project(&folder, home.as_deref(), Some(trust));
        library.view().untrusted_hint()
    }

    /// Returns a note about texts of the trusted repository that the user has not seen. A terminal
    /// gets it once.
    pub(super) fn changes_to_note(&self) -> Option<String> {
        let trust = self.trust_for_project()?;
        let changed = self.library().view().changed_in_project()?;
        let is_new = trust.record_announcement(&changed.root, &changed.texts);
        is_new.then(|| changed.hint())
    }

    /// Returns how far links may lead in a path that a command names: anywhere if the path is in a
    /// folder of the user's own.
    pub(super) fn reach_of(&self, path: &Path) -> Reach {
        let has_parents = path.components().any(|part| part == Component::ParentDir);
        if !has_parents && self.is_in_own_folder(path) {
            Reach::Unrestricted
        } else {
            Reach::for_typed_path(path)
        }
    }

    fn is_in_own_folder(&self, path: &Path) -> bool {
        let mut folders: Vec<PathBuf> = user_folders::config().into_iter().collect();
        folders.extend(self.folders.named().into_iter().map(|(_, folder)| folder));
        folders.extend(
            agent_names::prompt_folders()
                .into_iter()
                .map(|(_, folder)| folder),
        );
        folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns the library of one folder that a command names.
    pub(super) fn library_of(&self, format: Option<&'static Format>, folder: PathBuf) -> Library {
        let reach = self.reach_of(&folder);
        Library::of_folder(format, folder, reach)
    }
}

impl LoadedSettings {
    /// Returns settings that cannot be used, because the database cannot be used. The message says
    /// what to do.
    #[cfg(feature = "store")]
    fn with_problem_of_store(message: String) -> LoadedSettings {
        LoadedSettings {
            problems: vec![Diagnostic::error(None, message, "")],
            is_unusable: true,
            ..LoadedSettings::default()
        }
    }
}

/// Returns the folder of the copies of packs.
pub(super) fn folder_of_packs() -> Option<PathBuf> {
    Some(user_folders::data()?.join("packs"))
}

/// Returns the format and the absolute path of a folder, as `--prompts` takes it: `claude:DIR`, or
/// `DIR` without a format.
pub(super) fn folder(option: &Path) -> (Option<&'static Format>, PathBuf) {
    match option.to_str().map(Format::split_prefix) {
        Some((Some(format), path)) => (Some(format), absolute(Path::new(path))),
        _ => (None, absolute(option)),
    }
}

/// Returns a path without `..`, so that it can be compared with the paths of folders. It is
/// unchanged if its folder does not exist.
pub(super) fn without_parents(path: PathBuf) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path;
    };
    if path.components().all(|part| part != Component::ParentDir) {
        return path;
    }
    match fs::canonicalize(folder) {
        Ok(folder) => folder.join(name),
        Err(_) => path,
    }
}
