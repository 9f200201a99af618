//! One file for each expansion: `tests/cases/*.txt`, through every interface.
//!
//! A case is a line `input: …`, then perhaps the same as lines `name: value`, a line `=== file`, a
//! prompt file, a line `=== expansion`, and the text that must come of it. `\n` in these lines is a
//! line ending. The last newline of the file is not part of the text.
//!
//! Without lines of values, the one value is `input`.

use crate::client::Client;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

#[test]
fn every_case_expands_to_its_text_through_every_interface() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join("cases");
    let mut cases: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() > 20);
    let mut client = Client::new();
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&case).unwrap();
        let (head, rest) = text
            .split_once("\n=== file\n")
            .unwrap_or_else(|| panic!("{name}: no `=== file`"));
        let (file, want) = rest
            .split_once("\n=== expansion\n")
            .unwrap_or_else(|| panic!("{name}: no `=== expansion`"));
        let want = want.strip_suffix('\n').unwrap();
        client.write(&format!("{name}.md"), file);

        let lines = head.lines().map(|line| {
            line.split_once(':')
                .unwrap_or_else(|| panic!("{name}: {line}"))
        });
        let values = lines.map(|(name, value)| {
            (
                name,
                value
                    .strip_prefix(' ')
                    .unwrap_or(value)
                    .replace("\\n", "\n"),
            )
        });
        let mut values: Vec<(&str, String)> = values.collect();
        let (first, input) = values.remove(0);
        assert_eq!(first, "input", "{name}");
        if values.is_empty() {
            values.push(("input", input.clone()));
        }
        let object: Map<String, Value> = values
            .iter()
            .map(|(key, text)| (key.to_string(), json!(text)))
            .collect();

        let got = client.expand(name, &input).structured();
        assert_eq!(got["prompt"].as_str().unwrap(), want, "{name}, tool");
        // A case without lines of values for a prompt without an `{{input}}` has none to give by
        // name.
        let listed = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
        let listed = listed
            .as_array()
            .unwrap()
            .iter()
            .find(|prompt| prompt["name"] == name)
            .unwrap()
            .clone();
        let takes = |value: &String| {
            listed["arguments"]
                .as_array()
                .unwrap()
                .iter()
                .any(|known| known["name"] == **value)
        };
        let by_name: Map<String, Value> = object
            .clone()
            .into_iter()
            .filter(|(value, _)| takes(value))
            .collect();
        let got = client.call(
            "expand_prompt",
            json!({"command": name, "input": input, "arguments": by_name}),
        );
        assert_eq!(
            got.structured()["prompt"].as_str().unwrap(),
            want,
            "{name}, tool with arguments"
        );

        let got =
            client.request("prompts/get", json!({"name": name, "arguments": object}))["result"]
                .clone();
        assert_eq!(
            got["messages"][0]["content"]["text"], want,
            "{name}, native prompt"
        );

        let ends = if want.ends_with('\n') { "" } else { "\n" };
        let ran = client.run(["expand", name, "-"], &input); // a value outside the choices is a warning
        let warned = ran
            .stderr
            .lines()
            .find(|line| !line.starts_with("warning: "));
        assert_eq!(
            (ran.status.code(), warned),
            (Some(0), None),
            "{name}, command line"
        );
        assert_eq!(ran.stdout, format!("{want}{ends}"), "{name}, command line");
    }
}
