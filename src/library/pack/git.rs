//! Fetches a repository and reads its files, with the user's own git and its credentials; only for
//! `pack add`, `update` and `sync`.
//!
//! There is no work tree: texts are read from a bare repository in a new folder, so that no hook,
//! filter, submodule or symlink of somebody else has any effect. The paths and lengths that git
//! reports must keep the rules of a pack before a text is read.

use super::lock::{MAX_FILES, Pack, hash_of, is_commit};
use crate::prompt::{Diagnostic, Kind, MAX_FILE};
use crate::wording::{count, in_bytes, named, quoted};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use unicode_normalization::UnicodeNormalization;
use wait_timeout::ChildExt;
use walkdir::WalkDir;

/// The most bytes that a repository may take, with what git writes.
const MAX_REPOSITORY: u64 = 256 * 1024 * 1024;

/// The most bytes of all texts of a pack.
const MAX_TEXTS: usize = 64 * 1024 * 1024;

/// How often the size of a repository is looked at while git runs.
const LOOK: Duration = Duration::from_millis(100);

/// The oldest git that can do all of this.
const OLDEST: [u32; 2] = [2, 30];

/// The protocols that git may use.
const PROTOCOLS: &str = "https:ssh:git:file";

/// Variables that would lead git to another repository than the one that it is told to use.
const ELSEWHERE: [&str; 4] = [
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];

/// What of git's own behavior is turned off, whatever the user's settings say.
const SETTINGS: &str = "core.hooksPath=/dev/null gc.auto=0 maintenance.auto=false fetch.recurseSubmodules=false transfer.bundleURI=false";

/// The texts of a pack by their paths, and what is left out of it, with the reason.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) left_out: Vec<String>,
}

/// The file for the standard output of git.
const STDOUT: &str = "stdout";

/// A bare repository, in a folder that was empty.
struct Repository<'r> {
    folder: &'r Path,
    address: String,
}

