//! `sync`: entries for prompts in agents' own menus.

#[cfg(unix)]
use crate::client::set_mode;
use crate::client::{Client, LEGACY, assert_contains};
use notify::{RecursiveMode, Watcher};
use std::fs;
use std::path::Path;
use std::sync::mpsc;

/// A user whose prompts are `notes` and `git/commit`.
fn user() -> Client {
    let client = Client::new().arguments([]);
    for (file, text) in [
        (
            "notes.md",
            "---\ndescription: Take notes\n---\nNote {{input}}.",
        ),
        ("git/commit.md", "Commit."),
        ("private.md", "---\nmenu: false\n---\nNot in a menu."),
        ("broken.md", "---\ntitle: x\n"),
    ] {
        client.put(format!("{PROMPTS}/{file}"), text);
    }
    client.put(
        ".config/prompt-expander/config.toml",
        "builtin = false # mine\n",
    );
    client
}

const PROMPTS: &str = ".config/prompt-expander/prompts";
const NOTES: &str = ".codex/skills/notes/SKILL.md";
const CONFIG: &str = ".config/prompt-expander/config.toml";

#[test]
fn a_menu_gets_an_entry_for_each_prompt_and_loses_those_that_should_go() {
    let user = user();
    let shown = user.words("sync codex --dry-run");
    assert_contains(&shown.stdout, "+ 2 entries: git-commit, notes");
    assert!(!user.path(NOTES).exists());
    let checked = user.words("sync codex --check");
    assert_eq!(checked.status.code(), Some(1));
    let asked = user.words("sync codex");
    assert_contains(&asked.stderr, "add --yes");

    user.words("sync codex --yes");
    assert_contains(&user.text(NOTES), "description: \"Take notes\"");
    assert_eq!(
        user.text(CONFIG),
        "builtin = false # mine\nmenus = [\"codex\"]\n"
    );
    let modified = fs::metadata(user.path(NOTES)).unwrap().modified().unwrap();
    for line in ["sync --check", "sync --yes", "sync codex --yes"] {
        let again = user.words(line);
        assert!(again.status.success(), "{line}: {again:?}");
        assert_contains(&again.stdout, "codex: the menu is up to date");
    }
    assert_eq!(
        fs::metadata(user.path(NOTES)).unwrap().modified().unwrap(),
        modified
    );

    // An entry is not a prompt.
    let listed = user.words("list --from-agents --mine");
    assert_eq!(listed.stdout.lines().count(), 3, "{listed:?}");
    let expanded = user.words("expand --from-agents notes x");
    assert_eq!(expanded.stdout, "Note x.\n");
    user.words("rm notes --yes");
    let missing = user.words("expand --from-agents notes x");
    assert_contains(&missing.stderr, "no prompt named `notes`");

    user.words("sync claude-code --yes");
    assert!(!user.path(NOTES).exists());
    assert!(user.path(".claude/skills/git-commit/SKILL.md").exists());
    // An agent that is in `menus` no longer loses its entries.
    let config = user.text(CONFIG).replace("\"codex\", ", "");
    user.put(CONFIG, config);
    user.words("sync --yes");
    assert!(!user.path(".codex/skills/git-commit").exists());
    assert!(user.path(".claude/skills/git-commit/SKILL.md").exists());
}

#[test]
fn what_a_selection_says_is_kept() {
    let user = user();
    user.words("sync codex --only git/* --yes");
    assert!(!user.path(NOTES).exists());
    assert_contains(&user.text(CONFIG), "menus-only = \"git/*\"\n");
    user.words("sync claude-code --yes");
    assert!(!user.path(NOTES).exists());
    let shown = user.words("sync --only * --dry-run");
    assert_contains(&shown.stdout, "-menus-only = \"git/*\"\n");
    user.words("sync --only * --yes");
    assert!(user.path(NOTES).exists());
    assert_eq!(
        user.text(CONFIG),
        "builtin = false # mine\nmenus = [\"codex\", \"claude-code\"]\n"
    );
}

#[test]
fn settings_that_mean_the_same_stay_as_they_are_written() {
    let user = user();
    let config = "builtin = false\r\nmenus-all = false\r\nmenus-only = 'git/*'\r\n\
                  menus = ['claude',\r\n  \"codex\"]";
    user.put(CONFIG, config);
    user.words("sync --yes");
    assert!(user.path(".claude/skills/git-commit/SKILL.md").exists());
    let checked = user.words("sync codex --only git/* --check");
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(user.text(CONFIG), config);
}

#[test]
fn agents_that_show_a_change_only_after_a_restart_are_named() {
    let user = user();
    let ran = user.words("sync codex opencode pi --yes");
    assert_contains(&ran.stderr, "restart opencode and pi to see the change");
    let again = user.words("sync --yes");
    assert!(!again.stderr.contains("restart"), "{again:?}");
}

