//! The commands that an agent runs when a prompt is submitted: how `install` writes one, and which of them run
//! prompt-expander.

use super::{Agent, Arguments, ConfigFile, Hook, Position, Scope, WindowsShell};
use serde_json::Value;
use std::path::PathBuf;

/// Follows the command where a failure would block every prompt: a missing program is one.
const NEVER_FAILS: &str = "; exit 0";

/// The number of a hook's group in the event, and its own in the group, from 0.
pub type HookPlace = (usize, usize);

/// A command that an agent runs when a prompt is submitted.
#[derive(Debug, Clone)]
pub struct HookLine {
    /// For whom it is registered.
    pub scope: Scope,
    /// The file that registers it.
    pub path: PathBuf,
    /// Where the event's hooks are in that file.
    pub position: Option<Position>,
    /// The line for a shell.
    pub line: String,
    /// The words of the line, as a shell would divide them.
    pub words: Vec<String>,
    /// Where it is in the event.
    pub place: HookPlace,
    /// Its entry in the file.
    pub entry: Value,
}

impl HookLine {
    /// The commands of an event in a file.
    pub(super) fn all_in(file: &ConfigFile, event: &str, position: Option<Position>) -> impl Iterator<Item = HookLine> {
        handlers(&file.value, event).filter_map(move |(place, entry)| {
            let line = entry["command"].as_str()?.to_owned();
            let (scope, path, words) = (file.scope, file.path.clone(), words(&line));
            Some(HookLine { scope, path, position, line, words, place, entry: entry.clone() })
        })
    }

    /// Whether it runs prompt-expander as a hook, no matter what else it does and which agent it names.
    pub fn is_prompt_expander(&self) -> bool {
        self.program().is_some()
    }

    /// The word that is the program, and the words after it.
    pub fn program(&self) -> Option<(&str, &[String])> {
        let at = program_in(&self.words)?;
        Some((&self.words[at], &self.words[at + 1..]))
    }

    /// The agent that the line names; `None` if it names none.
    pub fn agent_name(&self) -> Option<&str> {
        let (_, arguments) = self.program()?;
        let at = arguments.iter().position(|word| word == "hook")?;
        arguments.get(at + 1).map(String::as_str)
    }

    /// Its options that name prompts.
    pub(super) fn options(&self) -> Vec<String> {
        self.program().map(|(_, arguments)| Arguments::of(arguments).of_hook).unwrap_or_default()
    }

    /// The server that it asks over HTTP, as it is written.
    pub fn url(&self) -> Option<&str> {
        let (_, arguments) = self.program()?;
        let at = arguments.iter().position(|word| word == "--http")?;
        arguments.get(at + 1).map(String::as_str)
    }

    /// Whether its failure cannot block a prompt.
    pub fn never_fails(&self) -> bool {
        self.line.trim().ends_with(NEVER_FAILS)
    }

    /// Whether `install` could have written it, so that it can be replaced, and run without harm.
    pub fn is_plain(&self) -> bool {
        is_plain(&self.line)
    }
}

