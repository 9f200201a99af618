//! `doctor`: what it finds in the configurations of agents, and in what they start.
//!
//! An agent is found if its folder exists. The files are those that the agents' own `mcp add`
//! writes, or as their documentation has them; the servers are the real program, or a script for
//! `sh` in its place.

use crate::client::{Client, Ran};
#[cfg(unix)]
use crate::client::{assert_contains, set_mode};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_prompt-expander");

/// A home with one prompt, and a project in it, where nothing else is.
fn home() -> Client {
    let client = Client::new().arguments([]);
    client.make_folder("project");
    // Gemini CLI trusts all folders.
    let client = client
        .variable("PATH", "/usr/bin:/bin")
        .variable("GEMINI_CLI_TRUST_WORKSPACE", "true");
    client.prompt("hello.md", "Hello {{input}}.")
}

/// What to do if a server named `prompts` is not this program, or is started by another one.
const TAKEN: &str = "run `prompt-expander install codex --replace`";

/// A registration with Codex, with these further lines.
fn codex(client: &Client, command: &str, more: &str) -> PathBuf {
    let text = format!(
        "# mine\n[mcp_servers.prompts]\ncommand = {}\n{more}\n",
        json!(command)
    );
    client.put(".codex/config.toml", text)
}

/// A server that is a script for `sh`.
#[cfg(unix)]
fn script(client: &Client, text: &str) -> PathBuf {
    let path = client.put("server.sh", text);
    codex(client, "sh", &format!("args = [{}]", json!(path)))
}

/// Runs it with the library of the home.
fn doctor(client: &Client, arguments: &[&str]) -> Ran {
    client.run([&["doctor"], arguments].concat(), "")
}

/// The findings, and whether something is broken.
fn findings(client: &Client, arguments: &[&str]) -> Vec<Value> {
    let ran = doctor(client, &[&["--json"], arguments].concat());
    assert_eq!(ran.stderr, "");
    let found = ran.json();
    let findings = found["findings"].as_array().unwrap().clone();
    let broken = findings
        .iter()
        .any(|finding| finding["severity"] == "broken");
    let says = |what: &str| {
        findings
            .iter()
            .any(|finding| finding["message"].as_str().unwrap().contains(what))
    };
    let unregistered = says("not registered with") && !says(" answers in ");
    assert_eq!(
        ran.status.code(),
        Some(i32::from(broken || unregistered)),
        "{}",
        ran.stdout
    );
    for finding in &findings {
        assert!(
            finding["severity"] == "fine" || finding["remedy"].is_string(),
            "no remedy: {finding}"
        );
    }
    findings
}

/// The one finding whose message contains this.
#[track_caller]
fn found(client: &Client, arguments: &[&str], severity: &str, message: &str) -> Value {
    let all = findings(client, arguments);
    let mut with = all
        .iter()
        .filter(|finding| finding["message"].as_str().unwrap().contains(message));
    let finding = with
        .next()
        .unwrap_or_else(|| panic!("no finding has {message:?}: {all:#?}"));
    assert_eq!(finding["severity"], severity, "{all:#?}");
    assert_eq!(with.next(), None, "reported twice: {all:#?}");
    finding.clone()
}

#[track_caller]
fn found_broken(client: &Client, agent: &str, message: &str) -> Value {
    found(client, &[agent], "broken", message)
}

#[track_caller]
fn found_warning(client: &Client, agent: &str, message: &str) -> Value {
    found(client, &[agent], "warning", message)
}

#[track_caller]
fn found_fine(client: &Client, agent: &str, message: &str) -> Value {
    found(client, &[agent], "fine", message)
}

/// A correct registration is fine, and nothing else is reported.
#[track_caller]
fn is_fine(client: &Client, name: &str) {
    let found = findings(client, &[name]);
    assert!(
        found.iter().all(|finding| finding["severity"] == "fine"),
        "{found:#?}"
    );
    assert!(!found.is_empty());
}

#[test]
fn an_agent_without_a_registration_is_a_warning_and_the_status_is_1_if_there_is_none_at_all() {
    let client = home();
    let none = doctor(&client, &[]);
    assert_eq!(none.status.code(), Some(1));
    assert!(
        none.stdout
            .starts_with("broken: no agent was found on this machine; looked for `codex`, "),
        "{none:?}"
    );
    client.make_folder(".codex");
    client.make_folder(".gemini");
    let ran = doctor(&client, &[]);
    let want = "warning: this program is not registered with `codex` and `gemini` yet; run `prompt-expander install codex gemini`\n";
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), want));
    codex(&client, PROGRAM, "");
    let zed = found_warning(&client, "zed", "not registered with `zed` yet");
    assert_eq!(
        (&zed["client"], &zed["remedy"]),
        (&json!("zed"), &json!("run `prompt-expander install zed`"))
    );
}

