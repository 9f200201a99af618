//! The cache of the team's prompts, in a folder that only the user can read and that all of the
//! user's processes share.
//!
//! | file | contents |
//! |---|---|
//! | `list.json` | the prompts without their texts, and the ETag of the list |
//! | `texts/HASH.json` | the text of a prompt with the files that it includes, and its ETag |
//! | `state.json` | when the list was last up to date, when the server last failed, and for which names it was asked in vain |
//!
//! A server process refreshes the list, and the texts, in a background thread. A command refreshes
//! the list after it has printed its output. Only `list`, and a call of a prompt that is not in the
//! list, wait for it. When a prompt is used, its text is requested with a timeout of 300 ms, and
//! the cached text is used if there is no reply. After a failure that took long, no process asks
//! the server for 30 seconds.

use super::api_client::{self, API_TIMEOUT, NO_ETAG, RequestOutcome, TeamReply, TeamServer};
use super::cache_folder::{CacheFolder, LIST_FILE, STATE_FILE, text_file};
use super::prompt_list::TeamList;
use super::server_state::ServerState;
use crate::library::{Cache, MIN_STAMP_AGE, ONLY_KEY, ServiceRequest};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::sources::openapi::SecretHeader;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long one call waits for the server in total. Together with everything else, a call or a hook
/// then takes at most 300 ms: where the kernel has 250 ticks a second, a socket's timeout from 64
/// ticks on is up to 8 ticks late, i.e. 32 ms. Debug builds, which the tests use, are slower.
const MAX_WAIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 245 });

/// How long a command waits for the list if none is cached yet. The first connection to a distant
/// server takes longer than [`MAX_WAIT`].
const FIRST_LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// For how many seconds the server isn't asked again after a failure that took long.
const BACKOFF_SECONDS: u64 = 30;

/// A failure that took less is no reason for a pause, e.g. a refused connection: the next call
/// doesn't lose much time either, and notices at once that the server is back.
const QUICK_FAILURE: Duration = MAX_WAIT.checked_div(3).unwrap();

/// How old the list may be while a client is notified of changes and when a command prints it, in
/// seconds.
pub(super) const FRESH_SECONDS: u64 = 5;

/// How often every other process refreshes the list, in seconds.
pub(super) const REFRESH_SECONDS: u64 = 30;

const MEBIBYTE: u64 = 1024 * 1024;

/// The default of [`Team::max_filled`]: the texts of an ordinary team, e.g. 10,000 of 2 KiB.
const MAX_FILLED: u64 = 32 * MEBIBYTE;

/// The team's server and the cache of its prompts.
#[derive(Debug)]
pub(crate) struct Team {
    pub(super) server: TeamServer,
    pub(super) folder: CacheFolder,
    /// How many bytes of texts a server process puts into the cache before they are used.
    pub(super) max_filled: u64,
    /// The parsed list.
    lists: Cache<Arc<TeamList>>,
    /// How long this process has waited for the server so far.
    waited: Mutex<Duration>,
    /// Whether this process is a server. It answers many calls, each of which may wait for
    /// [`MAX_WAIT`], while a command may wait for that long in total.
    is_server: AtomicBool,
}

/// Who the user is for the team's server.
pub(crate) struct TeamMember {
    /// The name of the token, or `None` without a token.
    pub(crate) name: Option<String>,
    /// What the user may do, e.g. `write`.
    pub(crate) role: String,
}

/// The text of a prompt. Parsed from the server's reply, and written to the cache.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedText {
    /// The ETag of the text. Only in the cache, because the server sends it as a header.
    #[serde(default)]
    pub(super) tag: String,
    pub(super) text: String,
    /// The files that the prompt includes.
    #[serde(default)]
    pub(super) includes: Vec<CachedInclude>,
}

impl CachedText {
    /// Parses the text in the server's reply.
    fn from_reply(reply: TeamReply) -> Result<CachedText, Diagnostic> {
        let text = api_client::parse(&reply.body.unwrap_or_default())?;
        Ok(CachedText {
            tag: reply.tag,
            ..text
        })
    }
}

