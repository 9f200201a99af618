//! `--store`: prompts in PostgreSQL, for the command line and for several servers.

use crate::certificates::Authority;
use crate::client::{Client, LEGACY, assert_contains};
use crate::http_client::{Endpoint, HttpServer, write_secret};
use crate::postgres::{Postgres, database, save, sql, text_of};
use crate::store_sync::{paths, store};
use prompt_expander::prompt::Revision;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A client whose library is a new store without built-in prompts; `None` if PostgreSQL is not
/// installed.
pub(crate) fn client() -> Option<Client> {
    let url = database()?;
    Client::new()
        .arguments([])
        .run(["store", "init", "--store", &url], "")
        .says(0, &[]);
    Some(on(&url))
}

/// A client of a store.
pub(crate) fn on(url: &str) -> Client {
    Client::new().arguments(["--no-builtin", "--store", url])
}

/// The address of the store of a client.
pub(crate) fn url(client: &Client) -> String {
    client.library_arguments()[2].clone()
}

fn address(url: &str) -> String {
    url.replace("postgres@", "").replace("?sslmode=disable", "")
}

/// A prompt as `new` writes it.
pub(crate) fn prompt(text: &str) -> String {
    format!("---\ntitle: T\n---\n{text}")
}

fn revision(text: &str) -> String {
    Revision::of_contents(text.as_bytes()).to_string()
}

fn call(server: &HttpServer, tool: &str, arguments: Value) -> Value {
    server
        .modern("tools/call", json!({"name": tool, "arguments": arguments}))
        .json()["result"]
        .clone()
}

/// A replica.
fn replica(url: &str) -> HttpServer {
    HttpServer::start(on(url))
}