#[test]
fn an_error_in_the_settings_of_menus_loses_neither_entries_nor_settings() {
    let user = user();
    user.words("sync codex claude-code --yes");
    let config = user.text(CONFIG).replace("\"codex\"", "\"codx\"");
    user.put(CONFIG, &config);
    for (line, want, code) in [
        ("sync --yes", "`codx` is no agent with a menu", 1),
        ("sync codex --yes", "`codx` is no agent with a menu", 1),
        ("install codex --yes", "agents' menus stay as they are", 0),
        ("uninstall codex --yes", "agents' menus stay as they are", 0),
    ] {
        let ran = user.words(line);
        assert_contains(&ran.stderr, want);
        assert_eq!(ran.status.code(), Some(code), "{line}: {ran:?}");
        assert!(user.path(NOTES).exists(), "{line}");
        assert_eq!(user.text(CONFIG), config, "{line}");
    }
}

#[test]
fn an_agent_without_a_menu_to_write_to_is_an_error() {
    let user = user();
    let ran = user.words("sync gemini --yes");
    assert_contains(&ran.stderr, "`sync` cannot write to the menu of Gemini CLI");
    assert_eq!(ran.status.code(), Some(1));
    let ran = user.words("sync");
    assert_contains(&ran.stderr, "no agent is selected");
}

#[test]
fn a_name_that_is_taken_is_reported_and_the_others_are_written() {
    let user = user();
    user.put(NOTES, "---\nname: notes\n---\nMine.\n");
    let ran = user.words("sync codex --yes");
    assert_contains(
        &ran.stderr,
        "`notes` gets no entry in the menu: the name is taken",
    );
    assert!(ran.status.success());
    assert!(user.path(".codex/skills/git-commit/SKILL.md").exists());
    assert_contains(&user.text(NOTES), "Mine.");
}

#[test]
fn a_menu_that_gets_no_entry_does_not_have_the_prompts() {
    let user = user();
    user.put(NOTES, "---\nname: notes\n---\nMine.\n");
    let ran = user.words("sync codex --only notes --yes");
    assert_contains(&ran.stdout, "codex: there is nothing to write");
    let examined = user.words("doctor codex --verbose").stdout;
    assert!(!examined.contains("its own menu"), "{examined}");
}

#[test]
fn nothing_is_to_be_removed_while_prompts_cannot_be_read() {
    let user = user();
    user.words("sync codex --yes");
    fs::remove_file(user.path(format!("{PROMPTS}/notes.md"))).unwrap();
    user.put(".config/prompt-expander/packs.lock", "no lock");
    let ran = user.words("sync");
    assert_contains(
        &ran.stdout,
        "nothing is removed until all prompts can be read",
    );
    let examined = user.words("doctor codex --verbose").stdout;
    assert_contains(
        &examined,
        "its own menu is not updated until all prompts can be read",
    );
}

#[cfg(unix)]
#[test]
fn a_problem_that_hides_no_prompt_keeps_no_entry() {
    let user = user();
    user.words("sync codex --yes");
    user.put(
        format!("{PROMPTS}/no\tname.md"),
        "No name that can be typed.",
    );
    std::os::unix::fs::symlink(".", user.path(format!("{PROMPTS}/circle"))).unwrap();
    user.words("rm notes --yes");
    let ran = user.words("sync --yes");
    assert!(ran.status.success(), "{ran:?}");
    assert!(!user.path(NOTES).exists(), "{ran:?}");
}

/// Makes a prompt of a user unreadable, or hides it.
#[cfg(unix)]
type Spoil = fn(&Client);

#[cfg(unix)]
#[test]
fn an_entry_stays_while_its_prompt_may_only_be_missing_now() {
    use std::os::unix::fs::symlink;
    let cases: [(&str, Spoil, &str); 4] = [
        (
            "broken file",
            |user| {
                user.put(format!("{PROMPTS}/notes.md"), "---\ntitle: x\n");
            },
            "the prompt cannot be read",
        ),
        (
            "not UTF-8",
            |user| {
                fs::write(user.path(format!("{PROMPTS}/notes.md")), b"\xff").unwrap();
            },
            "the prompt cannot be read",
        ),
        (
            "folder that leads nowhere",
            |user| {
                fs::remove_file(user.path(format!("{PROMPTS}/notes.md"))).unwrap();
                symlink("nowhere", user.path(format!("{PROMPTS}/more"))).unwrap();
            },
            "more: ",
        ),
        (
            "no prompts folder",
            |user| fs::rename(user.path(PROMPTS), user.path("moved")).unwrap(),
            "your folder of prompts, which does not exist",
        ),
    ];
    for (case, spoil, want) in cases {
        let user = user();
        user.words("sync codex --yes");
        spoil(&user);
        let ran = user.words("sync --yes");
        assert!(user.path(NOTES).exists(), "{case}: {ran:?}");
        assert_contains(&ran.stderr, want);
    }
}

