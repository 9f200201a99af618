//! `uninstall --all --purge`: what it deletes in a home directory in which the program has written
//! everything that it can write, and what stays.

use crate::client::{Client, assert_contains};
use crate::http_client::{HttpServer, write_secret};
use crate::install::User;
use crate::pack::Repository;
use std::fs;
use std::os::unix::fs::symlink;

const SETTINGS: &str = ".config/prompt-expander/config.toml";

/// What people write themselves, and the earlier versions of their prompts.
const KEPT: [&str; 5] = [
    ".codex/config.toml",
    SETTINGS,
    ".config/prompt-expander/notes.txt",
    ".config/prompt-expander/prompts/standup.md",
    "project/.prompts/deploy.md",
];

/// Returns a user for whom every command that keeps something has run. `team` is running.
fn user_with_everything(team: &HttpServer) -> User {
    // The server makes its key and its token.
    let home = HttpServer::start_with(Client::new(), &["--edit"]).stop();
    let user = User::of(home);
    symlink("/usr/bin/git", user.path("bin/git")).unwrap();
    for file in KEPT {
        user.put(file, "Mine.");
    }
    let settings = format!("# mine\nteam = 'http://{}' # mine\n", team.address);
    user.put(SETTINGS, settings);
    write_secret(
        user.path(".config/prompt-expander/team-token"),
        &team.edit_token(),
    );
    user.put(".config/prompt-expander/prompts/old.md", "Old.");
    user.done(&["rm", "old", "--yes"]); // keeps a version
    user.done(&["list"]); // caches the team's prompts
    let project = Repository {
        folder: user.path("project"),
    };
    project.git(&["init", "-q"], "");
    user.done(&["trust", "--yes"]);
    let theirs = Repository::new(user.path("theirs"));
    let commit = theirs.put(&[("review.md", "Review.")]);
    user.done(&["pack", "add", &theirs.address(), "--yes", "--ref", &commit]);
    user.done(&["expand", "research"]); // is counted
    // A store needs PostgreSQL.
    user.put(".local/state/prompt-expander/store/1.json", "{}");
    user.put(".codex/config.toml", "a = 1\n");
    user.done(&["install", "codex", "gemini", "--yes"]);
    let installed = user.text(".codex/config.toml");
    user.put(".codex/config.toml", installed.replace("a = 1", "a = 2")); // keeps the backup
    user
}

/// Returns the files of a user without those of git.
fn own_files(user: &User) -> Vec<String> {
    let mut files = user.files();
    files.retain(|file| !file.starts_with("project/.git/") && !file.starts_with("theirs/"));
    files
}

#[test]
fn after_a_purge_only_prompts_and_what_the_user_wrote_are_there() {
    let team = HttpServer::start_with(Client::new().prompt("x.md", "X"), &["--edit"]);
    let user = user_with_everything(&team);
    let state = ".local/state/prompt-expander";
    let kept_by_program = [
        ".config/prompt-expander/team-token".to_owned(),
        ".config/prompt-expander/packs.lock".to_owned(),
        ".local/share/prompt-expander/packs".to_owned(),
        ".local/share/prompt-expander/trusted".to_owned(),
        format!("{state}/accepted-texts"),
        format!("{state}/store"),
        format!("{state}/session-key"),
        format!("{state}/edit-token"),
        format!("{state}/usage"),
        ".cache/prompt-expander/team".to_owned(),
        ".codex/config.toml.before-prompt-expander".to_owned(),
        SETTINGS.to_owned(),
    ]
    .map(|file| user.path(file).display().to_string());

    let uninstalled = user.run(&["uninstall", "--all", "--yes"]);
    let hint = "hint: `prompt-expander uninstall --all --purge` deletes them";
    assert_contains(&uninstalled.stderr, hint);
    for file in &kept_by_program {
        assert_contains(&uninstalled.stderr, &format!("\n{file} ("));
        assert!(fs::exists(file).unwrap(), "{file}");
    }
    let list = user.done(&["uninstall", "--all", "--json", "--dry-run"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["kept"], serde_json::json!(kept_by_program));
    let planned = user.done(&["uninstall", "--all", "--purge", "--json", "--dry-run"]);
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned["deleted"], list["kept"]);
    assert_eq!(planned.get("kept"), None);

    let before = own_files(&user);
    let shown = user.done(&["uninstall", "--all", "--purge", "--dry-run"]);
    for file in &kept_by_program {
        assert_contains(&shown, &format!("\n{file} ("));
    }
    let refused = user.refused(&["uninstall", "--all", "--purge"]);
    assert_contains(&refused, "add --yes to write without asking");
    assert_eq!(own_files(&user), before);

    // Uninstalls and purges at once, too.
    user.done(&["install", "codex", "gemini", "--yes"]);
    user.done(&["uninstall", "--all", "--purge", "--yes"]);
    let mut left = own_files(&user);
    left.retain(|file| !file.starts_with(".config/prompt-expander/prompts/.history/"));
    assert_eq!(left, KEPT);
    assert_eq!(user.text(".codex/config.toml"), "a = 2\n");
    assert!(user.text(SETTINGS).starts_with("# mine\nteam = "));
    assert!(!user.text(SETTINGS).contains("trusted"));
    for folder in [".cache", ".local/share", ".local/state"] {
        assert!(!user.path(folder).join("prompt-expander").exists());
    }
    let again = user.run(&["uninstall", "--all", "--purge", "--yes"]);
    assert_eq!(again.stderr, "note: nothing is registered\n");

    // Also if no agent is registered any more.
    let token = user.path(".config/prompt-expander/team-token");
    write_secret(token.clone(), "secret");
    let purged = user.run(&["uninstall", "--all", "--purge", "--yes"]);
    assert!(
        purged
            .stderr
            .starts_with("note: the files of this program are deleted"),
        "{purged:?}"
    );
    write_secret(token.clone(), "secret");
    let json = user.done(&["uninstall", "--all", "--purge", "--yes", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["deleted"], serde_json::json!([token]));
    assert!(!token.exists());
}
