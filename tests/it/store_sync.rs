//! `store push` and `store pull`: a folder and a store become the same, without loss on either
//! side.

use crate::client::Ran;
use crate::client::{Client, assert_contains};
use crate::postgres::{save, sql, text_of};
use crate::store::{client, prompt, url};
use crate::terminal::typed;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `store ACTION` on the store of a client, and in its folder.
fn store_command(client: &Client, line: &str) -> Command {
    let words = format!("store {line} --store {}", url(client));
    let mut command = client.command();
    command.args(words.split(' ')).stdin(Stdio::null());
    command
}

/// Runs it.
pub(crate) fn store(client: &Client, line: &str) -> Ran {
    let output = store_command(client, line).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        status: output.status,
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// The paths in the store of a client.
pub(crate) fn paths(client: &Client) -> String {
    sql(&url(client), "select path from file order by path").replace('\n', " ")
}

/// The files below a folder, and their bytes.
fn bytes_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(bytes_below(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

#[test]
fn push_and_then_pull_gives_the_same_bytes() {
    let Some(client) = client() else { return };
    let files = [
        ("plain.md", "A.\n"),
        ("git/crlf.md", "---\r\ntitle: T\r\n---\r\nCommit.\r\n"),
        ("bom.md", "\u{feff}---\ntitle: T\n---\nA."),
        ("übung/größe.md", "Größe: {{input}} \u{1f980}\n"),
        ("_with spaces & 'quotes'.md", "  \t\n\n"),
        ("_style.md", "Be brief.\r"),
        ("two words.md", ""),
        ("includes.md", "---\ninclude: true\n---\n{{> _style}}\n"),
        ("plain.test.txt", "=== A\n--- exact\nA.\n"),
        ("skill/SKILL.md", "---\ndescription: D\n---\nA\n\n"),
    ];
    for (path, text) in files {
        client.put(format!("in/{path}"), text);
    }
    client.put("in/.history/plain.md", "hidden");
    let dry = store(&client, "push in --dry-run");
    dry.says(0, &["create git/crlf.md\n"]);
    assert_eq!(
        (dry.stdout.lines().count(), &*paths(&client)),
        (files.len(), ""),
        "{}",
        dry.stdout
    );
    store(&client, "push in").says(1, &["add --yes to write 10 files"]);
    assert_eq!(paths(&client), "");
    store(&client, "push in --yes").says(0, &["pushed 10 files (10 new)"]);
    store(&client, "push in").says(0, &["the store is already up to date"]);
    store(&client, "pull out").says(1, &["create git/crlf.md\n", "add --yes to write 10 files"]);
    store(&client, "pull out --yes").says(0, &["pulled 10 files (10 new)"]);
    store(&client, "pull out").says(0, &["the folder is already up to date"]);
    fs::remove_dir_all(client.path("in/.history")).unwrap();
    let below = |folder: &str| {
        let root = client.path(folder);
        bytes_below(&root)
            .into_iter()
            .map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(below("in"), below("out"));
}

#[test]
fn what_the_store_cannot_take_is_listed_and_nothing_is_written_without_skip() {
    let Some(client) = client() else { return };
    let refused: [(&str, &[u8], &str); 7] = [
        ("A.md", b"A", ""),
        (
            "a.md",
            b"a",
            "in/a.md: the path of another file differs only in letter case",
        ),
        (
            "broken.md",
            b"---\ninclude: true\n---\n{{> /gone}}",
            "in/broken.md:4:1: `/gone` cannot be included",
        ),
        (
            "image.png",
            b"x",
            "in/image.png: only Markdown and test files can be stored",
        ),
        ("latin.md", b"gr\xfc\xdfe", "in/latin.md:1:3: "),
        (
            "long.md",
            &[b'a'; 256 * 1024 + 1],
            "in/long.md: the file is",
        ),
        ("nul.md", b"a\0b", "in/nul.md: the file has a NUL character"),
    ];
    for (path, bytes, _) in refused {
        client.put(format!("in/{path}"), bytes);
    }
    let reasons: Vec<&str> = refused.iter().map(|(.., why)| *why).collect();
    store(&client, "push in --yes").says(1, &[&reasons[..], &["6 files cannot be taken"]].concat());
    assert_eq!(paths(&client), "");
    store(&client, "push in --yes --skip").says(0, &reasons);
    assert_eq!(paths(&client), "A.md");
}

#[test]
fn push_with_prune_deletes_what_the_folder_does_not_have_but_not_everything() {
    let Some(client) = client() else { return };
    for name in ["a", "b", "c"] {
        client.run(["new", name], prompt("One.\n")).says(0, &[]);
    }
    store(&client, "pull in --yes").says(0, &[]);
    client.put("in/a.md", prompt("Two.\n"));
    client.put("in/b.md", "\0");
    fs::remove_file(client.path("in/c.md")).unwrap();
    client.make_folder("empty");
    store(&client, "push empty --prune --yes").says(
        1,
        &["`empty` has no prompts: --prune would delete everything in the store (3 files). If you want that, add --force"],
    );
    store(&client, "push gone --prune --yes --skip").says(1, &["there is no folder `gone`"]);
    assert_eq!(paths(&client), "a.md b.md c.md");
    let pushed = store(&client, "push in --prune --yes --skip");
    assert_eq!(
        pushed.stdout, "change a.md\ndelete c.md\n",
        "{}",
        pushed.stderr
    );
    assert_contains(&pushed.stderr, "pushed 2 files (1 deleted)");
    assert_eq!(paths(&client), "a.md b.md");
    let emptied = "push empty --prune --yes --force";
    store(&client, emptied).says(
        1,
        &["conflict a.md: changed in the store; last written to the store by postgres at "],
    );
    store(&client, &format!("{emptied} --overwrite-all")).says(0, &["delete a.md\n"]);
    assert_eq!(paths(&client), "");
}

#[test]
fn a_path_that_differs_from_one_of_the_store_only_in_letter_case_is_refused() {
    let Some(client) = client() else { return };
    client.run(["new", "a"], prompt("One.\n")).says(0, &[]);
    client.put("in/A.md", "A");
    client.put("in/b.md", "B");
    store(&client, "push in --yes").says(
        1,
        &["choose a name that differs from all others in more than letter case"],
    );
    assert_eq!(paths(&client), "a.md");
}

/// The lines that a command has printed, without those of differences.
fn outcomes(ran: &Ran) -> Vec<&str> {
    let verbs = ["create ", "change ", "delete ", "keep ", "conflict "];
    let mut lines = Vec::new();
    for line in ran.stdout.lines() {
        if verbs.iter().any(|verb| line.starts_with(verb)) {
            lines.push(line.split("; last written").next().unwrap());
        }
    }
    lines
}

#[test]
fn push_replaces_only_what_this_folder_last_had() {
    let Some(client) = client() else { return };
    for name in ["mine", "theirs", "both", "gone", "same", "old"] {
        save(&client, &format!("{name}.md"), "One.\n");
    }
    store(&client, "pull in --yes").says(0, &[]);
    for (name, mine) in [
        ("mine", "Mine."),
        ("both", "Mine."),
        ("same", "Same.\n"),
        ("new", "New."),
    ] {
        client.put(format!("in/{name}.md"), mine);
    }
    for (name, theirs) in [
        ("theirs", "Theirs.\n"),
        ("both", "Theirs.\n"),
        ("same", "Same.\n"),
    ] {
        save(&client, &format!("{name}.md"), theirs);
    }
    client.words("rm --yes gone").says(0, &[]);
    save(&client, "later.md", "Later.\n");
    fs::remove_file(client.path("in/old.md")).unwrap();

    let conflicts = [
        "conflict both.md: changed in the store",
        "conflict gone.md: deleted in the store",
        "conflict theirs.md: changed in the store",
    ];
    let changes = ["change mine.md", "create new.md"];
    let dry = store(&client, "push in --dry-run");
    dry.says(
        1,
        &["3 files in the store are in conflict (see above). To replace a prompt, add --overwrite NAME"],
    );
    assert_eq!(outcomes(&dry), [&changes[..], &conflicts].concat());
    assert!(
        dry.stdout
            .contains("--- store\n+++ folder\n@@ -1 +1 @@\n-Theirs.\n+Mine.\n"),
        "{}",
        dry.stdout
    );
    dry.says(
        1,
        &["conflict gone.md: deleted in the store; last written to the store by postgres at 20"],
    );
    assert_eq!(text_of(&client, "mine.md").unwrap(), "One.\n");

    store(&client, "push in --yes").says(1, &["pushed 2 files (1 new)"]);
    let texts = |client: &Client| {
        sql(
            &url(client),
            "select path || ' ' || split_part(text, chr(10), 1) from file order by path",
        )
    };
    let kept = "both.md Theirs.\nlater.md Later.\nmine.md Mine.\nnew.md New.\nold.md One.\nsame.md Same.\ntheirs.md Theirs.";
    assert_eq!(texts(&client), kept);
    let pruned = store(&client, "push in --prune --overwrite both --yes");
    pruned.says(1, &["pushed 2 files (1 deleted)"]);
    assert_eq!(
        outcomes(&pruned),
        [
            "change both.md",
            "delete old.md",
            "conflict gone.md: deleted in the store",
            "conflict later.md: changed in the store",
            "conflict theirs.md: changed in the store",
        ]
    );
    // What was the same on both sides can be changed, and what was deleted can be created again.
    client.put("in/same.md", "Again.");
    client.put("in/old.md", "Again.");
    let again = store(&client, "push in --overwrite-all --yes");
    again.says(0, &["pushed 4 files (2 new)"]);
    let all = [
        "create gone.md",
        "create old.md",
        "change same.md",
        "change theirs.md",
    ];
    assert_eq!(outcomes(&again), all);
}

/// Runs git in the home directory of a client, whose repository is larger than the folder `in`.
fn git(client: &Client, line: &str) {
    let ran = Command::new("git")
        .current_dir(client.root())
        .env("HOME", client.root())
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(line.split(' '))
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn an_earlier_commit_of_the_folder_may_be_replaced_and_a_later_one_not() {
    let Some(client) = client() else { return };
    client.put("in/git/a.md", "One.\n");
    git(&client, "init --quiet --initial-branch=main");
    let commit = |text: &str| {
        client.put("in/git/a.md", text);
        git(&client, "add in");
        git(&client, "commit --quiet --message=A");
    };
    commit("One.\n");
    git(&client, "checkout --quiet -b later");
    commit("Later.\n");
    git(&client, "checkout --quiet main");
    commit("Two.\n");
    for (theirs, outcome) in [
        ("One.\n", "change git/a.md"),
        ("Later.\n", "conflict git/a.md: changed in the store"),
        ("Theirs.\n", "conflict git/a.md: changed in the store"),
    ] {
        save(&client, "git/a.md", theirs);
        let ran = store(&client, "push in --dry-run");
        assert_eq!(outcomes(&ran), [outcome], "{theirs} {}", ran.stderr);
    }
    // A variable, maybe from the `.env` of a clone, changes no setting of git, and writes no file.
    save(&client, "git/a.md", "One.\n");
    let trace = client.path("trace");
    let ran = store_command(&client, "push in --dry-run")
        .env("GIT_CONFIG_COUNT", "no number")
        .env("GIT_TRACE", &trace)
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_contains(&printed, "change git/a.md");
    assert!(!trace.exists());
    save(&client, "git/a.md", "Theirs.\n");
    for (mine, outcome) in [
        ("One.\n", "change git/a.md"),
        ("Two.\n", "change git/a.md"),
        ("Mine.\n", "conflict git/a.md: changed in the folder"),
    ] {
        client.put("in/git/a.md", mine);
        let ran = store(&client, "pull in --dry-run");
        assert_eq!(outcomes(&ran), [outcome], "{mine} {}", ran.stderr);
    }
}

#[test]
fn pull_replaces_only_what_this_folder_last_had() {
    let Some(client) = client() else { return };
    for name in ["mine", "theirs", "gone"] {
        save(&client, &format!("{name}.md"), "One.\n");
    }
    client.put("in/before.md", "Mine.\n");
    save(&client, "before.md", "Theirs.\n");
    store(&client, "pull in --yes").says(1, &["pulled 3 files (3 new)", "--- folder\n+++ store\n"]);
    client.put("in/mine.md", "Mine.\n");
    client.put("in/other.md", "Mine.\n");
    fs::remove_file(client.path("in/gone.md")).unwrap();
    save(&client, "theirs.md", "Theirs.\n");
    save(&client, "new.md", "Theirs.\n");
    let conflicts = [
        "conflict before.md: changed in the folder",
        "conflict gone.md: deleted in the folder",
        "conflict mine.md: changed in the folder",
    ];
    let changes = ["keep other.md", "create new.md", "change theirs.md"];
    for line in ["pull in --dry-run", "pull in --yes"] {
        let ran = store(&client, line);
        ran.says(1, &["3 files in the folder are in conflict"]);
        assert_eq!(outcomes(&ran), [&changes[..], &conflicts].concat());
    }
    let read = |path: &str| fs::read_to_string(client.path("in").join(path)).unwrap();
    assert_eq!([read("before.md"), read("mine.md")], ["Mine.\n", "Mine.\n"]);
    assert_eq!(
        [read("new.md"), read("theirs.md")],
        ["Theirs.\n", "Theirs.\n"]
    );
    store(&client, "pull in --yes --overwrite mine").says(1, &["change mine.md\n"]);
    store(&client, "pull in --yes --overwrite-all").says(0, &["create gone.md\n"]);
    assert_eq!([read("mine.md"), read("gone.md")], ["One.\n", "One.\n"]);
}

#[test]
fn a_write_of_somebody_else_while_a_push_waits_is_not_replaced() {
    let Some(client) = client() else { return };
    save(&client, "a.md", "One.\n");
    store(&client, "pull in --yes").says(0, &[]);
    client.put("in/a.md", "Mine.\n");
    let url = url(&client);
    let mut psql = Command::new("psql")
        .args(["-Xq", &url])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut colleague = psql.stdin.take().unwrap();
    let update = "begin; insert into history (seq, path, text) select max(seq) + 1, 'a.md', 'Theirs.' from history;
        update file set text = 'Theirs.', seq = (select max(seq) from history) where path = 'a.md';";
    writeln!(colleague, "{update}").unwrap();
    let locks =
        "select count(*) from pg_locks where relation = 'history'::regclass and mode like 'RowEx%'";
    while sql(&url, locks) == "0" {}
    let mut push = store_command(&client, "push in --yes")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waiting =
        "select count(*) from pg_locks where not granted and relation = 'history'::regclass";
    while sql(&url, waiting) == "0" {
        assert!(
            push.try_wait().unwrap().is_none(),
            "it has waited for nobody"
        );
    }
    writeln!(colleague, "commit;").unwrap();
    let pushed = push.wait_with_output().unwrap();
    let stderr = String::from_utf8(pushed.stderr).unwrap();
    assert_contains(&stderr, "`a.md` has just been changed; nothing was written");
    assert_eq!(text_of(&client, "a.md").unwrap(), "Theirs.");
    drop(colleague);
    psql.wait().unwrap();
}

#[test]
fn what_a_folder_last_had_is_kept_for_its_owner_and_without_a_password() {
    let Some(client) = client() else { return };
    client.put("in/a.md", "A");
    let secret = url(&client).replace("postgres@", "postgres:s3cret@");
    let home = Client::new()
        .arguments([])
        .variable("PROMPT_EXPANDER_STORE", &secret);
    home.put("in/a.md", "A");
    home.words("store push in --yes").says(0, &[]);
    let state = home.path(".local/state/prompt-expander/store");
    let files = bytes_below(&state);
    assert_eq!(files.len(), 1);
    for (file, bytes) in files {
        let text = format!("{} {}", file.display(), String::from_utf8(bytes).unwrap());
        assert!(text.contains("a.md") && !text.contains("s3cret"), "{text}");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_clone_says_that_a_folder_last_had_does_not_count() {
    let Some(client) = client() else { return };
    let client = client
        .working_in("clone")
        .variable("XDG_STATE_HOME", "/proc/self/cwd/state");
    client.put("clone/in/a.md", "Theirs.");
    store(&client, "push in --yes").says(0, &[]);
    assert!(!client.path("clone/state").exists());
    assert!(client.path(".local/state/prompt-expander").exists());
}

#[test]
fn pull_shows_what_it_changes_and_what_it_keeps_and_asks() {
    let Some(client) = client() else { return };
    client.run(["new", "a"], prompt("One.\n")).says(0, &[]);
    client.put("out/other.md", "Other.");
    store(&client, "pull out").says(1, &["add --yes to write 1 file into the folder"]);
    let program = env!("CARGO_BIN_EXE_prompt-expander");
    let line = format!("{program} store pull out --store '{}'", url(&client));
    let Some(shown) = typed(&client, 80, &line, "n\n") else {
        return;
    };
    let question = "keep other.md\ncreate a.md\nWrite 1 file into the folder? [y/N]";
    assert_contains(&shown, question);
    assert!(!client.path("out/a.md").exists());
}

#[test]
fn push_follows_no_symlink_out_of_a_folder_that_is_not_ones_own() {
    let Some(client) = client() else { return };
    client.put("in/a.md", "A.");
    client.put("outside/secret.md", "Secret.");
    client.link("../outside/secret.md", "in/leak.md");
    client.link("../outside", "in/folder");
    store(&client, "push in --yes").says(
        1,
        &["in/leak.md: ", "in/folder: ", "2 files cannot be taken"],
    );
    store(&client, "push in --yes --skip").says(0, &["pushed 1 file (1 new)"]);
    assert_eq!(paths(&client).trim(), "a.md");
}

#[test]
fn pull_writes_only_paths_that_push_takes_and_follows_no_symlink() {
    let Some(client) = client() else { return };
    let outside = client.path("outside");
    client.put("outside/target.md", "Outside.");
    client.put("out/ok.md", "Mine.");
    client.link(&outside, "out/link");
    client.link(outside.join("target.md"), "out/linked.md");
    let refused = [
        "../b.md",
        "/b.md",
        ".git/config",
        ".git/a.md",
        ".bashrc",
        "x/.b.md",
        "x//b.md",
        "./b.md",
        "a\\b.md",
        "run.sh",
        ".md",
        ".test.txt",
        "x/\u{1b}[2J.md",
        "link/in.md",
        "linked.md",
    ];
    for path in refused {
        save(&client, path, "Evil.");
    }
    save(&client, "ok.md", "Theirs.");
    save(&client, "x/new.md", "Theirs.");
    let before = bytes_below(client.root());
    store(&client, "pull out --yes --overwrite-all").says(
        1,
        &[
            "out/.git/config: only Markdown and test files can be stored",
            "out/link/in.md: the path contains a symlink",
            "15 files cannot be taken, so nothing was written",
        ],
    );
    assert_eq!(bytes_below(client.root()), before);
    let pulled = store(&client, "pull out --yes --overwrite-all --skip");
    let lines = [
        "keep link/target.md",
        "keep linked.md",
        "change ok.md",
        "create x/new.md",
    ];
    assert_eq!(outcomes(&pulled), lines);
    assert_eq!(
        fs::read_to_string(outside.join("target.md")).unwrap(),
        "Outside."
    );
    let mut written: Vec<PathBuf> = bytes_below(&client.path("out")).into_keys().collect();
    written.retain(|file| !file.starts_with(client.path("out/link")));
    let names = ["linked.md", "ok.md", "x/new.md"].map(|name| client.path("out").join(name));
    assert_eq!(written, names);
}
