//! What only a server without a process can show; the rest is tested over real pipes in `tests/it`.

use super::*;
use crate::library::{Caller, Prefix, Role};
use crate::prompt::Name;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn a_panic_in_a_handler_is_an_internal_error_and_so_is_that_in_a_job() {
    let request = || PendingRequest {
        id: Id::Unsigned(1),
        era: Era::Legacy,
        method: "panic".to_owned(),
        started: Instant::now(),
    };
    let at_once = request().reply(|| panic!("on purpose, in a test"));
    let later = request().reply(|| {
        Ok(Outcome::Deferred(Box::new(|| {
            panic!("on purpose, in a test")
        })))
    });
    assert!(matches!(later, Reply::Deferred(_)));
    for reply in [at_once, later] {
        let response = reply.into_response();
        let answer: Value = serde_json::from_str(response.as_json()).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!(-32603))
        );
    }
}

#[test]
fn what_may_take_long_is_a_job() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("a.md", "A")]);
    let server = |threshold| {
        let settings = Settings {
            may_edit: true,
            wait_threshold: threshold,
            ..Settings::default()
        };
        Server::new(
            Arc::new(Library::named([folder.path().to_owned()])),
            settings,
        )
    };
    let tool = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    for ((method, params), longest_wait) in [
        (("ping", json!({})), LongestWait::Nothing),
        (("unknown", json!({})), LongestWait::Nothing),
        (
            tool("expand_prompt", json!({"command": "a", "input": ""})),
            LongestWait::Files,
        ),
        (("prompts/get", json!({"name": "a"})), LongestWait::Files),
        (("prompts/list", json!({})), LongestWait::Folders),
        (tool("list_prompts", json!({})), LongestWait::Folders),
        (
            tool("create_prompt", json!({"command": "b", "file": "B"})),
            LongestWait::Write,
        ),
        (("prompts/delete", json!({"name": "b"})), LongestWait::Write),
    ] {
        let line =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        for threshold in [
            LongestWait::Files,
            LongestWait::Folders,
            LongestWait::Write,
            LongestWait::Service,
        ] {
            let message = Message::parse(line.as_bytes()).unwrap();
            match server(threshold).handle(&mut Session::new(Caller::local()), message) {
                Reply::Response(_) => assert!(longest_wait < threshold, "{line} {threshold:?}"),
                Reply::Deferred(job) => assert!(
                    longest_wait >= threshold && job.longest_wait == longest_wait,
                    "{line} {threshold:?}"
                ),
                _ => panic!("no response, and no job"),
            }
        }
    }
}

/// The caller of a token that is for `team-a/` only.
fn of_team_a() -> Caller {
    Caller {
        role: Role::Read,
        prefix: Some(Prefix::new("team-a/").unwrap()),
        ..Caller::local()
    }
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
fn a_caller_hears_of_changes_that_they_could_see() {
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,
        "resourceSubscriptions":["prompt://team-b/secret","prompt://team-a/x"]}},{META}}}}}"#
    );
    let server = Server::new(Arc::default(), Settings::default());
    let names = |names: &[&str]| {
        Change::of_prompts(names.iter().map(|name| Name::new(name).unwrap()).collect())
    };
    let folder = |folder: &str| Change::of_folder(folder.to_owned());
    for (caller, change, want) in [
        (of_team_a(), names(&["team-b/secret"]), 0),
        (of_team_a(), names(&["team-b/secret", "team-a/x"]), 2),
        (of_team_a(), Change::anything(), 2),
        (of_team_a(), folder("team-b/"), 0),
        (of_team_a(), folder("team/"), 0),
        (of_team_a(), folder("team-a/"), 2),
        (of_team_a(), folder("team-a/git/"), 2),
        (Caller::local(), folder("team-b/"), 3),
        (Caller::local(), names(&["team-b/secret"]), 2),
        (Caller::local(), names(&["other"]), 1),
    ] {
        let mut session = Session::new(caller);
        let reply = server.handle(&mut session, Message::parse(listen.as_bytes()).unwrap());
        assert!(matches!(reply, Reply::Stream(_)));
        assert_eq!(session.notifications(&change).len(), want, "{change:?}");
    }
}