#[test]
fn the_commands_do_on_a_store_what_they_do_in_a_folder() {
    let Some(client) = client() else { return };
    let place = |file: &str| format!("{}/{file}\n", address(&url(&client)));
    Client::new()
        .arguments([])
        .run(["store", "init", "--store", &url(&client)], "")
        .says(0, &["was ready already"]);
    client
        .run(["new", "git/commit"], prompt("Commit {{input}}.\n"))
        .says(0, &[&place("git/commit.md")]);
    client.words("list --long").printed(&format!(
        "git/commit\tCommit {{{{input}}}}.\tuser\t\t\t{}",
        place("git/commit.md")
    ));
    client
        .words("show git/commit")
        .printed(&prompt("Commit {{input}}.\n"));
    client
        .words("expand git/commit now")
        .printed("Commit now.\n");
    client
        .run(["new", "git/commit"], "Other")
        .says(1, &["there is already a prompt named `git/commit`"]);
    let editor = |text: &str| format!("sh -c 'printf \"{text}\" > \"$0\"'");
    let editing = on(&url(&client)).variable("VISUAL", &editor("Two.\\n"));
    editing
        .words("edit git/commit")
        .says(0, &[&place("git/commit.md")]);
    editing
        .words("edit git/commit")
        .says(0, &["nothing was changed"]);
    let ran = client.words("history git/commit");
    let shown: Vec<(&str, &str)> = ran
        .stdout
        .lines()
        .map(|line| {
            (
                line.split('\t').next().unwrap(),
                line.split('\t').nth(2).unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (&*revision("Two.\n"), "updated"),
            (&*revision(&prompt("Commit {{input}}.\n")), "created")
        ]
    );
    assert!(
        client
            .words("diff git/commit")
            .stdout
            .ends_with("-Commit {{input}}.\n+Two.\n")
    );
    client
        .words("restore git/commit")
        .says(0, &[&place("git/commit.md")]);
    client
        .words("mv git/commit commit")
        .says(0, &[&place("commit.md")]);
    client
        .words("rm --yes commit")
        .says(0, &[&place("commit.md")]);
    client
        .words("restore commit")
        .says(0, &[&place("commit.md")]);
    client
        .words("check")
        .printed("1 file checked: 0 errors, 0 warnings\n");
    let history = client.words("history commit").stdout;
    let done: Vec<&str> = history
        .lines()
        .map(|line| line.split('\t').nth(2).unwrap())
        .collect();
    assert_eq!(
        done,
        [
            "restored", "deleted", "updated", "restored", "updated", "created"
        ]
    );
    assert!(
        history
            .lines()
            .all(|line| line.split('\t').nth(3) == Some("postgres")),
        "{history}"
    );
    client
        .words("path")
        .says(1, &["the prompts are in a store"]);
    assert_eq!(
        fs::read_dir(client.root()).unwrap().count(),
        1,
        "nothing is written beside the folder of prompts"
    );
}

#[test]
fn mv_takes_the_versions_and_the_tests_along_and_rm_removes_the_tests() {
    let Some(client) = client() else { return };
    let place = |file: &str| format!("{}/{file}\n", address(&url(&client)));
    client.put("in/a.md", prompt("A\n"));
    client.put("in/a.test.txt", "=== A\n--- text\nA\n");
    client.put("in/c.md", prompt("C\n"));
    client.put("in/b.test.txt", "");
    store(&client, "push in --yes").says(0, &["pushed "]);
    client
        .words("mv a c")
        .says(1, &["c.md` already exists, and is not changed"]);
    client
        .words("mv a b")
        .says(1, &["b.test.txt` already exists, and is not changed"]);
    let tests = format!("its test file is now {}", place("x/a.test.txt"));
    client
        .words("mv a x/a")
        .says(0, &[&place("x/a.md"), &tests]);
    client.words("test x/a").says(0, &["1 passed"]);
    let history = client.words("history x/a").stdout;
    let done: Vec<Vec<&str>> = history
        .lines()
        .map(|line| line.split('\t').skip(2).collect())
        .collect();
    assert_eq!(
        done,
        [
            ["updated", "postgres", "renamed from a to x/a"],
            ["created", "postgres", ""]
        ]
    );
    client
        .words("history a")
        .says(0, &["\tdeleted\tpostgres\trenamed from a to x/a\n"]);
    let kept = "brings the prompt back, not its test file";
    client
        .words("rm --yes x/a")
        .says(0, &[&(place("x/a.md") + &place("x/a.test.txt")), kept]);
    assert_eq!(paths(&client), "b.test.txt c.md");
}

#[test]
fn a_broken_prompt_of_a_store_is_named_and_can_be_repaired() {
    let Some(client) = client() else { return };
    save(&client, "git/broken.md", "---\ntitle: T\n");
    save(&client, "a.md", "A");
    client.words("check").says(
        1,
        &[
            "/git/broken.md:1:1: error: the frontmatter",
            "2 files checked: 1 error",
        ],
    );
    client
        .words("list")
        .says(0, &["/git/broken.md:1:1: the frontmatter"]);
    client
        .words("expand git/broken")
        .says(1, &["/git/broken.md:1:1: the frontmatter"]);
    client.words("show git/broken").printed("---\ntitle: T\n");
    on(&url(&client))
        .variable("VISUAL", "sh -c 'echo --- >> \"$0\"'")
        .words("edit git/broken")
        .says(0, &[]);
    client
        .words("check")
        .says(0, &["2 files checked: 0 errors"]);
}

#[test]
fn a_prompt_includes_others_of_the_store_and_no_file() {
    let Some(client) = client() else { return };
    sql(
        &url(&client),
        "insert into history (seq, path, text) values (1, '_style.md', 'Be brief.'), (2, 'git/a.md', E'---\\ninclude: true\\n---\\n{{> /_style}}'), \
         (3, 'git/a.test.txt', E'=== A\\n--- contains\\nbrief\\n');
         insert into file (path, folded, text, seq) select path, lower(path), text, seq from history",
    );
    client.words("expand git/a").printed("Be brief.\n");
    for (text, why) in [
        (
            "---\ninclude: true\n---\n{{> ../../etc/passwd}}",
            "x.md:4:1: `../../etc/passwd` cannot be included: there is no such file",
        ),
        (
            "---\nattachments: [/etc/passwd]\n---\nA",
            "is a file, but a prompt in a database can only attach addresses",
        ),
    ] {
        client.run(["new", "x"], text).says(1, &[why]);
    }
    client.words("test git/a").says(0, &["1 passed"]);
    client.words("test").says(0, &["1 passed"]);
    assert_eq!(sql(&url(&client), "select count(*) from file"), "3");
}

#[test]
fn what_a_store_cannot_keep_is_refused_and_says_why() {
    let Some(client) = client() else { return };
    client
        .run(["new", "a"], prompt(&"a".repeat(256 * 1024 - 17)))
        .says(
            1,
            &["the file is 262,145 bytes long, the limit is 256 KiB in a store"],
        );
    client
        .run(["new", "a"], prompt(&"a".repeat(256 * 1024 - 18)))
        .says(0, &[]);
    client.run(["new", "b"], "a\0b").says(1, &["NUL"]);
    client.run(["new", "A"], "a").says(
        1,
        &["choose a name that differs from all others in more than letter case"],
    );
}

#[test]
fn a_password_in_an_argument_is_refused_and_never_printed() {
    let client = Client::new().arguments([]);
    let secret = "postgres://ada:s3cret@127.0.0.1:1/prompts";
    let refused = client.run(["list", "--store", secret], "");
    assert_eq!(refused.status.code(), Some(2));
    write_secret(client.path("address"), secret);
    let from_file = client.words("list --store-file address");
    let from_variable = client
        .variable("PROMPT_EXPANDER_STORE", secret)
        .words("list");
    for ran in [refused, from_file, from_variable] {
        assert!(
            !ran.status.success() && !ran.stderr.contains("s3cret") && ran.stdout.is_empty(),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_server_does_not_start_without_the_address_of_its_store() {
    let ran = Client::new()
        .arguments([])
        .words("serve --store-file missing");
    ran.says(
        1,
        &["error: cannot read the file of --store-file missing: No such file"],
    );
}

#[test]
fn a_store_that_cannot_be_reached_is_named_with_its_host_and_port() {
    let client = Client::new().arguments([]);
    client.make_folder("in");
    let want = "the store at 127.0.0.1:1 does not answer: Connection refused (os error 111); is PostgreSQL running there?";
    for command in ["init", "push in", "pull out"] {
        client
            .words(&format!("store {command} --store postgres://127.0.0.1:1/x"))
            .says(1, &[want]);
    }
}

#[test]
fn tables_that_are_not_prepared_or_are_those_of_others_are_named() {
    let Some(url) = database() else { return };
    let client = on(&url);
    client.words("list").says(
        1,
        &["prepare the database with `prompt-expander store init`"],
    );
    let init = || {
        Client::new()
            .arguments([])
            .run(["store", "init", "--store", &url], "")
    };
    for tables in [
        "create table file (id int)",
        "create table store (name text)",
    ] {
        sql(&url, tables);
        init().says(1, &["are not those of this program"]);
        sql(&url, "drop table if exists file, store");
    }
    init().says(0, &[]);
    client.run(["new", "a"], prompt("A\n")).says(0, &[]);
    sql(&url, "update store set format = 2");
    client.words("show a").printed(&prompt("A\n"));
    client.run(["new", "b"], "B").says(
        1,
        &["the store has the format 2 of a newer version, and is read-only"],
    );
    init().says(1, &["update prompt-expander"]);
    sql(
        &url,
        "update store set format = 1; drop role if exists reader; create role reader login; grant select on all tables in schema public to reader",
    );
    on(&url.replace("postgres@", "reader@"))
        .run(["new", "b"], "B")
        .says(1, &["permission denied"]);
    sql(&url, "drop owned by reader; drop role reader");
}

#[test]
fn a_write_on_one_replica_is_seen_and_told_by_the_others() {
    let Some(client) = client() else { return };
    let replicas: Vec<HttpServer> = (0..3).map(|_| replica(&url(&client))).collect();
    let mut streams: Vec<_> = replicas
        .iter()
        .map(|replica| {
            let session = replica.initialize(LEGACY);
            replica.initialized(&session);
            replica.stream(&session)
        })
        .collect();
    client.run(["new", "a"], prompt("One.\n")).says(0, &[]);
    for (replica, stream) in replicas.iter().zip(&mut streams) {
        while !stream.next().unwrap().data.contains("prompts/list_changed") {}
        let expanded = call(
            replica,
            "expand_prompt",
            json!({"command": "a", "input": ""}),
        );
        assert_eq!(expanded["structuredContent"]["prompt"], "One.");
        let ready = replica.send("GET", "/ready", &[], "");
        assert_eq!((ready.status, ready.json()), (200, json!({"status": "ok"})));
        let metrics = replica.send("GET", "/metrics", &[], "").text();
        assert_contains(&metrics, "\nprompt_expander_store_age_seconds");
    }
}

const ADMIN: &str = "0123456789abcdef0123456789abcdef";

/// A server on which the token [`ADMIN`] may write.
fn writable(url: &str) -> HttpServer {
    let home = on(url);
    write_secret(
        home.path("tokens"),
        &format!("{ADMIN} name=ada role=admin\n"),
    );
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

/// What the JSON API answers.
fn api(server: &Endpoint, method: &str, path: &str, body: &str) -> (u16, Value) {
    let authorization = format!("Bearer {ADMIN}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
    ];
    let answer = server.send(method, path, &headers, body);
    (answer.status, answer.json())
}

fn text(server: &Endpoint, name: &str) -> Option<String> {
    api(server, "GET", &format!("/api/prompts/{name}"), "").1["text"]
        .as_str()
        .map(str::to_owned)
}

/// Appends a line to a prompt, if it still is as it was read. Returns whether that was
/// acknowledged.
fn append(server: &Endpoint, name: &str, line: &str) -> bool {
    let Some(old) = text(server, name) else {
        return false;
    };
    let body = json!({"file": format!("{old}{line}\n"), "expected": revision(&old)}).to_string();
    api(server, "PUT", &format!("/api/prompts/{name}"), &body).0 == 200
}

#[test]
fn while_the_store_is_away_prompts_are_served_and_writes_are_errors() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let url = postgres.url("postgres");
    Client::new()
        .arguments([])
        .run(["store", "init", "--store", &url], "")
        .says(0, &[]);
    on(&url).run(["new", "a"], prompt("One.\n")).says(0, &[]);
    let server = writable(&url);
    assert!(append(&server, "a", "Two."));
    postgres.shell("stop");
    assert!(!append(&server, "a", "Three."));
    assert_eq!(text(&server, "a").unwrap(), prompt("One.\nTwo.\n"));
    let ready = || server.send("GET", "/ready", &[], "");
    while ready().json()["reason"].is_null() {}
    assert_eq!(ready().status, 200);
    assert!(
        ready().json()["reason"]
            .as_str()
            .unwrap()
            .starts_with("the store has not answered since 20")
    );
    let late = writable(&url);
    assert_eq!(late.send("GET", "/ready", &[], "").status, 503);
    assert_eq!(
        api(&late, "GET", "/api/prompts/a", "").0,
        503,
        "another server is asked"
    );
    postgres.shell(&format!("start data {}", postgres.port));
    while late.send("GET", "/ready", &[], "").status != 200 {}
    for server in [&server, &late] {
        while !append(server, "a", "Four.") {}
        while ready().json() != json!({"status": "ok"}) {}
    }
}

/// Ends the writers when it is dropped, also by a test that fails.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How long a test waits for what does not come if the program is broken.
const HANG: Duration = Duration::from_secs(60);

#[test]
fn when_the_primary_is_killed_and_the_standby_promoted_no_write_is_lost_or_doubled() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let standby = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let primary = postgres.port;
    postgres.shell(&format!(
        "\"$0/pg_basebackup\" -h 127.0.0.1 -p {primary} -U postgres -D \"$d/standby\" -R -X stream -C -S s -c fast && start standby {standby}"
    ));
    sql(
        &postgres.url("postgres"),
        "alter system set synchronous_standby_names = '*'",
    );
    sql(&postgres.url("postgres"), "select pg_reload_conf()");
    let url = format!(
        "postgres://postgres@127.0.0.1:{primary},127.0.0.1:{standby}/postgres?sslmode=disable"
    );
    Client::new()
        .arguments([])
        .run(["store", "init", "--store", &url], "")
        .says(0, &[]);
    for number in 0..8 {
        on(&url)
            .run(["new", &format!("p{number}")], prompt(""))
            .says(0, &[]);
    }
    let running = [writable(&url), writable(&url)];
    let servers: [Endpoint; 2] = [*running[0], *running[1]];
    let (tried, stale, ends) = (
        Mutex::new(Vec::new()),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let (sender, received) = channel();
    let write = |writer: usize, sender: Sender<String>| {
        for number in 0.. {
            if ends.load(Ordering::Relaxed) {
                return;
            }
            let (server, name) = (&servers[writer % 2], format!("p{}", (writer + number) % 8));
            let line = format!("w{writer}-{number}");
            tried.lock().unwrap().push(line.clone());
            if append(server, &name, &line) {
                _ = sender.send(line.clone());
                let seen =
                    text(server, &name).is_some_and(|text| text.lines().any(|other| other == line));
                stale.fetch_add(usize::from(!seen), Ordering::Relaxed);
            }
        }
    };
    // 5,000 each night.
    let half = if std::env::var_os("NIGHTLY_SECONDS").is_some() {
        2_500
    } else {
        40
    };
    let mut acknowledged = Vec::new();
    let next = |_| {
        received
            .recv_timeout(HANG)
            .expect("a write is acknowledged")
    };
    thread::scope(|scope| {
        let _end = End(&ends);
        for writer in 0..4 {
            let (write, sender) = (&write, sender.clone());
            scope.spawn(move || write(writer, sender));
        }
        acknowledged.extend((0..half).map(next));
        postgres.shell("kill -9 $(head -1 \"$d/data/postmaster.pid\"); \"$0/pg_ctl\" -D \"$d/standby\" -w promote");
        sql(
            &format!("postgres://postgres@127.0.0.1:{standby}/postgres"),
            "alter system set synchronous_standby_names = ''",
        );
        sql(
            &format!("postgres://postgres@127.0.0.1:{standby}/postgres"),
            "select pg_reload_conf()",
        );
        acknowledged.extend((0..half).map(next));
    });
    let stored = |name: &str| {
        sql(
            &format!("postgres://postgres@127.0.0.1:{standby}/postgres"),
            &format!("select text from file where path = '{name}.md'"),
        )
    };
    let texts: Vec<String> = (0..8).map(|number| stored(&format!("p{number}"))).collect();
    for server in &servers {
        for (number, stored) in texts.iter().enumerate() {
            let since = Instant::now();
            while text(server, &format!("p{number}")).is_none_or(|text| text.trim_end() != stored) {
                assert!(
                    since.elapsed() < HANG,
                    "a server still has not what the database has of p{number}"
                );
            }
        }
    }
    let count = |line: &String| {
        texts
            .iter()
            .flat_map(|text| text.lines())
            .filter(|other| other == line)
            .count()
    };
    drop(sender);
    acknowledged.extend(received);
    let tried = tried.into_inner().unwrap();
    let lost = acknowledged.iter().filter(|line| count(line) == 0).count();
    let doubled = tried.iter().filter(|line| count(line) > 1).count();
    assert_eq!(
        (lost, doubled, stale.into_inner()),
        (0, 0, 0),
        "of {} acknowledged",
        acknowledged.len()
    );
}

/// Passes connections on to a database. If `loses` is set, the answer to the next commit is lost,
/// with its connection.
fn proxy(port: u16, loses: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map(Result::unwrap) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let is_lost = Arc::new(AtomicBool::new(false));
            for is_up in [true, false] {
                let [from, to] = [&client, &server].map(|stream| stream.try_clone().unwrap());
                let ((mut from, mut to), is_lost) = (
                    if is_up { (from, to) } else { (to, from) },
                    Arc::clone(&is_lost),
                );
                let loses = Arc::clone(&loses);
                thread::spawn(move || {
                    let mut buffer = [0; 65536];
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        if is_up && buffer[..count].windows(6).any(|word| word == b"COMMIT") {
                            is_lost.fetch_or(loses.swap(false, Ordering::SeqCst), Ordering::SeqCst);
                        }
                        if (!is_up && is_lost.load(Ordering::SeqCst))
                            || to.write_all(&buffer[..count]).is_err()
                        {
                            break;
                        }
                    }
                    _ = [from, to].map(|stream| stream.shutdown(Shutdown::Both));
                });
            }
        }
    });
    own
}

