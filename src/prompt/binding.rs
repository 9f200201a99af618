//! Binds a call to a prompt: determines the value of each argument.
//!
//! A call passes values by name, or as text that is divided among the arguments (see
//! `division.rs`). Arguments whose value is missing or empty get their default. A required argument
//! without either is an error.

use super::diagnostic::{Diagnostic, Kind};
use super::division::{
    GivenValue, GivenValues, Origin, divide_chat_text, divide_shell_parts, shell_parts,
};
use super::file_text::truncate_at_boundary;
use super::message::Piece;
use super::model::{Argument, Prompt};
use super::placeholder::{Extent, Placeholder};
use super::similar;
use super::template::INPUT;
use super::words::{parse_pair_start, split_words};
use crate::wording::{and_list, in_backticks, or_list, quoted};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// How much of a line is searched for misspelled argument names.
const MAX_SEARCHED_LINE_BYTES: usize = 1000;

/// How a prompt is called.
#[derive(Debug, Clone, Copy)]
pub enum Call<'c> {
    /// The text after the command name, as typed in a chat.
    Text(&'c str),
    /// The arguments of a shell command, and text from a pipe.
    ///
    /// A single word without piped text is treated like [`Call::Text`], because it may be a whole
    /// quoted text. So is piped text without words.
    Shell {
        /// The arguments, already split by the shell.
        words: &'c [String],
        /// The piped text; may be empty.
        piped: &'c str,
        /// The index of the word before which the piped text is inserted; past the last word, it is
        /// appended.
        pipe_index: usize,
    },
    /// Values by name, and an input that is not divided among arguments. Without values, the input
    /// is treated like [`Call::Text`].
    Named {
        /// The values. A value named `input` replaces `input` below.
        values: &'c BTreeMap<String, String>,
        /// The input; may be empty.
        input: &'c str,
        /// Whether unknown names, and input that the prompt doesn't use, are errors rather than
        /// being ignored.
        is_strict: bool,
    },
}

/// The result of binding a call to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding<'v> {
    /// The declared arguments, in declaration order.
    pub arguments: Vec<BoundArgument<'v>>,
    /// The values of all arguments for which a placeholder such as `${@:2}` stands, joined by
    /// spaces. The keys are the indexes of the arguments.
    slices: HashMap<Range<usize>, String>,
    /// The text that replaces `{{input}}` or is appended to the body; `None` if the prompt doesn't
    /// use the input.
    pub input: Option<Cow<'v, str>>,
    /// Why the prompt can't be expanded.
    pub error: Option<Diagnostic>,
    /// Likely mistakes of the caller: a value that isn't one of the argument's choices, a
    /// misspelled name, or dropped text. Each is one line, lowercase, without a final period.
    pub warnings: Vec<String>,
    /// The warning about dropped text. It is one of the `warnings`, too.
    pub dropped_text_warning: Option<String>,
}

/// An argument with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundArgument<'v> {
    /// The argument's name.
    pub name: &'v str,
    /// The argument's value; empty if it has none.
    pub value: Cow<'v, str>,
    /// Where the value comes from.
    pub origin: Origin,
}

impl Call<'_> {
    /// Returns the text in which to look for misspelled pairs.
    fn typed_text(&self) -> Cow<'_, str> {
        match *self {
            Call::Text(text) => Cow::Borrowed(text),
            Call::Shell { words, .. } => Cow::Owned(words.join(" ")),
            Call::Named { values, input, .. } if values.is_empty() => Cow::Borrowed(input),
            Call::Named { .. } => Cow::Borrowed(""),
        }
    }
}

impl Prompt {
    /// Binds a call to this prompt.
    pub fn bind<'v>(&'v self, call: Call<'v>) -> Binding<'v> {
        let mut binding = self.bind_values(call);
        binding.warn_about_misspelled_pair(self, &call.typed_text());
        binding
    }

    /// Binds a call without looking for misspelled names.
    fn bind_values<'v>(&'v self, call: Call<'v>) -> Binding<'v> {
        match call {
            Call::Text(text) => Binding::new(self, divide_chat_text(self, text)),
            Call::Shell {
                words,
                piped,
                pipe_index,
            } => self.bind_shell_words(words, piped, pipe_index),
            Call::Named { values, input, .. } if values.is_empty() => {
                Binding::new(self, divide_chat_text(self, input))
            }
            Call::Named {
                values,
                input,
                is_strict,
            } => {
                let mut binding = Binding::new(self, values_by_name(self, values, input));
                if is_strict {
                    // The first of these errors is reported.
                    binding.error = self
                        .unknown_name_error(values)
                        .or(binding.error)
                        .or_else(|| unused_input_error(self, values, input));
                }
                binding
            }
        }
    }

