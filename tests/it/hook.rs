//! `hook`: what it answers an agent, and that it never blocks a prompt.
//!
//! What the agents do with the answer is in `docs/clients`.

use crate::client::{Client, Ran, assert_contains};
#[cfg(unix)]
use crate::readme::{blocks, shell};
use crate::readme::{page, table};
use prompt_expander::agents::Agent;
use prompt_expander::hook::{MAX_LOOKUPS, MAX_PROMPTS};
use prompt_expander::prompt::MenuMark;
use serde_json::{Value, json};
#[cfg(unix)]
use std::process::Stdio;

const LIBRARY: [&str; 3] = ["--no-builtin", "--prompts", "prompts"];

const COMPARE: &str = "---\narguments: [{name: options, required: true}, {name: criteria, default: cost}]\n---\n\
                       {{options}} by {{criteria}}";

/// A home with these prompts, for commands that begin with `hook`.
fn client() -> Client {
    let client = Client::new()
        .arguments([])
        .prompt("research.md", "Topic: {{input}}")
        .prompt("compare.md", COMPARE);
    client
        .prompt("git/commit.md", "Commit.")
        .prompt("smile.md", "Smile.")
        .prompt("broken.md", "---\n")
}

fn event(name: &str, prompt: &str) -> String {
    json!({"session_id": "1", "cwd": "/", "hook_event_name": name, "prompt": prompt}).to_string()
}

fn hook(client: &Client, name: &str, stdin: impl AsRef<[u8]>) -> Ran {
    client.run([&["hook", name], &LIBRARY[..]].concat(), stdin)
}

/// The context that Codex gets for a prompt.
#[track_caller]
fn context(client: &Client, prompt: &str) -> Option<String> {
    context_for(client, "codex", "UserPromptSubmit", prompt)
}

/// Returns the context that an agent gets for a prompt. Any answer is one line of JSON.
#[track_caller]
fn context_for(client: &Client, name: &str, event_name: &str, prompt: &str) -> Option<String> {
    let ran = hook(client, name, event(event_name, prompt));
    assert_eq!(
        (ran.status.code(), ran.stderr.as_str()),
        (Some(0), ""),
        "{prompt:?}"
    );
    let line = ran.stdout.strip_suffix('\n')?;
    assert!(!line.contains('\n'), "{line}");
    let mut answer: Value = serde_json::from_str(line).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"]
        .take()
        .as_str()
        .unwrap()
        .to_owned();
    let rest =
        json!({"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": null}});
    assert_eq!(answer, rest);
    Some(context)
}

/// The part of a context for one command.
fn part(typed: &str, expansion: &str) -> String {
    let typed = if typed.contains('`') {
        format!("`` {typed} ``")
    } else {
        format!("`{typed}`")
    };
    format!(
        "In the user's message, {typed} is short for the text below, from a prompt file that the user wrote or chose. Read \
         the message as if it contained that text in full, and do what it says; there is no need to call expand_prompt.\n\n\
         {expansion}\n\n(End of the text for {typed}.)"
    )
}

#[test]
fn each_agent_gets_the_expansion_in_an_answer_to_its_own_event() {
    let client = client();
    let want = Some(part(
        ":research solid-state batteries",
        "Topic: solid-state batteries",
    ));
    for (name, event_name) in [
        ("codex", "UserPromptSubmit"),
        ("claude-code", "UserPromptSubmit"),
        ("gemini", "BeforeAgent"),
        ("gemini-cli", "BeforeAgent"),
        ("qwen", "UserPromptSubmit"),
        ("opencode", "chat.message"),
    ] {
        assert_eq!(
            context_for(&client, name, event_name, ":research solid-state batteries"),
            want,
            "{name}"
        );
    }
    hook(&client, "gemini", event("UserPromptSubmit", ":research x")).printed("");
    hook(&client, "codex", event("BeforeAgent", ":research x")).printed("");
    let before_the_name = [&LIBRARY[..], &["hook", "codex"]].concat();
    let ran = client.run(before_the_name, event("UserPromptSubmit", ":research x"));
    assert!(
        ran.status.success() && ran.stdout.contains("Topic: x") && ran.stderr.is_empty(),
        "{ran:?}"
    );
}

