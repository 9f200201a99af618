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
mod frontmatter;
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

use gray_matter::Pod;
use prompt_expander::prompt::{Name, Prompt};
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

/// Values of keys that gray_matter reads.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "plain text", "", "~", "null", "'it''s'", "\"a \\\"b\\\" \\u00e9\"", "a # comment", "http://a.example/b", "don't", "1.10", "-3", "true",
    "False", "yes", "2026-01-01", "é 日本", "[x, 'y z', 1.0]", "{k: v}", "|\n    a\n\n      b", ">-\n    a\n    b", "!!str null", "a\n    b",
    "&x a", "\"  spaced  \"",
];

/// A frontmatter with these keys and an unknown one, in this order, and two arguments.
fn frontmatter_of(values: &[String]) -> String {
    let keys = [
        "title",
        "description",
        "author",
        "version",
        "category",
        "model",
        "tags",
    ];
    let mut lines = String::new();
    for (key, value) in keys.iter().zip(values) {
        lines += &format!("{key}: {value}\n");
    }
    let [.., default, choices] = values else {
        return lines;
    };
    let argument = format!(
        "  - name: a\n    required: true\n    default: {default}\n    choices: {choices}\n"
    );
    format!(
        "{lines}arguments:\n{}  - b\n",
        argument
            .replace("\n    a", "\n      a")
            .replace("\n    b", "\n      b")
    )
}

/// The Markdown files of the repository, and the examples in its pages.
fn markdown_of_the_repository() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in [
        "prompts",
        "docs",
        "tests/it/properties/prompts",
        "tests/conformance/prompts",
        ".",
    ] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(path).unwrap();
                files.extend(
                    text.split("```markdown\n")
                        .skip(1)
                        .map(|block| block.split("```").next().unwrap().to_owned()),
                );
                files.push(text);
            }
        }
    }
    files
}

#[test]
fn gray_matter_reads_the_same_in_the_files_of_the_repository() {
    let mut count = 0;
    for file in markdown_of_the_repository() {
        count += usize::from(frontmatter::check(&file));
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn gray_matter_differs_where_contributing_says_so() {
    let theirs = |file: &str| frontmatter::read_with_gray_matter(file);
    let content = |file: &str| theirs(file).unwrap().content;
    let is_refused = |file: &str| Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).is_err();
    // Nesting: it recurses, and we stop at eight levels, with the position.
    let nested = format!(
        "---\ntitle: T\nx: {}{}\n---\n",
        "[".repeat(20),
        "]".repeat(20)
    );
    assert!(theirs(&nested).is_some());
    let warnings = frontmatter::read(&nested).warnings();
    assert!(
        warnings.iter().any(|warning| warning.position.is_some()),
        "{warnings:?}"
    );
    // Aliases: it copies what they name, and we count first.
    let mut aliases = "---\na0: &a0 [x, x]\n".to_owned();
    for level in 1..17 {
        aliases += &format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
    }
    aliases += "---\n";
    assert!(theirs(&aliases).is_some() && is_refused(&aliases));
    // Numbers: it converts them, and we keep how they are written.
    let version = "---\nversion: 1.10\n---\n";
    let Some(Pod::Hash(keys)) = theirs(version).unwrap().data else {
        panic!()
    };
    assert_eq!(keys["version"], Pod::Float(1.1));
    assert_eq!(
        frontmatter::read(version).metadata.version.as_deref(),
        Some("1.10")
    );
    // Line ends and blank lines: it removes the last one and those at the start, and we both ends.
    assert_eq!(content("---\na: b\n---\n\n  \nA\r\nB\n\n"), "  \nA\nB\n");
    assert_eq!(
        frontmatter::read("---\na: b\n---\n\n  \nA\r\nB\n\n").messages[0].body(),
        "A\nB"
    );
    // A short file: it drops the text.
    assert_eq!(
        (
            content("abc").as_str(),
            frontmatter::read("abc").messages[0].body()
        ),
        ("", "abc")
    );
    // Mistakes: it refuses what we read with a warning.
    for file in ["---\ntitle: a: b\n---\n", "---\ntitle: a\ntitle: b\n---\n"] {
        assert!(
            theirs(file).is_none() && frontmatter::read(file).title.is_some(),
            "{file:?}"
        );
    }
    // Frontmatter that is never closed: it drops the opening line, and we refuse the file.
    assert!(content("---\na: b\n") == "a: b" && is_refused("---\na: b\n"));
    // Lines without a key: it takes them for a value, and we for text between two rules.
    assert!(matches!(
        theirs("---\nA rule.\n---\nB").unwrap().data,
        Some(Pod::String(_))
    ));
    assert!(
        frontmatter::read("---\nA rule.\n---\nB").messages[0]
            .body()
            .contains("A rule.")
    );
    // A byte order mark and a misspelled fence: it sees no frontmatter.
    for file in ["\u{feff}---\ntitle: T\n---\nA", "---\ntitle: T\n----\nA"] {
        assert!(theirs(file).unwrap().data.is_none(), "{file:?}");
        assert_eq!(
            frontmatter::read(file).title.as_deref(),
            Some("T"),
            "{file:?}"
        );
    }
}

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
    fn gray_matter_reads_the_same_frontmatter_and_body(
        values in prop::collection::vec(prop_oneof![
            6 => prop::sample::select(VALUES).prop_map(str::to_owned),
            1 => "[a-c:#'\" .,!|>@%-]{0,8}",
        ], 9),
        is_crlf in any::<bool>(),
        body in text_of(BODIES),
    ) {
        let file = format!("---\n{}---\n{body}", frontmatter_of(&values));
        frontmatter::check(&if is_crlf { file.replace('\n', "\r\n") } else { file });
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
