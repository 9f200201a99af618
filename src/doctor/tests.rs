//! Tests of [`Examination`] with config files in a temporary home directory. Almost nothing is
//! started: the registered programs don't exist, or must not be run.

use super::*;
use crate::agents::{Environment, System};
use crate::menus::{MenuPrompts, MenuSettings};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The path of this program, which doesn't exist.
const PROGRAM: &str = "/nowhere/prompt-expander";

/// A temporary home directory that is also the project.
struct Home {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl Home {
    fn new() -> Home {
        let environment = [
            ("PATH", "/usr/bin:/bin"),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ];
        Home {
            folder: tempfile::tempdir().unwrap(),
            environment: environment.into_iter().collect(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl ToString) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.to_string()).unwrap();
        path
    }

    /// Registers a command with Codex. `more` has further lines of TOML.
    fn register_with_codex(&self, command: &str, more: &str) -> PathBuf {
        let command = json!(command);
        let text = format!("[mcp_servers.prompts]\ncommand = {command}\n{more}\n");
        self.write(".codex/config.toml", text)
    }

    /// Registers this program with Gemini CLI, in addition to `settings`.
    fn register_with_gemini(&self, mut settings: Value) {
        settings["mcpServers"] = json!({"prompts": {"command": PROGRAM, "trust": true}});
        self.write(".gemini/settings.json", settings);
    }

    fn examination(&self) -> Examination {
        Examination {
            system: System {
                home: Some(self.folder.path().to_owned()),
                config: Some(self.path(".config")),
                root: self.path("root"),
                environment: self.environment.clone(),
                project: self.folder.path().to_owned(),
            },
            program: PROGRAM.into(),
            timeout: Duration::from_secs(10),
            online: false,
            menus: MenuSettings::default(),
            library_id: String::new(),
        }
    }

    fn report(&self, agent: &str) -> AgentReport {
        let agent = Agent::by_name(agent).unwrap();
        self.examination()
            .examine_agent(agent, Some("research"), &MenuPrompts::default())
    }

    /// Returns the only finding about an agent whose message contains `message`.
    #[track_caller]
    fn finding(&self, agent: &str, severity: Severity, message: &str) -> Diagnostic {
        let findings = self.report(agent).findings;
        let mut matching = findings
            .iter()
            .filter(|finding| finding.diagnostic.message.contains(message));
        let Some(finding) = matching.next() else {
            panic!("no finding has {message:?}: {findings:#?}");
        };
        assert_eq!(matching.next(), None, "reported twice");
        let diagnostic = finding.diagnostic.clone();
        assert_eq!(diagnostic.severity(), severity, "{diagnostic}");
        assert_ne!(diagnostic.fix, "", "{diagnostic}");
        diagnostic
    }

    #[track_caller]
    fn assert_not_reported(&self, agent: &str, message: &str) {
        for finding in self.report(agent).findings {
            let diagnostic = finding.diagnostic;
            assert!(!diagnostic.message.contains(message), "{diagnostic}");
        }
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns settings with a hook that runs `line`.
fn hooks(event: &str, line: &str) -> Value {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}})
}

#[test]
fn agents_without_a_registration_are_named_in_one_finding() {
    let home = Home::new();
    let reports = [home.report("codex"), home.report("zed")];
    let missing = missing_registration_finding(&reports, None).unwrap();
    assert_eq!(missing.agent, None);
    assert_eq!(
        missing.diagnostic.text(),
        "this program is not registered with `codex` and `zed` yet; run `prompt-expander install codex zed`"
    );
    let zed = Agent::by_name("zed");
    let missing = missing_registration_finding(&reports[1..], zed).unwrap();
    assert_eq!(missing.agent, Some("zed"));
    home.register_with_codex(PROGRAM, "");
    assert_eq!(
        missing_registration_finding(&[home.report("codex")], None),
        None
    );
    // The registration may be in the file that cannot be read.
    home.write(".codex/config.toml", "[");
    assert_eq!(
        missing_registration_finding(&[home.report("codex")], None),
        None
    );
    let nobody = missing_registration_finding(&[], None).unwrap().diagnostic;
    assert_eq!(nobody.severity(), Severity::Error);
    assert!(
        nobody
            .message
            .starts_with("this machine has none of the agents `codex`, ")
    );
}

