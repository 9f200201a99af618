//! The options that all commands share. Together with the settings file and the environment, they
//! decide which prompts are in the library.

#[cfg(feature = "openapi")]
use super::openapi::OpenApiArgs;
use super::output::Reporter;
use super::serve::options::Serve;
pub(super) use super::user_folders::absolute;
use super::user_folders::has_parent_component;
use super::{agent_names, user_folders};
use crate::agents::prompt_folders_in;
use crate::doctor::EXAMINED_VARIABLE;
use crate::library::{Found, Layer, Library, Reach, repository_of};
use crate::menus::MenuSettings;
use crate::prompt::{Diagnostic, Format};
#[cfg(feature = "store")]
use crate::sources::Postgres;
#[cfg(feature = "openapi")]
use crate::sources::Team;
use crate::sources::{Project, SettingsProblems, Trust};
use crate::usage::{UsageCounts, UsageLog, Way, days_ago};
use anyhow::bail;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

/// The number of days whose uses decide which prompts are listed and offered first.
pub(super) const RECENT_DAYS: i32 = 90;

// All options that select prompts. These types have no doc comments, because clap would print them.
#[derive(Debug, Default, Args)]
pub(super) struct PromptSource {
    #[command(flatten)]
    pub(super) folders: Folders,
    // Whether new prompts would have to go into the database, which most commands can't write to.
    #[arg(skip)]
    pub(super) has_store: bool,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub(super) store: super::database::StoreOptions,
    #[cfg(feature = "store")]
    #[arg(skip)]
    pub(super) opened_store: Option<Arc<Postgres>>,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[arg(skip)]
    pub(super) settings: LoadedSettings,
    /// Add the project's prompts, which override all others
    ///
    /// The project's prompts are in the nearest folder `.prompts`, from the working directory up to
    /// the root of the repository. Outside a repository, only the working directory is searched.
    /// Symlinks that point outside the folder are not followed.
    ///
    /// Use this option only if you trust the repository, because its prompts override your prompts
    /// of the same name.
    #[arg(long, overrides_with = "project")]
    pub(super) project: bool,
}

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

/// The contents of the settings file, except for those that are merged into the options.
#[derive(Debug, Default)]
pub(super) struct LoadedSettings {
    #[cfg(feature = "openapi")]
    pub(super) openapi: Vec<OpenApiArgs>,
    #[cfg(feature = "openapi")]
    pub(super) team: Option<Arc<Team>>,
    pub(super) serve: Serve,
    /// Which agents' menus get entries for prompts.
    pub(super) menus: MenuSettings,
    /// Why the settings of menus can't be used, if so. Then it is unknown which entries to remove.
    pub(super) menus_error: Option<Diagnostic>,
    /// Which projects the user trusts; `None` without a settings file.
    pub(super) trust: Option<Arc<Trust>>,
    /// The path of the user's `packs.lock`, next to the settings file; `None` without a settings
    /// file.
    pub(super) packs: Option<PathBuf>,
    pub(super) problems: Vec<Diagnostic>,
    /// Whether the settings file says `usage = false`.
    pub(super) is_usage_off: bool,
    /// The settings couldn't be read. They may have excluded prompts, so none are served.
    pub(super) is_unusable: bool,
}

/// The values of the keys `team`, `team-token-file`, `team-token-env` and `team-cache`.
#[cfg_attr(not(feature = "openapi"), allow(dead_code))]
#[derive(Debug, Default)]
pub(super) struct TeamKeys {
    pub(super) url: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) token_variable: Option<String>,
    pub(super) cache_mebibytes: Option<u32>,
}

