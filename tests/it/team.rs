//! `team` in `config.toml`: the prompts of a team's server as a layer of one's own library, with
//! and without the server.

use crate::certificates::Authority;
use crate::client::{Client, LEGACY, Ran, set_mode};
use crate::http_client::{HttpServer, write_secret};
use crate::http_service::{Request, Service, response};
use crate::openapi_call::base;
use crate::terminal::Typing;
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A server that lets the owner of its token edit these prompts.
fn server(files: &[(&str, &str)]) -> HttpServer {
    let home = files
        .iter()
        .fold(Client::new(), |home, (file, text)| home.prompt(file, text));
    HttpServer::start_with(home, &["--edit"])
}

/// A server with the prompt `review`, which the owner of a token in its file `tokens` may read.
fn server_with_token_file() -> HttpServer {
    let home = Client::new().prompt("review.md", "Review {{input}}");
    let tokens = home.root().join("tokens");
    write_secret(&tokens, "a-token-for-reading name=ana");
    HttpServer::start_with(home, &["--token-file", tokens.to_str().unwrap()])
}

fn url(server: &HttpServer) -> String {
    format!("http://{}", server.address)
}

/// A person whose team has its server there, with further lines of the settings file.
fn person_with(url: &str, settings: &str) -> Client {
    let client = Client::new().arguments([]);
    let folder = client.root().join(".config/prompt-expander");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("prompts = ['~/prompts']\nbuiltin = false\nteam = '{url}'\n{settings}");
    fs::write(folder.join("config.toml"), text).unwrap();
    client
}

/// The same with the token that the server has made.
fn person(server: &HttpServer) -> Client {
    person_with_token(server, "")
}

fn person_with_token(server: &HttpServer, settings: &str) -> Client {
    let person = person_with(&url(server), settings);
    write_secret(
        person.root().join(".config/prompt-expander/team-token"),
        &server.edit_token(),
    );
    person
}

