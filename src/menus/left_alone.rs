//! Why a prompt gets no entry, or why the file of an entry is left alone.

use crate::agents::MenuLocation;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{and_list, decoded_path, in_backticks, path_in_backticks};
use std::path::PathBuf;

/// A name for which nothing is written or removed in an agent's menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftAlone {
    /// The name of the prompt if it gets no entry, and that of the entry if its file is kept.
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
    /// There is this symlink. The file behind it may belong to another program.
    Linked(PathBuf),
    /// The file in its place can't be read, for this reason.
    Unreadable(PathBuf, String),
}

/// Why the file of an entry stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    /// The user has changed it since it was written.
    Changed,
    /// The user has made it read-only.
    ReadOnly,
    /// A newer version of this program wrote it.
    NewerVersion,
    /// It belongs to the prompts of another `config.toml`, which has this [id](super::library_id).
    OtherLibrary(String),
    /// Its prompt can't be read.
    Broken,
    /// Its prompt may be in a folder that does not exist now.
    NoFolder,
}

/// A sentence for the user, in two parts.
struct Explanation {
    problem: String,
    fix: String,
}

impl WhyLeft {
    fn explain(&self, names: &[&str], title: &str) -> Explanation {
        match self {
            WhyLeft::Refused(refused) => refused.explain(names, title),
            WhyLeft::Kept(kept) => kept.explain(names.len() > 1),
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
    /// Explains why the prompts with these names get no entries.
    fn explain(&self, names: &[&str], title: &str) -> Explanation {
        let is_plural = names.len() > 1;
        let prompts = if is_plural { "prompts" } else { "prompt" };
        let (problem, fix) = match self {
            Refused::BuiltIn => {
                let these_names = if is_plural {
                    "these names"
                } else {
                    "this name"
                };
                let typed = in_backticks(&format!(":{}", names[0]));
                (
                    format!("{title} itself uses {these_names}"),
                    format!("type a colon, as in {typed}, or rename the {prompts}"),
                )
            }
            Refused::UnsafeName => (
                "agents would run or replace characters of such a name".to_owned(),
                "use only letters, digits, spaces, `-`, `_`, `.` and `/` in it".to_owned(),
            ),
            Refused::UsersFile(file) => (
                format!(
                    "the name is taken by {}, which `sync` did not write",
                    path_in_backticks(file)
                ),
                "rename that file or the prompt, or write `menu: false` into the prompt".to_owned(),
            ),
            Refused::Linked(link) => (
                format!("the symlink {} is in its place", path_in_backticks(link)),
                "delete the symlink, or write `menu: false` into the prompt".to_owned(),
            ),
            Refused::Unreadable(file, error) => (
                format!("{} cannot be read: {error}", path_in_backticks(file)),
                "make it readable".to_owned(),
            ),
        };
        Explanation { problem, fix }
    }
}

impl Kept {
    /// Explains why a file, or several, are left alone.
    fn explain(&self, is_plural: bool) -> Explanation {
        let (it, it_is, files, prompts) = if is_plural {
            ("them", "they are", "files", "prompts")
        } else {
            ("it", "it is", "file", "prompt")
        };
        let (problem, fix) = match self {
            Kept::Changed => (
                format!("somebody has changed {it}"),
                format!("delete the {files}, and run `prompt-expander sync`"),
            ),
            Kept::ReadOnly => (format!("{it_is} read-only"), format!("make {it} writable")),
            Kept::NewerVersion => (
                format!("a newer version of this program wrote {it}"),
                "run that version".to_owned(),
            ),
            Kept::OtherLibrary(id) => {
                let file = in_backticks(&decoded_path(id));
                (
                    format!("`sync` wrote {it} for another settings file, {file}"),
                    format!(
                        "run `prompt-expander sync --config FILE` with that file, or delete the {files}"
                    ),
                )
            }
            Kept::Broken => (
                format!("the {prompts} cannot be read"),
                format!("run `prompt-expander check`, and repair the {prompts}"),
            ),
            Kept::NoFolder => (
                format!("the {prompts} may be in your folder of prompts, which does not exist"),
                format!("create the folder, even if it stays empty, or delete the {files}"),
            ),
        };
        Explanation { problem, fix }
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
    let Explanation { problem, fix } = why.explain(&names, location.agent.title);
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
