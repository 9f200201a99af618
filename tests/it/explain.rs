//! `explain`: where an expansion comes from, what each argument gets, and whether a client shows
//! all of it.

use crate::client::{Client, assert_contains};
use crate::readme::page;
use serde_json::{Value, json};
use std::fs;

const COMPARE: &str = "---\ndescription: Compare options\ntags: [decision]\narguments:\n  - {name: options, required: true}\n  \
                       - {name: criteria, default: cost}\n  - notes\n---\n\
                       Compare {{options}} by {{criteria}}: {{notes}} {{ options }}\n\
                       \\{{options}} {{ .Values.x }} {{optoins}} ${{ github.ref }}\n";

#[track_caller]
fn explained(client: &Client, arguments: &[&str], stdin: &str) -> Value {
    let ran = client.run([&["explain", "--json"], arguments].concat(), stdin);
    assert_eq!(
        (ran.status.code(), ran.stderr.as_str()),
        (Some(0), ""),
        "{arguments:?}"
    );
    ran.json()
}

#[test]
fn it_shows_the_file_the_arguments_the_placeholders_and_the_length() {
    let client = Client::new().prompt("git/compare.md", COMPARE);
    let file = std::path::absolute(client.prompts())
        .unwrap()
        .join("git/compare.md");
    let ran = client.run(
        [
            "explain",
            ":git:compare",
            "Rust or Go",
            "criteria=speed & size",
        ],
        "",
    );
    let text = "Compare Rust or Go by speed & size:  Rust or Go\n{{options}} {{ .Values.x }} {{optoins}} ${{ github.ref }}";
    client
        .run(
            [
                "expand",
                "git/compare",
                "Rust or Go",
                "criteria=speed & size",
            ],
            "",
        )
        .printed(&format!("{text}\n"));
    let length = text.len();
    let want = format!(
        ":git/compare
  about  Compare options
  layer  user
  file   {}
  tags   #decision
  usage  :git/compare options=… [criteria=…] [notes=…]

Arguments
  options   Rust or Go (the rest of the input)
  criteria  speed & size (by name)
  notes     (not given: empty)

Placeholders
  filled      {{{{options}}}} (2 times), {{{{criteria}}}}
  empty       {{{{notes}}}}
  unexpanded  {{{{options}}}} (10:2), {{{{ .Values.x }}}} (10:14), {{{{ github.ref }}}} (10:43)
  unknown     {{{{optoins}}}} (10:30)

Expansion
  length  {length} characters

Warnings
  10:30  `{{{{optoins}}}}` is not a placeholder, and is left as it is; write `{{{{options}}}}` if it is meant to be replaced
",
        file.display(),
    );
    ran.printed(&want);
}

#[test]
fn the_text_that_follows_the_body_is_shown_whatever_the_arguments_are_called() {
    let client = Client::new().prompt(
        "p.md",
        "---\narguments: [b, {name: input, default: d}]\n---\nBody {{topic}}\n",
    );
    let ran = client.run(["expand", "--arg", "b=x", "p"], "all of it");
    let unused = "the value of `b` is not in the expansion, because `p` has no placeholder `{{b}}`; add it to the file, or leave \
                  out the value";
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr),
        (
            "Body {{topic}}\n\nall of it\n",
            format!("warning: {unused}\n")
        )
    );
    let explained = explained(&client, &["--arg", "b=x", "p"], "all of it");
    assert_eq!(explained["warnings"], json!([unused]));
    assert_eq!(
        (&explained["input"], &explained["arguments"][1]["value"]),
        (&json!("all of it"), &json!("d"))
    );
    let shown = client
        .run(["explain", "--arg", "b=x", "p"], "all of it")
        .stdout;
    assert_contains(
        &shown,
        "\n  input  d (its default)\n  input  all of it (as given)\n",
    );
    assert_contains(
        &shown,
        "\n  filled   none: the input follows the body, after an empty line\n  unknown  {{topic}} ",
    );
}

#[test]
fn each_argument_shows_where_its_value_comes_from() {
    let client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("single.md", "---\narguments: [x]\n---\n{{x}}");
    let client = client.prompt("optional.md", "---\narguments: [x, y]\n---\n{{x}}{{y}}");
    let of = |arguments: &[&str], stdin: &str| {
        let explained = explained(&client, arguments, stdin);
        let arguments = explained["arguments"].as_array().unwrap().iter();
        let arguments = arguments.map(|given| {
            format!(
                "{}={}",
                given["from"].as_str().unwrap(),
                given["value"].as_str().unwrap()
            )
        });
        arguments.collect::<Vec<_>>().join(", ")
    };
    for (arguments, stdin, want) in [
        (
            &["compare", "a", "b", "c", "d"][..],
            "",
            "rest=a b c d, default=cost, nothing=",
        ),
        (
            &["compare", "-"],
            "\"Rust or Go\" notes=x speed\n",
            "rest=\"Rust or Go\" speed\n, default=cost, pair=x",
        ),
        (&["optional", "a", "b", "c"], "", "position=a, rest=b c"),
        (
            &["--arg", "options=x", "--arg", "notes=", "compare"],
            "",
            "named=x, default=cost, named=",
        ),
        (&["compare"], "", "missing=, default=cost, nothing="),
        (&["single", "all", "of it"], "", "rest=all of it"),
        (&["single", "x=y", "z"], "", "pair=y z"),
    ] {
        assert_eq!(of(arguments, stdin), want, "{arguments:?} {stdin:?}");
    }
}