/// The names and layers of a list.
fn listed(person: &Client) -> Vec<String> {
    let lines = person.words("list").stdout;
    let shown = |line: &str| {
        line.split('\t')
            .step_by(2)
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    lines.lines().map(shown).collect()
}

/// Where the cache of the person is.
fn cache(person: &Client) -> PathBuf {
    let folders = fs::read_dir(person.root().join(".cache/prompt-expander/team")).unwrap();
    let [only] = &folders
        .map(|folder| folder.unwrap().path())
        .collect::<Vec<_>>()[..]
    else {
        panic!("one server")
    };
    only.clone()
}

/// Standard output of what succeeded, perhaps with notes.
#[track_caller]
fn output(ran: Ran) -> String {
    assert!(ran.status.success(), "{ran:?}");
    ran.stdout
}

/// What `doctor` says of the team.
fn doctor(person: &Client) -> String {
    let findings: Value = serde_json::from_str(&person.words("doctor --json").stdout).unwrap();
    let messages = findings["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["message"].as_str().unwrap());
    messages
        .filter(|message| message.contains("the team's server"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn hook(person: &Client, prompt: &str) -> String {
    let event = json!({ "hook_event_name": "UserPromptSubmit", "prompt": prompt }).to_string();
    person.run(["hook", "codex"], event).stdout
}

/// The expansion by the server itself.
fn expanded_there(server: &HttpServer, command: &str, input: &str) -> String {
    let body = json!({ "command": command, "input": input }).to_string();
    let answer = server.send(
        "POST",
        "/api/expand",
        &[("Content-Type", "application/json")],
        body,
    );
    answer.json()["prompt"].as_str().unwrap().to_owned()
}

const ONBOARDING: &str = "---\ndescription: Begin\ninclude: true\narguments:\n  - {name: who, title: Who, required: true}\n\
                          attachments: ['https://example.com/map']\n---\nWelcome {{who}}.\n{{> parts/_style}}\n{{> builtin:plan}}\n";

const TEAM: [(&str, &str); 4] = [
    ("git/onboarding.md", ONBOARDING),
    ("git/parts/_style.md", "Be brief.\n{{> ../../_end.md}}"),
    ("_end.md", "\u{1F600} {{unknown}} \\{{who}}"),
    ("review.md", "The team's review: {{input}}"),
];

#[test]
fn the_teams_prompts_are_below_ones_own_in_each_interface_and_expand_to_the_bytes_of_the_server() {
    let server = server(&TEAM);
    let person = person(&server).prompt("review.md", "Mine: {{input}}");
    assert_eq!(listed(&person), ["git/onboarding team", "review user"]);
    let want = expanded_there(&server, "git/onboarding", "Ana");
    assert!(
        want.contains("Welcome Ana.\nBe brief.\n\u{1F600} {{unknown}} {{who}}"),
        "{want}"
    );
    person
        .words("expand git/onboarding Ana")
        .printed(&format!("{want}\n"));
    assert!(
        hook(&person, ":git/onboarding Ana")
            .contains(&json!(want).to_string().trim_matches('"').to_owned())
    );
    person.words("show git/onboarding").printed(ONBOARDING);
    person.words("expand review x").printed("Mine: x\n");
    let mut person = person;
    person.expand("git/onboarding", "Ana").text(&want);
    let prompts = person.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let argument = json!({ "name": "who", "title": "Who", "required": true });
    assert_eq!(
        (&prompts[0]["description"], &prompts[0]["arguments"][0]),
        (&json!("(team) Begin"), &argument)
    );
    person.ignore_notifications();
}

#[test]
fn without_the_server_everything_comes_from_the_cache_and_the_first_call_notices_that_it_is_back() {
    let list = json!({ "prompts": [{ "name": "a", "layer": "user", "source": "/p/a.md", "description": "A" },
                                   { "name": "b", "layer": "user", "source": "/p/b.md", "description": "B" }] });
    let text = json!({ "text": "Hello {{input}}", "revision": "0" });
    let is_there = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let switch = std::sync::Arc::clone(&is_there);
    let service = Service::start(move |request: &Request| {
        match is_there.load(std::sync::atomic::Ordering::Relaxed) {
            true if request.head.contains("/api/prompts/") => {
                response("200 OK", "application/json", &text.to_string())
            }
            true => response("200 OK", "application/json", &list.to_string()),
            false => String::new(), // it closes the connection
        }
    });
    let person = person_with(&service.url(), "");
    assert_eq!(listed(&person), ["a team", "b team"]);
    assert!(
        service
            .requests()
            .iter()
            .all(|request| request.head.contains("x-prompt-expander-team: 1"))
    );
    person.words("expand a x").printed("Hello x\n");
    assert_eq!(service.requests().len(), 1, "the list is current");
    switch.store(false, std::sync::atomic::Ordering::Relaxed);
    person.words("expand a y").printed("Hello y\n");
    assert_eq!(service.requests().len(), 1);
    for _ in 0..3 {
        person.words("expand a z").printed("Hello z\n");
        assert_eq!(listed(&person), ["a team", "b team"]);
        let error = person.words("expand b").stderr;
        assert!(
            error.contains("its text is not in the cache: the team's server"),
            "{error}"
        );
    }
    switch.store(true, std::sync::atomic::Ordering::Relaxed);
    person.words("expand b x").printed("Hello x\n");
    assert_eq!(
        person.words("list").stderr,
        "",
        "no old failure is repeated"
    );
}

#[test]
fn a_prompt_that_somebody_has_just_made_is_found_by_whoever_calls_it() {
    let server = server(&TEAM);
    let mut person = person_with_token(&server, "edit = true");
    output(person.words("list"));
    person.initialize(LEGACY);
    person.list();
    let make = |name: &str| server.home.write(&format!("{name}.md"), "New: {{input}}");
    for command in ["expand", "explain", "show", "check"] {
        make(command);
        output(person.run([command, &format!(":{command}")], ""));
    }
    make("git/hooked");
    assert!(hook(&person, ":git/hooked, x").contains("New: x"));
    make("removed");
    output(person.words("rm --yes removed"));
    make("listed");
    make_list_old(&person, 5);
    assert!(listed(&person).contains(&"listed team".to_owned()));
    make("tool");
    person.expand("tool", "x").text("New: x");
    make("got");
    let prompt = person.request("prompts/get", json!({ "name": "got" }));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "New: ");
    make("read");
    let resource = person.request("resources/read", json!({ "uri": "prompt://read" }));
    assert_eq!(resource["result"]["contents"][0]["text"], "New: {{input}}");
    make("for-editors");
    let history = person.call("prompt_history", json!({ "command": "for-editors" }));
    assert_eq!(history.structured()["file"], "New: {{input}}");
    person.ignore_notifications();
}

/// Makes the cached list older by so many seconds.
fn make_list_old(person: &Client, seconds: u64) {
    let file = cache(person).join("state.json");
    let mut state: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    state["listed"] = json!(state["listed"].as_u64().unwrap() - seconds);
    fs::write(file, state.to_string()).unwrap();
}

#[test]
fn the_server_is_asked_once_for_an_unknown_name_and_never_for_what_is_no_call() {
    let list = json!({ "prompts": [{ "name": "a", "layer": "user", "source": "/p/a.md" }] });
    let service = Service::answering(response("200 OK", "application/json", &list.to_string()));
    let person = person_with(&service.url(), "").prompt("own.md", "Own");
    output(person.words("list"));
    service.requests();
    for (message, want) in [
        (":unknown x", 1),
        (":unknown y", 0),
        (":Unknown, y", 0),
        (":8080 is in use", 0),
        (":smile: Thanks", 0),
        (":) Thanks", 0),
        (":std::fmt", 0),
        (":wq", 0),
        ("Say :mention", 0),
        (":own\n:second line", 0),
        (":other", 1),
    ] {
        hook(&person, message);
        assert_eq!(service.requests().len(), want, "{message}");
    }
    for (words, want) in [
        ("expand third", 1),
        ("expand third", 0),
        ("unknown-word", 0),
    ] {
        assert!(!person.words(words).status.success());
        assert_eq!(service.requests().len(), want, "{words}");
    }
}

#[test]
fn a_server_process_fills_the_cache_so_that_every_prompt_expands_offline() {
    let texts: Vec<String> = (0..300).map(|number| format!("n{number}.md")).collect();
    let files: Vec<(&str, &str)> = texts
        .iter()
        .map(|file| (&**file, "Text {{input}}"))
        .collect();
    let person = {
        let server = server(&files);
        let mut person = person(&server);
        person.initialize(LEGACY);
        while count_texts(&person) < 300 {}
        person
    };
    for number in [0, 150, 299] {
        let ran = person.words(&format!("expand n{number} x"));
        assert_eq!(output(ran), "Text x\n");
    }
}

#[test]
fn the_cache_is_filled_up_to_its_limit_and_the_rest_when_the_server_is_back() {
    let entry =
        |name: &str| json!({ "name": name, "layer": "user", "source": format!("/p/{name}.md") });
    let list = json!({ "prompts": [entry("a"), entry("b"), entry("c")] }).to_string();
    let mib = json!({ "text": "x".repeat(1024 * 1024) }).to_string();
    let is_broken = std::sync::atomic::AtomicBool::new(true);
    let service = Service::start(move |request: &Request| {
        if !request.head.contains("/api/prompts/") {
            return response("200 OK", "application/json", &list);
        }
        if is_broken.swap(false, std::sync::atomic::Ordering::Relaxed) {
            return response("503 Service Unavailable", "application/json", "{}");
        }
        response("200 OK", "application/json", &mib)
    });
    let mut person = person_with(&service.url(), "team-cache = 2");
    person.initialize(LEGACY);
    while count_texts(&person) < 2 {}
    person.request("ping", json!({}));
    assert_eq!(count_texts(&person), 2);
    assert_eq!(
        service
            .requests()
            .iter()
            .filter(|request| request.head.contains("/prompts/c"))
            .count(),
        0
    );
}

/// The number of texts in the cache of the person.
fn count_texts(person: &Client) -> usize {
    let teams = person.root().join(".cache/prompt-expander/team");
    let Some(Ok(team)) = fs::read_dir(teams).ok().and_then(|mut teams| teams.next()) else {
        return 0;
    };
    let texts = fs::read_dir(team.path().join("texts"))
        .into_iter()
        .flatten();
    texts
        .filter(|text| {
            text.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|end| end == "json")
        })
        .count()
}

#[test]
fn a_list_says_how_old_it_is_when_the_server_is_gone() {
    let person = {
        let server = server(&TEAM);
        let person = person(&server);
        assert_eq!(person.words("list").stderr, "");
        person
    };
    make_list_old(&person, 5);
    let Ran { stdout, stderr, .. } = person.words("list");
    assert!(stdout.contains("review"), "{stdout}");
    assert!(
        stderr.contains("cannot be reached: Connection refused")
            && stderr.contains("the team's prompts are those of"),
        "{stderr}"
    );
}

#[test]
fn a_server_that_never_answers_is_waited_for_once_by_a_hook_with_several_prompts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let asked = || std::iter::from_fn(|| listener.accept().ok()).count();
    let person = person_with(&format!("http://{}", listener.local_addr().unwrap()), "")
        .prompt("own.md", "Own");
    assert_eq!(listed(&person), ["own user"]);
    assert_eq!(asked(), 1);
    assert!(hook(&person, ":own and :other").contains("Own"));
    assert_eq!(listed(&person), ["own user"]);
    assert_eq!(asked(), 0);
}

#[test]
fn only_a_request_for_a_prompt_of_the_team_is_counted_among_those_that_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut person = person_with(&format!("http://{}", listener.local_addr().unwrap()), "")
        .prompt("own.md", "Own");
    person.initialize(LEGACY);
    let request = |id: usize| {
        let (method, params) = match id % 3 {
            0 => ("prompts/get", json!({ "name": "own" })),
            1 => ("resources/read", json!({ "uri": "prompt://own" })),
            _ => (
                "tools/call",
                json!({ "name": "expand_prompt", "arguments": { "command": "own", "input": "" } }),
            ),
        };
        format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        )
    };
    person.send((0..90).map(request).collect::<String>());
    for id in 0..90 {
        let response = person.read();
        assert_eq!(
            (&response["id"], &response["error"]),
            (&json!(id), &Value::Null),
            "{response}"
        );
    }
}

