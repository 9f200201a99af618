//! `engine: jinja`: conditions, loops and filters, and nothing that a template could do harm with.

use crate::client::Client;
use serde_json::{Value, json};

const ARGUMENTS: &str = "arguments: [{name: lang}, {name: tone, default: kind}]\n";

fn template(body: &str) -> String {
    format!("---\nengine: jinja\n{ARGUMENTS}---\n{body}\n")
}

const REVIEW: &str = "Review{% if lang %} this {{ lang|upper }} code{% endif %}, be {{ tone }}.\n\
                      {%- for l in input %}\n- {{ l }}{% endfor %}";

#[test]
fn a_template_decides_and_a_value_is_text() {
    let client = Client::new().prompt("a.md", template(REVIEW));
    client.run(["expand", "a", "--arg", "lang=go"], "a\nb").printed("Review this GO code, be kind.\n- a\n- b\n");
    client
        .run(["expand", "a", "--arg", "lang={{ tone }}"], "a")
        .printed("Review this {{ TONE }} code, be kind.\n- a\n");
    client.run(["expand", "a", "--arg", "tone={% if %}<b>&"], "a").printed("Review, be {% if %}<b>&.\n- a\n");
    client.run(["check", "prompts/a.md"], "").printed("1 file checked: 0 errors, 0 warnings\n");
    // Without the key, all braces stay.
    client.write("b.md", format!("---\n{ARGUMENTS}---\n{{% if lang %}}{{{{lang}}}}{{% endif %}}"));
    client.run(["expand", "b", "--arg", "lang=go"], "").printed("{% if lang %}go{% endif %}\n");
}

#[test]
fn an_input_without_a_place_follows_the_text() {
    let mut client = Client::new().prompt("a.md", "---\nengine: jinja\n---\n{% if true %}Do it.{% endif %}");
    client.expand("a", "x").text("Do it.\n\nx");
}

#[test]
fn a_name_that_is_not_declared_is_an_error_at_its_place() {
    let mut client = Client::new().prompt("a.md", template("Be\n {{ tune }}"));
    let error = client.expand("a", "").error();
    let want =
        format!("{}:6:5: no argument named `tune`; did you mean `tone`?", client.prompts().join("a.md").display());
    assert!(error.contains(&want), "{error}");
    let checked = client.run(["check"], "");
    assert!(checked.status.code() == Some(1) && checked.stdout.contains(":6:5: error: no argument named `tune`"));
    assert!(client.run(["expand", "a"], "").stderr.contains(&want));
}

#[test]
fn included_text_is_part_of_the_template() {
    let mut client = Client::new()
        .prompt("a.md", "---\nengine: jinja\ninclude: true\n---\n{% if input %}\n{% include \"_part\" %}\n{% endif %}")
        .prompt("_part.md", "One\n{{ input|upper }}")
        .prompt("b.md", "---\nengine: jinja\ninclude: true\n---\n{{> _bad}}")
        .prompt("_bad.md", "x\n {{ inptu }}")
        .prompt("c.md", "---\ninclude: true\n---\n{{> a}}");
    client.expand("a", "x").text("One\nX");
    for (name, want) in [
        ("b", "_bad.md:2:5: no argument named `inptu`; did you mean `input`?"),
        ("c", "c.md:4:1: `a.md` has `engine: jinja`, and the prompt does not"),
    ] {
        let error = client.expand(name, "x").error();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn a_project_and_other_programs_have_no_templates() {
    let client = Client::new().working_in("repo").arguments(["--no-builtin", "--project"]);
    client.write("../repo/.prompts/a.md", template(REVIEW));
    let ran = client.run(["expand", "a"], "");
    assert!(ran.stderr.contains("`engine: jinja` is not used in the prompts of a project"), "{}", ran.stderr);
    let client = Client::new().arguments(["--no-builtin", "--prompts", ".claude/commands"]);
    client.write("../.claude/commands/a.md", template(REVIEW));
    let ran = client.run(["expand", "a"], "");
    let want = "a.md:2:1: `engine: jinja` is only for Markdown prompts in a folder of your own";
    assert!(ran.stderr.contains(want), "{}", ran.stderr);
}

#[test]
fn explain_shows_which_values_a_template_uses() {
    let client = Client::new().prompt("a.md", template(REVIEW));
    let ran = client.run(["explain", "a", "x", "--json"], "");
    let explained: Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&Value> = explained["placeholders"].as_array().unwrap().iter().map(|found| &found["name"]).collect();
    assert_eq!((names, &explained["left"]), (vec![&json!("lang"), &json!("tone"), &json!("input")], &json!([])));
}

/// Each ends in an error, and the server that has expanded all of them never had more than 64 MiB.
#[cfg(target_os = "linux")]
#[test]
fn hostile_templates_end_in_an_error_within_64_mib() {
    let x = "x".repeat(1000);
    let nested = |depth: usize| {
        let open: String = (0..depth).map(|index| format!("{{% for a{index} in input %}}")).collect();
        format!("{open}{x}{}", "{% endfor %}".repeat(depth))
    };
    let hostile = [
        nested(5),
        nested(32),
        "{{ 'x' * 400000000 }}".to_owned(),
        "{% for a in range(10001) %}{% endfor %}".to_owned(),
        "{% include \"a\" %}{{ 1 }}".to_owned(),
        "{{ 'a\\nb'|indent(300000000) }}".to_owned(),
        "{{ '%300000000d'|format(1) }}".to_owned(),
        "{% set ns = namespace(s='x') %}{% for a in input %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}".to_owned(),
        "{% set a = input ~ input %}".to_owned(),
        "{{ debug() }}".to_owned(),
        "{{ input|replace('', input)|replace('', input)|replace('', input) }}".to_owned(),
        format!("{{% for a in input %}}{{{{ input|join('{x}')|join('{x}')|upper }}}}{{% endfor %}}"),
        format!("{{{{ {}input{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        "{% if input %}".repeat(100_000),
        "{% if input %}".to_owned() + &"{% elif input %}".repeat(100_000),
        "{{ not ".to_owned() + &"not ".repeat(100_000) + "input }}",
        "{{ input".to_owned() + &"|upper".repeat(100_000) + " }}",
        "{{ input == ".to_owned() + &"input == ".repeat(100_000) + "input }}",
        format!("{{% macro m() %}}{{{{ m() }}}}{{% endmacro %}}{}", "{{ m() }}"),
        "{% for a in input recursive %}{{ loop(input) }}{% endfor %}".to_owned(),
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
