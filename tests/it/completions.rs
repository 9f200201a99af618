//! `completions`: the script in real shells. A shell that is not installed is skipped.

use crate::client::Client;
#[cfg(target_os = "linux")]
use crate::terminal::typed;
use std::process::{Command, Stdio};

/// What an interactive bash reads first.
#[cfg(target_os = "linux")]
pub(crate) const BASH: &str =
    "eval \"$(prompt-expander completions bash)\"\nshow() { printf '%s|' \"$@\" > shown; }\n";

/// What is offered for the last of these words, as the script of a shell asks for it.
pub(crate) fn offered(client: &Client, shell: &str, words: &[&str]) -> String {
    let mut asked = client.command();
    asked
        .env("PROMPT_EXPANDER_COMPLETE", shell)
        .args(["--", "prompt-expander"])
        .args(words);
    String::from_utf8(asked.output().unwrap().stdout).unwrap()
}

/// Prompts with folders and colons in their names, in a folder with a space in its name.
fn library() -> Client {
    let client = Client::new()
        .arguments([])
        .prompt("git/commit.md", "Commit.")
        .prompt("a:b.md", "A colon.");
    let client = client
        .prompt("it $(touch evil).md", "Evil.")
        .prompt("it`touch evil`.md", "Evil.")
        .prompt(
            "level.md",
            "---\narguments: [{name: text}, {name: level, choices: [low, high, very high, 'C #']}]\n---\n{{level}}",
        )
        .prompt("zebra.md", "---\ntags: [work, wo rk]\n---\nZ.");
    std::fs::rename(client.prompts(), client.path("my prompts")).unwrap();
    client
}

