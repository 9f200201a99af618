//! The facts about an agent, what its files register, and what `doctor` reports about them.

use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, value_at};
use super::drafts::Drafts;
use super::environment::{Environment, Scope, System};
use super::files::{AgentFile, AgentFiles, ConfigContent};
use super::hook_line::{HookLine, HookPlace};
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::prompt::{Diagnostic, Kind, Piece, Position, Prompt};
use crate::whole_file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The facts about an agent.
pub struct Agent {
    /// The agent's name on the command line.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// What the agent calls itself.
    pub title: &'static str,
    /// The file names of its program.
    pub(super) programs: &'static [&'static str],
    /// The folder with the user's settings.
    pub(super) settings_folder: fn(&System) -> Option<PathBuf>,
    /// The folders where it keeps prompt files, but for those that are in the [table of
    /// formats](crate::prompt::FORMATS).
    pub(super) prompts: &'static [PromptFolder],
    pub(super) config: Config,
    /// Its prompt-submit hook. `None`: it has none that is known to add to the prompt.
    pub hook: Option<Hook>,
    /// The longest result of `expand_prompt` that its MCP client gets in one part; a longer one is
    /// divided. `None`: never divided, as no limit is known.
    pub part: Option<PartLimit>,
    /// How a prompt from its menu is changed, if the agent treats the text as a template: it runs
    /// commands in the text, and fills in placeholders of its own.
    pub menu_template: Option<MenuTemplate>,
    /// How it opens the draft of a message in an editor, if that is known.
    pub drafts: Option<Drafts>,
    /// Which messages of a prompt from its menu reach its model.
    pub menu: MenuMessages,
    /// How it starts a server.
    pub launch: Launch,
    /// The checks that `doctor` makes of a registered server: whether the agent would start it, and
    /// whether the model would call its tools.
    pub checks: &'static [ServerCheck],
    /// What to do after an installation, besides starting the agent.
    pub next_step: fn(installed: Installed) -> Option<&'static str>,
}

/// Returns why an agent would not use a registered server.
pub type ServerCheck = fn(&Examined, &Registration) -> Option<Finding>;

/// What is registered after an installation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Installed {
    /// Whether the user has a hook.
    pub has_hook: bool,
    /// Whether the agent does not run that hook until the user trusts it.
    pub is_hook_untrusted: bool,
}

/// A folder of prompt files: its format, as in `--prompts FORMAT:DIR`, and its path below the
/// folder with the user's settings.
pub(super) type PromptFolder = (&'static str, &'static str);

/// The prompt-submit hook of an agent.
pub struct Hook {
    /// What the agent calls the event.
    pub event: &'static str,
    /// The length and the unit of the longest context that the model gets in full. `docs/clients/`
    /// says how it was measured.
    pub limit: (usize, Unit),
    /// The user's file, in the folder with the user's settings.
    pub(super) user: &'static str,
    /// A project's files, the one that takes precedence first. The last is the one that `install`
    /// writes.
    pub(super) project: &'static [&'static str],
    /// Whether the files that register servers may have hooks, too.
    pub(super) is_in_config: bool,
    pub(super) syntax: ConfigSyntax,
    /// How long the agent waits for the hook, in the unit of its config.
    pub(super) timeout: u32,
    /// The texts before and after the words of the command on Windows, for the shell that runs it
    /// there. Elsewhere, a POSIX shell does.
    pub(super) around_on_windows: [&'static str; 2],
    /// What to know before it is registered. Empty: nothing.
    pub(super) note: &'static str,
    /// Whether the model sees `<` and `>` as `&lt;` and `&gt;`.
    pub escapes_angle_brackets: bool,
    /// Returns the keys, in the user's config, of the record that the user trusts the hook at this
    /// place of a file. `None`: the agent keeps no such records.
    pub(super) trust_record_keys: Option<fn(file: &Path, place: HookPlace) -> Vec<String>>,
    /// Returns why the agent would not run a hook.
    pub check: fn(&Examined, &HookLine) -> Option<Finding>,
}

/// Which messages of a prompt from an agent's menu reach its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuMessages {
    /// All of them, as far as is known.
    All,
    /// One text: the roles, the attachments or all messages but the first are lost.
    OneText,
    /// All of them, but as one of the user, without their roles; images as they are, and no other
    /// attachments.
    WithoutRoles,
}

/// How a prompt is changed for an agent that treats its text as a template.
pub struct MenuTemplate {
    /// Joins the pieces of a message so that the agent finds its placeholders in the values only.
    pub join: fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    /// Returns the prompt without the choices of arguments whose value is such a placeholder.
    pub without_strict_marks: fn(&Prompt, values: &BTreeMap<String, String>) -> Prompt,
}

/// How an agent starts a server and talks to it.
pub struct Launch {
    /// What its MCP client calls itself, `clientInfo.name`, where that is known.
    pub client: Option<&'static str>,
    /// The environment of a server, before the variables of its registration.
    pub environment: fn(&System, &Registration) -> Environment,
    /// The variables that the agent replaces in a registration.
    pub variables: Option<Variables>,
    /// Whether it is usually started from the desktop, with another `PATH` than that of a terminal.
    pub is_from_desktop: bool,
}

