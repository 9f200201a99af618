//! Fetches a repository and reads its files, with the user's own git and its credentials; only for
//! `pack add`, `update` and `sync`.
//!
//! There is no work tree: texts are read from a bare repository in a new folder, so that no hook,
//! filter, submodule or symlink of somebody else has any effect. The paths and lengths that git
//! reports must keep the rules of a pack before a text is read.

use super::bounds::{BOUNDS, Bounds, GitTask, Meter, PACKETS, failed, too_much};
use super::pack_lock::{FileChoice, MAX_FILES, Pack, is_commit};
use super::run::{STDOUT, refused, run_git};
use crate::prompt::{Diagnostic, Kind, MAX_FILE, sha256};
use crate::wording::{count, format_size, in_backticks, quoted};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use unicode_normalization::UnicodeNormalization;

/// The most bytes of all texts of a pack.
const MAX_TEXTS: usize = 64 * 1024 * 1024;

/// The most files below the path of a pack, most of which are no prompts.
const MAX_NAMES: usize = 200_000;

/// The oldest git that can do all of this.
const OLDEST: [u32; 2] = [2, 30];

/// The protocols that git may use.
const PROTOCOLS: &str = "https:ssh:git:file";

/// Variables that would lead git to another repository than the one that it is told to use.
const REDIRECTING_VARIABLES: [&str; 6] = [
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];

/// Settings that turn off parts of git's own behavior, whatever the user's settings say.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "transfer.bundleURI=false",
    // A server that accepts a connection and never answers. Git has no connection then.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
];

/// The texts of a pack.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// The texts by their paths below the pack's folder.
    pub(crate) files: BTreeMap<String, String>,
    /// A line for people about each file that is left out, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// A bare repository, in a folder that was empty.
struct Repository<'r> {
    folder: &'r Path,
    /// The address of the repository that is fetched into it.
    address: String,
    bounds: Bounds,
    started: Instant,
}

/// A commit of a repository.
struct Commit {
    /// 40 hexadecimal digits.
    id: String,
    /// A day, such as `2026-11-23`.
    date: String,
}

/// Fetches a pack, and returns its texts. Writes the commit, its date and the hashes of the files
/// into the pack.
///
/// `version` is a commit, or a branch or a tag, which the pack follows from then on. `folder` is an
/// empty folder for the repository.
///
/// # Errors
/// Git is missing, too old, or cannot fetch; there is no such branch, tag or commit, or several;
/// there is too much; a path leads elsewhere, is that of a symlink, or differs from another one in
/// case only.
pub(crate) fn fetch(folder: &Path, pack: &mut Pack, version: &str) -> Result<Texts, Diagnostic> {
    fetch_within(BOUNDS, folder, pack, version)
}

/// Fetches a pack within these bounds, and returns its texts. Sets the commit, the date and the
/// hashes of the files of `pack`. `version` is a commit, or the name of a branch or tag.
fn fetch_within(
    bounds: Bounds,
    folder: &Path,
    pack: &mut Pack,
    version: &str,
) -> Result<Texts, Diagnostic> {
    let repository = Repository {
        folder,
        address: pack.address.clone(),
        bounds,
        started: Instant::now(),
    };
    repository.check_git_version()?;
    repository.run_local(&["init", "--quiet", "--bare", "--template="])?;
    let commit = if is_commit(version) {
        repository.fetch_commit(version, &pack.reference)?;
        repository.commit_at(version)
    } else {
        repository.fetch(&repository.full_name(version)?)?;
        version.clone_into(&mut pack.reference);
        repository.commit_at("FETCH_HEAD")
    };
    let Some(commit) = commit else {
        return Err(repository.no_commit_error(version));
    };
    pack.commit = commit.id;
    pack.date = commit.date;
    let texts = repository.texts(pack)?;
    pack.files.clear();
    for (file, text) in &texts.files {
        pack.files.insert(file.clone(), sha256(text.as_bytes()));
    }
    Ok(texts)
}

