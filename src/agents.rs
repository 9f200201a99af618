//! The agents: the programs in whose chat a user types `:research`.
//!
//! [`AGENTS`] is the table of them. Each file below `agents/` that is named for an agent holds all facts about it, so
//! another agent is another file and another row. Nothing here reads the process's environment: [`System`] is what the command
//! line found there.
//!
//! Sources: Codex, Claude Code, Gemini CLI and opencode were run, and their own `mcp add` compared; VS Code, Cursor and Zed
//! follow their documentation. The pages in `docs/clients/` describe what was observed.

mod claude_code;
mod codex;
mod cursor;
mod gemini;
mod opencode;
mod vscode;
mod zed;

mod config_file;
mod edit;
mod environment;
mod finding;
mod hook_line;
mod http_server;
mod install;
mod registration;

pub use config_file::{AgentFiles, ConfigError, ConfigFile, is_same_file};
pub use edit::Position;
pub use environment::{Environment, has_separator};
pub use finding::{Finding, RegisteredHook, RegisteredServer, Severity};
pub use hook_line::{HookLine, HookPlace};
pub use http_server::{HttpServer, MCP_PATH, Token, endpoint, is_exposed, is_on_this_machine, is_variable};
pub use install::{Installation, Plan, PlanError, Removal, Status};
pub use registration::{Arguments, Registration};

use edit::{Entry, Syntax};
use http_server::{Http, TokenPlace};
use serde_json::json;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All agents, in the order in which they are listed.
pub static AGENTS: [&Agent; 7] = [
    &codex::CODEX,
    &claude_code::CLAUDE_CODE,
    &gemini::GEMINI,
    &vscode::VSCODE,
    &cursor::CURSOR,
    &opencode::OPENCODE,
    &zed::ZED,
];

/// The name under which `install` registers the server.
pub const SERVER: &str = "prompts";

/// The environment variable with a list of folders of prompts, separated as in `PATH`; `--prompts` overrides it.
pub const PROMPTS_VARIABLE: &str = "PROMPT_EXPANDER_PROMPTS";

/// The facts about an agent.
pub struct Agent {
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// What the agent calls itself.
    pub title: &'static str,
    /// The file names of its program.
    programs: &'static [&'static str],
    /// The folder with the user's settings.
    settings_folder: fn(&System) -> Option<PathBuf>,
    prompts: Prompts,
    config: Config,
    /// Its prompt-submit hook. `None`: it has none that is known to add to the prompt.
    pub hook: Option<Hook>,
    /// How much of an expansion it shows its model. Empty: not measured.
    pub limits: &'static [Limit],
    /// The longest result of `expand_prompt` that its MCP client gets in one part; a longer one is divided. `None`: never
    /// divided, as no limit is known.
    pub part: Option<PartLimit>,
    /// Whether it runs commands that the text of a prompt from its menu contains, and fills in marks of its own.
    pub runs_prompts: bool,
    /// Which messages of a prompt from its menu reach its model.
    pub menu: MenuMessages,
    /// How it starts a server.
    pub launch: Launch,
    /// What `doctor` checks in its files.
    pub checks: Checks,
    /// What to do after an installation, for a project or for the user.
    pub next_step: fn(installed: &Plan, is_project: bool) -> String,
}

/// The folders in which an agent keeps prompt files of its own.
struct Prompts {
    /// The user's, below the folder with the settings.
    user: &'static [(PromptFormat, &'static str)],
    /// The user's, below the home directory.
    home: &'static [(PromptFormat, &'static str)],
    /// A project's, relative to its folder.
    project: &'static [(PromptFormat, &'static str)],
}

impl Prompts {
    const NONE: Prompts = Prompts { user: &[], home: &[], project: &[] };
}

/// What the prompt files of a folder are written for, as in `--prompts FORMAT:DIR`.
pub type PromptFormat = &'static str;