impl Agent {
    /// The facts that most agents share.
    pub(super) const USUAL: Agent = Agent {
        name: "",
        aliases: &[],
        title: "",
        programs: &[],
        settings_folder: |_| None,
        prompts: &[],
        config: Config::JSON,
        hook: None,
        part: None,
        menu_template: None,
        drafts: None,
        menu: MenuMessages::All,
        launch: Launch::BY_EDITOR,
        checks: &[],
        next_step: |_| None,
    };

    /// Returns whether the agent is on this machine: its program is on `PATH`, or the folder with
    /// its settings exists.
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

    /// Returns the paths of the files that register servers for a scope, the one that takes
    /// precedence first. Without a home directory, the user has none.
    pub fn config_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        if scope == Scope::Project {
            return paths_in(&system.project, self.config.project);
        }
        let user_folder = self.config.folder.unwrap_or(self.settings_folder);
        match user_folder(system) {
            Some(folder) => paths_in(&folder, self.config.user),
            None => Vec::new(),
        }
    }

    /// Returns the paths of the files of hooks, the one that takes precedence first.
    fn hook_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        let Some(hook) = &self.hook else {
            return Vec::new();
        };
        if scope == Scope::Project {
            return paths_in(&system.project, hook.project);
        }
        match (self.settings_folder)(system) {
            Some(folder) => vec![folder.join(hook.user)],
            None => Vec::new(),
        }
    }

    /// Returns the path of the file in which `install` registers a hook: the last of the files that
    /// may have one.
    pub(super) fn hook_path(&self, scope: Scope, system: &System) -> Option<PathBuf> {
        self.hook_paths(scope, system).pop()
    }

    /// Reads the agent's files, the user's and the project's.
    pub fn read_files(&self, system: &System) -> AgentFiles {
        let mut files = Vec::new();
        for scope in [Scope::User, Scope::Project] {
            files.extend(self.config_files(ConfigContent::Servers, scope, system));
        }
        if let Some(hook) = &self.hook {
            // A project's settings take precedence over the user's.
            for scope in [Scope::Project, Scope::User] {
                let paths = self.hook_paths(scope, system);
                files.extend(agent_files(
                    paths,
                    ConfigContent::Settings,
                    scope,
                    hook.syntax,
                ));
                if hook.is_in_config {
                    files.extend(self.config_files(ConfigContent::Settings, scope, system));
                }
            }
        }
        AgentFiles::read(files)
    }

    /// Returns the files that register servers, to be read for their `content`.
    fn config_files(
        &self,
        content: ConfigContent,
        scope: Scope,
        system: &System,
    ) -> Vec<AgentFile> {
        let paths = self.config_paths(scope, system);
        agent_files(paths, content, scope, self.config.syntax)
    }

    /// Returns the servers in the agent's files, those that take precedence first.
    pub fn registered_servers(&self, files: &AgentFiles, system: &System) -> RegisteredServers {
        let mut servers = RegisteredServers::default();
        for scope in [Scope::Local, Scope::Project, Scope::User] {
            if scope == Scope::Local && self.config.local_servers.is_none() {
                continue;
            }
            for file in files.configs(scope) {
                match self.servers_in(file, scope, system) {
                    Ok(registrations) => servers.registrations.extend(registrations),
                    // One file may have the servers of two scopes.
                    Err(error) if servers.errors.contains(&error) => {}
                    Err(error) => servers.errors.push(error),
                }
            }
        }
        servers
    }

    /// Returns the servers that a file registers for a scope.
    ///
    /// # Errors
    /// The file cannot be read (then `file` is that error), or its servers are no object.
    pub(super) fn servers_in(
        &self,
        file: Result<&ConfigFile, &Diagnostic>,
        scope: Scope,
        system: &System,
    ) -> Result<Vec<Registration>, Diagnostic> {
        let file = file.map_err(Clone::clone)?;
        self.config.registrations(file, scope, system)
    }

    /// Returns the hooks in the agent's files that run prompt-expander.
    pub fn hooks(&self, files: &AgentFiles) -> Vec<HookLine> {
        let Some(hook) = &self.hook else {
            return Vec::new();
        };
        let mut hooks = Vec::new();
        for file in files.settings().flatten() {
            hooks.extend(HookLine::all_in(file, hook.event));
        }
        hooks
    }

    /// Returns the name of the plugin of this program, such as `prompt-expander@market`, if the
    /// settings enable it and Claude Code lists it as installed. The plugin has a server and a hook
    /// of its own. Other agents have no such settings.
    pub fn plugin(&self, files: &AgentFiles, system: &System) -> Option<String> {
        let name = enabled_plugin(files)?;
        let settings_folder = (self.settings_folder)(system)?;
        let list =
            whole_file::read(&settings_folder.join("plugins/installed_plugins.json")).ok()?;
        let installed: Value = serde_json::from_slice(&list).ok()?;
        let is_installed = installed["plugins"].get(name).is_some();
        if is_installed {
            Some(name.to_owned())
        } else {
            None
        }
    }

    /// Returns whether `install` would rewrite a hook: it is plain, and in the file where `install`
    /// would put it.
    pub fn is_by_install(&self, hook: &HookLine, system: &System) -> bool {
        hook.is_plain() && self.hook_path(hook.scope, system).as_ref() == Some(&hook.path)
    }

    /// Returns the agent's record that the user trusts the hook at this place of a file.
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

