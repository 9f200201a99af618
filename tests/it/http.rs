//! MCP over HTTP, as any client sees it: what is answered to which request, sessions and streams,
//! and what broken or hostile clients cannot do.

use crate::client::{Client, modern, set_mode};
use crate::http_client::{Connection, HttpServer, USUAL, request, write_secret};
use serde_json::{Value, json};
use std::time::Duration;

const LISTS: [&str; 3] = [
    "prompts/list_changed",
    "resources/list_changed",
    "tools/list_changed",
];
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn home() -> Client {
    Client::new().prompt("research.md", "Research {{input}}.")
}

/// Names and values.
type Headers<'h> = &'h [(&'h str, &'h str)];

fn server() -> HttpServer {
    HttpServer::start(home())
}

fn expand(id: u64) -> String {
    request(
        id,
        "tools/call",
        json!({"name": "expand_prompt", "arguments": {"command": "research", "input": "x"}}),
    )
}

#[test]
fn legacy_requests_are_answered_by_the_rules_of_their_versions() {
    let server = server();
    let session = server.initialize("2025-06-18");
    let in_session = ("Mcp-Session-Id", session.as_str());
    let version = |version| ("MCP-Protocol-Version", version);
    let batch = format!("[{PING},{INITIALIZED},{}]", request(2, "nope", json!({})));
    let initialize = request(1, "initialize", json!({"protocolVersion": "2099-01-01"}));
    let unknown_tool = request(1, "tools/call", json!({"name": "nope"}));
    let cases: &[(&str, Headers<'_>, &str, u16, i64)] = &[
        ("a request", &[], PING, 200, 0),
        (
            "a request in a session",
            &[in_session, version("2025-06-18")],
            PING,
            200,
            0,
        ),
        (
            "another version than that of the session",
            &[in_session, version("2025-11-25")],
            PING,
            200,
            0,
        ),
        (
            "an unknown version",
            &[in_session, version("2024-01-01")],
            PING,
            400,
            -32602,
        ),
        (
            "a modern version without its metadata",
            &[version("2026-07-28")],
            PING,
            400,
            -32602,
        ),
        (
            "an unknown session",
            &[("Mcp-Session-Id", "nope")],
            PING,
            404,
            404,
        ),
        ("initialize", &[], &initialize, 200, 0),
        (
            "initialize with an unknown session",
            &[("Mcp-Session-Id", "nope")],
            &initialize,
            200,
            0,
        ),
        (
            "initialize without its params",
            &[],
            &request(1, "initialize", json!({})),
            200,
            -32602,
        ),
        ("a notification", &[], INITIALIZED, 202, 0),
        (
            "a notification of no method that is known",
            &[],
            r#"{"jsonrpc":"2.0","method":"nope"}"#,
            202,
            0,
        ),
        (
            "a notification in an unknown session",
            &[("Mcp-Session-Id", "nope")],
            INITIALIZED,
            404,
            404,
        ),
        (
            "a notification with an unknown version",
            &[version("x")],
            INITIALIZED,
            400,
            400,
        ),
        (
            "a response",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            202,
            0,
        ),
        (
            "an unknown method",
            &[],
            &request(1, "nope", json!({})),
            200,
            -32601,
        ),
        ("an unknown tool", &[], &unknown_tool, 200, -32601),
        (
            "invalid params",
            &[],
            &request(1, "prompts/get", json!({})),
            200,
            -32602,
        ),
        (
            "an unknown resource",
            &[],
            &request(1, "resources/read", json!({"uri": "prompt://nope"})),
            200,
            -32002,
        ),
        (
            "resources/subscribe",
            &[],
            &request(
                1,
                "resources/subscribe",
                json!({"uri": "prompt://research"}),
            ),
            200,
            -32601,
        ),
        ("no JSON", &[], "{oops", 400, -32700),
        ("no message", &[], "5", 400, -32600),
        ("a batch without a version", &[], &batch, 200, 0),
        (
            "a batch of 2025-03-26",
            &[version("2025-03-26")],
            &batch,
            200,
            0,
        ),
        (
            "a batch of a later version",
            &[version("2025-06-18")],
            &batch,
            400,
            -32600,
        ),
        (
            "a batch of a later session",
            &[in_session],
            &batch,
            400,
            -32600,
        ),
        (
            "a batch whose header wins over its session",
            &[in_session, version("2025-03-26")],
            &batch,
            200,
            0,
        ),
        (
            "a batch of a modern version",
            &[version("2026-07-28")],
            &batch,
            400,
            400,
        ),
        (
            "a batch of notifications",
            &[],
            &format!("[{INITIALIZED}]"),
            202,
            0,
        ),
        ("an empty batch", &[], "[]", 400, -32600),
        (
            "no Accept that covers the answer",
            &[("Accept", "text/html")],
            PING,
            406,
            406,
        ),
        (
            "another content type",
            &[("Content-Type", "text/plain")],
            PING,
            415,
            415,
        ),
        (
            "a compressed body",
            &[("Content-Encoding", "gzip")],
            PING,
            415,
            415,
        ),
        (
            "a body that is compressed twice",
            &[("Content-Encoding", "identity, deflate")],
            PING,
            415,
            415,
        ),
        (
            "a body that is not compressed",
            &[("Content-Encoding", "Identity")],
            PING,
            200,
            0,
        ),
    ];
    let mut connection = server.connect();
    for (case, headers, body, status, code) in cases {
        let has = |name: &str| headers.iter().any(|(own, _)| *own == name);
        let usual = USUAL.into_iter().filter(|(name, _)| !has(name));
        let headers: Vec<_> = usual.chain(headers.iter().copied()).collect();
        let answer = connection.send("POST", "/mcp", &headers, body);
        assert_eq!(answer.status, *status, "{case}: {}", answer.text());
        if *status == 202 {
            assert!(answer.body.is_empty(), "{case}");
        } else {
            let is_array = answer.body.starts_with(b"[");
            assert_eq!(
                (answer.json()["error"]["code"].as_i64().unwrap_or_default()),
                *code,
                "{case}: {}",
                answer.text()
            );
            assert_eq!(
                is_array,
                case.starts_with("a batch") && *status == 200,
                "{case}"
            );
        }
        let makes_session = case.starts_with("initialize") && *code == 0;
        assert_eq!(
            answer.header("mcp-session-id").is_some(),
            makes_session,
            "{case}"
        );
    }
    for (method, headers, status) in [
        (
            "GET",
            &[("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")][..],
            303,
        ),
        ("GET", &[], 400),
        ("GET", &[("Mcp-Session-Id", "nope")], 404),
        ("GET", &[in_session, ("Accept", "application/json")], 406),
        ("GET", &[in_session, version("x")], 400),
        ("DELETE", &[], 400),
        ("DELETE", &[("Mcp-Session-Id", "nope")], 404),
        ("PUT", &[], 405),
        ("PATCH", &[], 405),
    ] {
        let answer = connection.send(method, "/mcp", headers, "");
        assert_eq!(answer.status, status, "{method} {headers:?}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{method}");
        assert_eq!(
            answer.header("location"),
            (status == 303).then_some("./"),
            "{method}"
        );
    }
}

#[test]
fn modern_requests_are_answered_by_the_rules_of_2026_07_28() {
    let server = server();
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let get = request(
        7,
        "prompts/get",
        modern(json!({"name": "research", "arguments": {"input": "x"}})),
    );
    let of = |method: &str| request(7, method, modern(json!({})));
    let (list, ping) = (of("prompts/list"), of("ping"));
    let in_2031 = list.replace("2026-07-28", "2031-01-01");
    let of_get = [version, ("Mcp-Method", "prompts/get")];
    let of_list = [version, ("Mcp-Method", "prompts/list")];
    let bare_discover = request(7, "server/discover", json!({}));
    let unknown_prompt = get.replace("research", "nope");
    let unknown_resource = request(7, "resources/read", modern(json!({"uri": "prompt://nope"})));
    let cases: &[(&str, Headers<'_>, &str, u16, i64)] = &[
        ("success", &of_list, &list, 200, 0),
        (
            "a name",
            &[of_get[0], of_get[1], ("Mcp-Name", "research")],
            &get,
            200,
            0,
        ),
        (
            "an encoded name",
            &[
                of_get[0],
                of_get[1],
                ("Mcp-Name", "=?base64?cmVzZWFyY2g=?="),
            ],
            &get,
            200,
            0,
        ),
        ("no metadata", &of_list, &bare_discover, 400, -32602),
        ("no headers", &[], &list, 400, -32020),
        ("no name", &of_get, &get, 400, -32020),
        (
            "an unsupported version",
            &[("MCP-Protocol-Version", "2031-01-01")],
            &in_2031,
            400,
            -32022,
        ),
        (
            "a removed method",
            &[version, ("Mcp-Method", "ping")],
            &ping,
            404,
            -32601,
        ),
        (
            "initialize",
            &[version, ("Mcp-Method", "initialize")],
            &of("initialize"),
            404,
            -32601,
        ),
        (
            "an invented method",
            &[version, ("Mcp-Method", "nope")],
            &of("nope"),
            404,
            -32601,
        ),
        (
            "an unknown prompt",
            &[of_get[0], of_get[1], ("Mcp-Name", "nope")],
            &unknown_prompt,
            200,
            -32602,
        ),
        (
            "an unknown resource",
            &[
                version,
                ("Mcp-Method", "resources/read"),
                ("Mcp-Name", "prompt://nope"),
            ],
            &unknown_resource,
            200,
            -32602,
        ),
        (
            "a session and an event, which are ignored",
            &[
                of_list[0],
                of_list[1],
                ("Mcp-Session-Id", "x"),
                ("Last-Event-ID", "x"),
            ],
            &list,
            200,
            0,
        ),
        (
            "a notification",
            &[version],
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            202,
            0,
        ),
        (
            "a response",
            &[version],
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            400,
            400,
        ),
        (
            "discover",
            &[version, ("Mcp-Method", "server/discover")],
            &of("server/discover"),
            200,
            0,
        ),
        (
            "listen without its params",
            &[version, ("Mcp-Method", "subscriptions/listen")],
            &of("subscriptions/listen"),
            200,
            -32602,
        ),
        (
            "listen without events",
            &[
                version,
                ("Mcp-Method", "subscriptions/listen"),
                ("Accept", "application/json"),
            ],
            &of("subscriptions/listen"),
            406,
            406,
        ),
    ];
    let mut connection = server.connect();
    for (case, headers, body, status, code) in cases {
        let usual = USUAL
            .into_iter()
            .filter(|(name, _)| !headers.iter().any(|(own, _)| own == name));
        let headers: Vec<_> = usual.chain(headers.iter().copied()).collect();
        let answer = connection.send("POST", "/mcp", &headers, body);
        assert_eq!(answer.status, *status, "{case}: {}", answer.text());
        assert_eq!(answer.header("mcp-session-id"), None, "{case}");
        if *status == 202 {
            assert!(answer.body.is_empty(), "{case}");
            continue;
        }
        assert_eq!(answer.error(), *code, "{case}: {}", answer.text());
        if *code <= 0 {
            assert_eq!(answer.json()["id"], 7, "{case}");
        }
        if *code == 0 {
            assert_eq!(answer.json()["result"]["resultType"], "complete", "{case}");
        }
    }
    assert_eq!(
        server
            .modern("resources/read", json!({"uri": "prompt://research"}))
            .status,
        200
    );
}

#[test]
fn other_paths_are_unknown_and_their_answer_is_not_json_rpc() {
    let server = server();
    for (method, path, status, problem) in [
        ("GET", "/sse", 404, "nothing is at this address"),
        ("POST", "/sse", 404, "nothing is at this address"),
        ("POST", "//mcp", 404, "nothing is at this address"),
        (
            "POST",
            "/mcp/%2e%2e/%2e%2e/etc/passwd",
            404,
            "nothing is at this address",
        ),
        (
            "GET",
            "/.well-known/oauth-protected-resource",
            404,
            "nothing is at this address",
        ),
        ("POST", "/", 405, "this address does not support POST"),
        ("DELETE", "/ws", 405, "this address does not support DELETE"),
        ("GET", "/ws", 400, "this address is only for WebSockets"),
        (
            "GET",
            "/",
            406,
            "this is the address of a web page, which the header Accept excludes",
        ),
    ] {
        let answer = server.send(method, path, &USUAL, PING);
        assert_eq!(
            (answer.status, answer.text()),
            (
                status,
                format!("{problem}. The endpoint for MCP clients is /mcp\n")
            ),
            "{method} {path}"
        );
    }
    let answer = server.send("POST", "/api/mcp", &USUAL, PING);
    assert_eq!(
        (answer.status, answer.json()["error"]["message"].as_str()),
        (
            404,
            Some("the API has nothing at this address. The endpoint for MCP clients is /mcp")
        )
    );
    for path in ["/mcp/", "/mcp?x=%2e%2e", "/mcp/?x"] {
        let answer = server.send("POST", path, &USUAL, PING);
        assert_eq!((answer.status, answer.error()), (200, 0), "{path}");
        let refused = server.send("POST", path, &USUAL, "{oops");
        assert_eq!((refused.status, refused.error()), (400, -32700), "{path}");
    }
    let refused = server.send("PUT", "/mcp/", &USUAL, PING);
    assert_eq!((refused.status, refused.error()), (405, 405));
    let browser = server.send("GET", "/mcp/", &[("Accept", "text/html")], "");
    assert_eq!(browser.header("location"), Some("../"));
}

#[test]
fn the_agent_of_a_session_gets_long_results_in_parts() {
    let server = HttpServer::start(Client::new().prompt("long.md", "word ".repeat(40_000)));
    let call = request(
        1,
        "tools/call",
        json!({"name": "expand_prompt", "arguments": {"command": "long", "input": ""}}),
    );
    let initialize = request(
        1,
        "initialize",
        json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "codex-mcp-client"}}),
    );
    let session = server
        .post(&initialize)
        .header("mcp-session-id")
        .unwrap()
        .to_owned();
    let in_session = server.post_with(&[("Mcp-Session-Id", &session)], &call);
    let alone = server.post(&call);
    assert!(
        in_session.body.len() < alone.body.len() / 2,
        "{} {}",
        in_session.body.len(),
        alone.body.len()
    );
}

