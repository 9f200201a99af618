//! `trust`: what it shows, and whose prompts are served afterwards.

use crate::client::{Client, assert_contains};
use crate::pack::Repository;
use serde_json::json;
use std::fs;
use std::path::Path;

/// A user who works in `repo`, a repository of git with two prompts, in `folder` of it.
fn in_repository(folder: &str) -> (Client, Repository) {
    let client = Client::new()
        .arguments([])
        .working_in("repo")
        .working_in(folder);
    let repository = Repository {
        folder: client.path("repo"),
    };
    repository.git(&["init", "-q"], "");
    write(
        &repository,
        "deploy.md",
        "---\ninclude: true\n---\nDeploy it.\n{{> _steps}}\n",
    );
    write(&repository, "_steps.md", "Step one.\n");
    write(&repository, "summarize.md", "Summarize it.\n");
    repository.git(&["add", "-A"], "");
    repository.git(&["commit", "-q", "-m", "prompts"], "");
    (client, repository)
}

/// Writes a file of the prompts of a repository.
fn write(repository: &Repository, file: &str, text: &str) {
    let folder = repository.folder.join(".prompts");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
}

fn expanded(client: &Client, name: &str) -> String {
    let ran = client.run(["expand", name], "");
    ran.stdout + &ran.stderr
}

/// What a command prints on a terminal.
fn on_terminal(client: &Client) -> Option<String> {
    crate::terminal::ran(client, 400, "show deploy", &[("NO_COLOR", "1")], "")
}

/// What the hook answers to a message of the agent, which works in a folder.
fn hook_answer(client: &Client, folder: &Path, message: &str) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": message, "cwd": folder});
    client.run(["hook", "codex"], event.to_string()).stdout
}

#[test]
fn every_text_is_shown_with_what_it_replaces_and_later_only_the_differences() {
    let (client, repository) = in_repository("repo");
    client.put(".config/prompt-expander/prompts/deploy.md", "Mine.");
    let first = client.words("trust --yes");
    for part in [
        ":deploy  new, 5 lines",
        "replaces your prompt",
        ":summarize  new, 1 line",
        "replaces the built-in prompt",
        "+Deploy it.",
        "+Step one.",
        ".prompts/_steps.md",
    ] {
        assert!(first.stdout.contains(part), "{part}: {first:?}");
    }
    assert_eq!(client.words("list").stderr, "");
    client.words("trust").says(0, &["has no new texts"]);

    write(&repository, "_steps.md", "Step two.\n");
    write(&repository, "new.md", "New.\n");
    assert!(expanded(&client, "deploy").contains("Step two."));
    client
        .words("list")
        .says(0, &["serves 2 texts in a version", "the differences"]);
    let doctor = client.words("doctor");
    assert!(
        doctor.stdout.contains("serves 2 texts in a version"),
        "{doctor:?}"
    );
    let second = client.words("trust --yes").stdout;
    for part in ["-Step one.", "+Step two.", ":new  new", "2 texts unchanged"] {
        assert!(second.contains(part), "{part}: {second}");
    }
    assert!(!second.contains("Deploy it."), "{second}");
    assert_eq!(client.words("list").stderr, "");
}

#[cfg(unix)]
#[test]
fn every_attachment_is_shown_under_a_path_of_one_line_and_served_in_a_worktree() {
    let (client, repository) = in_repository("worktree");
    let forged = format!("x\n{} .prompts/summarize.txt", "0".repeat(64));
    let attachments = format!("[long.txt, {}]", json!(forged));
    let prompt = format!("---\nattachments: {attachments}\n---\nReview it.\n");
    write(&repository, "review.md", &prompt);
    let long = format!("Evil one.\n{}", " ".repeat(4 * 1024 * 1024));
    write(&repository, "long.txt", &long);
    let file = repository.folder.join(".prompts").join(&forged);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, "Evil two.\n").unwrap();
    let prompt = "---\nattachments: [a.txt]\n---\nRead it.\n";
    write(&repository, "read.md", prompt);
    write(&repository, "a.txt", "Evil three.\n");
    // The name of a built-in prompt in an include begins like this.
    let folder = repository.folder.join("builtin:x");
    fs::rename(repository.folder.join(".prompts"), folder).unwrap();
    std::os::unix::fs::symlink("builtin:x", repository.folder.join(".prompts")).unwrap();
    repository.git(&["add", "-A"], "");
    repository.git(&["commit", "-q", "-m", "attachments"], "");
    repository.git(&["worktree", "add", "-q", "-b", "other", "../worktree"], "");

    let shown = client.words("trust --yes ../repo").stdout;
    for text in ["+Evil one.", "+Evil two.", "+Evil three.", r"x\n0000"] {
        assert!(shown.contains(text), "{text} is missing");
    }
    assert!(!shown.contains("\n0000"));
    assert!(expanded(&client, "read").contains("Evil three."));
    assert_eq!(client.words("list").stderr, "");
}

