//! Anysphere's Cursor, by its documentation.

use super::agent::{Agent, Launch, MenuMessages};
use super::registration::Config;

pub(super) static CURSOR: Agent = Agent {
    name: "cursor",
    aliases: &[],
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    settings_folder: |system| system.below_home(".cursor"),
    prompts: &[],
    config: Config { user: &["mcp.json"], project: &[".cursor/mcp.json"], ..Config::JSON },
    hook: None,
    part: None,
    runs_prompts: false,
    drafts: None,
    menu: MenuMessages::All,
    launch: Launch::BY_EDITOR,
    checks: &[],
    next_step: |_| {
        "switch `prompts` on in the MCP settings of Cursor, and type `:research solid-state batteries` in its chat"
            .to_owned()
    },
};
