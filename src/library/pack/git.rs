//! Fetches a repository and reads its files, with the user's own git and its credentials; only for `pack add`, `update` and `sync`.
//!
//! There is no work tree: texts are read from a bare repository in a new folder, so that no hook, filter, submodule or symlink of
//! somebody else has any effect. The paths and lengths that git reports must keep the rules of a pack before a text is read.

use super::lock::{MAX_FILES, Pack, hash_of, is_commit};
use crate::library::root::MAX_ENTRIES;
use crate::prompt::{Diagnostic, Kind, MAX_FILE};
use crate::wording::{count, named, quoted};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use unicode_normalization::UnicodeNormalization;
use wait_timeout::ChildExt;
use walkdir::WalkDir;

/// The most bytes that a repository may take while its texts are read.
const MAX_REPOSITORY: u64 = 256 * 1024 * 1024;

/// The most bytes of all texts of a pack.
const MAX_TEXTS: usize = 64 * 1024 * 1024;

/// How often the size of a repository is looked at while it is fetched.
const LOOK: Duration = Duration::from_millis(100);

/// The oldest git that can do all of this.
const OLDEST: [u32; 2] = [2, 30];

/// The protocols that git may use.
const PROTOCOLS: &str = "https:ssh:git:file";

/// Variables that would lead git to another repository than the one that it is told to use.
const ELSEWHERE: [&str; 4] = ["GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"];

/// What of git's own behavior is turned off, whatever the user's settings say.
const SETTINGS: &str =
    "core.hooksPath=/dev/null gc.auto=0 maintenance.auto=false fetch.recurseSubmodules=false transfer.bundleURI=false";

/// The texts of a pack by their paths, and what is left out of it, with the reason.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) left_out: Vec<String>,
}

impl Texts {
    /// The hash of each.
    pub(crate) fn hashes(&self) -> BTreeMap<String, String> {
        self.files.iter().map(|(file, text)| (file.clone(), hash_of(text.as_bytes()))).collect()
    }
}

/// A bare repository, in a folder that was empty.
struct Repository<'r> {
    folder: &'r Path,
    address: String,
}

/// Fetches a commit, or what a branch or a tag is now, which the pack then follows; fixes the pack at it, and reads its texts. `folder`: an
/// empty one for the repository.
///
/// # Errors
/// Git is missing, too old, or cannot fetch; there is no such ref or commit, or several; there is too much; a name escapes, is that of a
/// symlink, or differs from another one in case only.
pub(crate) fn fetch(folder: &Path, pack: &mut Pack, given: &str) -> Result<Texts, Diagnostic> {
    let repository = Repository { folder, address: pack.address.clone() };
    check_version(&repository.run("", &["version"])?)?;
    repository.run("", &["init", "--quiet", "--bare", "--template="])?;
    let commit = match is_commit(given) {
        true => {
            // A server that refuses a commit itself may have it as what the branch or the tag is.
            repository.fetch(given).or_else(|error| match error.kind {
                Kind::TooLong => Err(error),
                _ => repository.fetch(&pack.reference),
            })?;
            given
        }
        false => {
            repository.fetch(&repository.full_name(given)?)?;
            given.clone_into(&mut pack.reference);
            "FETCH_HEAD"
        }
    };
    let shown = repository.run("", &["log", "-1", "--no-show-signature", "--format=%H %cs", commit, "--"]);
    let shown = shown.unwrap_or_default();
    let (commit, day) = shown.trim().split_once(' ').ok_or_else(|| repository.no_commit(given))?;
    (pack.commit, pack.date) = (commit.to_owned(), day.to_owned());
    repository.texts(pack)
}

