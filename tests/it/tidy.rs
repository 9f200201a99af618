//! The house as `src/lib.rs` draws it: who may name whom, and which crate is named where.

use std::fs;
use std::path::{Path, PathBuf};

/// What words messages; all may name it.
const COMMON: [&str; 2] = ["suggestion", "wording"];

/// A module, and the modules of this crate that it may name besides itself and [`COMMON`].
const MAY_NAME: [(&str, &[&str]); 13] = [
    ("suggestion", &[]),
    ("wording", &[]),
    ("prompt", &[]),
    ("json", &[]),
    ("jsonrpc", &["json"]),
    ("mcp", &["json"]),
    ("library", &["prompt"]),
    ("agents", &[]),
    ("hook", &["library", "prompt", "agents"]),
    ("server", &["library", "prompt", "json", "jsonrpc", "mcp"]),
    ("transport", &["server", "jsonrpc"]),
    ("doctor", &["library", "prompt", "agents"]),
    ("cli", &["library", "prompt", "agents", "hook", "doctor", "server", "transport"]),
];

/// A crate, and the only places below `src` that name it.
const NAMED_IN: [(&str, &[&str]); 22] = [
    ("gray_matter", &["prompt/frontmatter"]),
    ("yaml_rust2", &["prompt/frontmatter/yaml.rs"]),
    ("pulldown_cmark", &["prompt/markdown.rs"]),
    ("walkdir", &["library/scan.rs"]),
    ("nucleo_matcher", &["library/search.rs"]),
    ("notify", &["library/watch.rs"]),
    ("base64", &["server/page.rs"]),
    ("jiff", &["server/resources.rs", "transport/stdio/tap.rs"]),
    ("percent_encoding", &["server/resources.rs"]),
    ("strsim", &["suggestion.rs"]),
    ("textwrap", &["cli/output.rs"]),
    ("jsonc_parser", &["agents/edit"]),
    ("toml_edit", &["agents/edit"]),
    ("diffy", &["cli/install.rs"]),
    ("wait_timeout", &["doctor/process.rs"]),
    ("lexopt", &["cli/start.rs"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("shlex", &["cli/editor.rs", "cli/completions.rs", "agents/hook_line.rs", "agents/registration.rs", "doctor"]),
    ("signal_hook", &["cli/editor.rs"]),
    ("anstream", &["cli/output.rs"]),
    ("tracing_subscriber", &["cli/serve.rs"]),
];

fn sources() -> Vec<(String, String)> {
    fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, files) } else { files.push(path) }
        }
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&src, &mut files);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
        .iter()
        .map(|file| {
            let name = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
            (name, fs::read_to_string(file).unwrap())
        })
        .collect()
}

/// The code of a file: no comments, and not its unit tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn dependencies_point_one_way() {
    for (file, text) in sources() {
        let module = file.split(['/', '.']).next().unwrap();
        if matches!(module, "lib" | "main") {
            continue;
        }
        let (_, may_name) =
            MAY_NAME.iter().find(|(name, _)| *name == module).unwrap_or_else(|| panic!("{file} is new"));
        for named in code(&text).split("crate::").skip(1) {
            let named = named.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap();
            let allowed = named == module || COMMON.contains(&named) || may_name.contains(&named);
            assert!(allowed, "{file} names crate::{named}");
        }
        // `super` stays inside the module: as many of them as the file lies deep would name the crate.
        let depth = file.matches('/').count() + 1;
        assert!(!code(&text).contains(&"super::".repeat(depth)), "{file} names the crate through `super`");
    }
}

/// What the linker puts behind the rest, so that a server does not hold it in memory.
#[test]
fn the_code_of_every_command_stands_behind_that_of_the_server() {
    let build = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs")).unwrap();
    let serving = ["serve", "source", "start", "output"];
    let mut count = 0;
    for (file, _) in sources() {
        let Some(name) = file.strip_prefix("cli/").and_then(|file| file.strip_suffix(".rs")) else { continue };
        let name = name.split('/').next().unwrap(); // which has what lies below it
        let section = format!("*prompt_expander3cli{}{name}*", name.len());
        assert_eq!(build.contains(&section), !serving.contains(&name), "{section} in build.rs");
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
fn each_of_these_crates_is_named_in_one_place() {
    for (krate, places) in NAMED_IN {
        let files: Vec<String> = sources()
            .into_iter()
            .filter(|(_, text)| code(text).contains(&format!("{krate}::")))
            .map(|(file, _)| file)
            .collect();
        assert!(!files.is_empty(), "{krate} is not used");
        for file in files {
            let is_place = places.iter().any(|place| file.starts_with(place));
            assert!(is_place, "{file} names {krate}, whose place is {}", places.join(" or "));
        }
    }
}

#[test]
fn every_module_opens_with_what_it_is() {
    for (file, text) in sources() {
        assert!(text.starts_with("//! "), "{file}");
    }
}
