//! `prompts/list` and `prompts/get`, in both eras.

use crate::client::{AUDIT, Client, LEGACY, modern, names, revision_meta};
use serde_json::{Value, json};

const COMPARE: &str = "---\ntitle: Compare\ndescription: Compare options\narguments:\n  - name: options\n    description: \
                       What to compare\n    required: true\n  - name: style\n    required: true\n  - name: criteria\n    \
                       required: true\n    default: cost\n---\nCompare {{options}} by {{criteria}}, {{style}}.";

fn get(client: &mut Client, name: &str, arguments: Value) -> Value {
    client.request("prompts/get", json!({"name": name, "arguments": arguments}))
}

#[track_caller]
fn refused(answer: &Value, code: i64, message: &str) {
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["message"]),
        (&json!(code), &json!(message))
    );
}

#[test]
fn every_prompt_is_listed_with_its_arguments_and_a_broken_file_is_not() {
    let mut client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("git/review.md", "# Review\n\nReview {{input}}.")
        .prompt("empty.md", "")
        .prompt(
            "both.md",
            "---\narguments: [lang]\n---\nIn {{lang}}: {{input}}",
        )
        .prompt(
            "unused.md",
            "---\narguments: [{name: a, required: true}]\n---\nB {{input}}",
        )
        .prompt("broken.md", "---\n");
    client.initialize(LEGACY);
    let input = |required: Option<bool>| {
        let mut input = json!({"name": "input", "description": "The text for the prompt"});
        if let Some(required) = required {
            input["required"] = required.into();
        }
        input
    };
    let mut prompts = json!([
        {"name": "both", "description": "In {{lang}}: {{input}}", "arguments": [{"name": "lang"}, input(None)]},
        {"name": "compare", "title": "Compare", "description": "Compare options", "arguments": [
            {"name": "options", "description": "What to compare", "required": true},
            {"name": "style", "required": true},
            {"name": "criteria"}
        ]},
        {"name": "empty", "description": "The prompt `empty`", "arguments": [input(Some(true))]},
        {"name": "git/review", "title": "Review", "description": "Review {{input}}.", "arguments": [input(Some(true))]},
        {"name": "unused", "description": "B {{input}}", "arguments": [{"name": "a"}, input(None)]}
    ]);
    for prompt in prompts.as_array_mut().unwrap() {
        let file = client
            .prompts()
            .join(format!("{}.md", prompt["name"].as_str().unwrap()));
        prompt["_meta"] = revision_meta(&std::fs::read_to_string(file).unwrap());
    }
    assert_eq!(
        client.result("prompts/list", json!({})),
        json!({"prompts": prompts})
    );
    let result = client.result("prompts/list", modern(json!({})));
    assert_eq!(
        (
            &result["prompts"],
            &result["resultType"],
            &result["ttlMs"],
            &result["cacheScope"]
        ),
        (&prompts, &json!("complete"), &json!(0), &json!("private"))
    );
}

#[test]
fn a_prompt_is_one_message_of_the_user_with_a_description() {
    let mut client = Client::new().prompt("compare.md", COMPARE);
    let arguments = json!({"options": " \"a\"\n{{criteria}} ", "style": "<b>&\u{2028}"});
    let text = "Compare  \"a\"\n{{criteria}}  by cost, <b>&\u{2028}.";
    let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    assert_eq!(
        get(&mut client, "compare", arguments.clone())["result"],
        json!({"description": "Compare options", "messages": messages})
    );
    let params = modern(json!({"name": "compare", "arguments": arguments}));
    let result = client.result("prompts/get", params);
    assert_eq!(
        (&result["messages"], &result["resultType"]),
        (&messages, &json!("complete"))
    );
    assert!(
        result.get("ttlMs").is_none() && result.get("cacheScope").is_none(),
        "{result}"
    );
}

#[test]
fn a_number_or_a_boolean_is_the_text_of_its_argument() {
    let mut client = Client::new().prompt("p.md", "---\narguments: [a, b]\n---\n{{a}} {{b}}");
    let answer = get(&mut client, "p", json!({"a": 1.5, "b": true}));
    assert_eq!(
        answer["result"]["messages"][0]["content"]["text"],
        "1.5 true"
    );
}