#[test]
fn an_agent_is_in_use_if_it_is_found_or_this_program_is_registered_with_it() {
    let home = Home::new();
    assert!(!home.report("cursor").is_in_use);
    for (program, is_in_use) in [("another-program", false), (PROGRAM, true)] {
        let server = json!({"mcpServers": {"prompts": {"command": program}}});
        home.write("project.json", &server);
        home.write(".mcp.json", server);
        assert_eq!(home.report("claude-code").is_in_use, is_in_use, "{program}");
    }
    home.write(".cursor/anything", "");
    assert!(home.report("cursor").is_in_use);
}

#[test]
fn a_config_that_cannot_be_read_is_named_with_its_position() {
    let home = Home::new();
    for (agent, name, text, message, line) in [
        ("codex", ".codex/config.toml", "a = 1\nb = [", "array", 2),
        (
            "gemini",
            ".gemini/settings.json",
            "{\n  \"mcpServers\": []\n}",
            "`mcpServers` must be an object",
            2,
        ),
        (
            "gemini",
            ".gemini/settings.json",
            r#"{"mcpServers": {"prompts": {"command": ["x"]}}}"#,
            "`prompts`: `command` must be a string",
            1,
        ),
        (
            "claude-code",
            ".claude/settings.json",
            "{",
            "unterminated object",
            1,
        ),
    ] {
        let file = home.write(name, text);
        let broken = home.finding(agent, Severity::Error, message);
        assert_eq!(broken.file.as_deref(), Some(&*file));
        assert_eq!(broken.position.unwrap().line, line, "{broken}");
    }
}

#[test]
fn a_command_that_cannot_be_started_says_why() {
    let home = Home::new();
    let plain = home.write("plain", "").display().to_string();
    for (command, problem, fix) in [
        (
            PROGRAM,
            "does not exist",
            "run `prompt-expander install codex`",
        ),
        (
            "prompt-expander",
            "is in no folder of PATH",
            "run `prompt-expander install codex`",
        ),
        #[cfg(unix)]
        (
            &plain,
            "is not executable",
            "run `prompt-expander install codex --replace`",
        ),
    ] {
        home.register_with_codex(command, "");
        let message = format!("the command of `prompts`, `{command}`, {problem}");
        let broken = home.finding("codex", Severity::Error, &message);
        assert_eq!(broken.fix, fix);
        assert_eq!(broken.position.unwrap().line, 1);
    }
}

#[test]
fn settings_that_keep_the_prompts_from_the_model_are_reported() {
    for (agent, file, settings, severity, message) in [
        (
            "gemini",
            ".gemini/settings.json",
            json!({"mcpServers": {"prompts": {"command": PROGRAM}}}),
            Severity::Warning,
            "Gemini CLI asks before each call",
        ),
        (
            "qwen",
            ".qwen/settings.json",
            json!({"mcpServers": {"prompts": {"command": PROGRAM}}}),
            Severity::Warning,
            "Qwen Code may ask before it calls `expand_prompt`",
        ),
        (
            "pi",
            ".pi/agent/mcp.json",
            json!({"mcpServers": {"prompts": {"command": PROGRAM}}}),
            Severity::Warning,
            "pi does not show the tools of this server to the model",
        ),
        (
            "gemini",
            ".gemini/mcp-server-enablement.json",
            json!({"prompts": {"enabled": false}}),
            Severity::Error,
            "`prompts` is disabled",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            json!({}),
            Severity::Warning,
            "Claude Code asks before it calls `expand_prompt`",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            json!({"permissions": {"allow": ["mcp__*"]}}),
            Severity::Warning,
            "Claude Code asks before it calls `expand_prompt`",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            json!({"permissions": {"allow": ["mcp__prompts"], "ask": ["mcp__prompts__*"]}}),
            Severity::Warning,
            "`permissions.ask` lists `mcp__prompts__*`, so Claude Code asks before each call",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            json!({"disabledMcpServers": ["prompts"]}),
            Severity::Error,
            "`prompts` is disabled in this project",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            json!({"disabledMcpjsonServers": ["prompts"]}),
            Severity::Error,
            "`prompts` of this project was refused",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            json!({"permissions": {"allow": ["mcp__prompts"]}}),
            Severity::Warning,
            "comes with the project and has not been accepted yet",
        ),
    ] {
        let home = Home::new();
        if agent == "gemini" {
            home.register_with_gemini(json!({}));
        } else {
            let server = json!({"mcpServers": {"prompts": {"command": PROGRAM}}});
            home.write(".mcp.json", server);
        }
        home.write(file, settings);
        home.finding(agent, severity, message);
    }
    let home = Home::new();
    home.register_with_codex(PROGRAM, "enabled = false");
    home.finding(
        "codex",
        Severity::Error,
        "`prompts` is disabled in this file",
    );
}

