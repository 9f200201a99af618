//! What is imported expands to the same as the original, or a note says what is different; and what is exported and imported again says
//! the same.

use super::foreign::FORMATS;
use prompt_expander::prompt::{
    Call, Conversion, ExportFormat, Format, MAX_FILE, Messages, Name, Prompt, export, import,
};
use std::collections::BTreeMap;

const EXPORTS: [ExportFormat; 3] = [ExportFormat::Claude, ExportFormat::Gemini, ExportFormat::Jsonl];

/// Texts that are divided among arguments, with marks of every system in them.
const TEXTS: [&str; 6] = [
    "",
    "one",
    "one \"two three\" four",
    "b=x a=\"{{input}} $ARGUMENTS\" rest\nof it",
    "{{args}} \\{{a}} $1 <!-- assistant -->",
    "lang=German it's $a <<input>>",
];

/// Reads the file in each format, imports the prompt and exports it.
pub(super) fn check(file: &[u8]) {
    let Ok(text) = str::from_utf8(file) else { return };
    for format in FORMATS.into_iter().chain([Format::Markdown]) {
        let Ok(prompt) = format.parse(Name::new("p").unwrap(), file) else { continue };
        let prompt = prompt.with_base_directory("/h/$ARGUMENTS/{{input}}/p");
        if text.len() < MAX_FILE / 8 {
            is_imported(&prompt, text);
            // What other formats say is among what these say.
            if matches!(format, Format::Markdown | Format::ClaudeCommand | Format::HexaiPrompt) {
                is_exported(&prompt);
            }
        }
    }
}

fn read(text: &str) -> Prompt {
    Format::Markdown.parse(Name::new("p").unwrap(), text.as_bytes()).unwrap()
}

fn is_imported(prompt: &Prompt, file: &str) {
    let Ok(Conversion { text, notes, .. }) = import(prompt, file) else { return };
    let imported = read(&text);
    // What stays as written is no difference.
    if notes.iter().all(|note| note.message.contains(" as written: ") || note.message.contains("attachment")) {
        are_equal(prompt, &imported, &format!("{:?} {file:?} as {text:?}", prompt.format));
    }
    let again = import(&imported, &text).unwrap();
    assert_eq!(again.text, text, "what is imported is imported as it is");
}

fn is_exported(prompt: &Prompt) {
    let Ok(own) = import(prompt, "") else { return };
    let own = read(&own.text);
    for to in EXPORTS {
        let Ok(exported) = export(&own, to) else { continue };
        let foreign = to.format().parse(Name::new("p").unwrap(), exported.text.as_bytes()).unwrap();
        let imported = import(&foreign, &exported.text).unwrap();
        assert!(!imported.notes.iter().any(|note| note.message.contains("edited")), "{:?}", exported.text);
        let imported = read(&imported.text);
        let context = format!("{to:?} {:?}", exported.text);
        are_equal(&own, &imported, &context);
        let said = |prompt: &Prompt| (prompt.title.clone(), prompt.description.clone(), prompt.tags.clone());
        assert_eq!(said(&imported), said(&own), "{context}");
        assert_eq!(imported.metadata, own.metadata, "{context}");
        let attached = |prompt: &Prompt| prompt.attachments.iter().map(|it| it.path.clone()).collect::<Vec<_>>();
        assert_eq!(attached(&imported), attached(&own), "{context}");
        assert_eq!(imported.arguments, own.arguments, "{context}");
    }
}

/// Both expand to the same messages for each call, or are refused.
#[track_caller]
fn are_equal(one: &Prompt, other: &Prompt, context: &str) {
    let expanded = |prompt: &Prompt, call: Call<'_>| prompt.expand(call).map_err(|_| "refused").map(messages);
    for text in TEXTS {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let values: BTreeMap<String, String> =
            one.value_names().into_iter().map(|name| (name.to_owned(), text.to_owned())).collect();
        for call in [
            Call::Text(text),
            Call::Words(&words),
            Call::Piped { words: &words, text: "piped {{input}}\n", at: words.len() },
            Call::Named { values: &values, input: text, is_strict: false },
        ] {
            assert_eq!(expanded(other, call), expanded(one, call), "{context}, {call:?}");
        }
    }
}

/// The roles and texts.
fn messages(messages: Messages) -> Vec<(&'static str, String)> {
    messages.messages.into_iter().map(|message| (message.role.name(), message.text)).collect()
}
