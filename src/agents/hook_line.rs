//! The shell commands of prompt-submit hooks: writes them for `install`, and recognizes those that
//! run prompt-expander.

use super::config_file::ConfigFile;
use super::environment::Scope;
use crate::prompt::Position;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The end of a hook's command. If prompt-expander was deleted, messages are then neither blocked
/// nor answered with an error.
pub(super) const NEVER_FAILS: &str = "; exit 0";

/// The place of a hook in an agent's list of hooks for an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HookPlace {
    /// The index of its group.
    pub group: usize,
    /// Its index in the group.
    pub index: usize,
}

/// A prompt-submit hook that runs prompt-expander.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredHook {
    /// Where the hook is active.
    pub scope: Scope,
    /// The file that registers it.
    pub path: PathBuf,
    /// The position of the event in that file. All hooks of the event share it.
    pub position: Option<Position>,
    /// All keys of the hook's entry, including agent-specific ones.
    pub(super) entry: Value,
    /// The command line, for a shell.
    pub line: String,
    /// The command line split into words, without [`NEVER_FAILS`].
    pub words: Vec<String>,
    /// The place of the hook among those of the event.
    pub place: HookPlace,
}

impl RegisteredHook {
    /// Returns the hooks for an event that run `prompt-expander hook`, including those that do
    /// more, e.g. `prompt-expander hook codex | tee log`.
    pub(super) fn all_in(file: &ConfigFile, event: &str) -> Vec<RegisteredHook> {
        let position = file.position(&["hooks", event]);
        let mut hooks = Vec::new();
        for (place, entry) in entries_of_event(&file.value, event) {
            let Some(line) = entry["command"].as_str() else {
                continue;
            };
            let words = split_words(line);
            if program_index(&words).is_none() {
                continue;
            }
            hooks.push(RegisteredHook {
                scope: file.scope,
                path: file.path.clone(),
                position,
                entry: entry.clone(),
                line: line.to_owned(),
                words,
                place,
            });
        }
        hooks
    }

    /// Returns the program and its arguments, e.g. `/bin/prompt-expander`, and `hook` and `codex`.
    pub fn program_and_arguments(&self) -> (&str, &[String]) {
        // Never `None`: `all_in` skips commands without the program.
        let index = program_index(&self.words).unwrap_or_default();
        (&self.words[index], &self.words[index + 1..])
    }

    /// Returns whether there are arguments besides `hook` and the name of the agent.
    pub fn has_options(&self) -> bool {
        let (_, arguments) = self.program_and_arguments();
        !matches!(arguments, [command] | [command, _] if command == "hook")
    }

    /// Returns whether the command only runs prompt-expander, as `install` writes it. It can then
    /// be replaced, and is safe to run.
    pub fn is_plain(&self) -> bool {
        is_plain(&self.line)
    }
}

/// Returns the hooks for an event from a parsed hooks file. For example,
/// `{"hooks": {EVENT: [{"hooks": [HOOK, HOOK]}, {"hooks": [HOOK]}]}}` has three, in two groups.
pub(super) fn entries_of_event<'v>(
    value: &'v Value,
    event: &str,
) -> BTreeMap<HookPlace, &'v Value> {
    let mut entries = BTreeMap::new();
    let groups = value["hooks"][event].as_array();
    for (group, group_value) in groups.into_iter().flatten().enumerate() {
        let group_entries = group_value["hooks"].as_array();
        for (index, entry) in group_entries.into_iter().flatten().enumerate() {
            entries.insert(HookPlace { group, index }, entry);
        }
    }
    entries
}

/// Returns whether a parsed hooks file has hooks for any event, of any program. Codex keeps other
/// things below `hooks` as well, in tables.
pub(super) fn has_hooks(value: &Value) -> bool {
    let Some(events) = value["hooks"].as_object() else {
        return false;
    };
    events
        .values()
        .any(|groups| groups.as_array().is_some_and(|groups| !groups.is_empty()))
}

/// Returns whether a command line runs `prompt-expander hook` and nothing else, e.g.
/// `'/my tools/prompt-expander' hook codex; exit 0`.
///
/// To be sure of that, every character must be harmless in all shells, or the line must be quoted
/// exactly as `install` quotes it.
pub(super) fn is_plain(line: &str) -> bool {
    let words = split_words(line);
    if program_index(&words) != Some(0) || !has_only_options_before_hook(&words[1..]) {
        return false;
    }
    if words.iter().all(|word| word.chars().all(is_safe_in_shell)) {
        return true;
    }
    let quoted = shlex::try_join(words.iter().map(String::as_str));
    quoted.is_ok_and(|quoted| quoted == without_exit(line))
}

