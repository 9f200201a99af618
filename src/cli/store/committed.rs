//! Checks whether texts have been committed to the git repository of a folder. The repository may
//! be somebody else's, so git runs with limits and without hooks.

use crate::cli::output::{Reporter, display_path};
use crate::prompt::{Diagnostic, Kind};
use crate::sources::pack::git_limits::{GIT_LIMITS, GitLimits, GitTask, GitWatchdog, git_io_error};
use crate::sources::pack::run::run_git;
use crate::wording::format_size;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Lists each version of each file below the folder, in the current commit and its ancestors.
const LOG_ARGUMENTS: [&str; 12] = [
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

const LOG_TIMEOUT: Duration = Duration::from_secs(60);

const LOG_LIMITS: GitLimits = GitLimits {
    // git prints nothing while it skips commits that only touch other folders.
    idle_timeout: LOG_TIMEOUT,
    total_timeout: LOG_TIMEOUT,
    ..GIT_LIMITS
};

/// A text that may have been committed at this path, which is relative to the folder.
pub(super) struct PathText<'t> {
    pub(super) path: &'t str,
    pub(super) text: &'t str,
}

/// Returns the paths whose text is in the current commit of the folder's repository, or in one of
/// its ancestors. Doesn't read the files in the folder.
///
/// Returns none if the folder isn't in a repository, or git isn't installed. Also returns none, but
/// warns, if git exceeds its limits.
pub(super) fn committed_paths(
    folder: &Path,
    texts: &[PathText<'_>],
    reporter: &Reporter,
) -> BTreeSet<String> {
    match find_committed(LOG_LIMITS, folder, texts) {
        Ok(paths) => paths,
        Err(error) => {
            if error.kind == Kind::TooLong {
                reporter.warn(&format!(
                    "the earlier versions of the files in {} cannot be listed with git within {} s, {} of output and {} of \
                     memory. A file that is one of them may be shown as a conflict",
                    display_path(folder),
                    LOG_LIMITS.total_timeout.as_secs(),
                    format_size(LOG_LIMITS.disk_bytes as usize),
                    format_size(LOG_LIMITS.memory_bytes as usize)
                ));
            }
            BTreeSet::new()
        }
    }
}

/// Returns the paths whose text is in the current commit of the folder's repository, or in one of
/// its ancestors.
///
/// # Errors
/// Fails if the folder isn't in a repository, or if git isn't installed or exceeds the limits.
fn find_committed(
    limits: GitLimits,
    folder: &Path,
    texts: &[PathText<'_>],
) -> Result<BTreeSet<String>, Diagnostic> {
    let scratch = tempfile::tempdir().map_err(git_io_error)?;
    let address = folder.display().to_string();
    let watchdog = GitWatchdog {
        folder: scratch.path(),
        address: &address,
        limits,
        started: Instant::now(),
        on_progress: &|_| {}, // nothing is fetched
    };
    let ids = blob_ids(folder, texts, &watchdog)?;
    let log = run_in_untrusted_folder(folder, &LOG_ARGUMENTS, "", &watchdog)?;
    paths_in_log(log, &ids).map_err(git_io_error)
}

/// Returns the id of the git blob for the text of each path. To get the ids from git, writes the
/// texts to temporary files in the watchdog's folder, whose size is limited.
fn blob_ids<'t>(
    folder: &Path,
    texts: &[PathText<'t>],
    watchdog: &GitWatchdog<'_>,
) -> Result<BTreeMap<&'t str, String>, Diagnostic> {
    let mut temporary_files = String::new();
    for (index, PathText { text, .. }) in texts.iter().enumerate() {
        // The files are numbered, because a path could contain a newline, which would end its line.
        let file = watchdog.folder.join(index.to_string());
        fs::write(&file, text).map_err(git_io_error)?;
        temporary_files += &format!("{}\n", file.display());
    }
    let arguments = ["hash-object", "--no-filters", "--stdin-paths"];
    let ids = run_in_untrusted_folder(folder, &arguments, &temporary_files, watchdog)?;
    let mut id_of_path = BTreeMap::new();
    // git prints one id per line, in the order of the files. If one can't be read, git fails.
    for (PathText { path, .. }, id) in texts.iter().zip(ids.lines()) {
        id_of_path.insert(*path, id.map_err(git_io_error)?);
    }
    Ok(id_of_path)
}

/// The index of `NEW-ID` in an entry of the log: `MODE MODE OLD-ID NEW-ID STATUS`.
const NEW_ID_FIELD: usize = 3;

/// Returns the paths whose blob id occurs in the log as a version of that path.
///
/// For each version of a file, the log contains `:MODE MODE OLD-ID NEW-ID STATUS\0PATH\0`.
fn paths_in_log(log: impl BufRead, ids: &BTreeMap<&str, String>) -> io::Result<BTreeSet<String>> {
    let mut committed = BTreeSet::new();
    let mut parts = log.split(b'\0');
    while let Some(part) = next_text(&mut parts)? {
        let Some(change) = part.trim_start().strip_prefix(':') else {
            continue;
        };
        let Some(path) = next_text(&mut parts)? else {
            break;
        };
        let new_id = change.split(' ').nth(NEW_ID_FIELD);
        let wanted_id = ids.get(&*path).map(String::as_str);
        if wanted_id.is_some() && wanted_id == new_id {
            committed.insert(path);
        }
    }
    Ok(committed)
}

/// Returns the next part of the log as text.
fn next_text(parts: &mut io::Split<impl BufRead>) -> io::Result<Option<String>> {
    match parts.next() {
        Some(part) => Ok(Some(String::from_utf8_lossy(&part?).into_owned())),
        None => Ok(None),
    }
}

/// Runs git in a folder whose repository may be hostile, and returns its output.
///
/// git can't fetch anything, and doesn't run hooks, filters or other programs. No environment
/// variable can redirect it to another repository, change its settings or make it write a file.
fn run_in_untrusted_folder(
    folder: &Path,
    arguments: &[&str],
    stdin: &str,
    watchdog: &GitWatchdog<'_>,
) -> Result<BufReader<File>, Diagnostic> {
    let mut git = Command::new("git");
    for (variable, _) in env::vars_os() {
        if variable.as_encoded_bytes().starts_with(b"GIT_") {
            git.env_remove(variable);
        }
    }
    git.current_dir(folder)
        .args(["-c", "core.fsmonitor=false"])
        .args(arguments)
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_NO_LAZY_FETCH", "1");
    run_git(git, stdin, watchdog, GitTask::Local)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn git_is_killed_if_it_blocks_forever_in_a_hostile_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir_all(folder.join(".git/objects")).unwrap();
        fs::create_dir(folder.join(".git/refs")).unwrap();
        let mut mkfifo = Command::new("mkfifo");
        let head = mkfifo.arg(folder.join(".git/HEAD"));
        assert!(head.status().unwrap().success());
        let limits = GitLimits {
            total_timeout: Duration::from_secs(1),
            ..LOG_LIMITS
        };
        let texts = [PathText {
            path: "a.md",
            text: "A",
        }];
        let error = find_committed(limits, folder, &texts).unwrap_err();
        assert_eq!(error.kind, Kind::TooLong, "{error}");
    }
}