/// The files in which an agent registers servers.
struct Config {
    syntax: Syntax,
    /// The folder of the user's files, if it is not the one with the settings.
    folder: Option<fn(&System) -> Option<PathBuf>>,
    /// The user's files in that folder, the one that takes precedence first.
    user: &'static [&'static str],
    /// Which of them `install` creates if none exists.
    new_user: &'static str,
    /// A project's files, relative to its folder. `install` creates the first if none exists.
    project: &'static [&'static str],
    /// The key of the servers.
    servers: &'static str,
    /// A key below it that has the servers instead, if it exists.
    nested_servers: Option<&'static str>,
    /// The keys of the user's servers for one project, in the user's file.
    local_servers: Option<fn(&System) -> Vec<String>>,
    /// What a new file contains.
    template: &'static str,
    /// Whether only the user may read a new file.
    is_private: bool,
    /// The key of a server's environment.
    env: &'static str,
    /// The key of a server whose tools the agent calls without asking.
    trust: Option<&'static str>,
    /// Whether `command` is a list that includes the arguments.
    has_command_list: bool,
    /// What the agent's own `mcp add` writes for this program with these arguments.
    entry: fn(program: &str, arguments: &[String]) -> Entry,
    /// How a server over HTTP is registered.
    http: Http,
}

impl Config {
    /// What most configs in JSON have in common.
    const JSON: Config = Config {
        syntax: Syntax::Json { comments: true, trailing_commas: true },
        folder: None,
        user: &[],
        new_user: "",
        project: &[],
        servers: "mcpServers",
        nested_servers: None,
        local_servers: None,
        template: "{}\n",
        is_private: false,
        env: "env",
        trust: None,
        has_command_list: false,
        entry: |program, arguments| Entry {
            required: vec![
                ("type", Some(json!("stdio"))),
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: Vec::new(),
        },
        http: Http {
            entry: |url| vec![("type", json!("http")), ("url", json!(url))],
            token: TokenPlace::Header("${", "}"),
        },
    };
}

/// The prompt-submit hook of an agent.
pub struct Hook {
    /// What the agent calls the event.
    pub event: &'static str,
    /// The user's file, in the folder with the user's settings.
    user: &'static str,
    /// A project's files, the one that takes precedence first. The last is the one that `install` writes.
    project: &'static [&'static str],
    /// Whether the files that register servers may have hooks, too.
    is_in_config: bool,
    /// Whether a project's settings take precedence over the user's.
    is_project_first: bool,
    syntax: Syntax,
    /// The unit of `timeout`.
    pub timeout_unit: Duration,
    /// The shell that runs the command on Windows. Elsewhere it is a POSIX shell.
    windows_shell: WindowsShell,
    /// Whether a hook that fails blocks every prompt.
    pub blocks_on_failure: bool,
    /// The variable that names the project's folder to the hook.
    pub project_variable: Option<&'static str>,
    /// Whether the model sees `<` and `>` as `&lt;` and `&gt;`.
    pub escapes_angle_brackets: bool,
    /// The keys, in the user's config, of the record that the user trusts the hook in this place of a file. `None`: the agent keeps
    /// no such record.
    trust_record: Option<fn(file: &Path, place: HookPlace) -> Vec<String>>,
    /// Why the agent would not run a hook.
    pub check: fn(&RegisteredHook) -> Option<Finding>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WindowsShell {
    Bash,
    Cmd,
    PowerShell,
}

/// Which messages of a prompt from an agent's menu reach its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuMessages {
    /// All of them, as far as is known.
    All,
    /// One text: the roles, the attachments or all messages but the first are lost.
    OneText,
    /// All of them, but as one of the user, without their roles; images as they are, and no other attachments.
    WithoutRoles,
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
    /// Its first message.
    pub opening: Opening,
    /// How it ends a server.
    pub ending: Ending,
}

/// The first message of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// `initialize` with this protocol version.
    Initialize(&'static str),
    /// `server/discover`, and `initialize` with this protocol version where that is unknown.
    Discover(&'static str),
}

/// How an agent ends a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// SIGTERM, on systems with signals.
    Terminate,
    /// SIGINT, on systems with signals.
    Interrupt,
    /// It closes the server's input.
    CloseInput,
}

/// The variables that an agent replaces in the texts of its config.
pub struct Variables {
    /// What begins a variable; names after the first of these are not looked up.
    marks: &'static [&'static str],
    /// Whether `$NAME` is a variable, as well as `${NAME}`.
    is_bare: bool,
    /// The value of a name; `None` leaves the text as it is.
    value: fn(&str, &System) -> Option<String>,
}

