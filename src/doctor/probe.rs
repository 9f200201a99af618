//! A conversation with a server as a client has it: start it, shake hands, list, expand every prompt, end it.
//!
//! A server may be anything that somebody registered. It may hang, flood us, say what is no message or never end, and costs
//! [`Start::patience`] for each answer at most, and [`WHOLE`] times that in all; then it is killed with all that it started.

use super::process::{self, Said, how};
use crate::wording::{printable, quoted};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The longest line that is read: above that of the longest expansion that a prompt file gives, in both copies.
const MAX_LINE: u64 = 160 * 1024 * 1024;

/// A whole conversation may take so many times as long as an answer.
const WHOLE: u32 = 6;

/// So many bytes are kept of a line that is no message.
const SHOWN_STRAY: usize = 1_000;

/// So many lines that are no messages are borne with.
const MAX_STRAY: usize = 1_000;

/// How a client starts a server, and speaks to it.
#[derive(Debug)]
pub(super) struct Start<'s> {
    /// The program, found already.
    pub(super) program: &'s Path,
    pub(super) arguments: &'s [String],
    /// All of its environment.
    pub(super) environment: &'s [(OsString, OsString)],
    /// The directory that it works in.
    pub(super) folder: &'s Path,
    pub(super) opening: Opening,
    pub(super) end: End,
    /// How long an answer may take.
    pub(super) patience: Duration,
}

/// The values of a prompt's arguments, by name.
type Values = Map<String, Value>;

/// The first message of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// `initialize`, which offers this revision.
    Initialize(&'static str),
    /// `server/discover`, and `initialize` with this revision where that is not known.
    Discover(&'static str),
}

/// What a client does to end a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// SIGTERM, where there are signals.
    Terminate,
    /// SIGINT, where there are signals.
    Interrupt,
    /// It closes the server's input.
    CloseInput,
}

