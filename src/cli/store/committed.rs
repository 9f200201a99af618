//! Finds earlier versions of a folder's files in its git repository.

use crate::sources::pack::git::ELSEWHERE;
use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Lists each version of each file below the folder, in the commits up to the current one.
const LOG: [&str; 12] = [
    "log",
    "--no-show-signature",
    "--format=",
    "--raw",
    "--no-abbrev",
    "--no-renames",
    "-m",
    "--root",
    "-z",
    "--relative",
    "HEAD",
    "--",
];

/// Returns the paths whose given text is in the current commit or an earlier one: none if the
/// folder is in no repository, or git is not installed. The files themselves are not read.
pub(super) fn committed_paths(folder: &Path, texts: &[(&str, &str)]) -> BTreeSet<String> {
    let Some(log) = run_git(folder, &LOG, "") else {
        return BTreeSet::new();
    };
    let versions = parse_log(&log);
    let mut committed = BTreeSet::new();
    for (path, text) in texts {
        let Some(id) = run_git(folder, &["hash-object", "--stdin"], text) else {
            continue;
        };
        if versions.contains(&(*path, id.trim())) {
            committed.insert((*path).to_owned());
        }
    }
    committed
}

/// Returns the paths and the ids of texts in the output of [`LOG`]. Each is
/// `:MODE MODE OLD NEW STATUS`, and the path after it.
fn parse_log(log: &str) -> HashSet<(&str, &str)> {
    let mut versions = HashSet::new();
    let mut parts = log.split('\0');
    while let Some(part) = parts.next() {
        let Some(change) = part.trim_start().strip_prefix(':') else {
            continue;
        };
        if let (Some(id), Some(path)) = (change.split(' ').nth(3), parts.next()) {
            versions.insert((path, id));
        }
    }
    versions
}

/// Returns the output of git, unless it fails. Git fetches nothing, and runs no hook, filter or
/// other program.
fn run_git(folder: &Path, arguments: &[&str], input: &str) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .args(["-c", "core.fsmonitor=false"])
        .args(arguments)
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_NO_LAZY_FETCH", "1");
    for variable in ELSEWHERE {
        git.env_remove(variable);
    }
    let mut child = git
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It may end without reading; then its status says so.
    _ = child.stdin.take()?.write_all(input.as_bytes());
    let output = child.wait_with_output().ok()?;
    if !output.status.success() {
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
