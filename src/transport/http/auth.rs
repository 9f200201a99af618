//! Authentication with bearer tokens (RFC 6750).
//!
//! Users put a token into their client's configuration. There is no authorization server, and no
//! response may point to one: a client that finds such a pointer tries to log in there, and doesn't
//! tell its user to configure a token.

use super::client_limits::{Limiter, RateLimit, RetryAfter};
use super::proxy::network_key;
use super::refusal::Refusal;
use super::secret_file::ReloadedValue;
use super::tokens::{self, Tokens};
use crate::library::{Caller, Role};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many wrong tokens a network may send per minute. A client with a wrong token sends it twice
/// whenever it starts. An attacker gets 14,400 guesses a day.
const MAX_WRONG_TOKENS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// The length from which a token can't be guessed, with any number of guesses. A generated token
/// has 47 characters.
const MIN_UNGUESSABLE_BYTES: usize = 32;

/// Where users configure the token.
const TOKEN_SETTING: &str = "in your client's configuration: in Codex with `bearer_token_env_var`, in Claude Code and Gemini CLI \
                             with the header `Authorization: Bearer TOKEN` in `headers`";

/// Decides who may use the server.
pub struct Access {
    /// The token file. `None` if the server has none, so that every request is anonymous.
    tokens: Option<ReloadedValue<Tokens>>,
    /// The caller of a request without a token. `None` if a token is required.
    anonymous: Option<Arc<Caller>>,
    /// The token file, if requests don't need a token. Then it has only the token for edits.
    own_token_file: Option<PathBuf>,
    /// Counts wrong tokens by network.
    wrong_tokens: Limiter,
}

impl Access {
    /// Grants access to the tokens of a file, if there is one, and to requests without a token, if
    /// `anonymous` is given. `warn` is called with a message if the file later becomes invalid.
    ///
    /// # Errors
    /// Fails if the token file is invalid. The error names the line and says what to do.
    pub fn new(
        token_file: Option<PathBuf>,
        anonymous: Option<Caller>,
        warn: fn(&str),
    ) -> Result<Access, String> {
        let own_token_file = if anonymous.is_some() {
            token_file.clone()
        } else {
            None
        };
        let tokens = match token_file {
            Some(path) => Some(tokens::open(path, warn)?),
            None => None,
        };
        let limit = RateLimit::for_all_messages(MAX_WRONG_TOKENS_PER_MINUTE);
        Ok(Access {
            tokens,
            anonymous: anonymous.map(Arc::new),
            own_token_file,
            wrong_tokens: Limiter::new(limit),
        })
    }

    /// Returns the file with the token for edits that the server has generated, or `None` if edits
    /// are off or the tokens are from the user.
    pub(super) fn own_token_file(&self) -> Option<&Path> {
        self.own_token_file.as_deref()
    }

    /// Reads the token file again, and forgets networks that may send wrong tokens again. Call this
    /// every second, on a thread that may block.
    pub(super) fn reload(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.reload();
        }
        self.wrong_tokens.forget_idle_callers();
    }

    /// Returns the caller that sent a request with these headers from this address.
    ///
    /// # Errors
    /// Fails with 401 if the token is missing, invalid or repeated, and 429 if the address has sent
    /// too many wrong tokens.
    pub(super) fn authenticate(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Arc<Caller>, Refusal> {
        // A wrong token is refused even if anonymous requests are allowed, so that its user learns
        // of the mistake.
        if let Some(token_file) = &self.tokens
            && let Some(token) = bearer_token(headers)
        {
            return self.check_token(&token_file.current(), token, address);
        }
        if let Some(anonymous) = &self.anonymous {
            return Ok(Arc::clone(anonymous));
        }
        let message = format!("this server needs a bearer token; set one {TOKEN_SETTING}");
        Err(unauthorized(NO_ERROR_PARAMETER, message))
    }

    /// Returns the owner of a token, or counts it as a wrong one.
    ///
    /// After too many wrong tokens from a network, short tokens are refused without a look at them,
    /// so that an attacker doesn't learn which ones are right. Long tokens are still accepted:
    /// their owners may share the attacker's address, e.g. that of a reverse proxy.
    fn check_token(
        &self,
        tokens: &Tokens,
        token: &[u8],
        address: IpAddr,
    ) -> Result<Arc<Caller>, Refusal> {
        let network_key = network_key(address);
        if token.len() < MIN_UNGUESSABLE_BYTES {
            // Before the token is compared, so that a right guess is refused like a wrong one.
            let allowed = self.wrong_tokens.check(network_key);
            allowed.map_err(too_many_wrong_tokens)?;
        }
        let problem = match find_owner(tokens, token) {
            Ok(caller) => return Ok(caller),
            Err(problem) => problem,
        };
        let allowed = self.wrong_tokens.try_consume(network_key);
        allowed.map_err(too_many_wrong_tokens)?;
        tracing::warn!(%address, problem, "refused a bearer token");
        let message = format!("{problem}; set another one {TOKEN_SETTING}");
        Err(unauthorized(INVALID_TOKEN, message))
    }

    /// Checks again whether an authenticated caller has access. Streams and WebSockets call this
    /// repeatedly, because a token can expire, change or be removed.
    pub(super) fn is_still_valid(&self, caller: &Caller) -> bool {
        if caller.token.is_none() {
            return self.anonymous.is_some();
        }
        match &self.tokens {
            Some(token_file) => token_file.current().still_allow(caller),
            None => false,
        }
    }
}

