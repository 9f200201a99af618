//! Prompts as skills over MCP (SEP-2640), in both eras: `skills/list`, `skills/get`, and the files
//! in `resources/read`.

use crate::client::{Client, LEGACY, modern};
use prompt_expander::prompt::Revision;
use serde_json::{Value, json};

const CAPABILITY: &str = "io.modelcontextprotocol/skills";

/// A version of the protocol, from the point of view of a client.
struct Era {
    /// The params of a request.
    params: fn(Value) -> Value,
    /// The code of the error for an unknown resource.
    unknown_resource: i32,
}

const ERAS: [Era; 2] = [
    Era {
        params: |params| params,
        unknown_resource: -32002,
    },
    Era {
        params: modern,
        unknown_resource: -32602,
    },
];

/// A client whose program serves skills.
fn client() -> Client {
    let client = Client::new()
        .prompt("git/commit.md", "Commit {{input}}.")
        .prompt("git-commit.md", "---\narguments: [a]\n---\nSay $1 {{a}}.")
        .prompt("broken.md", "---\n")
        .prompt("folder/SKILL.md", "Run script.sh.");
    client.put(".claude/commands/agents.md", "Of an agent");
    client.put(".prompts/untrusted.md", "Of a project");
    client.arguments([
        "serve",
        "--skills",
        "--prompts",
        "prompts",
        "--from-agents",
        "--page-size",
        "2",
    ])
}

/// The capabilities that the server declares in each era.
fn capabilities(client: &mut Client) -> [Value; 2] {
    let legacy = client.shake_hands(LEGACY)["capabilities"].take();
    let modern = client.result("server/discover", modern(json!({})))["capabilities"].take();
    [legacy, modern]
}

#[test]
fn each_prompt_that_is_listed_is_a_skill_that_can_be_read() {
    let mut client = client();
    for declared in capabilities(&mut client) {
        assert_eq!(declared["extensions"], json!({ CAPABILITY: {} }));
    }
    for Era {
        params,
        unknown_resource,
    } in ERAS
    {
        let list = client.result("skills/list", params(json!({})));
        let skills = list["skills"].as_array().unwrap();
        assert_eq!(skills.len(), 2);
        let hash = Revision::of_contents(b"git/commit").short();
        for (skill, name, hint, text) in [
            (
                &skills[0],
                "git-commit".to_owned(),
                "[a]",
                "Call the tool `expand_prompt` with `git-commit` as `command` and the text below \
                 as `input`, and do what it returns:\n$ARGUMENTS\n",
            ),
            (
                &skills[1],
                format!("git-commit-{hash}"),
                "[input]",
                "Commit $ARGUMENTS.\n",
            ),
        ] {
            let uri = format!("skill://{name}/SKILL.md");
            assert_eq!(skill["uri"], *uri);
            assert_eq!(skill["frontmatter"]["name"], *name);
            assert_eq!(skill["frontmatter"]["argument-hint"], hint);
            let read = client.result("resources/read", params(json!({ "uri": uri })));
            let content = &read["contents"][0];
            assert_eq!(content["uri"], *uri);
            assert_eq!(content["mimeType"], "text/markdown");
            let content = content["text"].as_str().unwrap();
            assert!(
                content.starts_with(&format!("---\nname: {name}\n")),
                "{content}"
            );
            assert!(content.ends_with(text), "{content}");
            let file = &skill["resources"][0];
            assert_eq!(file["size"], content.len());
            let start = format!("sha256:{}", Revision::of_contents(content.as_bytes()));
            assert!(file["digest"].as_str().unwrap().starts_with(&start));
            let got = client.result("skills/get", params(json!({ "uri": uri })));
            assert_eq!(got["skill"], *skill);
            // Only the modern era has these members.
            for result in [&list, &got, &read] {
                assert_eq!(result.get("ttlMs").is_some(), unknown_resource == -32602);
            }
        }
        // The next page has the prompts of this program.
        let cursor = list["nextCursor"].as_str().unwrap();
        let next = client.result("skills/list", params(json!({ "cursor": cursor })));
        assert_eq!(next["skills"][0]["uri"], "skill://commit/SKILL.md");
        for path in [
            "broken/SKILL.md",
            "folder/SKILL.md",
            "agents/SKILL.md",
            "untrusted/SKILL.md",
            "git-commit",
            "git/commit/SKILL.md",
        ] {
            let uri = format!("skill://{path}");
            let error = client.request("skills/get", params(json!({ "uri": uri })));
            assert_eq!(error["error"]["code"], -32602);
            assert_eq!(error["error"]["data"], json!({ "uri": uri }));
            let error = client.request("resources/read", params(json!({ "uri": uri })));
            assert_eq!(error["error"]["code"], unknown_resource);
        }
    }
}

#[test]
fn without_the_setting_there_are_no_skills() {
    let mut client = Client::new().prompt("a.md", "A");
    for declared in capabilities(&mut client) {
        assert!(declared.get("extensions").is_none());
    }
    let uri = json!({"uri": "skill://a/SKILL.md"});
    for Era {
        params,
        unknown_resource,
    } in ERAS
    {
        for (method, code) in [
            ("skills/list", -32601),
            ("skills/get", -32601),
            ("resources/read", unknown_resource),
        ] {
            let answer = client.request(method, params(uri.clone()));
            assert_eq!(answer["error"]["code"], code, "{method}");
        }
    }
}

#[test]
fn the_settings_file_turns_skills_on() {
    let client = Client::new();
    client.put("config.toml", "skills = true\n");
    let mut client = client.arguments(["--config", "config.toml"]);
    for declared in capabilities(&mut client) {
        assert_eq!(declared["extensions"], json!({ CAPABILITY: {} }));
    }
}
