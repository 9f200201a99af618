//! OpenAI's Codex, as observed in versions up to 0.171.

use super::access_list::{AccessList, ListEffect};
use super::agent::{Agent, Examined, Finding, Hook, Launch};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, JsonSyntax};
use super::drafts::{Drafts, has_affixes};
use super::environment::{Environment, Scope, System};
use super::hook_line::{HookPlace, RegisteredHook, has_hooks};
use super::limit::{PartLimit, Unit};
use super::menu::{Menu, MenuBody, MenuLayout, SignPlace, shared_skills};
use super::registration::{Config, Registration};
use crate::prompt::is_agentskills_name;
use crate::wording::{in_backticks, path_in_backticks, with_commas};
use serde_json::{Value, json};

pub(super) static CODEX: Agent = Agent {
    name: "codex",
    aliases: &["openai-codex"],
    title: "Codex",
    programs: &["codex"],
    settings_folder: |system| {
        system
            .folder_from_variable("CODEX_HOME")
            .or_else(|| system.join_home(".codex"))
    },
    config: Config {
        syntax: ConfigSyntax::Toml,
        user_files: &["config.toml"],
        project_files: &[".codex/config.toml"],
        servers_key: "mcp_servers",
        template: "",
        new_entry,
        ..Config::JSON
    },
    hook: Some(Hook {
        // No limit is known. 999,991 bytes arrived untruncated.
        context_limit: (1_000_000, Unit::Bytes),
        limit_of_entry,
        further_keys: &[(CONTEXT_LIMIT_KEY, 0)],
        user_file: "hooks.json",
        project_files: &[".codex/hooks.json"],
        is_in_config: true,
        syntax: ConfigSyntax::Json(JsonSyntax::Strict),
        windows_suffix: "", // cmd.exe doesn't support `; exit 0`
        trust_record_keys: Some(|file, HookPlace { group, index }| {
            let key = format!("{}:user_prompt_submit:{group}:{index}", file.display());
            vec!["hooks".to_owned(), "state".to_owned(), key]
        }),
        checks: &[
            |examined, _| examined.hooks_disabled_if("features.hooks", false),
            check_hook_trust,
            check_context_limit,
            check_hooks_in_two_files,
            check_managed_hooks_only,
        ],
        ..Hook::DEFAULT
    }),
    // Codex drops the middle of a result of more than 48,000 characters (10,000 tokens, estimated
    // at 4.8 characters each). A program that the model wrote may print the whole result, which
    // contains both forms; then the limit is 40,000 bytes for both together.
    part_limit: Some(PartLimit {
        max: 17_000,
        unit: Unit::Bytes,
        is_sent_in_two_forms: true,
    }),
    menu: Some(Menu {
        sign: '$',
        sign_place: SignPlace::EveryLine,
        folder: "skills",
        layout: MenuLayout::Skill,
        body: MenuBody::Sentence,
        shows_argument_hint: false,
        further_keys: "",
        // Codex ignores the key `disable-model-invocation`.
        further_files: &[(
            "agents/openai.yaml",
            "policy:\n  allow_implicit_invocation: false\n",
        )],
        needs_restart: false,
        other_folders: shared_skills, // two skills of one name switch both off
        takes_name: is_agentskills_name,
        // `$path` and the like stay text, because they are variables of the shell.
        builtin_names: "path home user shell pwd tmpdir temp tmp lang term",
    }),
    drafts: Some(Drafts {
        is_draft_file: |folder, file| folder == "editor" && has_affixes(file, ".tmp", ".md"),
        ..Drafts::DEFAULT
    }),
    launch: Launch {
        client_name: Some("codex-mcp-client"),
        environment,
        ..Launch::BY_SDK
    },
    checks: &[check_project_trust, check_allowed_servers],
    access_lists: &[
        AccessList::in_server_entry(&["enabled_tools"], ListEffect::Allows),
        AccessList::in_server_entry(&["disabled_tools"], ListEffect::Denies),
    ],
    next_step: |installed| {
        if installed.is_hook_untrusted {
            Some("choose \"Trust all and continue\" when it starts. Until then, it skips the hook")
        } else {
            None
        }
    },
    ..Agent::DEFAULT
};

/// The key of a hook's entry that limits the context that the hook adds.
const CONTEXT_LIMIT_KEY: &str = "additionalContextLimit";

/// The limit, in tokens, for a hook's entry that doesn't set one.
const DEFAULT_CONTEXT_TOKENS: u64 = 2_500;

/// How many bytes Codex counts as one token.
const BYTES_PER_TOKEN: usize = 4;

/// Returns how many bytes of a hook's context reach the model untruncated, or `None` if there is no
/// limit. The entry has the limit in tokens, and 0 if there is none.
fn limit_of_entry(entry: &Value) -> Option<usize> {
    let tokens = entry[CONTEXT_LIMIT_KEY].as_u64();
    let tokens = usize::try_from(tokens.unwrap_or(DEFAULT_CONTEXT_TOKENS)).ok()?;
    if tokens == 0 {
        return None;
    }
    tokens.checked_mul(BYTES_PER_TOKEN) // a number that is too large is no limit
}

