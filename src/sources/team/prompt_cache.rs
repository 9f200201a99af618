//! The cache of what the team's server has: a folder that only the user can read, and all processes
//! of the user share.
//!
//! | file | what it has |
//! |---|---|
//! | `list.json` | the prompts without their texts, and the ETag of the list |
//! | `texts/HASH.json` | the text of a prompt, with what it includes and its ETag |
//! | `state.json` | when the list was last current; and the last failure, after which nobody asks for 30 s |
//!
//! Nothing waits for the list: a thread of a server refreshes the list and the texts, and a command
//! refreshes the list after it has answered. Only the text of a prompt that is used is waited for,
//! for 300 ms at most; without an answer, the text in the cache is used.

use super::api_client::{self, ANSWER_WITHIN, RequestOutcome, Server, TeamReply};
use super::prompt_list::TeamList;
use crate::library::{Cache, Change, Library, MIN_STAMP_AGE, ServiceRequest, file_error, read};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::sources::openapi::SecretHeader;
use crate::whole_file::{FileAccess, PendingFile};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long a call or a hook waits for the server, all in all: with what it does besides, 300 ms. A
/// debug build, as in the tests, is slower in everything.
const WAIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 290 });

/// How long a command waits that has no list yet: the first connection to a server that is far away
/// takes longer.
const FIRST_WITHIN: Duration = Duration::from_secs(3);

/// For how many seconds nobody asks after a failure.
const BACKOFF: u64 = 30;

/// After how many seconds a server refreshes the list while a client is notified of changes.
const OFTEN: u64 = 5;

/// After how many seconds everybody else refreshes it.
const SELDOM: u64 = 30;

/// The longest file of the cache that is read, in bytes: a list, which has more keys there than in
/// the answer of the server.
const MAX_CACHED: usize = 128 * 1024 * 1024;

const LIST: &str = "list.json";
const STATE: &str = "state.json";
const TEXTS: &str = "texts";

/// The team's server, and the cache of what it has.
#[derive(Debug)]
pub(crate) struct Team {
    pub(super) server: Server,
    /// The folder of the cache.
    folder: PathBuf,
    lists: Cache<Arc<TeamList>>,
    /// How long this process has waited for the server.
    waited: Mutex<Duration>,
    /// Whether this process is a server, which answers many calls, and each call may wait.
    is_server: AtomicBool,
}

/// The text of a prompt, as the server sends it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedText {
    /// The ETag of the text.
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
    /// The path below the folder of prompts.
    pub(super) path: String,
    pub(super) text: String,
}

/// What the processes of the user know of the server. Times are in seconds since 1970.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ServerState {
    /// When the list was last current; 0: there is none.
    listed: u64,
    /// When the server failed last; 0: it answers.
    failed: u64,
    /// The message of the last failure.
    #[serde(rename = "why")]
    failure: String,
    /// The hash of the token with which the server last answered.
    token: Option<Revision>,
}

/// Returns the time in seconds since 1970.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs())
}

/// Returns how many seconds have passed since a time. It may be in the future if the clock was set
/// back.
fn seconds_since(time: u64) -> u64 {
    now().abs_diff(time)
}

/// Returns the file in the cache with the text of a prompt.
fn text_file(name: &str) -> String {
    format!("{TEXTS}/{}.json", Revision::of_contents(name.as_bytes()))
}

impl Team {
    /// Returns the team whose server is at `url`. `caches` is the folder for caches of the user,
    /// such as `~/.cache`.
    pub(crate) fn new(url: String, token: Vec<SecretHeader>, caches: &Path) -> Team {
        let hash = Revision::of_contents(url.as_bytes()).to_string();
        Team {
            server: Server::new(url, token),
            folder: caches.join("prompt-expander").join("team").join(hash),
            lists: Cache::new(1, MIN_STAMP_AGE),
            waited: Mutex::default(),
            is_server: AtomicBool::new(false),
        }
    }

