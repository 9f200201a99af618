//! What a library does not read although it may be prompts: files of other formats next to prompt files, files in a folder that
//! is itself a prompt, and hidden folders in which other programs keep theirs.
//!
//! Files are counted by their names, and none is opened. No symlink is followed.

use super::folder::is_hidden;
use super::test_files::is_test_file;
use super::walk::MAX_ENTRIES;
use crate::prompt::{MAX_DEPTH, System};
use crate::wording::{count, named, printable};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

/// What to do with a file that only has the wrong suffix.
pub(super) const RENAME: &str = "rename it so that it ends in `.md`";
const COPY: &str = "copy its prompt into a `.md` file";
const YAML: &str =
    "name its folder with `--prompts llm:DIR` if it is a template of llm, or copy its prompt into a `.md` file";

/// Suffixes of files in which other programs keep prompts, each with what to do to use such a file.
const SUFFIXES: [(&str, &str); 8] = [
    ("jsonl", "name it with `--prompts FILE` if it is a file of hexai"),
    ("markdown", RENAME),
    ("mdc", "copy it to a `.md` file (`.mdc` files are rules of Cursor, not prompts)"),
    ("mdx", RENAME),
    (
        "prompt",
        "name its folder with `--prompts continue:DIR` if it is a prompt of Continue; otherwise rename it so that it ends in \
         `.md`, and write its placeholders as `{{name}}`",
    ),
    ("txt", RENAME),
    ("yaml", YAML),
    ("yml", COPY),
];

/// The hidden folders in which other programs keep prompts, and [the one of a project](super::PROJECT_FOLDER).
const HIDDEN_FOLDERS: [&str; 13] = [
    ".agents/skills",
    ".claude/commands",
    ".claude/skills",
    ".codex/prompts",
    ".codex/skills",
    ".continue/prompts",
    ".cursor/commands",
    ".gemini/commands",
    ".github/prompts",
    ".opencode/command",
    ".opencode/commands",
    ".prompts",
    ".swissarmyhammer/prompts",
];

/// Markdown files in a folder that is a pattern of fabric, besides its `system.md`, which fabric does not read either.
const OF_PATTERN: [&str; 3] = ["system.md", "user.md", "README.md"];

/// Files of one kind that are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Their suffix, such as `.yaml`, or the end of their folder's path, such as `.claude/commands`, or `system.md` for files next
    /// to one.
    pub kind: String,
    /// How many there are.
    pub count: usize,
    /// Of files with this suffix, the first; otherwise the first folder.
    pub first: PathBuf,
    /// What is not read, and what to do.
    pub message: String,
}

/// Looks through `folders`, which the library reads, and through `patterns`, which are prompts with a `system.md`. `projects` are
/// folders that hold one of those, and are searched only for hidden folders. What is in one of `roots`, the folders that the library
/// was made of, is read if it is not hidden there, and so are the `attached` files.
pub(super) fn search(
    folders: &BTreeSet<PathBuf>,
    patterns: &BTreeSet<PathBuf>,
    projects: &BTreeSet<PathBuf>,
    roots: &[&Path],
    attached: HashSet<PathBuf>,
) -> Vec<Unread> {
    let roots = roots.iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
    let mut search =
        Search { roots, attached, files: BTreeMap::new(), folders: BTreeMap::new(), remaining: MAX_ENTRIES };
    for folder in folders {
        for entry in search.entries(folder) {
            search.add_file(&entry);
            search.add_hidden_folders(folder, &entry);
        }
    }
    let mut in_patterns = Vec::new();
    for pattern in patterns {
        let is_other = |entry: &DirEntry| OF_PATTERN.iter().all(|name| entry.file_name() != *name);
        let is_markdown = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
        let entries = search.entries(pattern).into_iter().filter(is_other).map(|entry| entry.path());
        in_patterns.extend(entries.filter(|path| is_markdown(path) && !is_hidden(path) && !is_about_the_folder(path)));
    }
    for project in projects.difference(folders) {
        for entry in search.entries(project) {
            search.add_hidden_folders(project, &entry);
        }
    }
    let folders = search.folders.into_iter().map(|(kind, found)| found.message(kind));
    let files = search.files.into_iter().map(|((suffix, fix), (count, first))| of_suffix(suffix, fix, count, first));
    folders.chain(files).chain(of_patterns(&in_patterns)).collect()
}

/// Markdown files in folders with a `system.md`, which a user may have meant to be prompts.
fn of_patterns(files: &[PathBuf]) -> Option<Unread> {
    let first = files.first()?.clone();
    let (number, are) = (count(files.len(), "`.md` file"), are(files.len()));
    let shown = printable(&first.display().to_string());
    let message = format!(
        "{number} {are} not read because the folder has a `system.md`, and so is itself a prompt, such as {shown}; to use one, \
         move it to another folder"
    );
    Some(Unread { kind: "system.md".to_owned(), count: files.len(), first, message })
}

