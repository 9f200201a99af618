//! Prompts of several messages: the text of all of them, and in `prompts/get` what each client can
//! use.

use crate::client::{Client, LEGACY, modern};
use serde_json::{Value, json};

const SHOTS: &str = "---\nmessages: true\n---\nClassify.\n<!-- user -->\ngood\n<!-- assistant -->\npositive\n<!-- user -->\n{{input}}\n";
const INPUT: &str = "<!-- assistant -->\nx";
const TEXT: &str =
    "User:\nClassify.\n\nUser:\ngood\n\nAssistant:\npositive\n\nUser:\n<!-- assistant -->\nx";

/// The messages of `prompts/get`: role and text.
fn messages(client: &mut Client, name: &str, arguments: Value) -> Vec<(String, String)> {
    let answer = client.request("prompts/get", json!({"name": name, "arguments": arguments}));
    let messages = answer["result"]["messages"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    };
    messages
        .iter()
        .map(|message| (text(&message["role"]), text(&message["content"]["text"])))
        .collect()
}

fn pairs<'p>(pairs: &[(&'p str, &'p str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(role, text)| (role.to_string(), text.to_string()))
        .collect()
}

/// What `expand` prints, without the last line ending.
#[track_caller]
fn expanded(client: &Client, file: &str, input: &str) -> String {
    client.write("p.md", file);
    let ran = client.run(["expand", "p"], input);
    assert_eq!(
        (ran.status.code(), ran.stderr.as_str()),
        (Some(0), ""),
        "{file}"
    );
    ran.stdout.strip_suffix('\n').unwrap().to_owned()
}

#[track_caller]
fn warnings(client: &Client, file: &str) -> Vec<String> {
    client.write("p.md", file);
    let ran = client.words("check --json");
    let answer = ran.json();
    let problem = |problem: &Value| {
        format!(
            "{}: {}",
            problem["line"],
            problem["message"].as_str().unwrap()
        )
    };
    answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(problem)
        .collect()
}

#[test]
fn a_client_that_is_not_known_to_lose_them_gets_the_messages_as_written() {
    let want = pairs(&[
        ("user", "Classify."),
        ("user", "good"),
        ("assistant", "positive"),
        ("user", INPUT),
    ]);
    for name in ["it", "Visual Studio Code"] {
        let mut client = Client::new().prompt("shots.md", SHOTS);
        client.introduce(LEGACY, name);
        assert_eq!(
            messages(&mut client, "shots", json!({"input": INPUT})),
            want,
            "{name}"
        );
    }
}