#[test]
fn the_text_is_that_of_the_tool_byte_for_byte() {
    let body = "# T\r\n\n<a> & \"q\" \\ \t {{ .Values.x }}\n{{input}}\n  end ";
    let mut client = Client::new().prompt("odd.md", body);
    let input = "a \"b\" {{input}}\n\n  <c>\u{1b}[31m 日本";
    let ran = client.run(
        ["hook", "codex"],
        event("UserPromptSubmit", &format!(":odd {input}")),
    );
    let answer = ran.json();
    let context = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    let expanded = client.expand("odd", input).structured();
    assert_contains(
        context,
        &format!("\n\n{}\n\n(End of", expanded["prompt"].as_str().unwrap()),
    );
}

#[test]
fn gemini_gets_a_note_that_angle_brackets_may_be_escaped() {
    let client = client();
    let note = "Angle brackets in it may show as `&lt;` and `&gt;`.";
    let has_note = |name, event_name| {
        context_for(&client, name, event_name, ":research a <b>")
            .unwrap()
            .contains(note)
    };
    assert!(has_note("gemini", "BeforeAgent") && !has_note("codex", "UserPromptSubmit"));
    assert!(
        !context_for(&client, "gemini", "BeforeAgent", ":research a")
            .unwrap()
            .contains(note)
    );
}

/// Writes the entry of a prompt into an agent's menu, as `sync` does.
fn put_entry(client: &Client, folder: &str, name: &str, prompt: &str) {
    let mark = MenuMark {
        version: "0.2.0".to_owned(),
        hash: "9f86d081".to_owned(),
        library: "3f2a9c0d".to_owned(),
        prompt: prompt.to_owned(),
    };
    let text = format!("---\nname: {name}\n{}---\nA line.\n", mark.to_yaml());
    client.put(format!("{folder}/{name}/SKILL.md"), text);
}

#[test]
fn an_entry_of_the_agents_menu_invokes_its_prompt_with_the_sign_of_that_menu() {
    let client = client().prompt("style.md", "Short sentences.");
    for folder in [".codex/skills", ".claude/skills"] {
        for name in ["research", "compare", "style", "gone"] {
            put_entry(&client, folder, name, name);
        }
        put_entry(&client, folder, "git-commit", "git/commit");
    }
    let entry = std::fs::read_to_string(client.path(".codex/skills/research/SKILL.md")).unwrap();
    client.put(".config/opencode/commands/research.md", entry);
    client.put(
        ".codex/skills/smile/SKILL.md",
        "---\nname: smile\n---\nMine.\n",
    );
    let of = |name: &str, message: &str| context_for(&client, name, "UserPromptSubmit", message);
    for (name, typed, expansion) in [
        ("codex", "$research a \"b  c\" d", "Topic: a \"b  c\" d"),
        ("codex", "$git-commit now", "Commit.\n\nnow"),
        ("codex", "$compare criteria=speed x y", "x y by speed"),
        (
            "claude-code",
            "/research a \"b  c\" d",
            "Topic: a \"b  c\" d",
        ),
    ] {
        assert_eq!(of(name, typed), Some(part(typed, expansion)), "{typed}");
    }
    let of_opencode = |message: &str| context_for(&client, "opencode", "chat.message", message);
    let want = part("/research a b", "Topic: a b");
    assert_eq!(of_opencode("/research a b"), Some(want));
    assert_eq!(of_opencode("Use /research."), None);
    for (name, message) in [("codex", "Use $style."), ("claude-code", "Use /style.")] {
        assert_contains(
            &of(name, message).unwrap(),
            "style` stands for the text below",
        );
    }
    assert_contains(
        &of("codex", "$compare critera=b a").unwrap(),
        "Tell the user first: `critera=b` is treated as text; did you mean `criteria=`?",
    );
    let both = of("codex", "$git-commit now\n:git/commit now").unwrap();
    assert_eq!(both.matches("(End of the text").count(), 1, "{both}");
    for (name, message) in [
        ("codex", "$smile x"),
        ("codex", "$gone x"),
        ("codex", "$reserch x"),
        ("codex", "$git/commit x"),
        ("codex", "$../skills/research x"),
        ("codex", "$HOME/x and $1"),
        ("codex", "/research x"),
        ("claude-code", "/smile x"),
        ("claude-code", "/help"),
        ("claude-code", "/usr/bin/env x"),
    ] {
        assert_eq!(of(name, message), None, "{name}: {message}");
    }
    let long = client.prompt("git/commit.md", "x".repeat(10_000));
    assert_contains(
        &context_for(&long, "claude-code", "UserPromptSubmit", "/git-commit a").unwrap(),
        "`/git-commit a` is short for a stored prompt, whose text is longer than this agent accepts from a hook. Before you \
         answer, call the tool expand_prompt with the name `git/commit`, and the text after it",
    );
}

