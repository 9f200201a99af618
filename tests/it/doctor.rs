//! `doctor` as a command: what it prints, and what it starts for each agent. The rules of what it
//! finds have unit tests in `src/doctor`.
//!
//! An agent is found if its folder exists. The files are those that the agents' own `mcp add`
//! writes, or as their documentation has them; the servers are the real program, or a script for
//! `sh` in its place.

use crate::client::{Client, Ran, assert_contains};
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

/// Registers a command with Codex, with these further lines.
fn codex(client: &Client, command: &str, more: &str) -> PathBuf {
    let text = format!(
        "# mine\n[mcp_servers.prompts]\ncommand = {}\n{more}\n",
        json!(command)
    );
    client.put(".codex/config.toml", text)
}

/// Registers a server that is a script for `sh` with Codex.
fn script(client: &Client, text: &str) {
    let path = client.put("server.sh", text);
    codex(client, "sh", &format!("args = [{}]", json!(path)));
}

/// Registers this program with Gemini CLI, next to other settings.
fn gemini(client: &Client, mut settings: Value) {
    settings["mcpServers"] = json!({"prompts": {"command": PROGRAM, "trust": true}});
    client.put(".gemini/settings.json", settings.to_string());
}

/// Registers a server and a hook with Claude Code.
fn claude(client: &Client, server: Value, hook: &str) {
    let servers = json!({"mcpServers": {"prompts": server}});
    client.put(".claude.json", servers.to_string());
    let mut settings = hooks("UserPromptSubmit", hook);
    settings["permissions"] = json!({"allow": ["mcp__prompts__expand_prompt"]});
    client.put(".claude/settings.json", settings.to_string());
}

/// The settings of an agent with one hook, which runs this line.
fn hooks(event: &str, line: &str) -> Value {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}})
}

/// Registers this program with Codex, and a hook that runs this line and that the user trusts.
fn codex_hook(client: &Client, line: &str) {
    let mut hooks = hooks("UserPromptSubmit", line);
    hooks["hooks"]["UserPromptSubmit"][0]["hooks"][0]["additionalContextLimit"] = json!(0);
    let file = client.put(".codex/hooks.json", hooks.to_string());
    let place = json!(format!("{}:user_prompt_submit:0:0", file.display()));
    let trust = format!("[hooks.state.{place}]\ntrusted_hash = \"x\"");
    codex(client, PROGRAM, &trust);
}

fn doctor(client: &Client, arguments: &[&str]) -> Ran {
    client.run([&["doctor"], arguments].concat(), "")
}

/// The lines of `doctor -v` for an agent.
fn lines(client: &Client, agent: &str) -> Vec<String> {
    let printed = doctor(client, &[agent, "-v"]).stdout;
    printed.lines().map(str::to_owned).collect()
}

/// Asserts that one of the findings about an agent begins and goes on with these texts.
#[track_caller]
fn assert_found(client: &Client, agent: &str, severity: &str, message: &str) {
    let lines = lines(client, agent);
    let start = format!("{severity}: {agent}: ");
    let count = lines
        .iter()
        .filter(|line| line.starts_with(&start) && line.contains(message))
        .count();
    assert_eq!(count, 1, "{message}: {lines:#?}");
}

/// Asserts that everything about an agent works.
#[track_caller]
fn assert_fine(client: &Client, agent: &str) {
    let lines = lines(client, agent);
    let is_fine = |line: &String| line.starts_with(&format!("fine: {agent}: "));
    assert!(!lines.is_empty() && lines.iter().all(is_fine), "{lines:#?}");
}

#[test]
fn the_status_is_1_without_a_registration() {
    let client = home();
    client.make_folder(".codex");
    let ran = doctor(&client, &[]);
    let want = "warning: this program is not registered with `codex` yet; run `prompt-expander install codex`\n";
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), want));
    codex(&client, PROGRAM, "");
    assert_eq!(doctor(&client, &[]).status.code(), Some(0));
}

