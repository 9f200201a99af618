//! The file of tokens: one on each line, `TOKEN` or `sha256:HEX`, then `name=ana role=read prefix=team-a/ expires=2027-01-31`, each
//! of which may be left out.
//!
//! It is read again while it is used. No error repeats any part of a line, which may be a token.

use crate::library::{Caller, Prefix, Role, Token};
use crate::transport::http::secret_file;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
pub use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// How often the file is read again, while there are requests.
const REREAD: Duration = Duration::from_millis(500);

/// The shortest token, in characters; its strength is its owner's business.
const MIN_TOKEN: usize = 16;

/// The longest token, in characters.
const MAX_TOKEN: usize = 512;

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// What a hash begins with.
const HASHED: &str = "sha256:";

/// What a generated token begins with, so that people and secret scanners recognize it.
const GENERATED: &str = "pex_";

const ADD: &str = "`prompt-expander token add NAME` prints one";

/// A token, as its hash, and whose it is.
#[derive(Clone)]
pub struct Entry {
    hash: [u8; 32],
    pub(super) caller: Caller,
    /// The last day on which it is valid, in UTC.
    expires: Option<Date>,
}

/// Without the hash: of a weak token, it would help to guess the token.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("caller", &self.caller).field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// The line of a file, with the hash.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASHED}{}", hex(&self.hash))?;
        if let Some(Token { name, .. }) = &self.caller.token {
            write!(f, " name={name}")?;
        }
        write!(f, " role={}", self.caller.role.as_str())?;
        self.caller.prefix.iter().try_for_each(|prefix| write!(f, " prefix={prefix}"))?;
        self.expires.iter().try_for_each(|expires| write!(f, " expires={expires}"))
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
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
        let token = format!("{GENERATED}{}", URL_SAFE_NO_PAD.encode(bytes));
        let hash = hash(&token);
        let caller = Caller { token: Some(Token { id: id(&hash), name: name.into() }), role, prefix };
        Ok((token, Entry { hash, caller, expires }))
    }

    /// # Errors
    /// What is wrong with the line, and what to do.
    fn parse(line: &str) -> Result<Entry, String> {
        // A comment may also follow the token.
        let mut fields = line.split_ascii_whitespace().take_while(|field| !field.starts_with('#'));
        let token = fields.next().unwrap_or_default();
        let hash = match token.strip_prefix(HASHED) {
            Some(hex) => from_hex(hex).ok_or("`sha256:` must be followed by 64 hexadecimal digits")?,
            None => {
                check_token(token)?;
                hash(token)
            }
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
                _ => {
                    return Err("after the token, only `name=`, `role=`, `prefix=` and `expires=` may follow, with \
                                spaces between them and none within"
                        .to_owned());
                }
            };
            if !is_new {
                return Err("it says the same twice; remove one of the two".to_owned());
            }
        }
        let id = id(&hash);
        let name = name.unwrap_or_else(|| hex(&id[..4]));
        let caller = Caller { token: Some(Token { id, name: name.into() }), role: role.unwrap_or(Role::Read), prefix };
        Ok(Entry { hash, caller, expires })
    }

    /// Its last day, if that is over.
    pub(super) fn expired(&self, now: Timestamp) -> Option<Date> {
        self.expires.filter(|last| TimeZone::UTC.to_datetime(now).date() > *last)
    }

    fn token(&self) -> Option<&Token> {
        self.caller.token.as_ref()
    }
}

/// # Errors
/// It cannot be in the header `Authorization` (RFC 6750, section 2.1), or is too short.
fn check_token(token: &str) -> Result<(), String> {
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if !token.trim_end_matches('=').bytes().all(is_character) {
        return Err("the line must begin with a token of letters, digits and `-._~+/`, or with `sha256:`".to_owned());
    }
    match token.len() {
        MIN_TOKEN..=MAX_TOKEN => Ok(()),
        ..MIN_TOKEN => Err(format!("the token is shorter than {MIN_TOKEN} characters; {ADD}")),
        _ => Err(format!("the token is longer than {MAX_TOKEN} characters; {ADD}")),
    }
}

