//! A long conversation while the files are edited: right answers, in order, one for each request, and no leak of memory,
//! descriptors or threads.
//!
//! A request is made up by chance, from a seed that is printed when the test fails: `SOAK_SEED=… cargo test soak` makes the
//! same requests again. Up to [`WINDOW`] of them are on their way at once. An editor, which is another thread, changes files
//! all the time: each has a counter of its states, one number up before a change and one after it, so that an answer is
//! right if it shows a state that was there at some moment between the request and the answer.
//!
//! `SOAK=1000000 cargo test --release --locked --test it soak -- --nocapture` is a long one, and prints its figures.

#![allow(clippy::print_stdout)] // what it measured

use crate::client::{Called, Client, LEGACY, memory_kib, modern};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

/// How many requests, unless `SOAK` says so.
const REQUESTS: usize = 3_000;

/// How many requests may be on their way at once.
const WINDOW: usize = 16;

/// How many KiB of memory the program may have more at the end than after the first tenth. What it caches by design is
/// bounded by constants (8 MiB of prompts, 2 MiB of a line) and is there after the first tenth, as one request of each
/// kind is; so this is for the unevenness of the allocator: a thread of the watch that is born and dies with each folder
/// that moves, and tables that happen to be at their largest when one looks. A leak of 100 bytes a request would be ten
/// times this in a million requests.
const ROOM_KIB: u64 = 8 * 1024;

/// The one that answers, the notifier, and the one that receives events from the system.
const THREADS: usize = 3;

/// How long the editor leaves the calm files alone: longer than it takes until a file may be cached
/// (`src/library/cache.rs`).
const CALM: Duration = Duration::from_secs(3);

const LARGE: usize = 1024 * 1024;

/// Longer than a line may be.
const TOO_LONG: usize = 33 * 1024 * 1024;

const COMPARE: &str = "---\ndescription: Compare options\narguments:\n  - name: options\n    required: true\n  - name: \
                       criteria\n    default: cost\n    choices: [cost, speed, safety]\n---\nCompare {{options}} by \
                       {{criteria}}.\n";

const INPUTS: [&str; 8] = [
    "solar cells",
    "x",
    "\"quoted\" and 'so'",
    "two\nlines\n",
    "{{input}} <<input>> \\",
    "W\u{f6}rter \u{1f600}\u{2028}",
    "\u{1}\u{7f}\0",
    " spaces at both ends ",
];

const LISTS: [&str; 3] = ["prompts/list_changed", "resources/list_changed", "tools/list_changed"];

/// Files that nobody edits: name, what an expansion begins with, and the separator before the input.
fn stable() -> Vec<(String, String, &'static str)> {
    let top = (0..10).map(|n| (format!("stable{n}"), format!("Stable {n}:"), " "));
    let deep = (0..10).map(|n| (format!("deep/er/stable{n}"), format!("Deep {n}."), "\n\n"));
    top.chain(deep).collect()
}

/// What the editor works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is saved again and again, in one step.
    Saved,
    /// The same with its time set back, as `rsync -t` does.
    SetBack,
    /// One byte of it is overwritten.
    Overwritten,
    /// It appears and disappears.
    Comes,
    /// It appears and disappears with its folder.
    ComesWithItsFolder,
    /// It alternates between a prompt and a broken file.
    Breaks,
    /// It goes from one name to another and back.
    Moves,
    /// It is a symlink whose target alternates between two files.
    Link,
    /// It alternates between a file and something else of that name.
    Changes,
    /// It is overwritten in place, so that a reader may see half of it.
    Torn,
}

/// How many of [`EDITED`] are calm: they are changed one at a time, and every few seconds only.
const CALM_FILES: usize = 3;

const EDITED: [(&str, Kind); 15] = [
    ("calm/saved", Kind::Saved),
    ("calm/setback", Kind::SetBack),
    ("calm/overwritten", Kind::Overwritten),
    ("saved0", Kind::Saved),
    ("saved1", Kind::Saved),
    ("deep/saved2", Kind::Saved),
    ("setback", Kind::SetBack),
    ("comes0", Kind::Comes),
    ("deep/er/comes1", Kind::Comes),
    ("season/summer/comes", Kind::ComesWithItsFolder),
    ("breaks", Kind::Breaks),
    ("moves/here", Kind::Moves),
    ("link", Kind::Link),
    ("other", Kind::Changes),
    ("torn", Kind::Torn),
];

