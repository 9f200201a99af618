//! `prompt-expander completions`: what a shell offers when you press Tab.
//!
//! The printed script runs the program for each completion, with the words of the line, because
//! prompts are added and removed. clap's completion engine answers.

use super::line::{command_first, command_position};
use super::source_options::PromptSource;
use super::{config, output};
use crate::library::Library;
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

/// The script sets it to the name of the shell; the words of the line follow `--`.
const VARIABLE: &str = "PROMPT_EXPANDER_COMPLETE";

/// Characters that a shell interprets. A name that contains one is not offered, because unquoted it
/// would mean something else.
const SPECIAL: &str = "\\'\"`$&|;<>()[]{}*?!#~^%@,=";

pub(super) const EXAMPLES: &str = "\
Add the line for your shell to its startup file:
  ~/.bashrc                   eval \"$(prompt-expander completions bash)\"
  ~/.zshrc (after compinit)   eval \"$(prompt-expander completions zsh)\"
  ~/.config/fish/config.fish  prompt-expander completions fish | source
  ~/.config/elvish/rc.elv     eval (prompt-expander completions elvish | slurp)
  $PROFILE of PowerShell      prompt-expander completions powershell |
                                Out-String | Invoke-Expression

bash ends a word at a colon: complete names there without one.";

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Your shell
    shell: Shell,
}

impl Completions {
    /// Prints the script that makes the shell ask this program for completions. `program` is the
    /// name under which this program was started: a path, or a name that was found in PATH.
    pub(super) fn run(self, program: &OsStr) -> anyhow::Result<()> {
        let name = env!("CARGO_PKG_NAME");
        let completer = program_for_script(program)?;
        let completer = completer.to_string_lossy();
        let mut script = Vec::new();
        if let Some(shell) = Shells::builtins().completer(&self.shell.to_string()) {
            shell.write_registration(VARIABLE, name, name, &completer, &mut script)?;
        }
        if self.shell == Shell::Bash {
            // bash completes paths by itself, and quotes them.
            script.extend(b"complete -o bashdefault -o default -F _clap_complete_prompt_expander prompt-expander\n");
        }
        output::print_verbatim(&script)
    }
}

/// Returns the program that a completion script starts: `./prompt-expander` becomes an absolute
/// path, and `prompt-expander` stays a name. The shell looks the name up in PATH again, so that an
/// update takes effect.
fn program_for_script(program: &OsStr) -> io::Result<OsString> {
    let is_path = Path::new(program).components().count() > 1;
    if is_path {
        Ok(path::absolute(program)?.into_os_string())
    } else {
        Ok(program.to_owned())
    }
}

/// Prints the completions for a script, and returns the exit status; `None` if no script has
/// started this program. `program` makes the definition of the command line.
///
/// A script sets the environment variable [`VARIABLE`], and passes the words of the unfinished line
/// after `--`: `prompt-expander -- prompt-expander expand rese`.
pub(super) fn answer(words: &[OsString], program: fn() -> Command) -> Option<ExitCode> {
    let [_, separator, typed_line @ ..] = words else {
        return None;
    };
    if separator != "--" || env::var_os(VARIABLE).is_none() {
        return None;
    }
    let line = Arc::new(parse_unfinished(typed_line, &program()));
    let hint = forced_hint();
    let folder = env::current_dir().ok();
    let completion = CompleteEnv::with_factory(|| with_completers(program(), &line, hint))
        .var(VARIABLE)
        .try_complete(words, folder.as_deref());
    match completion {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(_) => Some(ExitCode::FAILURE), // a message would end up in the line that is being typed
    }
}

/// Returns the words with which an unfinished word may continue. The line, as far as it is parsed,
/// says which options and which prompt come before the word.
type Completer = fn(line: &ArgMatches, unfinished: &str) -> Vec<CompletionCandidate>;