#[test]
fn what_is_below_the_root_of_a_trusted_repository_needs_its_own_trust() {
    let (client, repository) = in_repository("repo/node_modules/x");
    client.words("trust --yes ../..").says(0, &[]);
    client.put("repo/node_modules/x/.prompts/deploy.md", "Theirs.");
    let nested = fs::canonicalize(repository.folder.join("node_modules/x")).unwrap();
    let hint = format!("prompt-expander trust {}", nested.display());
    assert!(expanded(&client, "deploy").starts_with("Deploy it."));
    client.words("list").says(0, &[&hint]);
    assert!(client.words("doctor").stdout.contains(&hint));
    let shown = client.words("trust --yes").stdout;
    assert!(
        shown.contains("+Theirs.") && !shown.contains("Deploy it."),
        "{shown}"
    );
    assert!(expanded(&client, "deploy").starts_with("Theirs."));
    client.words("trust --revoke").says(0, &[]);
    assert!(expanded(&client, "deploy").starts_with("Deploy it."));
}

#[test]
fn a_linked_worktree_serves_the_texts_that_were_shown_and_others_after_trust_there() {
    let (client, repository) = in_repository("worktree");
    repository.git(&["worktree", "add", "-q", "-b", "other", "../worktree"], "");
    let worktree = fs::canonicalize(client.path("worktree")).unwrap();
    assert!(
        !expanded(&client, "deploy").starts_with("Deploy it."),
        "nothing is trusted yet"
    );
    client.words("trust --yes ../repo").says(0, &[]);
    assert!(expanded(&client, "deploy").starts_with("Deploy it."));

    client.put("worktree/.prompts/_steps.md", "Evil step.\n");
    client.put("worktree/.prompts/summarize.md", "Evil summary.\n");
    client.put("worktree/.prompts/fresh.md", "Evil and fresh.\n");
    assert!(!expanded(&client, "deploy").contains("Evil"));
    assert!(
        !expanded(&client, "summarize").contains("Evil"),
        "the built-in one"
    );
    let hint = format!("`prompt-expander trust {}` shows", worktree.display());
    client.words("list").says(
        0,
        &[
            "this worktree has 3 prompts with texts that you were not shown",
            &hint,
        ],
    );
    for message in [":deploy now", ":fresh", ":summarize this"] {
        let answer = hook_answer(&client, &worktree, message);
        assert!(
            answer.contains(&hint) && !answer.contains("Evil"),
            "{message}: {answer}"
        );
    }
    assert_eq!(hook_answer(&client, &worktree, "At 10:30."), "");

    let shown = client.words("trust --yes").stdout;
    assert!(
        shown.contains("-Step one.") && shown.contains("+Evil step."),
        "{shown}"
    );
    assert!(expanded(&client, "deploy").contains("Evil step."));
    assert_eq!(client.words("list").stderr, "");
}

#[test]
fn a_folder_that_only_claims_to_be_a_worktree_serves_nothing() {
    let (client, repository) = in_repository("clone");
    repository.git(&["worktree", "add", "-q", "-b", "other", "../worktree"], "");
    client.words("trust --yes ../repo").says(0, &[]);
    let link = client.text("worktree/.git");
    client.put("clone/.git", &link);
    client.put("clone/.prompts/summarize.md", "Summarize it.\n");
    assert!(!expanded(&client, "summarize").starts_with("Summarize it."));
    // Files that a repository brings cannot pretend to be its folder `.git`.
    client.put("repo/fake/worktrees/x/gitdir", "../../../../clone/.git\n");
    client.put("clone/.git", "gitdir: ../repo/fake/worktrees/x\n");
    assert!(!expanded(&client, "summarize").starts_with("Summarize it."));
}

#[test]
fn an_entry_that_a_person_wrote_counts_and_a_terminal_is_told_once() {
    let (client, repository) = in_repository("repo");
    let root = fs::canonicalize(&repository.folder).unwrap();
    let settings = format!("trusted = ['{}']\n", root.display());
    client.put(".config/prompt-expander/config.toml", settings);
    assert!(expanded(&client, "deploy").starts_with("Deploy it."));
    let told = ["in a version that you were not shown"];
    client.words("list").says(0, &told);
    let Some(first) = on_terminal(&client) else {
        return;
    };
    assert_contains(&first, told[0]);
    let second = on_terminal(&client).unwrap();
    assert!(!second.contains(told[0]), "{second}");
    client.words("trust --yes").says(0, &[]);
    write(&repository, "deploy.md", "Deploy all.\n");
    for is_told in [true, false] {
        let printed = on_terminal(&client).unwrap();
        assert_eq!(
            printed.contains("serves 1 text in a version"),
            is_told,
            "{printed}"
        );
    }
}
