//! `path` and `show`: where a prompt is, and what its file holds.

use crate::client::Client;
use prompt_expander::prompt::Revision;
use serde_json::json;
use std::fs;
use std::path::Path;

fn built_in(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("prompts/{name}.md")))
        .unwrap()
}

#[test]
fn path_prints_the_folder_of_new_prompts_or_the_file_of_a_prompt() {
    let client = Client::new()
        .arguments(["--prompts", "prompts", "--prompts", "other"])
        .prompt("git/a.md", "---\n");
    client.make_folder("other");
    let line = |file: &str| format!("{}\n", client.path(file).display());
    client.words("path").printed(&line("prompts"));
    for name in ["git/a", ":git:a", "GIT/a"] {
        client
            .run(["path", name], "")
            .printed(&line("prompts/git/a.md")); // a broken one has a path, too
    }
    let path = client.path("prompts/git/a.md").display().to_string();
    client
        .words("path git/a --json")
        .printed(&format!("{}\n", json!({ "path": path })));
    client.words("path reserch").failed(
        1,
        "error: no prompt named `reserch`; did you mean `research`? (`prompt-expander list` shows all prompts)\n",
    );
}

#[test]
fn path_of_a_folder_that_is_not_there_yet_says_so() {
    let client = Client::new().arguments([]);
    let ran = client.words("path");
    let folder = client.path(".config/prompt-expander/prompts");
    assert_eq!(ran.stdout, format!("{}\n", folder.display()));
    assert_eq!(
        ran.stderr,
        "note: the folder does not exist yet; `prompt-expander new NAME` creates it\n"
    );
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn path_of_a_built_in_prompt_says_how_to_see_it() {
    let client = Client::new().arguments([]);
    client.words("path research")
        .failed(1, "error: the built-in prompt `research` has no file; `prompt-expander show research` prints it\n");
}

#[test]
fn show_prints_the_file_byte_for_byte_also_a_broken_or_a_built_in_one() {
    let client = Client::new().arguments(["--prompts", "prompts"]);
    client
        .words("show :research")
        .printed(&built_in("research"));
    for text in [
        "\u{feff}---\r\ntitle: T\r\n---\r\nBody \u{1b}[31m {{input}}",
        "",
        "---\nnever closed",
        "a\nb",
    ] {
        client.write("git/a.md", text);
        client.words("show git:a").printed(text);
    }
    client.write("latin.md", b"caf\xe9");
    let output = client
        .command()
        .args(["--prompts", "prompts", "show", "latin"])
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), output.stdout),
        (Some(0), b"caf\xe9".to_vec())
    );
    client.write("large.md", vec![b'x'; 5 * 1024 * 1024]);
    assert_eq!(client.words("show large").stdout.len(), 5 * 1024 * 1024);
}

#[test]
fn show_prints_json_on_request() {
    let client = Client::new()
        .arguments(["--prompts", "prompts"])
        .prompt("a.md", "A\r\n");
    let path = client.path("prompts/a.md").display().to_string();
    let shown = json!({"name": "a", "layer": "user", "path": path, "revision": Revision::of_contents(b"A\r\n"), "text": "A\r\n"});
    client.words("show a --json").printed(&format!("{shown}\n"));
    let shown = json!({"name": "research", "layer": "built-in", "revision": Revision::of_contents(built_in("research").as_bytes()), "text": built_in("research")});
    client
        .words("show research --json")
        .printed(&format!("{shown}\n"));
    client.write("latin.md", b"caf\xe9");
    let ran = client.words("show latin --json");
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("latin.md:1:4"),
        "{ran:?}"
    );
}

#[cfg(unix)]
#[test]
fn show_waits_for_nothing() {
    let client = Client::new();
    crate::client::make_fifo(&client.path("prompts/fifo.md"));
    client
        .words("show fifo")
        .says(1, &["it is not a regular file"]);
}
