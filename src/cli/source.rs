//! The options for all commands, the environment variables that select prompts, and the library that they select.

#[cfg(feature = "openapi")]
use super::install::text as path_text;
use super::{agent, output};
use crate::agents::PROMPTS_VARIABLE;
use crate::library::Library;
#[cfg(feature = "openapi")]
use crate::library::{HeaderValue, OpenApiOptions, SecretHeader, check_base, check_header_name};
use crate::prompt::System;
use crate::prompt::suggestion::closest;
use crate::wording::{named, quoted};
use clap::builder::{PathBufValueParser, TypedValueParser};
#[cfg(feature = "openapi")]
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
#[cfg(feature = "openapi")]
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

// The options for all commands.
#[derive(Debug, Default, Args)]
pub(super) struct Common {
    #[command(flatten)]
    pub(super) source: PromptSource,
    /// Print long output directly instead of in a pager (`less`, or the command in the environment variable PAGER)
    #[arg(long, overrides_with = "no_pager")]
    pub(super) no_pager: bool,
}

/// Options that the help of a command leaves out.
#[derive(Debug, Default)]
pub(super) struct Hidden<A>(pub(super) A);

// All options that select prompts. (Not a doc comment: clap would print it.)
#[derive(Debug, Default, Args)]
pub(super) struct PromptSource {
    #[command(flatten)]
    pub(super) folders: Folders,
    /// Add the project's prompts, which override all others: those in the nearest folder `.prompts`, from the working
    /// directory up to the root of the repository
    ///
    /// Use it only if you trust the repository, because its prompts override yours of the same name. Outside a repository,
    /// only the working directory is searched. Symlinks that point outside the folder are not followed.
    #[arg(long, overrides_with = "project")]
    pub(super) project: bool,
}

// Those that become part of a registration with an agent.
#[derive(Debug, Default, Args)]
pub(super) struct Folders {
    /// A folder of prompt files; can be repeated, and earlier folders override later ones
    ///
    /// The default is the folders in the environment variable PROMPT_EXPANDER_PROMPTS (separated as in PATH) or, if it is
    /// not set, the folder `prompt-expander/prompts` in your configuration directory.
    ///
    /// The folders of other programs are read as those programs read them, and never written to. They are known by their paths:
    /// `.claude/commands`, `.claude/skills`, `.codex/prompts`, `.gemini/commands`, `.opencode/command`, `.github/prompts`,
    /// `.cursor/commands`, `fabric/patterns`. For a folder elsewhere, put the format before it, as in `claude:DIR`: `claude`,
    /// `skills`, `codex`, `gemini`, `opencode`, `vscode`, `cursor`, `fabric`, `llm`, `continue`, or `hexai`, also for a file
    /// such as `user.jsonl`.
    #[arg(long, value_name = "[FORMAT:]DIR", value_hint = clap::ValueHint::DirPath,
          value_parser = PathBufValueParser::new().try_map(known_format))]
    pub(super) prompts: Vec<PathBuf>,
    /// Add the commands, prompts and skills of the agents on this machine (Codex, Claude Code, Gemini CLI, VS Code, Cursor and
    /// opencode), which your own prompts override; with --project also those in the project
    #[arg(long, overrides_with = "from_agents")]
    pub(super) from_agents: bool,
    /// Leave out the built-in prompts
    #[arg(long, overrides_with = "no_builtin")]
    pub(super) no_builtin: bool,
    #[cfg(feature = "openapi")]
    #[command(flatten)]
    pub(super) openapi: OpenApi,
}

