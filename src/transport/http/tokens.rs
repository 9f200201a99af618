//! The file of tokens: one on each line, `TOKEN` or `sha256:HEX`, then
//! `name=ana role=read prefix=team-a/ expires=2027-01-31`, each of which may be left out.
//!
//! It is read again while it is used. No error repeats any part of a line, which may be a token.

use super::secret_file::{self, Watched};
use crate::library::{Caller, Prefix, Role, Token, create_with_folders, replace};
use crate::whole_file::FileAccess;
use crate::wording::hex;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
pub use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// The shortest and the longest token, in characters. How strong it is, its owner decides.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// What a hash begins with.
const HASHED: &str = "sha256:";

/// What a generated token begins with, so that people and secret scanners recognize it.
const GENERATED: &str = "pex_";

const ADD: &str = "`prompt-expander token add NAME --token-file FILE` adds one";

/// The hash of a token, and its owner.
#[derive(Clone)]
pub struct Entry {
    hash: [u8; 32],
    /// Whose it is, and what they may do.
    pub caller: Arc<Caller>,
    /// The last day on which it is valid, in UTC.
    pub expires: Option<Date>,
}

/// Without the hash: of a weak token, it would help to guess the token.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.caller.fmt(f)
    }
}

/// The line of a file, with the hash.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASHED}{}", hex(&self.hash))?;
        self.caller
            .token
            .iter()
            .try_for_each(|token| write!(f, " name={}", token.name))?;
        write!(f, " role={}", self.caller.role.as_str())?;
        self.caller
            .prefix
            .iter()
            .try_for_each(|prefix| write!(f, " prefix={prefix}"))?;
        self.expires
            .iter()
            .try_for_each(|expires| write!(f, " expires={expires}"))
    }
}

impl Entry {
    /// A new random token of 256 bits, which is nowhere else, and its entry.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate(
        name: &str,
        role: Role,
        prefix: Option<Prefix>,
        expires: Option<Date>,
    ) -> Result<(String, Entry), String> {
        let token = format!(
            "{GENERATED}{}",
            URL_SAFE_NO_PAD.encode(secret_file::random::<32>()?)
        );
        let entry = Entry::new(hash(&token), Some(name.to_owned()), role, prefix, expires);
        Ok((token, entry))
    }

    fn new(
        hash: [u8; 32],
        name: Option<String>,
        role: Role,
        prefix: Option<Prefix>,
        expires: Option<Date>,
    ) -> Entry {
        let id = std::array::from_fn(|index| hash[index]);
        let name = name.unwrap_or_else(|| hex(&hash[..4])).into();
        let sees_team = role == Role::Admin;
        Entry {
            hash,
            caller: Arc::new(Caller {
                token: Some(Token { id, name }),
                role,
                prefix,
                sees_team,
            }),
            expires,
        }
    }

    /// # Errors
    /// What is wrong with the line, and what to do.
    fn parse(line: &str) -> Result<Entry, String> {
        // A comment may also follow the token.
        let mut fields = line
            .split_ascii_whitespace()
            .take_while(|field| !field.starts_with('#'));
        let token = fields.next().unwrap_or_default();
        let hash = match token.strip_prefix(HASHED) {
            Some(hex) => {
                from_hex(hex).ok_or("`sha256:` must be followed by 64 hexadecimal digits")?
            }
            None => check_token(token).map(|()| hash(token))?,
        };
        let (mut name, mut role, mut prefix, mut expires) = (None, None, None, None);
        for field in fields {
            let is_new = match field.split_once('=') {
                Some(("name", value)) => name.replace(parse_name(value)?).is_none(),
                Some(("role", value)) => role.replace(parse_role(value)?).is_none(),
                Some(("prefix", value)) => {
                    let new = Prefix::new(value).map_err(|reason| format!("`prefix` {reason}"))?;
                    prefix.replace(new).is_none()
                }
                Some(("expires", value)) => expires.replace(parse_date(value)?).is_none(),
                _ => false,
            };
            if !is_new {
                return Err(
                    "after the token, `name=`, `role=`, `prefix=` and `expires=` may follow, each once".to_owned()
                );
            }
        }
        Ok(Entry::new(
            hash,
            name,
            role.unwrap_or(Role::Read),
            prefix,
            expires,
        ))
    }

    /// Its last day, if that is over.
    pub(super) fn expired(&self, now: Timestamp) -> Option<Date> {
        self.expires
            .filter(|last| TimeZone::UTC.to_datetime(now).date() > *last)
    }

    /// Whether its last day is over.
    pub fn is_expired(&self) -> bool {
        self.expired(Timestamp::now()).is_some()
    }

    /// Whose it is.
    pub fn name(&self) -> &str {
        self.caller.token.as_ref().map_or("", |token| &token.name)
    }
}

