//! `--project`: the prompts of the current repository, and what a repository must not do.

use crate::client::{Client, LEGACY};
#[cfg(unix)]
use crate::client::{assert_contains, set_mode};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The user has `prompts/research.md` and `prompts/own.md`. The program works in `repo/src/deep`,
/// with `--project`, and `repo` is a repository whose files these are.
fn project<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Client {
    let client = Client::new()
        .prompt("research.md", "mine")
        .prompt("own.md", "Own.");
    let client = client.working_in("repo/src/deep");
    let prompts = client.prompts().to_str().unwrap().to_owned();
    let client = client.arguments(["--no-builtin", "--project", "--prompts", &prompts]);
    client.make_folder("repo/.git");
    for (file, text) in files {
        client.put(Path::new("repo").join(file), text);
    }
    client
}

/// The root of the repository, as the system names it.
fn repo(client: &Client) -> PathBuf {
    fs::canonicalize(client.path("repo")).unwrap()
}

/// What `expand` prints for a prompt, on standard output or standard error.
fn expanded(client: &Client, name: &str) -> String {
    let ran = client.run(["expand", name, "x"], "");
    if ran.status.success() {
        ran.stdout
    } else {
        ran.stderr
    }
}

#[test]
fn a_projects_prompts_override_the_users_and_are_served_only_on_request() {
    let mut client = project([
        (".prompts/research.md", "theirs"),
        (".prompts/git/deploy.md", "Deploy."),
    ]);
    assert_eq!(expanded(&client, "research"), "theirs\n\nx\n");
    assert_eq!(expanded(&client, "git:deploy"), "Deploy.\n\nx\n");
    assert_eq!(expanded(&client, "own"), "Own.\n\nx\n");
    client.expand("research", "x").text("theirs\n\nx");
    assert_eq!(client.names(), "git/deploy own research");

    let prompts = client.prompts().to_str().unwrap().to_owned();
    let unasked = Client::new().working_in("x");
    unasked.put("x/.prompts/theirs.md", "theirs");
    let mut unasked = unasked.arguments(["--no-builtin", "--prompts", &prompts]);
    assert_eq!(unasked.names(), "own research");
    unasked
        .words("check")
        .printed("2 files checked: 0 errors, 0 warnings\n");
}

#[test]
fn the_option_may_be_anywhere_and_overrides_the_users_own_folder() {
    let client = project([(".prompts/research.md", "theirs")]);
    let own = client.make_folder(".config/prompt-expander/prompts");
    fs::write(own.join("research.md"), "own").unwrap();
    let mut client = client.arguments([]);
    client
        .words("--project expand research x")
        .printed("theirs\n\nx\n");
    client
        .words("expand --project --project research x")
        .printed("theirs\n\nx\n");
    assert_eq!(
        client.words("-- --project").status.code(),
        Some(2),
        "no option after `--`"
    );
    client = client.arguments(["--no-builtin", "--project"]);
    client.expand("research", "x").text("theirs\n\nx");
}

#[test]
fn the_nearest_folder_up_to_the_root_of_the_repository_is_used() {
    let client = project([]);
    client.put(".prompts/research.md", "above the repository");
    let at = |place: &str| {
        client.put(
            format!("repo/{place}.prompts/research.md"),
            format!("in repo/{place}"),
        )
    };
    assert_eq!(client.words("expand research x").stdout, "mine\n\nx\n");
    for place in ["", "src/", "src/deep/"] {
        at(place);
        assert_eq!(
            expanded(&client, "research"),
            format!("in repo/{place}\n\nx\n")
        );
    }
    // A worktree and a submodule have a file.
    fs::remove_dir_all(client.path("repo/src/deep/.prompts")).unwrap();
    client.put("repo/src/deep/.git", "gitdir: elsewhere");
    assert_eq!(client.words("expand research x").stdout, "mine\n\nx\n");
}