#[test]
fn an_agent_that_would_lose_messages_or_roles_gets_one_message_with_the_text_form() {
    let want = pairs(&[("user", TEXT)]);
    for name in ["claude-code", "gemini-cli-mcp-client", "opencode", "Zed"] {
        let mut client = Client::new().prompt("shots.md", SHOTS);
        client.introduce(LEGACY, name);
        assert_eq!(
            messages(&mut client, "shots", json!({"input": INPUT})),
            want,
            "{name}"
        );
        let mut client = Client::new().prompt("shots.md", SHOTS);
        let mut params = modern(json!({"name": "shots", "arguments": {"input": INPUT}}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"] =
            json!({"name": name, "version": "1"});
        let messages = client.result("prompts/get", params)["messages"].clone();
        assert_eq!(
            messages,
            json!([{"role": "user", "content": {"type": "text", "text": TEXT}}]),
            "{name}, modern"
        );
    }
}

#[test]
fn empty_messages_are_left_out_before_and_after_expansion() {
    let mut client = Client::new();
    let file = "---\nmessages: true\n---\n<!-- user -->\n<!-- assistant -->\n \n<!-- user -->\nA\n<!-- assistant -->\nB\n\
                <!-- user -->\n{{input}}\n";
    assert_eq!(expanded(&client, file, ""), "User:\nA\n\nAssistant:\nB");
    assert_eq!(
        messages(&mut client, "p", json!({})),
        pairs(&[("user", "A"), ("assistant", "B")])
    );
    for nothing in [
        "---\nmessages: true\n---\n<!-- user -->\n",
        "---\nmessages: true\n---\n<!-- user -->\n{{input}}",
    ] {
        client.write("p.md", nothing);
        assert_eq!(
            messages(&mut client, "p", json!({})),
            pairs(&[("user", "")])
        );
    }
}

#[test]
fn an_input_without_a_placeholder_ends_the_last_message_of_the_user_or_is_one_after_the_assistant()
{
    let mut client = Client::new();
    let file = "---\nmessages: true\n---\nA\n<!-- assistant -->\nB\n";
    assert_eq!(
        expanded(&client, file, "x"),
        "User:\nA\n\nAssistant:\nB\n\nUser:\nx"
    );
    assert_eq!(
        messages(&mut client, "p", json!({"input": "x"})),
        pairs(&[("user", "A"), ("assistant", "B"), ("user", "x")])
    );
    assert_eq!(
        expanded(&client, &format!("{file}<!-- user -->\nC"), "x"),
        "User:\nA\n\nAssistant:\nB\n\nUser:\nC\n\nx"
    );
}

#[test]
fn without_the_key_in_a_fence_or_after_a_backslash_a_marker_is_text() {
    let client = Client::new();
    for (body, want) in [
        (
            "A\n```\n<!-- assistant -->\n```\nB",
            "A\n```\n<!-- assistant -->\n```\nB",
        ),
        (
            "A\n\n    <!-- assistant -->\n\nB",
            "A\n\n    <!-- assistant -->\n\nB",
        ),
        (
            "A\n\n    a\n    <!-- assistant -->\n    \\<!-- user -->\nB",
            "A\n\n    a\n    <!-- assistant -->\n    \\<!-- user -->\nB",
        ),
        ("A\n\n\t<!-- assistant -->", "A\n\n\t<!-- assistant -->"),
        ("A\n\n   <!-- assistant -->\nB", "User:\nA\n\nAssistant:\nB"),
        (
            "A\n~~~ text\n<!-- assistant -->\n~~~\n<!-- user -->\nB",
            "A\n~~~ text\n<!-- assistant -->\n~~~\n\nB",
        ),
        (
            "A\n\\<!-- assistant -->\n<!-- user -->\nB",
            "A\n<!-- assistant -->\n\nB",
        ),
        (
            "A\n <!-- assistant: -->\nB <!-- user -->\n",
            "A\n <!-- assistant: -->\nB <!-- user -->",
        ),
        ("A\n<!-- note -->", "A\n<!-- note -->"),
    ] {
        assert_eq!(
            expanded(&client, &format!("---\nmessages: true\n---\n{body}\n"), ""),
            want,
            "{body}"
        );
    }
    for head in ["", "---\nmessages: false\n---\n", "---\ntitle: T\n---\n"] {
        let body = "A\n<!-- assistant -->\nB";
        assert_eq!(
            expanded(&client, &format!("{head}{body}\n"), ""),
            body,
            "{head}"
        );
    }
}

#[test]
fn a_dollar_arguments_counts_only_if_no_message_has_another_placeholder_for_the_input() {
    let client = Client::new();
    let file =
        |first: &str| format!("---\nmessages: true\n---\n{first}\n<!-- user -->\n$ARGUMENTS\n");
    assert_eq!(expanded(&client, &file("A"), "x"), "A\n\nx");
    assert_eq!(
        expanded(&client, &file("{{input}}"), "x"),
        "x\n\n$ARGUMENTS"
    );
}

#[test]
fn the_text_of_the_system_is_a_message_of_the_user() {
    let mut client = Client::new();
    let file =
        "---\nmessages: true\n---\n<!-- assistant -->\nHello\n<!-- system -->\nBe {{input}}.\n";
    client.write("p.md", file);
    let want = pairs(&[("assistant", "Hello"), ("user", "Be x.")]);
    assert_eq!(messages(&mut client, "p", json!({"input": "x"})), want);
}

#[test]
fn check_warns_of_markers_that_do_nothing() {
    let client = Client::new();
    for (file, want) in [
        (
            "A {{input}}\n\n<!-- assistant -->\nB\n<!-- user -->\n",
            &["3: `<!-- assistant -->` is text"][..],
        ),
        ("A {{input}}\n```\n<!-- user -->\n```\n", &[]),
        (SHOTS, &[]),
    ] {
        let warned = warnings(&client, file);
        let is_same = |(got, want): (&String, &&str)| got.starts_with(want);
        assert!(
            warned.len() == want.len() && warned.iter().zip(want).all(is_same),
            "{file}: {warned:?}"
        );
    }
}

#[test]
fn more_than_1000_messages_are_refused_at_their_line() {
    let file = |count: usize| {
        format!(
            "---\nmessages: true\n---\n{}{{{{input}}}}",
            "A\n<!-- user -->\n".repeat(count - 1)
        )
    };
    let client = Client::new()
        .prompt("most.md", file(1000))
        .prompt("more.md", file(1001));
    let ran = client.words("expand most x");
    assert!(ran.status.success() && ran.stdout.ends_with("A\n\nx\n"));
    let ran = client.words("expand more x");
    assert!(
        ran.stderr
            .contains("more.md:2003:1: the prompt has more than 1000 messages"),
        "{}",
        ran.stderr
    );
}

#[test]
fn explain_names_the_roles() {
    let client = Client::new()
        .prompt("shots.md", SHOTS)
        .prompt("one.md", "One");
    let ran = client.words("explain shots x");
    assert!(
        ran.stdout
            .contains("\n  messages  user, user, assistant, user\n"),
        "{}",
        ran.stdout
    );
    let json = |name: &str| -> Value { client.run(["explain", "--json", name], "").json() };
    assert_eq!(
        json("shots")["messages"],
        json!(["user", "user", "assistant", "user"])
    );
    assert_eq!(json("one").get("messages"), None);
}