#[test]
fn a_prompt_of_the_server_in_the_menu_of_claude_code_gets_all_words() {
    let client = client();
    let of = |message: &str| context_for(&client, "claude-code", "UserPromptSubmit", message);
    let note = "The message has another copy of this text, in which words of the user are missing. Ignore that copy.";
    for (typed, expansion) in [
        ("/mcp__prompts__research a \"b  c\"", "Topic: a \"b  c\""),
        ("/mcp__prompts__git/commit now, all", "Commit.\n\nnow, all"),
        (
            "/mcp__plugin_prompt-expander_prompts__compare criteria=a b",
            "b by a",
        ),
    ] {
        let want = format!("{}\n\n{note}", part(typed, expansion));
        assert_eq!(of(typed), Some(want), "{typed}");
    }
    for typed in [
        "/mcp__prompts__research",
        "/mcp__prompts__research one",
        "/mcp__prompts__nothing a b",
        "/mcp__other__research a b",
    ] {
        assert_eq!(of(typed), None, "{typed}");
    }
}

#[test]
fn a_prompt_without_a_command_that_exists_has_no_answer() {
    let client = client();
    for prompt in [
        "",
        "Please :comparing this",
        "Please (:compare) this",
        "a\n:reserch this",
        "Please :reserch this",
        ":../prompts/research x",
        ":git x",
        ":research\\x",
    ] {
        assert_eq!(context(&client, prompt), None, "{prompt:?}");
    }
}

#[test]
fn each_text_of_a_stack_and_of_mentions_is_named_in_the_order_of_the_message() {
    let client = client()
        .prompt("style.md", "Short sentences.")
        .prompt("quiet.md", "---\nmention: false\n---\nQuiet.")
        .prompt(
            "rate.md",
            "---\narguments: [{name: by, default: speed}]\n---\nRate by {{by}}: {{input}}",
        );
    let mention = |name: &str, text: &str| {
        format!(
            "In the user's message, `:{name}` stands for the text below, from a prompt file that the user wrote or chose. The \
             message says what to do with that text; there is no need to call expand_prompt.\n\n{text}\n\n\
             (End of the text for `:{name}`.)"
        )
    };
    let (style, commit) = (
        mention("style", "Short sentences."),
        mention("git/commit", "Commit."),
    );
    for (prompt, want) in [
        (
            "By :style, (:git/commit) and :style.",
            vec![style.clone(), commit],
        ),
        ("Then :rate it", vec![mention("rate", "Rate by speed: ")]),
        (
            ":research :rate it",
            vec![
                part(":research it", "Topic: it"),
                part(":rate it", "Rate by speed: it"),
            ],
        ),
        (
            "My :style\n:research a :quiet day, :compare it",
            vec![
                style.clone(),
                part(
                    ":research a :quiet day, :compare it",
                    "Topic: a :quiet day, :compare it",
                ),
            ],
        ),
        (
            ":style\nand :style",
            vec![part(":style and :style", "Short sentences.\n\nand :style")],
        ),
        (
            "See :style\n:style",
            vec![part(":style", "Short sentences.")],
        ),
        (":quiet", vec![part(":quiet", "Quiet.")]),
    ] {
        assert_eq!(
            context(&client, prompt),
            Some(want.join("\n\n")),
            "{prompt}"
        );
    }
    let told = context(&client, "See :broken.").unwrap();
    assert!(
        told.contains("`:broken` names a stored prompt that cannot be read")
            && told.contains("Tell the user"),
        "{told}"
    );
}

