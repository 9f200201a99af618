//! What prompt-expander knows about an agent, and how `doctor` reports problems with it.

use super::access_list::{AccessList, ListLocation, ListProblem};
use super::config_file::{ConfigFile, backup_path_of};
use super::config_text::{ConfigSyntax, JsonSyntax, value_at};
use super::drafts::Drafts;
use super::environment::{Environment, Scope, System};
use super::files::{AgentFile, AgentFiles, ConfigContent};
use super::hook_line::{HookPlace, RegisteredHook};
use super::limit::{PartLimit, Unit};
use super::menu::Menu;
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::prompt::{Diagnostic, Kind, Piece, Position, Prompt};
use crate::whole_file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A coding agent, e.g. Codex: where its files are, and how it behaves.
pub struct Agent {
    /// The agent's name on the command line.
    pub name: &'static str,
    /// Other names that the command line accepts.
    pub aliases: &'static [&'static str],
    /// The product name, for messages.
    pub title: &'static str,
    /// The file names of its executables.
    pub(super) programs: &'static [&'static str],
    /// Returns the folder of the user's settings, e.g. `~/.codex`.
    pub(super) settings_folder: fn(&System) -> Option<PathBuf>,
    /// Returns the settings files of an administrator, which override all others, in order of
    /// precedence. They may not exist.
    pub(super) managed_settings: fn(&System) -> Vec<PathBuf>,
    /// Folders of prompt files that are not already in the [table of
    /// formats](crate::prompt::FORMATS).
    pub(super) prompt_folders: &'static [PromptFolder],
    pub(super) config: Config,
    /// The prompt-submit hook; `None` if no hook of the agent is known to add to the prompt.
    pub hook: Option<Hook>,
    /// The maximum length of one result of `expand_prompt`. Longer results are split into parts.
    /// `None` if no limit is known; results are then never split.
    pub part_limit: Option<PartLimit>,
    /// How to escape a prompt that is picked from the agent's menu, if the agent treats it as a
    /// template: runs commands in it, and replaces placeholders.
    pub menu_template: Option<MenuTemplate>,
    /// How the agent's own menu gets entries for prompts, if only this agent would read them.
    pub menu: Option<Menu>,
    /// What precedes the name of a prompt of our server in the agent's menu, if the agent divides
    /// the words after it at blanks: the server then gets only some of them.
    pub(super) server_prompt_prefixes: &'static [&'static str],
    /// How the agent opens a draft message in an editor, if that is known.
    pub drafts: Option<Drafts>,
    /// Which messages reach the model when a prompt is picked from the agent's menu.
    pub menu_messages: MenuMessages,
    /// How the agent starts a server.
    pub launch: Launch,
    /// Agent-specific checks that `doctor` runs on a registered server: whether the agent would
    /// start it, and whether the model may call its tools.
    pub checks: &'static [ServerCheck],
    /// The lists in the agent's settings that can keep a registered server or its tools from the
    /// model.
    pub access_lists: &'static [AccessList],
    /// Returns what the user must do after an installation, besides restarting the agent.
    pub next_step: fn(installed: Installed) -> Option<&'static str>,
}

/// Returns a problem with a registered server, if there is one.
pub type ServerCheck = fn(&Examined, &Registration) -> Option<Finding>;

/// Returns a problem with a registered hook, if there is one.
pub type HookCheck = fn(&Examined, &RegisteredHook) -> Option<Finding>;

/// What is registered after an installation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Installed {
    /// Whether a hook is registered.
    pub has_hook: bool,
    /// Whether the agent won't run that hook until the user trusts it.
    pub is_hook_untrusted: bool,
}

/// The format of a folder of prompt files, as in `--prompts FORMAT:DIR`, and the path of the folder
/// relative to the settings folder.
pub(super) type PromptFolder = (&'static str, &'static str);

