//! What a file says: the rules for prompt files.

use super::testing::shown;
use super::*;
use crate::prompt::{Argument, Call, MAX_ARGUMENTS, MAX_FILE, MAX_FRONTMATTER, Messages, Role};

#[track_caller]
fn parse(file: &str) -> Prompt {
    parse_bytes(file.as_bytes()).unwrap()
}

fn parse_bytes(file: &[u8]) -> Result<Prompt, Diagnostic> {
    Prompt::parse(Name::new("p").unwrap(), file)
}

fn body_of(prompt: &Prompt) -> &str {
    prompt.messages[0].body()
}

fn expand(prompt: &Prompt, text: &str) -> Result<String, String> {
    prompt
        .expand(Call::Text(text))
        .map(Messages::into_text)
        .map_err(|error| error.to_string())
}

#[track_caller]
fn check(file: &str, description: &str, body: &str) {
    let prompt = parse(file);
    assert_eq!(
        prompt.description.clone().unwrap_or_default(),
        description,
        "{file:?}"
    );
    assert_eq!(body_of(&prompt), body, "{file:?}");
}

#[track_caller]
fn problem(file: &[u8], want: &str) {
    assert_eq!(shown(&parse_bytes(file).unwrap_err()), want);
}

#[test]
fn frontmatter_and_each_of_its_keys_are_optional_and_the_body_gives_title_and_description() {
    check(
        "---\ndescription: D\ntitle: T\n---\nBody {{input}}\n",
        "D",
        "Body {{input}}",
    );
    check("---\ntitle: T\n---\nBody\n", "Body", "Body");
    check("---\n---\nBody\n", "Body", "Body");
    check(
        "---\n# nothing but a comment\n\n---\nBody\n",
        "Body",
        "Body",
    );
    check("Body\n", "Body", "Body");
    check(
        "---\ntags: [a, b]\nmodel: {x: 1}\ndescription: D\n---\nBody",
        "D",
        "Body",
    );
    assert_eq!(
        parse("---\ntitle: T\n---\n# H\n").title.as_deref(),
        Some("T")
    );
    assert_eq!(parse("# H\n").title.as_deref(), Some("H"));
    assert_eq!(parse("text\n").title, None);
}

#[test]
fn the_body_keeps_everything_but_empty_lines_at_its_two_ends() {
    check(
        "---\ndescription: D\n---\n\n \t\n    indented  \n\n\n  end  \n\n\n",
        "D",
        "    indented  \n\n\n  end  ",
    );
    check("---\ndescription: D\n---\nx\n---\ny\n", "D", "x\n---\ny");
    check("\n\n", "", "");
    check("\n\n  \n", "", "");
    check("  ", "", "");
}

#[test]
fn crlf_and_bom_and_tiny_files_are_ordinary() {
    check(
        "---\r\ndescription: D\r\n---\r\nOne\r\nTwo\r\n",
        "D",
        "One\nTwo",
    );
    check("\u{feff}---\ndescription: D\n---\nBody\n", "D", "Body");
    check("\u{feff}Body", "Body", "Body");
    check("lone\rcr", "lone cr", "lone\rcr");
    check("", "", "");
    check("\u{feff}", "", "");
    check("a", "a", "a");
    check("ab", "ab", "ab");
    check("\n", "", "");
}

#[test]
fn a_line_that_is_almost_a_fence_closes_the_frontmatter_with_a_warning() {
    for line in [
        "...",
        "....",
        "... # end",
        "----",
        "--------  ",
        "---- # end",
        "--- # body",
        "---\t# body",
    ] {
        for end in ["\n", "\r\n"] {
            let file = [
                "---",
                "description: D",
                line,
                "Body {{input}}",
                "---",
                "more",
            ]
            .join(end);
            check(&file, "D", "Body {{input}}\n---\nmore");
            let warning = format!("3:1: `{}` closes the frontmatter here", line.trim_end());
            let warnings = parse(&file).warnings();
            assert!(
                shown(&warnings[0]).starts_with(&warning.replace('\t', "\\t")),
                "{warnings:?}"
            );
        }
    }
    check(
        "---\nBe brief.\n...\n---\nB",
        "B",
        "---\nBe brief.\n...\n---\nB",
    );
    check("---\ndescription: D\n---\n----\nB", "D", "----\nB");
}