#[test]
fn edits_of_the_teams_prompts_go_to_the_server_with_the_persons_token() {
    let server = server(&TEAM);
    let person = person(&server);
    let there = |file: &str| fs::read_to_string(server.home.prompts().join(file)).ok();
    let page = |name: &str| format!("{}/prompts/{name}\n", url(&server));
    let created = person.run(
        ["new", "--team", "team/standup"],
        "What was done: {{input}}\n",
    );
    assert_eq!(output(created), page("team/standup"));
    assert!(
        there("team/standup.md")
            .unwrap()
            .ends_with("What was done: {{input}}\n")
    );
    assert_eq!(
        listed(&person),
        ["git/onboarding team", "review team", "team/standup team"]
    );
    let typo = person.run(
        ["new", "--team", "git/typo"],
        "---\ninclude: true\n---\n{{inptu}}\n{{> parts/_style}}",
    );
    assert!(
        typo.status.success() && typo.stderr.contains("`{{inptu}}` is not a placeholder"),
        "{typo:?}"
    );
    output(person.words("rm --yes git/typo"));
    let again = person
        .run(["new", "--team", "team/standup"], "Other")
        .stderr;
    assert!(
        again.contains("there is already a prompt named `team/standup`"),
        "{again}"
    );
    let person = person.variable("EDITOR", "sed -i s/done/planned/");
    assert_eq!(
        output(person.words("edit team/standup")),
        page("team/standup")
    );
    assert!(
        there("team/standup.md")
            .unwrap()
            .contains("What was planned")
    );
    assert!(
        person
            .words("edit team/standup")
            .stderr
            .contains("nothing was changed")
    );
    let person = person.variable("EDITOR", "sh -c 'echo --- > \"$0\"'");
    let broken = person.words("edit team/standup").stderr;
    assert!(
        broken.contains("is never closed") && broken.contains("your text is in "),
        "{broken}"
    );
    assert_eq!(
        output(person.words("mv team/standup team/daily")),
        page("team/daily")
    );
    assert!(
        there("team/standup.md").is_none() && there("team/daily.md").unwrap().contains("planned")
    );
    assert_eq!(
        output(person.words("rm --yes team/daily")),
        page("team/daily")
    );
    assert_eq!(there("team/daily.md"), None);
    assert_eq!(
        output(person.words("restore team/daily")),
        page("team/daily")
    );
    let history = person.words("history team/daily").stdout;
    let done: Vec<&str> = history
        .lines()
        .flat_map(|line| line.split('\t').skip(2).take(2))
        .collect();
    assert_eq!(
        done,
        ["restored", "edit", "deleted", "edit", "created", "edit"]
    );
    assert!(
        fs::read_dir(person.prompts()).unwrap().next().is_none(),
        "nothing is written here"
    );
    let own = person.prompt("mine.md", "Mine");
    output(own.words("rm --yes mine"));
    assert_eq!(
        listed(&own),
        ["git/onboarding team", "review team", "team/daily team"]
    );
}

