//! Never stale: whatever changes a prompt file, the next answer shows it, even if the file was
//! cached.
//!
//! Only files that have not changed for two seconds are cached, so these tests begin with older
//! files; `opened.rs` shows that such files are indeed cached. Each change is followed at once by
//! others of the same length, within one tick of the file system's clock.

use crate::client::{Client, settle};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// A way to change what the server shows.
struct Change {
    name: &'static str,
    /// What is asked for.
    ask: Ask,
    /// Creates the files. The answer then shows `AAAA`.
    begin: fn(&Client),
    /// Changes them. The answer then shows this text, which has the same length.
    change: fn(&Client, &str),
}

#[derive(Clone, Copy)]
enum Ask {
    /// The prompt `x`.
    Expand,
    /// The prompt `folder/x`.
    ExpandNested,
    List,
}

const fn change(
    name: &'static str,
    ask: Ask,
    begin: fn(&Client),
    change: fn(&Client, &str),
) -> Change {
    Change {
        name,
        ask,
        begin,
        change,
    }
}

/// A prompt file in which the text is both description and body.
fn file(text: &str) -> String {
    format!("---\ndescription: {text}\n---\n{text}\n")
}

fn begin(client: &Client) {
    client.write("x.md", file("AAAA"));
}

/// Begins with a file `x.md` that is a symlink to one outside.
fn begin_with_link(client: &Client) {
    client.put("target.md", file("AAAA"));
    client.link("../target.md", "prompts/x.md");
}

fn begin_in_a_folder(client: &Client) {
    client.write("folder/x.md", file("AAAA"));
}

fn begin_with_skill(client: &Client) {
    client.write("x/SKILL.md", file("AAAA"));
}

/// Replaces a folder by a new one.
fn swap(folder: &Path, fill: impl FnOnce(&Path)) {
    let (new, old) = (folder.with_extension("new"), folder.with_extension("old"));
    let _ = fs::remove_dir_all(&old);
    fs::create_dir_all(&new).unwrap();
    fill(&new);
    fs::rename(folder, &old).unwrap();
    fs::rename(&new, folder).unwrap();
}

/// Begins with a file that includes another, in which the text is.
fn begin_with_include(client: &Client) {
    client.write("x.md", "---\ninclude: true\n---\n{{> _part}}\n");
    client.write("_part.md", "AAAA");
}

