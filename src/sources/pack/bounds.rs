//! Limits on what git may take while it fetches from an untrusted server.

use super::processes::ProcessTree;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{format_size, in_backticks, quoted};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;
use walkdir::WalkDir;

/// How often the bounds are checked while git runs.
const LOOK: Duration = Duration::from_millis(100);

/// The file to which git writes its packets ([`Meter::is_connected`]).
pub(super) const PACKETS: &str = "packets";

/// What git may take, with all processes that it starts.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes of the repository, with all that git writes.
    pub(crate) disk: u64,
    /// Bytes of resident memory.
    pub(crate) memory: u64,
    /// How long it may write nothing once it has a connection.
    pub(crate) silence: Duration,
    /// How long it may take for a pack.
    pub(crate) total: Duration,
}

/// The bounds for any pack.
pub(crate) const BOUNDS: Bounds = Bounds {
    disk: 256 * 1024 * 1024,
    memory: 1024 * 1024 * 1024,
    silence: Duration::from_secs(60),
    total: Duration::from_secs(600),
};

/// What git is started for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitTask {
    /// It connects to the server.
    Fetch,
    /// It works on what is here.
    Local,
}

/// Checks the bounds for one pack.
pub(crate) struct Meter<'m> {
    /// The folder with all that git writes.
    pub(crate) folder: &'m Path,
    /// The address of the repository, for messages.
    pub(crate) address: &'m str,
    pub(crate) bounds: Bounds,
    /// When the first command for this pack was started.
    pub(crate) started: Instant,
}

impl Meter<'_> {
    /// Waits until git exits. If it exceeds a bound, it is killed with its child processes.
    ///
    /// # Errors
    /// Git has exceeded a bound.
    pub(super) fn wait(&self, git: &mut Child, task: GitTask) -> Result<ExitStatus, Diagnostic> {
        let mut written = 0;
        let mut progressed = Instant::now();
        loop {
            if let Some(status) = git.wait_timeout(LOOK).map_err(failed)? {
                return Ok(status);
            }
            let processes = ProcessTree::of(git);
            let size = self.disk();
            // Until there is a connection, git may wait for a person who enters a passphrase, which
            // is no stall.
            if size != written || (task == GitTask::Fetch && !self.is_connected()) {
                progressed = Instant::now();
                written = size;
            }
            if let Some(excess) = self.excess(size, processes.memory, progressed) {
                processes.end(git);
                return Err(excess);
            }
        }
    }

    /// Returns the error for the first bound that is exceeded. `disk` and `memory` are in bytes;
    /// `progressed` is when git last wrote something.
    fn excess(&self, disk: u64, memory: u64, progressed: Instant) -> Option<Diagnostic> {
        let bounds = &self.bounds;
        if disk > bounds.disk {
            return Some(too_much(self.address, &format_size(bounds.disk as usize)));
        }
        if memory > bounds.memory {
            let limit = format_size(bounds.memory as usize);
            let message = format!("takes more than {limit} of memory in git");
            return Some(self.too_long(&message, CHOOSE));
        }
        if progressed.elapsed() > bounds.silence {
            let seconds = bounds.silence.as_secs();
            let message = format!("has sent nothing for {seconds} s");
            return Some(self.too_long(&message, "try again later"));
        }
        if self.started.elapsed() > bounds.total {
            let minutes = bounds.total.as_secs() / 60;
            let message = format!("takes more than {minutes} minutes to fetch");
            let fix = "try again with a faster connection, or ask its owner for a smaller one";
            return Some(self.too_long(&message, fix));
        }
        None
    }

    /// Returns the error for a repository that exceeds a bound. `message` follows its address.
    fn too_long(&self, message: &str, fix: &str) -> Diagnostic {
        let message = format!("{} {message}", in_backticks(self.address));
        Diagnostic::new(Kind::TooLong, message, fix)
    }

    /// Returns whether git has a connection: it has written a packet of the protocol to the file
    /// `GIT_TRACE_PACKET`.
    fn is_connected(&self) -> bool {
        fs::metadata(self.folder.join(PACKETS)).is_ok_and(|file| file.len() > 0)
    }

    /// Returns the bytes of all files in the folder.
    fn disk(&self) -> u64 {
        let mut bytes = 0;
        for entry in WalkDir::new(self.folder).into_iter().flatten() {
            if let Ok(file) = entry.metadata()
                && file.is_file()
            {
                bytes += file.len();
            }
        }
        bytes
    }
}

/// What to do about a pack that is too large.
const CHOOSE: &str = "choose less with `--path` or `--only`";

/// Returns the error for a repository or a text that exceeds a limit.
pub(super) fn too_much(what: &str, limit: &str) -> Diagnostic {
    let message = format!("{} has more than {limit}", quoted(what));
    Diagnostic::new(Kind::TooLong, message, CHOOSE)
}

/// Returns the error if git, or the file with its input, cannot be used.
pub(crate) fn failed(error: io::Error) -> Diagnostic {
    let fix = if error.kind() == ErrorKind::NotFound {
        "install git"
    } else {
        "remove the cause, and try again"
    };
    let message = format!("git cannot be used: {error}");
    Diagnostic::new(Kind::Invalid, message, fix)
}