#[test]
fn a_session_survives_a_restart_and_a_deleted_one_is_unknown() {
    let server = server();
    let kept = server.initialize("2025-06-18");
    let deleted = server.initialize("2025-06-18");
    let post = |server: &HttpServer, session: &str| {
        server
            .post_with(&[("Mcp-Session-Id", session)], PING)
            .status
    };
    assert_eq!(
        server
            .send("DELETE", "/mcp", &[("Mcp-Session-Id", &deleted)], "")
            .status,
        204
    );
    assert_eq!((post(&server, &kept), post(&server, &deleted)), (200, 404));
    let server = HttpServer::start(server.stop());
    assert_eq!(post(&server, &kept), 200);
}

#[test]
fn sessions_are_those_of_the_key_and_of_the_previous_one() {
    let home = home();
    let old = "an old key of this test";
    write_secret(home.path("old"), old);
    write_secret(
        home.path("both"),
        &format!("a new key of this test!\n{old}\n"),
    );
    write_secret(home.path("short"), "short");
    let first = HttpServer::start_with(home, &["--key", "old"]);
    let ran = first.home.words("serve --http 0 --key short");
    assert!(
        !ran.status.success()
            && ran
                .stderr
                .contains("`short` is not a valid key: a key must have at least 16"),
        "{}",
        ran.stderr
    );
    set_mode(first.home.path("old"), 0o644);
    let ran = first.home.words("serve --http 0 --key old");
    ran.failed(
        1,
        "error: others can read or change the key old: run `chmod 600 old`\n",
    );
    let session = first.initialize("2025-06-18");
    let status = |server: &HttpServer| {
        server
            .post_with(&[("Mcp-Session-Id", &session)], PING)
            .status
    };
    let second = HttpServer::start_with(Client::new().variable("PROMPT_EXPANDER_KEY", old), &[]);
    assert_eq!(status(&second), 200, "another process with the key");
    let server = HttpServer::start_with(first.stop(), &["--key", "both"]);
    assert_eq!(status(&server), 200);
}