/// The built-in prompts have the names of everyday symbols. Here each line of a program has one.
#[test]
fn a_built_in_prompt_is_only_a_command_and_never_a_symbol_of_a_program() {
    let client = client();
    let names = |prompt: &str| {
        let ran = client.run(["hook", "codex"], event("UserPromptSubmit", prompt));
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        let parts = ran.stdout.split("In the user's message, `:").skip(1);
        let of_builtin = parts
            .filter(|part| part.contains(" short for the text below, from a built-in prompt. "));
        let name = |part: &str| part.split(['`', ' ']).next().unwrap_or_default().to_owned();
        let names: Vec<String> = of_builtin.map(name).collect();
        assert_eq!(names.is_empty(), ran.stdout.is_empty(), "{prompt}: {ran:?}");
        names.join(" ")
    };
    for text in [
        "level: :debug",
        "See :review.",
        "gem 'x', group: [:development, :test]",
        "transition :draft => :review",
        "(member x xs :test #'equal)",
        "{:aliases\n {:dev {}\n  :test {:extra-paths [\"t\"]}}}",
        ":test {:extra-paths [\"t\"]}",
        "x\n:test {:extra-paths [\"t\"]}",
        ":debug => true",
        ":test #'equal)",
        ":test ,\n:debug,",
        ":plan :test #'equal)",
        "  :debug config/dev?",
        "   :test 'equal))",
        "\n :commit\n",
    ] {
        assert_eq!(names(text), "", "{text}");
    }
    for (text, want) in [
        (":summarize [the report](https://x.org/a)", "summarize"),
        (":explain {\"a\":1}", "explain"),
        (":research (solid state) batteries", "research"),
        (":review, please", "review"),
        ("Look:\n:review :critique it,\nand this: =>", ""),
        (
            "Look:\n:review :critique it\nand this: =>,",
            "review critique",
        ),
        (":test => 1\n:test the parser\nas in :test", "test"),
    ] {
        assert_eq!(names(text), want, "{text}");
    }
    put_entry(&client, ".codex/skills", "plan", "plan");
    let ran = client.run(
        ["hook", "codex"],
        event("UserPromptSubmit", "$plan a trip,"),
    );
    let want = "`$plan a trip,` is short for the text below, from a built-in prompt.";
    assert_contains(&ran.stdout, want);
    let client = client.prompt("test.md", "Mine: {{input}}");
    for text in ["level: :test", "  :test 'equal", ":test => 1"] {
        let ran = client.run(
            ["hook", "codex", "--prompts", "prompts"],
            event("UserPromptSubmit", text),
        );
        let framed = ran
            .stdout
            .contains("from a prompt file that the user wrote or chose");
        assert!(framed, "{text}: {ran:?}");
    }
}

#[test]
fn a_misspelled_name_at_the_start_of_a_message_is_asked_about_in_one_line() {
    let client = client()
        .prompt("summarize.md", "S")
        .prompt("set-up.md", "S")
        .prompt("a/fix.md", "A")
        .prompt("b/fix.md", "B");
    for (typed, meant) in [
        (":reserch x", "`:research`"),
        ("\n  :RESEARCH, x\n:unknown", "`:research`"),
        (":sumarise", "`:summarize`"),
        (":git:comit", "`:git/commit`"),
        (":fix it", "`:a/fix` or `:b/fix`"),
        (":smlie", "`:smile`"),
    ] {
        let answer = hook(&client, "codex", event("UserPromptSubmit", typed)).json();
        let name = typed
            .trim()
            .trim_start_matches(':')
            .split([' ', ','])
            .next()
            .unwrap();
        let question = format!("no prompt is named `{name}`; did you mean {meant}?");
        assert_eq!(answer["systemMessage"], question);
        let context = format!(
            "The user's message begins with `:{name}`, but {question} Ask the user this first, unless it is clear that no \
             command was meant."
        );
        assert_eq!(answer["hookSpecificOutput"]["additionalContext"], context);
    }
    for typed in [
        ":unknown x",
        ":rsrch x",
        ":sumaris",
        ":set number",
        ":D smile",
        ":DD",
        ":fx",
        ":smile: x",
        ":smle: x",
        ":+1: research",
        ":-)",
        ":10:30",
        ":::",
        ":wq",
        ":smi(le",
        "x\n:smlie",
        "```\n:smlie\n```",
        "> :smlie",
        "    :smlie",
        "See :smlie",
    ] {
        hook(&client, "codex", event("UserPromptSubmit", typed)).printed("");
    }
    let both = hook(
        &client,
        "codex",
        event("UserPromptSubmit", ":smlie and :smile\n:research y"),
    )
    .stdout;
    let order = ["`:smile` stands for", "Topic: y", "did you mean `:smile`?"]
        .map(|part| both.find(part).unwrap());
    assert!(order.is_sorted(), "{both}");
}

