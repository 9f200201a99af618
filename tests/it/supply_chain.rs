//! What the program is built from: where it comes from, under which licenses, and what each crate that we name is for.
//!
//! `deny.toml` says the same to cargo-deny, which also knows what has been found wrong with a crate since. These tests
//! need nothing but cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The packages of `Cargo.lock` but our own, each as its keys and values.
fn locked() -> Vec<BTreeMap<String, String>> {
    let text = read("Cargo.lock");
    let packages = text.split("[[package]]").skip(1).map(|package| {
        let pairs = package.lines().filter_map(|line| line.split_once(" = "));
        pairs.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned())).collect()
    });
    packages.filter(|package: &BTreeMap<String, String>| package["name"] != env!("CARGO_PKG_NAME")).collect()
}

/// The crates that this system needs, ours aside: name and version, and the license.
fn tree(edges: &str) -> BTreeSet<(String, String)> {
    let arguments = ["tree", "--locked", "--offline", "--no-dedupe", "--prefix", "none", "--format", "{p}|{l}", "-e"];
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.args(arguments).arg(edges).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let crates = text.lines().filter(|line| !line.is_empty()).map(|line| {
        let (package, license) = line.split_once('|').unwrap();
        (package.replace(" (proc-macro)", ""), license.to_owned())
    });
    crates.filter(|(package, _)| !package.starts_with(concat!(env!("CARGO_PKG_NAME"), " "))).collect()
}

/// What stands in quotes first in each line of a list of `deny.toml`.
fn deny(list: &str) -> BTreeSet<String> {
    let text = read("deny.toml");
    let (_, list) = text.split_once(&format!("\n{list} = [\n")).unwrap();
    let lines = list.split("\n]").next().unwrap().lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.map(|line| line.split('"').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn every_crate_is_from_crates_io_and_has_a_checksum() {
    let packages = locked();
    assert!(packages.len() > 50);
    for package in packages {
        let source = package.get("source").map(String::as_str);
        assert_eq!(source, Some("registry+https://github.com/rust-lang/crates.io-index"), "{package:?}");
        assert_eq!(package["checksum"].len(), 64, "{package:?}");
    }
}

#[test]
fn every_license_is_one_that_is_allowed_and_each_of_those_is_needed() {
    let allowed = deny("allow");
    let mut needed = BTreeSet::new();
    for (package, license) in tree("normal,build,dev") {
        // All of these must be allowed,
        for all in license.split(" AND ") {
            // and one of those.
            let any = all.trim_matches(['(', ')']).replace('/', " OR ");
            let one = any.split(" OR ").map(str::trim).find(|license| allowed.contains(*license));
            needed.insert(one.unwrap_or_else(|| panic!("{package}: {license}")).to_owned());
        }
    }
    if cfg!(target_os = "linux") {
        assert_eq!(needed, allowed);
    }
}

#[test]
fn no_crate_is_there_in_two_versions_but_those_with_a_reason() {
    let mut versions: BTreeMap<String, usize> = BTreeMap::new();
    for package in locked() {
        *versions.entry(package["name"].clone()).or_default() += 1;
    }
    let doubled: BTreeSet<String> =
        versions.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
    let skipped: BTreeSet<String> =
        deny("skip").iter().map(|skip| skip.split('@').next().unwrap().to_owned()).collect();
    assert_eq!(doubled, skipped);
    assert!(
        read("deny.toml").lines().filter(|line| line.contains("{ crate = ")).all(|line| line.contains("reason = "))
    );
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn contributing_says_how_many_crates_there_are() {
    let count = tree("normal").len();
    assert!(read("CONTRIBUTING.md").replace('\n', " ").contains(&format!("from {count} crates")), "{count}");
}

#[test]
fn every_dependency_says_what_it_is_for_and_is_used() {
    let manifest = read("Cargo.toml");
    let mut sources = String::new();
    let mut folders =
        ["src", "tests", "benches"].map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).to_vec();
    let mut is_explained = false;
    let mut section = "";
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    for line in manifest.lines() {
        match line.split_once(" = ") {
            _ if line.starts_with('#') => is_explained = true,
            _ if line.starts_with('[') => (section, is_explained) = (line, false),
            Some((name, _)) if section.ends_with("dependencies]") => {
                assert!(is_explained, "{name} needs a comment above it: what is it for?");
                let krate = name.replace('-', "_");
                assert!(sources.contains(&format!("{krate}::")), "{name} is not used");
                count += 1;
                is_explained = false;
            }
            _ => is_explained = false,
        }
    }
    assert!(count > 20, "{count}");
}
