//! `list`, `expand`, options and help, and the program without a command.

use crate::client::{Client, assert_contains, golden};
use prompt_expander::prompt::Revision;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

#[test]
fn list_is_one_line_a_prompt_with_a_tab_for_scripts_and_problems_are_on_standard_error() {
    let client = Client::new()
        .prompt("b.md", "---\ndescription: |\n  two\n  lines\n---\nB")
        .prompt(
            "git/commit.md",
            "---\narguments: [style]\ntags: [vcs, daily work]\n---\nCommit *this*.",
        )
        .prompt("c.md", "")
        .prompt("broken.md", "---\n");
    let ran = client.words("list");
    let want = "b\ttwo lines\tuser\t\t\nc\t\tuser\t\t\ngit/commit\tCommit this.\tuser\tvcs,daily work\t:git/commit [style=…]\n";
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(0), want));
    let warning = &ran.stderr;
    assert!(
        warning.starts_with("warning: ") && warning.contains("broken.md:1:1: the frontmatter"),
        "{warning}"
    );
}

#[test]
fn list_json_is_one_object_with_all_fields() {
    let client = Client::new()
        .prompt("a.md", "# A title\n\nText.")
        .prompt("broken.md", "---\n");
    let b = "---\ntags: x\narguments: [{name: c, description: See, required: true}, {name: d, default: 1, choices: [1, 2]}]\n\
             ---\nB";
    let client = client.prompt("b.md", b);
    let ran = client.words("list --json");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
    let prompts = std::path::absolute(client.prompts()).unwrap();
    let list = ran.json();
    assert_eq!(
        list["prompts"],
        json!([
            {"name": "a", "title": "A title", "description": "Text.", "layer": "user", "source": prompts.join("a.md"), "tags": [], "revision": revision_of("# A title\n\nText."), "size": 16, "takes_input": true},
            {
                "name": "b", "description": "B", "layer": "user", "source": prompts.join("b.md"), "tags": ["x"],
                "usage": ":b c=… [d=…]",
                "arguments": [
                    {"name": "c", "description": "See", "required": true},
                    {"name": "d", "required": false, "default": "1", "choices": ["1", "2"]},
                ],
                "revision": revision_of(b), "size": b.len(), "takes_input": true,
            },
        ])
    );
    assert_eq!(
        list["problems"][0]["file"],
        json!(prompts.join("broken.md"))
    );
    assert_eq!(
        (
            &list["problems"][0]["line"],
            &list["problems"][0]["severity"]
        ),
        (&json!(1), &json!("error"))
    );

    let shipped = Client::new().arguments([]).words("list --json");
    let list = shipped.json();
    assert!(list.get("problems").is_none());
    assert_eq!(
        (&list["prompts"][0]["source"], &list["prompts"][0]["layer"]),
        (&json!("built-in"), &json!("built-in"))
    );
}

fn revision_of(text: &str) -> String {
    Revision::of_contents(text.as_bytes()).to_string()
}

#[test]
fn list_selects_by_query_and_tag_best_match_first() {
    let client = Client::new()
        .prompt(
            "commit.md",
            "---\ndescription: Look at git\ntags: [vcs]\n---\n",
        )
        .prompt(
            "git/push.md",
            "---\ndescription: Push it\ntags: ['#VCS', x]\n---\n",
        )
        .prompt("git-broken.md", "---\n");
    for (arguments, want, warnings) in [
        ("git", "git/push commit", 1), // of the broken file
        ("pus it", "git/push", 0),
        ("--tag vcs", "commit git/push", 1),
        ("--tag #vcs look", "commit", 0),
    ] {
        let ran = client.words(&format!("list {arguments}"));
        let names: Vec<&str> = ran
            .stdout
            .lines()
            .map(|line| line.split('\t').next().unwrap())
            .collect();
        assert_eq!(
            (names.join(" ").as_str(), ran.stderr.lines().count()),
            (want, warnings),
            "{arguments}"
        );
    }
    for (arguments, whose) in [("zzz", ""), ("zzz --mine", " of your own")] {
        let warning =
            format!("warning: no prompt{whose} matches; `prompt-expander list` shows all\n");
        client.words(&format!("list {arguments}")).said(&warning);
    }
    client
        .words("list zzz --json")
        .printed("{\"prompts\":[]}\n");
    let empty = Client::new();
    let folder = std::path::absolute(empty.prompts()).unwrap();
    let warning = "warning: there are no prompts; `prompt-expander new NAME --edit` makes one in";
    empty
        .words("list")
        .said(&format!("{warning} {}\n", folder.display()));
}

