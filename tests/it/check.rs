//! `check`: one file of every kind of damage, as a golden file; the exit status; JSON.

use crate::client::{Client, golden};
use serde_json::Value;

/// A directory with every kind of damage that can be written on any system.
fn damaged() -> Client {
    let mut bomb = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..=8 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", ")));
    }
    let client = Client::new();
    let files: &[(&str, &[u8])] = &[
        ("alias-bomb.md", &[bomb.as_bytes(), b"---\nB\n"].concat()),
        ("anchor.md", b"---\ndescription: &co is nice\n---\nB {{input}}\n"),
        ("arguments-not-a-list.md", b"---\narguments: topic scope\n---\n{{topic}} {{scope}}\n"),
        ("argument-nameless.md", b"---\narguments:\n  - description: which one?\n---\n{{input}}\n"),
        ("argument-twice.md", b"---\narguments:\n  - name: a\n  - name: a\n---\n{{a}}\n"),
        ("argument-unused.md", b"---\narguments: [topic]\n---\nOn {{topics}}\n"),
        ("brackets.md", &[b"---\ndescription: ", "[".repeat(20_000).as_bytes(), b"\n---\nB {{input}}\n"].concat()),
        ("choices-no-list.md", b"---\narguments:\n  - name: style\n    choices: short, long\n---\n{{style}}\n"),
        ("colon.md", b"---\ndescription: Review: the code\n---\nB {{input}}\n"),
        ("comment.md", b"---\ndescription: Fix issue #12\n---\nB {{input}}\n"),
        ("control.md", b"---\ndescription: a\0b\n---\nB {{input}}\n"),
        ("empty.md", b""),
        ("fine.md", b"---\ntitle: Fine\ndescription: Nothing is wrong here\n---\nB {{input}}\n"),
        ("foreign-placeholder.md", b"Do $ARGUMENTS\n"),
        ("hint.md", b"---\nargument-hint: [file] [options]\ndescription: D\n---\nB {{input}}\n"),
        ("key-misspelled.md", b"---\ndesciption: D\n---\nB {{input}}\n"),
        ("key-twice.md", b"---\ndescription: one\ndescription: two\n---\nB {{input}}\n"),
        ("late-frontmatter.md", b"\n\n---\ndescription: D\n---\nB {{input}}\n"),
        ("list-for-text.md", b"---\ndescription: [draft]\n---\nB {{input}}\n"),
        ("long.md", &[b"{{input}}\n", "word ".repeat(4000).as_bytes()].concat()),
        ("no-key.md", b"---\nYou are careful.\n---\nB {{input}}\n"),
        ("placeholder.md", b"---\ndescription: D\n---\n\nFirst line.\nOn {{inptu}}, {{input} and {{input}}\n"),
        ("quote-open.md", b"---\ndescription: \"never closed\n---\nB {{input}}\n"),
        ("quote-text-after.md", b"---\ndescription: \"Quoted\" and more\n---\nB {{input}}\n"),
        ("required.md", b"---\narguments:\n  - name: a\n    required: perhaps\n---\n{{a}}\n"),
        ("stray-line.md", b"---\ndescription: D\nno key here\n---\nB {{input}}\n"),
        ("tab.md", b"---\ndescription:\tTabbed\n---\nB {{input}}\n"),
        ("tags-comment.md", b"---\ntags: #git\ndescription: D\n---\nB {{input}}\n"),
        ("tag.md", b"---\ndescription: !important note\n---\nB {{input}}\n"),
        ("title with spaces.md", b"B {{input}}\n"),
        ("undeclared.md", b"---\narguments: [a]\n---\n{{a}} by {{criteria}}, not `{{code}}`\n"),
        ("unclosed.md", b"---\ndescription: D\ntitle: T\n\nBody\n"),
        ("utf16.md", b"\xff\xfeB\0\n\0"),
        ("utf8-broken.md", b"---\ndescription: D\n---\nna\xefve\n"),
    ];
    for (file, bytes) in files {
        client.write(file, bytes);
    }
    let large = std::fs::File::create(client.prompts().join("too-large.md")).unwrap();
    large.set_len(64 * 1024 * 1024).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("nowhere.md", client.prompts().join("link-to-nowhere.md")).unwrap();
        symlink(".", client.prompts().join("link-to-itself")).unwrap();
        crate::client::make_fifo(&client.prompts().join("fifo.md"));
    }
    client
}

