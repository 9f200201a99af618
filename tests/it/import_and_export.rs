//! `import` and `export`: prompts of other programs become files of one's own, and the other way round. No file is overwritten.

use crate::client::{Client, Ran};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A client with these files in its root, which imports into `prompts`.
fn client(files: &[(&str, &str)]) -> Client {
    let client = Client::new();
    files.iter().for_each(|(file, text)| client.write(&format!("../{file}"), text));
    client
}

fn run(client: &Client, arguments: &[&str]) -> Ran {
    client.run(arguments.iter().copied(), "")
}

/// The same with other options than `--no-builtin --prompts prompts`.
fn with(client: &Client, arguments: &[&str]) -> Ran {
    let mut command = client.command();
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[track_caller]
fn has(ran: &Ran, status: i32, parts: &[&str]) {
    assert_eq!(ran.status.code(), Some(status), "{ran:?}");
    let printed = format!("{}{}", ran.stdout, ran.stderr);
    parts.iter().for_each(|part| assert!(printed.contains(part), "{part:?} is not in {printed}"));
}

fn read(client: &Client, file: &str) -> String {
    fs::read_to_string(client.root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A folder of each system: its path, a file, and the text.
const FOLDERS: [(&str, &str, &str); 11] = [
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
    (".codex/prompts", "fix.md", "Do $1, then $2. {{input}} $$1\n"),
    (
        ".gemini/commands",
        "fix.toml",
        "description = 'D'\nprompt = \"Say {{args}}, not {{input}} or $ARGUMENTS or <<input>>.\"\n",
    ),
    (".opencode/command", "fix.md", "---\nagent: build\n---\nReview $ARGUMENTS and $1.\n"),
    (".github/prompts", "fix.prompt.md", "Test ${input:tool:which tool} in ${file}.\n"),
    (".cursor/commands", "fix.md", "---\nText between rules\n---\nReview.\n"),
    ("fabric/patterns", "fix/system.md", "# IDENTITY\n\nTranslate to {{lang}}: {{input}}\n"),
    (
        "io.datasette.llm/templates",
        "fix.yaml",
        "system: Be brief.\nprompt: 'Say $$5: $input in $lang {{input}}'\ndefaults: {lang: English}\n",
    ),
    (".continue/prompts", "fix.prompt", "name: T\n---\nExplain {{{ input }}} and \\{{input}}.\n"),
    (
        "hexai/prompts",
        "user.jsonl",
        "{\"name\":\"fix\",\"title\":\"T\",\"arguments\":[{\"name\":\"a\",\"required\":true}],\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"A {{a}} {{ a }} {{input}} $ARGUMENTS\"}},{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"<!-- user -->\"}}]}\n",
    ),
];

/// Inputs with marks of every system in them.
const INPUTS: [&str; 5] =
    ["", "x", "one \"two three\" four", "$ARGUMENTS {{input}} \\{{a}} $1 {{args}}", "a={{a}} it's <!-- assistant -->"];

#[test]
fn an_imported_prompt_expands_as_the_one_that_is_read_in_place() {
    for (folder, file, text) in FOLDERS {
        let client = client(&[(&format!("{folder}/{file}"), text)]);
        has(&run(&client, &["import", folder]), 0, &[":fix", "1 prompt imported, 0 unchanged, 0 errors"]);
        for input in INPUTS {
            let expand = |from: &str| {
                let ran = with(&client, &["--no-builtin", "--prompts", from, "expand", "fix", input]);
                (ran.status.code(), ran.stdout)
            };
            assert_eq!(expand("prompts"), expand(folder), "{folder} {input:?}: {}", read(&client, "prompts/fix.md"));
        }
        // What it says about itself, except for the usage of a variable of fabric.
        let described = |from: &str| {
            let list = with(&client, &["--no-builtin", "--prompts", from, "list", "--json"]).stdout;
            let list: Value = serde_json::from_str(&list).unwrap();
            let prompt = &list["prompts"][0];
            (prompt["title"].clone(), prompt["tags"].clone(), prompt["usage"].clone())
        };
        assert_eq!(described("prompts"), described(folder), "{folder}");
    }
}

#[test]
fn an_imported_file_has_placeholders_of_this_program_and_a_backslash_where_it_needs_one() {
    for (index, want) in [
        (
            0,
            "---\narguments:\n  - name: issue\n  - name: branch\nwords: true\n---\nFix {{issue}} on {<<branch>>}, $1: {{input}} {% if %}\n",
        ),
        (3, "---\ndescription: D\n---\nSay {{input}}, not \\{{input}} or $ARGUMENTS or \\<<input>>.\n"),
        (
            5,
            "---\narguments:\n  - name: tool\n    description: which tool\n    default: \"${input:tool:which tool}\"\n---\nTest {{tool}} in ${file}.\n",
        ),
        (
            10,
            "---\ntitle: T\narguments:\n  - name: a\n    required: true\nmessages: true\n---\nA {{a}} \\{{ a }} \\{{input}} \\$ARGUMENTS\n\n<!-- assistant -->\n\\<!-- user -->\n",
        ),
    ] {
        let (folder, file, text) = FOLDERS[index];
        let client = client(&[(&format!("{folder}/{file}"), text)]);
        has(&run(&client, &["import", folder]), 0, &[]);
        assert_eq!(read(&client, "prompts/fix.md"), want);
    }
}

#[test]
fn a_file_or_a_folder_that_is_a_prompt_is_imported_alone_by_the_name_that_its_program_gives_it() {
    for (source, folder, file, other) in [
        (".claude/commands/git/fix.md", ".claude/commands", "git/fix.md", "other.md"),
        (".claude/skills/fix", ".claude/skills", "fix/SKILL.md", "other/SKILL.md"),
        ("x/fix/SKILL.md", "x", "fix/SKILL.md", "other/SKILL.md"),
        ("fabric/patterns/fix", "fabric/patterns", "fix/system.md", "other/system.md"),
        ("fabric:x/fix", "x", "fix/system.md", "other/system.md"),
        ("codex:x/fix.md", "x", "fix.md", "other.md"),
    ] {
        let client = client(&[(&format!("{folder}/{file}"), "Fix"), (&format!("{folder}/{other}"), "Other")]);
        let name = if file.starts_with("git/") { ":git/fix" } else { ":fix" };
        has(&run(&client, &["import", source]), 0, &[name, "1 prompt imported, 0 unchanged, 0 errors"]);
    }
}

#[test]
fn a_file_of_this_program_is_copied_byte_for_byte() {
    let text = "\u{feff}---\r\ntitle: T # note\r\ntags: x\r\n---\r\nDo <<input>>";
    let client = client(&[("team/a.md", text)]);
    has(&run(&client, &["import", "team"]), 0, &["1 prompt imported"]);
    assert_eq!(read(&client, "prompts/a.md"), text);
}

#[test]
fn a_file_that_exists_is_never_overwritten_and_the_others_are_imported() {
    let folder = [(".claude/commands/a.md", "A"), (".claude/commands/git/b.md", "B"), ("prompts/a.md", "mine")];
    let client = client(&folder);
    let path = client.prompts().join("a.md").display().to_string();
    let refused = format!(
        "a.md: error: `{path}` already exists with another text, and is not changed\n    fix: choose another folder with --to, or remove that file\n"
    );
    has(
        &run(&client, &["import", ".claude/commands"]),
        1,
        &[&refused, ":git/b", "1 prompt imported, 0 unchanged, 1 error"],
    );
    assert_eq!((read(&client, "prompts/a.md").as_str(), read(&client, "prompts/git/b.md").as_str()), ("mine", "B\n"));
    let again = run(&client, &["import", ".claude/commands/git/b.md"]);
    has(&again, 0, &[":git/b (unchanged)  B\n0 prompts imported, 1 unchanged, 0 errors, 0 warnings\n"]);
    let again = run(&client, &["import", ".claude/commands", "--to", "other"]);
    has(&again, 0, &["2 prompts imported, 0 unchanged", "other is not served"]);
    has(&run(&client, &["import", ".claude/commands", "--to", "other"]), 0, &["0 prompts imported, 2 unchanged"]);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let client = client(&[(".claude/commands/a.md", "A !`ls`"), (".claude/commands/b.md", "B")]);
    let dry = run(&client, &["import", "--dry-run", ".claude/commands", "--to", "new"]);
    has(&dry, 0, &["a.md:1:3: warning: ", "2 prompts would be imported", "note: nothing was written"]);
    assert!(!client.root().join("new").exists());
    let done = run(&client, &["import", ".claude/commands", "--to", "new"]);
    assert_eq!(done.stdout, dry.stdout.replace("would be imported", "imported"));
}

#[test]
fn what_is_not_carried_over_is_reported_with_its_position_and_what_to_do() {
    let files = [
        (".claude/commands/a.md", "---\nallowed-tools: Bash\nmodel: x\n---\nStatus: !`git status`\n"),
        (".claude/commands/b.md", "---\nallowed-tools: Bash\n---\nB\n"),
        (".gemini/commands/c.toml", "prompt = 'C:\\{{args}}'\n"),
        (".claude/skills/s/SKILL.md", "---\ndescription: D\n---\nRun x.py\n"),
        ("team/d.md", "---\nattachments: [x.png]\n---\nD\n"),
        (".codex/prompts/e.md", "Do $ARGUMENTS\n"),
        ("templates/f.yaml", "prompt: F\nmodel: x\n"),
        (
            "user.jsonl",
            "{\"name\":\"g\",\"messages\":[{\"role\":\"user\",\"content\":{\"text\":\"G\\n\"}}],\"created\":\"2025\"}\n",
        ),
    ];
    let client = client(&files);
    let claude = run(&client, &["import", ".claude/commands"]);
    let root = fs::canonicalize(client.root()).unwrap().display().to_string();
    has(
        &claude,
        0,
        &[
            &format!(
                "{root}/.claude/commands/a.md:5:9: warning: `` !`git status` `` stays as written: Claude Code would run it\n    fix: "
            ),
            &format!(
                "note: `allowed-tools` has no meaning here, and is not imported: {root}/.claude/commands/a.md:2 and 1 more\n"
            ),
            &format!("note: `model` has no meaning here, and is not imported: {root}/.claude/commands/a.md:3\n"),
            "2 prompts imported, 0 unchanged, 0 errors, 1 warning\n",
            "note: type `:a …` in a chat",
        ],
    );
    has(
        &run(&client, &["import", ".gemini/commands"]),
        0,
        &["c.toml:1:14: warning: a space is put between the backslash and the placeholder of `input`"],
    );
    has(
        &run(&client, &["import", ".claude/skills"]),
        0,
        &["warning: the text begins with the path of the skill's folder"],
    );
    assert!(
        read(&client, "prompts/s.md")
            .contains(&format!("Base directory for this skill: {root}/.claude/skills/s\n\nRun x.py\n"))
    );
    has(
        &run(&client, &["import", ".codex/prompts"]),
        0,
        &["e.md: warning: Codex takes the quotes off the words of `$ARGUMENTS`"],
    );
    has(&run(&client, &["import", "llm:templates"]), 0, &["note: `model` has no meaning here, and is not imported: "]);
    let hexai = [
        "user.jsonl:1:1: warning: empty lines at the start and end of a message",
        "note: `created` has no meaning here",
    ];
    has(&run(&client, &["import", "user.jsonl"]), 0, &hexai);
    has(&run(&client, &["import", "team"]), 0, &["d.md: warning: the attachment `x.png` is not imported"]);
}

#[test]
fn import_prints_one_json_object_on_request() {
    let client =
        client(&[(".claude/commands/a.md", "---\nmodel: x\n---\nA"), (".claude/commands/bad.md", "---\na: b\n")]);
    fs::write(client.root().join(".claude/commands/bad.md"), b"\xff").unwrap();
    let ran = run(&client, &["import", ".claude/commands", "--json"]);
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let root = fs::canonicalize(client.root()).unwrap();
    let original = root.join(".claude/commands/a.md");
    assert_eq!(report["imported"], json!([{"name": "a", "path": root.join("prompts/a.md"), "original": original}]));
    assert_eq!((&report["unchanged"], &report["written"]), (&json!([]), &json!(true)));
    assert_eq!(report["unread_keys"], json!([{"key": "model", "count": 1, "first": original, "line": 2}]));
    assert_eq!(report["problems"][0]["file"], json!(root.join(".claude/commands/bad.md")));
}

#[test]
fn an_invalid_source_or_target_is_refused_with_what_to_do() {
    let client = client(&[
        (".claude/commands/a.md", "A"),
        ("empty/x.txt", ""),
        ("prompts/own.md", "O"),
        ("notes.txt", "N"),
        ("home/.claude/commands/x.md", "X"),
    ]);
    fs::create_dir_all(client.root().join(".codex/prompts")).unwrap();
    for (arguments, said) in [
        (&["nope"][..], "cannot be read: "),
        (&["empty"], "there are no prompts in "),
        (&["gemini:empty"], "no files `NAME.toml`; name the folder that has them"),
        (&["notes.txt"], "is not a prompt of prompt-expander"),
        (&["home"], "or name `"),
        (&["."], "contains the folder "),
        (&["prompts"], "is already in the folder "),
        (&[".claude/commands", "--to", ".codex/prompts"], "has prompts for Codex, and nothing is written to it"),
        (&[".claude/commands", "--to", ".claude/commands/sub"], "has prompts for Claude Code"),
        (&[".claude/commands", "--to", "x", "--project"], "--to and --project each choose a folder"),
    ] {
        let ran = run(&client, &[&["import"], arguments].concat());
        assert_eq!(ran.stdout, "", "{arguments:?}");
        has(&ran, 1, &["error: ", said]);
    }
    assert_eq!(fs::read_dir(client.prompts()).unwrap().count(), 1);
}

#[test]
fn a_broken_line_or_a_name_of_another_format_does_not_affect_the_other_prompts() {
    let line = |name: &str| {
        format!("{{\"name\":\"{name}\",\"messages\":[{{\"role\":\"user\",\"content\":{{\"text\":\"T\"}}}}]}}\n")
    };
    let text = [line("a"), "{\n".to_owned(), line("x.prompt"), line("b")].concat();
    let client = client(&[("user.jsonl", &text)]);
    let ran = run(&client, &["import", "user.jsonl"]);
    has(
        &ran,
        1,
        &["user.jsonl:2:", "would not be read as the prompt `x.prompt`", "2 prompts imported, 0 unchanged, 2 errors"],
    );
}

const COMPARE: &str = "---\ntitle: Compare\ndescription: Compare options --- all\narguments:\n  - name: options\n    required: true\n  \
                       - name: criteria\n    default: cost, risk\n    choices: [\"cost, risk\", speed]\n    strict: true\ntags: [decision]\n---\n\
                       Compare {{options}} by {{criteria}}. Not \\{{options}}, $1 or \\$ARGUMENTS.\n";
const MOOD: &str = "---\ndescription: Say it\nmessages: true\n---\nClassify.\n\n<!-- assistant -->\nGo on.\n\n<!-- user -->\n{{input}}\n";

#[test]
fn import_of_an_export_gives_the_same_prompts() {
    let files =
        [("prompts/compare.md", COMPARE), ("prompts/team/mood.md", MOOD), ("prompts/plain.md", "Do it:\n{{input}}\n")];
    let client = client(&files);
    for format in ["claude", "gemini", "jsonl"] {
        let exported = run(&client, &["export", "compare", "team/mood", "plain", "--as", format, "--to", "out"]);
        has(&exported, 0, &["3 prompts exported"]);
        let source = if format == "jsonl" { "out/user.jsonl".to_owned() } else { format!("{format}:out") };
        has(
            &run(&client, &["import", &source, "--to", "back"]),
            0,
            &["3 prompts imported, 0 unchanged, 0 errors, 0 warnings"],
        );
        let listed = |from: &str| {
            let list = with(&client, &["--no-builtin", "--prompts", from, "list", "--json"]).stdout;
            let mut list: Value = serde_json::from_str(&list.replace(&format!("/{from}/"), "/")).unwrap();
            for prompt in list["prompts"].as_array_mut().unwrap() {
                prompt.as_object_mut().unwrap().remove("revision"); // the same may be written in another way
            }
            list
        };
        assert_eq!(listed("back"), listed("prompts"), "{format}");
        for (name, input) in
            [("compare", "Rust or Go"), ("compare", "criteria=x a"), ("team/mood", "{{input}}"), ("plain", "x")]
        {
            let expand = |from: &str| {
                let ran = with(&client, &["--no-builtin", "--prompts", from, "expand", name, input]);
                (ran.status.code(), ran.stdout)
            };
            assert_eq!(expand("back"), expand("prompts"), "{format} {name}");
        }
        fs::remove_dir_all(client.root().join("out")).unwrap();
        fs::remove_dir_all(client.root().join("back")).unwrap();
    }
}

#[test]
fn an_exported_file_uses_what_the_format_of_its_system_has() {
    let client = client(&[
        ("prompts/compare.md", COMPARE),
        ("prompts/one.md", "---\narguments: [text]\n---\nFix {{text}} !`ls`\n"),
    ]);
    let ran = run(&client, &["export", "compare", "one", "--as", "claude", "--to", "c"]);
    has(
        &ran,
        0,
        &[
            "one.md:9:16: warning: Claude Code will run `` !`ls` ``",
            "Claude Code has neither defaults nor choices: those of `criteria`",
        ],
    );
    let compare = read(&client, "c/compare.md");
    // Claude Code ends the frontmatter at the next `---`, wherever it is.
    let (head, body) = compare["---\n".len()..].split_once("---").unwrap();
    assert_eq!(body, "\nCompare $options by $criteria. Not {{options}}, \\$1 or \\$ARGUMENTS.\n");
    assert!(
        head.contains(
            "argument-hint: \"<options> [criteria]\"\narguments: [\"options\", \"criteria\"]\nprompt-expander:\n"
        ),
        "{head}"
    );
    assert!(read(&client, "c/one.md").ends_with("\n---\nFix $ARGUMENTS !`ls`\n"));
    // In its own folder it is read as Claude Code reads it.
    let expanded = with(&client, &["--prompts", "claude:c", "expand", "one", "a b"]);
    assert_eq!(expanded.stdout, "Fix a b !`ls`\n");

    has(&run(&client, &["export", "one", "--as", "gemini", "--to", "g"]), 0, &[]);
    assert!(
        read(&client, "g/one.toml")
            .starts_with("description = \"Fix {{text}} !ls\"\nprompt = '''Fix {{args}} !`ls`'''\n"),
        "{}",
        read(&client, "g/one.toml")
    );

    let jsonl = run(&client, &["export", "one", "--as", "jsonl"]);
    let line: Value = serde_json::from_str(&jsonl.stdout).unwrap();
    assert_eq!(line["messages"], json!([{"role": "user", "content": {"type": "text", "text": "Fix {{text}} !`ls`"}}]));
    assert_eq!(line["arguments"], json!([{"name": "text", "required": false}]));
}

#[test]
fn an_exported_file_that_was_edited_is_imported_as_it_is_now() {
    let client = client(&[("prompts/compare.md", COMPARE)]);
    has(&run(&client, &["export", "compare", "--as", "claude", "--to", "c"]), 0, &[]);
    let edited = read(&client, "c/compare.md").replace("Compare $options by", "Rank $options by");
    client.write("../c/compare.md", edited);
    has(
        &run(&client, &["import", "claude:c", "--to", "back"]),
        0,
        &["warning: the file was edited after it was exported"],
    );
    let back = read(&client, "back/compare.md");
    assert!(back.contains("\nRank {{options}} by {{criteria}}.") && back.contains("title: Compare\n"), "{back}");
}

#[test]
fn export_overwrites_nothing_and_needs_a_folder_that_is_not_ones_own() {
    let client = client(&[("prompts/a.md", "A"), ("prompts/b.md", "B"), ("c/a.md", "mine")]);
    let export = |arguments: &[&str]| run(&client, &[&["export"], arguments].concat());
    has(
        &export(&["a", "b", "--as", "claude", "--to", "c"]),
        1,
        &["a.md: error: the file already exists with another text", "1 prompt exported"],
    );
    assert_eq!(
        (read(&client, "c/a.md").as_str(), read(&client, "c/b.md").as_str()),
        ("mine", "---\ndescription: B\n---\nB\n")
    );
    has(&export(&["b", "--as", "claude", "--to", "c"]), 0, &["0 prompts exported, 1 unchanged"]);
    has(&export(&["a", "--as", "gemini"]), 1, &["error: a folder is missing; write it as in `--to "]);
    has(&export(&["a", "--as", "claude", "--to", "prompts/x"]), 1, &["is a folder of your own prompts"]);
    has(&export(&["zzz", "--as", "jsonl"]), 1, &["no prompt named `zzz`"]);
    has(&export(&["a", "--as", "toml", "--to", "c"]), 2, &["[possible values: claude, gemini, jsonl]"]);
    assert!(Path::new(&client.root().join("c")).is_dir());
}

#[test]
fn a_template_is_imported_as_it_is_and_not_exported() {
    let judge =
        "---\nengine: jinja\nicons: [https://example.com/a.png]\n---\n{% if input %}Judge {{ input }}.{% endif %}\n";
    let client = client(&[("from/judge.md", judge)]);
    has(&run(&client, &["import", "from"]), 0, &["judge"]);
    assert_eq!(read(&client, "prompts/judge.md"), judge);
    let refused = ["judge` is a template (`engine: jinja`), which no other program can fill in"];
    has(&run(&client, &["export", "judge", "--as", "claude", "--to", "out"]), 1, &refused);
}

#[test]
fn a_template_is_not_imported_into_a_project_where_it_would_be_an_error() {
    let client = client(&[("from/judge.md", "---\nengine: jinja\n---\n{{ input }}\n"), ("from/a.md", "A.\n")]);
    let refused = ["judge.md: error: `engine: jinja` is not used in the prompts of a project", "leave out --project"];
    let ran = with(&client, &["import", "--project", "from"]);
    has(&ran, 1, &[refused[0], refused[1], "1 prompt imported, 0 unchanged, 1 error"]);
    assert_eq!(read(&client, ".prompts/a.md"), "A.\n");
    assert!(!client.root().join(".prompts/judge.md").exists());
}

#[test]
fn a_prompt_without_a_text_is_not_exported_where_a_text_is_needed() {
    let client = client(&[("prompts/empty.md", "---\ntitle: Nothing\n---\n")]);
    let refused = ["error: `empty` has no text, which a file of Gemini CLI needs", "fix: write its text"];
    has(&run(&client, &["export", "empty", "--as", "gemini", "--to", "out"]), 1, &refused);
    has(&run(&client, &["export", "empty", "--as", "claude", "--to", "out"]), 0, &["1 prompt exported"]);
}

#[test]
fn what_a_prompt_includes_is_part_of_the_imported_prompt() {
    let files = [
        ("from/ask.md", "---\ninclude: true\n---\nAnswer {{input}}\n{{> _style}}\n"),
        ("from/_style.md", "Be brief.\n"),
        (
            "from/judge.md",
            "---\ninclude: true\nengine: jinja\n---\n{% if input %}{{ input }}{% endif %}\n{{> _style}}\n",
        ),
    ];
    let client = client(&files);
    has(
        &run(&client, &["import", "from"]),
        1,
        &["the files that it includes is part of the imported prompt", "cannot be written as one file"],
    );
    assert_eq!(run(&client, &["expand", "ask", "it"]).stdout, "Answer it\nBe brief.\n");
    assert!(!client.root().join("prompts/judge.md").exists());
}

#[test]
fn icons_are_exported_and_imported() {
    let file = "---\nicons:\n  - src: https://example.com/a.png\n    mimeType: image/png\n    sizes: [48x48, any]\n    \
                theme: dark\n  - data:image/png;base64,AAAA\n---\nDo {{input}}.\n";
    let client = client(&[("prompts/it.md", file)]);
    for (format, source) in [("claude", "out/it.md"), ("gemini", "out/it.toml")] {
        let _ = fs::remove_dir_all(client.root().join("out"));
        has(&run(&client, &["export", "it", "--as", format, "--to", "out"]), 0, &["it"]);
        let target = format!("back-{format}");
        let source = format!("{format}:{}", Path::new(source).parent().unwrap().display());
        has(&run(&client, &["import", &source, "--to", &target]), 0, &["it"]);
        let imported = read(&client, &format!("{target}/it.md"));
        for part in ["https://example.com/a.png", "image/png", "48x48", "any", "dark", "data:image/png;base64,AAAA"] {
            assert!(imported.contains(part), "{part} is not in {imported}");
        }
    }
}
