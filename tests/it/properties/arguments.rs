//! Any input of a prompt with declared arguments is divided among them, and nothing that was typed
//! is lost.

use prompt_expander::prompt::{Argument, Call, Diagnostic, Kind, Messages, Name, Prompt};
use std::collections::{BTreeMap, HashSet};

/// Stands between two values in a body, and so in no input.
const SEPARATOR: char = '\u{e000}';

/// The characters that group words; no rule keeps them.
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// Reads a first line as [`check`] does, and all else as the input.
pub(super) fn check_bytes(case: &[u8]) {
    let case = String::from_utf8_lossy(case);
    let (declared, input) = case.split_once('\n').unwrap_or((&case, ""));
    check(declared, input);
    values_in_quotes_are_the_values(declared, input);
}

/// Expands a prompt with the declared arguments, at most four: `a! b=x c` are an `a` that is
/// required, a `b` with the default `x`, and a `c`. With `{{input}}` among them the body has that
/// placeholder too.
pub(super) fn check(declared: &str, input: &str) {
    if [declared, input]
        .iter()
        .any(|text| text.contains(SEPARATOR))
    {
        return;
    }
    let prompt = prompt(declared);
    let expanded = expand(&prompt, Call::Text(input));
    assert_eq!(
        expanded,
        expand(&prompt, Call::Text(input)),
        "expanded twice"
    );
    let mut without_choices = prompt.clone();
    without_choices
        .arguments
        .iter_mut()
        .for_each(|argument| argument.choices.clear());
    assert_eq!(
        expanded,
        expand(&without_choices, Call::Text(input)),
        "choices are only proposed"
    );
    // Strict choices refuse exactly what other choices warn of.
    let mut strict = prompt.clone();
    strict
        .arguments
        .iter_mut()
        .for_each(|argument| argument.strict = true);
    let warnings = prompt.bind(Call::Text(input)).warnings;
    let outside = warnings
        .iter()
        .filter(|warning| !warning.contains("did you mean"))
        .count();
    match expand(&strict, Call::Text(input)) {
        Err(Diagnostic {
            kind: Kind::NotAChoice,
            ..
        }) => assert_ne!(outside, 0),
        other => assert!(
            other == expanded && (other.is_err() || outside == 0),
            "{other:?}"
        ),
    }

    match expanded {
        Ok(expanded) => {
            nothing_is_lost_and_nothing_is_new(&prompt, input, &expanded);
            if let ([argument], false) = (prompt.arguments.as_slice(), prompt.takes_input()) {
                a_single_argument_takes_all(
                    argument,
                    input,
                    expanded.split(SEPARATOR).next().unwrap_or_default(),
                );
            }
        }
        Err(Diagnostic {
            kind: Kind::MissingValue,
            ..
        }) => {
            assert!(prompt.arguments.iter().any(|argument| argument.required));
        }
        Err(Diagnostic {
            kind: Kind::UnusedText,
            ..
        }) => assert!(!input.trim().is_empty() && !prompt.takes_input()),
        Err(other) => panic!("{other}"),
    }
}

fn expand(prompt: &Prompt, call: Call<'_>) -> Result<String, Diagnostic> {
    prompt.expand(call).map(Messages::into_text)
}

fn prompt(declared: &str) -> Prompt {
    let mut prompt = Prompt::parse(Name::new("p").unwrap(), b"").unwrap();
    let mut body = String::new();
    for word in declared.split_whitespace() {
        let (name, default) = word
            .split_once('=')
            .map_or((word, None), |(name, text)| (name, Some(text.to_owned())));
        let (name, required) = name
            .strip_suffix('!')
            .map_or((name, false), |name| (name, true));
        let is_usable = !name.is_empty()
            && !name.contains(|letter: char| letter.is_control() || "{}<>".contains(letter));
        let is_new = prompt
            .arguments
            .iter()
            .all(|argument| argument.name != name);
        if is_usable && is_new && prompt.arguments.len() < 4 {
            let choices = vec!["one".to_owned(), "two".to_owned()];
            let default = default.filter(|default| !default.is_empty()); // as in a file
            prompt.arguments.push(Argument {
                name: name.to_owned(),
                required: required && default.is_none(),
                default,
                choices,
                ..Argument::default()
            });
            body += &format!("{{{{{name}}}}}{SEPARATOR}");
        }
    }
    if declared.split_whitespace().any(|word| word == "{{input}}") {
        body += "{{input}}";
    }
    prompt.messages = vec![prompt.parse_template(&body)];
    prompt
}

