//! Test files: how a case is called and compared, what an update writes, and what is refused.

use super::*;
use crate::prompt::{MAX_FILE, Name, Prompt};

const COMPARE: &str = "---\narguments:\n  - {name: options, required: true}\n  - {name: criteria, default: cost}\n---\n\
                       Compare {{options}} by {{criteria}}.";

fn prompt(file: &str) -> Prompt {
    Prompt::parse(Name::new("compare").unwrap(), file.as_bytes()).unwrap()
}

fn tests(file: &str) -> Tests {
    Tests::parse(file.as_bytes()).unwrap()
}

fn run(case: &Case, prompt: &Prompt) -> CaseOutcome {
    case.run(prompt, |call| prompt.expand(call))
}

/// Returns the kinds and messages of the failures of the only case.
fn failures(file: &str, cases: &str) -> Vec<String> {
    let tests = tests(cases);
    assert_eq!(tests.cases.len(), 1);
    let failures = run(&tests.cases[0], &prompt(file)).failures;
    failures
        .into_iter()
        .map(|failure| format!("{}: {}", failure.check, failure.message))
        .collect()
}

/// Returns the position, the message and the fix for a file that is refused.
fn error_of(file: impl AsRef<[u8]>) -> String {
    let Diagnostic {
        position,
        message,
        fix,
        ..
    } = Tests::parse(file.as_ref()).unwrap_err();
    let position = position.map_or("-".to_owned(), |position| {
        format!("{}:{}", position.line, position.column)
    });
    format!("{position}: {message}; {fix}")
}

/// Returns the file after the current expansions were written into it.
fn updated(prompt_file: &str, file: &str) -> String {
    let prompt = prompt(prompt_file);
    let tests = tests(file);
    let mut texts = BTreeMap::new();
    for (index, case) in tests.cases.iter().enumerate() {
        if let Some(expansion) = run(case, &prompt).expansion
            && case.can_update_text()
        {
            texts.insert(index, expansion);
        }
    }
    tests.with_updated_texts(&texts)
}

#[test]
fn a_case_calls_the_prompt_with_its_input_or_its_values_by_name() {
    for (head, want) in [
        (
            "input: criteria=speed Rust or Go",
            "Compare Rust or Go by speed.",
        ),
        (
            "arg options: Rust or Go\narg criteria: speed",
            "Compare Rust or Go by speed.",
        ),
        (
            "# a comment\n\ninput:Rust\ninput: or\ninput:\ninput:  Go ",
            "Compare Rust\nor\n\n Go  by cost.",
        ),
        ("arg options: a\narg options: b", "Compare a\nb by cost."),
        ("arg  options:  a: b ", "Compare  a: b  by cost."),
        ("arg options: a\narg criteria:", "Compare a by cost."),
    ] {
        let tests = tests(&format!("=== T\n{head}\n"));
        assert_eq!(
            run(&tests.cases[0], &prompt(COMPARE)).expansion.as_deref(),
            Some(want),
            "{head}"
        );
    }
    assert_eq!(
        failures("Say {{input}}", "=== empty\n--- text\nSay \n"),
        [""; 0]
    );
    assert_eq!(
        failures(
            "---\narguments: [a:b]\n---\n{{a:b}}",
            "=== T\narg a:b: x\n--- text\nx"
        ),
        [""; 0]
    );
}

#[test]
fn a_text_is_compared_but_for_line_endings_and_empty_lines_at_its_end() {
    for expected in ["a\n\n b\n", "a\n\n b", "a\n\n b\n\n\n", "a\r\n\r\n b\r\n"] {
        assert_eq!(
            failures(
                "{{input}}",
                &format!("=== T\ninput: a\ninput:\ninput:  b\n--- text\n{expected}")
            ),
            [""; 0]
        );
    }
    for expected in ["a\n b\n", "a\n\nb\n", "\na\n\n b\n", "a\n\n b \n", ""] {
        let found = failures(
            "{{input}}",
            &format!("=== T\ninput: a\ninput:\ninput:  b\n--- text\n{expected}"),
        );
        assert_eq!(
            found,
            ["text: the expansion differs from the expected text"],
            "{expected:?}"
        );
    }
    let ends_in_empty_lines = "=== T\ninput: a\ninput:\ninput:\n--- text\na\n";
    assert_eq!(failures("{{input}}", ends_in_empty_lines), [""; 0]);
}

