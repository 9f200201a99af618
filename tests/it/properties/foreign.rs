//! Any bytes are a prompt file of another program, or a diagnostic, and a value is never searched
//! for placeholders.

use prompt_expander::prompt::{
    Call, Diagnostic, FORMATS, FileSuffix, Format, IMPORTED, MAX_ARGUMENTS, Name, Prompt,
};
use std::collections::BTreeMap;

/// Each way to read a file of another program.
pub(super) fn files() -> impl Iterator<Item = (&'static Format, FileSuffix)> {
    let formats = FORMATS
        .iter()
        .chain(&IMPORTED)
        .filter(|format| !format.is_own());
    formats.flat_map(|format| format.file_suffixes().map(move |file| (format, file)))
}

/// Reads the file in each format.
pub(super) fn check(file: &[u8]) {
    for (format, name) in files() {
        let parse = || name.parse(&Name::new("p").unwrap(), file, None);
        let parsed = parse();
        assert_eq!(parsed, parse(), "{}, read twice", format.name);
        match parsed {
            Ok(prompt) => is_of(&prompt, file),
            Err(diagnostic) => is_about(&diagnostic, file),
        }
    }
}

fn is_of(prompt: &Prompt, file: &[u8]) {
    assert!(prompt.arguments.len() <= MAX_ARGUMENTS);
    for warning in prompt.warnings() {
        is_about(&warning, file);
    }
    for found in prompt.unexpanded() {
        assert!(found.position.line >= 1);
    }
    _ = prompt.expand(Call::Text("one \"two three\" four"));
    let values = |value: &str| -> BTreeMap<String, String> {
        prompt
            .value_names()
            .into_iter()
            .map(|name| (name.to_owned(), value.to_owned()))
            .collect()
    };
    let expanded = |values: BTreeMap<String, String>| {
        prompt
            .expand(Call::Named {
                values: &values,
                input: "",
                is_strict: true,
            })
            .unwrap()
            .into_text()
    };
    // A private-use character can be no part of a placeholder.
    let marked = expanded(values("\u{e000}"));
    if !String::from_utf8_lossy(file).contains(['\u{e000}', '\\']) {
        let value = "$ARGUMENTS{{input}}$1{{args}}";
        assert_eq!(
            expanded(values(value)),
            marked.replace('\u{e000}', value),
            "{file:?}"
        );
    }
}

/// The diagnostic says what and how in one line each, and where in the file.
fn is_about(diagnostic: &Diagnostic, file: &[u8]) {
    for text in [&diagnostic.message, &diagnostic.fix] {
        let control = |letter: char| letter.is_control() && letter != '\t';
        assert!(!text.is_empty() && !text.contains(control), "{text:?}");
    }
    let Some(position) = diagnostic.position else {
        return;
    };
    // YAML ends a line at a lone CR, and nothing else does.
    let text = String::from_utf8_lossy(file).replace("\r\n", "\n");
    let lines = text.split(['\n', '\r']).count();
    assert!(
        (1..=lines).contains(&position.line) && position.column >= 1,
        "{position:?}: {diagnostic}"
    );
}
