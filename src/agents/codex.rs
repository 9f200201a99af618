//! OpenAI's Codex, as version 0.169 was measured.

use super::agent::{Agent, Examined, Finding, Hook, Launch};
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::{Drafts, is_between};
use super::environment::{Environment, Scope, System};
use super::hook_line::{HookLine, HookPlace};
use super::limit::{PartLimit, Unit};
use super::registration::{Config, Registration};
use serde_json::{Value, json};

pub(super) static CODEX: Agent = Agent {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    settings_folder: |system| {
        system
            .folder("CODEX_HOME")
            .or_else(|| system.below_home(".codex"))
    },
    config: Config {
        syntax: ConfigSyntax::Toml,
        user: &["config.toml"],
        project: &[".codex/config.toml"],
        servers: "mcp_servers",
        template: "",
        entry,
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "UserPromptSubmit",
        limit: (10_000, Unit::Bytes),
        user: "hooks.json",
        project: &[".codex/hooks.json"],
        is_in_config: true,
        syntax: ConfigSyntax::Json(JsonSyntax::Strict),
        timeout: 5,
        around_on_windows: ["", ""], // cmd.exe has no `exit 0` after a `;`
        note: "",
        escapes_angle_brackets: false,
        trust_record_keys: Some(|file, HookPlace { group, number }| {
            let key = format!("{}:user_prompt_submit:{group}:{number}", file.display());
            vec!["hooks".to_owned(), "state".to_owned(), key]
        }),
        check: |examined, hook| {
            examined
                .hooks_disabled_if("features.hooks", false)
                .or_else(|| not_trusted(examined, hook))
        },
    }),
    // It cuts the middle out of a result of more than 48,000 characters (10,000 tokens, each of
    // which it estimates at 4.8), and of more than 40,000 bytes that a program of the model prints.
    part: Some(PartLimit {
        max: 17_000,
        unit: Unit::Bytes,
        is_printed: true,
    }),
    drafts: Some(Drafts {
        is_file: |folder, file| folder == "editor" && is_between(file, ".tmp", ".md"),
        ..Drafts::USUAL
    }),
    launch: Launch {
        client: Some("codex-mcp-client"),
        environment,
        ..Launch::BY_SDK
    },
    checks: &[not_started],
    next_step: |installed| {
        if installed.is_hook_untrusted {
            Some("choose \"Trust all and continue\" when it starts; until then, it skips the hook")
        } else {
            None
        }
    },
    ..Agent::USUAL
};

/// Returns the entry that `codex mcp add` writes: without `args` if there are none.
fn entry(program: &str, arguments: &[String]) -> Entry {
    let args = if arguments.is_empty() {
        None
    } else {
        Some(json!(arguments))
    };
    Entry {
        required: vec![("command", Some(json!(program))), ("args", args)],
        initial: Vec::new(),
    }
}

/// The variables that a server gets in addition to those in its registration: those on Unix, those
/// on Windows (according to the source code), and those for certificates.
const INHERITED_VARIABLES: &str = "\
    HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER __CF_USER_TEXT_ENCODING \
    APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 \
    SYSTEMDRIVE SYSTEMROOT TEMP TMP USERDOMAIN USERNAME USERPROFILE WINDIR \
    CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE";

/// Returns the variables that Codex passes on to a server: those of
/// [`INHERITED_VARIABLES`], and those that `env_vars` of the registration names.
fn environment(system: &System, server: &Registration) -> Environment {
    let mut names: Vec<&str> = INHERITED_VARIABLES.split_whitespace().collect();
    let env_vars = server.entry.get("env_vars").and_then(Value::as_array);
    for variable in env_vars.into_iter().flatten() {
        // A name, or an object with a name.
        names.extend(variable.as_str().or(variable["name"].as_str()));
    }
    let mut environment = Environment::default();
    for name in names {
        if let Some(value) = system.environment.get(name) {
            environment.set(name, value);
        }
    }
    environment
}

/// Returns a finding if the server is the project's, and Codex does not trust the project. Trust in
/// a folder includes the projects below it.
fn not_started(examined: &Examined, server: &Registration) -> Option<Finding> {
    if server.scope != Scope::Project {
        return None;
    }
    for folder in examined.system.project.ancestors() {
        let keys = ["projects", &folder.to_string_lossy(), "trust_level"];
        let trust_level = examined.files.setting(&keys);
        if trust_level == Some(&json!("trusted")) {
            return None;
        }
    }
    let message = "Codex does not trust this project yet, and reads nothing in its .codex";
    Some(examined.warning(message, "start `codex` here once, and trust the project"))
}

/// Returns a finding if Codex does not run a hook because the user has not trusted it, or has
/// disabled it.
///
/// Codex records a hash of each hook that its user trusts, and asks again when the hook changes.
/// How it makes the hash is undocumented, so only the existence of a record is checked. `install`
/// removes the record of a hook that it changes.
fn not_trusted(examined: &Examined, hook: &HookLine) -> Option<Finding> {
    let Some(record) = CODEX.trust_record(examined.files, &hook.path, hook.place) else {
        return Some(examined.warning(
            "Codex silently skips the hook until you trust it, and has no record that you do",
            "start `codex` once, and choose \"Trust all and continue\"",
        ));
    };
    if record.value["enabled"] == false {
        let fix = "enable it with `/hooks` in Codex";
        return Some(examined.broken("the hook is disabled in Codex", fix));
    }
    None
}