#[test]
fn a_body_inside_the_frontmatter_breaks_the_file_and_a_stray_line_does_not() {
    for (text, line) in [
        ("--\n# Review\nBe careful.", "# Review"),
        ("\n## Steps\n\n- one", "## Steps"),
        ("~~~sh\nls\n~~~", "~~~sh"),
        ("\nReview this.\nNow.", "Review this."),
        ("Review {{input}}.", "Review {{input}}."),
        ("Review $ARGUMENTS.", "Review $ARGUMENTS."),
        // To YAML, these are comments and keys.
        ("# Steps", "# Steps"),
        ("\n# 手順\n", "# 手順"),
        ("# Steps\nFirst: do a.", "# Steps"),
        ("# Steps\n\nFirst: do a.\nThen: do b.", "# Steps"),
        ("\nFirst: do a.\nThen: do b.", "First: do a."),
        ("\nRead this: it is short.", "Read this: it is short."),
    ] {
        let file = format!("---\ndescription: D\n{text}\n---\nmore\n");
        let number = file.lines().position(|other| other == line).unwrap() + 1;
        let end = file.lines().count() - 1;
        let want = format!(
            "{number}:1: the line `{line}` is in the frontmatter, which ends in line {end}; write `---` alone in a line after the \
             last key, or delete this line"
        );
        problem(file.as_bytes(), &want);
    }
    for text in [
        "description: D\nno key here",
        "# ours\ndescription: D: E\n\n# Tools\ntools:\n# reading\n- a\n\n# end",
        "description: Review {{input}}: now",
        "description: >\n  # Heading\n\n  Text {{input}}.\ntitle: T: T",
        "description: D: E\nmodel: m\n\n# version: 2",
        "Model: M: N\n\nNote: D",
        "description: D: E\n\n$schema: x\n\n\"q r\": x\n\n# Names\nname: x\nNote: x",
        "description: D: E\ntools:\n# Reading\n- a",
    ] {
        let prompt = parse(&format!("---\n{text}\n---\nB {{{{input}}}}"));
        assert_eq!(
            (body_of(&prompt), prompt.warnings().len()),
            ("B {{input}}", 1),
            "{text}"
        );
    }
}

#[test]
fn keys_above_the_first_rule_are_text_with_a_warning() {
    let file = "title: T\n\ntags:\n- a\n---\nBody {{input}}\n";
    let warnings = parse(file).warnings();
    let want = "1:1: the keys above the first `---` are part of the prompt's text";
    assert!(shown(&warnings[0]).starts_with(want), "{warnings:?}");
    assert_eq!(body_of(&parse(file)), file.trim_end());
    for file in [
        "title: T\nText.\n---\nB {{input}}",
        "Note: a\n---\nB {{input}}",
        "title: T {{input}}",
    ] {
        assert!(parse(file).warnings().is_empty(), "{file}");
    }
}

#[test]
fn an_unclosed_frontmatter_is_a_problem_not_a_body() {
    let fix = "or write the rule in line 1 as `***` if no frontmatter is meant";
    let message = "the frontmatter that line 1 opens with `---` is never closed";
    for file in [
        "---\ndescription: D\ntags:\n  - a\n\nBody: text\n",
        "---\nBody\n",
        "---",
    ] {
        problem(
            file.as_bytes(),
            &format!("1:1: {message}; add a line `---` after its last key, {fix}"),
        );
    }
}

#[test]
fn nested_aliases_do_not_exhaust_memory() {
    let mut bomb = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..=8 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    bomb.push_str("---\nBody\n");
    problem(
        bomb.as_bytes(),
        "6:50: with its aliases (`*name`) expanded, the YAML is too large; \
         write the values out instead of repeating them with aliases",
    );
    let long = format!(
        "---\na: &a {}\nb: [{}]\n---\n",
        "x".repeat(30_000),
        "*a, ".repeat(100)
    );
    assert!(
        parse_bytes(long.as_bytes()).is_err(),
        "the length of what is repeated counts"
    );
    // Entry by entry, after a mistake, the aliases of all entries count together.
    let half = format!("&a {}", "x".repeat(20_000));
    let entries: String = (0..3)
        .map(|entry| format!("e{entry}: [{half}, *a, *a]\n"))
        .collect();
    let together = format!("---\nmistake: a: b\n{entries}---\n");
    assert!(
        parse_bytes(together.as_bytes())
            .unwrap_err()
            .message
            .contains("its aliases")
    );
}

#[test]
fn a_mistake_in_one_key_costs_no_other() {
    let prompt = parse(
        "---\ndescription: Compare: options\narguments:\n  - name: options\n    description: What: to compare\n    \
         required: true\n  - name: criteria\n    default: cost, risk: both\ntitle: Compare\n---\n{{options}} {{criteria}}\n",
    );
    let argument =
        |name: &str, description: Option<&str>, required, default: Option<&str>| Argument {
            name: name.into(),
            description: description.map(str::to_owned),
            required,
            default: default.map(str::to_owned),
            ..Argument::default()
        };
    assert_eq!(
        prompt.arguments,
        [
            argument("options", Some("What: to compare"), true, None),
            argument("criteria", None, false, Some("cost, risk: both"))
        ]
    );
    assert_eq!(prompt.title.as_deref(), Some("Compare"));
    assert_eq!(prompt.placeholders().count(), 2);
    let positions: Vec<_> = prompt
        .warnings()
        .iter()
        .map(|w| w.position.map(|p| (p.line, p.column)))
        .collect();
    assert_eq!(positions, [Some((2, 14)), Some((5, 18)), Some((8, 14))]);
}