#[test]
fn it_shows_which_layer_wins_and_what_it_overrides() {
    let client = Client::new()
        .prompt("research.md", "Mine")
        .working_in("repo/src");
    let prompts = client.prompts().to_str().unwrap().to_owned();
    let repo = fs::canonicalize(client.path("repo")).unwrap();
    fs::create_dir_all(repo.join(".prompts")).unwrap();
    fs::create_dir(repo.join(".git")).unwrap();
    fs::write(repo.join(".prompts/research.md"), "Ours").unwrap();
    let (project, user) = (
        repo.join(".prompts/research.md"),
        client.path("prompts/research.md"),
    );
    let client = client.arguments(["--project", "--prompts", &prompts]);
    let all = explained(&client, &["research", "x"], "");
    assert_eq!(
        (&all["layer"], &all["source"]),
        (&json!("project"), &json!(project))
    );
    let builtin = json!({"layer": "built-in", "source": "built-in"});
    assert_eq!(
        all["shadows"],
        json!([{"layer": "user", "source": user}, builtin])
    );
    let shown = client.words("explain research x").stdout;
    let want = format!(
        "  layer      project\n  file       {}\n  overrides  {}\n  overrides  the built-in prompt\n",
        project.display(),
        user.display()
    );
    assert_contains(&shown, &want);
}

#[test]
fn a_prompt_that_cannot_be_expanded_is_still_explained() {
    let client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("two.md", "---\narguments: [a]\n---\n{{a}}");
    let ran = client.words("explain compare");
    assert_eq!(ran.status.code(), Some(0));
    let why = "it needs a value for `options`; write `:compare options=… [criteria=…] [notes=…]`";
    assert!(
        ran.stdout.contains("\n  options   (missing)\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains(&format!("\nExpansion\n  error  {why}\n")),
        "{}",
        ran.stdout
    );
    let explained = explained(&client, &["compare"], "");
    assert_eq!(
        (&explained["error"], explained.get("expansion")),
        (&json!(why), None)
    );
}

#[test]
fn a_prompt_without_placeholders_shows_where_the_text_goes() {
    let client = Client::new()
        .prompt("p.md", "Review this.")
        .prompt("empty.md", "[{{input}}]");
    let shown = client.run(["explain", "p", "a\u{1b}[31m\nb"], "").stdout;
    assert_contains(
        &shown,
        "\nArguments\n  input  a\\u{1b}[31m\\nb (as given)\n",
    );
    assert_contains(
        &shown,
        "\n  filled  none: the input follows the body, after an empty line\n",
    );
    let shown = client.words("explain empty").stdout;
    assert_contains(
        &shown,
        "\n  input  (empty, as given)\n\nPlaceholders\n  empty  {{input}}\n",
    );
    let long = "x".repeat(1234);
    let shown = client.run(["explain", "p", &long], "").stdout;
    assert_contains(
        &shown,
        &format!(
            "  input  {}… (as given, 1,234 characters in all)\n",
            &long[..200]
        ),
    );
    assert_eq!(
        explained(&client, &["p", &long], "")["input"],
        long,
        "a script gets all of it"
    );
    let braces = client
        .prompt("many.md", "{{ .x }} ".repeat(1200))
        .prompt("long.md", format!("{{{{{long}}}}}"));
    braces
        .words("explain many x")
        .says(0, &["{{ .x }} (1:82), and 1,190 more\n"]);
    braces
        .words("explain long x")
        .says(0, &[&format!("  unknown  {{{{{}… (1:1)\n", &long[..198])]);
}

#[test]
fn the_limits_are_those_of_the_pages_of_the_clients() {
    let client = Client::new().prompt("p.md", "{{input}}");
    let limits = explained(&client, &["p", "x"], "")["expansion"]["limits"].take();
    let limit = |client: &str, way: &str| {
        let limits = limits.as_array().unwrap().iter();
        let found = limits
            .clone()
            .find(|limit| limit["client"] == client && limit["way"] == way)
            .unwrap();
        (
            found["limit"].as_u64().unwrap(),
            found["unit"].as_str().unwrap().to_owned(),
        )
    };
    let thousands = |number: u64| match number / 1000 {
        millions @ 1000.. => format!("{},{:03},000", millions / 1000, millions % 1000),
        thousands => format!("{thousands},{:03}", number % 1000),
    };
    for (name, file) in [
        ("codex", "codex"),
        ("claude-code", "claude-code"),
        ("gemini", "gemini-cli"),
        ("qwen", "qwen-code"),
        ("copilot", "copilot-cli"),
        ("opencode", "opencode"),
        ("pi", "pi"),
    ] {
        let page = page(&format!("docs/clients/{file}.md"));
        let (tool, unit) = limit(name, "tool");
        let unit = unit.strip_suffix(" of the result").unwrap();
        assert!(
            page.contains(&format!("in parts of at most {} {unit}", thousands(tool))),
            "{name}"
        );
        if name != "opencode" {
            let (hook, unit) = limit(name, "hook");
            assert!(
                page.contains(&format!("{} {unit}", thousands(hook))),
                "{name}"
            );
        }
    }
}

#[test]
fn an_expansion_that_an_agent_does_not_get_whole_gets_a_warning() {
    let client = Client::new().prompt("p.md", "{{input}}");
    let whole = |characters: usize| {
        let limits =
            explained(&client, &["p", "-"], &"x".repeat(characters))["expansion"]["limits"].take();
        let cut = limits
            .as_array()
            .unwrap()
            .iter()
            .filter(|limit| limit["is_whole"] == false)
            .cloned();
        let cut = cut.map(|limit| {
            format!(
                "{} {}",
                limit["client"].as_str().unwrap(),
                limit["way"].as_str().unwrap()
            )
        });
        cut.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(whole(9_000), "");
    assert_eq!(whole(16_985), "claude-code hook");
    assert_eq!(whole(16_986), "codex tool, claude-code hook");
    assert_eq!(whole(148_988).split(", ").count(), 8);
    let shown = client.run(["explain", "p"], "x".repeat(9_000)).stdout;
    assert_contains(&shown, "\nExpansion\n  length  9,000 characters\n");
    let shown = client.run(["explain", "p", "-"], "x".repeat(18_000)).stdout;
    let said = "  codex tool        too long, 18,015 of 17,000 bytes of the result: the model gets it in parts\n";
    assert_contains(&shown, said);
    // The hook passes on to the tool exactly what `explain` calls too long for it.
    for characters in [9_630, 9_631] {
        let prompt = format!(":p {}", "x".repeat(characters));
        let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}).to_string();
        let ran = client.run(["hook", "claude-code"], &event);
        let is_whole = !ran.stdout.contains("longer than this agent accepts");
        assert_eq!(
            is_whole,
            !whole(characters).contains("claude-code hook"),
            "{characters}"
        );
        assert_eq!(is_whole, characters <= 9_630);
    }
}

