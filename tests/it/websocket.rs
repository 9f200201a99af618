//! `/ws`: a conversation in text frames. The client here is a few lines over a socket of the
//! system.

use crate::client::{Client, LEGACY, modern};
use crate::http_client::{HttpServer, write_secret};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// An open WebSocket.
pub(crate) struct WebSocket {
    stream: BufReader<TcpStream>,
    next_id: u64,
}

/// A frame as a client sends it: masked, with a mask of zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// Asks for an upgrade with these additional header lines; the head of the answer, and the
/// connection.
fn ask(address: &str, headers: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(address).unwrap();
    // The key and its answer are those of RFC 6455, section 1.3.
    let head = format!(
        "GET /ws HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut answer = String::new();
    while stream.read_line(&mut answer).unwrap() > 2 {}
    (answer, stream)
}

impl WebSocket {
    pub(crate) fn open(address: &str, headers: &str) -> WebSocket {
        let (head, stream) = ask(address, headers);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(
            head.to_lowercase()
                .contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="),
            "{head}"
        );
        WebSocket { stream, next_id: 1 }
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    fn send(&mut self, opcode: u8, payload: impl AsRef<[u8]>) {
        self.send_bytes(&frame(0x80 | opcode, payload.as_ref()));
    }

    /// The next frame: opcode and payload. A server does not mask, and ours sends whole messages.
    fn try_read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        assert_eq!((head[0] & 0xf0, head[1] & 0x80), (0x80, 0));
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length)?;
                u16::from_be_bytes(length).into()
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length)?;
                u64::from_be_bytes(length)
            }
            length => length.into(),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((head[0] & 0xf, payload))
    }

    /// The next frame that is not a ping.
    fn read(&mut self) -> (u8, Vec<u8>) {
        loop {
            match self.try_read().unwrap() {
                (PING, _) => {}
                frame => return frame,
            }
        }
    }

    /// The next message.
    pub(crate) fn message(&mut self) -> Value {
        let (opcode, payload) = self.read();
        assert_eq!(opcode, TEXT, "{}", String::from_utf8_lossy(&payload));
        serde_json::from_slice(&payload).unwrap()
    }

    pub(crate) fn send_request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(
            TEXT,
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    /// Sends a request, and reads its answer, which is the next message.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn initialize(&mut self) {
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
        let answer = self.request("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        self.send(
            TEXT,
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        );
    }

    pub(crate) fn expand(&mut self, command: &str, input: &str) -> String {
        let params =
            json!({"name": "expand_prompt", "arguments": {"command": command, "input": input}});
        let answer = self.request("tools/call", params);
        answer["result"]["structuredContent"]["prompt"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    /// Reads until the server closes; the code of its close frame, and its reason. `None` if there
    /// was no such frame.
    fn closed(mut self) -> Option<(u16, String)> {
        let mut said = None;
        while let Ok((opcode, payload)) = self.try_read() {
            if opcode == CLOSE {
                let (code, reason) = payload.split_at(2);
                said = Some((
                    u16::from_be_bytes([code[0], code[1]]),
                    String::from_utf8(reason.to_vec()).unwrap(),
                ));
            }
        }
        said
    }
}

fn server() -> HttpServer {
    HttpServer::start(
        Client::new().prompt("review.md", "---\ndescription: Review\n---\nReview this."),
    )
}

fn open(server: &HttpServer) -> WebSocket {
    WebSocket::open(&server.address.to_string(), "")
}

#[test]
fn it_has_all_abilities_of_stdio() {
    let server = server();
    let mut socket = open(&server);
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
    let answer = socket.request("initialize", params);
    assert_eq!(
        answer["result"]["capabilities"]["resources"],
        json!({"subscribe": true, "listChanged": true})
    );
    socket.send(
        TEXT,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
    );
    assert_eq!(socket.expand("review", "x"), "Review this.\n\nx");
    assert_eq!(
        socket.request("prompts/list", json!({}))["result"]["prompts"][0]["name"],
        "review"
    );
    assert_eq!(
        socket.request("no/method", json!({}))["error"]["code"],
        -32601
    );
    assert_eq!(
        socket.request("server/discover", modern(json!({})))["result"]["resultType"],
        "complete"
    );
    // `initialized` has been handled before the first answer: from now on, the lists are watched.
    socket.request("resources/subscribe", json!({"uri": "prompt://review"}));
    socket.request("resources/list", json!({}));
    server
        .home
        .save("review.md", "---\ndescription: Review\n---\nReview that.");
    // Lists that it was not shown may be announced, too.
    let mut methods = std::collections::BTreeSet::new();
    let updated = loop {
        let message = socket.message();
        if !methods.insert(message["method"].to_string())
            || methods.contains("\"notifications/resources/updated\"")
        {
            break message;
        }
    };
    assert_eq!(
        (&updated["method"], &updated["params"]["uri"]),
        (
            &json!("notifications/resources/updated"),
            &json!("prompt://review")
        )
    );
    assert!(
        methods.contains("\"notifications/resources/list_changed\""),
        "{methods:?}"
    );
    assert_eq!(socket.expand("review", "x"), "Review that.\n\nx");
}

#[test]
fn a_listen_is_acknowledged_before_its_first_notification_and_ends_when_it_is_cancelled() {
    let server = server();
    let mut socket = open(&server);
    let id = socket.send_request(
        "subscriptions/listen",
        modern(json!({"notifications": {"promptsListChanged": true}})),
    );
    let acknowledged = socket.message();
    assert_eq!(
        acknowledged["method"], "notifications/subscriptions/acknowledged",
        "{acknowledged}"
    );
    server.home.save("new.md", "New.");
    let changed = socket.message();
    assert_eq!(changed["method"], "notifications/prompts/list_changed");
    assert_eq!(
        changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    socket.send(TEXT, cancel.to_string());
    server.home.save("newer.md", "Newer.");
    // Another listener is told of the change; this one gets nothing before the answer to its next
    // request.
    let mut other = open(&server);
    other.send_request(
        "subscriptions/listen",
        modern(json!({"notifications": {"promptsListChanged": true}})),
    );
    other.message();
    server.home.save("newest.md", "Newest.");
    other.message();
    assert_eq!(socket.expand("newest", ""), "Newest.");
}

#[test]
fn the_order_of_answers_is_that_of_the_requests() {
    let server = server();
    let mut socket = open(&server);
    socket.initialize();
    let ids: Vec<u64> = (0..40)
        .map(|number| {
            let method = ["prompts/list", "ping", "tools/list", "resources/list"][number % 4];
            socket.send_request(method, json!({}))
        })
        .collect();
    let answered: Vec<u64> = ids
        .iter()
        .map(|_| socket.message()["id"].as_u64().unwrap())
        .collect();
    assert_eq!(answered, ids);
}

#[test]
fn the_subprotocol_mcp_is_taken_if_it_is_offered() {
    let server = server();
    for (offered, taken) in [
        ("Sec-WebSocket-Protocol: mcp\r\n", true),
        (
            "Sec-WebSocket-Protocol: chat, mcp\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
            true,
        ),
        ("Sec-WebSocket-Protocol: chat\r\n", false),
        ("", false),
    ] {
        let (head, _) = ask(&server.address.to_string(), offered);
        let head = head.to_lowercase();
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert_eq!(
            head.contains("\r\nsec-websocket-protocol: mcp\r\n"),
            taken,
            "{offered}"
        );
        assert!(!head.contains("sec-websocket-extensions"), "{head}");
    }
}

#[test]
fn what_is_not_an_upgrade_is_refused() {
    let server = server();
    for (method, headers) in [
        ("GET", &[][..]),
        (
            "POST",
            &[("Connection", "Upgrade"), ("Upgrade", "websocket")],
        ),
        ("GET", &[("Connection", "Upgrade"), ("Upgrade", "h2c")]),
        (
            "GET",
            &[
                ("Connection", "Upgrade"),
                ("Upgrade", "websocket"),
                ("Sec-WebSocket-Version", "12"),
            ],
        ),
    ] {
        let answer = server.send(method, "/ws", headers, "");
        assert!(
            (400..500).contains(&answer.status),
            "{method} {headers:?}: {}",
            answer.status
        );
    }
}

#[test]
fn a_ping_is_answered_also_between_fragments_and_broken_text_with_an_error() {
    let server = server();
    let mut socket = open(&server);
    socket.send_bytes(&frame(TEXT, br#"{"jsonrpc":"2.0","id":"#));
    socket.send(PING, "still there?");
    socket.send_bytes(&frame(0x80, br#"7,"method":"ping"}"#));
    socket.send(TEXT, "{oops");
    assert_eq!(socket.read(), (PONG, b"still there?".to_vec()));
    assert_eq!(
        socket.message(),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}})
    );
    assert_eq!(socket.message()["error"]["code"], -32700);
    assert_eq!(socket.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn frames_that_are_no_text_or_too_long_end_the_conversation_with_a_code_that_says_why() {
    let server = HttpServer::start_with(Client::new(), &["--max-body", "1000"]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (what, bytes, code, reason) in [
        ("binary", frame(0x80 | BINARY, b"{}"), 1003, "text frames"),
        (
            "not UTF-8",
            frame(0x80 | TEXT, b"\"\xff\""),
            1007,
            "the text is not UTF-8",
        ),
        (
            "not UTF-8 in the second fragment",
            [frame(TEXT, b"\"\xc3"), frame(0x80, b"\"")].concat(),
            1007,
            "the text is not UTF-8",
        ),
        (
            "too long",
            frame(0x80 | TEXT, format!("{ping:1001}").as_bytes()),
            1009,
            "the message is longer than 1,000 bytes",
        ),
        (
            "fragments that are too long together",
            [frame(TEXT, &[b' '; 600]), frame(0x80, &[b' '; 600])].concat(),
            1009,
            "the message is longer than 1,000 bytes",
        ),
        (
            "not masked",
            vec![0x80 | TEXT, 2, b'{', b'}'],
            1002,
            "the connection breaks the rules of WebSockets (RFC 6455)",
        ),
    ] {
        let mut socket = open(&server);
        socket.send(TEXT, format!("{ping:1000}"));
        assert_eq!(
            socket.message()["result"],
            json!({}),
            "as long as it may be"
        );
        socket.send_bytes(&bytes);
        let (closed_code, closed_reason) = socket.closed().unwrap();
        assert_eq!(closed_code, code, "{what}: {closed_reason}");
        assert!(closed_reason.contains(reason), "{what}: {closed_reason}");
    }
    open(&server).initialize();
}

#[test]
fn a_client_that_sends_pings_and_reads_no_answer_takes_no_memory() {
    let server = server();
    let mut deaf = open(&server);
    // The server reads no further while its answers are not read, so that the client has to wait.
    let stream = deaf.stream.get_mut();
    stream
        .set_write_timeout(Some(std::time::Duration::from_secs(1)))
        .unwrap();
    let pings = frame(0x80 | PING, &[0; 125]).repeat(1_000);
    let written = (0..1_000).try_for_each(|_| stream.write_all(&pings));
    assert!(written.is_err(), "131 MB were read");
    open(&server).initialize();
}

#[test]
fn a_close_is_answered_and_a_broken_connection_is_forgotten() {
    let server = server();
    let mut socket = open(&server);
    socket.send(CLOSE, 1000_u16.to_be_bytes());
    assert_eq!(socket.closed().unwrap().0, 1000);
    let mut socket = open(&server);
    socket.initialize();
    socket.send_bytes(&[0x80 | TEXT, 0x80 | 100, 0, 0]);
    drop(socket);
    open(&server).initialize();
}

#[test]
fn when_the_server_stops_it_says_so_and_answers_what_it_has_received() {
    let mut server = server();
    let mut socket = open(&server);
    socket.initialize();
    socket.request("ping", json!({}));
    server.terminate();
    assert_eq!(
        socket.closed().unwrap(),
        (1001, "the server was stopped".to_owned())
    );
    assert!(server.wait().success());
}

/// Waits for a time limit of the server, in
/// [`a_wait_for_time_limits`](crate::a_wait_for_time_limits).
pub(crate) fn a_client_that_does_not_read_is_closed_and_the_others_are_served() {
    let long = "x".repeat(4 * 1024 * 1024);
    let server = HttpServer::start(Client::new().prompt("long.md", long));
    let mut deaf = open(&server);
    let params = json!({"name": "expand_prompt", "arguments": {"command": "long", "input": ""}});
    for _ in 0..8 {
        deaf.send_request("tools/call", params.clone());
    }
    let mut other = open(&server);
    other.initialize();
    assert!(other.expand("long", "").len() > 4_000_000);
    // The server gives up after half a minute: then the rest is missing.
    let opened = |server: &HttpServer| {
        let metrics = server.send("GET", "/metrics", &[], "").text();
        metrics
            .lines()
            .find_map(|line| line.strip_prefix("prompt_expander_websockets "))
            .unwrap()
            .to_owned()
    };
    assert_eq!(opened(&server), "2");
    while opened(&server) != "1" {
        other.request("ping", json!({}));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// A server with these tokens.
fn server_with_tokens(tokens: &str) -> HttpServer {
    let home = Client::new()
        .prompt("team-a/review.md", "Review this.")
        .prompt("team-b/secret.md", "Secret.");
    write_secret(home.path("tokens"), tokens);
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

/// A token that is long enough.
const TOKEN: &str = "a-token-of-forty-characters-for-this-test";

#[test]
fn with_tokens_an_upgrade_needs_one_and_the_conversation_sees_what_it_allows() {
    let server = server_with_tokens(&format!("{TOKEN} name=ana prefix=team-a/"));
    let address = server.address.to_string();
    for headers in ["", "Authorization: Bearer wrong\r\n"] {
        let (head, _) = ask(&address, headers);
        assert!(
            head.starts_with("HTTP/1.1 401 ")
                && head
                    .to_lowercase()
                    .contains("\r\nwww-authenticate: bearer "),
            "{head}"
        );
    }
    let mut socket = WebSocket::open(&address, &format!("Authorization: Bearer {TOKEN}\r\n"));
    socket.initialize();
    assert_eq!(socket.expand("team-a/review", ""), "Review this.");
    let list = socket.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    assert_eq!(
        socket.request("prompts/get", json!({"name": "team-b/secret"}))["error"]["code"],
        -32602
    );
    // Without its token, the conversation ends with the next message at the latest.
    server
        .home
        .put("tokens", "another-token-of-forty-characters-for-it\n");
    let closed = loop {
        socket.send_request("ping", json!({}));
        match socket.try_read().unwrap() {
            (CLOSE, payload) => break payload,
            _ => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    };
    assert_eq!(closed[..2], 1008_u16.to_be_bytes());
    assert_eq!(&closed[2..], b"the bearer token is no longer valid");
}

#[test]
fn pages_of_other_sites_cannot_open_one() {
    let server = server();
    let address = server.address.to_string();
    for headers in ["Origin: https://evil.example\r\n", "Origin: null\r\n"] {
        let (head, _) = ask(&address, headers);
        assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    }
    let (head, _) = ask(&address, "Origin: http://localhost:8080\r\n");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
}

#[test]
fn messages_over_a_rate_limit_are_refused_and_the_conversation_goes_on() {
    let home = Client::new().prompt("review.md", "Review this.");
    let server = HttpServer::start_with(home, &["--rate-limit", "prompts/list=1/minute,burst=2"]);
    let mut socket = open(&server);
    let codes = [0; 3].map(|_| socket.request("prompts/list", json!({}))["error"]["code"].clone());
    assert_eq!(codes, [json!(null), json!(null), json!(429)]);
    assert_eq!(socket.request("ping", json!({}))["result"], json!({}));
}

/// Waits for a time limit of the server, in
/// [`a_wait_for_time_limits`](crate::a_wait_for_time_limits).
pub(crate) fn a_client_that_does_not_finish_a_message_is_closed() {
    let server = server();
    let mut socket = open(&server);
    socket.send_bytes(&frame(TEXT, b"{"));
    let mut pings = 0;
    let closed = loop {
        match socket.try_read().unwrap() {
            (PING, _) => {
                pings += 1;
                // The second ping may come with the end.
                if pings == 1 {
                    socket.send(PONG, "");
                    socket.send_bytes(&frame(0, b" "));
                }
            }
            (CLOSE, payload) => break payload,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(&closed[2..], b"a message is not complete after 30 seconds");
}

/// Waits for a time limit of the server, in
/// [`a_wait_for_time_limits`](crate::a_wait_for_time_limits).
pub(crate) fn an_idle_client_is_pinged_and_closed_if_it_does_not_answer() {
    let server = server();
    let mut silent = open(&server);
    let mut alive = open(&server);
    // The server gives up after three quarters of a minute; until then, it pings both.
    for _ in 0..2 {
        assert_eq!(silent.try_read().unwrap(), (PING, Vec::new()));
        assert_eq!(alive.try_read().unwrap(), (PING, Vec::new()));
        alive.send(PONG, "");
    }
    assert_eq!(
        silent.closed().unwrap(),
        (1008, "the client does not answer pings".to_owned())
    );
    assert_eq!(alive.try_read().unwrap(), (PING, Vec::new()));
    alive.initialize();
}
