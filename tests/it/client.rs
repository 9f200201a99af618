//! The harness: a prompts directory of its own, and the real program on it.
//!
//! A test creates a [`Client`], writes files, and sends requests. The server starts with the first
//! request. When the client is dropped, it closes the server's input, and the test fails if the
//! server printed anything that the test did not read, on standard output or on standard error, or
//! did not exit with status 0. Notifications are read separately from answers:
//! [`Client::notification`] waits for one. A test that has waited for one must read all of them;
//! other tests may change files and ignore notifications.
//!
//! ```ignore
//! let mut client = Client::new().prompt("review.md", "Review this.");
//! client.expand("review", "x = 1").text("Review this.\n\nx = 1");
//! ```

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// The protocol version of a conversation, unless the test says otherwise.
pub(crate) const LEGACY: &str = "2025-11-25";

/// A prompt with an argument whose choices are strict, and one whose choices are not.
pub(crate) const AUDIT: &str = "---\narguments:\n  - {name: level, choices: [low, high], strict: true}\n  \
                                - {name: tone, choices: [calm]}\n---\nAudit: {{level}}, {{tone}}";

/// A server that does not answer for this long hangs; even a slow machine needs less.
const HANG: Duration = Duration::from_secs(120);

pub(crate) struct Client {
    dir: TempDir,
    arguments: Option<Vec<String>>,
    variables: Vec<(String, String)>,
    /// The working directory of the program, relative to `dir`.
    folder: String,
    /// A copy of the program, run as this user.
    other_user: Option<(PathBuf, u32)>,
    /// What a shell runs before the program.
    script: Option<String>,
    server: Option<Running>,
    next_id: u64,
    stderr: Option<String>,
    /// Whether the test must read all notifications.
    must_read_notifications: bool,
}

struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Answers.
    lines: Receiver<Vec<u8>>,
    notifications: Receiver<Value>,
    stderr: Option<JoinHandle<String>>,
}

/// The params of a modern request: with the metadata that 2026-07-28 requires.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// The `_meta` of a prompt whose file has this text, and that says nothing else of itself.
pub(crate) fn revision_meta(file: &str) -> Value {
    json!({"io.github.prompt-expander/revision": prompt_expander::prompt::Revision::of_contents(file.as_bytes())})
}

impl Client {
    /// An empty prompts directory, and no shipped prompts.
    pub(crate) fn new() -> Client {
        let client = Client {
            dir: TempDir::new().unwrap(),
            arguments: None,
            variables: Vec::new(),
            folder: String::new(),
            other_user: None,
            script: None,
            server: None,
            next_id: 1,
            stderr: Some(String::new()),
            must_read_notifications: false,
        };
        fs::create_dir(client.prompts()).unwrap();
        client
    }

    /// The prompts directory.
    pub(crate) fn prompts(&self) -> PathBuf {
        self.root().join("prompts")
    }

