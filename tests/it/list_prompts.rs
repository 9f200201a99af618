//! The tool `list_prompts`.

use crate::client::{Client, LEGACY, assert_contains, modern, names};
use serde_json::json;

#[test]
fn prompts_are_listed_by_name_with_their_descriptions() {
    let mut client = Client::new()
        .prompt("b.md", "---\ndescription: \"From: the head\"\n---\nBody")
        .prompt(
            "git/commit.md",
            "# Title\n\nFrom the *first*\nparagraph.\n\nMore.",
        )
        .prompt("B.md", "Capital.")
        .prompt("a.md", "");
    client.initialize(LEGACY);
    assert_eq!(
        client.list(),
        json!({"prompts": [
            {"name": "B", "description": "Capital."},
            {"name": "a", "description": ""},
            {"name": "b", "description": "From: the head"},
            {"name": "git/commit", "description": "From the first paragraph."}
        ]})
    );
}

#[test]
fn it_works_without_arguments_and_ignores_unknown_ones() {
    let mut client = Client::new().prompt("a.md", "A");
    for params in [
        json!({"name": "list_prompts"}),
        json!({"name": "list_prompts", "arguments": null}),
        json!({"name": "list_prompts", "arguments": {"wait_for_previous": true}}),
        json!({"name": "list_prompts", "arguments": {}, "task": {"ttl": 1}}),
    ] {
        let answer = client.request("tools/call", params);
        assert_eq!(
            answer["result"]["structuredContent"],
            json!({"prompts": [{"name": "a", "description": "A"}]})
        );
    }
    let answer = client.request(
        "tools/call",
        json!({"name": "list_prompts", "arguments": []}),
    );
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn a_toml_file_that_is_not_a_prompt_is_a_hint_of_check_only() {
    let mut client = Client::new().prompt("good.md", "Good.");
    client.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let want = json!({"prompts": [{"name": "good", "description": "Good."}]});
    assert_eq!(client.list(), want);
    assert!(!client.words("list").stdout.contains("Cargo"));
    client.words("check --strict").says(
        0,
        &["Cargo.toml: hint: there is no `prompt` in the file, so it is not read as a prompt\n"],
    );
}

#[test]
fn no_name_leads_to_a_toml_file_that_is_not_a_prompt() {
    let other = "[package]\nname = \"x\"\n";
    let client = Client::new()
        .prompt("config.md", "Configure.")
        .prompt(
            "git/skill/SKILL.md",
            "---\nname: skill\ndescription: D\n---\nUse it.",
        )
        .arguments(["--prompts", "prompts"]);
    for file in [
        "config.toml",
        "research.toml",
        "Cargo.toml",
        "git/skill.toml",
    ] {
        client.write(file, other);
    }
    client.words("check --strict").says(0, &["4 times: "]);
    for (command, want) in [
        ("research x", "Research the topic below"),
        ("config x", "Configure."),
        ("git/skill x", "Use it."),
    ] {
        client.words(&format!("expand {command}")).says(0, &[want]);
    }
    let unknown = "no prompt named `Cargo`";
    client.words("expand Cargo").says(1, &[unknown]);
    let typed = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":Cargo x"});
    client.run(["hook"], typed.to_string()).printed("");
    client.write("Cargo.toml", "prompt = 'Ship {{args}}'");
    client.words("expand Cargo it").says(0, &["Ship it"]);
}

#[test]
fn problems_are_listed_and_the_key_is_left_out_if_there_are_none() {
    let mut client = Client::new().prompt("good.md", "Good.");
    assert_eq!(
        client.list(),
        json!({"prompts": [{"name": "good", "description": "Good."}]})
    );
    client.write("git/broken.md", "---\ndescription: never closed\n");
    assert_eq!(
        client.list(),
        json!({
            "prompts": [{"name": "good", "description": "Good."}],
            "problems": [{
                "file": "git/broken.md",
                "message": "1:1: the frontmatter that line 1 opens with `---` is never closed; add a line `---` after its last key, or write the rule in line 1 as `***` if no frontmatter is meant"
            }]
        })
    );
}

#[test]
fn the_result_is_content_then_structured_content_with_the_same_compact_json() {
    let mut client = Client::new().prompt("a.md", "A");
    client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"list_prompts\"}}\n");
    assert_eq!(
        client.read_raw(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"prompts\\\":\
         [{\\\"name\\\":\\\"a\\\",\\\"description\\\":\\\"A\\\"}]}\"}],\"structuredContent\":{\"prompts\":\
         [{\"name\":\"a\",\"description\":\"A\"}]}}}\n"
    );
}

#[test]
fn a_modern_result_says_that_it_is_complete() {
    let mut client = Client::new().prompt("a.md", "A");
    let result = client.result("tools/call", modern(json!({"name": "list_prompts"})));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["structuredContent"],
        json!({"prompts": [{"name": "a", "description": "A"}]})
    );
    assert!(result.get("ttlMs").is_none() && result.get("cacheScope").is_none());
}

#[test]
fn a_prompt_with_arguments_shows_its_usage() {
    let mut client = Client::new().prompt(
        "git/compare.md",
        "---\ndescription: D\narguments:\n  - name: options\n    required: true\n  - name: by\n---\n{{options}} {{by}}",
    );
    assert_eq!(
        client.list(),
        json!({"prompts": [{"name": "git/compare", "description": "D", "usage": ":git/compare options=… [by=…]"}]})
    );
}

