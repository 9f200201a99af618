//! Sessions of legacy clients. Nothing of a session is stored: its id says what the server has to
//! know, and is signed. So a session survives a restart, and another process with the same key
//! knows it too.
//!
//! An id is `RANDOM.VERSION.SECONDS.AGENT.SIGNATURE`: 128 random bits, the protocol version, the
//! time when the session was made, the agent, and a signature (HMAC-SHA256) of the text before and
//! of the owner, who is not in the id.

use super::secret_file;
use crate::lock::lock;
use crate::server;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::BTreeSet;
use std::iter;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an id is valid.
const VALID: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many deleted ids are remembered. If there are more, the oldest ones are valid again.
const MAX_DELETED: usize = 100_000;

/// The least length of a key, in bytes.
pub const LEAST_KEY: usize = 16;

/// The keys that sign session ids.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Signs new ids.
    current: Hmac<Sha256>,
    /// Its ids are still valid.
    previous: Option<Hmac<Sha256>>,
}

impl Keys {
    /// Reads one or two keys, each on a line of its own: the first signs, and the ids of the second
    /// are still valid.
    ///
    /// # Errors
    /// There is no key, or more than two; a key is shorter than [`LEAST_KEY`].
    pub fn parse(text: &str) -> Result<Keys, String> {
        let mut keys = Vec::new();
        for line in text.lines() {
            let key = line.trim();
            if key.is_empty() {
                continue;
            }
            if key.len() < LEAST_KEY {
                return Err(format!("a key must have at least {LEAST_KEY} characters"));
            }
            keys.push(hmac_key(key));
        }
        let mut keys = keys.into_iter();
        let (Some(current), previous, None) = (keys.next(), keys.next(), keys.next()) else {
            return Err("it must have one key, or two: the new one on the first line, the old one on the second".into());
        };
        Ok(Keys { current, previous })
    }

    /// Returns a new random key, as text.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<String, String> {
        Ok(URL_SAFE_NO_PAD.encode(secret_file::random::<32>()?))
    }

    /// Signs the text of an id for its owner with the current key.
    fn sign(&self, text: &str, owner: &str) -> impl AsRef<[u8]> + use<> {
        signature(&self.current, text, owner)
            .finalize()
            .into_bytes()
    }

    /// Returns whether one of the keys made this signature of an id's text for its owner. The
    /// comparison takes the same time wherever two signatures differ.
    fn have_signed(&self, text: &str, owner: &str, signature_bytes: &[u8]) -> bool {
        for key in iter::once(&self.current).chain(&self.previous) {
            if signature(key, text, owner)
                .verify_slice(signature_bytes)
                .is_ok()
            {
                return true;
            }
        }
        false
    }
}

/// Returns the state with which all signatures of a key begin.
#[allow(clippy::expect_used)] // a key of HMAC may have any length
fn hmac_key(key: &str) -> Hmac<Sha256> {
    Hmac::new_from_slice(key.as_bytes()).expect("any key")
}

/// Returns the signature of an id's text for its owner. A line break separates the two, which
/// neither contains.
fn signature(key: &Hmac<Sha256>, text: &str, owner: &str) -> Hmac<Sha256> {
    key.clone()
        .chain_update(text)
        .chain_update("\n")
        .chain_update(owner)
}

/// A session, as its id describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionId {
    /// Identifies the session.
    pub random: u128,
    /// The version that `initialize` has negotiated.
    pub version: &'static str,
    /// The name of the agent, if it is a known one.
    pub agent: Option<String>,
    /// When the session was created, in seconds since 1970.
    pub created: u64,
}

/// Makes and reads session ids.
#[derive(Debug)]
pub struct Sessions {
    keys: Keys,
    /// The deleted sessions: when each was created, and its random bits.
    deleted: Mutex<BTreeSet<(u64, u128)>>,
}

/// Returns the seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

impl Sessions {
    /// Returns sessions whose ids are signed with these keys.
    pub fn new(keys: Keys) -> Sessions {
        Sessions {
            keys,
            deleted: Mutex::default(),
        }
    }

