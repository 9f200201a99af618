//! Editing by clients: the tools and the methods that create, change, delete and restore prompts;
//! who may call them; what must be seen before it is changed.

use crate::client::{Client, LEGACY, assert_contains, golden, modern, set_mode};
use crate::http_client::{HttpServer, request, write_secret};
use crate::postgres::{folder_and_store, save, text_of};
use crate::websocket::WebSocket;
use prompt_expander::library::HOW_TO_ALLOW_EDITS;
use prompt_expander::prompt::Revision;
use serde_json::{Value, json};
use std::fs;
use std::thread;

const EDIT: [&str; 4] = ["--no-builtin", "--prompts", "prompts", "--edit"];
const TOOLS: [&str; 5] = [
    "create_prompt",
    "update_prompt",
    "delete_prompt",
    "prompt_history",
    "restore_prompt",
];

/// A file with all that an edit must leave as it is.
const STANDUP: &str = "---\n# my own\ntitle: 'Stand-up'   # kept\ndescription: Say what is new\ntags: [ daily ]\n---\n\nSay {{input}}.\n";

fn editing() -> Client {
    Client::new().arguments(EDIT)
}

fn file(client: &Client, path: &str) -> String {
    text_of(client, path).unwrap()
}

/// The names of all files of prompts, without the hidden ones.
fn files(client: &Client) -> Vec<String> {
    let names = fs::read_dir(client.prompts())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn tools(client: &mut Client) -> Vec<Value> {
    client.result("tools/list", json!({}))["tools"]
        .as_array()
        .unwrap()
        .clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

fn history(client: &mut Client, command: &str) -> Value {
    client
        .call("prompt_history", json!({"command": command}))
        .structured()
}

fn revision(client: &mut Client, command: &str) -> String {
    history(client, command)["revision"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The error of a request: its code and message.
#[track_caller]
fn refused(answer: &Value) -> (i64, String) {
    let error = answer.get("error").unwrap_or_else(|| panic!("{answer}"));
    (
        error["code"].as_i64().unwrap(),
        error["message"].as_str().unwrap().to_owned(),
    )
}

const API_DESIGN: &str = r#"{"jsonrpc":"2.0","id":4,"method":"prompts/create","params":{"name":"api_design","title":"Design REST API","arguments":[{"name":"resource","required":true}],"messages":[{"role":"user","content":{"type":"text","text":"Design a REST API for: {{resource}}"}}],"tags":["api"]}}"#;

#[test]
fn without_edit_there_is_no_tool_no_capability_and_no_method() {
    let mut client = Client::new();
    let result = client.initialize(LEGACY);
    assert_eq!(
        result["capabilities"]["prompts"],
        json!({"listChanged": true})
    );
    assert_eq!(
        names(&tools(&mut client)),
        ["list_prompts", "expand_prompt"]
    );
    assert_eq!(
        client.line(API_DESIGN),
        json!({"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": format!("method not found: prompts/create; {HOW_TO_ALLOW_EDITS}")}})
    );
    for method in ["prompts/update", "prompts/delete"] {
        let message = format!("method not found: {method}; {HOW_TO_ALLOW_EDITS}");
        assert_eq!(
            refused(&client.request(method, json!({}))),
            (-32601, message)
        );
    }
    for tool in TOOLS {
        let answer = client.request(
            "tools/call",
            json!({"name": tool, "arguments": {"command": "a", "text": "A"}}),
        );
        let message = format!(
            "method not found: unknown tool `{tool}`; the tools are list_prompts, expand_prompt; {HOW_TO_ALLOW_EDITS}"
        );
        assert_eq!(refused(&answer), (-32601, message));
    }
    assert_eq!(files(&client), [""; 0]);
}

#[test]
fn with_edit_the_tools_for_it_follow_those_of_everybody() {
    let mut client = editing();
    let result = client.initialize(LEGACY);
    assert_eq!(
        result["capabilities"]["prompts"],
        json!({"listChanged": true, "mutable": true})
    );
    let listed = tools(&mut client);
    assert_eq!(listed[..2], tools(&mut Client::new())[..]);
    assert_eq!(names(&listed)[2..], TOOLS);
    for tool in &listed[2..] {
        let mut tool = tool.clone();
        tool.sort_all_objects();
        golden(
            &format!("tools/{}.json", tool["name"].as_str().unwrap()),
            &format!("{tool:#}\n"),
        );
    }
    let discovered = client.request("server/discover", modern(json!({})));
    assert_eq!(
        discovered["result"]["capabilities"]["prompts"],
        json!({"listChanged": true})
    );
}

#[test]
fn a_client_creates_a_prompt_as_hexai_s_do() {
    let mut client = editing();
    client.initialize(LEGACY);
    let answer = client.line(API_DESIGN);
    assert_eq!(answer["result"]["success"], true);
    assert_eq!(answer["result"]["message"], "Created prompt: api_design");
    assert_eq!(
        file(&client, "api_design.md"),
        "---\ntitle: Design REST API\narguments:\n  - name: resource\n    required: true\ntags: [api]\n---\nDesign a REST API for: {{resource}}\n"
    );
    client
        .expand("api_design", "users")
        .text("Design a REST API for: users");
    client.ignore_notifications();
}

#[test]
fn a_model_creates_a_prompt_that_works_at_once() {
    let mut client = editing();
    client.initialize(LEGACY);
    let text = "---\r\narguments: [change] # mine\r\n---\r\nWrite a message for {{change}}.";
    let created = client
        .call(
            "create_prompt",
            json!({"command": ":git/commit", "file": text}),
        )
        .structured();
    assert_eq!(file(&client, "git/commit.md"), text);
    assert_eq!(
        created,
        json!({"command": "git/commit", "revision": revision(&mut client, "git/commit")})
    );
    client
        .expand("git/commit", "the parser")
        .text("Write a message for the parser.");
    client.ignore_notifications();
}

#[test]
fn arguments_that_do_not_match_the_schema_of_a_tool_are_invalid_params_in_the_legacy_era() {
    let mut client = editing().prompt("standup.md", STANDUP);
    client.initialize(LEGACY);
    for (tool, arguments, wanted) in [
        (
            "create_prompt",
            json!({"file": "x"}),
            "`command` is missing",
        ),
        (
            "update_prompt",
            json!({"command": "standup", "file": "x", "expected": 1}),
            "`expected` must be a string",
        ),
        (
            "prompt_history",
            json!({"command": "standup", "revision": "abc"}),
            "`revision` must be a revision: 32 ",
        ),
    ] {
        let call = json!({"name": tool, "arguments": arguments});
        let (code, message) = refused(&client.request("tools/call", call));
        assert!(
            code == -32602 && message.contains(wanted),
            "{arguments}: {message}"
        );
    }
}

#[test]
fn edits_that_wait_for_another_process_hold_up_no_other_request() {
    let server = HttpServer::start_with(Client::new().prompt("a.md", "A"), &["--edit"]);
    let bearer = format!("Bearer {}", server.edit_token());
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", &*bearer),
    ];
    let history = server.home.make_folder("prompts/.history");
    let lock = fs::File::create(history.join(".lock")).unwrap();
    lock.lock().unwrap();
    thread::scope(|scope| {
        let create = |number: usize| {
            let (path, endpoint) = (format!("/api/prompts/new-{number}"), *server);
            move || endpoint.send("POST", &path, &headers, json!({"file": "New"}).to_string())
        };
        let edits: Vec<_> = (0..4).map(|number| scope.spawn(create(number))).collect();
        // An unknown name is compared with all others, which is not done at once. If it had to wait
        // for the edits, they would fail.
        for _ in 0..20 {
            tool_error(&call(
                &server,
                "",
                "expand_prompt",
                json!({"command": "unknown", "input": ""}),
            ));
        }
        assert_eq!(
            server.send("GET", "/api/history/a", &headers, "").status,
            200
        );
        lock.unlock().unwrap();
        for edit in edits {
            let answer = edit.join().unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    });
}

#[test]
fn what_is_no_valid_new_prompt_is_refused_with_what_to_do() {
    let mut client = editing().prompt("standup.md", STANDUP);
    client.initialize(LEGACY);
    let message = |role: &str, kind: &str, text: Value| json!({"role": role, "content": {"type": kind, "text": text}});
    let ok = message("user", "text", json!("x"));
    let with = |message: Value| json!({"name": "a", "title": "A", "messages": [ok, message]});
    for (params, wanted) in [
        (json!({"title": "A", "messages": [ok]}), "`name` is missing"),
        (
            json!({"name": "a", "messages": [ok]}),
            "`title` or `messages` is missing",
        ),
        (
            json!({"name": "a", "title": "A"}),
            "`title` or `messages` is missing",
        ),
        (
            json!({"name": "a", "title": "A", "messages": []}),
            "at least one message",
        ),
        (
            with(message("system", "text", json!("x"))),
            "`messages[1].role` must be `user` or",
        ),
        (
            with(message("user", "image", json!("x"))),
            "`messages[1].content.type` must be `text`",
        ),
        (with(message("user", "text", json!(1))), "must be a string"),
        (
            with(message("user", "text", json!(" "))),
            "each must have text",
        ),
        (
            json!({"name": "standup", "title": "A", "messages": [ok]}),
            "`standup`",
        ),
        (
            json!({"name": "a", "title": "A", "messages": [ok], "arguments": [{"name": ""}]}),
            "name of an argument",
        ),
    ] {
        let (code, message) = refused(&client.request("prompts/create", params.clone()));
        assert!(
            code == -32602 && message.starts_with("invalid params: ") && message.contains(wanted),
            "{params}: {message}"
        );
    }
    assert_eq!(files(&client), ["standup.md"]);
}

#[test]
fn several_messages_and_other_roles_become_messages_of_the_file() {
    let mut client = editing();
    client.initialize(LEGACY);
    let message =
        |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
    let messages = json!([
        message("user", "Review {{input}}"),
        message("assistant", "Which file?\n<!-- user -->"),
        message("user", "All")
    ]);
    client.request(
        "prompts/create",
        json!({"name": "a", "title": "A", "messages": messages, "description": null, "tags": null}),
    );
    assert_eq!(
        file(&client, "a.md"),
        "---\ntitle: A\nmessages: true\n---\nReview {{input}}\n\n<!-- assistant -->\nWhich file?\n\\<!-- user -->\n\n<!-- user -->\nAll\n"
    );
    let got = client.request(
        "prompts/get",
        json!({"name": "a", "arguments": {"input": "x"}}),
    );
    assert_eq!(got["result"]["messages"][0], message("user", "Review x"));
    assert_eq!(got["result"]["messages"][1], messages[1]);
    let one = json!([message("user", "Only {{input}}")]);
    let updated = client.request("prompts/update", json!({"name": "a", "messages": one}));
    assert_eq!(
        updated["result"]["message"], "Updated prompt: a",
        "{updated}"
    );
    assert_eq!(
        file(&client, "a.md"),
        "---\ntitle: A\n---\nOnly {{input}}\n"
    );
    client.request(
        "prompts/update",
        json!({"name": "a", "messages": [message("assistant", "Hello")]}),
    );
    assert_eq!(
        file(&client, "a.md"),
        "---\ntitle: A\nmessages: true\n---\n<!-- assistant -->\nHello\n"
    );
    client.ignore_notifications();
}

#[test]
fn an_update_of_fields_keeps_all_others_and_says_which_comments_are_lost() {
    let mut client = editing().prompt("standup.md", STANDUP);
    client.initialize(LEGACY);
    let mut update = |params: Value| client.result("prompts/update", params);
    let updated = update(json!({"name": "standup", "description": "New"}));
    let file = |text: &str| json!(Revision::of_contents(text.as_bytes()));
    let described = STANDUP.replace("Say what is new", "New");
    assert_eq!(
        updated,
        json!({"success": true, "message": "Updated prompt: standup", "revision": file(&described)}),
    );
    let updated = update(
        json!({"name": "standup", "title": null, "tags": ["a"], "expected": updated["revision"]}),
    );
    let tagged = described
        .replace("title: 'Stand-up'   # kept\n", "")
        .replace("[ daily ]", "[a]");
    assert_eq!(updated["revision"], file(&tagged));
    assert_eq!(
        updated["warnings"],
        json!(["comments next to the replaced keys were removed, but are kept in the history"])
    );
    client.ignore_notifications();
}

/// Who else wrote meanwhile, and what a conflict shows, is told in
/// `src/library/write/edit/tests.rs`.
#[test]
fn a_prompt_is_only_changed_as_it_was_read() {
    for mut client in folder_and_store(|| editing().prompt("standup.md", STANDUP)) {
        client.initialize(LEGACY);
        let read = history(&mut client, "standup");
        assert_eq!(read["file"], STANDUP);
        save(&client, "standup.md", "Shout.");
        let mut error = |tool: &str, expected: Option<&Value>| {
            let mut arguments = json!({"command": "standup", "file": "Tell."});
            if let Some(expected) = expected {
                arguments["expected"] = expected.clone();
            }
            client.call(tool, arguments).error()
        };
        assert!(error("update_prompt", Some(&read["revision"])).contains("Shout."));
        assert!(error("delete_prompt", Some(&read["revision"])).contains("has changed"));
        for tool in ["update_prompt", "delete_prompt", "restore_prompt"] {
            assert!(
                error(tool, None).contains("`expected` is missing"),
                "{tool}"
            );
        }
        assert_eq!(file(&client, "standup.md"), "Shout.");
    }
}

/// The same in a folder is told in `src/library/write/edit/tests.rs`; here it is told of the tools,
/// and of a store.
#[test]
fn a_deleted_prompt_can_be_restored_and_its_history_is_complete() {
    for mut client in folder_and_store(editing) {
        client.initialize(LEGACY);
        let mut write = |tool: &str, arguments: Value| {
            client.call(tool, arguments).structured()["revision"].clone()
        };
        let create = json!({"command": "x/a", "file": "One\n", "note": "why one"});
        let first = write("create_prompt", create);
        let update = json!({"command": "x/a", "file": "Two\n", "expected": first});
        let second = write("update_prompt", update);
        let delete = json!({"command": "x/a", "expected": second});
        assert_eq!(write("delete_prompt", delete), second);
        let gone = json!({"command": "x/a", "file": "x", "expected": first});
        let error = client.call("update_prompt", gone).error();
        assert_contains(&error, "`x/a` was deleted");
        let deleted = history(&mut client, "x/a");
        assert!(
            deleted.get("revision").is_none() && deleted.get("file").is_none(),
            "{deleted}"
        );
        for (arguments, revision, text) in [
            (json!({"command": "x/a"}), &second, "Two\n"),
            (
                json!({"command": "x/a", "revision": first, "expected": second}),
                &first,
                "One\n",
            ),
        ] {
            let restored = client.call("restore_prompt", arguments).structured();
            assert_eq!(restored["revision"], *revision);
            assert_eq!(file(&client, "x/a.md"), text);
        }
        let read = history(&mut client, "x/a");
        let operations = read["versions"].as_array().unwrap().iter();
        let operations: Vec<&Value> = operations.map(|version| &version["operation"]).collect();
        assert_eq!(
            operations,
            ["restore", "restore", "delete", "update", "create"]
        );
        assert_eq!(read["versions"][4]["note"], "why one");
        let arguments = json!({"command": "x/a", "revision": second});
        let old = client.call("prompt_history", arguments).structured();
        assert_eq!((&old["file"], &old["revision"]), (&json!("Two\n"), &first));
        let arguments = json!({"command": "x/a", "revision": "0".repeat(32), "expected": first});
        let error = client.call("restore_prompt", arguments).error();
        assert_contains(&error, "has no version");
        client.ignore_notifications();
    }
}

const WRITER: &str = "the-token-of-a-person-who-may-write-prompts";
const READER: &str = "the-token-of-a-person-who-may-only-read";
const TEAM_A: &str = "the-token-of-team-a-which-writes-its-own";

/// A server over HTTP, with a token for each role.
fn with_tokens(home: Client, arguments: &[&str]) -> HttpServer {
    let tokens = format!(
        "{WRITER} name=wim role=write\n{READER} name=rea role=read\n{TEAM_A} name=team-a role=write prefix=team-a/\n"
    );
    write_secret(home.path("tokens"), &tokens);
    HttpServer::start_with(home, &[&["--token-file", "tokens"], arguments].concat())
}

/// What a method answers to the owner of a token, or without one.
fn ask(server: &HttpServer, token: &str, method: &str, params: Value) -> Value {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let headers = if token.is_empty() {
        &headers[..0]
    } else {
        &headers[..]
    };
    server.post_with(headers, request(1, method, params)).json()
}

fn call(server: &HttpServer, token: &str, tool: &str, arguments: Value) -> Value {
    ask(
        server,
        token,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

/// The text of the error of a tool.
#[track_caller]
fn tool_error(answer: &Value) -> String {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn over_http_the_role_of_a_token_decides_with_or_without_edit() {
    let homes = folder_and_store(|| Client::new().prompt("a.md", "A"));
    for (home, arguments) in homes.into_iter().zip([&[][..], &["--edit"]]) {
        let server = with_tokens(home, arguments);
        let initialize = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
        for (token, may_edit) in [(WRITER, true), (READER, false), (TEAM_A, true)] {
            let answer = ask(&server, token, "initialize", initialize.clone());
            assert_eq!(
                answer["result"]["capabilities"]["prompts"].get("mutable"),
                may_edit.then_some(&json!(true))
            );
            let tools = ask(&server, token, "tools/list", json!({}));
            let tools = tools["result"]["tools"].as_array().unwrap();
            assert_eq!(tools.len(), if may_edit { 7 } else { 2 });
        }
        let why = "a token needs the role `write`, and yours has `read`";
        for answer in [
            ask(&server, READER, "prompts/delete", json!({"name": "a"})),
            call(&server, READER, "delete_prompt", json!({"command": "a"})),
        ] {
            let (code, message) = refused(&answer);
            assert!(code == -32601 && message.ends_with(why), "{message}");
        }
        call(
            &server,
            WRITER,
            "create_prompt",
            json!({"command": "b", "file": "B"}),
        );
        assert_eq!(
            ["a.md", "b.md"].map(|path| file(&server.home, path)),
            ["A", "B"]
        );
    }
}

#[test]
fn over_http_without_tokens_edit_decides_whether_there_is_one_for_edits() {
    let server = HttpServer::start(Client::new().prompt("a.md", "A"));
    let (code, message) = refused(&call(
        &server,
        "",
        "create_prompt",
        json!({"command": "b", "file": "B"}),
    ));
    assert!(
        code == -32601 && message.ends_with(HOW_TO_ALLOW_EDITS),
        "{message}"
    );
    assert_eq!(
        refused(&ask(&server, "", "prompts/create", json!({}))).0,
        -32601
    );
    let modern = server.modern("prompts/create", json!({}));
    assert_eq!((modern.status, modern.error()), (404, -32601));
    let server = HttpServer::start_with(server.stop(), &["--edit"]);
    let (code, message) = refused(&call(
        &server,
        "",
        "create_prompt",
        json!({"command": "b", "file": "B"}),
    ));
    assert!(
        code == -32601 && message.ends_with("its standard error says where it is"),
        "{message}"
    );
    let token = server.edit_token();
    let answer = call(
        &server,
        &token,
        "create_prompt",
        json!({"command": "b", "file": "B"}),
    );
    assert_eq!(file(&server.home, "b.md"), "B", "{answer}");
    let expected = &answer["result"]["structuredContent"]["revision"];
    let mut connection = server.connect();
    let bearer = format!("Bearer {token}");
    let delete = json!({"name": "b", "expected": expected});
    connection.write_modern("1", "prompts/delete", delete, &[("Authorization", &bearer)]);
    let answer = connection.read().json();
    assert_eq!(answer["result"]["message"], "Deleted prompt: b");
    assert_eq!(answer["result"]["resultType"], "complete");
    assert!(
        answer["result"]["_meta"]
            .get("io.modelcontextprotocol/serverInfo")
            .is_some(),
        "{answer}"
    );
    assert_eq!(files(&server.home), ["a.md"]);
}

#[test]
fn the_history_says_who_wrote() {
    for home in folder_and_store(Client::new) {
        let server = with_tokens(home, &[]);
        let answer = call(
            &server,
            WRITER,
            "create_prompt",
            json!({"command": "a", "file": "A", "note": "for\nall"}),
        );
        let revision = &answer["result"]["structuredContent"]["revision"];
        let answer = call(&server, WRITER, "prompt_history", json!({"command": "a"}));
        let version = &answer["result"]["structuredContent"]["versions"][0];
        assert_eq!(
            (&version["author"], &version["note"], &version["revision"]),
            (&json!("wim"), &json!("for\nall"), revision)
        );
        let mut client = Client::new().arguments(EDIT);
        client.introduce(LEGACY, "claude-code");
        client
            .call("create_prompt", json!({"command": "a", "file": "A"}))
            .structured();
        assert_eq!(
            history(&mut client, "a")["versions"][0]["author"],
            "claude-code"
        );
    }
}

/// More of what nobody reaches is told in `src/library/write/edit/tests.rs`.
#[test]
fn a_token_for_one_folder_writes_only_there_and_reaches_nothing_outside() {
    let home = || {
        Client::new()
            .prompt("secret.md", "Secret")
            .prompt("team-a/a.md", "A")
    };
    for home in folder_and_store(home) {
        let server = with_tokens(home, &[]);
        let create = |command: &str, file: &str| {
            let arguments = json!({"command": command, "file": file});
            call(&server, TEAM_A, "create_prompt", arguments)
        };
        let error = tool_error(&create("b", "B"));
        assert_contains(&error, "`team-a/`");
        for tool in [
            "update_prompt",
            "delete_prompt",
            "restore_prompt",
            "prompt_history",
        ] {
            let error = |command: &str| {
                let arguments =
                    json!({"command": command, "file": "x", "expected": "0".repeat(32)});
                tool_error(&call(&server, TEAM_A, tool, arguments))
            };
            assert_eq!(error("secret").replace("secret", "absent"), error("absent"));
        }
        for file in [
            "---\ninclude: true\n---\n{{> ../secret}}",
            "---\nattachments: [../secret.md]\n---\nx",
        ] {
            let there = tool_error(&create("team-a/x", file));
            let nowhere = tool_error(&create("team-a/x", &file.replace("secret", "absent")));
            assert_eq!(there.replace("secret", "absent"), nowhere);
        }
        let inside = "---\ninclude: true\n---\n{{> a}}";
        let answer = create("team-a/x", inside);
        assert_eq!(file(&server.home, "team-a/x.md"), inside, "{answer}");
    }
}

#[test]
fn a_write_is_announced_in_every_conversation() {
    let server = HttpServer::start_with(Client::new().prompt("a.md", "A"), &["--edit"]);
    let address = server.address.to_string();
    let authorization = format!("Authorization: Bearer {}\r\n", server.edit_token());
    let (mut writer, mut other) = (
        WebSocket::open(&address, &authorization),
        WebSocket::open(&address, ""),
    );
    for socket in [&mut writer, &mut other] {
        socket.initialize();
        for method in ["tools/list", "prompts/list", "resources/list"] {
            socket.request(method, json!({}));
        }
    }
    let session = server.initialize(LEGACY);
    let mut stream = server.stream(&session);
    server.initialized(&session);
    let expected = Revision::of_contents(b"A");
    let params = json!({"name": "update_prompt", "arguments": {"command": "a", "file": "---\ntitle: T\n---\nNew", "expected": expected}});
    let answer = writer.request("tools/call", params);
    assert_eq!(
        answer["result"]["structuredContent"]["command"], "a",
        "{answer}"
    );
    for socket in [&mut writer, &mut other] {
        assert!(
            socket.message()["method"]
                .as_str()
                .unwrap()
                .ends_with("/list_changed")
        );
    }
    assert!(
        stream.message()["method"]
            .as_str()
            .unwrap()
            .ends_with("/list_changed")
    );
}

#[test]
fn a_write_that_is_sent_again_is_done_once() {
    for mut client in folder_and_store(editing) {
        client.initialize(LEGACY);
        let mut twice = |tool: &str, arguments: Value| {
            let written = client.call(tool, arguments.clone()).structured();
            assert_eq!(client.call(tool, arguments).structured(), written);
            written["revision"].clone()
        };
        let first = twice("create_prompt", json!({"command": "a", "file": "A"}));
        let second = twice(
            "update_prompt",
            json!({"command": "a", "file": "B", "expected": first}),
        );
        twice(
            "restore_prompt",
            json!({"command": "a", "expected": second}),
        );
        twice("delete_prompt", json!({"command": "a", "expected": first}));
        assert_eq!(
            history(&mut client, "a")["versions"]
                .as_array()
                .unwrap()
                .len(),
            4
        );
        client.ignore_notifications();
    }
}

/// That others cannot be changed either is told in `src/library/write/edit/tests.rs`.
#[test]
fn a_built_in_or_a_project_s_prompt_is_not_changed_but_can_be_overridden() {
    let mut client = Client::new()
        .arguments(["--prompts", "prompts", "--project", "--edit"])
        .working_in("work");
    client.put("work/.prompts/deploy.md", "Deploy");
    client.make_folder("work/prompts");
    client.initialize(LEGACY);
    for (command, wanted) in [
        (
            "research",
            "is a built-in prompt, which cannot be changed, and has no history; create a prompt named `research`",
        ),
        ("save-prompt", "is a built-in prompt"),
        (
            "deploy",
            "which prompt-expander does not write to; change it in its repository",
        ),
    ] {
        let read = history(&mut client, command);
        assert_eq!(read["versions"], json!([]));
        assert!(read["file"].is_string(), "{read}");
        let params = json!({"name": command, "expected": read["revision"]});
        let (code, message) = refused(&client.request("prompts/delete", params));
        assert!(code == -32602 && message.contains(wanted), "{message}");
    }
    let mut create = |command: &str| {
        let arguments = json!({"command": command, "file": "Mine"});
        client.call("create_prompt", arguments).structured()
    };
    assert_eq!(create("research").get("warnings"), None);
    let warning = create("deploy")["warnings"][0].to_string();
    assert_contains(&warning, "overrides");
    client.expand("research", "").text("Mine");
    client.expand("deploy", "").text("Deploy");
    client.ignore_notifications();
}

#[test]
fn an_error_whose_remedy_is_to_write_something_else_has_the_model_ask_first() {
    let ask = ". Tell the user this, and write nothing else before they have seen it and said yes.";
    let mut client = Client::new()
        .arguments(["--prompts", "prompts", "--edit"])
        .prompt("a.md", "A");
    client.initialize(LEGACY);
    let [own, builtin] = ["a", "review"].map(|name| revision(&mut client, name));
    client.write("a.md", "By hand");
    for (tool, arguments) in [
        ("create_prompt", json!({"command": "a", "file": "x"})),
        (
            "update_prompt",
            json!({"command": "a", "file": "x", "expected": own}),
        ),
        (
            "delete_prompt",
            json!({"command": "review", "expected": builtin}),
        ),
    ] {
        let error = client.call(tool, arguments).error();
        assert!(error.contains(ask), "{tool}: {error}");
    }
    let (_, message) =
        refused(&client.request("prompts/delete", json!({"name": "a", "expected": own})));
    assert!(
        message.contains("has changed") && !message.contains("Tell the user"),
        "{message}"
    );
    client.ignore_notifications();
}

#[test]
fn the_prompts_about_editing_are_there_only_for_those_who_may_edit() {
    let own = ["improve-prompt", "save-prompt"];
    let listed = |client: &mut Client| {
        let names = client.names();
        own.iter()
            .filter(|name| names.split(' ').any(|listed| listed == **name))
            .count()
    };
    let mut reader = Client::new().arguments(["--prompts", "prompts"]);
    reader.initialize(LEGACY);
    assert_eq!(listed(&mut reader), 0);
    for name in own {
        let why = format!(
            "`{name}` is only available to agents that may edit prompts; {HOW_TO_ALLOW_EDITS}, or use a token with the role `write`"
        );
        let error = reader.expand(name, "x").error();
        assert_contains(&error, &why);
        let (code, message) = refused(&reader.request("prompts/get", json!({"name": name})));
        assert!(code == -32602 && message.contains(&why), "{message}");
        assert_eq!(
            refused(&reader.request("resources/read", json!({"uri": format!("prompt://{name}")})))
                .0,
            -32002
        );
    }
    assert!(!tools(&mut reader)[1].to_string().contains("save-prompt"));
    reader.ignore_notifications();
    let mut without_builtin = Client::new().arguments(["--no-builtin", "--prompts", "prompts"]);
    without_builtin.initialize(LEGACY);
    let error = without_builtin.expand("save-prompt", "x").error();
    assert_contains(&error, "o prompt named");
    let mut writer = Client::new().arguments(["--prompts", "prompts", "--edit"]);
    writer.initialize(LEGACY);
    assert_eq!(listed(&mut writer), 2);
    for name in own {
        let prompt = writer.expand(name, "research").structured();
        let prompt = prompt["prompt"].as_str().unwrap();
        assert!(
            prompt.ends_with("\nresearch") && prompt.contains("yes"),
            "{prompt}"
        );
    }
    assert!(tools(&mut writer)[1].to_string().contains("save-prompt"));
    let prompts = writer.request("prompts/list", json!({}));
    assert!(prompts.to_string().contains("save-prompt"));
    writer.ignore_notifications();
    let server = with_tokens(Client::new().arguments(["--prompts", "prompts"]), &[]);
    for (token, is_there) in [(WRITER, true), (READER, false)] {
        assert_eq!(
            ask(&server, token, "prompts/list", json!({}))
                .to_string()
                .contains("save-prompt"),
            is_there
        );
    }
}

#[test]
fn neither_the_log_nor_a_warning_has_the_text_of_a_prompt() {
    let mut client = Client::new()
        .arguments([&EDIT[..], &["--log-level", "debug", "--log-file", "log"]].concat());
    client.initialize(LEGACY);
    client
        .call(
            "create_prompt",
            json!({"command": "a", "file": "Confidential"}),
        )
        .structured();
    client.ignore_notifications();
    client.finish();
    let log = client.text("log");
    assert!(
        log.contains("wrote a prompt") && !log.contains("Confidential"),
        "{log}"
    );
}

#[test]
fn a_prompt_that_the_agent_shows_only_in_part_comes_with_a_warning() {
    let long = "A long line of text.\n".repeat(2_000);
    for (name, is_warned) in [("codex-mcp-client", true), ("it", false)] {
        let mut client = editing()
            .prompt("long.md", &long)
            .prompt("short.md", "Short");
        client.introduce(LEGACY, name);
        let read = history(&mut client, "long");
        assert_eq!(read["file"], long);
        assert_eq!(
            read["warning"]
                .as_str()
                .is_some_and(|text| text.contains("do not write it")),
            is_warned
        );
        assert_eq!(history(&mut client, "short").get("warning"), None);
    }
}

/// Which versions go first is told in `src/library/write/edit/tests.rs`.
#[test]
fn the_history_has_as_many_versions_as_the_option_says() {
    let mut client = Client::new().arguments([&EDIT[..], &["--history", "1"]].concat());
    client.initialize(LEGACY);
    let create = json!({"command": "a", "file": "0"});
    let mut written = client.call("create_prompt", create).structured();
    for text in ["1", "2"] {
        let update = json!({"command": "a", "file": text, "expected": written["revision"]});
        written = client.call("update_prompt", update).structured();
    }
    let read = history(&mut client, "a");
    assert_eq!(read["versions"].as_array().unwrap().len(), 2, "{read}");
    client.ignore_notifications();
    for (line, wanted) in [
        ("serve --history 0", "--history"),
        ("--edit list", "unexpected argument '--edit' found"),
        ("list --edit", "--edit"),
    ] {
        Client::new().arguments([]).words(line).says(2, &[wanted]);
    }
}

#[test]
fn in_a_folder_that_is_read_only_nothing_changes() {
    let mut client = editing().prompt("a.md", "A").unprivileged();
    let mode = |mode| set_mode(client.prompts(), mode);
    mode(0o555);
    client.initialize(LEGACY);
    let expected = Revision::of_contents(b"A");
    for (tool, arguments) in [
        ("create_prompt", json!({"command": "b", "file": "B"})),
        (
            "update_prompt",
            json!({"command": "a", "file": "B", "expected": expected}),
        ),
        (
            "delete_prompt",
            json!({"command": "a", "expected": expected}),
        ),
    ] {
        let error = client.call(tool, arguments).error();
        assert!(
            error.contains("prompts") && error.contains("ermission denied"),
            "{error}"
        );
    }
    let message = json!({"role": "user", "content": {"type": "text", "text": "x"}});
    let answer = client.request(
        "prompts/create",
        json!({"name": "b", "title": "B", "messages": [message]}),
    );
    assert_eq!(refused(&answer).0, -32603);
    assert_eq!(
        (files(&client), file(&client, "a.md").as_str()),
        (vec!["a.md".to_owned()], "A")
    );
    client.ignore_notifications();
}
