//! Anthropic's Claude Code, as version 2.1.330 was measured.

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, list_contains};
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::{Drafts, is_between};
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
            .folder("CLAUDE_CONFIG_DIR")
            .or_else(|| system.below_home(".claude"))
    },
    config: Config {
        syntax: ConfigSyntax::Json(JsonSyntax::Strict),
        // `~/.claude.json` is beside `~/.claude`; with the variable, it is in that folder.
        folder: Some(|system| {
            system
                .folder("CLAUDE_CONFIG_DIR")
                .or_else(|| system.home.clone())
        }),
        user: &[".claude.json"],
        project: &[".mcp.json"],
        local_servers: Some(|system| {
            vec![
                "projects".to_owned(),
                system.project.to_string_lossy().into_owned(),
                "mcpServers".to_owned(),
            ]
        }),
        // Its own command ends the file without a line ending.
        template: "{}",
        entry: |program, arguments| Entry {
            initial: vec![("env", json!({}))],
            ..(Config::JSON.entry)(program, arguments)
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "UserPromptSubmit",
        limit: (10_000, Unit::Utf16),
        user: "settings.json",
        project: &[".claude/settings.local.json", ".claude/settings.json"],
        is_in_config: false,
        syntax: ConfigSyntax::Json(JsonSyntax::Lenient),
        timeout: 5,
        around_on_windows: ["", NEVER_FAILS],
        note: "",
        escapes_angle_brackets: false,
        trust_record_keys: None,
        check: |examined, _| examined.hooks_disabled_if("disableAllHooks", true),
    }),
    // Of more than 150,000 characters (50,000 if `tools/list` does not ask for more), the model
    // gets 2 KB and a file.
    part: Some(PartLimit {
        max: 149_000,
        unit: Unit::Utf16,
        is_printed: false,
    }),
    drafts: Some(Drafts {
        is_file: |folder, file| {
            folder.starts_with("claude-") && is_between(file, "claude-prompt-", ".md")
        },
        skips_empty: true,
        ..Drafts::USUAL
    }),
    menu: MenuMessages::WithoutRoles,
    launch: Launch {
        client: Some("claude-code"),
        variables: Some(Variables {
            mark: "${",
            value: Variables::with_default,
        }),
        ..Launch::BY_SDK
    },
    checks: &[not_started, approval],
    next_step: |installed| {
        if installed.has_hook {
            None
        } else {
            Some("at the first call, choose \"don't ask again\"")
        }
    },
    ..Agent::USUAL
};

/// Returns a finding if Claude Code would not start a server: it is disabled, or comes with the
/// project and the user has not accepted it.
fn not_started(examined: &Examined, server: &Registration) -> Option<Finding> {
    let name = in_backticks(&server.name);
    if is_listed(examined, "disabledMcpServers", &server.name) {
        let fix = "enable it with `/mcp` in Claude Code";
        return Some(examined.broken(format!("{name} is disabled in this project"), fix));
    }
    if server.scope != Scope::Project {
        return None;
    }
    if is_listed(examined, "disabledMcpjsonServers", &server.name) {
        let fix = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
        return Some(examined.broken(format!("{name} of this project was refused"), fix));
    }
    if accepts_all_of_project(examined)
        || is_listed(examined, "enabledMcpjsonServers", &server.name)
    {
        return None;
    }
    let message = format!("{name} comes with the project and has not been accepted yet");
    Some(examined.warning(message, "start `claude` here once, and accept it"))
}

/// Returns whether a list of servers, such as `disabledMcpServers`, has a server. The list may be
/// in the settings, and in `projects.FOLDER` of `~/.claude.json`, which is Claude Code's own.
fn is_listed(examined: &Examined, list: &str, server: &str) -> bool {
    let project = examined.system.project.to_string_lossy();
    let project_list = examined.files.setting(&["projects", &project, list]);
    let lists = examined.settings().map(|file| &file.value[list]);
    lists
        .chain(project_list)
        .any(|list| list_contains(list, server))
}

/// Returns whether the user accepts all servers of the project.
fn accepts_all_of_project(examined: &Examined) -> bool {
    let key = "enableAllProjectMcpServers";
    examined.settings().any(|file| file.value[key] == true)
}

/// Returns a finding if Claude Code asks before each call of `expand_prompt`.
fn approval(examined: &Examined, server: &Registration) -> Option<Finding> {
    // With a hook, the model seldom has to call the tool.
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

/// Returns whether the settings allow all calls of the tool `expand_prompt` of a server.
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
