//! `doctor`: what it finds in the configurations of clients, and in what they start.
//!
//! A client is there when its folder is. The files are those that the clients' own `mcp add` writes, or as their
//! documentation has them; the servers are the real program, or a script for `sh` in its place.

use crate::client::{Client, Ran};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_prompt-expander");

/// A home with one prompt, and a project in it, where nothing else is.
fn home() -> Client {
    let client = Client::new().arguments([]);
    fs::create_dir_all(client.root().join("project")).unwrap();
    client.variable("PATH", "/usr/bin:/bin").prompt("hello.md", "Hello {{input}}.")
}

fn write(client: &Client, file: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = client.root().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// A registration for Codex, with these lines more.
fn codex(client: &Client, command: &str, more: &str) -> PathBuf {
    let text = format!("# mine\n[mcp_servers.prompts]\ncommand = {}\n{more}\n", json!(command));
    write(client, ".codex/config.toml", text)
}

/// A server that is a script for `sh`.
fn script(client: &Client, text: &str) -> PathBuf {
    let path = write(client, "server.sh", text);
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
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let findings = found["findings"].as_array().unwrap().clone();
    let broken = findings.iter().any(|finding| finding["severity"] == "broken");
    assert_eq!(ran.status.code(), Some(i32::from(broken)), "{}", ran.stdout);
    for finding in &findings {
        assert!(finding["severity"] == "fine" || finding["remedy"].is_string(), "no remedy: {finding}");
    }
    findings
}

/// The one finding whose message holds this.
#[track_caller]
fn found(client: &Client, arguments: &[&str], severity: &str, message: &str) -> Value {
    let all = findings(client, arguments);
    let mut with = all.iter().filter(|finding| finding["message"].as_str().unwrap().contains(message));
    let finding = with.next().unwrap_or_else(|| panic!("no finding has {message:?}: {all:#?}"));
    assert_eq!(finding["severity"], severity, "{all:#?}");
    assert_eq!(with.next(), None, "said twice: {all:#?}");
    finding.clone()
}

/// A registration of Codex that is right is fine, and nothing else is said.
#[track_caller]
fn is_fine(client: &Client, name: &str) {
    let found = findings(client, &[name]);
    assert!(found.iter().all(|finding| finding["severity"] == "fine"), "{found:#?}");
    assert!(!found.is_empty());
}

#[test]
fn a_client_that_works_is_one_line() {
    let client = home();
    codex(&client, PROGRAM, "");
    let ran = doctor(&client, &["codex"]);
    let line = ran.stdout.strip_prefix("codex: fine: `prompts` answers in ").unwrap_or_else(|| panic!("{ran:?}"));
    assert!(line.ends_with(" ms and has 12 prompts\n") && line.lines().count() == 1, "{line}");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_client_that_does_not_know_us_is_no_harm_as_long_as_one_does() {
    let client = home();
    let none = doctor(&client, &[]);
    assert_eq!(none.status.code(), Some(1));
    assert!(none.stdout.starts_with("broken: no client is found on this machine; looked for `codex`, "), "{none:?}");
    fs::create_dir(client.root().join(".codex")).unwrap();
    fs::create_dir(client.root().join(".gemini")).unwrap();
    let unknown = "codex: broken: Codex does not know this program yet; run `prompt-expander install codex`\n\
                   gemini: broken: Gemini CLI does not know this program yet; run `prompt-expander install gemini`\n";
    let ran = doctor(&client, &[]);
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), unknown));
    codex(&client, PROGRAM, "");
    let gemini = found(&client, &[], "warning", "does not know this program yet");
    assert_eq!(gemini["client"], "gemini");
    let zed = found(&client, &["zed"], "broken", "Zed is not found on this machine");
    assert_eq!(zed["remedy"], "run `prompt-expander install zed`");
}

#[test]
fn an_unknown_client_is_told_which_there_are() {
    let ran = doctor(&home(), &["codecs"]);
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("[possible values: codex, claude-code, gemini, "), "{}", ran.stderr);
}

