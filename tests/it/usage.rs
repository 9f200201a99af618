//! Counts of uses: what is counted, what is not, and how the counts are shown.

use crate::client::{Client, LEGACY, assert_contains, names};
use crate::completions::{BASH, completes, offered};
use crate::terminal::{Typing, ran};
use prompt_expander::usage::days_ago;
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

    // Copilot CLI shows the hook the text of the entry.
    let entry = "Call the tool expand_prompt of the server `prompts` now.\n\n:review a";
    let skill = format!("<skill-context name=\"review\">\n{entry}\n</skill-context>");
    let event = json!({"prompt": "/review a", "transformedPrompt": skill, "cwd": "/"});
    let answer = client.run(["hook", "copilot"], event.to_string());
    assert_contains(&answer.stdout, "Review a.");
    assert_eq!(take_lines(&client), ["user review menu"]);

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
    client.words("expand --no-config review x");
    assert_eq!(take_lines(&client), [""; 0]);
    // The file may say so, but it can't be read, or only the value can't.
    for text in ["usage = false\n[", "usage = 'off'\n"] {
        client.put(".config/prompt-expander/config.toml", text);
        assert!(!hook(&client, "codex", ":research x").is_empty());
        assert_eq!(take_lines(&client), [""; 0], "{text}");
    }
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

/// Adds uses of a prompt of the user to the counts, so many days ago. Returns that day.
fn add_uses(client: &Client, days: i32, name: &str, times: usize) -> String {
    let date = days_ago(days).to_string();
    let (month, day) = date.rsplit_once('-').unwrap();
    let file = format!("{USAGE}/{month}.log");
    let old = fs::read_to_string(client.path(&file)).unwrap_or_default();
    let new = format!("\n{day} user {name} hook").repeat(times);
    client.put(file, old + &new);
    date
}

/// A client with uses in the last 90 days, and of one prompt before.
fn client_with_uses() -> Client {
    let client = client();
    add_uses(&client, 100, "level", 9);
    add_uses(&client, 2, "review", 2);
    add_uses(&client, 10, "git/commit", 3);
    client
}

#[test]
fn list_by_use_begins_with_what_was_used_most_in_90_days() {
    let client = client_with_uses();
    let [two, ten] = [2, 10].map(|days| days_ago(days).to_string());
    let want = format!(
        "git/commit\tCommit.\tuser\t\t\t3\t{ten}\nreview\tReview {{{{input}}}}.\tuser\t\t\t2\t{two}\n\
         level\t{{{{level}}}}\tuser\t\t:level level=…\t0\t\nwith space\tSpaces.\tuser\t\t\t0\t\n"
    );
    client.words("list --mine --by-use").printed(&want);
    let list = client.words("list --mine --by-use --json").json();
    assert_eq!(
        names(&list["prompts"]),
        "git/commit review level with space"
    );
    assert_eq!(
        list["prompts"][0]["uses"],
        json!({"count": 3, "last_day": ten})
    );
    assert_eq!(list["prompts"][3]["uses"], json!({"count": 0}));
    assert_eq!(list["since"], json!(days_ago(90)));
    assert_eq!(list["counting_began"], json!(days_ago(100)));
    if let Some(page) = ran(
        &client,
        80,
        "list --mine --by-use",
        &[("NO_COLOR", "1")],
        "",
    ) {
        let want = format!(
            "Prompts by their uses since {}\n  :git/commit  3 times, last on {ten}\n               Commit.\n  :review      2 times",
            days_ago(90)
        );
        assert!(page.starts_with(&want), "{page}");
    }
}

#[test]
fn list_unused_has_the_prompts_without_a_use_in_so_many_days() {
    let client = client_with_uses();
    for (days, want) in [
        ("1d", "git/commit level review with space"),
        ("90d", "level with space"),
        ("101d", "with space"),
    ] {
        let ran = client.words(&format!("list --mine --json --unused {days}"));
        assert_eq!(names(&ran.json()["prompts"]), want, "{days}");
    }
    for days in ["90", "d", "0d", "394d", "-1d", "3m"] {
        let ran = client.words(&format!("list --unused={days}"));
        ran.says(2, &["write days as in `90d`", "13 months"]);
    }
}

#[test]
fn a_list_by_use_says_if_counting_began_later_or_is_off() {
    let client = client();
    let ran = client.words("list --mine --unused 90d");
    assert_eq!(
        ran.stderr,
        "note: no use of a prompt has been counted yet\n"
    );
    let day = add_uses(&client, 10, "review", 1);
    for (line, want) in [
        (
            "list --mine --unused 90d",
            format!("note: counting began on {day}; earlier uses are not known\n"),
        ),
        (
            "list --mine --by-use",
            format!("note: counting began on {day}; earlier uses are not known\n"),
        ),
        ("list --mine --unused 10d", String::new()),
    ] {
        assert_eq!(client.words(line).stderr, want, "{line}");
    }
    client.put(".config/prompt-expander/config.toml", "usage = false\n");
    for line in ["list --by-use", "list --unused 90d"] {
        client
            .words(line)
            .says(1, &["are not counted", "`usage = false`"]);
    }
}

#[test]
fn explain_says_how_often_a_prompt_was_used() {
    let client = client();
    let before_any = client.words("explain review x").stdout;
    assert!(!before_any.contains("used"), "{before_any}");
    let client = client_with_uses();
    let [first, ten] = [100, 10].map(|days| days_ago(days).to_string());
    for (name, want) in [
        (
            "git/commit",
            format!("used   3 times since {first}, last on {ten}\n"),
        ),
        (
            "with space",
            format!("used   not since counting began on {first}\n"),
        ),
    ] {
        let ran = client.run(["explain", name], "");
        assert_contains(&ran.stdout, &want);
    }
    let json = client.words("explain --json git/commit").json();
    assert_eq!(json["uses"], json!({"count": 3, "last_day": ten}));
    assert_eq!(json["counting_began"], json!(first));
    client.put("draft.md", "A draft.");
    let of_file = client.words("explain ./draft.md").stdout;
    assert!(!of_file.contains("used"), "{of_file}");
}

#[test]
fn what_is_used_often_comes_first_in_the_picker_and_in_completions() {
    let client = client_with_uses();
    if let Some(mut typing) = Typing::started(&client, 80, "$PROGRAM pick") {
        typing.until("> :git/commit");
        typing.until(":review");
        typing.until(":level");
        typing.keys("\x03");
        typing.end();
    }
    let offered = offered(&client, "fish", &["edit", ""]);
    let own: Vec<&str> = offered.lines().take(4).collect();
    assert_eq!(
        own[..2],
        ["git/commit\tCommit.", "review\tReview {{input}}."],
        "{offered}"
    );
    // Tab inserts the first name.
    client.put("rc", format!("{BASH}bind 'TAB: menu-complete'\n"));
    let bash = "bash --noprofile --rcfile rc -i";
    completes(
        &client,
        bash,
        &[("prompt-expander edit ", &["edit", "git/commit"])],
    );
}
