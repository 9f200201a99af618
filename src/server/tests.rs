//! What only a server without a process can show; the rest is tested over real pipes in `tests/it`.

use super::*;
use crate::library::{Caller, Lookup, Prefix, Role};
use crate::server::tools::{Handler, READ_ONLY, ToolError};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, mpsc};

const PANICKING: &[ServerTool] = &[ServerTool {
    name: "panic",
    title: "Panic",
    description: |_| String::new(),
    input_schema: || json!({}),
    output_schema: || json!({}),
    annotations: READ_ONLY,
    is_always_loaded: true,
    work: Work::Quick,
    shown_by_claude_code: None,
    handler: Handler::Read(|call| match call.arguments.get("x") {
        None => panic!("on purpose, in a test"),
        Some(_) => Err(ToolError::Internal("reported, not thrown".to_owned())),
    }),
}];

fn handle(server: &Server, line: &str) -> Value {
    match server.handle(&mut Session::new(Caller::local()), Message::parse(line.as_bytes()).unwrap()) {
        Reply::Response(response) => serde_json::from_str(response.to_json().unwrap().get()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_in_one_request_is_an_internal_error_and_the_next_is_served() {
    let server = Server { tools: PANICKING, ..Server::new(Arc::default()) };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic"}}"#;
    let answer = handle(&server, call);
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["error"]["code"], -32603);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(handle(&server, ping), json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[test]
fn a_fault_of_ours_in_a_tool_is_an_internal_error() {
    let server = Server { tools: PANICKING, ..Server::new(Arc::default()) };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic","arguments":{"x":1}}}"#;
    assert_eq!(
        handle(&server, call)["error"],
        json!({"code": -32603, "message": "internal error: reported, not thrown"})
    );
}

/// The caller of a token that is for `team-a/` only.
fn of_team_a() -> Caller {
    Caller { role: Role::Read, prefix: Some(Prefix::new("team-a/").unwrap()), ..Caller::local() }
}

#[allow(clippy::disallowed_methods)] // as a user would
fn write(folder: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

#[test]
fn a_prompt_that_a_caller_may_not_see_changes_no_answer_to_them() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            ("team-a/report.md", "---\ntags: [x]\narguments:\n  - name: a\n    choices: [one, two]\n---\nReport {{a}}"),
            ("team-a/broken.md", "---\ndescription: x"),
        ],
    );
    let server = Server::new(Arc::new(Library::named([folder.path().to_owned()]).with_builtin()));
    let named = |name: &str| {
        let uri = format!("prompt://{name}");
        let call = |tool: &str, arguments: Value| ("tools/call", json!({"name": tool, "arguments": arguments}));
        let complete = |reference: Value, argument: &str, value: &str| {
            ("completion/complete", json!({"ref": reference, "argument": {"name": argument, "value": value}}))
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
            call("expand_prompt", json!({"command": format!(":{}", name.to_uppercase()), "input": ""})),
            call("expand_prompt", json!({"command": format!("{name} and text"), "input": ""})),
            call("expand_prompt", json!({"command": name.replace('e', ""), "input": ""})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": uri})),
            ("resources/subscribe", json!({"uri": uri})),
            ("resources/unsubscribe", json!({"uri": uri})),
            complete(json!({"type": "ref/prompt", "name": name}), "a", ""),
            complete(json!({"type": "ref/resource", "uri": "prompt://{+name}"}), "name", ""),
            complete(json!({"type": "ref/resource", "uri": "prompt://{+name}"}), "name", &name[..2]),
            complete(json!({"type": "ref/resource", "uri": uri}), "name", ""),
        ]
    };
    let hidden =
        ["team-b/secret", "secret", "team-abc/secret", "TEAM-A/secret", "team-b/team-a/secret", "team-b/broken"];
    let shown = ["team-a/report", "team-a/broken", "report"];
    let answers = |caller: &Caller| {
        let mut answers = String::new();
        for (method, params) in hidden.into_iter().chain(shown).chain(["research"]).flat_map(named) {
            let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let message = Message::parse(line.to_string().as_bytes()).unwrap();
            let Reply::Response(response) = server.handle(&mut Session::new(caller.clone()), message) else {
                panic!("{method}")
            };
            answers.push_str(&format!("{params} -> {}\n", response.to_json().unwrap()));
        }
        answers
    };
    let before = answers(&of_team_a());
    for name in &hidden[..5] {
        write(
            folder.path(),
            &[(&format!("{name}.md"), "---\ndescription: hidden\ntags: [hidden]\narguments: [a]\n---\nX")],
        );
    }
    write(
        folder.path(),
        &[("team-b/broken.md", "---\ndescription: x"), ("team-b/bad\\name.md", "x"), ("a\nb.md", "x")],
    );
    let after = answers(&of_team_a());
    for (before, after) in before.lines().zip(after.lines()) {
        assert_eq!(before, after);
    }
    assert!(after.contains("Report {{a}}") && !after.contains("Research the topic below"));
    let all = answers(&Caller::local());
    assert!(all.contains("\"name\":\"team-b/secret\"") && all.contains("Research the topic below"));
}

#[test]
fn a_change_that_a_caller_may_not_see_notifies_them_of_nothing() {
    struct Two(Mutex<[Session; 2]>, mpsc::Sender<[Vec<String>; 2]>);
    impl Listener for Two {
        fn notify(&self, change: &Change) {
            let written = |notification: crate::jsonrpc::Notification| format!("{notification:?}");
            let mut sessions = self.0.lock().unwrap();
            let notifications =
                sessions.each_mut().map(|session| session.notifications(change).into_iter().map(written).collect());
            self.1.send(notifications).unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("team-a/x.md", "X"), ("team-b/secret.md", "0")]);
    let server = Server::new(Arc::new(Library::named([folder.path().to_owned()]))).with_notifications(|_| {});
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,
        "promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["prompt://team-b/secret"]}},{META}}}}}"#
    );
    let mut sessions = [Session::new(of_team_a()), Session::new(Caller::local())];
    for session in &mut sessions {
        let reply = server.handle(session, Message::parse(listen.as_bytes()).unwrap());
        assert!(matches!(reply, Reply::Stream(_)), "{reply:?}");
    }
    let (sender, changes) = mpsc::channel();
    let listener: Arc<dyn Listener> = Arc::new(Two(Mutex::new(sessions), sender));
    server.add_listener(&listener);
    // What comes right after the start may announce anything.
    write(folder.path(), &[("team-b/secret.md", "1")]);
    changes.recv().unwrap();
    write(folder.path(), &[("team-b/secret.md", "2"), ("team-b/new.md", "new"), ("other.md", "new")]);
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let [team_a, local] = changes.recv().unwrap();
        assert_eq!(team_a, [""; 0]);
        seen.extend(local); // both lists, the tools and the resource
    }
    write(folder.path(), &[("team-a/x.md", "---\ndescription: new\n---\nX")]);
    let team_a = changes.iter().find_map(|[team_a, _]| (!team_a.is_empty()).then_some(team_a)).unwrap();
    assert_eq!(team_a.len(), 2, "{team_a:?}");
}

#[test]
fn the_list_of_methods_is_that_of_the_table() {
    let table = include_str!("../server.rs").split("The table of methods.").nth(1).unwrap();
    let arms = table.lines().filter_map(|line| line.trim_start().strip_prefix("(\"")?.split_once("\", "));
    let arms = arms.filter(|(_, rest)| rest.contains("=>"));
    let mut methods: Vec<&str> = arms.flat_map(|(methods, _)| methods.split("\" | \"")).collect();
    methods.sort_unstable();
    assert_eq!(methods, super::methods());
}

#[test]
fn a_request_with_a_name_that_was_not_found_before_is_blocking_work_because_all_names_may_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("team-a/known.md", "Text.")]);
    // Files that have not just changed, as those of `folder` have, are remembered.
    let settled = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    let server = Server::new(Arc::new(Library::named([folder.path().to_owned(), settled])));
    let expand = |command: &str| json!({"name": "expand_prompt", "arguments": {"command": command, "input": ""}});
    let work = |method: &str, params: &Value, caller: &Caller| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        server.work(caller, &Message::parse(message.as_bytes()).unwrap())
    };
    assert_eq!(work("tools/call", &expand("research"), &Caller::local()), Work::Blocking);
    assert!(matches!(server.library.view().find("research"), Lookup::Found(_)));
    let expand = |command: &str| json!({"name": "expand_prompt", "arguments": {"command": command, "input": ""}});
    for (method, params, caller, expected) in [
        ("tools/call", expand("research"), Caller::local(), Work::Quick),
        ("tools/call", expand(":research"), Caller::local(), Work::Quick),
        ("tools/call", expand("unknown"), Caller::local(), Work::Blocking),
        ("tools/call", expand("research"), of_team_a(), Work::Blocking),
        ("tools/call", expand("team-a/known"), of_team_a(), Work::Blocking),
        ("tools/call", json!({"name": "expand_prompt"}), Caller::local(), Work::Quick),
        ("tools/call", json!({"name": "list_prompts"}), Caller::local(), Work::List),
        ("tools/call", json!({"name": "create_prompt"}), Caller::local(), Work::Edit),
        ("prompts/delete", json!({"name": "research"}), Caller::local(), Work::Edit),
        ("prompts/get", json!({"name": "research"}), Caller::local(), Work::Quick),
        ("prompts/get", json!({"name": "unknown"}), Caller::local(), Work::Blocking),
        ("prompts/list", json!({}), Caller::local(), Work::List),
        ("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}), Caller::local(), Work::Quick),
        (
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": []}}),
            Caller::local(),
            Work::Blocking,
        ),
        ("unknown", json!({}), Caller::local(), Work::Quick),
    ] {
        assert_eq!(work(method, &params, &caller), expected, "{method} {params}");
    }
}