impl Repository<'_> {
    /// Runs git without a connection, and returns what it writes.
    fn run_local(&self, arguments: &[&str]) -> Result<Vec<u8>, Diagnostic> {
        let mut output = Vec::new();
        let mut stdout = self.run_to_file(GitTask::Local, arguments, "")?;
        stdout.read_to_end(&mut output).map_err(failed)?;
        Ok(output)
    }

    /// Runs git with its output in a temporary file, and returns that file. The output may be too
    /// large for the memory.
    fn run_to_file(
        &self,
        task: GitTask,
        arguments: &[&str],
        stdin: &str,
    ) -> Result<BufReader<File>, Diagnostic> {
        let protocols = match task {
            GitTask::Fetch => PROTOCOLS,
            // In a partial clone, git fetches missing objects when it reads them. Without a
            // protocol, it cannot.
            GitTask::Local => "",
        };
        let mut git = Command::new("git");
        git.current_dir(self.folder)
            .args(["--git-dir", "."])
            .env("GIT_ALLOW_PROTOCOL", protocols)
            .env("GIT_TRACE_PACKET", self.folder.join(PACKETS));
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        for variable in REDIRECTING_VARIABLES {
            git.env_remove(variable);
        }
        git.args(arguments);
        let meter = Meter {
            folder: self.folder,
            address: &self.address,
            bounds: self.bounds,
            started: self.started,
        };
        run_git(git, stdin, &meter, task)
    }

    /// Checks that the installed git is recent enough. Git says `git version 2.39.5`.
    fn check_git_version(&self) -> Result<(), Diagnostic> {
        let output = self.run_local(&["version"])?;
        let output = String::from_utf8_lossy(&output);
        let numbers: Vec<u32> = output
            .split([' ', '.'])
            .filter_map(|word| word.parse().ok())
            .collect();
        if numbers.as_slice() >= OLDEST.as_slice() {
            return Ok(());
        }
        let message = format!("packs need git 2.30 or newer; this is {}", output.trim());
        Err(refused(message, "install a newer git"))
    }

    /// Returns the commit that a name stands for in git; `None` if it was not fetched. Git writes
    /// its id and its day: `HASH 2026-11-23`.
    fn commit_at(&self, name: &str) -> Option<Commit> {
        let show = ["log", "-1", "--no-show-signature", "--format=%H %cs"];
        let arguments = [&show[..], &[name, "--"]].concat();
        let output = String::from_utf8(self.run_local(&arguments).ok()?).ok()?;
        let (id, date) = output.trim().split_once(' ')?;
        Some(Commit {
            id: id.to_owned(),
            date: date.to_owned(),
        })
    }

    /// Returns the error for a branch, a tag or a commit that the repository does not have.
    fn no_commit_error(&self, version: &str) -> Diagnostic {
        let address = in_backticks(&self.address);
        let message = format!("{address} has no commit at {}", in_backticks(version));
        let fix = "push one, or choose a branch, a tag or a commit that it has, with `--ref`";
        refused(message, fix)
    }

    /// Returns the whole name of a branch or a tag, such as `refs/heads/main`.
    fn full_name(&self, reference: &str) -> Result<String, Diagnostic> {
        let names = self.full_names(reference)?;
        match &names[..] {
            [name] => Ok(name.clone()),
            [] => Err(self.no_commit_error(reference)),
            [first, ..] => {
                let reference = in_backticks(reference);
                let message =
                    format!("{reference} is ambiguous: a branch and a tag have this name");
                let fix = format!("choose one, as in `--ref {first}`");
                Err(refused(message, &fix))
            }
        }
    }

    /// Returns the full names of all references that the name of a branch or tag may mean to git.
    fn full_names(&self, reference: &str) -> Result<Vec<String>, Diagnostic> {
        let candidates =
            ["", "refs/", "refs/tags/", "refs/heads/"].map(|start| format!("{start}{reference}"));
        let arguments = ["ls-remote", "--", &self.address, reference];
        let listed = self.run_to_file(GitTask::Fetch, &arguments, "")?;
        let mut names = Vec::new();
        for line in listed.lines() {
            let line = line.map_err(failed)?;
            if let Some((_, name)) = line.split_once('\t')
                && candidates.iter().any(|candidate| candidate == name)
            {
                names.push(name.to_owned());
            }
            // A server that repeats itself.
            if names.len() > candidates.len() {
                break;
            }
        }
        Ok(names)
    }

    /// Fetches a commit. Many servers do not serve a commit by its hash; then the branch or tag
    /// that the pack follows is fetched instead.
    fn fetch_commit(&self, commit: &str, reference: &str) -> Result<(), Diagnostic> {
        let Err(error) = self.fetch(commit) else {
            return Ok(());
        };
        if error.kind == Kind::TooLong {
            return Err(error);
        }
        self.fetch(reference)
    }

    /// Fetches a commit, a branch or a tag, without the commits before it and without long files.
    fn fetch(&self, name: &str) -> Result<(), Diagnostic> {
        let options = [
            "fetch",
            "--progress", // what it writes shows that it goes on
            "--depth=1",
            "--no-tags",
            "--filter=blob:limit=4m",
        ];
        let arguments = [&options[..], &["--", &self.address, name]].concat();
        self.run_to_file(GitTask::Fetch, &arguments, "")?;
        Ok(())
    }

    /// Returns the texts of a pack at its commit, which must have been fetched.
    fn texts(&self, pack: &Pack) -> Result<Texts, Diagnostic> {
        let files = self.select(pack)?;
        let answers = self.read_objects(&files.objects)?;
        divide(&answers, files)
    }

    /// Selects the files of a pack among all names below its path. They are counted as they come,
    /// so that a huge repository is refused early.
    fn select(&self, pack: &Pack) -> Result<PackFiles, Diagnostic> {
        let listed = self.list(pack)?;
        let mut files = PackFiles::default();
        for (index, line) in listed.split(b'\0').enumerate() {
            if index == MAX_NAMES {
                return Err(too_much(&self.address, &count(MAX_NAMES, "file")));
            }
            let line = line.map_err(failed)?;
            if let Some(listed_file) = ListedFile::parse(&String::from_utf8_lossy(&line)) {
                files.add(pack, &listed_file)?;
            }
            if files.objects.len() + files.left_out.len() > MAX_FILES {
                return Err(too_much(&self.address, &count(MAX_FILES, "prompt")));
            }
        }
        Ok(files)
    }

    /// Lists the files below the path of the pack, in the format that [`ListedFile::parse`] reads.
    fn list(&self, pack: &Pack) -> Result<BufReader<File>, Diagnostic> {
        let tree = format!("{}:{}", pack.commit, pack.path);
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", &tree];
        let error = match self.run_to_file(GitTask::Local, &arguments, "") {
            Ok(listed) => return Ok(listed),
            Err(error) => error,
        };
        if error.kind == Kind::TooLong {
            return Err(error);
        }
        let (address, path) = (in_backticks(&self.address), in_backticks(&pack.path));
        let message = format!("{address} has no folder {path}");
        Err(refused(message, "correct `--path`"))
    }

    /// Returns what `git cat-file --batch` says of these objects, whose ids are the values of the
    /// map. If an object is missing, git fails, and what it said before is returned.
    ///
    /// # Errors
    /// The objects are too long together, or git exceeds a bound.
    fn read_objects(&self, objects: &BTreeMap<String, String>) -> Result<Vec<u8>, Diagnostic> {
        let stdin: String = objects.values().map(|id| format!("{id}\n")).collect();
        let outcome = self.run_to_file(GitTask::Local, &["cat-file", "--batch"], &stdin);
        if let Err(error) = outcome
            && error.kind == Kind::TooLong
        {
            return Err(error);
        }
        let output = self.folder.join(STDOUT);
        let length = fs::metadata(&output).map_err(failed)?.len();
        if length > MAX_TEXTS as u64 {
            let limit = format!("{} of text", format_size(MAX_TEXTS));
            return Err(too_much(&self.address, &limit));
        }
        fs::read(output).map_err(failed)
    }
}

