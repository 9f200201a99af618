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
        era: Era::Legacy,
        method: "panic".to_owned(),
        started: Instant::now(),
    };
    let panics = || -> Result<Answer, Failure> { panic!("on purpose, in a test") };
    let Reply::Response(at_once) = request().reply(Id::Unsigned(1), panics) else {
        panic!("no response")
    };
    let waits = || Ok(Answer::Later(Box::new(|| panic!("on purpose, in a test"))));
    let Reply::Later(job) = request().reply(Id::Unsigned(1), waits) else {
        panic!("no job")
    };
    for response in [at_once, job.finish()] {
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
    let server = |jobs_from| {
        let settings = Settings {
            may_edit: true,
            jobs_from,
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
    for ((method, params), work) in [
        (("ping", json!({})), Work::Memory),
        (("unknown", json!({})), Work::Memory),
        (
            tool("expand_prompt", json!({"command": "a", "input": ""})),
            Work::Files,
        ),
        (("prompts/get", json!({"name": "a"})), Work::Files),
        (("prompts/list", json!({})), Work::Folders),
        (tool("list_prompts", json!({})), Work::Folders),
        (
            tool("create_prompt", json!({"command": "b", "file": "B"})),
            Work::Write,
        ),
        (("prompts/delete", json!({"name": "b"})), Work::Write),
    ] {
        let line =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        for jobs_from in [Work::Files, Work::Folders, Work::Write, Work::Service] {
            let message = Message::parse(line.as_bytes()).unwrap();
            match server(jobs_from).handle(&mut Session::new(Caller::local()), message) {
                Reply::Response(_) => assert!(work < jobs_from, "{line} {jobs_from:?}"),
                Reply::Later(job) => assert!(
                    work >= jobs_from && job.work == work,
                    "{line} {jobs_from:?}"
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