    /// The directory that holds it, and is also home and working directory of the program.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// The path of a file in that directory.
    pub(crate) fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.root().join(file)
    }

    /// The text of a file in that directory.
    #[track_caller]
    pub(crate) fn text(&self, file: impl AsRef<Path>) -> String {
        let path = self.path(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file in that directory, and creates its folders. Returns its path.
    pub(crate) fn put(&self, file: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Creates a folder in that directory, with those above it. Returns its path.
    pub(crate) fn make_folder(&self, folder: impl AsRef<Path>) -> PathBuf {
        let path = self.path(folder);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Creates a symlink in that directory, and the folders above it.
    #[cfg(unix)]
    pub(crate) fn link(&self, target: impl AsRef<Path>, link: impl AsRef<Path>) {
        let link = self.path(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }

    /// Puts a file into the prompts directory, at any time.
    pub(crate) fn prompt(self, file: &str, text: impl AsRef<[u8]>) -> Client {
        self.write(file, text);
        self
    }

    /// The same, while the server runs.
    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        self.put(Path::new("prompts").join(file), text);
    }

    /// The same in one step, as most editors save: whoever looks sees the old file or the new one.
    pub(crate) fn save(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.prompts().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(self.put("draft", text), path).unwrap();
    }

    /// These arguments instead of `--no-builtin --prompts prompts`.
    pub(crate) fn arguments<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Client {
        self.arguments = Some(arguments.into_iter().map(str::to_owned).collect());
        self
    }

    /// The program works in this folder below its directory, which is made if it is not there.
    pub(crate) fn working_in(mut self, folder: &str) -> Client {
        self.make_folder(folder);
        folder.clone_into(&mut self.folder);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Client {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What the server must have said on standard error when it ends; `None` does not look.
    pub(crate) fn stderr(mut self, want: Option<&str>) -> Client {
        self.stderr = want.map(str::to_owned);
        self
    }

    /// Runs the program as a user for whom permissions count: as `nobody`, if the tests run as
    /// root.
    #[cfg(unix)]
    pub(crate) fn unprivileged(self) -> Client {
        self.run_by(65534)
    }

    /// Runs the program as this user, if the tests run as root.
    #[cfg(unix)]
    pub(crate) fn run_by(mut self, user: u32) -> Client {
        if self.is_root() {
            // What cargo built may be in a folder that only root can read.
            let program = self.root().join("prompt-expander");
            // By another process: a child that another test starts would inherit an open file of
            // this one, which then could not be run.
            let copied = Command::new("cp")
                .arg(env!("CARGO_BIN_EXE_prompt-expander"))
                .arg(&program)
                .status()
                .unwrap();
            assert!(copied.success());
            set_mode(self.root(), 0o755);
            self.other_user = Some((program, user));
        }
        self
    }

    /// Runs the program without `HOME`, as a user the system does not know. `None` if the tests do
    /// not run as root: the program would find the home directory of whoever runs them.
    #[cfg(unix)]
    pub(crate) fn without_home(self) -> Option<Client> {
        if !self.is_root() {
            return None;
        }
        let client = self.run_by(1_234_567).after("unset HOME XDG_CONFIG_HOME");
        set_mode(client.path(&client.folder), 0o777);
        Some(client)
    }

    /// Whether the tests run as root.
    #[cfg(unix)]
    pub(crate) fn is_root(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(self.root()).unwrap().uid() == 0
    }

    /// Runs this in a shell before the program, such as `ulimit -n 7` or `exec 2>&-`.
    #[cfg(unix)]
    pub(crate) fn after(mut self, script: &str) -> Client {
        self.script = Some(script.to_owned());
        self
    }

    /// The program in this client's environment, without arguments.
    pub(crate) fn command(&self) -> Command {
        let program = match &self.other_user {
            None => Path::new(env!("CARGO_BIN_EXE_prompt-expander")),
            Some((program, _)) => program,
        };
        let mut command = match &self.script {
            None => Command::new(program),
            Some(script) => {
                let mut command = Command::new("sh");
                command
                    .args(["-c", &format!("{script}; exec \"$0\" \"$@\"")])
                    .arg(program);
                command
            }
        };
        #[cfg(unix)]
        if let Some((_, user)) = self.other_user {
            std::os::unix::process::CommandExt::uid(&mut command, user);
        }
        command
            .current_dir(self.root().join(&self.folder))
            .env("HOME", self.root())
            .env_remove("XDG_CONFIG_HOME");
        command
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME");
        command
            .env_remove("PROMPT_EXPANDER_PROMPTS")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        command
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("GEMINI_CLI_HOME");
        for variable in ["QWEN_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR"] {
            command.env_remove(variable);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The arguments that name the library.
    pub(crate) fn library_arguments(&self) -> Vec<String> {
        self.arguments.clone().unwrap_or_else(|| {
            ["--no-builtin", "--prompts", "prompts"]
                .map(str::to_owned)
                .to_vec()
        })
    }

    /// Runs the words of a line, divided at spaces, with an empty standard input.
    pub(crate) fn words(&self, line: &str) -> Ran {
        self.run(line.split_whitespace(), "")
    }

    /// Runs a command on this client's library, with this standard input.
    pub(crate) fn run<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        stdin: impl AsRef<[u8]>,
    ) -> Ran {
        let mut command = self.command();
        command.args(self.library_arguments()).args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let stdin = stdin.as_ref().to_vec();
        // It may end without reading all of it, which is its right.
        let writer = std::thread::spawn(move || _ = input.write_all(&stdin));
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran {
            status,
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    fn server(&mut self) -> &mut Running {
        if self.server.is_none() {
            let mut command = self.command();
            command.args(self.library_arguments());
            self.server = Some(Running::start(command));
        }
        self.server.as_mut().unwrap()
    }

    /// Writes bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.server().stdin.as_mut().expect("the input is open");
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// Reads one line and holds it to the rules for every line: it ends in `\n`, it is one JSON
    /// object (or, in a batch, an array of such) without a `null` member but the id of an error.
    pub(crate) fn read(&mut self) -> Value {
        let text = &self.read_raw();
        let value: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        for message in value.as_array().unwrap_or(&vec![value.clone()]) {
            assert_eq!(message["jsonrpc"], "2.0", "{text}");
            assert!(
                message.get("result").is_some() != message.get("error").is_some(),
                "{text}"
            );
            let mut rest = message.clone();
            rest.as_object_mut().unwrap().remove("id");
            assert!(!has_null(&rest), "a null member: {text}");
        }
        value
    }

    /// Reads one line as it is, `\n` included.
    pub(crate) fn read_raw(&mut self) -> String {
        let line = self.server().lines.recv_timeout(HANG).expect("an answer");
        let text = String::from_utf8(line).expect("UTF-8");
        assert!(text.ends_with('\n'), "the end of the output: {text:?}");
        text
    }

    /// Writes a line, reads the answer.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> Value {
        self.send(format!("{}\n", line.as_ref()));
        self.read()
    }

    /// Sends a request, gives the answer without its envelope: `{"result": …}` or `{"error": …}`.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let mut answer = self.line(
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        let object = answer.as_object_mut().unwrap();
        assert_eq!(object.remove("id"), Some(id.into()));
        object.remove("jsonrpc");
        answer
    }

    /// Sends a request that succeeds. Returns its result.
    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Opens the conversation with a legacy revision.
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let result = self.shake_hands(version);
        self.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        result
    }

    /// The same without the notification that ends the handshake.
    pub(crate) fn shake_hands(&mut self, version: &str) -> Value {
        self.introduce(version, "it")
    }

    /// The same as a client that calls itself `name`.
    pub(crate) fn introduce(&mut self, version: &str, name: &str) -> Value {
        let answer = self.request(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}),
        );
        answer["result"].clone()
    }

    /// Calls a tool that must not fail as a request.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Called {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        Called(
            answer
                .get("result")
                .unwrap_or_else(|| panic!("{answer}"))
                .clone(),
        )
    }

    pub(crate) fn expand(&mut self, command: &str, input: &str) -> Called {
        self.call("expand_prompt", json!({"command": command, "input": input}))
    }

    /// What `list_prompts` gives: the structured content.
    pub(crate) fn list(&mut self) -> Value {
        self.call("list_prompts", json!({})).structured()
    }

    /// The names that `list_prompts` gives, separated by spaces.
    pub(crate) fn names(&mut self) -> String {
        names(&self.list()["prompts"])
    }

    /// Waits for a notification: its method without `notifications/`, and its params.
    pub(crate) fn notification(&mut self) -> (String, Value) {
        self.must_read_notifications = true;
        method_and_params(
            &self
                .server()
                .notifications
                .recv_timeout(HANG)
                .expect("a notification"),
        )
    }

    /// Waits for this many notifications, in any order: their methods, sorted, with the URI of a
    /// resource.
    pub(crate) fn notifications(&mut self, count: usize) -> Vec<String> {
        let notifications = (0..count).map(|_| {
            let (method, params) = self.notification();
            params.get("uri").map_or(method.clone(), |uri| {
                format!("{method} {}", uri.as_str().unwrap())
            })
        });
        let mut notifications: Vec<String> = notifications.collect();
        notifications.sort();
        notifications
    }

    /// Ignores the notifications from now on.
    pub(crate) fn ignore_notifications(&mut self) {
        self.must_read_notifications = false;
    }

    /// The server must not answer these lines: the next answer is that to a ping.
    #[track_caller]
    pub(crate) fn silent(&mut self, lines: &str) {
        self.send(format!(
            "{lines}\n{{\"jsonrpc\":\"2.0\",\"id\":\"silence\",\"method\":\"ping\"}}\n"
        ));
        assert_eq!(self.read()["id"], "silence", "an answer to {lines}");
    }

    /// The number of the server's process.
    #[cfg(target_os = "linux")]
    pub(crate) fn pid(&mut self) -> u32 {
        self.server().child.id()
    }

    /// The most memory that the server has had so far.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak_memory_kib(&mut self) -> u64 {
        memory_kib(self.pid(), "VmHWM")
    }

    /// Closes the input and waits for the end: what else was said, the status, and the standard
    /// error.
    pub(crate) fn finish(&mut self) -> (String, ExitStatus, String) {
        self.server().finish()
    }
}

