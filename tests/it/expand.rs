//! `expand`: words, piped text and files. (`command_line` has the rest, and `explain` shows the
//! same.)

use crate::client::{Client, Ran};
#[cfg(unix)]
use crate::client::{assert_contains, set_mode};
use serde_json::json;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Output, Stdio};

const REVIEW: &str = "Review this.\n\n{{input}}";
const COMPARE: &str = "---\narguments: [{name: options, required: true}, {name: criteria, default: cost}]\n---\n\
                       [{{options}}] by [{{criteria}}]";
const TRANSLATE: &str =
    "---\narguments: [{name: lang, required: true}]\n---\nInto {{lang}}:\n{{input}}";

fn client() -> Client {
    Client::new()
        .prompt("review.md", REVIEW)
        .prompt("compare.md", COMPARE)
        .prompt("translate.md", TRANSLATE)
        .prompt("body.md", "Body")
}

/// Runs the program with a file as its standard input.
fn with_file(client: &Client, arguments: &[&str], stdin: File) -> Ran {
    let mut command = client.command();
    command
        .args(client.library_arguments())
        .args(arguments)
        .stdin(stdin);
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Ran {
        status,
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

/// What goes where is told in `src/prompt/binding.rs`.
#[test]
fn piped_text_is_at_the_end_of_the_words_or_at_the_first_dash() {
    let client = client();
    for (words, want) in [
        (
            &["review", "focus", "on", "locks"][..],
            "Review this.\n\nfocus on locks\n\nDIFF\n",
        ),
        (&["review", "-", "x", "-"], "Review this.\n\nDIFF\n\nx -\n"),
        (
            &["--arg", "lang=German", "translate", "one", "-", "two"],
            "Into German:\none\n\nDIFF\n\ntwo\n",
        ),
    ] {
        client
            .run([&["expand"], words].concat(), "DIFF\n")
            .printed(want);
    }
    client
        .words("expand review - focus")
        .printed("Review this.\n\nfocus\n");
    client
        .run(["expand", "review"], "\u{feff}DIFF\n") // a byte order mark
        .printed("Review this.\n\nDIFF\n");
}

#[test]
fn piped_text_next_to_values_by_name_goes_to_the_input_and_is_an_error_without_one() {
    let client = client();
    client
        .run(["expand", "--arg", "lang=German", "translate"], "DIFF\n")
        .printed("Into German:\nDIFF\n");
    client
        .run(
            ["expand", "--arg", "lang=German", "translate", "be polite"],
            "DIFF\n",
        )
        .printed("Into German:\nbe polite\n\nDIFF\n");
    let error = "error: the piped text cannot be combined with values by name for this prompt; give all as one text; if the piped text \
                 is not meant for the prompt, add `< /dev/null`\n";
    for arguments in [
        &["expand", "--arg", "options=x", "compare"][..],
        &[
            "expand",
            "--arg",
            "options=x",
            "--arg",
            "criteria=y",
            "compare",
        ],
        &[
            "explain",
            "--arg",
            "lang=German",
            "--arg",
            "input=x",
            "translate",
        ],
        &[
            "copy",
            "--arg",
            "lang=German",
            "--arg",
            "input=x",
            "translate",
        ],
    ] {
        client
            .run(arguments.iter().copied(), "DIFF\n")
            .failed(1, error);
    }
    client
        .words("expand --arg options=x compare")
        .printed("[x] by [cost]\n");
}

#[test]
fn piped_text_for_which_the_prompt_has_no_placeholder_is_an_error() {
    let client = Client::new().prompt("p.md", "---\narguments: [a, b]\n---\n[{{a}}]");
    let lost = "the value of `b` is not in the expansion, because `p` has no placeholder `{{b}}`; add it to the file, or \
                leave out the value\n";
    client
        .run(["expand", "p", "one"], "DIFF")
        .failed(1, &format!("error: {lost}"));
    let ran = client.words("expand p one two");
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr),
        ("[one]\n", format!("warning: {lost}"))
    );
}

#[test]
fn a_required_argument_that_the_body_does_not_use_may_be_missing_with_a_warning() {
    let file = "---\narguments: [{name: project, required: true}]\n---\nAdd the project.";
    let ran = Client::new().prompt("add.md", file).words("expand add");
    assert_eq!(ran.stdout, "Add the project.\n");
    let warning = "warning: `project` is required, but the prompt does not use it\n";
    assert!(ran.stderr.starts_with(warning), "{}", ran.stderr);
}

