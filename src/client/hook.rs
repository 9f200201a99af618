//! The hooks of a client that run when a prompt is submitted: where they stand, how ours is written, and which of them are
//! ours.

use super::config::Config;
use super::syntax::Syntax;
use super::{Arguments, Client, Position, Scope, Surroundings};
use serde_json::Value;
use std::path::PathBuf;

/// What stands behind the command for Gemini CLI, which blocks every prompt when the program is no longer there, whose status
/// is 127.
const NEVER_BLOCKS: &str = "; exit 0";

/// What makes of a line for a shell more than one command, or something that is not known before it runs.
const OPERATORS: [char; 11] = [';', '&', '|', '<', '>', '$', '`', '(', ')', '#', '\n'];

/// A command that a client runs when a prompt is submitted.
#[derive(Debug, Clone)]
pub struct Hook {
    /// For whom it is registered.
    pub scope: Scope,
    /// The file that it stands in.
    pub path: PathBuf,
    /// Where in it the hooks of the event are.
    pub position: Option<Position>,
    /// The line that a shell runs.
    pub line: String,
    /// Its words, without the `;` behind them; slashes for the backslashes of a path of Windows.
    pub words: Vec<String>,
    /// Which group of the event it stands in, and which of that group it is, both from 0.
    pub place: (usize, usize),
    /// All that the file says of it.
    pub entry: Value,
    /// Whether it is for some prompts only.
    pub has_matcher: bool,
}

impl Hook {
    /// Whether it runs our program as a hook, whatever else it does, and whichever client it names.
    pub fn is_ours(&self) -> bool {
        self.program().is_some()
    }

    /// Which of its words is our program.
    pub fn program(&self) -> Option<usize> {
        program_in(&self.words)
    }

    /// The name of the client that it is told to serve; none, if the line ends before it.
    pub fn told(&self) -> Option<&str> {
        let behind = &self.words[self.program()?..];
        let at = behind.iter().position(|word| word == "hook")?;
        behind.get(at + 1).map(String::as_str)
    }

    /// Whether the line is one command, `hook` of a program of our name with nothing but options that name prompts: nothing
    /// that could do something else.
    pub fn is_alone(&self) -> bool {
        // As the shell here reads it, and no other.
        let words = command(&self.line, cfg!(windows)).unwrap_or_default();
        program_in(&words) == Some(0) && Arguments::of(&words[1..]).is_hook()
    }

    /// Whether `install` would write it anew: it is one command of ours, in the file where `install` would put it. Another has
    /// something to it that is its owner's.
    pub fn is_of_install(&self, client: Client, surroundings: &Surroundings) -> bool {
        client.hook_file(self.scope, surroundings).as_ref() == Some(&self.path) && is_replaceable(&self.line)
    }
}

impl Client {
    /// The files that it reads hooks from in a scope. What goes before another comes first.
    pub(super) fn hook_files(self, scope: Scope, surroundings: &Surroundings) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.hook_file(scope, surroundings).into_iter().collect();
        match (self, scope) {
            (Client::Codex, _) => files.extend(self.configs(scope, surroundings)),
            (Client::ClaudeCode, Scope::Project) => {
                files.insert(0, surroundings.project.join(".claude").join("settings.local.json"));
            }
            _ => {}
        }
        files
    }

    /// Where `install` registers a hook, if it has any.
    pub(super) fn hook_file(self, scope: Scope, surroundings: &Surroundings) -> Option<PathBuf> {
        let folder = match scope {
            Scope::User => self.home(surroundings)?,
            Scope::Project => surroundings.project.join(match self {
                Client::Codex => ".codex",
                Client::ClaudeCode => ".claude",
                _ => ".gemini",
            }),
            Scope::Local => return None,
        };
        match self {
            Client::Codex => Some(folder.join("hooks.json")),
            Client::ClaudeCode | Client::GeminiCli => Some(folder.join("settings.json")),
            Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => None,
        }
    }

    /// The line that its shell runs: `hook CLIENT`, and these arguments. An error where one has a NUL character.
    pub(super) fn hook_line(self, program: &str, arguments: &[String]) -> Result<String, shlex::QuoteError> {
        let words = || ["hook", self.name()].into_iter().chain(arguments.iter().map(String::as_str));
        let line = if !cfg!(windows) {
            shlex::try_join([program].into_iter().chain(words()))?
        } else if self == Client::ClaudeCode {
            // A bash, to which a backslash is an escape.
            let slashes = |word: &str| if word.contains(':') { word.replace('\\', "/") } else { word.to_owned() };
            let words: Vec<String> = [program].into_iter().chain(words()).map(slashes).collect();
            shlex::try_join(words.iter().map(String::as_str))?
        } else if self == Client::Codex {
            // cmd.exe
            let quoted =
                |word: &str| if word.contains([' ', '&', '(', ')']) { format!("\"{word}\"") } else { word.to_owned() };
            [program].into_iter().chain(words()).map(quoted).collect::<Vec<_>>().join(" ")
        } else {
            // PowerShell
            let quoted = |word: &str| format!("'{}'", word.replace('\'', "''"));
            let words: Vec<String> = words().map(quoted).collect();
            format!("& {} {}", quoted(program), words.join(" "))
        };
        // Gemini CLI blocks every prompt when the program is no longer there, whose status is 127.
        Ok(if self == Client::GeminiCli { format!("{line}{NEVER_BLOCKS}") } else { line })
    }

    /// How long it waits for the hook, in its own unit: five seconds.
    pub(super) fn hook_timeout(self) -> u32 {
        if self == Client::GeminiCli { 5000 } else { 5 }
    }

    pub(super) fn hook_syntax(self) -> Syntax {
        let is_lenient = self != Client::Codex;
        Syntax::Json { comments: is_lenient, trailing_commas: is_lenient }
    }
}