/// # Errors
/// It cannot be in the header `Authorization` (RFC 6750, section 2.1), or is too short.
fn check_token(token: &str) -> Result<(), String> {
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if token.trim_end_matches('=').bytes().all(is_character) && LENGTHS.contains(&token.len()) {
        return Ok(());
    }
    Err(format!(
        "the line must begin with a token of 16 to 512 letters, digits and `-._~+/`, or with `sha256:`; {ADD}"
    ))
}

/// # Errors
/// The text cannot be the name of a token.
pub fn parse_name(text: &str) -> Result<String, String> {
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-._@".contains(&byte);
    match (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_character) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "a name must be 1 to {MAX_NAME} letters, digits and `-._@`"
        )),
    }
}

/// # Errors
/// The text is no role.
pub fn parse_role(text: &str) -> Result<Role, String> {
    let role = Role::ALL.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| "the role must be `read`, `write` or `admin`".to_owned())
}

/// # Errors
/// The text is no date such as `2027-01-31`.
fn parse_date(text: &str) -> Result<Date, String> {
    // jiff also reads other forms.
    let date = text
        .parse()
        .ok()
        .filter(|date: &Date| date.to_string() == text);
    date.ok_or_else(|| "the token must expire on a date such as `2027-01-31`".to_owned())
}

/// The last day of a token, from a date or from a number of days from today on, such as `90d`.
///
/// # Errors
/// The text is neither, or the day is over.
pub fn parse_expiry(text: &str) -> Result<Date, String> {
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    let date = match text
        .strip_suffix('d')
        .and_then(|days| days.parse::<u16>().ok())
    {
        Some(days) => today
            .checked_add(i64::from(days).days())
            .map_err(|_| "this is too many days".to_owned())?,
        None => parse_date(text)
            .map_err(|reason| format!("{reason}, or in a number of days such as `90d`"))?,
    };
    if date < today {
        Err("this day is over".to_owned())
    } else {
        Ok(date)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8));
    let digits = digits
        .collect::<Option<Vec<u8>>>()
        .filter(|digits| digits.len() == 64)?;
    Some(std::array::from_fn(|at| {
        digits[2 * at] << 4 | digits[2 * at + 1]
    }))
}

/// All tokens of a file.
#[derive(Debug, Default)]
pub(super) struct Tokens(Vec<Entry>);

impl Tokens {
    /// # Errors
    /// `line NUMBER: ` and what is wrong with the first line that cannot be used, and what to do.
    fn parse(text: &str) -> Result<Tokens, String> {
        let (mut known, mut entries) = (HashSet::new(), Vec::new());
        for (index, line) in text
            .strip_prefix('\u{feff}')
            .unwrap_or(text)
            .lines()
            .enumerate()
        {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry =
                Entry::parse(line).map_err(|reason| format!("line {}: {reason}", index + 1))?;
            if !known.insert(hex(&entry.hash)) || !known.insert(entry.name().to_owned()) {
                return Err(format!(
                    "line {}: the same token or name is on a line before; remove one of the two",
                    index + 1
                ));
            }
            entries.push(entry);
        }
        Ok(Tokens(entries))
    }

    /// The entry of a token. Every entry is compared, and each comparison takes the same time,
    /// whatever is equal.
    pub(super) fn find(&self, token: &str) -> Option<&Entry> {
        let hash = hash(token);
        let mut found = u32::MAX;
        for (index, entry) in (0..).zip(&self.0) {
            found.conditional_assign(&index, entry.hash.ct_eq(&hash));
        }
        self.0.get(usize::try_from(found).ok()?)
    }

    /// Whether the caller still has a token that is valid, and may do the same.
    pub(super) fn have(&self, caller: &Caller) -> bool {
        let own = self
            .0
            .iter()
            .find(|entry| entry.caller.token == caller.token);
        own.is_some_and(|entry| *entry.caller == *caller && !entry.is_expired())
    }
}

/// The tokens of a file, which is read again while it is used.
///
/// # Errors
/// Its path, the line, and what to do: it cannot be read, has a line that cannot be used or no
/// token, or others can read its tokens.
pub(super) fn open(path: PathBuf, warn: fn(&str)) -> Result<Watched<Tokens>, String> {
    let empty = format!("{} has no token; {ADD}", path.display());
    let tokens = Watched::new(move || read(&path), warn)?;
    if tokens.current().0.is_empty() {
        Err(empty)
    } else {
        Ok(tokens)
    }
}