/// One of the figures that the kernel gives of a process's memory, by its name in proc(5).
#[cfg(target_os = "linux")]
pub(crate) fn memory_kib(pid: u32, figure: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))
        .unwrap();
    value.trim().trim_end_matches(" kB").parse().unwrap()
}

fn method_and_params(notification: &Value) -> (String, Value) {
    let method = notification["method"]
        .as_str()
        .unwrap()
        .strip_prefix("notifications/")
        .unwrap()
        .to_owned();
    (
        method,
        notification.get("params").cloned().unwrap_or_default(),
    )
}

/// The notification in a line, if it is one; fails if it breaks the rules for notifications.
fn notification(line: &[u8]) -> Option<Value> {
    if line.starts_with(br#"{"jsonrpc":"2.0","id":"#) || line.starts_with(b"[") {
        return None; // an answer, which may be long
    }
    let value: Value = serde_json::from_slice(line).ok()?;
    let keys: Vec<&String> = value.as_object()?.keys().collect();
    let is_one = value.get("method").is_some() && value.get("id").is_none();
    assert!(
        !is_one || keys == ["jsonrpc", "method"] || keys == ["jsonrpc", "method", "params"],
        "{value}"
    );
    assert!(
        !is_one || (value["jsonrpc"] == "2.0" && !has_null(&value)),
        "{value}"
    );
    is_one.then_some(value)
}

