//! Where prompts come from: sources, folders, hidden files, symlinks, cycles, special files,
//! limits.

#[cfg(unix)]
use crate::client::set_mode;
use crate::client::{Client, assert_contains};
use serde_json::json;
use std::fs;

/// A client without `--prompts`, whose working directory is its home.
fn bare() -> Client {
    Client::new().arguments(["--no-builtin"])
}

#[test]
fn the_first_of_several_directories_that_has_a_name_wins() {
    let mut client = Client::new().arguments(["--prompts", "one", "--prompts", "two"]);
    let files = [
        ("one/a.md", "one a"),
        ("two/a.md", "two a"),
        ("two/b.md", "two b"),
        ("two/review.md", "mine"),
    ];
    for (file, text) in files {
        client.put(file, text);
    }
    for (name, text) in [("a", "one a"), ("b", "two b"), ("review", "mine")] {
        client.expand(name, "").text(text);
    }
    assert!(client.names().starts_with("a b commit critique "));
}

#[test]
fn a_broken_file_overrides_the_prompts_of_later_sources() {
    let mut client = Client::new()
        .prompt("review.md", b"\xff")
        .arguments(["--prompts", "prompts"]);
    assert!(client.expand("review", "").error().contains("not UTF-8"));
    assert!(!client.names().contains("review"));
    assert_eq!(client.list()["problems"][0]["file"], "review.md");
}

#[test]
fn the_environment_variable_is_a_path_list() {
    let paths = std::env::join_paths(["one", "", "two"])
        .unwrap()
        .into_string()
        .unwrap();
    let mut client = bare().variable("PROMPT_EXPANDER_PROMPTS", &paths);
    for (file, text) in [
        ("one/a.md", "one a"),
        ("two/a.md", "two a"),
        ("two/b.md", "two b"),
    ] {
        client.put(file, text);
    }
    assert_eq!(client.names(), "a b");
    client.expand("a", "").text("one a");
    let mut empty = bare().variable("PROMPT_EXPANDER_PROMPTS", "");
    assert_eq!(empty.list(), json!({"prompts": []}));
}

#[cfg(target_os = "linux")]
#[test]
fn without_either_the_user_s_own_folder_is_served_and_may_be_missing() {
    let mut client = bare();
    assert_eq!(client.list(), json!({"prompts": []}));
    client.put(".config/prompt-expander/prompts/own.md", "Own.");
    client.expand("own", "").text("Own.");

    let client = bare();
    let config = client.path("config").display().to_string();
    let mut client = client.variable("XDG_CONFIG_HOME", &config);
    client.put("config/prompt-expander/prompts/own.md", "Own.");
    assert_eq!(client.names(), "own");
}

/// The folder is only named, since the home directory is that of whoever runs the tests.
#[cfg(target_os = "linux")]
#[test]
fn without_home_in_the_environment_the_home_directory_is_that_of_the_user_id() {
    use std::os::unix::fs::MetadataExt;
    let user = fs::metadata("/proc/self").unwrap().uid().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let mut entries = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let Some(entry) = entries.find(|entry| entry[2] == user) else {
        return;
    };
    let client = Client::new();
    let mut command = client.command();
    command
        .env_remove("HOME")
        .args(["list", "--prompts", "~/no such folder of prompts"]);
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert_contains(&said, &format!(" {}/no such folder of prompts: ", entry[5]));
}

#[test]
fn a_named_folder_that_is_missing_is_a_problem_and_is_served_when_it_appears() {
    let mut client = Client::new().arguments(["--no-builtin", "--prompts", "later"]);
    let path = fs::canonicalize(client.root())
        .unwrap()
        .join("later")
        .display()
        .to_string();
    let message = "the prompts folder does not exist; create it; it is served as soon as it exists";
    client = client.stderr(Some(&format!("warning: {path}: {message}\n")));
    let missing = json!({"prompts": [], "problems": [{"file": path, "message": message}]});
    assert_eq!(client.list(), missing);
    assert_eq!(client.list(), missing);
    client.expand("a", "").error();
    client.put("later/a.md", "A");
    assert_eq!(
        client.list(),
        json!({"prompts": [{"name": "a", "description": "A"}]})
    );
    client.expand("a", "").text("A");
}

#[test]
fn folders_are_namespaces_the_suffix_may_have_any_letter_case_and_no_key_gives_a_second_name() {
    let mut client = Client::new()
        .prompt("a/b/c/d.md", "D")
        .prompt("x.Md", "---\nname: second\n---\nX")
        .prompt("y.MD", "Y")
        .prompt("folder.md/z.md", "Z")
        .prompt("dots.in.name.md", "N")
        .prompt("no.txt", "T")
        .prompt("md", "T")
        .prompt("x.md~", "T")
        .prompt("x.markdown", "T");
    assert_eq!(client.names(), "a/b/c/d dots.in.name folder.md/z x y");
    for (name, text) in [
        ("a/b/c/d", "D"),
        ("x", "X"),
        ("y", "Y"),
        ("folder.md/z", "Z"),
        ("dots.in.name", "N"),
    ] {
        client.expand(name, "").text(text);
    }
    for name in ["folder", "second"] {
        client.expand(name, "").error();
    }
    assert!(client.list().get("problems").is_none());
}

