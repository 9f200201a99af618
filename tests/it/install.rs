//! `install` and `uninstall`: one real run for each agent, the question, the settings file, and the
//! list of what is registered.
//!
//! The plans of `src/agents/install.rs` have tests of their own: text in, text out.

use crate::client::{Client, Ran, assert_contains, set_mode};
use serde_json::{Value, json};
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The config of VS Code, which is not below `.config` everywhere.
const VSCODE: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};

/// Each agent with its config for the user, and that for a project.
pub(crate) const CONFIGS: [(&str, &str, &str); 10] = [
    ("codex", ".codex/config.toml", ".codex/config.toml"),
    ("claude-code", ".claude.json", ".mcp.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
    ("copilot", ".copilot/mcp-config.json", ".github/mcp.json"),
    ("pi", ".pi/agent/mcp.json", ".pi/mcp.json"),
    ("vscode", VSCODE, ".vscode/mcp.json"),
    ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "opencode.json",
    ),
    ("zed", ".config/zed/settings.json", ".zed/settings.json"),
];

/// Each agent that has a hook, with the file of its hooks.
pub(crate) const HOOKS: [(&str, &str); 4] = [
    ("codex", ".codex/hooks.json"),
    ("claude-code", ".claude/settings.json"),
    ("gemini", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json"),
];

/// A user who has the program in a folder with a space in its name, and works in a project.
pub(crate) struct User {
    pub(crate) client: Client,
    pub(crate) program: PathBuf,
}

impl Deref for User {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl User {
    pub(crate) fn new() -> User {
        User::of(Client::new().arguments([]))
    }

    pub(crate) fn of(client: Client) -> User {
        let program = client.path("my tools/prompt-expander");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        client.make_folder("project");
        client.make_folder("bin");
        symlink(client.command().get_program(), &program).unwrap();
        User { client, program }
    }

    /// All files below the home directory, except those of the test itself.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path
                    .strip_prefix(self.root())
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                if ["my tools", "bin", "prompts", "prompt-expander"].contains(&name.as_str()) {
                } else if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(name);
                }
            }
        }
        files.sort();
        files
    }

    /// Runs the program by its path, in the project.
    pub(crate) fn run(&self, line: &[&str]) -> Ran {
        self.run_in("project", &self.program, line)
    }

    fn command_in(&self, folder: &str, program: &Path, line: &[&str]) -> std::process::Command {
        let known = self.client.command();
        let mut command = std::process::Command::new(program);
        for (name, value) in known.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("PATH", self.path("bin"))
            .args(line)
            .current_dir(self.path(folder));
        command.stdin(std::process::Stdio::null());
        command
    }

    fn run_in(&self, folder: &str, program: &Path, line: &[&str]) -> Ran {
        let output = self.command_in(folder, program, line).output().unwrap();
        Ran {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn done(&self, line: &[&str]) -> String {
        let ran = self.run(line);
        assert_eq!(
            ran.status.code(),
            Some(0),
            "{line:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        ran.stdout
    }

    /// Returns all files below the home directory with their contents.
    fn contents(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let mut contents = Vec::new();
        for file in self.files() {
            let content = fs::read(self.path(&file)).ok();
            contents.push((file, content));
        }
        contents
    }

    /// Runs a command that must fail and change no file, and returns its error.
    #[track_caller]
    pub(crate) fn refused(&self, line: &[&str]) -> String {
        let before = self.contents();
        let ran = self.run(line);
        assert_eq!(
            ran.status.code(),
            Some(1),
            "{line:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(self.contents() == before, "{line:?} changed a file");
        let mut errors = ran.stderr.lines();
        let error = errors.find_map(|line| line.strip_prefix("error: "));
        error.unwrap_or_else(|| panic!("{}", ran.stderr)).to_owned()
    }
}

/// The entry of the server in a config.
fn entry(name: &str, text: &str) -> Value {
    if name == "codex" {
        let rest = text
            .split("[mcp_servers.prompts]\n")
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        let pairs = rest.lines().map_while(|line| line.split_once(" = "));
        let pair =
            |(key, value): (&str, &str)| (key.to_owned(), serde_json::from_str(value).unwrap());
        return pairs.map(pair).collect::<serde_json::Map<_, _>>().into();
    }
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let servers = ["mcpServers", "servers", "mcp", "context_servers"];
    servers.iter().find_map(|key| value.get(key)).unwrap()["prompts"].clone()
}

#[test]
fn every_agent_gets_the_bare_program_in_its_scope_with_its_hook_and_the_next_step_is_printed() {
    for (name, config, project_config) in CONFIGS {
        for (option, file) in [
            (None, config.to_owned()),
            (Some("--project"), format!("project/{project_config}")),
        ] {
            let user = User::new();
            let line = [&["install", name, "--yes"], option.as_slice()].concat();
            let said = user.run(&line).stderr;
            let next_step = said.lines().find(|line| line.starts_with("hint: restart "));
            assert!(
                next_step
                    .unwrap()
                    .ends_with(", and type `:research solid-state batteries`"),
                "what to do next: {said}"
            );
            assert_contains(&said, "note: 1 agent, ");
            let program = user.program.to_str().unwrap();
            let want = match name {
                "codex" => json!({"command": program}),
                "claude-code" => {
                    json!({"type": "stdio", "command": program, "args": [], "env": {}})
                }
                "gemini" | "qwen" => json!({"command": program, "args": [], "trust": true}),
                "copilot" => {
                    json!({"type": "local", "command": program, "args": [], "tools": ["*"]})
                }
                "pi" => json!({"command": program, "args": [], "exposure": "direct"}),
                "opencode" => json!({"type": "local", "command": [program]}),
                "zed" => json!({"command": program, "args": [], "env": {}}),
                _ => json!({"type": "stdio", "command": program, "args": []}),
            };
            assert_eq!(entry(name, &user.text(&file)), want, "{name}");
            if let Some((_, hooks)) = HOOKS.iter().find(|(known, _)| *known == name) {
                let hooks = if option.is_some() {
                    format!("project/{hooks}")
                } else {
                    (*hooks).to_owned()
                };
                let hooks: Value = serde_json::from_str(&user.text(&hooks)).unwrap();
                let hook = &hooks["hooks"][event(name)][0]["hooks"][0]["command"];
                assert_eq!(hook, &json!(format!("'{program}' hook {name}; exit 0")));
            }
            assert!(
                user.done(&line)
                    .contains("registered already; nothing to change")
            );
            user.done(&[&["uninstall", name, "--yes"], option.as_slice()].concat());
            assert_eq!(user.files(), [""; 0], "{name}");
        }
    }
}

pub(crate) fn event(name: &str) -> &'static str {
    if name == "gemini" {
        "BeforeAgent"
    } else {
        "UserPromptSubmit"
    }
}

#[test]
fn install_takes_no_options_of_a_registration_and_names_the_key_of_its_own() {
    let user = User::new();
    let args = r#"["--no-builtin", "--prompts", "/theirs", "--openapi=o.yaml", "--project"]"#;
    let text = format!("[mcp_servers.prompts]\ncommand = \"prompt-expander\"\nargs = {args}\n");
    user.put("project/.codex/config.toml", &text);
    user.done(&["install", "codex", "--project", "--no-hook", "--yes"]);
    assert_eq!(user.files(), ["project/.codex/config.toml"]);
    let registered = entry("codex", &user.text("project/.codex/config.toml"));
    assert_eq!(registered, json!({"command": user.program}));
    for (line, key) in [
        (
            &["install", "codex", "--prompts", "/x"][..],
            "write `prompts` into config.toml",
        ),
        (
            &["install", "--openapi-base=http://x"],
            "write `[[openapi]] base` into config.toml",
        ),
        (
            &["--edit", "install", "codex"],
            "write `edit` into config.toml",
        ),
    ] {
        let ran = user.run(line);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        assert!(ran.stderr.contains(key), "{ran:?}");
    }
}

#[test]
fn another_settings_file_is_the_one_argument_that_is_registered() {
    let user = User::new();
    user.put("my.toml", "");
    let file = user.path("my.toml");
    user.done(&[
        "install",
        "codex",
        "--config",
        file.to_str().unwrap(),
        "--yes",
    ]);
    assert_eq!(
        entry("codex", &user.text(".codex/config.toml")),
        json!({"command": user.program, "args": ["--config", file]})
    );
    let hooks = user.text(".codex/hooks.json");
    assert_contains(
        &hooks,
        &format!("hook codex --config {}; exit 0", file.display()),
    );
    assert!(
        hooks.ends_with("}\n"),
        "a new file ends with a line: {hooks}"
    );
    let user = User::of(
        Client::new()
            .arguments([])
            .variable("XDG_CONFIG_HOME", "/x"),
    );
    user.done(&["install", "codex", "--yes", "--no-hook", "--no-menu"]);
    assert!(
        user.text(".codex/config.toml")
            .contains("args = [\"--config\", \"")
    );
    assert_eq!(user.files(), [".codex/config.toml"]);
}

#[test]
fn files_of_a_project_have_the_plain_name_of_a_program_on_path_and_else_warn_of_its_path() {
    let by_name = "note: this change puts only the name of the program into `.mcp.json` and \
                   `.claude/settings.json`. Everyone who works on this project runs the \
                   `prompt-expander` that is on their own PATH";
    let by_path = "note: this change puts a path of this machine into `.mcp.json` and \
                   `.claude/settings.json`, so do not commit it.";
    let other = "For files that you can commit, put this `prompt-expander` on your PATH before `";
    for (on_path, options, is_by_name, note) in [
        (None, &[][..], false, by_path),
        (Some("my tools/prompt-expander"), &[], true, by_name),
        (Some("another"), &[], false, by_path),
        (Some("another"), &[], false, other),
        (
            Some("my tools/prompt-expander"),
            &["--config", "/c"],
            true,
            by_path,
        ),
    ] {
        let user = User::new();
        user.put("another", "another program");
        if let Some(target) = on_path {
            symlink(user.path(target), user.path("bin/prompt-expander")).unwrap();
        }
        let planned = [&["install", "claude", "--project", "--dry-run"], options].concat();
        let notes = user.run(&planned).stderr.replace("\n      ", " ");
        assert_contains(&notes, note);
        let line = [&["install", "claude", "--project", "--yes"], options].concat();
        let notes = user.run(&line).stderr.replace("\n      ", " ");
        assert_contains(&notes, note);
        let registered = entry("claude-code", &user.text("project/.mcp.json"));
        let name = Path::new("prompt-expander");
        let command = if is_by_name { name } else { &user.program };
        assert_eq!(registered["command"], json!(command));
        let hooks = user.text("project/.claude/settings.json");
        assert_eq!(
            hooks.contains("\"prompt-expander hook claude-code"),
            is_by_name
        );
        let again = user.run(&line);
        assert_contains(&again.stdout, "registered already; nothing to change");
        assert_eq!(again.stderr, "");
        let hint = "hint: Claude Code has the server for this project, too. \
                    `prompt-expander uninstall claude-code --project` removes it\n";
        assert_contains(&user.run(&["uninstall", "--all", "--yes"]).stderr, hint);
        user.done(&["uninstall", "Claude Code", "--project", "--yes"]);
        assert_eq!(user.files(), ["another"]);
    }
}

/// The program under test is in a build folder.
#[test]
fn from_a_build_folder_a_copy_is_registered_and_uninstall_all_removes_it() {
    let user = User::new();
    user.put(
        "build/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55",
    );
    let program = user.path("build/debug/prompt-expander");
    user.make_folder("build/debug");
    symlink(user.client.command().get_program(), &program).unwrap();
    let run = |line: &[&str]| user.run_in("project", &program, line);
    let copy = ".local/bin/prompt-expander";
    let shown = run(&["install", "codex", "--dry-run"]).stdout;
    assert!(
        shown.contains(&format!("{copy}\n+ a copy of this program\n")) && !user.path(copy).exists(),
        "{shown}"
    );
    assert_eq!(run(&["install", "codex", "--yes"]).status.code(), Some(0));
    assert_eq!(
        entry("codex", &user.text(".codex/config.toml")),
        json!({"command": user.path(copy)})
    );
    let again = run(&["install", "codex", "--yes"]);
    assert_eq!(
        again.stdout,
        "codex: registered already; nothing to change\n"
    );
    let other = run(&["install", "gemini", "--yes"]);
    assert!(
        !other.stdout.contains("a copy of this program"),
        "{other:?}"
    );
    fs::write(user.path(copy), "an older version").unwrap();
    let update = run(&["install", "codex", "--yes"]);
    assert_contains(&update.stderr, "note: program copied\n");
    assert_ne!(
        fs::metadata(user.path(copy)).unwrap().permissions().mode() & 0o100,
        0
    );
    let version = |program: &Path| user.run_in("project", program, &["--version"]).stdout;
    assert_eq!(
        version(&user.path(copy)),
        version(&program),
        "also how the copied program was installed"
    );
    user.done(&["uninstall", "codex", "--yes"]);
    assert!(user.path(copy).exists());
    user.done(&["uninstall", "--all", "--yes"]);
    assert!(!user.path(copy).exists());
}

/// Gemini CLI blocks a message on any status but 0 and 1.
#[test]
fn a_hook_whose_program_is_gone_ends_with_0() {
    for (name, file) in HOOKS {
        let user = User::new();
        user.done(&["install", name, "--yes"]);
        fs::remove_file(&user.program).unwrap();
        let hooks: Value = serde_json::from_str(&user.text(file)).unwrap();
        let line = hooks["hooks"][event(name)][0]["hooks"][0]["command"]
            .as_str()
            .unwrap();
        let ran = std::process::Command::new("sh")
            .args(["-c", line])
            .output()
            .unwrap();
        assert_eq!(
            (ran.status.code(), ran.stdout.len()),
            (Some(0), 0),
            "{line}"
        );
    }
}

#[test]
fn several_agents_are_registered_at_once_and_one_that_fails_does_not_stop_the_others() {
    let user = User::new();
    user.put(".claude.json", "[");
    let ran = user.run(&["install", "codex", "claude-code", "gemini", "--yes"]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let why = format!(
        "{}:1:1: unterminated array; correct it",
        user.path(".claude.json").display()
    );
    assert!(ran.stderr.starts_with(&format!("error: {why}")), "{ran:?}");
    let last = ran.stderr.lines().last().unwrap();
    assert_eq!(last, "error: failed for Claude Code");
    assert_contains(&ran.stderr, "note: 2 agents, 3 files changed\n");
    let alone = user.run(&["install", "claude-code", "--yes"]).stderr;
    assert_eq!(alone.matches("unterminated array").count(), 1, "{alone}");
    for file in [".codex/config.toml", ".gemini/settings.json"] {
        assert!(user.text(file).contains("prompt-expander"));
    }
    assert_eq!(user.text(".claude.json"), "[");
}

#[test]
fn all_are_the_agents_on_this_machine_and_for_uninstall_those_that_are_registered() {
    let user = User::new();
    assert!(
        user.refused(&["install", "--all", "--yes"])
            .starts_with("this machine has none of the agents ")
    );
    user.make_folder(".cursor");
    user.put("bin/codex", "");
    set_mode(user.path("bin/codex"), 0o755);
    user.done(&["install", "--all", "--yes", "--no-menu"]);
    assert_eq!(
        user.files(),
        [
            ".codex/config.toml",
            ".codex/hooks.json",
            ".cursor/mcp.json"
        ]
    );
    user.done(&["install", "zed", "--yes"]);
    user.done(&["uninstall", "--all", "--yes"]);
    assert_eq!(user.files(), [""; 0]);
    assert_eq!(
        user.run(&["uninstall", "--all"]).stderr,
        "note: nothing is registered\n"
    );
}

#[test]
fn json_says_what_would_be_written_and_what_was() {
    let user = User::new();
    user.put(".codex/config.toml", "a = 1\n");
    let parsed = |line: &[&str]| -> Value { serde_json::from_str(&user.done(line)).unwrap() };
    let [config, hooks] = [".codex/config.toml", ".codex/hooks.json"]
        .map(|file| user.path(file).display().to_string());
    let planned = parsed(&["install", "codex", "--json", "--dry-run"]);
    assert_eq!(
        planned["agents"][0]["files"],
        json!([{"file": config, "removed": false}, {"file": hooks, "removed": false}])
    );
    assert_eq!(planned["written"], false);
    let written = parsed(&["install", "codex", "--json", "--yes"]);
    let backup = format!("{config}.before-prompt-expander");
    assert_eq!(
        written["agents"][0]["files"][0],
        json!({"file": config, "backup": backup, "removed": false})
    );
    assert_eq!(written["written"], true);
    let list = parsed(&["install", "--json"]);
    let codex = &list["clients"][0];
    assert_eq!(
        (
            &codex["name"],
            &codex["registrations"][0]["ours"],
            &codex["hooks"]
        ),
        (&json!("codex"), &json!(true), &json!([hooks]))
    );
    let removed = parsed(&["uninstall", "codex", "--json", "--yes"]);
    assert_eq!(
        removed["agents"][0]["files"][1],
        json!({"file": hooks, "removed": true})
    );
    let ran = user.run(&["install", "codex", "--json"]);
    assert!(
        ran.stderr
            .contains("--json asks nothing; add --yes to write without asking"),
        "{ran:?}"
    );
}

#[test]
fn two_installations_at_once_leave_one_entry_and_one_backup() {
    let user = User::new();
    user.put(".codex/config.toml", "a = 1\n");
    let mut command = user.command_in("project", &user.program, &["install", "codex", "--yes"]);
    let mut children = [(); 4].map(|()| command.spawn().unwrap());
    let succeeded = children
        .each_mut()
        .map(|child| child.wait().unwrap().success());
    assert!(succeeded.contains(&true));
    assert_eq!(
        user.text(".codex/config.toml")
            .matches("[mcp_servers.prompts]")
            .count(),
        1
    );
    assert_eq!(
        user.text(".codex/config.toml.before-prompt-expander"),
        "a = 1\n"
    );
}

#[test]
fn a_read_only_config_is_reported_before_the_question() {
    let user = User::new();
    user.put(".codex/config.toml", "a = 1\n");
    set_mode(user.path(".codex/config.toml"), 0o444);
    let why = user.refused(&["install", "codex", "--yes"]);
    assert_contains(
        &why,
        "it is read-only; make it writable, or change it where it is generated",
    );
}

#[test]
fn a_config_behind_a_symlink_is_emptied_and_not_deleted() {
    let user = User::new();
    user.done(&["install", "codex", "--yes"]);
    let hooks = user.path(".codex/hooks.json");
    let moved_hooks = user.path("project/hooks.json");
    fs::rename(&hooks, &moved_hooks).unwrap();
    symlink(&moved_hooks, &hooks).unwrap();
    user.done(&["uninstall", "codex", "--yes"]);
    assert!(hooks.is_symlink());
    let text = fs::read_to_string(&moved_hooks).unwrap();
    assert!(!text.contains("prompt-expander"), "{text}");
    user.done(&["install", "codex", "--yes"]);
    assert!(user.text(".codex/hooks.json").contains("prompt-expander"));
}

#[test]
fn the_path_that_stays_the_same_after_an_update_is_registered() {
    let user = User::new();
    let stable = user.path("bin/prompt-expander");
    symlink(&user.program, &stable).unwrap();
    user.done(&["install", "codex", "--yes"]);
    assert_eq!(
        entry("codex", &user.text(".codex/config.toml")),
        json!({"command": stable})
    );
    let indirect = user.path("project/../my tools/../my tools/prompt-expander");
    fs::remove_file(&stable).unwrap();
    user.run_in("project", &indirect, &["install", "codex", "--yes"]);
    assert_eq!(
        entry("codex", &user.text(".codex/config.toml")),
        json!({"command": user.program})
    );
    // Under another name, `uninstall` would not know it.
    let other = user.path("bin/pe");
    symlink(user.client.command().get_program(), &other).unwrap();
    let ran = user.run_in("project", &other, &["install", "codex", "--dry-run"]);
    assert!(
        ran.stderr
            .contains(" to `prompt-expander`, so that `doctor` and `uninstall` recognize it"),
        "{ran:?}"
    );
}

#[test]
fn nothing_is_written_without_consent() {
    let user = User::new();
    for (line, status) in [
        (&["install", "codex"][..], 1),
        (&["install", "codex", "--dry-run"], 0),
    ] {
        assert_eq!(user.run(line).status.code(), Some(status));
        assert_eq!(user.files(), [""; 0]);
    }
}

#[test]
fn the_list_has_every_agent_on_the_machine_with_its_state() {
    let user = User::new();
    user.make_folder(".cursor");
    user.done(&["install", "codex", "--yes"]);
    user.put(".mcp.json", "");
    user.put(
        "project/.mcp.json",
        r#"{"mcpServers": {"prompts": {"command": "npx"}}}"#,
    );
    user.put(".gemini/settings.json", "{");
    let ran = user.run(&["install"]);
    let path = |file: &str| user.path(file).display().to_string();
    let rows: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        rows,
        [
            format!("codex\tregistered\t{}:1", path(".codex/config.toml")),
            format!("codex\thook\t{}:3", path(".codex/hooks.json")),
            format!(
                "claude-code\tanother server is registered as `prompts` for this project\t{}:1",
                path("project/.mcp.json")
            ),
            "gemini\tits config cannot be read\t".to_owned(),
            "cursor\tnot registered\t".to_owned(),
        ]
    );
    assert!(
        ran.stderr.starts_with("warning: ") && ran.stderr.contains(".gemini/settings.json:1:1: "),
        "{ran:?}"
    );
    assert_eq!(user.done(&["uninstall"]).lines().count(), 4);
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use std::io::{Read, Write};
    use std::process::Child;

    fn started(user: &User, arguments: &str) -> Option<Child> {
        let mut program = user.client.command();
        program
            .current_dir(user.path("project"))
            .env("NO_COLOR", "1");
        crate::terminal::started(
            &program,
            40,
            &format!("'{}' {arguments}", user.program.display()),
        )
    }

    #[test]
    fn the_answer_decides() {
        for (answer, is_written) in [("y\n", true), ("\n", false)] {
            let user = User::new();
            user.put(".codex/config.toml", "a = 1\n");
            let Some(mut child) = started(&user, "install codex") else {
                return;
            };
            let mut said = String::new();
            child
                .stdin
                .as_mut()
                .unwrap()
                .write_all(answer.as_bytes())
                .unwrap();
            child
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut said)
                .unwrap();
            let status = child.wait().unwrap().code();
            assert_eq!(
                user.text(".codex/config.toml") != "a = 1\n",
                is_written,
                "{answer:?}: {said}"
            );
            assert_eq!(
                (status, said.ends_with("nothing is written\r\n")),
                (Some(0), !is_written),
                "{said}"
            );
            assert!(!said.contains("error"), "{said}");
            assert_contains(&said, "Make these changes for Codex? [y/N]");
        }
        let user = User::new();
        let Some(mut child) = started(&user, "install codex gemini zed") else {
            return;
        };
        child.stdin.as_mut().unwrap().write_all(b"n\n").unwrap();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert_contains(
            &said,
            "Make these changes for Codex, Gemini CLI and Zed? [y/N]",
        );
    }
}
