//! `config.toml` and `trust`: one settings file for the server, the hook and the commands.

use crate::client::{Client, assert_contains};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

/// A client whose settings file has this text, and which gets no options.
fn with_settings(text: &str) -> (Client, PathBuf) {
    let client = Client::new().arguments([]);
    let file = client.path(".config/prompt-expander/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    (client, file)
}

#[test]
fn server_hook_and_commands_read_the_settings_file_and_an_option_replaces_the_key_of_its_name() {
    let (client, _) = with_settings("prompts = ['~/prompts']\nbuiltin = false\n");
    let mut client = client.prompt("greet.md", "Hello");
    client.put("other/bye.md", "Bye");
    client.expand("greet", "").text("Hello");
    let event = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":greet"}"#;
    assert!(
        client
            .run(["hook", "codex"], event)
            .stdout
            .contains("Hello")
    );
    for (arguments, names) in [
        (&["list"][..], "greet"),
        (&["--prompts", "other", "list"], "bye"),
        (
            &["--no-config", "--prompts", "other", "--no-builtin", "list"],
            "bye",
        ),
        (
            &[
                "--config",
                "/dev/null",
                "--prompts",
                "prompts",
                "--no-builtin",
                "list",
            ],
            "greet",
        ),
    ] {
        let listed = client.run(arguments.iter().copied(), "").stdout;
        assert_eq!(
            listed.split('\t').next(),
            Some(names),
            "{arguments:?}: {listed}"
        );
        assert_eq!(listed.lines().count(), 1, "{arguments:?}: {listed}");
    }
    let client = client.variable("PROMPT_EXPANDER_PROMPTS", "other");
    assert!(
        client.words("list").stdout.starts_with("bye"),
        "the variable is between option and file"
    );
    assert!(
        client
            .words("--prompts prompts list")
            .stdout
            .starts_with("greet")
    );
}

#[test]
fn without_mentions_only_commands_count_in_the_hook_and_in_the_description_of_the_tool() {
    let (client, file) = with_settings("prompts = ['~/prompts']\nbuiltin = false\n");
    let client = client
        .prompt("style.md", "Short.")
        .prompt("research.md", "Topic: {{input}}");
    let event =
        json!({"hook_event_name": "UserPromptSubmit", "prompt": "See :style\n:research a :style"})
            .to_string();
    let hook = |line: &str| client.run(line.split(' '), &event).stdout;
    let on = hook("hook codex");
    assert!(
        on.contains("`:style` stands for the text") && on.contains("Topic: a :style"),
        "{on}"
    );
    let off = hook("hook codex --no-mentions");
    assert!(
        !off.contains("Short.") && off.contains("Topic: a :style"),
        "{off}"
    );
    fs::write(
        file,
        "prompts = ['~/prompts']\nbuiltin = false\nmentions = false\n",
    )
    .unwrap();
    assert_eq!(hook("hook codex"), off);
    for is_on in [false, true] {
        let (mut client, _) = with_settings(&format!("mentions = {is_on}\n"));
        let tools = client.result("tools/list", json!({}))["tools"].to_string();
        assert_eq!(tools.contains("`:review :security the parser`"), is_on);
    }
}

#[test]
fn the_settings_file_says_which_layers_there_are_and_what_the_server_does() {
    let (client, _) = with_settings(
        "from-agents = true\nbuiltin = false\nedit = true\nhistory = 1\npage-size = 1\nresult-limit = 600\nlog-file = '~/log'\ntap = '~/tap'\n",
    );
    for (file, text) in [("fix.md", "Fix"), ("long.md", &"Long. ".repeat(200))] {
        client.write(&format!("../.claude/commands/{file}"), text);
    }
    let mut client = client;
    assert_eq!(client.names(), "fix long");
    assert_eq!(
        client.result("tools/list", json!({}))["tools"]
            .as_array()
            .unwrap()
            .len(),
        7,
        "edit"
    );
    assert_eq!(
        client.result("prompts/list", json!({}))["prompts"]
            .as_array()
            .unwrap()
            .len(),
        1,
        "page-size"
    );
    assert!(
        client.expand("long", "").structured()["next"].is_string(),
        "result-limit"
    );
    for text in ["One", "Two", "Three"] {
        let file = json!({"name": "new", "title": text, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]});
        let method = if text == "One" {
            "prompts/create"
        } else {
            "prompts/update"
        };
        assert_eq!(client.result(method, file)["success"], true);
    }
    let history = client
        .call("prompt_history", json!({"command": "new"}))
        .structured();
    assert_eq!(
        history["versions"].as_array().unwrap().len(),
        2,
        "history, and the current version: {history}"
    );
    for file in ["log", "tap"] {
        assert!(
            fs::metadata(client.path(file)).map_or(0, |it| it.len()) > 0,
            "{file}"
        );
    }
}