#[cfg(target_os = "linux")]
#[test]
fn every_kind_of_damage_has_its_position_reason_and_fix() {
    let client = damaged();
    client.write("twice.md", "B {{input}}");
    client.write("twice.MD", "B {{input}}");
    let ran = client.run(["check"], "");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let prompts = std::fs::canonicalize(client.prompts()).unwrap();
    golden("check/damaged.txt", &ran.stdout.replace(prompts.to_str().unwrap(), "prompts"));
}

#[test]
fn check_json_has_the_same_findings() {
    let client = damaged();
    let people = client.run(["check"], "");
    let ran = client.run(["check", "--json"], "");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), people.stdout.matches("\n    fix: ").count());
    for problem in problems {
        let position = match problem.get("line") {
            Some(line) => format!("{}:{line}:{}: ", problem["file"].as_str().unwrap(), problem["column"]),
            None => format!("{}: ", problem["file"].as_str().unwrap()),
        };
        let severity = problem["severity"].as_str().unwrap();
        let line = format!(
            "{position}{severity}: {}\n    fix: {}\n",
            problem["message"].as_str().unwrap(),
            problem["repair"].as_str().unwrap()
        );
        assert!(people.stdout.contains(&line), "{line}");
    }
    let colon = problems.iter().find(|problem| problem["file"].as_str().unwrap().ends_with("colon.md")).unwrap();
    assert_eq!((&colon["line"], &colon["column"]), (&2.into(), &20.into()));
    assert_eq!(colon["repair"], "write `description: \"Review: the code\"`");
}

#[test]
fn check_is_status_0_without_errors_and_1_with() {
    let client = Client::new().prompt("a.md", "A {{input}}");
    client.run(["check"], "").printed("1 file checked: 0 errors, 0 warnings\n");
    client.write("b.md", "B {{inputs}}");
    let warned = client.run(["check"], "");
    assert_eq!(warned.status.code(), Some(0));
    assert!(warned.stdout.ends_with("2 files checked: 0 errors, 1 warning\n"), "{}", warned.stdout);
    client.write("c.md", "---\n");
    assert_eq!(client.run(["check"], "").status.code(), Some(1));
    let missing = Client::new().arguments(["--no-builtin", "--prompts", "nowhere"]).run(["check"], "");
    assert_eq!(missing.status.code(), Some(1));
    assert!(missing.stdout.contains("nowhere: error: the prompts folder does not exist\n    fix: create it"));
}

#[test]
fn check_reads_files_that_another_layer_hides() {
    let client = Client::new().arguments(["--no-builtin", "--prompts", "prompts", "--prompts", "other"]);
    client.write("a.md", "A {{input}}");
    client.write("../other/a.md", "A {{inputs}}");
    let ran = client.run(["check"], "");
    assert!(ran.stdout.contains("a.md:1:3: warning: `{{inputs}}` is not a placeholder"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("2 files checked: 0 errors, 1 warning\n"), "{}", ran.stdout);
}

#[test]
fn the_shipped_prompts_are_without_a_finding() {
    let prompts = concat!(env!("CARGO_MANIFEST_DIR"), "/prompts");
    let client = Client::new().arguments(["--prompts", prompts]);
    client.run(["check"], "").printed("12 files checked: 0 errors, 0 warnings\n");
}

#[test]
fn check_is_about_the_user_s_files_only() {
    Client::new().arguments([]).run(["check"], "").printed("0 files checked: 0 errors, 0 warnings\n");
}

#[test]
fn nothing_that_check_finds_takes_the_other_prompts_down() {
    let mut client = damaged();
    client.expand("fine", "x").text("B x");
    client.expand("colon", "x").text("B x");
    let list = client.list();
    assert!(list["prompts"].as_array().unwrap().len() >= 25);
    assert!(list["problems"].as_array().unwrap().len() >= 5);
}