    /// Binds shell words and piped text; see [`Call::Shell`].
    fn bind_shell_words<'v>(
        &'v self,
        words: &'v [String],
        piped: &'v str,
        pipe_index: usize,
    ) -> Binding<'v> {
        let values = match words {
            // A single word may be a whole text in quotes.
            [word] if piped.is_empty() => divide_chat_text(self, word),
            // So may piped text, unless each argument gets one word: then it is that word.
            [] if piped.is_empty() || !self.gives_one_word_per_argument() => {
                divide_chat_text(self, piped)
            }
            _ => divide_shell_parts(self, &shell_parts(words, piped, pipe_index)),
        };
        Binding::new(self, values)
    }

    /// Returns an error about the first value whose name is neither an argument nor `input`, if
    /// there is one.
    pub fn unknown_name_error(&self, values: &BTreeMap<String, String>) -> Option<Diagnostic> {
        let known_names = self.value_names();
        let unknown = values
            .keys()
            .find(|name| !known_names.contains(&name.as_str()))?;
        let mut message = format!("it has no argument {}", quoted(unknown));
        if let Some(closest) = similar::closest(unknown, known_names.iter().copied()) {
            message += &format!(" (did you mean {}?)", in_backticks(closest));
        }
        Some(Diagnostic::new(
            Kind::NoSuchArgument,
            message,
            format!("it takes {}", and_list(&known_names)),
        ))
    }

    /// Returns the usage line of a prompt that declares arguments, e.g. `:compare options=…
    /// [criteria=…]`.
    pub fn usage(&self) -> Option<String> {
        if self.arguments.is_empty() {
            return None;
        }
        let mut usage = format!(":{}", self.name);
        for argument in &self.arguments {
            usage += &if argument.required {
                format!(" {}=…", argument.name)
            } else {
                format!(" [{}=…]", argument.name)
            };
        }
        Some(usage)
    }
}

impl<'v> Binding<'v> {
    /// Applies defaults to the values of a call and checks the result.
    fn new(prompt: &'v Prompt, values: GivenValues<'v>) -> Binding<'v> {
        let mut arguments = Vec::with_capacity(prompt.arguments.len());
        for (argument, value) in prompt.arguments.iter().zip(values.arguments) {
            arguments.push(bind_argument(prompt, argument, value));
        }
        let choices = check_choices(prompt, &arguments);
        let mut warnings = choices.warnings;
        warnings.extend(unused_required_warnings(prompt, &arguments));
        let dropped_text_warning = values.first_dropped_word.map(|word| {
            let word = quoted(&word);
            format!("the text from {word} on is dropped, because no argument is left to take it")
        });
        warnings.extend(dropped_text_warning.clone());
        let error = match values.unassigned_text {
            Some(text) => Some(unassigned_text_error(prompt, text)),
            None => missing_values_error(prompt, &arguments).or(choices.error),
        };
        Binding {
            slices: join_slices(prompt, &arguments),
            arguments,
            input: values.input,
            error,
            warnings,
            dropped_text_warning,
        }
    }

    /// Returns the replacement for a placeholder, without the default in the placeholder itself.
    pub fn replacement(&self, placeholder: &Placeholder) -> Piece<'_> {
        if placeholder.extent == Extent::One {
            return self.value(&placeholder.name);
        }
        let indexes = argument_indexes(&self.arguments, placeholder);
        Piece::Value(self.slices.get(&indexes).map_or("", String::as_str))
    }

    /// Returns the value of an argument, or of the input if no argument has this name.
    ///
    /// Defaults are the prompt author's text ([`Piece::Text`]); all other values are the caller's
    /// ([`Piece::Value`]).
    pub fn value(&self, name: &str) -> Piece<'_> {
        let Some(bound) = self.arguments.iter().find(|bound| bound.name == name) else {
            // The only placeholder that isn't an argument is the input.
            return Piece::Value(self.input.as_deref().unwrap_or_default());
        };
        if bound.origin == Origin::Default {
            Piece::Text(&bound.value)
        } else {
            Piece::Value(&bound.value)
        }
    }

    /// Warns about the first word such as `brnach=x` that probably misspells the argument `branch`.
    ///
    /// Only the first line is searched, and only arguments that weren't set by a pair are
    /// suggested.
    fn warn_about_misspelled_pair(&mut self, prompt: &Prompt, typed: &str) {
        let searched = truncate_at_boundary(typed.trim_start(), MAX_SEARCHED_LINE_BYTES);
        let first_line = searched.lines().next().unwrap_or_default();
        if !first_line.contains('=') {
            return; // most texts have no pair, and need no search
        }
        let mut candidates = Vec::new();
        for (argument, bound) in prompt.arguments.iter().zip(&self.arguments) {
            if bound.origin != Origin::Pair && prompt.uses_argument(argument) {
                candidates.push(bound.name);
            }
        }
        for word in split_words(first_line) {
            let Some((name, _)) = word.split_once('=') else {
                continue;
            };
            let is_correct = self.arguments.iter().any(|bound| bound.name == name);
            if is_correct {
                continue;
            }
            if let Some(closest) = similar::closest(name, candidates.iter().copied()) {
                self.warnings.push(format!(
                    "{} is treated as text; did you mean {}?",
                    quoted(word),
                    in_backticks(&format!("{closest}="))
                ));
                return;
            }
        }
    }
}

