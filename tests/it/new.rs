//! `new` and `edit`: files that a person creates and opens. The editors are small scripts.

use crate::client::{Client, Ran};
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
    client.root().join(OWN).join(file)
}

#[track_caller]
fn says(ran: &Ran, status: i32, parts: &[&str]) {
    assert_eq!(ran.status.code(), Some(status), "{ran:?}");
    for part in parts {
        assert!(ran.stderr.contains(part), "{part:?} is not in {:?}", ran.stderr);
    }
}

#[test]
fn a_new_prompt_is_a_file_in_the_user_s_folder_that_works_at_once() {
    let client = home();
    let ran = client.run(["new", ":git:commit-message"], "");
    assert_eq!(ran.stdout, format!("{}\n", own(&client, "git/commit-message.md").display()));
    let next = "note: the file is a template; write the prompt with `prompt-expander edit git/commit-message`\n";
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), next));
    let text = fs::read_to_string(own(&client, "git/commit-message.md")).unwrap();
    assert!(text.starts_with("---\ntitle: Commit message\ndescription: "), "{text}");
    let expanded = client.run(["expand", "git/commit-message", "two", "words"], "");
    assert!(expanded.stdout.ends_with("\nText:\ntwo words\n"), "{expanded:?}");
}

#[test]
fn a_new_file_has_no_warning_but_that_it_is_a_template_whatever_its_name() {
    let client = home();
    let names = "standup yes null on it's a/b/c #1a [x] {x} &x !x %x @x `x` - --x x:y \
                 {{inptu}} <<x $(x) 5whys 1e3 v1.2 要約 👩‍💻 éa a_b-c __ list help new = ~ x,y;z";
    let names: Vec<&str> = names.split(' ').collect();
    for name in &names {
        let refused = ["<<x", "👩‍💻", "-", "__", "=", "~"].contains(name);
        let ran = client.run(["new", "--", name], "");
        assert_eq!(ran.status.code(), Some(i32::from(refused)), "{name}: {ran:?}");
    }
    let made = names.len() - 6;
    let checked = client.run(["check"], "").stdout;
    assert_eq!(checked.matches("warning: the body is still the template").count(), made, "{checked}");
    assert_eq!(checked.matches("warning: the description is still the one").count(), made, "{checked}");
    let total = format!("{made} files checked: 0 errors, {} warnings\n", 2 * made);
    assert!(checked.ends_with(&total), "{checked}");
    let list = client.run(["list", "--json", "--no-builtin"], "").stdout;
    for title in ["Yes", "Null", "#1a", "{{inptu}}", "1e3", "It's", "要約", "A b c"] {
        assert!(list.contains(&format!("\"title\":\"{title}\"")), "{title}: {list}");
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
    assert_eq!(new(&["a"], "Sum it up."), "---\ntitle: A\n---\nSum it up.\n");
    assert_eq!(new(&["b"], "\u{feff}# Heading\r\n\r\nText.\r\n"), "# Heading\r\n\r\nText.\r\n");
    let described = new(&["c", "--description", "Say: \"why\" \\ \u{7f}\nor not"], "# H\n\nT {{input}}\n");
    assert_eq!(described, "---\ndescription: \"Say: \\\"why\\\" \\\\ \\u007f\\nor not\"\n---\n# H\n\nT {{input}}\n");
    assert!(client.run(["list", "--json"], "").stdout.contains(r#""description":"Say: \"why\" \\ \u007f\nor not""#));
    let whole = "---\ndescription: D\n---\nBody {{input}}\n";
    assert_eq!(new(&["d"], whole), whole);
    assert_eq!(
        new(&["e", "--description", "For speed: a, b"], " \n").lines().nth(2),
        Some("description: \"For speed: a, b\"")
    );
    let checked = client.run(["check"], "").stdout;
    assert!(checked.contains("e.md:9:1: warning: the body is still the template"), "{checked}"); // an empty pipe
    assert!(checked.contains("c.md: warning: the description has an invisible character, U+007F"), "{checked}");
    assert!(checked.ends_with("5 files checked: 0 errors, 2 warnings\n"), "{checked}");
}

#[test]
fn piped_text_that_is_not_a_prompt_is_refused_before_a_file_is_created() {
    let client = home();
    let ran = client.run(["new", "a"], "---\ndescription: D\n");
    says(&ran, 1, &["error: standard input:1:1: the frontmatter that line 1 opens with `---` is never closed"]);
    says(&client.run(["new", "a"], b"a\xff"), 1, &["error: standard input is not UTF-8 at byte 1"]);
    says(&client.run(["new", "a"], vec![b'x'; 4 * 1024 * 1024 + 1]), 1, &["the limit for a prompt file"]);
    says(&client.run(["new", "a", "--description", "D"], "---\ntitle: T\n---\nB"), 1, &["it has frontmatter already"]);
    assert_eq!(client.run(["new", "a", "--description", ""], "").status.code(), Some(2));
    assert!(!client.root().join(".config").exists());
    let slip = client.run(["new", "a"], "Do {{inptu}}.");
    says(&slip, 0, &["a.md:4:4: warning: `{{inptu}}` is not a placeholder", "fix: write `{{input}}`"]);
}

#[test]
fn new_never_overwrites() {
    let client = home();
    for (name, file) in [("lower", "lower.md"), ("upper", "upper.MD"), ("folder", "folder.md/x")] {
        let path = own(&client, file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let ran = client.run(["new", name], "other");
        assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.stderr.contains("` already exists, and is not changed"), "{ran:?}");
        assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    }
    says(&client.run(["new", "lower"], ""), 1, &["`prompt-expander edit lower` opens it"]);
}

#[test]
fn of_many_commands_that_create_one_name_at_once_one_succeeds() {
    let client = home();
    let run = |number: usize| {
        let mut command = client.command();
        command.args(["new", "git/a", "--description", &format!("Number {number}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..8).map(run).collect();
    let outputs: Vec<_> = running.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let made: Vec<usize> = (0..8).filter(|number| outputs[*number].status.success()).collect();
    assert_eq!(made.len(), 1, "{outputs:?}");
    let text = fs::read_to_string(own(&client, "git/a.md")).unwrap();
    assert!(text.contains(&format!("\ndescription: Number {}\n", made[0])), "{text}");
}

#[cfg(unix)]
#[test]
fn new_does_not_change_a_broken_link() {
    let client = home();
    fs::create_dir_all(own(&client, "")).unwrap();
    std::os::unix::fs::symlink("nowhere", own(&client, "a.md")).unwrap();
    says(&client.run(["new", "a"], ""), 1, &["a.md` already exists"]);
    std::os::unix::fs::symlink("nowhere", own(&client, "dir")).unwrap();
    says(&client.run(["new", "dir/a"], ""), 1, &["dir` is not a folder, and the new file needs one there"]);
    assert!(!own(&client, "nowhere").exists());
}

#[cfg(unix)]
#[test]
fn new_explains_a_missing_permission() {
    use std::os::unix::fs::PermissionsExt;
    let client = home().unprivileged();
    fs::create_dir_all(own(&client, "")).unwrap();
    fs::set_permissions(own(&client, ""), fs::Permissions::from_mode(0o555)).unwrap();
    let said = ["Permission denied (os error 13); fix that, "];
    says(&client.run(["new", "a"], ""), 1, &said);
    says(&client.run(["new", "git/a"], ""), 1, &said);
    let edited = client.variable("EDITOR", "true");
    says(&edited.run(["edit", "research"], ""), 1, &said);
    fs::set_permissions(own(&edited, ""), fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_home_directory_new_and_edit_ask_for_a_folder() {
    let Some(client) = home().variable("EDITOR", "true").without_home() else { return };
    let said = "error: there is no folder of your own prompts to write to; choose one with --prompts DIR\n";
    client.run(["new", "a"], "").failed(1, said);
    client.run(["edit", "research"], "").failed(1, said);
    assert_eq!(client.run(["new", "a", "--dir", "here"], "").status.code(), Some(0));
    assert_eq!(client.run(["new", "a", "--prompts", "there"], "").status.code(), Some(0));
}

#[test]
fn a_name_that_cannot_be_typed_is_refused_with_the_reason() {
    let client = home();
    for (name, why) in [
        ("my prompt", "a space ends a command in a chat; write `my-prompt`"),
        ("10:30", "after a colon it looks like a time or a number"),
        ("../x", "a file or folder whose name begins with a dot, `..`, is hidden and ignored"),
        ("x.md", "the name has no suffix; write `x`"),
        ("git/nul", "Windows has no files and folders named `nul`"),
    ] {
        let error = format!("error: `{name}` cannot be the name of a prompt: {why}\n");
        client.run(["new", name], "").failed(1, &error);
    }
    assert!(!client.root().join(".config").exists());
}

#[test]
fn new_writes_into_the_first_named_folder() {
    let client = Client::new().arguments(["--prompts", "first", "--prompts", "second dir"]);
    let ran = client.run(["new", "a"], "");
    assert_eq!(ran.stdout, format!("{}\n", client.root().join("first/a.md").display()));
    let ran = client.run(["new", "b", "--dir", "second dir"], "");
    assert_eq!(ran.stdout, format!("{}\n", client.root().join("second dir/b.md").display()));
    let list = home().variable("PROMPT_EXPANDER_PROMPTS", "listed");
    let ran = list.run(["new", "a"], "");
    assert_eq!(ran.stdout, format!("{}\n", list.root().join("listed/a.md").display()));
}

#[test]
fn new_says_what_the_file_overrides_and_what_overrides_it() {
    let client = Client::new().arguments(["--prompts", "one", "--prompts", "two"]);
    let path = |file: &str| client.root().join(file).display().to_string();
    says(
        &client.run(["new", "research"], "Text."),
        0,
        &["warning: the new file overrides the built-in prompt; delete the new file to restore that prompt\n"],
    );
    assert_eq!(client.run(["new", "x", "--dir", "two"], "").status.code(), Some(0));
    let hides = format!("the new file overrides {};", path("two/x.md"));
    says(&client.run(["new", "x"], "Text."), 0, &[&hides]);
    let hidden = format!("{} overrides the new file; choose another name", path("one/research.md"));
    let ran = client.run(["new", "research", "--dir", "two"], "Text.");
    says(&ran, 0, &[&hidden]);
    assert!(!ran.stderr.contains("in a chat"), "{ran:?}");
    let ran = client.run(["new", "y", "--dir", "three"], "Text.");
    let unserved = format!("warning: {0} is not served; start the server with `--prompts {0}`\n", path("three"));
    assert_eq!((ran.status.code(), ran.stderr), (Some(0), unserved));
    let project = client.run(["new", "y", "--dir", ".prompts"], "");
    says(
        &project,
        0,
        &[".prompts is not served; start the server with `--project`\nnote: the file is a template; write the prompt"],
    );
    let project = client.run(["new", "z", "--project"], "");
    says(&project, 0, &["note: the file is a template; write the prompt with `prompt-expander edit z --project`\n"]);
    let ran = client.run(["new", "z"], "Text.");
    assert_eq!((ran.status.code(), ran.stderr.contains("overrides")), (Some(0), false), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn new_writes_nothing_through_a_symlink_that_points_outside_a_project() {
    let client = home();
    for folder in [".prompts/inside", "elsewhere"] {
        fs::create_dir_all(client.root().join(folder)).unwrap();
    }
    for (target, link) in [("../elsewhere", ".prompts/out"), ("inside", ".prompts/in"), ("../elsewhere", "prompts/out")]
    {
        std::os::unix::fs::symlink(target, client.root().join(link)).unwrap();
    }
    for option in [&["--dir", ".prompts"][..], &["--project"]] {
        let ran = client.run([&["new", "out/a"], option].concat(), "");
        says(&ran, 1, &["points outside the project"]);
    }
    assert_eq!(fs::read_dir(client.root().join("elsewhere")).unwrap().count(), 0);
    client.run(["new", "in/a", "--dir", ".prompts"], "");
    assert!(client.root().join(".prompts/inside/a.md").is_file());
    // In the user's own folder the same symlink is followed.
    client.run(["new", "out/a", "--dir", "prompts"], "");
    assert!(client.root().join("elsewhere/a.md").is_file());
}

#[test]
fn a_template_with_the_name_of_another_prompt_is_refused_unless_empty_is_given() {
    let client = Client::new().arguments(["--prompts", "one", "--prompts", "two"]);
    let path = |file: &str| client.root().join(file).display().to_string();
    let rest = "and --empty creates a template anyway";
    let error = format!(
        "error: the built-in prompt already has the name `research`; `prompt-expander edit research` opens it or a copy, {rest}\n"
    );
    for (arguments, stdin) in [(&["new", "research"][..], ""), (&["new", ":research", "--dir", "two"], " \n")] {
        client.run(arguments.iter().copied(), stdin).failed(1, &error);
    }
    assert!(!client.root().join("one").exists() && !client.root().join("two").exists());
    assert_eq!(client.run(["new", "x", "--dir", "two"], "Text.").status.code(), Some(0));
    let two = path("two/x.md");
    let error = format!("error: {two} already has the name `x`; `prompt-expander edit x` opens it or a copy, {rest}\n");
    client.run(["new", "x"], "").failed(1, &error);
    let error = format!(
        "error: {two} already has the name `x`; `prompt-expander edit x --project` opens it or a copy, {rest}\n"
    );
    client.run(["new", "x", "--project"], "").failed(1, &error);

    says(&client.run(["new", "research", "--empty"], ""), 0, &["the new file overrides the built-in prompt"]);
    assert!(client.root().join("one/research.md").exists());
}

#[cfg(unix)]
#[test]
fn a_new_name_is_an_existing_one_whose_accents_are_stored_separately() {
    let client = home();
    fs::create_dir_all(own(&client, "")).unwrap();
    fs::write(own(&client, "re\u{301}sume\u{301}.md"), "Mine.").unwrap();
    says(&client.run(["new", "r\u{e9}sum\u{e9}"], "Other."), 1, &["already exists, and is not changed"]);
    assert_eq!(fs::read_dir(own(&client, "")).unwrap().count(), 1);
}

/// Editors that are scripts.
#[cfg(unix)]
mod editors {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// An editor that does this; `$1` is the file, or its first argument.
    fn editor(client: Client, name: &str, script: &str) -> Client {
        let path = client.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // By another process: a child started meanwhile would hold the script open, and it could not be run.
        let mut write = std::process::Command::new("sh");
        write.args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\""]).arg(&path).arg(script);
        assert!(write.status().unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        client
    }

    fn built_in(name: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("prompts/{name}.md"))).unwrap()
    }

    #[test]
    fn edit_opens_the_file_and_prints_nothing_if_it_is_fine() {
        let client = editor(Client::new(), "my 'own' editor/ed", "echo \"$1\" >> \"$2\"");
        let client = client.variable("VISUAL", "\"./my 'own' editor/ed\" more").variable("EDITOR", "false");
        let client = client.prompt("git/a.md", "Text.\n");
        client.run(["edit", ":git:a"], "").printed("");
        assert_eq!(fs::read_to_string(client.prompts().join("git/a.md")).unwrap(), "Text.\nmore\n");
    }

    #[test]
    fn edit_says_what_check_says() {
        let client = editor(Client::new(), "ed", "cp draft \"$1\"").variable("EDITOR", "./ed").prompt("a.md", "Text.");
        let client = client.prompt("other.md", "{{inptu}}");
        fs::write(client.root().join("draft"), "{{inptu}}").unwrap();
        let ran = client.run(["edit", "a"], "");
        says(&ran, 0, &["a.md:1:1: warning: `{{inptu}}` is not a placeholder, and is left as it is\n    fix: write"]);
        assert!(!ran.stderr.contains("other.md"), "{ran:?}");
        fs::write(client.root().join("draft"), "---\nbroken").unwrap();
        says(&client.run(["edit", "a"], ""), 1, &["a.md:1:1: error: the frontmatter"]);
        // A broken file needs an editor most.
        fs::write(client.root().join("draft"), "Mended.").unwrap();
        client.run(["edit", "a"], "").printed("");
        client.run(["expand", "a"], "").printed("Mended.\n");
    }

    #[test]
    fn a_file_that_the_editor_deleted_is_reported() {
        let client = editor(home(), "ed", "rm \"$1\"").variable("EDITOR", "./ed");
        says(&client.run(["new", "a", "--edit"], ""), 0, &["warning: ", "a.md was deleted\n"]);
    }

    #[test]
    fn edit_copies_a_built_in_prompt_and_keeps_the_copy_only_if_it_was_changed() {
        let client = editor(home(), "ed", "cat \"$1\" > seen; eval \"$DO\"").variable("EDITOR", "./ed");
        let ran = client.run(["edit", "research"], "");
        says(
            &ran,
            0,
            &["note: nothing was changed, and the built-in `research` stays in use; an editor with a window"],
        );
        assert_eq!(fs::read_to_string(client.root().join("seen")).unwrap(), built_in("research"));
        assert!(!own(&client, "research.md").exists());

        let client = client.variable("DO", "rm \"$1\"");
        says(
            &client.run(["edit", "research"], ""),
            0,
            &["note: nothing was changed, and the built-in `research` stays in use"],
        );

        let client = client.variable("DO", "echo '{{input}}' > \"$1.new\" && mv \"$1.new\" \"$1\""); // as most editors save
        says(
            &client.run(["edit", "research"], ""),
            0,
            &["research.md overrides the built-in `research`; delete the file"],
        );
        client.run(["expand", "research", "x"], "").printed("x\n");
        client.run(["edit", "research"], "").printed("");
    }

    #[test]
    fn a_failing_editor_is_reported_and_what_it_wrote_stays() {
        let client = editor(home(), "ed", "eval \"$DO\"; exit 3").variable("EDITOR", "./ed");
        says(&client.run(["edit", "research"], ""), 1, &["error: the editor `./ed` failed (exit status: 3)"]);
        assert!(!own(&client, "research.md").exists());
        let client = client.variable("DO", "echo x > \"$1\"");
        says(&client.run(["edit", "research"], ""), 1, &["note: ", "error: the editor `./ed` failed (exit status: 3)"]);
        assert_eq!(fs::read_to_string(own(&client, "research.md")).unwrap(), "x\n");
        let ran = client.run(["edit", "research"], "");
        let path = own(&client, "research.md");
        let error = format!(
            "error: the editor `./ed` failed (exit status: 3); {} may have been changed by the editor\n",
            path.display()
        );
        ran.failed(1, &error);
        let ran = client.run(["new", "a", "--edit"], "");
        says(&ran, 1, &["failed (exit status: 3);", "a.md may have been changed by the editor"]);
        assert!(own(&client, "a.md").exists());
    }

    #[test]
    fn a_template_whose_body_was_not_changed_is_removed_when_the_editor_ends() {
        {
            let client = editor(home(), "ed", "true").variable("EDITOR", "./ed");
            let ran = client.run(["new", "git/a", "--edit", "--description", "D"], "");
            let path = own(&client, "git/a.md");
            let note = format!(
                "note: the template was not changed, so {} is removed; an editor with a window of its own needs an option \
                 that makes it wait until the file is closed, such as `code --wait`\n",
                path.display()
            );
            ran.said(&note);
            assert!(!path.exists());
            assert!(path.parent().unwrap().is_dir(), "where an editor that did not wait saves");
            let removed = serde_json::json!({ "removed": path.display().to_string() });
            assert_eq!(client.run(["new", "git/a", "--edit", "--json"], "").stdout, format!("{removed}\n"));
        }
        let client = editor(home(), "ed", "exit 3").variable("EDITOR", "./ed");
        let ran = client.run(["new", "a", "--edit"], "");
        says(&ran, 1, &["error: the editor `./ed` failed (exit status: 3)\n", "a.md is removed"]);
        assert!(!own(&client, "a.md").exists());
    }

    #[test]
    fn what_an_editor_prints_is_not_in_the_standard_output() {
        let client = editor(home(), "ed", "echo printed; echo Text. >> \"$1\"").variable("EDITOR", "./ed");
        let ran = client.run(["new", "a", "--edit"], "");
        assert_eq!(ran.stdout, format!("{}\n", own(&client, "a.md").display()));
        let json = client.run(["new", "b", "--edit", "--json"], "").stdout;
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }

    #[test]
    fn a_missing_editor_is_named_with_its_variable() {
        let client = home().variable("EDITOR", "nope --wait").variable("VISUAL", " ");
        let ran = client.run(["edit", "research"], "");
        says(&ran, 1, &["error: EDITOR names the editor `nope`, which cannot be started: No such file"]);
        assert!(!own(&client, "research.md").exists());
        let ran = client.run(["new", "a", "--edit"], "");
        says(&ran, 1, &["error: EDITOR names the editor `nope`, which cannot", "a.md is removed"]);
        assert_eq!((ran.stdout.as_str(), own(&client, "a.md").exists()), ("", false));
        let ran = client.run(["new", "a", "--edit"], "Text.");
        says(&ran, 1, &["a.md was created, but could not be opened: EDITOR names the editor `nope`"]);
        assert_eq!(ran.stdout, format!("{}\n", own(&client, "a.md").display()));
    }

    #[test]
    fn without_an_editor_or_a_terminal_edit_says_what_to_set() {
        let client = Client::new().prompt("a.md", "A").variable("EDITOR", "").variable("VISUAL", "");
        let path = std::path::absolute(client.prompts()).unwrap().join("a.md");
        let error = format!(
            "error: an editor needs a terminal, and none is available; set EDITOR to your editor, for example \
             `EDITOR='code --wait'`, or open `{}` yourself\n",
            path.display()
        );
        client.run(["edit", "a"], "").failed(1, &error);
    }

    #[test]
    fn edit_of_an_unknown_name_offers_the_closest_and_new() {
        let client = home().variable("EDITOR", "true");
        client.run(["edit", "reserch"], "").failed(
            1,
            "error: no prompt named `reserch`; did you mean `research`? (`prompt-expander new NAME --edit` makes a new one)\n",
        );
        client
            .run(["edit", "no?"], "")
            .failed(1, "error: no prompt named `no?` (`prompt-expander new NAME --edit` makes a new one)\n");
        client.run(["edit", ""], "").failed(
            1,
            "error: the command is empty; it must be the name of a prompt (`prompt-expander list` shows all prompts)\n",
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
            let Some(said) = typed(&client, 80, line, "typed\n") else { return };
            let text = fs::read_to_string(own(&client, "a.md")).unwrap();
            assert_eq!(text, "---\ntitle: A\n---\nPiped.\ntyped\n", "{said}");
        }

        #[test]
        fn ctrl_c_in_an_editor_is_the_editors() {
            // `kill 0` signals the foreground process group, as the terminal does for Ctrl-C.
            let script = "trap 'echo interrupted >> \"$1\"' INT; kill -INT 0; read -r line; echo \"$line\" >> \"$1\"";
            let client = editor(Client::new(), "ed", script).prompt("a.md", "Text.\n").variable("EDITOR", "./ed");
            let line = "trap : INT; prompt-expander --prompts prompts edit a; echo status $?";
            let Some(said) = typed(&client, 80, line, "typed\n") else { return };
            let text = fs::read_to_string(client.prompts().join("a.md")).unwrap();
            assert_eq!(text, "Text.\ninterrupted\ntyped\n", "{said}");
            assert!(said.contains("status 0"), "{said}");
        }

        #[test]
        fn without_a_chosen_editor_the_first_that_is_there_is_started() {
            let client = editor(Client::new(), "bin/nano", "echo nano >> \"$1\"").prompt("a.md", "Text.\n");
            let client = client.variable("EDITOR", "").variable("VISUAL", "");
            let program = env!("CARGO_BIN_EXE_prompt-expander");
            let line = format!("PATH=$PWD/bin; export PATH; {program} --prompts prompts edit a; echo status $?");
            let Some(said) = typed(&client, 80, &line, "") else { return };
            let note = "note: opened in `nano`, because neither VISUAL nor EDITOR is set\nstatus 0\n";
            assert!(anstream::adapter::strip_str(&said).to_string().ends_with(note), "{said}");
            assert_eq!(fs::read_to_string(client.prompts().join("a.md")).unwrap(), "Text.\nnano\n");

            fs::remove_file(client.root().join("bin/nano")).unwrap();
            let said = typed(&client, 400, &line, "").unwrap();
            assert!(
                said.contains("no editor was found; set EDITOR to your editor, for example `EDITOR='code --wait'`"),
                "{said}"
            );
        }
    }

    #[test]
    fn nothing_depends_on_a_standard_input() {
        let client = home().variable("EDITOR", "true").after("exec <&-");
        assert_eq!(client.run(["new", "a"], "").status.code(), Some(0));
        assert_eq!(client.run(["edit", "a"], "").status.code(), Some(0));
    }
}
