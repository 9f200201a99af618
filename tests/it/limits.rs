//! Beyond each limit of the README's table there is an error that names it, and nothing else is
//! affected: the next request is served, and the memory is released.
//!
//! The limits of names, folders and symlinks are tested in `prompts_dir.rs`; that of a line in
//! `wire.rs`; those of batches and values in `src/jsonrpc.rs`; those of subscriptions in
//! `changes.rs`; those of arguments and aliases in `src/prompt/format/tests.rs`.

use crate::client::{Client, assert_contains};
use prompt_expander::library::MAX_ENTRIES;
use prompt_expander::prompt::{MAX_FILE, MAX_FRONTMATTER};
use serde_json::{Value, json};

const MIB: usize = 1024 * 1024;

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"ping\",\"method\":\"ping\"}";

/// The next request is served.
#[track_caller]
fn is_served(client: &mut Client) {
    assert_eq!(client.line(PING)["result"], json!({}));
    client.expand("good", "x").text("Good: x");
}

/// A client that has a good prompt.
fn client() -> Client {
    Client::new().prompt("good.md", "Good: {{input}}")
}

#[test]
fn a_file_at_each_limit_is_a_prompt_and_one_beyond_it_is_an_error_with_file_place_limit_and_repair()
{
    let frontmatter = |length: usize| {
        let text = format!(
            "description: {}\n",
            "d".repeat(length - "description: \n".len())
        );
        assert_eq!(text.len(), length);
        format!("---\n{text}---\nBody.")
    };
    for (within, beyond, words) in [
        (
            "x".repeat(MAX_FILE),
            "x".repeat(MAX_FILE + 1),
            "the file is 4,194,305 bytes long, the limit is 4 MiB; make it smaller",
        ),
        (
            frontmatter(MAX_FRONTMATTER),
            frontmatter(MAX_FRONTMATTER + 1),
            "1:1: the frontmatter is 65,537 bytes long, the limit is 64 KiB; move",
        ),
    ] {
        let mut client = client()
            .prompt("within.md", within)
            .prompt("beyond.md", beyond);
        let error = client.expand("beyond", "").error();
        assert!(
            error.contains("/beyond.md:") && error.contains(words),
            "{error}"
        );
        is_served(&mut client);
        let list = client.list();
        assert_eq!(list["problems"][0]["file"], "beyond.md");
        assert!(
            list["problems"][0]["message"]
                .as_str()
                .unwrap()
                .contains(words),
            "{list}"
        );
        assert_eq!(client.names(), "good within");
        client.expand("within", "").structured();
    }
}

/// Files count once for each link to their folder.
#[cfg(unix)]
#[test]
fn too_many_files_are_a_problem_and_exact_names_are_found_all_the_same() {
    let mut client = client();
    for number in 0..500 {
        let link = client.prompts().join(format!("link-{number}"));
        std::os::unix::fs::symlink("files", link).unwrap();
    }
    for number in 0..MAX_ENTRIES / 500 {
        client.write(&format!("files/{number}"), "");
    }
    let list = client.list();
    let message = "more than 200000 files and folders; the rest is skipped; name a smaller folder";
    assert_eq!(list["problems"].as_array().unwrap().len(), 1);
    assert_eq!(list["problems"][0]["message"], message);
    is_served(&mut client);
    let error = client.expand("nope", "").error();
    assert_contains(&error, message);
}

/// A value nested this deep: as the line itself, and in each place of a request that has one.
fn nested(levels: usize) -> Vec<(String, bool)> {
    let line = |members: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",{members}}}")
    };
    let mut lines = Vec::new();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let value = format!("{}0{}", open.repeat(levels), close.repeat(levels));
        let call = "\"name\":\"expand_prompt\",\"arguments\":{\"command\":\"good\",\"input\":\"x\"";
        lines.push((value.clone(), true));
        lines.push((open.repeat(levels), true));
        lines.push((line(&format!("\"params\":{value}")), false));
        lines.push((
            line(&format!("\"params\":{{{call},\"unknown\":{value}}}}}")),
            false,
        ));
        lines.push((
            line(&format!("\"params\":{{{call}}},\"_meta\":{value}}}")),
            false,
        ));
    }
    lines
}

