//! The cache of what the team's server has: a folder that only the user can read, and all processes of the user share.
//!
//! | file | what it has |
//! |---|---|
//! | `list.json` | the prompts without their texts, and the ETag of the list |
//! | `texts/HASH.json` | the text of a prompt, with what it includes and its ETag |
//! | `state.json` | when the list was last current; and the last failure, after which nobody asks for 30 s |
//!
//! Nothing waits for the list: a thread of a server refreshes the list and the texts, and a command refreshes the list after it has
//! answered. Only the text of a prompt that is used is waited for, for 300 ms at most; without an answer, the text in the cache is used.

use super::super::cache::{Cache, SETTLING};
use super::super::openapi::SecretHeader;
use super::super::read::read;
use super::super::source::Layer;
use super::super::view::Library;
use super::super::watched::Change;
use super::server::{self, ANSWER_WITHIN, Answer, Server, Trouble, member};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Revision, Summary};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

/// How long a call or a hook waits for the server, all in all: with what it does besides, 300 ms. A debug build, as in the tests, is slower
/// in everything.
const WAIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 290 });

/// For how many seconds nobody asks after a failure.
const REST: u64 = 30;

/// After how many seconds a server refreshes the list while a client is notified of changes; and everybody else.
const OFTEN: u64 = 5;
const SELDOM: u64 = 30;

/// The longest file of the cache that is read, in bytes.
const MAX_CACHED: usize = 64 * 1024 * 1024;

const LIST: &str = "list.json";
const STATE: &str = "state.json";
const TEXTS: &str = "texts";

/// All characters except `/` and the unreserved ones of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The team's server, and the cache of what it has.
#[derive(Debug)]
pub(crate) struct Team {
    server: Server,
    folder: PathBuf,
    lists: Cache<(), Arc<List>>,
    /// How long this process has waited for the server.
    waited: Mutex<Duration>,
    /// Whether it answers many calls, of which each may wait.
    is_server: AtomicBool,
}

/// The list in the cache.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct List {
    /// For which token it is.
    token: Revision,
    /// `None` if there is no list of this token.
    tag: Option<String>,
    pub(super) prompts: BTreeMap<String, Arc<Entry>>,
}

/// A prompt in the list, as the API writes it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) name: String,
    layer: String,
    format: Option<String>,
    source: String,
    pub(super) revision: Option<Revision>,
    pub(super) size: u64,
    #[serde(flatten)]
    pub(super) summary: Summary,
}

/// The text of a prompt, as the API writes it, and its ETag.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Text {
    pub(super) tag: String,
    pub(super) text: String,
    pub(super) includes: Vec<Include>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Include {
    pub(super) path: String,
    pub(super) text: String,
}

/// What the processes of the user know of the server, in seconds since 1970.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// When the list was last current.
    listed: u64,
    /// When it failed last, and first without an answer since; 0: it answers.
    failed: u64,
    since: u64,
    why: String,
}

fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// The file in the cache with the text of a prompt.
fn file_of(name: &str) -> String {
    format!("{TEXTS}/{}.json", Revision::of(name.as_bytes()))
}

impl Team {
    /// The team whose server is at `url`. `caches`: the folder for what programs can make again.
    pub(crate) fn new(url: String, token: Vec<SecretHeader>, caches: &Path) -> Team {
        let folder = caches.join("prompt-expander").join("team").join(Revision::of(url.as_bytes()).to_string());
        let (lists, waited, is_server) = (Cache::new(1, SETTLING), Mutex::default(), AtomicBool::new(false));
        Team { server: Server::new(url, token), folder, lists, waited, is_server }
    }

    /// The address of the page, or of something else, of a prompt: what is before its name is `path`.
    pub(super) fn address(&self, path: &str, name: &str) -> String {
        format!("{}{path}{}", self.server.url, utf8_percent_encode(name, ENCODED))
    }

    fn read<T: for<'d> Deserialize<'d>>(&self, file: &str) -> Option<T> {
        serde_json::from_slice(&read(&self.folder.join(file), MAX_CACHED, |_| Ok(())).ok()?).ok()
    }