/// Fetches `given`: a commit, or a branch or a tag, which the pack follows from then on. Writes the
/// commit, its date and the hashes of the files into the pack, and returns the texts. `folder`: an
/// empty one for the repository.
///
/// # Errors
/// Git is missing, too old, or cannot fetch; there is no such ref or commit, or several; there is
/// too much; a name escapes, is that of a symlink, or differs from another one in case only.
pub(crate) fn fetch(folder: &Path, pack: &mut Pack, given: &str) -> Result<Texts, Diagnostic> {
    let repository = Repository {
        folder,
        address: pack.address.clone(),
    };
    let version = repository.run("", &["version"], "")?;
    let version = String::from_utf8_lossy(&version);
    let numbers: Vec<u32> = version
        .split([' ', '.'])
        .filter_map(|word| word.parse().ok())
        .collect();
    if numbers.as_slice() < OLDEST.as_slice() {
        let message = format!("packs need git 2.30 or newer; this is {}", version.trim());
        return Err(refused(message, "install a newer git"));
    }
    repository.run("", &["init", "--quiet", "--bare", "--template="], "")?;
    let commit = match is_commit(given) {
        true => {
            // A server that refuses a commit itself may have it as what the branch or the tag is.
            repository
                .fetch(given)
                .or_else(|_| repository.fetch(&pack.reference))?;
            given
        }
        false => {
            repository.fetch(&repository.full_name(given)?)?;
            given.clone_into(&mut pack.reference);
            "FETCH_HEAD"
        }
    };
    let shown = repository.run(
        "",
        &[
            "log",
            "-1",
            "--no-show-signature",
            "--format=%H %cs",
            commit,
            "--",
        ],
        "",
    );
    let shown = String::from_utf8(shown.unwrap_or_default()).unwrap_or_default();
    let (commit, day) = shown
        .trim()
        .split_once(' ')
        .ok_or_else(|| repository.no_commit(given))?;
    (pack.commit, pack.date) = (commit.to_owned(), day.to_owned());
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
        let [input, stdout, stderr] =
            ["stdin", STDOUT, "stderr"].map(|name| self.folder.join(name));
        let mut git = Command::new("git");
        git.current_dir(self.folder)
            .args(["--git-dir", "."])
            .env("GIT_ALLOW_PROTOCOL", protocols);
        SETTINGS
            .split(' ')
            .for_each(|setting| _ = git.args(["-c", setting]));
        ELSEWHERE
            .iter()
            .for_each(|variable| _ = git.env_remove(variable));
        let start = || {
            fs::write(&input, stdin)?;
            git.stdin(File::open(input)?)
                .stdout(File::create(&stdout)?)
                .stderr(File::create(&stderr)?)
                .args(arguments)
                .spawn()
        };
        let mut git = start().map_err(failed)?;
        let size = || {
            let files = WalkDir::new(self.folder)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.metadata().ok());
            files
                .filter(fs::Metadata::is_file)
                .map(|file| file.len())
                .sum::<u64>()
        };
        loop {
            match git.wait_timeout(LOOK).map_err(failed)? {
                Some(status) if status.success() => return fs::read(stdout).map_err(failed),
                Some(_) => return Err(complaint(&fs::read(stderr).unwrap_or_default())),
                None if size() <= MAX_REPOSITORY => {}
                None => {
                    _ = git.kill().and_then(|()| git.wait());
                    return Err(too_much(&self.address, &in_bytes(MAX_REPOSITORY as usize)));
                }
            }
        }
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
        let listed = self.run(
            PROTOCOLS,
            &["ls-remote", "--", &self.address, reference],
            "",
        )?;
        let listed = String::from_utf8_lossy(&listed);
        let full =
            ["", "refs/", "refs/tags/", "refs/heads/"].map(|start| format!("{start}{reference}"));
        let names = listed
            .lines()
            .filter_map(|line| Some(line.split_once('\t')?.1));
        match names
            .filter(|name| full.iter().any(|full| full == name))
            .collect::<Vec<_>>()[..]
        {
            [name] => Ok(name.to_owned()),
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

    fn fetch(&self, name: &str) -> Result<(), Diagnostic> {
        let filter = "--filter=blob:limit=4m";
        let arguments = [
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            filter,
            "--",
            &self.address,
            name,
        ];
        self.run(PROTOCOLS, &arguments, "").map(|_| ())
    }

    /// The texts of a pack at its commit, which was fetched.
    fn texts(&self, pack: &Pack) -> Result<Texts, Diagnostic> {
        let mut texts = Texts::default();
        let (mut objects, mut folded) = (BTreeMap::new(), BTreeMap::new());
        let tree = format!("{}:{}", pack.commit, pack.path);
        let listed = self
            .run("", &["ls-tree", "-r", "-z", "--full-tree", &tree], "")
            .map_err(|why| match why.kind {
                Kind::TooLong => why,
                _ => refused(
                    format!(
                        "{} has no folder {}",
                        named(&self.address),
                        named(&pack.path)
                    ),
                    "correct `--path`",
                ),
            })?;
        for line in String::from_utf8_lossy(&listed).split_terminator('\0') {
            let Some((about, path)) = line.split_once('\t') else {
                continue;
            };
            let [mode, _, object] = about.split(' ').collect::<Vec<_>>()[..] else {
                continue;
            };
            let shown = quoted(path);
            let wrong = |why: &str| {
                let fix = "have it corrected there, or leave it out with `--path`";
                Err(refused(format!("{shown} {why}"), fix))
            };
            match (mode, pack.takes(path)) {
                _ if path.split('/').any(|part| matches!(part, "" | "." | "..")) => {
                    return wrong("is a path that leads out of the repository");
                }
                ("120000", Ok(true)) => return wrong("is a symlink, which is not followed"),
                ("120000" | "160000", _) => texts
                    .left_out
                    .push(format!("{shown} is a symlink or a submodule")),
                (_, Ok(true)) => {
                    let key: String = path.to_lowercase().nfc().collect();
                    if let Some(other) = folded.insert(key, path.to_owned()) {
                        return wrong(&format!(
                            "and {} differ in case or accents only",
                            quoted(&other)
                        ));
                    }
                    objects.insert(path.to_owned(), format!("{object}\n"));
                }
                (_, Err(why)) => texts.left_out.push(format!("{shown}: {why}")),
                _ => {}
            }
        }
        if objects.len() + texts.left_out.len() > MAX_FILES {
            return Err(too_much(&self.address, &count(MAX_FILES, "prompt")));
        }
        let asked: String = objects.values().map(String::as_str).collect();
        // If git has failed, what it has written ends at a text that is missing.
        let answers = self.run("", &["cat-file", "--batch"], &asked);
        let answers = answers
            .or_else(|_| fs::read(self.folder.join(STDOUT)))
            .map_err(failed)?;
        if answers.len() > MAX_TEXTS {
            return Err(too_much(
                &self.address,
                &format!("{} of text", in_bytes(MAX_TEXTS)),
            ));
        }
        let mut rest = &answers[..];
        for path in objects.into_keys() {
            let (head, after) = rest.split_at(
                rest.iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(rest.len(), |at| at + 1),
            );
            let length = String::from_utf8_lossy(head)
                .trim_end()
                .rsplit(' ')
                .next()
                .and_then(|length| length.parse().ok());
            // Git has not fetched a text that is missing because of its length.
            let Some(text) = length
                .filter(|length| *length <= MAX_FILE)
                .and_then(|length| after.get(..length))
            else {
                return Err(too_much(&path, &format!("{} of text", in_bytes(MAX_FILE))));
            };
            rest = after.get(text.len() + 1..).unwrap_or_default(); // with a line break
            match str::from_utf8(text) {
                Ok(text) => _ = texts.files.insert(path, text.to_owned()),
                Err(_) => texts
                    .left_out
                    .push(format!("{} is not UTF-8", quoted(&path))),
            }
        }
        Ok(texts)
    }
}

fn refused(message: String, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::Invalid, message, fix)
}

fn too_much(what: &str, limit: &str) -> Diagnostic {
    let message = format!("{} has more than {limit}", quoted(what));
    Diagnostic::new(
        Kind::TooLong,
        message,
        "choose less with `--path` or `--only`",
    )
}

/// Why git, or the file that git reads its input from, cannot be used.
fn failed(error: io::Error) -> Diagnostic {
    let fix = if error.kind() == ErrorKind::NotFound {
        "install git"
    } else {
        "correct that"
    };
    refused(format!("git cannot be used: {error}"), fix)
}

/// Git's own words.
fn complaint(said: &[u8]) -> Diagnostic {
    const KEPT: usize = 2_000;
    let said = String::from_utf8_lossy(&said[said.len().saturating_sub(KEPT)..]);
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    refused(format!("git has failed: {}", lines.join("; ")), "")
}
