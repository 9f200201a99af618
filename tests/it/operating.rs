//! What operators of `serve --http` see: health, metrics, request ids, the log and the record of
//! `--tap`.

use crate::client::{Client, assert_contains};
use crate::http_client::{Connection, HttpServer, USUAL, request, write_secret};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn home() -> Client {
    Client::new().prompt("review.md", "Review this.")
}

fn call(id: u64, command: &str) -> String {
    request(
        id,
        "tools/call",
        json!({"name": "expand_prompt", "arguments": {"command": command, "input": "x"}}),
    )
}

#[test]
fn health_says_that_the_process_runs() {
    let server = HttpServer::start(home());
    let answer = server.send("GET", "/health", &[], "");
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"status": "ok"}))
    );
    assert_eq!(server.send("POST", "/health", &[], "{}").status, 405);
}

#[test]
fn the_server_is_ready_if_its_folders_can_be_read_and_the_reason_names_no_path() {
    let server = HttpServer::start(home());
    let ready = || server.send("GET", "/ready", &[], "");
    let until = |status: u16| {
        while ready().status != status {} // it looks once a second
        ready().json()
    };
    assert_eq!(until(200), json!({"status": "ok"}));
    fs::rename(server.home.prompts(), server.home.path("away")).unwrap();
    let reason = "1 of the prompts folders cannot be read; the log says which";
    assert_eq!(
        until(503),
        json!({"status": "unavailable", "reason": reason})
    );
    assert_eq!(server.send("GET", "/health", &[], "").status, 200);
    fs::rename(server.home.path("away"), server.home.prompts()).unwrap();
    until(200);
}

/// The value of a metric, as it is written.
#[track_caller]
fn metric(metrics: &str, name: &str) -> String {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in\n{metrics}"))
        .to_owned()
}

#[test]
fn metrics_count_messages_by_method_and_outcome_and_what_is_open() {
    let server = HttpServer::start(home());
    for body in [
        call(1, "review"),
        call(2, "review"),
        request(3, "no/method", json!({})),
        request(4, "x\"y\n", json!({})),
    ] {
        server.post(body);
    }
    server.post("{");
    let session = server.initialize("2025-11-25");
    let _stream = server.stream(&session);
    let answer = server.send("GET", "/metrics", &[], "");
    assert_eq!(
        answer.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let metrics = answer.text();
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    for (name, value) in [
        (
            "prompt_expander_requests_total{transport=\"http\",method=\"tools/call\",outcome=\"ok\"}",
            "2",
        ),
        (
            "prompt_expander_requests_total{transport=\"http\",method=\"other\",outcome=\"error\"}",
            "2",
        ),
        (
            "prompt_expander_requests_total{transport=\"http\",method=\"initialize\",outcome=\"ok\"}",
            "1",
        ),
        (
            "prompt_expander_request_duration_seconds_count{method=\"tools/call\"}",
            "2",
        ),
        ("prompt_expander_http_responses_total{status=\"400\"}", "1"),
        ("prompt_expander_event_streams", "1"),
        ("prompt_expander_websockets", "0"),
    ] {
        assert_eq!(metric(&metrics, name), value, "{name}");
    }
    assert!(
        metric(&metrics, "prompt_expander_connections")
            .parse::<u32>()
            .unwrap()
            >= 2
    );
    assert!(!metrics.contains("no/method"), "{metrics}");
}

#[test]
fn a_request_keeps_its_id_if_it_is_short_visible_ascii_and_gets_one_otherwise() {
    let server = HttpServer::start(home());
    let id = |headers: &[(&str, &str)]| {
        server
            .send("GET", "/health", headers, "")
            .header("x-request-id")
            .expect("an id")
            .to_owned()
    };
    let long = "x".repeat(65);
    assert_eq!(id(&[("X-Request-Id", "3f2a/7.b")]), "3f2a/7.b");
    assert_eq!(id(&[("X-Request-Id", &long[..64])]), long[..64]);
    let made = ["", "two words", "é", &long].map(|sent| id(&[("X-Request-Id", sent)]));
    let all: std::collections::BTreeSet<&String> = made.iter().collect();
    assert_eq!(all.len(), made.len(), "{made:?}");
    assert!(
        made.iter()
            .all(|id| id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_graphic())),
        "{made:?}"
    );
    assert!(
        server
            .send("GET", "/nowhere", &[], "")
            .header("x-request-id")
            .is_some()
    );
    assert!(server.post("{").header("x-request-id").is_some());
}

#[test]
fn the_log_has_the_connection_and_the_id_of_each_request() {
    let server = HttpServer::start_with(
        home(),
        &[
            "--log-format",
            "json",
            "--log-level",
            "debug",
            "--log-file",
            "server.log",
        ],
    );
    let mut connection = server.connect();
    for (id, method) in [("one", "ping"), ("two", "prompts/list")] {
        let headers = [&crate::http_client::USUAL[..], &[("X-Request-Id", id)]].concat();
        connection.send("POST", "/mcp", &headers, request(1, method, json!({})));
    }
    server.send("GET", "/nowhere", &[("X-Request-Id", "three")], "");
    let home = server.stop();
    let log = home.text("server.log");
    assert!(
        log.lines()
            .any(|line| line.contains("\"status\":404") && line.contains("\"id\":\"three\"")),
        "{log}"
    );
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answered: Vec<Value> = events
        .filter(|event| event["message"] == "answered")
        .collect();
    let spans: Vec<(&Value, &Value)> = answered
        .iter()
        .map(|event| (&event["span"]["connection"], &event["span"]["id"]))
        .collect();
    assert_eq!(
        spans,
        [(&json!(1), &json!("one")), (&json!(1), &json!("two"))],
        "{log}"
    );
}

