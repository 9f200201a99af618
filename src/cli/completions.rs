//! `prompt-expander completions`: what a shell offers when you press Tab.
//!
//! The printed script runs the program for each completion, with the words of the line, because prompts are added and removed. clap's
//! completion engine answers.

use super::source::PromptSource;
use super::{Cli, output, parse_leniently};
use crate::agents::Agent;
use crate::library::{Caller, Layer, Library, Lookup, Version};
use crate::prompt::{Argument, COLONS, spelled_as_typed};
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches};
use clap_complete::aot::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The script sets it to the name of the shell; the words of the line follow `--`.
const VARIABLE: &str = "PROMPT_EXPANDER_COMPLETE";

/// Characters that a shell interprets. A name that contains one is not offered, because unquoted it would mean something else.
const SPECIAL: &str = "\\'\"`$&|;<>()[]{}*?!#~^%@,=";

const SHELLS: Shells<'static> =
    Shells(&[&BASH_WITH_COLONS, &Elvish, &Fish, &POWERSHELL_WITHOUT_SPECIAL, &ZSH_WITH_ARGUMENTS]);

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
    /// Prints the script; `program` is the first word of the command line.
    pub(super) fn run(self, program: &OsStr) -> anyhow::Result<ExitCode> {
        let name = env!("CARGO_PKG_NAME");
        // A program that was found in PATH is looked up there again, so that an update takes effect.
        let is_path = Path::new(program).components().count() > 1;
        let completer = if is_path { std::path::absolute(program)? } else { program.into() };
        let mut script = Vec::new();
        if let Some(shell) = SHELLS.completer(&self.shell.to_string()) {
            shell.write_registration(VARIABLE, name, name, &completer.to_string_lossy(), &mut script)?;
        }
        output::print_verbatim(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Answers a completion script; `None` if the program was not run by one.
pub(super) fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1).is_none_or(|first| first != "--") || std::env::var_os(VARIABLE).is_none() {
        return None;
    }
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command_with_prompts).var(VARIABLE).shells(SHELLS);
    match asked.try_complete(arguments, folder.as_deref()) {
        Ok(is_asked) => is_asked.then_some(ExitCode::SUCCESS),
        Err(_) => Some(ExitCode::FAILURE), // a message would end up in the line that is being typed
    }
}

/// The command line as it is completed: the first word may also be the name of a prompt with a colon, as in
/// `prompt-expander :research`.
fn command_with_prompts() -> clap::Command {
    let names_after_colon = |written: &OsStr| match written.to_str() {
        Some(text) if text.starts_with(COLONS) => names(written),
        _ => Vec::new(),
    };
    Cli::command().arg(Arg::new("prompt").add(ArgValueCompleter::new(names_after_colon)))
}

/// The prompts whose names begin with this text, with or without a colon, and their descriptions. In names with folders, a
/// colon may be used for `/`.
pub(super) fn names(written: &OsStr) -> Vec<CompletionCandidate> {
    names_of(written, |_| true)
}

/// The same without the built-in prompts, which cannot be changed.
pub(super) fn own_names(written: &OsStr) -> Vec<CompletionCandidate> {
    names_of(written, |layer| layer != Layer::Builtin)
}

fn names_of(written: &OsStr, is_offered: impl Fn(Layer) -> bool) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let library = library_of_line(std::env::args_os().skip(2));
    let rest = written.strip_prefix(COLONS).unwrap_or(written);
    let colon = &written[..written.len() - rest.len()];
    let mut candidates = Vec::new();
    for entry in library.view().list().entries.into_iter().filter(|entry| is_offered(entry.layer())) {
        let Some(name) = spelled_as_typed(entry.name(), rest).filter(|name| is_plain(name)) else { continue };
        let description = entry.summary().ok().and_then(|prompt| prompt.description.clone());
        let description = description.map(|description| output::one_line(&description).into());
        candidates.push(CompletionCandidate::new(format!("{colon}{name}")).help(description));
    }
    candidates
}

