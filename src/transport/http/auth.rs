//! Who sends a request: the owner of its bearer token (RFC 6750), and what they may do.
//!
//! Clients get tokens from their configuration, so there is no authorization server, and nothing
//! that points to one: a client that found one would ask for it instead of telling its user that a
//! token is needed.

use super::client_limits::{Limiter, RateLimit};
use super::proxy::network;
use super::refusal::Refusal;
use super::secret_file::WatchedValue;
use super::tokens::{self, Tokens};
use crate::library::{Caller, Role};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// How many wrong tokens an address may send in a minute. A client with a wrong token sends it
/// twice each time it starts; a guesser gets 14,400 guesses a day.
const MAX_FAILURES: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// A token of this many characters cannot be guessed, whatever the number of guesses. Generated
/// tokens have 47.
const LONG_TOKEN: usize = 32;

/// The place where the client's user sets a token.
const HOW: &str = "in your client's configuration: in Codex with `bearer_token_env_var`, in Claude Code and Gemini CLI \
                   with the header `Authorization: Bearer TOKEN` in `headers`";

/// Who may send requests: those with a token of a file, and perhaps everybody else.
pub struct Access {
    tokens: Option<WatchedValue<Tokens>>,
    /// The caller of requests without a token; `None` if they are refused.
    anonymous: Option<Arc<Caller>>,
    failures: Limiter,
}

impl Access {
    /// Returns the access with the tokens of a file, if one is given, and without a token for
    /// `anonymous`. `warn` receives why a new version of the file cannot be used.
    ///
    /// # Errors
    /// The problem of the file, its place, and what to do.
    pub fn new(
        token_file: Option<PathBuf>,
        anonymous: Option<Caller>,
        warn: fn(&str),
    ) -> Result<Access, String> {
        let tokens = match token_file {
            Some(path) => Some(tokens::open(path, warn)?),
            None => None,
        };
        Ok(Access {
            tokens,
            anonymous: anonymous.map(Arc::new),
            failures: Limiter::new(RateLimit::of(MAX_FAILURES)),
        })
    }

    /// Reads the file of tokens again. To be called each second, on a thread that may wait.
    pub(super) fn refresh(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.refresh();
        }
        self.failures.forget();
    }

    /// Returns the caller who sent a request with these headers from this address.
    ///
    /// # Errors
    /// 401: the token is missing, invalid or repeated. 429: the address has sent too many wrong
    /// tokens.
    pub(super) fn authorize(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Arc<Caller>, Refusal> {
        if let Some(file) = &self.tokens
            && let Some(token) = bearer_token(headers)
        {
            return self.check_token(&file.current(), token, address);
        }
        if let Some(anonymous) = &self.anonymous {
            return Ok(Arc::clone(anonymous));
        }
        let message = format!("this server needs a bearer token; set one {HOW}");
        Err(challenge(StatusCode::UNAUTHORIZED, "", message))
    }

    /// Returns the owner of a token, and counts wrong tokens of the address.
    ///
    /// If an address has sent too many wrong tokens, its short tokens are refused unread, so that a
    /// guesser does not learn whether one is right. Long tokens are not: their owners may share the
    /// address with the guesser, such as that of a reverse proxy.
    fn check_token(
        &self,
        tokens: &Tokens,
        token: &[u8],
        address: IpAddr,
    ) -> Result<Arc<Caller>, Refusal> {
        let network = network(address);
        if token.len() < LONG_TOKEN {
            self.failures.check(network).map_err(too_many_failures)?;
        }
        let problem = match find_owner(tokens, token) {
            Ok(caller) => return Ok(caller),
            Err(problem) => problem,
        };
        self.failures.take(network).map_err(too_many_failures)?;
        tracing::warn!(%address, problem, "refused a bearer token");
        let message = format!("{problem}; set another one {HOW}");
        let error = ", error=\"invalid_token\"";
        Err(challenge(StatusCode::UNAUTHORIZED, error, message))
    }

    /// Returns whether a caller who was authorized before would be authorized in the same way now.
    /// Streams and WebSockets ask again and again.
    pub(super) fn is_still_valid(&self, caller: &Caller) -> bool {
        if caller.token.is_none() {
            return self.anonymous.is_some();
        }
        match &self.tokens {
            Some(file) => file.current().have(caller),
            None => false,
        }
    }
}