#[test]
fn an_entry_that_could_not_be_written_is_tried_again() {
    let mut user = user();
    user.put(CONFIG, "menus = [\"codex\", \"claude-code\"]\n");
    user.put(".codex/skills", "A file.");
    user.make_folder(".claude/skills");
    user.shake_hands(LEGACY);
    await_file(&user.path(".claude/skills/notes/SKILL.md")); // codex comes before
    fs::remove_file(user.path(".codex/skills")).unwrap();
    user.make_folder(".codex/skills");
    user.put(format!("{PROMPTS}/git/commit.md"), "Commit again.");
    await_file(&user.path(NOTES));
    user.finish();
}

#[test]
fn a_prompt_that_is_saved_while_the_server_runs_is_in_the_menu() {
    let mut user = user();
    user.words("sync codex --yes");
    user.words("rm notes --yes");
    user.put(format!("{PROMPTS}/new.md"), "Before the start.");
    let entry = user.path(".codex/skills/new/SKILL.md");
    let saved = user.path(".codex/skills/saved/SKILL.md");
    user.shake_hands(LEGACY);
    await_file(&entry);
    user.put(format!("{PROMPTS}/saved.md"), "While it runs.");
    await_file(&saved);
    // Nothing is removed, and nothing is written while a source is broken.
    assert!(user.path(NOTES).exists());
    user.finish();
    let check = user.words("sync --check");
    assert_contains(&check.stdout, "- 1 entry: notes");
}

#[test]
fn a_running_server_fills_only_the_menus_that_the_settings_file_names_now() {
    let mut user = user();
    user.words("sync codex claude-code --yes");
    user.put(format!("{PROMPTS}/first.md"), "Before the start.");
    user.shake_hands(LEGACY);
    await_file(&user.path(".claude/skills/first/SKILL.md")); // codex comes before
    user.words("uninstall codex --yes");
    user.words("sync --only s* --yes");
    user.put(format!("{PROMPTS}/other.md"), "Not selected.");
    user.put(format!("{PROMPTS}/saved.md"), "While it runs.");
    await_file(&user.path(".claude/skills/saved/SKILL.md"));
    user.finish();
    assert!(!user.path(".codex/skills/saved").exists());
    assert!(!user.path(".claude/skills/other").exists());
    assert!(!user.path(".claude/skills/notes").exists());
}

/// Waits until a file is there.
fn await_file(path: &Path) {
    let folder = path.ancestors().nth(2).unwrap();
    let (sender, receiver) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender).unwrap();
    watcher.watch(folder, RecursiveMode::Recursive).unwrap();
    while !path.exists() {
        receiver.recv().unwrap().unwrap();
    }
}

#[test]
fn a_variable_with_other_prompts_changes_no_menu() {
    let user = user();
    user.words("sync codex --yes");
    let config = user.text(CONFIG);
    user.put("other/other.md", "Other.");
    let mut user = user.variable("PROMPT_EXPANDER_PROMPTS", "other");
    for (line, code) in [
        ("sync --yes", 1),
        ("sync codex --yes", 1),
        ("install codex --yes", 0),
        ("uninstall codex --yes", 0),
    ] {
        let ran = user.words(line);
        assert_contains(&ran.stderr, "`PROMPT_EXPANDER_PROMPTS` replaces");
        assert_eq!(ran.status.code(), Some(code), "{line}: {ran:?}");
        assert!(user.path(NOTES).exists(), "{line}");
        assert_eq!(user.text(CONFIG), config, "{line}");
    }
    let examined = user.words("doctor codex --verbose").stdout;
    assert!(!examined.contains("its own menu"), "{examined}");
    user.shake_hands(LEGACY);
    user.names();
    user.finish();
    assert!(!user.path(".codex/skills/other").exists());
}

#[test]
fn a_server_with_other_prompts_writes_no_entries() {
    let user = user().arguments(["--prompts", "prompts"]);
    user.put(CONFIG, "menus = [\"codex\"]\n");
    user.make_folder(".codex");
    let mut user = user.prompt("other.md", "Other.");
    user.shake_hands(LEGACY);
    user.names();
    user.finish();
    assert!(!user.path(".codex/skills").exists());
}