#[test]
fn a_wrong_key_is_a_problem_in_lists_and_the_other_keys_hold() {
    let (client, file) =
        with_settings("promts = ['~/x']\nbuiltin = false\nprompts = ['~/prompts']\n");
    let file = file.display().to_string();
    let warning =
        format!("warning: {file}:1:1: there is no key `promts`; did you mean `prompts`?\n");
    let mut client = client.prompt("greet.md", "Hello").stderr(Some(&warning));
    let listed = client.list();
    assert_eq!(listed["prompts"].as_array().unwrap().len(), 1);
    assert_eq!(listed["problems"][0]["file"], file.as_str());
    for command in [&["list"][..], &["expand", "greet"]] {
        let ran = client.run(command.iter().copied(), "");
        assert!(
            ran.status.success() && ran.stderr == warning,
            "{command:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_file_that_is_no_toml_never_leads_to_another_prompt_of_the_same_name() {
    let (client, _) = with_settings("prompts = [");
    let mut client = client.stderr(None);
    let listed = client.list();
    assert!(
        listed["prompts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|prompt| prompt["name"] == "research")
    );
    let error = client.expand("research", "x").error();
    assert_contains(&error, "config.toml:1:12: this is not TOML");
    for command in [
        &["list"][..],
        &["expand", "research", "x"],
        &["check"],
        &["path"],
        &["new", "x"],
    ] {
        let ran = client.run(command.iter().copied(), "");
        assert_eq!(ran.status.code(), Some(1), "{command:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("this is not TOML"),
            "{command:?}: {}",
            ran.stderr
        );
    }
    let event = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":research x"}"#;
    assert!(
        client
            .run(["hook", "codex"], event)
            .stdout
            .contains("this is not TOML")
    );
}

#[test]
fn a_file_in_a_project_grants_nothing() {
    let client = Client::new()
        .working_in("repository/.git")
        .working_in("repository");
    let file = client.path("repository/c.toml");
    let root = fs::canonicalize(client.path("repository")).unwrap();
    fs::write(
        &file,
        format!(
            "edit = true\ntrusted = ['{}']\nbuiltin = false\n[[openapi]]\nfile = 'x'\n",
            root.display()
        ),
    )
    .unwrap();
    fs::create_dir(root.join(".prompts")).unwrap();
    fs::write(root.join(".prompts/deploy.md"), "Deploy").unwrap();
    let mut client = client.arguments(["--config", "c.toml"]).stderr(None);
    assert_eq!(
        client.result("tools/list", json!({}))["tools"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let listed = client.list();
    assert_eq!(listed["prompts"].as_array().unwrap().len(), 0);
    assert_eq!(listed["problems"].as_array().unwrap().len(), 3, "{listed}");
    let ran = client.words("trust --yes");
    ran.says(1, &["inside a project"]);
}

#[test]
fn a_trusted_repository_is_served_to_agent_hook_and_command_line_without_an_option_from_the_next_message_on()
 {
    let (client, file) = with_settings("# mine\nbuiltin = false\n");
    let mut client = client
        .prompt("x.md", "mine")
        .working_in("my repository/.git")
        .working_in("my repository/below");
    let root = fs::canonicalize(client.path("my repository")).unwrap();
    let shown = root.display().to_string();
    for (name, text) in [("deploy.md", "Deploy"), ("own.md", "theirs")] {
        fs::create_dir_all(root.join(".prompts")).unwrap();
        fs::write(root.join(".prompts").join(name), text).unwrap();
    }
    let own = client.make_folder(".config/prompt-expander/prompts");
    fs::write(own.join("own.md"), "ours").unwrap();
    let hint = format!("`prompt-expander trust '{shown}'`");

    let error = client.expand("deploy", "").error();
    assert_contains(&error, &hint);
    let error = client.expand(":smile:", "").error();
    assert!(
        error.contains("an emoji") && !error.contains(&hint),
        "{error}"
    );
    for command in [
        &["list"][..],
        &["expand", "deploy"],
        &["new", "--project", "release", "--empty"],
    ] {
        assert!(
            client
                .run(command.iter().copied(), "")
                .stderr
                .contains(&hint),
            "{command:?}"
        );
    }
    fs::remove_file(root.join(".prompts/release.md")).unwrap();
    let asked = client.words("trust");
    assert_eq!(asked.status.code(), Some(1));
    assert!(
        asked.stderr.contains("whatever later commits put there"),
        "{}",
        asked.stderr
    );
    client.expand("own", "").text("ours");

    let granted = client.words("trust --yes");
    assert!(granted.status.success(), "{}", granted.stderr);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        format!("# mine\nbuiltin = false\ntrusted = [\"{shown}\"]\n")
    );
    client.expand("deploy", "").text("Deploy");
    client.expand("own", "").text("theirs");
    let event = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":deploy"}"#;
    assert!(
        client
            .run(["hook", "codex"], event)
            .stdout
            .contains("Deploy")
    );
    assert!(client.words("list").stderr.is_empty());
    assert_eq!(client.words("trust --list").stdout, format!("{shown}\n"));

    assert!(client.words("trust --revoke").status.success());
    assert!(client.expand("deploy", "").error().contains(&hint));
    client.expand("own", "").text("ours");
    fs::write(&file, "builtin = false\ntrusted = [\"/gone\"]\n").unwrap();
    assert!(client.words("trust --revoke /gone").status.success());
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "builtin = false\ntrusted = []\n"
    );

    fs::remove_dir(root.join(".git")).unwrap();
    fs::create_dir(root.join("below/.prompts")).unwrap();
    let error = client.expand("deploy", "").error();
    assert!(
        error.contains("To use them, run `git init` there, and then `prompt-expander trust "),
        "outside of a repository, nothing can be trusted: {error}"
    );
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_a_file_of_settings_never_blocks() {
    let make = |file: &str| {
        let (client, settings) =
            with_settings("team = 'http://127.0.0.1:9'\nfrom-agents = ['claude']");
        let path = client.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path == settings {
            fs::remove_file(&settings).unwrap();
        }
        crate::client::make_fifo(&path);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).unwrap();
        client
    };
    let hook = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":a b"}"#;
    for (file, refused) in [
        (
            ".config/prompt-expander/config.toml",
            "config.toml: the settings file cannot be read: it is not a regular file",
        ),
        (".config/prompt-expander/team-token", "not a regular file"),
        (".claude/plugins/installed_plugins.json", ""),
        (
            ".config/prompt-expander/packs.lock",
            "it is not a regular file",
        ),
        (".codex/config.toml", ""),
    ] {
        let client = make(file);
        let listed = client.words("list");
        assert!(listed.stderr.contains(refused), "{file}: {listed:?}");
        client.run(["hook", "claude"], hook);
        client.words("doctor codex");
    }
    let client = make(".codex/config.toml");
    client
        .words("install codex --yes")
        .says(1, &[".codex/config.toml", "it is not a regular file"]);
}