impl Running {
    fn start(mut command: Command) -> Running {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        let (notify, notifications) = channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
                let line = std::mem::take(&mut line);
                _ = match notification(&line) {
                    Some(notification) => notify.send(notification).is_ok(),
                    None => sender.send(line).is_ok(),
                };
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Running {
            stdin: child.stdin.take(),
            child,
            lines,
            notifications,
            stderr: Some(stderr),
        }
    }

    fn finish(&mut self) -> (String, ExitStatus, String) {
        drop(self.stdin.take());
        let mut rest = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(HANG) {
            rest.extend(line);
        }
        let status = self.child.wait().unwrap();
        let stderr = self
            .stderr
            .take()
            .map_or_else(String::new, |thread| thread.join().unwrap());
        (String::from_utf8_lossy(&rest).into_owned(), status, stderr)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        if std::thread::panicking() {
            _ = server.child.kill();
            return;
        }
        if server.stderr.is_none() {
            return; // the test has ended it
        }
        let (rest, status, stderr) = server.finish();
        assert_eq!(rest, "", "the server printed what the test did not read");
        let unread: Vec<Value> = server
            .notifications
            .try_iter()
            .filter(|_| self.must_read_notifications)
            .collect();
        assert_eq!(
            unread,
            [Value::Null; 0],
            "the server sent notifications that the test did not read"
        );
        assert!(status.success(), "{status}: {stderr}");
        if let Some(want) = &self.stderr {
            assert_eq!(&stderr, want, "standard error");
        }
    }
}

/// The result of `tools/call`.
#[derive(Debug)]
pub(crate) struct Called(pub(crate) Value);

