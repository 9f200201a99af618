//! OpenAI's Codex, as version 0.169 was measured.

use super::agent::{Agent, Examined, Finding, Hook, Launch};
use super::drafts::{Drafts, is_between};
use super::edit::{Entry, JsonSyntax, Syntax};
use super::environment::{Environment, Scope, System};
use super::hook_line::HookLine;
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
        syntax: Syntax::Toml,
        user: &["config.toml"],
        project: &[".codex/config.toml"],
        servers: "mcp_servers",
        template: "",
        entry: |program, arguments| Entry {
            required: vec![
                ("command", Some(json!(program))),
                (
                    "args",
                    Some(json!(arguments)).filter(|_| !arguments.is_empty()),
                ),
            ],
            initial: Vec::new(),
        },
        ..Config::JSON
    },
    hook: Some(Hook {
        event: "UserPromptSubmit",
        limit: (10_000, Unit::Bytes),
        user: "hooks.json",
        project: &[".codex/hooks.json"],
        is_in_config: true,
        syntax: Syntax::Json(JsonSyntax {
            comments: false,
            trailing_commas: false,
        }),
        timeout: 5,
        around_on_windows: ["", ""], // cmd.exe has no `exit 0` after a `;`
        note: "",
        escapes_angle_brackets: false,
        trust_record: Some(|file, (group, number)| {
            let place = format!("{}:user_prompt_submit:{group}:{number}", file.display());
            vec!["hooks".to_owned(), "state".to_owned(), place]
        }),
        check: |at, hook| {
            at.hooks_disabled_by("features.hooks", false)
                .or_else(|| not_trusted(at, hook))
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
        let start = match installed.is_hook_untrusted {
            true => {
                "start `codex` once and choose \"Trust all and continue\", since it silently skips the hook until then; then"
            }
            false => "start `codex`, and",
        };
        format!("{start} type `:research solid-state batteries`")
    },
    ..Agent::USUAL
};

/// The variables that a server gets in addition to those in its registration: those on Unix, those
/// on Windows (according to the source code), and those for certificates.
const PASSED_ON: &str = "\
    HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER __CF_USER_TEXT_ENCODING \
    APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 \
    SYSTEMDRIVE SYSTEMROOT TEMP TMP USERDOMAIN USERNAME USERPROFILE WINDIR \
    CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE";

fn environment(system: &System, server: &Registration) -> Environment {
    // Names of further variables, or objects with a name.
    let further = server
        .entry
        .get("env_vars")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let further =
        further.filter_map(|variable| variable.as_str().or_else(|| variable["name"].as_str()));
    let names = PASSED_ON.split_whitespace().chain(further);
    names
        .filter_map(|name| Some((name, system.environment.get(name)?)))
        .collect()
}

fn not_started(at: &Examined, server: &Registration) -> Option<Finding> {
    let projects = at.files.setting("/projects").and_then(Value::as_object);
    let is_trusted = at.system.project.ancestors().any(|folder| {
        let project = projects.and_then(|projects| projects.get(folder.to_string_lossy().as_ref()));
        project.is_some_and(|project| project["trust_level"] == "trusted")
    });
    (server.scope == Scope::Project && !is_trusted).then(|| {
        let message = "Codex does not trust this project yet, and reads nothing in its .codex";
        at.warning(message, "start `codex` here once, and trust the project")
    })
}

/// Codex records a hash of each hook that its user trusts, and asks again when the hook changes.
/// How it makes the hash is undocumented, so only the existence of a record is checked; `install`
/// removes the record of a hook that it changes.
fn not_trusted(at: &Examined, hook: &HookLine) -> Option<Finding> {
    match CODEX.trust_record(at.files, &hook.path, hook.place) {
        Some((_, _, record)) if record["enabled"] == false => Some(at.broken(
            "the hook is disabled in Codex",
            "enable it with `/hooks` in Codex",
        )),
        Some(_) => None,
        None => {
            let message =
                "Codex silently skips the hook until you trust it, and has no record that you do";
            Some(at.warning(
                message,
                "start `codex` once, and choose \"Trust all and continue\"",
            ))
        }
    }
}
