//! Where gray_matter reads a file, our own parser reads the same keys and the same body. Its parser
//! is ours as well, yaml-rust2, but everything around the parser is not.
//!
//! gray_matter recurses for each level of nesting and copies what an alias names, so deep nesting and
//! many aliases would end this process. No input here has them.

use gray_matter::engine::YAML;
use gray_matter::{Matter, ParsedEntity, Pod};
use prompt_expander::prompt::{Argument, Name, Prompt};
use std::collections::HashMap;

/// The keys of a file as gray_matter reads them.
pub(super) type Keys = HashMap<String, Pod>;

/// Reads a file with gray_matter. Returns `None` if it refuses the file.
pub(super) fn read_with_gray_matter(file: &str) -> Option<ParsedEntity> {
    Matter::<YAML>::new().parse(file).ok()
}

pub(super) fn read(file: &str) -> Prompt {
    Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap()
}

/// Compares both readings. Returns whether gray_matter found keys.
pub(super) fn check(file: &str) -> bool {
    let Some(entity) = read_with_gray_matter(file) else {
        return false;
    };
    let Some(Pod::Hash(keys)) = entity.data else {
        return false;
    };
    let prompt = read(file);
    check_texts(&keys, &prompt);
    check_arguments(keys.get("arguments"), &prompt.arguments);
    if let Some(Pod::Array(tags)) = keys.get("tags") {
        check_list(tags, &prompt.tags);
    }
    let is_one_message = !keys.contains_key("messages");
    if is_one_message {
        let body = without_blank_ends(&entity.content);
        assert_eq!(prompt.messages[0].body(), body, "{file:?}");
    }
    true
}

/// Compares the keys whose value is a text. Without a title or a description, we take them from the
/// body, and gray_matter does not.
fn check_texts(keys: &Keys, prompt: &Prompt) {
    let metadata = &prompt.metadata;
    for (key, ours) in [
        ("title", &prompt.title),
        ("description", &prompt.description),
        ("author", &metadata.author),
        ("version", &metadata.version),
        ("category", &metadata.category),
    ] {
        let value = keys.get(key).filter(|value| !is_blank(value));
        if let Some(value) = value {
            let text = ours.as_deref().unwrap_or_default();
            assert!(is_same(value, text), "{key}: {value:?} {ours:?}");
        }
    }
}

fn check_arguments(value: Option<&Pod>, ours: &[Argument]) {
    let Some(Pod::Array(items)) = value else {
        return;
    };
    assert_eq!(items.len(), ours.len(), "{items:?} {ours:?}");
    for (item, argument) in items.iter().zip(ours) {
        let Pod::Hash(keys) = item else {
            assert!(is_same(item, &argument.name), "{item:?} {argument:?}");
            continue;
        };
        for (key, text) in [
            ("name", Some(&argument.name)),
            ("title", argument.title.as_ref()),
            ("description", argument.description.as_ref()),
            ("default", argument.default.as_ref()),
        ] {
            let value = keys.get(key).filter(|value| !is_blank(value));
            match (value, text) {
                (Some(value), Some(text)) => assert!(is_same(value, text), "{value:?} {text:?}"),
                (value, text) => assert!(value.is_none() && text.is_none(), "{value:?} {text:?}"),
            }
        }
        let is_required = keys.get("required") == Some(&Pod::Boolean(true));
        assert_eq!(argument.required, is_required && argument.default.is_none());
        if let Some(Pod::Array(choices)) = keys.get("choices") {
            check_list(choices, &argument.choices);
        }
    }
}

/// Compares a list. We leave out empty and repeated texts, and lists in the list.
fn check_list(items: &[Pod], ours: &[String]) {
    for item in items {
        let is_text = !matches!(item, Pod::Null | Pod::Array(_) | Pod::Hash(_));
        let is_listed = ours.iter().any(|text| is_same(item, text));
        assert!(!is_text || is_blank(item) || is_listed, "{item:?} {ours:?}");
    }
    assert!(ours.len() <= items.len());
}

/// Returns whether a value says the same as our text. We keep a number as it is written: `1.10` is
/// not 1.1. We keep a list or a map as YAML, with a warning.
fn is_same(value: &Pod, text: &str) -> bool {
    match value {
        Pod::String(string) => string.trim() == text.trim(),
        Pod::Integer(number) => text.parse() == Ok(*number),
        Pod::Float(number) => text.parse() == Ok(*number),
        Pod::Boolean(boolean) => text.to_lowercase() == boolean.to_string(),
        Pod::Array(_) => text.starts_with('['),
        Pod::Hash(_) => text.starts_with('{'),
        Pod::Null => text.is_empty(),
    }
}

fn is_blank(value: &Pod) -> bool {
    match value {
        Pod::Null => true,
        Pod::String(string) => string.trim().is_empty(),
        _ => false,
    }
}

/// Returns the body without blank lines at both ends, which we remove and gray_matter does not.
fn without_blank_ends(content: &str) -> String {
    let mut lines: Vec<&str> = content.split('\n').collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let blank_count = lines
        .iter()
        .take_while(|line| line.trim().is_empty())
        .count();
    lines[blank_count..].join("\n")
}