#[test]
fn hidden_files_and_folders_are_ignored() {
    let mut client = Client::new()
        .prompt(".a.md", "A")
        .prompt(".git/b.md", "B")
        .prompt("x/.c.md", "C")
        .prompt(".md", "D");
    assert_eq!(client.list(), json!({"prompts": []}));
    for name in [".a", ".git/b", "x/.c", "", "."] {
        client.expand(name, "").error();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn of_two_files_of_one_name_the_first_in_byte_order_wins_and_the_other_is_a_problem() {
    let mut client = Client::new()
        .prompt("x.md", "lower")
        .prompt("x.MD", "upper")
        .prompt("x.mD", "mixed");
    client.expand("x", "").text("upper");
    let list = client.list();
    assert_eq!(
        list["prompts"],
        json!([{"name": "x", "description": "upper"}])
    );
    let files: Vec<_> = list["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["file"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["x.mD", "x.md"]);
    assert!(
        list["problems"][0]["message"]
            .as_str()
            .unwrap()
            .contains("x.MD has the same name, and comes first; rename")
    );
}

#[cfg(unix)]
mod links {
    use super::*;
    use crate::client::make_fifo;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn symlinks_to_files_and_folders_are_followed_and_the_prompts_folder_may_be_one() {
        let mut client = Client::new().arguments(["--no-builtin", "--prompts", "link"]);
        client.link("prompts", "link");
        client.put("elsewhere/target.txt", "T {{input}}");
        client.put("elsewhere/folder/inner.md", "I");
        client.link("../elsewhere/target.txt", "prompts/link.md");
        client.link("../elsewhere/folder", "prompts/linked");
        assert_eq!(client.names(), "link linked/inner");
        client.expand("link", "x").text("T x");
        client.expand("linked/inner", "").text("I");
        client.put("elsewhere/target.txt", "U {{input}}");
        client.expand("link", "x").text("U x");
    }

    #[test]
    fn cycles_end_and_no_name_goes_through_them() {
        let mut client = Client::new().prompt("a/x.md", "X");
        client.link(".", "prompts/self");
        client.link("..", "prompts/a/up");
        client.link("loop2", "prompts/loop1");
        client.link("loop1", "prompts/loop2");
        client.link("me.md", "prompts/me.md");
        client.link("user@host.123", "prompts/.#lost.md"); // a lock of Emacs
        assert_eq!(client.names(), "a/x");
        client.expand("a/x", "").text("X");
        for name in ["self/a/x", "a/up/a/x", "self/self/a/x", "loop1/a/x"] {
            client.expand(name, "").error();
        }
        let problems = client.list()["problems"].as_array().unwrap().clone();
        assert_eq!(problems.len(), 1, "{problems:?}");
        let broken = "the link is broken; point it at a file that exists, or delete it";
        assert_eq!(problems[0], json!({"file": "me.md", "message": broken}));
        assert!(client.expand("me", "").error().contains(broken));
    }

    #[test]
    fn a_thousand_symlinks_to_folders_are_followed_and_the_rest_is_a_problem() {
        // Each of these folders has a symlink to every other one: more paths than could ever be
        // walked.
        let mut client = Client::new().prompt("good.md", "G");
        for folder in 0..12 {
            for other in (0..12).filter(|other| *other != folder) {
                client.write(&format!("f{folder}/x.md"), "X");
                symlink(
                    format!("../f{other}"),
                    client.prompts().join(format!("f{folder}/to{other}")),
                )
                .unwrap();
            }
        }
        let list = client.list();
        assert!(
            client.names().contains("good"),
            "what is not behind a symlink is listed all the same"
        );
        let message = list["problems"][0]["message"].as_str().unwrap();
        assert!(
            message.ends_with(
                "more than 1000 symlinks to folders; the rest is skipped; delete symlinks between the folders"
            ),
            "{message}"
        );
        client.expand("f0/to1/to2/x", "").text("X");
    }

    #[test]
    fn nothing_but_a_regular_file_is_ever_opened() {
        let mut client = Client::new().prompt("good.md", "G");
        make_fifo(&client.path("prompts/fifo.md"));
        client.link("/dev/zero", "prompts/device.md");
        let socket = std::os::unix::net::UnixListener::bind(client.path("prompts/socket.md"));
        let list = client.list();
        assert_eq!(
            list["prompts"],
            json!([{"name": "good", "description": "G"}])
        );
        let problems = list["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 2 + usize::from(socket.is_ok()));
        for (problem, file) in problems.iter().zip(["device.md", "fifo.md", "socket.md"]) {
            assert_eq!(problem["file"], file);
            assert!(
                problem["message"]
                    .as_str()
                    .unwrap()
                    .contains("is not a regular file"),
                "{problem}"
            );
        }
        assert!(
            client
                .expand("fifo", "")
                .error()
                .contains("is not a regular file")
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_whose_name_cannot_be_typed_is_a_problem() {
        let mut client = Client::new();
        for name in [&b"caf\xe9.md"[..], b"back\\slash.md", b"line\nbreak.md"] {
            fs::write(
                client.prompts().join(std::ffi::OsStr::from_bytes(name)),
                "X",
            )
            .unwrap();
        }
        let list = client.list();
        assert_eq!(list["prompts"], json!([]));
        assert_eq!(list["problems"].as_array().unwrap().len(), 3);
        assert!(
            list.to_string()
                .contains("the prompt has no name that can be typed")
        );
        client.expand("back\\slash", "").error();
        client.expand("line\nbreak", "").error();
    }

    #[test]
    fn a_file_or_folder_without_read_permission_is_a_problem() {
        let mut client = Client::new()
            .unprivileged()
            .prompt("secret.md", "S")
            .prompt("locked/x.md", "X")
            .prompt("good.md", "G");
        let prompts = client.prompts();
        let set = |file: &str, mode: u32| {
            set_mode(prompts.join(file), mode);
        };
        symlink("locked/x.md", prompts.join("through.MD")).unwrap();
        client.write("through.md", "overridden by the file sorted before it");
        set("secret.md", 0o000);
        set("locked", 0o000);
        let list = client.list();
        assert_eq!(
            list["prompts"],
            json!([{"name": "good", "description": "G"}])
        );
        let problems = list["problems"].as_array().unwrap();
        let files: Vec<_> = problems
            .iter()
            .map(|problem| problem["file"].as_str().unwrap())
            .collect();
        assert_eq!(
            files,
            ["locked", "through.md", "secret.md", "through.MD"],
            "{list}"
        );
        for name in ["secret", "through"] {
            let error = client.expand(name, "").error();
            assert_contains(
                &error,
                ": the file cannot be read: permission denied; correct its permissions",
            );
        }
        let error = client.expand("locked/x", "").error();
        assert!(
            error.contains("folders cannot be read:\n")
                && error.contains("locked: cannot be read: "),
            "{error}"
        );
        set("", 0o311); // files with a known name can be read, but not listed
        client.expand("good", "").text("G");
        let message = client.list()["problems"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        set("", 0o755);
        set("locked", 0o755);
        assert!(
            message.starts_with("the prompts folder cannot be read: Permission denied"),
            "{message}"
        );
    }
}

#[test]
fn folders_nest_up_to_32_levels_and_deeper_ones_are_problems() {
    let deepest = vec!["d"; 32].join("/");
    let mut client = Client::new()
        .prompt(&format!("{deepest}/x.md"), "X")
        .prompt(&format!("{deepest}/d/y.md"), "Y");
    assert_eq!(client.names(), format!("{deepest}/x"));
    client.expand(&format!("{deepest}/x"), "").text("X");
    client.expand(&format!("{deepest}/d/y"), "").error();
    let problem = client.list()["problems"][0].clone();
    assert_eq!(problem["file"], format!("{deepest}/d"));
    let message =
        "more than 32 folders inside each other; the rest is skipped; move its prompts up";
    assert!(
        problem["message"].as_str().unwrap().ends_with(message),
        "{problem}"
    );
}

#[test]
fn a_name_longer_than_1024_bytes_is_a_problem() {
    let folder = vec!["n".repeat(200); 6].join("/");
    let mut client = Client::new().prompt(&format!("{folder}.md"), "X");
    assert_eq!(client.names(), "");
    let message = client.list()["problems"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    let want = "the prompt has no name that can be typed: it is 1205 bytes long, the limit is 1024; rename the file";
    assert!(message.ends_with(want), "{message}");
    client.expand(&folder, "").error();
}

#[test]
fn hostile_yaml_takes_nothing_else_down() {
    let mut bomb = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..=9 {
        bomb.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 9].join(", ")
        ));
    }
    bomb.push_str("---\nBody\n");
    let header = |text: String| format!("---\ndescription: {text}\n---\nBody {{{{input}}}}\n");
    let mut client = Client::new()
        .prompt("aliases.md", bomb)
        .prompt("brackets.md", header("[".repeat(20_000)))
        .prompt("dashes.md", header(format!("\n  {}", "- ".repeat(20_000))))
        .prompt("keys.md", header(format!("\n  {}", "? ".repeat(20_000))))
        .prompt("good.md", "Good.");
    fs::File::create(client.path("prompts/large.md"))
        .unwrap()
        .set_len(64 * 1024 * 1024)
        .unwrap();
    assert_eq!(client.names(), "brackets dashes good keys");
    let list = client.list();
    let files: Vec<_> = list["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["file"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["aliases.md", "large.md"]);
    for name in ["brackets", "dashes", "keys"] {
        client.expand(name, "x").text("Body x");
    }
    assert!(client.expand("aliases", "").error().contains("its aliases"));
    #[cfg(target_os = "linux")]
    {
        // A debug build of the program is itself 32 MiB of code.
        let peak = client.peak_memory_kib();
        assert!(peak < 48 * 1024, "{peak} KiB");
    }
}