/// The entries of a file.
///
/// # Errors
/// Its path, why it cannot be used, and what to do.
pub fn list(path: &Path) -> Result<Vec<Entry>, String> {
    read(path).map(|Tokens(entries)| entries)
}

/// Adds the line of an entry to a file, which is made if there is none.
///
/// # Errors
/// Its path, why it cannot be used or written, and what to do; it has an entry of this name.
pub fn add(path: &Path, entry: &Entry) -> Result<(), String> {
    let _held = hold(path);
    let old = path.exists().then(|| read_text(path)).transpose()?;
    let text = old.as_deref().unwrap_or_default();
    if parse(path, text)?
        .0
        .iter()
        .any(|other| other.name() == entry.name())
    {
        let (file, name) = (path.display(), entry.name());
        return Err(format!(
            "{file} has a token named `{name}`; choose another name, or run `prompt-expander token remove {name} --token-file {file}`"
        ));
    }
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write(path, old.as_deref(), &format!("{text}{gap}{entry}\n"))
}

/// Removes the line of the entry with this name from a file. The other lines stay as they are.
///
/// # Errors
/// Its path, why it cannot be used or written, and what to do; it has no such entry.
pub fn remove(path: &Path, name: &str) -> Result<(), String> {
    let _held = hold(path);
    let text = read_text(path)?;
    let Tokens(entries) = parse(path, &text)?;
    if !entries.iter().any(|entry| entry.name() == name) {
        let file = path.display();
        return Err(format!(
            "{file} has no token named `{name}`; `prompt-expander token list --token-file {file}` shows all"
        ));
    }
    let is_other = |line: &&str| {
        Entry::parse(line.trim_start_matches('\u{feff}').trim_ascii())
            .map_or(true, |entry| entry.name() != name)
    };
    write(
        path,
        Some(&text),
        &text
            .split_inclusive('\n')
            .filter(is_other)
            .collect::<String>(),
    )
}

/// Waits until no other process changes a token file in this folder. Not on Windows, where a folder
/// cannot be opened.
fn hold(path: &Path) -> Option<File> {
    let folder = File::open(
        path.parent()
            .filter(|folder| *folder != "")
            .unwrap_or(Path::new(".")),
    )
    .ok()?;
    folder.lock().ok().map(|()| folder)
}

/// Writes a file in one step, as it is read while a server runs. It is a new one if it had no text.
fn write(path: &Path, old: Option<&str>, new: &str) -> Result<(), String> {
    let file = path.display();
    match old.map(|old| replace(path, old.as_bytes(), new)) {
        None => create_with_folders(path, new, FileAccess::Private).map_err(|why| why.to_string()),
        Some(Ok(true)) => Ok(()),
        Some(Ok(false)) => Err(format!(
            "the token file {file} changed meanwhile; run the command again"
        )),
        Some(Err(error)) => Err(format!("cannot write the token file {file}: {error}")),
    }
}

fn read(path: &Path) -> Result<Tokens, String> {
    parse(path, &read_text(path)?)
}

fn parse(path: &Path, text: &str) -> Result<Tokens, String> {
    Tokens::parse(text).map_err(|reason| format!("{}, {reason}", path.display()))
}

