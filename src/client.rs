//! The clients that we know: their names, how one sees that a client is there, and which files they read.
//!
//! [`Client`] is the one table of them. [`Config`] is a file of a client as it was read, [`Registration`] a server in it.
//! Nothing here reads the environment: [`Surroundings`] is what the command line found there.
//!
//! Where the facts are from: Codex, Claude Code, Gemini CLI and opencode were run, and their own `mcp add` compared; VS
//! Code, Cursor and Zed are as their documentation says. `docs/clients/` has a page for each.

mod arguments;
mod config;
mod draft;
mod edit;
mod file;
mod files;
mod hook;
mod install;
mod limit;
mod place;
mod plan;
mod state;
mod syntax;

pub use arguments::Arguments;
pub use config::{Config, ConfigError, Registration};
pub use file::Change;
pub use files::Files;
pub use hook::Hook;
pub use install::{Installation, Removal};
pub use limit::{Limit, Unit, Way};
pub use plan::{Plan, PlanError};
pub use state::State;
pub use syntax::Position;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use syntax::Syntax;

/// The name under which we are registered.
pub const SERVER: &str = "prompts";

/// A program in whose chat somebody types `:research`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// OpenAI's Codex
    Codex,
    /// Anthropic's Claude Code
    ClaudeCode,
    /// Google's Gemini CLI
    GeminiCli,
    /// Microsoft's Visual Studio Code
    VsCode,
    /// Anysphere's Cursor
    Cursor,
    /// Anomaly's opencode
    Opencode,
    /// Zed Industries' Zed
    Zed,
}

/// For whom a client reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For the user, in every project
    User,
    /// For everybody in one project; the file lies in it
    Project,
    /// For the user in one project (Claude Code alone); it stands in the file of the user
    Local,
}

