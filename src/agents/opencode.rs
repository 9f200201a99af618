//! Anomaly's opencode, as version 1.18 was measured; version 2 by its documentation.

use super::agent::{Agent, Launch, MenuMessages};
use super::edit::Entry;
use super::limit::{PartLimit, Unit};
use super::registration::Config;
use super::variables::Variables;
use serde_json::json;

pub(super) static OPENCODE: Agent = Agent {
    name: "opencode",
    aliases: &[],
    title: "opencode",
    programs: &["opencode", "opencode2"],
    settings_folder: |system| system.dot_config().map(|config| config.join("opencode")),
    prompts: &[("opencode", "command"), ("opencode", "commands"), ("skills", "skills")],
    config: Config {
        user: &["opencode.json", "opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
        servers: "mcp",
        // Version 2 reads the files of version 1 as well.
        nested_servers: Some("servers"),
        template: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
        env: "environment",
        has_command_list: true,
        entry: |program, arguments| {
            let words: Vec<&str> = [program].into_iter().chain(arguments.iter().map(String::as_str)).collect();
            Entry {
                required: vec![("type", Some(json!("local"))), ("command", Some(json!(words)))],
                initial: Vec::new(),
            }
        },
        ..Config::JSON
    },
    hook: None,
    // Of a result of more than 51,138 bytes, the model gets only the path of a file that has it.
    part: Some(PartLimit { max: 51_000, unit: Unit::Bytes, is_printed: false }),
    runs_prompts: true,
    menu: MenuMessages::OneText,
    launch: Launch {
        client: Some("opencode"),
        variables: Some(Variables { mark: "{env:", value: Variables::with_default }),
        ..Launch::BY_SDK
    },
    checks: &[],
    next_step: |_| "start `opencode`, and type `:research solid-state batteries`".to_owned(),
};
