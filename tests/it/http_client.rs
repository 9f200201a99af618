//! The harness of `serve --http`: the real program at a free port of loopback, and a client on raw
//! sockets.
//!
//! [`HttpServer::start`] starts it on the prompts directory of a [`Client`]. When it is dropped, it
//! is sent SIGTERM, and the test fails unless it exits with status 0. Each request of
//! [`HttpServer::send`] has a connection of its own; a [`Connection`] sends several.
//! [`HttpServer::stream`] opens a stream of events.
//!
//! ```ignore
//! let server = HttpServer::start(Client::new().prompt("review.md", "Review this."));
//! let answer = server.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
//! assert_eq!((answer.status, answer.json()["result"].clone()), (200, json!({})));
//! ```

use crate::client::{Client, set_mode};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A server that does not answer for this long hangs; even a slow machine needs less.
const HANG: Duration = Duration::from_secs(120);

/// The headers that all clients send with a POST.
pub(crate) const USUAL: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

/// A running `serve --http`.
pub(crate) struct HttpServer {
    /// Its prompts directory.
    pub(crate) home: Client,
    endpoint: Endpoint,
    child: Option<Child>,
    /// What it says of its page.
    pub(crate) page: String,
    stderr: Receiver<String>,
}

impl HttpServer {
    /// Starts it with the library of this client.
    pub(crate) fn start(home: Client) -> HttpServer {
        HttpServer::start_with(home, &[])
    }

    /// The same with further arguments of `serve`.
    pub(crate) fn start_with(home: Client, arguments: &[&str]) -> HttpServer {
        let mut command = home.command();
        command
            .args(["serve", "--http", "127.0.0.1:0"])
            .args(home.library_arguments())
            .args(arguments);
        command.env_remove("XDG_STATE_HOME");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, stderr) = channel();
        let output = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            BufReader::new(output)
                .lines()
                .map_while(Result::ok)
                .for_each(|line| _ = sender.send(line));
        });
        let first: String = stderr
            .recv_timeout(HANG)
            .expect("the first line on standard error");
        let scheme = if arguments.contains(&"--tls-cert") {
            "https"
        } else {
            "http"
        };
        let address = first
            .strip_prefix(&format!("listening on {scheme}://"))
            .and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address
            .unwrap_or_else(|| panic!("{first}"))
            .parse()
            .unwrap();
        let page = stderr
            .recv_timeout(HANG)
            .expect("the second line on standard error");
        HttpServer {
            home,
            endpoint: Endpoint { address },
            child: Some(child),
            page,
            stderr,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// The next line on standard error.
    pub(crate) fn stderr_line(&self) -> String {
        self.stderr
            .recv_timeout(HANG)
            .expect("a line on standard error")
    }

    /// The token that it has made for edits.
    pub(crate) fn edit_token(&self) -> String {
        let line = self.home.text(".local/state/prompt-expander/edit-token");
        line.split(' ').next().unwrap().to_owned()
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(self.id().cast_signed()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits until it has exited.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.take().unwrap().wait().unwrap()
    }

    /// Stops it; gives its prompts directory, for the next server.
    pub(crate) fn stop(mut self) -> Client {
        self.terminate();
        assert!(self.wait().success());
        std::mem::replace(&mut self.home, Client::new())
    }
}

/// How to reach it, also from other threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
}

impl std::ops::Deref for HttpServer {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Endpoint {
    pub(crate) fn connect(&self) -> Connection {
        Connection::to(self.address)
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Answer {
        self.connect().send(method, path, headers, body)
    }

    /// Posts a message with the usual headers.
    pub(crate) fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", "/mcp", &USUAL, body)
    }

    /// The same with further headers.
    pub(crate) fn post_with(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", "/mcp", &[&USUAL, headers].concat(), body)
    }

    /// Opens a legacy session; gives its id.
    pub(crate) fn initialize(&self, version: &str) -> String {
        self.initialize_with(version, &[])
    }

    /// The same with further headers.
    pub(crate) fn initialize_with(&self, version: &str, headers: &[(&str, &str)]) -> String {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
        let answer = self.post_with(headers, request(1, "initialize", params));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
            .header("mcp-session-id")
            .expect("a session id")
            .to_owned()
    }

    /// Sends `notifications/initialized` in a session.
    pub(crate) fn initialized(&self, session: &str) {
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = self.post_with(&[("Mcp-Session-Id", session)], body);
        assert_eq!((answer.status, answer.body.len()), (202, 0));
    }

    /// Opens the GET stream of a session, whose first event it reads.
    pub(crate) fn stream(&self, session: &str) -> Events {
        self.stream_with(session, &[])
    }

    /// The same with further headers.
    pub(crate) fn stream_with(&self, session: &str, headers: &[(&str, &str)]) -> Events {
        let headers = [
            &[("Mcp-Session-Id", session), ("Accept", "text/event-stream")][..],
            headers,
        ]
        .concat();
        let mut connection = self.connect();
        connection.write("GET", "/mcp", &headers, "");
        let mut events = connection.into_events();
        assert_eq!(events.head.status, 200);
        let first = events.next().expect("the first event");
        assert!(!first.id.is_empty() && first.data.is_empty(), "{first:?}");
        events.last_id = first.id;
        events
    }

    /// Opens a `subscriptions/listen`, whose acknowledgement is the first event.
    pub(crate) fn listen(&self, id: &str, notifications: Value) -> Events {
        let params = json!({"notifications": notifications});
        let mut connection = self.connect();
        connection.write_modern(id, "subscriptions/listen", params, &[]);
        connection.into_events()
    }