/// Where a user has things, as the environment says. `None`: it does not say.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The configuration directory of the system: `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    pub config: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, if it is an absolute path. (On Linux, `config` is the same then.)
    pub xdg_config: Option<PathBuf>,
    /// `CODEX_HOME`, if it is not empty.
    pub codex_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, if it is not empty.
    pub claude_config: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`, if it is not empty.
    pub gemini_home: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// The project: the working directory.
    pub project: PathBuf,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 7] = [
        Client::Codex,
        Client::ClaudeCode,
        Client::GeminiCli,
        Client::VsCode,
        Client::Cursor,
        Client::Opencode,
        Client::Zed,
    ];

    /// The client of this name; `gemini-cli` is `gemini`.
    pub fn named(name: &str) -> Option<Client> {
        let name = if name == "gemini-cli" { "gemini" } else { name };
        Client::ALL.into_iter().find(|client| client.name() == name)
    }

    /// The name that one writes.
    pub fn name(self) -> &'static str {
        match self {
            Client::Codex => "codex",
            Client::ClaudeCode => "claude-code",
            Client::GeminiCli => "gemini",
            Client::VsCode => "vscode",
            Client::Cursor => "cursor",
            Client::Opencode => "opencode",
            Client::Zed => "zed",
        }
    }

    /// The name that it gives itself.
    pub fn title(self) -> &'static str {
        match self {
            Client::Codex => "Codex",
            Client::ClaudeCode => "Claude Code",
            Client::GeminiCli => "Gemini CLI",
            Client::VsCode => "VS Code",
            Client::Cursor => "Cursor",
            Client::Opencode => "opencode",
            Client::Zed => "Zed",
        }
    }

    /// How it calls the event that a prompt was submitted. `None`: it has no hook that is known to add to the prompt.
    pub fn hook_event(self) -> Option<&'static str> {
        match self {
            Client::Codex | Client::ClaudeCode => Some("UserPromptSubmit"),
            Client::GeminiCli => Some("BeforeAgent"),
            Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => None,
        }
    }

    /// Those that have such a hook.
    pub fn with_hook() -> impl Iterator<Item = Client> {
        Client::ALL.into_iter().filter(|client| client.hook_event().is_some())
    }

    /// The names of its program. (Zed is `zeditor` where another Zed was first.)
    fn programs(self) -> &'static [&'static str] {
        match self {
            Client::Codex => &["codex"],
            Client::ClaudeCode => &["claude"],
            Client::GeminiCli => &["gemini"],
            Client::VsCode => &["code"],
            Client::Cursor => &["cursor", "cursor-agent"],
            Client::Opencode => &["opencode", "opencode2"],
            Client::Zed => &["zed", "zeditor"],
        }
    }

    /// Its program, if it is on `PATH`.
    fn program(self, surroundings: &Surroundings) -> Option<PathBuf> {
        let path = surroundings.path.as_ref()?;
        let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| {
                let names =
                    self.programs().iter().flat_map(|name| endings.iter().map(move |ending| format!("{name}{ending}")));
                names.map(move |name| folder.join(name)).collect::<Vec<_>>()
            })
            .find(|program| is_program(program))
    }

    /// Whether it is on this machine: its program is on `PATH`, or it has a folder in the user's home.
    pub fn is_found(self, surroundings: &Surroundings) -> bool {
        self.program(surroundings).is_some() || self.home(surroundings).is_some_and(|folder| folder.is_dir())
    }

    /// The folder where it keeps what is the user's.
    pub fn home(self, surroundings: &Surroundings) -> Option<PathBuf> {
        let Surroundings { home, config, xdg_config, codex_home, claude_config, gemini_home, .. } = surroundings;
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        // Also on macOS, where others are in ~/Library.
        let dot_config = || xdg_config.clone().or_else(|| below_home(".config"));
        match self {
            Client::Codex => codex_home.clone().or_else(|| below_home(".codex")),
            Client::ClaudeCode => claude_config.clone().or_else(|| below_home(".claude")),
            Client::GeminiCli => gemini_home.as_ref().or(home.as_ref()).map(|home| home.join(".gemini")),
            Client::VsCode => config.as_ref().map(|config| config.join("Code").join("User")),
            Client::Cursor => below_home(".cursor"),
            Client::Opencode => dot_config().map(|config| config.join("opencode")),
            Client::Zed if cfg!(windows) => config.as_ref().map(|config| config.join("Zed")),
            Client::Zed => dot_config().map(|config| config.join("zed")),
        }
    }

    /// The files that it reads servers from, those of the user first; the first one of a scope that exists is where it would
    /// write. None for [`Scope::User`] if nothing says where the home directory is.
    pub fn configs(self, scope: Scope, surroundings: &Surroundings) -> Vec<PathBuf> {
        let home = self.home(surroundings);
        let of_home = |names: &[&str]| home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect();
        let of_project = |names: &[&str]| names.iter().map(|name| surroundings.project.join(name)).collect();
        match (self, scope) {
            (Client::Codex, Scope::User) => of_home(&["config.toml"]),
            (Client::Codex, Scope::Project) => of_project(&[".codex/config.toml"]),
            (Client::ClaudeCode, Scope::User | Scope::Local) => match &surroundings.claude_config {
                Some(folder) => vec![folder.join(".claude.json")],
                // Beside the folder, not in it.
                None => surroundings.home.iter().map(|home| home.join(".claude.json")).collect(),
            },
            (Client::ClaudeCode, Scope::Project) => of_project(&[".mcp.json"]),
            (Client::GeminiCli, Scope::User) => of_home(&["settings.json"]),
            (Client::GeminiCli, Scope::Project) => of_project(&[".gemini/settings.json"]),
            (Client::VsCode, Scope::User) => of_home(&["mcp.json"]),
            (Client::VsCode, Scope::Project) => of_project(&[".vscode/mcp.json"]),
            (Client::Cursor, Scope::User) => of_home(&["mcp.json"]),
            (Client::Cursor, Scope::Project) => of_project(&[".cursor/mcp.json"]),
            (Client::Opencode, Scope::User) => of_home(&["opencode.json", "opencode.jsonc"]),
            (Client::Opencode, Scope::Project) => {
                of_project(&["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"])
            }
            (Client::Zed, Scope::User) => of_home(&["settings.json"]),
            (Client::Zed, Scope::Project) => of_project(&[".zed/settings.json"]),
            (_, Scope::Local) => Vec::new(),
        }
    }

    /// The keys that lead to the servers in a config.
    fn servers(self, scope: Scope, surroundings: &Surroundings) -> Vec<String> {
        let keys: &[&str] = match (self, scope) {
            (Client::ClaudeCode, Scope::Local) => &["projects", &surroundings.project.to_string_lossy(), "mcpServers"],
            (Client::Codex, _) => &["mcp_servers"],
            (Client::ClaudeCode | Client::GeminiCli | Client::Cursor, _) => &["mcpServers"],
            (Client::VsCode, _) => &["servers"],
            (Client::Opencode, _) => &["mcp"],
            (Client::Zed, _) => &["context_servers"],
        };
        keys.iter().map(|&key| key.to_owned()).collect()
    }

    /// How its configs are written, and what in them it would not read.
    fn syntax(self) -> Syntax {
        match self {
            Client::Codex => Syntax::Toml,
            Client::ClaudeCode => Syntax::Json { comments: false, trailing_commas: false },
            Client::GeminiCli => Syntax::Json { comments: true, trailing_commas: false },
            Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => {
                Syntax::Json { comments: true, trailing_commas: true }
            }
        }
    }
}

/// Whether two paths lead to one file, through links too.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Whether a file is there that one can run.
fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_found_by_its_name() {
        for client in Client::ALL {
            assert_eq!(Client::named(client.name()), Some(client));
        }
        assert_eq!(Client::named("gemini-cli"), Some(Client::GeminiCli));
        assert_eq!(Client::named("Codex"), None);
        assert_eq!(Client::named(""), None);
    }

    #[test]
    fn the_environment_says_where_a_config_is() {
        let home = Surroundings {
            home: Some("/h".into()),
            config: Some("/c".into()),
            project: "/p".into(),
            ..Surroundings::default()
        };
        let moved = Surroundings {
            xdg_config: Some("/x".into()),
            codex_home: Some("/codex".into()),
            claude_config: Some("/claude".into()),
            gemini_home: Some("/gemini".into()),
            ..home.clone()
        };
        for (client, of_home, of_moved) in [
            (Client::Codex, "/h/.codex/config.toml", "/codex/config.toml"),
            (Client::ClaudeCode, "/h/.claude.json", "/claude/.claude.json"),
            (Client::GeminiCli, "/h/.gemini/settings.json", "/gemini/.gemini/settings.json"),
            (Client::VsCode, "/c/Code/User/mcp.json", "/c/Code/User/mcp.json"),
            (Client::Cursor, "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"),
            (Client::Opencode, "/h/.config/opencode/opencode.json", "/x/opencode/opencode.json"),
        ] {
            assert_eq!(client.configs(Scope::User, &home)[0], Path::new(of_home));
            assert_eq!(client.configs(Scope::User, &moved)[0], Path::new(of_moved));
            assert!(client.configs(Scope::Project, &home).iter().all(|path| path.starts_with("/p")));
            assert!(client.configs(Scope::User, &Surroundings::default()).is_empty());
        }
    }
}