#[test]
fn a_prompt_that_has_changed_meanwhile_is_not_overwritten_and_the_text_of_the_person_stays() {
    let server = server(&TEAM);
    let file = server.home.prompts().join("review.md");
    // Somebody else is faster.
    let editor = format!(
        "sh -c 'echo Mine >> \"$0\"; echo Theirs > {}'",
        file.display()
    );
    let person = person(&server).variable("EDITOR", &editor);
    output(person.words("list"));
    let error = person.words("edit review").stderr;
    let what_next = "`review` has changed since you read it, so nothing was written; run `prompt-expander edit review` again";
    assert!(error.contains(what_next), "{error}");
    let (message, differences) = error.split_once("\n\n--- as you read it\n").unwrap();
    let (theirs, mine) = differences.split_once("\n--- as you read it\n").unwrap();
    let made = "+++ as it is now, written by somebody at 20";
    assert!(
        theirs.starts_with(made) && theirs.contains("\n+Theirs\n"),
        "{error}"
    );
    let made = "+++ as you have written it\n";
    assert!(
        mine.starts_with(made) && mine.ends_with("\n+The team's review: {{input}}Mine\n"),
        "{error}"
    );
    let kept = message.split("your text is in ").nth(1).unwrap();
    assert_eq!(
        fs::read_to_string(kept).unwrap(),
        "The team's review: {{input}}Mine\n"
    );
    fs::remove_file(kept).unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), "Theirs\n");
}

#[test]
fn a_token_that_may_only_read_writes_nothing() {
    let server = server_with_token_file();
    let person = person_with(&url(&server), "team-token-env = 'TEAM_TOKEN'")
        .variable("TEAM_TOKEN", "a-token-for-reading");
    person.words("expand review x").printed("Review x\n");
    let refused = person.run(["new", "--team", "other"], "Other").stderr;
    assert!(
        refused.contains("needs a token with the role `write`"),
        "{refused}"
    );
    assert!(
        person
            .words("rm --yes review")
            .stderr
            .contains("role `write`")
    );
    assert_eq!(listed(&person), ["review team"]);
}

#[test]
fn a_token_with_a_typing_error_deletes_nothing_from_the_cache() {
    let server = server_with_token_file();
    let person = person_with(&url(&server), "team-token-file = 'secret'");
    let token = person.root().join(".config/prompt-expander/secret");
    write_secret(&token, "a-token-for-reading");
    person.words("expand review x").printed("Review x\n");
    write_secret(&token, "a-token-for-raeding");
    person.words("expand review y").printed("Review y\n");
    assert_eq!(listed(&person), ["review team"]);
    assert!(doctor(&person).contains("answered 401 Unauthorized"));
    write_secret(&token, "a-token-for-reading");
    assert!(doctor(&person).ends_with("answers, and you have the role `read`"));
    person.words("expand review z").printed("Review z\n");
}

#[test]
fn a_huge_list_takes_little_memory() {
    const LENGTH: usize = 15 * 1024 * 1024;
    let entry = |members: &str| format!("{{\"name\":\"a\"{members}}}");
    let arguments = format!(",\"arguments\":[{}]", vec![entry(""); 90].join(","));
    let tags = format!(",\"tags\":[{}]", vec!["\"\""; 80_000].join(","));
    for (what, item, want) in [
        (
            "empty entries",
            "{}".to_owned(),
            "more than 200,000 prompts",
        ),
        ("arguments", entry(&arguments), "500,000 arguments"),
        ("tags", entry(&tags), "choices and tags"),
        (
            "lists in lists",
            format!("[{}]", ["[]"; 99].join(",")),
            "cannot read",
        ),
        (
            "one long entry",
            format!("[{}]", vec!["0"; LENGTH / 2].join(",")),
            "longer than 256 KiB",
        ),
    ] {
        let count = LENGTH / (item.len() + 1) + 1;
        let list = vec![item; count].join(",");
        let list = response(
            "200 OK",
            "application/json",
            &format!("{{\"prompts\":[{list}]}}"),
        );
        let service = Service::answering(list);
        // In KiB: ten times the length of the list, with all else that the program needs.
        let person = person_with(&service.url(), "").after("ulimit -v 190000");
        let error = person.words("expand a").stderr;
        assert!(error.contains(want), "{what}: {error}");
    }
}

