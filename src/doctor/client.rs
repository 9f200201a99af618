//! Runs the programs that an agent has registered, and reads their output.
//!
//! Such a program may do anything, e.g. hang, print endlessly or print invalid messages. After a
//! timeout, it is killed together with its child processes.

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

/// The maximum number of bytes to keep of an output. A list of 100,000 prompts is shorter.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024 * 1024;

/// The maximum number of characters to show of a line.
const MAX_LINE_CHARS: usize = 200;

/// How long to wait for the end of an output after the program was killed. A process that has left
/// the process group may keep the output open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// The ids of the requests that [`query_server`] sends, by which it finds their answers.
const INITIALIZE_ID: u64 = 1;
const LIST_PROMPTS_ID: u64 = 2;

/// A command with everything that an agent passes to it. Variables are expanded.
pub(super) struct ResolvedCommand {
    /// The command in the configuration.
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    /// The complete environment. Nothing is inherited from this process.
    pub(super) environment: Environment,
    /// The working directory.
    pub(super) folder: PathBuf,
    /// The path of the executable.
    pub(super) program: PathBuf,
    pub(super) timeout: Duration,
}

impl ResolvedCommand {
    /// Returns whether the executable was found relative to the working directory.
    pub(super) fn is_in_working_directory(&self) -> bool {
        self.environment
            .is_found_relative_to(&self.folder, &self.command, &self.program)
    }
}

/// The output of a program that has exited or was killed.
pub(super) struct ProgramOutput {
    /// `None` if the program was killed after the timeout.
    status: Option<ExitStatus>,
    pub(super) stdout: String,
    stderr: String,
    timeout: Duration,
    pub(super) duration: Duration,
}

/// The answers of an MCP server.
#[derive(Debug)]
pub(super) struct ServerReport {
    pub(super) version: String,
    pub(super) prompt_count: usize,
    /// See [`most_useful_line`].
    pub(super) stderr_line: Option<String>,
    pub(super) duration: Duration,
}

/// Runs an MCP server, and asks it for its prompts.
///
/// # Errors
/// Returns why the server is unusable, as a phrase that follows its name: `exited (exit status: 3)
/// without an answer to initialize`.
pub(super) fn query_server(command: &ResolvedCommand) -> Result<ServerReport, String> {
    let client = json!({"name": "prompt-expander doctor", "version": env!("CARGO_PKG_VERSION")});
    let initialize_params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let call_params = json!({"name": "list_prompts", "arguments": {}});
    // Send all messages at once. The server exits at the end of its input.
    let messages = [
        request(INITIALIZE_ID, "initialize", &initialize_params),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(LIST_PROMPTS_ID, "tools/call", &call_params),
    ];
    let input = messages.map(|message| format!("{message}\n")).concat();
    run(command, input)?.parse_server_report()
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Runs a command with `input` as its standard input. Kills it after its timeout.
///
/// # Errors
/// Returns why the program cannot be started, as a phrase that follows its name.
pub(super) fn run(command: &ResolvedCommand, input: String) -> Result<ProgramOutput, String> {
    let started = Instant::now();
    let mut child = spawn(command).map_err(|error| format!("cannot be started: {error}"))?;
    // Read before writing and waiting, so that the program never blocks on a full pipe.
    let stdout = read_in_background(child.stdout.take());
    let stderr = read_in_background(child.stderr.take());
    write_in_background(child.stdin.take(), input);
    let status = child.wait_timeout(command.timeout).ok().flatten();
    let duration = started.elapsed();
    kill(&mut child); // even if it has exited, because its child processes may be running
    Ok(ProgramOutput {
        status,
        stdout: receive_text(&stdout),
        stderr: receive_text(&stderr),
        timeout: command.timeout,
        duration,
    })
}

impl ProgramOutput {
    /// Returns why the program failed, as a phrase that follows its name. Returns `None` if it
    /// exited successfully.
    pub(super) fn failure(&self) -> Option<String> {
        match self.status {
            Some(status) if status.success() => None,
            Some(status) => Some(format!("failed ({status}){}", self.stderr_clause())),
            None => Some(format!(
                "did not exit within {} s",
                self.timeout.as_secs_f32()
            )),
        }
    }

    /// Parses the answers to the messages of [`query_server`].
    ///
    /// # Errors
    /// Returns why the server is unusable, as a phrase that follows its name.
    fn parse_server_report(self) -> Result<ServerReport, String> {
        let messages = self.parse_messages()?;
        let initialized = find_result(&messages, INITIALIZE_ID)
            .ok_or_else(|| self.missing_answer("initialize"))?;
        let listed = find_result(&messages, LIST_PROMPTS_ID)
            .ok_or_else(|| self.missing_answer("tools/call"))?;
        let prompts = listed["structuredContent"]["prompts"]
            .as_array()
            .ok_or("lists no prompts, so it is not prompt-expander")?;
        let version = initialized["serverInfo"]["version"].as_str();
        Ok(ServerReport {
            version: version.unwrap_or_default().to_owned(),
            prompt_count: prompts.len(),
            stderr_line: most_useful_line(&self.stderr),
            duration: self.duration,
        })
    }

    /// Parses standard output, which must have a JSON-RPC message on each line.
    ///
    /// # Errors
    /// Returns which line is not a message, as a phrase that follows the name of the program.
    fn parse_messages(&self) -> Result<Vec<Value>, String> {
        let mut messages = Vec::new();
        for line in self.stdout.lines() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            if message["jsonrpc"] != "2.0" {
                let line = quoted(line);
                return Err(format!(
                    "prints a line that is not a message: {line}{}",
                    self.stderr_clause()
                ));
            }
            messages.push(message);
        }
        Ok(messages)
    }

    /// Returns why there is no answer to `method`, as a phrase that follows the name of the
    /// program.
    fn missing_answer(&self, method: &str) -> String {
        let stderr = self.stderr_clause();
        match self.status {
            Some(status) => format!("exited ({status}) without an answer to `{method}`{stderr}"),
            None => {
                let seconds = self.timeout.as_secs_f32();
                format!("did not answer `{method}` within {seconds} s{stderr}")
            }
        }
    }

    /// Returns a clause that quotes standard error, or an empty string if it is empty.
    fn stderr_clause(&self) -> String {
        match most_useful_line(&self.stderr) {
            Some(line) => format!("; standard error: {line}"),
            None => String::new(),
        }
    }
}