#[test]
fn without_a_place_for_its_key_the_server_says_so_and_works() {
    let home = home();
    home.put(".local/state", "a file");
    let server = HttpServer::start(home);
    let line = server.stderr_line();
    assert!(
        line.contains("the key of session ids cannot be stored") && line.contains("--key"),
        "{line}"
    );
    let session = server.initialize("2025-06-18");
    assert_eq!(
        server
            .post_with(&[("Mcp-Session-Id", &session)], PING)
            .status,
        200
    );
}

#[test]
fn a_stream_opened_before_or_after_initialized_gets_the_notifications_after_it() {
    let server = server();
    let [before, after, late, never] = [(); 4].map(|()| server.initialize("2025-03-26"));
    let mut early = server.stream(&before);
    let mut of_late = server.stream(&late);
    let mut of_never = server.stream(&never);
    server.initialized(&before);
    server.initialized(&after);
    let mut ready = server.stream(&after);
    assert_eq!(ready.head.header("x-accel-buffering"), Some("no"));
    server.home.save("new.md", "New.");
    assert_eq!(early.methods(3), LISTS);
    assert_eq!(ready.methods(3), LISTS);
    // In a batch.
    let answer = server.post_with(&[("Mcp-Session-Id", &late)], format!("[{INITIALIZED}]"));
    assert_eq!(answer.status, 202);
    server.initialized(&late);
    assert_eq!(of_late.methods(3), LISTS, "what it has missed");
    for (session, stream) in [(late, &mut of_late), (never, &mut of_never)] {
        end_session(&server, &session);
        assert_eq!(stream.next(), None, "nothing else");
    }
}

