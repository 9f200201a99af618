//! `packs.lock`: the packs of a user or project, each with its commit and the SHA-256 of its files.
//!
//! The file is JSON that diffs well: it is sorted, and each file is on a line of its own.
//!
//! A project's lock may be written by anybody. Its entries are validated like the arguments of
//! `pack add`, so that none of them can name a file outside the pack or start a program.

use crate::library::{
    PROJECT_FOLDER, create_with_folders, file_error, read_file, replace_if_unchanged,
};
use crate::prompt::{
    Diagnostic, Format, Kind, MAX_FILE, Name, Position, fold_name, is_partial, sha256,
};
use crate::whole_file::FileAccess;
use crate::wording::{in_backticks, is_hex, matches_pattern, printable, without_password};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The file name of a lock.
pub(crate) const LOCK: &str = "packs.lock";

/// The maximum number of files in a pack.
pub(crate) const MAX_FILES: usize = 1_000;

/// How to fix a lock that was edited by hand.
const RESTORE: &str = "restore the file as it was, or remove the pack from it and add it again";

/// The contents of a `packs.lock`.
pub(crate) struct PackLock {
    pub(crate) packs: Vec<Pack>,
    /// The text of the file, or `None` if the file doesn't exist.
    pub(crate) text: Option<String>,
}

/// Prompts from a git repository, pinned to a commit. An entry of the lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pack {
    /// The prefix of its prompts' names, e.g. `acme` for `acme/review`.
    pub(crate) name: String,
    /// The address of the repository, in a form that git accepts.
    pub(crate) address: String,
    /// The branch, tag or commit that `pack update` fetches.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    /// 40 hexadecimal digits.
    pub(crate) commit: String,
    /// The day of the commit, such as `2026-11-23`.
    pub(crate) date: String,
    /// The folder of the repository with the prompts. Empty for the whole repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) path: String,
    /// Patterns such as `git/*` for the prompts to include. Empty for all prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    /// The SHA-256 of each file, by its path relative to `path`.
    pub(crate) files: BTreeMap<String, String>,
}

/// How the local copies of a pack differ from the lock.
pub(super) enum CopyProblem {
    /// A file has other contents.
    Changed,
    /// A file does not exist.
    Missing,
    /// No file exists.
    AllMissing,
    /// A file is not in the lock.
    Stray,
}

/// Whether a file of the repository belongs to a pack.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileChoice {
    Included,
    /// The file isn't a prompt, or doesn't match the pack's patterns.
    Ignored,
    /// The file would be included, but its name isn't allowed. The string says why.
    BadName(String),
}

impl PackLock {
    /// Reads a lock. A missing file is a lock without packs.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub(crate) fn read(path: &Path) -> Result<PackLock, Diagnostic> {
        // A symlink in a cloned project could point to any file, and syntax errors quote the file.
        if is_in_project(path) && path.is_symlink() {
            let message = "the lock of a project must not be a symlink";
            let error = Diagnostic::new(Kind::OutsideFolder, message, "replace it with a file");
            return Err(error.in_file(path));
        }
        let bytes = match read_file(path, MAX_FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind == Kind::NotFound => {
                return Ok(PackLock {
                    packs: Vec::new(),
                    text: None,
                });
            }
            Err(error) => return Err(error.in_file(path)),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let packs = parse(&text).map_err(|error| error.in_file(path))?;
        Ok(PackLock {
            packs,
            text: Some(text),
        })
    }
}

/// Returns whether the lock is in a project's folder of prompts, where others may have written it.
fn is_in_project(lock: &Path) -> bool {
    lock.parent()
        .is_some_and(|folder| folder.ends_with(PROJECT_FOLDER))
}

