//! The options for all commands, the environment variables that select prompts, and the library
//! that they select.

use super::output::Reporter;
use super::serve::options::Serve;
#[cfg(feature = "openapi")]
use super::unrepeated::Unrepeated;
pub(super) use super::user_folders::absolute;
use super::{agent, user_folders};
use crate::library::{Layer, Library, Reach};
use crate::prompt::{Diagnostic, Format};
#[cfg(feature = "openapi")]
use crate::sources::{
    HeaderValue, OpenApiOptions, SecretHeader, Team, check_base, check_header_name,
};
use crate::sources::{Project, SettingsProblems, Trust};
use anyhow::{Context, bail};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

// All options that select prompts. (Not a doc comment: clap would print it.)
#[derive(Debug, Default, Args)]
pub(super) struct PromptSource {
    #[command(flatten)]
    pub(super) folders: Folders,
    // Whether the user's prompts are in a database.
    #[arg(skip)]
    pub(super) has_store: bool,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub(super) store: super::database::StoreOptions,
    #[cfg(feature = "store")]
    #[arg(skip)]
    pub(super) opened: Option<Arc<crate::sources::Postgres>>,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[arg(skip)]
    pub(super) settings: Settings,
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

/// What the settings file says.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) folders: Folders,
    #[cfg(feature = "openapi")]
    pub(super) openapi: Vec<OpenApi>,
    #[cfg(feature = "openapi")]
    pub(super) team: Option<Arc<Team>>,
    pub(super) serve: Serve,
    /// `None` if there is no settings file that could grant it.
    pub(super) trust: Option<Arc<Trust>>,
    /// The lock of the user's packs, beside the file; `None` if no settings file is read.
    pub(super) packs: Option<PathBuf>,
    pub(super) problems: Vec<Diagnostic>,
    /// Whether nothing is known of what the file says.
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

// Those that have a key in the settings file.
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
    pub(super) openapi: OpenApi,
}

// The documents whose operations are prompts.
#[cfg(feature = "openapi")]
#[derive(Debug, Default, Clone, Args)]
pub(super) struct OpenApi {
    /// Add prompts that a service renders: operations of an OpenAPI document; can be repeated
    ///
    /// The document is YAML or JSON, of version 3.0, 3.1 or 3.2. An operation is a prompt if it has
    /// the extension `x-mcp-prompt`, `x-zuplo-route` with `mcp` of the type `prompt`, or
    /// `x-zuplo-mcp-prompt`. The service is called when such a prompt is expanded, never for a
    /// list. Your own prompts override those of the same name.
    #[arg(long = "openapi", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) openapi: Vec<PathBuf>,
    /// Make the operation with this `operationId` a prompt, too; can be repeated
    #[arg(long, value_name = "ID", requires = "openapi")]
    pub(super) openapi_operation: Vec<String>,
    /// The address of the service, instead of the first server in the document
    #[arg(long, value_name = "URL", requires = "openapi", value_parser = Unrepeated(base))]
    pub(super) openapi_base: Option<String>,
    /// Send a header to the service, whose value is in a file, or in an environment variable; can
    /// be repeated
    ///
    /// The value is read at each call, is sent to the service's own address only, and is never
    /// shown. Quote the option for the shell: `--openapi-header 'Authorization: Bearer $TOKEN'`.
    /// The word before the value, here `Bearer`, may be left out.
    #[arg(long, value_name = "NAME: @FILE|$VARIABLE", requires = "openapi", value_parser = Unrepeated(header))]
    pub(super) openapi_header: Vec<SecretHeader>,
    /// Call the service even if its address is that of a private network
    #[arg(long, requires = "openapi", overrides_with = "openapi_allow_private")]
    pub(super) openapi_allow_private: bool,
}

/// What follows the command of a line, and the action of that, if it has one.
fn after(line: &ArgMatches) -> Option<&ArgMatches> {
    let (_, after) = line.subcommand()?;
    Some(after.subcommand().map_or(after, |(_, after)| after))
}

/// Returns whether a command was described with the options for all commands. A flag has a value
/// even if it is not given.
fn has_common_options(command: &ArgMatches) -> bool {
    matches!(command.try_contains_id("no_builtin"), Ok(true))
}

