//! Anomaly's opencode, as version 1.18 was measured; version 2 by its documentation.

mod menu_text;

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, MenuTemplate};
use super::config_text::{ConfigSyntax, Entry};
use super::drafts::Drafts;
use super::hook_line::HookLine;
use super::limit::{PartLimit, Unit};
use super::registration::Config;
use super::variables::Variables;
use serde_json::json;

pub(super) static OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    programs: &["opencode", "opencode2"],
    settings_folder: |system| system.dot_config().map(|config| config.join("opencode")),
    prompts: &[
        ("opencode", "command"),
        ("opencode", "commands"),
        ("skills", "skills"),
    ],
    config: Config {
        user: &["opencode.json", "opencode.jsonc"],
        project: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        servers: "mcp",
        // Version 2 reads the files of version 1 as well.
        nested_servers: Some("servers"),
        template: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
        env: "environment",
        has_command_list: true,
        entry: |program, arguments| {
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
        // None is known. 66,283 characters arrived in full.
        limit: (1_000_000, Unit::Bytes),
        user: "plugins/prompt-expander.js",
        project: &[".opencode/plugins/prompt-expander.js"],
        is_in_config: false,
        syntax: ConfigSyntax::Plugin,
        timeout: 5000, // as in the plugin
        around_on_windows: ["", ""],
        note: "with a plugin, opencode installs a package of its own when it starts; without a network, each start waits 75 s for \
               it (--no-hook leaves the plugin out)",
        escapes_angle_brackets: false,
        trust_record_keys: None,
        check: without_package,
    }),
    // Of a result of more than 51,138 bytes, the model gets only the path of a file that has it.
    part: Some(PartLimit {
        max: 51_000,
        unit: Unit::Bytes,
        is_printed: false,
    }),
    menu_template: Some(MenuTemplate {
        join: menu_text::join_without_marks,
        without_strict_marks: menu_text::without_strict_marks,
    }),
    drafts: Some(Drafts {
        is_file: is_draft,
        skips_empty: true,
        ..Drafts::USUAL
    }),
    menu: MenuMessages::OneText,
    launch: Launch {
        client: Some("opencode"),
        variables: Some(Variables {
            mark: "{env:",
            value: Variables::with_default,
        }),
        ..Launch::BY_SDK
    },
    ..Agent::USUAL
};

/// The digits of a time in milliseconds since 1970, from the year 2001 on.
const MIN_DIGITS_OF_TIME: usize = 13;

/// Returns whether a file name may be that of a draft: a time in milliseconds, and `.md`, as in
/// `1795405527837.md`. The folder of a draft has no special name.
fn is_draft(_folder: &str, file: &str) -> bool {
    let Some(time) = file.strip_suffix(".md") else {
        return false;
    };
    time.len() >= MIN_DIGITS_OF_TIME && time.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a finding if opencode has not installed its package for plugins yet. When it starts, it
/// waits until the package is in the folder that has `plugins`: for a hook in
/// `.opencode/plugins/prompt-expander.js`, in `.opencode/node_modules`.
fn without_package(examined: &Examined, hook: &HookLine) -> Option<Finding> {
    let folder = hook.path.parent()?.parent()?;
    if folder.join("node_modules/@opencode-ai/plugin").exists() {
        return None;
    }
    Some(examined.warning(
        "opencode has not installed its package for plugins yet; without a network, each start waits 75 s",
        "start `opencode` once with a network, or remove this file",
    ))
}