#[test]
fn a_value_of_several_lines_stays_next_to_a_mistake() {
    for (value, want) in [
        (
            "default: |\n      one\n        two: # three",
            "[one\n  two: # three]",
        ),
        ("default: >\n      one\n      two", "[one two]"),
        ("default: 1.10", "[1.10]"),
        ("default: ~", "[]"),
        ("default: \"\"", "[]"),
    ] {
        let arguments = format!("arguments:\n  - name: x\n    description: a: b\n    {value}");
        let prompt = parse(&format!("---\ntitle: A: B\n{arguments}\n---\n[{{{{x}}}}]"));
        assert_eq!(expand(&prompt, "").unwrap(), want);
    }
}

#[test]
fn text_between_two_rules_is_kept_also_where_yaml_would_accept_it() {
    for text in [
        "Step 1: read {{input}}\nStep 2: answer",
        "You are an expert: think first.",
        "{{input}}",
        "# Rules\n{{input}}",
        "1: do this\nthen that",
        "null",
        "...",
    ] {
        let prompt = parse(&format!("---\n{text}\n---\nBe brief."));
        assert_eq!(body_of(&prompt), format!("---\n{text}\n---\nBe brief."));
        assert!(
            prompt.warnings()[0]
                .message
                .contains("have no key such as `description:`"),
            "{:?}",
            prompt.warnings()
        );
    }
}

#[test]
fn a_mistake_costs_nothing_of_entries_whose_keys_are_not_words() {
    for key in [
        "allowed tools",
        "$schema",
        "author/x",
        "\"q r\"",
        "<<",
        "(x)",
        "a,b",
    ] {
        let prompt = parse(&format!(
            "---\ndescription: D\n{key}: https://x/y\ntitle: Review: now\n---\nB"
        ));
        assert_eq!(
            (prompt.description.clone(), prompt.title.clone()),
            (Some("D".into()), Some("Review: now".into())),
            "{key}"
        );
        assert_eq!(prompt.warnings().len(), 1, "{key}");
    }
    let prompt = parse(
        "---\narguments: # the inputs\n  - name: topic\n    default: a: b\n$schema: x\n---\nOn {{topic}}",
    );
    assert_eq!(expand(&prompt, "").unwrap(), "On a: b");
}

#[test]
fn a_file_that_is_not_text_or_too_large_is_a_problem() {
    problem(
        b"---\ntitle: T\n---\nab\xff",
        "4:3: the file is not UTF-8 from here on; save it with the encoding UTF-8",
    );
    problem(
        b"\xff\xfea\0b\0",
        "1:1: the file is UTF-16, not UTF-8; save it with the encoding UTF-8",
    );
    let most = vec![b'x'; MAX_FILE];
    assert!(parse_bytes(&most).is_ok());
    assert!(
        shown(&parse_bytes(&vec![b'x'; MAX_FILE + 1]).unwrap_err())
            .contains("4,194,305 bytes long, the limit is 4 MiB")
    );
    let frontmatter = format!("---\nx: {}\n---\nB", "y".repeat(MAX_FRONTMATTER));
    problem(
        frontmatter.as_bytes(),
        "1:1: the frontmatter is 65,540 bytes long, the limit is 64 KiB; \
         move what is not `title`, `description`, `arguments` or `tags` into the body",
    );
}