impl Config {
    /// The commands that it runs at an event.
    pub fn hooks(&self, event: &str) -> Vec<Hook> {
        let position = self.position(&["hooks", event]);
        let hook = |(place, group, entry): (_, &Value, &Value)| {
            let line = entry["command"].as_str()?;
            Some(Hook {
                scope: self.scope,
                path: self.path.clone(),
                position,
                line: line.to_owned(),
                words: words(line),
                place,
                entry: entry.clone(),
                has_matcher: group.get("matcher").is_some(),
            })
        };
        handlers(&self.value, event).filter_map(hook).collect()
    }
}

/// What a file of hooks has for an event: each with the numbers of its group and of itself in it, and its group.
pub(super) fn handlers<'v>(
    value: &'v Value,
    event: &str,
) -> impl Iterator<Item = ((usize, usize), &'v Value, &'v Value)> + use<'v> {
    let groups = value["hooks"][event].as_array().into_iter().flatten().enumerate();
    groups.flat_map(|(at_group, group)| {
        let handlers = group["hooks"].as_array().into_iter().flatten().enumerate();
        handlers.map(move |(at, handler)| ((at_group, at), group, handler))
    })
}

/// Whether a line for a shell is what `install` would write, but for its options: one command, whose program is ours. Such a
/// line may be written anew; another has something in it that is its owner's.
pub(super) fn is_replaceable(line: &str) -> bool {
    [false, true].into_iter().any(|windows| program_in(&command(line, windows).unwrap_or_default()) == Some(0))
}

/// Whether a path, or a word of a command, names our program.
pub(super) fn is_our_program(program: &str) -> bool {
    // Not every system tells letters by their case; and `.cmd` is what npm makes for Windows.
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let name = [".exe", ".cmd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    name == env!("CARGO_PKG_NAME")
}

/// Where among the words of a line our program is, if it is told to be a hook.
fn program_in(words: &[String]) -> Option<usize> {
    let at = words.iter().position(|word| is_our_program(word))?;
    words[at..].iter().any(|word| word == "hook").then_some(at)
}

/// The words of a line for a shell.
fn words(line: &str) -> Vec<String> {
    let split = |windows| split(&read_by(line, windows));
    let here = split(cfg!(windows)).unwrap_or_default();
    // A file may have come from a machine with another system.
    let other = || split(!cfg!(windows)).filter(|words| program_in(words).is_some());
    if program_in(&here).is_some() { here } else { other().unwrap_or(here) }
}

/// The words of a line that is one command, and nothing besides but [`NEVER_BLOCKS`].
fn command(line: &str, windows: bool) -> Option<Vec<String>> {
    let line = line.trim();
    let line = read_by(line.strip_suffix(NEVER_BLOCKS).unwrap_or(line), windows);
    if has_operators(&line) { None } else { split(&line) }
}

/// A line as a POSIX shell would have it.
fn read_by(line: &str, windows: bool) -> String {
    match windows {
        // As PowerShell runs what stands in quotes; and a backslash is a separator there.
        true => line.strip_prefix("& ").unwrap_or(line).replace('\\', "/"),
        false => line.to_owned(),
    }
}

fn split(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?;
    Some(words.into_iter().map(|word| word.trim_end_matches(';').to_owned()).collect())
}

/// Whether a line for a shell is more than one command, or holds what is not known before it runs.
fn has_operators(line: &str) -> bool {
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => _ = letters.next(),
            (Some(_), '$' | '`') => return true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if OPERATORS.contains(&letter) => return true,
            (None, _) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_hook_is_known_by_its_program_and_only_a_line_of_ours_is_replaced() {
        for (line, is_ours, is_replaced) in [
            ("prompt-expander hook codex", true, true),
            ("/usr/bin/prompt-expander hook codex --prompts /p", true, true),
            ("'/a b/prompt-expander' --no-builtin hook codex; exit 0", true, true),
            ("prompt-expander hook codex; exit 0", true, true),
            ("C:\\Users\\me\\prompt-expander.exe hook codex", true, true),
            ("& 'C:\\a b\\prompt-expander.exe' 'hook' 'codex'; exit 0", true, true),
            ("\"C:\\a b\\Prompt-Expander.EXE\" hook codex", true, true),
            ("prompt-expander hook gemini", true, true),
            ("prompt-expander hook", true, true),
            ("env A=1 /x/prompt-expander hook codex", true, false),
            ("A=1 prompt-expander hook codex", true, false),
            ("log prompt-expander hook codex", true, false),
            ("prompt-expander hook codex | tee log", true, false),
            ("prompt-expander hook codex; log", true, false),
            ("prompt-expander list", false, false),
            ("/opt/not-prompt-expander hook codex", false, false),
            ("prompt-expander.sh hook codex", false, false),
            ("prompt-expander 'hook codex", false, false),
            ("", false, false),
        ] {
            assert_eq!((program_in(&words(line)).is_some(), is_replaceable(line)), (is_ours, is_replaced), "{line}");
        }
    }

    #[test]
    fn what_stands_in_quotes_is_no_operator() {
        for line in ["'/a $b `c` (d)/p' hook x", "\"/a & b; it's\" hook x", "/a\\ \\$b hook x", "'a'\\'';b' hook x"] {
            assert!(!has_operators(line), "{line}");
        }
        for line in ["p hook x; y", "'p' hook x & y", "\"$(y)\" hook x", "\"`y`\"", "p\ny", "p \\\\; y", "p $x"] {
            assert!(has_operators(line), "{line}");
        }
    }
}
