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

use super::server::{self, ANSWER_WITHIN, Answer, Server};
use crate::library::{Cache, Change, Layer, Library, SETTLING, ServiceRequest, failed, read};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Name, Position, Revision, Summary};
use crate::sources::openapi::SecretHeader;
use crate::whole_file::{FileAccess, PendingFile};
use crate::wording::{in_bytes, thousands};
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long a call or a hook waits for the server, all in all: with what it does besides, 300 ms. A
/// debug build, as in the tests, is slower in everything.
const WAIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 290 });

/// The same of a command without a list: the first connection to a server that is far away takes
/// longer.
const FIRST_WITHIN: Duration = Duration::from_secs(3);

/// For how many seconds nobody asks after a failure.
const REST: u64 = 30;

/// After how many seconds a server refreshes the list while a client is notified of changes; and
/// everybody else.
const OFTEN: u64 = 5;
const SELDOM: u64 = 30;

/// The longest file of the cache that is read, in bytes: a list, which has more keys there than in
/// the answer of the server.
const MAX_CACHED: usize = 128 * 1024 * 1024;

/// How many prompts the server may list, and how long the entry of one may be, in bytes.
const MAX_LISTED: usize = 200_000;
const MAX_ENTRY: usize = 256 * 1024;

/// How many arguments, choices and tags all prompts in the list may have.
const MAX_LISTED_VALUES: usize = 500_000;

const LIST: &str = "list.json";
const STATE: &str = "state.json";
const TEXTS: &str = "texts";

/// The team's server, and the cache of what it has.
#[derive(Debug)]
pub(crate) struct Team {
    pub(super) server: Server,
    folder: PathBuf,
    lists: Cache<Arc<List>>,
    /// How long this process has waited for the server.
    waited: Mutex<Duration>,
    /// Whether it answers many calls, of which each may wait.
    is_server: AtomicBool,
}

/// The list in the cache, and its ETag.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct List {
    tag: String,
    pub(super) prompts: BTreeMap<String, Arc<Entry>>,
}

/// Returns which prompts differ between two lists.
fn change_between(old: &List, new: &List) -> Change {
    let mut prompts = BTreeSet::new();
    for name in old.prompts.keys().chain(new.prompts.keys()) {
        if old.prompts.get(name) != new.prompts.get(name) {
            prompts.extend(Name::new(name));
        }
    }
    Change::of_prompts(prompts)
}

/// The list as the API writes it.
#[derive(Deserialize)]
struct Listed {
    prompts: Entries,
    #[serde(default)]
    problems: Entries,
}

/// Entries by their names. They are read one after the other, so that no list takes much more
/// memory than what is kept of it.
#[derive(Default)]
struct Entries(BTreeMap<String, Arc<Entry>>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Entries, D::Error> {
        list.deserialize_seq(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of prompts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::default();
        let mut count = 0;
        let mut values = 0;
        while let Some(json) = list.next_element::<&RawValue>()? {
            if json.get().len() > MAX_ENTRY {
                let limit = in_bytes(MAX_ENTRY);
                return Err(Error::custom(format!("an entry is longer than {limit}")));
            }
            let entry: Entry = serde_json::from_str(json.get()).map_err(Error::custom)?;
            count += 1;
            values += count_values(&entry.summary);
            if count > MAX_LISTED || values > MAX_LISTED_VALUES {
                let limit = format!(
                    "the list has more than {} prompts, or {} arguments, choices and tags",
                    thousands(MAX_LISTED),
                    thousands(MAX_LISTED_VALUES)
                );
                return Err(Error::custom(limit));
            }
            if !entry.name.is_empty() {
                entries.0.insert(entry.name.clone(), Arc::new(entry));
            }
        }
        Ok(entries)
    }
}

/// Returns how many arguments, choices and tags a prompt has.
fn count_values(summary: &Summary) -> usize {
    let mut values = summary.tags.len();
    for argument in &summary.arguments {
        values += 1 + argument.choices.len();
    }
    values
}

/// A prompt in the list, which may be broken.
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
    #[serde(flatten)]
    pub(super) problem: Option<Problem>,
}

/// Why a prompt is broken.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) repair: String,
    #[serde(flatten)]
    pub(super) position: Option<Position>,
}

/// The text of a prompt, as the API writes it, and its ETag.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Text {
    #[serde(default)]
    pub(super) tag: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) includes: Vec<Include>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Include {
    pub(super) path: String,
    pub(super) text: String,
}

/// What the processes of the user know of the server, in seconds since 1970.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// When the list was last current; 0: there is none.
    listed: u64,
    /// When it failed last, and why; 0: it answers.
    failed: u64,
    why: String,
    /// The hash of the token with which it last answered.
    token: Option<Revision>,
}

fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs())
}

/// The file in the cache with the text of a prompt.
fn file_of(name: &str) -> String {
    format!("{TEXTS}/{}.json", Revision::of(name.as_bytes()))
}