// The options that can also be set in the settings file.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct Folders {
    /// A folder of prompt files; can be repeated, and earlier folders override later ones
    ///
    /// By default, uses the folders in the environment variable PROMPT_EXPANDER_PROMPTS (separated
    /// as in PATH). If it is not set, uses the folders in the settings file or, if that has none,
    /// `prompt-expander/prompts` in your configuration directory.
    ///
    /// A folder of another program, such as `.claude/commands`, is recognized by its path. It is
    /// read as that program reads it, and never written to. If the path does not show the format,
    /// put the format before it, as in `claude:DIR`. docs/other-formats.md lists all formats.
    #[arg(long, value_name = "[FORMAT:]DIR", value_hint = clap::ValueHint::DirPath)]
    pub(super) prompts: Vec<PathBuf>,
    /// Add the commands, prompts and skills of the agents on this machine, such as Codex, Claude
    /// Code and opencode
    ///
    /// Your own prompts override them. With --project, also adds the commands, prompts and skills
    /// that the project has for these agents.
    #[arg(long, overrides_with = "from_agents")]
    pub(super) from_agents: bool,
    /// Exclude the built-in prompts
    #[arg(long, overrides_with = "no_builtin")]
    pub(super) no_builtin: bool,
    /// Only expand commands at the start of a line, not stacks (`:review :security the parser`) or
    /// mentions in a sentence
    #[arg(long, overrides_with = "no_mentions")]
    pub(super) no_mentions: bool,
    #[cfg(feature = "openapi")]
    #[command(flatten)]
    pub(super) openapi: OpenApiArgs,
}

/// Returns the arguments of the most deeply nested subcommand, e.g. those of `add` in `pack add`.
pub(super) fn innermost(matches: &ArgMatches) -> &ArgMatches {
    match matches.subcommand() {
        Some((_, subcommand)) => innermost(subcommand),
        None => matches,
    }
}

/// Returns whether a command accepts the shared options.
fn has_common_options(command: &ArgMatches) -> bool {
    // Any flag would do: clap gives a flag a value even if it isn't passed.
    matches!(command.try_contains_id("no_builtin"), Ok(true))
}

impl Folders {
    /// Uses the folders in the environment variable PROMPT_EXPANDER_PROMPTS, unless `--prompts` was
    /// passed.
    pub(super) fn merge_environment(&mut self) {
        if self.prompts.is_empty() {
            self.prompts = user_folders::prompts();
        }
    }

    /// Merges the settings file into the options, and into what comes from the environment.
    pub(super) fn merge(&mut self, settings: Folders) {
        if self.prompts.is_empty() {
            self.prompts = settings.prompts;
        }
        self.from_agents |= settings.from_agents;
        self.no_builtin |= settings.no_builtin;
        self.no_mentions |= settings.no_mentions;
    }

    /// Returns the folders in `prompts`, each with its explicit format, if there is one.
    fn parsed_prompts(&self) -> Vec<(Option<&'static Format>, PathBuf)> {
        let options = self.prompts.iter();
        options.map(|option| parse_folder(option)).collect()
    }
}

/// Returns the shared options, hidden from the help of a command that gets them.
pub(super) fn hidden_options() -> Vec<Arg> {
    let options = PromptSource::augment_args(Command::new(""));
    let options = options.get_arguments();
    options.map(|option| option.clone().hide(true)).collect()
}

impl PromptSource {
    /// Extracts the shared options from the parsed arguments. They keep their defaults if the
    /// command doesn't accept them.
    pub(super) fn from_line(matches: &ArgMatches) -> Result<PromptSource, clap::Error> {
        let command = innermost(matches);
        if has_common_options(command) {
            PromptSource::from_arg_matches(command)
        } else {
            Ok(PromptSource::default())
        }
    }

    /// Opens the selected database, if there is one, and waits for the first attempt to read it.
    /// Returns whether a database is selected.
    ///
    /// If the database can't be used, the error replaces the settings, and no prompts are served.
    /// The result is true in this case, too.
    #[cfg(feature = "store")]
    pub(super) fn open_store(&mut self) -> bool {
        let has_folders = !self.folders.prompts.is_empty();
        let address = match self.store.address(has_folders) {
            Ok(Some(address)) => address,
            Ok(None) => return false,
            Err(message) => {
                self.settings = LoadedSettings::with_store_error(message);
                return true;
            }
        };
        match Postgres::open(address) {
            Ok(store) => {
                _ = store.wait_for_first_load(); // the library reports the error, and the server keeps trying
                self.opened_store = Some(Arc::new(store));
                self.has_store = !self.project;
            }
            Err(error) => self.settings = LoadedSettings::with_store_error(error.to_string()),
        }
        true
    }