/// The port in the address of a store.
fn port(url: &str) -> u16 {
    url.split_once("127.0.0.1:")
        .unwrap()
        .1
        .split('/')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_write_whose_answer_was_lost_can_be_repeated_and_has_one_version() {
    let Some(client) = client() else { return };
    let (url, loses) = (url(&client), Arc::new(AtomicBool::new(false)));
    let own = proxy(port(&url), Arc::clone(&loses));
    let server = writable(&url.replace(&port(&url).to_string(), &own.to_string()));
    let [one, two] = ["One.\n", "Two.\n"].map(prompt);
    for (method, body) in [
        ("POST", json!({"file": one})),
        ("PUT", json!({"file": two, "expected": revision(&one)})),
        ("DELETE", json!({"expected": revision(&two)})),
    ] {
        loses.store(true, Ordering::SeqCst);
        let (status, answer) = api(&server, method, "/api/prompts/a", &body.to_string());
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            status >= 400 && message.contains("it may have been written; try again"),
            "{method} {status} {answer}"
        );
        let (status, answer) = api(&server, method, "/api/prompts/a", &body.to_string());
        assert_eq!(status, 200, "{method} {answer}");
    }
    assert_eq!(sql(&url, "select count(*) from history"), "3");
}

#[test]
fn a_host_that_is_silent_does_not_keep_the_next_one_from_being_used() {
    let Some(client) = client() else { return };
    let silent = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let listener = TcpListener::bind(("127.0.0.1", silent)).unwrap(); // nobody accepts
    on(&url(&client).replace("127.0.0.1:", &format!("127.0.0.1:{silent},127.0.0.1:")))
        .words("list")
        .says(0, &["there are no prompts"]);
    drop(listener);
}

