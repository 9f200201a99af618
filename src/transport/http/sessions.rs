//! Sessions of legacy clients. The server stores almost nothing about a session: its signed id
//! contains everything. So a session survives a restart, and works on every server with the same
//! key.
//!
//! A session id is `RANDOM.VERSION.SECONDS.AGENT.SIGNATURE`: 128 random bits, the protocol version,
//! the time when the session was created, the agent, and a signature (HMAC-SHA256). The signature
//! covers the text before it and the owner of the session, who is not in the id.

use super::secret_file;
use crate::lock::lock;
use crate::server;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a session id is valid.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many deleted sessions the server remembers. If there are more, the ids of the oldest ones
/// become valid again.
const MAX_DELETED: usize = 100_000;

/// How long a new session waits for `notifications/initialized`, in seconds. After that, it counts
/// as initialized, because the client may have sent the notification to another server.
const HANDSHAKE_SECONDS: u64 = 30;

/// The minimum length of a key.
pub const MIN_KEY_BYTES: usize = 16;

/// The keys that sign session ids.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Signs and verifies ids.
    current: Hmac<Sha256>,
    /// Only verifies ids.
    previous: Option<Hmac<Sha256>>,
}

impl Keys {
    /// Parses one or two keys, one per line: the current key, then the previous one.
    ///
    /// # Errors
    /// Fails if there is no key, there are more than two, or a key is shorter than
    /// [`MIN_KEY_BYTES`].
    pub fn parse(text: &str) -> Result<Keys, String> {
        let mut keys = Vec::new();
        for line in text.lines() {
            let key = line.trim();
            if key.is_empty() {
                continue;
            }
            if key.len() < MIN_KEY_BYTES {
                return Err(format!(
                    "a key must have at least {MIN_KEY_BYTES} characters"
                ));
            }
            keys.push(hmac_key(key));
        }
        match keys.as_slice() {
            [current] => Ok(Keys {
                current: current.clone(),
                previous: None,
            }),
            [current, previous] => Ok(Keys {
                current: current.clone(),
                previous: Some(previous.clone()),
            }),
            _ => Err("it must have one key, or two: the new one on the first line, the old one on the second".into()),
        }
    }

    /// Returns the text of a new random key.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn generate() -> Result<String, String> {
        secret_file::random_text()
    }

    /// Signs the payload of an id (all of it before the signature) with the current key.
    fn sign(&self, payload: &str, owner: &str) -> impl AsRef<[u8]> + use<> {
        authentication_code(&self.current, payload, owner)
            .finalize()
            .into_bytes()
    }

    /// Returns `true` if one of the keys has made this signature. Compares in constant time.
    fn verify(&self, payload: &str, owner: &str, signature: &[u8]) -> bool {
        if is_signature_of(&self.current, payload, owner, signature) {
            return true;
        }
        match &self.previous {
            Some(previous) => is_signature_of(previous, payload, owner, signature),
            None => false,
        }
    }
}

/// Returns `true` if this key has made a signature. Compares in constant time.
fn is_signature_of(key: &Hmac<Sha256>, payload: &str, owner: &str, signature: &[u8]) -> bool {
    let code = authentication_code(key, payload, owner);
    code.verify_slice(signature).is_ok()
}

#[allow(clippy::expect_used)] // an HMAC key may have any length
fn hmac_key(key: &str) -> Hmac<Sha256> {
    Hmac::new_from_slice(key.as_bytes()).expect("any key")
}

/// Returns the HMAC of a payload and its owner. Neither of them contains the line break that
/// separates them, so no other pair has the same input.
fn authentication_code(key: &Hmac<Sha256>, payload: &str, owner: &str) -> Hmac<Sha256> {
    key.clone()
        .chain_update(payload)
        .chain_update("\n")
        .chain_update(owner)
}

/// The contents of a session id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionId {
    /// Makes the id unique.
    pub random: u128,
    /// The protocol version that `initialize` has negotiated.
    pub version: &'static str,
    /// The name of the agent, if the server knows it.
    pub agent: Option<String>,
    /// When the session was created, in seconds since 1970.
    pub created: u64,
}

/// Creates and verifies session ids.
#[derive(Debug)]
pub struct Sessions {
    keys: Keys,
    deleted: Mutex<SessionSet>,
    /// The sessions of this server whose client has not sent `notifications/initialized`. Those
    /// older than [`HANDSHAKE_SECONDS`] no longer count.
    uninitialized: Mutex<SessionSet>,
}

/// Sessions, the oldest first, so that it can be removed first.
type SessionSet = BTreeSet<SessionByAge>;

/// A session in a [`SessionSet`]: the two parts of its [`SessionId`] that tell it from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SessionByAge {
    // The time is the first field, because the derived order compares the fields from the top.
    created: u64,
    random: u128,
}