fn end_session(server: &HttpServer, session: &str) {
    let answer = server.send("DELETE", "/mcp", &[("Mcp-Session-Id", session)], "");
    assert_eq!(answer.status, 204);
}

#[test]
fn the_newest_stream_of_a_session_gets_the_notifications() {
    let server = server();
    let session = server.initialize("2025-11-25");
    server.initialized(&session);
    let mut older = server.stream(&session);
    let mut newest = server.stream(&session);
    server.home.save("new.md", "New.");
    assert_eq!(newest.methods(3), LISTS);
    let change = newest.last_id.clone();
    let between = server.stream(&session);
    let mut another = server.stream(&session);
    server.home.save("another.md", "New.");
    assert_eq!(another.methods(3), LISTS);
    assert_ne!(another.last_id, change, "it gets the later change only");
    drop((newest, between, another));
    // The server notices it after a moment.
    while !server
        .send("GET", "/metrics", &[], "")
        .text()
        .contains("event_streams 1\n")
    {}
    server.home.save("newer.md", "New.");
    assert_eq!(older.methods(3), LISTS);
    assert_ne!(older.last_id, change, "it gets the second change only");
    end_session(&server, &session);
    assert_eq!(older.next(), None);
}

#[test]
fn a_client_that_comes_back_is_told_of_a_change_if_there_may_have_been_one() {
    let server = server();
    let session = server.initialize("2025-06-18");
    server.initialized(&session);
    let mut stream = server.stream(&session);
    let first = stream.last_id.clone();
    server.home.save("new.md", "New.");
    assert_eq!(stream.methods(3), LISTS);
    let last = stream.last_id.clone();
    assert_ne!(first, last);
    drop(stream);
    let mut missed = server.stream_with(&session, &[("Last-Event-ID", &first)]);
    assert_eq!(missed.methods(3), LISTS);
    let mut current = server.stream_with(&session, &[("Last-Event-ID", &last)]);
    let server = HttpServer::start(server.stop());
    assert_eq!(current.next(), None, "it missed nothing");
    let mut restarted = server.stream_with(&session, &[("Last-Event-ID", &last)]);
    assert_eq!(restarted.methods(3), LISTS, "another process cannot know");
}

