//! Why a prompt gets no entry, or why the file of an entry is left alone.

use crate::agents::MenuLocation;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{and_list, path_in_backticks};
use std::path::PathBuf;

/// A name for which nothing is written or removed in an agent's menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftAlone {
    /// The name of the entry.
    pub(super) name: String,
    pub(super) why: WhyLeft,
}

/// Why nothing is written or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhyLeft {
    /// The prompt gets no entry.
    Refused(Refused),
    /// There is an entry that this program wrote. It stays as it is, even if its prompt is gone.
    Kept(Kept),
}

/// Why a prompt gets no entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// The agent itself has a command of this name.
    BuiltIn,
    /// The name of the prompt has characters that agents run or replace.
    UnsafeName,
    /// There is a file or folder of the user's with this name.
    UsersFile(PathBuf),
    /// There is a symlink. The file behind it may belong to another program.
    Linked,
    /// The file in its place can't be read, for this reason.
    Unreadable(String),
}

/// Why the file of an entry stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The user has changed it since it was written.
    Changed,
    /// The user has made it read-only.
    ReadOnly,
    /// A newer version of this program wrote it.
    NewerVersion,
    /// It belongs to the prompts of another `config.toml`.
    OtherLibrary,
    /// Its prompt can't be read.
    Broken,
    /// Its prompt may be in a folder that does not exist now.
    NoFolder,
}

/// A sentence for the user, in two parts.
struct Explanation {
    problem: String,
    fix: &'static str,
}

impl WhyLeft {
    fn explain(&self, title: &str) -> Explanation {
        match self {
            WhyLeft::Refused(refused) => refused.explain(title),
            WhyLeft::Kept(kept) => kept.explain(),
        }
    }

    /// Returns what happens to these entries: `` `a` and `b` get no entries in the menu ``.
    fn consequence(&self, names: &[&str]) -> String {
        let list = and_list(names);
        match self {
            WhyLeft::Refused(_) if names.len() == 1 => format!("{list} gets no entry in the menu"),
            WhyLeft::Refused(_) => format!("{list} get no entries in the menu"),
            WhyLeft::Kept(_) if names.len() == 1 => format!("the file of {list} is left alone"),
            WhyLeft::Kept(_) => format!("the files of {list} are left alone"),
        }
    }
}

impl Refused {
    fn explain(&self, title: &str) -> Explanation {
        let (problem, fix) = match self {
            Refused::BuiltIn => (
                format!("{title} has a command of this name"),
                "type it with a colon, as `:NAME`, or rename the prompt",
            ),
            Refused::UnsafeName => (
                "agents run or replace characters of the name".to_owned(),
                "rename the prompt with letters, digits, `-`, `_`, `.` and `/`",
            ),
            Refused::UsersFile(file) => (
                format!("there is {} already", path_in_backticks(file)),
                "rename the file or the prompt, or write `menu: false` into the prompt",
            ),
            Refused::Linked => (
                "a symlink is in its place".to_owned(),
                "delete the symlink, or write `menu: false` into the prompt",
            ),
            Refused::Unreadable(error) => (
                format!("the file in its place cannot be read: {error}"),
                "make it readable",
            ),
        };
        Explanation { problem, fix }
    }
}

impl Kept {
    fn explain(self) -> Explanation {
        let (problem, fix) = match self {
            Kept::Changed => (
                "somebody has changed it",
                "delete the file, and run `prompt-expander sync`",
            ),
            Kept::ReadOnly => ("it is read-only", "make it writable"),
            Kept::NewerVersion => (
                "a newer version of this program wrote it",
                "run that version",
            ),
            Kept::OtherLibrary => (
                "it belongs to another config.toml",
                "run `prompt-expander sync --config` with that file, or delete the entry",
            ),
            Kept::Broken => (
                "its prompt cannot be read",
                "run `prompt-expander check`, and repair the prompt",
            ),
            Kept::NoFolder => (
                "its prompt may be in your folder of prompts, which does not exist",
                "create the folder, even if it stays empty, or delete the entry",
            ),
        };
        Explanation {
            problem: problem.to_owned(),
            fix,
        }
    }
}

/// Returns a warning or a hint for each reason for which names are left alone.
pub(super) fn warnings(left_alone: &[LeftAlone], location: &MenuLocation) -> Vec<Diagnostic> {
    let mut groups: Vec<Vec<&LeftAlone>> = Vec::new();
    for left in left_alone {
        match groups.iter_mut().find(|group| group[0].why == left.why) {
            Some(group) => group.push(left),
            None => groups.push(vec![left]),
        }
    }
    groups
        .iter()
        .map(|group| warning(&group[0].why, group, location))
        .collect()
}

/// Returns the diagnostic for names that are left alone for the same reason.
fn warning(why: &WhyLeft, group: &[&LeftAlone], location: &MenuLocation) -> Diagnostic {
    let names: Vec<&str> = group.iter().map(|left| left.name.as_str()).collect();
    let Explanation { problem, fix } = why.explain(location.agent.title);
    let message = format!("{}: {problem}", why.consequence(&names));
    // Nobody can repair that an agent has commands.
    let kind = match why {
        WhyLeft::Refused(Refused::BuiltIn) => Kind::Hint,
        _ => Kind::Warning,
    };
    let file = match (why, &names[..]) {
        (WhyLeft::Kept(_), [name]) => location.entry_path(name),
        _ => location.folder.clone(),
    };
    Diagnostic::new(kind, message, fix).in_file(file)
}
