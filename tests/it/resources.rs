//! `resources/list`, `resources/templates/list` and `resources/read`, in both eras.

use crate::client::{Client, LEGACY, modern, revision_meta};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

fn list(client: &mut Client) -> Vec<Value> {
    client.result("resources/list", json!({}))["resources"]
        .as_array()
        .unwrap()
        .clone()
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({"uri": uri}))
}

#[test]
fn each_prompt_is_a_resource_with_size_and_time() {
    let text = "\u{feff}---\r\ntitle: T\r\n---\r\nText é.\r\n";
    let mut client = Client::new()
        .prompt("git/commit.md", text)
        .prompt("broken.md", "---\n");
    let file = std::fs::File::options()
        .write(true)
        .open(client.path("prompts/git/commit.md"))
        .unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(1_736_694_058_900))
        .unwrap();
    client.initialize(LEGACY);
    assert_eq!(
        list(&mut client),
        [json!({
            "uri": "prompt://git/commit",
            "name": "git/commit",
            "title": "T",
            "description": "Text é.",
            "mimeType": "text/markdown",
            "size": text.len(),
            "annotations": {"lastModified": "2025-01-12T15:00:58Z"},
            "_meta": revision_meta(text)
        })]
    );
    let meta = revision_meta(text);
    let contents = json!([{"uri": "prompt://git/commit", "mimeType": "text/markdown", "text": text, "_meta": meta}]);
    assert_eq!(
        read(&mut client, "prompt://git/commit")["result"],
        json!({"contents": contents})
    );
    let result = client.result(
        "resources/read",
        modern(json!({"uri": "prompt://git/commit"})),
    );
    assert_eq!(
        (
            &result["contents"],
            &result["ttlMs"],
            &result["cacheScope"],
            &result["resultType"]
        ),
        (&contents, &json!(0), &json!("private"), &json!("complete"))
    );
}

#[test]
fn a_built_in_prompt_has_a_size_and_no_time() {
    let mut client = Client::new().arguments([]);
    let resources = list(&mut client);
    let research = resources
        .iter()
        .find(|resource| resource["name"] == "research")
        .unwrap();
    assert!(research.get("annotations").is_none());
    let text = read(&mut client, "prompt://research")["result"]["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.starts_with("---\n") && text.len() == research["size"].as_u64().unwrap() as usize);
}

#[test]
fn the_uri_of_any_file_name_reads_that_file() {
    let mut client = Client::new();
    let mut names = vec![
        "Über Äpfel/日本 語",
        "a%20b",
        "100%",
        "a+b&c=d;e@f!$'()*,~",
        "[x]{y}^`|",
        "a b",
        "x.y",
        "UPPER",
    ];
    if cfg!(unix) {
        names.extend(["what?#frag", "a:b", "\"<>\""]);
    }
    for name in &names {
        client.write(&format!("{name}.md"), format!("I am {name}"));
    }
    let resources = list(&mut client);
    assert_eq!(resources.len(), names.len());
    for resource in resources {
        let (name, uri) = (
            resource["name"].as_str().unwrap(),
            resource["uri"].as_str().unwrap(),
        );
        assert!(
            names.contains(&name) && uri.bytes().all(|byte| byte.is_ascii_graphic()),
            "{uri}"
        );
        let contents = read(&mut client, uri)["result"]["contents"][0].clone();
        assert_eq!(
            (&contents["text"], &contents["uri"]),
            (&json!(format!("I am {name}")), &json!(uri))
        );
        // As a client writes it that leaves reserved characters, or all, as they are.
        let text =
            read(&mut client, &format!("PROMPT://{name}"))["result"]["contents"][0]["text"].clone();
        assert!(
            text == format!("I am {name}") || name == "a%20b",
            "{name}: {text}"
        );
    }
    std::fs::remove_file(client.path("prompts/a b.md")).unwrap();
    assert_eq!(
        read(&mut client, "prompt://a%20b")["result"]["contents"][0]["text"],
        "I am a%20b"
    );
}

#[test]
fn an_unknown_uri_has_the_code_of_its_era() {
    let mut client = Client::new().prompt("inside.md", "I");
    client.put("secret.md", "SECRET");
    let long = format!("prompt://{}", "x".repeat(100_000));
    for uri in [
        "prompt://nope",
        "prompt://%2e%2e/secret",
        "prompt:///inside",
        "prompt://inside%00",
        "prompt://%ff",
        "file:///etc/passwd",
        "",
        &long,
    ] {
        let error = read(&mut client, uri)["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]),
            (&json!(-32002), &json!({"uri": uri})),
            "{uri}"
        );
        let error = client.request("resources/read", modern(json!({"uri": uri})))["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]),
            (&json!(-32602), &json!({"uri": uri})),
            "{uri}"
        );
    }
}

#[test]
fn a_uri_that_is_not_a_string_is_invalid_params() {
    let mut client = Client::new();
    for method in [
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
    ] {
        for params in [
            json!({}),
            json!({"uri": 5}),
            json!({"uri": null}),
            json!({"uri": ["prompt://a"]}),
        ] {
            assert_eq!(
                client.request(method, params)["error"]["code"],
                -32602,
                "{method}"
            );
        }
    }
}

#[test]
fn a_broken_prompt_can_be_read_and_a_file_that_is_not_text_says_why() {
    let mut client = Client::new()
        .prompt("broken.md", "---\nx: y\n")
        .prompt("bytes.md", b"ok\nab\xff");
    assert_eq!(
        read(&mut client, "prompt://broken")["result"]["contents"][0]["text"],
        "---\nx: y\n"
    );
    let error = read(&mut client, "prompt://bytes")["error"].clone();
    assert_eq!(error["code"], -32603);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("bytes.md:2:3: the file is not UTF-8"),
        "{error}"
    );
}

#[test]
fn there_is_one_template() {
    let mut client = Client::new();
    let templates = json!([{
        "uriTemplate": "prompt://{+name}",
        "name": "prompt",
        "title": "Prompt file",
        "description": "The Markdown source of a prompt, by the prompt's name",
        "mimeType": "text/markdown"
    }]);
    assert_eq!(
        client.result("resources/templates/list", json!({})),
        json!({"resourceTemplates": templates})
    );
    let result = client.result("resources/templates/list", modern(json!({})));
    assert_eq!(
        (&result["resourceTemplates"], &result["ttlMs"]),
        (&templates, &json!(0))
    );
}
