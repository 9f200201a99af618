//! Google's Gemini CLI, as version 0.61 was measured.

use super::agent::{Agent, Checks, Ending, Hook, Launch, MenuMessages, Prompts};
use super::config_file::ConfigFile;
use super::edit::{Entry, JsonSyntax, Syntax};
use super::environment::Scope;
use super::finding::{Finding, RegisteredHook, RegisteredServer};
use super::hook_line::WindowsShell;
use super::limit::{PartLimit, Unit};
use super::registration::Config;
use super::variables::Variables;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Parts of the names of variables that are taken for secrets and not passed on.
const SECRETS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"];

pub(super) static GEMINI: Agent = Agent {
    name: "gemini",
    aliases: &["gemini-cli"],
    title: "Gemini CLI",
    programs: &["gemini"],
    settings_folder: |system| system.folder("GEMINI_CLI_HOME").or(system.home.clone()).map(|home| home.join(".gemini")),
    prompts: Prompts { user: &[("gemini", "commands")], project: &[("gemini", ".gemini/commands")], ..Prompts::NONE },
    config: Config {
        syntax: Syntax::Json(JsonSyntax { comments: true, trailing_commas: false }),
        user: &["settings.json"],
        project: &[".gemini/settings.json"],
        // Its own command ends the file without a line ending.
        template: "{}",
        trust: Some("trust"),
        entry: |program, arguments| Entry {
            required: vec![("command", Some(json!(program))), ("args", Some(json!(arguments)))],
            initial: vec![("trust", json!(true))],
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "BeforeAgent",
        // None is known. More than this was not tried.
        limit: (1_000_000, Unit::Bytes),
        user: "settings.json",
        project: &[".gemini/settings.json"],
        is_in_config: false,
        is_project_first: false,
        syntax: Syntax::Json(JsonSyntax { comments: true, trailing_commas: true }),
        timeout_unit: Duration::from_millis(1),
        windows_shell: WindowsShell::PowerShell,
        // Any status but 0 and 1 does; that of a missing program is 127.
        blocks_on_failure: true,
        project_variable: Some("GEMINI_PROJECT_DIR"),
        escapes_angle_brackets: true,
        trust_record: None,
        check: |hook| hook.all_disabled_by("hooksConfig.enabled", false).or_else(|| disabled_hook(hook)),
    }),
    // Of more than 40,000 characters, the model gets the first 8,000, the last 32,000 and a file.
    part: Some(PartLimit { max: 39_000, unit: Unit::Utf16, is_printed: false }),
    runs_prompts: false,
    menu: MenuMessages::OneText,
    launch: Launch {
        client: Some("gemini-cli-mcp-client"),
        environment: |system, _| {
            let is_secret = |name: &str| SECRETS.iter().any(|part| name.contains(part));
            let mut environment = system.environment.only(|name| !name.is_some_and(is_secret));
            environment.set("GEMINI_CLI", "1");
            environment
        },
        variables: Some(Variables { mark: "$", is_bare: true, value: Variables::with_default }),
        ending: Ending::Terminate,
        ..Launch::BY_SDK
    },
    checks: Checks { not_started, approval, tool_filters: Some(("includeTools", "excludeTools")) },
    next_step: |installed| {
        let typed = if installed.has_hook { ":research" } else { "/research" };
        format!(
            "start `gemini`, trust the folder when it asks, or with `/permissions trust`, and type `{typed} solid-state \
             batteries`"
        )
    },
};

fn not_started(server: &RegisteredServer) -> Option<Finding> {
    let (name, shown) = (&server.server.name, server.name());
    let enablement = content(beside_settings(server, "mcp-server-enablement.json"));
    if enablement.pointer(&format!("/{name}/enabled")) == Some(&json!(false)) {
        return Some(server.broken(format!("{shown} is disabled"), format!("run `gemini mcp enable {name}`")));
    }
    if server.is_in(server.files.setting("/mcp/excluded")) {
        return Some(server.broken(format!("{shown} is in the list `mcp.excluded`"), "remove it from that list"));
    }
    let allowed = server.files.setting("/mcp/allowed");
    let is_restricted = allowed.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if is_restricted && !server.is_in(allowed) {
        return Some(server.broken(format!("{shown} is not in the list `mcp.allowed`"), "add it to that list"));
    }
    not_trusted(server)
}

