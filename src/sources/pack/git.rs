//! Fetches a repository and reads its files with the user's own git, and thus the user's
//! credentials. Only `pack add`, `update` and `sync` do this.
//!
//! The repository is not trusted. It is fetched into a new bare repository without a work tree, so
//! that its hooks, filters, submodules and symlinks have no effect. Every path and length that git
//! reports is checked before a file is read.

use super::git_limits::{
    FetchProgress, GIT_LIMITS, GitLimits, GitTask, GitWatchdog, PACKET_LOG, git_io_error,
    too_large_error,
};
use super::pack_lock::{FileChoice, MAX_FILES, Pack, is_commit};
use super::run::{STDOUT, fetch_error, run_git};
use crate::prompt::{Diagnostic, Kind, MAX_FILE, sha256};
use crate::wording::{count, format_size, in_backticks, quoted};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use unicode_normalization::UnicodeNormalization;

/// The maximum size of all files of a pack together, in bytes.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;

/// The maximum number of files below the path of a pack, including those that aren't prompts.
const MAX_LISTED_FILES: usize = 200_000;

/// The oldest supported git. It is the first that supports everything used here.
const MIN_GIT_VERSION: [u32; 2] = [2, 30];

/// The protocols that git may use, as in `GIT_ALLOW_PROTOCOL`.
const ALLOWED_PROTOCOLS: &str = "https:ssh:git:file";

/// Forbids all protocols, as in `GIT_ALLOW_PROTOCOL`.
const NO_PROTOCOLS: &str = "";

/// Environment variables that would make git use another repository than `--git-dir`.
const REDIRECTING_VARIABLES: [&str; 6] = [
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];

/// Git settings that override the user's configuration.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "transfer.bundleURI=false",
    // Abort if a server accepts the connection but never answers. `GitWatchdog` doesn't notice
    // this, because no packet was exchanged yet.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
];

/// Git's name for the commit that was fetched last.
const LAST_FETCHED: &str = "FETCH_HEAD";

/// The input of git commands that read nothing from their standard input.
const NO_INPUT: &str = "";

/// A version of a pack, as fetched from its repository.
#[derive(Debug, Default)]
pub(crate) struct FetchedPack {
    /// The pack's entry for the lock, with the commit, the date and the hashes of this version.
    pub(crate) pack: Pack,
    /// The contents of its files by path, relative to the pack's folder.
    pub(crate) files: BTreeMap<String, String>,
    /// For each skipped file, a message that names it and says why.
    pub(crate) skipped: Vec<String>,
}

/// The files that were read from a repository.
struct ReadFiles {
    /// See [`FetchedPack::files`].
    files: BTreeMap<String, String>,
    /// See [`FetchedPack::skipped`].
    skipped: Vec<String>,
}

/// A bare repository that a pack is fetched into.
struct Repository<'r> {
    /// The folder of the repository, which was empty at first.
    folder: &'r Path,
    /// The address to fetch from.
    address: String,
    limits: GitLimits,
    started: Instant,
    /// See [`GitWatchdog::on_progress`].
    on_progress: &'r dyn Fn(FetchProgress),
}

struct Commit {
    /// 40 hexadecimal digits.
    id: String,
    /// The day of the commit, such as `2026-11-23`.
    date: String,
}

/// Fetches the files of `pack` at `version`, which is a commit, a branch or a tag. `folder` must be
/// empty; git's repository is created there. Tells `on_progress` how far git is, about ten times a
/// second.
///
/// Returns the files, and the entry of the lock for this version. If `version` is a branch or a
/// tag, the pack follows it from then on.
///
/// # Errors
/// - Git is missing, is too old, fails, or exceeds a limit.
/// - `version` doesn't exist or is ambiguous.
/// - A path is unsafe: it leaves the repository, or clashes with another path on a file system that
///   ignores case.
pub(crate) fn fetch_pack(
    folder: &Path,
    pack: &Pack,
    version: &str,
    on_progress: &dyn Fn(FetchProgress),
) -> Result<FetchedPack, Diagnostic> {
    let repository = Repository {
        folder,
        address: pack.address.clone(),
        limits: GIT_LIMITS,
        started: Instant::now(),
        on_progress,
    };
    repository.fetch_and_read(pack, version)
}