#[test]
fn a_connection_with_tls_checks_the_certificate_and_the_password_is_that_of_the_file() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let authority = Authority::new();
    sql(
        &postgres.url("postgres"),
        "create role ada login superuser password E's3:cr\\\\et'",
    );
    postgres.use_tls(&authority, "hostssl all all all scram-sha-256\n");
    let client = Client::new().arguments([]);
    let [trusted, passwords] =
        ["ca.pem", "passwords"].map(|file| client.path(file).display().to_string());
    write_secret(&trusted, &authority.pem());
    let password = |text: &str| {
        write_secret(
            &passwords,
            &format!("other:*:*:*:x\nlocalhost:*:postgres:ada:{text}\n"),
        )
    };
    password("s3\\:cr\\\\et");
    let untrusting = Client::new()
        .arguments([])
        .variable("PGPASSFILE", &passwords);
    let client = client
        .variable("PGPASSFILE", &passwords)
        .variable("SSL_CERT_FILE", &trusted);
    let init = |client: &Client, host: &str, mode: &str| {
        client.words(&format!(
            "store init --store postgres://ada@{host}:{}/postgres?sslmode={mode}",
            postgres.port
        ))
    };
    for mode in ["verify-full", "require", "prefer"] {
        init(&client, "localhost", mode).says(0, &["localhost"]);
        init(&untrusting, "localhost", mode).says(1, &["no TLS connection: ", "in SSL_CERT_FILE"]);
        init(&client, "127.0.0.1", mode).says(1, &["no TLS connection: "]);
    }
    init(&client, "localhost", "disable").says(1, &["no encryption"]);
    password("wrong");
    init(&client, "localhost", "require").says(
        1,
        &[
            "password authentication failed",
            "correct the address or the password",
        ],
    );
}