const CHANGES: &[Change] = &[
    change(
        "an included file rewritten in place, of the same length",
        Ask::Expand,
        begin_with_include,
        |client, text| {
            client.write("_part.md", text);
        },
    ),
    change(
        "list: an included file replaced by rename",
        Ask::List,
        begin_with_include,
        |client, text| {
            client.save("_part.md", text);
        },
    ),
    change(
        "an included symlink that is pointed elsewhere",
        Ask::Expand,
        |client| {
            begin_with_include(client);
            fs::rename(
                client.path("prompts/_part.md"),
                client.path("prompts/_AAAA.md"),
            )
            .unwrap();
            client.link("_AAAA.md", "prompts/_part.md");
            for text in ["BBBB", "CCCC", "DDDD"] {
                client.write(&format!("_{text}.md"), text);
            }
        },
        |client, text| {
            fs::remove_file(client.path("prompts/_part.md")).unwrap();
            client.link(format!("_{text}.md"), "prompts/_part.md");
        },
    ),
    change(
        "an included file that was missing",
        Ask::Expand,
        |client| client.write("x.md", "---\ninclude: true\n---\nAAAA\n{{> _part}}\n"),
        |client, text| client.write("_part.md", text),
    ),
    change(
        "a file rewritten in place, of another length",
        Ask::Expand,
        begin,
        |client, text| {
            client.write("x.md", format!("{}\n{text}", file(text)));
        },
    ),
    change(
        "a file rewritten in place, of the same length",
        Ask::Expand,
        begin,
        |client, text| {
            client.write("x.md", file(text));
        },
    ),
    change(
        "a file replaced by rename, of the same length",
        Ask::Expand,
        begin,
        |client, text| {
            client.save("x.md", file(text));
        },
    ),
    change(
        "a modification time set back, as cp -p and rsync -t do",
        Ask::Expand,
        begin,
        |client, text| {
            let path = client.path("prompts/x.md");
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            client.write("x.md", file(text));
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(modified)
                .unwrap();
        },
    ),
    change(
        "a replacement with the modification time of what it replaces",
        Ask::Expand,
        begin,
        |client, text| {
            let path = client.path("prompts/x.md");
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            client.put("draft", file(text));
            File::options()
                .write(true)
                .open(client.path("draft"))
                .unwrap()
                .set_modified(modified)
                .unwrap();
            fs::rename(client.path("draft"), path).unwrap();
        },
    ),
    change(
        "the target of a symlink edited",
        Ask::Expand,
        begin_with_link,
        |client, text| {
            client.put("target.md", file(text));
        },
    ),
    change(
        "a symlink that is pointed elsewhere",
        Ask::Expand,
        begin_with_link,
        |client, text| {
            client.put(format!("{text}.md"), file(text));
            client.link(format!("../{text}.md"), "draft");
            fs::rename(client.path("draft"), client.path("prompts/x.md")).unwrap();
        },
    ),
    change(
        "a file edited through a hard link elsewhere",
        Ask::Expand,
        |client| {
            begin(client);
            fs::hard_link(client.path("prompts/x.md"), client.path("other.md")).unwrap();
        },
        |client, text| {
            client.put("other.md", file(text));
        },
    ),
    change(
        "a file that comes before another of its name",
        Ask::Expand,
        begin,
        |client, text| {
            client.write("x.MD", file(text));
        },
    ),
    change(
        "a folder swapped by rename",
        Ask::ExpandNested,
        begin_in_a_folder,
        |client, text| {
            swap(&client.path("prompts/folder"), |new| {
                fs::write(new.join("x.md"), file(text)).unwrap()
            });
        },
    ),
    change(
        "the whole directory swapped by rename",
        Ask::Expand,
        begin,
        |client, text| {
            swap(&client.prompts(), |new| {
                fs::write(new.join("x.md"), file(text)).unwrap()
            });
        },
    ),
    change(
        "the `SKILL.md` of a folder replaced",
        Ask::Expand,
        begin_with_skill,
        |client, text| {
            client.save("x/SKILL.md", file(text));
        },
    ),
    change(
        "a file that comes before a folder of its name",
        Ask::Expand,
        begin_with_skill,
        |client, text| {
            client.write("x.md", file(text));
        },
    ),
    change(
        "a folder of a prompt swapped by rename",
        Ask::Expand,
        begin_with_skill,
        |client, text| {
            swap(&client.path("prompts/x"), |new| {
                fs::write(new.join("SKILL.md"), file(text)).unwrap()
            });
        },
    ),
    change(
        "list: the `SKILL.md` of a folder edited",
        Ask::List,
        begin_with_skill,
        |client, text| {
            client.write("x/SKILL.md", file(text));
        },
    ),
    change(
        "list: a file that makes a folder a prompt",
        Ask::List,
        |client| {
            client.write("x/reference.md", file("AAAA"));
            begin_in_a_folder(client);
        },
        |client, text| client.write("x/SKILL.md", file(text)),
    ),
    change(
        "list: a description edited in place, of the same length",
        Ask::List,
        begin,
        |client, text| {
            client.write("x.md", file(text));
        },
    ),
    change(
        "list: a file added at the top",
        Ask::List,
        begin,
        |client, text| client.write(&format!("{text}.md"), "new"),
    ),
    change(
        "list: a file added in a new folder",
        Ask::List,
        begin,
        |client, text| {
            client.write(&format!("new/deep/{text}.md"), "new");
        },
    ),
    change(
        "list: a file in a folder edited",
        Ask::List,
        begin_in_a_folder,
        |client, text| {
            client.write("folder/x.md", file(text));
        },
    ),
    change(
        "list: the target of a symlink edited",
        Ask::List,
        begin_with_link,
        |client, text| {
            client.put("target.md", file(text));
        },
    ),
    change(
        "list: a symlink to a file that becomes one to a folder",
        Ask::List,
        |client| {
            client.put("target", "no prompt");
            client.link("../target", "prompts/linked");
            begin(client);
        },
        |client, text| {
            let target = client.path("target");
            let _ = fs::remove_file(&target).or_else(|_| fs::remove_dir_all(&target));
            fs::create_dir(&target).unwrap();
            fs::write(target.join("y.md"), file(text)).unwrap();
        },
    ),
    change(
        "a symlink to a folder, sorted before the file, that now points to a file",
        Ask::Expand,
        |client| {
            client.make_folder("target");
            client.link("../target", "prompts/x.MD");
            begin(client);
        },
        |client, text| {
            let target = client.path("target");
            let _ = fs::remove_dir(&target);
            fs::write(target, file(text)).unwrap();
        },
    ),
    change(
        "list: a broken link that now points to a folder",
        Ask::List,
        |client| {
            client.link("../nowhere/folder", "prompts/linked");
            begin(client);
        },
        |client, text| {
            let folder = client.make_folder("nowhere/folder");
            fs::write(folder.join("y.md"), file(text)).unwrap();
        },
    ),
    change(
        "list: a cycle through a symlink elsewhere that is a cycle no more",
        Ask::List,
        |client| {
            client.link("prompts", "way");
            client.link("../way", "prompts/linked");
            begin(client);
        },
        |client, text| {
            let (way, target) = (client.path("way"), client.path(text));
            fs::create_dir(&target).unwrap();
            fs::write(target.join("y.md"), file(text)).unwrap();
            fs::remove_file(&way).unwrap();
            symlink(target, way).unwrap();
        },
    ),
    change(
        "list: the folder that a symlink points to changed",
        Ask::List,
        |client| {
            client.make_folder("target");
            client.link("../target", "prompts/linked");
            begin(client);
        },
        |client, text| {
            client.put("target/y.md", file(text));
        },
    ),
    change(
        "list: a file edited through a hard link elsewhere",
        Ask::List,
        |client| {
            begin(client);
            fs::hard_link(client.path("prompts/x.md"), client.path("other.md")).unwrap();
        },
        |client, text| {
            client.put("other.md", file(text));
        },
    ),
    change(
        "list: the whole directory swapped by rename",
        Ask::List,
        begin,
        |client, text| {
            swap(&client.prompts(), |new| {
                fs::write(new.join("x.md"), file(text)).unwrap()
            });
        },
    ),
];

