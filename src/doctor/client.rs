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

impl Start {
    /// Returns whether the program was found because it lies in the working directory.
    pub(super) fn is_in_folder(&self) -> bool {
        self.environment
            .is_found_relative_to(&self.folder, &self.command, &self.program)
    }
}

/// A program that has ended, or was killed after its time was over.
pub(super) struct EndedProgram {
    /// `None` if it was killed.
    status: Option<ExitStatus>,
    pub(super) stdout: String,
    stderr: String,
    timeout: Duration,
    pub(super) took: Duration,
}

/// What a server says about itself.
#[derive(Debug)]
pub(super) struct ServerAnswer {
    pub(super) version: String,
    /// How many prompts it lists.
    pub(super) prompts: usize,
    /// A line of its standard error.
    pub(super) complaint: Option<String>,
    pub(super) took: Duration,
}

/// Starts a server, and asks it for its prompts.
///
/// # Errors
/// Why it is unusable, as a phrase that follows its name: `ended (exit status: 3) without an answer
/// to initialize`.
pub(super) fn ask_for_prompts(start: &Start) -> Result<ServerAnswer, String> {
    let client = json!({"name": "prompt-expander doctor", "version": env!("CARGO_PKG_VERSION")});
    let opening =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let call = json!({"name": "list_prompts", "arguments": {}});
    // All messages are sent at once, and the end of its input ends the server.
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ];
    let input = messages.map(|message| format!("{message}\n")).concat();
    run(start, input)?.server_answer()
}

/// Runs a program until it ends, or until its time is over.
///
/// # Errors
/// Why it cannot be started, as a phrase that follows its name.
pub(super) fn run(start: &Start, input: String) -> Result<EndedProgram, String> {
    let began = Instant::now();
    let mut child = spawn(start).map_err(|error| format!("cannot be started: {error}"))?;
    let stdout = read_in_background(child.stdout.take());
    let stderr = read_in_background(child.stderr.take());
    write_in_background(child.stdin.take(), input);
    let status = child.wait_timeout(start.timeout).ok().flatten();
    let took = began.elapsed();
    kill(&mut child);
    Ok(EndedProgram {
        status,
        stdout: received_text(&stdout),
        stderr: received_text(&stderr),
        timeout: start.timeout,
        took,
    })
}

impl EndedProgram {
    /// Returns why the program has failed, as a phrase that follows its name; `None` if it ended
    /// successfully.
    pub(super) fn failure(&self) -> Option<String> {
        match self.status {
            Some(status) if status.success() => None,
            Some(status) => Some(format!("failed ({status}){}", self.complaint())),
            None => Some(format!(
                "did not end within {} s",
                self.timeout.as_secs_f32()
            )),
        }
    }

    /// Reads what the program, as a server, answered to [`ask_for_prompts`].
    ///
    /// # Errors
    /// Why it is unusable, as a phrase that follows its name.
    fn server_answer(self) -> Result<ServerAnswer, String> {
        let messages = self.messages()?;
        let opening = result_of(&messages, 1).ok_or_else(|| self.missing_answer("initialize"))?;
        let call = result_of(&messages, 2).ok_or_else(|| self.missing_answer("tools/call"))?;
        let prompts = call["structuredContent"]["prompts"]
            .as_array()
            .ok_or("lists no prompts, so it is not prompt-expander")?;
        let version = opening["serverInfo"]["version"].as_str();
        Ok(ServerAnswer {
            version: version.unwrap_or_default().to_owned(),
            prompts: prompts.len(),
            complaint: most_useful_line(&self.stderr),
            took: self.took,
        })
    }

    /// Returns the messages of JSON-RPC on standard output, one on each line.
    ///
    /// # Errors
    /// A line is not a message. The error is a phrase that follows the name of the program.
    fn messages(&self) -> Result<Vec<Value>, String> {
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
                    "prints what is not a message: {line}{}",
                    self.complaint()
                ));
            }
            messages.push(message);
        }
        Ok(messages)
    }

    /// Returns why a method has no answer, as a phrase that follows the name of the program.
    fn missing_answer(&self, method: &str) -> String {
        let complaint = self.complaint();
        match self.status {
            Some(status) => format!("ended ({status}) without an answer to `{method}`{complaint}"),
            None => {
                let seconds = self.timeout.as_secs_f32();
                format!("did not answer `{method}` within {seconds} s{complaint}")
            }
        }
    }

    /// Returns a clause with what the program printed on standard error.
    fn complaint(&self) -> String {
        match most_useful_line(&self.stderr) {
            Some(line) => format!("; standard error: {line}"),
            None => String::new(),
        }
    }
}