/// Returns the entry of the lock for a pack, after `version` (a commit, a branch or a tag) was
/// fetched. `files` has the contents by path.
///
/// If `version` is a branch or a tag, the pack follows it from then on: `pack update` fetches it.
/// If it is a commit, the pack keeps following what it did.
fn lock_entry(
    old_entry: &Pack,
    version: &str,
    commit: Commit,
    files: &BTreeMap<String, String>,
) -> Pack {
    let reference = if is_commit(version) {
        &old_entry.reference
    } else {
        version
    };
    Pack {
        reference: reference.to_owned(),
        commit: commit.id,
        date: commit.date,
        files: hashes(files),
        ..old_entry.clone()
    }
}

/// Returns the SHA-256 of each file, by its path. `files` has the contents by path.
fn hashes(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for (path, contents) in files {
        hashes.insert(path.clone(), sha256(contents.as_bytes()));
    }
    hashes
}

impl Repository<'_> {
    /// Creates the repository in its empty folder, fetches `version` into it, and reads the files
    /// that belong to `pack`. `version` is a commit, a branch or a tag.
    ///
    /// # Errors
    /// Git is missing or too old, fails, or exceeds a limit. `version` doesn't exist or is
    /// ambiguous. A path in the repository is unsafe.
    fn fetch_and_read(&self, pack: &Pack, version: &str) -> Result<FetchedPack, Diagnostic> {
        self.check_git_version()?;
        self.run_local(&["init", "--quiet", "--bare", "--template="])?;
        let commit = self.fetch_version(version, &pack.reference)?;
        let ReadFiles { files, skipped } = self.read_files(pack, &commit.id)?;
        Ok(FetchedPack {
            pack: lock_entry(pack, version, commit, &files),
            files,
            skipped,
        })
    }

    /// Runs git without network access, and returns its output.
    fn run_local(&self, arguments: &[&str]) -> Result<Vec<u8>, Diagnostic> {
        let mut output = Vec::new();
        let mut stdout = self.run(GitTask::Local, arguments, NO_INPUT)?;
        stdout.read_to_end(&mut output).map_err(git_io_error)?;
        Ok(output)
    }

    /// Runs git on this repository, and returns a reader of its output. The output is in a file,
    /// because it may be too large for memory.
    ///
    /// # Errors
    /// Git cannot be started, fails, or exceeds a limit, which is an error of the kind
    /// [`Kind::TooLong`].
    fn run(
        &self,
        task: GitTask,
        arguments: &[&str],
        stdin: &str,
    ) -> Result<BufReader<File>, Diagnostic> {
        let protocols = match task {
            GitTask::Fetch => ALLOWED_PROTOCOLS,
            // Allow no protocol, so that git doesn't download the objects that a partial clone
            // lacks.
            GitTask::Local => NO_PROTOCOLS,
        };
        let mut git = Command::new("git");
        git.current_dir(self.folder)
            .args(["--git-dir", "."])
            .env("GIT_ALLOW_PROTOCOL", protocols)
            .env("GIT_TRACE_PACKET", self.folder.join(PACKET_LOG));
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        for variable in REDIRECTING_VARIABLES {
            git.env_remove(variable);
        }
        git.args(arguments);
        let watchdog = GitWatchdog {
            folder: self.folder,
            address: &self.address,
            limits: self.limits,
            started: self.started,
            on_progress: self.on_progress,
        };
        run_git(git, stdin, &watchdog, task)
    }

    /// Fails if the installed git is older than [`MIN_GIT_VERSION`].
    fn check_git_version(&self) -> Result<(), Diagnostic> {
        let output = self.run_local(&["version"])?;
        let output = String::from_utf8_lossy(&output);
        // The output is, e.g., `git version 2.39.5 (Apple Git-154)`.
        let numbers: Vec<u32> = output
            .split([' ', '.'])
            .filter_map(|word| word.parse().ok())
            .collect();
        if numbers.as_slice() >= MIN_GIT_VERSION.as_slice() {
            return Ok(());
        }
        let [major, minor] = MIN_GIT_VERSION;
        let installed = output.trim();
        let message = format!("packs need git {major}.{minor} or newer; this is {installed}");
        Err(fetch_error(message, "install a newer git"))
    }

    /// Returns a commit that was fetched. `revision` is its id or [`LAST_FETCHED`].
    ///
    /// # Errors
    /// Git exceeds a limit, or the commit was not fetched. The error names `version`, which is what
    /// the user asked for, e.g. `main`.
    fn read_commit(&self, revision: &str, version: &str) -> Result<Commit, Diagnostic> {
        let format = "--format=%H %cs";
        let arguments = ["log", "-1", "--no-show-signature", format, revision, "--"];
        let output = match self.run_local(&arguments) {
            Ok(output) => output,
            Err(error) if error.kind == Kind::TooLong => return Err(error),
            Err(_) => return Err(self.no_commit_error(version)),
        };
        let output = String::from_utf8_lossy(&output);
        let Some((id, date)) = output.trim().split_once(' ') else {
            return Err(self.no_commit_error(version));
        };
        Ok(Commit {
            id: id.to_owned(),
            date: date.to_owned(),
        })
    }

    /// Returns the error if the repository has no branch, tag or commit called `version`.
    fn no_commit_error(&self, version: &str) -> Diagnostic {
        let address = in_backticks(&self.address);
        let message = format!("{address} has no commit at {}", in_backticks(version));
        let fix = "push one, or choose an existing branch, tag or commit with `--ref`";
        fetch_error(message, fix)
    }

    /// Asks the server for the full name of a branch or tag, e.g. `refs/heads/main` for `main`.
    ///
    /// # Errors
    /// The repository has no such branch or tag, or it has both. Git fails, or exceeds a limit.
    fn resolve_reference(&self, reference: &str) -> Result<String, Diagnostic> {
        let names = self.matching_references(reference)?;
        match &names[..] {
            [name] => Ok(name.clone()),
            [] => Err(self.no_commit_error(reference)),
            [first, ..] => {
                let reference = in_backticks(reference);
                let message =
                    format!("{reference} is ambiguous: a branch and a tag have this name");
                let fix = format!("choose one, as in `--ref {first}`");
                Err(fetch_error(message, &fix))
            }
        }
    }

    /// Returns the full names of the server's branches and tags that `reference` may stand for: for
    /// `v2`, both `refs/tags/v2` and `refs/heads/v2`, if there are both.
    fn matching_references(&self, reference: &str) -> Result<Vec<String>, Diagnostic> {
        let candidates =
            ["", "refs/", "refs/tags/", "refs/heads/"].map(|prefix| format!("{prefix}{reference}"));
        // For `main`, git also lists `refs/heads/x/main`, so its output has to be filtered.
        let arguments = ["ls-remote", "--", &self.address, reference];
        let output = self.run(GitTask::Fetch, &arguments, NO_INPUT)?;
        let mut names = Vec::new();
        for line in output.lines() {
            let line = line.map_err(git_io_error)?;
            if let Some((_, name)) = line.split_once('\t')
                && candidates.iter().any(|candidate| candidate == name)
            {
                names.push(name.to_owned());
            }
            // A hostile server may repeat a name endlessly.
            let has_repetition = names.len() > candidates.len();
            if has_repetition {
                break;
            }
        }
        Ok(names)
    }

    /// Fetches `version`, which is a commit, a branch or a tag, and returns its commit.
    /// `old_reference` is the branch or tag that the pack followed until now.
    ///
    /// # Errors
    /// `version` doesn't exist or is ambiguous. Git fails, or exceeds a limit.
    fn fetch_version(&self, version: &str, old_reference: &str) -> Result<Commit, Diagnostic> {
        if is_commit(version) {
            return self.fetch_commit(version, old_reference);
        }
        let reference = self.resolve_reference(version)?;
        self.fetch(&reference)?;
        self.read_commit(LAST_FETCHED, version)
    }

    /// Fetches a commit by its id, and returns it.
    ///
    /// Many servers don't send a commit by its id. In this case, fetches `reference` instead, the
    /// branch or tag that the pack follows, which may still be at that commit.
    ///
    /// # Errors
    /// Neither attempt fetches the commit, or git exceeds a limit.
    fn fetch_commit(&self, commit: &str, reference: &str) -> Result<Commit, Diagnostic> {
        if let Err(error) = self.fetch(commit) {
            if error.kind == Kind::TooLong {
                return Err(error); // another attempt would exceed the same limit
            }
            self.fetch(reference)?;
        }
        self.read_commit(commit, commit)
    }

    /// Fetches a single commit without its history. Files over 4 MiB are left out, if the server
    /// supports that. `revision` is the id of the commit, or a branch or tag.
    ///
    /// # Errors
    /// The server doesn't send the commit. Git fails, or exceeds a limit.
    fn fetch(&self, revision: &str) -> Result<(), Diagnostic> {
        let options = [
            "fetch",
            "--progress", // the output tells `GitWatchdog` that git is not stuck
            "--depth=1",
            "--no-tags",
            "--filter=blob:limit=4m",
        ];
        let arguments = [&options[..], &["--", &self.address, revision]].concat();
        // An earlier attempt leaves this lock if a signal ended git. Git would refuse to run.
        _ = fs::remove_file(self.folder.join("shallow.lock"));
        self.run(GitTask::Fetch, &arguments, NO_INPUT)?;
        Ok(())
    }

    /// Reads the files of a pack at a commit, which must have been fetched.
    ///
    /// # Errors
    /// The commit has no folder at the path of the pack. A path is unsafe, as [`fetch_pack`]
    /// explains. A limit is exceeded.
    fn read_files(&self, pack: &Pack, commit: &str) -> Result<ReadFiles, Diagnostic> {
        let selected = self.select_files(pack, commit)?;
        let output = self.read_objects(&selected.objects)?;
        split_contents(&output, selected)
    }

    /// Returns the files below the path of a pack that belong to the pack. Stops at the first file
    /// over a limit, so that a huge repository is rejected early.
    ///
    /// # Errors
    /// The same as for [`Repository::read_files`].
    fn select_files(&self, pack: &Pack, commit: &str) -> Result<SelectedFiles, Diagnostic> {
        let listing = self.list_files(commit, &pack.path)?;
        let mut selected = SelectedFiles::default();
        for (index, entry) in listing.split(b'\0').enumerate() {
            if index == MAX_LISTED_FILES {
                let limit = count(MAX_LISTED_FILES, "file");
                return Err(too_large_error(&self.address, &limit));
            }
            let entry = entry.map_err(git_io_error)?;
            if let Some(file) = ListedFile::parse(&String::from_utf8_lossy(&entry)) {
                selected.add(pack, &file)?;
            }
            if selected.objects.len() + selected.skipped.len() > MAX_FILES {
                return Err(too_large_error(&self.address, &count(MAX_FILES, "prompt")));
            }
        }
        Ok(selected)
    }

    /// Returns a list of the files in a folder of a commit, as `git ls-tree` prints it. Each entry
    /// is in the format of [`ListedFile::parse`] and ends with a NUL. An empty `folder` is the
    /// whole commit.
    ///
    /// # Errors
    /// The commit has no such folder, or git exceeds a limit.
    fn list_files(&self, commit: &str, folder: &str) -> Result<BufReader<File>, Diagnostic> {
        let tree = format!("{commit}:{folder}");
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", &tree];
        match self.run(GitTask::Local, &arguments, NO_INPUT) {
            Ok(listing) => Ok(listing),
            Err(error) if error.kind == Kind::TooLong => Err(error),
            Err(_) => {
                let address = in_backticks(&self.address);
                let message = format!("{address} has no folder {}", in_backticks(folder));
                Err(fetch_error(message, "correct `--path`"))
            }
        }
    }

    /// Returns the output of `git cat-file --batch` for the given objects (path → object id), in
    /// the order of the map. See [`BatchOutput`] for its format.
    ///
    /// If an object is missing, git fails there, and the output ends before it. This is not an
    /// error here: [`split_contents`] finds out which object is missing.
    ///
    /// # Errors
    /// The output is too large, or git exceeds a limit.
    fn read_objects(&self, objects: &BTreeMap<String, String>) -> Result<Vec<u8>, Diagnostic> {
        let stdin: String = objects.values().map(|id| format!("{id}\n")).collect();
        let result = self.run(GitTask::Local, &["cat-file", "--batch"], &stdin);
        if let Err(error) = result
            && error.kind == Kind::TooLong
        {
            return Err(error);
        }
        // Git may have failed, so open its output file instead of using `result`.
        let output_path = self.folder.join(STDOUT);
        let length = fs::metadata(&output_path).map_err(git_io_error)?.len();
        if length > MAX_TOTAL_BYTES as u64 {
            let limit = format!("{} of text", format_size(MAX_TOTAL_BYTES));
            return Err(too_large_error(&self.address, &limit));
        }
        fs::read(output_path).map_err(git_io_error)
    }
}