    /// Returns the id of a new session of this owner: `RANDOM.VERSION.SECONDS.AGENT.SIGNATURE`.
    /// `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn make(
        &self,
        version: &str,
        agent: Option<&str>,
        owner: &str,
        now: u64,
    ) -> Result<String, String> {
        let random = u128::from_be_bytes(secret_file::random()?);
        let agent = agent.unwrap_or_default();
        let mut id = format!("{random:032x}.{version}.{now}.{agent}");
        let signature = URL_SAFE_NO_PAD.encode(self.keys.sign(&id, owner));
        id.push('.');
        id.push_str(&signature);
        Ok(id)
    }

    /// Returns the session with this id. Returns `None` if the id is forged, expired or deleted, or
    /// belongs to another owner. `now` is in seconds since 1970.
    ///
    /// An id that seems to come from the future is valid: the clock may have been set back.
    pub fn read(&self, id: &str, owner: &str, now: u64) -> Option<SessionId> {
        let session = self.verify(id, owner)?;
        let is_expired = now.saturating_sub(session.created) > VALID.as_secs();
        let is_deleted = lock(&self.deleted).contains(&(session.created, session.random));
        if is_expired || is_deleted {
            return None;
        }
        Some(session)
    }

    /// Returns the session with this id, if the id was signed for this owner.
    fn verify(&self, id: &str, owner: &str) -> Option<SessionId> {
        let (text, signature) = id.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if !self.keys.have_signed(text, owner, &signature) {
            return None;
        }
        parse_id(text)
    }

    /// Ends a session: its id is no longer valid in this process.
    pub fn delete(&self, session: &SessionId) {
        let mut deleted = lock(&self.deleted);
        deleted.insert((session.created, session.random));
        if deleted.len() > MAX_DELETED {
            deleted.pop_first();
        }
    }
}

/// Parses an id without its signature, `RANDOM.VERSION.SECONDS.AGENT`, such as
/// `00…2a.2025-11-25.1790000000.codex`. The agent may be empty. Returns `None` for another form, or
/// for a version that does not exist.
fn parse_id(text: &str) -> Option<SessionId> {
    let mut parts = text.split('.');
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

// That a forged or foreign id is unknown is a property in `tests/it`.
#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef";
    const DAY: u64 = 24 * 60 * 60;

    fn sessions(keys: &str) -> Sessions {
        Sessions::new(Keys::parse(keys).unwrap())
    }

    #[test]
    fn an_id_says_what_the_server_has_to_know_to_any_process_with_the_key() {
        let id = sessions(KEY)
            .make("2025-06-18", Some("codex"), "ana", 1_000)
            .unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(!id.contains("ana"), "an id says nothing of its owner: {id}");
        let session = sessions(KEY).read(&id, "ana", 2_000).unwrap();
        assert_eq!(
            (session.version, session.agent.as_deref(), session.created),
            ("2025-06-18", Some("codex"), 1_000)
        );
        let other = sessions(KEY)
            .make("2025-06-18", Some("codex"), "ana", 1_000)
            .unwrap();
        assert_ne!(
            sessions(KEY).read(&other, "ana", 2_000).unwrap().random,
            session.random
        );
    }

    #[test]
    fn an_id_is_valid_for_30_days_and_if_the_clock_was_set_back() {
        let sessions = sessions(KEY);
        let id = sessions.make("2025-11-25", None, "", 100 * DAY).unwrap();
        for (now, is_valid) in [(100, true), (130, true), (131, false), (0, true)] {
            assert_eq!(
                sessions.read(&id, "", now * DAY).is_some(),
                is_valid,
                "day {now}"
            );
        }
        assert_eq!(
            sessions.read(&id, "ana", 100 * DAY),
            None,
            "of someone else"
        );
    }

    #[test]
    fn a_signed_text_that_is_no_session_is_unknown() {
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
                sessions.read(
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
        let id = sessions(old).make("2025-11-25", None, "", 1).unwrap();
        assert!(
            sessions(&format!("{new}\n{old}\n"))
                .read(&id, "", 1)
                .is_some()
        );
        assert!(sessions(new).read(&id, "", 1).is_none());
        let id = sessions(&format!("{new}\n{old}\n"))
            .make("2025-11-25", None, "", 1)
            .unwrap();
        assert!(
            sessions(new).read(&id, "", 1).is_some(),
            "the first key signs"
        );
    }

    #[test]
    fn a_deleted_id_is_unknown_and_the_memory_of_deleted_ids_is_bounded() {
        let sessions = sessions(KEY);
        let id = sessions.make("2025-11-25", None, "", 1).unwrap();
        let session = sessions.read(&id, "", 1).unwrap();
        sessions.delete(&session);
        sessions.delete(&session);
        assert_eq!(sessions.read(&id, "", 1), None);
        for random in 0..MAX_DELETED as u128 {
            sessions.delete(&SessionId {
                random,
                ..session.clone()
            });
        }
        assert_eq!(lock(&sessions.deleted).len(), MAX_DELETED);
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
        assert!(Keys::parse(&Keys::random().unwrap()).is_ok());
        let shown = format!("{:?}", sessions(KEY).keys);
        assert!(
            !shown.contains(KEY) && !shown.contains("48, 49, 50"),
            "{shown}"
        );
    }
}
