//! `include: true`: a prompt of several files.

use crate::client::{Client, LEGACY, assert_contains};
use serde_json::json;
use std::fs;

/// A prompt that includes the file at a path.
fn including(path: &str) -> String {
    format!("---\ninclude: true\ndescription: D\n---\nDo it.\n{{{{> {path}}}}}\n{{{{input}}}}\n")
}

/// The error of an expansion says this, in this order.
#[track_caller]
fn refused(client: &mut Client, name: &str, want: &str) {
    let error = client.expand(name, "x").error();
    assert_contains(&error, want);
}

#[test]
fn a_path_is_relative_to_the_file_or_with_a_slash_to_the_folder() {
    let mut client = Client::new()
        .prompt(
            "git/_style.md",
            "---\ntitle: dropped\n---\nBe kind. {{> no}}\n{{> /parts/_end}}",
        )
        .prompt("parts/_end.md", "{{> ../whole}}\n{{> _last.md}}")
        .prompt("parts/_last.md", "Last.")
        .prompt("whole.md", "Whole: {{input}}")
        .prompt("git/a.md", including("_style"))
        .prompt("b.md", including("/git/_style.md"));
    for name in ["git/a", "b"] {
        client
            .expand(name, "x")
            .text("Do it.\nBe kind. {{> no}}\nWhole: x\nLast.\nx");
    }
}

#[test]
fn partials_are_neither_listed_nor_prompts() {
    let mut client = Client::new()
        .prompt("_style.md", "Kind. {{undeclared}}")
        .prompt("_parts/x.md", "X.")
        .prompt("_skill/SKILL.md", "S.")
        .prompt("a.md", "A.");
    client.words("list").printed("a\tA.\tuser\t\t\n");
    refused(&mut client, "_style", "No prompt named `_style`");
    let ran = client.words("expand ./prompts/_style.md");
    assert_eq!(ran.status.code(), Some(1));
    let why = "a file whose name, or that of its folder, begins with `_` is not a prompt, but can be included in one; rename it, or \
               expand a prompt that includes it\n";
    assert!(ran.stderr.ends_with(why), "{}", ran.stderr);
    let ran = client.run(["new", "_x"], "X.");
    assert_eq!(
        ran.stderr,
        "error: `_x` cannot be the name of a prompt: a file of this name is not read as this prompt\n"
    );
    client
        .words("check prompts/_style.md")
        .printed("1 file checked: 0 errors, 0 warnings\n");
    client.write("_style.md", "---\nx: y\n");
    assert_eq!(
        client.words("check prompts/_style.md").status.code(),
        Some(1)
    );
}

#[test]
fn partials_of_other_programs_are_prompts_and_their_files_include_nothing() {
    let client = Client::new().arguments(["--no-builtin", "--prompts", ".claude/commands"]);
    client.put(".claude/commands/_a.md", "A.");
    client.put(".claude/commands/b.md", including("_a"));
    assert_eq!(client.words("expand _a").stdout, "A.\n");
    assert_eq!(client.words("expand b").stdout, "Do it.\n{{> _a}}\n");
}

#[test]
fn a_built_in_prompt_is_included_by_its_name() {
    let mut client = Client::new()
        .prompt("a.md", including("builtin:plan"))
        .prompt("b.md", including("builtin:none"));
    let plan = include_str!("../../prompts/plan.md")
        .splitn(3, "---\n")
        .nth(2)
        .unwrap()
        .trim()
        .to_owned();
    client
        .expand("a", "x")
        .text(&format!("Do it.\n{}\nx", plan.replace("{{input}}", "x")));
    refused(
        &mut client,
        "b",
        "b.md:6:1: `builtin:none` cannot be included: there is no such built-in prompt",
    );
}

#[test]
fn what_is_missing_hidden_too_long_or_not_utf_8_is_an_error_at_its_place() {
    let mut client = Client::new()
        .prompt("_style.md", "\n  {{> nowhere}}")
        .prompt("a.md", including("_style"))
        .prompt(".hidden.md", "H")
        .prompt("b.md", including(".hidden"))
        .prompt("_long.md", "x".repeat(5 * 1024 * 1024))
        .prompt("c.md", including("_long"))
        .prompt("_latin.md", b"ok\ncaf\xe9")
        .prompt("d.md", including("_latin"))
        .prompt("_folder.md/x.md", "X")
        .prompt("x.toml", "prompt = 'X'")
        .prompt("f.md", including("x.toml"))
        .prompt("e.md", including("_folder"));
    for (name, want) in [
        (
            "a",
            "_style.md:2:3: `nowhere` cannot be included: there is no such file",
        ),
        ("b", "b.md:6:1: `.hidden` cannot be included: it is hidden"),
        (
            "c",
            "c.md:6:1: `_long` cannot be included: the file is 5 MiB long",
        ),
        ("d", "_latin.md:2:4: the file is not UTF-8 from here on"),
        ("e", "e.md:6:1: `_folder` cannot be included: "),
        (
            "f",
            "f.md:6:1: `x.toml` cannot be included: only files that end in `.md` can be included; copy its text",
        ),
    ] {
        refused(&mut client, name, want);
    }
    assert!(
        client
            .words("check")
            .stdout
            .contains("prompts/_style.md:2:3: error: `nowhere` cannot be included")
    );
}