/// The prompt-submit hook of an agent.
pub struct Hook {
    /// The agent's name for the event.
    pub event: &'static str,
    pub(super) dialect: HookDialect,
    /// The maximum length of a context that reaches the model untruncated, if the hook is
    /// registered as `install` does it. `docs/clients/` says how it was measured.
    pub context_limit: (usize, Unit),
    /// Returns the limit that the hook's entry in the agent's file sets, in the unit of
    /// `context_limit`, or `None` if there is no limit in the entry.
    pub(super) limit_of_entry: fn(entry: &Value) -> Option<usize>,
    /// Keys of the hook's entry, besides those that all agents have.
    pub(super) further_keys: &'static [(&'static str, u32)],
    /// The user's hooks file, relative to the settings folder.
    pub(super) user_file: &'static str,
    /// A project's hooks files, in order of precedence. `install` prefers the last.
    pub(super) project_files: &'static [&'static str],
    /// Whether the files that register servers can contain hooks, too.
    pub(super) is_in_config: bool,
    pub(super) syntax: ConfigSyntax,
    /// How long the agent waits for the hook, in the unit of its config: seconds or milliseconds.
    pub(super) timeout: u32,
    /// What to write before the command on Windows, for the shell that the agent uses there. (On
    /// other systems, every agent uses a POSIX shell.)
    pub(super) windows_prefix: &'static str,
    /// What to write after the command on Windows.
    pub(super) windows_suffix: &'static str,
    /// What the user should know before the hook is registered, if anything.
    pub(super) note: Option<&'static str>,
    /// Whether the model sees `<` and `>` as `&lt;` and `&gt;`.
    pub escapes_angle_brackets: bool,
    /// Returns the path of keys in the user's config where the agent records that the user trusts
    /// the hook at `place` in `file`. `None` if the agent doesn't keep such records.
    pub(super) trust_record_keys: Option<fn(file: &Path, place: HookPlace) -> Vec<String>>,
    /// Agent-specific checks that `doctor` runs on the first hook: whether the agent would run it,
    /// and how.
    pub checks: &'static [HookCheck],
}

/// Which events an agent sends to its hook, and which answers it understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookDialect {
    /// That of Claude Code, which most agents have adopted. The hook adds a context to the message.
    ClaudeCode,
    /// That of Copilot CLI's event `userPromptTransformed`. The hook replaces what the model gets.
    CopilotCli,
    /// That of pi's extensions. The hook replaces the message.
    Pi,
}

impl Hook {
    /// The defaults for the fields that most agents share.
    pub(super) const DEFAULT: Hook = Hook {
        event: "UserPromptSubmit",
        dialect: HookDialect::ClaudeCode,
        context_limit: (1_000_000, Unit::Bytes),
        limit_of_entry: |_| None,
        further_keys: &[],
        user_file: "",
        project_files: &[],
        is_in_config: false,
        syntax: ConfigSyntax::Json(JsonSyntax::Lenient),
        timeout: 5,
        windows_prefix: "",
        windows_suffix: "",
        note: None,
        escapes_angle_brackets: false,
        trust_record_keys: None,
        checks: &[],
    };
}

/// Which messages reach the model when a prompt is picked from an agent's menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuMessages {
    /// All of them, as far as is known.
    All,
    /// A single text. Roles, attachments, or all messages after the first are dropped.
    OneText,
    /// All of them, merged into one user message. Images are kept, other attachments are dropped.
    WithoutRoles,
}

/// How to escape a prompt for an agent that treats it as a template.
pub struct MenuTemplate {
    /// Joins the pieces of a message. Escapes whatever the agent would replace or run in the
    /// prompt's own text, but not in the values of arguments.
    pub join: fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    /// Returns a copy of the prompt that accepts the agent's placeholders, e.g. `$1`, as values of
    /// arguments that otherwise only accept certain choices.
    pub accept_placeholders: fn(&Prompt, values: &BTreeMap<String, String>) -> Prompt,
}

/// How an agent starts a server and talks to it.
pub struct Launch {
    /// The `clientInfo.name` of its MCP client, if known.
    pub client_name: Option<&'static str>,
    /// Returns the environment that a server inherits. The `env` of its registration is applied on
    /// top.
    pub environment: fn(&System, &Registration) -> Environment,
    /// The variables that the agent expands in a registration.
    pub variables: Option<Variables>,
    /// Whether the agent is usually started from the desktop, where `PATH` differs from a
    /// terminal's.
    pub is_from_desktop: bool,
}

impl Agent {
    /// The defaults for the fields that most agents share.
    pub(super) const DEFAULT: Agent = Agent {
        name: "",
        aliases: &[],
        title: "",
        programs: &[],
        settings_folder: |_| None,
        managed_settings: |_| Vec::new(),
        prompt_folders: &[],
        config: Config::JSON,
        hook: None,
        part_limit: None,
        menu_template: None,
        menu: None,
        server_prompt_prefixes: &[],
        drafts: None,
        menu_messages: MenuMessages::All,
        launch: Launch::BY_EDITOR,
        checks: &[],
        access_lists: &[],
        next_step: |_| None,
    };

