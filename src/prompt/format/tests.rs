//! What a file says: the rules for prompt files.

use super::testing::shown;
use super::*;
use crate::prompt::{Argument, Call, MAX_ARGUMENTS, MAX_FILE, MAX_FRONTMATTER, Messages, Position};

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
    prompt.expand(Call::Text(text)).map(Messages::into_text).map_err(|error| error.to_string())
}

#[track_caller]
fn check(file: &str, description: &str, body: &str) {
    let prompt = parse(file);
    assert_eq!(prompt.description.clone().unwrap_or_default(), description, "{file:?}");
    assert_eq!(body_of(&prompt), body, "{file:?}");
}

/// The file is read without an error, with this description, body `B` and exactly these warnings.
#[track_caller]
fn lenient(frontmatter: &str, description: &str, warnings: &[&str]) {
    let prompt = parse(&format!("---\n{frontmatter}\n---\nB {{{{input}}}}\n"));
    assert_eq!(prompt.description.clone().unwrap_or_default(), description, "{frontmatter:?}");
    assert_eq!(body_of(&prompt), "B {{input}}", "{frontmatter:?}");
    let shown: Vec<String> = prompt.warnings().iter().map(shown).collect();
    assert_eq!(shown, warnings, "{frontmatter:?}");
}

#[track_caller]
fn problem(file: &[u8], want: &str) {
    assert_eq!(shown(&parse_bytes(file).unwrap_err()), want);
}

#[test]
fn frontmatter_and_each_of_its_keys_are_optional() {
    check("---\ndescription: D\ntitle: T\n---\nBody {{input}}\n", "D", "Body {{input}}");
    check("---\ntitle: T\n---\nBody\n", "Body", "Body");
    check("---\n---\nBody\n", "Body", "Body");
    check("---\n# nothing but a comment\n\n---\nBody\n", "Body", "Body");
    check("Body\n", "Body", "Body");
    check("---\ntags: [a, b]\nmodel: {x: 1}\ndescription: D\n---\nBody", "D", "Body");
    assert_eq!(parse("---\ntitle: T\n---\n# H\n").title.as_deref(), Some("T"));
    assert_eq!(parse("# H\n").title.as_deref(), Some("H"));
    assert_eq!(parse("text\n").title, None);
}

#[test]
fn without_a_description_the_first_paragraph_serves() {
    check("# Title\n\nFirst *one*\nhere.\n\nSecond.\n", "First one here.", "# Title\n\nFirst *one*\nhere.\n\nSecond.");
    check("---\ndescription:\n---\nBody\n", "Body", "Body");
    check("---\ndescription: \"\"\n---\nBody\n", "Body", "Body");
    check("# Only a heading\n", "Only a heading", "# Only a heading");
    let long = format!("# {}", "wörd ".repeat(100).trim_end());
    check(&long, "wörd ".repeat(32).trim_end(), &long);
}

#[test]
fn the_body_keeps_everything_but_empty_lines_at_its_two_ends() {
    check("---\ndescription: D\n---\n\n \t\n    indented  \n\n\n  end  \n\n\n", "D", "    indented  \n\n\n  end  ");
    check("---\ndescription: D\n---\nx\n---\ny\n", "D", "x\n---\ny");
    check("\n\n", "", "");
    check("\n\n  \n", "", "");
    check("  ", "", "");
}

