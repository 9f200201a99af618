//! What takes an hour each night, and a few seconds otherwise: right answers while files are
//! edited, over both transports, without a leak; and writes of eight writers to two servers that
//! are killed at any moment.
//!
//! `NIGHTLY_SECONDS=3600 cargo test --release --locked --test it nightly`

use crate::client::{Client, LEGACY, memory_kib, modern};
use crate::http_client::{Endpoint, HttpServer, request, write_secret};
use prompt_expander::prompt::{Name, Prompt, Revision};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long it takes, unless `NIGHTLY_SECONDS` says so.
const SHORT: u64 = 3;

fn seconds() -> u64 {
    std::env::var("NIGHTLY_SECONDS").map_or(SHORT, |seconds| seconds.parse().unwrap())
}

/// Pseudo-random numbers: xorshift64*, with a seed that is not 0.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// How many files are edited: each in one of four ways, the first four so seldom that they are
/// cached meanwhile.
const FILES: usize = 12;
const SELDOM: usize = 4;
const CALM: Duration = Duration::from_secs(3);

/// How many KiB of memory, descriptors and threads the program may have more at the end than after
/// the first third.
const ROOM: [u64; 3] = [48 * 1024, 16, 8];

/// The number of the state of each file, one number up before an edit and one after it: an answer
/// is right if it shows a state that was there at some moment between the request and the answer.
#[derive(Default)]
struct Edited {
    begun: [AtomicU64; FILES],
    done: [AtomicU64; FILES],
    is_over: AtomicBool,
}

/// What a file has in a state; `None`: it is not there.
fn text(file: usize, number: u64) -> Option<String> {
    let is_there = file % 4 != 2 || number.is_multiple_of(2);
    is_there.then(|| format!("Version {}: {{{{input}}}}", number % 10))
}

impl Edited {
    fn edit(&self, home: &Client, file: usize) {
        let number = self.done[file].load(Ordering::SeqCst) + 1;
        self.begun[file].store(number, Ordering::SeqCst);
        let (name, text) = (format!("edited{file}.md"), text(file, number));
        let path = home.prompts().join(&name);
        match (file % 4, text) {
            (_, None) => _ = fs::remove_file(path),
            (1, Some(_)) if number > 1 => {
                let file = fs::File::options().write(true).open(path).unwrap();
                file.write_all_at(
                    (number % 10).to_string().as_bytes(),
                    "Version ".len() as u64,
                )
                .unwrap();
            }
            (3, Some(text)) => {
                let (target, link) = (
                    home.path(format!("target{file}-{}", number % 2)),
                    home.path("link"),
                );
                let draft = home.put("draft", text);
                fs::rename(draft, &target).unwrap();
                symlink(&target, &link).unwrap();
                fs::rename(link, path).unwrap();
            }
            (_, Some(text)) => home.save(&name, text),
        }
        self.done[file].store(number, Ordering::SeqCst);
    }

    fn done(&self, file: usize) -> u64 {
        self.done[file].load(Ordering::SeqCst)
    }