#[test]
fn a_first_stream_tells_of_a_change_since_its_session_was_made() {
    let server = server();
    let (session, other) = (
        server.initialize("2025-06-18"),
        server.initialize("2025-06-18"),
    );
    server.initialized(&session);
    server.initialized(&other);
    let mut stream = server.stream(&other);
    server.home.save("new.md", "New.");
    assert_eq!(stream.methods(3), LISTS);
    let mut late = server.stream(&session);
    assert_eq!(late.methods(3), LISTS);
    let server = HttpServer::start(server.stop());
    let mut restarted = server.stream(&session);
    // The server may have been started within the second in which the session was made.
    server.home.save("newer.md", "New.");
    assert_eq!(restarted.methods(3), LISTS);
}

#[test]
fn deleting_a_session_ends_its_stream() {
    let server = server();
    let session = server.initialize("2025-06-18");
    let mut stream = server.stream(&session);
    end_session(&server, &session);
    assert_eq!(stream.next(), None);
}

#[test]
fn a_listen_is_acknowledged_first_then_gets_what_it_asked_for_with_its_id() {
    const ID: &str = "io.modelcontextprotocol/subscriptionId";
    let server = server();
    let mut prompts = server.listen("listen:0", json!({"promptsListChanged": true, "x": 1}));
    let acknowledged = prompts.message();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        acknowledged["params"],
        json!({"notifications": {"promptsListChanged": true}, "_meta": {ID: "listen:0"}})
    );
    let mut resource = server.listen("r", json!({"resourceSubscriptions": ["prompt://research"]}));
    resource.message();
    server.home.save("new.md", "New.");
    let changed = prompts.message();
    assert_eq!(changed["method"], "notifications/prompts/list_changed");
    assert_eq!(changed["params"]["_meta"][ID], "listen:0");
    server.home.save("research.md", "Research.");
    let updated = resource.message();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(
        updated["params"],
        json!({"uri": "prompt://research", "_meta": {ID: "r"}})
    );
    server.terminate();
    // The second change may have changed the list as well.
    let last = std::iter::from_fn(|| prompts.next()).last().unwrap();
    let last: Value = serde_json::from_str(&last.data).unwrap();
    assert_eq!(
        last,
        json!({"jsonrpc": "2.0", "id": "listen:0", "result": {"resultType": "complete", "_meta": {ID: "listen:0"}}})
    );
}