#[test]
fn hostile_bodies_and_frontmatters_cost_no_more_than_their_length() {
    // Each of these once cost the square of its length; a regression here is a test that takes more
    // than a minute.
    let many = |piece: &str| piece.repeat(128 * 1024 / piece.len());
    for piece in [
        "{{inptu}}",
        "{{",
        "{{ ",
        "<<",
        "{{a",
        "\\{{input}}",
        "{input}}",
        "{{input} ",
        "é\n{{Input}}",
        "｛｛",
        "｛｛x｝｝",
        "{%",
        "{% if x %}",
        "{{>",
        "{{> x}}",
        " @",
        " @a.md",
        "!`",
        " !`x`",
        "$1",
        " $1 $2",
        "`",
        "` $1 @a.md ",
    ] {
        let prompt = parse(&many(piece));
        prompt.warnings();
        expand(&prompt, "x").unwrap();
    }
    for piece in [
        "${input:a:",
        "${input:a",
        "$ARGUMENTS[",
        "$ARGUMENTS[1",
        "$a-",
        "\\$1",
        "$",
        "{{{ ",
        "{{plugin:",
        "!{",
        "@{",
        "```!",
        "{{a",
        "${1:-",
        "$20 ${@:1}",
    ] {
        for parse in [
            claude::parse_command,
            codex::parse,
            codex::parse_pi,
            claude::parse_opencode,
            vscode::parse,
            fabric::parse,
        ] {
            let prompt = testing::parsed(parse, &piece.repeat(4096));
            prompt.warnings();
            prompt.unexpanded();
            expand(&prompt, "x").unwrap();
        }
    }
    let distinct: String = (0..100_000)
        .map(|word| format!("{{{{w{word:05}}}}}"))
        .collect();
    let names: String = (0..MAX_ARGUMENTS)
        .map(|name| format!("- v{name:0>60}\n"))
        .collect();
    parse(&format!("---\narguments:\n{names}---\n{distinct}")).warnings();
    parse(&format!(
        "---\n\"{}\n: x\n---\n",
        ":".repeat(MAX_FRONTMATTER - 10)
    ))
    .warnings();
    let keys: String = (0..8000).map(|key| format!("a{key}:\n")).collect();
    parse(&format!("---\n{keys}---\n")).warnings();
    parse(&format!("---\n{keys}b: c: d\n---\n")).warnings();
    let arguments: String = (0..8000)
        .map(|argument| format!("- x{argument}\n"))
        .collect();
    let many_arguments = format!(
        "---\narguments:\n{arguments}---\n{}",
        many("{{x99}} {{x98}")
    );
    problem(
        many_arguments.as_bytes(),
        "103:3: more than 100 arguments are declared; declare fewer, or take them all as `{{input}}`",
    );
}

#[test]
fn arguments_with_a_dollar_is_the_input_where_nothing_else_is() {
    let check = |file: &str, text: &str, want: &str| {
        assert_eq!(expand(&parse(file), text).unwrap(), want, "{file:?}")
    };
    check(
        "Fix $ARGUMENTS, then $ARGUMENTS.",
        "a \"b\" $ARGUMENTS",
        "Fix a \"b\" $ARGUMENTS, then a \"b\" $ARGUMENTS.",
    );
    check("[$ARGUMENTS]", "", "[]");
    check("\\$ARGUMENTS: $ARGUMENTS", "x", "$ARGUMENTS: x");
    check("\\$ARGUMENTS", "x", "$ARGUMENTS\n\nx");
    check("$ARGUMENTS {{input}}", "x", "$ARGUMENTS x");
    check("$ARGUMENTS << input >>", "x", "$ARGUMENTS x");
    check("$ARGUMENTS \\{{input}}", "x", "x {{input}}");
    check(
        "$ARGUMENT $arguments ${ARGUMENTS} $1",
        "x",
        "$ARGUMENT $arguments ${ARGUMENTS} $1\n\nx",
    );
    check(
        "---\narguments: [{name: a, required: true}]\n---\n{{a}}: $ARGUMENTS",
        "x y z",
        "x: y z",
    );
    check(
        "---\narguments: [{name: input, default: d}]\n---\n$ARGUMENTS",
        "",
        "d",
    );
    for format in [claude::parse_opencode, claude::parse_cursor] {
        testing::check(
            format,
            "---\nagent: build\n---\nReview $ARGUMENTS.",
            "costs $& $1",
            "Review costs $& $1.",
        );
        testing::check(format, "Review.", "a b", "Review.\n\na b");
    }
    testing::check(
        claude::parse_opencode,
        "Create $1 in $2, $ARGUMENTS {{input}}",
        "x",
        "Create $1 in $2, x x",
    );
}

#[test]
fn of_repeated_keys_the_last_one_is_used_whatever_comes_before_them() {
    let file = "---\ntitle: T\ntags: [a]\ntags: [b]\n---\nB";
    assert_eq!(parse(file).tags, ["b"]);
}

#[test]
fn a_warning_about_a_value_below_its_key_is_at_the_line_of_the_value() {
    for (value, want) in [
        (
            "\"",
            "4:3: the value of `arguments` is not valid YAML without quotes, and is read as text; write `arguments: \"\"`",
        ),
        (
            "#-",
            "4:3: `#-` is not part of `arguments`, because YAML reads it as a comment; write `arguments: \"#-\"` if it is text",
        ),
    ] {
        let warnings = parse(&format!("---\narguments:\n\n  {value}\n---\nB")).warnings();
        let texts: Vec<String> = warnings.iter().map(shown).collect();
        assert!(texts.iter().any(|text| text == want), "{texts:?}");
    }
}

