//! Microsoft's Visual Studio Code, according to its documentation.

use super::agent::Agent;
use super::registration::Config;

pub(super) static VSCODE: Agent = Agent {
    name: "vscode",
    aliases: &["visual-studio-code"],
    title: "VS Code",
    programs: &["code"],
    settings_folder: |system| Some(system.config.as_ref()?.join("Code").join("User")),
    prompt_folders: &[("vscode", "prompts")],
    config: Config {
        user_files: &["mcp.json"],
        project_files: &[".vscode/mcp.json"],
        servers_key: "servers",
        ..Config::JSON
    },
    next_step: |_| Some("use the chat in agent mode, and start the server when it asks"),
    ..Agent::DEFAULT
};
