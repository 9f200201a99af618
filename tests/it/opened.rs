//! Which files a request opens, as reported by the kernel.

use crate::client::{Client, LEGACY, modern, settle};
use inotify::{EventMask, Inotify, WatchMask};
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;

/// Watches directories.
struct Watch(Inotify);

impl Watch {
    fn new(directories: &[&Path]) -> Watch {
        let inotify = Inotify::init().unwrap();
        for directory in directories {
            inotify
                .watches()
                .add(directory, WatchMask::OPEN | WatchMask::ACCESS)
                .unwrap();
        }
        Watch(inotify)
    }

    /// What was opened or read since the last call: the names of files, and `/` for one of the
    /// directories itself. The kernel reports it before the system call returns, so an answer comes
    /// after it.
    fn seen(&mut self) -> Vec<String> {
        let mut buffer = [0; 64 * 1024];
        let mut seen = Vec::new();
        loop {
            match self.0.read_events(&mut buffer) {
                Ok(events) => seen.extend(events.map(|event| match event.name {
                    Some(name) if !event.mask.contains(EventMask::ISDIR) => {
                        name.to_str().unwrap().to_owned()
                    }
                    _ => "/".to_owned(),
                })),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        seen.sort();
        seen.dedup();
        seen
    }
}

#[test]
fn nothing_is_read_from_disk_to_answer_initialize_or_discover() {
    let mut client = Client::new().prompt("a.md", "A").prompt("git/b.md", "B");
    client.request("ping", json!({})); // it has started
    let mut watch = Watch::new(&[&client.prompts(), &client.path("prompts/git")]);
    client.shake_hands(LEGACY);
    client.request("server/discover", modern(json!({})));
    client.request("ping", json!({}));
    assert_eq!(watch.seen(), [""; 0]);
    client.list();
    assert_eq!(watch.seen(), ["/", "a.md", "b.md"], "the watch works");
}

#[test]
fn an_exact_name_is_found_without_a_scan() {
    let mut client = Client::new()
        .prompt("a.md", "A")
        .prompt("other.md", "O")
        .prompt("git/b.md", "B");
    client.request("ping", json!({}));
    let mut watch = Watch::new(&[&client.prompts(), &client.path("prompts/git")]);
    for (command, file) in [
        ("a", "a.md"),
        (":a", "a.md"),
        (" a ", "a.md"),
        ("git/b", "b.md"),
        (":git:b", "b.md"),
    ] {
        client.expand(command, "").structured();
        assert_eq!(watch.seen(), [file], "{command}");
    }
    client.expand("A", "").text("A");
    assert_eq!(watch.seen(), ["/", "a.md"], "only a miss looks further");
}

#[test]
fn files_and_folders_that_have_not_changed_for_a_while_are_not_opened_again() {
    let mut client = Client::new()
        .prompt("a.md", "A")
        .prompt("git/b.md", "B")
        .prompt("broken.md", b"\xff");
    settle(client.root());
    let folder = client.path("prompts/git");
    let ask = |client: &mut Client| {
        client.expand("a", "").text("A");
        client.expand("git/b", "").text("B");
        client.list();
        client.request("prompts/list", json!({}));
        client.request("resources/list", json!({}));
        client.request("tools/list", json!({}));
    };
    let mut watch = Watch::new(&[&client.prompts(), &folder]);
    ask(&mut client);
    assert_eq!(
        watch.seen(),
        ["/", "a.md", "b.md", "broken.md"],
        "the watch works"
    );
    ask(&mut client);
    assert_eq!(watch.seen(), [""; 0]);
    client.write("git/b.md", "C");
    client.list();
    assert_eq!(watch.seen(), ["b.md"], "one file has changed");
}

#[test]
fn tools_list_reads_folders_and_no_files() {
    let mut client = Client::new().prompt("a.md", "A").prompt("git/b.md", "B");
    client.request("ping", json!({}));
    let mut watch = Watch::new(&[&client.prompts(), &client.path("prompts/git")]);
    client.request("tools/list", json!({}));
    assert_eq!(watch.seen(), ["/"]);
}

#[test]
fn a_hook_opens_only_the_files_of_the_prompts_and_reads_folders_only_for_an_unknown_command() {
    let client = Client::new()
        .prompt("a.md", "A")
        .prompt("other.md", "O")
        .prompt("git/b.md", "B");
    client.put(
        ".gemini/extensions/flow/commands/plan.toml",
        "prompt = 'Plan'",
    );
    let extensions = client.path(".gemini/extensions");
    let [git, commands] = [client.path("prompts/git"), extensions.join("flow/commands")];
    let mut watch = Watch::new(&[&client.prompts(), &git, &extensions, &commands]);
    for (prompt, files) in [
        ("at 10:30, std::vec and :unknown", vec![]),
        (":smile: yes", vec![]),
        (":D (:A) :other's :git/unknown", vec![]),
        (":git:b :a x", vec!["a.md", "b.md"]),
        (
            "See :git:b, `:a`, :unknown or :other.",
            vec!["b.md", "other.md"],
        ),
        ("See :flow/plan, :flow/other and :a/b.", vec!["plan.toml"]),
        // Only its contents show that a TOML file is a prompt, so a list reads it.
        (":unknown\n:git/unknown\n:A", vec!["/", "plan.toml"]),
        (":a\n:other-one x", vec!["/", "a.md", "plan.toml"]),
    ] {
        let event = json!({"hook_event_name": "BeforeAgent", "prompt": prompt}).to_string();
        assert_eq!(
            client
                .run(
                    ["hook", "gemini", "--from-agents", "--prompts", "prompts"],
                    event
                )
                .stdout
                .is_empty(),
            !files.iter().any(|file| file.ends_with(".md")) && files != ["plan.toml"],
            "{prompt}"
        );
        assert_eq!(watch.seen(), files, "{prompt}");
    }
}