    /// Sends a modern request with the headers that it must have.
    pub(crate) fn modern(&self, method: &str, params: Value) -> Answer {
        let mut connection = self.connect();
        connection.write_modern("1", method, params, &[]);
        connection.read()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.terminate();
            let status = self.wait();
            if !std::thread::panicking() {
                assert!(status.success(), "{status}");
            }
        }
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn write_secret(path: impl AsRef<std::path::Path>, text: &str) {
    std::fs::write(&path, text).unwrap();
    set_mode(path, 0o600);
}

/// The text of a request.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

/// A connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.set_write_timeout(Some(HANG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection {
            stream: BufReader::new(stream),
        }
    }

    /// Writes bytes as they are.
    pub(crate) fn write_raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Writes a request with a body, unless that is empty.
    pub(crate) fn write(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) {
        let body = body.as_ref();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head += "Host: localhost\r\n";
        }
        headers
            .iter()
            .for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        self.write_raw([format!("{head}\r\n").as_bytes(), body].concat());
    }

    /// Writes a modern request with the headers that it must have, and further ones.
    pub(crate) fn write_modern(
        &mut self,
        id: &str,
        method: &str,
        params: Value,
        headers: &[(&str, &str)],
    ) {
        let params = crate::client::modern(params);
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        let mut all = [
            &USUAL[..],
            &[
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", method),
            ],
        ]
        .concat();
        all.extend(name.map(|name| ("Mcp-Name", name)));
        all.extend(headers);
        self.write("POST", "/mcp", &all, request(id, method, params.clone()));
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Answer {
        self.write(method, path, headers, body);
        self.read()
    }

    /// Reads an answer.
    pub(crate) fn read(&mut self) -> Answer {
        let mut answer = self.read_head();
        if let Some(length) = answer.header("content-length") {
            answer.body.resize(length.parse().unwrap(), 0);
            self.stream.read_exact(&mut answer.body).unwrap();
        } else if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.read_chunk() {
                answer.body.extend(chunk);
            }
        }
        answer
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(
            line.ends_with("\r\n"),
            "the end of the connection after {line:?}"
        );
        line.truncate(line.len() - 2);
        line
    }

    /// Reads the head of an answer, which is all of it after a HEAD.
    pub(crate) fn read_head(&mut self) -> Answer {
        let first = self.read_line();
        let status = first
            .split(' ')
            .nth(1)
            .unwrap_or_else(|| panic!("{first}"))
            .parse()
            .unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.read_line();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Answer {
            status,
            headers,
            body: Vec::new(),
        }
    }

    /// A chunk of a body; `None` at its end.
    fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.read_line(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// Whether the server has closed the connection, without an answer, before this long has
    /// passed.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        let read = self.stream.read(&mut [0; 1]);
        matches!(read, Ok(0)) || read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    }

    /// Whether the server closes the connection before this long has passed, although nothing of
    /// what it has sent was read.
    pub(crate) fn fails_to_write_within(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let stream = self.stream.get_mut();
        stream.set_nonblocking(true).unwrap();
        loop {
            match stream.write(b"\r\n") {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return true,
                _ if Instant::now() > end => return false,
                _ => std::thread::sleep(Duration::from_millis(100)), // no event says that the other side is gone
            }
        }
    }

    /// Reads the head of a stream of events.
    pub(crate) fn into_events(mut self) -> Events {
        let head = self.read_head();
        assert_eq!(
            head.header("content-type"),
            Some("text/event-stream"),
            "{}",
            head.status
        );
        Events {
            connection: self,
            head,
            text: String::new(),
            last_id: String::new(),
        }
    }
}

/// What the server has answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names are lowercase.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The code of its error, 0 if it is none.
    #[track_caller]
    pub(crate) fn error(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) data: String,
}

/// An open stream of events.
pub(crate) struct Events {
    connection: Connection,
    pub(crate) head: Answer,
    text: String,
    /// The id of the last event that had one.
    pub(crate) last_id: String,
}

impl Events {
    /// Waits for the next event; `None` at the end of the stream. Comments before it are skipped:
    /// the server sends some each second.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                if event == ":" {
                    self.text = rest.to_owned();
                    continue;
                }
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .unwrap_or_default()
                };
                let event = Event {
                    id: field("id: ").to_owned(),
                    data: field("data: ").to_owned(),
                };
                self.text = rest.to_owned();
                if !event.id.is_empty() {
                    self.last_id.clone_from(&event.id);
                }
                return Some(event);
            }
            let chunk = self.connection.read_chunk()?;
            self.text += str::from_utf8(&chunk).unwrap();
        }
    }

    /// Waits for the next message. Events without one are skipped.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        loop {
            let event = self.next().expect("an event");
            if !event.data.is_empty() {
                return serde_json::from_str(&event.data).unwrap();
            }
        }
    }

    /// Waits for this many messages; gives their methods without `notifications/`, sorted.
    #[track_caller]
    pub(crate) fn methods(&mut self, count: usize) -> Vec<String> {
        let method = |message: Value| {
            message["method"]
                .as_str()
                .unwrap()
                .trim_start_matches("notifications/")
                .to_owned()
        };
        let mut methods: Vec<String> = (0..count).map(|_| method(self.message())).collect();
        methods.sort();
        methods
    }
}
