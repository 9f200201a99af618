//! `import`: prompts of other programs become files of one's own. No file is overwritten.

use crate::client::{Client, Ran};
use serde_json::{Value, json};
use std::fs;

/// A client with these files in its root, which imports into `prompts`.
fn client(files: &[(&str, &str)]) -> Client {
    let client = Client::new();
    files
        .iter()
        .for_each(|(file, text)| client.write(&format!("../{file}"), text));
    client
}

/// The same with other options than `--no-builtin --prompts prompts`.
fn with(client: &Client, arguments: &[&str]) -> Ran {
    let mut command = client.command();
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        status: output.status,
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// A folder of each format that is read in place: its path, a file, and the text.
const FOLDERS: [(&str, &str, &str); 8] = [
    (
        ".claude/commands",
        "fix.md",
        "---\narguments: [issue, branch]\n---\nFix $issue on {$branch}, \\$1: $ARGUMENTS {% if %}\n",
    ),
    (
        ".claude/skills",
        "fix/SKILL.md",
        "---\nname: fix\ndescription: D\n---\nRun scripts/x.py: \\{{input}} $ARGUMENTS\n",
    ),
    (
        ".codex/prompts",
        "fix.md",
        "Do $1, then $2. {{input}} $$1\n",
    ),
    (
        ".gemini/commands",
        "fix.toml",
        "description = 'D'\nprompt = \"Say {{args}}, not {{input}} or $ARGUMENTS or <<input>>.\"\n",
    ),
    (
        ".opencode/command",
        "fix.md",
        "---\nagent: build\n---\nReview $ARGUMENTS and $1.\n",
    ),
    (
        ".github/prompts",
        "fix.prompt.md",
        "Test ${input:tool:which tool} in ${file}.\n",
    ),
    (
        ".cursor/commands",
        "fix.md",
        "---\nText between rules\n---\nReview.\n",
    ),
    (
        "fabric/patterns",
        "fix/system.md",
        "# IDENTITY\n\nTranslate to {{lang}}: {{input}}\n",
    ),
];

/// Inputs with marks of every system in them.
const INPUTS: [&str; 5] = [
    "",
    "x",
    "one \"two three\" four",
    "$ARGUMENTS {{input}} \\{{a}} $1 {{args}}",
    "a={{a}} it's <!-- assistant -->",
];

#[test]
fn an_imported_prompt_expands_as_the_one_that_is_read_in_place() {
    for (folder, file, text) in FOLDERS {
        let client = client(&[(&format!("{folder}/{file}"), text)]);
        client
            .run(["import", folder], "")
            .says(0, &[":fix", "1 prompt imported, 0 unchanged, 0 errors"]);
        for input in INPUTS {
            let expand = |from: &str| {
                let ran = with(
                    &client,
                    &["--no-builtin", "--prompts", from, "expand", "fix", input],
                );
                (ran.status.code(), ran.stdout)
            };
            assert_eq!(
                expand("prompts"),
                expand(folder),
                "{folder} {input:?}: {}",
                client.text("prompts/fix.md")
            );
        }
        // What it says about itself, except for the usage of a variable of fabric.
        let described = |from: &str| {
            let list = with(
                &client,
                &["--no-builtin", "--prompts", from, "list", "--json"],
            )
            .stdout;
            let list: Value = serde_json::from_str(&list).unwrap();
            let prompt = &list["prompts"][0];
            (
                prompt["title"].clone(),
                prompt["tags"].clone(),
                prompt["usage"].clone(),
            )
        };
        assert_eq!(described("prompts"), described(folder), "{folder}");
    }
}

#[test]
fn a_name_that_cannot_be_typed_gets_a_warning_and_is_no_example() {
    let client = client(&[
        (".claude/commands/a b.md", "A"),
        (".claude/commands/c.md", "C"),
    ]);
    let warning =
        "the name `a b` contains a space, so it cannot be typed as one word after a colon";
    let ran = client.words("import .claude/commands");
    ran.says(
        0,
        &[
            warning,
            "2 prompts imported, 0 unchanged, 0 errors, 1 warning",
            "note: type `:c …` in a chat",
        ],
    );
}

#[test]
fn an_imported_file_has_placeholders_of_this_program_and_a_backslash_where_it_needs_one() {
    let (folder, file, text) = FOLDERS[3];
    let client = client(&[(&format!("{folder}/{file}"), text)]);
    client.run(["import", folder], "").says(0, &[]);
    let want =
        "---\ndescription: D\n---\nSay {{input}}, not \\{{input}} or $ARGUMENTS or \\<<input>>.\n";
    assert_eq!(client.text("prompts/fix.md"), want);
}

#[test]
fn a_file_or_a_folder_that_is_a_prompt_is_imported_alone_by_the_name_that_its_program_gives_it() {
    for (source, folder, file, other) in [
        (
            ".claude/commands/git/fix.md",
            ".claude/commands",
            "git/fix.md",
            "other.md",
        ),
        (
            ".claude/skills/fix",
            ".claude/skills",
            "fix/SKILL.md",
            "other/SKILL.md",
        ),
        ("x/fix/SKILL.md", "x", "fix/SKILL.md", "other/SKILL.md"),
        (
            "fabric/patterns/fix",
            "fabric/patterns",
            "fix/system.md",
            "other/system.md",
        ),
        ("fabric:x/fix", "x", "fix/system.md", "other/system.md"),
        ("codex:x/fix.md", "x", "fix.md", "other.md"),
    ] {
        let client = client(&[
            (&format!("{folder}/{file}"), "Fix"),
            (&format!("{folder}/{other}"), "Other"),
        ]);
        let name = if file.starts_with("git/") {
            ":git/fix"
        } else {
            ":fix"
        };
        client
            .run(["import", source], "")
            .says(0, &[name, "1 prompt imported, 0 unchanged, 0 errors"]);
    }
}

#[test]
fn a_file_of_this_program_is_copied_byte_for_byte() {
    let text = "\u{feff}---\r\ntitle: T # note\r\ntags: x\r\n---\r\nDo <<input>>";
    let template = "---\nengine: jinja\n---\n{% if input %}Judge {{ input }}.{% endif %}\n";
    let client = client(&[("team/a.md", text), ("team/judge.md", template)]);
    client.words("import team").says(0, &["2 prompts imported"]);
    assert_eq!(client.text("prompts/a.md"), text);
    assert_eq!(client.text("prompts/judge.md"), template);
}

#[test]
fn a_file_that_exists_is_never_overwritten_and_the_others_are_imported() {
    let folder = [
        (".claude/commands/a.md", "A"),
        (".claude/commands/git/b.md", "B"),
        ("prompts/a.md", "mine"),
    ];
    let client = client(&folder);
    let path = client.path("prompts/a.md").display().to_string();
    let refused = format!(
        "a.md: error: `{path}` already exists, and is not changed: its contents differ\n    fix: choose another folder with --to, or remove that file\n"
    );
    client.words("import .claude/commands").says(
        1,
        &[
            &refused,
            ":git/b",
            "1 prompt imported, 0 unchanged, 1 error",
        ],
    );
    assert_eq!(
        (
            client.text("prompts/a.md").as_str(),
            client.text("prompts/git/b.md").as_str()
        ),
        ("mine", "B\n")
    );
    let again = client.words("import .claude/commands/git/b.md");
    again.says(
        0,
        &[":git/b (unchanged)\n0 prompts imported, 1 unchanged, 0 errors, 0 warnings\n"],
    );
    let again = client.words("import .claude/commands --to other");
    again.says(
        0,
        &["2 prompts imported, 0 unchanged", "other is not served"],
    );
    client
        .words("import .claude/commands --to other")
        .says(0, &["0 prompts imported, 2 unchanged"]);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let client = client(&[
        (".claude/commands/a.md", "A !`ls`"),
        (".claude/commands/b.md", "B"),
    ]);
    let dry = client.words("import --dry-run .claude/commands --to new");
    dry.says(
        0,
        &[
            "a.md:1:3: warning: ",
            "2 prompts would be imported",
            "note: nothing was written",
        ],
    );
    assert!(!client.path("new").exists());
    let done = client.words("import .claude/commands --to new");
    assert_eq!(
        done.stdout,
        dry.stdout.replace("would be imported", "imported")
    );
}

#[test]
fn what_is_different_is_reported_with_its_position_and_other_keys_stay() {
    let files = [
        (
            ".claude/commands/a.md",
            "---\nallowed-tools: Bash(git:*)\nargument-hint: [a] [b]\n---\nStatus: !`git status`\n",
        ),
        (
            ".claude/skills/s/SKILL.md",
            "---\nname: s\ndescription: D\n---\nRun x.py\n",
        ),
        (
            ".claude/skills/t/SKILL.md",
            "---\nname: t\ndescription: D\n---\nRun y.py\n",
        ),
        ("team/d.md", "---\nattachments: [x.png]\n---\nD\n"),
        (".gemini/commands/c.toml", "prompt = 'C:\\{{args}}'\n"),
    ];
    let client = client(&files);
    let root = fs::canonicalize(client.root())
        .unwrap()
        .display()
        .to_string();
    let ran = format!(
        "{root}/.claude/commands/a.md:5:9: warning: `` !`git status` `` stays as written: Claude Code would run it\n"
    );
    client
        .words("import .claude/commands")
        .says(0, &[&ran, "note: type `:a …` in a chat"]);
    let imported = "---\nallowed-tools: \"Bash(git:*)\"\nargument-hint: \"[a] [b]\"\n---\nStatus: !`git status`\n";
    assert_eq!(client.text("prompts/a.md"), imported);
    let skills = ["warning: the text begins with the path of the skill's folder"];
    client.words("import .claude/skills").says(0, &skills);
    let text = format!("Base directory for this skill: {root}/.claude/skills/s\n\nRun x.py\n");
    assert!(client.text("prompts/s.md").ends_with(&text));
    client.words("import team").says(
        0,
        &["d.md: warning: the attachment `x.png` is not imported"],
    );
    let refused = ["c.toml: error: `c` cannot be written as one Markdown file"];
    client.words("import .gemini/commands").says(1, &refused);
}

#[test]
fn a_folder_above_those_of_agents_is_imported_by_the_rules_of_each() {
    let client = client(&[
        (".claude/commands/git/fix.md", "Fix $ARGUMENTS"),
        (
            ".claude/skills/pdf/SKILL.md",
            "---\ndescription: D\n---\nFill it.",
        ),
        (".claude/skills/pdf/reference.md", "R"),
        (".claude/CLAUDE.md", "Be brief."),
    ]);
    for source in [".claude", "."] {
        client
            .run(["import", "--dry-run", source], "")
            .says(0, &[":git/fix", ":pdf", "2 prompts would be imported"]);
    }
}

#[test]
fn a_toml_file_that_is_no_command_is_a_note() {
    let client = client(&[
        ("x/Cargo.toml", "[package]\n"),
        ("x/say.toml", "prompt = 'Say {{args}}'"),
    ]);
    let note = [
        "hint: there is no `prompt` in the file, so it is not read as a prompt",
        "1 prompt imported, 0 unchanged, 0 errors, 0 warnings",
    ];
    client.words("import x").says(0, &note);
    assert_eq!(client.text("prompts/say.md"), "Say {{input}}\n");
}

const LINE: &str = r#"{"name":"g","messages":[{"role":"user","content":{"text":"G {{input}}"}}],"created":"2025-01-02T03:04:05Z"}"#;

#[test]
fn llm_continue_and_hexai_are_imported_from_files_folders_and_standard_input() {
    let files = [
        (
            "io.datasette.llm/templates/short.yaml",
            "system: Be brief.\nprompt: 'In $lang: $input'\nmodel: x\n",
        ),
        (
            ".continue/prompts/why.prompt",
            "name: Why\n---\nExplain {{{ input }}}.\n",
        ),
        ("hexai/prompts/user.jsonl", LINE),
    ];
    for (at, file, want) in [
        (0, "short.md", "---\nBe brief.\n\nIn {{lang}}: {{input}}\n"),
        (1, "why.md", "---\nExplain {{input}}.\n"),
        (2, "g.md", "---\nG \\{{input}}\n"),
    ] {
        let (source, _) = files[at];
        for source in [source, source.rsplit_once('/').unwrap().0] {
            let client = client(&files);
            client
                .run(["import", source], "")
                .says(0, &["1 prompt imported"]);
            assert!(
                client.text(format!("prompts/{file}")).ends_with(want),
                "{source}"
            );
        }
    }
    let client = client(&[]);
    client
        .run(["import", "-"], LINE)
        .says(0, &["1 prompt imported"]);
    assert_eq!(
        client.text("prompts/g.md"),
        "---\ncreated: \"2025-01-02T03:04:05Z\"\n---\nG \\{{input}}\n"
    );
    client
        .run(["import", "claude:-", "--name", "fix"], "Fix $ARGUMENTS")
        .says(0, &[":fix"]);
    assert_eq!(client.text("prompts/fix.md"), "Fix {{input}}\n");
    client
        .run(["import", "-"], "Text")
        .says(1, &["has no name; add one, as in `import - --name review`"]);
}

#[test]
fn import_prints_one_json_object_on_request() {
    let client = client(&[
        (".claude/commands/a.md", "---\nmodel: x\n---\nA"),
        (".claude/commands/bad.md", "---\na: b\n"),
    ]);
    client.put(".claude/commands/bad.md", b"\xff");
    let ran = client.words("import .claude/commands --json");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let report = ran.json();
    let root = fs::canonicalize(client.root()).unwrap();
    let original = root.join(".claude/commands/a.md");
    assert_eq!(
        report["imported"],
        json!([{"name": "a", "path": root.join("prompts/a.md"), "original": original}])
    );
    assert_eq!(
        (&report["unchanged"], &report["written"]),
        (&json!([]), &json!(true))
    );
    assert_eq!(
        report["problems"][0]["file"],
        json!(root.join(".claude/commands/bad.md"))
    );
}

#[test]
fn an_invalid_source_or_target_is_refused_with_what_to_do() {
    let client = client(&[
        (".claude/commands/a.md", "A"),
        ("empty/x.txt", ""),
        ("prompts/own.md", "O"),
        ("notes.txt", "N"),
    ]);
    client.make_folder(".codex/prompts");
    for (arguments, said) in [
        (&["nope"][..], "there is no file or folder `nope`"),
        (&["empty"], "there are no prompts in "),
        (&["gemini:empty"], "there are no prompts in "),
        (&["notes.txt"], "name it, as in `import claude:DIR`"),
        (
            &[".claude/commands", "--to", ".codex/prompts"],
            ".codex/prompts is for the prompts of Codex; choose another folder",
        ),
        (
            &[".claude/commands", "--to", ".claude/commands/sub"],
            ".claude/commands is for the prompts of Claude Code",
        ),
        (
            &[".claude/commands", "--to", "x", "--project"],
            "--to and --project each choose a folder",
        ),
    ] {
        let ran = client.run([&["import"], arguments].concat(), "");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        ran.says(1, &["error: ", said]);
    }
    assert_eq!(fs::read_dir(client.prompts()).unwrap().count(), 1);
}

#[test]
fn a_broken_line_or_a_name_of_another_format_does_not_affect_the_other_prompts() {
    let line = |name: &str| {
        format!(
            "{{\"name\":\"{name}\",\"messages\":[{{\"role\":\"user\",\"content\":{{\"text\":\"T\"}}}}]}}\n"
        )
    };
    let other = line("a").replace("\"T\"", "\"A {{word}}\"");
    let lines = [
        line("a"),
        "{\n".to_owned(),
        line("x.prompt"),
        line("b").replace("\"T\"", "\"B {{word}}\""),
        line("a"),
        other,
    ];
    let client = client(&[("user.jsonl", &lines.concat())]);
    let problems = [
        "user.jsonl:2:",
        "user.jsonl:3:1: error: a file `x.prompt.md` would not be read as the prompt `x.prompt`",
        "user.jsonl:4:1: warning: `{{word}}` is text, because `word` is not in the `arguments`",
        "user.jsonl:6:1: error: an earlier prompt of this import is also named `a`",
    ];
    for (option, verb) in [("--dry-run ", "would be imported"), ("", "imported")] {
        let ran = client.words(&format!("import {option}user.jsonl"));
        ran.says(1, &problems);
        let summary = format!("2 prompts {verb}, 1 unchanged, 3 errors, 1 warning");
        ran.says(1, &[&summary]);
    }
}

#[test]
fn what_a_prompt_includes_is_part_of_the_imported_prompt() {
    let files = [
        (
            "from/ask.md",
            "---\ninclude: true\n---\nAnswer {{input}}\n{{> _style}}\n",
        ),
        ("from/_style.md", "Be brief.\n"),
        (
            "from/judge.md",
            "---\ninclude: true\nengine: jinja\n---\n{% if input %}{{ input }}{% endif %}\n{{> _style}}\n",
        ),
    ];
    let client = client(&files);
    client.words("import from").says(
        1,
        &[
            "the files that it includes is part of the imported prompt",
            "cannot be written as one Markdown file",
        ],
    );
    assert_eq!(
        client.words("expand ask it").stdout,
        "Answer it\nBe brief.\n"
    );
    assert!(!client.path("prompts/judge.md").exists());
}

#[test]
fn what_an_import_of_the_home_directory_leaves_out_is_said_with_the_command_that_takes_it() {
    let client = Client::new();
    let plugin = client.path(".claude/plugins/cache/tool");
    let list = json!({"plugins": {"tool@mk": [{"installPath": plugin}]}});
    client.put(".claude/plugins/installed_plugins.json", list.to_string());
    for (file, text) in [
        (".claude/plugins/cache/tool/commands/a.md", "A"),
        (".claude/plugins/cache/tool/commands/b.md", "B"),
        (".claude/commands/own.md", "Own"),
        (".kiro/skills/k/SKILL.md", "K"),
        (".config/opencode/commands/o.md", "O"),
        (".config/opencode/skills/none.md", "None"),
    ] {
        client.put(file, text);
    }
    let home = client.root().display();
    let of_plugins = format!(
        "warning: this leaves out 2 prompts of plugins of Claude Code. To import them, run `prompt-expander import {home}/.claude/plugins`\n"
    );
    let of_opencode = format!(
        "warning: this leaves out 1 prompt of opencode. To import them, run `prompt-expander import {home}/.config/opencode/commands`\n"
    );
    for (folder, names, warnings) in [
        (".", ":own\n:k\n", vec![&of_plugins, &of_opencode]),
        (".claude", ":own\n", vec![&of_plugins]),
        (".claude/commands", ":own\n", vec![]),
        (".config/opencode", ":o\n", vec![]),
    ] {
        let to = format!("imported/{}", names.len() + folder.len());
        let ran = client.run(["import", "--to", &to, folder], "");
        assert!(ran.stdout.contains(names), "{folder}: {ran:?}");
        for warning in [&of_plugins, &of_opencode] {
            let is_given = ran.stderr.contains(warning.as_str());
            assert_eq!(is_given, warnings.contains(&warning), "{folder}: {ran:?}");
        }
        if folder == "." {
            for warning in [&of_plugins, &of_opencode] {
                let command = warning.split('`').nth(1).unwrap();
                let command = command.strip_prefix("prompt-expander ").unwrap();
                client.words(command).says(0, &["0 errors"]);
            }
        }
    }
}
