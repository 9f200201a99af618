//! The commands that an agent runs when a prompt is submitted: how `install` writes one, and which
//! of them run prompt-expander.

use super::config_file::ConfigFile;
use super::environment::Scope;
use crate::prompt::Position;
use serde_json::Value;
use std::path::PathBuf;

/// Follows the command: a program that is gone must not block a message, or show an error at each
/// one.
pub(super) const NEVER_FAILS: &str = "; exit 0";

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
    /// The commands of an event in a file that run prompt-expander as a hook, no matter what else
    /// they do.
    pub(super) fn all_in(file: &ConfigFile, event: &str) -> Vec<HookLine> {
        let position = file.position(&["hooks", event]);
        let hook = |(place, entry): (HookPlace, &Value)| {
            let line = entry["command"].as_str()?.to_owned();
            let (scope, path, words) = (file.scope, file.path.clone(), words(&line));
            Some(HookLine {
                scope,
                path,
                position,
                line,
                words,
                place,
                entry: entry.clone(),
            })
        };
        handlers(&file.value, event)
            .filter_map(hook)
            .filter(|hook| program_in(&hook.words).is_some())
            .collect()
    }

    /// The word that is the program, and the words after it.
    pub fn program(&self) -> (&str, &[String]) {
        let at = program_in(&self.words).unwrap_or_default();
        (&self.words[at], &self.words[at + 1..])
    }

    /// The words after the program that are neither the command `hook` nor the agent after it.
    pub fn options(&self) -> Vec<String> {
        let mut words = self.program().1.to_vec();
        let at = words
            .iter()
            .position(|word| word == "hook")
            .unwrap_or(words.len());
        words.drain(at..(at + 2).min(words.len()));
        words
    }

    /// Whether `install` could have written it, so that it can be replaced, and run without harm.
    pub fn is_plain(&self) -> bool {
        is_plain(&self.line)
    }
}

