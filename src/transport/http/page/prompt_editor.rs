//! The editor: the text of a prompt, with what `check` says of it and its expansion next to it, and the changes before they are saved.
//!
//! Nothing is written here: the script saves with the API (`api.rs`), whose JSON no form of another page can send.

use super::diff::diff;
use super::list::problem_text;
use super::prompt::{fields, outcome, shown};
use super::text::{
    Text, command as command_name, message, path_in, path_of, sentence, source, typed, unless_too_long, verbatim,
};
use crate::library::{EditError, Editor, Layer, Revision, View, merged};
use crate::report::{self, Argument, Call, DraftFile, Problem};
use crate::wording::count;
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
    /// The revision of the file when it was opened; empty if there was none.
    expected: String,
    /// The text when it was opened, if it may be needed.
    base: Option<String>,
    /// Values for the preview.
    values: BTreeMap<String, String>,
    /// Whether the changes are to be shown, and not the preview.
    is_review: bool,
}

impl Form {
    /// The form of a body or an address. Names that it does not have are ignored, as on any page.
    pub(super) fn of(form: &[u8]) -> Form {
        let mut read = Form::default();
        let mut has_crlf = false;
        for (name, value) in form_urlencoded::parse(form) {
            // Browsers send `\r\n` for each line ending, whatever the file has.
            let value = value.replace("\r\n", "\n");
            match &*name {
                "command" => read.command = value,
                "file" => read.file = Some(value),
                "expected" => read.expected = value,
                "base" => read.base = Some(value),
                "endings" => has_crlf = value == "crlf",
                "step" => read.is_review = value == "review",
                _ => {
                    if let Some(name) = name.strip_prefix(VALUE).filter(|_| !value.is_empty()) {
                        read.values.insert(name.to_owned(), value);
                    }
                }
            }
        }
        if has_crlf {
            let texts = [&mut read.file, &mut read.base].into_iter().flatten();
            texts.for_each(|text| *text = text.replace('\n', "\r\n"));
        }
        read
    }
}

/// The file that is edited, as it is now.
struct Opened {
    name: String,
    /// Its text; of a prompt in another layer, that of the copy which is to override it.
    file: String,
    /// `None` if saving creates it.
    revision: Option<Revision>,
    /// The layer of the prompt that is used under this name, if it is not this one.
    other: Option<Layer>,
}

impl Opened {
    fn of(editor: &Editor<'_>, name: &str) -> Result<Opened, EditError> {
        let own = match editor.history(name) {
            Ok(versions) => versions.iter().find(|version| version.is_current).map(|version| version.revision),
            Err(EditError::NoHistory(..)) => None,
            Err(error) => return Err(error),
        };
        let used = editor.current(name);
        if let (None, Ok(used)) = (own, &used)
            && used.layer == Layer::Remote
        {
            return Err(EditError::NotYours(used.name.clone(), used.layer));
        }
        match own {
            Some(revision) => {
                let used = used.ok().filter(|used| used.revision != revision && used.layer != Layer::User);
                let file = editor.version(name, revision)?;
                Ok(Opened { name: name.to_owned(), file, revision: Some(revision), other: used.map(|used| used.layer) })
            }
            None => {
                let used = used?;
                Ok(Opened { name: used.name.to_string(), file: used.file, revision: None, other: Some(used.layer) })
            }
        }
    }

    /// The revision as a form has it.
    fn expected(&self) -> String {
        self.revision.map(|revision| revision.to_string()).unwrap_or_default()
    }
}

