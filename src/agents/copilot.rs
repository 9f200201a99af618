//! GitHub's Copilot CLI, as observed in version 1.0.102.

use super::access_list::{AccessList, ItemNotation, ListEffect, ListLocation};
use super::agent::{Agent, Hook, HookDialect, Launch};
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::Drafts;
use super::hook_line::NEVER_FAILS;
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace, shared_skills};
use super::registration::Config;
use crate::prompt::is_agentskills_name;
use serde_json::json;

pub(super) static COPILOT: Agent = Agent {
    name: "copilot",
    aliases: &["github-copilot"],
    title: "Copilot CLI",
    programs: &["copilot"],
    settings_folder: |system| {
        system
            .folder_from_variable("COPILOT_HOME")
            .or_else(|| system.join_home(".copilot"))
    },
    config: Config {
        syntax: ConfigSyntax::Json(JsonSyntax::Strict),
        user_files: &["mcp-config.json"],
        // Copilot CLI also reads `.mcp.json`, but that is Claude Code's, where the type differs.
        project_files: &[".github/mcp.json"],
        // `copilot mcp add` writes `tools` first.
        new_entry: |program, arguments| Entry {
            required: vec![
                ("type", Some(json!("local"))),
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: vec![("tools", json!(["*"]))],
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "userPromptTransformed",
        dialect: HookDialect::CopilotCli,
        // No limit is known. 300,000 characters arrived untruncated.
        context_limit: (1_000_000, Unit::Bytes),
        user_file: "hooks/prompt-expander.json",
        project_files: &[".github/hooks/prompt-expander.json"],
        syntax: ConfigSyntax::CopilotHooks,
        windows_prefix: "& ",
        windows_suffix: NEVER_FAILS, // PowerShell
        ..Hook::DEFAULT
    }),
    // Copilot CLI saves a result of more than 20,480 bytes to a file, and the model only gets its
    // first 500 characters.
    part_limit: Some(PartLimit::of_json(20_000, Unit::Bytes)),
    menu: Some(Menu {
        sign: '/',
        sign_place: SignPlace::StartOfMessage,
        folder: "skills",
        layout: MenuLayout::Skill,
        body: MenuBody::Command, // the hook sees it with the user's words, and replaces it
        shows_argument_hint: false,
        further_keys: "disable-model-invocation: true\n",
        further_files: &[],
        needs_restart: true,
        other_folders: shared_skills,
        takes_name: is_agentskills_name,
        builtin_names: "
            add-dir agent allow-all app ask autopilot changelog chronicle clear
            collect-debug-logs compact computer context copy cwd delegate diagnose diff env exit
            experimental feedback fleet footer fork help ide init instructions keep-alive limits
            list-dirs login logout lsp mcp memory model move new permissions plan plugin pr
            refine remote rename research reset-allowed-tools restart resume review rewind
            rubber-duck sandbox search security-review session settings share skills statusline
            tasks terminal-setup theme update usage user version vim voice worktree",
    }),
    drafts: Some(Drafts {
        is_draft_file: |folder, file| {
            folder.starts_with("copilot-edit-") && file == "COPILOT_PROMPT.md"
        },
        ..Drafts::DEFAULT
    }),
    launch: Launch {
        client_name: Some("copilot-cli"),
        ..Launch::BY_SDK
    },
    access_lists: &[AccessList {
        location: ListLocation::ServerEntry,
        keys: &["tools"],
        effect: ListEffect::Allows,
        notation: ItemNotation::Exact, // `*` counts only alone
        items: |_| vec![json!("expand_prompt"), json!("*")],
    }],
    ..Agent::DEFAULT
};