/// Sorts the packs by name, writes them to the lock atomically, and returns its new text.
///
/// `original` is the [`PackLock::text`] that was read before. If the file has changed since then,
/// or was created although `original` is `None`, nothing is written.
///
/// # Errors
/// The file has changed, or cannot be written.
pub(crate) fn save(
    path: &Path,
    original: Option<&str>,
    packs: &mut [Pack],
) -> Result<String, Diagnostic> {
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    let text = serde_json::to_string_pretty(packs).unwrap_or_default() + "\n";
    let Some(original) = original else {
        create_with_folders(path, &text, FileAccess::Shared)?; // fails if the file exists
        return Ok(text);
    };
    let is_replaced = replace_if_unchanged(path, original.as_bytes(), &text)
        .map_err(|error| file_error(path, &error))?;
    if !is_replaced {
        let message = "another program has changed the file in the meantime; nothing was written";
        return Err(Diagnostic::new(Kind::Busy, message, "try again").in_file(path));
    }
    Ok(text)
}

/// Parses and validates the text of a lock.
fn parse(text: &str) -> Result<Vec<Pack>, Diagnostic> {
    let packs: Vec<Pack> = serde_json::from_str(text).map_err(|error| syntax_error(&error))?;
    let mut names = BTreeSet::new();
    for pack in &packs {
        let is_unique = names.insert(fold_name(&pack.name));
        if !is_unique {
            return Err(pack.entry_error("two packs have the same name"));
        }
        pack.validate()
            .map_err(|reason| pack.entry_error(&reason))?;
    }
    Ok(packs)
}

/// Returns the error for a lock that isn't JSON, or has unknown or missing keys.
fn syntax_error(error: &serde_json::Error) -> Diagnostic {
    let position = Position {
        line: error.line(),
        column: error.column(),
    };
    Diagnostic::error(Some(position), printable(&error.to_string()), RESTORE)
}

impl Pack {
    /// Returns the error for an entry of the lock that is invalid because of `reason`.
    fn entry_error(&self, reason: &str) -> Diagnostic {
        let name = in_backticks(&self.name);
        let message = format!("the entry of the pack {name} is invalid: {reason}");
        Diagnostic::invalid(message, RESTORE)
    }

    /// Validates an entry of the lock, which may have been edited by hand.
    ///
    /// # Errors
    /// Returns the reason why the entry is invalid, as a clause.
    fn validate(&self) -> Result<(), String> {
        parse_pack_name(&self.name)?;
        parse_address(&self.address)?;
        parse_reference(&self.reference)?;
        if !self.path.is_empty() && parse_folder(&self.path).is_err() {
            return Err("its path is invalid".to_owned());
        }
        let has_date = self.date.parse::<jiff::civil::Date>().is_ok();
        if !has_date || !is_commit(&self.commit) {
            return Err("its date or commit is invalid".to_owned());
        }
        let mut files = self.files.iter();
        let has_valid_files =
            files.all(|(path, hash)| self.choose(path) == FileChoice::Included && is_hex(hash, 64));
        if !has_valid_files || self.files.len() > MAX_FILES {
            return Err("a file or a SHA-256 is invalid".to_owned());
        }
        Ok(())
    }

