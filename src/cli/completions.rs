//! `prompt-expander completions`: shell completion.
//!
//! The command prints a script, which runs this program with the words of the line whenever the
//! user presses Tab. So the completions always include the current prompts.

use super::line::{command_first, command_position};
use super::source_options::PromptSource;
use super::{config, output};
use crate::prompt::{Argument, COLONS, spelling_starting_with};
use clap::{Arg, ArgMatches, Args, Command, ValueHint};
use clap_complete::aot::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{self, Path};
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io};

/// The environment variable that the script sets to the name of the shell.
const SHELL_VARIABLE: &str = "PROMPT_EXPANDER_COMPLETE";

/// Characters with a meaning in a shell. Names that contain one of them aren't offered, because
/// they would have to be quoted.
const SPECIAL: &str = "\\'\"`$&|;<>()[]{}*?!#~^%@,=";

pub(super) const EXAMPLES: &str = "\
Add the line for your shell to its startup file:
  ~/.bashrc                   eval \"$(prompt-expander completions bash)\"
  ~/.zshrc (after compinit)   eval \"$(prompt-expander completions zsh)\"
  ~/.config/fish/config.fish  prompt-expander completions fish | source
  ~/.config/elvish/rc.elv     eval (prompt-expander completions elvish | slurp)
  $PROFILE of PowerShell      prompt-expander completions powershell |
                                Out-String | Invoke-Expression";

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Your shell
    shell: Shell,
}

impl Completions {
    /// Prints the script. `program` is the first word of the command line: the path of this
    /// program, or its name if it was found in PATH.
    pub(super) fn run(self, program: &OsStr) -> anyhow::Result<()> {
        let name = env!("CARGO_PKG_NAME");
        let completer = program_for_script(program)?;
        let completer = completer.to_string_lossy();
        let mut script = Vec::new();
        if let Some(shell) = Shells::builtins().completer(&self.shell.to_string()) {
            shell.write_registration(SHELL_VARIABLE, name, name, &completer, &mut script)?;
        }
        if self.shell == Shell::Bash {
            script.extend(include_bytes!("completions.bash"));
        }
        output::print_verbatim(&script)
    }
}

/// Returns the program for the script to run. Makes a path absolute, and keeps a name, so that the
/// shell looks it up in PATH again after an update.
fn program_for_script(program: &OsStr) -> io::Result<OsString> {
    let is_path = Path::new(program).components().count() > 1;
    if is_path {
        Ok(path::absolute(program)?.into_os_string())
    } else {
        Ok(program.to_owned())
    }
}

/// If a completion script has started this program, prints the completions, and returns the exit
/// status. Otherwise, returns `None`. `define_program` returns the definition of the command line.
///
/// The script sets [`SHELL_VARIABLE`], and passes the words of the unfinished line after `--`. For
/// the line `prompt-expander expand rese`, it runs
/// `prompt-expander -- prompt-expander expand rese`.
pub(super) fn complete_if_requested(
    words: &[OsString],
    define_program: fn() -> Command,
) -> Option<ExitCode> {
    let [_, separator, unfinished_line @ ..] = words else {
        return None;
    };
    if separator != "--" {
        return None;
    }
    let shell = env::var_os(SHELL_VARIABLE)?;
    let line = Arc::new(UnfinishedLine {
        matches: parse_unfinished(unfinished_line, &define_program()),
        is_quoted_by_shell: shell != "powershell",
    });
    let hint = hint_for_all_arguments(&shell);
    let folder = env::current_dir().ok();
    // clap itself skips the words up to `--`. It removes the variable from the environment, and
    // then calls the closure.
    let completion = CompleteEnv::with_factory(|| with_completers(define_program(), &line, hint))
        .var(SHELL_VARIABLE)
        .try_complete(words, folder.as_deref());
    match completion {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None, // the variable is empty or `0`, which disables completion
        Err(_) => Some(ExitCode::FAILURE), // a message would be printed into the user's input
    }
}

/// A line that is completed.
struct UnfinishedLine {
    /// What could be parsed.
    matches: ArgMatches,
    /// Whether the shell quotes spaces and `#` in a completion.
    is_quoted_by_shell: bool,
}

/// Returns the completions of an unfinished word.
type Completer = fn(line: &UnfinishedLine, unfinished: &str) -> Vec<CompletionCandidate>;