#[test]
fn list_has_the_files_with_long_and_no_built_in_prompts_with_mine() {
    let client = Client::new()
        .arguments(["--prompts", "prompts"])
        .prompt("a.md", "A")
        .prompt("plan.md", "My plan");
    let folder = std::path::absolute(client.prompts()).unwrap();
    client.words("list --mine --long").printed(&format!(
        "a\tA\tuser\t\t\t{}\nplan\tMy plan\tuser\t\t\t{}\n",
        folder.join("a.md").display(),
        folder.join("plan.md").display()
    ));
    let long = client.words("list commit -l").stdout;
    assert!(
        long.starts_with("commit\tWrite a commit message")
            && long.trim_end().ends_with("\tbuilt-in"),
        "{long}"
    );
}

#[test]
fn a_command_that_begins_with_a_colon_is_expanded() {
    let client = Client::new().prompt("git/p.md", "[{{input}}]");
    client.words(":git/p a b").printed("[a b]\n");
    client.words("--no-builtin ：git：p a").printed("[a]\n");
    let unknown = client.words(":git/q");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        unknown
            .stderr
            .contains("no prompt named `:git/q`; did you mean `git/p`?"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn an_unknown_command_is_the_name_of_a_prompt_or_near_a_command_or_near_a_prompt() {
    let client = Client::new()
        .prompt("git/p.md", "[{{input}}]")
        .prompt("lint.md", "Lint");
    let client = client
        .variable("PROMPT_EXPANDER_PROMPTS", "prompts")
        .arguments([]);
    for (arguments, tip) in [
        (
            &["git/p", "a"][..],
            "to expand the prompt `git/p`, write `prompt-expander :git/p a`",
        ),
        (
            &["research", "it's", "x y"],
            "to expand the prompt `research`, write `prompt-expander :research \"it's\" 'x y'`",
        ),
        (&["lits"], "a similar command exists: `list`"),
        (
            &["lintt", "x"],
            "to expand the prompt `lint`, write `prompt-expander :lint x`",
        ),
        (
            &["reserch", "x"],
            "to expand the prompt `research`, write `prompt-expander :research x`",
        ),
        (
            &["--no-builtin", "research"],
            "`prompt-expander list` shows all prompts",
        ),
        (&["xyzzy"], "`prompt-expander list` shows all prompts"),
    ] {
        let ran = client.run(arguments.iter().copied(), "");
        let want = format!(
            "error: unrecognized subcommand '{}'\n\n  tip: {tip}\n",
            arguments
                .iter()
                .find(|word| !word.starts_with('-'))
                .unwrap()
        );
        assert!(
            ran.status.code() == Some(2) && ran.stderr.starts_with(&want),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn with_json_everything_that_goes_wrong_is_one_object_on_standard_error() {
    let client = Client::new().prompt("a.md", "A");
    let messages = messages_of(&client, "explain --json b", 1);
    let error = messages["error"].as_str().unwrap();
    assert!(error.starts_with("no prompt named `b`"), "{error}");

    let messages = messages_of(&client, "list --json --project", 0);
    let warning = messages["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("no project prompts"), "{warning}");
    assert!(messages.get("error").is_none(), "{messages}");

    for invalid in [
        "list --json --lenght",
        "expand --json --arg",
        "token list --json",
        "token list --json=true",
    ] {
        let messages = messages_of(&client, invalid, 2);
        let error = messages["error"].as_str().unwrap();
        assert!(
            !error.contains("Usage") && !error.starts_with("error") && !error.contains('\n'),
            "{error}"
        );
    }
}

/// Runs a command that ends with this status, and returns the one object on standard error.
fn messages_of(client: &Client, line: &str, status: i32) -> Value {
    let ran = client.words(line);
    assert_eq!(ran.status.code(), Some(status), "{line}: {}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{line}: {}", ran.stderr);
    serde_json::from_str(&ran.stderr).unwrap()
}

#[test]
fn the_version_has_the_commit_and_its_date_and_says_how_the_program_was_installed() {
    let client = Client::new().arguments([]);
    let line = client.words("--version").stdout;
    let json = client.words("--version --json").json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    let built = match (json["commit"].as_str(), json["date"].as_str()) {
        (Some(commit), Some(date)) => format!(" ({commit} {date})"),
        _ => String::new(), // built outside a checkout
    };
    let installed = json["installed"].as_str().unwrap();
    assert_eq!(
        line,
        format!(
            "prompt-expander {}{built}\n{installed}\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert_eq!(
        client.words("--no-builtin --json -V").stdout,
        client.words("-V --json").stdout
    );
    assert_eq!(
        client.words("--json").status.code(),
        Some(2),
        "without --version it would do nothing"
    );
}

#[test]
fn a_prompt_with_the_name_of_a_command_works_everywhere() {
    let program = prompt_expander::cli::command();
    let mut names: Vec<&str> = program
        .get_subcommands()
        .map(|command| command.get_name())
        .chain(["help"])
        .collect();
    names.sort_unstable();
    let mut client = names.iter().fold(Client::new(), |client, name| {
        client.prompt(&format!("{name}.md"), "[{{input}}]")
    });
    for &name in &names {
        client.run(["expand", name, "list"], "").printed("[list]\n");
        assert!(
            client
                .run(["explain", name, "list"], "")
                .stdout
                .starts_with(&format!(":{name}\n")),
            "{name}"
        );
        assert!(
            client
                .run(["list", name], "")
                .stdout
                .starts_with(&format!("{name}\t")),
            "{name}"
        );
        client.expand(name, "x").text("[x]");
        let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": format!(":{name} x")})
            .to_string();
        assert!(
            client.run(["hook", "codex"], event).stdout.contains("[x]"),
            "{name}"
        );
    }
    assert_eq!(client.names(), names.join(" "));
}

#[test]
fn json_output_escapes_all_control_characters() {
    let client = Client::new().prompt(
        "a.md",
        "---\ntitle: \"t\\x9b31m\"\ndescription: \"a\\x7fb\"\n---\nB",
    );
    let ran = client.words("list --json");
    assert!(
        !ran.stdout.trim_end().contains(char::is_control),
        "{:?}",
        ran.stdout
    );
    let list = ran.json();
    assert_eq!(
        (
            &list["prompts"][0]["title"],
            &list["prompts"][0]["description"]
        ),
        (&json!("t\u{9b}31m"), &json!("a\u{7f}b"))
    );
}

#[test]
fn expand_keeps_the_words_of_the_shell_and_takes_values_by_name() {
    let compare = "---\narguments: [{name: options, required: true}, {name: criteria, default: cost}]\n---\n\
                   {{options}} by {{criteria}}";
    let both = "---\narguments: [lang]\n---\n{{lang}}: {{input}}";
    let client = Client::new()
        .prompt("compare.md", compare)
        .prompt("both.md", both);
    for (words, want) in [
        (&["compare", "Rust", "or", "Go"][..], "Rust or Go by cost\n"),
        (
            &["--arg", "options=a=b c", "--arg", "criteria= x", "compare"],
            "a=b c by  x\n",
        ),
        (
            &["--arg", "lang=rust", "both", "two", "words"],
            "rust: two words\n",
        ),
        (
            &["--arg", "lang=rust", "--arg", "input=x", "both"],
            "rust: x\n",
        ),
    ] {
        client.run([&["expand"], words].concat(), "").printed(want);
    }
    for (line, status, want) in [
        (
            "compare",
            1,
            "it needs a value for `options`; write `:compare options=… [criteria=…]`\n",
        ),
        (
            "--arg opt=x compare",
            1,
            "it has no argument `opt`; it takes `options` and `criteria`\n",
        ),
        (
            "--arg options=x compare two words",
            1,
            "`two words` cannot be combined with values by name for this prompt; pass it",
        ),
        (
            "--arg options=x --arg options=y compare",
            1,
            "error: --arg options=… is given twice\n",
        ),
        (
            "--arg options compare",
            2,
            "it must be NAME=VALUE, such as `criteria=speed`",
        ),
    ] {
        client
            .words(&format!("expand {line}"))
            .says(status, &[want]);
    }
}

#[test]
fn an_input_on_standard_input_has_the_limit_of_an_expansion() {
    let client = Client::new().prompt("p.md", "P");
    let too_long = vec![b'x'; 64 * 1024 * 1024 + 1];
    let error = "error: standard input is longer than 64 MiB, the limit for an expansion\n";
    client.run(["expand", "p", "-"], too_long).failed(1, error);
}

#[test]
fn a_missing_folder_is_reported_on_standard_error() {
    let client = Client::new().arguments(["--prompts", "nowhere"]);
    for line in ["expand research x", "list"] {
        let ran = client.words(line);
        assert!(ran.status.success() && !ran.stdout.is_empty(), "{ran:?}");
        assert_eq!(
            ran.stderr
                .matches("nowhere: the prompts folder does not exist; create it")
                .count(),
            1,
            "{ran:?}"
        );
    }
}

#[test]
fn invalid_arguments_are_status_2_with_a_hint_and_for_the_hook_status_0_and_silent() {
    let client = Client::new().arguments([]);
    for (line, want) in [
        ("nope", "For more information, try '--help'"),
        ("list --nope", "For more information, try '--help'"),
        ("expand", "For more information, try '--help'"),
        (
            "expand --jsn research x",
            "tip: a similar argument exists: '--json'",
        ),
        ("copy -x research", "unexpected argument '-x' found"),
        ("--prompts hook list --bad", "--bad"),
        ("list hook --bad x", "--bad"),
        ("lst hook", "'lst'"),
        ("--bad x hook", "'--bad'"),
        ("--bad --tap hook list", "'--bad'"),
        ("--tap x list", "unexpected argument '--tap' found"),
        ("--prompts x hook --bad", ""),
        ("--bad hook codex --prompts", ""),
        ("--tap x hook codex", ""),
        (
            "--prompts x uninstall codex",
            "unexpected argument '--prompts' found",
        ),
        (
            "--no-builtin man",
            "unexpected argument '--no-builtin' found",
        ),
        (
            "--no-builtin install codex",
            "tip: write `builtin` into config.toml instead",
        ),
    ] {
        let ran = client.words(line);
        let status = if want.is_empty() { 0 } else { 2 };
        assert_eq!(
            (ran.status.code(), ran.stdout.as_str()),
            (Some(status), ""),
            "{line}"
        );
        assert!(
            ran.stderr.contains(want) && ran.stderr.is_empty() == want.is_empty(),
            "{line}: {}",
            ran.stderr
        );
    }
}

#[test]
fn options_may_be_before_and_after_the_command() {
    let client = Client::new().prompt("p.md", "[{{input}}]").arguments([]);
    client
        .words("expand --prompts prompts p x")
        .printed("[x]\n");
    client
        .words("list --no-builtin --prompts prompts")
        .printed("p\t[{{input}}]\tuser\t\t\n");
    client.put("later/q.md", "Q");
    client.put("later/p.md", "hidden");
    let before_and_after = [
        "--prompts",
        "prompts",
        "--no-builtin",
        "list",
        "--prompts",
        "later",
    ];
    client
        .run(before_and_after, "")
        .printed("p\t[{{input}}]\tuser\t\t\nq\tQ\tuser\t\t\n");
}

#[test]
fn help_is_written_for_a_newcomer() {
    let client = Client::new().arguments([]);
    let program = prompt_expander::cli::command();
    let commands = program.get_subcommands().map(|command| {
        let name = command.get_name();
        (format!("help-{name}"), vec![name, "--help"])
    });
    let others = [
        ("help".to_owned(), vec!["--help"]),
        ("help-token-add".to_owned(), vec!["token", "add", "--help"]),
    ];
    for (file, arguments) in commands.chain(others) {
        let ran = client.run(arguments, "");
        assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(0), ""));
        golden(&format!("help/{file}.txt"), &ran.stdout);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_in_writing_the_output_is_reported() {
    let client = Client::new().prompt("p.md", "x");
    for arguments in [
        ["expand", "p", "x"].as_slice(),
        &["list"],
        &["list", "--json"],
        &["check"],
    ] {
        let mut command = client.command();
        command.args(client.library_arguments()).args(arguments);
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let want = if arguments.contains(&"--json") {
            "{\"error\":\""
        } else {
            "error: "
        };
        assert!(
            stderr.starts_with(&format!(
                "{want}standard output cannot be written: No space left"
            )),
            "{stderr}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_closed_output_pipe_is_not_an_error() {
    let client = Client::new().prompt("p.md", "x".repeat(1_000_000));
    for arguments in [["expand", "p", "x"].as_slice(), &["list"], &["check"]] {
        let mut command = client.command();
        command.args(client.library_arguments()).args(arguments);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.code() == Some(0) && output.stderr.is_empty(),
            "{arguments:?}: {output:?}"
        );
    }
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use crate::terminal::ran;

    #[test]
    fn list_is_a_colored_table_of_whole_texts_only_on_a_terminal() {
        let compare = "---\ndescription: Compare options for a decision, which is a good deal longer than a line.\n\
                       arguments: [{name: options, required: true}, criteria]\ntags: [decision, work]\n---\n";
        let client = Client::new()
            .prompt("git/compare.md", compare)
            .prompt("a.md", "Short.")
            .prompt("c.md", "")
            .prompt("broken.md", "---\n");
        let on_terminal =
            |columns, variables: &[(&str, &str)]| ran(&client, columns, "list", variables, "");
        let wide = "Your prompts\n  \
                      :a            Short.\n  \
                      :c\n  \
                      :git/compare  Compare options for a decision, which is a\n                \
                                    good deal longer than a line.\n                \
                                    :git/compare options=… [criteria=…]\n                \
                                    #decision #work\n\n\
                    warning: ";
        let Some(colored) = on_terminal(60, &[]) else {
            return;
        };
        assert!(colored.contains("\u{1b}["), "{colored:?}");
        let plain = anstream::adapter::strip_str(&colored).to_string();
        assert!(plain.starts_with(wide), "{plain}");
        assert_eq!(on_terminal(60, &[("NO_COLOR", "1")]).unwrap(), plain);
        for columns in [1, 20, 33, 60, 200] {
            let shown = on_terminal(columns, &[("NO_COLOR", "1")]).unwrap();
            let words = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let is_whole = |text: &str| words(&shown).contains(&words(text));
            assert!(
                is_whole("#decision #work") && is_whole("which is a good deal longer than a line."),
                "{shown}"
            );
            assert!(
                is_whole("~/prompts/broken.md:1:1:"),
                "the path is not broken, in {columns} columns: {shown}"
            );
            let (table, _) = shown.split_once("\n\n").unwrap();
            let too_long =
                |line: &&str| line.chars().count() > columns && line.split_whitespace().count() > 1;
            assert_eq!(
                table.lines().skip(1).find(too_long),
                None,
                "{columns} columns"
            );
        }
    }

    #[test]
    fn list_on_a_terminal_is_grouped_by_layer_with_the_users_own_first() {
        let client = Client::new()
            .arguments(["--project", "--prompts", "~/prompts"])
            .working_in("repo");
        let client = client
            .prompt("own.md", "# Title\n\nOwn.")
            .prompt("../repo/.prompts/of-project.md", "Of the project.");
        let shown = |arguments: &str| ran(&client, 100, arguments, &[("NO_COLOR", "1")], "");
        let Some(all) = shown("list") else { return };
        let at = |text: &str| all.find(text).unwrap_or_else(|| panic!("{text} in {all}"));
        let order = [
            "Prompts of the project\n",
            ":of-project",
            "\nYour prompts\n",
            ":own",
            "\nBuilt-in prompts\n",
            ":commit",
        ];
        assert!(order.is_sorted_by_key(|text| at(text)), "{all}");
        let mine = shown("list --mine --long").unwrap();
        let want = "Prompts of the project\n  :of-project  Of the project.\n               .prompts/of-project.md\n\n\
                    Your prompts\n  :own  Title — Own.\n        ~/prompts/own.md\n";
        assert_eq!(mine, want);
    }

    #[test]
    fn a_very_long_name_does_not_widen_the_column_of_names_and_stays_whole() {
        let long = format!("{}/x", "long".repeat(20));
        let client = Client::new()
            .prompt("a.md", "Short.")
            .prompt(&format!("{long}.md"), "Long.");
        let Some(listed) = ran(&client, 60, "list", &[("NO_COLOR", "1")], "") else {
            return;
        };
        assert_eq!(
            listed,
            format!("Your prompts\n  :a  Short.\n  :{long}\n      Long.\n")
        );
    }

    #[test]
    fn without_a_command_on_a_terminal_the_program_says_what_it_is_and_serves_even_if_that_cannot_be_written()
     {
        let client = Client::new();
        let Some(said) = ran(&client, 60, "", &[], "\x04") else {
            return;
        };
        assert_contains(&said, "this is an MCP server, waiting for a client");
        let said = ran(&client, 60, "2>/dev/full; echo status $?", &[], "\x04").unwrap();
        assert_contains(&said, "status 0");
    }
}

#[test]
fn the_short_help_has_every_command_in_a_group_and_fits_on_a_screen() {
    let client = Client::new().arguments([]);
    let short = client.words("-h").stdout;
    assert!(short.lines().count() <= 45, "{short}");
    for line in short.lines() {
        assert!(line.chars().count() <= 80 && !line.contains('…'), "{line}");
    }
    for command in prompt_expander::cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(short.contains(&format!("\n  {name} ")), "{name}");
    }
}

#[test]
fn in_a_pipe_no_line_of_the_help_is_broken() {
    let help = Client::new().arguments([]).words("list --help").stdout;
    assert_contains(
        &help,
        "usage, separated by tabs. The layer says where the prompt is from: `project`, `user`,",
    );
}
