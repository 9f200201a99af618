//! `--log-level`, `--log-file` and `--tap`: what they record of a conversation. Standard output
//! stays the same.

use crate::client::Client;
use serde_json::Value;
use std::fs;

const WITH_PROMPTS: [&str; 3] = ["--no-builtin", "--prompts", "prompts"];

/// A client whose server has these additional options.
fn client_with(options: &[&str]) -> Client {
    Client::new()
        .prompt("review.md", "Review this.")
        .arguments(WITH_PROMPTS.iter().chain(options).copied())
}

/// A record's lines without time and process: direction and text.
fn conversation(record: &str) -> Vec<(&str, &str)> {
    record
        .lines()
        .map(|line| {
            let (time, rest) = line.split_once(' ').unwrap();
            let is_time = time.len() == "2026-11-21T19:36:00.123456Z".len() && time.ends_with('Z');
            assert!(is_time && time.contains('T'), "{line}");
            let (process, rest) = rest.split_once(' ').unwrap();
            process.parse::<u32>().unwrap();
            (rest[..3].trim_end(), &rest[4..])
        })
        .collect()
}

#[test]
fn a_tap_has_every_line_in_both_directions_unchanged() {
    let mut client = client_with(&["--tap", "conversation.log"]);
    let ping = r#"{"jsonrpc":"2.0","id":"é 1","method":"ping"}"#;
    client.send(format!("{ping}\r\n  \nno JSON\n"));
    let (pong, refusal) = (client.read_raw(), client.read_raw());
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"review","input":"x"}}}"#;
    client.send(format!("{call}\n"));
    let expanded = client.read_raw();
    client.finish();
    let record = client.text("conversation.log");
    let mut lines = conversation(&record);
    // Answers may be written together, later than the next line was read.
    let first: Vec<_> = lines.drain(..5).collect();
    let of = |direction| {
        first
            .iter()
            .filter(|(its, _)| *its == direction)
            .map(|(_, text)| *text)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("in"), [ping, "  ", "no JSON"]);
    assert_eq!(of("out"), [pong.trim_end(), refusal.trim_end()]);
    assert_eq!(lines, [("in", call), ("out", expanded.trim_end())]);
}

#[test]
fn a_tap_has_the_json_of_a_frame_in_one_line() {
    let client = client_with(&["serve", "--tap", "conversation.log"]);
    let pong = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let ran = client.run(
        [],
        "Content-Length: 9\r\n\r\n{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"ping\"}",
    );
    assert_eq!(
        ran.stdout,
        format!("Content-Length: {}\r\n\r\n{pong}", pong.len())
    );
    let record = client.text("conversation.log");
    let ping = r#"frame {"jsonrpc":"2.0", "id":1,"method":"ping"}"#;
    assert_eq!(
        conversation(&record),
        [("in", ping), ("out", &*format!("frame {pong}"))]
    );
}

