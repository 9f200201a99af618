//! Icons: that of the server, and those of prompts, which only clients of the protocol versions that have them get.

use crate::client::{Client, LEGACY, modern, revision_meta};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

const WITHOUT_ICONS: [&str; 3] = ["2024-11-05", "2025-03-26", "2025-06-18"];

/// Each kind of icon that clients get.
const ICONS: &str = "---
description: D
icons:
  - https://example.com/a.png
  - 'data:image/svg+xml;base64,PHN2Zy8+'
  - {src: HTTPS://example.com/b.svg, mimeType: image/svg+xml, sizes: [48x48, any], theme: dark}
  - src: https://example.com/c.png
    sizes: 16x16
---
P {{input}}";

fn icons() -> Value {
    json!([
        {"src": "https://example.com/a.png"},
        {"src": "data:image/svg+xml;base64,PHN2Zy8+"},
        {"src": "HTTPS://example.com/b.svg", "mimeType": "image/svg+xml", "sizes": ["48x48", "any"], "theme": "dark"},
        {"src": "https://example.com/c.png", "sizes": ["16x16"]}
    ])
}

/// What `prompts/list` says of the first prompt.
fn listed(client: &mut Client) -> Value {
    client.request("prompts/list", json!({}))["result"]["prompts"][0].clone()
}

/// The icons that clients get of a file, and the warnings of `check`.
#[track_caller]
fn sent(file: &str) -> (Value, Vec<String>) {
    let mut client = Client::new().prompt("p.md", file);
    let answer: Value = serde_json::from_str(&client.run(["check", "--json"], "").stdout).unwrap();
    let warning = |problem: &Value| {
        assert_eq!(problem["severity"], "warning", "{problem}");
        format!("{}:{}: {}", problem["line"], problem["column"], problem["message"].as_str().unwrap())
    };
    let warnings = answer["problems"].as_array().unwrap().iter().map(warning).collect();
    client.initialize(LEGACY);
    (listed(&mut client)["icons"].clone(), warnings)
}

#[test]
fn the_icons_of_a_prompt_are_listed_for_the_versions_that_have_them() {
    let mut client = Client::new().prompt("p.md", ICONS);
    let answer = client.request("prompts/list", modern(json!({})));
    assert_eq!(answer["result"]["prompts"][0]["icons"], icons());
    client.initialize(LEGACY);
    assert_eq!(listed(&mut client)["icons"], icons());
    for version in WITHOUT_ICONS {
        client.initialize(version);
        let of_older = json!({"name": "p", "description": "D", "arguments": [
            {"name": "input", "description": "The text for the prompt", "required": true}
        ], "_meta": revision_meta(ICONS)});
        assert_eq!(listed(&mut client), of_older, "{version}");
    }
    client.run(["check", "--strict"], "").printed("1 file checked: 0 errors, 0 warnings\n");
}

#[test]
fn a_single_icon_needs_no_list_and_without_icons_there_is_no_key() {
    let one = (json!([{"src": "https://example.com/a.png"}]), Vec::new());
    assert_eq!(sent("---\nicons: https://example.com/a.png\n---\nP {{input}}"), one);
    assert_eq!(sent("---\nicons: {src: https://example.com/a.png}\n---\nP {{input}}"), one);
    for nothing in ["icons:", "icons: []", "title: T", "icon: LiSparkles"] {
        assert_eq!(sent(&format!("---\n{nothing}\n---\nP {{{{input}}}}")), (Value::Null, Vec::new()), "{nothing}");
    }
}

#[test]
fn an_icon_that_is_neither_https_nor_an_image_in_a_data_uri_is_not_sent_and_check_says_where() {
    let scheme = "begins with neither `https://` nor `data:image/`";
    for (src, why) in [
        ("http://example.com/a.png", scheme),
        ("file:///etc/passwd", scheme),
        ("javascript:alert(1)", scheme),
        ("'data:text/html;base64,PHN2Zy8+'", scheme),
        ("a.png", scheme),
        ("é", scheme),
        ("https://", "is not a whole address"),
        ("https://example.com/a b.png", "is not a whole address"),
        ("\"https://example.com/\\x07\"", "is not a whole address"),
        ("data:image/png;base64", "is not a whole address"),
    ] {
        for (entry, at) in [(src.to_owned(), "3:3"), (format!("{{src: {src}}}"), "3:6")] {
            let (icons, warnings) =
                sent(&format!("---\nicons:\n  - {entry}\n  - https://example.com/a\n---\nP {{{{input}}}}"));
            assert_eq!(icons, json!([{"src": "https://example.com/a"}]), "{entry}");
            let [warning] = warnings.as_slice() else { panic!("{entry}: {warnings:?}") };
            let want = format!(" {why}; clients do not get it");
            assert!(warning.starts_with(&format!("{at}: the icon ")) && warning.ends_with(&want), "{warning}");
        }
    }
    for entry in ["[a]", "{theme: dark}", "{src: }"] {
        let (icons, warnings) = sent(&format!("---\nicons:\n  - {entry}\n---\nP {{{{input}}}}"));
        assert_eq!(icons, Value::Null, "{entry}");
        assert!(warnings[0].starts_with("3:") && warnings[0].contains(": an icon has no address; "), "{warnings:?}");
    }
}

#[test]
fn what_an_icon_says_of_itself_is_sent_only_as_the_protocol_has_it() {
    let file = "---\nicons:\n  - src: https://example.com/a.png\n    mimeType: text/html\n    sizes: [48, 16x16, 1x2x3]\n    \
                theme: blue\n    alt: An icon\n---\nP {{input}}";
    let (icons, warnings) = sent(file);
    assert_eq!(icons, json!([{"src": "https://example.com/a.png", "sizes": ["16x16"]}]));
    assert_eq!(
        warnings,
        [
            "4:15: `text/html` is not the MIME type of an icon; clients do not get it",
            "5:12: `48` is not a size of an icon; clients do not get it",
            "5:12: `1x2x3` is not a size of an icon; clients do not get it",
            "6:12: `blue` is not the theme of an icon; clients do not get it",
        ]
    );
}

#[test]
fn clients_get_8_icons_of_4_kib_each() {
    let list = |count: usize| "\n  - https://example.com/a".repeat(count);
    let file = |icons: &str| format!("---\nicons:{icons}\n---\nP {{{{input}}}}");
    let (icons, warnings) = sent(&file(&list(8)));
    assert_eq!((icons.as_array().unwrap().len(), warnings.len()), (8, 0));
    let (icons, warnings) = sent(&file(&list(10)));
    assert_eq!(icons.as_array().unwrap().len(), 8);
    assert_eq!(warnings, ["11:3: the prompt has 10 icons; clients get the first 8"]);

    let src = |length: usize| format!("data:image/png;base64,{}", "A".repeat(length - 22));
    let longest = src(4096);
    assert_eq!(sent(&file(&format!(" ['{longest}']"))), (json!([{"src": longest}]), Vec::new()));
    for too_long in [format!(" ['{}']", src(4097)), format!(" [{{src: '{longest}', sizes: any}}]")] {
        let (icons, warnings) = sent(&file(&too_long));
        assert_eq!(icons, Value::Null);
        assert!(warnings[0].ends_with(" bytes long, the limit is 4096; clients do not get it"), "{warnings:?}");
    }
}

#[test]
fn icons_of_a_file_for_another_program_are_left_to_that_program() {
    let mut client = Client::new().prompt(".claude/commands/p.md", ICONS);
    let folder = client.prompts().join(".claude/commands");
    client = client.arguments(["--no-builtin", "--prompts", folder.to_str().unwrap()]);
    client.initialize(LEGACY);
    let prompt = listed(&mut client);
    assert_eq!((&prompt["name"], prompt.get("icons")), (&json!("p"), None));
}

#[test]
fn explain_shows_the_addresses_of_icons_and_cuts_long_ones_on_the_page() {
    let image = format!("data:image/png;base64,{}", "A".repeat(100));
    let client = Client::new()
        .prompt("p.md", format!("---\nicons: [https://example.com/a.png, '{image}']\n---\nP {{{{input}}}}"))
        .prompt("plain.md", "P {{input}}");
    let ran = client.run(["explain", "p", "x"], "");
    let shown = format!("\n  icons  https://example.com/a.png {}…\n", &image[..59]);
    assert!(ran.stdout.replace("     ", "  ").contains(&shown), "{}", ran.stdout);
    let json = |name: &str| -> Value {
        serde_json::from_str(&client.run(["explain", "--json", name, "x"], "").stdout).unwrap()
    };
    assert_eq!(json("p")["icons"], json!(["https://example.com/a.png", image]));
    assert_eq!(json("plain").get("icons"), None);
}

#[test]
fn the_server_shows_its_icon_when_a_conversation_begins_in_the_versions_that_have_icons() {
    let plain = json!({"name": "prompt-expander", "version": env!("CARGO_PKG_VERSION")});
    let drawing = include_str!("../../src/server/icon.svg");
    assert!(drawing.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && drawing.len() < 1024);
    let src = format!("data:image/svg+xml;base64,{}", BASE64_STANDARD.encode(drawing.trim_end()));
    let mut with_icon = plain.clone();
    with_icon["icons"] = json!([{"src": src, "mimeType": "image/svg+xml", "sizes": ["any"]}]);

    let mut client = Client::new();
    for version in WITHOUT_ICONS {
        assert_eq!(client.initialize(version)["serverInfo"], plain, "{version}");
    }
    assert_eq!(client.initialize(LEGACY)["serverInfo"], with_icon);
    let server_info = |answer: &Value| answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].clone();
    assert_eq!(server_info(&client.request("server/discover", modern(json!({})))), with_icon);
    // Every modern result has it, and must not become longer.
    assert_eq!(server_info(&client.request("tools/list", modern(json!({})))), plain);
}
