//! Fetches a repository and reads its files, with the user's own git and its credentials; only for
//! `pack add`, `update` and `sync`.
//!
//! There is no work tree: texts are read from a bare repository in a new folder, so that no hook,
//! filter, submodule or symlink of somebody else has any effect. The paths and lengths that git
//! reports must keep the rules of a pack before a text is read.

use super::bounds::{BOUNDS, Bounds, GitTask, Meter, PACKETS, failed, too_much};
use super::lock::{MAX_FILES, Pack, hash_of, is_commit};
use super::run::{STDOUT, refused, run_git};
use crate::prompt::{Diagnostic, Kind, MAX_FILE};
use crate::wording::{count, in_bytes, named, quoted};
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
const ELSEWHERE: [&str; 6] = [
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];

/// What of git's own behavior is turned off, whatever the user's settings say.
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

/// The texts of a pack by their paths, and what is left out of it, with the reason.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) left_out: Vec<String>,
}

/// A bare repository, in a folder that was empty.
struct Repository<'r> {
    folder: &'r Path,
    address: String,
    bounds: Bounds,
    started: Instant,
}

/// Fetches `given`: a commit, or a branch or a tag, which the pack follows from then on. Writes the
/// commit, its date and the hashes of the files into the pack, and returns the texts. `folder`: an
/// empty one for the repository.
///
/// # Errors
/// Git is missing, too old, or cannot fetch; there is no such ref or commit, or several; there is
/// too much; a name escapes, is that of a symlink, or differs from another one in case only.
pub(crate) fn fetch(folder: &Path, pack: &mut Pack, given: &str) -> Result<Texts, Diagnostic> {
    fetch_within(BOUNDS, folder, pack, given)
}

fn fetch_within(
    bounds: Bounds,
    folder: &Path,
    pack: &mut Pack,
    given: &str,
) -> Result<Texts, Diagnostic> {
    let repository = Repository {
        folder,
        address: pack.address.clone(),
        bounds,
        started: Instant::now(),
    };
    repository.check_version()?;
    repository.run("", &["init", "--quiet", "--bare", "--template="], "")?;
    let commit = if is_commit(given) {
        repository.fetch_commit(given, &pack.reference)?;
        given
    } else {
        repository.fetch(&repository.full_name(given)?)?;
        given.clone_into(&mut pack.reference);
        "FETCH_HEAD"
    };
    let log = [
        "log",
        "-1",
        "--no-show-signature",
        "--format=%H %cs",
        commit,
        "--",
    ];
    let shown = repository.run("", &log, "").unwrap_or_default();
    let shown = String::from_utf8(shown).unwrap_or_default();
    let Some((commit, day)) = shown.trim().split_once(' ') else {
        return Err(repository.no_commit(given));
    };
    pack.commit = commit.to_owned();
    pack.date = day.to_owned();
    let texts = repository.texts(pack)?;
    pack.files = texts
        .files
        .iter()
        .map(|(file, text)| (file.clone(), hash_of(text.as_bytes())))
        .collect();
    Ok(texts)
}