/// Six prompts, two of them with tags, and two broken files.
fn library() -> Client {
    Client::new()
        .prompt(
            "git/commit.md",
            "---\ndescription: Write a message\ntags: [git, Writing]\n---\n",
        )
        .prompt(
            "git/review.md",
            "---\ndescription: Review a change\ntags: git\n---\n",
        )
        .prompt("research.md", "---\ndescription: Research a topic\n---\n")
        .prompt(
            "rewrite.md",
            "---\ntitle: Rewrite\ndescription: Rewrite a text\n---\n",
        )
        .prompt("git/broken.md", "---\n")
        .prompt("other.md", b"\xff")
}

#[track_caller]
fn listed(client: &mut Client, arguments: serde_json::Value) -> (String, serde_json::Value) {
    let mut list = client.call("list_prompts", arguments).structured();
    let prompts = list.as_object_mut().unwrap().remove("prompts").unwrap();
    if let Some(problems) = list.get_mut("problems") {
        let files: Vec<_> = problems
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| problem["file"].clone())
            .collect();
        *problems = files.into();
    }
    (names(&prompts), list)
}

/// What matches is told in `src/library/query.rs`.
#[test]
fn a_query_selects_matching_prompts_best_first_and_problems_with_a_matching_name() {
    let mut client = library();
    for (query, names, rest) in [
        (
            "git",
            "git/commit git/review",
            json!({"problems": ["git/broken.md"]}),
        ),
        ("write", "rewrite git/commit", json!({})),
        ("other", "", json!({"problems": ["other.md"]})),
        (
            " ",
            "git/commit git/review research rewrite",
            json!({"problems": ["git/broken.md", "other.md"]}),
        ),
    ] {
        assert_eq!(
            listed(&mut client, json!({"query": query})),
            (names.to_owned(), rest),
            "{query}"
        );
    }
}

#[test]
fn a_tag_and_a_limit_select_fewer_and_the_omitted_ones_are_counted() {
    let mut client = library();
    let problems = json!({"problems": ["git/broken.md", "other.md"]});
    for tag in ["git", "#git", " GIT "] {
        let want = ("git/commit git/review".to_owned(), problems.clone());
        assert_eq!(listed(&mut client, json!({"tag": tag})), want, "{tag}");
    }
    assert_eq!(
        listed(&mut client, json!({"tag": "writing"})).0,
        "git/commit"
    );
    assert_eq!(listed(&mut client, json!({"tag": "nothing"})).0, "");
    assert_eq!(
        listed(&mut client, json!({"limit": 1})),
        (
            "git/commit".to_owned(),
            json!({"omitted": 3, "problems": ["git/broken.md"], "omittedProblems": 1})
        )
    );
    for limit in [json!(4), json!(4.0), json!(1_000_000)] {
        assert_eq!(listed(&mut client, json!({"limit": limit})).1, problems);
    }
    assert_eq!(
        listed(
            &mut client,
            json!({"query": "git", "tag": "git", "limit": 1})
        ),
        (
            "git/commit".to_owned(),
            json!({"omitted": 1, "problems": ["git/broken.md"]})
        )
    );
}

#[test]
fn arguments_of_a_wrong_type_are_tool_errors_in_both_eras() {
    let mut client = library();
    let not_a_limit = "`limit` must be a whole number, 1 or more. Call list_prompts again with one, or without it.";
    for (arguments, want) in [
        (
            json!({"query": 5}),
            "`query` must be a string. Call list_prompts again with one, or without it.",
        ),
        (
            json!({"tag": ["git"]}),
            "`tag` must be a string. Call list_prompts again with one, or without it.",
        ),
        (json!({"limit": 0}), not_a_limit),
        (json!({"limit": 1.5}), not_a_limit),
        (json!({"limit": "5"}), not_a_limit),
    ] {
        let params = json!({"name": "list_prompts", "arguments": arguments});
        for params in [params.clone(), modern(params)] {
            let result = client.result("tools/call", params);
            assert_eq!(
                (&result["isError"], &result["content"][0]["text"]),
                (&json!(true), &json!(want)),
                "{arguments}"
            );
        }
    }
    assert_eq!(
        listed(
            &mut client,
            json!({"query": null, "tag": null, "limit": null})
        )
        .0
        .split(' ')
        .count(),
        4
    );
}

#[test]
fn a_template_of_new_is_not_offered_to_models_until_it_is_changed_and_expands_by_name() {
    let mut client = Client::new().prompt("review.md", "R");
    assert!(client.words("new standup").status.success());
    let template = json!({"type": "ref/resource", "uri": "prompt://{+name}"});
    let offered = |client: &mut Client| {
        let completed = json!({"ref": template.clone(), "argument": {"name": "name", "value": ""}});
        let natives = client.result("prompts/list", json!({}))["prompts"].to_string();
        let resources = client.result("resources/list", json!({}))["resources"].to_string();
        let completed = client.result("completion/complete", completed).to_string();
        let close = client.expand("stndup", "").error();
        let unknown = client.expand("xyzzy", "").error();
        let native = client.request("prompts/get", json!({"name": "stndup"}))["error"]["message"]
            .to_string();
        let all = [
            client.names(),
            natives,
            resources,
            completed,
            close,
            unknown,
            native,
        ];
        all.map(|text| text.contains("standup"))
    };
    assert_eq!(offered(&mut client), [false; 7]);
    assert_eq!(
        client
            .call("list_prompts", json!({"limit": 1}))
            .structured()
            .get("omitted"),
        None
    );
    let expansion = client.expand("standup", "x").structured()["prompt"].to_string();
    assert_contains(&expansion, "Say here what the agent is to do");
    assert!(client.words("list").stdout.contains("standup\t"));

    let file = client.text("prompts/standup.md");
    client.write(
        "standup.md",
        file.replace("Say here what the agent is to do with", "Summarize"),
    );
    assert_eq!(offered(&mut client), [true; 7]);
}
