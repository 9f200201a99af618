//! A conversation with a server as an agent would have it: start it, initialize, list the prompts, expand each of them, end it.
//!
//! A registered server may be any program. It may hang, print endlessly, print something that is not a message, or not
//! exit. So each answer may take [`Start::timeout`] at most, and the conversation [`MAX_TIMEOUTS`] times that; then the
//! program is killed, with all that it started.

use super::EXAMINED_VARIABLE;
use super::process::{self, Output, how};
use crate::agents::{Environment, Launch, Opening};
use crate::library::Layer;
use crate::wording::{printable, quoted};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The longest line that is read, in bytes: above that of the longest expansion, which is in it twice.
const MAX_LINE: u64 = 160 * 1024 * 1024;

/// How long a conversation may take in all, in timeouts for one answer.
const MAX_TIMEOUTS: u32 = 6;

/// How many bytes of a line that is not a message are shown.
const MAX_SHOWN: usize = 1_000;

/// After this many lines that are not messages, nothing more is read.
const MAX_SKIPPED_LINES: usize = 1_000;

/// The value of each argument of a prompt.
const VALUE: &str = "x";

/// What the tool adds to an error for a model.
const FOR_A_MODEL: &str = " Tell the user";

/// A server as an agent would start it, all variables replaced.
pub(super) struct Start {
    /// The command as it is written.
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    /// All of its environment.
    pub(super) environment: Environment,
    /// The directory in which it works.
    pub(super) folder: PathBuf,
    /// The file of the command.
    pub(super) program: PathBuf,
    /// How the agent opens and ends a conversation.
    pub(super) launch: &'static Launch,
    /// How long an answer may take.
    pub(super) timeout: Duration,
}

/// The values of a prompt's arguments, by name.
type Values = Map<String, Value>;

/// What a server answered.
#[derive(Debug, Default)]
pub(super) struct ServerReport {
    /// From the start to the first answer.
    pub(super) answered_in: Duration,
    pub(super) name: String,
    pub(super) version: String,
    /// How many prompts it lists.
    pub(super) prompts: usize,
    /// The files that it cannot read as prompts, each as `file: message`.
    pub(super) problems: Vec<String>,
    /// The name of its first prompt that can be typed and is expanded.
    pub(super) first: Option<String>,
    /// The prompt with the longest expansion, if each of its arguments is [`VALUE`]: its name, and `{"prompt":"…"}`.
    pub(super) longest: Option<(String, String)>,
    /// The first prompt that it lists but does not expand, and why.
    pub(super) refused: Option<(String, String)>,
    /// The first line on standard output that was not a message.
    pub(super) not_a_message: Option<String>,
    /// See [`Output::line`].
    pub(super) stderr: Option<String>,
    /// Whether it exited when the agent stops it.
    pub(super) ended: bool,
}

/// Why a server is unusable.
#[derive(Debug)]
pub(super) struct Failure {
    why: Why,
    /// See [`Output::line`].
    stderr: Option<String>,
}

