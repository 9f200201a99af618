//! `check`: a folder of damaged files, as a golden file; the exit status; JSON; files that are named.

use crate::client::{Client, golden};

/// A directory of damaged files. The warnings that one text gets are tested where it is parsed.
fn damaged() -> Client {
    let client = Client::new();
    let files: &[(&str, &[u8])] = &[
        (
            "argument-unused.md",
            b"---\narguments: [topic]\n---\nOn {{topics}}\n",
        ),
        (
            "colon.md",
            b"---\ndescription: Review: the code\n---\nB {{input}}\n",
        ),
        ("control.md", b"---\ndescription: a\0b\n---\nB {{input}}\n"),
        ("empty.md", b""),
        (
            "fine.md",
            b"---\ntitle: Fine\ndescription: Nothing is wrong here\n---\nB {{input}}\n",
        ),
        ("foreign-placeholder.md", b"Do {{args}}\n"),
        (
            "long.md",
            &[b"{{input}}\n", "word ".repeat(4000).as_bytes()].concat(),
        ),
        (
            "placeholder.md",
            b"---\ndescription: D\n---\n\nFirst line.\nOn {{inptu}}, {{input} and {{input}}\n",
        ),
        (
            "key-of-argument.md",
            b"---\nrequired: true\ndefualt: x\nargs: 1\nmodel: y\n---\nB {{input}}\n",
        ),
        (
            "quote-inside.md",
            b"---\ndescription: \"Say \"this\" now\"\n---\nB {{input}}\n",
        ),
        ("tab.md", b"---\ndescription:\tTabbed\n---\nB {{input}}\n"),
        (
            "template.md",
            b"---\nengine: jinja\n---\n{{ a }}\n{% set b = 1 %}\n{{ input.x }}\n",
        ),
        (
            "template-open.md",
            b"---\nengine: jinja\n---\n{{ a }}\n{% if input\n",
        ),
        ("without-suffix", b"Review {{input}}\n"),
        ("LICENSE", b"Do as you like.\n"),
    ];
    for (file, bytes) in files {
        client.write(file, bytes);
    }
    let large = std::fs::File::create(client.path("prompts/too-large.md")).unwrap();
    large.set_len(64 * 1024 * 1024).unwrap();
    #[cfg(unix)]
    {
        client.link("nowhere.md", "prompts/link-to-nowhere.md");
        client.link(".", "prompts/link-to-itself");
        crate::client::make_fifo(&client.path("prompts/fifo.md"));
    }
    client
}

#[cfg(target_os = "linux")]
#[test]
fn each_finding_has_its_file_position_reason_and_fix() {
    let client = damaged();
    client.write("twice.md", "B {{input}}");
    client.write("twice.MD", "B {{input}}");
    let ran = client.words("check");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let prompts = std::fs::canonicalize(client.prompts()).unwrap();
    golden(
        "check/damaged.txt",
        &ran.stdout.replace(prompts.to_str().unwrap(), "prompts"),
    );
}

#[test]
fn a_text_that_a_reader_cannot_see_is_a_warning_and_ordinary_marks_are_none() {
    let listed = "---\ntitle: a\u{202e}b\ntags: [x\u{200b}y]\narguments:\n  - {name: a, default: \"\\x1b\"}\n---\n{{a}}\n";
    let client = Client::new()
        .prompt(
            "hidden.md",
            "Say hello.\u{e0041}\u{e0101}\u{202e}\u{1b}[8m\n",
        )
        .prompt("listed.md", listed)
        .prompt(
            "ordinary.md",
            "Word\u{ad}s,\ttabs, \u{200f}\u{5d0}, \u{1f469}\u{200d}\u{1f680}, \u{2764}\u{fe0f}.\n",
        );
    let ran = client.words("check");
    let unseen = "the model reads what you cannot see";
    ran.says(
        0,
        &[&format!(
            "hidden.md:1:11: warning: an invisible character, U+E0041, and 3 more: {unseen}"
        )],
    );
    ran.says(
        0,
        &[&format!(
            "listed.md: warning: the frontmatter has an invisible character, U+202E: {unseen}"
        )],
    );
    assert!(!ran.stdout.contains("ordinary.md"), "{}", ran.stdout);
}

#[test]
fn check_json_has_the_same_findings() {
    let client = damaged();
    let people = client.words("check");
    let ran = client.words("check --json");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let report = ran.json();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), people.stdout.matches("\n    fix: ").count());
    let colon = problems
        .iter()
        .find(|problem| problem["file"].as_str().unwrap().ends_with("colon.md"))
        .unwrap();
    assert_eq!((&colon["line"], &colon["column"]), (&2.into(), &14.into()));
    assert_eq!(colon["repair"], "write `description: \"Review: the code\"`");
}

