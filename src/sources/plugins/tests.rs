//! Tests of which plugins are served, and which prompts a plugin has.

use super::*;
use crate::library::Reach;
use crate::prompt::Kind;
use serde_json::{Value, json};
use std::fs;

/// The home directory and the folders of plugins of a user.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        Home { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(path)
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the list of installed plugins: the plugin `tool`, in the folder `tool`.
    fn install_tool(&self) {
        let installation = json!([{"scope": "user", "installPath": self.path("tool")}]);
        let list = json!({"plugins": {"tool@mk": installation}});
        self.put("agent/plugins/installed_plugins.json", list.to_string());
    }

    /// Returns the prompts that are served in a working folder, and the problems.
    fn listing(&self, format: &str, working_folder: &str) -> Listing {
        let path = self.path("agent/plugins");
        let root = Root::new(path, Format::by_name(format).unwrap(), Reach::Unrestricted);
        let plugins = Plugins::new(root, Layer::AGENT, Some(self.path(working_folder)));
        let listing = plugins.list();
        for found in &listing.found {
            assert!(plugins.find(&found.name).is_some(), "{}", found.name);
            assert!(found.prompt().is_ok(), "{}", found.name);
            let path = found.location().file.unwrap();
            assert_eq!(
                plugins.find_by_path(&path).unwrap().unwrap().name,
                found.name
            );
        }
        listing
    }

    fn names(&self, format: &str, working_folder: &str) -> String {
        let listing = self.listing(format, working_folder);
        assert!(listing.problems.is_empty(), "{:?}", listing.problems);
        names_of(&listing)
    }
}

fn names_of(listing: &Listing) -> String {
    let names: Vec<&str> = listing
        .found
        .iter()
        .map(|found| found.name.as_str())
        .collect();
    names.join(" ")
}

#[test]
fn a_plugin_has_the_commands_and_skills_that_claude_code_offers() {
    let nothing = json!({});
    let whole = |entry: Value| {
        let mut entry = entry;
        entry["source"] = json!("./");
        entry
    };
    for (manifest, entry, want) in [
        // Listed skills are added to the usual folder. Skills in deeper folders are not found.
        (nothing.clone(), nothing.clone(), "tool/c tool/git/d tool/s"),
        (
            json!({"skills": ["./x/a"]}),
            nothing.clone(),
            "tool/a tool/c tool/git/d tool/s",
        ),
        (
            json!({"skills": "./x"}),
            nothing.clone(),
            "tool/a tool/b tool/c tool/git/d tool/s",
        ),
        (
            json!({"skills": ["./skills/deep/e"]}),
            nothing.clone(),
            "tool/c tool/e tool/git/d tool/s",
        ),
        // Listed commands replace the usual folder.
        (
            json!({"commands": "./more/"}),
            nothing.clone(),
            "tool/m tool/s",
        ),
        (
            json!({"commands": ["./more/m.md", "./commands/c.md"]}),
            nothing.clone(),
            "tool/c tool/m tool/s",
        ),
        (
            json!({"commands": {"three": {"source": "./more/m.md"}, "c": {"source": "./commands/c.md"}}}),
            nothing.clone(),
            "tool/c tool/s tool/three",
        ),
        // The entry in the marketplace adds to the manifest or, if it is strict, replaces it.
        (
            json!({"skills": ["./x/a"]}),
            json!({"skills": ["./x/b"], "commands": ["./more"]}),
            "tool/a tool/b tool/m tool/s",
        ),
        (
            json!({"skills": ["./x/a"], "commands": ["./more"]}),
            json!({"skills": ["./x/b"], "strict": false}),
            "tool/b tool/c tool/git/d tool/s",
        ),
        // A marketplace has skills of several plugins.
        (
            nothing.clone(),
            whole(json!({"skills": ["./x/a"], "strict": false})),
            "tool/a tool/c tool/git/d",
        ),
        (
            json!({"skills": ["./x/a"]}),
            whole(json!({})),
            "tool/a tool/c tool/git/d",
        ),
        (
            nothing.clone(),
            whole(json!({})),
            "tool/c tool/git/d tool/s",
        ),
    ] {
        let home = Home::new();
        home.install_tool();
        let mut entry = entry;
        entry["name"] = json!("tool");
        let marketplace = json!({"plugins": [{"name": "other", "skills": ["./x"]}, entry]});
        home.put(
            "agent/plugins/marketplaces/mk/.claude-plugin/marketplace.json",
            marketplace.to_string(),
        );
        home.put("tool/.claude-plugin/plugin.json", manifest.to_string());
        for skill in ["skills/s", "skills/deep/e", "x/a", "x/b"] {
            home.put(&format!("tool/{skill}/SKILL.md"), "Do it.");
        }
        for command in ["commands/c", "commands/git/d", "more/m"] {
            home.put(&format!("tool/{command}.md"), "Do it.");
        }
        let names = home.names("claude-plugins", "");
        assert_eq!(names, want, "{manifest} {marketplace}");
    }
}

