//! The facts about an agent, what its files register, and what `doctor` reports about them.

use super::config_file::ConfigFile;
use super::drafts::Drafts;
use super::edit::Syntax;
use super::environment::{Environment, Scope, System};
use super::files::{AgentFile, AgentFiles, Content};
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
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// What the agent calls itself.
    pub title: &'static str,
    /// The file names of its program.
    pub(super) programs: &'static [&'static str],
    /// The folder with the user's settings.
    pub(super) settings_folder: fn(&System) -> Option<PathBuf>,
    /// Where it keeps prompt files of its own, if not in a folder that the [table of
    /// formats](crate::prompt::FORMATS) has.
    pub(super) prompts: &'static [PromptFolder],
    pub(super) config: Config,
    /// Its prompt-submit hook. `None`: it has none that is known to add to the prompt.
    pub hook: Option<Hook>,
    /// The longest result of `expand_prompt` that its MCP client gets in one part; a longer one is
    /// divided. `None`: never divided, as no limit is known.
    pub part: Option<PartLimit>,
    /// How a prompt from its menu is changed, if the agent treats the text as a template: it runs
    /// commands in the text, and fills in marks of its own.
    pub menu_template: Option<MenuTemplate>,
    /// How it opens the draft of a message in an editor, if that is known.
    pub drafts: Option<Drafts>,
    /// Which messages of a prompt from its menu reach its model.
    pub menu: MenuMessages,
    /// How it starts a server.
    pub launch: Launch,
    /// What `doctor` checks in its files: why the agent would not start a server, or its model not
    /// call the tools.
    pub checks: &'static [ServerCheck],
    /// What to do after an installation.
    pub next_step: fn(installed: Installed) -> String,
}

/// A check that `doctor` makes of a registered server.
pub type ServerCheck = fn(&Examined, &Registration) -> Option<Finding>;

/// What is registered after an installation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Installed {
    /// Whether the user has a hook.
    pub has_hook: bool,
    /// Whether the agent does not run that hook until the user trusts it.
    pub is_hook_untrusted: bool,
}

/// A folder of prompt files below that with the user's settings: its format, as in
/// `--prompts FORMAT:DIR`, and its path there.
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
    pub(super) syntax: Syntax,
    /// How long the agent waits for the hook, in the unit of its config.
    pub(super) timeout: u32,
    /// The texts before and after the words of the command on Windows, for the shell that runs it
    /// there. Elsewhere, a POSIX shell does.
    pub(super) around_on_windows: [&'static str; 2],
    /// What to know before it is registered. Empty: nothing.
    pub(super) note: &'static str,
    /// Whether the model sees `<` and `>` as `&lt;` and `&gt;`.
    pub escapes_angle_brackets: bool,
    /// The keys, in the user's config, of the record that the user trusts the hook in this place of
    /// a file. `None`: the agent keeps no such record.
    pub(super) trust_record: Option<fn(file: &Path, place: HookPlace) -> Vec<String>>,
    /// Why the agent would not run a hook.
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
    /// Joins the pieces of a message so that the agent finds its marks in the values only.
    pub join: fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    /// Returns the prompt without the choices of arguments whose value is a mark of the agent.
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
    /// What most agents have in common.
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
        next_step: |_| String::new(),
    };

    /// Whether it is on this machine: its program is on `PATH`, or its folder exists.
    pub fn is_found(&self, system: &System) -> bool {
        self.programs.iter().any(|program| {
            system
                .environment
                .find_program(program, &system.project)
                .is_ok()
        }) || (self.settings_folder)(system).is_some_and(|folder| folder.is_dir())
    }

    /// The files that register servers, the one that takes precedence first; none for
    /// [`Scope::User`] if the home directory is unknown.
    pub fn config_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        match scope {
            Scope::Project => self
                .config
                .project
                .iter()
                .map(|name| system.project.join(name))
                .collect(),
            Scope::User | Scope::Local => {
                let folder = self.config.folder.unwrap_or(self.settings_folder)(system);
                folder
                    .iter()
                    .flat_map(|folder| self.config.user.iter().map(|name| folder.join(name)))
                    .collect()
            }
        }
    }

    /// The files of its hooks, the one that takes precedence first.
    fn hook_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        let Some(hook) = &self.hook else {
            return Vec::new();
        };
        match scope {
            Scope::Project => hook
                .project
                .iter()
                .map(|name| system.project.join(name))
                .collect(),
            _ => (self.settings_folder)(system)
                .map(|folder| folder.join(hook.user))
                .into_iter()
                .collect(),
        }
    }

    /// The file in which `install` registers a hook.
    pub(super) fn hook_path(&self, scope: Scope, system: &System) -> Option<PathBuf> {
        self.hook_paths(scope, system).pop()
    }

    /// Reads its files, the user's and the project's.
    pub fn read_files(&self, system: &System) -> AgentFiles {
        let files = |content, scope, paths: Vec<PathBuf>, syntax| {
            paths
                .into_iter()
                .map(move |path| AgentFile {
                    content,
                    scope,
                    path,
                    syntax,
                })
                .collect::<Vec<_>>()
        };
        let configs = |scope| {
            files(
                Content::Servers,
                scope,
                self.config_paths(scope, system),
                self.config.syntax,
            )
        };
        let mut listed = configs(Scope::User);
        listed.extend(configs(Scope::Project));
        if let Some(hook) = &self.hook {
            for scope in [Scope::Project, Scope::User] {
                let paths = self.hook_paths(scope, system);
                listed.extend(files(Content::Settings, scope, paths, hook.syntax));
                if hook.is_in_config {
                    let paths = self.config_paths(scope, system);
                    listed.extend(files(Content::Settings, scope, paths, self.config.syntax));
                }
            }
        }
        AgentFiles::read(listed)
    }

    /// The servers of its files, those that take precedence first; and why a file could not be
    /// read.
    pub fn registrations(
        &self,
        files: &AgentFiles,
        system: &System,
    ) -> (Vec<Registration>, Vec<Diagnostic>) {
        let (mut registrations, mut errors) = (Vec::new(), Vec::new());
        let local = self.config.local_servers.map(|_| Scope::Local);
        for scope in local.into_iter().chain([Scope::Project, Scope::User]) {
            for file in files.configs(scope) {
                match file
                    .map_err(Clone::clone)
                    .and_then(|file| self.config.registrations(file, scope, system))
                {
                    Ok(servers) => registrations.extend(servers),
                    Err(error) if errors.contains(&error) => {} // one file has several scopes
                    Err(error) => errors.push(error),
                }
            }
        }
        (registrations, errors)
    }

    /// The hooks in its files that run prompt-expander.
    pub fn hooks(&self, files: &AgentFiles) -> Vec<HookLine> {
        let in_file = |file: &ConfigFile| {
            self.hook
                .as_ref()
                .map(|hook| HookLine::all_in(file, hook.event))
        };
        files
            .settings()
            .flatten()
            .filter_map(in_file)
            .flatten()
            .collect()
    }

    /// The plugin of this program, with a server and a hook of its own, if it is enabled and
    /// installed: `NAME@MARKETPLACE`. (Only Claude Code has these keys.)
    pub fn plugin(&self, files: &AgentFiles, system: &System) -> Option<String> {
        let is_ours = |name: &str| name.split('@').next() == Some(env!("CARGO_PKG_NAME"));
        let mut all = files
            .settings()
            .flatten()
            .filter_map(|file| file.value["enabledPlugins"].as_object())
            .flatten();
        let (name, _) = all
            .find(|(name, _)| is_ours(name))
            .filter(|(_, enabled)| **enabled == true)?;
        let list = (self.settings_folder)(system)?.join("plugins/installed_plugins.json");
        let installed = whole_file::read(&list).ok()?;
        let installed: Value = serde_json::from_slice(&installed).ok()?;
        installed["plugins"].get(name).map(|_| name.clone())
    }

    /// Whether `install` would rewrite a hook: it is plain, and in the file where `install` would
    /// put it.
    pub fn is_by_install(&self, hook: &HookLine, system: &System) -> bool {
        hook.is_plain() && self.hook_path(hook.scope, system).as_ref() == Some(&hook.path)
    }

    /// Its record that the user trusts the hook in this place of a file, with the config that has
    /// it and its keys there.
    pub fn trust_record<'f>(
        &self,
        files: &'f AgentFiles,
        hooks: &Path,
        place: HookPlace,
    ) -> Option<(&'f ConfigFile, Vec<String>, &'f Value)> {
        let keys = self.hook.as_ref()?.trust_record?(hooks, place);
        files.configs(Scope::User).flatten().find_map(|file| {
            let record = keys
                .iter()
                .try_fold(&file.value, |value, key| value.get(key))?;
            Some((file, keys.clone(), record))
        })
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

/// A problem or a result: a hint says what works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the agent that it is about. `None`: all of them.
    pub agent: Option<&'static str>,
    /// What it is, where, and what to do.
    pub diagnostic: Diagnostic,
}

