//! Any bytes are a prompt or a diagnostic, with places that are in the file and a body that is the
//! file's.

use prompt_expander::prompt::{
    Call, Diagnostic, MAX_ARGUMENTS, MAX_FILE, MAX_MESSAGES, Name, Prompt, Severity,
};
use std::collections::HashSet;

/// The longest description that is made from a body, in characters.
const DESCRIPTION: usize = 160;

/// Reads the file, and checks everything that the prompt says about itself.
pub(super) fn check(file: &[u8]) {
    let parse = || Prompt::parse(Name::new("p").unwrap(), file);
    let parsed = parse();
    assert_eq!(parsed, parse(), "read twice");
    match &parsed {
        Ok(prompt) => is_of(prompt, file),
        Err(diagnostic) => {
            assert_eq!(diagnostic.severity(), Severity::Error);
            is_about(diagnostic, file);
        }
    }
}

fn is_of(prompt: &Prompt, file: &[u8]) {
    assert!(file.len() <= MAX_FILE);
    let file = str::from_utf8(file).unwrap();
    let text = file.strip_prefix('\u{feff}').unwrap_or(file);

    let lines = text.replace("\r\n", "\n");
    assert!((1..=MAX_MESSAGES).contains(&prompt.messages.len()));
    for message in &prompt.messages {
        let body = message.body();
        assert!(
            body.lines()
                .next()
                .is_none_or(|first| !first.trim().is_empty()),
            "the first line is empty"
        );
        assert!(!body.ends_with('\n'));
        are_lines_of(body, &lines);
    }
    if !lines.contains("<!--") {
        // The body is the end of the file, except for empty lines. Before it are empty lines, or a
        // frontmatter.
        let body = prompt.messages[0].body();
        let before = lines
            .trim_end()
            .strip_suffix(body.trim_end())
            .expect("the body is the end of the file");
        assert!(
            before.trim().is_empty() || before.starts_with("---"),
            "{before:?}"
        );
        assert!(
            body.is_empty() || (before.is_empty() || before.ends_with('\n')),
            "{before:?}"
        );
    }

    assert!(prompt.arguments.len() <= MAX_ARGUMENTS);
    let mut names = HashSet::new();
    for argument in &prompt.arguments {
        let forbidden =
            |letter: char| letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter);
        assert!(
            !argument.name.is_empty() && !argument.name.contains(forbidden),
            "{:?}",
            argument.name
        );
        assert!(names.insert(&argument.name), "{:?} twice", argument.name);
        are_different_texts(&argument.choices);
    }
    are_different_texts(&prompt.tags);
    assert_eq!(prompt.usage().is_some(), !prompt.arguments.is_empty());

    // No frontmatter: what the prompt says about itself is made from its body.
    let (title, description) = (&prompt.title, &prompt.description);
    assert!(title.as_ref().is_none_or(|title| !title.is_empty()));
    if let Some(description) = description.as_ref().filter(|_| !text.starts_with("---")) {
        assert!(
            (1..=DESCRIPTION).contains(&description.chars().count()),
            "{description:?}"
        );
    }

    let warnings = prompt.warnings();
    assert!(warnings.is_sorted_by_key(|warning| warning.position));
    for warning in &warnings {
        assert_eq!(warning.severity(), Severity::Warning);
        is_about(warning, file.as_bytes());
    }

    // Whatever the file declares, an input is put in or refused, and values by name are never
    // refused.
    _ = prompt.expand(Call::Text("some text"));
    let all = prompt
        .value_names()
        .into_iter()
        .map(|name| (name.to_owned(), "a text".to_owned()))
        .collect();
    prompt
        .expand(Call::Named {
            values: &all,
            input: "",
            is_strict: true,
        })
        .unwrap();
}

/// The lines are in the file, in this order. A marker that is text may have lost its backslash.
fn are_lines_of(body: &str, file: &str) {
    let mut rest = file.split('\n');
    for line in body.lines().map(str::trim_end) {
        let is_line = |of_file: &str| {
            let of_file = of_file.trim_end();
            of_file == line || of_file.replacen('\\', "", 1) == line
        };
        assert!(
            rest.any(is_line),
            "{line:?} is not in the file, or not there"
        );
    }
}

fn are_different_texts(texts: &[String]) {
    let different: HashSet<&String> = texts.iter().collect();
    assert!(
        different.len() == texts.len() && !texts.iter().any(String::is_empty),
        "{texts:?}"
    );
}

/// The diagnostic says what and how in one line each, and where in the file.
fn is_about(diagnostic: &Diagnostic, file: &[u8]) {
    for text in [&diagnostic.message, &diagnostic.fix] {
        // A fix is to be copied, tabs included.
        let control = |letter: char| letter.is_control() && letter != '\t';
        assert!(!text.is_empty() && !text.contains(control), "{text:?}");
    }
    let Some(position) = diagnostic.position else {
        return;
    };
    let text = String::from_utf8_lossy(file);
    if text.replace("\r\n", "").contains('\r') {
        // YAML ends a line at a lone CR, and nothing else does.
        return;
    }
    let mut lines = text.split('\n');
    let line = position
        .line
        .checked_sub(1)
        .and_then(|before| lines.nth(before));
    let line = line.unwrap_or_else(|| panic!("{position:?} is not in the file: {diagnostic}"));
    assert!(
        (1..=line.chars().count() + 1).contains(&position.column),
        "{position:?} is not in its line: {diagnostic}"
    );
}
