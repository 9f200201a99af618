//! What is imported expands to the same as the original, or a note says what is different.

use super::foreign::files;
use prompt_expander::prompt::{Call, MAX_FILE, Messages, Name, Prompt, import};
use std::collections::BTreeMap;

/// Texts that are divided among arguments, with marks of every system in them.
const TEXTS: [&str; 6] = [
    "",
    "one",
    "one \"two three\" four",
    "b=x a=\"{{input}} $ARGUMENTS\" rest\nof it",
    "{{args}} \\{{a}} $1 <!-- assistant -->",
    "lang=German it's $a <<input>>",
];

/// Reads the file in each format, and imports the prompt.
pub(super) fn check(file: &[u8]) {
    for (format, name) in files().filter(|_| file.len() < MAX_FILE / 8) {
        let Ok(prompt) = name.parse(&Name::new("p").unwrap(), file, None) else {
            continue;
        };
        let prompt = prompt.with_base_directory("/h/$ARGUMENTS/{{input}}/p");
        let Ok(imported) = import(&prompt) else {
            continue;
        };
        let read = Prompt::parse(Name::new("p").unwrap(), imported.text.as_bytes()).unwrap();
        // Without an input, the text of a pattern of fabric ends in another way, and Codex and pi
        // drop quotes.
        if !["codex", "fabric", "pi"].contains(&format.name) {
            are_equal(
                &prompt,
                &read,
                &format!("{} {file:?} as {:?}", format.name, imported.text),
            );
        }
    }
}

/// Both expand to the same messages for each call, or are refused.
#[track_caller]
fn are_equal(one: &Prompt, other: &Prompt, context: &str) {
    let expanded =
        |prompt: &Prompt, call: Call<'_>| prompt.expand(call).map_err(|_| "refused").map(messages);
    for text in TEXTS {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let values: BTreeMap<String, String> = one
            .value_names()
            .into_iter()
            .map(|name| (name.to_owned(), text.to_owned()))
            .collect();
        for call in [
            Call::Text(text),
            Call::Shell {
                words: &words,
                piped: "",
                pipe_index: 0,
            },
            Call::Shell {
                words: &words,
                piped: "piped {{input}}\n",
                pipe_index: words.len(),
            },
            Call::Named {
                values: &values,
                input: text,
                is_strict: false,
            },
        ] {
            assert_eq!(
                expanded(other, call),
                expanded(one, call),
                "{context}, {call:?}"
            );
        }
    }
}

/// The roles and texts.
fn messages(messages: Messages) -> Vec<(&'static str, String)> {
    messages
        .messages
        .into_iter()
        .map(|message| (message.role.name(), message.text))
        .collect()
}