#[test]
fn any_depth_of_nesting_gets_one_answer_and_the_next_request_is_served() {
    for version in ["2025-03-26", "2025-11-25"] {
        let mut client = client();
        client.initialize(version);
        for levels in [1, 126, 127, 128, 100_000] {
            for (line, is_the_line) in nested(levels) {
                let answer = client.line(&line);
                // The one answer of a batch, if it was one.
                let answer = answer
                    .as_array()
                    .map_or(&answer, |answers| &answers[0])
                    .clone();
                let is_expanded = answer["result"]["structuredContent"]["prompt"] == "Good: x";
                let code = answer["error"]["code"].as_i64().unwrap_or_default();
                let is_refused =
                    [-32700, -32600, -32602].contains(&code) || answer["result"]["isError"] == true;
                assert!(is_expanded || is_refused, "{levels}: {line:.200}: {answer}");
                let is_its_own = answer["id"] == 7 && !is_the_line;
                let has_no_id = answer["id"].is_null() && code != 0;
                assert!(is_its_own || has_no_id, "{levels}: {line:.200}: {answer}");
                assert!(
                    is_expanded || levels > 1 || !line.contains("\"unknown\""),
                    "{line}: {answer}"
                );
                is_served(&mut client);
            }
        }
    }
}

/// Memory of the process without its code, and its peak.
#[cfg(target_os = "linux")]
mod memory {
    use super::*;
    use crate::client::memory_kib;

    /// Makes the allocator return memory at once, so that what is measured is what the program
    /// uses. By default, glibc may retain twice the largest block that was freed, up to 64 MiB.
    fn measured(client: Client) -> Client {
        client
            .variable("MALLOC_TRIM_THRESHOLD_", "131072")
            .variable("MALLOC_MMAP_THRESHOLD_", "131072")
    }

    /// What may remain: 8 MiB of cached prompts, 2 MiB of line buffer, and fragmentation of the
    /// heap.
    const ROOM_KIB: u64 = 16 * 1024;

    fn expand(command: &str, input: &str) -> Value {
        let params =
            json!({"name": "expand_prompt", "arguments": {"command": command, "input": input}});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    }

    #[test]
    fn an_expansion_beyond_the_limit_is_refused_before_it_is_built() {
        let mut client = measured(client().prompt("many.md", "{{input}}".repeat(10_000)));
        is_served(&mut client);
        let before = client.peak_memory_kib();
        for _ in 0..3 {
            let error = client.expand("many", &"x".repeat(MIB)).error();
            assert_contains(
                &error,
                "it would become 10,000 MiB long, the limit is 64 MiB",
            );
            is_served(&mut client);
        }
        let peak = client.peak_memory_kib();
        assert!(peak < before + ROOM_KIB, "{before} KiB, then {peak} KiB");
    }

    #[test]
    fn the_memory_of_a_large_request_is_released() {
        let large = "x".repeat(31 * MIB);
        let whole = "x".repeat(MIB);
        let batch = json!(vec![expand("four", ""); 20]).to_string();
        let members: String = (0..1_000_000)
            .map(|number| format!("\"a{number}\":{number},"))
            .collect();
        for (what, line, least) in [
            (
                "a line of 31 MiB",
                expand("echo", &large).to_string(),
                62 * MIB,
            ),
            (
                "an expansion of 63 MiB",
                expand("sixty-three", &whole).to_string(),
                126 * MIB,
            ),
            ("the answers to a batch", batch, 60 * MIB),
            (
                "very many members",
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{{{members}\"z\":0}}}}"),
                0,
            ),
        ] {
            let mut client = measured(
                client()
                    .prompt("echo.md", "{{input}}")
                    .prompt("four.md", "x".repeat(MAX_FILE)),
            );
            client.write("sixty-three.md", "{{input}}".repeat(63));
            client.shake_hands("2025-03-26"); // and no watch, which would read files at any time
            is_served(&mut client);
            let pid = client.pid();
            let before = memory_kib(pid, "RssAnon");
            client.send(format!("{line}\n"));
            let answer = client.read_raw();
            assert!(answer.len() >= least, "{what}: {answer:.300}");
            for _ in 0..3 {
                is_served(&mut client);
            }
            let after = memory_kib(pid, "RssAnon");
            assert!(
                after < before + ROOM_KIB,
                "{what}: {before} KiB, then {after} KiB"
            );
        }
    }
}