/// A file that `git ls-tree` lists.
struct ListedFile {
    kind: FileKind,
    /// The id of its content.
    object: String,
    /// Its path below the folder of the pack.
    path: String,
}

/// What `git ls-tree` says a path is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    File,
    Symlink,
    Submodule,
}

impl ListedFile {
    /// Parses what `git ls-tree` says of a file: `100644 blob OBJECT`, a tab, and the path.
    fn parse(line: &str) -> Option<ListedFile> {
        let (description, path) = line.split_once('\t')?;
        let [mode, _, object] = description.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let kind = match mode {
            "120000" => FileKind::Symlink,
            "160000" => FileKind::Submodule,
            _ => FileKind::File,
        };
        Some(ListedFile {
            kind,
            object: object.to_owned(),
            path: path.to_owned(),
        })
    }
}

/// The files of a repository that belong to a pack.
#[derive(Default)]
struct PackFiles {
    /// The ids of the contents, by the paths of the files.
    objects: BTreeMap<String, String>,
    /// The paths, by what a file system compares that ignores case or normalizes accents.
    folded: BTreeMap<String, String>,
    /// A line for people about each file that is left out.
    left_out: Vec<String>,
}

impl PackFiles {
    /// Adds a file if it belongs to the pack. If it only looks like a prompt, `left_out` gets the
    /// reason.
    ///
    /// # Errors
    /// The path of the file leads elsewhere, or is that of another file on some systems.
    fn add(&mut self, pack: &Pack, file: &ListedFile) -> Result<(), Diagnostic> {
        let path = &file.path;
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let reason = "is a path that leads out of the repository";
            return Err(path_error(path, reason));
        }
        let choice = pack.choose(path);
        if file.kind == FileKind::Symlink && choice == FileChoice::Taken {
            return Err(path_error(path, "is a symlink, which is not followed"));
        }
        let shown = quoted(path);
        if file.kind != FileKind::File {
            self.left_out
                .push(format!("{shown} is a symlink or a submodule"));
            return Ok(());
        }
        match choice {
            FileChoice::Taken => self.take(file),
            FileChoice::Ignored => Ok(()),
            FileChoice::BadName(reason) => {
                self.left_out.push(format!("{shown}: {reason}"));
                Ok(())
            }
        }
    }

    /// Adds a file that is part of the pack.
    ///
    /// # Errors
    /// Its path is that of another file on some systems.
    fn take(&mut self, file: &ListedFile) -> Result<(), Diagnostic> {
        let path = &file.path;
        let folded: String = path.to_lowercase().nfc().collect();
        if let Some(other) = self.folded.insert(folded, path.clone()) {
            let reason = format!("and {} differ in case or accents only", quoted(&other));
            return Err(path_error(path, &reason));
        }
        self.objects.insert(path.clone(), file.object.clone());
        Ok(())
    }
}

