//! `engine: jinja`: conditions, loops and filters, and nothing that a template could do harm with.

use crate::client::{Client, assert_contains};
use serde_json::{Value, json};

const ARGUMENTS: &str = "arguments: [{name: lang}, {name: tone, default: kind}]\n";

fn template(body: &str) -> String {
    format!("---\nengine: jinja\n{ARGUMENTS}---\n{body}\n")
}

const REVIEW: &str = "Review{% if lang %} this {{ lang|upper }} code{% endif %}, be {{ tone }}.\n\
                      {%- for l in input %}\n- {{ l }}{% endfor %}";

#[test]
fn a_template_decides_if_the_frontmatter_says_that_it_is_one() {
    let client = Client::new().prompt("a.md", template(REVIEW));
    client
        .run(["expand", "--arg", "lang=go", "a"], "a\nb")
        .printed("Review this GO code, be kind.\n- a\n- b\n");
    client
        .words("check prompts/a.md")
        .printed("1 file checked: 0 errors, 0 warnings\n");
    // Without the key, all braces stay.
    client.write(
        "b.md",
        format!("---\n{ARGUMENTS}---\n{{% if lang %}}{{{{lang}}}}{{% endif %}}"),
    );
    client
        .words("expand --arg lang=go b")
        .printed("{% if lang %}go{% endif %}\n");
}

#[test]
fn included_text_is_part_of_the_template() {
    let mut client = Client::new()
        .prompt("a.md", "---\nengine: jinja\ninclude: true\n---\n{% if input %}\n{% include \"_part\" %}\n{% endif %}")
        .prompt("_part.md", "One\n{{ input|upper }}")
        .prompt("b.md", "---\nengine: jinja\ninclude: true\n---\n{{> _bad}}")
        .prompt("_bad.md", "x\n {{ inptu }}");
    client.expand("a", "x").text("One\nX");
    let error = client.expand("b", "x").error();
    assert_contains(
        &error,
        "_bad.md:2:5: no argument named `inptu`; did you mean `input`?",
    );
}

#[test]
fn a_project_and_other_programs_have_no_templates() {
    let client = Client::new()
        .working_in("repo")
        .arguments(["--no-builtin", "--project"]);
    client.put("repo/.prompts/a.md", template(REVIEW));
    let ran = client.words("expand a");
    assert!(
        ran.stderr
            .contains("`engine: jinja` is not allowed in the prompts of a project"),
        "{}",
        ran.stderr
    );
    let client = Client::new().arguments(["--no-builtin", "--prompts", ".claude/commands"]);
    client.put(".claude/commands/a.md", template(REVIEW));
    let ran = client.words("expand a");
    let want = "a.md:2:1: `engine: jinja` is only for Markdown prompts in a folder of your own";
    assert!(ran.stderr.contains(want), "{}", ran.stderr);
}

#[test]
fn explain_shows_which_values_a_template_uses() {
    let client = Client::new().prompt("a.md", template(REVIEW));
    let ran = client.words("explain --json a x");
    let explained = ran.json();
    let names: Vec<&Value> = explained["placeholders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["name"])
        .collect();
    assert_eq!(
        (names, &explained["left"]),
        (
            vec![&json!("lang"), &json!("tone"), &json!("input")],
            &json!([])
        )
    );
}

const SHOTS: &str = "---\nengine: jinja\nmessages: true\ninclude: true\narguments: [lang]\n---\n\
                     {% if lang %}Only {{ lang }}.{% endif %}\n<!-- user -->\n{% for l in input %}\n- {{ l }}\n{%- endfor %}\n\
                     <!-- assistant -->\n{% include \"_yes\" %}\n<!-- user -->\n{{ input|length }}\n";

#[test]
fn each_message_is_a_template_of_its_own() {
    let mut client = Client::new().prompt("a.md", SHOTS).prompt(
        "_yes.md",
        "{% raw %}<!-- user -->{% endraw %}\n{{ lang|default('Yes') }}",
    );
    client
        .expand("a", "x\ny")
        .text("User:\n- x\n- y\n\nAssistant:\n<!-- user -->\nYes\n\nUser:\n3");
    let get = json!({"name": "a", "arguments": {"lang": "<!-- user -->{{ input }}", "input": "z"}});
    let answer = client.request("prompts/get", get);
    let messages: Vec<(&str, &str)> = answer["result"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            (
                message["role"].as_str().unwrap(),
                message["content"]["text"].as_str().unwrap(),
            )
        })
        .collect();
    let lang = "<!-- user -->{{ input }}";
    let want = [
        ("user", &*format!("Only {lang}.")),
        ("user", "- z"),
        ("assistant", &*format!("<!-- user -->\n{lang}")),
        ("user", "1"),
    ];
    assert_eq!(messages, want);
    // All of a message may be left out, and a text of the system, too.
    client.write("b.md", "---\nengine: jinja\nmessages: true\n---\n<!-- system -->\n{% if 0 %}S{% endif %}\n<!-- user -->\nU {{ input }}");
    client.expand("b", "x").text("U x");
}