/// Returns a warning if the hook's context is limited. The model must then call the tool for long
/// prompts.
fn check_context_limit(examined: &Examined, hook: &RegisteredHook) -> Option<Finding> {
    let limit = limit_of_entry(&hook.entry)?;
    let message = format!(
        "`{CONTEXT_LIMIT_KEY}` is not 0, so Codex would cut longer contexts. For prompts of more \
         than {} bytes, the hook asks the model to call `expand_prompt`",
        with_commas(limit)
    );
    let fix = "run `prompt-expander install codex`, and trust the hook again when Codex asks";
    Some(examined.warning(message, fix))
}

/// Returns a warning if there are hooks both in the file of a hook and in the other file beside it.
fn check_hooks_in_two_files(examined: &Examined, hook: &RegisteredHook) -> Option<Finding> {
    let other_file = examined.settings().find(|file| {
        file.scope == hook.scope && file.path != hook.path && has_hooks(&file.value)
    })?;
    let message = format!(
        "Codex warns at each start that there are hooks in this file and also in {}",
        path_in_backticks(&other_file.path)
    );
    let fix = "move all hooks to one of the files";
    Some(examined.warning(message, fix))
}

/// The requirements of an administrator, below the root of the file system.
const REQUIREMENTS: &str = if cfg!(windows) {
    "ProgramData/OpenAI/Codex/requirements.toml"
} else {
    "etc/codex/requirements.toml"
};

/// Reads the requirements of an administrator, if there are any.
fn read_requirements(system: &System) -> Option<ConfigFile> {
    let path = system.root.join(REQUIREMENTS);
    ConfigFile::read(&path, ConfigSyntax::Toml, Scope::User).ok()?
}

/// Returns an error if an administrator lets only their own hooks run.
fn check_managed_hooks_only(examined: &Examined, _: &RegisteredHook) -> Option<Finding> {
    let key = "allow_managed_hooks_only";
    let file = read_requirements(examined.system)?;
    if file.value[key] != true {
        return None;
    }
    let message = format!("Codex runs only the hooks of your administrator: `{key}` is true");
    let fix = "ask your administrator to allow or add this hook";
    Some(examined.error(message, fix).at_key(&file, &[key]))
}

/// Returns an error if an administrator allows only certain servers, but not this one: it must have
/// the same name and the same command.
fn check_allowed_servers(examined: &Examined, server: &Registration) -> Option<Finding> {
    let key = "mcp_servers";
    let file = read_requirements(examined.system)?;
    let allowed = file.value.get(key)?;
    let command = server.command.as_deref()?; // `doctor` checks no server that has a URL
    if allowed[&server.name]["identity"]["command"] == command {
        return None;
    }
    let message = format!(
        "your administrator does not allow {} with this command in Codex",
        in_backticks(&server.name)
    );
    let fix = "ask your administrator to add it to this file";
    Some(examined.error(message, fix).at_key(&file, &[key]))
}

/// Builds the same entry as `codex mcp add`, which omits empty `args`.
fn new_entry(program: &str, arguments: &[String]) -> Entry {
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

/// The environment variables that every server inherits: on Unix, on Windows (according to Codex's
/// source code), and those for certificates.
const INHERITED_VARIABLES: &str = "\
    HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER __CF_USER_TEXT_ENCODING \
    APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 \
    SYSTEMDRIVE SYSTEMROOT TEMP TMP USERDOMAIN USERNAME USERPROFILE WINDIR \
    CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE";

/// Returns the environment that a server inherits: the [`INHERITED_VARIABLES`], and those that
/// `env_vars` in its registration lists.
fn environment(system: &System, server: &Registration) -> Environment {
    let mut names: Vec<&str> = INHERITED_VARIABLES.split_whitespace().collect();
    let env_vars = server.entry.get("env_vars").and_then(Value::as_array);
    for variable in env_vars.into_iter().flatten() {
        // `"NAME"` or `{name = "NAME", …}`
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

/// Returns a warning if the server is registered in a project that Codex does not trust. A project
/// is trusted if any of its parent folders is.
fn check_project_trust(examined: &Examined, server: &Registration) -> Option<Finding> {
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

/// Returns a finding if Codex does not run a hook because the user hasn't trusted it or has
/// disabled it.
///
/// Codex records a hash of each trusted hook, and asks again when the hook changes. The hash is
/// undocumented, so this only checks that there is a record. It can't be outdated because of
/// `install`, which deletes the record whenever it changes a hook.
fn check_hook_trust(examined: &Examined, hook: &RegisteredHook) -> Option<Finding> {
    let Some(record) = CODEX.trust_record(examined.files, &hook.path, hook.place) else {
        return Some(examined.warning(
            "Codex silently skips the hook until you trust it, and has no record that you do",
            "start `codex` once, and choose \"Trust all and continue\"",
        ));
    };
    if record.value["enabled"] == false {
        let fix = "enable it with `/hooks` in Codex";
        return Some(examined.error("the hook is disabled in Codex", fix));
    }
    None
}