impl SessionId {
    fn by_age(&self) -> SessionByAge {
        SessionByAge {
            created: self.created,
            random: self.random,
        }
    }
}

/// Returns the current time in seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

impl Sessions {
    /// Starts with no session deleted.
    pub fn new(keys: Keys) -> Sessions {
        Sessions {
            keys,
            deleted: Mutex::default(),
            uninitialized: Mutex::default(),
        }
    }

    /// Creates the id of a new session, which is uninitialized. `now` is the time in seconds since
    /// 1970.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn create_id(
        &self,
        version: &str,
        agent: Option<&str>,
        owner: &str,
        now: u64,
    ) -> Result<String, String> {
        let random = u128::from_be_bytes(secret_file::random_bytes()?);
        let agent = agent.unwrap_or_default();
        // `parse_payload` splits this at the dots, so no part may contain one.
        let payload = format!("{random:032x}.{version}.{now}.{agent}");
        let signature = URL_SAFE_NO_PAD.encode(self.keys.sign(&payload, owner));
        self.add_uninitialized(SessionByAge {
            created: now,
            random,
        });
        Ok(format!("{payload}.{signature}"))
    }

    /// Adds a session that was created just now to the uninitialized ones, and removes those that
    /// no longer count.
    fn add_uninitialized(&self, session: SessionByAge) {
        let now = session.created;
        let mut uninitialized = lock(&self.uninitialized);
        while let Some(oldest) = uninitialized.first()
            && is_handshake_over(oldest.created, now)
        {
            uninitialized.pop_first();
        }
        uninitialized.insert(session);
    }

    /// Notes that the client of a session has sent `notifications/initialized`. Returns `false` if
    /// the session was already initialized.
    pub fn finish_handshake(&self, session: &SessionId) -> bool {
        lock(&self.uninitialized).remove(&session.by_age())
    }

    /// Returns `true` if the client of a session may be notified of changes: it has sent
    /// `notifications/initialized`, to this server or perhaps to another one. `now` is the time in
    /// seconds since 1970.
    pub fn is_initialized(&self, session: &SessionId, now: u64) -> bool {
        is_handshake_over(session.created, now)
            || !lock(&self.uninitialized).contains(&session.by_age())
    }

    /// Verifies a session id, and returns its contents. Returns `None` if the id is forged, expired
    /// or deleted, or belongs to another owner. `now` is the time in seconds since 1970.
    ///
    /// An id from the future is valid, because the clock may have been set back.
    pub fn verify(&self, id: &str, owner: &str, now: u64) -> Option<SessionId> {
        let (payload, signature) = id.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if !self.keys.verify(payload, owner, &signature) {
            return None;
        }
        let session = parse_payload(payload)?;
        let is_expired = now.saturating_sub(session.created) > LIFETIME.as_secs();
        let is_deleted = lock(&self.deleted).contains(&session.by_age());
        if is_expired || is_deleted {
            return None;
        }
        Some(session)
    }

    /// Makes the id of a session invalid, on this server only.
    pub fn delete(&self, session: &SessionId) {
        let mut deleted = lock(&self.deleted);
        deleted.insert(session.by_age());
        if deleted.len() > MAX_DELETED {
            deleted.pop_first();
        }
    }
}

/// Returns `true` if a session is too old to wait for `notifications/initialized`. Both times are
/// in seconds since 1970.
fn is_handshake_over(created: u64, now: u64) -> bool {
    now.saturating_sub(created) > HANDSHAKE_SECONDS
}

/// Parses `RANDOM.VERSION.SECONDS.AGENT`, e.g. `00…2a.2025-11-25.1790000000.codex`. The agent may
/// be empty. Returns `None` if the syntax is invalid or the version unknown.
fn parse_payload(payload: &str) -> Option<SessionId> {
    let mut parts = payload.split('.');
    let random = parts.next()?;
    let version = parts.next()?;
    let created = parts.next()?;
    let agent = match parts.next()? {
        "" => None,
        agent => Some(agent.to_owned()),
    };
    Some(SessionId {
        random: u128::from_str_radix(random, 16).ok()?,
        version: server::legacy_version(version)?,
        agent,
        created: created.parse().ok()?,
    })
}

