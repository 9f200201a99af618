//! Anysphere's Cursor, according to its documentation.

use super::agent::Agent;
use super::registration::Config;

pub(super) static CURSOR: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    settings_folder: |system| system.join_home(".cursor"),
    config: Config {
        user_files: &["mcp.json"],
        project_files: &[".cursor/mcp.json"],
        ..Config::JSON
    },
    next_step: |_| Some("switch `prompts` on in its MCP settings"),
    ..Agent::DEFAULT
};
