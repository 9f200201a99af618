//! A small MCP client of a process, and the run of a hook.
//!
//! A registered program may be any. It may hang, print endlessly, print something that is not a message, or not exit. So each
//! answer may take a given time at most; then the program is killed, with all that it started.

use super::tried::EXAMINED_VARIABLE;
use crate::agents::{Ending, Environment, Launch};
use crate::wording::{printable, quoted};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// The longest line, and the longest output of a hook, in bytes: above that of a list of 100,000 prompts.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// The longest line that is shown, in characters.
const MAX_SHOWN: usize = 200;

/// How long to wait for the end of an output after its program was killed: something that has left the process group may
/// have it open.
const END_OF_OUTPUT: Duration = Duration::from_secs(1);

/// A program as an agent would start it, all variables replaced.
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
    /// How long an answer may take.
    pub(super) timeout: Duration,
}

/// What a server answered.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// From the start to the first answer.
    pub(super) answered_in: Duration,
    pub(super) name: String,
    pub(super) version: String,
    /// How many prompts it lists.
    pub(super) prompts: usize,
    /// The first line on standard output that was not a message.
    pub(super) not_a_message: Option<String>,
    /// A line of its standard error.
    pub(super) stderr: Option<String>,
    /// Whether it exited when the agent stops it.
    pub(super) ended: bool,
}

/// Starts the server, asks it for its prompts, and stops it as the agent does.
///
/// # Errors
/// Why it is unusable, worded to follow its name.
pub(super) fn talk_to(start: &Start, launch: &Launch) -> Result<Answers, String> {
    let mut client = Client::start(start).map_err(|error| format!("cannot be started: {error}"))?;
    let answers = client.run(launch).and_then(|answers| match answers.name.is_empty() {
        true => Err("is not an MCP server: it does not say its name".to_owned()),
        false => Ok(answers),
    });
    let ended = answers.is_ok() && client.end(launch);
    kill(&mut client.child);
    let stderr = line(&client.stderr);
    match answers {
        Ok(answers) => Ok(Answers { ended, stderr, not_a_message: client.not_a_message.take(), ..answers }),
        Err(why) => Err(stderr.map_or(why.clone(), |line| format!("{why}; standard error: {line}"))),
    }
}

struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    /// The lines that it prints.
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    timeout: Duration,
    began: Instant,
    next_id: u64,
    not_a_message: Option<String>,
}

