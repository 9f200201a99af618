//! Anthropic's Claude Code, as observed in version 2.1.330.

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, list_contains};
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::{Drafts, has_affixes};
use super::environment::Scope;
use super::hook_line::NEVER_FAILS;
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::in_backticks;
use serde_json::json;

pub(super) static CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    settings_folder: |system| {
        system
            .folder_from_variable("CLAUDE_CONFIG_DIR")
            .or_else(|| system.join_home(".claude"))
    },
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
        event: "UserPromptSubmit",
        context_limit: (10_000, Unit::Utf16),
        user_file: "settings.json",
        project_files: &[".claude/settings.local.json", ".claude/settings.json"],
        is_in_config: false,
        syntax: ConfigSyntax::Json(JsonSyntax::Lenient),
        timeout: 5,
        windows_prefix: "",
        windows_suffix: NEVER_FAILS,
        note: None,
        escapes_angle_brackets: false,
        trust_record_keys: None,
        check: |examined, _| examined.hooks_disabled_if("disableAllHooks", true),
    }),
    // A result of more than 150,000 characters is saved to a file, and the model only gets 2 KB of
    // it. (The limit would be 50,000 if `tools/list` didn't request more.)
    part_limit: Some(PartLimit {
        max: 149_000,
        unit: Unit::Utf16,
        is_sent_in_two_forms: false,
    }),
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
    checks: &[check_started, check_approval],
    next_step: |installed| {
        if installed.has_hook {
            None
        } else {
            Some("at the first call, choose \"don't ask again\"")
        }
    },
    ..Agent::DEFAULT
};

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
    if has_hook || is_allowed(examined, &server.name) {
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

/// Returns whether a permission rule allows every call of the server's `expand_prompt`.
fn is_allowed(examined: &Examined, server: &str) -> bool {
    let rules = [
        format!("mcp__{server}__expand_prompt"),
        format!("mcp__{server}"),
        format!("mcp__{server}__*"),
        "mcp__*".to_owned(),
    ];
    for file in examined.settings() {
        let allowed = &file.value["permissions"]["allow"];
        if rules.iter().any(|rule| list_contains(allowed, rule)) {
            return true;
        }
    }
    false
}