/// An entry of `git ls-tree`.
struct ListedFile {
    kind: FileKind,
    object_id: String,
    /// Relative to the folder of the pack.
    path: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Regular,
    Symlink,
    Submodule,
}

impl ListedFile {
    /// Parses an entry of `git ls-tree`: `100644 blob OBJECT-ID`, a tab, and the path. Returns
    /// `None` if it is not one, such as the empty text after the last entry.
    fn parse(entry: &str) -> Option<ListedFile> {
        let (description, path) = entry.split_once('\t')?;
        let [mode, _, object_id] = description.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let kind = match mode {
            "120000" => FileKind::Symlink,
            "160000" => FileKind::Submodule,
            _ => FileKind::Regular,
        };
        Some(ListedFile {
            kind,
            object_id: object_id.to_owned(),
            path: path.to_owned(),
        })
    }
}

/// The files of a repository that belong to a pack.
#[derive(Default)]
struct SelectedFiles {
    /// The object ids by path.
    objects: BTreeMap<String, String>,
    /// The paths by their lowercase NFC form, to find paths that are the same file on a file system
    /// that ignores case or normalizes accents.
    folded_paths: BTreeMap<String, String>,
    /// See [`FetchedPack::skipped`].
    skipped: Vec<String>,
}

impl SelectedFiles {
    /// Adds a file if it belongs to the pack. Adds a message to [`SelectedFiles::skipped`] instead
    /// if the file is a symlink, a submodule, or a prompt whose name can't be typed.
    ///
    /// # Errors
    /// The path is unsafe: it leaves the repository, or clashes with another path on a file system
    /// that ignores case.
    fn add(&mut self, pack: &Pack, file: &ListedFile) -> Result<(), Diagnostic> {
        let path = &file.path;
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let reason = "is a path that leads out of the repository";
            return Err(path_error(path, reason));
        }
        let quoted_path = quoted(path);
        match file.kind {
            FileKind::Regular => {}
            FileKind::Symlink => {
                let message = format!("{quoted_path} is a symlink, which is not followed");
                self.skipped.push(message);
                return Ok(());
            }
            FileKind::Submodule => {
                self.skipped.push(format!("{quoted_path} is a submodule"));
                return Ok(());
            }
        }
        match pack.choose(path) {
            FileChoice::Included => self.add_included(file)?,
            FileChoice::Ignored => {}
            FileChoice::BadName(reason) => self.skipped.push(format!("{quoted_path}: {reason}")),
        }
        Ok(())
    }

    /// Adds a file that belongs to the pack.
    ///
    /// # Errors
    /// The path clashes with another one on a file system that ignores case.
    fn add_included(&mut self, file: &ListedFile) -> Result<(), Diagnostic> {
        let path = &file.path;
        let folded: String = path.to_lowercase().nfc().collect();
        if let Some(other) = self.folded_paths.insert(folded, path.clone()) {
            let reason = format!("and {} differ in case or accents only", quoted(&other));
            return Err(path_error(path, &reason));
        }
        self.objects.insert(path.clone(), file.object_id.clone());
        Ok(())
    }
}