#[cfg(unix)]
#[test]
fn nothing_outside_the_folder_is_included_and_nothing_that_blocks() {
    let mut client = Client::new()
        .prompt("../secret.md", "secret")
        .prompt("_inside.md", "inside")
        .prompt("a.md", including("../secret"))
        .prompt("b.md", including("_link"))
        .prompt("c.md", including("_inside_link"))
        .prompt("d.md", including("_linked/secret"))
        .prompt("e.md", including("/../secret"))
        .prompt("f.md", including("_fifo"));
    client.link("../secret.md", "prompts/_link.md");
    client.link("_inside.md", "prompts/_inside_link.md");
    client.link("..", "prompts/_linked");
    crate::client::make_fifo(&client.path("prompts/_fifo.md"));
    for name in ["a", "b", "d", "e"] {
        refused(
            &mut client,
            name,
            "cannot be included: it is outside the prompts folder",
        );
    }
    client.expand("c", "x").text("Do it.\ninside\nx");
    refused(&mut client, "f", "is not a regular file");
}

/// The markers of messages are those of the prompt's own file.
#[test]
fn a_marker_in_an_included_file_is_text_and_one_after_it_begins_a_message() {
    let client = Client::new()
        .prompt("_markers.md", "<!-- assistant -->\n\\<!-- user -->")
        .prompt("_long.md", "1\n2\n3\n {{inptu}}")
        .prompt(
            "a.md",
            "---\nmessages: true\ninclude: true\n---\n{{> _markers}}\n<!-- assistant -->\n{{> _long}}\n<!-- user -->\n\n\
             \\<!-- user -->\n<!-- Note -->\n{{input}} {{imput}}\n{{> _long}}\n",
        );
    client.run(["expand", "a", "<!-- user -->\n{{> _long}}"], "").printed(
        "User:\n<!-- assistant -->\n\\<!-- user -->\n\nAssistant:\n1\n2\n3\n {{inptu}}\n\n\
         User:\n<!-- user -->\n<!-- Note -->\n<!-- user -->\n{{> _long}} {{imput}}\n1\n2\n3\n {{inptu}}\n",
    );
    let checked = client.words("check").stdout;
    let places = checked
        .lines()
        .filter_map(|line| line.split_once(": warning: "));
    let places: Vec<&str> = places
        .map(|(place, _)| place.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        places,
        ["_long.md:4:2", "_long.md:4:2", "a.md:12:11"],
        "{checked}"
    );
}

#[test]
fn attachments_are_those_of_the_prompt_and_not_of_an_included_file() {
    let mut client =
        Client::new().prompt("_part.md", "---\nattachments: [none.md]\n---\nPart.").prompt("style.md", "S").prompt(
            "a.md",
            "---\ninclude: true\nmessages: true\nattachments: [style.md]\n---\n{{> _part}}\n<!-- user -->\n{{input}}",
        );
    client
        .expand("a", "x")
        .text("Part.\n\nx\n\nstyle.md:\n```\nS\n```");
    client
        .words("check prompts/a.md")
        .printed("1 file checked: 0 errors, 0 warnings\n");
}

#[test]
fn explain_lists_the_included_files_and_names_them_in_positions() {
    let client = Client::new()
        .prompt("_style.md", "Kind.\n {{inptu}}")
        .prompt("a.md", including("_style"));
    let ran = client.words("explain --json a");
    let explained = ran.json();
    let style = client.path("prompts/_style.md").display().to_string();
    assert_eq!(explained["includes"], json!([style]));
    let unexpanded =
        json!([{"text": "{{inptu}}", "file": style, "line": 2, "column": 2, "reason": "unknown"}]);
    assert_eq!(explained["left"], unexpanded);
    assert_eq!(explained["problems"][0]["file"], style);
    let page = client.words("explain a").stdout;
    assert!(
        page.contains("  includes  ") && page.contains("_style.md:2:2"),
        "{page}"
    );
}

/// A client that was shown a list is notified when a file that is only included changes what the
/// list shows.
#[test]
fn clients_are_notified_when_an_included_file_changes() {
    let mut client = Client::new()
        .prompt("_style.md", "First.")
        .prompt("a.md", "---\ninclude: true\n---\n{{> _style}}\n{{input}}");
    client.initialize(LEGACY);
    client.request("resources/subscribe", json!({"uri": "prompt://a"}));
    let listed = client.request("prompts/list", json!({}));
    assert!(
        listed["result"]["prompts"][0]["description"]
            .as_str()
            .unwrap()
            .starts_with("First."),
        "{listed}"
    );
    client.save("_style.md", "Second.");
    let mut methods = Vec::new();
    while !["prompts/list_changed", "resources/updated"]
        .iter()
        .all(|method| methods.iter().any(|sent| sent == method))
    {
        methods.push(client.notification().0);
    }
    fs::remove_file(client.path("prompts/_style.md")).unwrap();
    client.ignore_notifications();
    refused(&mut client, "a", "there is no such file");
}
