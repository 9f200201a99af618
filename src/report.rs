//! What commands say of prompts, as data: made from a view of the library, printed by the command line, and answered over HTTP.
//!
//! The keys in JSON are those of `--json`. A few more are only for the text form, and [`Explanation::for_scripts`] leaves them out.

mod call;
mod draft;
mod explanation;
mod tokens;

pub use crate::prompt::MAX_FILE;
pub use call::{Call, Found, expand};
pub use draft::{Checked, Draft, DraftFile, check, name_of_new};
pub use explanation::{
    Explanation, Given, Lengths, MeasuredLimit, Placeholder, Request, Shadowed, UnexpandedText, explain,
};

use crate::agents::Agent;
use crate::hook;
use crate::library::{self, Entry, Layer, Location, Lookup, Selection, Unknown, View};
use crate::prompt::{self, Summary, System};
use crate::wording::{named, printable, quoted};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The source of a prompt that is part of the program; that of any other is an absolute path.
pub const BUILT_IN: &str = "built-in";

/// Which prompts to list: by default, all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Words in the name, title, tags or description.
    pub query: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// Whether to leave out built-in prompts.
    pub mine: bool,
}

/// The prompts that match, the best first; all of them by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct List {
    /// The prompts.
    pub prompts: Vec<Listed>,
    /// Broken files, and files and folders that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// A prompt in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its description, or an empty text.
    pub description: String,
    /// `project`, `user`, `remote` or `built-in`.
    pub layer: String,
    /// For a prompt of another program, as in `--prompts FORMAT:DIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// A path, or [`BUILT_IN`].
    pub source: String,
    /// Words by which a list can be filtered.
    pub tags: Vec<String>,
    /// How to call a prompt that has arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// The arguments that it declares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// Which content its file has; see [`library::Revision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// An argument that a prompt declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call must give it.
    pub required: bool,
    /// Its value if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The values that it is meant for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether any other value is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// What is wrong with a file or a folder. Its `Display` is `path:line:column: what is wrong; fix`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// `error` or `warning`.
    pub severity: String,
    /// Its whole path.
    pub file: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// In characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(rename = "repair")]
    pub fix: String,
}

/// The file of a prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    /// The prompt's name.
    pub name: String,
    /// `project`, `user`, `remote` or `built-in`.
    pub layer: String,
    /// Its path, or that of the OpenAPI document; absent for a built-in prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Which content it has; see [`library::Revision`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What it contains.
    pub text: String,
}

/// What an agent gets for a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Expansion {
    /// The text.
    pub prompt: String,
    /// What works, but is probably not what the caller intends; and the files and folders that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A message that a user submitted to an agent, or the end of it that begins with a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookCall {
    /// The name of the agent.
    pub agent: String,
    /// The message.
    pub message: String,
}

/// What a hook adds to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookContext {
    /// For the model; `None` if no prompt is named.
    #[serde(default)]
    pub context: Option<String>,
}

/// Why there is no report. Its `Display` is one line for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What is wrong.
    pub message: String,
    /// How the line goes on for a person at a command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// The files and folders that cannot be read, one of which may have the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether there is no such prompt; otherwise, it is broken, or cannot be called like this.
    #[serde(skip)]
    pub is_not_found: bool,
}

impl List {
    /// Reads all prompts of a view, and selects those that match.
    pub fn of(view: &View, filter: &Filter) -> List {
        let query = filter.query.as_deref().filter(|query| !query.trim().is_empty());
        let Selection { mut found, problems } = view.select(query, filter.tag.as_deref());
        if filter.mine {
            found.retain(|(entry, _)| entry.layer() != Layer::Builtin);
        }
        List {
            prompts: found.iter().map(|(entry, summary)| Listed::of(entry, summary)).collect(),
            problems: problems.into_iter().map(Into::into).collect(),
        }
    }
}

impl Listed {
    fn of(entry: &Entry<'_>, prompt: &Summary) -> Listed {
        Listed {
            name: entry.name().to_string(),
            title: prompt.title.clone(),
            description: prompt.description.clone().unwrap_or_default(),
            layer: layer(entry.layer()),
            format: format(entry.system()).map(str::to_owned),
            source: entry.location().map(source).unwrap_or_default(),
            tags: prompt.tags.clone(),
            usage: prompt.usage.clone(),
            arguments: prompt.arguments.iter().map(Into::into).collect(),
            revision: entry.info().revision.map(|revision| revision.to_string()),
        }
    }
}

