//! `pick`: the real program at a real terminal.

use crate::client::{Client, assert_contains};
use crate::terminal::Typing;
use std::fs;
use std::process::Command;

const COMPARE: &str = "---\ndescription: Compare options\narguments:\n  - {name: options, required: true}\n  \
                       - {name: criteria, default: cost, choices: [cost, speed]}\n---\nCompare {{options}} by {{criteria}}.";

fn client() -> Client {
    let client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("review.md", "Review this.\n\n{{input}}");
    client
        .variable("NO_COLOR", "1")
        .variable("EDITOR", "sed -i s/Review/Edited/")
}

/// What a line writes into the file `out`, while keys are typed, each after a text is shown. Also
/// returns what is shown at the end.
fn typed(client: &Client, line: &str, keys: &[(&str, &str)]) -> Option<(String, String)> {
    let mut typing = Typing::started(client, 80, line)?;
    for (shown, keys) in keys {
        typing.until(shown);
        typing.keys(keys);
    }
    let end = typing.end();
    Some((client.text("out"), end))
}

#[test]
fn what_is_chosen_and_filled_in_is_printed_as_expand_prints_it() {
    let client = client();
    let expanded = |arguments: &str| client.words(arguments).stdout;
    let endless = format!("\x1b[200~{}", "x".repeat(1_000_000));
    let form = &[
        ("compare", "cmp\r"),
        ("options*", "Rust or Go\t"),
        ("↑↓ cost", "\x1b[B\r"),
    ][..];
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
        (
            "$PROGRAM pick > out; echo status $? >> out",
            &vec![("compare", "\x03")],
            "status 1\n".to_owned(),
        ),
        (
            "$PROGRAM pick > out; echo status $? >> out",
            &vec![("compare", &endless), ("the pasted text is too long", "")],
            "status 1\n".to_owned(),
        ),
    ] {
        let Some((printed, _)) = typed(&client, line, keys) else {
            return;
        };
        assert_eq!(printed, want, "{line}");
    }
}

#[test]
fn the_terminal_is_restored_as_it_was_found_whatever_ends_the_picker() {
    let client = client();
    // A raw terminal, as some agents leave it; and a picker that a signal ends.
    for (before, signal) in [
        (":", None),
        ("stty raw -echo", None),
        (":", Some("-TERM")),
        (":", Some("-HUP")),
    ] {
        let picker = "sh -c 'echo $$ > pid; exec '\"$PROGRAM pick\"";
        let line = format!("{before}; stty -a > before; {picker}; stty -a > after; stty sane");
        let Some(mut typing) = Typing::started(&client, 80, &line) else {
            return;
        };
        typing.until("compare");
        let read = |file: &str| client.text(file);
        match signal {
            Some(signal) => {
                assert!(
                    Command::new("kill")
                        .args([signal, read("pid").trim()])
                        .status()
                        .unwrap()
                        .success()
                )
            }
            None => typing.keys("\x03"),
        }
        let end = typing.end();
        assert_eq!(read("before"), read("after"), "{before} {signal:?}");
        let is_restored = end.contains("\x1b[?25h\x1b[?1049l");
        assert!(is_restored, "{before} {signal:?}: {end:?}");
    }
}

#[test]
fn without_arguments_a_terminal_gets_the_picker_and_a_smaller_one_a_smaller_frame() {
    let client = client().prompt("要約.md", "長い文章を短くまとめる");
    let line = "tty > out; ${PROGRAM%% *}";
    let user = client.path(".config/prompt-expander/prompts");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::rename(client.prompts(), user).unwrap();
    let Some(mut typing) = Typing::started(&client, 40, line) else {
        return;
    };
    let shown = typing.until("/14"); // with those that are built in
    assert!(shown.contains("\x1b[1;1H"), "{shown:?}");
    typing.until("Enter choose");
    let terminal = client.text("out");
    for (size, last) in [
        (["cols", "10", "rows", "3"], ":review"),
        (["cols", "80", "rows", "24"], "Enter choose"),
    ] {
        assert!(
            Command::new("stty")
                .arg("-F")
                .arg(terminal.trim())
                .args(size)
                .status()
                .unwrap()
                .success()
        );
        typing.until("\x1b[2J");
        typing.until(last);
    }
    typing.keys("\x03");
    typing.end();
}

