//! `install --http`: the registration of a server over HTTP with each agent, and `uninstall` of it.
//!
//! `tests/install/http` has what the agents' own commands wrote, byte for byte (Codex 0.169.0, Claude Code 2.1.330, Gemini CLI
//! 0.61.0, opencode 1.18.33).

use crate::client::Client;
use crate::install::{CONFIGS, HOOKS, User, event};
use crate::readme::{blocks, page};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const URL: &str = "http://127.0.0.1:3333/mcp";

/// Registers the server of [`URL`] with this agent.
fn line<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["install", name, "--http", URL, "--yes"], more].concat()
}

/// The entry of the server in a config.
fn entry(name: &str, text: &str) -> Value {
    if name == "codex" {
        let rest = text.split("[mcp_servers.prompts]\n").nth(1).unwrap_or_else(|| panic!("{text}"));
        let pairs = rest.lines().map_while(|line| line.split_once(" = "));
        return pairs
            .map(|(key, value)| (key.to_owned(), json!(value.trim_matches('"'))))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let servers = ["mcpServers", "servers", "mcp", "context_servers"];
    servers.iter().find_map(|key| value.get(key)).unwrap()["prompts"].clone()
}

/// The command of the hook in a file.
fn hook(name: &str, text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    let groups = value["hooks"][event(name)].as_array().unwrap();
    assert_eq!(groups.len(), 1, "{text}");
    groups[0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

#[test]
fn a_new_entry_is_the_one_that_the_agents_own_command_writes() {
    for (name, file, golden) in [
        ("codex", ".codex/config.toml", "codex.toml"),
        ("claude-code", ".claude.json", "claude-code.json"),
        ("gemini", ".gemini/settings.json", "gemini.json"),
        ("opencode", ".config/opencode/opencode.jsonc", "opencode.jsonc"),
    ] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/http").join(golden);
        let user = User::new();
        user.done(&line(name, &["--token-env", "TEAM_TOKEN"]));
        assert_eq!(user.read(file), fs::read_to_string(golden).unwrap(), "{name}");
    }
}

/// What each agent's documentation has for a server over HTTP and a token from the environment.
#[test]
fn every_agent_gets_the_url_and_the_name_of_the_variable_in_its_scope() {
    for (name, file, project_file) in CONFIGS {
        let header = |text: &str| json!({ "Authorization": text });
        let mut want = match name {
            "codex" => json!({"url": URL, "bearer_token_env_var": "T"}),
            "claude-code" => json!({"type": "http", "url": URL, "headers": header("Bearer ${T}")}),
            "gemini" => json!({"url": URL, "type": "http", "headers": header("Bearer $T"), "trust": true}),
            "vscode" => json!({"type": "http", "url": URL, "headers": header("Bearer ${env:T}")}),
            "cursor" => json!({"url": URL, "headers": header("Bearer ${env:T}")}),
            "opencode" => json!({"type": "remote", "url": URL, "headers": header("Bearer {env:T}")}),
            _ => json!({ "url": URL }),
        };
        let reads_token = name != "zed";
        for (scope, file) in [(None, file.to_owned()), (Some("--project"), format!("project/{project_file}"))] {
            let user = User::new();
            let token: &[&str] = if reads_token { &["--token-env", "T"] } else { &[] };
            let ran = user.run(&[line(name, token), scope.into_iter().collect()].concat());
            assert_eq!(ran.status.code(), Some(0), "{ran:?}");
            assert_eq!(entry(name, &user.read(&file)), want, "{name}");
            let tells =
                ran.stderr.contains(" reads the token from the environment variable T, which is not set here; ");
            assert_eq!(tells, reads_token, "{ran:?}");
            assert!(
                ran.stdout.contains(&format!("tip: `prompt-expander doctor {name}` checks that the server answers"))
            );

            let list: Value = serde_json::from_str(&user.done(&["install", "--json"])).unwrap();
            let agent = list["clients"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap();
            let registration = &agent["registrations"][0];
            let seen = (&registration["url"], &registration["command"], &registration["ours"]);
            assert_eq!(seen, (&json!(URL), &Value::Null, &json!(true)), "{agent}");
        }
        // Without a token.
        let user = User::new();
        user.done(&line(name, &[]));
        want.as_object_mut().unwrap().retain(|key, _| !["headers", "bearer_token_env_var"].contains(&key.as_str()));
        assert_eq!(entry(name, &user.read(file)), want, "{name}");
    }
}

#[test]
fn the_entry_on_the_page_of_an_agent_is_the_one_that_is_written() {
    for (name, page_name, file, language) in [
        ("codex", "codex", ".codex/config.toml", "toml"),
        ("claude-code", "claude-code", ".claude.json", "json"),
        ("gemini", "gemini-cli", ".gemini/settings.json", "json"),
        ("opencode", "opencode", ".config/opencode/opencode.jsonc", "json"),
    ] {
        let user = User::new();
        let server = ["--http", "https://prompts.example.com", "--token-env", "TEAM_TOKEN"];
        user.done(&[&["install", name, "--yes"], &server[..]].concat());
        let page = page(&format!("docs/clients/{page_name}.md"));
        let blocks = blocks(&page, language);
        let (_, block) = blocks.iter().find(|(_, block)| block.contains("https://prompts.example.com")).unwrap();
        assert_eq!(entry(name, block), entry(name, &user.read(file)), "{page_name}.md");
    }
    let page = page("docs/clients/untested.md");
    for (name, title) in [("vscode", "VS Code"), ("cursor", "Cursor"), ("zed", "Zed")] {
        let (_, file, _) = CONFIGS.into_iter().find(|(known, ..)| *known == name).unwrap();
        let user = User::new();
        let token: &[&str] = if name == "zed" { &[] } else { &["--token-env", "TEAM_TOKEN"] };
        user.done(&[&["install", name, "--yes", "--http", "https://prompts.example.com"], token].concat());
        let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {title} | `{{"))).unwrap();
        let written: Value = serde_json::from_str(&format!("{{{}", row.trim_end_matches("` |"))).unwrap();
        assert_eq!(written, entry(name, &user.read(file)), "{name}");
    }
}

#[test]
fn an_agent_that_replaces_no_variables_is_refused_a_token_with_what_to_do() {
    let user = User::new();
    let said = user.refused(&line("zed", &["--token-env", "T"]));
    assert!(
        said.starts_with("Zed replaces no variables in its config, so the token would have to be in the file"),
        "{said}"
    );
    assert!(
        said.contains("; leave out --token-env, and then add `\"headers\": {\"Authorization\": \"Bearer …\"}`"),
        "{said}"
    );
}

#[test]
fn a_token_is_in_no_file_and_in_no_output() {
    let client = Client::new().arguments([]).variable("TEAM_TOKEN", "pex_secret");
    let user = User::of(client);
    for (name, _) in HOOKS {
        let ran = user.run(&line(name, &["--hook", "--token-env", "TEAM_TOKEN"]));
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        assert!(!format!("{ran:?}").contains("secret"), "{ran:?}");
        assert!(ran.stderr.contains(" from the environment variable TEAM_TOKEN; export it in the shell"), "{ran:?}");
    }
    for file in user.files() {
        assert!(!user.read(&file).contains("secret"), "{file}");
    }
    // Given instead of the name of a variable, or in the URL, it is not repeated either.
    let token = format!("pex_{}", "secret".repeat(8));
    let said = user.refused(&line("codex", &["--token-env", &token]));
    assert_eq!(
        said,
        "--token-env takes the name of an environment variable, such as TEAM_TOKEN, and not the token itself"
    );
    assert_eq!(user.refused(&line("codex", &["--token-env", "a-b"])), said);
    let said = user.refused(&["install", "codex", "--yes", "--http", "https://ana:secret@prompts.example.com"]);
    assert_eq!(
        said,
        "the URL of --http must not have a user name or a password; put the token into an environment variable, and name that \
         with --token-env"
    );
}

#[test]
fn the_url_may_lack_its_path_and_an_invalid_one_is_refused() {
    let user = User::new();
    for url in ["http://127.0.0.1:3333", "http://127.0.0.1:3333/", "HTTP://127.0.0.1:3333/mcp"] {
        user.done(&["install", "codex", "--http", url, "--yes"]);
        assert_eq!(entry("codex", &user.read(".codex/config.toml"))["url"], URL);
    }
    for (url, why) in [
        ("127.0.0.1:3333", "must begin with https:// or http://, as in `http://127.0.0.1:3333`"),
        ("ws://127.0.0.1:3333/ws", "must begin with https:// or http://"),
        ("http://127.0.0.1:3333/mcp?token=x", "must end with its path, without `?` or `#`"),
    ] {
        let said = user.refused(&["install", "codex", "--http", url, "--yes"]);
        assert_eq!(said, format!("the URL of --http {why}"));
    }
}

#[test]
fn a_token_for_another_machine_without_encryption_gets_a_warning() {
    for (url, token, warned) in [
        ("http://prompts.example.com", &["--token-env", "T"][..], true),
        ("http://prompts.example.com", &[], false),
        ("https://prompts.example.com", &["--token-env", "T"], false),
        ("http://localhost:3333", &["--token-env", "T"], false),
    ] {
        let ran = User::new().run(&[&["install", "codex", "--yes", "--http", url], token].concat());
        let warning =
            format!("warning: the token for {url}/mcp can be read on the network, because it is not encrypted; ");
        assert_eq!(ran.stderr.contains(&warning), warned, "{ran:?}");
    }
}

#[test]
fn installing_twice_is_the_same_as_once_and_a_token_that_is_not_given_stays() {
    for (name, file, _) in CONFIGS.into_iter().filter(|(name, ..)| *name != "zed") {
        let user = User::new();
        let hook: &[&str] = if HOOKS.iter().any(|(known, _)| *known == name) { &["--hook"] } else { &[] };
        let with_token = line(name, &[hook, &["--token-env", "T"]].concat());
        user.done(&with_token);
        let files = user.files();
        let texts = || files.iter().map(|file| user.read(file)).collect::<Vec<_>>();
        let before = texts();
        for again in [&with_token, &line(name, hook), &line(name, &[])] {
            assert!(user.done(again).starts_with("registered already; nothing to change\n"), "{name}: {again:?}");
            assert_eq!((user.files(), texts()), (files.clone(), before.clone()));
        }
        user.done(&line(name, &["--token-env", "OTHER_TOKEN"]));
        let after = texts();
        for (before, after) in before.iter().zip(&after) {
            let pairs = [
                ("Bearer $T", "Bearer $OTHER_TOKEN"),
                ("{T}", "{OTHER_TOKEN}"),
                ("env:T", "env:OTHER_TOKEN"),
                ("\"T\"", "\"OTHER_TOKEN\""),
                ("-env T", "-env OTHER_TOKEN"),
            ];
            assert_eq!(*after, pairs.iter().fold(before.clone(), |text, (old, new)| text.replace(old, new)), "{name}");
        }
        assert_ne!(before, after);
        user.done(&line(name, &["--reset"]));
        assert!(!user.read(file).contains("OTHER_TOKEN"), "{}", user.read(file));
    }
}

#[test]
fn the_hook_asks_the_same_server_with_the_same_variable() {
    for (name, file) in HOOKS {
        let user = User::new();
        let program = user.program.display().to_string();
        let end = if name == "gemini" { "; exit 0" } else { "" };
        let want = |options: &str| format!("'{program}' hook {name}{options}{end}");
        user.done(&["install", name, "--hook", "--yes", "--prompts", "/a"]);
        assert_eq!(hook(name, &user.read(file)), want(" --prompts /a"));
        user.done(&line(name, &[]));
        assert_eq!(hook(name, &user.read(file)), want(&format!(" --http {URL}")));
        user.done(&line(name, &["--token-env", "T"]));
        assert_eq!(hook(name, &user.read(file)), want(&format!(" --http {URL} --token-env T")));
        // Back to a server that the agent starts.
        user.done(&["install", name, "--yes", "--replace", "--prompts", "/b"]);
        assert_eq!(hook(name, &user.read(file)), want(" --prompts /b"));
        user.done(&line(name, &["--token-env", "T"]));
        user.done(&["uninstall", name, "--yes"]);
        assert!(!user.path(file).exists() || !user.read(file).contains("prompt-expander"));
    }
}

#[test]
fn a_registration_that_starts_the_program_is_replaced_and_the_user_is_told() {
    for (name, file, _) in CONFIGS {
        let user = User::new();
        user.done(&["install", name, "--yes", "--prompts", "/a"]);
        let ran = user.run(&line(name, &[]));
        let note = format!(
            "note: replaces the registration that starts `'{}' --prompts /a`; the server at {URL} has its own prompts\n",
            user.program.display()
        );
        assert!(ran.stderr.contains(&note), "{ran:?}");
        let fresh = User::new();
        fresh.done(&line(name, &[]));
        assert_eq!(entry(name, &user.read(file)), entry(name, &fresh.read(file)), "{name}");
    }
}

#[test]
fn what_the_user_added_to_the_entry_stays_and_what_only_starts_a_program_goes() {
    let user = User::new();
    user.write(
        ".codex/config.toml",
        "# mine\n[mcp_servers.prompts] # team\ncommand = 'prompt-expander'\nargs = ['--prompts', '/a']\ncwd = '/'\n\
         env_vars = ['A']\ntool_timeout_sec = 9 # slow\n\n[mcp_servers.prompts.env]\nE = 'e'\n",
    );
    let ran = user.run(&line("codex", &["--token-env", "T"]));
    assert!(ran.stderr.contains("note: keeps tool_timeout_sec; to start without, add --reset\n"), "{ran:?}");
    let text = user.read(".codex/config.toml");
    for gone in ["command", "args", "cwd", "env_vars", "prompts.env]", "'e'"] {
        assert!(!text.contains(gone), "{text}");
    }
    for kept in [
        "# mine\n[mcp_servers.prompts] # team\n",
        "tool_timeout_sec = 9 # slow\n",
        "url = ",
        "bearer_token_env_var = \"T\"",
    ] {
        assert!(text.contains(kept), "{text}");
    }

    let user = User::new();
    let headers = json!({"X-Team": "a", "authorization": "Bearer old"});
    let servers = json!({"prompts": {"type": "http", "url": URL, "headers": headers, "alwaysLoad": true}});
    user.write(".claude.json", json!({ "mcpServers": servers }).to_string());
    user.done(&line("claude-code", &["--token-env", "T"]));
    let entry = entry("claude-code", &user.read(".claude.json"));
    assert_eq!(entry["headers"], json!({"X-Team": "a", "Authorization": "Bearer ${T}"}));
    assert_eq!(entry["alwaysLoad"], true);
}

#[test]
fn the_rest_of_a_config_stays_unchanged_and_uninstall_restores_it_byte_for_byte() {
    for (name, file, project_file) in CONFIGS {
        for (scope, file) in [(None, file.to_owned()), (Some("--project"), format!("project/{project_file}"))] {
            let user = User::new();
            let before = User::config(name);
            user.write(&file, &before);
            let token: &[&str] = if name == "zed" { &[] } else { &["--token-env", "T"] };
            let scope: Vec<&str> = scope.into_iter().collect();
            user.done(&[line(name, token), scope.clone()].concat());
            let after = user.read(&file);
            assert!(after.contains(URL) && after.contains("other"), "{after}");
            let comments = |text: &str| text.matches("// mine").count() + text.matches("# mine").count();
            assert_eq!(comments(&after), comments(&before), "{after}");
            let ran = user.run(&[&["uninstall", name, "--yes"], scope.as_slice()].concat());
            assert_eq!(user.read(&file), before, "{name}");
            let note = format!("`prompts` is the server at {URL}; whether that is prompt-expander is not checked here");
            assert!(ran.stderr.contains(&note), "{ran:?}");
            assert_eq!(user.files(), [file]);
        }
    }
}

#[test]
fn a_server_at_another_url_is_replaced_only_on_request() {
    for (name, file, _) in CONFIGS {
        let user = User::new();
        user.done(&line(name, &[]));
        for asked in [&["--http", "https://prompts.example.com"][..], &[]] {
            let said = user.refused(&[&["install", name, "--yes"], asked].concat());
            let want = format!("another server has the name `prompts`; it is at `{URL}`. Rename it, or use --replace");
            assert!(said.contains(&want), "{said}");
            let replaced = User::new();
            replaced.write(file, user.read(file));
            replaced.done(&[&["install", name, "--yes", "--replace"], asked].concat());
            assert!(!replaced.read(file).contains(URL), "{}", replaced.read(file));
        }
    }
    // One that is not at `/mcp` is left alone by `uninstall`, too.
    let user = User::new();
    user.write(".codex/config.toml", "[mcp_servers.prompts]\nurl = \"https://prompts.example.com/sse\"\n");
    assert_eq!(user.done(&["uninstall", "codex", "--yes"]), "not registered; nothing to remove\n");
    assert!(user.done(&["install"]).contains("\tanother server is registered as `prompts`\t"));
}

#[test]
fn options_that_are_for_a_server_that_the_agent_starts_are_refused() {
    let user = User::new();
    let own = "the server at --http has the prompts and options with which it was started; leave out ";
    for option in [&["--prompts", "/a"][..], &["--from-agents"], &["--no-builtin"]] {
        let said = user.refused(&line("codex", option));
        assert_eq!(said, format!("{own}--prompts, --from-agents, --no-builtin and --openapi, or --http"));
    }
    assert_eq!(
        user.refused(&line("codex", &["--", "--tap", "f"])),
        format!("{own}the arguments after `--`, or --http")
    );
    let ran = user.run(&["install", "codex", "--token-env", "T", "--yes"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(ran.stderr.contains("--http <URL>"), "{ran:?}");
}

#[test]
fn a_token_in_the_usual_variable_is_only_registered_if_that_is_named() {
    let user = User::of(Client::new().arguments([]).variable("PROMPT_EXPANDER_TOKEN", "secret"));
    let note = "note: PROMPT_EXPANDER_TOKEN is set, but not part of the registration; if the server needs a token, add --token-env ";
    let ran = user.run(&line("codex", &[]));
    assert!(ran.stderr.contains(note) && !user.read(".codex/config.toml").contains("TOKEN"), "{ran:?}");
    let ran = user.run(&line("codex", &["--token-env", "PROMPT_EXPANDER_TOKEN"]));
    assert!(!ran.stderr.contains(note) && user.read(".codex/config.toml").contains("PROMPT_EXPANDER_TOKEN"), "{ran:?}");
}

#[test]
fn the_list_says_where_the_server_is() {
    let user = User::new();
    user.done(&line("codex", &["--token-env", "T", "--hook"]));
    let list = user.done(&["install"]);
    assert!(list.starts_with(&format!("codex\tregistered at {URL} with the token in T\t")), "{list}");
}

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let user = User::new();
    let shown = user.done(&["install", "claude-code", "--http", URL, "--token-env", "T", "--hook", "--dry-run"]);
    assert!(shown.contains("+         \"Authorization\": \"Bearer ${T}\"\n"), "{shown}");
    assert!(shown.contains(&format!(" hook claude-code --http {URL} --token-env T\"")), "{shown}");
    assert!(user.files().is_empty());
}