/// Returns the result of the response with this id. A request of the server may have the same id,
/// but it has a method.
fn result_of(messages: &[Value], id: u64) -> Option<&Value> {
    let response = messages
        .iter()
        .find(|message| message["id"] == id && message.get("method").is_none())?;
    response.get("result")
}

/// Returns the line of an output that most likely says what is wrong: the first that begins with
/// `error`, else the last that is not empty. Its control characters are escaped.
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
    Some(printable(useful_line?).chars().take(MAX_SHOWN).collect())
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

/// Kills a program and its process group, in which it may leave others when it ends. The calls fail
/// if there is nothing left to kill, which is as good.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    let _ = child.kill();
    let _ = child.wait();
}

/// Writes the input of a program in a thread, because the program may never read it. `stream` is
/// its standard input, which [`spawn`] has made a pipe, so it is never `None`.
fn write_in_background(stream: Option<impl Write + Send + 'static>, input: String) {
    std::thread::spawn(move || {
        if let Some(mut stream) = stream {
            // An error means that the program ended before it read all of its input.
            let _ = stream.write_all(input.as_bytes());
        }
    });
}

/// Reads an output of the started program in a thread, and sends its first [`MAX_OUTPUT`] bytes
/// once they, or all of it, are read.
///
/// `stream` is the standard output or error, which [`spawn`] has made a pipe, so it is never `None`.
fn read_in_background(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut output = Vec::new();
        // What was read before an error counts.
        let _ = stream.by_ref().take(MAX_OUTPUT).read_to_end(&mut output);
        let _ = sender.send(output); // nobody may wait for it any more
        // The program would wait forever if nobody read the rest.
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    receiver
}

/// Returns an output that [`read_in_background`] reads, once its program has ended or was killed.
/// Returns an empty text if something else keeps the output open for longer than
/// [`END_OF_OUTPUT`].
fn received_text(output: &Receiver<Vec<u8>>) -> String {
    let bytes = output.recv_timeout(END_OF_OUTPUT).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"version":"0.0.1"}}}"#;

    fn ended(stdout: &str, stderr: &str) -> EndedProgram {
        EndedProgram {
            status: Some(ExitStatus::default()),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            timeout: Duration::from_secs(2),
            took: Duration::ZERO,
        }
    }

    #[test]
    fn a_server_answers_with_its_version_and_its_prompts() {
        let listed = r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"prompts":[1]}}}"#;
        let answer = ended(&format!("\n{OPENED}\n{listed}\n"), "careful\n")
            .server_answer()
            .unwrap();
        assert_eq!((answer.version.as_str(), answer.prompts), ("0.0.1", 1));
        assert_eq!(answer.complaint.as_deref(), Some("careful"));
    }

    #[test]
    fn what_is_no_server_of_prompts_is_unusable_and_says_why() {
        let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}"#;
        let empty = format!("{OPENED}\n{}", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
        for (stdout, stderr, problem) in [
            ("hello", "", "prints what is not a message: `hello`"),
            (
                "",
                "ERROR: no such thing\nbye\n",
                "ended (exit status: 0) without an answer to `initialize`; standard error: ERROR: no such thing",
            ),
            (
                refusal,
                "",
                "ended (exit status: 0) without an answer to `initialize`",
            ),
            (
                OPENED,
                "",
                "ended (exit status: 0) without an answer to `tools/call`",
            ),
            (&empty, "", "lists no prompts, so it is not prompt-expander"),
        ] {
            let answer = ended(stdout, stderr).server_answer();
            assert_eq!(answer.unwrap_err(), problem);
        }
        let mut killed = ended("", "");
        killed.status = None;
        let failure = killed.failure();
        assert_eq!(failure.as_deref(), Some("did not end within 2 s"));
        assert_eq!(
            killed.server_answer().unwrap_err(),
            "did not answer `initialize` within 2 s"
        );
    }
}