/// The editor of a prompt, or of a new one: its title, and its content.
pub(super) fn page(editor: &Editor<'_>, name: Option<&str>, form: &Form) -> Result<(String, Markup), EditError> {
    let opened = match (name, &form.file) {
        (None, _) => None,
        (Some(name), None) => Some(Opened::of(editor, name)?),
        // What was typed is not lost because the file was deleted.
        (Some(name), Some(_)) => Some(Opened::of(editor, name).or_else(|error| match error {
            EditError::Unknown(_) if !form.expected.is_empty() => {
                Ok(Opened { name: name.to_owned(), file: String::new(), revision: None, other: None })
            }
            error => Err(error),
        })?),
    };
    let command = opened.as_ref().map_or(&*form.command, |opened| &opened.name);
    let start = opened.as_ref().map_or("", |opened| &opened.file);
    let file = form.file.as_deref().unwrap_or(start);
    let expected = match form.file {
        Some(_) => form.expected.clone(),
        None => opened.as_ref().map(Opened::expected).unwrap_or_default(),
    };
    let title = opened.as_ref().map_or("New prompt".to_owned(), |opened| format!("Edit :{}", opened.name));
    let action = opened.as_ref().map_or(super::NEW.to_owned(), |opened| path_in(super::EDIT, &opened.name));
    let endings = if start.contains("\r\n") { "crlf" } else { "lf" };
    let others = start.replace("\r\n", "");
    let are_mixed = others.contains('\r') || (endings == "crlf" && others.contains('\n'));
    let main = html! {
        article.editor {
            header {
                @match &opened {
                    Some(opened) => {
                        a.back href=(path_of(&opened.name)) { "← Back to the prompt" }
                        div.title {
                            h1 { "Edit " (command_name(&opened.name)) }
                            @if opened.revision.is_some() { a.button href=(path_in(super::HISTORY, &opened.name)) { "History" } }
                        }
                        @if let Some(note) = about_other(opened) { p.lead { (note) } }
                    },
                    None => { a.back href="/" { "← All prompts" } h1 { "New prompt" } },
                }
            }
            form #editor method="post" action=(action) {
                input type="hidden" name="expected" value=(expected);
                input type="hidden" name="endings" value=(endings);
                div.writing {
                    @if opened.is_none() { (name_field(command)) }
                    div.field {
                        label for="file" { "Text" }
                        p #about-file { "Markdown; " code { "{{input}}" } " is replaced by what you type after the name."
                            @if are_mixed { " The line endings are of different kinds; saving makes them all the same." }
                        }
                        textarea.code #file name="file" rows="20" spellcheck="false" autocapitalize="off" aria-describedby="about-file" {
                            (typed(file))
                        }
                    }
                    div.bar {
                        button #review name="step" value="review" { "Review changes" }
                        button.quiet.scripted #discard type="button" { "Discard changes" }
                        @if let Some(revision) = opened.as_ref().and_then(|opened| opened.revision) {
                            button.quiet.remove.scripted #delete type="button" data-url=(path_in(super::API, command)) data-expected=(revision)
                                data-then=(path_in(super::HISTORY, command)) { "Delete" }
                        }
                    }
                    p.length.unscripted { "To save, this page needs JavaScript." }
                }
                @if form.is_review { (review(editor, opened.as_ref(), command, file, form)) }
                @else { (preview(editor.view(), opened.as_ref(), command, file, form)) }
            }
        }
    };
    Ok((title, main))
}

/// What saving means where another prompt has the name.
fn about_other(opened: &Opened) -> Option<&'static str> {
    match (opened.other?, opened.revision) {
        (Layer::Project, Some(_)) => Some("The project has a prompt of this name, which overrides this one."),
        (Layer::Project, None) => {
            Some("This is the project's prompt. You can save a copy, but the project's prompt overrides it.")
        }
        (Layer::Builtin, _) => Some("This is a built-in prompt. Saving makes a copy of your own, which overrides it."),
        (_, None) => Some(
            "This prompt is in a folder that prompt-expander does not write to. Saving makes a copy in the first folder of prompts.",
        ),
        (_, Some(_)) => None,
    }
}

fn name_field(command: &str) -> Markup {
    let refused =
        Some(command).filter(|command| !command.is_empty()).and_then(|command| report::name_of_new(command).err());
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
fn preview(view: &View, opened: Option<&Opened>, command: &str, file: &str, form: &Form) -> Markup {
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
                @if let Some(changed) = changed_meanwhile(opened, form) {
                    p.alert role="status" { (changed) " " strong { "Review changes" } " shows both." }
                }
                @match &draft {
                    // Before anything is typed, nothing is wrong.
                    Ok(_) if opened.is_none() && file.is_empty() => {},
                    Ok(draft) => { (problems(draft)) },
                    Err(why) => { p.alert role="status" dir="auto" { (message(&sentence(&why.message))) } },
                }
            }
            @if let Ok(DraftFile { found: Some(found), .. }) = &draft {
                @let arguments: Vec<Argument> = found.prompt.arguments.iter().map(Argument::from).collect();
                @let names = found.prompt.value_names();
                @let known = form.values.iter().filter(|(name, _)| names.contains(&name.as_str()));
                @let known = known.map(|(name, value)| (name.clone(), value.clone())).collect();
                @let call = Call { command, arguments: known, ..Call::default() };
                div.form #values { (fields(&arguments, found.prompt.takes_input(), VALUE, |_| "")) }
                div #result {
                    @match report::explain(view, found, &call) {
                        Err(why) => { p.paper.note.text role="status" dir="auto" { (message(&sentence(&why.message))) } },
                        Ok(explanation) => {
                            @let expansion = report::expand(view, found, &call);
                            @let expansion = expansion.as_ref().map(|expansion| shown(view, found, &call, expansion));
                            @let template = found.prompt.template_text();
                            @let template = unless_too_long(&template, || source(&template, &found.prompt)).unwrap_or_default();
                            (outcome(&explanation, expansion, &template))
                        },
                    }
                }
            }
        }
    }
}

