//! `rm` and `mv`: files that a person removes and renames. Nothing else is lost.

use crate::client::{Client, Ran};
#[cfg(unix)]
use crate::client::{assert_contains, set_mode};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The library of `prompts`, `other` and the built-in prompts.
fn two_folders() -> Client {
    let client = Client::new().arguments(["--prompts", "prompts", "--prompts", "other"]);
    client.make_folder("other");
    client
}

/// A repository, in which the program works with `--project`.
fn project() -> Client {
    let client = Client::new()
        .arguments(["--project", "--prompts", "../prompts"])
        .working_in("repo");
    client.make_folder("repo/.git");
    client.make_folder("repo/.prompts");
    client
}

/// Every file and symlink below the client's directory, with what it holds; but not the history.
fn files(client: &Client) -> Vec<(PathBuf, Vec<u8>)> {
    fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_name() == ".history" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                collect(&path, files);
            } else {
                let target =
                    fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes());
                files.push((
                    path.clone(),
                    target.unwrap_or_else(|_| fs::read(&path).unwrap()),
                ));
            }
        }
    }
    let mut all = Vec::new();
    collect(client.root(), &mut all);
    all.sort();
    all
}

/// The command fails, says this, and changes no file.
#[track_caller]
fn refused(client: &Client, arguments: &[&str], parts: &[&str]) {
    let before = files(client);
    let ran = client.run(arguments.iter().copied(), "y\n");
    assert_eq!(
        (ran.status.code(), ran.stdout.as_str()),
        (Some(1), ""),
        "{ran:?}"
    );
    for part in parts {
        assert!(
            ran.stderr.contains(part),
            "{part:?} is not in {:?}",
            ran.stderr
        );
    }
    assert_eq!(files(client), before, "{ran:?}");
}

/// The command succeeds, and prints these paths, relative to the client's directory, and this on
/// standard error.
#[track_caller]
fn printed(client: &Client, ran: &Ran, paths: &[&str], stderr: &str) {
    let root = fs::canonicalize(client.root()).unwrap();
    let lines: Vec<String> = paths
        .iter()
        .map(|path| format!("{}\n", root.join(path).display()))
        .collect();
    assert_eq!(
        (ran.status.code(), ran.stderr.as_str()),
        (Some(0), stderr),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, lines.concat());
}

/// What `rm` says of a prompt that is kept in the history.
fn kept(name: &str) -> String {
    format!("note: `prompt-expander restore {name}` brings it back\n")
}