/// Returns the owner of a token.
///
/// # Errors
/// Fails if the token is wrong or has expired. The error says why.
fn find_owner(tokens: &Tokens, token: &[u8]) -> Result<Arc<Caller>, String> {
    let line = match str::from_utf8(token) {
        Ok(token) => tokens.find(token),
        Err(_) => None,
    };
    let Some(line) = line else {
        return Err(wrong_token_message(token).to_owned());
    };
    if let Some(last_day) = line.last_day_if_expired(Timestamp::now()) {
        return Err(format!(
            "this bearer token expired at the end of {last_day}"
        ));
    }
    Ok(Arc::clone(&line.caller))
}

/// Returns what is wrong with a token that nobody has.
fn wrong_token_message(token: &[u8]) -> &'static str {
    if token.contains(&b'$') {
        "this bearer token contains a `$`: your client did not replace a variable with its value"
    } else {
        "this bearer token is wrong"
    }
}

/// Checks that a caller has at least this role.
///
/// # Errors
/// Fails with 403 if the caller's token has a lower role, and 401 if the caller has no token.
pub(super) fn require(caller: &Caller, role: Role) -> Result<(), Refusal> {
    if caller.role >= role {
        return Ok(());
    }
    if caller.token.is_none() {
        let message =
            "this needs the token that the server made; its standard error says where it is";
        return Err(unauthorized(NO_ERROR_PARAMETER, message.to_owned()));
    }
    let needed = role.as_str();
    let own = caller.role.as_str();
    let message = format!(
        "this needs a token with the role `{needed}`, and yours has `{own}`; ask for another one"
    );
    let challenge = challenge(INSUFFICIENT_SCOPE);
    Err(Refusal::new(StatusCode::FORBIDDEN, message).with_header(WWW_AUTHENTICATE, challenge))
}

