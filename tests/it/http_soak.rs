//! Many clients over HTTP while the files are edited: nothing is lost, doubled or stale, and nothing leaks.
//!
//! Each edited file has a counter of its versions, one number up before an edit and one after it: an answer is right if it
//! shows a version that was there at some moment between the request and the answer. The changes that are sent on the
//! streams of sessions are numbered, so a client that receives each number once has lost and doubled none.
//!
//! `SOAK_SECONDS=3600 cargo test --release --locked --test it http_soak -- --nocapture` is a long one, and prints its figures.

#![allow(clippy::print_stdout)] // what it measured

use crate::client::{Client, LEGACY, memory_kib};
use crate::http_client::{Endpoint, Events, HttpServer, USUAL, request};
use crate::soak::Chance;
use crate::websocket::WebSocket;
use serde_json::{Value, json};
use std::array;
use std::fs;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// How long, unless `SOAK_SECONDS` says so.
const SECONDS: u64 = 5;

/// How many clients there are of each kind.
const ASKING: usize = 8;
const STREAMS: usize = 4;
const LISTENS: usize = 4;
const CONVERSATIONS: usize = 4;
const SLOW: usize = 2;

/// How many files are edited, and how many of them so seldom that they are cached meanwhile.
const FILES: usize = 10;
const CALM_FILES: usize = 3;
const CALM: Duration = Duration::from_secs(3);

/// How long a large input is. The answer, which has it twice, is longer than what a connection holds on its way.
const LARGE: usize = 4 * 1024 * 1024;

/// What a client of one kind does. The number tells it from the others of its kind.
type Kind = fn(&Soak, Endpoint, usize);

/// How many KiB of memory the program may have more at the end than after the first third: the answers that slow readers do not
/// take, and the unevenness of the allocator, of which each thread has its own part.
const ROOM_KIB: u64 = 48 * 1024;

/// What the threads share.
#[derive(Default)]
struct Soak {
    /// The version of each file that is being written, or is there.
    begun: [AtomicU64; FILES],
    /// The version that is there, or was a moment ago.
    done: [AtomicU64; FILES],
    is_over: AtomicBool,
    answers: AtomicU64,
    reconnects: AtomicU64,
    /// How many notifications all have received.
    received: AtomicU64,
    /// The number of the last change that each stream has received.
    last_changes: [AtomicU64; STREAMS],
    /// How many updates of the marker each listen has received.
    markers: [AtomicU64; LISTENS],
    /// The same of each conversation over a WebSocket.
    markers_of_conversations: [AtomicU64; CONVERSATIONS],
}

fn text(version: u64) -> String {
    format!("---\ndescription: Version {version}\n---\nVersion {version}: {{{{input}}}}\n")
}

/// The version that a text shows.
fn version(text: &str) -> u64 {
    let shown = text.strip_prefix("Version ").unwrap_or_else(|| panic!("{text}"));
    shown.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Ends all when it is dropped because of a panic.
struct EndAfterPanic<'s>(&'s Soak);

impl Drop for EndAfterPanic<'_> {
    fn drop(&mut self) {
        self.0.is_over.fetch_or(thread::panicking(), SeqCst);
    }
}

impl Soak {
    fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    fn edit(&self, home: &Client, file: usize) {
        let version = self.done[file].load(SeqCst) + 1;
        self.begun[file].store(version, SeqCst);
        home.save(&format!("edited{file}.md"), text(version));
        self.done[file].store(version, SeqCst);
    }

