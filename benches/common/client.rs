//! The other end of the pipes: lines are written as they are, and as many are read as there must be
//! answers.

use serde_json::json;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The program on a folder of prompts. It has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

/// A line that asks for an expansion. All requests have the same id: one is answered before the
/// next is made, or all answers are the same.
pub(crate) fn expand(name: &str, input: &str) -> String {
    let arguments = json!({"command": name, "input": input});
    request(
        "tools/call",
        &json!({"name": "expand_prompt", "arguments": arguments}),
    )
}

/// A line that asks for the list of all prompts.
pub(crate) fn list() -> String {
    request(
        "tools/call",
        &json!({"name": "list_prompts", "arguments": {}}),
    )
}

fn request(method: &str, params: &serde_json::Value) -> String {
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    )
}

impl Client {
    /// Starts the program, with these words before it, which may be none.
    pub(crate) fn start<W: AsRef<OsStr>>(before: &[W], prompts: &Path) -> Client {
        let program = super::program();
        let mut words = before
            .iter()
            .map(AsRef::as_ref)
            .chain([program.as_os_str()]);
        let mut command = Command::new(words.next().expect("a program"));
        command
            .args(words)
            .arg("--no-builtin")
            .arg("--prompts")
            .arg(prompts);
        // What the environment holds is not to count. Without a home, the system's list of users
        // would be read for it.
        command.env_clear().env("HOME", prompts);
        command.envs(
            ["PATH", "SystemRoot"].map(|name| (name, std::env::var_os(name).unwrap_or_default())),
        );
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = server.stdout.take().expect("its output");
        let stdin = server.stdin.take();
        Client {
            server,
            stdin,
            stdout: BufReader::with_capacity(64 * 1024, stdout),
            line: Vec::new(),
        }
    }

    /// Opens the conversation.
    pub(crate) fn initialize(&mut self) {
        let client = json!({"name": "benches", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        self.ask_well(&request("initialize", &params));
    }

    /// Ends the handshake and lists the prompts, so that the program watches the folder.
    pub(crate) fn initialized(&mut self) {
        self.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        self.ask_well(&request("prompts/list", &json!({})));
        // The notifier has read the folder by then.
        std::thread::sleep(std::time::Duration::from_millis(200));
    }

    /// Writes lines, and reads this many; gives the last.
    pub(crate) fn ask(&mut self, lines: &str, answers: usize) -> &[u8] {
        self.write(lines);
        for _ in 0..answers {
            self.line.clear();
            self.stdout
                .read_until(b'\n', &mut self.line)
                .expect("an answer");
        }
        &self.line
    }

    /// Asks one thing, and looks whether it went well.
    pub(crate) fn ask_well(&mut self, line: &str) -> &[u8] {
        self.ask(line, 1);
        let answer: serde_json::Value =
            serde_json::from_slice(&self.line).expect("one line of JSON");
        assert!(
            answer["result"].is_object() && answer["result"]["isError"] != true,
            "{answer}"
        );
        &self.line
    }

    fn write(&mut self, lines: &str) {
        self.stdin
            .as_mut()
            .expect("it is open")
            .write_all(lines.as_bytes())
            .expect("the program reads");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let status = self.server.wait().expect("the program ends");
        assert!(status.success() || std::thread::panicking(), "{status}");
    }
}
