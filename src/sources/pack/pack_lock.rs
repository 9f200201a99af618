//! `packs.lock`: which packs there are, each with its commit, and the SHA-256 of each of its files.
//!
//! JSON that is made for diffs: sorted, with one line for each file. What another person wrote into
//! it is held to the rules for what `pack add` takes, so that nothing of it can name a file or
//! start a program elsewhere.

use crate::library::{PROJECT_FOLDER, create_with_folders, file_error, read, replace_if_unchanged};
use crate::prompt::{
    Diagnostic, Format, Kind, MAX_FILE, Name, Position, fold_name, is_partial, sha256,
};
use crate::whole_file::FileAccess;
use crate::wording::{in_backticks, is_hex, printable, without_password};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The name of the file.
pub(crate) const LOCK: &str = "packs.lock";

/// The most files of a pack.
pub(crate) const MAX_FILES: usize = 1_000;

/// What to do about a lock that this program did not write.
const RESTORE: &str = "restore the file as it was, or remove the pack from it and add it again";

/// What is in a `packs.lock`.
pub(crate) struct PackLock {
    pub(crate) packs: Vec<Pack>,
    /// The text of the file; `None` if there is no file.
    pub(crate) text: Option<String>,
}

/// Prompts of a git repository, at one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pack {
    /// What its prompts' names begin with, without the `/`.
    pub(crate) name: String,
    /// The address of the repository, as git takes it.
    pub(crate) address: String,
    /// The branch or tag that an update follows, or a commit.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    /// 40 hexadecimal digits.
    pub(crate) commit: String,
    /// The day of the commit.
    pub(crate) date: String,
    /// The folder of the repository that has the prompts; empty: the whole repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) path: String,
    /// Which prompts are taken, as patterns with `*`; empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    /// The hashes of the files, by their paths below that folder.
    pub(crate) files: BTreeMap<String, String>,
}

/// What a file of a repository is to a pack.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileChoice {
    /// It is part of the pack.
    Included,
    /// It is no prompt, or none that the pack's patterns fit.
    Ignored,
    /// It would be part of the pack, but its name is not allowed, for this reason.
    BadName(String),
}