#[test]
fn each_agent_is_one_line_and_verbose_and_json_have_all_findings() {
    let client = home();
    let file = codex(
        &client,
        PROGRAM,
        "args = [\"--from-agents\"]\n[mcp_servers.mine]\ncommand = \"prompt-expander\"",
    );
    gemini(&client, json!({}));
    let ran = doctor(&client, &[]);
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [warning, fine] = lines.as_slice() else {
        panic!("{lines:#?}")
    };
    let start = format!(
        "warning: codex: {}:5:14: this program is registered as `mine`",
        file.display()
    );
    assert!(warning.starts_with(&start), "{warning}");
    let end = "or remove it if there is a `prompts`, too (1 more: `prompt-expander doctor codex`)";
    assert!(warning.ends_with(end), "{warning}");
    assert!(
        fine.starts_with("fine: gemini: `prompts` answers in "),
        "{fine}"
    );

    let only_codex = doctor(&client, &["codex"]).stdout;
    let lines: Vec<&str> = only_codex.lines().collect();
    let [first, second] = lines.as_slice() else {
        panic!("{lines:#?}")
    };
    assert!(first.starts_with(&start) && second.starts_with("warning: codex: "));

    let verbose = doctor(&client, &["--verbose"]).stdout;
    let mut starts = Vec::new();
    for line in verbose.lines() {
        starts.push(line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(" "));
    }
    let want = [
        "warning codex",
        "warning codex",
        "fine codex",
        "fine gemini",
    ];
    assert_eq!(starts, want, "{verbose}");

    let json = doctor(&client, &["--json"]).json();
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 4);
    assert_eq!(findings[0]["client"], "codex");
    assert_eq!(findings[0]["severity"], "warning");
    assert_eq!(findings[0]["file"], json!(file));
    assert_eq!(findings[0]["line"], 5);
    assert!(findings[0]["remedy"].is_string());
    assert_eq!(findings[3]["severity"], "fine");
    assert!(findings[3].get("remedy").is_none());
}

