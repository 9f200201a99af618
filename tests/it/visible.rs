//! What a terminal gets of texts of others: everything visible, whichever command shows it; and no
//! password of an address, wherever it is printed.

use crate::client::Client;
use crate::http_service::{Service, response};
use crate::pack::Repository;
use crate::terminal;
use serde_json::{Value, json};
use std::fs;

/// A text that clears, colors, hides and turns what is shown, and ends with characters that are
/// usual in Persian, Hindi and emoji.
const HOSTILE: &str = "A\u{1b}[1A\u{1b}[2KB\u{1b}[8mC\u{1b}]0;T\u{7}D\u{202e}E\u{200b}F\u{2066}G\u{9b}31mH\u{e0041}I\
    می\u{200c}خواهم\u{200d}❤\u{fe0f}\u{fe0e}";

/// What a terminal gets for it.
const VISIBLE: &str = r"A\u{1b}[1A\u{1b}[2KB\u{1b}[8mC\u{1b}]0;T\u{7}D\u{202e}E\u{200b}F\u{2066}G\u{9b}31mH\u{e0041}I";
const USUAL: &str = "می\u{200c}خواهم\u{200d}❤\u{fe0f}\u{fe0e}";

/// Parts of the text of which a terminal must get none.
const HIDDEN: [&str; 10] = [
    "\u{1b}[1A",
    "\u{1b}[2KB",
    "\u{1b}[8m",
    "\u{1b}]",
    "\u{7}",
    "\u{202e}",
    "\u{200b}",
    "\u{2066}",
    "\u{9b}",
    "\u{e0041}",
];

/// A library whose prompt `a` has the text as its title, description, argument and body.
fn hostile_library() -> Client {
    let escaped = HOSTILE
        .chars()
        .map(|character| format!("\\U{:08X}", u32::from(character)));
    let yaml = format!("\"{}\"", escaped.collect::<String>());
    let prompt = format!(
        "---\ntitle: {yaml}\ndescription: {yaml}\ntags: [{yaml}]\narguments: [{{name: x, description: {yaml}}}]\n\
         ---\n{HOSTILE} {{{{x}}}} {{{{xx}}}}\n"
    );
    let client = Client::new()
        .variable("PAGER", "cat")
        .prompt("a.md", prompt);
    client.write("old.md", HOSTILE);
    client.words("rm old --yes");
    client.write("old.md", "new");
    client.write("n\u{202e}\u{200b}.md", "B");
    client.write("t.md", "B");
    client.write("t.test.txt", format!("=== {HOSTILE}\n--- text\nC\n"));
    client
}

/// Returns what a terminal shows of a shell command, in which `$PROGRAM` is the program. `None`:
/// there is no terminal.
fn shown(client: &Client, line: &str) -> Option<String> {
    Some(terminal::Typing::started(client, 400, line)?.end())
}

#[track_caller]
fn hides_nothing(line: &str, shown: &str) {
    for part in HIDDEN {
        assert!(!shown.contains(part), "{line}: {part:?} is in {shown:?}");
    }
}

#[test]
fn a_terminal_gets_no_character_that_it_acts_on_or_that_nobody_sees() {
    let client = hostile_library();
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":a"});
    client.put("event", event.to_string());
    client.put("text", HOSTILE);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": HOSTILE});
    client.put("request", format!("{request}\n"));
    for line in [
        "show a",
        "expand a x",
        "explain a x",
        "list",
        "list --long",
        "diff old",
        "test t",
        "check a.md || true",
        "expand \"$(cat text)\"",
        "show \"$(cat text)\"",
        "check \"$(cat text)\"",
        "\"$(cat text)\"",
        "list --\"$(cat text)\"",
        "--log-level trace <request",
    ] {
        let Some(shown) = shown(&client, &format!("$PROGRAM {line}")) else {
            return;
        };
        hides_nothing(line, &shown);
        assert!(
            shown.contains(r"\u{1b}[1A") || line.contains("check"),
            "{line}: {shown:?}"
        );
    }
    for line in ["show a", "expand a x", "explain a x", "list", "diff old"] {
        let shown = shown(&client, &format!("$PROGRAM {line}")).unwrap();
        assert!(shown.contains(VISIBLE), "{line}: {shown:?}");
        assert!(shown.contains(USUAL), "{line}: {shown:?}");
    }
    let list = shown(&client, "$PROGRAM list").unwrap();
    assert!(list.contains(r":n\u{202e}\u{200b}"), "{list:?}");
}

#[test]
fn json_on_a_terminal_is_visible_and_valid() {
    let client = hostile_library();
    let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": ":a"});
    client.put("event", event.to_string());
    for line in [
        "show a --json",
        "list --json",
        "explain --json a",
        "hook codex <event",
    ] {
        let Some(shown) = shown(&client, &format!("$PROGRAM {line} 2>warnings")) else {
            return;
        };
        hides_nothing(line, &shown);
        let value: Value = serde_json::from_str(&shown).unwrap();
        let texts = value.to_string();
        assert!(
            texts.contains(USUAL) && texts.contains('\u{202e}'),
            "{line}: {texts}"
        );
    }
}

