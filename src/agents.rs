//! The coding agents in whose chat a user types `:research`.
//!
//! [`AGENTS`] lists them. Everything about one agent is in the file below `agents/` that is named
//! after it, so supporting a new agent means adding a file and an entry to the list. Nothing here
//! reads the process's environment: callers pass it as a [`System`].
//!
//! The behavior of VS Code, Cursor and Zed is taken from their documentation. That of all others
//! was observed, and new registrations match what their own `mcp add` writes; see `docs/clients/`.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod pi;
mod qwen;
mod vscode;
mod zed;

mod access_list;
mod agent;
mod config_file;
mod config_text;
mod drafts;
mod environment;
mod files;
mod hook_dialect;
mod hook_line;
mod install;
mod limit;
mod menu;
mod menu_location;
mod registration;
mod variables;

pub use access_list::AccessList;
pub use agent::{
    Agent, Examined, Finding, Hook, HookCheck, Installed, Launch, MenuMessages, MenuTemplate,
    RegisteredServers, ServerCheck, TrustRecord,
};
pub use config_file::{Backup, ConfigFile};
pub use drafts::{DraftEditor, Drafts, EditorProblem};
pub use environment::{Environment, Scope, System};
pub use files::AgentFiles;
pub use hook_dialect::{HookAnswer, SubmittedMessage};
pub use hook_line::{HookPlace, RegisteredHook};
pub use install::{Installation, Plan, RegistrationStatus, plan_removal};
pub use limit::{PartLimit, Unit};
pub use menu::{COMMAND_ENTRY_START, Menu, MenuBody, MenuLayout, SignPlace};
pub use menu_location::MenuLocation;
pub use registration::{Registration, SERVER_NAME};
pub use variables::Variables;

use crate::prompt::{Format, MenuMark};
use crate::whole_file;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// All agents, in display order.
pub static AGENTS: [&Agent; 10] = [
    &codex::CODEX,
    &claude_code::CLAUDE_CODE,
    &gemini::GEMINI,
    &qwen::QWEN,
    &copilot::COPILOT,
    &vscode::VSCODE,
    &cursor::CURSOR,
    &opencode::OPENCODE,
    &pi::PI,
    &zed::ZED,
];

/// The environment variable that lists folders of prompts, separated as in `PATH`. `--prompts`
/// overrides it.
pub const PROMPTS_VARIABLE: &str = "PROMPT_EXPANDER_PROMPTS";