/// What `doctor` checks in the files of an agent.
pub struct Checks {
    /// Why the agent would not start a server.
    pub not_started: fn(&RegisteredServer) -> Option<Finding>,
    /// What prevents the model from calling the tools, or makes the agent ask first.
    pub approval: fn(&RegisteredServer) -> Option<Finding>,
    /// The keys of a registration that list the only tools, and those that are left out.
    pub tool_filters: Option<(&'static str, &'static str)>,
    /// Whether the first answer came too late.
    pub slow_start: fn(&RegisteredServer, Duration) -> Option<Finding>,
    /// The limit that the user has set for this delivery.
    pub configured_limit: fn(&RegisteredServer, Delivery) -> Option<usize>,
    /// What to do about an expansion of this length that is too long.
    pub shorten: fn(usize) -> String,
}

/// For whom an agent reads a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For the user, in every project
    #[default]
    User,
    /// For everybody in one project; the file is in the project
    Project,
    /// For the user in one project (Claude Code only); it is in the user's file
    Local,
}

/// The user's folders, environment and project.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// The home directory, if it is known.
    pub home: Option<PathBuf>,
    /// The configuration directory of the system: `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    pub config: Option<PathBuf>,
    /// The environment in which an agent would be started.
    pub environment: Environment,
    /// The project: the working directory.
    pub project: PathBuf,
}

impl System {
    /// The folder that a variable names, if it is not empty.
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        self.environment.get(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    fn below_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// `~/.config`, on every system, or where XDG_CONFIG_HOME says that it is.
    fn dot_config(&self) -> Option<PathBuf> {
        let xdg = self.folder("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        xdg.or_else(|| self.below_home(".config"))
    }
}

impl Agent {
    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static Agent> {
        AGENTS.into_iter().find(|agent| agent.name == name || agent.aliases.contains(&name))
    }

    /// Those that have a prompt-submit hook.
    pub fn with_hook() -> impl Iterator<Item = &'static Agent> {
        AGENTS.into_iter().filter(|agent| agent.hook.is_some())
    }

    /// Whether a server can be registered so that the agent calls its tools without asking, as `install` does.
    pub fn has_trust(&self) -> bool {
        self.config.trust.is_some()
    }

    /// Whether it is on this machine: its program is on `PATH`, or its folder exists.
    pub fn is_found(&self, system: &System) -> bool {
        self.programs.iter().any(|program| system.environment.find_program(program, &system.project).is_ok())
            || self.settings_folder(system).is_some_and(|folder| folder.is_dir())
    }

    /// The folder with the user's settings. `None`: the home directory is unknown.
    pub fn settings_folder(&self, system: &System) -> Option<PathBuf> {
        (self.settings_folder)(system)
    }

    /// The user's folders with prompt files of all agents, each once, in the order of the agents. They may be missing.
    pub fn prompt_folders(system: &System) -> Vec<(PromptFormat, PathBuf)> {
        let mut folders = Vec::new();
        for agent in AGENTS {
            let settings = agent.settings_folder(system);
            let in_settings = settings.iter().flat_map(|folder| below(folder, agent.prompts.user));
            let in_home = system.home.iter().flat_map(|folder| below(folder, agent.prompts.home));
            folders.extend(in_settings.chain(in_home));
        }
        let mut known = HashSet::new();
        folders.retain(|(_, path)| known.insert(path.clone()));
        folders
    }

    /// The same in a project, relative to its folder.
    pub fn project_prompt_folders() -> Vec<(PromptFormat, &'static str)> {
        let mut folders = AGENTS.iter().flat_map(|agent| agent.prompts.project).copied().collect::<Vec<_>>();
        let mut known = HashSet::new();
        folders.retain(|(_, path)| known.insert(*path));
        folders
    }

    /// The folder with the files that register the user's servers.
    fn config_folder(&self, system: &System) -> Option<PathBuf> {
        self.config.folder.map_or_else(|| self.settings_folder(system), |folder| folder(system))
    }

    /// The agent whose MCP client calls itself this.
    pub fn of_client(name: &str) -> Option<&'static Agent> {
        AGENTS.into_iter().find(|agent| agent.launch.client == Some(name))
    }

    /// The limit of this delivery, if it is known.
    pub fn limit(&self, delivery: Delivery) -> Option<Limit> {
        self.limits.iter().find(|limit| limit.delivery == delivery).copied()
    }

