//! Counts of uses: what is counted, what is not, and how the counts are shown.

use crate::client::{Client, LEGACY, assert_contains};
use crate::terminal::Typing;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// The folder of the counts.
const USAGE: &str = ".local/state/prompt-expander/usage";

/// A home whose own folder has these prompts.
fn client() -> Client {
    let client = Client::new().arguments([]);
    for (name, text) in [
        ("review", "Review {{input}}."),
        ("git/commit", "Commit."),
        ("with space", "Spaces."),
        (
            "level",
            "---\narguments: [{name: level, required: true}]\n---\n{{level}}",
        ),
    ] {
        let file = format!(".config/prompt-expander/prompts/{name}.md");
        client.put(file, text);
    }
    client
}

/// Returns all lines of the counts without their days, and forgets them.
fn take_lines(client: &Client) -> Vec<String> {
    let folder = client.path(USAGE);
    if !folder.exists() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (_day, use_of_prompt) = line.split_once(' ').unwrap();
            lines.push(use_of_prompt.to_owned());
        }
    }
    fs::remove_dir_all(folder).unwrap();
    lines
}

fn hook(client: &Client, agent: &str, prompt: &str) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": "/"});
    client.run(["hook", agent], event.to_string()).stdout
}

#[test]
fn an_expansion_of_a_command_or_of_the_hook_counts_once() {
    let client = client();
    for (line, want) in [
        ("expand review", "user review command-line"),
        (":git:commit", "user git/commit command-line"),
        ("expand --json REVIEW x", "user review command-line"),
    ] {
        assert!(client.words(line).status.success(), "{line}");
        assert_eq!(take_lines(&client), [want], "{line}");
    }
    client.run(["expand", "with space"], "");
    assert_eq!(take_lines(&client), ["user with space command-line"]);
    for (message, want) in [
        (":review the parser", &["user review hook"][..]),
        ("check it as in :review.", &["user review hook"]),
        (
            ":review a\n:git:commit\n:review b",
            &[
                "user review hook",
                "user git/commit hook",
                "user review hook",
            ],
        ),
    ] {
        assert!(!hook(&client, "codex", message).is_empty(), "{message}");
        assert_eq!(take_lines(&client), want, "{message}");
    }
}

#[test]
fn an_entry_of_a_menu_counts_as_one_and_not_again_in_the_hook() {
    let mut client = client();
    client.make_folder(".claude");
    client.words("sync claude-code --yes");
    assert!(!hook(&client, "claude-code", "/git-commit now").is_empty());
    assert_eq!(take_lines(&client), ["user git/commit menu"]);

    // Claude Code requests the prompt from the server, and then runs the hook.
    client.introduce(LEGACY, "claude-code");
    client.result("prompts/get", json!({"name": "review"}));
    assert!(!hook(&client, "claude-code", "/mcp__prompts__review a b").is_empty());
    assert_eq!(take_lines(&client), ["user review menu"]);
}

#[test]
fn a_tool_call_counts_once_even_if_its_answer_has_parts() {
    let mut client = client();
    client.put(
        ".config/prompt-expander/config.toml",
        "result-limit = 600\n",
    );
    client.initialize(LEGACY);
    let first = client.expand("review", &"word ".repeat(200)).structured();
    let arguments =
        json!({"command": "review", "input": "word ".repeat(200), "part": first["next"]});
    client.call("expand_prompt", arguments).structured();
    assert_eq!(take_lines(&client), ["user review tool"]);
}

#[test]
fn a_choice_in_the_picker_and_in_a_draft_counts_once() {
    let client = client();
    client.put("tmp/1795405527837.md", "the parser");
    client.put("tmp/1795405527838.md", ":review a\n:git/commit");
    let picker = &[
        ("git/commit", "git\r"),
        ("input", "\r"),
        ("Enter print", "\r"),
    ][..];
    for (line, keys, want) in [
        (
            "$PROGRAM pick",
            picker,
            &["user git/commit command-line"][..],
        ),
        ("$PROGRAM pick --print-command", picker, &[]),
        ("$PROGRAM pick", &[("git/commit", "\x03")], &[]),
        (
            "$PROGRAM compose tmp/1795405527837.md",
            &[("review", "rev\r")],
            &["user review command-line"],
        ),
        (
            "$PROGRAM compose tmp/1795405527838.md",
            &[("Enter use", "\r")],
            &["user review command-line", "user git/commit command-line"],
        ),
    ] {
        let Some(mut typing) = Typing::started(&client, 80, line) else {
            return;
        };
        for (shown, keys) in keys {
            typing.until(shown);
            typing.keys(keys);
        }
        let end = typing.end();
        assert_eq!(take_lines(&client), want, "{line}: {end}");
    }
}