#[test]
fn an_empty_or_closed_standard_input_adds_nothing_and_a_file_is_read_like_a_pipe() {
    let client = client();
    client.put("diff", "DIFF\n");
    let file = File::open(client.path("diff")).unwrap();
    with_file(&client, &["expand", "review", "focus"], file)
        .printed("Review this.\n\nfocus\n\nDIFF\n");
    client
        .words("expand review focus")
        .printed("Review this.\n\nfocus\n");
    #[cfg(unix)]
    {
        let null = File::open("/dev/null").unwrap();
        with_file(&client, &["expand", "--arg", "options=x", "compare"], null)
            .printed("[x] by [cost]\n");
        client
            .after("exec 0<&-")
            .words("expand review focus")
            .printed("Review this.\n\nfocus\n");
    }
}

#[test]
fn words_do_not_hide_that_the_piped_text_is_not_text() {
    let error = "error: standard input is not UTF-8 at byte 1; convert it first, for example with `iconv`\n";
    client()
        .run(["expand", "review", "focus"], b"a\xff")
        .failed(1, error);
}

#[test]
fn a_pipe_that_stays_silent_for_a_second_gets_a_note_that_says_what_is_awaited() {
    let client = client();
    let mut command = client.command();
    command
        .args(client.library_arguments())
        .args(["expand", "review", "focus"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap(); // comes although nothing was written
    child.stdin.take().unwrap().write_all(b"Late text").unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(
        said,
        "note: reading standard input; end it, or add `< /dev/null`\n"
    );
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success()
            && String::from_utf8(output.stdout)
                .unwrap()
                .contains("Late text")
    );
}

/// Programs in Node give their children such pipes.
#[cfg(unix)]
#[test]
fn a_socket_that_does_not_block_is_read_like_a_pipe() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let client = client();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut command = client.command();
    command
        .args(client.library_arguments())
        .args(["expand", "review", "focus"]);
    command
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command); // it has the other end
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap(); // the note: it has found nothing to read
    ours.write_all(b"DIFF\n").unwrap();
    drop(ours);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "Review this.\n\nfocus\n\nDIFF\n"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_never_read() {
    use crate::terminal::ran;
    let client = client();
    let Some(shown) = ran(&client, 200, "expand review focus", &[], "") else {
        return;
    };
    assert_contains(&shown, "Review this.\n\nfocus\n");
    let shown = ran(
        &client,
        200,
        "expand review focus -",
        &[("NO_COLOR", "1")],
        "",
    )
    .unwrap();
    assert_contains(&shown, "Review this.\n\nfocus -\n");
}

#[test]
fn json_is_what_the_tool_answers() {
    let mut client = client();
    let ran = client.run(["expand", "--json", "review", "a\nb"], "");
    assert_eq!(ran.stdout, "{\"prompt\":\"Review this.\\n\\na\\nb\"}\n");
    let printed = ran.json();
    assert_eq!(printed, client.expand("review", "a\nb").structured());
}

#[test]
fn a_path_is_a_prompt_file_whether_it_is_in_the_library_or_not() {
    let client = client().working_in("repo");
    let repo = client.path("repo");
    fs::write(
        repo.join("draft.md"),
        "---\narguments: [topic]\n---\nDraft of {{topic}}.\n",
    )
    .unwrap();
    client.put("home.MD", "Home {{input}}");
    let absolute = repo.join("draft.md").display().to_string();
    for (name, want) in [
        ("./draft.md", "Draft of x.\n"),
        (&absolute, "Draft of x.\n"),
        ("~/home.MD", "Home x\n"),
        ("../prompts/review.md", "Review this.\n\nx\n"),
    ] {
        client.run(["expand", name, "x"], "").printed(want);
    }
    let path = std::path::absolute(&absolute).unwrap();
    let explained = client.words("explain --json ./draft.md x").json();
    assert_eq!(
        (
            &explained["name"],
            &explained["source"],
            explained.get("layer")
        ),
        (&json!("draft"), &json!(path), None)
    );
}

