//! Who sends a request: its bearer token (RFC 6750), and what that may do.
//!
//! Clients get tokens from their configuration, so there is no authorization server, and nothing that points to one: a client
//! that found one would ask for it instead of telling its user that a token is needed.

mod token_file;

pub use token_file::{Date, Entry, parse_expiry, parse_name, parse_role};

use super::refusal::Refusal;
use crate::library::{Caller, Role, Token};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use token_file::TokenFile;

/// How many wrong tokens an address may send in a minute. A client with a wrong one sends two each time it starts; a guesser gets
/// 14,400 guesses a day.
const MAX_FAILURES: u32 = 10;

const MINUTE: Duration = Duration::from_secs(60);

/// How many addresses are remembered; if more send wrong tokens in one minute, they share one count.
const MAX_ADDRESSES: usize = 10_000;

/// A token of this many characters cannot be guessed, whatever the number of guesses; generated ones have 47.
const LONG_TOKEN: usize = 32;

const CHALLENGE: &str = r#"Bearer realm="prompt-expander""#;

const HOW: &str = "in your client's configuration: in Codex with `bearer_token_env_var`, in Claude Code and Gemini CLI \
                   with the header `Authorization: Bearer TOKEN` in `headers`";

const ANOTHER: &str = "ask for another one, and set it";

/// Who may send requests: those with a token of a file or, without a file, everybody.
#[derive(Debug)]
pub struct Access {
    tokens: Option<TokenFile>,
    failures: Failures,
}

impl Access {
    /// The access by the tokens of a file, or that of everybody. `warn` receives why a new version of the file cannot be used.
    ///
    /// # Errors
    /// What is wrong with the file, where, and what to do.
    pub fn new(token_file: Option<PathBuf>, warn: fn(&str)) -> Result<Access, String> {
        let tokens = token_file.map(|path| TokenFile::open(path, warn)).transpose()?;
        Ok(Access { tokens, failures: Failures::default() })
    }

    /// Whether a token is needed.
    pub(crate) fn needs_token(&self) -> bool {
        self.tokens.is_some()
    }

    /// Reads the file again if it has changed; to be called each second, so that its owner soon learns that it is broken.
    pub(crate) fn refresh(&self) {
        if let Some(file) = &self.tokens {
            file.tokens();
        }
    }

    /// Who sent a request with these headers from this address.
    ///
    /// # Errors
    /// 401: there is no token that is valid now. 400: there are several. 429: the address has sent too many wrong ones.
    pub(crate) fn authorize(&self, headers: &HeaderMap, address: IpAddr) -> Result<Caller, Refusal> {
        let Some(file) = &self.tokens else { return Ok(Caller::local()) };
        let mut values = headers.get_all(AUTHORIZATION).into_iter();
        let value = values.next();
        if values.next().is_some() {
            let message = "there is more than one Authorization header; send one";
            return Err(challenge(StatusCode::BAD_REQUEST, Some("invalid_request"), message.to_owned()));
        }
        let Some(token) = value.and_then(bearer_token) else {
            return Err(challenge(
                StatusCode::UNAUTHORIZED,
                None,
                format!("this server needs a bearer token; set one {HOW}"),
            ));
        };
        let network = network(address);
        let wait = self.failures.wait(network);
        // A guesser must not learn whether a short token is right. The owners of long ones are not locked out by somebody who
        // sends wrong ones from the same address, such as that of a reverse proxy.
        if let Some(seconds) = wait.filter(|_| token.len() < LONG_TOKEN) {
            return Err(too_many_failures(seconds));
        }
        let tokens = file.tokens();
        let (reason, next) = match str::from_utf8(token).ok().and_then(|token| tokens.find(token)) {
            Some(entry) => match entry.expired(Timestamp::now()) {
                None => return Ok(entry.caller.clone()),
                Some(last_day) => (format!("this bearer token expired at the end of {last_day}"), ANOTHER),
            },
            None if token.contains(&b'$') => {
                let reason = "this bearer token contains a `$`: your client did not replace a variable with its value";
                (reason.to_owned(), "set that environment variable, or write the token itself")
            }
            None => ("this bearer token is wrong".to_owned(), ANOTHER),
        };
        if let Some(seconds) = wait {
            return Err(too_many_failures(seconds));
        }
        self.failures.add(network);
        tracing::warn!(%address, reason, "refused a bearer token");
        let message = format!("{reason}; {next} {HOW}");
        Err(challenge(StatusCode::UNAUTHORIZED, Some("invalid_token"), message))
    }

