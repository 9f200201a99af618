//! Anysphere's Cursor, by its documentation.

use super::edit::{Entry, Syntax};
use super::{Agent, Checks, Config, Launch, Variables};
use serde_json::json;

pub(super) static CURSOR: Agent = Agent {
    name: "cursor",
    aliases: &[],
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    home: |system| system.below_home(".cursor"),
    config: Config {
        syntax: Syntax::Json { comments: true, trailing_commas: true },
        folder: |system| CURSOR.home(system),
        user: &["mcp.json"],
        new_user: "mcp.json",
        project: &[".cursor/mcp.json"],
        servers: "mcpServers",
        nested_servers: None,
        local_servers: None,
        template: "{}\n",
        is_private: false,
        env: "env",
        has_command_list: false,
        entry: |program, arguments| Entry {
            required: vec![
                ("type", Some(json!("stdio"))),
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: Vec::new(),
        },
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