fn is_installed(shell: &str) -> bool {
    Command::new(shell)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

#[test]
fn names_arguments_choices_and_tags_are_completed_as_they_are_typed() {
    let client = library().prompt("../my prompts/cafe\u{301}.md", "C.");
    for (typed, want) in [
        (&["edit", "：git："][..], "：git：commit\tCommit."),
        (&["edit", "caf\u{e9}"], "caf\u{e9}\tC."),
        (&["edit", "caf"], "cafe\u{301}\tC."),
        (&[":git:"], ":git:commit\tCommit."),
        (&["expand", ":a:"], ":a:b\tA colon."),
        (&["expand", "level", "le"], "level="),
        (&["expand", "level", "level=h"], "level=high"),
        (&["expand", "level", "level=v"], "level=very high"),
        (&[":level", "le"], "level="),
        (&[":level", "level=low", "t"], "text="),
        (&["：level", "level=h"], "level=high"),
        (&["list", ":level", "le"], ""),
        // After the name, an option would be text.
        (&["expand", "level", ""], "text=\nlevel="),
        (&[":level", ""], "text=\nlevel="),
        (&["expand", "level", "--j"], ""),
        (&["list", "--tag", "wo"], "work"),
    ] {
        let words = [&["--no-builtin", "--prompts=my prompts"], typed].concat();
        assert_eq!(
            offered(&client, "fish", &words).trim_end(),
            want,
            "{typed:?}"
        );
    }
}

/// Lines that end where Tab is pressed, and their words afterwards; a last word shows that Tab
/// added a space.
const LINES: [(&str, &[&str]); 11] = [
    ("prompt-expander compl", &["completions"]),
    ("prompt-expander completions fi", &["completions", "fish"]),
    ("prompt-expander expand rese", &["expand", "research"]),
    (
        "prompt-expander expand --prompts my\\ prompts git/",
        &["expand", "--prompts", "my prompts", "git/commit"],
    ),
    // bash ends a word at a colon and at an equals sign.
    ("prompt-expander :rese", &[":research"]),
    (
        "prompt-expander --prompts 'my prompts' expand :git:",
        &["--prompts", "my prompts", "expand", ":git:commit"],
    ),
    (
        "prompt-expander expand --prompts='my prompts' level level=l",
        &["expand", "--prompts=my prompts", "level", "level=low"],
    ),
    (
        "prompt-expander --prompts 'my prompts' :level text='a b' level=",
        &["--prompts", "my prompts", ":level", "text=a b", "level=+"],
    ),
    (
        "prompt-expander --prompts 'my prompts' :level level=v",
        &["--prompts", "my prompts", ":level", "level=very high"],
    ),
    (
        "prompt-expander --prompts 'my prompts' :level level=C",
        &["--prompts", "my prompts", ":level", "level=C #"],
    ),
    // Names that the shell would run as a command are not offered.
    (
        "prompt-expander --no-builtin --prompts 'my prompts' edit it",
        &["--no-builtin", "--prompts", "my prompts", "edit", "it+"],
    ),
];

/// Checks lines such as [`LINES`] in a shell that is started with this command.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn completes(client: &Client, start: &str, lines: &[(&str, &[&str])]) {
    for (line, want) in lines {
        // The words go into a file, because the shell draws on the screen. `\x01` moves to the
        // beginning of the line.
        let keys = format!("{line}\t+\x01show \nexit\n");
        if typed(client, 200, start, &keys).is_none() {
            return;
        }
        let shown = client.text("shown");
        let joined = want.join("|");
        let want = joined
            .strip_suffix('+')
            .map_or(format!("prompt-expander|{joined}|+|"), |all| {
                format!("prompt-expander|{all}+|")
            });
        assert_eq!(shown, want, "{line}");
        std::fs::remove_file(client.path("shown")).unwrap();
    }
    assert!(!client.path("evil").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_names_of_prompts() {
    if !is_installed("bash") {
        return;
    }
    let client = library();
    client.put("rc", BASH);
    let bash = "bash --noprofile --rcfile rc -i";
    completes(&client, bash, &LINES);
    // zsh adds a space here.
    let line = "prompt-expander --prompts 'my prompts' :level te";
    let want = &["--prompts", "my prompts", ":level", "text=+"];
    completes(&client, bash, &[(line, want)]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_name_of_a_folder_is_never_run_as_a_command_after_completion() {
    let client = library();
    for (begin, rest) in [
        ("p", ";touch evil;r"),
        ("q", "$(touch evil)"),
        ("t", "`touch evil`"),
        ("u", "'\"*\\ &x"),
    ] {
        let name = format!("{begin}{rest}");
        client.make_folder(&name);
        if is_installed("bash") {
            client.put("rc", BASH);
            let keys = format!("prompt-expander list --prompts {begin}\t\x01show \nexit\n");
            if typed(&client, 200, "bash --noprofile --rcfile rc -i", &keys).is_some() {
                let shown = client.text("shown");
                assert_eq!(shown, format!("prompt-expander|list|--prompts|{name}/|"));
            }
        }
        assert_eq!(
            offered(&client, "powershell", &["list", "--prompts", begin]),
            "",
            "{name}"
        );
    }
    let answer = offered(&client, "powershell", &["compl"]);
    assert!(
        answer.starts_with("completions\tPrint a script"),
        "{answer}"
    );
    assert!(!client.path("evil").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn zsh_completes_names_of_prompts() {
    if !is_installed("zsh") {
        return;
    }
    let client = library();
    let rc = "autoload -Uz compinit && compinit -u -D\neval \"$(prompt-expander completions zsh)\"\n\
              show() { printf '%s|' \"$@\" > shown }\n";
    client.put(".zshrc", rc);
    completes(&client, "zsh -i", &LINES);
}

#[test]
fn there_is_a_script_for_each_shell_and_an_error_for_others() {
    let client = library();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = client.run(["completions", shell], "");
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        let program = env!("CARGO_BIN_EXE_prompt-expander");
        assert!(
            ran.stdout.contains("PROMPT_EXPANDER_COMPLETE") && ran.stdout.contains(program),
            "{ran:?}"
        );
    }
    let ran = client.words("completions tcsh");
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        ran.stderr
            .contains("[possible values: bash, elvish, fish, powershell, zsh]"),
        "{ran:?}"
    );
}

#[test]
fn an_invalid_request_for_completion_prints_nothing() {
    for shell in ["tcsh", "bash"] {
        let client = Client::new()
            .arguments([])
            .variable("PROMPT_EXPANDER_COMPLETE", shell)
            .variable("_CLAP_COMPLETE_INDEX", "9");
        let ran = client.words("-- prompt-expander list");
        assert_eq!(
            (ran.status.code(), ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(1), "", ""),
            "{shell}"
        );
    }
    // The variable alone is not a request.
    let client = Client::new()
        .prompt("a.md", "A")
        .variable("PROMPT_EXPANDER_COMPLETE", "bash");
    client.words("list").printed("a\tA\tuser\t\t\n");
    client.run([], "").printed("");
}