#[test]
fn input_may_be_missing_or_empty() {
    let mut client = Client::new()
        .prompt("p.md", "[{{input}}]")
        .prompt("bare.md", "Bare.")
        .prompt("compare.md", COMPARE);
    for params in [
        json!({"name": "p"}),
        json!({"name": "p", "arguments": null}),
        json!({"name": "p", "arguments": {"input": ""}}),
        json!({"name": "p", "arguments": {"input": null}}),
        json!({"name": "p", "arguments": {"left": "over"}}),
    ] {
        let answer = client.request("prompts/get", params);
        assert_eq!(
            answer["result"]["messages"][0]["content"]["text"], "[]",
            "{answer}"
        );
    }
    let text = |answer: Value| answer["result"]["messages"][0]["content"]["text"].clone();
    assert_eq!(
        text(get(&mut client, "bare", json!({"input": " x "}))),
        "Bare.\n\n x "
    );
    assert_eq!(text(get(&mut client, "：BARE", json!({}))), "Bare.");
    let empty = json!({"options": "", "style": "", "criteria": ""});
    assert_eq!(
        text(get(&mut client, "compare", empty)),
        "Compare  by cost, ."
    );
}

#[test]
fn errors_name_all_that_is_missing_and_have_their_codes() {
    let client = Client::new()
        .prompt("compare.md", COMPARE)
        .prompt("broken.md", "---\n")
        .prompt("p.md", "P");
    let path = client.path("prompts/broken.md");
    let mut client = client.prompt("audit.md", AUDIT);
    for (params, message) in [
        (
            json!({"name": "compare"}),
            "`compare` cannot be expanded: it needs a value for `options` and `style`; write `:compare options=… style=… \
             [criteria=…]`",
        ),
        (
            json!({"name": "audit", "arguments": {"level": "paranoid"}}),
            "`audit` cannot be expanded: `paranoid` is not a choice for `level`, which takes `low` or `high`; write `:audit \
             [level=…] [tone=…]`",
        ),
        (
            json!({"name": "compare", "arguments": {"options": [3]}}),
            "`arguments.options` must be a string",
        ),
        (
            json!({"name": "compare", "arguments": {"options": 1e22}}),
            "`arguments.options` is too large for a number, which would lose digits: it must be a string in quotes",
        ),
        (
            json!({"name": "comapre"}),
            "no prompt named `comapre`; did you mean `compare`?",
        ),
        (
            json!({"name": "zzzzzz"}),
            "no prompt named `zzzzzz`; prompts/list shows all",
        ),
        (json!({"name": 5}), "`name` must be a string"),
        (json!({"promptId": "compare"}), "`name` is missing"),
        (
            json!({"name": "p", "arguments": []}),
            "`arguments` must be an object",
        ),
    ] {
        refused(
            &client.request("prompts/get", params),
            -32602,
            &format!("invalid params: {message}"),
        );
    }
    let broken = get(&mut client, "broken", json!({}));
    assert_eq!(broken["error"]["code"], -32603);
    let message = broken["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!(
            "{}:1:1: the frontmatter that line 1 opens",
            path.display()
        )),
        "{message}"
    );
    let params = modern(json!({"name": "nope"}));
    assert_eq!(
        client.request("prompts/get", params)["error"]["code"],
        -32602
    );
}

#[test]
fn lists_come_in_pages_of_500_or_of_the_size_that_was_asked_for() {
    let mut small =
        Client::new().arguments(["--page-size", "2", "--no-builtin", "--prompts", "prompts"]);
    for (client, size) in [(&mut Client::new(), 500), (&mut small, 2)] {
        for number in 0..=size {
            client.write(&format!("p{number}.md"), "P");
        }
        client.write("broken.md", "---\n");
        for (method, key) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
            let first = client.result(method, json!({}));
            assert_eq!(first[key].as_array().unwrap().len(), size);
            let second = client.result(method, json!({"cursor": first["nextCursor"]}));
            assert_eq!(
                (
                    second[key].as_array().unwrap().len(),
                    second.get("nextCursor")
                ),
                (1, None)
            );
        }
    }
}

