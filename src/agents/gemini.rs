//! Google's Gemini CLI, as observed in version 0.61.

use super::access_list::{AccessList, ItemNotation, ListEffect};
use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages, list_contains};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::{Drafts, PausesFor};
use super::environment::Scope;
use super::hook_line::{NEVER_FAILS, RegisteredHook};
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::in_backticks;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) static GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    settings_folder: |system| {
        system
            .folder_from_variable("GEMINI_CLI_HOME")
            .or(system.home.clone())
            .map(|home| home.join(".gemini"))
    },
    managed_settings: |system| {
        let moved = system.folder_from_variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH");
        vec![moved.unwrap_or_else(|| system.root.join(SYSTEM_SETTINGS))]
    },
    config: Config {
        syntax: ConfigSyntax::Json(JsonSyntax::WithComments),
        user_files: &["settings.json"],
        project_files: &[".gemini/settings.json"],
        // `gemini mcp add` doesn't end a new file with a line ending either.
        template: "{}",
        trust_key: Some("trust"),
        new_entry: |program, arguments| Entry {
            required: vec![
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: vec![("trust", json!(true))],
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "BeforeAgent",
        // No limit is known. Longer contexts were not tried.
        context_limit: (1_000_000, Unit::Bytes),
        user_file: "settings.json",
        project_files: &[".gemini/settings.json"],
        timeout: 5000,
        windows_prefix: "& ",
        windows_suffix: NEVER_FAILS, // PowerShell
        escapes_angle_brackets: true,
        checks: &[
            |examined, _| examined.hooks_disabled_if("hooksConfig.enabled", false),
            check_hook_enabled,
        ],
        ..Hook::DEFAULT
    }),
    // A result of more than 40,000 characters is saved to a file, and the model only gets its first
    // 8,000 and last 32,000 characters.
    part_limit: Some(PartLimit::of_json(39_000, Unit::Utf16)),
    drafts: Some(Drafts {
        is_draft_file: |folder, file| folder.starts_with("gemini-edit-") && file == "buffer.txt",
        terminal_modes: "\x1b[?2004h\x1b[?1004h\x1b[?25l",
        editor_setting: Some("general.preferredEditor"),
        pauses_for: PausesFor::Names(&["vi", "emacs", "hx", "nano", "micro"]),
        ..Drafts::DEFAULT
    }),
    menu_messages: MenuMessages::OneText,
    launch: Launch {
        client_name: Some("gemini-cli-mcp-client"),
        variables: Some(Variables {
            prefix: "${",
            lookup: Variables::lookup_with_default,
        }),
        ..Launch::BY_SDK
    },
    checks: &[check_enabled, check_folder_trust, check_approval],
    access_lists: &[
        AccessList::in_settings(
            &["mcp", "allowed"],
            ListEffect::AllowsUnlessEmpty,
            server_name,
        ),
        AccessList::in_settings(&["mcp", "excluded"], ListEffect::Denies, server_name),
        AccessList::in_settings(&["tools", "exclude"], ListEffect::Denies, tool_names),
        AccessList {
            notation: ItemNotation::Call,
            ..AccessList::in_server_entry(&["includeTools"], ListEffect::Allows)
        },
        AccessList::in_server_entry(&["excludeTools"], ListEffect::Denies),
    ],
    next_step: |installed| {
        if installed.has_hook {
            Some("trust the folder when it asks")
        } else {
            Some("trust the folder when it asks. Without the hook, type `/research` with a slash")
        }
    },
    ..Agent::DEFAULT
};

/// Returns the item that stands for a server in a list of servers.
fn server_name(server: &Registration) -> Vec<Value> {
    vec![json!(server.name)]
}

/// Returns the items of `tools.exclude` that stand for `expand_prompt`.
fn tool_names(server: &Registration) -> Vec<Value> {
    let all_tools = format!("mcp_{}_", server.name);
    vec![
        json!("expand_prompt"),
        json!(format!("{all_tools}expand_prompt")),
        json!(format!("{all_tools}*")),
        json!("mcp_*"),
        json!("*"),
    ]
}