#[test]
fn the_repair_of_a_list_quotes_each_item() {
    for (value, want) in [
        (
            "tags: [a, #b]",
            "2:7: an item of `tags` is not valid YAML without quotes, and is read as text; write `tags: [\"a\", \"#b\"]`",
        ),
        (
            "tags: [*, 'a b',]",
            "2:7: an item of `tags` is not valid YAML without quotes, and is read as text; write `tags: [\"*\", \"a b\"]`",
        ),
        (
            "tags:\n- a\n- @b",
            "4:3: the item `@b` is not valid YAML without quotes, and is read as text; write `- \"@b\"`",
        ),
        (
            "title: [a, #b]",
            "2:8: the value of `title` is not valid YAML without quotes, and is read as text; write `title: \"[a, #b]\"`",
        ),
    ] {
        let warnings = parse(&format!("---\n{value}\n---\nB")).warnings();
        let texts: Vec<String> = warnings.iter().map(shown).collect();
        assert_eq!(texts, [want], "{value}");
    }
}

/// Returns the texts in the frontmatter of a prompt.
fn texts_of(prompt: &Prompt) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    texts.extend(prompt.title.clone());
    texts.extend(prompt.description.clone());
    texts.extend(prompt.tags.clone());
    for argument in &prompt.arguments {
        texts.push(argument.name.clone());
        texts.extend(argument.default.clone());
        texts.extend(argument.choices.clone());
    }
    texts
}

#[test]
fn a_repair_that_is_pasted_over_a_value_keeps_its_whole_text() {
    let argument = "description: D\narguments:\n";
    for (above, value, want) in [
        (
            "",
            "description: Post to the #deploys",
            &["Post to the #deploys"][..],
        ),
        (
            "",
            "description:\n  Post to the #deploys",
            &["Post to the #deploys"],
        ),
        (
            "",
            "description:\n  #deploys is ours",
            &["#deploys is ours"],
        ),
        (
            "",
            "description: first line\n  second #line",
            &["first line second #line"],
        ),
        (
            "",
            "description: first: line\n  second #line",
            &["first: line second #line"],
        ),
        ("", "description: &co and\n  more", &["&co and more"]),
        ("", "description: \"Fix\" #12", &["\"Fix\" #12"]),
        ("", "description: 'Fix' #12 now", &["'Fix' #12 now"]),
        ("", "description: \"one\n  two\" #3", &["\"one two\" #3"]),
        (
            "",
            "description: one\n  see # two: three",
            &["one see # two: three"],
        ),
        (
            "",
            "description: one: two\n  three: #4",
            &["one: two three: #4"],
        ),
        ("description: D\n", "tags: [a, !b]", &["D", "a", "!b"]),
        ("description: D\n", "tags: [a, &b]", &["D", "a", "&b"]),
        ("description: D\n", "tags: a, #b", &["D", "a", "#b"]),
        (
            "description: D\n",
            "tags: [\"a\" #b, c]",
            &["D", "\"a\" #b", "c"],
        ),
        ("description: D\n", "tags: @a, b", &["D", "@a", "b"]),
        ("description: D\n", "tags: [a, b #c]", &["D", "a", "b #c"]),
        (
            "description: D\n",
            "tags: [a, #b\n  c]",
            &["D", "a", "#b c"],
        ),
        (
            "description: D\n",
            "tags: [\n  F #,\n  C#\n]",
            &["D", "F #", "C#"],
        ),
        (
            "description: D\n",
            "tags: [a,\n  @b, c]",
            &["D", "a", "@b", "c"],
        ),
        (
            "description: D\n",
            "tags: [\n  @a,\n  # two\n  b\n]",
            &["D", "@a", "b"],
        ),
        (
            "description: D\n",
            "tags: [a, \"b, c\", d #e]",
            &["D", "a", "b, c", "d #e"],
        ),
        (
            "description: D\ntags:\n- a\n",
            "- b #c",
            &["D", "a", "b #c"],
        ),
        (
            "description: D\ntags:\n- a\n",
            "- b\n  #c",
            &["D", "a", "b #c"],
        ),
        (argument, "  - {name: z, default: #x}", &["D", "z", "#x"]),
        (argument, "  - {name: z, default: !x}", &["D", "z", "!x"]),
        (
            argument,
            "  - {name: z,\n     default: &x y}",
            &["D", "z", "&x y"],
        ),
        (
            "description: D\n",
            "arguments: [{name: z, choices: [a, #b]}]",
            &["D", "z", "a", "#b"],
        ),
        (
            "description: D\narguments:\n  - name: z\n",
            "    choices: [C#, F #]",
            &["D", "z", "C#", "F #"],
        ),
    ] {
        let body = if want.contains(&"z") { "{{z}}" } else { "B" };
        let file = |lines: &str| format!("---\n{above}{lines}\n---\n{body}");
        let warnings = parse(&file(value)).warnings();
        assert_eq!(warnings.len(), 1, "{value}: {warnings:?}");
        let fix = warnings[0].fix.strip_prefix("write `").unwrap();
        let (repair, _) = fix.rsplit_once('`').unwrap();
        let before = &value[..value.find(|letter| !"- ".contains(letter)).unwrap()];
        let before = before.trim_end_matches(if repair.starts_with('-') { "- " } else { "" });
        let repaired = parse(&file(&format!("{before}{repair}")));
        assert_eq!(texts_of(&repaired), want, "{repair}");
        assert_eq!(repaired.warnings(), [], "{repair}");
    }
}

