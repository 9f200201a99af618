//! What `check`, `test`, `import` and `expand` read of a folder that may be somebody else's.

use crate::client::Client;
use std::fs;
use std::path::Path;

/// A user with `clone`, a repository, and `archive`, a folder without one.
fn client_with_foreign_folders() -> Client {
    let client = Client::new().variable("SECRET", "of the environment");
    for folder in ["clone/.git", "clone/prompts", "archive", "private"] {
        client.make_folder(folder);
    }
    client.put("private/p.md", "SECRET");
    client.put("clone/prompts/good.md", "Good.");
    client
}

#[test]
fn nothing_outside_of_a_foreign_folder_is_read() {
    let client = client_with_foreign_folders();
    let environ = Path::new("/proc/self/environ");
    let private = fs::canonicalize(client.path("private")).unwrap();
    for path in [
        "clone/prompts/leak.md",
        "clone/prompts/leak.toml",
        "clone/prompts/good.test.txt",
        "clone/.claude/commands/leak.md",
        "clone/hexai/prompts/user.jsonl",
    ] {
        client.link(environ, path);
    }
    client.link(private.join("p.md"), "archive/p.md");
    client.link(&private, "archive/.claude/commands");
    client.link(&private, "clone/linked");
    let plugins = format!(
        r#"{{"plugins": {{"x@y": [{{"installPath": "{}"}}]}}}}"#,
        private.display()
    );
    fs::create_dir_all(private.join("commands")).unwrap();
    fs::write(private.join("commands/c.md"), "SECRET").unwrap();
    client.put("clone/.claude/plugins/installed_plugins.json", plugins);
    for command in [
        "check clone/prompts",
        "check clone/prompts/leak.md",
        "check clone/prompts/leak.toml",
        "check clone/prompts/good.test.txt",
        "check archive",
        "check clone/linked",
        "test clone/prompts",
        "test clone/prompts/good.test.txt",
        "expand ./clone/prompts/leak.md",
        "import --to imported clone",
        "import --to imported archive",
        "import --to imported archive/p.md",
        "import --to imported clone/linked",
        "import --to imported claude:clone/.claude/commands",
        "import --to imported hexai:clone/hexai/prompts",
        "import --to imported clone/.claude/plugins",
    ] {
        let ran = client.words(command);
        assert_eq!(ran.status.code(), Some(1), "{command}: {ran:?}");
        let printed = ran.stdout + &ran.stderr;
        assert!(
            printed.contains("is not followed") || printed.contains("there are no prompts in"),
            "{command}: {printed}"
        );
        assert!(!printed.contains("SECRET"), "{command}: {printed}");
        assert!(!client.path("imported").exists(), "{command}");
    }
}

#[test]
fn links_within_the_repository_and_in_ones_own_folders_are_followed() {
    let client = client_with_foreign_folders();
    client.put("clone/AGENTS.md", "SECRET");
    client.link("../AGENTS.md", "clone/prompts/agents.md");
    let private = client.path("private/p.md");
    client.link(&private, ".claude/commands/mine.md");
    client.link(&private, ".config/prompt-expander/prompts/mine.md");
    client.link(client.path("private"), "linked");
    client
        .words("check clone/prompts")
        .printed("2 files checked: 0 errors, 0 warnings\n");
    for command in [
        "check clone/prompts/agents.md",
        "check .claude/commands",
        "check .claude/commands/mine.md",
        "check .config/prompt-expander/prompts",
        "check linked",
    ] {
        let ran = client.words(command);
        ran.printed("1 file checked: 0 errors, 0 warnings\n");
    }
    let imported = client.words("import --to imported .claude");
    assert!(imported.status.success(), "{imported:?}");
}