#[test]
fn without_a_terminal_that_it_can_draw_on_other_commands_are_named() {
    let client = client();
    let mut without_terminal = Command::new("setsid");
    without_terminal.args([
        "--wait",
        client.command().get_program().to_str().unwrap(),
        "pick",
    ]);
    let Ok(output) = without_terminal.output() else {
        return;
    }; // not on every system
    let line = "TERM=dumb prompt-expander pick; echo status $?";
    let Some(dumb) = crate::terminal::typed(&client, 200, line, "") else {
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    assert!(
        dumb.ends_with("status 1\n") && !dumb.contains('\x1b'),
        "{dumb:?}"
    );
    for message in [String::from_utf8(output.stderr).unwrap(), dumb] {
        assert_contains(
            &message,
            "use `prompt-expander list` and `prompt-expander expand NAME`",
        );
    }
}

/// What a line with `$FILE` leaves of a draft, and what is shown at the end.
fn composed(
    client: &Client,
    file: &str,
    draft: &str,
    line: &str,
    keys: &[(&str, &str)],
) -> Option<(String, String)> {
    let path = client.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, draft).unwrap();
    let line = format!("FILE='{}'; {line}; echo status $?", path.display());
    let mut typing = Typing::started(client, 80, &line)?;
    for (shown, keys) in keys {
        typing.until(shown);
        typing.keys(keys);
    }
    let end = typing.end();
    Some((fs::read_to_string(path).unwrap(), end))
}

const DRAFTS: [&str; 4] = [
    ".codex/editor/.tmpAb3dE9.md",
    "claude-0/claude-prompt-1b4e28ba.md",
    "gemini-edit-Ab3dE9/buffer.txt",
    "tmp/1795405527837.md",
];

#[test]
fn a_draft_becomes_the_expansion_after_three_letters_and_enter_in_every_agent() {
    let client = client();
    let want = client.words("expand review the parser").stdout;
    for file in DRAFTS {
        // Gemini CLI adds options for editors that it takes the program for.
        let options = if file.contains("gemini") {
            "-i NONE --wait"
        } else {
            ""
        };
        let raw = format!("stty raw -echo; $PROGRAM compose {options} $FILE; stty sane");
        let Some((draft, end)) =
            composed(&client, file, "the parser", &raw, &[("review", "rev\r")])
        else {
            return;
        };
        assert_eq!(draft, want.trim_end_matches('\n'), "{file}");
        assert_eq!(
            end.contains("\x1b[?2004h\x1b[?1004h\x1b[?25l"),
            file.contains("gemini"),
            "{end:?}"
        );
    }
}

#[test]
fn an_entry_of_the_agents_menu_in_a_draft_is_expanded_as_the_hook_would() {
    let mark = |prompt: &str| {
        format!("---\nmetadata:\n  prompt-expander: \"0.2.0 0 0 {prompt}\"\n---\nA line.\n")
    };
    let client = client().prompt("git/nested.md", "See:\n$check this");
    client.put(".codex/skills/check/SKILL.md", mark("review"));
    client.put(".codex/skills/git-nested/SKILL.md", mark("git/nested"));
    for (draft, keys, want) in [
        (
            "$check the parser\n",
            &[("the parser", "\r")][..],
            "Review this.\n\nthe parser",
        ),
        (
            "$git-nested",
            &[("`$check`, which the agent's hook expands", "\r")],
            "See:\n$check this",
        ),
        // There is no such entry.
        ("$review it", &[("compare", "\x1b")], "$review it"),
    ] {
        let line = "$PROGRAM compose $FILE";
        let Some((now, _)) = composed(&client, DRAFTS[0], draft, line, keys) else {
            return;
        };
        assert_eq!(now, want, "{draft}");
    }
}

#[test]
fn commands_in_a_draft_are_expanded_in_their_place_and_what_the_hook_would_take_is_said() {
    let client = client()
        .prompt("style.md", "Short words.")
        .prompt("nested.md", "See:\n:review this")
        .prompt("again.md", "See:\n:again");
    let compose = "$PROGRAM compose $FILE";
    let taken = ("`:review`, which the agent's hook expands", "\r");
    for (draft, keys, want) in [
        (
            "Hello.\n:review the parser\n",
            &[("the parser", "\r")][..],
            "Hello.\nReview this.\n\nthe parser",
        ),
        (
            ":review :style a b :style.",
            &[("Enter use", "\r")],
            "Review this.\n\na b :style.\n\nShort words.\n\na b :style.",
        ),
        (
            ":review a\n\n:style",
            &[("Enter use", "\r")],
            "Review this.\n\na\n\nShort words.",
        ),
        (":review a", &[("e edit", "\x0f")], "edited"),
        (":review a", &[("e edit", "\x1b")], ":review a"),
        (":nested", &[taken], "See:\n:review this"),
        (":nested", &[(taken.0, "\x1b")], ":nested"),
        (
            ":again",
            &[("`:again`, which the agent's hook expands", "\x1b")],
            ":again",
        ),
        (
            ":compare criteria=speed",
            &[("it needs a value for `options`", " ")],
            ":compare criteria=speed",
        ),
        ("Look at :style", &[("review", "\x1b")], "Look at :style"),
        (
            ":reviw the parser\n",
            &[("> reviw", ""), (":review", "\r")],
            "Review this.\n\nthe parser",
        ),
        (
            "a or b",
            &[("compare", "compare\t"), ("options*", "\t\x1b[B\r")],
            "Compare a or b by speed.",
        ),
        ("draft", &[("review", "\x0f")], "edited"),
        (
            "draft",
            &[("review", "review\t"), ("^O edit", "\x0f")],
            "edited",
        ),
        (
            "draft",
            &[("nested", "nested\r"), ("Enter use", "e")],
            "edited",
        ),
    ] {
        let line = format!("{compose} --then 'sh -c '\\''printf edited > $1'\\'' -'");
        let Some((now, end)) = composed(&client, DRAFTS[1], draft, &line, keys) else {
            return;
        };
        assert_eq!(now, want, "{draft} {keys:?}");
        assert!(end.ends_with("status 0\n"), "{draft}: {end:?}");
    }
}