/// # Errors
/// The text cannot be the name of a token.
pub fn parse_name(text: &str) -> Result<String, String> {
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-._@".contains(&byte);
    match !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(is_character) {
        true => Ok(text.to_owned()),
        false => Err(format!("a name must be 1 to {MAX_NAME} letters, digits and `-._@`")),
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
    let date = text.parse().ok().filter(|date: &Date| date.to_string() == text);
    date.ok_or_else(|| "the token must expire on a date such as `2027-01-31`".to_owned())
}

/// The last day of a token, from a date or from a number of days from today on, such as `90d`.
///
/// # Errors
/// The text is neither, or the day is over.
pub fn parse_expiry(text: &str) -> Result<Date, String> {
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    let date = match text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok()) {
        Some(days) => today.checked_add(i64::from(days).days()).map_err(|_| "this is too many days".to_owned())?,
        None => parse_date(text).map_err(|reason| format!("{reason}, or in a number of days such as `90d`"))?,
    };
    if date < today { Err("this day is over".to_owned()) } else { Ok(date) }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn id(hash: &[u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| hash[index])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    (digits.len() == 64).then(|| bytes.try_into().ok())?
}

/// All tokens of a file.
#[derive(Debug)]
pub(super) struct Tokens(Vec<Entry>);

impl Tokens {
    /// # Errors
    /// `line NUMBER: ` and what is wrong with the first line that cannot be used, and what to do.
    fn parse(text: &str) -> Result<Tokens, String> {
        let (mut names, mut hashes, mut entries) = (HashSet::new(), HashSet::new(), Vec::new());
        for (index, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = Entry::parse(line).and_then(|entry| {
                if !hashes.insert(entry.hash) {
                    return Err("the same token is on a line before; remove one of the two".to_owned());
                }
                if !names.insert(entry.token().map(|token| Arc::clone(&token.name))) {
                    return Err("the same name is on a line before; give each token its own".to_owned());
                }
                Ok(entry)
            });
            entries.push(entry.map_err(|reason| format!("line {}: {reason}", index + 1))?);
        }
        Ok(Tokens(entries))
    }

    /// The entry of a token. Every entry is compared, and each comparison takes the same time, whatever is equal.
    pub(super) fn find(&self, token: &str) -> Option<&Entry> {
        let hash = hash(token);
        let mut found = u32::MAX;
        for (index, entry) in (0..).zip(&self.0) {
            found.conditional_assign(&index, entry.hash.ct_eq(&hash));
        }
        self.0.get(usize::try_from(found).ok()?)
    }

    /// The entry with this id.
    pub(super) fn with_id(&self, id: &[u8; 16]) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.token().is_some_and(|token| token.id == *id))
    }
}

/// A file of tokens, which is read again while it is used.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    state: Mutex<State>,
    /// Receives why a new version cannot be used, once for each reason.
    warn: fn(&str),
}

#[derive(Debug)]
struct State {
    tokens: Arc<Tokens>,
    read: Instant,
    /// Of the text that was read last, whether it could be used or not.
    hash: [u8; 32],
    warned: Option<String>,
}

