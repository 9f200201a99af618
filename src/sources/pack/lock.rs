//! `packs.lock`: which packs there are, each with its commit, and the SHA-256 of each of its files.
//!
//! JSON that is made for diffs: sorted, with one line for each file. What another person wrote into
//! it is held to the rules for what `pack add` takes, so that nothing of it can name a file or
//! start a program elsewhere.

use crate::prompt::{Diagnostic, Format, Kind, Name, Position, fold, is_partial};
use crate::wording::{named, printable, without_password};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The name of the file.
pub(crate) const LOCK: &str = "packs.lock";

/// The most files of a pack.
pub(crate) const MAX_FILES: usize = 1_000;

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

/// The SHA-256 of a text, as 64 hexadecimal digits.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes)
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

pub(crate) fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether this is the whole name of a commit.
pub(crate) fn is_commit(text: &str) -> bool {
    is_hexadecimal(text, 40)
}

/// The packs of a lock.
///
/// # Errors
/// It is not what this program writes.
pub(crate) fn parse(text: &str) -> Result<Vec<Pack>, Diagnostic> {
    let fix = "restore the file as it was, or remove the pack from it and add it again";
    let packs: Vec<Pack> = serde_json::from_str(text).map_err(|error| {
        let position = Position {
            line: error.line(),
            column: error.column(),
        };
        Diagnostic::error(Some(position), printable(&error.to_string()), fix)
    })?;
    let names: BTreeSet<String> = packs.iter().map(|pack| fold(&pack.name)).collect();
    for pack in &packs {
        let is_alone = only_if(
            names.len() == packs.len(),
            "",
            "two packs have the same name",
        );
        is_alone.and_then(|_| pack.validate()).map_err(|why| {
            let message = format!(
                "the pack {} is not as `prompt-expander pack` writes it: {why}",
                named(&pack.name)
            );
            Diagnostic::error(None, message, fix)
        })?;
    }
    Ok(packs)
}

impl Pack {
    /// Whether all that is said of it may be used.
    fn validate(&self) -> Result<String, String> {
        pack_name(&self.name)
            .and(address(&self.address))
            .and(reference(&self.reference))?;
        only_if(
            self.path.is_empty() || folder(&self.path).is_ok(),
            "",
            "its path is invalid",
        )?;
        let is_date = self.date.parse::<jiff::civil::Date>().is_ok();
        only_if(
            is_date && is_commit(&self.commit),
            "",
            "its date or commit is invalid",
        )?;
        let is_file = |(file, hash): (&String, &String)| {
            is_hexadecimal(hash, 64) && self.takes(file) == Ok(true)
        };
        only_if(
            self.files.len() <= MAX_FILES && self.files.iter().all(is_file),
            "",
            "a file or a SHA-256 is invalid",
        )
    }

    /// How its files are written, by the end of its path.
    pub(crate) fn format(&self) -> &'static Format {
        Format::of_folder(Path::new(&self.path))
    }

    /// Its name with the beginning of its commit: `acme@0123456789ab`.
    pub(crate) fn version(&self) -> String {
        format!("{}@{}", self.name, &self.commit[..12])
    }

    /// Whether a file of the repository, by its path below the pack's folder, is part of the pack:
    /// one of a known format that the patterns fit, or one to be included in such files.
    ///
    /// # Errors
    /// It would be, but `new` would not accept its name: why.
    pub(crate) fn takes(&self, path: &str) -> Result<bool, String> {
        let format = self.format();
        let is_part = format.is_own() && is_partial(path);
        let stem = match format.prompt_file(path) {
            Some((stem, _)) => stem,
            None if is_part && path.ends_with(".md") => &path[..path.len() - 3],
            None => return Ok(false),
        };
        let is_hidden = |part: &str| part.starts_with('.') && !matches!(part, "." | "..");
        let is_chosen =
            is_part || self.only.is_empty() || self.only.iter().any(|only| fits(only, stem));
        if !is_chosen || path.split('/').any(is_hidden) {
            return Ok(false);
        }
        let visible = stem
            .split('/')
            .map(|part| part.trim_start_matches('_'))
            .collect::<Vec<_>>()
            .join("/");
        let name = Name::for_new_file(&visible)?;
        if *name == visible {
            Ok(true)
        } else {
            Err("it cannot be typed as a name".to_owned())
        }
    }

    /// Whether a file is the one of this pack.
    ///
    /// # Errors
    /// It is not, or is no file of it.
    pub(crate) fn check(&self, path: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
        match self.files.get(path) {
            Some(hash) if *hash == hash_of(bytes) => Ok(()),
            Some(_) => Err(self.differs("it has another text")),
            None => Err(self.differs("the lock does not name it")),
        }
    }

    /// What is wrong with a file: it is not what the lock says.
    pub(crate) fn differs(&self, why: &str) -> Diagnostic {
        let message = format!(
            "not the file of the pack {} in {LOCK}, and not served: {why}",
            named(&self.version())
        );
        let fix =
            "`prompt-expander pack sync` restores it; add --project if the pack is of a project";
        Diagnostic::new(Kind::Differs, message, fix)
    }
}

/// Whether a text fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else {
        return pattern == text;
    };
    text.strip_prefix(start)
        .is_some_and(|rest| rest.ends_with(end))
}

fn only_if(is_valid: bool, text: &str, why: &str) -> Result<String, String> {
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err(why.to_owned())
    }
}

