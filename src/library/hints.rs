//! Files and folders that look like prompts, and are not read. They are known by their names; none is opened.

use super::golden_files::is_test_file;
use super::root::{RENAME, Root};
use crate::prompt::{Diagnostic, Format, Kind};
use crate::wording::{count, named, printable};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Suffixes of files in which other programs keep prompts, each with what to do to use such a file.
const SUFFIXES: [(&str, &str); 8] = [
    ("jsonl", "run `prompt-expander import` if it is a file of hexai"),
    ("markdown", RENAME),
    ("mdc", "copy it to a `.md` file (`.mdc` files are rules of Cursor, not prompts)"),
    ("mdx", RENAME),
    ("prompt", "run `prompt-expander import` if it is a prompt of Continue, or rename it so that it ends in `.md`"),
    ("txt", RENAME),
    ("yaml", "run `prompt-expander import` if it is a template of llm, or copy its prompt into a `.md` file"),
    ("yml", "copy its prompt into a `.md` file"),
];

/// The hidden folders in which other programs keep prompts.
const HIDDEN: [&str; 10] = [
    ".agents/skills",
    ".claude/commands",
    ".claude/skills",
    ".codex/prompts",
    ".codex/skills",
    ".cursor/commands",
    ".gemini/commands",
    ".github/prompts",
    ".opencode/command",
    ".opencode/commands",
];

/// Whether a file in our own folder has a suffix with which other programs keep prompts.
pub(super) fn is_like_a_prompt(root: &Root, path: &Path) -> bool {
    let is_about_the_folder = |stem: &OsStr| ["README", "LICENSE"].iter().any(|name| stem.eq_ignore_ascii_case(name));
    !root.is_read_only()
        && !is_test_file(path)
        && fix_of(path).is_some()
        && !path.file_stem().is_some_and(is_about_the_folder)
}

/// What to do to use a file with such a suffix.
pub(super) fn fix_of(path: &Path) -> Option<(&'static str, &'static str)> {
    let suffix = path.extension()?;
    SUFFIXES.into_iter().find(|(known, _)| suffix.eq_ignore_ascii_case(known))
}

/// The folders of other programs' prompts in a hidden folder.
pub(super) fn hidden_folders(root: &Root, hidden: &Path) -> Vec<PathBuf> {
    let (Some(parent), Some(name), false) = (hidden.parent(), hidden.file_name(), root.is_read_only()) else {
        return Vec::new();
    };
    let known = HIDDEN.iter().filter(|known| Path::new(known).starts_with(name));
    known.map(|known| parent.join(known)).filter(|folder| folder.is_dir()).collect()
}

/// One hint for each kind of unread files, and for each unread folder.
pub(super) fn hints(unread: &[PathBuf]) -> Vec<Diagnostic> {
    let mut files: BTreeMap<(&str, &str), Vec<&PathBuf>> = BTreeMap::new();
    let mut hints = Vec::new();
    for path in unread {
        let shown = printable(&path.display().to_string());
        let format = Format::of_folder(path);
        if format != Format::OWN {
            let message =
                format!("the prompts of {} in it are not read, because hidden folders are skipped", format.title);
            let fix = format!("to use them, pass the folder with {}", named(&format!("--prompts {shown}")));
            hints.push(Diagnostic::new(Kind::Hint, message, fix).in_file(&**path));
        } else if let Some(known) = fix_of(path) {
            files.entry(known).or_default().push(path);
        }
    }
    for ((suffix, fix), paths) in files {
        let message = match paths.len() {
            1 => format!("a `.{suffix}` file is not read as a prompt"),
            more => format!("it and {} are not read as prompts", count(more - 1, &format!("other `.{suffix}` file"))),
        };
        hints.push(Diagnostic::new(Kind::Hint, message, format!("to use one, {fix}")).in_file(&**paths[0]));
    }
    hints
}
