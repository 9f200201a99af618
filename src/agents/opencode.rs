//! Anomaly's opencode, as observed in version 1.18. Version 2 follows its documentation.

mod menu_text;

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, MenuTemplate};
use super::config_text::{ConfigSyntax, Entry};
use super::drafts::Drafts;
use super::hook_line::RegisteredHook;
use super::limit::{PartLimit, Unit};
use super::registration::Config;
use super::variables::Variables;
use serde_json::json;

pub(super) static OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    programs: &["opencode", "opencode2"],
    settings_folder: |system| system.dot_config().map(|config| config.join("opencode")),
    prompt_folders: &[
        ("opencode", "command"),
        ("opencode", "commands"),
        ("skills", "skills"),
    ],
    config: Config {
        user_files: &["opencode.json", "opencode.jsonc"],
        project_files: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        servers_key: "mcp",
        // Version 2 has the servers in `mcp.servers`, but also reads the files of version 1.
        nested_servers_key: Some("servers"),
        template: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
        env_key: "environment",
        command_includes_args: true,
        new_entry: |program, arguments| {
            let mut words = vec![program];
            words.extend(arguments.iter().map(String::as_str));
            Entry {
                required: vec![
                    ("type", Some(json!("local"))),
                    ("command", Some(json!(words))),
                ],
                initial: Vec::new(),
            }
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "chat.message",
        // No limit is known. 66,283 characters arrived untruncated.
        context_limit: (1_000_000, Unit::Bytes),
        user_file: "plugins/prompt-expander.js",
        project_files: &[".opencode/plugins/prompt-expander.js"],
        is_in_config: false,
        syntax: ConfigSyntax::Plugin,
        timeout: 5000, // the same as in `plugin.js`
        windows_prefix: "",
        windows_suffix: "",
        note: Some(
            "with a plugin, opencode installs a package of its own when it starts; without a network, each start waits 75 s for \
             it (--no-hook leaves the plugin out)",
        ),
        escapes_angle_brackets: false,
        trust_record_keys: None,
        check: check_package,
    }),
    // A result of more than 51,138 bytes is saved to a file, and the model only gets its path.
    part_limit: Some(PartLimit {
        max: 51_000,
        unit: Unit::Bytes,
        is_sent_in_two_forms: false,
    }),
    menu_template: Some(MenuTemplate {
        join: menu_text::join_escaped,
        accept_placeholders: menu_text::accept_placeholders,
    }),
    drafts: Some(Drafts {
        is_draft_file,
        skips_empty_visual: true,
        ..Drafts::DEFAULT
    }),
    menu_messages: MenuMessages::OneText,
    launch: Launch {
        client_name: Some("opencode"),
        variables: Some(Variables {
            prefix: "{env:",
            lookup: Variables::lookup_with_default,
        }),
        ..Launch::BY_SDK
    },
    ..Agent::DEFAULT
};

/// The number of digits of a Unix timestamp in milliseconds, since the year 2001.
const MIN_TIMESTAMP_DIGITS: usize = 13;

/// Returns whether a file name looks like a draft's: a Unix timestamp in milliseconds, e.g.
/// `1795405527837.md`. The folder of a draft has no particular name.
fn is_draft_file(_folder: &str, file: &str) -> bool {
    let Some(timestamp) = file.strip_suffix(".md") else {
        return false;
    };
    timestamp.len() >= MIN_TIMESTAMP_DIGITS && timestamp.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a warning if opencode hasn't installed its plugin package yet. For a hook in
/// `.opencode/plugins/`, it installs the package in `.opencode/node_modules/` at startup, and waits
/// for that.
fn check_package(examined: &Examined, hook: &RegisteredHook) -> Option<Finding> {
    let opencode_folder = hook.path.parent()?.parent()?;
    if opencode_folder
        .join("node_modules/@opencode-ai/plugin")
        .exists()
    {
        return None;
    }
    Some(examined.warning(
        "opencode has not installed its package for plugins yet; without a network, each start waits 75 s",
        "start `opencode` once with a network, or remove this file",
    ))
}
