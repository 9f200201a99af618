//! `new` and `edit`: files that a person creates and opens. The editors are small scripts.

#[cfg(unix)]
use crate::client::set_mode;
use crate::client::{Client, assert_contains};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const OWN: &str = ".config/prompt-expander/prompts";

/// A home directory where nothing is configured.
fn home() -> Client {
    Client::new().arguments([])
}

/// A file in the user's own folder of prompts.
fn own(client: &Client, file: &str) -> PathBuf {
    client.path(OWN).join(file)
}

#[test]
fn a_new_prompt_is_a_file_in_the_user_s_folder_that_works_at_once() {
    let client = home();
    let ran = client.words("new :git:commit-message");
    assert_eq!(
        ran.stdout,
        format!("{}\n", own(&client, "git/commit-message.md").display())
    );
    let next = "note: the file is a template; write the prompt with `prompt-expander edit git/commit-message`\n";
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), next));
    let text = fs::read_to_string(own(&client, "git/commit-message.md")).unwrap();
    assert!(
        text.starts_with("---\ntitle: Commit message\ndescription: "),
        "{text}"
    );
    let expanded = client.words("expand git/commit-message two words");
    assert!(
        expanded.stdout.ends_with("\nText:\ntwo words\n"),
        "{expanded:?}"
    );
}

#[test]
fn a_new_file_has_no_warning_but_that_it_is_a_template_whatever_its_name() {
    let client = home();
    let names = [
        "yes",
        "null",
        "it's",
        "#1a",
        "[x]",
        "&x",
        "!x",
        "`x`",
        "a/b/c",
        "{{inptu}}",
        "1e3",
        "要約",
        "list",
    ];
    for name in names {
        client
            .run(["new", "--", name], "")
            .says(0, &["the file is a template"]);
    }
    let made = names.len();
    let total = format!("{made} files checked: 0 errors, {} warnings\n", 2 * made);
    let checked = client.words("check").stdout;
    assert!(checked.ends_with(&total), "{checked}");
    let count = format!("    {made} times: ");
    assert_eq!(checked.matches(&count).count(), 2, "{checked}");
    for title in ["Yes", "Null", "#1a", "{{inptu}}", "1e3", "It's", "要約"] {
        client
            .words("list --json")
            .says(0, &[&format!("\"title\":\"{title}\"")]);
    }
}