#[test]
fn an_unknown_name_or_a_broken_file_gets_the_same_error_as_from_expand() {
    let client = Client::new()
        .prompt("research.md", "R")
        .prompt("broken.md", "---\n")
        .prompt("two.md", COMPARE);
    for (line, want) in [
        (
            "reserch x",
            "no prompt named `reserch`; did you mean `research`? (`prompt-expander list` shows all prompts)\n",
        ),
        (
            "10:30",
            "error: `10:30` looks like a time or a number, not like a command (`prompt-expander list` shows",
        ),
        ("broken x", "broken.md:1:1: the frontmatter"),
        ("--arg optoins=x two", "`optoins`"),
        ("--arg options=x two lost words", "`lost words`"),
    ] {
        let [explained, expanded] =
            ["explain", "expand"].map(|command| client.words(&format!("{command} {line}")));
        explained.says(1, &[want]);
        assert_eq!(
            (explained.stdout.as_str(), &explained.stderr),
            ("", &expanded.stderr),
            "{line}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn it_can_be_read_on_a_terminal_of_any_width() {
    let client = Client::new().prompt("compare.md", COMPARE);
    for columns in [12, 44, 80] {
        let shown = crate::terminal::ran(
            &client,
            columns,
            "explain compare Rust",
            &[("NO_COLOR", "1")],
            "",
        );
        let Some(shown) = shown else { return };
        assert_contains(&shown, "~/prompts/compare.md");
        let too_long =
            |line: &&str| line.chars().count() > columns && line.split_whitespace().count() > 1;
        assert_eq!(shown.lines().find(too_long), None, "{columns} columns");
        let bare: String = shown.split_whitespace().collect();
        for text in [
            "{{options}}(2times),{{criteria}}",
            "Rust(therestoftheinput)",
            "ifitismeanttobereplaced",
        ] {
            assert!(bare.contains(text), "{shown}");
        }
    }
}

#[test]
fn a_placeholder_is_shown_as_it_is_written() {
    let client = Client::new().prompt("fix.md", "Fix $ARGUMENTS, then test $ARGUMENTS.");
    let ran = client.words("explain fix 12");
    assert!(
        ran.stdout.contains("\n  filled  $ARGUMENTS (2 times)\n"),
        "{}",
        ran.stdout
    );
    let explained = explained(&client, &["fix", "12"], "");
    assert_eq!(
        explained["placeholders"],
        json!([{"name": "input", "count": 2, "is_empty": false}])
    );
    assert_eq!(explained["left"], json!([]));
}