    /// Returns the format of the pack's files, which depends on its path: `.codex/prompts` is in
    /// the format of Codex.
    pub(crate) fn format(&self) -> &'static Format {
        Format::for_folder(Path::new(&self.path))
    }

    /// Returns the name with an abbreviated commit id, e.g. `acme@0123456789ab`.
    pub(crate) fn version(&self) -> String {
        format!("{}@{}", self.name, &self.commit[..12])
    }

    /// Decides whether the file at `path`, relative to the pack's folder, belongs to the pack.
    ///
    /// A pack includes the prompts in its [format](Pack::format) that match its patterns, and all
    /// partials, which are Markdown files that prompts can include, such as `_parts/tone.md`.
    pub(super) fn choose(&self, path: &str) -> FileChoice {
        // The path without its suffix, or `None` if the file is neither.
        let stem = if self.format().is_own() && is_partial(path) {
            path.strip_suffix(".md")
        } else {
            self.matching_prompt_stem(path)
        };
        let Some(stem) = stem else {
            return FileChoice::Ignored;
        };
        if has_hidden_component(path) {
            return FileChoice::Ignored;
        }
        match check_stem(stem) {
            Ok(()) => FileChoice::Included,
            Err(reason) => FileChoice::BadName(reason),
        }
    }

    /// Returns `true` if a file has the name of a prompt or a partial in the pack's format, whether
    /// it belongs to the pack or not. `path` is relative to the pack's folder.
    pub(super) fn is_prompt_or_partial(&self, path: &str) -> bool {
        let is_partial = self.format().is_own() && is_partial(path) && path.ends_with(".md");
        let is_prompt = self.format().split_path(path).is_some();
        (is_partial || is_prompt) && !has_hidden_component(path)
    }

    /// Returns the path of a prompt without its suffix, e.g. `git/commit` for `git/commit.md`.
    /// Returns `None` if the file isn't a prompt or doesn't match the pack's patterns.
    fn matching_prompt_stem<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (stem, _) = self.format().split_path(path)?;
        let mut patterns = self.only.iter();
        if self.only.is_empty() || patterns.any(|pattern| matches_pattern(pattern, stem)) {
            Some(stem)
        } else {
            None
        }
    }

    /// Fails if the lock doesn't list a file with this path and these contents.
    pub(crate) fn verify_file(&self, path: &str, contents: &[u8]) -> Result<(), Diagnostic> {
        match self.files.get(path) {
            Some(hash) if *hash == sha256(contents) => Ok(()),
            Some(_) => Err(self.copy_error(CopyProblem::Changed)),
            None => Err(self.copy_error(CopyProblem::Stray)),
        }
    }

    /// Returns the error for a file in the local copies that differs from the lock. It is of
    /// [`Kind::LockMismatch`], and says how `pack sync` repairs the copies.
    pub(super) fn copy_error(&self, problem: CopyProblem) -> Diagnostic {
        let version = in_backticks(&self.version());
        let message = match problem {
            CopyProblem::Changed => {
                format!("not served, because it is not the file of the pack {version} in {LOCK}")
            }
            CopyProblem::Missing => format!("this file of the pack {version} is missing"),
            CopyProblem::AllMissing => format!("all files of the pack {version} are missing"),
            CopyProblem::Stray => {
                format!("not served, because the pack {version} in {LOCK} has no such file")
            }
        };
        let repair = match problem {
            CopyProblem::Changed | CopyProblem::Missing => "restores it",
            CopyProblem::AllMissing => "fetches them",
            CopyProblem::Stray => "removes it",
        };
        let fix = format!(
            "`prompt-expander pack sync` {repair}; add --project if the pack is of a project"
        );
        Diagnostic::new(Kind::LockMismatch, message, fix)
    }
}

/// Returns whether the file is hidden or in a hidden folder, e.g. `.github/x.md`.
fn has_hidden_component(path: &str) -> bool {
    path.split('/')
        .any(|component| component.starts_with('.') && component != "." && component != "..")
}

/// Checks that the path of a file, without its suffix, is a name that users can type.
///
/// # Errors
/// Returns the reason why it isn't, as a clause.
fn check_stem(stem: &str) -> Result<(), String> {
    // The path of a partial has a component that starts with `_`, which names don't allow.
    let components: Vec<&str> = stem
        .split('/')
        .map(|component| component.trim_start_matches('_'))
        .collect();
    let typed = components.join("/");
    let name = Name::for_new_file(&typed)?;
    // A name is normalized. If that changes it, users would have to type another name.
    if *name == typed {
        Ok(())
    } else {
        Err("it cannot be typed as a name".to_owned())
    }
}

/// Returns whether the text is a full commit id, not an abbreviated one.
pub(crate) fn is_commit(text: &str) -> bool {
    is_hex(text, 40)
}