#[test]
fn a_finding_in_more_than_three_places_is_shown_once_with_a_count_and_the_first_places() {
    let client = Client::new();
    client.write("0.md", "A {{input}} {{inptu}}");
    for name in ["1", "2", "3", "4", "5"] {
        client.write(&format!("{name}.md"), "A {{inputs}}");
    }
    let ran = client.words("check");
    let prompts = std::fs::canonicalize(client.prompts()).unwrap();
    let want = "prompts/0.md:1:13: warning: `{{inptu}}` is not a placeholder, and is left as it is\n    \
                fix: write `{{input}}` if it is meant to be replaced\n\
                warning: `{{inputs}}` is not a placeholder, and is left as it is\n    \
                fix: write `{{input}}` if it is meant to be replaced\n    \
                5 times: prompts/1.md:1:3, prompts/2.md:1:3, prompts/3.md:1:3 and 2 more, which `--json` lists\n\
                6 files checked: 0 errors, 6 warnings\n";
    assert_eq!(
        ran.stdout.replace(prompts.to_str().unwrap(), "prompts"),
        want
    );
    let report = client.words("check --json").json();
    assert_eq!(report["problems"].as_array().unwrap().len(), 6);
}

#[test]
fn findings_that_differ_only_in_a_path_or_a_number_are_shown_once() {
    let client = Client::new().arguments([]);
    for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        client.put(format!("repo/.{name}/skills/x/SKILL.md"), "Text.");
        let skill = format!(
            "---\nname: {name}\ndescription: {}\n---\nText.",
            "d".repeat(1_100 + index)
        );
        client.put(format!("long/{name}/SKILL.md"), skill);
        let nameless = "---\ndescription: D\n---\nText.";
        client.put(format!("nameless/{name}-1/SKILL.md"), nameless);
    }
    for (folder, parts) in [
        (
            "repo",
            [
                "hint: the folder has files of Agent Skills, which are not checked with this one\n    fix of the first: check them with",
                "    4 times: ",
            ],
        ),
        (
            "long",
            [
                "warning: the `description` has 1,100 characters, so Codex does not load the skill\n    fix: shorten it to 1,024\n",
                "    4 times: ",
            ],
        ),
        (
            "nameless",
            [
                "warning: the skill has no `name`, so opencode does not load it\n    fix of the first: write `name: a-1`\n",
                "    4 times: ",
            ],
        ),
    ] {
        client.words(&format!("check {folder}")).says(0, &parts);
    }
}

#[test]
fn a_skill_whose_file_name_is_in_lower_case_is_named() {
    let client = Client::new().arguments([]);
    let skill = "---\nname: lower\ndescription: D\n---\nText.";
    client.put(".claude/skills/lower/skill.md", skill);
    client.put("own/lower/skill.md", skill);
    for folder in [".claude/skills", "own"] {
        let message = "lower/skill.md: warning: the file is not read as a skill, because only `SKILL.md` in upper case is one\n    \
                       fix: rename it to `SKILL.md`\n";
        client.words(&format!("check {folder}")).says(0, &[message]);
    }
}

#[test]
fn check_is_status_0_without_errors_and_1_with_them_and_with_strict_also_with_a_warning() {
    let client = Client::new()
        .prompt("a.md", "A {{input}}")
        .prompt("notes.txt", "N");
    client
        .words("check --strict")
        .says(0, &["1 file checked: 0 errors, 0 warnings\n"]);
    client.write("b.md", "B {{inputs}}");
    client
        .words("check")
        .says(0, &["2 files checked: 0 errors, 1 warning\n"]);
    for line in ["check --strict", "check --strict --json"] {
        client.words(line).says(1, &[]);
    }
    client.write("c.md", "---\n");
    client
        .words("check")
        .says(1, &["3 files checked: 1 error, 1 warning\n"]);
    let missing = Client::new().arguments(["--no-builtin", "--prompts", "nowhere"]);
    missing.words("check").says(
        1,
        &["nowhere: error: the prompts folder does not exist\n    fix: create it"],
    );
}