    /// Returns whether the agent seems to be installed: its program is on `PATH`, or its settings
    /// folder exists.
    pub fn is_found(&self, system: &System) -> bool {
        let environment = &system.environment;
        for program in self.programs {
            if environment.find_program(program, &system.project).is_ok() {
                return true;
            }
        }
        match (self.settings_folder)(system) {
            Some(folder) => folder.is_dir(),
            None => false,
        }
    }

    /// Returns the paths of the config files of a scope, in order of precedence. They may not
    /// exist. [`Scope::Local`] shares the user's files. Returns none if the files would be in the
    /// home directory, and it is unknown.
    pub fn config_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        if scope == Scope::Project {
            return join_all(&system.project, self.config.project_files);
        }
        let user_folder = self.config.user_folder.unwrap_or(self.settings_folder);
        match user_folder(system) {
            Some(folder) => join_all(&folder, self.config.user_files),
            None => Vec::new(),
        }
    }

    /// Returns the paths of the hooks files of a scope, in order of precedence. They may not exist.
    fn hook_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        let Some(hook) = &self.hook else {
            return Vec::new();
        };
        if scope == Scope::Project {
            return join_all(&system.project, hook.project_files);
        }
        match (self.settings_folder)(system) {
            Some(folder) => vec![folder.join(hook.user_file)],
            None => Vec::new(),
        }
    }

    /// Returns the paths of the files in which `install` may write the hook, the preferred one
    /// first. They may not exist.
    pub(super) fn hook_paths_of_install(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let preferred = self.hook_paths(scope, system).pop(); // the last, see `Hook::project_files`
        paths.extend(preferred);
        if self.hook.as_ref().is_some_and(|hook| hook.is_in_config) {
            paths.extend(self.config_paths(scope, system));
        }
        paths
    }

    /// Returns the paths of the backups that `install` makes of the user's files. A backup may not
    /// exist.
    pub fn backup_paths(&self, system: &System) -> Vec<PathBuf> {
        let mut paths = self.config_paths(Scope::User, system);
        for path in self.hook_paths_of_install(Scope::User, system) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths.iter().map(|path| backup_path_of(path)).collect()
    }

    /// Reads all files of the user and the project in which the agent registers servers or hooks.
    pub fn read_files(&self, system: &System) -> AgentFiles {
        let mut candidates = Vec::new();
        for scope in [Scope::User, Scope::Project] {
            candidates.extend(self.config_files(ConfigContent::Servers, scope, system));
        }
        if let Some(hook) = &self.hook {
            // In order of precedence: an administrator's settings, a project's, and the user's.
            let managed = (self.managed_settings)(system);
            candidates.extend(agent_files(
                managed,
                ConfigContent::Settings,
                Scope::User,
                hook.syntax,
            ));
            for scope in [Scope::Project, Scope::User] {
                let paths = self.hook_paths(scope, system);
                candidates.extend(agent_files(
                    paths,
                    ConfigContent::Settings,
                    scope,
                    hook.syntax,
                ));
                if hook.is_in_config {
                    candidates.extend(self.config_files(ConfigContent::Settings, scope, system));
                }
            }
        }
        AgentFiles::read(candidates)
    }

    /// Returns the config files of a scope, which may not exist. They are to be read for their
    /// `content`: the servers or the settings.
    fn config_files(
        &self,
        content: ConfigContent,
        scope: Scope,
        system: &System,
    ) -> Vec<AgentFile> {
        let paths = self.config_paths(scope, system);
        agent_files(paths, content, scope, self.config.syntax)
    }

    /// Returns the servers that the agent's files register, in order of precedence, along with the
    /// errors of files that can't be used.
    pub fn registered_servers(&self, files: &AgentFiles, system: &System) -> RegisteredServers {
        let mut servers = RegisteredServers::default();
        for scope in [Scope::Local, Scope::Project, Scope::User] {
            if scope == Scope::Local && self.config.local_servers_keys.is_none() {
                continue;
            }
            for file in files.configs(scope) {
                let registrations = match file {
                    Ok(file) => self.config.registrations(file, scope, system),
                    Err(error) => Err(error.clone()),
                };
                match registrations {
                    Ok(registrations) => servers.registrations.extend(registrations),
                    // The local and the user's servers are in the same file: report it once.
                    Err(error) if servers.errors.contains(&error) => {}
                    Err(error) => servers.errors.push(error),
                }
            }
        }
        servers
    }

    /// Returns the hooks in the agent's files that run prompt-expander.
    pub fn hooks(&self, files: &AgentFiles) -> Vec<RegisteredHook> {
        let Some(hook) = &self.hook else {
            return Vec::new();
        };
        let mut hooks = Vec::new();
        for file in files.settings().flatten() {
            hooks.extend(RegisteredHook::all_in(file, hook.event));
        }
        hooks
    }

    /// Returns how long a text from a hook can be before the agent truncates it. Returns `None` for
    /// an agent without hooks.
    ///
    /// It is the limit of the hook that `install` registers, or a lower one that the agent's files
    /// set for a hook that runs prompt-expander.
    pub fn context_limit(&self, system: &System) -> Option<(usize, Unit)> {
        let hook = self.hook.as_ref()?;
        let (mut max, unit) = hook.context_limit;
        for registered in self.hooks(&self.read_files(system)) {
            if let Some(limit) = (hook.limit_of_entry)(&registered.entry) {
                max = max.min(limit);
            }
        }
        Some((max, unit))
    }

    /// Returns the name of prompt-expander's Claude Code plugin, e.g. `prompt-expander@market`, if
    /// it is both enabled and installed. The plugin brings its own server and hook. Other agents
    /// don't have the files that this reads.
    pub fn plugin(&self, files: &AgentFiles, system: &System) -> Option<String> {
        let name = enabled_plugin(files)?;
        let list_path = (self.settings_folder)(system)?.join("plugins/installed_plugins.json");
        let list = whole_file::read(&list_path).ok()?;
        let list: Value = serde_json::from_slice(&list).ok()?;
        let is_installed = list["plugins"].get(name).is_some();
        if is_installed {
            Some(name.to_owned())
        } else {
            None
        }
    }

    /// Returns whether `install` may overwrite a hook: `install` could have written it, and it is
    /// in a file that `install` may use.
    pub fn is_managed_by_install(&self, hook: &RegisteredHook, system: &System) -> bool {
        let paths = self.hook_paths_of_install(hook.scope, system);
        hook.is_plain() && paths.contains(&hook.path)
    }

    /// Returns the agent's record that the user trusts the hook at `place` in `hooks_file`.
    pub fn trust_record<'f>(
        &self,
        files: &'f AgentFiles,
        hooks_file: &Path,
        place: HookPlace,
    ) -> Option<TrustRecord<'f>> {
        let hook = self.hook.as_ref()?;
        let trust_record_keys = hook.trust_record_keys?;
        let keys = trust_record_keys(hooks_file, place);
        for config in files.configs(Scope::User).flatten() {
            if let Some(value) = value_at(&config.value, &keys) {
                return Some(TrustRecord {
                    config,
                    keys,
                    value,
                });
            }
        }
        None
    }
}