impl TokenFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Its path, the line, and what to do: it cannot be read, has a line that cannot be used or no token, or others can read
    /// its tokens.
    pub(super) fn open(path: PathBuf, warn: fn(&str)) -> Result<TokenFile, String> {
        let (tokens, hash) =
            read(&path).and_then(|(text, metadata)| Ok((parse(&path, &text, &metadata)?, self::hash(&text))))?;
        if tokens.0.is_empty() {
            return Err(format!("{} has no token; {ADD}, with the line for this file", path.display()));
        }
        let state = State { tokens: Arc::new(tokens), read: Instant::now(), hash, warned: None };
        Ok(TokenFile { path, state: Mutex::new(state), warn })
    }

    /// The tokens now: those of the file half a second ago or later. While the file cannot be used, those that it had before.
    pub(super) fn tokens(&self) -> Arc<Tokens> {
        let mut state = self.lock();
        if state.read.elapsed() >= REREAD {
            self.reread(&mut state);
            state.read = Instant::now();
        }
        Arc::clone(&state.tokens)
    }

    fn reread(&self, state: &mut State) {
        let tokens = read(&self.path).and_then(|(text, metadata)| {
            let hash = self::hash(&text);
            if hash == state.hash && state.warned.is_none() {
                return Ok(None);
            }
            state.hash = hash;
            parse(&self.path, &text, &metadata).map(Some)
        });
        match tokens {
            Ok(None) => {}
            Ok(Some(tokens)) => {
                tracing::info!(tokens = tokens.0.len(), "read the changed token file");
                if tokens.0.is_empty() {
                    (self.warn)(&format!("{} has no token any more: every request is refused", self.path.display()));
                }
                (state.tokens, state.warned) = (Arc::new(tokens), None);
            }
            Err(reason) if state.warned.as_ref() == Some(&reason) => {}
            Err(reason) => {
                (self.warn)(&format!("{reason}; until then, the tokens that were read before stay valid"));
                state.warned = Some(reason);
            }
        }
    }

    /// A panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<(String, Metadata), String> {
    let (bytes, metadata) = secret_file::read(path, "token file", "--token-file needs one with a token on each line")?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, metadata)),
        Err(_) => Err(format!("the token file {} is not UTF-8 text; write it anew", path.display())),
    }
}