    /// Whether a caller who was authorized before would be the same now: for answers that go on for long.
    pub(crate) fn is_still_valid(&self, caller: &Caller) -> bool {
        match (&self.tokens, &caller.token) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(file), Some(Token { id, .. })) => file
                .tokens()
                .with_id(id)
                .is_some_and(|entry| entry.caller == *caller && entry.expired(Timestamp::now()).is_none()),
        }
    }
}

/// # Errors
/// 403: the caller has a lesser role.
pub(crate) fn require(caller: &Caller, role: Role) -> Result<(), Refusal> {
    if caller.role >= role {
        return Ok(());
    }
    let (needed, has) = (role.as_str(), caller.role.as_str());
    let message = format!("this needs a token with the role `{needed}`, and yours has `{has}`; ask for another one");
    Err(challenge(StatusCode::FORBIDDEN, Some("insufficient_scope"), message))
}

/// The token of an `Authorization` header; `None` if it has another scheme or is empty, as with a variable that is not set.
fn bearer_token(value: &HeaderValue) -> Option<&[u8]> {
    let value = value.as_bytes().trim_ascii();
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let token = rest.trim_ascii_start();
    (scheme.eq_ignore_ascii_case(b"Bearer") && rest.len() > token.len() && !token.is_empty()).then_some(token)
}

/// A refusal that says which authorization is needed. It has no `resource_metadata`, because there is no authorization server.
fn challenge(status: StatusCode, error: Option<&'static str>, message: String) -> Refusal {
    let error = error.map(|error| format!(", error=\"{error}\"")).unwrap_or_default();
    let challenge = HeaderValue::try_from(format!("{CHALLENGE}{error}"));
    let challenge = challenge.unwrap_or(HeaderValue::from_static(CHALLENGE));
    Refusal::new(status, message).with_header(WWW_AUTHENTICATE, challenge)
}

fn too_many_failures(seconds: u64) -> Refusal {
    let message = format!("too many wrong bearer tokens came from this address; try again in {seconds} s");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).with_retry_after(seconds)
}

/// What belongs to one person: an IPv4 address, or the first 64 bits of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

/// How many wrong tokens each address has sent in the last minute.
#[derive(Debug, Default)]
struct Failures(Mutex<HashMap<IpAddr, Failed>>);

#[derive(Debug)]
struct Failed {
    count: u32,
    since: Instant,
}

impl Failures {
    /// In how many seconds another wrong token from there is allowed; `None`: now.
    fn wait(&self, network: IpAddr) -> Option<u64> {
        let failed = self.lock();
        let Failed { count, since } = failed.get(&network)?;
        let remaining = MINUTE.checked_sub(since.elapsed()).filter(|_| *count >= MAX_FAILURES)?;
        Some(remaining.as_secs() + 1)
    }

    fn add(&self, network: IpAddr) {
        let mut failed = self.lock();
        if failed.len() >= MAX_ADDRESSES {
            failed.retain(|_, failed| failed.since.elapsed() < MINUTE);
        }
        let is_full = failed.len() >= MAX_ADDRESSES && !failed.contains_key(&network);
        let network = if is_full { Ipv6Addr::UNSPECIFIED.into() } else { network };
        let entry = failed.entry(network).or_insert(Failed { count: 0, since: Instant::now() });
        if entry.since.elapsed() >= MINUTE {
            *entry = Failed { count: 0, since: Instant::now() };
        }
        entry.count += 1;
    }

    /// A panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Failed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "a-token-for-tests";
    const LONG: &str = "a-token-for-tests-that-nobody-can-guess";

    fn access(folder: &tempfile::TempDir) -> Access {
        let path = folder.path().join("tokens");
        std::fs::write(&path, format!("{SHORT}\n{LONG} role=admin\n{SHORT}-old expires=2001-01-01")).unwrap();
        #[cfg(unix)]
        std::process::Command::new("chmod").arg("600").arg(&path).status().unwrap();
        Access::new(Some(path), |_| {}).unwrap()
    }

    fn authorize(access: &Access, value: &str, address: &str) -> Result<Caller, Refusal> {
        let headers = [(AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap())].into_iter().collect();
        access.authorize(&headers, address.parse().unwrap())
    }

