//! The file of tokens. Each line is `TOKEN` or `sha256:HEX`, then perhaps fields:
//! `name=ana role=read prefix=team-a/ expires=2027-01-31`.
//!
//! The file is read again while it is used. No error repeats any part of a line, which may be a
//! token.

use super::secret_file::{self, GuardedFile, WatchedValue};
use crate::input::without_bom;
use crate::library::{Caller, Prefix, Role, Token, create_with_folders, replace_if_unchanged};
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

/// The shortest and the longest token, in characters. Its owner decides how strong it is.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// The beginning of a hash.
const HASHED: &str = "sha256:";

/// The beginning of a generated token, by which people and secret scanners recognize it.
const GENERATED: &str = "pex_";

const ADD: &str = "`prompt-expander token add NAME --token-file FILE` adds one";

const FIELDS: &str =
    "after the token, `name=`, `role=`, `prefix=` and `expires=` may follow, each once";

/// The hash of a token, and its owner.
#[derive(Clone)]
pub struct TokenLine {
    hash: [u8; 32],
    /// The owner, and what they may do.
    pub caller: Arc<Caller>,
    /// The last day on which the token is valid, in UTC.
    pub expires: Option<Date>,
}

/// Leaves out the hash, which would help to guess a weak token.
impl fmt::Debug for TokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.caller.fmt(f)
    }
}

/// Writes the line of a file, with the hash.
impl fmt::Display for TokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASHED}{} name={}", hex(&self.hash), self.name())?;
        write!(f, " role={}", self.caller.role.as_str())?;
        if let Some(prefix) = &self.caller.prefix {
            write!(f, " prefix={prefix}")?;
        }
        if let Some(expires) = &self.expires {
            write!(f, " expires={expires}")?;
        }
        Ok(())
    }
}

impl TokenLine {
    /// Returns a new random token of 256 bits, which is stored nowhere, and its entry.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate(
        name: &str,
        role: Role,
        prefix: Option<Prefix>,
        expires: Option<Date>,
    ) -> Result<(String, TokenLine), String> {
        let random = URL_SAFE_NO_PAD.encode(secret_file::random::<32>()?);
        let token = format!("{GENERATED}{random}");
        let entry = TokenLine::new(hash(&token), Some(name.to_owned()), role, prefix, expires);
        Ok((token, entry))
    }

    /// Returns the entry of a token with this hash. Without a name, the token is called by the
    /// first digits of its hash.
    fn new(
        hash: [u8; 32],
        name: Option<String>,
        role: Role,
        prefix: Option<Prefix>,
        expires: Option<Date>,
    ) -> TokenLine {
        let id = std::array::from_fn(|index| hash[index]);
        let name = name.unwrap_or_else(|| hex(&hash[..4])).into();
        let sees_team = role == Role::Admin;
        TokenLine {
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

    /// Parses a line, such as `TOKEN name=ana role=write # a comment`.
    ///
    /// # Errors
    /// What is wrong with the line, and what to do.
    fn parse(line: &str) -> Result<TokenLine, String> {
        let mut fields = line
            .split_ascii_whitespace()
            .take_while(|field| !field.starts_with('#'));
        let hash = parse_token(fields.next().unwrap_or_default())?;
        let mut name = None;
        let mut role = None;
        let mut prefix = None;
        let mut expires = None;
        for field in fields {
            let (key, value) = field.split_once('=').ok_or(FIELDS)?;
            match key {
                "name" => set_once(&mut name, parse_name(value)?)?,
                "role" => set_once(&mut role, parse_role(value)?)?,
                "prefix" => set_once(&mut prefix, parse_prefix(value)?)?,
                "expires" => set_once(&mut expires, parse_date(value)?)?,
                _ => return Err(FIELDS.to_owned()),
            }
        }
        let role = role.unwrap_or(Role::Read);
        Ok(TokenLine::new(hash, name, role, prefix, expires))
    }

    /// Returns the last day of the token, if that day is over.
    pub(super) fn expired(&self, now: Timestamp) -> Option<Date> {
        let today = TimeZone::UTC.to_datetime(now).date();
        self.expires.filter(|last_day| today > *last_day)
    }

    /// Returns whether the last day of the token is over.
    pub fn is_expired(&self) -> bool {
        self.expired(Timestamp::now()).is_some()
    }

    /// Returns the name of the owner.
    pub fn name(&self) -> &str {
        match &self.caller.token {
            Some(token) => &token.name,
            None => "",
        }
    }
}

/// Gives a field its value.
///
/// # Errors
/// The field has a value already.
fn set_once<T>(field: &mut Option<T>, value: T) -> Result<(), String> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(FIELDS.to_owned()),
    }
}