/// Divides the answers of `git cat-file --batch` among the files that were asked for.
///
/// # Errors
/// A text is too long for a prompt.
fn divide(answers: &[u8], files: PackFiles) -> Result<Texts, Diagnostic> {
    let mut texts = Texts {
        files: BTreeMap::new(),
        left_out: files.left_out,
    };
    let mut answers = BatchAnswers { unread: answers };
    for path in files.objects.into_keys() {
        let Some(text) = answers.next_text() else {
            return Err(too_much(
                &path,
                &format!("{} of text", format_size(MAX_FILE)),
            ));
        };
        if let Ok(text) = str::from_utf8(text) {
            texts.files.insert(path, text.to_owned());
        } else {
            let line = format!("{} is not UTF-8", quoted(&path));
            texts.left_out.push(line);
        }
    }
    Ok(texts)
}

/// What `git cat-file --batch` writes: for each object `OBJECT blob LENGTH` and a line break, then
/// the text and a line break.
struct BatchAnswers<'a> {
    unread: &'a [u8],
}

impl<'a> BatchAnswers<'a> {
    /// Returns the next object in the output of `git cat-file --batch`; `None` if it is missing or
    /// longer than `MAX_FILE`, because git does not fetch such an object.
    fn next_text(&mut self) -> Option<&'a [u8]> {
        let head_end = self.unread.iter().position(|byte| *byte == b'\n')?;
        let (head, text_and_rest) = self.unread.split_at(head_end + 1);
        let head = str::from_utf8(head).ok()?;
        let length: usize = head.trim_end().rsplit(' ').next()?.parse().ok()?;
        if length > MAX_FILE {
            return None;
        }
        let text = text_and_rest.get(..length)?;
        let line_break = 1;
        self.unread = text_and_rest.get(length + line_break..).unwrap_or_default();
        Some(text)
    }
}

