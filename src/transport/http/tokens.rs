//! The token file. Each line is a token or its hash (`sha256:HEX`), followed by optional fields:
//! `name=ana role=read prefix=team-a/ expires=2027-01-31`.
//!
//! The file can be reloaded while the server is running. No error quotes any part of a line,
//! because it may be a token.

use super::secret_file::{self, GuardedFile, ReloadedValue, Secrecy};
use crate::input::without_bom;
use crate::library::{Caller, Prefix, Role, Token, create_with_folders, replace_if_unchanged};
use crate::whole_file::FileAccess;
use crate::wording::hex;
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

/// The allowed lengths of a token, in characters. Its strength is up to its owner.
const TOKEN_LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;

/// The maximum length of a name, in characters.
const MAX_NAME_LENGTH: usize = 64;

/// Precedes the hash of a token.
const HASH_PREFIX: &str = "sha256:";

/// Begins each generated token, so that users and secret scanners recognize it.
const GENERATED_PREFIX: &str = "pex_";

const HOW_TO_ADD: &str = "`prompt-expander token add NAME --token-file FILE` adds one";

const FIELD_SYNTAX: &str =
    "after the token, `name=`, `role=`, `prefix=` and `expires=` may follow, each once";

/// A line of the token file: the hash of a token, and what its owner may do.
#[derive(Clone)]
pub struct TokenLine {
    hash: [u8; 32],
    /// The owner of the token, with their role and prefix.
    pub caller: Arc<Caller>,
    /// The last day on which the token is valid, in UTC. `None` if it never expires.
    pub expires: Option<Date>,
}

/// Omits the hash, which could help to guess a weak token.
impl fmt::Debug for TokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.caller.fmt(f)
    }
}

/// Writes the line as it is in the file, with the hash.
impl fmt::Display for TokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASH_PREFIX}{} name={}", hex(&self.hash), self.name())?;
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

/// A new token.
pub struct GeneratedToken {
    /// The token, which must be shown to the user, because only its hash is stored.
    pub token: String,
    /// Its line in a token file.
    pub line: TokenLine,
}

impl TokenLine {
    /// Generates a random token of 256 bits.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn generate(
        name: &str,
        role: Role,
        prefix: Option<Prefix>,
        expires: Option<Date>,
    ) -> Result<GeneratedToken, String> {
        let random = secret_file::random_text()?;
        let token = format!("{GENERATED_PREFIX}{random}");
        let line = TokenLine::new(
            hash_token(&token),
            Some(name.to_owned()),
            role,
            prefix,
            expires,
        );
        Ok(GeneratedToken { token, line })
    }

    /// Returns the line for a token with this hash. The name defaults to the first 8 digits of the
    /// hash.
    fn new(
        hash: [u8; 32],
        name: Option<String>,
        role: Role,
        prefix: Option<Prefix>,
        expires: Option<Date>,
    ) -> TokenLine {
        let id = std::array::from_fn(|index| hash[index]); // the first half
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

    /// Parses a line, e.g. `TOKEN name=ana role=write # a comment`. The role defaults to `read`.
    ///
    /// # Errors
    /// Fails if the token or a field is invalid, or if a field is unknown or repeated. The error
    /// says what is expected.
    fn parse(line: &str) -> Result<TokenLine, String> {
        let mut words = line
            .split_ascii_whitespace()
            .take_while(|word| !word.starts_with('#'));
        let hash = parse_token(words.next().unwrap_or_default())?;
        let mut name = None;
        let mut role = None;
        let mut prefix = None;
        let mut expires = None;
        for field in words {
            let (key, value) = field.split_once('=').ok_or(FIELD_SYNTAX)?;
            match key {
                "name" => set_once(&mut name, parse_name(value)?)?,
                "role" => set_once(&mut role, parse_role(value)?)?,
                "prefix" => set_once(&mut prefix, parse_prefix(value)?)?,
                "expires" => set_once(&mut expires, parse_date(value)?)?,
                _ => return Err(FIELD_SYNTAX.to_owned()),
            }
        }
        let role = role.unwrap_or(Role::Read);
        Ok(TokenLine::new(hash, name, role, prefix, expires))
    }

    /// Returns the last day of the token if it has expired by this time.
    pub(super) fn last_day_if_expired(&self, now: Timestamp) -> Option<Date> {
        let today = TimeZone::UTC.to_datetime(now).date();
        self.expires.filter(|last_day| today > *last_day)
    }

    /// Returns `true` if the last day of the token is in the past.
    pub fn is_expired(&self) -> bool {
        self.last_day_if_expired(Timestamp::now()).is_some()
    }

    /// Returns the name of the token.
    pub fn name(&self) -> &str {
        match &self.caller.token {
            Some(token) => &token.name,
            None => "", // never happens: `new` sets the token
        }
    }
}