#[test]
fn prompts_that_the_teams_server_renders_take_no_thread_from_others() {
    let list = json!({ "prompts": [{ "name": "slow", "layer": "service", "source": "/x.json" }] });
    let (asked, all_asked) = channel();
    let service = Service::start(move |request: &Request| {
        if request.head.contains("/api/expand") {
            asked.send(()).unwrap();
            thread::park(); // as a server that never answers
        }
        response("200 OK", "application/json", &list.to_string())
    });
    let person = person_with(&service.url(), "").prompt("mine.md", "Mine: {{input}}");
    assert_eq!(listed(&person), ["mine user", "slow team"]);
    let own = HttpServer::start_with(person, &["--edit"]);
    let authorization = format!("Bearer {}", own.edit_token());
    let slow = r#"{"command":"slow"}"#;
    let request = format!(
        "POST /api/expand HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Authorization: {authorization}\r\nContent-Length: {}\r\n\r\n{slow}",
        slow.len()
    );
    let threads = 2 * thread::available_parallelism().unwrap().get();
    let mut waiting = Vec::new();
    for _ in 0..threads {
        let mut connection = TcpStream::connect(own.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        waiting.push(connection);
        all_asked.recv().unwrap();
    }
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", &authorization),
    ];
    let mine = own.send(
        "POST",
        "/api/expand",
        &headers,
        r#"{"command":"mine","input":"x"}"#,
    );
    assert_eq!(mine.json()["prompt"], "Mine: x");
    for mut connection in waiting {
        connection.set_nonblocking(true).unwrap();
        let error = connection.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "all others still wait");
    }
}

#[test]
fn the_cached_texts_of_a_token_that_is_no_longer_valid_are_deleted() {
    let server = server_with_token_file();
    let person = person_with(&url(&server), "team-token-file = 'secret'");
    let token = person.root().join(".config/prompt-expander/secret");
    write_secret(&token, "a-token-for-reading\n");
    person.words("expand review x").printed("Review x\n");
    let is_kept = || {
        fs::read_dir(person.root().join(".cache/prompt-expander/team"))
            .unwrap()
            .next()
            .is_some()
    };
    assert!(is_kept());
    write_secret(
        server.home.root().join("tokens"),
        "another-token-for-reading name=bo",
    );
    let authorization = [("Authorization", "Bearer a-token-for-reading")];
    while server.send("GET", "/api/me", &authorization, "").status != 401 {}
    let error = person.words("expand review x").stderr;
    assert!(
        error.contains("401") && !error.contains("a-token-for-reading"),
        "{error}"
    );
    assert!(!is_kept());
    assert_eq!(listed(&person), [""; 0]);
    assert!(doctor(&person).contains("answered 401 Unauthorized"));
    write_secret(&token, "another-token-for-reading");
    person.words("expand review x").printed("Review x\n");
    assert!(doctor(&person).ends_with("answers, and you have the role `read`"));
    fs::remove_file(token).unwrap();
    person.words("expand review x").printed("Review x\n");
    assert!(
        is_kept(),
        "a token that cannot be read is not one that is refused"
    );
}

#[test]
fn the_cache_and_the_token_are_only_for_the_person() {
    let server = server(&TEAM);
    let person = person(&server);
    output(person.words("expand review x"));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(cache(&person)), 0o700);
    let token = person.root().join(".config/prompt-expander/team-token");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    let Ran { stdout, stderr, .. } = person.words("list");
    assert!(
        stdout.is_empty() && stderr.contains("`team` is not used: other users may read its token"),
        "{stderr}"
    );
}

#[test]
fn what_only_the_server_can_render_is_expanded_there() {
    let desk = "openapi: 3.1.0\npaths: { /brief: { get: { operationId: brief, x-mcp-prompt: {},\n  parameters: [{ name: on, in: query, \
                schema: { type: string } }], responses: { '200': { description: Text } } } } }";
    let service = Service::start(|request| {
        response("200 OK", "text/plain", request.head.lines().next().unwrap())
    });
    let home = Client::new().prompt(
        "skill/SKILL.md",
        "---\nname: skill\ndescription: A skill\n---\nScripts",
    );
    fs::write(home.root().join("desk.yaml"), desk).unwrap();
    fs::create_dir_all(home.root().join(".claude/commands")).unwrap();
    fs::write(
        home.root().join(".claude/commands/fix.md"),
        "Fix $1 of $ARGUMENTS",
    )
    .unwrap();
    fs::write(
        home.prompts().join("map.md"),
        "---\nattachments: [_map.txt]\n---\nThe map",
    )
    .unwrap();
    fs::write(home.prompts().join("_map.txt"), "North").unwrap();
    let base = base(&service);
    let server = HttpServer::start_with(
        home,
        &[
            "--prompts",
            ".claude/commands",
            "--openapi",
            "desk.yaml",
            "--openapi-base",
            &base,
        ],
    );
    let person = person_with(&url(&server), "");
    assert_eq!(
        listed(&person),
        ["brief team", "fix team", "map team", "skill team"]
    );
    for (command, input) in [
        ("fix", "a b"),
        ("skill", "x"),
        ("map", "x"),
        ("brief", "on=Monday"),
    ] {
        let want = format!("{}\n", expanded_there(&server, command, input));
        person.run(["expand", command, input], "").printed(&want);
    }
    assert!(expanded_there(&server, "map", "").contains("North"));
    service.requests();
    assert!(hook(&person, ":brief on=Monday").contains("which a service renders on request"));
    output(person.run(["explain", "brief", "on=Monday"], ""));
    assert_eq!(service.requests(), []);
}