/// Splits the output of [`Repository::read_objects`] into the contents of the selected files. Files
/// that are not UTF-8 are skipped, with a message.
///
/// # Errors
/// A file is too large for a prompt.
fn split_contents(output: &[u8], selected: SelectedFiles) -> Result<ReadFiles, Diagnostic> {
    let mut files = BTreeMap::new();
    let mut skipped = selected.skipped;
    let mut batch = BatchOutput { unread: output };
    // The output has the objects in the order of this map.
    for path in selected.objects.into_keys() {
        let Some(contents) = batch.next_object() else {
            let limit = format!("{} of text", format_size(MAX_FILE));
            return Err(too_large_error(&path, &limit));
        };
        if let Ok(contents) = str::from_utf8(contents) {
            files.insert(path, contents.to_owned());
        } else {
            skipped.push(format!("{} is not UTF-8", quoted(&path)));
        }
    }
    Ok(ReadFiles { files, skipped })
}

/// The output of `git cat-file --batch`. For each object, it has the line `OBJECT-ID blob LENGTH`,
/// the contents, and a line break.
struct BatchOutput<'a> {
    unread: &'a [u8],
}

impl<'a> BatchOutput<'a> {
    /// Returns the contents of the next object. Returns `None` if it is larger than `MAX_FILE`, or
    /// missing, which means the same: [`Repository::fetch`] skips large files.
    fn next_object(&mut self) -> Option<&'a [u8]> {
        let header_end = self.unread.iter().position(|byte| *byte == b'\n')?;
        let (header, rest) = self.unread.split_at(header_end + 1);
        let header = str::from_utf8(header).ok()?;
        let length: usize = header.trim_end().rsplit(' ').next()?.parse().ok()?;
        if length > MAX_FILE {
            return None;
        }
        let (contents, rest) = rest.split_at_checked(length)?;
        self.unread = rest.strip_prefix(b"\n").unwrap_or(rest);
        Some(contents)
    }
}