/// Sets a field of a line.
///
/// # Errors
/// Fails if the field is already set.
fn set_once<T>(field: &mut Option<T>, value: T) -> Result<(), String> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(FIELD_SYNTAX.to_owned()),
    }
}

/// Parses the first word of a line, a token or `sha256:HEX`, and returns the hash of the token.
///
/// # Errors
/// Fails if the hash is invalid, or if the token is too short, too long, or has characters that
/// aren't allowed in `Authorization` (RFC 6750, section 2.1).
fn parse_token(word: &str) -> Result<[u8; 32], String> {
    if let Some(digits) = word.strip_prefix(HASH_PREFIX) {
        let hash = parse_hash(digits);
        return hash.ok_or("`sha256:` must be followed by 64 hexadecimal digits".to_owned());
    }
    let has_valid_length = TOKEN_LENGTHS.contains(&word.len());
    if has_valid_length && is_alphanumeric_or(b"-._~+/", word.trim_end_matches('=')) {
        return Ok(hash_token(word));
    }
    Err(format!(
        "the line must begin with a token of 16 to 512 letters, digits and `-._~+/`, or with `sha256:`; {HOW_TO_ADD}"
    ))
}

/// Returns `true` if a text contains only ASCII letters, digits and the given punctuation.
fn is_alphanumeric_or(punctuation: &[u8], text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || punctuation.contains(&byte))
}

/// Checks the name of a token, and returns it.
///
/// # Errors
/// Fails if the name is empty, too long, or has invalid characters.
pub fn parse_name(text: &str) -> Result<String, String> {
    if (1..=MAX_NAME_LENGTH).contains(&text.len()) && is_alphanumeric_or(b"-._@", text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a name must be 1 to {MAX_NAME_LENGTH} letters, digits and `-._@`"
    ))
}

/// Parses a role, e.g. `read`.
///
/// # Errors
/// Fails if there is no such role.
pub fn parse_role(text: &str) -> Result<Role, String> {
    let role = Role::ALL.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| "the role must be `read`, `write` or `admin`".to_owned())
}

fn parse_prefix(text: &str) -> Result<Prefix, String> {
    Prefix::new(text).map_err(|reason| format!("`prefix` {reason}"))
}

/// Parses a date in the form `2027-01-31`. Rejects other forms that jiff accepts.
fn parse_date(text: &str) -> Result<Date, String> {
    match text.parse::<Date>() {
        Ok(date) if date.to_string() == text => Ok(date),
        _ => Err("the token must expire on a date such as `2027-01-31`".to_owned()),
    }
}

/// Parses the last day of a new token: a date, or a number of days from today, e.g. `90d`.
///
/// # Errors
/// Fails if the text is neither, or if the day is in the past.
pub fn parse_expiry(text: &str) -> Result<Date, String> {
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    if let Some(days) = text.strip_suffix('d')
        && let Ok(days) = days.parse::<u16>()
    {
        let last_day = today.checked_add(i64::from(days).days());
        return last_day.map_err(|_| "this is too many days".to_owned());
    }
    match parse_date(text) {
        Ok(date) if date < today => Err("this day is in the past".to_owned()),
        Ok(date) => Ok(date),
        Err(reason) => Err(format!("{reason}, or in a number of days such as `90d`")),
    }
}

fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Parses a hash of 64 hexadecimal digits, in either letter case.
fn parse_hash(digits: &str) -> Option<[u8; 32]> {
    // `from_str_radix` would also accept a `+`.
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; 32];
    for (index, byte) in hash.iter_mut().enumerate() {
        let two_digits = &digits[2 * index..2 * index + 2];
        *byte = u8::from_str_radix(two_digits, 16).ok()?;
    }
    Some(hash)
}

/// The lines of a token file.
#[derive(Debug, Default)]
pub(super) struct Tokens(Vec<TokenLine>);

