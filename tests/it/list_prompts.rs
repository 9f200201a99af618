//! The tool `list_prompts`.

use crate::client::{Client, LEGACY, modern};
use serde_json::json;

#[test]
fn prompts_are_listed_by_name_with_their_descriptions() {
    let mut client = Client::new()
        .prompt("b.md", "---\ndescription: \"From: the head\"\n---\nBody")
        .prompt("git/commit.md", "# Title\n\nFrom the *first*\nparagraph.\n\nMore.")
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
        assert_eq!(answer["result"]["structuredContent"], json!({"prompts": [{"name": "a", "description": "A"}]}));
    }
    let answer = client.request("tools/call", json!({"name": "list_prompts", "arguments": []}));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn problems_are_named_and_the_key_is_there_only_when_there_are_any() {
    let mut client = Client::new().prompt("good.md", "Good.");
    assert_eq!(client.list(), json!({"prompts": [{"name": "good", "description": "Good."}]}));
    client.write("git/broken.md", "---\ndescription: never closed\n");
    let path = client.prompts().join("git").join("broken.md");
    assert_eq!(
        client.list(),
        json!({
            "prompts": [{"name": "good", "description": "Good."}],
            "problems": [{
                "file": "git/broken.md",
                "message": format!(
                    "{}:1:1: the frontmatter that line 1 opens with `---` is never closed; add a line `---` after line 2, \
                     or write the rule in line 1 as `***` if no frontmatter is meant",
                    path.display()
                )
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
    let result = client.request("tools/call", modern(json!({"name": "list_prompts"})))["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"], json!({"prompts": [{"name": "a", "description": "A"}]}));
    assert!(result.get("ttlMs").is_none() && result.get("cacheScope").is_none());
}

#[test]
fn what_is_on_disk_is_in_the_very_next_answer() {
    let mut client = Client::new().prompt("a.md", "First.");
    assert_eq!(client.list()["prompts"][0]["description"], "First.");
    client.write("a.md", "Other.");
    assert_eq!(client.list()["prompts"][0]["description"], "Other.");
    client.write("new/deep/b.md", "B");
    assert_eq!(client.names(), "a new/deep/b");
    std::fs::remove_dir_all(client.prompts().join("new")).unwrap();
    assert_eq!(client.names(), "a");
}