#[test]
fn a_tap_is_appended_to_and_only_its_owner_can_read_it() {
    let mut client = client_with(&["--tap", "conversation.log"]);
    client.put("conversation.log", "");
    client.list();
    client.finish();
    let first = client.text("conversation.log");
    let mut again = client_with(&[]);
    again = again.arguments(
        WITH_PROMPTS
            .into_iter()
            .chain(["--tap", client.path("conversation.log").to_str().unwrap()]),
    );
    again.list();
    again.finish();
    let both = client.text("conversation.log");
    assert!(
        both.starts_with(&first) && both.len() > first.len(),
        "{both}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut fresh = client_with(&["--tap", "fresh.log"]);
        fresh.list();
        fresh.finish();
        let mode = fs::metadata(fresh.path("fresh.log"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_tap_or_log_that_cannot_be_written_causes_a_warning_and_the_server_goes_on() {
    for option in ["--tap", "--log-file"] {
        let said = "warning: `nowhere/x.log` cannot be written to: No such file or directory (os error 2); choose a file in a \
                    folder of yours\n";
        let mut client = client_with(&[option, "nowhere/x.log"]).stderr(Some(said));
        client.expand("review", "x").text("Review this.\n\nx");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_tap_that_is_full_or_a_pipe_causes_one_warning_and_the_server_goes_on() {
    for option in ["--tap", "--log-file"] {
        let said = "warning: `pipe` cannot be written to: it is a pipe, which may block; choose a file in a folder of \
                    yours\n";
        let mut client = client_with(&[option, "pipe"]).stderr(Some(said));
        crate::client::make_fifo(&client.path("pipe"));
        client.expand("review", "x").text("Review this.\n\nx");
    }
    let long = "x".repeat(200_000);
    let said = "warning: the conversation is no longer recorded: No space left on device (os error 28); restart the server \
                with another file\n";
    let mut client = client_with(&["--tap", "/dev/full"]).stderr(Some(said));
    client
        .expand("review", &long)
        .text(&format!("Review this.\n\n{long}"));
    client.expand("review", "y").text("Review this.\n\ny");
    client.finish();
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    let mut client = client_with(&[]); // fails when dropped if anything was logged
    client.expand("review", "x").text("Review this.\n\nx");
    let mut client = client_with(&["--log-level", "off"]);
    client.line("no JSON");
}

#[test]
fn a_log_has_the_client_each_request_and_its_outcome() {
    let mut client = client_with(&["--log-level", "debug"]).stderr(None);
    client.shake_hands("2025-11-25");
    client.expand("review", "x").text("Review this.\n\nx");
    client.expand("reveiw", "x").error();
    client.request("no/method", serde_json::json!({}));
    client.line("no JSON");
    let (_, _, log) = client.finish();
    for (level, words) in [
        ("INFO", "serving version="),
        ("INFO", r#"initialize client={"name":"it","#),
        ("DEBUG", "answered id=2 method=\"tools/call\" took="),
        (
            "INFO",
            "the tool refused tool=\"expand_prompt\" reason=\"No prompt named",
        ),
        ("DEBUG", "method=\"no/method\" took="),
        ("WARN", "received an invalid message bytes=7"),
        ("INFO", "the end of input"),
    ] {
        assert!(
            log.lines()
                .any(|line| line.contains(level) && line.contains(words)),
            "{level} {words}\n{log}"
        );
    }
    assert!(
        !log.contains("Review this") && !log.contains("TRACE"),
        "{log}"
    );
}

#[test]
fn an_event_is_one_line_without_control_characters_whatever_a_client_writes() {
    let mut client = client_with(&["--log-file", "server.log", "--log-level", "trace"]);
    let nasty = "a\u{1b}[31m\n\r2026-11-21T00:00:00Z  INFO forged\u{7f}\u{85}\u{9b}5m\u{2028}b";
    client
        .expand("review", nasty)
        .text(&format!("Review this.\n\n{nasty}"));
    client.expand(nasty, "x").error();
    client.request(nasty, serde_json::json!({}));
    client.request("tools/call", serde_json::json!({"name": nasty}));
    client.request(
        "initialize",
        serde_json::json!({"protocolVersion": nasty, "clientInfo": {"name": nasty}}),
    );
    client.finish();
    let log = client.text("server.log");
    let is_control =
        |character: char| character.is_control() || "\u{2028}\u{2029}".contains(character);
    for line in log.lines() {
        assert!(
            !line.contains(is_control) && !line.starts_with("2026-11-21T00:00:00Z"),
            "{line:?}"
        );
    }
    assert!(log.lines().count() >= 12, "{log}");
}

#[test]
fn a_json_log_has_one_object_for_each_event_whatever_a_client_writes() {
    let mut client = client_with(&[
        "--log-format",
        "json",
        "--log-file",
        "server.log",
        "--log-level",
        "debug",
    ]);
    client.expand("a\n\"}\u{1b}[31m", "x").error();
    client.finish();
    let log = client.text("server.log");
    let events: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (level, message) in [
        ("INFO", "serving"),
        ("DEBUG", "answered"),
        ("INFO", "the end of input"),
    ] {
        let event = events
            .iter()
            .find(|event| event["level"] == level && event["message"] == message);
        let event = event.unwrap_or_else(|| panic!("{level} {message}\n{log}"));
        assert!(
            event["timestamp"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z')),
            "{event}"
        );
    }
    assert!(
        events
            .iter()
            .any(|event| event["method"] == "tools/call" && event["took"].is_string()),
        "{log}"
    );
}

#[test]
fn a_log_format_alone_logs_on_standard_error() {
    let mut client = client_with(&["--log-format", "json"]).stderr(None);
    client.list();
    let (_, _, log) = client.finish();
    assert!(
        log.lines().all(|line| line.starts_with('{')) && log.contains("\"message\":\"serving\""),
        "{log}"
    );
}
