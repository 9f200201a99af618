//! Anthropic's Claude Code, as version 2.1.330 was measured.

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages};
use super::drafts::{Drafts, is_between};
use super::edit::{Entry, JsonSyntax, Syntax};
use super::environment::Scope;
use super::hook_line::NEVER_FAILS;
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::named;
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
        syntax: Syntax::Json(JsonSyntax {
            comments: false,
            trailing_commas: false,
        }),
        // Next to ~/.claude, but in the folder that the variable names.
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
        syntax: Syntax::Json(JsonSyntax {
            comments: true,
            trailing_commas: true,
        }),
        timeout: 5,
        around_on_windows: ["", NEVER_FAILS],
        note: "",
        escapes_angle_brackets: false,
        trust_record: None,
        check: |at, _| at.hooks_disabled_by("disableAllHooks", true),
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
        let end = if installed.has_hook {
            ""
        } else {
            "; at the first call, choose \"don't ask again\""
        };
        format!("start `claude`, and type `:research solid-state batteries`{end}")
    },
    ..Agent::USUAL
};

fn not_started(at: &Examined, server: &Registration) -> Option<Finding> {
    let name = named(&server.name);
    let project = at
        .system
        .project
        .to_string_lossy()
        .replace('~', "~0")
        .replace('/', "~1");
    let is_listed = |key: &str| {
        let of_project = at.files.setting(&format!("/projects/{project}/{key}"));
        let mut lists = at
            .settings()
            .filter_map(|file| file.value.get(key))
            .chain(of_project);
        lists.any(|list| {
            list.as_array()
                .is_some_and(|list| list.iter().any(|item| *item == *server.name))
        })
    };
    if is_listed("disabledMcpServers") {
        return Some(at.broken(
            format!("{name} is disabled in this project"),
            "enable it with `/mcp` in Claude Code",
        ));
    }
    if server.scope != Scope::Project {
        None
    } else if is_listed("disabledMcpjsonServers") {
        let fix = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
        Some(at.broken(format!("{name} of this project was refused"), fix))
    } else if !accepts_all_of_project(at) && !is_listed("enabledMcpjsonServers") {
        let message = format!("{name} comes with the project and has not been accepted yet");
        Some(at.warning(message, "start `claude` here once, and accept it"))
    } else {
        None
    }
}

/// Returns whether the user accepts all servers of the project.
fn accepts_all_of_project(at: &Examined) -> bool {
    let key = "enableAllProjectMcpServers";
    at.settings().any(|file| file.value[key] == true)
}

fn approval(at: &Examined, server: &Registration) -> Option<Finding> {
    // With a hook, the model seldom has to call the tool.
    let has_hook = !CLAUDE_CODE.hooks(at.files).is_empty()
        || CLAUDE_CODE.plugin(at.files, at.system).is_some();
    if has_hook || is_allowed(at, &server.name) {
        return None;
    }
    let message =
        "Claude Code asks before it calls `expand_prompt`, and `claude -p` refuses the call";
    let tool = named(&format!("mcp__{}__expand_prompt", server.name));
    let fix = format!("add {tool} to `permissions.allow` in its settings.json");
    Some(at.warning(message, fix))
}

/// Returns whether the user's settings allow all calls of `expand_prompt` of a server.
fn is_allowed(at: &Examined, server: &str) -> bool {
    let applicable = [
        format!("mcp__{server}__expand_prompt"),
        format!("mcp__{server}"),
        format!("mcp__{server}__*"),
        "mcp__*".to_owned(),
    ];
    at.settings().any(|file| {
        let rules = file.value["permissions"]["allow"].as_array();
        rules.is_some_and(|rules| {
            rules
                .iter()
                .any(|rule| applicable.iter().any(|name| rule == name))
        })
    })
}
