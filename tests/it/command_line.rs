//! `list`, `expand`, and the program without a command.

use crate::client::{Client, golden};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

#[test]
fn list_is_one_line_a_prompt_with_a_tab_for_scripts() {
    let client = Client::new()
        .prompt("b.md", "---\ndescription: |\n  two\n  lines\n---\nB")
        .prompt("git/commit.md", "Commit *this*.")
        .prompt("c.md", "");
    client.run(["list"], "").printed("b\ttwo lines\nc\t\ngit/commit\tCommit this.\n");
}

#[test]
fn list_says_problems_on_standard_error() {
    let client = Client::new().prompt("a.md", "A").prompt("broken.md", "---\n");
    let ran = client.run(["list"], "");
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(0), "a\tA\n"));
    assert!(
        ran.stderr.starts_with("warning: ") && ran.stderr.contains("broken.md:1:1: the frontmatter"),
        "{}",
        ran.stderr
    );
}

#[test]
fn list_json_is_one_object_with_title_and_source() {
    let client = Client::new().prompt("a.md", "# A title\n\nText.").prompt("broken.md", "---\n");
    let ran = client.run(["list", "--json"], "");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
    let prompts = std::path::absolute(client.prompts()).unwrap();
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        list["prompts"],
        json!([{"name": "a", "title": "A title", "description": "Text.", "source": prompts.join("a.md")}])
    );
    assert_eq!(list["problems"][0]["file"], json!(prompts.join("broken.md")));
    assert_eq!((&list["problems"][0]["line"], &list["problems"][0]["severity"]), (&json!(1), &json!("error")));

    let shipped = Client::new().arguments([]).run(["list", "--json"], "");
    let list: Value = serde_json::from_str(&shipped.stdout).unwrap();
    assert!(list.get("problems").is_none());
    assert_eq!(list["prompts"][0]["source"], "built-in");
}

#[test]
fn json_holds_no_control_character_as_it_is() {
    let client = Client::new().prompt("a.md", "---\ntitle: \"t\\x9b31m\"\ndescription: \"a\\x7fb\"\n---\nB");
    let ran = client.run(["list", "--json"], "");
    assert!(!ran.stdout.trim_end().contains(char::is_control), "{:?}", ran.stdout);
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&list["prompts"][0]["title"], &list["prompts"][0]["description"]),
        (&json!("t\u{9b}31m"), &json!("a\u{7f}b"))
    );
}

#[test]
fn expand_joins_words_by_one_space() {
    let client = Client::new().prompt("p.md", "[{{input}}]");
    client.run(["expand", "p", "two  spaces", "and", "", "more"], "unread").printed("[two  spaces and  more]\n");
    client.run(["expand", ":P", "x"], "").printed("[x]\n");
    client.run(["expand", "p", "--", "--flag", "-"], "").printed("[--flag -]\n");
}

#[test]
fn expand_takes_the_words_of_the_shell_and_values_by_name() {
    let compare = "---\narguments: [{name: options, required: true}, {name: criteria, default: cost}]\n---\n\
                   {{options}} by {{criteria}}";
    let client = Client::new().prompt("compare.md", compare);
    client
        .run(["expand", "compare", "Rust or Go", "speed", "and size"], "unread")
        .printed("Rust or Go by speed and size\n");
    client
        .run(["expand", "compare", "criteria=speed and size", "Rust or Go"], "")
        .printed("Rust or Go by speed and size\n");
    client
        .run(["expand", "compare", "\"Rust or Go\" speed and size"], "")
        .printed("\"Rust or Go\" speed and size by cost\n");
    client.run(["expand", "compare", "-"], "\"Rust or Go\" speed\n").printed("Rust or Go by speed\n");
    client
        .run(["expand", "compare", "--arg", "options=a=b c", "--arg", "criteria= x"], "unread")
        .printed("a=b c by  x\n");
    client.run(["expand", "compare"], "").failed(
        1,
        "error: `compare` cannot be expanded: it needs a text for `options`; write `:compare options=… [criteria=…]`\n",
    );
    client.run(["expand", "compare", "--arg", "opt=x"], "").failed(
        1,
        "error: `compare` cannot be expanded: it has no argument `opt`; it takes `options` and `criteria`\n",
    );
    client.run(["expand", "compare", "--arg", "options=x", "two", "words"], "").failed(
        1,
        "error: `two words` has no place beside --arg; give it as one more --arg NAME=VALUE, or give no --arg\n",
    );
    client
        .run(["expand", "compare", "--arg", "options=x", "--arg", "options=y"], "")
        .failed(1, "error: --arg options=… is given twice\n");
    client.write("both.md", "---\narguments: [lang]\n---\n{{lang}}: {{input}}");
    client.run(["expand", "both", "--arg", "lang=rust"], "from a pipe").printed("rust: from a pipe\n");
    client.run(["expand", "both", "--arg", "lang=rust", "two", "words"], "unread").printed("rust: two words\n");
    client.run(["expand", "both", "--arg", "lang=rust", "--arg", "input=x"], "unread").printed("rust: x\n");
    let ran = client.run(["expand", "compare", "--arg", "options"], "");
    assert_eq!(ran.status.code(), Some(2));
    assert!(ran.stderr.contains("it must be NAME=VALUE, such as `criteria=speed`"), "{}", ran.stderr);
}