#[test]
fn a_prompt_of_the_team_cannot_read_files_of_the_person() {
    let answer = |body: &Value| response("200 OK", "application/json", &body.to_string());
    let service = Service::start(move |request: &Request| {
        let names = ["absolute", "above", "attached"];
        let entry = |name: &&str| json!({ "name": name, "layer": "user", "source": format!("/p/{name}.md") });
        let text = |text: &str| answer(&json!({ "text": text }));
        match request.head.split(' ').nth(1).unwrap() {
            "/api/prompts/absolute" => text("---\ninclude: true\n---\n{{> /etc/hosts.md}}"),
            "/api/prompts/above" => {
                text("---\ninclude: true\n---\n{{> ../../../../prompts/own.md}}")
            }
            "/api/prompts/attached" => text("---\nattachments: [own.md]\n---\nText"),
            "/api/expand" => answer(&json!({ "prompt": "From there" })),
            _ => answer(&json!({ "prompts": names.iter().map(entry).collect::<Vec<_>>() })),
        }
    });
    let person = person_with(&service.url(), "").prompt("own.md", "s3cret");
    for name in ["absolute", "above"] {
        let Ran { stdout, stderr, .. } = person.run(["expand", name], "");
        assert!(
            stdout.is_empty() && stderr.contains("cannot be included: there is no such file"),
            "{stderr}"
        );
    }
    person.words("expand attached").printed("From there\n");
}

#[test]
fn ones_own_server_shows_the_team_to_an_admin_only_and_to_no_team_layer() {
    let there = server(&TEAM);
    let person = person(&there).prompt("own.md", "Own");
    output(person.words("list"));
    let own = HttpServer::start_with(person, &["--edit"]);
    let token = format!("Bearer {}", own.edit_token());
    let names = |headers: &[(&str, &str)]| {
        let list = own.send("GET", "/api/prompts", headers, "").json();
        let names = list["prompts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|prompt| prompt["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<String>>().join(" ")
    };
    assert_eq!(names(&[]), "own");
    assert_eq!(
        names(&[("Authorization", &token)]),
        "git/onboarding own review"
    );
    assert_eq!(
        names(&[("Authorization", &token), ("x-prompt-expander-team", "1")]),
        "own"
    );
    assert_eq!(own.send("GET", "/api/prompts/review", &[], "").status, 404);
}

#[test]
fn a_client_is_notified_when_the_team_changes_a_prompt() {
    let server = server(&TEAM);
    let mut person = person(&server);
    output(person.words("list"));
    person.initialize(LEGACY);
    person.list();
    person.request("prompts/list", json!({}));
    server.home.write("new.md", "New");
    while !person.names().contains("new") {
        person.notification();
    }
    person.ignore_notifications();
    // Its text is there without having been used.
    while count_texts(&person) < 3 {}
}

/// The address of a server that never ends its answers, and how much of each it could send.
fn endless() -> (String, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, sent) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, piece) = (stream.unwrap(), [b' '; 64 * 1024]);
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
            let pieces = std::iter::repeat_with(|| stream.write_all(&piece))
                .take_while(Result::is_ok)
                .count();
            _ = sender.send(pieces * piece.len()); // the test may have ended
        }
    });
    (url, sent)
}

#[test]
fn a_broken_prompt_of_the_team_is_named_in_lists_and_says_what_is_wrong() {
    let server = server(&[
        ("git/broken.md", "---\ndescription: x"),
        ("fine.md", "Fine"),
    ]);
    let person = person(&server);
    let Ran { stdout, stderr, .. } = person.words("list");
    let why = "the frontmatter that line 1 opens with `---` is never closed";
    assert!(
        stdout.starts_with("fine\t") && stdout.lines().count() == 1,
        "{stdout}"
    );
    assert!(
        stderr.contains(&format!("{}/prompts/git/broken:1:1: {why}", url(&server))),
        "{stderr}"
    );
    let json: Value = serde_json::from_str(&person.words("list --json").stdout).unwrap();
    assert_eq!(json["problems"][0]["name"], "git/broken");
    for command in ["check", "explain", "expand"] {
        let Ran { stdout, stderr, .. } = person.run([command, "git/broken"], "");
        assert!((stdout + &stderr).contains(why), "{command}: {stderr}");
    }
    assert!(hook(&person, ":git/broken").contains(why));
    output(
        person
            .variable("EDITOR", "sed -i '$a\\---'")
            .words("edit git/broken"),
    );
    assert_eq!(
        fs::read_to_string(server.home.prompts().join("git/broken.md")).unwrap(),
        "---\ndescription: x\n---\n"
    );
}

#[test]
fn the_path_after_the_address_of_a_server_is_named_as_the_mistake() {
    let service = Service::answering(response("404 Not Found", "text/plain", "no"));
    let fix = format!(
        "but not with JSON; in the settings file, use `{}`",
        service.url()
    );
    for path in ["/ws", "/sse", "//mcp"] {
        let person = person_with(&format!("{}{path}", service.url()), "");
        let Ran { stderr, .. } = person.words("list");
        assert!(stderr.contains(&fix), "{path}: {stderr}");
    }
}