#[test]
fn an_error_in_a_prompt_file_names_the_file_and_the_place() {
    let client = Client::new().arguments(["--no-builtin", "--prompts", "."]);
    for (file, text) in [
        ("open.md", &b"---\n"[..]),
        ("binary.md", b"one\ntwo \xe9"),
        (".hidden.md", b"x"),
    ] {
        client.put(file, text);
    }
    for (file, why) in [
        ("open.md", ":1:1: the frontmatter"),
        ("binary.md", ":2:5: the file is not UTF-8"),
        ("missing.md", ": there is no such file; "),
        (".hidden.md", ": the prompt has no name that can be typed: "),
    ] {
        for command in ["expand", "explain", "copy"] {
            client
                .words(&format!("{command} ./{file}"))
                .says(1, &["error: ", &format!("/{file}{why}")]);
        }
    }
}

#[test]
fn an_unknown_name_that_is_a_file_here_gets_the_path_suggested() {
    let client = client();
    for file in ["draft.md", "draft.txt"] {
        client.put(file, "Draft");
    }
    let error = "error: no prompt named `draft.md`; for the file in the working directory, write `./draft.md`\n";
    client.words("expand draft.md x").failed(1, error);
    let error = "/draft.txt: only files that end in `.md`, `.prompt.md`, `.toml`, `/SKILL.md` or `/system.md` are read as";
    client
        .words("expand ./draft.txt x")
        .says(1, &[error, "; rename it so that it ends in `.md`\n"]);
}

#[cfg(unix)]
mod copy {
    use super::*;