/// A file that a prompt includes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedInclude {
    /// The path, relative to the folder of prompts.
    pub(super) path: String,
    pub(super) text: String,
}

impl Team {
    /// Returns the team whose server has the base URL `url`. `caches` is the user's folder for
    /// caches, e.g. `~/.cache`.
    pub(crate) fn new(url: String, token: Vec<SecretHeader>, caches: &Path) -> Team {
        Team {
            folder: CacheFolder::new(caches, &url),
            server: TeamServer::new(url, token),
            max_filled: MAX_FILLED,
            lists: Cache::new(1, MIN_STAMP_AGE),
            waited: Mutex::default(),
            is_server: AtomicBool::new(false),
        }
    }

    /// Sets how many MiB of texts a server process puts into the cache.
    #[must_use]
    pub(crate) fn with_max_filled(self, mebibytes: u32) -> Team {
        let max_filled = u64::from(mebibytes) * MEBIBYTE;
        Team { max_filled, ..self }
    }

    /// Returns what is known about the server.
    pub(super) fn state(&self) -> ServerState {
        self.folder.read(STATE_FILE).unwrap_or_default()
    }
}

// When the server may be asked.
impl Team {
    /// Makes this process a server, which refreshes the list in a thread.
    pub(super) fn mark_as_server(&self) {
        self.is_server.store(true, Ordering::Relaxed);
    }

    fn is_server(&self) -> bool {
        self.is_server.load(Ordering::Relaxed)
    }

    /// Returns how long a call may still wait for the server.
    pub(super) fn remaining_wait(&self) -> Duration {
        if self.is_server() {
            return MAX_WAIT;
        }
        // A command is a single call, so everything that it has waited for counts.
        MAX_WAIT.saturating_sub(*lock(&self.waited))
    }

    /// Returns an error if the server shouldn't be asked now, because this call has waited long
    /// enough, or because the server failed a short time ago.
    fn backoff_error(&self) -> Option<Diagnostic> {
        if self.remaining_wait().is_zero() {
            let message = "the team's server is not asked again in this call";
            return Some(Diagnostic::new(Kind::Service, message, ""));
        }
        let failure = self.state().recent_failure()?;
        Some(Diagnostic::new(Kind::Service, failure, ""))
    }
}

// What the commands `team` and `doctor` show and do.
impl Team {
    /// Returns a message that says why the server doesn't reply and how old the cached list is.
    /// Returns `None` if the server replies, or if there is no list.
    pub(crate) fn outage_message(&self) -> Option<String> {
        self.state().outage_message()
    }

    /// Checks the connection to the server. Returns a hint with the user's role, or the error.
    pub(crate) fn diagnose(&self) -> Diagnostic {
        let url = &self.server.url;
        match self.fetch_member() {
            Ok(TeamMember { role, .. }) => {
                let message =
                    format!("the team's server {url} answers, and you have the role `{role}`");
                Diagnostic::new(Kind::Hint, message, "")
            }
            Err(error) => error,
        }
    }

    /// Asks the server who the user is.
    fn fetch_member(&self) -> Result<TeamMember, Diagnostic> {
        let reply = self.get(self.server.url("/api/me"), NO_ETAG, API_TIMEOUT)?;
        Ok(TeamMember {
            name: reply.member("name")?,
            role: reply.member("role")?,
        })
    }

    /// Asks the server who the user is, and for the list of prompts, even if it failed recently.
    pub(crate) fn connect(&self) -> Result<TeamMember, Diagnostic> {
        let member = self.fetch_member()?;
        self.refresh_list(API_TIMEOUT)?;
        Ok(member)
    }

    /// Returns the base URL of the server.
    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// Returns the number of prompts in the cached list.
    pub(crate) fn prompt_count(&self) -> usize {
        self.list().prompts.len()
    }
}

// Requests to the server.
impl Team {
    /// Sends a GET request. If the resource still has the given ETag, the reply has no body.
    pub(super) fn get(
        &self,
        url: String,
        tag: &str,
        timeout: Duration,
    ) -> Result<TeamReply, Diagnostic> {
        let mut request = api_client::request("GET", url, &Value::Null);
        if tag != NO_ETAG {
            let name = "if-none-match".to_owned();
            request.headers.insert(name, tag.to_owned());
        }
        self.send(&request, timeout)
    }

