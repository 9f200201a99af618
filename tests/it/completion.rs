//! `completion/complete`, in both eras.

use crate::client::{Client, modern};
use serde_json::{Value, json};

fn complete(client: &mut Client, reference: Value, argument: &str, value: &str) -> Value {
    let params = json!({
        "ref": reference,
        "argument": {"name": argument, "value": value},
        "context": {"arguments": {"other": "x", "number": 3, "boolean": true, "null": null}}
    });
    let answer = client.request("completion/complete", params.clone());
    let in_modern = client.request("completion/complete", modern(params));
    if answer.get("result").is_some() {
        assert_eq!(
            in_modern["result"]["completion"],
            answer["result"]["completion"]
        );
        assert_eq!(in_modern["result"]["resultType"], "complete");
    } else {
        assert_eq!(in_modern["error"], answer["error"]);
    }
    answer
}

#[track_caller]
fn check(client: &mut Client, reference: Value, argument: &str, value: &str, want: &[&str]) {
    let answer = complete(client, reference, argument, value);
    let want = json!({"values": want, "total": want.len(), "hasMore": false});
    assert_eq!(
        answer["result"],
        json!({"completion": want}),
        "{argument} {value:?}"
    );
}

#[test]
fn choices_that_begin_with_the_text_come_before_those_that_contain_it() {
    let choices = "---\narguments:\n  - name: style\n    choices: [terse, Short, very short, structured]\n  - name: free\n\
                   ---\n{{style}} {{free}}";
    let mut client = Client::new().prompt("git/p.md", choices);
    let prompt = json!({"type": "ref/prompt", "name": "git/p", "title": "ignored"});
    for (value, want) in [
        ("", &["terse", "Short", "very short", "structured"][..]),
        ("s", &["Short", "structured", "terse", "very short"]),
        ("SHORT", &["Short", "very short"]),
        ("very short", &["very short"]),
        ("zzz", &[]),
    ] {
        check(&mut client, prompt.clone(), "style", value, want);
    }
    check(&mut client, prompt.clone(), "free", "x", &[]);
    check(&mut client, prompt.clone(), "input", "x", &[]);
    check(&mut client, prompt, "unknown", "", &[]);
}

#[test]
fn the_resource_template_completes_to_prompt_names() {
    let mut client = Client::new()
        .prompt("git/commit.md", "")
        .prompt("commit.md", "")
        .prompt("a b.md", "---\n");
    let template = json!({"type": "ref/resource", "uri": "prompt://{+name}"});
    check(
        &mut client,
        template.clone(),
        "name",
        "",
        &["a b", "commit", "git/commit"],
    );
    check(
        &mut client,
        template.clone(),
        "name",
        "com",
        &["commit", "git/commit"],
    );
    check(
        &mut client,
        template.clone(),
        "name",
        "git/",
        &["git/commit"],
    );
    check(
        &mut client,
        template.clone(),
        "name",
        "git:com",
        &["git/commit"],
    );
    check(
        &mut client,
        template.clone(),
        "name",
        "：com",
        &["commit", "git/commit"],
    );
    check(
        &mut client,
        template.clone(),
        "name",
        &"x".repeat(100_000),
        &[],
    );
    check(&mut client, template, "other", "", &[]);
    check(
        &mut client,
        json!({"type": "ref/resource", "uri": "prompt://git/commit"}),
        "name",
        "",
        &[],
    );
}

#[test]
fn at_most_100_values_are_given_and_all_are_counted() {
    let mut client = Client::new();
    for number in 0..150 {
        client.write(&format!("p{number:03}.md"), "");
    }
    let template = json!({"type": "ref/resource", "uri": "prompt://{+name}"});
    let completion =
        complete(&mut client, template.clone(), "name", "p")["result"]["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&completion["total"], &completion["hasMore"]),
        (&json!(150), &json!(true))
    );
    assert_eq!(completion["values"][99], "p099");
    let many: Vec<String> = (0..150).map(|number| format!("c{number}")).collect();
    client.write(
        "many.md",
        format!(
            "---\narguments: [{{name: x, choices: [{}]}}]\n---\n{{{{x}}}}",
            many.join(", ")
        ),
    );
    let completion = complete(
        &mut client,
        json!({"type": "ref/prompt", "name": "many"}),
        "x",
        "C",
    )["result"]["completion"]
        .clone();
    assert_eq!(
        completion,
        json!({"values": many[..100], "total": 150, "hasMore": true})
    );
}

#[test]
fn a_malformed_or_unknown_reference_is_invalid_params() {
    let mut client = Client::new()
        .prompt("p.md", "P")
        .prompt("broken.md", "---\n");
    let code = |client: &mut Client, reference: Value| {
        complete(client, reference, "x", "")["error"]["code"].clone()
    };
    for reference in [
        json!({"type": "ref/prompt", "name": "nope"}),
        json!({"type": "ref/prompt", "name": 5}),
        json!({"type": "ref/prompt"}),
        json!({"type": "ref/resource", "uri": "file:///{path}"}),
        json!({"type": "ref/resource"}),
        json!({"type": "ref/tool", "name": "p"}),
        json!({}),
        json!("p"),
        json!(null),
    ] {
        assert_eq!(code(&mut client, reference.clone()), -32602, "{reference}");
    }
    assert_eq!(
        code(&mut client, json!({"type": "ref/prompt", "name": "broken"})),
        -32603
    );
    let reference = json!({"type": "ref/prompt", "name": "p"});
    for argument in [
        json!({"name": "x"}),
        json!({"value": ""}),
        json!({"name": "x", "value": 5}),
        json!(null),
    ] {
        let answer = client.request(
            "completion/complete",
            json!({"ref": reference, "argument": argument}),
        );
        assert_eq!(answer["error"]["code"], -32602, "{argument}");
    }
}
