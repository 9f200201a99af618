//! The two starts that have no time to lose: an agent's, as a server, and that of a client's hook.
//!
//! To describe the options to clap, even these few, costs a quarter of a start. Whatever is no plain start, mistakes
//! included, is for clap.

use super::hook::Hook;
use super::source::PromptSource;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// What such a start asks for.
#[derive(Debug)]
pub(super) enum Start {
    Serve(PromptSource),
    Hook(Hook, PromptSource),
}

impl Start {
    /// Reads the arguments, the first of them the program's name. `None`: they may mean something else, or nothing.
    pub(super) fn parse(arguments: &[OsString]) -> Option<Start> {
        let words = arguments.get(1..)?;
        let of_hook = words.split_first().filter(|(command, _)| *command == "hook").map(|(_, rest)| rest);
        let mut parser = lexopt::Parser::from_args(of_hook.unwrap_or(words));
        let mut source = PromptSource::default();
        let mut client = None;
        while let Some(argument) = parser.next().ok()? {
            match argument {
                Long("prompts") => source.folders.prompts.push(folder(parser.value().ok()?)?),
                Long("no-builtin") => source.folders.no_builtin = true,
                Long("project") => source.project = true,
                Value(name) if of_hook.is_some() && client.is_none() => client = Some(name.into_string().ok()?),
                _ => return None,
            }
        }
        match of_hook {
            None => Some(Start::Serve(source)),
            Some(_) => Some(Start::Hook(Hook { agent: client? }, source)),
        }
    }
}

/// A folder, but for what clap takes for a mistake: nothing, or the next option.
fn folder(value: OsString) -> Option<PathBuf> {
    let first = value.as_encoded_bytes().first()?;
    (*first != b'-').then(|| PathBuf::from(value))
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};
    use super::*;
    use clap::Parser;

    /// All lists of so many of these words at most, behind the program's name.
    fn lists(words: &[&str], most: usize) -> Vec<Vec<OsString>> {
        let mut lists = vec![vec![OsString::from("prompt-expander")]];
        let mut begin = 0;
        for _ in 0..most {
            let end = lists.len();
            for at in begin..end {
                for word in words {
                    let longer = [lists[at].clone(), vec![OsString::from(word)]].concat();
                    lists.push(longer);
                }
            }
            begin = end;
        }
        lists
    }

    #[test]
    fn a_plain_start_means_what_clap_reads() {
        let words = [
            "hook",
            "codex",
            "--prompts",
            "a b",
            "--prompts=c",
            "--prompts=",
            "",
            "-",
            "--no-builtin",
            "--project",
            "--",
        ];
        let mut count = 0;
        for arguments in lists(&words, 4) {
            let Some(start) = Start::parse(&arguments) else { continue };
            let cli = Cli::try_parse_from(&arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
            let read = match cli.command {
                None => Start::Serve(cli.source),
                Some(Command::Hook(hook)) => Start::Hook(hook.command, cli.source.merged_with(hook.source)),
                Some(command) => panic!("{arguments:?}: {command:?}"),
            };
            assert_eq!(format!("{start:?}"), format!("{read:?}"), "{arguments:?}");
            count += 1;
        }
        assert!(count > 300, "{count}");
    }

    #[test]
    fn what_clients_write_is_a_plain_start() {
        let arguments = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in ["x", "x --prompts /p --prompts /q", "x --no-builtin --prompts=/p", "x --project --project"] {
            assert!(matches!(Start::parse(&arguments(line)), Some(Start::Serve(_))), "{line}");
        }
        for line in ["x hook codex", "x hook gemini --prompts /p --no-builtin", "x hook --project claude-code"] {
            assert!(matches!(Start::parse(&arguments(line)), Some(Start::Hook(..))), "{line}");
        }
        for line in
            ["x hook", "x hook codex more", "x list", "x --page-size 5", "x --no-builtin=1", "x --prompts", "x -h"]
        {
            assert!(Start::parse(&arguments(line)).is_none(), "{line}");
        }
    }
}