/// Returns the error for a path that a pack must not contain. The message is the path followed by
/// `problem`.
fn path_error(path: &str, problem: &str) -> Diagnostic {
    let fix = "ask the owner to correct it, or leave it out with `--path`";
    fetch_error(format!("{} {problem}", quoted(path)), fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    /// A git pack of 167 bytes: 65,536 zeros, and a delta that repeats them 16,384 times.
    const BOMB: &str = "\
5041434b0000000200000002b0802078daedc101010000008090feafee080a000000000000000000000000000000000000\
0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006a000f00\
01e880085778daedc4b10d00000803a0c5c37bba8d4fb8c04032a90b000000000000000000000000000000f8b55e7604e9\
8837690e7834cd52d4be9f27c95dae57538380b1";

    const ANY_COMMIT: &str = "1111111111111111111111111111111111111111";

    /// Returns a packet of git's protocol, which starts with its length.
    fn packet(line: &str) -> String {
        format!("{:04x}{line}", line.len() + 4)
    }

    /// How a hostile git server answers every request.
    #[derive(Clone, Copy)]
    enum Hostility {
        Silence,
        EndlessNames,
        Bomb,
    }

    impl Hostility {
        fn answer(self, connection: &mut TcpStream) -> io::Result<()> {
            connection.read_exact(&mut [0; 4])?;
            let first_reference = packet(&format!("{ANY_COMMIT} HEAD\0shallow ofs-delta\n"));
            match self {
                Hostility::Silence => {}
                Hostility::EndlessNames => {
                    connection.write_all(first_reference.as_bytes())?;
                    let names = packet(&format!("{ANY_COMMIT} refs/heads/{}\n", "x".repeat(100)));
                    let names = names.repeat(1_000);
                    loop {
                        connection.write_all(names.as_bytes())?;
                    }
                }
                Hostility::Bomb => {
                    let nothing_shallow = "0000"; // an empty list of shallow commits
                    let answers =
                        format!("{first_reference}0000{nothing_shallow}{}", packet("NAK\n"));
                    connection.write_all(answers.as_bytes())?;
                    let bytes = (0..BOMB.len()).step_by(2);
                    let bytes = bytes.map(|at| u8::from_str_radix(&BOMB[at..at + 2], 16).unwrap());
                    connection.write_all(&bytes.collect::<Vec<u8>>())?;
                }
            }
            while connection.read(&mut [0; 100])? > 0 {}
            Ok(())
        }
    }

    /// Starts a hostile server, and returns its address. The receiver gets a message whenever a
    /// client has disconnected.
    fn server(hostility: Hostility) -> (String, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("git://{}/x", listener.local_addr().unwrap());
        let (sender, disconnects) = channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                _ = hostility.answer(&mut connection.unwrap());
                _ = sender.send(());
            }
        });
        (address, disconnects)
    }

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn git_is_killed_when_it_exceeds_its_memory_disk_or_idle_limit() {
        const MEGABYTE: u64 = 1024 * 1024;
        let silence = GitLimits {
            idle_timeout: Duration::from_secs(1),
            ..GIT_LIMITS
        };
        let disk = GitLimits {
            disk_bytes: MEGABYTE,
            ..GIT_LIMITS
        };
        let memory = GitLimits {
            memory_bytes: 64 * MEGABYTE,
            ..GIT_LIMITS
        };
        let mut cases = vec![
            (Hostility::Silence, silence, "has sent nothing for 1 s"),
            (Hostility::EndlessNames, disk, "has more than 1 MiB"),
        ];
        if cfg!(target_os = "linux") {
            let want = "makes git use more than 64 MiB of memory";
            cases.push((Hostility::EndlessNames, memory, want));
            cases.push((Hostility::Bomb, memory, want));
        }
        for (hostility, limits, want) in cases {
            for version in [ANY_COMMIT, "HEAD"] {
                let (address, disconnects) = server(hostility);
                let pack = Pack {
                    address,
                    reference: "HEAD".to_owned(),
                    ..Pack::default()
                };
                let folder = tempfile::tempdir().unwrap();
                let repository = Repository {
                    folder: folder.path(),
                    address: pack.address.clone(),
                    limits,
                    started: Instant::now(),
                    on_progress: &|_| {},
                };
                let error = repository.fetch_and_read(&pack, version).unwrap_err();
                assert!(error.message.contains(want), "{}", error.message);
                disconnects.recv_timeout(TIMEOUT).unwrap();
            }
        }
    }

    #[test]
    fn unsafe_and_clashing_paths_are_rejected() {
        let leads_out = "is a path that leads out of the repository";
        let clashes = "differ in case or accents only";
        for (paths, reason) in [
            (&["../../evil.md"][..], leads_out),
            (&["/tmp/evil.md"], leads_out),
            (&["./evil.md"], leads_out),
            (&["a//evil.md"], leads_out),
            (&["Read.md", "read.md"], clashes),
            (&["e\u{301}.md", "\u{e9}.md"], clashes),
        ] {
            let mut files = SelectedFiles::default();
            let mut errors = Vec::new();
            for path in paths {
                let file = ListedFile::parse(&format!("100644 blob {ANY_COMMIT}\t{path}")).unwrap();
                errors.extend(files.add(&Pack::default(), &file).err());
            }
            let [error] = &errors[..] else {
                panic!("{paths:?}: {errors:?}")
            };
            assert!(error.message.contains(reason), "{paths:?}: {error}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_passphrase_prompt_is_not_idle_and_helpers_are_killed_with_git() {
        let folder = tempfile::tempdir().unwrap();
        let mut repository = Repository {
            folder: folder.path(),
            address: "ssh://127.0.0.1/x".to_owned(),
            limits: GIT_LIMITS,
            started: Instant::now(),
            on_progress: &|_| {},
        };
        // A fake `ssh` that connects to this test but never to a git server.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ssh = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; sleep 600; true' ssh");
        for arguments in [
            &["init", "--bare"][..],
            &["config", "core.sshCommand", &ssh],
        ] {
            repository.run_local(arguments).unwrap();
        }
        repository.limits.idle_timeout = Duration::from_secs(1);
        repository.limits.total_timeout = Duration::from_secs(3);
        repository.started = Instant::now();
        let error = repository.fetch("main").unwrap_err();
        let want = "takes more than 0 minutes to fetch";
        assert!(error.message.contains(want), "{}", error.message);
        let (mut helper, _) = listener.accept().unwrap();
        helper.set_read_timeout(Some(TIMEOUT)).unwrap();
        assert_eq!(helper.read(&mut [0]).unwrap(), 0, "the helper was killed");
    }
}
