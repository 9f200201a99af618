//! `install` and `uninstall`: what they do to the files of agents, and the list of what is registered.
//!
//! `tests/install` has what the agents' own commands wrote, byte for byte (Codex 0.169.0, Claude Code 2.1.330, Gemini CLI 0.61.0,
//! opencode 1.18.33).

use crate::client::{Client, Ran};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The config of VS Code, which is not below `.config` everywhere.
const VSCODE: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};

/// Each agent with its config for the user, and that for a project.
pub(crate) const CONFIGS: [(&str, &str, &str); 7] = [
    ("codex", ".codex/config.toml", ".codex/config.toml"),
    ("claude-code", ".claude.json", ".mcp.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("vscode", VSCODE, ".vscode/mcp.json"),
    ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    ("opencode", ".config/opencode/opencode.jsonc", "opencode.json"),
    ("zed", ".config/zed/settings.json", ".zed/settings.json"),
];

/// Each agent that has a hook, with the file of its hooks.
pub(crate) const HOOKS: [(&str, &str); 3] =
    [("codex", ".codex/hooks.json"), ("claude-code", ".claude/settings.json"), ("gemini", ".gemini/settings.json")];

/// A user who has the program in a folder with a space in its name, and works in a project.
pub(crate) struct User {
    pub(crate) client: Client,
    pub(crate) program: PathBuf,
}

impl User {
    pub(crate) fn new() -> User {
        User::of(Client::new().arguments([]))
    }

    pub(crate) fn of(client: Client) -> User {
        let program = client.root().join("my tools/prompt-expander");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::create_dir(client.root().join("project")).unwrap();
        fs::create_dir(client.root().join("bin")).unwrap();
        symlink(client.command().get_program(), &program).unwrap();
        User { client, program }
    }

    fn root(&self) -> &Path {
        self.client.root()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root().join(file)
    }

    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// All files below the home directory, except those of the test itself.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned();
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
        command.env("PATH", self.path("bin")).args(line).current_dir(self.path(folder));
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

    /// The same for what must succeed. Returns what it printed.
    #[track_caller]
    pub(crate) fn done(&self, line: &[&str]) -> String {
        let ran = self.run(line);
        assert_eq!(ran.status.code(), Some(0), "{line:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// The same for what must fail and change no file. Returns the error.
    #[track_caller]
    pub(crate) fn refused(&self, line: &[&str]) -> String {
        let texts = || self.files().into_iter().map(|file| (fs::read(self.path(&file)).ok(), file)).collect::<Vec<_>>();
        let before = texts();
        let ran = self.run(line);
        assert_eq!(ran.status.code(), Some(1), "{line:?}: {}{}", ran.stdout, ran.stderr);
        assert!(texts() == before, "{line:?} changed a file");
        let said = ran.stderr.lines().filter(|line| !line.starts_with("warning: ")).collect::<Vec<_>>().join("\n");
        said.strip_prefix("error: ").unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// A config with another server, comments where the agent allows them, and an odd layout.
    pub(crate) fn config(name: &str) -> String {
        let servers = match name {
            "codex" => {
                return "# mine\nmodel = \"gpt\"   # the good one\n\n[mcp_servers.other]\ncommand = 'x' # c\n\n[tui]\ntheme = \"dark\"\n"
                    .to_owned();
            }
            "vscode" => "servers",
            "opencode" => "mcp",
            "zed" => "context_servers",
            _ => "mcpServers",
        };
        let entry = if name == "opencode" {
            "{\"type\": \"local\", \"command\": [\"x\"]}"
        } else {
            "{\"command\": \"x\",   \"args\": [\"y\"]}"
        };
        let (comment, comma) = match name {
            "claude-code" => ("", ""),
            "gemini" => (" // mine", ""),
            _ => (" // mine", ","),
        };
        format!(
            "{{{comment}\n    \"z\": 1,\n\n    \"{servers}\": {{\n        \"other\": {entry}{comma}\n    }},\n    \"a\": [1,2]{comma}\n}}\n"
        )
    }
}

/// The lines that `after` has and `before` does not, if they are the same otherwise.
#[track_caller]
fn added<'t>(before: &str, after: &'t str) -> Vec<&'t str> {
    let mut left = before.lines().peekable();
    let mut added = Vec::new();
    for line in after.lines() {
        // The entry that was last may have a comma now.
        let is_same = |known: &&str| *known == line || format!("{known},") == line;
        if left.next_if(is_same).is_none() {
            added.push(line);
        }
    }
    assert_eq!(left.next(), None, "{before}\n{after}");
    added
}

#[test]
fn a_new_entry_is_the_one_that_the_agents_own_command_writes() {
    for (name, file, project_file, golden) in [
        ("codex", ".codex/config.toml", None, "codex.toml"),
        ("claude-code", ".claude.json", Some(".mcp.json"), "claude-code.json"),
        ("gemini", ".gemini/settings.json", Some(".gemini/settings.json"), "gemini.json"),
        ("opencode", ".config/opencode/opencode.jsonc", None, "opencode.jsonc"),
    ] {
        let user = User::new();
        let want =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install").join(golden)).unwrap();
        let want = want.replace("/opt/my tools/prompt-expander", user.program.to_str().unwrap());
        user.done(&["install", name, "--yes", "--prompts", "/a b/c\"d"]);
        assert_eq!(user.read(file), want, "{name}");
        if let Some(file) = project_file {
            user.done(&["install", name, "--yes", "--prompts", "/a b/c\"d", "--project"]);
            assert_eq!(user.read(&format!("project/{file}")), want, "{name}");
        }
    }
}

#[test]
fn every_agent_gets_its_entry_in_its_scope_and_the_next_step_is_printed() {
    let user = User::new();
    for (name, file, project_file) in CONFIGS {
        for (scope, file) in [(None, file.to_owned()), (Some("--project"), format!("project/{project_file}"))] {
            let line = ["install", name, "--yes"].into_iter().chain(scope).collect::<Vec<_>>();
            let printed = user.done(&line);
            let next = printed.lines().find(|line| line.starts_with("next: ")).unwrap();
            assert!(next.contains("research solid-state batteries`"), "{next}");
            assert!(user.read(&file).contains(user.program.to_str().unwrap()), "{file}");
        }
    }
    let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
    let names: Vec<&str> =
        list["clients"].as_array().unwrap().iter().map(|client| client["name"].as_str().unwrap()).collect();
    assert_eq!(names, CONFIGS.map(|(name, ..)| name));
    for (client, (name, file, project_file)) in list["clients"].as_array().unwrap().iter().zip(CONFIGS) {
        let of = |scope: &str, file: PathBuf, server: &Value| {
            assert_eq!(
                *server,
                json!({
                    "name": "prompts", "scope": scope, "file": file, "line": server["line"],
                    "command": user.program, "args": [], "enabled": true, "ours": true
                }),
                "{name}"
            );
        };
        assert_eq!(client["registrations"].as_array().unwrap().len(), 2, "{client}");
        of("user", user.path(file), &client["registrations"][0]);
        of("project", user.path("project").join(project_file), &client["registrations"][1]);
        assert_eq!((&client["problems"], &client["hooks"]), (&json!([]), &json!([])));
    }
}

#[test]
fn installing_twice_is_the_same_as_once() {
    for (name, ..) in CONFIGS {
        let user = User::new();
        let hook = HOOKS.iter().any(|(with_hook, _)| *with_hook == name).then_some("--hook");
        let line = ["install", name, "--yes", "--prompts", "/a b"].into_iter().chain(hook).collect::<Vec<_>>();
        user.done(&line);
        let files = user.files();
        let stamps = || files.iter().map(|file| fs::metadata(user.path(file)).unwrap().ino()).collect::<Vec<_>>();
        let before = stamps();
        assert!(user.done(&line).starts_with("registered already; nothing to change\n"), "{name}");
        assert_eq!((user.files(), stamps()), (files.clone(), before), "{name}");
    }
}

#[test]
fn another_installation_changes_the_entry_and_keeps_what_the_user_added_to_it() {
    let user = User::new();
    user.done(&["install", "codex", "--hook", "--yes", "--prompts", "/old"]);
    let added = user.read(".codex/config.toml") + "startup_timeout_sec = 20 # slow disk\n";
    user.write(".codex/config.toml", &added);
    user.done(&["install", "codex", "--hook", "--yes", "--prompts", "/new", "--no-builtin"]);
    assert_eq!(
        user.read(".codex/config.toml"),
        added.replace("[\"--prompts\", \"/old\"]", "[\"--prompts\", \"/new\", \"--no-builtin\"]")
    );
    let hooks: Value = serde_json::from_str(&user.read(".codex/hooks.json")).unwrap();
    let line = format!("'{}' hook codex --prompts /new --no-builtin", user.program.display());
    assert_eq!(
        hooks,
        json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line, "timeout": 5}]}]}})
    );
}

