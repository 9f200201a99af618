//! The rules for plain code that a program can check (`CONTRIBUTING.md`, "How code is written").
//! What does not follow them yet is in lists, which may only become shorter.

use crate::tidy::{sources, without_test_modules};
use std::collections::{BTreeMap, BTreeSet};

/// The most lines of a function, with its first and its last one.
const MAX_FUNCTION: usize = 60;

/// Functions that are longer, as `file:name`.
const LONG_FUNCTIONS: &[&str] = &[];

/// Files with an arm of a `match` on a bool.
const FILES_WITH_BOOL_ARMS: &[&str] = &[];

/// Files that bind a closure to a name.
const FILES_WITH_BOUND_CLOSURES: &[&str] = &[];

/// Type names that occur twice in a module, as `module::Name`.
const REPEATED_TYPES: &[&str] = &[];

/// The code of a file, without comments and unit tests.
struct SourceFile {
    path: String,
    code: String,
}

fn source_files() -> Vec<SourceFile> {
    let mut files = Vec::new();
    for (path, text) in sources("src") {
        if path.ends_with("/tests.rs") {
            continue;
        }
        let code = without_test_modules(&text);
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        files.push(SourceFile {
            code: lines.collect::<Vec<_>>().join("\n"),
            path,
        });
    }
    files
}

/// Compares what breaks a rule with the list of what may still break it.
fn assert_listed(rule: &str, found: &BTreeSet<String>, listed: &[&str]) {
    let listed: BTreeSet<String> = listed.iter().map(|entry| (*entry).to_owned()).collect();
    let new: Vec<&String> = found.difference(&listed).collect();
    assert!(new.is_empty(), "{rule}: {new:#?}");
    let mended: Vec<&String> = listed.difference(found).collect();
    assert!(
        mended.is_empty(),
        "these follow the rule now, so remove them from the list ({rule}): {mended:#?}"
    );
}

/// Returns the name of the function that a line begins, if it begins one.
fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_modifier =
        |word: &str| word.starts_with("pub") || ["const", "async", "in", "unsafe"].contains(&word);
    loop {
        let word = words.next()?;
        if word == "fn" {
            let name = words.next()?;
            let end = name.find(['(', '<']).unwrap_or(name.len());
            return Some(&name[..end]);
        }
        if !is_modifier(word) && !word.ends_with(')') {
            return None;
        }
    }
}

#[test]
fn a_function_has_at_most_60_lines() {
    let mut long = BTreeSet::new();
    for file in source_files() {
        let lines: Vec<&str> = file.code.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(name) = function_name(line) else {
                continue;
            };
            let indent = line.len() - line.trim_start().len();
            let end = format!("{}}}", " ".repeat(indent));
            let length = lines[index..].iter().position(|line| *line == end);
            let is_declaration = line.ends_with(';');
            if !is_declaration && length.is_some_and(|length| length >= MAX_FUNCTION) {
                long.insert(format!("{}:{name}", file.path));
            }
        }
    }
    assert_listed("functions over 60 lines", &long, LONG_FUNCTIONS);
}

#[test]
fn a_bool_is_tested_with_if() {
    let mut found = BTreeSet::new();
    for file in source_files() {
        let has_arm = file.code.lines().any(|line| {
            let line = line.trim_start();
            line.starts_with("true =>") || line.starts_with("false =>")
        });
        if has_arm {
            found.insert(file.path);
        }
    }
    assert_listed("`match` on a bool", &found, FILES_WITH_BOOL_ARMS);
}

#[test]
fn a_function_has_a_name_instead_of_a_bound_closure() {
    let mut found = BTreeSet::new();
    for file in source_files() {
        if file.code.lines().any(binds_closure) {
            found.insert(file.path);
        }
    }
    assert_listed(
        "closures bound to a name",
        &found,
        FILES_WITH_BOUND_CLOSURES,
    );
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
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in source_files() {
        let module = file.path.split(['/', '.']).next().unwrap_or_default();
        for line in file.code.lines() {
            if let Some(name) = type_name(line) {
                *counts.entry(format!("{module}::{name}")).or_default() += 1;
            }
        }
    }
    counts.retain(|_, count| *count > 1);
    let repeated = counts.into_keys().collect();
    assert_listed("type names used twice", &repeated, REPEATED_TYPES);
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
