//! Attachments: the same text form through every interface, blocks for the clients that take them,
//! and each way in which a file cannot be attached.

use crate::client::{Client, LEGACY, assert_contains, make_fifo};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::symlink;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const REVIEW: &str = "---\nattachments: [wireframe.png, ../style.md, https://example.com/spec, a.mp3]\n---\nReview {{input}}.\n";

fn client() -> Client {
    let client = Client::new()
        .prompt("ui/review.md", REVIEW)
        .prompt("style.md", "# Style\n\n```\ncode\n```\n");
    client
        .prompt("ui/wireframe.png", PNG)
        .prompt("ui/a.mp3", b"ID3")
}

/// The whole path of a file in the prompts folder.
fn path(client: &Client, file: &str) -> String {
    fs::canonicalize(client.prompts())
        .unwrap()
        .join(file)
        .display()
        .to_string()
}

fn text_form(client: &Client) -> String {
    format!(
        "Review x.\n\nAttached image: {}\n\nstyle.md:\n````\n# Style\n\n```\ncode\n```\n````\n\n\
         Attached link: https://example.com/spec\n\nAttached audio: {}",
        path(client, "ui/wireframe.png"),
        path(client, "ui/a.mp3")
    )
}

/// The answer of the hook of Codex to `:p x`, or to another message.
fn hook(client: &Client, message: &str) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": message, "cwd": "/"});
    let ran = client.run(["hook", "codex"], event.to_string());
    let answer = ran.json();
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn get(client: &mut Client, name: &str) -> Value {
    client.request(
        "prompts/get",
        json!({"name": name, "arguments": {"input": "x"}}),
    )
}

#[test]
fn the_text_form_is_the_same_in_the_tool_the_hook_and_the_command_line() {
    let mut client = client();
    let want = text_form(&client);
    client
        .words("expand ui/review x")
        .printed(&format!("{want}\n"));
    client.expand("ui/review", "x").text(&want);
    assert!(hook(&client, ":ui/review x").contains(&format!("\n\n{want}\n\n(End of")));
    let file = format!("{}/ui/review.md", client.prompts().display());
    client
        .run(["expand", &file, "x"], "")
        .printed(&format!("{want}\n"));
}

#[test]
fn a_client_gets_the_messages_and_then_a_block_for_each_attachment() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let text = |text: &str| user(json!({"type": "text", "text": text}));
    let image = user(json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}));
    let style = json!({"uri": "prompt://ui/review?file=style.md", "mimeType": "text/markdown", "text": "# Style\n\n```\ncode\n```\n"});
    let style = user(json!({"type": "resource", "resource": style}));
    let link = user(
        json!({"type": "resource_link", "uri": "https://example.com/spec", "name": "https://example.com/spec"}),
    );
    let link_as_text = text("Attached link: https://example.com/spec");
    let audio = user(json!({"type": "audio", "data": "SUQz", "mimeType": "audio/mpeg"}));
    for (version, link, has_audio) in [
        ("2024-11-05", &link_as_text, false),
        ("2025-03-26", &link_as_text, true),
        ("2025-06-18", &link, true),
        (LEGACY, &link, true),
    ] {
        let mut client = client();
        client.initialize(version);
        let audio = if has_audio {
            audio.clone()
        } else {
            text(&format!("Attached audio: {}", path(&client, "ui/a.mp3")))
        };
        let want = json!([text("Review x."), image, style, link, audio]);
        assert_eq!(
            get(&mut client, "ui/review")["result"]["messages"],
            want,
            "{version}"
        );
    }
}

#[test]
fn claude_code_gets_the_text_form_and_the_images_and_gemini_opencode_and_zed_the_text_form() {
    for (name, has_image) in [
        ("claude-code", true),
        ("gemini-cli-mcp-client", false),
        ("opencode", false),
        ("Zed", false),
    ] {
        let mut client = client();
        client.introduce(LEGACY, name);
        let mut want =
            vec![json!({"role": "user", "content": {"type": "text", "text": text_form(&client)}})];
        if has_image {
            let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
            want.push(json!({"role": "user", "content": image}));
        }
        assert_eq!(
            get(&mut client, "ui/review")["result"]["messages"],
            json!(want),
            "{name}"
        );
    }
}