    /// Replaces a file of the cache, which only the user can read.
    fn write(&self, file: &str, value: &impl Serialize) -> Result<(), Diagnostic> {
        let path = self.folder.join(file);
        let write = || -> io::Result<()> {
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder)?;
            #[cfg(unix)]
            fs::set_permissions(&self.folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            new.write_all(&serde_json::to_vec(value)?)?;
            Ok(new.persist(&path).map(|_| ())?)
        };
        write().map_err(|error| {
            let message = format!("the cache of the team's prompts cannot be written: {error}");
            Diagnostic::new(Kind::Unreadable, message, "check its folder").in_file(path)
        })
    }

    fn state(&self) -> State {
        self.read(STATE).unwrap_or_default()
    }

    fn set_state(&self, state: &State) {
        _ = self.write(STATE, state); // without it, the next one asks again
    }

    /// Why the server is not asked at this moment.
    fn rest(&self) -> Option<Diagnostic> {
        let State { failed, why, .. } = self.state();
        let is_over = self.patience().is_zero();
        let why = if is_over { "the team's server is not asked again in this call".to_owned() } else { why };
        (is_over || now().abs_diff(failed) < REST).then(|| Diagnostic::new(Kind::Service, why, "try again later"))
    }

    /// That the server is gone, and since when.
    pub(crate) fn absence(&self) -> Option<String> {
        let State { failed, since, why, .. } = self.state();
        let since = Timestamp::from_second(since.try_into().ok()?).ok()?.strftime("%Y-%m-%d %H:%M UTC");
        (failed > 0).then(|| format!("{why}; since {since}, the team's prompts are those of the cache"))
    }

    /// Whether the server answers at this moment. Nothing is written.
    pub(crate) fn examine(&self) -> Diagnostic {
        let answer = self.server.send("GET", &self.address("/api/me", ""), None, None, ANSWER_WITHIN);
        let role = answer.map_err(Diagnostic::from).and_then(|answer| member::<String>(answer, "role"));
        role.map_or_else(
            |why| why,
            |role| {
                let message = format!("the team's server {} answers, and you have the role `{role}`", self.server.url);
                Diagnostic::new(Kind::Hint, message, "")
            },
        )
    }