/// A finding if Gemini CLI does not trust the working directory, because of a variable or of the rules in its file. (The trust
/// that an editor reports to it is unknown here.)
fn not_trusted(server: &RegisteredServer) -> Option<Finding> {
    let variable = |name: &str| server.system.environment.text(name);
    for (name, value) in [("GEMINI_RESTRICTED_MODE", "true"), ("GEMINI_CLI_TRUST_WORKSPACE", "false")] {
        if variable(name).as_deref() == Some(value) {
            let message = format!("Gemini CLI trusts no folder, and starts no server, because {name} is {value}");
            return Some(server.broken(message, format!("unset {name}")));
        }
    }
    if variable("GEMINI_CLI_TRUST_WORKSPACE").as_deref() == Some("true")
        || server.files.setting("/security/folderTrust/enabled") == Some(&json!(false))
    {
        return None;
    }
    let path = match server.system.folder("GEMINI_CLI_TRUSTED_FOLDERS_PATH") {
        Some(path) => Some(path),
        None => beside_settings(server, "trustedFolders.json"),
    };
    match rule_for(&server.system.project, &content(path)) {
        Some("DO_NOT_TRUST") => {
            let message = "Gemini CLI does not trust this folder, and starts no server in it";
            Some(server.broken(message, "run `/permissions trust` in `gemini` here"))
        }
        Some("TRUST_FOLDER" | "TRUST_PARENT") => None,
        _ => {
            let message = "Gemini CLI does not trust this folder yet, and starts no server in it";
            let fix = "start `gemini` here, and trust the folder when it asks, or with `/permissions trust`";
            Some(server.warning(message, fix))
        }
    }
}

/// The most specific rule for a folder.
fn rule_for<'r>(folder: &Path, rules: &'r Value) -> Option<&'r str> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    let rules = rules.as_object()?.iter().filter(|(of, rule)| {
        let of = Path::new(of.as_str());
        folder.starts_with(real(if **rule == "TRUST_PARENT" { of.parent().unwrap_or(of) } else { of }))
    });
    rules.max_by_key(|(of, _)| of.len()).and_then(|(_, rule)| rule.as_str())
}

fn beside_settings(server: &RegisteredServer, name: &str) -> Option<PathBuf> {
    GEMINI.settings_folder(server.system).map(|folder| folder.join(name))
}

/// What a file contains; null if it does not exist.
fn content(path: Option<PathBuf>) -> Value {
    let read = path.and_then(|path| ConfigFile::read(&path, GEMINI.config.syntax, Scope::User).ok().flatten());
    read.map_or(Value::Null, |file| file.value)
}

fn approval(server: &RegisteredServer) -> Option<Finding> {
    let allowed = server.files.setting("/mcp/allowed").and_then(Value::as_array);
    let is_allowed = allowed.is_some_and(|list| list.iter().any(|item| item == &server.server.name || item == "*"));
    let is_trusted = server.server.entry.get("trust") == Some(&json!(true));
    (!is_trusted && !is_allowed).then(|| {
        let message = "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model";
        server.warning(message, "set `trust` to true; the tools only read")
    })
}

fn disabled_hook(hook: &RegisteredHook) -> Option<Finding> {
    let name = hook.hook.entry["name"].as_str().unwrap_or(&hook.hook.line);
    let file = hook.files.settings().flatten().find(|file| {
        let disabled = file.value.pointer("/hooksConfig/disabled").and_then(Value::as_array);
        disabled.is_some_and(|disabled| disabled.iter().any(|item| item == name))
    })?;
    let finding = hook.broken("the hook is in the list `hooksConfig.disabled`", "remove it from that list");
    Some(finding.at(file, &["hooksConfig", "disabled"]))
}