    /// Sends a request to the server. Records whether it replies, so that other calls don't wait
    /// for an unreachable server.
    ///
    /// # Errors
    /// Returns [`Kind::Service`] if the server doesn't reply; then the caller may use the cache
    /// instead. Returns any other kind if the server rejects the request.
    pub(super) fn send(
        &self,
        request: &ServiceRequest,
        timeout: Duration,
    ) -> Result<TeamReply, Diagnostic> {
        let started = Instant::now();
        let outcome = self.server.send(request, timeout);
        let duration = started.elapsed();
        *lock(&self.waited) += duration;
        match outcome {
            Ok(RequestOutcome::Reply(reply)) => {
                self.record_reply(self.server.token_hash());
                Ok(reply)
            }
            Ok(RequestOutcome::TokenRejected(error)) => Err(self.handle_rejected_token(error)),
            Err(error) if error.kind == Kind::Service => {
                let is_quick = duration < QUICK_FAILURE;
                self.record_failure(&error, if is_quick { 0 } else { BACKOFF_SECONDS });
                Err(error)
            }
            Err(error) => {
                // The server replied, but this doesn't show whether it accepted the token.
                self.record_reply(self.state().accepted_token);
                Err(error)
            }
        }
    }

    /// Handles a token that the server rejects: deletes the cache if the team has revoked the
    /// token, i.e. if the server accepted this token before. Otherwise, the token may be mistyped,
    /// and the cache can still be used.
    ///
    /// Returns the error to pass on. Its kind is [`Kind::Service`] if the caller can use the cache
    /// instead, as after a failure of the server.
    fn handle_rejected_token(&self, error: Diagnostic) -> Diagnostic {
        let state = self.state();
        let token = self.server.token_hash();
        let is_revoked = token.is_some() && state.accepted_token == token;
        if is_revoked {
            _ = self.folder.delete(); // if this fails, the next rejection tries again
            return error;
        }
        if !state.has_cached_list() {
            return error; // there is no cache to use instead
        }
        // Callers use the cache only after an error of this kind.
        let service_error = Diagnostic {
            kind: Kind::Service,
            ..error
        };
        self.record_failure(&service_error, BACKOFF_SECONDS);
        service_error
    }

    /// Records that the server replies, and which token it last accepted. Writes nothing if that is
    /// already recorded, because this is called after every request.
    fn record_reply(&self, accepted_token: Option<Revision>) {
        let mut state = self.state();
        if state.record_reply(accepted_token) {
            // If this fails, the next reply is recorded instead.
            _ = self.folder.write(STATE_FILE, &state);
        }
    }

    /// Records that the server just failed, why, and for how long it shouldn't be asked again.
    fn record_failure(&self, error: &Diagnostic, backoff_seconds: u64) {
        let mut state = self.state();
        state.record_failure(error, backoff_seconds);
        // If this fails, the next call waits for the server again.
        _ = self.folder.write(STATE_FILE, &state);
    }
}

// The list of prompts.
impl Team {
    /// Returns the cached list, or an empty one if there is none.
    pub(super) fn list(&self) -> Arc<TeamList> {
        self.lists.get(ONLY_KEY, |trace| {
            trace.record(&self.folder.path_of(LIST_FILE));
            self.folder.read(LIST_FILE).unwrap_or_default()
        })
    }

    /// Updates the cached list from the server. It doesn't include the server's built-in prompts,
    /// because they aren't the team's.
    pub(super) fn refresh_list(&self, timeout: Duration) -> Result<(), Diagnostic> {
        let url = self.server.url("/api/prompts?mine=true");
        let reply = self.get(url, &self.list().tag, timeout)?;
        if let Some(body) = &reply.body {
            let list = TeamList::parse(body, reply.tag)?;
            self.folder.write(LIST_FILE, &list)?;
            self.folder.retain_texts(list.prompts.keys());
        }
        // Last, so that a list that could not be parsed or written doesn't count as up to date.
        let mut state = self.state();
        state.record_list();
        self.folder.write(STATE_FILE, &state)
    }