#[test]
fn expand_reads_standard_input_for_a_dash_or_for_no_words() {
    let client = Client::new().prompt("p.md", "[{{input}}]").prompt("end.md", "{{input}}");
    client.run(["expand", "p", "-"], "two\nlines\n").printed("[two\nlines\n]\n");
    client.run(["expand", "p"], "piped").printed("[piped]\n");
    client.run(["expand", "p"], "").printed("[]\n");
    client.run(["expand", "end"], "with newline\n").printed("with newline\n");
    client
        .run(["expand", "p"], b"a\xff")
        .failed(1, "error: standard input is not UTF-8 at byte 1; convert it first, for example with `iconv`\n");
}

#[test]
fn expand_leaves_standard_input_alone_when_words_are_given() {
    let client = Client::new().prompt("p.md", "[{{input}}]");
    for words in [["x"].as_slice(), &[""], &["-", "x"]] {
        let mut command = client.command();
        command.args(client.library_arguments()).args(["expand", "p"]).args(words);
        // The pipe stays open and empty: whoever reads it waits for ever.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("[{}]\n", words.join(" ")));
    }
}

#[test]
fn expand_says_why_it_cannot() {
    let client = Client::new().prompt("research.md", "R").prompt("broken.md", "---\n").prompt("git/x.md", "X");
    for (name, want) in [
        (
            "reserch",
            "error: no prompt named `reserch`; did you mean `research`? (`prompt-expander list` shows all prompts)\n",
        ),
        ("zzz", "error: no prompt named `zzz` (`prompt-expander list` shows all prompts)\n"),
        (
            "10:30",
            "error: `10:30` looks like a time or a number, not like a command (`prompt-expander list` shows all prompts)\n",
        ),
    ] {
        client.run(["expand", name, "x"], "").failed(1, want);
    }
    let broken = std::path::absolute(client.prompts()).unwrap().join("broken.md");
    let ran = client.run(["expand", "broken", "x"], "");
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stderr.starts_with(&format!("error: {}:1:1: the frontmatter", broken.display())), "{}", ran.stderr);
}

#[test]
fn an_input_on_standard_input_has_the_limit_of_an_expansion() {
    let client = Client::new().prompt("p.md", "P");
    let too_long = vec![b'x'; 64 * 1024 * 1024 + 1];
    let error = "error: standard input is longer than 67108864 bytes, the limit for an expansion\n";
    client.run(["expand", "p", "-"], too_long).failed(1, error);
}

#[test]
fn a_named_directory_that_is_not_there_is_said_on_standard_error() {
    let client = Client::new().arguments(["--prompts", "nowhere"]);
    for arguments in [["expand", "research", "x"].as_slice(), &["list"]] {
        let ran = client.run(arguments.iter().copied(), "");
        assert_eq!(ran.status.code(), Some(0));
        assert_eq!(
            ran.stderr.matches("nowhere: the prompts directory does not exist; create it").count(),
            1,
            "{ran:?}"
        );
        assert!(!ran.stdout.is_empty());
    }
}

#[test]
fn wrong_arguments_are_status_2_with_a_hint() {
    let client = Client::new();
    for arguments in [vec!["nope"], vec!["list", "--nope"], vec!["expand"], vec!["expand", "p", "--flag"]] {
        let ran = client.run(arguments.clone(), "");
        assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains("For more information, try '--help'"), "{}", ran.stderr);
    }
}

#[test]
fn options_may_stand_anywhere() {
    let client = Client::new().prompt("p.md", "[{{input}}]").arguments([]);
    client.run(["expand", "p", "x", "--prompts", "prompts"], "").printed("[x]\n");
    client.run(["list", "--no-builtin", "--prompts", "prompts"], "").printed("p\t[{{input}}]\n");
    fs::create_dir(client.root().join("later")).unwrap();
    fs::write(client.root().join("later/q.md"), "Q").unwrap();
    fs::write(client.root().join("later/p.md"), "hidden").unwrap();
    let before_and_after = ["--prompts", "prompts", "--no-builtin", "list", "--prompts", "later"];
    client.run(before_and_after, "").printed("p\t[{{input}}]\nq\tQ\n");
}

