//! Starts what an agent has registered, and reads what it answers.
//!
//! A registered program may be anything: it may hang, print endlessly, print something that is not
//! a message, or not exit. So its time is limited; then it is killed, with all that it started.

use super::examination::EXAMINED_VARIABLE;
use crate::agents::Environment;
use crate::wording::{printable, quoted};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// The longest output, in bytes: above that of a list of 100,000 prompts.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// The longest line that is shown, in characters.
const MAX_SHOWN: usize = 200;

/// How long to wait for the end of an output after its program was killed: something that has left
/// the process group may have it open.
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
    /// How long it may take.
    pub(super) timeout: Duration,
}

/// A program that has ended, or was killed.
pub(super) struct Ended {
    /// `None`: it did not end in time.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: String,
    /// A line of its standard error.
    pub(super) stderr: Option<String>,
    pub(super) took: Duration,
}

/// What a server says of itself.
pub(super) struct Answers {
    pub(super) version: String,
    /// How many prompts it lists.
    pub(super) prompts: usize,
}

/// Asks a server for its prompts. All is sent at once: the end of its input ends it.
///
/// # Errors
/// It cannot be started.
pub(super) fn ask_for_prompts(start: &Start) -> io::Result<Ended> {
    let client = json!({"name": "prompt-expander doctor", "version": env!("CARGO_PKG_VERSION")});
    let opening =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let call = json!({"name": "list_prompts", "arguments": {}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ];
    run(
        start,
        messages.map(|message| format!("{message}\n")).concat(),
    )
}

impl Ended {
    /// What it answered to [`ask_for_prompts`], or why it is unusable, worded to follow its name.
    pub(super) fn answers(&self, timeout: Duration) -> Result<Answers, String> {
        let mut messages = Vec::new();
        for line in self
            .stdout
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            if message["jsonrpc"] != "2.0" {
                return Err(format!("prints what is not a message: {}", quoted(line)));
            }
            messages.push(message);
        }
        let result = |id: u64, method: &str| {
            let mut answers = messages
                .iter()
                .filter(|message| message["id"] == id && message.get("method").is_none());
            let answer = answers.next().ok_or_else(|| match self.status {
                Some(status) => format!("ended {} before it answered `{method}`", how(status)),
                None => format!(
                    "did not answer `{method}` within {} s",
                    timeout.as_secs_f32()
                ),
            })?;
            let error = &answer["error"];
            let refused = || {
                format!(
                    "refused `{method}`: {} ({})",
                    printable(&text(&error["message"])),
                    error["code"]
                )
            };
            answer.get("result").ok_or_else(refused)
        };
        let version = text(&result(1, "initialize")?["serverInfo"]["version"]);
        let listed = result(2, "tools/call")?["structuredContent"]["prompts"].as_array();
        let listed = listed.ok_or("lists no prompts, so it is not prompt-expander")?;
        Ok(Answers {
            version,
            prompts: listed.len(),
        })
    }

    /// What to add to the reason why it is unusable.
    pub(super) fn complaint(&self) -> String {
        self.stderr
            .as_ref()
            .map(|line| format!("; standard error: {line}"))
            .unwrap_or_default()
    }
}

/// Runs a program until it ends, or until its time is over.
///
/// # Errors
/// It cannot be started.
pub(super) fn run(start: &Start, stdin: String) -> io::Result<Ended> {
    let began = Instant::now();
    let mut child = spawn(start)?;
    let (stdout, stderr) = (output(child.stdout.take()), output(child.stderr.take()));
    let input = child.stdin.take();
    // It may end without reading it, or never read it.
    std::thread::spawn(move || input.map(|mut input| input.write_all(stdin.as_bytes())));
    let status = child.wait_timeout(start.timeout).ok().flatten();
    let took = began.elapsed();
    kill(&mut child);
    Ok(Ended {
        status,
        stdout: all(&stdout),
        stderr: line(&stderr),
        took,
    })
}

/// Starts a program in a process group of its own, with a pipe for each of its streams.
fn spawn(start: &Start) -> io::Result<Child> {
    let mut command = Command::new(&start.program);
    command
        .args(&start.arguments)
        .current_dir(&start.folder)
        .env_clear()
        .envs(start.environment.iter());
    command.env(EXAMINED_VARIABLE, "1");
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Kills it and its process group, in which it may leave others when it ends.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    let _ = child.kill();
    let _ = child.wait();
}

/// How a program ended, as in "ended with status 1".
pub(super) fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("by signal {signal}");
    }
    status
        .code()
        .map_or_else(|| status.to_string(), |code| format!("with status {code}"))
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

/// The most useful line of an output, with control characters escaped: the first that begins with
/// `error`, else the last that is not empty.
fn line(output: &Receiver<Vec<u8>>) -> Option<String> {
    let text = all(output);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| {
        line.get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case("error"))
    };
    let line = printable(lines.clone().find(is_error).or_else(|| lines.next_back())?);
    Some(line.chars().take(MAX_SHOWN).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
