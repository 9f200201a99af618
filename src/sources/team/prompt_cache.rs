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
//! list, wait for it. When a prompt is used, its text is requested with a timeout of 300 ms, and the
//! cached text is used if there is no reply. After a failure that took long, no process asks the
//! server for 30 seconds.

use super::api_client::{self, API_TIMEOUT, NO_ETAG, RequestOutcome, Server, TeamReply};
use super::prompt_list::TeamList;
use crate::library::{
    Cache, Change, Library, MIN_STAMP_AGE, ONLY_KEY, ServiceRequest, file_error, read_file,
};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::sources::openapi::SecretHeader;
use crate::whole_file::{FileAccess, PendingFile};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long one call waits for the server in total. Together with everything else, a call or a hook
/// then takes at most 300 ms. Debug builds, which the tests use, are slower.
const MAX_WAIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 290 });

/// How long a command waits for the list if none is cached yet. The first connection to a distant
/// server takes longer than [`MAX_WAIT`].
const FIRST_LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// For how many seconds the server isn't asked again after a failure that took long.
const BACKOFF_SECONDS: u64 = 30;

/// A failure that took less is no reason for a pause, e.g. a refused connection: the next call
/// doesn't lose much time either, and notices at once that the server is back.
const QUICK_FAILURE: Duration = MAX_WAIT.checked_div(3).unwrap();

/// How old the list may be while a client is notified of changes and when a command prints it, and
/// for how long the server isn't asked again for a name that it doesn't know, in seconds.
const FRESH_SECONDS: u64 = 5;

/// The maximum number of names that are remembered as unknown. A person or an agent calls fewer in
/// [`FRESH_SECONDS`].
const MAX_UNKNOWN_NAMES: usize = 100;

/// How often every other process refreshes the list, in seconds.
const REFRESH_SECONDS: u64 = 30;

const MEBIBYTE: u64 = 1024 * 1024;

/// The default of [`Team::max_filled`]: the texts of an ordinary team, e.g. 10,000 of 2 KiB.
const MAX_FILLED: u64 = 32 * MEBIBYTE;

/// The maximum size of a cached file that is read, in bytes. A list is longer in the cache than in
/// the server's reply, because it has more keys.
const MAX_CACHED_FILE: usize = 128 * 1024 * 1024;

/// The cached list.
const LIST_FILE: &str = "list.json";
/// What is known about the server.
const STATE_FILE: &str = "state.json";
/// The folder of the cached texts.
const TEXTS_FOLDER: &str = "texts";

/// The team's server and the cache of its prompts.
#[derive(Debug)]
pub(crate) struct Team {
    pub(super) server: Server,
    /// The folder of the cache.
    folder: PathBuf,
    /// How many bytes of texts a server process puts into the cache before they are used.
    max_filled: u64,
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

/// A file that a prompt includes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedInclude {
    /// The path, relative to the folder of prompts.
    pub(super) path: String,
    pub(super) text: String,
}

/// What the user's processes know about the server. Times are in seconds since the Unix epoch, and
/// 0 stands for "never", as in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ServerState {
    /// When the list was last up to date. Use [`ServerState::has_cached_list`] to test for 0.
    #[serde(rename = "listed")]
    listed_at: u64,
    /// When the server last failed, or 0 if it has replied since. Use [`ServerState::has_failed`]
    /// to test for 0.
    #[serde(rename = "failed")]
    failed_at: u64,
    /// For how many seconds nobody asks the server after the last failure.
    #[serde(rename = "pause")]
    backoff_seconds: u64,
    /// The message of the last failure.
    #[serde(rename = "why")]
    failure: String,
    /// The hash of the token that the server last accepted.
    #[serde(rename = "token")]
    accepted_token: Option<Revision>,
    /// The names for which the list was refreshed within the last [`FRESH_SECONDS`], and when.
    #[serde(rename = "unknown")]
    unknown_names: BTreeMap<String, u64>,
}

impl ServerState {
    /// Returns whether a list is cached.
    fn has_cached_list(&self) -> bool {
        self.listed_at > 0
    }

