//! The five tools for editors: they create, change, delete, read and restore prompts.

use super::super::context::{Context, Work};
use super::super::prompt_edits::{revision, warnings};
use super::tool::{Content, Given, READ_ONLY, REPLACES, Row, Tool, ToolError, Type};
use crate::jsonrpc::{Object, read};
use crate::library::{Editor, Role, Version, Written};
use crate::mcp::ToolAnnotations;
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::wording::named;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

/// After an error whose remedy is to write something else than what the user has seen.
const ASK_AGAIN: &str = "Tell the user this, and write nothing else before they have seen it and said yes.";

/// For an agent that shows its model only a part: what is not shown would be lost if the model wrote the whole file.
const MAY_BE_CUT: &str = "this answer is longer than what you are shown: if a part of `file` is missing, do not write it, but ask the \
                          user to edit the file";

const COMMAND: Row = ("command", Type::Text, "Name of the prompt, without the colon", Given::Always);
const EXPECTED: &str =
    "The top-level `revision` in the answer of prompt_history (not one of `versions`), which you call before this";
const NOTE: Row = ("note", Type::Text, "Why, in a few words, for the history", Given::Optional);

const WRITTEN: &[Row] = &[
    ("command", Type::Text, "Name of the prompt", Given::Always),
    ("revision", Type::Text, "That of the text that was written, or deleted", Given::Always),
    ("warnings", Type::Texts, "What looks like a mistake: tell the user", Given::Optional),
];

pub(super) const CREATE: Tool = Tool {
    name: "create_prompt",
    title: "Create a prompt",
    description: |_| include_str!("create_prompt.md").trim_ascii_end().to_owned(),
    takes: &[
        (
            "command",
            Type::Text,
            "Name of the new prompt, which the user will type after a colon: short, in lower case, with hyphens; `git/commit` is in a \
             folder",
            Given::Always,
        ),
        (
            "file",
            Type::Text,
            "The whole Markdown file: instructions to an agent, in which {{input}} is replaced by what the user types after the \
             command, and {{name}} by the value of an argument. Before them, between two lines `---`, YAML may have `title`, \
             `description` (what the prompt is for, in one line), `tags`, and `arguments`: a list of `name`, `description`, `required`, \
             `default`, `choices`",
            Given::Always,
        ),
        NOTE,
    ],
    gives: WRITTEN,
    annotations: ToolAnnotations { destructive_hint: false, ..REPLACES },
    is_always_loaded: false,
    role: Role::Write,
    work: Work::Write,
    shown_by_claude_code: None,
    run: create,
};

pub(super) const UPDATE: Tool = Tool {
    name: "update_prompt",
    title: "Change a prompt",
    description: |_| include_str!("update_prompt.md").trim_ascii_end().to_owned(),
    takes: &[
        COMMAND,
        ("expected", Type::Text, EXPECTED, Given::Always),
        ("file", Type::Text, "The whole new Markdown file, with the frontmatter that it had", Given::Always),
        NOTE,
    ],
    gives: WRITTEN,
    run: update,
    ..DELETE
};

pub(super) const DELETE: Tool = Tool {
    name: "delete_prompt",
    title: "Delete a prompt",
    description: |_| include_str!("delete_prompt.md").trim_ascii_end().to_owned(),
    takes: &[COMMAND, ("expected", Type::Text, EXPECTED, Given::Always), NOTE],
    gives: WRITTEN,
    annotations: REPLACES,
    is_always_loaded: false,
    role: Role::Write,
    work: Work::Write,
    shown_by_claude_code: None,
    run: delete,
};

pub(super) const HISTORY: Tool = Tool {
    name: "prompt_history",
    title: "Read a prompt and its history",
    description: |_| include_str!("prompt_history.md").trim_ascii_end().to_owned(),
    takes: &[COMMAND, ("revision", Type::Text, "Optional: the version whose text is wanted", Given::Optional)],
    gives: &[
        ("command", Type::Text, "Name of the prompt", Given::Always),
        ("file", Type::Text, "The whole Markdown file, or that of the version", Given::Optional),
        (
            "revision",
            Type::Text,
            "That of the current file, for `expected`; missing if the prompt is deleted",
            Given::Optional,
        ),
        (
            "versions",
            Type::List(&[
                ("at", Type::Text, "When it was written, in UTC", Given::Always),
                ("author", Type::Text, "", Given::Optional),
                ("current", Type::Truth, "Whether it is what the file has now", Given::Optional),
                ("note", Type::Text, "Why", Given::Optional),
                (
                    "operation",
                    Type::Text,
                    "create, update, delete, restore, or by_hand: by a person or another program",
                    Given::Always,
                ),
                ("revision", Type::Text, "", Given::Always),
            ]),
            "Newest first",
            Given::Always,
        ),
        ("warning", Type::Text, "Only if the answer is too long for you to see all of it", Given::Optional),
    ],
    annotations: READ_ONLY,
    work: Work::Folders,
    shown_by_claude_code: Some(150_000),
    run: history,
    ..DELETE
};

pub(super) const RESTORE: Tool = Tool {
    name: "restore_prompt",
    title: "Restore a prompt",
    description: |_| include_str!("restore_prompt.md").trim_ascii_end().to_owned(),
    takes: &[
        COMMAND,
        ("expected", Type::Text, "The same as of update_prompt; left out for a deleted prompt", Given::Optional),
        NOTE,
        (
            "revision",
            Type::Text,
            "The version to bring back, from prompt_history. Without it, the one before the current one, or the last one of a deleted \
             prompt",
            Given::Optional,
        ),
    ],
    // Without `revision`, a second call undoes the first.
    annotations: ToolAnnotations { idempotent_hint: false, ..REPLACES },
    run: restore,
    ..DELETE
};