#[test]
fn a_running_request_is_answered_after_sigterm_and_new_connections_are_refused() {
    let mut server = server();
    let mut running = server.connect();
    let mut idle = server.connect();
    let body = expand(5);
    // The server asks for the body only once it handles the request.
    running.write_raw(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n", body.len()));
    assert_eq!(running.read().status, 100);
    assert_eq!(idle.send("POST", "/mcp", &USUAL, PING).status, 200);
    server.terminate();
    assert!(idle.is_closed_within(Duration::from_secs(60)));
    while std::net::TcpStream::connect(server.address).is_ok() {}
    running.write_raw(body);
    assert_eq!(
        running.read().json()["result"]["structuredContent"]["prompt"],
        "Research x."
    );
    assert!(server.wait().success());
}

#[test]
fn what_makes_it_impossible_to_listen_is_explained() {
    let server = server();
    let taken = server.address.to_string();
    for (address, want) in [
        (taken.as_str(), "; choose another address or port"),
        ("0.0.0.0:0", "can be reached from other machines"),
        ("203.0.113.1:0", "can be reached from other machines"),
        (
            "127.0.0.1",
            "write an address and a port, such as 127.0.0.1:3333",
        ),
        ("nowhere.invalid:80", "write an address and a port"),
        ("[::1", "write an address and a port"),
    ] {
        let ran = home().run(["serve", "--http", address], "");
        assert_eq!(ran.status.code(), Some(1), "{address}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(want),
            "{address}: {}",
            ran.stderr
        );
    }
}

#[test]
fn options_of_http_need_http_and_options_of_the_server_stand_before_or_after_serve() {
    let client = home().prompt("a.md", "A");
    let ran = client.words("serve --key x");
    assert_eq!(ran.status.code(), Some(2));
    assert!(ran.stderr.contains("--http"), "{}", ran.stderr);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"});
    for words in [["serve", "--page-size", "1"], ["--page-size", "1", "serve"]] {
        let ran = client.run(words, format!("{list}\n"));
        assert!(
            ran.stdout.contains("nextCursor"),
            "{words:?}: {}",
            ran.stdout
        );
    }
    let ran = client.words("serve");
    assert!(
        ran.status.success() && ran.stderr.is_empty(),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_first_line_of_standard_error_says_where_it_listens_before_the_log_and_warnings() {
    let client = Client::new().arguments(["--no-builtin", "--prompts", "nowhere"]);
    let server = HttpServer::start_with(client, &["--log-level", "info"]); // checks the first line
    let lines = [server.stderr_line(), server.stderr_line()].join("\n");
    assert!(
        lines.contains("serving") && lines.contains("nowhere"),
        "{lines}"
    );
}

/// What is broken below MCP. That requests are taken apart rightly is hyper's job.
#[test]
fn a_broken_request_is_refused_and_the_next_one_is_served() {
    let server = server();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for (request, status) in [
        (
            format!("{head}Content-Length: 40\r\nContent-Length: 41\r\n\r\n{PING}").into_bytes(),
            400,
        ),
        (
            format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n").into_bytes(),
            400,
        ),
        (b"nonsense\r\n\r\n".to_vec(), 400),
        (
            [head.as_bytes(), b"Content-Length: 3\r\n\r\n\"\xff\""].concat(),
            400,
        ),
        (
            format!("{head}Content-Length: 33554433\r\n\r\n").into_bytes(),
            413,
        ),
        (
            format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1_000)).into_bytes(),
            431,
        ),
        (
            format!("GET /{} HTTP/1.1\r\n", "x".repeat(70_000)).into_bytes(),
            431,
        ),
    ] {
        let mut connection = server.connect();
        connection.write_raw(&request);
        assert_eq!(
            connection.read().status,
            status,
            "{:.200}",
            String::from_utf8_lossy(&request)
        );
        assert_eq!(server.post(PING).status, 200, "the next client is served");
    }
}

#[test]
fn a_client_that_sends_its_whole_body_before_it_reads_gets_the_refusal() {
    let server = server();
    let mut connection = server.connect();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    connection.write_raw(format!("{head}Content-Length: 40000000\r\n\r\n"));
    for _ in 0..40 {
        connection.write_raw([b' '; 1_000_000]);
    }
    assert_eq!(connection.read().status, 413);
}

#[test]
fn a_refused_request_whose_body_has_not_come_ends_the_connection_and_says_so() {
    let home = home();
    write_secret(home.path("tokens"), "a-token-for-reading");
    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    let token = "Authorization: Bearer a-token-for-reading\r\n";
    let json = format!("{token}Content-Type: application/json\r\n");
    let waits = "Expect: 100-continue\r\n";
    for (start, headers, status) in [
        ("POST /mcp", "Content-Length: 100\r\n", 401),
        ("POST /mcp", "Transfer-Encoding: chunked\r\n", 401),
        (
            "POST /mcp",
            &format!("{token}Content-Type: text/plain\r\nContent-Length: 100\r\n"),
            415,
        ),
        (
            "POST /mcp",
            &format!("{json}Origin: http://evil.example.com\r\nContent-Length: 100\r\n"),
            403,
        ),
        ("POST /nope", "Content-Length: 100\r\n", 404),
        ("PUT /mcp", "Content-Length: 100\r\n", 405),
        (
            "POST /mcp",
            &format!("{json}{waits}Content-Length: 40000000\r\n"),
            413,
        ),
        ("POST /mcp", &format!("{waits}Content-Length: 9\r\n"), 401),
    ] {
        let mut connection = server.connect();
        connection.write_raw(format!(
            "{start} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        ));
        let answer = connection.read();
        assert_eq!(
            (answer.status, answer.header("connection")),
            (status, Some("close")),
            "{start} {headers}"
        );
    }
    // A body that has come is read, so that the next request can follow.
    let mut connection = server.connect();
    for path in ["/nope", "/mcp", "/mcp"] {
        let answer = connection.send("POST", path, &USUAL, PING);
        assert_eq!(answer.header("connection"), None, "{path}");
    }
}

/// Waits for a time limit of the server, in
/// [`a_wait_for_time_limits`](crate::a_wait_for_time_limits).
pub(crate) fn a_slow_or_silent_client_is_disconnected() {
    let server = server();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
    let mut connections: Vec<Connection> =
        ["", "POST /mcp HT", "POST /mcp HTTP/1.1\r\nHost: x\r\n"]
            .iter()
            .map(|sent| {
                let mut connection = server.connect();
                connection.write_raw(sent);
                connection
            })
            .collect();
    let mut half_body = server.connect();
    half_body.write_raw(format!("{head}{{"));
    let answer = half_body.read();
    assert_eq!(
        (answer.status, answer.header("connection")),
        (408, Some("close"))
    );
    for connection in &mut connections {
        assert!(connection.is_closed_within(Duration::from_secs(60)));
    }
}

/// Waits for a time limit of the server, in
/// [`a_wait_for_time_limits`](crate::a_wait_for_time_limits).
pub(crate) fn a_client_that_never_reads_is_disconnected_and_others_are_served() {
    let server = HttpServer::start(Client::new().prompt("long.md", "x".repeat(1_000_000)));
    let call = request(
        1,
        "tools/call",
        json!({"name": "expand_prompt", "arguments": {"command": "long", "input": ""}}),
    );
    let mut connection = server.connect();
    for _ in 0..20 {
        connection.write("POST", "/mcp", &USUAL, &call);
    }
    assert_eq!(server.post(PING).status, 200);
    assert!(connection.fails_to_write_within(Duration::from_secs(90)));
}

#[test]
fn the_first_event_of_a_stream_has_a_data_line_only_where_the_version_says_so() {
    let server = server();
    for (version, first) in [
        ("2025-11-25", "retry: 1000\ndata: \n\n"),
        ("2025-06-18", "retry: 1000\n\n"),
    ] {
        let session = server.initialize(version);
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n"
        );
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        let mut text = String::new();
        while !text.contains("\n\n") {
            let mut piece = [0; 1000];
            let length = std::io::Read::read(&mut stream, &mut piece).unwrap();
            assert_ne!(length, 0, "{text}");
            text += str::from_utf8(&piece[..length]).unwrap();
        }
        let (_, event) = text.split_once("\nid: ").unwrap();
        assert_eq!(
            event.split_once('\n').unwrap().1.trim_end_matches("\r\n"),
            first,
            "{version}"
        );
    }
}