#[test]
fn each_agent_is_one_line_and_verbose_prints_all_findings() {
    let client = home();
    let file = codex(
        &client,
        PROGRAM,
        "args = [\"--from-agents\"]\n[mcp_servers.mine]\ncommand = \"prompt-expander\"",
    );
    gemini_hook(&client, json!({}), json!({}));
    let ran = doctor(&client, &[]);
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [warned, fine] = lines.as_slice() else {
        panic!("{lines:#?}")
    };
    assert!(
        warned.starts_with(&format!(
            "codex: warning: {}:5:14: this program is registered as `mine`",
            file.display()
        )),
        "{warned}"
    );
    let end = "; `prompt-expander doctor codex -v` shows 1 more";
    assert!(warned.ends_with(end), "{warned}");
    assert!(
        fine.starts_with("gemini: fine: `prompts` answers in "),
        "{fine}"
    );

    let ran = doctor(&client, &["--verbose"]);
    let starts = ran
        .stdout
        .lines()
        .map(|line| line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(" "));
    let want = [
        "codex warning",
        "codex warning",
        "codex fine",
        "gemini fine",
        "gemini fine",
    ];
    assert_eq!(starts.collect::<Vec<_>>(), want, "{}", ran.stdout);
    assert_eq!(findings(&client, &[]).len(), 5, "JSON has all of them");
}

#[test]
fn an_agent_is_reported_if_it_is_found_or_this_program_is_registered_with_it() {
    let client = home();
    codex(&client, PROGRAM, "");
    let reported = || {
        let mut names: Vec<Value> = findings(&client, &[])
            .iter()
            .map(|finding| finding["client"].clone())
            .collect();
        names.dedup();
        Value::from(names)
    };
    assert_eq!(reported(), json!(["codex"]));
    // VS Code is not on this machine.
    let server = |program: &str| json!({"servers": {"prompts": {"command": program}}}).to_string();
    client.put(".vscode/mcp.json", server("another-program"));
    assert_eq!(reported(), json!(["codex"]));
    client.put(".vscode/mcp.json", server(PROGRAM));
    assert_eq!(reported(), json!(["codex", "vscode"]));
}

#[test]
fn nothing_is_written_to_the_files_that_a_server_records_to() {
    let client = home();
    codex(
        &client,
        PROGRAM,
        r#"args = ["--tap", "tap", "--log-file", "log"]"#,
    );
    found_fine(&client, "codex", "answers in");
    let unwanted = found_warning(
        &client,
        "codex",
        "the options `--tap tap --log-file log` are only for Codex",
    );
    assert_eq!(
        unwanted["remedy"],
        "write their keys into config.toml, then run `prompt-expander install codex`"
    );
    assert!(!client.path("tap").exists() && !client.path("log").exists());
    for option in ["--tap", "--log-file"] {
        codex(
            &client,
            PROGRAM,
            &format!("args = [\"{option}\", \"/nowhere/record\"]"),
        );
        let message = "prints on standard error: warning: `/nowhere/record` cannot be written to: ";
        found_warning(&client, "codex", message);
    }
}

#[test]
fn a_config_that_cannot_be_read_is_named_with_its_position() {
    let client = home();
    let file = codex(&client, PROGRAM, "args = [");
    let broken = found_broken(&client, "codex", "array");
    assert_eq!(
        (&broken["file"], broken["line"].as_u64()),
        (&json!(file), Some(4)),
        "{broken}"
    );
    let file = client.put(".gemini/settings.json", "{\n  \"mcpServers\": []\n}");
    let broken = found_broken(&client, "gemini", "`mcpServers` must be an object");
    assert_eq!(
        (&broken["file"], &broken["line"]),
        (&json!(file), &json!(2))
    );
    client.put(".claude/settings.json", "{");
    found_broken(&client, "claude-code", "unterminated object");
    client.put(
        ".gemini/settings.json",
        "{\"mcpServers\": {\"prompts\": {\"command\": [\"x\"]}}}",
    );
    found_broken(&client, "gemini", "`prompts`: `command` must be a string");
}

#[test]
fn a_command_that_cannot_be_started_says_why() {
    let client = home();
    let plain = client.put("plain", "text");
    for (command, why) in [
        ("/nowhere/prompt-expander", "does not exist"),
        ("prompt-expander", "is in no folder of PATH"),
        (plain.to_str().unwrap(), "is not executable"),
    ] {
        codex(&client, command, "");
        let broken = found_broken(&client, "codex", why);
        let message = format!("the command of `prompts`, `{command}`, {why}");
        assert_eq!(
            (&broken["message"], &broken["line"]),
            (&json!(message), &json!(2))
        );
        let is_ours = command.ends_with("prompt-expander");
        assert_eq!(
            broken["remedy"],
            if is_ours {
                "run `prompt-expander install codex`"
            } else {
                TAKEN
            }
        );
    }
    codex(&client, PROGRAM, "cwd = \"/nowhere\"");
    found_broken(
        &client,
        "codex",
        "the `cwd` of `prompts`, /nowhere, is not a folder",
    );
}