/// Measured with Codex 0.171.0, Gemini CLI 0.61.0, Qwen Code 0.24.4 and Copilot CLI 1.0.102. For
/// Claude Code and opencode, their source was read.
#[test]
fn a_list_that_keeps_the_tool_from_the_model_is_an_error_at_its_key() {
    const NOTHING: &str = "to the model"; // the message of no finding contains this
    for (agent, file, settings, message) in [
        (
            "gemini",
            GEMINI,
            r#""mcp": {"allowed": ["x", "Prompts"]}"#,
            "`mcp.allowed` does not list `prompts`",
        ),
        ("gemini", GEMINI, r#""mcp": {"allowed": []}"#, NOTHING),
        (
            "gemini",
            GEMINI,
            r#""mcp": {"excluded": ["prompts"]}"#,
            "`mcp.excluded` lists `prompts`",
        ),
        (
            "gemini",
            GEMINI_ENTRY,
            r#""includeTools": []"#,
            "`includeTools` does not list `expand_prompt`",
        ),
        (
            "gemini",
            GEMINI_ENTRY,
            r#""includeTools": ["expand_prompt"], "excludeTools": ["expand_prompt"]"#,
            "`excludeTools` lists `expand_prompt`",
        ),
        (
            "gemini",
            GEMINI_ENTRY,
            r#""includeTools": ["expand_prompt"], "excludeTools": ["list_prompts"]"#,
            NOTHING,
        ),
        (
            "gemini",
            GEMINI_ENTRY,
            r#""includeTools": ["expand_prompt(x)"]"#,
            NOTHING,
        ),
        (
            "gemini",
            GEMINI,
            r#""tools": {"exclude": ["mcp_prompts_expand_prompt"]}"#,
            "`tools.exclude` lists `mcp_prompts_expand_prompt`",
        ),
        (
            "gemini",
            GEMINI,
            r#""tools": {"exclude": ["x", "expand_prompt"]}"#,
            "`tools.exclude` lists `expand_prompt`",
        ),
        (
            "codex",
            CODEX,
            "enabled_tools = ['list_prompts']",
            "`enabled_tools` does not list `expand_prompt`",
        ),
        ("codex", CODEX, "enabled_tools = ['expand_prompt']", NOTHING),
        (
            "codex",
            CODEX,
            "disabled_tools = ['expand_prompt']",
            "`disabled_tools` lists `expand_prompt`",
        ),
        (
            "claude-code",
            CLAUDE,
            r#""permissions": {"deny": ["Bash", "mcp__prompts"]}"#,
            "`permissions.deny` lists `mcp__prompts`",
        ),
        (
            "claude-code",
            CLAUDE,
            r#""permissions": {"deny": ["mcp__p*"]}"#,
            "`permissions.deny` lists `mcp__p*`",
        ),
        (
            "claude-code",
            CLAUDE,
            r#""permissions": {"deny": ["mcp__prompts__expand_*"]}"#,
            "`permissions.deny` lists `mcp__prompts__expand_*`",
        ),
        (
            "claude-code",
            CLAUDE,
            r#""permissions": {"deny": ["mcp__prompts__list_*", "mcp__other__*"]}"#,
            NOTHING,
        ),
        (
            "claude-code",
            CLAUDE,
            r#""deniedMcpServers": [{"serverCommand": ["/nowhere/prompt-expander", "-x"]}]"#,
            r#"`deniedMcpServers` lists `{"serverCommand":["/nowhere/prompt-expander","-x"]}`"#,
        ),
        (
            "claude-code",
            CLAUDE,
            r#""allowedMcpServers": []"#,
            r#"`allowedMcpServers` does not list `{"serverName":"prompts"}`"#,
        ),
        (
            "claude-code",
            CLAUDE,
            r#""allowedMcpServers": [{"serverName": "prompts"}, {"serverCommand": ["x"]}]"#,
            r#"`allowedMcpServers` does not list `{"serverCommand":"#,
        ),
        (
            "claude-code",
            CLAUDE,
            r#""allowedMcpServers": [{"serverCommand": ["/nowhere/prompt-expander", "-x"]}]"#,
            NOTHING,
        ),
        (
            "qwen",
            QWEN,
            r#""mcp": {"excluded": ["prom*"]}"#,
            "`mcp.excluded` lists `prom*`",
        ),
        ("qwen", QWEN, r#""mcp": {"allowed": ["prom*"]}"#, NOTHING),
        (
            "qwen",
            QWEN,
            r#""mcp": {"allowed": []}"#,
            "`mcp.allowed` does not list `prompts`",
        ),
        (
            "copilot",
            COPILOT,
            r#""tools": ["list_prompts"]"#,
            "`tools` does not list `expand_prompt`",
        ),
        ("copilot", COPILOT, r#""tools": ["*"]"#, NOTHING),
        (
            "copilot",
            COPILOT,
            r#""tools": ["expand*"]"#,
            "`tools` does not list `expand_prompt`",
        ),
        (
            "opencode",
            OPENCODE,
            r#""tools": {"prompts*": false}"#,
            "`tools.prompts*` is `false`",
        ),
        (
            "opencode",
            OPENCODE,
            r#""tools": {"prompts_expand_prompt": true}, "permission": {"*_expand_*": "deny"}"#,
            "`permission.*_expand_*` is `\"deny\"`",
        ),
        (
            "opencode",
            OPENCODE,
            r#""permission": "deny""#,
            "`permission` is `\"deny\"`",
        ),
        (
            "opencode",
            OPENCODE,
            r#""permission": {"prompts*": {"*": "deny"}}"#,
            "`permission.prompts*` is",
        ),
        (
            "opencode",
            OPENCODE,
            r#""permission": {"*": "allow"}, "agent": {"build": {"permission": {"prompts*": "deny"}}}"#,
            "`agent.build.permission.prompts*` is `\"deny\"`",
        ),
        (
            "opencode",
            OPENCODE,
            r#""agent": {"plan": {"tools": {"prompts*": false}}}"#,
            "`agent.plan.tools.prompts*` is `false`",
        ),
        (
            "opencode",
            OPENCODE,
            r#""agent": {"titles": {"tools": {"*": false}}, "build": {"permission": "allow"}}"#,
            NOTHING,
        ),
        (
            "opencode",
            OPENCODE,
            r#""tools": {"*": false, "prompts_*": true, "prompt": false}"#,
            NOTHING,
        ),
    ] {
        let home = Home::new();
        let servers = r#"{"mcpServers": {"prompts": {"command": "/nowhere/prompt-expander", "args": ["-x"]}}}"#;
        home.write(".claude.json", servers);
        let (name, text) = file;
        let file = home.write(name, text.replace("MORE", settings));
        if message == NOTHING {
            home.assert_not_reported(agent, message);
        } else {
            let error = home.finding(agent, Severity::Error, message);
            assert!(error.position.is_some() && error.file.as_deref() == Some(&*file));
        }
    }
}

/// Files that register this program, with further settings in place of `MORE`.
const CODEX: (&str, &str) = (
    ".codex/config.toml",
    "[mcp_servers.prompts]\ncommand = '/nowhere/prompt-expander'\nMORE\n",
);
const GEMINI: (&str, &str) = (
    ".gemini/settings.json",
    r#"{MORE, "mcpServers": {"prompts": {"command": "/nowhere/prompt-expander", "trust": true}}}"#,
);
const GEMINI_ENTRY: (&str, &str) = (
    ".gemini/settings.json",
    r#"{"mcpServers": {"prompts": {"command": "/nowhere/prompt-expander", "trust": true, MORE}}}"#,
);
const QWEN: (&str, &str) = (
    ".qwen/settings.json",
    r#"{MORE, "mcpServers": {"prompts": {"command": "/nowhere/prompt-expander", "trust": true}}}"#,
);
const COPILOT: (&str, &str) = (
    ".copilot/mcp-config.json",
    r#"{"mcpServers": {"prompts": {"command": "/nowhere/prompt-expander", MORE}}}"#,
);
const OPENCODE: (&str, &str) = (
    ".config/opencode/opencode.json",
    r#"{MORE, "mcp": {"prompts": {"type": "local", "command": ["/nowhere/prompt-expander"]}}}"#,
);
/// Claude Code registers servers in another file.
const CLAUDE: (&str, &str) = (".claude/settings.json", "{MORE}");

#[test]
fn settings_of_an_administrator_override_the_user_s() {
    let folder = if cfg!(target_os = "macos") {
        "root/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        "root/Program Files/ClaudeCode"
    } else {
        "root/etc/claude-code"
    };
    const NOTHING: &str = "administrator"; // the message of no finding contains this
    let name = json!([{"serverName": "prompts"}]);
    for (file, managed, message) in [
        (
            "managed-settings.json",
            r#"{"disableAllHooks": true}"#,
            "`disableAllHooks` is true",
        ),
        (
            "managed-settings.d/10.json",
            r#"{"allowManagedHooksOnly": true}"#,
            "Claude Code runs only the hooks of your administrator: `allowManagedHooksOnly` is true",
        ),
        (
            "managed-settings.d/10.json",
            r#"{"deniedMcpServers": [{"serverName": "prompts"}]}"#,
            "`deniedMcpServers` lists",
        ),
        (
            "managed-settings.json",
            r#"{"allowedMcpServers": [], "allowManagedMcpServersOnly": true}"#,
            "`allowedMcpServers` does not list",
        ),
        (
            "managed-settings.json",
            r#"{"permissions": {"deny": ["mcp__prompts__expand_prompt"]}}"#,
            "`permissions.deny` lists",
        ),
        (
            "managed-mcp.json",
            r#"{"mcpServers": {}}"#,
            "your administrator does not allow `prompts` in Claude Code",
        ),
        // The user may add to the list of allowed servers.
        (
            "managed-settings.json",
            r#"{"allowedMcpServers": []}"#,
            NOTHING,
        ),
        (
            "managed-settings.d/.x.json",
            r#"{"allowManagedHooksOnly": true}"#,
            NOTHING,
        ),
        (
            "managed-mcp.json",
            r#"{"mcpServers": {"prompts": {}}}"#,
            NOTHING,
        ),
    ] {
        let home = Home::new();
        let servers = json!({"mcpServers": {"prompts": {"command": PROGRAM}}});
        home.write(".claude.json", servers);
        let mut settings = hooks("UserPromptSubmit", &format!("{PROGRAM} hook claude-code"));
        settings["allowedMcpServers"] = name.clone();
        settings["disableAllHooks"] = json!(false);
        home.write(".claude/settings.json", settings);
        let file = home.write(&format!("{folder}/{file}"), managed);
        if message == NOTHING {
            home.assert_not_reported("claude-code", message);
            home.assert_not_reported("claude-code", "to the model");
        } else {
            let error = home.finding("claude-code", Severity::Error, message);
            let asks = error.fix.starts_with("ask your administrator to ");
            assert!(asks && error.file.as_deref() == Some(&*file), "{error}");
        }
    }
    let mut home = Home::new();
    let settings = home.write("system.json", r#"{"mcp": {"excluded": ["prompts"]}}"#);
    let variable = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
    home.environment.set(variable, &settings);
    home.register_with_gemini(json!({}));
    let error = home.finding("gemini", Severity::Error, "`mcp.excluded` lists `prompts`");
    assert_eq!(
        error.fix,
        "ask your administrator to remove it from the list"
    );
}

#[test]
fn requirements_of_an_administrator_limit_the_servers_and_hooks_of_codex() {
    let file = if cfg!(windows) {
        "root/ProgramData/OpenAI/Codex/requirements.toml"
    } else {
        "root/etc/codex/requirements.toml"
    };
    let not_allowed = "your administrator does not allow `prompts` with this command in Codex";
    let server = |command: &str| format!("[mcp_servers.prompts.identity]\ncommand = '{command}'");
    for (requirements, message) in [
        (
            "allow_managed_hooks_only = true".to_owned(),
            "Codex runs only the hooks of your",
        ),
        ("[mcp_servers]".to_owned(), not_allowed),
        (server("other"), not_allowed),
        (server(PROGRAM), ""),
    ] {
        let home = Home::new();
        home.register_with_codex(PROGRAM, "");
        let hook = hooks("UserPromptSubmit", &format!("{PROGRAM} hook codex"));
        home.write(".codex/hooks.json", hook);
        let file = home.write(file, requirements);
        if message.is_empty() {
            home.assert_not_reported("codex", "administrator");
        } else {
            let error = home.finding("codex", Severity::Error, message);
            assert_eq!(error.file.as_deref(), Some(&*file));
        }
    }
}

#[test]
fn a_server_of_a_project_that_is_allowed_and_accepted_is_not_reported() {
    let home = Home::new();
    home.write(
        ".mcp.json",
        json!({"mcpServers": {"prompts": {"command": PROGRAM}}}),
    );
    home.write(
        ".claude/settings.json",
        json!({"permissions": {"allow": ["mcp__prompts"]}, "enabledMcpjsonServers": ["prompts"]}),
    );
    home.assert_not_reported("claude-code", "accepted");
    home.assert_not_reported("claude-code", "asks before");
}

#[test]
fn a_folder_that_gemini_does_not_trust_is_reported() {
    let mut home = Home::new();
    home.environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
    let message = "Gemini CLI does not trust this folder, and starts no server in it";
    home.register_with_gemini(json!({}));
    home.finding("gemini", Severity::Warning, message);
    let project = home.folder.path().canonicalize().unwrap();
    let parent = project.parent().unwrap();
    for (folder, rule, rule_of_parent, is_trusted) in [
        ("", "TRUST_FOLDER", "DO_NOT_TRUST", true),
        ("below", "TRUST_PARENT", "DO_NOT_TRUST", true),
        ("", "DO_NOT_TRUST", "TRUST_FOLDER", false),
    ] {
        let folder = project.join(folder);
        let rules =
            json!({folder.to_str().unwrap(): rule, parent.to_str().unwrap(): rule_of_parent});
        home.write(".gemini/trustedFolders.json", rules);
        if is_trusted {
            home.assert_not_reported("gemini", message);
        } else {
            home.finding("gemini", Severity::Warning, message);
        }
    }
    home.register_with_gemini(json!({"security": {"folderTrust": {"enabled": false}}}));
    home.assert_not_reported("gemini", message);
}

#[test]
fn another_name_and_a_second_registration_are_reported() {
    let home = Home::new();
    let message = "this program is registered as `mine`";
    let mine = format!("[mcp_servers.mine]\ncommand = \"{PROGRAM}\"\n");
    home.write(".codex/config.toml", &mine);
    let other = home.finding("codex", Severity::Warning, message);
    assert_eq!(other.position.unwrap().line, 1);
    home.finding("codex", Severity::Error, "the command of `mine`");
    home.register_with_codex(PROGRAM, &mine);
    let second = home.finding("codex", Severity::Warning, message);
    assert_eq!(second.position.unwrap().line, 3);
    home.finding("codex", Severity::Error, "the command of `prompts`");
}

#[test]
fn options_in_a_registration_are_reported() {
    let home = Home::new();
    home.register_with_codex(PROGRAM, r#"args = ["--from-agents"]"#);
    let message = "the options `--from-agents` are only for Codex";
    let unwanted = home.finding("codex", Severity::Warning, message);
    assert_eq!(
        unwanted.fix,
        "write their keys into config.toml, then run `prompt-expander install codex`"
    );
}

#[cfg(unix)]
#[test]
fn a_variable_that_the_agent_does_not_pass_on_is_reported() {
    let mut home = Home::new();
    home.environment.set(crate::agents::PROMPTS_VARIABLE, "/x");
    let message = "PROMPT_EXPANDER_PROMPTS is set here, and Codex does not pass it on";
    home.register_with_codex("sh", r#"args = ["-c", "exit 1"]"#);
    home.finding("codex", Severity::Warning, message);
    home.register_with_codex(
        "sh",
        "args = [\"-c\", \"exit 1\"]\nenv_vars = [\"PROMPT_EXPANDER_PROMPTS\"]",
    );
    home.assert_not_reported("codex", message);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_without_a_path_may_be_missing_for_an_agent_on_the_desktop() {
    const USER: &str = ".config/Code/User/mcp.json";
    const PROJECT: &str = ".vscode/mcp.json";
    let message = "is looked up in PATH, which is different when VS Code is started";
    for (file, command, is_reported) in [
        (USER, "sh", true),
        (USER, "prompt-expander", true),
        (PROJECT, "sh", true),
        (PROJECT, "prompt-expander", false), // as `install --project` writes it
    ] {
        let mut home = Home::new();
        let folder = home.path("bin");
        let program = home.write("bin/prompt-expander", "#!/bin/sh\nexit 1\n");
        make_executable(&program);
        let path = format!("{}:/usr/bin:/bin", folder.display());
        home.environment.set("PATH", path);
        let server = json!({"command": command, "args": ["-c", "exit 1"]});
        home.write(file, json!({"servers": {"prompts": server}}));
        if is_reported {
            home.finding("vscode", Severity::Warning, message);
        } else {
            home.assert_not_reported("vscode", message);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_may_be_untrusted_is_not_started() {
    let home = Home::new();
    let evil = home.write("prompt-expander", "#!/bin/sh\ntouch started\n");
    make_executable(&evil);
    home.register_with_codex("./prompt-expander", "");
    let folder =
        "`prompts` is a program in this folder and not this program, so it was not started";
    home.finding("codex", Severity::Warning, folder);

    let server =
        json!({"mcpServers": {"prompts": {"command": "sh", "args": ["-c", "touch started"]}}});
    home.write(".mcp.json", server);
    let project =
        "`prompts` comes with the project and is not exactly this program, so it was not started";
    home.finding("claude-code", Severity::Warning, project);
    assert!(!home.path("started").exists());
}

#[cfg(unix)]
#[test]
fn a_server_of_another_version_is_reported() {
    let home = Home::new();
    let script = home.write(
        "server.sh",
        r#"echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"version":"0.0.1"}}}'
echo '{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"prompts":[]}}}'"#,
    );
    home.register_with_codex("sh", &format!("args = [{}]", json!(script)));
    let message = "`prompts` is version `0.0.1`, in ";
    let other = home.finding("codex", Severity::Warning, message);
    assert_eq!(other.fix, "run `prompt-expander install codex --replace`");
}

#[cfg(unix)]
#[test]
fn a_hook_that_may_be_untrusted_or_does_more_is_not_run() {
    let mut home = Home::new();
    let settings = home.path("mine");
    home.environment.set("CODEX_HOME", settings);
    let evil = home.write("prompt-expander", "#!/bin/sh\ntouch started\n");
    make_executable(&evil);
    let absolute = evil.display();
    for (file, line) in [
        (".codex/hooks.json", format!("{absolute} hook codex")),
        (
            "mine/hooks.json",
            format!("{absolute} hook codex; touch started"),
        ),
        ("mine/hooks.json", "./prompt-expander hook codex".to_owned()),
    ] {
        let file = home.write(file, hooks("UserPromptSubmit", &line));
        let message = "the hook is not exactly this program, so it was not run";
        home.finding("codex", Severity::Warning, message);
        fs::remove_file(file).unwrap();
    }
    assert!(!home.path("started").exists());
}

#[test]
fn a_hook_whose_program_is_gone_or_that_is_registered_twice_is_reported() {
    let home = Home::new();
    let line = format!("{PROGRAM} hook codex");
    home.write(".codex/hooks.json", hooks("UserPromptSubmit", &line));
    let message = format!("the program of the hook, `{PROGRAM}`, does not exist");
    let gone = home.finding("codex", Severity::Error, &message);
    assert_eq!(gone.fix, "run `prompt-expander install codex`");
    let hook = json!({"command": line});
    let twice = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook, hook]}]}});
    home.write(".codex/hooks.json", twice);
    home.finding("codex", Severity::Warning, "the hook is registered twice");
}

#[test]
fn a_hook_that_its_agent_would_not_run_is_reported() {
    for (agent, file, event, key, value, message) in [
        (
            "gemini",
            ".gemini/settings.json",
            "BeforeAgent",
            "hooksConfig",
            json!({"enabled": false}),
            "Gemini CLI runs no hooks: `hooksConfig.enabled` is false",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "BeforeAgent",
            "hooksConfig",
            json!({"disabled": [format!("{PROGRAM} hook gemini")]}),
            "`hooksConfig.disabled` lists the hook",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            "UserPromptSubmit",
            "disableAllHooks",
            json!(true),
            "Claude Code runs no hooks: `disableAllHooks` is true",
        ),
        (
            "qwen",
            ".qwen/settings.json",
            "UserPromptSubmit",
            "disableAllHooks",
            json!(true),
            "Qwen Code runs no hooks: `disableAllHooks` is true",
        ),
    ] {
        let home = Home::new();
        let mut settings = hooks(event, &format!("{PROGRAM} hook {agent}"));
        settings[key] = value;
        home.write(file, settings);
        home.finding(agent, Severity::Error, message);
    }
}

#[test]
fn a_hook_of_codex_must_be_trusted_and_switched_on() {
    let home = Home::new();
    let line = format!("{PROGRAM} hook codex");
    let file = home.write(".codex/hooks.json", hooks("UserPromptSubmit", &line));
    let state = json!(format!("{}:user_prompt_submit:0:0", file.display()));
    home.register_with_codex(PROGRAM, "");
    let untrusted = home.finding(
        "codex",
        Severity::Warning,
        "skips the hook until you trust it",
    );
    assert_eq!(
        untrusted.fix,
        "start `codex` once, and choose \"Trust all and continue\""
    );
    home.register_with_codex(
        PROGRAM,
        &format!("[hooks.state.{state}]\ntrusted_hash = \"x\""),
    );
    home.assert_not_reported("codex", "until you trust it");
    home.finding(
        "codex",
        Severity::Warning,
        "For prompts of more than 10,000 bytes, the hook asks the model to call `expand_prompt`",
    );
    let both = "there are hooks in this file and also in `";
    home.assert_not_reported("codex", both);
    home.register_with_codex(PROGRAM, "[[hooks.Stop]]\nhooks = []");
    home.finding("codex", Severity::Warning, both);
    home.register_with_codex(PROGRAM, &format!("[hooks.state.{state}]\nenabled = false"));
    home.finding("codex", Severity::Error, "the hook is disabled in Codex");
    home.register_with_codex(PROGRAM, "[features]\nhooks = false");
    let off = home.finding(
        "codex",
        Severity::Error,
        "Codex runs no hooks: `features.hooks` is false",
    );
    assert_eq!(off.position.unwrap().line, 4);
}

#[test]
fn the_plugin_must_find_the_program_and_be_the_only_registration() {
    let mut home = Home::new();
    home.write(
        ".claude/settings.json",
        json!({"enabledPlugins": {"prompt-expander@ours": true}}),
    );
    home.write(
        ".claude/plugins/installed_plugins.json",
        json!({"version": 2, "plugins": {"prompt-expander@ours": [{"installPath": "/p"}]}}),
    );
    let missing =
        "the plugin `prompt-expander@ours` starts `prompt-expander`, which is in no folder of PATH";
    home.finding("claude-code", Severity::Error, missing);
    assert!(home.report("claude-code").is_registered);
    #[cfg(unix)]
    {
        make_executable(&home.write("bin/prompt-expander", ""));
        let bin = home.path("bin");
        home.environment.set("PATH", bin);
        home.assert_not_reported("claude-code", missing);
    }
    home.write(
        ".claude.json",
        json!({"mcpServers": {"prompts": {"command": PROGRAM}}}),
    );
    let message = "has the server and the hook, too, so the model sees each tool twice";
    let second = home.finding("claude-code", Severity::Warning, message);
    assert_eq!(
        second.fix,
        "run `claude plugin disable prompt-expander@ours` or `prompt-expander uninstall claude-code`"
    );
}

#[test]
fn broken_files_and_warnings_of_the_library_are_counted() {
    let problem = |kind, file: &str| Diagnostic::new(kind, "m", "f").in_file(Path::new(file));
    let warning = problem(Kind::Warning, "a.md");
    let broken = [
        problem(Kind::Invalid, "b.md"),
        problem(Kind::Invalid, "b.md"),
        warning.clone(),
        warning.clone(),
    ];
    for (problems, text) in [
        (
            &broken[..],
            "prompts: 1 broken file, 2 warnings; run `prompt-expander check`",
        ),
        (
            &broken[2..3],
            "prompts: 1 warning; run `prompt-expander check`",
        ),
    ] {
        assert_eq!(summarize_problems(problems).unwrap().text(), text);
    }
    assert_eq!(summarize_problems(&[]), None);
}