impl Tokens {
    /// Parses a token file. Skips empty lines and comments (`#`).
    ///
    /// # Errors
    /// Fails if a line is invalid, or repeats a token or name. The error begins with the number of
    /// the line, e.g. `line 3: …`.
    fn parse(text: &str) -> Result<Tokens, String> {
        let mut hashes = HashSet::new();
        let mut names = HashSet::new();
        let mut lines = Vec::new();
        let text = without_bom(text);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let token_line =
                TokenLine::parse(line).map_err(|reason| format!("line {number}: {reason}"))?;
            let is_new_hash = hashes.insert(token_line.hash);
            let is_new_name = names.insert(token_line.name().to_owned());
            if !is_new_hash || !is_new_name {
                return Err(format!(
                    "line {number}: the same token or name is on a line before; remove one of the two"
                ));
            }
            lines.push(token_line);
        }
        Ok(Tokens(lines))
    }

    /// Returns the line of a token. To prevent timing attacks, compares all lines, each in constant
    /// time.
    pub(super) fn find(&self, token: &str) -> Option<&TokenLine> {
        let hash = hash_token(token);
        // Don't stop at a match: the time must not depend on which line it is.
        let mut found_index = u32::MAX; // no line has this index
        for (index, line) in (0..).zip(&self.0) {
            found_index.conditional_assign(&index, line.hash.ct_eq(&hash));
        }
        self.0.get(usize::try_from(found_index).ok()?)
    }

    fn has_name(&self, name: &str) -> bool {
        self.0.iter().any(|line| line.name() == name)
    }

    /// Returns `true` if the token of a caller is still in the file, hasn't expired, and has the
    /// same role and prefix.
    pub(super) fn still_allow(&self, caller: &Caller) -> bool {
        for line in &self.0 {
            if line.caller.token == caller.token {
                return *line.caller == *caller && !line.is_expired();
            }
        }
        false
    }
}

/// Loads a token file that can be reloaded. `warn` is called with a message if it later becomes
/// invalid.
///
/// # Errors
/// Fails if the file can't be read, is invalid or has no token, or if other users can read tokens
/// in it. The error names the path and says what to do.
pub(super) fn open(path: PathBuf, warn: fn(&str)) -> Result<ReloadedValue<Tokens>, String> {
    let file = path.display().to_string();
    let tokens = ReloadedValue::new(move || read(&path), warn)?;
    if tokens.current().0.is_empty() {
        return Err(format!("{file} has no token; {HOW_TO_ADD}"));
    }
    Ok(tokens)
}

/// Returns the lines of a token file.
///
/// # Errors
/// Fails if the file can't be read or is invalid. The error names the path and says what to do.
pub fn list(path: &Path) -> Result<Vec<TokenLine>, String> {
    let Tokens(lines) = read(path)?;
    Ok(lines)
}

/// Adds a line to a token file. Creates the file if it doesn't exist.
///
/// # Errors
/// Fails if the file can't be read or written, is invalid, or already has a token with this name.
/// The error names the path and says what to do.
pub fn add(path: &Path, new_line: &TokenLine) -> Result<(), String> {
    let _lock = lock_folder(path);
    let old_text = if path.exists() {
        Some(read_text(path)?)
    } else {
        None
    };
    let mut new_text = old_text.clone().unwrap_or_default();
    if parse(path, &new_text)?.has_name(new_line.name()) {
        let file = path.display();
        let name = new_line.name();
        return Err(format!(
            "{file} has a token named `{name}`; choose another name, or run `prompt-expander token remove {name} --token-file {file}`"
        ));
    }
    if !new_text.is_empty() && !new_text.ends_with('\n') {
        new_text.push('\n');
    }
    new_text += &format!("{new_line}\n");
    match old_text {
        Some(old_text) => replace_text(path, &old_text, &new_text),
        None => {
            let created = create_with_folders(path, &new_text, FileAccess::Private);
            created.map_err(|error| error.to_string())
        }
    }
}

/// Removes the line with this name from a token file. All other lines are kept unchanged.
///
/// # Errors
/// Fails if the file can't be read or written, is invalid, or has no token with this name. The
/// error names the path and says what to do.
pub fn remove(path: &Path, name: &str) -> Result<(), String> {
    let _lock = lock_folder(path);
    let old_text = read_text(path)?;
    if !parse(path, &old_text)?.has_name(name) {
        let file = path.display();
        return Err(format!(
            "{file} has no token named `{name}`; `prompt-expander token list --token-file {file}` shows all"
        ));
    }
    let mut new_text = String::new();
    for line in old_text.split_inclusive('\n') {
        if !line_has_name(line, name) {
            new_text += line;
        }
    }
    replace_text(path, &old_text, &new_text)
}

/// Returns `true` if a line of the file has a token with this name. A comment has none.
fn line_has_name(line: &str, name: &str) -> bool {
    let line = without_bom(line).trim_ascii();
    match TokenLine::parse(line) {
        Ok(token_line) => token_line.name() == name,
        Err(_) => false,
    }
}

