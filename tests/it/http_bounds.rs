//! What clients over HTTP can take of the server: memory, connections and threads.

use crate::client::{AUDIT, Client};
use crate::http_client::{Answer, Connection, HttpServer, USUAL, request};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The head of an upload of 4 MiB.
const UPLOAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4194304\r\n\r\n";

/// Less than any time limit of the server for a connection.
const SOON: Duration = Duration::from_secs(20);

/// How many connections of an address may have an incomplete request.
const MAX_HALF_REQUESTS: usize = 256;

/// Held by a test that fills the memory of its server. Several at once would take gigabytes, and so
/// long that time limits end what is to stay.
static MEMORY: Mutex<()> = Mutex::new(());

fn fill_memory_alone() -> MutexGuard<'static, ()> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server with a prompt of 4 MB, whose text is in the result of a tool twice.
fn server() -> HttpServer {
    HttpServer::start(Client::new().prompt("long.md", "x".repeat(4_000_000)))
}

fn expand_long() -> String {
    let arguments = json!({"command": "long", "input": ""});
    let call = json!({"name": "expand_prompt", "arguments": arguments});
    request(1, "tools/call", call)
}

/// Asks for 8 MB until the status is this one. A refusal takes a millisecond, so the tries are not
/// counted.
#[track_caller]
fn await_status(server: &HttpServer, status: u16) -> Answer {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = server.post(expand_long());
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < end, "the status is never {status}");
    }
}

/// Checks that the connections fill the memory for bodies and answers, and free it when they end.
#[track_caller]
fn fills_the_memory<C>(server: &HttpServer, connections: C) {
    let refusal = await_status(server, 503);
    assert_eq!(refusal.header("retry-after"), Some("1"));
    assert_eq!(server.send("GET", "/health", &[], "").status, 200);
    drop(connections);
    await_status(server, 200);
}

#[test]
fn bodies_that_never_end_count_as_far_as_they_have_come() {
    let _alone = fill_memory_alone();
    let server = server();
    let announced: Vec<Connection> = (0..200)
        .map(|_| {
            let mut connection = server.connect();
            connection.write_raw(UPLOAD);
            connection
        })
        .collect();
    assert_eq!(server.post(PING).status, 200, "what is announced is free");
    drop(announced);
    let unread = leave_40_mb(&server);
    let sent = [UPLOAD.as_bytes(), &[b' '; 3_900_000]].concat();
    let mut uploads = Vec::new();
    // How many are needed is not certain: uploads that are refused at the same time free what they
    // had taken.
    while server.post(expand_long()).status == 200 {
        assert!(uploads.len() < 60, "uploads do not fill the memory");
        let mut upload = TcpStream::connect(server.address).unwrap();
        _ = upload.write_all(&sent);
        uploads.push(upload);
    }
    fills_the_memory(&server, (unread, uploads));
}

/// Fills all of the memory but 40 MB with answers that nobody reads, which takes less time than
/// sending as much.
#[track_caller]
fn leave_40_mb(server: &HttpServer) -> Vec<Connection> {
    let mut unread = Vec::new();
    for _ in 0..62 {
        let mut connection = server.connect();
        connection.write("POST", "/mcp", &USUAL, expand_long());
        unread.push(connection);
    }
    for connection in &mut unread {
        assert_eq!(connection.read_head().status, 200);
    }
    assert_eq!(server.post(expand_long()).status, 200);
    unread
}

#[test]
fn answers_that_nobody_reads_count_until_they_are_dropped() {
    let _alone = fill_memory_alone();
    let server = server();
    let mut unread = Vec::new();
    for _ in 0..80 {
        let mut connection = server.connect();
        connection.write("POST", "/mcp", &USUAL, expand_long());
        unread.push(connection);
    }
    fills_the_memory(&server, unread);
}

#[test]
fn a_message_counts_with_the_memory_that_its_values_take() {
    let _alone = fill_memory_alone();
    let server = server();
    let mut unread = Vec::new();
    for _ in 0..70 {
        let mut connection = server.connect();
        connection.write("POST", "/mcp", &USUAL, expand_long());
        unread.push(connection);
    }
    let heads = unread.iter_mut().map(|connection| connection.read_head());
    let filled = heads.filter(|head| head.status == 503).count();
    assert!(filled > 0, "less than 8 MB is free");
    // A quarter of a megabyte, whose values take 17 MB.
    let values = json!({"values": vec![json!({"": 0}); 33_000]});
    let statuses = [request(1, "ping", values).as_str(), PING].map(|body| server.post(body).status);
    assert_eq!(statuses, [503, 200]);
    drop(unread);
}

#[test]
fn messages_of_websockets_that_never_end_count_as_far_as_they_have_come() {
    let _alone = fill_memory_alone();
    let server = server();
    let headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    // A text frame of 1 MiB that is masked with zeros, without its last byte.
    let mut message = b"\x81\xff\0\0\0\0\0\x10\0\0\0\0\0\0".to_vec();
    message.resize(message.len() + 1024 * 1024 - 1, b' ');
    let unread = leave_40_mb(&server);
    let mut sockets = Vec::new();
    // Each byte counts twice, for the buffers of a message that grow.
    for _ in 0..18 {
        let mut connection = server.connect();
        connection.write("GET", "/ws", &headers, "");
        assert_eq!(connection.read_head().status, 101);
        connection.write_raw(&message);
        sockets.push(connection);
    }
    fills_the_memory(&server, (unread, sockets));
}

