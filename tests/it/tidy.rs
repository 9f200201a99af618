//! The layout that `src/lib.rs` describes: which module may use which, and where a dependency is
//! used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module, and the other modules that it may use. All may use [`COMMON`].
const MAY_USE: [(&str, &[&str]); 18] = [
    ("wording", &[]),
    ("input", &[]),
    ("lock", &[]),
    ("whole_file", &[]),
    ("prompt", &[]),
    ("agents", &["prompt"]),
    ("jsonrpc", &[]),
    ("mcp", &["jsonrpc"]),
    ("library", &["prompt"]),
    ("sources", &["library", "prompt"]),
    ("usage", &["library"]),
    ("hook", &["agents", "library", "prompt", "usage"]),
    ("menus", &["agents", "library", "prompt"]),
    ("doctor", &["agents", "library", "menus", "prompt"]),
    (
        "server",
        &["agents", "jsonrpc", "library", "mcp", "prompt", "usage"],
    ),
    ("api", &["agents", "hook", "library", "prompt"]),
    (
        "transport",
        &[
            "agents", "hook", "jsonrpc", "library", "prompt", "api", "server",
        ],
    ),
    (
        "cli",
        &[
            "agents",
            "doctor",
            "hook",
            "library",
            "menus",
            "sources",
            "prompt",
            "api",
            "server",
            "transport",
            "usage",
        ],
    ),
];

/// The wording of messages, how a lock is taken, and how input and files are read.
const COMMON: [&str; 4] = ["wording", "input", "lock", "whole_file"];