#[test]
fn contains_and_lacks_look_for_each_line() {
    let file = "Read a file.\nThen write {{input}}.";
    assert_eq!(
        failures(
            file,
            "=== T\n--- contains\nThen write .\n\nRead a\n--- lacks\n{{\n"
        ),
        [""; 0]
    );
    let found = failures(
        file,
        "=== T\n--- contains\nread\n--- lacks\nwrite\nnowhere\n--- contains\nfile.\n",
    );
    assert_eq!(
        found,
        [
            "contains: `read` is in no line of the expansion",
            "lacks: `write` is in line 2: `Then write .`"
        ]
    );
}

#[test]
fn characters_are_counted_not_bytes() {
    assert_eq!(failures("äöü", "=== T\n--- characters: 3\n"), [""; 0]);
    assert_eq!(
        failures(&"ä".repeat(2_000), "=== T\n--- characters: 1,999\n"),
        ["characters: the expansion has 2,000 characters, the limit is 1,999"]
    );
}

#[test]
fn an_error_is_expected_in_part_and_unexpected_in_full() {
    assert_eq!(
        failures(
            COMPARE,
            "=== T\n--- error\nit needs a value for `options`\n"
        ),
        [""; 0]
    );
    assert_eq!(
        failures(COMPARE, "=== T\n--- error\n"),
        [""; 0],
        "any error"
    );
    let message = "`compare` cannot be expanded: it needs a value for `options`; write `:compare options=… [criteria=…]`";
    assert_eq!(
        failures(COMPARE, "=== T\n--- error\nneeds\nnothing\n"),
        [format!("error: `nothing` is not in the error: {message}")]
    );
    assert_eq!(
        failures(COMPARE, "=== T\n--- text\nx\n"),
        [format!("expansion: {message}")]
    );
    assert_eq!(
        failures(COMPARE, "=== T\ninput: x\n--- error\nneeds\n"),
        ["error: the prompt is expanded; the text begins with `Compare x by cost.`"]
    );
    assert_eq!(
        failures(
            COMPARE,
            "=== T\narg opt: x\n--- error\nit has no argument `opt`\n"
        ),
        [""; 0]
    );
}

#[test]
fn only_a_mark_with_a_space_after_it_or_alone_begins_a_case_or_a_block() {
    let text = "====\n=====\nx\n----\n--a\n==\n#x\ninput: y\n---x";
    assert_eq!(
        failures(text, &format!("=== T\n--- text\n{text}\n")),
        [""; 0]
    );
    let text = "===\n=== x\n---\n--- text\n\\---\n\\====\n\\\\=== x\n\\x";
    let written = "\\===\n\\=== x\n\\---\n\\--- text\n\\\\---\n\\\\====\n\\\\\\=== x\n\\x";
    let body = format!("a\n{text}");
    assert_eq!(
        failures(&body, &format!("=== T\n--- text\na\n{written}\n")),
        [""; 0]
    );
    assert_eq!(
        updated(&body, "=== T\n"),
        format!("=== T\n--- text\na\n{written}\n")
    );
    assert_eq!(
        failures(
            &body,
            "=== T\n--- contains\n\\--- text\n--- lacks\n\\--- txt\n"
        ),
        [""; 0]
    );
}

