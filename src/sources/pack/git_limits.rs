//! Limits for git while it talks to a server that we don't trust.

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

/// How often the limits are checked while git runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The file, in [`GitWatchdog::folder`], to which git logs the packets of its protocol.
pub(super) const PACKET_LOG: &str = "packets";

/// What helps if a repository exceeds a limit. `--path` and `--only` do not: git fetches all files.
const SMALLER_REPOSITORY: &str = "ask the owner to move the prompts to a smaller repository";

/// How to make a pack smaller.
const SELECT_LESS: &str = "select fewer files with `--path` or `--only`";

/// The resources that git and its child processes may use.
#[derive(Clone, Copy)]
pub(crate) struct GitLimits {
    /// The total size of the files that git writes.
    pub(crate) disk_bytes: u64,
    /// Resident memory.
    pub(crate) memory_bytes: u64,
    /// How long git may write nothing once it is connected.
    pub(crate) idle_timeout: Duration,
    /// The time for all commands of one pack together.
    pub(crate) total_timeout: Duration,
}

pub(crate) const GIT_LIMITS: GitLimits = GitLimits {
    disk_bytes: 256 * 1024 * 1024,
    memory_bytes: 1024 * 1024 * 1024,
    idle_timeout: Duration::from_secs(60),
    total_timeout: Duration::from_secs(600),
};

/// How far a git command is that uses the network.
#[derive(Clone, Copy)]
pub(crate) enum FetchProgress {
    /// Git may be asking the user for a passphrase.
    Connecting,
    /// Git is connected, and has written this many bytes.
    Receiving(usize),
}

/// Whether a git command uses the network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitTask {
    Fetch,
    Local,
}

/// Kills a git command that exceeds its limits.
pub(crate) struct GitWatchdog<'m> {
    /// The folder that git writes to.
    pub(crate) folder: &'m Path,
    /// The address of the repository, for messages.
    pub(crate) address: &'m str,
    pub(crate) limits: GitLimits,
    /// When the first command for this pack was started.
    pub(crate) started: Instant,
    /// Is told how far a command is that uses the network.
    pub(crate) on_progress: &'m dyn Fn(FetchProgress),
}

/// When the files of a git command last changed in size.
struct DiskUsage {
    bytes_on_disk: u64,
    last_change: Instant,
}

impl DiskUsage {
    /// Returns the usage of a command that was just started.
    fn new() -> DiskUsage {
        DiskUsage {
            bytes_on_disk: 0,
            last_change: Instant::now(),
        }
    }

    /// Records the total size of the files now. If it differs, the command is not idle.
    fn update(&mut self, bytes_on_disk: u64) {
        if bytes_on_disk != self.bytes_on_disk {
            self.bytes_on_disk = bytes_on_disk;
            self.restart_idle_time();
        }
    }

    /// Counts the command as not idle until now.
    fn restart_idle_time(&mut self) {
        self.last_change = Instant::now();
    }
}

impl GitWatchdog<'_> {
    /// Waits for git to exit.
    ///
    /// # Errors
    /// Git exceeded a limit. It was killed, together with its child processes.
    pub(super) fn wait(&self, git: &mut Child, task: GitTask) -> Result<ExitStatus, Diagnostic> {
        let mut usage = DiskUsage::new();
        if task == GitTask::Fetch {
            (self.on_progress)(FetchProgress::Connecting);
        }
        loop {
            let status = git.wait_timeout(CHECK_INTERVAL).map_err(git_io_error)?;
            if let Some(status) = status {
                return Ok(status);
            }
            usage.update(self.bytes_on_disk());
            if task == GitTask::Fetch && self.is_connected() {
                let bytes = usage.bytes_on_disk as usize;
                (self.on_progress)(FetchProgress::Receiving(bytes));
            } else if task == GitTask::Fetch {
                usage.restart_idle_time(); // the user may be typing a passphrase
            }
            let processes = ProcessTree::of(git);
            if let Err(error) = self.check_limits(&usage, processes.memory_bytes) {
                processes.kill(git);
                return Err(error);
            }
        }
    }

    /// Fails if a limit is exceeded.
    fn check_limits(&self, usage: &DiskUsage, memory_bytes: u64) -> Result<(), Diagnostic> {
        let limits = &self.limits;
        if usage.bytes_on_disk > limits.disk_bytes {
            let limit = format_size(limits.disk_bytes as usize);
            let problem = format!("has more than {limit}, which is the limit for a repository");
            return Err(self.limit_error(&problem, SMALLER_REPOSITORY));
        }
        if memory_bytes > limits.memory_bytes {
            let limit = format_size(limits.memory_bytes as usize);
            let problem = format!("makes git use more than {limit} of memory");
            return Err(self.limit_error(&problem, SMALLER_REPOSITORY));
        }
        if usage.last_change.elapsed() > limits.idle_timeout {
            let seconds = limits.idle_timeout.as_secs();
            let problem = format!("has sent nothing for {seconds} s");
            return Err(self.limit_error(&problem, "try again later"));
        }
        if self.started.elapsed() > limits.total_timeout {
            let minutes = limits.total_timeout.as_secs() / 60;
            let problem = format!("takes more than {minutes} minutes to fetch");
            let fix = "use a faster connection, or ask the owner for a smaller repository";
            return Err(self.limit_error(&problem, fix));
        }
        Ok(())
    }

    /// Returns an error whose message is the repository's address followed by `problem`.
    fn limit_error(&self, problem: &str, fix: &str) -> Diagnostic {
        let message = format!("{} {problem}", in_backticks(self.address));
        Diagnostic::new(Kind::TooLong, message, fix)
    }

    /// Returns whether git has exchanged a packet with the server.
    fn is_connected(&self) -> bool {
        fs::metadata(self.folder.join(PACKET_LOG)).is_ok_and(|file| file.len() > 0)
    }

    /// Returns the total size of the files in the folder. Ignores files that can't be read, because
    /// git deletes files while it runs.
    fn bytes_on_disk(&self) -> u64 {
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

/// Returns the error for a pack or a file that is too large. `what` is the address of the
/// repository or the path of the file, and `limit` is, e.g., `4 MiB of text`.
pub(super) fn too_large_error(what: &str, limit: &str) -> Diagnostic {
    let message = format!("{} has more than {limit}", quoted(what));
    Diagnostic::new(Kind::TooLong, message, SELECT_LESS)
}

/// Returns the error if git could not be started, or if its input or output files failed.
pub(crate) fn git_io_error(error: io::Error) -> Diagnostic {
    let fix = if error.kind() == ErrorKind::NotFound {
        "install git"
    } else {
        "fix the cause, and try again"
    };
    Diagnostic::new(Kind::Invalid, format!("cannot run git: {error}"), fix)
}
