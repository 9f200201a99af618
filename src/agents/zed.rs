//! Zed Industries' Zed, according to its documentation and source code.

use super::agent::{Agent, Launch, MenuMessages};
use super::config_text::Entry;
use super::registration::Config;
use serde_json::json;

pub(super) static ZED: Agent = Agent {
    name: "zed",
    title: "Zed",
    // Some Linux distributions call it `zeditor`, because another program is named `zed`.
    programs: &["zed", "zeditor"],
    settings_folder: |system| {
        if cfg!(windows) {
            Some(system.config.as_ref()?.join("Zed"))
        } else {
            Some(system.dot_config()?.join("zed"))
        }
    },
    config: Config {
        user_files: &["settings.json"],
        project_files: &[".zed/settings.json"],
        servers_key: "context_servers",
        new_entry: |program, arguments| Entry {
            required: vec![
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: vec![("env", json!({}))],
        },
        ..Config::JSON
    },
    // According to its source code, an assistant message is an error, and anything but text is
    // dropped.
    menu_messages: MenuMessages::OneText,
    launch: Launch {
        client_name: Some("Zed"),
        is_from_desktop: true,
        ..Launch::BY_SDK
    },
    next_step: |_| Some("use the Agent Panel"),
    ..Agent::DEFAULT
};