/// Returns whether a character has no special meaning in any shell, even if it isn't quoted.
fn is_safe_in_shell(character: char) -> bool {
    character.is_alphanumeric() || " /\\._-:,+@=~".contains(character)
}

/// Returns whether all arguments before `hook` are options, each with at most one value, as in
/// `--no-builtin --config FILE hook codex`.
fn has_only_options_before_hook(arguments: &[String]) -> bool {
    let mut follows_option = false;
    for word in arguments {
        if word == "hook" {
            return true;
        }
        let is_option = word.starts_with("--");
        if !is_option && !follows_option {
            return false; // neither an option nor its value
        }
        follows_option = is_option;
    }
    true
}

/// Removes [`NEVER_FAILS`] from the end of a command line.
fn without_exit(line: &str) -> &str {
    let line = line.trim();
    line.strip_suffix(NEVER_FAILS).unwrap_or(line)
}

/// Returns whether a program's name or path is prompt-expander's, on any system: ignores case, and
/// the extensions `.exe` and `.cmd`, which npm adds on Windows.
pub(super) fn is_prompt_expander(program: &str) -> bool {
    let file_name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let file_name = file_name.to_ascii_lowercase();
    let stem = file_name
        .strip_suffix(".exe")
        .or(file_name.strip_suffix(".cmd"));
    stem.unwrap_or(&file_name) == env!("CARGO_PKG_NAME")
}

/// Returns the index of the program in a command that runs `prompt-expander hook`.
fn program_index(words: &[String]) -> Option<usize> {
    let index = words.iter().position(|word| is_prompt_expander(word))?;
    if words[index..].iter().any(|word| word == "hook") {
        Some(index)
    } else {
        None
    }
}

/// Splits a command line into words, without [`NEVER_FAILS`]: `'/a b/prompt-expander' hook codex`
/// has three. Returns no words if it doesn't run `prompt-expander hook`.
///
/// The hooks file may come from another system, so the line is interpreted both as a POSIX shell
/// and as Windows would do it, in this system's way first. The first interpretation that starts
/// with prompt-expander wins, otherwise the first that contains it.
fn split_words(line: &str) -> Vec<String> {
    let line = without_exit(line);
    if line.contains('\n') {
        return Vec::new();
    }
    // On Windows, backslashes separate folders. PowerShell needs `&` to run a quoted program.
    let windows_line = line.strip_prefix("& ").unwrap_or(line).replace('\\', "/");
    let mut interpretations = [line, &windows_line];
    if cfg!(windows) {
        interpretations.reverse();
    }
    let mut fallback = Vec::new();
    for interpretation in interpretations {
        // No words if a quote isn't closed.
        let words = shlex::split(interpretation).unwrap_or_default();
        match program_index(&words) {
            Some(0) => return words,
            Some(_) if fallback.is_empty() => fallback = words,
            _ => {}
        }
    }
    fallback
}

/// Quotes words as a hook's command line, e.g. `'/my tools/prompt-expander' hook codex; exit 0`. On
/// Windows, puts `windows_prefix` before them and `windows_suffix` after them.
pub(super) fn format_command_line(
    words: &[&str],
    windows_prefix: &str,
    windows_suffix: &str,
) -> String {
    if !cfg!(windows) {
        // Quoting fails only for a NUL character, which no word contains.
        let command = shlex::try_join(words.iter().copied()).unwrap_or_default();
        return command + NEVER_FAILS;
    }
    let mut quoted = Vec::new();
    for word in words {
        // Bash, PowerShell and cmd.exe all accept this quoting.
        quoted.push(if word.contains([' ', '&', '(', ')']) {
            format!("\"{word}\"")
        } else {
            word.replace('\\', "/")
        });
    }
    format!("{windows_prefix}{}{windows_suffix}", quoted.join(" "))
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
                (!split_words(line).is_empty(), is_plain(line)),
                (runs_prompt_expander, plain),
                "{line}"
            );
        }
    }
}
