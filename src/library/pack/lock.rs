//! `packs.lock`: which packs there are, each with its commit, and the SHA-256 of each of its files.
//!
//! A text that is made for diffs: sorted, with one line for each file. What another person wrote into it is held to the rules for what
//! `pack add` takes, so that nothing of it can name a file or start a program elsewhere.

use crate::prompt::{Diagnostic, Format, Kind, Name, Position, fold, is_partial};
use crate::wording::{named, quoted};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The name of the file.
pub(crate) const LOCK: &str = "packs.lock";

const HEAD: &str = "# The packs of `prompt-expander pack`: each with its commit, and the SHA-256 of each file. `pack sync` makes the files \
                    what this says.\n";

/// The most files of a pack.
pub(crate) const MAX_FILES: usize = 1_000;

/// How many digits of a commit people see.
const SHORT: usize = 12;

/// Prompts of a git repository, at one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pack {
    /// What its prompts' names begin with, without the `/`.
    pub(crate) name: String,
    /// That of the repository, as git takes it.
    pub(crate) address: String,
    /// The branch or tag that an update follows, or a commit.
    pub(crate) reference: String,
    /// 40 hexadecimal digits.
    pub(crate) commit: String,
    /// The day of the commit.
    pub(crate) date: String,
    /// The folder of the repository that has the prompts; empty: the whole repository.
    pub(crate) path: String,
    /// Which prompts are taken, as patterns with `*`; none: all.
    pub(crate) only: Vec<String>,
    /// The hashes of the files, by their paths below that folder.
    pub(crate) files: BTreeMap<String, String>,
}

/// The SHA-256 of a text, as 64 hexadecimal digits.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether this is the whole name of a commit.
pub(crate) fn is_commit(text: &str) -> bool {
    is_hexadecimal(text, 40)
}

/// The packs of a lock.
///
/// # Errors
/// A line is not what this program writes.
pub(crate) fn parse(text: &str) -> Result<Vec<Pack>, Diagnostic> {
    let mut packs: Vec<Pack> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        if add_line(&mut packs, line).is_none() {
            let message = format!("{} is not what `prompt-expander pack` writes here", quoted(line));
            let fix = "restore the file as it was, or remove the pack from it and add it again";
            return Err(Diagnostic::error(Some(Position { line: index + 1, column: 1 }), message, fix));
        }
    }
    let is_whole = |pack: &Pack| [&pack.address, &pack.reference, &pack.commit].iter().all(|field| !field.is_empty());
    let Some(pack) = packs.iter().find(|pack| !is_whole(pack)) else { return Ok(packs) };
    let message = format!("the pack {} has no address, ref or commit", named(&pack.name));
    Err(Diagnostic::error(None, message, "remove the pack from the file, and add it again"))
}

/// Adds what a line says; `None` if it is no line of a lock.
fn add_line(packs: &mut Vec<Pack>, line: &str) -> Option<()> {
    let (word, value) = line.split_once(' ')?;
    if word == "pack" {
        let is_new = packs.iter().all(|pack| fold(&pack.name) != fold(value));
        let name = pack_name(value).ok().filter(|_| is_new)?;
        packs.push(Pack { name, ..Pack::default() });
        return Some(());
    }
    let pack = packs.last_mut()?;
    let (field, is_valid) = match word {
        "address" => (&mut pack.address, address(value).is_ok()),
        "ref" => (&mut pack.reference, reference(value).is_ok()),
        "commit" => (&mut pack.commit, is_commit(value)),
        "date" => (&mut pack.date, value.parse::<jiff::civil::Date>().is_ok()),
        "path" => (&mut pack.path, folder(value).is_ok()),
        "only" => {
            pack.only.push(value.to_owned());
            return Some(());
        }
        _ => {
            let is_file = is_hexadecimal(word, 64) && pack.takes(value) == Ok(true) && pack.files.len() < MAX_FILES;
            return is_file.then(|| _ = pack.files.insert(value.to_owned(), word.to_owned()));
        }
    };
    let is_first = field.is_empty();
    value.clone_into(field);
    (is_valid && is_first).then_some(())
}

