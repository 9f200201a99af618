//! What holds for any input whatsoever, with inputs made up by proptest, and with the seeds of the
//! fuzz targets.
//!
//! Each property is stated once, in a module below, which a target in `fuzz/` includes too. Here
//! they run everywhere, on a stable compiler, and briefly; there for as long as one likes.

mod arguments;
mod conversion;
mod expand;
mod foreign;
mod frames;
mod golden;
#[cfg(feature = "http")]
mod http_headers;
mod jinja;
#[cfg(feature = "openapi")]
mod openapi;
mod prompt;
#[cfg(feature = "http")]
mod session;
mod stdio;
mod wire;

use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

const PROMPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/properties/prompts");

/// Every seed of a fuzz target; a finding that has become one stays a test.
fn for_each_seed(target: &str, check: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let seeds: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(!seeds.is_empty());
    for seed in seeds {
        let bytes = fs::read(&seed).unwrap();
        assert!(catch_unwind(|| check(&bytes)).is_ok(), "{}", seed.display());
    }
}

#[test]
fn the_properties_hold_for_every_seed() {
    for_each_seed("wire", |session| wire::check(session, PROMPTS.as_ref()));
    for_each_seed("frames", frames::check);
    for_each_seed("prompt", prompt::check);
    for_each_seed("prompt", foreign::check);
    for_each_seed("foreign", foreign::check);
    for_each_seed("prompt", conversion::check);
    for_each_seed("foreign", conversion::check);
    for_each_seed("expand", expand::check_bytes);
    for_each_seed("arguments", arguments::check_bytes);
    for_each_seed("golden", golden::check_bytes);
    #[cfg(feature = "http")]
    {
        for_each_seed("session", session::check);
        for_each_seed("http_headers", http_headers::check);
    }
    for_each_seed("jinja", jinja::check_bytes);
    #[cfg(feature = "openapi")]
    for_each_seed("openapi", openapi::check_bytes);
}

/// Texts of these pieces, and of any others between them.
fn text_of(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![6 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => ".{0,3}"];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// A line of a session.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let id = prop::sample::select(vec![
        "1",
        "\"a\"",
        "-7",
        "18446744073709551615",
        "\"\"",
        "1.5",
        "null",
        "[]",
    ]);
    let method = prop::sample::select(vec![
        r#""ping""#,
        r#""initialize","params":{"protocolVersion":"2025-03-26","clientInfo":{"name":"c"}}"#,
        r#""initialize","params":{"protocolVersion":"2025-11-25"}"#,
        r#""tools/list""#,
        r#""tools/call","params":{"name":"list_prompts","arguments":{"query":"comp","limit":2}}"#,
        r#""tools/call","params":{"name":"expand_prompt","arguments":{"command":":compare","input":"a b\n"}}"#,
        r#""tools/call","params":{"name":"expand_prompt","arguments":{"command":"broken","input":""}}"#,
        r#""prompts/list""#,
        r#""prompts/get","params":{"name":"git/commit","arguments":{"scope":"x"}}"#,
        r#""prompts/get","params":{"name":"broken"}"#,
        r#""resources/list","params":{"cursor":"cHJvbXB0czo"}"#,
        r#""resources/read","params":{"uri":"prompt://plain"}"#,
        r#""resources/subscribe","params":{"uri":"prompt://plain"}"#,
        r#""completion/complete","params":{"ref":{"type":"ref/prompt","name":"compare"},"argument":{"name":"criteria","value":"s"}}"#,
        r#""server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#,
        r#""subscriptions/listen","params":{"notifications":{"promptsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#,
        r#""notifications/initialized""#,
        r#""notifications/cancelled","params":{"requestId":1}"#,
        r#""nope","params":[]"#,
        r#""ping","params":{"half of a character":"\ud800"}"#,
        "5",
    ]);
    let request = (id, method)
        .prop_map(|(id, method)| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}}}"#));
    let call = text_of(INPUT).prop_map(|input| {
        let arguments = json!({"command": "plain", "input": input});
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "expand_prompt", "arguments": arguments}})
    });
    let notification = |request: String| request.replacen("\"id\"", "\"di\"", 1);
    let message = prop_oneof![
        8 => request.clone(),
        2 => call.prop_map(|call| call.to_string()),
        2 => request.clone().prop_map(notification),
        1 => Just(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned()),
        1 => Just(r#"{"id":1,"id":2,"method":"ping","jsonrpc":"2.0"}"#.to_owned()),
        1 => prop::sample::select(vec!["5", "{}", "null", "[]", "\"x\""]).prop_map(str::to_owned),
    ];
    let batch = prop::collection::vec(message.clone(), 0..5)
        .prop_map(|messages| format!("[{}]", messages.join(",")));
    // What happens to a line on its way.
    let cut = (request, any::<prop::sample::Index>())
        .prop_map(|(line, at)| line[..at.index(line.len())].to_owned());
    let text = prop_oneof![
        6 => message,
        2 => batch,
        1 => cut,
        1 => text_of(&["{", "}", "[", "]", "\"", ":", ",", "\\", "\"id\"", "\"method\"", "1", " ", "\r", "\u{feff}"]),
    ];
    prop_oneof![12 => text.prop_map(String::into_bytes), 1 => prop::collection::vec(any::<u8>(), 0..9)]
}