#[test]
fn what_is_no_server_of_a_team_is_named_and_its_redirect_is_not_followed() {
    let untouched = TcpListener::bind("127.0.0.1:0").unwrap();
    untouched.set_nonblocking(true).unwrap();
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        untouched.local_addr().unwrap()
    );
    for (answer, want) in [
        (
            response("200 OK", "text/html", "<html>"),
            "answered 200 OK, but not with JSON; in the settings file, use the address",
        ),
        (
            redirect,
            "answered 302 Found, but not with JSON; in the settings file, use the address",
        ),
        (
            response("200 OK", "application/json", "[]"),
            "sent a reply that this program cannot read",
        ),
        (
            response("404 Not Found", "application/json", "[]"),
            "answered 404 Not Found",
        ),
        (
            response("502 Bad Gateway", "text/html", "<html>"),
            "502 Bad Gateway, but not with JSON; try again later",
        ),
        (
            response("503 Service Unavailable", "application/json", "{}"),
            "answered 503 Service Unavailable",
        ),
        ("nonsense".to_owned(), "cannot be reached"),
    ] {
        let service = Service::answering(answer);
        let person = person_with(&service.url(), "").prompt("own.md", "Own");
        for _ in 0..2 {
            let Ran { stdout, stderr, .. } = person.words("list");
            assert!(
                stdout.starts_with("own\t") && stderr.contains(want),
                "{stderr}"
            );
        }
        let said = doctor(&person);
        assert!(said.contains(want.split(';').next().unwrap()), "{said}");
    }
    assert_eq!(
        untouched.accept().unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    let (url, sent) = endless();
    let said = doctor(&person_with(&url, ""));
    assert!(said.contains("answered with more than 64 MiB"), "{said}");
    assert!(sent.iter().take(1).all(|bytes| bytes < 100_000_000));
    let identity = Authority::new().issue(|_| {});
    let service = Service::start_tls(&identity, |_| String::new());
    let said = doctor(&person_with(
        &format!("https://localhost:{}", service.address.port()),
        "",
    ));
    assert!(
        said.contains("cannot be reached") && said.to_lowercase().contains("certificate"),
        "{said}"
    );
}

#[test]
fn the_address_that_the_server_prints_for_agents_is_that_of_the_team_too() {
    let server = server(&[("onboarding.md", "Welcome {{input}}")]);
    for path in ["", "/", "/mcp", "/mcp/"] {
        let person = person_with(&format!("{}{path}", url(&server)), "");
        assert_eq!(listed(&person), ["onboarding team"], "{path:?}");
    }
}

#[test]
fn an_address_that_may_not_be_the_teams_is_a_problem_and_nothing_is_asked() {
    for (url, settings, want) in [
        (
            "http://prompts.example.com",
            "",
            "`team` is not used: it must begin with https://",
        ),
        (
            "https://ana:s3cret@prompts.example.com",
            "",
            "must not have a user name",
        ),
        ("prompts.example.com", "", "must be a whole address"),
    ] {
        let person = person_with(url, settings).prompt("own.md", "Own");
        let Ran { stdout, stderr, .. } = person.words("list");
        assert!(
            stdout.starts_with("own\t") && stderr.contains("config.toml:3:8: "),
            "{stderr}"
        );
        assert!(
            stderr.contains(want) && !stderr.contains("s3cret"),
            "{stderr}"
        );
        assert!(!person.root().join(".cache").exists());
    }
    // A repository cannot name a team.
    let project = Client::new()
        .arguments(["--config", "config.toml"])
        .working_in("repository");
    fs::write(
        project.root().join("repository/config.toml"),
        "team = 'https://localhost:1'",
    )
    .unwrap();
    assert!(
        project
            .words("list")
            .stderr
            .contains("`team` is not taken from a file inside a project")
    );
}

#[test]
fn mv_of_a_prompt_that_somebody_has_changed_is_refused_as_a_whole() {
    let server = server(&[("old.md", "Text.")]);
    let (mine, other) = (person(&server), person(&server));
    for person in [&mine, &other] {
        assert_eq!(listed(person), ["old team"]);
    }
    let other = other.variable("EDITOR", "sed -i s/Text/Changed/");
    output(other.words("edit old"));
    mine.words("mv old new")
        .says(1, &["`old` has changed since you read it"]);
    let there = |file: &str| fs::read_to_string(server.home.prompts().join(file)).ok();
    assert_eq!(
        (there("old.md").as_deref(), there("new.md")),
        (Some("Changed."), None)
    );
    output(mine.words("mv old new"));
    assert_eq!(
        (there("old.md"), there("new.md").as_deref()),
        (None, Some("Changed."))
    );
}

/// A person without a team, with these settings.
fn newcomer(settings: &str) -> Client {
    let person = Client::new().arguments([]);
    person.put(".config/prompt-expander/config.toml", settings);
    person
}

/// The folder with the cached prompts of teams.
const CACHE: &str = ".cache/prompt-expander/team";