/// Returns the function that completes an argument of a command: prompts' names for the `name` of
/// `edit`. `None` if clap itself knows the values, or there is nothing to offer.
fn completer_of(command: &str, argument: &str) -> Option<Completer> {
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

/// Returns a hint to replace the hints of all arguments, so that no paths are offered to bash and
/// PowerShell; `None` for other shells.
///
/// These two insert an offered word without quotes, but a folder may have any name. They complete
/// paths by themselves, and quote them.
fn forced_hint() -> Option<ValueHint> {
    match env::var(VARIABLE).ok()?.as_str() {
        "bash" | "powershell" => Some(ValueHint::Other),
        _ => None,
    }
}

/// Returns the program with a completer for each argument that needs one. The completers read the
/// options that `line` has. A `hint` replaces the hints of all arguments.
fn with_completers(program: Command, line: &Arc<ArgMatches>, hint: Option<ValueHint>) -> Command {
    // The first word may also be the name of a prompt with a colon, as in
    // `prompt-expander :research`.
    let prompt = Arg::new("prompt").num_args(1..);
    let mut program = program.arg(add_completer(prompt, complete_call_without_command, line));
    program.build();
    program
        .mut_args(|argument| with_hint(argument, hint))
        .mut_subcommands(|command| {
            let name = command.get_name().to_owned();
            command.mut_args(|argument| {
                let argument = with_hint(argument, hint);
                match completer_of(&name, argument.get_id().as_str()) {
                    Some(completer) => add_completer(argument, completer, line),
                    None => argument,
                }
            })
        })
}

/// Returns an argument for whose values `completer` is asked. A word that is not UTF-8 is not
/// completed.
fn add_completer(argument: Arg, completer: Completer, line: &Arc<ArgMatches>) -> Arg {
    let line = Arc::clone(line);
    argument.add(ArgValueCompleter::new(
        move |unfinished: &OsStr| match unfinished.to_str() {
            Some(unfinished) => completer(&line, unfinished),
            None => Vec::new(),
        },
    ))
}

fn with_hint(argument: Arg, hint: Option<ValueHint>) -> Arg {
    match hint {
        Some(hint) => argument.value_hint(hint),
        None => argument,
    }
}

/// Completes the words of a line that has a prompt in place of a command, such as
/// `prompt-expander :research top`.
///
/// The colon makes such a line a call of `expand`, and the line is parsed as one. Without a colon,
/// the first word is a command, which clap completes.
fn complete_call_without_command(line: &ArgMatches, unfinished: &str) -> Vec<CompletionCandidate> {
    if line.subcommand_name() == Some("expand") {
        complete_call(line, unfinished)
    } else {
        Vec::new()
    }
}

/// Completes a word of a command such as `expand`: the first word is the name of a prompt, and the
/// words after it are arguments of that prompt.
fn complete_call(line: &ArgMatches, unfinished: &str) -> Vec<CompletionCandidate> {
    match words_of_call(line).as_slice() {
        [name, _, ..] => complete_argument(line, name, unfinished),
        _ => complete_prompt(line, unfinished),
    }
}

/// Returns the words after a command such as `expand`, including the unfinished one:
/// `expand research topic=x` → `research`, `topic=x`. No words if the line has another command.
fn words_of_call(line: &ArgMatches) -> Vec<&String> {
    let Some((_, command)) = line.subcommand() else {
        return Vec::new();
    };
    match command.try_get_many("words") {
        Ok(Some(words)) => words.collect(),
        _ => Vec::new(),
    }
}

/// Completes the name of a prompt, in the spelling that the user has begun: `git/c` →
/// `git/commit`, `:git:c` → `:git:commit`. The colon before the name may be missing.
fn complete_prompt(line: &ArgMatches, unfinished: &str) -> Vec<CompletionCandidate> {
    let beginning = unfinished.strip_prefix(COLONS).unwrap_or(unfinished);
    let colon = unfinished.strip_suffix(beginning).unwrap_or_default();
    let mut candidates = Vec::new();
    for found in library_of(line).view().list().found {
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

/// Completes an argument of the prompt `prompt_name`: `de` → `depth=`, and `depth=` →
/// `depth=short`, `depth=long` if these are the choices of the argument.
fn complete_argument(
    line: &ArgMatches,
    prompt_name: &str,
    unfinished: &str,
) -> Vec<CompletionCandidate> {
    let library = library_of(line);
    let Ok(found) = library.view().find(prompt_name) else {
        return Vec::new();
    };
    let Ok(prompt) = found.prompt() else {
        return Vec::new();
    };
    let mut candidates = Vec::new();
    for argument in &prompt.arguments {
        if is_plain(&argument.name) {
            add_candidates(&mut candidates, argument, unfinished);
        }
    }
    candidates
}

/// Adds the words that set an argument and begin with `unfinished`: `depth=` for `de`, and each
/// choice, such as `depth=short`, once `depth=` is complete.
fn add_candidates(
    candidates: &mut Vec<CompletionCandidate>,
    argument: &Argument,
    unfinished: &str,
) {
    let assignment = format!("{}=", argument.name);
    let has_assignment = unfinished.starts_with(&assignment);
    if !has_assignment {
        if assignment.starts_with(unfinished) {
            candidates.push(candidate(assignment, argument.description.as_deref()));
        }
        return;
    }
    for choice in &argument.choices {
        let word = format!("{assignment}{choice}");
        if word.starts_with(unfinished) && is_plain(choice) {
            candidates.push(candidate(word, None));
        }
    }
}

/// Returns a word to offer, with a description that shells such as zsh and fish show next to it.
fn candidate(word: String, description: Option<&str>) -> CompletionCandidate {
    let help = description.map(|text| output::one_line(text).into());
    CompletionCandidate::new(word).help(help)
}

/// Completes a tag: offers each tag of a prompt that begins with `unfinished`, once and sorted.
fn complete_tag(line: &ArgMatches, unfinished: &str) -> Vec<CompletionCandidate> {
    let mut tags = BTreeSet::new();
    for found in library_of(line).view().list().found {
        if let Ok(prompt) = found.info().summary {
            tags.extend(prompt.tags.clone());
        }
    }
    tags.retain(|tag| tag.starts_with(unfinished) && is_plain(tag));
    tags.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns whether a shell reads the text, without quotes, as one word with the same characters.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(is_special)
}

fn is_special(character: char) -> bool {
    character.is_whitespace() || character.is_control() || SPECIAL.contains(character)
}

/// Returns the library that the options of a line and the settings file select. An option that is
/// not valid yet is ignored, because the line is unfinished.
fn library_of(line: &ArgMatches) -> Library {
    let mut source = PromptSource::from_line(line).unwrap_or_default();
    config::load(&mut source);
    source.library()
}

/// Parses the words of an unfinished line, the first of which is the name of the program. Ignores
/// what is not valid.
fn parse_unfinished(typed_line: &[OsString], program: &Command) -> ArgMatches {
    // Most shells pass words as they were typed, including quotes.
    let mut words = Vec::new();
    for word in typed_line {
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