#[test]
fn long_prompts_are_a_hint_for_each_folder_and_with_an_agent_a_warning_each() {
    let long = "word ".repeat(4_000);
    let client = Client::new()
        .prompt("a.md", &long)
        .prompt("git/b.md", &long)
        .prompt("c.md", "C");
    let hint = "prompts: hint: 2 prompts of 18,000 characters or more, which some agents get in parts\n    fix: find those \
                that are too long for an agent with `--client AGENT`\n3 files checked: 0 errors, 0 warnings\n";
    client.words("check --strict").says(0, &[hint]);
    client
        .words("check prompts/a.md --strict")
        .says(0, &["hint: 1 prompt of 18,000"]);
    let warning =
        "a.md: warning: Codex gets at most 17,000 bytes in one part, and the prompt takes 20,015\n";
    client
        .words("check --client codex")
        .says(0, &[warning, "b.md: warning: ", "0 errors, 2 warnings\n"]);
    client.words("check --client codex --strict").says(1, &[]);
    client
        .words("check --client claude-code --strict")
        .says(0, &["3 files checked: 0 errors, 0 warnings\n"]);
    client
        .words("check --client zed")
        .says(1, &["no limit of Zed is known"]);
}

#[test]
fn check_names_the_folders_of_other_programs_at_the_root_of_a_repository() {
    let client = Client::new()
        .arguments(["--no-builtin", "--prompts", "~/prompts"])
        .prompt("a.md", "A {{input}}");
    client.put("repo/.claude/commands/x.md", "X @src/main.rs");
    client.put("repo/README.md", "R");
    let hint = "commands: hint: the folder has files of Claude Code, which are not checked with this one\n    fix: check them \
                with `prompt-expander check ";
    client
        .words("check --strict repo")
        .says(0, &[hint, "1 file checked: 0 errors, 0 warnings\n"]);
    let client = client.working_in("repo");
    client
        .words("check")
        .says(0, &["1 file checked: 0 errors, 0 warnings\n"]);
    client.put("repo/.git/HEAD", "");
    client.words("check").says(0, &[hint]);
    assert!(
        !client
            .words("check --from-agents --project")
            .stdout
            .contains("hint: the folder")
    );
}

#[test]
fn check_reads_files_that_another_layer_hides() {
    let client =
        Client::new().arguments(["--no-builtin", "--prompts", "prompts", "--prompts", "other"]);
    client.write("a.md", "A {{input}}");
    client.put("other/a.md", "A {{inputs}}");
    let warning = "a.md:1:3: warning: `{{inputs}}` is not a placeholder";
    client
        .words("check")
        .says(0, &[warning, "2 files checked: 0 errors, 1 warning\n"]);
}

#[test]
fn the_shipped_prompts_are_without_a_finding() {
    let prompts = concat!(env!("CARGO_MANIFEST_DIR"), "/prompts");
    let client = Client::new().arguments(["--prompts", prompts]);
    client
        .words("check")
        .printed("28 files checked: 0 errors, 0 warnings\n");
}

#[test]
fn without_files_check_says_how_to_create_one() {
    // The built-in prompts are not checked.
    let client = Client::new()
        .arguments([])
        .variable("XDG_CONFIG_HOME", "/nowhere");
    client.words("check").printed(
        "note: there are no prompt files in `/nowhere/prompt-expander/prompts`; `prompt-expander new NAME` creates one\n\
         0 files checked: 0 errors, 0 warnings\n",
    );
    client.make_folder(".prompts");
    client
        .words("check --project")
        .says(0, &["/.prompts` and `/nowhere/prompt-expander/prompts`; "]);
    client.make_folder("empty");
    client.words("check empty").says(
        0,
        &["/empty`; `prompt-expander new NAME` creates one\n0 files checked"],
    );
}

#[test]
fn a_prompt_is_checked_by_its_name_with_its_tests_unless_there_is_a_file_or_a_folder_of_that_name()
{
    let client = Client::new().arguments(["--prompts", "prompts"]);
    let client = client
        .prompt("git/b.md", "B {{inputs}}")
        .prompt("git/b.test.txt", "no case\n");
    let client = client.prompt("v1.2.md", "V").prompt("plain.md", "P");
    let warning = format!(
        "{}:1:3: warning: ",
        client.path("prompts/git/b.md").display()
    );
    for name in ["git/b", ":git:b", "GIT/b"] {
        client.run(["check", name], "").says(
            1,
            &[
                &warning,
                "b.test.txt:1:1: error: ",
                "2 files checked: 1 error, 1 warning\n",
            ],
        );
    }
    for name in ["v1.2", "plain"] {
        client
            .run(["check", name], "")
            .printed("1 file checked: 0 errors, 0 warnings\n");
    }
    client
        .words("check research")
        .printed("1 file checked: 0 errors, 0 warnings\n");
    let near = "git/c: error: there is no such file, and no prompt named `git/c`\n    fix: did you mean `git/b`?\n";
    client.words("check git/c").says(1, &[near]);
    client.words("check xyzzy").says(
        1,
        &["no prompt named `xyzzy`\n    fix: correct the name or the path\n"],
    );
    client
        .words("check ./plain")
        .says(1, &["/plain: error: there is no such file\n"]);
    client.put("plain/x.md", "---\n");
    client
        .words("check plain")
        .says(1, &["/plain/x.md:1:1: error: "]);
}

