//! Anthropic's Claude Code, as observed in versions up to 2.1.332.

use super::access_list::{ADD_TO_LIST, AccessList, ItemNotation, ListEffect, not_listed_message};
use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, list_contains};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::{Drafts, has_affixes};
use super::environment::{Scope, System};
use super::hook_line::{NEVER_FAILS, RegisteredHook};
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::whole_file;
use crate::wording::{in_backticks, matches_pattern};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) static CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    settings_folder: |system| {
        system
            .folder_from_variable("CLAUDE_CONFIG_DIR")
            .or_else(|| system.join_home(".claude"))
    },
    managed_settings,
    config: Config {
        syntax: ConfigSyntax::Json(JsonSyntax::Strict),
        // `.claude.json` is in the home directory, next to the settings folder `~/.claude`. If
        // CLAUDE_CONFIG_DIR is set, it is inside the settings folder.
        user_folder: Some(|system| {
            system
                .folder_from_variable("CLAUDE_CONFIG_DIR")
                .or_else(|| system.home.clone())
        }),
        user_files: &[".claude.json"],
        project_files: &[".mcp.json"],
        local_servers_keys: Some(|system| {
            vec![
                "projects".to_owned(),
                system.project.to_string_lossy().into_owned(),
                "mcpServers".to_owned(),
            ]
        }),
        // `claude mcp add` doesn't end a new file with a line ending either.
        template: "{}",
        new_entry: |program, arguments| Entry {
            initial: vec![("env", json!({}))],
            ..(Config::JSON.new_entry)(program, arguments)
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        context_limit: (10_000, Unit::Utf16),
        user_file: "settings.json",
        project_files: &[".claude/settings.local.json", ".claude/settings.json"],
        windows_suffix: NEVER_FAILS,
        checks: &[
            |examined, _| examined.hooks_disabled_if("disableAllHooks", true),
            check_managed_hooks_only,
        ],
        ..Hook::DEFAULT
    }),
    // A result of more than 150,000 characters is saved to a file, and the model only gets 2 KB of
    // it. (The limit would be 50,000 if `tools/list` didn't request more.)
    part_limit: Some(PartLimit::of_json(149_000, Unit::Utf16)),
    menu: Some(Menu {
        sign: '/',
        sign_place: SignPlace::StartAndSentences,
        folder: "skills",
        layout: MenuLayout::Skill,
        body: MenuBody::Sentence,
        shows_argument_hint: true,
        further_keys: "disable-model-invocation: true\n",
        further_files: &[],
        needs_restart: false,
        other_folders: |system| {
            let folder = (CLAUDE_CODE.settings_folder)(system);
            folder
                .into_iter()
                .map(|folder| folder.join("commands"))
                .collect()
        },
        takes_name: |name| {
            let mut letters = name.chars();
            letters.all(|letter| letter.is_alphanumeric() || "-_.".contains(letter))
        },
        builtin_names: BUILTIN_COMMANDS,
    }),
    // `/mcp__prompts__research words`; the other one is that of the plugin's server.
    server_prompt_prefixes: &["mcp__prompts__", "mcp__plugin_prompt-expander_prompts__"],
    drafts: Some(Drafts {
        is_draft_file: |folder, file| {
            folder.starts_with("claude-") && has_affixes(file, "claude-prompt-", ".md")
        },
        skips_empty_visual: true,
        ..Drafts::DEFAULT
    }),
    menu_messages: MenuMessages::WithoutRoles,
    launch: Launch {
        client_name: Some("claude-code"),
        variables: Some(Variables {
            prefix: "${",
            lookup: Variables::lookup_with_default,
        }),
        ..Launch::BY_SDK
    },
    checks: &[
        check_started,
        check_approval,
        check_managed_servers,
        check_allowed_servers,
    ],
    access_lists: &[
        AccessList::in_settings(&["deniedMcpServers"], ListEffect::Denies, |server| {
            vec![name_item(server), command_item(server)]
        }),
        AccessList {
            notation: ItemNotation::Pattern,
            ..AccessList::in_settings(&["permissions", "deny"], ListEffect::Denies, tool_rules)
        },
        AccessList {
            notation: ItemNotation::Pattern,
            ..AccessList::in_settings(&["permissions", "ask"], ListEffect::Asks, tool_rules)
        },
    ],
    next_step: |installed| {
        if installed.has_hook {
            None
        } else {
            Some("at the first call, choose \"don't ask again\"")
        }
    },
    ..Agent::DEFAULT
};