impl Client {
    fn start(start: &Start) -> io::Result<Client> {
        let began = Instant::now();
        let mut child = spawn(start)?;
        let (sender, lines) = sync_channel(1);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), output(child.stderr.take()));
        std::thread::spawn(move || {
            let Some(mut stdout) = stdout.map(BufReader::new) else { return };
            let mut line = Vec::new();
            while stdout.by_ref().take(MAX_OUTPUT).read_until(b'\n', &mut line).unwrap_or(0) > 0 {
                let is_empty = line.iter().all(u8::is_ascii_whitespace);
                if !is_empty && sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
                line.clear();
            }
        });
        let (timeout, next_id) = (start.timeout, 1);
        Ok(Client { child, stdin, lines, stderr, timeout, began, next_id, not_a_message: None })
    }

    /// The conversation up to its end, or why it cannot go on.
    fn run(&mut self, launch: &Launch) -> Result<Answers, String> {
        let server = self.initialize(launch)?;
        let mut answers = Answers { answered_in: self.began.elapsed(), ..Answers::default() };
        (answers.name, answers.version) = (text(&server["name"]), text(&server["version"]));
        let tools = self.result("tools/list", json!({}))?;
        for tool in ["list_prompts", "expand_prompt"] {
            if !array(&tools["tools"]).iter().any(|listed| listed["name"] == tool) {
                return Err(format!("has no tool `{tool}`, so it is not prompt-expander"));
            }
        }
        let listed = self.result("tools/call", json!({"name": "list_prompts", "arguments": {}}))?;
        let listed = text(&listed["content"][0]["text"]);
        let listed: Value =
            serde_json::from_str(&listed).map_err(|_| format!("lists no prompts: {}", quoted(&listed)))?;
        answers.prompts = array(&listed["prompts"]).len();
        Ok(answers)
    }

    /// Opens the conversation. Returns the server's `serverInfo`.
    fn initialize(&mut self, launch: &Launch) -> Result<Value, String> {
        // A server may answer one client otherwise than another.
        let client =
            json!({"name": launch.client.unwrap_or("prompt-expander doctor"), "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let result = self.result("initialize", params)?;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Ok(result["serverInfo"].clone())
    }

    /// Sends a request, and waits for its result.
    fn result(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let deadline = Instant::now() + self.timeout;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.map_err(|error| self.no_answer(method, error))?;
            let mut message: Value = serde_json::from_slice(&line).unwrap_or_default();
            if message["jsonrpc"] != "2.0" || message["method"] == method {
                let line = String::from_utf8_lossy(&line);
                self.not_a_message.get_or_insert_with(|| quoted(line.trim()));
            } else if message["id"] == id && message.get("result").is_some() {
                return Ok(message["result"].take());
            } else if let Some(error) = message.get("error").filter(|_| message["id"] == id) {
                let message = printable(&text(&error["message"]));
                return Err(format!("refused `{method}`: {message} ({})", error["code"]));
            }
        }
    }

    fn no_answer(&mut self, method: &str, error: RecvTimeoutError) -> String {
        match (self.not_a_message.take(), error) {
            (Some(line), _) => format!("is not an MCP server: it prints {line}"),
            (None, RecvTimeoutError::Timeout) => {
                format!("did not answer `{method}` within {} s", self.timeout.as_secs_f32())
            }
            (None, RecvTimeoutError::Disconnected) => match self.child.wait_timeout(self.timeout) {
                Ok(Some(status)) => format!("ended {} before it answered `{method}`", how(status)),
                _ => format!("closed its output before it answered `{method}`"),
            },
        }
    }

    /// If it cannot be written, the end of the output will show.
    fn write(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Stops it as the agent does. Returns whether it exited in time.
    fn end(&mut self, launch: &Launch) -> bool {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};
            let signal = |signal| _ = kill_process(Pid::from_child(&self.child), signal);
            match launch.ending {
                Ending::Terminate => signal(Signal::TERM),
                Ending::Interrupt => signal(Signal::INT),
                Ending::CloseInput => {}
            }
        }
        if cfg!(not(unix)) || matches!(launch.ending, Ending::CloseInput) {
            drop(self.stdin.take());
        }
        matches!(self.child.wait_timeout(self.timeout), Ok(Some(_)))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

/// A hook that has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: Option<String>,
    pub(super) took: Duration,
}

/// Runs a program to its end. `None`: it did not end in time.
pub(super) fn run(start: &Start, stdin: &str) -> io::Result<Option<Ended>> {
    let began = Instant::now();
    let mut child = spawn(start)?;
    let (stdout, stderr) = (output(child.stdout.take()), output(child.stderr.take()));
    let (input, text) = (child.stdin.take(), stdin.to_owned());
    // It may end without reading it, or never read it.
    std::thread::spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
    let status = child.wait_timeout(start.timeout).ok().flatten();
    let took = began.elapsed();
    kill(&mut child);
    Ok(status.map(|status| Ended { status, stdout: all(&stdout), stderr: line(&stderr), took }))
}

/// Starts a program in a process group of its own, with a pipe for each of its streams.
fn spawn(start: &Start) -> io::Result<Child> {
    let mut command = Command::new(&start.program);
    command.args(&start.arguments).current_dir(&start.folder).env_clear().envs(start.environment.iter());
    command.env(EXAMINED_VARIABLE, "1");
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // A signal that is ignored here, as in a background job of a script, would be ignored there; one with a handler is not.
        for signal in [SIGINT, SIGTERM] {
            let _ = signal_hook::flag::register_conditional_default(signal, std::sync::Arc::new(true.into()));
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Kills it and its process group, in which it may leave others when it ends.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

/// How a program ended, as in "ended with status 1".
pub(super) fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("by signal {signal}");
    }
    status.code().map_or_else(|| status.to_string(), |code| format!("with status {code}"))
}

/// The beginning of an output, read by a thread so that the program never waits.
fn output(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut text = Vec::new();
        let _ = stream.by_ref().take(MAX_OUTPUT).read_to_end(&mut text);
        let _ = sender.send(text);
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    receiver
}

/// All of an output, once the program is killed.
fn all(output: &Receiver<Vec<u8>>) -> String {
    String::from_utf8_lossy(&output.recv_timeout(END_OF_OUTPUT).unwrap_or_default()).into_owned()
}

/// The most useful line of an output, with control characters escaped: the first that begins with `error`, else the last that is
/// not empty.
fn line(output: &Receiver<Vec<u8>>) -> Option<String> {
    let text = all(output);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    let line = printable(lines.clone().find(is_error).or_else(|| lines.next_back())?);
    Some(line.chars().take(MAX_SHOWN).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