    /// Returns whether the server failed, and hasn't replied since.
    fn has_failed(&self) -> bool {
        self.failed_at > 0
    }

    /// Returns whether the server failed so recently that it shouldn't be asked again.
    fn is_backing_off(&self) -> bool {
        self.has_failed() && seconds_since(self.failed_at) < self.backoff_seconds
    }
}

/// Returns the current time in seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs())
}

/// Returns the number of seconds between a recorded time and now. A recorded time is in the future
/// if the clock was set back, and then counts as equally long ago.
fn seconds_since(time: u64) -> u64 {
    now().abs_diff(time)
}

/// Returns the name of the cached file that contains the text of a prompt.
fn text_file(name: &str) -> String {
    format!(
        "{TEXTS_FOLDER}/{}.json",
        Revision::of_contents(name.as_bytes())
    )
}

impl Team {
    /// Returns the team whose server has the base URL `url`. `caches` is the user's folder for
    /// caches, e.g. `~/.cache`.
    pub(crate) fn new(url: String, token: Vec<SecretHeader>, caches: &Path) -> Team {
        let hash = Revision::of_contents(url.as_bytes()).to_string();
        Team {
            server: Server::new(url, token),
            folder: caches.join("prompt-expander").join("team").join(hash),
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

    /// Reads a cached file, or returns `None` if it is missing or invalid.
    fn read<T: DeserializeOwned>(&self, file: &str) -> Option<T> {
        let json = read_file(&self.folder.join(file), MAX_CACHED_FILE).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// Writes a cached file that only the user can read.
    fn write(&self, file: &str, value: &impl Serialize) -> Result<(), Diagnostic> {
        let path = self.folder.join(file);
        self.write_json(&path, value)
            .map_err(|error| file_error(&path, &error))
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        #[cfg(unix)]
        fs::set_permissions(
            &self.folder,
            std::os::unix::fs::PermissionsExt::from_mode(0o700),
        )?;
        PendingFile::write(path, &serde_json::to_vec(value)?, FileAccess::Private)?.replace()
    }

    fn state(&self) -> ServerState {
        self.read(STATE_FILE).unwrap_or_default()
    }

    /// Returns the cached list, or an empty one if there is none.
    pub(super) fn list(&self) -> Arc<TeamList> {
        self.lists.get(ONLY_KEY, |trace| {
            trace.record(&self.folder.join(LIST_FILE));
            self.read(LIST_FILE).unwrap_or_default()
        })
    }

    /// Returns how long a call may still wait for the server.
    pub(super) fn remaining_wait(&self) -> Duration {
        if self.is_server.load(Ordering::Relaxed) {
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
        let state = self.state();
        if state.is_backing_off() {
            let seconds = seconds_since(state.failed_at);
            let message = format!("{} ({seconds} s ago)", state.failure);
            return Some(Diagnostic::new(Kind::Service, message, ""));
        }
        None
    }

    /// Returns a message that says why the server doesn't reply and how old the cached list is.
    /// Returns `None` if the server replies, or if there is no list.
    pub(crate) fn outage_message(&self) -> Option<String> {
        let state = self.state();
        if !state.has_failed() || !state.has_cached_list() {
            return None;
        }
        let listed_at = Timestamp::from_second(state.listed_at.try_into().ok()?).ok()?;
        let date = listed_at.strftime("%Y-%m-%d %H:%M UTC");
        let failure = state.failure;
        Some(format!("{failure}; the team's prompts are those of {date}"))
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

    /// Deletes the cache.
    pub(crate) fn delete_cache(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

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
                self.record_success(self.server.token_hash());
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
                self.record_success(self.state().accepted_token);
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
            _ = fs::remove_dir_all(&self.folder); // if this fails, the next rejection tries again
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
    fn record_success(&self, accepted_token: Option<Revision>) {
        let old_state = self.state();
        let is_recorded = !old_state.has_failed() && old_state.accepted_token == accepted_token;
        if is_recorded {
            return;
        }
        let state = ServerState {
            failed_at: 0,
            failure: String::new(),
            accepted_token,
            ..old_state
        };
        _ = self.write(STATE_FILE, &state); // if this fails, the next reply is recorded instead
    }

    /// Records that the server just failed, why, and for how long it shouldn't be asked again.
    fn record_failure(&self, error: &Diagnostic, backoff_seconds: u64) {
        let state = ServerState {
            failed_at: now(),
            backoff_seconds,
            failure: error.text(),
            ..self.state()
        };
        _ = self.write(STATE_FILE, &state); // if this fails, the next call waits for the server again
    }

    /// Updates the cached list from the server. It doesn't include the server's built-in prompts,
    /// because they aren't the team's.
    pub(super) fn refresh_list(&self, timeout: Duration) -> Result<(), Diagnostic> {
        let url = self.server.url("/api/prompts?mine=true");
        let reply = self.get(url, &self.list().tag, timeout)?;
        if let Some(body) = &reply.body {
            let list = TeamList::parse(body, reply.tag)?;
            self.write(LIST_FILE, &list)?;
            self.remove_unlisted_texts(&list);
        }
        // Last, so that a list that could not be parsed or written doesn't count as up to date.
        let state = ServerState {
            listed_at: now(),
            ..self.state()
        };
        self.write(STATE_FILE, &state)
    }

    /// Deletes the cached texts of prompts that are no longer listed.
    fn remove_unlisted_texts(&self, list: &TeamList) {
        let mut listed = BTreeSet::new();
        for name in list.prompts.keys() {
            listed.insert(self.folder.join(text_file(name)));
        }
        let texts = fs::read_dir(self.folder.join(TEXTS_FOLDER));
        for entry in texts.into_iter().flatten().flatten() {
            let file = entry.path();
            if !listed.contains(&file) {
                _ = fs::remove_file(file);
            }
        }
    }

    /// Returns whether the list is at least `max_age_seconds` old, and the server may be asked.
    fn is_refresh_due(&self, max_age_seconds: u64) -> bool {
        // A list that doesn't exist counts as one of 1970.
        let is_old = seconds_since(self.state().listed_at) >= max_age_seconds;
        is_old && self.backoff_error().is_none()
    }

    /// Refreshes the list if it is due. Call this after a command or a hook has printed its output.
    pub(crate) fn refresh_if_due(&self) {
        let is_server = self.is_server.load(Ordering::Relaxed); // it has a thread for this
        if !is_server && self.is_refresh_due(REFRESH_SECONDS) {
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

    /// Refreshes the list because somebody called a prompt that isn't in it. Does so at most once
    /// in [`FRESH_SECONDS`] for the same name. Returns whether the list was replaced.
    pub(super) fn refresh_for_name(&self, name: &str) -> bool {
        let mut state = self.state();
        let unknown = &mut state.unknown_names;
        unknown.retain(|_, asked_at| seconds_since(*asked_at) < FRESH_SECONDS);
        let is_known_miss = unknown.contains_key(name) || unknown.len() == MAX_UNKNOWN_NAMES;
        if is_known_miss || self.backoff_error().is_some() {
            return false;
        }
        unknown.insert(name.to_owned(), now());
        _ = self.write(STATE_FILE, &state); // if this fails, the next call asks again
        let old = self.list();
        _ = self.refresh_list(self.remaining_wait()); // then the prompt stays unknown
        !Arc::ptr_eq(&old, &self.list())
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

    /// Turns this process into a server: starts a thread that keeps refreshing the list and the
    /// texts, and that notifies the library of changes.
    pub(crate) fn start_refreshing(self: &Arc<Self>, library: &Arc<Library>) {
        self.is_server.store(true, Ordering::Relaxed);
        let team = Arc::clone(self);
        let library = Arc::downgrade(library);
        let list = self.list();
        let thread = thread::Builder::new().name("team".to_owned());
        // If the thread cannot be started, the list is only as current as commands keep it.
        _ = thread.spawn(move || team.keep_refreshing(list, &library));
    }

    /// Keeps refreshing the list until the library is dropped, notifies the library of changes, and
    /// fills the cache. `known_list` is the list that the library has now.
    fn keep_refreshing(&self, mut known_list: Arc<TeamList>, library: &Weak<Library>) {
        let mut is_filled = false;
        while let Some(library) = library.upgrade() {
            let list = self.refresh_and_notify(&library, &known_list);
            // Before anything slow. Otherwise, this thread would keep the library alive.
            drop(library);
            if !is_filled || !Arc::ptr_eq(&list, &known_list) {
                is_filled = self.fill(&list, &known_list);
            }
            known_list = list;
            // Not longer, because the library may be watched from now on.
            thread::sleep(Duration::from_secs(FRESH_SECONDS));
        }
    }

    /// Refreshes the list if it is due. If it differs from `known_list`, notifies the library.
    /// Returns the current list.
    fn refresh_and_notify(&self, library: &Library, known_list: &TeamList) -> Arc<TeamList> {
        let max_age_seconds = if library.is_watched() {
            FRESH_SECONDS
        } else {
            REFRESH_SECONDS
        };
        if self.is_refresh_due(max_age_seconds) {
            _ = self.refresh_list(API_TIMEOUT); // `outage_message` reports a failure
        }
        // Even without a refresh here, another process may have refreshed the cached list.
        let list = self.list();
        let change = known_list.change_to(&list);
        if change != Change::default() {
            library.notify_changed(&change);
        }
        list
    }

    /// Puts the texts of the listed prompts into the cache, up to [`Team::max_filled`] bytes: first
    /// those that are new since `old_list`. So they can be used offline, and calls don't have to
    /// wait for a distant server. Returns false if the server has failed, to try again later.
    fn fill(&self, list: &TeamList, old_list: &TeamList) -> bool {
        let mut newest_first: Vec<_> = list.prompts.values().collect();
        newest_first.retain(|listed| !listed.needs_server()); // otherwise, its text is never used
        newest_first.sort_by_key(|listed| old_list.prompts.get(&listed.name) == Some(listed));
        let mut filled = 0;
        for listed in newest_first {
            if filled >= self.max_filled {
                break;
            }
            let file = text_file(&listed.name);
            let cached: Option<CachedText> = self.read(&file);
            let revision = cached.map(|cached| Revision::of_contents(cached.text.as_bytes()));
            let is_current = revision.is_some() && revision == listed.revision;
            if !is_current {
                _ = self.text(&listed.name, API_TIMEOUT); // this caches the text
                if self.state().has_failed() {
                    return false;
                }
            }
            let metadata = fs::metadata(self.folder.join(file));
            filled += metadata.map_or(0, |metadata| metadata.len());
        }
        true
    }

    /// Returns the text of a prompt from the server, and caches it. If the server doesn't reply in
    /// time, returns the cached text.
    pub(super) fn text(&self, name: &str, timeout: Duration) -> Result<CachedText, Diagnostic> {
        let file = text_file(name);
        let cached: Option<CachedText> = self.read(&file);
        let tag = cached.as_ref().map_or(NO_ETAG, |cached| &cached.tag);
        let reply = match self.fetch_text(name, tag, timeout) {
            Ok(reply) => reply,
            Err(error) if error.kind == Kind::Service => {
                return cached.ok_or_else(|| Diagnostic {
                    message: format!("its text is not in the cache: {}", error.message),
                    ..error
                });
            }
            Err(error) => return Err(error),
        };
        let is_unmodified = reply.body.is_none();
        if is_unmodified && let Some(cached) = cached {
            return Ok(cached);
        }
        let text = CachedText {
            tag: reply.tag,
            ..api_client::parse(&reply.body.unwrap_or_default())?
        };
        _ = self.write(&file, &text); // if this fails, the text can be used nevertheless
        Ok(text)
    }

    /// Requests the text of a prompt, unless the server failed recently. If the text still has the
    /// given ETag, the reply has no body.
    fn fetch_text(
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