impl Repository<'_> {
    /// Runs git, and returns what it writes. `protocols`: those that it may use. Without one, it
    /// cannot fetch what a filter has left out when that is read.
    fn run(&self, protocols: &str, arguments: &[&str], stdin: &str) -> Result<Vec<u8>, Diagnostic> {
        let mut output = Vec::new();
        let mut stdout = self.run_to_file(protocols, arguments, stdin)?;
        stdout.read_to_end(&mut output).map_err(failed)?;
        Ok(output)
    }

    /// Runs git, and returns the file that it has written, which may be long.
    fn run_to_file(
        &self,
        protocols: &str,
        arguments: &[&str],
        stdin: &str,
    ) -> Result<BufReader<File>, Diagnostic> {
        let mut git = Command::new("git");
        git.current_dir(self.folder)
            .args(["--git-dir", "."])
            .env("GIT_ALLOW_PROTOCOL", protocols)
            .env("GIT_TRACE_PACKET", self.folder.join(PACKETS));
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        for variable in ELSEWHERE {
            git.env_remove(variable);
        }
        git.args(arguments);
        let meter = Meter {
            folder: self.folder,
            address: &self.address,
            bounds: self.bounds,
            started: self.started,
        };
        let task = if protocols.is_empty() {
            GitTask::Local
        } else {
            GitTask::Fetch
        };
        run_git(git, stdin, &meter, task)
    }

    /// Refuses a git that is too old.
    fn check_version(&self) -> Result<(), Diagnostic> {
        let version = self.run("", &["version"], "")?;
        let version = String::from_utf8_lossy(&version);
        let numbers: Vec<u32> = version
            .split([' ', '.'])
            .filter_map(|word| word.parse().ok())
            .collect();
        if numbers.as_slice() >= OLDEST.as_slice() {
            return Ok(());
        }
        let message = format!("packs need git 2.30 or newer; this is {}", version.trim());
        Err(refused(message, "install a newer git"))
    }

    fn no_commit(&self, given: &str) -> Diagnostic {
        let message = format!("{} has no commit at {}", named(&self.address), named(given));
        refused(
            message,
            "push one, or choose a branch, a tag or a commit that it has, with `--ref`",
        )
    }

    /// The whole name of a branch or a tag, such as `refs/heads/main`.
    fn full_name(&self, reference: &str) -> Result<String, Diagnostic> {
        let arguments = ["ls-remote", "--", &self.address, reference];
        let listed = self.run_to_file(PROTOCOLS, &arguments, "")?;
        let full =
            ["", "refs/", "refs/tags/", "refs/heads/"].map(|start| format!("{start}{reference}"));
        let mut names: Vec<String> = Vec::new();
        for line in listed.lines() {
            let line = line.map_err(failed)?;
            if let Some((_, name)) = line.split_once('\t')
                && full.iter().any(|full| full == name)
            {
                names.push(name.to_owned());
            }
            if names.len() > full.len() {
                break;
            }
        }
        match &names[..] {
            [name] => Ok(name.clone()),
            [] => Err(self.no_commit(reference)),
            [first, ..] => {
                let message = format!(
                    "{} is ambiguous: a branch and a tag have this name",
                    named(reference)
                );
                Err(refused(
                    message,
                    &format!("choose one, as in `--ref {first}`"),
                ))
            }
        }
    }

    /// Fetches a commit. A server that refuses it may have it as what the branch or the tag is.
    fn fetch_commit(&self, commit: &str, reference: &str) -> Result<(), Diagnostic> {
        match self.fetch(commit) {
            Err(error) if error.kind != Kind::TooLong => self.fetch(reference),
            fetched => fetched,
        }
    }

    fn fetch(&self, name: &str) -> Result<(), Diagnostic> {
        let filter = "--filter=blob:limit=4m";
        let arguments = [
            "fetch",
            "--progress", // what it writes shows that it goes on
            "--depth=1",
            "--no-tags",
            filter,
            "--",
            &self.address,
            name,
        ];
        self.run(PROTOCOLS, &arguments, "").map(|_| ())
    }

    /// Returns the texts of a pack at its commit, which was fetched.
    fn texts(&self, pack: &Pack) -> Result<Texts, Diagnostic> {
        let files = self.select(pack)?;
        self.read_objects(&files.objects)?;
        let stdout = self.folder.join(STDOUT);
        let length = fs::metadata(&stdout).map_err(failed)?.len();
        if length > MAX_TEXTS as u64 {
            let limit = format!("{} of text", in_bytes(MAX_TEXTS));
            return Err(too_much(&self.address, &limit));
        }
        let answers = fs::read(stdout).map_err(failed)?;
        divide(&answers, files)
    }

    /// Selects the files of a pack among all names below its path, which are counted as they come.
    fn select(&self, pack: &Pack) -> Result<PackFiles, Diagnostic> {
        let tree = format!("{}:{}", pack.commit, pack.path);
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", &tree];
        let listed = match self.run_to_file("", &arguments, "") {
            Ok(listed) => listed,
            Err(error) if error.kind == Kind::TooLong => return Err(error),
            Err(_) => {
                let (address, path) = (named(&self.address), named(&pack.path));
                let message = format!("{address} has no folder {path}");
                return Err(refused(message, "correct `--path`"));
            }
        };
        let mut files = PackFiles::default();
        for (index, line) in listed.split(b'\0').enumerate() {
            if index == MAX_NAMES {
                return Err(too_much(&self.address, &count(MAX_NAMES, "file")));
            }
            let line = line.map_err(failed)?;
            files.add(pack, &String::from_utf8_lossy(&line))?;
            if files.objects.len() + files.left_out.len() > MAX_FILES {
                return Err(too_much(&self.address, &count(MAX_FILES, "prompt")));
            }
        }
        Ok(files)
    }

    /// Writes the texts of these objects into the file [`STDOUT`].
    fn read_objects(&self, objects: &BTreeMap<String, String>) -> Result<(), Diagnostic> {
        let asked: String = objects.values().map(String::as_str).collect();
        match self.run_to_file("", &["cat-file", "--batch"], &asked) {
            Err(error) if error.kind == Kind::TooLong => Err(error),
            // If git has failed, what it has written ends at a text that is missing.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// The files of a repository that belong to a pack.
#[derive(Default)]
struct PackFiles {
    /// The line that asks git for the text of a path.
    objects: BTreeMap<String, String>,
    /// The paths, as a file system may compare them.
    folded: BTreeMap<String, String>,
    left_out: Vec<String>,
}

impl PackFiles {
    /// Adds a line of `git ls-tree`, if it is a file of the pack.
    ///
    /// # Errors
    /// The path leads elsewhere, or is that of another file on some systems.
    fn add(&mut self, pack: &Pack, line: &str) -> Result<(), Diagnostic> {
        let Some((about, path)) = line.split_once('\t') else {
            return Ok(());
        };
        let [mode, _, object] = about.split(' ').collect::<Vec<_>>()[..] else {
            return Ok(());
        };
        let shown = quoted(path);
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(wrong_path(
                path,
                "is a path that leads out of the repository",
            ));
        }
        match (mode, pack.takes(path)) {
            ("120000", Ok(true)) => {
                return Err(wrong_path(path, "is a symlink, which is not followed"));
            }
            ("120000" | "160000", _) => self
                .left_out
                .push(format!("{shown} is a symlink or a submodule")),
            (_, Ok(true)) => {
                let key: String = path.to_lowercase().nfc().collect();
                if let Some(other) = self.folded.insert(key, path.to_owned()) {
                    let why = format!("and {} differ in case or accents only", quoted(&other));
                    return Err(wrong_path(path, &why));
                }
                self.objects.insert(path.to_owned(), format!("{object}\n"));
            }
            (_, Err(why)) => self.left_out.push(format!("{shown}: {why}")),
            (_, Ok(false)) => {}
        }
        Ok(())
    }
}

/// Divides the answers of `git cat-file --batch` among the files that were asked for.
fn divide(answers: &[u8], files: PackFiles) -> Result<Texts, Diagnostic> {
    let mut texts = Texts {
        files: BTreeMap::new(),
        left_out: files.left_out,
    };
    let mut rest = answers;
    for path in files.objects.into_keys() {
        let line = rest.iter().position(|byte| *byte == b'\n');
        let (head, after) = rest.split_at(line.map_or(rest.len(), |at| at + 1));
        let head = String::from_utf8_lossy(head);
        let length = head.trim_end().rsplit(' ').next();
        let length = length.and_then(|length| length.parse().ok());
        // Git has not fetched a text that is missing because of its length.
        let Some(text) = length
            .filter(|length| *length <= MAX_FILE)
            .and_then(|length| after.get(..length))
        else {
            return Err(too_much(&path, &format!("{} of text", in_bytes(MAX_FILE))));
        };
        rest = after.get(text.len() + 1..).unwrap_or_default(); // with a line break
        if let Ok(text) = str::from_utf8(text) {
            texts.files.insert(path, text.to_owned());
        } else {
            texts
                .left_out
                .push(format!("{} is not UTF-8", quoted(&path)));
        }
    }
    Ok(texts)
}

fn wrong_path(path: &str, why: &str) -> Diagnostic {
    let fix = "have it corrected there, or leave it out with `--path`";
    refused(format!("{} {why}", quoted(path)), fix)
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
            for given in [ANY, "HEAD"] {
                let (address, ends) = server(hostility);
                let mut pack = Pack {
                    address,
                    reference: "HEAD".to_owned(),
                    ..Pack::default()
                };
                let folder = tempfile::tempdir().unwrap();
                let error = fetch_within(bounds, folder.path(), &mut pack, given).unwrap_err();
                assert!(error.message.contains(want), "{}", error.message);
                ends.recv_timeout(SOON).unwrap();
            }
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
            repository.run("", arguments, "").unwrap();
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