#[test]
fn piped_text_becomes_the_prompt() {
    let client = home();
    let new = |arguments: &[&str], stdin: &str| {
        let ran = client.run([&["new"], arguments].concat(), stdin);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        fs::read_to_string(ran.stdout.trim_end()).unwrap()
    };
    assert_eq!(
        new(&["a"], "\u{feff}# Heading\r\n\r\nText.\r\n"),
        "# Heading\r\n\r\nText.\r\n"
    );
    let described = new(
        &["b", "--description", "Say: \"why\" \\ \u{7f}\nor not"],
        "# H\n\nT {{input}}\n",
    );
    assert_eq!(
        described,
        "---\ndescription: \"Say: \\\"why\\\" \\\\ \\u007f\\nor not\"\n---\n# H\n\nT {{input}}\n"
    );
    client
        .words("list --json")
        .says(0, &[r#""description":"Say: \"why\" \\ \u007f\nor not""#]);
    new(&["c", "--description", "For speed: a, b"], " \n");
    let empty_pipe = "c.md:5:1: warning: the body is still the template";
    let hidden = "b.md: warning: the frontmatter has an invisible character, U+007F";
    client.words("check").says(
        0,
        &[
            empty_pipe,
            hidden,
            "3 files checked: 0 errors, 2 warnings\n",
        ],
    );
}

#[test]
fn what_cannot_be_a_prompt_is_refused_before_a_file_is_created() {
    let client = home();
    let too_long = "x".repeat(4 * 1024 * 1024 + 1);
    for (arguments, stdin, why) in [
        (
            &["a"][..],
            "---\ndescription: D\n",
            "error: standard input:1:1: the frontmatter that line 1 opens with `---`",
        ),
        (&["a"], too_long.as_str(), "the limit for a prompt file"),
        (
            &["a", "--description", "D"],
            "---\ntitle: T\n---\nB",
            "it has frontmatter already",
        ),
        (
            &["my prompt"],
            "",
            "error: `my prompt` cannot be the name of a prompt: a space ends a command in a chat; write",
        ),
        (
            &["../x"],
            "",
            "error: `../x` cannot be the name of a prompt: a file or folder whose name begins with a dot",
        ),
    ] {
        client
            .run([&["new"], arguments].concat(), stdin)
            .says(1, &[why]);
    }
    client
        .run(["new", "a"], b"a\xff")
        .says(1, &["error: standard input is not UTF-8 at byte 1"]);
    client
        .run(["new", "a", "--description", ""], "")
        .says(2, &[]);
    assert!(!client.path(".config").exists());
    let slip = [
        "warning: ",
        "a.md:4:4: `{{inptu}}` is not a placeholder",
        "; write `{{input}}`",
    ];
    client.run(["new", "a"], "Do {{inptu}}.").says(0, &slip);
}

#[test]
fn new_never_overwrites() {
    let client = home();
    let accents = ("\u{e9}t\u{e9}", "e\u{301}te\u{301}.md");
    for (name, file) in [
        ("lower", "lower.md"),
        ("upper", "upper.MD"),
        ("folder", "folder.md/x"),
        accents,
    ] {
        let path = own(&client, file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let ran = client.run(["new", name], "other");
        assert_eq!(
            (ran.status.code(), ran.stdout.as_str()),
            (Some(1), ""),
            "{ran:?}"
        );
        assert!(
            ran.stderr.contains("` already exists, and is not changed"),
            "{ran:?}"
        );
        assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    }
    client
        .words("new lower")
        .says(1, &["`prompt-expander edit lower` opens it"]);
}

#[test]
fn of_many_commands_that_create_one_name_at_once_one_succeeds() {
    let client = home();
    let run = |number: usize| {
        let mut command = client.command();
        command.args(["new", "git/a", "--description", &format!("Number {number}")]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..8).map(run).collect();
    let outputs: Vec<_> = running
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    let made: Vec<usize> = (0..8)
        .filter(|number| outputs[*number].status.success())
        .collect();
    assert_eq!(made.len(), 1, "{outputs:?}");
    let text = fs::read_to_string(own(&client, "git/a.md")).unwrap();
    assert_contains(&text, &format!("\ndescription: Number {}\n", made[0]));
}

#[cfg(unix)]
#[test]
fn new_does_not_change_a_broken_link() {
    let client = home();
    fs::create_dir_all(own(&client, "")).unwrap();
    std::os::unix::fs::symlink("nowhere", own(&client, "a.md")).unwrap();
    client.words("new a").says(1, &["a.md` already exists"]);
    std::os::unix::fs::symlink("nowhere", own(&client, "dir")).unwrap();
    client.words("new dir/a").says(
        1,
        &["dir`: File exists (os error 17); correct that, or the permissions, and try again"],
    );
    assert!(!own(&client, "nowhere").exists());
}

#[cfg(unix)]
#[test]
fn new_explains_a_missing_permission() {
    let client = home().unprivileged();
    fs::create_dir_all(own(&client, "")).unwrap();
    set_mode(own(&client, ""), 0o555);
    let said = ["Permission denied (os error 13); correct that, or the permissions"];
    client.words("new a").says(1, &said);
    client.words("new git/a").says(1, &said);
    let edited = client.variable("EDITOR", "true");
    edited.words("edit research").says(1, &said);
    set_mode(own(&edited, ""), 0o755);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_home_directory_new_and_edit_ask_for_a_folder() {
    let Some(client) = home().variable("EDITOR", "true").without_home() else {
        return;
    };
    let said = "error: there is no folder of your own prompts to write to; choose one with --prompts DIR\n";
    client.words("new a").failed(1, said);
    client.words("edit research").failed(1, said);
    assert_eq!(client.words("new a --dir here").status.code(), Some(0));
    assert_eq!(client.words("new a --prompts there").status.code(), Some(0));
}

#[test]
fn new_writes_into_the_first_named_folder() {
    let client = Client::new().arguments(["--prompts", "first", "--prompts", "second dir"]);
    let listed = home().variable("PROMPT_EXPANDER_PROMPTS", "listed");
    for (client, arguments, file) in [
        (&client, &["new", "a"][..], "first/a.md"),
        (
            &client,
            &["new", "b", "--dir", "second dir"],
            "second dir/b.md",
        ),
        (&listed, &["new", "a"], "listed/a.md"),
    ] {
        let path = client.path(file);
        client
            .run(arguments.iter().copied(), "")
            .says(0, &[&format!("{}\n", path.display())]);
    }
}

#[test]
fn new_says_what_the_file_overrides_and_what_overrides_it() {
    let client = Client::new().arguments(["--prompts", "one", "--prompts", "two"]);
    let path = |file: &str| client.path(file).display().to_string();
    client.words("new x --dir two").says(0, &[]);
    let overrides =
        "`:research` now replaces the built-in prompt; `prompt-expander rm research` brings that back\n"
            .to_owned();
    for (arguments, said) in [
        ("research", overrides),
        ("x", format!("`:x` now replaces {};", path("two/x.md"))),
        (
            "research --dir two",
            format!(
                "{} is used instead of the new file; choose another name",
                path("one/research.md")
            ),
        ),
        (
            "y --dir three",
            format!(
                "{} is not served; add it to `prompts` in config.toml",
                path("three")
            ),
        ),
        (
            "y --dir .prompts",
            ".prompts is not served; run `prompt-expander trust`\n".to_owned(),
        ),
    ] {
        client
            .run(format!("new {arguments}").split(' '), "Text.")
            .says(0, &[&said]);
    }
    client.words("new z --project").says(
        0,
        &["write the prompt with `prompt-expander edit z --project`\n"],
    );
}

#[cfg(unix)]
#[test]
fn new_writes_nothing_through_a_symlink_that_points_outside_a_project() {
    let client = home();
    for folder in [".prompts/inside", "elsewhere"] {
        client.make_folder(folder);
    }
    for (target, link) in [
        ("../elsewhere", ".prompts/out"),
        ("inside", ".prompts/in"),
        ("../elsewhere", "prompts/out"),
    ] {
        client.link(target, link);
    }
    for option in [&["--dir", ".prompts"][..], &["--project"]] {
        let ran = client.run([&["new", "out/a"], option].concat(), "");
        ran.says(1, &["points outside the project"]);
    }
    assert_eq!(fs::read_dir(client.path("elsewhere")).unwrap().count(), 0);
    client.words("new in/a --dir .prompts");
    assert!(client.path(".prompts/inside/a.md").is_file());
    // In the user's own folder the same symlink is followed.
    client.words("new out/a --dir prompts");
    assert!(client.path("elsewhere/a.md").is_file());
}

#[test]
fn a_template_with_the_name_of_another_prompt_is_refused_unless_empty_is_given() {
    let client = Client::new().arguments(["--prompts", "one", "--prompts", "two"]);
    client
        .run(["new", "x", "--dir", "two"], "Text.")
        .says(0, &[]);
    let two = client.path("two/x.md").display().to_string();
    for (line, whose, name, option) in [
        ("new research", "the built-in prompt", "research", ""),
        (
            "new :research --dir two",
            "the built-in prompt",
            "research",
            "",
        ),
        ("new x", two.as_str(), "x", ""),
        ("new x --project", &two, "x", " --project"),
    ] {
        let error = format!(
            "error: {whose} already has the name `{name}`; `prompt-expander edit {name}{option}` opens it or a copy, and \
             --empty creates a template anyway\n"
        );
        client.words(line).failed(1, &error);
    }
    assert!(!client.path("one").exists());
    client
        .words("new research --empty")
        .says(0, &["`:research` now replaces the built-in prompt"]);
    assert!(client.path("one/research.md").exists());
}

/// Editors that are scripts.
#[cfg(unix)]
mod editors {
    use super::*;

    /// An editor that does this; `$1` is the file, or its first argument.
    fn editor(client: Client, name: &str, script: &str) -> Client {
        let path = client.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // By another process: a child started meanwhile would hold the script open, and it could
        // not be run.
        let mut write = std::process::Command::new("sh");
        write
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\""])
            .arg(&path)
            .arg(script);
        assert!(write.status().unwrap().success());
        set_mode(&path, 0o755);
        client
    }

    fn built_in(name: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("prompts/{name}.md")))
            .unwrap()
    }

    #[test]
    fn edit_opens_the_file_and_prints_nothing_if_it_is_fine() {
        let client = editor(Client::new(), "my 'own' editor/ed", "echo \"$1\" >> \"$2\"");
        let client = client
            .variable("VISUAL", "\"./my 'own' editor/ed\" more")
            .variable("EDITOR", "false");
        let client = client.prompt("git/a.md", "Text.\n");
        client.words("edit :git:a").printed("");
        assert_eq!(client.text("prompts/git/a.md"), "Text.\nmore\n");
    }

    #[test]
    fn edit_says_what_check_says() {
        let client = editor(Client::new(), "ed", "cp draft \"$1\"")
            .variable("EDITOR", "./ed")
            .prompt("a.md", "Text.");
        let client = client.prompt("other.md", "{{inptu}}");
        client.put("draft", "{{inptu}}");
        let ran = client.words("edit a");
        ran.says(
            0,
            &["a.md:1:1: `{{inptu}}` is not a placeholder, and is left as it is; write"],
        );
        assert!(!ran.stderr.contains("other.md"), "{ran:?}");
        client.put("draft", "---\nbroken");
        client
            .words("edit a")
            .says(1, &["error: ", "a.md:1:1: the frontmatter"]);
        // A broken file needs an editor most.
        client.put("draft", "Mended.");
        client.words("edit a").printed("");
        client.words("expand a").printed("Mended.\n");
    }

    #[test]
    fn a_file_that_the_editor_deleted_is_reported() {
        let client = editor(home(), "ed", "rm \"$1\"").variable("EDITOR", "./ed");
        client
            .words("new a --edit")
            .says(0, &["warning: ", "a.md was deleted\n"]);
    }

    #[test]
    fn edit_copies_a_built_in_prompt_and_keeps_the_copy_only_if_it_was_changed() {
        let client = editor(home(), "ed", "eval \"$DO\"")
            .variable("EDITOR", "./ed")
            .variable("DO", "rm \"$1\"");
        client.words("edit research").says(
            0,
            &["note: nothing was changed, and the built-in prompt stays in use"],
        );
        assert!(!own(&client, "research.md").exists());
        let client = client.variable(
            "DO",
            "cat \"$1\" > \"$1.new\"; echo x >> \"$1.new\"; mv \"$1.new\" \"$1\"",
        ); // as most save
        client.words("edit research").says(
            0,
            &["`:research` now replaces the built-in prompt; `prompt-expander rm research`"],
        );
        assert_eq!(
            fs::read_to_string(own(&client, "research.md")).unwrap(),
            built_in("research") + "x\n"
        );
    }

    #[test]
    fn a_failing_editor_is_reported_and_what_it_wrote_stays() {
        let failed = "error: the editor `./ed` failed (exit status: 3)";
        let client = editor(home(), "ed", "eval \"$DO\"; exit 3").variable("EDITOR", "./ed");
        client.words("edit research").says(1, &[failed]);
        assert!(!own(&client, "research.md").exists());
        let client = client.variable("DO", "echo x > \"$1\"");
        client.words("edit research").says(1, &["note: ", failed]);
        assert_eq!(
            fs::read_to_string(own(&client, "research.md")).unwrap(),
            "x\n"
        );
        for (line, file) in [("edit research", "research.md"), ("new a --edit", "a.md")] {
            client.words(line).says(
                1,
                &[
                    failed,
                    &format!("{file} may have been changed by the editor\n"),
                ],
            );
            assert!(own(&client, file).exists());
        }
    }

    #[test]
    fn a_template_whose_body_was_not_changed_is_removed_when_the_editor_ends() {
        let client = editor(home(), "ed", "true").variable("EDITOR", "./ed");
        let path = own(&client, "git/a.md");
        let note = format!(
            "note: the template was not changed, so {} is removed; if your editor returns at once, give it an \
             option such as `code --wait`\n",
            path.display()
        );
        client.words("new git/a --edit --description D").said(&note);
        assert!(!path.exists());
        assert!(
            path.parent().unwrap().is_dir(),
            "where an editor that did not wait saves"
        );
        let removed = serde_json::json!({ "removed": path.display().to_string() });
        client
            .words("new git/a --edit --json")
            .says(0, &[&format!("{removed}\n")]);
        let client = editor(home(), "ed", "exit 3").variable("EDITOR", "./ed");
        let failed = format!(
            "error: {} is removed: the editor `./ed` failed (exit status: 3)\n",
            own(&client, "a.md").display()
        );
        client.words("new a --edit").failed(1, &failed);
        assert!(!own(&client, "a.md").exists());
    }

    #[test]
    fn what_an_editor_prints_is_not_in_the_standard_output() {
        let client =
            editor(home(), "ed", "echo printed; echo Text. >> \"$1\"").variable("EDITOR", "./ed");
        let ran = client.words("new a --edit");
        assert_eq!(ran.stdout, format!("{}\n", own(&client, "a.md").display()));
        let json = client.words("new b --edit --json").stdout;
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }

    #[test]
    fn a_missing_editor_is_named_with_its_variable() {
        let client = home()
            .variable("EDITOR", "nope --wait")
            .variable("VISUAL", " ");
        let named = "the editor `nope` is in no folder of PATH; correct or unset EDITOR";
        assert!(
            !client
                .words("edit research")
                .stderr
                .contains("an option that makes it wait")
        );
        assert!(!own(&client, "research.md").exists());
        client
            .words("new a --edit")
            .says(1, &[named, "a.md is removed: "]);
        assert!(!own(&client, "a.md").exists());
        let path = format!("{}\n", own(&client, "a.md").display());
        let ran = client.run(["new", "a", "--edit"], "Text.");
        ran.says(
            1,
            &[named, "a.md was created, but could not be opened: ", &path],
        );
    }

    #[test]
    fn without_an_editor_or_a_terminal_edit_says_what_to_set() {
        let client = Client::new()
            .prompt("a.md", "A")
            .variable("EDITOR", "")
            .variable("VISUAL", "");
        let error = "an editor needs a terminal, and none is available; set EDITOR to your editor, for example `EDITOR='code --wait'`\n";
        client
            .words("edit a")
            .says(1, &[error, "/prompts/a.md cannot be opened: "]);
        client
            .words("new b --edit")
            .says(1, &[error, "b.md is removed: "]);
    }

    #[test]
    fn edit_of_an_unknown_name_offers_the_closest_and_new() {
        let client = home().variable("EDITOR", "true");
        let error = "error: no prompt named `reserch`; did you mean `research`? (`prompt-expander new reserch --edit` makes a new \
                     one)\n";
        client.words("edit reserch").failed(1, error);
        client.run(["edit", ""], "").says(
            1,
            &["error: the command is empty; it must be the name of a prompt (`prompt-"],
        );
    }

    #[cfg(target_os = "linux")]
    mod at_a_terminal {
        use super::*;
        use crate::terminal::typed;

        #[test]
        fn an_editor_has_the_terminal_also_where_a_text_was_piped_in() {
            let script = "test -t 0 && read -r line && echo \"$line\" >> \"$1\"";
            let client = editor(home(), "ed", script).variable("EDITOR", "./ed");
            let line = "printf 'Piped.\\n' | prompt-expander new a --edit";
            let Some(said) = typed(&client, 80, line, "typed\n") else {
                return;
            };
            let text = fs::read_to_string(own(&client, "a.md")).unwrap();
            assert_eq!(text, "---\ntitle: A\n---\nPiped.\ntyped\n", "{said}");
        }

        #[test]
        fn ctrl_c_in_an_editor_is_the_editors() {
            // `kill 0` signals the foreground process group, as the terminal does for Ctrl-C.
            let script = "trap 'echo interrupted >> \"$1\"' INT; kill -INT 0; read -r line; echo \"$line\" >> \"$1\"";
            let client = editor(Client::new(), "ed", script)
                .prompt("a.md", "Text.\n")
                .variable("EDITOR", "./ed");
            let line = "trap : INT; prompt-expander --prompts prompts edit a; echo status $?";
            let Some(said) = typed(&client, 80, line, "typed\n") else {
                return;
            };
            let text = client.text("prompts/a.md");
            assert_eq!(text, "Text.\ninterrupted\ntyped\n", "{said}");
            assert_contains(&said, "status 0");
        }

        #[test]
        fn without_a_chosen_editor_the_first_that_is_there_is_started() {
            let client =
                editor(Client::new(), "bin/nano", "echo nano >> \"$1\"").prompt("a.md", "Text.\n");
            let client = client.variable("EDITOR", "").variable("VISUAL", "");
            let program = env!("CARGO_BIN_EXE_prompt-expander");
            let line = format!(
                "PATH=$PWD/bin; export PATH; {program} --prompts prompts edit a; echo status $?"
            );
            let Some(said) = typed(&client, 80, &line, "") else {
                return;
            };
            let note =
                "note: opened in `nano`, because neither VISUAL nor EDITOR is set\nstatus 0\n";
            assert!(
                anstream::adapter::strip_str(&said)
                    .to_string()
                    .ends_with(note),
                "{said}"
            );
            assert_eq!(client.text("prompts/a.md"), "Text.\nnano\n");

            fs::remove_file(client.path("bin/nano")).unwrap();
            let said = typed(&client, 400, &line, "").unwrap();
            assert_contains(
                &said,
                "no editor was found; set EDITOR to your editor, for example `EDITOR=",
            );
        }
    }

    #[test]
    fn nothing_depends_on_a_standard_input() {
        let client = home().variable("EDITOR", "true").after("exec <&-");
        assert_eq!(client.words("new a").status.code(), Some(0));
        assert_eq!(client.words("edit a").status.code(), Some(0));
    }
}