impl ConfigOptions {
    /// Returns these options, or those after the command if there are any.
    pub(super) fn followed_by(self, after: ConfigOptions) -> ConfigOptions {
        if after.config.is_some() || after.no_config {
            after
        } else {
            self
        }
    }
}

impl Folders {
    fn followed_by(mut self, after: Folders) -> Folders {
        self.prompts.extend(after.prompts);
        Folders {
            prompts: self.prompts,
            from_agents: self.from_agents || after.from_agents,
            no_builtin: self.no_builtin || after.no_builtin,
            no_mentions: self.no_mentions || after.no_mentions,
            #[cfg(feature = "openapi")]
            openapi: self.openapi.followed_by(after.openapi),
        }
    }
}

/// The options for all commands, as a command has them. Its help leaves them out.
pub(super) fn hidden_options() -> Vec<Arg> {
    let options = PromptSource::augment_args(Command::new(""));
    options
        .get_arguments()
        .map(|option| option.clone().hide(true))
        .collect()
}

impl PromptSource {
    /// Returns the options that a line gives before its command and after it. If both give an
    /// option that has one value, the later one counts.
    pub(super) fn of(line: &ArgMatches) -> Result<PromptSource, clap::Error> {
        let before = PromptSource::from_arg_matches(line)?;
        match after(line) {
            Some(after) if has_common_options(after) => {
                Ok(before.followed_by(PromptSource::from_arg_matches(after)?))
            }
            _ => Ok(before),
        }
    }

    fn followed_by(self, after: PromptSource) -> PromptSource {
        PromptSource {
            folders: self.folders.followed_by(after.folders),
            #[cfg(feature = "store")]
            store: self.store.followed_by(after.store),
            config: self.config.followed_by(after.config),
            project: self.project || after.project,
            ..PromptSource::default()
        }
    }

    /// The library for the working directory. Prints a warning if --project was given and there is
    /// no project.
    pub(super) fn library_with_warnings(&self, reporter: &Reporter) -> Library {
        let library = self.library();
        if let Some(absence) = library.absent_project() {
            reporter.warn(&absence);
        }
        library
    }

    /// Opens the database of --store, and waits for the first attempt to read it. Returns whether
    /// one is given.
    #[cfg(feature = "store")]
    pub(super) fn open_store(&mut self) -> bool {
        let has_folders = !self.folders.prompts.is_empty();
        let Some(address) = self.store.address(has_folders) else {
            return false;
        };
        match address.and_then(|address| {
            crate::sources::Postgres::open(address).map_err(|error| error.to_string())
        }) {
            Ok(store) => {
                _ = store.wait();
                (self.opened, self.has_store) = (Some(Arc::new(store)), !self.project);
            }
            Err(why) => {
                let problem = Diagnostic::error(None, why, "correct it, and start again");
                self.settings = Settings {
                    problems: vec![problem],
                    is_unusable: true,
                    ..Settings::default()
                };
            }
        }
        true
    }

    /// The folder that new prompts are written to, which may be missing.
    pub(super) fn folder_of_new(&self, library: &Library) -> anyhow::Result<PathBuf> {
        let store = library.store(if self.project {
            Layer::PROJECT
        } else {
            Layer::USER
        });
        let store = store.context(
            "there is no folder of your own prompts to write to; choose one with --prompts DIR",
        )?;
        if self.has_store {
            bail!(
                "the prompts are in a store, and in no folder; choose one with --prompts DIR instead"
            );
        }
        Ok(store?.folder().to_owned())
    }

    /// The library for the working directory.
    pub(super) fn library(&self) -> Library {
        self.library_at(None)
    }

    /// Whether the prompts of agents are read, including those in the project.
    pub(super) fn has_agents(&self) -> bool {
        self.project && (self.folders.from_agents || self.settings.folders.from_agents)
    }