/// The files in the folder of the settings, with their modes and texts.
fn settings_files(person: &Client) -> Vec<(String, u32, String)> {
    let entries = fs::read_dir(person.root().join(".config/prompt-expander")).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let name = entry.file_name().into_string().unwrap();
            (name, mode, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn who_joins_a_team_has_its_prompts_and_who_leaves_has_nothing_of_it() {
    let server = server_with_token_file();
    let url = url(&server);
    let settings =
        "# Mine.\nbuiltin = false # none\nteam-token-env = 'OLD'\n\n[[openapi]]\nfile = 'x'\n";
    let person = newcomer(settings);
    person.words("team status").says(
        1,
        &["you are in no team; join one with `prompt-expander team join URL`"],
    );
    person.run(["new", "review", "--team"], "Review").says(
        1,
        &["there is no team; join one with `prompt-expander team join URL`"],
    );
    let membership = format!("{url}: 1 prompt; you are known as `ana`, with the role `read`");
    person
        .run(
            ["team", "join", &format!("{url}/mcp")],
            "a-token-for-reading\n",
        )
        .says(0, &[&format!("joined {membership}; restart your agents")]);
    let [(_, _, config), (token_file, mode, token)] = &settings_files(&person)[..] else {
        panic!("two files")
    };
    assert_eq!(
        *config,
        format!("# Mine.\nbuiltin = false # none\nteam = \"{url}\"\n\n[[openapi]]\nfile = 'x'\n")
    );
    assert_eq!(
        (&**token_file, *mode, &**token),
        ("team-token", 0o600, "a-token-for-reading\n")
    );
    assert_eq!(
        output(person.words("team status")),
        format!("{membership}\n")
    );
    assert_eq!(
        person.words("team status --json").json(),
        json!({ "url": url, "name": "ana", "role": "read", "prompts": 1 })
    );
    assert_eq!(output(person.words("expand review x")), "Review x\n");
    person
        .run(["team", "join", "http://localhost:1"], "x")
        .says(
            1,
            &[&format!(
                "you are in the team of {url}; run `prompt-expander team leave` first"
            )],
        );
    person
        .words("team leave")
        .says(0, &[&format!("left the team of {url}: ")]);
    let [(_, _, config)] = &settings_files(&person)[..] else {
        panic!("one file")
    };
    assert_eq!(*config, settings.replace("team-token-env = 'OLD'\n", ""));
    assert!(!person.root().join(CACHE).exists());
    person.words("team leave").says(1, &["you are in no team"]);
}

#[test]
fn who_leaves_a_team_has_no_cache_of_it_even_if_the_token_cannot_be_used() {
    let server = server_with_token_file();
    let person = newcomer("");
    person
        .run(["team", "join", &url(&server)], "a-token-for-reading\n")
        .says(0, &["joined"]);
    let token_file = person.root().join(".config/prompt-expander/team-token");
    set_mode(&token_file, 0o644);
    person.words("team leave").says(0, &["left the team: "]);
    assert!(!person.root().join(CACHE).exists());
}

#[test]
fn a_token_that_the_server_refuses_changes_no_settings() {
    let server = server_with_token_file();
    let person = newcomer("builtin = false\n");
    let before = settings_files(&person);
    for (token, want) in [
        (
            "wrong",
            "answered 401 Unauthorized: the token is missing or not valid",
        ),
        ("", "answered 401 Unauthorized"),
        ("two words", "a token is one word"),
        ("“quoted”", "a token is one word of ASCII characters"),
    ] {
        person
            .run(["team", "join", &url(&server)], token)
            .says(1, &[want]);
        assert_eq!(settings_files(&person), before, "{token}");
    }
    let error = person.run(["team", "join", "https://ana:s3cret@localhost"], "x");
    assert!(!error.stderr.contains("s3cret"), "{error:?}");
    error.says(1, &["must not have a user name"]);
}

#[test]
fn a_token_can_be_typed_and_is_not_shown() {
    let server = server_with_token_file();
    let person = Client::new().arguments([]);
    let line = format!("$PROGRAM team join {}", url(&server));
    let Some(mut typing) = Typing::started(&person, 100, &line) else {
        return;
    };
    typing.until(&format!("Token for {}: ", url(&server)));
    typing.keys("a-token-for-reading\n");
    let shown = typing.end();
    assert!(
        !shown.contains("a-token") && shown.contains("known as `ana`"),
        "{shown}"
    );
    person.words("expand review x").printed("Review x\n");
}

#[test]
fn ctrl_c_after_the_typed_token_ends_the_wait_for_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let person = Client::new().arguments([]);
    let line = format!(
        "$PROGRAM team join http://{}",
        listener.local_addr().unwrap()
    );
    let Some(mut typing) = Typing::started(&person, 100, &line) else {
        return;
    };
    typing.until("Token for ");
    typing.keys("a-token-for-reading\n");
    let _never_answered = listener.accept().unwrap();
    typing.keys("\x03");
    let shown = typing.end();
    assert!(!shown.contains("did not answer"), "{shown}");
}

#[test]
fn a_read_only_settings_file_is_joined_with_only_if_it_names_the_team_already() {
    let server = server_with_token_file();
    for (settings, exit_code, want) in [
        (String::new(), 1, "it is read-only"),
        (format!("team = '{}'\n", url(&server)), 0, "known as `ana`"),
    ] {
        let person = newcomer(&settings);
        set_mode(person.path(".config/prompt-expander/config.toml"), 0o444);
        person
            .run(["team", "join", &url(&server)], "a-token-for-reading")
            .says(exit_code, &[want]);
        let has_token = person.path(".config/prompt-expander/team-token").exists();
        assert_eq!(has_token, exit_code == 0, "{settings}");
    }
}

#[test]
fn ctrl_d_instead_of_a_token_changes_no_settings() {
    let server = server(&TEAM);
    let person = newcomer("builtin = false\n");
    let before = settings_files(&person);
    let line = format!("$PROGRAM team join {}", url(&server));
    let Some(mut typing) = Typing::started(&person, 100, &line) else {
        return;
    };
    typing.until("Token for ");
    typing.keys("\x04");
    let shown = typing.end();
    assert!(
        shown.contains("the token cannot be read from the terminal"),
        "{shown}"
    );
    assert_eq!(settings_files(&person), before);
}

#[test]
fn a_server_without_tokens_is_joined_without_one_and_a_token_of_a_file_is_copied() {
    let server = server(&TEAM);
    let person = Client::new().arguments([]);
    let join = |arguments: &[&str], stdin: &str| {
        let url = url(&server);
        let words = ["team", "join", &url];
        person.run([words.as_slice(), arguments].concat(), stdin)
    };
    join(&[], "").says(
        0,
        &["2 prompts; you are not known by name, with the role `read`"],
    );
    assert_eq!(settings_files(&person).len(), 1);
    write_secret(person.path("token"), &server.edit_token());
    join(&["--token-file", "token"], "").says(0, &["known as `edit`, with the role `admin`"]);
    assert_eq!(
        settings_files(&person)[1].2,
        format!("{}\n", server.edit_token())
    );
    join(&[], "").says(0, &["not known by name"]);
    assert_eq!(settings_files(&person).len(), 1);
}