    /// A client that requests this and that, and looks whether the answers are right.
    fn ask(&self, endpoint: Endpoint, which: usize) {
        let mut chance = Chance(which as u64 + 1);
        let mut connection = endpoint.connect();
        let mut session = endpoint.initialize(LEGACY);
        for id in 0.. {
            if self.is_over() {
                return;
            }
            let file = chance.below(FILES);
            let name = format!("edited{file}");
            let expand = json!({"name": "expand_prompt", "arguments": {"command": name, "input": "x"}});
            let (method, params) = match chance.below(12) {
                0..5 => ("tools/call", expand),
                5 => ("tools/call", json!({"name": "list_prompts", "arguments": {}})),
                6 => ("prompts/list", json!({})),
                7 => ("resources/list", json!({})),
                8 => ("prompts/get", json!({"name": name, "arguments": {"input": "x"}})),
                9 => ("resources/read", json!({"uri": format!("prompt://{name}")})),
                // Without waiting for the answer.
                10 => {
                    connection.write("POST", "/mcp", &USUAL, request(id, "tools/call", expand));
                    connection = endpoint.connect();
                    self.reconnects.fetch_add(1, SeqCst);
                    continue;
                }
                _ => {
                    let answer = endpoint.send("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], "");
                    assert_eq!(answer.status, 204, "{}", answer.text());
                    session = endpoint.initialize(LEGACY);
                    continue;
                }
            };
            let done: [u64; FILES] = array::from_fn(|file| self.done[file].load(SeqCst));
            if chance.below(2) == 0 {
                connection.write_modern(&id.to_string(), method, params, &[]);
            } else {
                let headers = [&USUAL[..], &[("Mcp-Session-Id", session.as_str())]].concat();
                connection.write("POST", "/mcp", &headers, request(id.to_string(), method, params));
            }
            let answer = connection.read().json();
            let versions: [_; FILES] = array::from_fn(|file| done[file]..=self.begun[file].load(SeqCst));
            assert_eq!(answer["id"], id.to_string(), "{answer}");
            check(&answer["result"], file, &versions);
            self.answers.fetch_add(1, SeqCst);
        }
    }

    /// A client that receives the notifications of its session, and is away now and then.
    fn stream(&self, endpoint: Endpoint, which: usize) {
        let mut chance = Chance(which as u64 + 100);
        let session = endpoint.initialize(LEGACY);
        endpoint.initialized(&session);
        let mut events = endpoint.stream(&session);
        let mut last = number(&events.last_id);
        let mut is_first = true;
        while let Some(now) = self.next_change(&mut events) {
            // A change in the second in which the session was made may be announced again when its stream opens.
            let is_repeated = is_first && now == last;
            assert!(is_repeated || now == last + 1, "a change is lost or doubled: {now} after {last}");
            is_first = false;
            last = now;
            self.received.fetch_add(1, SeqCst);
            if chance.below(10) == 0 {
                let id = events.last_id.clone();
                drop(events);
                thread::sleep(Duration::from_millis(chance.below(2_000) as u64));
                events = endpoint.stream_with(&session, &[("Last-Event-ID", &id)]);
                self.reconnects.fetch_add(1, SeqCst);
                // What was missed is announced once.
                let now = number(&events.last_id);
                if now != last {
                    assert_eq!(self.next_change(&mut events).unwrap_or(now), now);
                }
                last = now;
            }
            self.last_changes[which].store(last, SeqCst);
        }
    }

    /// Reads events up to the last one of a change, and gives its number; `None` once all is over.
    fn next_change(&self, events: &mut Events) -> Option<u64> {
        while !self.is_over() {
            let event = events.next().expect("the stream does not end");
            if !event.id.is_empty() {
                assert!(event.data.contains("list_changed"), "{event:?}");
                return Some(number(&event.id));
            }
        }
        None
    }

    /// A modern client that listens.
    fn listen(&self, endpoint: Endpoint, which: usize) {
        let wanted = json!({"promptsListChanged": true, "resourceSubscriptions": ["prompt://marker"]});
        let mut events = endpoint.listen("1", wanted);
        while !self.is_over() {
            let message = events.message();
            self.received.fetch_add(1, SeqCst);
            if message["method"] == "notifications/resources/updated" {
                assert_eq!(message["params"]["uri"], "prompt://marker", "{message}");
                self.markers[which].fetch_add(1, SeqCst);
            }
        }
    }

    /// A client with a WebSocket, which requests expansions and receives notifications in between. Every other one leaves and comes
    /// back now and then; the others are subscribed all the time.
    fn converse(&self, endpoint: Endpoint, which: usize) {
        let mut chance = Chance(which as u64 + 200);
        let leaves = which % 2 == 1;
        let mut socket = self.open_conversation(endpoint, which);
        while !self.is_over() {
            let file = chance.below(FILES);
            let done = self.done[file].load(SeqCst);
            let arguments = json!({"command": format!("edited{file}"), "input": "x"});
            let id = socket.send_request("tools/call", json!({"name": "expand_prompt", "arguments": arguments}));
            let answer = self.answer(&mut socket, which, id);
            let shown = version(answer["result"]["structuredContent"]["prompt"].as_str().unwrap());
            let begun = self.begun[file].load(SeqCst);
            assert!((done..=begun).contains(&shown), "version {shown} is not one of {done} to {begun}");
            self.answers.fetch_add(1, SeqCst);
            if leaves && chance.below(1_000) == 0 {
                socket = self.open_conversation(endpoint, which);
                self.reconnects.fetch_add(1, SeqCst);
            }
        }
    }

    fn open_conversation(&self, endpoint: Endpoint, which: usize) -> WebSocket {
        let mut socket = WebSocket::open(&endpoint.address.to_string(), "");
        socket.initialize();
        let id = socket.send_request("resources/subscribe", json!({"uri": "prompt://marker"}));
        self.answer(&mut socket, which, id);
        socket
    }

    /// Reads the answer to a request, and the notifications before it.
    fn answer(&self, socket: &mut WebSocket, which: usize, id: u64) -> Value {
        loop {
            let message = socket.message();
            if message.get("method").is_none() {
                assert_eq!(message["id"], id, "{message}");
                return message;
            }
            self.received.fetch_add(1, SeqCst);
            if message["method"] == "notifications/resources/updated" {
                assert_eq!(message["params"]["uri"], "prompt://marker", "{message}");
                self.markers_of_conversations[which].fetch_add(1, SeqCst);
            }
        }
    }

    /// A client that requests much, reads little of it and goes away.
    fn read_slowly(&self, endpoint: Endpoint, _: usize) {
        while !self.is_over() {
            let input = "x".repeat(LARGE);
            let params = json!({"name": "expand_prompt", "arguments": {"command": "marker", "input": input}});
            let mut connection = endpoint.connect();
            connection.write("POST", "/mcp", &USUAL, request(1, "tools/call", params));
            for _ in 0..30 {
                assert_eq!(connection.read_raw(1_000).len(), 1_000);
                thread::sleep(Duration::from_millis(100));
            }
            self.reconnects.fetch_add(1, SeqCst);
        }
    }
}

/// The number of a change in the id of an event.
fn number(id: &str) -> u64 {
    id.rsplit_once('-').unwrap().1.parse().unwrap()
}

/// Looks whether an answer about a file, or a list, shows versions that were there while it was made.
fn check(result: &Value, file: usize, versions: &[RangeInclusive<u64>; FILES]) {
    let shows = |file: usize, text: &Value| {
        let shown = version(text.as_str().unwrap_or_else(|| panic!("{result}")));
        assert!(versions[file].contains(&shown), "version {shown} is not one of {:?}: {result}", versions[file]);
    };
    let listed = [&result["prompts"], &result["structuredContent"]["prompts"]].into_iter().find_map(Value::as_array);
    if let Some(listed) = listed {
        for file in 0..FILES {
            let mut entries = listed.iter().filter(|entry| entry["name"] == format!("edited{file}"));
            shows(file, &entries.next().unwrap_or_else(|| panic!("{result}"))["description"]);
            assert!(entries.next().is_none(), "{result}");
        }
    } else if let Some(resources) = result["resources"].as_array() {
        let edited = resources.iter().filter(|entry| entry["name"].as_str().unwrap().starts_with("edited"));
        assert_eq!(edited.count(), FILES, "{result}");
    } else if result.get("structuredContent").is_some() {
        shows(file, &result["structuredContent"]["prompt"]);
    } else if result.get("messages").is_some() {
        shows(file, &result["messages"][0]["content"]["text"]);
    } else {
        let text = result["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
        shows(file, &text.rsplit("---\n").next().unwrap().into());
    }
}

/// Waits until something is so.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn many_clients_get_right_answers_and_all_notifications_while_files_are_edited_and_nothing_leaks() {
    let seconds = std::env::var("SOAK_SECONDS").map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let home = Client::new().prompt("marker.md", "Marker 0");
    (0..FILES).for_each(|file| home.write(&format!("edited{file}.md"), text(0)));
    let server = HttpServer::start(home);
    let (soak, endpoint) = (Soak::default(), *server);
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    let descriptors_before = descriptors();
    thread::scope(|scope| {
        let soak = &soak;
        for which in 0..ASKING.max(STREAMS).max(LISTENS).max(CONVERSATIONS) {
            let spawn = |client: Kind| {
                scope.spawn(move || {
                    let _end = EndAfterPanic(soak);
                    client(soak, endpoint, which);
                });
            };
            let kinds: [(usize, Kind); 5] = [
                (ASKING, Soak::ask),
                (STREAMS, Soak::stream),
                (LISTENS, Soak::listen),
                (CONVERSATIONS, Soak::converse),
                (SLOW, Soak::read_slowly),
            ];
            kinds.into_iter().filter(|(count, _)| which < *count).for_each(|(_, client)| spawn(client));
        }
        let _end = EndAfterPanic(soak);

        let started = Instant::now();
        let (mut chance, mut calm_since, mut edits, mut rounds) = (Chance(7), Instant::now(), 0_u64, 0_u64);
        let (mut first_memory, mut last_printed) = (0, 0);
        while !soak.is_over() && (started.elapsed() < Duration::from_secs(seconds) || rounds < 2) {
            for _ in 0..20 {
                let is_calm_due = calm_since.elapsed() > CALM;
                let file = if is_calm_due {
                    calm_since = Instant::now();
                    chance.below(CALM_FILES)
                } else {
                    CALM_FILES + chance.below(FILES - CALM_FILES)
                };
                soak.edit(&server.home, file);
                edits += 1;
                thread::sleep(Duration::from_millis(chance.below(100) as u64));
            }
            // One edit that all must hear of, each of them once.
            rounds += 1;
            server.home.save("marker.md", format!("Marker {rounds}"));
            wait_until("each listen has the update", || soak.markers.iter().all(|count| count.load(SeqCst) >= rounds));
            let subscribed = || soak.markers_of_conversations.iter().step_by(2).map(|count| count.load(SeqCst));
            wait_until("each conversation has the update", || subscribed().all(|count| count >= rounds));
            assert!(soak.markers.iter().all(|count| count.load(SeqCst) == rounds), "an update is doubled");
            assert!(subscribed().all(|count| count == rounds), "an update is doubled");
            let session = endpoint.initialize(LEGACY);
            endpoint.initialized(&session);
            let last = number(&endpoint.stream(&session).last_id);
            wait_until("each stream has the change", || {
                soak.last_changes.iter().all(|change| change.load(SeqCst) >= last)
            });
            let memory = memory_kib(server.id(), "VmRSS");
            if started.elapsed().as_secs() * 3 >= seconds && first_memory == 0 {
                first_memory = memory;
            }
            let minute = started.elapsed().as_secs() / 60;
            if minute > last_printed {
                last_printed = minute;
                println!("{minute} min: {memory} KiB, {} answers", soak.answers.load(SeqCst));
            }
        }
        soak.is_over.store(true, SeqCst);
        // Those who wait for a notification notice the end.
        soak.edit(&server.home, FILES - 1);
        server.home.save("marker.md", "The end");
        let memory = memory_kib(server.id(), "VmRSS");
        let [answers, reconnects, received] =
            [&soak.answers, &soak.reconnects, &soak.received].map(|count| count.load(SeqCst));
        println!(
            "{seconds} s: {answers} answers, {edits} edits, {received} notifications, {reconnects} reconnects, \
             {first_memory} KiB after the first third, {memory} KiB at the end"
        );
        assert!(memory <= first_memory + ROOM_KIB, "{first_memory} KiB after the first third, {memory} KiB at the end");
    });
    wait_until("the connections are closed", || descriptors() <= descriptors_before);
}