/// Returns the hash of a token, which a line has as it is or as `sha256:HEX`.
///
/// # Errors
/// The token cannot be in the header `Authorization` (RFC 6750, section 2.1), or is too short.
fn parse_token(text: &str) -> Result<[u8; 32], String> {
    if let Some(digits) = text.strip_prefix(HASHED) {
        let hash = from_hex(digits);
        return hash.ok_or("`sha256:` must be followed by 64 hexadecimal digits".to_owned());
    }
    let has_length = LENGTHS.contains(&text.len());
    if has_length && is_alphanumeric_or(b"-._~+/", text.trim_end_matches('=')) {
        return Ok(hash(text));
    }
    Err(format!(
        "the line must begin with a token of 16 to 512 letters, digits and `-._~+/`, or with `sha256:`; {ADD}"
    ))
}

/// Returns whether a text has only letters and digits of ASCII, and these marks.
fn is_alphanumeric_or(marks: &[u8], text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || marks.contains(&byte))
}

/// Checks the name of a token.
///
/// # Errors
/// The text cannot be a name.
pub fn parse_name(text: &str) -> Result<String, String> {
    if (1..=MAX_NAME).contains(&text.len()) && is_alphanumeric_or(b"-._@", text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a name must be 1 to {MAX_NAME} letters, digits and `-._@`"
    ))
}

/// Parses a role, such as `read`.
///
/// # Errors
/// The text is not a role.
pub fn parse_role(text: &str) -> Result<Role, String> {
    let role = Role::ALL.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| "the role must be `read`, `write` or `admin`".to_owned())
}

fn parse_prefix(text: &str) -> Result<Prefix, String> {
    Prefix::new(text).map_err(|reason| format!("`prefix` {reason}"))
}

/// Parses a date such as `2027-01-31`. Other forms, which jiff also reads, are refused.
fn parse_date(text: &str) -> Result<Date, String> {
    match text.parse::<Date>() {
        Ok(date) if date.to_string() == text => Ok(date),
        _ => Err("the token must expire on a date such as `2027-01-31`".to_owned()),
    }
}