#[test]
fn crlf_and_bom_and_tiny_files_are_ordinary() {
    check("---\r\ndescription: D\r\n---\r\nOne\r\nTwo\r\n", "D", "One\nTwo");
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
fn an_unclosed_frontmatter_is_a_problem_not_a_body() {
    let fix = "or write the rule in line 1 as `***` if no frontmatter is meant";
    let message = "the frontmatter that line 1 opens with `---` is never closed";
    for file in ["---\ndescription: D\ntags:\n  - a\n\nBody: text\n", "---\nBody\n", "---"] {
        problem(file.as_bytes(), &format!("1:1: {message}; add a line `---` after its last key, {fix}"));
    }
    for almost in ["----", "...", " ---", "--", "—", "–––"] {
        let file = format!("---\r\ndescription: D\r\n{almost}\r\nB\r\n");
        problem(file.as_bytes(), &format!("1:1: {message}; write line 3 as `---`, {fix}"));
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
        "6:50: the YAML aliases (`*name`) of the frontmatter make it larger than 131072 bytes; \
         write the values out instead of repeating them with aliases",
    );
    let long = format!("---\na: &a {}\nb: [{}]\n---\n", "x".repeat(30_000), "*a, ".repeat(100));
    assert!(parse_bytes(long.as_bytes()).is_err(), "the length of what is repeated counts");
    // Entry by entry, after a mistake, the aliases of all entries count together.
    let half = format!("&a {}", "x".repeat(20_000));
    let entries: String = (0..3).map(|entry| format!("e{entry}: [{half}, *a, *a]\n")).collect();
    let together = format!("---\nmistake: a: b\n{entries}---\n");
    assert!(parse_bytes(together.as_bytes()).unwrap_err().message.contains("YAML aliases"));
    lenient("title: &t T\ndescription: *t", "T", &[]);
}

#[test]
fn the_usual_mistakes_are_read_line_by_line_and_check_says_the_fix() {
    let colon = "`: ` inside a value that is not in quotes";
    for (line, read, column, message, fixed) in [
        ("Review: the code", "Review: the code", 20, colon, "\"Review: the code\""),
        (
            "[file] [options]",
            "[file] [options]",
            14,
            "a value that begins with `[` needs quotes",
            "\"[file] [options]\"",
        ),
        ("\"Quoted\" and more", "\"Quoted\" and more", 23, "text after the closing quote", "'\"Quoted\" and more'"),
        ("\"Yes\" or \"no\"", "\"Yes\" or \"no\"", 20, "text after the closing quote", "'\"Yes\" or \"no\"'"),
        ("*bold* claim", "*bold* claim", 14, "a value that begins with `*` needs quotes", "\"*bold* claim\""),
        ("'don't'", "don't", 19, "text after the closing quote", "\"don't\""),
        ("\"never closed", "never closed", 14, "a quote that is never closed", "\"never closed\""),
        ("!z 'a", "!z 'a", 14, "a value that begins with `!` needs quotes", "\"!z 'a\""),
    ] {
        let warning = format!("2:{column}: {message}; the value is read as text; write `description: {fixed}`");
        lenient(&format!("description: {line}\ntitle: T"), read, &[&warning]);
    }
    for mark in ["@team", "`code` first", "%d of them", "- dash", "> 5 things", "|pipe", "? what", ", what", "*"] {
        let prompt = parse(&format!("---\ntitle: T\ndescription: {mark}\n---\nB\n"));
        assert_eq!((prompt.description.as_deref(), prompt.title.as_deref()), (Some(mark), Some("T")));
        assert_eq!(prompt.warnings()[0].position, Some(Position { line: 3, column: 14 }), "{mark}");
    }
    for (frontmatter, read, warning) in [
        ("description:\tTabbed", "Tabbed", "2:14: a tab after the colon"),
        ("description:Glued", "Glued", "2:13: no space after the colon"),
        ("description:Review: the code", "Review: the code", "2:13: no space after the colon"),
        ("description: [args]", "[args]", "2:14: `description` is a list or a map to YAML; it is read as text"),
        ("description: one\ndescription: two", "two", "3:1: `description` appears twice; the last is used"),
        ("description: D\nmodel:opus", "D", "3:7: no space after the colon"),
        ("a stray line\ndescription: D", "D", "2:1: the line `a stray line` is not a `key: value`, and is ignored"),
        ("description: D\nno key here", "D", "3:1: the line `no key here` is not a `key: value`, and is ignored"),
        ("description: D\n\tT", "D T", "2:1: `description` is read as text, because it is not valid YAML"),
    ] {
        let prompt = parse(&format!("---\n{frontmatter}\n---\nB {{{{input}}}}\n"));
        assert_eq!(prompt.description.as_deref(), Some(read), "{frontmatter:?}");
        let warnings: Vec<String> = prompt.warnings().iter().map(shown).collect();
        assert!(warnings.len() == 1 && warnings[0].starts_with(warning), "{frontmatter:?}: {warnings:?}");
    }
}

#[test]
fn a_mistake_in_one_key_costs_no_other() {
    let prompt = parse(
        "---\ndescription: Compare: options\narguments:\n  - name: options\n    description: What: to compare\n    \
         required: true\n  - name: criteria\n    default: cost, risk: both\ntitle: Compare\n---\n{{options}} {{criteria}}\n",
    );
    let argument = |name: &str, description: Option<&str>, required, default: Option<&str>| Argument {
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
    let positions: Vec<_> = prompt.warnings().iter().map(|w| w.position.map(|p| (p.line, p.column))).collect();
    assert_eq!(positions, [Some((2, 21)), Some((5, 22)), Some((8, 24))]);
}

#[test]
fn a_value_of_several_lines_stays_next_to_a_mistake() {
    for (value, want) in [
        ("default: |\n      one\n        two: # three", "[one\n  two: # three]"),
        ("default: >\n      one\n      two", "[one two]"),
        ("default: 1.10", "[1.10]"),
        ("default: ~", "[]"),
        ("default: \"\"", "[]"),
    ] {
        let arguments = format!("arguments:\n  - name: x\n    description: a: b\n    {value}");
        let prompt = parse(&format!("---\ntitle: A: B\n{arguments}\n---\n[{{{{x}}}}]"));
        assert_eq!(expand(&prompt, "").unwrap(), want);
    }
    lenient("description: \"one\n  two\"", "one two", &[]);
}

#[test]
fn numbers_in_flow_lists_are_the_text_as_written() {
    let prompt = parse("---\narguments: [{name: x, default: 1.10, choices: [1.10, 007, null]}]\n---\n{{x}}");
    assert_eq!(prompt.arguments[0].default.as_deref(), Some("1.10"));
    assert_eq!(prompt.arguments[0].choices, ["1.10", "007", "null"]);
    assert_eq!(prompt.warnings(), []);
    let unclosed = parse("---\narguments: [topic\n---\n{{topic}}");
    assert_eq!(expand(&unclosed, "x").unwrap(), "x");
    assert!(unclosed.warnings()[0].message.starts_with("a value that begins with `[`"), "{:?}", unclosed.warnings());
}

#[test]
fn what_yaml_drops_silently_gets_a_warning() {
    lenient(
        "description: Fix issue #12 now",
        "Fix issue",
        &["2:24: `#12 now` is dropped by YAML, and not part of `description`; \
           write `description: \"Fix issue #12 now\"`"],
    );
    lenient(
        "description: &co is nice",
        "is nice",
        &["2:14: `&co` is dropped by YAML, and not part of `description`; write `description: \"&co is nice\"`"],
    );
    lenient(
        "description: !important",
        "B {{input}}",
        &["2:14: `!important` is dropped by YAML, and not part of `description`; write `description: \"!important\"`"],
    );
    lenient("description: \"Fix\" # a comment on purpose", "Fix", &[]);
    lenient("description: >\n  folded # text\n  goes on", "folded # text goes on", &[]);
    let nul = parse("---\ndescription: a\0b\ntitle: T\n---\nB");
    assert_eq!((nul.description.as_deref(), nul.title.as_deref()), (Some("a\0b"), Some("T")));
}

#[test]
fn scalars_are_the_text_as_written() {
    for written in ["007", "1.10", "true", "2024-01-01", "1e3", "0x10", "yes", "~5"] {
        lenient(&format!("description: {written}"), written, &[]);
        lenient(&format!("description:\n  {written} # a number"), written, &[]);
    }
    let alias = parse("---\ntitle: &n 5\ndescription: *n\n---\nB");
    assert_eq!((alias.title.as_deref(), alias.description.as_deref()), (Some("5"), Some("5")));
    let names = parse("---\narguments:\n  - 007\n---\n{{007}}");
    assert_eq!(expand(&names, "x").unwrap(), "x");
    let list = parse("---\narguments:\n  - name: x\n    required: [true] # must\n---\n{{x}}");
    assert!(list.warnings()[0].message.starts_with("`required` is neither `true` nor `false`"));
    assert_eq!(parse("---\narguments:\n  - name: x # the topic\n    required: true # must\n---\n{{x}}").warnings(), []);
    let aliased = "---\narguments:\n- name: x\n  default: &d all\n- name: y\n  default: *d\n---\n{{x}}{{y}}";
    assert_eq!(parse(aliased).warnings(), []);
    let anchored = parse("---\ndescription: &version 1.10\n---\nB");
    assert_eq!(anchored.description.as_deref(), Some("1.10"));
    let flow = parse("---\ndescription: [a,\n  b]\n---\nB");
    assert_eq!(flow.description.as_deref(), Some("[a, b]"));
    let prompt =
        parse("---\narguments:\n  - name: 5\n    default: 1.10\n  - name: x\n    required: yes\n---\n{{5}} {{x}}");
    assert_eq!(prompt.arguments[0].name, "5");
    assert_eq!(prompt.arguments[0].default.as_deref(), Some("1.10"));
    assert!(prompt.arguments[1].required);
    assert_eq!(prompt.warnings(), []);
}

#[test]
fn arguments_may_be_written_in_several_ways_and_what_is_not_one_gets_a_warning() {
    let names = |frontmatter: &str| {
        let prompt = parse(&format!("---\n{frontmatter}\n---\n{{{{a}}}} {{{{b}}}}\n"));
        let names: Vec<String> = prompt.arguments.iter().map(|argument| argument.name.clone()).collect();
        (names.join(" "), prompt.warnings().iter().map(shown).collect::<Vec<_>>())
    };
    let ok = || ("a b".to_owned(), Vec::new());
    assert_eq!(names("arguments: [a, b]"), ok());
    assert_eq!(names("arguments:\n- a\n- name: b"), ok());
    assert_eq!(names("arguments:\n  - {name: a, required: true}\n  - name: b"), ok());
    assert_eq!(names("{arguments: [{name: a}, {name: b}]}"), ok());
    let (found, warnings) =
        names("arguments:\n  - description: nameless\n  - name: a\n  - name: a\n  - name: b c\n  - b");
    assert_eq!(found, "a b");
    assert_eq!(
        warnings,
        [
            "3:3: argument 1 has no usable name, and is ignored; write `- name: …`, with a name without \
             spaces or braces",
            "5:3: the argument `a` is declared twice; the first is used; give one of the two another name, or delete it",
            "6:3: argument 4 has no usable name, and is ignored; write `- name: …`, with a name without \
             spaces or braces",
        ]
    );
    let (found, warnings) = names("arguments:\n  a: one\n  b: two");
    assert_eq!(found, "");
    assert!(warnings[0].starts_with("3:3: `arguments` is not a list, and declares nothing; "), "{warnings:?}");
}

#[test]
fn arguments_given_as_a_text_declare_nothing_and_check_says_what_to_write() {
    for text in ["$QUERY", "topic scope", "=", "\"topic\"", "7", "name: topic", "$A | $B", "|"] {
        let prompt = parse(&format!("---\ndescription: D\narguments: {text}\n---\nOn {{{{input}}}}, {{{{topic}}}}."));
        assert_eq!(prompt.arguments, [], "{text}");
        assert_eq!(expand(&prompt, "x").unwrap(), "On x, {{topic}}.", "{text}");
        let fix = "write one line `  - name: …` for each argument below `arguments:`, or delete the key";
        let warnings: Vec<String> = prompt.warnings().iter().map(shown).collect();
        let want = format!("3:12: `arguments` is not a list, and declares nothing; {fix}");
        assert!(text == "|" || warnings.contains(&want), "{text}: {warnings:?}");
    }
}

#[test]
fn the_key_agents_is_not_a_misspelled_arguments() {
    assert_eq!(parse("---\nagents: [a]\nagent: b\n---\nB {{input}}").warnings(), []);
    assert!(shown(&parse("---\nargments: [a]\n---\nB").warnings()[0]).contains("write `arguments:`"));
}

#[test]
fn lines_between_two_rules_without_any_key_are_text_of_the_prompt() {
    let prompt = parse("---\nYou are careful.\n---\nReview {{input}}\n");
    assert_eq!(body_of(&prompt), "---\nYou are careful.\n---\nReview {{input}}");
    assert_eq!(prompt.description.as_deref(), Some("Review {{input}}"));
    assert!(prompt.warnings()[0].message.contains("have no key such as `description:`"));
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
        assert!(prompt.warnings()[0].message.contains("have no key such as `description:`"), "{:?}", prompt.warnings());
    }
    let comments = parse("---\n# Rules\n## Be brief\n---\nB {{input}}");
    assert_eq!(body_of(&comments), "B {{input}}");
    assert!(comments.warnings()[0].message.ends_with("are comments to YAML, and not part of the prompt"));
}

#[test]
fn a_mistake_costs_nothing_of_entries_whose_keys_are_not_words() {
    for key in ["allowed tools", "$schema", "author/x", "\"q r\"", "<<", "(x)", "a,b"] {
        let prompt = parse(&format!("---\ndescription: D\n{key}: https://x/y\ntitle: Review: now\n---\nB"));
        assert_eq!(
            (prompt.description.clone(), prompt.title.clone()),
            (Some("D".into()), Some("Review: now".into())),
            "{key}"
        );
        assert_eq!(prompt.warnings().len(), 1, "{key}");
    }
    let prompt =
        parse("---\narguments: # the inputs\n  - name: topic\n    default: a: b\n$schema: x\n---\nOn {{topic}}");
    assert_eq!(expand(&prompt, "").unwrap(), "On a: b");
}

#[test]
fn twenty_thousand_brackets_are_read_leniently() {
    for nested in ["[".repeat(20_000), "{".repeat(20_000), "- ".repeat(20_000), "? ".repeat(20_000)] {
        let nested = nested.trim_end();
        for frontmatter in [format!("description: {nested}\ntitle: T"), format!("title: T\nx:\n  {nested}")] {
            let prompt = parse(&format!("---\n{frontmatter}\n---\nB\n"));
            assert_eq!((prompt.title.as_deref(), body_of(&prompt)), (Some("T"), "B"));
            assert_eq!(prompt.warnings()[0].fix, "put the value in quotes");
        }
    }
}

#[test]
fn a_file_that_is_not_text_or_too_large_is_a_problem() {
    problem(b"---\ntitle: T\n---\nab\xff", "4:3: the file is not UTF-8 from here on; save it with the encoding UTF-8");
    problem(b"\xff\xfea\0b\0", "1:1: the file is UTF-16, not UTF-8; save it with the encoding UTF-8");
    let most = vec![b'x'; MAX_FILE];
    assert!(parse_bytes(&most).is_ok());
    assert!(shown(&parse_bytes(&vec![b'x'; MAX_FILE + 1]).unwrap_err()).contains("4194305 bytes long, the limit"));
    let frontmatter = format!("---\nx: {}\n---\nB", "y".repeat(MAX_FRONTMATTER));
    problem(
        frontmatter.as_bytes(),
        "1:1: the frontmatter is 65540 bytes long, the limit is 65536; \
         move what is not `title`, `description`, `arguments` or `tags` into the body",
    );
}

#[test]
fn a_placeholder_that_looks_misspelled_gets_a_warning() {
    let warned = |body: &str| {
        let prompt = parse(&format!("---\narguments:\n  - name: topic\n---\n{body}{{{{topic}}}}"));
        prompt.warnings().iter().map(shown).collect::<Vec<_>>()
    };
    for (written, meant) in [
        ("{{inptu}}", "input"),
        ("{{ Input }}", "input"),
        ("<<inputs>>", "input"),
        ("{{topics}}", "topic"),
        ("{{input}", "input"),
        ("{input}}", "input"),
    ] {
        assert_eq!(
            warned(&format!("a\né {written} ")),
            [format!(
                "6:3: `{written}` is not a placeholder, and is left as it is; \
                 write `{{{{{meant}}}}}` if it is meant to be replaced"
            )]
        );
    }
    for foreign in
        ["{{ .Values.x }}", "${{ github.ref }}", "{{args}}", "<input>", "{input}", "{{#each}}", "\\{{input}} "]
    {
        assert_eq!(warned(foreign), [""; 0], "{foreign}");
    }
    for foreign in ["{{args}}", "{input}", "${input}"] {
        let prompt = parse(&format!("Do {foreign} now"));
        assert_eq!(prompt.warnings().len(), 1, "{foreign}: {:?}", prompt.warnings());
        assert_eq!(prompt.warnings()[0].position, Some(Position { line: 1, column: 4 }));
    }
}

/// The warnings about a file, if it has any.
#[track_caller]
fn warned(file: &str, want: &[&str]) {
    assert_eq!(parse(file).warnings().iter().map(shown).collect::<Vec<_>>(), want, "{file}");
}

#[test]
fn full_width_braces_get_a_warning_with_the_placeholder_to_write() {
    let is_left = |written: &str, name: &str| {
        format!(
            "`{written}` is not a placeholder, and is left as it is; write `{{{{{name}}}}}` if it is meant to be replaced"
        )
    };
    for (written, name) in [
        ("｛｛input｝｝", "input"),
        ("｛｛ｉｎｐｕｔ｝｝", "input"),
        ("｛｛\u{3000}input ｝｝", "input"),
        ("＜＜input＞＞", "input"),
        ("｛｛話題｝｝", "話題"),
    ] {
        warned(&format!("Text: {written}"), &[&format!("1:7: {}", is_left(written, name))]);
        warned(&format!("{{{{input}}}} {written}"), &[&format!("1:11: {}", is_left(written, name))]);
    }
    warned("｛input｝", &[&format!("1:1: {}", is_left("｛input｝", "input"))]);
    for fine in ["＜＜見出し＞＞", "｛input｝ {{input}}", "｛｛｝｝", "｛｛a b｝｝", "｛｛input", "`｛｛x｝｝`"]
    {
        warned(fine, &[]);
    }
}

#[test]
fn marks_that_other_programs_replace_get_one_warning_for_each_kind() {
    let body = "Issue #$1, priority $2.\n\n- status: !`git status`\n- log: !`git log`\n\nSee @src/main.rs (@./notes)\n\
                {{> header}}\n{% include \"x\" %} {%- if y -%} {{> footer}}\n";
    let name = "only names in braces are replaced; declare an argument and write `{{name}}`, or write `{{input}}` for the whole \
                text";
    let run = "no command is run; tell the agent to run the command, and leave out the `!`";
    let file = "no file is included; tell the agent to read the file, or put the name in backticks";
    let partial = "no file is included; write it alone in its line, and `include: true` in the frontmatter, or put it in backticks if \
                   it is an example";
    let tag = "no template engine processes it; write `engine: jinja` in the frontmatter, or put it in a code block if it is an \
               example";
    let all = [
        format!("1:8: `$1` and 1 more like it stay as written: {name}"),
        format!("3:11: `` !`git status` `` and 1 more like it stay as written: {run}"),
        format!("6:5: `@src/main.rs` and 1 more like it stay as written: {file}"),
        format!("7:1: `{{{{> header}}}}` and 1 more like it stay as written: {partial}"),
        format!("8:1: `{{% include \"x\" %}}` and 1 more like it stay as written: {tag}"),
    ];
    warned(body, &all.each_ref().map(String::as_str));
    warned("Deploy $1 to $2", &[&format!("1:8: `$1` and 1 more like it stay as written: {name}")]);
    warned("---\nargument-hint: \"[file]\"\n---\nRead $1", &[&format!("4:6: `$1` stays as written: {name}")]);
    warned(
        "{% for a in b %}\nx\n{% endfor %}",
        &[&format!("1:1: `{{% for a in b %}}` and 1 more like it stay as written: {tag}")],
    );
    let left = "`$ARGUMENTS` is not a placeholder, and is left as it is";
    warned(
        "Fix {{input}} $ARGUMENTS now.",
        &[&format!("1:15: {left}; write `{{{{input}}}}` if it is meant to be replaced")],
    );
    warned("Fix {{input}}, `$ARGUMENTS` and \\$ARGUMENTS.", &[]);
    warned("<context>\n!`date`\n</context>", &[&format!("2:1: `` !`date` `` stays as written: {run}")]);
}

#[test]
fn ordinary_text_and_code_have_no_foreign_markers() {
    for fine in [
        "It costs $1.",
        "From $1 to $10, $1.50 or $1,000.",
        "US$1, $5 and $9: prices.",
        "Replace {{input}} by $2-$1.",
        "A price: \"$1\" {{input}}",
        "Ask @someone, @rust-lang/core or me@example.com; use @types/node and @example.com.",
        "@Override and @app.route('/') are decorators.",
        "Write `@src/main.rs`, `$1 $2`, `{{> x}}` and `{% include \"x\" %}`.",
        "Great!`x` is code, and so is `!`.",
        "```sh\necho $1 $2 @a.md !`x`\n{{> x}} {% set x = 1 %}\n```",
        "    echo $1 $2 > @a.md",
        "Close {% if %} by {% endif %}.",
        "Use 100{% of it %}.",
        "{{ x > y }} {{>}}",
    ] {
        warned(fine, &[]);
    }
}

#[test]
fn a_body_with_very_many_mistakes_says_the_first_hundred_and_how_many_more() {
    let warnings = parse(&"{{inptu}}\n".repeat(2_000)).warnings();
    let places: Vec<_> =
        warnings.iter().filter(|w| w.message.starts_with("`{{inptu}}` is not a placeholder")).collect();
    assert_eq!(places.len(), 100);
    let last = warnings.last().map(shown).unwrap();
    assert!(
        last.starts_with("101:1: from here on, 1900 more like these are not placeholders, and are left as they are; "),
        "{last}"
    );
}

#[test]
fn other_probable_mistakes_get_a_warning() {
    let warned = |name: &str, file: &str| {
        Prompt::parse(Name::new(name).unwrap(), file.as_bytes())
            .unwrap()
            .warnings()
            .iter()
            .map(shown)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(
        warned("p", "---\ndesciption: D\n---\nB").starts_with("2:1: unknown key `desciption`; write `description:`")
    );
    assert!(
        warned("p", "---\narguments: [a]\n---\nB").contains("declared but not used in the body: `a`; write `{{a}}`")
    );
    assert!(warned("p", "---\ntitle: T\n---\n").contains("no body"));
    assert!(warned("p", "a\nb\0c\0").starts_with("2:2: a NUL character, as in a file that was saved as UTF-16; "));
    assert!(warned("my prompt", "B").contains("rename it to `my-prompt`"));
    assert!(warned("p", "\n---\ntitle: T\n---\nB").starts_with("2:1: frontmatter that does not begin in line 1"));
    for unclosed in ["\n---\ntitle: T\n----\nB", "\n---\ntitle: T\nB"] {
        assert!(warned("p", unclosed).starts_with("2:1: frontmatter that does not begin in line 1"));
    }
    for opening in ["----", "---yaml", "+++", "—", "–––"] {
        let warned = warned("p", &format!("{opening}\ntitle: T\n{opening}\nB {{{{input}}}}"));
        let opens = format!("1:1: the line `{opening}` does not open frontmatter, and is part of the prompt's text; ");
        assert!(warned.starts_with(&opens), "{warned}");
    }
    assert!(warned("p", &"x".repeat(18_001)).contains("18001 characters long"));
    assert_eq!(warned("p", "---\nname: p\ntags: [a]\nmodel: x\ndescription: D\n---\nB {{input}}"), "");
}

#[test]
fn hostile_bodies_and_frontmatters_cost_no_more_than_their_length() {
    // Each of these once cost the square of its length; a regression here is a test that takes minutes.
    let many = |piece: &str| piece.repeat(512 * 1024 / piece.len());
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
    ] {
        for parse in [claude::command, codex::parse, claude::opencode, vscode::parse, fabric::parse] {
            let prompt = testing::parsed(parse, &piece.repeat(8192));
            prompt.warnings();
            prompt.unexpanded();
            expand(&prompt, "x").unwrap();
        }
    }
    let distinct: String = (0..100_000).map(|word| format!("{{{{w{word:05}}}}}")).collect();
    let names: String = (0..MAX_ARGUMENTS).map(|name| format!("- v{name:0>60}\n")).collect();
    parse(&format!("---\narguments:\n{names}---\n{distinct}")).warnings();
    parse(&format!("---\n\"{}\n: x\n---\n", ":".repeat(MAX_FRONTMATTER - 10))).warnings();
    let keys: String = (0..8000).map(|key| format!("a{key}:\n")).collect();
    parse(&format!("---\n{keys}---\n")).warnings();
    parse(&format!("---\n{keys}b: c: d\n---\n")).warnings();
    let arguments: String = (0..8000).map(|argument| format!("- x{argument}\n")).collect();
    let many_arguments = format!("---\narguments:\n{arguments}---\n{}", many("{{x99}} {{x98}"));
    problem(
        many_arguments.as_bytes(),
        "103:1: more than 100 arguments are declared; declare fewer, or take them all as `{{input}}`",
    );
}

#[test]
fn choices_and_tags_are_lists_of_texts_as_written() {
    let lists = |yaml: &str| {
        let prompt = parse(&format!("---\narguments:\n  - name: x\n    {yaml}\n---\n{{{{x}}}}"));
        (prompt.arguments[0].choices.clone(), prompt.warnings().iter().map(shown).collect::<Vec<_>>())
    };
    let ok = |choices: &[&str]| (choices.iter().map(|choice| choice.to_string()).collect::<Vec<_>>(), Vec::new());
    assert_eq!(lists("choices: [short, \"long, and wide\", 'x']"), ok(&["short", "long, and wide", "x"]));
    assert_eq!(
        lists("choices:\n      - short\n      - long one\n      - 1.10\n      - yes # really"),
        ok(&["short", "long one", "1.10", "yes"])
    );
    assert_eq!(lists("choices: [1, 2.5, true]"), ok(&["1", "2.5", "true"]));
    assert_eq!(lists("choices: fast"), ok(&["fast"]));
    assert_eq!(lists("choices: \"long, and wide\""), ok(&["long, and wide"]));
    assert_eq!(lists("choices:"), ok(&[]));
    assert_eq!(lists("choices: [a, b, a, \" c \"]"), ok(&["a", "b", " c "]));
    assert_eq!(lists("choices:\n      - null\n      - a"), ok(&["null", "a"]));
    let default = parse("---\narguments:\n  - name: x\n    default: \" x \"\n---\n[{{x}}]");
    assert_eq!(expand(&default, "").unwrap(), "[ x ]");
    let (choices, warnings) = lists("choices: fast, slow");
    assert_eq!(choices, ["fast", "slow"]);
    assert_eq!(warnings, ["4:14: `choices` is not a list, and is split at its commas; write `choices: [fast, slow]`"]);
    let (choices, warnings) = lists("choices:\n      - {a: b}\n      - c");
    assert_eq!(choices, ["c"]);
    assert!(warnings[0].contains("part 1 of `choices` is not text, and is ignored"), "{warnings:?}");
    let (choices, warnings) = lists("choices: [fast, slow");
    assert_eq!((choices, warnings.len()), (vec!["fast".to_owned(), "slow".to_owned()], 1), "{warnings:?}");
    let (_, warnings) = lists("choises: [fast, slow]");
    assert!(warnings[0].contains("unknown key `choises`; write `choices:` if that is meant"), "{warnings:?}");

    let tags = |yaml: &str| parse(&format!("---\n{yaml}\n---\nB")).tags;
    assert_eq!(tags("tags: [git, review]"), ["git", "review"]);
    assert_eq!(tags("tags:\n- git\n- 2026"), ["git", "2026"]);
    assert_eq!(tags("tags: git, review"), ["git", "review"]);
    assert_eq!(tags("description: x: y\ntags: [git]"), ["git"]);
    assert_eq!(tags("title: x"), [""; 0]);
    let warnings = parse("---\ntags: #git\n---\nB").warnings();
    assert!(shown(&warnings[0]).contains("`#git` is dropped by YAML, and not part of `tags`"), "{warnings:?}");
}

#[test]
fn a_default_outside_the_choices_and_strict_without_choices_get_a_warning() {
    let warnings = |keys: &str| {
        let prompt = parse(&format!("---\narguments:\n  - name: level\n    {keys}\n---\n{{{{level}}}}"));
        (prompt.arguments[0].strict, prompt.warnings().iter().map(shown).collect::<Vec<_>>())
    };
    assert_eq!(warnings("choices: [low, high]\n    default: low\n    strict: true"), (true, Vec::new()));
    assert_eq!(warnings("choices: [low, high]\n    default: \"\"\n    strict: no"), (false, Vec::new()));
    assert_eq!(warnings("strict: false"), (false, Vec::new()));
    assert_eq!(
        warnings("choices: [low, high]\n    default: medium").1,
        [
            "5:5: the default `medium` is not among the choices, `low` or `high`; add it to `choices`, or write one of them \
             as `default`"
        ]
    );
    assert_eq!(
        warnings("strict: true").1,
        [
            "4:5: `strict` has no effect without `choices`: every value is accepted; write `choices: [one, another]`, or \
             delete `strict`"
        ]
    );
}

#[test]
fn a_name_in_braces_that_looks_undeclared_gets_one_warning_unless_it_is_code() {
    let warnings = |body: &str| {
        let prompt = parse(&format!("---\narguments: [options]\n---\n{{{{options}}}}\n{body}"));
        prompt.warnings().iter().map(shown).collect::<Vec<_>>()
    };
    let fix = "if it is meant to be replaced";
    assert_eq!(
        warnings("{{criteria}} <<style>> {{criteria}}"),
        [
            format!(
                "5:1: `{{{{criteria}}}}` is not a placeholder, and is left as it is; declare `criteria` in the \
                 `arguments` of the frontmatter {fix}"
            ),
            format!(
                "5:14: `<<style>>` is not a placeholder, and is left as it is; declare `style` in the `arguments` of \
                 the frontmatter {fix}"
            ),
        ]
    );
    for code in
        ["`{{name}}`", "```jinja\n{{name}} {{ x }}\n```", "    {{name}}", "{{ .Values.x }} {{ a.b }} {{ f x }} {{1}}"]
    {
        assert_eq!(warnings(&format!("\n{code}")), [""; 0], "{code}");
    }
}

#[test]
fn without_a_placeholder_the_whole_text_follows_the_body_even_if_a_shell_has_divided_it() {
    for arguments in ["[input]", "[b, input]", "[input, b]", "[b, {name: input, default: d}]", "[]"] {
        let prompt = parse(&format!("---\narguments: {arguments}\n---\nBody"));
        for text in ["one", "one two three", "input=one two", "two b=one", "input=one b=two three"] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(expand(&prompt, text).unwrap(), format!("Body\n\n{text}"), "{arguments}");
            assert_eq!(prompt.expand(Call::Words(&words)), prompt.expand(Call::Text(text)), "{arguments}");
        }
    }
}

