//! Registered programs, which may be any programs: started in a process group of their own, waited for with a timeout, and
//! killed with all that they started.

use crate::wording::printable;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// How many bytes at the end of an output are stored: more than the longest answer of a hook, which is a megabyte before JSON
/// escapes each byte as six.
const MAX_OUTPUT: usize = 8 * 1024 * 1024;

/// The longest line of an output that is shown, in characters.
const MAX_SHOWN: usize = 200;

/// How long to wait for the end of an output after its program was killed: something that has left the process group may
/// have it open.
const END_OF_OUTPUT: Duration = Duration::from_secs(1);

/// Starts a program with a pipe for each of its streams.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Its exit status, if it ends in time.
pub(super) fn wait(child: &mut Child, timeout: Duration) -> Option<ExitStatus> {
    child.wait_timeout(timeout).ok().flatten()
}

/// Kills it and its process group, in which it may leave others when it ends.
pub(super) fn kill(child: &mut Child) {
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

/// The output of a program, read by a thread so that the program never waits.
pub(super) struct Output(Receiver<Vec<u8>>);

impl Output {
    pub(super) fn read(stream: Option<impl Read + Send + 'static>) -> Output {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let (mut text, mut piece) = (Vec::new(), [0; 4096]);
            let Some(mut stream) = stream else { return };
            while let Ok(length @ 1..) = stream.read(&mut piece) {
                text.extend_from_slice(&piece[..length]);
                // Seldom, since the rest has to move each time.
                if text.len() > 2 * MAX_OUTPUT {
                    text.drain(..text.len() - MAX_OUTPUT);
                }
            }
            let _ = sender.send(text);
        });
        Output(receiver)
    }

    /// All of it, once the program is killed.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.recv_timeout(END_OF_OUTPUT).unwrap_or_default()).into_owned()
    }

    /// The most informative line, ready to be printed: the first that begins with `error`, else the last that is not empty.
    pub(super) fn line(&self) -> Option<String> {
        let text = self.text();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_error = |line: &&str| line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
        let line = printable(lines.clone().find(is_error).or_else(|| lines.next_back())?);
        let cut = line.char_indices().nth(MAX_SHOWN).map(|(at, _)| format!("{}…", &line[..at]));
        Some(cut.unwrap_or(line))
    }
}

/// A program that has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    /// See [`Output::line`].
    pub(super) stderr: Option<String>,
    pub(super) took: Duration,
}

/// Runs a program to its end. `None`: it did not end in time.
pub(super) fn run(command: &mut Command, stdin: &str, timeout: Duration) -> io::Result<Option<Ended>> {
    let began = Instant::now();
    let mut child = spawn(command)?;
    let (stdout, stderr) = (Output::read(child.stdout.take()), Output::read(child.stderr.take()));
    let input = child.stdin.take();
    let text = stdin.to_owned();
    // It may end without reading it, or never read it.
    std::thread::spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
    let status = wait(&mut child, timeout);
    let took = began.elapsed();
    kill(&mut child);
    Ok(status.map(|status| Ended { status, stdout: stdout.text(), stderr: stderr.line(), took }))
}
