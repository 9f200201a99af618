//! A long expansion in parts, for clients whose limit is known and with `--result-limit`; whole for
//! all others.

use crate::client::{Called, Client, LEGACY, modern};
use serde_json::{Value, json};

/// The length of a text.
type Length = fn(&str) -> usize;

/// The clients whose limit is known, with it: a length of a result as JSON in their unit.
const KNOWN: [(&str, usize, Length); 7] = [
    // The mean of the two copies in what a program of the model prints.
    ("codex-mcp-client", 17_000, |json| {
        (json.len() + json!(json).to_string().len()) / 2
    }),
    ("claude-code", 149_000, |json| json.encode_utf16().count()),
    ("gemini-cli-mcp-client", 39_000, |json| {
        json.encode_utf16().count()
    }),
    ("qwen-cli-mcp-client-prompts", 27_000, |json| {
        json.encode_utf16().count()
    }),
    ("copilot-cli", 20_000, str::len),
    ("opencode", 51_000, str::len),
    ("pi", 20_000, str::len),
];

/// The arguments of a call for this part, or for the first.
fn arguments(command: &str, part: Option<&Value>) -> Value {
    let mut arguments = json!({"command": command, "input": "the \"input\""});
    if let Some(part) = part {
        arguments["part"] = part.clone();
    }
    arguments
}

/// Calls `expand_prompt` until there is no next part: the structured contents.
fn parts(client: &mut Client, command: &str) -> Vec<Value> {
    let mut parts = vec![
        client
            .call("expand_prompt", arguments(command, None))
            .structured(),
    ];
    while let Some(next) = parts.last().unwrap().get("next").cloned() {
        parts.push(
            client
                .call("expand_prompt", arguments(command, Some(&next)))
                .structured(),
        );
    }
    parts
}

/// The parts without their last lines.
fn joined(parts: &[Value]) -> String {
    parts
        .iter()
        .map(|part| {
            part["prompt"]
                .as_str()
                .unwrap()
                .rsplit_once('\n')
                .unwrap()
                .0
        })
        .collect()
}

/// Prose of about this many characters, in paragraphs.
fn prose(characters: usize) -> String {
    (0..characters / 40)
        .map(|number| {
            format!(
                "Line {number:06} says \"é\" and a bit more.{}",
                "\n".repeat(1 + number % 2)
            )
        })
        .collect()
}

#[test]
fn a_known_client_gets_parts_within_its_limit_that_together_are_the_expansion() {
    for (name, limit, length) in KNOWN {
        let mut client =
            Client::new().prompt("long.md", format!("{}\n{{{{input}}}}", prose(2 * limit)));
        client.introduce(LEGACY, name);
        let parts = parts(&mut client, "long");
        assert!((2..=5).contains(&parts.len()), "{name}: {}", parts.len());
        for part in &parts {
            assert!(length(&part.to_string()) <= limit, "{name}");
        }
        let expanded = client.run(["expand", "long", "the \"input\""], "").stdout;
        assert_eq!(joined(&parts) + "\n", expanded, "{name}");
        for part in &parts[..parts.len() - 1] {
            let line = part["prompt"].as_str().unwrap().rsplit_once('\n').unwrap();
            assert!(line.0.ends_with("\n\n"), "a part ends after an empty line");
        }
    }
}

#[test]
fn forty_thousand_characters_are_three_calls_in_codex_and_one_in_an_unknown_client() {
    let mut client =
        Client::new().prompt("long.md", "x".repeat(40_000 - "\n\nthe \"input\"".len()));
    client.introduce(LEGACY, "codex-mcp-client");
    let parts = parts(&mut client, "long");
    let [first, second, third] = parts.as_slice() else {
        panic!("{}", parts.len())
    };
    for part in [first, second, third] {
        assert!(part.to_string().chars().count() <= 17_999);
    }
    let next = first["next"].as_str().unwrap();
    assert!(
        next.starts_with("2-") && second["next"].as_str().unwrap().starts_with("3-"),
        "{next}"
    );
    let last_line = |part: &Value| {
        part["prompt"]
            .as_str()
            .unwrap()
            .rsplit_once('\n')
            .unwrap()
            .1
            .to_owned()
    };
    let call_again = "call expand_prompt again with the same arguments and";
    assert_eq!(
        last_line(first),
        format!("[part 1 of 3: {call_again} \"part\": \"{next}\", before you act]")
    );
    assert_eq!(
        last_line(third),
        "[part 3 of 3: this is the last; now do what all parts together say]"
    );
    assert_eq!(joined(&parts).chars().count(), 40_000);

    client.introduce(LEGACY, "x");
    for part in [None, Some(&first["next"]), Some(&json!("7"))] {
        client
            .call("expand_prompt", arguments("long", part))
            .text(&joined(&parts));
    }
}

#[test]
fn what_fits_is_the_same_for_every_client() {
    let mut client = Client::new()
        .prompt("short.md", "Short: {{input}}")
        .prompt("just.md", "x".repeat(16_965));
    let raw = |client: &mut Client| {
        for part in ["", "1", "last"] {
            client
                .call("expand_prompt", arguments("short", Some(&json!(part))))
                .text("Short: the \"input\"");
        }
        ["short", "just"].map(|command| {
            client
                .call("expand_prompt", arguments(command, None))
                .0
                .to_string()
        })
    };
    let unknown = raw(&mut client);
    for (name, ..) in KNOWN {
        client.introduce(LEGACY, name);
        assert!(raw(&mut client) == unknown, "{name}");
    }
}