impl PackLock {
    /// Reads a lock. If the file is missing, the lock has no packs.
    ///
    /// # Errors
    /// The file cannot be read, or is not a lock as this program writes it.
    pub(crate) fn read(path: &Path) -> Result<PackLock, Diagnostic> {
        // A link in a clone could name any file, whose lines the error would show.
        if is_in_project(path) && path.is_symlink() {
            let message = "a symlink is not read as the lock of a project";
            let error = Diagnostic::new(Kind::OutsideFolder, message, "replace it with a file");
            return Err(error.in_file(path));
        }
        let bytes = match read(path, MAX_FILE) {
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

/// Returns whether a lock is in a project's folder of prompts, so that others may have written it.
fn is_in_project(lock: &Path) -> bool {
    lock.parent()
        .is_some_and(|folder| folder.ends_with(PROJECT_FOLDER))
}

/// Sorts the packs by name, and writes the lock in one step, unless its text is no longer
/// `original` (`None`: there must be no lock yet). Returns the new text.
///
/// # Errors
/// Another program has changed the lock, or it cannot be written.
pub(crate) fn save(
    path: &Path,
    original: Option<&str>,
    packs: &mut [Pack],
) -> Result<String, Diagnostic> {
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    let text = serde_json::to_string_pretty(packs).unwrap_or_default() + "\n";
    let Some(original) = original else {
        create_with_folders(path, &text, FileAccess::Shared)?;
        return Ok(text);
    };
    let is_replaced = replace_if_unchanged(path, original.as_bytes(), &text)
        .map_err(|error| file_error(path, &error))?;
    if !is_replaced {
        let message = "another program has changed it meanwhile, and nothing is written";
        return Err(Diagnostic::new(Kind::Busy, message, "try again").in_file(path));
    }
    Ok(text)
}

/// Parses a lock file.
///
/// # Errors
/// The text is not a lock as this program writes it.
fn parse(text: &str) -> Result<Vec<Pack>, Diagnostic> {
    let packs: Vec<Pack> = serde_json::from_str(text).map_err(|error| syntax_error(&error))?;
    let mut names = BTreeSet::new();
    for pack in &packs {
        let is_new = names.insert(fold_name(&pack.name));
        if !is_new {
            return Err(pack.invalid("two packs have the same name"));
        }
        pack.validate().map_err(|reason| pack.invalid(&reason))?;
    }
    Ok(packs)
}

/// Returns the error for a lock that is not JSON, or has members that no lock has.
fn syntax_error(error: &serde_json::Error) -> Diagnostic {
    let position = Position {
        line: error.line(),
        column: error.column(),
    };
    Diagnostic::error(Some(position), printable(&error.to_string()), RESTORE)
}

impl Pack {
    /// Returns the error for an entry of the lock that somebody has edited.
    fn invalid(&self, reason: &str) -> Diagnostic {
        let name = in_backticks(&self.name);
        let message =
            format!("the pack {name} is not as `prompt-expander pack` writes it: {reason}");
        Diagnostic::error(None, message, RESTORE)
    }

    /// Checks the entry of this pack in the lock, which somebody may have edited.
    ///
    /// # Errors
    /// Why the entry cannot be used, as a clause.
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
            files.all(|(file, hash)| self.choose(file) == FileChoice::Included && is_hex(hash, 64));
        if !has_valid_files || self.files.len() > MAX_FILES {
            return Err("a file or a SHA-256 is invalid".to_owned());
        }
        Ok(())
    }

    /// Returns how the files of the pack are written, which the end of its path says.
    pub(crate) fn format(&self) -> &'static Format {
        Format::for_folder(Path::new(&self.path))
    }

    /// Returns the name with the beginning of the commit: `acme@0123456789ab`.
    pub(crate) fn version(&self) -> String {
        format!("{}@{}", self.name, &self.commit[..12])
    }

    /// Decides whether a file belongs to the pack: a prompt in the format of the pack that its
    /// patterns match, or a file that prompts may include. `path` is relative to the folder of the
    /// pack.
    pub(super) fn choose(&self, path: &str) -> FileChoice {
        let is_included_file = self.format().is_own() && is_partial(path);
        let stem = if is_included_file {
            path.strip_suffix(".md")
        } else {
            self.prompt_stem(path)
        };
        let Some(stem) = stem else {
            return FileChoice::Ignored;
        };
        if has_hidden_part(path) {
            return FileChoice::Ignored;
        }
        match check_file_name(stem) {
            Ok(()) => FileChoice::Included,
            Err(reason) => FileChoice::BadName(reason),
        }
    }

    /// Returns the path of a prompt without its suffix, such as `git/commit`; `None` if the file is
    /// no prompt in the format of the pack, or no pattern of the pack fits it.
    fn prompt_stem<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (stem, _) = self.format().split_path(path)?;
        if self.only.is_empty() || self.only.iter().any(|pattern| fits(pattern, stem)) {
            Some(stem)
        } else {
            None
        }
    }

    /// Checks that a file has the content that the lock records for its path.
    pub(crate) fn check(&self, path: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
        match self.files.get(path) {
            Some(hash) if *hash == sha256(bytes) => Ok(()),
            Some(_) => Err(self.differs("it has another text")),
            None => Err(self.differs("the lock does not name it")),
        }
    }

    /// Returns the error for a file whose content is not what the lock records.
    pub(super) fn differs(&self, reason: &str) -> Diagnostic {
        let version = in_backticks(&self.version());
        let message =
            format!("not the file of the pack {version} in {LOCK}, and not served: {reason}");
        let fix =
            "`prompt-expander pack sync` restores it; add --project if the pack is of a project";
        Diagnostic::new(Kind::LockMismatch, message, fix)
    }
}