    /// The files that register servers, the one that takes precedence first; none for [`Scope::User`] if the home directory
    /// is unknown.
    pub fn config_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        let Config { user, project, local_servers, .. } = &self.config;
        match scope {
            Scope::Local if local_servers.is_none() => Vec::new(),
            Scope::Project => project.iter().map(|name| system.project.join(name)).collect(),
            Scope::User | Scope::Local => {
                self.config_folder(system).iter().flat_map(|folder| user.iter().map(|name| folder.join(name))).collect()
            }
        }
    }

    /// The config that `install` creates if none exists.
    fn new_config_path(&self, scope: Scope, system: &System) -> Option<PathBuf> {
        match scope {
            Scope::User => Some(self.config_folder(system)?.join(self.config.new_user)),
            _ => self.config_paths(scope, system).into_iter().next(),
        }
    }

    /// The keys that lead to the servers in a config.
    fn server_keys(&self, scope: Scope, system: &System) -> Vec<String> {
        match (scope, self.config.local_servers) {
            (Scope::Local, Some(keys)) => keys(system),
            _ => vec![self.config.servers.to_owned()],
        }
    }

    /// The files that may have hooks, the one that takes precedence first.
    fn hook_paths(&self, scope: Scope, system: &System) -> Vec<PathBuf> {
        let Some(hook) = &self.hook else { return Vec::new() };
        let mut paths: Vec<PathBuf> = match scope {
            Scope::User => self.settings_folder(system).map(|folder| folder.join(hook.user)).into_iter().collect(),
            Scope::Project => hook.project.iter().map(|name| system.project.join(name)).collect(),
            Scope::Local => Vec::new(),
        };
        if hook.is_in_config {
            paths.extend(self.config_paths(scope, system));
        }
        paths
    }

    /// The file in which `install` registers a hook.
    fn hook_path(&self, scope: Scope, system: &System) -> Option<PathBuf> {
        let hook = self.hook.as_ref()?;
        match scope {
            Scope::User => Some(self.settings_folder(system)?.join(hook.user)),
            Scope::Project => Some(system.project.join(hook.project.last()?)),
            Scope::Local => None,
        }
    }
}

fn below(folder: &Path, names: &[(PromptFormat, &str)]) -> Vec<(PromptFormat, PathBuf)> {
    names.iter().map(|(format, name)| (*format, folder.join(name))).collect()
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
    const BY_EDITOR: Launch = Launch {
        variables: Some(Variables { marks: &["${"], is_bare: false, value: Variables::of_editor }),
        is_from_desktop: true,
        ..Launch::BY_SDK
    };

    /// A program that passes on its environment, and uses one of the official SDKs as it is.
    const BY_SDK: Launch = Launch {
        client: None,
        environment: |system, _| system.environment.clone(),
        variables: None,
        is_from_desktop: false,
        opening: Opening::Initialize("2025-11-25"),
        ending: Ending::CloseInput,
    };
}

impl Checks {
    const NONE: Checks = Checks {
        not_started: |_| None,
        approval: |_| None,
        tool_filters: None,
        slow_start: |_, _| None,
        configured_limit: |_, _| None,
        shorten: |_| "shorten it, or name its material by path".to_owned(),
    };
}

impl Variables {
    /// A text with the variables in it replaced. What is not set stays as it is written.
    pub fn replace(&self, text: &str, system: &System) -> String {
        let mark = self.marks[0];
        let mut replaced = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(mark) {
            let name = if self.is_bare { after.strip_prefix('{') } else { Some(after) };
            let found = match name {
                Some(braced) => braced.split_once('}'),
                None => {
                    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                    Some(after.split_at(after.find(|letter| !is_of_name(letter)).unwrap_or(after.len())))
                }
            };
            let Some((name, after)) = found else { break };
            replaced.push_str(before);
            match (self.value)(name, system) {
                Some(value) => replaced.push_str(&value),
                None => replaced.push_str(&rest[before.len()..rest.len() - after.len()]),
            }
            rest = after;
        }
        replaced + rest
    }