/// What may follow `--arg`: the arguments of the prompt in the line, and after `NAME=` the choices of that argument.
pub(super) fn values(written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let line = matches_of_line(std::env::args_os().skip(2));
    let name = line.subcommand().and_then(|(_, matches)| matches.try_get_one::<String>("name").ok().flatten());
    let library = library_of(&line);
    let Some(Lookup::Found(prompt)) = name.map(|name| library.view().find(name)) else { return Vec::new() };
    let mut candidates = Vec::new();
    for Argument { name, description, choices, .. } in &prompt.arguments {
        if written.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('=')) {
            candidates.extend(choices.iter().map(|choice| (format!("{name}={choice}"), None)));
        } else {
            candidates.push((format!("{name}="), description.as_deref().map(|text| output::one_line(text).into())));
        }
    }
    candidates.retain(|(text, _)| text.starts_with(written) && is_plain(&text.replacen('=', "", 1)));
    candidates.into_iter().map(|(text, description)| CompletionCandidate::new(text).help(description)).collect()
}

/// The revisions of the prompt in the line that begin with this text, and when they were written.
pub(super) fn revisions(written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let line = matches_of_line(std::env::args_os().skip(2));
    let name = line.subcommand().and_then(|(_, matches)| matches.try_get_one::<String>("name").ok().flatten());
    let library = library_of(&line);
    let editor = library.editor(&Caller::local()).ok();
    let versions = name.and_then(|name| editor?.history(name).ok()).unwrap_or_default();
    let written_at = |version: &Version| format!("{}", version.at.strftime("%Y-%m-%d %H:%M:%S UTC"));
    let mut known = BTreeSet::new();
    let versions = versions.into_iter().filter(|version| !version.is_current && known.insert(version.revision));
    let candidates = versions.map(|version| (version.revision.short(), written_at(&version)));
    let candidates = candidates.filter(|(revision, _)| revision.starts_with(written));
    candidates.map(|(revision, at)| CompletionCandidate::new(revision).help(Some(at.into()))).collect()
}

/// The tags that begin with this text.
pub(super) fn tags(written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let library = library_of_line(std::env::args_os().skip(2));
    let view = library.view();
    let prompts = view.list().entries.into_iter().filter_map(|entry| entry.summary().ok());
    let tags: BTreeSet<String> = prompts.flat_map(|prompt| prompt.tags.clone()).collect();
    tags.into_iter().filter(|tag| tag.starts_with(written) && is_plain(tag)).map(CompletionCandidate::new).collect()
}

/// The agents that run a hook.
pub(super) fn agents_with_hook() -> Vec<CompletionCandidate> {
    Agent::with_hook().map(|agent| CompletionCandidate::new(agent.name)).collect()
}

/// Whether a shell reads the text as one literal word.
fn is_plain(text: &str) -> bool {
    let is_special =
        |character: char| character.is_whitespace() || character.is_control() || SPECIAL.contains(character);
    !text.is_empty() && !text.contains(is_special)
}

/// The library that the options of an incomplete line select. The first word is the name of the program.
fn library_of_line(words: impl Iterator<Item = OsString>) -> Library {
    library_of(&matches_of_line(words))
}

fn library_of(line: &ArgMatches) -> Library {
    let before = PromptSource::from_arg_matches(line).unwrap_or_default();
    let after = line.subcommand().and_then(|(_, matches)| PromptSource::from_arg_matches(matches).ok());
    before.and(after.unwrap_or_default()).library()
}

/// What can be understood of an incomplete line.
fn matches_of_line(words: impl Iterator<Item = OsString>) -> ArgMatches {
    // Most shells pass words as they were typed, including quotes.
    let unquoted = words.map(|word| match word.to_str().and_then(shlex::split).as_deref() {
        Some([word]) => word.into(),
        _ => word,
    });
    parse_leniently(unquoted)
}