#[test]
fn a_role_with_the_rights_that_the_page_names_writes_and_others_are_told_what_they_lack() {
    let Some(url) = database() else { return };
    let page = include_str!("../../docs/team.md");
    let grants = page
        .split_once("```sql\n")
        .unwrap()
        .1
        .split_once("```")
        .unwrap()
        .0;
    sql(
        &url,
        "create schema team; revoke create on schema public from public; create role nobody login",
    );
    let of = |role: &str, end: &str| url.replace("postgres@", &format!("{role}@")) + end;
    let in_team = |role: &str| of(role, "&options=-csearch_path%3Dteam");
    let init = |url: &str| {
        Client::new()
            .arguments([])
            .run(["store", "init", "--store", url], "")
    };
    init(&of("nobody", "")).says(1, &["permission denied for schema public"]);
    init(&in_team("postgres")).says(0, &["is ready"]);
    sql(
        &in_team("postgres"),
        &format!("{grants}; grant usage on schema team to prompts"),
    );
    let client = on(&in_team("prompts"));
    client.run(["new", "a"], prompt("A\n")).says(0, &[]);
    for line in ["mv a b", "rm --yes b", "restore b", "check"] {
        client.words(line).says(0, &[]);
    }
    assert_eq!(sql(&url, "select path from team.file"), "b.md");
    for (role, end) in [
        ("postgres", ""),
        ("nobody", "&options=-csearch_path%3Dteam"),
    ] {
        on(&of(role, end)).words("list").says(
            1,
            &["prepare the database with `prompt-expander store init`"],
        );
    }
    sql(
        &url,
        "drop owned by prompts; drop role prompts; drop role nobody",
    );
}