#[test]
fn the_last_part_of_a_name_is_enough_for_a_command_if_it_is_the_only_one_of_ones_own() {
    let client = Client::new()
        .arguments([])
        .prompt("a/xlsx.md", "Sheet: {{input}}")
        .prompt("a/doc.md", "A")
        .prompt("b/doc.md", "B");
    client.put(".claude/commands/team/pr.md", "Request: $ARGUMENTS");
    client.put("repo/.git/HEAD", "");
    client.put("repo/.prompts/ops/deploy.md", "Deploy.");
    let run = |typed: &str| {
        let line = "hook codex --no-builtin --from-agents --project --prompts prompts";
        let cwd = client.path("repo");
        let event =
            json!({"cwd": cwd, "hook_event_name": "UserPromptSubmit", "prompt": typed}).to_string();
        client.run(line.split(' '), event).stdout
    };
    for (typed, parts) in [
        (":xlsx sums", &["Sheet: sums"][..]),
        ("Look.\n:xlsx :pr sums", &["Sheet: sums", "Request: sums"]),
        (":doc x", &["did you mean `:a/doc` or `:b/doc`?"]),
        (":deploy x", &["did you mean `:ops/deploy`?"]),
    ] {
        let answer = run(typed);
        assert!(
            parts.iter().all(|part| answer.contains(part)),
            "{typed}: {answer}"
        );
    }
    for typed in ["See :xlsx.", "See\n:deploy", ":Xlsx-x"] {
        assert_eq!(run(typed), "", "{typed}");
    }
    let expanded = client
        .words("--no-builtin --prompts prompts expand xlsx sums")
        .stdout;
    assert_eq!(expanded, "Sheet: sums\n");
    client
        .words("--no-builtin --prompts prompts expand doc sums")
        .says(1, &["did you mean `a/doc` or `b/doc`?"]);
}

#[test]
fn a_command_that_exists_and_cannot_be_expanded_says_why() {
    let client = client();
    assert_eq!(
        context(&client, ":compare criteria=speed").unwrap(),
        "In the user's message, `:compare criteria=speed` is short for a stored prompt that cannot be expanded: it needs a value \
         for `options`; write `:compare options=… [criteria=…]`. Tell the user this; expand_prompt would say the same."
    );
    let broken = context(&client, ":broken x").unwrap();
    let place = std::path::absolute(client.prompts())
        .unwrap()
        .join("broken.md")
        .display()
        .to_string();
    let begin = format!(
        "In the user's message, `:broken x` names a stored prompt that cannot be read. {place}:1:1: the front"
    );
    assert!(
        broken.starts_with(&begin) && broken.contains("; "),
        "{broken}"
    );
    assert!(
        broken.ends_with(". Tell the user this; the command works once the file is saved."),
        "{broken}"
    );
    client.put("broken.toml", "a = ");
    let event = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":broken"}"#;
    let said = client
        .run(["hook", "codex", "--config", "broken.toml"], event)
        .stdout;
    assert!(
        said.contains("restart the agents") && said.contains(". Tell the user this.\""),
        "{said}"
    );
}

#[test]
fn the_user_is_told_of_a_misspelled_name_of_an_argument() {
    let told = context(&client(), ":compare options=a critera=b").unwrap();
    assert_contains(&told, "\n\na critera=b by cost\n\n");
    assert!(
        told.ends_with(
            "Tell the user first: `critera=b` is treated as text; did you mean `criteria=`?"
        ),
        "{told}"
    );
}