/// Returns the error for a path that cannot be a file of a pack.
fn path_error(path: &str, reason: &str) -> Diagnostic {
    let fix = "have it corrected there, or leave it out with `--path`";
    refused(format!("{} {reason}", quoted(path)), fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    /// A pack of 167 bytes: 65,536 zeros, and a delta that repeats them 16,384 times.
    const BOMB: &str = "\
5041434b0000000200000002b0802078daedc101010000008090feafee080a000000000000000000000000000000000000\
0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006a000f00\
01e880085778daedc4b10d00000803a0c5c37bba8d4fb8c04032a90b000000000000000000000000000000f8b55e7604e9\
8837690e7834cd52d4be9f27c95dae57538380b1";

    const ANY: &str = "1111111111111111111111111111111111111111";

    /// A line of the protocol, with its length.
    fn packet(line: &str) -> String {
        format!("{:04x}{line}", line.len() + 4)
    }

    /// What a server of git does, whatever it is asked.
    #[derive(Clone, Copy)]
    enum Hostility {
        Silence,
        EndlessNames,
        Bomb,
    }

    impl Hostility {
        fn act(self, connection: &mut TcpStream) -> io::Result<()> {
            connection.read_exact(&mut [0; 4])?;
            let head = packet(&format!("{ANY} HEAD\0shallow ofs-delta\n"));
            match self {
                Hostility::Silence => {}
                Hostility::EndlessNames => {
                    connection.write_all(head.as_bytes())?;
                    let names = packet(&format!("{ANY} refs/heads/{}\n", "x".repeat(100)));
                    let names = names.repeat(1_000);
                    loop {
                        connection.write_all(names.as_bytes())?;
                    }
                }
                Hostility::Bomb => {
                    let nothing_shallow = "0000";
                    let answers = format!("{head}0000{nothing_shallow}{}", packet("NAK\n"));
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

    /// Starts such a server, and returns its address. The receiver tells when a client is gone.
    fn server(hostility: Hostility) -> (String, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("git://{}/x", listener.local_addr().unwrap());
        let (sender, ends) = channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                _ = hostility.act(&mut connection.unwrap());
                _ = sender.send(());
            }
        });
        (address, ends)
    }

    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn git_is_ended_when_it_exceeds_a_bound_of_memory_disk_or_silence() {
        const MEGABYTE: u64 = 1024 * 1024;
        let silence = Bounds {
            silence: Duration::from_secs(1),
            ..BOUNDS
        };
        let disk = Bounds {
            disk: MEGABYTE,
            ..BOUNDS
        };
        let memory = Bounds {
            memory: 64 * MEGABYTE,
            ..BOUNDS
        };
        let mut rows = vec![
            (Hostility::Silence, silence, "has sent nothing for 1 s"),
            (Hostility::EndlessNames, disk, "has more than 1 MiB"),
        ];
        if cfg!(target_os = "linux") {
            let want = "takes more than 64 MiB of memory in git";
            rows.push((Hostility::EndlessNames, memory, want));
            rows.push((Hostility::Bomb, memory, want));
        }
        for (hostility, bounds, want) in rows {
            for version in [ANY, "HEAD"] {
                let (address, ends) = server(hostility);
                let mut pack = Pack {
                    address,
                    reference: "HEAD".to_owned(),
                    ..Pack::default()
                };
                let folder = tempfile::tempdir().unwrap();
                let error = fetch_within(bounds, folder.path(), &mut pack, version).unwrap_err();
                assert!(error.message.contains(want), "{}", error.message);
                ends.recv_timeout(SOON).unwrap();
            }
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_or_is_another_one_on_some_systems_is_refused() {
        let leads_out = "is a path that leads out of the repository";
        let is_doubled = "differ in case or accents only";
        for (paths, reason) in [
            (&["../../evil.md"][..], leads_out),
            (&["/tmp/evil.md"], leads_out),
            (&["./evil.md"], leads_out),
            (&["a//evil.md"], leads_out),
            (&["Read.md", "read.md"], is_doubled),
            (&["e\u{301}.md", "\u{e9}.md"], is_doubled),
        ] {
            let mut files = PackFiles::default();
            let mut errors = Vec::new();
            for path in paths {
                let file = ListedFile::parse(&format!("100644 blob {ANY}\t{path}")).unwrap();
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
    fn waiting_for_a_passphrase_is_no_silence_and_helpers_end_with_git() {
        let folder = tempfile::tempdir().unwrap();
        let mut repository = Repository {
            folder: folder.path(),
            address: "ssh://127.0.0.1/x".to_owned(),
            bounds: BOUNDS,
            started: Instant::now(),
        };
        // It opens a connection to this test, and has none to a server of git.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ssh = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; sleep 600; true' ssh");
        for arguments in [
            &["init", "--bare"][..],
            &["config", "core.sshCommand", &ssh],
        ] {
            repository.run_local(arguments).unwrap();
        }
        repository.bounds.silence = Duration::from_secs(1);
        repository.bounds.total = Duration::from_secs(3);
        repository.started = Instant::now();
        let error = repository.fetch("main").unwrap_err();
        let want = "takes more than 0 minutes to fetch";
        assert!(error.message.contains(want), "{}", error.message);
        let (mut helper, _) = listener.accept().unwrap();
        helper.set_read_timeout(Some(SOON)).unwrap();
        assert_eq!(
            helper.read(&mut [0]).unwrap(),
            0,
            "all of its processes have ended"
        );
    }
}