/// The servers that an agent's files register.
#[derive(Debug, Default)]
pub struct RegisteredServers {
    /// The servers, in order of precedence.
    pub registrations: Vec<Registration>,
    /// One error for each file that can't be used.
    pub errors: Vec<Diagnostic>,
}

/// An agent's record that the user trusts a hook.
#[derive(Debug)]
pub struct TrustRecord<'f> {
    /// The config file that contains the record.
    pub(super) config: &'f ConfigFile,
    /// The path of keys to the record.
    pub(super) keys: Vec<String>,
    pub(super) value: &'f Value,
}

fn join_all(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).collect()
}

/// Returns an [`AgentFile`] for each path.
fn agent_files(
    paths: Vec<PathBuf>,
    content: ConfigContent,
    scope: Scope,
    syntax: ConfigSyntax,
) -> Vec<AgentFile> {
    let mut files = Vec::new();
    for path in paths {
        files.push(AgentFile {
            content,
            scope,
            path,
            syntax,
        });
    }
    files
}

/// Returns the name of prompt-expander's plugin, e.g. `prompt-expander@market`, if it is enabled.
/// The first settings file that mentions it in `enabledPlugins` decides.
fn enabled_plugin(files: &AgentFiles) -> Option<&str> {
    for file in files.settings().flatten() {
        let Some(plugins) = file.value["enabledPlugins"].as_object() else {
            continue;
        };
        for (name, is_enabled) in plugins {
            let without_marketplace = name.split('@').next();
            if without_marketplace == Some(env!("CARGO_PKG_NAME")) {
                return if *is_enabled == true {
                    Some(name)
                } else {
                    None
                };
            }
        }
    }
    None
}

/// Returns whether a JSON value is a list that contains this string.
pub(super) fn list_contains(list: &Value, string: &str) -> bool {
    match list.as_array() {
        Some(items) => items.iter().any(|item| item == string),
        None => false,
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Agent) -> bool {
        self.name == other.name
    }
}

impl Eq for Agent {}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Launch {
    /// An editor that behaves like VS Code.
    pub(super) const BY_EDITOR: Launch = Launch {
        variables: Some(Variables {
            prefix: "${",
            lookup: Variables::lookup_in_editor,
        }),
        is_from_desktop: true,
        ..Launch::BY_SDK
    };