    /// Returns whether the list is at least `max_age_seconds` old, and the server may be asked.
    pub(super) fn is_refresh_due(&self, max_age_seconds: u64) -> bool {
        self.state().is_list_older_than(max_age_seconds) && self.backoff_error().is_none()
    }

    /// Refreshes the list if it is due. Call this after a command or a hook has printed its output.
    pub(crate) fn refresh_if_due(&self) {
        // A server has a thread for this.
        if !self.is_server() && self.is_refresh_due(REFRESH_SECONDS) {
            _ = self.refresh_list(self.remaining_wait()); // `outage_message` reports a failure
        }
    }

    /// Refreshes the list if a command that prints it would show an old one. Waits no longer than a
    /// call.
    pub(crate) fn refresh_for_printing(&self) {
        if self.is_refresh_due(FRESH_SECONDS) {
            _ = self.refresh_list(self.remaining_wait()); // `outage_message` reports a failure
        }
    }

    /// Refreshes the list because somebody called a prompt that isn't in it, unless the server was
    /// asked for the same name a few seconds ago. Returns whether it is worth to search again.
    pub(super) fn refresh_for_name(&self, name: &str) -> bool {
        if self.backoff_error().is_some() || !self.record_unknown_name(name) {
            return false;
        }
        let refreshed = self.refresh_list(self.remaining_wait());
        refreshed.is_ok() // `outage_message` reports a failure
    }

    /// Records that the server is asked for a name that isn't in the list. Returns `false` if it
    /// shouldn't be asked, because it was asked for this name, or for many names, just before.
    fn record_unknown_name(&self, name: &str) -> bool {
        let mut state = self.state();
        if !state.record_unknown_name(name) {
            return false;
        }
        // If this fails, the next call asks again.
        _ = self.folder.write(STATE_FILE, &state);
        true
    }

    /// Fetches the list of prompts if none is cached yet.
    ///
    /// # Errors
    /// Fails if there is no cached list, and it cannot be fetched.
    pub(crate) fn fetch_first_list(&self) -> Result<(), Diagnostic> {
        if self.state().has_cached_list() {
            return Ok(());
        }
        if let Some(error) = self.backoff_error() {
            return Err(error);
        }
        self.refresh_list(FIRST_LIST_TIMEOUT)?;
        // This exceptional wait shouldn't keep the command from asking for a text.
        *lock(&self.waited) = Duration::ZERO;
        Ok(())
    }
}

// The texts of prompts.
impl Team {
    /// Returns the text of a prompt from the server, and caches it. If the server doesn't reply in
    /// time, returns the cached text.
    pub(super) fn text(&self, name: &str, timeout: Duration) -> Result<CachedText, Diagnostic> {
        let file = text_file(name);
        let cached: Option<CachedText> = self.folder.read(&file);
        let tag = cached.as_ref().map_or(NO_ETAG, |cached| &cached.tag);
        let reply = self.request_text(name, tag, timeout);
        match (reply, cached) {
            (Ok(TeamReply { body: None, .. }), Some(cached)) => Ok(cached), // still up to date
            (Ok(reply), _) => {
                let text = CachedText::from_reply(reply)?;
                _ = self.folder.write(&file, &text); // if this fails, the text can still be used
                Ok(text)
            }
            (Err(error), Some(cached)) if error.kind == Kind::Service => Ok(cached),
            (Err(error), None) if error.kind == Kind::Service => Err(Diagnostic {
                message: format!("its text is not in the cache: {}", error.message),
                ..error
            }),
            (Err(error), _) => Err(error),
        }
    }

    /// Requests the text of a prompt, unless the server failed recently. If the text still has the
    /// given ETag, the reply has no body.
    fn request_text(
        &self,
        name: &str,
        tag: &str,
        timeout: Duration,
    ) -> Result<TeamReply, Diagnostic> {
        if let Some(error) = self.backoff_error() {
            return Err(error);
        }
        let url = self.server.prompt_url("/api/prompts/", name);
        self.get(url, tag, timeout)
    }
}
