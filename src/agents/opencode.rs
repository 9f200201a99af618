//! Anomaly's opencode, as observed in version 1.18. Version 2 follows its documentation.

mod menu_text;

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, MenuTemplate};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, Plugin, value_at};
use super::drafts::Drafts;
use super::environment::Scope;
use super::files::AgentFiles;
use super::hook_line::RegisteredHook;
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::{in_backticks, matches_pattern};
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
        needs_restart: true,
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

/// A rule that offers tools to the model or hides them, e.g. `"prompts*": false` in `tools` or
/// `"prompts*": "deny"` in `permission`.
struct ToolRule<'f> {
    file: &'f ConfigFile,
    /// The path of keys to the rule.
    keys: Vec<&'f str>,
    /// The tools to which the rule applies, e.g. `prompts*`.
    pattern: &'f str,
    action: &'f Value,
}

impl ToolRule<'_> {
    fn hides_tools(&self) -> bool {
        *self.action == false || *self.action == "deny" || *self.action == json!({"*": "deny"})
    }
}

/// The built-in agents with which a user chats.
const CHAT_AGENTS: [&str; 2] = ["build", "plan"];

/// Returns an error if a rule hides `expand_prompt` in a chat. The last rule that matches the tool
/// decides.
fn check_tool_rules(examined: &Examined, server: &Registration) -> Option<Finding> {
    let tool = format!("{}_expand_prompt", server.name);
    for agent in CHAT_AGENTS {
        let rules = rules_for_agent(examined.files, agent);
        let Some(rule) = rules
            .iter()
            .rfind(|rule| matches_pattern(rule.pattern, &tool))
        else {
            continue;
        };
        if rule.hides_tools() {
            let message = format!(
                "{} is `{}`, so opencode does not offer `expand_prompt` to the model",
                in_backticks(&rule.keys.join(".")),
                rule.action
            );
            return Some(examined.settings_error(
                rule.file,
                &rule.keys,
                message,
                "remove this rule",
            ));
        }
    }
    None
}

/// Returns all rules for the tools of an agent, in order of increasing precedence: those of the
/// agent override those of all agents, `permission` overrides `tools`, and the project's rules
/// override the user's.
fn rules_for_agent<'f>(files: &'f AgentFiles, agent: &'f str) -> Vec<ToolRule<'f>> {
    let mut rules = Vec::new();
    rules.extend(rules_at(files, &["tools"]));
    rules.extend(rules_at(files, &["permission"]));
    rules.extend(rules_at(files, &["agent", agent, "tools"]));
    rules.extend(rules_at(files, &["agent", agent, "permission"]));
    rules
}

/// Returns the rules at a path of keys. A text such as `"permission": "deny"` is a rule for all
/// tools.
fn rules_at<'f>(files: &'f AgentFiles, keys: &[&'f str]) -> Vec<ToolRule<'f>> {
    let mut rules = Vec::new();
    let configs = files
        .configs(Scope::User)
        .chain(files.configs(Scope::Project));
    for file in configs.flatten() {
        let Some(section) = value_at(&file.value, keys) else {
            continue;
        };
        if section.is_string() {
            rules.push(ToolRule {
                file,
                keys: keys.to_vec(),
                pattern: "*",
                action: section,
            });
        }
        for (pattern, action) in section.as_object().into_iter().flatten() {
            rules.push(ToolRule {
                file,
                keys: [keys, &[pattern]].concat(),
                pattern,
                action,
            });
        }
    }
    rules
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
