//! Anomaly's opencode, as observed in version 1.18. Version 2 follows its documentation.

mod menu_text;

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, MenuTemplate};
use super::config_text::{ConfigSyntax, Entry, Plugin};
use super::drafts::Drafts;
use super::environment::Scope;
use super::hook_line::RegisteredHook;
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::{in_backticks, matches_pattern};
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
        syntax: ConfigSyntax::Plugin(Plugin {
            template: include_str!("opencode/plugin.js"),
            event: "chat.message",
        }),
        timeout: 5000, // the same as in `plugin.js`
        note: Some(
            "opencode installs a package before it loads plugins. Without a network, each start waits 75 s for it. \
             Start opencode once with a network, or leave the plugin out with --no-hook",
        ),
        checks: &[check_package],
        ..Hook::DEFAULT
    }),
    // A result of more than 51,138 bytes is saved to a file, and the model only gets its path.
    part_limit: Some(PartLimit::of_json(51_000, Unit::Bytes)),
    menu: Some(Menu {
        sign: '/',
        sign_place: SignPlace::StartOfMessage,
        folder: "commands",
        layout: MenuLayout::File,
        body: MenuBody::Sentence,
        shows_argument_hint: false,
        further_keys: "",
        further_files: &[],
        other_folders: |system| {
            let config = system.dot_config().into_iter();
            config
                .map(|config| config.join("opencode/command"))
                .collect()
        },
        takes_name: |name| !name.contains(char::is_whitespace),
        builtin_names: "
            agents clear compact connect continue copy debug details diff editor exit export
            fork help init mcps models move new org q quit redo rename resume review sessions
            share skills slash status summarize themes thinking timeline timestamps undo unshare
            variants warp workspaces",
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
    checks: &[check_tool_rules],
    ..Agent::DEFAULT
};

/// Returns an error if a rule in `tools`, e.g. `"prompts*": false`, hides `expand_prompt`. The last
/// rule that matches the tool decides, and the project's rules come after the user's.
fn check_tool_rules(examined: &Examined, server: &Registration) -> Option<Finding> {
    let tool = format!("{}_expand_prompt", server.name);
    let configs = examined
        .files
        .configs(Scope::User)
        .chain(examined.files.configs(Scope::Project));
    let mut last_rule = None;
    for file in configs.flatten() {
        for (pattern, is_offered) in file.value["tools"].as_object().into_iter().flatten() {
            if matches_pattern(pattern, &tool) {
                last_rule = Some((file, pattern, is_offered));
            }
        }
    }
    let (file, pattern, is_offered) = last_rule?;
    if *is_offered != false {
        return None;
    }
    let message = format!(
        "{} is `false`, so opencode does not offer `expand_prompt` to the model",
        in_backticks(&format!("tools.{pattern}"))
    );
    Some(examined.settings_error(file, &["tools", pattern], message, "remove this rule"))
}

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
        "opencode has not installed its package for plugins yet, and without a network, each start waits 75 s for it",
        "start `opencode` once with a network, or remove this file",
    ))
}
