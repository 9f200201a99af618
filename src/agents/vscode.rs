//! Microsoft's Visual Studio Code, by its documentation.

use super::agent::Agent;
use super::registration::Config;

pub(super) static VSCODE: Agent = Agent {
    name: "vscode",
    title: "VS Code",
    programs: &["code"],
    settings_folder: |system| Some(system.config.as_ref()?.join("Code").join("User")),
    prompts: &[("vscode", "prompts")],
    config: Config {
        user: &["mcp.json"],
        project: &[".vscode/mcp.json"],
        servers: "servers",
        ..Config::JSON
    },
    next_step: |_| Some("use the chat in agent mode, and start the server when it asks"),
    ..Agent::USUAL
};