/// Locks the folder of a token file until the result is dropped, so that two processes don't change
/// the file at the same time. Waits while another process holds the lock.
///
/// Returns `None` if the folder can't be locked, e.g. on Windows, where it can't be opened. Callers
/// then continue without the lock: [`replace_text`] fails if the file has changed, which detects
/// most conflicts.
fn lock_folder(path: &Path) -> Option<File> {
    let folder = match path.parent() {
        Some(folder) if folder != "" => folder,
        _ => Path::new("."), // the parent of a bare file name is an empty path
    };
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Replaces the contents of a token file atomically, so that a running server never reads part of
/// it.
///
/// # Errors
/// Fails if the file can't be written, or if its contents are no longer `old_text`.
fn replace_text(path: &Path, old_text: &str, new_text: &str) -> Result<(), String> {
    let file = path.display();
    match replace_if_unchanged(path, old_text.as_bytes(), new_text) {
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

/// Parses the text of the token file at this path, which is only used in errors.
fn parse(path: &Path, text: &str) -> Result<Tokens, String> {
    Tokens::parse(text).map_err(|reason| format!("{}, {reason}", path.display()))
}

fn read_text(path: &Path) -> Result<String, String> {
    let token_file = GuardedFile {
        path,
        title: "token file",
        repair: "--token-file needs one with a token on each line",
    };
    let bytes = token_file.read_with(secrecy_of)?;
    String::from_utf8(bytes).map_err(|_| {
        let file = path.display();
        format!("the token file {file} is not valid UTF-8; recreate it")
    })
}

/// Returns the secrecy of a token file: others may read it if it only has hashes.
fn secrecy_of(text: &[u8]) -> Secrecy {
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let is_comment = line.is_empty() || line.starts_with(b"#");
        if !is_comment && !line.starts_with(HASH_PREFIX.as_bytes()) {
            return Secrecy::Secret;
        }
    }
    Secrecy::Public
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const TOKEN: &str = "a-token-for-tests";

    fn parse_error(text: &str) -> String {
        Tokens::parse(text).unwrap_err()
    }

    fn only(text: &str) -> TokenLine {
        let [entry] = Tokens::parse(text).unwrap().0.try_into().unwrap();
        entry
    }

    #[test]
    fn a_line_has_a_token_or_its_hash_and_optional_fields() {
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
        let upper = only(&format!(
            "sha256:{}",
            hex(&hash_token(TOKEN)).to_uppercase()
        ));
        assert_eq!(upper.hash, hash_token(TOKEN));
        assert!(Tokens::parse("# nobody\n\n").unwrap().0.is_empty());
    }

    #[test]
    fn the_error_of_an_invalid_line_has_its_number_but_no_part_of_it() {
        let hash = format!("sha256:{}", hex(&hash_token(TOKEN)));
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
            let reason = parse_error(&text);
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
        assert_eq!(
            entry.last_day_if_expired("2027-01-31T23:59:59Z".parse().unwrap()),
            None
        );
        assert!(
            entry
                .last_day_if_expired("2027-02-01T00:00:00Z".parse().unwrap())
                .is_some()
        );
        assert_eq!(
            only(TOKEN).last_day_if_expired("9999-01-01T00:00:00Z".parse().unwrap()),
            None
        );
    }

    #[test]
    fn a_generated_token_is_random_and_its_line_accepts_it() {
        let generate = || {
            TokenLine::generate("ana", Role::Admin, Some(Prefix::new("a/b/").unwrap()), None)
                .unwrap()
        };
        let GeneratedToken { token, line } = generate();
        let other = generate().token;
        assert!(
            token.starts_with(GENERATED_PREFIX) && token.len() == 47 && token != other,
            "{token}"
        );
        let tokens = Tokens::parse(&line.to_string()).unwrap();
        assert_eq!(tokens.find(&token).unwrap().caller, line.caller);
        assert!(tokens.find(&other).is_none());
    }

    #[test]
    fn concurrent_additions_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let generated =
                    TokenLine::generate(&format!("n{number}"), Role::Read, None, None).unwrap();
                let path = &path;
                scope.spawn(move || add(path, &generated.line).unwrap());
            }
        });
        assert_eq!(list(&path).unwrap().len(), 8);
    }

    #[test]
    fn an_expiry_must_not_be_in_the_past() {
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
    fn debug_output_has_neither_tokens_nor_hashes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(
            &path,
            format!("sha256:{} name=ana", hex(&hash_token(TOKEN))),
        )
        .unwrap();
        let tokens = open(path, |_| {}).unwrap().current();
        let shown = format!("{tokens:?}");
        assert!(shown.contains("ana") && !shown.contains(TOKEN), "{shown}");
        for part in hash_token(TOKEN).chunks(8) {
            let decimal = format!("{part:?}");
            assert!(
                !shown.contains(&hex(part)) && !shown.contains(decimal.trim_matches(['[', ']'])),
                "{shown}"
            );
        }
    }
}