/// A text that can be the first part of names.
///
/// # Errors
/// Why it cannot.
pub(crate) fn pack_name(text: &str) -> Result<String, String> {
    let name = Name::for_new_file(text)?;
    let is_word = *name == *text && !text.contains('/') && !text.starts_with('_');
    only_if(
        is_word,
        text,
        "the name of a pack is one word, such as `acme`",
    )
}

/// The address of a repository.
///
/// # Errors
/// Git would take it for an option, or start another program for it; or others would read a
/// password in the lock.
pub(crate) fn address(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("ssh", "")); // or a path
    let why = "leave out the password, which would be in packs.lock; git asks for it, or knows it";
    only_if(without_password(text) == text, text, why)?;
    let is_helper = rest.is_empty() && text.contains("::");
    let is_odd =
        is_helper || text.is_empty() || text.starts_with('-') || text.contains(char::is_control);
    let why = "it is not an address with https, ssh, git or file, such as `https://github.com/acme/prompts`";
    only_if(
        !is_odd && ["https", "ssh", "git", "file"].contains(&scheme),
        text,
        why,
    )
}

/// The name of a branch, a tag or a commit.
///
/// # Errors
/// Git would not take it for one.
pub(crate) fn reference(text: &str) -> Result<String, String> {
    let is_odd = |letter: char| {
        letter.is_whitespace() || letter.is_control() || "~^:?*[\\+".contains(letter)
    };
    let is_valid = !text.is_empty()
        && !text.starts_with('-')
        && !text.contains(is_odd)
        && !text.contains("..");
    only_if(
        is_valid,
        text,
        "it is not the name of a branch, a tag or a commit",
    )
}

/// A folder of a repository.
///
/// # Errors
/// A part of the path is empty, `.` or `..`, or a character of it is a control character.
pub(crate) fn folder(text: &str) -> Result<String, String> {
    let is_valid = !text.contains(char::is_control)
        && !text.split('/').any(|part| matches!(part, "" | "." | ".."));
    only_if(
        is_valid,
        text,
        "write the path of a folder in the repository, such as `prompts`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A lock in which one part of its text is another one.
    fn lock(from: &str, to: &str) -> Result<Vec<Pack>, Diagnostic> {
        let text = format!(
            r#"[{{"name": "acme", "address": "https://a.example/x", "ref": "HEAD", "commit": "{COMMIT}",
                "date": "2026-11-23", "path": "a/b", "only": ["git/*"], "files": {{"git/x.md": "{}"}}}}]"#,
            hash_of(b"x")
        );
        assert!(text.contains(from), "{from}");
        parse(&text.replacen(from, to, 1))
    }

    #[test]
    fn a_lock_that_was_edited_into_something_else_is_refused() {
        assert_eq!(lock("HEAD", "v1").unwrap()[0].reference, "v1");
        for (from, to, want) in [
            ("git/x.md", "git/../../x.md", "a file or a SHA-256"),
            ("git/x.md", "/etc/x.md", "a file or a SHA-256"),
            ("git/x.md", "git/.git/x.md", "a file or a SHA-256"),
            ("git/x.md", "git/x.sh", "a file or a SHA-256"),
            ("git/x.md", r"git/a\u202eb.md", "a file or a SHA-256"),
            (&hash_of(b"x"), "0", "a file or a SHA-256"),
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
            (
                "https://a.example/x",
                "ext::https://a.example",
                "not an address",
            ),
            (
                "https://a.example/x",
                "http://a.example/x",
                "not an address",
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
            let error = lock(from, to)
                .unwrap_err()
                .in_file(Path::new("packs.lock"))
                .to_string();
            assert!(error.contains(want), "{from} {to}: {error}");
        }
        let pack = Pack {
            name: "acme".to_owned(),
            ..lock("", "").unwrap().remove(0)
        };
        let error = parse(&serde_json::to_string(&[&pack, &pack]).unwrap()).unwrap_err();
        assert!(error.message.contains("two packs"), "{error}");
    }

    #[test]
    fn a_pack_takes_prompts_of_known_formats_whose_names_can_be_typed() {
        let all = Pack::default();
        for (path, taken) in [
            ("review.md", Some(true)),
            ("git/commit.toml", Some(true)),
            ("skill/SKILL.md", Some(true)),
            ("_parts/header.md", Some(true)),
            ("run.sh", Some(false)),
            (".github/x.md", Some(false)),
            ("my prompt.md", None),
            ("../x.md", None),
            ("/x.md", None),
            ("a//x.md", None),
            ("a/./x.md", None),
            ("con.md", None),
            ("a\u{e0041}b.md", None),
            ("a:b.md", None),
        ] {
            assert_eq!(all.takes(path).ok(), taken, "{path}");
        }
        let some = Pack {
            only: vec!["git/*".to_owned(), "*view".to_owned(), "a*z".to_owned()],
            ..Pack::default()
        };
        for (path, taken) in [
            ("git/commit.md", true),
            ("review.md", true),
            ("a.md", false),
            ("git.md", false),
            ("other.md", false),
        ] {
            assert_eq!(some.takes(path), Ok(taken), "{path}");
        }
        let codex = Pack {
            path: "x/.codex/prompts".to_owned(),
            ..Pack::default()
        };
        assert_eq!(
            (codex.takes("a.md"), codex.takes("a.toml")),
            (Ok(true), Ok(false))
        );
    }
}