/// Returns the completer for an argument of a command. Returns `None` if clap itself completes the
/// argument, or there is nothing to offer.
fn completer_for(command: &str, argument: &str) -> Option<Completer> {
    match (command, argument) {
        ("expand" | "explain" | "copy", "words") => Some(complete_call),
        ("edit" | "path" | "show" | "history" | "diff" | "restore", "name")
        | ("rm", "names")
        | ("test", "targets")
        | ("mv", "old") => Some(complete_prompt),
        ("list", "tag") => Some(complete_tag),
        _ => None,
    }
}

/// For bash and PowerShell, returns a hint to set for all arguments, so that clap offers no paths.
/// For other shells, returns `None`: each argument keeps its own hint.
///
/// These two shells don't quote the words that are offered to them. They complete paths themselves.
fn hint_for_all_arguments(shell: &OsStr) -> Option<ValueHint> {
    match shell.to_str()? {
        "bash" | "powershell" => Some(ValueHint::Other),
        _ => None,
    }
}

/// Adds completers to the arguments that need one. They respect the options in `line`. `hint`, if
/// any, replaces the hints of all arguments.
fn with_completers(
    program: Command,
    line: &Arc<UnfinishedLine>,
    hint: Option<ValueHint>,
) -> Command {
    // Instead of a command, there may be a prompt's name with a colon.
    let prompt = without_options_between(Arg::new("prompt"));
    let mut program = program.arg(add_completer(prompt, complete_call_without_command, line));
    program.build();
    program
        .mut_args(|argument| set_hint_if_any(argument, hint))
        .mut_subcommands(|command| {
            let name = command.get_name().to_owned();
            command.mut_args(|argument| {
                let mut argument = set_hint_if_any(argument, hint);
                if argument.get_id() == "words" {
                    argument = without_options_between(argument);
                }
                match completer_for(&name, argument.get_id().as_str()) {
                    Some(completer) => add_completer(argument, completer, line),
                    None => argument,
                }
            })
        })
}

/// Keeps clap from offering options among the words of an argument, such as a prompt and its input,
/// where they would be text.
///
/// clap offers options as soon as an argument has its minimum number of words. So this sets a
/// minimum that nobody reaches. It only affects completion, because no line is parsed with this
/// definition.
fn without_options_between(words: Arg) -> Arg {
    const MIN_WORDS: usize = 500;
    words.num_args(MIN_WORDS..)
}

/// Adds a completer to an argument. Words that aren't UTF-8 aren't completed.
fn add_completer(argument: Arg, completer: Completer, line: &Arc<UnfinishedLine>) -> Arg {
    let line = Arc::clone(line);
    argument.add(ArgValueCompleter::new(
        move |unfinished: &OsStr| match unfinished.to_str() {
            Some(unfinished) => completer(&line, unfinished),
            None => Vec::new(),
        },
    ))
}

/// Replaces the argument's own hint of what its values are, e.g. paths, if there is another hint.
fn set_hint_if_any(argument: Arg, hint: Option<ValueHint>) -> Arg {
    match hint {
        Some(hint) => argument.value_hint(hint),
        None => argument,
    }
}

/// Completes a line with a prompt instead of a command, e.g. `prompt-expander :research top`.
///
/// Such a line was parsed as `expand :research top`. If it wasn't, the first word is an unfinished
/// command, which clap completes.
fn complete_call_without_command(
    line: &UnfinishedLine,
    unfinished: &str,
) -> Vec<CompletionCandidate> {
    if line.matches.subcommand_name() == Some("expand") {
        complete_call(line, unfinished)
    } else {
        Vec::new()
    }
}

/// Completes a word after a command such as `expand`: first the name of a prompt, and then the
/// arguments of that prompt.
fn complete_call(line: &UnfinishedLine, unfinished: &str) -> Vec<CompletionCandidate> {
    // The last of these words is the unfinished one, so a single word is an unfinished name.
    match words_of_call(line).as_slice() {
        [name, _, ..] => complete_argument(line, name, unfinished),
        _ => complete_prompt(line, unfinished),
    }
}

/// Returns the words after a command such as `expand`, including the unfinished one. Returns none
/// if the line has a different command.
fn words_of_call(line: &UnfinishedLine) -> Vec<&String> {
    let Some((_, command)) = line.matches.subcommand() else {
        return Vec::new();
    };
    match command.try_get_many("words") {
        Ok(Some(words)) => words.collect(),
        _ => Vec::new(),
    }
}

