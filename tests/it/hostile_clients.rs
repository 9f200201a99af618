//! What a hostile or confused client of the HTTP server cannot do: have one request read as two, pass for another one, forge a
//! session, a line of the log or a metric, or keep the server from ending.

use crate::client::{Client, modern};
use crate::http_client::{Connection, HttpServer, USUAL, request};
use prompt_expander::transport::http::{Keys, sessions};
use serde_json::{Value, json};
use std::time::Duration;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
const KEY: &str = "a-key-of-tests-for-session-ids";

fn home() -> Client {
    Client::new().prompt("research.md", "Research {{input}}.")
}

/// A request that is complete.
fn ping() -> String {
    format!("{HEAD}Content-Length: {}\r\n\r\n{PING}", PING.len())
}

#[test]
fn what_could_be_read_as_one_request_or_two_is_refused_and_the_connection_closed() {
    let server = HttpServer::start(home());
    let chunk = format!("{:x}\r\n{PING}\r\n0\r\n\r\n", PING.len());
    let length = format!("Content-Length: {}", PING.len());
    for (head, body) in [
        ("Content-Length: 40\r\nContent-Length: 5", PING),
        ("Content-Length: 40, 5", PING),
        ("Content-Length: +40", PING),
        ("Content-Length: 0x28", PING),
        ("Content-Length : 40", PING),
        (&format!("X: a\r\n b\r\n{length}"), PING),
        (&format!("X: a\rb\r\n{length}"), PING),
        (&format!("X: a\0b\r\n{length}"), PING),
        (&format!("X\r\n{length}"), PING),
        (&format!(": a\r\n{length}"), PING),
        ("Transfer-Encoding: xchunked", &chunk),
        ("Transfer-Encoding: chunked, identity", &chunk),
        ("Transfer-Encoding: chunked", &chunk.replace("\r\n", "\n")),
        ("Transfer-Encoding: chunked", &chunk.replacen("\r\n0", "XX0", 1)),
        ("Transfer-Encoding: chunked", &format!("{}{PING}", "F".repeat(17))),
        ("Transfer-Encoding: chunked", &chunk.replacen("\r\n", &format!(";{}\r\n", "x".repeat(20_000)), 1)),
    ] {
        let mut connection = server.connect();
        connection.write_raw(format!("{HEAD}{head}\r\n\r\n{body}{}", ping()));
        assert_eq!(connection.read().status, 400, "{head:?}");
        assert!(connection.is_closed_within(Duration::from_secs(60)), "{head:?}");
    }
}

#[test]
fn other_protocols_and_versions_get_no_answer_of_mcp() {
    let server = HttpServer::start(home());
    for bytes in [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..],
        b"\x16\x03\x01\0\xa5\x01\0\0\xa1\x03\x03hello, this is not a real hello of TLS",
        b"GET /mcp\r\n\r\n",
        b"POST /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n",
    ] {
        let mut connection = server.connect();
        connection.write_raw(bytes);
        let refused = connection.is_closed_within(Duration::from_secs(60)) || {
            let mut connection = server.connect();
            connection.write_raw(bytes);
            connection.read().status == 400
        };
        assert!(refused, "{}", String::from_utf8_lossy(bytes));
    }
    let mut old = server.connect();
    old.write_raw(ping().replace("HTTP/1.1", "HTTP/1.0"));
    assert_eq!(old.read().json()["result"], json!({}));
    assert!(old.is_closed_within(Duration::from_secs(60)));
}