#[test]
fn the_picker_and_messages_of_servers_and_settings_are_visible() {
    let client = hostile_library();
    let Some(mut picker) = terminal::Typing::started(&client, 400, "$PROGRAM pick") else {
        return;
    };
    picker.until(r"\u{1b}[1A");
    picker.keys("\u{1b}");
    hides_nothing("pick", &picker.end());
    let message = json!({"error": {"message": HOSTILE}}).to_string();
    let service = Service::answering(response("500 Oops", "application/json", &message));
    let settings = client.path(".config/prompt-expander/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let team = format!(
        "team = \"http://{}\"\n\"{}\" = 1\n",
        service.address, r"a\u001b[1A\u202e"
    );
    fs::write(settings, team).unwrap();
    for line in ["list", "doctor"] {
        let shown = shown(&client, &format!("$PROGRAM {line}")).unwrap();
        hides_nothing(line, &shown);
        assert!(shown.contains(r"\u{1b}[1A"), "{line}: {shown:?}");
    }
}

#[test]
fn a_review_also_shows_the_characters_that_are_usual_and_a_pager_gets_them_visible() {
    let client = Client::new();
    let repository = Repository::new(client.path("server/acme/prompts.git"));
    repository.put(&[("a.md", HOSTILE)]);
    let line = format!(
        "PAGER='cat -' $PROGRAM pack add {} </dev/null",
        repository.address()
    );
    let Some(shown) = shown(&client, &line) else {
        return;
    };
    hides_nothing(&line, &shown);
    assert!(shown.contains(VISIBLE), "{shown:?}");
    assert!(
        shown.contains(r"\u{200c}خواهم\u{200d}❤\u{fe0f}\u{fe0e}"),
        "{shown:?}"
    );
}

#[test]
fn a_pipe_gets_every_byte_of_a_prompt() {
    let client = hostile_library();
    client.words("show old").printed("new");
    client.write("b.md", HOSTILE);
    client.words("show b").printed(HOSTILE);
    client.words("expand b").printed(&format!("{HOSTILE}\n"));
    let list = client.words("list b").stdout;
    assert!(list.starts_with(&format!("b\t{HOSTILE}")), "{list:?}");
}

/// A password with what is not allowed in an address, and one with what separates words.
const PASSWORDS: [&str; 4] = ["s3cret", "s3/cr?e#t", "s3:cr@et", "s3 cr'et"];

#[test]
fn no_address_is_printed_with_its_password_whatever_is_wrong_with_it() {
    let client = Client::new();
    for password in PASSWORDS {
        for (start, line) in [
            ("https://me:", "pack add"),
            ("ssh://me:", "pack add"),
            ("me:", "pack add"),
            ("https:/me:", "pack add"),
            ("postgres://app:", "pack add"),
            ("https://me:", "pack list"),
            ("postgres://app:", "store init"),
            ("postgres:/app:", "store init --store"),
            ("postgres://app:", "list --store"),
            ("postgres://app:", "list --tag x --nope"),
            ("https://me:", "list --openapi"),
            ("https://me:", "list --openapi-url"),
            ("https://me:", "serve --http"),
            ("https://me:", "serve --http 0 --allow-origin"),
            ("https://me:", "expand"),
            ("https://me:", "show"),
            ("https://me:", "check"),
            ("https://me:", ""),
            ("https://me:", "list --json --nope"),
            ("https://me:", "doctor"),
        ] {
            let address = format!("{start}{password}@host.invalid/p.git");
            let ran = client.run(line.split_whitespace().chain([address.as_str()]), "");
            let printed = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!printed.contains("s3"), "{line} {address}: {printed}");
        }
        let address = format!("postgres://app:{password}@127.0.0.1:1/db");
        let with_store = Client::new().variable("PROMPT_EXPANDER_STORE", &address);
        let ran = with_store.arguments([]).words("list");
        assert!(!ran.stderr.contains("s3"), "{address}: {}", ran.stderr);
        let settings = client.path(".config/prompt-expander/config.toml");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        for key in ["team", "openapi", "nope", "log-level"] {
            let address = format!("https://me:{password}@host.invalid/");
            fs::write(&settings, format!("{key} = {address:?}\n")).unwrap();
            for line in ["list", "doctor", "doctor --json", "serve --log-level trace"] {
                let ran = client.words(line);
                let printed = format!("{}{}", ran.stdout, ran.stderr);
                assert!(!printed.contains("s3"), "{line} {key} {address}: {printed}");
            }
        }
        fs::remove_file(settings).unwrap();
    }
}

#[test]
fn install_prints_no_password_of_an_address_in_a_config() {
    let client = Client::new().arguments([]);
    let config = client.path(".codex/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let text = "[mcp_servers.prompts]\ncommand = \"prompt-expander\"\n\
        args = [\"serve\", \"--store\", \"postgres://app:s3cret@host/db\"]\n";
    fs::write(&config, text).unwrap();
    for line in ["install codex --dry-run", "install --json"] {
        let ran = client.words(line);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("app:…@host"), "{line}: {printed}");
        assert!(!printed.contains("s3cret"), "{line}: {printed}");
    }
}