/// Checks the name of a pack, such as `acme`, and returns it.
///
/// # Errors
/// Returns the reason why a prompt's name can't start with it, as a clause.
pub(crate) fn parse_pack_name(text: &str) -> Result<String, String> {
    let name = Name::for_new_file(text)?;
    let is_normalized = *name == *text;
    if !is_normalized || text.contains('/') || text.starts_with('_') {
        return Err("the name of a pack is one word, such as `acme`".to_owned());
    }
    Ok(text.to_owned())
}

/// Checks the address of a repository, and returns it. It is a URL, a path, or `user@host:path` for
/// ssh.
///
/// # Errors
/// Git could interpret the address as an option or a command, or it contains a password, which
/// would become visible to everybody who can read the lock.
pub(crate) fn parse_address(text: &str) -> Result<String, String> {
    if without_password(text) != text {
        let error =
            "leave out the password, which would be in packs.lock; git asks for it, or knows it";
        return Err(error.to_owned());
    }
    if is_safe_address(text) {
        return Ok(text.to_owned());
    }
    let error = "it is not an address with https, ssh, git or file, such as `https://github.com/acme/prompts`";
    Err(error.to_owned())
}

/// Returns whether it is safe to pass the address to git.
fn is_safe_address(address: &str) -> bool {
    let is_option = address.starts_with('-');
    if address.is_empty() || is_option || address.contains(char::is_control) {
        return false;
    }
    let Some((scheme, _)) = address.split_once("://") else {
        // `ext::sh -c x` would run a command: git passes it to `git-remote-ext`.
        return !address.contains("::");
    };
    ["https", "ssh", "git", "file"].contains(&scheme)
}

/// Checks the name of a branch, tag or commit, and returns it.
///
/// # Errors
/// Git would interpret the name as something else.
pub(crate) fn parse_reference(text: &str) -> Result<String, String> {
    let is_option = text.starts_with('-');
    let is_range = text.contains("..");
    if text.is_empty() || is_option || is_range || text.contains(is_invalid_in_reference) {
        return Err("it is not the name of a branch, a tag or a commit".to_owned());
    }
    Ok(text.to_owned())
}

/// Returns whether a character is not allowed in the name of a branch (see `git
/// check-ref-format`), or has a special meaning for `git fetch`, e.g. `+`.
fn is_invalid_in_reference(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "~^:?*[\\+".contains(character)
}