#[test]
fn an_empty_body_is_the_input_alone() {
    for file in ["", "---\ntitle: T\n---\n", "---\ntitle: T\narguments: [x]\n---\n\n"] {
        assert_eq!(expand(&parse(file), "x = 1\n").unwrap(), "x = 1\n");
        assert_eq!(expand(&parse(file), "").unwrap(), "");
    }
}

#[test]
fn an_expansion_beyond_the_limit_is_refused_before_it_is_allocated() {
    let prompt = parse(&"{{input}}".repeat(1000));
    let error = prompt.expand(Call::Text(&"x".repeat(1024 * 1024))).unwrap_err();
    assert_eq!(error.kind, crate::prompt::Kind::TooLong);
}

#[test]
fn arguments_with_a_dollar_is_the_input_where_nothing_else_is() {
    let check = |file: &str, text: &str, want: &str| assert_eq!(expand(&parse(file), text).unwrap(), want, "{file:?}");
    check("Fix $ARGUMENTS, then $ARGUMENTS.", "a \"b\" $ARGUMENTS", "Fix a \"b\" $ARGUMENTS, then a \"b\" $ARGUMENTS.");
    check("[$ARGUMENTS]", "", "[]");
    check("\\$ARGUMENTS: $ARGUMENTS", "x", "$ARGUMENTS: x");
    check("\\$ARGUMENTS", "x", "$ARGUMENTS\n\nx");
    check("$ARGUMENTS {{input}}", "x", "$ARGUMENTS x");
    check("$ARGUMENTS << input >>", "x", "$ARGUMENTS x");
    check("$ARGUMENTS \\{{input}}", "x", "x {{input}}");
    check("$ARGUMENT $arguments ${ARGUMENTS} $1", "x", "$ARGUMENT $arguments ${ARGUMENTS} $1\n\nx");
    check("---\narguments: [{name: a, required: true}]\n---\n{{a}}: $ARGUMENTS", "x y z", "x: y z");
    check("---\narguments: [{name: input, default: d}]\n---\n$ARGUMENTS", "", "d");
    for format in [claude::opencode, claude::cursor] {
        testing::check(format, "---\nagent: build\n---\nReview $ARGUMENTS.", "costs $& $1", "Review costs $& $1.");
        testing::check(format, "Review.", "a b", "Review.\n\na b");
    }
    testing::check(claude::opencode, "Create $1 in $2, $ARGUMENTS {{input}}", "x", "Create $1 in $2, x x");
}

