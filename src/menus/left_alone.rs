//! Why a prompt gets no entry, or why a file is left alone.

use crate::agents::Agent;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{and_list, path_in_backticks};
use std::path::PathBuf;

/// A name for which nothing is written or removed in an agent's menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftAlone {
    /// The name of the entry or of the prompt.
    pub(super) name: String,
    /// Where the entry is, or would be.
    pub(super) path: PathBuf,
    /// Why.
    pub(super) why: WhyLeft,
}

/// Why an entry is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhyLeft {
    /// The agent itself has a command of this name.
    BuiltIn,
    /// The name of the prompt has characters that agents run or replace.
    UnsafeName,
    /// There is a file or folder of the user's with this name.
    UsersFile(PathBuf),
    /// There is a symlink. The file behind it may belong to another program.
    Linked,
    /// The file can't be read, for this reason.
    Unreadable(String),
    /// The user has changed the file since it was written.
    Changed,
    /// The user has made the file read-only.
    ReadOnly,
    /// A newer version of this program wrote the file.
    NewerVersion,
    /// The file belongs to the prompts of another `config.toml`.
    OtherLibrary,
}

impl WhyLeft {
    /// Returns whether this program wrote the file.
    pub(super) fn has_mark(&self) -> bool {
        matches!(
            self,
            WhyLeft::Changed | WhyLeft::ReadOnly | WhyLeft::NewerVersion | WhyLeft::OtherLibrary
        )
    }
}

/// A sentence for the user, in two parts.
struct Explanation {
    problem: String,
    fix: &'static str,
}

impl WhyLeft {
    fn explain(&self, title: &str) -> Explanation {
        let (problem, fix) = match self {
            WhyLeft::BuiltIn => (
                format!("{title} has a command of this name"),
                "type it with a colon, as `:NAME`, or rename the prompt",
            ),
            WhyLeft::UnsafeName => (
                "agents run or replace characters of the name".to_owned(),
                "rename the prompt with letters, digits, `-`, `_`, `.` and `/`",
            ),
            WhyLeft::UsersFile(file) => (
                format!("there is {} already", path_in_backticks(file)),
                "rename one of the two, or write `menu: false` into the prompt",
            ),
            WhyLeft::Linked => (
                "a symlink is in its place".to_owned(),
                "delete the symlink, or write `menu: false` into the prompt",
            ),
            WhyLeft::Unreadable(error) => (
                format!("its file cannot be read: {error}"),
                "make it readable",
            ),
            WhyLeft::Changed => (
                "somebody has changed its file".to_owned(),
                "delete the file, and run `prompt-expander sync`",
            ),
            WhyLeft::ReadOnly => ("its file is read-only".to_owned(), "make it writable"),
            WhyLeft::NewerVersion => (
                "a newer version of this program wrote it".to_owned(),
                "run that version",
            ),
            WhyLeft::OtherLibrary => (
                "it belongs to another config.toml".to_owned(),
                "run `prompt-expander sync --config` with that file, or delete the entry",
            ),
        };
        Explanation { problem, fix }
    }
}

/// Returns a warning or a hint for each reason for which names are left alone.
pub(super) fn warnings(left_alone: &[LeftAlone], agent: &Agent) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let mut rest: Vec<&LeftAlone> = left_alone.iter().collect();
    while let Some(first) = rest.first().copied() {
        let (same, others): (Vec<&LeftAlone>, Vec<&LeftAlone>) =
            rest.into_iter().partition(|left| left.why == first.why);
        rest = others;
        let names: Vec<&str> = same.iter().map(|left| left.name.as_str()).collect();
        let Explanation { problem, fix } = first.why.explain(agent.title);
        let message = if let [name] = names[..] {
            format!("the menu entry `{name}` is left alone: {problem}")
        } else {
            format!(
                "the menu entries {} are left alone: {problem}",
                and_list(&names)
            )
        };
        // Nobody can repair that an agent has commands.
        let kind = match first.why {
            WhyLeft::BuiltIn => Kind::Hint,
            _ => Kind::Warning,
        };
        warnings.push(Diagnostic::new(kind, message, fix).in_file(first.path.as_path()));
    }
    warnings
}