    /// What a command that is shown needs to be about the same prompts.
    pub(super) fn project_option(&self) -> &'static str {
        if self.project { " --project" } else { "" }
    }

    /// What to say of the project's prompts if they are only there because of --project.
    pub(super) fn untrusted_hint(&self) -> Option<String> {
        let folder = std::env::current_dir().ok()?;
        let library = Library::default().with_project(
            &folder,
            dirs::home_dir().as_deref(),
            self.settings.trust.clone(),
        );
        self.settings
            .trust
            .as_ref()
            .and_then(|_| library.view().untrusted_hint())
    }

    /// What a terminal is told once of texts of the trusted repository that were not shown.
    pub(super) fn changes_to_note(&self) -> Option<String> {
        let trust = self.settings.trust.as_ref().filter(|_| !self.project)?;
        let changed = self.library().view().changed_in_project()?;
        let is_new = trust.is_new_for_terminal(&changed.root, &changed.texts);
        is_new.then(|| changed.hint())
    }

    /// The library for this folder; `None` is the working directory.
    pub(super) fn library_at(&self, folder: Option<&Path>) -> Library {
        let Settings {
            trust,
            problems,
            is_unusable,
            ..
        } = &self.settings;
        if *is_unusable {
            return Library::default()
                .with_builtin()
                .with(SettingsProblems::of_unusable_file(problems.clone()));
        }
        let trust = trust.clone().filter(|_| !self.project);
        // The working directory may have been deleted.
        let project = folder
            .map(Path::to_owned)
            .or_else(|| std::env::current_dir().ok());
        let project = project.filter(|_| self.project || trust.is_some());
        let mut library = self.library_in(project.as_deref(), trust.clone());
        if let Some(folder) = project {
            library = library.with_project(&folder, dirs::home_dir().as_deref(), trust);
        }
        if let Some((lock, data)) = self.settings.packs.clone().zip(folder_of_packs()) {
            library = library.with_packs(lock, data);
        }
        if problems.is_empty() {
            library
        } else {
            library.with(SettingsProblems::of_usable_file(problems.clone()))
        }
    }

    /// How far links may lead in what a command names: anywhere in a folder of the user's own.
    pub(super) fn reach_of(&self, path: &Path) -> Reach {
        let own = self.named_folders().into_iter().map(|(_, folder)| folder);
        let of_agents = agent::prompt_folders()
            .into_iter()
            .map(|(_, folder)| folder);
        let mut own = own.chain(of_agents).chain(user_folders::config());
        let has_parents = path.components().any(|step| step == Component::ParentDir);
        if !has_parents && own.any(|folder| path.starts_with(folder)) {
            Reach::Own
        } else {
            Reach::of_named(path)
        }
    }

    /// The library of one folder that a command names.
    pub(super) fn library_of(&self, format: Option<&'static Format>, folder: PathBuf) -> Library {
        let reach = self.reach_of(&folder);
        Library::of_folder(format, folder, reach)
    }

    /// The library without the prompts of the project, but with those of agents in it.
    fn library_in(&self, project: Option<&Path>, trust: Option<Arc<Trust>>) -> Library {
        let settings = &self.settings.folders;
        #[cfg(feature = "store")]
        if let Some(store) = &self.opened {
            let library = Library::default().with_store(Arc::clone(store));
            let library = library.with_mentions(!self.folders.no_mentions);
            return if self.folders.no_builtin {
                library
            } else {
                library.with_builtin()
            };
        }
        let named = self.named_folders();
        let own = user_folders::config().map(|config| config.join("prompts"));
        let mut library = Library::default();
        if let Some(path) = own.filter(|_| named.is_empty()) {
            library = library.with_folder(path, Format::OWN, Layer::USER);
        }
        for (format, path) in &named {
            library = library.with_named(*format, path.clone());
        }
        if self.folders.from_agents || settings.from_agents {
            let home = dirs::home_dir();
            let folders = Format::of_agents().filter(|(format, _)| format.plugin.is_empty());
            let of_project = project
                .into_iter()
                .flat_map(|from| folders.clone().map(move |folder| (from, folder)));
            for (from, (format, name)) in of_project {
                let home = home.as_deref();
                library = library.with(Project::new(from, home, name, format, trust.clone()));
            }
            let is_named = |path: &PathBuf| named.iter().any(|(_, named)| named == path);
            for (format, path) in agent::prompt_folders()
                .into_iter()
                .filter(|(_, path)| !is_named(path))
            {
                library = library.with_folder(path, format, Layer::AGENT);
            }
        }
        #[cfg(feature = "openapi")]
        {
            let options = &self.folders.openapi;
            let documents = if options.openapi.is_empty() {
                &self.settings.openapi
            } else {
                std::slice::from_ref(options)
            };
            for openapi in documents {
                library = openapi.add_to(library);
            }
            if let Some(team) = &self.settings.team {
                library = library.with_team(Arc::clone(team));
            }
        }
        let library = library.with_mentions(!(self.folders.no_mentions || settings.no_mentions));
        if self.folders.no_builtin || settings.no_builtin {
            library
        } else {
            library.with_builtin()
        }
    }

    /// The folders of --prompts, else those of the environment variable, else those of the settings
    /// file; each with the format that is named before it.
    fn named_folders(&self) -> Vec<(Option<&'static Format>, PathBuf)> {
        if !self.folders.prompts.is_empty() {
            let options = self.folders.prompts.iter();
            return options.map(|option| folder(option)).collect();
        }
        let listed = user_folders::prompts();
        if !listed.is_empty() {
            return listed.into_iter().map(|path| (None, path)).collect();
        }
        let keys = self.settings.folders.prompts.iter();
        keys.map(|key| folder(key)).collect()
    }
}