#[test]
fn a_prompt_says_its_tags_and_metadata_and_an_argument_its_title() {
    let file = "---\ndescription: D\ntags: [git, Work]\ncategory: dev\nauthor: Ann\nversion: 1.10\narguments:\n  - \
                {name: a, title: The A}\n---\n{{a}}";
    let plain = "---\ntitle: Plain\n---\nP";
    let mut client = Client::new().prompt("p.md", file).prompt("plain.md", plain);
    let prompts = client.result("prompts/list", json!({}))["prompts"].clone();
    let mut meta = revision_meta(file);
    meta["io.github.prompt-expander/tags"] = json!(["git", "Work"]);
    meta["io.github.prompt-expander/category"] = "dev".into();
    meta["io.github.prompt-expander/author"] = "Ann".into();
    meta["io.github.prompt-expander/version"] = "1.10".into();
    let arguments = json!([{"name": "a", "title": "The A"}]);
    assert_eq!(
        prompts[0],
        json!({"name": "p", "description": "D", "arguments": arguments, "_meta": meta})
    );
    assert_eq!(prompts[1]["_meta"], revision_meta(plain));
    client
        .words("check")
        .printed("2 files checked: 0 errors, 0 warnings\n");
}

/// The names in a page of `prompts/list`, and the cursor.
fn listed(client: &mut Client, params: Value) -> (String, Option<Value>) {
    let list = client.result("prompts/list", params);
    (names(&list["prompts"]), list.get("nextCursor").cloned())
}

/// Prompts with tags, and with categories.
fn tagged() -> Client {
    Client::new()
        .prompt("a.md", "---\ntags: [git, work]\ncategory: Dev\n---\nAlpha")
        .prompt("b.md", "---\ntags: git\n---\nBeta git")
        .prompt("c.md", "---\ncategory: dev\n---\nGamma")
        .prompt("git.md", "Delta")
        .prompt("broken.md", "---\n")
}

#[test]
fn a_filter_selects_prompts_by_category_all_tags_and_query_sorted_by_name() {
    let mut client = tagged();
    for (filter, names) in [
        (json!({"category": "dev"}), "a c"),
        (json!({"category": " DEV "}), "a c"),
        (json!({"tags": ["git"]}), "a b"),
        (json!({"tags": ["#Git", "work"]}), "a"),
        (json!({"query": "git"}), "a b git"),
        (
            json!({"query": "git", "tags": ["git"], "category": "dev"}),
            "a",
        ),
        (json!({"query": "nothing"}), ""),
        (json!({"unknown": true, "category": null}), "a b c git"),
        (json!(null), "a b c git"),
    ] {
        assert_eq!(
            listed(&mut client, json!({"filter": filter})),
            (names.to_owned(), None),
            "{filter}"
        );
        assert_eq!(
            listed(&mut client, modern(json!({"filter": filter}))).0,
            names,
            "{filter}"
        );
    }
    for (params, message) in [
        (json!({"filter": "dev"}), "`filter` must be an object"),
        (
            json!({"filter": {"category": 5}}),
            "`filter.category` must be a string",
        ),
        (
            json!({"filter": {"tags": "git"}}),
            "`filter.tags` must be an array",
        ),
        (
            json!({"filter": {"tags": [5]}}),
            "`filter.tags[0]` must be a string",
        ),
        (
            json!({"limit": 0}),
            "`limit` must be a whole number, 1 or more",
        ),
    ] {
        refused(
            &client.request("prompts/list", params),
            -32602,
            &format!("invalid params: {message}"),
        );
    }
}

