//! Zed Industries' Zed, by its documentation and source.

use super::agent::{Agent, Launch, MenuMessages};
use super::config_text::Entry;
use super::registration::Config;
use serde_json::json;

pub(super) static ZED: Agent = Agent {
    name: "zed",
    title: "Zed",
    // `zeditor` where another program has the name `zed`.
    programs: &["zed", "zeditor"],
    settings_folder: |system| {
        if cfg!(windows) {
            Some(system.config.as_ref()?.join("Zed"))
        } else {
            Some(system.dot_config()?.join("zed"))
        }
    },
    config: Config {
        user: &["settings.json"],
        project: &[".zed/settings.json"],
        servers: "context_servers",
        entry: |program, arguments| Entry {
            required: vec![
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: vec![("env", json!({}))],
        },
        ..Config::JSON
    },
    // By its source: a message of the assistant is an error, and what is not text is dropped.
    menu: MenuMessages::OneText,
    launch: Launch {
        client: Some("Zed"),
        is_from_desktop: true,
        ..Launch::BY_SDK
    },
    next_step: |_| Some("use the Agent Panel"),
    ..Agent::USUAL
};