// The documents whose operations are prompts.
#[cfg(feature = "openapi")]
#[derive(Debug, Default, Args)]
pub(super) struct OpenApi {
    /// Add prompts that a service renders: operations of an OpenAPI document; can be repeated
    ///
    /// The document is YAML or JSON, of version 3.0, 3.1 or 3.2. An operation is a prompt if it has the extension `x-mcp-prompt`,
    /// `x-zuplo-route` with `mcp` of the type `prompt`, or `x-zuplo-mcp-prompt`. The service is called when such a prompt is
    /// expanded, never for a list. Your own prompts override those of the same name.
    #[arg(long = "openapi", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) openapi: Vec<PathBuf>,
    /// Make the operation with this `operationId` a prompt, too; can be repeated
    #[arg(long, value_name = "ID", requires = "openapi")]
    pub(super) openapi_operation: Vec<String>,
    /// The address of the service, instead of the first server in the document
    #[arg(long, value_name = "URL", requires = "openapi", value_parser = Unrepeated(base))]
    pub(super) openapi_base: Option<String>,
    /// Send a header to the service, whose value is in a file, or in an environment variable; can be repeated
    ///
    /// The value is read at each call, is sent to the service's own address only, and is never shown. Quote the option for the
    /// shell: `--openapi-header 'Authorization: Bearer $TOKEN'`. The word before the value, here `Bearer`, may be left out.
    #[arg(long, value_name = "NAME: @FILE|$VARIABLE", requires = "openapi", value_parser = Unrepeated(header))]
    pub(super) openapi_header: Vec<SecretHeader>,
    /// Call the service even if its address is that of a private network
    #[arg(long, requires = "openapi", overrides_with = "openapi_allow_private")]
    pub(super) openapi_allow_private: bool,
}

