//! The files of a release (`release`, the plugin, the workflows) agree with `Cargo.toml`, and the
//! README names no package that is not published. `bash release/test.sh` builds, installs and
//! removes the packages.

use crate::readme::page;
use serde_json::Value;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn json(file: &str) -> Value {
    serde_json::from_str(&page(file)).unwrap()
}

/// The platforms of npm that `release/pack.py` makes packages for.
fn platforms() -> Vec<String> {
    let text = page("release/pack.py");
    let rows = text
        .split("TARGETS = [\n")
        .nth(1)
        .unwrap()
        .split("\n]")
        .next()
        .unwrap();
    rows.lines()
        .map(|row| row.split('"').nth(3).unwrap().to_owned())
        .collect()
}

#[test]
fn every_manifest_has_the_version_of_the_program() {
    let npm = json("release/npm/package.json");
    let systems = npm["optionalDependencies"].as_object().unwrap();
    let mut names: Vec<_> = platforms()
        .into_iter()
        .map(|platform| format!("@prompt-expander/{platform}"))
        .collect();
    names.sort();
    assert_eq!(systems.keys().cloned().collect::<Vec<_>>(), names);
    let mut versions: Vec<Value> = systems.values().cloned().collect();

    let registry = json("release/server.json");
    for package in registry["packages"].as_array().unwrap() {
        let in_name = package["identifier"]
            .as_str()
            .unwrap()
            .split_once(':')
            .map(|(_, version)| version.into());
        versions.push(in_name.unwrap_or_else(|| package["version"].clone()));
    }
    versions.push(json(".claude-plugin/marketplace.json")["plugins"][0]["version"].clone());
    versions.push(json("plugins/prompt-expander/.claude-plugin/plugin.json")["version"].clone());
    versions.extend([npm["version"].clone(), registry["version"].clone()]);
    assert!(
        versions.iter().all(|version| version == VERSION),
        "{VERSION}: {versions:?}"
    );

    let changes = page("CHANGELOG.md");
    let newest = changes
        .lines()
        .find_map(|line| line.strip_prefix("## "))
        .unwrap();
    assert!(
        newest == "Unreleased" || newest.starts_with(VERSION),
        "{newest}"
    );
}

/// The MCP registry refuses anything else. Read from its schema of 2025-12-11.
#[test]
fn the_entry_of_the_mcp_registry_is_valid() {
    let registry = json("release/server.json");
    assert!(registry["description"].as_str().unwrap().len() <= 100);
    let name = registry["name"].as_str().unwrap();
    assert_eq!(name.matches('/').count(), 1);
    // Each registry must say which server a package is.
    assert_eq!(json("release/npm/package.json")["mcpName"], name);
    assert!(page("release/package.md").contains(&format!("<!-- mcp-name: {name} -->")));
    assert!(
        page("release/Dockerfile")
            .contains(&format!("io.modelcontextprotocol.server.name=\"{name}\""))
    );
}

/// A script that npm runs at installation, and a tag that somebody else can move, would run other
/// people's code.
#[test]
fn installing_runs_no_script_and_the_workflows_run_only_actions_of_known_commits() {
    assert!(json("release/npm/package.json").get("scripts").is_none());
    let workflows = ["ci", "release"]
        .map(|name| page(&format!(".github/workflows/{name}.yml")))
        .concat();
    let mut count = 0;
    for action in workflows
        .lines()
        .filter_map(|line| line.split_once("uses: "))
        .map(|(_, action)| action)
    {
        let commit = action.split_once('@').unwrap().1.split(' ').next().unwrap();
        assert!(
            commit.len() == 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{action}"
        );
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

/// Until then, the name may belong to a stranger.
#[test]
fn the_readme_names_a_package_only_after_it_is_published() {
    if !page("Cargo.toml").contains("\npublish = false\n") {
        return;
    }
    let readme = page("README.md");
    let ways = [
        "npx",
        "npm i",
        "uvx",
        "uv tool",
        "pipx",
        "pip install",
        "brew ",
        "binstall",
        "| sh",
        "| iex",
        "apt install",
        "docker run",
    ];
    for way in ways.iter().chain(&["cargo install prompt-expander"]) {
        assert!(
            !readme.contains(way),
            "the README says `{way}`, but Cargo.toml says `publish = false`"
        );
    }
}