/// Returns the last day of a token, from a date or from a number of days from today on: `90d`.
///
/// # Errors
/// The text is neither, or the day is over.
pub fn parse_expiry(text: &str) -> Result<Date, String> {
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    if let Some(days) = text.strip_suffix('d')
        && let Ok(days) = days.parse::<u16>()
    {
        let last_day = today.checked_add(i64::from(days).days());
        return last_day.map_err(|_| "this is too many days".to_owned());
    }
    match parse_date(text) {
        Ok(date) if date < today => Err("this day is over".to_owned()),
        Ok(date) => Ok(date),
        Err(reason) => Err(format!("{reason}, or in a number of days such as `90d`")),
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Parses 64 hexadecimal digits, in either letter case.
fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = &text[2 * index..2 * index + 2];
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

/// All tokens of a file.
#[derive(Debug, Default)]
pub(super) struct Tokens(Vec<TokenLine>);

impl Tokens {
    /// Parses the lines of a file. Empty lines and lines with `#` are skipped.
    ///
    /// # Errors
    /// `line NUMBER: `, the problem of the first line that cannot be used, and what to do.
    fn parse(text: &str) -> Result<Tokens, String> {
        let mut known = HashSet::new();
        let mut entries = Vec::new();
        let text = without_bom(text);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry =
                TokenLine::parse(line).map_err(|reason| format!("line {number}: {reason}"))?;
            if !known.insert(hex(&entry.hash)) || !known.insert(entry.name().to_owned()) {
                return Err(format!(
                    "line {number}: the same token or name is on a line before; remove one of the two"
                ));
            }
            entries.push(entry);
        }
        Ok(Tokens(entries))
    }

    /// Returns the entry of a token. Every entry is compared, and each comparison takes the same
    /// time whether it is equal or not.
    pub(super) fn find(&self, token: &str) -> Option<&TokenLine> {
        let hash = hash(token);
        let mut match_index = u32::MAX;
        for (index, entry) in (0..).zip(&self.0) {
            match_index.conditional_assign(&index, entry.hash.ct_eq(&hash));
        }
        self.0.get(usize::try_from(match_index).ok()?)
    }

    fn has_name(&self, name: &str) -> bool {
        self.0.iter().any(|entry| entry.name() == name)
    }

    /// Returns whether a caller still has a valid token, with the same role and prefix.
    pub(super) fn have(&self, caller: &Caller) -> bool {
        for entry in &self.0 {
            if entry.caller.token == caller.token {
                return *entry.caller == *caller && !entry.is_expired();
            }
        }
        false
    }
}

/// Opens a file of tokens, which is read again while it is used.
///
/// # Errors
/// The path, the line, and what to do: the file cannot be read, has an invalid line or no token, or
/// others can read its tokens.
pub(super) fn open(path: PathBuf, warn: fn(&str)) -> Result<WatchedValue<Tokens>, String> {
    let file = path.display().to_string();
    let tokens = WatchedValue::new(move || read(&path), warn)?;
    if tokens.current().0.is_empty() {
        return Err(format!("{file} has no token; {ADD}"));
    }
    Ok(tokens)
}

/// Returns the entries of a file.
///
/// # Errors
/// The path, why the file cannot be used, and what to do.
pub fn list(path: &Path) -> Result<Vec<TokenLine>, String> {
    let Tokens(entries) = read(path)?;
    Ok(entries)
}

/// Adds the line of an entry to a file, which is made if there is none.
///
/// # Errors
/// The path, why the file cannot be used or written, and what to do. Also if the file has an entry
/// with this name.
pub fn add(path: &Path, entry: &TokenLine) -> Result<(), String> {
    let _lock = lock_folder(path);
    let old = if path.exists() {
        Some(read_text(path)?)
    } else {
        None
    };
    let mut text = old.clone().unwrap_or_default();
    if parse(path, &text)?.has_name(entry.name()) {
        let (file, name) = (path.display(), entry.name());
        return Err(format!(
            "{file} has a token named `{name}`; choose another name, or run `prompt-expander token remove {name} --token-file {file}`"
        ));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    write(path, old.as_deref(), &format!("{text}{entry}\n"))
}

/// Removes the line of the entry with this name from a file. The other lines stay as they are.
///
/// # Errors
/// The path, why the file cannot be used or written, and what to do. Also if the file has no such
/// entry.
pub fn remove(path: &Path, name: &str) -> Result<(), String> {
    let _lock = lock_folder(path);
    let text = read_text(path)?;
    if !parse(path, &text)?.has_name(name) {
        let file = path.display();
        return Err(format!(
            "{file} has no token named `{name}`; `prompt-expander token list --token-file {file}` shows all"
        ));
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if !is_entry_named(name, line) {
            kept += line;
        }
    }
    write(path, Some(&text), &kept)
}

/// Returns whether a line of a file has the entry with this name. Comments have none.
fn is_entry_named(name: &str, line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_ascii();
    match TokenLine::parse(line) {
        Ok(entry) => entry.name() == name,
        Err(_) => false,
    }
}

/// Waits until no other process changes a token file in the same folder, and locks the folder until
/// the result is dropped. On Windows, a folder cannot be opened, and nothing is locked.
fn lock_folder(path: &Path) -> Option<File> {
    let folder = match path.parent() {
        Some(folder) if folder != "" => folder,
        _ => Path::new("."),
    };
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Writes a file in one step, so that a server that runs never reads half of it. `old` is the text
/// that the file has; `None` makes a new file.
fn write(path: &Path, old: Option<&str>, new: &str) -> Result<(), String> {
    let Some(old) = old else {
        let created = create_with_folders(path, new, FileAccess::Private);
        return created.map_err(|error| error.to_string());
    };
    let file = path.display();
    match replace_if_unchanged(path, old.as_bytes(), new) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "the token file {file} changed meanwhile; run the command again"
        )),
        Err(error) => Err(format!("cannot write the token file {file}: {error}")),
    }
}

fn read(path: &Path) -> Result<Tokens, String> {
    parse(path, &read_text(path)?)
}

fn parse(path: &Path, text: &str) -> Result<Tokens, String> {
    Tokens::parse(text).map_err(|reason| format!("{}, {reason}", path.display()))
}

/// Reads a file, which others may read only if all its tokens are hashed.
fn read_text(path: &Path) -> Result<String, String> {
    let token_file = GuardedFile {
        path,
        title: "token file",
        repair: "--token-file needs one with a token on each line",
    };
    let bytes = token_file.read_with(has_plain_token)?;
    String::from_utf8(bytes).map_err(|_| {
        let file = path.display();
        format!("the token file {file} is not UTF-8 text; write it anew")
    })
}

fn has_plain_token(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(HASHED.as_bytes())
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

    fn only(text: &str) -> TokenLine {
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
            TokenLine::generate("ana", Role::Admin, Some(Prefix::new("a/b/").unwrap()), None)
                .unwrap()
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
                    TokenLine::generate(&format!("n{number}"), Role::Read, None, None).unwrap();
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
