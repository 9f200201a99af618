//! The real opencode, with a model that is scripted here: what it makes of a prompt from its menu,
//! and of a message with the plugin.
//!
//! It is skipped where opencode is not named:
//! `OPENCODE=$(command -v opencode) cargo test --test it -- opencode`.

use crate::client::{Client, assert_contains};
use crate::http_service::{Service, response};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

/// A model that answers each request with one word.
fn model() -> Service {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!(
            "data: {}\n\n",
            json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
        )
    };
    let said = chunk(
        json!({"role": "assistant", "content": "Done."}),
        Value::Null,
    ) + &chunk(json!({}), json!("stop"));
    Service::answering(response(
        "200 OK",
        "text/event-stream",
        &format!("{said}data: [DONE]\n\n"),
    ))
}

/// The messages that opencode sends to its model for what is typed, after these options.
fn sent(client: &Client, opencode: &str, words: &[&str]) -> Vec<String> {
    let model = model();
    let config = json!({
        "model": "here/m", "small_model": "here/m", "share": "disabled", "autoupdate": false,
        "provider": {"here": {
            "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": model.url() + "/v1", "apiKey": "x"}, "models": {"m": {"name": "m"}}
        }},
        "mcp": {"prompts": {"type": "local", "command": [
            env!("CARGO_BIN_EXE_prompt-expander"), "--no-builtin", "--prompts", client.prompts()
        ]}}
    });
    client.put(".config/opencode/opencode.json", config.to_string());
    let mut command = Command::new(opencode);
    command.arg("run").args(words);
    command
        .current_dir(client.root())
        .stdin(Stdio::null())
        .env("HOME", client.root());
    for variable in [
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
    ] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let bodies = model
        .requests()
        .into_iter()
        .filter_map(|request| serde_json::from_str::<Value>(&request.body).ok());
    let messages = bodies.flat_map(|body| body["messages"].as_array().unwrap().clone());
    messages
        .map(|message| {
            message["content"]
                .as_str()
                .map_or_else(|| message["content"].to_string(), str::to_owned)
        })
        .collect()
}

#[test]
fn a_prompt_of_the_menu_runs_fills_in_and_attaches_nothing() {
    let Ok(opencode) = std::env::var("OPENCODE") else {
        return;
    };
    let body = "Ran: !`touch ran; echo PWNED`\nCost $100, awk '{print $2}', \\$ARGUMENTS.\nFiles @notes.txt, @~/secret.txt, @general.\n\
                A={{a}} !{{a}}`touch ran` {{a}}0";
    let client = Client::new().prompt("danger.md", format!("---\narguments: [a]\n---\n{body}"));
    for file in ["notes.txt", "secret.txt"] {
        client.put(file, "CONTENT OF A FILE");
    }
    let sent = sent(
        &client,
        &opencode,
        &["--command", "prompts:danger", "one two"],
    );
    assert!(!client.path("ran").exists(), "a command was run");
    let is_harmless = |text: &String| {
        !["PWNED\n", "CONTENT OF A FILE", "call the task tool"]
            .iter()
            .any(|sign| text.contains(sign))
    };
    assert!(sent.iter().all(is_harmless), "{sent:?}");
    // A space and invisible characters apart, the text is that of the prompt.
    let want = "Ran: ! `touch ran; echo PWNED`\nCost $100, awk '{print $2}', $ARGUMENTS.\nFiles @notes.txt, @~/secret.txt, @general.\n\
                A=one two ! one two `touch ran` one two0";
    assert!(
        sent.iter().any(|text| text.replace('\u{2060}', "") == want),
        "{sent:?}"
    );
}

#[test]
fn a_prompt_of_several_messages_keeps_its_roles_and_says_where_its_image_is() {
    let Ok(opencode) = std::env::var("OPENCODE") else {
        return;
    };
    let file = "---\nmessages: true\nattachments: [a.png, notes.txt]\n---\nExample.\n<!-- assistant -->\npositive\n<!-- user -->\n{{input}}\n";
    let client = Client::new()
        .prompt("shots.md", file)
        .prompt("a.png", "png")
        .prompt("notes.txt", "!`touch ran`\n");
    let sent = sent(
        &client,
        &opencode,
        &["--command", "prompts:shots", "one two"],
    );
    let image = fs::canonicalize(client.path("prompts/a.png")).unwrap();
    let want = format!(
        "User:\nExample.\n\nAssistant:\npositive\n\nUser:\none two\n\nAttached image: {}\n\nnotes.txt:\n```\n! `touch ran`\n```",
        image.display()
    );
    assert!(sent.contains(&want), "{sent:?}");
    assert!(!client.path("ran").exists(), "a command was run");
}

#[test]
fn the_plugin_adds_the_texts_of_the_prompts_and_the_message_stays() {
    let Ok(opencode) = std::env::var("OPENCODE") else {
        return;
    };
    let client = Client::new().arguments([]);
    client.put(
        ".config/prompt-expander/prompts/topic.md",
        "Topic: {{input}}!",
    );
    client.put(
        ".config/prompt-expander/prompts/style.md",
        "Short <sentences>.",
    );
    client.words("install opencode --yes").says(0, &[]);
    for (typed, texts) in [
        (
            ":topic :plan the \"solid\" state\nby :style",
            &[
                "Topic: the \"solid\" state\nby :style!",
                "Short <sentences>.",
            ][..],
        ),
        ("Nothing at 10:30", &[]),
        (":topic", &["Topic: !"]),
    ] {
        let sent = sent(&client, &opencode, &[typed])
            .concat()
            .replace("\\\"", "\"")
            .replace("\\n", "\n");
        assert_eq!(
            sent.matches("(End of the text for").count() > 0,
            !texts.is_empty(),
            "{sent}"
        );
        assert!(
            texts
                .iter()
                .all(|text| sent.contains(&format!("\n\n{text}\n\n(End of the text"))),
            "{sent}"
        );
        let last_word = typed.split(' ').next_back().unwrap();
        assert_contains(&sent, last_word);
    }
}