/// `<(…)` of a shell is a pipe.
#[cfg(unix)]
#[test]
fn a_settings_file_may_be_a_pipe_of_the_shell() {
    let (client, _) = with_settings("");
    let client = client.prompt("a.md", "A.");
    let listed = std::process::Command::new("bash")
        .args([
            "-c",
            "\"$0\" --config <(echo \"prompts = ['$PWD/prompts']\") list",
        ])
        .arg(client.command().get_program())
        .current_dir(client.root())
        .env("HOME", client.root())
        .output()
        .unwrap();
    assert!(listed.stdout.starts_with(b"a\t"), "{listed:?}");
}

/// A clone whose `.env` an agent passes on: its folders `prompts`, `.cfg` and so on may be named by
/// variables.
fn in_clone(repository: bool) -> Client {
    let client = Client::new().arguments([]).working_in("clone");
    for (file, text) in [
        ("prompts/theirs.md", "Theirs."),
        (".cfg/prompt-expander/prompts/theirs.md", "Theirs."),
        (".claude/commands/theirs.md", "Theirs."),
        (".qwen/commands/theirs.md", "Theirs."),
        (".config/prompt-expander/prompts/theirs.md", "Theirs."),
        (
            ".cfg/prompt-expander/config.toml",
            "tap = '~/.bashrc'\nlog-file = '~/.profile'\nprompts = ['../../prompts']\n",
        ),
    ] {
        client.write(&format!("../clone/{file}"), text);
    }
    client.put(
        ".config/prompt-expander/config.toml",
        "from-agents = true\n",
    );
    client.put(".config/prompt-expander/prompts/mine.md", "Mine.");
    if repository {
        client.make_folder("clone/.git");
    }
    client
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_a_variable_names_in_a_clone_needs_trust() {
    for (variable, value) in [
        ("PROMPT_EXPANDER_PROMPTS", "prompts"),
        ("PROMPT_EXPANDER_PROMPTS", "/proc/self/cwd/prompts"),
        ("XDG_CONFIG_HOME", "/proc/self/cwd/.cfg"),
        ("CLAUDE_CONFIG_DIR", ".claude"),
        ("QWEN_HOME", ".qwen"),
        ("HOME", "/proc/self/cwd"),
        ("HOME", "/usr/../proc/self/cwd"),
    ] {
        for repository in [true, false] {
            let mut client = in_clone(repository).variable(variable, value).stderr(None);
            let listed = client.words("list");
            assert!(!listed.stdout.contains("theirs"), "{variable}: {listed:?}");
            assert!(
                listed.stderr.contains(&format!(
                    "the variable `{variable}` is ignored, because it names"
                )),
                "{variable}: {listed:?}"
            );
            client.names();
            assert!(!client.path(".bashrc").exists());
            if variable == "HOME" {
                let listed = client.words("--from-agents list");
                assert!(!listed.stdout.contains("theirs"), "{value}: {listed:?}");
                continue;
            }
            assert!(listed.stdout.contains("mine"), "{variable}: {listed:?}");
            let trusted = client.words("trust --yes");
            assert_eq!(trusted.status.success(), repository, "{trusted:?}");
            let listed = client.words("list");
            assert_eq!(
                listed.stdout.contains("theirs"),
                repository,
                "{variable}: {listed:?}"
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_settings_file_in_a_trusted_clone_names_no_file_to_write() {
    let mut client = in_clone(true);
    assert!(client.words("trust --yes").status.success());
    client = client
        .variable("XDG_CONFIG_HOME", "/proc/self/cwd/.cfg")
        .stderr(None);
    assert!(client.names().contains("theirs"));
    client.finish();
    for file in [".bashrc", ".profile"] {
        assert!(!client.path(file).exists(), "{file}");
    }
    let checked = client.words("doctor");
    for key in ["tap", "log-file"] {
        let problem = format!("`{key}` is not taken from a file inside a project");
        assert!(checked.stdout.contains(&problem), "{checked:?}");
    }
}

#[test]
fn a_settings_file_whose_path_only_begins_at_home_names_no_file_to_write() {
    let client = in_clone(true);
    client.put(".config/x", "");
    let config = "~/.config/../clone/.cfg/prompt-expander/config.toml";
    let checked = client.words(&format!("--config {config} doctor"));
    let problem = "`tap` is not taken from a file inside a project";
    assert!(checked.stdout.contains(problem), "{checked:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_a_variable_names_elsewhere_or_at_home_counts() {
    for (variable, folder, name) in [
        ("PROMPT_EXPANDER_PROMPTS", "elsewhere", "x"),
        ("XDG_CONFIG_HOME", ".config", "mine"),
    ] {
        let client = in_clone(true);
        client.put("elsewhere/x.md", "X");
        let folder = client.path(folder);
        let client = client.variable(variable, folder.to_str().unwrap());
        let listed = client.words("list");
        assert!(
            listed.stdout.contains(name) && listed.stderr.is_empty(),
            "{listed:?}"
        );
    }
}
