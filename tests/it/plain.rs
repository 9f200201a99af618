//! The rules for plain code that a program can check (`CONTRIBUTING.md`, "How code is written").
//! clippy checks two more of them, `match_bool` and `too_many_lines`.

use crate::tidy::{sources, without_test_modules};
use std::collections::BTreeSet;

/// A line of `src`, without comments and unit tests.
struct CodeLine {
    file: String,
    text: String,
}

fn code_lines() -> Vec<CodeLine> {
    let mut lines = Vec::new();
    for (file, text) in sources("src") {
        if file.ends_with("/tests.rs") {
            continue;
        }
        for line in without_test_modules(&text).lines() {
            if !line.trim_start().starts_with("//") {
                lines.push(CodeLine {
                    file: file.clone(),
                    text: line.to_owned(),
                });
            }
        }
    }
    lines
}

#[test]
fn a_function_has_a_name_instead_of_a_bound_closure() {
    for line in code_lines() {
        let CodeLine { file, text } = &line;
        assert!(!binds_closure(text), "{file}: {text}");
    }
}

/// Returns whether a line has `let name = |…|`.
fn binds_closure(line: &str) -> bool {
    let Some(binding) = line.trim_start().strip_prefix("let ") else {
        return false;
    };
    let Some((name, value)) = binding.split_once(" = ") else {
        return false;
    };
    let is_name = !name.contains(['(', '{', ':']);
    is_name && value.trim_start_matches("move ").starts_with('|')
}

#[test]
fn a_type_name_occurs_once_in_a_module() {
    let mut known = BTreeSet::new();
    for CodeLine { file, text } in code_lines() {
        let module = file.split(['/', '.']).next().unwrap_or_default();
        if let Some(name) = type_name(&text) {
            let is_new = known.insert(format!("{module}::{name}"));
            assert!(
                is_new,
                "{file}: there are two types named {name} in {module}"
            );
        }
    }
}

/// Returns the name of the type that a line declares outside of a function, if it declares one.
fn type_name(line: &str) -> Option<&str> {
    let mut words = line.split(' ');
    let mut word = words.next()?;
    if word.starts_with("pub") {
        word = words.find(|word| !word.starts_with("crate::"))?;
    }
    if !["struct", "enum", "trait", "type"].contains(&word) {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric());
    Some(&name[..end.unwrap_or(name.len())])
}