fn create(context: &Context, arguments: &Object) -> Result<Content, ToolError> {
    #[derive(Deserialize)]
    struct Create<'l> {
        command: &'l str,
        file: &'l str,
        note: Option<String>,
    }
    let Create { command, file, note } = read(arguments)?;
    written(&context.editor()?.create(command, file, &context.about(note)?)?)
}

fn update(context: &Context, arguments: &Object) -> Result<Content, ToolError> {
    #[derive(Deserialize)]
    struct Update<'l> {
        command: &'l str,
        expected: Option<&'l str>,
        file: &'l str,
        note: Option<String>,
    }
    let Update { command, expected, file, note } = read(arguments)?;
    let editor = context.editor()?;
    let expected = required(&editor, command, expected)?;
    written(&editor.update(command, expected, file, &context.about(note)?)?)
}

fn delete(context: &Context, arguments: &Object) -> Result<Content, ToolError> {
    #[derive(Deserialize)]
    struct Delete<'l> {
        command: &'l str,
        expected: Option<&'l str>,
        note: Option<String>,
    }
    let Delete { command, expected, note } = read(arguments)?;
    let editor = context.editor()?;
    let expected = required(&editor, command, expected)?;
    written(&editor.delete(command, expected, &context.about(note)?)?)
}

fn restore(context: &Context, arguments: &Object) -> Result<Content, ToolError> {
    #[derive(Deserialize)]
    struct Restore<'l> {
        command: &'l str,
        expected: Option<&'l str>,
        revision: Option<&'l str>,
        note: Option<String>,
    }
    let Restore { command, expected, revision: to, note } = read(arguments)?;
    let editor = context.editor()?;
    let to = to.map(|to| revision("revision", to)).transpose().map_err(ToolError::Execution)?;
    let is_there = editor.path(&editor.name(command)?).is_some();
    let expected = match expected {
        None if !is_there => None,
        expected => Some(required(&editor, command, expected)?),
    };
    written(&editor.restore(command, expected, to, &context.about(note)?)?)
}

/// The source of a prompt, or of a version of it, and its versions.
fn history(context: &Context, arguments: &Object) -> Result<Content, ToolError> {
    #[derive(Deserialize)]
    struct History<'l> {
        command: &'l str,
        revision: Option<&'l str>,
    }
    #[derive(Serialize)]
    struct Reading<'r> {
        #[serde(skip_serializing_if = "Option::is_none")]
        warning: Option<&'static str>,
        command: &'r str,
        /// `None` if it was deleted.
        #[serde(skip_serializing_if = "Option::is_none")]
        revision: Option<Revision>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        versions: Vec<Version>,
    }
    let History { command, revision: version } = read(arguments)?;
    let version = version.map(|version| revision("revision", version)).transpose().map_err(ToolError::Execution)?;
    let editor = context.editor()?;
    let current = editor.current(command);
    // A prompt of another layer has no history, and a deleted one has nothing else.
    let versions = match (editor.history(command), &current) {
        (Err(why), Ok(_)) if why.kind == Kind::NotWritable => Vec::new(),
        (versions, _) => versions?,
    };
    let current = match current {
        Err(why) if matches!(why.kind, Kind::NoSuchPrompt { .. }) => None,
        current => Some(current?),
    };
    let file = match (version, &current) {
        (Some(version), _) => Some(editor.version(command, version)?),
        (None, current) => current.as_ref().map(|current| current.file.clone()),
    };
    let (name, revision) = current.map(|current| (current.name, current.revision)).unzip();
    let command = name.as_deref().unwrap_or(command);
    let mut reading = Reading { warning: None, command, revision, file, versions };
    let json = to_raw_value(&reading)?;
    if context.part_limit().is_none_or(|limit| limit.unit.count(json.get()) <= limit.max) {
        return Ok(Content::Now(json));
    }
    reading.warning = Some(MAY_BE_CUT);
    Ok(Content::Now(to_raw_value(&reading)?))
}

/// The revision that a prompt must still have which is to be changed. If there is no such prompt of the user, the error says that instead.
fn required(editor: &Editor<'_>, command: &str, expected: Option<&str>) -> Result<Revision, ToolError> {
    let Some(expected) = expected else {
        editor.name(command)?;
        return Err(ToolError::Execution(format!(
            "`expected` is missing: read {} with prompt_history, and give its `revision` as `expected`",
            named(command)
        )));
    };
    revision("expected", expected).map_err(ToolError::Execution)
}

fn written(written: &Written) -> Result<Content, ToolError> {
    #[derive(Serialize)]
    struct Answer<'w> {
        command: &'w str,
        revision: Revision,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    }
    let answer = Answer { command: &written.name, revision: written.revision, warnings: warnings(written) };
    Ok(Content::Now(to_raw_value(&answer)?))
}

impl From<Diagnostic> for ToolError {
    fn from(error: Diagnostic) -> ToolError {
        let asks = matches!(error.kind, Kind::Exists | Kind::NotWritable | Kind::Conflict { .. });
        let text = Diagnostic { file: None, ..error }.to_string();
        ToolError::Execution(if asks { format!("{text}. {ASK_AGAIN}") } else { text })
    }
}