/// The completion of a shell by clap, with changes.
struct Adapted {
    shell: &'static dyn EnvCompleter,
    /// Makes the script from that of clap, with the names of the program and of the command that completes.
    script: fn(script: String, program: &str, completer: &str) -> io::Result<String>,
    /// Whether a candidate is offered.
    is_offered: fn(&str) -> bool,
}

impl EnvCompleter for Adapted {
    fn name(&self) -> &'static str {
        self.shell.name()
    }

    fn is(&self, name: &str) -> bool {
        self.shell.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        self.shell.write_registration(variable, name, program, completer, &mut text)?;
        let text = (self.script)(String::from_utf8_lossy(&text).into_owned(), program, completer)?;
        script.write_all(text.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> io::Result<()> {
        let mut offered = Vec::new();
        self.shell.write_complete(command, words, folder, &mut offered)?;
        let offered = String::from_utf8_lossy(&offered);
        let is_offered = |line: &&str| (self.is_offered)(line.split('\t').next().unwrap_or_default());
        offered.split_inclusive('\n').filter(is_offered).try_for_each(|line| answer.write_all(line.as_bytes()))
    }
}

/// bash splits words at `:` and `=`: `git:com` arrives as three words. So it has a script of its own.
const BASH_WITH_COLONS: Adapted = Adapted {
    shell: &Bash,
    script: |_, program, completer| {
        let quoted = shlex::try_quote(completer).map_err(io::Error::other)?;
        Ok(BASH.replace("VAR", VARIABLE).replace("BIN", program).replace("COMPLETER", &quoted))
    },
    is_offered: |_| true,
};

const BASH: &str = r#"_prompt_expander() {
    # The words up to the cursor; parts without a space between them are joined again.
    local rest=${COMP_LINE:0:COMP_POINT} word next i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        next=${rest#"${rest%%[![:space:]]*}"}
        ((i < COMP_CWORD)) || word=$next
        if ((${#words[@]} > 0)) && [[ $next == "$rest" ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${next#"$word"}
    done
    local last=${words[${#words[@]} - 1]}
    # Only the part after the last split is replaced. What the shell would interpret is quoted, since a folder may have any
    # name.
    local written=${last%"${last##*[:=]}"}
    [[ $COMP_WORDBREAKS == *:* ]] || written=
    COMPREPLY=()
    while IFS= read -r word; do
        [[ -n $word ]] || continue
        word=${word#"$written"}
        [[ -z $word ]] || printf -v word %q "$word"
        COMPREPLY+=("$word")
    done < <(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) VAR=bash \
        command COMPLETER -- "${words[@]}" 2>/dev/null && echo)
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[/=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _prompt_expander BIN
"#;

/// zsh, with no space after `NAME=`, where the value follows.
const ZSH_WITH_ARGUMENTS: Adapted = Adapted {
    shell: &Zsh,
    script: |script, _, _| {
        let others = "local -a suffix=()\n        [[ \"${other[1]%%:*}\" == *= ]] && suffix=(-S '')\n        \
                      [[ -n $other ]] && _describe -V 'values' other \"${suffix[@]}\"\n";
        Ok(script.replace(ZSH_OTHERS, others))
    },
    is_offered: |_| true,
};

/// The line of clap's script that offers all but folders.
const ZSH_OTHERS: &str = "[[ -n $other ]] && _describe -V 'values' other\n";

/// PowerShell inserts candidates without quoting them, names of folders included. Those that it would interpret are left out; it then
/// completes paths itself, and quotes them.
const POWERSHELL_WITHOUT_SPECIAL: Adapted = Adapted {
    shell: &Powershell,
    script: |script, _, _| Ok(script),
    is_offered: |candidate| {
        let is_special = |character: char| character.is_whitespace() || POWERSHELL_SPECIAL.contains(character);
        !candidate.trim_end_matches(['\r', '\n']).contains(is_special)
    },
};

/// Quotes, including typographic ones, variables, and what ends a word or a command.
const POWERSHELL_SPECIAL: &str = "'\"`$&|;<>(){}@,#\u{2018}\u{2019}\u{201a}\u{201b}\u{201c}\u{201d}\u{201e}";