/// What is registered, what `install` is asked for, and what is registered afterwards: the options of the server, and those of the
/// hook; `-` is none. The last column is what the note names as kept.
#[rustfmt::skip]
const INSTALL_AGAIN: [[&str; 6]; 20] = [
    // server              hook                    asked                            server then                    hook then                       keeps
    ["-",                  "-",                    "",                              "",                            "-",                            ""],
    ["-",                  "-",                    "--hook --prompts /a",           "--prompts /a",                "--prompts /a",                 ""],
    ["-",                  "--prompts /b",         "",                              "",                            "--prompts /b",                 "--prompts /b"],
    ["--prompts /a",       "-",                    "",                              "--prompts /a",                "-",                            "--prompts /a"],
    ["--prompts /a",       "-",                    "--prompts /a",                  "--prompts /a",                "-",                            ""],
    ["--prompts /a --project", "-",                "--hook",                        "--prompts /a --project",      "--prompts /a --project",       "--prompts /a, --project"],
    ["--prompts /a --project", "--prompts /a --project", "--hook",                  "--prompts /a --project",      "--prompts /a --project",       "--prompts /a, --project"],
    ["--prompts /a --project", "--prompts /a --project", "-- --tap f",              "--prompts /a --project --tap f", "--prompts /a --project",    "--prompts /a, --project"],
    ["--prompts /a --no-builtin", "--prompts /a --no-builtin", "--prompts /c",      "--prompts /c --no-builtin",   "--prompts /c --no-builtin",    "--no-builtin"],
    ["--prompts /a --tap f --prompts /b", "--prompts /a --prompts /b", "--prompts /c", "--prompts /c --tap f",     "--prompts /c",                 "--tap f"],
    ["--prompts=/a",       "--prompts=/a",         "--prompts /c --prompts /d",     "--prompts /c --prompts /d",   "--prompts /c --prompts /d",    ""],
    ["--tap f --log-file l", "-",                  "-- --tap g",                    "--tap g --log-file l",        "-",                            "--log-file l"],
    ["--tap=f",            "",                     "-- --tap g",                    "--tap g",                     "",                             ""],
    ["--page-size 9",      "",                     "--prompts /a -- --project",     "--page-size 9 --prompts /a --project", "--prompts /a --project", "--page-size 9"],
    ["--prompts /a",       "--prompts /b --project", "--no-builtin",                "--prompts /a --no-builtin",   "--prompts /b --project --no-builtin", "--prompts /a, --prompts /b, --project"],
    ["",                   "--project",            "--hook --no-builtin",           "--no-builtin",                "--project --no-builtin",       "--project"],
    ["--prompts /a",       "-",                    "--reset --hook",                "",                            "",                             ""],
    ["--prompts /a --project --tap f", "--prompts /a --project", "--reset",         "",                            "",                             ""],
    ["--prompts /a --project --tap f", "--prompts /a --project", "--reset --prompts /b", "--prompts /b",           "--prompts /b",                 ""],
    ["--prompts /a",       "--prompts /a",         "--reset --prompts /a -- --tap f", "--prompts /a --tap f",      "--prompts /a",                 ""],
];

/// The event of the hooks of an agent.
pub(crate) fn event(name: &str) -> &'static str {
    if name == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" }
}

/// Registers a server and a hook with these options by hand; `-` registers none.
fn register(user: &User, name: &str, server: &str, hook: &str) {
    let program = user.program.to_str().unwrap();
    let args: Vec<&str> = server.split_whitespace().collect();
    let (_, config, _) = CONFIGS.into_iter().find(|(known, ..)| *known == name).unwrap();
    let (_, hooks) = HOOKS.into_iter().find(|(known, _)| *known == name).unwrap();
    let mut values = std::collections::BTreeMap::from([(config, json!({})), (hooks, json!({}))]);
    if hook != "-" {
        let line = format!("'{program}' hook {name} {hook}");
        values.get_mut(hooks).unwrap()["hooks"] =
            json!({event(name): [{"hooks": [{"type": "command", "command": line}]}]});
    }
    if server != "-" && name == "codex" {
        values.remove(config);
        user.write(config, format!("[mcp_servers.prompts]\ncommand = {program:?}\nargs = {args:?}\n"));
    } else if server != "-" {
        values.get_mut(config).unwrap()["mcpServers"] = json!({"prompts": {"command": program, "args": args}});
    }
    for (file, value) in values.into_iter().filter(|(_, value)| *value != json!({})) {
        user.write(file, value.to_string());
    }
}

/// The options of the registered server and hook; `-` if there is none.
fn registered(user: &User, name: &str) -> [String; 2] {
    let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
    let agent = list["clients"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap();
    let server = agent["registrations"].get(0).map_or("-".to_owned(), |server| {
        let words: Vec<&str> = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        words.join(" ")
    });
    let hook = agent["hooks"].get(0).map_or("-".to_owned(), |file| {
        let hooks: Value = serde_json::from_str(&user.read(file.as_str().unwrap())).unwrap();
        let groups = hooks["hooks"][event(name)].as_array().unwrap();
        assert_eq!(groups.len(), 1, "{hooks}");
        let line = groups[0]["hooks"][0]["command"].as_str().unwrap();
        let (_, options) = line.split_once(&format!("prompt-expander' hook {name}")).unwrap();
        options.trim_end_matches("; exit 0").trim().to_owned()
    });
    [server, hook]
}

#[test]
fn an_option_that_is_given_replaces_those_of_its_name_and_others_stay() {
    for (name, _) in HOOKS {
        for [server, hook, asked, server_then, hook_then, keeps] in INSTALL_AGAIN {
            let row = format!("{name}: {server} | {hook} | {asked}");
            let user = User::new();
            register(&user, name, server, hook);
            assert_eq!(registered(&user, name), [server, hook], "{row}");
            let line: Vec<&str> = ["install", name, "--yes"].into_iter().chain(asked.split_whitespace()).collect();
            let ran = user.run(&line);
            assert_eq!(ran.status.code(), Some(0), "{row}: {}", ran.stderr);
            assert_eq!(registered(&user, name), [server_then, hook_then], "{row}");
            let note = ran.stderr.lines().find_map(|line| line.strip_prefix("note: keeps "));
            let want = Some(format!("{keeps}; to start without, add --reset")).filter(|_| !keeps.is_empty());
            assert_eq!(note, want.as_deref(), "{row}");

            let again = user.done(&line);
            assert!(again.starts_with("registered already; nothing to change\n"), "{row}");
            user.done(&["uninstall", name, "--yes"]);
            assert_eq!(registered(&user, name), ["-", "-"], "{row}");
        }
    }
}

#[test]
fn the_environment_and_other_keys_of_an_entry_stay_and_reset_removes_them() {
    for (name, file, key, text) in [
        (
            "codex",
            ".codex/config.toml",
            "startup_timeout_sec",
            "# mine\n[mcp_servers.prompts]\ncommand = 'prompt-expander'\nstartup_timeout_sec = 20\n\n\
             [mcp_servers.prompts.env]\nE = 'e'\n",
        ),
        (
            "claude-code",
            ".claude.json",
            "alwaysLoad",
            "{\"mcpServers\": {\"prompts\": {\"command\": \"prompt-expander\", \"alwaysLoad\": true, \"env\": {\"E\": \"e\"}}}}",
        ),
    ] {
        let user = User::new();
        user.write(file, text);
        let ran = user.run(&["install", name, "--prompts", "/a", "--yes"]);
        assert!(ran.stderr.contains(&format!("note: keeps {key}, env; to start without, add --reset\n")), "{ran:?}");
        let has_variable = |text: &str| text.contains("'e'") || text.contains("\"e\"");
        assert!(user.read(file).contains(key) && has_variable(&user.read(file)), "{}", user.read(file));
        let ran = user.run(&["install", name, "--reset", "--yes"]);
        assert!(!ran.stderr.contains("keeps"), "{ran:?}");
        let after = user.read(file);
        assert!(!after.contains(key) && !has_variable(&after) && !after.contains("--prompts"), "{after}");
        assert_eq!(after.starts_with("# mine\n"), name == "codex", "{after}");
    }
}

#[test]
fn a_second_hook_is_removed_and_the_user_is_told() {
    let user = User::new();
    register(&user, "codex", "", "--prompts /a");
    let mut hooks: Value = serde_json::from_str(&user.read(".codex/hooks.json")).unwrap();
    let second = json!({"hooks": [{"type": "command", "command": "prompt-expander hook codex --prompts /b"}]});
    hooks["hooks"]["UserPromptSubmit"].as_array_mut().unwrap().push(second);
    user.write(".codex/hooks.json", hooks.to_string());
    let ran = user.run(&["install", "codex", "--yes"]);
    assert!(ran.stderr.contains(": removes the hook `prompt-expander hook codex --prompts /b`, because"), "{ran:?}");
    assert_eq!(registered(&user, "codex")[1], "--prompts /a");
}

#[test]
fn an_entry_whose_options_cannot_be_read_is_only_reset_on_request() {
    let user = User::new();
    user.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"prompts": {"command": "prompt-expander", "args": "--prompts /a"}}}"#,
    );
    let said = user.refused(&["install", "cursor", "--yes"]);
    let want = ":1:17: the entry `prompts` cannot be kept: `args` must be a list of strings, but is a string; correct it, or \
                replace it with --reset";
    assert_eq!(said, format!("{}{want}", user.path(".cursor/mcp.json").display()));
    user.done(&["install", "cursor", "--reset", "--yes"]);
    assert!(user.read(".cursor/mcp.json").contains("\"args\": []"), "{}", user.read(".cursor/mcp.json"));
}

#[test]
fn options_that_stay_and_with_which_the_server_would_not_start_get_a_warning() {
    let user = User::new();
    register(&user, "gemini", "--prompts /a --nope", "-");
    let ran = user.run(&["install", "gemini", "--yes"]);
    let warning = "warning: Gemini CLI would not start the server with the registered arguments: unexpected argument '--nope' found; \
                   correct them, or use --reset\n";
    assert!(ran.status.success() && ran.stderr.contains(warning), "{ran:?}");
    assert_eq!(registered(&user, "gemini")[0], "--prompts /a --nope");
}