#[test]
fn a_config_that_cannot_be_read_is_named_with_its_place() {
    let client = home();
    let file = codex(&client, PROGRAM, "args = [");
    let broken = found(&client, &["codex"], "broken", "array");
    assert_eq!((&broken["file"], broken["line"].as_u64()), (&json!(file), Some(4)), "{broken}");
    let ran = doctor(&client, &["codex"]);
    assert!(ran.stdout.starts_with(&format!("codex: broken: {}:4:", file.display())), "{}", ran.stdout);
    let file = write(&client, ".gemini/settings.json", "{\n  \"mcpServers\": []\n}");
    let broken = found(&client, &["gemini"], "broken", "`mcpServers` must be an object");
    assert_eq!((&broken["file"], &broken["line"]), (&json!(file), &json!(2)));
    write(&client, ".claude/settings.json", "{");
    found(&client, &["claude-code"], "broken", "unterminated object");
    // An empty one registers nothing, and one of another shape says where.
    write(&client, ".gemini/settings.json", "");
    found(&client, &["gemini"], "broken", "does not know this program yet");
    let text = "{\"mcpServers\": {\"prompts\": {\"command\": [\"x\"]}}}";
    write(&client, ".gemini/settings.json", text);
    found(&client, &["gemini"], "broken", "`prompts`: `command` must be a string, and is a list");
}

#[test]
fn a_command_that_cannot_be_started_says_why() {
    let client = home();
    let plain = write(&client, "plain", "text");
    for (command, why) in [
        ("/nowhere/prompt-expander", "does not exist"),
        ("bin/prompt-expander", "does not exist"),
        ("~/bin/prompt-expander", "cannot be started: no shell is there to know `~`"),
        ("prompt-expander", "is in no folder of PATH"),
        ("/", "is a directory"),
        (plain.to_str().unwrap(), "is not executable"),
        ("", "is empty"),
    ] {
        codex(&client, command, "");
        let broken = found(&client, &["codex"], "broken", why);
        let message = format!("the command of `prompts`, `{command}`, {why}");
        assert_eq!((&broken["message"], &broken["line"]), (&json!(message), &json!(2)));
        let remedy = broken["remedy"].as_str().unwrap();
        assert!(
            remedy.starts_with("run `prompt-expander install codex")
                && remedy.ends_with("the whole path of this program")
        );
    }
    codex(&client, PROGRAM, "cwd = \"/nowhere\"");
    found(&client, &["codex"], "broken", "would work in /nowhere, which is no folder");
    write(&client, ".codex/config.toml", "[mcp_servers.prompts]\nurl = \"http://127.0.0.1:9/\"\n");
    found(&client, &["codex"], "broken", "`prompts` is a server at an address, not this program");
}

#[cfg(unix)]
#[test]
fn a_relative_command_is_found_from_its_folder_only() {
    let client = home();
    std::os::unix::fs::symlink(PROGRAM, client.root().join("here")).unwrap();
    codex(&client, "./here", "");
    found(&client, &["codex"], "warning", "the command is found from this folder only: `./here`");
    found(&client, &["codex"], "fine", "answers in");
    // On PATH, a client of the terminal finds it as the terminal does; one of the desktop may not.
    let bin = client.root().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(PROGRAM, bin.join("prompt-expander")).unwrap();
    let client = client.variable("PATH", &format!("{}:/bin", bin.display()));
    codex(&client, "prompt-expander", "");
    is_fine(&client, "codex");
    let text = json!({"servers": {"prompts": {"command": "prompt-expander"}}});
    write(&client, ".config/Code/User/mcp.json", text.to_string());
    #[cfg(target_os = "linux")]
    found(&client, &["vscode"], "warning", "is looked up on PATH, and VS Code has another one");
}