struct Search {
    roots: Vec<PathBuf>,
    /// Files that prompts attach, which are read for them.
    attached: HashSet<PathBuf>,
    /// By suffix and fix: how many, and the first.
    files: BTreeMap<(&'static str, &'static str), (usize, PathBuf)>,
    folders: BTreeMap<&'static str, HiddenFolders>,
    /// How many more files and folders are looked at.
    remaining: usize,
}

/// The hidden folders of one kind.
#[derive(Default)]
struct HiddenFolders {
    folders: Vec<PathBuf>,
    files: usize,
}

impl Search {
    /// What is in a folder, sorted by name. What cannot be read was reported by the scan.
    fn entries(&mut self, folder: &Path) -> Vec<DirEntry> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut entries: Vec<DirEntry> = entries.take(self.remaining).collect();
        self.remaining -= entries.len();
        entries.sort_by_key(DirEntry::file_name);
        entries
    }

    fn add_file(&mut self, entry: &DirEntry) {
        let path = entry.path();
        if is_hidden(&path) || is_folder(entry) || is_about_the_folder(&path) {
            return;
        }
        if let Some(known) = known_suffix(&path)
            && !fs::canonicalize(&path).is_ok_and(|path| self.attached.contains(&path))
        {
            self.files.entry(known).or_insert((0, path)).0 += 1;
        }
    }

    /// Adds the folders with prompts in a hidden folder, `entry` of `parent`.
    fn add_hidden_folders(&mut self, parent: &Path, entry: &DirEntry) {
        let name = entry.file_name();
        if !is_hidden(Path::new(&name)) || !is_folder(entry) {
            return;
        }
        for kind in HIDDEN_FOLDERS.into_iter().filter(|kind| Path::new(kind).starts_with(&name)) {
            let folder = parent.join(kind);
            let is_folder = fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir());
            if is_folder && !self.is_read(&folder) {
                self.add_hidden_folder(kind, folder);
            }
        }
    }

    fn add_hidden_folder(&mut self, kind: &'static str, root: PathBuf) {
        let system = System::of_folder(&root);
        let is_prompt = |path: &Path| {
            let below = path.strip_prefix(&root).unwrap_or(path).to_string_lossy().replace('\\', "/");
            system.prompt_file(&below).is_some()
        };
        let mut files = 0;
        let mut folders = vec![(root.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in self.entries(&folder) {
                let path = entry.path();
                if is_hidden(&path) {
                    continue;
                } else if is_folder(&entry) {
                    folders.extend((depth < MAX_DEPTH).then_some((path, depth + 1)));
                } else {
                    files += usize::from(is_prompt(&path));
                }
            }
        }
        if files > 0 {
            let found = self.folders.entry(kind).or_default();
            found.folders.push(root);
            found.files += files;
        }
    }

    /// Whether a hidden folder is in one that was named.
    fn is_read(&self, folder: &Path) -> bool {
        let Ok(folder) = fs::canonicalize(folder) else { return false };
        let mut below = self.roots.iter().filter_map(|root| folder.strip_prefix(root).ok());
        below.any(|below| !below.iter().any(|part| is_hidden(Path::new(part))))
    }
}

impl HiddenFolders {
    fn message(mut self, kind: &str) -> Unread {
        self.folders.sort();
        let more = match self.folders.len() {
            1 => String::new(),
            several => format!(" and {}", count(several - 1, "more such folder")),
        };
        let first = self.folders.swap_remove(0);
        let shown = printable(&first.display().to_string());
        let (files, are) = (count(self.files, "file"), are(self.files));
        let option = shlex::try_quote(&shown).map_or_else(|_| shown.clone(), Into::into);
        let fix = match kind {
            super::PROJECT_FOLDER => "add `--project` in the folder that it is in".to_owned(),
            _ => {
                let option = named(&format!("--prompts {option}"));
                format!("pass its folder with {option}, together with your other folders")
            }
        };
        let message =
            format!("{files} in {shown}{more} {are} not read, because hidden folders are skipped; to use one, {fix}");
        Unread { kind: kind.to_owned(), count: self.files, first, message }
    }
}

fn of_suffix(suffix: &str, fix: &str, number: usize, first: PathBuf) -> Unread {
    let (files, are) = (count(number, &format!("`.{suffix}` file")), are(number));
    let such_as = if number == 1 { ": " } else { ", such as " };
    let message =
        format!("{files} {are} not read{such_as}{}; to use one, {fix}", printable(&first.display().to_string()));
    Unread { kind: format!(".{suffix}"), count: number, first, message }
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// The suffix of a file in which another program may keep a prompt, and what to do to use it. A test file is none.
pub(super) fn known_suffix(path: &Path) -> Option<(&'static str, &'static str)> {
    let suffix = path.extension()?;
    let known = SUFFIXES.into_iter().find(|(known, _)| suffix.eq_ignore_ascii_case(known));
    known.filter(|_| !is_test_file(path))
}

/// Whether a file such as `LICENSE.txt` says something about the folder that it is in.
fn is_about_the_folder(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| ["README", "LICENSE"].iter().any(|name| stem.eq_ignore_ascii_case(name)))
}
