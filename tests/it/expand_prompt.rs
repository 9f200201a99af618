//! The tool `expand_prompt`: the shape of its answer, names that fit, and errors that help.

use crate::client::{AUDIT, Client, LEGACY, assert_contains, modern};
use serde_json::{Value, json};

#[test]
fn the_answer_is_one_line_content_before_structured_content() {
    let mut client = Client::new().prompt("research.md", "Topic:\n{{input}}\n");
    client.send(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"expand_prompt\",\
         \"arguments\":{\"command\":\"research\",\"input\":\"Example topic\"}}}\n",
    );
    assert_eq!(
        client.read_raw(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\
         \"{\\\"prompt\\\":\\\"Topic:\\\\nExample topic\\\"}\"}],\"structuredContent\":{\"prompt\":\"Topic:\\nExample topic\"}}}\n"
    );
    client.send(
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"expand_prompt\",\
         \"arguments\":{\"command\":\"10:30\",\"input\":\"\"}}}\n",
    );
    let raw = client.read_raw();
    assert!(
        raw.starts_with(
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
        ),
        "{raw}"
    );
    assert!(raw.ends_with("\"}],\"isError\":true}}\n"), "{raw}");
}

#[test]
fn the_twelve_shipped_prompts_expand() {
    let mut client = Client::new().arguments([]);
    client.initialize(LEGACY);
    let names = client.names();
    assert_eq!(
        names,
        "commit critique debug decide explain plan refactor research review rewrite summarize test"
    );
    for name in names.split(' ') {
        let text = client
            .expand(name, "\"quoted\" text\nwith {{input}}")
            .structured()["prompt"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            text.ends_with("\n\"quoted\" text\nwith {{input}}"),
            "{name}: {text}"
        );
    }
    let text = client.expand("research", "Example topic").structured();
    assert!(
        text["prompt"]
            .as_str()
            .unwrap()
            .ends_with("\nTopic:\nExample topic")
    );
}

#[test]
fn missing_or_mistyped_arguments_are_invalid_params_in_the_legacy_era() {
    let mut client = Client::new().prompt("p.md", "P");
    for arguments in [
        json!({}),
        json!({"command": "p"}),
        json!({"input": "x"}),
        json!({"command": 5, "input": "x"}),
        json!({"command": "p", "input": null}),
        json!({"command": "p", "input": ["x"]}),
    ] {
        let answer = client.request(
            "tools/call",
            json!({"name": "expand_prompt", "arguments": arguments}),
        );
        assert_eq!(answer["error"]["code"], -32602, "{arguments}: {answer}");
        let answer = client.request(
            "tools/call",
            modern(json!({"name": "expand_prompt", "arguments": arguments})),
        );
        let result = &answer["result"];
        assert_eq!(
            (&result["isError"], &result["resultType"]),
            (&json!(true), &json!("complete")),
            "{answer}"
        );
        assert!(result.get("structuredContent").is_none());
    }
}

#[test]
fn unknown_arguments_are_ignored() {
    let mut client = Client::new().prompt("p.md", "P {{input}}");
    client
        .call(
            "expand_prompt",
            json!({"command": "p", "input": "x", "wait_for_previous": false}),
        )
        .text("P x");
}

#[test]
fn an_unknown_tool_is_a_protocol_error() {
    let mut client = Client::new();
    for (params, legacy, modern_code) in [
        (json!({"name": "expnd", "arguments": {}}), -32601, -32602),
        (json!({"arguments": {}}), -32602, -32602),
        (json!({"name": 5}), -32602, -32602),
        (
            json!({"name": "list_prompts", "arguments": "x"}),
            -32602,
            -32602,
        ),
    ] {
        assert_eq!(
            client.request("tools/call", params.clone())["error"]["code"],
            legacy,
            "{params}"
        );
        assert_eq!(
            client.request("tools/call", modern(params.clone()))["error"]["code"],
            modern_code,
            "{params}"
        );
    }
}

/// Which spellings are equal is told in `src/prompt/name.rs`.
#[test]
fn a_prompt_is_found_however_its_name_is_spelled() {
    let mut client = Client::new()
        .prompt("git/commit.md", "C")
        .prompt("仕事/要約.md", "S")
        .prompt("nai\u{308}ve.md", "two");
    client.expand(": GIT:Commit\n", "").text("C");
    client.expand("：仕事：要約", "").text("S");
    client.expand("na\u{ef}ve", "").text("two");
    // A name is suggested and listed as the file is stored.
    let error = client.expand("na\u{ef}v", "").error();
    assert!(
        error.starts_with("No prompt named `na\u{ef}v`; did you mean `nai\u{308}ve`?"),
        "{error}"
    );
    assert_eq!(client.names(), "git/commit nai\u{308}ve 仕事/要約");
}

#[test]
fn an_exact_name_wins_over_a_tolerant_match() {
    let mut client = Client::new()
        .prompt("review.md", "lower")
        .prompt("Review.md", "capital")
        .prompt("a/b.md", "slash");
    #[cfg(unix)]
    client.write("a:b.md", "colon");
    client.expand("review", "").text("lower");
    client.expand("Review", "").text("capital");
    #[cfg(unix)]
    client.expand("a:b", "").text("colon");
    client.expand("a/b", "").text("slash");
    let error = client.expand("REVIEW", "").error();
    assert_eq!(
        error,
        "No prompt is named exactly `REVIEW`; did you mean `Review` or `review`? Call expand_prompt again with the exact \
         name; ask the user if it is not clear which one is meant."
    );
}

#[test]
fn an_unknown_prompt_suggests_the_closest_names_and_says_what_to_do_next() {
    let mut client = Client::new()
        .prompt("research.md", "R")
        .prompt("git/commit.md", "C")
        .prompt("summarize.md", "S");
    assert_eq!(
        client.expand("reserch", "x").error(),
        "No prompt named `reserch`; did you mean `research`? If one of these is clearly meant, call expand_prompt again \
         with that name and the same input; otherwise ask the user. list_prompts lists all names. If it was not meant as a \
         command, answer the message as usual."
    );
    assert!(
        client
            .expand("Commit", "")
            .error()
            .contains("did you mean `git/commit`?")
    );
    assert!(
        client
            .expand(":Sumarise", "")
            .error()
            .contains("did you mean `summarize`?")
    );
    assert_eq!(
        client.expand("xyzzy", "").error(),
        "No prompt named `xyzzy`. If it was meant as a command, tell the user which commands are available; if not, \
         answer the message as usual. Available commands: :git/commit, :research, :summarize."
    );
    for empty in ["", " ", ":"] {
        assert_eq!(
            client.expand(empty, "x").error(),
            "The command is empty; it must be the name of a prompt. Available commands: :git/commit, :research, \
             :summarize."
        );
    }
    assert_eq!(
        client.expand("research solar cells", "").error(),
        "The command is `research`, and what follows it (`solar cells`) is its input; name the command alone. Call expand_prompt again with the \
         name as `command`, and the rest as `input`."
    );
}

#[test]
fn a_command_with_its_text_in_one_is_a_command_whatever_the_text_is() {
    let mut client = Client::new()
        .prompt("git/commit.md", "C")
        .prompt("research.md", "R");
    for (command, name, text) in [
        (
            "research https://example.com/x",
            "research",
            "https://example.com/x",
        ),
        (":research   std::vec ", "research", "std::vec"),
        ("research src\\main.rs", "research", "src\\main.rs"),
        ("git:commit 10:30", "git/commit", "10:30"),
        ("Research :smile:", "research", ":smile:"),
    ] {
        let said = format!(
            "The command is `{name}`, and what follows it (`{text}`) is its input; name the command alone. "
        );
        let error = client.expand(command, "").error();
        assert!(error.starts_with(&said), "{error}");
    }
}

/// Which texts are no commands is told in `src/prompt/name.rs`.
#[test]
fn the_error_says_so_if_a_text_was_never_meant_as_a_command() {
    let mut client = Client::new().prompt("10.md", "Ten.");
    assert_eq!(
        client.expand("10:30", "").error(),
        "`10:30` looks like a time or a number, not like a command. There is nothing to expand: answer the message as usual."
    );
    // But a prompt that has such a name is one.
    assert!(
        client
            .expand(":10:", "")
            .error()
            .starts_with("No prompt named `:10:`; did you mean `10`?")
    );
    client.expand("10", "").text("Ten.");
}

#[test]
fn a_name_never_becomes_a_path() {
    let mut client = Client::new()
        .prompt("inside.md", "I")
        .prompt("folder/inside.md", "FI");
    client.put("secret.md", "SECRET");
    client.write(".hidden.md", "SECRET");
    client.write(".hidden/x.md", "SECRET");
    let absolute = client.path("secret").display().to_string();
    let long = "x".repeat(100_000);
    for name in [
        "../secret",
        "folder/../../secret",
        "folder/../inside",
        "/secret",
        absolute.as_str(),
        "folder//inside",
        "..",
        "..\\secret",
        "%2e%2e%2fsecret",
        "inside\0",
        "inside.md",
        ".hidden/x",
        long.as_str(),
    ] {
        let error = client.expand(name, "").error();
        assert!(!error.contains("SECRET"), "{name:?}");
        assert!(error.len() < 600, "{name:.50?} is repeated at length");
    }
    let deep = vec!["folder"; 20_000].join("/");
    client.expand(&deep, "").error();
}

#[test]
fn a_name_with_an_extra_separator_suggests_the_prompt() {
    let mut client = Client::new()
        .prompt("research.md", "R")
        .prompt("git/commit.md", "C");
    for (command, meant) in [
        (":research:", "research"),
        ("research/", "research"),
        ("git//commit", "git/commit"),
        ("git::commit", "git/commit"),
        ("git\\commit", "git/commit"),
    ] {
        let error = client.expand(command, "").error();
        assert!(
            error.starts_with(&format!(
                "No prompt named `{command}`; did you mean `{meant}`? If one"
            )),
            "{error}"
        );
    }
}

#[test]
fn an_offered_name_is_whole_so_that_it_can_be_passed_back() {
    let name = format!("{}/commit", "long-folder-".repeat(20));
    let mut client = Client::new().prompt(&format!("{name}.md"), "Whole");
    let error = client.expand("Commit", "").error();
    let offered = error.split('`').nth(3).unwrap().to_owned();
    client.expand(&offered, "").text("Whole");
}

#[test]
fn an_unknown_command_tells_which_prompts_cannot_be_seen() {
    let mut client = Client::new()
        .arguments(["--no-builtin", "--prompts", "nowhere"])
        .stderr(None);
    let error = client.expand("research", "").error();
    let tell = " Tell the user that some files or folders cannot be read:\n";
    assert_contains(&error, tell);
    assert!(error.ends_with(
        "nowhere: the prompts folder does not exist; create it; it is served as soon as it exists"
    ));
}

#[test]
fn a_broken_file_says_file_line_column_and_fix() {
    let mut client = Client::new()
        .prompt("git/broken.md", "---\ndescription: D\n")
        .prompt("bytes.md", b"ok\nab\xff");
    let path = client.path("prompts/git").join("broken.md");
    assert_eq!(
        client.expand("git/broken", "x").error(),
        format!(
            "`git/broken` cannot be expanded. {}:1:1: the frontmatter that line 1 opens with `---` is never closed; add a \
             line `---` after its last key, or write the rule in line 1 as `***` if no frontmatter is meant. Tell the user this; \
             the prompt works as soon as that is done.",
            path.display()
        )
    );
    assert!(
        client
            .expand("bytes", "")
            .error()
            .contains("bytes.md:2:3: the file is not UTF-8 from here on; save it")
    );
    assert!(client.expand(":GIT:broken", "").error().contains(":1:1: "));
    client.write("git/broken.md", "Mended {{input}}");
    client.expand("git/broken", "x").text("Mended x");
}

const COMPARE: &str = "---\narguments:\n  - name: options\n    required: true\n  - name: criteria\n    default: cost\n\
                       ---\nCompare {{options}} by {{criteria}}.";

#[test]
fn arguments_by_name_are_taken_verbatim_and_scalars_by_their_json_text() {
    let mut client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("p.md", "[{{input}}]");
    let mut expand = |command: &str, input: &str, arguments: Value| {
        client.call(
            "expand_prompt",
            json!({"command": command, "input": input, "arguments": arguments}),
        )
    };
    expand(
        "compare",
        "",
        json!({"options": " \"a\" b=1\n", "criteria": "x"}),
    )
    .text("Compare  \"a\" b=1\n by x.");
    expand("compare", "", json!({"options": 5, "criteria": false})).text("Compare 5 by false.");
    expand("compare", "", json!({"options": -1.5, "criteria": null})).text("Compare -1.5 by cost.");
    expand("compare", "", json!({"options": "", "criteria": ""})).text("Compare  by cost.");
    for none in [json!(null), json!({}), json!({"options": null})] {
        expand("compare", "a criteria=b", none).text("Compare a by b.");
    }
    expand("p", "", json!({"input": "two"})).text("[two]");
    expand("p", "two", json!({"input": "two"})).text("[two]");
    // The whole text, and by name the parts of it.
    expand(
        "compare",
        "\"Rust or Go\" speed",
        json!({"options": "Rust or Go", "criteria": "speed"}),
    )
    .text("Compare Rust or Go by speed.");
    expand("compare", "Rust or Go", json!({"options": "Rust or Go"}))
        .text("Compare Rust or Go by cost.");
}

#[test]
fn arguments_that_are_not_strings_or_unknown_are_tool_errors_in_both_eras() {
    let mut client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("p.md", "[{{input}}]");
    let not_an_object = "`arguments` must be an object whose values are strings; call expand_prompt again with one.";
    let not_a_string =
        "`options` in `arguments` must be a string; call expand_prompt again with one.";
    for (command, arguments, want) in [
        ("compare", json!([]), not_an_object),
        ("compare", json!({"options": ["a"]}), not_a_string),
        (
            "compare",
            json!({"options": 1e22}),
            "`options` in `arguments` is too large for a number, which would lose digits: it must be a string in quotes; call \
             expand_prompt again with one.",
        ),
        (
            "compare",
            json!({"optoins": "a"}),
            "`compare` cannot be expanded: it has no argument `optoins` (did you mean `options`?); it takes `options` \
             and `criteria`. Call expand_prompt again with only these.",
        ),
        (
            "p",
            json!({"zzz": "a"}),
            "`p` cannot be expanded: it has no argument `zzz`; it takes `input`. Call expand_prompt again with only these.",
        ),
    ] {
        let params = json!({"name": "expand_prompt", "arguments": {"command": command, "input": "", "arguments": arguments}});
        for params in [params.clone(), modern(params)] {
            let result = client.result("tools/call", params);
            assert_eq!(
                (&result["isError"], &result["content"][0]["text"]),
                (&json!(true), &json!(want))
            );
        }
    }
}

#[test]
fn an_input_that_arguments_would_leave_out_is_a_tool_error() {
    let mut client = Client::new().prompt("compare.md", COMPARE);
    let call = json!({"command": "compare", "input": "and by safety", "arguments": {"options": "Rust or Go"}});
    assert_eq!(
        client.call("expand_prompt", call).error(),
        "`compare` cannot be expanded: it was called with values by name, but has no placeholder for the text `and by safety`; \
         give all values by name, or none. Call expand_prompt again: with an empty `input`, or without `arguments`."
    );
}

#[test]
fn a_missing_required_argument_is_a_tool_error_with_a_usage_line() {
    let mut client = Client::new().prompt("compare.md", COMPARE);
    let want = "`compare` cannot be expanded: it needs a value for `options`; write `:compare options=… [criteria=…]`. Tell \
                the user this.";
    assert_eq!(client.expand("compare", "").error(), want);
    assert_eq!(client.expand("compare", "criteria=x").error(), want);
    let call = json!({"command": "compare", "input": "text", "arguments": {"criteria": "x"}});
    assert_eq!(client.call("expand_prompt", call).error(), want);
}

#[test]
fn a_value_outside_strict_choices_is_a_tool_error_with_the_choices() {
    let mut client = Client::new().prompt("audit.md", AUDIT);
    let want = "`audit` cannot be expanded: `paranoid` is not a choice for `level`, which takes `low` or `high`; write \
                `:audit [level=…] [tone=…]`. Tell the user this.";
    assert_eq!(client.expand("audit", "level=paranoid").error(), want);
    let call = json!({"command": "audit", "input": "", "arguments": {"level": "paranoid", "tone": "loud"}});
    assert_eq!(client.call("expand_prompt", call).error(), want);
    client
        .expand("audit", "level=high tone=loud")
        .text("Audit: high, loud");
    client.expand("audit", "").text("Audit: , ");
}