#[test]
fn a_block_cannot_span_a_marker() {
    let mut client = Client::new();
    let file = |body: &str| format!("---\nengine: jinja\nmessages: true\n---\n{body}\n");
    for (body, line) in [
        (
            "A\n {% for l in input %}\n<!-- user -->\n{{ input }}{% endfor %}",
            6,
        ),
        ("A\n<!-- user -->\nx {% endif %}", 7),
        ("A\n<!-- user -->\n{# c\n<!-- user -->\n#}", 7),
        ("{% raw %}\n<!-- user -->\n{% endraw %}", 5),
    ] {
        client.write("a.md", file(body));
        let error = client.expand("a", "x").error();
        assert_contains(
            &error,
            &format!("a.md:{line}:1: the template has a mistake in this line"),
        );
    }
}

#[test]
fn a_mistake_in_a_template_is_an_error_at_its_place() {
    // In a text, a comment and a raw block, nothing is looked at.
    let file =
        template("{# set ~ #}{{ '* + ~ {% set' }}{% raw %} ~ {{ x + {% endraw %}\n{% set a = 1 %}");
    let mut client = Client::new().prompt("a.md", file);
    let message = "the tag `set` is not supported";
    let checked = client.words("check");
    checked.says(1, &[&format!("a.md:6:4: error: {message}")]);
    let error = client.expand("a", "").error();
    assert_contains(&error, &format!("a.md:6:4: {message}"));
}

/// With limits for each prompt, not for each of its messages.
#[test]
fn all_messages_of_a_prompt_share_the_limits() {
    let body = "{% for a in input %}{% for b in input %}{% endfor %}{% endfor %}x\n<!-- user -->\n"
        .repeat(4);
    let mut client = Client::new().prompt(
        "a.md",
        format!("---\nengine: jinja\nmessages: true\n---\n{body}"),
    );
    let error = client.expand("a", &"l\n".repeat(130)).error();
    assert_contains(
        &error,
        "column 1: its template fails: it takes more than 100000 steps",
    );
    client.write(
        "b.md",
        format!(
            "---\nengine: jinja\n---\n{}",
            body.split_once('\n').unwrap().0
        ),
    );
    client.expand("b", &"l\n".repeat(130)).text("x");
}

/// Each ends in an error, and the server that has expanded all of them never had more than 64 MiB.
#[cfg(target_os = "linux")]
#[test]
fn hostile_templates_end_in_an_error_within_64_mib() {
    let x = "x".repeat(1000);
    let nested = |depth: usize| {
        let open: String = (0..depth)
            .map(|index| format!("{{% for a{index} in input %}}"))
            .collect();
        format!("{open}{x}{}", "{% endfor %}".repeat(depth))
    };
    let hostile = [
        nested(5),
        nested(32),
        "{% set ns = namespace(s='x') %}{% for a in input %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}".to_owned(),
        "{{ input|replace('', input)|replace('', input)|replace('', input) }}".to_owned(),
        format!("{{% for a in input %}}{{{{ input|join('{x}')|join('{x}')|upper }}}}{{% endfor %}}"),
        format!("{{{{ {}input{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        "{% if input %}".repeat(100_000),
        "{% if input %}".to_owned() + &"{% elif input %}".repeat(100_000),
        "{{ not ".to_owned() + &"not ".repeat(100_000) + "input }}",
        "{{ input".to_owned() + &"|upper".repeat(100_000) + " }}",
        "{{ input == ".to_owned() + &"input == ".repeat(100_000) + "input }}",
        // What counts no byte and no line, but looks at a long text again and again.
        format!("{{% for a in input %}}{{% if '{}' in '{}' %}}{{% endif %}}{{% endfor %}}", "y", "x".repeat(3_000_000)),
        format!("{{% for a in input %}}{{{{ '{}'|length }}}}{{% endfor %}}", "x".repeat(3_000_000)),
        "{{ tone }}".repeat(400_000),
        "{{tone".repeat(600_000),
        "{# x".repeat(1_000_000),
        "{% raw %}".repeat(400_000),
        "{".repeat(4_000_000) + "% if %}",
    ];
    let mut client = Client::new();
    for (index, body) in hostile.iter().enumerate() {
        client.write(&format!("h{index}.md"), template(body));
    }
    let input = "line\n".repeat(1000);
    for (index, body) in hostile.iter().enumerate() {
        let error = client.expand(&format!("h{index}"), &input).error();
        assert!(!error.is_empty(), "{body:.60}");
    }
    let peak = client.peak_memory_kib();
    assert!(peak < 64 * 1024, "{peak} KiB");
}
