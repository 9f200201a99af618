//! The other end of HTTP: requests are written as they are, and of a response no more is looked at
//! than where it ends. It shares the processors with the server, so it does little.

use super::prompts::Prompts;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server, which says on standard error where it listens. It has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let process_started = process
            .as_mut()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut stderr = BufReader::new(process_started.stderr.take().expect("its standard error"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let address = line
            .trim_end()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address
            .and_then(|address| address.parse().ok())
            .unwrap_or_else(|| panic!("{command:?}: {line}"));
        // What it still says must go somewhere.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
        Server {
            process: process.expect("it has started"),
            address,
        }
    }

    /// The program on a folder of prompts.
    pub(crate) fn of_prompts(prompts: &Prompts) -> Server {
        let mut command = Command::new(super::program());
        command
            .args([
                "serve",
                "--http",
                "127.0.0.1:0",
                "--no-builtin",
                "--prompts",
            ])
            .arg(prompts.path());
        let state = Path::new(env!("CARGO_TARGET_TMPDIR"));
        command
            .env_clear()
            .envs(std::env::vars().filter(|(name, _)| name.starts_with("TOKIO")))
            .env("HOME", state)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Server::start(&mut command)
    }

    /// The CPU time that it has used, in seconds.
    pub(crate) fn cpu_time(&self) -> f64 {
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", self.process.id())).expect("it runs");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
        let ticks = fields
            .split(' ')
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<f64>().expect("a number"));
        ticks.sum::<f64>() / 100.0
    }

    /// A line of its status in /proc that is an amount of memory, in MB.
    pub(crate) fn memory(&self, line: &str) -> f64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it runs");
        let line = status
            .lines()
            .find_map(|other| other.strip_prefix(line))
            .expect("this line");
        let kib = line.trim_start_matches(':').trim().trim_end_matches(" kB");
        kib.parse::<f64>().expect("a number") * 1024.0 / 1e6
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// A request to call a tool. `session` is the id of a legacy session, if the server has given one.
pub(crate) fn call(era: Era, session: Option<&str>, tool: &str, arguments: &Value) -> Vec<u8> {
    let mut params = json!({"name": tool, "arguments": arguments});
    match era {
        Era::Legacy => {
            let session = session
                .map(|session| format!("Mcp-Session-Id: {session}\r\n"))
                .unwrap_or_default();
            post(
                &format!("MCP-Protocol-Version: 2025-11-25\r\n{session}"),
                "tools/call",
                &params,
            )
        }
        Era::Modern => {
            params["_meta"] = modern();
            let headers = format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            );
            post(&headers, "tools/call", &params)
        }
    }
}

/// The `_meta` of a modern request.
pub(crate) fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "benches", "version": "1"},
    })
}

/// A POST of a request with further headers.
pub(crate) fn post(headers: &str, method: &str, params: &Value) -> Vec<u8> {
    post_message(
        headers,
        &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
    )
}

/// A POST of a message.
pub(crate) fn post_message(headers: &str, message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A connection that is kept.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Connection {
            stream,
            buffer: vec![0; 64 * 1024],
        }
    }

    pub(crate) fn write(&mut self, request: &[u8]) {
        self.stream.write_all(request).expect("the server reads");
    }

    /// Reads a response: its head, and where its body is in what [`Connection::text`] gives.
    pub(crate) fn read(&mut self) -> Range<usize> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let count = self
                .stream
                .read(&mut self.buffer[filled..])
                .expect("a response");
            assert!(
                count > 0,
                "the server has closed the connection: {}",
                self.text(0..filled)
            );
            filled += count;
            if let Some(body) = body(&self.buffer[..filled]) {
                if body.end > self.buffer.len() {
                    self.buffer.resize(body.end, 0);
                }
                self.stream
                    .read_exact(&mut self.buffer[filled..body.end.max(filled)])
                    .expect("the rest");
                return body;
            }
        }
    }

    pub(crate) fn text(&self, range: Range<usize>) -> &str {
        str::from_utf8(&self.buffer[range]).expect("UTF-8")
    }

    /// The body of the response to a request, which must go well.
    pub(crate) fn ask_well(&mut self, request: &[u8]) -> &str {
        self.write(request);
        let body = self.read();
        let answer: Value = serde_json::from_str(self.text(body.clone())).expect("JSON");
        assert!(
            answer["result"].is_object() && answer["result"]["isError"] != true,
            "{}",
            self.text(0..body.end)
        );
        self.text(body)
    }

    /// Opens a legacy session. The server may give it an id.
    pub(crate) fn initialize(&mut self) -> Option<String> {
        let client = json!({"name": "benches", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        self.write(&post("", "initialize", &params));
        let body = self.read();
        let id = header(self.text(0..body.start), "mcp-session-id").map(str::to_owned);
        if let Some(id) = &id {
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            self.write(&post_message(
                &format!("Mcp-Session-Id: {id}\r\n"),
                &initialized,
            ));
            self.read();
        }
        id
    }
}

/// Where the body of a response is, once its head has been read.
pub(crate) fn body(response: &[u8]) -> Option<Range<usize>> {
    let start = memchr::memmem::find(response, b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&response[..start]).expect("UTF-8");
    let length: usize =
        header(head, "content-length").map_or(0, |length| length.parse().expect("a length"));
    Some(start..start + length)
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (other, value) = line.split_once(": ")?;
        other.eq_ignore_ascii_case(name).then_some(value)
    })
}