    /// A client on whose `PATH` are only these commands, shell scripts; and neither a display nor a
    /// connection.
    fn with_commands(commands: &[(&str, &str)]) -> Client {
        let client = client();
        let folder = client.make_folder("bin");
        for (name, script) in commands {
            fs::write(folder.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
            set_mode(folder.join(name), 0o755);
        }
        let variables = [
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "TERMUX_VERSION",
            "WSL_DISTRO_NAME",
            "SSH_TTY",
            "SSH_CONNECTION",
        ];
        let client = variables
            .iter()
            .fold(client, |client, name| client.variable(name, ""));
        let path = folder.display().to_string();
        client.variable("PATH", &path)
    }

    /// Writes what it gets, and with which arguments, to the working directory.
    const COPY: &str = "echo \"$0 $*\" | sed 's:.*/::' > copied-by; exec cat > copied";

    fn copied(client: &Client) -> (String, String) {
        let read = |name: &str| client.text(name);
        (read("copied"), read("copied-by"))
    }

    // Not on macOS, where the clipboard is always that of `pbcopy`.
    #[cfg(not(target_os = "macos"))]
    #[test]
    fn the_expansion_goes_byte_for_byte_to_the_command_of_the_environment() {
        let copy = format!("PATH=/bin:/usr/bin; {COPY}");
        let all = [
            "wl-copy",
            "xclip",
            "xsel",
            "termux-clipboard-set",
            "powershell.exe",
        ]
        .map(|name| (name, copy.as_str()));
        for (variables, want) in [
            (&["WAYLAND_DISPLAY", "DISPLAY"][..], "wl-copy \n"),
            (&["DISPLAY"], "xclip -selection clipboard\n"),
            (&["TERMUX_VERSION"], "termux-clipboard-set \n"),
            (&["WSL_DISTRO_NAME", "DISPLAY"], "powershell.exe -NoProfile"),
        ] {
            let client = variables.iter().fold(with_commands(&all), |client, name| {
                client.variable(name, "x")
            });
            client
                .run(["copy", "review", "é 日本"], "DIFF\n")
                .printed("copied 25 characters\n");
            let (text, by) = copied(&client);
            assert_eq!(text, "Review this.\n\né 日本\n\nDIFF\n");
            assert!(by.starts_with(want), "{by}");
        }
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn a_command_that_is_missing_or_fails_is_followed_by_the_next() {
        let copy = format!("PATH=/bin:/usr/bin; {COPY}");
        let client = with_commands(&[
            ("wl-copy", "echo no compositor >&2; exit 1"),
            ("xsel", &copy),
        ]);
        let client = client
            .variable("WAYLAND_DISPLAY", "x")
            .variable("DISPLAY", "x");
        client.words("copy --json body").printed("{\"copied\":4}\n");
        assert_eq!(
            copied(&client),
            ("Body".to_owned(), "xsel --clipboard --input\n".to_owned())
        );
    }

    /// xclip, xsel and wl-copy leave a process that serves the clipboard.
    #[cfg(not(target_os = "macos"))]
    #[test]
    fn a_process_that_keeps_the_clipboard_is_not_awaited() {
        let client = with_commands(&[(
            "xclip",
            "PATH=/bin:/usr/bin; cat > copied; sleep 600 & echo $! > pid",
        )]);
        let client = client.variable("DISPLAY", "x");
        client.words("copy body").printed("copied 4 characters\n");
        let pid = client.text("pid");
        assert!(
            std::process::Command::new("kill")
                .arg(pid.trim())
                .status()
                .unwrap()
                .success(),
            "it was still running"
        );
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn without_a_clipboard_the_error_says_what_to_install_or_to_do() {
        for (client, why) in [
            (
                with_commands(&[]),
                "neither WAYLAND_DISPLAY nor DISPLAY is set",
            ),
            (
                with_commands(&[]).variable("DISPLAY", "x"),
                "xclip: not installed; xsel: not installed",
            ),
            (
                with_commands(&[("wl-copy", "exit 1")]).variable("WAYLAND_DISPLAY", "x"),
                "wl-copy: exit status: 1",
            ),
        ] {
            let error = format!(
                "error: the clipboard cannot be reached: {why}; use `prompt-expander expand NAME | …` instead\n"
            );
            client.words("copy body").failed(1, &error);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn without_another_clipboard_the_terminal_is_asked() {
        let clipboard = [
            ("SSH_TTY", ""),
            ("DISPLAY", ""),
            ("WAYLAND_DISPLAY", ""),
            ("WSL_DISTRO_NAME", ""),
        ];
        let ran = |line: &str| crate::terminal::ran(&client(), 80, line, &clipboard, "");
        let Some(shown) = ran("copy body") else {
            return;
        };
        assert!(shown.contains("\u{1b}]52;c;Qm9keQ==\u{7}"), "{shown:?}");
        let sent = "sent 4 characters to your terminal's clipboard (OSC 52)\n";
        assert!(shown.contains(sent), "{shown:?}");
        let shown = ran("copy --json body > copied; cat copied").unwrap();
        assert!(
            shown.contains("\u{1b}]52;c;Qm9keQ==\u{7}") && shown.ends_with("{\"copied\":4}\n"),
            "{shown:?}"
        );
        let dumb = ran(&format!(
            "path; TERM=dumb {} --prompts prompts copy body",
            env!("CARGO_BIN_EXE_prompt-expander")
        ));
        let dumb = dumb.unwrap();
        assert!(
            dumb.contains("the clipboard cannot be reached") && !dumb.contains("]52;"),
            "{dumb:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn after_an_expansion_on_a_terminal_there_is_a_note_of_warnings() {
    let client = Client::new()
        .prompt("a.md", "A {{inputs}} {{args}}")
        .prompt("fine.md", "Fine {{input}}");
    let ran = |line: &str| crate::terminal::ran(&client, 100, line, &[("NO_COLOR", "1")], "");
    let note = "note: `check` has 2 warnings for this file: `prompt-expander check";
    let Some(shown) = ran("expand a x") else {
        return;
    };
    assert_eq!(
        shown,
        format!("A {{{{inputs}}}} {{{{args}}}}\n\nx\n{note} :a`\n")
    );
    let by_path = ran("expand './prompts/a.md' x").unwrap();
    assert!(
        by_path.ends_with(&format!("{note} ./prompts/a.md`\n")),
        "{by_path}"
    );
    for line in ["expand fine x", "expand --json a x", "expand a x | cat"] {
        assert!(!ran(line).unwrap().contains("note:"), "{line}");
    }
}

/// What follows the name is never read as an option: a person types text there.
#[test]
fn all_that_follows_the_name_is_text_and_what_looks_like_an_option_of_the_command_gets_a_warning() {
    let client = Client::new().prompt("explain.md", "Explain {{input}}");
    let ran = client.words(":explain git rebase -i HEAD~3");
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("Explain git rebase -i HEAD~3\n", "")
    );
    let ran = client.words("expand explain git log --json -- -p");
    assert_eq!(ran.stdout, "Explain git log --json -- -p\n");
    assert_eq!(
        ran.stderr,
        "warning: `--json` is part of the input; an option comes before the name of the prompt\n"
    );
    assert_eq!(
        client.words("expand --json explain x").stdout,
        "{\"prompt\":\"Explain x\"}\n"
    );
}
