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
    next_step: |_| {
        "open the chat of VS Code in agent mode, start the server when it asks, and type `:research solid-state batteries`"
            .to_owned()
    },
    ..Agent::USUAL
};