#[test]
fn the_first_block_is_text_even_of_an_empty_body() {
    let mut client = Client::new()
        .prompt("p.md", "---\nattachments: [a.png]\n---\n")
        .prompt("a.png", PNG);
    let blocks = get(&mut client, "p")["result"]["messages"].clone();
    assert_eq!(
        (&blocks[0]["content"]["type"], &blocks[1]["content"]["type"]),
        (&json!("text"), &json!("image"))
    );
}

#[test]
fn what_is_attached_is_not_a_command_for_opencode() {
    let mut client = Client::new()
        .prompt("p.md", "---\nattachments: [notes.txt]\n---\nRead.")
        .prompt("notes.txt", "!`id` $1 @x");
    client.introduce(LEGACY, "opencode");
    let text = get(&mut client, "p")["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        text.replace('\u{2060}', "_"),
        "Read.\n\nx\n\nnotes.txt:\n```\n! `id` $_1 @_x\n```"
    );
    client.introduce(LEGACY, "it");
    assert_eq!(
        get(&mut client, "p")["result"]["messages"][1]["content"]["resource"]["text"],
        "!`id` $1 @x"
    );
}

#[test]
fn attachments_follow_several_messages() {
    let client = Client::new().prompt("notes.txt", "N");
    client.write(
        "p.md",
        "---\nmessages: true\nattachments: notes.txt\n---\nA\n<!-- assistant -->\nB\n",
    );
    client
        .words("expand p")
        .printed("User:\nA\n\nAssistant:\nB\n\nnotes.txt:\n```\nN\n```\n");
}

#[test]
fn files_of_one_name_are_told_apart_by_their_paths() {
    let client = Client::new()
        .prompt("a/x.txt", "1")
        .prompt("b/x.txt", "2")
        .prompt("y.txt", "3");
    client.write(
        "p.md",
        "---\nattachments: [a/x.txt, b/x.txt, ./y.txt]\n---\nP\n",
    );
    client
        .words("expand p")
        .printed("P\n\na/x.txt:\n```\n1\n```\n\nb/x.txt:\n```\n2\n```\n\ny.txt:\n```\n3\n```\n");
}

