//! One file for each expansion: `tests/cases/*.txt`, as a text that is divided, and as values by
//! name.
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

/// What a file of `tests/cases` says.
struct Case {
    name: String,
    input: Value,
    values: Map<String, Value>,
    file: String,
    expansion: String,
}

impl Case {
    fn read(path: &Path) -> Case {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        let (head, rest) = text
            .split_once("\n=== file\n")
            .unwrap_or_else(|| panic!("{name}: no `=== file`"));
        let (file, expansion) = rest
            .split_once("\n=== expansion\n")
            .unwrap_or_else(|| panic!("{name}: no `=== expansion`"));
        let mut lines = head.lines().map(|line| {
            let (key, value) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("{name}: {line}"));
            (key.to_owned(), Value::from(value.replace("\\n", "\n")))
        });
        let (_, input) = lines.next().unwrap();
        let mut values: Map<String, Value> = lines.collect();
        if values.is_empty() {
            values.insert("input".to_owned(), input.clone());
        }
        Case {
            name: name.to_owned(),
            input,
            values,
            file: file.to_owned(),
            expansion: expansion.strip_suffix('\n').unwrap().to_owned(),
        }
    }
}

#[test]
fn every_case_expands_to_its_text_by_the_tool_and_as_an_mcp_prompt() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut client = Client::new();
    for entry in fs::read_dir(folder).unwrap() {
        let case = Case::read(&entry.unwrap().path());
        let name = &case.name;
        client.write(&format!("{name}.md"), &case.file);
        let expanded = client
            .call(
                "expand_prompt",
                json!({"command": name, "input": case.input}),
            )
            .structured();
        assert_eq!(expanded["prompt"], case.expansion, "{name}, tool");
        let params = json!({"name": name, "arguments": case.values});
        let got = client.request("prompts/get", params);
        assert_eq!(
            got["result"]["messages"][0]["content"]["text"], case.expansion,
            "{name}, MCP prompt"
        );
    }
}