impl Team {
    /// The team whose server is at `url`. `caches`: the folder for what programs can make again.
    pub(crate) fn new(url: String, token: Vec<SecretHeader>, caches: &Path) -> Team {
        let folder = caches
            .join("prompt-expander")
            .join("team")
            .join(Revision::of(url.as_bytes()).to_string());
        let (lists, waited, is_server) = (
            Cache::new(1, SETTLING),
            Mutex::default(),
            AtomicBool::new(false),
        );
        Team {
            server: Server::new(url, token),
            folder,
            lists,
            waited,
            is_server,
        }
    }

    fn read<T: DeserializeOwned>(&self, file: &str) -> Option<T> {
        serde_json::from_slice(&read(&self.folder.join(file), MAX_CACHED).ok()?).ok()
    }

    /// Replaces a file of the cache, which only the user can read.
    fn write(&self, file: &str, value: &impl Serialize) -> Result<(), Diagnostic> {
        let path = self.folder.join(file);
        let write = || -> io::Result<()> {
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder)?;
            #[cfg(unix)]
            fs::set_permissions(
                &self.folder,
                std::os::unix::fs::PermissionsExt::from_mode(0o700),
            )?;
            PendingFile::write(&path, &serde_json::to_vec(value)?, FileAccess::Private)?.replace()
        };
        write().map_err(|error| failed(&path, &error))
    }

    fn state(&self) -> State {
        self.read(STATE).unwrap_or_default()
    }

    /// Why the server is not asked at this moment.
    fn rest(&self) -> Option<Diagnostic> {
        let State { failed, why, .. } = self.state();
        let is_over = self.patience().is_zero();
        let why = if is_over {
            "the team's server is not asked again in this call".to_owned()
        } else {
            why
        };
        (is_over || now().abs_diff(failed) < REST).then(|| Diagnostic::new(Kind::Service, why, ""))
    }

    /// That the server is gone, and of when the list in the cache is.
    pub(crate) fn absence(&self) -> Option<String> {
        let State {
            listed,
            failed,
            why,
            ..
        } = self.state();
        let at = Timestamp::from_second(listed.try_into().ok()?)
            .ok()?
            .strftime("%Y-%m-%d %H:%M UTC");
        (failed > 0 && listed > 0).then(|| format!("{why}; the team's prompts are those of {at}"))
    }

    /// Whether the server answers at this moment.
    pub(crate) fn examine(&self) -> Diagnostic {
        let (Server { url, .. }, me) = (&self.server, self.server.address("/api/me", ""));
        match self
            .get(me, "", ANSWER_WITHIN)
            .and_then(|answer| answer.member::<String>("role"))
        {
            Err(why) => why,
            Ok(role) => {
                let message =
                    format!("the team's server {url} answers, and you have the role `{role}`");
                Diagnostic::new(Kind::Hint, message, "")
            }
        }
    }

    /// Asks for what is at an address, unless it still has this tag. Without one, that is empty.
    pub(super) fn get(
        &self,
        url: String,
        tag: &str,
        within: Duration,
    ) -> Result<Answer, Diagnostic> {
        let mut request = server::request("GET", url, &Value::Null);
        let tag = Some(tag.to_owned()).filter(|tag| !tag.is_empty());
        request
            .headers
            .extend(tag.map(|tag| ("if-none-match".to_owned(), tag)));
        self.ask(&request, within)
    }

    /// Asks the server, and remembers whether it answers. What was read with a token that is no
    /// longer valid is deleted. A token that has never worked, such as one with a typing error, is
    /// like a server that does not answer.
    pub(super) fn ask(
        &self,
        request: &ServiceRequest,
        within: Duration,
    ) -> Result<Answer, Diagnostic> {
        let started = Instant::now();
        let answered = self.server.send(request, within);
        *lock(&self.waited) += started.elapsed();
        let (mut state, token) = (self.state(), self.server.token_hash());
        let answer = match answered {
            Ok(Err(refusal)) if token.is_some() && state.token == token => {
                _ = fs::remove_dir_all(&self.folder);
                return Err(refusal);
            }
            Ok(Err(refusal)) if state.listed == 0 => return Err(refusal), // nothing is in the cache
            Ok(Err(refusal)) => Err(Diagnostic {
                kind: Kind::Service,
                ..refusal
            }),
            Ok(Ok(answer)) => Ok(answer),
            Err(why) => Err(why),
        };
        let is_failure = matches!(&answer, Err(why) if why.kind == Kind::Service);
        let is_new_token = answer.is_ok() && state.token != token;
        let is_back = state.failed > 0 && !is_failure;
        if is_failure || is_new_token || is_back {
            state.failed = if is_failure { now() } else { 0 };
            state.why = match &answer {
                Err(why) if is_failure => why.text(),
                _ => String::new(),
            };
            if answer.is_ok() {
                state.token = token;
            }
            _ = self.write(STATE, &state); // without it, the next one asks again
        }
        answer
    }

    /// How long may still be waited.
    pub(super) fn patience(&self) -> Duration {
        let is_server = self.is_server.load(Ordering::Relaxed);
        if is_server {
            WAIT
        } else {
            WAIT.saturating_sub(*lock(&self.waited))
        }
    }

    pub(super) fn list(&self) -> Arc<List> {
        self.lists.get("", |trace| {
            trace.look(&self.folder.join(LIST));
            self.read(LIST).unwrap_or_default()
        })
    }

    /// Makes the list in the cache that of the server. Its built-in prompts are not the team's.
    pub(super) fn refresh(&self, within: Duration) -> Result<(), Diagnostic> {
        let url = self.server.address("/api/prompts?mine=true", "");
        let Answer { tag, body } = self.get(url, &self.list().tag, within)?;
        if !body.is_empty() {
            let Listed {
                prompts: Entries(mut prompts),
                problems,
            } = server::read(&body)?;
            prompts.extend(problems.0);
            let list = List { tag, prompts };
            self.write(LIST, &list)?;
            let known: BTreeSet<_> = list
                .prompts
                .keys()
                .map(|name| self.folder.join(file_of(name)))
                .collect();
            let kept = fs::read_dir(self.folder.join(TEXTS))
                .into_iter()
                .flatten()
                .flatten()
                .map(|file| file.path());
            kept.filter(|file| !known.contains(file))
                .for_each(|file| _ = fs::remove_file(file));
        }
        self.write(
            STATE,
            &State {
                listed: now(),
                ..self.state()
            },
        )
    }

    /// Whether nobody has refreshed the list for so many seconds, and the last failure is long
    /// enough ago.
    fn is_due(&self, seconds: u64) -> bool {
        now().abs_diff(self.state().listed) >= seconds && self.rest().is_none()
    }

    /// Refreshes the list after a command or a hook has answered, unless another process has done
    /// so.
    pub(crate) fn refresh_if_due(&self) {
        if !self.is_server.load(Ordering::Relaxed) && self.is_due(SELDOM) {
            _ = self.refresh(self.patience()); // `absence` says why it failed
        }
    }

    /// Gets the list for a command, if there is none yet.
    ///
    /// # Errors
    /// There is still none.
    pub(crate) fn get_first_list(&self) -> Result<(), Diagnostic> {
        if self.state().listed == 0 {
            self.rest()
                .map_or_else(|| self.refresh(FIRST_WITHIN), Err)?;
            *lock(&self.waited) = Duration::ZERO;
        }
        Ok(())
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
                let change = change_between(&known, &list);
                if change != Change::default() {
                    library.changed(&change);
                    team.fetch_texts(&list);
                }
                known = list;
                drop(library);
                thread::sleep(Duration::from_secs(OFTEN));
            }
        };
        _ = thread::Builder::new().name("team".to_owned()).spawn(follow); // without it, commands refresh the list
    }

    /// Asks for the texts that are not in the cache: from far away, an answer takes longer than a
    /// call may wait.
    fn fetch_texts(&self, list: &List) {
        for entry in list.prompts.values().filter(|entry| !entry.is_remote()) {
            let kept: Option<Text> = self.read(&file_of(&entry.name));
            if kept.is_none_or(|kept| Some(Revision::of(kept.text.as_bytes())) != entry.revision) {
                _ = self.text(&entry.name, ANSWER_WITHIN); // a call that needs it asks again
            }
        }
    }

    /// The text of a prompt: that of the server or, if it does not answer in time, the one in the
    /// cache.
    pub(super) fn text(&self, name: &str, within: Duration) -> Result<Text, Diagnostic> {
        let file = file_of(name);
        let kept: Option<Text> = self.read(&file);
        let tag = kept.as_ref().map_or("", |kept| &kept.tag);
        let asked = self.rest().map_or_else(
            || self.get(self.server.address("/api/prompts/", name), tag, within),
            Err,
        );
        match (asked, kept) {
            (Ok(Answer { body, .. }), Some(kept)) if body.is_empty() => Ok(kept),
            (Err(why), kept) if why.kind == Kind::Service => kept.ok_or_else(|| Diagnostic {
                message: format!("its text is not in the cache: {}", why.message),
                ..why
            }),
            (asked, _) => {
                let Answer { tag, body } = asked?;
                let text = Text {
                    tag,
                    ..server::read(&body)?
                };
                _ = self.write(&file, &text); // the text is used in any case
                Ok(text)
            }
        }
    }
}

impl Entry {
    /// Whether only the server can expand it: a service renders it, or it is written as for another
    /// program.
    pub(super) fn is_remote(&self) -> bool {
        let is_own_file = self.source.ends_with(&format!(
            "{}.md",
            self.name.rsplit('/').next().unwrap_or_default()
        ));
        let is_own = self.layer != Layer::SERVICE.name && self.format.is_none() && is_own_file;
        !is_own && self.problem.is_none()
    }
}