#[test]
fn attachments_are_read_at_each_request() {
    let mut client = Client::new()
        .prompt("p.md", "---\nattachments: [a.txt]\n---\nP\n")
        .prompt("a.txt", "one");
    client.expand("p", "").text("P\n\na.txt:\n```\none\n```");
    client.write("a.txt", "two");
    client.expand("p", "").text("P\n\na.txt:\n```\ntwo\n```");
    fs::remove_file(client.path("prompts/a.txt")).unwrap();
    assert!(
        client
            .expand("p", "")
            .error()
            .contains("the attachment `a.txt` cannot be attached: there is no such file")
    );
    client.write("a.txt", "three");
    client.expand("p", "").text("P\n\na.txt:\n```\nthree\n```");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_outside_is_neither_attached_nor_included_while_its_folder_is_swapped_with_a_link() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let mut client = Client::new()
        .prompt("attaches.md", "---\nattachments: [d/s.md]\n---\nP\n")
        .prompt("includes.md", "---\ninclude: true\n---\n{{> d/s}}\n");
    let (folder, link) = (client.path("prompts/d"), client.path("link"));
    client.save("d/s.md", "public");
    client.put("outside/s.md", "secret");
    symlink(client.path("outside"), &link).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for prompt in ["attaches", "includes"] {
            let mut expand =
                || client.call("expand_prompt", json!({"command": prompt, "input": ""}));
            let answers: Vec<String> = (0..1_000).map(|_| expand().0.to_string()).collect();
            let with = |text: &str| {
                answers
                    .iter()
                    .filter(|answer| answer.contains(text))
                    .count()
            };
            let found = (
                with("secret") == 0,
                with("public") > 0,
                with("outside the prompts folder") > 0,
            );
            is_over.store(found != (true, true, true), Ordering::Relaxed); // before the scope waits for the thread
            assert_eq!(found, (true, true, true), "{prompt}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

const OUTSIDE: &str = "cannot be attached: it is outside the prompts folder";

/// Every way in which a file cannot be attached: what is written, and what the error says.
fn broken(client: &Client) -> Vec<(String, &'static str)> {
    client.make_folder("prompts/folder.txt");
    client.put("outside/secret.txt", "secret");
    client.link("../outside/secret.txt", "prompts/link.txt");
    client.link("../outside", "prompts/linked");
    client.link("nowhere", "prompts/broken.txt");
    client.link("loop.txt", "prompts/loop.txt");
    make_fifo(&client.path("prompts/fifo.png"));
    for (name, length) in [
        ("prompts/huge.png", 10 * 1024 * 1024 * 1024),
        ("prompts/large.png", 5 * 1024 * 1024 + 1),
    ] {
        let file = File::create(client.path(name)).unwrap();
        file.set_len(length).unwrap();
    }
    client.write("binary.bin", b"a\0b");
    client.write("latin1.txt", b"na\xefve");
    [
        ("missing.png", "cannot be attached: there is no such file"),
        ("folder.txt", "cannot be attached: it is not a regular file"),
        ("link.txt", OUTSIDE),
        ("linked/secret.txt", OUTSIDE),
        ("../outside/secret.txt", OUTSIDE),
        ("/dev/null", OUTSIDE),
        ("broken.txt", "cannot be attached: the link is broken"),
        ("loop.txt", "cannot be attached: the link is broken"),
        ("p.md/x.txt", "cannot be attached: there is no such file"),
        ("fifo.png", "cannot be attached: it is not a regular file"),
        (
            "huge.png",
            "cannot be attached: the file is 10 GiB long, the limit is 5 MiB",
        ),
        (
            "large.png",
            "cannot be attached: the file is 5,242,881 bytes long, the limit is 5 MiB",
        ),
        ("binary.bin", "is neither an image"),
        ("latin1.txt", "is neither an image"),
        ("http://example.com", "is not an `https://` URL"),
        ("file:///etc/passwd", "is not an `https://` URL"),
    ]
    .map(|(path, why)| (path.to_owned(), why))
    .to_vec()
}

/// A prompt that attaches a file, at line 4, column 5.
fn attaching(path: &str) -> String {
    format!("---\ndescription: D\nattachments:\n  - \"{path}\"\n---\nP {{{{input}}}}\n")
}

#[test]
fn a_file_that_cannot_be_attached_is_an_error_that_names_it() {
    let mut client = Client::new();
    for (path, why) in broken(&client) {
        client.write("p.md", attaching(&path));
        let error = client.expand("p", "x").error();
        assert_contains(&error, "p.md:4:5: ");
        assert_contains(&error, &format!("the attachment `{path}` {why}"));
    }
}

#[test]
fn every_interface_says_which_file_cannot_be_attached() {
    let mut client = Client::new().prompt("p.md", attaching("missing.png"));
    let want = "the attachment `missing.png` cannot be attached: there is no such file";
    client.words("expand p x").says(1, &[want]);
    let error = &get(&mut client, "p")["error"];
    assert_eq!(error["code"], -32603);
    assert_contains(error["message"].as_str().unwrap(), want);
    assert_contains(&hook(&client, ":p x"), want);
    client.words("check").says(1, &["p.md:4:5: error: ", want]);
    client.words("explain p x").says(0, &["  attached  "]);
}

#[test]
fn attachments_of_20_mib_together_are_the_most() {
    let client = Client::new();
    for number in 0..5 {
        let length = if number == 4 { 1 } else { 5 * 1024 * 1024 };
        File::create(client.prompts().join(format!("{number}.png")))
            .unwrap()
            .set_len(length)
            .unwrap();
    }
    client.write(
        "most.md",
        "---\nattachments: [0.png, 1.png, 2.png, 3.png]\n---\nP\n",
    );
    client.write(
        "more.md",
        "---\nattachments: [0.png, 1.png, 2.png, 3.png, 4.png]\n---\nP\n",
    );
    assert!(client.words("expand most").status.success());
    let ran = client.words("expand more");
    assert!(
        ran.stderr.contains(
            "the attachment `4.png` makes all attachments together 20,971,521 bytes long"
        ),
        "{ran:?}"
    );
}

#[test]
fn a_project_attaches_and_includes_files_of_its_folder_of_prompts_only() {
    let client = Client::new()
        .working_in("project")
        .arguments(["--no-builtin", "--project"]);
    for (file, text) in [
        ("secret.txt", "secret"),
        ("secret.md", "secret"),
        (".prompts/a.txt", "A"),
        (".prompts/in.md", "---\nattachments: [a.txt]\n---\nP\n"),
        (
            ".prompts/out.md",
            "---\nattachments: [../secret.txt]\n---\nP\n",
        ),
        (
            ".prompts/include.md",
            "---\ninclude: true\n---\n{{> ../secret}}\n",
        ),
    ] {
        client.write(&format!("../project/{file}"), text);
    }
    client
        .words("expand in")
        .printed("P\n\na.txt:\n```\nA\n```\n");
    for (name, why) in [
        ("out", "`../secret.txt` cannot be attached: it is outside"),
        ("include", "`../secret` cannot be included: it is outside"),
    ] {
        client.run(["expand", name], "").says(1, &[why]);
    }
}

#[test]
fn a_file_outside_of_the_library_attaches_files_of_its_folder() {
    let client = Client::new().prompt("style.txt", "library");
    client.put("drafts/draft.md", "---\nattachments: [style.txt]\n---\nP\n");
    client.put(
        "drafts/far.md",
        "---\nattachments: [../prompts/style.txt]\n---\nP\n",
    );
    client.put("drafts/style.txt", "draft");
    client
        .words("expand ./drafts/draft.md")
        .printed("P\n\nstyle.txt:\n```\ndraft\n```\n");
    let ran = client.words("expand ./drafts/far.md");
    assert!(ran.stderr.contains(OUTSIDE), "{ran:?}");
}

#[test]
fn tests_compare_the_text_with_the_attachments() {
    let client = Client::new().prompt("style.txt", "Two spaces.");
    client.write(
        "styled.md",
        "---\nattachments: [style.txt]\n---\nP {{input}}\n",
    );
    client.words("new --test styled");
    client.words("test --update");
    assert!(
        client
            .words("test")
            .stdout
            .ends_with("1 passed, 0 failed\n")
    );
    client.write("style.txt", "Four spaces.");
    let ran = client.words("test");
    assert!(
        ran.stdout.contains("Four spaces.") && ran.stdout.ends_with("0 passed, 1 failed\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn explain_and_check_show_what_is_attached_and_what_is_wrong_with_the_list() {
    let client = client();
    let ran = client.words("explain ui/review x");
    let want = "\n  attached  wireframe.png, ../style.md, https://example.com/spec, a.mp3\n";
    assert!(ran.stdout.contains(want), "{}", ran.stdout);
    let json = client.words("explain --json ui/review x").json();
    assert_eq!(
        json["attachments"],
        json!([
            "wireframe.png",
            "../style.md",
            "https://example.com/spec",
            "a.mp3"
        ])
    );
    assert_eq!(json["expansion"]["bytes"], text_form(&client).len());
    client.write(
        "odd.md",
        "---\nattachments:\n  - {file: a.png}\n---\nP {{input}}\n",
    );
    client.write(
        "many.md",
        format!(
            "---\nattachments: [{}]\n---\nP {{{{input}}}}\n",
            "a.txt, ".repeat(101)
        ),
    );
    let ran = client.words("check");
    assert!(
        ran.stdout
            .contains("odd.md:3:5: warning: an item of `attachments` is not a string"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains("many.md:2:1: error: the prompt has 101 attachments, the limit is 100"),
        "{}",
        ran.stdout
    );
}