    /// Validates the options that select a database, without connecting to it.
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

    /// Returns the library for the working directory. Warns if `--project` is set, but the project
    /// has no prompts.
    pub(super) fn library_with_warnings(&self, reporter: &Reporter) -> Library {
        let library = self.library();
        if let Some(hint) = library.missing_project_hint() {
            reporter.warn(&hint);
        }
        library
    }

    /// Returns the library for the working directory, which may have been deleted.
    pub(super) fn library(&self) -> Library {
        self.library_with_project(env::current_dir().ok().as_deref())
    }

    /// Returns the library for a folder, which may be in a project.
    pub(super) fn library_at(&self, folder: &Path) -> Library {
        self.library_with_project(Some(folder))
    }

    /// Returns the library, including the prompts of the project that contains `folder`, as far as
    /// they are trusted.
    fn library_with_project(&self, folder: Option<&Path>) -> Library {
        let problems = &self.settings.problems;
        if self.settings.is_unusable {
            let problems = SettingsProblems::in_unreadable_file(problems.clone());
            return Library::default().with_builtin().with(problems);
        }
        let mut library = self.library_without_project(folder);
        if let Some(folder) = self.project_folder(folder) {
            let trust = self.project_trust();
            library = library.with_project(folder, dirs::home_dir().as_deref(), trust);
        }
        if let (Some(lock), Some(copies)) = (&self.settings.packs, folder_of_packs()) {
            library = library.with_packs(lock.clone(), copies);
        }
        if !problems.is_empty() {
            library = library.with(SettingsProblems::in_readable_file(problems.clone()));
        }
        library
    }

    /// Returns the trust settings, or `None` if `--project` was passed, which trusts every project.
    fn project_trust(&self) -> Option<Arc<Trust>> {
        if self.project {
            None
        } else {
            self.settings.trust.clone()
        }
    }