/// Signs of frontmatter, of Markdown and of placeholders.
#[rustfmt::skip] // it would give each a line
const FILE: &[&str] = &[
    "---", "---\n", "\n", "\n", " ", "  ", "- ", ": ", ":", "#", " #", "\"", "'", "|", ">", "[", "]", "{", "}", ",", "&a",
    "*a", "!", "\t", "\r\n", "\r", "\\", "null", "1.10", "true", "title: ", "description: ", "arguments:\n", "- name: ",
    "default: ", "choices: ", "required: ", "tags: ", "a", "b", "{{a}}", "{{input}}", "<<input>>", "<b>", "`", "```\n",
    "word ", "é", "\u{feff}", "\u{2028}", "\u{85}", "\0",
];

/// Signs of the files of other systems.
#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "---\n", "\n", " ", "$", "$$", "\\", "$ARGUMENTS", "$1", "$2", "$a", "$NAME", "[0]", "{{args}}", "{{input}}", "{{a}}",
    "{{{ input }}}", "{{", "}}", "${input:a:hint}", "${input:b}", "${a}", "}", "!`ls`", "!{ls}", "@{a}", "@a.md", "```!",
    "{{plugin:a}}", "{{#if}}", "<system>", "</system>", "prompt = '''", "prompt = \"", "'''", "\"", "prompt: ", "system: ",
    "prompt: |\n  ", "defaults: {a: b}\n", "functions: ", "arguments: a b\n", "argument-hint: NAME=\n", "name: T\n",
    "{\"name\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":{\"text\":\"{{a}}\"}}]}", "word ", "é", "\u{feff}", "\r\n", "\0",
];

/// Signs of the bodies of all systems, of messages and of code.
#[rustfmt::skip]
const BODIES: &[&str] = &[
    "\n", "\n\n", " ", "\\", "\\\\", "{", "}", "<", ">", "$", "$$", "$ARGUMENTS", "\\$ARGUMENTS", "$1", "$2", "$a", "$b", "$NAME", "[0]",
    "{{args}}", "{{input}}", "\\{{input}}", "<<input>>", "{{a}}", "{{ b }}", "<<a>>", "{{{a}}}", "{{lang}}", "${input:a:hint}",
    "${input:a}", "${lang}", "`", "```\n", "---", "---\n", "\n<!-- user -->\n", "\n<!-- assistant -->\n", "\n\\<!-- user -->\n",
    "!`ls`", "@a.md", "'''", "\"\"\"", "\"", "word ", "# H\n", "é", "\u{feff}", "\u{2028}", "\r\n", "\r", "\0", "\t",
];

/// Frontmatters of all systems.
#[rustfmt::skip]
const FRONTMATTERS: &[&str] = &[
    "",
    "---\n---\n",
    "---\nmessages: true\n---\n",
    "---\nmessages: true\narguments: [a, b]\n---\n",
    "---\narguments: a b\nargument-hint: NAME=\nallowed-tools: Bash\n---\n",
    "---\ntitle: T\ndescription: \"D --- d\"\nauthor: A\nversion: 1.10\ncategory: C\ntags: [x, \"y z\", \"1,2\"]\narguments:\n  - name: a\n    \
     title: A\n    required: true\n    choices: [one, \"b=x\"]\n  - name: b\n    default: \" {{a}}\\n\"\n    choices: [x]\n    strict: true\n---\n",
    "---\narguments: [a]\nattachments: [x.png, \"https://example.com/a\"]\n---\n",
    "---\nwords: true\narguments: [b, a]\n---\n",
    "---\narguments: [input, a]\n---\n",
];

/// Signs of placeholders, and names.
#[rustfmt::skip]
const BODY: &[&str] = &[
    "{{", "}}", "<<", ">>", "{", "}", "<", ">", "\\", " ", "\t", "\n", "input", "a", "ab", "{{input}}", "<< a >>", "{{ab}}",
];

/// Signs of a test file.
#[rustfmt::skip]
const TESTS: &[&str] = &[
    "=== T\n", "=== T\n", "--- text\n", "--- text\n", "--- contains\n", "--- lacks\n", "--- error\n", "--- characters: 3\n",
    "input: ", "arg a: ", "client: codex", "# c", "===", "---", "====", "----", "\\", "\n", "\n", "\r\n", "\r", " ", "a", "b",
    "\u{feff}", "é", "\0",
];