#[test]
fn case_and_blanks_of_a_marker_do_not_matter_and_one_that_is_misspelled_gets_a_warning() {
    let file = |line: &str| format!("---\nmessages: true\n---\nA\n{line}\nB");
    for line in [
        "<!--assistant-->",
        "<!--  ASSISTANT\t-->",
        " <!-- Assistant --> ",
    ] {
        let prompt = parse(&file(line));
        assert_eq!(prompt.messages[1].role, Role::Assistant, "{line}");
        assert_eq!(prompt.warnings(), [], "{line}");
    }
    for (line, role) in [
        ("<!-- assistant: -->", "assistant"),
        ("<!-- asistant -->", "assistant"),
        ("<!- Assistant ->", "assistant"),
        ("<!-- assistant --> Hello", "assistant"),
        ("<!-- role=system -->", "user"),
        ("<!-- model -->", "assistant"),
        ("<!-- AI -->", "assistant"),
        ("<!-- bot: -->", "assistant"),
        ("<!-- human -->", "user"),
    ] {
        let warnings = parse(&file(line)).warnings();
        let want = format!(
            "5:1: `{line}` is text, not a marker; write `<!-- {role} -->` alone in a line if it is meant to begin a message"
        );
        assert_eq!(warnings.iter().map(shown).collect::<Vec<_>>(), [want]);
    }
    for line in [
        "## Assistant",
        "<!-- a note for the user of this -->",
        "<!-- the model -->",
        "<!-- bot --> Hello",
        "```\n<!-- user: -->\n```",
    ] {
        let warnings = parse(&file(line)).warnings();
        let want = "`messages: true` has no effect, because the body has no marker; write `<!-- assistant -->` \
                    or `<!-- user -->` alone in the line above each message, or delete the key";
        assert_eq!(
            warnings.iter().map(shown).collect::<Vec<_>>(),
            [want],
            "{line}"
        );
    }
}