#[test]
fn a_limit_is_the_size_of_a_page_and_a_cursor_belongs_to_its_filter() {
    let mut client = tagged();
    let (names, cursor) = listed(&mut client, json!({"limit": 2.0}));
    assert_eq!(names, "a b");
    assert_eq!(
        listed(&mut client, json!({"limit": 1, "cursor": cursor})).0,
        "c"
    );
    assert_eq!(
        listed(&mut client, json!({"cursor": cursor})).0,
        "c git",
        "without a limit as ever"
    );
    let filter = json!({"query": "git"});
    let (names, filtered) = listed(&mut client, json!({"limit": 2, "filter": filter}));
    assert_eq!(names, "a b");
    assert_eq!(
        listed(
            &mut client,
            json!({"limit": 2, "filter": filter, "cursor": filtered})
        ),
        ("git".to_owned(), None)
    );
    let invalid =
        "invalid params: `cursor` was not returned by this list; omit it to get the first page";
    for params in [
        json!({"cursor": filtered}),
        json!({"cursor": filtered, "filter": {"query": "other"}}),
        json!({"cursor": filtered, "filter": {"tags": ["git"]}}),
        json!({"cursor": cursor, "filter": filter}),
    ] {
        refused(&client.request("prompts/list", params), -32602, invalid);
    }
}

#[test]
fn a_long_description_is_cut_in_lists_and_only_there() {
    let long = "word ".repeat(100).trim_end().to_owned();
    let mut client = Client::new().prompt("p.md", format!("---\ndescription: {long}\n---\nP"));
    let cut = format!("{}…", "word ".repeat(60).trim_end());
    assert_eq!(client.list()["prompts"][0]["description"], cut);
    for (method, key) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        assert_eq!(client.result(method, json!({}))[key][0]["description"], cut);
    }
    assert_eq!(
        get(&mut client, "p", json!({}))["result"]["description"],
        long
    );
    assert!(client.words("explain --json p").stdout.contains(&long));
    assert_eq!(
        client
            .call("list_prompts", json!({"query": "word"}))
            .structured()["prompts"][0]["name"],
        "p"
    );
}

/// What opencode 1.18 asks for, and would otherwise run, fill in and attach.
#[test]
fn opencode_finds_no_mark_in_a_text_but_the_values() {
    let body = "!`rm -rf /` $100 \\$ARGUMENTS @README.md @~/.ssh/id_rsa {{a}}, !{{b}}";
    let mut client = Client::new().prompt("p.md", format!("---\narguments: [a, b]\n---\n{body}"));
    let arguments = json!({"a": "$1", "b": "$2"});
    let text = |client: &mut Client, params: Value| {
        client.result("prompts/get", params)["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let params = json!({"name": "p", "arguments": arguments});
    let plain = "!`rm -rf /` $100 $ARGUMENTS @README.md @~/.ssh/id_rsa $1, !$2";
    let inert = "! `rm -rf /` $\u{2060}100 $\u{2060}ARGUMENTS @\u{2060}README.md @\u{2060}~/.ssh/id_rsa $1, ! $2";
    client.introduce(LEGACY, "other");
    assert_eq!(text(&mut client, params.clone()), plain);
    let mut from_opencode = modern(params.clone());
    from_opencode["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({"name": "opencode", "version": "2"});
    assert_eq!(text(&mut client, from_opencode), inert);
    assert_eq!(text(&mut client, params.clone()), plain);
    client.introduce(LEGACY, "opencode");
    assert_eq!(text(&mut client, params), inert);
    // What opencode's model gets through the tool, opencode does not look at.
    client
        .call(
            "expand_prompt",
            json!({"command": "p", "input": "", "arguments": arguments}),
        )
        .text(plain);
}

#[test]
fn opencode_gets_the_text_of_attachments_too_and_its_marks_are_no_wrong_choices() {
    let file = "---\nattachments: [notes.txt]\narguments: [{name: level, choices: [low], strict: true}]\n---\nAt {{level}}\n";
    let mut client = Client::new()
        .prompt("p.md", file)
        .prompt("notes.txt", "!`id` $1 @x");
    client.introduce(LEGACY, "opencode");
    let answer = get(&mut client, "p", json!({"level": "$1"}));
    let text = "At $1\n\nnotes.txt:\n```\n! `id` $\u{2060}1 @\u{2060}x\n```";
    let want = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    assert_eq!(answer["result"]["messages"], want, "{answer}");
    for level in ["high", "$1x"] {
        let answer = get(&mut client, "p", json!({"level": level}));
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("is not a choice for `level`"),
            "{answer}"
        );
    }
    client.introduce(LEGACY, "other");
    assert!(get(&mut client, "p", json!({"level": "$1"}))["error"].is_object());
}
