//! The API over HTTP: JSON of what commands print, with the checks of MCP before it.

use crate::client::{Client, assert_contains, names};
use crate::http_client::{Answer, HttpServer, write_secret};
use crate::postgres::{folder_and_store, text_of};
use prompt_expander::library::HOW_TO_ALLOW_EDITS;
use serde_json::{Value, json};
use std::fs;

const JSON: (&str, &str) = ("Content-Type", "application/json");

const ANA: &str = "the-token-of-ana-who-may-do-everything";
const TEAM_A: &str = "the-token-of-team-a-who-sees-its-own";

fn server() -> HttpServer {
    let two = "---\ndescription: Two\ntags: [work]\narguments: [{name: a, required: true}, {name: b, choices: [x]}]\n---\n{{a}} {{b}}";
    HttpServer::start(
        Client::new()
            .prompt("two.md", two)
            .prompt("git/commit.md", "Commit {{input}}")
            .prompt("broken.md", "---\n"),
    )
}

fn with_tokens() -> HttpServer {
    let hidden = "---\ndescription: secret\ntags: [secret]\n---\nSecret";
    let home = Client::new()
        .prompt("team-a/report.md", "Report {{input}}")
        .prompt("team-b/secret.md", hidden);
    let home = home.prompt("team-b/broken-secret.md", "---\n");
    write_secret(
        home.path("tokens"),
        &format!("{ANA} role=admin\n{TEAM_A} prefix=team-a/\n"),
    );
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

fn get(server: &HttpServer, path: &str) -> Answer {
    server.send("GET", path, &[], "")
}

fn post(server: &HttpServer, path: &str, body: Value) -> Answer {
    server.send("POST", path, &[JSON], body.to_string())
}

/// Why a request failed.
#[track_caller]
fn failed(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{}", answer.text());
    answer.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_list_is_selected_by_words_tag_and_owner() {
    let server = server();
    assert_eq!(
        server.page,
        format!(
            "the page is at http://{}/; editing is off, and `--edit` turns it on",
            server.address
        )
    );
    assert_eq!(
        failed(&get(&server, "/api/prompt"), 404),
        "the API has nothing at this address. The endpoint for MCP clients is /mcp"
    );
    for (path, want) in [
        ("/api/prompts", "git/commit two"),
        ("/api/prompts?query=commit", "git/commit"),
        ("/api/prompts?query=%3Agit&mine=false", "git/commit"),
        ("/api/prompts?tag=WORK&mine=true", "two"),
        ("/api/prompts?query=two+commit", ""),
    ] {
        assert_eq!(names(&get(&server, path).json()["prompts"]), want, "{path}");
    }
    let list = get(&server, "/api/prompts");
    let two = &list.json()["prompts"][1];
    assert_eq!(
        (&two["usage"], &two["arguments"][1]["choices"]),
        (&":two a=… [b=…]".into(), &json!(["x"]))
    );
    assert_eq!(list.json()["problems"][0]["severity"], "error");
    assert_eq!(
        (
            list.header("cache-control"),
            list.header("x-content-type-options")
        ),
        (Some("no-store"), Some("nosniff"))
    );
}

#[test]
fn a_prompt_is_shown_by_its_name_in_the_path() {
    let server = server();
    for path in [
        "/api/prompts/git/commit",
        "/api/prompts/git%2Fcommit",
        "/api/prompts/:git:commit",
    ] {
        let shown = get(&server, path).json();
        assert_eq!(
            (&shown["name"], &shown["text"]),
            (&"git/commit".into(), &"Commit {{input}}".into()),
            "{path}"
        );
        assert_eq!(
            (&shown["marks"], &shown["arguments"], &shown["takes_input"]),
            (&json!([[7, 16]]), &json!([]), &json!(true))
        );
    }
    assert_eq!(get(&server, "/api/prompts/broken").json()["text"], "---\n");
    assert_eq!(
        failed(&get(&server, "/api/prompts/none"), 404),
        "no prompt named `none`"
    );
    assert_eq!(
        (
            get(&server, "/api/prompts/").status,
            get(&server, "/api/prompts/%ff").status
        ),
        (404, 400)
    );
    for outside in [
        "/api/prompts/../tokens",
        "/api/prompts/%2e%2e%2ftokens",
        "/api/prompts//etc/passwd",
    ] {
        assert_eq!(get(&server, outside).status, 404, "{outside}");
    }
}

#[test]
fn a_call_is_a_text_or_words_or_values_by_name() {
    let server = server();
    for (call, want) in [
        (json!({"command": "two", "input": "x y"}), "x y "),
        (json!({"command": "two", "input": "a=1 b=x"}), "1 x"),
        (json!({"command": "two", "input": ["1", "2"]}), "1 2 "),
        (
            json!({"command": "two", "arguments": {"a": "1", "b": "x"}}),
            "1 x",
        ),
        (
            json!({"command": ":git:commit", "input": ["a", "b"]}),
            "Commit a b",
        ),
    ] {
        let answer = post(&server, "/api/expand", call.clone()).json();
        assert_eq!(answer, json!({ "prompt": want }), "{call}");
        let explained = post(&server, "/api/explain", call).json();
        assert_eq!(explained["expansion"]["bytes"], want.len());
    }
    let damaged = "\u{feff}{\"command\":\"two\",\"input\":\"half \\ud83d\"}";
    let answer = server.send("POST", "/api/expand", &[JSON], damaged).json();
    assert_eq!(answer["prompt"], "half \u{fffd} ");
    let warned = post(
        &server,
        "/api/expand",
        json!({"command": "two", "arguments": {"a": "1", "b": "y"}}),
    )
    .json();
    assert!(
        warned["warnings"][0]
            .as_str()
            .unwrap()
            .starts_with("`y` is not a choice for `b`"),
        "{warned}"
    );
}

#[test]
fn what_cannot_be_expanded_says_why() {
    let server = server();
    for (call, status, why) in [
        (json!({"command": "none"}), 404, "no prompt named `none`"),
        (
            json!({"command": "two"}),
            422,
            "`two` cannot be expanded: it needs a value for `a`; write `:two a=… [b=…]`",
        ),
        (
            json!({"command": "two", "arguments": {"c": "1"}}),
            422,
            "`two` cannot be expanded: it has no argument `c`; it takes `a` and `b`",
        ),
    ] {
        assert_eq!(failed(&post(&server, "/api/expand", call), status), why);
    }
    assert!(
        failed(
            &post(&server, "/api/expand", json!({"command": "broken"})),
            422
        )
        .contains("broken.md")
    );
    // An explanation says it as a part of itself.
    let explained = post(&server, "/api/explain", json!({"command": "two"}));
    assert_eq!(
        (explained.status, explained.json()["error"].as_str()),
        (
            200,
            Some("it needs a value for `a`; write `:two a=… [b=…]`")
        )
    );
}

#[test]
fn a_mistake_in_the_request_is_an_error_that_names_it() {
    let server = server();
    let body = |body: &str| server.send("POST", "/api/expand", &[JSON], body);
    for (text, why) in [
        ("", "EOF while parsing a value"),
        (
            "{\"command\": \"two\", \"inptu\": \"x\"}",
            "unknown field `inptu`, expected one of `command`, `input`",
        ),
        (
            "{\"command\": \"two\", \"input\": 1}",
            "expected a string or a list of strings",
        ),
        (
            "{\"command\": \"two\", \"arguments\": {\"a\": 1}}",
            "invalid type: integer `1`, expected a string",
        ),
        (
            &format!("{{\"command\": {}", "[".repeat(100_000)),
            "invalid type: sequence, expected a string",
        ),
    ] {
        let why_not = failed(&body(text), 400);
        assert!(
            why_not.starts_with("the body cannot be read: ") && why_not.contains(why),
            "{text:.100}: {why_not}"
        );
    }
    for (path, why) in [
        (
            "/api/prompts?quary=x",
            "unknown field `quary`, expected one of `query`, `tag`, `mine`",
        ),
        (
            "/api/prompts?mine=1",
            "provided string was not `true` or `false`",
        ),
    ] {
        let why_not = failed(&get(&server, path), 400);
        assert_contains(&why_not, why);
    }
    assert_eq!(get(&server, "/api/other").status, 404);
    assert_eq!(
        server.send("PATCH", "/api/prompts/two", &[], "").status,
        405
    );
    let form = server.send(
        "POST",
        "/api/expand",
        &[("Content-Type", "text/plain")],
        "{\"command\":\"two\"}",
    );
    assert_eq!(
        failed(&form, 415),
        "the body must be JSON, with the header `Content-Type: application/json`"
    );
    let list = server.send("POST", "/api/expand", &[JSON], "[\"two\"]");
    assert_eq!(
        failed(&list, 400),
        "the body must be a JSON object, not a list"
    );
    let compressed = [JSON, ("Content-Encoding", "gzip")];
    let compressed = server.send("POST", "/api/expand", &compressed, "{}");
    assert_contains(&failed(&compressed, 415), "Content-Encoding is `gzip`");
}

#[test]
fn the_checks_of_mcp_come_first() {
    let server = server();
    for header in [
        ("Host", "evil.example.com"),
        ("Origin", "https://evil.example.com"),
    ] {
        let body = "{\"command\":\"two\"}";
        for (method, path, body) in [
            ("GET", "/api/prompts/two", ""),
            ("POST", "/api/expand", body),
        ] {
            let answer = server.send(method, path, &[JSON, header], body);
            assert_eq!(answer.status, 403, "{path} {header:?}");
        }
    }
    drop(server);
    let server = HttpServer::start_with(
        Client::new().prompt("a.md", "A"),
        &["--rate-limit", "prompts/get=2/minute", "--max-body", "1KiB"],
    );
    let expand = || post(&server, "/api/expand", json!({"command": "a"}));
    assert_eq!(
        (
            expand().status,
            get(&server, "/api/prompts/a").status,
            expand().status
        ),
        (200, 200, 429)
    );
    assert!(expand().header("retry-after").is_some());
    assert_eq!(
        get(&server, "/api/prompts").status,
        200,
        "a list has another limit"
    );
    let long = server.send(
        "POST",
        "/api/expand",
        &[JSON],
        format!("{{\"command\":\"{}\"}}", "x".repeat(2_000)),
    );
    assert!(failed(&long, 413).starts_with("the body is longer than 1 KiB"));
}

#[test]
fn what_a_token_may_not_see_does_not_exist() {
    let server = with_tokens();
    let ask = |token: &str, method: &str, path: &str, body: Value| {
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        server.send(
            method,
            path,
            &[JSON, ("Authorization", &format!("Bearer {token}"))],
            body,
        )
    };
    for path in [
        "/api/prompts",
        "/api/prompts?query=secret",
        "/api/prompts?tag=secret",
        "/api/prompts/secret",
        "/api/prompts/team-b/secret",
        "/api/prompts/team-b/broken-secret",
    ] {
        assert!(
            ask(ANA, "GET", path, json!({})).text().contains("team-b/"),
            "{path}"
        );
        let answer = ask(TEAM_A, "GET", path, json!({}));
        assert!(
            !answer
                .text()
                .replace(path.rsplit('/').next().unwrap(), "")
                .contains("secret"),
            "{path}: {}",
            answer.text()
        );
    }
    for name in ["team-b/secret", "team-b/broken-secret"] {
        for path in ["/api/expand", "/api/explain"] {
            let failure = |name: &str| {
                failed(&ask(TEAM_A, "POST", path, json!({"command": name})), 404)
                    .replace(name, "NAME")
            };
            assert_eq!(failure(name), failure("team-b/other"));
        }
    }
    assert_eq!(server.send("GET", "/api/prompts", &[JSON], "").status, 401);
    assert_eq!(ask("wrong", "GET", "/api/prompts", json!({})).status, 401);
}

#[test]
fn requests_are_counted_and_recorded() {
    let server = HttpServer::start_with(Client::new().prompt("a.md", "A"), &["--tap", "tap"]);
    post(&server, "/api/expand", json!({"command": "a"}));
    post(&server, "/api/expand", json!({"command": "none"}));
    get(&server, "/api/prompts?query=a");
    let metrics = get(&server, "/metrics").text();
    for (method, outcome) in [
        ("api/expand", "ok"),
        ("api/expand", "error"),
        ("api/prompts", "ok"),
    ] {
        let line = format!(
            "requests_total{{transport=\"http\",method=\"{method}\",outcome=\"{outcome}\"}} 1"
        );
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    let record = fs::read_to_string(server.stop().root().join("tap")).unwrap();
    for entry in [
        " POST /api/expand {\"command\":\"a\"}\n",
        " {\"prompt\":\"A\"}\n",
        " GET /api/prompts?query=a",
    ] {
        assert!(record.contains(entry), "{entry} in {record}");
    }
}

const WRITER_A: &str = "the-token-of-somebody-of-team-a-who-writes";

/// A server with tokens of a writer of everything, of a writer of `team-a/`, and of a reader.
fn for_writers(home: Client) -> HttpServer {
    let tokens = format!(
        "{ANA} role=write name=ana\n{WRITER_A} role=write name=anton prefix=team-a/\n{TEAM_A} name=reader\n"
    );
    write_secret(home.path("tokens"), &tokens);
    HttpServer::start_with(home, &["--token-file", "tokens"])
}

fn ask(server: &HttpServer, token: &str, method: &str, path: &str, body: Value) -> Answer {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    server.send(
        method,
        path,
        &[JSON, ("Authorization", &format!("Bearer {token}"))],
        body,
    )
}

#[test]
fn a_text_that_is_not_saved_is_checked_and_expanded() {
    let server = for_writers(
        Client::new()
            .prompt("parts/_tone.md", "Be kind.")
            .prompt("other.md", "Other"),
    );
    let check = |draft: Value| ask(&server, ANA, "POST", "/api/check", draft);
    let file = "---\ninclude: true\narguments: [{name: a, required: true}]\n---\n{{> parts/_tone}}\nAbout {{a}} {{b}}.";
    let checked = check(json!({"command": "new", "file": file, "arguments": {"a": "x"}})).json();
    let preview = &checked["preview"];
    assert_eq!(
        (&preview["text"], &preview["partial"]),
        (&json!("Be kind.\nAbout x {{b}}."), &Value::Null)
    );
    assert_eq!(
        (&preview["marks"], &preview["gaps"], &preview["typed"]),
        (&json!([[15, 16]]), &json!([]), &json!(":new x"))
    );
    for (value, want) in [
        // In a chat, these would be commands of their own.
        ("x\n:other y", Value::Null),
        (":other y", Value::Null),
        ("x\n:-- y", json!(":new x\n:-- y")),
    ] {
        let checked =
            check(json!({"command": "new", "file": file, "arguments": {"a": value}})).json();
        assert_eq!(checked["preview"]["typed"], want);
    }
    assert_eq!(
        (&checked["arguments"][0]["name"], &checked["takes_input"]),
        (&json!("a"), &json!(false))
    );
    let problem = &checked["problems"][0];
    assert_eq!(
        (&problem["severity"], &problem["line"], &problem["column"]),
        (&json!("warning"), &json!(6), &json!(13))
    );
    assert!(
        problem["file"].as_str().unwrap().ends_with("new.md") && problem["repair"].is_string(),
        "{problem}"
    );

    let missing = check(json!({"command": "new", "file": file})).json();
    assert!(
        missing["preview"]["error"]
            .as_str()
            .unwrap()
            .contains("it needs a value for `a`"),
        "{missing}"
    );
    let missing = &missing["preview"];
    assert_eq!(
        (&missing["text"], &missing["partial"]),
        (&Value::Null, &json!("Be kind.\nAbout {{a}} {{b}}."))
    );
    assert_eq!(
        (&missing["marks"], &missing["gaps"]),
        (&json!([]), &json!([[15, 20]]))
    );
    assert_eq!(missing["typed"], ":new a=…");
    let broken = check(json!({"command": "new", "file": "---\ntitle: never closed\n"})).json();
    assert_eq!(
        (&broken["problems"][0]["severity"], &broken["problems"][1]),
        (&json!("error"), &Value::Null)
    );
    assert!(
        broken["preview"].is_null() && broken["arguments"].is_null(),
        "{broken}"
    );

    let why = failed(&check(json!({"command": "a b", "file": ""})), 422);
    assert_eq!(
        why,
        "`a b` cannot be the name of a prompt: a space ends a command in a chat; write `a-b`"
    );
    let why = failed(&check(json!({"command": "a"})), 400);
    assert_contains(&why, "missing field `file`");
    assert_eq!(
        get_with(&server, ANA, "/api/prompts/new").status,
        404,
        "nothing is written"
    );
}

#[test]
fn a_text_is_compared_with_the_file_as_it_is() {
    let server = for_writers(Client::new());
    let draft = json!({"command": "new", "file": "a\nmine\n", "current": "a\ntheirs\n"});
    let line = |kind: &str, text: &str| json!({"kind": kind, "text": text});
    let lines = [
        line("context", "a\n"),
        line("delete", "theirs\n"),
        line("insert", "mine\n"),
    ];
    assert_eq!(
        ask(&server, ANA, "POST", "/api/check", draft).json()["changes"],
        json!([{"lines": lines}])
    );
}

fn get_with(server: &HttpServer, token: &str, path: &str) -> Answer {
    ask(server, token, "GET", path, Value::Null)
}

#[test]
fn everyone_can_ask_who_they_are_and_what_they_may_do() {
    let server = for_writers(Client::new());
    let me = |token: &str| get_with(&server, token, "/api/me").json();
    let version = env!("CARGO_PKG_VERSION");
    let want = json!({"name": "ana", "role": "write", "prefix": null, "may_edit": true, "version": version});
    assert_eq!(me(ANA), want);
    assert_eq!(
        (&me(WRITER_A)["prefix"], &me(TEAM_A)["may_edit"]),
        (&json!("team-a/"), &json!(false))
    );
    assert_eq!(get_with(&server, "wrong", "/api/me").status, 401);
}

#[test]
fn a_text_of_a_caller_with_a_prefix_includes_and_attaches_nothing_outside_of_it() {
    let home = Client::new()
        .prompt("secret.md", "The secret.")
        .prompt("team-a/own.md", "Own text.");
    home.link("../secret.md", "prompts/team-a/link.md");
    let server = for_writers(home);
    let check = |token: &str, file: String| {
        let draft = json!({"command": "team-a/new", "file": file});
        ask(&server, token, "POST", "/api/check", draft).json()
    };
    let including = |path: &str| format!("---\ninclude: true\n---\n{{{{> {path}}}}}\n");
    let attaching = |path: &str| format!("---\nattachments: [{path}.md]\n---\nText\n");
    for path in ["../secret", "link", "../none"] {
        let checked = check(WRITER_A, including(path));
        let why = format!("`{path}` cannot be included: there is no such file in `team-a/`");
        assert_eq!(checked["problems"][0]["message"], why);
        assert!(checked["preview"].is_null(), "{checked}");
        let checked = check(WRITER_A, attaching(path));
        let why = format!(
            "the attachment `{path}.md` cannot be attached: there is no such file in `team-a/`"
        );
        assert_eq!(checked["problems"][0]["message"], why);
        assert!(checked["preview"]["text"].is_null(), "{checked}");
        let error = checked["preview"]["error"].as_str().unwrap();
        assert_contains(error, &why);
    }
    // For somebody who may see everything, the same texts are prompts.
    for (token, path, text) in [
        (WRITER_A, "own", "Own text."),
        (ANA, "../secret", "The secret."),
    ] {
        for file in [including(path), attaching(path)] {
            let preview = check(token, file)["preview"]["text"].to_string();
            assert_contains(&preview, text);
        }
    }
    // They may not give a prompt another name either.
    let draft = json!({"command": "team-b/new", "file": "x"});
    let why = failed(&ask(&server, WRITER_A, "POST", "/api/check", draft), 422);
    assert_eq!(why, "the name must begin with `team-a/`");
}

/// The revision that a write answers.
#[track_caller]
fn written(answer: &Answer, command: &str) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!(answer["command"], command, "{answer}");
    answer["revision"].as_str().unwrap().to_owned()
}

/// What is written for stores, too, is told in `edit.rs`.
#[test]
fn each_write_answers_the_revision_and_the_history_has_every_version() {
    const NAME: &str = "git/history";
    let server = for_writers(Client::new());
    let ask = |method: &str, path: &str, body: Value| ask(&server, ANA, method, path, body);
    let get = |path: &str| ask("GET", path, Value::Null);
    let file = || text_of(&server.home, "git/history.md");
    let path = "/api/prompts/git/history";
    let created = ask("POST", path, json!({"file": "One\n", "note": "a start"}));
    let first = written(&created, NAME);
    assert_eq!(file().unwrap(), "One\n");
    let updated = ask("PUT", path, json!({"file": "{{two}}\n", "expected": first}));
    let second = written(&updated, NAME);
    let warning = updated.json()["warnings"][0]["message"].to_string();
    assert_contains(&warning, "is not a placeholder");
    let restore = |body: Value| ask("POST", "/api/restore", body);
    assert_eq!(restore(json!({"command": NAME})).status, 409);
    let deleted = ask("DELETE", path, json!({"expected": second}));
    assert_eq!(written(&deleted, NAME), second);
    assert_eq!(file(), None);

    let history = get("/api/history/git/history").json();
    assert_eq!(history["revision"], Value::Null);
    assert_eq!(history["file"], Value::Null);
    for (index, operation, revision) in [
        (0, "delete", &second),
        (1, "update", &second),
        (2, "create", &first),
    ] {
        let version = &history["versions"][index];
        assert_eq!(version["operation"], operation);
        assert_eq!(version["revision"], json!(revision));
    }
    assert_eq!(history["versions"][2]["author"], "ana");
    assert_eq!(history["versions"][2]["note"], "a start");

    let restored = restore(json!({"command": NAME, "revision": first}));
    assert_eq!(written(&restored, NAME), first);
    assert_eq!(file().unwrap(), "One\n");
    let current = get("/api/history/git/history").json();
    assert_eq!(current["revision"], json!(first));
    assert_eq!(current["file"], "One\n");
    assert_eq!(current["changes"], Value::Null);
    let old = get(&format!("/api/history/git/history?revision={second}")).json();
    assert_eq!(old["revision"], json!(second));
    assert_eq!(old["file"], "{{two}}\n");
    let lines = json!([
        {"kind": "delete", "text": "One\n"},
        {"kind": "insert", "text": "{{two}}\n"},
    ]);
    assert_eq!(old["changes"], json!([{"lines": lines}]));
    let unknown = format!("/api/history/git/history?revision={}", "0".repeat(32));
    assert!(failed(&get(&unknown), 404).contains("has no version"));
}

#[test]
fn what_has_changed_since_it_was_read_is_not_overwritten() {
    let server = for_writers(Client::new().prompt("a.md", "One\n"));
    let ask = |method: &str, body: Value| ask(&server, ANA, method, "/api/prompts/a", body);
    let revision = || get_with(&server, ANA, "/api/history/a").json()["revision"].clone();
    let read = revision();
    server.home.write("a.md", "By hand\n");
    let update = json!({"file": "Two\n", "expected": read});
    for (method, body) in [
        ("PUT", update.clone()),
        ("DELETE", json!({"expected": read})),
    ] {
        let refused = ask(method, body);
        let why = failed(&refused, 409);
        assert_contains(&why, "`a` has changed since you read it");
        let error = &refused.json()["error"];
        assert_eq!(error["current"], revision());
        let is_update = method == "PUT";
        let diff = error["diff"].as_str().unwrap_or_default();
        assert_eq!(diff.contains("-By hand\n+Two\n"), is_update, "{error}");
    }
    let why = failed(&ask("PUT", json!({"file": "x"})), 400);
    assert_contains(&why, "the body has no `expected`");
    let why = failed(&ask("POST", json!({"file": "New"})), 409);
    assert!(
        why.starts_with("there is already a prompt named `a`"),
        "{why}"
    );
    assert_eq!(server.home.text("prompts/a.md"), "By hand\n");
    fs::remove_file(server.home.path("prompts/a.md")).unwrap();
    assert_eq!(failed(&ask("PUT", update), 404), "no prompt named `a`");
}

#[test]
fn what_cannot_be_a_prompt_is_not_written() {
    let server = for_writers(Client::new());
    let create = |path: &str, file: &str| ask(&server, ANA, "POST", path, json!({ "file": file }));
    let why = failed(&create("/api/prompts/..%2Fx", "x"), 422);
    assert_contains(&why, "cannot be the name of a prompt");
    let broken = create("/api/prompts/x", "---\ntitle: never closed\n");
    let why = failed(&broken, 422);
    assert_contains(&why, "x.md:1:1: ");
    let problem = &broken.json()["error"]["problem"];
    assert_eq!(problem["line"], 1);
    assert_eq!(problem["severity"], "error");
    let authorization = format!("Bearer {ANA}");
    for content_type in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
    ] {
        let headers = [
            ("Content-Type", content_type),
            ("Authorization", &authorization),
            ("Origin", "http://localhost:1"),
        ];
        let answer = server.send("POST", "/api/prompts/x", &headers, r#"{"file": "x"}"#);
        assert_eq!(answer.status, 415, "{content_type}");
    }
    assert_eq!(fs::read_dir(server.home.prompts()).unwrap().count(), 0);
}

#[test]
fn only_those_who_may_edit_write_or_see_the_history() {
    let home = || Client::new().prompt("a.md", "A");
    for (one, other) in folder_and_store(home)
        .into_iter()
        .zip(folder_and_store(home))
    {
        let (with_tokens, without) = (for_writers(one), HttpServer::start(other));
        let expected = "0".repeat(32);
        let requests = [
            ("POST", "/api/prompts/new", json!({"file": "x"})),
            (
                "PUT",
                "/api/prompts/a",
                json!({"file": "x", "expected": expected}),
            ),
            ("DELETE", "/api/prompts/a", json!({"expected": expected})),
            ("GET", "/api/history/a", Value::Null),
            ("POST", "/api/restore", json!({"command": "a"})),
            ("POST", "/api/check", json!({"command": "x", "file": "X"})),
        ];
        for (method, path, body) in requests {
            let refused = ask(&with_tokens, TEAM_A, method, path, body.clone());
            let why = "this needs a token with the role `write`, and yours has `read`; ask for another one";
            assert_eq!(failed(&refused, 403), why, "{method} {path}");
            assert_eq!(
                ask(&with_tokens, "wrong", method, path, body.clone()).status,
                401
            );
            let refused = without.send(method, path, &[JSON], body.to_string());
            assert_eq!(
                failed(&refused, 403),
                format!("this server does not let anyone edit prompts; {HOW_TO_ALLOW_EDITS}")
            );
        }
        for server in [with_tokens, without] {
            let home = server.stop();
            assert_eq!(
                (text_of(&home, "a.md").as_deref(), text_of(&home, "new.md")),
                (Some("A"), None)
            );
            assert!(!home.path("prompts/.history").exists());
        }
    }
}

/// What else they do not reach is told in `edit.rs`.
#[test]
fn a_caller_with_a_prefix_writes_only_inside_it() {
    let server = for_writers(Client::new().prompt("team-b/a.md", "B"));
    let ask = |method: &str, path: &str, body: Value| ask(&server, WRITER_A, method, path, body);
    let created = ask("POST", "/api/prompts/team-a/own", json!({"file": "A"}));
    written(&created, "team-a/own");
    let refused = ask("POST", "/api/prompts/team-b/new", json!({"file": "A"}));
    assert!(failed(&refused, 422).contains("begin with `team-a/`"));
    for (method, path, body) in [
        (
            "DELETE",
            "/api/prompts/team-b/a",
            json!({"expected": "0".repeat(32)}),
        ),
        ("GET", "/api/history/team-b/a", Value::Null),
        ("POST", "/api/restore", json!({"command": "team-b/a"})),
    ] {
        let why = failed(&ask(method, path, body), 404);
        assert_eq!(why, "no prompt named `team-b/a`", "{method} {path}");
    }
}

#[test]
fn with_edit_and_without_tokens_everyone_may_read_and_a_write_needs_the_token_that_the_server_made()
{
    let server = HttpServer::start_with(Client::new(), &["--edit"]);
    assert!(server.page.ends_with("/; editing is on"), "{}", server.page);
    let line = server.stderr_line();
    let path = line
        .strip_prefix("the token for edits is the first word in ")
        .unwrap_or_else(|| panic!("{line}"));
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let token = fs::read_to_string(path).unwrap();
    let bearer = format!("Bearer {}", token.split(' ').next().unwrap());
    let write = |headers: &[(&str, &str)]| {
        let headers = [&[JSON], headers].concat();
        server.send("POST", "/api/prompts/a", &headers, r#"{"file": "A"}"#)
    };
    assert_eq!(write(&[]).status, 401);
    assert_eq!(
        write(&[("Origin", "http://localhost:5173")]).status,
        401,
        "a page of another port"
    );
    let me = get(&server, "/api/me").json();
    assert_eq!(me["may_edit"], false);
    let token_file = server.home.path(".local/state/prompt-expander/edit-token");
    assert_eq!(me["token_file"], json!(token_file), "where the token is");
    assert_eq!(get(&server, "/api/prompts").status, 200);
    written(&write(&[("Authorization", &bearer)]), "a");
    let arguments = ["--edit", "--trusted-proxy", "127.0.0.1"];
    let server = HttpServer::start_with(server.stop(), &arguments);
    assert!(server.stderr_line().ends_with("edit-token"));
    let me = |name, value| server.send("GET", "/api/me", &[(name, value)], "").json();
    let owner = me("Authorization", &bearer);
    assert_eq!(owner["may_edit"], true, "the same token after a restart");
    for somebody in [owner, me("X-Forwarded-For", "192.0.2.1")] {
        assert_eq!(somebody["token_file"], Value::Null);
    }
}

#[test]
fn an_answer_that_the_client_has_is_not_sent_again_and_one_of_a_file_has_what_it_includes() {
    let home = Client::new()
        .prompt("a.md", "---\ndescription: A\ninclude: true\n---\n{{> _b}}")
        .prompt("_b.md", "B");
    let server = HttpServer::start(home);
    for path in ["/api/prompts", "/api/prompts/a"] {
        let first = server.send("GET", path, &[], "");
        let tag = first.header("etag").unwrap();
        let again = server.send("GET", path, &[("If-None-Match", tag)], "");
        assert_eq!(
            (again.status, again.text(), again.header("etag")),
            (304, String::new(), Some(tag)),
            "{path}"
        );
        server.home.save("_b.md", format!("B of {path}"));
        let is_same = path == "/api/prompts";
        assert_eq!(
            server
                .send("GET", path, &[("If-None-Match", tag)], "")
                .status,
            if is_same { 304 } else { 200 }
        );
    }
    let includes = server.send("GET", "/api/prompts/a", &[], "").json()["includes"].clone();
    let text = "B of /api/prompts/a";
    let revision = prompt_expander::prompt::Revision::of_contents(text.as_bytes());
    assert_eq!(
        includes,
        json!([{ "path": "_b.md", "text": text, "revision": revision }])
    );
}

/// A token, and the content type.
fn as_ana() -> [(&'static str, &'static str); 2] {
    const BEARER: &str = "Bearer the-token-of-ana-who-may-do-everything";
    [("Authorization", BEARER), JSON]
}

#[test]
fn the_hook_over_http_answers_what_the_command_prints() {
    let server = with_tokens();
    let long = format!(":team-a/report {}", "x".repeat(12_000));
    for (agent, event, message) in [
        ("claude-code", "UserPromptSubmit", ":team-a/report <b> & 1"),
        ("qwen", "UserPromptSubmit", "See\n:team-b/secret"),
        ("gemini", "BeforeAgent", ":team-a/reprot x"),
        ("claude-code", "UserPromptSubmit", &long),
        ("claude-code", "UserPromptSubmit", "Nothing: to expand"),
        ("claude-code", "Stop", ":team-a/report x"),
    ] {
        let body = json!({"hook_event_name": event, "prompt": message, "cwd": "/"}).to_string();
        let printed = server.home.run(["hook", agent], &body).stdout;
        let path = format!("/api/hook/{agent}");
        let answer = server.send("POST", &path, &as_ana(), body);
        let status = if printed.is_empty() { 204 } else { 200 };
        assert_eq!(
            (answer.status, answer.text()),
            (status, printed),
            "{message}"
        );
    }
    let hidden = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":team-b/secret"});
    let path = "/api/hook/claude-code";
    let headers = [("Authorization", &*format!("Bearer {TEAM_A}")), JSON];
    let answer = server.send("POST", path, &headers, hidden.to_string());
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(post(&server, path, hidden).status, 401);
    for agent in ["cursor", "none", "claude-code/x"] {
        let answer = server.send("POST", &format!("/api/hook/{agent}"), &as_ana(), "{}");
        assert_contains(&failed(&answer, 404), "`claude-code`");
    }
}

#[test]
fn the_hook_over_http_looks_for_no_project_and_records_no_message() {
    let home = Client::new().arguments([]).prompt("a.md", "A {{input}}");
    let project = home
        .make_folder("repository/.git")
        .parent()
        .unwrap()
        .to_owned();
    home.put("repository/.prompts/deploy.md", "Deploy");
    let settings = format!(
        "prompts = ['~/prompts']\ntrusted = ['{}']\n",
        project.display()
    );
    home.put(".config/prompt-expander/config.toml", settings);
    let arguments = ["--tap", "tap", "--log-file", "log", "--log-level", "trace"];
    let server = HttpServer::start_with(home, &arguments);
    let submit = |message: &str| {
        let event =
            json!({"hook_event_name": "UserPromptSubmit", "prompt": message, "cwd": project});
        let printed = server
            .home
            .run(["hook", "claude-code"], event.to_string())
            .stdout;
        assert_ne!(printed, "", "{message}");
        post(&server, "/api/hook/claude-code", event)
    };
    assert_eq!(submit(":deploy").status, 204);
    assert_contains(&submit(":a marked-input").text(), "A marked-input");
    let metrics = get(&server, "/metrics").text();
    assert_contains(&metrics, "method=\"api/hook\",outcome=\"ok\"} 2");
    let home = server.stop();
    for file in ["tap", "log"] {
        assert!(!home.text(file).contains("marked"), "{}", home.text(file));
    }
}