/// Returns an error if the hook was disabled, by its name or command, with `/hooks`.
fn check_hook_enabled(examined: &Examined, hook: &RegisteredHook) -> Option<Finding> {
    let name = hook.entry["name"].as_str().unwrap_or(&hook.line);
    let file = examined
        .settings()
        .find(|file| list_contains(&file.value["hooksConfig"]["disabled"], name))?;
    let message = "`hooksConfig.disabled` lists the hook, so Gemini CLI does not run it";
    let keys = ["hooksConfig", "disabled"];
    Some(examined.settings_error(file, &keys, message.to_owned(), "remove it from the list"))
}

/// The settings of an administrator, below the root of the file system.
const SYSTEM_SETTINGS: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/GeminiCli/settings.json"
} else if cfg!(windows) {
    "ProgramData/gemini-cli/settings.json"
} else {
    "etc/gemini-cli/settings.json"
};

/// Returns an error if the server was disabled with `gemini mcp disable`.
fn check_enabled(examined: &Examined, server: &Registration) -> Option<Finding> {
    let enablement = read_from_settings_folder(examined, "mcp-server-enablement.json");
    if enablement[&server.name]["enabled"] != false {
        return None;
    }
    let message = format!("{} is disabled", in_backticks(&server.name));
    Some(examined.error(message, format!("run `gemini mcp enable {}`", server.name)))
}

/// Returns a warning if Gemini CLI does not trust the working directory. (An editor's extension can
/// make it trusted as well, but that can't be detected from here.)
fn check_folder_trust(examined: &Examined, _: &Registration) -> Option<Finding> {
    let variable = "GEMINI_CLI_TRUST_WORKSPACE";
    if examined.system.environment.text(variable).as_deref() == Some("true") {
        return None;
    }
    let setting = ["security", "folderTrust", "enabled"];
    if examined.files.setting(&setting) == Some(&json!(false)) {
        return None; // Gemini CLI trusts every folder
    }
    let rules = read_from_settings_folder(examined, "trustedFolders.json");
    let rule = most_specific_rule(&examined.system.project, &rules);
    if matches!(rule, Some("TRUST_FOLDER" | "TRUST_PARENT")) {
        return None;
    }
    Some(examined.warning(
        "Gemini CLI does not trust this folder, and starts no server in it",
        "start `gemini` here, and trust the folder when it asks, or with `/permissions trust`",
    ))
}

/// Returns the rule in `trustedFolders.json` that applies to a folder: among the rules that cover
/// it, the one with the longest path. If several paths are equally long, the last one wins.
///
/// With `{"/a": "TRUST_FOLDER", "/a/b": "DO_NOT_TRUST"}`, the rule for `/a/b/c` is `DO_NOT_TRUST`.
fn most_specific_rule<'r>(folder: &Path, rules: &'r Value) -> Option<&'r str> {
    let folder = canonicalize_if_exists(folder);
    let mut longest_path = 0;
    let mut most_specific = None;
    for (path, rule) in rules.as_object()? {
        // Like Gemini CLI, compare the paths as written, even for `TRUST_PARENT`.
        if path.len() >= longest_path && folder.starts_with(folder_of_rule(path, rule)) {
            longest_path = path.len();
            most_specific = rule.as_str();
        }
    }
    most_specific
}

/// Returns the topmost folder that a rule covers, without symlinks: its path or, for
/// `TRUST_PARENT`, the parent of its path.
fn folder_of_rule(path: &str, rule: &Value) -> PathBuf {
    let path = Path::new(path);
    let folder = if *rule == "TRUST_PARENT" {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    canonicalize_if_exists(folder)
}

fn canonicalize_if_exists(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Parses a JSON file in the folder of Gemini CLI's settings. Returns null if the file is missing
/// or invalid.
fn read_from_settings_folder(examined: &Examined, file_name: &str) -> Value {
    let Some(folder) = (GEMINI.settings_folder)(examined.system) else {
        return Value::Null;
    };
    match ConfigFile::read(&folder.join(file_name), GEMINI.config.syntax, Scope::User) {
        Ok(Some(file)) => file.value,
        Ok(None) | Err(_) => Value::Null,
    }
}

/// Returns a warning if Gemini CLI asks the user before each call of a tool.
fn check_approval(examined: &Examined, server: &Registration) -> Option<Finding> {
    if server.entry.get("trust") == Some(&json!(true)) {
        return None;
    }
    Some(examined.warning(
        "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model",
        "set `trust` to true, unless agents may edit prompts",
    ))
}