#[cfg(feature = "openapi")]
impl OpenApi {
    fn followed_by(mut self, after: OpenApi) -> OpenApi {
        self.openapi.extend(after.openapi);
        self.openapi_operation.extend(after.openapi_operation);
        self.openapi_header.extend(after.openapi_header);
        OpenApi {
            openapi_base: after.openapi_base.or(self.openapi_base),
            openapi_allow_private: self.openapi_allow_private || after.openapi_allow_private,
            ..self
        }
    }

    fn add_to(&self, library: Library) -> Library {
        let options = OpenApiOptions {
            operations: self.openapi_operation.clone(),
            base: self.openapi_base.clone(),
            headers: self.openapi_header.clone(),
            allow_private: self.openapi_allow_private,
            are_shared: self.openapi.len() > 1,
        };
        library.with_openapi(
            self.openapi.iter().map(|path| absolute(path)).collect(),
            options,
        )
    }
}

/// The address that `--openapi-base` takes.
#[cfg(feature = "openapi")]
pub(super) fn base(url: &str) -> Result<String, String> {
    check_base(url).map(|_| url.to_owned())
}

/// A header as `--openapi-header` takes it. Its value is not repeated in an error: it may be the
/// secret itself.
#[cfg(feature = "openapi")]
pub(super) fn header(option: &str) -> Result<SecretHeader, String> {
    const FORM: &str = "write NAME: @FILE or NAME: $VARIABLE, as in 'Authorization: Bearer $TOKEN'";
    let (name, value) = option.split_once(':').ok_or(FORM)?;
    let name = name.trim().to_owned();
    check_header_name(&name).map_err(|why| format!("the text before the colon {why}"))?;
    let value = value.trim();
    let (scheme, value) = match value.split_once(' ') {
        Some((scheme, value))
            if scheme
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '-') =>
        {
            (Some(scheme.to_owned()), value.trim_start())
        }
        _ => (None, value),
    };
    let value = match (value.strip_prefix('@'), value.strip_prefix('$')) {
        (Some(path), _) if !path.is_empty() => HeaderValue::File(absolute(Path::new(path))),
        (_, Some(variable)) => {
            let variable = variable
                .strip_prefix('{')
                .and_then(|inner| inner.strip_suffix('}'))
                .unwrap_or(variable);
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if variable.is_empty() || !variable.chars().all(is_name) {
                return Err(format!(
                    "`$` must be followed by the name of an environment variable; {FORM}"
                ));
            }
            HeaderValue::Variable(variable.to_owned())
        }
        _ => {
            return Err(format!(
                "its value must not be in the option, where others can see it; {FORM}"
            ));
        }
    };
    Ok(SecretHeader {
        name,
        scheme,
        value,
    })
}

/// The folder of the copies of packs.
pub(super) fn folder_of_packs() -> Option<PathBuf> {
    Some(user_folders::data()?.join("packs"))
}

/// The format and the absolute path of a folder, as `--prompts` takes it.
pub(super) fn folder(option: &Path) -> (Option<&'static Format>, PathBuf) {
    match option.to_str().map(Format::of_option) {
        Some((Some(format), path)) => (Some(format), absolute(Path::new(path))),
        _ => (None, absolute(option)),
    }
}

/// A path without `..`, so that it can be compared with those of folders; unchanged if its folder
/// does not exist.
pub(super) fn without_parents(path: PathBuf) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path;
    };
    match path.components().any(|part| part == Component::ParentDir) {
        true => fs::canonicalize(folder).map_or_else(|_| path.clone(), |folder| folder.join(name)),
        false => path,
    }
}
