//! The commands that an agent runs when a prompt is submitted: how `install` writes one, and which
//! of them run prompt-expander.

use super::config_file::ConfigFile;
use super::environment::Scope;
use crate::prompt::Position;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Follows the command in a hook's line, so that a program that is gone neither blocks a message
/// nor shows an error at each one.
pub(super) const NEVER_FAILS: &str = "; exit 0";

/// The place of a hook among those of an event, counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HookPlace {
    /// The number of its group.
    pub group: usize,
    /// Its number in the group.
    pub number: usize,
}

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
}

impl HookLine {
    /// Returns the commands of an event that run prompt-expander as a hook, also if they do more,
    /// as in `prompt-expander hook codex | tee log`.
    pub(super) fn all_in(file: &ConfigFile, event: &str) -> Vec<HookLine> {
        let position = file.position(&["hooks", event]);
        let mut hooks = Vec::new();
        for (place, entry) in entries_of_event(&file.value, event) {
            let Some(line) = entry["command"].as_str() else {
                continue;
            };
            let words = words(line);
            if program_index(&words).is_none() {
                continue;
            }
            hooks.push(HookLine {
                scope: file.scope,
                path: file.path.clone(),
                position,
                line: line.to_owned(),
                words,
                place,
            });
        }
        hooks
    }

    /// Returns the word that is the program, and the words after it: `/bin/prompt-expander`, and
    /// `hook` and `codex`.
    pub fn program(&self) -> (&str, &[String]) {
        // `all_in` keeps only lines that have the program.
        let index = program_index(&self.words).unwrap_or_default();
        (&self.words[index], &self.words[index + 1..])
    }

    /// Returns whether the words after the program are more than `hook` and perhaps the agent.
    pub fn has_options(&self) -> bool {
        let (_, arguments) = self.program();
        !matches!(arguments, [command] | [command, _] if command == "hook")
    }

    /// Returns whether `install` could have written the line. If so, it can be replaced, and run
    /// without harm.
    pub fn is_plain(&self) -> bool {
        is_plain(&self.line)
    }
}

/// Returns the entries of an event in the value of a file of hooks:
/// `{"hooks": {EVENT: [{"hooks": [ENTRY, ENTRY]}, {"hooks": [ENTRY]}]}}` has three, in two groups.
pub(super) fn entries_of_event<'v>(
    value: &'v Value,
    event: &str,
) -> BTreeMap<HookPlace, &'v Value> {
    let mut entries = BTreeMap::new();
    let groups = value["hooks"][event].as_array();
    for (group, group_value) in groups.into_iter().flatten().enumerate() {
        let group_entries = group_value["hooks"].as_array();
        for (number, entry) in group_entries.into_iter().flatten().enumerate() {
            entries.insert(HookPlace { group, number }, entry);
        }
    }
    entries
}

/// Returns whether a line runs prompt-expander as a hook and does nothing else, as in
/// `'/my tools/prompt-expander' hook codex; exit 0`.
///
/// No character of the line may mean something to a shell, unless it is quoted as `install` does.
pub(super) fn is_plain(line: &str) -> bool {
    let words = words(line);
    if program_index(&words) != Some(0) || !has_only_options_before_hook(&words[1..]) {
        return false;
    }
    if words.iter().all(|word| word.chars().all(is_safe_in_shell)) {
        return true;
    }
    let quoted = shlex::try_join(words.iter().map(String::as_str));
    quoted.is_ok_and(|quoted| quoted == without_suffix(line))
}

/// Returns whether a character is the same for every shell, quoted or not.
fn is_safe_in_shell(letter: char) -> bool {
    letter.is_alphanumeric() || " /\\._-:,+@=~".contains(letter)
}

/// Returns whether all words before the command `hook` are options, each followed by at most one
/// value, as in `--no-builtin --config FILE hook codex`.
fn has_only_options_before_hook(arguments: &[String]) -> bool {
    let mut may_be_value = false;
    for word in arguments {
        if word == "hook" {
            return true;
        }
        let is_option = word.starts_with("--");
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option; // only the word after an option
    }
    true
}

/// Returns a line without [`NEVER_FAILS`] at its end.
fn without_suffix(line: &str) -> &str {
    let line = line.trim();
    line.strip_suffix(NEVER_FAILS).unwrap_or(line)
}

/// Returns whether a path, or a word of a command, names prompt-expander.
///
/// Letter case does not count, because it does not on every system, and neither does the `.cmd`
/// that npm adds on Windows.
pub(super) fn is_prompt_expander(program: &str) -> bool {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let file = file.to_ascii_lowercase();
    let name = file.strip_suffix(".exe").or(file.strip_suffix(".cmd"));
    name.unwrap_or(&file) == env!("CARGO_PKG_NAME")
}

/// Returns the index of prompt-expander among the words of a line, if it is run as a hook.
fn program_index(words: &[String]) -> Option<usize> {
    let index = words.iter().position(|word| is_prompt_expander(word))?;
    if words[index..].iter().any(|word| word == "hook") {
        Some(index)
    } else {
        None
    }
}

/// Returns the words of a hook's line, without [`NEVER_FAILS`]: `'/a b/prompt-expander' hook codex`
/// has three. Returns no words if the line does not run prompt-expander as a hook.
///
/// The file may come from another system, so the line is read twice: as a POSIX shell does, and as
/// Windows does. The way of this system comes first. A reading that begins with prompt-expander is
/// preferred to one that has the program in a later place.
fn words(line: &str) -> Vec<String> {
    let line = without_suffix(line);
    if line.contains('\n') {
        return Vec::new();
    }
    // A backslash is a separator on Windows, and PowerShell runs what is in quotes after `&`.
    let windows_line = line.strip_prefix("& ").unwrap_or(line).replace('\\', "/");
    let mut readings = [line, &windows_line];
    if cfg!(windows) {
        readings.reverse();
    }
    let mut first_with_hook = Vec::new();
    for reading in readings {
        let words = shlex::split(reading).unwrap_or_default(); // none if a quote is not closed
        match program_index(&words) {
            Some(0) => return words,
            Some(_) if first_with_hook.is_empty() => first_with_hook = words,
            _ => {}
        }
    }
    first_with_hook
}

/// Returns the line of a hook with these words, such as
/// `'/my tools/prompt-expander' hook codex; exit 0`. On Windows, the two texts `around_on_windows`
/// are before and after the words.
pub(super) fn hook_line(words: &[&str], around_on_windows: [&str; 2]) -> String {
    if !cfg!(windows) {
        // Only a NUL character cannot be quoted, and no word has one.
        let command = shlex::try_join(words.iter().copied()).unwrap_or_default();
        return command + NEVER_FAILS;
    }
    let mut quoted = Vec::new();
    for word in words {
        // Bash, PowerShell and cmd.exe all take this.
        quoted.push(if word.contains([' ', '&', '(', ')']) {
            format!("\"{word}\"")
        } else {
            word.replace('\\', "/")
        });
    }
    around_on_windows.join(&quoted.join(" "))
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
                (!words(line).is_empty(), is_plain(line)),
                (runs_prompt_expander, plain),
                "{line}"
            );
        }
    }
}