#[derive(Debug)]
enum Why {
    NotStarted(io::Error),
    /// No answer to this request within this time.
    NoAnswer(&'static str, Duration),
    /// It has not expanded all prompts within this time.
    Slow(Duration),
    /// It ended, or closed its output, before it answered.
    Ended(&'static str, Option<ExitStatus>),
    /// It printed this, and did not answer.
    NotMessages(String),
    /// It sent back the request.
    Echo,
    /// It answered with an error.
    Refused(&'static str, String),
    /// It does not have this tool.
    NoTool(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::NotStarted(error) => write!(f, "cannot be started: {error}"),
            Why::NoAnswer(request, timeout) => {
                write!(f, "did not answer `{request}` within {} s", timeout.as_secs_f32())
            }
            Why::Slow(limit) => write!(f, "did not expand all its prompts within {} s", limit.as_secs_f32()),
            Why::Ended(request, None) => write!(f, "closed its output before it answered `{request}`"),
            Why::Ended(request, Some(status)) => write!(f, "ended {} before it answered `{request}`", how(*status)),
            Why::NotMessages(line) => write!(f, "is not an MCP server: it prints {}", quoted(line)),
            Why::Echo => write!(f, "is not an MCP server: it repeats its input"),
            Why::Refused(request, error) => write!(f, "refused `{request}`: {error}"),
            Why::NoTool(tool) => write!(f, "has no tool `{tool}`, so it is not prompt-expander"),
        }?;
        match &self.stderr {
            Some(line) => write!(f, "; standard error: {line}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Starts the server, has the conversation, and stops it.
///
/// # Errors
/// It cannot be started, does not speak MCP, or is not one that has prompts.
pub(super) fn talk_to(start: &Start) -> Result<ServerReport, Failure> {
    let mut conversation =
        Conversation::start(start).map_err(|error| Failure { why: Why::NotStarted(error), stderr: None })?;
    let mut report = ServerReport::default();
    let asked = conversation.run(start, &mut report);
    report.ended = asked.is_ok() && conversation.end(start);
    let stderr = conversation.kill();
    match asked {
        Ok(()) => Ok(ServerReport { not_a_message: conversation.not_a_message.take(), stderr, ..report }),
        Err(why) => Err(Failure { why, stderr }),
    }
}

struct Conversation {
    child: Child,
    stdin: Option<ChildStdin>,
    /// The lines that it prints; `None`: they are no longer read.
    lines: Option<Receiver<Vec<u8>>>,
    stderr: Output,
    timeout: Duration,
    began: Instant,
    next_id: u64,
    /// The `_meta` of each request, from protocol version 2026-07-28 on.
    meta: Option<Value>,
    /// How many lines were not messages.
    skipped_lines: usize,
    /// The first of them.
    not_a_message: Option<String>,
}

impl Conversation {
    fn start(start: &Start) -> io::Result<Conversation> {
        let began = Instant::now();
        let mut command = Command::new(&start.program);
        command.args(&start.arguments).current_dir(&start.folder).env_clear().envs(start.environment.iter());
        command.env(EXAMINED_VARIABLE, "1");
        let mut child = process::spawn(&mut command)?;
        let (sender, lines) = sync_channel(1);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), Output::read(child.stderr.take()));
        std::thread::spawn(move || stdout.map(|stdout| send_lines(stdout, &sender)));
        Ok(Conversation {
            child,
            stdin,
            lines: Some(lines),
            stderr,
            timeout: start.timeout,
            began,
            next_id: 1,
            meta: None,
            skipped_lines: 0,
            not_a_message: None,
        })
    }

    /// The conversation up to its end, or up to a failure.
    fn run(&mut self, start: &Start, report: &mut ServerReport) -> Result<(), Why> {
        let server = self.initialize(start.launch)?;
        report.answered_in = self.began.elapsed();
        report.name = text(&server["name"]);
        report.version = text(&server["version"]);
        let tools = self.result("tools/list", json!({}))?;
        for tool in ["list_prompts", "expand_prompt"] {
            if !array(&tools["tools"]).iter().any(|listed| listed["name"] == tool) {
                return Err(Why::NoTool(tool));
            }
        }
        let listed = self.call("list_prompts", json!({}))?;
        let listed = listed.map_err(|error| Why::Refused("list_prompts", quoted(&error)))?;
        let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
        report.prompts = array(&listed["prompts"]).len();
        report.problems = problems(&listed);
        let not_a_choice = format!("{} is not a choice for ", quoted(VALUE));
        for (name, values) in self.prompts()? {
            match self.call("expand_prompt", json!({"command": name, "input": "", "arguments": values}))? {
                Ok(text) => {
                    if report.first.is_none() && !name.contains(char::is_whitespace) {
                        report.first = Some(name.clone());
                    }
                    if report.longest.as_ref().is_none_or(|(_, longest)| longest.len() < text.len()) {
                        report.longest = Some((name, text));
                    }
                }
                // It works; which values it takes is unknown here.
                Err(error) if error.contains(&not_a_choice) => {}
                Err(error) => {
                    let why = error.split(FOR_A_MODEL).next().unwrap_or_default();
                    report.refused.get_or_insert_with(|| (name, why.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Opens the conversation. Returns the server's `serverInfo`.
    fn initialize(&mut self, launch: &Launch) -> Result<Value, Why> {
        // A server may answer one client otherwise than another.
        let client =
            json!({"name": launch.client.unwrap_or("prompt-expander doctor"), "version": env!("CARGO_PKG_VERSION")});
        let version = match launch.opening {
            Opening::Initialize(version) => version,
            Opening::Discover(version) => {
                self.meta = Some(json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": client,
                    "io.modelcontextprotocol/clientCapabilities": {},
                }));
                if let Ok(result) = self.request("server/discover", json!({}))? {
                    return Ok(result["_meta"]["io.modelcontextprotocol/serverInfo"].clone());
                }
                self.meta = None;
                version
            }
        };
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let result = self.result("initialize", params)?;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Ok(result["serverInfo"].clone())
    }

    /// Each prompt, with [`VALUE`] for each of its arguments.
    fn prompts(&mut self) -> Result<Vec<(String, Values)>, Why> {
        let mut prompts = Vec::new();
        let mut cursor = None;
        loop {
            let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
            let page = self.result("prompts/list", params)?;
            let listed = array(&page["prompts"]);
            // A service that renders a prompt is not called.
            for prompt in listed.iter().filter(|prompt| !text(&prompt["description"]).starts_with(Layer::Remote.mark()))
            {
                let values = array(&prompt["arguments"]).iter().map(|argument| (text(&argument["name"]), json!(VALUE)));
                prompts.push((text(&prompt["name"]), values.collect()));
            }
            match page.get("nextCursor") {
                Some(next) if !listed.is_empty() && !next.is_null() => cursor = Some(next.clone()),
                _ => return Ok(prompts),
            }
        }
    }

    /// The text that a tool returns; or the text of its error.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<Result<String, String>, Why> {
        let result = self.result("tools/call", json!({"name": tool, "arguments": arguments}))?;
        let text = text(&result["content"][0]["text"]);
        Ok(if result["isError"] == true { Err(text) } else { Ok(text) })
    }

    /// The result of a request that must have one.
    fn result(&mut self, method: &'static str, params: Value) -> Result<Value, Why> {
        self.request(method, params)?.map_err(|error| Why::Refused(method, error))
    }

    /// Sends a request and waits: its result, or its error as text.
    fn request(&mut self, method: &'static str, mut params: Value) -> Result<Result<Value, String>, Why> {
        let limit = MAX_TIMEOUTS * self.timeout;
        if self.began.elapsed() > limit {
            return Err(Why::Slow(limit));
        }
        let id = self.next_id;
        self.next_id += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let deadline = Instant::now() + self.timeout;
        loop {
            let mut message = self.receive(method, deadline)?;
            if message["id"] != id {
                continue; // a notification, or a request of the server
            }
            if message["method"] == method {
                return Err(Why::Echo);
            }
            if message.get("result").is_some() {
                return Ok(Ok(message["result"].take()));
            }
            if let Some(error) = message.get("error") {
                return Ok(Err(format!("{} ({})", printable(&text(&error["message"])), error["code"])));
            }
        }
    }

    /// The next message; lines that are not messages are skipped. `method` is the request that waits for an answer.
    fn receive(&mut self, method: &'static str, deadline: Instant) -> Result<Value, Why> {
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let received =
                self.lines.as_ref().map_or(Err(RecvTimeoutError::Disconnected), |lines| lines.recv_timeout(remaining));
            let line = received.map_err(|error| match (self.not_a_message.take(), error) {
                (Some(line), _) => Why::NotMessages(line),
                (None, RecvTimeoutError::Timeout) => Why::NoAnswer(method, self.timeout),
                (None, RecvTimeoutError::Disconnected) => {
                    Why::Ended(method, process::wait(&mut self.child, self.timeout))
                }
            })?;
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message["jsonrpc"] == "2.0" => return Ok(message),
                _ => self.skip(&line)?,
            }
        }
    }

    /// Counts a line that is not a message, and stores the first one.
    fn skip(&mut self, line: &[u8]) -> Result<(), Why> {
        if self.skipped_lines >= MAX_SKIPPED_LINES {
            return Err(Why::NotMessages(self.not_a_message.take().unwrap_or_default()));
        }
        self.skipped_lines += 1;
        let line = || String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN)]).trim_end().to_owned();
        self.not_a_message.get_or_insert_with(line);
        Ok(())
    }

    /// If it cannot be written, the end of the output will show.
    fn write(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Stops it as the agent does. Returns whether it exited in time.
    fn end(&mut self, start: &Start) -> bool {
        self.lines = None; // what it prints from now on is not read
        #[cfg(unix)]
        {
            use crate::agents::Ending;
            use rustix::process::{Pid, Signal, kill_process};
            let signal = |signal| _ = kill_process(Pid::from_child(&self.child), signal);
            match start.launch.ending {
                Ending::Terminate => signal(Signal::TERM),
                Ending::Interrupt => signal(Signal::INT),
                Ending::CloseInput => drop(self.stdin.take()),
            }
        }
        #[cfg(not(unix))]
        drop(self.stdin.take());
        process::wait(&mut self.child, start.timeout).is_some()
    }

    /// Kills it, and returns a line of what it printed on standard error.
    fn kill(&mut self) -> Option<String> {
        drop(self.stdin.take());
        self.lines = None;
        process::kill(&mut self.child);
        self.stderr.line()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        process::kill(&mut self.child);
    }
}

/// Sends what is printed, line by line, without empty ones. A line that is too long is cut, and is the last.
fn send_lines(stdout: impl Read, lines: &SyncSender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        let is_too_long = line.len() as u64 == MAX_LINE;
        if is_too_long {
            line.truncate(MAX_SHOWN);
        }
        let is_empty = line.iter().all(u8::is_ascii_whitespace);
        if (!is_empty && lines.send(std::mem::take(&mut line)).is_err()) || is_too_long {
            return;
        }
        line.clear();
    }
}

/// The problems that `list_prompts` found, each as `file: message`.
pub(super) fn problems(listed: &Value) -> Vec<String> {
    let shown = |problem: &Value| {
        let (file, message) = (text(&problem["file"]), text(&problem["message"]));
        // It begins with the position, if there is one.
        let space = if message.starts_with(|first: char| first.is_ascii_digit()) { "" } else { " " };
        format!("{file}:{space}{message}")
    };
    array(&listed["problems"]).iter().map(shown).collect()
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