/// Returns whether a folder of a path, or its file, is hidden, as in `.github/x.md`.
fn has_hidden_part(path: &str) -> bool {
    path.split('/')
        .any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// Checks that users can type the name of a file in a pack. `stem` is its path without the suffix.
///
/// # Errors
/// The reason why they cannot, as a clause.
fn check_file_name(stem: &str) -> Result<(), String> {
    // A file that is only there to be included begins with `_`, which no name does.
    let parts: Vec<&str> = stem
        .split('/')
        .map(|part| part.trim_start_matches('_'))
        .collect();
    let typed = parts.join("/");
    let name = Name::for_new_file(&typed)?;
    if *name == typed {
        Ok(())
    } else {
        Err("it cannot be typed as a name".to_owned())
    }
}

/// Returns whether a text fits a pattern, in which the first `*` stands for any text: `git/*` fits
/// `git/commit`.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else {
        return pattern == text;
    };
    text.strip_prefix(start)
        .is_some_and(|rest| rest.ends_with(end))
}

/// Returns whether this is the whole id of a commit.
pub(crate) fn is_commit(text: &str) -> bool {
    is_hex(text, 40)
}

/// Parses the name of a pack, such as `acme`.
///
/// # Errors
/// It cannot be the first part of names. The error says why, for people.
pub(crate) fn parse_pack_name(text: &str) -> Result<String, String> {
    let name = Name::for_new_file(text)?;
    if *name != *text || text.contains('/') || text.starts_with('_') {
        return Err("the name of a pack is one word, such as `acme`".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses the address of a repository: a URL, a path, or `user@host:path` as for ssh.
///
/// # Errors
/// Git could take the address for an option or a command; or it has a password, which everybody who
/// reads the lock would see.
pub(crate) fn parse_address(text: &str) -> Result<String, String> {
    if without_password(text) != text {
        let error =
            "leave out the password, which would be in packs.lock; git asks for it, or knows it";
        return Err(error.to_owned());
    }
    if is_address(text) {
        return Ok(text.to_owned());
    }
    let error = "it is not an address with https, ssh, git or file, such as `https://github.com/acme/prompts`";
    Err(error.to_owned())
}

/// Returns whether a text is safe to pass to git as the address of a repository.
fn is_address(text: &str) -> bool {
    if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
        return false;
    }
    let Some((scheme, _)) = text.split_once("://") else {
        // For `ext::sh -c x`, git starts the program `git-remote-ext`.
        return !text.contains("::");
    };
    ["https", "ssh", "git", "file"].contains(&scheme)
}

/// Parses the name of a branch, a tag or a commit.
///
/// # Errors
/// Git would not take it for one.
pub(crate) fn parse_reference(text: &str) -> Result<String, String> {
    let is_option = text.starts_with('-');
    let is_range = text.contains("..");
    if text.is_empty() || is_option || is_range || text.contains(is_invalid_in_reference) {
        return Err("it is not the name of a branch, a tag or a commit".to_owned());
    }
    Ok(text.to_owned())
}

/// Returns whether git allows a character in no name of a branch (`git check-ref-format`), or
/// gives it a meaning in what is to be fetched, as it does to `+`.
fn is_invalid_in_reference(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "~^:?*[\\+".contains(character)
}

/// Parses the path of a folder in a repository, such as `prompts`.
///
/// # Errors
/// A part of the path is empty, `.` or `..`, or a character of it is a control character.
pub(crate) fn parse_folder(text: &str) -> Result<String, String> {
    let has_bad_part = text.split('/').any(|part| matches!(part, "" | "." | ".."));
    if has_bad_part || text.contains(char::is_control) {
        return Err("write the path of a folder in the repository, such as `prompts`".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Parses a lock in which a part of its text is replaced.
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
    fn a_lock_that_was_edited_into_something_else_is_refused() {
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
            ("acme", "_acme", "`_acme` is not as"),
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
    fn a_pack_takes_prompts_of_known_formats_whose_names_can_be_typed() {
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
    fn a_pack_takes_only_what_its_patterns_and_the_format_of_its_folder_fit() {
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
