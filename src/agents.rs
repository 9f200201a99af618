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

mod agent;
mod config_file;
mod edit;
mod environment;
mod files;
mod hook_line;
mod install;
mod limit;
mod registration;
mod variables;

pub use agent::{Agent, Examined, Finding, Hook, Installed, Launch, MenuMessages, PromptFormat, ServerCheck};
pub use config_file::{Backup, ConfigFile};
pub use environment::{Environment, Scope, System, is_same_file};
pub use files::AgentFiles;
pub use hook_line::{HookLine, HookPlace};
pub use install::{Installation, Plan, Removal, Status};
pub use limit::{PartLimit, Unit};
pub use registration::{Registration, SERVER};
pub use variables::Variables;

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

/// The environment variable with a list of folders of prompts, separated as in `PATH`; `--prompts` overrides it.
pub const PROMPTS_VARIABLE: &str = "PROMPT_EXPANDER_PROMPTS";

impl Agent {
    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static Agent> {
        AGENTS.into_iter().find(|agent| agent.name == name || agent.aliases.contains(&name))
    }

    /// Those that have a prompt-submit hook.
    pub fn with_hook() -> impl Iterator<Item = &'static Agent> {
        AGENTS.into_iter().filter(|agent| agent.hook.is_some())
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

    /// The agent whose MCP client calls itself this.
    pub fn of_client(name: &str) -> Option<&'static Agent> {
        AGENTS.into_iter().find(|agent| agent.launch.client == Some(name))
    }
}

fn below(folder: &Path, names: &[(PromptFormat, &str)]) -> Vec<(PromptFormat, PathBuf)> {
    names.iter().map(|(format, name)| (*format, folder.join(name))).collect()
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
        for (name, want) in [("codex", "HOME SSL_CERT_FILE"), ("zed", "HOME XDG_CONFIG_HOME MY_API_KEY SSL_CERT_FILE")]
        {
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
        ] {
            let variables = Agent::named(name).unwrap().launch.variables.as_ref().unwrap();
            assert_eq!(variables.replace(text, &system), want, "{name}");
        }
        assert!(Agent::named("codex").unwrap().launch.variables.is_none());
    }
}