    /// Reads a file of the cache; `None` if it is missing or cannot be read.
    fn read<T: DeserializeOwned>(&self, file: &str) -> Option<T> {
        let json = read(&self.folder.join(file), MAX_CACHED).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// Replaces a file of the cache.
    fn write(&self, file: &str, value: &impl Serialize) -> Result<(), Diagnostic> {
        let path = self.folder.join(file);
        self.write_private(&path, value)
            .map_err(|error| file_error(&path, &error))
    }

    /// Replaces a file of the cache, which only the user can read.
    fn write_private(&self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        #[cfg(unix)]
        fs::set_permissions(
            &self.folder,
            std::os::unix::fs::PermissionsExt::from_mode(0o700),
        )?;
        PendingFile::write(path, &serde_json::to_vec(value)?, FileAccess::Private)?.replace()
    }

    fn state(&self) -> ServerState {
        self.read(STATE).unwrap_or_default()
    }

    /// Returns the list in the cache. Without one, it has no prompts.
    pub(super) fn list(&self) -> Arc<TeamList> {
        self.lists.get("", |trace| {
            trace.record(&self.folder.join(LIST));
            self.read(LIST).unwrap_or_default()
        })
    }

    /// Returns how long a call may still wait for the server.
    pub(super) fn remaining_wait(&self) -> Duration {
        if self.is_server.load(Ordering::Relaxed) {
            return WAIT;
        }
        // A command is a single call.
        WAIT.saturating_sub(*lock(&self.waited))
    }

    /// Returns an error if the server should not be asked now: this call has used up its waiting
    /// time, or the server failed a short time ago.
    fn backoff_error(&self) -> Option<Diagnostic> {
        if self.remaining_wait().is_zero() {
            let message = "the team's server is not asked again in this call";
            return Some(Diagnostic::new(Kind::Service, message, ""));
        }
        let state = self.state();
        if seconds_since(state.failed) < BACKOFF {
            return Some(Diagnostic::new(Kind::Service, state.failure, ""));
        }
        None
    }

    /// Returns a sentence that says why the server does not answer, and how old the list in the
    /// cache is; `None` if the server answers.
    pub(crate) fn outage_message(&self) -> Option<String> {
        let state = self.state();
        if state.failed == 0 || state.listed == 0 {
            return None;
        }
        let listed = Timestamp::from_second(state.listed.try_into().ok()?).ok()?;
        let date = listed.strftime("%Y-%m-%d %H:%M UTC");
        let failure = state.failure;
        Some(format!("{failure}; the team's prompts are those of {date}"))
    }

    /// Asks the server who the user is. Returns a hint with the answer, or the error.
    pub(crate) fn diagnose(&self) -> Diagnostic {
        let url = &self.server.url;
        match self.role() {
            Ok(role) => {
                let message =
                    format!("the team's server {url} answers, and you have the role `{role}`");
                Diagnostic::new(Kind::Hint, message, "")
            }
            Err(error) => error,
        }
    }

    /// Asks the server for the role of the user, such as `editor`.
    fn role(&self) -> Result<String, Diagnostic> {
        let url = self.server.address("/api/me", "");
        self.get(url, "", ANSWER_WITHIN)?.member("role")
    }

    /// Sends a GET request. If what is at the address still has the ETag `tag`, the reply has no
    /// body.
    pub(super) fn get(
        &self,
        url: String,
        tag: &str,
        within: Duration,
    ) -> Result<TeamReply, Diagnostic> {
        let mut request = api_client::request("GET", url, &Value::Null);
        if !tag.is_empty() {
            let name = "if-none-match".to_owned();
            request.headers.insert(name, tag.to_owned());
        }
        self.ask(&request, within)
    }

    /// Asks the server, and records whether it answers, so that other calls need not wait for a
    /// server that is away.
    ///
    /// # Errors
    /// [`Kind::Service`]: the cache can be used instead of the answer. Other kinds: the server
    /// refuses the request.
    pub(super) fn ask(
        &self,
        request: &ServiceRequest,
        within: Duration,
    ) -> Result<TeamReply, Diagnostic> {
        let started = Instant::now();
        let outcome = self.server.send(request, within);
        *lock(&self.waited) += started.elapsed();
        match outcome {
            Ok(RequestOutcome::Reply(reply)) => {
                self.record_answer(self.server.token_hash());
                Ok(reply)
            }
            Ok(RequestOutcome::TokenRefused(refusal)) => Err(self.refused_token_error(refusal)),
            Err(error) if error.kind == Kind::Service => {
                self.record_failure(&error);
                Err(error)
            }
            Err(error) => {
                self.record_answer(self.state().token);
                Err(error)
            }
        }
    }

    /// Returns the error for a token that the server refuses.
    ///
    /// If the server has accepted this token before, the team has revoked it, and the cache is
    /// deleted. Otherwise the token may have a typing error: then the server counts as one that does
    /// not answer, and the cache is used.
    fn refused_token_error(&self, refusal: Diagnostic) -> Diagnostic {
        let state = self.state();
        let token = self.server.token_hash();
        if token.is_some() && state.token == token {
            _ = fs::remove_dir_all(&self.folder);
            return refusal;
        }
        let has_list = state.listed > 0;
        if !has_list {
            return refusal;
        }
        let error = Diagnostic {
            kind: Kind::Service,
            ..refusal
        };
        self.record_failure(&error);
        error
    }

    /// Records that the server answers, and the token that it accepted last. If both are recorded
    /// already, nothing is written.
    fn record_answer(&self, accepted_token: Option<Revision>) {
        let state = self.state();
        if state.failed == 0 && state.token == accepted_token {
            return;
        }
        let state = ServerState {
            failed: 0,
            failure: String::new(),
            token: accepted_token,
            ..state
        };
        _ = self.write(STATE, &state); // if this fails, the next call asks again
    }

    /// Records that the server does not answer now, and why.
    fn record_failure(&self, error: &Diagnostic) {
        let state = ServerState {
            failed: now(),
            failure: error.text(),
            ..self.state()
        };
        _ = self.write(STATE, &state); // if this fails, the next call asks again
    }

    /// Updates the list in the cache from the server. The built-in prompts of the server are left
    /// out, because they are not the team's.
    pub(super) fn refresh(&self, within: Duration) -> Result<(), Diagnostic> {
        let url = self.server.address("/api/prompts?mine=true", "");
        let reply = self.get(url, &self.list().tag, within)?;
        if !reply.is_unmodified() {
            let list = TeamList::parse(reply)?;
            self.write(LIST, &list)?;
            self.remove_unlisted_texts(&list);
        }
        let state = ServerState {
            listed: now(),
            ..self.state()
        };
        self.write(STATE, &state)
    }

    /// Removes the kept texts of prompts that are no longer listed.
    fn remove_unlisted_texts(&self, list: &TeamList) {
        let mut listed = BTreeSet::new();
        for name in list.prompts.keys() {
            listed.insert(self.folder.join(text_file(name)));
        }
        let texts = fs::read_dir(self.folder.join(TEXTS));
        for entry in texts.into_iter().flatten().flatten() {
            let file = entry.path();
            if !listed.contains(&file) {
                _ = fs::remove_file(file);
            }
        }
    }

    /// Returns whether nobody has refreshed the list for this time, and the server may be asked.
    fn is_due(&self, seconds: u64) -> bool {
        seconds_since(self.state().listed) >= seconds && self.backoff_error().is_none()
    }

    /// Refreshes the list after a command or a hook has answered, unless another process has done
    /// so.
    pub(crate) fn refresh_if_due(&self) {
        if !self.is_server.load(Ordering::Relaxed) && self.is_due(SELDOM) {
            _ = self.refresh(self.remaining_wait()); // `outage_message` says why it failed
        }
    }

    /// Fetches the list of prompts if the cache has none yet.
    ///
    /// # Errors
    /// The list cannot be fetched.
    pub(crate) fn fetch_first_list(&self) -> Result<(), Diagnostic> {
        if self.state().listed > 0 {
            return Ok(());
        }
        if let Some(error) = self.backoff_error() {
            return Err(error);
        }
        self.refresh(FIRST_WITHIN)?;
        *lock(&self.waited) = Duration::ZERO;
        Ok(())
    }

    /// Refreshes the list and the texts from now on, and tells the library what has changed.
    pub(crate) fn start_refreshing(self: &Arc<Self>, library: &Arc<Library>) {
        self.is_server.store(true, Ordering::Relaxed);
        let team = Arc::clone(self);
        let library = Arc::downgrade(library);
        let known = self.list();
        let thread = thread::Builder::new().name("team".to_owned());
        // Without the thread, commands refresh the list.
        _ = thread.spawn(move || team.follow_list(known, &library));
    }

    /// Refreshes the list again and again until the library is dropped, and tells the library what
    /// has changed. `known` is the list that the library has now.
    fn follow_list(&self, mut known: Arc<TeamList>, library: &Weak<Library>) {
        self.fetch_texts(&known);
        while let Some(library) = library.upgrade() {
            let interval = if library.is_watched() { OFTEN } else { SELDOM };
            if self.is_due(interval) {
                _ = self.refresh(ANSWER_WITHIN);
            }
            let list = self.list(); // another process may have refreshed it
            let change = known.change_to(&list);
            if change != Change::default() {
                library.changed(&change);
                self.fetch_texts(&list);
            }
            known = list;
            drop(library);
            thread::sleep(Duration::from_secs(OFTEN));
        }
    }

    /// Fetches the texts that are not in the cache, so that no call has to wait for a server that
    /// is far away.
    fn fetch_texts(&self, list: &TeamList) {
        for listed in list.prompts.values() {
            if listed.needs_server() {
                continue;
            }
            let cached: Option<CachedText> = self.read(&text_file(&listed.name));
            let revision = cached.map(|cached| Revision::of_contents(cached.text.as_bytes()));
            if revision.is_none() || revision != listed.revision {
                _ = self.text(&listed.name, ANSWER_WITHIN); // a call that needs it asks again
            }
        }
    }

    /// Returns the text of a prompt: that of the server or, if it does not answer in time, the one
    /// in the cache.
    pub(super) fn text(&self, name: &str, within: Duration) -> Result<CachedText, Diagnostic> {
        let file = text_file(name);
        let cached: Option<CachedText> = self.read(&file);
        let tag = cached.as_ref().map_or("", |cached| &cached.tag);
        let reply = match self.ask_for_text(name, tag, within) {
            Ok(reply) => reply,
            Err(error) if error.kind == Kind::Service => {
                return cached.ok_or_else(|| Diagnostic {
                    message: format!("its text is not in the cache: {}", error.message),
                    ..error
                });
            }
            Err(error) => return Err(error),
        };
        if reply.is_unmodified()
            && let Some(cached) = cached
        {
            return Ok(cached);
        }
        let text = CachedText {
            tag: reply.tag,
            ..api_client::parse(&reply.body)?
        };
        _ = self.write(&file, &text); // the text is used in any case
        Ok(text)
    }

    /// Asks the server for the text of a prompt, unless the server failed a short time ago.
    fn ask_for_text(
        &self,
        name: &str,
        tag: &str,
        within: Duration,
    ) -> Result<TeamReply, Diagnostic> {
        if let Some(error) = self.backoff_error() {
            return Err(error);
        }
        let url = self.server.address("/api/prompts/", name);
        self.get(url, tag, within)
    }
}
