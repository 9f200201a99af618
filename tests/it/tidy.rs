//! The layout that `src/lib.rs` describes: which module may use which, and where a dependency is used.

use std::fs;
use std::path::{Path, PathBuf};

/// A module, and the other modules that it may use. All may use [`COMMON`].
const MAY_USE: [(&str, &[&str]); 13] = [
    ("wording", &[]),
    ("prompt", &[]),
    ("agents", &[]),
    ("jsonrpc", &[]),
    ("mcp", &["jsonrpc"]),
    ("library", &["prompt"]),
    ("hook", &["agents", "library", "prompt"]),
    ("doctor", &["agents", "library", "prompt", "remote"]),
    ("server", &["agents", "jsonrpc", "library", "mcp", "prompt"]),
    ("report", &["agents", "hook", "library", "prompt"]),
    ("remote", &["agents", "report"]),
    ("transport", &["agents", "hook", "jsonrpc", "library", "prompt", "report", "server"]),
    ("cli", &["agents", "doctor", "hook", "library", "prompt", "remote", "report", "server", "transport"]),
];

/// The wording of messages.
const COMMON: [&str; 1] = ["wording"];

/// A dependency, and the only modules that use it.
const USED_IN: [(&str, &[&str]); 24] = [
    ("anstream", &["cli"]),
    ("base64", &["cli", "server", "transport"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("diffy", &["cli", "library", "transport"]),
    ("dirs", &["cli"]),
    ("governor", &["transport"]),
    ("jiff", &["library", "server", "transport"]),
    ("jsonc_parser", &["agents"]),
    ("minijinja", &["prompt"]),
    ("notify", &["library"]),
    ("percent_encoding", &["library", "remote", "server", "transport"]),
    ("prometheus_client", &["transport"]),
    ("pulldown_cmark", &["prompt"]),
    ("sha2", &["library", "transport"]),
    ("signal_hook", &["cli"]),
    ("subtle", &["transport"]),
    ("textwrap", &["cli"]),
    ("toml_edit", &["agents", "prompt"]),
    ("tracing_subscriber", &["cli"]),
    ("ureq", &["library", "remote"]),
    ("wait_timeout", &["doctor"]),
    ("walkdir", &["library"]),
    ("yaml_rust2", &["prompt"]),
];

/// The Rust files below a folder of the package: paths below `folder`, and texts.
fn sources(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, files) } else { files.push(path) }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let name = |file: &Path| file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
    files.iter().map(|file| (name(file), fs::read_to_string(file).unwrap())).collect()
}

/// The code of each file of `src`, without comments and unit tests, and the module that it belongs to.
fn code() -> Vec<(String, String, String)> {
    let of_module = |(file, text): (String, String)| {
        let module = file.split(['/', '.']).next().unwrap().to_owned();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        (module, file, code.join("\n"))
    };
    let files = sources("src").into_iter().map(of_module);
    files.filter(|(module, ..)| !matches!(module.as_str(), "lib" | "main")).collect()
}

#[test]
fn dependencies_between_modules_point_one_way() {
    for (module, file, code) in code() {
        let known = MAY_USE.iter().find(|(name, _)| *name == module);
        let (_, may_use) = known.unwrap_or_else(|| panic!("{file} is not in the table of this test"));
        for used in code.split("crate::").skip(1) {
            let used = used.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap();
            assert!(used == module || COMMON.contains(&used) || may_use.contains(&used), "{file} uses crate::{used}");
        }
        let above_the_module = "super::".repeat(file.matches('/').count() + 1);
        assert!(!code.contains(&above_the_module), "{file} uses the crate's root through `super`");
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

#[test]
fn only_http_needs_a_runtime() {
    for dependency in ["axum", "hyper", "hyper_util", "tokio", "tokio_rustls", "tungstenite"] {
        for (_, file, code) in code() {
            let is_used = code.contains(&format!("{dependency}::"));
            assert!(!is_used || file.starts_with("transport/http"), "{file} uses {dependency}");
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
    let code: String = ["src", "tests", "benches"].into_iter().flat_map(sources).map(|(_, text)| text).collect();
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let (mut section, mut previous) = ("", "");
    for line in manifest.lines() {
        match line.split_once(" = ") {
            _ if line.starts_with('[') => section = line,
            Some((name, _)) if section.ends_with("dependencies]") => {
                assert!(previous.starts_with('#'), "{name} needs a comment above it that says what it is for");
                assert!(code.contains(&format!("{}::", name.replace('-', "_"))), "{name} is not used");
            }
            _ => {}
        }
        previous = line;
    }
}