/// Signs of a template, of includes and of messages.
#[rustfmt::skip]
const TEMPLATE: &[&str] = &[
    "{{ a }}", "{{ input }}", "{{", "}}", "{%", "%}", "{%-", "-%}", "{#", "#}", "{% if a %}", "{% elif b %}", "{% elsif a %}",
    "{% else %}", "{% endif %}", "{% for l in input %}", "{% for l in a|replace(b, 'x') %}", "{{ l }}", "{{ loop.index }}",
    "{% endfor %}", "{% raw %}", "{% endraw %}", "{{ a|upper }}", "{{ input|join(a) }}", "{{ b|default('x')|length }}",
    "\n{{> _0}}\n", "\n{% include \"_1\" %}\n", "\n\\{{> _0}}\n", "\n<!-- user -->\n", "\n<!-- assistant -->\n",
    "\n<!-- system -->\n", "\n```\n", "==", "in", "not ", "'", "\"", "|", "(", ")", ".", "a", "word ", "\n", "\r\n", "é", "\0",
];

/// Signs of pairs and of words, and what JSON escapes.
#[rustfmt::skip]
const INPUT: &[&str] = &[
    "a=", "b=", "c=", "=", "\"", "'", "\\", "\\\"", " ", " ", "\n", "\u{3000}", "a", "b", "word", "it's", "7", "{{a}}", "é",
    "\u{c}", "\0",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_lines_are_a_session(lines in prop::collection::vec(line(), 0..12), ends in any::<bool>()) {
        let mut session = lines.join(&b'\n');
        session.extend(ends.then_some(b'\n'));
        wire::check(&session, PROMPTS.as_ref());
    }

    #[test]
    fn messages_get_the_same_answers_however_they_are_framed(selection in prop::collection::vec(any::<u8>(), 0..12)) {
        frames::check(&selection);
    }

    #[test]
    fn any_text_is_a_prompt_file(text in text_of(FILE), frontmatter in any::<bool>()) {
        prompt::check(text.as_bytes());
        if frontmatter {
            prompt::check(format!("---\n{text}\n---\n{{{{input}}}} {{{{a}}}}").as_bytes());
        }
    }

    #[test]
    fn any_text_is_a_prompt_file_of_another_system(text in text_of(FOREIGN)) {
        foreign::check(text.as_bytes());
        for file in [
            format!("---\narguments: a b\nargument-hint: NAME=\n---\n{text}"),
            format!("prompt = '''\n{}'''", text.replace("'''", "")),
            format!("prompt: |\n  {}", text.replace('\n', "\n  ")),
            format!("name: T\n---\n{text}"),
        ] {
            foreign::check(file.as_bytes());
        }
    }

    #[test]
    fn any_bytes_are_a_prompt_file(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prompt::check(&bytes);
    }

    #[test]
    fn any_text_is_a_test_file(file in text_of(TESTS), begins in any::<bool>(), text in text_of(TESTS)) {
        let title = if begins { "=== T\n" } else { "" };
        golden::check(format!("{title}{file}").as_bytes(), &text);
    }

    #[test]
    fn any_texts_are_a_template_with_partials(
        body in text_of(TEMPLATE),
        partials in prop::collection::vec(text_of(TEMPLATE), 0..3),
        a in text_of(TEMPLATE),
        input in text_of(TEMPLATE),
    ) {
        let partials: Vec<&str> = partials.iter().map(String::as_str).collect();
        jinja::check(&body, &partials, &a, &input);
    }

    #[test]
    fn any_text_is_a_body(
        body in text_of(BODY),
        names in prop::sample::subsequence(vec!["a", "ab", "input", "é", "a\\"], 0..5),
        values in prop::collection::vec(text_of(BODY), 5),
        input in text_of(BODY),
    ) {
        let arguments: Vec<(&str, &str)> = names.into_iter().zip(values.iter().map(String::as_str)).collect();
        expand::check(&body, &arguments, &input);
    }

    #[test]
    fn any_text_is_an_input(
        declared in prop::sample::subsequence(vec!["a", "b!", "c=x", "d!=y", "ab", "input", "{{input}}"], 0..6),
        input in text_of(INPUT),
    ) {
        arguments::check(&declared.join(" "), &input);
    }

    #[test]
    fn any_texts_are_values(a in text_of(INPUT), b in text_of(INPUT)) {
        arguments::values_in_quotes_are_the_values(&a, &b);
    }

    #[test]
    fn what_is_imported_expands_to_the_same(
        frontmatter in prop::sample::select(FRONTMATTERS),
        body in text_of(BODIES),
        other in text_of(BODIES),
        are_optional in any::<bool>(),
    ) {
        let line = json!({
            "name": "p",
            "arguments": [{"name": "a", "required": !are_optional}, {"name": "b"}],
            "messages": [
                {"role": "user", "content": {"text": body}},
                {"role": "assistant", "content": {"text": other}},
                {"role": "user", "content": {"text": "{{b}}"}},
            ],
        });
        for file in [
            format!("{frontmatter}{body}"),
            format!("prompt = '''\n{}'''", body.replace("'''", "")),
            format!("prompt: |\n  {}\ndefaults: {{lang: English}}", body.replace('\n', "\n  ")),
            line.to_string(),
        ] {
            conversion::check(file.as_bytes());
        }
    }
}
