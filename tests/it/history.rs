//! The versions of a prompt at the command line: `history`, `diff` and `restore`; and disks that
//! refuse a write.

use crate::client::{Client, LEGACY, assert_contains};
use prompt_expander::prompt::Revision;
use serde_json::json;
use std::fs;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::process::Command;

const EDIT: [&str; 4] = ["--no-builtin", "--prompts", "prompts", "--edit"];

fn revision(text: &str) -> String {
    Revision::of_contents(text.as_bytes()).to_string()
}

fn run(client: &Client, arguments: &[&str]) -> crate::client::Ran {
    client.run(arguments.iter().copied(), "")
}

/// A client whose prompt `a` was made by hand, changed by an agent, and changed by hand.
fn changed() -> Client {
    let client = Client::new().prompt("a.md", "One.\n");
    let prompts = client.prompts();
    let mut server = Client::new().arguments(["--prompts", prompts.to_str().unwrap(), "--edit"]);
    server.initialize(LEGACY);
    let arguments = json!({"command": "a", "file": "Two.\n", "expected": revision("One.\n"), "note": "a\tnote"});
    server.call("update_prompt", arguments).structured();
    server.ignore_notifications();
    drop(server);
    client.write("a.md", "Three.\n");
    client
}

#[test]
fn history_lists_each_version_with_how_it_came_about_the_newest_first() {
    let client = changed();
    let ran = client.words("history :a");
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let (by_hand, agent) = ("by hand", "updated");
    let shown: Vec<(&str, &str, &str)> = lines
        .iter()
        .map(|line| (line[0], line[2], line[4]))
        .collect();
    assert_eq!(
        shown,
        [
            (&*revision("Three.\n"), by_hand, ""),
            (&*revision("Two.\n"), agent, "a note"),
            (&*revision("One.\n"), by_hand, "")
        ]
    );
    let json = client.words("history a --json").json();
    assert_eq!(json["name"], "a");
    let mut first = json["versions"][0].clone();
    assert!(first["at"].as_str().unwrap().ends_with('Z'), "{first}");
    first.as_object_mut().unwrap().remove("at");
    assert_eq!(
        first,
        json!({"revision": revision("Three.\n"), "operation": "by_hand", "current": true})
    );
    assert_eq!(
        (
            &json["versions"][1]["operation"],
            &json["versions"][1]["note"]
        ),
        (&json!("update"), &json!("a\tnote"))
    );
    client
        .words("history b")
        .failed(1, "error: no prompt named `b`\n");
    let with_builtin = client.arguments(["--prompts", "prompts"]);
    for command in ["history", "diff"] {
        run(&with_builtin, &[command, "review"])
            .failed(1, "error: `review` is a built-in prompt, which cannot be changed, and has no history; create a prompt named `review`, which \
                 overrides it\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_history_is_a_table_with_a_mark_at_the_current_version() {
    let client = changed();
    let Some(shown) = crate::terminal::ran(&client, 80, "history a", &[("NO_COLOR", "1")], "")
    else {
        return;
    };
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("REVISION  WHEN "), "{shown}");
    let short = &revision("Three.\n")[..8];
    let is_current = lines[1].starts_with(short) && lines[1].ends_with("  (current)");
    assert!(is_current && lines.len() == 4, "{shown}");
}

#[test]
fn diff_shows_what_has_changed_since_a_version() {
    let client = changed();
    let (one, two, three) = (revision("One.\n"), revision("Two.\n"), revision("Three.\n"));
    let diff =
        |from: &str, old: &str| format!("--- {from}\n+++ {three}\n@@ -1 +1 @@\n-{old}\n+Three.\n");
    client.words("diff a").printed(&diff(&two, "Two."));
    run(&client, &["diff", "a", &one[..6]]).printed(&diff(&one, "One."));
    run(&client, &["diff", "a", &one.to_uppercase()]).printed(&diff(&one, "One."));
    let json = client.words("diff a --json").json();
    assert_eq!(
        json,
        json!({"name": "a", "from": two, "to": three, "diff": diff(&two, "Two.")})
    );
    run(&client, &["diff", "a", &three]).said("note: `a` has the same text as that version\n");
    for (typed, want) in [
        ("", "several revisions begin with"),
        ("0000000", "no version has the revision"),
    ] {
        let ran = run(&client, &["diff", "a", typed]);
        ran.says(1, &[want]);
    }
    client.write("new.md", "New.");
    client.words("diff new").failed(
        1,
        "error: `new` has no earlier version: one is kept when an agent, the web page, `edit` or `restore` changes it; look for the text in \
         git or in a backup\n",
    );
}

#[test]
fn restore_undoes_a_change_a_restore_and_a_removal() {
    let client = changed();
    let file = client.path("prompts/a.md");
    let restored = format!(
        "{}\n",
        fs::canonicalize(client.root())
            .unwrap()
            .join("prompts/a.md")
            .display()
    );
    let undo = |text: &str| {
        format!(
            "note: `prompt-expander restore a {}` undoes this\n",
            &revision(text)[..8]
        )
    };
    let two = revision("Two.\n");
    for (arguments, was, is) in [
        (&["restore", "a"][..], "Three.\n", "Two.\n"),
        (&["restore", "a"], "Two.\n", "Three.\n"),
        (&["restore", "a", &two[..5]], "Three.\n", "Two.\n"),
    ] {
        let ran = run(&client, arguments);
        assert_eq!((ran.stdout.as_str(), ran.stderr), (&*restored, undo(was)));
        assert_eq!(fs::read_to_string(&file).unwrap(), is);
    }
    run(&client, &["restore", "a", &two])
        .said("note: `a` has this text already; nothing is changed\n");
    fs::remove_file(&file).unwrap();
    let json = client.words("restore a --json").json();
    assert_eq!(json, json!({"path": restored.trim_end(), "revision": two}));
    assert_eq!(fs::read_to_string(&file).unwrap(), "Two.\n");
    client
        .words("restore never")
        .failed(1, "error: no prompt named `never`\n");
}

/// A person's own changes can be undone like those of an agent, also in a project.
#[cfg(unix)]
#[test]
fn what_edit_and_rm_replace_is_kept_and_can_be_restored_also_in_a_project() {
    for (folder, option) in [("prompts", &[][..]), (".prompts", &["--project"][..])] {
        let client = Client::new().variable("EDITOR", "sh -c 'echo New. > \"$0\"'");
        let file = client.path(folder).join("a.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "Old.\n").unwrap();
        let done = |arguments: &[&str]| {
            let ran = client.run([arguments, option].concat(), "");
            assert!(
                ran.status.success(),
                "{folder} {arguments:?}: {}",
                ran.stderr
            );
            (fs::read_to_string(&file).unwrap_or_default(), ran.stderr)
        };
        assert_eq!(done(&["edit", "a"]).0, "New.\n");
        let (restored, undo) = done(&["restore", "a"]);
        assert_eq!(restored, "Old.\n");
        let (removed, restore) = done(&["rm", "a", "--yes"]);
        assert_eq!(removed, "");
        for (note, text) in [(restore, "Old.\n"), (undo, "New.\n")] {
            client
                .words(
                    note.split('`')
                        .nth(1)
                        .unwrap()
                        .trim_start_matches("prompt-expander "),
                )
                .says(0, &[]);
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{note}");
        }
        let ignored = fs::read_to_string(client.path(folder).join(".history/.gitignore"));
        assert_eq!(ignored.unwrap(), "*\n", "{folder}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_edit_that_ends_in_a_broken_prompt_asks_whether_to_edit_again() {
    let client = Client::new().prompt("a.md", "A").variable("NO_COLOR", "1");
    let script = "test -e again && echo good > \"$0\" || { touch again; echo --- > \"$0\"; }";
    let client = client.variable("EDITOR", &format!("sh -c '{}'", script.replace('\'', "")));
    let line = "prompt-expander --prompts prompts edit a; echo status $?";
    let Some(said) = crate::terminal::typed(&client, 200, line, "y\n") else {
        return;
    };
    assert!(
        said.contains("It is broken. Edit it again? [y/N]") && said.contains("status 0"),
        "{said}"
    );
    assert_eq!(client.text("prompts/a.md"), "good\n");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_the_question_whether_to_edit_again() {
    let client = Client::new()
        .arguments([])
        .variable("EDITOR", "sh -c 'echo --- > \"$0\"'");
    let line = "$PROGRAM edit research";
    let Some(mut typing) = crate::terminal::Typing::started(&client, 200, line) else {
        return;
    };
    typing.until("[y/N]");
    typing.keys("\x03n\n");
    let shown = typing.end();
    assert!(!shown.contains("now replaces"), "{shown}");
}

/// A file system of its own, which ends with the value.
#[cfg(target_os = "linux")]
struct Mounted(PathBuf);

#[cfg(target_os = "linux")]
impl Mounted {
    /// `None` if the system does not let the tests mount one, as without root's rights.
    fn new(folder: &Path, size: &str) -> Option<Mounted> {
        let options = format!("size={size}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(folder)
            .output();
        mount
            .is_ok_and(|mount| mount.status.success())
            .then(|| Mounted(folder.to_owned()))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mounted {
    fn drop(&mut self) {
        assert!(
            Command::new("umount")
                .arg(&self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}

/// The files below a folder.
#[cfg(target_os = "linux")]
fn files(folder: &Path) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|file| file.file_type().is_file());
    let mut files: Vec<String> = files
        .map(|file| {
            file.path()
                .strip_prefix(folder)
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    files.sort();
    files
}

/// Needs root's rights.
#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_nothing_changes_and_the_message_has_the_path() {
    let mut client = Client::new().arguments(EDIT);
    let prompts = client.prompts();
    let Some(mounted) = Mounted::new(&prompts, "96k") else {
        return assert!(!client.is_root(), "root can mount a file system");
    };
    client.initialize(LEGACY);
    let large = "x".repeat(30_000);
    client
        .call("create_prompt", json!({"command": "a", "file": "A\n"}))
        .structured();
    let before = files(&prompts);
    // There is room for the version and not for the file, and then not even for the version.
    let refused = client
        .call(
            "create_prompt",
            json!({"command": "b", "file": large.repeat(4)}),
        )
        .error();
    assert!(
        refused.contains("No space left on device") && refused.contains("prompts/"),
        "{refused}"
    );
    assert_eq!(
        files(&prompts),
        before,
        "neither a part of a file, nor a version"
    );
    let refused = client
        .call(
            "update_prompt",
            json!({"command": "a", "file": large.repeat(4), "expected": revision("A\n")}),
        )
        .error();
    assert_contains(&refused, "No space left on device");
    assert_eq!(
        (files(&prompts), fs::read(prompts.join("a.md")).unwrap()),
        (before, b"A\n".to_vec())
    );
    client
        .call(
            "create_prompt",
            json!({"command": "c", "file": large.clone()}),
        )
        .structured();
    client.finish();
    drop(mounted);
}