/// What happened to the file since it was opened, if anything.
fn changed_meanwhile(opened: Option<&Opened>, form: &Form) -> Option<&'static str> {
    let opened = opened.filter(|opened| form.file.is_some() && opened.expected() != form.expected)?;
    Some(match opened.revision {
        None => "This prompt was deleted after you opened it.",
        Some(_) if form.expected.is_empty() => "A prompt of this name was created after you opened this page.",
        Some(_) => "This prompt was changed after you opened it.",
    })
}

/// What saving would change, and the button that saves. If the file was changed meanwhile, that comes first.
fn review(editor: &Editor<'_>, opened: Option<&Opened>, command: &str, file: &str, form: &Form) -> Markup {
    let draft = DraftFile::new(editor.view(), command, file);
    // The name of a new prompt may be taken.
    let taken = opened.is_none().then(|| Opened::of(editor, command).ok()).flatten();
    let is_taken = taken.as_ref().is_some_and(|taken| taken.revision.is_some());
    let now = opened.filter(|opened| opened.revision.is_some()).map_or("", |opened| &opened.file);
    let revision = opened.and_then(|opened| opened.revision);
    let changed = changed_meanwhile(opened, form);
    let is_same = revision.is_some() && now == file;
    html! {
        section.result #side data-step="review" aria-labelledby="side-heading" {
            div.bar { h2 #side-heading tabindex="-1" { "Review changes" } }
            @if let Some(changed) = changed { p.alert role="status" { (changed) " What you have written is not lost." } }
            @match &draft {
                Err(why) => { p.alert role="status" dir="auto" { (message(&sentence(&why.message))) } },
                Ok(draft) if draft.found.is_none() => {
                    p.alert role="status" { "This text cannot be saved, because it would not be a prompt." }
                    (problems(draft))
                },
                Ok(_) if is_taken => {
                    p.alert role="status" {
                        "There is already a prompt " (command_name(command)) ". Choose another name, or "
                        a href=(path_in(super::EDIT, command)) { "edit that prompt" } "."
                    }
                },
                Ok(_) if is_same => { p.paper.note role="status" { "There is nothing to save: the file has this text already." } },
                Ok(draft) => {
                    @if let Some(note) = taken.as_ref().and_then(about_other) { p.alert { (note) } }
                    @if !draft.problems.is_empty() { (problems(draft)) }
                    @if let (Some(base), Some(_), Some(_)) = (&form.base, changed, revision) { (theirs(base, now, file)) }
                    h3 { @if changed.is_some() { "What saving your text would change now" } @else { "What will be saved" } }
                    @match diff(now, file, "Changes") {
                        Some(diff) => { (diff) },
                        None => { p.paper.note { "The texts are too different to be compared here. Your text replaces all of the file." } },
                    }
                    (saving(command, revision, changed.is_some()))
                },
            }
            div.bar { button.quiet.scripted #back type="button" { "Back to editing" } }
        }
    }
}

/// What others have changed since the file was opened, and both changes together where they do not touch the same lines.
fn theirs(base: &str, now: &str, file: &str) -> Markup {
    let both = merged(base, file, now);
    html! {
        h3 { "What others changed in the meantime" }
        @match diff(base, now, "Changes by others") {
            Some(diff) => { (diff) },
            None => { p.paper.note { "The texts are too different to be compared here." } },
        }
        details { summary { "The whole file as it is now" } pre.paper tabindex="0" role="group" aria-label="The file as it is now" { (verbatim(now)) } }
        @match both {
            Some(both) => {
                p.length { "Your changes and theirs do not touch the same lines." }
                div.bar.scripted { button.quiet #both type="button" { "Add theirs to my text" } }
                textarea #merged hidden aria-hidden="true" { (typed(&both)) }
                textarea #theirs hidden aria-hidden="true" { (typed(now)) }
            },
            None => { p.length { "You and they have changed the same lines. Copy what you want to keep into your text." } },
        }
    }
}

/// A note for the history, and the button that saves.
fn saving(command: &str, revision: Option<Revision>, has_changed: bool) -> Markup {
    let name = report::name_of_new(command).unwrap_or_else(|_| command.to_owned());
    let method = if revision.is_some() { "PUT" } else { "POST" };
    html! {
        div.field.scripted {
            label for="note" { "Note" small { "optional" } }
            p #about-note { "Why you changed it, for the history." }
            input #note name="note" autocomplete="off" aria-describedby="about-note" maxlength="500";
        }
        div.bar.scripted {
            button #save type="button" data-method=(method) data-url=(path_in(super::API, &name)) data-then=(path_of(&name))
                data-expected=[revision] {
                @match revision {
                    Some(_) if has_changed => { "Save my text over it" },
                    Some(_) => { "Save" },
                    None => { "Create" },
                }
            }
        }
        p.length.unscripted { "To save, this page needs JavaScript." }
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