impl Agent {
    /// Returns the agent with this name, title, alias or program: `claude-code`, `Claude Code` and
    /// `claude` are all Claude Code, and `codex-cli` is Codex. Compares only letters and digits,
    /// ignores their case, and drops `cli` at the end.
    pub fn by_name(name: &str) -> Option<&'static Agent> {
        let name = comparable_name(name);
        AGENTS.into_iter().find(|agent| {
            let own_names = [&[agent.name, agent.title], agent.aliases, agent.programs].concat();
            own_names
                .into_iter()
                .any(|own| comparable_name(own) == name)
        })
    }

    /// Returns the agent that writes draft messages to paths like this one, e.g. Codex for
    /// `~/.codex/editor/.tmpAb3dE9.md`. Looks only at the last two components of the path.
    pub fn by_draft_path(path: &Path) -> Option<&'static Agent> {
        let path = std::path::absolute(path).ok()?;
        let folder = path.parent()?.file_name().unwrap_or_default().to_str()?;
        let file_name = path.file_name()?.to_str()?;
        for agent in AGENTS {
            if let Some(drafts) = &agent.drafts
                && (drafts.is_draft_file)(folder, file_name)
            {
                return Some(agent);
            }
        }
        None
    }

    /// Returns the agents that have a prompt-submit hook.
    pub fn all_with_hook() -> impl Iterator<Item = &'static Agent> {
        AGENTS.into_iter().filter(|agent| agent.hook.is_some())
    }

    /// Returns the folders where the user may keep prompt files of other programs, without
    /// duplicates. They may not exist.
    ///
    /// Most come from the [table of formats](crate::prompt::FORMATS), relative to the home
    /// directory or to wherever an environment variable such as `CODEX_HOME` moved an agent's
    /// settings. The others are the [`Agent::prompt_folders`].
    pub fn user_prompt_folders(system: &System) -> Vec<(&'static Format, PathBuf)> {
        let mut folders = Vec::new();
        if let Some(home) = &system.home {
            let moves = moved_settings_folders(system);
            for (format, path) in prompt_folders_in(home) {
                folders.push((format, apply_moves(home.join(path), &moves)));
            }
        }
        for agent in AGENTS {
            let Some(settings_folder) = (agent.settings_folder)(system) else {
                continue;
            };
            for (format_name, path) in agent.prompt_folders {
                if let Some(format) = Format::by_name(format_name) {
                    folders.push((format, settings_folder.join(path)));
                }
            }
        }
        // Remove duplicate paths; `insert` returns false for a path that it has seen.
        let mut seen_paths = HashSet::new();
        folders.retain(|(_, path)| seen_paths.insert(path.clone()));
        folders
    }

    /// Returns the agent whose MCP client sends this `clientInfo.name`.
    pub fn by_client_name(name: &str) -> Option<&'static Agent> {
        AGENTS
            .into_iter()
            .find(|agent| agent.launch.client_name == Some(name))
    }

    /// Returns the name of the prompt of our server that has this name in the agent's menu, e.g.
    /// `research` for `mcp__prompts__research` in Claude Code. Returns `None` if the name is not
    /// that of such a prompt, or if the server gets all of the words after it.
    pub fn server_prompt<'n>(&self, name: &'n str) -> Option<&'n str> {
        let mut prefixes = self.server_prompt_prefixes.iter();
        prefixes.find_map(|prefix| name.strip_prefix(prefix))
    }

    /// Returns the name of the prompt for which `sync` has written the menu entry with this name.
    /// Returns `None` if there is no such entry. Never looks outside of the menu's folder.
    pub fn prompt_of_menu_entry(&self, name: &str, system: &System) -> Option<String> {
        let is_file_name =
            !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
        if !is_file_name {
            return None;
        }
        let menu = self.menu.as_ref()?;
        let folder = (self.settings_folder)(system)?.join(menu.folder);
        let path = menu.entry_path(&folder, name);
        let text = whole_file::read_text(&path).ok()?;
        Some(MenuMark::parse(&text)?.prompt)
    }
}

/// Returns the part of an agent's name that tells it from others, in lowercase: `geminicli` and
/// `Gemini CLI` become `gemini`. See [`Agent::by_name`].
fn comparable_name(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    let name = letters.collect::<String>().to_lowercase();
    match name.strip_suffix("cli") {
        Some(start) => start.to_owned(),
        None => name,
    }
}

/// Returns the folders from which agents read prompts in a project or the home directory, each with
/// its format. The paths are relative to `folder`.
///
/// Those in the [table of formats](crate::prompt::FORMATS) may not exist. The others are the
/// `skills` in hidden folders, e.g. `.kiro/skills`, that exist now.
pub fn prompt_folders_in(folder: &Path) -> Vec<(&'static Format, PathBuf)> {
    let mut folders = Vec::new();
    for (format, path) in Format::agent_folders() {
        folders.push((format, PathBuf::from(path)));
    }
    let mut hidden_folders = Vec::new();
    for entry in whole_file::entries_of(folder) {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            hidden_folders.push(name);
        }
    }
    hidden_folders.sort();
    for name in hidden_folders {
        let path = Path::new(&name).join("skills");
        let format = Format::for_folder(&path);
        let is_known = folders.iter().any(|(_, known)| *known == path);
        // `.git/skills` has no format of an agent.
        if !is_known && !format.is_own() && folder.join(&path).is_dir() {
            folders.push((format, path));
        }
    }
    folders
}

/// An agent's settings folder that an environment variable moves, e.g. `CODEX_HOME`.
struct MovedFolder {
    default: PathBuf,
    current: PathBuf,
}