/// Every word of the input is in a value or in `{{input}}`, and their words are words of the input
/// or of a default. Quotes are not compared, nor is the name of a `name=value`.
fn nothing_is_lost_and_nothing_is_new(prompt: &Prompt, input: &str, expanded: &str) {
    let bare = |text: &str| {
        text.split_whitespace()
            .map(|word| word.replace(QUOTES, ""))
            .collect::<Vec<_>>()
    };
    let written: HashSet<String> = bare(&expanded.replace(SEPARATOR, " "))
        .into_iter()
        .collect();
    let defaults = prompt
        .arguments
        .iter()
        .filter_map(|argument| argument.default.as_deref());
    let mut known: HashSet<String> = defaults.flat_map(bare).collect();
    for word in input.split_whitespace() {
        let values = prompt
            .arguments
            .iter()
            .filter_map(|argument| word.strip_prefix(&argument.name)?.strip_prefix('='));
        let spellings: Vec<String> = values
            .chain([word])
            .map(|word| word.replace(QUOTES, ""))
            .collect();
        let is_kept = spellings
            .iter()
            .any(|spelling| spelling.is_empty() || written.contains(spelling));
        assert!(is_kept, "{word:?} of {input:?} is lost in {expanded:?}");
        known.extend(spellings);
    }
    for word in &written {
        assert!(
            word.is_empty() || known.contains(word),
            "{word:?} is new in {expanded:?}"
        );
    }
}

/// Verbatim, unless it begins with `name=`; only spaces are the same as no text.
fn a_single_argument_takes_all(argument: &Argument, input: &str, value: &str) {
    let pair = input
        .trim_start()
        .strip_prefix(&argument.name)
        .and_then(|rest| rest.strip_prefix('='));
    if input.trim().is_empty() {
        assert_eq!(value, argument.default.as_deref().unwrap_or_default());
    } else if pair.is_none() {
        assert_eq!(value, input);
    }
}

/// However values are given by name, they come out as they are: in quotes, with `\` before each `"`
/// and `\`, also where they have several lines; as words of a shell; and by name in the first
/// place.
pub(super) fn values_in_quotes_are_the_values(a: &str, b: &str) {
    if [a, b].iter().any(|value| value.contains(SEPARATOR)) {
        return;
    }
    let quoted = |value: &str| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let (in_a, in_b) = (quoted(a), quoted(b));
    let prompt = prompt("a b c");
    let want = |c: &str| Ok([a, b, c, ""].join(&SEPARATOR.to_string()));
    for input in [
        format!("a={in_a} b={in_b} c=z"),
        format!(" c=z\nb={in_b}\ta={in_a}"),
        format!("a={in_a} b={in_b} z"),
    ] {
        assert_eq!(expand(&prompt, Call::Text(&input)), want("z"), "{input:?}");
    }
    // A text before a pair goes by position; quotes make one word of it.
    assert_eq!(
        expand(&prompt, Call::Text(&format!("{in_a} b={in_b} z"))),
        want("z")
    );
    if !a.contains('\'') {
        assert_eq!(
            expand(&prompt, Call::Text(&format!("a='{a}' b={in_b} z"))),
            want("z")
        );
    }
    let words = [format!("b={b}"), format!("a={a}"), "z".to_owned()];
    assert_eq!(
        expand(
            &prompt,
            Call::Shell {
                words: &words,
                piped: "",
                pipe_index: 0
            }
        ),
        want("z"),
        "{words:?}"
    );
    let values = BTreeMap::from([
        ("a".to_owned(), a.to_owned()),
        ("b".to_owned(), b.to_owned()),
    ]);
    let call = Call::Named {
        values: &values,
        input: "not divided",
        is_strict: false,
    };
    assert_eq!(expand(&prompt, call), want(""));
}
