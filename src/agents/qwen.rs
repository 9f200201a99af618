//! Alibaba's Qwen Code, as observed in version 0.24. It is a fork of Gemini CLI.

use super::access_list::{AccessList, ItemNotation, ListEffect};
use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages};
use super::drafts::Drafts;
use super::gemini::GEMINI;
use super::hook_line::NEVER_FAILS;
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace, shared_skills};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::prompt::is_agentskills_name;
use serde_json::{Value, json};

pub(super) static QWEN: Agent = Agent {
    name: "qwen",
    aliases: &["qwen-code"],
    title: "Qwen Code",
    programs: &["qwen"],
    settings_folder: |system| {
        system
            .folder_from_variable("QWEN_HOME")
            .or_else(|| system.join_home(".qwen"))
    },
    managed_settings: |system| {
        let moved = system.folder_from_variable("QWEN_CODE_SYSTEM_SETTINGS_PATH");
        vec![moved.unwrap_or_else(|| system.root.join(SYSTEM_SETTINGS))]
    },
    config: Config {
        project_files: &[".qwen/settings.json"],
        ..GEMINI.config
    },
    hook: Some(Hook {
        // No limit is known. 300,000 characters arrived untruncated.
        context_limit: (1_000_000, Unit::Bytes),
        user_file: "settings.json",
        project_files: &[".qwen/settings.json"],
        windows_suffix: NEVER_FAILS,
        escapes_angle_brackets: true,
        checks: &[|examined, _| examined.hooks_disabled_if("disableAllHooks", true)],
        ..Hook::DEFAULT
    }),
    // A result of more than 28,000 characters is saved to a file, and the model only gets 2 KB of
    // it.
    part_limit: Some(PartLimit::of_json(27_000, Unit::Utf16)),
    // A skill hides the MCP prompt of the same name.
    menu: Some(Menu {
        sign: '/',
        sign_place: SignPlace::StartOfMessage,
        folder: "skills",
        layout: MenuLayout::Skill,
        body: MenuBody::Sentence,
        shows_argument_hint: true,
        further_keys: "disable-model-invocation: true\n",
        further_files: &[],
        needs_restart: false,
        other_folders: shared_skills,
        takes_name: is_agentskills_name,
        builtin_names: "
            about advisor agents approval-mode arena auth batch branch browser-use btw bug cd
            clear compress compress-fast computer-use config connect context continue coordinate
            copy curator dataviz delete diff dir directory docs doctor dream editor effort exit
            explore export extension-creator extensions forget fork goal goal-draft help history
            hooks ide import-config init insight install language learn list login loop lsp mcp
            memory model new new-app output-style peers permissions plan qc-helper quit recap
            remember rename reset restore resume review rewind rollback schedule settings
            simplify skills stats status statusline stuck summarize summary tasks terminal-setup
            theme tools trust update usage vim voice workflow-authoring workflow-creator
            workflows zvec-grep-install",
    }),
    drafts: Some(Drafts {
        is_draft_file: |folder, file| folder.starts_with("qwen-edit-") && file == "buffer.txt",
        terminal_modes: "\x1b[?1049h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2004h",
        editor_setting: Some("general.preferredEditor"),
        accepts_arguments: false,
        ..Drafts::DEFAULT
    }),
    menu_messages: MenuMessages::OneText,
    launch: Launch {
        client_name: Some("qwen-cli-mcp-client-prompts"), // ends with the name of the server
        variables: Some(Variables {
            prefix: "${",
            lookup: Variables::lookup_with_default,
        }),
        ..Launch::BY_SDK
    },
    checks: &[check_approval],
    access_lists: &[
        AccessList {
            notation: ItemNotation::Pattern,
            ..AccessList::in_settings(&["mcp", "allowed"], ListEffect::Allows, server_name)
        },
        AccessList {
            notation: ItemNotation::Pattern,
            ..AccessList::in_settings(&["mcp", "excluded"], ListEffect::Denies, server_name)
        },
        AccessList::in_server_entry(&["includeTools"], ListEffect::Allows),
        AccessList::in_server_entry(&["excludeTools"], ListEffect::Denies),
    ],
    ..Agent::DEFAULT
};

/// Returns the item that stands for a server in a list of servers.
fn server_name(server: &Registration) -> Vec<Value> {
    vec![json!(server.name)]
}

/// Returns a warning if Qwen Code may not call the tools without asking the user.
fn check_approval(examined: &Examined, server: &Registration) -> Option<Finding> {
    if server.entry.get("trust") == Some(&json!(true)) {
        return None;
    }
    Some(examined.warning(
        "Qwen Code may ask before it calls `expand_prompt`, and `qwen -p` refuses the call",
        "set `trust` to true. Don't, if the server runs with `--edit`",
    ))
}

/// The settings of an administrator, below the root of the file system.
const SYSTEM_SETTINGS: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/QwenCode/settings.json"
} else if cfg!(windows) {
    "ProgramData/qwen-code/settings.json"
} else {
    "etc/qwen-code/settings.json"
};