/// The text of a lock; the packs are sorted by name.
pub(crate) fn text(packs: &[Pack]) -> String {
    let mut sorted: Vec<&Pack> = packs.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted.into_iter().fold(HEAD.to_owned(), |text, pack| format!("{text}\n{pack}"))
}

impl fmt::Display for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pack { name, address, reference, commit, date, path, only, files } = self;
        writeln!(f, "pack {name}\naddress {address}\nref {reference}\ncommit {commit}\ndate {date}")?;
        if !path.is_empty() {
            writeln!(f, "path {path}")?;
        }
        only.iter().try_for_each(|only| writeln!(f, "only {only}"))?;
        files.iter().try_for_each(|(file, hash)| writeln!(f, "{hash} {file}"))
    }
}

impl Pack {
    /// How its files are written, by the end of its path.
    pub(crate) fn format(&self) -> &'static Format {
        Format::of_folder(Path::new(&self.path))
    }

    /// The beginning of its commit, for people.
    pub(crate) fn short(&self) -> &str {
        &self.commit[..SHORT]
    }

    /// Its name with the beginning of its commit: `acme@0123456789ab`.
    pub(crate) fn version(&self) -> String {
        format!("{}@{}", self.name, self.short())
    }

    /// Whether a file of the repository, by its path below the pack's folder, is part of the pack: one of a known format that the
    /// patterns fit, or one to be included in such files.
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
        let is_chosen = is_part || self.only.is_empty() || self.only.iter().any(|only| fits(only, stem));
        if !is_chosen || path.split('/').any(is_hidden) {
            return Ok(false);
        }
        let visible: Vec<&str> = stem.split('/').map(|part| part.trim_start_matches('_')).collect();
        match Name::for_new_file(&visible.join("/")) {
            Ok(name) if *name == visible.join("/") => Ok(true),
            Ok(_) => Err("it cannot be typed as a name".to_owned()),
            Err(why) => Err(why),
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
        let message = format!("not the file of the pack {} in {LOCK}, and not served: {why}", named(&self.version()));
        let fix = "`prompt-expander pack sync` restores it; add --project if the pack is of a project";
        Diagnostic::new(Kind::Differs, message, fix)
    }
}

/// Whether a text fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let rest = text.strip_prefix(start).and_then(|text| text.strip_suffix(end));
    let after = |text, part| str::split_once(text, part).map(|(_, after)| after);
    rest.is_some_and(|text| middle.split('*').try_fold(text, after).is_some())
}

fn only_if(is_valid: bool, text: &str, why: &str) -> Result<String, String> {
    if is_valid { Ok(text.to_owned()) } else { Err(why.to_owned()) }
}

/// A text that can be the first part of names.
///
/// # Errors
/// Why it cannot.
pub(crate) fn pack_name(text: &str) -> Result<String, String> {
    let name = Name::for_new_file(text)?;
    only_if(
        *name == *text && !text.contains('/') && !text.starts_with('_'),
        text,
        "the name of a pack is one word, such as `acme`",
    )
}

/// The address of a repository.
///
/// # Errors
/// Git would take it for an option, or start another program for it; or others would read a password in the lock.
pub(crate) fn address(text: &str) -> Result<String, String> {
    let is_helper = text.contains("::") && !text.contains("://"); // with both, the scheme is checked
    if text.is_empty() || text.starts_with('-') || is_helper || text.contains(char::is_control) {
        return Err("it is not the address of a repository, such as `https://github.com/acme/prompts`".to_owned());
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(text.to_owned()) };
    let user = rest.split('/').next().and_then(|host| host.rsplit_once('@')).map_or("", |(user, _)| user);
    only_if(
        !user.contains(':'),
        text,
        "leave out the password, which would be in packs.lock; git asks for it, or knows it",
    )?;
    only_if(["https", "ssh", "git", "file"].contains(&scheme), text, "only https, ssh, git and file are used")
}