    /// Asks the server, and remembers whether it answers.
    pub(super) fn ask(
        &self,
        method: &str,
        url: &str,
        tag: Option<&str>,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<Answer, Trouble> {
        let started = SystemTime::now();
        let answered = self.server.send(method, url, tag, body, within);
        *lock(&self.waited) += started.elapsed().unwrap_or_default();
        let state = self.state();
        match &answered {
            Err(Trouble::Gone(why) | Trouble::Refused(why)) => {
                let since = if state.failed > 0 { state.since } else { now() };
                self.set_state(&State { failed: now(), since, why: why.message.clone(), ..state });
            }
            Ok(_) | Err(Trouble::Error(1.., ..)) if state.failed > 0 => self.set_state(&State { failed: 0, ..state }),
            _ => {}
        }
        if let Err(Trouble::Refused(_)) = answered {
            self.forget();
        }
        answered
    }

    /// Deletes what was read with a token that is no longer valid.
    fn forget(&self) {
        _ = fs::remove_file(self.folder.join(LIST));
        _ = fs::remove_dir_all(self.folder.join(TEXTS));
    }

    /// How long may still be waited.
    pub(super) fn patience(&self) -> Duration {
        let is_server = self.is_server.load(Ordering::Relaxed);
        if is_server { WAIT } else { WAIT.saturating_sub(*lock(&self.waited)) }
    }

    pub(super) fn list(&self) -> Arc<List> {
        self.lists.get(&(), |trace| {
            trace.look(&self.folder.join(LIST));
            let list: List = self.read(LIST).unwrap_or_default();
            if list.tag.is_none() || list.token == self.server.revision_of_token() {
                return Arc::new(list);
            }
            self.forget();
            Arc::default()
        })
    }

    /// Makes the list in the cache that of the server. Its built-in prompts are not the team's.
    pub(super) fn refresh(&self, within: Duration) -> Result<(), Diagnostic> {
        let (token, url) = (self.server.revision_of_token(), self.address("/api/prompts?mine=true", ""));
        let answer = self.ask("GET", &url, self.list().tag.as_deref(), None, within)?;
        if answer.body.is_some() {
            let tag = Some(answer.tag.clone());
            let prompts: Vec<Entry> = member(answer, "prompts")?;
            let prompts = prompts.into_iter().map(|entry| (entry.name.clone(), Arc::new(entry))).collect();
            let list = List { token, tag, prompts };
            self.write(LIST, &list)?;
            let known: BTreeSet<_> = list.prompts.keys().map(|name| self.folder.join(file_of(name))).collect();
            let kept = fs::read_dir(self.folder.join(TEXTS)).into_iter().flatten().flatten().map(|file| file.path());
            kept.filter(|file| !known.contains(file)).for_each(|file| _ = fs::remove_file(file));
        }
        self.set_state(&State { listed: now(), ..self.state() });
        Ok(())
    }

    /// Whether nobody has refreshed the list for so many seconds, and the last failure is long enough ago.
    fn is_due(&self, seconds: u64) -> bool {
        now().abs_diff(self.state().listed) >= seconds && self.rest().is_none()
    }

    /// Refreshes the list after a command or a hook has answered, unless another process has done so.
    pub(crate) fn refresh_if_due(&self) {
        if self.is_due(SELDOM) {
            _ = self.refresh(self.patience()); // `absence` says why it failed
        }
    }

    /// Gets the list for a command, if there is none yet.
    pub(crate) fn get_first_list(&self) {
        if self.list().tag.is_none() {
            self.refresh_if_due();
        }
    }

    /// Refreshes the list and the texts from now on, and tells the library what has changed.
    pub(crate) fn follow(self: &Arc<Self>, library: &Arc<Library>) {
        self.is_server.store(true, Ordering::Relaxed);
        let (team, library, mut known) = (Arc::clone(self), Arc::downgrade(library), self.list());
        let follow = move || {
            team.fetch_texts(&known);
            while let Some(library) = library.upgrade() {
                if team.is_due(if library.is_watched() { OFTEN } else { SELDOM }) {
                    _ = team.refresh(ANSWER_WITHIN);
                }
                let list = team.list(); // another process may have refreshed it
                if list.prompts != known.prompts {
                    library.changed(&Change::Anything);
                    team.fetch_texts(&list);
                }
                known = list;
                drop(library);
                thread::sleep(Duration::from_secs(OFTEN));
            }
        };
        if let Err(error) = thread::Builder::new().name("team".to_owned()).spawn(follow) {
            tracing::warn!(%error, "the list of the team's prompts is not refreshed");
        }
    }

    /// Asks for the texts that are not in the cache: from far away, an answer takes longer than a call may wait.
    fn fetch_texts(&self, list: &List) {
        for entry in list.prompts.values().filter(|entry| !entry.is_remote()) {
            let kept: Option<Text> = self.read(&file_of(&entry.name));
            if kept.is_none_or(|kept| Some(Revision::of(kept.text.as_bytes())) != entry.revision) {
                _ = self.text(&entry.name, ANSWER_WITHIN); // a call that needs it asks again
            }
        }
    }

    /// The text of a prompt: that of the server or, if it does not answer in time, the one in the cache.
    pub(super) fn text(&self, name: &str, within: Duration) -> Result<Text, Diagnostic> {
        let file = file_of(name);
        let kept: Option<Text> = self.read(&file);
        let tag = kept.as_ref().map(|kept| kept.tag.as_str());
        let asked = match self.rest() {
            Some(why) => Err(Trouble::Gone(why)),
            None => self.ask("GET", &self.address("/api/prompts/", name), tag, None, within),
        };
        match (asked, kept) {
            (Ok(Answer { body: None, .. }) | Err(Trouble::Gone(_)), Some(kept)) => Ok(kept),
            (Err(Trouble::Gone(why)), None) => {
                Err(Diagnostic { message: format!("its text is not in the cache: {}", why.message), ..why })
            }
            (asked, _) => {
                let answer = asked?;
                let text = Text { tag: answer.tag.clone(), ..server::read(answer)? };
                _ = self.write(&file, &text); // the text is used in any case
                Ok(text)
            }
        }
    }
}

impl Entry {
    /// Whether only the server can expand it: a service renders it, or it is written as for another program.
    pub(super) fn is_remote(&self) -> bool {
        let is_own_file = self.source.ends_with(&format!("{}.md", self.name.rsplit('/').next().unwrap_or_default()));
        self.layer == Layer::SERVICE.name || self.format.is_some() || !is_own_file
    }
}