/// The lines of `install` among the fixes of `doctor` keep what is registered.
#[test]
fn no_fix_of_doctor_loses_an_option() {
    let mut lines_run = 0;
    for (name, file) in HOOKS {
        for [server, hook, broken] in [
            ["--prompts /a --no-builtin --log-file l", "--prompts /a --no-builtin", "program"],
            ["--prompts /a --project", "--prompts /a", "program"],
            ["--project --log-file l", "-", "program"],
            ["--prompts /a --log-file l", "--prompts /a", "hook"],
            ["--prompts /a --nope", "--prompts /a", "none"],
            ["--prompts /a --project", "--prompts /b", "program"],
        ] {
            let user = User::new();
            let (_, config, _) = CONFIGS.into_iter().find(|(known, ..)| *known == name).unwrap();
            register(&user, name, server, hook);
            let gone = |file: &str| user.write(file, user.read(file).replace("my tools/", "gone/"));
            match broken {
                "program" => gone(config),
                "hook" => gone(file),
                _ => {}
            }
            let before = registered(&user, name);
            let findings: Value = serde_json::from_str(&user.run(&["doctor", name, "--json"]).stdout).unwrap();
            let texts = findings.to_string();
            let commands: Vec<&str> =
                texts.split('`').filter(|text| text.starts_with("prompt-expander install ")).collect();
            assert!(!commands.is_empty() || broken == "none", "{findings:#}");
            for command in commands {
                let words = shlex::split(command).unwrap();
                let (install, options) =
                    words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
                let line = [&install[1..], &["--yes".to_owned()], options].concat();
                user.done(&line.iter().map(String::as_str).collect::<Vec<_>>());
                let after = registered(&user, name);
                for (before, after) in before.iter().zip(&after) {
                    let lost =
                        before.split_whitespace().find(|word| !after.split_whitespace().any(|kept| kept == *word));
                    assert_eq!(lost, None, "{command}: {before} | {after}");
                }
                lines_run += 1;
            }
        }
    }
    assert!(lines_run > 0);
}

#[test]
fn several_agents_are_registered_at_once_and_one_that_fails_does_not_stop_the_others() {
    let user = User::new();
    user.write(".gemini/settings.json", "{,}");
    let ran = user.run(&["install", "codex", "gemini", "cursor", "codex", "--hook", "--yes"]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("settings.json:1:2: ") && errors[1].contains("Cursor has no hook"), "{errors:?}");
    assert_eq!(user.files(), [".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"]);

    let ran = user.run(&["install", "gemini", "codex", "--yes"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stdout.starts_with("codex: registered already; nothing to change\n"), "{ran:?}");
    let ran = user.run(&["install", "gemini", "codex", "--yes", "--json"]);
    let done: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(done, json!({"agents": [{"name": "codex", "files": [], "notes": []}], "written": false}));
    assert!(ran.status.code() == Some(1) && ran.stderr.matches("settings.json:1:2: ").count() == 1, "{ran:?}");
    user.write(".gemini/settings.json", "{}");
    let printed = user.done(&["install", "gemini", "codex", "--yes"]);
    assert!(printed.starts_with("codex: registered already; nothing to change\n"), "{printed}");
    let tip = "tip: add the hook with `prompt-expander install gemini --hook`: the model then gets each prompt at once, without \
               having to call a tool";
    assert_eq!(printed.lines().last(), Some(tip));
}

#[test]
fn all_are_the_agents_on_this_machine_and_for_uninstall_those_that_are_registered() {
    let user = User::new();
    assert_eq!(
        user.refused(&["install", "--all", "--yes"]),
        "no agent was found on this machine; looked for `codex`, `claude-code`, `gemini`, `vscode`, `cursor`, `opencode` and \
         `zed`; to register with one anyway, name it"
    );
    assert_eq!(user.done(&["uninstall", "--all", "--yes"]), "nothing is registered\n");
    for folder in [".codex", ".cursor"] {
        fs::create_dir(user.path(folder)).unwrap();
    }
    user.done(&["install", "--all", "--hook", "--no-trust", "--yes"]);
    assert_eq!(user.files(), [".codex/config.toml", ".codex/hooks.json", ".cursor/mcp.json"]);
    user.done(&["install", "zed", "--yes"]);
    user.done(&["uninstall", "--all", "--yes"]);
    assert_eq!(user.files(), [""; 0]);
}

#[test]
fn uninstall_without_a_name_lists_what_is_registered() {
    let user = User::new();
    fs::create_dir(user.path(".cursor")).unwrap();
    assert_eq!(user.done(&["uninstall"]), "");
    user.done(&["install", "codex", "--hook", "--yes"]);
    let [config, hooks] = [".codex/config.toml", ".codex/hooks.json"].map(|file| user.path(file).display().to_string());
    assert_eq!(user.done(&["uninstall"]), format!("codex\tregistered\t{config}:1\ncodex\thook\t{hooks}:3\n"));
    assert_eq!(user.done(&["uninstall", "--json"]), user.done(&["install", "--json"]));
}

#[test]
fn json_says_what_would_be_written_and_what_was() {
    let user = User::new();
    user.write(".codex/config.toml", "a = 1\n");
    let [config, hooks, gemini] =
        [".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"].map(|file| user.path(file));
    let run = |line: &[&str]| serde_json::from_str::<Value>(&user.done(line)).unwrap();
    let line = ["install", "codex", "gemini", "--hook", "--json"];
    let note = "because of `\"trust\": true`, Gemini CLI calls the tools of this server without asking you; --no-trust leaves it \
                out";
    let file = |path: &PathBuf| json!({"file": path, "removed": false});
    assert_eq!(
        run(&[&line[..], &["--dry-run"]].concat()),
        json!({"agents": [
            {"name": "codex", "files": [file(&config), file(&hooks)], "notes": []},
            {"name": "gemini", "files": [file(&gemini)], "notes": [note]},
        ], "written": false})
    );
    let ran = user.run(&line);
    assert!(ran.status.code() == Some(1) && ran.stdout.is_empty(), "{ran:?}");
    assert!(
        ran.stderr.contains("--json cannot ask for confirmation; add --yes to write, or --dry-run to write nothing"),
        "{ran:?}"
    );
    assert_eq!(user.files(), [".codex/config.toml"]);
    let backup = user.path(".codex/config.toml.before-prompt-expander");
    assert_eq!(
        run(&[&line[..], &["--yes"]].concat())["agents"][0]["files"],
        json!([{"file": config, "backup": backup, "removed": false}, file(&hooks)])
    );
    assert_eq!(
        run(&["install", "codex", "--json", "--yes"]),
        json!({"agents": [{"name": "codex", "files": [], "notes": []}], "written": false})
    );
    assert_eq!(
        run(&["uninstall", "codex", "--json", "--yes"]),
        json!({"agents": [
            {"name": "codex", "files": [file(&config), {"file": hooks, "removed": true}], "notes": []}
        ], "written": true})
    );
}

#[test]
fn that_gemini_trusts_the_server_is_said_and_can_be_left_out() {
    let user = User::new();
    let says_so = |ran: &Ran| {
        ran.stderr.contains("note: because of `\"trust\": true`, Gemini CLI calls the tools of this server ")
    };
    let ran = user.run(&["install", "gemini", "--dry-run"]);
    assert!(says_so(&ran) && ran.stdout.contains("\"trust\": true"), "{ran:?}");
    let is_trusted = || user.read(".gemini/settings.json").contains("trust");
    assert!(says_so(&user.run(&["install", "gemini", "--yes"])) && is_trusted());
    // It is there already.
    assert!(!says_so(&user.run(&["install", "gemini", "--yes", "--prompts", "/a"])) && is_trusted());
    assert!(!says_so(&user.run(&["install", "gemini", "--yes", "--no-trust"])) && !is_trusted());
    user.done(&["install", "gemini", "--yes"]);
    assert!(!is_trusted());
    user.done(&["uninstall", "gemini", "--yes"]);
    assert_eq!(user.files(), [""; 0]);
    assert!(!says_so(&user.run(&["install", "gemini", "codex", "--yes", "--no-trust"])) && !is_trusted());
    assert_eq!(
        user.refused(&["install", "codex", "--yes", "--no-trust"]),
        "--no-trust is only for `gemini`; leave it out"
    );
}

#[test]
fn the_hook_is_recommended_where_an_agent_has_one_and_the_user_has_not() {
    let user = User::new();
    let has_tip = |line: &[&str]| user.done(line).lines().last().unwrap().starts_with("tip: add the hook with ");
    assert!(has_tip(&["install", "codex", "--yes"]));
    assert!(!has_tip(&["install", "codex", "--hook", "--yes"]));
    assert!(!has_tip(&["install", "codex", "--yes", "--prompts", "/a"]));
    // The user's hook is for all projects.
    assert!(!has_tip(&["install", "codex", "--project", "--yes"]));
    assert!(!has_tip(&["install", "cursor", "--yes"]));
}

#[test]
fn the_rest_of_a_config_stays_unchanged_and_uninstall_restores_it_byte_for_byte() {
    for (name, file, _) in CONFIGS {
        let unix = User::config(name);
        for (kind, before) in [
            ("as it is", unix.clone()),
            ("CRLF", unix.replace('\n', "\r\n")),
            ("BOM", format!("\u{feff}{unix}")),
            ("empty", String::new()),
            ("one line", if name == "codex" { "a = 1".to_owned() } else { "{\"a\":{}}".to_owned() }),
        ] {
            let user = User::new();
            user.write(file, &before);
            user.done(&["install", name, "--yes"]);
            let after = user.read(file);
            if kind != "empty" && kind != "one line" {
                let added = added(&before, &after).join("\n");
                assert!(added.contains("prompts") && added.contains("my tools/prompt-expander"), "{after}");
                assert_eq!(
                    after.matches('\n').count(),
                    after.matches(if kind == "CRLF" { "\r\n" } else { "\n" }).count()
                );
                assert_eq!(after.starts_with('\u{feff}'), kind == "BOM");
            }
            assert_eq!(user.read(&format!("{file}.before-prompt-expander")), before);
            user.done(&["uninstall", name, "--yes"]);
            assert_eq!((user.read(file), user.files()), (before, vec![file.to_owned()]), "{name}, {kind}");
            assert_eq!(user.done(&["uninstall", name]), "not registered; nothing to remove\n");
        }
    }
}

#[test]
fn uninstall_removes_what_install_made() {
    for (name, ..) in CONFIGS {
        let user = User::new();
        for scope in [None, Some("--project")] {
            let hook = HOOKS.iter().any(|(with_hook, _)| *with_hook == name).then_some("--hook");
            let line = |command| [command, name, "--yes"].into_iter().chain(scope);
            user.done(&line("install").chain(hook).collect::<Vec<_>>());
            user.done(&line("uninstall").collect::<Vec<_>>());
            assert_eq!(user.files(), [""; 0], "{name}");
        }
    }
}

#[test]
fn uninstall_removes_no_folder() {
    let user = User::new();
    for folder in [".codex", "project/.cursor"] {
        fs::create_dir(user.path(folder)).unwrap();
    }
    for line in [["codex", "--yes", "--hook"].as_slice(), &["cursor", "--yes", "--project"], &["gemini", "--yes"]] {
        user.done(&[&["install"], line].concat());
    }
    user.done(&["uninstall", "--all", "--yes"]);
    user.done(&["uninstall", "cursor", "--project", "--yes"]);
    assert_eq!(user.files(), [""; 0]);
    for folder in [".codex", "project/.cursor", ".gemini"] {
        assert!(user.path(folder).is_dir(), "{folder}");
    }
}

#[test]
fn uninstall_removes_only_its_own_from_a_config_that_was_changed_since() {
    let user = User::new();
    user.write(".gemini/settings.json", "{\n  \"mcpServers\": {}\n}\n");
    user.done(&["install", "gemini", "--hook", "--yes"]);
    let changed = user.read(".gemini/settings.json").replace(
        "\"mcpServers\": {",
        "\"ui\": {\"theme\": \"x\"}, // since\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"m\"},",
    );
    user.write(".gemini/settings.json", &changed);
    user.done(&["uninstall", "gemini", "--yes"]);
    assert_eq!(
        user.read(".gemini/settings.json"),
        "{\n  \"ui\": {\"theme\": \"x\"}, // since\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"m\"}\n  }\n}\n"
    );
}

#[test]
fn a_hook_is_added_to_existing_ones() {
    for (name, file) in HOOKS {
        let user = User::new();
        let event = if name == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" };
        let before = format!(
            "{{\n  \"hooks\": {{\n    \"{event}\": [\n      {{ \"hooks\": [{{ \"type\": \"command\", \"command\": \"log\" }}] }}\n    ],\n    \"Stop\": []\n  }}\n}}\n"
        );
        user.write(file, &before);
        user.done(&["install", name, "--hook", "--yes"]);
        let hooks: Value = serde_json::from_str(&user.read(file)).unwrap();
        let groups = &hooks["hooks"][event];
        assert_eq!((groups.as_array().unwrap().len(), &groups[0]["hooks"][0]["command"]), (2, &json!("log")));
        assert_eq!(groups[1]["hooks"][0]["timeout"], if name == "gemini" { 5000 } else { 5 });
        let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
        let client = list["clients"].as_array().unwrap().iter().find(|client| client["name"] == name).unwrap();
        assert_eq!(client["hooks"], json!([user.path(file)]));
        user.done(&["uninstall", name, "--yes"]);
        assert_eq!(user.read(file), before);
    }
}

/// `install` and `doctor` agree: a hook that does more than `install` writes is its owner's.
#[test]
fn a_hook_that_does_more_than_run_this_program_is_left_alone_and_gets_no_second() {
    for (name, file) in HOOKS {
        let user = User::new();
        let event = if name == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" };
        let line = format!("env A=1 '{}' hook {name}", user.program.display());
        let text = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}}).to_string();
        user.write(file, &text);
        let ran = user.run(&["install", name, "--hook", "--yes"]);
        assert_eq!(ran.status.code(), Some(0), "{}", ran.stderr);
        let said = format!("warning: {}:1:11: the hook `{line}` runs prompt-expander, ", user.path(file).display());
        assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
        assert!(ran.stderr.contains("no other hook is written; remove this one first"), "{}", ran.stderr);
        let hooks = |text: &str| serde_json::from_str::<Value>(text).unwrap()["hooks"].clone();
        assert_eq!(hooks(&user.read(file)), hooks(&text), "{name}");
        let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
        let client = list["clients"].as_array().unwrap().iter().find(|client| client["name"] == name).unwrap();
        assert_eq!(client["hooks"], json!([user.path(file)]));
        let doctor = user.run(&["doctor", name, "-v"]).stdout;
        assert!(doctor.contains("does more than run this program") && !doctor.contains("twice"), "{doctor}");
        let remedy = format!("or remove it from the file, then run `prompt-expander install {name} --hook`");
        assert!(doctor.contains(&remedy), "{doctor}");

        let ran = user.run(&["uninstall", name, "--yes"]);
        assert!(ran.stderr.contains("so it is left alone; remove it yourself"), "{}", ran.stderr);
        assert_eq!(hooks(&user.read(file)), hooks(&text), "{name}");
    }
}