#[test]
fn the_user_is_told_of_a_word_that_the_prompt_does_not_use_in_each_interface() {
    let library = "--no-builtin --prompts claude:claude --prompts codex:codex";
    let mut client = Client::new().arguments(library.split(' '));
    let hint = "---\nargument-hint: x\n---\n";
    client.put("claude/pr.md", format!("{hint}Review PR $1"));
    client.put("claude/whole.md", format!("{hint}Do $ARGUMENTS with $1"));
    client.put("codex/fix.md", "Fix $2");
    let line = format!("hook codex {library}");
    for (typed, want) in [
        (
            ":pr 42",
            "Tell the user first: the word `42` is not used, because `pr` has no `$0`, which is the first word in Claude Code; \
             add `$0` to the file, or correct the other numbers in it",
        ),
        (
            ":fix a b",
            "Tell the user first: the word `a` is not used, because `fix` has no `$1`, which is the first word; add `$1` to the \
             file, or correct the other numbers in it",
        ),
    ] {
        let ran = client.run(line.split(' '), event("UserPromptSubmit", typed));
        assert_contains(&ran.stdout, want);
        let (command, input) = typed[1..].split_once(' ').unwrap();
        let result = client.expand(command, input).structured();
        assert_eq!(result["note"], want);
    }
    let all_values = json!({"name": "pr", "arguments": {"0": "42"}});
    let result = client.result("prompts/get", all_values);
    let texts: Vec<&Value> = result["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["content"]["text"])
        .collect();
    let want = "Tell the user first: the value of `0` is not in the expansion, because `pr` has no placeholder `$0`; add it \
                to the file, or leave out the value";
    assert_eq!(texts, ["Review PR ", want]);
    let ran = client.run(line.split(' '), event("UserPromptSubmit", ":whole a b"));
    assert_contains(&ran.stdout, "Do a b with b");
    assert!(
        !ran.stdout.contains("Tell the user first"),
        "{}",
        ran.stdout
    );
}

#[test]
fn only_the_first_of_many_commands_are_expanded_and_the_context_says_so() {
    let client = client();
    let commands = |count: usize| {
        (0..count)
            .map(|number| format!(":research {number}\n"))
            .collect::<String>()
    };
    let all = context(&client, &commands(MAX_PROMPTS)).unwrap();
    let parts: Vec<String> = (0..MAX_PROMPTS)
        .map(|n| part(&format!(":research {n}"), &format!("Topic: {n}")))
        .collect();
    assert_eq!(all, parts.join("\n\n"));
    let more = context(&client, &commands(MAX_PROMPTS + 1)).unwrap();
    assert_eq!(
        more.strip_prefix(&all).unwrap(),
        "\n\nOnly the first 8 prompts of the message are expanded here. Left out: `:research`. For each of them, call the tool \
         expand_prompt before you answer."
    );
    let sentence: String = ('a'..='z').map(|letter| format!(" :p-{letter}")).collect();
    let many = ('a'..='z').fold(client, |client, letter| {
        client.prompt(&format!("p-{letter}.md"), letter.to_string())
    });
    let told = context(&many, &format!("See{sentence}")).unwrap();
    assert_eq!(told.matches("(End of the text for").count(), MAX_PROMPTS);
    assert_contains(
        &told,
        "Left out: `:p-i`, `:p-j`, `:p-k`, `:p-l`, `:p-m`, `:p-n`, `:p-o` and `:p-p` (10 more are not named here).",
    );
}

#[test]
fn an_expansion_over_the_limit_of_the_agent_is_left_to_the_tool() {
    let too_long = "is short for a stored prompt, whose text is longer than this agent accepts from a hook. Before you \
                    answer, call the tool expand_prompt";
    let begun = part(":long", "").len();
    for (name, event_name, letter, limit) in [
        ("codex", "UserPromptSubmit", "é", (1_000_000 - begun) / 2),
        ("claude-code", "UserPromptSubmit", "é", 10_000 - begun),
        (
            "claude-code",
            "UserPromptSubmit",
            "😀",
            (10_000 - begun) / 2,
        ),
        ("gemini", "BeforeAgent", "x", 1_000_000 - begun),
    ] {
        let of = |letters: usize| {
            let client = Client::new()
                .arguments([])
                .prompt("long.md", letter.repeat(letters))
                .prompt("b.md", "B");
            context_for(&client, name, event_name, ":long\n:long\n").unwrap()
        };
        assert_eq!(
            of(limit),
            part(":long", &letter.repeat(limit)),
            "{name} {letter}"
        );
        assert!(
            of(limit + 1).contains(too_long) && of(limit + 1).len() < 500,
            "{name} {letter}"
        );
    }

    // One that does not fit leaves room for the next, and all together stay within the limit.
    let client = client().prompt("long.md", "x".repeat(9_000));
    let message = ":long a\n:research b\n:long c\n:long d\n";
    let both = context_for(&client, "claude-code", "UserPromptSubmit", message).unwrap();
    assert!(
        both.len() <= 10_000 && both.contains(&part(":research b", "Topic: b")),
        "{both}"
    );
    assert_eq!(
        (
            both.matches(too_long).count(),
            both.matches("xxx\n\na\n\n(End").count()
        ),
        (3, 0),
        "{both}"
    );

    let pasted = format!(":research {}", "word ".repeat(200_000));
    assert!(context(&client, &pasted).unwrap().contains(too_long));
}

#[test]
fn a_mention_over_the_limit_is_called_without_input() {
    let client = client().prompt("long.md", "x".repeat(10_000));
    let context = context_for(&client, "claude-code", "UserPromptSubmit", "By :long");
    assert_eq!(
        context.unwrap(),
        "In the user's message, `:long` stands for a stored prompt, whose text is longer than this agent accepts from a hook. \
         Before you answer, call the tool expand_prompt with this name, and an empty text as `input`. The message says what to \
         do with the text that it returns. If there is no such tool, tell the user that the prompt is too long for the hook."
    );
}

#[test]
fn the_error_of_a_broken_prompt_is_in_the_context_even_if_little_else_fits() {
    let broken = "b".repeat(200); // so that the path in the error is longer than a request
    let message = format!(":long\n:{broken}");
    for length in (8_000..10_000).step_by(200) {
        let client = client()
            .prompt("long.md", "x".repeat(length))
            .prompt(&format!("{broken}.md"), "---\n");
        let context = context_for(&client, "claude-code", "UserPromptSubmit", &message).unwrap();
        assert_contains(&context, "names a stored prompt that cannot be read. ");
    }
}

#[test]
fn the_limit_of_codex_is_the_least_that_its_files_set() {
    let handler = |limit: &str| {
        format!(r#"{{"type": "command", "command": "prompt-expander hook codex"{limit}}}"#)
    };
    let without = &handler("");
    let unlimited = &handler(r#", "additionalContextLimit": 0"#);
    let limited = &handler(r#", "additionalContextLimit": 5000"#);
    let inline = without.replace("\": ", "\" = ");
    let toml = format!("[[hooks.UserPromptSubmit]]\nhooks = [{inline}]\n");
    for (hooks, config, limit) in [
        (without.clone(), "", 10_000),
        (limited.clone(), "", 20_000),
        (unlimited.clone(), "", 1_000_000),
        (format!("{limited}, {unlimited}"), "", 20_000),
        (unlimited.clone(), &*toml, 10_000),
    ] {
        for (length, is_whole) in [(limit - 500, true), (limit + 1, false)] {
            let client = client().prompt("long.md", "x".repeat(length));
            let hooks = format!(r#"{{"hooks": {{"UserPromptSubmit": [{{"hooks": [{hooks}]}}]}}}}"#);
            client.put(".codex/hooks.json", hooks);
            client.put(".codex/config.toml", config);
            let context = context(&client, ":long").unwrap();
            assert_eq!(context.len() > length, is_whole, "{limit} {length}");
        }
    }
}

#[test]
fn anything_but_an_event_has_no_answer_and_the_status_is_0() {
    let client = client();
    let submitted = event("UserPromptSubmit", ":research x");
    let nested = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let too_long = event(
        "UserPromptSubmit",
        &format!(":research {}", "x".repeat(33 << 20)),
    );
    for stdin in [
        "",
        "null",
        ":research x",
        &submitted[..40],
        &nested,
        too_long.as_str(),
    ] {
        hook(&client, "codex", stdin).printed("");
    }
    hook(&client, "codex", [submitted.as_bytes(), b"\xff"].concat()).printed("");
    let damaged = format!(
        "\u{feff}{}",
        event("UserPromptSubmit", ":research a").replace(" a", " \\ud83d")
    );
    let answer = hook(&client, "codex", damaged).stdout;
    assert!(answer.contains("\u{fffd}"), "{answer}");
    for name in ["", "codx", "vscode", "-"] {
        hook(&client, name, &submitted).printed("");
    }
    for line in [
        "hook",
        "hook codex gemini",
        "--page-size 0 hook codex",
        "hook codex --no-builtin --prompts missing",
    ] {
        client.run(line.split(' '), &submitted).printed("");
    }
    assert_ne!(
        client.words("expand hook").status.code(),
        Some(0),
        "another command, that names it"
    );
}

#[cfg(unix)]
#[test]
fn closed_pipes_and_unreadable_folders_block_no_prompt() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let submitted = event("UserPromptSubmit", ":research x");
    for script in ["exec <&-", "exec >&-", "exec 2>&-", "exec <&- >&- 2>&-"] {
        let ran = hook(&client().after(script), "codex", &submitted);
        assert!(
            ran.status.success() && ran.stderr.is_empty(),
            "{script}: {ran:?}"
        );
        assert_eq!(
            ran.stdout.contains("Topic: x"),
            script == "exec 2>&-",
            "{script}: {ran:?}"
        );
    }
    let client = client().unprivileged();
    set_permissions(client.prompts(), Permissions::from_mode(0o000)).unwrap();
    hook(&client, "codex", &submitted).printed("");
    set_permissions(client.prompts(), Permissions::from_mode(0o755)).unwrap();
    set_permissions(
        client.path("prompts/research.md"),
        Permissions::from_mode(0o000),
    )
    .unwrap();
    let unreadable = context(&client, ":research x").unwrap();
    assert_contains(
        &unreadable,
        "permission denied; correct its permissions. Tell the user this",
    );
}

/// The agents that have a hook, with name and event.
fn with_hook() -> impl Iterator<Item = (&'static str, &'static Agent, &'static str)> {
    Agent::all_with_hook().filter_map(|agent| Some((agent.name, agent, agent.hook.as_ref()?.event)))
}

#[test]
fn the_page_of_the_hook_is_true() {
    let text = page("docs/hook.md");
    let bounds = format!(
        "looks up at most {MAX_LOOKUPS} different names. It expands the prompts in order. It stops \
         after {MAX_PROMPTS} prompts,"
    );
    assert!(text.replace('\n', " ").contains(&bounds), "{bounds}");

    let rows = table(&text, "agent");
    assert_eq!(rows.len(), with_hook().count());
    for (row, (name, agent, event_name)) in rows.iter().zip(with_hook()) {
        assert_eq!(row[..2], [format!("`{name}`"), format!("`{event_name}`")]);
        let limit = row[2].split(' ').next().unwrap().replace(',', "");
        assert_eq!(
            limit,
            agent.hook.as_ref().unwrap().context_limit.0.to_string(),
            "{name}"
        );
    }

    let client = Client::new().arguments([]);
    let rows = table(&text, "you type");
    assert!(rows.len() >= 8);
    for row in rows {
        let prompt = row[0].trim_matches('`').replace('⏎', "\n");
        let ran = client.run(["hook", "gemini"], event("BeforeAgent", &prompt));
        let pairs = row[1]
            .split("; ")
            .filter(|pair| *pair != "none")
            .map(|pair| pair.trim_matches('`'));
        let pairs = pairs.map(|pair| pair.split_once("`: `").unwrap_or((pair, "")));
        let ends: String = pairs
            .clone()
            .map(|(name, input)| format!("{}|", format!(":{name} {input}").trim_end()))
            .collect();
        let said = ran
            .stdout
            .split("(End of the text for `")
            .skip(1)
            .map(|rest| rest.split("`.)").next().unwrap());
        assert_eq!(
            said.map(|typed| format!("{typed}|")).collect::<String>(),
            ends,
            "{prompt}"
        );
        for (name, input) in pairs {
            let expanded =
                json!(client.run(["expand", name, "-"], input).stdout.trim_end()).to_string();
            assert!(ran.stdout.contains(expanded.trim_matches('"')), "{prompt}");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_hook_on_the_page_of_an_agent_answers_its_event() {
    for (name, file) in [
        ("codex", "codex"),
        ("claude-code", "claude-code"),
        ("gemini", "gemini-cli"),
        ("qwen", "qwen-code"),
        ("copilot", "copilot-cli"),
    ] {
        let text = page(&format!("docs/clients/{file}.md"));
        let blocks = blocks(&text, "json");
        let mut registrations = blocks
            .iter()
            .filter(|(_, block)| block.contains("\"hooks\""));
        let Some((_, registration)) = registrations.next() else {
            panic!("no hook in {file}.md")
        };
        assert!(registrations.next().is_none(), "one hook in {file}.md");
        let registration: Value = serde_json::from_str(registration).unwrap();
        let hook = Agent::by_name(name).unwrap().hook.as_ref().unwrap();
        let mut entry = &registration["hooks"][hook.event][0];
        if name != "copilot" {
            entry = &entry["hooks"][0];
        }
        assert_eq!(entry["type"], "command");
        let command_key = if name == "copilot" { "bash" } else { "command" };
        let home = Client::new().prompt("hello.md", "Hello {{input}}!");
        let line = format!(
            "PROMPT_EXPANDER_PROMPTS=prompts; export PROMPT_EXPANDER_PROMPTS; {}",
            entry[command_key].as_str().unwrap()
        );
        let mut child = shell(&home, &line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let event = hook.event_for(":hello world").to_string();
        std::io::Write::write_all(&mut stdin, event.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(hook.is_addition(&answer), "{name}: {answer}");
        assert_contains(&answer.to_string(), "\\n\\nHello world!\\n\\n");
    }
}
