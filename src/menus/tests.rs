//! Plans and their results in real folders.

use super::existing::{Existing, ExistingEntries};
use super::left_alone::{Kept, Refused, WhyLeft};
use super::plan::MenuPlan;
use super::selection::MenuPrompt;
use super::{WrittenEntries, library_id};
use crate::agents::{Agent, MenuLocation, System};
use crate::prompt::MenuMark;
use crate::prompt::Name;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A home directory, and the prompts that get entries.
struct Home {
    folder: TempDir,
    agent: &'static Agent,
}

impl Home {
    fn new(agent: &str) -> Home {
        Home {
            folder: tempfile::tempdir().unwrap(),
            agent: Agent::by_name(agent).unwrap(),
        }
    }

    fn system(&self) -> System {
        System {
            home: Some(self.folder.path().to_owned()),
            ..System::default()
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn plan(&self, prompts: &[&str]) -> MenuPlan {
        self.plan_of("library0", prompts)
    }

    fn plan_of(&self, library: &str, prompts: &[&str]) -> MenuPlan {
        let prompts: Vec<MenuPrompt> = prompts.iter().map(|name| prompt(name)).collect();
        MenuPlan::new(self.location(), &prompts, library).unwrap()
    }

    fn location(&self) -> MenuLocation {
        MenuLocation::of(self.agent, &self.system()).unwrap()
    }

    /// Returns the error of a plan for the prompt `a`.
    fn error(&self) -> String {
        let plan = MenuPlan::new(self.location(), &[prompt("a")], "library0");
        plan.unwrap_err().message
    }

    /// Writes the entries for these prompts, and removes all others.
    fn sync(&self, prompts: &[&str]) -> WrittenEntries {
        self.plan(prompts).apply()
    }

    /// Returns all files below the home directory, with their texts.
    fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(self.folder.path(), self.folder.path(), &mut files);
        files.sort();
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if path.is_symlink() {
            files.push((name, "(symlink)".to_owned()));
        } else if path.is_dir() {
            collect(root, &path, files);
        } else {
            let bytes = fs::read(&path).unwrap();
            files.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}

fn prompt(name: &str) -> MenuPrompt {
    MenuPrompt {
        name: Name::new(name).unwrap(),
        description: "Say \"why\": #1".to_owned(),
        argument_hint: "<topic> [depth]".to_owned(),
        file: None,
    }
}

const CODEX: &str = ".codex/skills/git-commit/SKILL.md";

#[test]
fn an_entry_is_one_line_that_names_the_tool_and_is_marked() {
    let codex = Home::new("codex");
    codex.sync(&["git/commit"]);
    let files = codex.files();
    let version = env!("CARGO_PKG_VERSION");
    let hash = MenuMark::parse(&files[0].1).unwrap().hash;
    let want = format!(
        "---\nname: \"git-commit\"\ndescription: \"Say 'why': #1\"\nmetadata:\n  \
         prompt-expander: \"{version} {hash} library0 git/commit\"\n---\nA hook has added this prompt's \
         text to the user's message. If you do not see it, call the tool expand_prompt of the server \
         `prompts` with command `git/commit` and, as input, the user's words after `$git-commit`; then \
         do what it returns.\n"
    );
    assert_eq!(files[0], (CODEX.to_owned(), want));
    let yaml = "policy:\n  allow_implicit_invocation: false\n";
    assert_eq!(files[1].1, yaml);
    assert_eq!(files.len(), 2);

    let claude = Home::new("claude-code");
    claude.sync(&["要約"]);
    let [(path, text)] = &claude.files()[..] else {
        panic!();
    };
    assert_eq!(path, ".claude/skills/要約/SKILL.md");
    let keys = "argument-hint: \"<topic> [depth]\"\ndisable-model-invocation: true\nmetadata:\n";
    assert!(text.contains(keys), "{text}");
    assert!(
        text.contains("words after `/要約`; then") && !text.contains('$'),
        "{text}"
    );
}

#[test]
fn an_entry_that_is_a_single_file_has_no_name_in_it() {
    let home = Home::new("opencode");
    home.sync(&["git/commit"]);
    let [(path, text)] = &home.files()[..] else {
        panic!();
    };
    assert_eq!(path, ".config/opencode/commands/git-commit.md");
    assert!(text.starts_with("---\ndescription: "), "{text}");
    home.write(".config/opencode/command/git-commit.md", "Mine.");
    assert!(home.plan(&["git/commit"]).created().is_empty());
    home.sync(&[]);
    assert!(!home.at(path).exists());
}

#[test]
fn an_entry_with_a_command_names_the_tool_first() {
    for agent in ["copilot", "pi"] {
        let home = Home::new(agent);
        home.sync(&["git/commit"]);
        let want = "---\nCall the tool expand_prompt of the server `prompts` with command \
                    `git/commit` and, as input, the user's words after `:git/commit` below; then \
                    do what it returns.\n\n:git/commit $ARGUMENTS\n";
        let text = &home.files()[0].1;
        assert!(text.ends_with(want), "{text}");
    }
}

#[test]
fn what_is_in_the_menu_already_is_not_written_again() {
    let home = Home::new("codex");
    assert_eq!(home.sync(&["a", "b"]).written, 2);
    assert!(home.plan(&["a", "b"]).is_empty());
    let plan = home.plan(&["b", "c"]);
    assert_eq!(
        (plan.created(), plan.updated(), plan.removed()),
        (vec!["c"], vec![], vec!["a"])
    );
    // The version alone is no reason to write.
    let path = home.at(".codex/skills/a/SKILL.md");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(env!("CARGO_PKG_VERSION"), "0.0.1")).unwrap();
    assert!(home.plan(&["a", "b"]).is_empty());
    home.sync(&[]);
    assert_eq!(home.files(), []);
    assert!(!home.at(".codex/skills/a").exists());
}

#[test]
fn a_change_of_a_prompt_updates_its_entry() {
    let home = Home::new("claude-code");
    home.sync(&["a"]);
    let changed = MenuPrompt {
        description: "Other".to_owned(),
        ..prompt("a")
    };
    let plan = MenuPlan::new(home.location(), &[changed], "library0").unwrap();
    assert_eq!(plan.updated(), ["a"]);
    assert_eq!(plan.without_removals().apply().written, 1);
    assert!(home.files()[0].1.contains("description: \"Other\""));
}

#[test]
fn the_server_removes_nothing() {
    let home = Home::new("codex");
    home.sync(&["a"]);
    let result = home.plan(&["b"]).without_removals().apply();
    assert_eq!((result.written, result.removed), (1, 0));
    assert!(home.at(".codex/skills/a/SKILL.md").exists());
}

/// Puts something in the place of the entry `a`, after it was written.
type Spoil = fn(&Home);

const ENTRY: &str = ".codex/skills/a/SKILL.md";
const YAML: &str = ".codex/skills/a/agents/openai.yaml";

#[test]
fn a_file_that_is_not_exactly_as_it_was_written_is_left_alone() {
    let cases: &[(&str, WhyLeft, Spoil)] = &[
        ("changed", WhyLeft::Kept(Kept::Changed), |home| {
            append(home, ENTRY)
        }),
        ("line endings", WhyLeft::Kept(Kept::Changed), |home| {
            edit(home, "\n", "\r\n")
        }),
        (
            "further file changed",
            WhyLeft::Kept(Kept::Changed),
            |home| append(home, YAML),
        ),
        ("newer version", WhyLeft::Kept(Kept::NewerVersion), |home| {
            edit(home, env!("CARGO_PKG_VERSION"), "99.0.0")
        }),
        ("no version", WhyLeft::Kept(Kept::NewerVersion), |home| {
            edit(home, env!("CARGO_PKG_VERSION"), "x")
        }),
        (
            "another library",
            WhyLeft::Kept(Kept::OtherLibrary("library1".to_owned())),
            |home| edit(home, "library0", "library1"),
        ),
        ("read-only", WhyLeft::Kept(Kept::ReadOnly), |home| {
            let path = home.at(ENTRY);
            let mut permissions = fs::metadata(&path).unwrap().permissions();
            permissions.set_readonly(true);
            fs::set_permissions(path, permissions).unwrap();
        }),
    ];
    for (case, why, spoil) in cases {
        let home = Home::new("codex");
        home.sync(&["a"]);
        spoil(&home);
        let files = home.files();
        for prompts in [&["a"][..], &[]] {
            let plan = home.plan(prompts);
            let reasons: Vec<&WhyLeft> = plan.left_alone.iter().map(|left| &left.why).collect();
            assert_eq!(reasons, [why], "{case}");
            let result = plan.apply();
            assert_eq!((result.written, result.removed), (0, 0), "{case}");
        }
        assert_eq!(home.files(), files, "{case}");
    }
}

fn append(home: &Home, path: &str) {
    let text = fs::read_to_string(home.at(path)).unwrap();
    fs::write(home.at(path), text + "Mine.\n").unwrap();
}

fn edit(home: &Home, old: &str, new: &str) {
    let text = fs::read_to_string(home.at(ENTRY)).unwrap();
    fs::write(home.at(ENTRY), text.replace(old, new)).unwrap();
}

#[test]
fn a_file_of_the_users_is_left_alone() {
    let cases: &[(&str, Spoil)] = &[
        (".codex/skills/a", |home| {
            home.write(".codex/skills/a", "A file.")
        }),
        (".codex/skills/a", |home| {
            home.write(".codex/skills/a/notes.md", "Notes.")
        }),
        (ENTRY, |home| {
            home.write(ENTRY, "---\nname: a\n---\nMine.\n")
        }),
        (ENTRY, |home| home.write(ENTRY, "")),
        (ENTRY, |home| {
            home.write(ENTRY, "");
            fs::write(home.at(ENTRY), b"\xff").unwrap();
        }),
        (".codex/skills/a", |home| {
            home.write(".codex/skills/a/.mine", "Hidden.")
        }),
        (".codex/skills/a", |home| {
            home.write(".codex/skills/a/agents/mine.yaml", "Mine.")
        }),
        (".codex/skills/a", |home| home.write(YAML, "Mine.")),
        (".codex/skills/a", |home| {
            fs::create_dir_all(home.at(".codex/skills/a/drafts")).unwrap();
        }),
        (ENTRY, |home| home.write(&format!("{ENTRY}/x"), "A folder.")),
        (".agents/skills/a", |home| {
            home.write(".agents/skills/a/SKILL.md", "Shared.")
        }),
        (".agents/skills/A", |home| {
            home.write(".agents/skills/A/SKILL.md", "Shared.")
        }),
        (".codex/skills/A/SKILL.md", |home| {
            home.write(".codex/skills/A/SKILL.md", "Mine.")
        }),
    ];
    for (path, spoil) in cases {
        let home = Home::new("codex");
        spoil(&home);
        let files = home.files();
        let plan = home.plan(&["a"]);
        let why = WhyLeft::Refused(Refused::UsersFile(home.at(path)));
        assert_eq!(plan.left_alone.len(), 1, "{path}");
        assert_eq!(plan.left_alone[0].why, why);
        plan.apply();
        assert_eq!(home.files(), files);
        // If the prompt is gone, nobody needs to know of the file.
        assert_eq!(home.plan(&[]).left_alone, []);
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_a_symlink() {
    use std::os::unix::fs::symlink;
    let links: [(&str, &str); 4] = [
        (".codex/skills/a", "elsewhere/a"),
        (ENTRY, "elsewhere/a/SKILL.md"),
        (".codex/skills/a/agents", "elsewhere/a/agents"),
        (YAML, "elsewhere/a/agents/openai.yaml"),
    ];
    for (link, target) in links {
        let home = Home::new("codex");
        home.sync(&["a"]);
        fs::rename(home.at(".codex/skills"), home.at("elsewhere")).unwrap();
        let real_parent = home.at(link).parent().unwrap().to_owned();
        fs::create_dir_all(&real_parent).unwrap();
        for (path, text) in home.files() {
            let here = path.replace("elsewhere", ".codex/skills");
            if path != target && !here.starts_with(link) {
                home.write(&here, &text);
            }
        }
        symlink(home.at(target), home.at(link)).unwrap();
        let files = home.files();
        for prompts in [&["a"][..], &[]] {
            assert!(home.plan(prompts).is_empty(), "{link}");
        }
        assert_eq!(home.files(), files, "{link}");
    }
    // The menu's folder itself.
    let home = Home::new("codex");
    fs::create_dir_all(home.at("elsewhere")).unwrap();
    fs::create_dir_all(home.at(".codex")).unwrap();
    symlink(home.at("elsewhere"), home.at(".codex/skills")).unwrap();
    assert!(home.error().contains("symlink"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_becomes_a_symlink_after_the_plan_is_not_followed() {
    for link in [".codex/skills", ".codex/skills/a", ".codex/skills/a/agents"] {
        let home = Home::new("codex");
        home.sync(&["a"]);
        let changed = MenuPrompt {
            description: "Other".to_owned(),
            ..prompt("a")
        };
        let update = MenuPlan::new(home.location(), &[changed], "library0").unwrap();
        let plans = [home.plan(&[]), update];
        fs::rename(home.at(link), home.at("elsewhere")).unwrap();
        std::os::unix::fs::symlink(home.at("elsewhere"), home.at(link)).unwrap();
        let files = home.files();
        for plan in plans {
            assert_eq!(plan.apply().errors.len(), 1, "{link}");
        }
        assert_eq!(home.files(), files, "{link}");
    }
}

#[test]
fn a_folder_that_is_a_file_is_an_error() {
    let home = Home::new("codex");
    home.write(".codex/skills", "A file.");
    assert!(home.error().contains("cannot be read"));
    let home = Home::new("codex");
    home.write(".codex", "A file.");
    assert!(home.error().contains("cannot be read"));
}

#[test]
fn files_of_the_users_in_the_folder_of_an_entry_survive_it() {
    let home = Home::new("codex");
    home.sync(&["a"]);
    home.write(".codex/skills/a/notes.md", "Notes.");
    assert!(home.plan(&["a"]).is_empty());
    assert_eq!(home.sync(&[]).removed, 1);
    assert_eq!(
        home.files(),
        [(".codex/skills/a/notes.md".to_owned(), "Notes.".to_owned())]
    );
}

#[test]
fn what_an_interrupted_write_left_is_completed() {
    for missing in [&[ENTRY][..], &[YAML], &[ENTRY, YAML]] {
        let home = Home::new("codex");
        home.sync(&["a"]);
        let files = home.files();
        for path in missing {
            fs::remove_file(home.at(path)).unwrap();
        }
        home.write(".codex/skills/a/.prompt-expander-x.tmp", "");
        assert_eq!(home.sync(&["a"]).written, 1, "{missing:?}");
        let is_temporary = |path: &str| path.ends_with(".tmp");
        let mut now = home.files();
        now.retain(|(path, _)| !is_temporary(path));
        assert_eq!(now, files);
    }
}

#[test]
fn what_an_interrupted_write_left_is_removed_if_the_prompt_is_gone() {
    let home = Home::new("codex");
    home.sync(&["a"]);
    fs::remove_file(home.at(ENTRY)).unwrap();
    home.write(".codex/skills/a/agents/.prompt-expander-x.tmp", "");
    assert_eq!(home.plan(&[]).removed(), ["a"]);
    assert_eq!(home.sync(&[]).removed, 1);
    assert!(!home.at(".codex/skills/a").exists());
}

#[test]
fn a_file_that_changes_after_the_plan_is_neither_replaced_nor_removed() {
    let home = Home::new("codex");
    home.sync(&["a"]);
    let removal = home.plan(&[]);
    let creation = home.plan(&["a", "b"]);
    append(&home, ENTRY);
    home.write(".codex/skills/b/SKILL.md", "Mine.");
    let files = home.files();
    for plan in [removal, creation] {
        assert_eq!(plan.apply().errors.len(), 1);
    }
    let mut now = home.files();
    now.retain(|(path, _)| !path.contains("b/agents"));
    assert_eq!(now, files);
}

#[test]
fn a_name_that_the_agent_has_itself_or_that_it_would_run_is_left_out() {
    for (agent, name, why) in [
        ("claude-code", "help", WhyLeft::Refused(Refused::BuiltIn)),
        ("claude-code", "Help", WhyLeft::Refused(Refused::BuiltIn)),
        ("copilot", "research", WhyLeft::Refused(Refused::BuiltIn)),
        ("qwen", "review", WhyLeft::Refused(Refused::BuiltIn)),
        ("codex", "path", WhyLeft::Refused(Refused::BuiltIn)),
        ("codex", "PATH", WhyLeft::Refused(Refused::BuiltIn)),
        ("claude-code", "a!`", WhyLeft::Refused(Refused::UnsafeName)),
        ("claude-code", "$1", WhyLeft::Refused(Refused::UnsafeName)),
        ("codex", "@file", WhyLeft::Refused(Refused::UnsafeName)),
    ] {
        let home = Home::new(agent);
        let plan = home.plan(&[name]);
        assert!(plan.is_empty(), "{name}");
        assert_eq!(plan.left_alone[0].why, why, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_symlink_to_the_menus_own_folder_takes_no_names() {
    let home = Home::new("codex");
    home.sync(&["a"]);
    fs::create_dir(home.at(".agents")).unwrap();
    std::os::unix::fs::symlink(home.at(".codex/skills"), home.at(".agents/skills")).unwrap();
    assert!(home.plan(&["a"]).is_empty());
}

#[test]
fn a_prompt_in_the_agents_own_folder_gets_no_second_entry() {
    let home = Home::new("claude-code");
    let own = MenuPrompt {
        file: Some(home.at(".claude/commands/a.md")),
        ..prompt("a")
    };
    let plan = MenuPlan::new(home.location(), &[own], "library0").unwrap();
    assert!(plan.is_empty() && plan.left_alone.is_empty());
}

#[test]
fn the_entry_of_a_prompt_whose_name_changes_its_case_is_replaced() {
    let home = Home::new("claude-code");
    home.sync(&["Review2"]);
    assert_eq!(home.sync(&["review2"]).errors, []);
    assert!(home.plan(&["review2"]).is_empty());
    assert_eq!(home.files().len(), 1);
}

#[test]
fn a_name_in_another_letter_case_is_another_entry_even_if_the_file_system_ignores_it() {
    let home = Home::new("codex");
    let location = home.location();
    let existing = ExistingEntries::read(&location, "library0").unwrap();
    home.sync(&["a"]);
    // Such a file system would find `a`, of which `existing` doesn't know.
    assert!(matches!(existing.entry("a"), Existing::Nothing));
}

#[test]
fn an_entry_that_another_process_has_removed_is_no_error() {
    let home = Home::new("codex");
    home.sync(&["a", "b"]);
    let plan = home.plan(&[]);
    fs::remove_dir_all(home.at(".codex/skills/a")).unwrap();
    fs::remove_file(home.at(".codex/skills/b/SKILL.md")).unwrap();
    assert_eq!(plan.apply().errors, []);
    assert_eq!(home.files(), []);
}

#[test]
fn a_temporary_file_of_a_killed_process_keeps_no_folder() {
    let home = Home::new("codex");
    home.sync(&["a"]);
    home.write(".codex/skills/a/.prompt-expander-x.tmp", "");
    home.sync(&[]);
    assert!(!home.at(".codex/skills/a").exists());
}

#[test]
fn a_message_names_the_prompts_without_an_entry_or_the_entries_whose_files_are_kept() {
    let home = Home::new("codex");
    home.sync(&["git/a", "git/b"]);
    let path = |name: &str| format!(".codex/skills/git-{name}/SKILL.md");
    append(&home, &path("a"));
    let kept = &home.plan(&["git/a", "git/b"]).warnings()[0];
    assert_eq!(kept.file.as_deref(), Some(&*home.at(&path("a"))));
    append(&home, &path("b"));
    home.write(&path("mine"), "Mine.");
    let plan = home.plan(&["$1", "git/a", "git/b", "git/mine", "path"]);
    let mut messages = Vec::new();
    for warning in plan.warnings() {
        assert_eq!(warning.file.as_deref(), Some(&*home.at(".codex/skills")));
        messages.push(warning.message);
    }
    let mine = home.at(&path("mine"));
    let want = [
        "`$1` gets no entry in the menu: agents would run or replace characters of such a name",
        "`path` gets no entry in the menu: Codex itself uses this name",
        "the files of `git-a` and `git-b` are left alone: somebody has changed them",
        &format!(
            "`git/mine` gets no entry in the menu: the name is taken by `{}`, which `sync` did not write",
            mine.display()
        ),
    ];
    assert_eq!(messages, want);
}

#[test]
fn a_message_names_the_settings_file_of_an_entry_of_another_library() {
    let home = Home::new("codex");
    let config = Path::new("/home/me/my config.toml");
    home.plan_of(&library_id(config), &["a"]).apply();
    let warning = &home.plan(&["a"]).warnings()[0];
    let want = "the file of `a` is left alone: `sync` wrote it for another settings file, \
                `/home/me/my config.toml`";
    assert_eq!(warning.message, want);
}

#[test]
fn processes_that_make_the_same_changes_at_once_all_succeed() {
    let home = Home::new("codex");
    let names: Vec<String> = (0..20).map(|index| format!("p{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut changed: Vec<MenuPrompt> = names.iter().map(|name| prompt(name)).collect();
    for prompt in &mut changed {
        prompt.description = "Other".to_owned();
    }
    let prompts: Vec<MenuPrompt> = names.iter().map(|name| prompt(name)).collect();
    for prompts in [&prompts[..], &changed, &changed[..5]] {
        let plan = || MenuPlan::new(home.location(), prompts, "library0").unwrap();
        std::thread::scope(|scope| {
            for plan in [plan(), plan(), plan()] {
                scope.spawn(move || assert_eq!(plan.apply().errors, []));
            }
        });
        assert!(plan().is_empty());
    }
}
