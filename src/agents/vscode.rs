//! Microsoft's Visual Studio Code, by its documentation.

use super::{Agent, Checks, Config, Launch, Variables};

pub(super) static VSCODE: Agent = Agent {
    name: "vscode",
    aliases: &[],
    title: "VS Code",
    programs: &["code"],
    home: |system| system.config.as_ref().map(|config| config.join("Code").join("User")),
    config: Config {
        folder: |system| VSCODE.home(system),
        user: &["mcp.json"],
        new_user: "mcp.json",
        project: &[".vscode/mcp.json"],
        servers: "servers",
        ..Config::JSON
    },
    hook: None,
    limits: &[],
    launch: Launch {
        variables: Some(Variables { marks: &["${"], is_bare: false, value: Variables::of_editor }),
        is_from_desktop: true,
        ..Launch::BY_SDK
    },
    checks: Checks::NONE,
    next_step: |_, _| {
        "open the chat of VS Code in agent mode, start the server when it asks, and type `:research solid-state batteries`"
            .to_owned()
    },
};