    /// Checks the answer to a request that was sent when the file had this state.
    fn check(&self, file: usize, done: u64, answer: &Value) {
        let states: RangeInclusive<u64> = done..=self.begun[file].load(Ordering::SeqCst);
        let shown = answer["result"]["structuredContent"]["prompt"].as_str();
        let is_right = states
            .clone()
            .any(|number| match (text(file, number), shown) {
                (Some(text), Some(shown)) => text.replace("{{input}}", "x") == shown,
                (None, None) => answer["result"]["isError"] == true,
                _ => false,
            });
        assert!(is_right, "edited{file} in {states:?}: {answer}");
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn ask_over_stdio(&self, prompts: &Path) {
        let mut chance = Chance(5);
        let mut client =
            Client::new().arguments(["--no-builtin", "--prompts", prompts.to_str().unwrap()]);
        client.initialize(LEGACY);
        while !self.is_over() {
            let file = chance.below(FILES);
            let done = self.done(file);
            let name = format!("edited{file}");
            match chance.below(20) {
                0 => assert!(
                    client
                        .request("prompts/list", json!({}))
                        .get("result")
                        .is_some()
                ),
                1 => assert!(
                    client
                        .request("resources/list", json!({}))
                        .get("result")
                        .is_some()
                ),
                2 => _ = client.list(),
                _ => {
                    let called = client.expand(&name, "x");
                    self.check(file, done, &json!({ "result": called.0 }));
                }
            }
        }
        client.ignore_notifications();
    }

    fn ask_over_http(&self, server: Endpoint, seed: u64) {
        let mut chance = Chance(seed);
        let mut connection = server.connect();
        for id in 0.. {
            if self.is_over() {
                return;
            }
            let file = chance.below(FILES);
            let done = self.done(file);
            let expand = json!({"name": "expand_prompt", "arguments": {"command": format!("edited{file}"), "input": "x"}});
            connection.write_modern(&id.to_string(), "tools/call", expand, &[]);
            if chance.below(50) == 0 {
                connection = server.connect(); // without waiting for the answer
                continue;
            }
            self.check(file, done, &connection.read().json());
        }
    }
}

/// Ends all when it is dropped because of a panic.
struct EndAfterPanic<'e>(&'e Edited);

impl Drop for EndAfterPanic<'_> {
    fn drop(&mut self) {
        self.0
            .is_over
            .fetch_or(thread::panicking(), Ordering::SeqCst);
    }
}

#[test]
fn clients_get_right_answers_while_files_are_edited_and_nothing_leaks() {
    let edited = Edited::default();
    let home = Client::new();
    (0..FILES).for_each(|file| edited.edit(&home, file));
    (0..FILES).for_each(|file| edited.edit(&home, file));
    let server = HttpServer::start(home);
    let held = || {
        let count = |what: &str| {
            fs::read_dir(format!("/proc/{}/{what}", server.id()))
                .unwrap()
                .count() as u64
        };
        [memory_kib(server.id(), "VmRSS"), count("fd"), count("task")]
    };
    let session = server.initialize(LEGACY);
    server.initialized(&session);
    let mut stream = server.stream(&session);
    thread::scope(|scope| {
        let (edited, server, endpoint) = (&edited, &server, *server);
        let prompts = server.home.prompts();
        scope.spawn(move || {
            let _end = EndAfterPanic(edited);
            edited.ask_over_stdio(&prompts);
        });
        for seed in 1..=4 {
            scope.spawn(move || {
                let _end = EndAfterPanic(edited);
                edited.ask_over_http(endpoint, seed);
            });
        }
        let _end = EndAfterPanic(edited);
        let (started, mut chance, mut calm_since, mut first) =
            (Instant::now(), Chance(7), Instant::now(), None);
        while !edited.is_over() && started.elapsed() < Duration::from_secs(seconds()) {
            let is_calm_over = calm_since.elapsed() > CALM;
            let file = if is_calm_over {
                chance.below(SELDOM)
            } else {
                SELDOM + chance.below(FILES - SELDOM)
            };
            if is_calm_over {
                calm_since = Instant::now();
            }
            edited.edit(&server.home, file);
            stream.message(); // each edit is heard of
            if started.elapsed() > Duration::from_secs(seconds() / 3) {
                first.get_or_insert_with(held);
            }
        }
        for ((first, last), room) in first.unwrap().into_iter().zip(held()).zip(ROOM) {
            assert!(
                last <= first + room,
                "{last} is more than {first} and {room}"
            );
        }
        edited.is_over.store(true, Ordering::SeqCst);
    });
}

const TOKEN: &str = "the-token-of-eight-writers-who-write-all-night";
const WRITERS: usize = 8;
const PROMPTS: usize = 40;

/// A write that a server has acknowledged.
struct Acknowledged {
    name: String,
    id: String,
    revision: String,
    is_delete: bool,
}

/// The addresses of the servers, which change when one is started again.
type Addresses = Mutex<[SocketAddr; 2]>;