/// The servers in the files of an agent.
#[derive(Debug, Default)]
pub struct RegisteredServers {
    /// The servers, those that take precedence first.
    pub registrations: Vec<Registration>,
    /// Why a file could not be read.
    pub errors: Vec<Diagnostic>,
}

/// A record of an agent that its user trusts a hook.
#[derive(Debug)]
pub struct TrustRecord<'f> {
    /// The config that has the record.
    pub(super) config: &'f ConfigFile,
    /// The keys that lead to it.
    pub(super) keys: Vec<String>,
    pub(super) value: &'f Value,
}

/// Returns the paths of files in a folder.
fn paths_in(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).collect()
}

/// Returns files at these paths that are alike in all else.
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

/// Returns the name of this program's plugin, such as `prompt-expander@market`, if it is enabled.
///
/// The first settings file that has the plugin in `enabledPlugins` decides.
fn enabled_plugin(files: &AgentFiles) -> Option<&str> {
    for file in files.settings().flatten() {
        let Some(plugins) = file.value["enabledPlugins"].as_object() else {
            continue;
        };
        for (name, enabled) in plugins {
            let plugin = name.split('@').next(); // the marketplace follows the `@`
            if plugin == Some(env!("CARGO_PKG_NAME")) {
                return if *enabled == true { Some(name) } else { None };
            }
        }
    }
    None
}

/// Returns whether a value is a list with this text in it.
pub(super) fn list_contains(list: &Value, text: &str) -> bool {
    match list.as_array() {
        Some(items) => items.iter().any(|item| item == text),
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
    /// An editor like VS Code.
    pub(super) const BY_EDITOR: Launch = Launch {
        variables: Some(Variables {
            mark: "${",
            value: Variables::of_editor,
        }),
        is_from_desktop: true,
        ..Launch::BY_SDK
    };

    /// A program that passes on its environment, and uses one of the official SDKs as it is.
    pub(super) const BY_SDK: Launch = Launch {
        client: None,
        environment: |system, _| system.environment.clone(),
        variables: None,
        is_from_desktop: false,
    };
}

/// A problem that `doctor` found, or a hint that says what works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the agent that has the problem. `None`: all of them.
    pub agent: Option<&'static str>,
    /// The problem, its place, and what to do.
    pub diagnostic: Diagnostic,
}

/// A registered server or hook that `doctor` examines, with all files of its agent.
#[derive(Debug, Clone, Copy)]
pub struct Examined<'a> {
    /// The agent.
    pub agent: &'static Agent,
    /// The environment of the agent.
    pub system: &'a System,
    /// All files of the agent.
    pub files: &'a AgentFiles,
    /// The file with the registration.
    pub path: &'a Path,
    /// The position in that file.
    pub position: Option<Position>,
}

impl<'a> Examined<'a> {
    /// Returns an error at the position of the registration.
    pub fn broken(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Kind::Invalid, message.into(), fix.into())
    }

    /// Returns a warning at the position of the registration: it works, but perhaps not always.
    pub fn warning(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Kind::Warning, message.into(), fix.into())
    }

    /// Returns a finding of this kind at the position of the registration.
    fn finding(&self, kind: Kind, message: String, fix: String) -> Finding {
        let diagnostic = Diagnostic::new(kind, message, fix)
            .with_position(self.position)
            .in_file(self.path);
        Finding {
            agent: Some(self.agent.name),
            diagnostic,
        }
    }

    /// Returns the files with hooks and other settings, without those that cannot be read.
    pub(super) fn settings(&self) -> impl Iterator<Item = &'a ConfigFile> + use<'a> {
        self.files.settings().flatten()
    }

    /// Returns a finding if a settings file disables all hooks: if the setting `key`, which is
    /// dotted as in `features.hooks`, has the value `disabling`.
    pub(super) fn hooks_disabled_if(&self, key: &str, disabling: bool) -> Option<Finding> {
        let keys: Vec<&str> = key.split('.').collect();
        for file in self.settings() {
            if value_at(&file.value, &keys) == Some(&Value::Bool(disabling)) {
                let title = self.agent.title;
                let message = format!("{title} runs no hooks: `{key}` is {disabling}");
                let finding = self.broken(message, format!("set `{key}` to {}", !disabling));
                return Some(finding.at(file, &keys));
            }
        }
        None
    }
}

impl Finding {
    /// Returns the finding with another position: that of these keys in a file.
    pub(super) fn at(self, file: &ConfigFile, keys: &[&str]) -> Finding {
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