#[test]
fn nothing_is_written_to_the_files_that_a_server_records_to() {
    let client = home();
    codex(
        &client,
        PROGRAM,
        r#"args = ["--tap", "tap", "--log-file", "log"]"#,
    );
    assert_found(&client, "codex", "fine", "answers in");
    assert!(!client.path("tap").exists() && !client.path("log").exists());
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
            "exited (exit status: 3) without an answer to `initialize`",
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
        let ran = doctor(&client, &["codex", "--timeout", timeout]);
        assert_eq!(ran.status.code(), Some(1));
        assert_contains(&ran.stdout, why);
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
fn what_a_working_server_prints_besides_is_shown() {
    let client = home();
    let program = json!(PROGRAM);
    script(&client, &format!("echo careful >&2; exec {program}"));
    let message = "`prompts` prints on standard error: careful";
    assert_found(&client, "codex", "warning", message);
    assert_found(&client, "codex", "fine", "answers in");
    script(&client, &format!("echo loading; exec {program}"));
    let message = "prints a line that is not a message: `loading`";
    assert_found(&client, "codex", "broken", message);
}

#[cfg(unix)]
#[test]
fn a_server_is_started_as_its_agent_does() {
    let client = home()
        .variable("XDG_DATA_HOME", "/x")
        .variable("MY_TOKEN", "t");
    let script = "env | grep -E '^(XDG_DATA_HOME|MY_TOKEN|EXTRA)=' | cut -d = -f 1 | sort > seen; exec \"$0\" \"$@\"";
    let arguments = json!(["-c", script, PROGRAM]);
    codex(
        &client,
        "sh",
        &format!("args = {arguments}\nenv = {{ EXTRA = \"1\" }}"),
    );
    assert_fine(&client, "codex");
    assert_eq!(client.text("seen"), "EXTRA\n");
    let server = json!({"command": "sh", "args": arguments});
    claude(&client, server, "another-program");
    assert_fine(&client, "claude-code");
    assert_eq!(client.text("seen"), "MY_TOKEN\nXDG_DATA_HOME\n");
}

#[cfg(unix)]
#[test]
fn what_comes_with_a_project_is_started_only_if_it_is_this_program() {
    let client = home().variable("GEMINI_CLI_HOME", "elsewhere");
    for server in [
        json!({"command": "sh", "args": ["-c", "touch started"], "trust": true}),
        json!({"command": PROGRAM, "args": ["--tap", "started"], "trust": true}),
        json!({"command": PROGRAM, "env": {"LD_PRELOAD": "./x.so"}, "trust": true}),
    ] {
        let settings = json!({"mcpServers": {"prompts": server}});
        client.put(".gemini/settings.json", settings.to_string());
        let message = "comes with the project and is not exactly this program";
        assert_found(&client, "gemini", "warning", message);
        assert!(!client.path("started").exists());
    }
    let line = format!("{PROGRAM} hook gemini; exit 0");
    gemini(&client, hooks("BeforeAgent", &line));
    assert_fine(&client, "gemini");
}

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
    gemini(&client, json!({}));
    let ran = doctor(&client, &[]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [codex_line, gemini_line, prompts] = lines.as_slice() else {
        panic!("{ran:?}")
    };
    assert!(codex_line.starts_with("warning: codex: "), "{codex_line}");
    assert!(gemini_line.starts_with("fine: gemini: "), "{gemini_line}");
    assert_eq!(
        *prompts,
        "broken: prompts: 1 broken file; run `prompt-expander check`"
    );
    assert_eq!(ran.status.code(), Some(1));
}

#[test]
fn a_hook_is_run_and_must_expand_a_command() {
    let client = home();
    codex_hook(&client, &format!("{PROGRAM} hook codex"));
    assert_fine(&client, "codex");
    assert_found(&client, "codex", "fine", "the hook expands `:");
    let server = json!({"type": "stdio", "command": PROGRAM});
    claude(&client, server, &format!("{PROGRAM} hook claude-code"));
    assert_found(&client, "claude-code", "fine", "the hook expands `:");
    // The hook of another agent answers another event.
    let line = format!("{PROGRAM} hook codex; exit 0");
    gemini(&client, hooks("BeforeAgent", &line));
    assert_found(&client, "gemini", "broken", "the hook does not expand `:");
    // Hooks that do not run this program are neither reported nor run.
    codex_hook(&client, "touch ran");
    assert_fine(&client, "codex");
    assert!(!client.path("ran").exists());
}

#[cfg(unix)]
#[test]
fn a_hook_whose_path_has_characters_of_a_shell_is_run() {
    let client = home();
    let program = client.path("it's $HOME (x) & `y`; z/prompt-expander");
    client.link(PROGRAM, &program);
    let quoted = shlex::try_quote(program.to_str().unwrap()).unwrap();
    codex_hook(&client, &format!("{quoted} hook codex"));
    assert_fine(&client, "codex");
}

#[test]
fn what_install_writes_is_fine() {
    let client = home();
    let agents = ["codex", "claude-code", "gemini", "cursor"];
    let ran = client.run([&["install", "--yes"], &agents[..]].concat(), "");
    assert!(ran.status.success(), "{ran:?}");
    for agent in &agents[1..] {
        assert_fine(&client, agent);
    }
    // Only the user can trust the hook, in Codex itself.
    let untrusted = "Codex silently skips the hook until you trust it";
    assert_found(&client, "codex", "warning", untrusted);
    assert_eq!(doctor(&client, &[]).status.code(), Some(0));
}

#[test]
fn a_finding_is_one_line_whatever_is_in_a_path() {
    let client = home();
    codex(&client, "/no\u{1b}[31m\nwhere", "");
    let printed = doctor(&client, &["codex"]).stdout;
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(
        !printed.trim_end().contains(char::is_control),
        "{printed:?}"
    );
}

#[test]
fn problems_of_the_settings_file_and_prompts_that_are_not_trusted_are_reported() {
    let client = home().working_in("project");
    codex(&client, PROGRAM, "");
    client.make_folder("project/.git");
    client.put("project/.prompts/deploy.md", "Deploy.");
    let config = client.put("my.toml", "promts = []\n");
    let printed = doctor(&client, &["--config", config.to_str().unwrap()]).stdout;
    let problem = format!(
        "broken: {}:1:1: there is no key `promts`; did you mean `prompts`?",
        config.display()
    );
    assert_contains(&printed, &problem);
    assert!(
        printed.contains("warning: ") && printed.contains("prompt-expander trust"),
        "{printed}"
    );
}

#[test]
fn the_plugin_of_opencode_is_tried_and_the_package_that_it_needs_is_looked_for() {
    let client = Client::new().arguments([]);
    let installed = client.words("install opencode --yes");
    assert_contains(
        &installed.stderr,
        "opencode installs a package before it loads plugins",
    );
    let message = "opencode has not installed its package for plugins yet";
    assert_found(&client, "opencode", "fine", "the hook expands `:");
    assert_found(&client, "opencode", "warning", message);
    client.put(
        ".config/opencode/node_modules/@opencode-ai/plugin/package.json",
        "{}",
    );
    assert_fine(&client, "opencode");
}
