//! `tools/list`: the two definitions as golden files, and the names in a description that is made
//! anew each time.

use crate::client::{Client, LEGACY, golden};
use serde_json::{Value, json};

fn tools(client: &mut Client) -> Vec<Value> {
    client.result("tools/list", json!({}))["tools"]
        .as_array()
        .unwrap()
        .clone()
}

fn description(client: &mut Client) -> String {
    tools(client)[1]["description"].as_str().unwrap().to_owned()
}

#[test]
fn each_definition_has_its_golden_file() {
    let mut client = Client::new()
        .prompt("git/commit.md", "Commit.")
        .prompt("ask.md", "Ask.")
        .arguments(["--prompts", "prompts"]);
    client.initialize(LEGACY);
    let tools = tools(&mut client);
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["list_prompts", "expand_prompt"]);
    for (tool, name) in tools.iter().zip(names) {
        let mut tool = tool.clone();
        tool.sort_all_objects();
        golden(&format!("tools/{name}.json"), &format!("{tool:#}\n"));
    }
}

#[test]
fn every_tool_is_always_loaded_says_that_it_only_reads_and_has_plain_schemas() {
    for tool in tools(&mut Client::new()) {
        assert_eq!(
            tool["annotations"],
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        );
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true);
        assert!(!tool["title"].as_str().unwrap().is_empty());
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object");
            let text = tool[schema].to_string();
            for unwanted in [
                "\"default\":",
                "$ref",
                "oneOf",
                "anyOf",
                "allOf",
                "\"additionalProperties\":false",
            ] {
                assert!(!text.contains(unwanted), "{unwanted} in {text}");
            }
        }
    }
    let expand = &tools(&mut Client::new())[1];
    assert_eq!(
        expand["inputSchema"]["required"],
        json!(["command", "input"])
    );
    assert_eq!(
        expand["inputSchema"]["properties"]["command"]["type"],
        "string"
    );
    assert_eq!(
        expand["inputSchema"]["properties"]["input"]["type"],
        "string"
    );
}

#[test]
fn the_descriptions_say_when_to_call_a_tool_and_what_to_pass() {
    let tools = tools(&mut Client::new());
    for (tool, said) in [
        (0, "by writing `:<command>` in a message"),
        (1, "When any user message has a `:`-prefixed command token"),
        (
            1,
            "(`:research topic`, `:summarize this article`, `:critique \"draft\"`), call this tool before responding",
        ),
        (1, "strip the colon from the name"),
        (1, "pass all remaining text, quotes included, as `input`"),
        (1, "Do not answer without calling it"),
    ] {
        assert!(
            tools[tool]["description"].as_str().unwrap().contains(said),
            "{said}"
        );
    }
}

#[test]
fn the_description_of_expand_prompt_names_own_commands_before_shipped_ones() {
    let mut client = Client::new()
        .prompt("zebra.md", "Z")
        .prompt("test.md", "Mine.")
        .arguments(["--prompts", "prompts"]);
    let description = description(&mut client);
    let names = description.split("Available commands: ").nth(1).unwrap();
    assert_eq!(
        names,
        ":test, :zebra, :commit, :critique, :debug, :decide, :explain, :plan, :refactor, :research, :review, :rewrite, \
         :summarize."
    );
}

#[test]
fn a_new_file_is_in_the_very_next_description() {
    let mut client = Client::new();
    assert!(description(&mut client).ends_with("There are no commands yet."));
    client.write("new.md", "N");
    assert!(description(&mut client).ends_with("Available commands: :new."));
}

#[test]
fn the_description_names_files_that_turn_out_to_be_no_prompts() {
    let mut client = Client::new()
        .prompt("broken.md", b"\xff")
        .prompt("unclosed.md", "---\nx: y\n");
    assert!(description(&mut client).ends_with("Available commands: :broken, :unclosed."));
}