/// The answer as JSON text.
fn ask(client: &mut Client, ask: Ask) -> String {
    let expand =
        |name: &str| json!({"name": "expand_prompt", "arguments": {"command": name, "input": ""}});
    let params = match ask {
        Ask::Expand => expand("x"),
        Ask::ExpandNested => expand("folder/x"),
        Ask::List => json!({"name": "list_prompts"}),
    };
    client.request("tools/call", params).to_string()
}

#[test]
fn every_change_shows_in_the_next_answer_even_if_the_file_was_cached() {
    let mut clients: Vec<(Client, &Change)> = CHANGES
        .iter()
        .map(|change| (Client::new(), change))
        .collect();
    for (client, change) in &clients {
        (change.begin)(client);
    }
    for (client, _) in &clients {
        settle(client.root());
    }
    for (client, change) in &mut clients {
        for _ in 0..3 {
            let answer = ask(client, change.ask);
            let is_missing =
                change.name.ends_with("missing") && answer.contains("there is no such file");
            assert!(
                answer.contains("AAAA") || is_missing || matches!(change.ask, Ask::List),
                "{}: {answer}",
                change.name
            );
        }
        for text in ["BBBB", "CCCC", "DDDD"] {
            (change.change)(client, text);
            let answer = ask(client, change.ask);
            assert!(answer.contains(text), "{}, {text}: {answer}", change.name);
        }
    }
}