#[test]
fn an_editor_that_cannot_be_started_leaves_the_expansion_in_the_draft() {
    let client = Client::new()
        .prompt("nested.md", "See:\n:review this")
        .prompt("review.md", "Review this.");
    let line = "$PROGRAM compose --then ./missing $FILE";
    let keys = [
        ("nested", "nested\r"),
        ("Enter use", "e"),
        ("The draft now contains the expansion.", ""),
        ("Press any key to continue", "\x1b"),
    ];
    let Some((now, end)) = composed(&client, DRAFTS[1], "draft", line, &keys) else {
        return;
    };
    assert!(
        now == "See:\n:review this\n\ndraft" && !end.contains("Esc"),
        "{now} {end:?}"
    );
}

#[test]
fn a_draft_that_cannot_be_used_stays_as_it_was_and_the_screen_says_why() {
    let client = client();
    let link = "mv $FILE $FILE.real; ln -s $FILE.real $FILE";
    for (prepare, said) in [
        (link, "not a regular file"),
        ("rm $FILE; mkfifo $FILE", "not a regular file"),
        (
            "head -c 10000000 /dev/zero > $FILE",
            "the file is 10,000,000 bytes long",
        ),
        ("printf '\\377' > $FILE", "not UTF-8"),
        ("chmod 400 $FILE", "read-only"),
    ] {
        let line = format!(
            "{prepare}; ls -li $FILE > before; $PROGRAM compose $FILE; echo status $?; ls -li $FILE | cmp - before && rm $FILE; echo > $FILE"
        );
        let Some((_, end)) = composed(&client, DRAFTS[0], "draft", &line, &[(said, " ")]) else {
            return;
        };
        assert!(end.ends_with("status 0\nstatus 0\n"), "{prepare}: {end:?}");
    }
    // Deleted, or changed by another program, while the picker is open.
    for (change, said) in [
        (None, "the draft cannot be written"),
        (Some("newer"), "another program has changed the draft"),
    ] {
        let path = client.path(DRAFTS[3]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "draft").unwrap();
        let Some(mut typing) = Typing::started(
            &client,
            80,
            &format!("$PROGRAM compose '{}'", path.display()),
        ) else {
            return;
        };
        typing.until("review");
        match change {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        typing.keys("rev\r");
        typing.until(said);
        typing.keys(" ");
        typing.end();
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), change);
    }
}

#[test]
fn another_file_than_a_draft_is_opened_in_the_editor_at_once() {
    let client = client()
        .variable("EDITOR", "prompt-expander compose")
        .variable("VISUAL", "prompt-expander compose");
    let line = "$PROGRAM compose --then 'sh -c '\\''printf edited > $1; exit 3'\\'' -' $FILE";
    let Some((now, end)) = composed(&client, "COMMIT_EDITMSG", "commit", line, &[]) else {
        return;
    };
    assert!(
        now == "edited" && end.ends_with("status 3\n") && !end.contains('\x1b'),
        "{now} {end:?}"
    );
    // Neither `compose` in EDITOR nor one that is missing loops.
    let client = client.variable("EDITOR", "X=1 prompt-expander compose");
    client.put("vi", "#!/bin/sh\nprintf vi > $1\n");
    let line = "chmod +x vi; PATH=.:$PATH $PROGRAM compose $FILE";
    let Some((now, _)) = composed(&client, "COMMIT_EDITMSG", "commit", line, &[]) else {
        return;
    };
    assert_eq!(now, "vi");
    // An unusable `--then` is ignored.
    let client = client.variable("EDITOR", "./vi");
    for then in ["", "prompt-expander compose"] {
        let line = format!("$PROGRAM compose --then '{then}' $FILE");
        let Some((now, _)) = composed(&client, "COMMIT_EDITMSG", "commit", &line, &[]) else {
            return;
        };
        assert_eq!(now, "vi", "{then}");
    }
}