#[test]
fn what_is_probably_a_mistake_gets_a_warning() {
    let text = |read: &str| {
        format!(
            "the value of `description` is not valid YAML without quotes, and is read as text; write `description: {read}`"
        )
    };
    let left = |written: &str| {
        format!(
            "`{written}` is not a placeholder, and is left as it is; write `{{{{input}}}}` if it is meant to be replaced"
        )
    };
    let nameless = "has no usable name, and is ignored; write `- name: …`, with a name without spaces or braces";
    let list = "`arguments` is not a list, and declares nothing; write one line `  - name: …` for each argument below `arguments:`, or delete \
                the key";
    let opens = "does not open frontmatter, and is part of the prompt's text; write `---` alone in line 1, and once more after the \
                 last key; or write a rule as `***`";
    for (file, want) in [
        ("---\ndescription: Review: the code\n---\nB", vec![format!("2:14: {}", text("\"Review: the code\""))]),
        ("---\ndescription: [file] [options]\n---\nB", vec![format!("2:14: {}", text("\"[file] [options]\""))]),
        ("---\ndescription: \"Quoted\" and more\n---\nB", vec![format!("2:14: {}", text("'\"Quoted\" and more'"))]),
        ("---\ndescription: 'don't'\n---\nB", vec![format!("2:14: {}", text("\"don't\""))]),
        ("---\ndescription: \"never closed\n---\nB", vec![format!("2:14: {}", text("\"never closed\""))]),
        ("---\ndescription:Glued\n---\nB", vec![format!("2:13: {}", text("\"Glued\""))]),
        ("---\ndescription: one\ndescription: two\n---\nB", vec!["3:1: `description` appears twice; the last is used; keep one of the two".to_owned()]),
        ("---\na stray line\ndescription: D\n---\nB", vec!["2:1: the line `a stray line` has no `key: value`, and is ignored; give it a key, or delete it".to_owned()]),
        ("---\ndescription: D\n\tT\n---\nB", vec![format!("2:14: {}", text("\"D T\""))]),
        ("---\ndescription: [args]\n---\nB", vec!["2:14: `description` is a list or a map to YAML; it is read as text; write `description: \"[args]\"`".to_owned()]),
        ("---\ndescription:\n  m: n #d\n---\nB", vec!["3:3: `description` is a list or a map to YAML; it is read as text; put the value in quotes".to_owned()]),
        ("---\ndesciption: D\n---\nB", vec!["2:1: unknown key `desciption`; write `description:` if that is meant".to_owned()]),
        ("---\nYou are careful.\n---\nB", vec!["1:1: the lines between the first two `---` have no key such as `description:`; they are part of the prompt's text; write rules as `***`, or give the frontmatter a `description: …`".to_owned()]),
        ("\n---\ntitle: T\n---\nB", vec![format!("2:1: the line `---` {opens}")]),
        ("+++\ntitle: T\n+++\nB", vec![format!("1:1: the line `+++` {opens}")]),
        ("---\narguments: $QUERY\n---\nB", vec![format!("2:12: {list}")]),
        ("---\narguments:\n  a: one\n---\nB", vec![format!("3:3: {list}")]),
        (
            "---\narguments:\n  - description: nameless\n  - a\n  - name: a\n  - name: b c\n---\n{{a}}",
            vec![
                format!("3:5: argument 1 {nameless}"),
                "5:5: the argument `a` is declared twice; the first is used; give one of the two another name, or delete it".to_owned(),
                format!("6:5: argument 4 {nameless}"),
            ],
        ),
        ("---\narguments: [{name: a, required: [true]}]\n---\n{{a}}", vec!["2:33: `required` is neither `true` nor `false`, and is read as `false`; write `required: true` or `required: false`".to_owned()]),
        ("---\narguments:\n- name: a\n  choices: [{x: y}, z]\n---\n{{a}}", vec!["4:13: an item of `choices` is not a string, and is ignored; write it as a string, in quotes if it begins with `[` or `{`".to_owned()]),
        ("---\narguments:\n- name: a\n  choices: [x]\n  default: y\n---\n{{a}}", vec!["5:3: the default `y` is not among the choices, `x`; add it to `choices`, or write one of them as `default`".to_owned()]),
        ("---\narguments: [a]\n---\nB", vec!["declared but not used in the body: `a`; write `{{a}}` where the text belongs, or delete the declaration".to_owned()]),
        ("---\ntitle: T\n---\n", vec!["the prompt has no body: it expands to its input only; write the instructions".to_owned()]),
        ("a\nb\u{200b}c\u{e0041}", vec!["2:2: an invisible character, U+200B, and 1 more: the model reads what you cannot see; delete it, unless you need it".to_owned()]),
        ("---\ntags: [\"a\u{200b}\"]\n---\nB", vec!["the frontmatter has an invisible character, U+200B: the model reads what you cannot see; delete it, unless you need it".to_owned()]),
        ("é {{inptu}}", vec![format!("1:3: {}", left("{{inptu}}"))]),
        ("é {{ Input }} <<inputs>>", vec![format!("1:3: {}", left("{{ Input }}")), format!("1:15: {}", left("<<inputs>>"))]),
        ("{{input}", vec![format!("1:1: {}", left("{{input}"))]),
        ("Do {{args}} {input} ${input}", vec![format!("1:4: {}", left("{{args}}")), format!("1:13: {}", left("{input}")), format!("1:21: {}", left("${input}"))]),
        ("{{input}} $ARGUMENTS", vec![format!("1:11: {}", left("$ARGUMENTS"))]),
        ("{{input}} `$ARGUMENTS` \\$ARGUMENTS {{args}} <input> {input} {{#each}} {{ .Values.x }} ${{ github.ref }}", vec![]),
        ("x ｛｛ｉｎｐｕｔ｝｝", vec![format!("1:3: {}", left("｛｛ｉｎｐｕｔ｝｝"))]),
        ("｛｛見出し｝｝ ｛｛｝｝ ｛｛input", vec![]),
        (
            "{{a}} <<b>> {{a}} `{{name}}` {{ .Values.x }} {{1}}",
            ["1:1: `{{a}}` is not a placeholder, and is left as it is; declare `a`", "1:7: `<<b>>` is not a placeholder, and is left as it is; declare `b`"]
                .map(|start| format!("{start} in the `arguments` of the frontmatter if it is meant to be replaced"))
                .to_vec(),
        ),
    ] {
        assert_eq!(parse(file).warnings().iter().map(shown).collect::<Vec<_>>(), want, "{file}");
    }
    assert_eq!(
        parse(&"{{input}} {{inptu}}\n".repeat(800)).warnings().len(),
        100
    );
    let spaced = Prompt::parse(Name::new("my prompt").unwrap(), b"B").unwrap();
    assert!(
        spaced.warnings()[0]
            .fix
            .contains("rename it to `my-prompt`")
    );
}