/// Checks the path of a folder in a repository, such as `prompts`, and returns it.
///
/// # Errors
/// The path is absolute, has an empty, `.` or `..` component, or contains a control character.
pub(crate) fn parse_folder(text: &str) -> Result<String, String> {
    let mut components = text.split('/');
    let is_unsafe = components.any(|component| matches!(component, "" | "." | ".."));
    if is_unsafe || text.contains(char::is_control) {
        return Err("write the path of a folder in the repository, such as `prompts`".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Parses a valid lock after replacing the first `from` in its text with `to`.
    fn lock_with(from: &str, to: &str) -> Result<Vec<Pack>, Diagnostic> {
        let text = format!(
            r#"[{{"name": "acme", "address": "https://a.example/x", "ref": "HEAD", "commit": "{COMMIT}",
                "date": "2026-11-23", "path": "a/b", "only": ["git/*"], "files": {{"git/x.md": "{}"}}}}]"#,
            sha256(b"x")
        );
        assert!(text.contains(from), "{from}");
        parse(&text.replacen(from, to, 1))
    }

    #[test]
    fn unsafe_and_invalid_locks_are_rejected() {
        assert_eq!(lock_with("HEAD", "v1").unwrap()[0].reference, "v1");
        for (from, to, want) in [
            ("git/x.md", "git/../../x.md", "a file or a SHA-256"),
            ("git/x.md", "/etc/x.md", "a file or a SHA-256"),
            ("git/x.md", "git/.git/x.md", "a file or a SHA-256"),
            ("git/x.md", "git/x.sh", "a file or a SHA-256"),
            ("git/x.md", r"git/a\u202eb.md", "a file or a SHA-256"),
            (&sha256(b"x"), "0", "a file or a SHA-256"),
            (COMMIT, "HEAD", "its date or commit"),
            ("2026-11-23", r"\u001b[31mabcde", "its date or commit"),
            ("a/b", "../x", "its path"),
            ("a/b", "/etc", "its path"),
            ("acme", "_acme", "the entry of the pack `_acme` is invalid"),
            ("acme", "a/b", "one word"),
            ("HEAD", "--x", "the name of a branch"),
            (
                "\"name\"",
                "\"more\": 1, \"name\"",
                "packs.lock:1:8: unknown field `more`",
            ),
            (
                "https://a.example/x",
                "--upload-pack=touch x",
                "not an address",
            ),
            ("https://a.example/x", "ext::sh -c x", "not an address"),
            ("https://a.example/x", "ext::sh", "not an address"),
            (
                "https://a.example/x",
                "ext::https://a.example",
                "not an address",
            ),
            (
                "https://a.example/x",
                "http://a.example/x",
                "not an address with https, ssh, git or file",
            ),
            ("https://a.example/x", r"a\u001bb", "not an address"),
            (
                "https://a.example/x",
                "https://me:secret@a.example",
                "leave out the password",
            ),
            (
                "https://a.example/x",
                "https://me:s/e?c#r@t@a.example",
                "leave out the password",
            ),
            (
                "https://a.example/x",
                "me:secret@a.example:x",
                "leave out the password",
            ),
            ("]", "", "packs.lock:2:"),
        ] {
            let error = lock_with(from, to)
                .unwrap_err()
                .in_file(Path::new("packs.lock"))
                .to_string();
            assert!(error.contains(want), "{from} {to}: {error}");
        }
        let pack = Pack {
            name: "acme".to_owned(),
            ..lock_with("", "").unwrap().remove(0)
        };
        let error = parse(&serde_json::to_string(&[&pack, &pack]).unwrap()).unwrap_err();
        assert!(error.message.contains("two packs"), "{error}");
    }

    #[test]
    fn a_pack_includes_prompts_of_known_formats_whose_names_can_be_typed() {
        let all = Pack::default();
        for path in [
            "review.md",
            "git/commit.toml",
            "skill/SKILL.md",
            "_parts/header.md",
        ] {
            assert_eq!(all.choose(path), FileChoice::Included, "{path}");
        }
        for path in ["run.sh", ".github/x.md", ".git/hooks/evil.md"] {
            assert_eq!(all.choose(path), FileChoice::Ignored, "{path}");
        }
        for path in [
            "my prompt.md",
            "a\u{1b}[2Jb.md",
            "../x.md",
            "/x.md",
            "a//x.md",
            "a/./x.md",
            "con.md",
            "a\u{e0041}b.md",
            "a:b.md",
        ] {
            let choice = all.choose(path);
            assert!(matches!(choice, FileChoice::BadName(_)), "{path}");
        }
    }

    #[test]
    fn a_pack_includes_only_files_that_match_its_patterns_and_format() {
        let some = Pack {
            only: vec!["git/*".to_owned(), "*view".to_owned(), "a*z".to_owned()],
            ..Pack::default()
        };
        for path in ["git/commit.md", "review.md"] {
            assert_eq!(some.choose(path), FileChoice::Included, "{path}");
        }
        for path in ["a.md", "git.md", "other.md"] {
            assert_eq!(some.choose(path), FileChoice::Ignored, "{path}");
        }
        let codex = Pack {
            path: "x/.codex/prompts".to_owned(),
            ..Pack::default()
        };
        assert_eq!(codex.choose("a.md"), FileChoice::Included);
        assert_eq!(codex.choose("a.toml"), FileChoice::Ignored);
    }
}