#[test]
fn a_hook_in_another_file_of_the_agent_gets_no_second() {
    for (name, other, own, text) in [
        (
            "codex",
            ".codex/config.toml",
            ".codex/hooks.json",
            "[[hooks.UserPromptSubmit]]\n[[hooks.UserPromptSubmit.hooks]]\ntype = \"command\"\n\
             command = \"prompt-expander hook codex\"\n",
        ),
        (
            "claude-code",
            "project/.claude/settings.local.json",
            "project/.claude/settings.json",
            r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "prompt-expander hook claude-code"}]}]}}"#,
        ),
    ] {
        let user = User::new();
        user.write(other, text);
        let project = own.starts_with("project").then_some("--project");
        let line = |command: &'static [&'static str]| {
            [command, &[name]].concat().into_iter().chain(project).collect::<Vec<_>>()
        };
        for command in [&["install", "--hook", "--yes"][..], &["install", "--yes"]] {
            let ran = user.run(&line(command));
            assert_eq!(ran.status.code(), Some(0), "{}", ran.stderr);
            assert!(ran.stderr.contains(&format!("{}:1:", user.path(other).display())), "{}", ran.stderr);
            assert!(ran.stderr.contains("no other hook is written"), "{}", ran.stderr);
            assert!(!user.path(own).exists(), "{name}");
        }
        let list = user.done(&["install"]);
        assert!(list.contains(&format!("{name}\thook\t{}:1\n", user.path(other).display())), "{list}");
        user.done(&line(&["uninstall", "--yes"]));
        assert_eq!(user.read(other).matches("prompt-expander hook").count(), 1);
    }
}

#[test]
fn a_hook_that_names_another_agent_is_corrected() {
    let user = User::new();
    user.done(&["install", "gemini", "--hook", "--yes"]);
    let right = user.read(".gemini/settings.json");
    user.write(".gemini/settings.json", right.replace("hook gemini", "hook codex"));
    user.done(&["install", "gemini", "--yes"]);
    assert_eq!(user.read(".gemini/settings.json"), right);
}

#[test]
fn an_existing_hook_gets_the_prompts_of_the_server() {
    for (name, file) in HOOKS {
        let user = User::new();
        user.write("project/team/hello.md", "Hello.");
        user.done(&["install", name, "--hook", "--yes"]);
        let done = user.done(&["install", name, "--yes", "--prompts", "team"]);
        let has_folder = |file: &str| user.read(file).contains(user.path("project/team").to_str().unwrap());
        assert!(has_folder(file), "{done}");
        let again = user.done(&["install", name, "--yes", "--prompts", "team"]);
        assert!(again.starts_with("registered already; nothing to change\n"), "{again}");
        // If there is no hook, none is made.
        user.done(&["uninstall", name, "--yes"]);
        user.done(&["install", name, "--yes", "--prompts", "team"]);
        assert!(!user.path(file).exists() || !user.read(file).contains("hook"), "{name}");
    }
}

#[test]
fn two_installations_at_once_leave_one_entry_and_one_backup() {
    let user = User::new();
    for _ in 0..5 {
        user.write(".codex/config.toml", "a = 1\n");
        let start = |_| {
            let mut command = user.command_in("project", &user.program, &["install", "codex", "--yes"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let ended = children.into_iter().filter_map(|mut child| child.wait().unwrap().code());
        assert!(ended.filter(|code| *code == 0).count() >= 1);
        assert_eq!(user.read(".codex/config.toml").matches("[mcp_servers.prompts]").count(), 1);
        assert_eq!(user.read(".codex/config.toml.before-prompt-expander"), "a = 1\n");
        assert!(user.files().iter().all(|file| file.starts_with(".codex/config.toml")), "{:?}", user.files());
        fs::remove_dir_all(user.path(".codex")).unwrap();
    }
}

#[test]
fn a_path_with_spaces_and_quotes_is_one_word_in_a_config_and_for_a_shell() {
    let user = User::new();
    let program = user.path("it's \"mine\" $HOME/prompt-expander");
    fs::create_dir(program.parent().unwrap()).unwrap();
    symlink(user.client.command().get_program(), &program).unwrap();
    user.write("project/a 'b' \"c\" $d/hello.md", "Hello {{input}}!");
    for (name, file) in HOOKS {
        let line = ["install", name, "--hook", "--yes", "--no-builtin", "--prompts", "a 'b' \"c\" $d"];
        let ran = user.run_in("project", &program, &line);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let event = if name == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" };
        let hooks: Value = serde_json::from_str(&user.read(file)).unwrap();
        let command = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).env("HOME", user.root()).current_dir("/");
        let mut child = shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let submitted = json!({"hook_event_name": event, "prompt": ":hello world"}).to_string();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), submitted.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("Hello world!"), "{command}");
    }
    let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
    for client in &list["clients"].as_array().unwrap()[..3] {
        let server = &client["registrations"][0];
        assert_eq!(server["command"], json!(program));
        assert_eq!(server["args"], json!(["--prompts", user.path("project/a 'b' \"c\" $d"), "--no-builtin"]));
    }
}