/// Returns the owner of a token.
///
/// # Errors
/// Why the token is not valid.
fn find_owner(tokens: &Tokens, token: &[u8]) -> Result<Arc<Caller>, String> {
    let Some(entry) = str::from_utf8(token)
        .ok()
        .and_then(|token| tokens.find(token))
    else {
        let problem = if token.contains(&b'$') {
            "this bearer token contains a `$`: your client did not replace a variable with its value"
        } else {
            "this bearer token is wrong"
        };
        return Err(problem.to_owned());
    };
    match entry.expired(Timestamp::now()) {
        None => Ok(Arc::clone(&entry.caller)),
        Some(last_day) => Err(format!(
            "this bearer token expired at the end of {last_day}"
        )),
    }
}

/// Checks that a caller has a role, or a greater one.
///
/// # Errors
/// 403: the caller's token has a lesser role. 401: the caller has no token.
pub(super) fn require(caller: &Caller, role: Role) -> Result<(), Refusal> {
    if caller.role >= role {
        return Ok(());
    }
    if caller.token.is_none() {
        let message =
            "this needs the token that the server made; its standard error says where it is";
        return Err(challenge(StatusCode::UNAUTHORIZED, "", message.to_owned()));
    }
    let (needed, own) = (role.as_str(), caller.role.as_str());
    let message = format!(
        "this needs a token with the role `{needed}`, and yours has `{own}`; ask for another one"
    );
    let error = ", error=\"insufficient_scope\"";
    Err(challenge(StatusCode::FORBIDDEN, error, message))
}

/// Returns the token of the header `Authorization: Bearer TOKEN`. Returns `None` if the header is
/// missing or repeated, has another scheme, or has no token, as with a variable that is not set.
fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let value = values.next()?.as_bytes().trim_ascii();
    if values.next().is_some() {
        return None;
    }
    let (scheme, after_scheme) = value.split_at_checked("Bearer".len())?;
    let token = after_scheme.trim_ascii_start();
    let has_space = token.len() < after_scheme.len();
    if scheme.eq_ignore_ascii_case(b"Bearer") && has_space && !token.is_empty() {
        return Some(token);
    }
    None
}

/// Returns a refusal that says which authorization is needed. `error` is a parameter of the
/// challenge, such as `, error="invalid_token"`, or empty. The challenge has no
/// `resource_metadata`, because there is no authorization server.
fn challenge(status: StatusCode, error: &'static str, message: String) -> Refusal {
    let challenge = HeaderValue::try_from(format!("Bearer realm=\"prompt-expander\"{error}"))
        .unwrap_or(HeaderValue::from_static("Bearer"));
    Refusal::new(status, message).with_header(WWW_AUTHENTICATE, challenge)
}