/// What the value of a file has for an event: each handler with its place.
pub(super) fn handlers<'v>(value: &'v Value, event: &str) -> impl Iterator<Item = (HookPlace, &'v Value)> + use<'v> {
    let groups = value["hooks"][event].as_array().into_iter().flatten().enumerate();
    groups.flat_map(|(group, value)| {
        let handlers = value["hooks"].as_array().into_iter().flatten().enumerate();
        handlers.map(move |(number, handler)| ((group, number), handler))
    })
}

/// Whether a line is a command that `install` could have written: this program, `hook`, and options that name prompts. Any other
/// word may do something else, such as an operator of the shell, so such a line is left alone. So is one with a variable, whose
/// value only the shell knows, unless it is quoted as `install` does.
pub(super) fn is_plain(line: &str) -> bool {
    let words = words(line);
    let quoted = || shlex::try_join(words.iter().map(String::as_str));
    let is_literal = !line.contains(['$', '`']) || quoted().is_ok_and(|quoted| quoted == without_suffix(line));
    is_hook_command(&words) && is_literal
}

fn is_hook_command(words: &[String]) -> bool {
    program_in(words) == Some(0) && Arguments::of(&words[1..]).is_hook()
}

fn without_suffix(line: &str) -> &str {
    line.trim().strip_suffix(NEVER_FAILS).unwrap_or(line.trim())
}

/// Whether a path, or a word of a command, names prompt-expander.
pub(super) fn is_prompt_expander(program: &str) -> bool {
    // Not every system distinguishes letter case; and npm makes a `.cmd` for Windows.
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let name = [".exe", ".cmd"].iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(&name);
    name == env!("CARGO_PKG_NAME")
}

/// The index of prompt-expander among the words of a line, if it is run as a hook.
fn program_in(words: &[String]) -> Option<usize> {
    let at = words.iter().position(|word| is_prompt_expander(word))?;
    words[at..].iter().any(|word| word == "hook").then_some(at)
}

/// The words of a line, without [`NEVER_FAILS`]. They are split as on this system or, if that finds no hook, as on the other
/// kind of system, where the file may come from.
fn words(line: &str) -> Vec<String> {
    let line = without_suffix(line);
    let split = |line: &str| {
        let words = shlex::split(line)?;
        Some(words.into_iter().map(|word| word.trim_end_matches(';').to_owned()).collect::<Vec<_>>())
    };
    let posix = || split(line);
    // A backslash is a separator there, and PowerShell runs what is in quotes after `&`.
    let windows = || split(&line.strip_prefix("& ").unwrap_or(line).replace('\\', "/"));
    let readings = if cfg!(windows) { [windows(), posix()] } else { [posix(), windows()] };
    let find = |is_right: fn(&[String]) -> bool| readings.iter().flatten().find(|words| is_right(words));
    let words = find(is_hook_command).or_else(|| find(|words| program_in(words).is_some())).or(readings[0].as_ref());
    words.cloned().unwrap_or_default()
}

impl Agent {
    /// The line of a hook with this program and these arguments after `hook AGENT`. An error if one has a NUL character.
    pub(super) fn hook_line(
        &self,
        hook: &Hook,
        program: &str,
        arguments: &[String],
    ) -> Result<String, shlex::QuoteError> {
        let words = [program, "hook", self.name].into_iter().chain(arguments.iter().map(String::as_str));
        let line = match hook.windows_shell {
            _ if !cfg!(windows) => shlex::try_join(words)?,
            WindowsShell::Bash => {
                let slashes = |word: &str| if word.contains(':') { word.replace('\\', "/") } else { word.to_owned() };
                let words: Vec<String> = words.map(slashes).collect();
                shlex::try_join(words.iter().map(String::as_str))?
            }
            WindowsShell::Cmd => {
                let is_special = |word: &str| word.contains([' ', '&', '(', ')']);
                let quoted = |word: &str| if is_special(word) { format!("\"{word}\"") } else { word.to_owned() };
                words.map(quoted).collect::<Vec<_>>().join(" ")
            }
            WindowsShell::PowerShell => {
                let quoted = |word: &str| format!("'{}'", word.replace('\'', "''"));
                format!("& {}", words.map(quoted).collect::<Vec<_>>().join(" "))
            }
        };
        Ok(if hook.blocks_on_failure { format!("{line}{NEVER_FAILS}") } else { line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_recognized_by_its_program_and_only_a_plain_one_is_replaced_or_run() {
        for (line, runs_prompt_expander, plain) in [
            ("prompt-expander hook codex", true, true),
            ("/usr/bin/prompt-expander hook codex --prompts /p", true, true),
            ("'/a b/prompt-expander' --no-builtin hook codex; exit 0", true, true),
            ("'/a $b `c` (d); e/prompt-expander' hook codex --project", true, true),
            ("prompt-expander hook codex; exit 0", true, true),
            ("C:\\Users\\me\\prompt-expander.exe hook codex", true, true),
            ("& 'C:\\a b\\prompt-expander.exe' 'hook' 'codex'; exit 0", true, true),
            ("\"C:\\a b\\Prompt-Expander.EXE\" hook codex", true, true),
            ("prompt-expander hook gemini", true, true),
            ("prompt-expander hook", true, true),
            ("prompt-expander hook codex --http http://127.0.0.1:3333/mcp", true, true),
            ("prompt-expander hook codex --http 'http://[::1]:3333/mcp' --token-env TEAM_TOKEN; exit 0", true, true),
            ("prompt-expander hook codex --http", true, false),
            ("prompt-expander hook codex --http http://127.0.0.1:3333/mcp>log", true, false),
            ("prompt-expander hook codex --http http://h/;log;/mcp", true, false),
            ("prompt-expander hook codex --http http://h/mcp --token-env 'A;log'", true, false),
            ("env A=1 /x/prompt-expander hook codex", true, false),
            ("A=1 prompt-expander hook codex", true, false),
            ("log prompt-expander hook codex", true, false),
            ("prompt-expander hook codex | tee log", true, false),
            ("prompt-expander hook codex; log", true, false),
            ("prompt-expander hook codex > log", true, false),
            ("prompt-expander hook codex\nlog", true, false),
            ("prompt-expander hook codex --log-file log", true, false),
            ("prompt-expander hook $(log)", true, false),
            ("prompt-expander hook `log`", true, false),
            ("prompt-expander hook codex;log", true, false),
            ("prompt-expander hook codex --prompts $HOME/p", true, false),
            ("prompt-expander hook codex --prompts \"$HOME/p\"", true, false),
            ("prompt-expander hook codex --prompts '$HOME/p'", true, true),
            ("prompt-expander list", false, false),
            ("/opt/not-prompt-expander hook codex", false, false),
            ("prompt-expander.sh hook codex", false, false),
            ("prompt-expander 'hook codex", false, false),
            ("", false, false),
        ] {
            assert_eq!((program_in(&words(line)).is_some(), is_plain(line)), (runs_prompt_expander, plain), "{line}");
        }
    }
}