#[test]
fn a_path_in_which_an_agent_sees_a_variable_gets_a_warning() {
    let user = User::new();
    for (name, folder, mark) in [
        ("gemini", "$HOME", Some("$")),
        ("gemini", "${HOME}", Some("$")),
        ("gemini", "a$ b$", None),
        ("claude-code", "${HOME}", Some("${")),
        ("claude-code", "$HOME", None),
        ("opencode", "{env:HOME}", Some("{env:")),
        ("codex", "${HOME}", None),
    ] {
        user.write(&format!("project/{folder}/hello.md"), "Hello.");
        let ran = user.run(&["install", name, "--yes", "--prompts", folder]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let said = mark.map(|mark| {
            format!("takes `{mark}` in `{}` for the beginning", user.path(&format!("project/{folder}")).display())
        });
        match said {
            Some(said) => assert!(ran.stderr.contains(&said), "{name}: {}", ran.stderr),
            None => assert!(!ran.stderr.contains("variable"), "{name}: {}", ran.stderr),
        }
    }
}

#[test]
fn the_path_that_stays_the_same_after_an_update_is_registered() {
    let user = User::new();
    // As Homebrew has it: a link on PATH to a folder that is named after the version.
    symlink(&user.program, user.path("bin/prompt-expander")).unwrap();
    let ran = user.run_in("project", &user.program, &["install", "codex", "--yes"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert!(user.read(".codex/config.toml").contains(user.path("bin/prompt-expander").to_str().unwrap()));
    // Under another name, it would not be recognized later.
    symlink(&user.program, user.path("project/pe")).unwrap();
    fs::remove_file(user.path("bin/prompt-expander")).unwrap();
    let other = user.run_in("project", Path::new("./pe"), &["install", "codex", "--yes"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(other.stderr.contains("rename it to `prompt-expander`"), "{}", other.stderr);
}

#[test]
fn one_backup_is_the_state_before_the_first_change_and_one_that_before_the_last() {
    let user = User::new();
    let [first, last] = ["before", "previous"].map(|when| format!(".codex/config.toml.{when}-prompt-expander"));
    user.write(".codex/config.toml", "a = 1\n");
    let mut states = vec!["a = 1\n".to_owned()];
    for folder in ["/1", "/2", "/3"] {
        let printed = user.done(&["install", "codex", "--yes", "--prompts", folder]);
        let backup = if states.len() == 1 { &first } else { &last };
        assert!(printed.contains(&format!("; its backup is {}\n", user.path(backup).display())), "{printed}");
        assert_eq!((&user.read(&first), &user.read(backup)), (&states[0], states.last().unwrap()));
        states.push(user.read(".codex/config.toml"));
    }
    assert_eq!(user.files(), [".codex/config.toml", &first, &last]);
    let printed = user.done(&["uninstall", "codex", "--yes"]);
    let config = user.path(".codex/config.toml").display().to_string();
    let want = format!("restored {config} as it was before, and removed its backups");
    assert_eq!(printed.lines().last(), Some(want.as_str()));
    assert_eq!(
        (user.read(".codex/config.toml"), user.files()),
        ("a = 1\n".to_owned(), vec![".codex/config.toml".to_owned()])
    );
}

#[test]
fn a_file_that_install_made_has_no_state_before_the_first_change() {
    let user = User::new();
    for folder in ["/1", "/2"] {
        for (name, _) in HOOKS {
            user.done(&["install", name, "--hook", "--yes", "--prompts", folder]);
        }
    }
    let files = user.files();
    assert!(files.contains(&".codex/hooks.json.previous-prompt-expander".to_owned()), "{files:?}");
    assert!(!files.iter().any(|file| file.ends_with("before-prompt-expander")), "{files:?}");
    user.done(&["uninstall", "--all", "--yes"]);
    assert_eq!(user.files(), [""; 0]);
}

#[test]
fn a_config_without_the_server_has_a_new_first_state_and_an_earlier_one_is_kept() {
    let user = User::new();
    let [first, last] = ["before", "previous"].map(|when| format!(".codex/config.toml.{when}-prompt-expander"));
    let text = |text: &str| text.to_owned();
    user.write(".codex/config.toml", "v = 1\n");
    user.done(&["install", "codex", "--yes"]);
    user.write(".codex/config.toml", user.read(".codex/config.toml") + "\n[more]\n");
    user.done(&["uninstall", "codex", "--yes"]);
    assert_eq!((user.read(&first), user.files().len()), (text("v = 1\n"), 3), "it could not be restored");

    user.write(".codex/config.toml", "v = 2\n");
    let printed = user.done(&["install", "codex", "--yes"]);
    let said = format!(
        "; its backup is {}, and the earlier backup of that name is now {}\n",
        user.path(&first).display(),
        user.path(&last).display()
    );
    assert!(printed.contains(&said), "{printed}");
    assert_eq!((user.read(&first), user.read(&last)), (text("v = 2\n"), text("v = 1\n")));
    let printed = user.done(&["uninstall", "codex", "--yes"]);
    assert!(printed.ends_with(" as it was before, and removed its backup\n"), "{printed}");
    assert_eq!((user.read(".codex/config.toml"), user.read(&last)), (text("v = 2\n"), text("v = 1\n")));
    assert_eq!(user.files(), [".codex/config.toml", &last]);

    user.write(&first, "v = 0\n");
    let json: Value = serde_json::from_str(&user.done(&["install", "codex", "--yes", "--json"])).unwrap();
    let [backup, earlier] = ["backup", "earlier_backup"].map(|key| &json["agents"][0]["files"][0][key]);
    assert_eq!((backup, earlier), (&json!(user.path(&first)), &json!(user.path(&last))));
    assert_eq!((user.read(&first), user.read(&last)), (text("v = 2\n"), text("v = 0\n")));
    user.done(&["install", "codex", "--yes", "--no-builtin"]);
    assert_eq!(user.read(&first), "v = 2\n");
    assert!(user.read(&last).contains("[mcp_servers.prompts]"));
}

#[test]
fn a_new_hook_gets_the_folders_that_the_environment_of_the_server_names() {
    let user = User::new();
    let text = "[mcp_servers.prompts]\ncommand = 'prompt-expander'\n[mcp_servers.prompts.env]\n\
                PROMPT_EXPANDER_PROMPTS = '/a:/b'\n";
    user.write(".codex/config.toml", text);
    for (more, then) in
        [(None, "--prompts /a --prompts /b"), (Some("--no-builtin"), "--prompts /a --prompts /b --no-builtin")]
    {
        user.done(&["install", "codex", "--hook", "--yes"].into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(registered(&user, "codex")[1], then);
    }
    fs::remove_file(user.path(".codex/hooks.json")).unwrap();
    user.write(".codex/config.toml", text);
    user.done(&["install", "codex", "--hook", "--yes", "--prompts", "/c"]);
    assert_eq!(registered(&user, "codex"), ["--prompts /c"; 2]);
    fs::remove_file(user.path(".codex/hooks.json")).unwrap();
    user.write(".codex/config.toml", text);
    user.done(&["install", "codex", "--hook", "--yes", "--reset"]);
    assert_eq!(registered(&user, "codex"), [""; 2]);
}

#[test]
fn the_comments_among_the_arguments_of_an_entry_stay() {
    let user = User::new();
    let text = "[mcp_servers.prompts]\ncommand = 'prompt-expander'\nargs = [\n  '--prompts', '/a', # the team's\n  \
                '--log-file', 'l', # to debug\n]\n";
    user.write(".codex/config.toml", text);
    user.done(&["install", "codex", "--yes", "--prompts", "/b", "--no-builtin"]);
    let args = "args = [\n  '--prompts', \"/b\", # the team's\n  '--log-file', 'l', \"--no-builtin\", # to debug\n]\n";
    assert!(user.read(".codex/config.toml").ends_with(args), "{}", user.read(".codex/config.toml"));
}

#[test]
fn a_broken_config_is_named_with_its_position_and_left_alone() {
    let huge = format!("{{\"x\": \"{}\"}}", "x".repeat(64 * 1024 * 1024));
    for (name, file, text, want) in [
        ("codex", ".codex/config.toml", b"a = 1\nb = [".as_slice(), ":2:6: "),
        ("codex", ".codex/config.toml", b"a = 1\na = 2\n", ":2:1: duplicate key"),
        ("codex", ".codex/config.toml", b"mcp_servers = []", ":1:1: `mcp_servers` must be a table, but is a list"),
        ("claude-code", ".claude.json", b"{\n // c\n}", ":2:2: comments are not allowed"),
        (
            "claude-code",
            ".claude.json",
            b"{\"mcpServers\": [\n]}",
            ":1:2: `mcpServers` must be an object, but is a list",
        ),
        (
            "claude-code",
            ".claude.json",
            b"{\"mcpServers\": \"x\"}",
            ":1:2: `mcpServers` must be an object, but is a string",
        ),
        (
            "claude-code",
            ".claude.json",
            b"{\"mcpServers\": {}, \"mcpServers\": {}}",
            ":1:20: `mcpServers` appears twice; ",
        ),
        ("claude-code", ".claude.json", b"[]", ":1:1: it must be an object, but is a list"),
        ("gemini", ".gemini/settings.json", b"{\"a\": 1,}", ":1:8: trailing commas are not allowed"),
        ("cursor", ".cursor/mcp.json", b"{\"mcpServers\": {\"a\xff", ":1:19: it is not UTF-8; "),
        ("zed", ".config/zed/settings.json", b"{\"a\": 'b'}", ":1:7: "),
        ("zed", ".config/zed/settings.json", huge.as_bytes(), ": it is longer than 64 MiB"),
    ] {
        let user = User::new();
        user.write(file, text);
        // There is nothing to remove from two objects without the server.
        let commands = if want.contains("twice") { &["install"][..] } else { &["install", "uninstall"] };
        for command in commands {
            let said = user.refused(&[command, name, "--yes"]);
            let is_named = said.starts_with(&format!("{}{want}", user.path(file).display()));
            let shown = String::from_utf8_lossy(&text[..text.len().min(99)]).into_owned();
            assert!(is_named, "{shown}: {said}");
            assert!(said.ends_with("; the file was not changed; correct it, then run the command again"), "{said}");
        }
    }
}

#[test]
fn a_broken_file_of_hooks_keeps_the_server_from_being_registered_alone() {
    for (file, text, want) in [
        (".codex/hooks.json", "{\"hooks\": []}", ":1:2: `hooks` must be an object, but is not"),
        (
            ".codex/hooks.json",
            "{\"hooks\": {\"UserPromptSubmit\": {}}}",
            ":1:12: `hooks.UserPromptSubmit` must be a list",
        ),
        (".codex/hooks.json", "[]", ":1:1: it must be an object, but is a list"),
        (".codex/hooks.json", "{\n", ":1:1: "),
    ] {
        let user = User::new();
        user.write(file, text);
        let said = user.refused(&["install", "codex", "--hook", "--yes"]);
        assert!(said.starts_with(&format!("{}{want}", user.path(file).display())), "{said}");
    }
    // In one file with the servers, the position is that in the original.
    let user = User::new();
    user.write(".gemini/settings.json", "{\"hooks\": null}");
    let said = user.refused(&["install", "gemini", "--hook", "--yes"]);
    assert!(said.contains("settings.json:1:2: `hooks` must be an object, but is not"), "{said}");
}

#[test]
fn a_broken_file_of_hooks_is_reported_by_the_list_and_without_the_hook_option() {
    let user = User::new();
    user.write(".codex/hooks.json", "{");
    let ran = user.run(&["install"]);
    assert_eq!(ran.stdout, "codex\tits config cannot be read\t\n");
    let place = format!("warning: {}:1:1: ", user.path(".codex/hooks.json").display());
    assert!(ran.stderr.starts_with(&place), "{}", ran.stderr);
    let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
    assert_eq!(list["clients"][0]["problems"].as_array().unwrap().len(), 1, "{list}");

    let ran = user.run(&["install", "codex", "--yes"]);
    assert_eq!(ran.status.code(), Some(0), "{}", ran.stderr);
    assert!(ran.stderr.starts_with(&place), "{}", ran.stderr);
    assert!(ran.stderr.contains("; whether a hook is registered there is unknown\n"), "{}", ran.stderr);
    assert_eq!(
        user.run(&["install"]).stdout,
        format!("codex\tregistered\t{}:1\n", user.path(".codex/config.toml").display())
    );
    // Reported once, if it is the file of the servers as well.
    user.write(".gemini/settings.json", "{,}");
    assert_eq!(user.run(&["install"]).stderr.matches("settings.json").count(), 1);
}

#[test]
fn a_path_that_is_not_a_writable_file_is_reported() {
    let user = User::new();
    fs::create_dir_all(user.path(".codex/config.toml")).unwrap();
    let said = user.refused(&["install", "codex", "--yes"]);
    assert!(said.contains("config.toml: it is a directory, and must be a file"), "{said}");

    let user = User::new();
    user.write(".codex/config.toml", "a = 1\n");
    fs::set_permissions(user.path(".codex/config.toml"), fs::Permissions::from_mode(0o444)).unwrap();
    let said = user.refused(&["install", "codex", "--yes"]);
    assert!(
        said.ends_with("config.toml: it is read-only; make it writable, or change it where it is generated"),
        "{said}"
    );

    let user = User::new();
    symlink("config.toml", user.path("project/loop")).unwrap();
    symlink("loop", user.path("project/config.toml")).unwrap();
    fs::create_dir(user.path(".codex")).unwrap();
    symlink(user.path("project/loop"), user.path(".codex/config.toml")).unwrap();
    let said = user.refused(&["install", "codex", "--yes"]);
    assert!(said.contains("config.toml: ") && said.contains("symbolic links"), "{said}");
}

#[test]
fn a_read_only_folder_is_reported_and_no_file_is_left_in_it() {
    let client = Client::new().arguments([]).unprivileged();
    let folder = client.root().join(".codex");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.toml"), "a = 1\n").unwrap();
    fs::set_permissions(folder.join("config.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = client.run(["install", "codex", "--yes"], "");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.contains("Permission denied") && ran.stderr.contains("nothing is changed"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(folder.join("config.toml")).unwrap(), "a = 1\n");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn without_space_nothing_is_changed_and_no_part_of_a_file_is_left() {
    let user = User::new();
    let text = format!("# {}\n", "x".repeat(5_000));
    user.write(".codex/config.toml", &text);
    // A file may have one kilobyte; a longer one cannot be written.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" install codex --yes > /dev/null";
    let known = user.client.command();
    let mut shell = std::process::Command::new("sh");
    shell.envs(known.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("HOME", user.root());
    let output = shell.args(["-c", limited]).arg(&user.program).current_dir(user.path("project")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no file can be written there: ") && said.contains("nothing is changed"), "{said}");
    assert_eq!(user.files(), [".codex/config.toml"]);
    assert_eq!(user.read(".codex/config.toml"), text);
}

#[test]
fn only_the_change_is_shown_of_a_very_long_line() {
    let user = User::new();
    let rest = "é".repeat(10_000);
    let text = json!({"a": rest, "mcpServers": {"other": {"command": "x"}}, "z": rest}).to_string();
    user.write(".claude.json", &text);
    let shown = user.done(&["install", "claude-code", "--yes"]);
    assert!(shown.len() < 2_000, "{shown}");
    assert!(shown.contains("- …") && shown.contains("…\n+ …") && shown.contains("\"command\":\"x\""), "{shown}");
    assert!(shown.contains(&format!("\"{}\"", user.program.display())), "{shown}");
    user.done(&["uninstall", "claude-code", "--yes"]);
    assert_eq!(user.read(".claude.json"), text);
}

#[test]
fn the_user_owns_what_root_writes_for_them() {
    let user = User::new();
    fs::create_dir(user.path(".codex")).unwrap();
    if std::os::unix::fs::chown(user.path(".codex"), Some(1234), Some(1234)).is_err() {
        return; // the test does not run as root
    }
    user.done(&["install", "codex", "--hook", "--yes"]);
    for file in [".codex/config.toml", ".codex/hooks.json"] {
        let file = fs::metadata(user.path(file)).unwrap();
        assert_eq!((file.uid(), file.gid()), (1234, 1234));
    }
}

#[test]
fn a_path_is_printed_on_one_line_whatever_is_in_it() {
    let user = User::new();
    let odd = user.path("project/a\u{1b}[2J\nb");
    fs::create_dir_all(odd.join(".gemini")).unwrap();
    let in_odd = |line: &[&str]| {
        let ran = user.run_in("project/a\u{1b}[2J\nb", &user.program, line);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{line:?}: {ran:?}");
        assert!(ran.stdout.contains("a\\u{1b}[2J\\nb") || ran.stderr.contains("a\\u{1b}[2J\\nb"), "{line:?}: {ran:?}");
    };
    in_odd(&["install", "gemini", "--project", "--hook", "--yes"]);
    in_odd(&["install"]);
    in_odd(&["uninstall", "gemini", "--project", "--yes"]);
    fs::create_dir_all(odd.join(".gemini")).unwrap();
    fs::write(odd.join(".gemini/settings.json"), "{").unwrap();
    in_odd(&["install", "gemini", "--project", "--yes"]);
}

#[test]
fn a_link_stays_a_link_and_its_target_keeps_its_mode() {
    let user = User::new();
    user.write("dotfiles/codex.toml", "a = 1\n");
    fs::set_permissions(user.path("dotfiles/codex.toml"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(user.path(".codex")).unwrap();
    symlink("../dotfiles/codex.toml", user.path(".codex/config.toml")).unwrap();
    user.done(&["install", "codex", "--yes"]);
    assert_eq!(fs::read_link(user.path(".codex/config.toml")).unwrap(), Path::new("../dotfiles/codex.toml"));
    assert!(user.read("dotfiles/codex.toml").contains("[mcp_servers.prompts]"));
    let mode = |file: &str| fs::metadata(user.path(file)).unwrap().mode() & 0o777;
    let backup = ".codex/config.toml.before-prompt-expander";
    assert_eq!((mode("dotfiles/codex.toml"), mode(backup)), (0o640, 0o640));
    assert_eq!(user.files(), [".codex/config.toml", backup, "dotfiles/codex.toml"]);
    user.done(&["uninstall", "codex", "--yes"]);
    assert_eq!(user.files(), [".codex/config.toml", "dotfiles/codex.toml"]);
    assert!(user.path(".codex/config.toml").is_symlink());

    // A link whose target does not exist yet.
    symlink("dotfiles/new.json", user.path(".claude.json")).unwrap();
    user.done(&["install", "claude-code", "--yes"]);
    assert!(user.path(".claude.json").is_symlink() && user.read("dotfiles/new.json").contains("mcpServers"));
    assert_eq!(mode("dotfiles/new.json"), 0o600); // Claude Code stores secrets in it, too
}

#[test]
fn another_server_of_the_same_name_is_replaced_only_on_request() {
    for (name, file, text, place) in [
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.prompts]\ncommand = 'npx'\nargs = ['-y', 'x y']\ncwd = '/'\n",
            "1:14",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\n  \"prompts\": {\"command\": \"npx\", \"args\": [\"-y\", \"x y\"], \"cwd\": \"/\"}}}",
            "2:3",
        ),
    ] {
        let user = User::new();
        user.write(file, text);
        assert_eq!(
            user.refused(&["install", name, "--yes"]),
            format!(
                "{}:{place}: another server has the name `prompts`; it runs `npx -y 'x y'`. Rename it, or use --replace to replace it with prompt-expander",
                user.path(file).display()
            )
        );
        let ran = user.run(&["uninstall", name, "--yes"]);
        assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(0), "not registered; nothing to remove\n"));
        assert!(ran.stderr.contains("`prompts` is another server, which is left alone"), "{}", ran.stderr);
        assert!(user.done(&["install"]).contains("\tanother server is registered as `prompts`\t"));
        user.done(&["install", name, "--yes", "--replace"]);
        assert!(!user.read(file).contains("npx") && !user.read(file).contains("cwd"), "{}", user.read(file));
        user.done(&["uninstall", name, "--yes"]);
        assert_eq!(user.read(file), text);
    }
}

#[test]
fn an_entry_that_is_not_a_server_is_replaced_only_on_request() {
    for (name, file, text, want) in [
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers]\nprompts = 1\n",
            ":2:1: another server has the name `prompts`; it must be a table, but is a number. ",
        ),
        (
            "vscode",
            VSCODE,
            "{\"servers\": {\"prompts\": []}}",
            ":1:14: another server has the name `prompts`; it must be an object, but is a list. ",
        ),
        (
            "vscode",
            VSCODE,
            "{\"servers\": {\"prompts\": {\"url\": \"http://x/y\"}}}",
            ":1:14: another server has the name `prompts`; it is at `http://x/y`. ",
        ),
    ] {
        let user = User::new();
        user.write(file, text);
        let said = user.refused(&["install", name, "--yes"]);
        assert!(said.starts_with(&format!("{}{want}", user.path(file).display())), "{said}");
        user.done(&["install", name, "--yes", "--replace"]);
        assert_eq!(user.done(&["install", name, "--yes"]), "registered already; nothing to change\n");
        user.done(&["uninstall", name, "--yes"]);
        assert_eq!(user.read(file), text);
    }
}

#[test]
fn a_disabled_and_a_second_registration_are_reported() {
    let user = User::new();
    user.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"prompts\": {\"command\": \"/gone/prompt-expander\", \"disabled\": true}, \"pe\": {\"command\": \"prompt-expander\"}}}",
    );
    let rows = user.done(&["install"]);
    assert!(rows.contains("cursor\tregistered, disabled, but its program is missing\t"), "{rows}");
    assert!(rows.contains("cursor\tregistered as `pe`\t"), "{rows}");
    let ran = user.run(&["install", "cursor", "--yes"]);
    assert!(ran.stderr.contains("`prompts` is disabled, and stays disabled"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`pe` is prompt-expander too; remove it"), "{}", ran.stderr);
}

#[test]
fn two_agents_with_one_file_are_reported() {
    let user = User::new();
    user.write(".claude.json", "{}");
    fs::create_dir(user.path(".cursor")).unwrap();
    symlink("../.claude.json", user.path(".cursor/mcp.json")).unwrap();
    let ran = user.run(&["install", "claude-code", "--yes"]);
    let said = "/.claude.json: this file is the config of Cursor too, and both use the same entry\n";
    assert!(ran.status.success() && ran.stderr.contains(said), "{ran:?}");
    let ran = user.run(&["install", "cursor", "--yes"]);
    assert!(ran.stdout.contains("registered already") && ran.stderr.contains("config of Claude Code too"), "{ran:?}");
}

#[test]
fn a_scope_that_makes_no_sense_is_refused() {
    let user = User::new();
    for name in ["codex", "gemini", "cursor"] {
        let ran = user.run_in(".", &user.program, &["install", name, "--project", "--yes"]);
        assert_eq!(ran.status.code(), Some(1));
        assert!(ran.stderr.starts_with("error: the working directory is not a project for "), "{}", ran.stderr);
    }
    assert_eq!(user.files(), [""; 0]);
    // Its server would be that of the home directory as a project, its hook the user's.
    user.done(&["install", "claude-code", "--hook", "--yes"]);
    let before = user.read(".claude/settings.json");
    let ran = user.run_in(".", &user.program, &["install", "claude-code", "--project", "--hook", "--yes"]);
    assert!(ran.stderr.contains("error: the working directory is not a project for Claude Code: "), "{}", ran.stderr);
    let ran = user.run_in(".", &user.program, &["uninstall", "claude-code", "--project", "--yes"]);
    assert_eq!(ran.stdout, "not registered; nothing to remove\n");
    assert_eq!(user.read(".claude/settings.json"), before);
    user.done(&["uninstall", "claude-code", "--yes"]);
    for name in ["vscode", "cursor", "opencode", "zed"] {
        let said = user.refused(&["install", name, "--hook", "--yes"]);
        assert!(said.ends_with("`codex`, `claude-code` and `gemini` have one. Leave out --hook"), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_home_directory_only_a_project_can_be_registered_for() {
    let Some(client) = Client::new().arguments([]).working_in("project").without_home() else { return };
    for (name, _, project_file) in CONFIGS {
        let ran = client.run(["install", name, "--yes"], "");
        let said = ran.stderr;
        assert!(said.starts_with("error: the config of ") && said.contains(" cannot be found; set HOME"), "{said}");
        let ran = client.run(["install", name, "--yes", "--project"], "");
        assert!(ran.status.success(), "{}", ran.stderr);
        let config = fs::read_to_string(client.root().join("project").join(project_file)).unwrap();
        assert!(config.contains(client.root().to_str().unwrap()), "{config}");
    }
    let ran = client.run(["install", "claude-code", "--yes"], "");
    assert!(ran.stderr.contains("or use --project"), "{}", ran.stderr);
    assert!(client.run(["install"], "").status.success());
}

#[test]
fn the_agents_variables_move_their_configs() {
    let client = Client::new().arguments([]);
    let moved = client.root().join("moved").to_str().unwrap().to_owned();
    let client = client.variable("CODEX_HOME", &moved).variable("CLAUDE_CONFIG_DIR", &moved);
    let user = User::of(client.variable("GEMINI_CLI_HOME", &moved));
    for name in ["codex", "claude-code", "gemini"] {
        user.done(&["install", name, "--hook", "--yes"]);
    }
    let files = ["config.toml", "hooks.json", ".claude.json", "settings.json", ".gemini/settings.json"];
    let mut files = files.map(|file| format!("moved/{file}"));
    files.sort();
    assert_eq!(user.files(), files);
}

#[test]
fn a_config_of_opencode_2_has_its_servers_one_level_deeper() {
    let user = User::new();
    let before = "{\n  \"mcp\": {\n    \"servers\": {\n      \"x\": {\"type\": \"local\", \"command\": [\"x\"]}\n    }\n  }\n}\n";
    user.write(".config/opencode/opencode.json", before);
    user.done(&["install", "opencode", "--yes"]);
    let config: Value = serde_json::from_str(&user.read(".config/opencode/opencode.json")).unwrap();
    assert_eq!(config["mcp"]["servers"]["prompts"]["command"], json!([user.program]));
    user.done(&["uninstall", "opencode", "--yes"]);
    assert_eq!(user.read(".config/opencode/opencode.json"), before);
}

#[test]
fn arguments_after_two_dashes_are_for_the_server() {
    let user = User::new();
    user.done(&["install", "codex", "--hook", "--yes", "--prompts", "/p", "--", "--page-size", "9", "--tap", "/t"]);
    assert!(
        user.read(".codex/config.toml")
            .contains("args = [\"--prompts\", \"/p\", \"--page-size\", \"9\", \"--tap\", \"/t\"]")
    );
    assert!(user.read(".codex/hooks.json").contains("hook codex --prompts /p\""), "{}", user.read(".codex/hooks.json"));
    for (words, want) in [
        (
            ["--nope"].as_slice(),
            "the server would not start with the arguments after `--`: unexpected argument '--nope' found",
        ),
        (
            &["list"],
            "the server would not start with the arguments after `--`: they include a command, but must be options only",
        ),
        (
            &["--prompts", "x"],
            "put --prompts, --from-agents, --no-builtin and --openapi before `--`, so that the hook gets them too",
        ),
    ] {
        assert_eq!(user.refused(&[["install", "codex", "--yes", "--"].as_slice(), words].concat()), want);
    }
}

#[test]
fn nothing_is_written_without_consent() {
    let user = User::new();
    user.write(".codex/config.toml", "a = 1\n");
    let looked = user.done(&["install", "codex", "--dry-run"]);
    assert!(looked.contains("\n  a = 1\n") && looked.contains("\n+ [mcp_servers.prompts]\n"), "{looked}");
    assert!(looked.ends_with("\nnothing is written; run it without --dry-run to write this\n"), "{looked}");
    assert_eq!(
        (user.files(), user.read(".codex/config.toml")),
        (vec![".codex/config.toml".to_owned()], "a = 1\n".to_owned())
    );
    let said = user.refused(&["install", "codex"]);
    assert_eq!(
        said,
        "cannot ask for confirmation, because standard input is not a terminal; add --yes to write without asking, or --dry-run to see the changes only"
    );
    user.done(&["install", "codex", "--yes"]);
    assert!(user.refused(&["uninstall", "codex"]).starts_with("cannot ask for confirmation, "));
    assert!(user.done(&["uninstall", "codex", "--dry-run"]).contains("\n- [mcp_servers.prompts]\n"));
}

#[test]
fn the_list_has_every_agent_on_the_machine_with_its_state() {
    let user = User::new();
    assert_eq!(user.done(&["install"]), "");
    fs::write(user.path("bin/claude"), "").unwrap();
    assert_eq!(user.done(&["install"]), "", "a file that one cannot run is no program");
    fs::set_permissions(user.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(user.path(".cursor")).unwrap();
    user.write(".gemini/settings.json", "{,}");
    user.done(&["install", "codex", "--hook", "--yes"]);
    let ran = user.run(&["install"]);
    let [config, hooks, gemini] =
        [".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"].map(|file| user.path(file));
    assert_eq!(
        ran.stdout,
        format!(
            "codex\tregistered\t{}:1\ncodex\thook\t{}:3\nclaude-code\tnot registered\t\ngemini\tits config cannot be read\t\n\
             cursor\tnot registered\t\n",
            config.display(),
            hooks.display()
        )
    );
    assert_eq!(ran.stderr, format!("warning: {}:1:2: unexpected token in object\n", gemini.display()));
    user.done(&["install", "codex", "--yes", "--prompts", "/a b", "--", "--tap", "f"]);
    let listed = user.done(&["install"]);
    assert!(listed.starts_with("codex\tregistered with --prompts '/a b' --tap f\t"), "{listed}");
}

/// Codex's config with what Codex writes when its user trusts the hook.
fn trust_codex_hook(user: &User) {
    let place = format!("{}:user_prompt_submit:0:0", user.path(".codex/hooks.json").display());
    let record = format!("\n[hooks.state]\n\n[hooks.state.{place:?}]\ntrusted_hash = \"sha256:x\"\n");
    user.write(".codex/config.toml", user.read(".codex/config.toml") + &record);
}

#[test]
fn the_record_that_codex_trusts_a_hook_is_removed_with_each_change_of_the_hook() {
    let user = User::new();
    let is_trusted = || user.read(".codex/config.toml").contains("trusted_hash");
    let says_so = || {
        let doctor = user.run(&["doctor", "codex"]).stdout;
        assert_eq!(doctor.contains("Codex silently skips the hook"), !is_trusted(), "{doctor}");
    };
    user.write("project/team/hello.md", "Hello.");
    user.done(&["install", "codex", "--hook", "--yes"]);
    says_so();
    for (line, is_kept) in [
        (&["install", "codex", "--", "--page-size", "9"][..], true),
        (&["install", "codex", "--hook", "--prompts", "team"], false),
        (&["install", "codex", "--reset"], false),
        (&["uninstall", "codex"], false),
    ] {
        trust_codex_hook(&user);
        says_so();
        let printed = user.done(&[&line[..2], &["--yes"], &line[2..]].concat());
        assert_eq!(is_trusted(), is_kept, "{line:?}");
        assert_eq!(printed.contains("\n- trusted_hash = \"sha256:x\"\n"), !is_kept, "{printed}");
        if is_kept {
            user.write(".codex/config.toml", user.read(".codex/config.toml").split("\n[hooks").next().unwrap());
        } else if line[0] == "install" {
            says_so();
        }
        user.write(".codex/config.toml", user.read(".codex/config.toml").replace("[hooks.state]\n", ""));
    }
}

#[test]
fn the_next_step_is_to_trust_the_hook_until_codex_has_a_record_of_that() {
    let user = User::new();
    let trust = "next: start `codex` once and choose \"Trust all and continue\", since it silently skips the hook until then; \
                 then type `:research solid-state batteries`\n";
    let again = "next: start `codex` again, and type `:research solid-state batteries`\n";
    let nothing = "registered already; nothing to change\n";
    let line = ["install", "codex", "--hook", "--yes"];
    assert!(user.done(&line).ends_with(trust));
    assert_eq!(user.done(&line), format!("{nothing}{trust}"), "it is still to be done");
    assert!(user.done(&[&line[..], &["--", "--page-size", "9"]].concat()).ends_with(trust));
    trust_codex_hook(&user);
    assert_eq!(user.done(&line), nothing);
    let printed = user.done(&[&line[..], &["--", "--page-size", "8"]].concat());
    assert!(printed.ends_with(again), "{printed}");
    let printed = user.done(&[&line[..], &["--prompts", "/a"]].concat());
    assert!(printed.ends_with(trust), "{printed}");
    let printed = user.done(&["install", "gemini", "--hook", "--yes"]);
    let next =
        "next: start `gemini`, trust the folder when it asks, or with `/permissions trust`, and type `:research ";
    assert!(printed.lines().last().unwrap().starts_with(next), "{printed}");
}

#[test]
fn an_unknown_agent_or_an_option_without_one_is_refused() {
    let user = User::new();
    for (line, want) in [
        (["install", "codx"].as_slice(), "a similar value exists: 'codex'"),
        (&["install", "--yes"], "required arguments were not provided"),
        (&["install", "codex", "--all"], "cannot be used with"),
        (&["install", "codex", "--yes", "--dry-run"], "cannot be used with"),
        (&["uninstall", "--yes"], "required arguments were not provided"),
        (&["uninstall", "--project"], "required arguments were not provided"),
        (&["--prompts", "x", "uninstall", "codex"], "`uninstall` has no option --prompts"),
        (&["--tap", "x", "install", "codex"], "`install` has no option --tap"),
    ] {
        let ran = user.run(line);
        assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(2), ""), "{line:?}");
        assert!(ran.stderr.contains(want), "{}", ran.stderr);
    }
    assert!(
        user.refused(&["install", "--prompts", "x"])
            .starts_with("--prompts, --from-agents, --no-builtin and --openapi are for a registration")
    );
    assert_eq!(user.done(&["install", "gemini-cli", "--dry-run"]).lines().count(), 11);
}

#[test]
fn a_folder_that_only_the_environment_names_is_not_registered_and_gets_a_warning() {
    let user = User::of(Client::new().arguments([]).variable("PROMPT_EXPANDER_PROMPTS", "/"));
    let ran = user.run(&["install", "codex", "--yes"]);
    assert!(ran.status.success() && !user.read(".codex/config.toml").contains("args"));
    assert!(ran.stderr.contains("PROMPT_EXPANDER_PROMPTS is not part of the registration"), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use std::io::{Read, Write};
    use std::process::Child;

    /// The program at a terminal of this width.
    fn started(user: &User, columns: usize, arguments: &str) -> Option<Child> {
        let mut program = user.client.command();
        program.current_dir(user.path("project")).env("NO_COLOR", "1");
        crate::terminal::started(&program, columns, &format!("'{}' {arguments}", user.program.display()))
    }

    /// Reads up to the question, does something, and answers. Returns the output and the status.
    fn asked(
        user: &User,
        columns: usize,
        line: &str,
        meanwhile: impl FnOnce(),
        answer: &str,
    ) -> Option<(String, Option<i32>)> {
        let mut child = started(user, columns, line)?;
        let mut stdout = child.stdout.take().unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"[y/N] ") {
            let mut byte = [0];
            assert_eq!(stdout.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
        meanwhile();
        child.stdin.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
        stdout.read_to_end(&mut said).unwrap();
        let status = child.wait().unwrap().code();
        Some((String::from_utf8(said).unwrap().replace("\r\n", "\n"), status))
    }

    #[test]
    fn the_answer_decides() {
        for (answer, is_written) in [("y\n", true), ("Yes\n", true), ("n\n", false), ("\n", false), ("\x04", false)] {
            let user = User::new();
            user.write(".codex/config.toml", "a = 1\n");
            let Some((said, status)) = asked(&user, 80, "install codex", || {}, answer) else { return };
            assert_eq!(user.read(".codex/config.toml") != "a = 1\n", is_written, "{answer:?}: {said}");
            assert_eq!((status, said.ends_with("\nnothing is written\n")), (Some(0), !is_written), "{said}");
            assert!(!said.contains("error"), "{said}");
        }
    }

    #[test]
    fn a_file_that_changes_before_the_answer_is_not_written() {
        let user = User::new();
        user.write(".codex/config.toml", "a = 1\n");
        let meanwhile = || user.write(".codex/config.toml", "a = 2\n");
        let Some((said, status)) = asked(&user, 80, "install codex", meanwhile, "y\n") else { return };
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("the file changed while it was being edited, so it was not written; run the command again"),
            "{said}"
        );
        assert_eq!((status, user.read(".codex/config.toml")), (Some(1), "a = 2\n".to_owned()));
    }

    #[test]
    fn on_a_narrow_terminal_changed_lines_are_shown_in_full() {
        let user = User::new();
        user.write(".codex/config.toml", format!("a = \"{}\"\n", "x".repeat(200)));
        let Some((said, _)) = asked(&user, 20, "install codex", || {}, "n\n") else { return };
        assert!(said.contains("\n  a = \"xxxxxxxxxxx…\n"), "{said}");
        assert!(said.contains(&format!("\n+ command = \"{}\"\n", user.program.display())), "{said}");
    }

    #[test]
    fn the_list_fits_a_narrow_terminal() {
        let user = User::new();
        user.done(&["install", "codex", "--yes", "--hook"]);
        user.write(
            ".cursor/mcp.json",
            r#"{"mcpServers": {"pe": {"command": "/gone/prompt-expander", "disabled": true}}}"#,
        );
        for columns in [80, 40] {
            let Some(mut child) = started(&user, columns, "install") else { return };
            let mut said = String::new();
            child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
            child.wait().unwrap();
            for line in said.lines() {
                // A path is not broken.
                assert!(line.chars().count() <= columns || !line.trim().contains(' '), "{columns}: {said}");
            }
            let said: Vec<&str> = said.split_whitespace().collect();
            assert!(said.join(" ").contains("registered as `pe`, disabled, but its program is missing"), "{said:?}");
        }
    }

    #[test]
    fn the_list_is_in_columns_and_names_what_is_not_here() {
        let user = User::new();
        fs::create_dir(user.path(".cursor")).unwrap();
        user.done(&["install", "codex", "--yes"]);
        let Some(mut child) = started(&user, 200, "install") else { return };
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        let said = said.replace("\r\n", "\n");
        let first = said.lines().next().unwrap();
        assert!(first.starts_with("codex   registered  ") && first.ends_with("/.codex/config.toml:1"), "{said}");
        assert!(said.contains("cursor  not registered\n") && said.contains("not found here: "), "{said}");
        assert!(said.ends_with("next: to register, run `prompt-expander install cursor`\n"), "{said}");
        for folder in [".claude", ".gemini"] {
            fs::create_dir(user.path(folder)).unwrap();
        }
        let Some(mut child) = started(&user, 200, "install") else { return };
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        let both = "`prompt-expander install claude-code gemini --hook` and `prompt-expander install cursor`";
        assert!(said.ends_with(&format!("next: to register, run {both}\r\n")), "{said}");
    }
}

#[test]
fn an_agent_that_may_edit_prompts_has_to_ask() {
    let user = User::new();
    let is_trusted = || user.read(".gemini/settings.json").contains("\"trust\": true");
    user.done(&["install", "gemini", "--yes"]);
    assert!(is_trusted());
    let said = user.run(&["install", "gemini", "--yes", "--", "--edit"]).stderr;
    assert!(!is_trusted() && said.contains("because of --edit: Gemini CLI asks you before it calls a tool"), "{said}");
    user.done(&["install", "gemini", "--yes", "--prompts", "/p"]);
    assert!(!is_trusted() && user.read(".gemini/settings.json").contains("--edit"));
    user.done(&["install", "gemini", "--yes", "--reset"]);
    assert!(is_trusted());
}