/// Returns the token in `Authorization: Bearer TOKEN`. Returns `None` if the header is missing or
/// repeated, has another scheme, or has no token, e.g. because a variable is not set.
fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let value = values.next()?.as_bytes().trim_ascii();
    let is_repeated = values.next().is_some();
    if is_repeated {
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

/// The error parameters of a challenge (RFC 6750, section 3.1). There must be none if the request
/// had no token.
const NO_ERROR_PARAMETER: &str = "";
const INVALID_TOKEN: &str = ", error=\"invalid_token\"";
const INSUFFICIENT_SCOPE: &str = ", error=\"insufficient_scope\"";

/// Returns a 401 refusal with one of the error parameters.
fn unauthorized(error_parameter: &'static str, message: String) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, message)
        .with_header(WWW_AUTHENTICATE, challenge(error_parameter))
}

/// Returns the value of `WWW-Authenticate`. It has no `resource_metadata`, which would point to an
/// authorization server.
fn challenge(error_parameter: &'static str) -> HeaderValue {
    let challenge = format!("Bearer realm=\"prompt-expander\"{error_parameter}");
    HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Bearer"))
}

fn too_many_wrong_tokens(RetryAfter { seconds }: RetryAfter) -> Refusal {
    let message =
        format!("too many wrong bearer tokens came from this address; try again in {seconds} s");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).with_retry_after_seconds(seconds)
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

    fn authenticate(access: &Access, value: &str, address: &str) -> Result<Arc<Caller>, Refusal> {
        let headers = [(
            AUTHORIZATION,
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        )]
        .into_iter()
        .collect();
        access.authenticate(&headers, address.parse().unwrap())
    }

    #[track_caller]
    fn assert_refused(
        outcome: Result<Arc<Caller>, Refusal>,
        status: u16,
        challenge: &str,
        part: &str,
    ) {
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
    fn a_request_without_a_token_has_the_anonymous_caller() {
        let nobody = HeaderMap::new();
        let open = Access::new(None, Some(Caller::local()), |_| {}).unwrap();
        assert_eq!(
            *open
                .authenticate(&nobody, "127.0.0.1".parse().unwrap())
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
                .authenticate(&nobody, "127.0.0.1".parse().unwrap())
                .unwrap(),
            reader
        );
        assert!(half_open.is_still_valid(&reader));
        assert_eq!(
            authenticate(&half_open, &format!("Bearer {LONG}"), "127.0.0.1")
                .unwrap()
                .role,
            Role::Admin
        );
        assert_refused(
            authenticate(&half_open, "Bearer x", "192.0.2.1"),
            401,
            INVALID,
            "is wrong",
        );
        assert_refused(
            require(&reader, Role::Write).map(|()| Arc::new(Caller::local())),
            401,
            "",
            "standard error",
        );
    }

    #[test]
    fn a_valid_token_is_accepted_and_errors_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder, None);
        for value in [format!("Bearer {LONG}"), format!("bearer   {LONG} ")] {
            let caller = authenticate(&access, &value, "192.0.2.1").unwrap();
            assert!(caller.role == Role::Admin && access.is_still_valid(&caller));
        }
        assert!(!access.is_still_valid(&Caller::local()));
        let none = access.authenticate(&HeaderMap::new(), "192.0.2.1".parse().unwrap());
        assert_refused(none, 401, "", "`bearer_token_env_var`");
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
            assert_refused(
                authenticate(&access, value, "192.0.2.1"),
                401,
                challenge,
                part,
            );
        }
        let header = || {
            (
                AUTHORIZATION,
                HeaderValue::try_from(format!("Bearer {LONG}")).unwrap(),
            )
        };
        let mut headers: HeaderMap = [header()].into_iter().collect();
        headers.append(header().0, header().1);
        let twice = access.authenticate(&headers, "192.0.2.1".parse().unwrap());
        assert_refused(twice, 401, "", "needs a bearer token");
    }

    #[test]
    fn ten_wrong_tokens_a_minute_lock_a_network_out_except_with_long_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder, None);
        for number in 0..10 {
            let address = format!("2001:db8::{number}");
            assert_refused(
                authenticate(&access, &format!("Bearer x{number}"), &address),
                401,
                INVALID,
                "wrong",
            );
        }
        for token in ["x", LONG.to_uppercase().as_str(), SHORT] {
            let refusal =
                authenticate(&access, &format!("Bearer {token}"), "2001:db8::ffff").unwrap_err();
            assert_eq!(refusal.status, 429);
            let seconds: u64 = refusal.headers["retry-after"]
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!((1..=60).contains(&seconds), "{seconds}");
        }
        authenticate(&access, &format!("Bearer {LONG}"), "2001:db8::ffff").unwrap();
        authenticate(&access, &format!("Bearer {SHORT}"), "2001:db8:0:1::1").unwrap();
    }

    #[test]
    fn a_role_includes_the_lower_ones() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&folder, None);
        let reader = authenticate(&access, &format!("Bearer {SHORT}"), "192.0.2.1").unwrap();
        assert!(
            require(&Caller::local(), Role::Write).is_ok() && require(&reader, Role::Read).is_ok()
        );
        let refusal = require(&reader, Role::Admin).map(|()| reader);
        assert_refused(
            refusal,
            403,
            ", error=\"insufficient_scope\"",
            "the role `admin`, and yours has `read`",
        );
    }
}