/// What a server showed of itself.
#[derive(Debug, Default)]
pub(super) struct Visit {
    /// From the start to the first answer.
    pub(super) answered_in: Duration,
    /// What it calls itself.
    pub(super) name: String,
    /// Its version, as it says.
    pub(super) version: String,
    /// How many prompts it lists.
    pub(super) prompts: usize,
    /// Its files that should be prompts and are none, each as `file: message`.
    pub(super) problems: Vec<String>,
    /// The name of its first prompt that can be typed.
    pub(super) first: Option<String>,
    /// The prompt that gives a model the longest text, each of its arguments being a single letter.
    pub(super) longest: Option<Longest>,
    /// A prompt that it lists and does not expand, and why.
    pub(super) refused: Option<(String, String)>,
    /// The first line on standard output that was no message.
    pub(super) stray: Option<String>,
    /// What it said on standard error, in a line.
    pub(super) said: Option<String>,
    /// Whether it ended when it was told to.
    pub(super) ended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Longest {
    pub(super) name: String,
    /// The result as a client hands it on: `{"prompt":"…"}`.
    pub(super) result: String,
}

/// Why a server is of no use.
#[derive(Debug)]
pub(super) struct Failure {
    why: Why,
    /// What it said on standard error, in a line.
    said: Option<String>,
}

#[derive(Debug)]
enum Why {
    NotStarted(io::Error),
    /// No answer to this request for so long.
    Silent(&'static str, Duration),
    /// It was not through after so long.
    Slow(Duration),
    /// It ended, or closed its output, before it answered.
    Ended(&'static str, Option<ExitStatus>),
    /// It printed this, and did not answer.
    NoMessages(String),
    /// It sent back what it got.
    Echo,
    /// It answered with an error.
    Refused(&'static str, String),
    /// It has not this tool.
    Lacks(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::NotStarted(error) => write!(f, "cannot be started: {error}"),
            Why::Silent(request, patience) => {
                write!(f, "did not answer `{request}` within {} s", patience.as_secs_f32())
            }
            Why::Slow(limit) => write!(f, "was not through with all its prompts within {} s", limit.as_secs_f32()),
            Why::Ended(request, None) => write!(f, "closed its output before it answered `{request}`"),
            Why::Ended(request, Some(status)) => write!(f, "ended {} before it answered `{request}`", how(*status)),
            Why::NoMessages(line) => write!(f, "is no MCP server: it prints {}", quoted(line)),
            Why::Echo => write!(f, "is no MCP server: it sends back what it is sent"),
            Why::Refused(request, error) => write!(f, "refused `{request}`: {error}"),
            Why::Lacks(tool) => write!(f, "has no tool `{tool}`, so it is another server"),
        }?;
        match &self.said {
            Some(said) => write!(f, "; it said: {said}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Starts the server, asks it everything, and ends it.
///
/// # Errors
/// It cannot be started, does not speak MCP, or is not one that has prompts.
pub(super) fn visit(start: &Start<'_>) -> Result<Visit, Failure> {
    let mut conversation =
        Conversation::start(start).map_err(|error| Failure { why: Why::NotStarted(error), said: None })?;
    let mut visit = Visit::default();
    let asked = conversation.everything(start, &mut visit);
    visit.ended = asked.is_ok() && conversation.end(start);
    let said = conversation.kill();
    match asked {
        Ok(()) => Ok(Visit { stray: conversation.stray.take(), said, ..visit }),
        Err(why) => Err(Failure { why, said }),
    }
}

struct Conversation {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What it prints; `None` once nobody listens.
    lines: Option<Receiver<Vec<u8>>>,
    said: Said,
    patience: Duration,
    began: Instant,
    next_id: u64,
    /// What each modern request holds.
    envelope: Option<Value>,
    strays: usize,
    stray: Option<String>,
}

impl Conversation {
    fn start(start: &Start<'_>) -> io::Result<Conversation> {
        let began = Instant::now();
        let mut command = Command::new(start.program);
        command.args(start.arguments).current_dir(start.folder).env_clear();
        command.envs(start.environment.iter().map(|(name, value)| (name, value)));
        let mut child = process::spawn(&mut command)?;
        let (sender, lines) = sync_channel(1);
        let (stdin, stdout, said) = (child.stdin.take(), child.stdout.take(), Said::by(child.stderr.take()));
        std::thread::spawn(move || stdout.map(|stdout| pass_lines(stdout, &sender)));
        let patience = start.patience;
        let (lines, envelope, stray) = (Some(lines), None, None);
        Ok(Conversation { child, stdin, lines, said, patience, began, next_id: 1, envelope, strays: 0, stray })
    }

    /// The whole conversation, as far as the server has it.
    fn everything(&mut self, start: &Start<'_>, visit: &mut Visit) -> Result<(), Why> {
        let server = self.shake_hands(start.opening)?;
        visit.answered_in = self.began.elapsed();
        visit.name = text(&server["name"]);
        visit.version = text(&server["version"]);
        let tools = self.result("tools/list", json!({}))?;
        for tool in ["list_prompts", "expand_prompt"] {
            let has = array(&tools["tools"]).iter().any(|listed| listed["name"] == tool);
            if !has {
                return Err(Why::Lacks(tool));
            }
        }
        let listed = self.call("list_prompts", json!({}))?;
        let listed = listed.map_err(|error| Why::Refused("list_prompts", quoted(&error)))?;
        let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
        visit.prompts = array(&listed["prompts"]).len();
        let problem = |problem: &Value| format!("{}: {}", text(&problem["file"]), text(&problem["message"]));
        visit.problems = array(&listed["problems"]).iter().map(problem).collect();
        for (name, values) in self.prompts()? {
            match self.call("expand_prompt", json!({"command": name, "input": "", "arguments": values}))? {
                Ok(text) => {
                    if visit.first.is_none() && !name.contains(char::is_whitespace) {
                        visit.first = Some(name.clone());
                    }
                    if visit.longest.as_ref().is_none_or(|so_far| so_far.result.len() < text.len()) {
                        visit.longest = Some(Longest { name, result: text });
                    }
                }
                Err(error) => visit.refused = visit.refused.take().or(Some((name, error))),
            }
        }
        Ok(())
    }

    /// What the server says of itself.
    fn shake_hands(&mut self, opening: Opening) -> Result<Value, Why> {
        let revision = match opening {
            Opening::Initialize(revision) => revision,
            Opening::Discover(revision) => {
                self.envelope = Some(json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                }));
                if let Ok(result) = self.request("server/discover", json!({}))? {
                    return Ok(result["_meta"]["io.modelcontextprotocol/serverInfo"].clone());
                }
                self.envelope = None;
                revision
            }
        };
        let client = json!({"name": "prompt-expander doctor", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let result = self.result("initialize", params)?;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Ok(result["serverInfo"].clone())
    }

    /// Each prompt, with a letter for each of its arguments.
    fn prompts(&mut self) -> Result<Vec<(String, Values)>, Why> {
        let mut prompts = Vec::new();
        let mut cursor = None;
        loop {
            let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
            let page = self.result("prompts/list", params)?;
            let listed = array(&page["prompts"]);
            for prompt in listed {
                let values = array(&prompt["arguments"]).iter().map(|argument| (text(&argument["name"]), json!("x")));
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
        let said = text(&result["content"][0]["text"]);
        Ok(if result["isError"] == true { Err(said) } else { Ok(said) })
    }

    /// The result of a request that must have one.
    fn result(&mut self, method: &'static str, params: Value) -> Result<Value, Why> {
        self.request(method, params)?.map_err(|error| Why::Refused(method, error))
    }

    /// Sends a request and waits: its result, or its error as text.
    fn request(&mut self, method: &'static str, mut params: Value) -> Result<Result<Value, String>, Why> {
        let limit = WHOLE * self.patience;
        if self.began.elapsed() > limit {
            return Err(Why::Slow(limit));
        }
        let id = self.next_id;
        self.next_id += 1;
        if let Some(envelope) = &self.envelope {
            params["_meta"] = envelope.clone();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line =
                self.lines.as_ref().map_or(Err(RecvTimeoutError::Disconnected), |lines| lines.recv_timeout(left));
            let line = match line {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.stray.take().map_or(Why::Silent(method, self.patience), Why::NoMessages));
                }
                Err(RecvTimeoutError::Disconnected) if self.stray.is_some() => {
                    return Err(Why::NoMessages(self.stray.take().unwrap_or_default()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Why::Ended(method, process::wait(&mut self.child, self.patience)));
                }
            };
            match serde_json::from_slice::<Value>(&line) {
                Ok(mut message) if message["jsonrpc"] == "2.0" => {
                    let is_ours = message["id"] == id;
                    if is_ours && message["method"] == method {
                        return Err(Why::Echo);
                    } else if is_ours && message.get("result").is_some() {
                        return Ok(Ok(message["result"].take()));
                    } else if is_ours && message.get("error").is_some() {
                        let error = &message["error"];
                        return Ok(Err(format!("{} ({})", printable(&text(&error["message"])), error["code"])));
                    } // else it is news, or a request of its own
                }
                _ if self.strays >= MAX_STRAY => {
                    return Err(Why::NoMessages(self.stray.take().unwrap_or_default()));
                }
                _ => {
                    self.strays += 1;
                    let line = String::from_utf8_lossy(&line[..line.len().min(SHOWN_STRAY)]).trim_end().to_owned();
                    self.stray.get_or_insert(line);
                }
            }
        }
    }

    /// That it cannot be written, the end of the output will tell.
    fn write(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Ends it as the client does. Whether it did end in time.
    fn end(&mut self, start: &Start<'_>) -> bool {
        self.lines = None; // what it prints from now on, nobody reads
        #[cfg(unix)]
        match start.end {
            End::Terminate => process::signal(&self.child, rustix::process::Signal::TERM),
            End::Interrupt => process::signal(&self.child, rustix::process::Signal::INT),
            End::CloseInput => drop(self.stdin.take()),
        }
        #[cfg(not(unix))]
        match start.end {
            End::Terminate | End::Interrupt | End::CloseInput => drop(self.stdin.take()),
        }
        process::wait(&mut self.child, start.patience).is_some()
    }

    /// Makes sure that it is gone, and tells in a line what it said on standard error.
    fn kill(&mut self) -> Option<String> {
        drop(self.stdin.take());
        self.lines = None;
        process::kill(&mut self.child);
        self.said.line()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        process::kill(&mut self.child);
    }
}

/// Passes on what is printed, line by line, blank ones left out. A line that is too long is cut, and the last.
fn pass_lines(stdout: impl Read, lines: &SyncSender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        let is_too_long = line.len() as u64 == MAX_LINE;
        if is_too_long {
            line.truncate(SHOWN_STRAY);
        }
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        if (!is_blank && lines.send(std::mem::take(&mut line)).is_err()) || is_too_long {
            return;
        }
        line.clear();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