/// The second name of a file of [`Kind::Moves`].
const ELSEWHERE: &str = "deep/er/there";

/// What a name is in one of its states.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// A prompt with this body, of always the same length.
    Prompt(String),
    Broken,
    Absent,
    /// Unknown; but there must be an answer.
    Any,
}

fn state(kind: Kind, number: u64) -> State {
    let is_even = number.is_multiple_of(2);
    let text = State::Prompt(format!("Version {number:09}: {{{{input}}}}"));
    match kind {
        Kind::Saved | Kind::SetBack | Kind::Link => text,
        Kind::Overwritten => State::Prompt(format!("Version {}: {{{{input}}}}", number % 10)),
        Kind::Comes | Kind::ComesWithItsFolder if is_even => State::Absent,
        Kind::Breaks | Kind::Changes if is_even => State::Broken,
        Kind::Moves if is_even => State::Prompt("Moves: {{input}}".to_owned()),
        Kind::Moves => State::Absent,
        Kind::Comes | Kind::ComesWithItsFolder | Kind::Breaks | Kind::Changes => text,
        Kind::Torn => State::Any,
    }
}

/// The number of the state of each edited file.
#[derive(Debug, Default)]
struct Counters(Vec<Counter>);

#[derive(Debug, Default)]
struct Counter {
    /// Of the state that is being brought about, or is there.
    begun: AtomicU64,
    /// Of the state that is there, or was a moment ago.
    done: AtomicU64,
}

impl Counters {
    fn done(&self) -> Vec<u64> {
        self.0.iter().map(|counter| counter.done.load(Ordering::SeqCst)).collect()
    }

    fn begun(&self) -> Vec<u64> {
        self.0.iter().map(|counter| counter.begun.load(Ordering::SeqCst)).collect()
    }
}

/// Pseudo-random numbers: xorshift64*, with a seed that is not 0.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn of<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }
}

/// A task for the editor.
enum Work {
    /// One change of one file.
    Edit,
    /// A report that everything before it is done.
    Rest,
}

/// The thread that edits the files.
struct Editor {
    prompts: PathBuf,
    root: PathBuf,
    counters: Arc<Counters>,
    chance: Chance,
    calm_since: Instant,
}

impl Editor {
    fn work(mut self, asked: &Receiver<Work>, rests: &SyncSender<()>) {
        for work in asked {
            match work {
                Work::Edit => {
                    let which = if self.calm_since.elapsed() > CALM {
                        self.calm_since = Instant::now();
                        self.chance.below(CALM_FILES)
                    } else {
                        CALM_FILES + self.chance.below(EDITED.len() - CALM_FILES)
                    };
                    self.edit(which);
                }
                Work::Rest => rests.send(()).unwrap(),
            }
        }
    }

    fn edit(&mut self, which: usize) {
        let ((name, kind), counters) = (EDITED[which], Arc::clone(&self.counters));
        let counter = &counters.0[which];
        let number = counter.done.load(Ordering::SeqCst) + 1;
        counter.begun.store(number, Ordering::SeqCst);
        self.bring_about(name, kind, number);
        counter.done.store(number, Ordering::SeqCst);
    }

