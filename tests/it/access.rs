//! Who may use the server over HTTP: tokens, roles and prefixes; names of the server and origins of
//! web pages; rate limits.

use crate::client::{Client, set_mode};
use crate::http_client::{Answer, HttpServer, USUAL, request};
use crate::postgres::{folder_and_store, save};
use prompt_expander::jsonrpc::Message;
use prompt_expander::library::{Caller, Library, Prefix, Role};
use prompt_expander::server::{Reply, Server, Session, Settings};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
#[cfg(feature = "store")]
use {
    crate::postgres::store_of,
    prompt_expander::sources::{Address, Postgres},
};

const ANA: &str = "the-token-of-ana-who-may-do-everything";
const TEAM_A: &str = "the-token-of-team-a-who-sees-its-own";

/// A folder with prompts of two teams, and a file with a token of each kind.
fn home() -> Client {
    let home = Client::new()
        .prompt("team-a/report.md", "Report {{input}}")
        .prompt("team-b/secret.md", "Secret");
    write_tokens(
        &home,
        &format!("{ANA} name=ana role=admin\n{TEAM_A} name=team-a prefix=team-a/\n"),
    );
    home
}

fn write_tokens(home: &Client, text: &str) {
    let (path, new) = (home.path("tokens"), home.path("tokens.new"));
    fs::write(&new, text).unwrap();
    set_mode(&new, 0o600);
    fs::rename(new, path).unwrap();
}

fn server() -> HttpServer {
    start(&[])
}

