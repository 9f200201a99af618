//! `prompt-expander completions`: what a shell offers when Tab is pressed.
//!
//! The script that is printed asks the program itself each time, with the words of the line: which prompts there are, only
//! the moment knows. clap's engine answers.

use super::source::PromptSource;
use super::{Cli, output};
use crate::agents::Agent;
use crate::library::Library;
use clap::{Args, CommandFactory, FromArgMatches};
use clap_complete::aot::Shell;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{Bash, CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Set to the name of the shell by the script that asks; the words of the line follow `--`.
const VARIABLE: &str = "PROMPT_EXPANDER_COMPLETE";

/// Characters that mean something to a shell, and so would have to be quoted. To show a name with one of them would be to
/// hand a line to the shell that is not the name.
const SPECIAL: &str = "\\'\"`$&|;<>()[]{}*?!#~^%@,=";

const SHELLS: Shells<'static> = Shells(&[&ColonBash, &Elvish, &Fish, &PlainPowershell, &Zsh]);

pub(super) const EXAMPLES: &str = "\
Examples, each a line of the file that the shell reads when it starts:
  ~/.bashrc                   eval \"$(prompt-expander completions bash)\"
  ~/.zshrc (below compinit)   eval \"$(prompt-expander completions zsh)\"
  ~/.config/fish/config.fish  prompt-expander completions fish | source
  ~/.config/elvish/rc.elv     eval (prompt-expander completions elvish | slurp)
  $PROFILE of PowerShell      prompt-expander completions powershell |
                                Out-String | Invoke-Expression";

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell that you use
    shell: Shell,
}

impl Completions {
    /// Prints the script; `program` is how this program was called.
    pub(super) fn run(self, program: &OsStr) -> anyhow::Result<ExitCode> {
        let name = env!("CARGO_PKG_NAME");
        // What was found in PATH will be found there again, perhaps in a newer version.
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

/// Answers a shell, if it is one that asks.
pub(super) fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1).is_none_or(|first| first != "--") || std::env::var_os(VARIABLE).is_none() {
        return None;
    }
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Cli::command).var(VARIABLE).shells(SHELLS);
    match asked.try_complete(arguments, folder.as_deref()) {
        Ok(is_asked) => is_asked.then_some(ExitCode::SUCCESS),
        Err(_) => Some(ExitCode::FAILURE), // to print it would be to write into somebody's line
    }
}

/// The names of the prompts that begin with what is written so far, a colon before it or not, with their descriptions. A name
/// with folders is found with `:` for `/`, too.
pub(super) fn names(written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let library = library_of_line(std::env::args_os().skip(2));
    let (colon, rest) = written.strip_prefix(':').map_or(("", written), |rest| (":", rest));
    let mut candidates = Vec::new();
    for entry in library.index().entries {
        let spelled = [Some(entry.name().to_owned()), rest.contains(':').then(|| entry.name().replace('/', ":"))];
        let Some(name) = spelled.into_iter().flatten().find(|name| name.starts_with(rest)) else { continue };
        if !is_plain(&name) {
            continue;
        }
        let description = entry.listed().ok().and_then(|listed| listed.summary.description.clone());
        let description = description.map(|description| output::one_line(&description).into());
        candidates.push(CompletionCandidate::new(format!("{colon}{name}")).help(description));
    }
    candidates
}

/// The tags of the prompts that begin with what is written so far.
pub(super) fn tags(written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let library = library_of_line(std::env::args_os().skip(2));
    let listed = library.index().entries.into_iter().filter_map(|entry| entry.listed().ok());
    let tags: BTreeSet<String> = listed.flat_map(|listed| listed.summary.tags.clone()).collect();
    tags.into_iter().filter(|tag| tag.starts_with(written) && is_plain(tag)).map(CompletionCandidate::new).collect()
}

/// The agents that run a hook.
pub(super) fn agents_with_hook() -> Vec<CompletionCandidate> {
    Agent::with_hook().map(|agent| CompletionCandidate::new(agent.name)).collect()
}

/// Whether a text is one word to a shell, and stands for itself.
fn is_plain(text: &str) -> bool {
    let is_special =
        |character: char| character.is_whitespace() || character.is_control() || SPECIAL.contains(character);
    !text.is_empty() && !text.contains(is_special)
}

/// The library that the options of an unfinished line name, from the name of the program on.
fn library_of_line(words: impl Iterator<Item = OsString>) -> Library {
    // Most shells hand over words as they are written, quotes included.
    let unquoted = words.map(|word| match word.to_str().and_then(shlex::split).as_deref() {
        Some([word]) => word.into(),
        _ => word,
    });
    let parsed = Cli::command().ignore_errors(true).try_get_matches_from(unquoted);
    let Ok(matches) = parsed else { return Library::default() };
    let leading = PromptSource::from_arg_matches(&matches).unwrap_or_default();
    let later = matches.subcommand().and_then(|(_, matches)| PromptSource::from_arg_matches(matches).ok());
    leading.merged_with(later.unwrap_or_default()).library()
}

/// bash, which breaks words at `:` and `=` before it asks: `git:com` would be three.
struct ColonBash;

const BASH: &str = r#"_prompt_expander() {
    # The words up to the cursor, put together again where nothing stands between them.
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
    # Only what follows the last break is replaced; and what the shell would read as more than a text is quoted, since a
    # folder may have any name.
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
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _prompt_expander BIN
"#;

impl EnvCompleter for ColonBash {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        _: &str,
        program: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> io::Result<()> {
        let quoted = shlex::try_quote(completer).map_err(io::Error::other)?;
        let text = BASH.replace("VAR", variable).replace("BIN", program).replace("COMPLETER", &quoted);
        script.write_all(text.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> io::Result<()> {
        Bash.write_complete(command, words, folder, answer)
    }
}

/// PowerShell, which puts what it is offered into the line as it is, names of folders included. What it would read as more
/// than a text is left out; it then completes paths itself, and quotes them.
struct PlainPowershell;

/// Quotes, variables, and what ends a word or a command; PowerShell takes typographic quotes for quotes.
const POWERSHELL_SPECIAL: &str = "'\"`$&|;<>(){}@,#\u{2018}\u{2019}\u{201a}\u{201b}\u{201c}\u{201d}\u{201e}";

impl EnvCompleter for PlainPowershell {
    fn name(&self) -> &'static str {
        Powershell.name()
    }

    fn is(&self, name: &str) -> bool {
        Powershell.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> io::Result<()> {
        Powershell.write_registration(variable, name, program, completer, script)
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> io::Result<()> {
        let mut offered = Vec::new();
        Powershell.write_complete(command, words, folder, &mut offered)?;
        let is_special = |character: char| character.is_whitespace() || POWERSHELL_SPECIAL.contains(character);
        for line in String::from_utf8_lossy(&offered).lines() {
            let value = line.split('\t').next().unwrap_or_default();
            if !value.contains(is_special) {
                writeln!(answer, "{line}")?;
            }
        }
        Ok(())
    }
}