    /// A program that uses an official MCP SDK unmodified: servers inherit its whole environment.
    pub(super) const BY_SDK: Launch = Launch {
        client_name: None,
        environment: |system, _| system.environment.clone(),
        variables: None,
        is_from_desktop: false,
    };
}

/// Something that `doctor` reports: a problem, or a confirmation that something works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the agent; `None` if the finding concerns all agents.
    pub agent: Option<&'static str>,
    /// What was found, where, and how to fix it.
    pub diagnostic: Diagnostic,
}

/// A registered server or hook that `doctor` examines.
#[derive(Debug, Clone, Copy)]
pub struct Examined<'a> {
    /// The agent.
    pub agent: &'static Agent,
    /// The system on which the agent runs.
    pub system: &'a System,
    /// All files of the agent.
    pub files: &'a AgentFiles,
    /// The file that contains the registration.
    pub path: &'a Path,
    /// The position of the registration in that file.
    pub position: Option<Position>,
}

impl<'a> Examined<'a> {
    /// Returns an error at the position of the registration.
    pub fn error(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Kind::Invalid, message.into(), fix.into())
    }

    /// Returns a warning at the position of the registration, for something that works but may not
    /// always.
    pub fn warning(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Kind::Warning, message.into(), fix.into())
    }

    fn finding(&self, kind: Kind, message: String, fix: String) -> Finding {
        let diagnostic = Diagnostic::new(kind, message, fix)
            .with_position(self.position)
            .in_file(self.path);
        Finding {
            agent: Some(self.agent.name),
            diagnostic,
        }
    }

    /// Returns the files with hooks and other settings, except those that can't be read.
    pub(super) fn settings(&self) -> impl Iterator<Item = &'a ConfigFile> + use<'a> {
        self.files.settings().flatten()
    }

    /// Returns whether a file has the settings of an administrator.
    pub(super) fn is_managed(&self, path: &Path) -> bool {
        let managed = (self.agent.managed_settings)(self.system);
        managed.iter().any(|file| file == path)
    }

    /// Returns an error at a key of a settings file. `fix` begins with a verb, because only an
    /// administrator may change some of the files.
    pub(super) fn settings_error(
        &self,
        file: &ConfigFile,
        keys: &[&str],
        message: String,
        fix: &str,
    ) -> Finding {
        let fix = if self.is_managed(&file.path) {
            format!("ask your administrator to {fix}")
        } else {
            fix.to_owned()
        };
        self.error(message, fix).at_key(file, keys)
    }

    /// Returns the problem if a list keeps `expand_prompt` of a server from the model.
    pub fn check_list(&self, list: &AccessList, server: &Registration) -> Option<Finding> {
        let title = self.agent.title;
        let mut finding = match list.location {
            ListLocation::ServerEntry => {
                let entry = Value::Object(server.entry.clone());
                let ListProblem { message, fix } = list.problem_in(&entry, server, title)?;
                Some(self.error(message, fix))
            }
            ListLocation::Settings => self.settings().find_map(|file| {
                let ListProblem { message, fix } = list.problem_in(&file.value, server, title)?;
                Some(self.settings_error(file, list.keys, message, fix))
            }),
        }?;
        finding.diagnostic.kind = list.problem_kind();
        Some(finding)
    }

    /// Returns an error if the settings disable all hooks, i.e. set the dotted key, e.g.
    /// `features.hooks`, to `disabling_value`. The first file that has the key decides.
    pub(super) fn hooks_disabled_if(&self, key: &str, disabling_value: bool) -> Option<Finding> {
        let keys: Vec<&str> = key.split('.').collect();
        for file in self.settings() {
            let Some(value) = value_at(&file.value, &keys) else {
                continue;
            };
            if *value != disabling_value {
                return None;
            }
            let title = self.agent.title;
            let message = format!("{title} runs no hooks: `{key}` is {disabling_value}");
            let fix = format!("set `{key}` to {}", !disabling_value);
            return Some(self.settings_error(file, &keys, message, &fix));
        }
        None
    }
}

impl Finding {
    /// Moves the finding to the position of a key in a file.
    pub(super) fn at_key(self, file: &ConfigFile, keys: &[&str]) -> Finding {
        let diagnostic = Diagnostic {
            file: Some(file.path.as_path().into()),
            ..self.diagnostic
        };
        Finding {
            diagnostic: diagnostic.with_position(file.position(keys)),
            ..self
        }
    }
}