#[test]
fn install_fills_the_menu_and_uninstall_empties_it() {
    let user = user();
    let installed = user.words("install codex vscode --yes");
    let hint = "hint: to choose a prompt from the agent's menu, type `$` in Codex\n";
    assert_contains(&installed.stderr, hint);
    assert!(user.path(NOTES).exists());
    assert_contains(&user.text(CONFIG), "menus = [\"codex\"]\n");
    user.words("sync claude-code --yes");
    let again = user.words("install codex --dry-run");
    assert_contains(&again.stdout, "codex: registered already");
    let planned = user.words("uninstall codex --dry-run --json").json();
    assert_eq!(planned["menus"][0]["removed"][1], "notes");
    user.words("uninstall codex --yes");
    assert!(!user.path(".codex/skills/notes").exists());
    assert_contains(&user.text(CONFIG), "menus = [\"claude-code\"]\n");
    user.words("uninstall --all --yes");
    assert!(!user.path(".claude/skills/notes").exists());
    assert_eq!(user.text(CONFIG), "builtin = false # mine\n");
    user.words("install codex --yes --no-menu");
    assert!(!user.path(".codex/skills").join("notes").exists());
}

#[cfg(unix)]
#[test]
fn a_settings_file_behind_a_symlink_is_emptied_and_not_deleted() {
    let user = user();
    user.put("dotfiles/config.toml", "menus = [\"codex\"]\n");
    fs::remove_file(user.path(CONFIG)).unwrap();
    std::os::unix::fs::symlink(user.path("dotfiles/config.toml"), user.path(CONFIG)).unwrap();
    user.words("uninstall codex --yes");
    assert_eq!(user.text("dotfiles/config.toml"), "");
    user.words("sync codex --yes");
    assert_eq!(user.text("dotfiles/config.toml"), "menus = [\"codex\"]\n");
}

#[test]
fn an_agent_with_nothing_but_a_menu_has_something_to_remove() {
    let user = user();
    user.words("sync codex --yes");
    let ran = user.words("uninstall codex --yes");
    assert_contains(&ran.stdout, "codex: not registered\n");
    assert_contains(&ran.stderr, "removed 2 menu entries");
    let again = user.words("uninstall codex --yes");
    assert_contains(&again.stdout, "codex: not registered; nothing to remove\n");
}

#[cfg(unix)]
#[test]
fn an_error_that_several_entries_share_is_reported_once_and_says_what_cannot_be_done() {
    let user = user();
    user.words("sync codex --yes");
    for name in ["notes", "git/commit"] {
        user.words(&format!("rm {name} --yes"));
    }
    for name in ["a", "b", "c"] {
        user.put(format!("{PROMPTS}/{name}.md"), "New.");
    }
    // An interrupted removal has left only the other file of this entry.
    fs::remove_file(user.path(NOTES)).unwrap();
    let user = user.unprivileged();
    let names = ["", "notes", "notes/agents", "git-commit"];
    let folders = names.map(|name| user.path(".codex/skills").join(name));
    for folder in &folders {
        set_mode(folder, 0o555);
    }
    let ran = user.words("sync --yes");
    for folder in &folders {
        set_mode(folder, 0o755);
    }
    for want in [
        "2 menu entries cannot be removed",
        "3 menu entries cannot be written",
    ] {
        assert_contains(&ran.stderr, &format!("{want}: Permission denied"));
    }
    assert_eq!(ran.stderr.matches("error: ").count(), 2, "{ran:?}");
}

#[test]
fn uninstall_fails_if_it_cannot_read_the_menu_that_it_should_empty() {
    let user = user();
    user.words("install codex --yes");
    fs::rename(user.path(".codex/skills"), user.path("moved")).unwrap();
    user.put(".codex/skills", "A file.");
    let ran = user.words("uninstall codex --yes");
    assert_contains(
        &ran.stderr,
        ".codex/skills: the menu's folder cannot be read",
    );
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
}

#[test]
fn an_entry_in_the_folder_of_commands_is_not_a_prompt() {
    let user = user();
    user.words("sync opencode --yes");
    let entry = ".config/opencode/commands/git-commit.md";
    assert_contains(&user.text(entry), "with command `git/commit`");
    let listed = user.words("list --from-agents --mine");
    assert_eq!(listed.stdout.lines().count(), 3, "{listed:?}");
    let source = user.path(".config/opencode/commands");
    let imported = user.words(&format!("import opencode:{} --dry-run", source.display()));
    assert!(!imported.stdout.contains("git-commit"), "{imported:?}");
}

#[test]
fn doctor_says_what_is_missing_in_a_menu_and_why() {
    let user = user();
    user.words("sync codex --yes");
    let verbose = user.words("doctor codex --verbose");
    assert_contains(&verbose.stdout, "its own menu has your prompts");
    user.put(
        ".agents/skills/notes/SKILL.md",
        "---\nname: notes\n---\nMine.\n",
    );
    user.words("rm git/commit --yes");
    let problems = user.words("doctor codex").stdout;
    assert_contains(
        &problems,
        "`notes` gets no entry in the menu: the name is taken",
    );
    assert_contains(
        &problems,
        "its own menu is out of date: 2 entries to remove",
    );
}