#[test]
fn a_path_is_taken_as_it_is_written_and_a_whole_address_must_be_of_this_server() {
    let server = HttpServer::start(home());
    for (target, status) in [
        ("/mcp?x=1", 200),
        ("http://localhost/mcp", 200),
        ("http://evil.example/mcp", 403),
        ("http://user@localhost/mcp", 403),
        ("/mcp/", 404),
        ("//mcp", 404),
        ("/MCP", 404),
        ("/%6dcp", 404),
        ("/mcp%00", 404),
        ("/mcp;x", 404),
        ("/../mcp", 404),
        ("/%2e%2e/mcp", 404),
        ("/health/%2e%2e/mcp", 404),
        ("*", 404),
    ] {
        assert_eq!(server.send("POST", target, &USUAL, PING).status, status, "{target}");
    }
    for (method, path, status) in [
        ("TRACE", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("PRI", "/mcp", 405),
        ("OPTIONS", "/mcp", 204),
        ("POST", "/health", 405),
        ("DELETE", "/metrics", 405),
        ("TRACE", "/ready", 405),
    ] {
        let answer = server.send(method, path, &[], "");
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{method} {path}");
    }
}

#[test]
fn requests_that_come_at_once_are_answered_in_their_order_and_with_their_own_ids() {
    let server = HttpServer::start(home());
    let ids = [
        json!(0),
        json!(""),
        json!("1"),
        json!(1),
        json!(-1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!("\u{2028}\"\\\n\0é"),
        json!("x".repeat(5_000)),
    ];
    let asked =
        ids.iter().flat_map(|id| ["ping", "prompts/list", "tools/list", "no/method"].map(|method| (id, method)));
    let mut connection = server.connect();
    for (id, method) in asked.clone() {
        connection.write("POST", "/mcp", &USUAL, request(id.clone(), method, json!({})));
    }
    for (id, method) in asked {
        let answer = connection.read().json();
        assert_eq!(&answer["id"], id, "{method}");
        assert_eq!(answer.get("error").is_some(), method == "no/method", "{answer}");
    }
}

#[test]
fn who_expects_100_continue_is_refused_before_sending_a_body() {
    let server = HttpServer::start(home());
    let ask = |head: &str, length: usize| {
        let mut connection = server.connect();
        connection.write_raw(format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"));
        connection
    };
    assert_eq!(ask(HEAD, 33_554_433).read().status, 413);
    assert_eq!(ask(&HEAD.replace("localhost", "evil.example"), PING.len()).read().status, 403);
    assert_eq!(ask(&HEAD.replace("application/json", "text/plain"), PING.len()).read().status, 415);
    let mut accepted = ask(HEAD, PING.len());
    assert_eq!(accepted.read().status, 100);
    accepted.write_raw(PING);
    assert_eq!(accepted.read().json()["result"], json!({}));
}

/// A server whose session ids tests can sign, and what signs them.
fn server_with_key() -> (HttpServer, sessions::Sessions) {
    let home = home();
    crate::http_client::write_secret(home.root().join("key"), KEY);
    let server = HttpServer::start_with(home, &["--key", "key"]);
    (server, sessions::Sessions::new(Keys::parse(KEY).unwrap()))
}

#[test]
fn a_session_id_counts_only_as_it_was_signed_and_for_thirty_days() {
    let (server, signer) = server_with_key();
    let status = |id: &str| server.post_with(&[("Mcp-Session-Id", id)], PING).status;
    let id = server.initialize("2025-11-25");
    assert_eq!(status(&id), 200);
    for (place, character) in id.char_indices() {
        let other = if character == 'A' { "B" } else { "A" };
        let changed = format!("{}{other}{}", &id[..place], &id[place + 1..]);
        assert_eq!(status(&changed), 404, "{changed}");
    }
    let unsigned = id.rsplit_once('.').unwrap().0;
    for broken in ["", ".....", unsigned, &format!("{unsigned}."), &format!("{id}="), &id[1..], &id.repeat(9)] {
        assert_eq!(status(broken), 404, "{broken}");
    }
    let (now, day) = (sessions::now(), 24 * 60 * 60);
    for (version, owner, made, expected) in [
        ("2025-11-25", "", now - 30 * day + 3_600, 200),
        ("2025-11-25", "", now - 30 * day - 3_600, 404),
        ("2025-11-25", "", 0, 404),
        ("2025-11-25", "", now + 3_650 * day, 200), // the clock may have been set back
        ("2025-11-25", "", u64::MAX, 200),
        ("2025-11-25", "00000000000000000000000000000000", now, 404),
        ("2026-07-28", "", now, 404),
    ] {
        let id = signer.make(version, None, owner, made).unwrap();
        assert_eq!(status(&id), expected, "{id}");
    }
}

#[test]
fn a_session_from_before_the_clock_was_set_back_is_told_of_a_change() {
    let (server, signer) = server_with_key();
    let id = signer.make("2025-11-25", None, "", sessions::now() + 3_600).unwrap();
    // The time of the change is before that of the session.
    server.initialized(&id);
    let mut stream = server.stream(&id);
    assert_eq!(stream.methods(3), ["prompts/list_changed", "resources/list_changed", "tools/list_changed"]);
}

#[test]
fn only_2025_03_26_has_batches_whether_the_header_or_the_session_says_so() {
    let server = HttpServer::start(home());
    let batch = format!("[{PING},{{\"jsonrpc\":\"2.0\",\"method\":\"x\"}},{}]", request("b", "no/method", json!({})));
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = server.initialize(version);
        for headers in [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", version)] {
            let answer = server.post_with(&[headers], &batch);
            let ids: Option<Vec<Value>> =
                answer.json().as_array().map(|answers| answers.iter().map(|answer| answer["id"].clone()).collect());
            let has_batches = version == "2025-03-26";
            assert_eq!(
                (answer.status, ids.is_some()),
                if has_batches { (200, true) } else { (400, false) },
                "{version}"
            );
            assert_eq!(ids.unwrap_or_default(), if has_batches { vec![json!(1), json!("b")] } else { Vec::new() });
        }
    }
    let listen = json!([{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": modern(json!({"notifications": {}}))}]);
    let initialize = format!("[{},{PING}]", request(1, "initialize", json!({"protocolVersion": "2025-03-26"})));
    for body in [listen.to_string(), initialize, format!("[[{PING}]]"), "[null]".to_owned()] {
        let answer = server.post(&body);
        assert_eq!((answer.status, &answer.json()[0]["error"]["code"]), (200, &json!(-32600)), "{body}");
        assert_eq!(answer.header("mcp-session-id"), None);
    }
}

#[test]
fn what_a_client_sends_forges_no_line_of_the_log_and_no_metric() {
    const EVIL: &str = "\u{1b}[31m\u{9b}31m\r\nEVIL 1\n";
    let server = HttpServer::start_with(home(), &["--log-level", "trace", "--log-file", "log", "--tap", "tap"]);
    let client = json!({"protocolVersion": EVIL, "capabilities": {}, "clientInfo": {"name": EVIL, "version": EVIL}});
    let call = json!({"name": "expand_prompt", "arguments": {"command": EVIL, "input": EVIL}});
    for (id, method, params) in [
        (json!(EVIL), EVIL, json!({})),
        (json!(1), "initialize", client),
        (json!(1), "tools/call", call),
        (json!(1), "tools/call", json!({"name": EVIL})),
        (json!(1), "prompts/get", json!({"name": EVIL})),
        (json!(1), "resources/read", json!({"uri": EVIL})),
        (json!(1), "a\"} 1\nEVIL{x=\"", json!({})),
    ] {
        assert_eq!(server.post(request(id, method, params)).status, 200);
    }
    for name in
        ["Mcp-Session-Id", "X-Request-Id", "Host", "Origin", "MCP-Protocol-Version", "Mcp-Method", "Last-Event-ID"]
    {
        server.post_with(&[(name, "a\u{9b}31m\" EVIL=1")], PING);
    }
    let metrics = server.send("GET", "/metrics", &[], "").text();
    assert!(!metrics.contains("EVIL") && metrics.contains(r#"method="other""#), "{metrics}");
    let session = server.initialize("2025-11-25");
    server.initialized(&session);
    let home = server.stop();
    for file in ["log", "tap"] {
        let text = std::fs::read_to_string(home.root().join(file)).unwrap();
        assert!(text.contains("EVIL"), "{file}: what was sent is in it");
        // The record has messages as they are on the wire, where JSON escapes fewer characters.
        let is_shown =
            |character: char| character == '\n' || !character.is_control() || file == "tap" && character > '\u{7f}';
        assert!(text.chars().all(is_shown) && text.lines().all(|line| line.starts_with("20")), "{text}");
        assert!(!text.contains(&session), "{file}: who has the id has the session");
    }
}

#[test]
fn sigterm_ends_the_server_whatever_its_clients_are_doing() {
    let mut server = HttpServer::start(home());
    let send = |bytes: &str| {
        let mut connection = server.connect();
        connection.write_raw(bytes);
        connection
    };
    let _idle: Vec<Connection> = (0..50).map(|_| server.connect()).collect();
    let _half_a_head = send("POST /mcp HT");
    let mut half_a_body = send(&format!("{HEAD}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"));
    assert_eq!(half_a_body.read().status, 100, "it waits for the body");
    half_a_body.write_raw("{");
    let _unread = send(&ping().repeat(1_000));
    let session = server.initialize("2025-11-25");
    let mut stream = server.stream(&session);
    let mut listen = server.listen("L", json!({"promptsListChanged": true}));
    assert_eq!(listen.methods(1), ["subscriptions/acknowledged"]);
    server.terminate();
    server.terminate();
    assert_eq!(stream.next(), None);
    assert_eq!(listen.message()["result"]["resultType"], "complete");
    assert_eq!(listen.next(), None);
    let refused = half_a_body.read();
    assert_eq!((refused.status, refused.error()), (503, -32603));
    assert!(server.wait().success());
}

#[test]
fn connections_never_take_the_files_that_the_library_needs() {
    let server = HttpServer::start(home().after("ulimit -n 100"));
    let mut first = server.connect();
    let list = request(1, "prompts/list", json!({}));
    let all = first.send("POST", "/mcp", &USUAL, &list).text();
    assert!(all.contains("research"), "{all}");
    let mut idle: Vec<Connection> = (0..200).map(|_| server.connect()).collect();
    assert_eq!(idle.last_mut().unwrap().read().status, 503);
    assert_eq!(first.send("POST", "/mcp", &USUAL, &list).text(), all);
}

#[test]
fn bodies_that_are_not_finished_take_only_so_much_memory() {
    let server = HttpServer::start_with(home(), &["--max-body", "1MiB"]);
    let half = format!("{HEAD}Content-Length: 1048576\r\n\r\n{}", " ".repeat(1_000_000));
    let open: Vec<Connection> = (0..20)
        .map(|_| {
            let mut connection = server.connect();
            connection.write_raw(&half);
            connection
        })
        .collect();
    let refused = || server.send("GET", "/metrics", &[], "").text().contains(r#"{status="503"}"#);
    while !refused() {
        std::thread::yield_now();
    }
    assert_eq!(server.post(PING).status, 200, "a short one is read");
    drop(open);
}
