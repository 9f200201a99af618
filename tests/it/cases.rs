//! One file for each expansion: `tests/cases/*.txt`, through every door.
//!
//! A case is an input line, a line `=== file`, a prompt file, a line `=== expansion`, and the text that must come of
//! it. `\n` in the input line is a line end. The last newline of the file is the case's, not the text's.

use crate::client::Client;
use std::fs;
use std::path::Path;

#[test]
fn every_case_expands_to_its_text_through_every_door() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("cases");
    let mut cases: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 20);
    let mut client = Client::new();
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&case).unwrap();
        let (input, rest) = text.split_once("\n=== file\n").unwrap_or_else(|| panic!("{name}: no `=== file`"));
        let (file, want) = rest.split_once("\n=== expansion\n").unwrap_or_else(|| panic!("{name}: no `=== expansion`"));
        let input = input.strip_prefix("input: ").or(input.strip_prefix("input:")).unwrap().replace("\\n", "\n");
        let want = want.strip_suffix('\n').unwrap();
        client.write(&format!("{name}.md"), file);

        let got = client.expand(name, &input).structured();
        assert_eq!(got["prompt"].as_str().unwrap(), want, "{name}, tool");

        let ends = if want.ends_with('\n') { "" } else { "\n" };
        client.run(["expand", name, "-"], &input).printed(&format!("{want}{ends}"));
    }
}