/// Returns the result of the response with this id.
fn find_result(messages: &[Value], id: u64) -> Option<&Value> {
    // Ignore messages with a method: a request of the server may have the same id.
    let response = messages
        .iter()
        .find(|message| message["id"] == id && message.get("method").is_none())?;
    response.get("result")
}

/// Returns the line of an output that most likely says what is wrong: the first one that starts
/// with `error`, or else the last one that isn't empty. Control characters are escaped.
fn most_useful_line(output: &str) -> Option<String> {
    let mut useful_line = None;
    for line in output.lines() {
        let line = line.trim();
        if line.to_ascii_lowercase().starts_with("error") {
            useful_line = Some(line);
            break;
        }
        if !line.is_empty() {
            useful_line = Some(line);
        }
    }
    Some(
        printable(useful_line?)
            .chars()
            .take(MAX_LINE_CHARS)
            .collect(),
    )
}

/// Starts a program in a new process group, with pipes for its standard streams.
fn spawn(resolved: &ResolvedCommand) -> io::Result<Child> {
    let mut command = Command::new(&resolved.program);
    command
        .args(&resolved.arguments)
        .current_dir(&resolved.folder)
        .env_clear()
        .envs(resolved.environment.iter())
        .env(EXAMINED_VARIABLE, "1");
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Kills a program and its process group. Errors are ignored: they mean that nothing is running.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    let _ = child.kill();
    let _ = child.wait();
}

/// Writes to the standard input of a program in a new thread, because the program may never read
/// it. `stream` is never `None`, because [`spawn`] creates a pipe.
fn write_in_background(stream: Option<impl Write + Send + 'static>, input: String) {
    std::thread::spawn(move || {
        if let Some(mut stream) = stream {
            // Ignore errors: the program may exit without reading all of its input.
            let _ = stream.write_all(input.as_bytes());
        }
    });
}

/// Reads the standard output or error of a program in a new thread. The receiver gets it as a
/// single item, cut off after [`MAX_OUTPUT_BYTES`].
///
/// `stream` is never `None`, because [`spawn`] creates a pipe.
fn read_in_background(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut output = Vec::new();
        // If reading fails, keep what was read so far.
        let _ = stream
            .by_ref()
            .take(MAX_OUTPUT_BYTES)
            .read_to_end(&mut output);
        let _ = sender.send(output); // fails if `receive_text` has given up
        // Discard the rest, so that the program doesn't block on a full pipe.
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    receiver
}

/// Waits for the output of [`read_in_background`]. Call this after the program has exited.
///
/// Returns an empty string if another process keeps the output open for longer than
/// [`OUTPUT_TIMEOUT`].
fn receive_text(output: &Receiver<Vec<u8>>) -> String {
    let bytes = output.recv_timeout(OUTPUT_TIMEOUT).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZED: &str =
        r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"version":"0.0.1"}}}"#;

    fn exited(stdout: &str, stderr: &str) -> ProgramOutput {
        ProgramOutput {
            status: Some(ExitStatus::default()),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            timeout: Duration::from_secs(2),
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn the_version_and_the_prompts_of_a_server_are_read() {
        let listed = r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"prompts":[1]}}}"#;
        let report = exited(&format!("\n{INITIALIZED}\n{listed}\n"), "careful\n")
            .parse_server_report()
            .unwrap();
        assert_eq!((report.version.as_str(), report.prompt_count), ("0.0.1", 1));
        assert_eq!(report.stderr_line.as_deref(), Some("careful"));
    }

    #[test]
    fn an_unusable_server_is_reported_with_the_reason() {
        let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}"#;
        let empty = format!(
            "{INITIALIZED}\n{}",
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#
        );
        for (stdout, stderr, problem) in [
            ("hello", "", "prints a line that is not a message: `hello`"),
            (
                "",
                "ERROR: no such thing\nbye\n",
                "exited (exit status: 0) without an answer to `initialize`; standard error: ERROR: no such thing",
            ),
            (
                refusal,
                "",
                "exited (exit status: 0) without an answer to `initialize`",
            ),
            (
                INITIALIZED,
                "",
                "exited (exit status: 0) without an answer to `tools/call`",
            ),
            (&empty, "", "lists no prompts, so it is not prompt-expander"),
        ] {
            let answer = exited(stdout, stderr).parse_server_report();
            assert_eq!(answer.unwrap_err(), problem);
        }
        let mut killed = exited("", "");
        killed.status = None;
        let failure = killed.failure();
        assert_eq!(failure.as_deref(), Some("did not exit within 2 s"));
        assert_eq!(
            killed.parse_server_report().unwrap_err(),
            "did not answer `initialize` within 2 s"
        );
    }
}
