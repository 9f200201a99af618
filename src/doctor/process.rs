//! Programs that somebody else registered: started in a group of their own, waited for so long and no longer, and killed with
//! all that they started.

use crate::wording::printable;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So much of what a program says is kept, its end: more than the longest answer of a hook, a megabyte in which JSON writes each
/// byte as six.
const KEPT: usize = 8 * 1024 * 1024;

/// So many characters of a line that a program said are repeated.
const SHOWN: usize = 200;

/// How long is waited for the end of what a dead program has said: something that it started may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Starts a program with a pipe for each of its streams.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Its exit status, if it ends in time.
pub(super) fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_micros(200);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(pause),
            _ => return None,
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Ends it, if it has not ended yet, and what it started: a program that ends may leave others behind in its group, whose
/// number is taken as long as they live.
pub(super) fn kill(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

/// Sends it a signal that it may heed.
#[cfg(unix)]
pub(super) fn signal(child: &Child, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
}

/// How a program ended, as in "ended with status 1".
pub(super) fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("by signal {signal}");
    }
    status.code().map_or_else(|| status.to_string(), |code| format!("with status {code}"))
}

/// What a program says on a stream, as far as it is kept.
pub(super) struct Said {
    text: Arc<Mutex<Vec<u8>>>,
    /// Is disconnected at the end of the stream.
    end: Receiver<()>,
}

impl Said {
    /// Reads it from now on.
    pub(super) fn by(stream: Option<impl Read + Send + 'static>) -> Said {
        let text: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (sender, end) = channel::<()>();
        let keeper = Arc::clone(&text);
        std::thread::spawn(move || {
            let _at_the_end = sender;
            let mut piece = [0; 4096];
            let Some(mut stream) = stream else { return };
            while let Ok(length @ 1..) = stream.read(&mut piece) {
                let mut text = keeper.lock().unwrap_or_else(PoisonError::into_inner);
                text.extend_from_slice(&piece[..length]);
                // Seldom, since the rest has to move each time.
                if text.len() > 2 * KEPT {
                    let surplus = text.len() - KEPT;
                    text.drain(..surplus);
                }
            }
        });
        Said { text, end }
    }

    /// All of it, of a program that has ended.
    pub(super) fn text(&self) -> String {
        let _ = self.end.recv_timeout(LAST_WORDS);
        String::from_utf8_lossy(&self.text.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// The line that says most: the first that begins with `error`, else the last that holds something; fit to be printed. What is
    /// longer than 200 characters ends in `…`.
    pub(super) fn line(&self) -> Option<String> {
        let text = self.text();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_error = |line: &&str| line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
        let line = printable(lines.clone().find(is_error).or_else(|| lines.next_back())?);
        let cut = line.char_indices().nth(SHOWN).map(|(at, _)| format!("{}…", &line[..at]));
        Some(cut.unwrap_or(line))
    }
}

/// What a program did that was given something to read.
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    /// What it said on standard error, in a line.
    pub(super) said: Option<String>,
    pub(super) took: Duration,
}

/// Runs a program to its end. `None`: it did not end in time.
pub(super) fn run(command: &mut Command, stdin: &str, patience: Duration) -> io::Result<Option<Ran>> {
    let began = Instant::now();
    let mut child = spawn(command)?;
    let (stdout, stderr) = (Said::by(child.stdout.take()), Said::by(child.stderr.take()));
    let input = child.stdin.take();
    let text = stdin.to_owned();
    // It may end without reading it, which is its right, or never read it.
    std::thread::spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
    let status = wait(&mut child, patience);
    let took = began.elapsed();
    kill(&mut child);
    Ok(status.map(|status| Ran { status, stdout: stdout.text(), said: stderr.line(), took }))
}
