//! `test`: prompts expand to what their test files say. `--update`, `new --test`, and test files in
//! `check`, `rm` and `mv`.

#[cfg(unix)]
use crate::client::set_mode;
use crate::client::{Client, Ran};
use crate::readme::{blocks, page};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const COMPARE: &str = "---\narguments:\n  - {name: options, required: true}\n  - {name: criteria, default: cost}\n---\n\
                       Compare {{options}} by {{criteria}}.\n";

const TESTS: &str = "\
=== two options
input: criteria=speed Rust or Go
--- text
Compare Rust or Go by speed.

=== by name, and what it must hold
arg options: Rust or Go
arg criteria: speed
--- contains
Rust or Go
--- lacks
{{

=== nothing given
--- error
it needs a value for `options`
";

fn compare() -> Client {
    Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("compare.test.txt", TESTS)
}

/// Status and standard output.
fn ran(client: &Client, arguments: &[&str]) -> (i32, String) {
    let Ran { status, stdout, .. } = client.run(arguments.iter().copied(), "");
    (
        status.code().unwrap(),
        stdout.replace(&format!("{}/", client.root().display()), ""),
    )
}

#[test]
fn every_built_in_prompt_has_tests_that_pass() {
    let prompts = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    let client = Client::new().arguments(["--no-builtin", "--prompts", prompts.to_str().unwrap()]);
    let tested = client.words("test --json");
    let result = tested.json();
    let failed: Vec<&Value> = result["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["status"] != "passed")
        .collect();
    assert_eq!(
        (tested.status.code(), failed, &result["problems"]),
        (Some(0), vec![], &json!([]))
    );
    let listed = client.words("list --json").json();
    for prompt in listed["prompts"].as_array().unwrap() {
        let cases = result["cases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|case| case["prompt"] == prompt["name"]);
        assert!(cases.count() >= 3, "{prompt}");
    }
    assert!(client.words("check --strict").status.success());
}

#[test]
fn the_tests_on_the_page_of_prompt_files_pass_with_the_prompt_on_that_page() {
    let page = page("docs/prompt-files.md");
    let file = |language, part: &str| {
        blocks(&page, language)
            .into_iter()
            .find(|(before, _)| before.contains(part))
            .unwrap()
            .1
    };
    let client = Client::new().prompt("compare.md", file("markdown", "compare.md"));
    client.write("compare.test.txt", file("text", "`compare.test.txt`"));
    let want = "ok    compare: several words\nok    compare: by name, and what it must contain\nok    compare: nothing given\n\
                3 passed, 0 failed\n";
    client.words("test").printed(want);
}

#[test]
fn each_case_is_a_line_and_the_status_is_0_if_all_pass() {
    let client = compare();
    let want = "ok    compare: two options\n\
                ok    compare: by name, and what it must hold\n\
                ok    compare: nothing given\n\
                3 passed, 0 failed\n";
    client.words("test").printed(want);
    client.words("test compare").printed(want);
    client.words("test prompts").printed(want);
    client
        .words("test ./prompts/compare.test.txt")
        .printed(want);
    client.arguments([]).words("test prompts").printed(want);
}

#[test]
fn a_failure_says_what_differs_and_where_and_the_status_is_1() {
    let client = compare().prompt(
        "compare.md",
        COMPARE.replace("Compare {{options}}", "Weigh\n{{optoins}}"),
    );
    let (status, printed) = ran(&client, &["test"]);
    assert_eq!(status, 1);
    let want = "FAIL  compare: two options (prompts/compare.test.txt:1)\n  \
                  text: the expansion differs from the expected text\n  \
                  --- expected\n  \
                  +++ expansion\n  \
                  @@ -1 +1,2 @@\n  \
                  -Compare Rust or Go by speed.\n  \
                  +Weigh\n  \
                  +{{optoins}} by speed.\n\
                FAIL  compare: by name, and what it must hold (prompts/compare.test.txt:6)\n  \
                  contains: `Rust or Go` is in no line of the expansion\n  \
                  lacks: `{{` is in line 2: `{{optoins}} by speed.`\n\
                FAIL  compare: nothing given (prompts/compare.test.txt:14)\n  \
                  error: the prompt is expanded; the text begins with `Weigh`\n\
                0 passed, 3 failed\n";
    assert_eq!(printed, want);
    let note = "note: if the expansions are right, `prompt-expander test --update` writes them into the test files\n";
    assert_eq!(client.words("test").stderr, note);
}

#[test]
fn json_has_each_case_and_what_is_broken() {
    let client = compare()
        .prompt("x.test.txt", "x")
        .prompt("a.md", "A")
        .prompt("a.test.txt", "=== T\n--- text\nB\n");
    let ran = client.words("test --json");
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), ""));
    let result = ran.json();
    let path = |file: &str| client.prompts().join(file).display().to_string();
    let failure = json!({
        "check": "text",
        "message": "the expansion differs from the expected text",
        "diff": "--- expected\n+++ expansion\n@@ -1 +1 @@\n-B\n+A\n",
    });
    let case = json!({
        "prompt": "a", "title": "T", "file": path("a.test.txt"), "line": 1, "status": "failed", "failures": [failure],
    });
    assert_eq!(result["cases"][0], case);
    assert_eq!(result["cases"][1]["status"], "passed");
    assert_eq!(result["problems"][0]["file"], path("x.test.txt"));
    assert_eq!(
        (&result["passed"], &result["failed"], &result["updated"]),
        (&json!(3), &json!(1), &json!(0))
    );
}

#[test]
fn a_test_file_that_is_broken_or_belongs_to_no_prompt_is_status_1() {
    for (file, text, said) in [
        (
            "a.test.txt",
            "=== T\n--- txt\n",
            "a.test.txt:2:1: error: unknown block `txt`\n    fix: write one of ",
        ),
        (
            "comprae.test.txt",
            "x",
            "these tests have no prompt: there is no `comprae` in this folder of prompts\n",
        ),
        (
            "comprae.test.txt",
            "x",
            "\n    fix: rename it to `compare.test.txt`, or delete it\n",
        ),
        (
            "broken.test.txt",
            "=== T\n",
            "prompts/broken.md:1:1: error: the frontmatter",
        ),
    ] {
        let client = Client::new()
            .prompt("a.md", "A")
            .prompt("compare.md", "A")
            .prompt("broken.md", "---\n");
        client
            .prompt(file, text)
            .words("test")
            .says(1, &[said, "\n0 passed, 0 failed, 1 problem\n"]);
    }
    Client::new()
        .arguments(["--prompts", "nowhere"])
        .words("test")
        .says(1, &[]);
}

#[test]
fn the_status_is_2_for_an_unknown_option_and_1_for_a_prompt_without_tests() {
    let client = compare().prompt("a.md", "A");
    assert_eq!(client.words("test --nope").status.code(), Some(2));
    client.words("test a").failed(
        1,
        "error: `a` has no test file; `prompt-expander new --test a` creates one\n",
    );
    let unknown = "error: no prompt named `comprae`; did you mean `compare`? (`prompt-expander list` shows all prompts)\n";
    client.words("test comprae").failed(1, unknown);
    let builtin = client.arguments([]).words("test research");
    assert!(
        builtin
            .stderr
            .starts_with("error: `research` has no test file; "),
        "{builtin:?}"
    );
}

#[test]
fn without_tests_nothing_fails_and_a_note_says_how_to_begin() {
    let note = "note: there are no test files; `prompt-expander new --test NAME` creates one\n";
    Client::new()
        .prompt("a.md", "A")
        .words("test")
        .says(0, &["0 passed, 0 failed\n", note]);
}

#[test]
fn tests_belong_to_the_prompt_next_to_them_even_if_another_folder_overrides_it() {
    let client = Client::new()
        .arguments(["--prompts", "first", "--prompts", "prompts"])
        .prompt("git/a.md", "second");
    client.write("git/a.test.txt", "=== T\n--- text\nsecond\n");
    client.put("first/git/a.md", "first");
    client
        .words("test")
        .printed("ok    git/a: T\n1 passed, 0 failed\n");
    let ran = client.words("test git/a");
    assert!(
        ran.stderr.starts_with("error: `git/a` has no test file; "),
        "the first has none: {ran:?}"
    );
    // With tests in two folders, the whole path says which.
    client.put("first/git/a.test.txt", "=== T\n--- lacks\nfirst\n");
    let path = client.path("first/git/a.test.txt").display().to_string();
    assert!(
        client
            .words("test")
            .stdout
            .starts_with(&format!("FAIL  git/a: T ({path}:1)\n"))
    );
}

#[test]
fn the_limit_of_an_agent_is_that_of_one_part() {
    let client = Client::new().prompt("a.md", "ä".repeat(8_000));
    client.write("a.test.txt", "=== T\nclient: gemini\nclient: codex\n");
    client
        .words("test")
        .printed("ok    a: T\n1 passed, 0 failed\n");
    client.write("a.md", "ä".repeat(8_500));
    let codex =
        "  client: codex gets it in parts: it has 17,015 bytes, a part has at most 17,000\n";
    client
        .words("test")
        .says(1, &["FAIL  a: T (", codex, "0 passed, 1 failed\n"]);
    client.write("a.test.txt", "=== T\nclient: vscode\n");
    client
        .words("test")
        .says(1, &["  client: no limit of an agent `vscode` is known\n"]);
}

#[test]
fn update_writes_the_expansions_and_changes_nothing_else() {
    let client = compare().prompt("compare.md", COMPARE.replace("Compare", "Weigh"));
    let file = "# kept\n\n=== a\ninput: x\n--- text\nold\n\n=== b\n--- text\nold\n=== c\n--- error\nneeds\n";
    client.write("compare.test.txt", file);
    let (status, printed) = ran(&client, &["test", "--update"]);
    assert!(
        status == 1 && printed.starts_with("updated compare: a (prompts/compare.test.txt:3)\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("ok    compare: c\n1 passed, 1 failed, 1 updated\n"),
        "{printed}"
    );
    assert_eq!(
        client.text("prompts/compare.test.txt"),
        file.replacen("old", "Weigh x by cost.", 1)
    );
    assert_eq!(
        fs::read_dir(client.prompts()).unwrap().count(),
        2,
        "no other file is left"
    );
}

#[test]
fn update_writes_nothing_that_is_right_or_not_a_text() {
    let client = compare()
        .prompt("a.md", "A")
        .prompt("a.test.txt", "=== T\n--- contains\nB\n")
        .prompt("b.test.txt", "x");
    let tests = || {
        (
            client.text("prompts/a.test.txt"),
            client.text("prompts/compare.test.txt"),
            client.text("prompts/b.test.txt"),
        )
    };
    let (before, modified) = (
        tests(),
        fs::metadata(client.path("prompts/compare.test.txt"))
            .unwrap()
            .modified()
            .unwrap(),
    );
    assert_eq!(ran(&client, &["test", "--update"]).0, 1);
    assert_eq!(tests(), before);
    assert_eq!(
        fs::metadata(client.path("prompts/compare.test.txt"))
            .unwrap()
            .modified()
            .unwrap(),
        modified
    );
    // If one of the names is wrong, none is updated.
    client.write("compare.test.txt", "=== T\ninput: x\n");
    assert_eq!(
        ran(&client, &["test", "--update", "compare", "nowhere"]).0,
        1
    );
    assert_eq!(client.text("prompts/compare.test.txt"), "=== T\ninput: x\n");
}

#[test]
fn a_text_and_another_block_of_one_case_are_independent() {
    let client = Client::new()
        .prompt("a.md", "A")
        .prompt("a.test.txt", "=== T\n--- text\nB\n--- lacks\nA\n");
    let (status, printed) = ran(&client, &["test", "--update"]);
    let want =
        "FAIL  a: T (prompts/a.test.txt:1)\n  lacks: `A` is in line 1: `A`\n0 passed, 1 failed\n";
    assert_eq!((status, printed.as_str()), (1, want));
    assert_eq!(
        client.text("prompts/a.test.txt"),
        "=== T\n--- text\nA\n--- lacks\nA\n"
    );
}

#[test]
fn an_expansion_that_is_too_long_for_a_test_file_is_not_written() {
    let client = Client::new()
        .prompt("a.md", "{{input}}".repeat(1_000))
        .prompt("b.md", "B");
    let tests = format!("=== T\ninput: {}\n", "x".repeat(5_000));
    client.write("a.test.txt", &tests);
    client.write("b.test.txt", "=== T\n");
    let (status, printed) = ran(&client, &["test", "--update"]);
    assert!(
        status == 1
            && printed.contains(
                "a.test.txt: error: it would become too long\n    fix: use `--- contains`"
            )
    );
    assert!(
        printed.starts_with("updated b: T (prompts/b.test.txt:1)\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("\n0 passed, 0 failed, 1 updated, 1 problem\n"),
        "{printed}"
    );
    assert_eq!(client.text("prompts/a.test.txt"), tests);
}

#[test]
fn control_characters_in_a_diff_are_escaped() {
    let client = Client::new().prompt("b.md", "{{input}}");
    client.write(
        "b.test.txt",
        "=== T\ninput: \u{1b}[31m\n--- text\n\u{7}\n--- lacks\n[3\n",
    );
    let (_, printed) = ran(&client, &["test"]);
    for said in [
        "  -\\u{7}\n",
        "  +\\u{1b}[31m\n",
        "lacks: `[3` is in line 1: `\\u{1b}[31m`\n",
    ] {
        assert!(printed.contains(said), "{said:?} is not in {printed}");
    }
    let bytes = printed
        .bytes()
        .filter(|byte| byte.is_ascii_control() && *byte != b'\n');
    assert_eq!(bytes.count(), 0);
}

#[test]
fn new_test_creates_a_prompt_and_its_tests_or_only_the_tests() {
    let client = Client::new();
    let path = |file: &str| client.prompts().join(file).display().to_string();
    let ran = client.run(["new", "--test", "git/a"], "Do {{input}}.");
    assert_eq!(
        ran.stdout,
        format!("{}\n{}\n", path("git/a.md"), path("git/a.test.txt"))
    );
    let ran = client.run(["new", "--test", "--json", "b"], "B");
    assert_eq!(
        ran.stdout,
        format!(
            "{}\n",
            json!({ "path": path("b.md"), "tests": path("b.test.txt") })
        )
    );
    client
        .words("test")
        .printed("ok    b: an example\nok    git/a: an example\n2 passed, 0 failed\n");

    client.write("compare.md", COMPARE);
    let tests = path("compare.test.txt");
    let note = "note: `prompt-expander test compare` runs the tests\n";
    client
        .words("new --test compare")
        .says(0, &[&format!("{tests}\n"), note]);
    assert_eq!(client.text("prompts/compare.md"), COMPARE);
    let exists = format!(
        "`{tests}` already exists, and is not changed; `prompt-expander test compare` runs its tests\n"
    );
    client
        .words("new --test compare")
        .failed(1, &format!("error: {exists}"));

    let client = client.arguments(["--prompts", "prompts"]);
    client.words("new --test research").says(
        1,
        &["error: the built-in prompt already has the name `research`; "],
    );
    // The tests belong to the new file, even if another prompt of its name is used instead.
    let client = client.arguments(["--prompts", "prompts", "--prompts", "other"]);
    let ran = client.run(["new", "--test", "--dir", "other", "b"], "Other.");
    ran.says(0, &["other/b.test.txt\n"]);
}

#[test]
fn check_names_test_files_that_are_broken_or_belong_to_no_prompt_and_no_other() {
    let client = compare();
    client
        .words("check prompts/compare.test.txt")
        .printed("1 file checked: 0 errors, 0 warnings\n");
    client.write("nobody.test.txt", "whatever");
    client.write("git/a.md", "A {{input}}");
    client.write("git/a.test.txt", "a");
    let orphan = "nobody.test.txt: warning: these tests have no prompt: there is no `nobody` in this folder of prompts\n    \
                  fix: name it after a prompt, as in `research.test.txt`, or delete it\n";
    let broken = "prompts/git/a.test.txt:1:1: error: the line is before the first case\n    \
                  fix: begin a case above it, with `=== ` and a title\n";
    client.words("check").says(
        1,
        &[broken, orphan, "5 files checked: 1 error, 1 warning\n"],
    );
    client
        .words("check prompts/git/a.test.txt")
        .says(1, &[broken, "1 file checked: 1 error, 0 warnings\n"]);
    client
        .words("check prompts/nobody.test.txt")
        .says(0, &[orphan]);
}

#[test]
fn test_files_are_no_prompts() {
    let client = compare();
    assert_eq!(client.words("list").stdout.lines().count(), 1);
    client.words("expand compare.test").says(1, &[]);
}

#[test]
fn rm_removes_the_tests_too_and_mv_takes_them_along() {
    let client = compare().prompt("a.md", "A").prompt("b.test.txt", "kept");
    let path = |file: &str| client.prompts().join(file).display().to_string();
    let note = format!(
        "note: its test file is now {}\n",
        path("git/choose.test.txt")
    );
    client
        .words("mv compare git/choose")
        .says(0, &[&format!("{}\n", path("git/choose.md")), &note]);
    assert_eq!(client.text("prompts/git/choose.test.txt"), TESTS);
    let json = json!({ "from": path("git/choose.md"), "to": path("choose.md"), "tests": path("choose.test.txt") });
    client
        .words("mv git/choose choose --json")
        .printed(&format!("{json}\n"));
    // No prompt loses its tests, or gets those of another one.
    let taken = format!(
        "error: `{}` already exists, and is not changed; choose another name\n",
        path("b.test.txt")
    );
    client.words("mv choose b").failed(1, &taken);
    assert_eq!(
        (
            client.text("prompts/choose.test.txt").as_str(),
            client.text("prompts/b.test.txt").as_str()
        ),
        (TESTS, "kept")
    );
    assert!(client.path("prompts/choose.md").exists());
    client
        .words("mv a b")
        .says(0, &[&format!("{}\n", path("b.md"))]); // it has none
    client.words("mv b a").says(
        0,
        &[&format!("its test file is now {}\n", path("a.test.txt"))],
    );

    let files = ["choose.md", "choose.test.txt", "a.md", "a.test.txt"]
        .map(path)
        .join(", ");
    client
        .words("rm choose a")
        .says(1, &[&format!("; add --yes to remove {files}\n")]);
    let removed = format!("{}\n{}\n", path("choose.md"), path("choose.test.txt"));
    let kept = "note: `prompt-expander restore choose` brings the prompt back, not its test file\n";
    client.words("rm choose --yes").says(0, &[&removed, kept]);
}

#[cfg(target_os = "linux")] // where two spellings of a suffix are two files
#[test]
fn the_tests_stay_if_another_file_has_the_name_of_the_prompt() {
    let client = compare().prompt("compare.MD", "upper");
    let removed = client.words("rm compare --yes");
    assert_eq!(
        removed.stdout,
        format!("{}\n", client.path("prompts/compare.MD").display())
    );
    let tests = client.path("prompts/compare.test.txt");
    assert!(tests.exists(), "{removed:?}");
    assert_eq!(client.words("test").status.code(), Some(0));
    client.write("compare.MD", "upper");
    client.words("mv compare other").says(0, &[]);
    assert_eq!(client.words("test").status.code(), Some(0));
}

#[cfg(unix)]
mod hostile {
    use super::*;
    use crate::client::make_fifo;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_test_file_that_is_no_file_or_too_large_is_a_problem() {
        let client = Client::new();
        for name in ["fifo", "large", "link", "loop", "folder"] {
            client.write(&format!("{name}.md"), "A {{input}}");
        }
        make_fifo(&client.path("prompts/fifo.test.txt"));
        fs::File::create(client.path("prompts/large.test.txt"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        client.link("nowhere", "prompts/link.test.txt");
        client.link("loop.test.txt", "prompts/loop.test.txt");
        client.make_folder("prompts/folder.test.txt");
        let (status, printed) = ran(&client, &["test"]);
        assert_eq!(status, 1);
        for said in [
            "fifo.test.txt: error: it is not a regular file",
            "large.test.txt: error: the file is 1,024 GiB long, the limit is 4 MiB",
            "0 passed, 0 failed, 2 problems\n",
        ] {
            assert!(printed.contains(said), "{said} is not in {printed}");
        }
    }

    #[test]
    fn an_update_replaces_the_target_of_a_symlink_and_keeps_its_permissions() {
        let client = Client::new().prompt("a.md", "A");
        let target = client.put("elsewhere.txt", "=== T\n");
        set_mode(&target, 0o640);
        let link = client.path("prompts/a.test.txt");
        symlink(&target, &link).unwrap();
        assert!(
            client
                .words("test --update")
                .stdout
                .starts_with("updated a: T (")
        );
        assert_eq!(fs::read_to_string(&target).unwrap(), "=== T\n--- text\nA\n");
        assert_eq!(
            fs::metadata(&target).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}

#[test]
fn tests_of_another_program_s_prompt_are_run_but_never_written() {
    let client = Client::new().arguments(["--no-builtin", "--prompts", ".claude/commands"]);
    client.put(".claude/commands/git/fix.md", "Fix $ARGUMENTS");
    let file = client.path(".claude/commands/git/fix.test.txt");
    assert_eq!(client.words("new --test git/fix").status.code(), Some(1));
    assert!(!file.exists());

    let tests = "=== one\ninput: a\n--- text\nFix b\n";
    fs::write(&file, tests).unwrap();
    for target in [
        &["test", "git/fix"][..],
        &["test", ".claude/commands"],
        &["test"],
    ] {
        let ran = client.run(target.iter().copied(), "");
        assert!(ran.stdout.contains("FAIL  git/fix: one"), "{ran:?}");
        let ran = client.run(target.iter().copied().chain(["--update"]), "");
        assert!(
            ran.stdout
                .contains("it is in another program's folder, and nothing is written there"),
            "{ran:?}"
        );
        assert_eq!(
            (
                ran.status.code(),
                fs::read_to_string(&file).unwrap().as_str()
            ),
            (Some(1), tests)
        );
    }
}