#[cfg(unix)]
#[test]
fn a_relative_command_is_found_from_its_folder_only() {
    let client = home();
    client.link(PROGRAM, "here");
    codex(&client, "./here", "");
    found_fine(&client, "codex", "answers in");
    // On PATH, an agent in the terminal finds it as the terminal does; one from the desktop may
    // not.
    let bin = client.path("bin");
    client.link(PROGRAM, "bin/prompt-expander");
    let client = client.variable("PATH", &format!("{}:/bin", bin.display()));
    codex(&client, "prompt-expander", "");
    is_fine(&client, "codex");
    let text = json!({"servers": {"prompts": {"command": "prompt-expander"}}});
    client.put(".config/Code/User/mcp.json", text.to_string());
    #[cfg(target_os = "linux")]
    found_warning(
        &client,
        "vscode",
        "is looked up in PATH, which is different when VS Code is started",
    );
}

#[cfg(unix)]
#[test]
fn a_program_in_the_working_directory_that_is_not_this_one_is_not_started() {
    let client = home();
    let evil = client.put("prompt-expander", "#!/bin/sh\ntouch started\n");
    set_mode(&evil, 0o755);
    codex(&client, "./prompt-expander", "");
    found_warning(
        &client,
        "codex",
        "and not this program, so it was not started",
    );
    let client = client.variable("PATH", ".:/usr/bin:/bin");
    codex(&client, "prompt-expander", "");
    found_warning(
        &client,
        "codex",
        "and not this program, so it was not started",
    );
    assert!(!client.path("started").exists());
}

#[cfg(unix)]
#[test]
fn a_program_that_is_not_a_server_is_reported_and_stopped() {
    for (text, why) in [
        (
            "echo hello; exec cat > /dev/null",
            "prints what is not a message: `hello`",
        ),
        (
            "exit 3",
            "ended with status 3 before it answered `initialize`",
        ),
        (
            "echo no such thing >&2; exit 1",
            "ended with status 1 before it answered `initialize`; standard error: no such thing",
        ),
        (
            "kill -9 $$",
            "ended by signal 9 before it answered `initialize`",
        ),
        (
            "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"no\"}}'; read line",
            "refused `initialize`: no (-32600)",
        ),
    ] {
        let client = home();
        script(&client, text);
        let broken = found(&client, &["codex", "--timeout", "1"], "broken", why);
        assert_eq!(broken["remedy"], TAKEN);
    }
}

#[cfg(unix)]
#[test]
fn a_server_is_killed_with_all_that_it_started() {
    use rustix::fs::OFlags;
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    for (server, timeout, why) in [
        (
            "exec 3> pipe; sleep 1000; true",
            "0.2",
            "did not answer `initialize` within 0.2 s",
        ),
        (
            "exec 3> pipe; sleep 1000 < /dev/null > /dev/null 2>&1 & exit 3",
            "60",
            "ended with status 3 before it",
        ),
    ] {
        let client = home();
        let pipe = client.path("pipe");
        crate::client::make_fifo(&pipe);
        let mut options = fs::OpenOptions::new();
        let mut pipe = options
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(pipe)
            .unwrap();
        script(&client, server);
        found(&client, &["codex", "--timeout", timeout], "broken", why);
        rustix::fs::fcntl_setfl(&pipe, OFlags::empty()).unwrap();
        assert_eq!(
            pipe.read(&mut [0]).unwrap(),
            0,
            "the end of the file, once nobody has it open"
        );
    }
}