#[test]
fn a_file_that_makes_a_folder_a_prompt_changes_all_names_in_it_at_once_in_both_directions() {
    let mut client = Client::new();
    client.write("a/b/x.md", file("AAAA"));
    client.write("a/x.md", file("AAAA"));
    settle(client.root());
    for name in ["SKILL.md", "system.md", "SKILL.md"] {
        for _ in 0..3 {
            client.expand("a/b/x", "").text("AAAA");
            client.expand("a/x", "").text("AAAA");
        }
        assert_eq!(client.names(), "a/b/x a/x");
        let file = client.path("prompts/a").join(name);
        fs::write(&file, "---\ndescription: A\n---\nBBBB\n").unwrap();
        for gone in ["a/b/x", "a/x"] {
            assert!(
                client
                    .expand(gone, "")
                    .error()
                    .starts_with("No prompt named"),
                "{gone}"
            );
        }
        assert!(
            client.expand("a", "").structured()["prompt"]
                .as_str()
                .unwrap()
                .ends_with("BBBB")
        );
        assert_eq!(client.names(), "a");
        fs::remove_file(file).unwrap();
    }
    client.expand("a/b/x", "").text("AAAA");
}

/// Rust has no safe call for a memory map; without Python, nothing is tested.
#[test]
fn an_edit_through_a_memory_map_shows_once_it_is_unmapped() {
    const PROGRAM: &str = "import mmap, sys\nwith open(sys.argv[1], 'r+b') as file, mmap.mmap(file.fileno(), 0) as map:\n    \
                           map[:] = sys.argv[2].encode()";
    let mut client = Client::new();
    begin(&client);
    settle(client.root());
    for text in ["AAAA", "BBBB", "CCCC"] {
        let path = client.path("prompts/x.md");
        match Command::new("python3")
            .arg("-c")
            .arg(PROGRAM)
            .arg(path)
            .arg(file(text))
            .status()
        {
            Ok(status) => assert!(status.success()),
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => panic!("{error}"),
        }
        assert!(
            ask(&mut client, Ask::List).contains(text)
                && ask(&mut client, Ask::Expand).contains(text),
            "{text}"
        );
    }
}

#[test]
fn a_prompt_whose_folder_becomes_a_cycle_is_gone() {
    let mut client = Client::new();
    let at = |path: &str| client.path(path);
    for folder in ["one", "two"] {
        fs::create_dir(at(folder)).unwrap();
    }
    fs::write(at("two/x.md"), file("AAAA")).unwrap();
    symlink(at("two"), at("one/link")).unwrap();
    symlink(at("two"), at("two/link")).unwrap();
    symlink(at("one"), at("prompts/folder")).unwrap();
    let (folder, other) = (at("prompts/folder"), at("two"));
    settle(client.root());
    for _ in 0..3 {
        client.expand("folder/link/x", "").text("AAAA");
    }
    fs::remove_file(&folder).unwrap();
    symlink(other, folder).unwrap();
    assert!(
        client
            .expand("folder/link/x", "")
            .error()
            .starts_with("No prompt named")
    );
    client.expand("folder/x", "").text("AAAA");
}

#[test]
fn a_new_file_in_an_earlier_folder_overrides_a_cached_one() {
    let mut client =
        Client::new().arguments(["--no-builtin", "--prompts", "first", "--prompts", "prompts"]);
    client.make_folder("first");
    begin(&client);
    settle(client.root());
    for _ in 0..3 {
        client.expand("x", "").text("AAAA");
    }
    client.put("first/x.md", file("BBBB"));
    client.expand("x", "").text("BBBB");
    assert_eq!(client.list()["prompts"][0]["description"], "BBBB");
    fs::remove_file(client.path("first/x.md")).unwrap();
    client.expand("x", "").text("AAAA");
    assert_eq!(client.list()["prompts"][0]["description"], "AAAA");
}

