//! Google's Gemini CLI, as version 0.61 was measured.

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::Drafts;
use super::environment::Scope;
use super::hook_line::NEVER_FAILS;
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::in_backticks;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) static GEMINI: Agent = Agent {
    name: "gemini",
    aliases: &["gemini-cli"],
    title: "Gemini CLI",
    programs: &["gemini"],
    settings_folder: |system| {
        system
            .folder("GEMINI_CLI_HOME")
            .or(system.home.clone())
            .map(|home| home.join(".gemini"))
    },
    config: Config {
        syntax: ConfigSyntax::Json(JsonSyntax::WithComments),
        user: &["settings.json"],
        project: &[".gemini/settings.json"],
        // Its own command ends the file without a line ending.
        template: "{}",
        trust: Some("trust"),
        entry: |program, arguments| Entry {
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
        // No limit is known; more than this was not tried.
        limit: (1_000_000, Unit::Bytes),
        user: "settings.json",
        project: &[".gemini/settings.json"],
        is_in_config: false,
        syntax: ConfigSyntax::Json(JsonSyntax::Lenient),
        timeout: 5000,
        around_on_windows: ["& ", NEVER_FAILS], // PowerShell
        note: "",
        escapes_angle_brackets: true,
        trust_record_keys: None,
        check: |examined, _| examined.hooks_disabled_if("hooksConfig.enabled", false),
    }),
    // Of more than 40,000 characters, the model gets the first 8,000, the last 32,000 and a file.
    part: Some(PartLimit {
        max: 39_000,
        unit: Unit::Utf16,
        is_printed: false,
    }),
    drafts: Some(Drafts {
        is_file: |folder, file| folder.starts_with("gemini-edit-") && file == "buffer.txt",
        terminal: "\x1b[?2004h\x1b[?1004h\x1b[?25l",
        setting: Some("general.preferredEditor"),
        waits_for: &["vi", "emacs", "hx", "nano", "micro"],
        ..Drafts::USUAL
    }),
    menu: MenuMessages::OneText,
    launch: Launch {
        client: Some("gemini-cli-mcp-client"),
        variables: Some(Variables {
            mark: "${",
            value: Variables::with_default,
        }),
        ..Launch::BY_SDK
    },
    checks: &[disabled, not_trusted, approval],
    next_step: |installed| {
        if installed.has_hook {
            Some("trust the folder when it asks")
        } else {
            Some("trust the folder when it asks; without the hook, type `/research` with a slash")
        }
    },
    ..Agent::USUAL
};

/// Returns a finding if `gemini mcp disable` has disabled a server.
fn disabled(examined: &Examined, server: &Registration) -> Option<Finding> {
    let enablement = value_beside_settings(examined, "mcp-server-enablement.json");
    if enablement[&server.name]["enabled"] != false {
        return None;
    }
    let message = format!("{} is disabled", in_backticks(&server.name));
    Some(examined.broken(message, format!("run `gemini mcp enable {}`", server.name)))
}

/// Returns a finding if Gemini CLI does not trust the working directory. An editor can also tell it
/// to trust the directory, which is not known here.
fn not_trusted(examined: &Examined, _: &Registration) -> Option<Finding> {
    let environment = &examined.system.environment;
    let trusts_workspace = environment.text("GEMINI_CLI_TRUST_WORKSPACE");
    let checks_trust = examined
        .files
        .setting(&["security", "folderTrust", "enabled"]);
    if trusts_workspace.as_deref() == Some("true") || checks_trust == Some(&json!(false)) {
        return None;
    }
    let rules = value_beside_settings(examined, "trustedFolders.json");
    let rule = rule_for(&examined.system.project, &rules);
    if matches!(rule, Some("TRUST_FOLDER" | "TRUST_PARENT")) {
        return None;
    }
    Some(examined.warning(
        "Gemini CLI does not trust this folder, and starts no server in it",
        "start `gemini` here, and trust the folder when it asks, or with `/permissions trust`",
    ))
}

/// Returns the most specific rule of `trustedFolders.json` for a folder, such as `TRUST_FOLDER`: of
/// the rules that cover it, the one with the longest path as it is written in the file. Of paths
/// with this length, the last counts.
///
/// With `{"/a": "TRUST_FOLDER", "/a/b": "DO_NOT_TRUST"}`, the rule for `/a/b/c` is `DO_NOT_TRUST`.
fn rule_for<'r>(folder: &Path, rules: &'r Value) -> Option<&'r str> {
    let folder = real_path(folder);
    let mut longest = 0;
    let mut most_specific = None;
    for (path, rule) in rules.as_object()? {
        if path.len() >= longest && folder.starts_with(covered_folder(path, rule)) {
            longest = path.len();
            most_specific = rule.as_str();
        }
    }
    most_specific
}

/// Returns the folder that a rule covers, without symlinks: the path of the rule or, for
/// `TRUST_PARENT`, the parent of that path.
fn covered_folder(path: &str, rule: &Value) -> PathBuf {
    let path = Path::new(path);
    if *rule == "TRUST_PARENT" {
        real_path(path.parent().unwrap_or(path))
    } else {
        real_path(path)
    }
}

/// Returns a path without symlinks, or the path itself if it does not exist.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the value of a JSON file beside the settings, or null if it cannot be read.
fn value_beside_settings(examined: &Examined, name: &str) -> Value {
    let Some(folder) = (GEMINI.settings_folder)(examined.system) else {
        return Value::Null;
    };
    match ConfigFile::read(&folder.join(name), GEMINI.config.syntax, Scope::User) {
        Ok(Some(file)) => file.value,
        Ok(None) | Err(_) => Value::Null,
    }
}

/// Returns a finding if Gemini CLI asks before each call.
fn approval(examined: &Examined, server: &Registration) -> Option<Finding> {
    if server.entry.get("trust") == Some(&json!(true)) {
        return None;
    }
    Some(examined.warning(
        "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model",
        "set `trust` to true, unless agents may edit prompts",
    ))
}