#[test]
fn files_and_folders_that_are_named_are_checked_wherever_they_are() {
    let client = Client::new()
        .prompt("a.md", "A {{inputs}}")
        .prompt("git/b.md", "B {{inputs}}");
    client.put("elsewhere/.hidden/c.md", "C {{inputs}}");
    client.put("elsewhere/d.md", "---\n");
    for (named, file) in [
        ("prompts/a.md", "prompts/a.md"),
        ("~/prompts/git", "prompts/git/b.md"),
        (
            "prompts/../elsewhere/.hidden/c.md",
            "elsewhere/.hidden/c.md",
        ),
    ] {
        let warning = format!("{}:1:3: warning: ", client.path(file).display());
        client
            .run(["check", named], "")
            .says(0, &[&warning, "\n1 file checked: 0 errors, 1 warning\n"]);
    }
    let both = [
        "/elsewhere/d.md:1:1: error: ",
        "/prompts/git/b.md:1:3: warning: ",
        "\n2 files checked: 1 error, 1 warning\n",
    ];
    client
        .words("check elsewhere prompts/git/b.md")
        .says(1, &both);
    client.put("foo/SKILL.md", "---\nname: bar\ndescription: D\n---\nText.");
    client.words("check foo").says(
        0,
        &["foo/SKILL.md:2:1: warning: the skill's `name` is `bar`, but its folder is `foo`"],
    );
}

#[test]
fn a_named_file_that_cannot_be_checked_says_why() {
    let client = Client::new()
        .prompt("a.md", "A {{input}}")
        .prompt("a.yml", "x");
    let suffixes = "only files that end in `.md`, `.prompt.md`, `.toml`, `/SKILL.md` or `/system.md` are read as prompts";
    for (written, message, fix) in [
        ("nope.md", "there is no such file", "correct the path"),
        (
            "prompts/a.yml",
            suffixes,
            "rename it so that it ends in `.md`",
        ),
    ] {
        let ran = client.run(["check", written, "prompts/a.md"], "");
        let path = client.path(written);
        let want = format!(
            "{}: error: {message}\n    fix: {fix}\n2 files checked: 1 error, 0 warnings\n",
            path.display()
        );
        assert_eq!((ran.status.code(), ran.stdout), (Some(1), want));
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_findings_show_the_line_below_their_file_and_lines_are_broken_at_spaces() {
    let client = Client::new()
        .prompt("a.md", "A {{inputs}}")
        .prompt("b.md", "---\n");
    let Some(shown) = crate::terminal::ran(&client, 40, "check", &[("NO_COLOR", "1")], "") else {
        return;
    };
    let want = "~/prompts/a.md
  1:3 warning: `{{inputs}}` is not a
    placeholder, and is left as it is
    1 | A {{inputs}}
      |   ^
  fix: write `{{input}}` if it is meant
    to be replaced

~/prompts/b.md
";
    assert!(shown.starts_with(want), "{shown}");
    assert!(
        shown.ends_with("\n\n2 files checked: 1 error, 1 warning\n"),
        "{shown}"
    );
}

#[test]
fn a_name_that_also_stands_in_code_is_better_no_mention() {
    let client = Client::new()
        .prompt("status.md", "S")
        .prompt("style.md", "S")
        .prompt("git/status.md", "S");
    let client = client
        .prompt("id.md", "---\nmention: false\n---\nI")
        .prompt("type.md", "---\nmention: perhaps\n---\nT");
    let client = client.prompt(
        "get.md",
        "---\narguments: [{name: x, required: true}]\n---\n{{x}}",
    );
    let said = client.words("check").stdout;
    let warning = "status.md: warning: `:status` also occurs in code and ordinary text, where it would mention this prompt\n    fix: \
                   write `mention: false` into its frontmatter if only a line may begin with it";
    assert!(
        said.contains(warning)
            && said.contains("2 warnings")
            && said.contains("`mention` is neither"),
        "{said}"
    );
}