/// Returns the agents' settings folders that are not where they would be without environment
/// variables.
fn moved_settings_folders(system: &System) -> Vec<MovedFolder> {
    let without_variables = System {
        environment: Environment::default(),
        ..system.clone()
    };
    let mut moves = Vec::new();
    for agent in AGENTS {
        let default = (agent.settings_folder)(&without_variables);
        let current = (agent.settings_folder)(system);
        if let (Some(default), Some(current)) = (default, current)
            && default != current
        {
            moves.push(MovedFolder { default, current });
        }
    }
    moves
}

/// Returns where a path in one of the default folders is now: with `CODEX_HOME=/codex`,
/// `~/.codex/prompts` becomes `/codex/prompts`. Returns any other path unchanged.
fn apply_moves(path: PathBuf, moves: &[MovedFolder]) -> PathBuf {
    for MovedFolder { default, current } in moves {
        if let Ok(relative) = path.strip_prefix(default) {
            return current.join(relative);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn an_agent_is_found_by_its_name() {
        for agent in AGENTS {
            assert_eq!(Agent::by_name(agent.name), Some(agent));
        }
        for (name, want) in [
            ("gemini-cli", "gemini"),
            ("Codex", "codex"),
            ("codex-cli", "codex"),
            ("openai-codex", "codex"),
            ("claude", "claude-code"),
            ("Claude Code", "claude-code"),
            ("claude_code", "claude-code"),
            ("open-code", "opencode"),
            ("vs-code", "vscode"),
            ("code", "vscode"),
            ("cursor-agent", "cursor"),
            ("qwen-code", "qwen"),
            ("GitHub Copilot CLI", "copilot"),
        ] {
            assert_eq!(Agent::by_name(name).unwrap().name, want, "{name}");
        }
        for name in ["", "cli", "codexx", "-"] {
            assert_eq!(Agent::by_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_names_of_an_agents_own_commands_are_whole() {
        for agent in AGENTS {
            let names = agent.menu.as_ref().map_or("", |menu| menu.builtin_names);
            for name in names.split_whitespace() {
                let is_whole = !name.starts_with('-') && !name.ends_with('-');
                assert!(is_whole, "{}: {name}", agent.name);
            }
        }
    }

    #[test]
    fn the_environment_says_where_a_config_is() {
        let system = |environment: &[(&str, &str)]| System {
            home: Some("/h".into()),
            config: Some("/c".into()),
            project: "/p".into(),
            environment: environment.iter().copied().collect(),
            ..System::default()
        };
        let (home, moved) = (
            system(&[]),
            system(&[
                ("XDG_CONFIG_HOME", "/x"),
                ("CODEX_HOME", "/codex"),
                ("CLAUDE_CONFIG_DIR", "/claude"),
                ("GEMINI_CLI_HOME", "/gemini"),
                ("QWEN_HOME", "/qwen"),
                ("COPILOT_HOME", "/copilot"),
                ("PI_CODING_AGENT_DIR", "/pi"),
            ]),
        );
        for (name, in_home, in_moved) in [
            ("codex", "/h/.codex/config.toml", "/codex/config.toml"),
            ("claude-code", "/h/.claude.json", "/claude/.claude.json"),
            (
                "gemini",
                "/h/.gemini/settings.json",
                "/gemini/.gemini/settings.json",
            ),
            ("qwen", "/h/.qwen/settings.json", "/qwen/settings.json"),
            (
                "copilot",
                "/h/.copilot/mcp-config.json",
                "/copilot/mcp-config.json",
            ),
            ("pi", "/h/.pi/agent/mcp.json", "/pi/mcp.json"),
            ("vscode", "/c/Code/User/mcp.json", "/c/Code/User/mcp.json"),
            ("cursor", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"),
            (
                "opencode",
                "/h/.config/opencode/opencode.json",
                "/x/opencode/opencode.json",
            ),
        ] {
            let agent = Agent::by_name(name).unwrap();
            assert_eq!(
                agent.config_paths(Scope::User, &home)[0],
                Path::new(in_home)
            );
            assert_eq!(
                agent.config_paths(Scope::User, &moved)[0],
                Path::new(in_moved)
            );
            assert!(
                agent
                    .config_paths(Scope::Project, &home)
                    .iter()
                    .all(|path| path.starts_with("/p"))
            );
            assert!(
                agent
                    .config_paths(Scope::User, &System::default())
                    .is_empty()
            );
        }
    }

    #[test]
    fn the_prompt_folders_are_those_of_the_table_below_the_home_directory_or_where_an_agent_s_settings_are()
     {
        let system = System {
            home: Some("/h".into()),
            config: Some("/c".into()),
            ..System::default()
        };
        let environment = [("CLAUDE_CONFIG_DIR", "/claude"), ("XDG_CONFIG_HOME", "/x")]
            .into_iter()
            .collect();
        let moved = System {
            environment,
            ..system.clone()
        };
        let (user, moved) = (
            Agent::user_prompt_folders(&system),
            Agent::user_prompt_folders(&moved),
        );
        let has = |folders: &[(&Format, PathBuf)], name, path: &str| {
            folders
                .iter()
                .filter(|(format, of)| format.name == name && *of == Path::new(path))
                .count()
                == 1
        };
        for (name, path, at) in [
            ("claude", "/h/.claude/commands", "/claude/commands"),
            ("skills", "/h/.claude/skills", "/claude/skills"),
            ("skills", "/h/.agents/skills", "/h/.agents/skills"),
            ("gemini", "/h/.gemini/commands", "/h/.gemini/commands"),
            ("vscode", "/c/Code/User/prompts", "/c/Code/User/prompts"),
            (
                "opencode",
                "/h/.config/opencode/command",
                "/x/opencode/command",
            ),
        ] {
            assert!(has(&user, name, path) && has(&moved, name, at), "{path}");
        }
        let paths: HashSet<_> = user.iter().map(|(_, path)| path).collect();
        assert_eq!((paths.len(), moved.len()), (user.len(), user.len()));
        assert_eq!(Agent::user_prompt_folders(&System::default()), []);
    }

    #[test]
    fn an_agent_passes_on_what_it_was_seen_to_pass_on() {
        let system = System {
            project: "/p".into(),
            environment: [
                ("HOME", "/h"),
                ("XDG_CONFIG_HOME", "/x"),
                ("MY_API_KEY", "k"),
                ("SSL_CERT_FILE", "c"),
            ]
            .into_iter()
            .collect(),
            ..System::default()
        };
        for (name, want) in [
            ("codex", "HOME SSL_CERT_FILE"),
            ("zed", "HOME XDG_CONFIG_HOME MY_API_KEY SSL_CERT_FILE"),
        ] {
            let environment = (Agent::by_name(name).unwrap().launch.environment)(
                &system,
                &Registration::default(),
            );
            let names: Vec<&str> = environment
                .iter()
                .map(|(name, _)| name.to_str().unwrap())
                .collect();
            assert_eq!(names.join(" "), want);
        }
    }

    #[test]
    fn variables_are_replaced_where_the_agent_replaces_them() {
        let environment = [("HOME", "/h"), ("USERPROFILE", "/h"), ("A", "a")]
            .into_iter()
            .collect();
        let system = System {
            project: "/p".into(),
            environment,
            ..System::default()
        };
        for (name, text, want) in [
            ("claude-code", "${A}/${B:-b}/${C}/$A", "a/b/${C}/$A"),
            (
                "vscode",
                "${userHome}/${env:A}/${workspaceFolder}/${input:x}",
                "/h/a//p/${input:x}",
            ),
            ("opencode", "{env:A}/${A}", "a/${A}"),
            ("gemini", "${A", "${A"),
        ] {
            let variables = Agent::by_name(name)
                .unwrap()
                .launch
                .variables
                .as_ref()
                .unwrap();
            assert_eq!(variables.expand(text, &system), want, "{name}");
        }
        assert!(Agent::by_name("codex").unwrap().launch.variables.is_none());
    }
}