fn start(prompts: &Path) -> HttpServer {
    let prompts = prompts.to_str().unwrap();
    let home =
        Client::new().arguments(["--no-builtin", "--prompts", prompts, "--history", "1000000"]);
    write_secret(
        home.path("tokens"),
        &format!("{TOKEN} name=writer role=write\n"),
    );
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

/// Calls a tool; `None` if the server is killed before it has answered.
fn call(address: SocketAddr, tool: &str, arguments: &Value) -> Option<Value> {
    let params = modern(json!({"name": tool, "arguments": arguments}));
    let body = request(1, "tools/call", params);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {tool}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let answer: Value = serde_json::from_str(body).ok()?;
    Some(
        answer
            .get("result")
            .unwrap_or_else(|| panic!("{answer}"))
            .clone(),
    )
}

/// The text of a prompt: whoever reads a part of it sees that.
fn text_of(id: &str) -> String {
    format!(
        "---\ntitle: {id}\n---\n{}\nthe end of {id}\n",
        format!("{id} ").repeat(200)
    )
}

fn check_whole(name: &str, bytes: &[u8]) {
    let prompt = Prompt::parse(Name::new(name).unwrap(), bytes).unwrap();
    assert_eq!(bytes, text_of(&prompt.title.unwrap()).as_bytes());
}

/// Writes until there are enough acknowledged writes.
fn write(
    writer: usize,
    prompts: &Path,
    addresses: &Addresses,
    (count, wanted): (&AtomicUsize, usize),
    done: Sender<()>,
) -> Vec<Acknowledged> {
    let mut chance = Chance(writer as u64 + 1);
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if count.load(Ordering::Relaxed) >= wanted {
            break;
        }
        let id = format!("w{writer}n{number}");
        let name = format!("p{}", chance.below(PROMPTS));
        let now = fs::read(prompts.join(format!("{name}.md"))).ok();
        if let Some(now) = &now {
            check_whole(&name, now);
        }
        let expected = now.as_deref().map(Revision::of_contents);
        let (tool, arguments) = match (expected, chance.below(10)) {
            (None, _) => (
                "create_prompt",
                json!({"command": name, "file": text_of(&id), "note": id}),
            ),
            (Some(expected), 0) => (
                "delete_prompt",
                json!({"command": name, "expected": expected, "note": id}),
            ),
            (Some(expected), _) => (
                "update_prompt",
                json!({"command": name, "file": text_of(&id), "expected": expected, "note": id}),
            ),
        };
        // Again, until a server has answered.
        let answer = loop {
            let address = addresses.lock().unwrap()[chance.below(2)];
            match call(address, tool, &arguments) {
                Some(answer) => break answer,
                None => thread::yield_now(),
            }
        };
        if answer["isError"] != true {
            let revision = answer["structuredContent"]["revision"]
                .as_str()
                .unwrap()
                .to_owned();
            acknowledged.push(Acknowledged {
                name,
                id,
                revision,
                is_delete: tool == "delete_prompt",
            });
            count.fetch_add(1, Ordering::Relaxed);
            _ = done.send(());
        } else {
            let error = answer["content"][0]["text"].as_str().unwrap();
            let is_conflict = ["has changed since", "was deleted", "there is already"]
                .iter()
                .any(|why| error.contains(why));
            assert!(is_conflict, "{error}");
        }
    }
    acknowledged
}

/// Kills a server after some acknowledged writes, and starts another; returns how often.
fn kill_now_and_then(
    servers: &mut [HttpServer; 2],
    prompts: &Path,
    addresses: &Addresses,
    done: &Receiver<()>,
) -> usize {
    let mut chance = Chance(99);
    let mut kills = 0;
    while (0..10 + chance.below(60)).all(|_| done.recv().is_ok()) {
        let index = chance.below(2);
        let server = &mut servers[index];
        kill_process(
            Pid::from_raw(server.id().cast_signed()).unwrap(),
            Signal::KILL,
        )
        .unwrap();
        server.wait();
        *server = start(prompts);
        addresses.lock().unwrap()[index] = server.address;
        kills += 1;
    }
    kills
}