/// A dependency, and the only modules that use it.
const USED_IN: [(&str, &[&str]); 25] = [
    ("anstream", &["cli"]),
    ("base64", &["cli", "server", "transport"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("diffy", &["library"]),
    ("dirs", &["cli"]),
    (
        "jiff",
        &["cli", "library", "server", "sources", "transport", "usage"],
    ),
    ("jsonc_parser", &["agents"]),
    ("minijinja", &["prompt"]),
    ("notify", &["library"]),
    ("percent_encoding", &["cli", "server", "sources", "wording"]),
    ("prometheus_client", &["transport"]),
    ("pulldown_cmark", &["prompt"]),
    ("rustls_platform_verifier", &["sources"]),
    ("sha2", &["prompt", "sources", "transport"]),
    ("signal_hook", &["cli"]),
    ("subtle", &["transport"]),
    ("textwrap", &["cli"]),
    ("tokio_postgres", &["sources"]),
    ("toml_edit", &["agents", "cli", "prompt"]),
    ("tracing_subscriber", &["cli"]),
    ("ureq", &["sources"]),
    ("wait_timeout", &["doctor", "sources"]),
    ("walkdir", &["library", "menus", "sources"]),
    ("yaml_rust2", &["prompt"]),
];

/// The Rust files below a folder of the package: paths below `folder`, and texts.
pub(crate) fn sources(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, files)
            } else {
                files.push(path)
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let name = |file: &Path| {
        file.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/")
    };
    files
        .iter()
        .map(|file| (name(file), fs::read_to_string(file).unwrap()))
        .collect()
}

/// The code of each file of `src`, without comments and unit tests, and the module that it belongs
/// to.
fn code() -> Vec<(String, String, String)> {
    let of_module = |(file, text): (String, String)| {
        let module = file.split(['/', '.']).next().unwrap().to_owned();
        let code = text
            .split("#[cfg(test)]")
            .next()
            .unwrap()
            .split("\nmod tests")
            .next()
            .unwrap();
        let code: Vec<&str> = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        (module, file, code.join("\n"))
    };
    let is_code = |(file, _): &(String, String)| !file.ends_with("/tests.rs");
    let files = sources("src").into_iter().filter(is_code).map(of_module);
    files
        .filter(|(module, ..)| !matches!(module.as_str(), "lib" | "main"))
        .collect()
}

#[test]
fn dependencies_between_modules_point_one_way() {
    for (module, file, code) in code() {
        let known = MAY_USE.iter().find(|(name, _)| *name == module);
        let (_, may_use) =
            known.unwrap_or_else(|| panic!("{file} is not in the table of this test"));
        for used in code.split("crate::").skip(1) {
            let used = used
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .next()
                .unwrap();
            assert!(
                used == module || COMMON.contains(&used) || may_use.contains(&used),
                "{file} uses crate::{used}"
            );
        }
        let above_the_module = "super::".repeat(file.matches('/').count() + 1);
        assert!(
            !code.contains(&above_the_module),
            "{file} uses the crate's root through `super`"
        );
    }
}

/// The most lines of code of a file, without tests, comments and blank lines.
const MAX_FILE: usize = 600;

/// The most tokens of `src`, without comments and unit tests. Code in plain steps takes about a
/// tenth more than packed code, and the rules against hostile files, folders, servers and clients
/// took 30,000. Both were worth it; what nobody would miss pays for them later.
const MAX_CODE_TOKENS: usize = 461_500;

/// The most tokens of the tests: unit tests, `tests` and the fuzz targets.
const MAX_TEST_TOKENS: usize = 370_000;

/// How many methods the traits have at most that a new source implements.
const MAX_METHODS: [(&str, &str, usize); 3] = [
    ("library/source.rs", "Source", 9),
    ("library/source.rs", "Handle", 8),
    ("library/source.rs", "Store", 5),
];

/// The modules and items that the code of a file imports, or names with a path, as paths from the
/// root of the crate.
fn imports(file: &str, code: &str, modules: &BTreeSet<Vec<String>>) -> BTreeSet<Vec<String>> {
    let own: Vec<String> = module_of(file);
    let mut found = BTreeSet::new();
    // `pub(in crate::library)` imports nothing.
    let code = code.replace("pub(in ", "pub(");
    let code: Vec<&str> = code
        .lines()
        .map(|line| {
            line.split_once("pub(crate::").map_or(line, |(_, rest)| {
                rest.split_once(')').map_or(line, |(_, rest)| rest)
            })
        })
        .collect();
    let code = code.join("\n").replace("pub(super::super)", "");
    let words: Vec<&str> = words(&code).collect();
    for (at, word) in words.iter().enumerate() {
        let is_path = words.get(at + 1) == Some(&"::") && (at == 0 || words[at - 1] != "::");
        let child = [own.as_slice(), &[(*word).to_owned()]].concat();
        let start = match *word {
            "crate" => Vec::new(),
            "self" => own.clone(),
            "super" => own[..own.len() - 1].to_vec(),
            _ if modules.contains(&child) => child,
            _ => continue,
        };
        if is_path {
            collect_paths(&words[at + 1..], start, &mut found);
        }
    }
    found
}

/// The words, `::`, and other marks of a text.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = match rest.find(|letter| !is_word(letter)) {
            Some(0) if rest.starts_with("::") => 2,
            Some(0) => rest.chars().next().map_or(0, char::len_utf8),
            Some(end) => end,
            None => rest.len(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// Adds the paths that begin with `start`: one, or several in braces. Returns how many words were
/// read.
fn collect_paths(words: &[&str], start: Vec<String>, found: &mut BTreeSet<Vec<String>>) -> usize {
    let (mut path, mut at) = (start, 0);
    while words.get(at) == Some(&"::") {
        match words.get(at + 1) {
            Some(&"{") => {
                at += 2;
                while at < words.len() && words[at] != "}" {
                    match words[at] {
                        "," => at += 1,
                        word => {
                            let path = [path.as_slice(), &[word.to_owned()]].concat();
                            at += 1 + collect_paths(&words[at + 1..], path, found);
                            while !matches!(words.get(at), Some(&("," | "}")) | None) {
                                at += 1; // `as other`
                            }
                        }
                    }
                }
                return at + 1;
            }
            Some(&"super") => _ = path.pop(),
            Some(word) => path.push((*word).to_owned()),
            None => break,
        }
        at += 2;
    }
    found.insert(path);
    at
}

/// The path of the module that a file holds.
fn module_of(file: &str) -> Vec<String> {
    file.trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_file_imports_itself_through_others() {
    let code = code();
    let modules: BTreeSet<Vec<String>> = code.iter().map(|(_, file, _)| module_of(file)).collect();
    let target = |path: &Vec<String>| {
        (1..=path.len())
            .rev()
            .map(|end| path[..end].to_vec())
            .find(|path| modules.contains(path))
    };
    let graph: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = code
        .iter()
        .map(|(_, file, code)| {
            let own = module_of(file);
            let imported: BTreeSet<_> = imports(file, code, &modules)
                .iter()
                .filter_map(target)
                .filter(|of| *of != own)
                .collect();
            (own, imported)
        })
        .collect();
    // What is left after files that import nothing, or are imported by nothing, are removed again
    // and again, is in a circle or between two.
    let mut left = graph.clone();
    loop {
        let imports_left = |own: &Vec<String>| left[own].iter().any(|of| left.contains_key(of));
        let is_imported = |own: &Vec<String>| left.values().any(|imported| imported.contains(own));
        let free: Vec<_> = left
            .keys()
            .filter(|own| !imports_left(own) || !is_imported(own))
            .cloned()
            .collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|own| _ = left.remove(own));
    }
    let shown: Vec<String> = left
        .iter()
        .flat_map(|(own, imported)| {
            let inside = imported.iter().filter(|of| left.contains_key(*of));
            inside.map(|of| format!("{} -> {}", own.join("/"), of.join("/")))
        })
        .collect();
    assert!(
        shown.is_empty(),
        "files that import each other in a circle:\n{}",
        shown.join("\n")
    );
}

#[test]
fn no_file_is_too_long() {
    for (_, file, code) in code() {
        let count = code.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(
            count <= MAX_FILE,
            "{file} has {count} lines of code, the limit is {MAX_FILE}"
        );
    }
}

#[test]
fn code_and_tests_keep_their_budgets_of_tokens() {
    let mut code_tokens = 0;
    let mut test_tokens = 0;
    for (file, text) in sources("src") {
        let all = count_tokens(&text);
        let is_test_file = file.ends_with("/tests.rs") || file.contains("/tests/");
        let own = if is_test_file {
            0
        } else {
            count_tokens(&without_test_modules(&text))
        };
        code_tokens += own;
        test_tokens += all - own;
    }
    for folder in ["tests", "fuzz/fuzz_targets"] {
        for (_, text) in sources(folder) {
            test_tokens += count_tokens(&text);
        }
    }
    assert!(
        code_tokens <= MAX_CODE_TOKENS,
        "src has {code_tokens} tokens, the limit is {MAX_CODE_TOKENS}"
    );
    assert!(
        test_tokens <= MAX_TEST_TOKENS,
        "the tests have {test_tokens} tokens, the limit is {MAX_TEST_TOKENS}"
    );
}

/// Returns the text of a file without its modules for tests.
pub(crate) fn without_test_modules(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let module = match lines.peek() {
            Some(next) if line.trim() == "#[cfg(test)]" => next.trim_start(),
            _ => "",
        };
        if !module.contains("mod ") {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        if module.ends_with('{') {
            while lines.next().is_some_and(|line| line != "}") {}
        } else {
            lines.next();
        }
    }
    kept
}

/// Returns how many tokens a text of Rust has. A word, a number, an operator, a bracket, a
/// lifetime and a whole literal are one token each; comments are none.
fn count_tokens(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        if !is_comment {
            count += 1;
        }
        rest = rest[token_length(rest)..].trim_start();
    }
    count
}

/// Operators of several characters. The longest come first.
const OPERATORS: [&str; 23] = [
    "..=", "...", "<<=", ">>=", "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "^=", "&=", "|=", "<<", "..",
];

/// Returns the length in bytes of the comment or token that a text begins with.
fn token_length(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    if let Some(length) = literal_length(text) {
        return length;
    }
    let word_length = text
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(text.len());
    if word_length > 0 {
        return word_length;
    }
    let operator = OPERATORS
        .iter()
        .find(|operator| text.starts_with(**operator));
    match operator {
        Some(operator) => operator.len(),
        None => text.chars().next().map_or(0, char::len_utf8),
    }
}

/// Returns the length of the text literal, the character literal or the lifetime that a text
/// begins with, if it does.
fn literal_length(text: &str) -> Option<usize> {
    let mark = text.find(|letter: char| !matches!(letter, 'b' | 'c' | 'r' | '#'))?;
    let prefix = &text[..mark];
    if !text[mark..].starts_with(['"', '\'']) {
        return None;
    }
    let hashes = prefix.trim_start_matches('b').strip_prefix('r');
    if let Some(hashes) = hashes.filter(|hashes| hashes.chars().all(|letter| letter == '#')) {
        let end = format!("\"{hashes}");
        let length = text[mark + 1..].find(&end)?;
        return Some(mark + 1 + length + end.len());
    }
    if !matches!(prefix, "" | "b" | "c") {
        return None;
    }
    let quote = text[mark..].chars().next()?;
    if quote == '\'' && is_lifetime(&text[mark..]) {
        let word = &text[mark + 1..];
        let end = word.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        return Some(mark + 1 + end.unwrap_or(word.len()));
    }
    let mut is_escaped = false;
    for (index, letter) in text.char_indices().skip_while(|(index, _)| *index <= mark) {
        if letter == quote && !is_escaped {
            return Some(index + 1);
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    None
}

/// Whether a text that begins with an apostrophe is a lifetime, not a character.
fn is_lifetime(text: &str) -> bool {
    let mut letters = text.chars().skip(1);
    let first = letters
        .next()
        .is_some_and(|letter| letter.is_alphabetic() || letter == '_');
    first && letters.next() != Some('\'')
}

#[test]
fn what_a_source_implements_is_small() {
    for (file, name, limit) in MAX_METHODS {
        let (_, _, code) = code().into_iter().find(|(_, of, _)| of == file).unwrap();
        let body = code.split_once(&format!("trait {name}")).unwrap().1;
        let body = &body[..body.find("\n}").unwrap()];
        let count = body
            .lines()
            .filter(|line| line.trim_start().starts_with("fn "))
            .count();
        assert!(
            (1..=limit).contains(&count),
            "{name} has {count} methods, the limit is {limit}"
        );
    }
}

#[test]
fn a_dependency_is_used_in_its_modules_only() {
    for (dependency, modules) in USED_IN {
        for (module, file, code) in code() {
            let is_used = code.contains(&format!("{dependency}::"));
            assert!(
                !is_used || modules.contains(&module.as_str()),
                "{file} uses {dependency}, which is for {modules:?}"
            );
        }
    }
}

/// The modules whose messages reach clients that have no command line: agents, and pages.
const FOR_CLIENTS: [&str; 6] = ["prompt", "library", "sources", "hook", "server", "api"];

/// The files in them that only commands use.
const FOR_COMMANDS: [&str; 3] = [
    "sources/pack.rs",
    "sources/pack/",
    "sources/postgres/push.rs",
];

#[test]
fn a_message_for_clients_names_no_option_of_the_command_line() {
    for (module, file, code) in code() {
        let is_for_commands = FOR_COMMANDS.iter().any(|path| file.starts_with(path));
        if is_for_commands || !FOR_CLIENTS.contains(&module.as_str()) {
            continue;
        }
        for line in code.lines() {
            let names_option = line
                .split("--")
                .skip(1)
                .any(|word| word.starts_with(|letter: char| letter.is_ascii_lowercase()));
            // A whole command is for the user of the agent.
            assert!(
                !names_option || line.contains("`prompt-expander "),
                "{file} names an option: {line}"
            );
        }
    }
}

/// The only files that write to a terminal, or lend it to another program.
const DOORS: [&str; 4] = [
    "cli/output/stream.rs",
    "cli/pick/console.rs",
    "cli/pick/terminal.rs",
    "cli/text_editor.rs",
];

#[test]
fn what_a_terminal_shows_goes_through_one_door() {
    for (_, file, code) in code() {
        let code = code
            .replace("io::stdout().is_terminal()", "")
            .replace("io::stderr().is_terminal()", "");
        for writer in [
            "io::stdout",
            "io::stderr",
            "io::{stdout",
            "io::{stderr",
            "anstream",
            "print!(",
            "println!(",
            "dbg!(",
            "/dev/tty",
        ] {
            assert!(
                !code.contains(writer) || DOORS.contains(&&*file),
                "{file} uses {writer}; write through cli/output/stream.rs"
            );
        }
    }
}

#[test]
fn only_http_and_a_database_need_a_runtime() {
    for dependency in [
        "axum",
        "http_body_util",
        "hyper",
        "hyper_util",
        "tokio",
        "tokio_rustls",
        "tower",
        "tower_http",
    ] {
        for (_, file, code) in code() {
            let is_used = code.contains(&format!("{dependency}::"));
            let may_use = file.starts_with("transport/http")
                || (file.starts_with("sources/postgres") && dependency.starts_with("tokio"));
            assert!(!is_used || may_use, "{file} uses {dependency}");
        }
    }
}

#[test]
fn every_module_begins_with_what_it_is() {
    for (file, text) in sources("src") {
        assert!(text.starts_with("//! "), "{file}");
    }
}

#[test]
fn every_dependency_says_what_it_is_for_and_is_used() {
    let code: String = ["src", "tests", "benches"]
        .into_iter()
        .flat_map(sources)
        .map(|(_, text)| text)
        .collect();
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let (mut section, mut previous) = ("", "");
    for line in manifest.lines() {
        match line.split_once(" = ") {
            _ if line.starts_with('[') => section = line,
            Some((name, _)) if section.ends_with("dependencies]") => {
                assert!(
                    previous.starts_with('#'),
                    "{name} needs a comment above it that says what it is for"
                );
                assert!(
                    code.contains(&format!("{}::", name.replace('-', "_"))),
                    "{name} is not used"
                );
            }
            _ => {}
        }
        previous = line;
    }
}