impl Repository<'_> {
    /// `protocols`: those that git may use. Without one, it cannot fetch what a filter has left out when that is read.
    fn git(&self, protocols: &str, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.current_dir(self.folder).args(["--git-dir", "."]).env("GIT_ALLOW_PROTOCOL", protocols);
        SETTINGS.split(' ').for_each(|setting| _ = git.args(["-c", setting]));
        ELSEWHERE.iter().for_each(|variable| _ = git.env_remove(variable));
        git.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        git
    }

    fn run(&self, protocols: &str, arguments: &[&str]) -> Result<String, Diagnostic> {
        let output = self.git(protocols, arguments).output().map_err(failed)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(complaint(&output.stderr)),
        }
    }

    fn no_commit(&self, given: &str) -> Diagnostic {
        let message = format!("{} has no commit at {}", named(&self.address), named(given));
        refused(message, "push one, or choose a branch, a tag or a commit that it has, with `--ref`")
    }

    /// The whole name of a branch or a tag, such as `refs/heads/main`.
    fn full_name(&self, reference: &str) -> Result<String, Diagnostic> {
        let listed = self.run(PROTOCOLS, &["ls-remote", "--", &self.address, reference])?;
        let full = ["", "refs/", "refs/tags/", "refs/heads/"].map(|start| format!("{start}{reference}"));
        let names = listed.lines().filter_map(|line| Some(line.split_once('\t')?.1));
        match names.filter(|name| full.iter().any(|full| full == name)).collect::<Vec<_>>()[..] {
            [name] => Ok(name.to_owned()),
            [] => Err(self.no_commit(reference)),
            [first, ..] => {
                let message = format!("{} is ambiguous: a branch and a tag have this name", named(reference));
                Err(refused(message, &format!("choose one, as in `--ref {first}`")))
            }
        }
    }

    fn fetch(&self, name: &str) -> Result<(), Diagnostic> {
        let filter = "--filter=blob:limit=4m";
        let arguments = ["fetch", "--quiet", "--depth=1", "--no-tags", filter, "--", &self.address, name];
        // What a server says is limited with the repository.
        let said = self.folder.join("said");
        let stderr = File::create(&said).map_err(failed)?;
        let mut git = self.git(PROTOCOLS, &arguments).stderr(stderr).spawn().map_err(failed)?;
        let size = || {
            let files = WalkDir::new(self.folder).into_iter().flatten().filter_map(|entry| entry.metadata().ok());
            files.filter(fs::Metadata::is_file).map(|file| file.len()).sum::<u64>()
        };
        let status = loop {
            match git.wait_timeout(LOOK).map_err(failed)? {
                Some(status) => break status,
                None if size() <= MAX_REPOSITORY => {}
                None => {
                    end(&mut git);
                    return Err(too_much(&self.address, &format!("{} MiB", MAX_REPOSITORY >> 20)));
                }
            }
        };
        if status.success() { Ok(()) } else { Err(complaint(&fs::read(said).unwrap_or_default())) }
    }

    /// The texts of a pack at its commit, which was fetched.
    fn texts(&self, pack: &Pack) -> Result<Texts, Diagnostic> {
        let mut texts = Texts::default();
        let (mut objects, mut folded) = (BTreeMap::new(), BTreeMap::new());
        for (mode, object, path) in self.entries(pack)? {
            let shown = quoted(&path);
            let wrong = |why: &str| {
                let fix = "have it corrected there, or leave it out with `--path`";
                Err(refused(format!("{shown} {why}"), fix))
            };
            match (&*mode, pack.takes(&path)) {
                _ if path.split('/').any(|part| matches!(part, "" | "." | "..")) => {
                    return wrong("is a path that leads out of the repository");
                }
                ("120000", Ok(true)) => return wrong("is a symlink, which is not followed"),
                ("120000" | "160000", _) => texts.left_out.push(format!("{shown} is a symlink or a submodule")),
                (_, Ok(true)) => {
                    let key: String = path.to_lowercase().nfc().collect();
                    if let Some(other) = folded.insert(key, path.clone()) {
                        return wrong(&format!("and {} differ in case or accents only", quoted(&other)));
                    }
                    objects.insert(path, object);
                }
                (_, Err(why)) => texts.left_out.push(format!("{shown}: {why}")),
                _ => {}
            }
        }
        if objects.len() + texts.left_out.len() > MAX_FILES {
            return Err(too_much(&self.address, &count(MAX_FILES, "prompt")));
        }
        self.read(&objects, &mut texts)?;
        Ok(texts)
    }

    /// Mode, object and path of all files of the pack's folder. Their number is limited while they are read: trees that share subtrees can
    /// name more files than a disk could hold.
    fn entries(&self, pack: &Pack) -> Result<Vec<(String, String, String)>, Diagnostic> {
        let tree = format!("{}:{}", pack.commit, pack.path);
        let mut git = self.git("", &["ls-tree", "-r", "-z", "--full-tree", &tree]).spawn().map_err(failed)?;
        let lines = git.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\0'));
        let lines = lines.take(MAX_ENTRIES + 1).collect::<io::Result<Vec<_>>>().map_err(failed)?;
        if lines.len() > MAX_ENTRIES {
            end(&mut git);
            return Err(too_much(&self.address, &count(MAX_ENTRIES, "file")));
        }
        if !git.wait().is_ok_and(|status| status.success()) {
            let message = format!("{} has no folder {}", named(&self.address), named(&pack.path));
            return Err(refused(message, "correct `--path`"));
        }
        let entries = lines.iter().filter_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split(' ');
            Some((about.next()?.to_owned(), about.nth(1)?.to_owned(), path.to_owned()))
        });
        Ok(entries.collect())
    }

    /// Reads texts, of objects by their paths, from one process.
    fn read(&self, objects: &BTreeMap<String, String>, texts: &mut Texts) -> Result<(), Diagnostic> {
        let mut git = self.git("", &["cat-file", "--batch"]);
        let mut git = git.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
        let (Some(mut asked), Some(answers)) = (git.stdin.take(), git.stdout.take()) else {
            return Err(complaint(b"no output"));
        };
        let mut answers = BufReader::new(answers);
        let mut total = 0;
        for (path, object) in objects {
            let mut head = String::new();
            writeln!(asked, "{object}").map_err(failed)?;
            answers.read_line(&mut head).map_err(failed)?;
            // Git has not fetched a text that is missing because of its length.
            let length = head.trim_end().rsplit(' ').next().unwrap_or_default().parse().unwrap_or(usize::MAX);
            total += length.min(MAX_TEXTS);
            if length > MAX_FILE || total > MAX_TEXTS {
                end(&mut git);
                let (what, limit) = if length > MAX_FILE { (path, MAX_FILE) } else { (&self.address, MAX_TEXTS) };
                return Err(too_much(what, &format!("{} MiB of text", limit >> 20)));
            }
            let mut bytes = vec![0; length + 1]; // with a line break
            answers.read_exact(&mut bytes).map_err(failed)?;
            bytes.truncate(length);
            match String::from_utf8(bytes) {
                Ok(text) => _ = texts.files.insert(path.clone(), text),
                Err(_) => texts.left_out.push(format!("{} is not UTF-8", quoted(path))),
            }
        }
        end(&mut git);
        Ok(())
    }
}