/// How the versions of a prompt came about, the newest first.
fn operations(client: &Client, name: &str) -> Vec<String> {
    let ran = client.run(["history", name, "--json"], "");
    let history: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let versions = history["versions"].as_array().unwrap().iter();
    versions
        .map(|version| version["operation"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn rm_removes_the_named_files_and_says_what_has_the_name_now() {
    let client = two_folders()
        .prompt("research.md", "mine")
        .prompt("git/a.md", "A")
        .prompt("b.md", "---\nbroken");
    client.put("other/research.md", "other");
    let both = kept("git/a") + &kept("b");
    printed(
        &client,
        &client.words("rm --yes ：git：a :b git/a"),
        &["prompts/git/a.md", "prompts/b.md"],
        &both,
    );
    assert!(client.path("prompts/git").is_dir(), "empty folders stay");
    let other = client.path("other/research.md");
    let now = kept("research") + &format!("note: `:research` is now {}\n", other.display());
    printed(
        &client,
        &client.words("rm --yes research"),
        &["prompts/research.md"],
        &now,
    );
}

#[cfg(unix)]
#[test]
fn a_prompt_that_cannot_be_kept_is_not_removed() {
    let client = two_folders().prompt("a.md", "A");
    client.link("elsewhere", "prompts/.history");
    refused(
        &client,
        &["rm", "--yes", "a"],
        &["is a symlink or a file, and the history needs a folder there"],
    );
}

#[test]
fn mv_takes_the_history_along() {
    let client = two_folders()
        .prompt("a.md", "second")
        .prompt("a/below.md", "below");
    for name in ["a", "a/below"] {
        client.run(["rm", "--yes", name], "");
        client.run(["restore", name], "");
    }
    client.write("a.md", "third");
    let before = operations(&client, "a");
    assert_eq!(before, ["by_hand", "restore", "delete", "by_hand"]);
    printed(
        &client,
        &client.words("mv a team/b"),
        &["prompts/team/b.md"],
        "",
    );
    assert_eq!(operations(&client, "team/b"), before);
    assert_eq!(
        operations(&client, "a/below"),
        ["restore", "delete", "by_hand"]
    );
    assert!(client.words("history a").stderr.starts_with("error: "));
    client.words("restore team/b");
    assert_eq!(
        fs::read(client.path("prompts/team/b.md")).unwrap(),
        b"second"
    );
    // A name that had versions has both.
    client.write("c.md", "C");
    client.words("rm --yes c");
    client.words("mv team/b c");
    assert_eq!(operations(&client, "c").len(), 8);
    // Without a history, none is begun.
    let other = two_folders().prompt("a.md", "A");
    printed(&other, &other.words("mv a b"), &["prompts/b.md"], "");
    assert!(!other.path("prompts/.history").exists());
}

#[test]
fn rm_and_mv_print_json_on_request() {
    let client = two_folders().prompt("a.md", "A");
    let [from, to] = ["a.md", "b.md"].map(|file| client.prompts().join(file).display().to_string());
    client
        .words("mv a b --json")
        .printed(&format!("{}\n", json!({ "from": from, "to": to })));
    client
        .words("rm b --yes --json")
        .printed(&format!("{}\n", json!({ "removed": [to] })));
}

#[test]
fn rm_without_a_terminal_needs_yes_and_names_the_files() {
    let client = two_folders().prompt("a.md", "A").prompt("b.md", "B");
    let path = |file: &str| client.prompts().join(file).display().to_string();
    let said = format!(
        "not a terminal; add --yes to remove {}, {}\n",
        path("a.md"),
        path("b.md")
    );
    refused(
        &client,
        &["rm", "a", "b"],
        &["error: cannot ask for confirmation, ", &said],
    );
}

#[test]
fn rm_and_mv_take_exact_names_only_and_change_nothing_if_one_is_wrong() {
    let client = two_folders()
        .prompt("a.md", "A")
        .prompt("git/commit.md", "C")
        .prompt("Upper.md", "U");
    client.put("other/other.md", "O");
    for (name, said) in [
        (
            "comit",
            "no prompt named `comit`; did you mean `commit` or `git/commit`?",
        ),
        (
            "commit",
            "`commit` is a built-in prompt, which cannot be changed",
        ),
        (
            "other",
            "/other/other.md`, which prompt-expander does not write to",
        ),
        ("A", "no prompt is named exactly `A`; did you mean `a`?"),
        ("upper", "no prompt is named exactly `upper`"),
        ("git", "no prompt named `git`; did you mean `git/commit`?"),
        ("a.md", "no prompt named `a.md`; did you mean `a`?"),
        ("../prompts/a", "error: "),
        ("", "the command is empty"),
    ] {
        refused(&client, &["rm", "--yes", "a", name], &[said]);
        refused(&client, &["mv", name, "new"], &[said]);
    }
}

#[test]
fn mv_renames_a_file_byte_for_byte_and_creates_folders() {
    let text = "\u{feff}---\r\ntitle: T\r\n---\r\nText";
    let client = two_folders()
        .prompt("git/a.md", text)
        .prompt("broken.md", "---\n");
    let mv = |from: &str, to: &str| client.run(["mv", from, to], "");
    printed(&client, &mv(":git:a", ":x:y:b"), &["prompts/x/y/b.md"], "");
    client
        .words("mv broken x")
        .says(0, &["prompts/x.md\n", "x.md:1:1: the frontmatter"]);
    let files: Vec<_> = files(&client).into_iter().map(|(_, text)| text).collect();
    assert_eq!(files, [text.into(), b"---\n".to_vec()]);
    assert!(client.path("prompts/git").is_dir(), "empty folders stay");
}

#[test]
fn mv_says_which_prompts_have_the_two_names_now() {
    let client = two_folders().prompt("research.md", "mine");
    let said = "note: `:research` is now the built-in prompt\n\
                warning: `:review` now replaces the built-in prompt; `prompt-expander rm review` brings that back\n";
    printed(
        &client,
        &client.words("mv research review"),
        &["prompts/review.md"],
        said,
    );
}

#[test]
fn mv_says_which_paths_would_break_before_it_asks_and_succeeds_only_if_none_does() {
    let client = Client::new()
        .prompt(
            "a/own.md",
            "---\ninclude: true\nattachments: [data.csv]\n---\nOwn.\n",
        )
        .prompt("a/data.csv", "1")
        .prompt("a/part.md", "Part.")
        .prompt("includes.md", "---\ninclude: true\n---\n{{> a/part.md}}\n")
        .prompt("attaches.md", "---\nattachments: [a/part.md]\n---\nText.");
    client.words("mv attaches again").says(0, &["again.md\n"]);
    for (old, new, parts) in [
        (
            "a/own",
            "own",
            &["own.md:3:15: the attachment `data.csv`"][..],
        ),
        (
            "a/part",
            "part",
            &[
                "again.md: it attaches the renamed prompt",
                "includes.md: it includes the renamed prompt",
            ],
        ),
    ] {
        let asked = "add --yes to rename";
        refused(&client, &["mv", old, new], &[parts, &[asked]].concat());
        let renamed = format!("{new}.md\n");
        let ran = client.run(["mv", "--yes", old, new], "");
        ran.says(1, &[parts, &[&renamed]].concat());
    }
}

#[test]
fn mv_overwrites_nothing() {
    let client = two_folders()
        .prompt("a.md", "A")
        .prompt("b.md", "B")
        .prompt("c.MD", "C")
        .prompt("d.md/e.md", "E");
    for (new, file) in [("a", "a.md"), (":b", "b.md"), ("d", "d.md")] {
        refused(
            &client,
            &["mv", "a", new],
            &[&format!("{file}` already exists, and is not changed")],
        );
    }
    refused(
        &client,
        &["mv", "a", "b c"],
        &["error: `b c` cannot be the name of a prompt: a space ends a command"],
    );
}

#[test]
fn rm_and_mv_with_project_change_the_project_only_and_without_it_never() {
    let client = project().prompt("a.md", "mine").prompt("b.md", "B");
    let path = |file: &str| client.path(file);
    for file in ["a.md", "c.md"] {
        fs::write(path("repo/.prompts").join(file), "theirs").unwrap();
    }
    refused(
        &client,
        &["rm", "--yes", "b"],
        &[
            "`b` is in ",
            "prompts/b.md`, which prompt-expander does not write to",
        ],
    );
    printed(
        &client,
        &client.words("mv c git:c"),
        &["repo/.prompts/git/c.md"],
        "",
    );
    let ran = client.words("rm --yes a");
    assert_eq!(
        ran.stdout,
        format!(
            "{}\n",
            fs::canonicalize(path("repo/.prompts"))
                .unwrap()
                .join("a.md")
                .display()
        )
    );
    assert!(
        ran.stderr.contains("note: `:a` is now ") && ran.stderr.ends_with("/a.md\n"),
        "{ran:?}"
    );
    let client = client.arguments(["--prompts", "../prompts"]);
    refused(
        &client,
        &["rm", "--yes", "git/c"],
        &["no prompt named `git/c`"],
    );
    refused(&client, &["mv", "git/c", "c"], &["no prompt named `git/c`"]);
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use crate::terminal::ran;

    #[test]
    fn rm_asks_and_removes_nothing_unless_the_answer_is_yes() {
        let client = two_folders()
            .prompt("a.md", "A")
            .prompt("b.md", "B")
            .variable("NO_COLOR", "1");
        for (keys, is_removed) in [
            ("n\n", false),
            ("\n", false),
            ("yet\n", false),
            ("\u{4}", false),
            ("Yes\n", true),
        ] {
            let Some(said) = ran(&client, 200, "rm a b; echo status $?", &[], keys) else {
                return;
            };
            assert!(
                said.contains("/a.md\n") && said.contains("/b.md\n"),
                "{said}"
            );
            assert_contains(
                &said,
                "Remove 2 files? (`restore` brings prompts back) [y/N] ",
            );
            assert!(said.ends_with("status 0\n"), "{said}");
            assert_eq!(
                said.contains("note: nothing is removed\n"),
                !is_removed,
                "{said}"
            );
            assert_eq!(
                !client.path("prompts/a.md").exists(),
                is_removed,
                "{keys:?}"
            );
        }
        assert_eq!(files(&client), []);
    }
}

/// Two files of which the names differ in a way that macOS does not allow.
#[cfg(target_os = "linux")]
mod similar_names {
    use super::*;

    #[test]
    fn of_two_suffixes_the_prompt_is_removed_or_renamed_and_the_other_file_stays() {
        let client = two_folders()
            .prompt("a.md", "lower")
            .prompt("a.MD", "upper");
        let prompts = client.prompts();
        let lower = format!("note: `:a` is now {}\n", prompts.join("a.md").display());
        printed(&client, &client.words("mv a b"), &["prompts/b.MD"], &lower);
        refused(&client, &["mv", "a", "b"], &["b.MD` already exists"]);
        assert_eq!(
            files(&client),
            [
                (prompts.join("a.md"), b"lower".into()),
                (prompts.join("b.MD"), b"upper".into())
            ]
        );
        client.write("a.MD", "upper");
        printed(
            &client,
            &client.words("rm --yes a"),
            &["prompts/a.MD"],
            &lower,
        );
        printed(
            &client,
            &client.words("rm --yes a"),
            &["prompts/a.md"],
            &kept("a"),
        );
    }

    #[test]
    fn accents_may_be_stored_separately_unless_that_names_two_files() {
        let (composed, separate) = ("r\u{e9}sum\u{e9}", "re\u{301}sume\u{301}");
        let client = two_folders()
            .prompt(&format!("{separate}.md"), "separate")
            .prompt("a.md", "A");
        refused(&client, &["mv", "a", composed], &[".md` already exists"]);
        printed(
            &client,
            &client.run(["mv", composed, "b"], ""),
            &["prompts/b.md"],
            "",
        );
        printed(
            &client,
            &client.run(["mv", "b", separate], ""),
            &[&format!("prompts/{separate}.md")],
            "",
        );
        // Each by its own spelling.
        client.write(&format!("{composed}.md"), "composed");
        for removed in [composed, separate] {
            client
                .run(["rm", "--yes", composed], "")
                .says(0, &[&format!("/{removed}.md\n")]);
        }
    }

    #[test]
    fn a_name_that_holds_a_colon_is_found_before_a_folder() {
        let client = two_folders()
            .prompt("git:a.md", "colon")
            .prompt("git/a.md", "folder");
        printed(
            &client,
            &client.words("rm --yes git:a"),
            &["prompts/git:a.md"],
            &kept("git:a"),
        );
        printed(
            &client,
            &client.words("rm --yes git:a"),
            &["prompts/git/a.md"],
            &kept("git/a"),
        );
    }
}

#[cfg(unix)]
mod symlinks {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn of_a_symlink_the_symlink_is_removed_and_it_is_not_renamed() {
        let client = two_folders().prompt("real/target.md", "T");
        let link = client.path("prompts/link.md");
        symlink("real/target.md", &link).unwrap();
        refused(
            &client,
            &["mv", "link", "new"],
            &["link.md` is a symlink, or in a folder of its own"],
        );
        printed(
            &client,
            &client.words("rm link --yes"),
            &["prompts/link.md"],
            &kept("link"),
        );
        assert_eq!(
            files(&client),
            [(client.path("prompts/real/target.md"), b"T".to_vec())]
        );
        symlink("nowhere", &link).unwrap();
        refused(
            &client,
            &["rm", "link", "--yes"],
            &["`link` cannot be read; delete it yourself"],
        );
    }

    #[test]
    fn a_file_in_a_linked_folder_can_be_renamed() {
        let client = two_folders();
        client.put("team/a.md", "A");
        client.link("../team", "prompts/linked");
        printed(
            &client,
            &client.words("mv linked/a a"),
            &["prompts/a.md"],
            "",
        );
    }

    #[test]
    fn in_a_read_only_folder_nothing_changes_and_the_reason_is_given() {
        let client = two_folders()
            .prompt("a/x.md", "X")
            .prompt("b.md", "B")
            .unprivileged();
        let mode = |folder: &str, mode| {
            set_mode(client.prompts().join(folder), mode);
        };
        mode("", 0o777);
        mode("a", 0o555);
        refused(
            &client,
            &["rm", "--yes", "a/x"],
            &["a/x.md`: Permission denied"],
        );
        refused(&client, &["mv", "a/x", "y"], &["y.md`: Permission denied"]);
        refused(
            &client,
            &["mv", "b", "a/b"],
            &["a/b.md`: Permission denied"],
        );
        // What was removed before the failure is printed.
        let ran = client.words("rm --yes b a/x");
        let root = client.path("prompts/b.md").display().to_string();
        assert_eq!(
            (ran.status.code(), ran.stdout),
            (Some(1), format!("{root}\n"))
        );
        assert!(
            ran.stderr.starts_with(&(kept("b") + "error: "))
                && client.path("prompts/a/x.md").exists(),
            "{}",
            ran.stderr
        );
        mode("a", 0o755);
    }
}