    /// Returns the working folder, in which to look for a project, or `None` if no prompts of
    /// projects may be served: neither was `--project` passed, nor is there a list of trusted ones.
    fn project_folder<'f>(&self, working_folder: Option<&'f Path>) -> Option<&'f Path> {
        let serves_projects = self.project || self.settings.trust.is_some();
        if serves_projects {
            working_folder
        } else {
            None
        }
    }

    /// Returns the library without the project's own prompts. It does include the prompts that the
    /// project provides for agents, e.g. in `.claude/commands`.
    fn library_without_project(&self, working_folder: Option<&Path>) -> Library {
        #[cfg(feature = "store")]
        if let Some(store) = &self.opened_store {
            return self.add_builtin_and_mentions(Library::default().with_store(Arc::clone(store)));
        }
        let mut library = self.add_folders(Library::default());
        if self.folders.from_agents {
            library = self.add_agents(library, working_folder);
        }
        #[cfg(feature = "openapi")]
        {
            library = self.add_services(library);
        }
        self.add_builtin_and_mentions(library)
    }

    /// Adds the folders in `--prompts`, or the user's own folder if there are none.
    fn add_folders(&self, mut library: Library) -> Library {
        for (format, path) in self.folders.parsed_prompts() {
            library = library.with_named(format, path);
        }
        if self.folders.prompts.is_empty()
            && let Some(config) = user_folders::config()
        {
            library = library.with_own_folder(config.join("prompts"));
        }
        library
    }

    /// Adds the prompts that agents read: those in the project, and those in the user's folders.
    /// Skips folders that `--prompts` has already added.
    fn add_agents(&self, mut library: Library, working_folder: Option<&Path>) -> Library {
        if let Some(project) = self.project_folder(working_folder) {
            library = self.add_project_of_agents(library, project);
        }
        let explicit_folders = self.folders.parsed_prompts();
        for (format, path) in agent_names::prompt_folders() {
            let is_explicit = explicit_folders.iter().any(|(_, folder)| *folder == path);
            if !is_explicit {
                library = library.with_agent_folder(path, format, working_folder);
            }
        }
        library
    }

    /// Adds the prompts that agents read in a project, e.g. those in `.claude/commands`, as far as
    /// the project is trusted.
    fn add_project_of_agents(&self, mut library: Library, project: &Path) -> Library {
        let trust = self.project_trust();
        let home = dirs::home_dir();
        let home = home.as_deref();
        for (format, subfolder) in project_agent_folders(project, home) {
            let contains_plugins = !format.plugin.is_empty();
            if !contains_plugins {
                let prompts = Project::new(project, home, &subfolder, format, trust.clone());
                library = library.with(prompts);
            }
        }
        library
    }

    /// Adds the prompts from OpenAPI services and from the team's server. `--openapi` replaces the
    /// documents in the settings file.
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

    /// Adds the built-in prompts, and enables mentions, unless the options exclude them.
    fn add_builtin_and_mentions(&self, library: Library) -> Library {
        let library = library.with_mentions(!self.folders.no_mentions);
        if self.folders.no_builtin {
            library
        } else {
            library.with_builtin()
        }
    }

    /// Returns the log that counts the uses of prompts, or `None` if they must not be counted.
    ///
    /// That is so if the settings file says `usage = false`, if it wasn't read and may say so, or
    /// if `doctor` has started this program.
    pub(super) fn usage_log(&self) -> Option<UsageLog> {
        let may_be_off = self.settings.is_unusable || self.config.no_config || self.reads_store();
        let is_examined = env::var_os(EXAMINED_VARIABLE).is_some();
        if self.settings.is_usage_off || may_be_off || is_examined {
            return None;
        }
        Some(UsageLog::new(user_folders::state()?.join("usage")))
    }

    /// Returns the error for a command that needs the [log](PromptSource::usage_log) if there is
    /// none.
    pub(super) fn uncounted_message(&self) -> &'static str {
        if self.reads_store() {
            "uses of prompts in a database are not counted; leave out --by-use and --unused"
        } else {
            "uses of prompts are not counted, because config.toml has `usage = false`, or is not read"
        }
    }

    /// Returns whether the prompts come from a database, which takes the place of the settings
    /// file.
    fn reads_store(&self) -> bool {
        #[cfg(feature = "store")]
        return self.opened_store.is_some();
        #[cfg(not(feature = "store"))]
        return false;
    }

    /// Counts a use of each prompt whose expansion a command has delivered.
    pub(super) fn count_uses(&self, expanded: &[Found]) {
        if let Some(log) = self.usage_log() {
            for found in expanded {
                log.count(found, Way::CommandLine);
            }
        }
    }

    /// Returns how often prompts were used in the last 90 days, to offer the most used ones first.
    /// Returns no uses if they are not counted or can't be read.
    pub(super) fn recent_uses(&self) -> UsageCounts {
        let Some(log) = self.usage_log() else {
            return UsageCounts::default();
        };
        UsageCounts::read(log.folder(), days_ago(RECENT_DAYS)).unwrap_or_default()
    }

    /// Returns the folder for new prompts, which may not exist yet.
    ///
    /// # Errors
    /// Fails if the library has no writable folder, or the prompts are in a database.
    pub(super) fn new_prompts_folder(&self, library: &Library) -> anyhow::Result<PathBuf> {
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

    /// Returns whether the library includes everything that agents read, even in the project.
    pub(super) fn has_agents(&self) -> bool {
        self.project && self.folders.from_agents
    }

    /// Returns ` --project` if it was passed, to be appended to a command that the user is told to
    /// run.
    pub(super) fn project_option(&self) -> &'static str {
        if self.project { " --project" } else { "" }
    }

    /// Returns a hint on how to trust the project, if it has prompts and isn't trusted, regardless
    /// of `--project`.
    pub(super) fn untrusted_hint(&self) -> Option<String> {
        let trust = self.settings.trust.clone()?;
        let folder = env::current_dir().ok()?;
        let home = dirs::home_dir();
        let library = Library::default().with_project(&folder, home.as_deref(), Some(trust));
        library.view().untrusted_hint()
    }

    /// Returns a note about texts in the trusted project that changed since the user reviewed them,
    /// and records it as announced, so that it is returned once per terminal and change.
    pub(super) fn note_about_changes(&self) -> Option<String> {
        let trust = self.project_trust()?;
        let changed = self.library().view().changed_in_project()?;
        let is_new = trust.record_announcement(&changed.root, &changed.texts);
        is_new.then(|| changed.hint())
    }

    /// Returns how far symlinks may lead from a path on the command line. In the user's own
    /// folders, they may lead anywhere.
    pub(super) fn reach_of(&self, path: &Path) -> Reach {
        // A path with `..` can begin with a folder, and still lead out of it.
        if !has_parent_component(path) && self.is_in_own_folder(path) {
            Reach::Unrestricted
        } else {
            Reach::for_typed_path(path)
        }
    }

    /// Returns whether a path is in one of the folders that the user or an agent of the user keeps
    /// prompts in, or in this program's configuration folder.
    fn is_in_own_folder(&self, path: &Path) -> bool {
        let mut folders: Vec<PathBuf> = user_folders::config().into_iter().collect();
        for (_, folder) in self.folders.parsed_prompts() {
            folders.push(folder);
        }
        for (_, folder) in agent_names::prompt_folders() {
            folders.push(folder);
        }
        folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns a library that contains only one folder, given on the command line. `format` is
    /// `None` if the path determines it.
    pub(super) fn library_of(&self, format: Option<&'static Format>, folder: PathBuf) -> Library {
        let reach = self.reach_of(&folder);
        Library::of_folder(format, folder, reach)
    }
}