#[test]
fn a_modern_request_says_itself_which_client_it_is_from() {
    let mut client = Client::new().prompt("long.md", prose(40_000));
    let call = |client: &mut Client, name: Option<&str>| {
        let mut params =
            modern(json!({"name": "expand_prompt", "arguments": arguments("long", None)}));
        if let Some(name) = name {
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({"name": name, "version": "1"});
        }
        client.result("tools/call", params)["structuredContent"]
            .get("next")
            .is_some()
    };
    assert_eq!(
        [
            call(&mut client, Some("codex-mcp-client")),
            call(&mut client, None)
        ],
        [true, false]
    );
    client.introduce(LEGACY, "codex-mcp-client");
    assert_eq!(
        [call(&mut client, None), call(&mut client, Some("x"))],
        [true, true],
        "the pipe has one client"
    );
    for client_info in [json!(null), json!("codex-mcp-client"), json!({"name": 5})] {
        let mut params =
            modern(json!({"name": "expand_prompt", "arguments": arguments("long", None)}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = client_info;
        assert_eq!(
            Client::new().request("tools/list", params).get("error"),
            None
        );
    }
}

#[test]
fn a_part_of_a_text_that_has_changed_is_an_error_that_says_to_begin_again() {
    let mut client = Client::new().prompt("long.md", prose(40_000));
    client.introduce(LEGACY, "codex-mcp-client");
    let next = client
        .call("expand_prompt", arguments("long", None))
        .structured()["next"]
        .clone();
    let other_input = json!({"command": "long", "input": "other", "part": next});
    let changed = "The text has changed since the previous part. Ignore the parts that you have, and \
                   begin again: call expand_prompt without `part`.";
    let error = |called: Called| called.error();
    assert_eq!(error(client.call("expand_prompt", other_input)), changed);
    client.write("long.md", prose(40_040));
    assert_eq!(
        error(client.call("expand_prompt", arguments("long", Some(&next)))),
        changed
    );
    assert_eq!(
        error(client.call("expand_prompt", arguments("long", Some(&json!("2"))))),
        "`part` must be the `next` value of the previous part. Ignore the parts that you have, and begin again: call \
         expand_prompt without `part`."
    );
}

#[test]
fn the_option_limits_results_for_all_clients_and_nothing_else_is_divided() {
    let arguments = [
        "--no-builtin",
        "--prompts",
        "prompts",
        "--result-limit",
        "1000",
    ];
    let text = prose(5_000);
    let mut client = Client::new().prompt("long.md", &text).arguments(arguments);
    for name in ["x", "codex-mcp-client", "claude-code"] {
        client.introduce(LEGACY, name);
        let parts = parts(&mut client, "long");
        assert!(
            parts.len() > 5
                && parts
                    .iter()
                    .all(|part| part.to_string().chars().count() <= 1_000),
            "{name}"
        );
        let got = client.request(
            "prompts/get",
            json!({"name": "long", "arguments": {"input": "the \"input\""}}),
        );
        assert_eq!(
            got["result"]["messages"][0]["content"]["text"],
            joined(&parts),
            "{name}"
        );
    }
    for (limit, why) in [
        ("599", "less than 600"),
        ("0", "less than 600"),
        ("-1", "not a whole number"),
        ("x", "not a whole number"),
    ] {
        let ran = Client::new()
            .arguments([])
            .run([&format!("--result-limit={limit}")[..]], "");
        assert_eq!(ran.status.code(), Some(2));
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn a_long_list_is_divided_too() {
    for (name, limit, length) in KNOWN {
        let mut client = Client::new();
        for number in 0..limit / 200 {
            let description = "a \"b\" \\".repeat(30);
            client.write(
                &format!("p{number:04}.md"),
                format!("---\ndescription: '{description}'\n---\nB"),
            );
        }
        client.write("z.md", "---\n");
        client.introduce(LEGACY, name);
        let mut parts = vec![client.call("list_prompts", json!({})).structured()];
        while let Some(next) = parts.last().unwrap().get("next").cloned() {
            parts.push(
                client
                    .call("list_prompts", json!({ "part": next }))
                    .structured(),
            );
        }
        assert!((2..=6).contains(&parts.len()), "{name}: {}", parts.len());
        assert!(
            parts.iter().all(|part| length(&part.to_string()) <= limit),
            "{name}"
        );
        let prompts: Vec<&Value> = parts
            .iter()
            .flat_map(|part| part["prompts"].as_array().unwrap())
            .collect();
        let names: Vec<&str> = prompts
            .iter()
            .map(|prompt| prompt["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            (names.len(), names.is_sorted()),
            (limit / 200, true),
            "{name}"
        );
        let (last, before) = parts.split_last().unwrap();
        assert_eq!(last["problems"][0]["file"], "z.md");
        assert!(before.iter().all(|part| part.get("problems").is_none()));
        assert!(
            last["part"]
                .as_str()
                .unwrap()
                .ends_with(": this is the last"),
            "{}",
            last["part"]
        );
        client.write("a.md", "A");
        let again = client
            .call("list_prompts", json!({ "part": before[0]["next"] }))
            .error();
        assert!(
            again.starts_with("The text has changed since")
                && again.ends_with("call list_prompts without `part`.")
        );
        let few = client
            .call("list_prompts", json!({ "query": "p0001", "limit": 1 }))
            .structured();
        assert!(
            few.get("part").is_none() && few.get("next").is_none(),
            "{few}"
        );
    }
}