#[test]
fn what_delivers_no_expansion_counts_nothing() {
    let mut client = client();
    client.put("draft.md", "A draft.");
    client.put(
        ".config/prompt-expander/prompts/review.test.txt",
        "=== input\nx\n=== expands to\nReview x.\n",
    );
    for line in [
        "expand ./draft.md",
        "expand missing",
        "expand level",
        "explain review x",
        "list",
        "show review",
        "check",
        "test",
        "doctor",
    ] {
        client.words(line);
    }
    for message in ["no command", ":level", ":reviw x"] {
        hook(&client, "codex", message);
    }
    let long = "x".repeat(20_000); // the hook asks the model to call the tool
    assert_contains(
        &hook(&client, "claude-code", &format!(":review {long}")),
        "expand_prompt",
    );
    // opencode requests all templates, only to list its menu.
    client.introduce(LEGACY, "opencode");
    client.result("prompts/get", json!({"name": "review"}));
    client.result("prompts/list", json!({}));
    client.expand("level", "").error();
    client.expand("missing", "").error();
    assert_eq!(take_lines(&client), [""; 0]);
}

#[test]
fn an_examined_server_or_hook_counts_nothing() {
    let mut client = client().variable("PROMPT_EXPANDER_EXAMINED", "1");
    assert!(!hook(&client, "codex", ":review x").is_empty());
    client.initialize(LEGACY);
    client.expand("review", "x").structured();
    assert_eq!(take_lines(&client), [""; 0]);
}

#[cfg(feature = "http")]
#[test]
fn a_server_over_http_counts_nothing() {
    use crate::http_client::HttpServer;
    let server = HttpServer::start_with(client(), &[]);
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":review x"});
    let call = json!({"command": "review", "input": ["x"]});
    for (path, body) in [("/api/hook/codex", event), ("/api/expand", call)] {
        let headers = [("Content-Type", "application/json")];
        let answer = server.send("POST", path, &headers, body.to_string());
        assert_contains(&answer.text(), "Review x.");
    }
    assert_eq!(take_lines(&server.stop()), [""; 0]);
}

#[test]
fn the_settings_file_turns_counting_off() {
    let client = client();
    client.put(".config/prompt-expander/config.toml", "usage = false\n");
    client.words("expand review x").printed("Review x.\n");
    hook(&client, "codex", ":review x");
    assert_eq!(take_lines(&client), [""; 0]);
    // The file may say so, but it can't be read.
    client.put(".config/prompt-expander/config.toml", "usage = false\n[");
    assert!(!hook(&client, "codex", ":research x").is_empty());
    assert_eq!(take_lines(&client), [""; 0]);
}

#[test]
fn a_count_that_cannot_be_written_affects_nothing_and_doctor_says_so() {
    let client = client();
    client.put(".local", "not a folder");
    client.words("expand review x").printed("Review x.\n");
    assert!(!hook(&client, "codex", ":review x").is_empty());
    let found = client.words("doctor").stdout;
    assert_contains(&found, "warning: uses of prompts cannot be counted: ");
    fs::remove_file(client.path(".local")).unwrap();
    let found = client.words("doctor").stdout;
    assert!(!found.contains("counted"), "{found}");
}

#[test]
fn only_the_user_can_read_the_counts() {
    let client = client();
    client.words("expand review x");
    let folder = client.path(USAGE);
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
    for (path, want) in [(folder, 0o40700), (file.path(), 0o100_600)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode(), want);
    }
}

#[test]
fn the_first_use_in_a_month_removes_counts_that_are_older_than_13_months() {
    let client = client();
    let old = client.put(format!("{USAGE}/2019-01.log"), "\n2 user review hook");
    let foreign = client.put(format!("{USAGE}/notes.txt"), "Mine.");
    client.words("expand review x");
    assert!(!old.exists() && foreign.exists());
}

#[test]
fn processes_that_count_at_the_same_time_lose_nothing() {
    const ROUNDS: usize = 5;
    const PROCESSES: usize = 8;
    let client = client();
    for _ in 0..ROUNDS {
        let mut processes = Vec::new();
        for _ in 0..PROCESSES {
            let mut expand = client.command();
            expand.args(["expand", "review"]);
            expand.stdin(Stdio::null()).stdout(Stdio::null());
            processes.push(expand.spawn().unwrap());
        }
        for mut process in processes {
            assert!(process.wait().unwrap().success());
        }
    }
    let want = vec!["user review command-line"; ROUNDS * PROCESSES];
    assert_eq!(take_lines(&client), want);
}
