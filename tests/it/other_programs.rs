//! Folders of other programs, and folders that are prompts: which files are read, under which
//! names, and that nothing is written to them.

use crate::client::{Client, LEGACY, assert_contains};
use serde_json::json;
use std::fs;

/// A client of these `--prompts`, with the files in its root.
fn client(prompts: &[&str], files: &[(&str, &str)]) -> Client {
    let options = prompts.iter().flat_map(|folder| ["--prompts", folder]);
    let client = Client::new().arguments(["--no-builtin"].into_iter().chain(options));
    files
        .iter()
        .for_each(|(file, text)| client.write(&format!("../{file}"), text));
    client
}

/// `name<TAB>layer` of each prompt.
fn listed(client: &Client, options: &[&str]) -> Vec<String> {
    let ran = client.run([options, &["list"]].concat(), "");
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        format!("{} {}", fields[0], fields[2])
    };
    ran.stdout.lines().map(line).collect()
}

const LISTS: [&str; 3] = [
    "prompts/list_changed",
    "resources/list_changed",
    "tools/list_changed",
];

/// Lists everything, so that the client is notified of every change from now on.
fn listen(client: &mut Client) {
    client.initialize(LEGACY);
    for method in ["tools/list", "prompts/list", "resources/list"] {
        client.request(method, json!({}));
    }
}

const SKILL: &str = "---\nname: anything\ndescription: Fill a form\n---\nRun scripts/fill.py.\n";

