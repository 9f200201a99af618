//! The program is killed whenever it is about to store or rename something on the disk: nothing is
//! readable by others that should not be, and the next run removes or finishes what is left.

use crate::client::{Client, Ran, set_mode, settle};
use crate::pack::Repository;
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Before each of these, the disk has a state that a kill can leave.
const MOMENTS: [&str; 5] = ["fsync", "rename", "renameat", "renameat2", "unlink"];

/// What no other user may read.
const SECRET: &str = "sk-of-the-user";

/// Makes a client, and kills the command at one moment after the other, each time with a client of
/// its own. `check` then sees the client. Returns how often it was killed.
fn at_each_moment(make: impl Fn() -> Client, line: &str, check: impl Fn(&Client)) -> usize {
    let mut kills = 0;
    for moment in MOMENTS {
        for count in 1.. {
            let client = make();
            if !is_killed(&client, line, moment, count) {
                break;
            }
            kills += 1;
            for file in files(client.root()) {
                let text = fs::read(&file).unwrap();
                let is_secret = String::from_utf8_lossy(&text).contains(SECRET);
                let mode = fs::metadata(&file).unwrap().mode() & 0o777;
                assert!(
                    !is_secret || mode == 0o600,
                    "{moment} {count}: {} has the mode {mode:o}",
                    file.display()
                );
            }
            check(&client);
        }
    }
    kills
}

/// Runs a command, and kills it when it calls the system for this for the `count`th time.
fn is_killed(client: &Client, line: &str, moment: &str, count: usize) -> bool {
    let fault = format!("{moment}:signal=SIGKILL:when={count}");
    with_fault(client, line, &fault).status.signal() == Some(9)
}

/// Runs a command with a fault that strace makes.
fn with_fault(client: &Client, line: &str, fault: &str) -> Output {
    let mut strace = command_with_fault(client, line, fault, None);
    strace.stdin(Stdio::null()).output().unwrap()
}

/// Returns a command with a fault, perhaps only in calls with this path.
fn command_with_fault(client: &Client, line: &str, fault: &str, path: Option<&Path>) -> Command {
    let program = client.command();
    let mut strace = Command::new("/usr/bin/strace");
    strace
        .args(["-o", "strace", "-e"])
        .arg(format!("trace={}", fault.split(':').next().unwrap()))
        .arg("-e")
        .arg(format!("inject={fault}"));
    if let Some(path) = path {
        strace.arg("-P").arg(path);
    }
    strace
        .arg(program.get_program())
        .args(client.library_arguments())
        .args(line.split_whitespace())
        .current_dir(client.root());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace
}

/// All files below a folder, except those of the server.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("server") || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Nothing is left of a run that was killed.
#[track_caller]
fn nothing_is_left(client: &Client, ran: &Ran) {
    for file in files(client.root()) {
        let path = file.to_str().unwrap();
        let is_temporary = path.contains("/.prompt-expander-") || path.contains("/.new-");
        assert!(!is_temporary, "{path} is left: {ran:?}");
    }
}

#[test]
fn install_that_is_killed_shows_no_key_to_others_and_the_next_run_cleans_up() {
    let make = || {
        let client = Client::new().arguments([]);
        // Through a link on PATH, so that the program is not copied.
        let bin = client.make_folder("bin");
        let program = env!("CARGO_BIN_EXE_prompt-expander");
        std::os::unix::fs::symlink(program, bin.join("prompt-expander")).unwrap();
        let client = client.variable("PATH", bin.to_str().unwrap());
        let config = client.path(".codex/config.toml");
        client.make_folder(".codex");
        fs::write(&config, format!("key = \"{SECRET}\"\n")).unwrap();
        set_mode(&config, 0o600);
        client
    };
    let kills = at_each_moment(make, "install codex --yes", |client| {
        let again = client.words("install codex --yes");
        nothing_is_left(client, &again);
        let config = client.text(".codex/config.toml");
        assert!(
            config.contains(SECRET) && config.contains("mcp_servers"),
            "{config}"
        );
    });
    assert!(kills > 5, "{kills}");
}

#[cfg(feature = "http")]
#[test]
fn token_add_that_is_killed_shows_no_token_to_others_and_the_next_run_cleans_up() {
    let make = || {
        let client = Client::new().arguments([]);
        let tokens = client.put("tokens", format!("{SECRET}-12345 name=old\n"));
        set_mode(&tokens, 0o600);
        client
    };
    let kills = at_each_moment(make, "token add new --token-file tokens", |client| {
        let again = client.words("token add other --token-file tokens");
        nothing_is_left(client, &again);
        let tokens = client.text("tokens");
        assert!(
            tokens.contains(SECRET) && tokens.contains("name=other"),
            "{tokens}"
        );
    });
    assert!(kills > 2, "{kills}");
}

#[test]
fn edit_that_is_killed_loses_no_text_and_the_next_run_cleans_up() {
    let make = || {
        let client = Client::new().variable("EDITOR", "true");
        client.prompt("git/a.md", "The text.")
    };
    let kills = at_each_moment(make, "edit git/a", |client| {
        let again = client.words("edit git/a");
        nothing_is_left(client, &again);
        let versions = client.words("history git/a").stdout;
        assert_eq!(versions.lines().count(), 1, "{versions}");
    });
    assert!(kills > 5, "{kills}");
}

/// `compose` replaces a draft in the same way.
#[test]
fn an_update_of_tests_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let [old, new] = ["=== T\n--- text\nOld\n", "=== T\n--- text\nA\n"];
    let make = || Client::new().prompt("a.md", "A").prompt("a.test.txt", old);
    let kills = at_each_moment(make, "test --update", |client| {
        let text = client.text("prompts/a.test.txt");
        assert!([old, new].contains(&text.as_str()), "{text}");
        nothing_is_left(client, &client.words("test --update"));
    });
    assert!(kills > 1, "{kills}");
}