/// It ends when the test does.
struct Nginx(std::process::Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        _ = (self.0.kill(), self.0.wait());
    }
}

#[allow(clippy::print_stdout)] // a test that is skipped says so
#[test]
fn behind_nginx_as_the_page_configures_it_nothing_fails_when_a_replica_is_killed() {
    if !Path::new("/usr/sbin/nginx").exists() {
        return println!("skipped: nginx is not installed");
    }
    let Some(client) = client() else { return };
    let replica = || {
        let home = on(&url(&client));
        write_secret(
            home.path("tokens"),
            &format!("{ADMIN} name=ada role=admin\n"),
        );
        HttpServer::start_with(
            home,
            &["--token-file", "tokens", "--trusted-proxy", "127.0.0.1"],
        )
    };
    let mut replicas = [replica(), replica(), replica()];
    let [front, plain] = [0; 2].map(|_| {
        TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
    });
    let root = client.root();
    let (certificate, key) = Authority::new().issue(|_| {});
    client.put("prompts.pem", certificate);
    client.put("prompts.key", key);
    let mut site =
        include_str!("../../docs/team/nginx.conf").replace("/etc/ssl", &root.display().to_string());
    for (port, replica) in [":3331 ", ":3332 ", ":3333 "].into_iter().zip(&replicas) {
        site = site.replace(port, &format!(":{} ", replica.address.port()));
    }
    site = site.replace(
        "listen 443 ssl;",
        &format!("listen {front} ssl; listen {plain};"),
    );
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|of| format!("{of}_temp_path temp-{of};"));
    client.put("nginx.conf", format!(
            "daemon off; master_process off; pid nginx.pid; events {{}} http {{ access_log off; {} {site} }}",
            temporary.concat()
        ));
    let mut command = std::process::Command::new("/usr/sbin/nginx");
    command
        .arg("-p")
        .arg(root)
        .args(["-c", "nginx.conf", "-e", "nginx.log"]);
    let mut nginx = Nginx(command.spawn().unwrap());
    while TcpStream::connect(plain).is_err() {
        assert!(
            nginx.0.try_wait().unwrap().is_none(),
            "{}",
            fs::read_to_string(root.join("nginx.log")).unwrap()
        );
    }
    let front = Endpoint { address: plain };
    client.run(["new", "a"], prompt("")).says(0, &[]);
    replicas
        .iter()
        .for_each(|replica| while text(replica, "a").is_none() {});
    for number in 0..12 {
        if number == 4 {
            kill_process(
                Pid::from_raw(replicas[0].id().cast_signed()).unwrap(),
                Signal::KILL,
            )
            .unwrap();
            replicas[0].wait();
        }
        while !append(&front, "a", &format!("{number}")) {
            // another replica was asked, to which the last line was still unknown
            let (status, answer) = api(&front, "GET", "/api/prompts/a", "");
            assert_eq!(status, 200, "{answer}");
        }
    }
    let lines: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    assert_eq!(
        text_of(&client, "a.md")
            .unwrap()
            .lines()
            .skip(3)
            .collect::<Vec<_>>(),
        lines
    );
}