    /// Brings a file from the previous state into this one.
    fn bring_about(&mut self, name: &str, kind: Kind, number: u64) {
        let path = self.prompts.join(format!("{name}.md"));
        let draft = self.root.join("draft");
        let text = match state(kind, number) {
            State::Prompt(text) => text,
            State::Broken => format!("---\nnever closed {number:020}"),
            State::Absent => String::new(),
            State::Any => "Torn. ".repeat(self.chance.below(20_000)),
        };
        let is_absent = state(kind, number) == State::Absent;
        match kind {
            Kind::Saved | Kind::SetBack | Kind::Breaks => {
                fs::write(&draft, text).unwrap();
                if kind == Kind::SetBack {
                    let file = fs::File::options().write(true).open(&draft).unwrap();
                    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
                }
                fs::rename(&draft, &path).unwrap();
            }
            Kind::Overwritten if number == 0 => fs::write(&path, text).unwrap(),
            Kind::Overwritten => {
                let file = fs::File::options().write(true).open(&path).unwrap();
                let at = "Version ".len();
                file.write_all_at(&text.as_bytes()[at..=at], at as u64).unwrap();
            }
            Kind::Comes if is_absent => _ = fs::remove_file(&path),
            Kind::Comes => {
                fs::write(&draft, text).unwrap();
                fs::rename(&draft, &path).unwrap();
            }
            Kind::ComesWithItsFolder => {
                let (season, away) = (self.prompts.join("season"), self.root.join("season"));
                if is_absent {
                    _ = fs::rename(&season, &away);
                } else {
                    fs::create_dir_all(away.join("summer")).unwrap();
                    fs::write(&draft, text).unwrap();
                    fs::rename(&draft, away.join("summer/comes.md")).unwrap();
                    fs::rename(&away, &season).unwrap();
                }
            }
            Kind::Moves => {
                let elsewhere = self.prompts.join(format!("{ELSEWHERE}.md"));
                if number == 0 {
                    fs::write(&path, text).unwrap();
                } else if is_absent {
                    fs::rename(&path, &elsewhere).unwrap();
                } else {
                    fs::rename(&elsewhere, &path).unwrap();
                }
            }
            Kind::Link => {
                let target = self.root.join(format!("target{}", number % 2));
                fs::write(&draft, text).unwrap();
                fs::rename(&draft, &target).unwrap();
                symlink(&target, &draft).unwrap();
                fs::rename(&draft, &path).unwrap();
            }
            Kind::Changes => {
                match number % 4 {
                    0 => mknodat(CWD, &draft, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
                    2 => symlink("nowhere", &draft).unwrap(),
                    _ => fs::write(&draft, text).unwrap(),
                }
                fs::rename(&draft, &path).unwrap();
            }
            Kind::Torn => fs::write(&path, text).unwrap(),
        }
    }
}

/// A request that is on its way.
struct Sent {
    kind: &'static str,
    /// What the answer must carry.
    id: Value,
    /// The number of the state of each file, when it was sent.
    done: Vec<u64>,
    check: Check,
}

/// What the answer must be, without `id` and `jsonrpc`.
enum Check {
    /// It is this one.
    Is(Value),
    /// It is an error of this code.
    Error(i64),
    /// It is an error of a tool, with these words.
    ToolError(&'static str),
    /// It is this expansion.
    Text(String),
    /// It is what `expand_prompt` (or `prompts/get`, `resources/read`) gives for an edited file.
    Edited(usize, String),
    /// It lists all that is listed, under this name.
    List(&'static str),
    /// Anything else.
    Other(fn(&Value) -> bool),
}

/// The conversation.
struct Soak {
    client: Client,
    chance: Chance,
    counters: Arc<Counters>,
    stable: Vec<(String, String, &'static str)>,
    on_their_way: VecDeque<Sent>,
    next_id: u64,
    /// The protocol version that was negotiated last.
    has_batches: bool,
    by_kind: BTreeMap<&'static str, usize>,
    /// The ids of the listens, and how often each was acknowledged.
    listens: BTreeMap<u64, usize>,
    notified: BTreeMap<String, usize>,
}

impl Soak {
    /// Sends a request with the check of its answer.
    fn ask(&mut self, kind: &'static str, method: &str, params: Value, check: Check) {
        let id = self.id();
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.ask_line(kind, &line.to_string(), id, check);
    }

    fn ask_line(&mut self, kind: &'static str, line: &str, id: Value, check: Check) {
        while self.on_their_way.len() >= WINDOW {
            self.take_answer();
        }
        *self.by_kind.entry(kind).or_default() += 1;
        self.on_their_way.push_back(Sent { kind, id, done: self.counters.done(), check });
        self.client.send(format!("{line}\n"));
    }

    fn id(&mut self) -> Value {
        self.next_id += 1;
        // Strings are ids as well.
        if self.next_id.is_multiple_of(7) { json!(format!("id {}", self.next_id)) } else { json!(self.next_id) }
    }

    fn take_answer(&mut self) {
        let Some(sent) = self.on_their_way.pop_front() else { return };
        let mut answer = self.client.read();
        let begun = self.counters.begun();
        if let Some(members) = answer.as_object_mut() {
            let id = members.remove("id");
            members.remove("jsonrpc");
            assert_eq!(id.as_ref(), Some(&sent.id), "{}: {}", sent.kind, shown(&answer));
        }
        let wrong = self.wrong(&sent, &answer, &begun);
        assert_eq!(wrong, None, "{}, from {:?} to {begun:?}: {}", sent.kind, sent.done, shown(&answer));
        self.take_notifications();
    }

    fn take_all(&mut self) {
        while !self.on_their_way.is_empty() {
            self.take_answer();
        }
    }

    /// Why an answer is wrong; `None` if it may be right.
    fn wrong(&self, sent: &Sent, answer: &Value, begun: &[u64]) -> Option<String> {
        let states = |which: usize| sent.done[which]..=begun[which];
        match &sent.check {
            Check::Is(want) => (answer != want).then(|| format!("not {}", shown(want))),
            Check::Error(code) => (answer["error"]["code"] != *code).then(|| format!("not {code}")),
            Check::ToolError(words) => {
                let is_right = answer["result"]["isError"] == true && shown(answer).contains(words);
                (!is_right).then(|| format!("not an error with `{words}`"))
            }
            Check::Text(text) => (text_of(answer).as_ref() != Some(text)).then(|| format!("not {text:.200}")),
            Check::Edited(which, input) => {
                let (kind, states) = (EDITED[*which].1, states(*which));
                let is_right = |state: &State| match state {
                    State::Prompt(body) => text_of(answer).is_some_and(|text| {
                        // A resource is the file itself.
                        text == body.replace("{{input}}", input) || text == *body
                    }),
                    State::Broken | State::Absent => text_of(answer).is_none(),
                    State::Any => true,
                };
                let is_error = answer.get("error").is_some() || answer["result"]["isError"] == true;
                let is_whole = is_error != text_of(answer).is_some();
                (!is_whole || !states.clone().map(|number| state(kind, number)).any(|state| is_right(&state)))
                    .then(|| format!("{} was in no such state in {states:?}", EDITED[*which].0))
            }
            Check::List(what) => self.wrong_list(what, answer, &states),
            Check::Other(is_right) => (!is_right(answer)).then(|| "not so".to_owned()),
        }
    }

    fn wrong_list(&self, what: &str, answer: &Value, states: &impl Fn(usize) -> RangeInclusive<u64>) -> Option<String> {
        let result = &answer["result"];
        if what == "tools" {
            let description = result["tools"][1]["description"].as_str().unwrap_or_default();
            let missing = self.stable.iter().find(|(name, ..)| !description.contains(&format!(":{name}")));
            return missing.map(|(name, ..)| format!("without {name}"));
        }
        let result = result.get("structuredContent").unwrap_or(result);
        let Some(entries) = result[what].as_array() else { return Some("no list".to_owned()) };
        let mut listed = BTreeMap::new();
        let mut before = "";
        for entry in entries {
            let name = entry["name"].as_str().unwrap_or_default();
            if name <= before {
                return Some(format!("{name} after {before}"));
            }
            before = name;
            listed.insert(name, entry["description"].as_str());
        }
        for (name, text, _) in &self.stable {
            // Of a file with a placeholder, the description shows it.
            if !listed.remove(&**name).flatten().is_some_and(|description| description.starts_with(&**text)) {
                return Some(format!("without {name}"));
            }
        }
        for known in ["compare", "echo", "large", "ten-thousand", "marker", ELSEWHERE] {
            listed.remove(known);
        }
        for (which, (name, kind)) in EDITED.iter().enumerate() {
            let description = listed.remove(name);
            // A folder is not read in one moment: only of what was so all the time it is known what is listed.
            let (first, last) = states(which).into_inner();
            let is_right = first != last
                || match state(*kind, first) {
                    State::Prompt(body) => description == Some(Some(&*body)),
                    State::Broken | State::Absent => description.is_none(),
                    State::Any => true,
                };
            if !is_right {
                return Some(format!("{name} in state {first} as {description:?}"));
            }
        }
        (!listed.is_empty()).then(|| format!("with {listed:?}"))
    }

    /// Counts the notifications that have arrived.
    fn take_notifications(&mut self) {
        while let Some((method, params)) = self.client.try_notification() {
            self.take_notification(method, &params);
        }
    }

    fn take_notification(&mut self, method: String, params: &Value) {
        match &*method {
            "subscriptions/acknowledged" => {
                let id = params["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64().unwrap();
                *self.listens.get_mut(&id).unwrap() += 1;
            }
            "resources/updated" => assert_eq!(*params, json!({"uri": "prompt://marker"})),
            _ => assert!(LISTS.contains(&&*method) && params.is_null(), "{method} {params}"),
        }
        *self.notified.entry(method).or_default() += 1;
    }

    /// Sends a random request, or something that gets no answer.
    fn step(&mut self) {
        let input = (*self.chance.of(&INPUTS)).to_owned();
        match self.chance.below(100) {
            0..=24 => self.expand_stable(&input),
            25..=49 => self.expand_edited(&input),
            50..=56 => self.with_arguments(),
            57..=63 => self.list(),
            64..=69 => self.complete(),
            70..=79 => self.plain(),
            80..=95 => self.invalid(),
            96..=97 => self.unanswered(),
            98 => self.converse(),
            _ => match self.chance.below(4) {
                0 => self.large(),
                1 => self.too_much(),
                _ => self.listen(),
            },
        }
    }

    fn expand_stable(&mut self, input: &str) {
        let (name, begin, between) = self.chance.of(&self.stable).clone();
        let text = format!("{begin}{between}{input}");
        let spelled = match self.chance.below(4) {
            0 => format!(":{name}"),
            1 => name.replace('/', ":"),
            2 => name.to_uppercase(),
            _ => name.clone(),
        };
        let params = json!({"name": "expand_prompt", "arguments": {"command": spelled, "input": input}});
        match self.chance.below(5) {
            0 => self.ask("modern tools/call", "tools/call", modern(params), Check::Text(text)),
            1 => {
                let params = json!({"name": spelled, "arguments": {"input": input}});
                self.ask("prompts/get", "prompts/get", params, Check::Text(text));
            }
            2 => {
                let source = if between == " " { format!("{begin} {{{{input}}}}\n") } else { format!("{begin}\n") };
                self.ask(
                    "resources/read",
                    "resources/read",
                    json!({"uri": format!("prompt://{name}")}),
                    Check::Text(source),
                );
            }
            _ => self.ask("tools/call", "tools/call", params, Check::Text(text)),
        }
    }

    fn expand_edited(&mut self, input: &str) {
        let which = self.chance.below(EDITED.len());
        let name = EDITED[which].0;
        let check = Check::Edited(which, input.to_owned());
        match self.chance.below(4) {
            0 => {
                let params = json!({"name": name, "arguments": {"input": input}});
                self.ask("prompts/get of an edited file", "prompts/get", params, check);
            }
            1 => {
                let params = json!({"uri": format!("prompt://{name}")});
                // What is no prompt may be a text all the same.
                let is_breaking = EDITED[which].1 == Kind::Breaks;
                let check = if is_breaking { Check::Other(|answer| text_of(answer).is_some()) } else { check };
                self.ask("resources/read of an edited file", "resources/read", params, check);
            }
            _ => {
                let params = json!({"name": "expand_prompt", "arguments": {"command": name, "input": input}});
                self.ask("tools/call of an edited file", "tools/call", params, check);
            }
        }
    }

    fn with_arguments(&mut self) {
        let (arguments, text) = match self.chance.below(4) {
            0 => (json!({"command": "compare", "input": "criteria=speed Rust or Go"}), "Compare Rust or Go by speed."),
            1 => {
                (json!({"command": "compare", "input": "Rust or Go criteria=safety"}), "Compare Rust or Go by safety.")
            }
            2 => (
                json!({"command": "compare", "input": "", "arguments": {"options": "a b", "criteria": 5}}),
                "Compare a b by 5.",
            ),
            _ => (
                json!({"command": "compare", "input": "", "arguments": {"options": "\u{e9}{{x}}"}}),
                "Compare \u{e9}{{x}} by cost.",
            ),
        };
        let params = json!({"name": "expand_prompt", "arguments": arguments});
        self.ask("with arguments", "tools/call", params, Check::Text(text.to_owned()));
    }

    fn list(&mut self) {
        let empty = json!({});
        match self.chance.below(6) {
            0 => self.ask("tools/list", "tools/list", empty, Check::List("tools")),
            1 => self.ask("prompts/list", "prompts/list", empty, Check::List("prompts")),
            2 => self.ask("resources/list", "resources/list", empty, Check::List("resources")),
            3 => self.ask("modern prompts/list", "prompts/list", modern(empty), Check::List("prompts")),
            _ => {
                let params = json!({"name": "list_prompts", "arguments": empty});
                self.ask("list_prompts", "tools/call", params, Check::List("prompts"));
            }
        }
    }

    fn complete(&mut self) {
        if self.chance.below(2) == 0 {
            let argument = json!({"name": "criteria", "value": "sp"});
            let params = json!({"ref": {"type": "ref/prompt", "name": "compare"}, "argument": argument});
            let completion = json!({"values": ["speed"], "total": 1, "hasMore": false});
            let result = json!({"result": {"completion": completion}});
            self.ask("completion of an argument", "completion/complete", params, Check::Is(result));
        } else {
            let argument = json!({"name": "name", "value": "deep/er/stable"});
            let params = json!({"ref": {"type": "ref/resource", "uri": "prompt://{+name}"}, "argument": argument});
            let is_right = |answer: &Value| {
                let values = answer["result"]["completion"]["values"].as_array();
                values.is_some_and(|values| (0..10).all(|n| values[n] == format!("deep/er/stable{n}")))
            };
            self.ask("completion of a name", "completion/complete", params, Check::Other(is_right));
        }
    }

    fn plain(&mut self) {
        match self.chance.below(5) {
            0 => {
                let is_right = |answer: &Value| answer["result"]["resultType"] == "complete";
                self.ask("server/discover", "server/discover", modern(json!({})), Check::Other(is_right));
            }
            1 => {
                let is_right = |answer: &Value| answer["result"]["resourceTemplates"][0]["name"] == "prompt";
                self.ask("templates", "resources/templates/list", json!({}), Check::Other(is_right));
            }
            2 => self.ask("subscribe", "resources/subscribe", json!({"uri": "prompt://stable1"}), Check::Is(nothing())),
            3 => {
                let params = json!({"uri": "prompt://stable1"});
                self.ask("unsubscribe", "resources/unsubscribe", params, Check::Is(nothing()));
            }
            _ => self.ask("ping", "ping", json!({}), Check::Is(nothing())),
        }
    }

    fn invalid(&mut self) {
        let call = |arguments: Value| json!({"name": "expand_prompt", "arguments": arguments});
        match self.chance.below(16) {
            0 => self.ask_line("no JSON", "{\"jsonrpc\":\"2.0\",\"id\":1,oops", Value::Null, Check::Error(-32700)),
            1 => self.ask_line("no JSON", "]", Value::Null, Check::Error(-32700)),
            2 => self.ask_line("no message", "[]", Value::Null, Check::Error(-32600)),
            3 => self.ask_line("no message", "\"ping\"", Value::Null, Check::Error(-32600)),
            4 => {
                let line = "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}";
                self.ask_line("no id", line, Value::Null, Check::Error(-32600));
            }
            5 => {
                let line = "{\"id\":\"x\",\"method\":\"ping\"}";
                self.ask_line("no version", line, json!("x"), Check::Error(-32600));
            }
            6 => self.ask("unknown method", "prompts/Get", json!({}), Check::Error(-32601)),
            7 => self.ask("removed method", "ping", modern(json!({})), Check::Error(-32601)),
            8 => self.ask("unknown tool", "tools/call", json!({"name": "expnd"}), Check::Error(-32601)),
            9 => self.ask("wrong type", "tools/call", call(json!({"command": 5, "input": "x"})), Check::Error(-32602)),
            10 => self.ask("wrong type", "tools/call", call(json!([])), Check::Error(-32602)),
            11 => self.ask("wrong type", "prompts/list", json!({"cursor": 7}), Check::Error(-32602)),
            12 => self.ask("unknown name", "prompts/get", json!({"name": "nope"}), Check::Error(-32602)),
            13 => {
                self.ask("unknown name", "resources/read", json!({"uri": "prompt://nope"}), Check::Error(-32002));
            }
            14 => {
                let params = call(json!({"command": "stabel1", "input": "x"}));
                self.ask("unknown name", "tools/call", params, Check::ToolError("stable1`"));
            }
            _ => {
                let params = call(json!({"command": "../stable1", "input": "x"}));
                self.ask("unknown name", "tools/call", params, Check::ToolError("No prompt named"));
            }
        }
    }

    /// Sends something that gets no answer.
    fn unanswered(&mut self) {
        self.client.send(match self.chance.below(5) {
            0 => "\n \r\n",
            1 => "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n",
            2 => "{\"jsonrpc\":\"2.0\",\"method\":\"nope\",\"params\":[1,2,3]}\n",
            3 => "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
            _ => "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}\n",
        });
    }

    /// Begins the conversation again, perhaps with another protocol version; or sends a batch, which only one version has.
    fn converse(&mut self) {
        if self.chance.below(2) == 0 {
            self.has_batches = self.chance.below(2) == 0;
            self.initialize();
            return;
        }
        let call = json!({"name": "expand_prompt", "arguments": {"command": "stable3", "input": "x"}});
        let batch = json!([
            {"jsonrpc": "2.0", "id": "a", "method": "ping"},
            {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": call},
            {"jsonrpc": "2.0", "method": "nope"},
            {"jsonrpc": "2.0", "id": "c", "method": "nope"},
            5
        ]);
        let is_right = |answer: &Value| {
            let ids: Vec<&Value> = answer.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
            ids == ["a", "b", "c"].map(Value::from).iter().chain([&Value::Null]).collect::<Vec<_>>()
                && text_of(&answer[1]).as_deref() == Some("Stable 3: x")
        };
        let check = if self.has_batches { Check::Other(is_right) } else { Check::Error(-32600) };
        self.ask_line("batch", &batch.to_string(), Value::Null, check);
    }

    fn initialize(&mut self) {
        let version = if self.has_batches { "2025-03-26" } else { LEGACY };
        let is_right = |answer: &Value| answer["result"]["serverInfo"]["name"] == "prompt-expander";
        self.ask("initialize", "initialize", json!({"protocolVersion": version}), Check::Other(is_right));
        self.client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    }

    /// A listen is acknowledged by a notification, and ends when it is cancelled.
    fn listen(&mut self) {
        self.next_id += 1;
        let id = self.next_id;
        let params = modern(json!({"notifications": {"resourceSubscriptions": ["prompt://never"]}}));
        let listen = json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        self.listens.insert(id, 0);
        *self.by_kind.entry("subscriptions/listen").or_default() += 1;
        self.client.send(format!("{listen}\n{cancelled}\n"));
    }

    fn large(&mut self) {
        let piece = *self.chance.of(&["x", "\"", "\u{e9}", "\n", "a word "]);
        let input = piece.repeat(LARGE / piece.len());
        let params = json!({"name": "expand_prompt", "arguments": {"command": "echo", "input": input}});
        self.ask("1 MiB of input", "tools/call", params, Check::Text(input));
    }

    fn too_much(&mut self) {
        let input = "x".repeat(100_000);
        let params = json!({"name": "expand_prompt", "arguments": {"command": "ten-thousand", "input": input}});
        self.ask("1 GB of text", "tools/call", params, Check::ToolError("it would become 1000000000 bytes long"));
    }

    /// One request of each kind that takes much memory.
    fn most(&mut self) {
        self.large();
        self.too_much();
        self.ask_line("line beyond the limit", &"x".repeat(TOO_LONG), Value::Null, Check::Error(-32600));
        let params = json!({"name": "expand_prompt", "arguments": {"command": "large", "input": "x"}});
        let text = format!("{}x", "Large. ".repeat(LARGE / 8));
        self.ask("1 MiB of prompt", "tools/call", params, Check::Text(text));
    }

    /// Waits until all is quiet: the editor rests, and the last change was announced.
    fn settle(&mut self, round: usize, work: &SyncSender<Work>, rests: &Receiver<()>) {
        work.send(Work::Rest).unwrap();
        rests.recv().unwrap();
        self.take_all();
        let marker = json!({"uri": "prompt://marker"});
        self.ask("subscribe", "resources/subscribe", marker.clone(), Check::Is(nothing()));
        self.take_all();
        self.client.save("marker.md", format!("Marker {round}"));
        loop {
            let (method, params) = self.client.notification();
            let is_marker = method == "resources/updated";
            self.take_notification(method, &params);
            if is_marker {
                break;
            }
        }
        self.ask("unsubscribe", "resources/unsubscribe", marker, Check::Is(nothing()));
        self.take_all();
        // A watch that was replaced a moment ago may not be gone yet.
        let patience = Instant::now();
        while self.client.threads() > THREADS {
            assert!(patience.elapsed() < Duration::from_secs(60), "{} threads", self.client.threads());
        }
    }

    /// What may leak: memory in KiB, descriptors, threads.
    fn held(&mut self) -> (u64, usize, usize) {
        let pid = self.client.pid();
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        (memory_kib(pid, "VmRSS"), descriptors, self.client.threads())
    }
}

fn nothing() -> Value {
    json!({"result": {}})
}

/// The text of an expansion, or of a file, whichever way it was asked for.
fn text_of(answer: &Value) -> Option<String> {
    let result = &answer["result"];
    let text = if result.get("structuredContent").is_some() {
        if result.get("resultType").is_none() {
            return Some(Called(result.clone()).structured()["prompt"].as_str()?.to_owned());
        }
        &result["structuredContent"]["prompt"]
    } else if result.get("messages").is_some() {
        &result["messages"][0]["content"]["text"]
    } else {
        &result["contents"][0]["text"]
    };
    text.as_str().map(str::to_owned)
}

/// The beginning of an answer.
fn shown(answer: &Value) -> String {
    answer.to_string().chars().take(2000).collect()
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|number| number.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

#[test]
fn every_request_of_a_long_conversation_is_answered_correctly_and_nothing_leaks() {
    let requests = number_of("SOAK").map_or(REQUESTS, |number| number as usize).max(100);
    let seed = number_of("SOAK_SEED").unwrap_or_else(|| RandomState::new().hash_one(())) | 1;
    println!("SOAK={requests} SOAK_SEED={seed}");
    let started = Instant::now();

    // The allocator returns memory that it would otherwise keep, so that the measurement shows what the program uses.
    let client =
        Client::new().variable("MALLOC_TRIM_THRESHOLD_", "131072").variable("MALLOC_MMAP_THRESHOLD_", "131072");
    for (name, text, between) in stable() {
        let placeholder = if between == " " { " {{input}}" } else { "" };
        client.write(&format!("{name}.md"), format!("{text}{placeholder}\n"));
    }
    client.write("compare.md", COMPARE);
    client.write("echo.md", "---\ndescription: Echo\n---\n{{input}}\n");
    client.write("large.md", format!("---\ndescription: Large\n---\n{}{{{{input}}}}\n", "Large. ".repeat(LARGE / 8)));
    client.write("ten-thousand.md", format!("---\ndescription: Many\n---\n{}\n", "{{input}}".repeat(10_000)));
    client.write("marker.md", "Marker");
    for folder in ["calm", "moves"] {
        fs::create_dir(client.prompts().join(folder)).unwrap();
    }
    let counters = Arc::new(Counters(EDITED.iter().map(|_| Counter::default()).collect()));
    let mut editor = Editor {
        prompts: client.prompts(),
        root: client.root().to_owned(),
        counters: Arc::clone(&counters),
        chance: Chance(seed.rotate_left(32)),
        calm_since: started,
    };
    for (name, kind) in EDITED {
        editor.bring_about(name, kind, 0);
    }
    let mut soak = Soak {
        client,
        chance: Chance(seed),
        counters,
        stable: stable(),
        on_their_way: VecDeque::new(),
        next_id: 0,
        has_batches: false,
        by_kind: BTreeMap::new(),
        listens: BTreeMap::new(),
        notified: BTreeMap::new(),
    };
    soak.initialize();
    soak.ask("prompts/list", "prompts/list", json!({}), Check::List("prompts"));

    let (work, asked) = sync_channel(WINDOW);
    let (resting, rests) = sync_channel(0);
    let editing = std::thread::spawn(move || editor.work(&asked, &resting));
    soak.settle(0, &work, &rests);
    let mut edits = 0;
    let mut held = Vec::new();
    for tenth in 1..=10 {
        if tenth % 3 == 1 {
            soak.most();
        }
        for _ in 0..requests / 10 {
            soak.step();
            // It works as fast as it can, but does not fall behind.
            edits += usize::from(work.try_send(Work::Edit).is_ok());
        }
        // The first and the last are compared.
        if tenth == 1 || tenth == 10 {
            soak.settle(tenth, &work, &rests);
        }
        let now = soak.held();
        println!("{tenth}/10: {} KiB, {} descriptors, {} threads, {:.1?}", now.0, now.1, now.2, started.elapsed());
        held.push(now);
    }
    drop(work);
    editing.join().unwrap();

    println!("{edits} edits, notifications {:?}, {} listens", soak.notified, soak.listens.len());
    println!("{:#?}", soak.by_kind);
    let unacknowledged: BTreeSet<_> = soak.listens.iter().filter(|(_, count)| **count != 1).collect();
    assert!(unacknowledged.is_empty(), "{unacknowledged:?}");
    for list in LISTS {
        let count = soak.notified.get(list).copied().unwrap_or_default();
        assert!((1..=edits + 10).contains(&count), "{count} notifications of {list}");
    }
    let (first, last) = (held[0], held[9]);
    assert!(last.0 <= first.0 + ROOM_KIB, "{} KiB, and {} at the end", first.0, last.0);
    let (has_more_open, has_more_threads) = (last.1 > first.1, last.2 > first.2);
    assert!(!has_more_open && !has_more_threads, "{last:?} in the end, {first:?} after the first tenth");
}