fn read_text(path: &Path) -> Result<String, String> {
    let is_plain = |line: &[u8]| {
        !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(HASHED.as_bytes())
    };
    let has_plain = |text: &[u8]| {
        text.split(|byte| *byte == b'\n')
            .any(|line| is_plain(line.trim_ascii()))
    };
    let needs = "--token-file needs one with a token on each line";
    String::from_utf8(secret_file::read(path, "token file", needs, has_plain)?).map_err(|_| {
        format!(
            "the token file {} is not UTF-8 text; write it anew",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const TOKEN: &str = "a-token-for-tests";

    fn refused(text: &str) -> String {
        Tokens::parse(text).unwrap_err()
    }

    fn only(text: &str) -> Entry {
        let [entry] = Tokens::parse(text).unwrap().0.try_into().unwrap();
        entry
    }

    #[test]
    fn a_line_is_a_token_or_its_hash_and_what_it_may_do() {
        let plain = only(&format!(
            "\u{feff}# people\r\n\r\n  {TOKEN}\tname=ana role=write prefix=team-a/ expires=2027-01-31 # x\r\n"
        ));
        let hashed = only(&plain.to_string());
        assert_eq!(plain.caller, hashed.caller);
        assert_eq!((plain.hash, plain.expires), (hashed.hash, hashed.expires));
        assert_eq!(
            (plain.caller.role, plain.caller.prefix.clone()),
            (Role::Write, Some(Prefix::new("team-a/").unwrap()))
        );
        assert_eq!(&*plain.caller.token.as_ref().unwrap().name, "ana");
        let bare = only(TOKEN).caller;
        assert_eq!((bare.role, bare.prefix.clone()), (Role::Read, None));
        let upper = only(&format!("sha256:{}", hex(&hash(TOKEN)).to_uppercase()));
        assert_eq!(upper.hash, hash(TOKEN));
        assert!(Tokens::parse("# nobody\n\n").unwrap().0.is_empty());
    }

    #[test]
    fn a_line_that_cannot_be_used_is_refused_with_its_number_and_without_the_token() {
        let hash = format!("sha256:{}", hex(&hash(TOKEN)));
        for (text, line, part) in [
            ("short".to_owned(), 1, "a token of 16 to 512"),
            (format!("{TOKEN}é"), 1, "a token of 16 to 512"),
            (format!("name=ana {TOKEN}"), 1, "letters, digits"),
            ("sha256:abc".to_owned(), 1, "64 hexadecimal digits"),
            (format!("{TOKEN} nmae=ana"), 1, "each once"),
            (format!("{TOKEN} name="), 1, "a name must be"),
            (format!("{TOKEN} name=a\u{1b}b"), 1, "a name must be"),
            (
                format!("{TOKEN} role=root"),
                1,
                "`read`, `write` or `admin`",
            ),
            (format!("{TOKEN} prefix=team-a"), 1, "must end in a slash"),
            (format!("{TOKEN} prefix=/"), 1, "a folder of prompts"),
            (format!("{TOKEN} expires=2027-02-30"), 1, "2027-01-31"),
            (format!("{TOKEN} role=read role=admin"), 1, "each once"),
            (format!("{TOKEN}\n{hash}"), 2, "the same token or name"),
            (
                format!("{TOKEN} name=ana\n{TOKEN}2 name=ana"),
                2,
                "the same token or name",
            ),
        ] {
            let reason = refused(&text);
            assert!(
                reason.starts_with(&format!("line {line}: ")) && reason.contains(part),
                "{text}: {reason}"
            );
            assert!(
                !reason.contains(TOKEN) && !reason.contains("short\n"),
                "{reason}"
            );
        }
    }

    #[test]
    fn a_token_is_valid_to_the_end_of_its_last_day_in_utc() {
        let entry = only(&format!("{TOKEN} expires=2027-01-31"));
        assert_eq!(entry.expired("2027-01-31T23:59:59Z".parse().unwrap()), None);
        assert!(
            entry
                .expired("2027-02-01T00:00:00Z".parse().unwrap())
                .is_some()
        );
        assert_eq!(
            only(TOKEN).expired("9999-01-01T00:00:00Z".parse().unwrap()),
            None
        );
    }

    #[test]
    fn a_generated_token_is_random_and_its_line_lets_it_in() {
        let generate = || {
            Entry::generate("ana", Role::Admin, Some(Prefix::new("a/b/").unwrap()), None).unwrap()
        };
        let ((token, entry), (other, _)) = (generate(), generate());
        assert!(
            token.starts_with(GENERATED) && token.len() == 47 && token != other,
            "{token}"
        );
        let tokens = Tokens::parse(&entry.to_string()).unwrap();
        assert_eq!(tokens.find(&token).unwrap().caller, entry.caller);
        assert!(tokens.find(&other).is_none());
    }

    #[test]
    fn tokens_that_are_added_at_once_all_get_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (_, entry) =
                    Entry::generate(&format!("n{number}"), Role::Read, None, None).unwrap();
                let path = &path;
                scope.spawn(move || add(path, &entry).unwrap());
            }
        });
        assert_eq!(list(&path).unwrap().len(), 8);
    }

    #[test]
    fn an_expiry_is_a_day_that_is_not_over() {
        let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
        assert_eq!(parse_expiry("0d").unwrap(), today);
        assert_eq!(
            parse_expiry("9999-12-31").unwrap().to_string(),
            "9999-12-31"
        );
        for text in ["2001-01-01", "d", "-1d", "99999999d", "1w", ""] {
            assert!(parse_expiry(text).is_err(), "{text}");
        }
    }

    #[test]
    fn debug_output_shows_no_token_and_no_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(&path, format!("sha256:{} name=ana", hex(&hash(TOKEN)))).unwrap();
        let tokens = open(path, |_| {}).unwrap().current();
        let shown = format!("{tokens:?}");
        assert!(shown.contains("ana") && !shown.contains(TOKEN), "{shown}");
        for part in hash(TOKEN).chunks(8) {
            let decimal = format!("{part:?}");
            assert!(
                !shown.contains(&hex(part)) && !shown.contains(decimal.trim_matches(['[', ']'])),
                "{shown}"
            );
        }
    }
}