fn start(arguments: &[&str]) -> HttpServer {
    HttpServer::start_with(home(), &[&["--token-file", "tokens"], arguments].concat())
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn post(server: &HttpServer, token: &str, body: impl AsRef<[u8]>) -> Answer {
    server.post_with(&[("Authorization", &bearer(token))], body)
}

/// Posts until the status is this one.
#[track_caller]
fn await_status(server: &HttpServer, token: &str, status: u16) -> Answer {
    for _ in 0..10_000 {
        let answer = post(server, token, PING);
        if answer.status == status {
            return answer;
        }
        std::thread::yield_now();
    }
    panic!("the status is never {status}");
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn without_tokens_only_this_machine_is_served() {
    let home = Client::new();
    let ran = home.words("serve --http 0.0.0.0:0");
    ran.failed(1, "error: 0.0.0.0:0 can be reached from other machines, where anyone could read your prompts; add --token-file FILE with a line from `prompt-expander token add NAME`, or listen on 127.0.0.1:0\n");
}

#[test]
fn a_request_without_a_valid_token_is_told_what_to_do() {
    let server = server();
    let none = server.post(PING);
    assert_eq!((none.status, none.error()), (401, 401));
    assert_eq!(
        none.header("www-authenticate"),
        Some(r#"Bearer realm="prompt-expander""#)
    );
    assert!(
        none.json()["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("this server needs a bearer token; set one")
    );
    let wrong = post(&server, "wrong", PING);
    assert_eq!(wrong.status, 401);
    assert_eq!(
        wrong.header("www-authenticate"),
        Some(r#"Bearer realm="prompt-expander", error="invalid_token""#)
    );
    for (method, path) in [("GET", "/mcp"), ("DELETE", "/mcp")] {
        assert_eq!(
            server
                .send(method, path, &[("Accept", "text/event-stream")], "")
                .status,
            401
        );
    }
    assert_eq!(post(&server, ANA, PING).json()["result"], json!({}));
    // Nothing may look like an authorization server: a client would use that instead of telling its
    // user about the token.
    for (method, path) in [
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/openid-configuration"),
        ("POST", "/register"),
    ] {
        let answer = server.send(method, path, &[], "");
        assert!(
            answer.status == 404 && !answer.text().contains("jsonrpc"),
            "{path}: {answer:?}"
        );
    }
}

#[test]
fn a_token_file_that_cannot_be_used_is_refused_with_the_line_and_what_to_do() {
    let home = home();
    let path = home.path("tokens");
    let serve = || home.words("serve --http 127.0.0.1:0 --token-file tokens");
    fs::write(&path, format!("# people\n{ANA} role=root\n")).unwrap();
    serve().failed(
        1,
        "error: tokens, line 2: the role must be `read`, `write` or `admin`\n",
    );
    fs::write(&path, "# nobody\n").unwrap();
    serve().failed(
        1,
        "error: tokens has no token; `prompt-expander token add NAME --token-file FILE` adds one\n",
    );
    fs::write(&path, ANA).unwrap();
    set_mode(&path, 0o644);
    serve().failed(
        1,
        "error: others can read or change the token file tokens: run `chmod 600 tokens`\n",
    );
    fs::remove_file(&path).unwrap();
    crate::client::make_fifo(&path);
    serve().failed(
        1,
        "error: tokens is not a file; --token-file needs one with a token on each line\n",
    );
    let program = Client::new().arguments([]);
    fs::create_dir(program.path("tokens")).unwrap();
    program.words("token list --json --token-file tokens").failed(
        1,
        "{\"error\":\"tokens is not a file; --token-file needs one with a token on each line\"}\n",
    );
}

#[test]
fn what_token_add_prints_lets_its_owner_in() {
    let home = home();
    let program = Client::new().arguments([]);
    let added = program.run(
        [
            "token",
            "add",
            "bo",
            "--prefix",
            "team-a/",
            "--expires",
            "90d",
            "--json",
        ],
        "",
    );
    let added = added.json();
    let (token, line) = (
        added["token"].as_str().unwrap(),
        added["line"].as_str().unwrap(),
    );
    assert!(
        line.starts_with("sha256:") && line.contains(" name=bo role=read prefix=team-a/ expires=2"),
        "{line}"
    );
    assert!(
        token.starts_with("pex_") && !line.contains(token),
        "{token}"
    );
    home.put("tokens", format!("{line}\n"));
    set_mode(home.path("tokens"), 0o644); // others may read hashes
    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    assert!(
        server
            .page
            .ends_with("; editing is on for tokens with the role `write` or `admin`"),
        "{}",
        server.page
    );
    let browser = server.send("GET", "/mcp", &[("Accept", "text/html")], "");
    assert_eq!(
        (browser.status, browser.header("location")),
        (303, Some("./")),
        "the page asks for a token"
    );
    assert_eq!(post(&server, token, PING).status, 200);
    let ran = program.run(["token", "add", "bo"], "");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines.len() == 2
            && lines[0].starts_with("pex_")
            && lines[1].ends_with(" name=bo role=read"),
        "{lines:?}"
    );
    for invalid in [
        ["--expires", "2001-01-01"],
        ["--prefix", "team-a"],
        ["--role", "root"],
    ] {
        let ran = program.run([["token", "add", "x"].as_slice(), &invalid].concat(), "");
        assert_eq!(ran.status.code(), Some(2), "{invalid:?}");
    }
}

#[test]
fn tokens_are_added_to_a_file_listed_and_removed_while_a_server_uses_it() {
    let home = Client::new().arguments([]);
    let file = home.path("tokens");
    let text = || fs::read_to_string(&file).unwrap();
    let token = |line: &str| {
        home.run(
            ["token"]
                .into_iter()
                .chain(line.split(' '))
                .chain(["--token-file", "tokens"]),
            "",
        )
    };
    let added = token("add ana --role write");
    let (ana, said) = (added.stdout.trim_end().to_owned(), &added.stderr);
    assert!(
        ana.starts_with("pex_")
            && !ana.contains('\n')
            && *said
                == "ana types: prompt-expander team join URL, and pastes this token, which is shown only once\n\
                    its hash is in tokens\n",
        "{added:?}"
    );
    assert!(
        !text().contains(&ana) && text().ends_with(" name=ana role=write\n"),
        "{}",
        text()
    );
    // The lines of the file stay, and a last one without its end gets it.
    fs::write(
        &file,
        format!(
            "\u{feff}# people\r\n{}{TEAM_A} prefix=team-a/ expires=2001-01-01",
            text()
        ),
    )
    .unwrap();
    set_mode(&file, 0o600);
    let bo = token("add bo --json").stdout;
    let bo: Value = serde_json::from_str(&bo).unwrap();
    let lines = text();
    assert!(
        lines.ends_with(&format!(
            "expires=2001-01-01\n{}\n",
            bo["line"].as_str().unwrap()
        )),
        "{lines}"
    );
    assert_eq!(
        std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file).unwrap()) & 0o777,
        0o600
    );
    let taken = "error: tokens has a token named `bo`; choose another name, or run `prompt-expander token remove bo --token-file tokens`\n";
    token("add bo").failed(1, taken);
    assert_eq!(text(), lines);

    let listed = token("list").stdout;
    let unnamed = listed
        .lines()
        .find_map(|line| line.strip_suffix("\tread\tteam-a/\t2001-01-01"))
        .unwrap()
        .to_owned();
    assert_eq!(
        listed,
        format!("ana\twrite\t\t\n{unnamed}\tread\tteam-a/\t2001-01-01\nbo\tread\t\t\n")
    );
    let listed = token("list --json").json();
    assert_eq!(listed["tokens"][0], json!({"name": "ana", "role": "write"}));
    assert_eq!(listed["tokens"][1]["expires"], "2001-01-01");
    token("remove nobody").failed(
        1,
        "error: tokens has no token named `nobody`; `prompt-expander token list --token-file tokens` shows all\n",
    );

    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    let token = |line: &str| {
        server.home.run(
            ["token"]
                .into_iter()
                .chain(line.split(' '))
                .chain(["--token-file", "tokens"]),
            "",
        )
    };
    assert_eq!(post(&server, &ana, PING).status, 200);
    token("remove ana").says(0, &[]);
    token(&format!("remove {unnamed}")).says(0, &[]);
    await_status(&server, &ana, 401);
    assert_eq!(
        post(&server, bo["token"].as_str().unwrap(), PING).status,
        200
    );
    assert_eq!(
        text(),
        format!("\u{feff}# people\r\n{}\n", bo["line"].as_str().unwrap())
    );
    token("remove bo").says(0, &[]);
    await_status(&server, bo["token"].as_str().unwrap(), 401);
}

#[test]
fn a_changed_token_file_counts_at_once_and_a_broken_one_not_at_all() {
    let server = server();
    let listening = |token: &str| {
        let authorization = [("Authorization", &*bearer(token))];
        let session = server.initialize_with("2025-11-25", &authorization);
        let in_session = [&authorization[..], &[("Mcp-Session-Id", &session)]].concat();
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(server.post_with(&in_session, body).status, 202);
        server.stream_with(&session, &authorization)
    };
    let (mut of_ana, mut of_team_a) = (listening(ANA), listening(TEAM_A));
    write_tokens(
        &server.home,
        &format!("{ANA} name=ana role=admin\n{TEAM_A} name=team-a prefix=team-b\n"),
    );
    assert_eq!(
        server.stderr_line(),
        "warning: tokens, line 2: `prefix` must end in a slash, such as `team-a/`; until then, the previous \
         version is used"
    );
    assert_eq!(post(&server, TEAM_A, PING).status, 200);
    write_tokens(
        &server.home,
        &format!("{ANA} name=ana role=admin\n{TEAM_A}-new\n"),
    );
    let answer = await_status(&server, TEAM_A, 401);
    assert!(
        answer.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("is wrong")
    );
    assert_eq!(post(&server, &format!("{TEAM_A}-new"), PING).status, 200);
    while let Some(event) = of_team_a.next() {
        assert_eq!(
            event.data, "",
            "nothing but comments before its stream ends"
        );
    }
    server
        .home
        .save("team-a/report.md", "---\ndescription: new\n---\nx");
    of_ana.message();
    write_tokens(&server.home, "");
    await_status(&server, ANA, 401);
}

/// The library of a client, in this process.
fn library(home: &Client) -> Library {
    #[cfg(feature = "store")]
    if let Some(url) = store_of(home) {
        let store = Postgres::open(Address::parse(&url).unwrap()).unwrap();
        store.wait_for_first_load().unwrap();
        return Library::default().with_store(Arc::new(store));
    }
    Library::named([home.prompts()])
}

#[test]
fn a_prompt_that_a_caller_may_not_see_changes_no_answer_to_them() {
    let report =
        "---\ntags: [x]\narguments:\n  - name: a\n    choices: [one, two]\n---\nReport {{a}}";
    let home = || {
        Client::new()
            .prompt("team-a/report.md", report)
            .prompt("team-a/broken.md", "---\ndescription: x")
    };
    for home in folder_and_store(home) {
        let server = Server::new(Arc::new(library(&home).with_builtin()), Settings::default());
        let of_team_a = Caller {
            role: Role::Read,
            prefix: Some(Prefix::new("team-a/").unwrap()),
            ..Caller::local()
        };
        let named = |name: &str| {
            let uri = format!("prompt://{name}");
            let call = |tool: &str, arguments: Value| {
                ("tools/call", json!({"name": tool, "arguments": arguments}))
            };
            let complete = |reference: Value, argument: &str, value: &str| {
                (
                    "completion/complete",
                    json!({"ref": reference, "argument": {"name": argument, "value": value}}),
                )
            };
            vec![
                ("tools/list", json!({})),
                ("prompts/list", json!({})),
                ("prompts/list", json!({"filter": {"query": name}})),
                ("prompts/list", json!({"limit": 1})),
                ("prompts/get", json!({"name": name})),
                call("list_prompts", json!({})),
                call("list_prompts", json!({"query": name, "limit": 1})),
                call("list_prompts", json!({"tag": "hidden"})),
                call("expand_prompt", json!({"command": name, "input": ""})),
                call(
                    "expand_prompt",
                    json!({"command": format!(":{}", name.to_uppercase()), "input": ""}),
                ),
                call(
                    "expand_prompt",
                    json!({"command": format!("{name} and text"), "input": ""}),
                ),
                call(
                    "expand_prompt",
                    json!({"command": name.replace('e', ""), "input": ""}),
                ),
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({"uri": uri})),
                ("resources/subscribe", json!({"uri": uri})),
                ("resources/unsubscribe", json!({"uri": uri})),
                complete(json!({"type": "ref/prompt", "name": name}), "a", ""),
                complete(
                    json!({"type": "ref/resource", "uri": "prompt://{+name}"}),
                    "name",
                    "",
                ),
                complete(
                    json!({"type": "ref/resource", "uri": "prompt://{+name}"}),
                    "name",
                    &name[..2],
                ),
                complete(json!({"type": "ref/resource", "uri": uri}), "name", ""),
            ]
        };
        let hidden = [
            "team-b/secret",
            "secret",
            "team-abc/secret",
            "TEAM-A/secret",
            "team-b/team-a/secret",
            "team-b/broken",
        ];
        let shown = ["team-a/report", "team-a/broken", "report"];
        let answers = |caller: &Caller| {
            let mut answers = String::new();
            for (method, params) in hidden
                .into_iter()
                .chain(shown)
                .chain(["research"])
                .flat_map(named)
            {
                let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                let message = Message::parse(line.to_string().as_bytes()).unwrap();
                let Reply::Response(response) =
                    server.handle(&mut Session::new(caller.clone()), message)
                else {
                    panic!("{method}")
                };
                answers.push_str(&format!("{params} -> {}\n", response.as_json()));
            }
            answers
        };
        let before = answers(&of_team_a);
        for name in &hidden[..5] {
            let text = "---\ndescription: hidden\ntags: [hidden]\narguments: [a]\n---\nX";
            save(&home, &format!("{name}.md"), text);
        }
        for (path, text) in [
            ("team-b/broken.md", "---\ndescription: x"),
            ("team-b/bad\\name.md", "x"),
            ("a\nb.md", "x"),
        ] {
            save(&home, path, text);
        }
        while server.library().view().list().problems.len() < 2 {} // until a store has told
        let after = answers(&of_team_a);
        for (before, after) in before.lines().zip(after.lines()) {
            assert_eq!(before, after);
        }
        assert!(after.contains("Report {{a}}") && !after.contains("Research the topic below"));
        let all = answers(&Caller::local());
        assert!(
            all.contains("\"name\":\"team-b/secret\"") && all.contains("Research the topic below")
        );
    }
}

#[test]
fn the_prefix_of_a_token_counts_in_both_eras() {
    let server = server();
    for token in [ANA, TEAM_A] {
        let legacy = post(&server, token, request(1, "prompts/list", json!({})));
        let mut connection = server.connect();
        connection.write_modern(
            "1",
            "prompts/list",
            json!({}),
            &[("Authorization", &bearer(token))],
        );
        for list in [legacy.text(), connection.read().text()] {
            assert!(
                list.contains("team-a/report") && list.contains("team-b/secret") == (token == ANA),
                "{list}"
            );
        }
    }
}

#[test]
fn a_change_of_a_prompt_that_a_token_may_not_see_is_no_news() {
    for home in folder_and_store(home) {
        let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
        let listen = |token: &str| {
            let subscribed = ["prompt://team-b/secret", "prompt://team-a/report"];
            let params = json!({"notifications": {
                "promptsListChanged": true, "toolsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": subscribed
            }});
            let mut connection = server.connect();
            connection.write_modern(
                "1",
                "subscriptions/listen",
                params,
                &[("Authorization", &bearer(token))],
            );
            let mut events = connection.into_events();
            assert_eq!(events.methods(1), ["subscriptions/acknowledged"]);
            events
        };
        let (mut of_ana, mut of_team_a) = (listen(ANA), listen(TEAM_A));
        let session = server.initialize_with("2025-11-25", &[("Authorization", &bearer(TEAM_A))]);
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(
            server
                .post_with(
                    &[
                        ("Mcp-Session-Id", &session),
                        ("Authorization", &bearer(TEAM_A))
                    ],
                    body
                )
                .status,
            202
        );
        let mut legacy = server.stream_with(&session, &[("Authorization", &bearer(TEAM_A))]);
        // Right after the start, everything may be announced to everybody.
        save(
            &server.home,
            "team-a/report.md",
            "---\ndescription: 1\n---\nReport",
        );
        of_team_a.methods(4);
        legacy.methods(3);
        save(&server.home, "team-b/secret.md", "changed");
        save(&server.home, "team-b/new.md", "new");
        of_ana.methods(6);
        save(
            &server.home,
            "team-a/report.md",
            "---\ndescription: 2\n---\nReport",
        );
        let lists = [
            "prompts/list_changed",
            "resources/list_changed",
            "tools/list_changed",
        ];
        let told = of_team_a.methods(4);
        assert!(
            lists.iter().all(|list| told.contains(&(*list).to_owned()))
                && told[2] == "resources/updated",
            "{told:?}"
        );
        assert_eq!(legacy.methods(3), lists);
    }
}

#[test]
fn a_token_with_a_prefix_hears_of_no_folder_or_partial_outside_of_it() {
    let server = server();
    let listen = |token| {
        let mut connection = server.connect();
        let params = json!({"notifications": {"promptsListChanged": true}});
        let headers = [("Authorization", &*bearer(token))];
        connection.write_modern("1", "subscriptions/listen", params, &headers);
        let mut events = connection.into_events();
        assert_eq!(events.methods(1), ["subscriptions/acknowledged"]);
        events
    };
    let (mut of_ana, mut of_team_a) = (listen(ANA), listen(TEAM_A));
    let prompts = server.home.prompts();
    let outside: [fn(&std::path::Path); 7] = [
        |prompts| fs::create_dir(prompts.join("team-b/new")).unwrap(),
        |prompts| fs::write(prompts.join("team-b/new/SKILL.md"), "Skill").unwrap(),
        |prompts| fs::rename(prompts.join("team-b/new"), prompts.join("team-b/old")).unwrap(),
        |prompts| fs::remove_dir_all(prompts.join("team-b/old")).unwrap(),
        |prompts| fs::write(prompts.join("team-b/_part.md"), "Part").unwrap(),
        |prompts| fs::create_dir(prompts.join("team-c")).unwrap(),
        |prompts| fs::write(prompts.join("team-b\\.md"), "A name that none can have").unwrap(),
    ];
    for change in outside {
        change(&prompts);
        of_ana.methods(1);
    }
    fs::create_dir(prompts.join("team-a/new")).unwrap();
    of_team_a.methods(1);
    server.stop();
    assert_eq!(of_team_a.message()["result"]["resultType"], "complete");
}

#[test]
fn a_token_with_a_prefix_gets_the_text_of_included_files_and_nothing_else_of_them() {
    let home = home()
        .prompt(
            "team-a/both.md",
            "---\ninclude: true\n---\n{{> ../shared/style.md}}",
        )
        .prompt(
            "shared/style.md",
            "---\ndescription: internal\ninclude: true\n---\nStyle\n{{> deeper.md}}",
        )
        .prompt("shared/deeper.md", "---\ntags: [internal]\n---\nDeeper");
    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    for (token, sees_all) in [(ANA, true), (TEAM_A, false)] {
        let authorization = bearer(token);
        let headers = [&USUAL[..], &[("Authorization", &authorization)]].concat();
        let shown = server.send("GET", "/api/prompts/team-a/both", &headers, "");
        let style = &shown.json()["includes"][0]["text"];
        assert_eq!(shown.text().contains("internal"), sees_all, "{style}");
        assert!(style.as_str().unwrap().ends_with("Style\n{{> deeper.md}}"));
        let body = json!({"command": "team-a/both"}).to_string();
        let explained = server.send("POST", "/api/explain", &headers, body);
        assert_eq!(explained.json()["text"], "Style\nDeeper");
        assert_eq!(explained.text().contains("/shared/"), sees_all);
    }
}

#[test]
fn an_error_in_an_included_file_says_nothing_of_it_to_a_token_that_may_not_see_it() {
    let included = "---\ninclude: true\n---\n{{> ../shared/bad.md}}";
    let home = home()
        .prompt("team-a/both.md", included)
        .prompt("shared/bad.md", "---\ninternal: x\nText");
    let server = HttpServer::start_with(home, &["--token-file", "tokens"]);
    let call = json!({"command": "team-a/both", "input": ""});
    let tool = |name, arguments| {
        request(
            1,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        )
    };
    let get = request(1, "prompts/get", json!({"name": "team-a/both"}));
    let messages = [
        tool("expand_prompt", call.clone()),
        tool("list_prompts", json!({})),
        get,
    ];
    for (token, sees_all) in [(ANA, true), (TEAM_A, false)] {
        let authorization = bearer(token);
        let headers = [&USUAL[..], &[("Authorization", &authorization)]].concat();
        let mut answers: Vec<Answer> = messages.iter().map(|it| post(&server, token, it)).collect();
        answers.push(server.send("GET", "/api/prompts", &headers, ""));
        for path in ["/api/expand", "/api/explain"] {
            answers.push(server.send("POST", path, &headers, call.to_string()));
        }
        for answer in answers {
            let text = answer.text();
            assert_eq!(text.contains("bad.md"), sees_all, "{text}");
            assert_eq!(
                text.contains("includes from outside `team-a/`"),
                !sees_all,
                "{text}"
            );
        }
    }
}

#[test]
fn a_session_belongs_to_its_token() {
    let server = server();
    let session = server.initialize_with("2025-11-25", &[("Authorization", &bearer(ANA))]);
    let with = |token| {
        server
            .post_with(
                &[
                    ("Mcp-Session-Id", &session),
                    ("Authorization", &bearer(token)),
                ],
                PING,
            )
            .status
    };
    assert_eq!((with(ANA), with(TEAM_A)), (200, 404));
}

#[test]
fn a_client_whose_token_gets_another_prefix_is_told_of_the_change_when_it_comes_back() {
    let server = server();
    let authorization = [("Authorization", &*bearer(TEAM_A))];
    let session = server.initialize_with("2025-11-25", &authorization);
    let in_session = [&authorization[..], &[("Mcp-Session-Id", &session)]].concat();
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(server.post_with(&in_session, body).status, 202);
    let mut stream = server.stream_with(&session, &authorization);
    write_tokens(
        &server.home,
        &format!("{TEAM_A} name=team-a prefix=team-b/\n"),
    );
    while stream.next().is_some() {} // it ends
    let last = stream.last_id.clone();
    let mut stream = server.stream_with(
        &session,
        &[&authorization[..], &[("Last-Event-ID", &last)]].concat(),
    );
    assert_eq!(
        stream.methods(3),
        [
            "prompts/list_changed",
            "resources/list_changed",
            "tools/list_changed"
        ]
    );
}

#[test]
fn only_names_of_this_server_are_answered_to() {
    let server = HttpServer::start_with(Client::new(), &["--allow-host", "prompts.example.com"]);
    for (host, status) in [
        ("localhost:3333", 200),
        ("prompts.example.com", 200),
        ("evil.example.com", 403),
    ] {
        let answer = server.post_with(&[("Host", host)], PING);
        assert_eq!(answer.status, status, "{host}");
        if status == 403 {
            assert!(
                answer.json()["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("(allow-host)")
            );
        }
    }
    for path in [
        "/mcp",
        "/api/prompts",
        "/health",
        "/ready",
        "/metrics",
        "/",
        "/page/page.js",
        "/nowhere",
    ] {
        let rebound = [("Host", "evil.example.com")];
        assert_eq!(server.send("GET", path, &rebound, "").status, 403, "{path}");
        for hosts in ["", "Host: localhost\r\nHost: localhost\r\n"] {
            let mut connection = server.connect();
            connection.write_raw(format!("GET {path} HTTP/1.1\r\n{hosts}\r\n"));
            assert_eq!(
                connection.read().status,
                400,
                "{path} {hosts:?}: HTTP/1.1 has one Host"
            );
        }
    }
    let ran = server
        .home
        .words("serve --http :0 --allow-host *.example.com");
    ran.says(2, &["it must be a name"]);
}

#[test]
fn only_allowed_web_pages_are_answered_to_and_can_read_the_answer() {
    let server = start(&["--allow-origin", "https://app.example.com"]);
    for (origin, status) in [
        ("http://localhost:5173", 200),
        ("https://app.example.com", 200),
        ("https://evil.example.com", 403),
    ] {
        let answer = server.post_with(&[("Origin", origin), ("Authorization", &bearer(ANA))], PING);
        assert_eq!(answer.status, status, "{origin}");
        let allowed = (status == 200).then_some(origin);
        assert_eq!(answer.header("access-control-allow-origin"), allowed);
        assert!(answer.header("vary").unwrap().contains("origin"));
    }
    let without_token = server.post_with(&[("Origin", "https://app.example.com")], PING);
    assert_eq!(without_token.status, 401);
    assert_eq!(
        without_token.header("access-control-allow-origin"),
        Some("https://app.example.com")
    );
    let asked = [
        ("Origin", "https://app.example.com"),
        ("Access-Control-Request-Method", "PUT"),
    ];
    let answer = server.send("OPTIONS", "/api/prompts/a", &asked, "");
    assert_eq!(
        (answer.status, answer.header("access-control-allow-methods")),
        (200, Some("GET,POST,PUT,DELETE"))
    );
    assert!(
        answer
            .header("access-control-allow-headers")
            .unwrap()
            .contains("mcp-session-id")
    );
    let asked = [
        ("Origin", "https://evil.example.com"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let answer = server.send("OPTIONS", "/mcp", &asked, "");
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (403, None)
    );
    let ran = server.home.words("serve --http :0 --allow-origin *");
    ran.says(2, &["it must be the scheme"]);
}

/// The paths whose answers say something about prompts or the server; then those of the page.
const PATHS: [&str; 9] = [
    "/api/prompts/team-b/secret",
    "/mcp",
    "/page/page.js",
    "/page/page.css",
    "/metrics",
    "/ready",
    "/",
    "/prompts/team-b/secret",
    "/edit/team-b/secret",
];

#[test]
fn a_page_of_another_server_can_link_to_the_page_and_load_nothing() {
    let server = HttpServer::start(home());
    for path in PATHS {
        let is_page = matches!(path, "/" | "/prompts/team-b/secret" | "/edit/team-b/secret");
        for (site, mode, dest, is_answered) in [
            ("same-origin", "cors", "empty", true),
            ("none", "navigate", "document", true),
            ("cross-site", "no-cors", "object", false),
            ("cross-site", "no-cors", "script", false),
            ("cross-site", "no-cors", "empty", false),
            ("same-site", "no-cors", "image", false),
            ("cross-site", "navigate", "object", false),
            ("cross-site", "navigate", "iframe", false),
            ("cross-site", "navigate", "document", is_page),
            ("same-site", "navigate", "document", is_page),
            ("other", "no-cors", "empty", false),
        ] {
            let headers = [
                ("Accept", "text/html,*/*"),
                ("Sec-Fetch-Site", site),
                ("Sec-Fetch-Mode", mode),
                ("Sec-Fetch-Dest", dest),
            ];
            let answer = server.send("GET", path, &headers, "");
            assert_eq!(answer.status != 403, is_answered, "{path} {headers:?}");
        }
        let program = server.send("GET", path, &[], "");
        assert_ne!(program.status, 403, "{path}");
    }
}

#[test]
fn no_answer_can_be_shown_within_a_page_of_another_server() {
    let server = HttpServer::start(home());
    let answers = PATHS
        .map(|path| server.send("GET", path, &[], ""))
        .into_iter()
        .chain([
            server.post(PING),
            server.send("GET", "/api/prompts", &[("Host", "evil.example.com")], ""),
            server.send("GET", "/nothing", &[], ""),
        ]);
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        let resource_policy = answer.header("cross-origin-resource-policy");
        assert_eq!(resource_policy, Some("same-origin"));
    }
}

#[test]
fn more_messages_than_a_limit_allows_are_refused_with_when_to_try_again() {
    let server = start(&["--rate-limit", "prompts/list=1/minute,burst=1"]);
    let list = request(7, "prompts/list", json!({}));
    assert_eq!(post(&server, ANA, &list).status, 200);
    let answer = post(&server, ANA, &list);
    assert_eq!(
        (answer.status, answer.error(), &answer.json()["id"]),
        (429, 429, &json!(7))
    );
    assert!(answer.header("retry-after").is_some());
    assert_eq!(
        post(&server, TEAM_A, &list).status,
        200,
        "each token has its own"
    );
    let all = start(&["--rate-limit", "2/minute"]);
    let statuses = ["{", "{", "{"].map(|body| post(&all, ANA, body).status);
    assert_eq!(statuses, [400, 400, 429], "what is not JSON counts, too");
    let ran = server
        .home
        .words("serve --http :0 --rate-limit prompts/lists=1/minute");
    ran.says(2, &["`completion/complete`"]);
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let server = HttpServer::start_with(Client::new(), &["--max-body", "1KiB"]);
    let body = |length: usize| format!("{PING:<length$}");
    assert_eq!(server.post(body(1024)).status, 200);
    let answer = server.post(body(1025));
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("(max-body)"));
}

#[test]
fn a_token_is_never_logged() {
    let server = start(&["--log-level", "trace", "--log-file", "log"]);
    let session = server.initialize_with("2025-11-25", &[("Authorization", &bearer(ANA))]);
    post(&server, ANA, PING);
    post(&server, "a-wrong-token-of-someone", PING);
    server.send(
        "POST",
        "/mcp",
        &[&USUAL[..], &[("Authorization", "Basic YTpi")]].concat(),
        PING,
    );
    write_tokens(&server.home, &format!("{ANA} role=root"));
    server.stderr_line();
    let home = server.stop();
    let log = home.text("log");
    assert!(
        log.contains("ping") && log.contains("refused a bearer token"),
        "{log}"
    );
    for secret in [ANA, TEAM_A, "a-wrong-token-of-someone", "YTpi", &session] {
        assert!(!log.contains(secret), "{secret}");
    }
}