// A property test in `tests/it` checks that ids that are forged or of another owner are invalid.
#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef";
    const DAY: u64 = 24 * 60 * 60;

    fn sessions(keys: &str) -> Sessions {
        Sessions::new(Keys::parse(keys).unwrap())
    }

    #[test]
    fn an_id_is_valid_on_every_server_with_the_same_key() {
        let id = sessions(KEY)
            .create_id("2025-06-18", Some("codex"), "ana", 1_000)
            .unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(!id.contains("ana"), "an id does not reveal its owner: {id}");
        let session = sessions(KEY).verify(&id, "ana", 2_000).unwrap();
        assert_eq!(
            (session.version, session.agent.as_deref(), session.created),
            ("2025-06-18", Some("codex"), 1_000)
        );
        let other = sessions(KEY)
            .create_id("2025-06-18", Some("codex"), "ana", 1_000)
            .unwrap();
        assert_ne!(
            sessions(KEY).verify(&other, "ana", 2_000).unwrap().random,
            session.random
        );
    }

    #[test]
    fn an_id_is_valid_for_30_days_and_if_the_clock_was_set_back() {
        let sessions = sessions(KEY);
        let id = sessions
            .create_id("2025-11-25", None, "", 100 * DAY)
            .unwrap();
        for (now, is_valid) in [(100, true), (130, true), (131, false), (0, true)] {
            assert_eq!(
                sessions.verify(&id, "", now * DAY).is_some(),
                is_valid,
                "day {now}"
            );
        }
        assert_eq!(
            sessions.verify(&id, "ana", 100 * DAY),
            None,
            "of another owner"
        );
    }

    #[test]
    fn a_signed_text_that_is_not_a_session_is_invalid() {
        let sessions = sessions(KEY);
        for text in [
            "",
            "x",
            "0.2025-11-25.1",
            "0.2026-07-28.1.",
            "zz.2025-11-25.1.",
            "0.2025-11-25.-1.",
        ] {
            let signature = Keys::parse(KEY).unwrap().sign(text, "ana");
            assert_eq!(
                sessions.verify(
                    &format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)),
                    "ana",
                    1
                ),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn ids_of_the_old_key_stay_valid_while_it_is_on_the_second_line() {
        let [old, new] = [KEY, "fedcba9876543210"];
        let id = sessions(old).create_id("2025-11-25", None, "", 1).unwrap();
        assert!(
            sessions(&format!("{new}\n{old}\n"))
                .verify(&id, "", 1)
                .is_some()
        );
        assert!(sessions(new).verify(&id, "", 1).is_none());
        let id = sessions(&format!("{new}\n{old}\n"))
            .create_id("2025-11-25", None, "", 1)
            .unwrap();
        assert!(
            sessions(new).verify(&id, "", 1).is_some(),
            "the first key signs"
        );
    }

    #[test]
    fn a_deleted_id_is_invalid_and_the_number_of_deleted_ids_is_bounded() {
        let sessions = sessions(KEY);
        let id = sessions.create_id("2025-11-25", None, "", 1).unwrap();
        let session = sessions.verify(&id, "", 1).unwrap();
        sessions.delete(&session);
        sessions.delete(&session);
        assert_eq!(sessions.verify(&id, "", 1), None);
        for random in 0..MAX_DELETED as u128 {
            sessions.delete(&SessionId {
                random,
                ..session.clone()
            });
        }
        assert_eq!(lock(&sessions.deleted).len(), MAX_DELETED);
    }

    #[test]
    fn a_session_of_this_server_is_initialized_after_the_notification_or_30_seconds() {
        let this = sessions(KEY);
        let other = sessions(KEY);
        let id = this.create_id("2025-11-25", None, "", 100).unwrap();
        let session = this.verify(&id, "", 100).unwrap();
        for (now, is_initialized) in [(100, false), (130, false), (131, true), (0, false)] {
            assert_eq!(this.is_initialized(&session, now), is_initialized, "{now}");
        }
        assert!(other.is_initialized(&session, 100), "it cannot know");
        assert!(this.finish_handshake(&session) && !this.finish_handshake(&session));
        assert!(this.is_initialized(&session, 100));
        for now in [100, 130, 131] {
            this.create_id("2025-11-25", None, "", now).unwrap();
        }
        assert_eq!(
            lock(&this.uninitialized).len(),
            2,
            "the oldest is forgotten"
        );
    }

    #[test]
    fn keys_are_one_or_two_lines_of_at_least_16_characters_and_are_never_shown() {
        for (text, is_valid) in [
            (KEY.to_owned(), true),
            (format!("\n {KEY} \r\n{KEY}\n\n"), true),
            (String::new(), false),
            (format!("{KEY}\n{KEY}\n{KEY}"), false),
            (KEY[1..].to_owned(), false),
            (format!("{KEY}\nshort"), false),
        ] {
            assert_eq!(Keys::parse(&text).is_ok(), is_valid, "{text:?}");
        }
        assert!(Keys::parse(&Keys::generate().unwrap()).is_ok());
        let shown = format!("{:?}", sessions(KEY).keys);
        assert!(
            !shown.contains(KEY) && !shown.contains("48, 49, 50"),
            "{shown}"
        );
    }
}
