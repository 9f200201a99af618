//! Anthropic's Claude Code, as version 2.1.330 was measured.

use super::agent::{Agent, Checks, Ending, Hook, Launch, MenuMessages, Prompts};
use super::config_file::ConfigFile;
use super::edit::{Entry, JsonSyntax, Syntax};
use super::environment::Scope;
use super::finding::{Finding, RegisteredServer};
use super::hook_line::WindowsShell;
use super::limit::{PartLimit, Unit};
use super::registration::Config;
use super::variables::Variables;
use crate::wording::named;
use serde_json::json;
use std::time::Duration;

pub(super) static CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    aliases: &[],
    title: "Claude Code",
    programs: &["claude"],
    settings_folder: |system| system.folder("CLAUDE_CONFIG_DIR").or_else(|| system.below_home(".claude")),
    prompts: Prompts {
        user: &[("claude", "commands"), ("skills", "skills")],
        project: &[("claude", ".claude/commands"), ("skills", ".claude/skills")],
        ..Prompts::NONE
    },
    config: Config {
        syntax: Syntax::Json(JsonSyntax { comments: false, trailing_commas: false }),
        // Next to ~/.claude, but in the folder that the variable names.
        folder: Some(|system| system.folder("CLAUDE_CONFIG_DIR").or_else(|| system.home.clone())),
        user: &[".claude.json"],
        project: &[".mcp.json"],
        local_servers: Some(|system| {
            vec!["projects".to_owned(), system.project.to_string_lossy().into_owned(), "mcpServers".to_owned()]
        }),
        // Its own command ends the file without a line ending.
        template: "{}",
        is_private: true,
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
        is_project_first: true,
        syntax: Syntax::Json(JsonSyntax { comments: true, trailing_commas: true }),
        timeout_unit: Duration::from_secs(1),
        windows_shell: WindowsShell::Bash,
        blocks_on_failure: false,
        project_variable: Some("CLAUDE_PROJECT_DIR"),
        escapes_angle_brackets: false,
        trust_record: None,
        check: |hook| hook.all_disabled_by("disableAllHooks", true),
    }),
    // Of more than 150,000 characters (50,000 if `tools/list` does not ask for more), the model gets 2 KB and a file.
    part: Some(PartLimit { max: 149_000, unit: Unit::Utf16, is_printed: false }),
    runs_prompts: false,
    menu: MenuMessages::WithoutRoles,
    launch: Launch {
        client: Some("claude-code"),
        environment: |system, _| {
            let mut environment = system.environment.clone();
            environment.set("CLAUDE_PROJECT_DIR", &system.project);
            environment
        },
        variables: Some(Variables { mark: "${", is_bare: false, value: Variables::with_default }),
        ending: Ending::Interrupt,
        ..Launch::BY_SDK
    },
    checks: Checks { not_started, approval, ..Checks::NONE },
    next_step: |installed| match (installed.has_hook, installed.is_project) {
        (true, _) => "start `claude`, and type `:research solid-state batteries`".to_owned(),
        (false, true) => {
            "start `claude` here, allow the server of the project, and type `:research solid-state batteries`"
                .to_owned()
        }
        (false, false) => {
            "start `claude`, and type `:research solid-state batteries`; at the first call, choose \"don't ask \
                           again\""
                .to_owned()
        }
    },
};

fn not_started(server: &RegisteredServer) -> Option<Finding> {
    let name = server.name();
    if server.is_in(server.files.setting(&project_pointer(server, "disabledMcpServers"))) {
        return Some(
            server.broken(format!("{name} is disabled in this project"), "enable it with `/mcp` in Claude Code"),
        );
    }
    let denied = settings(server).find(|file| {
        let denied = file.value["deniedMcpServers"].as_array();
        denied.is_some_and(|denied| denied.iter().any(|item| item["serverName"] == *server.server.name))
    });
    if let Some(file) = denied {
        let finding = server.broken(format!("{name} is in the list `deniedMcpServers`"), "remove it from that list");
        return Some(finding.at(file, &["deniedMcpServers"]));
    }
    if server.server.scope == Scope::Project { not_accepted(server) } else { None }
}

/// The user must accept a server that comes with a project.
fn not_accepted(server: &RegisteredServer) -> Option<Finding> {
    let name = server.name();
    let is_listed = |key: &str| {
        let of_settings = settings(server).filter_map(|file| file.value.get(key));
        let of_project = server.files.setting(&project_pointer(server, key));
        of_settings.chain(of_project).any(|list| server.is_in(Some(list)))
    };
    let are_all_accepted = || settings(server).any(|file| file.value["enableAllProjectMcpServers"] == true);
    if is_listed("disabledMcpjsonServers") {
        let fix = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
        Some(server.broken(format!("{name} of this project was refused"), fix))
    } else if !are_all_accepted() && !is_listed("enabledMcpjsonServers") {
        let message = format!("{name} comes with the project and has not been accepted yet");
        Some(server.warning(message, "start `claude` here once, and accept it"))
    } else {
        None
    }
}

fn approval(server: &RegisteredServer) -> Option<Finding> {
    let tool = format!("mcp__{}__expand_prompt", server.server.name);
    if let Some((rule, file)) = rule(server, "deny", &tool) {
        let message = format!("{} in `permissions.deny` forbids every call", named(rule));
        return Some(server.broken(message, "remove it from that list").at(file, &["permissions", "deny"]));
    }
    if let Some((rule, file)) = rule(server, "ask", &tool) {
        let message = format!("because of {} in `permissions.ask`, Claude Code asks before each call", named(rule));
        let finding = server.warning(message, "move it to `permissions.allow`; the tools only read");
        return Some(finding.at(file, &["permissions", "ask"]));
    }
    // With a hook, the model seldom has to call the tool.
    (!server.has_hook && rule(server, "allow", &tool).is_none()).then(|| {
        let message = "Claude Code asks before it calls `expand_prompt`, and `claude -p` refuses the call";
        server.warning(message, format!("add {} to `permissions.allow` in its settings.json", named(&tool)))
    })
}

/// The first rule of this kind that applies to the tool, with its file.
fn rule<'s>(server: &'s RegisteredServer, kind: &str, tool: &str) -> Option<(&'s str, &'s ConfigFile)> {
    let name = &server.server.name;
    let applicable = [tool, &format!("mcp__{name}"), &format!("mcp__{name}__*"), "mcp__*"];
    settings(server).find_map(|file| {
        let rules = file.value.get("permissions")?.get(kind)?.as_array()?;
        Some((rules.iter().filter_map(|rule| rule.as_str()).find(|rule| applicable.contains(rule))?, file))
    })
}

fn settings<'s>(server: &'s RegisteredServer) -> impl Iterator<Item = &'s ConfigFile> {
    server.files.settings().filter_map(Result::ok)
}

/// Where the user's config has something about this project.
fn project_pointer(server: &RegisteredServer, key: &str) -> String {
    let project = server.system.project.to_string_lossy();
    format!("/projects/{}/{key}", project.replace('~', "~0").replace('/', "~1"))
}