/// Completes the name of a prompt, in the spelling that the user has started: `git/c` to
/// `git/commit`, and `:git:c` to `:git:commit`. Prompts that are used often come first.
fn complete_prompt(line: &UnfinishedLine, unfinished: &str) -> Vec<CompletionCandidate> {
    let beginning = unfinished.strip_prefix(COLONS).unwrap_or(unfinished);
    let colon = &unfinished[..unfinished.len() - beginning.len()]; // the one that was typed, if any
    let source = source_of(line);
    let mut prompts = source.library().view().list().found;
    source.recent_uses().sort(&mut prompts);
    let mut candidates = Vec::new();
    for found in prompts {
        let Some(name) = spelling_starting_with(&found.name, beginning) else {
            continue;
        };
        if is_plain(&name) {
            let description = match found.info().summary {
                Ok(prompt) => prompt.description.clone(),
                Err(_) => None,
            };
            candidates.push(candidate(format!("{colon}{name}"), description.as_deref()));
        }
    }
    candidates
}

/// Completes an argument of the prompt `prompt_name`: `de` to `depth=`, and `depth=` to its
/// choices, e.g. `depth=short`.
fn complete_argument(
    line: &UnfinishedLine,
    prompt_name: &str,
    unfinished: &str,
) -> Vec<CompletionCandidate> {
    let library = source_of(line).library();
    let Ok(found) = library.view().find(prompt_name) else {
        return Vec::new();
    };
    let Ok(prompt) = found.prompt() else {
        return Vec::new();
    };
    let mut candidates = Vec::new();
    for argument in &prompt.arguments {
        if is_plain(&argument.name) {
            add_candidates(&mut candidates, argument, line, unfinished);
        }
    }
    candidates
}

/// Adds the completions of `unfinished` that set this argument.
fn add_candidates(
    candidates: &mut Vec<CompletionCandidate>,
    argument: &Argument,
    line: &UnfinishedLine,
    unfinished: &str,
) {
    let assignment = format!("{}=", argument.name);
    if !unfinished.starts_with(&assignment) {
        // The name itself is unfinished, unless another argument is being typed.
        if assignment.starts_with(unfinished) {
            candidates.push(candidate(assignment, argument.description.as_deref()));
        }
        return;
    }
    for choice in &argument.choices {
        let word = format!("{assignment}{choice}");
        let is_offered = if line.is_quoted_by_shell {
            is_plain(&choice.replace([' ', '#'], "_"))
        } else {
            is_plain(choice)
        };
        if word.starts_with(unfinished) && is_offered {
            candidates.push(candidate(word, None));
        }
    }
}

/// Returns a word to offer. Shells such as zsh and fish show the description next to it.
fn candidate(word: String, description: Option<&str>) -> CompletionCandidate {
    let help = description.map(|text| output::one_line(text).into());
    CompletionCandidate::new(word).help(help)
}

/// Completes a tag with all tags of prompts, sorted and without duplicates.
fn complete_tag(line: &UnfinishedLine, unfinished: &str) -> Vec<CompletionCandidate> {
    let mut tags = BTreeSet::new();
    for found in source_of(line).library().view().list().found {
        if let Ok(prompt) = found.info().summary {
            tags.extend(prompt.tags.clone());
        }
    }
    tags.retain(|tag| tag.starts_with(unfinished) && is_plain(tag));
    tags.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns whether a shell parses the unquoted text as one word with the same characters.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(is_special)
}

/// Returns whether a shell treats an unquoted character as more than a part of a word.
fn is_special(character: char) -> bool {
    character.is_whitespace() || character.is_control() || SPECIAL.contains(character)
}

/// Returns the options in an unfinished line, and the settings file. Falls back to the defaults if
/// the options aren't valid yet.
fn source_of(line: &UnfinishedLine) -> PromptSource {
    let mut source = PromptSource::from_line(&line.matches).unwrap_or_default();
    config::load(&mut source);
    source
}

/// Parses an unfinished line, which begins with the name of the program. Ignores its errors, so
/// that the result has what could be parsed. Like in a complete line, options may come before the
/// command.
fn parse_unfinished(line: &[OsString], program: &Command) -> ArgMatches {
    // Most shells pass the words as they were typed, including quotes.
    let mut words = Vec::new();
    for word in line {
        match word.to_str().and_then(shlex::split).as_deref() {
            Some([unquoted]) => words.push(unquoted.into()),
            _ => words.push(word.clone()),
        }
    }
    if let Some(position) = command_position(&words) {
        words = command_first(&words, position, program);
    }
    let program = program.clone().ignore_errors(true);
    program.try_get_matches_from(words).unwrap_or_default()
}