#[test]
fn a_tap_has_the_connection_and_the_id_of_the_request_and_no_headers() {
    let server = HttpServer::start_with(home(), &["--tap", "conversation.log"]);
    let secret = ("Authorization", "Bearer hunter2");
    let body = "{\"jsonrpc\": \"2.0\",\n \"id\": 1,\r\n \"method\": \"ping\"}";
    server.post_with(&[("X-Request-Id", "one"), secret], body);
    let mut events = server.listen("1", json!({"promptsListChanged": true}));
    let acknowledged = events.next().unwrap();
    server.home.save("new.md", "New.");
    let changed = events.next().unwrap();
    let home = server.stop();
    let record = home.text("conversation.log");
    assert!(!record.contains("hunter2"), "{record}");
    let entries: Vec<Vec<&str>> = record
        .lines()
        .map(|line| line.splitn(7, ' ').collect())
        .collect();
    let one: Vec<_> = entries
        .iter()
        .filter(|entry| entry[4..].contains(&"one"))
        .collect();
    assert_eq!(one.len(), 2, "{record}");
    // Direction, connection, request and message; `in` is followed by a space more.
    assert_eq!(one[0][2..6], ["in", "", "1", "one"], "{record}");
    assert_eq!(one[0][6], body.replace('\n', " "));
    assert_eq!(one[1][2..5], ["out", "1", "one"], "{record}");
    assert_contains(&record, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    for event in [acknowledged, changed] {
        assert_contains(&record, &event.data);
    }
}

#[cfg(unix)]
#[test]
fn the_signal_hup_does_not_end_a_server_without_a_log() {
    let server = HttpServer::start_with(home(), &[]);
    server.signal(rustix::process::Signal::HUP);
    server.initialize("2025-11-25");
    server.stop();
}

#[cfg(unix)]
#[test]
fn the_signal_hup_opens_the_log_and_the_tap_again() {
    let server = HttpServer::start_with(home(), &["--tap", "tap", "--log-file", "log"]);
    server.initialize("2025-11-25");
    for file in ["tap", "log"] {
        fs::rename(
            server.home.path(file),
            server.home.path("old").with_extension(file),
        )
        .unwrap();
    }
    server.signal(rustix::process::Signal::HUP);
    for file in ["tap", "log"] {
        while !server.home.path(file).exists() {}
    }
    server.initialize("2025-06-18");
    let home = server.stop();
    for file in ["tap", "log"] {
        let old = home.text(format!("old.{file}"));
        let new = home.text(file);
        assert!(
            old.contains("2025-11-25") && !old.contains("2025-06-18"),
            "{old}"
        );
        assert!(
            new.contains("2025-06-18") && !new.contains("2025-11-25"),
            "{new}"
        );
    }
}

#[test]
fn with_tokens_metrics_are_for_admins_and_health_and_readiness_for_everyone() {
    let [reader, admin] = [
        "a-token-of-a-reader-of-forty-characters",
        "a-token-of-an-admin-of-forty-characters",
    ];
    let home = home();
    let tokens = format!("{reader} name=ana\n{admin} name=prometheus role=admin\n");
    write_secret(home.path("tokens"), &tokens);
    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    let status = |path: &str, token: &str| {
        let value = format!("Bearer {token}");
        let headers = if token.is_empty() {
            vec![]
        } else {
            vec![("Authorization", value.as_str())]
        };
        server.send("GET", path, &headers, "").status
    };
    let statuses = ["", reader, admin].map(|token| status("/metrics", token));
    assert_eq!(statuses, [401, 403, 200]);
    assert_eq!((status("/health", ""), status("/ready", "")), (200, 200));
}

#[test]
fn every_request_of_the_page_is_answered() {
    let page = crate::readme::page("docs/http.md");
    let commands: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("curl "))
        .collect();
    assert!(commands.len() >= 6, "{commands:?}");
    let home = || Client::new().prompt("research.md", "Research {{input}}.");
    let token = "a-token-of-a-writer-of-forty-characters";
    let with_tokens = home();
    write_secret(with_tokens.path("tokens"), &format!("{token} role=write"));
    let with_tokens = HttpServer::start_with(with_tokens, &["--token-file", "tokens"]);
    let without = HttpServer::start(home());
    let with_tls = crate::tls::self_signed(home());
    for command in commands {
        let server = match command {
            _ if command.contains("https://") => &with_tls,
            _ if command.contains("$TOKEN") => &with_tokens,
            _ => &without,
        };
        let line = command
            .replace("127.0.0.1:3333", &server.address.to_string())
            .replace("curl ", "curl -sSf ");
        let line = line.replace(
            "localhost:8443",
            &format!("localhost:{}", server.address.port()),
        );
        let mut shell = std::process::Command::new("sh");
        let output = shell
            .args(["-c", &line])
            .current_dir(server.home.root())
            .env("TOKEN", token)
            .output()
            .unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && !answer.contains("\"error\":"),
            "{command}\n{answer}{output:?}",
            output = output.stderr
        );
        assert!(
            !command.contains("solar cells") || answer.contains("Research solar cells."),
            "{answer}"
        );
    }
}

#[test]
fn the_server_works_on_when_nobody_reads_its_log_any_more() {
    let home = Client::new().prompt("research.md", "Research {{input}}.");
    let mut command = home.command();
    command
        .args(["serve", "--http", "127.0.0.1:0", "--log-level", "trace"])
        .args(home.library_arguments());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut first)
        .unwrap(); // and then it is closed
    let address = first
        .trim_end()
        .strip_prefix("listening on http://")
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap();
    let answer = Connection::to(address.parse().unwrap()).send(
        "POST",
        "/mcp",
        &USUAL,
        request(1, "ping", json!({})),
    );
    assert_eq!(answer.json()["result"], json!({}));
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}