#[test]
fn the_list_of_a_marketplace_is_found_where_it_is_and_in_the_plugin() {
    for place in ["elsewhere", "tool"] {
        let home = Home::new();
        home.install_tool();
        let known = json!({"mk": {"installLocation": home.path("elsewhere")}});
        home.put("agent/plugins/known_marketplaces.json", known.to_string());
        home.put(
            &format!("{place}/.claude-plugin/marketplace.json"),
            r#"{"plugins": [{"name": "tool", "source": "./", "skills": ["./skills/a"]}]}"#,
        );
        home.put("tool/skills/a/SKILL.md", "Do it.");
        home.put("tool/skills/b/SKILL.md", "Do it.");
        assert_eq!(home.names("claude-plugins", ""), "tool/a", "{place}");
    }
}

#[test]
fn a_plugin_may_itself_be_a_skill() {
    for (manifest, skill, other, want) in [
        ("{}", "---\nname: fix\n---\nDo it.", "x.txt", "tool/fix"),
        ("{}", "Do it.", "x.txt", "tool/tool"),
        ("{}", "Do it.", "skills/a/SKILL.md", "tool/a"),
        (
            r#"{"skills": ["./"]}"#,
            "Do it.",
            "skills/a/SKILL.md",
            "tool/a tool/tool",
        ),
    ] {
        let home = Home::new();
        home.install_tool();
        home.put("tool/.claude-plugin/plugin.json", manifest);
        home.put("tool/SKILL.md", skill);
        home.put(&format!("tool/{other}"), "Do it.");
        assert_eq!(home.names("claude-plugins", ""), want, "{manifest} {skill}");
    }
}

#[test]
fn a_plugin_is_served_where_it_is_installed_and_enabled() {
    let disabled = r#"{"enabledPlugins": {"tool@mk": false}}"#;
    let enabled = r#"{"enabledPlugins": {"tool@mk": true}}"#;
    let with_bom = "\u{feff}{\"enabledPlugins\": {\"tool@mk\": false}}";
    for (settings, installed_in, working_folder, want) in [
        (vec![], None, "work", "tool/c"),
        (vec![("agent/settings.json", disabled)], None, "work", ""),
        (vec![("agent/settings.json", with_bom)], None, "work", ""),
        // In a repository, the settings of the folders above count, the nearest first.
        (
            vec![("work/.claude/settings.json", disabled)],
            None,
            "work/src",
            "tool/c",
        ),
        (
            vec![
                ("work/.git/HEAD", ""),
                ("work/.claude/settings.json", disabled),
            ],
            None,
            "work/src",
            "",
        ),
        (
            vec![
                ("work/.git/HEAD", ""),
                ("work/.claude/settings.json", disabled),
                ("work/src/.claude/settings.json", enabled),
            ],
            None,
            "work/src",
            "tool/c",
        ),
        (
            vec![(
                "agent/settings.json",
                r#"{"enabledPlugins": {"tool@other": false}}"#,
            )],
            None,
            "work",
            "tool/c",
        ),
        (
            vec![("work/.claude/settings.json", disabled)],
            None,
            "work",
            "",
        ),
        (
            vec![("work/.claude/settings.json", disabled)],
            None,
            "elsewhere",
            "tool/c",
        ),
        (
            vec![
                ("agent/settings.json", disabled),
                ("work/.claude/settings.json", disabled),
                ("work/.claude/settings.local.json", enabled),
            ],
            None,
            "work",
            "tool/c",
        ),
        (vec![], Some("work"), "work/src", "tool/c"),
        (vec![], Some("work"), "workshop", ""),
        (vec![], Some("gone"), "work", ""),
    ] {
        let home = Home::new();
        home.put("tool/commands/c.md", "Do it.");
        for folder in ["work/src/x", "workshop/x", "elsewhere/x"] {
            home.put(folder, "");
        }
        for (file, text) in &settings {
            home.put(file, text);
        }
        let mut installation = json!({"scope": "user", "installPath": home.path("tool")});
        if let Some(project) = installed_in {
            installation["scope"] = json!("project");
            installation["projectPath"] = json!(home.path(project));
        }
        let list = json!({"plugins": {"tool@mk": [installation]}});
        home.put("agent/plugins/installed_plugins.json", list.to_string());
        let names = home.names("claude-plugins", working_folder);
        assert_eq!(names, want, "{settings:?} {list} {working_folder}");
    }
}