#[test]
fn without_a_repository_only_the_working_directory_is_searched_and_nothing_above_home() {
    let client = project([("src/.prompts/research.md", "above")]);
    fs::remove_dir(client.path("repo/.git")).unwrap();
    assert_eq!(client.words("expand research x").stdout, "mine\n\nx\n");
    client.put("repo/src/deep/.prompts/research.md", "here");
    assert_eq!(expanded(&client, "research"), "here\n\nx\n");

    // A repository that contains the home directory does not count for folders in it.
    let client = project([(".prompts/research.md", "above home")]);
    let home = client.path("repo/src");
    let client = client.variable("HOME", home.to_str().unwrap());
    assert_eq!(client.words("expand research x").stdout, "mine\n\nx\n");
    client.put("repo/src/.prompts/research.md", "at home");
    client.put("repo/src/.git", "");
    assert_eq!(
        expanded(&client, "research"),
        "at home\n\nx\n",
        "the home directory may be one"
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_everybody_may_write_to_is_not_a_project() {
    use std::os::unix::fs::PermissionsExt;
    let client = project([(".prompts/research.md", "theirs")]);
    let everybody = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(client.path("repo/src"), everybody.clone()).unwrap();
    assert_eq!(client.words("expand research x").stdout, "mine\n\nx\n");
    client.put("repo/src/deep/.prompts/research.md", "here");
    assert_eq!(expanded(&client, "research"), "here\n\nx\n");
    fs::set_permissions(client.path("repo/src/deep"), everybody).unwrap();
    let ran = client.words("expand research x");
    assert_eq!(ran.stdout, "mine\n\nx\n");
    let deep = repo(&client).join("src/deep");
    let said = format!(
        "warning: no project prompts: everyone can write to {}; change to a folder of your own\n",
        deep.display()
    );
    assert_eq!(ran.stderr, said);
}

#[test]
fn without_a_project_the_command_line_says_where_it_was_looked_for() {
    let client = project([]);
    let said = format!(
        "warning: no project prompts: there is no folder .prompts in {}, or above it in its repository\n",
        repo(&client).join("src/deep").display()
    );
    assert_eq!(client.words("list").stderr, said);
    for command in [["expand", "own", "x"].as_slice(), &["check"]] {
        assert!(
            client
                .run(command.iter().copied(), "")
                .stderr
                .starts_with("warning: no project prompts: ")
        );
    }
    // A server is registered for all folders; most of them have no prompts.
    let mut client = client;
    client.expand("own", "x").text("Own.\n\nx");
}

#[test]
fn new_writes_into_the_project_and_creates_its_folder_at_the_root_of_the_repository() {
    let client = project([]);
    let new = |name: &str| {
        let ran = client.run(["new", name], "Text.");
        let note = format!(
            "note: type `:{name} …` in a chat; `prompt-expander edit {name} --project` opens the file\n"
        );
        assert!(
            ran.status.success() && ran.stderr.ends_with(&note),
            "{}",
            ran.stderr
        );
        ran.stdout
    };
    assert_eq!(
        client.words("path").stdout,
        format!("{}\n", repo(&client).join(".prompts").display())
    );
    assert_eq!(
        new("git/a"),
        format!("{}\n", repo(&client).join(".prompts/git/a.md").display())
    );
    client.put("repo/src/.prompts/x.md", "X");
    assert_eq!(
        new("b"),
        format!("{}\n", repo(&client).join("src/.prompts/b.md").display()),
        "the nearest"
    );
    assert_eq!(expanded(&client, "b"), "Text.\n\nx\n");
    let ran = client.run(["new", "c", "--dir", "here"], "Text.");
    ran.failed(
        1,
        "error: --dir and --project each choose a folder; leave out one of them\n",
    );

    // Without a repository, in the working directory.
    let client = project([]);
    fs::remove_dir(client.path("repo/.git")).unwrap();
    let ran = client.run(["new", "a"], "Text.");
    assert_eq!(
        ran.stdout,
        format!(
            "{}\n",
            repo(&client).join("src/deep/.prompts/a.md").display()
        )
    );
    assert!(
        client
            .words("path --project")
            .stdout
            .ends_with("/src/deep/.prompts\n")
    );
    assert_eq!(
        fs::read_dir(client.prompts()).unwrap().count(),
        2,
        "nothing is in the user's folder"
    );
}

#[cfg(unix)]
#[test]
fn the_commands_that_new_and_import_propose_are_for_the_project_too() {
    let client = project([(".prompts/a.md", "A"), ("c.md", "C")]);
    client
        .words("new --test a")
        .says(0, &["`prompt-expander test --project a`"]);
    client
        .words("import ../../c.md")
        .says(0, &["`prompt-expander explain --project c`"]);
}

#[test]
fn new_and_edit_write_nothing_where_there_is_no_project() {
    let client = project([]).variable("EDITOR", "true");
    let commands = [&["new", "a"][..], &["edit", "own"], &["path"]];
    set_mode(client.path("repo/src/deep"), 0o1777);
    for command in commands {
        let ran = client.run(command.iter().copied(), "");
        assert!(
            ran.stderr
                .starts_with("error: no project prompts: everyone can write to "),
            "{command:?}: {ran:?}"
        );
    }
    assert_eq!(
        fs::read_dir(client.prompts()).unwrap().count(),
        2,
        "nothing is in the user's folder"
    );
}

#[cfg(unix)]
#[test]
fn edit_copies_a_prompt_into_the_project_and_keeps_the_copy_only_if_it_was_changed() {
    let client = project([]).variable("EDITOR", "sh -c 'eval \"$DO\"' sh");
    let prompts = client.prompts().to_str().unwrap().to_owned();
    let client = client.arguments(["--project", "--prompts", &prompts]);
    let prompts_of_project = repo(&client).join(".prompts");
    let copy = |name: &str| prompts_of_project.join(format!("{name}.md"));
    let mine = client.path("prompts/research.md");
    for (name, original) in [
        ("research", mine.display().to_string()),
        ("plan", "the built-in prompt".to_owned()),
    ] {
        let ran = client.run(["edit", name], "");
        let note = format!(
            "note: nothing was changed, and {original} stays in use; if your editor returns at once"
        );
        assert!(
            ran.status.success() && ran.stderr.starts_with(&note),
            "{ran:?}"
        );
        assert!(!copy(name).exists());
    }
    let client = client.variable("DO", "echo More. >> \"$1\"");
    let ran = client.words("edit research");
    let note = format!(
        "note: `:research` now replaces {}; `prompt-expander rm research --project` brings that back\n",
        mine.display()
    );
    assert_eq!((ran.status.code(), ran.stderr), (Some(0), note));
    client.words("edit research").printed("");
    assert_eq!(
        fs::read_to_string(copy("research")).unwrap(),
        "mineMore.\nMore.\n"
    );
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    // A broken file of the user is not copied; it is named.
    client.put("prompts/latin.md", b"caf\xe9");
    let ran = client.words("edit latin");
    assert!(
        !ran.status.success() && ran.stderr.contains("latin.md:1:4: "),
        "{ran:?}"
    );
    assert!(!copy("latin").exists());
}

#[test]
fn lists_mark_the_prompts_of_the_project() {
    let mut client = project([(
        ".prompts/research.md",
        "---\ndescription: Ours.\ntags: [x]\n---\n{{input}}",
    )]);
    let of = |list: &Value, key: &str, name: &str, field: &str| {
        let list = list[key].as_array().unwrap();
        list.iter().find(|prompt| prompt["name"] == name).unwrap()[field].clone()
    };
    let list = client.list();
    assert_eq!(
        of(&list, "prompts", "research", "description"),
        "(project) Ours."
    );
    assert_eq!(of(&list, "prompts", "own", "description"), "Own.");
    client.initialize(LEGACY);
    for (method, key) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        let list = client.result(method, json!({}));
        assert_eq!(
            of(&list, key, "research", "description"),
            "(project) Ours.",
            "{method}"
        );
        assert_eq!(of(&list, key, "own", "description"), "Own.", "{method}");
    }
    let query = client
        .call("list_prompts", json!({"query": "reserch"}))
        .structured();
    assert_eq!(
        query,
        json!({"prompts": [{"name": "research", "description": "(project) Ours."}]})
    );
}

#[test]
fn every_change_of_the_project_s_folder_shows_in_the_next_answer() {
    let mut client = project([]);
    client.expand("research", "").text("mine");
    client.put("repo/.prompts/research.md", "root");
    client.expand("research", "").text("root");
    client.put("repo/src/.prompts/research.md", "src");
    client.expand("research", "").text("src");
    client.put("repo/src/.prompts/research.md", "src, saved");
    client.expand("research", "").text("src, saved");
    client.put("repo/src/.prompts/new.md", "New.");
    assert_eq!(client.names(), "new own research");
    fs::remove_dir_all(client.path("repo/src/.prompts")).unwrap();
    assert_eq!(client.names(), "own research");
    client.expand("research", "").text("root");
    fs::remove_dir(client.path("repo/.git")).unwrap();
    client.expand("research", "").text("mine");
    client.make_folder("repo/.git");
    client.expand("research", "").text("root");
}

#[test]
fn a_client_is_notified_when_a_project_appears_or_disappears() {
    let mut client = project([]);
    client.initialize(LEGACY);
    client.request("prompts/list", json!({}));
    client.request("tools/list", json!({}));
    client.put("repo/.prompts/deploy.md", "Deploy.");
    let all = [
        "prompts/list_changed",
        "resources/list_changed",
        "tools/list_changed",
    ];
    assert_eq!(client.notifications(3), all);
    client.put("repo/src/.prompts/ship.md", "Ship.");
    assert_eq!(client.notifications(3), all, "a nearer folder");
    assert_eq!(client.names(), "own research ship");
    fs::rename(
        client.path("repo/src/.prompts"),
        client.path("repo/src/.gone"),
    )
    .unwrap();
    assert_eq!(client.notifications(3), all);
    client.put("repo/.prompts/own.md", "Own.");
    assert_eq!(client.notifications(3), all);
    fs::rename(client.path("repo/.git"), client.path("repo/.gone")).unwrap();
    assert_eq!(client.notifications(3), all, "no repository any longer");
}

#[test]
fn the_hook_searches_from_the_client_s_working_directory() {
    let client = project([
        (".prompts/research.md", "theirs"),
        ("src/deep/.prompts/research.md", "deep"),
    ]);
    let event = |folder: Option<&Path>| {
        let mut event =
            json!({"hook_event_name": "UserPromptSubmit", "prompt": ":research x\n:own y"});
        if let Some(folder) = folder {
            event["cwd"] = json!(folder);
        }
        event.to_string()
    };
    let prompts = client.prompts().to_str().unwrap().to_owned();
    let client = client.arguments([]);
    let root = repo(&client);
    for arguments in [
        ["hook", "codex", "--project"],
        ["--project", "hook", "codex"],
        ["hook", "--project", "codex"],
    ] {
        let arguments = [&arguments[..], &["--prompts", &prompts, "--no-builtin"]].concat();
        for (folder, text) in [
            (Some(root.as_path()), "theirs"),
            (Some(&root.join("src")), "theirs"),
            (Some(&root.join("src/deep")), "deep"),
            (None, "deep"),
            (Some(Path::new("src")), "deep"),
            (Some(client.root()), "mine"),
            (Some(&root.join("nowhere")), "theirs"),
        ] {
            let ran = client.run(arguments.iter().copied(), event(folder));
            assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
            assert!(
                ran.stdout.contains(&format!("\\n\\n{text}\\n\\nx\\n\\n")),
                "{folder:?}: {ran:?}"
            );
            let origins = [
                (
                    "of the project, whose prompts the user chose to use",
                    usize::from(text != "mine"),
                ),
                (
                    "that the user wrote or chose",
                    1 + usize::from(text == "mine"),
                ),
            ];
            for (origin, count) in origins {
                assert_eq!(
                    ran.stdout
                        .matches(&format!("from a prompt file {origin}. "))
                        .count(),
                    count,
                    "{folder:?}"
                );
            }
        }
    }
    let arguments = ["hook", "codex", "--no-builtin", "--prompts", &prompts];
    assert!(
        client
            .run(arguments, event(Some(&root)))
            .stdout
            .contains("mine"),
        "never unasked"
    );
}

#[cfg(unix)]
mod links {
    use super::*;
    use crate::client::settle;
    use std::os::unix::fs::symlink;

    /// A project with a file next to its prompts, and one outside the repository.
    fn with_secrets() -> Client {
        let client = project([
            (".prompts/git/x.md", "X"),
            ("secret.md", "secret in the repository"),
        ]);
        client.put("home/secret.md", "secret at home");
        client
    }

    #[test]
    fn a_symlink_to_a_file_outside_is_neither_read_nor_written_by_any_method_or_command() {
        let mut client = with_secrets();
        let home = fs::canonicalize(client.path("home/secret.md")).unwrap();
        client.link(&home, "repo/.prompts/research.md");
        client.link("../secret.md", "repo/.prompts/sideways.md");
        client.link("git/x.md", "repo/.prompts/within.md");
        client.link("research.md", "repo/.prompts/again.md");
        let refused = |file: &str, target: &Path| {
            let place = repo(&client).join(".prompts").join(file);
            let target = target.display();
            format!(
                "{}: the symlink points outside the project's prompts, to {target}, and is not followed; delete it, replace it with a copy, \
                 or name the folder that it points to in `prompts` of config.toml",
                place.display()
            )
        };
        let all = [
            ("again", refused("again.md", &home)),
            ("research", refused("research.md", &home)),
            (
                "sideways",
                refused("sideways.md", &repo(&client).join("secret.md")),
            ),
        ];
        assert_eq!(expanded(&client, "within"), "X\n\nx\n");
        client.expand("within", "").text("X");
        client.initialize(LEGACY);
        for (name, why) in &all {
            assert_eq!(expanded(&client, name), format!("error: {why}\n"));
            assert!(client.expand(name, "").error().contains(why), "{name}");
            let read = client.request("resources/read", json!({"uri": format!("prompt://{name}")}));
            assert_eq!(
                (
                    &read["error"]["code"],
                    read["error"]["message"].as_str().unwrap().contains(why)
                ),
                (&json!(-32603), true)
            );
            let got = client.request("prompts/get", json!({"name": name}));
            assert!(got["error"]["message"].as_str().unwrap().contains(why));
            let event =
                json!({"hook_event_name": "UserPromptSubmit", "prompt": format!(":{name} x")});
            assert!(
                client
                    .run(["hook", "codex"], event.to_string())
                    .stdout
                    .contains("names a stored prompt that cannot be read")
            );
        }
        let list = client.list();
        let files: Vec<&Value> = list["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| &problem["file"])
            .collect();
        assert_eq!(files, ["again.md", "research.md", "sideways.md"]);
        for method in ["prompts/list", "resources/list", "tools/list"] {
            assert!(
                !client
                    .request(method, json!({}))
                    .to_string()
                    .contains("secret"),
                "{method}"
            );
        }
        let checked = client.words("check");
        assert_eq!(checked.status.code(), Some(1));
        assert_eq!(
            checked
                .stdout
                .matches("error: the symlink points outside the project's prompts, to ")
                .count(),
            3
        );
        assert!(!checked.stdout.contains("secret at home"));

        client.link("../../secret.md", "repo/.prompts/git/x.test.txt");
        let client = client.variable("EDITOR", "rm");
        for line in [
            "show research",
            "edit research",
            "edit again",
            "check ../../.prompts/research.md",
            "test --update",
        ] {
            let why = "the symlink points outside the project's prompts";
            client.words(line).says(1, &[why]);
        }
        let read = |file: &str| client.text(file);
        assert_eq!(read("home/secret.md"), "secret at home");
        assert_eq!(read("repo/secret.md"), "secret in the repository");
        assert!(repo(&client).join(".prompts/research.md").is_symlink());
        assert!(repo(&client).join(".prompts/again.md").is_symlink());
    }

    #[test]
    fn a_symlink_to_a_folder_outside_is_not_followed() {
        let mut client = with_secrets();
        let home = fs::canonicalize(client.path("home")).unwrap();
        client.link(&home, "repo/.prompts/linked");
        client.link("git", "repo/.prompts/within");
        client.link("..", "repo/.prompts/up");
        client.link("/", "repo/.prompts/all");
        for name in ["linked/secret", "up/secret", "linked/nothing", "all/etc/x"] {
            let why = client.expand(name, "").error();
            assert!(
                why.starts_with("No prompt named") || why.starts_with("The command is"),
                "{why}"
            );
            assert_contains(
                &why,
                "/.prompts/linked: the symlink points outside the project's prompts, to ",
            );
        }
        for (line, why) in [
            ("rm --yes linked/secret", "no prompt named `linked/secret`"),
            ("mv linked/secret c", "no prompt named `linked/secret`"),
            ("mv git/x linked/x", "points outside the project"),
        ] {
            client.words(line).says(1, &[why]);
        }
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
        client.expand("within/x", "").text("X");
        assert_eq!(client.names(), "git/x own research within/x");
        let list = client.list();
        let files: Vec<&Value> = list["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| &problem["file"])
            .collect();
        assert_eq!(files, ["all", "linked", "up"]);
        let checked = client.words("check");
        assert_eq!(
            (checked.status.code(), checked.stdout.contains("2 errors")),
            (Some(1), false)
        );
        assert!(
            checked
                .stdout
                .contains("4 files checked: 3 errors, 0 warnings"),
            "{}",
            checked.stdout
        );
        // In the user's own folder the same symlink is followed.
        client.put("prompts/deep.md", "");
        client.link(&home, "prompts/linked");
        client.expand("linked/secret", "").text("secret at home");
    }

    /// Asks for prompts while a process runs this script in the repository, again and again, which
    /// swaps symlinks. What is refused and what is read is up to chance; nothing may be secret.
    #[cfg(target_os = "linux")]
    fn ask_while_swapping(mut client: Client, script: &str, names: &[&str]) {
        use std::process::{Command, Stdio};
        let flag = client.put("repo/swapping", "");
        client.put("elsewhere/x.md", "SECRET");
        let mut swapping = Command::new("sh")
            .args(["-c", &format!("while test -e swapping; do {script} done")])
            .current_dir(client.path("repo"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..500 {
            for name in names {
                let answer = client.call("expand_prompt", json!({"command": name, "input": ""}));
                assert!(!answer.0.to_string().contains("SECRET"), "{name}");
            }
        }
        fs::remove_file(flag).unwrap();
        swapping.wait().unwrap();
        client.ignore_notifications();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_symlink_that_is_swapped_while_it_is_read_is_not_followed_outside() {
        let client = project([
            (".prompts/in.md", "inside"),
            (".prompts/sub/x.md", "inside"),
        ]);
        client.link("in.md", "repo/.prompts/x.md");
        client.link("sub", "repo/.prompts/folder");
        let outside = "../../elsewhere";
        let script = format!(
            "ln -sfT {outside} .prompts/folder; ln -sfT sub .prompts/folder;
             ln -sfT {outside}/x.md .prompts/x.md; ln -sfT in.md .prompts/x.md;"
        );
        ask_while_swapping(client, &script, &["x", "folder/x"]);
        let client = project([(".inside/x.md", "inside")]).stderr(None);
        client.link(".inside", "repo/.prompts");
        let script = "ln -sfT ../elsewhere .prompts; ln -sfT .inside .prompts;";
        ask_while_swapping(client, script, &["x"]);
    }

    #[test]
    fn the_folder_itself_may_be_a_symlink_within_the_repository_only() {
        let client = project([("docs/prompts/research.md", "theirs")]);
        client.link("docs/prompts", "repo/.prompts");
        assert_eq!(expanded(&client, "research"), "theirs\n\nx\n");
        client.link("../../x.md", "repo/docs/prompts/out.md");
        client.put("repo/x.md", "X");
        assert!(expanded(&client, "out").contains("points outside the project's prompts"));

        let place = client.path("repo/.prompts");
        let home = fs::canonicalize(client.prompts()).unwrap();
        for (target, why) in [
            (
                home.as_path(),
                format!(
                    "the symlink points outside the project, to {}, and is not followed",
                    home.display()
                ),
            ),
            (
                Path::new("/"),
                "the symlink points outside the project, to /, and is not followed".to_owned(),
            ),
            (
                Path::new(".."),
                "the symlink points outside the project, to ".to_owned(),
            ),
            (Path::new("nowhere"), "the link is broken".to_owned()),
            (Path::new(".prompts"), "the link is broken".to_owned()),
        ] {
            fs::remove_file(&place).unwrap();
            symlink(target, &place).unwrap();
            let ran = client.words("expand research x");
            assert_eq!(ran.stdout, "mine\n\nx\n", "{target:?}");
            assert!(
                ran.stderr.contains(&format!("/.prompts: {why}")),
                "{target:?}: {}",
                ran.stderr
            );
            let checked = client.words("check");
            checked.says(1, &[&why]);
            let list = client.words("list");
            assert!(
                list.stderr.contains(&why) && list.stdout.starts_with("own\t"),
                "{list:?}"
            );
            for line in ["rm --yes own", "mv own n", "new n", "path"] {
                client.words(line).says(1, &[&why]);
            }
        }
        assert_eq!(fs::read_dir(&home).unwrap().count(), 2);
        // Without a repository, it must not point outside the working directory.
        fs::remove_dir(client.path("repo/.git")).unwrap();
        client.link("../../docs/prompts", "repo/src/deep/.prompts");
        let ran = client.words("expand research x");
        assert!(
            ran.stdout == "mine\n\nx\n" && ran.stderr.contains("points outside the project"),
            "{ran:?}"
        );
    }

    #[test]
    fn a_cached_file_that_becomes_a_symlink_to_outside_is_refused() {
        let mut client = project([(".prompts/a/b/x.md", "X"), (".prompts/y.md", "Y")]);
        settle(&client.path("repo"));
        let root = client.path("repo");
        client.expand("a/b/x", "").text("X");
        client.expand("y", "").text("Y");
        client.list();
        client.list();
        fs::rename(root.join(".prompts/a"), root.join("a")).unwrap();
        symlink(root.join("a"), root.join(".prompts/a")).unwrap();
        fs::rename(root.join(".prompts/y.md"), root.join("y.md")).unwrap();
        symlink(root.join("y.md"), root.join(".prompts/y.md")).unwrap();
        client.expand("a/b/x", "").error();
        client.expand("y", "").error();
        assert_eq!(client.names(), "own research");
    }

    #[test]
    fn a_file_instead_of_the_folder_is_a_problem() {
        let client = project([(".prompts", "a file")]);
        let ran = client.words("list");
        assert!(
            ran.stderr
                .contains("/.prompts: the prompts folder cannot be read: Not a directory"),
            "{}",
            ran.stderr
        );
    }
}