#[cfg(unix)]
#[test]
fn the_folder_of_an_agent_in_the_home_directory_is_the_users_and_not_a_projects() {
    let client = Client::new().arguments(["--project", "--from-agents", "--no-builtin"]);
    client.put(".claude/commands/a.md", "A $ARGUMENTS");
    client.put("dot/d.md", "Dot $ARGUMENTS");
    client.link("../../dot/d.md", ".claude/commands/dot.md");
    let list = client.words("list --json").json();
    let layers: Vec<_> = list["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| prompt["layer"].clone())
        .collect();
    assert_eq!(layers, ["user", "user"], "{list:#}");
    assert_eq!(client.words("expand dot x").stdout, "Dot x\n");
}

#[test]
fn the_path_of_a_folder_says_which_program_it_is_of() {
    for (folder, file, format) in [
        (".claude/commands", "git/fix.md", "claude"),
        (".claude/skills", "git/fix/SKILL.md", "skills"),
        (".agents/skills", "git/fix/SKILL.md", "skills"),
        (".github/skills", "git/fix/SKILL.md", "skills"),
        (".opencode/skills", "git/fix/SKILL.md", "skills"),
        (".codex/prompts", "git:fix.md", "codex"),
        (".gemini/commands", "git/fix.toml", "gemini"),
        (".qwen/commands", "git/fix.md", "qwen"),
        (".opencode/command", "git/fix.md", "opencode"),
        (".github/prompts", "git/fix.prompt.md", "vscode"),
        (".cursor/commands", "git/fix.md", "cursor"),
        (".agent/workflows", "git/fix.md", "antigravity"),
        (".windsurf/workflows", "git/fix.md", "windsurf"),
        (".kiro/skills", "git/fix/SKILL.md", "skills"),
        (".factory/skills", "git/fix/SKILL.md", "skills"),
        (".claude/prompts", "git/fix.md", "claude"),
        (".codex/commands", "git:fix.md", "codex"),
        (".cursor/prompts", "git/fix.md", "cursor"),
        (".clinerules/workflows", "git/fix.md", "cline"),
        (".kilocode/workflows", "git/fix.md", "kilo"),
        (".roo/commands", "git/fix.md", "roo"),
        (".kiro/prompts", "git/fix.md", "kiro"),
        (".amazonq/prompts", "git/fix.md", "amazon-q"),
        (".agents/commands", "git/fix.md", "agents"),
        (".agent/commands", "git/fix.md", "agents"),
        (".agents/prompts", "git/fix.md", "agents"),
        (".factory/commands", "git/fix.md", "agents"),
        (".kilocode/commands", "git/fix.md", "kilo"),
        (".ai/prompts", "git/fix.prompt.md", "agents"),
        (".pi/agent/prompts", "git:fix.md", "pi"),
        ("fabric/patterns", "git/fix/system.md", "fabric"),
    ] {
        let text = if format == "gemini" {
            "prompt = 'Fix'"
        } else {
            "Fix"
        };
        let mut by_path = client(&[folder], &[(&format!("{folder}/{file}"), text)]);
        let name = if file == "git:fix.md" {
            "git:fix"
        } else {
            "git/fix"
        };
        assert_eq!(listed(&by_path, &[]), [format!("{name} user ({format})")]);
        assert!(
            by_path.expand("git:fix", "").structured()["prompt"]
                .as_str()
                .unwrap()
                .ends_with("Fix"),
            "{format}"
        );
        let by_name = client(
            &[&format!("{format}:~/elsewhere")],
            &[(&format!("elsewhere/{file}"), text)],
        );
        assert_eq!(listed(&by_name, &[]), [format!("{name} user ({format})")]);
    }
}

#[test]
fn prompt_md_is_no_part_of_a_name_in_any_format() {
    for folder in [
        ".claude/commands",
        ".codex/prompts",
        ".opencode/command",
        ".cursor/commands",
        ".github/prompts",
    ] {
        let mut client = client(&[folder], &[(&format!("{folder}/fix.prompt.md"), "Fix")]);
        assert_eq!(client.names(), "fix", "{folder}");
        assert_eq!(client.expand("fix", "").structured()["prompt"], "Fix");
    }
}

#[test]
fn only_the_name_of_a_format_before_a_colon_is_one() {
    for folder in ["a:b", "Claude:x", "claud:x"] {
        let client = client(&[folder], &[(&format!("{folder}/x.md"), "X")]);
        assert_eq!(listed(&client, &[]), ["x user"], "{folder}");
    }
    let client = Client::new().arguments([]);
    for path in ["C:\\prompts", "c:x", "notes:x", "cluade:x"] {
        let ran = client.run(["--prompts", path, "list"], "");
        assert!(
            ran.stderr.contains("the prompts folder does not exist"),
            "{ran:?}"
        );
    }
}

#[test]
fn in_a_folder_of_its_own_format_folders_and_files_of_other_formats_are_prompts_and_what_belongs_to_them_is_none()
 {
    let client = client(
        &["prompts"],
        &[
            ("prompts/a.md", "A"),
            ("prompts/b.prompt.md", "B"),
            ("prompts/c.toml", "prompt = 'C'"),
            ("prompts/pdf/SKILL.md", SKILL),
            ("prompts/pdf/reference.md", "R"),
            ("prompts/pdf/deep/more.md", "M"),
            ("prompts/wisdom/system.md", "W"),
            ("prompts/wisdom/user.md", "U"),
            ("prompts/d.instructions.md", "D"),
            ("prompts/e.agent.md", "E"),
            ("prompts/a.test.txt", "T"),
            ("prompts/notes.yaml", "Y"),
        ],
    );
    assert_eq!(
        listed(&client, &[]),
        ["a user", "b user", "c user", "pdf user", "wisdom user"]
    );
    for (name, want) in [
        ("c", "C\n\nx".to_owned()),
        ("wisdom", "W\nx".to_owned()),
        ("pdf", {
            let folder = client.path("prompts/pdf");
            format!(
                "Base directory for this skill: {}\n\nRun scripts/fill.py.\n\nx",
                folder.display()
            )
        }),
    ] {
        assert_eq!(
            client.run(["expand", name, "x"], "").stdout.trim_end(),
            want,
            "{name}"
        );
    }
    for none in [
        "pdf/reference",
        "pdf/SKILL",
        "wisdom/system",
        "wisdom/user",
        "b.prompt",
        "d.instructions",
        "e.agent",
        "d",
    ] {
        let ran = client.run(["expand", none], "");
        assert!(
            ran.stderr.contains("no prompt named"),
            "{none}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn of_several_files_and_folders_of_one_name_the_first_path_in_byte_order_wins_and_the_others_are_problems()
 {
    let files = [
        ("prompts/x.md", "first"),
        ("prompts/x.prompt.md", "second"),
        ("prompts/x.toml", "prompt = 'third'"),
        ("prompts/x/SKILL.md", "fourth"),
        ("prompts/x/system.md", "fifth"),
    ];
    for (at, word) in ["first", "second", "third", "fourth", "fifth"]
        .into_iter()
        .enumerate()
    {
        let mut client = client(&["prompts"], &files[at..]);
        let text = client.expand("x", "").structured()["prompt"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(text.ends_with(word), "{text}");
        let list = client.list();
        assert_eq!(list["prompts"].as_array().unwrap().len(), 1);
        let problems = list["problems"].as_array().map_or(0, Vec::len);
        assert_eq!(problems, 4 - at, "{list}");
    }
}

#[test]
fn the_subfolders_of_codex_s_prompts_are_not_read() {
    let client = client(
        &[".codex/prompts"],
        &[
            (".codex/prompts/a.md", "A"),
            (".codex/prompts/deep/b.md", "B"),
        ],
    );
    assert_eq!(listed(&client, &[]), ["a user (codex)"]);
    assert!(
        client
            .words("expand deep/b")
            .stderr
            .contains("no prompt named")
    );
}

#[test]
fn a_folder_that_is_itself_a_skill_is_a_problem_that_says_which_one_to_name() {
    let mut client = client(&["skills:pdf"], &[("pdf/SKILL.md", SKILL)]);
    let list = client.list();
    assert_eq!(list["problems"][0]["file"], "SKILL.md");
    assert!(
        list["problems"][0]["message"]
            .as_str()
            .unwrap()
            .ends_with("pass its parent folder instead"),
        "{list}"
    );
}

/// Folders of agents of the user and of a project, and the user's own.
fn with_agents() -> Client {
    let client = client(
        &[],
        &[
            (".config/prompt-expander/prompts/own.md", "Own"),
            (".config/prompt-expander/prompts/same.md", "Own same"),
            (".claude/commands/same.md", "Claude's same"),
            (".claude/commands/git/fix.md", "Fix $ARGUMENTS"),
            (".claude/skills/pdf/SKILL.md", SKILL),
            (".codex/prompts/plan.md", "Plan"),
            (".gemini/commands/say.toml", "prompt = 'Say'"),
            ("project/.git/HEAD", ""),
            ("project/.prompts/own.md", "The project's"),
            ("project/.claude/commands/deploy.md", "Deploy"),
            ("project/.claude/commands/same.md", "The project's same"),
            ("project/.github/prompts/check.prompt.md", "Check"),
        ],
    );
    client.working_in("project")
}

#[test]
fn from_agents_adds_their_folders_below_the_user_s_own_and_those_of_the_project_only_with_project()
{
    let client = with_agents();
    assert_eq!(listed(&client, &[]), ["own user", "same user"]);
    let of_user = "git/fix user (claude), own user, pdf user (skills), plan user (codex), same user, say user (gemini)";
    assert_eq!(listed(&client, &["--from-agents"]).join(", "), of_user);
    let all = "check project (vscode), deploy project (claude), git/fix user (claude), own project, pdf user (skills), plan \
               user (codex), same user, say user (gemini)";
    assert_eq!(
        listed(&client, &["--from-agents", "--project"]).join(", "),
        all
    );
    client
        .words("--from-agents explain --json git/fix")
        .says(0, &["\"format\":\"claude\""]);
    client
        .words("--from-agents explain git/fix")
        .says(0, &["format  Claude Code\n"]);
    client
        .words("--from-agents list --json --tag x")
        .says(0, &["{\"prompts\":[]"]);
}

#[test]
fn a_command_that_an_agent_gets_while_the_server_runs_is_served_and_announced() {
    let mut client = Client::new().arguments(["--no-builtin", "--from-agents"]);
    listen(&mut client);
    for (file, name) in [
        (".claude/commands/x.md", "x"),
        (".claude/skills/pdf/SKILL.md", "pdf x"),
    ] {
        client.save(&format!("../{file}"), "X");
        assert_eq!(client.notifications(3), LISTS);
        assert_eq!(client.names(), name);
    }
    client.ignore_notifications();
}

#[test]
fn the_prompts_of_installed_plugins_and_extensions_are_known_by_the_name_of_the_plugin_and_their_own()
 {
    let mut client = Client::new().arguments(["--no-builtin", "--from-agents"]);
    let of_claude = |path: &str| format!("../.claude/plugins/cache/market/documents/{path}");
    let list = |version: &str| {
        let path = client.path(format!(".claude/plugins/cache/market/documents/{version}"));
        json!({ "version": 2, "plugins": { "documents@market": [{ "scope": "user", "installPath": path }] } })
            .to_string()
    };
    let (old, new) = (list("1.0"), list("2.0"));
    for (path, text) in [
        (&*of_claude("1.0/commands/git/fix.md"), "Fix $ARGUMENTS"),
        (&*of_claude("1.0/skills/pdf/SKILL.md"), SKILL),
        (&*of_claude("1.0/agents/a.md"), "No prompt"),
        (&*of_claude("2.0/skills/xlsx/SKILL.md"), SKILL),
        ("../.claude/plugins/installed_plugins.json", &old),
        (
            "../.gemini/extensions/flow/commands/plan.toml",
            "prompt = 'Plan {{args}}'",
        ),
        ("../.gemini/extensions/flow/skills/xlsx/SKILL.md", SKILL),
    ] {
        client.write(path, text);
    }
    let layers = listed(&client, &[]).join(", ");
    let want = "documents/git/fix user (claude), documents/pdf user (skills), flow/plan user (gemini), flow/xlsx user (skills)";
    assert_eq!(layers, want);
    assert_eq!(
        client.words("expand documents:git:fix 12").stdout,
        "Fix 12\n"
    );
    assert_eq!(client.words("expand plan x").stdout, "Plan x\n");
    client
        .words("check .claude/plugins .gemini/extensions/flow")
        .says(0, &["4 files checked: 0 errors, 2 warnings\n"]);
    let by_path = format!("./{}", &of_claude("1.0/commands/git/fix.md")[3..]);
    assert_eq!(
        client.run(["expand", &by_path, "12"], "").stdout,
        "Fix 12\n"
    );
    client
        .words("check .claude/plugins/cache/market/documents/2.0/skills/xlsx/SKILL.md")
        .says(0, &["1 file checked: 0 errors"]);
    // An update replaces the version, a new extension is there at once, and of two skills of one
    // name each needs its path.
    listen(&mut client);
    client.save("../.claude/plugins/installed_plugins.json", &new);
    client.notifications(3);
    assert_eq!(client.names(), "documents/xlsx flow/plan flow/xlsx");
    assert!(
        client
            .expand("xlsx", "")
            .error()
            .contains("`documents/xlsx` or `flow/xlsx`")
    );
    client.save("../.gemini/extensions/more/commands/a.toml", "prompt = 'A'");
    client.notifications(3);
    assert_eq!(client.names(), "documents/xlsx flow/plan flow/xlsx more/a");
    client.ignore_notifications();
}

#[cfg(unix)]
#[test]
fn no_symlink_leads_out_of_a_project_s_folder_of_an_agent() {
    use std::os::unix::fs::symlink;
    let client = client(
        &[],
        &[
            ("project/.git/HEAD", ""),
            ("secret/SKILL.md", "Secret"),
            ("secret/commands/x.md", "Secret"),
        ],
    );
    let client = client.working_in("project");
    let skills = client.path("project/.claude/skills");
    fs::create_dir_all(skills.join("file")).unwrap();
    symlink("../../../../secret/SKILL.md", skills.join("file/SKILL.md")).unwrap();
    symlink("../../../secret", skills.join("folder")).unwrap();
    // The folder above the prompts is a symlink, and they are outside.
    client.link("../secret", "project/.cursor");
    let options = ["--from-agents", "--project"];
    let ran = client.run([&options[..], &["list"]].concat(), "");
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr.matches("the symlink points outside ").count(),
        3,
        "{}",
        ran.stderr
    );
    for name in ["file", "folder", "x"] {
        let ran = client.run([&options[..], &["expand", name]].concat(), "");
        assert!(
            !ran.status.success() && !ran.stdout.contains("Secret"),
            "{name}: {}",
            ran.stdout
        );
    }
}

#[cfg(unix)]
#[test]
fn a_symlink_between_the_folders_of_agents_in_one_repository_is_followed() {
    let client = client(
        &[],
        &[
            ("project/.git/HEAD", ""),
            ("project/.prompts/p.md", "P"),
            ("project/.agents/skills/a/SKILL.md", "A"),
            ("project/.agents/skills/b/SKILL.md", "B"),
            ("project/.kiro/skills/k/SKILL.md", "K"),
            ("project/docs/skills/c/SKILL.md", "C"),
            ("project/docs/d.md", "D"),
            (".claude/skills/u/SKILL.md", "The user's."),
        ],
    );
    for (target, link) in [
        // It is not followed, but the skill is served anyway, as one of the user's.
        ("../../../.claude/skills/u", ".claude/skills/u"),
        ("../../.agents/skills/a", ".claude/skills/a"),
        (
            "../../../.agents/skills/b/SKILL.md",
            ".claude/skills/e/SKILL.md",
        ),
        ("../../docs/skills/c", ".claude/skills/c"),
        ("../../docs/d.md", ".claude/commands/d.md"),
        ("../.agents/skills", ".cursor/skills"),
        ("../..", ".claude/skills/up"),
    ] {
        client.link(target, format!("project/{link}"));
    }
    let client = client.working_in("project");
    let options = ["--from-agents", "--project"];
    assert_eq!(
        listed(&client, &options).join(", "),
        "a project (skills), b project (skills), c project (skills), d project (claude), e project (skills), k project (skills), p project, u user (skills)"
    );
    let ran = client.run([&options[..], &["list"]].concat(), "");
    assert_eq!(ran.stderr, "");
    let checked = client.run([&options[..], &["check"]].concat(), "").stdout;
    assert!(
        checked.contains("/skills/up: ") && !checked.contains("/skills/u: "),
        "{checked}"
    );
    let ran = client.run([&options[..], &["expand", "e"]].concat(), "");
    assert!(ran.stdout.ends_with("\n\nB\n"), "{ran:?}");
    fs::remove_file(client.path("project/.claude/skills/u")).unwrap(); // for `import`, it is an error
    // A prompt is imported once, although its text, which has the path of its folder, depends on
    // the symlink.
    let imported = client.words("import --to imported .");
    imported.says(
        0,
        &[
            ":a\n",
            ":b\n",
            ":d\n",
            ":e\n",
            "6 prompts imported",
            "0 errors",
        ],
    );
}

#[cfg(unix)]
#[test]
fn a_symlink_in_a_project_never_turns_a_secret_into_a_prompt() {
    let files = [
        ("project/.git/config", "secret"),
        ("project/.git/x.md", "secret"),
        ("project/.git/skill/SKILL.md", "secret"),
        ("project/module/.git/x.md", "secret"),
        ("project/.env", "secret"),
        ("project/.prompts/p.md", "P"),
        (
            "project/.prompts/attach.md",
            "---\nattachments: [.git/config]\n---\nA",
        ),
        (
            "project/.prompts/include.md",
            "---\ninclude: true\n---\n{% include \".git/x\" %}",
        ),
    ];
    let client = client(&[], &files);
    for (target, link) in [
        ("../../.git/config", ".claude/commands/config.md"),
        ("../../.git/x.md", ".claude/commands/text.md"),
        ("../../.git", ".claude/commands/git"),
        ("../../module/.git", ".claude/commands/module"),
        ("../../.env", ".claude/commands/env.md"),
        ("../../.git/skill", ".claude/skills/skill"),
        ("../../../.env", ".claude/skills/env/SKILL.md"),
        ("../.git", ".prompts/.git"),
        ("../.git", ".gemini/commands"),
    ] {
        client.link(target, format!("project/{link}"));
    }
    let client = client.working_in("project");
    for command in [
        "list --json",
        "check",
        "show env",
        "edit env",
        "expand config",
        "expand attach",
        "expand include",
    ] {
        let ran = client.words(&format!("--from-agents --project {command}"));
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!output.contains("secret"), "{command}: {output}");
    }
    let report = client.words("check --from-agents --project --json").json();
    for (link, reason) in [
        ("config.md", "which belongs to Git"),
        ("text.md", "which belongs to Git"),
        ("git", "which belongs to Git"),
        ("module", "which belongs to Git"),
        ("env.md", "which is not named like a prompt file"),
    ] {
        let problems = report["problems"].as_array().unwrap();
        let problem = problems.iter().find(|problem| {
            let file = problem["file"].as_str().unwrap();
            file.ends_with(&format!("/commands/{link}"))
        });
        let problem = problem.unwrap_or_else(|| panic!("{link}: {report}"));
        assert_contains(
            problem["message"].as_str().unwrap(),
            &format!("{reason}, and is not followed"),
        );
    }
}

#[test]
fn check_names_the_folders_of_agents_at_the_root_of_a_repository() {
    let folders = [
        ".kiro/skills",
        ".any/skills",
        ".agent/commands",
        ".ai/prompts",
        ".roo/commands",
        ".agents/prompts",
        ".ai/commands",
        ".augment/commands",
        ".codebuddy/commands",
        ".crush/commands",
        ".factory/commands",
        ".iflow/commands",
        ".kilocode/commands",
        ".trae/commands",
    ];
    let others = [
        "any/skills",
        ".git/skills",
        ".cache/skills",
        ".local/skills",
        ".venv/skills",
    ];
    let mut files = vec![("project/.git/HEAD".to_owned(), "")];
    for folder in folders {
        files.push((format!("project/{folder}/x.md"), "X"));
    }
    for folder in others {
        files.push((format!("project/{folder}/x.md"), "X"));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (&**file, *text)).collect();
    let client = client(&[], &files).working_in("project");
    let ran = client.words("check .");
    for folder in folders {
        assert_contains(&ran.stdout, &format!("project/{folder}"));
    }
    for folder in others {
        let path = format!("project/{folder}");
        assert!(!ran.stdout.contains(&path), "{folder}: {}", ran.stdout);
    }
}

#[test]
fn nothing_is_written_to_the_folder_of_another_program() {
    let client = client(&[".claude/commands"], &[(".claude/commands/x.md", "X")]);
    for (line, want) in [
        ("rm --yes x", "there is no folder of prompts to write to"),
        ("mv x y", "there is no folder of prompts to write to"),
        (
            "new y",
            "there is no folder of your own prompts to write to",
        ),
        (
            "new y --dir .claude/commands",
            "contains prompts for Claude Code",
        ),
        ("edit --project x", "x"),
    ] {
        client.run(line.split(' '), "Text").says(1, &[want]);
    }
    let files: Vec<_> = fs::read_dir(client.path(".claude/commands"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(files.len(), 1);
    // The first folder of its own format is used instead.
    let both = client.arguments(["--prompts", ".claude/commands", "--prompts", "prompts"]);
    assert!(
        both.run(["new", "y"], "Text")
            .stdout
            .ends_with("/prompts/y.md\n")
    );
}

#[test]
fn a_prompt_that_is_a_folder_is_not_renamed_and_a_new_one_is_not_put_into_it() {
    let client = Client::new()
        .prompt("pdf/SKILL.md", SKILL)
        .prompt("say.toml", "prompt = 'Say'");
    for (line, want) in [
        (
            "mv pdf y",
            "SKILL.md` is a symlink, or in a folder of its own",
        ),
        ("new pdf/y", "folder"),
        (
            "new x.instructions",
            "a file of this name is not read as this prompt",
        ),
        (
            "new x.prompt",
            "a file of this name is not read as this prompt",
        ),
        (
            "new git/system",
            "a file of this name is not read as this prompt",
        ),
    ] {
        client.run(line.split(' '), "Text").says(1, &[want]);
    }
    assert!(
        client
            .words("mv say git/say")
            .stdout
            .ends_with("/prompts/git/say.toml\n")
    );
}

#[test]
fn check_and_expand_take_a_file_of_another_program_by_its_path() {
    let client = client(
        &["prompts"],
        &[
            (".gemini/commands/say.toml", "prompt = 'Say {{args}}'"),
            ("x/pdf/SKILL.md", SKILL),
        ],
    );
    assert_eq!(
        client
            .words("expand ./.gemini/commands/say.toml this")
            .stdout,
        "Say this\n"
    );
    assert!(
        client
            .words("expand ./x/pdf/SKILL.md")
            .stdout
            .starts_with("Base directory for this skill: ")
    );
    let ran = client.words("check .gemini/commands skills:x x/pdf/SKILL.md");
    ran.says(0, &["3 files checked: 0 errors, 2 warnings\n"]);
}

#[test]
fn a_file_in_a_folder_that_was_named_with_a_format_is_read_in_that_format() {
    let files = [
        ("own/c/a.md", "---\narguments: [x]\n---\nA $x"),
        ("own/.drafts/d.md", "D $ARGUMENTS"),
        ("own/.gemini/commands/g.toml", "prompt = 'G {{args}}'"),
    ];
    let client = client(&["own", "claude:own/c"], &files);
    for (file, want) in [
        ("./own/c/a.md", "A q\n"),
        ("./own/.drafts/../c/a.md", "A q\n"),
        ("./own/.drafts/d.md", "D q\n"),
        // Between it and the folder that was named is one that its path names.
        ("./own/.gemini/commands/g.toml", "G q\n"),
    ] {
        let ran = client.run(["expand", file, "q"], "");
        assert_eq!(ran.stdout, want, "{file} {}", ran.stderr);
        assert_eq!(
            client.run(["check", file], "").stdout,
            "1 file checked: 0 errors, 0 warnings\n",
            "{file}"
        );
    }
    let explained = client.words("explain --json ./own/c/a.md q").json();
    assert_eq!(explained["arguments"][0]["name"], "x", "{explained:#}");
}

#[test]
fn the_reason_why_a_file_is_not_a_prompt_is_said() {
    let text = "X";
    let files = [
        ("a.instructions.md", text),
        ("b.agent.md", text),
        (".claude/skills/pdf/SKILL.md", SKILL),
        (".claude/skills/pdf/reference.md", text),
        (".claude/skills/README.md", text),
        (".gemini/commands/x.md", text),
    ];
    let client = client(&["prompts"], &files);
    for (file, why) in [
        (
            "a.instructions.md",
            "is not a prompt, but instructions that VS Code adds to a chat by itself",
        ),
        (
            "b.agent.md",
            "is not a prompt, but the definition of an agent",
        ),
        (
            ".claude/skills/README.md",
            "only files that end in `/SKILL.md` are read as prompts in a folder of Agent Skills",
        ),
        (
            ".gemini/commands/x.md",
            "only files that end in `.toml` are read as prompts in a folder of Gemini CLI",
        ),
    ] {
        for line in [format!("expand ./{file}"), format!("check {file}")] {
            client
                .words(&line)
                .says(1, &[why, "to use it as a prompt, copy it to a "]);
        }
    }
}

#[test]
fn check_reads_a_subfolder_as_a_part_of_the_folder_of_its_program() {
    let files = [
        (".claude/commands/a.md", "A @src/main.rs"),
        (".claude/commands/sub/b.md", "B @src/main.rs"),
        (".claude/skills/pdf/SKILL.md", SKILL),
        (".claude/skills/pdf/reference.md", "R {{inptu}}"),
        ("named/sub/c.md", "C @src/main.rs"),
    ];
    let client = client(&["claude:named"], &files);
    let why = ":1:3: warning: `@src/main.rs` stays as written: Claude Code would attach it\n";
    for (folder, warned, total) in [
        (
            ".claude/commands/sub",
            &[".claude/commands/sub/b.md"][..],
            "1 file checked: 0 errors, 1 warning\n",
        ),
        (
            "claude:named",
            &["named/sub/c.md"],
            "1 file checked: 0 errors, 1 warning\n",
        ),
        (
            ".claude/skills/pdf",
            &[],
            "1 file checked: 0 errors, 1 warning\n",
        ),
        (
            ".claude/commands",
            &[".claude/commands/a.md", "commands/sub/b.md"],
            "2 files checked: 0 errors, 2 warnings\n",
        ),
    ] {
        let ran = client.words(&format!("check {folder}"));
        ran.says(0, &[total]);
        for file in warned {
            ran.says(0, &[&format!("/{file}{why}")]);
        }
    }
}