/// Determines the value of an argument: the value of the call, otherwise the default.
///
/// An empty value is replaced by the default, if there is one.
fn bind_argument<'v>(
    prompt: &Prompt,
    argument: &'v Argument,
    value: Option<GivenValue<'v>>,
) -> BoundArgument<'v> {
    let name = &argument.name;
    if let Some(GivenValue { text, origin }) = value
        && (!text.is_empty() || argument.default.is_none())
    {
        return BoundArgument {
            name,
            value: text,
            origin,
        };
    }
    if let Some(default) = &argument.default {
        return BoundArgument {
            name,
            value: Cow::Borrowed(default),
            origin: Origin::Default,
        };
    }
    let is_missing = argument.required && prompt.uses_argument(argument);
    BoundArgument {
        name,
        value: Cow::Borrowed(""),
        origin: if is_missing {
            Origin::Missing
        } else {
            Origin::Omitted
        },
    }
}

/// Returns the text for each placeholder that stands for several arguments, e.g. `b c` for
/// `${@:2}`. The keys are the indexes of the arguments.
fn join_slices(prompt: &Prompt, arguments: &[BoundArgument<'_>]) -> HashMap<Range<usize>, String> {
    let mut slices = HashMap::new();
    for placeholder in prompt.placeholders() {
        if placeholder.extent == Extent::One {
            continue;
        }
        let indexes = argument_indexes(arguments, placeholder);
        // Placeholders often repeat, and the values can be long.
        slices
            .entry(indexes.clone())
            .or_insert_with(|| join_values(&arguments[indexes]));
    }
    slices
}

/// Joins the values of arguments with spaces. Those after the last word of the call are empty, and
/// left out.
fn join_values(arguments: &[BoundArgument<'_>]) -> String {
    let mut values: Vec<&str> = Vec::new();
    for bound in arguments {
        if !bound.value.is_empty() {
            values.push(&bound.value);
        }
    }
    values.join(" ")
}

/// Returns the indexes of the arguments for which a placeholder stands: `1..3` for `${@:2:2}`.
fn argument_indexes(arguments: &[BoundArgument<'_>], placeholder: &Placeholder) -> Range<usize> {
    let first = arguments
        .iter()
        .position(|bound| bound.name == placeholder.name);
    match first {
        Some(first) => placeholder.extent.argument_indexes(first, arguments.len()),
        None => 0..0,
    }
}

/// Formats the usage line for an error message.
fn usage_in_backticks(prompt: &Prompt) -> String {
    in_backticks(&prompt.usage().unwrap_or_default())
}

/// Returns an error about text before the first pair that no argument can receive.
fn unassigned_text_error(prompt: &Prompt, text: &str) -> Diagnostic {
    Diagnostic::new(
        Kind::UnusedText,
        format!("no argument can take {}", quoted(text)),
        format!(
            "write {}, with quotes around a value of several words",
            usage_in_backticks(prompt)
        ),
    )
}

/// Returns one error about all required arguments without a value, if there are any.
fn missing_values_error(prompt: &Prompt, arguments: &[BoundArgument<'_>]) -> Option<Diagnostic> {
    let mut missing = Vec::new();
    for bound in arguments {
        if bound.origin == Origin::Missing {
            missing.push(bound.name);
        }
    }
    if missing.is_empty() {
        return None;
    }
    Some(Diagnostic::new(
        Kind::MissingValue,
        format!("it needs a value for {}", and_list(&missing)),
        format!("write {}", usage_in_backticks(prompt)),
    ))
}

/// Returns a warning for each required argument without a value that the body doesn't use. The
/// expansion would be the same with the value, so the call doesn't fail.
fn unused_required_warnings(prompt: &Prompt, arguments: &[BoundArgument<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (argument, bound) in prompt.arguments.iter().zip(arguments) {
        if argument.required && bound.origin == Origin::Omitted {
            let name = in_backticks(bound.name);
            warnings.push(format!(
                "{name} is required, but the prompt does not use it"
            ));
        }
    }
    warnings
}

/// Messages about values that are not among the choices of their arguments.
struct ChoiceMessages {
    /// One error about all strict arguments.
    error: Option<Diagnostic>,
    /// One warning per other argument.
    warnings: Vec<String>,
}

/// Checks the values against the choices of their arguments.
///
/// Skips defaults, which `check` reports to the author, and arguments that the body doesn't use.
fn check_choices(prompt: &Prompt, arguments: &[BoundArgument<'_>]) -> ChoiceMessages {
    let mut strict_messages = Vec::new();
    let mut warnings = Vec::new();
    for (argument, bound) in prompt.arguments.iter().zip(arguments) {
        if bound.origin == Origin::Default || argument.allows(&bound.value) {
            continue;
        }
        if !prompt.uses_argument(argument) {
            continue;
        }
        let message = format!(
            "{} is not a choice for {}, which takes {}",
            quoted(bound.value.trim()),
            in_backticks(&argument.name),
            or_list(&argument.choices)
        );
        if argument.strict {
            strict_messages.push(message);
        } else {
            let usage = usage_in_backticks(prompt);
            warnings.push(format!(
                "{message}; the value is used anyway (usage: {usage})"
            ));
        }
    }
    ChoiceMessages {
        error: choice_error(prompt, &strict_messages),
        warnings,
    }
}

/// Joins the messages about strict arguments into one error. Returns `None` if there are none.
fn choice_error(prompt: &Prompt, messages: &[String]) -> Option<Diagnostic> {
    if messages.is_empty() {
        return None;
    }
    Some(Diagnostic::new(
        Kind::NotAChoice,
        messages.join(", and "),
        format!("write {}", usage_in_backticks(prompt)),
    ))
}

/// Returns the values of a call that passes them by name. A value named `input` takes precedence
/// over `input`. Names that aren't arguments are ignored here; the caller reports them.
fn values_by_name<'v>(
    prompt: &Prompt,
    values: &'v BTreeMap<String, String>,
    input: &'v str,
) -> GivenValues<'v> {
    let effective_input = values.get(INPUT).map_or(input, String::as_str);
    let mut given = GivenValues::with_input_only(prompt, effective_input);
    // `given.arguments` has one entry per argument, in the same order.
    for (argument, given_value) in prompt.arguments.iter().zip(&mut given.arguments) {
        if let Some(value) = values.get(&argument.name) {
            *given_value = Some(GivenValue {
                text: Cow::Borrowed(value),
                origin: Origin::Named,
            });
        }
    }
    given
}

/// Returns an error if a call passes values by name together with an input that the prompt doesn't
/// use.
///
/// The input is allowed if all its words occur in the values: some callers pass the whole text in
/// addition to its parts.
fn unused_input_error(
    prompt: &Prompt,
    values: &BTreeMap<String, String>,
    input: &str,
) -> Option<Diagnostic> {
    if prompt.takes_input() && !values.contains_key(INPUT) {
        return None;
    }
    let mut value_words = HashSet::new();
    for value in values.values() {
        value_words.extend(value.split_whitespace().map(without_quotes));
    }
    for word in input.split_whitespace() {
        // For `tone=kind`, the value alone may be repeated.
        let value = match parse_pair_start(&prompt.arguments, word) {
            Some(pair) => &word[pair.length..],
            None => word,
        };
        if !is_empty_or_in(&value_words, word) && !is_empty_or_in(&value_words, value) {
            return Some(Diagnostic::new(
                Kind::UnusedText,
                format!(
                    "it was called with values by name, but has no placeholder for the text {}",
                    quoted(input)
                ),
                "give all values by name, or none",
            ));
        }
    }
    None
}

/// Returns whether a word, stripped of quotes, is empty or contained in `words`.
fn is_empty_or_in(words: &HashSet<&str>, word: &str) -> bool {
    let word = without_quotes(word);
    word.is_empty() || words.contains(word)
}

fn without_quotes(word: &str) -> &str {
    word.trim_matches(['"', '\'', '\\'])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::prompt::{Messages, Name};

    /// Returns a prompt that shows what each of these arguments gets: `a!` is required, `b=x` has
    /// the default `x`, and `{{input}}` is a placeholder for the input.
    pub(in crate::prompt) fn prompt(declared: &str) -> Prompt {
        let mut prompt = Prompt::parse(Name::new("p").unwrap(), b"").unwrap();
        let mut body = String::new();
        for word in declared.split_whitespace() {
            if word == "{{input}}" {
                body += "<{{input}}>";
                continue;
            }
            let (marked_name, default) = match word.split_once('=') {
                Some((name, default)) => (name, Some(default.to_owned())),
                None => (word, None),
            };
            let name = marked_name.trim_end_matches('!');
            body += &format!("[{{{{{name}}}}}]");
            prompt.arguments.push(Argument {
                name: name.to_owned(),
                required: marked_name.ends_with('!') && default.is_none(),
                default,
                ..Argument::default()
            });
        }
        prompt.messages = vec![prompt.parse_template(&body)];
        prompt
    }

    pub(in crate::prompt) fn expand(declared: &str, call: Call<'_>) -> Result<String, String> {
        prompt(declared)
            .expand(call)
            .map(Messages::into_text)
            .map_err(|error| error.to_string())
    }

    #[track_caller]
    pub(in crate::prompt) fn check(declared: &str, text: &str, want: &str) {
        assert_eq!(
            expand(declared, Call::Text(text)).as_deref(),
            Ok(want),
            "{text:?}"
        );
    }

    #[track_caller]
    pub(in crate::prompt) fn refused(declared: &str, text: &str, want: &str) {
        assert_eq!(
            expand(declared, Call::Text(text)),
            Err(want.into()),
            "{text:?}"
        );
    }

    #[test]
    fn a_pair_with_a_misspelled_name_stays_text_with_a_warning() {
        for (declared, text, want) in [
            (
                "branch! {{input}}",
                "brnach=x go",
                Some("`brnach=x` is treated as text; did you mean `branch=`?"),
            ),
            (
                "branch",
                "main brnach=\"a b\"",
                Some("`brnach=\"a b\"` is treated as text; did you mean `branch=`?"),
            ),
            (
                "branch lang",
                "branch=x lnag=go",
                Some("`lnag=go` is treated as text; did you mean `lang=`?"),
            ),
            ("branch", "branch=x brnach=y", None),
            ("branch", "size=x x=brnach https://brnach=x", None),
            ("branch", "main\nbrnach=x", None),
            ("a", "b=1", None),
        ] {
            let prompt = prompt(declared);
            let typed = [text.to_owned()];
            for call in [
                Call::Text(text),
                Call::Shell {
                    words: &typed,
                    piped: "",
                    pipe_index: 0,
                },
                Call::Shell {
                    words: &typed,
                    piped: "p",
                    pipe_index: 1,
                },
            ] {
                assert_eq!(
                    prompt.bind(call).warnings.first().map(String::as_str),
                    want,
                    "{text:?}"
                );
            }
        }
        let words = ["a b", "brnach=x"].map(str::to_owned);
        assert_eq!(
            prompt("branch")
                .bind(Call::Shell {
                    words: &words,
                    piped: "",
                    pipe_index: 0
                })
                .warnings
                .len(),
            1
        );
    }

    #[test]
    fn an_input_next_to_values_is_refused_if_the_expansion_would_not_contain_it() {
        let is_refused = |values: &[(&str, &str)], input: &str| {
            let values = values
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            expand(
                "a b",
                Call::Named {
                    values: &values,
                    input,
                    is_strict: true,
                },
            )
            .is_err()
        };
        assert!(is_refused(&[("b", "x")], "some input text"));
        assert!(is_refused(&[("a", "Rust"), ("b", "speed")], "Rust or Go"));
        assert!(is_refused(
            &[("a", "bug")],
            "fix the bug and delete everything"
        ));
        assert!(is_refused(&[("a", "x")], "a=x y"));
        assert!(is_refused(&[("zzz", "x")], ""), "an unknown name");
        assert!(!is_refused(&[("a", "Rust or Go"), ("b", "")], "Rust or Go"));
        assert!(!is_refused(
            &[("a", "Rust or Go"), ("b", "speed")],
            "a=\"Rust or Go\" speed"
        ));
        assert!(!is_refused(
            &[("a", "say \"hi\""), ("b", "x")],
            "\"say \\\"hi\\\"\" x"
        ));
        assert!(!is_refused(&[("b", "x")], " \n"));
        assert!(!is_refused(&[], "anything"));
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once_with_a_usage_line() {
        refused(
            "a! b c!",
            "",
            "it needs a value for `a` and `c`; write `:p a=… [b=…] c=…`",
        );
        refused(
            "a! b=x c!",
            "b=1 y",
            "it needs a value for `c`; write `:p a=… [b=…] c=…`",
        );
        check("a!=x b", "b=1", "[x][1]");
        assert_eq!(prompt("").usage(), None);
    }

    #[test]
    fn values_by_name_are_verbatim_and_an_empty_one_is_given_unless_there_is_a_default() {
        let expand = |declared: &str, values: &[(&str, &str)]| {
            let values = values
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            expand(
                declared,
                Call::Named {
                    values: &values,
                    input: "in",
                    is_strict: false,
                },
            )
        };
        assert_eq!(
            expand("a b", &[("a", " \"x\" b=1\n"), ("zzz", "?")]).unwrap(),
            "[ \"x\" b=1\n][]"
        );
        assert_eq!(expand("a! b=x", &[("a", ""), ("b", "")]).unwrap(), "[][x]");
        assert_eq!(expand("a {{input}}", &[("a", "1")]).unwrap(), "[1]<in>");
        assert_eq!(
            expand("a {{input}}", &[("a", "1"), ("input", "2")]).unwrap(),
            "[1]<2>"
        );
        let missing = expand("a! b! c", &[("c", "1")]).unwrap_err();
        assert_eq!(
            missing,
            "it needs a value for `a` and `b`; write `:p a=… b=… [c=…]`"
        );
    }

    #[test]
    fn a_value_outside_the_choices_is_a_warning_or_if_they_are_strict_an_error() {
        let mut prompt = prompt("level=low tone file {{input}}");
        for (argument, strict) in [(0, false), (1, true)] {
            let choices = ["low", "high é"].map(str::to_owned).to_vec();
            prompt.arguments[argument] = Argument {
                choices,
                strict,
                ..prompt.arguments[argument].clone()
            };
        }
        let warnings = |text: &str| prompt.bind(Call::Text(text)).warnings;
        assert_eq!(
            warnings("level=paranoid tone=low x"),
            [
                "`paranoid` is not a choice for `level`, which takes `low` or `high é`; the value is used anyway (usage: \
              `:p [level=…] [tone=…] [file=…]`)"
            ]
        );
        for fine in [
            "x",
            "level= tone= x",
            "level=low tone=\"high é\" file=paranoid",
            "tone=' low ' level=\"high e\u{301}\"",
        ] {
            assert_eq!(
                (warnings(fine), prompt.bind(Call::Text(fine)).error),
                (Vec::new(), None),
                "{fine}"
            );
        }
        let error = prompt
            .expand(Call::Text("tone=Low x"))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "`Low` is not a choice for `tone`, which takes `low` or `high é`; write `:p [level=…] [tone=…] [file=…]`"
        );
        prompt.arguments[0].default = Some("other".to_owned());
        assert_eq!(
            prompt.bind(Call::Text("x")).warnings,
            [""; 0],
            "a default is the author's own"
        );
    }
}