#[test]
fn what_opencode_would_run_stays_and_check_says_so() {
    let fix = "the agent gets the text, and decides what to do with it";
    testing::warned(
        claude::opencode,
        "Great!`ls`\n\n!`git log` $ARGUMENTS",
        &[&format!("1:6: `` !`ls` `` and 1 more like it stay as written: opencode would run them; {fix}")],
    );
}

#[test]
fn the_parameters_of_swissarmyhammer_are_arguments_and_liquid_is_a_problem() {
    let frontmatter = "---\nparameters:\n  - name: name\n    description: Who\n    required: true\n    type: string\n  - name: count\n    \
                       default: 5\n    choices: [5, 6]\n---\n";
    let prompt = parse(&format!("{frontmatter}Hello {{{{name}}}}! You have {{{{count}}}} messages."));
    assert_eq!(prompt.warnings(), []);
    assert_eq!(prompt.arguments[0].description.as_deref(), Some("Who"));
    assert_eq!(expand(&prompt, "name=Alice count=6"), Ok("Hello Alice! You have 6 messages.".to_owned()));
    assert_eq!(expand(&prompt, "Alice"), Ok("Hello Alice! You have 5 messages.".to_owned()));
    problem(
        format!("{frontmatter}Hello\n{{% if name %}}{{{{name}}}}{{% endif %}}").as_bytes(),
        "12:1: `{% if name %}` needs the template engine Liquid, which is not built in; write the text for each case into a file of \
         its own, with placeholders such as `{{name}}`",
    );
    for other in ["parameters: {temperature: 1}", "parameters: [a]", "arguments: [x]\nparameters: [{name: y}]"] {
        let prompt = parse(&format!("---\n{other}\n---\nText"));
        assert!(prompt.arguments.iter().all(|argument| argument.name == "x"), "{other}");
    }
}