#[cfg(unix)]
#[test]
fn another_server_is_distinguished_from_this_program() {
    let client = home();
    let answers = |listed: &str| {
        format!(
            "answer() {{ read line; printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$1\" \"$2\"; }}\n\
             answer 1 '{{\"serverInfo\":{{\"version\":\"0.0.1\"}}}}'\nread line\nanswer 2 '{listed}'\n"
        )
    };
    script(&client, &answers("{}"));
    found_broken(
        &client,
        "codex",
        "lists no prompts, so it is not prompt-expander",
    );
    script(
        &client,
        &answers(r#"{"structuredContent": {"prompts": []}}"#),
    );
    let old = found_warning(&client, "codex", "`prompts` is version `0.0.1`, in ");
    assert_eq!(old["remedy"], TAKEN);
}

#[cfg(unix)]
#[test]
fn what_a_working_server_prints_besides_is_shown() {
    let client = home();
    let program = json!(PROGRAM);
    script(&client, &format!("echo careful >&2; exec {program}"));
    found_warning(
        &client,
        "codex",
        "`prompts` prints on standard error: careful",
    );
    found_fine(&client, "codex", "answers in");
    script(&client, &format!("echo loading; exec {program}"));
    found_broken(&client, "codex", "prints what is not a message: `loading`");
}

#[test]
fn arguments_that_this_program_refuses_are_shown() {
    let client = home();
    codex(&client, PROGRAM, "args = [\"--promts\", \"x\"]");
    let why = "ended with status 2 before it answered `initialize`; standard error: error: unexpected argument '--promts' found";
    let broken = found_broken(&client, "codex", why);
    assert_eq!(broken["remedy"], "correct its arguments in this file");
}

/// A registration with Gemini CLI, with these further keys; the rest of the file around it.
fn gemini(client: &Client, more: Value, rest: Value) -> PathBuf {
    let mut entry = json!({"command": PROGRAM, "trust": true});
    entry
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let mut settings = rest;
    settings["mcpServers"] = json!({ "prompts": entry });
    client.put(".gemini/settings.json", format!("{settings:#}"))
}

/// A registration with Claude Code, and these settings.
fn claude(client: &Client, settings: Value) -> PathBuf {
    let servers = json!({"mcpServers": {"prompts": {"type": "stdio", "command": PROGRAM}}});
    client.put(".claude.json", servers.to_string());
    client.put(".claude/settings.json", format!("{settings:#}"))
}

fn allowed() -> Value {
    json!({"permissions": {"allow": ["mcp__prompts__expand_prompt"]}})
}

#[test]
fn another_name_and_a_second_registration_are_reported() {
    let client = home();
    let server = format!("command = {}\n", json!(PROGRAM));
    client.put(
        ".codex/config.toml",
        format!("[mcp_servers.mine]\n{server}"),
    );
    let other = found_warning(&client, "codex", "this program is registered as `mine`");
    assert_eq!(
        other["remedy"],
        "rename `mine` to `prompts` in this file, or remove it if `prompts` is registered, too"
    );
    assert_eq!(other["line"], 1);
    found_fine(&client, "codex", "`mine` answers in");
    client.put(
        ".codex/config.toml",
        format!("[mcp_servers.prompts]\n{server}[mcp_servers.mine]\n{server}"),
    );
    let again = found_warning(&client, "codex", "this program is registered as `mine`");
    assert_eq!(again["line"], 3);
    found_fine(&client, "codex", "`prompts` answers in");
}

#[test]
fn settings_of_codex_that_keep_the_prompts_from_the_model_are_reported() {
    let client = home();
    codex(&client, PROGRAM, "enabled = false");
    found_broken(&client, "codex", "`prompts` is disabled in this file");
    let file = codex_hook(&client, &format!("{PROGRAM} hook codex"), false);
    let untrusted = found_warning(
        &client,
        "codex",
        "Codex silently skips the hook until you trust it",
    );
    assert_eq!(
        untrusted["remedy"],
        "start `codex` once, and choose \"Trust all and continue\""
    );
    let state = json!(format!("{}:user_prompt_submit:0:0", file.display()));
    codex(
        &client,
        PROGRAM,
        &format!("[hooks.state.{state}]\nenabled = false"),
    );
    found_broken(&client, "codex", "the hook is disabled in Codex");
    codex(&client, PROGRAM, "[features]\nhooks = false");
    let off = found_broken(
        &client,
        "codex",
        "Codex runs no hooks: `features.hooks` is false",
    );
    assert_eq!(off["line"], 5);
}

#[test]
fn settings_of_gemini_that_keep_the_prompts_from_the_model_are_reported() {
    let client = home();
    gemini(&client, json!({"trust": false}), json!({}));
    found_warning(&client, "gemini", "Gemini CLI asks before each call");
    gemini(&client, json!({}), json!({}));
    is_fine(&client, "gemini");
    gemini_hook(
        &client,
        json!({}),
        json!({"hooksConfig": {"enabled": false}}),
    );
    found_broken(
        &client,
        "gemini",
        "Gemini CLI runs no hooks: `hooksConfig.enabled` is false",
    );
    client.put(
        ".gemini/mcp-server-enablement.json",
        "{\"prompts\": {\"enabled\": false}}",
    );
    let off = found_broken(&client, "gemini", "`prompts` is disabled");
    assert_eq!(off["remedy"], "run `gemini mcp enable prompts`");
}

#[test]
fn a_folder_that_gemini_does_not_trust_is_reported() {
    let client = home()
        .variable("GEMINI_CLI_TRUST_WORKSPACE", "")
        .working_in("project");
    let root = client.root().canonicalize().unwrap();
    gemini(&client, json!({}), json!({}));
    found_warning(
        &client,
        "gemini",
        "Gemini CLI does not trust this folder, and starts no server in it",
    );
    let trust = |folder: &str, rule: &str, other: &str| {
        let rules =
            json!({root.join(folder).to_str().unwrap(): rule, root.to_str().unwrap(): other});
        client.put(".gemini/trustedFolders.json", rules.to_string());
    };
    for (folder, rule) in [
        ("project", "TRUST_FOLDER"),
        ("project/below", "TRUST_PARENT"),
    ] {
        trust(folder, rule, "DO_NOT_TRUST");
        is_fine(&client, "gemini");
    }
    trust("project", "DO_NOT_TRUST", "TRUST_FOLDER");
    found_warning(
        &client,
        "gemini",
        "Gemini CLI does not trust this folder, and starts no server in it",
    );
    gemini(
        &client,
        json!({}),
        json!({"security": {"folderTrust": {"enabled": false}}}),
    );
    is_fine(&client, "gemini");
}

#[test]
fn settings_of_claude_code_that_keep_the_prompts_from_the_model_are_reported() {
    let client = home();
    claude(&client, json!({}));
    let asks = "Claude Code asks before it calls `expand_prompt`";
    found_warning(&client, "claude-code", asks);
    let mut settings = allowed();
    settings["hooks"] = hooks("UserPromptSubmit", &format!("{PROGRAM} hook claude-code"));
    settings["disableAllHooks"] = json!(true);
    claude(&client, settings);
    found_broken(
        &client,
        "claude-code",
        "Claude Code runs no hooks: `disableAllHooks` is true",
    );
    claude(&client, allowed());
    is_fine(&client, "claude-code");
    let folder = client.root().canonicalize().unwrap();
    let servers = json!({"prompts": {"command": PROGRAM}});
    let projects = json!({folder.to_str().unwrap(): {"disabledMcpServers": ["prompts"]}});
    let file = client.put(
        ".claude.json",
        json!({"mcpServers": servers, "projects": projects}).to_string(),
    );
    found_broken(
        &client,
        "claude-code",
        "`prompts` is disabled in this project",
    );
    // One that comes with the project must be accepted.
    fs::remove_file(&file).unwrap();
    client.put(
        ".mcp.json",
        json!({"mcpServers": {"prompts": {"command": PROGRAM}}}).to_string(),
    );
    found_warning(
        &client,
        "claude-code",
        "comes with the project and has not been accepted yet",
    );
    let settings = |key: &str| {
        json!({"permissions": {"allow": ["mcp__prompts"]}, key: ["prompts"]}).to_string()
    };
    client.put(".claude/settings.json", settings("enabledMcpjsonServers"));
    is_fine(&client, "claude-code");
    client.put(".claude/settings.json", settings("disabledMcpjsonServers"));
    found_broken(
        &client,
        "claude-code",
        "`prompts` of this project was refused",
    );
}

#[test]
fn a_variable_that_the_agent_does_not_pass_on_is_reported() {
    let client = home().variable("PROMPT_EXPANDER_PROMPTS", "/nowhere");
    codex(&client, PROGRAM, "");
    let lost = found_warning(
        &client,
        "codex",
        "PROMPT_EXPANDER_PROMPTS is set here, and Codex does not pass it on",
    );
    let remedy = "write its folders as `prompts` into config.toml";
    assert_eq!(lost["remedy"], remedy);
    let client = home().variable(
        "PROMPT_EXPANDER_PROMPTS",
        client.prompts().to_str().unwrap(),
    );
    codex(&client, PROGRAM, "env_vars = [\"PROMPT_EXPANDER_PROMPTS\"]");
    is_fine(&client, "codex");
    gemini(&client, json!({}), json!({}));
    is_fine(&client, "gemini");
}

#[cfg(unix)]
#[test]
fn a_server_is_started_as_its_agent_does() {
    let client = home()
        .variable("XDG_DATA_HOME", "/x")
        .variable("MY_TOKEN", "t");
    let script = "env | grep -E '^(XDG_DATA_HOME|MY_TOKEN|EXTRA)=' | cut -d = -f 1 | sort > seen; exec \"$0\" \"$@\"";
    let args = json!(["-c", script, PROGRAM]);
    let seen = |name: &str| {
        is_fine(&client, name);
        client.text("seen")
    };
    codex(
        &client,
        "sh",
        &format!("args = {args}\nenv = {{ EXTRA = \"1\" }}"),
    );
    assert_eq!(seen("codex"), "EXTRA\n");
    claude(&client, allowed());
    let servers = json!({"mcpServers": {"prompts": {"command": "sh", "args": args}}});
    client.put(".claude.json", servers.to_string());
    assert_eq!(seen("claude-code"), "MY_TOKEN\nXDG_DATA_HOME\n");
}

#[cfg(unix)]
#[test]
fn what_comes_with_a_project_is_started_only_if_it_is_this_program() {
    let client = home().variable("GEMINI_CLI_HOME", "elsewhere");
    let project = |entry: Value| {
        let text = json!({"mcpServers": {"prompts": entry}}).to_string();
        client.put(".gemini/settings.json", text);
    };
    for entry in [
        json!({"command": "sh", "args": ["-c", "touch started"], "trust": true}),
        json!({"command": PROGRAM, "args": ["--tap", "started"], "trust": true}),
        json!({"command": PROGRAM, "env": {"LD_PRELOAD": "./x.so"}, "trust": true}),
    ] {
        project(entry);
        found_warning(
            &client,
            "gemini",
            "comes with the project and is not exactly this program",
        );
        assert!(!client.path("started").exists());
    }
    project(json!({"command": PROGRAM, "trust": true}));
    is_fine(&client, "gemini");
    let hook = |line: &str| {
        let settings = json!({"hooks": hooks("BeforeAgent", line)});
        client.put(".gemini/settings.json", settings.to_string());
    };
    hook(&format!("{PROGRAM} hook gemini; touch started"));
    found_warning(
        &client,
        "gemini",
        "the hook comes with the project and is not exactly this program",
    );
    assert!(!client.path("started").exists());
    hook(&format!("{PROGRAM} hook gemini; exit 0"));
    found_fine(&client, "gemini", "the hook expands");
}

#[test]
fn problems_of_the_library_are_counted() {
    let client = home();
    codex(&client, PROGRAM, "");
    client.write(
        "slip.md",
        "---\ndescription: Review: the code\n---\nReview.",
    );
    let prompts = client.prompts();
    let library = ["codex", "--prompts", prompts.to_str().unwrap()];
    found(&client, &library, "warning", "prompts: 1 warning");
    client.write("broken.md", "---\n");
    let broken = found(&client, &library, "broken", "prompts: 1 error, 1 warning");
    assert_eq!(
        broken["remedy"],
        "run `prompt-expander check` with the same options"
    );
    assert!(broken.get("client").is_none());
}

/// The prompt files of the command line and of a server are usually the same.
#[test]
fn a_broken_prompt_file_is_reported_once_and_hides_nothing() {
    let client = home();
    let folder = if cfg!(target_os = "macos") {
        "Library/Application Support"
    } else {
        ".config"
    };
    client.put(
        format!("{folder}/prompt-expander/prompts/broken.md"),
        "---\n",
    );
    codex(&client, PROGRAM, "args = [\"--from-agents\"]");
    gemini(&client, json!({"env": {"XDG_CONFIG_HOME": ""}}), json!({}));
    let ran = doctor(&client, &[]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [codex_line, gemini_line, prompts] = lines.as_slice() else {
        panic!("{ran:?}")
    };
    assert!(
        codex_line.starts_with("codex: warning: ") && codex_line.contains("`--from-agents`"),
        "{codex_line}"
    );
    assert!(gemini_line.starts_with("gemini: fine: "), "{gemini_line}");
    assert_eq!(
        *prompts,
        "broken: prompts: 1 error; run `prompt-expander check` with the same options"
    );
    assert_eq!(ran.status.code(), Some(1));
}

/// The hooks of an event, of which there is one, which runs this line.
fn hooks(event: &str, line: &str) -> Value {
    json!({event: [{"hooks": [{"type": "command", "command": line}]}]})
}

/// A hook of Codex that runs this line, trusted or not, next to a server without arguments.
fn codex_hook(client: &Client, line: &str, is_trusted: bool) -> PathBuf {
    let hooks = json!({"hooks": hooks("UserPromptSubmit", line)});
    let file = client.put(".codex/hooks.json", format!("{hooks:#}"));
    let trust = format!(
        "[hooks.state.{}]\ntrusted_hash = \"x\"",
        json!(format!("{}:user_prompt_submit:0:0", file.display()))
    );
    codex(client, PROGRAM, if is_trusted { &trust } else { "" });
    file
}

fn gemini_hook(client: &Client, more: Value, rest: Value) {
    let mut hook = json!({"type": "command", "command": format!("{PROGRAM} hook gemini; exit 0"), "timeout": 5000});
    hook.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let mut rest = rest;
    rest["hooks"] = json!({"BeforeAgent": [{"hooks": [hook]}]});
    gemini(client, json!({}), rest);
}

#[test]
fn a_hook_is_run_and_must_expand_a_command_and_nothing_else() {
    let client = home();
    codex_hook(&client, &format!("{PROGRAM} hook codex"), true);
    is_fine(&client, "codex");
    let fine = found_fine(&client, "codex", "the hook expands `:");
    assert!(
        fine["message"].as_str().unwrap().contains(" x` in "),
        "{fine}"
    );
    gemini_hook(&client, json!({}), json!({}));
    found_fine(&client, "gemini", "the hook expands");
    let mut settings = allowed();
    settings["hooks"] = hooks("UserPromptSubmit", &format!("{PROGRAM} hook claude-code"));
    claude(&client, settings);
    found_fine(&client, "claude-code", "the hook expands");
    is_fine(&client, "claude-code");
    // Hooks that do not run this program are neither reported nor run.
    codex_hook(&client, "touch ran", true);
    is_fine(&client, "codex");
    assert!(!client.path("ran").exists());
}

#[cfg(unix)]
#[test]
fn a_hook_that_does_something_else_is_reported() {
    let client = home();
    // Another program of this name.
    let program = client.path("prompt-expander");
    let line = format!("{} hook codex", program.display());
    for (script, why) in [
        ("echo hello", "which is a prompt; it prints `hello`"),
        (
            "echo bad >&2; exit 2",
            "the hook ended with status 2; standard error: bad",
        ),
    ] {
        let text = client.put("script", format!("#!/bin/sh\n{script}\n"));
        // By another process: a file that this one wrote may still be open for writing in a child
        // of another test.
        let installed = std::process::Command::new("install")
            .args(["-m", "755"])
            .args([&text, &program])
            .status();
        assert!(installed.unwrap().success());
        let file = codex_hook(&client, &line, true);
        let broken = found_broken(&client, "codex", why);
        assert_eq!(
            (&broken["file"], &broken["line"]),
            (&json!(file), &json!(3))
        );
    }
}

#[cfg(unix)]
#[test]
fn a_hook_is_run_only_if_it_does_nothing_but_run_this_program() {
    let client = home();
    let bin = client.path("bin");
    client.link(PROGRAM, "bin/prompt-expander");
    let client = client
        .variable("PATH", &format!("{}:/usr/bin:/bin", bin.display()))
        .variable("CODEX_HOME", "mine");
    let evil = client.put("evil.sh", "#!/bin/sh\ntouch ran\n");
    set_mode(&evil, 0o755);
    client.link("../evil.sh", "own/prompt-expander");
    for (file, line, said) in [
        (
            ".codex/hooks.json",
            "prompt-expander hook codex --log-file ran",
            "is not exactly this program",
        ),
        (
            ".codex/hooks.json",
            "own/prompt-expander hook codex",
            "is not exactly this program",
        ),
        (
            "mine/hooks.json",
            "prompt-expander hook codex; ./evil.sh",
            "does more than run this program",
        ),
        (
            "mine/hooks.json",
            "own/prompt-expander hook codex",
            "in the working directory that is not this one",
        ),
    ] {
        let hooks = json!({"hooks": hooks("UserPromptSubmit", line)});
        let file = client.put(file, hooks.to_string());
        found_warning(&client, "codex", &format!("{said}, so it was not run"));
        assert!(!client.path("ran").exists(), "{line}");
        fs::remove_file(file).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_hook_whose_path_has_characters_of_a_shell_is_run() {
    let client = home();
    let program = client.path("it's $HOME (x) & `y`; z/prompt-expander");
    client.link(PROGRAM, &program);
    let quoted = shlex::try_quote(program.to_str().unwrap()).unwrap();
    codex_hook(&client, &format!("{quoted} hook codex"), true);
    is_fine(&client, "codex");
}

#[test]
fn a_hook_that_does_not_match_its_agent_or_its_server_is_reported() {
    let client = home();
    codex_hook(&client, "/nowhere/prompt-expander hook codex", true);
    let stale = found_broken(
        &client,
        "codex",
        "the program of the hook, `/nowhere/prompt-expander`, does not exist",
    );
    assert_eq!(stale["remedy"], "run `prompt-expander install codex`");
    gemini_hook(
        &client,
        json!({"command": format!("{PROGRAM} hook codex; exit 0")}),
        json!({}),
    );
    found_broken(&client, "gemini", "the hook does not expand `:");
    let hook = json!({"command": format!("{PROGRAM} hook codex")});
    let twice = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook, hook]}]}});
    client.put(".codex/hooks.json", twice.to_string());
    found_warning(&client, "codex", "the hook is registered twice");
}