fn parse(path: &Path, text: &str, metadata: &Metadata) -> Result<Tokens, String> {
    let tokens = Tokens::parse(text).map_err(|reason| format!("{}, {reason}", path.display()))?;
    let is_plain = |line: &str| !line.is_empty() && !line.starts_with('#') && !line.starts_with(HASHED);
    let has_plain_tokens = text.lines().any(|line| is_plain(line.trim_ascii()));
    secret_file::check_mode(path, metadata, "the tokens", has_plain_tokens)?;
    Ok(tokens)
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
        assert_eq!((plain.caller.role, plain.caller.prefix), (Role::Write, Some(Prefix::new("team-a/").unwrap())));
        assert_eq!(&*plain.caller.token.unwrap().name, "ana");
        let bare = only(TOKEN).caller;
        assert_eq!((bare.role, bare.prefix), (Role::Read, None));
        let upper = only(&format!("sha256:{}", hex(&hash(TOKEN)).to_uppercase()));
        assert_eq!(upper.hash, hash(TOKEN));
        assert!(Tokens::parse("# nobody\n\n").unwrap().0.is_empty());
    }

    #[test]
    fn a_line_that_cannot_be_used_is_refused_with_its_number_and_without_the_token() {
        let hash = format!("sha256:{}", hex(&hash(TOKEN)));
        for (text, line, part) in [
            ("short".to_owned(), 1, "shorter than 16 characters"),
            (format!("\n# x\n{}", "x".repeat(600)), 3, "longer than 512 characters"),
            (format!("{TOKEN}é"), 1, "letters, digits"),
            (format!("name=ana {TOKEN}"), 1, "letters, digits"),
            (format!("Bearer: {TOKEN}"), 1, "letters, digits"),
            ("sha256:abc".to_owned(), 1, "64 hexadecimal digits"),
            (format!("{hash}0"), 1, "64 hexadecimal digits"),
            (format!("{TOKEN} {TOKEN}="), 1, "only `name=`"),
            (format!("{TOKEN} nmae=ana"), 1, "only `name=`"),
            (format!("{TOKEN} name="), 1, "a name must be"),
            (format!("{TOKEN} name=a\u{1b}b"), 1, "a name must be"),
            (format!("{TOKEN} role=root"), 1, "`read`, `write` or `admin`"),
            (format!("{TOKEN} prefix=team-a"), 1, "must end in a slash"),
            (format!("{TOKEN} prefix=/"), 1, "a folder of prompts"),
            (format!("{TOKEN} prefix=../"), 1, "a folder of prompts"),
            (format!("{TOKEN} expires=tomorrow"), 1, "2027-01-31"),
            (format!("{TOKEN} expires=2027-02-30"), 1, "2027-01-31"),
            (format!("{TOKEN} expires=20270131"), 1, "2027-01-31"),
            (format!("{TOKEN} role=read role=admin"), 1, "twice"),
            (format!("{TOKEN}\n{hash}"), 2, "the same token"),
            (format!("{TOKEN} name=ana\n{TOKEN}2 name=ana"), 2, "the same name"),
        ] {
            let reason = refused(&text);
            assert!(reason.starts_with(&format!("line {line}: ")) && reason.contains(part), "{text}: {reason}");
            assert!(!reason.contains(TOKEN) && !reason.contains("short\n"), "{reason}");
        }
    }

    #[test]
    fn a_token_is_valid_to_the_end_of_its_last_day_in_utc() {
        let entry = only(&format!("{TOKEN} expires=2027-01-31"));
        assert_eq!(entry.expired("2027-01-31T23:59:59Z".parse().unwrap()), None);
        assert!(entry.expired("2027-02-01T00:00:00Z".parse().unwrap()).is_some());
        assert_eq!(only(TOKEN).expired("9999-01-01T00:00:00Z".parse().unwrap()), None);
    }

    #[test]
    fn each_token_of_a_file_is_found_and_no_other() {
        let text: String = (0..100).map(|number| format!("{TOKEN}-{number}\n")).collect();
        let tokens = Tokens::parse(&text).unwrap();
        for number in 0..100 {
            let entry = tokens.find(&format!("{TOKEN}-{number}")).unwrap();
            assert_eq!(entry.hash, tokens.0[number].hash);
            assert_eq!(tokens.with_id(&id(&entry.hash)).unwrap().hash, entry.hash);
        }
        for other in ["", TOKEN, &format!("{TOKEN}-100")] {
            assert!(tokens.find(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_generated_token_is_random_and_its_line_lets_it_in() {
        let generate = || Entry::generate("ana", Role::Admin, Some(Prefix::new("a/b/").unwrap()), None).unwrap();
        let ((token, entry), (other, _)) = (generate(), generate());
        assert!(token.starts_with(GENERATED) && token.len() == 47 && token != other, "{token}");
        let tokens = Tokens::parse(&entry.to_string()).unwrap();
        assert_eq!(tokens.find(&token).unwrap().caller, entry.caller);
        assert!(tokens.find(&other).is_none());
    }

    #[test]
    fn an_expiry_is_a_day_that_is_not_over() {
        let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
        assert_eq!(parse_expiry("0d").unwrap(), today);
        assert_eq!(parse_expiry("9999-12-31").unwrap().to_string(), "9999-12-31");
        for text in ["2001-01-01", "d", "-1d", "99999999d", "1w", ""] {
            assert!(parse_expiry(text).is_err(), "{text}");
        }
    }

    #[test]
    fn debug_output_shows_no_token_and_no_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(&path, format!("sha256:{} name=ana", hex(&hash(TOKEN)))).unwrap();
        let file = TokenFile::open(path, |_| {}).unwrap();
        let shown = format!("{file:?}");
        assert!(shown.contains("ana") && !shown.contains(TOKEN), "{shown}");
        for part in hash(TOKEN).chunks(8) {
            let decimal = format!("{part:?}");
            assert!(!shown.contains(&hex(part)) && !shown.contains(decimal.trim_matches(['[', ']'])), "{shown}");
        }
    }
}