#[test]
fn values_are_the_text_as_written() {
    for (yaml, want) in [
        ("description: 007", "007"),
        ("description:\n  1.10 # a number", "1.10"),
        ("description: 2024-01-01", "2024-01-01"),
        ("description: yes", "yes"),
        ("description: ~5", "~5"),
        ("title: &n 5\ndescription: *n", "5"),
        ("description: [a,\n  b]", "[a, b]"),
        ("description: \"one\n  two\"", "one two"),
        (
            "description: >\n  folded # text\n  goes on",
            "folded # text goes on",
        ),
        ("title: T\ndescription: @team", "@team"),
        ("title: T\ndescription: - dash", "- dash"),
        ("title: T\ndescription: *", "*"),
        ("description: a\0b\ntitle: T", "a\0b"),
    ] {
        assert_eq!(
            parse(&format!("---\n{yaml}\n---\nB"))
                .description
                .as_deref(),
            Some(want),
            "{yaml}"
        );
    }
    let argument = |keys: &str| {
        parse(&format!(
            "---\narguments:\n  - name: x\n    {keys}\n---\n{{{{x}}}}"
        ))
        .arguments[0]
            .clone()
    };
    for (keys, want) in [
        (
            "choices: [short, \"long, and wide\", 'x']",
            &["short", "long, and wide", "x"][..],
        ),
        (
            "choices:\n      - 1.10\n      - yes # really\n      - null",
            &["1.10", "yes", "null"],
        ),
        ("choices: \"long, and wide\"", &["long, and wide"]),
        ("choices: [C#, F #, 'a b']", &["C#", "F #", "a b"]),
        ("choices:\n      - @a\n      - b", &["@a", "b"]),
        ("choices: fast, slow", &["fast", "slow"]),
        ("choices:", &[]),
        ("choices: [a, b, a, \" c \"]", &["a", "b", " c "]),
    ] {
        assert_eq!(argument(keys).choices, want, "{keys}");
    }
    assert_eq!(argument("default: 1.10").default.as_deref(), Some("1.10"));
    assert_eq!(argument("default: \" x \"").default.as_deref(), Some(" x "));
    for tags in [
        "tags: [git, 2026]",
        "tags:\n- git\n- 2026",
        "tags: git, 2026",
        "description: x: y\ntags: [git, 2026]",
    ] {
        assert_eq!(
            parse(&format!("---\n{tags}\n---\nB")).tags,
            ["git", "2026"],
            "{tags}"
        );
    }
}

#[test]
fn a_list_that_is_read_as_text_loses_its_comments_alone() {
    let prompt = parse("---\ntags: # two\n  - a\n # three\n - b\n  #c\n---\nB");
    assert_eq!(prompt.tags, ["- a - b #c"]);
}

#[test]
fn arguments_may_be_written_in_several_ways() {
    for yaml in [
        "arguments: [a, b]",
        "arguments:\n- a\n- name: b",
        "arguments:\n  - {name: a, required: true}\n  - name: b",
        "{arguments: [{name: a}, {name: b}]}",
        "parameters:\n  - name: a\n    type: string\n  - name: b",
    ] {
        let prompt = parse(&format!("---\n{yaml}\n---\n{{{{a}}}} {{{{b}}}}"));
        assert_eq!(
            (prompt.value_names(), prompt.warnings()),
            (vec!["a", "b"], Vec::new()),
            "{yaml}"
        );
    }
    for other in ["parameters: {temperature: 1}", "arguments: \"topic\""] {
        assert_eq!(
            parse(&format!("---\n{other}\n---\nText")).arguments,
            [],
            "{other}"
        );
    }
}

#[test]
fn the_whole_text_follows_a_body_without_placeholders_and_an_empty_body_is_the_text_alone() {
    for (body, separator) in [("Body", "\n\n"), ("", "")] {
        for arguments in [
            "[input]",
            "[b, input]",
            "[b, {name: input, default: d}]",
            "[]",
        ] {
            let prompt = parse(&format!(
                "---\ntitle: T\narguments: {arguments}\n---\n{body}"
            ));
            assert_eq!(expand(&prompt, "").unwrap(), body);
            for text in ["one two three", "input=one two", "two b=one\n"] {
                let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
                assert_eq!(
                    expand(&prompt, text).unwrap(),
                    format!("{body}{separator}{text}"),
                    "{arguments}"
                );
                assert_eq!(
                    prompt.expand(Call::Shell {
                        words: &words,
                        piped: "",
                        pipe_index: 0
                    }),
                    prompt.expand(Call::Text(text)),
                    "{arguments}"
                );
            }
        }
    }
}

#[test]
fn a_heading_with_a_placeholder_or_next_to_a_description_is_no_title() {
    for (file, title) in [
        ("# Review {{input}}\n\nText.", None),
        ("# Fix $ARGUMENTS", None),
        ("---\nengine: jinja\n---\n# Say {{ input|upper }}", None),
        ("---\ndescription: D\n---\n## Context\n\nText.", None),
        ("---\ntags: [a]\n---\n## Context\n\nText.", Some("Context")),
        (
            "# About {{ .Values.x }} {{input",
            Some("About {{ .Values.x }} {{input"),
        ),
    ] {
        assert_eq!(parse(file).title.as_deref(), title, "{file}");
    }
    assert_eq!(
        parse("# Review {{input}}").description.as_deref(),
        Some("Review {{input}}")
    );
}