#[test]
fn an_update_writes_the_texts_that_differ_and_nothing_else() {
    let prompt = "New {{input}}";
    for (before, after) in [
        ("=== T\n--- text\nOld\n", "=== T\n--- text\nNew \n"),
        (
            "=== T\n--- text\nOld\nlines\n\n\n=== U\n--- text\nNew \n",
            "=== T\n--- text\nNew \n\n\n=== U\n--- text\nNew \n",
        ),
        (
            "\u{feff}# c\n\n=== T\n--- text\nOld",
            "\u{feff}# c\n\n=== T\n--- text\nNew \n",
        ),
        (
            "=== T\r\n--- text\r\nOld\r\n\r\n",
            "=== T\r\n--- text\r\nNew \r\n\r\n",
        ),
        (
            "=== T\r\ninput: a\r\ninput: b",
            "=== T\r\ninput: a\r\ninput: b\r\n--- text\r\nNew a\r\nb\r\n",
        ),
        ("=== T\n--- text", "=== T\n--- text\nNew \n"),
        (
            "=== T\n--- text\n\n--- contains\nNew\n",
            "=== T\n--- text\nNew \n\n--- contains\nNew\n",
        ),
        ("=== T", "=== T\n--- text\nNew \n"),
        ("=== T\n  \n\n", "=== T\n  \n--- text\nNew \n\n"),
        (
            "=== T\n# why\n\n\n=== U\n--- contains\nOld\n",
            "=== T\n# why\n--- text\nNew \n\n\n=== U\n--- contains\nOld\n",
        ),
        ("=== T\n--- text\nNew \n\n\n", "=== T\n--- text\nNew \n\n\n"),
    ] {
        let written = updated(prompt, before);
        assert_eq!(written, after);
        assert_eq!(updated(prompt, &written), written, "once is enough");
    }
    assert_eq!(
        updated("", "=== T\n--- text\nOld\n\n=== U\n--- text\nOld"),
        "=== T\n--- text\n\n=== U\n--- text\n"
    );
    assert_eq!(
        updated(COMPARE, "=== T\n\n=== U\n--- text\nx\n"),
        "=== T\n\n=== U\n--- text\nx\n",
        "no expansion"
    );
}

#[test]
fn a_line_without_a_meaning_is_refused_with_its_position() {
    for (file, want) in [
        ("", "-: the file has no case; "),
        ("# only\n\n", "-: the file has no case; "),
        ("x\n", "1:1: the line is before the first case; "),
        ("\n--- text\n", "2:1: the line is before the first case; "),
        ("===\n", "1:1: the case has no title; "),
        (
            "=== T\nfoo\n",
            "2:1: `foo` is not a line that a test case can begin with; ",
        ),
        (
            "=== T\narg a\n",
            "2:1: `arg a` is not a line that a test case can begin with; ",
        ),
        (
            "=== T\narg : x\n",
            "2:1: `arg : x` is not a line that a test case can begin with; ",
        ),
        ("=== T\n---\n", "2:1: unknown block "),
        (
            "=== T\n--- a/file\n",
            "2:1: unknown block `a/file`; write one of `--- text`, ",
        ),
        (
            "=== T\n--- characters: -1\n",
            "2:1: unknown block `characters: -1`; ",
        ),
        (
            "=== T\n--- characters\n",
            "2:1: unknown block `characters`; ",
        ),
        (
            "=== T\n--- text\na\n--- text\n",
            "4:1: the case has two blocks of this kind; ",
        ),
    ] {
        assert!(
            error_of(file).starts_with(want),
            "{file:?}: {}",
            error_of(file)
        );
    }
    assert!(error_of(vec![b'\n'; MAX_FILE + 1]).contains("the limit is 4 MiB; "));
    assert_eq!(
        error_of(b"=== T\n\xff"),
        "2:1: the file is not UTF-8 from here on; save it with the encoding UTF-8"
    );
}

#[test]
fn first_tests_call_the_prompt_with_what_it_needs_and_pass() {
    let choices = "---\narguments: [{name: a, required: true, choices: [low, high], strict: true}]\n---\n{{a}} {{input}}";
    for (file, want) in [
        ("Do it.", "input: some text\n"),
        (COMPARE, "arg options: an example\n"),
        (choices, "arg a: low\ninput: some text\n"),
        (
            "---\narguments: [{name: a, default: x}]\n---\nOn {{a}}.",
            "",
        ),
    ] {
        let written = draft_tests(&prompt(file));
        assert!(
            written.ends_with(&format!("\n=== an example\n{want}")),
            "{written}"
        );
        assert_eq!(run(&tests(&written).cases[0], &prompt(file)).failures, []);
    }
}