/// A write of the store, which `restore` is, too, and the steps that `library/write/file_store.rs`
/// names.
#[test]
fn a_write_that_is_killed_loses_no_text_and_the_next_one_goes_on() {
    let make = || {
        let client = Client::new().prompt("git/a.md", "first");
        client.words("rm --yes git/a");
        client.words("restore git/a");
        client.write("git/a.md", "by hand");
        client
    };
    let kills = at_each_moment(make, "restore git/a", |client| {
        let text = client.words("show git/a").stdout;
        assert!(text == "first" || text == "by hand", "{text}");
        let again = client.words("restore git/a");
        assert_eq!(again.status.code(), Some(0), "{again:?}");
        nothing_is_left(client, &again);
        let kept: Vec<String> = files(&client.path("prompts/.history/git/a"))
            .iter()
            .map(|file| fs::read_to_string(file).unwrap())
            .collect();
        for text in ["first", "by hand"] {
            assert!(kept.iter().any(|kept| kept == text), "{text}: {kept:?}");
        }
    });
    assert!(kills > 8, "{kills}");
}

/// `fsync` fails: of a version in the history, of the new file, and then of their folders.
#[test]
fn a_disk_that_refuses_a_step_leaves_the_prompt_as_it_was_or_the_error_says_that_it_may_be_written()
{
    let mut outcomes = Vec::new();
    for count in 1.. {
        let client = Client::new().prompt("a.md", "first");
        client.words("rm --yes a");
        client.words("restore a");
        client.write("a.md", "by hand");
        let fault = format!("fsync:error=EIO:when={count}");
        let output = with_fault(&client, "restore a", &fault);
        let calls = client.text("strace");
        if !calls.contains("INJECTED") {
            break;
        }
        let ran = Ran {
            status: output.status,
            stdout: String::new(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        nothing_is_left(&client, &ran);
        let is_written = fs::read(client.path("prompts/a.md")).unwrap() == b"first";
        let says_so = ran.stderr.contains("the text may have been written");
        outcomes.push((ran.status.success(), is_written, says_so));
    }
    // Only its record is lost, if anything.
    assert_eq!(outcomes.pop(), Some((true, true, false)));
    assert!(outcomes.contains(&(false, false, false)), "{outcomes:?}");
    assert!(outcomes.contains(&(false, true, true)), "{outcomes:?}");
    assert!(!outcomes.contains(&(false, true, false)), "{outcomes:?}");
}

#[test]
fn mv_that_is_killed_keeps_tests_and_history_with_the_prompt() {
    for has_history in [true, false] {
        let make = || {
            let client = Client::new()
                .prompt("old.md", "Text.")
                .prompt("old.test.txt", "=== a\nText.\n");
            if has_history {
                client.words("rm --yes old");
                client.words("restore old");
                client.write("old.test.txt", "=== a\nText.\n");
            }
            client
        };
        let kills = at_each_moment(make, "mv old team/new", |client| {
            let again = client.words("mv old team/new");
            nothing_is_left(client, &again);
            let tests = client.path("prompts/team/new.test.txt");
            assert_eq!(fs::read(tests).unwrap(), b"=== a\nText.\n", "{again:?}");
            let versions = client.words("history team/new").stdout;
            let count = if has_history { 3 } else { 1 };
            assert_eq!(versions.lines().count(), count, "{versions} {again:?}");
            assert!(!client.path("prompts/old.test.txt").exists());
        });
        assert!(kills > 3, "{kills}");
    }
}

#[test]
fn pack_update_that_is_killed_leaves_a_whole_pack_and_the_next_run_cleans_up() {
    let commits = std::cell::RefCell::new(String::new());
    let make = || {
        let client = Client::new().variable("PAGER", "cat");
        let repository = Repository::new(client.path("server/acme/prompts.git"));
        let old = repository.put(&[("review.md", "Old.\n")]);
        let address = repository.address();
        let added = client.words(&format!("pack add {address} --yes --ref {old}"));
        assert_eq!(added.status.code(), Some(0), "{added:?}");
        *commits.borrow_mut() = repository.put(&[("review.md", "New.\n")]);
        client
    };
    let new = {
        make();
        commits.borrow().clone()
    };
    let update = format!("pack update acme --yes --ref {new}");
    let kills = at_each_moment(make, &update, |client| {
        let text = client.words("expand acme/review").stdout;
        assert!(text == "Old.\n" || text == "New.\n", "{text}");
        client.words("pack sync --locked").printed("");
        let again = client.words(&update);
        nothing_is_left(client, &again);
        client.words("expand acme/review").printed("New.\n");
    });
    assert!(kills > 3, "{kills}");
}

#[test]
fn a_folder_that_could_not_be_read_once_is_read_for_the_next_list() {
    let client = Client::new();
    client.put("prompts/x.md", "Do X.");
    settle(&client.prompts());
    let mut messages = String::new();
    for id in 1..=2 {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "list_prompts", "arguments": {} } });
        messages += &format!("{call}\n");
    }
    let input = client.put("input", messages);
    // The folder is opened for other reasons before the first list.
    let mut has_failed = false;
    for count in 1..=4 {
        let fault = format!("openat:error=EMFILE:when={count}");
        let output = command_with_fault(&client, "", &fault, Some(&client.prompts()))
            .stdin(File::open(&input).unwrap())
            .output()
            .unwrap();
        let answers = String::from_utf8(output.stdout).unwrap();
        let (first, second) = answers.split_once('\n').unwrap();
        has_failed |= first.contains("Too many open files");
        assert!(second.contains("Do X."), "{first}\n{second}");
    }
    assert!(has_failed);
}