/// The name of a branch, a tag or a commit.
///
/// # Errors
/// Git would not take it for one.
pub(crate) fn reference(text: &str) -> Result<String, String> {
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || "~^:?*[\\+".contains(letter);
    let is_valid = !text.is_empty() && !text.starts_with('-') && !text.contains(is_odd) && !text.contains("..");
    only_if(is_valid, text, "it is not the name of a branch, a tag or a commit")
}

/// A folder of a repository.
///
/// # Errors
/// It is none.
pub(crate) fn folder(text: &str) -> Result<String, String> {
    let is_valid = !text.contains(char::is_control) && !text.split('/').any(|part| matches!(part, "" | "." | ".."));
    only_if(is_valid, text, "write the path of a folder in the repository, such as `prompts`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn lock(lines: &str) -> String {
        format!("pack acme\naddress https://a.example/x\nref HEAD\ncommit {COMMIT}\ndate 2026-11-23\n{lines}")
    }

    #[test]
    fn a_lock_is_read_as_it_is_written() {
        let hash = hash_of(b"x");
        let text_of = lock(&format!("path a/b\nonly git/*\nonly x\n{hash} git/commit.md\n{hash} x.md\n"));
        let packs = parse(&text_of).unwrap();
        assert_eq!(text(&packs), format!("{HEAD}\n{text_of}"));
        assert_eq!(parse(&text(&packs)).unwrap(), packs);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn a_lock_that_was_edited_into_something_else_is_refused_with_its_line() {
        let hash = hash_of(b"x");
        for (lines, want) in [
            (format!("{hash} ../x.md\n"), "6:1: "),
            (format!("{hash} /etc/x.md\n"), "6:1: "),
            (format!("{hash} a/../../x.md\n"), "6:1: "),
            (format!("{hash} .git/hooks/x.md\n"), "6:1: "),
            (format!("{hash} x.sh\n"), "6:1: "),
            (format!("{hash} a\u{202e}b.md\n"), "6:1: "),
            (format!("{}  x.md\n", "0".repeat(63)), "6:1: "),
            ("address https://b.example\n".to_owned(), "6:1: "),
            ("path ../x\n".to_owned(), "6:1: "),
            ("path /etc\n".to_owned(), "6:1: "),
            ("pack Acme\n".to_owned(), "6:1: "),
            ("pack a/b\n".to_owned(), "6:1: "),
            ("pack other\n".to_owned(), "`other` has no address"),
            ("what is this\n".to_owned(), "6:1: "),
            ("word\n".to_owned(), "6:1: "),
        ] {
            let error = parse(&lock(&lines)).unwrap_err().in_file(Path::new("packs.lock")).to_string();
            assert!(error.contains(want), "{lines}: {error}");
        }
        for address in [
            "--upload-pack=touch x",
            "https://me:secret@a.example",
            "ext::sh -c x",
            "http://a.example/x",
            "ftp://x/y",
            "-x",
            "a\u{1b}b",
        ] {
            let text = lock("").replace("https://a.example/x", address);
            assert!(parse(&text).is_err(), "{address}");
        }
        assert!(parse(&lock("").replace("2026-11-23", "\u{1b}[31mabcde")).is_err());
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
        let some = Pack { only: vec!["git/*".to_owned(), "*view".to_owned()], ..Pack::default() };
        for (path, taken) in [("git/commit.md", true), ("review.md", true), ("git.md", false), ("other.md", false)] {
            assert_eq!(some.takes(path), Ok(taken), "{path}");
        }
        let codex = Pack { path: "x/.codex/prompts".to_owned(), ..Pack::default() };
        assert_eq!((codex.takes("a.md"), codex.takes("a.toml")), (Ok(true), Ok(false)));
    }
}