/// Where a server or a hook is registered, with all files of its agent.
#[derive(Debug, Clone, Copy)]
pub struct Examined<'a> {
    /// The agent.
    pub agent: &'static Agent,
    /// Where the agent is examined.
    pub system: &'a System,
    /// All files of the agent.
    pub files: &'a AgentFiles,
    /// The file that registers it, and where.
    pub path: &'a Path,
    /// The position in that file.
    pub position: Option<Position>,
}

impl<'a> Examined<'a> {
    /// A finding at the position of the registration.
    pub fn broken(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Kind::Invalid, message.into(), fix.into())
    }

    /// The same, as a warning: it works, but perhaps not always.
    pub fn warning(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Kind::Warning, message.into(), fix.into())
    }

    fn finding(&self, kind: Kind, message: String, fix: String) -> Finding {
        let diagnostic = Diagnostic::new(kind, message, fix)
            .at(self.position)
            .in_file(self.path);
        Finding {
            agent: Some(self.agent.name),
            diagnostic,
        }
    }

    /// The files with hooks and other settings that can be read.
    pub(super) fn settings(&self) -> impl Iterator<Item = &'a ConfigFile> + use<'a> {
        self.files.settings().flatten()
    }

    /// A finding if the setting with this dotted key has this value, which disables all hooks.
    pub(super) fn hooks_disabled_by(&self, key: &str, value: bool) -> Option<Finding> {
        let pointer = format!("/{}", key.replace('.', "/"));
        let file = self
            .settings()
            .find(|file| file.value.pointer(&pointer) == Some(&Value::Bool(value)))?;
        let message = format!("{} runs no hooks: `{key}` is {value}", self.agent.title);
        let finding = self.broken(message, format!("set `{key}` to {}", !value));
        Some(finding.at(file, &key.split('.').collect::<Vec<_>>()))
    }
}

impl Finding {
    /// The same finding at the position of these keys in another file.
    pub(super) fn at(self, file: &ConfigFile, keys: &[&str]) -> Finding {
        let diagnostic = Diagnostic {
            file: Some(file.path.as_path().into()),
            ..self.diagnostic
        };
        Finding {
            diagnostic: diagnostic.at(file.position(keys)),
            ..self
        }
    }
}