#[cfg(unix)]
#[test]
fn a_server_that_is_none_is_named_and_ended() {
    for (text, why) in [
        ("exec cat", "is no MCP server: it sends back what it is sent"),
        ("echo hello; exec cat > /dev/null", "is no MCP server: it prints `hello`"),
        ("exit 3", "ended with status 3 before it answered `initialize`"),
        (
            "echo no such thing >&2; exit 1",
            "ended with status 1 before it answered `initialize`; it said: no such thing",
        ),
        ("kill -9 $$", "ended by signal 9 before it answered `initialize`"),
        ("while :; do echo hello; done", "is no MCP server: it prints `hello`"),
        (
            "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"no\"}}'; read line",
            "refused `initialize`: no (-32600)",
        ),
    ] {
        let client = home();
        script(&client, text);
        let broken = found(&client, &["codex", "--timeout", "1"], "broken", why);
        assert_eq!(
            broken["remedy"],
            "run `prompt-expander install codex --replace`, which puts this program in its place"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_hangs_is_killed_with_all_that_it_started() {
    let client = home();
    let pipe = client.root().join("pipe");
    crate::client::make_fifo(&pipe);
    // The shell and its child hold the pipe open as long as they live.
    script(&client, "exec 3> pipe; sleep 1000; true");
    let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
    found(&client, &["codex", "--timeout", "0.2"], "broken", "did not answer `initialize` within 0.2 s");
    assert!(reader.join().unwrap().is_empty());
}

#[cfg(unix)]
#[test]
fn a_server_that_is_another_is_told_from_ours() {
    let client = home();
    let answers = |tools: &str, name: &str, version: &str| {
        let list = json!({"content": [{"type": "text", "text": "{\"prompts\": []}"}]});
        format!(
            "answer() {{ read line; printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$1\" \"$2\"; }}\n\
             answer 1 '{{\"serverInfo\":{{\"name\":\"{name}\",\"version\":\"{version}\"}}}}'\nread line\n\
             answer 2 '{{\"tools\":{tools}}}'\nanswer 3 '{list}'\nanswer 4 '{{\"prompts\":[]}}'\nread line\n"
        )
    };
    let tools = r#"[{"name": "list_prompts"}, {"name": "expand_prompt"}]"#;
    script(&client, &answers("[]", "notes", "1"));
    found(&client, &["codex"], "broken", "has no tool `list_prompts`, so it is another server");
    script(&client, &answers(tools, "notes", "1"));
    found(&client, &["codex"], "warning", "`prompts` is another program, which calls itself `notes`");
    script(&client, &answers(tools, "prompt-expander", "0.0.1"));
    let old = found(&client, &["codex"], "warning", "`prompts` is version `0.0.1`, in ");
    assert_eq!(old["remedy"], "run `prompt-expander install codex --replace` to have this one in its place");
}

#[cfg(unix)]
#[test]
fn what_a_server_prints_beside_its_messages_is_shown() {
    let client = home();
    let program = json!(PROGRAM);
    script(&client, &format!("echo loading; echo careful >&2; exec {program}"));
    found(&client, &["codex"], "warning", "`prompts` prints what is no message: `loading`");
    found(&client, &["codex"], "warning", "`prompts` says on standard error: careful");
    found(&client, &["codex"], "fine", "answers in");
    script(&client, &format!("trap '' TERM; {program}; read line"));
    // Nothing ends it but the end of its input, which Codex does not close.
    let text = fs::read_to_string(client.root().join(".codex/config.toml")).unwrap();
    write(&client, ".codex/config.toml", text);
    found(&client, &["codex", "--timeout", "0.5"], "warning", "`prompts` does not end when Codex ends it");
}

#[test]
fn arguments_that_our_program_refuses_are_shown() {
    let client = home();
    codex(&client, PROGRAM, "args = [\"--promts\", \"x\"]");
    let broken = found(&client, &["codex"], "broken", "ended with status 2 before it answered `initialize`");
    assert_eq!(broken["remedy"], "correct its arguments, or run `prompt-expander install codex`");
}