fn too_many_failures(seconds: u64) -> Refusal {
    let message =
        format!("too many wrong bearer tokens came from this address; try again in {seconds} s");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).with_retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "a-token-for-tests";
    const LONG: &str = "a-token-for-tests-that-nobody-can-guess";

    fn access(folder: &tempfile::TempDir, anonymous: Option<Caller>) -> Access {
        let path = folder.path().join("tokens");
        std::fs::write(
            &path,
            format!("{SHORT}\n{LONG} role=admin\n{SHORT}-old expires=2001-01-01"),
        )
        .unwrap();
        #[cfg(unix)]
        std::process::Command::new("chmod")
            .arg("600")
            .arg(&path)
            .status()
            .unwrap();
        Access::new(Some(path), anonymous, |_| {}).unwrap()
    }

    fn authorize(access: &Access, value: &str, address: &str) -> Result<Arc<Caller>, Refusal> {
        let headers = [(
            AUTHORIZATION,
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        )]
        .into_iter()
        .collect();
        access.authorize(&headers, address.parse().unwrap())
    }

    #[track_caller]
    fn refused(outcome: Result<Arc<Caller>, Refusal>, status: u16, challenge: &str, part: &str) {
        let refusal = outcome.unwrap_err();
        assert_eq!(refusal.status, status);
        assert!(refusal.message.contains(part), "{}", refusal.message);
        assert_eq!(
            refusal.headers[WWW_AUTHENTICATE],
            format!("Bearer realm=\"prompt-expander\"{challenge}")
        );
    }

    const INVALID: &str = ", error=\"invalid_token\"";

    #[test]
    fn without_a_token_the_caller_is_whoever_reading_is_open_to() {
        let nobody = HeaderMap::new();
        let open = Access::new(None, Some(Caller::local()), |_| {}).unwrap();
        assert_eq!(
            *open
                .authorize(&nobody, "127.0.0.1".parse().unwrap())
                .unwrap(),
            Caller::local()
        );
        let folder = tempfile::tempdir().unwrap();
        let reader = Caller {
            role: Role::Read,
            ..Caller::local()
        };
        let half_open = access(&folder, Some(reader.clone()));
        assert_eq!(
            *half_open
                .authorize(&nobody, "127.0.0.1".parse().unwrap())
                .unwrap(),
            reader
        );
        assert!(half_open.is_still_valid(&reader));
        assert_eq!(
            authorize(&half_open, &format!("Bearer {LONG}"), "127.0.0.1")
                .unwrap()
                .role,
            Role::Admin
        );
        refused(
            authorize(&half_open, "Bearer x", "192.0.2.1"),
            401,
            INVALID,
            "is wrong",
        );
        refused(
            require(&reader, Role::Write).map(|()| Arc::new(Caller::local())),
            401,
            "",
            "standard error",
        );
    }

    #[test]
    fn a_right_token_is_accepted_and_anything_else_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder, None);
        for value in [format!("Bearer {LONG}"), format!("bearer   {LONG} ")] {
            let caller = authorize(&access, &value, "192.0.2.1").unwrap();
            assert!(caller.role == Role::Admin && access.is_still_valid(&caller));
        }
        assert!(!access.is_still_valid(&Caller::local()));
        let none = access.authorize(&HeaderMap::new(), "192.0.2.1".parse().unwrap());
        refused(none, 401, "", "`bearer_token_env_var`");
        for (value, challenge, part) in [
            ("Bearer", "", "needs a bearer token"),
            ("Bearer ", "", "needs a bearer token"),
            ("Basic YTpi", "", "needs a bearer token"),
            (&format!("Bearer{LONG}"), "", "needs a bearer token"),
            ("Bearer x", INVALID, "is wrong"),
            (&format!("Bearer {LONG}é"), INVALID, "is wrong"),
            ("Bearer ${TOKEN}", INVALID, "a variable"),
            (
                &format!("Bearer {SHORT}-old"),
                INVALID,
                "at the end of 2001-01-01",
            ),
        ] {
            refused(authorize(&access, value, "192.0.2.1"), 401, challenge, part);
        }
        let header = || {
            (
                AUTHORIZATION,
                HeaderValue::try_from(format!("Bearer {LONG}")).unwrap(),
            )
        };
        let mut headers: HeaderMap = [header()].into_iter().collect();
        headers.append(header().0, header().1);
        let twice = access.authorize(&headers, "192.0.2.1".parse().unwrap());
        refused(twice, 401, "", "needs a bearer token");
    }

    #[test]
    fn ten_wrong_tokens_a_minute_from_one_network_are_too_many_but_lock_out_no_long_token() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder, None);
        for number in 0..10 {
            let address = format!("2001:db8::{number}");
            refused(
                authorize(&access, &format!("Bearer x{number}"), &address),
                401,
                INVALID,
                "wrong",
            );
        }
        for token in ["x", LONG.to_uppercase().as_str(), SHORT] {
            let refusal =
                authorize(&access, &format!("Bearer {token}"), "2001:db8::ffff").unwrap_err();
            assert_eq!(refusal.status, 429);
            let seconds: u64 = refusal.headers["retry-after"]
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!((1..=60).contains(&seconds), "{seconds}");
        }
        authorize(&access, &format!("Bearer {LONG}"), "2001:db8::ffff").unwrap();
        authorize(&access, &format!("Bearer {SHORT}"), "2001:db8:0:1::1").unwrap();
    }

    #[test]
    fn a_role_includes_the_lesser_ones() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder, None);
        let reader = authorize(&access, &format!("Bearer {SHORT}"), "192.0.2.1").unwrap();
        assert!(
            require(&Caller::local(), Role::Write).is_ok() && require(&reader, Role::Read).is_ok()
        );
        let refusal = require(&reader, Role::Admin).map(|()| reader);
        refused(
            refusal,
            403,
            ", error=\"insufficient_scope\"",
            "the role `admin`, and yours has `read`",
        );
    }
}