impl<A: Args> Args for Hidden<A> {
    fn augment_args(command: Command) -> Command {
        let options = A::augment_args(Command::new(""));
        command.args(options.get_arguments().map(|option| Arg::hide(option.clone(), true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<A: FromArgMatches> FromArgMatches for Hidden<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        A::from_arg_matches(matches).map(Hidden)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Common {
    /// Combines the options before a command with those after it, and returns those that select prompts.
    pub(super) fn and(self, after: Hidden<Common>) -> PromptSource {
        self.source.and(after.0.source)
    }
}

impl PromptSource {
    /// Combines the options before a command with those after it.
    pub(super) fn and(self, after: PromptSource) -> PromptSource {
        PromptSource { folders: self.folders.and(after.folders), project: self.project || after.project }
    }

    /// The library for the working directory. Prints a warning if --project was given and there is no project.
    pub(super) fn library_with_warnings(&self) -> Library {
        let library = self.library();
        if let Some(absence) = library.absent_project() {
            output::warning(&absence);
        } else if self.project && std::env::current_dir().is_err() {
            output::warning("no project prompts: the working directory no longer exists; change to another one");
        }
        library
    }

    /// The library for the working directory.
    pub(super) fn library(&self) -> Library {
        self.library_at(None)
    }

    /// The library for this folder; `None` is the working directory.
    pub(super) fn library_at(&self, folder: Option<&Path>) -> Library {
        if !self.project {
            return self.folders.library();
        }
        match folder.map(Path::to_owned).or_else(|| std::env::current_dir().ok()) {
            Some(folder) => {
                let home = dirs::home_dir();
                self.folders.library_in(Some(&folder)).with_project(&folder, home.as_deref())
            }
            None => self.folders.library(), // the working directory was deleted
        }
    }
}

impl Folders {
    /// Combines the options before a command with those after it.
    pub(super) fn and(self, after: Folders) -> Folders {
        Folders {
            prompts: [self.prompts, after.prompts].concat(),
            from_agents: self.from_agents || after.from_agents,
            no_builtin: self.no_builtin || after.no_builtin,
            #[cfg(feature = "openapi")]
            openapi: self.openapi.and(after.openapi),
        }
    }

    /// Whether any of the options was given.
    pub(super) fn is_given(&self) -> bool {
        #[cfg(feature = "openapi")]
        let has_openapi = !self.openapi.openapi.is_empty();
        #[cfg(not(feature = "openapi"))]
        let has_openapi = false;
        self.no_builtin || self.from_agents || !self.prompts.is_empty() || has_openapi
    }

    /// The library without a project: from the options, the environment, or the user's folder.
    pub(super) fn library(&self) -> Library {
        self.library_in(None)
    }

    /// The same, with the agents' folders of the project that a folder belongs to, if --from-agents was given.
    fn library_in(&self, project: Option<&Path>) -> Library {
        let named = self.named();
        let own = dirs::config_dir().map(|config| config.join("prompt-expander").join("prompts"));
        let mut library = match named.is_empty() {
            true => Library::own(own),
            false => named
                .iter()
                .fold(Library::default(), |library, (system, path)| library.with_named(*system, path.clone())),
        };
        if self.from_agents {
            let home = dirs::home_dir();
            let of_project = project.into_iter().flat_map(|from| {
                agent::project_prompt_folders().into_iter().map(move |(system, name)| (from, system, name))
            });
            for (from, system, name) in of_project {
                library = library.with_agent_folder_of_project(system, name, from, home.as_deref());
            }
            let is_named = |path: &PathBuf| named.iter().any(|(_, named)| named == path);
            for (system, path) in agent::prompt_folders().into_iter().filter(|(_, path)| !is_named(path)) {
                library = library.with_agent_folder(system, path);
            }
        }
        #[cfg(feature = "openapi")]
        if !self.openapi.openapi.is_empty() {
            library = self.openapi.add_to(library);
        }
        if self.no_builtin { library } else { library.with_builtin() }
    }

    /// The folders of --prompts or, without any, of the environment variable; each with the system that is named before it.
    fn named(&self) -> Vec<(Option<System>, PathBuf)> {
        if !self.prompts.is_empty() {
            return self.prompts.iter().map(|option| folder(option)).collect();
        }
        let listed = std::env::var_os(PROMPTS_VARIABLE).unwrap_or_default();
        let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
        listed.map(|path| (None, absolute(&path))).collect()
    }
}

#[cfg(feature = "openapi")]
impl OpenApi {
    /// Combines the options before a command with those after it.
    fn and(self, after: OpenApi) -> OpenApi {
        OpenApi {
            openapi: [self.openapi, after.openapi].concat(),
            openapi_operation: [self.openapi_operation, after.openapi_operation].concat(),
            openapi_base: after.openapi_base.or(self.openapi_base),
            openapi_header: [self.openapi_header, after.openapi_header].concat(),
            openapi_allow_private: self.openapi_allow_private || after.openapi_allow_private,
        }
    }

    fn add_to(&self, library: Library) -> Library {
        let options = OpenApiOptions {
            operations: self.openapi_operation.clone(),
            base: self.openapi_base.clone(),
            headers: self.openapi_header.clone(),
            allow_private: self.openapi_allow_private,
        };
        library.with_openapi(self.openapi.iter().map(|path| absolute(path)).collect(), options)
    }

    /// These options with absolute paths, to be registered.
    pub(super) fn arguments(&self) -> anyhow::Result<Vec<String>> {
        let mut arguments = Vec::new();
        for document in &self.openapi {
            arguments.extend(["--openapi".to_owned(), path_text(&absolute(document))?]);
        }
        for id in &self.openapi_operation {
            arguments.extend(["--openapi-operation".to_owned(), id.clone()]);
        }
        if let Some(base) = &self.openapi_base {
            arguments.extend(["--openapi-base".to_owned(), base.clone()]);
        }
        for SecretHeader { name, scheme, value } in &self.openapi_header {
            let scheme = scheme.as_ref().map(|scheme| format!("{scheme} ")).unwrap_or_default();
            let value = match value {
                HeaderValue::File(path) => format!("@{}", path_text(path)?),
                HeaderValue::Variable(variable) => format!("${variable}"),
            };
            arguments.extend(["--openapi-header".to_owned(), format!("{name}: {scheme}{value}")]);
        }
        if self.openapi_allow_private {
            arguments.push("--openapi-allow-private".to_owned());
        }
        Ok(arguments)
    }
}

/// Parses the value of an option, and does not repeat it in an error, as clap would: it may have a secret.
#[cfg(feature = "openapi")]
#[derive(Debug, Clone, Copy)]
struct Unrepeated<T>(fn(&str) -> Result<T, String>);

#[cfg(feature = "openapi")]
impl<T: Clone + Send + Sync + 'static> TypedValueParser for Unrepeated<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, option: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let text = value.to_str().ok_or_else(|| "it is not UTF-8".to_owned());
        text.and_then(self.0).map_err(|why| {
            let option = option.map(Arg::to_string).unwrap_or_default();
            clap::Error::raw(ErrorKind::ValueValidation, format!("invalid value for '{option}': {why}\n"))
                .with_cmd(command)
        })
    }
}

/// The address that `--openapi-base` takes.
#[cfg(feature = "openapi")]
fn base(url: &str) -> Result<String, String> {
    check_base(url).map(|()| url.to_owned())
}

/// A header as `--openapi-header` takes it. Its value is not repeated in an error: it may be the secret itself.
#[cfg(feature = "openapi")]
fn header(option: &str) -> Result<SecretHeader, String> {
    const FORM: &str = "write NAME: @FILE or NAME: $VARIABLE, as in 'Authorization: Bearer $TOKEN'";
    let (name, value) = option.split_once(':').ok_or(FORM)?;
    let name = name.trim().to_owned();
    check_header_name(&name).map_err(|why| format!("the text before the colon {why}"))?;
    let value = value.trim();
    let (scheme, value) = match value.split_once(' ') {
        Some((scheme, value)) if scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') => {
            (Some(scheme.to_owned()), value.trim_start())
        }
        _ => (None, value),
    };
    let value = match (value.strip_prefix('@'), value.strip_prefix('$')) {
        (Some(path), _) if !path.is_empty() => HeaderValue::File(absolute(Path::new(path))),
        (_, Some(variable)) => {
            let variable = variable.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(variable);
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if variable.is_empty() || !variable.chars().all(is_name) {
                return Err(format!("`$` must be followed by the name of an environment variable; {FORM}"));
            }
            HeaderValue::Variable(variable.to_owned())
        }
        _ => return Err(format!("its value must not be in the option, where others can see it; {FORM}")),
    };
    Ok(SecretHeader { name, scheme, value })
}

/// The same folder, unless a format before it is misspelled: `cluade:DIR`, where there is no folder of this name.
fn known_format(option: PathBuf) -> Result<PathBuf, String> {
    let misspelled = || {
        let (word, folder) = option.to_str()?.split_once(':')?;
        let names = System::ALL.map(System::name);
        let is_folder = names.contains(&word) || word.chars().count() < 2 || absolute(&option).exists();
        closest(word, names).filter(|_| !is_folder).map(|format| (word.to_owned(), format!("{format}:{folder}")))
    };
    match misspelled() {
        Some((word, meant)) => {
            let (word, meant) = (quoted(&word), named(&meant));
            Err(format!("there is no such folder, and no format {word}; write {meant} if that is meant"))
        }
        None => Ok(option),
    }
}

/// The system and the absolute path of a folder, as `--prompts` takes it.
pub(super) fn folder(option: &Path) -> (Option<System>, PathBuf) {
    match option.to_str().map(System::of_option) {
        Some((Some(system), path)) => (Some(system), absolute(Path::new(path))),
        _ => (None, absolute(option)),
    }
}

/// The absolute path. `~/` is the home directory even where no shell has expanded it, as in an agent's config.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = match path.strip_prefix("~").map(|below| (below, dirs::home_dir())) {
        Ok((below, Some(home))) => home.join(below),
        _ => path.to_owned(),
    };
    std::path::absolute(&path).unwrap_or(path)
}