/// Returns the folders from which agents may read prompts in a folder of a project, and in the root
/// of its repository, without duplicates. The paths are relative.
fn project_agent_folders(project: &Path, home: Option<&Path>) -> Vec<(&'static Format, PathBuf)> {
    let mut folders = prompt_folders_in(project);
    if let Some(root) = repository_of(project, home) {
        for folder in prompt_folders_in(&root) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// The fix of a diagnostic whose message already says how to fix the problem.
#[cfg(feature = "store")]
const NO_SEPARATE_FIX: &str = "";

impl LoadedSettings {
    /// Returns unusable settings with an error about the database. `message` includes the fix.
    #[cfg(feature = "store")]
    fn with_store_error(message: String) -> LoadedSettings {
        LoadedSettings {
            problems: vec![Diagnostic::invalid(message, NO_SEPARATE_FIX)],
            is_unusable: true,
            ..LoadedSettings::default()
        }
    }
}

/// Returns the folder for the local copies of packs; `None` without a home directory.
pub(super) fn folder_of_packs() -> Option<PathBuf> {
    Some(user_folders::data()?.join("packs"))
}

/// Parses a value of `--prompts`, which is `DIR` or `FORMAT:DIR`. Returns the format, if there is
/// one, and the absolute path.
pub(super) fn parse_folder(option: &Path) -> (Option<&'static Format>, PathBuf) {
    match option.to_str().map(Format::split_prefix) {
        Some((Some(format), path)) => (Some(format), absolute(Path::new(path))),
        _ => (None, absolute(option)),
    }
}

/// Resolves `..` in a path, so that it can be compared with the paths of folders. Returns the path
/// unchanged if its parent doesn't exist.
pub(super) fn without_parents(path: PathBuf) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path;
    };
    // Otherwise, canonicalizing would only replace symlinks.
    if !has_parent_component(&path) {
        return path;
    }
    match fs::canonicalize(folder) {
        Ok(folder) => folder.join(name),
        Err(_) => path,
    }
}
