//! Anysphere's Cursor, by its documentation.

use super::{Agent, Checks, Config, Launch, Variables};

pub(super) static CURSOR: Agent = Agent {
    name: "cursor",
    aliases: &[],
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    home: |system| system.below_home(".cursor"),
    config: Config {
        folder: |system| CURSOR.home(system),
        user: &["mcp.json"],
        new_user: "mcp.json",
        project: &[".cursor/mcp.json"],
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
        "switch `prompts` on in the MCP settings of Cursor, and type `:research solid-state batteries` in its chat"
            .to_owned()
    },
};