    #[track_caller]
    fn refused(outcome: Result<Caller, Refusal>, status: u16, challenge: Option<&str>, part: &str) {
        let refusal = outcome.unwrap_err();
        assert_eq!(refusal.status, status);
        assert_eq!(refusal.error.code, i64::from(status));
        assert!(refusal.error.message.contains(part), "{}", refusal.error.message);
        assert_eq!(refusal.headers.get(WWW_AUTHENTICATE).map(|value| value.to_str().unwrap()), challenge);
    }

    const NONE: Option<&str> = Some(r#"Bearer realm="prompt-expander""#);
    const INVALID: Option<&str> = Some(r#"Bearer realm="prompt-expander", error="invalid_token""#);

    #[test]
    fn without_a_token_file_everybody_is_the_local_user() {
        let access = Access::new(None, |_| {}).unwrap();
        assert_eq!(access.authorize(&HeaderMap::new(), "127.0.0.1".parse().unwrap()).unwrap(), Caller::local());
        assert!(access.is_still_valid(&Caller::local()) && !access.needs_token());
    }

    #[test]
    fn a_right_token_is_accepted_and_anything_else_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder);
        for value in [format!("Bearer {LONG}"), format!("bearer   {LONG} ")] {
            let caller = authorize(&access, &value, "192.0.2.1").unwrap();
            assert!(caller.role == Role::Admin && access.is_still_valid(&caller));
        }
        let none = access.authorize(&HeaderMap::new(), "192.0.2.1".parse().unwrap());
        refused(none, 401, NONE, "`bearer_token_env_var`");
        for value in ["Bearer", "Bearer ", "Basic YTpi", &format!("Bearer{LONG}")] {
            refused(authorize(&access, value, "192.0.2.1"), 401, NONE, "needs a bearer token");
        }
        refused(authorize(&access, "Bearer x", "192.0.2.1"), 401, INVALID, "is wrong");
        refused(authorize(&access, &format!("Bearer {LONG}é"), "192.0.2.1"), 401, INVALID, "is wrong");
        refused(authorize(&access, "Bearer ${TOKEN}", "192.0.2.1"), 401, INVALID, "a variable");
        refused(
            authorize(&access, &format!("Bearer {SHORT}-old"), "192.0.2.1"),
            401,
            INVALID,
            "at the end of 2001-01-01",
        );
        let header = || (AUTHORIZATION, HeaderValue::try_from(format!("Bearer {LONG}")).unwrap());
        let mut headers: HeaderMap = [header()].into_iter().collect();
        headers.append(header().0, header().1);
        let twice = access.authorize(&headers, "192.0.2.1".parse().unwrap());
        refused(twice, 400, Some(r#"Bearer realm="prompt-expander", error="invalid_request""#), "more than one");
    }

    #[test]
    fn ten_wrong_tokens_a_minute_from_one_network_are_too_many_but_lock_out_no_long_token() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder);
        for number in 0..10 {
            refused(
                authorize(&access, &format!("Bearer x{number}"), &format!("2001:db8::{number}")),
                401,
                INVALID,
                "wrong",
            );
        }
        for token in ["x", LONG.to_uppercase().as_str(), SHORT] {
            let refusal = authorize(&access, &format!("Bearer {token}"), "2001:db8::ffff").unwrap_err();
            assert_eq!(refusal.status, 429);
            let seconds: u64 = refusal.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=60).contains(&seconds), "{seconds}");
        }
        authorize(&access, &format!("Bearer {LONG}"), "2001:db8::ffff").unwrap();
        authorize(&access, &format!("Bearer {SHORT}"), "2001:db8:0:1::1").unwrap();
    }

    #[test]
    fn wrong_tokens_from_very_many_addresses_take_little_memory() {
        let failures = Failures::default();
        for number in 0..MAX_ADDRESSES as u32 + 100 {
            failures.add(IpAddr::V4(number.into()));
        }
        assert_eq!(failures.lock().len(), MAX_ADDRESSES + 1);
    }

    #[test]
    fn a_role_includes_the_lesser_ones() {
        let caller = |role| Caller { role, ..Caller::local() };
        assert!(require(&caller(Role::Admin), Role::Write).is_ok() && require(&caller(Role::Read), Role::Read).is_ok());
        let refusal = require(&caller(Role::Write), Role::Admin).map(|()| Caller::local());
        let challenge = Some(r#"Bearer realm="prompt-expander", error="insufficient_scope""#);
        refused(refusal, 403, challenge, "the role `admin`, and yours has `write`");
    }
}