impl Called {
    /// A success: both copies of the content are equal, and there is nothing else.
    #[track_caller]
    pub(crate) fn structured(self) -> Value {
        let keys: Vec<&String> = self.0.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["content", "structuredContent"], "{}", self.0);
        let content = self.0["content"].as_array().unwrap();
        assert_eq!(
            (content.len(), &content[0]["type"]),
            (1, &"text".into()),
            "{}",
            self.0
        );
        let text: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, self.0["structuredContent"]);
        text
    }

    /// An expansion to this text.
    #[track_caller]
    pub(crate) fn text(self, want: &str) {
        assert_eq!(self.structured(), json!({ "prompt": want }));
    }

    /// A tool execution error: one text, no structured content. Returns the text.
    #[track_caller]
    pub(crate) fn error(self) -> String {
        let message = self.0["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(
            self.0,
            json!({"content": [{"type": "text", "text": message}], "isError": true})
        );
        message
    }
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It succeeded, and printed exactly this.
    #[track_caller]
    pub(crate) fn printed(self, want: &str) {
        assert_eq!(
            (self.status.code(), self.stderr.as_str()),
            (Some(0), ""),
            "{}",
            self.stdout
        );
        assert_eq!(self.stdout, want);
    }

    /// It succeeded, and printed exactly this on standard error.
    #[track_caller]
    pub(crate) fn said(self, want: &str) {
        assert_eq!(
            (self.status.code(), self.stdout.as_str()),
            (Some(0), ""),
            "{}",
            self.stderr
        );
        assert_eq!(self.stderr, want);
    }

    /// It ended with this status, and all of these are in what it printed.
    #[track_caller]
    pub(crate) fn says(&self, status: i32, parts: &[&str]) {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        for part in parts {
            assert!(
                self.stdout.contains(part) || self.stderr.contains(part),
                "{part:?} is not in {self:?}"
            );
        }
    }

    /// It failed with this status, and printed exactly this on standard error.
    #[track_caller]
    pub(crate) fn failed(self, status: i32, want: &str) {
        assert_eq!(
            (self.status.code(), self.stdout.as_str()),
            (Some(status), ""),
            "{}",
            self.stderr
        );
        assert_eq!(self.stderr, want);
    }
}

/// Returns the names of the prompts or tools of a list, separated by spaces.
#[track_caller]
pub(crate) fn names(list: &Value) -> String {
    let entries = list.as_array().unwrap().iter();
    let names: Vec<&str> = entries
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    names.join(" ")
}

/// Fails, and shows the text, unless this is a part of it.
#[track_caller]
pub(crate) fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in {text}");
}

/// Waits until a file, or everything below a folder, is old enough to be cached
/// (`src/library/disk/cache.rs`). No event marks that moment.
#[cfg(unix)]
pub(crate) fn settle(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, SystemTime};
    fn newest(path: &Path) -> i64 {
        let of_entries = fs::read_dir(path)
            .into_iter()
            .flatten()
            .map(|entry| newest(&entry.unwrap().path()))
            .max();
        fs::metadata(path)
            .map_or(0, |metadata| metadata.ctime())
            .max(of_entries.unwrap_or_default())
    }
    let settled =
        SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(newest(path)).unwrap() + 4);
    std::thread::sleep(
        settled
            .duration_since(SystemTime::now())
            .unwrap_or_default(),
    );
}

/// A `PATH` on which the program is found by its name.
#[cfg(unix)]
pub(crate) fn search_path() -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_prompt-expander"))
        .parent()
        .unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// Changes the permissions of a file or folder.
#[cfg(unix)]
pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
pub(crate) fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(values) => values.values().any(has_null),
        _ => false,
    }
}

/// Compares with a file below `tests/`, or rewrites it if `UPDATE` is set.
#[track_caller]
pub(crate) fn golden(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(file);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let want = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run with UPDATE=1", path.display()));
    if text != want {
        let equal = text
            .lines()
            .zip(want.lines())
            .take_while(|(a, b)| a == b)
            .count();
        let (is, was) = (text.lines().nth(equal), want.lines().nth(equal));
        panic!(
            "{}:{}: differs; run with UPDATE=1 and look at the difference\n  is: {is:?}\n was: {was:?}",
            path.display(),
            equal + 1
        );
    }
}