/// The commands and skills of Claude Code, with their other names.
const BUILTIN_COMMANDS: &str = "
    access add-dir advisor agents allowed-tools artifacts auto-mode-setup autocompact
    autofix-pr background bashes batch bg branch brief btw bug cd checkpoint checkup
    claude-api clear cloud-plugins code-review color compact config context continue copy
    cost daemon dataviz debug deep-research desktop diff doctor effort exit export
    extra-usage fast feedback fewer-permission-prompts focus fork goal heapdump help hooks
    ide import init insights install install-github-app install-slack-app keybindings
    list-agents login logout loop mcp memory mobile model new output-style passes
    pause-memory permissions plan plugin plugin-authoring powerup privacy-settings project
    quit radio rate-limit-options recap release-notes reload-plugins reload-skills
    remote-control remote-env rename reset restart resume review rewind routines run
    run-skill-generator schedule scroll-speed security-review session settings setup-bedrock
    setup-vertex simplify skill-doctor skills stats status statusline stickers stop subtask
    tasks team-onboarding teleport terminal-setup theme todos tui ultraplan ultrareview undo
    update-config upgrade usage usage-credits use-case verify version vim voice web-setup
    wellbeing workflow-authoring workflows";

/// The folder of an administrator's settings, below the root of the file system.
const MANAGED_FOLDER: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/ClaudeCode"
} else if cfg!(windows) {
    "Program Files/ClaudeCode"
} else {
    "etc/claude-code"
};

/// Returns the settings files of an administrator: those in `managed-settings.d`, of which the last
/// by name takes precedence, and then `managed-settings.json`.
fn managed_settings(system: &System) -> Vec<PathBuf> {
    let folder = system.root.join(MANAGED_FOLDER);
    let mut files = Vec::new();
    for entry in whole_file::entries_of(&folder.join("managed-settings.d")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") && !name.starts_with('.') {
            files.push(entry.path());
        }
    }
    files.sort();
    files.reverse();
    files.push(folder.join("managed-settings.json"));
    files
}

/// Returns an error if an administrator lets only their own hooks run.
fn check_managed_hooks_only(examined: &Examined, hook: &RegisteredHook) -> Option<Finding> {
    let key = "allowManagedHooksOnly";
    let file = examined
        .settings()
        .find(|file| examined.is_managed(&file.path) && file.value[key] == true)?;
    if examined.is_managed(&hook.path) {
        return None;
    }
    let message = format!("Claude Code runs only the hooks of your administrator: `{key}` is true");
    Some(examined.settings_error(file, &[key], message, "allow or add this hook"))
}

/// Returns an error if an administrator's `managed-mcp.json` doesn't contain a server. Claude Code
/// then starts only the servers in that file.
fn check_managed_servers(examined: &Examined, server: &Registration) -> Option<Finding> {
    let folder = examined.system.root.join(MANAGED_FOLDER);
    let path = folder.join("managed-mcp.json");
    let file = ConfigFile::read(&path, CLAUDE_CODE.config.syntax, Scope::User).ok()??;
    if file.value["mcpServers"].get(&server.name).is_some() {
        return None;
    }
    let message = format!(
        "your administrator does not allow {} in Claude Code",
        in_backticks(&server.name)
    );
    let fix = "ask your administrator to add it to this file";
    Some(examined.error(message, fix).at_key(&file, &["mcpServers"]))
}

/// The key of the list of allowed servers in a settings file.
const ALLOWED_SERVERS: &str = "allowedMcpServers";

/// Returns an error if a server is on none of the lists of allowed servers. Claude Code joins the
/// lists of all settings files, unless an administrator's `allowManagedMcpServersOnly` is true.
fn check_allowed_servers(examined: &Examined, server: &Registration) -> Option<Finding> {
    let files = files_with_allowed_servers(examined);
    let first_file = files.first()?; // without any list, all servers are allowed
    let mut allowed = Vec::new();
    for file in &files {
        allowed.extend(file.value[ALLOWED_SERVERS].as_array().into_iter().flatten());
    }
    // As soon as one command is allowed, a server that has a command needs that, not its name.
    let has_commands = allowed.iter().any(|item| item["serverCommand"].is_array());
    let wanted_item = if has_commands {
        command_item(server)
    } else {
        name_item(server)
    };
    if allowed.contains(&&wanted_item) {
        return None;
    }
    let message = not_listed_message(ALLOWED_SERVERS, &wanted_item, CLAUDE_CODE.title);
    Some(examined.settings_error(first_file, &[ALLOWED_SERVERS], message, ADD_TO_LIST))
}

