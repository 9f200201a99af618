//! The agents: the programs in whose chat a user types `:research`.
//!
//! [`AGENTS`] is the table of them. Each file below `agents/` that is named for an agent holds all
//! facts about it, so another agent is another file and another row. Nothing here reads the
//! process's environment: [`System`] is what the command line found there.
//!
//! Sources: Codex, Claude Code, Gemini CLI and opencode were run, and their own `mcp add` compared;
//! VS Code, Cursor and Zed follow their documentation. The pages in `docs/clients/` describe what
//! was observed.

mod claude_code;
mod codex;
mod cursor;
mod gemini;
mod opencode;
mod vscode;
mod zed;

mod agent;
mod config_file;
mod config_text;
mod drafts;
mod environment;
mod files;
mod hook_line;
mod install;
mod limit;
mod registration;
mod variables;

pub use agent::{
    Agent, Examined, Finding, Hook, Installed, Launch, MenuMessages, MenuTemplate,
    RegisteredServers, ServerCheck, TrustRecord,
};
pub use config_file::{Backup, ConfigFile};
pub use drafts::{DraftEditor, Drafts, EditorDoubt};
pub use environment::{Environment, Scope, System, is_same_file};
pub use files::AgentFiles;
pub use hook_line::{HookLine, HookPlace};
pub use install::{Installation, Plan, RegistrationStatus, removal};
pub use limit::{PartLimit, Unit};
pub use registration::{Registration, SERVER};
pub use variables::Variables;

use crate::prompt::Format;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

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

/// The environment variable with a list of folders of prompts, separated as in `PATH`; `--prompts`
/// overrides it.
pub const PROMPTS_VARIABLE: &str = "PROMPT_EXPANDER_PROMPTS";

impl Agent {
    /// Returns the agent that has this name or alias: Gemini CLI for `gemini` and `gemini-cli`.
    pub fn named(name: &str) -> Option<&'static Agent> {
        AGENTS
            .into_iter()
            .find(|agent| agent.name == name || agent.aliases.contains(&name))
    }

    /// Returns the agent that writes the draft of a message to a file with this path: Codex for
    /// `~/.codex/editor/.tmpAb3dE9.md`. Only the names of the file and of its folder count.
    pub fn of_draft(path: &Path) -> Option<&'static Agent> {
        let path = std::path::absolute(path).ok()?;
        let folder = path.parent()?.file_name().unwrap_or_default().to_str()?;
        let file = path.file_name()?.to_str()?;
        for agent in AGENTS {
            if let Some(drafts) = &agent.drafts
                && (drafts.is_file)(folder, file)
            {
                return Some(agent);
            }
        }
        None
    }

    /// Returns the agents that have a prompt-submit hook.
    pub fn with_hook() -> impl Iterator<Item = &'static Agent> {
        AGENTS.into_iter().filter(|agent| agent.hook.is_some())
    }

    /// Returns the user's folders with prompt files of other programs, each once; they may be
    /// missing.
    ///
    /// Most are in the table of formats, as paths below the home directory; if an environment
    /// variable has moved the settings of an agent, its folders move with them. The others are the
    /// `prompts` of an agent, below the folder with its settings.
    pub fn prompt_folders(system: &System) -> Vec<(&'static Format, PathBuf)> {
        let mut folders = Vec::new();
        if let Some(home) = &system.home {
            let moves = settings_moves(system);
            for (format, path) in Format::agent_folders() {
                folders.push((format, moved(home.join(path), &moves)));
            }
        }
        for agent in AGENTS {
            let Some(folder) = (agent.settings_folder)(system) else {
                continue;
            };
            for (format, path) in agent.prompts {
                if let Some(format) = Format::by_name(format) {
                    folders.push((format, folder.join(path)));
                }
            }
        }
        let mut known_paths = HashSet::new();
        folders.retain(|(_, path)| known_paths.insert(path.clone())); // keeps the first of each path
        folders
    }

    /// Returns the agent whose MCP client has this name.
    pub fn of_client(name: &str) -> Option<&'static Agent> {
        AGENTS
            .into_iter()
            .find(|agent| agent.launch.client == Some(name))
    }
}

/// A folder with an agent's settings that an environment variable has moved.
struct SettingsMove {
    usual: PathBuf,
    current: PathBuf,
}

/// Returns the folders with settings that environment variables, such as `CODEX_HOME`, have moved.
fn settings_moves(system: &System) -> Vec<SettingsMove> {
    let without_variables = System {
        environment: Environment::default(),
        ..system.clone()
    };
    let mut moves = Vec::new();
    for agent in AGENTS {
        let usual = (agent.settings_folder)(&without_variables);
        let current = (agent.settings_folder)(system);
        if let (Some(usual), Some(current)) = (usual, current)
            && usual != current
        {
            moves.push(SettingsMove { usual, current });
        }
    }
    moves
}

/// Returns where a path is after these moves: with `CODEX_HOME=/codex`, `~/.codex/prompts` is
/// `/codex/prompts`.
fn moved(path: PathBuf, moves: &[SettingsMove]) -> PathBuf {
    for SettingsMove { usual, current } in moves {
        if let Ok(below) = path.strip_prefix(usual) {
            return current.join(below);
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
            (
                "gemini",
                "/h/.gemini/settings.json",
                "/gemini/.gemini/settings.json",
            ),
            ("vscode", "/c/Code/User/mcp.json", "/c/Code/User/mcp.json"),
            ("cursor", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"),
            (
                "opencode",
                "/h/.config/opencode/opencode.json",
                "/x/opencode/opencode.json",
            ),
        ] {
            let agent = Agent::named(name).unwrap();
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
            Agent::prompt_folders(&system),
            Agent::prompt_folders(&moved),
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
        assert_eq!(Agent::prompt_folders(&System::default()), []);
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
            let environment =
                (Agent::named(name).unwrap().launch.environment)(&system, &Registration::default());
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
            let variables = Agent::named(name)
                .unwrap()
                .launch
                .variables
                .as_ref()
                .unwrap();
            assert_eq!(variables.replace(text, &system), want, "{name}");
        }
        assert!(Agent::named("codex").unwrap().launch.variables.is_none());
    }
}