#[test]
fn with_two_servers_that_are_killed_at_any_moment_no_acknowledged_write_is_lost() {
    let wanted = if seconds() == SHORT { 150 } else { 20_000 };
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path();
    let mut servers = [start(prompts), start(prompts)];
    let addresses = Mutex::new([servers[0].address, servers[1].address]);
    let count = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    let (acknowledged, kills) = thread::scope(|scope| {
        let (addresses, count) = (&addresses, &count);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let sender = sender.clone();
                scope.spawn(move || write(writer, prompts, addresses, (count, wanted), sender))
            })
            .collect();
        drop(sender);
        let kills = kill_now_and_then(&mut servers, prompts, addresses, &receiver);
        let acknowledged: Vec<Acknowledged> = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect();
        (acknowledged, kills)
    });
    assert!(acknowledged.len() >= wanted && kills > 0);

    // The next write to each prompt removes what a killed server has left.
    let mut names: Vec<String> = (0..PROMPTS).map(|number| format!("p{number}")).collect();
    for name in &names {
        let now = fs::read(prompts.join(format!("{name}.md")))
            .ok()
            .as_deref()
            .map(Revision::of_contents);
        let tool = if now.is_some() {
            "update_prompt"
        } else {
            "create_prompt"
        };
        let mut arguments = json!({"command": name, "file": text_of(&format!("last-{name}"))});
        if let Some(now) = now {
            arguments["expected"] = json!(now);
        }
        let answer = call(servers[0].address, tool, &arguments).unwrap();
        assert_ne!(answer["isError"], true, "{answer}");
    }
    for file in walkdir::WalkDir::new(prompts) {
        let path = file.unwrap().into_path();
        assert!(
            !path.to_str().unwrap().contains(".prompt-expander-"),
            "{}",
            path.display()
        );
    }
    names.retain(|name| {
        check_whole(name, &fs::read(prompts.join(format!("{name}.md"))).unwrap());
        is_complete(prompts, name);
        true
    });

    let mut recorded: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut deleted: Vec<(String, String)> = Vec::new();
    for name in names {
        for (revision, record) in records(prompts, &name) {
            if record["operation"] == "delete" {
                deleted.push((name.clone(), revision));
            } else if let Some(id) = record["note"].as_str() {
                recorded
                    .entry((name.clone(), id.to_owned()))
                    .or_default()
                    .push(revision);
            }
        }
    }
    for Acknowledged {
        name,
        id,
        revision,
        is_delete,
    } in acknowledged
    {
        if is_delete {
            // Of two writers who delete the same version, the second finds it deleted.
            assert!(deleted.contains(&(name, revision)), "{id}");
        } else {
            let once = Some(&vec![revision]);
            assert_eq!(
                recorded.get(&(name.clone(), id.clone())),
                once,
                "{name} {id}: once, and no other"
            );
        }
    }
}

/// The records of a prompt, the oldest first, with their revisions.
fn records(prompts: &Path, name: &str) -> Vec<(String, Value)> {
    let folder = prompts.join(".history").join(name);
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    let read = |file: std::path::PathBuf| {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        (
            stem.rsplit('-').next().unwrap().to_owned(),
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap(),
        )
    };
    files.into_iter().map(read).collect()
}

/// Each version has its text, and the last one is what the file has.
fn is_complete(prompts: &Path, name: &str) {
    let folder = prompts.join(".history").join(name);
    let mut texts = HashMap::new();
    for file in fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
    {
        if file.extension().is_some_and(|end| end == "md") {
            let bytes = fs::read(&file).unwrap();
            check_whole(name, &bytes);
            texts.insert(Revision::of_contents(&bytes).to_string(), ());
        }
    }
    let mut before: Option<String> = None;
    for (revision, record) in records(prompts, name) {
        assert!(texts.contains_key(&revision), "{name}: {record}");
        before = (record["operation"] != "delete").then_some(revision);
    }
    let now = fs::read(prompts.join(format!("{name}.md"))).unwrap();
    assert_eq!(
        before,
        Some(Revision::of_contents(&now).to_string()),
        "{name}"
    );
}