impl From<&prompt::Argument> for Argument {
    fn from(argument: &prompt::Argument) -> Argument {
        Argument {
            name: argument.name.clone(),
            description: argument.description.clone(),
            required: argument.is_needed(),
            default: argument.default.clone(),
            choices: argument.choices.clone(),
            strict: argument.strict,
        }
    }
}

impl From<library::Problem> for Problem {
    fn from(library::Problem { path, diagnostic, .. }: library::Problem) -> Problem {
        Problem {
            severity: diagnostic.severity.to_string(),
            file: path.display().to_string(),
            line: diagnostic.position.map(|position| position.line),
            column: diagnostic.position.map(|position| position.column),
            message: diagnostic.message,
            fix: diagnostic.fix,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.file))?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", printable(&self.message), printable(&self.fix))
    }
}

impl Failure {
    /// A failure to make a report of a prompt that exists.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), hint: String::new(), warnings: Vec::new(), is_not_found: false }
    }

    fn unknown(why: &Unknown, hint: String, skipped: &[library::Problem]) -> Failure {
        let warnings = skipped.iter().map(library::Problem::to_string).collect();
        Failure { message: why.to_string(), hint, warnings, is_not_found: true }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.hint)
    }
}

impl std::error::Error for Failure {}

/// Says which command shows the names.
const LIST_HINT: &str = " (`prompt-expander list` shows all prompts)";

/// The file of a prompt, which may be broken.
///
/// # Errors
/// There is no prompt of this name, or its file is no text.
pub fn show(view: &View, command: &str) -> Result<Shown, Failure> {
    let deleted = |name: &str| Failure::new(format!("{} was deleted just now; try again", named(name)));
    let name = match view.find(command) {
        Lookup::Found(prompt) => prompt.name.clone(),
        Lookup::Broken(problem) => view.name_of(&problem.path).ok_or_else(|| Failure::new(problem.to_string()))?,
        Lookup::Unknown { why, skipped } => {
            let hint = match &why {
                Unknown::WithText { name, .. } => format!(": `prompt-expander show {name}`"),
                _ => LIST_HINT.to_owned(),
            };
            return Err(Failure::unknown(&why, hint, &skipped));
        }
    };
    let (of, location) = view.locate(&name).ok_or_else(|| deleted(&name))?;
    let text = view.raw(&name).ok_or_else(|| deleted(&name))?;
    let text = text.map_err(|problem| Failure::new(problem.to_string()))?;
    let path = match location {
        Location::File(file) | Location::Document(file) => Some(file.display().to_string()),
        Location::Builtin => None,
    };
    let revision = Some(library::Revision::of(text.as_bytes()).to_string());
    Ok(Shown { name: name.to_string(), layer: layer(of), path, revision, text })
}

/// The commands of a message that a user submitted to an agent with a hook, and what its hook adds to the message.
///
/// # Errors
/// There is no such agent, or it has no hook.
pub fn hook(view: &View, call: &HookCall) -> Result<HookContext, Failure> {
    let agent = Agent::named(&call.agent).filter(|agent| agent.hook.is_some());
    let agent = agent.ok_or_else(|| Failure::new(format!("{} is not an agent with a hook", quoted(&call.agent))))?;
    Ok(HookContext { context: hook::context(view, agent, &call.message) })
}

/// The name of a layer.
fn layer(layer: Layer) -> String {
    match layer {
        Layer::Project => "project",
        Layer::User => "user",
        Layer::Remote => "remote",
        Layer::Builtin => BUILT_IN,
    }
    .to_owned()
}

/// The format of another program's prompts, as `--prompts` takes it.
pub(crate) fn format(system: System) -> Option<&'static str> {
    (system != System::PromptExpander).then(|| system.name())
}

/// A path, or [`BUILT_IN`].
fn source(source: Location) -> String {
    match source {
        Location::File(path) | Location::Document(path) => path.display().to_string(),
        Location::Builtin => BUILT_IN.to_owned(),
    }
}