/// Returns the settings files with a list of allowed servers that counts: only an administrator's
/// if one of them has `"allowManagedMcpServersOnly": true`, otherwise all.
fn files_with_allowed_servers<'a>(examined: &Examined<'a>) -> Vec<&'a ConfigFile> {
    let counts_only_managed = examined.settings().any(|file| {
        examined.is_managed(&file.path) && file.value["allowManagedMcpServersOnly"] == true
    });
    let mut files = Vec::new();
    for file in examined.settings() {
        if counts_only_managed && !examined.is_managed(&file.path) {
            continue;
        }
        if file.value[ALLOWED_SERVERS].is_array() {
            files.push(file);
        }
    }
    files
}

/// Returns the item that stands for a server in the lists of allowed and of denied servers.
fn name_item(server: &Registration) -> Value {
    json!({"serverName": server.name})
}

/// Returns the item that stands for the command of a server in the lists of allowed and of denied
/// servers.
fn command_item(server: &Registration) -> Value {
    let words: Vec<&String> = server.command.iter().chain(&server.args).collect();
    json!({"serverCommand": words})
}

/// Returns a finding if Claude Code would not start a server: it is disabled, or it is registered
/// in the project and the user hasn't accepted it.
fn check_started(examined: &Examined, server: &Registration) -> Option<Finding> {
    let name = in_backticks(&server.name);
    if is_listed(examined, "disabledMcpServers", &server.name) {
        let fix = "enable it with `/mcp` in Claude Code";
        return Some(examined.error(format!("{name} is disabled in this project"), fix));
    }
    if server.scope != Scope::Project {
        return None;
    }
    if is_listed(examined, "disabledMcpjsonServers", &server.name) {
        let fix = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
        return Some(examined.error(format!("{name} of this project was refused"), fix));
    }
    if accepts_all_project_servers(examined)
        || is_listed(examined, "enabledMcpjsonServers", &server.name)
    {
        return None;
    }
    let message = format!("{name} comes with the project and has not been accepted yet");
    Some(examined.warning(message, "start `claude` here once, and accept it"))
}

/// Returns whether a list of server names, e.g. `disabledMcpServers`, contains a server. The list
/// may be in the settings, and also in `~/.claude.json`, where Claude Code itself maintains it
/// below `projects.FOLDER`.
fn is_listed(examined: &Examined, list_key: &str, server: &str) -> bool {
    let project = examined.system.project.to_string_lossy();
    let project_list = examined.files.setting(&["projects", &project, list_key]);
    let settings_lists = examined.settings().map(|file| &file.value[list_key]);
    settings_lists
        .chain(project_list)
        .any(|list| list_contains(list, server))
}

/// Returns whether the settings accept all servers that projects register.
fn accepts_all_project_servers(examined: &Examined) -> bool {
    let key = "enableAllProjectMcpServers";
    examined.settings().any(|file| file.value[key] == true)
}

/// Returns a warning if Claude Code asks the user before each call of `expand_prompt`.
fn check_approval(examined: &Examined, server: &Registration) -> Option<Finding> {
    // A hook makes the question rare: the model seldom has to call the tool then.
    let has_hook = !CLAUDE_CODE.hooks(examined.files).is_empty()
        || CLAUDE_CODE
            .plugin(examined.files, examined.system)
            .is_some();
    if has_hook || is_tool_allowed(examined, server) {
        return None;
    }
    let tool = format!("mcp__{}__expand_prompt", server.name);
    Some(examined.warning(
        "Claude Code asks before it calls `expand_prompt`, and `claude -p` refuses the call",
        format!(
            "add {} to `permissions.allow` in its settings.json",
            in_backticks(&tool)
        ),
    ))
}

/// Returns whether a permission rule allows every call of the server's `expand_prompt`. Here, a
/// pattern counts only if it begins with the server: `mcp__prompts__*`, but not `mcp__*`.
fn is_tool_allowed(examined: &Examined, server: &Registration) -> bool {
    let all_tools = format!("mcp__{}", server.name);
    let prefix = format!("{all_tools}__");
    let tool = format!("{prefix}expand_prompt");
    for file in examined.settings() {
        let rules = file.value["permissions"]["allow"].as_array();
        for rule in rules.into_iter().flatten().filter_map(Value::as_str) {
            if rule == all_tools || (rule.starts_with(&prefix) && matches_pattern(rule, &tool)) {
                return true;
            }
        }
    }
    false
}

/// Returns the permission rules for the server's `expand_prompt`, and for all its tools.
fn tool_rules(server: &Registration) -> Vec<Value> {
    let name = &server.name;
    vec![
        json!(format!("mcp__{name}__expand_prompt")),
        json!(format!("mcp__{name}")),
    ]
}
