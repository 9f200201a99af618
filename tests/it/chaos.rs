//! Eight writers, two servers on one folder, and kills at any moment: what was acknowledged is there, every file is a prompt, and
//! the history is complete.
//!
//! `CHAOS_WRITES=10000 cargo test --test it chaos` is the long run.

use crate::client::{Client, modern};
use crate::http_client::{HttpServer, request};
use crate::soak::Chance;
use prompt_expander::library::Revision;
use prompt_expander::prompt::{Format, Name};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const WRITERS: usize = 8;
const PROMPTS: usize = 40;

/// A write that a server has acknowledged.
struct Acknowledged {
    name: String,
    id: String,
    revision: String,
}

/// The addresses of the servers, which change when one is started again.
type Addresses = Mutex<[SocketAddr; 2]>;

fn start(prompts: &Path) -> HttpServer {
    let prompts = prompts.to_str().unwrap();
    let home = Client::new().arguments(["--no-builtin", "--prompts", prompts, "--edit", "--history", "1000000"]);
    HttpServer::start(home)
}

/// Calls a tool; `None` if the server is killed before it has answered.
fn call(address: SocketAddr, tool: &str, arguments: &Value) -> Option<Value> {
    let params = modern(json!({"name": tool, "arguments": arguments}));
    let body = request(1, "tools/call", params);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let answer: Value = serde_json::from_str(body).ok()?;
    Some(answer.get("result").unwrap_or_else(|| panic!("{answer}")).clone())
}

/// The text of a prompt: whoever reads a part of it sees that.
fn text(id: &str) -> String {
    format!("---\ntitle: {id}\n---\n{}\nthe end of {id}\n", format!("{id} ").repeat(200))
}

fn check(name: &str, bytes: &[u8]) {
    let prompt = Format::Markdown.parse(Name::new(name).unwrap(), bytes).unwrap();
    assert_eq!(bytes, text(&prompt.title.unwrap()).as_bytes());
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
            check(&name, now);
        }
        let expected = now.as_deref().map(Revision::of);
        let (tool, arguments) = match (expected, chance.below(10)) {
            (None, _) => ("create_prompt", json!({"command": name, "file": text(&id), "operation_id": id})),
            (Some(expected), 0) => {
                ("delete_prompt", json!({"command": name, "expected": expected, "operation_id": id}))
            }
            (Some(expected), _) => {
                ("update_prompt", json!({"command": name, "file": text(&id), "expected": expected, "operation_id": id}))
            }
        };
        // Again with the same id, until a server has answered.
        let answer = loop {
            let address = addresses.lock().unwrap()[chance.below(2)];
            match call(address, tool, &arguments) {
                Some(answer) => break answer,
                None => thread::yield_now(),
            }
        };
        if answer["isError"] != true {
            let revision = answer["structuredContent"]["revision"].as_str().unwrap().to_owned();
            acknowledged.push(Acknowledged { name, id, revision });
            count.fetch_add(1, Ordering::Relaxed);
            _ = done.send(());
        } else {
            let error = answer["content"][0]["text"].as_str().unwrap();
            let is_conflict =
                ["has changed since", "was deleted", "there is already"].iter().any(|why| error.contains(why));
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
        kill_process(Pid::from_raw(server.id().cast_signed()).unwrap(), Signal::KILL).unwrap();
        server.wait();
        *server = start(prompts);
        addresses.lock().unwrap()[index] = server.address;
        kills += 1;
    }
    kills
}

#[test]
fn with_two_servers_that_are_killed_at_any_moment_no_acknowledged_write_is_lost() {
    let wanted = std::env::var("CHAOS_WRITES").map_or(300, |writes| writes.parse().unwrap());
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
        let acknowledged: Vec<Acknowledged> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        (acknowledged, kills)
    });
    assert!(acknowledged.len() >= wanted && kills > 0);

    // The next write to each prompt removes what a killed server has left.
    let mut names: Vec<String> = (0..PROMPTS).map(|number| format!("p{number}")).collect();
    for name in &names {
        let now = fs::read(prompts.join(format!("{name}.md"))).ok().as_deref().map(Revision::of);
        let tool = if now.is_some() { "update_prompt" } else { "create_prompt" };
        let mut arguments = json!({"command": name, "file": text(&format!("last-{name}"))});
        if let Some(now) = now {
            arguments["expected"] = json!(now);
        }
        let answer = call(servers[0].address, tool, &arguments).unwrap();
        assert_ne!(answer["isError"], true, "{answer}");
    }
    for file in walkdir::WalkDir::new(prompts) {
        let path = file.unwrap().into_path();
        assert!(!path.to_str().unwrap().contains(".prompt-expander-"), "{}", path.display());
    }
    names.retain(|name| {
        check(name, &fs::read(prompts.join(format!("{name}.md"))).unwrap());
        is_complete(prompts, name);
        true
    });

    let mut recorded: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for name in names {
        for (revision, record) in records(prompts, &name) {
            if let Some(id) = record["operation_id"].as_str() {
                recorded.entry((name.clone(), id.to_owned())).or_default().push(revision);
            }
        }
    }
    for Acknowledged { name, id, revision } in acknowledged {
        assert_eq!(recorded.get(&(name.clone(), id.clone())), Some(&vec![revision]), "{name} {id}: once, and no other");
    }
}

/// The records of a prompt, the oldest first, with their revisions.
fn records(prompts: &Path, name: &str) -> Vec<(String, Value)> {
    let folder = prompts.join(".history").join(name);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let read = |file: std::path::PathBuf| {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        (stem.rsplit('-').next().unwrap().to_owned(), serde_json::from_slice(&fs::read(&file).unwrap()).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// Each version replaces the one before it, and has its text.
fn is_complete(prompts: &Path, name: &str) {
    let folder = prompts.join(".history").join(name);
    let mut texts = HashMap::new();
    for file in fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|end| end == "md") {
            let bytes = fs::read(&file).unwrap();
            check(name, &bytes);
            texts.insert(Revision::of(&bytes).to_string(), ());
        }
    }
    let mut before: Option<String> = None;
    for (revision, record) in records(prompts, name) {
        assert_eq!(record["replaced"].as_str(), before.as_deref(), "{name}: {record}");
        assert!(texts.contains_key(&revision), "{name}: {record}");
        before = (record["operation"] != "delete").then_some(revision);
    }
    let now = fs::read(prompts.join(format!("{name}.md"))).unwrap();
    assert_eq!(before, Some(Revision::of(&now).to_string()), "{name}");
}
