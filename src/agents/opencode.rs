//! Anomaly's opencode, as observed in version 1.18. Version 2 follows its documentation.

mod menu_text;

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, MenuTemplate};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry};
use super::drafts::Drafts;
use super::environment::Scope;
use super::files::AgentFiles;
use super::hook_line::RegisteredHook;
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::in_backticks;
use serde_json::{Value, json};

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
        limit_of_entry: |_| None,
        further_keys: &[],
        user_file: "plugins/prompt-expander.js",
        project_files: &[".opencode/plugins/prompt-expander.js"],
        is_in_config: false,
        syntax: ConfigSyntax::Plugin,
        timeout: 5000, // the same as in `plugin.js`
        windows_prefix: "",
        windows_suffix: "",
        note: Some(
            "opencode installs a package of its own for plugins, and without a network, each start waits 75 s for it. \
             Start opencode once with a network, or leave the plugin out with --no-hook",
        ),
        escapes_angle_brackets: false,
        trust_record_keys: None,
        checks: &[check_package],
    }),
    // A result of more than 51,138 bytes is saved to a file, and the model only gets its path.
    part_limit: Some(PartLimit::of_json(51_000, Unit::Bytes)),
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

/// A rule that offers tools to the model or hides them, e.g. `"prompts*": false` in `tools` or
/// `"prompts*": "deny"` in `permission`.
struct ToolRule<'f> {
    file: &'f ConfigFile,
    section: &'static str,
    /// The tools to which the rule applies, e.g. `prompts*`.
    pattern: &'f str,
    action: &'f Value,
}

impl ToolRule<'_> {
    fn hides_tools(&self) -> bool {
        *self.action == false || *self.action == "deny"
    }
}

/// Returns an error if a rule hides `expand_prompt`. The last rule that matches the tool decides.
fn check_tool_rules(examined: &Examined, server: &Registration) -> Option<Finding> {
    let tool = format!("{}_expand_prompt", server.name);
    let rules = tool_rules(examined.files);
    let rule = rules
        .iter()
        .rfind(|rule| matches_pattern(rule.pattern, &tool))?;
    if !rule.hides_tools() {
        return None;
    }
    let message = format!(
        "{} in `{}` is `{}`, so opencode does not offer `expand_prompt` to the model",
        in_backticks(rule.pattern),
        rule.section,
        rule.action
    );
    let keys = [rule.section, rule.pattern];
    Some(examined.settings_error(rule.file, &keys, message, "remove this rule"))
}

/// Returns all rules for tools, in order of increasing precedence: those in `permission` override
/// those in `tools`, and in each, the project's override the user's.
fn tool_rules(files: &AgentFiles) -> Vec<ToolRule<'_>> {
    let mut rules = Vec::new();
    for section in ["tools", "permission"] {
        let configs = files
            .configs(Scope::User)
            .chain(files.configs(Scope::Project));
        for file in configs.flatten() {
            for (pattern, action) in file.value[section].as_object().into_iter().flatten() {
                rules.push(ToolRule {
                    file,
                    section,
                    pattern,
                    action,
                });
            }
        }
    }
    rules
}

/// Returns whether the whole name matches a pattern, in which `*` stands for any text.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(remaining) = name.strip_prefix(start) else {
        return false;
    };
    // Try every end of the text that `*` stands for.
    (0..=remaining.len()).any(|end| {
        remaining
            .get(end..)
            .is_some_and(|remaining| matches_pattern(rest, remaining))
    })
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