#[test]
fn a_list_of_plugins_that_cannot_be_used_is_a_problem() {
    for list in ["", "{\"plugins\": {", "[]", r#"{"plugins": []}"#] {
        let home = Home::new();
        home.put("agent/plugins/cache/commands/c.md", "Do it.");
        home.put("agent/plugins/installed_plugins.json", list);
        let listing = home.listing("claude-plugins", "");
        assert_eq!(names_of(&listing), "");
        let [problem] = listing.problems.as_slice() else {
            panic!("{list}: {:?}", listing.problems);
        };
        let message = "the list of plugins is not valid, so no plugin is served: ";
        assert_eq!(problem.kind, Kind::Unreadable); // `list` warns of it
        assert!(problem.message.contains(message), "{}", problem.message);
    }
}

#[test]
fn a_file_of_plugins_that_cannot_be_used_is_named() {
    let invalid = "it is not valid JSON, so it is ignored: ";
    let manifest = "tool/.claude-plugin/plugin.json";
    let marketplace = "agent/plugins/marketplaces/mk/.claude-plugin/marketplace.json";
    for (file, text, message) in [
        ("agent/settings.json", "{", invalid),
        ("work/.claude/settings.json", "// x", invalid),
        (manifest, "", invalid),
        (marketplace, "[", invalid),
        (
            manifest,
            r#"{"commands": ["./nope.md"]}"#,
            "`commands` lists \"./nope.md\", which does not exist",
        ),
        (
            manifest,
            r#"{"skills": "../x"}"#,
            "`skills` lists \"../x\", which is not a path in the plugin",
        ),
        (
            manifest,
            r#"{"commands": {"three": {"content": "Do it."}}}"#,
            "`commands` has no `source` for `three`, so the command is ignored",
        ),
        (
            marketplace,
            r#"{"plugins": [{"name": "tool", "skills": [1]}]}"#,
            "`skills` lists 1, which is not a path in the plugin",
        ),
        (
            "agent/plugins/installed_plugins.json",
            r#"{"plugins": {"tool@mk": [{"installPath": "/none/tool"}]}}"#,
            "`installPath` of `tool@mk` is `/none/tool`, which does not exist",
        ),
    ] {
        let home = Home::new();
        home.install_tool();
        home.put("tool/x", "");
        home.put("work/x", "");
        home.put(file, text);
        let listing = home.listing("claude-plugins", "work");
        let [problem] = listing.problems.as_slice() else {
            panic!("{file} {text}: {:?}", listing.problems);
        };
        assert!(problem.message.contains(message), "{}", problem.message);
        assert_eq!(problem.file.as_deref(), Some(&*home.path(file)), "{text}");
        assert_eq!(problem.kind, Kind::Unreadable); // `list` warns of it
    }
    let home = Home::new();
    home.put("agent/plugins/extension-enablement.json", "{");
    let problems = home.listing("gemini-extensions", "").problems;
    assert!(problems[0].message.contains(invalid), "{problems:?}");
}

#[test]
fn an_extension_of_gemini_cli_is_served_where_its_rules_enable_it() {
    for (rules, working_folder, want) in [
        (vec![], "code", "tool/a"),
        (vec!["!HOME/*"], "code", ""),
        (vec!["!HOME/*"], "", ""),
        (vec!["!HOME/"], "code", "tool/a"),
        (vec!["!HOME/code/*"], "code/src", ""),
        (vec!["!HOME/code/*"], "codebook", "tool/a"),
        (vec!["!HOME/*", "HOME/code/*"], "code/src", "tool/a"),
        (vec!["HOME/code/*", "!HOME/*"], "code/src", ""),
    ] {
        let home = Home::new();
        let base = home.path("").display().to_string().replace('\\', "/");
        let base = base.trim_end_matches('/');
        let mut overrides = Vec::new();
        for rule in &rules {
            overrides.push(rule.replace("HOME", base));
        }
        home.put(
            "agent/plugins/extension-enablement.json",
            json!({"tool": {"overrides": overrides}}).to_string(),
        );
        home.put("agent/plugins/tool/commands/a.toml", "prompt = 'Do it.'");
        // A manifest of Claude Code means nothing to Gemini CLI.
        home.put(
            "agent/plugins/tool/.claude-plugin/plugin.json",
            r#"{"commands": ["./none"]}"#,
        );
        let names = home.names("gemini-extensions", working_folder);
        assert_eq!(names, want, "{rules:?} {working_folder}");
    }
}
