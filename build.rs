//! Passes the commit of the checkout and its date to `src/cli/version.rs`. Outside a checkout, as
//! in a published package, there is only the version.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    link_at_a_fixed_address();
    if !is_checkout() {
        return;
    }
    let commit = git(&["log", "-1", "--format=%h %cs", "--abbrev=8"]);
    if let Some((commit, date)) = commit.as_deref().and_then(|commit| commit.split_once(' ')) {
        println!("cargo::rustc-env=PROMPT_EXPANDER_COMMIT={commit}");
        println!("cargo::rustc-env=PROMPT_EXPANDER_DATE={date}");
    }
    // It changes with each commit and each checkout, unless reflogs are turned off.
    if let Some(log) =
        git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())
    {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// On Linux, links the program at a fixed address, as Go does. Otherwise, the loader writes 28,000
/// addresses at each start: that takes a seventh of the processor time of a start, and 1.3 MB in
/// each of the processes that agents keep. A random address would make it harder to use an error in
/// the handling of memory; this code has no `unsafe`, and its libraries, heap and stack stay at
/// random addresses.
fn link_at_a_fixed_address() {
    let of_target =
        |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if of_target("OS") == "linux" && of_target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// Whether the checkout is of this program, and not of another one that has vendored it.
fn is_checkout() -> bool {
    git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix.is_empty())
}

/// What git prints; `None` if it fails or is not installed.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}
