//! Any bytes are a test file or a diagnostic; a text that is written into one is what the case
//! expects, and nothing else changes.

use prompt_expander::prompt::{Case, MAX_FILE, Name, Prompt, Tests};
use std::collections::BTreeMap;

/// The test file and the text to be written, separated by this.
const SEPARATOR: &[u8] = b"\n====\n";

/// The same for a test file and a text in one.
pub(super) fn check_bytes(bytes: &[u8]) {
    let at = bytes
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR);
    let (file, text) = at.map_or((bytes, &b"a"[..]), |at| {
        (&bytes[..at], &bytes[at + SEPARATOR.len()..])
    });
    check(file, &String::from_utf8_lossy(text));
}

pub(super) fn check(file: &[u8], text: &str) {
    let parsed = Tests::parse(file);
    assert_eq!(parsed, Tests::parse(file), "read twice");
    let tests = match parsed {
        Ok(tests) => tests,
        Err(diagnostic) => {
            let lines = file.split(|byte| *byte == b'\n').count();
            assert!(
                diagnostic
                    .position
                    .is_none_or(|position| (1..=lines).contains(&position.line)),
                "{diagnostic:?}"
            );
            assert!(
                !format!("{diagnostic}").contains(char::is_control),
                "{diagnostic:?}"
            );
            return;
        }
    };
    assert!(!tests.cases.is_empty() && file.len() <= MAX_FILE);
    let file = str::from_utf8(file).unwrap();
    let prompt = Prompt::parse(
        Name::new("p").unwrap(),
        b"---\narguments: [a]\n---\n{{a}} {{input}}",
    )
    .unwrap();
    for case in &tests.cases {
        let outcome = case.run(&prompt, |call| prompt.expand(call));
        assert!(
            outcome.expansion.is_some() || !outcome.failures.is_empty() || !case.can_update_text()
        );
        for failure in outcome.failures {
            let differs = outcome
                .expansion
                .as_ref()
                .is_some_and(|expansion| !case.text_matches(expansion));
            assert!(failure.mismatch.is_none() || differs, "{failure:?}");
        }
    }

    assert_eq!(tests.with_updated_texts(&BTreeMap::new()), file);
    let takes_text =
        |(index, case): (usize, &Case)| case.can_update_text().then(|| (index, text.to_owned()));
    let texts: BTreeMap<usize, String> = tests
        .cases
        .iter()
        .enumerate()
        .filter_map(takes_text)
        .collect();
    let written = tests.with_updated_texts(&texts);
    if written.len() > MAX_FILE {
        return;
    }
    let again = Tests::parse(written.as_bytes()).unwrap();
    assert_eq!(again.cases.len(), tests.cases.len(), "{written:?}");
    assert_eq!(again.with_updated_texts(&texts), written, "written twice");
    for (index, (before, after)) in tests.cases.iter().zip(&again.cases).enumerate() {
        assert_eq!(
            (&before.title, before.clients.len()),
            (&after.title, after.clients.len())
        );
        assert!(
            after.can_update_text() == before.can_update_text()
                && after.text_matches(text) == texts.contains_key(&index)
        );
        let differ = |case: &Case| {
            case.run(&prompt, |call| prompt.expand(call))
                .failures
                .into_iter()
                .filter(|failure| failure.check != "text")
                .count()
        };
        assert_eq!(differ(before), differ(after), "{written:?}");
    }
}
