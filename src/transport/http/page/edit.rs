//! The editor: the text of a prompt, with what `check` says of it and its expansion next to it, and the changes before they are saved.
//!
//! Nothing is written here: the script saves with the API (`api.rs`), whose JSON no form of another page can send.

use super::list::problem_text;
use super::prompt::{body_of, fields, outcome, shown};
use super::text::{Text, command as command_name, message, path_of, sentence, source, typed, unless_too_long};
use crate::library::View;
use crate::prompt::Name;
use crate::report::{self, Argument, Call, DraftFile, Problem};
use crate::wording::count;
use axum::http::StatusCode;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// What the name of a value begins with in the form, which has fields of its own.
const VALUE: &str = "value:";

/// What a form sends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// The name of a new prompt.
    command: String,
    /// The whole text; `None` before anything was typed.
    file: Option<String>,
    /// Values for the preview.
    values: BTreeMap<String, String>,
}

impl Form {
    /// The form of a body or an address. Names that it does not have are ignored, as on any page.
    pub(super) fn of(form: &[u8]) -> Form {
        let mut read = Form::default();
        for (name, value) in form_urlencoded::parse(form) {
            let value = value.replace("\r\n", "\n");
            match &*name {
                "command" => read.command = value,
                "file" => read.file = Some(value),
                _ => {
                    if let Some(name) = name.strip_prefix(VALUE).filter(|_| !value.is_empty()) {
                        read.values.insert(name.to_owned(), value);
                    }
                }
            }
        }
        read
    }
}

/// The editor of a prompt, or of a new one: its title, and its content.
pub(super) fn page(view: &View, name: Option<&str>, form: &Form) -> (StatusCode, String, Markup) {
    let opened = name.map(|name| report::show(view, name)).transpose();
    let opened = match opened {
        Ok(opened) => opened,
        Err(why) => {
            let main = super::document::failure("This prompt cannot be edited", &sentence(&why.message), &html! {});
            let status = if why.is_not_found { StatusCode::NOT_FOUND } else { StatusCode::OK };
            return (status, name.unwrap_or_default().to_owned(), main);
        }
    };
    let command = opened.as_ref().map_or(&*form.command, |opened| &opened.name);
    let file = form.file.as_deref().or(opened.as_ref().map(|opened| &*opened.text)).unwrap_or_default();
    let title = opened.as_ref().map_or("New prompt".to_owned(), |opened| format!("Edit :{}", opened.name));
    let action = opened.as_ref().map_or(super::NEW.to_owned(), |opened| super::path_in(super::EDIT, &opened.name));
    let main = html! {
        article.editor {
            header {
                @match &opened {
                    Some(opened) => {
                        a.back href=(path_of(&opened.name)) { "← Back to the prompt" }
                        h1 { "Edit " (command_name(&opened.name)) }
                    },
                    None => { a.back href="/" { "← All prompts" } h1 { "New prompt" } },
                }
            }
            form #editor method="post" action=(action) {
                div.writing {
                    @if opened.is_none() { (name_field(command)) }
                    div.field {
                        label for="file" { "Text" }
                        textarea.code #file name="file" rows="20" spellcheck="false" autocapitalize="off" { (typed(file)) }
                    }
                    div.bar.unscripted { button { "Check" } p { "To save, this page needs JavaScript." } }
                }
                (preview(view, command, file, &form.values))
            }
        }
    };
    (StatusCode::OK, title, main)
}

fn name_field(command: &str) -> Markup {
    let refused =
        Some(command).filter(|command| !command.is_empty()).and_then(|command| Name::for_new_file(command).err());
    html! {
        div.field {
            label for="command" { "Name" small { "required" } }
            p #about-command { "What you will type after a colon, such as " code { "standup" } " or " code { "git/commit" } "." }
            input #command name="command" value=(command) required autocomplete="off" autocapitalize="off" spellcheck="false"
                aria-describedby="about-command" aria-invalid=[refused.as_ref().map(|_| "true")];
        }
    }
}

/// What is wrong with the text, and what it expands to. The script replaces the parts of it while somebody types.
fn preview(view: &View, command: &str, file: &str, values: &BTreeMap<String, String>) -> Markup {
    // A text can be tried before it has a name.
    let command = match command.trim() {
        "" => format!("{}new", view.prefix().map(ToString::to_string).unwrap_or_default()),
        command => command.to_owned(),
    };
    let draft = DraftFile::new(view, &command, file);
    html! {
        section.result #side aria-labelledby="side-heading" {
            div.bar { h2 #side-heading { "Preview" } }
            div #notes {
                @match &draft {
                    Ok(draft) => { (problems(draft)) },
                    Err(why) => { p.alert role="status" dir="auto" { (message(&sentence(&why.message))) } },
                }
            }
            @if let Ok(DraftFile { found: Some(found), .. }) = &draft {
                @let arguments: Vec<Argument> = found.prompt.arguments.iter().map(Argument::from).collect();
                @let names = found.prompt.value_names();
                @let known = values.iter().filter(|(name, _)| names.contains(&name.as_str()));
                @let known = known.map(|(name, value)| (name.clone(), value.clone())).collect();
                @let call = Call { command, arguments: known, ..Call::default() };
                div.form #values { (fields(&arguments, found.prompt.takes_input(), VALUE, |_| "")) }
                div #result {
                    @match report::explain(view, found, &call) {
                        Err(why) => { p.paper.note.text role="status" dir="auto" { (message(&sentence(&why.message))) } },
                        Ok(explanation) => {
                            @let expansion = report::expand(view, found, &call);
                            @let expansion = expansion.as_ref().map(|expansion| shown(view, found, &call, expansion));
                            @let body = unless_too_long(body_of(file), || source(body_of(file), &names)).unwrap_or_default();
                            (outcome(&explanation, expansion, &body))
                        },
                    }
                }
            }
        }
    }
}

/// What `check` says of the text, each with a button to go there.
fn problems(DraftFile { path, problems, .. }: &DraftFile) -> Markup {
    let errors = problems.iter().filter(|problem| problem.severity == "error").count();
    html! {
        @if problems.is_empty() { p.length role="status" { "No problems." } }
        @else {
            section.problems aria-label="Problems" {
                p.visually-hidden role="status" { (count(errors, "error")) ", " (count(problems.len() - errors, "warning")) }
                ul { @for problem in problems { li { (place(path, problem)) (problem_text(problem)) } } }
            }
        }
    }
}

/// Where a problem is: in the text itself, or in another file.
fn place(path: &str, Problem { file, line, column, .. }: &Problem) -> Markup {
    let is_own = file == path;
    html! {
        @match (line, column) {
            (Some(line), Some(column)) if is_own => {
                span.place {
                    button.jump.scripted type="button" data-line=(line) data-column=(column) { "Line " (line) ", column " (column) }
                    span.unscripted { "Line " (line) ", column " (column) }
                }
            },
            (Some(line), Some(column)) => { span.place { bdi { (Text(file)) } ":" (line) ":" (column) } },
            _ if is_own => {},
            _ => { span.place { bdi { (Text(file)) } } },
        }
    }
}
