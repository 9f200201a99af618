//! Google's Gemini CLI, as version 0.61 was measured.

use super::agent::{Agent, Examined, Finding, Hook, Launch, MenuMessages};
use super::config_file::ConfigFile;
use super::drafts::Drafts;
use super::edit::{Entry, JsonSyntax, Syntax};
use super::environment::Scope;
use super::hook_line::NEVER_FAILS;
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use super::variables::Variables;
use crate::wording::named;
use serde_json::{Value, json};
use std::path::Path;

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
        syntax: Syntax::Json(JsonSyntax {
            comments: true,
            trailing_commas: false,
        }),
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
        syntax: Syntax::Json(JsonSyntax {
            comments: true,
            trailing_commas: true,
        }),
        timeout: 5000,
        around_on_windows: ["& ", NEVER_FAILS], // PowerShell
        note: "",
        escapes_angle_brackets: true,
        trust_record: None,
        check: |at, _| at.hooks_disabled_by("hooksConfig.enabled", false),
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
        setting: Some("/general/preferredEditor"),
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
        let typed = if installed.has_hook {
            ":research"
        } else {
            "/research"
        };
        format!(
            "start `gemini`, trust the folder when it asks, or with `/permissions trust`, and type `{typed} solid-state \
             batteries`"
        )
    },
    ..Agent::USUAL
};

fn disabled(at: &Examined, server: &Registration) -> Option<Finding> {
    let enablement = beside_settings(at, "mcp-server-enablement.json");
    (enablement.pointer(&format!("/{}/enabled", server.name)) == Some(&json!(false))).then(|| {
        at.broken(
            format!("{} is disabled", named(&server.name)),
            format!("run `gemini mcp enable {}`", server.name),
        )
    })
}

/// A finding if Gemini CLI does not trust the working directory. (The trust that an editor reports
/// to it is unknown here.)
fn not_trusted(at: &Examined, _: &Registration) -> Option<Finding> {
    if at
        .system
        .environment
        .text("GEMINI_CLI_TRUST_WORKSPACE")
        .as_deref()
        == Some("true")
        || at.files.setting("/security/folderTrust/enabled") == Some(&json!(false))
    {
        return None;
    }
    match rule_for(
        &at.system.project,
        &beside_settings(at, "trustedFolders.json"),
    ) {
        Some("TRUST_FOLDER" | "TRUST_PARENT") => None,
        _ => {
            let message = "Gemini CLI does not trust this folder, and starts no server in it";
            let fix = "start `gemini` here, and trust the folder when it asks, or with `/permissions trust`";
            Some(at.warning(message, fix))
        }
    }
}

/// The most specific rule for a folder.
fn rule_for<'r>(folder: &Path, rules: &'r Value) -> Option<&'r str> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    let rules = rules.as_object()?.iter().filter(|(of, rule)| {
        let of = Path::new(of.as_str());
        folder.starts_with(real(if **rule == "TRUST_PARENT" {
            of.parent().unwrap_or(of)
        } else {
            of
        }))
    });
    rules
        .max_by_key(|(of, _)| of.len())
        .and_then(|(_, rule)| rule.as_str())
}

/// What a file beside the settings contains; null if it cannot be read.
fn beside_settings(at: &Examined, name: &str) -> Value {
    let path = (GEMINI.settings_folder)(at.system).map(|folder| folder.join(name));
    let read = path.and_then(|path| {
        ConfigFile::read(&path, GEMINI.config.syntax, Scope::User)
            .ok()
            .flatten()
    });
    read.map_or(Value::Null, |file| file.value)
}

fn approval(at: &Examined, server: &Registration) -> Option<Finding> {
    (server.entry.get("trust") != Some(&json!(true))).then(|| {
        let message = "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model";
        at.warning(message, "set `trust` to true, unless agents may edit prompts")
    })
}