    /// The first mark in a text that begins a variable.
    fn mark_in(&self, text: &str) -> Option<&'static str> {
        let is_named =
            |after: &str| after.starts_with(|letter: char| letter.is_ascii_alphanumeric() || "_{".contains(letter));
        let begins = |mark: &&&str| text.split(**mark).skip(1).any(|after| !self.is_bare || is_named(after));
        self.marks.iter().find(begins).copied()
    }

    /// `NAME` and `NAME:-default`.
    fn with_default(name: &str, system: &System) -> Option<String> {
        match name.split_once(":-") {
            Some((name, default)) => system.environment.text(name).or_else(|| Some(default.to_owned())),
            None => system.environment.text(name),
        }
    }

    /// `env:NAME`, and the predefined variables of VS Code.
    fn of_editor(name: &str, system: &System) -> Option<String> {
        match name {
            "workspaceFolder" => Some(system.project.display().to_string()),
            "userHome" => system.environment.text(if cfg!(windows) { "USERPROFILE" } else { "HOME" }),
            name => name.strip_prefix("env:").and_then(|name| system.environment.text(name)),
        }
    }
}

/// How an expansion gets to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As the result of `expand_prompt`: the object `{"prompt":"…"}` counts.
    Tool,
    /// As such a result, printed in full by a program that the model wrote (Codex).
    CodeMode,
    /// As the context of a prompt-submit hook, with the sentences around it.
    Hook,
}

impl Delivery {
    /// The name that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Delivery::Tool => "tool",
            Delivery::CodeMode => "code mode",
            Delivery::Hook => "hook",
        }
    }
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes in UTF-8
    Bytes,
    /// Unicode scalar values
    Characters,
    /// Units of UTF-16, as JavaScript counts
    Utf16,
}

impl Unit {
    /// The name that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Characters => "characters",
            Unit::Utf16 => "UTF-16 units",
        }
    }

    /// The length of a text in this unit.
    pub fn count(self, text: &str) -> usize {
        text.chars().map(|character| self.of(character)).sum()
    }

    /// The length of a character in this unit.
    pub fn of(self, character: char) -> usize {
        match self {
            Unit::Bytes => character.len_utf8(),
            Unit::Characters => 1,
            Unit::Utf16 => character.len_utf16(),
        }
    }
}

/// The longest text that an agent shows its model in full, unless the user has set another limit. `docs/clients/` says how it
/// was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How the text gets to the model.
    pub delivery: Delivery,
    /// The length of the longest text that is shown in full.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// What happens to a longer text.
    pub when_exceeded: &'static str,
}

/// The longest result of `expand_prompt` in one part: the object `{"prompt":"…"}` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimit {
    /// Its length.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// Whether a program that the model wrote may print the whole result, which has the object twice, once more encoded as a JSON
    /// string. The mean of the two lengths counts then.
    pub is_printed: bool,
}

impl PartLimit {
    /// The length of the result with this text, rounded up.
    pub fn length(self, text: &str) -> usize {
        text.chars()
            .map(|character| self.twice(character))
            .sum::<usize>()
            .saturating_add(self.twice_around())
            .div_ceil(2)
    }

    /// Twice the length of what is around the text.
    pub fn twice_around(self) -> usize {
        if self.is_printed { r#"{"prompt":""}{\"prompt\":\"\"}"#.len() } else { 2 * r#"{"prompt":""}"#.len() }
    }

    /// Twice what a character of the text adds to the length.
    pub fn twice(self, character: char) -> usize {
        // In JSON, and in a JSON string with that.
        let (once, again) = match character {
            '"' | '\\' => (2, 4),
            '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => (2, 3),
            '\0'..='\u{1f}' => (6, 7),
            other => (self.unit.of(other), self.unit.of(other)),
        };
        once + if self.is_printed { again } else { once }
    }
}

impl Limit {
    const fn tool(max: usize, unit: Unit, when_exceeded: &'static str) -> Limit {
        Limit { delivery: Delivery::Tool, max, unit, when_exceeded }
    }