/// A program named as this one, and its folder first in PATH.
#[cfg(unix)]
fn first_in_path(client: Client, text: &str) -> Client {
    let program = client.put("other/prompt-expander", text);
    set_mode(&program, 0o755);
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    client.variable("PATH", &path)
}

#[cfg(unix)]
#[test]
fn another_version_that_is_first_in_path_is_named_with_this_one() {
    let client = first_in_path(
        home(),
        "#!/bin/sh\necho prompt-expander 0.0.1\necho installed with x\n",
    );
    codex(&client, PROGRAM, "");
    let other = found(
        &client,
        &[],
        "warning",
        "`prompt-expander` in PATH is version `0.0.1`, in `",
    );
    let own = format!(
        "; this program is `{}`, in `{PROGRAM}`",
        env!("CARGO_PKG_VERSION")
    );
    assert!(
        other["message"].as_str().unwrap().ends_with(&own),
        "{other}"
    );
    let same = format!(
        "#!/bin/sh\necho prompt-expander {}\n",
        env!("CARGO_PKG_VERSION")
    );
    is_fine(&first_in_path(client, &same), "codex");
}

#[cfg(unix)]
#[test]
fn a_plugin_of_this_program_is_fine_if_it_can_be_started_and_nothing_else_is_registered() {
    let client = home();
    client.put(
        ".claude/settings.json",
        r#"{"enabledPlugins": {"prompt-expander@ours": true}}"#,
    );
    let installed =
        r#"{"version": 2, "plugins": {"prompt-expander@ours": [{"installPath": "/p"}]}}"#;
    client.put(".claude/plugins/installed_plugins.json", installed);
    let missing =
        "the plugin `prompt-expander@ours` starts `prompt-expander`, which is in no folder of PATH";
    found_broken(&client, "claude-code", missing);
    let client = first_in_path(client, &format!("#!/bin/sh\nexec {PROGRAM} \"$@\"\n"));
    is_fine(&client, "claude-code");
    assert_eq!(doctor(&client, &["claude-code"]).status.code(), Some(0));
    assert!(client.words("install claude-code --yes").status.success());
    let twice = found_warning(
        &client,
        "claude-code",
        "mcp__plugin_prompt-expander_prompts__expand_prompt",
    );
    assert_eq!(
        twice["remedy"],
        "run `claude plugin disable prompt-expander@ours` or `prompt-expander uninstall claude-code`"
    );
}