#[test]
fn help_is_written_for_a_newcomer() {
    let client = Client::new().arguments([]);
    for (file, arguments) in [
        ("help", vec!["--help"]),
        ("help-list", vec!["list", "--help"]),
        ("help-expand", vec!["expand", "--help"]),
        ("help-check", vec!["check", "--help"]),
        ("help-hook", vec!["hook", "--help"]),
        ("help-doctor", vec!["doctor", "--help"]),
        ("help-install", vec!["install", "--help"]),
        ("help-uninstall", vec!["uninstall", "--help"]),
    ] {
        let ran = client.run(arguments, "");
        assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
        golden(&format!("help/{file}.txt"), &ran.stdout);
    }
    client.run(["--version"], "").printed(concat!("prompt-expander ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_said() {
    let client = Client::new().prompt("p.md", "x");
    for arguments in [["expand", "p", "x"].as_slice(), &["list"], &["list", "--json"], &["check"]] {
        let mut command = client.command();
        command.args(client.library_arguments()).args(arguments);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr.starts_with("error: standard output cannot be written: No space left"), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn an_output_that_nobody_reads_is_an_ordinary_end() {
    let client = Client::new().prompt("p.md", "x".repeat(1_000_000));
    for arguments in [["expand", "p", "x"].as_slice(), &["list"], &["check"]] {
        let mut command = client.command();
        command.args(client.library_arguments()).args(arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.code() == Some(0) && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

/// On a terminal, which `script` of util-linux gives.
#[cfg(target_os = "linux")]
mod terminal {
    use super::*;

    /// What the program prints to a terminal of 60 columns; `None` where there is no `script`.
    fn on_terminal(client: &Client, arguments: &str, variables: &[(&str, &str)], stdin: &[u8]) -> Option<String> {
        use std::io::Write;
        let program = client.command();
        let line = format!(
            "stty cols 60 rows 20; {} {} {arguments}",
            program.get_program().to_str().unwrap(),
            client.library_arguments().join(" ")
        );
        let mut command = std::process::Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(client.root()).env("TERM", "xterm").envs(variables.iter().copied());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) if std::env::var_os("CI").is_some() => panic!("script, of util-linux: {error}"),
            Err(_) => return None,
        };
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        let output = child.wait_with_output().unwrap();
        Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
    }

    #[test]
    fn list_is_aligned_colored_and_cut_to_the_width_on_a_terminal_only() {
        let client = Client::new()
            .prompt("git/commit.md", "A description that is a good deal longer than sixty columns.")
            .prompt("a.md", "Short.");
        let plain = ":a           Short.\n:git/commit  A description that is a good deal longer than…\n";
        let Some(colored) = on_terminal(&client, "list", &[], b"") else { return };
        assert!(colored.contains("\u{1b}["), "{colored:?}");
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
        assert_eq!(on_terminal(&client, "list", &[("NO_COLOR", "1")], b"").unwrap(), plain);
    }

    #[test]
    fn a_very_long_name_takes_no_column_from_the_others() {
        let long = format!("{}/x", "long".repeat(20));
        let client = Client::new().prompt("a.md", "Short.").prompt(&format!("{long}.md"), "Long.");
        let Some(listed) = on_terminal(&client, "list", &[("NO_COLOR", "1")], b"") else { return };
        assert_eq!(listed, format!(":a  Short.\n:{long}  …\n"));
    }

    #[test]
    fn the_program_alone_says_on_a_terminal_what_it_is_and_what_to_type() {
        let client = Client::new();
        let Some(said) = on_terminal(&client, "", &[], b"\x04") else { return };
        assert!(said.contains("prompt-expander is an MCP server and waits for a client"), "{said}");
        assert!(said.contains("`prompt-expander list`"), "{said}");
    }

    #[test]
    fn the_program_alone_serves_on_a_terminal_where_nobody_hears_what_it_says() {
        let client = Client::new();
        let Some(said) = on_terminal(&client, "2>/dev/full; echo status $?", &[], b"\x04") else { return };
        assert!(said.contains("status 0"), "{said}");
    }

    #[test]
    fn expand_without_words_on_a_terminal_does_not_wait() {
        let client = Client::new().prompt("p.md", "[{{input}}]");
        let Some(said) = on_terminal(&client, "expand p", &[], b"") else { return };
        assert_eq!(said, "[]\n");
    }
}