/// Opens connections, each of which sends this.
fn connections(server: &HttpServer, count: usize, sent: &str) -> Vec<Connection> {
    let connect = |_| {
        let mut connection = server.connect();
        connection.write_raw(sent);
        connection
    };
    (0..count).map(connect).collect()
}

/// Waits until the server has closed as many of the connections as are too many. Those are the
/// oldest, but the server may see connections of one moment in another order.
#[track_caller]
fn await_closed(connections: &mut [Connection]) {
    let too_many = connections.len() - MAX_HALF_REQUESTS;
    let end = Instant::now() + SOON;
    loop {
        let mut closed = 0;
        for connection in &mut *connections {
            closed += usize::from(connection.is_closed_within(Duration::from_millis(1)));
        }
        if closed >= too_many {
            return;
        }
        assert!(Instant::now() < end, "{closed} of {too_many} are closed");
    }
}

#[test]
fn of_too_many_half_requests_of_an_address_the_oldest_are_closed() {
    // At once, because each waits until the oldest is old enough.
    thread::scope(|scope| {
        for half_request in ["", "POST /mcp HTTP/1.1\r\nHost: x\r\n", UPLOAD] {
            scope.spawn(move || {
                let server = HttpServer::start(Client::new());
                let mut half = connections(&server, MAX_HALF_REQUESTS + 10, half_request);
                await_closed(&mut half);
                let newest = half.last_mut().unwrap();
                assert!(!newest.is_closed_within(Duration::from_millis(1)));
                assert_eq!(server.send("GET", "/health", &[], "").status, 200);
                assert_eq!(server.post(PING).status, 200);
            });
        }
        scope.spawn(|| {
            let server = HttpServer::start(Client::new());
            let mut kept_alive = connections(&server, MAX_HALF_REQUESTS + 10, "");
            for connection in &mut kept_alive {
                assert_eq!(connection.send("GET", "/health", &[], "").status, 200);
            }
            for connection in &mut kept_alive {
                connection.write_raw("POST /mcp HT");
            }
            await_closed(&mut kept_alive);
        });
    });
}

#[test]
fn many_clients_of_an_address_may_connect_at_once() {
    let server = HttpServer::start(Client::new());
    let mut clients = connections(&server, 400, "");
    for client in &mut clients {
        client.write("GET", "/health", &[], "");
    }
    for client in &mut clients {
        assert_eq!(client.read().status, 200);
    }
}

#[test]
fn connections_whose_request_is_complete_do_not_count_as_half_requests() {
    let server = HttpServer::start(Client::new().prompt("audit.md", AUDIT));
    let mut listeners: Vec<_> = (0..400)
        .map(|id| {
            let filter = json!({"promptsListChanged": true});
            let mut events = server.listen(&format!("l{id}"), filter);
            events.message();
            events
        })
        .collect();
    let mut idle = server.connect();
    assert_eq!(idle.send("GET", "/health", &[], "").status, 200);
    await_closed(&mut connections(&server, 300, ""));
    server.home.write("new.md", "New");
    for events in &mut listeners {
        let method = &events.message()["method"];
        assert_eq!(method, "notifications/prompts/list_changed");
    }
    assert_eq!(idle.send("GET", "/health", &[], "").status, 200);
}

#[test]
fn behind_a_proxy_the_half_requests_of_each_client_count() {
    let server = HttpServer::start_with(Client::new(), &["--trusted-proxy", "127.0.0.1"]);
    let of_client =
        |address: &str| UPLOAD.replacen("\r\n", &format!("\r\nX-Forwarded-For: {address}\r\n"), 1);
    let mut idle = connections(&server, 300, "").swap_remove(0);
    let mut one = connections(&server, 1, &of_client("192.0.2.1")).swap_remove(0);
    let mut many = connections(&server, MAX_HALF_REQUESTS + 10, &of_client("192.0.2.2"));
    await_closed(&mut many);
    for connection in [&mut idle, &mut one] {
        assert!(!connection.is_closed_within(Duration::from_millis(1)));
    }
}

#[test]
fn a_call_with_very_many_lines_that_may_be_commands_is_explained_at_once() {
    let home = Client::new().prompt("plan.md", "Plan {{input}}");
    for number in 0..20_000 {
        home.write(&format!("{}/p{number}.md", number % 100), "text");
    }
    let server = HttpServer::start(home);
    let explain = |lines: &str| {
        let body = json!({"command": "plan", "input": lines});
        let answer = server.send("POST", "/api/explain", &USUAL, body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["typed"].is_string()
    };
    let lines: String = (0..2_000).map(|line| format!("b\n:z{line} a")).collect();
    assert!(explain(&lines));
    assert!(!explain("a\n:plan b"), "the second line is a command");
}