    const fn hook(max: usize, unit: Unit) -> Limit {
        Limit { delivery: Delivery::Hook, max, unit, when_exceeded: "the hook asks the model to call the tool" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_found_by_its_name() {
        for agent in AGENTS {
            assert_eq!(Agent::named(agent.name), Some(agent));
        }
        assert_eq!(Agent::named("gemini-cli").unwrap().name, "gemini");
        assert_eq!(Agent::named("Codex"), None);
        assert_eq!(Agent::named(""), None);
    }

    #[test]
    fn the_environment_says_where_a_config_is() {
        let system = |environment: &[(&str, &str)]| System {
            home: Some("/h".into()),
            config: Some("/c".into()),
            project: "/p".into(),
            environment: environment.iter().copied().collect(),
        };
        let (home, moved) = (
            system(&[]),
            system(&[
                ("XDG_CONFIG_HOME", "/x"),
                ("CODEX_HOME", "/codex"),
                ("CLAUDE_CONFIG_DIR", "/claude"),
                ("GEMINI_CLI_HOME", "/gemini"),
            ]),
        );
        for (name, in_home, in_moved) in [
            ("codex", "/h/.codex/config.toml", "/codex/config.toml"),
            ("claude-code", "/h/.claude.json", "/claude/.claude.json"),
            ("gemini", "/h/.gemini/settings.json", "/gemini/.gemini/settings.json"),
            ("vscode", "/c/Code/User/mcp.json", "/c/Code/User/mcp.json"),
            ("cursor", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"),
            ("opencode", "/h/.config/opencode/opencode.json", "/x/opencode/opencode.json"),
        ] {
            let agent = Agent::named(name).unwrap();
            assert_eq!(agent.config_paths(Scope::User, &home)[0], Path::new(in_home));
            assert_eq!(agent.config_paths(Scope::User, &moved)[0], Path::new(in_moved));
            assert!(agent.config_paths(Scope::Project, &home).iter().all(|path| path.starts_with("/p")));
            assert!(agent.config_paths(Scope::User, &System::default()).is_empty());
        }
    }

    #[test]
    fn the_prompt_folders_of_all_agents_are_listed_once_below_the_home_directory_and_the_project() {
        let system = System { home: Some("/h".into()), config: Some("/c".into()), ..System::default() };
        let (user, project) = (Agent::prompt_folders(&system), Agent::project_prompt_folders());
        let has = |format, path: &str| user.iter().filter(|folder| **folder == (format, path.into())).count() == 1;
        assert!(has("claude", "/h/.claude/commands") && has("skills", "/h/.agents/skills"));
        assert!(has("vscode", "/c/Code/User/prompts") && has("opencode", "/h/.config/opencode/command"));
        let paths: HashSet<_> = user.iter().map(|(_, path)| path).collect();
        assert_eq!((paths.len(), user.len()), (10, 10));
        assert!(project.contains(&("gemini", ".gemini/commands")) && project.contains(&("skills", ".agents/skills")));
        assert!(project.iter().all(|(_, path)| path.starts_with('.')));
        assert_eq!(Agent::prompt_folders(&System::default()), []);
    }

    #[test]
    fn an_agent_passes_on_what_it_was_seen_to_pass_on() {
        let system = System {
            project: "/p".into(),
            environment: [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x"), ("MY_API_KEY", "k"), ("SSL_CERT_FILE", "c")]
                .into_iter()
                .collect(),
            ..System::default()
        };
        for (name, want) in [
            ("codex", "HOME SSL_CERT_FILE"),
            ("claude-code", "HOME XDG_CONFIG_HOME MY_API_KEY SSL_CERT_FILE CLAUDE_PROJECT_DIR"),
            ("gemini", "HOME XDG_CONFIG_HOME GEMINI_CLI"),
            ("zed", "HOME XDG_CONFIG_HOME MY_API_KEY SSL_CERT_FILE"),
        ] {
            let environment = (Agent::named(name).unwrap().launch.environment)(&system, &Registration::default());
            let names: Vec<&str> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
            assert_eq!(names.join(" "), want);
        }
    }

    #[test]
    fn variables_are_replaced_where_the_agent_replaces_them() {
        let environment = [("HOME", "/h"), ("USERPROFILE", "/h"), ("A", "a")].into_iter().collect();
        let system = System { project: "/p".into(), environment, ..System::default() };
        for (name, text, want) in [
            ("claude-code", "${A}/${B:-b}/${C}/$A", "a/b/${C}/$A"),
            ("vscode", "${userHome}/${env:A}/${workspaceFolder}/${input:x}", "/h/a//p/${input:x}"),
            ("opencode", "{env:A}/${A}", "a/${A}"),
            ("gemini", "${A", "${A"),
            ("gemini", "/$A/$A_/$/${A}$A", "/a/$A_/$/aa"),
        ] {
            let variables = Agent::named(name).unwrap().launch.variables.as_ref().unwrap();
            assert_eq!(variables.replace(text, &system), want, "{name}");
        }
        assert!(Agent::named("codex").unwrap().launch.variables.is_none());
    }
}