/// A path without `..`, so that it can be compared with those of folders; unchanged if its folder does not exist.
pub(super) fn without_parents(path: PathBuf) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path };
    match path.components().any(|part| part == Component::ParentDir) {
        true => fs::canonicalize(folder).map_or_else(|_| path.clone(), |folder| folder.join(name)),
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Arguments;
    use clap::Command;

    /// `agents` reads the options of a registration by itself, since it knows nothing of the command line.
    #[test]
    fn in_a_registration_exactly_these_options_are_recognized_as_naming_prompts() {
        let selecting = PromptSource::augment_args(Command::new(""));
        let registered = Folders::augment_args(Command::new(""));
        for option in super::super::command().get_arguments() {
            let has = |command: &Command| command.get_arguments().any(|known| known.get_id() == option.get_id());
            let name = format!("--{}", option.get_long().unwrap());
            let spellings = match option.get_action().takes_values() {
                true => vec![vec![name.clone(), "/a".to_owned()], vec![format!("{name}=/a")]],
                false => vec![vec![name.clone()]],
            };
            // With these, a server calls another one.
            let is_remote = name.starts_with("--openapi");
            for words in spellings {
                let arguments = Arguments::of(&words);
                assert_eq!(arguments.only_name_prompts(), has(&selecting) && !is_remote, "{words:?}");
                assert_eq!(arguments.of_library == words, has(&registered), "{words:?}");
                let is_folder = has(&registered) && option.get_action().takes_values() && !is_remote;
                assert_eq!(arguments.folders, if is_folder { vec!["/a"] } else { vec![] }, "{words:?}");
            }
            let other_names = option.get_short().is_some() || option.get_all_aliases().is_some();
            assert!(!(has(&selecting) && other_names), "{name} has another name that `Arguments` does not know");
        }
    }
}