#[test]
fn a_file_in_two_folders_of_the_library_has_a_name_a_usage_and_a_problem_in_each() {
    let mut client = Client::new().arguments([
        "--no-builtin",
        "--prompts",
        "prompts",
        "--prompts",
        "prompts/git",
    ]);
    client.write(
        "git/a.md",
        "---\ndescription: A\narguments: [{name: x, required: true}]\n---\n{{x}}\n",
    );
    client.write("git/b.md", b"\xff");
    settle(client.root());
    for _ in 0..3 {
        let list = client.list();
        let usages: Vec<&Value> = list["prompts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|prompt| &prompt["usage"])
            .collect();
        assert_eq!(usages, [":a x=…", ":git/a x=…"], "{list}");
        let files: Vec<&Value> = list["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| &problem["file"])
            .collect();
        assert_eq!(files, ["git/b.md", "git/b.md"], "{list}");
        for name in ["a", "git/a"] {
            assert!(
                client
                    .expand(name, "")
                    .error()
                    .contains(&format!("`:{name} x=…`"))
            );
            client.expand(name, "text").text("text");
        }
    }
}

#[test]
fn hundreds_of_changes_within_one_tick_of_the_clock_all_show() {
    let mut client = Client::new().prompt("x.md", file("0000"));
    for round in 0..400 {
        let text = format!("{round:04}");
        if round % 2 == 0 {
            client.write("x.md", file(&text))
        } else {
            client.save("x.md", file(&text))
        }
        assert!(
            ask(
                &mut client,
                if round % 4 < 2 {
                    Ask::Expand
                } else {
                    Ask::List
                }
            )
            .contains(&text),
            "{round}"
        );
    }
}

#[test]
fn thousands_of_prompts_and_problems_are_listed_in_order_and_every_change_shows_in_the_next_list() {
    let mut client = Client::new();
    let name = |number: usize| format!("{number:04}.md");
    for number in 0..2_500 {
        fs::write(
            client.prompts().join(name(number)),
            file(&format!("A {number}")),
        )
        .unwrap();
    }
    let broken = [0, 17, 1_249, 1_250, 2_499];
    for number in broken {
        fs::write(client.prompts().join(name(number)), b"\xff").unwrap();
    }
    settle(client.root());
    let mut want: Vec<(String, String)> = (0..2_500)
        .filter(|number| !broken.contains(number))
        .map(|number| (format!("{number:04}"), format!("A {number}")))
        .collect();
    let listed = |client: &mut Client| -> Vec<(String, String)> {
        let list = client.list();
        let problems: Vec<&str> = list["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| problem["file"].as_str().unwrap())
            .collect();
        assert_eq!(problems, broken.map(name));
        let text = |prompt: &Value, key: &str| prompt[key].as_str().unwrap().to_owned();
        let prompts = list["prompts"].as_array().unwrap().iter();
        prompts
            .map(|prompt| (text(prompt, "name"), text(prompt, "description")))
            .collect()
    };
    for changed in [None, Some(1), Some(1_248), Some(1_251), Some(2_498)] {
        if let Some(number) = changed {
            let name = format!("{number:04}");
            let description = format!("B {number}");
            fs::write(
                client.prompts().join(format!("{name}.md")),
                file(&description),
            )
            .unwrap();
            want.iter_mut().find(|(known, _)| *known == name).unwrap().1 = description;
        }
        assert!(listed(&mut client) == want, "{changed:?}");
    }
    let found = client
        .call("list_prompts", json!({"query": "B", "limit": 2}))
        .structured();
    assert_eq!(
        found["prompts"],
        json!([{"name": "0001", "description": "B 1"}, {"name": "1248", "description": "B 1248"}])
    );
}