fn end(git: &mut Child) {
    _ = git.kill();
    _ = git.wait();
}

fn check_version(text: &str) -> Result<(), Diagnostic> {
    let numbers: Vec<u32> = text.split([' ', '.']).filter_map(|word| word.parse().ok()).collect();
    let message = || format!("packs need git 2.30 or newer; this is {}", text.trim());
    if numbers.as_slice() >= OLDEST.as_slice() { Ok(()) } else { Err(refused(message(), "install a newer git")) }
}

fn refused(message: String, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::Invalid, message, fix)
}

fn too_much(what: &str, limit: &str) -> Diagnostic {
    let message = format!("{} has more than {limit}", quoted(what));
    Diagnostic::new(Kind::TooLong, message, "choose less with `--path` or `--only`")
}

/// Why git, or the file that git reads its input from, cannot be used.
fn failed(error: io::Error) -> Diagnostic {
    match error.kind() {
        ErrorKind::NotFound => refused("packs need git, and there is none".to_owned(), "install git"),
        _ => refused(format!("git cannot be used: {error}"), "correct that"),
    }
}

/// Git's own words.
fn complaint(said: &[u8]) -> Diagnostic {
    const KEPT: usize = 2_000;
    let said = String::from_utf8_lossy(&said[said.len().saturating_sub(KEPT)..]);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    refused(format!("git has failed: {}", lines.join("; ")), "")
}
