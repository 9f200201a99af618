//! Microsoft's Visual Studio Code, by its documentation.

use super::agent::{Agent, Launch, MenuMessages};
use super::registration::Config;

pub(super) static VSCODE: Agent = Agent {
    name: "vscode",
    aliases: &[],
    title: "VS Code",
    programs: &["code"],
    settings_folder: |system| system.config.as_ref().map(|config| config.join("Code").join("User")),
    prompts: &[("vscode", "prompts")],
    config: Config { user: &["mcp.json"], project: &[".vscode/mcp.json"], servers: "servers", ..Config::JSON },
    hook: None,
    part: None,
    runs_prompts: false,
    drafts: None,
    menu: MenuMessages::All,
    launch: Launch::BY_EDITOR,
    checks: &[],
    next_step: |_| {
        "open the chat of VS Code in agent mode, start the server when it asks, and type `:research solid-state batteries`"
            .to_owned()
    },
};
