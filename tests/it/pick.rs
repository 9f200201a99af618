//! `pick`: the real program at a real terminal.

use crate::client::Client;
use crate::terminal::Typing;
use std::fs;
use std::process::Command;

const COMPARE: &str = "---\ndescription: Compare options\narguments:\n  - {name: options, required: true}\n  \
                       - {name: criteria, default: cost, choices: [cost, speed]}\n---\nCompare {{options}} by {{criteria}}.";

fn client() -> Client {
    let client = Client::new().prompt("compare.md", COMPARE).prompt("review.md", "Review this.\n\n{{input}}");
    client.variable("NO_COLOR", "1").variable("EDITOR", "sed -i s/Review/Edited/")
}

/// What a line writes into the file `out`, while keys are typed, each after a text is shown. Also returns what is shown at the end.
fn typed(client: &Client, line: &str, keys: &[(&str, &str)]) -> Option<(String, String)> {
    let mut typing = Typing::started(client, 80, line)?;
    for (shown, keys) in keys {
        typing.until(shown);
        typing.keys(keys);
    }
    let end = typing.end();
    Some((fs::read_to_string(client.root().join("out")).unwrap(), end))
}

#[test]
fn what_is_chosen_and_filled_in_is_printed_as_expand_prints_it() {
    let client = client();
    let expanded = |arguments: &str| client.words(arguments).stdout;
    let form = &[("compare", "cmp\r"), ("options*", "Rust or Go\t"), ("↑↓ cost", "\x1b[B\r")][..];
    for (line, keys, want) in [
        (
            "$PROGRAM pick > out",
            &[form, &[("Enter print", "\r")]].concat(),
            "Compare Rust or Go by speed.\n".to_owned(),
        ),
        (
            "$PROGRAM pick --print-command > out",
            &[form, &[("Enter print", "\r")]].concat(),
            ":compare Rust or Go criteria=speed\n".to_owned(),
        ),
        (
            "printf 'a\\n  b' | $PROGRAM pick REVIEW > out",
            &vec![("review", "\r"), ("a⏎  b", "\r"), ("Enter print", "\r")],
            client.run(["expand", "review"], "a\n  b").stdout,
        ),
        (
            "$PROGRAM pick > out",
            &vec![
                ("compare", "rev\x1b[200~iew\x1b[201~\r"),
                ("input", "a b\r"),
                ("Enter print", "e"),
                ("Edited this", "\r"),
            ],
            expanded("expand review a b").replace("Review", "Edited"),
        ),
        (
            "$PROGRAM pick nothing > out; echo status $? >> out",
            &vec![("no prompt matches", "\r\x1b")],
            "status 1\n".to_owned(),
        ),
        ("$PROGRAM pick > out; echo status $? >> out", &vec![("compare", "\x03")], "status 1\n".to_owned()),
    ] {
        let Some((printed, _)) = typed(&client, line, keys) else { return };
        assert_eq!(printed, want, "{line}");
    }
}

#[test]
fn the_terminal_is_restored_as_it_was_found_whatever_ends_the_picker() {
    let client = client();
    // A raw terminal, as some agents leave it; and a picker that a signal ends.
    for (before, signal) in [(":", None), ("stty raw -echo", None), (":", Some("-TERM")), (":", Some("-HUP"))] {
        let picker = "sh -c 'echo $$ > pid; exec '\"$PROGRAM pick\"";
        let line = format!("{before}; stty -a > before; {picker}; stty -a > after; stty sane");
        let Some(mut typing) = Typing::started(&client, 80, &line) else { return };
        typing.until("compare");
        let read = |file: &str| fs::read_to_string(client.root().join(file)).unwrap();
        match signal {
            Some(signal) => {
                assert!(Command::new("kill").args([signal, read("pid").trim()]).status().unwrap().success())
            }
            None => typing.keys("\x03"),
        }
        let end = typing.end();
        assert_eq!(read("before"), read("after"), "{before} {signal:?}");
        assert!(end.contains("\x1b[?25h\x1b[?1049l"), "{before} {signal:?}: {end:?}");
    }
}

#[test]
fn without_arguments_a_terminal_gets_the_picker_and_a_smaller_one_a_smaller_frame() {
    let client = client().prompt("要約.md", "長い文章を短くまとめる");
    let line = "tty > out; ${PROGRAM%% *}";
    let user = client.root().join(".config/prompt-expander/prompts");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::rename(client.prompts(), user).unwrap();
    let Some(mut typing) = Typing::started(&client, 40, line) else { return };
    let shown = typing.until("/14"); // with those that are built in
    assert!(shown.contains("\x1b[1;1H"), "{shown:?}");
    typing.until("Enter choose");
    let terminal = fs::read_to_string(client.root().join("out")).unwrap();
    for (size, last) in [(["cols", "10", "rows", "3"], ":review"), (["cols", "80", "rows", "24"], "Enter choose")] {
        assert!(Command::new("stty").arg("-F").arg(terminal.trim()).args(size).status().unwrap().success());
        typing.until("\x1b[2J");
        typing.until(last);
    }
    typing.keys("\x03");
    typing.end();
}

#[test]
fn a_terminal_that_only_prints_lines_is_asked_line_by_line() {
    let client = client().variable("TERM", "dumb");
    let line = "export TERM=dumb; stty raw; $PROGRAM pick > out; stty sane";
    let keys = [
        ("empty: end): ", "compare\n"),
        ("1 :compare  Compare options", "1\n"),
        ("options: ", "\n"),
        ("options: ", "Rust or Go\n"),
        ("criteria (cost, speed) [cost]: ", "speed\n"),
        ("Compare Rust or Go by speed.", "\n"),
    ];
    let Some((printed, shown)) = typed(&client, line, &keys) else { return };
    assert_eq!(printed, "Compare Rust or Go by speed.\n");
    assert!(!shown.contains('\x1b'), "{shown:?}");
}

#[test]
fn without_a_terminal_other_commands_are_named() {
    let client = client();
    let mut program = Command::new("setsid");
    program.args(["--wait", client.command().get_program().to_str().unwrap(), "pick"]);
    let Ok(output) = program.output() else { return }; // not on every system
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && said.contains("`prompt-expander list`") && said.contains("expand NAME"),
        "{said}"
    );
}