#[test]
fn what_install_writes_is_fine() {
    let client = home();
    for name in ["codex", "claude-code", "gemini", "cursor"] {
        let ran = client.run(["install", name, "--yes"], "");
        assert!(ran.status.success(), "{ran:?}");
    }
    for finding in findings(&client, &[]) {
        // Only the user can trust it, in Codex itself.
        let is_trust = finding["message"]
            == "Codex silently skips the hook until you trust it, and has no record that you do";
        assert!(finding["severity"] == "fine" || is_trust, "{finding}");
    }
    assert_eq!(
        doctor(&client, &[]).status.code(),
        Some(0),
        "nothing is broken"
    );
}

#[cfg(unix)]
#[test]
fn a_config_without_permission_to_read_it_is_reported() {
    let client = home().unprivileged();
    let file = codex(&client, PROGRAM, "");
    set_mode(&file, 0o000);
    let unread = found_broken(&client, "codex", "it cannot be read: Permission denied");
    assert_eq!(unread["file"], json!(file));
}

#[test]
fn a_finding_is_one_line_whatever_is_in_a_path() {
    let client = home();
    codex(&client, "/no\u{1b}[31m\nwhere", "");
    let ran = doctor(&client, &["codex"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(
        !ran.stdout.trim_end().contains(char::is_control),
        "{:?}",
        ran.stdout
    );
}

#[test]
fn problems_of_the_settings_file_and_prompts_that_are_not_trusted_are_reported() {
    let client = home().working_in("project");
    codex(&client, PROGRAM, "");
    client.make_folder("project/.git");
    client.put("project/.prompts/deploy.md", "Deploy.");
    let config = client.put("my.toml", "promts = []\n");
    let said = doctor(&client, &["--config", config.to_str().unwrap()]).stdout;
    assert_contains(
        &said,
        &format!(
            "broken: {}:1:1: there is no key `promts`; did you mean `prompts`?",
            config.display()
        ),
    );
    assert!(
        said.contains("warning: ") && said.contains("prompt-expander trust"),
        "{said}"
    );
}

#[test]
fn the_plugin_of_opencode_is_tried_and_the_package_that_it_needs_is_looked_for() {
    let client = Client::new().arguments([]);
    let installed = client.words("install opencode --yes");
    assert!(
        installed.stderr.contains("each start waits 75 s"),
        "{}",
        installed.stderr
    );
    let waits = "opencode has not installed its package for plugins yet";
    let said = client.words("doctor opencode -v").stdout;
    assert!(
        said.contains("fine: the hook expands `:")
            && said.contains("plugins/prompt-expander.js")
            && said.contains(waits),
        "{said}"
    );
    client.put(
        ".config/opencode/node_modules/@opencode-ai/plugin/package.json",
        "{}",
    );
    let said = client.words("doctor opencode -v").stdout;
    assert!(
        said.contains("fine: the hook expands `:") && !said.contains(waits),
        "{said}"
    );
}