/// What the value of a file has for an event: each handler with its place.
pub(super) fn handlers<'v>(
    value: &'v Value,
    event: &str,
) -> impl Iterator<Item = (HookPlace, &'v Value)> + use<'v> {
    let groups = value["hooks"][event]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    groups.flat_map(|(group, value)| {
        let handlers = value["hooks"].as_array().into_iter().flatten().enumerate();
        handlers.map(move |(number, handler)| ((group, number), handler))
    })
}

/// Whether a line runs this program as a hook and nothing else: no character of it means something
/// to a shell, unless it is quoted as `install` does.
pub(super) fn is_plain(line: &str) -> bool {
    let words = words(line);
    let is_safe = |letter: char| letter.is_alphanumeric() || " /\\._-:,+@=~".contains(letter);
    let is_literal = words.iter().all(|word| word.chars().all(is_safe))
        || shlex::try_join(words.iter().map(String::as_str))
            .is_ok_and(|quoted| quoted == without_suffix(line));
    program_in(&words) == Some(0) && is_hook(&words[1..]) && is_literal
}

/// Whether nothing but options, each with a value or none, is before the command `hook`.
fn is_hook(arguments: &[String]) -> bool {
    let at = arguments
        .iter()
        .position(|word| word == "hook")
        .unwrap_or_default();
    arguments[..at].iter().enumerate().all(|(at, word)| {
        word.starts_with("--")
            || at
                .checked_sub(1)
                .is_some_and(|before| arguments[before].starts_with("--"))
    })
}

fn without_suffix(line: &str) -> &str {
    line.trim().strip_suffix(NEVER_FAILS).unwrap_or(line.trim())
}

/// Whether a path, or a word of a command, names prompt-expander.
pub(super) fn is_prompt_expander(program: &str) -> bool {
    // Not every system distinguishes letter case; and npm makes a `.cmd` for Windows.
    let name = program
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(program)
        .to_ascii_lowercase();
    let name = [".exe", ".cmd"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(&name);
    name == env!("CARGO_PKG_NAME")
}

/// The index of prompt-expander among the words of a line, if it is run as a hook.
fn program_in(words: &[String]) -> Option<usize> {
    let at = words.iter().position(|word| is_prompt_expander(word))?;
    words[at..].iter().any(|word| word == "hook").then_some(at)
}

/// The words of a line, without [`NEVER_FAILS`]. They are split as on this system or, if that finds
/// no hook, as on the other kind of system, where the file may come from.
fn words(line: &str) -> Vec<String> {
    let line = without_suffix(line);
    // A backslash is a separator on Windows, and PowerShell runs what is in quotes after `&`.
    let windows = line.strip_prefix("& ").unwrap_or(line).replace('\\', "/");
    let readings = [line, windows.as_str()].map(|line| {
        if line.contains('\n') {
            None
        } else {
            shlex::split(line)
        }
    });
    let [first, second] = if cfg!(windows) {
        [&readings[1], &readings[0]]
    } else {
        [&readings[0], &readings[1]]
    };
    let begins = |words: &&Vec<String>| program_in(words) == Some(0);
    let both = || [first, second].into_iter().flatten();
    both()
        .find(begins)
        .or_else(|| both().find(|words| program_in(words).is_some()))
        .cloned()
        .unwrap_or_default()
}

/// The line of a hook with these words, none of which has a NUL character; on Windows, with these
/// texts around them.
pub(super) fn hook_line(words: &[&str], around_on_windows: [&str; 2]) -> String {
    if cfg!(windows) {
        // Bash, PowerShell and cmd.exe all take this.
        let is_special = |word: &str| word.contains([' ', '&', '(', ')']);
        let quoted = |word: &&str| {
            if is_special(word) {
                format!("\"{word}\"")
            } else {
                word.replace('\\', "/")
            }
        };
        let words: Vec<String> = words.iter().map(quoted).collect();
        return around_on_windows.join(&words.join(" "));
    }
    shlex::try_join(words.iter().copied()).unwrap_or_default() + NEVER_FAILS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_recognized_by_its_program_and_only_a_plain_one_is_replaced_or_run() {
        for (line, runs_prompt_expander, plain) in [
            ("prompt-expander hook codex", true, true),
            (
                "/usr/bin/prompt-expander hook codex --prompts /p",
                true,
                true,
            ),
            (
                "'/a b/prompt-expander' --no-builtin hook codex; exit 0",
                true,
                true,
            ),
            (
                "'/a $b `c` (d); e/prompt-expander' hook codex --project",
                true,
                true,
            ),
            ("C:\\Users\\me\\prompt-expander.exe hook codex", true, true),
            (
                "& 'C:\\a b\\prompt-expander.exe' 'hook' 'codex'; exit 0",
                true,
                true,
            ),
            ("\"C:\\a b\\Prompt-Expander.EXE\" hook codex", true, true),
            ("prompt-expander hook", true, true),
            ("env A=1 /x/prompt-expander hook codex", true, false),
            ("log prompt-expander hook codex", true, false),
            ("prompt-expander hook codex | tee log", true, false),
            ("prompt-expander hook codex; log", true, false),
            ("prompt-expander hook codex; ./log", true, false),
            ("prompt-expander hook codex > log", true, false),
            ("prompt-expander hook codex & log", true, false),
            ("prompt-expander hook $(log)", true, false),
            ("prompt-expander hook `log`", true, false),
            (
                "prompt-expander hook codex --prompts \"$HOME/p\"",
                true,
                false,
            ),
            ("prompt-expander hook codex --prompts '$HOME/p'", true, true),
            (
                "prompt-expander new x --dir . --prompts hook codex",
                true,
                false,
            ),
            ("prompt-expander list", false, false),
            ("/opt/not-prompt-expander hook codex", false, false),
            ("prompt-expander 'hook codex", false, false),
            ("prompt-expander hook codex\nlog", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (program_in(&words(line)).is_some(), is_plain(line)),
                (runs_prompt_expander, plain),
                "{line}"
            );
        }
    }
}
